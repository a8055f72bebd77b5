/*
 * host_pool.c - page-locked host memory that is handed out and taken back.
 *
 *     kiln_host_alloc > [a free block of the size class > a new one from the backend]
 *     copy > [a mark on the block]      kiln_host_free > [free, once its marks have passed]
 *
 * A size class is a power of two, or one and a half times a power of two, from 4 KiB on: at most a
 * third of a block is unused. Write-combined blocks have no class; they go back to the backend when
 * they are freed.
 *
 * Observers are told of blocks outside the lock.
 *
 * Rule 1: one lock for all. It is not held while the backend allocates or frees.
 * Rule 2: `blocks` is sorted by address, so that the block of any pointer is found by bisection.
 * Rule 3: a mark is recorded on a block for each copy that is enqueued from or to it. A block is
 *         handed out again, or given back, only after all of its marks have passed.
 */
#include "device/pool.h"
#include "device/watch.h"

enum { CLASS_COUNT = 2 * 40, CLASS_SHIFT = 12 };

typedef struct host_block {
    char *memory;
    size_t bytes;   /* of the class, or as asked for */
    int size_class; /* -1: none */
    bool used;
    kiln__mark *marks;
    struct host_block *next; /* of the free ones of a class */
} host_block;

struct kiln__host_pool {
    kiln__device *device;
    pthread_mutex_t lock;
    host_block **blocks; /* all of them, by address */
    size_t count, capacity;
    host_block *free[CLASS_COUNT];
    kiln_pool_stats stats;
};

/* ---- observers ---- */

static void tell(kiln__host_pool *pool, kiln_observed kind, const void *memory, size_t bytes)
{
    kiln_observation what = {.kind = kind, .address = memory, .bytes = bytes};

    if (!kiln__is_watched(KILN_OBSERVE(kind)))
        return;
    pthread_mutex_lock(&pool->lock);
    what.used_bytes = pool->stats.used_bytes;
    what.held_bytes = pool->stats.held_bytes;
    pthread_mutex_unlock(&pool->lock);
    what.begin_us = what.end_us = kiln__now_us();
    kiln__watch_tell(pool->device, &what);
}

/* ---- size classes ---- */

static size_t class_bytes(int size_class)
{
    const size_t base = (size_t)1 << (CLASS_SHIFT + size_class / 2);

    return size_class % 2 == 0 ? base : base + base / 2;
}

/* The least class that holds `bytes`; -1 when none does. */
static int class_of(size_t bytes)
{
    for (int size_class = 0; size_class < CLASS_COUNT; size_class++)
        if (class_bytes(size_class) >= bytes)
            return size_class;
    return -1;
}

/* ---- blocks by address ---- the lock is held */

/* How many blocks begin at or below `address`. */
static size_t rank_of(const kiln__host_pool *pool, const void *address)
{
    size_t low = 0, high = pool->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)pool->blocks[middle]->memory <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The used block that holds all of [address, address + bytes); NULL: none. */
static host_block *block_at(const kiln__host_pool *pool, const void *address, size_t bytes)
{
    const size_t rank = rank_of(pool, address);
    host_block *const block = rank > 0 ? pool->blocks[rank - 1] : NULL;

    if (block == NULL || !block->used)
        return NULL;
    const size_t offset = (size_t)((uintptr_t)address - (uintptr_t)block->memory);
    return offset < block->bytes && bytes <= block->bytes - offset ? block : NULL;
}

static bool blocks_insert(kiln__host_pool *pool, host_block *block)
{
    if (!kiln__reserve(&pool->blocks, pool->count, &pool->capacity, sizeof pool->blocks[0]))
        return false;
    const size_t at = rank_of(pool, block->memory);
    memmove(&pool->blocks[at + 1], &pool->blocks[at], (pool->count - at) * sizeof pool->blocks[0]);
    pool->blocks[at] = block;
    pool->count++;
    return true;
}

