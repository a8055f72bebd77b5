/*
 * test_random.c - random numbers: Philox's known answers, values as plain C computes them, and what a
 * statistician would look at.
 *
 * Everything is drawn with fixed seeds, so that a statistic is the same in each run: its bound is one
 * that a good generator passes for all but one seed in 10,000 or so, and those used here are passed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "philox.h"
#include "test_env.h"

enum { MANY = 200000 };

/* ---- the oracle ---- */

static uint32_t word(uint64_t key, uint64_t draw, uint64_t i)
{
    uint32_t w[4];
    philox(key, i / 4, draw, w);
    return w[i % 4];
}

static double unit(uint64_t key, uint64_t draw, uint64_t i)
{
    uint32_t w[4];
    philox(key, i / 2, draw, w);
    const uint32_t low = w[i % 2 * 2], high = w[i % 2 * 2 + 1];
    return ((high >> 5) * 67108864.0 + (low >> 6)) / 9007199254740992.0;
}

/* ---- drawing ---- */

/* Draw into new memory; free() it. Numbers are parameters of whichever kind. */
static void *drawn(test_env *t, kiln_random *rng, kiln_draw what, const kiln_arg *params,
                   size_t param_count, kiln_dtype dtype, int64_t count)
{
    kiln_array *a = NULL;
    const size_t bytes = (size_t)count * kiln_dtype_size(dtype);
    void *data = malloc(bytes + 1);

    assert_non_null(data);
    OK(t, kiln_random_array(rng, t->ctx, what, params, param_count, dtype, 1, &count, &a, &t->err));
    assert_int_equal(kiln_array_dtype(a), dtype);
    OK(t, kiln_array_to_host(a, data, bytes, NULL, &t->err));
    kiln_array_release(a);
    return data;
}

#define PARAMS(...)                                                                                \
    (const kiln_arg[]){__VA_ARGS__}, sizeof((const kiln_arg[]){__VA_ARGS__}) / sizeof(kiln_arg)
#define REAL(v) kiln_arg_float(v)
#define WHOLE(v) kiln_arg_int(v)

/* What an expression of `key` gives, as bytes; free() them. */
static void *evaluated(test_env *t, const char *text, int64_t key, size_t bytes)
{
    static const char *const names[] = {"key"};
    kiln_graph *g = NULL;
    kiln_array *a = NULL;
    void *data = malloc(bytes + 1);

    assert_non_null(data);
    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_int(key), kiln_arg_out(&a)};
    OK(t, kiln_graph_run(g, args, 2, NULL, &t->err));
    OK(t, kiln_array_to_host(a, data, bytes, NULL, &t->err));
    kiln_array_release(a);
    kiln_graph_destroy(g);
    return data;
}

/* ---- known answers ---- */

