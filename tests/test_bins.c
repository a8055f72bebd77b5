/*
 * test_bins.c - bincount, histogram, digitize, isin and lexsort against plain loops.
 */
#define _GNU_SOURCE /* setenv */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/kiln.h"
#include "test_env.h"

static kiln_array *made(test_env *t, kiln_dtype dtype, int64_t count, const void *values)
{
    kiln_array *x = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &count, values, NULL, &x, &t->err));
    return x;
}

/* ---- bincount ---------------------------------------------------------------------------------------- */

static void check_bincount(test_env *t, int64_t count, int bound, int64_t least)
{
    int32_t *const given = calloc((size_t)count + 1, sizeof *given);
    int64_t *const expected = calloc((size_t)(bound + least), sizeof *expected);
    int64_t *const got = calloc((size_t)(bound + least), sizeof *got);
    int64_t bins = least;
    kiln_array *y = NULL;

    for (int64_t k = 0; k < count; k++) {
        given[k] = (int32_t)test_random_below(t, (uint64_t)bound);
        expected[given[k]]++;
        bins = given[k] >= bins ? given[k] + 1 : bins;
    }
    kiln_array *x = made(t, KILN_INT32, count, given);
    OK(t, kiln_array_bincount(x, least, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), KILN_INT64);
    assert_int_equal(kiln_array_size(y), bins);
    OK(t, kiln_array_to_host(y, got, (size_t)bins * sizeof *got, NULL, &t->err));
    assert_memory_equal(got, expected, (size_t)bins * sizeof *got);
    kiln_array_release(x);
    kiln_array_release(y);
    free(given);
    free(expected);
    free(got);
}

static void test_bins__count_integers(void **state)
{
    test_env *t = *state;

    check_bincount(t, 5000, 10, 0);
    check_bincount(t, 3000, 256, 300);
    check_bincount(t, 2000, 20000, 0);
    check_bincount(t, 0, 1, 4);
    check_bincount(t, 0, 1, 0);
}

/* ---- histogram ----------------------------------------------------------------------------------------- */

/* A bin holds what is not less than its lower edge and less than the upper one, the last one that too. */
static void check_histogram(test_env *t, const double *edges, int64_t bins, int64_t count)
{
    float *const given = calloc((size_t)count + 1, sizeof *given);
    int64_t *const expected = calloc((size_t)bins, sizeof *expected);
    int64_t *const got = malloc((size_t)bins * sizeof *got);
    kiln_array *y = NULL;

    for (int64_t k = 0; k < count; k++) {
        const uint64_t kind = test_random_below(t, 10);
        given[k] = (float)test_random_below(t, 1000) / 100 - 2;
        if (kind == 0)
            given[k] = (float)edges[test_random_below(t, (uint64_t)bins + 1)];
        else if (kind == 1 && k % 5 == 0)
            given[k] = k % 2 == 0 ? NAN : INFINITY;
        for (int64_t b = 0; b < bins; b++)
            expected[b] += (double)given[k] >= edges[b] &&
                           ((double)given[k] < edges[b + 1] ||
                            (b == bins - 1 && (double)given[k] == edges[bins]));
    }
    kiln_array *x = made(t, KILN_FLOAT32, count, given),
               *e = made(t, KILN_FLOAT64, bins + 1, edges);
    OK(t, kiln_array_histogram(x, e, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, (size_t)bins * sizeof *got, NULL, &t->err));
    for (int64_t b = 0; b < bins; b++)
        if (got[b] != expected[b])
            fail_msg("bin %lld holds %lld, not %lld; KILN_TEST_SEED=%llu", (long long)b,
                     (long long)got[b], (long long)expected[b], (unsigned long long)t->seed);
    kiln_array_release(x);
    kiln_array_release(e);
    kiln_array_release(y);
    free(given);
    free(expected);
    free(got);
}

static void test_bins__hold_numbers_between_edges(void **state)
{
    static const double uneven[] = {-1, -0.5, 0, 0, 0.1, 3, 7.5};
    test_env *t = *state;
    double even[2101];

    check_histogram(t, uneven, 6, 3000);
    for (int k = 0; k < 2101; k++)
        even[k] = -1 + k * 0.004;
    check_histogram(t, even, 10, 1000);
    check_histogram(t, even, 2100, 2000);
}