static void blocks_remove(kiln__host_pool *pool, const host_block *block)
{
    const size_t at = rank_of(pool, block->memory) - 1;

    pool->count--;
    memmove(&pool->blocks[at], &pool->blocks[at + 1], (pool->count - at) * sizeof pool->blocks[0]);
}

/* ---- marks ---- */

/* Drop the marks that have passed, or wait for all. Whether none is left. */
static bool marks_passed(kiln__host_pool *pool, host_block *block, bool wait)
{
    kiln__device *device = pool->device;

    while (block->marks != NULL) {
        kiln__mark *const mark = block->marks;
        if (wait)
            (void)device->backend->event_synchronize(device, mark->event, NULL);
        else if (!kiln__event_done(device, mark->event))
            return false;
        block->marks = mark->next;
        kiln__mark_recycle(device->pool, mark);
    }
    return true;
}

/* The work enqueued on `stream` so far uses the memory. */
static void used_on(kiln__device *device, const void *address, kiln_stream *stream)
{
    kiln__host_pool *const pool = device->host_pool;
    kiln__mark *const mark = kiln__mark_make(device->pool, stream);

    if (mark == NULL)
        return; /* the stream's work was waited for instead */
    pthread_mutex_lock(&pool->lock);
    host_block *const block = block_at(pool, address, 1);
    if (block != NULL) {
        (void)marks_passed(pool, block, false); /* many copies keep few marks */
        mark->next = block->marks;
        block->marks = mark;
    }
    pthread_mutex_unlock(&pool->lock);
    if (block == NULL)
        kiln__mark_recycle(device->pool, mark);
}

kiln_status kiln__copy_enqueue(kiln__device *device, void *dst, const void *src, size_t bytes,
                               bool to_device, kiln_stream *stream, kiln_error *err)
{
    kiln_status status = kiln__device_check(device, err);

    if (status != KILN_OK || bytes == 0)
        return status;
    if (stream->recording != NULL)
        return kiln__record_transfer(stream, dst, src, bytes, to_device, err);
    kiln__work work;
    kiln__work_begin_copy(&work, to_device ? KILN_DIRECTION_TO_DEVICE : KILN_DIRECTION_TO_HOST, dst,
                          bytes, stream);
    status = kiln__work_end(&work, device->backend->enqueue_copy(device, dst, src, bytes, to_device,
                                                                 kiln__stream_enter(stream), err));
    /* A failed call may have enqueued all the same. */
    used_on(device, to_device ? src : dst, stream);
    return status;
}

bool kiln__host_is_pinned(kiln__device *device, const void *address, size_t bytes)
{
    kiln__host_pool *const pool = device->host_pool;

    pthread_mutex_lock(&pool->lock);
    const bool found = block_at(pool, address, bytes) != NULL;
    pthread_mutex_unlock(&pool->lock);
    return found;
}

/* ---- giving back to the backend ---- */

/* A block that no list holds any more. */
static void block_destroy(kiln__host_pool *pool, host_block *block)
{
    (void)marks_passed(pool, block, true);
    pool->device->backend->host_free(pool->device, block->memory);
    tell(pool, KILN_OBSERVED_HOST_RELEASE, block->memory, block->bytes);
    kiln__free(block);
}

/* Unlink a free block of `size_class` whose marks have passed (any block where `wait`). NULL: none.
 * The lock is held. */
static host_block *take_free(kiln__host_pool *pool, int size_class, bool wait)
{
    for (host_block **at = &pool->free[size_class]; *at != NULL; at = &(*at)->next) {
        host_block *const block = *at;
        if (wait || marks_passed(pool, block, false)) {
            *at = block->next;
            return block;
        }
    }
    return NULL;
}

