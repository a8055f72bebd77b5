/*
 * test_lines.c - rows that begin within lines of memory, as those of a part of a longer array, against plain loops:
 * each element where it belongs, and nothing beside it.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { ROWS = 3 };

/* Whole numbers below 100, as elements of the dtype, with so many of them. */
static kiln_array *numbers(test_env *t, kiln_dtype dtype, int64_t rows, int64_t length)
{
    const int64_t shape[] = {rows, length};
    int8_t *const values = malloc((size_t)(rows * length));
    kiln_array *narrow = NULL, *x = NULL;

    for (int64_t k = 0; k < rows * length; k++)
        values[k] = (int8_t)test_random_below(t, 100);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT8, 2, shape, values, NULL, &narrow, &t->err));
    OK(t, kiln_array_cast(narrow, dtype, &x, &t->err));
    kiln_array_release(narrow);
    free(values);
    return x;
}

static unsigned char *bytes_of(test_env *t, kiln_array *x)
{
    const size_t bytes = (size_t)kiln_array_size(x) * kiln_dtype_size(kiln_array_dtype(x));
    unsigned char *const data = malloc(bytes);

    OK(t, kiln_array_to_host(x, data, bytes, NULL, &t->err));
    return data;
}

/* Rows of `length` elements, reversed where it says so, go to column `begin` of rows of `whole` ones. */
static void check(test_env *t, kiln_dtype dtype, int64_t length, int64_t begin, int64_t whole, bool back)
{
    const size_t size = kiln_dtype_size(dtype);
    kiln_array *const from = numbers(t, dtype, ROWS, length), *const to = numbers(t, dtype, ROWS, whole);
    kiln_array *turned = NULL, *part = NULL;
    kiln_elementwise *copy = NULL;
    unsigned char *const x = bytes_of(t, from), *const want = bytes_of(t, to);

    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t k = 0; k < length; k++)
            memcpy(want + (size_t)(r * whole + begin + k) * size,
                   x + (size_t)(r * length + (back ? length - 1 - k : k)) * size, size);
    OK(t, kiln_array_slice(from, 1, KILN_SLICE_OPEN, KILN_SLICE_OPEN, back ? -1 : 1, &turned, &t->err));
    OK(t, kiln_array_slice(to, 1, begin, begin + length, 1, &part, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &copy, &t->err));
    const kiln_arg args[] = {kiln_arg_array(turned), kiln_arg_array(part)};
    OK(t, kiln_elementwise_run(copy, args, COUNT(args), NULL, &t->err));
    unsigned char *const got = bytes_of(t, to);
    for (size_t k = 0; k < (size_t)(ROWS * whole) * size; k++)
        CHECK(got[k] == want[k], "%s, %d of %d elements from column %d on: byte %d is %d, not %d",
              kiln_dtype_name(dtype), (int)length, (int)whole, (int)begin, (int)k, got[k], want[k]);
    kiln_elementwise_destroy(copy);
    kiln_array *const all[] = {from, to, turned, part};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
    free(x);
    free(want);
    free(got);
}

static void test_lines__hold_what_belongs_there(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_COMPLEX64};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int round = 0; round < 6; round++) {
            const int64_t length = 256 + (int64_t)test_random_below(t, 300);
            const int64_t begin = (int64_t)test_random_below(t, 140);
            const int64_t whole = begin + length + (int64_t)test_random_below(t, 9);
            check(t, dtypes[d], length, begin, whole, d == 2 && round % 3 == 2);
        }
    check(t, KILN_FLOAT32, 1024, 30, 1056, false);
    check(t, KILN_FLOAT32, 512, 2, 518, false);  /* accesses of two elements */
    check(t, KILN_INT8, 897, 127, 1153, false);  /* the last one of a line, and seven lines */
    check(t, KILN_INT8, 898, 127, 1153, false);
    check(t, KILN_FLOAT16, 450, 63, 1025, false);
}

/* The numbers of elements, and operands that have one for a row. */
static void test_lines__count_elements(void **state)
{
    enum { LENGTH = 301, WHOLE = 999, BEGIN = 7 };
    test_env *t = *state;
    const kiln_dtype dtypes[] = {KILN_UINT16};

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *const to = numbers(t, dtypes[d], ROWS, WHOLE), *const y = numbers(t, dtypes[d], ROWS, 1);
        kiln_array *part = NULL, *wide = NULL;
        kiln_elementwise *count = NULL;
        double want[ROWS * LENGTH], got[ROWS * LENGTH], first[ROWS];

        OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, first, sizeof first, NULL, &t->err));
        kiln_array_release(wide);
        for (int k = 0; k < ROWS * LENGTH; k++)
            want[k] = first[k / LENGTH] + k;
        OK(t, kiln_array_slice(to, 1, BEGIN, BEGIN + LENGTH, 1, &part, &t->err));
        OK(t, kiln_elementwise_create(t->ctx, "T y", "T z", "z = T(y + i)", NULL, &count, &t->err));
        const kiln_arg args[] = {kiln_arg_array(y), kiln_arg_array(part)};
        OK(t, kiln_elementwise_run(count, args, COUNT(args), NULL, &t->err));
        OK(t, kiln_array_cast(part, KILN_FLOAT64, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, want, sizeof got);
        kiln_elementwise_destroy(count);
        kiln_array *const all[] = {to, y, part, wide};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines__hold_what_belongs_there),
        TEST(test_lines__count_elements),
    };
    return test_env_main(argc, argv, "test_lines", tests, COUNT(tests));
}
