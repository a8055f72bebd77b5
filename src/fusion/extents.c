/*
 * extents.c - extents of arrays as plain numbers: x * len(y), x[:len(x) // 2], zeros((len(x), 2)).
 *
 *     lower > [extents] > lowered numbers, data of recorded nodes
 *
 * Planning knows shapes, and so the values of extents and of whole numbers that are computed from
 * them alone. Where such a number is an operand it is a weak number (numbers.c) and a parameter of
 * the kernel, whose text holds no extent: one kernel serves all shapes. Where it is a bound, an
 * extent or a count, a node's data refers to it (fusion.h), and the reference is replaced here
 * before the node is lowered.
 *
 * Rule: what a node refers to was recorded, and so is lowered, before it.
 *
 * Tests: test_extents, tests/test_numpy_text.py.
 */
#include <inttypes.h>

#include "fusion/build.h"

void kiln__begin_extents(kiln__build *b)
{
    kiln__ir *own = kiln__build_copy(b, b->ir, sizeof *own);

    own->data = kiln__build_copy(b, b->ir->data, b->ir->data_count * sizeof *own->data);
    b->ir = own;
    b->lowering.known = kiln__build_alloc(b, own->node_count * sizeof *b->lowering.known);
}

void kiln__want_extents(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];

    for (uint32_t k = 0; k < n->data_count; k++) {
        const uint32_t to = kiln__referred(b->ir->data[n->data + k]);
        if (to < node)
            b->lowering.wanted[to] = true;
    }
}

/* Whether a number of the data of such a node is an extent, which is not negative. */
static bool is_extent(const kiln__node *n)
{
    return n->kind == KILN__NODE_ARANGE || n->kind == KILN__NODE_DRAW ||
           (n->kind == KILN__NODE_VIEW && n->op == KILN__VIEW_BROADCAST);
}

void kiln__replace_references(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];

    for (uint32_t k = 0; k < n->data_count; k++) {
        int64_t *const number = &b->ir->data[n->data + k];
        const uint32_t to = kiln__referred(*number);
        if (to == 0 || to >= node || !b->ir->nodes[to].whole)
            continue;
        if (!kiln__is_known(b, to)) /* as len(x) // 0 */
            kiln__build_fail(b, node, KILN_ERR_RANGE,
                             "a number is computed from extents here, and is no whole number");
        const kiln__number *value = &b->lowering.known[to];
        if (value->kind == 'u')
            kiln__build_fail(b, node, KILN_ERR_RANGE,
                             "the number %" PRIu64 " does not fit an integer of 64 bits",
                             value->value.u);
        *number = value->value.i;
        if (*number < 0 && is_extent(n))
            kiln__build_fail(b, node, KILN_ERR_SHAPE,
                             "a shape is computed from extents here, and one of its extents is %" PRId64,
                             *number);
    }
}

uint32_t kiln__lowered_known(kiln__build *b, uint32_t node, kiln_dtype dtype)
{
    const kiln__number *value = &b->lowering.known[node];
    const bool truth = dtype == KILN_BOOL;
    const kiln__lowered made = {.kind = KILN__LOWERED_SCALAR,
                                .dtype = truth ? kiln__number_dtype(value) : dtype,
                                .size = 1,
                                .arg = KILN__KNOWN_NUMBER + node,
                                .number = *value,
                                .origin = node};
    const uint32_t low = kiln__lowered_add(b, &made);

    return truth ? kiln__lowered_cast(b, low, dtype, node) : low;
}

/* Note the value of a node. */
static uint32_t know(kiln__build *b, uint32_t node, const kiln__number *value)
{
    b->lowering.known[node] = *value;
    b->lowering.numbers[node] = value->kind;
    return kiln__lowered_known(b, node, kiln__number_dtype(value));
}

uint32_t kiln__lower_extent(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *data = b->ir->data + n->data;
    const kiln__lowered *o = &b->lowered[operand];
    kiln__number value = {.kind = 'i', .value = {.i = o->rank}};

    if (data[1] >= 0 && data[1] != o->rank)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%" PRId64 " name%s for the shape %s", data[1],
                         data[1] == 1 ? "" : "s", kiln__build_shape(b, o->rank, o->shape));
    if (data[0] == KILN__EXTENT_ALL)
        value.value.i = o->size;
    else if (data[0] != KILN__EXTENT_RANK)
        value.value.i = o->shape[kiln__lower_axis(b, node, data[0], o->rank)];
    return know(b, node, &value);
}

uint32_t kiln__lower_known_op(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    kiln__number operands[KILN__OP_ARITY_MAX], value;
    bool any = false;

    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__node *o = &b->ir->nodes[from[k]];
        if (o->kind != KILN__NODE_CONSTANT && !kiln__is_known(b, from[k]))
            return 0;
        operands[k] = o->kind == KILN__NODE_CONSTANT ? o->number : b->lowering.known[from[k]];
        any = any || o->kind != KILN__NODE_CONSTANT;
    }
    if (!any)
        return 0;
    switch (kiln__fold_whole((kiln_op)n->op, (int)n->operand_count, operands, &value)) {
    case KILN__FOLDED:
        return know(b, node, &value);
    case KILN__FOLD_BEYOND:
        kiln__build_fail(b, node, KILN_ERR_RANGE, "the result does not fit an integer of 64 bits");
    case KILN__FOLD_NOT:
        break;
    }
    return 0;
}
