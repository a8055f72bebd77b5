/*
 * pool_watch.c - what observers are told of the pool, and what is said when it is full.
 *
 *     pool.c pool_arena.c -> [tell, fail_full] -> watch.c, label.c
 */
#include <stdio.h>

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

    if (node->block.bytes == 0)
        return;
    atomic_store_explicit(&node->label, scope != NULL ? scope->label : NULL, memory_order_relaxed);
    kiln__pool_tell(pool, KILN_OBSERVED_ALLOC, node->block.home, node->block.address,
                    node->block.bytes, KILN_OK);
}

/* ---- who holds the memory ---- */

/* Labels that are told apart, and those that are named. */
enum { LABELS_MAX = 256, NAMED_MAX = 3, NAMED_BYTES = 240 };

typedef struct holder {
    const char *label; /* NULL: none */
    size_t bytes, blocks;
} holder;

typedef struct holders {
    holder list[LABELS_MAX];
    size_t count;
} holders;

/* Labels are kept once, so that their addresses tell them apart. */
static void add_block(holders *h, const kiln__node *node)
{
    const char *const label = atomic_load_explicit(&node->label, memory_order_relaxed);
    size_t k = 0;

    while (k < h->count && h->list[k].label != label)
        k++;
    if (k == LABELS_MAX)
        return;
    if (k == h->count)
        h->list[h->count++] = (holder){label, 0, 0};
    h->list[k].bytes += node->block.bytes;
    h->list[k].blocks++;
}

static void add_blocks(holders *h, kiln__pool *pool)
{
    pthread_mutex_lock(&pool->list_lock);
    for (kiln__pool_arena *arena = pool->arenas; arena != NULL; arena = arena->next) {
        pthread_mutex_lock(&arena->lock);
        for (const kiln__segment *s = arena->segments; s != NULL; s = s->next)
            for (const kiln__node *node = s->first; node != NULL; node = node->after)
                if (node->state == KILN__NODE_USED)
                    add_block(h, node);
        pthread_mutex_unlock(&arena->lock);
    }
    pthread_mutex_unlock(&pool->list_lock);
}

/* "; most of it for "weights" 1.00 GiB in 3 blocks, ..." into `text`; nothing where no thread
 * has ever pushed a label. */
static void name_holders(kiln__pool *pool, char text[NAMED_BYTES])
{
    holders h = {.count = 0};
    size_t length = 0;

    text[0] = '\0';
    if (!kiln__is_watched(KILN__LABELLED))
        return;
    add_blocks(&h, pool);
    for (int named = 0; named < NAMED_MAX && h.count > 0; named++) {
        char bytes[32];
        size_t most = 0;
        for (size_t k = 1; k < h.count; k++)
            if (h.list[k].bytes > h.list[most].bytes)
                most = k;
        const holder *const top = &h.list[most];
        length += (size_t)snprintf(
            text + length, NAMED_BYTES - length, "%s%s%.30s%s %s in %zu block%s",
            named == 0 ? "; most of it for " : ", ", top->label != NULL ? "\"" : "",
            top->label != NULL ? top->label : "no label", top->label != NULL ? "\"" : "",
            kiln__bytes_text(top->bytes, bytes), top->blocks, top->blocks == 1 ? "" : "s");
        h.list[most] = h.list[--h.count];
    }
}

kiln_status kiln__pool_fail_full(kiln__pool *pool, size_t bytes, kiln_error *err)
{
    kiln__device *device = pool->device;
    size_t held_bytes = 0, limit_bytes = 0;
    size_t device_free = 0, device_total = 0;
    char asked[32], used[32], held[32], limit[32], left[32], total[32], whose[NAMED_BYTES];

    pthread_mutex_lock(&pool->lock);
    held_bytes = pool->held_bytes;
    limit_bytes = pool->limit_bytes;
    pthread_mutex_unlock(&pool->lock);
    name_holders(pool, whose);
    device->backend->mem_info(device, &device_free, &device_total);
    return kiln__fail(err, KILN_ERR_DEVICE_MEMORY,
                      "%s has no room for %s: in use %s, held by the pool %s, limit %s, free on "
                      "the device %s of %s%s",
                      device->info.id, kiln__bytes_text(bytes, asked),
                      kiln__bytes_text(atomic_load(&pool->used_bytes), used),
                      kiln__bytes_text(held_bytes, held), kiln__bytes_text(limit_bytes, limit),
                      kiln__bytes_text(device_free, left), kiln__bytes_text(device_total, total),
                      whose);
}