static size_t trim(kiln__host_pool *pool)
{
    size_t freed = 0;

    for (int size_class = 0; size_class < CLASS_COUNT; size_class++) {
        host_block *block = NULL;
        do {
            pthread_mutex_lock(&pool->lock);
            block = take_free(pool, size_class, true);
            if (block != NULL) {
                blocks_remove(pool, block);
                pool->stats.held_bytes -= block->bytes;
                freed += block->bytes;
            }
            pthread_mutex_unlock(&pool->lock);
            if (block != NULL)
                block_destroy(pool, block);
        } while (block != NULL);
    }
    return freed;
}

/* ---- allocate and free ---- */

/* Note that `block` is handed out; the lock is held. */
static void hand_out(kiln__host_pool *pool, host_block *block)
{
    block->used = true;
    block->next = NULL;
    pool->stats.used_bytes += block->bytes;
    pool->stats.allocation_count++;
    if (pool->stats.used_bytes > pool->stats.peak_used_bytes)
        pool->stats.peak_used_bytes = pool->stats.used_bytes;
}

/* Room for `bytes` more under the limit, reserved in held_bytes. */
static bool reserve(kiln__host_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    const bool fits = pool->stats.held_bytes <= pool->stats.limit_bytes &&
                      bytes <= pool->stats.limit_bytes - pool->stats.held_bytes;
    if (fits)
        pool->stats.held_bytes += bytes;
    pthread_mutex_unlock(&pool->lock);
    return fits;
}

static void unreserve(kiln__host_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->stats.held_bytes -= bytes;
    pthread_mutex_unlock(&pool->lock);
}

/* A new block, not yet handed out and on no list. */
static kiln_status block_new(kiln__host_pool *pool, size_t bytes, bool write_combined,
                             host_block **out, kiln_error *err)
{
    kiln__device *const device = pool->device;
    void *memory = NULL;
    host_block *block = NULL;
    kiln_status status = KILN_OK;

    if (!reserve(pool, bytes) && (trim(pool) == 0 || !reserve(pool, bytes)))
        return kiln__fail(err, KILN_ERR_NO_MEMORY,
                          "%zu bytes of page-locked memory are more than the limit of %zu leaves, "
                          "of which %zu are in use",
                          bytes, pool->stats.limit_bytes, pool->stats.used_bytes);
    KILN_TRY(kiln__make_zeroed(&block, 1, sizeof *block, err));
    status = device->backend->host_alloc(device, bytes, write_combined, &memory, err);
    if (status == KILN_ERR_NO_MEMORY && trim(pool) > 0) {
        kiln_error_clear(err);
        status = device->backend->host_alloc(device, bytes, write_combined, &memory, err);
    }
    if (status != KILN_OK)
        goto done;
    block->memory = memory;
    block->bytes = bytes;
    tell(pool, KILN_OBSERVED_HOST_ACQUIRE, memory, bytes);
    *out = block;
    return KILN_OK;

done:
    kiln__free(block);
    unreserve(pool, bytes);
    return status;
}

kiln_status kiln__host_alloc(kiln__device *device, size_t bytes, bool write_combined, void **out,
                             kiln_error *err)
{
    kiln__host_pool *const pool = device->host_pool;
    const int size_class = write_combined ? -1 : class_of(bytes);
    bool listed = true;
    kiln_status status = kiln__device_check(device, err);

    *out = NULL;
    if (status != KILN_OK || bytes == 0)
        return status;
    pthread_mutex_lock(&pool->lock);
    host_block *block = size_class >= 0 ? take_free(pool, size_class, false) : NULL;
    if (block != NULL)
        hand_out(pool, block);
    pthread_mutex_unlock(&pool->lock);
    if (block == NULL) {
        KILN_CHECK(block_new(pool, size_class >= 0 ? class_bytes(size_class) : bytes,
                             write_combined, &block, err));
        block->size_class = size_class;
        pthread_mutex_lock(&pool->lock);
        listed = blocks_insert(pool, block);
        if (listed) {
            pool->stats.device_allocation_count++;
            hand_out(pool, block);
        } else {
            pool->stats.held_bytes -= block->bytes;
        }
        pthread_mutex_unlock(&pool->lock);
    }
    if (!listed) {
        block_destroy(pool, block);
        return kiln__fail_memory(err, sizeof *block);
    }
    *out = block->memory;
    tell(pool, KILN_OBSERVED_HOST_ALLOC, block->memory, block->bytes);
    return KILN_OK;
}

