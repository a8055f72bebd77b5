/*
 * select.c - topk, partition, median, quantile (kiln/sort.h): only some elements of sorted rows are
 * needed.
 *
 *     rows > [choose.c, first.c, partition_cpu.c, where they are faster; else sorted]
 *          > topk: the first elements
 *          > median, quantile: elements at positions that the host computes
 *
 * Positions and weights of quantiles follow from the length of rows alone, so nothing waits for the
 * device.
 *
 * Tests: test_select, test_first.
 */
#include <math.h>
#include <stdio.h>

#include "sorting/sorting.h"

/* ---- the first elements of sorted rows ------------------------------------------------------- */

/* A view of the first `keep` elements of each row, as an array of its own. */
static kiln_status cut_rows(const kiln__rows *r, int64_t keep, kiln_array **x, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    kiln_array *view = NULL, *made = NULL;
    kiln_status status = KILN_OK;

    if (keep == r->length || *x == NULL)
        return KILN_OK;
    memcpy(shape, r->shape, (size_t)r->rank * sizeof shape[0]);
    shape[r->rank - 1] = keep;
    KILN_TRY(kiln__array_view(*x, r->rank, shape, (*x)->strides, (*x)->data, &view, err));
    KILN_TRY(kiln__array_copy_as(view, view->dtype, NULL, r->stream, &made, err));
    kiln_array_release(*x);
    *x = made;

done:
    kiln_array_release(view);
    return status;
}

/* The first `keep` elements of each row, and their positions where `order` is not NULL. */
static kiln_status first_of_rows(const kiln__rows *r, bool descending, int64_t keep,
                                 kiln_array **sorted, kiln_array **order, kiln_error *err)
{
    kiln__sort s = {.ctx = r->ctx,
                    .stream = r->stream,
                    .dtype = r->x->dtype,
                    .rows = r->rows,
                    .length = r->length,
                    .descending = descending,
                    .keys = r->x->data,
                    .order = order, /* wanted or not; where it goes is set below */
                    .wide = true};
    const bool few = kiln__first_suits(&s, keep), choose = kiln__choose_suits(&s, keep);
    const bool cut = keep == 0 || few || choose || kiln__sort_cuts(&s);
    const int64_t length = cut ? keep : r->length;

    s.keep = cut ? keep : 0;
    KILN_CHECK(kiln__rows_new(r, s.dtype, length, sorted, err));
    s.sorted = (*sorted)->data;
    if (order != NULL) {
        KILN_CHECK(kiln__rows_new(r, KILN_INT64, length, order, err));
        s.order = (*order)->data;
    }
    if (keep == 0)
        return KILN_OK;
    if (few)
        return kiln__first_of_long_rows(&s, r->x, keep, *sorted, order != NULL ? *order : NULL,
                                        err);
    if (choose)
        return kiln__choose_rows(&s, 0, keep, false, err);
    KILN_CHECK(kiln__sort_rows(&s, err));
    if (cut)
        return KILN_OK;
    KILN_CHECK(cut_rows(r, keep, sorted, err));
    return order != NULL ? cut_rows(r, keep, order, err) : KILN_OK;
}

kiln_status kiln_array_topk(const kiln_array *array, int64_t k, const kiln_sort_options *opts,
                            kiln_array **values_out, kiln_array **indices_out, kiln_error *err)
{
    kiln_array *none = NULL, **const indices = indices_out != NULL ? indices_out : &none;
    kiln_array *values = NULL, *order = NULL;
    kiln_sort_options o;
    kiln__rows r = {.x = NULL};
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(values_out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_TRY(kiln__sort_options_read(&o, opts, err));
    KILN_TRY(kiln__device_check(kiln__context_device(array->ctx), err));
    KILN_TRY(kiln__rows_begin(&r, "topk", array, o.axes, o.stream, err));
    if (k < 0 || k > r.length) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "topk: k is %lld, and a row has %lld elements",
                            (long long)k, (long long)r.length);
        goto done;
    }
    KILN_TRY(kiln__rows_check_out(&r, "topk", array->dtype, k, *values_out, err));
    KILN_TRY(kiln__rows_check_out(&r, "topk", KILN_INT64, k, *indices, err));
    KILN_TRY(
        first_of_rows(&r, !o.descending, k, &values, indices_out != NULL ? &order : NULL, err));
    const bool given = *values_out != NULL;
    KILN_TRY(kiln__rows_deliver(&r, &values, values_out, err));
    if (order != NULL)
        status = kiln__rows_deliver(&r, &order, indices, err);
    if (status != KILN_OK && !given) {
        kiln_array_release(*values_out);
        *values_out = NULL;
    }

