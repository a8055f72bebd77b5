/**
 * @file kiln/sort.h
 * @brief Sorting: sort, argsort, topk, partition, quantiles, searches in sorted arrays, histograms.
 *
 *     kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
 *     o.axes = KILN_AXES(-1);
 *     kiln_array *sorted = NULL, *order = NULL;
 *     kiln_array_sort(x, &o, &sorted, &err);      // each row
 *     kiln_array_argsort(x, &o, &order, &err);    // int64: positions before sorting
 *
 * Order:   that of NumPy. NaN is last, in ascending and in descending order; -0 and +0 are equal;
 *          complex numbers are compared by their real parts, then by their imaginary parts. Every
 *          sort is stable, also in descending order: equal elements keep their relative order.
 * Results: bit-identical on every device and in every run. The elements before and behind the kth
 *          one of a partition are the exception: their order is unspecified.
 * Rows:    "a row" is the sequence of elements along the axis of the options; without an axis all
 *          elements of the array, in C-order, are one row.
 * Threads, units, ownership: as kiln/array.h. Calls enqueue their work and return; those that wait
 * for the device say so. kiln/indexing.h takes elements in the order that argsort gives.
 */
#ifndef KILN_SORT_H
#define KILN_SORT_H

#include "kiln/array.h"
#include "kiln/node.h"
#include "kiln/stream.h"

/** Choices for the functions below. Zero in a field means its default. */
typedef struct kiln_sort_options {
    size_t struct_size;    /**< sizeof(kiln_sort_options) as the caller compiled it. */
    kiln_stream *stream;   /**< NULL: the context's own stream. */
    const kiln_axes *axes; /**< One axis; NULL: all elements, in C-order, are one row. */
    bool descending;       /**< Largest element first. NaN still comes last. */
} kiln_sort_options;

#define KILN_SORT_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kiln_sort_options), NULL, KILN_ALL_AXES, false                                      \
    }

/** How a quantile that falls between two elements is computed from them: NumPy's methods, by
 *  number. The values never change. */
typedef enum kiln_quantile_method {
    KILN_QUANTILE_LINEAR = 0,
    KILN_QUANTILE_INVERTED_CDF = 1,
    KILN_QUANTILE_AVERAGED_INVERTED_CDF = 2,
    KILN_QUANTILE_CLOSEST_OBSERVATION = 3,
    KILN_QUANTILE_INTERPOLATED_INVERTED_CDF = 4,
    KILN_QUANTILE_HAZEN = 5,
    KILN_QUANTILE_WEIBULL = 6,
    KILN_QUANTILE_MEDIAN_UNBIASED = 7,
    KILN_QUANTILE_NORMAL_UNBIASED = 8,
    KILN_QUANTILE_LOWER = 9,
    KILN_QUANTILE_HIGHER = 10,
    KILN_QUANTILE_MIDPOINT = 11,
    KILN_QUANTILE_NEAREST = 12
} kiln_quantile_method;

/** The order of kiln_array_sort_by(): exactly one of `less` and `key` is set. All texts are C++, as
 *  in kernels. */
typedef struct kiln_sort_rule {
    size_t struct_size; /**< sizeof(kiln_sort_rule) as the caller compiled it. */
    const char *less;   /**< Expression that is true where `a` comes before `b`. Members of both
                             have the names of the signature: "a.x < b.x || (a.x == b.x && a.y >
                             b.y)". It must be a strict weak order. */
    const char *key;    /**< Expression over the signature's names that gives the sort key of an
                             element: "x * x + y". */
    kiln_dtype key_dtype; /**< The dtype that keys are cast to; KILN_DTYPE_NONE: float64. */
    const char *preamble; /**< C++ text before the kernels; NULL: none. */
} kiln_sort_rule;

#define KILN_SORT_RULE_INIT {sizeof(kiln_sort_rule), NULL, NULL, KILN_DTYPE_NONE, NULL}

KILN_EXTERN_C_BEGIN

/** KILN_SORT_RULE_INIT at run time; `struct_size` is sizeof *rule. Accepts NULL. */
KILN_API void kiln_sort_rule_init(kiln_sort_rule *rule, size_t struct_size);

/** KILN_SORT_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_sort_options_init(kiln_sort_options *opts, size_t given);

/**
 * Sort each row. All dtypes are supported.
 *
 * @param opts  May be NULL. Without an axis the result has one axis, with all elements.
 * @param out   If `*out` is NULL, it receives a new C-order array. Otherwise the array is written,
 *              which may have any strides and may be `array` itself.
 * @return ERR_NULL; ERR_AXIS for more than one axis or an axis out of range; ERR_DTYPE or
 *         ERR_OUTPUT when the array given as `*out` has another dtype or shape, or cannot be
 *         written. After a failure no output has changed.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sort(const kiln_array *array,
                                                    const kiln_sort_options *opts, kiln_array **out,
                                                    kiln_error *err);

/** NumPy's argsort: the int64 positions that sort each row, so that taking the elements at these
 *  positions gives the sorted row. Otherwise as kiln_array_sort(). */
