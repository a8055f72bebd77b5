/*
 * family_rearrange.c - arrays side by side, padded, rolled, repeated, turned.
 *
 * Each has a shape, and for every index of the result an operand and an index of it.
 */
#include <stdlib.h>
#include <string.h>

#include "family.h"

/* Numbers: how many whole numbers kiln is given, then these. */
enum { COUNT, FIRST };

/* Where an element of the result comes from. */
typedef struct source {
    int operand; /* -1: anything is right */
    int64_t index[DT_RANK + 2];
    int64_t at; /* -1: at `index`; else the element's number in C-order */
} source;

typedef struct shaped {
    int rank;
    int64_t shape[DT_RANK + 2];
    const int64_t *n; /* the whole numbers */
    int count, axis;
} shaped;

static kiln_rearrangement what_of(const dt_case *c)
{
    for (int k = 0; k < 64; k++)
        if (strcmp(kiln_rearrangement_name((kiln_rearrangement)k), dt_function_name(c->function)) ==
            0)
            return (kiln_rearrangement)k;
    return KILN_REARRANGE_SWAPAXES;
}

/* ---- drawing --------------------------------------------------------------------------------------- */

static void put(dt_case *c, int64_t number)
{
    c->number[FIRST + c->number[COUNT]++] = number;
}

static int64_t any_axis(dt_random *r, int rank)
{
    return rank == 0 ? 0 : dt_below(r, 2 * rank) - rank;
}

/* Further operands beside the first one, which may differ along an axis (-1: along none). */
static void draw_others(dt_random *d, dt_random *r, dt_case *c, int count, int axis)
{
    const dt_view first = c->operand[0].view;

    for (int k = 1; k < count; k++) {
        int64_t shape[DT_RANK];
        memcpy(shape, first.shape, sizeof shape);
        if (axis >= 0)
            shape[axis] = dt_once_in(r, 8) ? 0 : dt_draw_extent(r, 40);
        dt_draw_operand(r, c, dt_once_in(d, 3) ? dt_draw_dtype(d) : first.dtype, DT_FILL_SMALL,
                        first.rank, shape);
    }
}

static void draw_joined(dt_random *d, dt_random *r, dt_case *c, kiln_rearrangement what, int rank)
{
    const int count = 1 + dt_below(d, 4);

    if (what == KILN_REARRANGE_CONCATENATE && (rank == 0 || dt_once_in(d, 4))) {
        draw_others(d, r, c, count, rank > 0 ? dt_below(r, rank) : -1); /* flat: any shapes */
    } else if (what == KILN_REARRANGE_CONCATENATE) {
        const int64_t axis = any_axis(d, rank);
        put(c, axis);
        draw_others(d, r, c, count, (int)(axis < 0 ? axis + rank : axis));
    } else if (what == KILN_REARRANGE_STACK) {
        put(c, dt_below(d, 2 * rank + 2) - rank - 1);
        draw_others(d, r, c, count, -1);
    } else {
        const int axis = what == KILN_REARRANGE_HSTACK         ? (rank > 1 ? 1 : rank - 1)
                         : what == KILN_REARRANGE_COLUMN_STACK ? (rank > 1 ? 1 : -1)
                         : what == KILN_REARRANGE_VSTACK       ? (rank > 1 ? 0 : -1)
                                                               : (rank > 2 ? 2 : -1);
        draw_others(d, r, c, count, axis);
    }
}

static void draw_pad(dt_random *d, dt_random *r, dt_case *c, int rank)
{
    const int sides = dt_once_in(d, 3) ? 1 : rank;

    put(c, dt_below(d, 6));
    for (int k = 0; k < 2 * sides; k++)
        put(c, dt_once_in(r, 4) ? 0 : dt_below(r, 6));
    if (c->number[FIRST] == KILN_PAD_CONSTANT && dt_once_in(d, 2)) {
        const int v = dt_draw_operand(r, c, c->operand[0].view.dtype, DT_FILL_SMALL, 0, NULL);
        if (!dt_is_complex(c->operand[0].view.dtype)) {
            c->operand[v].is_number = true;
            c->operand[v].number = dt_below(r, 2);
        }
    }
}