done:
    kiln_array_release(values);
    kiln_array_release(order);
    kiln__rows_end(&r);
    return status;
}

/* Where the device has no better way, a row is sorted: it is then a partition at every index. */
static kiln_status partition(const char *what, const kiln_array *array, int64_t kth,
                             const kiln_sort_options *opts, bool order, kiln_array **out,
                             kiln_error *err)
{
    kiln_sort_options o;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__sort_options_read(&o, opts, err));
    int axis = o.axes != NULL && o.axes->count == 1 ? o.axes->axis[0] : 0;
    axis += axis < 0 ? array->rank : 0;
    if (axis >= 0 && (o.axes == NULL || axis < array->rank)) {
        const int64_t length = o.axes == NULL ? array->size : array->shape[axis];
        if (kth < -length || kth >= length)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "%s: kth is %lld, and a row has %lld elements", what, (long long)kth,
                              (long long)length);
    }
    return kiln__sort_array(order ? "argsort" : "sort", order, kth, array, opts, out, err);
}

kiln_status kiln_array_partition(const kiln_array *array, int64_t kth,
                                 const kiln_sort_options *opts, kiln_array **out, kiln_error *err)
{
    return partition("partition", array, kth, opts, false, out, err);
}

kiln_status kiln_array_argpartition(const kiln_array *array, int64_t kth,
                                    const kiln_sort_options *opts, kiln_array **out,
                                    kiln_error *err)
{
    return partition("argpartition", array, kth, opts, true, out, err);
}

/* ---- indices of quantiles -------------------------------------------------------------------- */

/* Between which elements of a sorted row a quantile lies, and how far from the first. */
typedef struct between {
    int64_t low, high;
    double weight;
} between;

/* NumPy's virtual index of the methods that have one: n q + alpha + q (1 - alpha - beta) - 1. */
static double virtual_index(int64_t n, double q, double alpha, double beta)
{
    return (double)n * q + (alpha + q * (1 - alpha - beta)) - 1;
}

static between at_index(double index, int64_t n)
{
    const double low = floor(index);
    between b = {(int64_t)low, (int64_t)low + 1, index - low};

    if (index < 0)
        b = (between){0, 0, 0};
    else if (index >= (double)(n - 1))
        b = (between){n - 1, n - 1, 0};
    return b;
}

/* The element itself: its neighbour, which may be infinite, has no part in it. */
static between at_one(double index, int64_t n)
{
    between b = at_index(index < 0 ? 0 : index, n);

    b.high = b.low;
    return b;
}

/* The first index at which the distribution function reaches q. */
static double reached(double index)
{
    const double low = floor(index);
    return index - low > 0 ? low + 1 : low;
}

