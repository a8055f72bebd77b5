/*
 * warm_pool.c - items to worker processes, answers back.
 *
 *     items > [a queue of two for each worker > pipe] > workers > [pipe > replies] > report
 *
 * Rule 1: a worker has the next request before it has answered the last, so that it never waits;
 *         near the end it has one only, so that no item waits behind a slow one.
 * Rule 2: the worker is this very program, started anew from /proc/self/exe, never by a shell and
 *         never a fork that goes on: compilers want a process of their own.
 * Rule 3: a worker that dies is reported; the item it was at is tried once more, the one it had
 *         waiting goes back untouched.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "warm.h"

enum { QUEUE = 2, ATTEMPTS_MAX = 2, TICK_MS = 200, FRAME_BYTES_MAX = 256 << 20 };

extern char **environ;

typedef struct worker {
    pid_t pid; /* 0: none */
    int to, from;
    size_t queue[QUEUE]; /* items, the first is at work */
    int queued;
    bool retires; /* gets no more items and ends by itself */
} worker;

typedef struct pool {
    struct warm *w;
    worker *workers;
    int count;
    size_t next;   /* first item nobody has had */
    size_t *again; /* items given back */
    size_t again_count;
} pool;

/* ---- frames ------------------------------------------------------------------------------------ */

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes > 0) {
        const ssize_t put = write(fd, at, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

static bool read_all(int fd, void *data, size_t bytes)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool warm_write_frame(int fd, const void *head, size_t head_bytes, const void *body,
                      size_t body_bytes)
{
    const uint32_t bytes = (uint32_t)(head_bytes + body_bytes);

    return write_all(fd, &bytes, sizeof bytes) && write_all(fd, head, head_bytes) &&
           write_all(fd, body, body_bytes);
}

bool warm_read_frame(int fd, char **data_out, size_t *bytes_out)
{
    uint32_t bytes = 0;

    *data_out = NULL;
    if (!read_all(fd, &bytes, sizeof bytes) || bytes > FRAME_BYTES_MAX)
        return false;
    *data_out = malloc((size_t)bytes + 1);
    if (*data_out == NULL || !read_all(fd, *data_out, bytes)) {
        free(*data_out);
        *data_out = NULL;
        return false;
    }
    (*data_out)[bytes] = '\0';
    *bytes_out = bytes;
    return true;
}

/* ---- starting and ending ----------------------------------------------------------------------- */

/* Move a descriptor out of 0, 1 and 2; closes the old one. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    return ends[0] >= 0 && ends[1] >= 0;
}

static int spawn(struct warm *w, int input, int output, pid_t *pid)
{
    static char retry[] = "retry", none[] = "";
    char *argv[] = {"kiln", WARM_WORKER_WORD, (char *)(uintptr_t)w->cache_dir,
                    (char *)(uintptr_t)w->staging, w->retries ? retry : none, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t pipes;
    int why = posix_spawn_file_actions_init(&actions);

    if (why != 0)
        return why;
    why = posix_spawnattr_init(&attributes);
    if (why == 0) {
        /* The pool ignores SIGPIPE; a worker, and the compilers it starts, must not. */
        sigemptyset(&pipes);
        sigaddset(&pipes, SIGPIPE);
        why = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        why = why != 0 ? why : posix_spawnattr_setsigdefault(&attributes, &pipes);
        why = why != 0 ? why : posix_spawn_file_actions_adddup2(&actions, input, 0);
        why = why != 0 ? why : posix_spawn_file_actions_adddup2(&actions, output, 1);
        if (why == 0)
            why = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

/* 0 or an errno value. */
static int start(pool *p, worker *k)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1}, why = 0;

    memset(k, 0, sizeof *k);
    if (!make_pipe(to) || !make_pipe(from))
        why = errno;
    else
        why = spawn(p->w, to[0], from[1], &k->pid);
    if (to[0] >= 0)
        close(to[0]);
    if (from[1] >= 0)
        close(from[1]);
    k->to = to[1];
    k->from = from[0];
    if (why == 0)
        return 0;
    if (k->to >= 0)
        close(k->to);
    if (k->from >= 0)
        close(k->from);
    k->pid = 0;
    return why;
}