static void draw_edit(dt_random *d, dt_random *r, dt_case *c, kiln_rearrangement what, int rank)
{
    const int64_t axis = any_axis(d, rank);
    const int64_t extent = c->operand[0].view.shape[axis < 0 ? axis + rank : axis];
    const int places = 1 + dt_below(d, 3);

    put(c, axis);
    for (int k = 0; k < places; k++)
        put(c, extent == 0
                   ? 0
                   : dt_below(r, (int)(2 * extent) + (what == KILN_REARRANGE_INSERT)) - extent);
    if (what == KILN_REARRANGE_INSERT) {
        const int v =
            dt_draw_operand(r, c, dt_once_in(d, 3) ? dt_draw_dtype(d) : c->operand[0].view.dtype,
                            DT_FILL_SMALL, rank == 1 ? dt_below(d, 2) : 0,
                            (const int64_t[]){places > 1 ? places : dt_below(r, 5)});
        (void)v;
    }
}

static void draw_repeat(dt_random *d, dt_random *r, dt_case *c, kiln_rearrangement what, int rank)
{
    const int64_t *shape = c->operand[0].view.shape;
    const int64_t axis = any_axis(d, rank), size = dt_size(rank, shape);
    const int64_t each =
        what == KILN_REARRANGE_REPEAT ? size : shape[axis < 0 ? axis + rank : axis];
    const int64_t count = each > 0 && each < 20 && dt_once_in(d, 2) ? each : 1;
    for (int64_t k = 0; k < count; k++)
        put(c, dt_below(r, 4));
    if (what == KILN_REARRANGE_REPEAT_ALONG)
        put(c, axis);
}

/* A part of an axis, and an element of its windows. */
static void draw_part(dt_random *d, dt_random *r, dt_case *c, kiln_rearrangement what, int rank)
{
    const int64_t axis = any_axis(d, rank);
    const int64_t extent = c->operand[0].view.shape[axis < 0 ? axis + rank : axis];
    const bool window = what == KILN_REARRANGE_WINDOW;
    const int64_t parts = 1 + dt_below(r, window && extent > 0 ? (int)extent : 5);

    put(c, axis);
    put(c, dt_below(r, (int)parts));
    put(c, parts);
    if (!window)
        put(c, extent % parts == 0 && dt_once_in(d, 2));
}

/* Rows of as many blocks, of which those of a column are as wide; or one row. */
static void draw_block(dt_random *d, dt_random *r, dt_case *c, int rank)
{
    const int columns = 1 + dt_below(d, 2), rows = rank > 1 ? 1 + dt_below(d, 2) : 1;
    const dt_view first = c->operand[0].view;
    int64_t width[2] = {first.shape[rank - 1], dt_draw_extent(r, 20)}, shape[DT_RANK];

    for (int k = 0; k < rows && rank > 1 && (rows > 1 || dt_once_in(d, 2)); k++)
        put(c, columns);
    memcpy(shape, first.shape, sizeof shape);
    for (int k = 1; k < rows * columns; k++) {
        if (k % columns == 0)
            shape[rank - 2] = dt_draw_extent(r, 20);
        shape[rank - 1] = width[k % columns];
        dt_draw_operand(r, c, dt_once_in(d, 3) ? dt_draw_dtype(d) : first.dtype, DT_FILL_SMALL,
                        rank, shape);
    }
}

static void draw_rest(dt_random *d, dt_random *r, dt_case *c, kiln_rearrangement what, int rank)
{
    if (what == KILN_REARRANGE_SECTION || what == KILN_REARRANGE_WINDOW)
        draw_part(d, r, c, what, rank);
    else if (what == KILN_REARRANGE_BLOCK)
        draw_block(d, r, c, rank);
    else if (what >= KILN_REARRANGE_CONCATENATE)
        draw_joined(d, r, c, what, rank);
}

