/**
 * @file kiln/stream.h
 * @brief Streams: queues of work of one context, and host functions enqueued on them.
 *
 * Work enqueued on one stream runs in the order of the calls that enqueued it; work on different
 * streams may overlap unless a wait orders it. Every context has a stream of its own, which a call
 * uses when it is given NULL.
 *
 *     kiln_stream_options high = KILN_STREAM_OPTIONS_INIT;
 *     kiln_stream *copies = NULL;
 *     float got[12];
 *     high.priority = -1;
 *     kiln_stream_create(ctx, &high, &copies, &err);
 *     kiln_array_download(x, got, sizeof got, NULL, copies, &err);
 *     kiln_stream_wait(ctx, NULL, copies, &err); // the context's stream waits for the copy
 *     kiln_stream_synchronize(copies, &err);     // so does the program
 *     kiln_stream_destroy(copies);
 *
 * The cpu device does the work of a call before the call returns: its streams are always idle, and
 * everything below that would wait returns at once.
 *
 * Threads: every function may be called from any thread on a shared stream.
 * Owner:   a stream belongs to whoever created it and keeps its context alive.
 */
#ifndef KILN_STREAM_H
#define KILN_STREAM_H

#include "kiln/context.h"

typedef struct kiln_stream kiln_stream;

/** Choices for kiln_stream_create(). Zero in a field means its default. */
typedef struct kiln_stream_options {
    size_t struct_size; /**< sizeof(kiln_stream_options) as the caller compiled it. */
    int priority;       /**< As in CUDA: a lower number is more urgent, 0 is the default. A number
                             outside the device's range is moved to its nearer end. */
    bool blocking;      /**< Order the stream against CUDA's legacy default stream, as streams made
                             by cudaStreamCreate() are. Off: the two run independently. */
} kiln_stream_options;

#define KILN_STREAM_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kiln_stream_options), 0, false                                                      \
    }

/** CUDA's default streams, for kiln_stream_wrap(): the legacy one, which other blocking streams of
 *  the process wait for, and the calling thread's own. */
#define KILN_STREAM_LEGACY ((void *)1)
#define KILN_STREAM_PER_THREAD ((void *)2)

/** A host function that a stream calls; see kiln_stream_host_call(). */
typedef void (*kiln_host_fn)(void *user);

KILN_EXTERN_C_BEGIN

/**
 * Make a stream.
 *
 * @param opts May be NULL for defaults; read during the call only.
 * @param out  Receives the stream; NULL on failure.
 * @return KILN_OK, ERR_NULL, ERR_ARGUMENT, ERR_NO_MEMORY, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_create(kiln_context *ctx,
                                                       const kiln_stream_options *opts,
                                                       kiln_stream **out, kiln_error *err);

/** As KILN_STREAM_OPTIONS_INIT, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_stream_options_init(kiln_stream_options *opts, size_t struct_size);

/**
 * Use a CUstream (or cudaStream_t) made elsewhere; it must outlive the handle. KILN_STREAM_LEGACY
 * and KILN_STREAM_PER_THREAD name CUDA's default streams; NULL means the legacy one.
 * @return ERR_UNSUPPORTED on the cpu device, ERR_CONTEXT for a stream of another device.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_wrap(kiln_context *ctx, void *custream,
                                                     kiln_stream **out, kiln_error *err);

/** Release the handle; enqueued work still completes. Accepts NULL. */
KILN_API void kiln_stream_destroy(kiln_stream *stream);

/** The CUstream behind `stream` (NULL: the context's own); NULL on the cpu device. The program may
 *  enqueue its own work on it. Arrays that wrap memory (kiln_array_wrap()) and exist when the
 *  context's own stream is asked for wait for that stream before their memory is released; for
 *  memory that is wrapped later ask again. On other streams synchronise before the last array over
 *  wrapped memory is released. */
KILN_API void *kiln_stream_native(kiln_context *ctx, kiln_stream *stream);

/**
 * The priorities that streams of the device may have.
 *
 * @param least_out    Receives the number of the least urgent one, 0 on every GPU of today.
 * @param greatest_out Receives the number of the most urgent one, -5 on an H200. Both receive 0
 *                     where streams have no priorities, as on the cpu device.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_priority_range(kiln_context *ctx, int *least_out,
                                                               int *greatest_out, kiln_error *err);

/** Wait for the stream's work. @return KILN_OK or ERR_FAULT, as kiln_context_synchronize(). */
KILN_API KILN_NODISCARD kiln_status kiln_stream_synchronize(kiln_stream *stream, kiln_error *err);

/**
 * Ask, without waiting, whether all work enqueued on the stream so far is done.
 * @param done_out Receives the answer; false on failure.
 * @return KILN_OK, or ERR_FAULT when a kernel faulted.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_query(kiln_stream *stream, bool *done_out,
                                                      kiln_error *err);

/** Let work enqueued on `stream` from now on wait for all work enqueued on `other` so far.
 *  NULL stands for the context's own stream; both must be streams of `ctx`. To wait for a point
 *  within another stream's work, or for another context's, record an event (kiln/event.h). */
KILN_API KILN_NODISCARD kiln_status kiln_stream_wait(kiln_context *ctx, kiln_stream *stream,
                                                     kiln_stream *other, kiln_error *err);

/**
 * Call `fn(user)` once the work enqueued on `stream` (NULL: the context's own) so far is done; work
 * enqueued after it waits until `fn` returns.
 *
 * On a CUDA device a thread of the driver calls `fn`, which must not call kiln or CUDA, and must
 * not wait for work that comes after it, nor for a thread that calls kiln: the first call of a
 * kernel loads it, and the driver may let that wait until the device is idle. If a kernel faults
 * before, `fn` is not called. On the cpu device the calling thread calls it, before this function
 * returns.
 *
 * @param fn   Must not be NULL.
 * @param user Handed to `fn` as it is; it must live until `fn` was called.
 */
KILN_API KILN_NODISCARD kiln_status kiln_stream_host_call(kiln_context *ctx, kiln_stream *stream,
                                                          kiln_host_fn fn, void *user,
                                                          kiln_error *err);

KILN_EXTERN_C_END

#endif
