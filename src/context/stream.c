/*
 * stream.c - the public functions of streams and events (kiln/stream.h, kiln/event.h). They check
 * arguments, keep the context alive, and call src/device. Test: test_stream.
 */
#include "context/context.h"

/* ---- streams ---- */

KILN_DEFINE_OPTIONS_INIT(kiln_stream_options)

kiln_status kiln_stream_create(kiln_context *ctx, const kiln_stream_options *opts,
                               kiln_stream **out, kiln_error *err)
{
    kiln_stream_options o = KILN_STREAM_OPTIONS_INIT;
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK(KILN_READ_OPTIONS(kiln_stream_options, &o, opts, err));
    KILN_CHECK(kiln__stream_create(kiln__context_device(ctx), &o, out, err));
    kiln__stream_set_owner(*out, kiln_context_retain(ctx));
    return KILN_OK;
}

kiln_status kiln_stream_wrap(kiln_context *ctx, void *custream, kiln_stream **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    kiln_status status = kiln__stream_wrap(kiln__context_device(ctx), custream, out, err);
    if (status == KILN_OK)
        kiln__stream_set_owner(*out, kiln_context_retain(ctx));
    return status;
}

static void end_stream(void *handle)
{
    kiln__stream_release(handle);
}

void kiln_stream_destroy(kiln_stream *stream)
{
    if (stream == NULL)
        return;
    kiln_context *const ctx = kiln__stream_owner(stream);
    if (kiln__context_forked(ctx) || kiln__stream_is_closed(stream))
        return;
    (void)kiln__recording_end(stream, NULL, NULL); /* where it is captured */
    kiln__context_bury(ctx, kiln__stream_retain(stream), end_stream);
    kiln__stream_destroy(stream);
    kiln_context_release(ctx);
}

void *kiln_stream_native(kiln_context *ctx, kiln_stream *stream)
{
    if (stream == NULL && ctx != NULL)
        stream = kiln__device_home(kiln__context_device(ctx));
    return stream != NULL ? kiln__stream_native(stream) : NULL;
}

kiln_status kiln_stream_priority_range(kiln_context *ctx, int *least_out, int *greatest_out,
                                       kiln_error *err)
{
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(least_out, err);
    KILN_CHECK_NULL(greatest_out, err);
    return kiln__stream_priorities(kiln__context_device(ctx), least_out, greatest_out, err);
}

kiln_status kiln_stream_synchronize(kiln_stream *stream, kiln_error *err)
{
    KILN_CHECK_NULL(stream, err);
    if (kiln__stream_is_closed(stream))
        return kiln__context_released("stream", err);
    return kiln__stream_synchronize(stream, err);
}

kiln_status kiln_stream_query(kiln_stream *stream, bool *done_out, kiln_error *err)
{
    KILN_CHECK_NULL(stream, err);
    KILN_CHECK_NULL(done_out, err);
    if (kiln__stream_is_closed(stream))
        return kiln__context_released("stream", err);
    return kiln__stream_query(stream, done_out, err);
}

kiln_status kiln_stream_wait(kiln_context *ctx, kiln_stream *stream, kiln_stream *other,
                             kiln_error *err)
{
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK(kiln__context_stream(ctx, stream, &stream, err));
    KILN_CHECK(kiln__context_stream(ctx, other, &other, err));
    return kiln__stream_wait(stream, other, err);
}

kiln_status kiln_stream_host_call(kiln_context *ctx, kiln_stream *stream, kiln_host_fn fn,
                                  void *user, kiln_error *err)
{
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(fn, err);
    KILN_CHECK(kiln__context_stream(ctx, stream, &stream, err));
    return kiln__stream_host_call(stream, fn, user, err);
}

/* ---- events ---- */

KILN_DEFINE_OPTIONS_INIT(kiln_event_options)

kiln_status kiln_event_create(kiln_context *ctx, const kiln_event_options *opts, kiln_event **out,
                              kiln_error *err)
{
    kiln_event_options o = KILN_EVENT_OPTIONS_INIT;
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK(KILN_READ_OPTIONS(kiln_event_options, &o, opts, err));
    if (o.interprocess && !o.no_timing)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "an interprocess event measures no time: set no_timing as well");
    const kiln__event_kind kind = {
        .timing = !o.no_timing, .blocking = o.blocking, .interprocess = o.interprocess};
    KILN_CHECK(kiln__event_create(kiln__context_device(ctx), &kind, out, err));
    kiln__event_set_owner(*out, kiln_context_retain(ctx));
    return KILN_OK;
}

kiln_status kiln_event_open(kiln_context *ctx, const kiln_event_handle *handle, kiln_event **out,
                            kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(handle, err);
    kiln_status status = kiln__event_open(kiln__context_device(ctx), handle, out, err);
    if (status == KILN_OK)
        kiln__event_set_owner(*out, kiln_context_retain(ctx));
    return status;
}

/* ERR_RELEASED for an event that was destroyed. */
static kiln_status check_open(const kiln_event *event, kiln_error *err)
{
    return kiln__event_is_closed(event) ? kiln__context_released("event", err) : KILN_OK;
}

void kiln_event_destroy(kiln_event *event)
{
    if (event == NULL)
        return;
    kiln_context *const ctx = kiln__event_owner(event);
    if (kiln__context_forked(ctx) || kiln__event_is_closed(event))
        return;
    kiln__event_close(event);
    kiln__context_bury(ctx, event, NULL);
    kiln_context_release(ctx);
}

void *kiln_event_native(kiln_event *event)
{
    return event != NULL ? kiln__event_native(event) : NULL;
}

kiln_status kiln_event_record(kiln_event *event, kiln_stream *stream, kiln_error *err)
{
    KILN_CHECK_NULL(event, err);
    KILN_CHECK(check_open(event, err));
    KILN_CHECK(kiln__context_stream(kiln__event_owner(event), stream, &stream, err));
    return kiln__event_record(event, stream, err);
}

kiln_status kiln_stream_wait_event(kiln_context *ctx, kiln_stream *stream, kiln_event *event,
                                   kiln_error *err)
{
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(event, err);
    KILN_CHECK(check_open(event, err));
    KILN_CHECK(kiln__context_stream(ctx, stream, &stream, err));
    return kiln__stream_wait_event(stream, event, err);
}

kiln_status kiln_event_query(kiln_event *event, bool *done_out, kiln_error *err)
{
    KILN_CHECK_NULL(event, err);
    KILN_CHECK(check_open(event, err));
    KILN_CHECK_NULL(done_out, err);
    return kiln__event_query(event, done_out, err);
}

kiln_status kiln_event_synchronize(kiln_event *event, kiln_error *err)
{
    KILN_CHECK_NULL(event, err);
    KILN_CHECK(check_open(event, err));
    return kiln__event_synchronize(event, err);
}

kiln_status kiln_event_elapsed_ms(kiln_event *start, kiln_event *end, double *ms_out,
                                  kiln_error *err)
{
    KILN_CHECK_NULL(start, err);
    KILN_CHECK(check_open(start, err));
    KILN_CHECK_NULL(end, err);
    KILN_CHECK(check_open(end, err));
    KILN_CHECK_NULL(ms_out, err);
    return kiln__event_elapsed_ms(start, end, ms_out, err);
}

kiln_status kiln_event_export(kiln_event *event, kiln_event_handle *handle_out, kiln_error *err)
{
    KILN_CHECK_NULL(event, err);
    KILN_CHECK(check_open(event, err));
    KILN_CHECK_NULL(handle_out, err);
    return kiln__event_export(event, handle_out, err);
}
