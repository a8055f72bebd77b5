/*
 * relative.c - nodes that follow another node: its shape, its extents, its dtype, or the axes of a
 * mask.
 *
 *     parse.c, written.c and the files of masks > [relative] > record.c > kiln__ir
 *
 * How many axes an array has is known when a call is planned, and so is what these nodes become:
 * src/fusion/views.c and src/fusion/extents.c.
 *
 * Tests: test_choosing, test_extents, test_written.
 */
#include "graph/graph.h"

static kiln_node view(int kind, kiln_node x, kiln_node other, const int64_t *data, size_t count,
                      const char *what, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = kind};
    const kiln_node operands[] = {x, other};
    return kiln__record(&node, operands, 2, data, count, what, file, line);
}

/* ---- masks ------------------------------------------------------------------------------------- */

kiln_node kiln__node_masked(kiln_node x, kiln_node mask, const char *file, int line)
{
    return view(KILN__VIEW_MASKED, x, mask, NULL, 0, "mask", file, line);
}

kiln_node kiln__node_mask_of(kiln_node mask, kiln_node x, bool whole, const char *file, int line)
{
    return view(whole ? KILN__VIEW_WHOLE : KILN__VIEW_OVER, mask, x, NULL, 0, "mask", file, line);
}

kiln_node kiln__node_folded(kiln_node x, kiln_node mask, int axis, const char *file, int line)
{
    const int64_t data = axis;
    return view(KILN__VIEW_FOLDED, x, mask, &data, 1, "mask", file, line);
}

kiln_node kiln__node_merged(kiln_node x, int64_t count, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_FOLDED};
    const int64_t data[] = {-1, count};
    return kiln__record(&node, &x, 1, data, 2, "reshape", file, line);
}

kiln_node kiln__node_beside(kiln_node y, kiln_node x, const kiln_node *mask, int axis,
                            const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_BESIDE};
    const kiln_node operands[] = {y, x, mask != NULL ? *mask : x};
    const int64_t data = axis;
    return kiln__record(&node, operands, mask != NULL ? 3 : 2, &data, 1, "mask", file, line);
}

kiln_node kiln__node_aligned(kiln_node y, int axis, kiln_node x, int other, const char *file,
                             int line)
{
    const int64_t data[] = {axis, other};
    return view(KILN__VIEW_ALIGNED, y, x, data, 2, "mask", file, line);
}

kiln_node kiln__node_apart(kiln_node x, int64_t axis, int64_t other, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_APART};
    const int64_t data[] = {axis, other};
    return kiln__record(&node, &x, 1, data, 2, "axis", file, line);
}

kiln_node kiln__node_ranked(kiln_node x, int least, int most, int hint, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_RANKED};
    const int64_t data[] = {least, most, hint};
    return kiln__record(&node, &x, 1, data, 3, "shape", file, line);
}

kiln_node kiln__node_need(kiln_node ok, kiln_node x, kiln_node number, int what, const char *file,
                          int line)
{
    const kiln_node operands[] = {
        ok, x, kiln_node_cast(number, KILN_FLOAT64, file, line),
        kiln__node_broadcast_like(kiln__graph_number(number.graph, kiln_node_of_int(what)), number,
                                  file, line)};
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_need", 5),
                                      .operands = operands,
                                      .count = KILN_COUNT_OF(operands)};
    return kiln__opaque_node(&given, 0, file, line);
}

kiln_node kiln__node_holding(kiln_node x, int64_t axis, int64_t index, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_HOLDING};
    const int64_t data[] = {axis, index};
    return kiln__record(&node, &x, 1, data, 2, "index", file, line);
}

kiln_node kiln__node_sized(kiln_node x, int64_t axis, int64_t extent, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_SIZED};
    const int64_t data[] = {axis, extent};
    return kiln__record(&node, &x, 1, data, 2, "shape", file, line);
}

kiln_node kiln__node_filled(kiln_node x, kiln_node number, const kiln_axes *axes, const char *file, int line)
{
    int64_t data[KILN_RANK_MAX];
    const int count = axes != NULL ? axes->count : 0;

    for (int k = 0; k < count; k++)
        data[k] = axes->axis[k];
    return view(KILN__VIEW_FILLED, x, number, data, (size_t)count, "broadcast_to", file, line);
}

/* ---- shapes and dtypes ------------------------------------------------------------------------- */

kiln_node kiln__node_places(kiln_node x, int axis, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_IOTA};
    const int64_t data[] = {axis, 1};
    return kiln__record(&node, &x, 1, data, 2, "iota", file, line);
}

kiln_node kiln__node_broadcast_like(kiln_node x, kiln_node like, const char *file, int line)
{
    return view(KILN__VIEW_LIKE, x, like, NULL, 0, "broadcast_to", file, line);
}

kiln_node kiln__node_before(kiln_node x, kiln_node behind, const char *file, int line)
{
    return view(KILN__VIEW_BEFORE, x, behind, NULL, 0, "broadcast_to", file, line);
}

kiln_node kiln__node_reshape_like(kiln_node x, kiln_node like, const char *file, int line)
{
    return view(KILN__VIEW_RESHAPE, x, like, NULL, 0, "reshape", file, line);
}

kiln_node kiln__node_cast_like(kiln_node x, kiln_node like, int64_t how, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_CAST};
    const kiln_node operands[] = {x, like};
    return kiln__record(&node, operands, 2, &how, 1, "cast", file, line);
}

kiln_node kiln__node_cast_by(kiln_node x, kiln_dtype dtype, int64_t casting, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_CAST, .dtype = dtype};
    return kiln__record(&node, &x, 1, &casting, 1, "cast", file, line);
}

/* ---- extents ----------------------------------------------------------------------------------- */

kiln_node kiln__node_extent(kiln_node x, int64_t axis, int64_t rank, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_EXTENT};
    const int64_t data[] = {axis, rank};
    return kiln__record(&node, &x, 1, data, 2, "extent", file, line);
}

kiln_node kiln__node_weak(kiln_node x, const char *file, int line)
{
    const kiln__node node = {.kind = KILN__NODE_VIEW, .op = KILN__VIEW_WEAK};
    return kiln__record(&node, &x, 1, NULL, 0, "number", file, line);
}

kiln_node kiln_node_extent(kiln_node x, int axis, const char *file, int line)
{
    return kiln__node_extent(x, axis == KILN_AXIS_FLAT ? KILN__EXTENT_ALL : axis, -1, file, line);
}

kiln_node kiln__number_node(kiln_graph *graph, int64_t number)
{
    const uint32_t id = kiln__referred(number);
    kiln_node node;

    if (id == 0 || id >= graph->ir.node_count || !graph->ir.nodes[id].whole)
        return kiln_node_of_int(number);
    memset(&node, 0, sizeof node);
    node.graph = graph;
    node.kind = KILN_NODE_GRAPH;
    node.id = id;
    return node;
}