/* Random123's file kat_vectors, the lines of philox4x32 with 10 rounds. */
static void test_random__philox_has_the_known_answers(void **state)
{
    static const struct {
        uint64_t key, low, high;
        uint32_t want[4];
    } known[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x85a308d3243f6a88,
         0x0370734413198a2e,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t,
       kiln_elementwise_create(t->ctx, "uint64 key, uint64 low, uint64 high",
                               "uint32 a, uint32 b, uint32 c, uint32 d",
                               "auto w = kiln_philox(key, low, high); a = w.x; b = w.y; c = w.z; "
                               "d = w.w",
                               NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(known); k++) {
        kiln_elementwise_call_options opts = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
        kiln_array *out[4] = {NULL};
        uint32_t here[4];
        philox(known[k].key, known[k].low, known[k].high, here);
        assert_memory_equal(here, known[k].want, sizeof here);
        opts.has_size = true;
        opts.size = 1;
        const kiln_arg args[] = {kiln_arg_uint(known[k].key),  kiln_arg_uint(known[k].low),
                                 kiln_arg_uint(known[k].high), kiln_arg_out(&out[0]),
                                 kiln_arg_out(&out[1]),        kiln_arg_out(&out[2]),
                                 kiln_arg_out(&out[3])};
        OK(t, kiln_elementwise_run(op, args, COUNT(args), &opts, &t->err));
        for (int w = 0; w < 4; w++) {
            uint32_t got = 0;
            OK(t, kiln_array_to_host(out[w], &got, sizeof got, NULL, &t->err));
            assert_int_equal(got, known[k].want[w]);
            kiln_array_release(out[w]);
        }
    }
    kiln_elementwise_destroy(op);
}

/* ---- values ---- */

static void test_random__words_and_uniforms_are_those_of_plain_c(void **state)
{
    test_env *t = *state;
    enum { N = 9001 }; /* units of 4096, and one element more than blocks of Philox */
    kiln_random rng, second;

    kiln_random_init(&rng, 0x123456789abcdef0, 0);
    const uint64_t key = kiln_random_key(&rng);
    assert_true(key == 0x123456789abcdef0);
    kiln_random_jump(&rng, 7);
    second = rng;
    uint32_t *words = drawn(t, &rng, KILN_DRAW_BITS, NULL, 0, KILN_UINT32, N);
    uint64_t *longs = drawn(t, &rng, KILN_DRAW_BITS, NULL, 0, KILN_UINT64, N);
    uint8_t *bytes = drawn(t, &rng, KILN_DRAW_BITS, NULL, 0, KILN_UINT8, N);
    float *singles = drawn(t, &rng, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, N);
    double *doubles = drawn(t, &rng, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT64, N);
    assert_true(rng.draw == 12);
    for (uint64_t i = 0; i < N; i++) {
        uint32_t w[4];
        philox(key, i / 2, 8, w);
        assert_int_equal(words[i], word(key, 7, i));
        assert_true(longs[i] == ((uint64_t)w[i % 2 * 2 + 1] << 32 | w[i % 2 * 2]));
        assert_int_equal(bytes[i], word(key, 9, i) >> 24);
        assert_true(singles[i] == (float)(word(key, 10, i) >> 8) / 16777216.0f);
        assert_true(doubles[i] == unit(key, 11, i));
    }
    uint32_t *again = drawn(t, &second, KILN_DRAW_BITS, NULL, 0, KILN_UINT32, N);
    assert_memory_equal(again, words, N * sizeof *words);
    free(words);
    free(longs);
    free(bytes);
    free(singles);
    free(doubles);
    free(again);
}

/* The least and the greatest 16-bit uniforms: below 1, and with all bits that the format has. */
static void test_random__uniforms_of_16_bits_are_below_one(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *text;
        double step;
    } cases[] = {{"float64(uniform(key, 200000, float16))", 1.0 / 2048},
                 {"float64(uniform(key, 200000, bfloat16))", 1.0 / 256}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        double *got = evaluated(t, cases[k].text, 3, MANY * sizeof *got), least = 1, greatest = 0;
        for (int i = 0; i < MANY; i++) {
            assert_true(got[i] == floor(got[i] / cases[k].step) * cases[k].step);
            least = fmin(least, got[i]);
            greatest = fmax(greatest, got[i]);
        }
        assert_true(least == 0.0 && greatest == 1.0 - cases[k].step);
        free(got);
    }
}

static void test_random__integers_refuse_what_would_be_biased(void **state)
{
    test_env *t = *state;
    enum { N = 1000 };
    static const struct {
        int64_t low, high;
    } cases[] = {{0, 3},
                 {-5, 250},
                 {0, INT64_C(3) << 30},
                 {INT32_MIN, INT64_C(1) << 31},
                 {-1, INT64_C(3) << 61},
                 {INT64_MIN, INT64_MAX}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_random rng;
        kiln_random_init(&rng, 99 + k, 0);
        int64_t *got = drawn(t, &rng, KILN_DRAW_INTEGERS,
                             PARAMS(WHOLE(cases[k].low), WHOLE(cases[k].high)), KILN_INT64, N);
        const uint64_t range = (uint64_t)cases[k].high - (uint64_t)cases[k].low;
        for (uint64_t i = 0; i < N; i++)
            CHECK((uint64_t)got[i] == (uint64_t)cases[k].low + philox_integer(99 + k, 0, i, range),
                  "case %zu, element %d: %lld", k, (int)i, (long long)got[i]);
        free(got);
    }
}

