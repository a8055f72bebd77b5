/*
 * start.c - start a program so that neither it nor what it starts outlives this process.
 *
 *     kiln__cpu_run > [clone > group, death, bounds, signals, descriptors > exec]
 *
 * Compilers are chains of programs (ccache, g++, cc1plus), and processes die in many ways (SIGKILL,
 * exit() with threads at work). Two things hold whatever happens:
 *
 *   a pipe whose writing end only this process has, and whose reading end the chain inherits: when
 *   this process ends, the kernel sends SIGKILL to the whole process group (F_SETOWN, F_SETSIG).
 *   Nobody has to run for that.
 *
 *   PR_SET_PDEATHSIG for the first program of the chain, where the kernel lacks the former. It is
 *   sent when the starting *thread* ends, so that thread must wait (kiln__cpu_run does).
 *
 * Rule 1: between clone() and exec the child shares our memory, on a stack of its own, while the
 *         calling thread waits: only system calls are made, signals are blocked and cancellation is
 *         off. posix_spawn() does the same, but cannot set limits, owners or death signals; vfork()
 *         would share the stack as well, which AddressSanitizer does not follow in every thread.
 * Rule 2: nothing of the host leaks in and nothing leaks out: signal mask and handlers are set back
 *         to the defaults, other descriptors are close-on-exec.
 * Rule 3: a program gets a process group of its own, so that all of the chain can be ended. A
 *         terminal's Ctrl-C therefore reaches it through the end of this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

/* No sensible source makes a compiler need more address space than this. */
#define MEMORY_BYTES_MAX ((rlim_t)8 << 30)

/* Exit code of a child whose exec failed, as in shells. */
#define NOT_BEGUN 127

typedef struct beginning {
    const kiln__cpu_child *child;
    const char **environment;
    int input_fd, output_fd;
    int life[2]; /* the pipe that ends with this process */
    pid_t parent;
    volatile int why; /* errno of what failed in the child */
} beginning;

/* ---- in the child ---- on a stack that AddressSanitizer does not know */

#define ON_OTHER_STACK __attribute__((no_sanitize_address))
enum { STACK_BYTES = 256 << 10 };

/* What ThreadSanitizer knows of the calling thread is changed by whatever a child in the
 * same memory calls, and is wrong from then on. There the child has a copy, and cannot
 * tell why it could not begin. */
#if defined(__SANITIZE_THREAD__)
enum { SHARING = 0 };
#else
enum { SHARING = CLONE_VM };
#endif

/* Lower a limit; where it is lower already, it stays. */
ON_OTHER_STACK static void bound(int resource, rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most) {
        limit.rlim_cur = most;
        (void)setrlimit(resource, &limit);
    }
}

/* Time in processors is what bounds a program whose parent is stopped and cannot look at the clock:
 * with a margin, for the parent's own bound says more. */
ON_OTHER_STACK static void bound_all(const kiln__cpu_child *child)
{
    bound(RLIMIT_CPU, (rlim_t)child->timeout_ms / 1000 + 10);
    bound(RLIMIT_AS, MEMORY_BYTES_MAX);
    bound(RLIMIT_CORE, 0);
}

/* Die with the parent. False when that is dead already. */
ON_OTHER_STACK static bool follow_parent(const beginning *b)
{
    struct pollfd life = {b->life[0], POLLIN, 0};

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(b->life[1]); /* ours alone would keep the pipe open until exec */
    (void)fcntl(b->life[0], F_SETOWN, -getpid());
    (void)fcntl(b->life[0], F_SETSIG, SIGKILL);
    (void)fcntl(b->life[0], F_SETFL, O_ASYNC);
    (void)fcntl(b->life[0], F_SETFD, 0);
    /* From here on the watcher learns of its end, which may have come before. */
    return getppid() == b->parent && (poll(&life, 1, 0) <= 0 || (life.revents & POLLHUP) == 0);
}

ON_OTHER_STACK static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int k = 1; k < NSIG; k++)
        (void)sigaction(k, &plain, NULL); /* refused for some, which have no handlers */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Open `path` as descriptor `as`. */
ON_OTHER_STACK static bool open_as(const char *path, int flags, int as)
{
    int fd = open(path, flags);
    bool opened = fd >= 0;

    if (opened && fd != as) {
        opened = dup2(fd, as) == as;
        (void)close(fd);
    }
    return opened;
}

ON_OTHER_STACK static bool set_streams(const beginning *b)
{
    bool done = b->input_fd >= 0 ? dup2(b->input_fd, 0) == 0 : open_as("/dev/null", O_RDONLY, 0);

    if (done)
        done = b->child->hear_stdout ? dup2(b->output_fd, 1) == 1
                                     : open_as("/dev/null", O_WRONLY, 1);
    return done && dup2(b->output_fd, 2) == 2;
}

/* Never returns; the status of a child that could not begin. */
ON_OTHER_STACK static int begin(void *what)
{
    beginning *const b = what;

    if (follow_parent(b)) {
        bound_all(b->child);
        if (set_streams(b)) {
            reset_signals();
            (void)execve(b->child->path, (char *const *)(uintptr_t)b->child->argv,
                         (char *const *)(uintptr_t)b->environment);
        }
    }
    b->why = errno != 0 ? errno : ECHILD;
    _exit(NOT_BEGUN);
}

/* ---- in the parent ---- */

/* Move a descriptor out of 0, 1 and 2, where the child's own will be: a host that closed its
 * standard streams gets those numbers from its next open(). Closes the old one; -1 with errno. */
int kiln__cpu_above_standard(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static int open_life(int life[2])
{
    int why = 0;

    kiln__fork_hold();
    if (pipe2(life, O_CLOEXEC) != 0) {
        life[0] = life[1] = -1;
        why = errno;
    } else {
        life[0] = kiln__cpu_above_standard(life[0]);
        life[1] = kiln__cpu_above_standard(life[1]);
        why = life[0] < 0 || life[1] < 0 ? EMFILE : 0;
        if (life[1] >= 0)
            (void)kiln__fork_closes(life[1]);
    }
    kiln__fork_allow();
    return why;
}

/* The child's process id once it has begun another program, or ended; -1 with errno. */
static pid_t begin_in_child(beginning *b)
{
    char *const stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        return -1;
    pid_t pid = clone(begin, stack + STACK_BYTES, SHARING | CLONE_VFORK | SIGCHLD, b);
    int why = errno;
    (void)munmap(stack, STACK_BYTES);
    errno = why;
    return pid;
}

int kiln__cpu_start(const kiln__cpu_child *child, const char **environment, int input_fd,
                    int output_fd, kiln__cpu_started *out)
{
    beginning b = {child, environment, input_fd, output_fd, {-1, -1}, getpid(), 0};
    sigset_t all, before;
    int cancelling = 0, why = open_life(b.life);

    if (why == 0) {
        sigfillset(&all);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        out->pid = begin_in_child(&b);
        why = out->pid < 0 ? errno : b.why;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)pthread_setcancelstate(cancelling, NULL);
        if (out->pid > 0 && why != 0)
            while (waitpid(out->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
    }
    if (b.life[0] >= 0)
        close(b.life[0]);
    if (why != 0)
        kiln__fork_close(b.life[1]);
    out->alive_fd = why == 0 ? b.life[1] : -1;
    return why;
}
