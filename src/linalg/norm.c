/*
 * norm.c - norms, condition numbers, ranks and traces (kiln/linalg.h), computed by reductions and
 * by the singular values of factor.c. Test: test_norms.
 */
#include <float.h>
#include <math.h>

#include "linalg/steps.h"

/* ---- norms ----------------------------------------------------------------------------------- */

/* Integers and bool count as float64, as in NumPy. */
static kiln_status to_inexact(kiln__steps *w, const kiln_array *x, kiln_error *err)
{
    const bool exact = strchr("biu", kiln_dtype_kind(x->dtype)) != NULL;
    return kiln__steps_cast(w, x, exact ? KILN_FLOAT64 : x->dtype, err);
}

/* The norm of a vector along one axis, or of all elements. */
static kiln_status vector_norm(kiln__steps *w, const kiln_array *x, double order,
                               const kiln_axes *axes, bool keepdims, kiln_error *err)
{
    const kiln_reduce_op ops[] = {KILN_REDUCE_NORM1, KILN_REDUCE_NORM2, KILN_REDUCE_NORMINF};

    if (order == 1 || order == 2 || order == INFINITY)
        return kiln__steps_reduce(w,
                                  ops[order == 1   ? 0
                                      : order == 2 ? 1
                                                   : 2],
                                  x, axes, keepdims, err);
    KILN_CHECK(kiln__steps_op(w, KILN_OP_ABSOLUTE, KILN_ARGS(x), err));
    const kiln_array *sizes = kiln__steps_last(w);
    if (order == -INFINITY)
        return kiln__steps_reduce(w, KILN_REDUCE_MIN, sizes, axes, keepdims, err);
    if (order == 0) {
        KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_COUNT_NONZERO, sizes, axes, keepdims, err));
        return kiln__steps_cast(w, kiln__steps_last(w), sizes->dtype, err);
    }
    KILN_CHECK(kiln__steps_op(w, KILN_OP_POWER, KILN_ARGS(sizes, order), err));
    KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_SUM, kiln__steps_last(w), axes, keepdims, err));
    return kiln__steps_op(w, KILN_OP_POWER, KILN_ARGS(kiln__steps_last(w), 1 / order), err);
}

/* The matrices' axes last, whatever they are. */
static kiln_status axes_last(kiln__steps *w, const kiln_array *x, const int axis[2],
                             kiln_error *err)
{
    kiln_axes order = {.count = 0};

    for (int k = 0; k < x->rank; k++)
        if (k != axis[0] && k != axis[1])
            order.axis[order.count++] = k;
    order.axis[order.count++] = axis[0];
    order.axis[order.count++] = axis[1];
    return kiln_array_transpose(x, &order, kiln__steps_new(w), err);
}

/* The norm of matrices in the last two axes. */
static kiln_status matrix_norm(kiln__steps *w, const kiln_array *x, kiln_norm kind, double order,
                               kiln_error *err)
{
    const double size = fabs(order);
    const kiln_reduce_op ends = order < 0 ? KILN_REDUCE_MIN : KILN_REDUCE_MAX;

    if (kind == KILN_NORM_DEFAULT || kind == KILN_NORM_FROBENIUS)
        return kiln__steps_reduce(w, KILN_REDUCE_NORM2, x, KILN_AXES(-2, -1), false, err);
    if (kind == KILN_NORM_NUCLEAR || size == 2) {
        KILN_CHECK(kiln_linalg_svdvals(x, &w->o, kiln__steps_new(w), err));
        return kiln__steps_reduce(w, kind == KILN_NORM_NUCLEAR ? KILN_REDUCE_SUM : ends,
                                  kiln__steps_last(w), KILN_AXES(-1), false, err);
    }
    if (size != 1 && size != INFINITY) /* of cond(); norm() has checked it */
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no norm of order %g of matrices",
                          w->function, order);
    KILN_CHECK(kiln__steps_reduce(w, KILN_REDUCE_NORM1, x,
                                  size == 1 ? KILN_AXES(-2) : KILN_AXES(-1), false, err));
    return kiln__steps_reduce(w, ends, kiln__steps_last(w), KILN_AXES(-1), false, err);
}

