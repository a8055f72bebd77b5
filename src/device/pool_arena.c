/*
 * pool_arena.c - one stream's part of the pool: segments cut into blocks, best fit, coalescing.
 *
 *     pool.c -> [take | put | poll | grow | trim | retire] -> pool_tree.c, backend raw_alloc
 *
 * Rule 1: a segment is covered by its nodes without gaps, linked in address order, and two free
 *         neighbours never stay two. A segment with one node, free, is wholly free.
 * Rule 2: memory in the tree may still be used by work on the arena's own stream; handing it out
 *         on that stream is right, for the stream runs in order. Before the memory goes anywhere
 *         else (trim, spare), the stream's work is waited for.
 * Rule 3: nothing is allocated from the host on the way of a hit: nodes come in slabs and are
 *         recycled. When a slab cannot be had, a block is handed out whole rather than split.
 */
#include "device/pool.h"

#define SLAB_NODES 64u

/* How much is asked of the device when less is needed: the bounds of segment_size(). Measured with
 * the traces of tests/test_pool.c: larger segments leave more unused at the end, smaller ones
 * more holes. */
#define GROWTH_MIN ((size_t)16 << 20)
#define GROWTH_MAX ((size_t)256 << 20)
#define SMALL_GROWTH_MAX ((size_t)16 << 20)

typedef struct slab {
    struct slab *next;
    kiln__node nodes[SLAB_NODES];
} slab;

static int class_of(const kiln__segment *segment)
{
    return segment->small ? KILN__CLASS_SMALL : KILN__CLASS_LARGE;
}

/* ---- nodes ---- */

static kiln__node *node_new(kiln__pool_arena *arena)
{
    kiln__node *node = arena->recycled;
    if (node == NULL) {
        slab *more = kiln__calloc(1, sizeof *more);
        if (more == NULL)
            return NULL;
        more->next = arena->slabs;
        arena->slabs = more;
        for (size_t i = 0; i < SLAB_NODES; i++) {
            more->nodes[i].right = arena->recycled;
            arena->recycled = &more->nodes[i];
        }
        node = arena->recycled;
    }
    arena->recycled = node->right;
    node->block.home = arena->stream;
    node->marks = NULL;
    atomic_store_explicit(&node->label, NULL, memory_order_relaxed);
    return node;
}

static void node_recycle(kiln__pool_arena *arena, kiln__node *node)
{
    node->state = KILN__NODE_IDLE;
    node->right = arena->recycled;
    arena->recycled = node;
}

static void node_release(kiln__pool_arena *arena, kiln__node *node)
{
    /* xorshift32: priorities only have to be unrelated to sizes and addresses. */
    uint32_t seed = arena->seed;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    arena->seed = seed;

    node->priority = seed;
    node->state = KILN__NODE_FREE;
    kiln__tree_insert(&arena->tree[class_of(node->segment)], node);
}

/* ---- blocks ---- */

kiln__node *kiln__pool_arena_take(kiln__pool_arena *arena, size_t bytes, bool any_class)
{
    int class = bytes <= KILN__SMALL_MAX ? KILN__CLASS_SMALL : KILN__CLASS_LARGE;
    kiln__node *node = kiln__tree_best_fit(arena->tree[class], bytes);
    if (node == NULL && any_class) {
        class = KILN__CLASS_SMALL + KILN__CLASS_LARGE - class;
        node = kiln__tree_best_fit(arena->tree[class], bytes);
    }
    if (node == NULL)
        return NULL;
    kiln__tree_remove(&arena->tree[class], node);
    atomic_store_explicit(&node->label, NULL, memory_order_relaxed);

    kiln__node *rest = node->block.bytes > bytes ? node_new(arena) : NULL;
    if (rest != NULL) {
        rest->block.address = (char *)node->block.address + bytes;
        rest->block.bytes = node->block.bytes - bytes;
        rest->segment = node->segment;
        rest->before = node;
        rest->after = node->after;
        if (rest->after != NULL)
            rest->after->before = rest;
        node->after = rest;
        node->block.bytes = bytes;
        node_release(arena, rest);
    }
    node->state = KILN__NODE_USED;
    arena->live++;
    return node;
}

kiln__node *kiln__pool_arena_take_zero(kiln__pool_arena *arena)
{
    kiln__node *node = node_new(arena);
    if (node == NULL)
        return NULL;
    node->block.address = NULL;
    node->block.bytes = 0;
    node->segment = NULL;
    node->before = node->after = NULL;
    node->state = KILN__NODE_USED;
    arena->live++;
    return node;
}