static between index_of_quantile(kiln_quantile_method method, int64_t n, double q)
{
    const double linear = (double)(n - 1) * q, count = (double)n * q;
    double index;

    switch (method) {
    case KILN_QUANTILE_LOWER:
        return at_one(floor(linear), n);
    case KILN_QUANTILE_HIGHER:
        return at_one(ceil(linear), n);
    case KILN_QUANTILE_NEAREST:
        return at_one(rint(linear), n); /* ties go to the even index, as in NumPy */
    case KILN_QUANTILE_MIDPOINT:
        index = 0.5 * (floor(linear) + ceil(linear));
        return at_index(index, n);
    case KILN_QUANTILE_INVERTED_CDF:
        return at_one(reached(count - 1), n);
    case KILN_QUANTILE_AVERAGED_INVERTED_CDF:
        index = count - 1;
        return index == floor(index) && index >= 0 && index < (double)(n - 1)
                   ? (between){(int64_t)index, (int64_t)index + 1, 0.5}
                   : at_one(reached(index), n);
    case KILN_QUANTILE_CLOSEST_OBSERVATION:
        index = count - 1 - 0.5;
        return at_one(
            index == floor(index) && fmod(floor(index), 2) != 0 ? index : floor(index) + 1, n);
    case KILN_QUANTILE_INTERPOLATED_INVERTED_CDF:
        return at_index(virtual_index(n, q, 0, 1), n);
    case KILN_QUANTILE_HAZEN:
        return at_index(virtual_index(n, q, 0.5, 0.5), n);
    case KILN_QUANTILE_WEIBULL:
        return at_index(virtual_index(n, q, 0, 0), n);
    case KILN_QUANTILE_MEDIAN_UNBIASED:
        return at_index(virtual_index(n, q, 1.0 / 3, 1.0 / 3), n);
    case KILN_QUANTILE_NORMAL_UNBIASED:
        return at_index(virtual_index(n, q, 3.0 / 8, 3.0 / 8), n);
    default:
        return at_index(linear, n);
    }
}

/* Whether results are elements, and so have the array's own dtype. */
static bool takes_elements(kiln_quantile_method method)
{
    return method == KILN_QUANTILE_LOWER || method == KILN_QUANTILE_HIGHER ||
           method == KILN_QUANTILE_NEAREST || method == KILN_QUANTILE_INVERTED_CDF ||
           method == KILN_QUANTILE_CLOSEST_OBSERVATION;
}

static kiln_dtype inexact(kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    return kind == 'f' || kind == 'c' ? dtype : KILN_FLOAT64;
}

kiln_dtype kiln__quantile_dtype(kiln_dtype dtype, kiln_quantile_method method)
{
    return takes_elements(method) ? dtype : inexact(dtype);
}

/* ---- elements of sorted rows ----------------------------------------------------------------- */

typedef enum pick { PICK_ELEMENT, PICK_MEAN, PICK_BETWEEN } pick;

typedef struct wanted {
    pick pick;
    kiln_dtype from, to;
} wanted;

/* z from two neighbours, or NaN where the last element of the row is NaN. */
static kiln_status define(kiln_context *ctx, const void *data, kiln__kernel **out, kiln_error *err)
{
    static const char *const texts[] = {
        [PICK_ELEMENT] = "z = p;",
        [PICK_MEAN] = "z = R((A(p) + A(q)) * A(0.5));",
        [PICK_BETWEEN] = "const A d = A(q) - A(p);\n"
                         "z = R(t < 0.5 ? A(p) + d * A(t) : A(q) - d * A(1 - t));",
    };
    const wanted *w = data;
    const char kind = kiln_dtype_kind(w->from);
    kiln__buf in = KILN__BUF_INIT, op = KILN__BUF_INIT;
    char result[32];

    const bool narrow = kiln__is_narrow(w->to);
    kiln__buf_printf(&in, "%s p, %s q, %s last, float64 t", kiln_dtype_name(w->from),
                     kiln_dtype_name(w->from), kiln_dtype_name(w->from));
    kiln__buf_printf(&op, "typedef %s R;\ntypedef %s A;\n", kiln_dtype_ctype(w->to),
                     narrow ? "float" : kiln_dtype_ctype(w->to));
    if (kind == 'f')
        kiln__buf_puts(&op, "if (last != last) { z = last; return; }\n");
    else if (kind == 'c')
        kiln__buf_puts(&op, "if (last.real() != last.real() || last.imag() != last.imag()) "
                            "{ z = last; return; }\n");
    kiln__buf_puts(&op, texts[w->pick]);
    snprintf(result, sizeof result, "%s z", kiln_dtype_name(w->to));
    return kiln__loop_kernel(ctx, "kiln_quantile", &in, result, &op, out, err);
}