/* Of the first operand: small, or few rows that a GPU copies by words or line by line. */
static void draw_first_shape(dt_random *r, int rank, int64_t *shape)
{
    dt_draw_small_shape(r, rank, shape);
    if (rank == 0 || !dt_once_in(r, 4))
        return;
    for (int k = 0; k < rank - 1; k++)
        shape[k] = 1 + dt_below(r, 4);
    shape[rank - 1] = 64 << dt_below(r, 8);
    shape[rank - 1] += dt_below(r, 40);
}

static bool draw(dt_random *d, dt_random *r, dt_case *c)
{
    const kiln_rearrangement what = what_of(c);
    const bool edits = what == KILN_REARRANGE_DELETE || what == KILN_REARRANGE_INSERT;
    const int least = what == KILN_REARRANGE_MOVEAXIS ? 1 + dt_below(d, 2)
                      : what == KILN_REARRANGE_DIAGONAL || what == KILN_REARRANGE_ROT90 ? 2
                      : edits || what == KILN_REARRANGE_REPEAT_ALONG ||
                              what == KILN_REARRANGE_SWAPAXES || what == KILN_REARRANGE_PAD ||
                              what == KILN_REARRANGE_SECTION || what == KILN_REARRANGE_WINDOW ||
                              what == KILN_REARRANGE_BLOCK
                          ? 1
                          : 0;
    const int rank = least + dt_below(d, 4 - least);
    int64_t shape[DT_RANK];

    draw_first_shape(r, rank, shape);
    for (int k = 0; k < rank && what == KILN_REARRANGE_SQUEEZE; k++)
        shape[k] = dt_once_in(d, 2) ? 1 : shape[k];
    dt_draw_operand(r, c, dt_draw_dtype(d), dt_draw_fill(r), rank, shape);
    switch (what) {
    case KILN_REARRANGE_SWAPAXES:
        put(c, any_axis(d, rank));
        put(c, any_axis(d, rank));
        break;
    case KILN_REARRANGE_MOVEAXIS:
        for (int k = 0; k < 2 * least; k++)
            put(c, any_axis(d, rank));
        break;
    case KILN_REARRANGE_DIAGONAL:
    case KILN_REARRANGE_ROT90:
        put(c, what == KILN_REARRANGE_ROT90 ? dt_below(d, 7) - 3 : dt_below(r, 9) - 4);
        put(c, dt_below(d, rank));
        put(c, (c->number[FIRST + 1] + 1 + dt_below(d, rank - 1)) % rank);
        break;
    case KILN_REARRANGE_FLIP:
        for (int k = 0; k < rank; k++)
            if (dt_once_in(d, 2))
                put(c, dt_once_in(d, 2) ? k : k - rank);
        break;
    case KILN_REARRANGE_TILE:
        for (int k = dt_below(d, 3); k >= 0; k--)
            put(c, dt_once_in(r, 9) ? 0 : 1 + dt_below(r, 3));
        break;
    case KILN_REARRANGE_REPEAT:
    case KILN_REARRANGE_REPEAT_ALONG:
        draw_repeat(d, r, c, what, rank);
        break;
    case KILN_REARRANGE_ROLL: {
        const int axes = rank > 0 ? dt_below(d, 3) : 0;
        for (int k = 0; k < (axes > 0 ? axes : 1); k++)
            put(c, dt_below(r, 100) - 50);
        for (int k = 0; k < axes; k++)
            put(c, any_axis(d, rank));
        break;
    }
    case KILN_REARRANGE_PAD:
        draw_pad(d, r, c, rank);
        break;
    case KILN_REARRANGE_DELETE:
    case KILN_REARRANGE_INSERT:
        draw_edit(d, r, c, what, rank);
        break;
    default:
        draw_rest(d, r, c, what, rank);
    }
    return true;
}

/* ---- shapes and sources -------------------------------------------------------------------------------- */

static int64_t modulo(int64_t a, int64_t n)
{
    return n == 0 ? 0 : (a % n + n) % n;
}

