/*
 * functions.c - functions of this folder as operations of graphs: what their results are, and how
 * they are called.
 *
 *     a node's operands and numbers > [infer] > dtypes and shapes
 *                                   > [run]   > the public function
 *
 * Rule: the first number is the axis, KILN__SORT_ALL for all elements; what follows is the
 *       function's own.
 *
 * src/graph/opaque.c calls this file. Tests: test_select, test_block.
 */
#include "sorting/sorting.h"

typedef enum part { PART_ROWS, PART_FIRST, PART_ONE, PART_LIKE_SECOND } part;

typedef struct form {
    const char *name;
    part part;     /* of rows that is in the result */
    bool order[2]; /* results that are positions */
} form;

static const form functions[KILN__SORTING_COUNT] = {
    [KILN__SORTING_sort] = {"sort", PART_ROWS, {false}},
    [KILN__SORTING_argsort] = {"argsort", PART_ROWS, {true}},
    [KILN__SORTING_sort_descending] = {"sort", PART_ROWS, {false}},
    [KILN__SORTING_argsort_descending] = {"argsort", PART_ROWS, {true}},
    [KILN__SORTING_partition] = {"partition", PART_ROWS, {false}},
    [KILN__SORTING_argpartition] = {"argpartition", PART_ROWS, {true}},
    [KILN__SORTING_topk] = {"topk", PART_FIRST, {false, true}},
    [KILN__SORTING_topk_smallest] = {"topk", PART_FIRST, {false, true}},
    [KILN__SORTING_median] = {"median", PART_ONE, {false}},
    [KILN__SORTING_quantile] = {"quantile", PART_ONE, {false}},
    [KILN__SORTING_percentile] = {"percentile", PART_ONE, {false}},
    [KILN__SORTING_searchsorted] = {"searchsorted", PART_LIKE_SECOND, {true}},
    [KILN__SORTING__search_right] = {"searchsorted", PART_LIKE_SECOND, {true}},
    [KILN__SORTING__bin] = {"digitize", PART_LIKE_SECOND, {true}},
    [KILN__SORTING__bin_right] = {"digitize", PART_LIKE_SECOND, {true}},
    [KILN__SORTING__is_among] = {"isin", PART_LIKE_SECOND, {false}},
};

/* ---- results --------------------------------------------------------------------------------- */

static kiln_status check_numbers(const form *f, int64_t length, const int64_t *data,
                                 kiln_error *err)
{
    if (f->part == PART_FIRST && (data[1] < 0 || data[1] > length))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "topk: k is %lld, and a row has %lld elements",
                          (long long)data[1], (long long)length);
    const bool by_position =
        f == &functions[KILN__SORTING_partition] || f == &functions[KILN__SORTING_argpartition];
    if (by_position && (data[1] < -length || data[1] >= length))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: kth is %lld, and a row has %lld elements",
                          f->name, (long long)data[1], (long long)length);
    const bool hundreds = f == &functions[KILN__SORTING_percentile];
    if (hundreds || f == &functions[KILN__SORTING_quantile]) {
        double q;
        memcpy(&q, &data[1], sizeof q);
        if (!(q >= 0 && q <= (hundreds ? 100 : 1)))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: %g is not between 0 and %d", f->name, q,
                              hundreds ? 100 : 1);
    }
    if (f->part == PART_ONE && length == 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: a row has no elements", f->name);
    return KILN_OK;
}

static kiln_status shape_of(const form *f, const kiln_array *x, const int64_t *data,
                            kiln__sorting_value *y, kiln_error *err)
{
    const bool all = data[0] == KILN__SORT_ALL;
    const int64_t axis = all ? 0 : data[0] < 0 ? data[0] + x->rank : data[0];

    if (!all && (axis < 0 || axis >= x->rank))
        return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %lld is out of range for rank %d", f->name,
                          (long long)data[0], x->rank);
    int64_t length = all ? 1 : x->shape[axis];
    for (int k = 0; all && k < x->rank; k++)
        length *= x->shape[k];
    KILN_CHECK(check_numbers(f, length, data, err));
    y->rank = 0;
    for (int k = 0; k < (all ? 1 : x->rank); k++) {
        if (k != axis)
            y->shape[y->rank++] = x->shape[k];
        else if (f->part != PART_ONE)
            y->shape[y->rank++] = f->part == PART_FIRST ? data[1] : length;
    }
    return KILN_OK;
}

