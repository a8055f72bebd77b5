/*
 * masks.c - compress, nonzero, argwhere, partition_copy and place (kiln/select.h).
 *
 *     mask, array > [a filter of kiln's own] > values with room for all, and their number
 *                                            > once the number is known: a view of the first ones
 *                                            > the same of all other elements, in the same pass
 *
 * The filters are ordinary definitions that the context keeps. place() is a scan over the mask,
 * whose running value tells each element which of the values it gets. src/graph and unique.c call
 * this file.
 *
 * Tests: test_filter, test_partition_copy.
 */
#include <stdio.h>

#include "indexing/indexing.h"

/* What a filter of this file keeps, and gives of it: filters of places are made for each rank. */
typedef enum given { MASKED, PLACES_FLAT, PLACES } given;

typedef struct wanted {
    given what;
    bool complex;
    int rank; /* PLACES: outputs */
} wanted;

static kiln_status define(kiln_context *ctx, const void *user, kiln__kernel **out, kiln_error *err)
{
    const wanted *w = user;
    kiln__buf outputs = KILN__BUF_INIT, op = KILN__BUF_INIT;
    kiln_status status;
    static const char *const names[] = {
        [MASKED] = "kiln_compress", [PLACES_FLAT] = "kiln_flatnonzero", [PLACES] = "kiln_nonzero"};

    for (int a = 0; w->what == PLACES && a < w->rank; a++) {
        kiln__buf_printf(&outputs, "int64 j%d, ", a);
        kiln__buf_printf(&op, "j%d = _ind.get()[%d];", a, a);
    }
    kiln__buf_puts(&outputs, w->what == MASKED        ? "T y, "
                             : w->what == PLACES_FLAT ? "int64 j, "
                                                      : "");
    kiln__buf_puts(&outputs, "int64 count");
    kiln__buf_puts(&op, w->what == MASKED ? "y = x" : w->what == PLACES_FLAT ? "j = i" : "");
    const kiln__definition_request request = {
        .name = names[w->what],
        .in = w->what == MASKED ? "T x, bool mask" : "T x",
        .out = outputs.text,
        .snippet = {[KILN__SNIPPET_WHERE] = w->what == MASKED ? "mask"
                                            : w->complex      ? "x.real() != 0 || x.imag() != 0"
                                                              : "x != T(0)",
                    [KILN__SNIPPET_OP] = op.text},
    };
    status = outputs.failed || op.failed
                 ? kiln__fail_memory(err, 256)
                 : kiln__kernel_new(ctx, false, &kiln__filter_calls, &request, out, err);
    kiln__buf_clear(&outputs);
    kiln__buf_clear(&op);
    return status;
}

static kiln_status run(kiln_context *ctx, const wanted *w, const kiln_arg *args, size_t arg_count,
                       kiln_stream *stream, kiln_error *err)
{
    const uint64_t key = (uint64_t)w->what << 16 | (uint64_t)w->complex << 8 | (uint64_t)w->rank;
    kiln__kernel *op = NULL;

    KILN_CHECK(kiln__kept_kernel(ctx, define, w, key, &op, err));
    const kiln__call call = {
        .args = args,
        .arg_count = arg_count,
        .stream = stream != NULL ? stream : kiln__device_stream(kiln__context_device(ctx))};
    return kiln__kernel_run(op, &call, err);
}

/* ---- numbers that the device knows ---- */

static kiln_status read_count(const kiln_array *values, const kiln_array *count, int64_t *out,
                              kiln_error *err)
{
    char shape[160];

    KILN_CHECK(kiln__array_check(values, NULL, "values", err));
    KILN_CHECK(kiln__array_check(count, values->ctx, "count", err));
    if (count->dtype != KILN_INT64 || count->size != 1)
        return kiln__fail(err, KILN_ERR_DTYPE, "a count is one int64, not %s of shape %s",
                          kiln_dtype_name(count->dtype),
                          kiln__shape_text(count->rank, count->shape, shape, sizeof shape));
    if (values->rank == 0)
        return kiln__fail(err, KILN_ERR_AXIS, "values without axes have no first ones");
    KILN_CHECK(kiln_array_to_host(count, out, sizeof *out, NULL, err));
    if (*out < 0 || *out > values->shape[0])
        return kiln__fail(err, KILN_ERR_RANGE,
                          "the count is %lld, and there are %lld values along the first axis",
                          (long long)*out, (long long)values->shape[0]);
    return KILN_OK;
}

