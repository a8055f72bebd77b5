/*
 * test_elementwise_large.c - arrays beyond the caches, where kernels store and walk differently.
 *
 * Outputs of 32 MiB and more pass the caches of a CPU in whole lines, with single elements before
 * and after; tiles of a transpose meet the edges of extents that are no multiple of them. All
 * values are small integers, so that the expected ones are exact in every dtype.
 */
#include "test_env.h"

#include <stdlib.h>
#include <string.h>

/* Above 32 MiB for three float32 operands, and a multiple of nothing. */
#define LARGE 2900003

static int value_x(int64_t k)
{
    return (int)(k % 997);
}

static int value_y(int64_t k)
{
    return (int)(k % 61);
}

static float *host_floats(int64_t count, int (*value)(int64_t))
{
    float *data = malloc((size_t)count * sizeof *data);

    assert_non_null(data);
    for (int64_t k = 0; k < count; k++)
        data[k] = value != NULL ? (float)value(k) : -1.0f;
    return data;
}

static kiln_array *floats(test_env *t, int rank, const int64_t *shape, int (*value)(int64_t))
{
    kiln_array *array = NULL;
    int64_t count = 1;

    for (int a = 0; a < rank; a++)
        count *= shape[a];
    float *data = host_floats(count, value);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, rank, shape, data, NULL, &array, &t->err));
    free(data);
    return array;
}

static float *fetch(test_env *t, const kiln_array *array)
{
    const size_t bytes = (size_t)kiln_array_size(array) * sizeof(float);
    float *data = malloc(bytes);

    assert_non_null(data);
    OK(t, kiln_array_to_host(array, data, bytes, NULL, &t->err));
    return data;
}

static kiln_elementwise *define(test_env *t, const char *in, const char *out, const char *op)
{
    kiln_elementwise *kernel = NULL;

    OK(t, kiln_elementwise_create(t->ctx, in, out, op, NULL, &kernel, &t->err));
    return kernel;
}

/* Outputs that begin anywhere in a line; nothing before or behind them may change. */
static void test_elementwise_large__outputs_begin_anywhere(void **state)
{
    test_env *t = *state;
    static const int64_t offsets[] = {0, 1, 7, 16, 23};
    const int64_t whole[] = {LARGE + 64};
    kiln_elementwise *axpy = define(t, "T x, T y", "T z", "z = x * y + T(1)");
    kiln_array *x_all = floats(t, 1, whole, value_x), *y_all = floats(t, 1, whole, value_y);

    for (size_t k = 0; k < COUNT(offsets); k++) {
        const int64_t at = offsets[k];
        kiln_array *x = NULL, *y = NULL, *z = NULL, *z_all = floats(t, 1, whole, NULL);

        OK(t, kiln_array_slice(x_all, 0, 3, LARGE + 3, 1, &x, &t->err));
        OK(t, kiln_array_slice(y_all, 0, 0, LARGE, 1, &y, &t->err));
        OK(t, kiln_array_slice(z_all, 0, at, LARGE + at, 1, &z, &t->err));
        OK(t, kiln_call(axpy, &t->err, x, y, z));
        float *got = fetch(t, z_all);
        for (int64_t j = 0; j < whole[0]; j++) {
            const int64_t i = j - at;
            const bool inside = i >= 0 && i < LARGE;
            const float want = inside ? (float)(value_x(i + 3) * value_y(i) + 1) : -1.0f;
            CHECK(got[j] == want, "offset %lld, element %lld: %g, not %g", (long long)at,
                  (long long)j, (double)got[j], (double)want);
        }
        free(got);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(z);
        kiln_array_release(z_all);
    }
    kiln_array_release(x_all);
    kiln_array_release(y_all);
    kiln_elementwise_destroy(axpy);
}

/* Rows of `width` inside rows of `pitch`, with a row broadcast against them. */
static void check_rows(test_env *t, kiln_elementwise *axpy, int64_t width, int64_t pitch)
{
    const int64_t rows = LARGE / width, shape[] = {rows, pitch}, row_shape[] = {width};
    kiln_array *x_all = floats(t, 2, shape, value_x), *row = floats(t, 1, row_shape, value_y);
    kiln_array *z_all = floats(t, 2, shape, NULL), *x = NULL, *z = NULL;

    OK(t, kiln_array_slice(x_all, 1, 0, width, 1, &x, &t->err));
    OK(t, kiln_array_slice(z_all, 1, 0, width, 1, &z, &t->err));
    OK(t, kiln_call(axpy, &t->err, x, row, z));
    float *got = fetch(t, z_all);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < pitch; c++) {
            const float want =
                c < width ? (float)(value_x(r * pitch + c) * value_y(c) + 1) : -1.0f;
            CHECK(got[r * pitch + c] == want, "width %lld, row %lld, column %lld: %g, not %g",
                  (long long)width, (long long)r, (long long)c, (double)got[r * pitch + c],
                  (double)want);
        }
    free(got);
    kiln_array_release(x_all);
    kiln_array_release(row);
    kiln_array_release(z_all);
    kiln_array_release(x);
    kiln_array_release(z);
}