/* Close a worker's pipes and wait for its end. Returns its wait status. */
static int reap(struct warm *w, worker *k)
{
    struct rusage usage;
    int status = 0;
    pid_t got;

    if (k->to >= 0)
        close(k->to);
    close(k->from);
    do {
        got = wait4(k->pid, &status, 0, &usage);
    } while (got < 0 && errno == EINTR);
    if (got == k->pid) {
        const uint64_t peak = (uint64_t)usage.ru_maxrss * 1024;
        w->worker_peak_bytes = peak > w->worker_peak_bytes ? peak : w->worker_peak_bytes;
        w->cpu_s += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    }
    k->pid = 0;
    return status;
}

/* ---- one worker -------------------------------------------------------------------------------- */

static bool take_next(pool *p, size_t *item)
{
    if (p->again_count > 0) {
        *item = p->again[--p->again_count];
        return true;
    }
    if (p->next >= p->w->item_count)
        return false;
    *item = p->next++;
    return true;
}

static size_t waiting(const pool *p)
{
    return p->again_count + p->w->item_count - p->next;
}

/* Fill a worker's queue. A write that fails shows in the worker's own pipe soon. */
static void feed(pool *p, worker *k)
{
    const int depth = waiting(p) > (size_t)p->count ? QUEUE : 1;
    size_t nth = 0;

    while (k->pid != 0 && !k->retires && k->queued < depth && take_next(p, &nth)) {
        const struct warm_item *item = &p->w->items[nth];
        char head[64];
        const int length =
            snprintf(head, sizeof head, "%s\n", p->w->targets[item->target].name);
        k->queue[k->queued++] = nth;
        if (!warm_write_frame(k->to, head, (size_t)length, item->line, strlen(item->line)))
            return;
    }
}

static void note_failure(pool *p, size_t nth, kiln_status status, const char *message,
                         const char *detail)
{
    const struct warm_item *item = &p->w->items[nth];
    kiln_error err = KILN_ERROR_INIT;

    kiln__fail_detail(&err, status, detail != NULL ? kiln__strdup(detail) : NULL, "%s", message);
    warm_note(p->w, item->entry, item->target, WARM_FAILED, 0, 0, &err);
    kiln_error_clear(&err);
}

/* What a worker had when it died goes back, or has failed for good. */
static void bury(pool *p, worker *k)
{
    const int status = reap(p->w, k);
    char how[96];

    if (k->queued == 0)
        return;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "exit status %d", WEXITSTATUS(status));
    for (int q = k->queued - 1; q > 0; q--)
        p->again[p->again_count++] = k->queue[q];
    struct warm_item *item = &p->w->items[k->queue[0]];
    if (++item->attempts < ATTEMPTS_MAX) {
        fprintf(stderr, "%skiln: %.200s:%zu: a worker ended by %s over this kernel for %s; it is "
                "tried once more\n", p->w->bar ? "\r\033[K" : "", item->entry->file,
                item->entry->line, how, p->w->targets[item->target].name);
        p->w->retry_count++;
        p->again[p->again_count++] = k->queue[0];
    } else {
        char message[256];
        snprintf(message, sizeof message, "two workers ended over this kernel, the last by %s",
                 how);
        note_failure(p, k->queue[0], KILN_ERR_INTERNAL, message, NULL);
    }
    k->queued = 0;
}

