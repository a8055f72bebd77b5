/*
 * test_reduction_moments.c - means, variances and standard deviations within 4 units in the last
 * place of the exact result.
 *
 * The reference is two passes in long double: the mean, then the squared deviations from it. Every
 * way to moments is taken: whole arrays, rows and columns; alone, beside a mean, of an expression and
 * without NaN. The values are the same in every run, so that no bound fails by chance.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_env.h"

enum { SAME_VALUES = 1 << 28, NO_AXIS = -1 };

static const struct {
    kiln_dtype dtype;
    int digits; /* of a result's significand */
} TYPES[] = {{KILN_FLOAT32, 24},    {KILN_FLOAT64, 53}, {KILN_COMPLEX64, 24},
             {KILN_COMPLEX128, 53}, {KILN_FLOAT16, 11}, {KILN_BFLOAT16, 8}};

/* ---- values ---------------------------------------------------------------------------------- */

static double uniform(test_env *t)
{
    return (double)(test_random(t) >> 11) * 0x1p-53;
}

static double around_zero(test_env *t, size_t k)
{
    (void)k;
    return uniform(t) + uniform(t) + uniform(t) - 1.5;
}

static double far_from_zero(test_env *t, size_t k)
{
    (void)k;
    return 500 + uniform(t);
}

/* Every part of a sorted array has another mean than the whole. */
static double sorted(test_env *t, size_t k)
{
    return (double)(k % 300000) / 1024 + uniform(t) / 1024;
}

/* Whole accesses of a thread, and parts of others, hold none but NaN. */
static double left_out(test_env *t, size_t k)
{
    const double value = 500 + uniform(t);
    return k % 3 == 1 || k % 256 < 64 ? NAN : value;
}

static const struct {
    const char *name;
    double (*draw)(test_env *t, size_t k);
    bool of_numbers; /* NaN is to be left out */
} VALUES[] = {{"around 0", around_zero, false},
              {"far from 0", far_from_zero, false},
              {"sorted", sorted, false},
              {"left out", left_out, true}};

typedef struct subject {
    kiln_array *x;
    double *values;              /* what x holds: real and imaginary parts, or numbers */
    size_t rows, columns, parts; /* parts: 2 of complex numbers */
} subject;

static void subject_make(test_env *t, kiln_dtype dtype, size_t v, size_t rows, size_t columns,
                         subject *s)
{
    const bool pairs = kiln_dtype_kind(dtype) == 'c';
    const kiln_dtype wide = pairs ? KILN_COMPLEX128 : KILN_FLOAT64;
    const int64_t shape[] = {(int64_t)rows, (int64_t)columns};
    kiln_array *drawn = NULL, *back = NULL;

    *s = (subject){.rows = rows, .columns = columns, .parts = pairs ? 2 : 1};
    const size_t count = rows * columns * s->parts;
    s->values = malloc(count * sizeof(double));
    assert_non_null(s->values);
    for (size_t k = 0; k < count; k++)
        s->values[k] = VALUES[v].draw(t, k / s->parts);
    OK(t, kiln_array_from_host(t->ctx, wide, 2, shape, s->values, NULL, &drawn, &t->err));
    OK(t, kiln_array_cast(drawn, dtype, &s->x, &t->err));
    OK(t, kiln_array_cast(s->x, wide, &back, &t->err));
    OK(t, kiln_array_to_host(back, s->values, count * sizeof(double), NULL, &t->err));
    kiln_array_release(drawn);
    kiln_array_release(back);
}

static void subject_free(subject *s)
{
    kiln_array_release(s->x);
    free(s->values);
}

