/*
 * draw_view.c - shapes and memory layouts: where kernels have their edges.
 *
 * Extents cluster around warps, vectors, tiles and blocks. A view has an order of axes, steps of
 * any sign, gaps between rows, a start that fits its element's size only, broadcast axes (inputs),
 * windows over itself (inputs), or it is part of another operand's buffer.
 */
#include <string.h>

#include "draw.h"

enum { GUARD_BYTES = 64, LINE_BYTES = 128 };

int64_t dt_draw_extent(dt_random *r, int64_t most)
{
    static const int64_t extents[] = {1,   2,   3,   4,   5,    6,    7,    8,    9,    12,   15,
                                      16,  17,  24,  31,  32,   33,   40,   48,   63,   64,   65,
                                      96,  100, 127, 128, 129,  192,  255,  256,  257,  300,  511,
                                      512, 513, 640, 777, 1000, 1023, 1024, 1025, 2047, 2048, 2049};
    int usable = 0;

    while (usable < (int)DT_COUNT(extents) && extents[usable] <= most)
        usable++;
    return extents[dt_below(r, usable)];
}

int64_t dt_draw_budget(dt_random *r)
{
    if (dt_once_in(r, 120))
        return 400000;
    return dt_once_in(r, 12) ? 70000 : dt_once_in(r, 3) ? 9000 : 2500;
}

void dt_draw_shape(dt_random *r, int rank, int64_t budget, int64_t *shape)
{
    int64_t size = 1;

    for (int k = 0; k < rank; k++)
        shape[k] = 1;
    for (int k = 0, axis = dt_below(r, rank); k < rank; k++, axis = (axis + 1) % rank) {
        shape[axis] = dt_draw_extent(r, budget / size);
        if (rank == 1 && dt_once_in(r, 3))
            shape[axis] = 1 + dt_below(r, (int)budget);
        size *= shape[axis];
    }
    if (rank > 0 && dt_once_in(r, 40))
        shape[dt_below(r, rank)] = 0;
}