/* Whole numbers of every dtype that holds them, on edges, between them and outside. The cpu device has loops for each
 * dtype and each level of processors. */
static void test_bins__hold_numbers_of_every_dtype(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8,  KILN_INT16,   KILN_INT32,   KILN_INT64,
                                        KILN_UINT8, KILN_UINT16,  KILN_UINT32,  KILN_UINT64,
                                        KILN_BOOL,  KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64};
    enum { SIZE = 2500, BINS = 9 };
    test_env *t = *state;
    int64_t got[BINS];
    double edges[BINS + 1], given[SIZE];

    for (size_t d = 0; d < 3 * COUNT(dtypes) && (d < COUNT(dtypes) || !t->cuda); d++) {
        const kiln_dtype dtype = dtypes[d % COUNT(dtypes)];
        const bool below = strchr("if", kiln_dtype_kind(dtype)) != NULL;
        int64_t expected[BINS] = {0};
        kiln_array *x = NULL, *y = NULL;
        setenv("KILN_TUNE_CPU_LEVEL", (const char *const[]){"4", "3", "1"}[d / COUNT(dtypes)], 1);
        for (int k = 0; k <= BINS; k++)
            edges[k] = dtype == KILN_BOOL ? k * 0.5 : d % 2 == 0 ? k * 8 : k * 10 + k * k;
        for (int k = 0; k < SIZE; k++) {
            given[k] = (double)test_random_below(t, dtype == KILN_BOOL ? 2 : 120) - (below ? 9 : 0);
            for (int b = 0; b < BINS; b++)
                expected[b] += given[k] >= edges[b] && (given[k] < edges[b + 1] ||
                                                        (b == BINS - 1 && given[k] == edges[BINS]));
        }
        kiln_array *wide = made(t, KILN_FLOAT64, SIZE, given),
                   *e = made(t, KILN_FLOAT64, BINS + 1, edges);
        OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
        OK(t, kiln_array_histogram(x, e, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        for (int b = 0; b < BINS; b++)
            if (got[b] != expected[b])
                fail_msg("%s: bin %d holds %lld, not %lld; KILN_TEST_SEED=%llu",
                         kiln_dtype_name(dtype), b, (long long)got[b], (long long)expected[b],
                         (unsigned long long)t->seed);
        kiln_array_release(wide);
        kiln_array_release(x);
        kiln_array_release(e);
        kiln_array_release(y);
    }
    unsetenv("KILN_TUNE_CPU_LEVEL");
}

static void test_bins__have_even_edges_from_the_data_or_a_range(void **state)
{
    test_env *t = *state;
    const float given[] = {3, -1, 7, 2};
    const double range[] = {0, 1}, one[] = {4, 4};
    float got[5];
    kiln_array *x = made(t, KILN_FLOAT32, 4, given), *e = NULL;

    OK(t, kiln_array_histogram_edges(x, 4, NULL, &e, &t->err));
    OK(t, kiln_array_to_host(e, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const float[]){-1, 1, 3, 5, 7}), sizeof got);
    kiln_array_release(e);
    e = NULL;
    OK(t, kiln_array_histogram_edges(x, 2, range, &e, &t->err));
    OK(t, kiln_array_to_host(e, got, 3 * sizeof *got, NULL, &t->err));
    assert_memory_equal(got, ((const float[]){0, 0.5F, 1}), 3 * sizeof *got);
    kiln_array_release(e);
    e = NULL;
    OK(t, kiln_array_histogram_edges(x, 1, one, &e, &t->err));
    OK(t, kiln_array_to_host(e, got, 2 * sizeof *got, NULL, &t->err));
    assert_memory_equal(got, ((const float[]){3.5F, 4.5F}), 2 * sizeof *got);
    kiln_array_release(e);
    kiln_array_release(x);
}