/* Bounds and lengths as constants of an expression, one call that repeats attempts in a kernel and two of them. */
static void test_random__constants_and_several_calls_change_no_value(void **state)
{
    test_env *t = *state;
    static const uint64_t ranges[] = {3, 100, UINT64_C(3) << 30, 1000000000, UINT64_C(3) << 40};

    for (size_t k = 0; k < 2 * COUNT(ranges); k++) {
        const uint64_t range = ranges[k / 2], key = test_random_below(t, 1000);
        const int n = 1 + (int)test_random_below(t, 5000);
        char text[128];
        if (!test_drawn(t))
            continue;
        if (k % 2 == 0)
            snprintf(text, sizeof text, "integers(key, %d, 0, %llu)", n, (unsigned long long)range);
        else
            snprintf(text, sizeof text, "integers(key, %d, 0, %llu) + permutation(key, %d)", n,
                     (unsigned long long)range, n);
        int64_t *got = evaluated(t, text, (int64_t)key, (size_t)n * sizeof *got);
        for (int i = 0; i < n; i++) {
            const uint64_t want = philox_integer(key, 0, (uint64_t)i, range) +
                                  (k % 2 == 0 ? 0 : philox_permuted(key, 0, (uint64_t)i, (uint64_t)n));
            CHECK((uint64_t)got[i] == want, "%s with key %d: element %d is %lld", text, (int)key, i,
                  (long long)got[i]);
        }
        free(got);
    }
}

/* A value belongs to its index, wherever it is computed and in whatever order. */
static void test_random__values_belong_to_places(void **state)
{
    test_env *t = *state;
    enum { ROWS = 37, COLUMNS = 53, N = ROWS * COLUMNS };
    kiln_array *matrix = NULL, *turned = NULL;
    const int64_t shape[] = {COLUMNS, ROWS}, flat = N;
    kiln_random rng;
    float got[N];

    kiln_random_init(&rng, 5, 0);
    float *want = drawn(t, &rng, KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT32, flat);
    kiln_random_init(&rng, 5, 0);
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, shape, &matrix, &t->err));
    OK(t, kiln_array_transpose(matrix, NULL, &turned, &t->err));
    OK(t, kiln_random_fill(&rng, KILN_DRAW_RANDOM, NULL, 0, NULL, turned, &t->err));
    OK(t, kiln_array_to_host(turned, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, want, sizeof got);
    static const char *const texts[] = {
        "uniform(key, (37, 53), float32)",
        "uniform(key, (37, 53), float32).T.T",
        "uniform(key, 1961, float32).reshape(37, 53)",
        "uniform(key, (37, 53), dtype=float32) + 0 * arange(53)",
        "uniform(key, (arange(37)[:, None] + arange(53)).shape, float32)",
    };
    for (size_t k = 0; k < COUNT(texts); k++) {
        if (k == 3) /* of float64, which holds each float32 */
            continue;
        float *here = evaluated(t, texts[k], 5, sizeof got);
        CHECK(memcmp(here, want, sizeof got) == 0, "%s", texts[k]);
        free(here);
    }
    float *part = evaluated(t, "uniform(key, (37, 53), float32)[5:30:7, ::-1].T", 5, 4 * 53 * 4);
    for (int c = 0; c < COLUMNS; c++)
        for (int r = 0; r < 4; r++)
            assert_true(part[c * 4 + r] == want[(5 + 7 * r) * COLUMNS + COLUMNS - 1 - c]);
    free(part);
    free(want);
    kiln_array_release(matrix);
    kiln_array_release(turned);
}

/* Parameters that are arrays broadcast, and each element has its own. */
static void test_random__parameters_may_be_arrays(void **state)
{
    test_env *t = *state;
    enum { N = 40000 };
    static const float means[] = {0, 1, 8, 100};
    const int64_t shape[] = {N, 4}, four = 4, five = 5;
    kiln_array *mean = NULL, *wrong = NULL, *a = NULL;
    kiln_random rng;

    kiln_random_init(&rng, 11, 0);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &four, means, NULL, &mean, &t->err));
    OK(t, kiln_random_array(&rng, t->ctx, KILN_DRAW_POISSON, PARAMS(kiln_arg_array(mean)),
                            KILN_DTYPE_NONE, 2, shape, &a, &t->err));
    assert_int_equal(kiln_array_dtype(a), KILN_INT64);
    int64_t *got = malloc(sizeof *got * N * 4);
    OK(t, kiln_array_to_host(a, got, sizeof *got * N * 4, NULL, &t->err));
    for (int c = 0; c < 4; c++) {
        double sum = 0;
        for (int r = 0; r < N; r++)
            sum += (double)got[r * 4 + c];
        CHECK(fabs(sum / N - (double)means[c]) <= 4 * sqrt((double)means[c] / N), "mean %g for %g",
              sum / N, (double)means[c]);
    }
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &five, &wrong, &t->err));
    const uint64_t before = rng.draw;
    FAILS(t, KILN_ERR_OUTPUT,
          kiln_random_fill(&rng, KILN_DRAW_EXPONENTIAL, PARAMS(kiln_arg_array(wrong)), NULL, mean,
                           &t->err),
          "exponential");
    assert_true(rng.draw == before);
    free(got);
    kiln_array_release(a);
    kiln_array_release(mean);
    kiln_array_release(wrong);
}

