/*
 * fold.c - exact arithmetic on the whole numbers of an expression.
 *
 * Shapes, axes and indices must be known before there are arrays. An integer must be known too if
 * it may not fit the dtype of the array beside it (int8 + 100*3). apply.c calls this file for
 * operations on whole numbers; other plain numbers are recorded and computed by kernels
 * (src/fusion/numbers.c).
 *
 * An integer is a sign and 64 bits, which is all that a constant of a graph can hold. A larger
 * result is an error, and never becomes a float. Within that range the arithmetic is Python's, and
 * that of ops.def. The lexer and parser handle the signs of floating-point literals, and complex
 * literals.
 *
 * Tests: test_ops_numbers, test_expression.
 */
#include "graph/parse.h"

typedef struct whole {
    bool negative; /* never of zero */
    uint64_t size;
} whole;

static bool read_whole(const kiln_node *n, whole *out)
{
    const int64_t i = n->kind == KILN_NODE_BOOL ? n->value.b : n->value.i;

    *out = (whole){false, n->value.u};
    if (n->kind == KILN_NODE_UINT)
        return true;
    *out = (whole){i < 0, i < 0 ? 0 - (uint64_t)i : (uint64_t)i};
    return n->kind == KILN_NODE_INT || n->kind == KILN_NODE_BOOL;
}

/* False for a value that neither int64 nor uint64 holds. */
static bool write_whole(whole w, kiln_node *out)
{
    if (!w.negative)
        *out = w.size <= INT64_MAX ? kiln_node_of_int((int64_t)w.size) : kiln_node_of_uint(w.size);
    else
        *out = kiln_node_of_int(w.size <= INT64_MAX ? -(int64_t)w.size : INT64_MIN);
    return !w.negative || w.size <= (uint64_t)INT64_MAX + 1;
}

static whole negated(whole w)
{
    return (whole){!w.negative && w.size != 0, w.size};
}

static int compare(whole a, whole b)
{
    if (a.negative != b.negative)
        return a.negative ? -1 : 1;
    return a.size == b.size ? 0 : (a.size < b.size) != a.negative ? -1 : 1;
}

static bool add(whole a, whole b, whole *out)
{
    if (a.negative == b.negative) {
        *out = (whole){a.negative, a.size + b.size};
        return out->size >= a.size;
    }
    const bool first = a.size >= b.size;
    *out = (whole){first ? a.negative : b.negative, first ? a.size - b.size : b.size - a.size};
    out->negative = out->negative && out->size != 0;
    return true;
}

static bool multiply(whole a, whole b, whole *out)
{
    *out = (whole){a.negative != b.negative && a.size != 0 && b.size != 0, a.size * b.size};
    return a.size == 0 || b.size <= UINT64_MAX / a.size;
}

/* Toward negative infinity; the remainder has b's sign. */
static void divide(whole a, whole b, whole *quotient, whole *remainder)
{
    const bool unlike = a.negative != b.negative, rest = a.size % b.size != 0;
    quotient->size = a.size / b.size + (unlike && rest ? 1 : 0);
    quotient->negative = unlike && quotient->size != 0;
    remainder->size = rest && unlike ? b.size - a.size % b.size : a.size % b.size;
    remainder->negative = b.negative && remainder->size != 0;
}

static bool power(whole a, uint64_t exponent, whole *out)
{
    *out = (whole){false, 1};
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0 && !multiply(*out, a, out))
            return false;
        if (exponent > 1 && !multiply(a, a, &a))
            return false;
    }
    return true;
}

/* a << b, or a >> b rounded down. */
static bool shift(bool left, whole a, uint64_t b, whole *out)
{
    const whole factor = {false, b < 64 ? UINT64_C(1) << b : 0};
    whole rest;
    if (left) {
        *out = a;
        return a.size == 0 || (b < 64 && multiply(a, factor, out));
    }
    if (b < 64)
        divide(a, factor, out, &rest);
    else
        *out = (whole){a.negative, a.negative ? 1 : 0};
    return true;
}

