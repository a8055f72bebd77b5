/*
 * value.c - how each dtype keeps a value, written out again for the tests' own use.
 *
 * Half precision is rounded by arithmetic on the value, not by the bit tricks that the library
 * uses, so that both would have to be wrong in the same way to agree.
 */
#include "oracle/value.h"

#include <float.h>
#include <math.h>
#include <string.h>

long double host_round_to(long double v, int digits, int emin, int emax)
{
    int exponent;
    long double quantum, rounded;

    if (v == 0 || isnan(v) || isinf(v))
        return v;
    frexpl(v, &exponent); /* |v| = f * 2^exponent with f in [0.5, 1) */
    exponent -= 1;
    quantum = ldexpl(1, (exponent < emin ? emin : exponent) - (digits - 1));
    rounded = nearbyintl(v / quantum) * quantum;
    if (fabsl(rounded) >= ldexpl(1, emax + 1))
        return copysignl(INFINITY, v);
    return rounded == 0 ? copysignl(0, v) : rounded;
}

/* ---- 16-bit floating point ---- */

static long double load_float16(const void *element)
{
    uint16_t bits;
    long double v;

    memcpy(&bits, element, 2);
    if ((bits >> 10 & 31) == 31)
        v = (bits & 1023) != 0 ? (long double)NAN : (long double)INFINITY;
    else if ((bits >> 10 & 31) == 0)
        v = ldexpl(bits & 1023, -24);
    else
        v = ldexpl(1024 + (bits & 1023), (bits >> 10 & 31) - 25);
    return (bits >> 15) != 0 ? -v : v;
}

static void store_float16(void *element, long double v)
{
    long double r = host_round_to(v, 11, -14, 15), m = fabsl(r);
    unsigned bits = signbit(r) ? 0x8000u : 0;
    int exponent;

    if (isnan(r))
        bits = 0x7e00;
    else if (isinf(r))
        bits |= 0x7c00;
    else if (m < ldexpl(1, -14))
        bits |= (unsigned)ldexpl(m, 24);
    else {
        frexpl(m, &exponent);
        bits |= (unsigned)(exponent + 14) << 10;
        bits |= (unsigned)(ldexpl(m, 11 - exponent) - 1024);
    }
    memcpy(element, &(uint16_t){(uint16_t)bits}, 2);
}

static long double load_bfloat16(const void *element)
{
    uint16_t half;
    uint32_t bits;
    float v;

    memcpy(&half, element, 2);
    bits = (uint32_t)half << 16;
    memcpy(&v, &bits, 4);
    return (long double)v;
}