/* Element `at` of each sorted row. */
static kiln_status element(const kiln__rows *r, const kiln_array *sorted, int64_t at,
                           kiln_array **out, kiln_error *err)
{
    return kiln__array_view(sorted, r->rank - 1, sorted->shape, sorted->strides,
                            (char *)sorted->data + at * (int64_t)kiln_dtype_size(sorted->dtype),
                            out, err);
}

/* One quantile of each row into `to`, which has the shape of rows without their axis. */
static kiln_status pick_between(const kiln__rows *r, const kiln_array *sorted, between b, pick how,
                                kiln_array *to, kiln_error *err)
{
    const wanted w = {b.low == b.high ? PICK_BETWEEN : how, sorted->dtype, to->dtype};
    const wanted one = {PICK_ELEMENT, sorted->dtype, to->dtype};
    const bool same = b.low == b.high && sorted->dtype == to->dtype;
    const uint64_t key = (uint64_t)(same ? PICK_ELEMENT : w.pick) << 16 |
                         (uint64_t)sorted->dtype << 8 | (uint64_t)to->dtype;
    kiln_array *low = NULL, *high = NULL, *last = NULL;
    kiln__kernel *kernel = NULL;
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__kept_kernel(r->ctx, define, same ? &one : &w, key, &kernel, err));
    KILN_TRY(element(r, sorted, b.low, &low, err));
    KILN_TRY(element(r, sorted, b.high, &high, err));
    KILN_TRY(element(r, sorted, sorted->shape[r->rank - 1] - 1, &last, err));
    const kiln_arg args[] = {kiln_arg_array(low), kiln_arg_array(high), kiln_arg_array(last),
                             kiln_arg_float(b.weight), kiln_arg_array(to)};
    o.stream = r->stream;
    status = kiln_elementwise_run((kiln_elementwise *)kernel, args, KILN_COUNT_OF(args), &o, err);

done:
    kiln_array_release(low);
    kiln_array_release(high);
    kiln_array_release(last);
    return status;
}

/* ---- median and quantile --------------------------------------------------------------------- */

typedef struct quantiles {
    const char *what;
    const double *q;
    int64_t count; /* -1: one, without an axis */
    kiln_quantile_method method;
    bool median;
} quantiles;

static kiln_status check(const quantiles *w, const kiln__rows *r, kiln_error *err)
{
    const kiln_dtype dtype = r->x->dtype;

    if (kiln_dtype_kind(dtype) == 'c' && !w->median)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: complex numbers have no quantiles", w->what);
    if ((unsigned)w->method > KILN_QUANTILE_NEAREST)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no method %d", w->what,
                          (int)w->method);
    for (int64_t k = 0; k < w->count || k == 0; k++)
        if (w->count != 0 && !(w->q[k] >= 0 && w->q[k] <= 1))
            return kiln__fail(err, KILN_ERR_RANGE, "%s: %g is not between 0 and 1", w->what,
                              w->q[k]);
    if (r->length == 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: a row has no elements", w->what);
    return KILN_OK;
}

/* The shape of the result: quantiles first, then rows. */
static int result_shape(const quantiles *w, const kiln__rows *r, int64_t *shape)
{
    int rank = 0;

    if (w->count >= 0)
        shape[rank++] = w->count;
    for (int k = 0; k < r->rank - 1; k++)
        shape[rank++] = r->shape[k];
    return rank;
}

static between quantile_of(const quantiles *w, const kiln__rows *r, int64_t k)
{
    return w->median ? (between){(r->length - 1) / 2, r->length / 2, 0.5}
                     : index_of_quantile(w->method, r->length, w->q[k]);
}

/* Rows in sorted order: all of each or, where that is faster, what the only quantile needs, from
 * element number *first_out on. The last element of each is NaN where the row holds one. */
