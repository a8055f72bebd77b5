/*
 * mark.c - what the pools know of streams: points in their work, and how long a stream's struct lives.
 *
 *     pool_arena.c host_pool.c stream.c -> [mark, drain, close, retain, release] -> backend events
 *
 * Rule: `native` is touched only while the stream is not closed. Closing happens under pool->lock, as
 *       does the one use of a stream that its owner does not know of (kiln__mark_make).
 */
#include "device/pool.h"

const kiln__event_kind kiln__event_plain = {false, false, false};

/* ---- the struct of a stream ---- */

kiln_stream *kiln__stream_retain(kiln_stream *stream)
{
    if (stream != NULL)
        atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
    return stream;
}

void kiln__stream_release(kiln_stream *stream)
{
    if (stream == NULL || atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) != 1)
        return;
    kiln__stream_release(atomic_load(&stream->behind));
    if (stream->closing_event != NULL && !kiln__device_forked(stream->device))
        stream->device->backend->event_destroy(stream->device, stream->closing_event);
    kiln__free(stream);
}

void kiln__stream_close(kiln_stream *stream)
{
    kiln__device *device = stream->device;
    const kiln__backend *backend = device->backend;
    void *event = NULL;

    pthread_mutex_lock(&device->pool->lock);
    bool marked = backend->event_create(device, &kiln__event_plain, &event, NULL) == KILN_OK &&
                  backend->event_record(device, event, stream->native, NULL) == KILN_OK;
    if (!marked) {
        (void)backend->stream_synchronize(device, stream->native, NULL);
        backend->event_destroy(device, event);
        event = NULL;
    }
    stream->closing_event = event;
    atomic_store(&stream->closed, true);
    if (!stream->wrapped)
        backend->stream_destroy(device, stream->native);
    stream->native = NULL;
    pthread_mutex_unlock(&device->pool->lock);
}

void kiln__stream_drain(kiln_stream *stream)
{
    kiln__device *device = stream->device;
    kiln_stream *const behind = atomic_load(&stream->behind);
    if (behind != NULL)
        kiln__stream_drain(behind);
    if (!atomic_load(&stream->closed))
        (void)device->backend->stream_synchronize(device, stream->native, NULL);
    else if (stream->closing_event != NULL)
        (void)device->backend->event_synchronize(device, stream->closing_event, NULL);
}

/* ---- marks ---- */

/* Put a mark behind what `native` has to do. The lock is held. */
static kiln_status record_mark(kiln__pool *pool, void *native, kiln__mark **out, kiln_error *err)
{
    const kiln__backend *backend = pool->device->backend;
    kiln__mark *mark = pool->marks;
    kiln_status status = KILN_OK;

    *out = NULL;
    if (mark != NULL) {
        pool->marks = mark->next;
    } else {
        KILN_CHECK(kiln__make_zeroed(&mark, 1, sizeof *mark, err));
        status = backend->event_create(pool->device, &kiln__event_plain, &mark->event, err);
        if (status != KILN_OK) {
            kiln__free(mark);
            return status;
        }
    }
    status = backend->event_record(pool->device, mark->event, native, err);
    if (status == KILN_OK) {
        mark->next = NULL;
        *out = mark;
    } else {
        mark->next = pool->marks;
        pool->marks = mark;
    }
    return status;
}

kiln_status kiln__mark_native(kiln__pool *pool, void *native, kiln__mark **out, kiln_error *err)
{
    pthread_mutex_lock(&pool->lock);
    const kiln_status status = record_mark(pool, native, out, err);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

kiln__mark *kiln__mark_make(kiln__pool *pool, kiln_stream *stream)
{
    const kiln__backend *backend = pool->device->backend;
    kiln__mark *mark = NULL;
    kiln_stream *const behind = atomic_load(&stream->behind);

    if (behind != NULL)
        stream = behind;
    /* The lock also keeps the stream from being closed between the look and the record. */
    pthread_mutex_lock(&pool->lock);
    bool closed = atomic_load(&stream->closed);
    if (!closed && record_mark(pool, stream->native, &mark, NULL) != KILN_OK)
        (void)backend->stream_synchronize(pool->device, stream->native, NULL);
    pthread_mutex_unlock(&pool->lock);
    if (closed && stream->closing_event != NULL)
        (void)backend->event_synchronize(pool->device, stream->closing_event, NULL);
    return mark;
}

void kiln__mark_recycle(kiln__pool *pool, kiln__mark *mark)
{
    pthread_mutex_lock(&pool->lock);
    mark->next = pool->marks;
    pool->marks = mark;
    pthread_mutex_unlock(&pool->lock);
}

void kiln__stream_await(kiln_stream *stream)
{
    kiln__device *const device = stream->device;

    if (kiln__device_forked(device))
        return;
    kiln__mark *const mark = kiln__mark_make(device->pool, stream);
    if (mark == NULL)
        return; /* it has been waited for already */
    (void)device->backend->event_synchronize(device, mark->event, NULL);
    kiln__mark_recycle(device->pool, mark);
}
