/*
 * stream.c - streams over a backend's own. Events are in event.c.
 *
 *     context, array -> [kiln_stream] -> backend streams, the pool's arenas
 *
 * A kiln_stream has two lives. Its handle ends with kiln__stream_destroy(), which lets the native
 * stream go at once; an event marks the end of the work it had. The struct lives on while memory
 * calls it home or somebody retains it, because a pointer to it stands for an order of work that
 * the pool must still be able to ask about.
 *
 * Rule: every function checks for fork and fault first; destroyers skip the driver in a fork. When
 *       `native` may be touched is the rule of mark.c.
 */
#include "device/pool.h"
#include "device/watch.h"

/* Enough for the outputs of a reduction that the blocks of today's largest device can share at
 * once, and for the state of 4000 tiles of a scan. */
enum { TICKETS_MAX = 1 << 14 };

kiln_status kiln__stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                    kiln_error *err)
{
    *least_out = *greatest_out = 0;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->stream_priorities(device, least_out, greatest_out, err);
}

/* The struct around a native stream, which is the caller's still after a failure. */
static kiln_status stream_new(kiln__device *device, void *native, bool wrapped, kiln_stream **out,
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_stream *stream = NULL;
    KILN_CHECK(kiln__make_zeroed(&stream, 1, sizeof *stream, err));
    stream->device = device;
    stream->wrapped = wrapped;
    stream->native = native;
    atomic_init(&stream->refs, 1);
    KILN_TRY(kiln__pool_arena_create(device->pool, stream, err));
    *out = stream;
    return KILN_OK;

done:
    kiln__free(stream);
    return status;
}

kiln_status kiln__stream_create(kiln__device *device, const kiln_stream_options *options,
                                kiln_stream **out, kiln_error *err)
{
    const kiln_stream_options defaults = KILN_STREAM_OPTIONS_INIT;
    const kiln_stream_options *o = options != NULL ? options : &defaults;
    const kiln__backend *backend = device->backend;
    void *native = NULL;

    *out = NULL;
    KILN_CHECK(kiln__device_check(device, err));
    KILN_CHECK(backend->stream_create(device, o->priority, o->blocking, &native, err));
    kiln_status status = stream_new(device, native, false, out, err);
    if (status != KILN_OK)
        backend->stream_destroy(device, native);
    return status;
}

kiln_status kiln__stream_wrap(kiln__device *device, void *native, kiln_stream **out,
                              kiln_error *err)
{
    *out = NULL;
    KILN_CHECK(kiln__device_check(device, err));
    if (device->backend->stream_wrap == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s has no streams of its own to wrap",
                          device->info.id);
    KILN_CHECK(device->backend->stream_wrap(device, native, err));
    return stream_new(device, native, true, out, err);
}

/* A page of tickets is the library's own: pool statistics tell what was handed out. */
static kiln_status page_alloc(kiln_stream *stream, kiln__block **out, kiln_error *err)
{
    const size_t bytes = TICKETS_MAX * sizeof(int);
    KILN_CHECK(kiln__pool_alloc(stream->device, bytes, stream, out, err));
    atomic_fetch_sub_explicit(&stream->device->pool->used_bytes, (*out)->bytes,
                              memory_order_relaxed);
    /* Of a recording a page in memory that earlier steps write is zeroed by a step, in each run.
     * Else once: steps leave zeros behind. */
    if (stream->recording == NULL || kiln__pool_arena_had_back(stream->arena))
        return kiln__memset(stream->device, (*out)->address, 0, bytes, stream, err);
    const kiln__backend *const backend = stream->device->backend;
    KILN_CHECK(
        backend->memory_set(stream->device, (*out)->address, 0, bytes, stream->native, err));
    return backend->stream_synchronize(stream->device, stream->native, err);
}

