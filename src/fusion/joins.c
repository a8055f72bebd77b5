/*
 * joins.c - rearrangements: views, and joins of several parts.
 *
 *     lower > [joins] > views, joins, reshape
 *
 * A *join* is an array in memory whose parts are stored by the kernels that compute them. So
 * concatenate() copies nothing: each producer writes its part of the result. pad(), roll() and
 * similar functions are joins of views: each axis is cut into segments, and each box of segments is
 * a part.
 *
 * Test: test_rearrange.
 */
#include "fusion/build.h"

enum { PIECES_MAX = 4096 };

/* A value and where it begins in the result. */
typedef struct piece {
    uint32_t low;
    int64_t start[KILN_RANK_MAX];
} piece;

typedef struct pieces {
    piece *list;
    size_t count, capacity;
} pieces;

static piece *add_piece(kiln__build *b, uint32_t node, pieces *p)
{
    if (p->count == PIECES_MAX)
        kiln__build_fail(b, node, KILN_ERR_UNSUPPORTED,
                         "the result would be made of more than %d parts", PIECES_MAX);
    if (p->count == p->capacity) {
        p->capacity = p->capacity == 0 ? 8 : 2 * p->capacity;
        piece *moved = kiln__build_alloc(b, p->capacity * sizeof *moved);
        if (p->count > 0)
            memcpy(moved, p->list, p->count * sizeof *moved);
        p->list = moved;
    }
    memset(&p->list[p->count], 0, sizeof p->list[0]);
    return &p->list[p->count++];
}

/* A piece as a value that is stored into its part of the join. */
static uint32_t store_part(kiln__build *b, uint32_t node, const piece *p, kiln_dtype dtype,
                           int rank)
{
    const uint32_t value = kiln__lowered_cast(b, p->low, dtype, node);
    const kiln__lowered *o = &b->lowered[value];
    kiln__lowered made = {.kind = KILN__LOWERED_STORE,
                          .dtype = dtype,
                          .rank = rank,
                          .shape = o->shape,
                          .size = o->size,
                          .arg = ++b->part_count, /* equal parts of different joins are different */
                          .start = kiln__build_copy(b, p->start, (size_t)rank * sizeof(int64_t)),
                          .origin = node};
    const uint32_t part = kiln__lowered_over(b, &made, &value, 1);
    b->lowered[part].c_order = true;
    return part;
}

static uint32_t join(kiln__build *b, uint32_t node, kiln_dtype dtype, int rank,
                     const int64_t *shape, const pieces *p)
{
    const int64_t size = kiln__lowered_size(b, node, rank, shape, dtype);
    uint32_t *parts = kiln__build_alloc(b, (p->count + 1) * sizeof *parts);
    size_t count = 0;
    kiln__lowered made = {.kind = KILN__LOWERED_JOIN,
                          .dtype = dtype,
                          .rank = rank,
                          .shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape),
                          .size = size,
                          .origin = node};

    for (size_t k = 0; k < p->count; k++) {
        if (b->lowered[p->list[k].low].size == size &&
            size > 0) /* the one piece that is not empty */
            return kiln__lowered_cast(b, p->list[k].low, dtype, node);
        if (b->lowered[p->list[k].low].size > 0)
            parts[count++] = store_part(b, node, &p->list[k], dtype, rank);
    }
    if (count == 0) { /* no elements: any value of the shape will do */
        const kiln__lowered zero = {.kind = KILN__LOWERED_CONST,
                                    .dtype = dtype,
                                    .size = 1,
                                    .number = {.kind = 'b'},
                                    .origin = node};
        return kiln__lowered_view(b, kiln__lowered_add(b, &zero), rank, shape, NULL, node);
    }
    made.arg = ++b->part_count;
    const uint32_t whole = kiln__lowered_over(b, &made, parts, count);
    for (size_t k = 0; k < count; k++)
        b->lowered[parts[k]].into = whole;
    return whole;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* The operands of a node as lowered nodes of their common dtype, which is the result's. */
