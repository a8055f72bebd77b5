/*
 * whole.c - exact arithmetic on whole numbers whose values are known.
 *
 *     a text that is parsed (src/graph/fold.c), extents of a call (src/fusion/numbers.c) > [whole]
 *
 * An integer is a sign and 64 bits, which is all that a constant of a graph can hold. A larger
 * result is an error, and never becomes a float. Within that range the arithmetic is Python's, and
 * that of ops.def.
 *
 * Tests: test_ops_numbers, test_expression.
 */
#include <string.h>

#include "ops/ops.h"

typedef struct whole {
    bool negative; /* never of zero */
    uint64_t size;
} whole;

static bool read_whole(const kiln__number *n, whole *out)
{
    const int64_t i = n->kind == 'b' ? n->value.b : n->value.i;

    *out = (whole){false, n->value.u};
    if (n->kind == 'u')
        return true;
    *out = (whole){i < 0, i < 0 ? 0 - (uint64_t)i : (uint64_t)i};
    return n->kind == 'i' || n->kind == 'b';
}

/* False for a value that neither int64 nor uint64 holds. */
static bool write_whole(whole w, kiln__number *out)
{
    memset(out, 0, sizeof *out);
    out->kind = w.negative || w.size <= INT64_MAX ? 'i' : 'u';
    if (!w.negative)
        out->value.u = w.size; /* the same bits as an int64 that holds it */
    else
        out->value.i = w.size <= INT64_MAX ? -(int64_t)w.size : INT64_MIN;
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

kiln__folded kiln__fold_whole(kiln_op op, int arity, const kiln__number *operands,
                              kiln__number *out)
{
    whole a = {false, 0}, b = {false, 0}, result = {false, 0};
    bool bools = true;

    for (int k = 0; k < arity; k++)
        bools = bools && operands[k].kind == 'b';
    if (arity > 2 || bools || !read_whole(&operands[0], &a) ||
        (arity == 2 && !read_whole(&operands[1], &b)))
        return KILN__FOLD_NOT;
    const kiln__folded folded = arity == 1 ? fold_one(op, a, &result) : fold_two(op, a, b, &result);
    if (folded != KILN__FOLDED)
        return folded;
    return write_whole(result, out) ? KILN__FOLDED : KILN__FOLD_BEYOND;
}