static void test_elementwise_large__rows_of_every_kind(void **state)
{
    test_env *t = *state;
    kiln_elementwise *axpy = define(t, "T x, T y", "T z", "z = x * y + T(1)");

    check_rows(t, axpy, 3, 3);
    check_rows(t, axpy, 64, 64);
    check_rows(t, axpy, 100, 100);
    check_rows(t, axpy, 1000, 1003);
    check_rows(t, axpy, 5000, 5008);
    kiln_elementwise_destroy(axpy);
}

/* Outputs of different sizes reach a line's start at different elements. */
static void test_elementwise_large__outputs_of_several_sizes(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4 * LARGE}; /* 9 bytes an element */
    kiln_elementwise *split = define(t, "float32 x", "float32 z, int8 w", "z = x + 1; w = x / 8");
    kiln_array *x = floats(t, 1, shape, value_x), *z = NULL, *w = NULL;

    OK(t, kiln_call(split, &t->err, x, &z, &w));
    float *got_z = fetch(t, z);
    signed char *got_w = malloc((size_t)shape[0]);
    assert_non_null(got_w);
    OK(t, kiln_array_to_host(w, got_w, (size_t)shape[0], NULL, &t->err));
    for (int64_t k = 0; k < shape[0]; k++) {
        CHECK(got_z[k] == (float)(value_x(k) + 1), "z[%lld] = %g", (long long)k, (double)got_z[k]);
        CHECK(got_w[k] == value_x(k) / 8, "w[%lld] = %d", (long long)k, got_w[k]);
    }
    free(got_z);
    free(got_w);
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_array_release(w);
    kiln_elementwise_destroy(split);
}

static void test_elementwise_large__in_place_and_read_outputs(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {LARGE * 2};
    kiln_elementwise *axpy = define(t, "T x, T y", "T z", "z = x * y + T(1)");
    kiln_elementwise *add = define(t, "T x", "T z", "z += x");
    kiln_elementwise *some = define(t, "T x", "T z", "if (x > 500) z = x");
    kiln_array *x = floats(t, 1, shape, value_x), *y = floats(t, 1, shape, value_y);

    OK(t, kiln_call(axpy, &t->err, x, y, x)); /* x * y + 1 */
    OK(t, kiln_call(add, &t->err, y, x));     /* + y */
    OK(t, kiln_call(some, &t->err, x, y));
    float *got_x = fetch(t, x), *got_y = fetch(t, y);
    for (int64_t k = 0; k < shape[0]; k++) {
        const int want = value_x(k) * value_y(k) + 1 + value_y(k);
        CHECK(got_x[k] == (float)want, "x[%lld] = %g, not %d", (long long)k, (double)got_x[k],
              want);
        CHECK(got_y[k] == (float)(want > 500 ? want : value_y(k)), "y[%lld] = %g", (long long)k,
              (double)got_y[k]);
    }
    free(got_x);
    free(got_y);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(axpy);
    kiln_elementwise_destroy(add);
    kiln_elementwise_destroy(some);
}

/* x of (rows, columns) with y of (columns, rows) transposed, and an output in each order, in any
 * dtype: bytes below 128 stay what they are in all of them. */