static uint32_t *common_operands(kiln__build *b, uint32_t node, size_t count, kiln_dtype *dtype_out)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    kiln__op_type *types = kiln__build_alloc(b, (count + 1) * sizeof *types);
    uint32_t *lowered = kiln__build_alloc(b, (count + 1) * sizeof *lowered);
    kiln_dtype dtype = KILN_DTYPE_NONE;

    for (size_t k = 0; k < count; k++)
        if (!kiln__is_number(b, from[k], &types[k]))
            types[k].dtype = b->lowering.dtype[from[k]];
    if (!kiln__result_type(types, count, &dtype))
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "no dtype holds all operands");
    b->lowering.dtype[node] = dtype;
    if (b->target->wide && (dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16))
        dtype = KILN_FLOAT32;
    for (size_t k = 0; k < count; k++) {
        if (types[k].weak)
            kiln__need_fit(b, node, &types[k], dtype);
        lowered[k] = types[k].weak
                         ? kiln__lowered_number(b, from[k], dtype)
                         : kiln__lowered_cast(b, b->lowering.lowered[from[k]], dtype, node);
    }
    *dtype_out = dtype;
    return lowered;
}

static uint32_t flat(kiln__build *b, uint32_t node, uint32_t low)
{
    return kiln__lowered_reshaped(b, low, 1, &b->lowered[low].size, node);
}

static uint32_t with_rank(kiln__build *b, uint32_t node, uint32_t low, kiln_rearrangement atleast)
{
    const kiln__lowered *o = &b->lowered[low];
    kiln__arranged g;
    (void)kiln__arrange_view(atleast, NULL, 0, o->rank, o->shape, &g, NULL);
    return kiln__lowered_view(b, low, g.rank, g.shape, g.map, node);
}

static uint32_t with_axis(kiln__build *b, uint32_t node, uint32_t low, int axis)
{
    const kiln__lowered *o = &b->lowered[low];
    int64_t shape[KILN_RANK_MAX + 1];
    kiln__axis_map map[KILN_RANK_MAX];

    for (int a = 0; a < o->rank; a++) {
        shape[a < axis ? a : a + 1] = o->shape[a];
        map[a] = (kiln__axis_map){a < axis ? a : a + 1, 0, 1};
    }
    shape[axis] = 1;
    return kiln__lowered_view(b, low, o->rank + 1, shape, map, node);
}

static int read_axis(kiln__build *b, uint32_t node, int64_t axis, int rank)
{
    return kiln__lower_axis(b, node, axis, rank);
}

/* ---- side by side ---------------------------------------------------------------------------- */

/* An axis that grows by what the next operand or part has. */
static void extend(kiln__build *b, uint32_t node, int64_t *extent, int64_t by)
{
    if (kiln__add_overflow(*extent, by, extent))
        kiln__build_fail(b, node, KILN_ERR_OVERFLOW, "the result has too many elements");
}

uint32_t kiln__lowered_side_by_side(kiln__build *b, uint32_t node, const uint32_t *lowered,
                                    size_t count, int axis, kiln_dtype dtype)
{
    const kiln__lowered first = b->lowered[lowered[0]];
    int64_t shape[KILN_RANK_MAX];
    pieces p = {0};

    memcpy(shape, first.shape, (size_t)first.rank * sizeof *shape);
    shape[axis] = 0;
    for (size_t k = 0; k < count; k++) {
        const kiln__lowered *o = &b->lowered[lowered[k]];
        bool fits = o->rank == first.rank;
        for (int a = 0; fits && a < first.rank; a++)
            fits = a == axis || o->shape[a] == first.shape[a];
        if (!fits)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "operand %zu has shape %s, operand 1 %s",
                             k + 1, kiln__build_shape(b, o->rank, o->shape),
                             kiln__build_shape(b, first.rank, first.shape));
        piece *made = add_piece(b, node, &p);
        made->low = lowered[k];
        made->start[axis] = shape[axis];
        extend(b, node, &shape[axis], o->shape[axis]);
    }
    return join(b, node, dtype, first.rank, shape, &p);
}

