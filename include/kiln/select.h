/**
 * @file kiln/select.h
 * @brief Elements selected by a condition: filters, boolean masks, positions of nonzero elements,
 * unique.
 *
 *     kiln_filter *positive = NULL;
 *     kiln_array *y = NULL, *count = NULL, *first = NULL;
 *     kiln_filter_create(ctx, "T x", "T y, int64 count", "x > 0", "y = x", NULL, &positive, &err);
 *     kiln_call(positive, &err, x, &y, &count);     // y has room for all; nobody waits
 *     kiln_array_first(y, count, &first, &err);     // waits for the number: a view of y[:count]
 *
 * Only the device knows how many elements a condition selects. A result therefore consists of two
 * arrays: one with room for all elements, which begins with the selected ones, and `count`, an
 * int64 array of rank 0 that holds their number. The elements behind the first `count` are
 * undefined. Kernels, graphs and other filters take both arrays as inputs (`i < count` is true for
 * the selected elements), and programs capture such calls. Nothing waits for the device until
 * kiln_array_first() reads the number. Elements selected by arrays of integers are in
 * kiln/indexing.h.
 *
 * Elements that the condition does not select can have results as well, computed in the same pass
 * over the inputs: see `otherwise` in kiln_filter_options.
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
        numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as
                           in CuPy's strings; off: C's of 32 bits. */
    /**
     * Statements that assign outputs for the elements that are not kept; NULL or "": none. An
     * output that `otherwise` mentions by name belongs to these elements, and `op` must not mention
     * it. The last two outputs then receive the numbers of kept elements and of all others, as
     * "int64 count, int64 others". `otherwise` may use the same names as `op`.
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
 * @param outputs Output parameters; none may be raw. The last one receives the number of kept
 *                elements, as "int64 count"; it may be the only one. With opts->otherwise the last
 *                two are numbers.
 * @param where   Expression that is true for an element to be kept. It may use the inputs, `i` (the
 *                element's index in C-order) and `n` (the number of elements).
 * @param op      Statements that assign an element of every output but the numbers and those of
 *                opts->otherwise. They may use the same names and `_ind`. They run for the kept
 *                elements, in any order.
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
 * Arguments and dtypes as kiln_elementwise_run(). The numbers of elements have rank 0; every other
 * output has one axis with room for all elements of the broadcast. Kept elements, and those that
 * are not kept, stand in C-order, on every device. An input that shares memory with an output is
 * copied first. Takes workspace from the pool.
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
 * They enqueue on the context's own stream. With a `count`, it receives the number of elements,
 * `out` has room for all elements of the array, and nothing waits. If `count` is NULL, the call
 * waits for the device and `out` has exactly the elements of the result, as in NumPy.
 */

/**
 * values[:count] along the first axis, as a view.
 *
 * Waits for the device to compute `count`.
 * @param count  One int64, as a filter makes it.
 * @return ERR_NULL, ERR_DTYPE for a count of another dtype, ERR_AXIS for values without axes,
 *         ERR_RANGE for a count below 0 or above the extent.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_first(const kiln_array *values,
                                                     const kiln_array *count, kiln_array **out,
                                                     kiln_error *err);

/**
 * NumPy's `array[mask]`: the elements where the mask is true, in C-order.
 *
 * The array is the first argument; in NumPy's compress() it is the second.
 *
 * @param mask   A bool array with the shape of the array, or of its leading axes. In the second
 *               case the result keeps the remaining axes behind its first one.
 * @param count  May be NULL; see above.
 * @return ERR_NULL, ERR_DTYPE for a mask that is not bool, ERR_SHAPE for a mask of another shape,
 *         ERR_ARGUMENT for a result of more than KILN_RANK_MAX axes, and those of
 *         kiln_filter_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_compress(const kiln_array *array,
                                                        const kiln_array *mask, kiln_array **out,
                                                        kiln_array **count, kiln_error *err);

/**
 * C++'s partition_copy: copy the elements where the mask is true to `out` and all others to
 * `others`, both in C-order. The array and the mask are read once.
 *
 * @param mask         As kiln_array_compress().
 * @param count        The number of elements of `out`; may be NULL, see above.
 * @param other_count  The number of elements of `others`; NULL if `count` is.
 * @return As kiln_array_compress(); all results are NULL on failure.
 */
