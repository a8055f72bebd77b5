/*
 * fork.c - an open cache in a forked child.
 *
 * The device refuses a child's calls, but a child may look into the cache it inherited, and must be
 * able to close it. Threads of the parent that were inside when it forked do not exist in the child
 * and never give their locks back; what they were changing may be half changed.
 *
 * So the first call in a child makes new locks. A part whose lock was free is whole and kept. One
 * whose lock was held is given up: its memory is left, not freed, as nobody knows its state. What
 * the journal holds belongs to the parent, which will put it down itself.
 *
 * Rule: no handler of pthread_atfork. It would need a list of all caches and their locks, and a
 *       fork would wait for a disk.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "cache/parts.h"

/* A new lock in the place of one of the parent's; true when that was free. */
static bool renew_mutex(pthread_mutex_t *mutex)
{
    const bool was_free = pthread_mutex_trylock(mutex) == 0;

    if (was_free)
        pthread_mutex_unlock(mutex);
    else
        (void)!pthread_mutex_init(mutex, NULL);
    return was_free;
}

static void renew(kiln__cache *cache)
{
    /* Readers of the parent count in it, and cannot be told from those of the child. */
    (void)!pthread_rwlock_init(&cache->lock, NULL);
    (void)renew_mutex(&cache->bundles_mutex); /* a bundle counts when it is whole */
    if (!renew_mutex(&cache->victims_mutex))
        memset(&cache->victims, 0, sizeof cache->victims);
    if (!renew_mutex(&cache->journal.mutex))
        cache->journal.lines = (kiln__buf)KILN__BUF_INIT;
    kiln__journal_forget(&cache->journal);
}

void kiln__cache_renew_after_fork(kiln__cache *cache)
{
    const unsigned now = kiln__fork_generation();
    unsigned claimed = atomic_load(&cache->renewing);

    /* Of several threads of the child one does it. A child of the child claims it anew. */
    if (claimed != now && atomic_compare_exchange_strong(&cache->renewing, &claimed, now)) {
        renew(cache);
        atomic_store_explicit(&cache->generation, now, memory_order_release);
    }
    while (atomic_load_explicit(&cache->generation, memory_order_acquire) != now)
        sched_yield();
}