/* Append `node`'s right neighbour, which is about to disappear, to `node`. */
static void absorb_next(kiln__pool_arena *arena, kiln__node *node)
{
    kiln__node *next = node->after;
    node->block.bytes += next->block.bytes;
    node->after = next->after;
    if (node->after != NULL)
        node->after->before = node;
    node_recycle(arena, next);
}

void kiln__pool_arena_put(kiln__pool_arena *arena, kiln__node *node)
{
    arena->live--;
    if (node->segment == NULL) {
        node_recycle(arena, node);
        return;
    }
    kiln__node **root = &arena->tree[class_of(node->segment)];
    kiln__node *neighbour = node->after;
    if (neighbour != NULL && neighbour->state == KILN__NODE_FREE) {
        kiln__tree_remove(root, neighbour);
        absorb_next(arena, node);
    }
    neighbour = node->before;
    if (neighbour != NULL && neighbour->state == KILN__NODE_FREE) {
        kiln__tree_remove(root, neighbour);
        absorb_next(arena, neighbour);
        node = neighbour;
    }
    node_release(arena, node);
}

/* ---- blocks that other streams may still use ---- */

void kiln__pool_arena_poll(kiln__pool_arena *arena, bool wait, size_t most)
{
    kiln__device *device = arena->pool->device;
    kiln__node **at = &arena->pending, *last = NULL;

    while (*at != NULL && most > 0) {
        kiln__node *node = *at;
        while (node->marks != NULL) {
            kiln__mark *mark = node->marks;
            if (wait)
                (void)device->backend->event_synchronize(device, mark->event, NULL);
            else if (!kiln__event_done(device, mark->event))
                break;
            node->marks = mark->next;
            kiln__mark_recycle(arena->pool, mark);
        }
        if (node->marks != NULL) {
            last = node;
            at = &node->right;
            most--;
            continue;
        }
        *at = node->right;
        if (arena->pending_last == node)
            arena->pending_last = last;
        kiln__pool_arena_put(arena, node);
    }
}

/* Let the arena's stream wait for a mark, or the host where that cannot be. */
static void wait_on_stream(kiln__pool_arena *arena, kiln__mark *mark)
{
    kiln__device *device = arena->pool->device;

    if (device->backend->stream_wait_event(device, arena->stream->native, mark->event, NULL) !=
        KILN_OK)
        (void)device->backend->event_synchronize(device, mark->event, NULL);
    kiln__mark_recycle(arena->pool, mark);
}

kiln__node *kiln__pool_arena_claim(kiln__pool_arena *arena, size_t bytes)
{
    kiln__node *found = NULL;

    while (arena->pending != NULL && found == NULL) {
        kiln__node *node = arena->pending;
        while (node->marks != NULL) {
            kiln__mark *mark = node->marks;
            node->marks = mark->next;
            wait_on_stream(arena, mark);
        }
        arena->pending = node->right;
        kiln__pool_arena_put(arena, node);
        found = kiln__pool_arena_take(arena, bytes, false);
    }
    return found;
}

void kiln__pool_arena_give_direct(kiln__pool_arena *arena, kiln__node *node, kiln__mark *marks)
{
    kiln__device *device = arena->pool->device;
    const bool closed = atomic_load(&arena->stream->closed);

    for (kiln__mark *mark = marks, *next; mark != NULL; mark = next) {
        next = mark->next;
        if (!closed) {
            wait_on_stream(arena, mark);
            continue;
        }
        (void)device->backend->event_synchronize(device, mark->event, NULL);
        kiln__mark_recycle(arena->pool, mark);
    }
    if (closed)
        kiln__stream_drain(arena->stream);
    kiln__pool_source_free(arena->pool, node->block.address, node->block.bytes, arena->stream);
}

/* ---- segments ---- */

static void segment_link(kiln__segment **list, kiln__segment *segment)
{
    segment->previous = NULL;
    segment->next = *list;
    if (*list != NULL)
        (*list)->previous = segment;
    *list = segment;
}

static void segment_unlink(kiln__segment **list, kiln__segment *segment)
{
    if (segment->previous != NULL)
        segment->previous->next = segment->next;
    else
        *list = segment->next;
    if (segment->next != NULL)
        segment->next->previous = segment->previous;
}

static bool segment_is_free(const kiln__segment *segment)
{
    return segment->first->after == NULL && segment->first->state == KILN__NODE_FREE;
}

