/*
 * pool_source.c - where the pool's memory comes from: the backend, or what the program gave in its place.
 *
 *     pool.c pool_arena.c -> [alloc, free] -> backend raw_alloc, kiln_memory_source
 *
 * Rule: pool->lock is not held while a source is asked.
 */
#include <stdio.h>

#include "device/pool.h"

/* What CUDA's own allocators promise at least. */
#define SOURCE_ALIGN ((uintptr_t)256)

/* ---- the driver's own pool ---- `user` is the device */

static bool async_alloc(void *user, size_t bytes, void *stream, void **memory_out)
{
    kiln__device *const device = user;

    return device->backend->raw_alloc_async(device, bytes, stream, memory_out);
}

static void async_free(void *user, void *memory, size_t bytes, void *stream)
{
    kiln__device *const device = user;

    (void)bytes;
    device->backend->raw_free_async(device, memory, stream);
}

kiln_status kiln__pool_set_source(kiln__device *device, const kiln_memory_source *source,
                                  kiln_error *err)
{
    const kiln_memory_source async = {async_alloc, async_free, device, true};

    if (source == NULL)
        return KILN_OK;
    if (source == KILN_MEMORY_ASYNC && device->backend->raw_alloc_async == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s has no pool of its driver's",
                          device->info.id);
    source = source == KILN_MEMORY_ASYNC ? &async : source;
    if (source->alloc == NULL || source->free == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "memory.%s is NULL",
                          source->alloc == NULL ? "alloc" : "free");
    device->pool->source = *source;
    return KILN_OK;
}

void kiln__pool_set_shortage(kiln__device *device, kiln_shortage_fn fn, void *user)
{
    device->pool->shortage = fn;
    device->pool->shortage_user = user;
}

/* ---- memory ---- */

/* The stream that the driver knows: the handle of a closed one is gone, but so is its work. */
static void *native_of(const kiln__pool *pool, const kiln_stream *stream)
{
    if (stream == NULL || atomic_load(&stream->closed))
        stream = pool->device->stream;
    return stream != NULL ? stream->native : NULL;
}

static kiln_status ask_source(kiln__pool *pool, size_t bytes, const kiln_stream *stream,
                              void **raw_out, kiln_error *err)
{
    const kiln_memory_source *const source = &pool->source;
    void *const native = native_of(pool, stream);
    bool pushed = false;

    KILN_CHECK(kiln__device_enter(pool->device, &pushed, err));
    bool given = source->alloc(source->user, bytes, native, raw_out) && *raw_out != NULL;
    const bool aligned = given && (uintptr_t)*raw_out % SOURCE_ALIGN == 0;
    if (given && !aligned)
        source->free(source->user, *raw_out, bytes, native);
    kiln__device_leave(pool->device, pushed);
    if (given && !aligned)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "the source of device memory gave an address that is no multiple of %u",
                          (unsigned)SOURCE_ALIGN);
    return given ? KILN_OK : KILN_ERR_DEVICE_MEMORY;
}

static void unreserve(kiln__pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->held_bytes -= bytes;
    pthread_mutex_unlock(&pool->lock);
}

kiln_status kiln__pool_source_alloc(kiln__pool *pool, size_t bytes, kiln_stream *stream,
                                    void **raw_out, kiln_error *err)
{
    kiln_error why = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    *raw_out = NULL;
    pthread_mutex_lock(&pool->lock);
    const bool fits =
        pool->held_bytes <= pool->limit_bytes && bytes <= pool->limit_bytes - pool->held_bytes;
    if (fits) {
        pool->held_bytes += bytes; /* reserved, so that two arenas cannot pass the limit together */
        pool->device_allocation_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!fits)
        return KILN_ERR_DEVICE_MEMORY;

    /* Memory that is not there is no failure yet: the pool has other ways. */
    status = pool->source.alloc != NULL
                 ? ask_source(pool, bytes, stream, raw_out, &why)
                 : pool->device->backend->raw_alloc(pool->device, bytes, raw_out, &why);
    if (status != KILN_OK) {
        if (status != KILN_ERR_DEVICE_MEMORY)
            (void)kiln__error_copy(err, &why);
        kiln_error_clear(&why);
        unreserve(pool, bytes);
    } else {
        kiln__pool_tell(pool, KILN_OBSERVED_ACQUIRE, stream, *raw_out, bytes, KILN_OK);
    }
    return status;
}

void kiln__pool_source_free(kiln__pool *pool, void *raw, size_t bytes, kiln_stream *stream)
{
    const kiln_memory_source *const source = &pool->source;
    bool pushed = false;

    if (source->alloc == NULL) {
        pool->device->backend->raw_free(pool->device, raw, bytes);
    } else if (kiln__device_enter(pool->device, &pushed, NULL) == KILN_OK) {
        source->free(source->user, raw, bytes, native_of(pool, stream));
        kiln__device_leave(pool->device, pushed);
    }
    unreserve(pool, bytes);
    kiln__pool_tell(pool, KILN_OBSERVED_RELEASE, stream, raw, bytes, KILN_OK);
}
