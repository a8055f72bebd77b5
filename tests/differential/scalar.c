/*
 * scalar.c - one elementwise operation on values of real and integer dtypes.
 *
 *     operands, cast to the loop's dtype > [apply] > a value and its bound
 *
 * Operations that IEEE defines are computed in double and rounded: for the narrower formats this
 * is the correctly rounded result, for double has more than twice their digits. The others are
 * computed in long double and may be off by the units in the last place of their row.
 *
 * What operands leave open is carried on by evaluating all corners of their bounds. Where a
 * function jumps, corners that differ make the result unknown.
 */
#include <math.h>

#include "difftest.h"

/* ---- integers -------------------------------------------------------------------------------- */

static bool below(kiln_dtype t, int64_t a, int64_t b)
{
    return dt_is_signed(t) ? a < b : (uint64_t)a < (uint64_t)b;
}

static int64_t floor_divide(kiln_dtype t, int64_t a, int64_t b, int64_t *remainder)
{
    *remainder = 0;
    if (b == 0)
        return 0;
    if (!dt_is_signed(t)) {
        *remainder = (int64_t)((uint64_t)a % (uint64_t)b);
        return (int64_t)((uint64_t)a / (uint64_t)b);
    }
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b, r = a % b;
    if (r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    *remainder = r;
    return q;
}

static uint64_t magnitude(kiln_dtype t, int64_t a)
{
    return dt_is_signed(t) && a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static int64_t gcd(kiln_dtype t, int64_t a, int64_t b)
{
    uint64_t x = magnitude(t, a), y = magnitude(t, b);

    while (y != 0) {
        const uint64_t r = x % y;
        x = y;
        y = r;
    }
    return (int64_t)x;
}

/* Wraps; a negative exponent gives the reciprocal, rounded toward 0. */
static int64_t power(kiln_dtype t, int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (dt_is_signed(t) && exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
    for (uint64_t rest = (uint64_t)exponent; rest != 0; rest >>= 1) {
        if (rest & 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

/* C's division; what it leaves undefined is unknown before this is asked. */
static int64_t truncated(kiln_dtype t, bool quotient, int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (!dt_is_signed(t))
        return (int64_t)(quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    if (b == -1)
        return quotient ? (int64_t)(0 - (uint64_t)a) : 0;
    return quotient ? a / b : a % b;
}

static int64_t bit_count(uint64_t bits)
{
    int64_t count = 0;

    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

static int64_t lcm(kiln_dtype t, int64_t a, int64_t b)
{
    const uint64_t common = (uint64_t)gcd(t, a, b);
    return common == 0 ? 0 : (int64_t)(magnitude(t, a) / common * magnitude(t, b));
}

static int64_t shift(kiln_dtype t, bool left, int64_t a, int64_t b)
{
    const uint64_t width = 8 * kiln_dtype_size(t);
    const bool negative = dt_is_signed(t) && a < 0;

    if ((uint64_t)b >= width) /* also below 0 */
        return !left && negative ? -1 : 0;
    if (left)
        return (int64_t)((uint64_t)a << b);
    return negative ? (int64_t) ~(~(uint64_t)a >> b) : (int64_t)((uint64_t)a >> b);
}

static int64_t integer_choice(dt_op op, kiln_dtype t, const int64_t *x)
{
    int64_t r;

    switch (op) {
    case DT_LESSER:
    case DT_MIN:
    case DT_MINIMUM:
    case DT_FMIN:
        return below(t, x[1], x[0]) ? x[1] : x[0];
    case DT_GREATER_OF:
    case DT_MAX:
    case DT_MAXIMUM:
    case DT_FMAX:
        return below(t, x[0], x[1]) ? x[1] : x[0];
    case DT_CLIP:
        r = below(t, x[0], x[1]) ? x[1] : x[0];
        return below(t, x[2], r) ? x[2] : r;
    case DT_EQUAL:
        return x[0] == x[1];
    case DT_NOT_EQUAL:
        return x[0] != x[1];
    case DT_LESS:
        return below(t, x[0], x[1]);
    case DT_LESS_EQUAL:
        return !below(t, x[1], x[0]);
    case DT_GREATER:
        return below(t, x[1], x[0]);
    case DT_GREATER_EQUAL:
        return !below(t, x[0], x[1]);
    case DT_LOGICAL_AND:
        return x[0] != 0 && x[1] != 0;
    case DT_LOGICAL_OR:
        return x[0] != 0 || x[1] != 0;
    case DT_LOGICAL_XOR:
        return (x[0] != 0) != (x[1] != 0);
    case DT_LOGICAL_NOT:
        return x[0] == 0;
    case DT_ISFINITE:
        return 1;
    default: /* ISNAN, ISINF, SIGNBIT, IMAG */
        return 0;
    }
}

/* The result as far as 64 bits hold it; the caller wraps. */
static int64_t integer_result(dt_op op, kiln_dtype t, const int64_t *x)
{
    const bool boolean = t == KILN_BOOL;
    int64_t r;

    switch (op) {
    case DT_ADD:
        return boolean ? x[0] | x[1] : (int64_t)((uint64_t)x[0] + (uint64_t)x[1]);
    case DT_SUBTRACT:
        return (int64_t)((uint64_t)x[0] - (uint64_t)x[1]);
    case DT_MULTIPLY:
        return (int64_t)((uint64_t)x[0] * (uint64_t)x[1]);
    case DT_SQUARE:
        return (int64_t)((uint64_t)x[0] * (uint64_t)x[0]);
    case DT_NEGATIVE:
        return (int64_t)(0 - (uint64_t)x[0]);
    case DT_ABSOLUTE:
        return (int64_t)magnitude(t, x[0]);
    case DT_SIGN:
        return dt_is_signed(t) && x[0] < 0 ? -1 : x[0] != 0;
    case DT_BITWISE_AND:
        return x[0] & x[1];
    case DT_BITWISE_OR:
        return x[0] | x[1];
    case DT_BITWISE_XOR:
        return x[0] ^ x[1];
    case DT_INVERT:
        return boolean ? !x[0] : ~x[0];
    case DT_LEFT_SHIFT:
    case DT_RIGHT_SHIFT:
        return shift(t, op == DT_LEFT_SHIFT, x[0], x[1]);
    case DT_FLOOR_DIVIDE:
        return floor_divide(t, x[0], x[1], &r);
    case DT_REMAINDER:
        floor_divide(t, x[0], x[1], &r);
        return r;
    case DT_FMOD:
        r = x[1] == 0 ? 0 : (int64_t)(magnitude(t, x[0]) % magnitude(t, x[1]));
        return x[0] < 0 && dt_is_signed(t) ? -r : r;
    case DT_QUOTIENT:
    case DT_MODULO:
        return truncated(t, op == DT_QUOTIENT, x[0], x[1]);
    case DT_GCD:
        return gcd(t, x[0], x[1]);
    case DT_LCM:
        return lcm(t, x[0], x[1]);
    case DT_POWER:
        return power(t, x[0], x[1]);
    case DT_BITWISE_COUNT:
        return bit_count(magnitude(t, x[0]));
    case DT_ROUND:
    case DT_POSITIVE:
    case DT_FLOOR:
    case DT_CEIL:
    case DT_TRUNC:
    case DT_REAL:
    case DT_CONJUGATE:
        return x[0];
    default:
        return integer_choice(op, t, x);
    }
}

/* Whether plain C++ arithmetic on these operands overflows: undefined, so nobody's result counts.
 * Smaller types are promoted to int, and their results wrap. */
static bool overflows(dt_op op, kiln_dtype t, const int64_t *x)
{
    const long double a = (long double)x[0], b = dt_ops[op].operands > 1 ? (long double)x[1] : 0;
    const kiln_dtype wide = t == KILN_INT64 ? KILN_INT64 : KILN_INT32;
    long double r;

    /* On the cpu device a division by 0 gives 0, on a GPU anything; neither ends the process. */
    if ((op == DT_QUOTIENT || op == DT_MODULO) && (x[1] == 0 || (x[1] == -1 && dt_is_signed(t))))
        return x[1] == 0 || x[0] == dt_limit(t, false).i;
    if (!dt_is_signed(t) && t != KILN_UINT16)
        return false;
    r = op == DT_ADD        ? a + b
        : op == DT_SUBTRACT ? a - b
        : op == DT_MULTIPLY ? a * b
        : op == DT_SQUARE   ? a * a
        : op == DT_NEGATIVE ? -a
                            : 0;
    return r < dt_real(wide, dt_limit(wide, false)) || r > dt_real(wide, dt_limit(wide, true));
}

static dt_value apply_integer(dt_op op, kiln_dtype t, const dt_value *in, bool in_snippet)
{
    int64_t x[3] = {0};

    for (int k = 0; k < dt_ops[op].operands; k++)
        x[k] = in[k].i;
    if (in_snippet && overflows(op, t, x))
        return dt_unknown();
    const char kind = dt_ops[op].result;
    const kiln_dtype result = kind == '?' ? KILN_BOOL : kind == 'B' ? KILN_UINT8 : t;
    return (dt_value){.i = dt_wrap(result, (uint64_t)integer_result(op, t, x))};
}

/* ---- real numbers: defined by IEEE ----------------------------------------------------------- */

/* NumPy's floor_divide and remainder. */
static double float_divide(double a, double b, bool remainder)
{
    double mod = fmod(a, b);

    if (b == 0)
        return remainder ? mod : a / b;
    double div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            div -= 1;
        }
    } else {
        mod = copysign(0, b);
    }
    if (remainder)
        return mod;
    if (div == 0)
        return copysign(0, a / b);
    const double whole = floor(div);
    return div - whole > 0.5 ? whole + 1 : whole;
}

static double choose(dt_op op, const double *x)
{
    switch (op) {
    case DT_LESSER:
        return x[0] < x[1] ? x[0] : x[1];
    case DT_GREATER_OF:
        return x[0] < x[1] ? x[1] : x[0];
    case DT_MINIMUM:
        return isnan(x[0]) ? x[0] : isnan(x[1]) ? x[1] : x[1] < x[0] ? x[1] : x[0];
    case DT_MAXIMUM:
        return isnan(x[0]) ? x[0] : isnan(x[1]) ? x[1] : x[1] > x[0] ? x[1] : x[0];
    case DT_FMIN:
        return isnan(x[0]) ? x[1] : isnan(x[1]) ? x[0] : x[1] < x[0] ? x[1] : x[0];
    case DT_FMAX:
        return isnan(x[0]) ? x[1] : isnan(x[1]) ? x[0] : x[1] > x[0] ? x[1] : x[0];
    default: { /* CLIP */
        const double low[2] = {x[0], x[1]};
        const double high[2] = {choose(DT_MAXIMUM, low), x[2]};
        return choose(DT_MINIMUM, high);
    }
    }
}

static double defined(dt_op op, const double *x)
{
    switch (op) {
    case DT_ADD:
        return x[0] + x[1];
    case DT_SUBTRACT:
        return x[0] - x[1];
    case DT_MULTIPLY:
        return x[0] * x[1];
    case DT_SQUARE:
        return x[0] * x[0];
    case DT_DIVIDE:
        return x[0] / x[1];
    case DT_RECIPROCAL:
        return 1 / x[0];
    case DT_SQRT:
        return sqrt(x[0]);
    case DT_NEGATIVE:
        return -x[0];
    case DT_ABSOLUTE:
    case DT_FABS:
        return fabs(x[0]);
    case DT_FMOD:
        return fmod(x[0], x[1]);
    case DT_FLOOR_DIVIDE:
    case DT_REMAINDER:
        return float_divide(x[0], x[1], op == DT_REMAINDER);
    case DT_SIGN:
        return isnan(x[0]) ? x[0] : (double)((x[0] > 0) - (x[0] < 0));
    case DT_FLOOR:
        return floor(x[0]);
    case DT_CEIL:
        return ceil(x[0]);
    case DT_TRUNC:
        return trunc(x[0]);
    case DT_RINT:
    case DT_ROUND:
        return nearbyint(x[0]);
    case DT_HEAVISIDE:
        return isnan(x[0]) ? x[0] : x[0] == 0 ? x[1] : x[0] > 0;
    case DT_FMA:
        return fma(x[0], x[1], x[2]);
    case DT_COPYSIGN:
        return copysign(x[0], x[1]);
    case DT_REAL:
    case DT_POSITIVE:
    case DT_CONJUGATE:
        return x[0];
    case DT_IMAG:
        return 0;
    default:
        return choose(op, x);
    }
}

/* ---- real numbers: functions ----------------------------------------------------------------- */

static long double log_add(long double x, long double y)
{
    if (x == y)
        return x + logl(2);
    const long double d = x - y;
    return d > 0 ? x + log1pl(expl(-d)) : d <= 0 ? y + log1pl(expl(d)) : d;
}

static bool second_function(dt_op op, long double a, long double b, long double *r)
{
    const long double pi = acosl(-1);

    switch (op) {
    case DT_CBRT:
        return *r = cbrtl(a), true;
    case DT_EXP2:
        return *r = exp2l(a), true;
    case DT_LOG2:
        return *r = log2l(a), true;
    case DT_LOG10:
        return *r = log10l(a), true;
    case DT_TAN:
        return *r = tanl(a), true;
    case DT_ARCSIN:
        return *r = asinl(a), true;
    case DT_ARCCOS:
        return *r = acosl(a), true;
    case DT_SINH:
        return *r = sinhl(a), true;
    case DT_COSH:
        return *r = coshl(a), true;
    case DT_ARCSINH:
        return *r = asinhl(a), true;
    case DT_ARCCOSH:
        return *r = acoshl(a), true;
    case DT_ARCTANH:
        return *r = atanhl(a), true;
    case DT_DEGREES:
        return *r = a * 180 / pi, true;
    case DT_RADIANS:
        return *r = a * pi / 180, true;
    case DT_RSQRT:
        return *r = 1 / sqrtl(a), true;
    case DT_ERFC:
        return *r = erfcl(a), true;
    case DT_GAMMA:
        return *r = tgammal(a), true;
    case DT_EXPIT:
        return *r = 1 / (1 + expl(-a)), true;
    case DT_LOGADDEXP2:
        return *r = log_add(a * logl(2), b * logl(2)) / logl(2), true;
    case DT_POWER:
        return *r = powl(a, b), true;
    default:
        return false;
    }
}

/* False for an operation that is no function of this table. */
static bool function(dt_op op, const double *x, long double *r)
{
    const long double a = x[0], b = dt_ops[op].operands > 1 ? x[1] : 0;

    switch (op) {
    case DT_EXP:
        *r = expl(a);
        return true;
    case DT_EXPM1:
        *r = expm1l(a);
        return true;
    case DT_LOG:
        *r = logl(a);
        return true;
    case DT_LOG1P:
        *r = log1pl(a);
        return true;
    case DT_LOGADDEXP:
        *r = log_add(a, b);
        return true;
    case DT_SIN:
        *r = sinl(a);
        return true;
    case DT_COS:
        *r = cosl(a);
        return true;
    case DT_TANH:
        *r = tanhl(a);
        return true;
    case DT_ARCTAN:
        *r = atanl(a);
        return true;
    case DT_ARCTAN2:
        *r = atan2l(a, b);
        return true;
    case DT_HYPOT:
        *r = hypotl(a, b);
        return true;
    case DT_ERF:
        *r = erfl(a);
        return true;
    default:
        return second_function(op, a, b, r);
    }
}

/* fma of floats, rounded once: the product is exact in double, the sum may not be, and rounding it
 * twice would be wrong for ties. */
static double narrow_fma(kiln_dtype t, const double *x)
{
    const double product = x[0] * x[1];
    return dt_round(t, (long double)product + (long double)x[2]);
}

/* Units in the last place that a function may be off: what docs/accuracy.md says, and as much again
 * for arguments that nobody measured. Results of 16 bits are rounded from float32. */
static double allowed_ulps(kiln_dtype t)
{
    return dt_is_narrow(t) ? 1 : 6;
}

/* Values that a function has exactly at 0 are exact. Results below the normal range may underflow,
 * results at its upper end overflow. */
static double function_error(kiln_dtype t, double r, long double middle)
{
    const double tiny = ldexp(1, dt_format_of(t).emin);

    const double beyond = dt_largest(t) + dt_ulp(t, dt_largest(t)) / 2;

    if (middle == 0 || isnan(middle) || isinf(middle))
        return 0;
    if (!isfinite(r))
        return fabsl(middle) < 1.001L * beyond ? INFINITY : 0;
    return allowed_ulps(t) * dt_ulp(t, r) + (fabs(r) < tiny ? tiny : 0);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static bool jumps(dt_op op)
{
    switch (op) {
    case DT_FMOD:
    case DT_REMAINDER:
    case DT_FLOOR_DIVIDE:
    case DT_SIGN:
    case DT_FLOOR:
    case DT_CEIL:
    case DT_TRUNC:
    case DT_RINT:
    case DT_ROUND:
        return true;
    default:
        return false;
    }
}

/* Functions that turn round, or have poles, between the corners of wide bounds. */
static bool wobbles(dt_op op)
{
    return op == DT_SIN || op == DT_COS || op == DT_TAN || op == DT_GAMMA || op == DT_POWER ||
           op == DT_COSH;
}

/* Whether the sign of a zero operand, or a neighbourhood of zero, decides. */
static bool zero_matters(dt_op op, int operand)
{
    switch (op) {
    case DT_DIVIDE:
    case DT_FMOD:
    case DT_REMAINDER:
    case DT_FLOOR_DIVIDE:
    case DT_COPYSIGN:
        return operand == 1;
    case DT_HEAVISIDE:
        return operand == 0;
    case DT_RECIPROCAL:
    case DT_ARCTAN2:
    case DT_SIGNBIT:
    case DT_LOG:
    case DT_LOG2:
    case DT_LOG10:
    case DT_RSQRT:
    case DT_GAMMA:
    case DT_POWER:
        return true;
    default:
        return false;
    }
}

static long double exactly(dt_op op, const double *x)
{
    long double r;
    return function(op, x, &r) ? r : (long double)defined(op, x);
}

/* What bounds below a rounding step become in the operations whose corners would round them away;
 * negative for all others. */
static long double linear_spread(dt_op op, const dt_value *in)
{
    switch (op) {
    case DT_ADD:
    case DT_SUBTRACT:
        return (long double)in[0].error + in[1].error;
    case DT_NEGATIVE:
    case DT_ABSOLUTE:
    case DT_FABS:
    case DT_POSITIVE:
        return in[0].error;
    case DT_SQUARE:
        return (2 * fabsl(in[0].re) + in[0].error) * in[0].error;
    case DT_MULTIPLY:
        return fabsl(in[0].re) * in[1].error + fabsl(in[1].re) * in[0].error +
               (long double)in[0].error * in[1].error;
    default:
        return -1;
    }
}

/* The largest distance from `middle` that a corner of the operands' bounds brings; negative when
 * some corner is of another sort. */
static long double spread(dt_op op, const dt_value *in, long double middle)
{
    const int count = dt_ops[op].operands;
    long double most = 0;

    for (int corner = 0; corner < 1 << count; corner++) {
        double x[3] = {0};
        for (int k = 0; k < count; k++) {
            x[k] = in[k].re + (corner >> k & 1 ? in[k].error : -in[k].error);
            if (wobbles(op) && in[k].error > 0.25)
                return -1;
        }
        const long double r = exactly(op, x);
        if (isnan(middle) ? !isnan(r) : isinf(middle) ? r != middle : !isfinite(r))
            return -1;
        if (isfinite(middle) && fabsl(r - middle) > most)
            most = fabsl(r - middle);
    }
    if ((jumps(op) && most != 0) || (wobbles(op) && most > fmaxl(fabsl(middle), 1) / 8))
        return -1;
    return fmaxl(most, linear_spread(op, in));
}

/* What a fused multiplication and addition may see instead of the rounded product. */
static double product_slack(kiln_dtype t, const double *x, double rounded)
{
    if (!isfinite(rounded) || dt_is_narrow(t))
        return 0;
    return t == KILN_FLOAT64 ? fabs(fma(x[0], x[1], -rounded)) : fabs(x[0] * x[1] - rounded);
}

bool dt_fused_overflow(dt_op op, double a, double b, double rounded)
{
    const bool is_product =
        op == DT_MULTIPLY || op == DT_SQUARE || (op == DT_ADD && a == b); /* x + x is 2 * x */

    return is_product && isinf(rounded) && isfinite(a) && (op == DT_SQUARE || isfinite(b));
}

static dt_value apply_real(dt_op op, kiln_dtype t, const dt_value *in)
{
    const int count = dt_ops[op].operands;
    double x[3] = {0};
    long double middle;
    bool exact = true, open = op >= DT_LESSER && op <= DT_FMAX;

    for (int k = 0; k < count; k++) {
        x[k] = in[k].re;
        exact = exact && in[k].error == 0;
        open = open || in[k].open_zero;
        if (zero_matters(op, k) &&
            ((in[k].error > 0 && fabs(x[k]) <= in[k].error) || (in[k].open_zero && x[k] == 0)))
            return dt_unknown();
    }
    const bool is_function = function(op, x, &middle);
    if (!is_function)
        middle = op == DT_FMA && t == KILN_FLOAT32 ? narrow_fma(t, x) : defined(op, x);
    dt_value r = {.re = dt_round(t, middle)};
    if (op == DT_GAMMA && x[0] <= 0 && x[0] == floor(x[0]))
        return dt_unknown(); /* a pole, at which libraries differ */
    if (op == DT_COPYSIGN && isnan(x[1]))
        return dt_unknown(); /* the sign of a NaN that was computed is the machine's choice */
    double error = is_function ? function_error(t, r.re, middle) : 0;
    /* The greater operand plus a logarithm, as NumPy has it: they may cancel. */
    if ((op == DT_LOGADDEXP || op == DT_LOGADDEXP2) && isfinite(r.re))
        error = fmax(error, allowed_ulps(t) * dt_ulp(t, fmax(x[0], x[1])));
    if (!exact) {
        const long double most = spread(op, in, middle);
        if (most < 0 || (!isfinite(r.re) && isfinite(middle)))
            return dt_unknown();
        if (most > 0)
            error += 1.01 * (double)most + dt_ulp(t, r.re);
    }
    if (error > 0 && (!isfinite(r.re) || fabs(r.re) + error >= dt_largest(t)))
        return dt_unknown();
    r.error = r.alone = error;
    if (op == DT_MULTIPLY || op == DT_SQUARE)
        r.error += product_slack(t, (double[]){x[0], op == DT_SQUARE ? x[0] : x[1]}, r.re);
    if (dt_fused_overflow(op, x[0], x[1], r.re))
        r.error = INFINITY;
    r.open_zero = open && r.re == 0;
    return r;
}

/* ---- results that are bool ------------------------------------------------------------------- */

static dt_value compare(dt_op op, const dt_value *in)
{
    const double a = in[0].re, b = in[1].re, slack = in[0].error + in[1].error;

    if (slack > 0 && !isnan(a) && !isnan(b) && fabs(a - b) <= slack)
        return dt_unknown();
    switch (op) {
    case DT_EQUAL:
        return (dt_value){.i = a == b};
    case DT_NOT_EQUAL:
        return (dt_value){.i = a != b};
    case DT_LESS:
        return (dt_value){.i = a < b};
    case DT_LESS_EQUAL:
        return (dt_value){.i = a <= b};
    case DT_GREATER:
        return (dt_value){.i = a > b};
    default:
        return (dt_value){.i = a >= b};
    }
}

static dt_value ask(dt_op op, kiln_dtype t, const dt_value *in)
{
    dt_value truth[2] = {{0}};

    switch (op) {
    case DT_ISNAN:
        return (dt_value){.i = isnan(in[0].re) || isnan(in[0].im)};
    case DT_ISINF:
        return (dt_value){.i = isinf(in[0].re) || isinf(in[0].im)};
    case DT_ISFINITE:
        return (dt_value){.i = isfinite(in[0].re) && isfinite(in[0].im)};
    case DT_SIGNBIT:
        if (isnan(in[0].re) || (in[0].open_zero && in[0].re == 0) ||
            (in[0].error > 0 && fabs(in[0].re) <= in[0].error))
            return dt_unknown();
        return (dt_value){.i = signbit(in[0].re) != 0};
    case DT_LOGICAL_AND:
    case DT_LOGICAL_OR:
    case DT_LOGICAL_XOR:
    case DT_LOGICAL_NOT:
        for (int k = 0; k < dt_ops[op].operands; k++) {
            truth[k] = dt_cast(t, KILN_BOOL, in[k]);
            if (dt_is_unknown(truth[k]))
                return dt_unknown();
        }
        return apply_integer(op, KILN_BOOL, truth, false);
    default:
        return compare(op, in);
    }
}

dt_value dt_apply(dt_op op, kiln_dtype loop, const dt_value *in, bool in_snippet)
{
    if (op == DT_WHERE) {
        if (dt_is_unknown(in[0]))
            return dt_unknown();
        return in[0].i != 0 ? in[1] : in[2];
    }
    for (int k = 0; k < dt_ops[op].operands; k++)
        if (dt_is_unknown(in[k]))
            return dt_unknown();
    if (dt_is_integer(loop))
        return apply_integer(op, loop, in, in_snippet);
    if (dt_is_complex(loop) && (dt_ops[op].result != '?' || op == DT_EQUAL || op == DT_NOT_EQUAL))
        return dt_apply_complex(op, loop, in);
    if (dt_ops[op].result == '?')
        return ask(op, loop, in);
    return apply_real(op, loop, in);
}