/* Axes of extent 1 in the places of those that are gone. */
static kiln_status put_back(kiln__steps *w, const int axis[2], kiln_error *err)
{
    const int low = axis[0] < axis[1] ? axis[0] : axis[1], high = axis[0] + axis[1] - low;
    KILN_CHECK(kiln_array_newaxis(kiln__steps_last(w), low, kiln__steps_new(w), err));
    return kiln_array_newaxis(kiln__steps_last(w), high, kiln__steps_new(w), err);
}

/* Which axes a norm is taken over: `*count` 0 for all elements, 1 for vectors, 2 for matrices. */
static kiln_status norm_axes(int rank, kiln_norm kind, double order, const kiln_axes *axes,
                             int axis[2], int *count, kiln_error *err)
{
    const double size = fabs(order);

    *count = axes != NULL ? axes->count : rank;
    if ((unsigned)kind > KILN_NORM_ORDER)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "norm: there is no norm %d", (int)kind);
    if (axes == NULL && kind == KILN_NORM_DEFAULT) {
        *count = 0;
        return KILN_OK;
    }
    if (*count != 1 && *count != 2)
        return kiln__fail(err, KILN_ERR_AXIS,
                          "norm: vectors have one axis, matrices two; %d are given", *count);
    for (int k = 0; k < *count; k++) {
        axis[k] = axes != NULL ? axes->axis[k] : k;
        axis[k] += axis[k] < 0 ? rank : 0;
        if (axis[k] < 0 || axis[k] >= rank)
            return kiln__fail(err, KILN_ERR_AXIS, "norm: axis %d is out of range for rank %d",
                              axes != NULL ? axes->axis[k] : k, rank);
    }
    if (*count == 1 && (kind == KILN_NORM_FROBENIUS || kind == KILN_NORM_NUCLEAR))
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "norm: a vector has no Frobenius and nuclear norm");
    if (*count == 2 && axis[0] == axis[1])
        return kiln__fail(err, KILN_ERR_AXIS, "norm: axis %d is named twice", axis[0]);
    if (*count == 2 && kind == KILN_NORM_ORDER && size != 1 && size != 2 && size != INFINITY)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "norm: there is no norm of order %g of matrices",
                          order);
    return KILN_OK;
}

static kiln_status norm(kiln__steps *w, const kiln_array *a, kiln_norm kind, double order,
                        const kiln_axes *axes, bool keepdims, kiln_error *err)
{
    int axis[2] = {0, 1}, count = 0;

    KILN_CHECK(to_inexact(w, a, err));
    const kiln_array *x = kiln__steps_last(w);
    KILN_CHECK(norm_axes(x->rank, kind, order, axes, axis, &count, err));
    if (count < 2)
        return vector_norm(w, x, kind == KILN_NORM_DEFAULT ? 2 : order,
                           count == 0 ? NULL : KILN_AXES(axis[0]), keepdims, err);
    KILN_CHECK(axes_last(w, x, axis, err));
    KILN_CHECK(matrix_norm(w, kiln__steps_last(w), kind, order, err));
    return keepdims ? put_back(w, axis, err) : KILN_OK;
}

/* The axes of a node's data: how many are no INT64_MIN; NULL for none. */
static const kiln_axes *axes_of(const int64_t *data, kiln_axes *axes)
{
    axes->count = 0;
    for (int k = 2; k < 4 && data[k] != INT64_MIN; k++)
        axes->axis[axes->count++] = (int)data[k];
    return axes->count > 0 ? axes : NULL;
}

static double order_of(const int64_t *data)
{
    double order;

    memcpy(&order, &data[1], sizeof order);
    return order;
}

static kiln_dtype real_dtype(kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64         ? KILN_FLOAT32
           : kiln_dtype_kind(dtype) == 'f' ? dtype
                                           : KILN_FLOAT64;
}

