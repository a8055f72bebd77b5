/*
 * test_ops_accuracy.c - operations whose results may be far smaller than what they are made of.
 *
 * Arguments are spread over the exponents around where the result is near zero; the reference is long
 * double. The errors are in units of the last place of the exact result, but of logaddexp and
 * logaddexp2, which are NumPy's formula, of the greatest of it, its operands and log(2): where their
 * result is near zero, it is a difference of numbers that are not. docs/accuracy.md has the figures.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_env.h"

enum { COUNT_ALL = 40000 };

static long double exact_logit(long double x, long double y)
{
    (void)y;
    return fabsl(2 * x - 1) < 0.5L ? 2 * atanhl(2 * x - 1) : logl(x) - log1pl(-x);
}

static long double exact_logaddexp(long double x, long double y)
{
    return fmaxl(x, y) + log1pl(expl(-fabsl(x - y)));
}

static long double exact_logaddexp2(long double x, long double y)
{
    return fmaxl(x, y) + log1pl(exp2l(-fabsl(x - y))) / logl(2);
}

static long double exact_expm1(long double x, long double y)
{
    (void)y;
    return expm1l(x);
}

static long double exact_log1p(long double x, long double y)
{
    (void)y;
    return log1pl(x);
}

static long double exact_tanh(long double x, long double y)
{
    (void)y;
    return tanhl(x);
}

static long double exact_arcsinh(long double x, long double y)
{
    (void)y;
    return asinhl(x);
}

static long double exact_hypot(long double x, long double y)
{
    return hypotl(x, y);
}

static const struct {
    const char *text;
    long double (*exact)(long double x, long double y);
    bool unit;   /* 0 < x < 1 */
    bool sum;    /* judged by its greatest part */
    double most; /* ulps */
} OPS[] = {
    {"logit(x)", exact_logit, true, false, 4},
    {"logaddexp(x, y)", exact_logaddexp, false, true, 3},
    {"logaddexp2(x, y)", exact_logaddexp2, false, true, 4},
    {"expm1(x)", exact_expm1, false, false, 3},
    {"log1p(x)", exact_log1p, true, false, 3},
    {"tanh(x)", exact_tanh, false, false, 3},
    {"arcsinh(x)", exact_arcsinh, false, false, 3},
    {"hypot(x, y)", exact_hypot, false, false, 2},
};

static double ulps(double got, long double want, long double part, int digits)
{
    int exponent = 0;
    (void)frexpl(part, &exponent);
    return (double)fabsl((got - want) / ldexpl(1, exponent - digits));
}

static double uniform(test_env *t)
{
    return (double)(test_random(t) >> 11) * 0x1p-53;
}

/* Around 1/2, or around 0, at all distances down to 2^-40. */
static double draw(test_env *t, bool unit)
{
    const double size = exp2(40 * uniform(t) - 40) * (unit ? 0.5 : 4);
    const double side = test_random_below(t, 2) == 0 ? size : -size;
    return unit ? (test_random_below(t, 4) == 0 ? fabs(side) : 0.5 + side) : side;
}

static void check_op(test_env *t, size_t o, kiln_dtype dtype)
{
    static const char *const names[] = {"x", "y"};
    static const int64_t shape[] = {COUNT_ALL};
    static double in[2][COUNT_ALL], got[COUNT_ALL];
    const int digits = dtype == KILN_FLOAT32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    kiln_array *a[2] = {NULL, NULL}, *z = NULL, *wide = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;
    double worst = 0;

    for (int p = 0; p < 2; p++) {
        kiln_array *drawn = NULL;
        for (int k = 0; k < COUNT_ALL; k++)
            in[p][k] = draw(t, OPS[o].unit);
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, shape, in[p], NULL, &drawn, &t->err));
        OK(t, kiln_array_cast(drawn, dtype, &a[p], &t->err));
        OK(t, kiln_array_cast(a[p], KILN_FLOAT64, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, in[p], sizeof in[p], NULL, &t->err));
        kiln_array_release(drawn), kiln_array_release(wide);
    }
    const size_t inputs = strstr(OPS[o].text, "y)") != NULL ? 2 : 1;
    kiln_arg args[3] = {kiln_arg_array(a[0]), kiln_arg_array(a[1])};
    args[inputs] = kiln_arg_out(&z);
    OK(t, kiln_graph_parse(t->ctx, OPS[o].text, names, inputs, NULL, &g, &results, &t->err));
    OK(t, kiln_graph_run(g, args, inputs + 1, NULL, &t->err));
    OK(t, kiln_array_cast(z, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < COUNT_ALL; k++) {
        const double x = in[0][k], y = in[1][k];
        const long double want = OPS[o].exact(x, y);
        long double part = fabsl(want);
        if (OPS[o].sum)
            part = fmaxl(fmaxl(part, logl(2)), fmaxl(fabs(x), fabs(y)));
        if (part == 0 || (OPS[o].unit && (x <= 0 || x >= 1)))
            continue;
        worst = fmax(worst, ulps(got[k], want, part, digits));
    }
    printf("%-18s %-8s %.2f ulp\n", OPS[o].text, kiln_dtype_name(dtype), worst);
    CHECK(worst <= OPS[o].most, "%s of %s: %.2f ulp", OPS[o].text, kiln_dtype_name(dtype), worst);
    kiln_array_release(a[0]), kiln_array_release(a[1]), kiln_array_release(z);
    kiln_array_release(wide);
    kiln_graph_destroy(g);
}

static void test_ops_accuracy__near_zero(void **state)
{
    test_env *t = *state;

    t->random = 1 << 28; /* the same values in every run: a bound cannot fail by chance */
    for (size_t o = 0; o < COUNT(OPS); o++) {
        check_op(t, o, KILN_FLOAT32);
        check_op(t, o, KILN_FLOAT64);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(test_ops_accuracy__near_zero)};
    return test_env_main(argc, argv, "test_ops_accuracy", tests, COUNT(tests));
}
