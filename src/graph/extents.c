/*
 * extents.c - extents of arrays in expressions: x.shape[0], len(x), x.size, x.ndim.
 *
 *     parse.c, calls.c > [extents] > nodes (relative.c), whose values are found when a call is
 *                                    planned (src/fusion/extents.c)
 *
 * An extent is a plain number. Whole numbers that are computed from extents may stand wherever a
 * whole number of the text may: as bounds of slices, indices, parts of shapes, counts. What the
 * text itself must tell cannot be one: axes, and how many results there are.
 *
 * Tests: test_extents, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* ---- functions and members --------------------------------------------------------------------- */

void kiln__shape_of(kiln__parser *p, kiln__parsed *v)
{
    v->node = kiln__graph_number(p->graph, v->node);
    v->kind = KILN__PARSED_SHAPE;
}

void kiln__set_extent(kiln__parser *p, kiln_node x, int64_t axis, int64_t rank, size_t at,
                      kiln__parsed *out)
{
    kiln__set_node(out, kiln__node_extent(kiln__graph_number(p->graph, x), axis, rank,
                                          KILN__PLACE(at)));
}

kiln_status kiln__pick_extent(kiln__parser *p, const kiln__subscript *list, size_t count,
                              kiln__parsed *v)
{
    if (count != 1 || list[0].kind != KILN_SUBSCRIPT_INDEX || kiln__referred(list[0].number[0]) != 0)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "of a shape a number that the text tells chooses an extent, as in "
                                "x.shape[0]; `m, n = x.shape` gives all of them names");
    const int64_t axis = list[0].number[0];
    if (axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
    if (v->values != NULL) {
        const kiln__parsed parts = *v->values;
        return kiln__extent_of_parts(p, &parts, axis, v);
    }
    kiln__set_extent(p, v->node, axis, -1, v->at, v);
    return KILN_OK;
}

/* size(x, axis): the extent of an axis, or the number of elements. */
static kiln_status read_axis(const kiln__parser *p, kiln__parsed_call *c, int64_t *out)
{
    const kiln__parsed *axis;

    KILN_CHECK(kiln__call_axis(p, c, 1, &axis));
    *out = KILN__EXTENT_ALL;
    if (axis->width == 0 || axis->kind == KILN__PARSED_NONE)
        return KILN_OK;
    KILN_CHECK(kiln__need_literal(p, axis, out));
    return *out >= -KILN_RANK_MAX && *out < KILN_RANK_MAX
               ? KILN_OK
               : kiln__parse_fail(p, axis->at, axis->width, KILN_ERR_AXIS, "no array has such an axis");
}

kiln_status kiln__apply_extents(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    const bool size = kiln__same_word(c->name, c->bytes, "size");
    const bool shape = kiln__same_word(c->name, c->bytes, "shape");
    const bool rank = kiln__same_word(c->name, c->bytes, "ndim");
    int64_t axis = rank ? KILN__EXTENT_RANK : 0;

    *known = size || shape || rank || kiln__same_word(c->name, c->bytes, "len");
    if (!*known)
        return KILN_OK;
    if (c->count < 1 || c->count > 1 + (size_t)size)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT, "%.*s takes one array%s",
                                (int)c->bytes, c->name, size ? " and an axis" : "");
    if (size)
        KILN_CHECK(read_axis(p, c, &axis));
    kiln__parsed x = c->arg[0];
    if (kiln__is_counted(&x)) {
        bool member = false;
        *out = x;
        if (size && axis == KILN__EXTENT_ALL) {
            kiln__set_node(out, kiln__size_of_parts(&x));
            return KILN_OK;
        }
        if (!shape && !rank)
            return kiln__extent_of_parts(p, &x, axis, out);
        return kiln__member_of_parts(p, &x, c->at, c->bytes, out, &member);
    }
    KILN_CHECK(kiln__need_node(p, &x));
    *out = x;
    if (shape)
        kiln__shape_of(p, out);
    else
        kiln__set_extent(p, x.node, axis, -1, c->at, out);
    return KILN_OK;
}

/* The extents of a shape that is given to several names. */
kiln_status kiln__unpack_shape(kiln__parser *p, kiln__parsed *v, size_t count)
{
    const kiln_node x = v->node;
    kiln_node *const items = kiln__tuple_new(p, count);

    if (items == NULL)
        return kiln__fail_memory(p->err, count * sizeof *items);
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = *v;
        if (v->values != NULL)
            KILN_CHECK(kiln__extent_of_parts(p, v->values, (int64_t)k, &one));
        else
            kiln__set_extent(p, x, (int64_t)k, (int64_t)count, v->at, &one);
        items[k] = one.node;
    }
    v->kind = KILN__PARSED_TUPLE;
    v->list = false;
    v->items = items;
    v->count = count;
    return KILN_OK;
}