/* ---- distributions ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: the largest distance of the values from their distribution function, times
 * the root of their number, which exceeds 2.2 with probability 1e-4. Sorts the values. */
static double distance(double *values, size_t count, double (*cdf)(double))
{
    double most = 0;
    qsort(values, count, sizeof *values, by_value);
    for (size_t k = 0; k < count; k++) {
        const double p = cdf(values[k]);
        most = fmax(most, fmax(p - (double)k / (double)count, (double)(k + 1) / (double)count - p));
    }
    return most * sqrt((double)count);
}

static double cdf_uniform(double x)
{
    return x;
}
static double cdf_wide(double x)
{
    return (x + 3) / 5;
}
static double cdf_normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}
static double cdf_normal_10_2(double x)
{
    return cdf_normal((x - 10) / 2);
}
static double cdf_exponential(double x)
{
    return -expm1(-x);
}
static double cdf_exponential_3(double x)
{
    return -expm1(-x / 3);
}
static double cdf_gamma_half(double x)
{
    return erf(sqrt(x));
}
static double cdf_gamma_2_3(double x)
{
    return 1 - exp(-x / 3) * (1 + x / 3);
}
static double cdf_gamma_7(double x)
{
    double term = 1, sum = 1;
    for (int k = 1; k < 7; k++)
        sum += term *= x / k;
    return 1 - exp(-x) * sum;
}

static void test_random__floats_have_their_distributions(void **state)
{
    test_env *t = *state;
    static const struct {
        kiln_draw draw;
        size_t count;
        double params[2];
        double (*cdf)(double);
    } cases[] = {
        {KILN_DRAW_RANDOM, 0, {0}, cdf_uniform},
        {KILN_DRAW_UNIFORM, 2, {-3, 2}, cdf_wide},
        {KILN_DRAW_STANDARD_NORMAL, 0, {0}, cdf_normal},
        {KILN_DRAW_NORMAL, 2, {10, 2}, cdf_normal_10_2},
        {KILN_DRAW_STANDARD_EXPONENTIAL, 0, {0}, cdf_exponential},
        {KILN_DRAW_EXPONENTIAL, 1, {3}, cdf_exponential_3},
        {KILN_DRAW_STANDARD_GAMMA, 1, {0.5}, cdf_gamma_half},
        {KILN_DRAW_GAMMA, 2, {2, 3}, cdf_gamma_2_3},
        {KILN_DRAW_STANDARD_GAMMA, 1, {7}, cdf_gamma_7},
    };
    kiln_random rng;

    kiln_random_init(&rng, 2024, 1);
    for (size_t k = 0; k < COUNT(cases); k++) {
        const kiln_arg params[] = {REAL(cases[k].params[0]), REAL(cases[k].params[1])};
        double *got = drawn(t, &rng, cases[k].draw, params, cases[k].count, KILN_FLOAT64, MANY);
        const double far = distance(got, MANY, cases[k].cdf);
        CHECK(far < 2.2, "%s, float64: %g", kiln_draw_name(cases[k].draw), far);
        free(got);
        float *single = drawn(t, &rng, cases[k].draw, params, cases[k].count, KILN_FLOAT32, MANY);
        got = malloc(MANY * sizeof *got);
        for (int i = 0; i < MANY; i++)
            got[i] = (double)single[i];
        const double wide = distance(got, MANY, cases[k].cdf);
        CHECK(wide < 2.2, "%s, float32: %g", kiln_draw_name(cases[k].draw), wide);
        free(single);
        free(got);
    }
}

/* Pearson's statistic of counts against probabilities, cells of fewer than 10 expected ones put
 * together; it is checked to be below the value that is exceeded with probability 1e-4 or so. */
