/*
 * scalar.c - plain numbers, and 16-bit floating point on the host.
 *
 * C11 has no type for either format, so they are converted by their bits:
 *
 *     float16   1 sign, 5 exponent (bias 15),  10 fraction bits
 *     bfloat16  1 sign, 8 exponent (bias 127),  7 fraction bits: the upper half of a float
 *
 * Rule 1: a value is rounded once, to nearest, ties to even. float64 therefore never goes through
 *         float32 on its way to 16 bits.
 * Rule 2: NaN stays NaN (quiet, sign kept); what is too large becomes infinite, as in hardware.
 */
#include "core/core.h"

/* A 16-bit format: the number of its exponent and fraction bits. */
typedef struct format16 {
    int exponent_bits;
    int fraction_bits;
} format16;

static const format16 FLOAT16 = {5, 10};
static const format16 BFLOAT16 = {8, 7};

#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023

static const char number_kinds[] = "biufc";

unsigned kiln__number_index(const kiln__number *number)
{
    return (unsigned)(strchr(number_kinds, number->kind) - number_kinds);
}

kiln__number kiln__number_of(unsigned index, const void *value)
{
    kiln__number n = {.kind = number_kinds[index]};
    memcpy(&n.value, value, sizeof n.value);
    if (n.kind == 'u' && n.value.u <= INT64_MAX)
        n.kind = 'i';
    return n;
}

static uint16_t round_to(format16 f, double v)
{
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const uint16_t infinity = (uint16_t)(((1u << f.exponent_bits) - 1u) << f.fraction_bits);
    uint64_t bits = 0;

    memcpy(&bits, &v, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 63) << 15);
    int exponent = (int)((bits >> DOUBLE_FRACTION_BITS) & 0x7FF);
    uint64_t significand = bits & (((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1);
    if (exponent == 0x7FF) {
        /* Keep the payload's upper bits, and set the quiet bit so that it cannot become zero. */
        uint16_t payload = (uint16_t)(significand >> (DOUBLE_FRACTION_BITS - f.fraction_bits));
        uint16_t quiet = (uint16_t)(1u << (f.fraction_bits - 1));
        return (uint16_t)(sign | infinity | (significand != 0 ? payload | quiet : 0));
    }
    if (exponent == 0)
        return sign; /* float64's subnormals are below half of the smallest 16-bit value. */

    significand |= (uint64_t)1 << DOUBLE_FRACTION_BITS;
    exponent += bias - DOUBLE_BIAS; /* biased as the target counts; <= 0 means subnormal there */
    int drop = DOUBLE_FRACTION_BITS - f.fraction_bits + (exponent < 1 ? 1 - exponent : 0);
    if (drop > DOUBLE_FRACTION_BITS + 1)
        return sign; /* less than half of the smallest subnormal */
    if (exponent > (1 << f.exponent_bits) - 2)
        return (uint16_t)(sign | infinity);

    /* Carry out of the fraction goes into the exponent, and out of the largest one into infinity:
     * the encodings are in order, so plain addition is right in each case. */
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & (((uint64_t)1 << drop) - 1);
    uint64_t half = (uint64_t)1 << (drop - 1);
    if (exponent >= 1)
        kept += (uint64_t)(exponent - 1) << f.fraction_bits;
    if (rest > half || (rest == half && (kept & 1) != 0))
        kept++;
    return (uint16_t)(sign | kept);
}

uint16_t kiln__float16_from_double(double v)
{
    return round_to(FLOAT16, v);
}

uint16_t kiln__bfloat16_from_double(double v)
{
    return round_to(BFLOAT16, v);
}

float kiln__bfloat16_to_float(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f = 0;

    memcpy(&f, &bits, sizeof f);
    return f;
}

float kiln__float16_to_float(uint16_t v)
{
    uint32_t sign = (uint32_t)(v >> 15) << 31;
    uint32_t exponent = (v >> 10) & 31u, fraction = v & 1023u, bits = 0;
    float f = 0;

    if (exponent == 31) {
        bits = 0x7F800000u | fraction << 13;
    } else if (exponent != 0) {
        bits = (exponent + 127 - 15) << 23 | fraction << 13;
    } else {
        /* Zero or subnormal: fraction * 2^-24, exact as a product of two floats. */
        f = (float)fraction * 0x1p-24f;
        memcpy(&bits, &f, sizeof bits);
    }
    bits |= sign;
    memcpy(&f, &bits, sizeof f);
    return f;
}
