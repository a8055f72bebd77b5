/*
 * stream.c - streams and events over a backend's own.
 *
 *     context, array -> [kiln_stream, kiln__event] -> backend streams and events, the pool's arenas
 *
 * A kiln_stream has two lives. Its handle ends with kiln__stream_destroy(), which lets the native
 * stream go at once; an event marks the end of the work it had. The struct lives on while memory
 * calls it home or somebody retains it, because a pointer to it stands for an order of work that
 * the pool must still be able to ask about.
 *
 * Rule 1: `native` is touched only while the stream is not closed. Closing happens under
 *         pool->lock, as does the one use of a stream that its owner does not know of
 *         (kiln__mark_make).
 * Rule 2: every function checks for fork and fault first; destroyers skip the driver in a fork.
 */
#include "device/pool.h"

/* More outputs of reductions than any device of today has room to share among blocks at once; what
 * 4000 tiles of a scan tell each other. */
enum { TICKETS_MAX = 1 << 14 };

kiln_status kiln__stream_create(kiln__device *device, void *native_or_null, bool wrap,
                                kiln_stream **out, kiln_error *err)
{
    const kiln__backend *backend = device->backend;
    kiln_status status = KILN_OK;
    void *native = NULL;
    kiln_stream *stream = NULL;

    *out = NULL;
    KILN_TRY(kiln__device_check(device, err));
    if (wrap && backend->stream_wrap == NULL) {
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s has no streams of its own to wrap",
                            device->info.id);
        goto done;
    }
    if (wrap)
        KILN_TRY(backend->stream_wrap(device, native_or_null, err));
    else
        KILN_TRY(backend->stream_create(device, &native, err));
    stream = kiln__calloc(1, sizeof *stream);
    if (stream == NULL) {
        status = kiln__fail_memory(err, sizeof *stream);
        goto done;
    }
    stream->device = device;
    stream->wrapped = wrap;
    stream->native = wrap ? native_or_null : native;
    atomic_init(&stream->refs, 1);
    KILN_TRY(kiln__arena_create(device->pool, stream, err));
    *out = stream;
    return KILN_OK;

done:
    kiln__free(stream);
    if (native != NULL)
        backend->stream_destroy(device, native);
    return status;
}

/* A page of tickets is the library's own: pool statistics tell what was handed out. */
static kiln_status page_alloc(kiln_stream *stream, kiln__block **out, kiln_error *err)
{
    const size_t bytes = TICKETS_MAX * sizeof(int);
    kiln_status status = kiln__pool_alloc(stream->device, bytes, stream, out, err);

    if (status != KILN_OK)
        return status;
    atomic_fetch_sub_explicit(&stream->device->pool->used_bytes, (*out)->bytes,
                              memory_order_relaxed);
    return kiln__memset(stream->device, (*out)->address, 0, bytes, stream, err);
}

static void page_free(kiln_stream *stream, kiln__block *page)
{
    if (page == NULL)
        return;
    atomic_fetch_add_explicit(&stream->device->pool->used_bytes, page->bytes,
                              memory_order_relaxed);
    kiln__pool_free(stream->device, page, NULL, 0);
}

/* Two threads that ask first both make a page; one is kept. Whoever finds it enqueues behind the
 * memset of the one that made it, since they share the stream. */
kiln_status kiln__stream_tickets(kiln_stream *stream, int64_t count, void **address_out,
                                 kiln_error *err)
{
    kiln__device *device = stream->device;
    kiln__block *page = atomic_load_explicit(&stream->tickets, memory_order_acquire), *none = NULL;
    kiln_status status = KILN_OK;

    *address_out = NULL;
    if (kiln__device_is_host(device) || count > TICKETS_MAX)
        return KILN_OK;
    if (page == NULL) {
        status = page_alloc(stream, &page, err);
        if (status != KILN_OK || !atomic_compare_exchange_strong(&stream->tickets, &none, page)) {
            page_free(stream, page);
            page = none;
        }
        if (status != KILN_OK)
            return status;
    }
    *address_out = page->address;
    return KILN_OK;
}

