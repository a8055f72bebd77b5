/**
 * @file kiln/call.h
 * @brief kiln_call(): run a kernel or a graph with plain C values, in one line.
 *
 *     kiln_call(axpy, &err, x, y, 2.5, &z);                    // a kiln_elementwise
 *     kiln_call(hypotenuse, &err, x, y, &z);                   // a kiln_graph
 *     kiln_call(norm, &err, x, &all);                          // a kiln_reduction, over all axes
 *     kiln_call_over(norm, KILN_AXES(-1), &err, x, &each);     // over the last axis
 *
 *     const kiln_axes columns = {1, {0}};
 *     kiln_scan_call_options opts = KILN_SCAN_CALL_OPTIONS_INIT;
 *     opts.axes = &columns;
 *     opts.flags = KILN_SCAN_REVERSE;
 *     kiln_call_with(running, &opts, &err, x, &sums);          // a kiln_scan
 *
 * The three macros take a handle of any family. They expand to that family's function, which is
 * kiln_elementwise_run(), kiln_reduction_run(), kiln_scan_run(), kiln_row_run() or kiln_graph_run();
 * its header says what the arguments mean and which statuses it returns. A handle of any other
 * type is an error of the C compiler, and so is an argument that kiln/arg.h does not list.
 *
 * Arguments: arrays are given as they are; `&z`, the address of an array pointer, is an output that
 *            is allocated when z is NULL and reused when it is not; numbers are scalars. There are
 *            at most KILN_CALL_ARGS_MAX. Each is evaluated once, and so are the other operands.
 * Cost:      that of the function: the choice is made by the C compiler.
 * Threads:   as the function: any number of threads may call the same handle at once.
 */
#ifndef KILN_CALL_H
#define KILN_CALL_H

#include "kiln/elementwise.h"
#include "kiln/graph.h"
#include "kiln/reduction.h"
#include "kiln/row.h"
#include "kiln/scan.h"

/* The functions that kiln_call_over() expands to: default options, but for the axes. */
static inline KILN_NODISCARD kiln_status kiln__reduction_over(kiln_reduction *op,
                                                              const kiln_axes *axes,
                                                              const kiln_arg *args,
                                                              size_t arg_count, kiln_error *err)
{
    kiln_reduction_call_options opts = KILN_REDUCTION_CALL_OPTIONS_INIT;
    opts.axes = axes;
    return kiln_reduction_run(op, args, arg_count, &opts, err);
}
static inline KILN_NODISCARD kiln_status kiln__scan_over(kiln_scan *op, const kiln_axes *axes,
                                                         const kiln_arg *args, size_t arg_count,
                                                         kiln_error *err)
{
    kiln_scan_call_options opts = KILN_SCAN_CALL_OPTIONS_INIT;
    opts.axes = axes;
    return kiln_scan_run(op, args, arg_count, &opts, err);
}
static inline KILN_NODISCARD kiln_status kiln__row_over(kiln_row *op, const kiln_axes *axes,
                                                        const kiln_arg *args, size_t arg_count,
                                                        kiln_error *err)
{
    kiln_row_call_options opts = KILN_ROW_CALL_OPTIONS_INIT;
    opts.axes = axes;
    return kiln_row_run(op, args, arg_count, &opts, err);
}

#ifdef __cplusplus
/* C++ has overloads where C has _Generic. */
namespace kiln_detail {
#define KILN__OVERLOAD(family)                                                                     \
    static inline KILN_NODISCARD kiln_status run(kiln_##family *op, const kiln_arg *args,          \
                                                 size_t arg_count,                                 \
                                                 const kiln_##family##_call_options *opts,         \
                                                 kiln_error *err)                                  \
    {                                                                                              \
        return kiln_##family##_run(op, args, arg_count, opts, err);                                \
    }
#define KILN__OVERLOAD_OVER(family)                                                                \
    static inline KILN_NODISCARD kiln_status over(kiln_##family *op, const kiln_axes *axes,        \
                                                  const kiln_arg *args, size_t arg_count,          \
                                                  kiln_error *err)                                 \
    {                                                                                              \
        return kiln__##family##_over(op, axes, args, arg_count, err);                              \
    }
KILN__OVERLOAD(elementwise)
KILN__OVERLOAD(reduction)
KILN__OVERLOAD(scan)
KILN__OVERLOAD(row)
KILN__OVERLOAD(graph)
KILN__OVERLOAD_OVER(reduction)
KILN__OVERLOAD_OVER(scan)
KILN__OVERLOAD_OVER(row)
#undef KILN__OVERLOAD
#undef KILN__OVERLOAD_OVER
}
#define KILN__RUN(op) kiln_detail::run
#define KILN__OVER(op) kiln_detail::over
#else
#define KILN__RUN(op)                                                                              \
    _Generic((op),                                                                                 \
        kiln_elementwise *: kiln_elementwise_run,                                                  \
        kiln_reduction *: kiln_reduction_run,                                                      \
        kiln_scan *: kiln_scan_run,                                                                \
        kiln_row *: kiln_row_run,                                                                  \
        kiln_graph *: kiln_graph_run)
#define KILN__OVER(op)                                                                             \
    _Generic((op),                                                                                 \
        kiln_reduction *: kiln__reduction_over,                                                    \
        kiln_scan *: kiln__scan_over,                                                              \
        kiln_row *: kiln__row_over)
#endif

/**
 * kiln_call(op, err, arguments...): run `op` with default options.
 *
 * A reduction then reduces all axes, a scan runs over all elements in C-order, and a row program takes
 * the whole array as one row. The work is enqueued on the context's own stream.
 */
#define kiln_call(op, err, ...) KILN__RUN(op)((op), KILN_ARGS(__VA_ARGS__), NULL, (err))

/**
 * kiln_call_over(op, axes, err, arguments...): run a reduction, a scan or a row program over `axes`.
 *
 * `axes` is a `const kiln_axes *`, as KILN_AXES(0, -1) makes one; KILN_ALL_AXES, which is NULL, is what
 * kiln_call() takes. Other options have their defaults.
 */
#define kiln_call_over(op, axes, err, ...)                                                         \
    KILN__OVER(op)((op), (axes), KILN_ARGS(__VA_ARGS__), (err))

/**
 * kiln_call_with(op, options, err, arguments...): run `op` with options for this call.
 *
 * `options` is a pointer to the call options of the handle's family, kiln_elementwise_call_options and
 * so on, which begin with their INIT macro. It is read during the call only, and may be NULL.
 */
#define kiln_call_with(op, options, err, ...)                                                      \
    KILN__RUN(op)((op), KILN_ARGS(__VA_ARGS__), (options), (err))

#endif
