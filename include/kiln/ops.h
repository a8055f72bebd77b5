/**
 * @file kiln/ops.h
 * @brief Elementwise operations: one value and two macros each.
 *
 * Generated from src/ops/ops.def; docs/operations.md describes each operation.
 *
 * kiln_add(x, y)                    records a node of a graph; see kiln/graph.h.
 * kiln_array_add(x, y, &z, &err)    computes at once; see kiln/eager.h.
 *
 * Operands of the first are nodes or plain C numbers, of the second arrays or plain C
 * numbers; each is evaluated once. Functions with two results take two addresses:
 *
 * kiln_divmod(x, y, &quotient, &remainder)               of two nodes
 * kiln_array_divmod(x, y, &quotient, &remainder, &err)   of two arrays, by one kernel
 */
#ifndef KILN_OPS_H
#define KILN_OPS_H

#include "kiln/base.h"

/** Which operation. Values are pinned and never reused. */
typedef enum kiln_op {
    KILN_OP_ADD = 1,
    KILN_OP_SUBTRACT = 2,
    KILN_OP_MULTIPLY = 3,
    KILN_OP_DIVIDE = 4,
    KILN_OP_FLOOR_DIVIDE = 5,
    KILN_OP_REMAINDER = 6,
    KILN_OP_FMOD = 7,
    KILN_OP_NEGATIVE = 8,
    KILN_OP_POSITIVE = 9,
    KILN_OP_ABSOLUTE = 10,
    KILN_OP_FABS = 11,
    KILN_OP_SIGN = 12,
    KILN_OP_RECIPROCAL = 13,
    KILN_OP_SQUARE = 14,
    KILN_OP_SQRT = 15,
    KILN_OP_CBRT = 16,
    KILN_OP_POWER = 17,
    KILN_OP_FLOAT_POWER = 18,
    KILN_OP_HYPOT = 19,
    KILN_OP_GCD = 20,
    KILN_OP_LCM = 21,
    KILN_OP_RSQRT = 22,
    KILN_OP_EXP = 40,
    KILN_OP_EXP2 = 41,
    KILN_OP_EXPM1 = 42,
    KILN_OP_LOG = 43,
    KILN_OP_LOG2 = 44,
    KILN_OP_LOG10 = 45,
    KILN_OP_LOG1P = 46,
    KILN_OP_LOGADDEXP = 47,
    KILN_OP_LOGADDEXP2 = 48,
    KILN_OP_SIN = 55,
    KILN_OP_COS = 56,
    KILN_OP_TAN = 57,
    KILN_OP_ARCSIN = 58,
    KILN_OP_ARCCOS = 59,
    KILN_OP_ARCTAN = 60,
    KILN_OP_ARCTAN2 = 61,
    KILN_OP_DEGREES = 62,
    KILN_OP_RADIANS = 63,
    KILN_OP_SINC = 64,
    KILN_OP_SINH = 70,
    KILN_OP_COSH = 71,
    KILN_OP_TANH = 72,
    KILN_OP_ARCSINH = 73,
    KILN_OP_ARCCOSH = 74,
    KILN_OP_ARCTANH = 75,
    KILN_OP_FLOOR = 80,
    KILN_OP_CEIL = 81,
    KILN_OP_TRUNC = 82,
    KILN_OP_RINT = 83,
    KILN_OP_ROUND = 84,
    KILN_OP_EQUAL = 100,
    KILN_OP_NOT_EQUAL = 101,
    KILN_OP_LESS = 102,
    KILN_OP_LESS_EQUAL = 103,
    KILN_OP_GREATER = 104,
    KILN_OP_GREATER_EQUAL = 105,
    KILN_OP_MAXIMUM = 106,
    KILN_OP_MINIMUM = 107,
    KILN_OP_FMAX = 108,
    KILN_OP_FMIN = 109,
    KILN_OP_LOGICAL_AND = 115,
    KILN_OP_LOGICAL_OR = 116,
    KILN_OP_LOGICAL_XOR = 117,
    KILN_OP_LOGICAL_NOT = 118,
    KILN_OP_BITWISE_AND = 125,
    KILN_OP_BITWISE_OR = 126,
    KILN_OP_BITWISE_XOR = 127,
    KILN_OP_INVERT = 128,
    KILN_OP_LEFT_SHIFT = 129,
    KILN_OP_RIGHT_SHIFT = 130,
    KILN_OP_BITWISE_COUNT = 131,
    KILN_OP_ISNAN = 140,
    KILN_OP_ISINF = 141,
    KILN_OP_ISFINITE = 142,
    KILN_OP_SIGNBIT = 143,
    KILN_OP_COPYSIGN = 144,
    KILN_OP_NEXTAFTER = 145,
    KILN_OP_SPACING = 146,
    KILN_OP_LDEXP = 147,
    KILN_OP_FREXP_MANTISSA = 148,
    KILN_OP_FREXP_EXPONENT = 149,
    KILN_OP_MODF_FRACTION = 150,
    KILN_OP_MODF_WHOLE = 151,
    KILN_OP_HEAVISIDE = 152,
    KILN_OP_WHERE = 160,
    KILN_OP_CLIP = 161,
    KILN_OP_REAL = 170,
    KILN_OP_IMAG = 171,
    KILN_OP_CONJUGATE = 172,
    KILN_OP_ANGLE = 173,
    KILN_OP_ERF = 180,
    KILN_OP_ERFC = 181,
    KILN_OP_ERFCX = 182,
    KILN_OP_ERFINV = 183,
    KILN_OP_ERFCINV = 184,
    KILN_OP_NDTR = 185,
    KILN_OP_NDTRI = 186,
    KILN_OP_GAMMA = 187,
    KILN_OP_GAMMALN = 188,
    KILN_OP_I0 = 189,
    KILN_OP_I1 = 190,
    KILN_OP_J0 = 191,
    KILN_OP_J1 = 192,
    KILN_OP_Y0 = 193,
    KILN_OP_Y1 = 194,
    KILN_OP_EXPIT = 195,
    KILN_OP_LOGIT = 196
} kiln_op;

