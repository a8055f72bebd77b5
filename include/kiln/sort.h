/**
 * @file kiln/sort.h
 * @brief Sorted arrays, the order that sorts them, and what is found by sorting and counting.
 *
 *     kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
 *     o.axes = KILN_AXES(-1);
 *     kiln_array *sorted = NULL, *order = NULL;
 *     kiln_array_sort(x, &o, &sorted, &err);      // each row
 *     kiln_array_argsort(x, &o, &order, &err);    // int64: where each element stood in its row
 *
 * Order: that of NumPy. NaN come last, in ascending and in descending order; -0 and +0 are equal; complex
 *        numbers are ordered by their real parts, then by their imaginary ones. Every sort is stable:
 *        what is equal keeps its order, also in descending direction.
 * Results: the same on every device and in every run, to the last bit.
 * Threads, units, ownership: as kiln/array.h. The work is enqueued on a stream. kiln/indexing.h reads
 * elements in an order that was found here.
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
    const kiln_axes *axes; /**< The one axis to sort along; NULL: all elements, in C-order. */
    bool descending;       /**< The largest first; NaN last all the same. */
} kiln_sort_options;

#define KILN_SORT_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kiln_sort_options), NULL, KILN_ALL_AXES, false                                      \
    }

/** How a quantile that lies between two elements is made of them: NumPy's methods. Values are pinned. */
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

/** What several arrays are sorted by: either `less` or `key`. C++ texts, as those of kernels. */
typedef struct kiln_sort_rule {
    size_t struct_size; /**< sizeof(kiln_sort_rule) as the caller compiled it. */
    const char *less;   /**< An expression of the elements `a` and `b`, whose members have the names of the
                             signature: whether a stands before b, "a.x < b.x || (a.x == b.x && a.y > b.y)".
                             It has to be a strict weak order. */
    const char *key;    /**< An expression of the signature's names: numbers to sort by, "x * x + y". */
    kiln_dtype key_dtype; /**< What keys are cast to; 0: float64. */
    const char *preamble; /**< C++ text before the kernels; NULL: none. */
} kiln_sort_rule;

#define KILN_SORT_RULE_INIT {sizeof(kiln_sort_rule), NULL, NULL, KILN_DTYPE_NONE, NULL}

KILN_EXTERN_C_BEGIN

/** As the macro, for languages without it; pass sizeof(*rule). */
KILN_API void kiln_sort_rule_init(kiln_sort_rule *rule, size_t struct_size);

/** KILN_SORT_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_sort_options_init(kiln_sort_options *opts, size_t given);

/**
 * The elements of each row along an axis, sorted. Every dtype can be sorted.
 *
 * @param opts  May be NULL: all elements are sorted, and the result has one axis.
 * @param out   Where it points at NULL, a new C-order array of the array's shape is stored there; else
 *              that array is written, with any strides; it may be `array` itself.
 * @return ERR_NULL; ERR_AXIS for several axes, and for one that the array lacks; ERR_DTYPE and ERR_OUTPUT
 *         for an `*out` of another dtype or shape, or one that cannot be written. No output is changed
 *         then.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sort(const kiln_array *array,
                                                    const kiln_sort_options *opts, kiln_array **out,
                                                    kiln_error *err);

/** NumPy's argsort: int64 places in the row, so that taking the elements there gives the sorted row. As
 *  kiln_array_sort() in all else. */
KILN_API KILN_NODISCARD kiln_status kiln_array_argsort(const kiln_array *array,
                                                       const kiln_sort_options *opts,
                                                       kiln_array **out, kiln_error *err);

/**
 * The k largest elements of each row, largest first, and their places; with `opts->descending` set the k
 * smallest, smallest first. NaN are taken only where a row has fewer than k numbers. Of equal elements those
 * that come first are taken.
 *
 * @param values_out   As in kiln_array_sort(), with k elements along the axis.
 * @param indices_out  int64 places in the row; NULL: not wanted.
 * @return As kiln_array_sort(); ERR_ARGUMENT for a k that is negative or larger than a row.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_topk(const kiln_array *array, int64_t k,
                                                    const kiln_sort_options *opts,
                                                    kiln_array **values_out,
                                                    kiln_array **indices_out, kiln_error *err);

/** NumPy's partition: the element at place `kth` (from the end where it is negative) is that of the sorted
 *  row, no smaller ones come behind it and no larger ones before. kiln sorts the rows whole. ERR_ARGUMENT for
 *  a place that no element has. */