kiln_status kiln_array_first(const kiln_array *values, const kiln_array *count, kiln_array **out,
                             kiln_error *err)
{
    int64_t number = 0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(read_count(values, count, &number, err));
    return kiln_array_slice(values, 0, 0, number, 1, out, err);
}

/* Hand over what a filter made: with its count, or (`count_out` NULL) cut to it. All of `made`, and
 * `count`, are taken over. */
static kiln_status deliver(kiln_status status, kiln_array **made, size_t made_count,
                           kiln_array *count, kiln_array **outs, kiln_array **count_out,
                           kiln_error *err)
{
    int64_t number = 0;

    if (status == KILN_OK && count_out == NULL)
        status = read_count(made[0], count, &number, err);
    for (size_t k = 0; k < made_count && status == KILN_OK && count_out == NULL; k++) {
        kiln_array *view = NULL;
        status = kiln_array_slice(made[k], 0, 0, number, 1, &view, err);
        kiln_array_release(made[k]);
        made[k] = view;
    }
    for (size_t k = 0; k < made_count; k++) {
        if (status == KILN_OK)
            outs[k] = made[k];
        else
            kiln_array_release(made[k]);
    }
    if (status == KILN_OK && count_out != NULL)
        *count_out = count;
    else
        kiln_array_release(count);
    return status;
}

static kiln_status begin(kiln_array **outs, size_t out_count, kiln_array **count, kiln_error *err)
{
    if (count != NULL)
        *count = NULL;
    KILN_CHECK_NULL(outs, err);
    for (size_t k = 0; k < out_count; k++)
        outs[k] = NULL;
    return KILN_OK;
}

/* ---- masks ---- */

/* Whether a mask is one of the first axes of `array`. */
static kiln_status check_mask_shape(const kiln_array *array, const kiln_array *mask,
                                    kiln_error *err)
{
    if (mask->dtype != KILN_BOOL)
        return kiln__fail(err, KILN_ERR_DTYPE, "a mask is of bool, not of %s",
                          kiln_dtype_name(mask->dtype));
    if (mask->rank > array->rank)
        return kiln__fail(err, KILN_ERR_SHAPE, "the mask has %d axes, the array has %d", mask->rank,
                          array->rank);
    for (int a = 0; a < mask->rank; a++)
        if (mask->shape[a] != array->shape[a])
            return kiln__fail(
                err, KILN_ERR_SHAPE,
                "the mask does not fit the array along axis %d: %lld elements, and the "
                "array has %lld",
                a, (long long)mask->shape[a], (long long)array->shape[a]);
    return KILN_OK;
}

static kiln_status check_mask(const kiln_array *array, const kiln_array *mask, kiln_error *err)
{
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__array_check(mask, array->ctx, "mask", err));
    return check_mask_shape(array, mask, err);
}

/* Rows of a matrix by their numbers, of which the first `count` are known. */
static const kiln__kept_texts rows_texts = {
    .calls = &kiln__loop_calls,
    .request =
        {
            .name = "kiln_compress_rows",
            .in = "int64 row, int64 count, int64 width, raw T x",
            .out = "T y",
            .snippet = {[KILN__SNIPPET_OP] =
                            "if (i < count * width) y = x[row * width + i % width]"},
        },
};

