/*
 * pool.c - device memory that is handed out and taken back without asking the device.
 *
 *     array -> [kiln__pool_alloc, kiln__pool_free] -> pool_arena.c -> pool_tree.c
 *
 * A hit is: lock the stream's arena, take the best fit out of a tree, put the rest back, unlock.
 * A miss asks the device for a segment; when there is none left, everything that can be given up
 * is given up, in the order of what it costs:
 *     a free block > a pending block whose events have passed > a spare segment or the device, with
 *     some in advance > the device, no more than needed > a pending block, and a free segment of
 *     another stream, for which this stream waits on the device > the device after trimming every
 *     arena > the same after waiting for pending blocks > any block that fits > what the program's
 *     shortage function lets go of > ERR_DEVICE_MEMORY
 *
 * Rule 1: no lock is held while another arena is touched (pool.h has the order of the locks).
 * Rule 2: nothing in here reads or writes the memory it hands out.
 */
#include "device/pool.h"

/* Pending blocks are looked at on every POLL_EVERYth hit, up to the first that has not passed: a
 * query costs more than a hit. */
#define POLL_EVERY 16u

/* So much idle memory is kept, because giving memory back makes the stream wait. */
#define IDLE_PLENTY ((size_t)256 << 20)

static size_t round_up(size_t bytes)
{
    return (bytes + KILN__GRANULE - 1) & ~(size_t)(KILN__GRANULE - 1);
}

/* ---- life ---- */