static kiln_status sort_for(const quantiles *w, const kiln__rows *r, int64_t *first_out,
                            kiln_array **out, kiln_error *err)
{
    const between b = quantile_of(w, r, 0);
    const int64_t count = b.high - b.low + 1;
    kiln__sort s = {.ctx = r->ctx,
                    .stream = r->stream,
                    .dtype = r->x->dtype,
                    .rows = r->rows,
                    .length = r->length,
                    .keys = r->x->data};

    *first_out = 0;
    if (w->count > 1 || !kiln__choose_suits(&s, count))
        return first_of_rows(r, false, r->length, out, NULL, err);
    *first_out = b.low;
    KILN_CHECK(kiln__rows_new(r, s.dtype, count + 1, out, err));
    s.sorted = (*out)->data;
    return kiln__choose_rows(&s, b.low, count, true, err);
}

static kiln_status fill_quantiles(const quantiles *w, const kiln__rows *r, kiln_array *y,
                                  kiln_error *err)
{
    const int skip = w->count >= 0;
    int64_t first = 0;
    kiln_array *sorted = NULL, *to = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(sort_for(w, r, &first, &sorted, err));
    for (int64_t k = 0; k < (skip ? w->count : 1); k++) {
        between b = quantile_of(w, r, k);
        b.low -= first;
        b.high -= first;
        KILN_TRY(kiln__array_view(y, y->rank - skip, y->shape + skip, y->strides + skip,
                                  (char *)y->data + (skip ? k * y->strides[0] : 0), &to, err));
        KILN_TRY(pick_between(r, sorted, b, w->median ? PICK_MEAN : PICK_BETWEEN, to, err));
        kiln_array_release(to);
        to = NULL;
    }

done:
    kiln_array_release(to);
    kiln_array_release(sorted);
    return status;
}

static kiln_status find_quantiles(const quantiles *w, const kiln_array *array,
                                  const kiln_sort_options *opts, kiln_array **out, kiln_error *err)
{
    kiln_sort_options o;
    kiln__rows r = {.x = NULL};
    int64_t shape[KILN_RANK_MAX + 1];
    kiln_array *y = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_TRY(kiln__sort_options_read(&o, opts, err));
    KILN_TRY(kiln__device_check(kiln__context_device(array->ctx), err));
    KILN_TRY(kiln__rows_begin(&r, w->what, array, o.axes, o.stream, err));
    KILN_TRY(check(w, &r, err));
    const int rank = result_shape(w, &r, shape);
    const kiln_dtype dtype = kiln__quantile_dtype(array->dtype, w->method);
    if (*out != NULL) {
        KILN_TRY(kiln__sort_check_out(w->what, array->ctx, dtype, rank, shape, *out, err));
        y = kiln_array_retain(*out);
        kiln__sort_used(y, r.stream);
    } else {
        KILN_TRY(kiln__array_new(r.ctx, dtype, rank, shape, NULL, r.stream, &y, err));
    }
    if (y->size > 0)
        KILN_TRY(fill_quantiles(w, &r, y, err));
    if (*out == NULL) {
        *out = y;
        y = NULL;
    }

done:
    kiln_array_release(y);
    kiln__rows_end(&r);
    return status;
}

kiln_status kiln_array_median(const kiln_array *array, const kiln_sort_options *opts,
                              kiln_array **out, kiln_error *err)
{
    static const double half = 0.5;
    const quantiles w = {"median", &half, -1, KILN_QUANTILE_LINEAR, true};
    return find_quantiles(&w, array, opts, out, err);
}

kiln_status kiln_array_quantile(const kiln_array *array, const double *q, size_t count,
                                kiln_quantile_method method, const kiln_sort_options *opts,
                                kiln_array **out, kiln_error *err)
{
    const quantiles w = {"quantile", q, (int64_t)count, method, false};
    if (count > 0)
        KILN_CHECK_NULL(q, err);
    return find_quantiles(&w, array, opts, out, err);
}