static kiln_quantile_method method_of(kiln__sorting_function function, const int64_t *data)
{
    return function == KILN__SORTING_median ? KILN_QUANTILE_LINEAR : (kiln_quantile_method)data[2];
}

kiln_status kiln__sorting_infer(kiln__sorting_function function, const kiln_array *const *operands,
                                const int64_t *data, kiln__sorting_value *results, kiln_error *err)
{
    const form *f = &functions[function];
    const kiln_array *x = operands[0];
    kiln_dtype common;

    const bool bins = function == KILN__SORTING__bin || function == KILN__SORTING__bin_right;
    if (bins && kiln_dtype_kind(operands[1]->dtype) == 'c')
        return kiln__fail(err, KILN_ERR_DTYPE, "digitize: complex numbers are in no bin");
    if (f->part == PART_LIKE_SECOND) {
        KILN_CHECK(kiln__searchsorted_check(x->dtype, x->rank, operands[1]->dtype, &common, err));
        results->dtype = f->order[0] ? KILN_INT64 : KILN_BOOL;
        results->rank = operands[1]->rank;
        memcpy(results->shape, operands[1]->shape,
               (size_t)operands[1]->rank * sizeof *results->shape);
        return KILN_OK;
    }
    if (f->part == PART_ONE && function != KILN__SORTING_median && kiln_dtype_kind(x->dtype) == 'c')
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: complex numbers have no quantiles", f->name);
    for (int k = 0; k < 2; k++) {
        KILN_CHECK(shape_of(f, x, data, &results[k], err));
        results[k].dtype = f->order[k] ? KILN_INT64
                           : f->part == PART_ONE
                               ? kiln__quantile_dtype(x->dtype, method_of(function, data))
                               : x->dtype;
    }
    return KILN_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A quantile is an operation on one number, so that the result has no axis for it. The method is
 * the last number. */
static kiln_status run_quantile(const kiln_array *x, const int64_t *data, double whole,
                                const kiln_sort_options *o, kiln_array **outs, kiln_error *err)
{
    kiln_array *wide = NULL;
    double q;
    kiln_status status = KILN_OK;

    memcpy(&q, &data[1], sizeof q);
    q /= whole; /* as NumPy does: 70 hundredths are not 70 times a hundredth */
    KILN_TRY(kiln_array_newaxis(*outs, 0, &wide, err));
    KILN_TRY(kiln_array_quantile(x, &q, 1, (kiln_quantile_method)data[2], o, &wide, err));

done:
    kiln_array_release(wide);
    return status;
}

kiln_status kiln__sorting_run(kiln__sorting_function function, const kiln_array *const *operands,
                              const int64_t *data, kiln_stream *stream, kiln_array **outs,
                              kiln_error *err)
{
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    const bool all = functions[function].part == PART_LIKE_SECOND || data[0] == KILN__SORT_ALL;
    const kiln_axes axes = {.count = 1, .axis = {all ? 0 : (int)data[0]}};
    const kiln_array *x = operands[0];

    o.stream = stream;
    o.axes = all ? NULL : &axes;
    o.descending = function == KILN__SORTING_sort_descending ||
                   function == KILN__SORTING_argsort_descending ||
                   function == KILN__SORTING_topk_smallest; /* those that topk takes last */
    switch (function) {
    case KILN__SORTING_sort:
    case KILN__SORTING_sort_descending:
        return kiln_array_sort(x, &o, outs, err);
    case KILN__SORTING_argsort:
    case KILN__SORTING_argsort_descending:
        return kiln_array_argsort(x, &o, outs, err);
    case KILN__SORTING_partition:
        return kiln_array_partition(x, data[1], &o, outs, err);
    case KILN__SORTING_argpartition:
        return kiln_array_argpartition(x, data[1], &o, outs, err);
    case KILN__SORTING_topk:
    case KILN__SORTING_topk_smallest:
        return kiln_array_topk(x, data[1], &o, &outs[0], &outs[1], err);
    case KILN__SORTING_median:
        return kiln_array_median(x, &o, outs, err);
    case KILN__SORTING_quantile:
        return run_quantile(x, data, 1, &o, outs, err);
    case KILN__SORTING_percentile:
        return run_quantile(x, data, 100, &o, outs, err);
    case KILN__SORTING__is_among:
        return kiln__search(x, operands[1], false, KILN__SEARCH_IS_IN, stream, outs, err);
    default:
        return kiln_array_searchsorted(x, operands[1],
                                       function == KILN__SORTING__search_right ||
                                           function == KILN__SORTING__bin_right,
                                       stream, outs, err);
    }
}