kiln_status kiln__norm_infer(bool cond, const kiln_array *x, const int64_t *data,
                             kiln__linalg_value *out, kiln_error *err)
{
    const kiln_norm kind = (kiln_norm)data[0];
    const bool keepdims = data[4] != 0;
    int axis[2] = {x->rank - 2, x->rank - 1}, count = 2;
    kiln_axes axes;

    if (cond && x->rank < 2)
        return kiln__fail(err, KILN_ERR_SHAPE, "cond takes matrices, not an array of %d axes",
                          x->rank);
    if (!cond)
        KILN_CHECK(
            norm_axes(x->rank, kind, order_of(data), axes_of(data, &axes), axis, &count, err));
    out->dtype = real_dtype(x->dtype);
    out->rank = 0;
    for (int a = 0; a < x->rank; a++) {
        const bool gone =
            count == 0 || a == axis[0] || (count == 2 && a == axis[1]); /* all, or named */
        if (!gone || keepdims)
            out->shape[out->rank++] = gone ? 1 : x->shape[a];
    }
    return KILN_OK;
}

kiln_status kiln__norm_run(bool cond, const kiln_array *x, const int64_t *data, kiln_stream *stream,
                           kiln_array **out, kiln_error *err)
{
    kiln_linalg_options o = KILN_LINALG_OPTIONS_INIT;
    kiln_axes axes;

    o.stream = stream;
    if (cond)
        return kiln_linalg_cond(x, (kiln_norm)data[0], order_of(data), &o, out, err);
    return kiln_linalg_norm(x, (kiln_norm)data[0], order_of(data), axes_of(data, &axes),
                            data[4] != 0, &o, out, err);
}

kiln_status kiln_linalg_norm(const kiln_array *a, kiln_norm kind, double order,
                             const kiln_axes *axes, bool keepdims, const kiln_linalg_options *opts,
                             kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "norm", a, false, NULL, out, opts, err));
    const kiln_status status = norm(&w, a, kind, order, axes, keepdims, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

/* ---- what norms and singular values tell ----------------------------------------------------- */

static kiln_status need_matrices(const kiln__steps *w, const kiln_array *a, bool square,
                                 kiln_error *err)
{
    char text[160];

    if (a->rank >= 2 && (!square || a->shape[a->rank - 1] == a->shape[a->rank - 2]))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_SHAPE, "%s takes %s, not an array of shape %s", w->function,
                      square ? "square matrices" : "matrices",
                      kiln__shape_text(a->rank, a->shape, text, sizeof text));
}

static kiln_status cond(kiln__steps *w, const kiln_array *a, kiln_norm kind, double order,
                        kiln_error *err)
{
    const bool by_values =
        kind == KILN_NORM_DEFAULT || (kind == KILN_NORM_ORDER && fabs(order) == 2);
    kiln_array *first = NULL, *last = NULL;
    KILN_CHECK(need_matrices(w, a, !by_values, err));
    KILN_CHECK(to_inexact(w, a, err));
    const kiln_array *x = kiln__steps_last(w);
    if (by_values) {
        KILN_CHECK(kiln_linalg_svdvals(x, &w->o, kiln__steps_new(w), err));
        const kiln_array *s = kiln__steps_last(w);
        if (s->shape[s->rank - 1] == 0)
            return kiln__fail(err, KILN_ERR_SHAPE, "cond: an empty matrix has no condition number");
        KILN_CHECK(kiln_array_select(s, -1, 0, kiln__steps_new(w), err));
        first = kiln__steps_last(w);
        KILN_CHECK(kiln_array_select(s, -1, -1, kiln__steps_new(w), err));
        last = kiln__steps_last(w);
        return order == -2 && kind == KILN_NORM_ORDER
                   ? kiln__steps_op(w, KILN_OP_DIVIDE, KILN_ARGS(last, first), err)
                   : kiln__steps_op(w, KILN_OP_DIVIDE, KILN_ARGS(first, last), err);
    }
    kiln_linalg_options lenient = w->o;
    lenient.nan_on_failure = true; /* singular: NaN becomes infinity below */
    KILN_CHECK(kiln_linalg_inv(x, &lenient, kiln__steps_new(w), err));
    const kiln_array *inverse = kiln__steps_last(w);
    KILN_CHECK(matrix_norm(w, x, kind, order, err));
    first = kiln__steps_last(w);
    KILN_CHECK(matrix_norm(w, inverse, kind, order, err));
    KILN_CHECK(kiln__steps_op(w, KILN_OP_MULTIPLY, KILN_ARGS(first, kiln__steps_last(w)), err));
    last = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_op(w, KILN_OP_ISNAN, KILN_ARGS(first), err));
    const kiln_array *was_nan = kiln__steps_last(w);
    KILN_CHECK(kiln__steps_op(w, KILN_OP_ISNAN, KILN_ARGS(last), err));
    KILN_CHECK(kiln__steps_op(w, KILN_OP_GREATER, KILN_ARGS(kiln__steps_last(w), was_nan), err));
    return kiln__steps_op(w, KILN_OP_WHERE, KILN_ARGS(kiln__steps_last(w), (double)INFINITY, last),
                          err);
}

