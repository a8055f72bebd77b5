/**
 * @file kiln/select.h
 * @brief The elements that a condition chooses: filters, masks, the places of what is not zero.
 *
 *     kiln_filter *positive = NULL;
 *     kiln_array *y = NULL, *count = NULL, *first = NULL;
 *     kiln_filter_create(ctx, "T x", "T y, int64 count", "x > 0", "y = x", NULL, &positive, &err);
 *     kiln_call(positive, &err, x, &y, &count);     // y has room for all; nobody waits
 *     kiln_array_first(y, count, &first, &err);     // waits for the number: a view of y[:count]
 *
 * How many elements a condition chooses is known to the device alone. A result is therefore an array
 * with room for all elements, whose first ones are those chosen, and `count`, an int64 array without axes
 * that says how many these are. Kernels, graphs and further filters take both as inputs (`i < count` is
 * true for the elements chosen), programs capture calls that make them, and nothing waits until
 * kiln_array_first() asks. The elements behind the first `count` ones are undefined. kiln/indexing.h has
 * elements that arrays of integers name.
 *
 * What a condition does not choose may have results too, made in the same pass over the inputs: `otherwise` in
 * kiln_filter_options.
 *
 * Threads, units, ownership: as kiln/elementwise.h.
 */
#ifndef KILN_SELECT_H
#define KILN_SELECT_H

#include "kiln/elementwise.h"

typedef struct kiln_filter kiln_filter;

/** Choices for kiln_filter_create(). Zero in a field means its default. */
typedef struct kiln_filter_options {
    size_t struct_size;   /**< sizeof(kiln_filter_options) as the caller compiled it. */
    const char *name;     /**< Kernel name, a C identifier; NULL: "kiln_filter". */
    const char *preamble; /**< C++ text before the kernel. */
    const char *const *compiler_options; /**< Passed on to the compiler, e.g. "-DN=4". */
    size_t compiler_option_count;
    bool
        numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as in
                           CuPy's strings; off: C's of 32 bits. */
    /**
     * Statements that assign an element of further outputs for the elements that are not kept; NULL or
     * "": none. An output belongs to these elements where `otherwise` mentions it by name, and `op` must
     * not mention it then. The last two outputs are numbers, "int64 count, int64 others": of elements
     * kept and of all others. `otherwise` sees what `op` sees.
     */
    const char *otherwise;
} kiln_filter_options;

#define KILN_FILTER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kiln_filter_options), NULL, NULL, NULL, 0, false, NULL                              \
    }

/** Choices for one call. Zero in a field means its default. */
typedef struct kiln_filter_call_options {
    size_t struct_size;  /**< sizeof(kiln_filter_call_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own stream. */
} kiln_filter_call_options;

#define KILN_FILTER_CALL_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(kiln_filter_call_options), NULL                                                     \
    }

KILN_EXTERN_C_BEGIN

/**
 * Define a filter; parses and checks, compiles nothing yet. All texts are copied.
 *
 * @param in      Input parameters, e.g. "T x, bool mask"; raw ones are allowed.
 * @param outputs Output parameters; none may be raw. The last one is the number of elements kept,
 *                "int64 count"; it may be the only one. With opts->otherwise the last two are numbers.
 * @param where   Expression: whether an element is kept. It sees the inputs, `i` (the element's number in
 *                C-order) and `n` (how many there are).
 * @param op      Statements that assign an element of every output but the last (those of
 *                opts->otherwise aside); they see the same, and `_ind`. They run for the elements that are
 *                kept, and may run in any order.
 * @param opts    May be NULL for defaults; read during the call only.
 * @return ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT, ERR_UNSUPPORTED,
 *         ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_filter_create(kiln_context *ctx, const char *in,
                                                       const char *outputs, const char *where,
                                                       const char *op,
                                                       const kiln_filter_options *opts,
                                                       kiln_filter **out, kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_filter_options_init(kiln_filter_options *opts, size_t struct_size);
KILN_API void kiln_filter_call_options_init(kiln_filter_call_options *opts, size_t struct_size);

/**
 * Filter the broadcast of all non-raw inputs: enqueue and return.
 *
 * Arguments and dtypes as kiln_elementwise_run(). An output has one axis with room for all elements of the
 * broadcast; numbers of elements have no axes. The order is that of the elements in C-order, on every
 * device, of those that are not kept as well.
 * An input that shares memory with an output is copied first. Takes workspace from the pool.
 */