/* Into an array without gaps. */
static kiln_status copy_rows_dense(const kiln_array *array, const kiln_array *places,
                             const kiln_array *count, kiln_stream *stream, const kiln_array *y,
                             kiln_error *err)
{
    const int64_t rows = places->shape[0];
    kiln_array *flat = NULL, *column = NULL;
    kiln_status status = KILN_OK;

    if (y->size == 0)
        return KILN_OK;
    const int64_t matrix[] = {rows, y->size / rows};
    KILN_TRY(kiln_array_reshape(y, 2, matrix, &flat, err));
    KILN_TRY(kiln_array_newaxis(places, 1, &column, err));
    const kiln_arg args[] = {kiln_arg_array(column), kiln_arg_array(count), kiln_arg_int(matrix[1]),
                             kiln_arg_array(array), kiln_arg_array(flat)};
    KILN_TRY(kiln__kept_run(array->ctx, &rows_texts, args, KILN_COUNT_OF(args), stream, err));

done:
    kiln_array_release(flat);
    kiln_array_release(column);
    return status;
}

/* Into an array of any strides. */
static kiln_status copy_rows(const kiln_array *array, const kiln_array *places,
                             const kiln_array *count, kiln_stream *stream, kiln_array *y,
                             kiln_error *err)
{
    kiln_array *dense = NULL;
    kiln_status status = KILN_OK;

    if (kiln_array_is_contiguous(y))
        return copy_rows_dense(array, places, count, stream, y, err);
    KILN_TRY(kiln_array_empty(array->ctx, array->dtype, y->rank, y->shape, &dense, err));
    KILN_TRY(copy_rows_dense(array, places, count, stream, dense, err));
    KILN_TRY(kiln__array_assign_on(y, dense, stream, err));

done:
    kiln_array_release(dense);
    return status;
}

/* The shape of as many parts of an array as the mask of its first axes has elements. */
static int rows_shape(const kiln_array *array, const kiln_array *mask, int64_t count,
                      int64_t *shape)
{
    shape[0] = count;
    for (int a = mask->rank; a < array->rank; a++)
        shape[1 + a - mask->rank] = array->shape[a];
    return 1 + array->rank - mask->rank;
}

/* A mask without axes gives a result with one axis more. */
static kiln_status check_rows_rank(const kiln_array *array, const kiln_array *mask, kiln_error *err)
{
    return mask->rank == 0 && array->rank == KILN_RANK_MAX
               ? kiln__fail(err, KILN_ERR_ARGUMENT,
                            "the result would have %d axes; %d are allowed", KILN_RANK_MAX + 1,
                            KILN_RANK_MAX)
               : KILN_OK;
}

/* A mask of the first axes: what is behind them is copied as a whole. */
static kiln_status compress_rows(const kiln_array *array, const kiln_array *mask, kiln_array **out,
                                 kiln_array **count_out, kiln_error *err)
{
    kiln_array *places = NULL, *first = NULL, *count = NULL, *y = NULL;
    int64_t shape[KILN_RANK_MAX + 1];
    kiln_status status = KILN_OK;

    KILN_CHECK(check_rows_rank(array, mask, err));
    KILN_TRY(kiln_array_flatnonzero(mask, &places, &count, err));
    if (count_out == NULL)
        KILN_TRY(kiln_array_first(places, count, &first, err));
    const kiln_array *chosen = first != NULL ? first : places;
    const int rank = rows_shape(array, mask, chosen->shape[0], shape);
    KILN_TRY(kiln_array_empty(array->ctx, array->dtype, rank, shape, &y, err));
    KILN_TRY(copy_rows(array, chosen, count, NULL, y, err));
    *out = y;
    y = NULL;
    if (count_out != NULL) {
        *count_out = count;
        count = NULL;
    }

done:
    kiln_array_release(y);
    kiln_array_release(places);
    kiln_array_release(first);
    kiln_array_release(count);
    return status;
}

kiln_status kiln_array_compress(const kiln_array *array, const kiln_array *mask, kiln_array **out,
                                kiln_array **count, kiln_error *err)
{
    kiln_array *made[] = {NULL}, *number = NULL;
    const wanted w = {.what = MASKED};

    KILN_CHECK(begin(out, 1, count, err));
    KILN_CHECK(check_mask(array, mask, err));
    if (mask->rank != array->rank)
        return kiln__fail_as("compress_rows", compress_rows(array, mask, out, count, err), err);
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_array(mask), kiln_arg_out(&made[0]),
                             kiln_arg_out(&number)};
    const kiln_status status =
        kiln__fail_as("compress", run(array->ctx, &w, args, KILN_COUNT_OF(args), NULL, err), err);
    return deliver(status, made, 1, number, out, count, err);
}