KILN_EXTERN_C_BEGIN

/** NumPy's name of an operation, e.g. "add"; "unknown" for a value not in the table. */
KILN_API const char *kiln_op_name(kiln_op op);

KILN_EXTERN_C_END

/* ---- Arithmetic ---- */
#define kiln_add(a, b) \
    kiln_node_op2(KILN_OP_ADD, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_add(a, b, out, err) \
    kiln_array_op(KILN_OP_ADD, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_subtract(a, b) \
    kiln_node_op2(KILN_OP_SUBTRACT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_subtract(a, b, out, err) \
    kiln_array_op(KILN_OP_SUBTRACT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_multiply(a, b) \
    kiln_node_op2(KILN_OP_MULTIPLY, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_multiply(a, b, out, err) \
    kiln_array_op(KILN_OP_MULTIPLY, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_divide(a, b) \
    kiln_node_op2(KILN_OP_DIVIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_divide(a, b, out, err) \
    kiln_array_op(KILN_OP_DIVIDE, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_true_divide(a, b) \
    kiln_node_op2(KILN_OP_DIVIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_true_divide(a, b, out, err) \
    kiln_array_op(KILN_OP_DIVIDE, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_floor_divide(a, b) \
    kiln_node_op2(KILN_OP_FLOOR_DIVIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_floor_divide(a, b, out, err) \
    kiln_array_op(KILN_OP_FLOOR_DIVIDE, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_remainder(a, b) \
    kiln_node_op2(KILN_OP_REMAINDER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_remainder(a, b, out, err) \
    kiln_array_op(KILN_OP_REMAINDER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_mod(a, b) \
    kiln_node_op2(KILN_OP_REMAINDER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_mod(a, b, out, err) \
    kiln_array_op(KILN_OP_REMAINDER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_divmod(a, b, quotient, remainder) \
    kiln_node_pair2(KILN_OP_FLOOR_DIVIDE, KILN_OP_REMAINDER, KILN_NODE(a), KILN_NODE(b), \
        (quotient), (remainder), KILN_HERE)
#define kiln_array_divmod(a, b, quotient, remainder, err) \
    kiln_array_op_pair(KILN_OP_FLOOR_DIVIDE, KILN_OP_REMAINDER, KILN_ARGS(a, b), NULL, \
        (quotient), (remainder), (err))
#define kiln_fmod(a, b) \
    kiln_node_op2(KILN_OP_FMOD, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_fmod(a, b, out, err) \
    kiln_array_op(KILN_OP_FMOD, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_negative(a) \
    kiln_node_op1(KILN_OP_NEGATIVE, KILN_NODE(a), KILN_HERE)
#define kiln_array_negative(a, out, err) \
    kiln_array_op(KILN_OP_NEGATIVE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_positive(a) \
    kiln_node_op1(KILN_OP_POSITIVE, KILN_NODE(a), KILN_HERE)
#define kiln_array_positive(a, out, err) \
    kiln_array_op(KILN_OP_POSITIVE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_absolute(a) \
    kiln_node_op1(KILN_OP_ABSOLUTE, KILN_NODE(a), KILN_HERE)
#define kiln_array_absolute(a, out, err) \
    kiln_array_op(KILN_OP_ABSOLUTE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_abs(a) \
    kiln_node_op1(KILN_OP_ABSOLUTE, KILN_NODE(a), KILN_HERE)
#define kiln_array_abs(a, out, err) \
    kiln_array_op(KILN_OP_ABSOLUTE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_fabs(a) \
    kiln_node_op1(KILN_OP_FABS, KILN_NODE(a), KILN_HERE)
#define kiln_array_fabs(a, out, err) \
    kiln_array_op(KILN_OP_FABS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_sign(a) \
    kiln_node_op1(KILN_OP_SIGN, KILN_NODE(a), KILN_HERE)
#define kiln_array_sign(a, out, err) \
    kiln_array_op(KILN_OP_SIGN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_reciprocal(a) \
    kiln_node_op1(KILN_OP_RECIPROCAL, KILN_NODE(a), KILN_HERE)
#define kiln_array_reciprocal(a, out, err) \
    kiln_array_op(KILN_OP_RECIPROCAL, KILN_ARGS(a), NULL, (out), (err))
#define kiln_square(a) \
    kiln_node_op1(KILN_OP_SQUARE, KILN_NODE(a), KILN_HERE)
#define kiln_array_square(a, out, err) \
    kiln_array_op(KILN_OP_SQUARE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_sqrt(a) \
    kiln_node_op1(KILN_OP_SQRT, KILN_NODE(a), KILN_HERE)
#define kiln_array_sqrt(a, out, err) \
    kiln_array_op(KILN_OP_SQRT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_cbrt(a) \
    kiln_node_op1(KILN_OP_CBRT, KILN_NODE(a), KILN_HERE)
#define kiln_array_cbrt(a, out, err) \
    kiln_array_op(KILN_OP_CBRT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_power(a, b) \
    kiln_node_op2(KILN_OP_POWER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_power(a, b, out, err) \
    kiln_array_op(KILN_OP_POWER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_pow(a, b) \
    kiln_node_op2(KILN_OP_POWER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_pow(a, b, out, err) \
    kiln_array_op(KILN_OP_POWER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_float_power(a, b) \
    kiln_node_op2(KILN_OP_FLOAT_POWER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_float_power(a, b, out, err) \
    kiln_array_op(KILN_OP_FLOAT_POWER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_hypot(a, b) \
    kiln_node_op2(KILN_OP_HYPOT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_hypot(a, b, out, err) \
    kiln_array_op(KILN_OP_HYPOT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_gcd(a, b) \
    kiln_node_op2(KILN_OP_GCD, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_gcd(a, b, out, err) \
    kiln_array_op(KILN_OP_GCD, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_lcm(a, b) \
    kiln_node_op2(KILN_OP_LCM, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_lcm(a, b, out, err) \
    kiln_array_op(KILN_OP_LCM, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_rsqrt(a) \
    kiln_node_op1(KILN_OP_RSQRT, KILN_NODE(a), KILN_HERE)
#define kiln_array_rsqrt(a, out, err) \
    kiln_array_op(KILN_OP_RSQRT, KILN_ARGS(a), NULL, (out), (err))

/* ---- Exponentials and logarithms ---- */
#define kiln_exp(a) \
    kiln_node_op1(KILN_OP_EXP, KILN_NODE(a), KILN_HERE)
#define kiln_array_exp(a, out, err) \
    kiln_array_op(KILN_OP_EXP, KILN_ARGS(a), NULL, (out), (err))
#define kiln_exp2(a) \
    kiln_node_op1(KILN_OP_EXP2, KILN_NODE(a), KILN_HERE)
#define kiln_array_exp2(a, out, err) \
    kiln_array_op(KILN_OP_EXP2, KILN_ARGS(a), NULL, (out), (err))
#define kiln_expm1(a) \
    kiln_node_op1(KILN_OP_EXPM1, KILN_NODE(a), KILN_HERE)
#define kiln_array_expm1(a, out, err) \
    kiln_array_op(KILN_OP_EXPM1, KILN_ARGS(a), NULL, (out), (err))
#define kiln_log(a) \
    kiln_node_op1(KILN_OP_LOG, KILN_NODE(a), KILN_HERE)
#define kiln_array_log(a, out, err) \
    kiln_array_op(KILN_OP_LOG, KILN_ARGS(a), NULL, (out), (err))
#define kiln_log2(a) \
    kiln_node_op1(KILN_OP_LOG2, KILN_NODE(a), KILN_HERE)
#define kiln_array_log2(a, out, err) \
    kiln_array_op(KILN_OP_LOG2, KILN_ARGS(a), NULL, (out), (err))
#define kiln_log10(a) \
    kiln_node_op1(KILN_OP_LOG10, KILN_NODE(a), KILN_HERE)
#define kiln_array_log10(a, out, err) \
    kiln_array_op(KILN_OP_LOG10, KILN_ARGS(a), NULL, (out), (err))
#define kiln_log1p(a) \
    kiln_node_op1(KILN_OP_LOG1P, KILN_NODE(a), KILN_HERE)
#define kiln_array_log1p(a, out, err) \
    kiln_array_op(KILN_OP_LOG1P, KILN_ARGS(a), NULL, (out), (err))
#define kiln_logaddexp(a, b) \
    kiln_node_op2(KILN_OP_LOGADDEXP, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_logaddexp(a, b, out, err) \
    kiln_array_op(KILN_OP_LOGADDEXP, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_logaddexp2(a, b) \
    kiln_node_op2(KILN_OP_LOGADDEXP2, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_logaddexp2(a, b, out, err) \
    kiln_array_op(KILN_OP_LOGADDEXP2, KILN_ARGS(a, b), NULL, (out), (err))

/* ---- Trigonometric functions ---- */
#define kiln_sin(a) \
    kiln_node_op1(KILN_OP_SIN, KILN_NODE(a), KILN_HERE)
#define kiln_array_sin(a, out, err) \
    kiln_array_op(KILN_OP_SIN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_cos(a) \
    kiln_node_op1(KILN_OP_COS, KILN_NODE(a), KILN_HERE)
#define kiln_array_cos(a, out, err) \
    kiln_array_op(KILN_OP_COS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_tan(a) \
    kiln_node_op1(KILN_OP_TAN, KILN_NODE(a), KILN_HERE)
#define kiln_array_tan(a, out, err) \
    kiln_array_op(KILN_OP_TAN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arcsin(a) \
    kiln_node_op1(KILN_OP_ARCSIN, KILN_NODE(a), KILN_HERE)
#define kiln_array_arcsin(a, out, err) \
    kiln_array_op(KILN_OP_ARCSIN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_asin(a) \
    kiln_node_op1(KILN_OP_ARCSIN, KILN_NODE(a), KILN_HERE)
#define kiln_array_asin(a, out, err) \
    kiln_array_op(KILN_OP_ARCSIN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arccos(a) \
    kiln_node_op1(KILN_OP_ARCCOS, KILN_NODE(a), KILN_HERE)
#define kiln_array_arccos(a, out, err) \
    kiln_array_op(KILN_OP_ARCCOS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_acos(a) \
    kiln_node_op1(KILN_OP_ARCCOS, KILN_NODE(a), KILN_HERE)
#define kiln_array_acos(a, out, err) \
    kiln_array_op(KILN_OP_ARCCOS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arctan(a) \
    kiln_node_op1(KILN_OP_ARCTAN, KILN_NODE(a), KILN_HERE)
#define kiln_array_arctan(a, out, err) \
    kiln_array_op(KILN_OP_ARCTAN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_atan(a) \
    kiln_node_op1(KILN_OP_ARCTAN, KILN_NODE(a), KILN_HERE)
#define kiln_array_atan(a, out, err) \
    kiln_array_op(KILN_OP_ARCTAN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arctan2(a, b) \
    kiln_node_op2(KILN_OP_ARCTAN2, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_arctan2(a, b, out, err) \
    kiln_array_op(KILN_OP_ARCTAN2, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_atan2(a, b) \
    kiln_node_op2(KILN_OP_ARCTAN2, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_atan2(a, b, out, err) \
    kiln_array_op(KILN_OP_ARCTAN2, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_degrees(a) \
    kiln_node_op1(KILN_OP_DEGREES, KILN_NODE(a), KILN_HERE)
#define kiln_array_degrees(a, out, err) \
    kiln_array_op(KILN_OP_DEGREES, KILN_ARGS(a), NULL, (out), (err))
#define kiln_rad2deg(a) \
    kiln_node_op1(KILN_OP_DEGREES, KILN_NODE(a), KILN_HERE)
#define kiln_array_rad2deg(a, out, err) \
    kiln_array_op(KILN_OP_DEGREES, KILN_ARGS(a), NULL, (out), (err))
#define kiln_radians(a) \
    kiln_node_op1(KILN_OP_RADIANS, KILN_NODE(a), KILN_HERE)
#define kiln_array_radians(a, out, err) \
    kiln_array_op(KILN_OP_RADIANS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_deg2rad(a) \
    kiln_node_op1(KILN_OP_RADIANS, KILN_NODE(a), KILN_HERE)
#define kiln_array_deg2rad(a, out, err) \
    kiln_array_op(KILN_OP_RADIANS, KILN_ARGS(a), NULL, (out), (err))
#define kiln_sinc(a) \
    kiln_node_op1(KILN_OP_SINC, KILN_NODE(a), KILN_HERE)
#define kiln_array_sinc(a, out, err) \
    kiln_array_op(KILN_OP_SINC, KILN_ARGS(a), NULL, (out), (err))

/* ---- Hyperbolic functions ---- */
#define kiln_sinh(a) \
    kiln_node_op1(KILN_OP_SINH, KILN_NODE(a), KILN_HERE)
#define kiln_array_sinh(a, out, err) \
    kiln_array_op(KILN_OP_SINH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_cosh(a) \
    kiln_node_op1(KILN_OP_COSH, KILN_NODE(a), KILN_HERE)
#define kiln_array_cosh(a, out, err) \
    kiln_array_op(KILN_OP_COSH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_tanh(a) \
    kiln_node_op1(KILN_OP_TANH, KILN_NODE(a), KILN_HERE)
#define kiln_array_tanh(a, out, err) \
    kiln_array_op(KILN_OP_TANH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arcsinh(a) \
    kiln_node_op1(KILN_OP_ARCSINH, KILN_NODE(a), KILN_HERE)
#define kiln_array_arcsinh(a, out, err) \
    kiln_array_op(KILN_OP_ARCSINH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_asinh(a) \
    kiln_node_op1(KILN_OP_ARCSINH, KILN_NODE(a), KILN_HERE)
#define kiln_array_asinh(a, out, err) \
    kiln_array_op(KILN_OP_ARCSINH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arccosh(a) \
    kiln_node_op1(KILN_OP_ARCCOSH, KILN_NODE(a), KILN_HERE)
#define kiln_array_arccosh(a, out, err) \
    kiln_array_op(KILN_OP_ARCCOSH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_acosh(a) \
    kiln_node_op1(KILN_OP_ARCCOSH, KILN_NODE(a), KILN_HERE)
#define kiln_array_acosh(a, out, err) \
    kiln_array_op(KILN_OP_ARCCOSH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_arctanh(a) \
    kiln_node_op1(KILN_OP_ARCTANH, KILN_NODE(a), KILN_HERE)
#define kiln_array_arctanh(a, out, err) \
    kiln_array_op(KILN_OP_ARCTANH, KILN_ARGS(a), NULL, (out), (err))
#define kiln_atanh(a) \
    kiln_node_op1(KILN_OP_ARCTANH, KILN_NODE(a), KILN_HERE)
#define kiln_array_atanh(a, out, err) \
    kiln_array_op(KILN_OP_ARCTANH, KILN_ARGS(a), NULL, (out), (err))

/* ---- Rounding ---- */
#define kiln_floor(a) \
    kiln_node_op1(KILN_OP_FLOOR, KILN_NODE(a), KILN_HERE)
#define kiln_array_floor(a, out, err) \
    kiln_array_op(KILN_OP_FLOOR, KILN_ARGS(a), NULL, (out), (err))
#define kiln_ceil(a) \
    kiln_node_op1(KILN_OP_CEIL, KILN_NODE(a), KILN_HERE)
#define kiln_array_ceil(a, out, err) \
    kiln_array_op(KILN_OP_CEIL, KILN_ARGS(a), NULL, (out), (err))
#define kiln_trunc(a) \
    kiln_node_op1(KILN_OP_TRUNC, KILN_NODE(a), KILN_HERE)
#define kiln_array_trunc(a, out, err) \
    kiln_array_op(KILN_OP_TRUNC, KILN_ARGS(a), NULL, (out), (err))
#define kiln_fix(a) \
    kiln_node_op1(KILN_OP_TRUNC, KILN_NODE(a), KILN_HERE)
#define kiln_array_fix(a, out, err) \
    kiln_array_op(KILN_OP_TRUNC, KILN_ARGS(a), NULL, (out), (err))
#define kiln_rint(a) \
    kiln_node_op1(KILN_OP_RINT, KILN_NODE(a), KILN_HERE)
#define kiln_array_rint(a, out, err) \
    kiln_array_op(KILN_OP_RINT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_round(a) \
    kiln_node_op1(KILN_OP_ROUND, KILN_NODE(a), KILN_HERE)
#define kiln_array_round(a, out, err) \
    kiln_array_op(KILN_OP_ROUND, KILN_ARGS(a), NULL, (out), (err))

/* ---- Comparison ---- */
#define kiln_equal(a, b) \
    kiln_node_op2(KILN_OP_EQUAL, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_equal(a, b, out, err) \
    kiln_array_op(KILN_OP_EQUAL, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_not_equal(a, b) \
    kiln_node_op2(KILN_OP_NOT_EQUAL, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_not_equal(a, b, out, err) \
    kiln_array_op(KILN_OP_NOT_EQUAL, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_less(a, b) \
    kiln_node_op2(KILN_OP_LESS, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_less(a, b, out, err) \
    kiln_array_op(KILN_OP_LESS, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_less_equal(a, b) \
    kiln_node_op2(KILN_OP_LESS_EQUAL, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_less_equal(a, b, out, err) \
    kiln_array_op(KILN_OP_LESS_EQUAL, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_greater(a, b) \
    kiln_node_op2(KILN_OP_GREATER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_greater(a, b, out, err) \
    kiln_array_op(KILN_OP_GREATER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_greater_equal(a, b) \
    kiln_node_op2(KILN_OP_GREATER_EQUAL, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_greater_equal(a, b, out, err) \
    kiln_array_op(KILN_OP_GREATER_EQUAL, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_maximum(a, b) \
    kiln_node_op2(KILN_OP_MAXIMUM, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_maximum(a, b, out, err) \
    kiln_array_op(KILN_OP_MAXIMUM, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_minimum(a, b) \
    kiln_node_op2(KILN_OP_MINIMUM, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_minimum(a, b, out, err) \
    kiln_array_op(KILN_OP_MINIMUM, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_fmax(a, b) \
    kiln_node_op2(KILN_OP_FMAX, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_fmax(a, b, out, err) \
    kiln_array_op(KILN_OP_FMAX, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_fmin(a, b) \
    kiln_node_op2(KILN_OP_FMIN, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_fmin(a, b, out, err) \
    kiln_array_op(KILN_OP_FMIN, KILN_ARGS(a, b), NULL, (out), (err))

/* ---- Logic ---- */
#define kiln_logical_and(a, b) \
    kiln_node_op2(KILN_OP_LOGICAL_AND, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_logical_and(a, b, out, err) \
    kiln_array_op(KILN_OP_LOGICAL_AND, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_logical_or(a, b) \
    kiln_node_op2(KILN_OP_LOGICAL_OR, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_logical_or(a, b, out, err) \
    kiln_array_op(KILN_OP_LOGICAL_OR, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_logical_xor(a, b) \
    kiln_node_op2(KILN_OP_LOGICAL_XOR, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_logical_xor(a, b, out, err) \
    kiln_array_op(KILN_OP_LOGICAL_XOR, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_logical_not(a) \
    kiln_node_op1(KILN_OP_LOGICAL_NOT, KILN_NODE(a), KILN_HERE)
#define kiln_array_logical_not(a, out, err) \
    kiln_array_op(KILN_OP_LOGICAL_NOT, KILN_ARGS(a), NULL, (out), (err))

/* ---- Bits ---- */
#define kiln_bitwise_and(a, b) \
    kiln_node_op2(KILN_OP_BITWISE_AND, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_bitwise_and(a, b, out, err) \
    kiln_array_op(KILN_OP_BITWISE_AND, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_bitwise_or(a, b) \
    kiln_node_op2(KILN_OP_BITWISE_OR, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_bitwise_or(a, b, out, err) \
    kiln_array_op(KILN_OP_BITWISE_OR, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_bitwise_xor(a, b) \
    kiln_node_op2(KILN_OP_BITWISE_XOR, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_bitwise_xor(a, b, out, err) \
    kiln_array_op(KILN_OP_BITWISE_XOR, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_invert(a) \
    kiln_node_op1(KILN_OP_INVERT, KILN_NODE(a), KILN_HERE)
#define kiln_array_invert(a, out, err) \
    kiln_array_op(KILN_OP_INVERT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_bitwise_not(a) \
    kiln_node_op1(KILN_OP_INVERT, KILN_NODE(a), KILN_HERE)
#define kiln_array_bitwise_not(a, out, err) \
    kiln_array_op(KILN_OP_INVERT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_bitwise_invert(a) \
    kiln_node_op1(KILN_OP_INVERT, KILN_NODE(a), KILN_HERE)
#define kiln_array_bitwise_invert(a, out, err) \
    kiln_array_op(KILN_OP_INVERT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_left_shift(a, b) \
    kiln_node_op2(KILN_OP_LEFT_SHIFT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_left_shift(a, b, out, err) \
    kiln_array_op(KILN_OP_LEFT_SHIFT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_bitwise_left_shift(a, b) \
    kiln_node_op2(KILN_OP_LEFT_SHIFT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_bitwise_left_shift(a, b, out, err) \
    kiln_array_op(KILN_OP_LEFT_SHIFT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_right_shift(a, b) \
    kiln_node_op2(KILN_OP_RIGHT_SHIFT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_right_shift(a, b, out, err) \
    kiln_array_op(KILN_OP_RIGHT_SHIFT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_bitwise_right_shift(a, b) \
    kiln_node_op2(KILN_OP_RIGHT_SHIFT, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_bitwise_right_shift(a, b, out, err) \
    kiln_array_op(KILN_OP_RIGHT_SHIFT, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_bitwise_count(a) \
    kiln_node_op1(KILN_OP_BITWISE_COUNT, KILN_NODE(a), KILN_HERE)
#define kiln_array_bitwise_count(a, out, err) \
    kiln_array_op(KILN_OP_BITWISE_COUNT, KILN_ARGS(a), NULL, (out), (err))

/* ---- Floating point ---- */
#define kiln_isnan(a) \
    kiln_node_op1(KILN_OP_ISNAN, KILN_NODE(a), KILN_HERE)
#define kiln_array_isnan(a, out, err) \
    kiln_array_op(KILN_OP_ISNAN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_isinf(a) \
    kiln_node_op1(KILN_OP_ISINF, KILN_NODE(a), KILN_HERE)
#define kiln_array_isinf(a, out, err) \
    kiln_array_op(KILN_OP_ISINF, KILN_ARGS(a), NULL, (out), (err))
#define kiln_isfinite(a) \
    kiln_node_op1(KILN_OP_ISFINITE, KILN_NODE(a), KILN_HERE)
#define kiln_array_isfinite(a, out, err) \
    kiln_array_op(KILN_OP_ISFINITE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_signbit(a) \
    kiln_node_op1(KILN_OP_SIGNBIT, KILN_NODE(a), KILN_HERE)
#define kiln_array_signbit(a, out, err) \
    kiln_array_op(KILN_OP_SIGNBIT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_copysign(a, b) \
    kiln_node_op2(KILN_OP_COPYSIGN, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_copysign(a, b, out, err) \
    kiln_array_op(KILN_OP_COPYSIGN, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_nextafter(a, b) \
    kiln_node_op2(KILN_OP_NEXTAFTER, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_nextafter(a, b, out, err) \
    kiln_array_op(KILN_OP_NEXTAFTER, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_spacing(a) \
    kiln_node_op1(KILN_OP_SPACING, KILN_NODE(a), KILN_HERE)
#define kiln_array_spacing(a, out, err) \
    kiln_array_op(KILN_OP_SPACING, KILN_ARGS(a), NULL, (out), (err))
#define kiln_ldexp(a, b) \
    kiln_node_op2(KILN_OP_LDEXP, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_ldexp(a, b, out, err) \
    kiln_array_op(KILN_OP_LDEXP, KILN_ARGS(a, b), NULL, (out), (err))
#define kiln_frexp_mantissa(a) \
    kiln_node_op1(KILN_OP_FREXP_MANTISSA, KILN_NODE(a), KILN_HERE)
#define kiln_array_frexp_mantissa(a, out, err) \
    kiln_array_op(KILN_OP_FREXP_MANTISSA, KILN_ARGS(a), NULL, (out), (err))
#define kiln_frexp_exponent(a) \
    kiln_node_op1(KILN_OP_FREXP_EXPONENT, KILN_NODE(a), KILN_HERE)
#define kiln_array_frexp_exponent(a, out, err) \
    kiln_array_op(KILN_OP_FREXP_EXPONENT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_modf_fraction(a) \
    kiln_node_op1(KILN_OP_MODF_FRACTION, KILN_NODE(a), KILN_HERE)
#define kiln_array_modf_fraction(a, out, err) \
    kiln_array_op(KILN_OP_MODF_FRACTION, KILN_ARGS(a), NULL, (out), (err))
#define kiln_modf_whole(a) \
    kiln_node_op1(KILN_OP_MODF_WHOLE, KILN_NODE(a), KILN_HERE)
#define kiln_array_modf_whole(a, out, err) \
    kiln_array_op(KILN_OP_MODF_WHOLE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_frexp(a, mantissa, exponent) \
    kiln_node_pair1(KILN_OP_FREXP_MANTISSA, KILN_OP_FREXP_EXPONENT, KILN_NODE(a), \
        (mantissa), (exponent), KILN_HERE)
#define kiln_array_frexp(a, mantissa, exponent, err) \
    kiln_array_op_pair(KILN_OP_FREXP_MANTISSA, KILN_OP_FREXP_EXPONENT, KILN_ARGS(a), NULL, \
        (mantissa), (exponent), (err))
#define kiln_modf(a, fraction, whole) \
    kiln_node_pair1(KILN_OP_MODF_FRACTION, KILN_OP_MODF_WHOLE, KILN_NODE(a), \
        (fraction), (whole), KILN_HERE)
#define kiln_array_modf(a, fraction, whole, err) \
    kiln_array_op_pair(KILN_OP_MODF_FRACTION, KILN_OP_MODF_WHOLE, KILN_ARGS(a), NULL, \
        (fraction), (whole), (err))
#define kiln_heaviside(a, b) \
    kiln_node_op2(KILN_OP_HEAVISIDE, KILN_NODE(a), KILN_NODE(b), KILN_HERE)
#define kiln_array_heaviside(a, b, out, err) \
    kiln_array_op(KILN_OP_HEAVISIDE, KILN_ARGS(a, b), NULL, (out), (err))

/* ---- Choice ---- */
#define kiln_where(a, b, c) \
    kiln_node_op3(KILN_OP_WHERE, KILN_NODE(a), KILN_NODE(b), KILN_NODE(c), KILN_HERE)
#define kiln_array_where(a, b, c, out, err) \
    kiln_array_op(KILN_OP_WHERE, KILN_ARGS(a, b, c), NULL, (out), (err))
#define kiln_clip(a, b, c) \
    kiln_node_op3(KILN_OP_CLIP, KILN_NODE(a), KILN_NODE(b), KILN_NODE(c), KILN_HERE)
#define kiln_array_clip(a, b, c, out, err) \
    kiln_array_op(KILN_OP_CLIP, KILN_ARGS(a, b, c), NULL, (out), (err))

/* ---- Complex numbers ---- */
#define kiln_real(a) \
    kiln_node_op1(KILN_OP_REAL, KILN_NODE(a), KILN_HERE)
#define kiln_array_real(a, out, err) \
    kiln_array_op(KILN_OP_REAL, KILN_ARGS(a), NULL, (out), (err))
#define kiln_imag(a) \
    kiln_node_op1(KILN_OP_IMAG, KILN_NODE(a), KILN_HERE)
#define kiln_array_imag(a, out, err) \
    kiln_array_op(KILN_OP_IMAG, KILN_ARGS(a), NULL, (out), (err))
#define kiln_conjugate(a) \
    kiln_node_op1(KILN_OP_CONJUGATE, KILN_NODE(a), KILN_HERE)
#define kiln_array_conjugate(a, out, err) \
    kiln_array_op(KILN_OP_CONJUGATE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_conj(a) \
    kiln_node_op1(KILN_OP_CONJUGATE, KILN_NODE(a), KILN_HERE)
#define kiln_array_conj(a, out, err) \
    kiln_array_op(KILN_OP_CONJUGATE, KILN_ARGS(a), NULL, (out), (err))
#define kiln_angle(a) \
    kiln_node_op1(KILN_OP_ANGLE, KILN_NODE(a), KILN_HERE)
#define kiln_array_angle(a, out, err) \
    kiln_array_op(KILN_OP_ANGLE, KILN_ARGS(a), NULL, (out), (err))

/* ---- Special functions (SciPy's names) ---- */
#define kiln_erf(a) \
    kiln_node_op1(KILN_OP_ERF, KILN_NODE(a), KILN_HERE)
#define kiln_array_erf(a, out, err) \
    kiln_array_op(KILN_OP_ERF, KILN_ARGS(a), NULL, (out), (err))
#define kiln_erfc(a) \
    kiln_node_op1(KILN_OP_ERFC, KILN_NODE(a), KILN_HERE)
#define kiln_array_erfc(a, out, err) \
    kiln_array_op(KILN_OP_ERFC, KILN_ARGS(a), NULL, (out), (err))
#define kiln_erfcx(a) \
    kiln_node_op1(KILN_OP_ERFCX, KILN_NODE(a), KILN_HERE)
#define kiln_array_erfcx(a, out, err) \
    kiln_array_op(KILN_OP_ERFCX, KILN_ARGS(a), NULL, (out), (err))
#define kiln_erfinv(a) \
    kiln_node_op1(KILN_OP_ERFINV, KILN_NODE(a), KILN_HERE)
#define kiln_array_erfinv(a, out, err) \
    kiln_array_op(KILN_OP_ERFINV, KILN_ARGS(a), NULL, (out), (err))
#define kiln_erfcinv(a) \
    kiln_node_op1(KILN_OP_ERFCINV, KILN_NODE(a), KILN_HERE)
#define kiln_array_erfcinv(a, out, err) \
    kiln_array_op(KILN_OP_ERFCINV, KILN_ARGS(a), NULL, (out), (err))
#define kiln_ndtr(a) \
    kiln_node_op1(KILN_OP_NDTR, KILN_NODE(a), KILN_HERE)
#define kiln_array_ndtr(a, out, err) \
    kiln_array_op(KILN_OP_NDTR, KILN_ARGS(a), NULL, (out), (err))
#define kiln_ndtri(a) \
    kiln_node_op1(KILN_OP_NDTRI, KILN_NODE(a), KILN_HERE)
#define kiln_array_ndtri(a, out, err) \
    kiln_array_op(KILN_OP_NDTRI, KILN_ARGS(a), NULL, (out), (err))
#define kiln_gamma(a) \
    kiln_node_op1(KILN_OP_GAMMA, KILN_NODE(a), KILN_HERE)
#define kiln_array_gamma(a, out, err) \
    kiln_array_op(KILN_OP_GAMMA, KILN_ARGS(a), NULL, (out), (err))
#define kiln_gammaln(a) \
    kiln_node_op1(KILN_OP_GAMMALN, KILN_NODE(a), KILN_HERE)
#define kiln_array_gammaln(a, out, err) \
    kiln_array_op(KILN_OP_GAMMALN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_lgamma(a) \
    kiln_node_op1(KILN_OP_GAMMALN, KILN_NODE(a), KILN_HERE)
#define kiln_array_lgamma(a, out, err) \
    kiln_array_op(KILN_OP_GAMMALN, KILN_ARGS(a), NULL, (out), (err))
#define kiln_i0(a) \
    kiln_node_op1(KILN_OP_I0, KILN_NODE(a), KILN_HERE)
#define kiln_array_i0(a, out, err) \
    kiln_array_op(KILN_OP_I0, KILN_ARGS(a), NULL, (out), (err))
#define kiln_i1(a) \
    kiln_node_op1(KILN_OP_I1, KILN_NODE(a), KILN_HERE)
#define kiln_array_i1(a, out, err) \
    kiln_array_op(KILN_OP_I1, KILN_ARGS(a), NULL, (out), (err))
#define kiln_j0(a) \
    kiln_node_op1(KILN_OP_J0, KILN_NODE(a), KILN_HERE)
#define kiln_array_j0(a, out, err) \
    kiln_array_op(KILN_OP_J0, KILN_ARGS(a), NULL, (out), (err))
#define kiln_j1(a) \
    kiln_node_op1(KILN_OP_J1, KILN_NODE(a), KILN_HERE)
#define kiln_array_j1(a, out, err) \
    kiln_array_op(KILN_OP_J1, KILN_ARGS(a), NULL, (out), (err))
#define kiln_y0(a) \
    kiln_node_op1(KILN_OP_Y0, KILN_NODE(a), KILN_HERE)
#define kiln_array_y0(a, out, err) \
    kiln_array_op(KILN_OP_Y0, KILN_ARGS(a), NULL, (out), (err))
#define kiln_y1(a) \
    kiln_node_op1(KILN_OP_Y1, KILN_NODE(a), KILN_HERE)
#define kiln_array_y1(a, out, err) \
    kiln_array_op(KILN_OP_Y1, KILN_ARGS(a), NULL, (out), (err))
#define kiln_expit(a) \
    kiln_node_op1(KILN_OP_EXPIT, KILN_NODE(a), KILN_HERE)
#define kiln_array_expit(a, out, err) \
    kiln_array_op(KILN_OP_EXPIT, KILN_ARGS(a), NULL, (out), (err))
#define kiln_logit(a) \
    kiln_node_op1(KILN_OP_LOGIT, KILN_NODE(a), KILN_HERE)
#define kiln_array_logit(a, out, err) \
    kiln_array_op(KILN_OP_LOGIT, KILN_ARGS(a), NULL, (out), (err))

#endif