static uint32_t concatenate(kiln__build *b, uint32_t node, const kiln__node *n)
{
    kiln_dtype dtype;
    uint32_t *lowered = common_operands(b, node, n->operand_count, &dtype);
    int64_t axis = n->data_count > 0 ? b->ir->data[n->data] : 0;
    const kiln_rearrangement what = (kiln_rearrangement)n->op;

    for (uint32_t k = 0; k < n->operand_count; k++) {
        if (what == KILN_REARRANGE_CONCATENATE && n->data_count == 0)
            lowered[k] = flat(b, node, lowered[k]);
        else if (what == KILN_REARRANGE_CONCATENATE && b->lowered[lowered[k]].rank == 0)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "operand %u has no axes", k + 1);
        else if (what == KILN_REARRANGE_HSTACK)
            lowered[k] = with_rank(b, node, lowered[k], KILN_REARRANGE_ATLEAST_1D);
        else if (what == KILN_REARRANGE_VSTACK)
            lowered[k] = with_rank(b, node, lowered[k], KILN_REARRANGE_ATLEAST_2D);
        else if (what == KILN_REARRANGE_DSTACK)
            lowered[k] = with_rank(b, node, lowered[k], KILN_REARRANGE_ATLEAST_3D);
        while (what == KILN_REARRANGE_COLUMN_STACK &&
               b->lowered[lowered[k]].rank < 2) /* a column */
            lowered[k] = with_axis(b, node, lowered[k], b->lowered[lowered[k]].rank);
    }
    if (what == KILN_REARRANGE_HSTACK)
        axis = b->lowered[lowered[0]].rank > 1;
    if (what == KILN_REARRANGE_COLUMN_STACK)
        axis = 1;
    if (what == KILN_REARRANGE_DSTACK)
        axis = 2;
    return kiln__lowered_side_by_side(b, node, lowered, n->operand_count,
                                      read_axis(b, node, axis, b->lowered[lowered[0]].rank), dtype);
}

/* What is stacked is known in pieces as well, so that operations on it need not wait for the join. */
static void note_pieces(kiln__build *b, uint32_t node, const uint32_t *lowered, size_t count,
                        int back)
{
    if (count > KILN__PIECES_MOST)
        return;
    kiln__pieces *p = kiln__build_alloc(b, sizeof *p);
    p->count = (int)count;
    p->back = back;
    memcpy(p->low, lowered, count * sizeof *lowered);
    b->lowering.pieces[node] = p;
}

static uint32_t stack(kiln__build *b, uint32_t node, const kiln__node *n)
{
    kiln_dtype dtype;
    uint32_t *lowered = common_operands(b, node, n->operand_count, &dtype);
    const int rank = b->lowered[lowered[0]].rank;
    const int axis = read_axis(b, node, n->data_count > 0 ? b->ir->data[n->data] : 0, rank + 1);

    for (uint32_t k = 1; k < n->operand_count; k++) {
        const kiln__lowered *o = &b->lowered[lowered[k]], *first = &b->lowered[lowered[0]];
        if (!kiln__same_shape(o->rank, o->shape, first->rank, first->shape))
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "operand %u has shape %s, operand 1 %s",
                             k + 1, kiln__build_shape(b, o->rank, o->shape),
                             kiln__build_shape(b, first->rank, first->shape));
    }
    for (uint32_t k = 0; k < n->operand_count; k++)
        lowered[k] = with_axis(b, node, lowered[k], axis);
    note_pieces(b, node, lowered, n->operand_count, rank - axis);
    return kiln__lowered_side_by_side(b, node, lowered, n->operand_count, axis, dtype);
}

/* ---- boxes of segments ----------------------------------------------------------------------- */

typedef struct cut {
    kiln__axis_run *list;
    size_t count;
} cut;

/* Add the boxes of all segments from `axis` on, those before it being chosen. Where nothing is the
 * source along an axis, the later axes need not be cut. */
static void add_boxes(kiln__build *b, uint32_t node, uint32_t low, uint32_t fill, const cut *cuts,
                      const int64_t *shape, int axis, kiln__axis_run *chosen, pieces *p)
{
    const int rank = b->lowered[low].rank;
    int64_t box[KILN_RANK_MAX];
    kiln__axis_map map[KILN_RANK_MAX];

    if (axis < rank && (axis == 0 || chosen[axis - 1].from >= 0)) {
        for (size_t k = 0; k < cuts[axis].count; k++) {
            chosen[axis] = cuts[axis].list[k];
            if (chosen[axis].count > 0)
                add_boxes(b, node, low, fill, cuts, shape, axis + 1, chosen, p);
        }
        return;
    }
    const bool filled = axis > 0 && chosen[axis - 1].from < 0;
    if (filled && fill == 0)
        return;
    piece *made = add_piece(b, node, p);
    for (int a = 0; a < rank; a++) {
        const kiln__axis_run whole = {0, shape[a], 0, 1}, *s = a < axis ? &chosen[a] : &whole;
        made->start[a] = s->at;
        box[a] = s->count;
        map[a] =
            s->step != 0 ? (kiln__axis_map){a, s->from, s->step} : (kiln__axis_map){-1, s->from, 0};
    }
    made->low = kiln__lowered_view(b, filled ? fill : low, rank, box, filled ? NULL : map, node);
}