/* Mark the end of the stream's work and let the native stream go. */
static void stream_close(kiln_stream *stream)
{
    kiln__device *device = stream->device;
    const kiln__backend *backend = device->backend;
    void *event = NULL;

    pthread_mutex_lock(&device->pool->lock);
    bool marked = backend->event_create(device, false, &event, NULL) == KILN_OK &&
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

void kiln__stream_destroy(kiln_stream *stream)
{
    if (stream == NULL)
        return;
    page_free(stream, atomic_exchange(&stream->tickets, NULL));
    if (kiln__device_forked(stream->device))
        atomic_store(&stream->closed, true);
    else
        stream_close(stream);
    if (stream->arena != NULL)
        kiln__arena_close(stream->arena);
    kiln__stream_release(stream);
}

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
    if (stream->closing_event != NULL && !kiln__device_forked(stream->device))
        stream->device->backend->event_destroy(stream->device, stream->closing_event);
    kiln__free(stream);
}

kiln_stream *kiln__device_stream(kiln__device *device)
{
    return device->stream;
}

kiln__device *kiln__stream_device(const kiln_stream *stream)
{
    return stream->device;
}

void *kiln__stream_native(const kiln_stream *stream)
{
    return stream->native;
}

void kiln__stream_set_owner(kiln_stream *stream, void *owner)
{
    stream->owner = owner;
}

void *kiln__stream_owner(const kiln_stream *stream)
{
    return stream->owner;
}

kiln_status kiln__stream_synchronize(kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = stream->device;
    kiln_status status = kiln__device_check(device, err);
    if (status != KILN_OK)
        return status;
    return device->backend->stream_synchronize(device, stream->native, err);
}

kiln_status kiln__stream_wait(kiln_stream *stream, kiln_stream *other, kiln_error *err)
{
    kiln__device *device = stream->device;
    const kiln__backend *backend = device->backend;
    kiln_status status = kiln__device_check(device, err);

    if (status != KILN_OK || stream == other)
        return status;
    if (other->device != device)
        return kiln__fail(err, KILN_ERR_CONTEXT, "a stream of %s cannot wait for one of %s",
                          device->info.id, other->device->info.id);
    /* A mark may be recycled as soon as the wait is enqueued: the wait is for the event as it was
     * recorded, not for what is recorded later. */
    kiln__mark *mark = kiln__mark_make(device->pool, other);
    if (mark == NULL)
        return kiln__device_check(device, err);
    status = backend->stream_wait_event(device, stream->native, mark->event, err);
    kiln__mark_recycle(device->pool, mark);
    return status;
}

/* ---- events ---- */

kiln_status kiln__event_create(kiln__device *device, kiln__event **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__event *event = NULL;

    *out = NULL;
    KILN_TRY(kiln__device_check(device, err));
    event = kiln__calloc(1, sizeof *event);
    if (event == NULL) {
        status = kiln__fail_memory(err, sizeof *event);
        goto done;
    }
    event->device = device;
    KILN_TRY(device->backend->event_create(device, true, &event->native, err));
    *out = event;
    return KILN_OK;

done:
    kiln__free(event);
    return status;
}

void kiln__event_destroy(kiln__event *event)
{
    if (event == NULL)
        return;
    if (!kiln__device_forked(event->device))
        event->device->backend->event_destroy(event->device, event->native);
    kiln__free(event);
}

kiln_status kiln__event_record(kiln__event *event, kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = event->device;
    kiln_status status = kiln__device_check(device, err);
    if (status != KILN_OK)
        return status;
    if (stream->device != device)
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "an event of %s cannot be recorded on a stream "
                          "of %s",
                          device->info.id, stream->device->info.id);
    status = device->backend->event_record(device, event->native, stream->native, err);
    event->recorded = event->recorded || status == KILN_OK;
    return status;
}

kiln_status kiln__event_elapsed_ms(kiln__event *start, kiln__event *end, double *ms_out,
                                   kiln_error *err)
{
    kiln__device *device = end->device;
    kiln_status status = kiln__device_check(device, err);
    *ms_out = 0;
    if (status != KILN_OK)
        return status;
    if (start->device != device)
        return kiln__fail(err, KILN_ERR_CONTEXT, "an event of %s and one of %s share no clock",
                          start->device->info.id, device->info.id);
    if (!start->recorded || !end->recorded)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the %s event has not been recorded",
                          start->recorded ? "end" : "start");
    return device->backend->event_elapsed(device, start->native, end->native, ms_out, err);
}