/* ---- what a mask chooses, and all other elements ---- */

/* Elements, or the places of parts, of both kinds. */
static const kiln__kept_texts both_texts = {
    .calls = &kiln__filter_calls,
    .request = {.name = "kiln_partition_copy",
                .in = "T x, bool mask",
                .out = "T y, T z, int64 count, int64 others",
                .snippet = {[KILN__SNIPPET_WHERE] = "mask",
                            [KILN__SNIPPET_OP] = "y = x",
                            [KILN__SNIPPET_OTHERWISE] = "z = x"}},
};
static const kiln__kept_texts both_places = {
    .calls = &kiln__filter_calls,
    .request = {.name = "kiln_partition_places",
                .in = "bool mask",
                .out = "int64 j, int64 k, int64 count, int64 others",
                .snippet = {[KILN__SNIPPET_WHERE] = "mask",
                            [KILN__SNIPPET_OP] = "j = i",
                            [KILN__SNIPPET_OTHERWISE] = "k = i"}},
};

/* What is chosen and what is not, and how many these are. */
typedef struct sides {
    kiln_array *values[2], *number[2];
} sides;

static void release_sides(sides *s)
{
    for (int k = 0; k < 2; k++) {
        kiln_array_release(s->values[k]);
        kiln_array_release(s->number[k]);
    }
}

/* Both numbers, once the device knows them. */
static kiln_status read_sides(const sides *s, int64_t all, int64_t *number, kiln_error *err)
{
    KILN_CHECK(read_count(s->values[0], s->number[0], &number[0], err));
    number[1] = all - number[0];
    return KILN_OK;
}

/* Cut values to their numbers. */
static kiln_status cut_sides(sides *s, const int64_t *number, kiln_error *err)
{
    for (int k = 0; k < 2; k++) {
        kiln_array *view = NULL;
        KILN_CHECK(kiln_array_slice(s->values[k], 0, 0, number[k], 1, &view, err));
        kiln_array_release(s->values[k]);
        s->values[k] = view;
    }
    return KILN_OK;
}

/* The parts where a mask of the first axes is true, and the others; into values[] where they are
 * given, else into new arrays, which have the exact lengths where the call waits. */
static kiln_status divide_rows(const kiln_array *array, const kiln_array *mask, bool wait,
                               kiln_stream *stream, sides *s, kiln_error *err)
{
    sides places = {.number = {s->number[0], s->number[1]}};
    int64_t shape[KILN_RANK_MAX + 1], number[2];
    kiln_status status = KILN_OK;

    const kiln_arg args[] = {kiln_arg_array(mask), kiln_arg_out(&places.values[0]),
                             kiln_arg_out(&places.values[1]), kiln_arg_out(&places.number[0]),
                             kiln_arg_out(&places.number[1])};
    KILN_TRY(kiln__kept_run(array->ctx, &both_places, args, KILN_COUNT_OF(args), stream, err));
    if (wait) {
        KILN_TRY(read_sides(&places, mask->size, number, err));
        KILN_TRY(cut_sides(&places, number, err));
    }
    for (int k = 0; k < 2; k++) {
        const int rank = rows_shape(array, mask, places.values[k]->shape[0], shape);
        if (s->values[k] == NULL)
            KILN_TRY(kiln_array_empty(array->ctx, array->dtype, rank, shape, &s->values[k], err));
        KILN_TRY(copy_rows(array, places.values[k], places.number[k], stream, s->values[k], err));
    }

done:
    for (int k = 0; k < 2; k++) {
        s->number[k] = places.number[k];
        kiln_array_release(places.values[k]);
    }
    return status;
}

