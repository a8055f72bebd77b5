/*
 * half_format.h - float16 and bfloat16 from their definition, in double: for tests, which share nothing
 * with the library.
 */
#ifndef KILN_TESTS_HALF_FORMAT_H
#define KILN_TESTS_HALF_FORMAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kiln/dtype.h"

enum { CODES = 65536 };

/* A 16-bit format: significant digits, least exponent of a normal number, dtype. */
typedef struct format {
    const char *name;
    kiln_dtype dtype;
    int digits, least;
    double most; /* the largest finite number */
} format;

static const format formats[] = {
    {"float16", KILN_FLOAT16, 11, -14, 65504.0},
    {"bfloat16", KILN_BFLOAT16, 8, -126, 0x1.fep127},
};

/* What a code stands for. */
static inline double decode(const format *f, uint16_t code)
{
    const int fraction_bits = f->digits - 1, fraction = code & ((1 << fraction_bits) - 1);
    const int exponent = (code & 0x7fff) >> fraction_bits, special = 0x7fff >> fraction_bits;
    double v = ldexp(fraction, f->least - fraction_bits);
    if (exponent == special)
        v = fraction == 0 ? INFINITY : NAN;
    else if (exponent != 0)
        v = ldexp(fraction + (1 << fraction_bits), f->least - fraction_bits + exponent - 1);
    return (code & 0x8000) != 0 ? -v : v;
}

/* `v` rounded to the format, to nearest even. */
static inline double round_to(const format *f, double v)
{
    int exponent;
    if (v == 0 || !isfinite(v))
        return v;
    frexp(v, &exponent);
    exponent = exponent - 1 < f->least ? f->least : exponent - 1;
    const double r = ldexp(nearbyint(ldexp(v, f->digits - 1 - exponent)), exponent - f->digits + 1);
    return fabs(r) > f->most ? copysign(INFINITY, v) : r;
}

static inline bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

#endif