/* A histogram of `numbers` has these counts. */
static void expect_counts(test_env *t, kiln_array *numbers, kiln_array *bounds,
                          const int64_t *expected, int bins)
{
    int64_t *const got = calloc((size_t)bins, sizeof *got);
    kiln_array *h = NULL;

    assert_non_null(got);
    OK(t, kiln_array_histogram(numbers, bounds, &h, &t->err));
    OK(t, kiln_array_to_host(h, got, (size_t)bins * sizeof *got, NULL, &t->err));
    for (int k = 0; k < bins; k++)
        if (got[k] != expected[k])
            fail_msg("bin %d has %lld elements, not %lld; KILN_TEST_SEED=%llu", k,
                     (long long)got[k], (long long)expected[k], (unsigned long long)t->seed);
    kiln_array_release(h);
    free(got);
}

/* More bins than a block of a GPU has counters for: even and uneven edges, and numbers on and beside them. */
static void test_bins__are_many(void **state)
{
    enum { BINS = 9000, SIZE = 64 * BINS };
    test_env *t = *state;
    double *const edges = malloc((BINS + 1) * sizeof *edges);
    float *const x = malloc(SIZE * sizeof *x);
    int64_t *const expected = calloc(BINS, sizeof *expected);

    for (int uneven = 0; uneven < 2; uneven++) {
        memset(expected, 0, BINS * sizeof *expected);
        for (int k = 0; k <= BINS; k++)
            edges[k] = uneven ? -3 + 1e-3 * k + 1e-8 * k * k : -3 + 1e-3 * k;
        for (int k = 0; k < SIZE; k++) {
            const int bin = (int)test_random_below(t, BINS + 2) - 1;
            const double low = edges[bin < 0 ? 0 : bin];
            const uint64_t where = test_random_below(t, 4);
            x[k] = (float)(bin < 0 ? low - 1 : where == 0 ? low : low + 1e-3 * (double)where / 4);
            for (int b = bin < 1 ? 0 : bin - 1; b < bin + 3 && b < BINS; b++)
                if ((double)x[k] >= edges[b] && ((double)x[k] < edges[b + 1] ||
                                                 (b == BINS - 1 && (double)x[k] == edges[b + 1])))
                    expected[b]++;
        }
        kiln_array *numbers = made(t, KILN_FLOAT32, SIZE, x);
        kiln_array *bounds = made(t, KILN_FLOAT64, BINS + 1, edges);
        expect_counts(t, numbers, bounds, expected, BINS);
        kiln_array_release(numbers);
        kiln_array_release(bounds);
    }
    free(edges);
    free(x);
    free(expected);
}

/* A number of that kind for edges: anywhere, on an edge, as close to one as float32 has it, or outside. */
static float number_near(test_env *t, const double *edges, int64_t bins)
{
    const double *const edge = &edges[test_random_below(t, (uint64_t)bins + 1)];
    const uint64_t kind = test_random_below(t, 8);
    float x = (float)*edge;

    for (uint64_t k = test_random_below(t, 4); k > 0 && kind < 4; k--)
        x = nextafterf(x, kind < 2 ? -INFINITY : INFINITY);
    if (kind >= 4)
        x = (float)(edges[0] + (edges[bins] - edges[0]) *
                                   ((double)test_random_below(t, 1100000) / 1e6 - 0.05));
    return x;
}

