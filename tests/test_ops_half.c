/*
 * test_ops_half.c - operations on float16 and bfloat16, each rounded once: all values of one operand
 * against a spread of the other.
 *
 * Expected values are computed in double and rounded to the format. A quotient is rounded twice, which
 * gives the same value: 53 digits are more than twice 11 and two more.
 */
#include <stdlib.h>
#include <string.h>

#include "half_format.h"
#include "test_env.h"

enum { SPREAD = 24, SPECIAL = 12 };

static double plus(double x, double y)
{
    return x + y;
}
static double minus(double x, double y)
{
    return x - y;
}
static double times(double x, double y)
{
    return x * y;
}
static double over(double x, double y)
{
    return x / y;
}
static double one_over(double x, double y)
{
    (void)y;
    return 1 / x;
}
static double minus_of(double x, double y)
{
    (void)y;
    return -x;
}
static double size_of(double x, double y)
{
    (void)y;
    return fabs(x);
}
static double squared(double x, double y)
{
    (void)y;
    return x * x;
}
static double greatest(double x, double y)
{
    return x >= y || isnan(x) ? x : y;
}
static double least(double x, double y)
{
    return x <= y || isnan(x) ? x : y;
}
static double greater_one(double x, double y)
{
    return x >= y || isnan(y) ? x : y;
}
static double lesser_one(double x, double y)
{
    return x <= y || isnan(y) ? x : y;
}
static double tanh_of(double x, double y)
{
    (void)y;
    return tanh(x);
}
static double exp_of(double x, double y)
{
    (void)y;
    return exp(x);
}
static double tanh_of_minus(double x, double y)
{
    (void)y;
    return tanh(-x);
}
static double exp_of_minus(double x, double y)
{
    (void)y;
    return exp(-x);
}
static double is_less(double x, double y)
{
    return x < y;
}
static double is_equal(double x, double y)
{
    return x == y;
}

static const struct {
    const char *text;
    double (*exact)(double x, double y);
    /* EITHER_ZERO: which of two zeros is open; NEAR: to 2^-20 of itself before it is rounded. */
    enum { VALUE, TRUTH, EITHER_ZERO, NEAR } kind;
} OPS[] = {
    {"x + y", plus, VALUE},
    {"x - y", minus, VALUE},
    {"y - x", minus, VALUE},
    {"x * y", times, VALUE},
    {"x / y", over, VALUE},
    {"y / x", over, VALUE},
    {"1 / x", one_over, VALUE},
    {"reciprocal(x)", one_over, VALUE},
    {"-x", minus_of, VALUE},
    {"abs(x)", size_of, VALUE},
    {"square(x)", squared, VALUE},
    {"x ** 2", squared, VALUE},
    {"tanh(x)", tanh_of, VALUE},
    {"exp(x)", exp_of, NEAR},
    {"tanh(-x)", tanh_of_minus, VALUE}, /* the sign is changed where the value is a float */
    {"exp(-x)", exp_of_minus, NEAR},
    {"maximum(x, y)", greatest, EITHER_ZERO},
    {"minimum(x, y)", least, EITHER_ZERO},
    {"fmax(x, y)", greater_one, EITHER_ZERO},
    {"fmin(x, y)", lesser_one, EITHER_ZERO},
    {"x < y", is_less, TRUTH},
    {"x == y", is_equal, TRUTH},
};

/* Codes of the other operand: what is special, and others from everywhere. */
static void spread(const format *f, uint16_t codes[SPREAD])
{
    const int fraction = f->digits - 1;
    const uint16_t infinite = (uint16_t)(0x7fff >> fraction << fraction);
    const uint16_t one = (uint16_t)((0x3fff >> fraction) << fraction);
    const uint16_t special[SPECIAL] = {0,
                                       0x8000,
                                       1,
                                       0x8001,
                                       (uint16_t)(1 << fraction),
                                       (uint16_t)((1 << fraction) - 1),
                                       one,
                                       (uint16_t)(one | 0x8000),
                                       (uint16_t)(infinite - 1),
                                       infinite,
                                       (uint16_t)(infinite | 0x8000),
                                       0x7fff};
    memcpy(codes, special, sizeof special);
    for (int k = SPECIAL; k < SPREAD; k++)
        codes[k] = (uint16_t)((unsigned)k * 40503u >> 1);
}

