/*
 * family_gather.c - elements that index arrays name, and those that values at indices change.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "family_index.h"

/* The element that an index names; -1: none, which CHECK never meets here. */
int64_t dt_place_of(kiln_dtype dtype, dt_value index, int64_t extent, int64_t mode)
{
    const bool wide = dtype == KILN_UINT64 && index.i < 0;
    int64_t i = index.i;

    if (mode == KILN_INDEX_CLIP)
        return wide || i >= extent ? extent - 1 : i < 0 ? 0 : i;
    if (mode == KILN_INDEX_WRAP) {
        if (wide)
            return (int64_t)((uint64_t)i % (uint64_t)extent);
        i %= extent;
        return i < 0 ? i + extent : i;
    }
    i = i < 0 ? i + extent : i;
    return wide || i < 0 || i >= extent ? -1 : i;
}

void dt_draw_mode(dt_random *d, dt_case *c)
{
    c->number[DT_MODE] = dt_once_in(d, 2) ? KILN_INDEX_CHECK : 1 + dt_below(d, 2);
}

static kiln_index_options options_of(const dt_case *c, dt_arrays *a)
{
    kiln_index_options o = KILN_INDEX_OPTIONS_INIT;

    o.mode = (kiln_index_mode)c->number[DT_MODE];
    o.stream = a->stream;
    return o;
}

/* ---- take -------------------------------------------------------------------------------------- */

bool dt_draw_take(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d), index = dt_draw_integer(d);
    const int rank = 1 + dt_below(d, 3);
    int64_t shape[DT_RANK], wanted[DT_RANK], size = 1;

    dt_draw_mode(d, c);
    dt_draw_small_shape(r, rank, shape);
    for (int k = 0; k < rank; k++)
        size *= shape[k];
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    c->number[DT_AXIS] = dt_once_in(d, 4) ? KILN_AXIS_FLAT : dt_below(d, 2 * rank) - rank;
    const int64_t along = c->number[DT_AXIS] == KILN_AXIS_FLAT
                              ? size
                              : shape[c->number[DT_AXIS] + (c->number[DT_AXIS] < 0 ? rank : 0)];
    const int index_rank = dt_below(d, 3);
    dt_draw_small_shape(r, index_rank, wanted);
    if (along == 0 && index_rank > 0)
        wanted[0] = 0;
    dt_draw_indices(r, c, index, along, c->number[DT_MODE] != KILN_INDEX_CHECK, index_rank, wanted);
    return along > 0 || index_rank > 0;
}

bool dt_evaluate_take(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *i = &in[1];
    const bool flat = c->number[DT_AXIS] == KILN_AXIS_FLAT;
    int64_t shape[2 * DT_RANK], before = 1, behind = 1;
    int axis = 0, rank = 0;

    if (c->operand_count != 2 || (!flat && !dt_axis_of(c->number[DT_AXIS], x->rank, &axis)))
        return false;
    for (int k = 0; k < axis && !flat; k++)
        before *= shape[rank++] = x->shape[k];
    for (int k = 0; k < i->rank; k++)
        shape[rank++] = i->shape[k];
    for (int k = axis + 1; k < x->rank && !flat; k++)
        behind *= shape[rank++] = x->shape[k];
    const int64_t extent = flat ? x->size : x->shape[axis];
    if (rank > DT_RANK || (extent == 0 && i->size > 0) || before * behind * i->size > 1 << 20 ||
        !dt_array_make(out, x->dtype, rank, shape))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        const int64_t j = at / behind % i->size;
        const int64_t from = dt_place_of(i->dtype, i->at[j], extent, c->number[DT_MODE]);
        if (from < 0)
            return false;
        out->at[at] = x->at[(at / behind / i->size * extent + from) * behind + at % behind];
    }
    return true;
}

kiln_status dt_call_take(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_index_options o = options_of(c, a);

    (void)device;
    return kiln_array_take(a->operand[0], a->operand[1], (int)c->number[DT_AXIS], &o, &a->output[0],
                           err);
}

