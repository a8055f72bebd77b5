/**
 * @file kiln/event.h
 * @brief Events: points in a stream's work, to wait for, to ask about and to measure time with.
 *
 *     kiln_event *begin = NULL, *end = NULL;
 *     kiln_array *z = NULL;
 *     double ms = 0;
 *     kiln_event_create(ctx, NULL, &begin, &err);
 *     kiln_event_create(ctx, NULL, &end, &err);
 *     kiln_event_record(begin, NULL, &err);         // NULL: the context's own stream
 *     kiln_array_add(x, y, &z, &err);
 *     kiln_event_record(end, NULL, &err);
 *     kiln_event_elapsed_ms(begin, end, &ms, &err); // waits for `end`
 *     kiln_event_destroy(begin);
 *     kiln_event_destroy(end);
 *     kiln_array_release(z);
 *
 * An event stands for the last point that it was recorded at. One that was never recorded counts as
 * passed: nothing waits for it. On the cpu device an event is the time of its recording, and has
 * always been passed.
 *
 * Threads: every function may be called from any thread; of two threads that record one event at
 *          once either may be the last.
 * Units:   milliseconds, as the names say. CUDA's events resolve half a microsecond.
 * Owner:   an event belongs to whoever created it and keeps its context alive.
 */
#ifndef KILN_EVENT_H
#define KILN_EVENT_H

#include "kiln/stream.h"

typedef struct kiln_event kiln_event;

/** Choices for kiln_event_create(). Zero in a field means its default. */
typedef struct kiln_event_options {
    size_t struct_size; /**< sizeof(kiln_event_options) as the caller compiled it. */
    bool no_timing;     /**< The event measures no time and costs less to record and to wait for. */
    bool blocking;      /**< A thread that waits for the event sleeps instead of polling. */
    bool interprocess;  /**< Other processes may open it (kiln_event_export()). Needs no_timing;
                             ERR_UNSUPPORTED on the cpu device. */
} kiln_event_options;

#define KILN_EVENT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(kiln_event_options), false, false, false                                            \
    }

/** Names an interprocess event in another process of the same machine: CUDA's CUipcEventHandle. */
typedef struct kiln_event_handle {
    unsigned char bytes[64];
} kiln_event_handle;

KILN_EXTERN_C_BEGIN

/**
 * Make an event that has not been recorded.
 *
 * @param opts May be NULL for defaults; read during the call only.
 * @param out  Receives the event; NULL on failure.
 * @return KILN_OK, ERR_NULL, ERR_ARGUMENT, ERR_UNSUPPORTED, ERR_NO_MEMORY, ERR_DRIVER, ERR_FAULT,
 *         ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_event_create(kiln_context *ctx,
                                                      const kiln_event_options *opts,
                                                      kiln_event **out, kiln_error *err);

/** As KILN_EVENT_OPTIONS_INIT, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_event_options_init(kiln_event_options *opts, size_t struct_size);

/** Release the handle; whoever waits for the event goes on waiting. Accepts NULL. */
KILN_API void kiln_event_destroy(kiln_event *event);

/** The CUevent behind the handle; NULL on the cpu device. */
KILN_API void *kiln_event_native(kiln_event *event);

/** Let the event stand for the end of all work enqueued on `stream` so far. NULL means the own
 *  stream of the event's context, to which `stream` must belong. */
KILN_API KILN_NODISCARD kiln_status kiln_event_record(kiln_event *event, kiln_stream *stream,
                                                      kiln_error *err);

/**
 * Let work enqueued on `stream` from now on wait for the point that `event` was last recorded at;
 * a later recording changes nothing for it.
 *
 * @param ctx    The context of `stream`, whose own stream NULL means.
 * @param event  May belong to another context, on another device. Where the two devices cannot wait
 *               for each other (one is the cpu) the calling thread waits.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_wait_event(kiln_context *ctx, kiln_stream *stream,
                                                           kiln_event *event, kiln_error *err);

/**
 * Ask, without waiting, whether the point has been passed.
 * @param done_out Receives the answer; false on failure.
 * @return KILN_OK, or ERR_FAULT when a kernel faulted.
 */
KILN_API KILN_NODISCARD kiln_status kiln_event_query(kiln_event *event, bool *done_out,
                                                     kiln_error *err);

/** Wait until the point has been passed. @return KILN_OK or ERR_FAULT. */
KILN_API KILN_NODISCARD kiln_status kiln_event_synchronize(kiln_event *event, kiln_error *err);

/**
 * Milliseconds of device time between two recorded points; waits for both.
 * @return ERR_ARGUMENT when one was never recorded or measures no time, ERR_CONTEXT when they are
 *         of different devices.
 */
KILN_API KILN_NODISCARD kiln_status kiln_event_elapsed_ms(kiln_event *start, kiln_event *end,
                                                          double *ms_out, kiln_error *err);

/** What another process opens an interprocess event by. The event must outlive its use there. */
KILN_API KILN_NODISCARD kiln_status kiln_event_export(kiln_event *event,
                                                      kiln_event_handle *handle_out,
                                                      kiln_error *err);

/** Open an event that another process exported, on the same device. Whoever opens it destroys it.
 *  */
KILN_API KILN_NODISCARD kiln_status kiln_event_open(kiln_context *ctx,
                                                    const kiln_event_handle *handle,
                                                    kiln_event **out, kiln_error *err);

KILN_EXTERN_C_END

#endif