/* The variance of result `nth` along `axis`, and its mean. */
static long double exact_variance(const subject *s, int axis, size_t nth, double scale,
                                  long double *mean)
{
    const size_t length = axis == NO_AXIS ? s->rows * s->columns : axis == 0 ? s->rows : s->columns;
    const size_t step = axis == 0 ? s->columns : 1, begin = axis == 0 ? nth : nth * s->columns;
    long double squares = 0;
    size_t count = 0;

    for (size_t p = 0; p < s->parts; p++) {
        long double sum = 0;
        count = 0;
        for (size_t k = 0; k < length; k++) {
            const double value = s->values[(begin + k * step) * s->parts + p];
            sum += value == value ? value : 0;
            count += value == value;
        }
        mean[p] = sum / (long double)count;
        for (size_t k = 0; k < length; k++) {
            const long double d = s->values[(begin + k * step) * s->parts + p] - mean[p];
            squares += d == d ? d * d : 0;
        }
        mean[p] *= scale;
    }
    return squares / (long double)count * scale * scale;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static double in_ulps(double got, long double want, kiln_dtype dtype, int digits)
{
    int exponent = 0;
    if (dtype == KILN_FLOAT16 && want >= 65520)
        return isinf(got) ? 0 : HUGE_VAL; /* what rounds to infinity */
    (void)frexpl(want, &exponent);
    if (dtype == KILN_FLOAT16 && exponent < -13)
        exponent = -13; /* smaller ones are as far apart */
    return (double)fabsl((got - want) / ldexpl(1, exponent - digits));
}

/* What rounded means cost where deviations are far smaller, in two passes as in NumPy's: their error,
 * which is that of a sum and taken as six units at most, squared. */
static double lost_by_mean(const subject *s, const long double *mean, long double variance,
                           int digits)
{
    const long double far = mean[0] * mean[0] + (s->parts == 2 ? mean[1] * mean[1] : 0);
    return (double)(36 * far / variance * ldexpl(1, -digits));
}

/* Results of an expression over x, in float64 or complex128. */
static void evaluate(test_env *t, const subject *s, const char *text, size_t results, double *out,
                     size_t each)
{
    static const char *const names[] = {"x"};
    kiln_array *y[2] = {NULL, NULL};
    kiln_arg args[3] = {kiln_arg_array(s->x), kiln_arg_out(&y[0]), kiln_arg_out(&y[1])};
    kiln_graph *g = NULL;
    size_t got = 0;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, &got, &t->err));
    assert_int_equal(got, results);
    OK(t, kiln_graph_run(g, args, 1 + results, NULL, &t->err));
    for (size_t r = 0; r < results; r++) {
        kiln_array *wide = NULL;
        OK(t, kiln_array_cast(y[r], KILN_COMPLEX128, &wide, &t->err));
        OK(t,
           kiln_array_to_host(wide, out + 2 * r * each, 2 * each * sizeof(double), NULL, &t->err));
        kiln_array_release(wide);
        kiln_array_release(y[r]);
    }
    kiln_graph_destroy(g);
}

static const struct {
    const char *text; /* %s: the axis */
    double scale;     /* of the values */
    bool root, mean;  /* the first result is a standard deviation; the second is the mean */
    bool of_numbers;  /* NaN is left out */
    double bound;     /* in ulp; moments of what is computed take one element at a time, which loses more */
} TEXTS[] = {{"var(x%s)", 1, false, false, false, 4},
             {"std(x%s), mean(x%s)", 1, true, true, false, 4},
             {"nanvar(x%s)", 1, false, false, true, 4},
             {"nanstd(x%s), nanmean(x%s)", 1, true, true, true, 4},
             {"var(-2 * x%s)", -2, false, false, false, 8}};

static void check(test_env *t, const subject *s, size_t v, size_t type, int axis)
{
    static const char *const axes[] = {"", ", axis=0", ", axis=1"};
    const kiln_dtype dtype = TYPES[type].dtype;
    const int digits = TYPES[type].digits;
    const size_t each = axis == NO_AXIS ? 1 : axis == 0 ? s->columns : s->rows;
    double *got = malloc(4 * each * sizeof *got);

    assert_non_null(got);
    for (size_t e = 0; e < COUNT(TEXTS); e++) {
        double worst = 0;
        char text[80];
        if (VALUES[v].of_numbers && !TEXTS[e].of_numbers)
            continue;
        snprintf(text, sizeof text, TEXTS[e].text, axes[axis + 1], axes[axis + 1]);
        evaluate(t, s, text, TEXTS[e].mean ? 2 : 1, got, each);
        for (size_t k = 0; k < each; k++) {
            long double mean[2] = {0, 0};
            long double want = exact_variance(s, axis, k, TEXTS[e].scale, mean);
            const double lost = lost_by_mean(s, mean, want, digits);
            want = TEXTS[e].root ? sqrtl(want) : want;
            worst = fmax(worst, in_ulps(got[2 * k], want, dtype, digits) - lost);
            /* A mean near zero has lost digits to its terms: it is not judged by its own. */
            for (size_t p = 0; TEXTS[e].mean && p < s->parts; p++)
                if (fabsl(mean[p]) > 0.25)
                    worst = fmax(worst, in_ulps(got[2 * (each + k) + p], mean[p], dtype, digits));
        }
        printf("%-10s %-28s (%zu, %zu) %-10s %.2f ulp\n", kiln_dtype_name(dtype), text, s->rows,
               s->columns, VALUES[v].name, worst);
        CHECK(worst <= TEXTS[e].bound, "%s of %s: %.2f ulp", text, kiln_dtype_name(dtype), worst);
    }
    free(got);
}

