/*
 * stream.c - the public functions of streams and events: check arguments, keep the context alive,
 * and hand on to src/device.
 */
#include "context/context.h"

/* ---- streams ---- */

void kiln_stream_options_init(kiln_stream_options *opts, size_t struct_size)
{
    kiln__options_init(opts, struct_size);
}

/* Empty `*out`, an address of a pointer; ERR_NULL where an argument is missing. */
static kiln_status begin(const kiln_context *ctx, void **out, kiln_error *err)
{
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "out is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "ctx is NULL");
    return KILN_OK;
}

kiln_status kiln_stream_create(kiln_context *ctx, const kiln_stream_options *opts,
                               kiln_stream **out, kiln_error *err)
{
    kiln_stream_options o = KILN_STREAM_OPTIONS_INIT;
    kiln_status status = begin(ctx, (void **)out, err);

    if (status != KILN_OK)
        return status;
    KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts != NULL ? opts->struct_size : 0,
                                "kiln_stream_options", err));
    KILN_TRY(kiln__stream_create(kiln__context_device(ctx), &o, out, err));
    kiln__stream_set_owner(*out, kiln_context_retain(ctx));

done:
    return status;
}

kiln_status kiln_stream_wrap(kiln_context *ctx, void *custream, kiln_stream **out, kiln_error *err)
{
    kiln_status status = begin(ctx, (void **)out, err);

    if (status != KILN_OK)
        return status;
    status = kiln__stream_wrap(kiln__context_device(ctx), custream, out, err);
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
    kiln_context *ctx = NULL;

    if (stream == NULL)
        return;
    ctx = kiln__stream_owner(stream);
    if (kiln__context_forked(ctx) || kiln__stream_is_closed(stream))
        return;
    kiln__context_bury(ctx, kiln__stream_retain(stream), end_stream);
    kiln__stream_destroy(stream);
    kiln_context_release(ctx);
}

void *kiln_stream_native(kiln_context *ctx, kiln_stream *stream)
{
    if (stream == NULL && ctx != NULL)
        stream = kiln__device_stream(kiln__context_device(ctx));
    return stream != NULL ? kiln__stream_native(stream) : NULL;
}

kiln_status kiln_stream_priority_range(kiln_context *ctx, int *least_out, int *greatest_out,
                                       kiln_error *err)
{
    if (ctx == NULL || least_out == NULL || greatest_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL",
                          ctx == NULL         ? "ctx"
                          : least_out == NULL ? "least_out"
                                              : "greatest_out");
    return kiln__stream_priorities(kiln__context_device(ctx), least_out, greatest_out, err);
}

kiln_status kiln_stream_synchronize(kiln_stream *stream, kiln_error *err)
{
    if (stream == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "stream is NULL");
    if (kiln__stream_is_closed(stream))
        return kiln__context_released("stream", err);
    return kiln__stream_synchronize(stream, err);
}

kiln_status kiln_stream_query(kiln_stream *stream, bool *done_out, kiln_error *err)
{
    if (stream == NULL || done_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL", stream == NULL ? "stream" : "done_out");
    if (kiln__stream_is_closed(stream))
        return kiln__context_released("stream", err);
    return kiln__stream_query(stream, done_out, err);
}

kiln_status kiln_stream_wait(kiln_context *ctx, kiln_stream *stream, kiln_stream *other,
                             kiln_error *err)
{
    kiln_status status = KILN_OK;

    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "ctx is NULL");
    KILN_TRY(kiln__context_stream(ctx, stream, &stream, err));
    KILN_TRY(kiln__context_stream(ctx, other, &other, err));
    status = kiln__stream_wait(stream, other, err);

done:
    return status;
}

