/*
 * value.c - elements and their bounds: how each dtype keeps a number, and when two agree.
 *
 * Rule: bits are decoded and encoded here anew; no kiln function computes a value.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "difftest.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

bool dt_is_integer(kiln_dtype dtype)
{
    return dtype >= KILN_BOOL && dtype <= KILN_UINT64;
}

bool dt_is_float(kiln_dtype dtype)
{
    return (dtype >= KILN_FLOAT16 && dtype <= KILN_FLOAT64) || dt_is_float8(dtype);
}

bool dt_is_complex(kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64 || dtype == KILN_COMPLEX128;
}

bool dt_is_narrow(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16 || dt_is_float8(dtype);
}

bool dt_is_float8(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT8_E4M3FN || dtype == KILN_FLOAT8_E5M2;
}

bool dt_is_signed(kiln_dtype dtype)
{
    return dtype >= KILN_INT8 && dtype <= KILN_INT64;
}

kiln_dtype dt_part_of(kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : dtype == KILN_COMPLEX128 ? KILN_FLOAT64 : dtype;
}

kiln_dtype dt_complex_of(kiln_dtype part)
{
    return part == KILN_FLOAT64 || part == KILN_COMPLEX128 ? KILN_COMPLEX128 : KILN_COMPLEX64;
}

dt_format dt_format_of(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_FLOAT16:
        return (dt_format){11, -14, 15};
    case KILN_BFLOAT16:
        return (dt_format){8, -126, 127};
    case KILN_FLOAT8_E4M3FN:
        return (dt_format){4, -6, 8};
    case KILN_FLOAT8_E5M2:
        return (dt_format){3, -14, 15};
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        return (dt_format){24, -126, 127};
    default:
        return (dt_format){53, -1022, 1023};
    }
}

double dt_largest(kiln_dtype dtype)
{
    const dt_format f = dt_format_of(dtype);

    if (dtype == KILN_FLOAT8_E4M3FN) /* one number less, for NaN */
        return 448;
    return ldexp(2 - ldexp(1, 1 - f.digits), f.emax);
}

/* To nearest, ties to even; beyond the largest it is infinite, or NaN where there is no infinity. */
double dt_round(kiln_dtype dtype, long double v)
{
    const dt_format f = dt_format_of(dtype);
    int exponent;

    if (isinf(v) && dtype == KILN_FLOAT8_E4M3FN)
        return NAN;
    if (v == 0 || isnan(v) || isinf(v))
        return (double)v;
    if (f.digits == 53)
        return (double)v;
    if (f.digits == 24)
        return (double)(float)v;
    frexpl(v, &exponent);
    exponent = exponent - 1 < f.emin ? f.emin : exponent - 1;
    const long double quantum = ldexpl(1, exponent - (f.digits - 1));
    const long double rounded = nearbyintl(v / quantum) * quantum;
    if (fabsl(rounded) > dt_largest(dtype))
        return dtype == KILN_FLOAT8_E4M3FN ? (double)NAN : copysign(INFINITY, (double)v);
    return rounded == 0 ? copysign(0, (double)v) : (double)rounded;
}

double dt_ulp(kiln_dtype dtype, double v)
{
    const dt_format f = dt_format_of(dtype);
    int exponent;

    if (!isfinite(v))
        return 0;
    frexp(v, &exponent);
    exponent = v == 0 || exponent - 1 < f.emin ? f.emin : exponent - 1;
    return ldexp(1, exponent - (f.digits - 1));
}

/* ---- making values --------------------------------------------------------------------------- */

int64_t dt_wrap(kiln_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case KILN_BOOL:
        return bits != 0;
    case KILN_INT8:
        return (int8_t)(uint8_t)bits;
    case KILN_INT16:
        return (int16_t)(uint16_t)bits;
    case KILN_INT32:
        return (int32_t)(uint32_t)bits;
    case KILN_UINT8:
        return (uint8_t)bits;
    case KILN_UINT16:
        return (uint16_t)bits;
    case KILN_UINT32:
        return (uint32_t)bits;
    default:
        return (int64_t)bits;
    }
}

dt_value dt_unknown(void)
{
    return (dt_value){.error = INFINITY, .alone = INFINITY};
}

bool dt_is_unknown(dt_value v)
{
    return isinf(v.error);
}

bool dt_is_exact(dt_value v)
{
    return v.error == 0;
}

dt_value dt_of_integer(kiln_dtype dtype, int64_t v)
{
    return (dt_value){.i = dt_wrap(dtype, (uint64_t)v)};
}

dt_value dt_of_real(kiln_dtype dtype, double v)
{
    return (dt_value){.re = dt_round(dtype, v)};
}