KILN_API KILN_NODISCARD kiln_status
kiln_array_partition_copy(const kiln_array *array, const kiln_array *mask, kiln_array **out,
                          kiln_array **others, kiln_array **count, kiln_array **other_count,
                          kiln_error *err);

/** NumPy's flatnonzero: the int64 indices, in C-order, of the nonzero elements. NaN is not zero. */
KILN_API KILN_NODISCARD kiln_status kiln_array_flatnonzero(const kiln_array *array,
                                                           kiln_array **out, kiln_array **count,
                                                           kiln_error *err);

/**
 * NumPy's nonzero: the positions of the nonzero elements, as one int64 array for each axis.
 *
 * @param outs   Room for one pointer for each axis of `array`. All are NULL on failure.
 * @return ERR_AXIS for an array without axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_nonzero(const kiln_array *array, kiln_array **outs,
                                                       kiln_array **count, kiln_error *err);

/** NumPy's argwhere: the same positions as one array, with a row for each nonzero element. */
KILN_API KILN_NODISCARD kiln_status kiln_array_argwhere(const kiln_array *array, kiln_array **out,
                                                        kiln_array **count, kiln_error *err);

/**
 * NumPy's unique: the distinct elements, sorted as kiln_array_sort() sorts; NaN counts as equal to
 * NaN.
 *
 * The call sorts, and waits for the device, since the length of the result depends on the elements.
 * @param out      The distinct elements, a vector of the array's dtype.
 * @param first    int64: the C-order index of the first occurrence of each distinct element. NULL
 *                 when not wanted, as for the two arrays below.
 * @param inverse  int64, of the array's shape: out[inverse] is equal to the array.
 * @param counts   int64: the number of occurrences of each distinct element.
 * @return ERR_NULL, ERR_DEVICE_MEMORY, and those of a first compile; all results are NULL on
 *         failure.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_unique(const kiln_array *array, kiln_array **out,
                                                      kiln_array **first, kiln_array **inverse,
                                                      kiln_array **counts, kiln_error *err);

/**
 * NumPy's unique with an axis: the distinct slices along it, for axis 0 of a matrix its distinct
 * rows. They are sorted by their first elements, then by the second ones, and so on. As in NumPy, a
 * slice that holds a NaN equals no other slice, and NaN sorts behind numbers.
 *
 * @param axis     Negative counts from the end.
 * @param out      The distinct slices: the array's shape, except for the extent of this axis. It
 *                 may be a view that is not contiguous.
 * @param first    int64, one element for each distinct slice; so has `counts`.
 * @param inverse  int64: for each slice of the array the position of its equal in `out`.
 * @return As kiln_array_unique(); ERR_AXIS.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_unique_along(const kiln_array *array, int axis,
                                                            kiln_array **out, kiln_array **first,
                                                            kiln_array **inverse,
                                                            kiln_array **counts, kiln_error *err);

/**
 * NumPy's operations on sets. The result is sorted and holds each element once: those of either
 * array (union1d), of both (intersect1d), of `x` and not of `y` (setdiff1d), or of exactly one of
 * them (setxor1d). All NaN count as one element, and a NaN of `x` equals no NaN of `y`. The arrays
 * may have any shapes. The result has their common dtype; that of setdiff1d has the dtype of `x`.
 *
 * @param out    If `count` is NULL, the elements of the result, for which the call waits. Otherwise
 *               an array with room for all elements, of which the first `count` are the result.
 * @param count  The number of elements, int64 of rank 0; NULL when not wanted.
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
 * NumPy's place: assign `values`, in order, to the elements where the mask is true, in C-order.
 *
 * If there are fewer values than such elements, the values are repeated, so a single value fills
 * all of them; surplus values are ignored. The call never waits.
 *
 * @param array  Of any strides.
 * @param mask   A bool array with the array's shape. @param values Of the array's dtype.
 * @return As kiln_array_compress(); ERR_DTYPE for values of another dtype, ERR_SHAPE for none at
 *         all, ERR_OUTPUT for an array that cannot be written.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_place(kiln_array *array, const kiln_array *mask,
                                                     const kiln_array *values, kiln_error *err);

KILN_EXTERN_C_END

#endif
