/*
 * pad_all.c - pad() by a statistic or a ramp, by odd reflections, and by constants of their own for each side, as
 * one step.
 *
 *     x > the middle of the result > for each axis: values > both ends
 *
 * As in NumPy, the values along an axis are computed from an array that is already padded along the
 * earlier axes. Where one pair of widths is for all axes, the number of axes is unknown while the text is
 * parsed, so this cannot be made of nodes; padding.c does that where each axis has its own widths, for a
 * statistic or a ramp with one number for all sides. opaque.c runs the step.
 *
 * Test: tests/test_numpy_text.py draws such calls and compares them with NumPy.
 */
#include "graph/graph.h"
#include "kiln/eager.h"
#include "kiln/rearrange.h"
#include "kiln/sort.h"

/* The numbers of such a node: the first of these, then pairs of widths, then pairs of lengths. */
enum { MODE = KILN__PAD_MODE, ODD = KILN__PAD_ODD, WIDTHS = KILN__PAD_WIDTHS, LENGTHS = KILN__PAD_LENGTHS };

typedef struct padding {
    const int64_t *numbers;
    kiln_pad_mode mode;
    const kiln_array *values; /* constants or ends: broadcast to a pair for each axis */
    kiln_stream *stream;
} padding;

/* One side of an axis of the result: elements `from` to `stop` are those to be written; the array's own ones are behind
 * `before` others. */
typedef struct side {
    const padding *p;
    kiln_array *line; /* the result, without what later axes put around it */
    int axis;
    int64_t extent; /* of the array */
    int64_t before;
    bool behind;
} side;

/* How many elements are put before or behind an axis. */
static int64_t width_of(const int64_t *numbers, int axis, bool behind)
{
    const int64_t *widths = numbers + KILN__PAD_HEAD;
    return widths[(numbers[WIDTHS] > 1 ? 2 * axis : 0) + behind];
}

/* How many elements a statistic is of; 0: all. */
static int64_t length_of(const int64_t *numbers, int axis, bool behind)
{
    const int64_t *lengths = numbers + KILN__PAD_HEAD + 2 * numbers[WIDTHS];
    return numbers[LENGTHS] == 0 ? 0 : lengths[(numbers[LENGTHS] > 1 ? 2 * axis : 0) + behind];
}

/* The value of a side, an array without axes. */
static kiln_status value_of(const side *s, kiln_array **out, kiln_error *err)
{
    const kiln_array *v = s->p->values;
    const int at[] = {s->axis, s->behind};
    int64_t offset = 0;

    for (int k = 0; k < v->rank; k++) {
        const int64_t index = at[2 - v->rank + k];
        offset += v->shape[k] == 1 ? 0 : index * v->strides[k];
    }
    return kiln__array_view((kiln_array *)v, 0, NULL, NULL, (char *)v->data + offset, out, err);
}

static kiln_status op(const padding *p, kiln_op which, kiln_arg x, kiln_arg y, kiln_array **out,
                      kiln_error *err)
{
    const kiln_arg args[] = {x, y};
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    const bool one = which == KILN_OP_RINT || which == KILN_OP_FLOOR;

    o.stream = p->stream;
    return kiln_array_op(which, args, one ? 1 : 2, &o, out, err);
}

/* Store values in elements of the result; floats become whole numbers by `how`. */
static kiln_status store(const side *s, int64_t start, int64_t stop, const kiln_array *values,
                         kiln_op how, kiln_error *err)
{
    const char into = kiln_dtype_kind(s->line->dtype);
    kiln_array *rounded = NULL, *part = NULL;
    kiln_status status = KILN_OK;

    if ((into == 'i' || into == 'u') && kiln_dtype_kind(values->dtype) == 'f')
        KILN_TRY(op(s->p, how, kiln_arg_array(values), kiln_arg_int(0), &rounded, err));
    KILN_TRY(kiln_array_slice(s->line, s->axis, start, stop, 1, &part, err));
    KILN_TRY(kiln__array_assign_on(part, rounded != NULL ? rounded : values, s->p->stream, err));

done:
    kiln_array_release(rounded);
    kiln_array_release(part);
    return status;
}