KILN_API KILN_NODISCARD kiln_status kiln_array_argsort(const kiln_array *array,
                                                       const kiln_sort_options *opts,
                                                       kiln_array **out, kiln_error *err);

/**
 * The k largest elements of each row, largest first, and their positions. With `opts->descending`
 * it is the k smallest, smallest first. A NaN is taken only when the row has fewer than k numbers.
 * Among equal elements the first ones are taken.
 *
 * @param values_out   As `out` of kiln_array_sort(), with k elements along the axis.
 * @param indices_out  As values_out: the int64 positions in the row. NULL when not wanted.
 * @return As kiln_array_sort(); ERR_ARGUMENT when k is negative or larger than the row.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_topk(const kiln_array *array, int64_t k,
                                                    const kiln_sort_options *opts,
                                                    kiln_array **values_out,
                                                    kiln_array **indices_out, kiln_error *err);

/**
 * NumPy's partition: position `kth` of each row receives the element that it has in the sorted row.
 * No element before it is larger and no element behind it is smaller; their order is unspecified.
 * On a cpu device with AVX2 rows of 512 and more real numbers are partitioned in linear time; all
 * other rows are sorted.
 *
 * @param kth  Negative values count from the end.
 * @return As kiln_array_sort(); ERR_ARGUMENT when `kth` is no position of the row.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_partition(const kiln_array *array, int64_t kth,
                                                         const kiln_sort_options *opts,
                                                         kiln_array **out, kiln_error *err);
/** The int64 positions that partition each row, as kiln_array_partition() would arrange the
 *  elements. */