/* Arrays of `s` that are there are given ones. */
static kiln_status divide(const kiln_array *array, const kiln_array *mask, bool wait,
                          kiln_stream *stream, sides *s, kiln_error *err)
{
    int64_t number[2];

    if (mask->rank != array->rank)
        return divide_rows(array, mask, wait, stream, s, err);
    const kiln_arg args[] = {kiln_arg_array(array),        kiln_arg_array(mask),
                             kiln_arg_out(&s->values[0]),  kiln_arg_out(&s->values[1]),
                             kiln_arg_out(&s->number[0]), kiln_arg_out(&s->number[1])};
    KILN_CHECK(kiln__kept_run(array->ctx, &both_texts, args, KILN_COUNT_OF(args), stream, err));
    if (!wait)
        return KILN_OK;
    KILN_CHECK(read_sides(s, array->size, number, err));
    return cut_sides(s, number, err);
}

kiln_status kiln_array_partition_copy(const kiln_array *array, const kiln_array *mask,
                                      kiln_array **out, kiln_array **others, kiln_array **count,
                                      kiln_array **other_count, kiln_error *err)
{
    kiln_array **const results[] = {out, others, count, other_count};
    const bool wait = count == NULL && other_count == NULL;
    sides s = {.values = {NULL}};

    for (size_t k = 0; k < KILN_COUNT_OF(results); k++)
        if (results[k] != NULL)
            *results[k] = NULL;
    KILN_CHECK_NULL(out, err);
    KILN_CHECK_NULL(others, err);
    if (!wait)
        KILN_CHECK_NULL(count, err);
    if (!wait)
        KILN_CHECK_NULL(other_count, err);
    KILN_CHECK(check_mask(array, mask, err));
    KILN_CHECK(check_rows_rank(array, mask, err));
    const kiln_status status =
        kiln__fail_as("partition_copy", divide(array, mask, wait, NULL, &s, err), err);
    for (size_t k = 0; k < (wait ? 2 : 4) && status == KILN_OK; k++) {
        kiln_array **const made = k < 2 ? &s.values[k] : &s.number[k - 2];
        *results[k] = *made;
        *made = NULL;
    }
    release_sides(&s);
    return status;
}

/* ---- places of what is not zero ---- */

static wanted places_of(given what, const kiln_array *array)
{
    return (wanted){what, kiln_dtype_kind(array->dtype) == 'c', what == PLACES ? array->rank : 0};
}

kiln_status kiln_array_flatnonzero(const kiln_array *array, kiln_array **out, kiln_array **count,
                                   kiln_error *err)
{
    kiln_array *made[] = {NULL}, *number = NULL;

    KILN_CHECK(begin(out, 1, count, err));
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    const wanted w = places_of(PLACES_FLAT, array);
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(&made[0]), kiln_arg_out(&number)};
    const kiln_status status = kiln__fail_as(
        "flatnonzero", run(array->ctx, &w, args, KILN_COUNT_OF(args), NULL, err), err);
    return deliver(status, made, 1, number, out, count, err);
}

/* The places along each axis into made[], which may hold arrays already. */
static kiln_status find_places(const kiln_array *array, kiln_stream *stream, kiln_array **made,
                               kiln_array **number, kiln_error *err)
{
    const wanted w = places_of(PLACES, array);
    kiln_arg args[KILN_RANK_MAX + 2] = {kiln_arg_array(array)};

    for (int a = 0; a < array->rank; a++)
        args[1 + a] = kiln_arg_out(&made[a]);
    args[1 + array->rank] = kiln_arg_out(number);
    return kiln__fail_as("nonzero", run(array->ctx, &w, args, (size_t)array->rank + 2, stream, err),
                         err);
}

static kiln_status check_places(const kiln_array *array, kiln_error *err)
{
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    return array->rank > 0 ? KILN_OK
                           : kiln__fail(err, KILN_ERR_AXIS,
                                        "an array without axes has no positions; see atleast_1d");
}