kiln_node dt_record_take(const dt_case *c, const kiln_node *in, size_t result)
{
    (void)result;
    return kiln_node_take(in[0], in[1], (int)c->number[DT_AXIS],
                          (kiln_index_mode)c->number[DT_MODE], KILN_HERE);
}

static const char *const mode_names[] = {"raise", "wrap", "clip"};

void dt_text_take(const dt_case *c, const char *first, char *text, size_t bytes)
{
    if (c->number[DT_AXIS] == KILN_AXIS_FLAT)
        snprintf(text, bytes, "take(%s, x1, mode=%s)", first, mode_names[c->number[DT_MODE]]);
    else
        snprintf(text, bytes, "take(%s, x1, axis=%d, mode=%s)", first, (int)c->number[DT_AXIS],
                 mode_names[c->number[DT_MODE]]);
}

/* ---- take_along_axis, put_along_axis --------------------------------------------------------------- */

bool dt_draw_along(dt_random *d, dt_random *r, dt_case *c)
{
    const bool put = dt_function_at(c->function)->kind == DT_KIND_SCATTER;
    const kiln_dtype dtype = dt_draw_dtype(d), index = dt_draw_integer(d);
    const int rank = 1 + dt_below(d, 3);
    int64_t shape[DT_RANK], wanted[DT_RANK];
    int axis;

    dt_draw_mode(d, c);
    c->number[DT_FAST] = put && c->way == DT_AT_ONCE && dt_once_in(d, 3);
    dt_draw_small_shape(r, rank, shape);
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    c->number[DT_AXIS] = dt_below(d, 2 * rank) - rank;
    dt_axis_of(c->number[DT_AXIS], rank, &axis);
    for (int k = 0; k < rank; k++)
        wanted[k] = dt_once_in(r, 8) ? 1 : shape[k];
    wanted[axis] = shape[axis] == 0 ? 0 : dt_draw_extent(r, 40);
    if (dt_size(rank, wanted) > 1 << 20)
        return false;
    dt_draw_indices(r, c, index, shape[axis], c->number[DT_MODE] != KILN_INDEX_CHECK, rank, wanted);
    if (!put)
        return true;
    wanted[dt_below(r, rank)] = dt_once_in(r, 4) ? 1 : wanted[0];
    for (int k = 0; k < rank; k++) /* what the values broadcast to */
        wanted[k] = k == axis ? c->operand[1].view.shape[k] : shape[k];
    if (dt_once_in(r, 3))
        wanted[dt_below(r, rank)] = 1;
    dt_draw_operand(r, c, dt_once_in(d, 4) ? dt_draw_dtype(d) : dtype, DT_FILL_SMALL, rank, wanted);
    return true;
}

/* The shape over which indices are read along an axis. */
static bool along_shape(const dt_case *c, const dt_array *x, const dt_array *i, int *axis,
                        int64_t *shape)
{
    if (x->rank == 0 || i->rank != x->rank || !dt_axis_of(c->number[DT_AXIS], x->rank, axis))
        return false;
    for (int k = 0; k < x->rank; k++) {
        shape[k] = k == *axis ? i->shape[k] : x->shape[k] == 1 ? i->shape[k] : x->shape[k];
        if (k != *axis && i->shape[k] != shape[k] && i->shape[k] != 1)
            return false;
    }
    return true;
}

bool dt_evaluate_take_along(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *i = &in[1];
    int64_t shape[DT_RANK], index[DT_RANK];
    int axis;

    if (c->operand_count != 2 || !along_shape(c, x, i, &axis, shape) ||
        !dt_array_make(out, x->dtype, x->rank, shape))
        return false;
    if (x->shape[axis] == 0 && out->size > 0)
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        dt_unravel(at, out->rank, out->shape, index);
        const dt_value v = i->at[dt_broadcast_at(i, out->rank, index)];
        index[axis] = dt_place_of(i->dtype, v, x->shape[axis], c->number[DT_MODE]);
        if (index[axis] < 0)
            return false;
        out->at[at] = x->at[dt_broadcast_at(x, x->rank, index)];
    }
    return true;
}