static bool turned(shaped *y, kiln_rearrangement what, const dt_array *x, const int64_t *index,
                   source *s)
{
    int a, b;

    if (what == KILN_REARRANGE_SWAPAXES) {
        if (!dt_axis_of(y->n[0], x->rank, &a) || !dt_axis_of(y->n[1], x->rank, &b))
            return false;
        y->shape[a] = x->shape[b];
        y->shape[b] = x->shape[a];
        s->index[a] = index[b];
        s->index[b] = index[a];
        return true;
    }
    if (what == KILN_REARRANGE_FLIP) {
        for (int k = 0; k < (y->count > 0 ? y->count : x->rank); k++) {
            if (!dt_axis_of(y->count > 0 ? y->n[k] : k, x->rank, &a))
                return false;
            s->index[a] = x->shape[a] - 1 - index[a];
        }
        return true;
    }
    if (!dt_axis_of(y->n[1], x->rank, &a) || !dt_axis_of(y->n[2], x->rank, &b) || a == b)
        return false;
    if (what == KILN_REARRANGE_ROT90) {
        const int64_t turns = modulo(y->n[0], 4);
        const int64_t i = index[a], j = index[b];
        if (turns % 2 != 0) {
            y->shape[a] = x->shape[b];
            y->shape[b] = x->shape[a];
        }
        s->index[a] = turns == 0   ? i
                      : turns == 1 ? j
                      : turns == 2 ? x->shape[a] - 1 - i
                                   : x->shape[a] - 1 - j;
        s->index[b] = turns == 0   ? j
                      : turns == 1 ? x->shape[b] - 1 - i
                      : turns == 2 ? x->shape[b] - 1 - j
                                   : i;
        return true;
    }
    /* the diagonal */
    const int64_t down = y->n[0] < 0 ? -y->n[0] : 0, right = y->n[0] > 0 ? y->n[0] : 0;
    const int64_t rows = x->shape[a] - down, columns = x->shape[b] - right;
    const int64_t length = rows < columns ? rows : columns;
    y->rank = 0;
    for (int k = 0; k < x->rank; k++)
        if (k != a && k != b) {
            y->shape[y->rank] = x->shape[k];
            s->index[k] = index[y->rank++];
        }
    y->shape[y->rank] = length > 0 ? length : 0;
    s->index[a] = index[y->rank] + down;
    s->index[b] = index[y->rank++] + right;
    return true;
}

/* moveaxis: each axis that is named goes to a place, the others follow in their order. */
static bool moved(shaped *y, const dt_array *x, const int64_t *index, source *s)
{
    int to[DT_RANK], half = y->count / 2, a, place, next = 0;
    bool taken[DT_RANK] = {false};

    for (int k = 0; k < x->rank; k++)
        to[k] = -1;
    for (int k = 0; k < half; k++) {
        if (!dt_axis_of(y->n[k], x->rank, &a) || !dt_axis_of(y->n[half + k], x->rank, &place) ||
            to[a] >= 0 || taken[place])
            return false;
        to[a] = place;
        taken[place] = true;
    }
    for (int k = 0; k < x->rank; k++) {
        while (to[k] < 0 && taken[next])
            next++;
        if (to[k] < 0)
            taken[to[k] = next] = true;
        y->shape[to[k]] = x->shape[k];
        s->index[k] = index[to[k]];
    }
    return true;
}

static bool widened(shaped *y, kiln_rearrangement what, const dt_array *x, const int64_t *index,
                    source *s)
{
    if (what == KILN_REARRANGE_SQUEEZE) {
        y->rank = 0;
        for (int k = 0; k < x->rank; k++) {
            s->index[k] = x->shape[k] == 1 ? 0 : index[y->rank];
            if (x->shape[k] != 1)
                y->shape[y->rank++] = x->shape[k];
        }
        return true;
    }
    const int least = 1 + (int)what - (int)KILN_REARRANGE_ATLEAST_1D;
    const int front = least == 3 && x->rank == 2   ? 0
                      : least == 3 && x->rank == 1 ? 1
                                                   : least - x->rank;
    if (x->rank >= least)
        return true;
    y->rank = least;
    for (int k = 0; k < least; k++)
        y->shape[k] = 1;
    for (int k = 0; k < x->rank; k++) {
        y->shape[front + k] = x->shape[k];
        s->index[k] = index[front + k];
    }
    return true;
}

