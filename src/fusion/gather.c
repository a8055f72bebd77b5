/*
 * gather.c - elements that index arrays name: x[i], take() and take_along_axis().
 *
 *     lower > [gather > lowered, maps]
 *
 * A gather is computed where it is used, as any operation: the kernel reads the indices, and
 * through them the array. Its first operand is the array, which is in memory. The other operands
 * are the indices, shaped so that they broadcast to the result. The map of a gather has an entry
 * for each axis of the array: the axis of the result that runs along it, or the indices that do
 * (KILN__BY_INDEX). A window of a stored array is a gather, too.
 *
 * Tests: test_gather, test_take.
 */
#include "fusion/build.h"

/* Axes of an array that indices are given for, and what they are. */
typedef struct indexed {
    uint32_t low[KILN_RANK_MAX];
    int axis[KILN_RANK_MAX];
    int count;
    int rank; /* what the indices broadcast to */
    int64_t shape[KILN_RANK_MAX];
} indexed;

/* The operand of a recorded node as an array in memory. */
static uint32_t table_low(kiln__build *b, uint32_t node, uint32_t from)
{
    const uint32_t x = kiln__lowered_strong(b, from);
    const kiln__lowered *behind = &b->lowered[kiln__behind(b, x)];
    const bool made_of_nothing = behind->kind == KILN__LOWERED_CONST ||
                                 behind->kind == KILN__LOWERED_SCALAR ||
                                 behind->kind == KILN__LOWERED_IOTA;

    return made_of_nothing ? kiln__lowered_store(b, x, node) : x;
}

/* Indices as a lowered node: an integer array, or a number. */
static uint32_t index_low(kiln__build *b, uint32_t node, uint32_t from)
{
    const uint32_t low = kiln__lowered_strong(b, from);
    const char kind = kiln_dtype_kind(b->lowered[low].dtype);

    if (kind != 'i' && kind != 'u')
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "indices must be integers, and these are %s",
                         kiln_dtype_name(b->lowered[low].dtype));
    return low;
}

/* A known number is checked now. */
static void check_number(kiln__build *b, uint32_t node, uint32_t low, const kiln__lowered *table,
                         int axis, int64_t mode)
{
    const kiln__lowered *n = &b->lowered[low];

    if (n->kind != KILN__LOWERED_CONST || mode != KILN_INDEX_CHECK)
        return;
    const int64_t i = n->number.value.i, extent = table->shape[axis];
    if (i < -extent || i >= extent)
        kiln__build_fail(b, node, KILN_ERR_AXIS,
                         "index %lld is out of range for axis %d, which has %lld elements",
                         (long long)i, axis, (long long)extent);
}

static void read_indices(kiln__build *b, uint32_t node, const kiln__lowered *table, indexed *g)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *data = b->ir->data + n->data;

    for (uint32_t k = 1; k < n->operand_count; k++) {
        const int axis = kiln__lower_axis(b, node, data[KILN__GATHER_AXES + k - 1], table->rank);
        const uint32_t low = index_low(b, node, b->ir->edges[n->operands + k]);
        int at = g->count;
        for (int a = 0; a < g->count; a++)
            if (g->axis[a] == axis)
                kiln__build_fail(b, node, KILN_ERR_AXIS, "axis %d is given twice", axis);
        for (; at > 0 && g->axis[at - 1] > axis; at--) { /* sorted by axes */
            g->axis[at] = g->axis[at - 1];
            g->low[at] = g->low[at - 1];
        }
        g->axis[at] = axis;
        g->low[at] = low;
        g->count++;
        check_number(b, node, low, table, axis, data[KILN__GATHER_MODE]);
        const kiln__lowered *i = &b->lowered[low];
        if (!kiln__shape_broadcast(&g->rank, g->shape, i->rank, i->shape))
            kiln__build_fail(b, node, KILN_ERR_SHAPE,
                             "indices of shape %s do not broadcast with those before them, of shape %s",
                             kiln__build_shape(b, i->rank, i->shape),
                             kiln__build_shape(b, g->rank, g->shape));
    }
}