static void check(test_env *t, const format *f, size_t op, const uint16_t *all,
                  const uint16_t *other)
{
    static const char *const names[] = {"x", "y"};
    const int64_t row[] = {CODES}, column[] = {SPREAD, 1};
    const size_t count = (size_t)SPREAD * CODES;
    const bool turned = OPS[op].text[0] == 'y', binary = strchr(OPS[op].text, 'y') != NULL;
    const bool truths = OPS[op].kind == TRUTH;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    kiln_graph *g = NULL;
    uint16_t *got = malloc(count * sizeof *got);
    const uint8_t *truth = (const uint8_t *)got;

    assert_non_null(got);
    OK(t, kiln_graph_parse(t->ctx, OPS[op].text, names, 2, NULL, &g, NULL, &t->err));
    OK(t, kiln_array_from_host(t->ctx, f->dtype, 1, row, all, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, f->dtype, 2, column, other, NULL, &y, &t->err));
    OK(t, kiln_call(g, &t->err, x, y, &z));
    OK(t, kiln_array_to_host(z, got, count * sizeof *got, NULL, &t->err));
    for (size_t k = 0; k < (binary ? count : CODES); k++) {
        const double a = decode(f, all[k % CODES]), b = decode(f, other[k / CODES]);
        const double exact = turned ? OPS[op].exact(b, a) : OPS[op].exact(a, b);
        const double is = truths ? truth[k] : decode(f, got[k]);
        const double want = truths ? exact : round_to(f, exact);
        if (OPS[op].kind == EITHER_ZERO && is == 0 && want == 0)
            continue;
        if (OPS[op].kind == NEAR && (same(is, round_to(f, exact * (1 - 0x1p-20))) ||
                                     same(is, round_to(f, exact * (1 + 0x1p-20)))))
            continue;
        CHECK(same(is, want), "%s of %s x %a, y %a is %a, got %a", OPS[op].text, f->name, a, b,
              want, is);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_graph_destroy(g);
    free(got);
}

static void test_ops_half__all_values_against_a_spread_of_others(void **state)
{
    test_env *t = *state;
    uint16_t all[CODES], other[SPREAD];

    for (size_t k = 0; k < CODES; k++)
        all[k] = (uint16_t)k;
    for (size_t f = 0; f < COUNT(formats); f++) {
        spread(&formats[f], other);
        for (size_t op = 0; op < COUNT(OPS); op++)
            if (test_drawn(t))
                check(t, &formats[f], op, all, other);
    }
}

/* Each operation is rounded, and none is joined with another into a fused one. */
static void test_ops_half__no_operation_is_fused_with_another(void **state)
{
    static const char *const names[] = {"x", "y", "z"};
    test_env *t = *state;
    uint16_t x[4096], y[4096], z[4096], got[4096];
    const int64_t shape[] = {4096};

    for (size_t f = 0; f < COUNT(formats); f++) {
        const format *of = &formats[f];
        kiln_array *a[4] = {NULL};
        kiln_graph *g = NULL;
        int fused = 0;
        for (unsigned k = 0; k < 4096; k++) {
            const uint16_t one = (uint16_t)(0x3fff >> (of->digits - 1) << (of->digits - 1));
            x[k] = (uint16_t)(one + k % 61);
            y[k] = (uint16_t)(one + k % 59);
            z[k] = (uint16_t)((one + k % 67) | 0x8000);
        }
        OK(t, kiln_graph_parse(t->ctx, "x * y + z", names, 3, NULL, &g, NULL, &t->err));
        OK(t, kiln_array_from_host(t->ctx, of->dtype, 1, shape, x, NULL, &a[0], &t->err));
        OK(t, kiln_array_from_host(t->ctx, of->dtype, 1, shape, y, NULL, &a[1], &t->err));
        OK(t, kiln_array_from_host(t->ctx, of->dtype, 1, shape, z, NULL, &a[2], &t->err));
        OK(t, kiln_call(g, &t->err, a[0], a[1], a[2], &a[3]));
        OK(t, kiln_array_to_host(a[3], got, sizeof got, NULL, &t->err));
        for (size_t k = 0; k < 4096; k++) {
            const double product = decode(of, x[k]) * decode(of, y[k]), add = decode(of, z[k]);
            const double want = round_to(of, round_to(of, product) + add);
            fused += want != round_to(of, product + add);
            CHECK(same(decode(of, got[k]), want), "%s %zu: %a, not %a", of->name, k,
                  decode(of, got[k]), want);
        }
        assert_true(fused > 1000); /* the values tell the two apart */
        for (size_t k = 0; k < COUNT(a); k++)
            kiln_array_release(a[k]);
        kiln_graph_destroy(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ops_half__all_values_against_a_spread_of_others),
        TEST(test_ops_half__no_operation_is_fused_with_another),
    };
    return test_env_main(argc, argv, "test_ops_half", tests, COUNT(tests));
}