kiln_status kiln_stream_host_call(kiln_context *ctx, kiln_stream *stream, kiln_host_fn fn,
                                  void *user, kiln_error *err)
{
    kiln_status status = KILN_OK;

    if (ctx == NULL || fn == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL", ctx == NULL ? "ctx" : "fn");
    KILN_TRY(kiln__context_stream(ctx, stream, &stream, err));
    status = kiln__stream_host_call(stream, fn, user, err);

done:
    return status;
}

/* ---- events ---- */

void kiln_event_options_init(kiln_event_options *opts, size_t struct_size)
{
    kiln__options_init(opts, struct_size);
}

kiln_status kiln_event_create(kiln_context *ctx, const kiln_event_options *opts, kiln_event **out,
                              kiln_error *err)
{
    kiln_event_options o = KILN_EVENT_OPTIONS_INIT;
    kiln_status status = begin(ctx, (void **)out, err);

    if (status != KILN_OK)
        return status;
    KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts != NULL ? opts->struct_size : 0,
                                "kiln_event_options", err));
    if (o.interprocess && !o.no_timing) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT,
                            "an interprocess event measures no time: set no_timing as well");
        goto done;
    }
    const kiln__event_kind kind = {
        .timing = !o.no_timing, .blocking = o.blocking, .interprocess = o.interprocess};
    KILN_TRY(kiln__event_create(kiln__context_device(ctx), &kind, out, err));
    kiln__event_set_owner(*out, kiln_context_retain(ctx));

done:
    return status;
}

kiln_status kiln_event_open(kiln_context *ctx, const kiln_event_handle *handle, kiln_event **out,
                            kiln_error *err)
{
    kiln_status status = begin(ctx, (void **)out, err);

    if (status != KILN_OK)
        return status;
    if (handle == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "handle is NULL");
    status = kiln__event_open(kiln__context_device(ctx), handle, out, err);
    if (status == KILN_OK)
        kiln__event_set_owner(*out, kiln_context_retain(ctx));
    return status;
}

/* ERR_NULL for a handle that is missing, ERR_RELEASED for one that was destroyed. */
static kiln_status check_event(const kiln_event *event, const char *name, kiln_error *err)
{
    if (event == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL", name);
    return kiln__event_is_closed(event) ? kiln__context_released("event", err) : KILN_OK;
}

void kiln_event_destroy(kiln_event *event)
{
    kiln_context *ctx = NULL;

    if (event == NULL)
        return;
    ctx = kiln__event_owner(event);
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
    kiln_status status = KILN_OK;

    KILN_TRY(check_event(event, "event", err));
    KILN_TRY(kiln__context_stream(kiln__event_owner(event), stream, &stream, err));
    status = kiln__event_record(event, stream, err);

done:
    return status;
}

kiln_status kiln_stream_wait_event(kiln_context *ctx, kiln_stream *stream, kiln_event *event,
                                   kiln_error *err)
{
    kiln_status status = KILN_OK;

    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "ctx is NULL");
    KILN_TRY(check_event(event, "event", err));
    KILN_TRY(kiln__context_stream(ctx, stream, &stream, err));
    status = kiln__stream_wait_event(stream, event, err);

done:
    return status;
}

kiln_status kiln_event_query(kiln_event *event, bool *done_out, kiln_error *err)
{
    kiln_status status = check_event(event, "event", err);

    if (status == KILN_OK && done_out == NULL)
        status = kiln__fail(err, KILN_ERR_NULL, "done_out is NULL");
    return status == KILN_OK ? kiln__event_query(event, done_out, err) : status;
}

kiln_status kiln_event_synchronize(kiln_event *event, kiln_error *err)
{
    const kiln_status status = check_event(event, "event", err);

    return status == KILN_OK ? kiln__event_synchronize(event, err) : status;
}

kiln_status kiln_event_elapsed_ms(kiln_event *start, kiln_event *end, double *ms_out,
                                  kiln_error *err)
{
    kiln_status status = check_event(start, "start", err);

    if (status == KILN_OK)
        status = check_event(end, "end", err);
    if (status == KILN_OK && ms_out == NULL)
        status = kiln__fail(err, KILN_ERR_NULL, "ms_out is NULL");
    return status == KILN_OK ? kiln__event_elapsed_ms(start, end, ms_out, err) : status;
}

kiln_status kiln_event_export(kiln_event *event, kiln_event_handle *handle_out, kiln_error *err)
{
    kiln_status status = check_event(event, "event", err);

    if (status == KILN_OK && handle_out == NULL)
        status = kiln__fail(err, KILN_ERR_NULL, "handle_out is NULL");
    return status == KILN_OK ? kiln__event_export(event, handle_out, err) : status;
}