static void fits(const char *what, const int64_t *counts, const double *p, size_t cells,
                 double total)
{
    double sum = 0, expected = 0, seen = 0;
    int degrees = -1;
    for (size_t k = 0; k < cells; k++) {
        expected += p[k] * total;
        seen += (double)counts[k];
        if (expected < 10 && k + 1 < cells)
            continue;
        if (expected > 0)
            sum += (seen - expected) * (seen - expected) / expected;
        else
            assert_true(seen == 0);
        degrees += expected > 0;
        expected = seen = 0;
    }
    if (degrees == 0) /* one value has it all */
        return;
    /* Wilson and Hilferty: the cube root is nearly normal; 3.72 of its standard deviations. */
    const double v = 2.0 / (9.0 * degrees), z = (cbrt(sum / degrees) - (1 - v)) / sqrt(v);
    CHECK(z < 3.72, "%s: chi squared is %g of %d degrees of freedom", what, sum, degrees);
}

enum { CELLS = 400 };

static void check_counts(test_env *t, kiln_draw draw, const kiln_arg *params, size_t count,
                         const double *p)
{
    static uint64_t seed = 1000;
    int64_t counts[CELLS] = {0};
    kiln_random rng;

    kiln_random_init(&rng, seed++, 0);
    int64_t *got = drawn(t, &rng, draw, params, count, KILN_INT64, MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK(got[i] >= 0 && got[i] < CELLS, "%s gave %lld", kiln_draw_name(draw),
              (long long)got[i]);
        counts[got[i]]++;
    }
    fits(kiln_draw_name(draw), counts, p, CELLS, MANY);
    free(got);
}

static void test_random__integers_have_their_distributions(void **state)
{
    test_env *t = *state;
    static const double means[] = {0.3, 4, 9.9, 10, 33.5, 200};
    static const struct {
        int64_t n;
        double p;
    } trials[] = {{1, 0.25}, {20, 0.1}, {20, 0.9}, {100, 0.3}, {300, 0.77}, {0, 0.5}, {9, 1.0}};
    double p[CELLS];

    for (int range = 2; range <= 100; range += 49) {
        for (int k = 0; k < CELLS; k++)
            p[k] = k < range ? 1.0 / range : 0;
        check_counts(t, KILN_DRAW_INTEGERS, PARAMS(WHOLE(0), WHOLE(range)), p);
    }
    for (size_t m = 0; m < COUNT(means); m++) {
        for (int k = 0; k < CELLS; k++)
            p[k] = exp(k * log(means[m]) - means[m] - lgamma(k + 1.0));
        check_counts(t, KILN_DRAW_POISSON, PARAMS(REAL(means[m])), p);
    }
    for (size_t b = 0; b < COUNT(trials); b++) {
        const double n = (double)trials[b].n, q = trials[b].p;
        for (int k = 0; k < CELLS; k++)
            p[k] = k > n      ? 0
                   : q == 1.0 ? k == n
                              : exp(lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1) +
                                    k * log(q) + (n - k) * log1p(-q));
        check_counts(t, KILN_DRAW_BINOMIAL, PARAMS(WHOLE(trials[b].n), REAL(trials[b].p)), p);
    }
}

static void test_random__bernoulli_is_true_as_often_as_it_should(void **state)
{
    test_env *t = *state;
    static const double chances[] = {0, 0.001, 0.1, 0.5, 0.9, 1};
    kiln_random rng;

    kiln_random_init(&rng, 8, 0);
    for (size_t k = 0; k < COUNT(chances); k++) {
        bool *got = drawn(t, &rng, KILN_DRAW_BERNOULLI, PARAMS(REAL(chances[k])), KILN_BOOL, MANY);
        double sum = 0;
        for (int i = 0; i < MANY; i++)
            sum += got[i];
        const double p = chances[k], far = fabs(sum - p * MANY);
        CHECK(far <= 4 * sqrt(p * (1 - p) * MANY), "%g of %d at %g", sum, (int)MANY, p);
        free(got);
    }
}

/* ---- independence ---- */