static uint32_t of_boxes(kiln__build *b, uint32_t node, uint32_t low, uint32_t fill,
                         const cut *cuts)
{
    const kiln__lowered o = b->lowered[low];
    kiln__axis_run chosen[KILN_RANK_MAX];
    int64_t shape[KILN_RANK_MAX];
    pieces p = {0};

    for (int a = 0; a < o.rank; a++) {
        shape[a] = 0;
        for (size_t k = 0; k < cuts[a].count; k++)
            shape[a] += cuts[a].list[k].count;
    }
    (void)kiln__lowered_size(b, node, o.rank, shape, o.dtype);
    add_boxes(b, node, low, fill, cuts, shape, 0, chosen, &p);
    return join(b, node, o.dtype, o.rank, shape, &p);
}

static void whole_axis(kiln__build *b, cut *c, int64_t extent)
{
    const kiln__axis_run whole = {0, extent, 0, 1};
    c->list = kiln__build_copy(b, &whole, sizeof whole);
    c->count = 1;
}

/* Operand `k` of a node as a value of dtype `dtype`; a number must fit it. */
static uint32_t operand_as(kiln__build *b, uint32_t node, uint32_t k, kiln_dtype dtype,
                           const char *what)
{
    const uint32_t from = b->ir->edges[b->ir->nodes[node].operands + k];
    kiln__op_type type;

    if (!kiln__is_number(b, from, &type))
        return kiln__lowered_cast(b, b->lowering.lowered[from], dtype, node);
    if (!type.unknown && !kiln__number_fits(&type.number, dtype))
        kiln__build_fail(b, node, KILN_ERR_RANGE, "%s does not fit %s", what,
                         kiln_dtype_name(dtype));
    const bool whole = kiln_dtype_kind(dtype) == 'i' || kiln_dtype_kind(dtype) == 'u';
    if (whole && type.number.kind == 'f') /* 2.5 becomes 2 */
        return kiln__lowered_cast(b, kiln__lowered_number(b, from, KILN_FLOAT64), dtype, node);
    return kiln__lowered_number(b, from, dtype);
}

/* Numbers: the mode, then for each axis how many before and after. A second operand is the
 * constant. */
static uint32_t pad(kiln__build *b, uint32_t node, const kiln__node *n)
{
    const int64_t *data = b->ir->data + n->data;
    kiln_dtype dtype;
    uint32_t *lowered = common_operands(b, node, 1, &dtype);
    const int rank = b->lowered[lowered[0]].rank;
    cut *cuts = kiln__build_alloc(b, ((size_t)rank + 1) * sizeof *cuts);
    kiln__axis_run found[KILN__SEGMENTS_MAX];
    kiln_error err = KILN_ERROR_INIT;
    uint32_t fill = 0;

    const bool alike = n->data_count == 3; /* along all axes */
    if (!alike && n->data_count != 1 + 2 * (uint32_t)rank)
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "%u widths are given; rank %d takes %d, or 2 for all axes",
                         n->data_count - 1, rank, 2 * rank);
    if (data[0] == KILN_PAD_CONSTANT && n->operand_count > 1) {
        fill = operand_as(b, node, 1, dtype, "the constant");
        if (b->lowered[fill].rank != 0)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "the constant has shape %s",
                             kiln__build_shape(b, b->lowered[fill].rank, b->lowered[fill].shape));
    } else if (data[0] == KILN_PAD_CONSTANT) {
        const kiln__lowered zero = {.kind = KILN__LOWERED_CONST,
                                    .dtype = dtype,
                                    .size = 1,
                                    .number = {.kind = 'b'},
                                    .origin = node};
        fill = kiln__lowered_add(b, &zero);
    }
    for (int a = 0; a < rank; a++) {
        const int64_t *widths = data + (alike ? 1 : 1 + 2 * a);
        kiln__check_resolved(b, node,
                             kiln__arrange_pad((kiln_pad_mode)data[0],
                                               b->lowered[lowered[0]].shape[a], widths[0],
                                               widths[1], found, &cuts[a].count, &err),
                             &err);
        cuts[a].list = kiln__build_copy(b, found, cuts[a].count * sizeof *found);
    }
    return of_boxes(b, node, lowered[0], fill, cuts);
}

