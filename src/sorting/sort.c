/*
 * sort.c - sort, argsort, lexsort (kiln/sort.h), and sorts that other folders need.
 *
 *     array > [rows.c] > kiln__sort_rows() > sort_cpu.c or sort_cuda.c > [rows.c] > results
 *
 * kiln__sort_rows() is the one way to the sorts of either device: select.c, first.c, choose_cpu.c
 * and kiln__sort_keys(), which scatters use, call it as well.
 *
 * Tests: test_sort; lexsort: test_bins.
 */
#include <string.h>

#include "sorting/sorting.h"

bool kiln__sort_cuts(const kiln__sort *s)
{
    return !kiln__device_is_host(kiln__context_device(s->ctx)) && kiln__sort_fits_block(s);
}

kiln_status kiln__sort_rows(const kiln__sort *s, kiln_error *err)
{
    if (s->rows == 0 || s->length == 0 || (s->sorted == NULL && s->order == NULL))
        return KILN_OK;
    return kiln__device_is_host(kiln__context_device(s->ctx)) ? kiln__sort_rows_cpu(s, err)
                                                              : kiln__sort_rows_cuda(s, err);
}

/* ---- for other folders ----------------------------------------------------------------------- */

/* Digits of unsigned numbers below `bound`. */
static int digits_below(int64_t bound)
{
    int digits = 1;

    while (digits < 8 && (bound - 1) >> 8 * digits != 0)
        digits++;
    return digits;
}

kiln_dtype kiln__dtype_without_sign(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_INT8:
        return KILN_UINT8;
    case KILN_INT16:
        return KILN_UINT16;
    case KILN_INT32:
        return KILN_UINT32;
    case KILN_INT64:
        return KILN_UINT64;
    default:
        return dtype;
    }
}

kiln_status kiln__sort_keys(const kiln_array *keys, int64_t bound, kiln_dtype order_dtype,
                            kiln_stream *stream, kiln_array **sorted_out, kiln_array **order_out,
                            kiln_error *err)
{
    kiln_array *sorted = NULL, *order = NULL;
    kiln_status status = KILN_OK;

    if (sorted_out != NULL)
        KILN_TRY(kiln__sort_memory(keys->ctx, stream, keys->dtype, keys->size, &sorted, err));
    if (order_out != NULL)
        KILN_TRY(kiln__sort_memory(keys->ctx, stream, order_dtype, keys->size, &order, err));
    kiln__sort s = {.ctx = keys->ctx,
                    .stream = stream,
                    .dtype = keys->dtype,
                    .rows = 1,
                    .length = keys->size,
                    .keys = keys->data,
                    .sorted = sorted != NULL ? sorted->data : NULL,
                    .order = order != NULL ? order->data : NULL,
                    .wide = order_dtype == KILN_INT64};
    if (bound > 0) {
        const int all = kiln__radix_digits(keys->dtype), digits = digits_below(bound);
        /* Numbers that are known not to be negative are unsigned ones, of which the lowest digits
         * count. */
        s.dtype = kiln__dtype_without_sign(keys->dtype);
        s.digits = digits < all ? digits : all;
    }
    KILN_TRY(kiln__sort_rows(&s, err));
    if (sorted_out != NULL)
        *sorted_out = sorted;
    if (order_out != NULL)
        *order_out = order;
    sorted = order = NULL;

done:
    kiln_array_release(sorted);
    kiln_array_release(order);
    return status;
}

/* ---- the public functions -------------------------------------------------------------------- */

void kiln_sort_options_init(kiln_sort_options *opts, size_t given)
{
    kiln__options_init(opts, given);
}

kiln_status kiln__sort_options_read(kiln_sort_options *o, const kiln_sort_options *given,
                                    kiln_error *err)
{
    *o = (kiln_sort_options)KILN_SORT_OPTIONS_INIT;
    return given == NULL ? KILN_OK
                         : kiln__options_read(o, sizeof *o, given, given->struct_size,
                                              "kiln_sort_options", err);
}