/* The correlation of two sequences times the root of their length: standard normal. */
static double correlation(const double *x, const double *y, size_t count)
{
    double xx = 0, yy = 0, xy = 0;
    for (size_t k = 0; k < count; k++) {
        xx += (x[k] - 0.5) * (x[k] - 0.5);
        yy += (y[k] - 0.5) * (y[k] - 0.5);
        xy += (x[k] - 0.5) * (y[k] - 0.5);
    }
    return xy / sqrt(xx * yy) * sqrt((double)count);
}

static void test_random__streams_draws_and_neighbours_are_uncorrelated(void **state)
{
    test_env *t = *state;
    enum { SEQUENCES = 9 };
    kiln_random rng[SEQUENCES];
    double *x[SEQUENCES];

    kiln_random_init(&rng[0], 1, 0);
    kiln_random_init(&rng[1], 2, 0); /* the next seed */
    kiln_random_init(&rng[2], 1, 1); /* streams of one seed */
    kiln_random_init(&rng[3], 1, 2);
    kiln_random_init(&rng[4], 1, 0); /* a later draw */
    kiln_random_jump(&rng[4], 1);
    kiln_random_init(&rng[5], UINT64_C(1) << 32, 0);
    kiln_random parent = rng[0];
    kiln_random_split(&parent, rng + 6, 2);
    assert_true(parent.draw == 1);
    kiln_random_split(&parent, rng + 8, 1);
    assert_true(kiln_random_key(&rng[6]) != kiln_random_key(&rng[8]));
    for (int k = 0; k < SEQUENCES; k++)
        x[k] = drawn(t, &rng[k], KILN_DRAW_RANDOM, NULL, 0, KILN_FLOAT64, MANY);
    for (int k = 0; k < SEQUENCES; k++)
        for (int o = 0; o < k; o++) {
            const double c = correlation(x[k], x[o], MANY);
            CHECK(fabs(c) < 4, "sequences %d and %d: %g", k, o, c);
        }
    for (int lag = 1; lag <= 64; lag++) {
        const double c = correlation(x[0], x[0] + lag, MANY - (size_t)lag);
        CHECK(fabs(c) < 4, "lag %d: %g", lag, c);
    }
    for (int k = 0; k < SEQUENCES; k++)
        free(x[k]);
    kiln_random_init(&rng[0], 3, 0);
    double *n = drawn(t, &rng[0], KILN_DRAW_STANDARD_NORMAL, NULL, 0, KILN_FLOAT64, MANY);
    for (int i = 0; i < MANY; i++)
        n[i] = cdf_normal(n[i]);
    for (int lag = 1; lag <= 4; lag++)
        CHECK(fabs(correlation(n, n + lag, MANY - (size_t)lag)) < 4, "normals, lag %d", lag);
    free(n);
}

/* ---- permutations ---- */

static void test_random__permutations_have_each_number_once(void **state)
{
    test_env *t = *state;
    static const int64_t sizes[] = {0, 1, 2, 3, 31, 1023, 1024, 1025, 3000, 33003, 100000};

    for (size_t k = 0; k < COUNT(sizes); k++) {
        kiln_random rng;
        kiln_random_init(&rng, k, 0);
        int64_t *got =
            drawn(t, &rng, KILN_DRAW_PERMUTATION, PARAMS(WHOLE(sizes[k])), KILN_INT64, sizes[k]);
        bool *seen = calloc((size_t)sizes[k] + 1, sizeof *seen);
        for (int64_t i = 0; i < sizes[k]; i++) {
            assert_true(got[i] >= 0 && got[i] < sizes[k] && !seen[got[i]]);
            assert_int_equal(got[i], philox_permuted(k, 0, (uint64_t)i, (uint64_t)sizes[k]));
            seen[got[i]] = true;
        }
        free(seen);
        free(got);
    }
}