KILN_API KILN_NODISCARD kiln_status kiln_array_argpartition(const kiln_array *array, int64_t kth,
                                                            const kiln_sort_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * The median of each row; for an even number of elements the mean of the two middle ones. The axis
 * is removed from the result. The dtype is float64 for integers and bool, otherwise the array's. A
 * row that holds a NaN gives NaN.
 *
 * @param opts  May be NULL; `descending` is ignored.
 * @return As kiln_array_sort(); ERR_SHAPE for rows without elements.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_median(const kiln_array *array,
                                                      const kiln_sort_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's quantile: `count` quantiles of each row. The first axis of the result runs over `q`; it
 * is followed by the axes of the array without the axis of the rows. Dtypes and NaN are treated as
 * in kiln_array_median(), except that methods which pick an element, and compute no mean, keep the
 * array's dtype.
 *
 * @param q  `count` numbers from 0 to 1.
 * @return As kiln_array_median(); ERR_RANGE for a q outside 0 to 1, ERR_DTYPE for complex numbers,
 *         ERR_ARGUMENT for an unknown method.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_quantile(const kiln_array *array, const double *q,
                                                        size_t count, kiln_quantile_method method,
                                                        const kiln_sort_options *opts,
                                                        kiln_array **out, kiln_error *err);

/**
 * NumPy's searchsorted: for each element of `values`, the position at which it can be inserted into
 * the vector `sorted` so that the vector stays sorted. It is the first such position, or with
 * `right` the last one. The result is int64 and has the shape of `values`.
 *
 * Both arrays are compared in their common dtype and in the order of kiln_array_sort(): a NaN is
 * larger than every number. Whether `sorted` is in ascending order is not checked.
 *
 * @param stream  NULL: the context's own.
 * @return ERR_SHAPE when `sorted` does not have exactly one axis; ERR_DTYPE for dtypes without a
 *         common dtype; ERR_OUTPUT.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_searchsorted(const kiln_array *sorted,
                                                            const kiln_array *values, bool right,
                                                            kiln_stream *stream, kiln_array **out,
                                                            kiln_error *err);

/** NumPy's lexsort: the int64 positions that sort by several keys, arrays of one shape, along their
 *  last axis. The last key is the primary one. This function and all functions below enqueue on the
 *  context's own stream. @return ERR_NULL, ERR_ARGUMENT_COUNT without a key, ERR_SHAPE,
 *  ERR_CONTEXT. */
KILN_API KILN_NODISCARD kiln_status kiln_array_lexsort(const kiln_array *const *keys, size_t count,
                                                       kiln_array **out, kiln_error *err);

/**
 * Sort several arrays of one shape together, row by row, in an order of your own. The sort is
 * stable.
 *
 *     kiln_sort_rule rule = KILN_SORT_RULE_INIT;
 *     rule.less = "a.price < b.price || (a.price == b.price && a.day > b.day)";
 *     kiln_array_sort_by("float32 price, int32 day, T id", arrays, 3, &rule, NULL, sorted, &order,
 *                        &err);
 *
 * Arrays that the rule does not mention are permuted along with the others. `less` selects a merge
 * sort; `key` selects a radix sort of the keys, which is faster.
 *
 * @param in          Names and dtypes of the arrays, in the grammar of a kernel's inputs.
 * @param opts        May be NULL. `descending` exchanges a and b, or reverses the order of the
 *                    keys.
 * @param sorted_out  Room for `count` pointers, which receive new arrays; NULL when not wanted.
 * @param order_out   Receives int64 positions, as kiln_array_argsort() gives them; NULL when not
 *                    wanted.
 * @return ERR_NULL; ERR_ARGUMENT for a rule with neither or both of `less` and `key`;
 *         ERR_ARGUMENT_COUNT, ERR_SHAPE or ERR_DTYPE for arrays that do not match `in`; and the
 *         statuses of kiln_elementwise_create() and kiln_elementwise_run().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sort_by(const char *in,
                                                       const kiln_array *const *arrays,
                                                       size_t count, const kiln_sort_rule *rule,
                                                       const kiln_sort_options *opts,
                                                       kiln_array **sorted_out,
                                                       kiln_array **order_out, kiln_error *err);

/** NumPy's isin: bool, true for each element of `values` that equals some element of `test`. NaN
 *  equals nothing. Both are compared in their common dtype. @return ERR_NULL, ERR_CONTEXT,
 *  ERR_OUTPUT. */
KILN_API KILN_NODISCARD kiln_status kiln_array_isin(const kiln_array *values,
                                                    const kiln_array *test, kiln_array **out,
                                                    kiln_error *err);

/**
 * NumPy's bincount: element k of the int64 result is the number of times that k occurs in an array
 * of integers or bool. The result has one element more than the largest number, and at least
 * `least_count` elements. The call waits for the device, since the length of the result depends on
 * the elements.
 *
 * @return ERR_DTYPE for other dtypes, ERR_RANGE for negative numbers and for 2^63 - 1 and above,
 *         ERR_ARGUMENT for a negative `least_count`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_bincount(const kiln_array *array,
                                                        int64_t least_count, kiln_array **out,
                                                        kiln_error *err);

/**
 * NumPy's histogram with given edges: element k of the int64 result counts the elements that are at
 * least edges[k] and less than edges[k + 1]. The last bin includes its upper edge. NaN is in no
 * bin. The elements and the edges are compared as float64. The call waits for the edges.
 *
 * @return ERR_SHAPE when `edges` is not a vector of at least two elements, ERR_ARGUMENT when an
 *         edge is smaller than the one before it (the message names both; equal ones make a bin
 *         that nothing is in, unless it is the last), ERR_DTYPE for complex numbers.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogram(const kiln_array *array,
                                                         const kiln_array *edges, kiln_array **out,
                                                         kiln_error *err);

/**
 * NumPy's histogramdd, and with two axes histogram2d: the number of points in each box. samples[k]
 * holds the points' coordinates along axis k; all have one shape. edges[k] holds the edges of the
 * bins along axis k. The result is float64, as in NumPy; axis k has one element fewer than
 * edges[k].
 *
 * @param count  Number of axes: 1 to 8.
 * @return As kiln_array_histogram(); ERR_SHAPE for coordinates of different shapes,
 *         ERR_ARGUMENT_COUNT for another number of axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogramdd(const kiln_array *const *samples,
                                                           const kiln_array *const *edges,
                                                           size_t count, kiln_array **out,
                                                           kiln_error *err);

/** `bins` + 1 evenly spaced edges from range[0] to range[1], of float64, or of the array's dtype if
 *  that is float32 or float16, computed in it as NumPy does. A `range` of NULL stands for
 *  the smallest and the largest element; the call then waits for the device. @return ERR_ARGUMENT
 *  for fewer than one bin; ERR_RANGE for limits that are not finite or not in order, and for bins
 *  so narrow that edges would be equal. */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogram_edges(const kiln_array *array,
                                                               int64_t bins, const double range[2],
                                                               kiln_array **out, kiln_error *err);

/** NumPy's digitize: the int64 number of each value's bin, 0 for values before the first edge.
 *  Edges increase throughout or decrease throughout. With `right` a bin includes its upper edge and
 *  not its lower one.
 *  @return As kiln_array_histogram(). */
KILN_API KILN_NODISCARD kiln_status kiln_array_digitize(const kiln_array *values,
                                                        const kiln_array *edges, bool right,
                                                        kiln_array **out, kiln_error *err);

/**
 * A function of this header as a node of a graph. It is named as in expressions: "sort", "argsort",
 * "partition", "argpartition", "topk", "median", "quantile", "percentile" (0 to 100),
 * "searchsorted"; "sort_descending", "argsort_descending" and "topk_smallest" stand for the options
 * of these.
 *
 * @param axes     One axis; NULL: all elements.
 * @param numbers  What the function takes besides arrays: `kth` of a partition, `k` of topk, or one
 *                 `q` of quantile and percentile, which a kiln_quantile_method may follow.
 * @param result   topk and topk_smallest: 0 for the values, 1 for their positions. Otherwise 0.
 */
KILN_API kiln_node kiln_node_sorting(const char *function, const kiln_node *operands,
                                     size_t operand_count, const kiln_axes *axes,
                                     const double *numbers, size_t number_count, size_t result,
                                     const char *file, int line);

KILN_EXTERN_C_END

#endif
