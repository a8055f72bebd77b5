/*
 * test_reduction_accuracy.c - sums of float32 are as accurate as NumPy's pairwise summation.
 *
 * The reference is a sum in long double. What pairwise summation gives is computed by a plain loop
 * after its description in NumPy's notes on numpy.sum: eight accumulators over blocks of at most
 * 128 elements, longer stretches halved. Errors are relative to the sum of the magnitudes, so 2^-24
 * is what the last rounding alone may cost; the figures are printed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test_env.h"

/* The figures are estimates: the same values in every run, so that they cannot fail by chance. */
enum { SAME_VALUES = 1 << 28 };

static double uniform(test_env *t)
{
    return (double)(test_random(t) >> 11) * 0x1p-53;
}

static float from_zero_to_one(test_env *t)
{
    return (float)uniform(t);
}

/* Magnitudes from 2^-24 to 2^24: few elements are most of the sum. */
static float ill_scaled(test_env *t)
{
    return (float)exp2(48 * uniform(t) - 24);
}

/* Sums that cancel. */
static float both_signs(test_env *t)
{
    const double magnitude = exp2(24 * uniform(t) - 12);
    return (float)(test_random_below(t, 2) != 0 ? magnitude : -magnitude);
}

static const struct {
    const char *name;
    float (*draw)(test_env *t);
} VALUES[] = {
    {"from 0 to 1", from_zero_to_one},
    {"ill-scaled", ill_scaled},
    {"of both signs", both_signs},
};

static float pairwise(const float *x, size_t count)
{
    if (count <= 128) {
        float lane[8] = {0}, rest = 0;
        size_t k = 0;
        for (; k + 8 <= count; k += 8)
            for (size_t l = 0; l < 8; l++)
                lane[l] += x[k + l];
        for (; k < count; k++)
            rest += x[k];
        return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
               ((lane[4] + lane[5]) + (lane[6] + lane[7])) + rest;
    }
    const size_t half = count / 2 - count / 2 % 8;
    return pairwise(x, half) + pairwise(x + half, count - half);
}

/* Errors of kiln's two ways to a sum, and of pairwise summation; of several sums, their squares. */
typedef struct errors {
    double named, custom, pairwise;
} errors;

static float summed(test_env *t, kiln_reduction *op, const kiln_array *x)
{
    kiln_array *y = NULL;
    float got = 0;

    if (op == NULL)
        OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y, &t->err));
    else
        OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    kiln_array_release(y);
    return got;
}

/* Add the squared errors of one sum. */
static void add_errors(test_env *t, kiln_reduction *op, const float *x, size_t count,
                       const kiln_array *on_device, errors *square)
{
    long double exact = 0, magnitude = 0;

    for (size_t k = 0; k < count; k++) {
        exact += x[k];
        magnitude += fabsf(x[k]);
    }
    square->named += pow((double)((summed(t, NULL, on_device) - exact) / magnitude), 2);
    square->custom += pow((double)((summed(t, op, on_device) - exact) / magnitude), 2);
    square->pairwise += pow((double)((pairwise(x, count) - exact) / magnitude), 2);
}

/* Sums of `count` elements in several places of a larger array: other neighbours, other roundings. */
static void check(test_env *t, kiln_reduction *op, size_t v, size_t count, size_t sums)
{
    const size_t step = count / 128 / 4 * 4 + 4, all = count + sums * step;
    const int64_t shape[] = {(int64_t)count}, all_shape[] = {(int64_t)all};
    errors square = {0, 0, 0};
    kiln_array *on_device = NULL;
    float *x = malloc(all * sizeof *x);

    assert_non_null(x);
    for (size_t k = 0; k < all; k++)
        x[k] = VALUES[v].draw(t);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, all_shape, x, NULL, &on_device, &t->err));
    for (size_t s = 0; s < sums; s++) {
        const int64_t from = (int64_t)(s * step);
        kiln_array *view = NULL;
        OK(t, kiln_array_slice(on_device, 0, from, from + shape[0], 1, &view, &t->err));
        add_errors(t, op, x + s * step, count, view, &square);
        kiln_array_release(view);
    }
    kiln_array_release(on_device);
    free(x);
    const errors e = {sqrt(square.named / sums), sqrt(square.custom / sums),
                      sqrt(square.pairwise / sums)};
    printf("%-14s %9zu elements: kiln %.2e (custom %.2e), pairwise %.2e\n", VALUES[v].name, count,
           e.named, e.custom, e.pairwise);
    /* Such estimates are good to a fifth or so; elements added one by one are off by tens. */
    assert_true(e.named <= 1.5 * e.pairwise);
    assert_true(e.custom <= 1.5 * e.pairwise);
}

static kiln_reduction *begin(test_env *t)
{
    kiln_reduction *op = NULL;

    t->random = SAME_VALUES;
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op,
                                &t->err));
    return op;
}

static void test_reduction_accuracy__as_good_as_pairwise_summation(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = begin(t);

    for (size_t v = 0; v < COUNT(VALUES); v++) {
        check(t, op, v, 1 << 17, 24);
        check(t, op, v, 1 << 22, 24);
    }
    kiln_reduction_destroy(op);
}

static void test_reduction_accuracy__of_2_28_ill_scaled_elements(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = NULL;

    if (!t->cuda)
        skip(); /* a minute for one core */
    op = begin(t);
    check(t, op, 1, (size_t)1 << 28, 8);
    kiln_reduction_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_accuracy__as_good_as_pairwise_summation),
        TEST(test_reduction_accuracy__of_2_28_ill_scaled_elements),
    };
    return test_env_main(argc, argv, "test_reduction_accuracy", tests, COUNT(tests));
}