kiln_status kiln_linalg_cond(const kiln_array *a, kiln_norm kind, double order,
                             const kiln_linalg_options *opts, kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "cond", a, false, NULL, out, opts, err));
    const kiln_status status = cond(&w, a, kind, order, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

static kiln_status matrix_rank(kiln__steps *w, const kiln_array *a, double rtol, kiln_error *err)
{
    KILN_CHECK(need_matrices(w, a, false, err));
    KILN_CHECK(kiln_linalg_svdvals(a, &w->o, kiln__steps_new(w), err));
    const kiln_array *s = kiln__steps_last(w);
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    const double epsilon = s->dtype == KILN_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON;
    const double fraction = rtol >= 0 ? rtol : epsilon * (double)(m > n ? m : n);
    if (s->shape[s->rank - 1] == 0) {
        KILN_CHECK(kiln__steps_op(w, KILN_OP_GREATER, KILN_ARGS(s, 0), err));
    } else {
        KILN_CHECK(kiln_array_slice(s, -1, 0, 1, 1, kiln__steps_new(w), err));
        KILN_CHECK(
            kiln__steps_op(w, KILN_OP_MULTIPLY, KILN_ARGS(kiln__steps_last(w), fraction), err));
        KILN_CHECK(kiln__steps_op(w, KILN_OP_GREATER, KILN_ARGS(s, kiln__steps_last(w)), err));
    }
    return kiln__steps_reduce(w, KILN_REDUCE_COUNT_NONZERO, kiln__steps_last(w), KILN_AXES(-1),
                              false, err);
}

kiln_status kiln_linalg_matrix_rank(const kiln_array *a, double rtol,
                                    const kiln_linalg_options *opts, kiln_array **out,
                                    kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "matrix_rank", a, false, NULL, out, opts, err));
    const kiln_status status = matrix_rank(&w, a, rtol, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}

static kiln_status trace(kiln__steps *w, const kiln_array *a, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    KILN_CHECK(need_matrices(w, a, false, err));
    const int stack = a->rank - 2;

    memcpy(shape, a->shape, (size_t)a->rank * sizeof shape[0]);
    memcpy(strides, a->strides, (size_t)a->rank * sizeof strides[0]);
    shape[stack] = shape[stack] < shape[stack + 1] ? shape[stack] : shape[stack + 1];
    strides[stack] += strides[stack + 1];
    KILN_CHECK(kiln__array_view(a, stack + 1, shape, strides, a->data, kiln__steps_new(w), err));
    return kiln__steps_reduce(w, KILN_REDUCE_SUM, kiln__steps_last(w), KILN_AXES(-1), false, err);
}

kiln_status kiln_linalg_trace(const kiln_array *a, const kiln_linalg_options *opts,
                              kiln_array **out, kiln_error *err)
{
    kiln__steps w;
    KILN_CHECK(kiln__steps_begin(&w, "trace", a, false, NULL, out, opts, err));
    const kiln_status status = trace(&w, a, err);
    return kiln__steps_end(&w, status, status == KILN_OK ? kiln__steps_last(&w) : NULL, out, err);
}
