/*
 * unique_rows.c - where the distinct elements of an array, or its distinct parts along an axis,
 * stand: as a step of graphs, for which nobody waits.
 *
 *     array > [rows of a matrix] > their stable order
 *           > [a filter] > rows that differ from the one before: their number, and, with room for
 *                          all, where each stands first and where it begins in the order
 *           > [a search in these] > for each row the number of its equal
 *
 * Elements are rows of one. As in NumPy, all NaN of these count as one element; parts with a NaN
 * equal no other.
 *
 * Test: test_unique.
 */
#include "indexing/indexing.h"
#include "sorting/sorting.h"

static const kiln__kept_texts distinct_texts = {
    .calls = &kiln__filter_calls,
    .request =
        {
            .name = "kiln_unique_rows",
            .in = "raw T x, raw int64 order, int64 width, bool parts, int64 at",
            .out = "int64 first, int64 place, int64 count",
            .snippet = {[KILN__SNIPPET_WHERE] =
                            "i == 0 || [&]() -> bool {\n"
                            "    const long long before = order[i - 1];\n"
                            "    for (long long k = 0; k < width; k++) {\n"
                            "        const auto p = x[at * width + k], q = x[before * width + k];\n"
                            "        if (!(p == q) && (parts || p == p || q == q))\n"
                            "            return true;\n"
                            "    }\n"
                            "    return false;\n"
                            "}()",
                        [KILN__SNIPPET_OP] = "first = at; place = i"},
        },
};

kiln_status kiln__unique_infer(const kiln_array *x, const int64_t *data, int *axis_out,
                               int64_t *count_out, kiln_error *err)
{
    const int64_t axis = data[0] < 0 ? data[0] + x->rank : data[0];

    *axis_out = -1;
    *count_out = x->size;
    if (data[0] == KILN__UNIQUE_ALL)
        return KILN_OK;
    if (axis < 0 || axis >= x->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "unique: axis %lld is out of range for rank %d",
                          (long long)data[0], x->rank);
    *axis_out = (int)axis;
    *count_out = x->shape[axis];
    return KILN_OK;
}

/* The parts along an axis (-1: the elements) as rows of a matrix without gaps: a new array. */
static kiln_status make_rows(const kiln_array *x, int axis, int64_t count, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    kiln_axes order = {0};
    kiln_array *turned = NULL, *dense = NULL;
    int64_t shape[2] = {count, 1};
    kiln_status status = KILN_OK;

    for (int a = 0; a < x->rank; a++)
        order.axis[order.count++] = a == 0 && axis >= 0 ? axis : a <= axis ? a - 1 : a;
    for (int a = 0; axis >= 0 && a < x->rank; a++)
        shape[1] *= a == axis ? 1 : x->shape[a];
    KILN_TRY(kiln_array_transpose(x, axis >= 0 ? &order : NULL, &turned, err));
    if (axis < 0) { /* as they lie: transpose() of no axes turns them all */
        kiln_array_release(turned);
        turned = kiln_array_retain((kiln_array *)x);
    }
    KILN_TRY(kiln__array_copy_on(turned, stream, &dense, err));
    KILN_TRY(kiln_array_reshape(dense, 2, shape, out, err));

done:
    kiln_array_release(turned);
    kiln_array_release(dense);
    return status;
}

static kiln_status find_order(const kiln_array *rows, kiln_stream *stream, kiln_array **order,
                              kiln_error *err)
{
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    o.stream = stream;
    return rows->shape[1] == 1 ? kiln_array_argsort(rows, &o, order, err)
                               : kiln__sort_matrix(rows, stream, order, err);
}

kiln_status kiln__unique_into(const kiln_array *x, const int64_t *data, kiln_stream *stream,
                              kiln_array **outs, kiln_error *err)
{
    kiln_array *rows = NULL, *order = NULL, *place = NULL;
    kiln_array *count = outs[KILN__UNIQUE_COUNT];
    int axis = -1;
    int64_t n = 0;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__unique_infer(x, data, &axis, &n, err));
    KILN_TRY(make_rows(x, axis, n, stream, &rows, err));
    KILN_TRY(find_order(rows, stream, &order, err));
    const kiln_arg found[] = {
        kiln_arg_array(rows),     kiln_arg_array(order), kiln_arg_int(rows->shape[1]),
        kiln_arg_bool(axis >= 0), kiln_arg_array(order), kiln_arg_array(outs[KILN__UNIQUE_FIRST]),
        kiln_arg_out(&place),     kiln_arg_array(count)};
    KILN_TRY(kiln__kept_run(x->ctx, &distinct_texts, found, KILN_COUNT_OF(found), stream, err));
    const kiln_arg counted[] = {kiln_arg_array(place), kiln_arg_array(place), kiln_arg_array(count),
                                kiln_arg_int(n), kiln_arg_array(outs[KILN__UNIQUE_COUNTS])};
    if (n > 0 && (data[1] & KILN__UNIQUE_WANTS_COUNTS) != 0)
        KILN_TRY(kiln__kept_run(x->ctx, &kiln__unique_counts, counted, KILN_COUNT_OF(counted),
                                stream, err));
    const kiln_arg numbered[] = {kiln_arg_array(place), kiln_arg_array(count),
                                 kiln_arg_array(order), kiln_arg_array(outs[KILN__UNIQUE_INVERSE])};
    if (n > 0 && (data[1] & KILN__UNIQUE_WANTS_INVERSE) != 0)
        KILN_TRY(kiln__kept_run(x->ctx, &kiln__unique_inverse, numbered, KILN_COUNT_OF(numbered),
                                stream, err));

done:
    kiln_array_release(rows);
    kiln_array_release(order);
    kiln_array_release(place);
    return status;
}
