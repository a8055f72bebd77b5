/*
 * reduce.c - reductions and scans of lists of values, and what their results may be off.
 *
 * Sums are made in long double. kiln adds in an order of its own: docs/reductions.md promises
 * pairwise summation of runs, so a sum of n values may be off by a bounded number of roundings of
 * the sum of their magnitudes. Sums of whole numbers that their format holds are exact in any order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "difftest.h"

/* What is being reduced: the elements in C-order, without those that a mask leaves out. */
typedef struct list {
    kiln_dtype dtype; /* of the elements */
    const dt_value *at;
    const int64_t *position;
    int64_t count;
    double ddof;
    bool custom; /* a reduction of one's own: comparisons with NaN depend on the order */
    bool alone;  /* a named reduction by itself: variances are within 4 ulp */
} list;

/* A sum that carries what its additions round away. */
typedef struct carried {
    long double high, low;
} carried;

static void carry(carried *c, long double v)
{
    const long double sum = c->high + v;

    if (isfinite(sum))
        c->low += fabsl(c->high) >= fabsl(v) ? (c->high - sum) + v : (v - sum) + c->high;
    c->high = sum;
}

static long double carried_sum(const carried *c)
{
    return isfinite(c->high) ? c->high + c->low : c->high;
}

static kiln_dtype accumulated_in(kiln_dtype dtype)
{
    return dt_is_narrow(dtype) ? KILN_FLOAT32 : dt_part_of(dtype);
}

static double unit_of(kiln_dtype dtype)
{
    return ldexp(1, -dt_format_of(accumulated_in(dtype)).digits);
}

/* How many roundings a sum of n values goes through, each of at most the sum of magnitudes. */
static double roundings(int64_t n)
{
    const double many = 40 + 2 * log2((double)n + 1);
    return (double)n < many ? (double)n : many;
}

/* `v`, computed in the accumulator's format, with its bound, as an element of `to`. */
static dt_value finish(kiln_dtype to, long double v, double error)
{
    dt_value r = {.re = dt_round(to, v)};

    if (isnan(v))
        return (dt_value){.re = NAN};
    if (error > 0) {
        error += dt_ulp(to, r.re);
        if (!isfinite(r.re) || fabs(r.re) + error >= dt_largest(to))
            return isinf(v) && isinf(error) ? dt_unknown() : isinf(v) ? r : dt_unknown();
    }
    r.error = r.alone = error;
    r.open_zero = r.re == 0;
    return r;
}

