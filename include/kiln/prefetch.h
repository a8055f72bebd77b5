/**
 * @file kiln/prefetch.h
 * @brief Compile on other threads, in advance, what later calls will need.
 *
 *     kiln_elementwise *cube = NULL;
 *     kiln_prefetch *ahead = NULL;
 *     kiln_array *z = NULL;
 *     kiln_elementwise_create(ctx, "T x", "T z", "z = x * x * x", NULL, &cube, &err);
 *     kiln_elementwise_prefetch(cube, KILN_ARGS(x, &z), NULL, &ahead, &err);   // returns at once
 *
 *     // whatever the program has to do meanwhile
 *
 *     kiln_prefetch_wait(ahead, -1, &err);           // not needed: a run waits by itself
 *     kiln_call(cube, &err, x, &z);
 *     kiln_prefetch_destroy(ahead);
 *     kiln_elementwise_destroy(cube);
 *     kiln_array_release(z);
 *
 * A prefetch takes the arguments of the call it is for and does all of that call's checks. The
 * rest, compiling the kernel or loading it from the cache, is done by worker threads of the
 * context: one for each core, made when they are first needed. So many kernels are compiled at
 * once; only NVRTC's front end serves one thread at a time. A run that needs a kernel which is
 * being prefetched waits for it, and never compiles it a second time.
 *
 * Threads: every function may be called from any thread; a handle may be waited for by many.
 * Owner:   whoever prefetches releases the handle. It keeps neither the kernel nor the context
 *          alive: destroying the kernel lets the work go on, and releasing the context's last
 *          reference cancels what is not done; then a wait gives ERR_CANCELLED. No array is kept.
 */
#ifndef KILN_PREFETCH_H
#define KILN_PREFETCH_H

#include "kiln/eager.h"
#include "kiln/graph.h"
#include "kiln/reduction.h"
#include "kiln/row.h"
#include "kiln/scan.h"
#include "kiln/select.h"

/** A compilation that was started in advance. */
typedef struct kiln_prefetch kiln_prefetch;

KILN_EXTERN_C_BEGIN

/**
 * Start compiling the kernel that kiln_elementwise_run() with these arguments needs.
 *
 * @param args  As for the run; read during the call only. KILN_ARG_OUT outputs are not allocated.
 * @param opts  May be NULL; its stream does not matter.
 * @param out   Receives the handle, NULL on failure. May be NULL: then nobody waits for it.
 * @return The status with which a run would refuse the arguments; ERR_NO_MEMORY. Whether the
 *         snippet compiles is reported by kiln_prefetch_wait().
 */
KILN_API KILN_NODISCARD kiln_status kiln_elementwise_prefetch(
    kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
    const kiln_elementwise_call_options *opts, kiln_prefetch **out, kiln_error *err);

/** The same for kiln_reduction_run(). */
KILN_API KILN_NODISCARD kiln_status kiln_reduction_prefetch(kiln_reduction *op,
                                                            const kiln_arg *args, size_t arg_count,
                                                            const kiln_reduction_call_options *opts,
                                                            kiln_prefetch **out, kiln_error *err);

/** The same for kiln_scan_run(). */
KILN_API KILN_NODISCARD kiln_status kiln_scan_prefetch(kiln_scan *op, const kiln_arg *args,
                                                       size_t arg_count,
                                                       const kiln_scan_call_options *opts,
                                                       kiln_prefetch **out, kiln_error *err);

/** The same for kiln_filter_run(). */
KILN_API KILN_NODISCARD kiln_status kiln_filter_prefetch(kiln_filter *op, const kiln_arg *args,
                                                         size_t arg_count,
                                                         const kiln_filter_call_options *opts,
                                                         kiln_prefetch **out, kiln_error *err);

/** The same for kiln_array_op() into a new output. */
KILN_API KILN_NODISCARD kiln_status kiln_array_op_prefetch(
    kiln_op op, const kiln_arg *args, size_t arg_count, const kiln_elementwise_call_options *opts,
    kiln_prefetch **out, kiln_error *err);

/** The same for kiln_row_run(). */
KILN_API KILN_NODISCARD kiln_status kiln_row_prefetch(kiln_row *op, const kiln_arg *args,
                                                      size_t arg_count,
                                                      const kiln_row_call_options *opts,
                                                      kiln_prefetch **out, kiln_error *err);

/**
 * The same for kiln_graph_run(): all kernels of that call, under one handle.
 *
 * They are compiled side by side. Waiting is for all of them, or for the first that fails in the
 * order in which the call runs them; cancelling cancels each.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_prefetch(kiln_graph *graph, const kiln_arg *args,
                                                        size_t arg_count,
                                                        const kiln_graph_call_options *opts,
                                                        kiln_prefetch **out, kiln_error *err);

/**
 * Wait until the kernel is there.
 *
 * @param timeout_ms Longest wait in milliseconds; 0 only looks, below 0 waits as long as it takes.
 * @return KILN_OK; ERR_TIMEOUT when it is not there yet and nothing is known of its success;
 *         ERR_CANCELLED; ERR_FORK in a forked process; or what compiling failed with, as a run
 *         would explain it. Asking again gives the same answer.
 */
KILN_API KILN_NODISCARD kiln_status kiln_prefetch_wait(kiln_prefetch *prefetch, int64_t timeout_ms,
                                                       kiln_error *err);

/** Whether kiln_prefetch_wait() would return at once, with anything but ERR_TIMEOUT. True for NULL.
 *  Some nanoseconds, no lock. */
KILN_API bool kiln_prefetch_done(const kiln_prefetch *prefetch);

/** Give up what has not begun, and stop the compiler where it can be stopped (NVRTC from 12.8 on; a
 *  C++ compiler is ended). Does not wait. A kernel that is done stays. Accepts NULL. */
KILN_API void kiln_prefetch_cancel(kiln_prefetch *prefetch);

/** Release the handle; the work goes on. Accepts NULL. */
KILN_API void kiln_prefetch_destroy(kiln_prefetch *prefetch);

KILN_EXTERN_C_END

#endif