kiln_status kiln__pool_create(kiln__device *device, kiln__pool **out, kiln_error *err)
{
    kiln__pool *pool = kiln__calloc(1, sizeof *pool);
    *out = NULL;
    if (pool == NULL)
        return kiln__fail_memory(err, sizeof *pool);
    pthread_mutex_init(&pool->list_lock, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pool->device = device;
    pool->limit_bytes = SIZE_MAX;
    *out = pool;
    return KILN_OK;
}

static void free_segments(kiln__pool *pool, kiln__segment *segment, bool forked)
{
    while (segment != NULL) {
        kiln__segment *next = segment->next;
        if (!forked)
            kiln__pool_source_free(pool, segment->raw, segment->bytes, NULL);
        kiln__stream_release(segment->from);
        kiln__free(segment);
        segment = next;
    }
}

void kiln__pool_destroy(kiln__pool *pool)
{
    if (pool == NULL)
        return;
    bool forked = kiln__device_forked(pool->device);
    for (kiln__pool_arena *arena = pool->arenas, *next; arena != NULL; arena = next) {
        next = arena->next;
        if (!forked)
            kiln__pool_arena_poll(arena, true, SIZE_MAX);
        free_segments(pool, arena->segments, forked);
        kiln__pool_arena_free(arena);
    }
    free_segments(pool, pool->spares, forked);
    while (pool->marks != NULL) {
        kiln__mark *mark = pool->marks;
        pool->marks = mark->next;
        if (!forked)
            pool->device->backend->event_destroy(pool->device, mark->event);
        kiln__free(mark);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->list_lock);
    kiln__free(pool);
}

/* ---- allocate ---- */

/* Grow by a segment and take from it. The arena is locked. Memory that is not there is no
 * failure: *out stays NULL. */
static kiln_status grow_and_take(kiln__pool_arena *arena, size_t bytes, bool generous, kiln__node **out,
                                 kiln_error *err)
{
    kiln_status status = kiln__pool_arena_grow(arena, bytes, generous, err);
    if (status == KILN_ERR_DEVICE_MEMORY)
        return KILN_OK;
    if (status == KILN_OK)
        *out = kiln__pool_arena_take(arena, bytes, false);
    return status;
}

/* Wait for the pending blocks of every arena. */
static void wait_for_pending(kiln__pool *pool)
{
    pthread_mutex_lock(&pool->list_lock);
    for (kiln__pool_arena *arena = pool->arenas; arena != NULL; arena = arena->next) {
        pthread_mutex_lock(&arena->lock);
        kiln__pool_arena_poll(arena, true, SIZE_MAX);
        pthread_mutex_unlock(&arena->lock);
    }
    pthread_mutex_unlock(&pool->list_lock);
}

/* Give everything back that is free in any arena. */
static size_t trim(kiln__pool *pool)
{
    size_t bytes = kiln__pool_trim_spares(pool);
    pthread_mutex_lock(&pool->list_lock);
    for (kiln__pool_arena *arena = pool->arenas; arena != NULL; arena = arena->next) {
        pthread_mutex_lock(&arena->lock);
        kiln__pool_arena_poll(arena, false, SIZE_MAX);
        bytes += kiln__pool_arena_trim(arena, SIZE_MAX);
        pthread_mutex_unlock(&arena->lock);
    }
    pthread_mutex_unlock(&pool->list_lock);
    return bytes;
}

/* Before the pool grows: when much of what it holds is idle and in pieces too small, give the whole
 * idle segments back. Without this a program that asks for ever new sizes hoards the old ones. */
static void shed(kiln__pool_arena *arena, size_t bytes)
{
    kiln__pool *pool = arena->pool;
    size_t used = atomic_load_explicit(&pool->used_bytes, memory_order_relaxed);

    pthread_mutex_lock(&pool->lock);
    size_t idle = pool->held_bytes > used ? pool->held_bytes - used : 0;
    pthread_mutex_unlock(&pool->lock);
    if (idle > IDLE_PLENTY && idle > used / 4)
        (void)kiln__pool_arena_trim(arena, bytes);
}

/* A free segment of another stream, and in `mark_out` the point of that stream's work that must
 * have passed (NULL: it has). No lock is held. */
static kiln__segment *segment_of_others(const kiln__pool_arena *mine, size_t bytes,
                                        kiln__mark **mark_out)
{
    kiln__pool *pool = mine->pool;
    kiln__segment *segment = NULL;

    *mark_out = NULL;
    pthread_mutex_lock(&pool->list_lock);
    for (kiln__pool_arena *a = pool->arenas; a != NULL && segment == NULL; a = a->next) {
        if (a == mine)
            continue;
        pthread_mutex_lock(&a->lock);
        segment = kiln__pool_arena_give(a, bytes);
        if (segment != NULL)
            *mark_out = kiln__mark_make(pool, a->stream);
        pthread_mutex_unlock(&a->lock);
    }
    pthread_mutex_unlock(&pool->list_lock);
    return segment;
}

/* Memory that other streams may still use, for which the arena's own will wait. The host does not.
 * Not for a recording: its steps run elsewhere. */
static kiln__node *take_behind_others(kiln__pool_arena *arena, size_t bytes)
{
    kiln__mark *mark = NULL;
    kiln__node *node = kiln__pool_arena_claim(arena, bytes);

    if (node != NULL)
        return node;
    pthread_mutex_unlock(&arena->lock);
    kiln__segment *const segment = segment_of_others(arena, bytes, &mark);
    pthread_mutex_lock(&arena->lock);
    if (segment == NULL)
        return NULL;
    if (kiln__pool_arena_adopt(arena, segment, mark))
        return kiln__pool_arena_take(arena, bytes, false);
    if (mark != NULL) {
        (void)arena->pool->device->backend->event_synchronize(arena->pool->device, mark->event, NULL);
        kiln__mark_recycle(arena->pool, mark);
    }
    kiln__pool_source_free(arena->pool, segment->raw, segment->bytes, arena->stream);
    kiln__free(segment);
    return NULL;
}

/* The arena has no free block that fits. It is locked on entry and on return, not in between.
 * `*short_out`: the device had no more, or the limit let it have no more. */
static kiln_status take_hard(kiln__pool_arena *arena, size_t bytes, bool *short_out,
                             kiln__node **out, kiln_error *err)
{
    kiln__pool *pool = arena->pool;
    kiln_status status = KILN_OK;

    kiln__pool_arena_poll(arena, false, SIZE_MAX);
    *out = kiln__pool_arena_take(arena, bytes, false);
    if (*out == NULL) {
        shed(arena, bytes);
        status = grow_and_take(arena, bytes, true, out, err);
    }
    if (*out == NULL && status == KILN_OK)
        status = grow_and_take(arena, bytes, false, out, err);
    *short_out = *out == NULL && status == KILN_OK;
    if (*short_out && !arena->sealed)
        *out = take_behind_others(arena, bytes);

    for (int wait = 0; wait < 2 && *out == NULL && status == KILN_OK; wait++) {
        pthread_mutex_unlock(&arena->lock);
        if (wait)
            wait_for_pending(pool);
        size_t given_back = trim(pool);
        pthread_mutex_lock(&arena->lock);
        *out = kiln__pool_arena_take(arena, bytes, wait == 1);
        if (*out == NULL && given_back > 0)
            status = grow_and_take(arena, bytes, false, out, err);
    }
    if (*out == NULL && status == KILN_OK)
        status = KILN_ERR_DEVICE_MEMORY;
    return status;
}

/* A block that is the source's alone. */
static kiln_status take_direct(kiln__pool_arena *arena, size_t bytes, kiln__node **out,
                               kiln_error *err)
{
    void *raw = NULL;
    kiln_status status = kiln__pool_source_alloc(arena->pool, bytes, arena->stream, &raw, err);

    if (status != KILN_OK)
        return status;
    *out = kiln__pool_arena_take_zero(arena);
    if (*out == NULL) {
        kiln__pool_source_free(arena->pool, raw, bytes, arena->stream);
        return kiln__fail_memory(err, sizeof **out);
    }
    (*out)->block.address = raw;
    (*out)->block.bytes = bytes;
    return KILN_OK;
}

/* A block of `bytes`, which are rounded. Locks the arena. */
static kiln_status take(kiln__pool_arena *arena, size_t bytes, bool *short_out, kiln__node **out,
                        kiln_error *err)
{
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&arena->lock);
    if (arena->pending != NULL && ++arena->tick % POLL_EVERY == 0)
        kiln__pool_arena_poll(arena, false, 1);
    if (bytes == 0) {
        *out = kiln__pool_arena_take_zero(arena);
        if (*out == NULL)
            status = kiln__fail_memory(err, sizeof **out);
    } else if (arena->pool->source.direct && !arena->sealed) {
        status = take_direct(arena, bytes, out, err);
        *short_out = status == KILN_ERR_DEVICE_MEMORY;
    } else {
        *out = kiln__pool_arena_take(arena, bytes, false);
        if (*out == NULL)
            status = take_hard(arena, bytes, short_out, out, err);
    }
    if (*out != NULL)
        arena->allocation_count++;
    pthread_mutex_unlock(&arena->lock);
    return status;
}