static void check_transpose(test_env *t, kiln_dtype dtype, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns}, turned[] = {columns, rows};
    const size_t count = (size_t)(rows * columns), bytes = kiln_dtype_size(dtype);
    unsigned char *host = malloc(count), *got = malloc(count);
    kiln_array *small_x = NULL, *small_y = NULL, *x = NULL, *y_turned = NULL, *y = NULL;
    kiln_array *z = NULL, *w = NULL, *w_turned = NULL, *back = NULL;
    kiln_elementwise *both = define(t, "T x, T y", "T z, T w", "z = x + y; w = x");

    assert_non_null(host);
    assert_non_null(got);
    for (size_t k = 0; k < count; k++)
        host[k] = (unsigned char)(k * 7 % 61);
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 2, shape, host, NULL, &small_x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 2, turned, host, NULL, &small_y, &t->err));
    OK(t, kiln_array_cast(small_x, dtype, &x, &t->err));
    OK(t, kiln_array_cast(small_y, dtype, &y_turned, &t->err));
    OK(t, kiln_array_transpose(y_turned, NULL, &y, &t->err));
    OK(t, kiln_array_empty(t->ctx, dtype, 2, shape, &z, &t->err));
    OK(t, kiln_array_empty(t->ctx, dtype, 2, turned, &w_turned, &t->err));
    OK(t, kiln_array_transpose(w_turned, NULL, &w, &t->err));
    OK(t, kiln_call(both, &t->err, x, y, z, w));
    for (int output = 0; output < 2; output++) {
        OK(t, kiln_array_cast(output == 0 ? z : w, KILN_UINT8, &back, &t->err));
        OK(t, kiln_array_to_host(back, got, count, NULL, &t->err));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++) {
                const int want = host[r * columns + c] + (output == 0 ? host[c * rows + r] : 0);
                CHECK(got[r * columns + c] == want, "%zu-byte elements, output %d, (%lld, %lld)",
                      bytes, output, (long long)r, (long long)c);
            }
        kiln_array_release(back);
        back = NULL;
    }
    kiln_array *const used[] = {small_x, small_y, x, y_turned, y, z, w, w_turned};
    for (size_t k = 0; k < COUNT(used); k++)
        kiln_array_release(used[k]);
    free(host);
    free(got);
    kiln_elementwise_destroy(both);
}

static void test_elementwise_large__transposes_meet_their_edges(void **state)
{
    test_env *t = *state;
    static const kiln_dtype dtypes[] = {KILN_UINT8,   KILN_INT16,     KILN_FLOAT16,
                                        KILN_FLOAT32, KILN_COMPLEX64, KILN_COMPLEX128};

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        check_transpose(t, dtypes[k], 64, 64);
        check_transpose(t, dtypes[k], 65, 127);
        check_transpose(t, dtypes[k], 80, 144);
        check_transpose(t, dtypes[k], 333, 16);
        check_transpose(t, dtypes[k], 1030, 12);
        check_transpose(t, dtypes[k], 3, 700);
        check_transpose(t, dtypes[k], 129, 200);
    }
    check_transpose(t, KILN_FLOAT32, 2049, 1500);
}

/* A smaller array's elements at (r, c), from those of `base` at (r + down, c + right). */
static kiln_array *shifted(test_env *t, const kiln_array *base, int64_t rows, int64_t columns,
                           int64_t down, int64_t right)
{
    kiln_array *part = NULL, *view = NULL;
    const int axis = kiln_array_rank(base) - 2;

    OK(t, kiln_array_slice(base, axis, down, down + rows, 1, &part, &t->err));
    OK(t, kiln_array_slice(part, axis + 1, right, right + columns, 1, &view, &t->err));
    kiln_array_release(part);
    return view;
}

/* Views of x shifted by rows and elements, a broadcast row and column, over `planes` planes of
 * rows x columns, into an output inside a larger array, whose rim may not change. */
