/*
 * spawn.c - run one program to its end and hear what it says.
 *
 *     kiln__cxx_compile > [environment > start.c > listen > wait > read the status]
 *
 * Rule 1: no shell. The program is started with an argument vector, so that no text of a user is
 *         ever parsed by anything but the program itself.
 * Rule 2: what the program says is bounded, and so is the time it takes.
 * Rule 3: the host's signal handling is not touched. It may ignore SIGCHLD or reap every child it
 *         sees; then the exit status is unknown, and the caller decides by the output that was
 *         made.
 * Rule 4: when the program has ended, however it did, the rest of its process group is ended: a
 *         driver that was killed leaves no compiler behind. What made a session of its own (the
 *         server of a compiler cache) lives on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

extern char **environ;

/* ---- environment ---- */

/* Whether `entry` ("NAME=value") sets the variable that `other` ("NAME" or "NAME=...") names. */
static bool same_variable(const char *entry, const char *other)
{
    size_t width = strcspn(other, "=");

    return strncmp(entry, other, width) == 0 && entry[width] == '=';
}

static bool is_listed(const char *entry, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (same_variable(entry, *names))
            return true;
    return false;
}

/* The inherited environment with changes; the strings stay where they are. NULL: no memory. */
static const char **make_environment(const kiln__cpu_child *child)
{
    static const char *const plain[] = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    const char *const *inherited = (const char *const *)environ;
    size_t count = 0, extra = 0, used = 0;
    const char **all = NULL;

    /* What is in the environment of a set-uid program is its caller's: compilers would heed it. */
    if (kiln__is_privileged()) {
        inherited = plain;
        count = KILN_COUNT_OF(plain);
    }
    while (inherited != plain && inherited != NULL && inherited[count] != NULL)
        count++;
    while (child->set != NULL && child->set[extra] != NULL)
        extra++;
    all = kiln__alloc((count + extra + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t k = 0; k < count; k++)
        if (!is_listed(inherited[k], child->set) && !is_listed(inherited[k], child->drop))
            all[used++] = inherited[k];
    for (size_t k = 0; k < extra; k++)
        all[used++] = child->set[k];
    all[used] = NULL;
    return all;
}

/* ---- listening and waiting ---- */

/* How often a silent child is looked at, and how soon after it closed its streams. */
#define SILENT_LOOK_MS 100
#define CANCEL_LOOK_MS 20
#define END_LOOK_US_FIRST 50
#define END_LOOK_US_MOST 20000

typedef struct watch {
    pid_t pid;
    kiln__cpu_folder *folder;
    double deadline_us;
    const atomic_bool *cancel;
    bool ended;
    int wait_status;
    bool status_known;
} watch;

/* Take the exit status of a child that has ended, or will at once. */
static void reap(watch *w)
{
    pid_t got = 0;

    kiln__cpu_folder_set_running(w->folder, 0);
    do {
        got = waitpid(w->pid, &w->wait_status, 0);
    } while (got < 0 && errno == EINTR);
    w->status_known = got == w->pid;
}

/* Look whether the child has ended, without waiting. While its status is not taken its number is
 * nobody else's, so that the rest of its group can be ended by it. */
static void look(watch *w)
{
    siginfo_t info = {0};
    int failed = 0;

    if (w->ended)
        return;
    do {
        failed = waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (failed != 0 && errno == EINTR);
    if (failed == 0 && info.si_pid == 0)
        return;
    w->ended = true;
    if (failed == 0)
        (void)kill(-w->pid, SIGKILL);
    reap(w);
}

static bool cancelled(const watch *w)
{
    return w->cancel != NULL && atomic_load(w->cancel);
}

static bool late(const watch *w)
{
    return cancelled(w) || kiln__now_us() >= w->deadline_us;
}

/* Append what fits in the buffer. The rest is read and dropped, so that the program never waits. */
static void hear(kiln__buf *log, const char *text, size_t bytes)
{
    const size_t left = log->max_bytes > log->length ? log->max_bytes - log->length : 0;

    if (log->max_bytes != 0 && bytes > left)
        bytes = left;
    kiln__buf_put(log, text, bytes);
}

/* Read until the pipe closes, the child ends, or it is late. A child's child that lives on (the
 * server of a compiler cache, say) may hold the pipe open: the child's end is what counts. */
static void listen_to(watch *w, int fd, kiln__buf *log)
{
    char text[4096];

    for (;;) {
        struct pollfd p = {fd, POLLIN, 0};
        bool was_ended = w->ended;
        int ready = poll(&p, 1, was_ended           ? 0
                                : w->cancel != NULL ? CANCEL_LOOK_MS
                                                    : SILENT_LOOK_MS);

        if (ready > 0) {
            ssize_t got = read(fd, text, sizeof text);
            if (got > 0)
                hear(log, text, (size_t)got);
            else if (got == 0 || (errno != EINTR && errno != EAGAIN))
                return;
        } else if (ready < 0 && errno != EINTR) {
            return;
        } else if (was_ended) {
            return;
        } else {
            look(w);
        }
        if (!w->ended && late(w))
            return;
    }
}

static void wait_for_end(watch *w)
{
    long pause_us = END_LOOK_US_FIRST;

    for (;;) {
        struct timespec pause = {0, 0};
        look(w);
        if (w->ended || late(w))
            return;
        pause.tv_nsec = pause_us * 1000;
        nanosleep(&pause, NULL);
        pause_us = pause_us * 2 < END_LOOK_US_MOST ? pause_us * 2 : END_LOOK_US_MOST;
    }
}

/* How a child has ended, from its wait status. */
static kiln__cpu_end end_of(const watch *w, int *code_out)
{
    if (!w->status_known)
        return KILN__CPU_UNKNOWN;
    if (WIFEXITED(w->wait_status)) {
        *code_out = WEXITSTATUS(w->wait_status);
        return KILN__CPU_EXITED;
    }
    *code_out = WIFSIGNALED(w->wait_status) ? WTERMSIG(w->wait_status) : 0;
    return KILN__CPU_KILLED;
}

static void end_by_force(watch *w)
{
    kill(-w->pid, SIGKILL);
    reap(w);
}

/* Start the program with a pipe for what it says, whose reading end is `heard_out`. */
static int start(const kiln__cpu_child *child, int *heard_out, kiln__cpu_started *started)
{
    int ends[2] = {-1, -1}, input_fd = -1, why = 0;
    const char **environment = make_environment(child);

    if (environment == NULL)
        return ENOMEM;
    if (child->input_fd >= 0) {
        input_fd = fcntl(child->input_fd, F_DUPFD_CLOEXEC, 3);
        why = input_fd < 0 ? errno : 0;
    }
    if (why == 0 && pipe2(ends, O_CLOEXEC) != 0)
        why = errno;
    if (why == 0) {
        ends[1] = kiln__cpu_above_standard(ends[1]);
        why = ends[1] < 0 ? errno
                          : kiln__cpu_start(child, environment, input_fd, ends[1], started);
    }
    if (input_fd >= 0)
        close(input_fd);
    if (ends[1] >= 0)
        close(ends[1]);
    if (why != 0 && ends[0] >= 0)
        close(ends[0]);
    *heard_out = ends[0];
    kiln__free(environment);
    return why;
}

kiln__cpu_end kiln__cpu_run(const kiln__cpu_child *child, kiln__buf *log, int *code_out)
{
    kiln__cpu_started started = {0, -1};
    kiln__cpu_end end;
    int heard = -1;
    watch w = {0};

    *code_out = start(child, &heard, &started);
    if (*code_out != 0)
        return KILN__CPU_NOT_RUN;
    kiln__cpu_folder_set_running(child->folder, started.pid);
    w.pid = started.pid;
    w.folder = child->folder;
    w.deadline_us = kiln__now_us() + child->timeout_ms * 1e3;
    w.cancel = child->cancel;
    listen_to(&w, heard, log);
    close(heard);
    wait_for_end(&w);
    if (w.ended) {
        end = end_of(&w, code_out);
    } else {
        end_by_force(&w);
        end = cancelled(&w) ? KILN__CPU_CANCELLED : KILN__CPU_TIMED_OUT;
    }
    kiln__fork_close(started.alive_fd);
    return end;
}