KILN_API KILN_NODISCARD kiln_status kiln_array_partition(const kiln_array *array, int64_t kth,
                                                         const kiln_sort_options *opts,
                                                         kiln_array **out, kiln_error *err);
KILN_API KILN_NODISCARD kiln_status kiln_array_argpartition(const kiln_array *array, int64_t kth,
                                                            const kiln_sort_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * The median of each row along an axis, which the result lacks: the mean of the two elements in the middle.
 * float64 for integers and bool, else the array's dtype. NaN for rows that hold a NaN.
 *
 * @param opts  `descending` is not looked at.
 * @return As kiln_array_sort(); ERR_SHAPE for rows without elements.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_median(const kiln_array *array,
                                                      const kiln_sort_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * Quantiles of each row: the result has an axis for the `count` numbers of `q`, each from 0 to 1, and behind
 * it the axes of the array without the one that is named. Dtypes and NaN are those of kiln_array_median();
 * methods that choose an element and compute no mean give the array's dtype.
 *
 * @return As kiln_array_median(); ERR_RANGE for a q that is not between 0 and 1, ERR_DTYPE for complex
 *         numbers, ERR_ARGUMENT for a value that is no method.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_quantile(const kiln_array *array, const double *q,
                                                        size_t count, kiln_quantile_method method,
                                                        const kiln_sort_options *opts,
                                                        kiln_array **out, kiln_error *err);

/**
 * NumPy's searchsorted: for each of `values` the place at which it would have to be put into the sorted
 * vector `sorted` to keep it sorted; before equal elements, or with `right` behind them. The result is int64,
 * of the shape of `values`.
 *
 * Both arrays are compared in their common dtype, in the order of kiln_array_sort(): NaN count as larger than all
 * numbers. Nothing checks that `sorted` is sorted.
 *
 * @param stream  NULL: the context's own.
 * @return ERR_SHAPE for a `sorted` that has not one axis; ERR_DTYPE for dtypes that do not promote; ERR_OUTPUT.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_searchsorted(const kiln_array *sorted,
                                                            const kiln_array *values, bool right,
                                                            kiln_stream *stream, kiln_array **out,
                                                            kiln_error *err);

/** NumPy's lexsort: the order of vectors of one length by several keys, of which the last counts most. int64.
 *  ERR_ARGUMENT_COUNT for no key, ERR_SHAPE. It is enqueued on the context's own stream, as all functions
 *  below. */
KILN_API KILN_NODISCARD kiln_status kiln_array_lexsort(const kiln_array *const *keys, size_t count,
                                                       kiln_array **out, kiln_error *err);

/**
 * Sort several arrays of one shape together, row by row along an axis, by a rule of your own: stable, on either device.
 *
 *     kiln_sort_rule rule = KILN_SORT_RULE_INIT;
 *     rule.less = "a.price < b.price || (a.price == b.price && a.day > b.day)";
 *     kiln_array_sort_by("float32 price, int32 day, T id", arrays, 3, &rule, NULL, sorted, &order, &err);
 *
 * Arrays that the rule does not mention are sorted along. With `less` it is a merge sort, with `key` a radix
 * sort of the keys, which is faster.
 *
 * @param in          Names and dtypes of the arrays, as of a kernel's inputs.
 * @param opts        May be NULL. `axes` is the axis, all elements where it is NULL; `descending` swaps a and b, or turns the
 *                    keys' order.
 * @param sorted_out  Receives as many new arrays; NULL: not wanted.
 * @param order_out   Receives int64 places, as kiln_array_argsort() gives; NULL: not wanted.
 * @return ERR_NULL; ERR_ARGUMENT for a rule with neither `less` nor `key`, or both; ERR_ARGUMENT_COUNT,
 *         ERR_SHAPE, ERR_DTYPE for arrays that are not those of `in`; those of kiln_elementwise_create().
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sort_by(const char *in,
                                                       const kiln_array *const *arrays,
                                                       size_t count, const kiln_sort_rule *rule,
                                                       const kiln_sort_options *opts,
                                                       kiln_array **sorted_out,
                                                       kiln_array **order_out, kiln_error *err);

/** NumPy's isin: bool, whether each of `values` is equal to an element of `test`. NaN is equal to nothing. */
KILN_API KILN_NODISCARD kiln_status kiln_array_isin(const kiln_array *values,
                                                    const kiln_array *test, kiln_array **out,
                                                    kiln_error *err);

/**
 * NumPy's bincount: how often each of 0, 1, ... occurs in an array of integers or bool. The result is int64
 * and has an element for each number up to the largest one, and at least `least_count` elements; the call
 * waits for the device to know the largest number.
 *
 * @return ERR_DTYPE for other dtypes, ERR_RANGE for negative numbers and those of 2^63 - 1 and above,
 *         ERR_ARGUMENT for a negative `least_count`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_bincount(const kiln_array *array,
                                                        int64_t least_count, kiln_array **out,
                                                        kiln_error *err);

/**
 * NumPy's histogram between given edges: int64, how many elements are not less than edge k and less than edge
 * k + 1; the last bin holds its upper edge as well. NaN are in no bin. Compared as float64. The call waits
 * for the edges.
 *
 * @return ERR_SHAPE for edges that are no vector of two at least, ERR_ARGUMENT for edges that do not increase
 *         (which ones is said), ERR_DTYPE for complex numbers.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogram(const kiln_array *array,
                                                         const kiln_array *edges, kiln_array **out,
                                                         kiln_error *err);

/**
 * NumPy's histogramdd, and with two axes histogram2d: how many points fall into each box. `samples[k]` are the
 * points' coordinates along axis k, all of one shape, and `edges[k]` the edges of bins along it. The result is float64,
 * as in NumPy, and has one bin less along each axis than there are edges.
 *
 * @param count  How many axes: 1 to 8.
 * @return As kiln_array_histogram(); ERR_SHAPE for coordinates of different shapes, ERR_ARGUMENT_COUNT for another
 *         number of axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogramdd(const kiln_array *const *samples,
                                                           const kiln_array *const *edges,
                                                           size_t count, kiln_array **out,
                                                           kiln_error *err);

/** `bins` + 1 evenly spaced float64 edges from range[0] to range[1]; NULL: from the least element to the
 *  largest one, for which the call waits. ERR_ARGUMENT for no bin, ERR_RANGE for ends that are not finite or
 *  in order, and for bins so narrow that edges would be equal. */
KILN_API KILN_NODISCARD kiln_status kiln_array_histogram_edges(const kiln_array *array,
                                                               int64_t bins, const double range[2],
                                                               kiln_array **out, kiln_error *err);

/** NumPy's digitize: int64, the bin of each value, 0 for those before the first edge. Edges may fall as well;
 *  `right`: a bin holds its upper edge and not its lower one. Errors as kiln_array_histogram(); ERR_DTYPE for
 *  complex values, too. */
KILN_API KILN_NODISCARD kiln_status kiln_array_digitize(const kiln_array *values,
                                                        const kiln_array *edges, bool right,
                                                        kiln_array **out, kiln_error *err);

/**
 * A function of this header as a node of a graph, by the name that it has in expressions: sort, argsort,
 * partition, argpartition, topk, median, quantile, percentile (0 to 100), searchsorted; and sort_descending,
 * argsort_descending and topk_smallest, which have the options of expressions in their names.
 *
 * @param axes     The one axis; NULL: all elements.
 * @param numbers  What the function takes besides arrays: the place of partition and argpartition, the k of
 *                 topk, the q of quantile and percentile, of which a node has one, and behind it the method, linear
 *                 where it is left out.
 * @param result   Of topk and topk_smallest: 0 are the values, 1 their places. Else 0.
 */
KILN_API kiln_node kiln_node_sorting(const char *function, const kiln_node *operands,
                                     size_t operand_count, const kiln_axes *axes,
                                     const double *numbers, size_t number_count, size_t result,
                                     const char *file, int line);

KILN_EXTERN_C_END

#endif