/* A statistic of the elements next to the edge. */
static kiln_status put_statistic(const side *s, int64_t start, int64_t stop, kiln_error *err)
{
    const padding *p = s->p;
    const int64_t length = length_of(p->numbers, s->axis, s->behind);
    const int64_t looks = length > 0 && length < s->extent ? length : s->extent;
    const int64_t first = s->before + (s->behind ? s->extent - looks : 0);
    const kiln_axes axes = {.count = 1, .axis = {s->axis}};
    kiln_reduction_call_options o = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_sort_options sorts = KILN_SORT_OPTIONS_INIT;
    kiln_array *near = NULL, *one = NULL, *kept = NULL;
    kiln_status status = KILN_OK;

    o.stream = sorts.stream = p->stream;
    o.axes = sorts.axes = &axes;
    o.keepdims = true;
    KILN_TRY(kiln_array_slice(s->line, s->axis, first, first + looks, 1, &near, err));
    if (p->mode == KILN_PAD_MEDIAN) {
        KILN_TRY(kiln_array_median(near, &sorts, &one, err));
        KILN_TRY(kiln_array_newaxis(one, s->axis, &kept, err));
    } else {
        KILN_TRY(kiln_array_reduce_with(p->mode == KILN_PAD_MAXIMUM   ? KILN_REDUCE_MAX
                                        : p->mode == KILN_PAD_MINIMUM ? KILN_REDUCE_MIN
                                                                      : KILN_REDUCE_MEAN,
                                        near, &o, &kept, err));
    }
    KILN_TRY(store(s, start, stop, kept, KILN_OP_RINT, err));

done:
    kiln_array_release(near);
    kiln_array_release(one);
    kiln_array_release(kept);
    return status;
}

/* Even steps from the end value to the element at the edge, which is not among them. */
static kiln_status put_ramp(const side *s, int64_t start, int64_t stop, kiln_error *err)
{
    const padding *p = s->p;
    const int64_t at = s->before + (s->behind ? s->extent - 1 : 0), width = stop - start;
    kiln_array *edge = NULL, *end = NULL, *all = NULL, *step = NULL, *scaled = NULL, *value = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(value_of(s, &end, err));
    KILN_TRY(kiln_array_slice(s->line, s->axis, at, at + 1, 1, &edge, err));
    KILN_TRY(op(p, KILN_OP_SUBTRACT, kiln_arg_array(edge), kiln_arg_array(end), &all, err));
    KILN_TRY(op(p, KILN_OP_DIVIDE, kiln_arg_array(all), kiln_arg_int(width), &step, err));
    for (int64_t k = 0; k < width; k++) {
        const int64_t to = s->behind ? stop - 1 - k : start + k;
        KILN_TRY(op(p, KILN_OP_MULTIPLY, kiln_arg_array(step), kiln_arg_int(k), &scaled, err));
        KILN_TRY(op(p, KILN_OP_ADD, kiln_arg_array(scaled), kiln_arg_array(end), &value, err));
        KILN_TRY(store(s, to, to + 1, value, KILN_OP_FLOOR, err));
        kiln_array_release(scaled);
        kiln_array_release(value);
        scaled = value = NULL;
    }

done:
    kiln_array_release(edge);
    kiln_array_release(end);
    kiln_array_release(all);
    kiln_array_release(step);
    kiln_array_release(scaled);
    kiln_array_release(value);
    return status;
}

/* A constant. */
static kiln_status put_constant(const side *s, int64_t start, int64_t stop, kiln_error *err)
{
    kiln_array *value = NULL, *part = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(value_of(s, &value, err));
    KILN_TRY(kiln_array_slice(s->line, s->axis, start, stop, 1, &part, err));
    KILN_TRY(kiln__array_assign_on(part, value, s->p->stream, err));

done:
    kiln_array_release(value);
    kiln_array_release(part);
    return status;
}

