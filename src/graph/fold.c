/*
 * fold.c - arithmetic on plain numbers, as Python does it: what an expression says before any
 * array is met, as 2**-10 or sqrt(2*pi).
 *
 * Integers stay integers while 64 bits hold them; an integer beyond that becomes no float in
 * silence, it has no value here and the parser says so.
 */
#include <math.h>

#include "graph/parse.h"

static bool is_integer(const kiln_node *n)
{
    return n->kind == KILN_NODE_INT || n->kind == KILN_NODE_BOOL;
}

static int64_t integer_of(const kiln_node *n)
{
    return n->kind == KILN_NODE_BOOL ? n->value.b : n->value.i;
}

static double real_of(const kiln_node *n)
{
    switch (n->kind) {
    case KILN_NODE_BOOL:
        return n->value.b;
    case KILN_NODE_INT:
        return (double)n->value.i;
    case KILN_NODE_UINT:
        return (double)n->value.u;
    case KILN_NODE_FLOAT:
        return n->value.f;
    default:
        return n->value.c[0];
    }
}

static double imaginary_of(const kiln_node *n)
{
    return n->kind == KILN_NODE_COMPLEX ? n->value.c[1] : 0.0;
}

static bool integer_power(int64_t a, int64_t b, int64_t *out)
{
    int64_t r = 1;
    while (b > 0) {
        if ((b & 1) != 0 && kiln__mul_overflow(r, a, &r))
            return false;
        b >>= 1;
        if (b > 0 && kiln__mul_overflow(a, a, &a))
            return false;
    }
    *out = r;
    return true;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static bool fold_integers(kiln_op op, int64_t a, int64_t b, kiln_node *out)
{
    int64_t r = 0;
    bool fits = true;
    switch (op) {
    case KILN_OP_ADD:
        fits = !kiln__add_overflow(a, b, &r);
        break;
    case KILN_OP_SUBTRACT:
        fits = !__builtin_sub_overflow(a, b, &r);
        break;
    case KILN_OP_MULTIPLY:
        fits = !kiln__mul_overflow(a, b, &r);
        break;
    case KILN_OP_FLOOR_DIVIDE:
    case KILN_OP_REMAINDER:
        if (b == 0 || (b == -1 && a == INT64_MIN))
            return false;
        r = floor_divide(a, b);
        r = op == KILN_OP_REMAINDER ? a - r * b : r;
        break;
    case KILN_OP_POWER:
        fits = b >= 0 && integer_power(a, b, &r);
        break;
    case KILN_OP_BITWISE_AND:
        r = a & b;
        break;
    case KILN_OP_BITWISE_OR:
        r = a | b;
        break;
    case KILN_OP_BITWISE_XOR:
        r = a ^ b;
        break;
    case KILN_OP_LEFT_SHIFT:
        fits = b >= 0 && b < 63 && !kiln__mul_overflow(a, INT64_C(1) << b, &r);
        break;
    case KILN_OP_RIGHT_SHIFT:
        fits = b >= 0;
        r = fits && b < 64 ? a >> b : -(a < 0);
        break;
    default:
        return false;
    }
    *out = kiln_node_of_int(r);
    return fits;
}

static bool fold_reals(kiln_op op, double a, double b, kiln_node *out)
{
    double r = 0;
    switch (op) {
    case KILN_OP_ADD:
        r = a + b;
        break;
    case KILN_OP_SUBTRACT:
        r = a - b;
        break;
    case KILN_OP_MULTIPLY:
        r = a * b;
        break;
    case KILN_OP_DIVIDE:
        if (b == 0)
            return false;
        r = a / b;
        break;
    case KILN_OP_FLOOR_DIVIDE:
        if (b == 0)
            return false;
        r = floor(a / b);
        break;
    case KILN_OP_POWER:
        r = pow(a, b);
        break;
    case KILN_OP_MAXIMUM:
        r = a > b || a != a ? a : b;
        break;
    case KILN_OP_MINIMUM:
        r = a < b || a != a ? a : b;
        break;
    case KILN_OP_ARCTAN2:
        r = atan2(a, b);
        break;
    case KILN_OP_HYPOT:
        r = hypot(a, b);
        break;
    default:
        return false;
    }
    *out = kiln_node_of_float(r);
    return true;
}

static bool fold_complex(kiln_op op, const kiln_node *a, const kiln_node *b, kiln_node *out)
{
    const double ar = real_of(a), ai = imaginary_of(a), br = real_of(b), bi = imaginary_of(b);
    const double size = br * br + bi * bi;
    switch (op) {
    case KILN_OP_ADD:
        *out = kiln_node_of_complex(ar + br, ai + bi);
        return true;
    case KILN_OP_SUBTRACT:
        *out = kiln_node_of_complex(ar - br, ai - bi);
        return true;
    case KILN_OP_MULTIPLY:
        *out = kiln_node_of_complex(ar * br - ai * bi, ar * bi + ai * br);
        return true;
    case KILN_OP_DIVIDE:
        *out = kiln_node_of_complex((ar * br + ai * bi) / size, (ai * br - ar * bi) / size);
        return size != 0;
    default:
        return false;
    }
}

static bool fold_one(kiln_op op, const kiln_node *a, kiln_node *out)
{
    static const struct {
        kiln_op op;
        double (*function)(double);
    } functions[] = {
        {KILN_OP_SQRT, sqrt},     {KILN_OP_CBRT, cbrt},   {KILN_OP_EXP, exp},
        {KILN_OP_EXP2, exp2},     {KILN_OP_LOG, log},     {KILN_OP_LOG2, log2},
        {KILN_OP_LOG10, log10},   {KILN_OP_SIN, sin},     {KILN_OP_COS, cos},
        {KILN_OP_TAN, tan},       {KILN_OP_ARCTAN, atan}, {KILN_OP_TANH, tanh},
        {KILN_OP_ABSOLUTE, fabs}, {KILN_OP_FLOOR, floor}, {KILN_OP_CEIL, ceil},
    };
    if (op == KILN_OP_POSITIVE || op == KILN_OP_NEGATIVE) {
        const kiln_node zero = kiln_node_of_int(0);
        if (a->kind == KILN_NODE_UINT && op == KILN_OP_NEGATIVE) {
            *out = kiln_node_of_int(INT64_MIN); /* the one literal whose digits need an unsigned */
            return a->value.u == (uint64_t)INT64_MAX + 1;
        }
        if (a->kind == KILN_NODE_FLOAT) { /* -0.0 keeps its sign */
            *out = kiln_node_of_float(op == KILN_OP_NEGATIVE ? -a->value.f : a->value.f);
            return true;
        }
        const kiln_node pair[2] = {zero, *a};
        if (op == KILN_OP_POSITIVE && a->kind == KILN_NODE_UINT) {
            *out = *a;
            return true;
        }
        return kiln__fold(op == KILN_OP_NEGATIVE ? KILN_OP_SUBTRACT : KILN_OP_ADD, pair, out);
    }
    if (op == KILN_OP_INVERT && is_integer(a)) {
        *out = kiln_node_of_int(~integer_of(a));
        return true;
    }
    if (a->kind == KILN_NODE_COMPLEX)
        return false;
    if (is_integer(a) && (op == KILN_OP_FLOOR || op == KILN_OP_CEIL || op == KILN_OP_ABSOLUTE)) {
        const int64_t v = integer_of(a);
        *out = kiln_node_of_int(op == KILN_OP_ABSOLUTE && v < 0 && v != INT64_MIN ? -v : v);
        return op != KILN_OP_ABSOLUTE || v != INT64_MIN;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (functions[k].op != op)
            continue;
        *out = kiln_node_of_float(functions[k].function(real_of(a)));
        return true;
    }
    return false;
}

bool kiln__fold(kiln_op op, const kiln_node *operands, kiln_node *out)
{
    const kiln_node *a = &operands[0], *b = &operands[1];

    switch (op) {
    case KILN_OP_ADD:
    case KILN_OP_SUBTRACT:
    case KILN_OP_MULTIPLY:
    case KILN_OP_DIVIDE:
    case KILN_OP_FLOOR_DIVIDE:
    case KILN_OP_REMAINDER:
    case KILN_OP_POWER:
    case KILN_OP_BITWISE_AND:
    case KILN_OP_BITWISE_OR:
    case KILN_OP_BITWISE_XOR:
    case KILN_OP_LEFT_SHIFT:
    case KILN_OP_RIGHT_SHIFT:
    case KILN_OP_MAXIMUM:
    case KILN_OP_MINIMUM:
    case KILN_OP_ARCTAN2:
    case KILN_OP_HYPOT:
        break;
    default:
        return fold_one(op, a, out);
    }
    if (a->kind == KILN_NODE_COMPLEX || b->kind == KILN_NODE_COMPLEX)
        return fold_complex(op, a, b, out);
    const bool negative_power = op == KILN_OP_POWER && is_integer(b) && integer_of(b) < 0;
    const bool real = op == KILN_OP_DIVIDE || op == KILN_OP_MAXIMUM || op == KILN_OP_MINIMUM ||
                      op == KILN_OP_ARCTAN2 || op == KILN_OP_HYPOT || negative_power;
    if (is_integer(a) && is_integer(b) && !real)
        return fold_integers(op, integer_of(a), integer_of(b), out);
    if (a->kind == KILN_NODE_UINT || b->kind == KILN_NODE_UINT)
        return real && fold_reals(op, real_of(a), real_of(b), out);
    return fold_reals(op, real_of(a), real_of(b), out);
}