static void check_shifted(test_env *t, kiln_dtype dtype, int64_t planes, int64_t rows, int64_t columns)
{
    const int64_t whole[] = {planes, rows + 2, columns + 2}, line[] = {columns}, side[] = {rows, 1};
    const size_t count = (size_t)(whole[0] * whole[1] * whole[2]);
    unsigned char *host = malloc(count), *got = malloc(count);
    kiln_array *small = NULL, *small_line = NULL, *small_side = NULL, *x = NULL, *z = NULL, *back = NULL;
    kiln_array *view[7] = {NULL};
    kiln_elementwise *op = define(t, "T up, T left, T right, T row, T column", "T z, T w",
                                  "z = up + left + column; w = right + row");

    assert_non_null(host);
    assert_non_null(got);
    for (size_t k = 0; k < count; k++)
        host[k] = (unsigned char)(k * 7 % 41);
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 3, whole, host, NULL, &small, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, line, host, NULL, &small_line, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 2, side, host, NULL, &small_side, &t->err));
    OK(t, kiln_array_cast(small, dtype, &x, &t->err));
    OK(t, kiln_array_cast(small, dtype, &z, &t->err)); /* the rim of z and w is that of x */
    OK(t, kiln_array_cast(small_line, dtype, &view[3], &t->err));
    OK(t, kiln_array_cast(small_side, dtype, &view[4], &t->err));
    view[0] = shifted(t, x, rows, columns, 0, 1);
    view[1] = shifted(t, x, rows, columns, 1, 0);
    view[2] = shifted(t, x, rows, columns, 1, 2);
    view[5] = shifted(t, z, rows, columns, 1, 1);
    OK(t, kiln_array_empty(t->ctx, dtype, 3, (int64_t[]){planes, rows, columns}, &view[6], &t->err));
    OK(t, kiln_call(op, &t->err, view[0], view[1], view[2], view[3], view[4], view[5], view[6]));

    OK(t, kiln_array_cast(z, KILN_UINT8, &back, &t->err));
    OK(t, kiln_array_to_host(back, got, count, NULL, &t->err));
    for (int64_t k = 0; k < (int64_t)count; k++) {
        const int64_t r = k / whole[2] % whole[1] - 1, c = k % whole[2] - 1;
        const bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
        const int want = inside ? host[k - whole[2]] + host[k - 1] + host[r] : host[k];
        CHECK(got[k] == want, "%s, z at (%lld, %lld)", kiln_dtype_name(dtype), (long long)r, (long long)c);
    }
    kiln_array_release(back);
    OK(t, kiln_array_cast(view[6], KILN_UINT8, &back, &t->err));
    OK(t, kiln_array_to_host(back, got, (size_t)(planes * rows * columns), NULL, &t->err));
    for (int64_t k = 0; k < planes * rows * columns; k++) {
        const int64_t p = k / (rows * columns), r = k / columns % rows, c = k % columns;
        const int want = host[(p * whole[1] + r + 1) * whole[2] + c + 2] + host[c];
        CHECK(got[k] == want, "%s, w at (%lld, %lld)", kiln_dtype_name(dtype), (long long)r, (long long)c);
    }
    kiln_array *const used[] = {small, small_line, small_side, x, z, back};
    for (size_t k = 0; k < COUNT(used); k++)
        kiln_array_release(used[k]);
    for (size_t k = 0; k < COUNT(view); k++)
        kiln_array_release(view[k]);
    free(host);
    free(got);
    kiln_elementwise_destroy(op);
}

static void test_elementwise_large__views_shifted_by_rows_and_elements(void **state)
{
    test_env *t = *state;

    check_shifted(t, KILN_FLOAT32, 1, 2049, 2055);
    check_shifted(t, KILN_FLOAT32, 3, 1003, 1402);
    check_shifted(t, KILN_FLOAT16, 1, 1027, 4099);
    check_shifted(t, KILN_FLOAT64, 1, 2050, 2050);
}

/* `i` counts in C-order however rows are walked. */
static void test_elementwise_large__shifted_views_know_their_place(void **state)
{
    test_env *t = *state;
    const int64_t whole[] = {2051, 2057}, shape[] = {2050, 2055};
    kiln_elementwise *op = define(t, "T x, T y, T a", "T z", "z = x + y - a + T(i % 61)");
    kiln_array *all = floats(t, 2, whole, value_x), *z = NULL;
    kiln_array *x = shifted(t, all, shape[0], shape[1], 0, 1);
    kiln_array *y = shifted(t, all, shape[0], shape[1], 1, 2);
    kiln_array *a = shifted(t, all, shape[0], shape[1], 1, 1);

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, shape, &z, &t->err));
    OK(t, kiln_call(op, &t->err, x, y, a, z));
    float *got = fetch(t, z);
    for (int64_t k = 0; k < shape[0] * shape[1]; k++) {
        const int64_t at = k / shape[1] * whole[1] + k % shape[1];
        const int want = value_x(at + 1) + value_x(at + whole[1] + 2) - value_x(at + whole[1] + 1) +
                         (int)(k % 61);
        CHECK((int)got[k] == want, "(%lld, %lld)", (long long)(k / shape[1]), (long long)(k % shape[1]));
    }
    free(got);
    kiln_array_release(all);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(a);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise_large__outputs_begin_anywhere),
        TEST(test_elementwise_large__rows_of_every_kind),
        TEST(test_elementwise_large__outputs_of_several_sizes),
        TEST(test_elementwise_large__in_place_and_read_outputs),
        TEST(test_elementwise_large__transposes_meet_their_edges),
        TEST(test_elementwise_large__views_shifted_by_rows_and_elements),
        TEST(test_elementwise_large__shifted_views_know_their_place),
    };

    return test_env_main(argc, argv, "test_elementwise_large", tests, COUNT(tests));
}