/* Elements `start` to `stop` become twice the element at the edge, less those that lie as far on its other side. */
static kiln_status put_reflection(const side *s, int64_t start, int64_t stop, int64_t edge,
                                  int64_t first, kiln_error *err)
{
    const int64_t last = first - (stop - start); /* backwards, without this one */
    kiln_array *at = NULL, *twice = NULL, *chunk = NULL, *made = NULL, *part = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_array_slice(s->line, s->axis, edge, edge + 1, 1, &at, err));
    KILN_TRY(kiln_array_slice(s->line, s->axis, first, last < 0 ? KILN_SLICE_OPEN : last, -1, &chunk, err));
    KILN_TRY(op(s->p, KILN_OP_MULTIPLY, kiln_arg_array(at), kiln_arg_int(2), &twice, err));
    KILN_TRY(op(s->p, KILN_OP_SUBTRACT, kiln_arg_array(twice), kiln_arg_array(chunk), &made, err));
    KILN_TRY(kiln_array_slice(s->line, s->axis, start, stop, 1, &part, err));
    KILN_TRY(kiln__array_assign_on(part, made, s->p->stream, err));

done:
    kiln_array_release(at);
    kiln_array_release(twice);
    kiln_array_release(chunk);
    kiln_array_release(made);
    kiln_array_release(part);
    return status;
}

/* Odd reflections at both edges, again and again until the widths are filled; what is reflected next is a whole number
 * of periods. */
static kiln_status reflect(const side *s, int64_t before, int64_t behind, kiln_error *err)
{
    const int64_t all = s->extent + before + behind;
    const bool edges = s->p->mode == KILN_PAD_SYMMETRIC;
    const int64_t period = edges ? s->extent : s->extent - 1;

    while (before > 0 || behind > 0) {
        const int64_t old = (all - before - behind - !edges) / period * period;
        if (before > 0) {
            const int64_t chunk = old < before ? old : before;
            KILN_CHECK(put_reflection(s, before - chunk, before, before, before - edges + chunk, err));
            before -= chunk;
        }
        if (behind > 0) {
            const int64_t chunk = old < behind ? old : behind, end = all - behind;
            KILN_CHECK(put_reflection(s, end, end + chunk, end - 1, end - 2 + edges, err));
            behind -= chunk;
        }
    }
    return KILN_OK;
}

/* An axis of one element: it is repeated on both sides. */
static kiln_status repeat_edge(const side *s, int64_t before, int64_t behind, kiln_error *err)
{
    const int64_t starts[] = {0, before + 1}, stops[] = {before, before + 1 + behind};
    kiln_array *edge = NULL, *part = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_array_slice(s->line, s->axis, before, before + 1, 1, &edge, err));
    for (int k = 0; k < 2; k++) {
        if (starts[k] == stops[k])
            continue;
        KILN_TRY(kiln_array_slice(s->line, s->axis, starts[k], stops[k], 1, &part, err));
        KILN_TRY(kiln__array_assign_on(part, edge, s->p->stream, err));
        kiln_array_release(part);
        part = NULL;
    }

done:
    kiln_array_release(edge);
    kiln_array_release(part);
    return status;
}

/* The result without what is put around the axes from `first` on. */
static kiln_status inner(const padding *p, const kiln_array *x, const kiln_array *out, int first,
                         kiln_array **made, kiln_error *err)
{
    kiln_array *now = kiln_array_retain((kiln_array *)out), *next = NULL;

    for (int a = first; a < out->rank; a++) {
        const int64_t before = width_of(p->numbers, a, false);
        const kiln_status status =
            kiln_array_slice(now, a, before, before + x->shape[a], 1, &next, err);
        kiln_array_release(now);
        if (status != KILN_OK)
            return status;
        now = next;
        next = NULL;
    }
    *made = now;
    return KILN_OK;
}

