/*
 * test_unique.c - distinct elements against plain loops.
 *
 * An element's class is what a loop over all elements before it says: the first that is equal, where NaN is
 * equal to NaN. The order of the results is checked by comparing neighbours.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/select.h"
#include "test_env.h"

enum { MOST = 3000 };

typedef struct answer {
    int64_t count, first[MOST], inverse[MOST], counts[MOST];
} answer;

/* Values are small integers in any dtype, and NaN where `nan` and the dtype has one. */
static void fill(test_env *t, double *x, int64_t n, int kinds, bool nan)
{
    for (int64_t k = 0; k < n; k++) {
        x[k] = (double)test_random_below(t, (uint64_t)kinds);
        if (nan && test_random_below(t, 5) == 0)
            x[k] = NAN;
    }
}

static bool equal(double a, double b)
{
    return a == b || (a != a && b != b);
}

static bool before(double a, double b)
{
    return a < b || (a == a && b != b);
}

/* The distinct numbers in order, by insertion. */
static void solve(const double *x, int64_t n, double *values, answer *a)
{
    a->count = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        while (at < a->count && before(values[at], x[k]))
            at++;
        if (at < a->count && equal(values[at], x[k])) {
            a->counts[at]++;
            continue;
        }
        for (int64_t m = a->count++; m > at; m--) {
            values[m] = values[m - 1];
            a->first[m] = a->first[m - 1];
            a->counts[m] = a->counts[m - 1];
        }
        values[at] = x[k];
        a->first[at] = k;
        a->counts[at] = 1;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t m = 0; m < a->count; m++)
            if (equal(values[m], x[k]))
                a->inverse[k] = m;
}

static void expect_numbers(test_env *t, const kiln_array *array, const int64_t *want, int64_t count,
                           const char *what)
{
    int64_t *got = malloc(sizeof *got * (size_t)(count + 1));

    assert_non_null(got);
    assert_int_equal(kiln_array_size(array), count);
    assert_int_equal(kiln_array_dtype(array), KILN_INT64);
    OK(t, kiln_array_to_host(array, got, sizeof *got * (size_t)count, NULL, &t->err));
    for (int64_t k = 0; k < count; k++)
        if (got[k] != want[k])
            fail_msg("%s[%lld] is %lld, not %lld", what, (long long)k, (long long)got[k],
                     (long long)want[k]);
    free(got);
}

static void check(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape, int kinds)
{
    static double x[MOST], values[MOST], got[MOST];
    static answer want;
    const char kind = kiln_dtype_kind(dtype);
    kiln_array *wide = NULL, *array = NULL, *y = NULL, *first = NULL, *inverse = NULL;
    kiln_array *counts = NULL, *numbers = NULL;
    int64_t n = 1;

    for (int a = 0; a < rank; a++)
        n *= shape[a];
    fill(t, x, n, kind == 'b' ? 2 : kinds, kind == 'f' || kind == 'c');
    solve(x, n, values, &want);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, shape, x, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &array, &t->err));
    OK(t, kiln_array_unique(array, &y, &first, &inverse, &counts, &t->err));
    assert_int_equal(kiln_array_dtype(y), dtype);
    assert_int_equal(kiln_array_size(y), want.count);
    assert_int_equal(kiln_array_rank(inverse), rank);
    OK(t, kiln_array_cast(y, KILN_FLOAT64, &numbers, &t->err));
    OK(t, kiln_array_to_host(numbers, got, sizeof got[0] * (size_t)want.count, NULL, &t->err));
    for (int64_t k = 0; k < want.count; k++)
        if (!equal(got[k], values[k]))
            fail_msg("%s: value %lld is %g, not %g", kiln_dtype_name(dtype), (long long)k, got[k],
                     values[k]);
    expect_numbers(t, first, want.first, want.count, "first");
    expect_numbers(t, counts, want.counts, want.count, "counts");
    expect_numbers(t, inverse, want.inverse, n, "inverse");
    kiln_array *const all[] = {wide, array, y, first, inverse, counts, numbers};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        kiln_array_release(all[k]);
}

