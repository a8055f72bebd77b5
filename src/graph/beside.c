/*
 * beside.c - operands of an operation of which one has a length that only the device knows: x[m] - x[0],
 * x[m] * sort(x[m]).
 *
 *     apply.c (p->join) > [beside: one kind, one mask or count] > the operation on all elements
 *
 * What the same mask chooses is computed in its places, and what the same call counted where it
 * lies. Other arrays may stand beside such values if they have no axis of unknown length, which
 * planning checks (src/fusion/views.c).
 *
 * Tests: test_choosing, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* Whether a value has no axes, as far as the text tells: a number, a sum of everything. */
static bool is_single(const kiln__parser *p, const kiln__parsed *v)
{
    if (kiln__is_of_numbers(p, &v->node))
        return true;
    if (v->node.kind != KILN_NODE_GRAPH || v->node.graph != p->graph)
        return false;
    const kiln__node *n = &p->graph->ir.nodes[v->node.id];
    return n->kind == KILN__NODE_REDUCE && n->all_axes && !n->keepdims;
}

/* Make operands whose length only the device knows of one kind: CHOSEN ones beside COUNTED ones become such.
 * Returns one of them; NULL: there is none. */
static const kiln__parsed *alike(kiln__parsed *operands, size_t count)
{
    const kiln__parsed *chosen = NULL, *counts = NULL;

    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < count; j++)
            kiln__fold_like(&operands[k], &operands[j]);
    for (size_t k = 0; k < count; k++)
        if (kiln__is_counted(&operands[k]))
            chosen = &operands[k];
    for (size_t k = 0; k < count; k++)
        if (kiln__is_counted(&operands[k]) && operands[k].kind == KILN__PARSED_COUNTED)
            counts = &operands[k];
    for (size_t k = 0; k < count && counts != NULL; k++)
        if (kiln__is_counted(&operands[k]) && operands[k].kind == KILN__PARSED_CHOSEN)
            operands[k] = kiln__as_counted(&operands[k], counts->parts);
    return counts != NULL ? counts : chosen;
}

/* Find what operands of an operation have in common of which one has a length that only the device knows: `*out` is
 * such a value. Arrays beside it are checked when the call is planned. ERR_UNSUPPORTED for different masks or counts. */
kiln_status kiln__join_operands(kiln__parser *p, kiln__parsed *operands, size_t count,
                                kiln__parsed *out)
{
    for (size_t k = 0; k < count; k++) {
        kiln__settle(&operands[k]);
        if (!kiln__is_counted(&operands[k]))
            KILN_CHECK(kiln__need_node(p, &operands[k]));
    }
    const kiln__parsed *const chosen = alike(operands, count);
    int axis = chosen != NULL ? chosen->axis : 0;
    bool parts = false;

    out->kind = KILN__PARSED_NODE;
    if (chosen == NULL)
        return KILN_OK;
    for (size_t k = 0; k < count; k++) {
        kiln__parsed *const v = &operands[k];
        const bool masked = chosen->kind == KILN__PARSED_CHOSEN;
        const bool same = v->kind == chosen->kind && v->chooser.id == chosen->chooser.id;
        if (v->kind == KILN__PARSED_NODE && !is_single(p, v))
            v->node = kiln__node_beside(v->node, chosen->node, masked ? &chosen->chooser : NULL,
                                        chosen->axis, KILN__PLACE(v->at));
        else if (!same && v->kind != KILN__PARSED_NODE)
            return kiln__parse_fail(
                p, v->at, v->width, KILN_ERR_UNSUPPORTED,
                "how many elements these are is known to the device alone: beside them stands what the "
                "same mask chooses, and arrays without an axis of unknown length");
        if (same && v->axis != chosen->axis)
            v->node = kiln__node_aligned(v->node, v->axis, chosen->node, chosen->axis, KILN__PLACE(v->at));
        if (same && v->axis > axis)
            axis = v->axis;
        parts = parts || (same && v->parts);
    }
    out->kind = chosen->kind;
    out->chooser = chosen->chooser;
    out->axis = axis; /* of the operand with the most axes */
    out->parts = parts;
    return KILN_OK;
}