kiln_status dt_call_take_along(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_index_options o = options_of(c, a);

    (void)device;
    return kiln_array_take_along_axis(a->operand[0], a->operand[1], (int)c->number[DT_AXIS], &o,
                                      &a->output[0], err);
}

kiln_node dt_record_take_along(const dt_case *c, const kiln_node *in, size_t result)
{
    (void)result;
    return kiln_node_take_along_axis(in[0], in[1], (int)c->number[DT_AXIS],
                                     (kiln_index_mode)c->number[DT_MODE], KILN_HERE);
}

void dt_text_take_along(const dt_case *c, const char *first, char *text, size_t bytes)
{
    snprintf(text, bytes, "take_along_axis(%s, x1, %d, mode=%s)", first, (int)c->number[DT_AXIS],
             mode_names[c->number[DT_MODE]]);
}

/* An element of the target takes a value; what follows in C-order comes later. */
static bool set(const dt_case *c, dt_array *out, int64_t at, kiln_dtype from, dt_value v)
{
    return dt_array_assign(out, at, dt_cast(from, out->dtype, v), c->number[DT_FAST] != 0);
}

static bool copy_of(const dt_array *x, dt_array *out)
{
    if (!dt_make_like(out, x->dtype, x))
        return false;
    memcpy(out->at, x->at, (size_t)x->size * sizeof *x->at);
    return true;
}

bool dt_evaluate_put_along(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *i = &in[1], *v = &in[2];
    int64_t shape[DT_RANK], index[DT_RANK];
    int axis;

    if (c->operand_count != 3 || !along_shape(c, x, i, &axis, shape) || !copy_of(x, out))
        return false;
    if (v->rank > x->rank || (x->shape[axis] == 0 && dt_size(x->rank, shape) > 0))
        return false;
    for (int k = 0; k < x->rank; k++) /* the array itself does not broadcast */
        if (k != axis && x->shape[k] != shape[k])
            return false;
    for (int k = 0; k < v->rank; k++)
        if (v->shape[k] != 1 && v->shape[k] != shape[x->rank - v->rank + k])
            return false;
    for (int64_t at = 0; at < dt_size(x->rank, shape); at++) {
        dt_unravel(at, x->rank, shape, index);
        const dt_value from = v->at[dt_broadcast_at(v, x->rank, index)];
        const dt_value where = i->at[dt_broadcast_at(i, x->rank, index)];
        index[axis] = dt_place_of(i->dtype, where, x->shape[axis], c->number[DT_MODE]);
        if (index[axis] < 0)
            return false;
        if (!set(c, out, dt_broadcast_at(x, x->rank, index), v->dtype, from))
            return false;
    }
    return true;
}

kiln_scatter_options dt_scatter_options(const dt_case *c)
{
    static const char *const texts[] = {"a > b ? a : b", "a + b"};
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;

    o.mode = (kiln_index_mode)c->number[DT_MODE];
    o.fast = c->number[DT_FAST] != 0;
    if (c->number[DT_WHAT] >= KILN_SCATTER_REDUCE)
        o.reduce = texts[c->number[DT_WHAT] - KILN_SCATTER_REDUCE];
    return o;
}

kiln_arg dt_value_arg(const dt_case *c, const dt_arrays *a)
{
    const dt_operand *o = &c->operand[c->operand_count - 1];

    if (!o->is_number)
        return kiln_arg_array(a->operand[c->operand_count - 1]);
    return dt_is_integer(o->view.dtype) ? kiln_arg_int((int64_t)o->number)
                                        : kiln_arg_float(o->number);
}