/* Elements several times; `s->at` where C-order counts. */
static bool repeated(shaped *y, kiln_rearrangement what, const dt_array *x, const int64_t *index,
                     source *s)
{
    if (what == KILN_REARRANGE_TILE) {
        y->rank = y->count > x->rank ? y->count : x->rank;
        for (int k = 0; k < y->rank; k++) {
            const int own = k - (y->rank - x->rank), rep = k - (y->rank - y->count);
            const int64_t extent = own >= 0 ? x->shape[own] : 1;
            y->shape[k] = extent * (rep >= 0 ? y->n[rep] : 1);
            if (own >= 0)
                s->index[own] = modulo(index[k], extent);
        }
        return true;
    }
    const bool along = what == KILN_REARRANGE_REPEAT_ALONG;
    const int given = y->count - along;
    int axis = 0;
    if (along && !dt_axis_of(y->n[given], x->rank, &axis))
        return false;
    const int64_t extent = along ? x->shape[axis] : x->size;
    int64_t total = 0, from = 0;
    if (given < 1 || (given > 1 && given != extent))
        return false;
    y->rank = along ? x->rank : 1;
    for (int64_t k = 0; k < extent; k++) {
        const int64_t times = y->n[given > 1 ? k : 0];
        if (index[axis] >= total && index[axis] < total + times)
            from = k;
        total += times;
    }
    y->shape[axis] = total;
    if (along)
        s->index[axis] = from;
    else
        s->at = from;
    return true;
}

static bool rolled(shaped *y, const dt_array *x, const int64_t *index, source *s)
{
    if (y->count == 1) {
        int64_t at = 0;
        for (int k = 0; k < x->rank; k++)
            at = at * x->shape[k] + index[k];
        s->at = modulo(at - y->n[0], x->size);
        return true;
    }
    for (int k = 0; k < y->count / 2; k++) {
        int axis;
        if (!dt_axis_of(y->n[y->count / 2 + k], x->rank, &axis))
            return false;
        s->index[axis] = modulo(s->index[axis] - y->n[k], x->shape[axis]);
    }
    return true;
}

static bool padded(const dt_case *c, shaped *y, const dt_array *x, const int64_t *index, source *s)
{
    const bool own = y->count > 3;

    if (y->count != 1 + 2 * x->rank && y->count != 3)
        return false;
    for (int k = 0; k < x->rank; k++) {
        const int64_t before = y->n[1 + (own ? 2 * k : 0)], behind = y->n[2 + (own ? 2 * k : 0)];
        const int64_t n = x->shape[k], i = index[k] - before, m = 2 * n - 2;
        y->shape[k] = n + before + behind;
        if (i >= 0 && i < n) {
            s->index[k] = i;
            continue;
        }
        switch (y->n[0]) {
        case KILN_PAD_CONSTANT:
            s->operand = c->operand_count > 1 ? 1 : DT_OPERANDS;
            continue;
        case KILN_PAD_EDGE:
            s->index[k] = i < 0 ? 0 : n - 1;
            break;
        case KILN_PAD_REFLECT:
            s->index[k] = m <= 0 ? 0 : modulo(i, m) < n ? modulo(i, m) : m - modulo(i, m);
            break;
        case KILN_PAD_SYMMETRIC:
            s->index[k] = modulo(i, 2 * n) < n ? modulo(i, 2 * n) : 2 * n - 1 - modulo(i, 2 * n);
            break;
        case KILN_PAD_WRAP:
            s->index[k] = modulo(i, n);
            break;
        default:
            if (s->operand == 0)
                s->operand = -1;
        }
        if (n == 0 && y->n[0] != KILN_PAD_EMPTY)
            return false;
    }
    return true;
}

