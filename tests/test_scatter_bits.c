/*
 * test_scatter_bits.c - the bits of sums of floating-point numbers at indices, against a plain
 * loop.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

static double plus(double a, double b, bool narrow)
{
    return narrow ? (float)a + (float)b : a + b;
}

/* The sum of each place as docs/indexing.md says: its values in their order, in chunks of 128.
 * `x` and `value` are columns of rows of `width`. */
static void sum_by_chunks(double *x, int64_t places, const int64_t *index, const double *value,
                          int64_t count, int64_t width, bool narrow)
{
    double *const total = calloc((size_t)places, sizeof *total);
    double *const chunk = calloc((size_t)places, sizeof *chunk);
    int64_t *const at = calloc((size_t)places, sizeof *at);

    for (int64_t k = 0; k < count; k++) {
        const int64_t p = index[k];
        if (at[p] > 0 && at[p] % 128 == 0)
            total[p] = at[p] == 128 ? chunk[p] : plus(total[p], chunk[p], narrow);
        chunk[p] = at[p]++ % 128 == 0 ? value[k * width] : plus(chunk[p], value[k * width], narrow);
    }
    for (int64_t p = 0; p < places; p++) {
        const double sum = at[p] > 128 ? plus(total[p], chunk[p], narrow) : chunk[p];
        if (at[p] > 0)
            x[p * width] = plus(x[p * width], sum, narrow);
    }
    free(total), free(chunk), free(at);
}

/* As numpy.add.at: each value in its turn is added to its element. */
static void sum_in_order(double *x, const int64_t *index, const double *value, int64_t count,
                         int64_t width, bool narrow)
{
    for (int64_t k = 0; k < count; k++)
        x[index[k] * width] = plus(x[index[k] * width], value[k * width], narrow);
}

/* Random values, whose sums are rounded, at random places, many of them at a few where that is
 * said. */
static void check_bits(test_env *t, kiln_dtype dtype, int64_t places, int64_t count, int64_t width,
                       bool crowded, bool fast)
{
    const bool narrow = dtype == KILN_FLOAT32;
    const int64_t all = places * width, many = count * width;
    int64_t *const index = malloc((size_t)count * sizeof *index);
    double *const value = malloc((size_t)many * sizeof *value);
    double *const want = malloc((size_t)all * sizeof *want);
    double *const got = malloc((size_t)all * sizeof *got);
    const int64_t target[] = {places, width}, values[] = {count, width};
    const int rank = width > 1 ? 2 : 1;
    kiln_array *x = NULL, *i = NULL, *v = NULL, *given = NULL, *result = NULL;

    for (int64_t k = 0; k < count; k++) {
        index[k] = (int64_t)test_random_below(t, (uint64_t)places);
        index[k] %= crowded && test_random_below(t, 2) == 0 ? 3 : places;
    }
    for (int64_t k = 0; k < many; k++)
        value[k] = plus((double)test_random(t) / 1e18, -9, narrow);
    for (int64_t k = 0; k < all; k++)
        want[k] = test_random_below(t, 2) == 0 ? -0.0 : 0.1f;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, target, want, NULL, &given, &t->err));
    OK(t, kiln_array_cast(given, dtype, &x, &t->err));
    kiln_array_release(given);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, values, value, NULL, &given, &t->err));
    OK(t, kiln_array_cast(given, dtype, &v, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &count, index, NULL, &i, &t->err));
    const kiln_subscript at = kiln_subscript_array(i);
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
    opts.fast = fast;
    OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_array(v), KILN_SCATTER_ADD, &opts, &t->err));
    for (int64_t c = 0; c < width; c++) {
        if (fast)
            sum_in_order(want + c, index, value + c, count, width, narrow);
        else
            sum_by_chunks(want + c, places, index, value + c, count, width, narrow);
    }
    OK(t, kiln_array_cast(x, KILN_FLOAT64, &result, &t->err));
    OK(t, kiln_array_to_host(result, got, (size_t)all * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < all; k++)
        CHECK(memcmp(&got[k], &want[k], sizeof got[k]) == 0,
              "%s, %d places, %d values: place %d is %.17g, not %.17g", kiln_dtype_name(dtype),
              (int)places, (int)count, (int)k, got[k], want[k]);
    kiln_array_release(given), kiln_array_release(x), kiln_array_release(v);
    kiln_array_release(i), kiln_array_release(result);
    free(index), free(value), free(want), free(got);
}

static void test_scatter_bits__sums_have_those_of_chunks(void **state)
{
    static const int64_t sizes[][2] = {{1, 1},   {1, 127}, {1, 128},   {1, 129},    {2, 700},
                                       {5, 128}, {9, 257}, {40, 3000}, {70001, 60}, {300, 2000}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(sizes); k++) {
        check_bits(t, KILN_FLOAT32, sizes[k][0], sizes[k][1], 1, true, false);
        check_bits(t, KILN_FLOAT64, sizes[k][0], sizes[k][1], 1, true, false);
        check_bits(t, KILN_FLOAT64, sizes[k][0] % 1000, sizes[k][1], 3, true, false);
    }
}

static void test_scatter_bits__fast_sums_on_the_cpu_are_in_order(void **state)
{
    test_env *t = *state;
    const kiln_device_info *device = kiln_context_device(t->ctx);

    if (device->backend != KILN_BACKEND_CPU || device->unit_count > 8)
        skip();
    for (int64_t places = 1; places < 100000; places *= 10) {
        check_bits(t, KILN_FLOAT32, places, 3000, 1, true, true);
        check_bits(t, KILN_FLOAT64, places, 3000, 1, true, true);
        check_bits(t, KILN_FLOAT32, places, 500, 200, true, true);
    }
}

/* More places than a cache holds: the cpu device first supposes that none has more than one
 * chunk. */
static void test_scatter_bits__sums_at_many_places_have_those_of_chunks(void **state)
{
    static const int64_t counts[] = {1 << 17, 700001, 4300000};
    test_env *t = *state;

    if (kiln_context_device(t->ctx)->backend != KILN_BACKEND_CPU)
        return;
    for (size_t k = 0; k < COUNT(counts); k++) {
        check_bits(t, KILN_FLOAT32, (1 << 18) + 3, counts[k], 1, false, false);
        check_bits(t, KILN_FLOAT64, (1 << 17) + 1, counts[k], 1, false, false);
        check_bits(t, KILN_FLOAT32, (1 << 18) + 3, counts[k], 1, true, false);
        check_bits(t, KILN_FLOAT64, (1 << 17) + 1, counts[k] / 100, 1, true, false);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scatter_bits__sums_have_those_of_chunks),
        TEST(test_scatter_bits__fast_sums_on_the_cpu_are_in_order),
        TEST(test_scatter_bits__sums_at_many_places_have_those_of_chunks),
    };

    return test_env_main(argc, argv, "test_scatter_bits", tests, COUNT(tests));
}