/* Ask the program to let go of something. Whether it has. */
static bool ask_program(kiln__pool *pool, size_t bytes)
{
    static _Thread_local bool asking;

    if (pool->shortage == NULL || asking)
        return false;
    asking = true;
    const bool again = pool->shortage(pool->shortage_user, bytes);
    asking = false;
    return again;
}

static void count_used(kiln__pool *pool, size_t bytes)
{
    size_t used = atomic_fetch_add_explicit(&pool->used_bytes, bytes, memory_order_relaxed) + bytes;
    size_t peak = atomic_load_explicit(&pool->peak_used_bytes, memory_order_relaxed);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&pool->peak_used_bytes, &peak, used,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

kiln_status kiln__pool_alloc(kiln__device *device, size_t bytes, kiln_stream *stream,
                             kiln__block **out, kiln_error *err)
{
    kiln__pool *pool = device->pool;
    kiln__node *node = NULL;
    kiln_status status = KILN_OK;
    const size_t rounded = round_up(bytes);
    bool is_short = false;

    *out = NULL;
    if (kiln__device_forked(device))
        return kiln__device_check(device, err);
    if (bytes > PTRDIFF_MAX)
        return kiln__pool_fail_full(pool, bytes, err);
    /* Such a graph would go on using the memory after it is given back. */
    if (stream->wrapped && device->backend->stream_is_captured(device, stream->native))
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "the call allocates %zu bytes on a stream that is being captured: give "
                          "it outputs, which live as long as the graph",
                          bytes);
    do {
        status = take(stream->arena, rounded, &is_short, &node, err);
        if (is_short)
            kiln__pool_tell(pool, KILN_OBSERVED_LIMIT, stream, NULL, rounded, status);
    } while (status == KILN_ERR_DEVICE_MEMORY && ask_program(pool, bytes));
    if (status == KILN_ERR_DEVICE_MEMORY)
        return kiln__pool_fail_full(pool, bytes, err);
    if (status != KILN_OK)
        return status;
    count_used(pool, node->block.bytes);
    if (kiln__is_watched(KILN__WATCH_BLOCKS))
        kiln__pool_tell_alloc(pool, node);
    *out = &node->block;
    return KILN_OK;
}