static void store_bfloat16(void *element, long double v)
{
    float r = (float)host_round_to(v, 8, -126, 127); /* exact */
    uint32_t bits;

    memcpy(&bits, &r, 4);
    if (isnan(r))
        bits = 0x7fc00000u;
    memcpy(element, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
}

/* ---- all dtypes ---- */

#define HOST_INTEGERS(X)                                                                           \
    X(KILN_INT8, int8_t)                                                                           \
    X(KILN_INT16, int16_t)                                                                         \
    X(KILN_INT32, int32_t)                                                                         \
    X(KILN_INT64, int64_t)                                                                         \
    X(KILN_UINT8, uint8_t)                                                                         \
    X(KILN_UINT16, uint16_t)                                                                       \
    X(KILN_UINT32, uint32_t)                                                                       \
    X(KILN_UINT64, uint64_t)

static long double load_real(kiln_dtype dtype, const void *element)
{
    float f;
    double d;

    switch (dtype) {
#define HOST_LOAD(name, type)                                                                      \
    case name: {                                                                                   \
        type v;                                                                                    \
        memcpy(&v, element, sizeof v);                                                             \
        return (long double)v;                                                                     \
    }
        HOST_INTEGERS(HOST_LOAD)
    case KILN_BOOL:
        return *(const unsigned char *)element;
    case KILN_FLOAT16:
        return load_float16(element);
    case KILN_BFLOAT16:
        return load_bfloat16(element);
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(&f, element, sizeof f);
        return (long double)f;
    default:
        memcpy(&d, element, sizeof d);
        return (long double)d;
    }
}

/* Integers wrap, as narrowing conversions do; values beyond 64 bits must not be given. */
static uint64_t to_integer(long double v)
{
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static void store_real(kiln_dtype dtype, void *element, long double v)
{
    float f = (float)v;
    double d = (double)v;

    switch (dtype) {
#define HOST_STORE(name, type)                                                                     \
    case name: {                                                                                   \
        type n = (type)to_integer(v);                                                              \
        memcpy(element, &n, sizeof n);                                                             \
        return;                                                                                    \
    }
        HOST_INTEGERS(HOST_STORE)
    case KILN_BOOL:
        *(unsigned char *)element = v != 0;
        return;
    case KILN_FLOAT16:
        store_float16(element, v);
        return;
    case KILN_BFLOAT16:
        store_bfloat16(element, v);
        return;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(element, &f, sizeof f);
        return;
    default:
        memcpy(element, &d, sizeof d);
    }
}

static size_t half_of(kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64 ? 4 : dtype == KILN_COMPLEX128 ? 8 : 0;
}

host_value host_load(kiln_dtype dtype, const void *element)
{
    size_t half = half_of(dtype);
    host_value v = {load_real(dtype, element), 0};

    if (half != 0)
        v.im = load_real(dtype, (const unsigned char *)element + half);
    return v;
}

void host_store(kiln_dtype dtype, void *element, host_value value)
{
    size_t half = half_of(dtype);

    store_real(dtype, element, value.re);
    if (half != 0)
        store_real(dtype, (unsigned char *)element + half, value.im);
}

host_value host_real(long double v)
{
    return (host_value){v, 0};
}

host_value host_round(kiln_dtype dtype, host_value v)
{
    unsigned char element[16];

    host_store(dtype, element, v);
    return host_load(dtype, element);
}

/* ---- distance ---- */

/* Digits and least exponent of a floating-point dtype; digits 0 for the others. */
static int digits_of(kiln_dtype dtype, int *emin)
{
    switch (dtype) {
    case KILN_FLOAT16:
        *emin = -14;
        return 11;
    case KILN_BFLOAT16:
        *emin = -126;
        return 8;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        *emin = -126;
        return 24;
    case KILN_FLOAT64:
    case KILN_COMPLEX128:
        *emin = -1022;
        return 53;
    default:
        *emin = 0;
        return 0;
    }
}

static uint64_t real_ulps(long double a, long double b, int digits, int emin)
{
    long double larger = fmaxl(fabsl(a), fabsl(b)), distance;
    int exponent;

    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b) || digits == 0)
        return UINT64_MAX;
    frexpl(larger, &exponent);
    exponent -= 1;
    distance = fabsl(a - b) / ldexpl(1, (exponent < emin ? emin : exponent) - (digits - 1));
    return distance > 1e18L ? UINT64_MAX : (uint64_t)ceill(distance);
}

uint64_t host_ulps(kiln_dtype dtype, const void *a, const void *b)
{
    host_value x = host_load(dtype, a), y = host_load(dtype, b);
    int emin, digits = digits_of(dtype, &emin);
    uint64_t re = real_ulps(x.re, y.re, digits, emin), im;

    /* A complex result is as good as its distance from the right one: measure the smaller part
     * in units of the larger. */
    if (half_of(dtype) != 0 && isfinite(y.re) && isfinite(y.im)) {
        long double scale = fmaxl(fabsl(y.re), fabsl(y.im));

        re = real_ulps(scale + (x.re - y.re), scale, digits, emin);
        im = real_ulps(scale + (x.im - y.im), scale, digits, emin);
    } else {
        im = real_ulps(x.im, y.im, digits, emin);
    }
    return re > im ? re : im;
}
