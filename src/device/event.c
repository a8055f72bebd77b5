/*
 * event.c - events over a backend's own: points in the work of streams.
 *
 *     context, bench -> [kiln_event] -> backend events
 *
 * Rule: every function checks for fork and fault first; the destroyer skips the driver in a fork.
 */
#include "device/watch.h"

static kiln_status event_new(kiln__device *device, void *native, bool timing, kiln_event **out,
                             kiln_error *err)
{
    kiln_event *event = kiln__calloc(1, sizeof *event);

    if (event == NULL) {
        device->backend->event_destroy(device, native);
        return kiln__fail_memory(err, sizeof *event);
    }
    event->device = device;
    event->native = native;
    event->timing = timing;
    *out = event;
    return KILN_OK;
}

kiln_status kiln__event_create(kiln__device *device, const kiln__event_kind *kind, kiln_event **out,
                               kiln_error *err)
{
    void *native = NULL;

    *out = NULL;
    KILN_CHECK(kiln__device_check(device, err));
    KILN_CHECK(device->backend->event_create(device, kind, &native, err));
    return event_new(device, native, kind->timing, out, err);
}

kiln_status kiln__event_open(kiln__device *device, const kiln_event_handle *handle,
                             kiln_event **out, kiln_error *err)
{
    void *native = NULL;

    *out = NULL;
    KILN_CHECK(kiln__device_check(device, err));
    if (device->backend->event_open == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s shares no events with other processes",
                          device->info.id);
    KILN_CHECK(device->backend->event_open(device, handle, &native, err));
    KILN_CHECK(event_new(device, native, false, out, err));
    /* The process that exported it has recorded it, or will. */
    atomic_store(&(*out)->recorded, true);
    return KILN_OK;
}

void kiln__event_close(kiln_event *event)
{
    if (!kiln__device_forked(event->device))
        event->device->backend->event_destroy(event->device, event->native);
    event->native = NULL;
    atomic_store(&event->closed, true);
}

void kiln__event_destroy(kiln_event *event)
{
    if (event != NULL)
        kiln__event_close(event);
    kiln__free(event);
}

bool kiln__event_is_closed(const kiln_event *event)
{
    return atomic_load_explicit(&event->closed, memory_order_relaxed);
}

void *kiln__event_native(const kiln_event *event)
{
    return kiln__device_is_host(event->device) ? NULL : event->native;
}

void kiln__event_set_owner(kiln_event *event, void *owner)
{
    event->owner = owner;
}

void *kiln__event_owner(const kiln_event *event)
{
    return event->owner;
}

kiln_status kiln__event_record(kiln_event *event, kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = event->device;
    KILN_CHECK(kiln__device_check(device, err));
    if (stream->device != device)
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "an event of %s cannot be recorded on a stream of %s", device->info.id,
                          stream->device->info.id);
    KILN_CHECK(kiln__stream_no_recording(stream, "recording an event", err));
    kiln_status status = device->backend->event_record(device, event->native, stream->native, err);
    if (status == KILN_OK)
        atomic_store(&event->recorded, true);
    return status;
}

kiln_status kiln__stream_wait_event(kiln_stream *stream, kiln_event *event, kiln_error *err)
{
    kiln__device *device = stream->device;
    KILN_CHECK(kiln__device_check(device, err));
    KILN_CHECK(kiln__stream_no_recording(stream, "waiting for an event", err));
    if (event->device->backend != device->backend)
        return kiln__event_synchronize(event, err);
    KILN_CHECK(kiln__device_check(event->device, err));
    return device->backend->stream_wait_event(device, stream->native, event->native, err);
}

kiln_status kiln__event_query(kiln_event *event, bool *done_out, kiln_error *err)
{
    kiln__device *device = event->device;

    *done_out = false;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->event_query(device, event->native, done_out, err);
}

kiln_status kiln__event_synchronize(kiln_event *event, kiln_error *err)
{
    kiln__device *device = event->device;
    KILN_CHECK(kiln__device_check(device, err));
    kiln__work work;
    kiln__work_begin(&work, KILN_OBSERVED_WAIT, device, NULL);
    const kiln_status status =
        kiln__work_end(&work, device->backend->event_synchronize(device, event->native, err));
    return kiln__report_check(device, status, err);
}

/* ERR_ARGUMENT for an event that cannot be one end of a measurement. */
static kiln_status check_measures(const kiln_event *event, const char *which, kiln_error *err)
{
    if (!event->timing)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the %s event was made with no_timing", which);
    if (!atomic_load(&event->recorded))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the %s event has not been recorded", which);
    return KILN_OK;
}

kiln_status kiln__event_elapsed_ms(kiln_event *start, kiln_event *end, double *ms_out,
                                   kiln_error *err)
{
    kiln__device *device = end->device;

    *ms_out = 0;
    KILN_CHECK(kiln__device_check(device, err));
    /* Two contexts of one GPU share its clock. */
    if (start->device->backend != device->backend ||
        start->device->info.ordinal != device->info.ordinal)
        return kiln__fail(err, KILN_ERR_CONTEXT, "an event of %s and one of %s share no clock",
                          start->device->info.id, device->info.id);
    KILN_CHECK(check_measures(start, "start", err));
    KILN_CHECK(check_measures(end, "end", err));
    return device->backend->event_elapsed(device, start->native, end->native, ms_out, err);
}

kiln_status kiln__event_export(kiln_event *event, kiln_event_handle *handle_out, kiln_error *err)
{
    kiln__device *device = event->device;

    memset(handle_out, 0, sizeof *handle_out);
    KILN_CHECK(kiln__device_check(device, err));
    if (device->backend->event_export == NULL)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s shares no events with other processes",
                          device->info.id);
    return device->backend->event_export(device, event->native, handle_out, err);
}
