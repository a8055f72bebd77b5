/*
 * stream.c - CUDA streams, events and host calls behind the backend table.
 *
 * Streams are made NON_BLOCKING unless asked otherwise: they do not wait for the legacy default
 * stream, on which other libraries of the process may work. Whoever shares memory with such a
 * library orders the two with kiln_stream_wrap() and kiln_stream_wait().
 */
#include "device/cuda/driver.h"

#define STREAM_DEFAULT 0x0u
#define STREAM_NON_BLOCKING 0x1u
#define EVENT_BLOCKING_SYNC 0x1u
#define EVENT_DISABLE_TIMING 0x2u
#define EVENT_INTERPROCESS 0x4u

/* ---- streams ---- */

kiln_status kiln__cuda_stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                         kiln_error *err)
{
    KILN__CU_CHECK(ctx_get_priority_range, "cuCtxGetStreamPriorityRange",
                   (least_out, greatest_out));
    return KILN_OK;
}

/* The driver moves a priority outside the device's range to its nearer end. */
kiln_status kiln__cuda_stream_create(kiln__device *device, int priority, bool blocking,
                                     void **native_out, kiln_error *err)
{
    const unsigned flags = blocking ? STREAM_DEFAULT : STREAM_NON_BLOCKING;
    kiln__cu_stream stream = NULL;

    KILN__CU_CHECK(stream_create, "cuStreamCreateWithPriority", (&stream, flags, priority));
    *native_out = stream;
    return KILN_OK;
}

void kiln__cuda_stream_destroy(kiln__device *device, void *native)
{
    bool pushed;

    if (native == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.stream_destroy(native);
    kiln__cuda_leave(pushed);
}

kiln_status kiln__cuda_stream_wrap(kiln__device *device, void *native, kiln_error *err)
{
    kiln__cu_context context = NULL;

    /* The default streams (NULL, 1, 2) answer with the current context: this device's. */
    KILN__CU_CHECK(stream_get_ctx, "cuStreamGetCtx", (native, &context));
    if (context != kiln__cuda_of(device)->context)
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "the stream does not belong to the primary context of %s",
                          device->info.id);
    return KILN_OK;
}

kiln_status kiln__cuda_stream_synchronize(kiln__device *device, void *native, kiln_error *err)
{
    KILN__CU_CHECK(stream_synchronize, "cuStreamSynchronize", (native));
    return KILN_OK;
}

/* What cuStreamQuery() and cuEventQuery() say, as a status and an answer. */
static kiln_status answer(kiln__device *device, kiln__cu_result result, const char *symbol,
                          bool *done_out, kiln_error *err)
{
    *done_out = result == KILN__CU_OK;
    return result == KILN__CU_NOT_READY ? KILN_OK : kiln__cuda_status(device, result, symbol, err);
}

kiln_status kiln__cuda_stream_query(kiln__device *device, void *native, bool *done_out,
                                    kiln_error *err)
{
    bool pushed;

    *done_out = false;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln_status status =
        answer(device, kiln__cu.stream_query(native), "cuStreamQuery", done_out, err);
    kiln__cuda_leave(pushed);
    return status;
}

bool kiln__cuda_stream_is_captured(kiln__device *device, void *native)
{
    bool pushed;
    int status = 0;

    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return false;
    const kiln__cu_result result = kiln__cu.stream_is_capturing(native, &status);
    kiln__cuda_leave(pushed);
    return result == KILN__CU_OK && status != 0;
}

kiln_status kiln__cuda_stream_wait_event(kiln__device *device, void *native, void *event,
                                         kiln_error *err)
{
    KILN__CU_CHECK(stream_wait_event, "cuStreamWaitEvent", (native, event, 0));
    return KILN_OK;
}

kiln_status kiln__cuda_host_call(kiln__device *device, void *native, kiln_host_fn fn, void *user,
                                 kiln_error *err)
{
    KILN__CU_CHECK(launch_host_func, "cuLaunchHostFunc", (native, fn, user));
    return KILN_OK;
}

/* ---- events ---- */

kiln_status kiln__cuda_event_create(kiln__device *device, const kiln__event_kind *kind,
                                    void **event_out, kiln_error *err)
{
    const unsigned flags = (kind->timing ? 0 : EVENT_DISABLE_TIMING) |
                           (kind->blocking ? EVENT_BLOCKING_SYNC : 0) |
                           (kind->interprocess ? EVENT_INTERPROCESS : 0);
    kiln__cu_event event = NULL;

    KILN__CU_CHECK(event_create, "cuEventCreate", (&event, flags));
    *event_out = event;
    return KILN_OK;
}

void kiln__cuda_event_destroy(kiln__device *device, void *event)
{
    bool pushed;

    if (event == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.event_destroy(event);
    kiln__cuda_leave(pushed);
}

kiln_status kiln__cuda_event_record(kiln__device *device, void *event, void *native,
                                    kiln_error *err)
{
    KILN__CU_CHECK(event_record, "cuEventRecord", (event, native));
    return KILN_OK;
}

kiln_status kiln__cuda_event_query(kiln__device *device, void *event, bool *done_out,
                                   kiln_error *err)
{
    bool pushed;

    *done_out = false;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln_status status = answer(device, kiln__cu.event_query(event), "cuEventQuery", done_out, err);
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_event_synchronize(kiln__device *device, void *event, kiln_error *err)
{
    KILN__CU_CHECK(event_synchronize, "cuEventSynchronize", (event));
    return KILN_OK;
}

kiln_status kiln__cuda_event_elapsed(kiln__device *device, void *start, void *end, double *ms_out,
                                     kiln_error *err)
{
    float ms = 0;

    *ms_out = 0;
    KILN__CU_CHECK(event_synchronize, "cuEventSynchronize", (end));
    /* The two may be of different streams, so that the end says nothing about the start. */
    KILN__CU_CHECK(event_synchronize, "cuEventSynchronize", (start));
    KILN__CU_CHECK(event_elapsed_time, "cuEventElapsedTime", (&ms, start, end));
    *ms_out = (double)ms;
    return KILN_OK;
}

kiln_status kiln__cuda_event_export(kiln__device *device, void *event,
                                    kiln_event_handle *handle_out, kiln_error *err)
{
    KILN__CU_CHECK(ipc_get_event_handle, "cuIpcGetEventHandle", (handle_out, event));
    return KILN_OK;
}

kiln_status kiln__cuda_event_open(kiln__device *device, const kiln_event_handle *handle,
                                  void **event_out, kiln_error *err)
{
    kiln__cu_event event = NULL;

    KILN__CU_CHECK(ipc_open_event_handle, "cuIpcOpenEventHandle", (&event, *handle));
    *event_out = event;
    return KILN_OK;
}
