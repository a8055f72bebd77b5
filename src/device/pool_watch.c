/*
 * pool_watch.c - what observers are told of the pool.
 *
 *     pool.c pool_arena.c -> [tell] -> watch.c
 */
#include "device/label.h"
#include "device/pool.h"

void kiln__pool_tell(kiln__pool *pool, kiln_observed kind, const kiln_stream *stream,
                     const void *address, size_t bytes, kiln_status status)
{
    kiln_observation what = {.kind = kind, .status = status, .address = address, .bytes = bytes};

    if (!kiln__is_watched(KILN_OBSERVE(kind)))
        return;
    what.stream = stream != NULL ? stream->native : NULL;
    what.used_bytes = atomic_load_explicit(&pool->used_bytes, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    what.held_bytes = pool->held_bytes;
    pthread_mutex_unlock(&pool->lock);
    what.begin_us = what.end_us = kiln__now_us();
    kiln__watch_tell(pool->device, &what);
}

void kiln__pool_tell_alloc(kiln__pool *pool, kiln__node *node)
{
    const kiln_scope *const scope = kiln__scope_current();

    if (node->segment == NULL)
        return;
    atomic_store_explicit(&node->label, scope != NULL ? scope->label : NULL, memory_order_relaxed);
    kiln__pool_tell(pool, KILN_OBSERVED_ALLOC, node->block.home, node->block.address,
                    node->block.bytes, KILN_OK);
}