KILN_API KILN_NODISCARD kiln_status kiln_filter_run(kiln_filter *op, const kiln_arg *args,
                                                    size_t arg_count,
                                                    const kiln_filter_call_options *opts,
                                                    kiln_error *err);

/**
 * Do all of kiln_filter_run() but the launch; see kiln_elementwise_prepare(). An input that would
 * have to be copied first is refused.
 */
KILN_API KILN_NODISCARD kiln_status kiln_filter_prepare(kiln_filter *op, const kiln_arg *args,
                                                        size_t arg_count,
                                                        const kiln_filter_call_options *opts,
                                                        kiln_launch **out, kiln_error *err);

/** The generated source that such a call would compile; free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_filter_source(kiln_filter *op, const kiln_arg *args,
                                                       size_t arg_count,
                                                       const kiln_filter_call_options *opts,
                                                       char **text_out, kiln_error *err);

/** Release the handle. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_filter_destroy(kiln_filter *op);

/* ---- functions of NumPy's names --------------------------------------------------------------
 *
 * They enqueue on the context's own stream. `count` receives the number of elements, and `out` then has
 * room for all elements of the array. Where `count` is NULL, the call waits for the device, and `out` has
 * the length of the result, as in NumPy.
 */

/**
 * The first elements of `values` along its first axis, as many as `count` says: a view.
 *
 * Waits for the work on `count`.
 * @param count  One int64, as a filter makes it.
 * @return ERR_NULL, ERR_DTYPE for a count of another dtype, ERR_AXIS for values without axes, ERR_RANGE for
 *         a count below 0 or above the extent.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_first(const kiln_array *values,
                                                     const kiln_array *count, kiln_array **out,
                                                     kiln_error *err);

/**
 * NumPy's `array[mask]`: the elements where the mask is true, in C-order.
 *
 * The array comes first here, in NumPy's compress() the mask does.
 *
 * @param mask   Of bool, with the array's shape, or the shape of its first axes: then the result has the
 *               other axes behind its first one.
 * @param count  May be NULL; see above.
 * @return ERR_NULL, ERR_DTYPE for a mask that is not of bool, ERR_SHAPE for one that does not fit,
 *         ERR_ARGUMENT for a result of more than KILN_RANK_MAX axes, and those of kiln_filter_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_compress(const kiln_array *array,
                                                        const kiln_array *mask, kiln_array **out,
                                                        kiln_array **count, kiln_error *err);

/**
 * C++'s partition_copy: the elements where the mask is true into `out`, and all others into `others`, both in
 * C-order. The array and the mask are read once.
 *
 * @param mask         As kiln_array_compress().
 * @param count        How many are in `out`; NULL: see above.
 * @param other_count  How many are in `others`; NULL where `count` is.
 * @return As kiln_array_compress(); all results are NULL on failure.
 */
KILN_API KILN_NODISCARD kiln_status
kiln_array_partition_copy(const kiln_array *array, const kiln_array *mask, kiln_array **out,
                          kiln_array **others, kiln_array **count, kiln_array **other_count,
                          kiln_error *err);

/** NumPy's flatnonzero: the numbers, in C-order, of the elements that are not zero; int64. NaN is not
 *  zero. */
KILN_API KILN_NODISCARD kiln_status kiln_array_flatnonzero(const kiln_array *array,
                                                           kiln_array **out, kiln_array **count,
                                                           kiln_error *err);

