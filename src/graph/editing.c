/*
 * editing.c - delete() and insert() in expressions, where an index array or a mask names the
 * places.
 *
 *     delete(x, i)            > a mask that is false at i > x[mask], a chosen value
 *     insert(x, i, values)    > a row of written_rows.c: each element of the result by its place
 *     insert(x, (0, 2), ...)  > arranging.c, since the places are known numbers
 *
 * calls.c calls this file. Test: test_choosing.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* Whether the places of a call are numbers that the text tells. */
static bool has_numbers(const kiln__parser *p, const kiln__parsed *v)
{
    return v->kind != KILN__PARSED_NODE || kiln__is_of_numbers(p, &v->node);
}

/* x[:, keep], the mask along an axis. */
static kiln_status choose_along(kiln__parser *p, const kiln__parsed *x, const kiln__parsed *keep,
                                int64_t axis, kiln__parsed *out)
{
    static const kiln__subscript everything = {.kind = KILN_SUBSCRIPT_SLICE,
                                               .number = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1}};
    kiln__subscript list[KILN_RANK_MAX + 2];
    size_t count = 0;

    if (axis < 0)
        list[count++] = (kiln__subscript){.kind = KILN_SUBSCRIPT_ELLIPSIS};
    for (int64_t k = 0; k < axis; k++)
        list[count++] = everything;
    list[count++] = (kiln__subscript){.kind = KILN_SUBSCRIPT_INDEX, .mask = keep};
    for (int64_t k = axis; k < -1; k++)
        list[count++] = everything;
    return kiln__subscript_masks(p, x, list, count, out);
}

/* Where elements are kept: not where the mask is true, or at the places. */
static kiln_node kept(const kiln__parser *p, const kiln__parsed_call *c, kiln_node x, int axis)
{
    const kiln_node i = c->arg[1].node;
    const kiln_node all =
        kiln_node_op2(KILN_OP_GREATER_EQUAL, kiln__node_places(x, axis, KILN__PLACE(c->at)),
                      kiln_node_of_int(0), KILN__PLACE(c->at));
    const kiln_subscript places = kiln_subscript_node(i);

    if (!kiln__is_mask(p, &c->arg[1]))
        return kiln_node_scatter(all, &places, 1, kiln_node_of_bool(false), KILN_SCATTER_SET, NULL,
                                 KILN__PLACE(c->at));
    return kiln_node_op2(KILN_OP_BITWISE_AND, all,
                         kiln_node_op1(KILN_OP_LOGICAL_NOT, i, KILN__PLACE(c->at)),
                         KILN__PLACE(c->at));
}

/* delete(x, i, axis=None): without an axis, of the elements in C-order. */
static kiln_status call_delete(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const int64_t all = -1;
    const kiln__parsed *given;
    kiln__parsed *const keep = kiln__parser_keep(p, sizeof *keep);
    kiln__parsed x = c->arg[0];
    int64_t axis = 0;

    if (keep == NULL)
        return kiln__fail_memory(p->err, sizeof *keep);
    if (c->count > 3)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "delete is called as delete(x, places, axis=None)");
    KILN_CHECK(kiln__need_node(p, &x));
    KILN_CHECK(kiln__call_axis(p, c, 2, &given));
    x.node = kiln__graph_number(p->graph, x.node);
    if (given->width == 0 || given->kind == KILN__PARSED_NONE)
        x.node = kiln_node_reshape(x.node, 1, &all, KILN__PLACE(c->at));
    else
        KILN_CHECK(kiln__need_literal(p, given, &axis));
    if (axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
        return kiln__parse_fail(p, given->at, given->width, KILN_ERR_AXIS,
                                "no array has such an axis");
    if (c->arg[1].kind == KILN__PARSED_TUPLE) { /* [], of which nothing is deleted */
        kiln__set_node(out, kiln_node_slice(x.node, (int)axis, KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1,
                                            KILN__PLACE(c->at)));
        return KILN_OK;
    }
    *keep = c->arg[1];
    kiln__set_node(keep, kept(p, c, x.node, (int)axis));
    x.at = c->at;
    return choose_along(p, &x, keep, axis, out);
}

/* insert(x, i, values, axis=None): by a row, which wants vectors and nodes. */
static kiln_status call_insert(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed_call *const row = kiln__parser_keep(p, sizeof *row);
    bool known = false;

    if (row == NULL)
        return kiln__fail_memory(p->err, sizeof *row);
    if (kiln__is_mask(p, &c->arg[1]))
        return kiln__parse_fail(p, c->arg[1].at, c->arg[1].width, KILN_ERR_UNSUPPORTED,
                                "insert: how many places a mask names is known to the device "
                                "alone: write the places as numbers or as an array of indices");
    *row = *c;
    KILN_CHECK(kiln__need_node(p, &row->arg[0]));
    for (size_t k = 0; k < 2; k++)
        row->arg[k].node = kiln__graph_number(p->graph, row->arg[k].node);
    row->name = "_insert_at";
    row->bytes = strlen(row->name);
    KILN_CHECK(kiln__apply_written(p, row, out, &known));
    c->takes = row->takes;
    return KILN_OK;
}

kiln_status kiln__apply_editing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    const bool inserts = kiln__same_word(c->name, c->bytes, "insert");

    if ((!inserts && !kiln__same_word(c->name, c->bytes, "delete")) || c->count < 2)
        return KILN_OK;
    if (inserts && c->count > 2 && c->arg[2].kind == KILN__PARSED_TUPLE)
        KILN_CHECK(kiln__number_list(p, &c->arg[2], 0));
    const bool nothing = c->arg[1].kind == KILN__PARSED_TUPLE && c->arg[1].count == 0;
    if (has_numbers(p, &c->arg[1]) && (inserts || !nothing))
        return KILN_OK;
    *known = true;
    return (inserts ? call_insert : call_delete)(p, c, out);
}