/* Numbers: shifts, then as many axes; or one shift of the elements in C-order. */
static uint32_t roll(kiln__build *b, uint32_t node, const kiln__node *n)
{
    const int64_t *data = b->ir->data + n->data;
    kiln_dtype dtype;
    uint32_t low = common_operands(b, node, 1, &dtype)[0];
    const kiln__lowered o = b->lowered[low];
    int64_t shifts[KILN_RANK_MAX] = {0};
    cut *cuts = kiln__build_alloc(b, ((size_t)o.rank + 1) * sizeof *cuts);
    const bool by_axes = n->data_count > 1;

    if (o.size == 0)
        return low;
    if (!by_axes) {
        low = flat(b, node, low);
        shifts[0] = data[0] % o.size;
    }
    for (uint32_t k = 0; by_axes && k < n->data_count / 2; k++) {
        const int a = read_axis(b, node, data[n->data_count / 2 + k], o.rank);
        shifts[a] = (shifts[a] + data[k] % o.shape[a]) % o.shape[a];
    }
    const int rank = b->lowered[low].rank;
    for (int a = 0; a < rank; a++) {
        const int64_t extent = b->lowered[low].shape[a];
        const int64_t s = (shifts[a] + extent) % extent;
        const kiln__axis_run two[] = {{0, s, extent - s, 1}, {s, extent - s, 0, 1}};
        whole_axis(b, &cuts[a], extent);
        if (s != 0)
            cuts[a] = (cut){kiln__build_copy(b, two, sizeof two), 2};
    }
    low = of_boxes(b, node, low, 0, cuts);
    return by_axes ? low : kiln__lowered_reshaped(b, low, o.rank, o.shape, node);
}

/* Numbers: the axis, then what is left out of it. */
static uint32_t leave_out(kiln__build *b, uint32_t node, const kiln__node *n)
{
    const int64_t *data = b->ir->data + n->data;
    kiln_dtype dtype;
    const uint32_t low = common_operands(b, node, 1, &dtype)[0];
    const kiln__lowered o = b->lowered[low];
    cut *cuts = kiln__build_alloc(b, ((size_t)o.rank + 1) * sizeof *cuts);

    const int axis = read_axis(b, node, data[0], o.rank);
    const int64_t extent = o.shape[axis];
    int64_t *gone = kiln__build_alloc(b, (n->data_count + 1) * sizeof *gone);
    size_t count = 0, kept = 0;
    for (uint32_t k = 1; k < n->data_count; k++) {
        const int64_t i = data[k] < 0 ? data[k] + extent : data[k];
        if (i < 0 || i >= extent)
            kiln__build_fail(b, node, KILN_ERR_AXIS,
                             "index %lld is out of range for axis %d, which has %lld elements",
                             (long long)data[k], axis, (long long)extent);
        size_t at = count++; /* sorted, as few as there are */
        for (; at > 0 && gone[at - 1] > i; at--)
            gone[at] = gone[at - 1];
        gone[at] = i;
    }
    for (int a = 0; a < o.rank; a++)
        whole_axis(b, &cuts[a], o.shape[a]);
    kiln__axis_run *list = kiln__build_alloc(b, (count + 1) * sizeof *list);
    int64_t at = 0, from = 0;
    for (size_t k = 0; k <= count; k++) {
        const int64_t stop = k < count ? gone[k] : extent;
        if (stop > from) {
            list[kept++] = (kiln__axis_run){at, stop - from, from, 1};
            at += stop - from;
        }
        from = stop >= from ? stop + 1 : from;
    }
    cuts[axis] = (cut){list, kept};
    return of_boxes(b, node, low, 0, cuts);
}

/* Where an element goes in, and which of the values. */
typedef struct gap {
    int64_t at, value;
} gap;

/* What goes into a gap: values of a shape that broadcasts. With one gap they are as many as their
 * first axis has, if they have as many axes as the array; else there is one for each gap, along the
 * axis. */