int dt_draw_rank(dt_random *r)
{
    static const int ranks[] = {0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2,
                                2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 5};
    return ranks[dt_below(r, (int)DT_COUNT(ranks))];
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void draw_order(dt_random *r, dt_style style, int rank, int *order)
{
    const int how = style == DT_STYLE_ORDERS || (style == DT_STYLE_MIXED) ? dt_below(r, 3) : 0;

    for (int k = 0; k < rank; k++)
        order[k] = how == 1 ? rank - 1 - k : k;
    for (int k = rank - 1; k > 0 && how == 2; k--) {
        const int other = dt_below(r, k + 1), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

static int64_t draw_step(dt_random *r, dt_style style)
{
    static const int64_t steps[] = {1, 1, 1, 1, -1, -1, 2, 3, -2};

    if (style == DT_STYLE_PLAIN)
        return 1;
    if (style == DT_STYLE_FLIPS)
        return dt_once_in(r, 2) ? -1 : 1;
    if (style == DT_STYLE_ROWS)
        return dt_once_in(r, 4) ? -1 : 1;
    return steps[dt_below(r, (int)DT_COUNT(steps))];
}

/* The elements between a row and the next one: seldom such that all rows begin alike in a line of memory. */
static int64_t draw_gap(dt_random *r, dt_style style, int64_t size)
{
    if (style == DT_STYLE_ROWS)
        return dt_once_in(r, 8) ? LINE_BYTES / size : dt_below(r, 2 * LINE_BYTES);
    return style != DT_STYLE_PLAIN && dt_once_in(r, 8) ? 1 + dt_below(r, 9) : 0;
}

/* The bytes that the elements take, before and behind the first one. */
static void extent_of(const dt_view *v, int64_t *before, int64_t *behind)
{
    *before = 0;
    *behind = (int64_t)kiln_dtype_size(v->dtype);
    for (int axis = 0; axis < v->rank; axis++) {
        const int64_t reach = (v->shape[axis] - 1) * v->stride[axis];
        if (dt_size(v->rank, v->shape) == 0)
            continue;
        if (reach < 0)
            *before -= reach;
        else
            *behind += reach;
    }
}

void dt_place_view(dt_case *c, dt_view *v, int64_t offset_elements)
{
    const int64_t size = (int64_t)kiln_dtype_size(v->dtype);
    int64_t before, behind;

    extent_of(v, &before, &behind);
    v->buffer = c->buffer_count++;
    v->start = GUARD_BYTES + before + offset_elements * size;
    c->buffer_bytes[v->buffer] = v->start + behind + GUARD_BYTES;
}

void dt_draw_view(dt_random *r, dt_style style, bool is_input, dt_case *c, dt_view *v)
{
    const int64_t size = (int64_t)kiln_dtype_size(v->dtype);
    int order[DT_RANK];
    int64_t unit = size;

    draw_order(r, style, v->rank, order);
    for (int k = v->rank - 1; k >= 0; k--) {
        const int axis = order[k];
        const bool row = k == v->rank - 1 && style == DT_STYLE_ROWS;
        const int64_t extent = v->shape[axis] > 0 ? v->shape[axis] : 1;
        const int64_t step = row && !is_input ? 1 : draw_step(r, style);
        if (is_input && style == DT_STYLE_MIXED && dt_once_in(r, 8)) {
            v->stride[axis] = dt_once_in(r, 2) ? 0 : size * (1 + dt_below(r, 2));
            continue; /* a repeated, or overlapping, axis */
        }
        v->stride[axis] = unit * step;
        unit *= (step < 0 ? -step : step) * extent;
        if (row || style != DT_STYLE_ROWS)
            unit += size * draw_gap(r, style, size);
    }
    dt_place_view(c, v, dt_once_in(r, 2) ? 0 : dt_below(r, style == DT_STYLE_ROWS ? LINE_BYTES : 17));
}

/* Give a view the memory of another of the same dtype and shape, `shift` elements further on. */
bool dt_share_view(dt_case *c, dt_view *v, const dt_view *other, int64_t shift)
{
    const int64_t moved = shift * (int64_t)kiln_dtype_size(v->dtype);
    dt_view same = *other;
    int64_t before, behind;

    if (v->dtype != other->dtype || v->rank != other->rank || other->buffer < 0 ||
        memcmp(v->shape, other->shape, (size_t)v->rank * sizeof *v->shape) != 0)
        return false;
    same.start += moved;
    extent_of(&same, &before, &behind);
    if (same.start - before < GUARD_BYTES)
        return false;
    *v = same;
    if (c->buffer_bytes[v->buffer] < v->start + behind + GUARD_BYTES)
        c->buffer_bytes[v->buffer] = v->start + behind + GUARD_BYTES;
    return true;
}

/* Whether no two elements of a view share a byte: what an output must be. */
bool dt_is_injective(const dt_view *v)
{
    int64_t reach = (int64_t)kiln_dtype_size(v->dtype);
    bool done[DT_RANK] = {false};

    /* Sorted by stride, each must step over what the smaller ones reach: enough for views drawn
     * here. */
    for (int k = 0; k < v->rank; k++) {
        int next = -1;
        for (int axis = 0; axis < v->rank; axis++) {
            const int64_t step = v->stride[axis] < 0 ? -v->stride[axis] : v->stride[axis];
            const int64_t least = next < 0              ? 0
                                  : v->stride[next] < 0 ? -v->stride[next]
                                                        : v->stride[next];
            if (!done[axis] && (next < 0 || step < least))
                next = axis;
        }
        done[next] = true;
        if (v->shape[next] <= 1)
            continue;
        const int64_t step = v->stride[next] < 0 ? -v->stride[next] : v->stride[next];
        if (step < reach)
            return false;
        reach += (v->shape[next] - 1) * step;
    }
    return true;
}