static bool is_nan(dt_value v)
{
    return isnan(v.re) || isnan(v.im);
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct running_sum {
    carried sum;
    long double magnitude, error;
    bool whole, infinite;
    int64_t count;
} running_sum;

static void sum_add(running_sum *s, long double v, double error)
{
    carry(&s->sum, v);
    s->magnitude += isfinite(v) ? fabsl(v) : 0;
    s->error += error;
    s->whole = (s->count == 0 || s->whole) && error == 0 && v == truncl(v);
    s->infinite = s->infinite || isinf(v);
    s->count++;
}

static dt_value sum_result(const running_sum *s, kiln_dtype from, kiln_dtype to)
{
    const kiln_dtype wide = accumulated_in(from);
    const double most = dt_largest(wide);
    const long double sum = carried_sum(&s->sum);

    if (isnan(sum))
        return (dt_value){.re = NAN};
    if ((double)s->magnitude >= most / 2)
        return dt_unknown();
    if (s->infinite)
        return (dt_value){.re = (double)sum};
    double error = (double)s->error;
    const bool exact =
        s->count <= 1 || (s->whole && s->magnitude <= ldexpl(1, dt_format_of(wide).digits));
    if (!exact)
        error += roundings(s->count) * unit_of(from) * (double)s->magnitude;
    return finish(to, sum, error);
}

/* Both parts have the bound of the worse one. */
static dt_value join_parts(dt_value re, dt_value im)
{
    if (dt_is_unknown(re) || dt_is_unknown(im))
        return dt_unknown();
    re.im = im.re;
    re.error = re.alone = fmax(re.error, im.error);
    return re;
}

static dt_value sum_of(const list *l, kiln_dtype to)
{
    running_sum re = {0}, im = {0};
    uint64_t whole = 0;
    long double up = 0, down = 0;

    for (int64_t k = 0; k < l->count; k++) {
        whole += (uint64_t)l->at[k].i;
        up += l->at[k].i > 0 ? (long double)l->at[k].i : 0;
        down += l->at[k].i < 0 ? (long double)l->at[k].i : 0;
        sum_add(&re, l->at[k].re, l->at[k].error);
        sum_add(&im, l->at[k].im, l->at[k].error);
    }
    /* Sums of one's own are plain C++: int and long long must not overflow, in any order. */
    if (l->custom && (to == KILN_INT32 || to == KILN_INT64) &&
        (up > dt_real(to, dt_limit(to, true)) || down < dt_real(to, dt_limit(to, false))))
        return dt_unknown();
    if (dt_is_integer(to))
        return (dt_value){.i = dt_wrap(to, whole)};
    if (!dt_is_complex(to))
        return sum_result(&re, l->dtype, to);
    const kiln_dtype part = dt_part_of(to);
    return join_parts(sum_result(&re, part, part), sum_result(&im, part, part));
}

/* ---- products -------------------------------------------------------------------------------- */

static dt_value real_product(const list *l, kiln_dtype to)
{
    const kiln_dtype wide = accumulated_in(l->dtype);
    long double product = 1, relative = 0, up = 1, down = 1;
    bool whole = true, zero = false, infinite = false, doubtful = false;

    for (int64_t k = 0; k < l->count; k++) {
        const dt_value v = l->at[k];
        if (isnan(v.re))
            return (dt_value){.re = NAN};
        whole = whole && v.error == 0 && v.re == trunc(v.re);
        zero = zero || v.re == 0;
        infinite = infinite || isinf(v.re);
        if (v.error > 0) {
            doubtful = doubtful || fabs(v.re) <= 2 * v.error;
            relative += 1.1L * v.error / fabsl(v.re);
        }
        product *= v.re;
        up *= fmaxl(1, fabsl(v.re));
        down *= v.re == 0 ? 1 : fminl(1, fabsl(v.re));
    }
    if (zero && infinite)
        return (dt_value){.re = NAN};
    if (doubtful || (!infinite && up >= dt_largest(wide) / 2) ||
        down <= ldexpl(2, dt_format_of(wide).emin))
        return dt_unknown();
    if (whole && up <= ldexpl(1, dt_format_of(wide).digits))
        return finish(to, product, 0);
    if (infinite)
        return relative == 0 ? (dt_value){.re = (double)product} : dt_unknown();
    relative += 1.1L * unit_of(l->dtype) * l->count;
    return relative > 0.1L ? dt_unknown()
                           : finish(to, product, (double)(relative * fabsl(product)));
}

static dt_value complex_product(const list *l, kiln_dtype to)
{
    const kiln_dtype part = dt_part_of(to);
    long double re = 1, im = 0, size = 1, least = 1;
    bool whole = true;
    double relative = 0;

    for (int64_t k = 0; k < l->count; k++) {
        const dt_value v = l->at[k];
        const long double was = re;
        if (!isfinite(v.re) || !isfinite(v.im) || v.error > 0)
            return dt_unknown();
        re = re * v.re - im * v.im;
        im = was * v.im + im * v.re;
        whole = whole && v.re == trunc(v.re) && v.im == trunc(v.im);
        size *= fmaxl(1, fabsl(v.re) + fabsl(v.im));
        if (v.re != 0 || v.im != 0)
            least *= fminl(1, fabsl(v.re) + fabsl(v.im));
        relative += 8 * ldexp(1, -dt_format_of(part).digits);
    }
    if (size >= sqrt(dt_largest(part)) || least <= ldexpl(1, dt_format_of(part).emin / 2))
        return dt_unknown();
    if (whole && size <= ldexpl(1, dt_format_of(part).digits - 1))
        relative = 0;
    /* Terms of a product of n factors can be as large as the product of their sums of parts. */
    const double error = relative * (double)(fabsl(re) + fabsl(im));
    return join_parts(finish(part, re, error), finish(part, im, error));
}

static dt_value product_of(const list *l, kiln_dtype to)
{
    uint64_t whole = 1;
    long double size = 1;

    if (dt_is_complex(to))
        return complex_product(l, to);
    if (!dt_is_integer(to))
        return real_product(l, to);
    for (int64_t k = 0; k < l->count; k++) {
        whole *= (uint64_t)l->at[k].i;
        size *= fmaxl(1, fabsl((long double)l->at[k].i));
    }
    if (l->custom && (to == KILN_INT32 || to == KILN_INT64) &&
        size > dt_real(to, dt_limit(to, true)))
        return dt_unknown(); /* as with sums */
    return (dt_value){.i = dt_wrap(to, whole)};
}

/* ---- extremes and positions ------------------------------------------------------------------ */

/* Which of the elements is the extreme one; -1 when nothing is, -2 when bounds leave it open. */
static int64_t extreme_at(const list *l, bool greatest)
{
    int64_t best = -1;

    for (int64_t k = 0; k < l->count; k++) {
        const long double v = dt_real(l->dtype, l->at[k]);
        if (isnan(v))
            return k;
        if (best < 0 ||
            (greatest ? v > dt_real(l->dtype, l->at[best]) : v < dt_real(l->dtype, l->at[best])))
            best = k;
    }
    return best;
}

static dt_value extreme_of(const list *l, bool greatest)
{
    const int64_t best = extreme_at(l, greatest);

    if (best < 0)
        return dt_limit(l->dtype, !greatest);
    dt_value r = l->at[best];
    if (isnan(r.re) || dt_is_integer(l->dtype)) {
        if (isnan(r.re) && l->custom)
            return dt_unknown();
        return r;
    }
    /* The true extreme lies between the extremes of lower and of upper bounds. */
    double low = NAN, high = NAN;
    for (int64_t k = 0; k < l->count; k++) {
        const double a = l->at[k].re - l->at[k].error, b = l->at[k].re + l->at[k].error;
        low = greatest ? fmax(low, a) : fmin(low, a);
        high = greatest ? fmax(high, b) : fmin(high, b);
    }
    r.error = r.alone = isfinite(r.re) ? fmax(r.re - low, high - r.re) : 0;
    r.open_zero = r.re == 0;
    return r;
}

static dt_value position_of(const list *l, bool greatest)
{
    const int64_t best = extreme_at(l, greatest);

    if (best < 0)
        return (dt_value){.i = -1};
    const dt_value r = l->at[best];
    for (int64_t k = 0; k < l->count && !dt_is_integer(l->dtype) && !isnan(r.re); k++) {
        const double slack = r.error + l->at[k].error;
        if (k != best && slack > 0 && fabs(l->at[k].re - r.re) <= slack)
            return dt_unknown();
    }
    return (dt_value){.i = l->position[best]};
}

/* ---- truth ----------------------------------------------------------------------------------- */

static dt_value truth_of(const list *l, kiln_reduce_op op)
{
    int64_t yes = 0, open = 0;

    for (int64_t k = 0; k < l->count; k++) {
        const dt_value b = dt_cast(l->dtype, KILN_BOOL, l->at[k]);
        if (dt_is_unknown(b))
            open++;
        else
            yes += b.i;
    }
    if (op == KILN_REDUCE_ANY)
        return open > 0 && yes == 0 ? dt_unknown() : (dt_value){.i = yes > 0};
    if (op == KILN_REDUCE_ALL && yes + open < l->count)
        return (dt_value){.i = 0};
    if (open > 0)
        return dt_unknown();
    return (dt_value){.i = op == KILN_REDUCE_ALL ? yes == l->count : yes};
}

/* ---- moments and norms ----------------------------------------------------------------------- */

static dt_value divided(dt_value sum, kiln_dtype to, double by)
{
    if (dt_is_unknown(sum))
        return sum;
    if (by == 0)
        return dt_is_complex(to) ? dt_unknown() : (dt_value){.re = sum.re / by};
    const kiln_dtype part = dt_part_of(to);
    const double error = sum.error / by;
    dt_value r = finish(part, (long double)sum.re / by, error);
    if (dt_is_complex(to))
        r = join_parts(r, finish(part, (long double)sum.im / by, error));
    return r;
}

static dt_value mean_of(const list *l, kiln_dtype to)
{
    running_sum s = {0};

    if (l->count == 0)
        return dt_is_complex(to) ? dt_unknown() : (dt_value){.re = NAN};
    if (dt_is_complex(to))
        return divided(sum_of(l, to), to, (double)l->count);
    for (int64_t k = 0; k < l->count; k++)
        sum_add(&s, dt_real(l->dtype, l->at[k]), l->at[k].error);
    /* Sums of whole numbers are divided once, by a correctly rounded division or a product. */
    const kiln_dtype wide = dt_is_integer(l->dtype) ? KILN_FLOAT64 : accumulated_in(l->dtype);
    dt_value r = sum_result(&s, wide, wide);
    if (dt_is_unknown(r) || !isfinite(r.re))
        return divided(r, to, (double)l->count);
    r.error += 2 * dt_ulp(wide, r.re);
    return divided(r, to, (double)l->count);
}

/* Deviations from the mean: one pass with merged means, whose rounding enters as well. */
/* The mean's parts, the sum of squared deviations from it, and what bounds of the elements add to
 * that. */
typedef struct moments {
    long double mean[2], squares, error, most;
    bool infinite;
} moments;

/* The real part of an element, in the format that moments are computed in: float64 for integers, as in
 * NumPy, which rounds those beyond 2^53. */
static long double moment_real(const list *l, int64_t k)
{
    const long double re = dt_real(l->dtype, l->at[k]);

    return dt_is_integer(l->dtype) ? dt_round(KILN_FLOAT64, re) : re;
}

static moments moments_of(const list *l)
{
    moments m = {{0, 0}, 0, 0, 0, false};
    carried sum[2] = {{0, 0}, {0, 0}}, squares = {0, 0};

    for (int64_t k = 0; k < l->count; k++) {
        const long double re = moment_real(l, k), im = l->at[k].im;
        m.infinite = m.infinite || !isfinite(re) || !isfinite(im);
        carry(&sum[0], re);
        carry(&sum[1], im);
        m.most = fmaxl(m.most, fabsl(re) + fabsl(im));
    }
    for (int part = 0; part < 2; part++)
        m.mean[part] = carried_sum(&sum[part]) / l->count;
    for (int64_t k = 0; k < l->count; k++) {
        const long double re = moment_real(l, k) - m.mean[0];
        const long double im = (long double)l->at[k].im - m.mean[1];
        const long double e = l->at[k].error;
        carry(&squares, re * re + im * im);
        m.error += 2 * e * sqrtl(re * re + im * im) + e * e;
    }
    m.squares = carried_sum(&squares);
    return m;
}

static dt_value variance_of(const list *l, kiln_dtype to, bool root)
{
    const kiln_dtype wide = dt_is_integer(l->dtype) ? KILN_FLOAT64 : accumulated_in(l->dtype);
    const long double unit = ldexpl(1, -dt_format_of(wide).digits);
    const double by = (double)l->count - l->ddof > 0 ? (double)l->count - l->ddof : 0;
    const moments m = moments_of(l);

    if (l->count == 0 || m.infinite)
        return (dt_value){.re = NAN};
    if (m.most * m.most * l->count >= dt_largest(wide) / 4 || by == 0)
        return dt_unknown();
    /* What a rounded mean adds, or its square where what is rounded away is carried. */
    const long double shift = l->alone ? 4 * unit * unit * m.most : 4 * unit * m.most;
    long double v = m.squares / by, e = m.error + shift * shift * l->count;
    e += (long double)l->count * ldexpl(1, dt_format_of(wide).emin); /* squares underflow */
    e += (l->alone ? 4 : 16) * unit * m.squares + 2 * shift * sqrtl(m.squares * l->count);
    e /= by;
    if (root) {
        const long double low = v > e ? sqrtl(v - e) : 0;
        e = fmaxl(sqrtl(v + e) - sqrtl(v), sqrtl(v) - low);
        v = sqrtl(v);
    }
    return finish(to, v, (double)e + 2 * dt_ulp(to, (double)v));
}

static dt_value norm_of(const list *l, kiln_reduce_op op, kiln_dtype to)
{
    const kiln_dtype wide = dt_is_integer(l->dtype) ? KILN_FLOAT64 : accumulated_in(l->dtype);
    running_sum s = {0};
    long double most = 0, most_error = 0;
    bool any_nan = false;

    for (int64_t k = 0; k < l->count; k++) {
        const long double re = dt_real(l->dtype, l->at[k]);
        const long double v = dt_is_complex(l->dtype) ? hypotl(re, l->at[k].im) : fabsl(re);
        double error = 1.5 * l->at[k].error;
        if (dt_is_complex(l->dtype) && isfinite(v) && l->at[k].im != 0)
            error += 4 * dt_ulp(wide, (double)v);
        any_nan = any_nan || is_nan(l->at[k]);
        most = fmaxl(most, v);
        most_error = fmaxl(most_error, error);
        if (op == KILN_REDUCE_NORM2)
            sum_add(&s, v * v, (double)(2.1L * v * error));
        else
            sum_add(&s, v, error);
    }
    if (any_nan) /* |inf + nan j| is infinite to C, NaN to a sum of squares */
        return dt_is_complex(l->dtype) ? dt_unknown() : (dt_value){.re = NAN};
    if (op == KILN_REDUCE_NORMINF)
        return finish(to, most, (double)most_error);
    /* Squares beyond the range, or below it, are scaled by some formulas and not by others. */
    const long double tiny = ldexpl(1, dt_format_of(wide).emin / 2 + 30);
    if (op == KILN_REDUCE_NORM2 && isfinite(most) &&
        (most * most * (l->count + 1) >= dt_largest(wide) / 4 || (most != 0 && most < tiny)))
        return dt_unknown();
    dt_value r = sum_result(&s, wide, wide);
    if (dt_is_unknown(r) || op == KILN_REDUCE_NORM1)
        return dt_is_unknown(r) ? r : finish(to, r.re, r.error);
    const double root = sqrt(r.re);
    return finish(to, sqrtl(carried_sum(&s.sum)),
                  root > 0 ? r.error / root + 2 * dt_ulp(wide, root) : 0);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static kiln_reduce_op without_nan(kiln_reduce_op op)
{
    static const kiln_reduce_op plain[] = {KILN_REDUCE_SUM, KILN_REDUCE_PROD,   KILN_REDUCE_MIN,
                                           KILN_REDUCE_MAX, KILN_REDUCE_MEAN,   KILN_REDUCE_VAR,
                                           KILN_REDUCE_STD, KILN_REDUCE_ARGMIN, KILN_REDUCE_ARGMAX};
    return op >= KILN_REDUCE_NANSUM ? plain[op - KILN_REDUCE_NANSUM] : op;
}

static dt_value reduce_list(kiln_reduce_op op, const list *l, kiln_dtype to)
{
    for (int64_t k = 0; k < l->count; k++)
        if (dt_is_unknown(l->at[k]))
            return dt_unknown();
    switch (op) {
    case KILN_REDUCE_SUM:
        return sum_of(l, to);
    case KILN_REDUCE_PROD:
        return product_of(l, to);
    case KILN_REDUCE_MIN:
    case KILN_REDUCE_MAX:
        return extreme_of(l, op == KILN_REDUCE_MAX);
    case KILN_REDUCE_ARGMIN:
    case KILN_REDUCE_ARGMAX:
        return position_of(l, op == KILN_REDUCE_ARGMAX);
    case KILN_REDUCE_MEAN:
        return mean_of(l, to);
    case KILN_REDUCE_VAR:
    case KILN_REDUCE_STD:
        return variance_of(l, to, op == KILN_REDUCE_STD);
    case KILN_REDUCE_NORM1:
    case KILN_REDUCE_NORM2:
    case KILN_REDUCE_NORMINF:
        return norm_of(l, op, to);
    default:
        return truth_of(l, op);
    }
}

static bool drops_nan(kiln_reduce_op op)
{
    return op >= KILN_REDUCE_NANSUM;
}

/* Only NaN was there: nanmin and its like say so. */
static bool empty_of_numbers(kiln_reduce_op op, const list *l, int64_t with_nan)
{
    return l->count == 0 && with_nan > 0 && (op == KILN_REDUCE_NANMIN || op == KILN_REDUCE_NANMAX);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct split {
    int kept_rank, reduced_rank, kept_axis[DT_RANK], reduced_axis[DT_RANK];
    int64_t kept[DT_RANK], reduced[DT_RANK];
} split;

static split split_axes(const dt_node *n, const dt_array *in)
{
    split s = {0};

    for (int axis = 0; axis < in->rank; axis++) {
        bool reduced = n->all_axes;
        for (int k = 0; k < n->axis_count; k++)
            reduced = reduced || (n->axis[k] < 0 ? n->axis[k] + in->rank : n->axis[k]) == axis;
        if (reduced) {
            s.reduced_axis[s.reduced_rank] = axis;
            s.reduced[s.reduced_rank++] = in->shape[axis];
        } else {
            s.kept_axis[s.kept_rank] = axis;
            s.kept[s.kept_rank++] = in->shape[axis];
        }
    }
    return s;
}

int64_t dt_reduced_position(const dt_node *n, const dt_array *in, const int64_t *index)
{
    const split s = split_axes(n, in);
    int64_t at = 0;

    for (int k = 0; k < s.reduced_rank; k++)
        at = at * s.reduced[k] + index[s.reduced_axis[k]];
    return at;
}

static void spread_index(const int64_t *part, int rank, const int *axes, int64_t *index)
{
    for (int k = 0; k < rank; k++)
        index[axes[k]] = part[k];
}

static void gather(const dt_node *n, const split *s, int64_t result, const dt_array *in,
                   const dt_array *mask, dt_value *at, int64_t *position, int64_t *count,
                   int64_t *with_nan)
{
    int64_t part[DT_RANK], index[DT_RANK] = {0};
    const int64_t size = dt_size(s->reduced_rank, s->reduced);

    dt_unravel(result, s->kept_rank, s->kept, part);
    spread_index(part, s->kept_rank, s->kept_axis, index);
    for (int64_t k = 0; k < size; k++) {
        dt_unravel(k, s->reduced_rank, s->reduced, part);
        spread_index(part, s->reduced_rank, s->reduced_axis, index);
        if (mask != NULL && mask->at[dt_broadcast_at(mask, in->rank, index)].i == 0)
            continue;
        const dt_value v = in->at[dt_broadcast_at(in, in->rank, index)];
        ++*with_nan;
        if (drops_nan(n->reduction) && is_nan(v))
            continue;
        at[*count] = v;
        position[*count] = k;
        ++*count;
    }
}

bool dt_reduce_array(const dt_case *c, const dt_node *n, const dt_array *in, const dt_array *mask,
                     dt_array *out)
{
    const split s = split_axes(n, in);
    const size_t room = (size_t)dt_size(s.reduced_rank, s.reduced) + 2;
    dt_value *at = malloc(room * sizeof *at);
    int64_t *position = malloc(room * sizeof *position);

    for (int64_t k = 0; k < out->size && at != NULL && position != NULL; k++) {
        list l = {in->dtype, at, position, 0, c->ddof, dt_in_snippet(c), c->kind == DT_KIND_REDUCE};
        int64_t with_nan = 0;

        gather(n, &s, k, in, mask, at, position, &l.count, &with_nan);
        if (c->has_initial) {
            at[l.count].re = at[l.count].im = at[l.count].error = at[l.count].alone = 0;
            at[l.count] = dt_is_integer(in->dtype) ? dt_of_integer(in->dtype, (int64_t)c->initial)
                                                   : dt_of_real(dt_part_of(in->dtype), c->initial);
            position[l.count++] = -1;
        }
        if (empty_of_numbers(n->reduction, &l, with_nan) && dt_is_float(in->dtype))
            out->at[k] = (dt_value){.re = NAN};
        else
            out->at[k] = reduce_list(without_nan(n->reduction), &l, out->dtype);
    }
    free(at);
    free(position);
    return at != NULL && position != NULL;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static dt_value scan_step(kiln_scan_op op, const list *l, kiln_dtype to)
{
    static const kiln_reduce_op as[] = {KILN_REDUCE_SUM, KILN_REDUCE_PROD, KILN_REDUCE_MAX,
                                        KILN_REDUCE_MIN};
    return reduce_list(as[op - KILN_SCAN_CUMSUM], l, to);
}

/* Sums and products go on from element to element; re-adding a prefix would take its square. */
typedef struct running {
    running_sum re, im;
    uint64_t whole;
    dt_value best;
    bool unknown;
} running;

static dt_value scan_sum(running *r, const dt_array *out, kiln_dtype in)
{
    if (r->unknown)
        return dt_unknown();
    if (dt_is_integer(out->dtype))
        return (dt_value){.i = dt_wrap(out->dtype, r->whole)};
    if (!dt_is_complex(in))
        return sum_result(&r->re, in, out->dtype);
    const kiln_dtype part = dt_part_of(in);
    return join_parts(sum_result(&r->re, part, part), sum_result(&r->im, part, part));
}

static void scan_line(const dt_node *n, const dt_array *in, const int64_t *place, int64_t length,
                      dt_value *seen, const int64_t *position, bool custom, dt_array *out)
{
    const bool reverse = n->flags & KILN_SCAN_REVERSE, exclusive = n->flags & KILN_SCAN_EXCLUSIVE;
    running r = {0};

    for (int64_t k = 0; k < length; k++) {
        const int64_t at = place[reverse ? length - 1 - k : k];
        const dt_value v = in->at[at];
        /* An extreme needs only the one so far; products only what they have come to. */
        list l = {in->dtype, seen, position, 0, 0, custom, false};

        if (!exclusive || k > 0) {
            const dt_value add = exclusive ? in->at[place[reverse ? length - k : k - 1]] : v;
            r.unknown = r.unknown || dt_is_unknown(add);
            r.whole += (uint64_t)add.i;
            sum_add(&r.re, add.re, add.error);
            sum_add(&r.im, add.im, add.error);
            seen[r.re.count - 1] = add;
        }
        l.count = r.re.count;
        if (n->scan == KILN_SCAN_CUMSUM) {
            out->at[at] = scan_sum(&r, out, in->dtype);
        } else if (n->scan == KILN_SCAN_CUMPROD) {
            out->at[at] = scan_step(n->scan, &l, out->dtype);
        } else {
            if (l.count > 1) {
                seen[0] = r.best;
                seen[1] = seen[l.count - 1];
                l.count = 2;
            }
            r.best = out->at[at] = scan_step(n->scan, &l, out->dtype);
        }
    }
}

bool dt_scan_array(const dt_case *c, const dt_node *n, const dt_array *in, dt_array *out)
{
    dt_node along = *n;
    const split s = split_axes(&along, in);
    const int64_t length = dt_size(s.reduced_rank, s.reduced);
    int64_t *place = malloc((size_t)(length + 1) * 2 * sizeof *place);
    dt_value *seen = malloc((size_t)(length + 2) * sizeof *seen);

    for (int64_t k = 0; k < (length > 0 ? dt_size(s.kept_rank, s.kept) : 0); k++) {
        int64_t part[DT_RANK], index[DT_RANK] = {0};

        if (place == NULL || seen == NULL)
            break;
        dt_unravel(k, s.kept_rank, s.kept, part);
        spread_index(part, s.kept_rank, s.kept_axis, index);
        for (int64_t j = 0; j < length; j++) {
            dt_unravel(j, s.reduced_rank, s.reduced, part);
            spread_index(part, s.reduced_rank, s.reduced_axis, index);
            place[j] = dt_broadcast_at(in, in->rank, index);
            place[length + 1 + j] = j;
        }
        scan_line(n, in, place, length, seen, place + length + 1, c->kind == DT_KIND_SCANNED, out);
    }
    free(place);
    free(seen);
    return place != NULL && seen != NULL;
}