kiln_status kiln__sort_array(const char *what, bool order, int64_t kth, const kiln_array *x,
                             const kiln_sort_options *opts, kiln_array **out, kiln_error *err)
{
    const kiln_dtype dtype = order ? KILN_INT64 : x->dtype;
    kiln_sort_options o;
    kiln_array *made = NULL;
    kiln__rows r = {.x = NULL};
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__sort_options_read(&o, opts, err));
    KILN_TRY(kiln__device_check(kiln__context_device(x->ctx), err));
    KILN_TRY(kiln__rows_begin(&r, what, x, o.axes, o.stream, err));
    KILN_TRY(kiln__rows_check_out(&r, what, dtype, r.length, *out, err));
    KILN_TRY(kiln__rows_new(&r, dtype, r.length, &made, err));
    const kiln__sort s = {.ctx = r.ctx,
                          .stream = r.stream,
                          .dtype = x->dtype,
                          .rows = r.rows,
                          .length = r.length,
                          .descending = o.descending,
                          .keys = r.x->data,
                          .sorted = order ? NULL : made->data,
                          .order = order ? made->data : NULL,
                          .wide = true};
    if (kth != KILN__SORT_ALL && kiln__partition_suits_cpu(&s))
        KILN_TRY(kiln__partition_rows_cpu(&s, kth < 0 ? kth + r.length : kth, err));
    else
        KILN_TRY(kiln__sort_rows(&s, err));
    KILN_TRY(kiln__rows_deliver(&r, &made, out, err));

done:
    kiln_array_release(made);
    kiln__rows_end(&r);
    return status;
}

kiln_status kiln_array_sort(const kiln_array *array, const kiln_sort_options *opts,
                            kiln_array **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    return kiln__sort_array("sort", false, KILN__SORT_ALL, array, opts, out, err);
}

kiln_status kiln_array_argsort(const kiln_array *array, const kiln_sort_options *opts,
                               kiln_array **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    return kiln__sort_array("argsort", true, KILN__SORT_ALL, array, opts, out, err);
}

/* ---- lexsort --------------------------------------------------------------------------------- */

/* The elements of a vector in some order. */
static const kiln__kept_texts take_texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_lexsort",
            .in = "raw T x, int64 at",
            .out = "T z",
            .snippet = {[KILN__SNIPPET_OP] = "z = x[at]"},
        },
};

kiln_status kiln__sort_take(const kiln_array *x, const kiln_array *order, kiln_stream *stream,
                            kiln_array **out, kiln_error *err)
{
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(order), kiln_arg_out(out)};

    return kiln__kept_run(x->ctx, &take_texts, args, KILN_COUNT_OF(args), stream, err);
}

/* The same of each row of n elements. */
static const kiln__kept_texts row_texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_lexsort_rows",
            .in = "raw T x, int64 at, int64 n",
            .out = "T z",
            .snippet = {[KILN__SNIPPET_OP] = "z = x[i / n * n + at]"},
        },
};

static kiln_status take_rows(const kiln_array *x, const kiln_array *order, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(order),
                             kiln_arg_int(x->shape[x->rank - 1]), kiln_arg_out(out)};

    if (x->rank == 1)
        return kiln__sort_take(x, order, stream, out, err);
    return kiln__kept_run(x->ctx, &row_texts, args, KILN_COUNT_OF(args), stream, err);
}

/* One more key, which counts more than those before it: sorted along its last axis in the order that there is,
 * stably. */
static kiln_status refine(const kiln_array *key, kiln_stream *stream, kiln_array **order,
                          kiln_error *err)
{
    const kiln_axes last = {1, {-1}};
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *here = NULL, *finer = NULL, *both = NULL;
    kiln_status status = KILN_OK;

    o.stream = stream;
    o.axes = &last;
    if (*order == NULL)
        return kiln_array_argsort(key, &o, order, err);
    KILN_TRY(take_rows(key, *order, stream, &here, err));
    KILN_TRY(kiln_array_argsort(here, &o, &finer, err));
    KILN_TRY(take_rows(*order, finer, stream, &both, err));
    kiln_array_release(*order);
    *order = both;

done:
    kiln_array_release(here);
    kiln_array_release(finer);
    return status;
}