static kiln_status put(const side *s, int64_t start, int64_t stop, kiln_error *err)
{
    switch (s->p->mode) {
    case KILN_PAD_LINEAR_RAMP:
        return put_ramp(s, start, stop, err);
    case KILN_PAD_CONSTANT:
        return put_constant(s, start, stop, err);
    default:
        return put_statistic(s, start, stop, err);
    }
}

static kiln_status pad_axis(const padding *p, const kiln_array *x, kiln_array *out, int axis,
                            kiln_error *err)
{
    side s = {.p = p, .axis = axis, .extent = x->shape[axis]};
    const int64_t behind = width_of(p->numbers, axis, true);
    kiln_status status = KILN_OK;

    s.before = width_of(p->numbers, axis, false);
    KILN_TRY(inner(p, x, out, axis + 1, &s.line, err));
    if (p->numbers[ODD] != 0) {
        KILN_TRY((s.extent == 1 ? repeat_edge : reflect)(&s, s.before, behind, err));
        goto done;
    }
    for (int k = 0; k < 2; k++) {
        const int64_t start = k == 0 ? 0 : s.before + s.extent;
        const int64_t stop = start + (k == 0 ? s.before : behind);
        s.behind = k != 0;
        if (stop > start)
            KILN_TRY(put(&s, start, stop, err));
    }

done:
    kiln_array_release(s.line);
    return status;
}

kiln_status kiln__pad_run(const kiln_array *x, const kiln_array *values, const int64_t *numbers,
                          kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    const padding p = {.numbers = numbers,
                       .mode = (kiln_pad_mode)numbers[MODE],
                       .values = values,
                       .stream = stream};
    kiln_array *middle = NULL;
    kiln_status status = KILN_OK;

    if (out->size == 0)
        return KILN_OK;
    KILN_TRY(inner(&p, x, out, 0, &middle, err));
    KILN_TRY(kiln__array_assign_on(middle, x, stream, err));
    for (int a = 0; a < x->rank; a++)
        KILN_TRY(pad_axis(&p, x, out, a, err));

done:
    kiln_array_release(middle);
    return status;
}

/* Pairs for each axis, or one for all. */
static kiln_status check_pairs(const kiln_array *x, int64_t pairs, const char *what, kiln_error *err)
{
    if (pairs <= 1 || pairs == x->rank)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_SHAPE, "pad: %s for %lld axes, and the array has %d", what,
                      (long long)pairs, x->rank);
}

static kiln_status check_values(const kiln_array *x, const kiln_array *values, kiln_error *err)
{
    const int rank = values->rank;

    if (rank <= 2 && (rank == 0 || values->shape[rank - 1] == 1 || values->shape[rank - 1] == 2) &&
        (rank < 2 || values->shape[0] == 1 || values->shape[0] == x->rank))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_SHAPE,
                      "pad: values are a number, a pair, or a pair for each of the %d axes", x->rank);
}

kiln_status kiln__pad_infer(const kiln_array *x, const kiln_array *values, const int64_t *numbers,
                            int64_t *shape, kiln_error *err)
{
    KILN_CHECK(check_pairs(x, numbers[WIDTHS], "widths", err));
    KILN_CHECK(check_pairs(x, numbers[LENGTHS], "lengths", err));
    KILN_CHECK(check_values(x, values, err));
    for (int a = 0; a < x->rank; a++) {
        const int64_t before = width_of(numbers, a, false), behind = width_of(numbers, a, true);
        if (before < 0 || behind < 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "pad: the width %lld is negative",
                              (long long)(before < 0 ? before : behind));
        if (x->shape[a] == 0 && (before > 0 || behind > 0) && numbers[MODE] != KILN_PAD_CONSTANT)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "pad: an axis without elements has nothing to continue");
        if (kiln__add_overflow(x->shape[a], before, &shape[a]) ||
            kiln__add_overflow(shape[a], behind, &shape[a]))
            return kiln__fail(err, KILN_ERR_OVERFLOW, "pad: the result has too many elements");
    }
    return KILN_OK;
}