kiln_status dt_call_put_along(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_scatter_options o = dt_scatter_options(c);

    (void)device;
    return kiln_array_put_along_axis(a->output[0], a->operand[1], dt_value_arg(c, a),
                                     (int)c->number[DT_AXIS], &o, err);
}

kiln_node dt_record_put_along(const dt_case *c, const kiln_node *in, size_t result)
{
    (void)result;
    return kiln_node_put_along_axis(in[0], in[1], in[2], (int)c->number[DT_AXIS],
                                    (kiln_index_mode)c->number[DT_MODE], KILN_HERE);
}

void dt_text_put_along(const dt_case *c, const char *first, char *text, size_t bytes)
{
    snprintf(text, bytes, "put_along_axis(%s, x1, x2, %d, mode=%s)", first, (int)c->number[DT_AXIS],
             mode_names[c->number[DT_MODE]]);
}

/* ---- put --------------------------------------------------------------------------------------- */

bool dt_draw_put(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(d), index = dt_draw_integer(d);
    const int rank = 1 + dt_below(d, 3), index_rank = dt_below(d, 3);
    int64_t shape[DT_RANK], wanted[DT_RANK], size = 1;

    dt_draw_mode(d, c);
    c->number[DT_FAST] = c->way == DT_AT_ONCE && dt_once_in(d, 3);
    dt_draw_small_shape(r, rank, shape);
    for (int k = 0; k < rank; k++)
        size *= shape[k];
    dt_draw_operand(r, c, dtype, dt_draw_fill(r), rank, shape);
    dt_draw_small_shape(r, index_rank, wanted);
    if (size == 0 && index_rank > 0)
        wanted[0] = 0;
    dt_draw_indices(r, c, index, size, c->number[DT_MODE] != KILN_INDEX_CHECK, index_rank, wanted);
    if (index_rank > 0 && dt_once_in(r, 4))
        wanted[dt_below(r, index_rank)] = 1;
    const int v = dt_draw_operand(r, c, dt_once_in(d, 4) ? dt_draw_dtype(d) : dtype, DT_FILL_SMALL,
                                  index_rank, wanted);
    if (c->operand[v].view.dtype == dtype && dt_once_in(r, 8)) { /* of the target itself */
        c->operand[v].view.rank = rank;
        memcpy(c->operand[v].view.shape, shape, sizeof shape);
    }
    return size > 0 || index_rank > 0;
}

bool dt_evaluate_put(const dt_case *c, const dt_array *in, dt_array *out)
{
    const dt_array *x = &in[0], *i = &in[1], *v = &in[2];
    int64_t index[DT_RANK];

    if (c->operand_count != 3 || v->rank > i->rank || !copy_of(x, out))
        return false;
    for (int k = 0; k < v->rank; k++)
        if (v->shape[k] != 1 && v->shape[k] != i->shape[i->rank - v->rank + k])
            return false;
    for (int64_t at = 0; at < i->size; at++) {
        dt_unravel(at, i->rank, i->shape, index);
        const int64_t to =
            x->size == 0 ? -1 : dt_place_of(i->dtype, i->at[at], x->size, c->number[DT_MODE]);
        if (to < 0 || !set(c, out, to, v->dtype, v->at[dt_broadcast_at(v, i->rank, index)]))
            return false;
    }
    return true;
}

kiln_status dt_call_put(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    const kiln_scatter_options o = dt_scatter_options(c);

    (void)device;
    return kiln_array_put(a->output[0], a->operand[1], dt_value_arg(c, a), &o, err);
}

kiln_node dt_record_put(const dt_case *c, const kiln_node *in, size_t result)
{
    (void)result;
    return kiln_node_put(in[0], in[1], in[2], (kiln_index_mode)c->number[DT_MODE], KILN_HERE);
}

void dt_text_put(const dt_case *c, const char *first, char *text, size_t bytes)
{
    snprintf(text, bytes, "put(%s, x1, x2, mode=%s)", first, mode_names[c->number[DT_MODE]]);
}
