/*
 * pad_all.c - pad() by a statistic or a ramp, with one pair of widths for all axes, as one step.
 *
 *     x > the middle of the result > for each axis: a statistic or a ramp > both ends
 *
 * As in NumPy, the values along an axis are computed from an array that is already padded along the
 * earlier axes. The number of axes is unknown while the text is parsed, so this cannot be made of
 * nodes; padding.c does that where each axis has its own widths. opaque.c runs the step.
 *
 * Test: tests/test_numpy_text.py draws such calls and compares them with NumPy.
 */
#include "graph/graph.h"
#include "kiln/eager.h"
#include "kiln/rearrange.h"
#include "kiln/sort.h"

typedef struct padding {
    kiln_pad_mode mode;
    int64_t width[2], length; /* length: of what is looked at; 0: all */
    const kiln_array *end;
    kiln_stream *stream;
} padding;

/* One side of an axis of the result: elements `from` to `stop` are those to be written; the array's own ones are behind
 * `width[0]` others. */
typedef struct side {
    const padding *p;
    kiln_array *line; /* the result, without what later axes put around it */
    int axis;
    int64_t extent; /* of the array */
    bool behind;
} side;

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
    const int64_t looks = p->length > 0 && p->length < s->extent ? p->length : s->extent;
    const int64_t first = p->width[0] + (s->behind ? s->extent - looks : 0);
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
    const int64_t at = p->width[0] + (s->behind ? s->extent - 1 : 0), width = stop - start;
    kiln_array *edge = NULL, *all = NULL, *step = NULL, *scaled = NULL, *value = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_array_slice(s->line, s->axis, at, at + 1, 1, &edge, err));
    KILN_TRY(op(p, KILN_OP_SUBTRACT, kiln_arg_array(edge), kiln_arg_array(p->end), &all, err));
    KILN_TRY(op(p, KILN_OP_DIVIDE, kiln_arg_array(all), kiln_arg_int(width), &step, err));
    for (int64_t k = 0; k < width; k++) {
        const int64_t to = s->behind ? stop - 1 - k : start + k;
        KILN_TRY(op(p, KILN_OP_MULTIPLY, kiln_arg_array(step), kiln_arg_int(k), &scaled, err));
        KILN_TRY(op(p, KILN_OP_ADD, kiln_arg_array(scaled), kiln_arg_array(p->end), &value, err));
        KILN_TRY(store(s, to, to + 1, value, KILN_OP_FLOOR, err));
        kiln_array_release(scaled);
        kiln_array_release(value);
        scaled = value = NULL;
    }

done:
    kiln_array_release(edge);
    kiln_array_release(all);
    kiln_array_release(step);
    kiln_array_release(scaled);
    kiln_array_release(value);
    return status;
}

/* The result without what is put around the axes from `first` on. */
static kiln_status inner(const padding *p, const kiln_array *x, const kiln_array *out, int first,
                         kiln_array **made, kiln_error *err)
{
    kiln_array *now = kiln_array_retain((kiln_array *)out), *next = NULL;

    for (int a = first; a < out->rank; a++) {
        const kiln_status status =
            kiln_array_slice(now, a, p->width[0], p->width[0] + x->shape[a], 1, &next, err);
        kiln_array_release(now);
        if (status != KILN_OK)
            return status;
        now = next;
        next = NULL;
    }
    *made = now;
    return KILN_OK;
}

static kiln_status pad_axis(const padding *p, const kiln_array *x, kiln_array *out, int axis,
                            kiln_error *err)
{
    side s = {.p = p, .axis = axis, .extent = x->shape[axis]};
    kiln_status status = KILN_OK;

    KILN_TRY(inner(p, x, out, axis + 1, &s.line, err));
    for (int k = 0; k < 2; k++) {
        const int64_t start = k == 0 ? 0 : p->width[0] + s.extent, stop = start + p->width[k];
        s.behind = k != 0;
        if (stop > start)
            KILN_TRY(p->mode == KILN_PAD_LINEAR_RAMP ? put_ramp(&s, start, stop, err)
                                                     : put_statistic(&s, start, stop, err));
    }

done:
    kiln_array_release(s.line);
    return status;
}

kiln_status kiln__pad_run(const kiln_array *x, const kiln_array *end, const int64_t *numbers,
                          kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    const padding p = {.mode = (kiln_pad_mode)numbers[0],
                       .width = {numbers[1], numbers[2]},
                       .length = numbers[3],
                       .end = end,
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

kiln_status kiln__pad_infer(const kiln_array *x, const int64_t *numbers, int64_t *shape,
                            kiln_error *err)
{
    for (int a = 0; a < x->rank; a++) {
        if (numbers[1] < 0 || numbers[2] < 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "pad: the width %lld is negative",
                              (long long)(numbers[1] < 0 ? numbers[1] : numbers[2]));
        if (x->shape[a] == 0 && (numbers[1] > 0 || numbers[2] > 0))
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "pad: an axis without elements has nothing to continue");
        if (kiln__add_overflow(x->shape[a], numbers[1], &shape[a]) ||
            kiln__add_overflow(shape[a], numbers[2], &shape[a]))
            return kiln__fail(err, KILN_ERR_OVERFLOW, "pad: the result has too many elements");
    }
    return KILN_OK;
}
