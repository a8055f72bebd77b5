/*
 * rows.c - arrays as rows along one axis, and results along that axis.
 *
 *     x > [the axis last, C-order] > rows > results > [the axis where it was] > out
 *
 * The functions of sort.c, select.c and rule.c begin and end here.
 *
 * Tests: test_sort, test_select.
 */
#include "sorting/sorting.h"

/* The order of axes that moves `axis` to the end, or (back) from the end to where it was. */
static kiln_axes moved(int rank, int axis, bool back)
{
    kiln_axes order = {.count = rank};

    for (int k = 0; k < rank; k++) {
        const int from = k < axis ? k : k < rank - 1 ? k + 1 : axis;
        if (back)
            order.axis[from] = k;
        else
            order.axis[k] = from;
    }
    return order;
}

/* All elements of C-order as one row. */
static kiln_status flatten(const kiln_array *x, kiln_stream *stream, kiln_array **out,
                           kiln_error *err)
{
    kiln_array *whole = NULL;
    kiln_status status = KILN_OK;

    if (x->contiguous)
        whole = kiln_array_retain((kiln_array *)x);
    else
        KILN_TRY(kiln__array_copy_as(x, x->dtype, NULL, stream, &whole, err));
    KILN_TRY(kiln_array_reshape(whole, 1, &x->size, out, err));

done:
    kiln_array_release(whole);
    return status;
}

static kiln_status find_axis(kiln__rows *r, const char *what, const kiln_array *x,
                             const kiln_axes *axes, kiln_error *err)
{
    if (axes == NULL)
        return KILN_OK;
    if (axes->count != 1)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: one axis or none is to be named, not %d", what,
                          axes->count);
    r->axis = axes->axis[0] < 0 ? axes->axis[0] + x->rank : axes->axis[0];
    if (r->axis < 0 || r->axis >= x->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is out of range for rank %d", what,
                          axes->axis[0], x->rank);
    return KILN_OK;
}

kiln_status kiln__rows_begin(kiln__rows *r, const char *what, const kiln_array *x,
                             const kiln_axes *axes, kiln_stream *stream, kiln_error *err)
{
    kiln_array *view = NULL;
    kiln_status status = KILN_OK;

    memset(r, 0, sizeof *r);
    KILN_TRY(find_axis(r, what, x, axes, err));
    r->ctx = x->ctx;
    r->rank = axes != NULL ? x->rank : 1;
    KILN_TRY(kiln__context_stream(x->ctx, stream, &r->stream, err));
    const kiln_axes order = moved(x->rank, r->axis, false);
    KILN_TRY(axes == NULL ? flatten(x, r->stream, &view, err)
                          : kiln_array_transpose(x, &order, &view, err));
    memcpy(r->shape, view->shape, (size_t)r->rank * sizeof r->shape[0]);
    r->length = r->shape[r->rank - 1];
    r->rows = r->length > 0 ? x->size / r->length : 0;
    if (view->contiguous) {
        r->x = view;
        view = NULL;
    } else {
        KILN_TRY(kiln__array_copy_as(view, x->dtype, NULL, r->stream, &r->x, err));
    }
    kiln__sort_used(r->x, r->stream);

done:
    kiln_array_release(view);
    return status;
}

void kiln__rows_end(kiln__rows *r)
{
    kiln_array_release(r->x);
    r->x = NULL;
}

kiln_status kiln__rows_new(const kiln__rows *r, kiln_dtype dtype, int64_t length, kiln_array **out,
                           kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];

    memcpy(shape, r->shape, (size_t)r->rank * sizeof shape[0]);
    shape[r->rank - 1] = length;
    return kiln__array_new(r->ctx, dtype, r->rank, shape, NULL, r->stream, out, err);
}

kiln_status kiln__rows_deliver(const kiln__rows *r, kiln_array **made, kiln_array **out,
                               kiln_error *err)
{
    const kiln_axes order = moved(r->rank, r->axis, true);
    kiln_array *view = NULL;
    kiln_status status = KILN_OK;

    if (*out == NULL && r->axis == r->rank - 1) {
        *out = *made;
        *made = NULL;
        return KILN_OK;
    }
    KILN_TRY(kiln_array_transpose(*made, &order, &view, err));
    if (*out != NULL) {
        KILN_TRY(kiln__array_assign_on(*out, view, r->stream, err));
        kiln__sort_used(*out, r->stream);
    } else {
        KILN_TRY(kiln__array_copy_as(view, view->dtype, NULL, r->stream, out, err));
    }

done:
    kiln_array_release(view);
    return status;
}

kiln_status kiln__sort_check_out(const char *what, const kiln_context *ctx, kiln_dtype dtype,
                                 int rank, const int64_t *shape, const kiln_array *out,
                                 kiln_error *err)
{
    char text[160];

    KILN_CHECK(kiln__array_check(out, ctx, "out", err));
    if (kiln__array_unwritable(out) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s: the output %s", what,
                          kiln__array_unwritable(out));
    if (out->dtype != dtype)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: the result is %s, and the output %s", what,
                          kiln_dtype_name(dtype), kiln_dtype_name(out->dtype));
    if (out->rank != rank || memcmp(out->shape, shape, (size_t)rank * sizeof *shape) != 0)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s: the output has the shape %s", what,
                          kiln__shape_text(out->rank, out->shape, text, sizeof text));
    return KILN_OK;
}

kiln_status kiln__rows_check_out(const kiln__rows *r, const char *what, kiln_dtype dtype,
                                 int64_t length, const kiln_array *out, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];

    if (out == NULL)
        return KILN_OK;
    for (int k = 0; k < r->rank; k++)
        shape[k] = k == r->axis ? length : r->shape[k < r->axis ? k : k - 1];
    return kiln__sort_check_out(what, r->ctx, dtype, r->rank, shape, out, err);
}