/* Edges at random places and distances, even ones and nearly even ones, and elements that begin at any place of memory. */
static void test_bins__are_those_of_numbers_near_edges(void **state)
{
    enum { ROUNDS = 40, SIZE = 2500, BINS = 2000 };
    static const double firsts[] = {0, -1, -0.3, 3, 1000, -123456.7, 1e6, 1e-3, 3e7};
    static const double widths[] = {1, 0.25, 0.004, 64, 0.1, 1e-6, 3.7};
    static const int most[] = {3, 40, 300, BINS};
    test_env *t = *state;
    double edges[BINS + 1];
    float x[SIZE];
    int64_t expected[BINS];

    for (int round = 0; round < ROUNDS; round++) {
        const int bins = 1 + (int)test_random_below(t, (uint64_t)most[round % COUNT(most)]);
        const double first = firsts[test_random_below(t, COUNT(firsts))];
        const double width = widths[test_random_below(t, COUNT(widths))];
        const double bend = test_random_below(t, 3) == 0 ? width * 1e-7 : 0;
        const int64_t begin = (int64_t)test_random_below(t, 5);
        for (int k = 0; k <= bins; k++)
            edges[k] = first + k * width + (k % 7 == 3 ? bend : 0);
        memset(expected, 0, sizeof expected);
        for (int k = 0; k < SIZE; k++) {
            x[k] = number_near(t, edges, bins);
            int b = 0;
            while (b < bins - 1 && (double)x[k] >= edges[b + 1])
                b++;
            if (k >= begin && (double)x[k] >= edges[0] && (double)x[k] <= edges[bins])
                expected[b]++;
        }
        kiln_array *all = made(t, KILN_FLOAT32, SIZE, x), *numbers = NULL;
        kiln_array *bounds = made(t, KILN_FLOAT64, bins + 1, edges);
        OK(t, kiln_array_slice(all, 0, begin, SIZE, 1, &numbers, &t->err));
        expect_counts(t, numbers, bounds, expected, bins);
        kiln_array_release(all);
        kiln_array_release(numbers);
        kiln_array_release(bounds);
    }
}

/* How many numbers lie between edges that are 1 apart, from `first` on. */
static void count_whole(const float *x, int64_t size, double first, int64_t *expected, int64_t bins)
{
    memset(expected, 0, (size_t)bins * sizeof *expected);
    for (int64_t k = 0; k < size; k++) {
        const double bin = floor((double)x[k] - first);
        if (bin >= 0 && bin <= (double)bins &&
            (bin < (double)bins || (double)x[k] == first + (double)bins))
            expected[bin < (double)bins ? (int64_t)bin : bins - 1]++;
    }
}

/* More bins than a block's shared memory has 32-bit counters for on any GPU, one of which holds more than 16 bits
 * count; the numbers begin at any place of memory, and the edges far from 0. */
static void test_bins__are_more_than_a_block_has_room_for(void **state)
{
    enum { BINS = 60000, SIZE = 65 * BINS, MANY = 300000, BEGIN = 1000000 };
    test_env *t = *state;
    double *const edges = malloc((BINS + 1) * sizeof *edges);
    float *const x = malloc(SIZE * sizeof *x);
    int64_t *const expected = malloc(BINS * sizeof *expected);

    for (int k = 0; k <= BINS; k++)
        edges[k] = BEGIN + k;
    for (int k = 0; k < SIZE; k++)
        x[k] = k < MANY ? BEGIN + 7.25f
                        : (float)(BEGIN - 5 + (double)test_random_below(t, 4 * (BINS + 10)) / 4);
    x[MANY] = NAN;
    x[MANY + 1] = INFINITY;
    x[MANY + 2] = BEGIN + BINS;
    count_whole(x + 1, SIZE - 1, BEGIN, expected, BINS);
    kiln_array *all = made(t, KILN_FLOAT32, SIZE, x), *numbers = NULL;
    kiln_array *bounds = made(t, KILN_FLOAT64, BINS + 1, edges);
    OK(t, kiln_array_slice(all, 0, 1, SIZE, 1, &numbers, &t->err));
    expect_counts(t, numbers, bounds, expected, BINS);
    kiln_array_release(all);
    kiln_array_release(numbers);
    kiln_array_release(bounds);
    free(edges);
    free(x);
    free(expected);
}

/* Counters of 8 bits that share words: neighbouring bins that hold thousands each, first, last and in between, among so
 * many that no other bin holds more than some; in as many rows of blocks as a GPU's shared memory makes of them. Edges
 * are sums that are rounded, and all elements lie between them but for those of every other round. */