/* Bitwise operations on two's complement: 64 bits, and a sign that stands for all higher bits. */
static bool fold_bits(kiln_op op, whole a, whole b, whole *out)
{
    const uint64_t x = a.negative ? 0 - a.size : a.size, y = b.negative ? 0 - b.size : b.size;
    uint64_t bits = x ^ y;
    bool negative = a.negative != b.negative;
    if (op == KILN_OP_BITWISE_AND) {
        bits = x & y;
        negative = a.negative && b.negative;
    } else if (op == KILN_OP_BITWISE_OR) {
        bits = x | y;
        negative = a.negative || b.negative;
    }
    *out = (whole){negative, negative ? 0 - bits : bits};
    return !negative || bits != 0; /* else it is -2**64 */
}

static kiln__folded fold_two(kiln_op op, whole a, whole b, whole *out)
{
    whole other;
    switch (op) {
    case KILN_OP_ADD:
        return add(a, b, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_SUBTRACT:
        return add(a, negated(b), out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_MULTIPLY:
        return multiply(a, b, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_FLOOR_DIVIDE:
    case KILN_OP_REMAINDER:
        if (b.size == 0)
            return KILN__FOLD_NOT;
        divide(a, b, op == KILN_OP_REMAINDER ? &other : out,
               op == KILN_OP_REMAINDER ? out : &other);
        return KILN__FOLDED;
    case KILN_OP_POWER:
        if (b.negative)
            return KILN__FOLD_NOT;
        return power(a, b.size, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_LEFT_SHIFT:
    case KILN_OP_RIGHT_SHIFT:
        if (b.negative)
            return KILN__FOLD_NOT;
        return shift(op == KILN_OP_LEFT_SHIFT, a, b.size, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_BITWISE_AND:
    case KILN_OP_BITWISE_OR:
    case KILN_OP_BITWISE_XOR:
        return fold_bits(op, a, b, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    case KILN_OP_MAXIMUM:
        *out = compare(a, b) > 0 ? a : b;
        return KILN__FOLDED;
    case KILN_OP_MINIMUM:
        *out = compare(a, b) < 0 ? a : b;
        return KILN__FOLDED;
    default:
        return KILN__FOLD_NOT;
    }
}

static kiln__folded fold_one(kiln_op op, whole a, whole *out)
{
    switch (op) {
    case KILN_OP_NEGATIVE:
        *out = negated(a);
        return KILN__FOLDED;
    case KILN_OP_POSITIVE:
        *out = a;
        return KILN__FOLDED;
    case KILN_OP_ABSOLUTE:
        *out = (whole){false, a.size};
        return KILN__FOLDED;
    case KILN_OP_INVERT: /* -a - 1 */
        return add(negated(a), (whole){true, 1}, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
    default:
        return KILN__FOLD_NOT;
    }
}

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

kiln__folded kiln__fold(kiln_op op, int arity, const kiln_node *operands, kiln_node *out)
{
    whole a = {false, 0}, b = {false, 0}, result = {false, 0};
    bool bools = true;

    if (arity == 1 && fold_sign(op, &operands[0], out))
        return KILN__FOLDED;
    if (arity == 2 && fold_parts(op, &operands[0], &operands[1], out))
        return KILN__FOLDED;
    for (int k = 0; k < arity; k++)
        bools = bools && operands[k].kind == KILN_NODE_BOOL;
    if (arity > 2 || bools || !read_whole(&operands[0], &a) ||
        (arity == 2 && !read_whole(&operands[1], &b)))
        return KILN__FOLD_NOT;
    const kiln__folded folded = arity == 1 ? fold_one(op, a, &result) : fold_two(op, a, b, &result);
    if (folded != KILN__FOLDED)
        return folded;
    return write_whole(result, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
}
