/*
 * maps.c - views as maps of axes: transposes, slices, broadcasting and all else that moves no
 * element.
 *
 * For each axis of the viewed value, a map says which axis of the view runs along it, from which
 * index and with which step. Maps compose: a chain of views is one map. A computed value that is
 * viewed is computed only for the elements that the view shows. The passes that lower views, and
 * those that write texts, call this file.
 *
 * Rule: maps are canonical. An axis of extent 1, or one that is seen at a single index, has from -1
 *       and step 0, so that equal views have equal maps.
 *
 * Test: test_graph_loop.
 */
#include "fusion/build.h"

void kiln__compose(const kiln__axis_map *outer, const kiln__axis_map *inner, int count,
                   kiln__axis_map *out)
{
    for (int a = 0; a < count; a++) {
        const kiln__axis_map in = inner[a];
        if (in.from < 0) {
            out[a] = in;
            continue;
        }
        const kiln__axis_map by = outer[in.from];
        out[a] = (kiln__axis_map){by.from, in.start + in.step * by.start, in.step * by.step};
        if (by.from < 0)
            out[a].step = 0;
    }
}

void kiln__broadcast_map(const kiln__lowered *operand, int rank, const int64_t *shape,
                         kiln__axis_map *map_out)
{
    for (int a = 0; a < operand->rank; a++) {
        const int from = a + rank - operand->rank;
        const bool moves = operand->shape[a] != 1 && shape[from] != 1;
        map_out[a] = moves ? (kiln__axis_map){from, 0, 1} : (kiln__axis_map){-1, 0, 0};
    }
}

static bool is_identity(const kiln__lowered *o, int rank, const int64_t *shape,
                        const kiln__axis_map *map)
{
    if (!kiln__same_shape(o->rank, o->shape, rank, shape))
        return false;
    for (int a = 0; a < rank; a++)
        if (o->shape[a] != 1 && (map[a].from != a || map[a].start != 0 || map[a].step != 1))
            return false;
    return true;
}

/* The view of an argument's array: strides and offset instead of a map. */
static uint32_t view_leaf(kiln__build *b, const kiln__lowered *leaf, kiln__lowered *made)
{
    made->kind = KILN__LOWERED_LEAF;
    made->arg = leaf->arg;
    made->offset = leaf->offset;
    made->strides = kiln__build_alloc(b, (size_t)made->rank * sizeof *made->strides);
    for (int a = 0; a < leaf->rank; a++) {
        made->offset += made->map[a].start * leaf->strides[a];
        if (made->map[a].from >= 0)
            made->strides[made->map[a].from] += made->map[a].step * leaf->strides[a];
    }
    if (made->size == 0)
        made->offset = leaf->offset;
    made->map = NULL;
    return kiln__lowered_add(b, made);
}

uint32_t kiln__lowered_view(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                            const kiln__axis_map *map, uint32_t origin)
{
    const kiln__lowered *o = &b->lowered[low];
    kiln__lowered made = {
        .kind = KILN__LOWERED_VIEW, .dtype = o->dtype, .rank = rank, .origin = origin};

    if (rank > KILN_RANK_MAX)
        kiln__build_fail(b, origin, KILN_ERR_ARGUMENT, "the result would have %d axes; %d are allowed",
                         rank, KILN_RANK_MAX);
    if (is_identity(o, rank, shape, map))
        return low;
    made.shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape);
    made.size = kiln__lowered_size(b, origin, rank, shape, o->dtype);
    made.map = kiln__build_copy(b, map, (size_t)o->rank * sizeof *map);
    for (int a = 0; a < o->rank; a++) {
        kiln__axis_map *m = &made.map[a];
        if (m->from < 0 || shape[m->from] == 1)
            *m = (kiln__axis_map){-1, m->start, 0};
    }
    if (o->kind == KILN__LOWERED_LEAF)
        return view_leaf(b, o, &made);
    if (o->kind == KILN__LOWERED_VIEW) {
        const kiln__lowered *behind = &b->lowered[o->operand[0]];
        kiln__axis_map *through = kiln__build_alloc(b, (size_t)behind->rank * sizeof *through);
        kiln__compose(made.map, o->map, behind->rank, through);
        return kiln__lowered_view(b, o->operand[0], rank, shape, through, origin);
    }
    made.operand = kiln__build_copy(b, &low, sizeof low);
    made.operand_count = 1;
    return kiln__lowered_add(b, &made);
}

int kiln__lower_axis(kiln__build *b, uint32_t node, int64_t axis, int rank)
{
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
        kiln__build_fail(b, node, KILN_ERR_AXIS, "axis %lld is out of range for rank %d",
                         (long long)axis, rank);
    return (int)at;
}