/* All orders of four, and all places of the first of 100, are equally likely. */
static void test_random__all_orders_are_as_likely(void **state)
{
    test_env *t = *state;
    enum { DRAWS = 4000 };
    int64_t orders[256] = {0}, firsts[100] = {0}, used[24];
    double p[100];
    size_t count = 0;

    for (int d = 0; d < DRAWS; d++) {
        kiln_random rng;
        kiln_random_init(&rng, 1, 0);
        kiln_random_jump(&rng, (uint64_t)d);
        int64_t *four = drawn(t, &rng, KILN_DRAW_PERMUTATION, PARAMS(WHOLE(4)), KILN_INT64, 4);
        orders[four[0] * 64 + four[1] * 16 + four[2] * 4 + four[3]]++;
        free(four);
        int64_t *first = drawn(t, &rng, KILN_DRAW_PERMUTATION, PARAMS(WHOLE(100)), KILN_INT64, 1);
        firsts[first[0]]++;
        free(first);
    }
    for (int k = 0; k < 256; k++)
        if (orders[k] > 0 && count < 24)
            used[count++] = orders[k];
    assert_int_equal(count, 24);
    for (int k = 0; k < 24; k++)
        p[k] = 1.0 / 24;
    fits("orders of four", used, p, 24, DRAWS);
    for (int k = 0; k < 100; k++)
        p[k] = 0.01;
    fits("places of the first", firsts, p, 100, DRAWS);
}

static void test_random__shuffle_keeps_rows_whole(void **state)
{
    test_env *t = *state;
    enum { ROWS = 500, COLUMNS = 3 };
    const int64_t shape[] = {ROWS, COLUMNS}, none[] = {0, 4};
    kiln_array *x = test_ramp(t, 2, shape), *y = NULL, *row = NULL;
    int32_t got[ROWS][COLUMNS];
    bool seen[ROWS] = {false};
    int moved = 0;
    kiln_random rng;

    kiln_random_init(&rng, 77, 0);
    OK(t, kiln_random_shuffle(&rng, x, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int r = 0; r < ROWS; r++) {
        const int from = got[r][0] / COLUMNS;
        assert_true(from >= 0 && from < ROWS && !seen[from]);
        seen[from] = true;
        moved += from != r;
        for (int c = 0; c < COLUMNS; c++)
            assert_int_equal(got[r][c], from * COLUMNS + c);
    }
    assert_true(moved > ROWS - 20);
    kiln_array_release(y);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 2, none, &row, &t->err));
    OK(t, kiln_random_shuffle(&rng, row, &y, &t->err));
    assert_int_equal(kiln_array_size(y), 0);
    kiln_array_release(y);
    kiln_array_release(row);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 0, NULL, &row, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_random_shuffle(&rng, row, &y, &t->err), "axes");
    kiln_array_release(row);
    kiln_array_release(x);
}

/* ---- in graphs ---- */

/* Dropout is one kernel, and what it drops is what the generator's array says. */
static void test_random__dropout_needs_no_array(void **state)
{
    test_env *t = *state;
    enum { N = 10007 };
    const int64_t count = N;
    kiln_graph *g = NULL;
    kiln_array *x = NULL, *z = NULL;
    size_t kernels = 0;
    float got[N];

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 1, &count, 2, &x, &t->err));
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    kiln_node in = kiln_graph_input(g, "x"), key = kiln_graph_input(g, "key"),
              draw = kiln_graph_input(g, "draw");
    kiln_node u = kiln_random_node(g, KILN_DRAW_RANDOM, key, draw, NULL, 0, KILN_FLOAT32, &in, 0,
                                   NULL, __FILE__, __LINE__);
    kiln_graph_output(g, "z", kiln_where(kiln_less(u, 0.25), 0, kiln_divide(in, 0.75)));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_uint(UINT64_MAX), kiln_arg_int(9),
                             kiln_arg_out(&z)};
    OK(t, kiln_graph_kernel_count(g, args, 4, &kernels, &t->err));
    assert_int_equal(kernels, 1);
    OK(t, kiln_graph_run(g, args, 4, NULL, &t->err));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (uint64_t i = 0; i < N; i++) {
        const float drawn_here = (float)(word(UINT64_MAX, 9, i) >> 8) / 16777216.0f;
        assert_true(got[i] == (drawn_here < 0.25f ? 0.0f : 2.0f / 0.75f));
    }
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(z);
}

/* ---- what is refused ---- */