static uint32_t values_at(kiln__build *b, uint32_t node, uint32_t values, const kiln__lowered *o,
                          int axis, size_t gaps, int64_t which, int64_t *box)
{
    const kiln__lowered v = b->lowered[values];
    kiln__axis_map map[KILN_RANK_MAX];

    memcpy(box, o->shape, (size_t)o->rank * sizeof *box);
    box[axis] = gaps == 1 && v.rank == o->rank && v.rank > 0 ? v.shape[0] : 1;
    bool fits = v.rank <= o->rank;
    for (int a = 0; fits && a < v.rank; a++) {
        const int p = a + o->rank - v.rank; /* its axis beside the array's */
        const int to = gaps > 1 ? p : p == 0 ? axis : p <= axis ? p - 1 : p;
        const int64_t wanted = to != axis ? o->shape[to] : gaps > 1 ? (int64_t)gaps : box[axis];
        fits = v.shape[a] == 1 || v.shape[a] == wanted;
        map[a] = v.shape[a] == 1          ? (kiln__axis_map){-1, 0, 0}
                 : to == axis && gaps > 1 ? (kiln__axis_map){-1, which, 0}
                                          : (kiln__axis_map){to, 0, 1};
    }
    if (!fits)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "values of shape %s do not go into shape %s",
                         kiln__build_shape(b, v.rank, v.shape),
                         kiln__build_shape(b, o->rank, o->shape));
    return kiln__lowered_view(b, values, o->rank, box, map, node);
}

/* Numbers: the axis, then the places before which values stand, by the array's own indices. */
static uint32_t put_in(kiln__build *b, uint32_t node, const kiln__node *n)
{
    const int64_t *data = b->ir->data + n->data;
    const size_t count = n->data_count - 1;
    kiln_dtype dtype;
    const uint32_t low = common_operands(b, node, 1, &dtype)[0];
    const uint32_t values = operand_as(b, node, 1, dtype, "the number");
    const kiln__lowered o = b->lowered[low];
    const int axis = read_axis(b, node, data[0], o.rank);
    gap *gaps = kiln__build_alloc(b, (count + 1) * sizeof *gaps);
    int64_t shape[KILN_RANK_MAX], box[KILN_RANK_MAX], from = 0;
    pieces p = {0};

    for (size_t k = 0; k < count; k++) {
        const int64_t i = data[1 + k] < 0 ? data[1 + k] + o.shape[axis] : data[1 + k];
        if (i < 0 || i > o.shape[axis])
            kiln__build_fail(b, node, KILN_ERR_AXIS,
                             "index %lld is out of range for axis %d, which has %lld elements",
                             (long long)data[1 + k], axis, (long long)o.shape[axis]);
        size_t at = k; /* sorted; those of one place in the order given */
        for (; at > 0 && gaps[at - 1].at > i; at--)
            gaps[at] = gaps[at - 1];
        gaps[at] = (gap){i, (int64_t)k};
    }
    memcpy(shape, o.shape, (size_t)o.rank * sizeof *shape);
    shape[axis] = 0;
    for (size_t k = 0; k <= count; k++) {
        const int64_t stop = k < count ? gaps[k].at : o.shape[axis];
        kiln__axis_map map[KILN_RANK_MAX];
        for (int a = 0; a < o.rank; a++)
            map[a] = (kiln__axis_map){a, a == axis ? from : 0, 1};
        memcpy(box, o.shape, (size_t)o.rank * sizeof *box);
        box[axis] = stop - from;
        piece *kept = add_piece(b, node, &p);
        kept->start[axis] = shape[axis];
        kept->low = kiln__lowered_view(b, low, o.rank, box, map, node);
        shape[axis] += box[axis];
        from = stop;
        if (k == count)
            break;
        const uint32_t one = values_at(b, node, values, &o, axis, count, gaps[k].value, box);
        piece *put = add_piece(b, node, &p);
        put->start[axis] = shape[axis];
        put->low = one;
        extend(b, node, &shape[axis], box[axis]);
    }
    return join(b, node, dtype, o.rank, shape, &p);
}

/* ---- again and again ------------------------------------------------------------------------- */

/* An array of the shape (r0, n0, r1, n1, ...), spread along the axes of `times`, as one of shape
 * (r0 * n0, r1 * n1, ...). With `inner` it is (n0, r0, ...): elements, not the whole, are repeated. */
