/**
 * @file kiln/call.h
 * @brief kiln_call(): run a kernel or a graph with plain C values, in one line.
 *
 *     kiln_elementwise *axpy = NULL;
 *     kiln_reduction *norm = NULL;
 *     kiln_scan *sums = NULL;
 *     kiln_array *z = NULL, *each = NULL, *all = NULL, *from_end = NULL;
 *     kiln_elementwise_create(ctx, "T x, T y, T a", "T z", "z = a * x + y", NULL, &axpy, &err);
 *     kiln_reduction_create(ctx, "T x", "T n", "x * x", "a + b", "n = sqrt(a)", "0", NULL, &norm,
 *                           &err);
 *     kiln_scan_create(ctx, "T x", "T s", "x", "a + b", "s = a", "0", NULL, &sums, &err);
 *
 *     kiln_call(axpy, &err, x, y, 2.5, &z);                   // z is allocated: it is NULL
 *     kiln_call(axpy, &err, x, y, 0.5, z);                    // and now written to
 *     kiln_call(norm, &err, x, &all);                         // over all axes: shape ()
 *     kiln_call_over(norm, KILN_AXES(-1), &err, x, &each);    // one for each row: shape (4,)
 *
 *     const kiln_axes columns = {1, {0}};
 *     kiln_scan_call_options options = KILN_SCAN_CALL_OPTIONS_INIT;
 *     options.axes = &columns;
 *     options.flags = KILN_SCAN_REVERSE;
 *     kiln_call_with(sums, &options, &err, x, &from_end);     // shape (4, 3)
 *
 * The three macros take a handle of any family: kiln_elementwise, kiln_reduction, kiln_scan,
 * kiln_row, kiln_graph or, with options, kiln_raw. They expand to that family's function
 * (kiln_elementwise_run(), kiln_reduction_run() and so on), whose header says what shapes and
 * dtypes the arguments must have, which outputs are allocated, and which statuses are returned.
 *
 * Arguments: arrays are given as they are; `&z`, the address of an array pointer, is an output that
 *            is allocated when z is NULL and reused when it is not; numbers are scalars. There are
 *            1 to KILN_CALL_ARGS_MAX of them. Everything given to a macro is evaluated once.
 * Errors:    a handle of another type, an argument that kiln/arg.h does not list, and options of
 *            another family are errors of the C compiler. The status must be looked at, as that of
 *            every function. `err` may be NULL.
 * Owner:     nothing is taken over. An array that the call allocated is released by the caller.
 * Threads:   any number of threads may call one handle at once.
 * Cost:      that of the function: the C compiler chooses it, and a call in a loop allocates
 *            nothing when its outputs are given.
 */
#ifndef KILN_CALL_H
#define KILN_CALL_H

#include "kiln/elementwise.h"
#include "kiln/graph.h"
#include "kiln/module.h"
#include "kiln/reduction.h"
#include "kiln/row.h"
#include "kiln/scan.h"
#include "kiln/select.h"

/**
 * kiln_call(op, err, arguments...): run `op` with default options.
 *
 * The work is enqueued on the context's own stream. A reduction reduces all axes, a scan runs over
 * all elements in C-order, and a row program takes the whole array as one row; kiln_call_over()
 * names the axes.
 */
#define kiln_call(op, err, ...) KILN__RUN(op)((op), KILN_ARGS(__VA_ARGS__), NULL, (err))

/**
 * kiln_call_over(op, axes, err, arguments...): run a reduction, a scan or a row program over
 * `axes`.
 *
 * `axes` is a `const kiln_axes *`, as KILN_AXES(0, -1) makes one: the axes to reduce, the one axis
 * to scan, or those that make up a row. KILN_ALL_AXES is what kiln_call() takes. Other options,
 * such as keepdims and the stream, have their defaults.
 */
#define kiln_call_over(op, axes, err, ...)                                                         \
    KILN__OVER(op)((op), (axes), KILN_ARGS(__VA_ARGS__), (err))

/**
 * kiln_call_with(op, options, err, arguments...): run `op` with options for this call.
 *
 * `options` points to the call options of the handle's family: kiln_elementwise_call_options,
 * kiln_reduction_call_options, kiln_scan_call_options, kiln_row_call_options,
 * kiln_graph_call_options or, for a kiln_raw, kiln_raw_call_options, begun with its INIT macro. It
 * is read during the call only; NULL stands for the defaults, which a kiln_raw does not have.
 */
#define kiln_call_with(op, options, err, ...)                                                      \
    KILN__RUN(op)((op), KILN_ARGS(__VA_ARGS__), (options), (err))

#include "kiln/detail/call.h"

#endif
