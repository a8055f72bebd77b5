/*
 * test_rule.c - several arrays sorted together by a rule of the user's, against the C library's qsort().
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { MOST = 5000 };

typedef struct item {
    float x;
    int32_t y;
    uint8_t id;
    int64_t at;
} item;

typedef struct data {
    item items[MOST];
    kiln_array *array[3];
} data;

/* Few values, so that many elements are equal; `apart`: the first array has gaps. */
static void make(test_env *t, data *d, int64_t count, bool apart)
{
    static float x[2 * MOST];
    static int32_t y[MOST];
    static uint8_t id[MOST];
    const int64_t wide = 2 * count;
    kiln_array *whole = NULL;

    for (int k = 0; k < count; k++) {
        x[(apart ? 2 : 1) * k] = (float)test_random_below(t, 12) - 6;
        y[k] = (int32_t)test_random_below(t, 9);
        id[k] = (uint8_t)test_random_below(t, 250);
        d->items[k] = (item){x[(apart ? 2 : 1) * k], y[k], id[k], k};
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, apart ? &wide : &count, x, NULL, &whole,
                               &t->err));
    OK(t, kiln_array_slice(whole, 0, 0, wide, apart ? 2 : 1, &d->array[0], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &count, y, NULL, &d->array[1], &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &count, id, NULL, &d->array[2], &t->err));
    kiln_array_release(whole);
}

static void drop(kiln_array **arrays, int count)
{
    for (int k = 0; k < count; k++)
        kiln_array_release(arrays[k]);
}

/* Rules, each as the library has it and as qsort() does; places decide between equal elements. */
static int by_place(const item *a, const item *b)
{
    return a->at < b->at ? -1 : 1;
}

static int by_both(const void *p, const void *q)
{
    const item *a = p, *b = q;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return a->y != b->y ? (a->y > b->y ? -1 : 1) : by_place(a, b);
}

static int by_size_descending(const void *p, const void *q)
{
    const item *a = p, *b = q;
    const float m = fabsf(a->x), n = fabsf(b->x);
    return m != n ? (m > n ? -1 : 1) : by_place(a, b);
}

static int by_product(const void *p, const void *q)
{
    const item *a = p, *b = q;
    const float m = a->x * (float)a->y, n = b->x * (float)b->y;
    return m != n ? (m < n ? -1 : 1) : by_place(a, b);
}

static void check(test_env *t, int64_t count, const kiln_sort_rule *rule, bool descending,
                  int (*compare)(const void *, const void *))
{
    static data d;
    static float x[MOST];
    static int32_t y[MOST];
    static uint8_t id[MOST];
    static int64_t at[MOST];
    kiln_sort_options opts = KILN_SORT_OPTIONS_INIT;
    kiln_array *sorted[3], *order = NULL;

    make(t, &d, count, count % 2 == 1);
    opts.descending = descending;
    OK(t, kiln_array_sort_by("float32 x, int32 y, T id", (const kiln_array *const *)d.array, 3,
                             rule, &opts, sorted, &order, &t->err));
    OK(t, kiln_array_to_host(sorted[0], x, sizeof x, NULL, &t->err));
    OK(t, kiln_array_to_host(sorted[1], y, sizeof y, NULL, &t->err));
    OK(t, kiln_array_to_host(sorted[2], id, sizeof id, NULL, &t->err));
    OK(t, kiln_array_to_host(order, at, sizeof at, NULL, &t->err));
    qsort(d.items, (size_t)count, sizeof d.items[0], compare);
    for (int k = 0; k < count; k++) {
        const item *want = &d.items[k];
        CHECK(at[k] == want->at && x[k] == want->x && y[k] == want->y && id[k] == want->id,
              "%d elements: number %d was at %d, not at %d", (int)count, k, (int)at[k],
              (int)want->at);
    }
    drop(d.array, 3);
    drop(sorted, 3);
    kiln_array_release(order);
}

static void test_rule__less(void **state)
{
    static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 16, 17, 1000, 4097};
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;

    rule.less = "a.x < b.x || (a.x == b.x && a.y > b.y)";
    for (size_t k = 0; k < COUNT(counts); k++)
        check(*state, counts[k], &rule, false, by_both);
    rule.preamble = "template <class F> KILN_FN F size_of(F x) { return x < 0 ? -x : x; }";
    rule.less = "size_of(a.x) < size_of(b.x)";
    check(*state, 777, &rule, true, by_size_descending);
}

static void test_rule__key(void **state)
{
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;

    rule.key = "x * y";
    rule.key_dtype = KILN_FLOAT32;
    check(*state, 4099, &rule, false, by_product);
    rule.key = "x < 0 ? -x : x";
    rule.key_dtype = KILN_DTYPE_NONE;
    check(*state, 300, &rule, true, by_size_descending);
}

static void test_rule__only_what_is_wanted(void **state)
{
    test_env *t = *state;
    static data d;
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;
    kiln_array *order = NULL, *sorted[3];

    make(t, &d, 100, false);
    rule.less = "a.y < b.y";
    const kiln_array *const *arrays = (const kiln_array *const *)d.array;
    OK(t, kiln_array_sort_by("T x, int32 y", arrays, 2, &rule, NULL, NULL, &order, &t->err));
    OK(t, kiln_array_sort_by("T x, int32 y, U z", arrays, 3, &rule, NULL, sorted, NULL, &t->err));
    assert_int_equal(kiln_array_dtype(order), KILN_INT64);
    assert_int_equal(kiln_array_dtype(sorted[2]), KILN_UINT8);
    drop(d.array, 3);
    drop(sorted, 3);
    kiln_array_release(order);
}

