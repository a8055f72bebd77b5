/*
 * spawn.c - run one program to its end and hear what it says; private folders for its files.
 *
 * Rule 1: no shell. The program is started with an argument vector, so that no text of a user is
 *         ever parsed by anything but the program itself.
 * Rule 2: nothing of the host leaks in and nothing leaks out: signal mask and handlers are set back
 *         to the defaults, our descriptors are close-on-exec, what the program says is bounded.
 * Rule 3: the host's signal handling is not touched. It may ignore SIGCHLD or reap every child it
 *         sees; then the exit status is unknown and the caller must judge by the output.
 * Rule 4: a program gets a process group of its own, so that a timeout ends the compiler proper
 *         and not only the driver that started it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
    size_t count = 0, extra = 0, used = 0;
    const char **all = NULL;

    while (environ != NULL && environ[count] != NULL)
        count++;
    while (child->set != NULL && child->set[extra] != NULL)
        extra++;
    all = kiln__alloc((count + extra + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t k = 0; k < count; k++)
        if (!is_listed(environ[k], child->set) && !is_listed(environ[k], child->drop))
            all[used++] = environ[k];
    for (size_t k = 0; k < extra; k++)
        all[used++] = child->set[k];
    all[used] = NULL;
    return all;
}

/* ---- starting ---- */

/* Move a descriptor out of 0, 1 and 2, where the child's own will be: a host that closed its
 * standard streams gets those numbers from its next open(). Closes the old one. */
static int above_standard(int fd)
{
    int moved = -1;

    if (fd < 0 || fd > 2)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static int add_actions(posix_spawn_file_actions_t *actions, const kiln__cpu_child *child,
                       int input_fd, int pipe_fd)
{
    int why = 0;

    if (input_fd >= 0)
        why = posix_spawn_file_actions_adddup2(actions, input_fd, 0);
    else
        why = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (why == 0 && child->hear_stdout)
        why = posix_spawn_file_actions_adddup2(actions, pipe_fd, 1);
    else if (why == 0)
        why = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (why == 0)
        why = posix_spawn_file_actions_adddup2(actions, pipe_fd, 2);
    return why;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int why = 0;

    sigemptyset(&none);
    sigfillset(&all);
    why = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETPGROUP);
    if (why == 0)
        why = posix_spawnattr_setsigmask(attributes, &none);
    if (why == 0)
        why = posix_spawnattr_setsigdefault(attributes, &all);
    if (why == 0)
        why = posix_spawnattr_setpgroup(attributes, 0);
    return why;
}

/* Start the program; 0 or an errno value. */
static int start(const kiln__cpu_child *child, int input_fd, int pipe_fd, pid_t *pid_out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    const char **environment = make_environment(child);
    int why = 0;

    if (environment == NULL)
        return ENOMEM;
    why = posix_spawn_file_actions_init(&actions);
    if (why != 0)
        goto free_environment;
    why = posix_spawnattr_init(&attributes);
    if (why != 0)
        goto destroy_actions;
    why = add_actions(&actions, child, input_fd, pipe_fd);
    if (why == 0)
        why = set_attributes(&attributes);
    if (why == 0)
        why = posix_spawn(pid_out, child->path, &actions, &attributes,
                          (char *const *)(uintptr_t)child->argv,
                          (char *const *)(uintptr_t)environment);
    posix_spawnattr_destroy(&attributes);
destroy_actions:
    posix_spawn_file_actions_destroy(&actions);
free_environment:
    kiln__free(environment);
    return why;
}

/* ---- listening and waiting ---- */

/* How often a silent child is looked at, and how soon after it closed its streams. */
#define SILENT_LOOK_MS 100
#define CANCEL_LOOK_MS 20
#define END_LOOK_US_FIRST 50
#define END_LOOK_US_MOST 20000

typedef struct watch {
    pid_t pid;
    double deadline_us;
    const atomic_bool *cancel;
    bool ended;
    int wait_status;
    bool status_known;
} watch;