static void test_random__bad_parameters_have_errors_of_their_own(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } texts[] = {
        {"uniform(key)", KILN_ERR_ARGUMENT_COUNT, "uniform"},
        {"uniform(1.5, 3)", KILN_ERR_DTYPE, "integer"},
        {"uniform(-1, 3)", KILN_ERR_RANGE, "uint64"},
        {"uniform(key, -3)", KILN_ERR_SHAPE, "negative"},
        {"uniform(key, 3, int32)", KILN_ERR_DTYPE, "int32"},
        {"normal(key, 3, 0, -1)", KILN_ERR_RANGE, "scale"},
        {"integers(key, 3, 5, 5)", KILN_ERR_RANGE, "at least 5 and below 5"},
        {"integers(key, 3, 0, 300, uint8)", KILN_ERR_RANGE, "uint8"},
        {"bernoulli(key, 3, 1.5)", KILN_ERR_RANGE, "the probability 1.5 is not between 0 and 1"},
        {"poisson(key, 3, -2)", KILN_ERR_RANGE, "-2"},
        {"binomial(key, 3, -2, 0.5)", KILN_ERR_RANGE, "trials"},
        {"binomial(key, 3, 2, nan)", KILN_ERR_RANGE, "probability"},
        {"gamma(key, 3, -1.0, 1.0)", KILN_ERR_RANGE, "negative"},
        {"exponential(key, 3, -1.0)", KILN_ERR_RANGE, "negative"},
        {"poisson(key, 3, 1.0*arange(4))", KILN_ERR_SHAPE, "(4,)"},
        {"uniform(key, 3, axis=0)", KILN_ERR_NAME, "axis"},
    };
    static const char *const names[] = {"key"};
    kiln_random rng;
    kiln_array *a = NULL;
    const int64_t three = 3;

    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_graph *g = NULL;
        kiln_status status =
            kiln_graph_parse(t->ctx, texts[k].text, names, 1, NULL, &g, NULL, &t->err);
        const kiln_arg args[] = {kiln_arg_int(1), kiln_arg_out(&a)};
        if (status == KILN_OK)
            status = kiln_graph_run(g, args, 2, NULL, &t->err);
        CHECK(status == texts[k].status, "%s: %s", texts[k].text, t->err.message);
        CHECK(strstr(t->err.message, texts[k].says) != NULL, "%s: %s", texts[k].text,
              t->err.message);
        kiln_error_clear(&t->err);
        kiln_graph_destroy(g);
    }
    kiln_random_init(&rng, 1, 0);
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_random_array(&rng, t->ctx, (kiln_draw)77, NULL, 0, KILN_DTYPE_NONE, 1, &three, &a,
                            &t->err),
          "77");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_random_array(&rng, t->ctx, KILN_DRAW_NORMAL, PARAMS(REAL(1)), KILN_DTYPE_NONE, 1,
                            &three, &a, &t->err),
          "2 parameters, 1 given");
    FAILS(t, KILN_ERR_RANGE,
          kiln_random_array(&rng, t->ctx, KILN_DRAW_NORMAL, PARAMS(REAL(1), REAL(-1)),
                            KILN_DTYPE_NONE, 1, &three, &a, &t->err),
          "scale");
    FAILS(t, KILN_ERR_DTYPE,
          kiln_random_array(&rng, t->ctx, KILN_DRAW_INTEGERS, PARAMS(REAL(1), REAL(2)),
                            KILN_DTYPE_NONE, 1, &three, &a, &t->err),
          "integer");
    FAILS(t, KILN_ERR_NULL,
          kiln_random_array(NULL, t->ctx, KILN_DRAW_RANDOM, NULL, 0, KILN_DTYPE_NONE, 1, &three, &a,
                            &t->err),
          "generator");
    assert_true(rng.draw == 0 && a == NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random__philox_has_the_known_answers),
        TEST(test_random__words_and_uniforms_are_those_of_plain_c),
        TEST(test_random__uniforms_of_16_bits_are_below_one),
        TEST(test_random__integers_refuse_what_would_be_biased),
        TEST(test_random__constants_and_several_calls_change_no_value),
        TEST(test_random__values_belong_to_places),
        TEST(test_random__parameters_may_be_arrays),
        TEST(test_random__floats_have_their_distributions),
        TEST(test_random__integers_have_their_distributions),
        TEST(test_random__bernoulli_is_true_as_often_as_it_should),
        TEST(test_random__streams_draws_and_neighbours_are_uncorrelated),
        TEST(test_random__permutations_have_each_number_once),
        TEST(test_random__all_orders_are_as_likely),
        TEST(test_random__shuffle_keeps_rows_whole),
        TEST(test_random__dropout_needs_no_array),
        TEST(test_random__bad_parameters_have_errors_of_their_own),
    };
    return test_env_main(argc, argv, "test_random", tests, COUNT(tests));
}
