/*
 * fold.c - arithmetic on the numbers of an expression while it is parsed.
 *
 * Shapes, axes and indices must be known before there are arrays. An integer must be known too if
 * it may not fit the dtype of the array beside it (int8 + 100*3). apply.c calls this file for
 * operations on whole numbers (src/ops/whole.c); other plain numbers are recorded and computed by
 * kernels (src/fusion/numbers.c). The signs of floating-point literals, and complex literals, are
 * put together here as well.
 *
 * Tests: test_ops_numbers, test_expression.
 */
#include "graph/parse.h"
#include "ops/ops.h"

/* The sign of a floating-point or complex literal is part of the literal. */
static bool fold_sign(kiln_op op, const kiln_node *a, kiln_node *out)
{
    *out = *a;
    if (op == KILN_OP_NEGATIVE && a->kind == KILN_NODE_FLOAT)
        *out = kiln_node_of_float(-a->value.f);
    if (op == KILN_OP_NEGATIVE && a->kind == KILN_NODE_COMPLEX)
        *out = kiln_node_of_complex(-a->value.c[0], -a->value.c[1]);
    return (op == KILN_OP_NEGATIVE || op == KILN_OP_POSITIVE) &&
           (a->kind == KILN_NODE_FLOAT || a->kind == KILN_NODE_COMPLEX);
}

static bool read_real(const kiln_node *n, double *out)
{
    *out = n->kind == KILN_NODE_FLOAT  ? n->value.f
           : n->kind == KILN_NODE_INT  ? (double)n->value.i
           : n->kind == KILN_NODE_UINT ? (double)n->value.u
                                       : n->value.b;
    return n->kind >= KILN_NODE_BOOL && n->kind < KILN_NODE_COMPLEX;
}

/* 1 + 2j is a literal too: the real number has no imaginary part, so that the one there is stays as it is. */
static bool fold_parts(kiln_op op, const kiln_node *a, const kiln_node *b, kiln_node *out)
{
    const bool second = b->kind == KILN_NODE_COMPLEX;
    const kiln_node *const complex = second ? b : a;
    const double sign = op == KILN_OP_SUBTRACT ? -1 : 1;
    double real = 0;

    if ((op != KILN_OP_ADD && op != KILN_OP_SUBTRACT) || complex->kind != KILN_NODE_COMPLEX ||
        !read_real(second ? a : b, &real))
        return false;
    *out = second
               ? kiln_node_of_complex(real + sign * complex->value.c[0], sign * complex->value.c[1])
               : kiln_node_of_complex(complex->value.c[0] + sign * real, complex->value.c[1]);
    return true;
}

static kiln_node node_of(const kiln__number *n)
{
    return n->kind == 'u' ? kiln_node_of_uint(n->value.u) : kiln_node_of_int(n->value.i);
}

kiln__folded kiln__fold(kiln_op op, int arity, const kiln_node *operands, kiln_node *out)
{
    kiln__number numbers[KILN__OP_ARITY_MAX], result;

    if (arity == 1 && fold_sign(op, &operands[0], out))
        return KILN__FOLDED;
    if (arity == 2 && fold_parts(op, &operands[0], &operands[1], out))
        return KILN__FOLDED;
    for (int k = 0; k < arity; k++)
        numbers[k] = kiln__number_of(operands[k].kind - KILN_NODE_BOOL, &operands[k].value);
    const kiln__folded folded = kiln__fold_whole(op, arity, numbers, &result);
    if (folded == KILN__FOLDED)
        *out = node_of(&result);
    return folded;
}
