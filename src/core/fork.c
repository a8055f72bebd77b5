/*
 * fork.c - what a forked child must not take over as it is, and a process that ends not use any more.
 *
 *     fork() > [in the child: generation counted, locks of the process freed, descriptors closed]
 *
 * A child has only the thread that forked. Whatever other threads of the parent held stays held in
 * it for ever, and whatever they were changing is half changed. Objects made before the fork are
 * refused in the child (ERR_FORK) by comparing generations; what the process has one of is made
 * usable again here.
 *
 * A process that is ending is treated alike: behind kiln__process_end() the objects made before are of
 * another generation, so that whoever releases them in an exit handler or a static destructor of its
 * own does nothing to libraries that may have ended already.
 *
 * Rule 1: what a kiln__process_lock guards must be right again whenever its holder vanishes:
 *         written first, marked as valid last.
 * Rule 2: handlers wait for nothing but a few system calls of another thread.
 * Rule 3: a child made by vfork() or posix_spawn() is no forked child: it runs exec at once, and
 *         descriptors that are close-on-exec leave it.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "core/core.h"

/* Descriptors that are listed at most; two are needed for each compile at work. */
enum { CLOSED_MAX = 512 };

static atomic_uint generation;
static atomic_bool ending;
static _Atomic(kiln__process_lock *) locks; /* all that were ever taken */

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER; /* of `closed`; held during every fork */
static int closed[CLOSED_MAX];
static size_t closed_count;

/* ---- what happens at a fork ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&hold);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&hold);
}

static void after_fork_in_child(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
    for (kiln__process_lock *l = atomic_load(&locks); l != NULL; l = l->next)
        (void)pthread_mutex_init(&l->mutex, NULL); /* its holder, if any, is not here */
    for (size_t k = 0; k < closed_count; k++)
        (void)close(closed[k]);
    closed_count = 0;
    pthread_mutex_unlock(&hold);
}

/* Registered when kiln is loaded: a fork before the first call must count too. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

unsigned kiln__fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void kiln__process_end(void)
{
    atomic_store(&ending, true);
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

bool kiln__process_is_ending(void)
{
    return atomic_load(&ending);
}

/* ---- locks of the process ---- */

static void list_lock(kiln__process_lock *lock)
{
    kiln__process_lock *first = atomic_load(&locks);

    do {
        lock->next = first;
    } while (!atomic_compare_exchange_weak(&locks, &first, lock));
}

void kiln__process_lock_take(kiln__process_lock *lock)
{
    if (!atomic_exchange(&lock->listed, true))
        list_lock(lock);
    pthread_mutex_lock(&lock->mutex);
}

bool kiln__process_lock_try(kiln__process_lock *lock)
{
    if (!atomic_exchange(&lock->listed, true))
        list_lock(lock);
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

void kiln__process_lock_give(kiln__process_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

/* ---- descriptors of this process alone ---- */

void kiln__fork_hold(void)
{
    pthread_mutex_lock(&hold);
}

void kiln__fork_allow(void)
{
    pthread_mutex_unlock(&hold);
}

bool kiln__fork_closes(int fd)
{
    if (closed_count == CLOSED_MAX)
        return false;
    closed[closed_count++] = fd;
    return true;
}

void kiln__fork_close(int fd)
{
    if (fd < 0)
        return;
    kiln__fork_hold();
    for (size_t k = 0; k < closed_count; k++)
        if (closed[k] == fd) {
            closed[k] = closed[--closed_count];
            break;
        }
    (void)close(fd);
    kiln__fork_allow();
}