static void page_free(kiln_stream *stream, kiln__block *page)
{
    if (page == NULL)
        return;
    atomic_fetch_add_explicit(&stream->device->pool->used_bytes, page->bytes, memory_order_relaxed);
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

bool kiln__stream_is_closed(const kiln_stream *stream)
{
    return atomic_load_explicit(&stream->closed, memory_order_relaxed);
}

void kiln__stream_destroy(kiln_stream *stream)
{
    if (stream == NULL)
        return;
    page_free(stream, atomic_exchange(&stream->tickets, NULL));
    if (kiln__device_forked(stream->device))
        atomic_store(&stream->closed, true);
    else
        kiln__stream_close(stream);
    if (stream->arena != NULL)
        kiln__pool_arena_close(stream->arena);
    kiln__stream_release(stream);
}

kiln_stream *kiln__device_home(kiln__device *device)
{
    return device->stream;
}

kiln_stream *kiln__device_stream(kiln__device *device)
{
    return kiln__stream_current(device->stream);
}

kiln__device *kiln__stream_device(const kiln_stream *stream)
{
    return stream->device;
}

void *kiln__stream_native(kiln_stream *stream)
{
    return kiln__stream_enter(stream);
}

uint64_t kiln__stream_work(const kiln_stream *stream)
{
    return atomic_load_explicit(&stream->work, memory_order_relaxed);
}

void kiln__stream_set_owner(kiln_stream *stream, void *owner)
{
    stream->owner = owner;
}

void *kiln__stream_owner(const kiln_stream *stream)
{
    return stream->owner;
}

kiln_status kiln__stream_finish(kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = stream->device;
    KILN_CHECK(kiln__device_check(device, err));
    kiln__work work;
    kiln__work_begin(&work, KILN_OBSERVED_WAIT, device, NULL);
    if (work.watched)
        work.what.stream = stream->native;
    return kiln__work_end(&work, device->backend->stream_synchronize(device, stream->native, err));
}

kiln_status kiln__stream_synchronize(kiln_stream *stream, kiln_error *err)
{
    return kiln__report_check(stream->device, kiln__stream_finish(stream, err), err);
}

kiln_status kiln__stream_query(kiln_stream *stream, bool *done_out, kiln_error *err)
{
    kiln__device *device = stream->device;

    *done_out = false;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->stream_query(device, stream->native, done_out, err);
}

kiln_status kiln__stream_host_call(kiln_stream *stream, kiln_host_fn fn, void *user,
                                   kiln_error *err)
{
    kiln__device *device = stream->device;
    KILN_CHECK(kiln__device_check(device, err));
    if (stream->recording != NULL)
        return kiln__record_host_call(stream, fn, user, err);
    return device->backend->host_call(device, kiln__stream_enter(stream), fn, user, err);
}

kiln_status kiln__native_wait(kiln__device *device, void *native, kiln_stream *other,
                              kiln_error *err)
{
    kiln_status status = kiln__device_check(device, err);

    if (status == KILN_OK)
        status = kiln__stream_no_recording(other, "letting another stream wait", err);
    if (status != KILN_OK || (other->native == native && !atomic_load(&other->closed)))
        return status;
    /* A mark may be recycled as soon as the wait is enqueued: the wait is for the event as it was
     * recorded, not for what is recorded later. */
    kiln__mark *mark = kiln__mark_make(device->pool, other);
    if (mark == NULL)
        return kiln__device_check(device, err);
    status = device->backend->stream_wait_event(device, native, mark->event, err);
    kiln__mark_recycle(device->pool, mark);
    return status;
}

kiln_status kiln__stream_wait_native(kiln_stream *stream, void *native, kiln_error *err)
{
    kiln__device *device = stream->device;
    kiln__mark *mark = NULL;
    kiln_status status = kiln__device_check(device, err);

    if (status == KILN_OK)
        status = kiln__stream_no_recording(stream, "waiting for another stream", err);
    if (status != KILN_OK || stream->native == native)
        return status;
    KILN_CHECK(kiln__mark_native(device->pool, native, &mark, err));
    status = device->backend->stream_wait_event(device, stream->native, mark->event, err);
    kiln__mark_recycle(device->pool, mark);
    return status;
}

kiln_status kiln__stream_wait(kiln_stream *stream, kiln_stream *other, kiln_error *err)
{
    kiln__device *device = stream->device;
    kiln_status status = kiln__device_check(device, err);

    if (status != KILN_OK || stream == other)
        return status;
    if (other->device != device)
        return kiln__fail(err, KILN_ERR_CONTEXT, "a stream of %s cannot wait for one of %s",
                          device->info.id, other->device->info.id);
    status = kiln__stream_no_recording(stream, "waiting for another stream", err);
    if (status != KILN_OK)
        return status;
    return kiln__native_wait(device, stream->native, other, err);
}