/* One reply. False when the worker is dead or talks nonsense. */
static bool hear(pool *p, worker *k)
{
    struct warm_reply reply;
    char *data = NULL;
    size_t bytes = 0;

    if (!warm_read_frame(k->from, &data, &bytes))
        return false;
    if (bytes < sizeof reply || k->queued == 0) {
        free(data);
        return false;
    }
    memcpy(&reply, data, sizeof reply);
    const size_t nth = k->queue[0];
    const struct warm_item *item = &p->w->items[nth];
    k->queued--;
    memmove(k->queue, k->queue + 1, (size_t)k->queued * sizeof k->queue[0]);
    const char *message = data + sizeof reply;
    if (reply.end == WARM_FAILED) {
        const char *detail = message + strlen(message) + 1;
        note_failure(p, nth, (kiln_status)reply.status, message,
                     detail < data + bytes && detail[0] != '\0' ? detail : NULL);
    } else {
        kiln_error why = KILN_ERROR_INIT;
        if (reply.end == WARM_SKIPPED)
            (void)kiln__fail(&why, (kiln_status)reply.status, "%s", message);
        warm_note(p->w, item->entry, item->target, (enum warm_end)reply.end, reply.bytes,
                  reply.compile_us, reply.end == WARM_SKIPPED ? &why : NULL);
        kiln_error_clear(&why);
    }
    free(data);
    if (reply.retires && !k->retires) {
        k->retires = true; /* what waits in its pipe goes back */
        while (k->queued > 0)
            p->again[p->again_count++] = k->queue[--k->queued];
    }
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------- */

/* Start workers in the places that have none, as many as there is work for. 0 or an errno
 * value when none is left. */
static int staff(pool *p)
{
    int why = 0, alive = 0;

    for (int k = 0; k < p->count; k++) {
        worker *one = &p->workers[k];
        if (one->pid == 0 && waiting(p) > 0)
            why = start(p, one);
        alive += one->pid != 0;
        feed(p, one);
    }
    return alive > 0 || waiting(p) == 0 ? 0 : why;
}

static bool any_busy(const pool *p)
{
    for (int k = 0; k < p->count; k++)
        if (p->workers[k].pid != 0 && p->workers[k].queued > 0)
            return true;
    return false;
}

/* Wait for replies and take them. */
static void listen_to_all(pool *p, struct pollfd *fds)
{
    const nfds_t count = (nfds_t)(unsigned)p->count;

    for (int k = 0; k < p->count; k++)
        fds[k] = (struct pollfd){p->workers[k].pid != 0 ? p->workers[k].from : -1, POLLIN, 0};
    if (poll(fds, count, TICK_MS) <= 0)
        return;
    for (int k = 0; k < p->count; k++) {
        worker *one = &p->workers[k];
        if (fds[k].revents == 0)
            continue;
        if (!hear(p, one)) {
            /* Nonsense, or a clean end after the last answer: either way it is over. */
            if (!one->retires)
                kill(one->pid, SIGKILL);
            bury(p, one);
        }
    }
}

int warm_run(struct warm *w)
{
    pool p = {.w = w};
    struct pollfd *fds = NULL;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int why = 0;

    p.count = w->item_count < (size_t)w->jobs ? (int)w->item_count : w->jobs;
    w->workers = p.count;
    if (p.count <= 0)
        return TOOL_DONE;
    p.workers = calloc((size_t)p.count, sizeof *p.workers);
    /* Every item may be given back by the worker that has it. */
    p.again = calloc(w->item_count + QUEUE * (size_t)p.count, sizeof *p.again);
    fds = calloc((size_t)p.count, sizeof *fds);
    if (p.workers == NULL || p.again == NULL || fds == NULL)
        why = ENOMEM;
    sigaction(SIGPIPE, &ignore, &before);
    while (why == 0 && (waiting(&p) > 0 || any_busy(&p))) {
        why = staff(&p);
        if (why == 0)
            listen_to_all(&p, fds);
        warm_progress(w, false);
    }
    for (int k = 0; p.workers != NULL && k < p.count; k++) {
        if (p.workers[k].pid != 0)
            (void)reap(w, &p.workers[k]);
    }
    sigaction(SIGPIPE, &before, NULL);
    free(fds);
    free(p.again);
    free(p.workers);
    warm_progress(w, true);
    if (why == 0)
        return TOOL_DONE;
    fprintf(stderr, "kiln: no worker can be started: %s\n", strerror(why));
    return TOOL_FAILED;
}