kiln_status kiln_array_nonzero(const kiln_array *array, kiln_array **outs, kiln_array **count,
                               kiln_error *err)
{
    kiln_array *made[KILN_RANK_MAX] = {NULL}, *number = NULL;

    KILN_CHECK(begin(outs, 0, count, err));
    KILN_CHECK(check_places(array, err));
    KILN_CHECK(begin(outs, (size_t)array->rank, count, err));
    const kiln_status status = find_places(array, NULL, made, &number, err);
    return deliver(status, made, (size_t)array->rank, number, outs, count, err);
}

/* The rows of a table of places. */
static kiln_status find_rows(const kiln_array *array, kiln_stream *stream, kiln_array *table,
                             kiln_array **number, kiln_error *err)
{
    kiln_array *column[KILN_RANK_MAX] = {NULL};
    kiln_status status = KILN_OK;

    for (int a = 0; a < array->rank; a++)
        KILN_TRY(kiln_array_select(table, 1, a, &column[a], err));
    KILN_TRY(find_places(array, stream, column, number, err));

done:
    for (int a = 0; a < array->rank; a++)
        kiln_array_release(column[a]);
    return status;
}

kiln_status kiln_array_argwhere(const kiln_array *array, kiln_array **out, kiln_array **count,
                                kiln_error *err)
{
    kiln_array *made[] = {NULL}, *number = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK(begin(out, 1, count, err));
    KILN_CHECK(check_places(array, err));
    const int64_t shape[] = {array->size, array->rank};
    KILN_TRY(kiln_array_empty(array->ctx, KILN_INT64, 2, shape, &made[0], err));
    KILN_TRY(find_rows(array, NULL, made[0], &number, err));

done:
    return deliver(status, made, 1, number, out, count, err);
}

/* ---- as steps of graphs ---- */

kiln_status kiln__choose_infer(kiln__chooser what, const kiln_array *const *operands,
                               kiln_dtype *dtype, int *rank, int64_t *shape, kiln_error *err)
{
    const kiln_array *const array = operands[0];

    *dtype = what == KILN__CHOOSE_MASKED || what == KILN__CHOOSE_BOTH ? array->dtype : KILN_INT64;
    *rank = 1 + (what == KILN__CHOOSE_ROWS);
    shape[0] = array->size;
    shape[1] = array->rank;
    if (what == KILN__CHOOSE_MASKED || what == KILN__CHOOSE_BOTH) {
        KILN_CHECK(check_mask_shape(array, operands[1], err));
        *rank = rows_shape(array, operands[1], operands[1]->size, shape);
    }
    if (what == KILN__CHOOSE_BOTH && operands[1]->rank != array->rank)
        return kiln__fail(err, KILN_ERR_SHAPE, "the mask has %d axes, the array has %d",
                          operands[1]->rank, array->rank);
    if (what == KILN__CHOOSE_ONE_AXIS && array->rank != 1)
        return kiln__fail(
            err, KILN_ERR_AXIS,
            "nonzero is of an array with one axis here, and this one has %d: argwhere "
            "gives the positions along all axes",
            array->rank);
    return what == KILN__CHOOSE_ROWS && array->rank == 0
               ? kiln__fail(err, KILN_ERR_AXIS, "an array without axes has no positions")
               : KILN_OK;
}

/* The parts of `operands[0]` where a mask of its first axes is true, into an array of any
 * strides. */
static kiln_status choose_rows(const kiln_array *const *operands, kiln_stream *stream,
                               kiln_array **outs, kiln_error *err)
{
    const kiln_array *const x = operands[0];
    const wanted w = places_of(PLACES_FLAT, operands[1]);
    kiln_array *places = NULL;
    kiln_status status = KILN_OK;

    const kiln_arg args[] = {kiln_arg_array(operands[1]), kiln_arg_out(&places),
                             kiln_arg_array(outs[1])};
    KILN_TRY(run(x->ctx, &w, args, KILN_COUNT_OF(args), stream, err));
    KILN_TRY(copy_rows(x, places, outs[1], stream, outs[0], err));

done:
    kiln_array_release(places);
    return status;
}

