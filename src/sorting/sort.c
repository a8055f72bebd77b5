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
        KILN_TRY(kiln__sort_room(keys->ctx, stream, keys->dtype, keys->size, &sorted, err));
    if (order_out != NULL)
        KILN_TRY(kiln__sort_room(keys->ctx, stream, order_dtype, keys->size, &order, err));
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
        const int all = kiln__place_digits(keys->dtype), digits = digits_below(bound);
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

/* One more key, which counts more than those before it: sorted in the order that there is,
 * stably. */
static kiln_status refine(const kiln_array *key, kiln_stream *stream, kiln_array **order,
                          kiln_error *err)
{
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *here = NULL, *finer = NULL, *both = NULL;
    kiln_status status = KILN_OK;

    o.stream = stream;
    if (*order == NULL)
        return kiln_array_argsort(key, &o, order, err);
    KILN_TRY(kiln__sort_take(key, *order, stream, &here, err));
    KILN_TRY(kiln_array_argsort(here, &o, &finer, err));
    KILN_TRY(kiln__sort_take(*order, finer, stream, &both, err));
    kiln_array_release(*order);
    *order = both;

done:
    kiln_array_release(here);
    kiln_array_release(finer);
    return status;
}

kiln_status kiln__lexsort_check(const kiln_array *const *keys, size_t count, kiln_error *err)
{
    for (size_t k = 0; k < count; k++)
        if (keys[k]->rank != 1 || keys[k]->size != keys[0]->size)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "lexsort: keys are vectors of one length; key %zu is not", k + 1);
    return KILN_OK;
}

kiln_status kiln__lexsort_into(const kiln_array *const *keys, size_t count, kiln_stream *stream,
                               kiln_array *out, kiln_error *err)
{
    kiln_array *order = NULL;
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < count; k++)
        KILN_TRY(refine(keys[k], stream, &order, err));
    KILN_TRY(kiln__array_assign_on(out, order, stream, err));

done:
    kiln_array_release(order);
    return status;
}

kiln_status kiln_array_lexsort(const kiln_array *const *keys, size_t count, kiln_array **out,
                               kiln_error *err)
{
    kiln_array *order = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK_NULL(keys, err);
    if (count == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "lexsort: there is no key");
    for (size_t k = 0; k < count; k++)
        KILN_CHECK(kiln__array_check(keys[k], k > 0 ? keys[0]->ctx : NULL, "a key", err));
    KILN_CHECK(kiln__lexsort_check(keys, count, err));
    for (size_t k = 0; k < count; k++)
        KILN_TRY(refine(keys[k], NULL, &order, err));
    *out = order;
    order = NULL;

done:
    kiln_array_release(order);
    return status;
}