static void test_unique__every_dtype(void **state)
{
#define DTYPE(NAME, ...) KILN_##NAME,
    static const kiln_dtype dtypes[] = {KILN_DTYPE_MAP(DTYPE)};
#undef DTYPE
    test_env *t = *state;

    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        check(t, dtypes[d], 1, (int64_t[]){700}, /* whole numbers that floats of 8 bits hold */
              kiln_dtype_kind(dtypes[d]) == 'f' && kiln_dtype_size(dtypes[d]) == 1 ? 8 : 40);
}

static void test_unique__every_size(void **state)
{
    static const int64_t shapes[][2] = {{0, 3}, {1, 1}, {1, 2}, {7, 300}, {300, 7}, {50, 60}};
    test_env *t = *state;

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int kinds = 1; kinds < 5000; kinds *= 16)
            check(t, KILN_FLOAT32, 2, shapes[s], kinds);
}

/* A view that runs backwards, with gaps: C-order is that of the view. */
static void test_unique__of_a_view(void **state)
{
    static const int32_t numbers[] = {5, 0, 3, 0, 5, 0, 1, 0, 3, 0};
    static const int64_t first[] = {1, 0, 2}, counts[] = {1, 2, 2};
    test_env *t = *state;
    kiln_array *x = NULL, *view = NULL, *y = NULL, *at = NULL, *each = NULL;
    int32_t got[3];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, (int64_t[]){10}, numbers, NULL, &x, &t->err));
    OK(t, kiln_array_view(x, "8::-2", &view, &t->err)); /* 3, 1, 5, 3, 5 */
    OK(t, kiln_array_unique(view, &y, &at, NULL, &each, &t->err));
    assert_int_equal(kiln_array_size(y), 3);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 1 && got[1] == 3 && got[2] == 5);
    expect_numbers(t, at, first, 3, "first");
    expect_numbers(t, each, counts, 3, "counts");
    kiln_array *const all[] = {x, view, y, at, each};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        kiln_array_release(all[k]);
}

/* ---- operations on sets -------------------------------------------------------------------------- */

static bool contains(const double *x, int64_t n, double value)
{
    for (int64_t k = 0; k < n; k++)
        if (x[k] == value)
            return true;
    return false;
}

enum { UNION, INTERSECTION, DIFFERENCE, EXCLUSIVE, OPERATIONS };

/* Distinct numbers of both in order, of which the operation wants those. NaN is in no set but by itself. */
static int64_t solve_sets(int what, const double *x, int64_t n, const double *y, int64_t m,
                          double *out)
{
    static double both[2 * MOST], distinct[2 * MOST];
    static answer a;
    int64_t count = 0;

    memcpy(both, x, (size_t)n * sizeof *x);
    memcpy(both + n, y, (size_t)m * sizeof *y);
    solve(both, what == DIFFERENCE ? n : n + m, distinct, &a);
    for (int64_t k = 0; k < a.count; k++) {
        const bool in_x = contains(x, n, distinct[k]), in_y = contains(y, m, distinct[k]);
        if (what == UNION || (what == INTERSECTION && in_x && in_y) ||
            (what == DIFFERENCE && !in_y) || (what == EXCLUSIVE && !(in_x && in_y)))
            out[count++] = distinct[k];
    }
    return count;
}

static kiln_status combine(int what, const kiln_array *x, const kiln_array *y, kiln_array **out,
                           kiln_array **count, kiln_error *err)
{
    return what == UNION          ? kiln_array_union1d(x, y, out, count, err)
           : what == INTERSECTION ? kiln_array_intersect1d(x, y, out, count, err)
           : what == DIFFERENCE   ? kiln_array_setdiff1d(x, y, out, count, err)
                                  : kiln_array_setxor1d(x, y, out, count, err);
}