/* Look whether the child has ended, without waiting. */
static void look(watch *w)
{
    pid_t got = 0;

    if (w->ended)
        return;
    do {
        got = waitpid(w->pid, &w->wait_status, WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == 0)
        return;
    w->ended = true;
    w->status_known = got == w->pid;
}

static bool cancelled(const watch *w)
{
    return w->cancel != NULL && atomic_load(w->cancel);
}

static bool late(const watch *w)
{
    return cancelled(w) || kiln__now_us() >= w->deadline_us;
}

/* Append what fits; the program goes on talking to nobody. */
static void hear(kiln__buf *log, const char *text, size_t bytes)
{
    size_t room = log->max_bytes > log->length ? log->max_bytes - log->length : 0;

    if (log->max_bytes != 0 && bytes > room)
        bytes = room;
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

static kiln__cpu_end judge(const watch *w, int *code_out)
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
    pid_t got = 0;

    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL); /* In case it has not reached its own group yet. */
    do {
        got = waitpid(w->pid, &w->wait_status, 0);
    } while (got < 0 && errno == EINTR);
}

kiln__cpu_end kiln__cpu_run(const kiln__cpu_child *child, kiln__buf *log, int *code_out)
{
    int ends[2] = {-1, -1}, input_fd = -1, why = 0;
    watch w = {0};

    *code_out = 0;
    if (child->input_fd >= 0) {
        input_fd = fcntl(child->input_fd, F_DUPFD_CLOEXEC, 3);
        if (input_fd < 0)
            why = errno;
    }
    if (why == 0 && pipe2(ends, O_CLOEXEC) != 0)
        why = errno;
    if (why == 0) {
        ends[1] = above_standard(ends[1]);
        why = ends[1] < 0 ? errno : start(child, input_fd, ends[1], &w.pid);
    }
    if (input_fd >= 0)
        close(input_fd);
    if (ends[1] >= 0)
        close(ends[1]);
    if (why != 0) {
        if (ends[0] >= 0)
            close(ends[0]);
        *code_out = why;
        return KILN__CPU_NOT_RUN;
    }
    w.deadline_us = kiln__now_us() + child->timeout_ms * 1e3;
    w.cancel = child->cancel;
    listen_to(&w, ends[0], log);
    close(ends[0]);
    wait_for_end(&w);
    if (!w.ended) {
        end_by_force(&w);
        return cancelled(&w) ? KILN__CPU_CANCELLED : KILN__CPU_TIMED_OUT;
    }
    return judge(&w, code_out);
}

/* ---- private folders ---- */

int kiln__cpu_folder_make(char *path, size_t bytes)
{
    const char *roots[] = {kiln__env("TMPDIR"), "/tmp"};
    int why = ENOENT;

    for (size_t k = 0; k < KILN_COUNT_OF(roots); k++) {
        int length = 0;
        if (roots[k] == NULL || roots[k][0] != '/')
            continue;
        length = snprintf(path, bytes, "%s/kiln-XXXXXX", roots[k]);
        if (length < 0 || (size_t)length >= bytes) {
            why = ENAMETOOLONG;
            continue;
        }
        if (mkdtemp(path) != NULL)
            return 0;
        why = errno;
    }
    path[0] = '\0';
    return why;
}

/* Remove what is in an open folder. `depth` bounds the recursion; compilers make no deep trees. */
static void remove_content(int fd, int depth)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry = NULL;

    if (folder == NULL) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        int below = -1;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) == 0 || depth == 0)
            continue;
        below = openat(dirfd(folder), entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            remove_content(below, depth - 1);
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
        }
    }
    closedir(folder);
}

void kiln__cpu_folder_remove(const char *path)
{
    int fd = -1;

    if (path == NULL || path[0] == '\0')
        return;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        remove_content(fd, 8);
    rmdir(path);
}

int kiln__cpu_write(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    if (kiln__is_beyond_process_limit(bytes))
        return EFBIG;
    while (bytes != 0) {
        ssize_t put = write(fd, at, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        at += put;
        bytes -= (size_t)put;
    }
    return 0;
}