/* The keys that an array holds along its first axis, or one of several keys, with the axis that is sorted last. */
static kiln_status key_view(const kiln_array *const *keys, const kiln__lexsort_data *data, int64_t nth,
                            kiln_array **out, kiln_error *err)
{
    const kiln_array *x = data->stacked ? keys[0] : keys[nth];
    const int first = data->stacked, rank = x->rank - first;
    const int axis = data->axis < 0 ? (int)data->axis + rank : (int)data->axis;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];

    for (int a = 0; a < rank; a++) {
        const int from = first + (a == rank - 1 ? axis : a < axis ? a : a + 1);
        shape[a] = x->shape[from];
        strides[a] = x->strides[from];
    }
    return kiln__array_view((kiln_array *)x, rank, shape, strides,
                            (char *)x->data + (data->stacked ? nth * x->strides[0] : 0), out, err);
}

kiln_status kiln__lexsort_infer(const kiln_array *const *keys, size_t count,
                                const kiln__lexsort_data *data, int *rank, int64_t *shape,
                                kiln_error *err)
{
    char other[24 * KILN_RANK_MAX], first[24 * KILN_RANK_MAX];
    const kiln_array *x = keys[0];
    const int least = data->stacked ? 2 : 1;

    if (x->rank < least || (data->stacked && x->shape[0] == 0))
        return kiln__fail(err, KILN_ERR_SHAPE, "lexsort: keys are vectors at least, and there is one");
    *rank = x->rank - data->stacked;
    memcpy(shape, x->shape + data->stacked, (size_t)*rank * sizeof *shape);
    if (data->axis < -*rank || data->axis >= *rank)
        return kiln__fail(err, KILN_ERR_AXIS, "lexsort: axis %lld is out of range for rank %d",
                          (long long)data->axis, *rank);
    for (size_t k = 1; k < count; k++)
        if (keys[k]->rank != x->rank ||
            memcmp(keys[k]->shape, x->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "lexsort: keys are arrays of one shape; that of key %zu is %s, that of key 1 %s",
                              k + 1, kiln__shape_text(keys[k]->rank, keys[k]->shape, other, sizeof other),
                              kiln__shape_text(x->rank, x->shape, first, sizeof first));
    return KILN_OK;
}

/* The order of checked keys, the sorted axis last. */
static kiln_status order_of(const kiln_array *const *keys, size_t count,
                            const kiln__lexsort_data *data, kiln_stream *stream, kiln_array **order,
                            kiln_error *err)
{
    const int64_t many = data->stacked ? keys[0]->shape[0] : (int64_t)count;
    kiln_array *key = NULL;
    kiln_status status = KILN_OK;

    for (int64_t k = 0; k < many; k++) {
        KILN_TRY(key_view(keys, data, k, &key, err));
        KILN_TRY(refine(key, stream, order, err));
        kiln_array_release(key);
        key = NULL;
    }

done:
    kiln_array_release(key);
    return status;
}

kiln_status kiln__lexsort_into(const kiln_array *const *keys, size_t count,
                               const kiln__lexsort_data *data, kiln_stream *stream, kiln_array *out,
                               kiln_error *err)
{
    const kiln__lexsort_data one = {data->axis, false};
    kiln_array *order = NULL, *to = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(order_of(keys, count, data, stream, &order, err));
    KILN_TRY(key_view((const kiln_array *const[]){out}, &one, 0, &to, err));
    KILN_TRY(kiln__array_assign_on(to, order, stream, err));

done:
    kiln_array_release(order);
    kiln_array_release(to);
    return status;
}

kiln_status kiln_array_lexsort(const kiln_array *const *keys, size_t count, kiln_array **out,
                               kiln_error *err)
{
    const kiln__lexsort_data last = {-1, false};
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;
    kiln_array *order = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK_NULL(keys, err);
    if (count == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "lexsort: there is no key");
    for (size_t k = 0; k < count; k++)
        KILN_CHECK(kiln__array_check(keys[k], k > 0 ? keys[0]->ctx : NULL, "a key", err));
    KILN_CHECK(kiln__lexsort_infer(keys, count, &last, &rank, shape, err));
    KILN_TRY(order_of(keys, count, &last, NULL, &order, err));
    *out = order;
    order = NULL;

done:
    kiln_array_release(order);
    return status;
}