static void test_bins__are_counted_in_bytes_that_overflow(void **state)
{
    enum { SIZE = 64 * 330002 + 3 };
    static const int bins_of[] = {61001, 120002, 330002};
    test_env *t = *state;
    float *const x = malloc(SIZE * sizeof *x);

    for (size_t round = 0; round < COUNT(bins_of); round++) {
        const int bins = bins_of[round];
        const int64_t size = 64 * (int64_t)bins + 3;
        double *const edges = malloc((size_t)(bins + 1) * sizeof *edges);
        int64_t *const expected = calloc((size_t)bins, sizeof *expected);
        const double step = 0.7 / bins;
        for (int k = 0; k <= bins; k++)
            edges[k] = 0.1 + k * step;
        for (int64_t k = 0; k < size; k++) {
            const int near = (int)test_random_below(t, 6), kind = (int)test_random_below(t, 64);
            int bin = (int)test_random_below(t, (uint64_t)bins);
            if (kind < 8)
                bin = kind < 2 ? near : kind < 4 ? bins - 1 - near : bins / 2 - 3 + near;
            x[k] = (float)(0.1 + (bin + 0.25 + 0.05 * kind / 8) * step);
            if (round % 2 == 1 && kind == 63)
                x[k] = (float)(0.85 + near);
            int b = (int)(((double)x[k] - 0.1) / step);
            b = b >= bins ? bins - 1 : b;
            while (b > 0 && (double)x[k] < edges[b])
                b--;
            while (b < bins - 1 && (double)x[k] >= edges[b + 1])
                b++;
            expected[b] += (double)x[k] >= edges[0] && (double)x[k] <= edges[bins];
        }
        kiln_array *numbers = made(t, KILN_FLOAT32, size, x);
        kiln_array *bounds = made(t, KILN_FLOAT64, bins + 1, edges);
        expect_counts(t, numbers, bounds, expected, bins);
        kiln_array_release(numbers);
        kiln_array_release(bounds);
        free(edges);
        free(expected);
    }
    free(x);
}

static void test_bins__are_refused_that_do_not_increase(void **state)
{
    test_env *t = *state;
    const double edges[] = {0, 2, 1}, range[] = {2, 1};
    const int negative[] = {1, -3};
    kiln_array *e = made(t, KILN_FLOAT64, 3, edges), *x = made(t, KILN_INT32, 2, negative),
               *y = NULL;

    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_histogram(x, e, &y, &t->err),
          "histogram: bins do not increase", "edge 1 is 2", "edge 2 is 1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_digitize(x, e, false, &y, &t->err),
          "digitize: bins do not");
    FAILS(t, KILN_ERR_RANGE, kiln_array_bincount(x, 0, &y, &t->err), "-3");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_bincount(e, 0, &y, &t->err), "float64");
    /* Numbers that leave no room for the number of bins. */
    kiln_array *most = made(t, KILN_INT64, 2, (const int64_t[]){1, INT64_MAX});
    kiln_array *natural = made(t, KILN_UINT64, 2, (const uint64_t[]){0, UINT64_MAX});
    FAILS(t, KILN_ERR_RANGE, kiln_array_bincount(most, 0, &y, &t->err), "9223372036854775807");
    FAILS(t, KILN_ERR_RANGE, kiln_array_bincount(natural, 0, &y, &t->err), "18446744073709551615");
    kiln_array_release(most);
    kiln_array_release(natural);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_bincount(x, -1, &y, &t->err), "-1");
    FAILS(t, KILN_ERR_RANGE, kiln_array_histogram_edges(x, 3, range, &y, &t->err), "from 2 to 1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_histogram_edges(x, 0, NULL, &y, &t->err),
          "0 bins are asked for");
    FAILS(t, KILN_ERR_RANGE,
          kiln_array_histogram_edges(x, 10, (const double[]){1e17, 1e17}, &y, &t->err),
          "cannot create 10 finite-sized bins");
    assert_null(y);
    kiln_array_release(e);
    kiln_array_release(x);
}

/* ---- digitize, isin, lexsort ----------------------------------------------------------------------------- */

