/*
 * test_reduction_large.c - counts, positions and byte offsets beyond 2^31 and 2^32.
 *
 * A number that passes through 32 bits somewhere gives a wrong sum, a wrong position or an element
 * from elsewhere. Broadcast arrays have as many elements as one likes in one byte of memory; the
 * others need 2 or 4 GiB, and are skipped where that much is not free.
 */
#include <stdio.h>
#include <string.h>

#include "test_env.h"

#define MARK_31 (INT64_C(1) << 31)
#define MARK_32 (INT64_C(1) << 32)

/* Memory that can be had without pushing others out; on a GPU the pool says no by itself. */
static void need_memory(test_env *t, int64_t bytes)
{
    long long kilobytes = 0;
    char line[128];
    FILE *file;

    if (t->cuda) {
        if (kiln_context_device(t->ctx)->memory_bytes < (size_t)bytes + (1u << 30))
            skip();
        return;
    }
    file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    if (kilobytes * 1024 < bytes + (INT64_C(1) << 30))
        skip();
}

static void fetch(test_env *t, kiln_array *y, void *out, size_t bytes)
{
    OK(t, kiln_array_to_host(y, out, bytes, NULL, &t->err));
    kiln_array_release(y);
}

static int64_t reduce_all(test_env *t, kiln_reduce_op op, const kiln_array *x)
{
    kiln_array *y = NULL;
    int64_t got = 0;

    OK(t, kiln_array_reduce(op, x, NULL, false, &y, &t->err));
    fetch(t, y, &got, sizeof got);
    return got;
}

/* ---- elements by broadcasting ---- */

static kiln_array *spread(test_env *t, int rank, const int64_t *shape)
{
    kiln_array *one = NULL, *wide = NULL;

    OK(t, kiln_array_full(t->ctx, KILN_INT8, 0, NULL, 3, &one, &t->err));
    OK(t, kiln_array_broadcast_to(one, rank, shape, &wide, &t->err));
    kiln_array_release(one);
    return wide;
}

static void test_reduction_large__counts_beyond_2_32(void **state)
{
    static const int64_t shapes[][2] = {{1, MARK_31 + 5}, {1, MARK_32 + 3}, {MARK_32 / 3, 4}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(shapes); k++) {
        kiln_array *x = spread(t, 2, shapes[k]);
        const int64_t size = shapes[k][0] * shapes[k][1];

        if (k > 0 || test_whole(t)) /* what is lost above 2^31 is lost above 2^32, too */
            assert_int_equal(reduce_all(t, KILN_REDUCE_SUM, x), 3 * size);
        if (k == 1 || test_whole(t))
            assert_int_equal(reduce_all(t, KILN_REDUCE_ARGMAX, x), 0);
        kiln_array_release(x);
    }
}

/* The last position is found by its number, and so is the last index. */
static void test_reduction_large__positions_beyond_2_32(void **state)
{
    static const int64_t shape[] = {2, MARK_31 + 9};
    test_env *t = *state;
    kiln_array *x = spread(t, 2, shape), *y = NULL;
    kiln_reduction *op = NULL;
    double got = 0;

    OK(t, kiln_reduction_create(t->ctx, "int8 x", "float64 y",
                                "_J == n - 1 || _J == 4294967296 ? (double)_J : 0.0", "a + b",
                                "y = a", "0", NULL, &op, &t->err));
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y));
    fetch(t, y, &got, sizeof got);
    assert_true(got == (double)(2 * shape[1] - 1) + 4294967296.0);
    kiln_array_release(x);
    kiln_reduction_destroy(op);
}

/* ---- bytes in memory ---- */

/* One element of a 1-D array. */
static void put(test_env *t, kiln_array *x, int64_t at, double value)
{
    kiln_array *place = NULL, *one = NULL;

    OK(t, kiln_array_select(x, 0, at, &place, &t->err));
    OK(t, kiln_array_full(t->ctx, kiln_array_dtype(x), 0, NULL, value, &one, &t->err));
    OK(t, kiln_array_assign(place, one, &t->err));
    kiln_array_release(place);
    kiln_array_release(one);
}

/* `x` has 2^31 + 7 elements, zeros but for four. */
static void check_far(test_env *t, kiln_array *x)
{
    static const int64_t square[] = {1 << 15, 1 << 16};
    kiln_array *part = NULL, *rows = NULL, *back = NULL, *y = NULL;
    static int64_t sums[1 << 16];

    put(t, x, 1, 1);
    put(t, x, MARK_31 - 2, 2);
    put(t, x, MARK_31 + 1, 3);
    put(t, x, MARK_31 + 6, 5);
    assert_int_equal(reduce_all(t, KILN_REDUCE_SUM, x), 11);
    assert_int_equal(reduce_all(t, KILN_REDUCE_COUNT_NONZERO, x), 4);
    assert_int_equal(reduce_all(t, KILN_REDUCE_ARGMAX, x), MARK_31 + 6);
    OK(t, kiln_array_flip(x, 0, &back, &t->err));
    assert_int_equal(reduce_all(t, KILN_REDUCE_SUM, back), 11);
    assert_int_equal(reduce_all(t, KILN_REDUCE_ARGMAX, back), 0);
    OK(t, kiln_array_slice(x, 0, 7, KILN_SLICE_OPEN, 1, &part, &t->err)); /* 2^31, misaligned */
    OK(t, kiln_array_reshape(part, 2, square, &rows, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, rows, KILN_AXES(0), false, &y, &t->err));
    fetch(t, y, sums, sizeof sums);
    y = NULL;
    assert_int_equal(sums[(1 << 16) - 9], 2);
    assert_int_equal(sums[(1 << 16) - 6], 3);
    assert_int_equal(sums[(1 << 16) - 1], 5);
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, rows, KILN_AXES(1), false, &y, &t->err));
    fetch(t, y, sums, sizeof sums);
    assert_int_equal(sums[(1 << 15) - 1], 10);
    assert_int_equal(sums[0], 0);
    kiln_array_release(part);
    kiln_array_release(rows);
    kiln_array_release(back);
}

static void test_reduction_large__bytes_beyond_2_31(void **state)
{
    const int64_t size = MARK_31 + 7;
    test_env *t = *state;
    kiln_array *x = NULL;

    need_memory(t, size);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT8, 1, &size, &x, &t->err));
    check_far(t, x);
    kiln_array_release(x);
}

/* Two bytes an element: offsets beyond 2^32. A GPU's memory only; 4 GiB are much for a laptop. */
static void test_reduction_large__bytes_beyond_2_32(void **state)
{
    const int64_t size = MARK_31 + 7;
    test_env *t = *state;
    kiln_array *x = NULL;

    if (!t->cuda)
        skip();
    need_memory(t, 2 * size);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT16, 1, &size, &x, &t->err));
    check_far(t, x);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_large__counts_beyond_2_32),
        TEST(test_reduction_large__positions_beyond_2_32),
        TEST(test_reduction_large__bytes_beyond_2_31),
        TEST(test_reduction_large__bytes_beyond_2_32),
    };

    return test_env_main(argc, argv, "test_reduction_large", tests, COUNT(tests));
}