/* Hand a segment back to the device; whoever held its list has unlinked it. */
static void segment_destroy(kiln__pool *pool, kiln__segment *segment, kiln_stream *stream)
{
    kiln__pool_source_free(pool, segment->raw, segment->bytes, stream);
    kiln__free(segment);
}

/* Make the whole segment one free node of the arena. */
static void segment_enter(kiln__pool_arena *arena, kiln__segment *segment, kiln__node *node)
{
    node->block.address = segment->raw;
    node->block.bytes = segment->bytes;
    node->segment = segment;
    node->before = node->after = NULL;
    segment->first = node;
    segment_link(&arena->segments, segment);
    arena->held[class_of(segment)] += segment->bytes;
    node_release(arena, node);
}

/* The smallest spare segment that can serve at once; NULL: none. */
static kiln__segment *spare_adopt(kiln__pool *pool, size_t bytes, bool small)
{
    kiln__device *device = pool->device;
    kiln__segment *best = NULL;

    pthread_mutex_lock(&pool->lock);
    for (kiln__segment *s = pool->spares; s != NULL; s = s->next) {
        if (s->bytes < bytes || s->small != small || (best != NULL && best->bytes <= s->bytes))
            continue;
        if (s->from->closing_event == NULL || kiln__event_done(device, s->from->closing_event))
            best = s;
    }
    if (best != NULL)
        segment_unlink(&pool->spares, best);
    pthread_mutex_unlock(&pool->lock);
    if (best != NULL) {
        kiln__stream_release(best->from);
        best->from = NULL;
    }
    return best;
}

/* How much to ask of the device: a share of what the arena holds, so that the number of segments
 * stays logarithmic and holes have room to merge, but never more than a fixed amount ahead. */
static size_t segment_size(const kiln__pool_arena *arena, size_t bytes, bool small, bool generous)
{
    size_t exact = (bytes + KILN__SEGMENT_STEP - 1) & ~(KILN__SEGMENT_STEP - 1);
    if (!generous)
        return exact;
    size_t most = small ? SMALL_GROWTH_MAX : GROWTH_MAX;
    size_t least = small ? KILN__SEGMENT_STEP : GROWTH_MIN;
    size_t wish = arena->held[small ? KILN__CLASS_SMALL : KILN__CLASS_LARGE] / 4;
    wish &= ~(KILN__SEGMENT_STEP - 1);
    wish = wish > most ? most : wish < least ? least : wish;
    return exact > wish ? exact : wish;
}

kiln_status kiln__pool_arena_grow(kiln__pool_arena *arena, size_t bytes, bool generous, kiln_error *err)
{
    kiln__pool *pool = arena->pool;
    bool small = bytes <= KILN__SMALL_MAX;
    kiln_status status = KILN_OK;
    kiln__node *node = node_new(arena);
    kiln__segment *segment = NULL;

    if (node == NULL)
        return kiln__fail_memory(err, sizeof(slab));
    segment = spare_adopt(pool, bytes, small);
    if (segment == NULL) {
        KILN_TRY(kiln__make_zeroed(&segment, 1, sizeof *segment, err));
        segment->small = small;
        segment->bytes = segment_size(arena, bytes, small, generous);
        KILN_TRY(
            kiln__pool_source_alloc(pool, segment->bytes, arena->stream, &segment->raw, err));
    }
    segment_enter(arena, segment, node);
    return KILN_OK;

done:
    kiln__free(segment);
    node_recycle(arena, node);
    return status;
}

kiln__segment *kiln__pool_arena_give(kiln__pool_arena *arena, size_t bytes)
{
    const bool small = bytes <= KILN__SMALL_MAX;
    kiln__segment *best = NULL;

    for (kiln__segment *s = arena->sealed ? NULL : arena->segments; s != NULL; s = s->next)
        if (segment_is_free(s) && s->bytes >= bytes && s->small == small &&
            (best == NULL || s->bytes < best->bytes))
            best = s;
    if (best == NULL)
        return NULL;
    kiln__tree_remove(&arena->tree[class_of(best)], best->first);
    node_recycle(arena, best->first);
    segment_unlink(&arena->segments, best);
    arena->held[class_of(best)] -= best->bytes;
    best->first = NULL;
    return best;
}

