/**
 * @file kiln/program.h
 * @brief Captured programs: a sequence of calls recorded once and run many times, on a GPU as one
 * CUDA graph.
 *
 * Between kiln_capture_begin() and kiln_capture_end() the work that calls would enqueue on the
 * stream is recorded instead. Each run of the resulting program does that work, with the same
 * arrays, for the host cost of one driver call.
 *
 *     kiln_array *step = NULL;
 *     kiln_program *program = NULL;
 *     kiln_elementwise *half = NULL;
 *     kiln_elementwise_create(ctx, "T x", "T z", "z = x / 2", NULL, &half, &err);
 *     kiln_capture_begin(ctx, NULL, &err);
 *     kiln_call(half, &err, x, &step);         // recorded, not run
 *     kiln_call(half, &err, step, y);
 *     kiln_array_release(step);                // its memory is the program's
 *     kiln_capture_end(ctx, NULL, &program, &err);
 *     for (int k = 0; k < 3; k++)
 *         kiln_program_run(program, NULL, &err);
 *     kiln_program_destroy(program);
 *     kiln_elementwise_destroy(half);
 *
 * What can be captured: calls of kernels, reductions, scans, row programs, graphs, raw kernels,
 * prepared launches and matrix products; functions that make arrays or work on them on the device;
 * copies from and to page-locked host memory (kiln/memory.h); host calls. Calls that need a value
 * on the host, or that order streams, cannot be captured: reading an array, copies from or to
 * ordinary host memory, events, waits for other streams. Such a call fails (ERR_UNSUPPORTED) with a
 * message that names it, and kiln_capture_end() then fails with the same message.
 *
 * Memory: arrays that a captured call allocates lie in memory of the program. It is not reused
 *         until the program is destroyed and the last such array is released, so the arrays that
 *         are still held can be read after a run. The program keeps arrays that existed before
 *         alive, and reads and writes their elements at each run.
 *
 * On the cpu device the steps are done one after the other before kiln_program_run() returns.
 *
 * Threads: a capture records the work of every thread on that stream; all such calls must have
 *          returned before the capture is ended. Programs may be used from any thread, one run or
 *          change at a time. Runs of one program follow one another, also on different streams.
 * Owner:   whoever ends a capture destroys the program, which keeps its context alive. A capture
 *          that is not ended keeps the recorded arrays, and with them the context: end or abort it.
 */
#ifndef KILN_PROGRAM_H
#define KILN_PROGRAM_H

#include "kiln/arg.h"
#include "kiln/stream.h"

/** A captured sequence of calls. */
typedef struct kiln_program kiln_program;

KILN_EXTERN_C_BEGIN

/**
 * Begin to record the work of a stream.
 *
 * @param stream NULL for the context's own.
 * @return KILN_OK, ERR_ARGUMENT when the stream is being captured already, ERR_NULL, ERR_RELEASED,
 *         ERR_CONTEXT, ERR_NO_MEMORY, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_capture_begin(kiln_context *ctx, kiln_stream *stream,
                                                       kiln_error *err);

/**
 * End the recording and make a program of it. Later work on the stream is enqueued again, also
 * after a failure.
 *
 * @param out Receives the program, NULL on failure.
 * @return KILN_OK; the status of the first call that could not be captured; ERR_ARGUMENT when the
 *         stream is not being captured; ERR_NO_MEMORY, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_capture_end(kiln_context *ctx, kiln_stream *stream,
                                                     kiln_program **out, kiln_error *err);

/** Discard the recording. Does nothing when the stream is not being captured; ctx may be NULL. */
KILN_API void kiln_capture_abort(kiln_context *ctx, kiln_stream *stream);

/**
 * Enqueue the program. It begins when the stream's earlier work and the program's last run are
 * done.
 *
 * @param stream NULL for the context's own; need not be the one that was captured.
 * @return KILN_OK, ERR_UNSUPPORTED while the stream is being captured, ERR_NULL, ERR_RELEASED,
 *         ERR_CONTEXT, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_program_run(kiln_program *program, kiln_stream *stream,
                                                     kiln_error *err);

/** The number of launches, copies and host calls of a run; 0 for NULL. */
KILN_API size_t kiln_program_step_count(const kiln_program *program);

/**
 * A slot for all uses of an array, so that kiln_program_set() can replace it.
 *
 * @param array    An array that was an argument of captured calls. Uses of its views are included.
 * @param slot_out Receives the slot.
 * @return KILN_OK, ERR_NAME when no step uses the array, ERR_UNSUPPORTED when a raw kernel uses it,
 *         whose arguments cannot be changed; ERR_NULL, ERR_RELEASED, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_program_array_slot(kiln_program *program,
                                                            const kiln_array *array,
                                                            size_t *slot_out, kiln_error *err);

/**
 * A slot for a number that was given to calls of a kernel.
 *
 * @param kernel    The name of the definition, as in messages. The slot covers all its calls.
 * @param parameter The parameter's name.
 * @return KILN_OK, ERR_NAME when no captured call has such a number, ERR_DTYPE when calls take it
 *         in different dtypes, ERR_NULL, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_program_number_slot(kiln_program *program,
                                                             const char *kernel,
                                                             const char *parameter,
                                                             size_t *slot_out, kiln_error *err);

/**
 * Change the value of a slot, from the next run on. Runs that are enqueued already keep the old
 * value.
 *
 * @param value For an array's slot an array of the same dtype, shape and strides, and at least the
 *              same alignment, which the program keeps alive from now on. It must not overlap other
 *              arrays of the program unless the first one did; that is not checked. For a number's
 *              slot a number, converted as in a call.
 * @return KILN_OK, ERR_ARGUMENT when there is no such slot, or for an array in place of a number
 *         and vice versa; ERR_DTYPE, ERR_SHAPE (also for strides and alignment); ERR_OUTPUT for a
 *         read-only array in place of a writable one; ERR_RANGE; ERR_CONTEXT, ERR_NULL,
 *         ERR_RELEASED, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_program_set(kiln_program *program, size_t slot,
                                                     kiln_arg value, kiln_error *err);

/** Release the program; runs that are enqueued still complete. Accepts NULL. */
KILN_API void kiln_program_destroy(kiln_program *program);

KILN_EXTERN_C_END

#endif