dt_value dt_limit(kiln_dtype dtype, bool greatest)
{
    if (!dt_is_integer(dtype)) {
        const double most = dtype == KILN_FLOAT8_E4M3FN ? dt_largest(dtype) : (double)INFINITY;
        return (dt_value){.re = greatest ? most : -most};
    }
    const unsigned bits = 8 * (unsigned)kiln_dtype_size(dtype);
    if (dtype == KILN_BOOL)
        return (dt_value){.i = greatest};
    if (!dt_is_signed(dtype))
        return (dt_value){.i = greatest ? dt_wrap(dtype, UINT64_MAX) : 0};
    const uint64_t least = (uint64_t)1 << (bits - 1);
    return (dt_value){.i = dt_wrap(dtype, greatest ? least - 1 : least)};
}

long double dt_real(kiln_dtype dtype, dt_value v)
{
    if (dtype == KILN_UINT64)
        return (long double)(uint64_t)v.i;
    return dt_is_integer(dtype) ? (long double)v.i : (long double)v.re;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* How a narrow float lies in its bits, below the sign. */
typedef struct layout {
    int bits, fraction_bits, bias;
    unsigned top;      /* the exponent whose numbers are special */
    bool has_infinity; /* else all bits set are NaN, and the rest of them are numbers */
} layout;

static layout layout_of(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_BFLOAT16:
        return (layout){15, 7, 127, 255, true};
    case KILN_FLOAT8_E4M3FN:
        return (layout){7, 3, 7, 15, false};
    case KILN_FLOAT8_E5M2:
        return (layout){7, 2, 15, 31, true};
    default:
        return (layout){15, 10, 15, 31, true};
    }
}

static double load_narrow(kiln_dtype dtype, unsigned bits)
{
    const layout f = layout_of(dtype);
    const unsigned ones = (1u << f.fraction_bits) - 1, fraction = bits & ones;
    const unsigned exponent = bits >> f.fraction_bits & f.top;
    double v;

    if (exponent == f.top && (f.has_infinity || fraction == ones))
        v = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        v = ldexp(fraction, 1 - f.bias - f.fraction_bits);
    else
        v = ldexp(fraction + ones + 1, (int)exponent - f.bias - f.fraction_bits);
    return bits >> f.bits != 0 ? -v : v;
}

/* `v` has been rounded to the dtype. */
static unsigned store_narrow(kiln_dtype dtype, double v)
{
    const layout f = layout_of(dtype);
    const unsigned sign = signbit(v) ? 1u << f.bits : 0;
    int exponent;

    if (isnan(v) || (isinf(v) && !f.has_infinity))
        return f.top << f.fraction_bits |
               (f.has_infinity ? 1u << (f.fraction_bits - 1) : (1u << f.fraction_bits) - 1);
    if (isinf(v))
        return sign | f.top << f.fraction_bits;
    if (fabs(v) < ldexp(1, 1 - f.bias))
        return sign | (unsigned)ldexp(fabs(v), f.bias - 1 + f.fraction_bits);
    const double fraction = frexp(fabs(v), &exponent); /* in [0.5, 1) */
    return sign | (unsigned)(exponent + f.bias - 1) << f.fraction_bits |
           ((unsigned)ldexp(fraction, f.fraction_bits + 1) - (1u << f.fraction_bits));
}

static double load_part(kiln_dtype part, const void *bytes)
{
    float f;
    double d;
    uint16_t h;

    if (part == KILN_FLOAT64) {
        memcpy(&d, bytes, sizeof d);
        return d;
    }
    if (part == KILN_FLOAT32) {
        memcpy(&f, bytes, sizeof f);
        return (double)f;
    }
    if (dt_is_float8(part))
        return load_narrow(part, *(const unsigned char *)bytes);
    memcpy(&h, bytes, sizeof h);
    return load_narrow(part, h);
}

static void store_part(kiln_dtype part, void *bytes, double v)
{
    const float f = (float)v;
    uint16_t h;

    if (part == KILN_FLOAT64) {
        memcpy(bytes, &v, sizeof v);
    } else if (part == KILN_FLOAT32) {
        memcpy(bytes, &f, sizeof f);
    } else if (dt_is_float8(part)) {
        *(unsigned char *)bytes = (unsigned char)store_narrow(part, v);
    } else {
        h = (uint16_t)store_narrow(part, v);
        memcpy(bytes, &h, sizeof h);
    }
}

dt_value dt_load(kiln_dtype dtype, const void *element)
{
    const kiln_dtype part = dt_part_of(dtype);
    dt_value v = {0};
    uint64_t bits = 0;

    if (dt_is_integer(dtype)) {
        for (size_t k = kiln_dtype_size(dtype); k-- > 0;)
            bits = bits << 8 | ((const unsigned char *)element)[k];
        v.i = dt_wrap(dtype, bits);
        return v;
    }
    v.re = load_part(part, element);
    if (dt_is_complex(dtype))
        v.im = load_part(part, (const unsigned char *)element + kiln_dtype_size(part));
    return v;
}