void kiln__host_free(kiln__device *device, void *memory)
{
    kiln__host_pool *const pool = device->host_pool;
    size_t bytes = 0;

    if (memory == NULL || kiln__device_forked(device))
        return;
    pthread_mutex_lock(&pool->lock);
    host_block *block = block_at(pool, memory, 1);
    if (block != NULL && block->memory != memory)
        block = NULL; /* not where a block begins */
    if (block != NULL) {
        bytes = block->bytes;
        block->used = false;
        pool->stats.used_bytes -= block->bytes;
        if (block->size_class >= 0) {
            block->next = pool->free[block->size_class];
            pool->free[block->size_class] = block;
            block = NULL;
        } else {
            blocks_remove(pool, block);
            pool->stats.held_bytes -= block->bytes;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    if (bytes > 0)
        tell(pool, KILN_OBSERVED_HOST_FREE, memory, bytes);
    if (block != NULL)
        block_destroy(pool, block);
}

/* ---- life and statistics ---- */

kiln_status kiln__host_pool_create(kiln__device *device, kiln__host_pool **out, kiln_error *err)
{
    kiln__host_pool *pool = kiln__calloc(1, sizeof *pool);

    *out = pool;
    if (pool == NULL)
        return kiln__fail_memory(err, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pool->device = device;
    pool->stats.limit_bytes = SIZE_MAX;
    return KILN_OK;
}

void kiln__host_pool_destroy(kiln__host_pool *pool)
{
    if (pool == NULL)
        return;
    const bool forked = kiln__device_forked(pool->device);
    for (size_t k = 0; k < pool->count; k++) {
        if (!forked)
            block_destroy(pool, pool->blocks[k]);
        else
            kiln__free(pool->blocks[k]);
    }
    kiln__free(pool->blocks);
    pthread_mutex_destroy(&pool->lock);
    kiln__free(pool);
}

void kiln__host_pool_stats(kiln__device *device, kiln_pool_stats *out)
{
    kiln__host_pool *const pool = device->host_pool;

    memset(out, 0, sizeof *out);
    if (kiln__device_forked(device))
        return;
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}

void kiln__host_pool_set_limit(kiln__device *device, size_t limit_bytes)
{
    if (kiln__device_forked(device))
        return;
    pthread_mutex_lock(&device->host_pool->lock);
    device->host_pool->stats.limit_bytes = limit_bytes != 0 ? limit_bytes : SIZE_MAX;
    pthread_mutex_unlock(&device->host_pool->lock);
}

size_t kiln__host_pool_trim(kiln__device *device)
{
    return kiln__device_forked(device) ? 0 : trim(device->host_pool);
}

/* ---- what kernels report to; see report.c ---- */

kiln_status kiln__device_report(kiln__device *device, int64_t **out, kiln_error *err)
{
    int64_t *report = atomic_load_explicit(&device->report, memory_order_acquire), *none = NULL;
    void *memory = NULL;

    *out = report;
    if (report != NULL)
        return KILN_OK;
    KILN_CHECK(
        kiln__host_alloc(device, KILN__REPORT_WORDS * sizeof *report, false, &memory, err));
    memset(memory, 0, KILN__REPORT_WORDS * sizeof *report);
    if (!atomic_compare_exchange_strong(&device->report, &none, (int64_t *)memory)) {
        kiln__host_free(device, memory); /* another thread was first */
        memory = none;
    }
    *out = memory;
    return KILN_OK;
}