/* Indices with so many further axes of one element behind their own. */
static uint32_t with_axes(kiln__build *b, uint32_t node, uint32_t low, int behind)
{
    const kiln__lowered *o = &b->lowered[low];
    int64_t shape[2 * KILN_RANK_MAX];
    kiln__axis_map map[KILN_RANK_MAX];

    if (o->rank == 0)
        return low;
    for (int a = 0; a < o->rank; a++) {
        shape[a] = o->shape[a];
        map[a] = (kiln__axis_map){a, 0, 1};
    }
    for (int a = 0; a < behind; a++)
        shape[o->rank + a] = 1;
    return kiln__lowered_view(b, low, o->rank + behind, shape, map, node);
}

/* Where nothing can be taken from. */
static void check_extents(kiln__build *b, uint32_t node, const kiln__lowered *table,
                          const kiln__lowered *made)
{
    for (int a = 0; a < table->rank; a++)
        if (made->map[a].from <= KILN__BY_INDEX && table->shape[a] == 0 && made->size > 0)
            kiln__build_fail(b, node, KILN_ERR_INDEX, "axis %d has no elements", a);
}

static uint32_t finish(kiln__build *b, uint32_t node, uint32_t table, const indexed *g,
                       kiln__lowered *made)
{
    uint32_t operands[1 + KILN_RANK_MAX] = {table};

    made->kind = KILN__LOWERED_GATHER;
    made->origin = node;
    made->dtype = b->lowered[table].dtype;
    made->op = (int)b->ir->data[b->ir->nodes[node].data + KILN__GATHER_MODE];
    made->size = kiln__lowered_size(b, node, made->rank, made->shape, made->dtype);
    check_extents(b, node, &b->lowered[table], made);
    memcpy(operands + 1, g->low, (size_t)g->count * sizeof *operands);
    b->lowering.dtype[node] = b->lowering.dtype[b->ir->edges[b->ir->nodes[node].operands]];
    return kiln__lowered_over(b, made, operands, 1 + (size_t)g->count);
}

/* The axes that the indices broadcast to stand where the first indexed axis was, when the indexed
 * ones are neighbours, and else come first. */
static uint32_t gather(kiln__build *b, uint32_t node, uint32_t table, indexed *g)
{
    const kiln__lowered o = b->lowered[table];
    const bool first =
        b->ir->data[b->ir->nodes[node].data + KILN__GATHER_KIND] == KILN__GATHER_APART ||
        g->axis[g->count - 1] - g->axis[0] != g->count - 1;
    const int place = first ? 0 : g->axis[0], rank = o.rank - g->count + g->rank;
    int64_t *shape = kiln__build_alloc(b, ((size_t)rank + 1) * sizeof *shape);
    kiln__lowered made = {.rank = rank, .shape = shape};

    if (rank > KILN_RANK_MAX)
        kiln__build_fail(b, node, KILN_ERR_ARGUMENT,
                         "the result would have %d axes; %d are allowed", rank, KILN_RANK_MAX);
    made.map = kiln__build_alloc(b, ((size_t)o.rank + 1) * sizeof *made.map);
    if (g->rank > 0)
        memcpy(shape + place, g->shape, (size_t)g->rank * sizeof *shape);
    for (int a = 0, k = 0, own = 0; a < o.rank; a++) {
        if (k < g->count && g->axis[k] == a) {
            made.map[a] = (kiln__axis_map){KILN__BY_INDEX - k++, 0, 1};
            continue;
        }
        const int to = own < place ? own : own + g->rank;
        own++;
        shape[to] = o.shape[a];
        made.map[a] = o.shape[a] == 1 ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){to, 0, 1};
    }
    for (int k = 0; k < g->count; k++)
        g->low[k] = with_axes(b, node, g->low[k], rank - place - g->rank);
    return finish(b, node, table, g, &made);
}

/* take_along_axis(): the indices have all of the array's axes, and broadcast with it on the others. */
static uint32_t gather_along(kiln__build *b, uint32_t node, uint32_t table, indexed *g)
{
    const kiln__lowered o = b->lowered[table], i = b->lowered[g->low[0]];
    int64_t *shape = kiln__build_alloc(b, ((size_t)o.rank + 1) * sizeof *shape);
    kiln__lowered made = {.rank = o.rank, .shape = shape};

    made.map = kiln__build_alloc(b, ((size_t)o.rank + 1) * sizeof *made.map);
    bool fits = i.rank == o.rank;
    for (int a = 0; fits && a < o.rank; a++) {
        const bool along = a == g->axis[0];
        fits = along || o.shape[a] == i.shape[a] || o.shape[a] == 1 || i.shape[a] == 1;
        shape[a] = along || o.shape[a] == 1 ? i.shape[a] : o.shape[a];
        made.map[a] = along             ? (kiln__axis_map){KILN__BY_INDEX, 0, 1}
                      : o.shape[a] == 1 ? (kiln__axis_map){-1, 0, 0}
                                        : (kiln__axis_map){a, 0, 1};
    }
    if (!fits)
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "indices of shape %s do not fit an array of shape %s along axis %d",
                         kiln__build_shape(b, i.rank, i.shape),
                         kiln__build_shape(b, o.rank, o.shape), g->axis[0]);
    return finish(b, node, table, g, &made);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* An array's windows along `axis` are a view of it: two axes of the result run along it. */