void dt_store(kiln_dtype dtype, void *element, dt_value v)
{
    const kiln_dtype part = dt_part_of(dtype);

    if (dt_is_integer(dtype)) {
        for (size_t k = 0; k < kiln_dtype_size(dtype); k++)
            ((unsigned char *)element)[k] = (unsigned char)((uint64_t)v.i >> 8 * k);
        return;
    }
    store_part(part, element, v.re);
    if (dt_is_complex(dtype))
        store_part(part, (unsigned char *)element + kiln_dtype_size(part), v.im);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* A real number that may be off by `error`, to an integer: truncated. Where C leaves the result
 * open, so do we. */
static dt_value real_to_integer(kiln_dtype to, long double v, double error)
{
    const dt_value least = dt_limit(to, false), most = dt_limit(to, true);

    if (!(v - error > dt_real(to, least) - 1 && v + error < dt_real(to, most) + 1))
        return dt_unknown();
    if (truncl(v - error) != truncl(v + error))
        return dt_unknown();
    const long double whole = truncl(v);
    return (dt_value){.i = whole < 0 ? (int64_t)whole : (int64_t)(uint64_t)whole};
}

static dt_value to_bool(kiln_dtype from, dt_value v)
{
    if (dt_is_integer(from))
        return (dt_value){.i = v.i != 0};
    if (v.error > 0 && fabs(v.re) <= v.error && fabs(v.im) <= v.error)
        return dt_unknown();
    return (dt_value){.i = v.re != 0 || v.im != 0};
}

/* `v` with the bound `error`, rounded to the float `to`. */
static dt_value to_part(kiln_dtype to, long double v, double error)
{
    dt_value r = {.re = dt_round(to, v)};

    if (error > 0) {
        if (!isfinite(r.re) || fabs(r.re) + error >= dt_largest(to))
            return dt_unknown();
        r.error = error + dt_ulp(to, fabs(r.re) + error);
    }
    r.alone = r.error;
    return r;
}

dt_value dt_cast(kiln_dtype from, kiln_dtype to, dt_value v)
{
    if (from == to || dt_is_unknown(v))
        return v;
    if (to == KILN_BOOL)
        return to_bool(from, v);
    if (dt_is_integer(from) && dt_is_integer(to))
        return (dt_value){.i = dt_wrap(to, (uint64_t)v.i)};
    if (dt_is_integer(to))
        return real_to_integer(to, v.re, v.error);
    const kiln_dtype part = dt_part_of(to);
    dt_value r = to_part(part, dt_real(from, v), v.error);
    /* A 64-bit integer may be rounded to a float on its way to 16 bits. */
    if (dt_is_integer(from) && dt_is_narrow(to) && fabsl(dt_real(from, v)) > 0x1p24L)
        r.error = r.alone = isfinite(r.re) ? dt_ulp(to, r.re) : INFINITY;
    if (dt_is_complex(from) && dt_is_complex(to)) {
        const dt_value im = to_part(part, v.im, v.error);
        if (dt_is_unknown(im))
            return im;
        r.im = im.re;
        r.error = r.alone = fmax(r.error, im.error);
    }
    r.open_zero = v.open_zero;
    return r;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool part_agrees(double got, double want, double bound)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (got == want)
        return true;
    return isfinite(got) && isfinite(want) && fabs(got - want) <= bound;
}

bool dt_agrees(kiln_dtype dtype, const void *element, dt_value want)
{
    const dt_value got = dt_load(dtype, element);

    if (want.unwritten)
        return true;
    if (isinf(want.alone))
        return dtype != KILN_BOOL || *(const unsigned char *)element <= 1;
    if (dtype == KILN_BOOL && *(const unsigned char *)element > 1)
        return false;
    if (dt_is_integer(dtype))
        return got.i == want.i;
    return part_agrees(got.re, want.re, want.alone) &&
           (!dt_is_complex(dtype) || part_agrees(got.im, want.im, want.alone));
}

void dt_value_text(kiln_dtype dtype, dt_value v, char *text, size_t bytes)
{
    if (dt_is_unknown(v))
        snprintf(text, bytes, "anything");
    else if (dtype == KILN_UINT64)
        snprintf(text, bytes, "%llu", (unsigned long long)v.i);
    else if (dt_is_integer(dtype))
        snprintf(text, bytes, "%lld", (long long)v.i);
    else if (dt_is_complex(dtype))
        snprintf(text, bytes, "%.17g%+.17gj", v.re, v.im);
    else
        snprintf(text, bytes, "%.17g", v.re);
}
