/*
 * stream.c - CUDA streams and events behind the backend table.
 *
 * Streams are made NON_BLOCKING: they do not wait for the legacy default stream, on which other
 * libraries of the process may work. Whoever shares memory with such a library orders the two
 * with kiln_stream_wrap() and kiln_stream_wait().
 */
#include "device/cuda/driver.h"

#define STREAM_NON_BLOCKING 0x1u
#define EVENT_DEFAULT 0x0u
#define EVENT_DISABLE_TIMING 0x2u

kiln_status kiln__cuda_stream_create(kiln__device *device, void **native_out, kiln_error *err)
{
    kiln__cu_stream stream = NULL;
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    *native_out = NULL;
    if (status != KILN_OK)
        return status;
    status = kiln__cuda_status(device, kiln__cu.stream_create(&stream, STREAM_NON_BLOCKING),
                               "cuStreamCreate", err);
    kiln__cuda_leave(pushed);
    *native_out = stream;
    return status;
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
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    if (status != KILN_OK)
        return status;
    /* The default streams (NULL, 1, 2) answer with the current context: this device's. */
    status =
        kiln__cuda_status(device, kiln__cu.stream_get_ctx(native, &context), "cuStreamGetCtx", err);
    if (status == KILN_OK && context != kiln__cuda_of(device)->context)
        status =
            kiln__fail(err, KILN_ERR_CONTEXT,
                       "the stream does not belong to the primary context of %s", device->info.id);
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_stream_synchronize(kiln__device *device, void *native, kiln_error *err)
{
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    if (status != KILN_OK)
        return status;
    status =
        kiln__cuda_status(device, kiln__cu.stream_synchronize(native), "cuStreamSynchronize", err);
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_stream_wait_event(kiln__device *device, void *native, void *event,
                                         kiln_error *err)
{
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    if (status != KILN_OK)
        return status;
    status = kiln__cuda_status(device, kiln__cu.stream_wait_event(native, event, 0),
                               "cuStreamWaitEvent", err);
    kiln__cuda_leave(pushed);
    return status;
}

/* ---- events ---- */

kiln_status kiln__cuda_event_create(kiln__device *device, bool timing, void **event_out,
                                    kiln_error *err)
{
    kiln__cu_event event = NULL;
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    *event_out = NULL;
    if (status != KILN_OK)
        return status;
    status = kiln__cuda_status(
        device, kiln__cu.event_create(&event, timing ? EVENT_DEFAULT : EVENT_DISABLE_TIMING),
        "cuEventCreate", err);
    kiln__cuda_leave(pushed);
    *event_out = event;
    return status;
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
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    if (status != KILN_OK)
        return status;
    status = kiln__cuda_status(device, kiln__cu.event_record(event, native), "cuEventRecord", err);
    kiln__cuda_leave(pushed);
    return status;
}

bool kiln__cuda_event_done(kiln__device *device, void *event)
{
    bool pushed;

    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return true;
    kiln__cu_result result = kiln__cu.event_query(event);
    if (result != KILN__CU_OK && result != KILN__CU_NOT_READY)
        (void)kiln__cuda_fail(device, result, "cuEventQuery", NULL);
    kiln__cuda_leave(pushed);
    return result != KILN__CU_NOT_READY;
}

kiln_status kiln__cuda_event_synchronize(kiln__device *device, void *event, kiln_error *err)
{
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    if (status != KILN_OK)
        return status;
    status =
        kiln__cuda_status(device, kiln__cu.event_synchronize(event), "cuEventSynchronize", err);
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_event_elapsed(kiln__device *device, void *start, void *end, double *ms_out,
                                     kiln_error *err)
{
    float ms = 0;
    bool pushed;
    kiln_status status = kiln__cuda_enter(device, &pushed, err);

    *ms_out = 0;
    if (status != KILN_OK)
        return status;
    KILN_TRY(kiln__cuda_status(device, kiln__cu.event_synchronize(end), "cuEventSynchronize", err));
    /* The two may be of different streams, so that the end says nothing about the start. */
    KILN_TRY(
        kiln__cuda_status(device, kiln__cu.event_synchronize(start), "cuEventSynchronize", err));
    KILN_TRY(kiln__cuda_status(device, kiln__cu.event_elapsed_time(&ms, start, end),
                               "cuEventElapsedTime", err));
    *ms_out = (double)ms;

done:
    kiln__cuda_leave(pushed);
    return status;
}