static void check_sets(test_env *t, kiln_dtype dtype, int64_t n, int64_t m, int kinds, bool late)
{
    static double x[MOST], y[MOST], want[2 * MOST], got[2 * MOST];
    const char kind = kiln_dtype_kind(dtype);
    kiln_array *wide[2] = {NULL}, *in[2] = {NULL}, *z = NULL, *count = NULL, *numbers = NULL;
    int64_t known = 0;

    fill(t, x, n, kind == 'b' ? 2 : kinds, kind == 'f');
    fill(t, y, m, kind == 'b' ? 2 : kinds, kind == 'f');
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &n, x, NULL, &wide[0], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &m, y, NULL, &wide[1], &t->err));
    for (int k = 0; k < 2; k++)
        OK(t, kiln_array_cast(wide[k], dtype, &in[k], &t->err));
    for (int what = 0; what < OPERATIONS; what++) {
        const int64_t expected = solve_sets(what, x, n, y, m, want);
        z = count = numbers = NULL;
        OK(t, combine(what, in[0], in[1], &z, late ? &count : NULL, &t->err));
        if (late) {
            OK(t, kiln_array_to_host(count, &known, sizeof known, NULL, &t->err));
            OK(t, kiln_array_first(z, count, &numbers, &t->err));
            kiln_array_release(z);
            z = numbers;
        } else {
            known = kiln_array_size(z);
        }
        numbers = NULL;
        CHECK(known == expected, "%s, operation %d: %d elements, not %d", kiln_dtype_name(dtype),
              what, (int)known, (int)expected);
        assert_int_equal(kiln_array_dtype(z), dtype);
        OK(t, kiln_array_cast(z, KILN_FLOAT64, &numbers, &t->err));
        OK(t, kiln_array_to_host(numbers, got, sizeof *got * (size_t)known, NULL, &t->err));
        for (int64_t k = 0; k < known; k++)
            CHECK(equal(got[k], want[k]), "%s, operation %d: %g, not %g", kiln_dtype_name(dtype),
                  what, got[k], want[k]);
        kiln_array_release(z);
        kiln_array_release(count);
        kiln_array_release(numbers);
    }
    for (int k = 0; k < 2; k++) {
        kiln_array_release(wide[k]);
        kiln_array_release(in[k]);
    }
}

static void test_unique__sets(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT16, KILN_UINT8, KILN_BOOL,
                                        KILN_FLOAT64};
    test_env *t = *state;

    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        if (d == 0 || test_drawn(t))
            check_sets(t, dtypes[d], 300, 200, 60, d % 2 == 0);
    check_sets(t, KILN_FLOAT32, 0, 7, 5, false);
    check_sets(t, KILN_FLOAT32, 7, 0, 5, true);
    check_sets(t, KILN_FLOAT32, 1, 1, 2, false);
}

/* Both may be any views; dtypes promote. */
static void test_unique__sets_of_views(void **state)
{
    static const int16_t numbers[] = {5, 0, 3, 0, 5, 0};
    static const float others[] = {3, 2, 2, 9};
    test_env *t = *state;
    kiln_array *x = NULL, *view = NULL, *y = NULL, *turned = NULL, *z = NULL;
    float got[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT16, 1, (int64_t[]){6}, numbers, NULL, &x, &t->err));
    OK(t, kiln_array_view(x, "::-2", &view, &t->err)); /* 0, 0, 0 */
    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (int64_t[]){2, 2}, others, NULL, &y, &t->err));
    OK(t, kiln_array_transpose(y, NULL, &turned, &t->err));
    OK(t, kiln_array_union1d(view, turned, &z, NULL, &t->err));
    assert_int_equal(kiln_array_dtype(z), KILN_FLOAT32);
    assert_int_equal(kiln_array_size(z), 4);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 0 && got[1] == 2 && got[2] == 3 && got[3] == 9);
    kiln_array *const all[] = {x, view, y, turned, z};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        kiln_array_release(all[k]);
}

enum { ROWS = 150, WIDTH = 3 };

/* -1, 0 or 1: how rows stand to each other, NaN behind numbers; 0 for those that hold the same. */
static int compare_rows(const double *a, const double *b)
{
    for (int k = 0; k < WIDTH; k++)
        if (before(a[k], b[k]) || before(b[k], a[k]))
            return before(a[k], b[k]) ? -1 : 1;
    return 0;
}