/* DELETE and INSERT: what stands at a place of the axis. */
static bool edited(kiln_rearrangement what, const dt_case *c, shaped *y, const dt_array *in,
                   const int64_t *index, source *s)
{
    const dt_array *x = &in[0], *v = &in[1];
    const int places = y->count - 1;
    int64_t to = 0, extent;
    int axis;

    if (places < 1 || !dt_axis_of(y->n[0], x->rank, &axis))
        return false;
    extent = x->shape[axis];
    for (int k = 0; k < places; k++)
        if (y->n[1 + k] < -extent || y->n[1 + k] >= extent + (what == KILN_REARRANGE_INSERT))
            return false;
    if (what == KILN_REARRANGE_INSERT &&
        (c->operand_count != 2 || v->rank > 1 || (v->rank == 1 && x->rank > 1)))
        return false;
    for (int64_t i = 0; i <= extent; i++) {
        bool gone = false;
        for (int k = 0; k < places; k++) {
            const int64_t place = y->n[1 + k] < 0 ? y->n[1 + k] + extent : y->n[1 + k];
            gone = gone || place == i;
            if (what == KILN_REARRANGE_DELETE || place != i)
                continue;
            const int64_t many = places == 1 && v->rank == 1 ? v->size : 1;
            for (int64_t j = 0; j < many; j++, to++)
                if (index[axis] == to) {
                    s->operand = 1;
                    s->at = v->size == 1 ? 0 : places == 1 ? j : k;
                }
        }
        if (i == extent || (gone && what == KILN_REARRANGE_DELETE))
            continue;
        if (index[axis] == to++)
            s->index[axis] = i;
    }
    y->shape[axis] = to;
    return what == KILN_REARRANGE_DELETE || places == 1 || v->size == 1 || v->size == places;
}

/* Operands one after the other along an axis; each as `rank` axes, of which `front` are put before. */
static bool joined(kiln_rearrangement what, const dt_case *c, shaped *y, const dt_array *in,
                   const int64_t *index, source *s)
{
    const int own = in[0].rank;
    int axis = 0, rank = own;
    int64_t at = 0, size = 0;

    if (what == KILN_REARRANGE_CONCATENATE && y->count == 0) { /* all elements */
        y->rank = 1;
        for (int k = 0; k < c->operand_count; k++) {
            if (index[0] >= size && index[0] < size + in[k].size) {
                s->operand = k;
                s->at = index[0] - size;
            }
            size += in[k].size;
        }
        y->shape[0] = size;
        return true;
    }
    const bool columns = what == KILN_REARRANGE_COLUMN_STACK;
    const int least = what == KILN_REARRANGE_HSTACK              ? 1
                      : what == KILN_REARRANGE_VSTACK || columns ? 2
                                                                 : 3;
    if (what == KILN_REARRANGE_STACK)
        rank = own + 1;
    else if (what != KILN_REARRANGE_CONCATENATE)
        rank = own > least ? own : least;
    axis = what == KILN_REARRANGE_VSTACK   ? 0
           : what == KILN_REARRANGE_DSTACK ? 2
           : columns                       ? 1
           : what == KILN_REARRANGE_HSTACK ? (own > 1)
                                           : -1;
    if (axis < 0 && !dt_axis_of(y->n[0], rank, &axis))
        return false;
    /* the axes of an operand among those of the result */
    int map[DT_RANK];
    for (int k = 0; k < own; k++)
        map[k] = what == KILN_REARRANGE_STACK                ? k + (k >= axis)
                 : what == KILN_REARRANGE_DSTACK && own == 1 ? 1
                 : what == KILN_REARRANGE_DSTACK || columns  ? k
                                                             : k + rank - own;
    y->rank = rank;
    for (int k = 0; k < rank; k++)
        y->shape[k] = 1;
    for (int k = 0; k < own; k++)
        y->shape[map[k]] = in[0].shape[k];
    for (int o = 0; o < c->operand_count; o++) {
        int64_t extent = 1;
        if (in[o].rank != own)
            return false;
        for (int k = 0; k < own; k++)
            if (map[k] == axis)
                extent = in[o].shape[k];
            else if (in[o].shape[k] != in[0].shape[k])
                return false;
        if (index[axis] >= at && index[axis] < at + extent) {
            s->operand = o;
            for (int k = 0; k < own; k++)
                s->index[k] = index[map[k]] - (map[k] == axis ? at : 0);
        }
        at += extent;
    }
    y->shape[axis] = at;
    return true;
}