static uint32_t spread(kiln__build *b, uint32_t node, uint32_t low, const int64_t *times,
                       bool inner)
{
    const kiln__lowered o = b->lowered[low];
    int64_t wide[KILN_RANK_MAX], shape[KILN_RANK_MAX];
    kiln__axis_map map[KILN_RANK_MAX];
    int rank = 0;

    for (int a = 0; a < o.rank; a++) {
        if (times[a] < 0)
            kiln__build_fail(b, node, KILN_ERR_ARGUMENT, "the number of repetitions is %lld",
                             (long long)times[a]);
        if (kiln__mul_overflow(o.shape[a], times[a], &shape[a]))
            kiln__build_fail(b, node, KILN_ERR_OVERFLOW, "the result has too many elements");
        if (rank + 2 > KILN_RANK_MAX)
            kiln__build_fail(b, node, KILN_ERR_UNSUPPORTED, "so many axes cannot be repeated");
        if (times[a] != 1 && !inner)
            wide[rank++] = times[a];
        map[a] = (kiln__axis_map){rank, 0, 1};
        wide[rank++] = o.shape[a];
        if (times[a] != 1 && inner)
            wide[rank++] = times[a];
    }
    return kiln__lowered_reshaped(b, kiln__lowered_view(b, low, rank, wide, map, node), o.rank,
                                  shape, node);
}

/* An array larger than what caches keep is read once, and stored where it is repeated, as parts of
 * a join; a part's rows must be long runs of memory. */
enum { PARTS_OF_TILE = 8, BYTES_OF_TILE = 1 << 22, BYTES_OF_RUN = 512 };

static bool tiles_in_parts(const kiln__lowered *o, const int64_t *times)
{
    const int64_t item = (int64_t)kiln_dtype_size(o->dtype);
    int64_t parts = 1, run = item;
    bool inside = true; /* a repeated axis ends the run */

    for (int a = o->rank; a-- > 0;) {
        if (times[a] < 1 || times[a] > PARTS_OF_TILE || parts * times[a] > PARTS_OF_TILE)
            return false;
        parts *= times[a];
        run *= inside ? o->shape[a] : 1;
        inside = inside && times[a] == 1;
    }
    return parts > 1 && run >= BYTES_OF_RUN && o->size >= BYTES_OF_TILE / item;
}

static uint32_t tile_in_parts(kiln__build *b, uint32_t node, uint32_t low, const int64_t *times)
{
    const kiln__lowered o = b->lowered[low];
    int64_t shape[KILN_RANK_MAX], parts = 1;
    pieces p = {0};

    for (int a = 0; a < o.rank; a++) {
        if (kiln__mul_overflow(o.shape[a], times[a], &shape[a]))
            kiln__build_fail(b, node, KILN_ERR_OVERFLOW, "the result has too many elements");
        parts *= times[a];
    }
    for (int64_t k = 0; k < parts; k++) {
        piece *made = add_piece(b, node, &p);
        int64_t rest = k;
        for (int a = o.rank; a-- > 0; rest /= times[a])
            made->start[a] = rest % times[a] * o.shape[a];
        made->low = low;
    }
    return join(b, node, o.dtype, o.rank, shape, &p);
}

/* Numbers: repetitions along the last axes. */
static uint32_t tile(kiln__build *b, uint32_t node, const kiln__node *n)
{
    const int64_t *data = b->ir->data + n->data;
    const int count = (int)n->data_count;
    kiln_dtype dtype;
    uint32_t low = common_operands(b, node, 1, &dtype)[0];
    int64_t times[KILN_RANK_MAX];

    while (b->lowered[low].rank < count)
        low = with_axis(b, node, low, 0);
    const int rank = b->lowered[low].rank;
    for (int a = 0; a < rank; a++)
        times[a] = a < rank - count ? 1 : data[a - (rank - count)];
    if (tiles_in_parts(&b->lowered[low], times))
        return tile_in_parts(b, node, low, times);
    return spread(b, node, low, times, false);
}

/* On the cpu device a few neighbours that are one element are a short loop for each element. They are stored side by side
 * instead, as results of one kernel, but where an array is so small that no time is lost. */
enum { REPEATED_MIN = 32 };

static bool repeats_in_parts(const kiln__build *b, const kiln__lowered *o, int axis, int64_t times)
{
    return b->target->backend == KILN_BACKEND_CPU && axis == o->rank - 1 &&
           o->rank < KILN_RANK_MAX && times > 1 && times <= PARTS_OF_TILE &&
           o->size >= REPEATED_MIN;
}