/* Matrices along their first axis: each column is sorted by itself. */
static void test_rule__along_an_axis(void **state)
{
    enum { ROWS = 43, COLUMNS = 3 };
    static data d;
    static float got[ROWS * COLUMNS];
    static int64_t places[ROWS * COLUMNS];
    test_env *t = *state;

    for (int by_key = 0; by_key < 2; by_key++) {
        kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
        kiln_sort_rule rule = KILN_SORT_RULE_INIT;
        kiln_array *matrix[2] = {NULL}, *sorted[2] = {NULL}, *order = NULL;
        const kiln_axes first = {1, {0}};
        make(t, &d, ROWS * COLUMNS, false);
        for (int k = 0; k < 2; k++)
            OK(t,
               kiln_array_reshape(d.array[k], 2, (int64_t[]){ROWS, COLUMNS}, &matrix[k], &t->err));
        *(by_key ? &rule.key : &rule.less) =
            by_key ? "x * y" : "a.x < b.x || (a.x == b.x && a.y > b.y)";
        o.axes = &first;
        OK(t, kiln_array_sort_by("float32 x, int32 y", (const kiln_array *const *)matrix, 2, &rule,
                                 &o, sorted, &order, &t->err));
        OK(t, kiln_array_to_host(sorted[0], got, sizeof got, NULL, &t->err));
        OK(t, kiln_array_to_host(order, places, sizeof places, NULL, &t->err));
        for (int c = 0; c < COLUMNS; c++) {
            item column[ROWS];
            for (int r = 0; r < ROWS; r++) {
                column[r] = d.items[r * COLUMNS + c];
                column[r].at = r;
            }
            qsort(column, ROWS, sizeof column[0], by_key ? by_product : by_both);
            for (int r = 0; r < ROWS; r++)
                if (got[r * COLUMNS + c] != column[r].x || places[r * COLUMNS + c] != column[r].at)
                    fail_msg("row %d of column %d is wrong", r, c);
        }
        drop(matrix, 2);
        drop(sorted, 2);
        drop(&order, 1);
        drop(d.array, 3);
    }
}

static void test_rule__mistakes_are_refused(void **state)
{
    test_env *t = *state;
    static data d, e;
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;
    kiln_array *order = NULL;

    make(t, &d, 20, false);
    make(t, &e, 21, false);
    const kiln_array *const *arrays = (const kiln_array *const *)d.array;
    const kiln_array *const uneven[] = {d.array[0], e.array[1]};
#define REFUSED(status, in, list, count, why)                                                      \
    FAILS(t, status, kiln_array_sort_by(in, list, count, &rule, NULL, NULL, &order, &t->err), why)
    REFUSED(KILN_ERR_ARGUMENT, "T x", arrays, 1, "`less` or `key`");
    rule.less = "a.x < b.x";
    REFUSED(KILN_ERR_ARGUMENT_COUNT, "T x, U y", arrays, 1, "1 arrays");
    REFUSED(KILN_ERR_ARGUMENT_COUNT, "", arrays, 1, "1 arrays");
    REFUSED(KILN_ERR_DTYPE, "float64 x", arrays, 1, "`x` is float64");
    REFUSED(KILN_ERR_DTYPE, "T x, T y", arrays, 2, "`y` is float32");
    REFUSED(KILN_ERR_SHAPE, "T x, U y", uneven, 2, "array 2");
    REFUSED(KILN_ERR_ARGUMENT, "raw T x", arrays, 1, "`x` is a plain parameter");
    rule.less = "a.x < b.w"; /* the place is that in this text */
    REFUSED(KILN_ERR_COMPILE, "T x", arrays, 1, "less, line 1");
    rule.less = "a.x < wrong";
    kiln_error err = KILN_ERROR_INIT;
    assert_int_equal(
        kiln_array_sort_by("T x", arrays, 1, &rule, NULL, NULL, &order, &err), KILN_ERR_COMPILE);
    CHECK(strstr(err.message, "less, line 1") != NULL, "%s", err.message);
    CHECK(err.detail != NULL && strstr(err.detail, "a.x < wrong)\n") != NULL, "%s", err.detail);
    kiln_error_clear(&err);
    rule.less = NULL;
    rule.key = "x + wrong";
    REFUSED(KILN_ERR_COMPILE, "T x", arrays, 1, "key, line 1");
    rule.less = "a.x < b.x";
    REFUSED(KILN_ERR_ARGUMENT, "T x", arrays, 1, "`less` or `key`");
    drop(d.array, 3);
    drop(e.array, 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rule__less),
        TEST(test_rule__key),
        TEST(test_rule__only_what_is_wanted),
        TEST(test_rule__along_an_axis),
        TEST(test_rule__mistakes_are_refused),
    };
    return test_env_main(argc, argv, "test_rule", tests, COUNT(tests));
}