kiln_status kiln__choose_into(kiln__chooser what, const kiln_array *const *operands,
                              kiln_stream *stream, kiln_array **outs, kiln_error *err)
{
    const kiln_array *const x = operands[0];
    const wanted w =
        what == KILN__CHOOSE_MASKED ? (wanted){.what = MASKED} : places_of(PLACES_FLAT, x);

    if (what == KILN__CHOOSE_ROWS)
        return find_rows(x, stream, outs[0], &outs[1], err);
    if (what == KILN__CHOOSE_BOTH) {
        sides s = {{outs[0], outs[2]}, {outs[1], outs[3]}};
        return divide(x, operands[1], false, stream, &s, err);
    }
    if (what == KILN__CHOOSE_MASKED && operands[1]->rank != x->rank)
        return choose_rows(operands, stream, outs, err);
    if (what == KILN__CHOOSE_MASKED) {
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(operands[1]),
                                 kiln_arg_array(outs[0]), kiln_arg_array(outs[1])};
        return run(x->ctx, &w, args, KILN_COUNT_OF(args), stream, err);
    }
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(outs[0]), kiln_arg_array(outs[1])};
    return run(x->ctx, &w, args, KILN_COUNT_OF(args), stream, err);
}

/* ---- assignment ---- */

/* The running value of a mask: twice the number of true elements so far, and 1 more where the last
 * of them is true itself. */
static const kiln__kept_texts place_texts = {
    .calls = &kiln__scan_calls,
    .request =
        {
            .name = "kiln_place",
            .in = "bool mask, raw T values",
            .out = "T y",
            .snippet = {[KILN__SNIPPET_MAP] = "mask ? 3 : 0",
                        [KILN__SNIPPET_REDUCE] = "(a & ~1ll) + b",
                        [KILN__SNIPPET_POST] =
                            "if (a & 1) {"
                            " const ptrdiff_t k = (ptrdiff_t)(a >> 1) - 1, many = values.size();"
                            " y = values[k < many ? k : k % many]; }",
                        [KILN__SNIPPET_IDENTITY] = "0",
                        [KILN__SNIPPET_REDUCE_TYPE] = "long long"},
        },
};

/* What follows from dtypes and shapes. */
static kiln_status check_place(const kiln_array *array, const kiln_array *mask,
                               const kiln_array *values, kiln_error *err)
{
    KILN_CHECK(check_mask_shape(array, mask, err));
    if (mask->rank != array->rank)
        return kiln__fail(err, KILN_ERR_SHAPE, "the mask has %d axes, the array has %d", mask->rank,
                          array->rank);
    if (values->dtype != array->dtype)
        return kiln__fail(err, KILN_ERR_DTYPE, "values of %s cannot be placed into %s",
                          kiln_dtype_name(values->dtype), kiln_dtype_name(array->dtype));
    if (values->size == 0 && array->size > 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "there are no values to place");
    return KILN_OK;
}

static kiln_status place(kiln_array *array, const kiln_array *mask, const kiln_array *values,
                         kiln_stream *stream, kiln_error *err)
{
    const kiln_arg args[] = {kiln_arg_array((kiln_array *)mask),
                             kiln_arg_array((kiln_array *)values), kiln_arg_array(array)};

    if (array->size == 0)
        return KILN_OK;
    return kiln__fail_as(
        "place", kiln__kept_run(array->ctx, &place_texts, args, KILN_COUNT_OF(args), stream, err),
        err);
}

kiln_status kiln_array_place(kiln_array *array, const kiln_array *mask, const kiln_array *values,
                             kiln_error *err)
{
    KILN_CHECK(check_mask(array, mask, err));
    KILN_CHECK(kiln__array_check(values, array->ctx, "values", err));
    KILN_CHECK(check_place(array, mask, values, err));
    return place(array, mask, values, NULL, err);
}

kiln_status kiln__place_infer(const kiln_array *const *operands, kiln_error *err)
{
    return check_place(operands[0], operands[1], operands[2], err);
}

kiln_status kiln__place_into(const kiln_array *const *operands, kiln_stream *stream,
                             kiln_array *out, kiln_error *err)
{
    KILN_CHECK(kiln__array_assign_on(out, operands[0], stream, err));
    return place(out, operands[1], operands[2], stream, err);
}