static uint32_t repeat_in_parts(kiln__build *b, uint32_t node, uint32_t low, int64_t times)
{
    const kiln__lowered o = b->lowered[low];
    uint32_t parts[PARTS_OF_TILE];
    int64_t shape[KILN_RANK_MAX];

    memcpy(shape, o.shape, (size_t)o.rank * sizeof *shape);
    if (kiln__mul_overflow(o.shape[o.rank - 1], times, &shape[o.rank - 1]))
        kiln__build_fail(b, node, KILN_ERR_OVERFLOW, "the result has too many elements");
    for (int64_t k = 0; k < times; k++)
        parts[k] = with_axis(b, node, low, o.rank);
    const uint32_t all =
        kiln__lowered_side_by_side(b, node, parts, (uint32_t)times, o.rank, o.dtype);
    return kiln__lowered_reshaped(b, all, o.rank, shape, node);
}

/* Numbers: repetitions of each element, or of every one, then the axis; without it, of the elements
 * in C-order. */
static uint32_t repeat(kiln__build *b, uint32_t node, const kiln__node *n, bool has_axis)
{
    const int64_t *data = b->ir->data + n->data;
    const uint32_t count = n->data_count - has_axis;
    kiln_dtype dtype;
    uint32_t low = common_operands(b, node, 1, &dtype)[0];
    int64_t times[KILN_RANK_MAX];
    pieces p = {0};

    if (!has_axis)
        low = flat(b, node, low);
    const kiln__lowered o = b->lowered[low];
    const int axis = has_axis ? read_axis(b, node, data[count], o.rank) : 0;
    for (int a = 0; a < o.rank; a++)
        times[a] = a == axis ? data[0] : 1;
    if (count == 1 && repeats_in_parts(b, &o, axis, data[0]))
        return repeat_in_parts(b, node, low, data[0]);
    if (count == 1)
        return spread(b, node, low, times, true);
    if ((int64_t)count != o.shape[axis])
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%u repetitions for %lld elements", count,
                         (long long)o.shape[axis]);
    int64_t shape[KILN_RANK_MAX], box[KILN_RANK_MAX];
    memcpy(shape, o.shape, (size_t)o.rank * sizeof *shape);
    memcpy(box, o.shape, (size_t)o.rank * sizeof *box);
    shape[axis] = 0;
    for (uint32_t k = 0; k < count; k++) {
        kiln__axis_map map[KILN_RANK_MAX];
        if (data[k] < 0)
            kiln__build_fail(b, node, KILN_ERR_ARGUMENT, "the number of repetitions is %lld",
                             (long long)data[k]);
        for (int a = 0; a < o.rank; a++)
            map[a] = (kiln__axis_map){a, 0, 1};
        map[axis] = (kiln__axis_map){-1, k, 0};
        box[axis] = data[k];
        piece *made = add_piece(b, node, &p);
        made->start[axis] = shape[axis];
        made->low = kiln__lowered_view(b, low, o.rank, box, map, node);
        extend(b, node, &shape[axis], data[k]);
    }
    return join(b, node, dtype, o.rank, shape, &p);
}

/* ---- the door -------------------------------------------------------------------------------- */

uint32_t kiln__lower_rearranged(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln_rearrangement what = (kiln_rearrangement)n->op;
    kiln_error err = KILN_ERROR_INIT;
    kiln__arranged g;

    if (what == KILN_REARRANGE_WINDOW && n->data_count != 3)
        return kiln__lower_windows(b, node);
    if (kiln__arrange_is_view(what)) {
        const uint32_t x = kiln__lowered_strong(b, b->ir->edges[n->operands]);
        const kiln__lowered *o = &b->lowered[x];
        b->lowering.dtype[node] = b->lowering.dtype[b->ir->edges[n->operands]];
        kiln__check_resolved(b, node,
                             kiln__arrange_view(what, b->ir->data + n->data, n->data_count, o->rank,
                                                o->shape, &g, &err),
                             &err);
        return kiln__lowered_view(b, x, g.rank, g.shape, g.map, node);
    }
    switch (what) {
    case KILN_REARRANGE_STACK:
        return stack(b, node, n);
    case KILN_REARRANGE_PAD:
        return pad(b, node, n);
    case KILN_REARRANGE_ROLL:
        return roll(b, node, n);
    case KILN_REARRANGE_DELETE:
        return leave_out(b, node, n);
    case KILN_REARRANGE_INSERT:
        return put_in(b, node, n);
    case KILN_REARRANGE_TILE:
        return tile(b, node, n);
    case KILN_REARRANGE_REPEAT:
        return repeat(b, node, n, false);
    case KILN_REARRANGE_REPEAT_ALONG:
        return repeat(b, node, n, true);
    default:
        return concatenate(b, node, n);
    }
}
