/*
 * test_first.c - the largest and smallest elements and the medians of rows, of which a GPU sorts only what it needs:
 * against qsort().
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { ROWS = 2, LENGTH = (1 << 17) + 11, MOST = 2000 };

typedef struct element {
    double value;
    int64_t at;
} element;

static bool smallest; /* which come first */

/* NaN last in either direction; of equal ones the first. */
static int compare(const void *p, const void *q)
{
    const element *a = p, *b = q;
    const bool m = isnan(a->value), n = isnan(b->value);

    if (m != n)
        return m ? 1 : -1;
    if (!m && a->value != b->value)
        return (a->value < b->value) == smallest ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* Rows of numbers below `below`, of which some are NaN where the dtype has them. */
static void check(test_env *t, kiln_dtype dtype, uint64_t below, int rows, int length, int64_t k,
                  bool up)
{
    static double x[ROWS * LENGTH], values[ROWS * MOST];
    static element sorted[LENGTH];
    static int64_t places[ROWS * MOST];
    const int64_t shape[] = {rows, length};
    const bool floating = kiln_dtype_kind(dtype) == 'f';
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *wide = NULL, *a = NULL, *y = NULL, *wide_y = NULL, *z = NULL;

    for (int e = 0; e < rows * length; e++) {
        x[e] =
            (double)test_random_below(t, below) - (dtype == KILN_UINT8 ? 0 : (double)(below / 2));
        if (floating && e % 5000 == 7)
            x[e] = NAN;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, x, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &a, &t->err));
    o.axes = KILN_AXES(1);
    o.descending = up;
    OK(t, kiln_array_topk(a, k, &o, &y, &z, &t->err));
    OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide_y, &t->err));
    OK(t, kiln_array_to_host(wide_y, values, sizeof values, NULL, &t->err));
    OK(t, kiln_array_to_host(z, places, sizeof places, NULL, &t->err));
    smallest = up;
    for (int row = 0; row < rows; row++) {
        for (int e = 0; e < length; e++)
            sorted[e] = (element){x[row * length + e], e};
        qsort(sorted, length, sizeof sorted[0], compare);
        for (int e = 0; e < k; e++) {
            const double got = values[row * k + e], want = sorted[e].value;
            CHECK(places[row * k + e] == sorted[e].at &&
                      (got == want || (isnan(got) && isnan(want))),
                  "%s, row %d: number %d is %g at %d, not %g at %d", kiln_dtype_name(dtype), row, e,
                  got, (int)places[row * k + e], want, (int)sorted[e].at);
        }
    }
    kiln_array_release(wide);
    kiln_array_release(a);
    kiln_array_release(y);
    kiln_array_release(wide_y);
    kiln_array_release(z);
}

static void test_first__of_long_rows(void **state)
{
    test_env *t = *state;

    check(t, KILN_FLOAT32, 1 << 24, 1, LENGTH, 100, false);
    check(t, KILN_FLOAT32, 1000, 2, LENGTH, 999, true);
    check(t, KILN_INT64, (uint64_t)1 << 40, 1, LENGTH, 1, false);
    check(t, KILN_FLOAT64, 100, 1, LENGTH, MOST, false);
}

/* Rows in which many elements are equal: the first of them are taken. */
static void test_first__of_equal_elements(void **state)
{
    test_env *t = *state;

    check(t, KILN_UINT8, 3, 2, LENGTH, 1500, false);
    check(t, KILN_INT16, 1, 1, LENGTH, 700, true);
    check(t, KILN_FLOAT16, 5, 1, LENGTH, 17, false);
}

/* Rows that a block holds: of few and of many different elements, and of one. */
static void test_first__of_rows_that_fit_a_block(void **state)
{
    test_env *t = *state;

    check(t, KILN_FLOAT32, 1 << 24, 2, 8192, 10, false);
    check(t, KILN_FLOAT32, 50, 2, 1000, 90, true);
    check(t, KILN_UINT8, 3, 1, 8191, 300, false);
    check(t, KILN_INT32, 1, 1, 3000, 180, true);
    check(t, KILN_FLOAT16, 9, 1, 16384, 7, false);
    check(t, KILN_INT64, (uint64_t)1 << 40, 2, 300, 30, true);
    check(t, KILN_FLOAT64, 1000, 1, 8001, 33, false);
}

/* The mean of the two in the middle, or NaN: elements are whole numbers. */
static void check_medians(test_env *t, kiln_dtype dtype, uint64_t below, int length, bool nan)
{
    static double x[ROWS * LENGTH];
    static element sorted[LENGTH];
    const int64_t shape[] = {ROWS, length};
    double got[ROWS];
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *wide = NULL, *a = NULL, *y = NULL, *wide_y = NULL;

    for (int e = 0; e < ROWS * length; e++)
        x[e] = (double)test_random_below(t, below);
    if (nan)
        x[length + (int)test_random_below(t, (uint64_t)length)] = NAN;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, x, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &a, &t->err));
    o.axes = KILN_AXES(1);
    OK(t, kiln_array_median(a, &o, &y, &t->err));
    OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide_y, &t->err));
    OK(t, kiln_array_to_host(wide_y, got, sizeof got, NULL, &t->err));
    smallest = true;
    for (int row = 0; row < ROWS; row++) {
        for (int e = 0; e < length; e++)
            sorted[e] = (element){x[row * length + e], e};
        qsort(sorted, (size_t)length, sizeof sorted[0], compare);
        const double want = (sorted[(length - 1) / 2].value + sorted[length / 2].value) / 2;
        if (nan && row == 1)
            assert_true(isnan(got[row]));
        else
            CHECK(got[row] == want, "%s, row %d of %d: %g, not %g", kiln_dtype_name(dtype), row,
                  length, got[row], want);
    }
    kiln_array_release(wide);
    kiln_array_release(a);
    kiln_array_release(y);
    kiln_array_release(wide_y);
}

static void test_first__has_medians_of_rows_that_fit_a_block(void **state)
{
    test_env *t = *state;

    check_medians(t, KILN_FLOAT32, 1 << 20, 8192, false);
    check_medians(t, KILN_FLOAT32, 7, 1001, true);
    check_medians(t, KILN_FLOAT64, 2, 4000, true);
    check_medians(t, KILN_INT32, 1 << 30, 300, false);
    check_medians(t, KILN_UINT8, 2, 2000, false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first__of_long_rows),
        TEST(test_first__of_equal_elements),
        TEST(test_first__of_rows_that_fit_a_block),
        TEST(test_first__has_medians_of_rows_that_fit_a_block),
    };
    return test_env_main(argc, argv, "test_first", tests, COUNT(tests));
}