bool kiln__pool_arena_adopt(kiln__pool_arena *arena, kiln__segment *segment, kiln__mark *mark)
{
    kiln__node *const node = node_new(arena);

    if (node == NULL)
        return false;
    if (mark != NULL)
        wait_on_stream(arena, mark);
    segment_enter(arena, segment, node);
    return true;
}

size_t kiln__pool_arena_trim(kiln__pool_arena *arena, size_t enough)
{
    size_t bytes = 0;
    kiln__segment *segment = arena->sealed ? NULL : arena->segments, *next = NULL;
    for (; segment != NULL && bytes < enough; segment = next) {
        next = segment->next;
        if (!segment_is_free(segment))
            continue;
        if (bytes == 0)
            kiln__stream_drain(arena->stream);
        kiln__tree_remove(&arena->tree[class_of(segment)], segment->first);
        node_recycle(arena, segment->first);
        segment_unlink(&arena->segments, segment);
        arena->held[class_of(segment)] -= segment->bytes;
        bytes += segment->bytes;
        segment_destroy(arena->pool, segment, arena->stream);
    }
    return bytes;
}

size_t kiln__pool_trim_spares(kiln__pool *pool)
{
    size_t bytes = 0;
    pthread_mutex_lock(&pool->lock);
    kiln__segment *segment = pool->spares;
    pool->spares = NULL;
    pthread_mutex_unlock(&pool->lock);
    while (segment != NULL) {
        kiln__segment *next = segment->next;
        kiln__stream_drain(segment->from);
        kiln__stream_release(segment->from);
        bytes += segment->bytes;
        segment_destroy(pool, segment, NULL);
        segment = next;
    }
    return bytes;
}

/* ---- the arena's own life ---- */

kiln_status kiln__pool_arena_create(kiln__pool *pool, kiln_stream *stream, kiln_error *err)
{
    kiln__pool_arena *arena = NULL;
    KILN_CHECK(kiln__make_zeroed(&arena, 1, sizeof *arena, err));
    pthread_mutex_init(&arena->lock, NULL);
    arena->pool = pool;
    arena->stream = kiln__stream_retain(stream);
    arena->seed = 0x9e3779b9u;

    pthread_mutex_lock(&pool->list_lock);
    arena->next = pool->arenas;
    if (arena->next != NULL)
        arena->next->previous = arena;
    pool->arenas = arena;
    pthread_mutex_unlock(&pool->list_lock);
    stream->arena = arena;
    return KILN_OK;
}

void kiln__pool_arena_seal(kiln__pool_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    arena->sealed = true;
    pthread_mutex_unlock(&arena->lock);
}

bool kiln__pool_arena_had_back(kiln__pool_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    const bool had = arena->allocation_count > arena->live;
    pthread_mutex_unlock(&arena->lock);
    return had;
}

void kiln__pool_arena_free(kiln__pool_arena *arena)
{
    for (slab *s = arena->slabs, *next; s != NULL; s = next) {
        next = s->next;
        kiln__free(s);
    }
    arena->stream->arena = NULL;
    kiln__stream_release(arena->stream);
    pthread_mutex_destroy(&arena->lock);
    kiln__free(arena);
}

bool kiln__pool_arena_is_over(const kiln__pool_arena *arena)
{
    return arena->closed && arena->live == 0;
}

void kiln__pool_arena_close(kiln__pool_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    arena->closed = true;
    arena->sealed = false;
    /* Blocks that wait for other streams would never be looked at again: wait for them here. */
    kiln__pool_arena_poll(arena, true, SIZE_MAX);
    bool over = kiln__pool_arena_is_over(arena);
    pthread_mutex_unlock(&arena->lock);
    if (over)
        kiln__pool_arena_retire(arena);
}

void kiln__pool_arena_retire(kiln__pool_arena *arena)
{
    kiln__pool *pool = arena->pool;

    pthread_mutex_lock(&pool->list_lock);
    if (arena->previous != NULL)
        arena->previous->next = arena->next;
    else
        pool->arenas = arena->next;
    if (arena->next != NULL)
        arena->next->previous = arena->previous;
    pool->retired_allocation_count += arena->allocation_count;
    pthread_mutex_unlock(&pool->list_lock);

    pthread_mutex_lock(&pool->lock);
    for (kiln__segment *segment = arena->segments, *next; segment != NULL; segment = next) {
        next = segment->next;
        segment->first = NULL;
        segment->from = kiln__stream_retain(arena->stream);
        segment_link(&pool->spares, segment);
    }
    pthread_mutex_unlock(&pool->lock);
    kiln__pool_arena_free(arena);
}