/**
 * NumPy's nonzero: where the elements are that are not zero, an array of int64 for each axis.
 *
 * @param outs   Receives as many arrays as `array` has axes; all are NULL on failure.
 * @return ERR_AXIS for an array without axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_nonzero(const kiln_array *array, kiln_array **outs,
                                                       kiln_array **count, kiln_error *err);

/** NumPy's argwhere: the same as one array, with a row for each element that is not zero. */
KILN_API KILN_NODISCARD kiln_status kiln_array_argwhere(const kiln_array *array, kiln_array **out,
                                                        kiln_array **count, kiln_error *err);

/**
 * NumPy's unique: the distinct elements, sorted as kiln_array_sort() sorts; NaN counts as equal to NaN.
 *
 * Sorts, and waits for the device to know how many there are.
 * @param out      The distinct elements, a vector of the array's dtype.
 * @param first    int64: where each of them stands first in the array, in C-order. This array and the two
 *                 below: NULL where it is not wanted.
 * @param inverse  int64, of the array's shape: for each element the place in `out` of its equal.
 * @param counts   int64: how often each of them occurs.
 * @return ERR_NULL, ERR_DEVICE_MEMORY, and those of a first compile; all results are NULL on failure.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_unique(const kiln_array *array, kiln_array **out,
                                                      kiln_array **first, kiln_array **inverse,
                                                      kiln_array **counts, kiln_error *err);

/**
 * The same of parts along an axis, as the rows of a matrix (0): those that differ in any element, in the order of their
 * first elements, then of the next ones. As in NumPy, parts with a NaN equal no other; they stand behind numbers.
 *
 * @param axis     Negative counts from the end.
 * @param out      The distinct parts, in the array's shape but for this axis; it may be a view with gaps.
 * @param first    int64, one for each of them; `counts` likewise.
 * @param inverse  int64: for each part of the array the place of its equal.
 * @return As kiln_array_unique(); ERR_AXIS.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_unique_along(const kiln_array *array, int axis,
                                                            kiln_array **out, kiln_array **first,
                                                            kiln_array **inverse,
                                                            kiln_array **counts, kiln_error *err);

/**
 * NumPy's operations on sets: sorted elements, each once, of both arrays together; of both at once; of `x` alone; of one
 * of them alone. All NaN count as one element, and a NaN of `x` equals none of `y`. The arrays may have any shapes; their
 * elements are of the dtype that both promote to, in setdiff1d of that of `x`.
 *
 * @param out    Where `count` is NULL, the elements, for whose number the call waits; else an array with room for all, of
 *               which the first ones count.
 * @param count  How many they are, int64, without axes; NULL: not wanted.
 * @return ERR_NULL, ERR_DTYPE for dtypes that do not promote, ERR_CONTEXT.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_union1d(const kiln_array *x, const kiln_array *y,
                                                       kiln_array **out, kiln_array **count,
                                                       kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_intersect1d(const kiln_array *x, const kiln_array *y,
                                                           kiln_array **out, kiln_array **count,
                                                           kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_setdiff1d(const kiln_array *x, const kiln_array *y,
                                                         kiln_array **out, kiln_array **count,
                                                         kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_setxor1d(const kiln_array *x, const kiln_array *y,
                                                        kiln_array **out, kiln_array **count,
                                                        kiln_error *err);

/**
 * NumPy's place: `values`, one after the other, into the elements where the mask is true, in C-order.
 *
 * Where there are fewer values than such elements, the values are repeated, so that one value fills all;
 * values that are too many are not used. The call never waits.
 *
 * @param array  Of any strides.
 * @param mask   Of bool, with the array's shape.
 * @param values Of the array's dtype.
 * @return As kiln_array_compress(); ERR_DTYPE for values of another dtype, ERR_SHAPE for none at all,
 *         ERR_OUTPUT for an array that cannot be written.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_place(kiln_array *array, const kiln_array *mask,
                                                     const kiln_array *values, kiln_error *err);

KILN_EXTERN_C_END

#endif