/* A part of an axis begins behind those before it; an element of the windows is there for all but the last ones. */
static bool part(kiln_rearrangement what, shaped *y, const dt_array *x, source *s)
{
    int a = 0;

    if (y->count < 3 || !dt_axis_of(y->n[0], x->rank, &a))
        return false;
    const int64_t extent = x->shape[a], nth = y->n[1], parts = y->n[2];
    if (parts < 1 || nth < 0 || nth >= parts)
        return false;
    if (what == KILN_REARRANGE_WINDOW) {
        y->shape[a] = extent - parts + 1;
        s->index[a] += nth;
        return y->count == 3 && extent >= parts;
    }
    const int64_t each = extent / parts, more = extent % parts;
    y->shape[a] = each + (nth < more);
    s->index[a] += nth * each + (nth < more ? nth : more);
    return y->count == 4 && (y->n[3] == 0 || more == 0);
}

/* Rows of blocks, one below the other along the last axis but one. */
static bool blocks(const dt_case *c, shaped *y, const dt_array *in, const int64_t *index, source *s)
{
    const int rank = in[0].rank, rows = y->count > 0 ? y->count : 1;
    int64_t top = 0, width = 0;
    int o = 0;

    if (rank < (y->count > 0 ? 2 : 1)) /* rows make matrices of vectors */
        return false;
    for (int r = 0; r < rows; r++) {
        const int64_t columns = y->count > 0 ? y->n[r] : c->operand_count;
        const int64_t height = rank > 1 && o < c->operand_count ? in[o].shape[rank - 2] : 1;
        int64_t left = 0;
        if (columns < 1 || o + columns > c->operand_count)
            return false;
        for (int64_t k = 0; k < columns; k++, o++) {
            if (in[o].rank != rank || (rank > 1 && in[o].shape[rank - 2] != height))
                return false;
            for (int a = 0; a + 2 < rank; a++)
                if (in[o].shape[a] != in[0].shape[a])
                    return false;
            const int64_t down = rank > 1 ? index[rank - 2] - top : 0,
                          right = index[rank - 1] - left;
            if (down >= 0 && down < height && right >= 0 && right < in[o].shape[rank - 1]) {
                s->operand = o;
                s->index[rank - 1] = right;
                if (rank > 1)
                    s->index[rank - 2] = down;
            }
            left += in[o].shape[rank - 1];
        }
        if (r > 0 && left != width)
            return false;
        width = left;
        top += height;
    }
    y->shape[rank - 1] = width;
    if (rank > 1)
        y->shape[rank - 2] = top;
    return o == c->operand_count;
}

/* The result's shape, and where the element at `index` comes from. */
static bool find(const dt_case *c, const dt_array *in, shaped *y, const int64_t *index, source *s)
{
    const kiln_rearrangement what = what_of(c);
    const dt_array *x = &in[0];

    y->rank = x->rank;
    memcpy(y->shape, x->shape, sizeof x->shape);
    y->n = &c->number[FIRST];
    y->count = (int)c->number[COUNT];
    *s = (source){.at = -1};
    memcpy(s->index, index, sizeof s->index);
    switch (what) {
    case KILN_REARRANGE_SQUEEZE:
    case KILN_REARRANGE_ATLEAST_1D:
    case KILN_REARRANGE_ATLEAST_2D:
    case KILN_REARRANGE_ATLEAST_3D:
        return widened(y, what, x, index, s);
    case KILN_REARRANGE_MOVEAXIS:
        return moved(y, x, index, s);
    case KILN_REARRANGE_TILE:
    case KILN_REARRANGE_REPEAT:
    case KILN_REARRANGE_REPEAT_ALONG:
        return repeated(y, what, x, index, s);
    case KILN_REARRANGE_ROLL:
        return rolled(y, x, index, s);
    case KILN_REARRANGE_PAD:
        return padded(c, y, x, index, s);
    case KILN_REARRANGE_DELETE:
    case KILN_REARRANGE_INSERT:
        return edited(what, c, y, in, index, s);
    case KILN_REARRANGE_SECTION:
    case KILN_REARRANGE_WINDOW:
        return part(what, y, x, s);
    case KILN_REARRANGE_BLOCK:
        return blocks(c, y, in, index, s);
    default:
        return what < KILN_REARRANGE_CONCATENATE ? turned(y, what, x, index, s)
                                                 : joined(what, c, y, in, index, s);
    }
}