/* ---- free ---- */

void kiln__pool_free(kiln__device *device, kiln__block *block, kiln_stream *const *used_on,
                     size_t count)
{
    kiln__node *node = (kiln__node *)block;
    kiln__mark *marks = NULL;

    if (block == NULL || kiln__device_forked(device))
        return;
    kiln__pool *pool = device->pool;
    kiln__pool_arena *arena = block->home->arena;
    for (size_t i = 0; i < count && block->bytes > 0; i++) {
        if (used_on[i] == NULL || used_on[i] == block->home)
            continue;
        kiln__mark *mark = kiln__mark_make(pool, used_on[i]);
        if (mark != NULL) {
            mark->next = marks;
            marks = mark;
        }
    }
    atomic_fetch_sub_explicit(&pool->used_bytes, block->bytes, memory_order_relaxed);
    if (kiln__is_watched(KILN__WATCH_BLOCKS) && block->bytes > 0)
        kiln__pool_tell(pool, KILN_OBSERVED_FREE, block->home, block->address, block->bytes,
                        KILN_OK);

    if (node->segment == NULL && block->bytes > 0) {
        kiln__pool_arena_give_direct(arena, node, marks);
        marks = NULL;
    }
    pthread_mutex_lock(&arena->lock);
    if (marks == NULL) {
        kiln__pool_arena_put(arena, node);
    } else {
        node->marks = marks;
        node->state = KILN__NODE_PENDING;
        node->right = NULL;
        if (arena->pending == NULL)
            arena->pending = node;
        else
            arena->pending_last->right = node;
        arena->pending_last = node;
        if (arena->closed)
            kiln__pool_arena_poll(arena, true, SIZE_MAX);
    }
    bool over = kiln__pool_arena_is_over(arena);
    pthread_mutex_unlock(&arena->lock);
    if (over)
        kiln__pool_arena_retire(arena);
}

/* ---- statistics, limit, trim ---- */

void kiln__pool_stats(kiln__device *device, kiln_pool_stats *out)
{
    kiln__pool *pool = device->pool;

    if (kiln__device_forked(device)) {
        memset(out, 0, sizeof *out);
        return;
    }
    pthread_mutex_lock(&pool->list_lock);
    out->allocation_count = pool->retired_allocation_count;
    for (kiln__pool_arena *arena = pool->arenas; arena != NULL; arena = arena->next) {
        pthread_mutex_lock(&arena->lock);
        out->allocation_count += arena->allocation_count;
        pthread_mutex_unlock(&arena->lock);
    }
    pthread_mutex_unlock(&pool->list_lock);

    pthread_mutex_lock(&pool->lock);
    out->held_bytes = pool->held_bytes;
    out->limit_bytes = pool->limit_bytes;
    out->device_allocation_count = pool->device_allocation_count;
    pthread_mutex_unlock(&pool->lock);
    out->used_bytes = atomic_load_explicit(&pool->used_bytes, memory_order_relaxed);
    out->peak_used_bytes = atomic_load_explicit(&pool->peak_used_bytes, memory_order_relaxed);
}

void kiln__pool_set_limit(kiln__device *device, size_t limit_bytes)
{
    if (kiln__device_forked(device))
        return;
    pthread_mutex_lock(&device->pool->lock);
    device->pool->limit_bytes = limit_bytes == 0 ? SIZE_MAX : limit_bytes;
    pthread_mutex_unlock(&device->pool->lock);
}

size_t kiln__pool_trim(kiln__device *device)
{
    return kiln__device_forked(device) ? 0 : trim(device->pool);
}