static void check_type(test_env *t, size_t type)
{
    static const struct {
        size_t rows, columns;
        int axis;
        bool held; /* rows that threads of a GPU hold, where they are many */
    } cases[] = {{2, 262144, 1, false}, {3, 4097, 1, false},   {1000, 100, 1, false},
                 {1500, 7, 1, false},   {30000, 5, 0, false},  {5000, 37, 0, false},
                 {7, 1500, 0, false},   {3, 65537, NO_AXIS, false},
                 {13, 9000, 0, true},   {9000, 33, 1, true},   {600, 127, 1, true},   {4300, 257, 1, true}};

    t->random = SAME_VALUES;
    for (size_t v = 0; v < COUNT(VALUES); v++) {
        if (TYPES[type].digits < 24 && (v == 1 || v == 3))
            continue; /* so few digits hold no deviations */
        for (size_t c = 0; c < COUNT(cases); c++) {
            subject s;
            if ((cases[c].held && !t->cuda) || !test_drawn(t))
                continue;
            subject_make(t, TYPES[type].dtype, v, cases[c].rows, cases[c].columns, &s);
            check(t, &s, v, type, cases[c].axis);
            subject_free(&s);
        }
    }
}

/* ---- rows that begin far from their means --------------------------------------------------------- */

enum { BEGINNINGS = 5, BEGUN_ROWS = 1500, BEGUN_MOST = 127 };

/* Element `k` of row `r`, of values that a 16-bit float of any kind has. */
static double begun(test_env *t, kiln_dtype dtype, size_t r, size_t k)
{
    const double value = floor(16 * around_zero(t, k)) / 16;

    switch (r % BEGINNINGS) {
    case 0: return k == 0 ? 304 : value;                              /* far from all others */
    case 1: return k == r % 7 ? (double)INFINITY : value;
    case 2: return k == 0 ? (double)NAN : value;
    case 3: return 1.5;
    default: return k > 0 ? value : dtype == KILN_BFLOAT16 ? 0x1p62 : 0x1p15; /* squares overflow */
    }
}

/* Short rows of 16-bit floats may be looked at once, from their first elements. */
static void check_beginnings(test_env *t, size_t type, size_t columns)
{
    const kiln_dtype dtype = TYPES[type].dtype;
    static double values[BEGUN_ROWS * BEGUN_MOST], got[2 * BEGUN_ROWS];
    const int64_t extent[] = {BEGUN_ROWS, (int64_t)columns};
    subject s = {.values = values, .rows = BEGUN_ROWS, .columns = columns, .parts = 1};
    kiln_array *drawn = NULL;

    for (size_t k = 0; k < BEGUN_ROWS * columns; k++)
        values[k] = begun(t, dtype, k / columns, k % columns);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, extent, values, NULL, &drawn, &t->err));
    OK(t, kiln_array_cast(drawn, dtype, &s.x, &t->err));
    evaluate(t, &s, "var(x, axis=1)", 1, got, BEGUN_ROWS);
    for (size_t r = 0; r < BEGUN_ROWS; r++) {
        long double mean[2] = {0, 0};
        bool finite = true;
        for (size_t k = 0; k < columns; k++)
            finite = finite && isfinite(values[r * columns + k]);
        const long double want = exact_variance(&s, 1, r, 1, mean);
        CHECK(finite ? in_ulps(got[2 * r], want, dtype, TYPES[type].digits) <= 1 : isnan(got[2 * r]),
              "%s row %zu of %zu: %g, not %g", kiln_dtype_name(dtype), r, columns, got[2 * r],
              finite ? (double)want : (double)NAN);
    }
    kiln_array_release(drawn), kiln_array_release(s.x);
}

static void test_reduction_moments__short_rows_may_begin_far_from_their_means(void **state)
{
    static const size_t columns[] = {7, 33, BEGUN_MOST}; /* kernels that the tests above have made */
    test_env *t = *state;

    t->random = SAME_VALUES;
    for (size_t type = 4; type < COUNT(TYPES); type++)
        for (size_t c = 0; c < COUNT(columns); c++)
            if (test_drawn(t))
                check_beginnings(t, type, columns[c]);
}

#define TYPE(name, nth)                                                                            \
    static void test_reduction_moments__##name(void **state)                                       \
    {                                                                                              \
        check_type(*state, nth);                                                                   \
    }
TYPE(float32, 0)
TYPE(float64, 1)
TYPE(complex64, 2)
TYPE(complex128, 3)
TYPE(float16, 4)
TYPE(bfloat16, 5)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_moments__float32),   TEST(test_reduction_moments__float64),
        TEST(test_reduction_moments__complex64), TEST(test_reduction_moments__complex128),
        TEST(test_reduction_moments__float16),   TEST(test_reduction_moments__bfloat16),
        TEST(test_reduction_moments__short_rows_may_begin_far_from_their_means),
    };
    test_env_compile_ahead();
    return test_env_main(argc, argv, "test_reduction_moments", tests, COUNT(tests));
}