static bool evaluate(const dt_case *c, const dt_array *in, dt_array *out)
{
    const bool one = what_of(c) == KILN_REARRANGE_PAD || what_of(c) == KILN_REARRANGE_INSERT;
    kiln_dtype dtype = in[0].dtype;
    int64_t index[DT_RANK + 2] = {0};
    shaped y = {0};
    source s;

    for (int k = 1; k < c->operand_count && !one; k++)
        dtype = dt_promote(dtype, in[k].dtype);
    if (c->number[COUNT] < 0 || c->number[COUNT] > DT_NUMBERS - FIRST ||
        !find(c, in, &y, index, &s) || y.rank > DT_RANK || dt_size(y.rank, y.shape) > 1 << 19 ||
        !dt_array_make(out, dtype, y.rank, y.shape))
        return false;
    for (int64_t at = 0; at < out->size; at++) {
        dt_unravel(at, out->rank, out->shape, index);
        if (!find(c, in, &y, index, &s))
            return false;
        if (s.operand < 0) {
            out->at[at] = dt_unknown();
            out->at[at].unwritten = true;
        } else if (s.operand < DT_OPERANDS) {
            const dt_array *from = &in[s.operand];
            const int64_t place = from->rank == 0 ? 0
                                  : s.at >= 0     ? s.at
                                                  : dt_broadcast_at(from, from->rank, s.index);
            out->at[at] = dt_cast(from->dtype, dtype, from->at[place]);
        }
    }
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static kiln_status call(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    (void)device;
    return kiln_array_rearrange(what_of(c), a->args, (size_t)c->operand_count, &c->number[FIRST],
                                (size_t)c->number[COUNT], &a->output[0], err);
}

static kiln_node record(const dt_case *c, const kiln_node *in, size_t result)
{
    kiln_node nodes[DT_OPERANDS];

    (void)result;
    for (int k = 0; k < c->operand_count; k++)
        nodes[k] = in[k];
    return kiln_node_rearrange(what_of(c), nodes, (size_t)c->operand_count, &c->number[FIRST],
                               (size_t)c->number[COUNT], KILN_HERE);
}

#define ROW(name)                                                                                  \
    {                                                                                              \
        name, DT_KIND_REARRANGE, DT_MAY_RECORD, 1, draw, evaluate, call, record, NULL              \
    }
const dt_function dt_rearrange_functions[] = {
    ROW("swapaxes"),     ROW("moveaxis"),    ROW("squeeze"),
    ROW("diagonal"),     ROW("rot90"),       ROW("flip"),
    ROW("atleast_1d"),   ROW("atleast_2d"),  ROW("atleast_3d"),
    ROW("concatenate"),  ROW("concatenate"), ROW("stack"),
    ROW("hstack"),       ROW("vstack"),      ROW("dstack"),
    ROW("column_stack"), ROW("tile"),        ROW("repeat"),
    ROW("repeat_along"), ROW("roll"),        ROW("roll"),
    ROW("pad"),          ROW("pad"),         ROW("delete"),
    ROW("insert"),       ROW("split"),       ROW("sliding_window_view"),
    ROW("block")};
const int dt_rearrange_function_count = (int)DT_COUNT(dt_rearrange_functions);