static void test_bins__are_found_by_digitize(void **state)
{
    /* np.digitize([0.5, 3, 2.5, -1, 9], [1, 2, 3]), the same with right=True, and both with [3, 2, 1] */
    static const int64_t expected[2][2][5] = {{{0, 3, 2, 0, 3}, {0, 2, 2, 0, 3}},
                                              {{3, 0, 1, 3, 0}, {3, 1, 1, 3, 0}}};
    test_env *t = *state;
    const double given[] = {0.5, 3, 2.5, -1, 9};
    const int edges[2][3] = {{1, 2, 3}, {3, 2, 1}};
    kiln_array *x = made(t, KILN_FLOAT64, 5, given);

    for (int falls = 0; falls < 2; falls++) {
        kiln_array *e = made(t, KILN_INT32, 3, edges[falls]);
        for (int right = 0; right < 2; right++) {
            int64_t got[5];
            kiln_array *y = NULL;
            OK(t, kiln_array_digitize(x, e, right != 0, &y, &t->err));
            OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
            assert_memory_equal(got, expected[falls][right], sizeof got);
            kiln_array_release(y);
        }
        kiln_array_release(e);
    }
    kiln_array_release(x);
}

static void test_bins__isin_tells_which_elements_are_in_a_set(void **state)
{
    test_env *t = *state;
    const float given[] = {1, -0.0f, 5, NAN, 2, 9}, set[] = {9, 0, NAN, 2, 2};
    bool got[6];
    kiln_array *x = made(t, KILN_FLOAT32, 6, given), *s = made(t, KILN_FLOAT32, 5, set);
    kiln_array *none = made(t, KILN_FLOAT32, 0, NULL), *y = NULL;

    OK(t, kiln_array_isin(x, s, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const bool[]){false, true, false, false, true, true}), sizeof got);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_isin(x, none, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const bool[6]){false}), sizeof got);
    kiln_array_release(x);
    kiln_array_release(s);
    kiln_array_release(none);
    kiln_array_release(y);
}

static void test_bins__lexsort_orders_by_the_last_key_first(void **state)
{
    enum { COUNT_KEYS = 400 };
    test_env *t = *state;
    int32_t minor[COUNT_KEYS], major[COUNT_KEYS];
    int64_t got[COUNT_KEYS];
    kiln_array *keys[2] = {NULL, NULL}, *y = NULL, *other = NULL;

    for (int k = 0; k < COUNT_KEYS; k++) {
        minor[k] = (int32_t)test_random_below(t, 7);
        major[k] = (int32_t)test_random_below(t, 5);
    }
    keys[0] = made(t, KILN_INT32, COUNT_KEYS, minor);
    keys[1] = made(t, KILN_INT32, COUNT_KEYS, major);
    OK(t, kiln_array_lexsort((const kiln_array *const *)keys, 2, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 1; k < COUNT_KEYS; k++) {
        const int64_t a = got[k - 1], b = got[k];
        const int before = 1000000 * major[a] + 1000 * minor[a],
                  here = 1000000 * major[b] + 1000 * minor[b];
        assert_true(before < here || (before == here && a < b));
    }
    kiln_array_release(y);
    y = NULL;
    other = made(t, KILN_INT32, 3, minor);
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_lexsort(((const kiln_array *const[]){keys[0], other}), 2, &y, &t->err),
          "key 2");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_array_lexsort((const kiln_array *const *)keys, 0, &y, &t->err), "no key");
    kiln_array_release(other);
    kiln_array_release(keys[0]);
    kiln_array_release(keys[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bins__count_integers),
        TEST(test_bins__hold_numbers_between_edges),
        TEST(test_bins__hold_numbers_of_every_dtype),
        TEST(test_bins__have_even_edges_from_the_data_or_a_range),
        TEST(test_bins__are_many),
        TEST(test_bins__are_those_of_numbers_near_edges),
        TEST(test_bins__are_more_than_a_block_has_room_for),
        TEST(test_bins__are_counted_in_bytes_that_overflow),
        TEST(test_bins__are_refused_that_do_not_increase),
        TEST(test_bins__are_found_by_digitize),
        TEST(test_bins__isin_tells_which_elements_are_in_a_set),
        TEST(test_bins__lexsort_orders_by_the_last_key_first),
    };
    return test_env_main(argc, argv, "test_bins", tests, COUNT(tests));
}