/* The rows in their stable order, and which are the first of equal ones; a row with a NaN equals none. */
static void solve_rows(const double *x, int64_t *order, answer *a)
{
    for (int64_t k = 0; k < ROWS; k++) {
        int64_t at = k;
        for (; at > 0 && compare_rows(&x[WIDTH * k], &x[WIDTH * order[at - 1]]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    a->count = 0;
    for (int64_t k = 0; k < ROWS; k++) {
        const double *row = &x[WIDTH * order[k]];
        bool same = k > 0 && compare_rows(row, &x[WIDTH * order[k - 1]]) == 0;
        for (int c = 0; c < WIDTH; c++)
            same = same && row[c] == row[c];
        if (!same) {
            a->first[a->count] = order[k];
            a->counts[a->count++] = 0;
        }
        a->counts[a->count - 1]++;
        a->inverse[order[k]] = a->count - 1;
    }
}

/* Rows, and columns of the transposed view. */
static void test_unique__parts_along_an_axis(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT8, KILN_COMPLEX64, KILN_BFLOAT16};
    static double x[ROWS * WIDTH], got[ROWS * WIDTH];
    static int64_t order[ROWS];
    static answer want;
    test_env *t = *state;

    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        kiln_array *wide = NULL, *rows = NULL, *view = NULL, *y = NULL, *turned = NULL;
        kiln_array *first = NULL, *inverse = NULL, *counts = NULL, *numbers = NULL;
        fill(t, x, ROWS * WIDTH, 3, false);
        for (int64_t k = 0; k < ROWS && dtypes[d] != KILN_INT8; k += 20)
            x[k] = NAN;
        solve_rows(x, order, &want);
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){ROWS, WIDTH}, x, NULL,
                                   &wide, &t->err));
        OK(t, kiln_array_cast(wide, dtypes[d], &rows, &t->err));
        if (d % 2 == 0)
            view = kiln_array_retain(rows);
        else
            OK(t, kiln_array_transpose(rows, NULL, &view, &t->err));
        OK(t, kiln_array_unique_along(view, d % 2 == 0 ? 0 : -1, &y, &first, &inverse, &counts,
                                      &t->err));
        if (d % 2 == 0)
            turned = kiln_array_retain(y);
        else
            OK(t, kiln_array_transpose(y, NULL, &turned, &t->err));
        assert_int_equal(kiln_array_size(y), want.count * WIDTH);
        OK(t, kiln_array_cast(turned, KILN_FLOAT64, &numbers, &t->err));
        OK(t, kiln_array_to_host(numbers, got, sizeof got[0] * (size_t)(want.count * WIDTH), NULL,
                                 &t->err));
        for (int64_t k = 0; k < want.count * WIDTH; k++)
            if (!equal(got[k], x[WIDTH * want.first[k / WIDTH] + k % WIDTH]))
                fail_msg("%s: element %lld is %g", kiln_dtype_name(dtypes[d]), (long long)k,
                         got[k]);
        expect_numbers(t, first, want.first, want.count, "first");
        expect_numbers(t, counts, want.counts, want.count, "counts");
        expect_numbers(t, inverse, want.inverse, ROWS, "inverse");
        kiln_array *const all[] = {wide, rows, view, y, turned, first, inverse, counts, numbers};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            kiln_array_release(all[k]);
    }
}

static void test_unique__bad_arguments(void **state)
{
    test_env *t = *state;
    kiln_array *y = NULL, *first = NULL;

    FAILS(t, KILN_ERR_NULL, kiln_array_unique(NULL, &y, &first, NULL, NULL, &t->err), "array");
    assert_null(y);
    kiln_array *x = NULL;
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (int64_t[]){3}, &x, &t->err));
    FAILS(t, KILN_ERR_AXIS, kiln_array_unique_along(x, 1, &y, &first, NULL, NULL, &t->err),
          "axis 1 is out of range for rank 1");
    FAILS(t, KILN_ERR_NULL, kiln_array_unique_along(x, 0, NULL, NULL, NULL, NULL, &t->err), "out");
    assert_true(y == NULL && first == NULL);
    kiln_array_release(x);
    FAILS(t, KILN_ERR_NULL, kiln_array_setdiff1d(NULL, NULL, &y, &first, &t->err), "x");
    assert_true(y == NULL && first == NULL);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_unique__every_dtype),         TEST(test_unique__every_size),
        TEST(test_unique__of_a_view),           TEST(test_unique__sets),
        TEST(test_unique__sets_of_views),       TEST(test_unique__bad_arguments),
        TEST(test_unique__parts_along_an_axis),
    };

    return test_env_main(argc, argv, "test_unique", tests, sizeof tests / sizeof tests[0]);
}
