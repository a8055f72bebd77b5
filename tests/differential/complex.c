/*
 * complex.c - elementwise operations on complex values.
 *
 * Bounds are distances of numbers, not of parts: a product's smaller part may be lost in the larger
 * one's rounding. Of infinite and NaN parts only those operations are checked that move parts
 * without arithmetic between them.
 */
#include <math.h>

#include "difftest.h"

typedef struct pair {
    long double re, im;
} pair;

static pair product(pair a, pair b)
{
    return (pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static pair quotient(pair a, pair b)
{
    const long double d = b.re * b.re + b.im * b.im;
    const pair p = product(a, (pair){b.re, -b.im});
    return (pair){p.re / d, p.im / d};
}

static bool finite(dt_value v)
{
    return isfinite(v.re) && isfinite(v.im);
}

/* A result that is off by `error` and by its own rounding. */
static dt_value made(kiln_dtype part, pair p, long double error)
{
    dt_value r = {.re = dt_round(part, p.re), .im = dt_round(part, p.im)};

    r.error = r.alone = (double)error;
    if (!finite(r) || fmax(fabs(r.re), fabs(r.im)) + r.error >= dt_largest(part))
        return dt_unknown();
    return r;
}

/* Whether all that goes into sums of two products is exact: small whole numbers. */
static bool small_whole(kiln_dtype part, dt_value v)
{
    const double limit = ldexp(1, (dt_format_of(part).digits - 2) / 2);
    return v.error == 0 && v.re == trunc(v.re) && v.im == trunc(v.im) && fabs(v.re) <= limit &&
           fabs(v.im) <= limit;
}

static dt_value multiply(kiln_dtype part, dt_value a, dt_value b)
{
    const pair x = {a.re, a.im}, y = {b.re, b.im};
    const long double size_x = fabsl(x.re) + fabsl(x.im), size_y = fabsl(y.re) + fabsl(y.im);
    const double unit = ldexp(1, -dt_format_of(part).digits);
    long double error = 4 * unit * size_x * size_y;

    if (small_whole(part, a) && small_whole(part, b))
        error = 0;
    else
        error += size_x * b.error + size_y * a.error + 2 * a.error * b.error +
                 2 * dt_ulp(part, 0); /* underflow */
    return made(part, product(x, y), error);
}

static dt_value divide(kiln_dtype part, dt_value a, dt_value b)
{
    const pair x = {a.re, a.im}, y = {b.re, b.im};
    const long double size = hypotl(y.re, y.im), size_x = hypotl(x.re, x.im);
    const double unit = ldexp(1, -dt_format_of(part).digits);
    const double far = ldexp(1, dt_format_of(part).emax / 2 - 8);

    /* Formulas that scale and those that do not differ at the ends of the range. */
    if (size <= 2 * b.error || size > far || size < 1 / far || size_x > far ||
        (size_x != 0 && size_x < 1 / far))
        return dt_unknown();
    const pair q = quotient(x, y);
    const long double large = hypotl(q.re, q.im);
    return made(part, q, 16 * unit * large + 3 * (a.error + large * b.error) / size);
}

static dt_value add(kiln_dtype part, dt_value a, dt_value b, double sign)
{
    dt_value r = {.re = dt_round(part, (long double)a.re + sign * b.re),
                  .im = dt_round(part, (long double)a.im + sign * b.im)};

    if (part == KILN_FLOAT64) { /* long double would round twice */
        r.re = a.re + sign * b.re;
        r.im = a.im + sign * b.im;
    }
    if (a.error + b.error > 0) {
        const double size = fmax(fabs(r.re), fabs(r.im));
        r.error = r.alone = a.error + b.error + dt_ulp(part, size);
        if (!finite(r) || size + r.error >= dt_largest(part))
            return dt_unknown();
    }
    if (sign > 0 && (dt_fused_overflow(DT_ADD, a.re, b.re, r.re) ||
                     dt_fused_overflow(DT_ADD, a.im, b.im, r.im)))
        r.error = INFINITY;
    return r;
}

static dt_value equal(dt_value a, dt_value b, bool negate)
{
    const double slack = a.error + b.error;
    const bool near = fabs(a.re - b.re) <= slack && fabs(a.im - b.im) <= slack;

    if (slack > 0 && near)
        return dt_unknown();
    return (dt_value){.i = (a.re == b.re && a.im == b.im) != negate};
}

dt_value dt_apply_complex(dt_op op, kiln_dtype loop, const dt_value *in)
{
    const kiln_dtype part = dt_part_of(loop);
    dt_value r = in[0];

    switch (op) {
    case DT_ADD:
    case DT_SUBTRACT:
        return add(part, in[0], in[1], op == DT_ADD ? 1 : -1);
    case DT_MULTIPLY:
        return finite(in[0]) && finite(in[1]) ? multiply(part, in[0], in[1]) : dt_unknown();
    case DT_SQUARE:
        return finite(in[0]) ? multiply(part, in[0], in[0]) : dt_unknown();
    case DT_DIVIDE:
        return finite(in[0]) && finite(in[1]) ? divide(part, in[0], in[1]) : dt_unknown();
    case DT_NEGATIVE:
        r.re = -r.re;
        r.im = -r.im;
        return r;
    case DT_CONJUGATE:
        r.im = -r.im;
        return r;
    case DT_EQUAL:
    case DT_NOT_EQUAL:
        return equal(in[0], in[1], op == DT_NOT_EQUAL);
    case DT_REAL:
        r.im = 0;
        return r;
    case DT_IMAG:
        r.re = r.im;
        r.im = 0;
        return r;
    default:
        return dt_unknown();
    }
}
