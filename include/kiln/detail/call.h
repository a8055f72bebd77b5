/**
 * @file kiln/detail/call.h
 * @brief What kiln_call() and its relatives expand to. Nothing here is part of the API.
 *
 * A family that can be called has a row below (or, without axes, a line in each of two lists): its
 * handle kiln_NAME, its function kiln_NAME_run() and its kiln_NAME_call_options follow from the
 * name.
 */
#ifndef KILN_DETAIL_CALL_H
#define KILN_DETAIL_CALL_H

/* The families whose calls take axes. X(name, INIT macro of its call options) */
#define KILN__AXES_FAMILIES(X)                                                                     \
    X(reduction, KILN_REDUCTION_CALL_OPTIONS_INIT)                                                 \
    X(scan, KILN_SCAN_CALL_OPTIONS_INIT)                                                           \
    X(row, KILN_ROW_CALL_OPTIONS_INIT)

/* kiln__reduction_over() and its like: run with axes, and defaults for all other options. */
#define KILN__OVER_FUNCTION(family, options_init)                                                  \
    static inline KILN_NODISCARD kiln_status kiln__##family##_over(                                \
        kiln_##family *op, const kiln_axes *axes, const kiln_arg *args, size_t arg_count,          \
        kiln_error *err)                                                                           \
    {                                                                                              \
        kiln_##family##_call_options options = options_init;                                       \
        options.axes = axes;                                                                       \
        return kiln_##family##_run(op, args, arg_count, &options, err);                            \
    }
KILN__AXES_FAMILIES(KILN__OVER_FUNCTION)

/* KILN__RUN(op) and KILN__OVER(op): the function for a handle of op's type; in C++ a set of
 * overloads. */
#ifdef __cplusplus
namespace kiln_detail {
#define KILN__RUN_OVERLOAD(family, unused)                                                         \
    static inline KILN_NODISCARD kiln_status run(                                                  \
        kiln_##family *op, const kiln_arg *args, size_t arg_count,                                 \
        const kiln_##family##_call_options *options, kiln_error *err)                              \
    {                                                                                              \
        return kiln_##family##_run(op, args, arg_count, options, err);                             \
    }
#define KILN__OVER_OVERLOAD(family, unused)                                                        \
    static inline KILN_NODISCARD kiln_status over(kiln_##family *op, const kiln_axes *axes,        \
                                                  const kiln_arg *args, size_t arg_count,          \
                                                  kiln_error *err)                                 \
    {                                                                                              \
        return kiln__##family##_over(op, axes, args, arg_count, err);                              \
    }
KILN__RUN_OVERLOAD(elementwise, )
KILN__RUN_OVERLOAD(filter, )
KILN__RUN_OVERLOAD(graph, )
KILN__RUN_OVERLOAD(raw, )
KILN__AXES_FAMILIES(KILN__RUN_OVERLOAD)
KILN__AXES_FAMILIES(KILN__OVER_OVERLOAD)
}
#define KILN__RUN(op) kiln_detail::run
#define KILN__OVER(op) kiln_detail::over
#else
#define KILN__RUN_CASE(family, unused) kiln_##family * : kiln_##family##_run,
#define KILN__RUN(op)                                                                              \
    _Generic((op),                                                                                 \
        KILN__AXES_FAMILIES(KILN__RUN_CASE)                                                        \
        kiln_elementwise *: kiln_elementwise_run,                                                  \
        kiln_filter *: kiln_filter_run,                                                            \
        kiln_graph *: kiln_graph_run,                                                              \
        kiln_raw *: kiln_raw_run)
#define KILN__OVER(op)                                                                             \
    _Generic((op),                                                                                 \
        kiln_reduction *: kiln__reduction_over,                                                    \
        kiln_scan *: kiln__scan_over,                                                              \
        kiln_row *: kiln__row_over)
#endif

#endif