static uint32_t leaf_windows(kiln__build *b, const kiln__lowered *leaf, int axis,
                             kiln__lowered *made)
{
    made->kind = KILN__LOWERED_LEAF;
    made->arg = leaf->arg;
    made->offset = leaf->offset;
    made->strides = kiln__build_alloc(b, (size_t)made->rank * sizeof *made->strides);
    memcpy(made->strides, leaf->strides, (size_t)leaf->rank * sizeof *made->strides);
    made->strides[leaf->rank] = leaf->strides[axis];
    return kiln__lowered_add(b, made);
}

/* Of what is stored first the windows are read by their positions: the first one's and that in the window. */
static uint32_t stored_windows(kiln__build *b, uint32_t node, uint32_t x, int axis,
                               kiln__lowered *made)
{
    int64_t *shape = kiln__build_alloc(b, (size_t)made->rank * sizeof *shape);
    int64_t *coef = kiln__build_alloc(b, (size_t)made->rank * sizeof *coef);
    const int last = made->rank - 1;

    made->map = kiln__build_alloc(b, (size_t)last * sizeof *made->map);
    for (int a = 0; a < made->rank; a++) {
        coef[a] = a == axis || a == last;
        shape[a] = coef[a] ? made->shape[a] : 1;
        if (a < last)
            made->map[a] = a == axis             ? (kiln__axis_map){KILN__BY_INDEX, 0, 1}
                           : made->shape[a] == 1 ? (kiln__axis_map){-1, 0, 0}
                                                 : (kiln__axis_map){a, 0, 1};
    }
    const kiln__lowered places = {.kind = KILN__LOWERED_IOTA,
                                  .dtype = KILN_INT64,
                                  .rank = made->rank,
                                  .shape = shape,
                                  .size =
                                      kiln__lowered_size(b, node, made->rank, shape, KILN_INT64),
                                  .coef = coef,
                                  .origin = node};
    const uint32_t operands[] = {x, kiln__lowered_add(b, &places)};
    made->kind = KILN__LOWERED_GATHER;
    made->op = KILN_INDEX_CLIP; /* none is out of range */
    return kiln__lowered_over(b, made, operands, 2);
}

uint32_t kiln__lower_windows(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *data = b->ir->data + n->data;
    const uint32_t x = table_low(b, node, b->ir->edges[n->operands]);
    const kiln__lowered o = b->lowered[x];
    kiln__lowered made = {.rank = o.rank + 1, .dtype = o.dtype, .origin = node};
    int64_t shape[KILN_RANK_MAX + 1];
    kiln_error err = KILN_ERROR_INIT;
    int axis = 0;

    kiln__check_resolved(
        b, node, kiln__arrange_windows(data, n->data_count, o.rank, o.shape, shape, &axis, &err),
        &err);
    made.shape = kiln__build_copy(b, shape, (size_t)made.rank * sizeof *shape);
    made.size = kiln__lowered_size(b, node, made.rank, shape, o.dtype);
    b->lowering.dtype[node] = b->lowering.dtype[b->ir->edges[n->operands]];
    if (o.kind == KILN__LOWERED_LEAF)
        return leaf_windows(b, &o, axis, &made);
    return stored_windows(b, node, x, axis, &made);
}

uint32_t kiln__lower_gather(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t table = table_low(b, node, b->ir->edges[n->operands]);
    indexed g = {.count = 0};

    read_indices(b, node, &b->lowered[table], &g);
    return b->ir->data[n->data + KILN__GATHER_KIND] == KILN__GATHER_ALONG
               ? gather_along(b, node, table, &g)
               : gather(b, node, table, &g);
}
