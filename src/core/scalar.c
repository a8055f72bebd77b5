/*
 * scalar.c - plain numbers, and floats of 16 and 8 bits on the host.
 *
 * C11 has no type for these formats, so they are converted by their bits:
 *
 *     float16        1 sign, 5 exponent (bias 15),  10 fraction bits
 *     bfloat16       1 sign, 8 exponent (bias 127),  7 fraction bits: the upper half of a float
 *     float8_e4m3fn  1 sign, 4 exponent (bias 7),    3 fraction bits: no infinities, one NaN
 *     float8_e5m2    1 sign, 5 exponent (bias 15),   2 fraction bits: the upper half of a float16
 *
 * Rule 1: a value is rounded once, to nearest, ties to even. float64 therefore never goes through
 *         float32 on its way to a narrow format.
 * Rule 2: NaN stays NaN (quiet, sign kept); what is too large becomes infinite, as in hardware, and
 *         NaN in a format without infinities, as in ml_dtypes.
 */
#include "core/core.h"

/* A narrow format. One that is finite has no infinities: the largest code is its NaN, and all
 * others with the same exponent are numbers. */
typedef struct narrow_format {
    kiln_dtype dtype;
    int exponent_bits;
    int fraction_bits;
    bool finite;
} narrow_format;

static const narrow_format FLOAT16 = {KILN_FLOAT16, 5, 10, false};
static const narrow_format BFLOAT16 = {KILN_BFLOAT16, 8, 7, false};
static const narrow_format FLOAT8_E4M3FN = {KILN_FLOAT8_E4M3FN, 4, 3, true};
static const narrow_format FLOAT8_E5M2 = {KILN_FLOAT8_E5M2, 5, 2, false};

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

/* ---- narrow floats ---- */

/* The code of infinity, or of the NaN of a format that is finite. */
static uint16_t overflow_of(const narrow_format *f)
{
    const unsigned all = (1u << (f->exponent_bits + f->fraction_bits)) - 1u;
    return (uint16_t)(f->finite ? all : all >> f->fraction_bits << f->fraction_bits);
}

static uint16_t round_to(const narrow_format *f, double v)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const uint16_t infinity = overflow_of(f);
    uint64_t bits = 0;

    memcpy(&bits, &v, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 63) << (f->exponent_bits + f->fraction_bits));
    int exponent = (int)((bits >> DOUBLE_FRACTION_BITS) & 0x7FF);
    uint64_t significand = bits & (((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1);
    if (exponent == 0x7FF) {
        /* Keep the payload's upper bits, and set the quiet bit so that it cannot become zero. */
        uint16_t payload = (uint16_t)(significand >> (DOUBLE_FRACTION_BITS - f->fraction_bits));
        uint16_t quiet = (uint16_t)(1u << (f->fraction_bits - 1));
        const bool number = significand == 0 || f->finite;
        return (uint16_t)(sign | infinity | (number ? 0 : payload | quiet));
    }
    if (exponent == 0)
        return sign; /* float64's subnormals are below half of the smallest narrow value. */

    significand |= (uint64_t)1 << DOUBLE_FRACTION_BITS;
    exponent += bias - DOUBLE_BIAS; /* biased as the target counts; <= 0 means subnormal there */
    int drop = DOUBLE_FRACTION_BITS - f->fraction_bits + (exponent < 1 ? 1 - exponent : 0);
    if (drop > DOUBLE_FRACTION_BITS + 1)
        return sign; /* less than half of the smallest subnormal */

    /* Carry out of the fraction goes into the exponent, and out of the largest one into infinity:
     * the encodings are in order, so plain addition is right in each case. What is beyond infinity
     * is infinity. */
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & (((uint64_t)1 << drop) - 1);
    uint64_t half = (uint64_t)1 << (drop - 1);
    if (exponent >= 1)
        kept += (uint64_t)(exponent - 1) << f->fraction_bits;
    if (rest > half || (rest == half && (kept & 1) != 0))
        kept++;
    return (uint16_t)(sign | (kept < infinity ? kept : infinity));
}

uint16_t kiln__float16_from_double(double v)
{
    return round_to(&FLOAT16, v);
}

uint16_t kiln__bfloat16_from_double(double v)
{
    return round_to(&BFLOAT16, v);
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

float kiln__float8_e5m2_to_float(uint8_t v)
{
    return kiln__float16_to_float((uint16_t)(v << 8));
}

/* As a float16 whose exponent is 8 too small; the product is exact. */
float kiln__float8_e4m3fn_to_float(uint8_t v)
{
    const uint16_t half = (uint16_t)((v & 0x80) << 8 | (v & 0x7F) << 7);
    const uint16_t nan = (uint16_t)(half | 0x7E00);
    return (v & 0x7F) == 0x7F ? kiln__float16_to_float(nan) : kiln__float16_to_float(half) * 256.0f;
}

/* ---- by dtype ---- */

/* NULL: no narrow float. */
static const narrow_format *format_of(kiln_dtype dtype)
{
    static const narrow_format *const formats[] = {&FLOAT16, &BFLOAT16, &FLOAT8_E4M3FN,
                                                   &FLOAT8_E5M2};

    for (size_t k = 0; k < KILN_COUNT_OF(formats); k++)
        if (formats[k]->dtype == dtype)
            return formats[k];
    return NULL;
}

/* Whether its elements are bytes. */
static bool is_byte(const narrow_format *f)
{
    return 1 + f->exponent_bits + f->fraction_bits == 8;
}

bool kiln__is_narrow(kiln_dtype dtype)
{
    return format_of(dtype) != NULL;
}

bool kiln__is_float8(kiln_dtype dtype)
{
    const narrow_format *f = format_of(dtype);

    return f != NULL && is_byte(f);
}

float kiln__narrow_load(kiln_dtype dtype, const void *element)
{
    uint8_t b8;
    uint16_t b16;

    if (kiln__is_float8(dtype)) {
        memcpy(&b8, element, sizeof b8);
        return dtype == KILN_FLOAT8_E5M2 ? kiln__float8_e5m2_to_float(b8)
                                         : kiln__float8_e4m3fn_to_float(b8);
    }
    memcpy(&b16, element, sizeof b16);
    return dtype == KILN_FLOAT16 ? kiln__float16_to_float(b16) : kiln__bfloat16_to_float(b16);
}

void kiln__narrow_store(kiln_dtype dtype, double v, void *element)
{
    const narrow_format *f = format_of(dtype);
    const uint16_t b16 = round_to(f, v);
    const uint8_t b8 = (uint8_t)b16;

    if (is_byte(f))
        memcpy(element, &b8, sizeof b8);
    else
        memcpy(element, &b16, sizeof b16);
}

double kiln__float_round(kiln_dtype dtype, double v)
{
    uint16_t bits;

    if (!kiln__is_narrow(dtype))
        return dtype == KILN_FLOAT32 ? (double)(float)v : v;
    kiln__narrow_store(dtype, v, &bits);
    return (double)kiln__narrow_load(dtype, &bits);
}

uint64_t kiln__float_infinity(kiln_dtype dtype)
{
    const narrow_format *f = format_of(dtype);

    if (f != NULL)
        return (uint64_t)overflow_of(f) - f->finite;
    return dtype == KILN_FLOAT32 ? 0x7F800000u : UINT64_C(0x7FF0000000000000);
}
