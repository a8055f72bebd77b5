/*
 * test_array_ops.c - arrays through the public functions: filled, copied, reshaped, saved, printed.
 *
 * Every expected element is written down, or comes from a plain loop over numbers that float64
 * holds exactly. Small arrays and large ones are both tried, since a device may fill small ones
 * without a kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

/* Elements of float64 beyond the 4 MiB that the cpu device fills by a plain loop. */
#define LARGE 600011

/* The float64 elements of `array`, in C-order; free() them. */
static double *fetch_doubles(test_env *t, const kiln_array *array)
{
    const size_t count = (size_t)kiln_array_size(array);
    double *data = malloc((count + 1) * sizeof *data);

    assert_non_null(data);
    assert_int_equal(kiln_array_dtype(array), KILN_FLOAT64);
    OK(t, kiln_array_to_host(array, data, count * sizeof *data, NULL, &t->err));
    return data;
}

/* A C-order float64 array of rows x columns: 0, 1, 2, ... */
static kiln_array *counting(test_env *t, int64_t rows, int64_t columns)
{
    kiln_array *flat = NULL, *matrix = NULL;
    const int64_t shape[] = {rows, columns};

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, (double)(rows * columns), 1, &flat, &t->err));
    OK(t, kiln_array_reshape(flat, 2, shape, &matrix, &t->err));
    kiln_array_release(flat);
    return matrix;
}

/* ---- filling ---- */

/* The bytes of 1 and 3 in every dtype, little endian; bool has no 3. */
static const struct fill_case {
    kiln_dtype dtype;
    const char *one, *three;
    size_t bytes;
} fill_cases[] = {
    {KILN_BOOL, "\1", NULL, 1},
    {KILN_INT8, "\1", "\3", 1},
    {KILN_INT16, "\1\0", "\3\0", 2},
    {KILN_INT32, "\1\0\0\0", "\3\0\0\0", 4},
    {KILN_INT64, "\1\0\0\0\0\0\0\0", "\3\0\0\0\0\0\0\0", 8},
    {KILN_UINT8, "\1", "\3", 1},
    {KILN_UINT16, "\1\0", "\3\0", 2},
    {KILN_UINT32, "\1\0\0\0", "\3\0\0\0", 4},
    {KILN_UINT64, "\1\0\0\0\0\0\0\0", "\3\0\0\0\0\0\0\0", 8},
    {KILN_FLOAT16, "\x00\x3C", "\x00\x42", 2},
    {KILN_BFLOAT16, "\x80\x3F", "\x40\x40", 2},
    {KILN_FLOAT32, "\x00\x00\x80\x3F", "\x00\x00\x40\x40", 4},
    {KILN_FLOAT64, "\0\0\0\0\0\0\xF0\x3F", "\0\0\0\0\0\0\x08\x40", 8},
    {KILN_COMPLEX64, "\0\0\x80\x3F\0\0\0\0", "\0\0\x40\x40\0\0\0\0", 8},
    {KILN_COMPLEX128, "\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\0\0",
     "\0\0\0\0\0\0\x08\x40\0\0\0\0\0\0\0\0", 16},
};

static void check_filled(test_env *t, kiln_array *array, const char *element, size_t bytes)
{
    const size_t count = (size_t)kiln_array_size(array);
    unsigned char *data = malloc(count * bytes);

    assert_non_null(data);
    OK(t, kiln_array_to_host(array, data, count * bytes, NULL, &t->err));
    assert_memory_equal(data, element, bytes);
    assert_int_equal(memcmp(data, data + bytes, (count - 1) * bytes), 0); /* and so on */
    free(data);
    kiln_array_release(array);
}

static void test_array_ops__every_dtype_is_filled(void **state)
{
    static const char zero[16] = {0};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(fill_cases); k++) {
        const struct fill_case *c = &fill_cases[k];
        const int64_t shapes[][2] = {{3, 5}, {7, 8 * LARGE / 7 / (int64_t)c->bytes}};
        for (size_t s = 0; s < COUNT(shapes); s++) {
            kiln_array *a = NULL;
            OK(t, kiln_array_zeros(t->ctx, c->dtype, 2, shapes[s], &a, &t->err));
            check_filled(t, a, zero, c->bytes);
            OK(t, kiln_array_ones(t->ctx, c->dtype, 2, shapes[s], &a, &t->err));
            check_filled(t, a, c->one, c->bytes);
            if (c->three == NULL)
                continue;
            OK(t, kiln_array_full(t->ctx, c->dtype, 2, shapes[s], 3, &a, &t->err));
            check_filled(t, a, c->three, c->bytes);
        }
    }
}

static void test_array_ops__a_fill_that_does_not_fit_is_refused(void **state)
{
    test_env *t = *state;
    kiln_array *a = NULL;
    const int64_t shape[] = {4};

    FAILS(t, KILN_ERR_RANGE, kiln_array_full(t->ctx, KILN_UINT8, 1, shape, 256, &a, &t->err), "256",
          "uint8");
    assert_null(a);
    FAILS(t, KILN_ERR_RANGE,
          kiln_array_full(t->ctx, KILN_INT32, 1, shape, -0x1p31 - 1, &a, &t->err), "int32");
    FAILS(t, KILN_ERR_RANGE, kiln_array_full(t->ctx, KILN_BOOL, 1, shape, 3, &a, &t->err), "bool");
    assert_null(a);
}

static void check_ramp(test_env *t, kiln_array *array, int64_t count, double start, double step)
{
    double *data = fetch_doubles(t, array);

    assert_int_equal(kiln_array_rank(array), 1);
    assert_true(kiln_array_size(array) == count);
    for (int64_t k = 0; k < count; k++)
        CHECK(data[k] == start + (double)k * step, "element %lld is %.17g", (long long)k, data[k]);
    free(data);
    kiln_array_release(array);
}

static void test_array_ops__arange_and_linspace_are_numpys(void **state)
{
    /* numpy.arange(start, stop, step).size, and the same for linspace's count. */
    static const struct {
        double start, stop, step;
        int64_t count;
    } ranges[] = {
        {0, 5, 1, 5},  {1, -2, -0.75, 4},    {0, 1, 0.375, 3},
        {5, 0, 1, 0},  {0, -1, 0.5, 0},      {2, 2, 1, 0},
        {-3, 0, 8, 1}, {0, LARGE, 1, LARGE}, {-8, LARGE * 0.25 - 8, 0.25, LARGE},
    };
    test_env *t = *state;
    kiln_array *a = NULL;

    for (size_t k = 0; k < COUNT(ranges); k++) {
        OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, ranges[k].start, ranges[k].stop,
                                ranges[k].step, &a, &t->err));
        check_ramp(t, a, ranges[k].count, ranges[k].start, ranges[k].step);
    }
    OK(t, kiln_array_linspace(t->ctx, KILN_FLOAT64, 0, 1, 5, &a, &t->err));
    check_ramp(t, a, 5, 0, 0.25);
    OK(t, kiln_array_linspace(t->ctx, KILN_FLOAT64, 4, -4, 1048577, &a, &t->err));
    check_ramp(t, a, 1048577, 4, -0x1p-17);
    OK(t, kiln_array_linspace(t->ctx, KILN_FLOAT64, 7, 9, 1, &a, &t->err));
    check_ramp(t, a, 1, 7, 0);
    OK(t, kiln_array_linspace(t->ctx, KILN_FLOAT64, 7, 9, 0, &a, &t->err));
    check_ramp(t, a, 0, 7, 0);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, 1, 0, &a, &t->err), "0");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_linspace(t->ctx, KILN_FLOAT64, 0, 1, -1, &a, &t->err),
          "-1");
    assert_null(a);
}

/* Whatever the step was rounded to, the last element is `stop` itself. */
static void test_array_ops__linspace_ends_at_its_stop(void **state)
{
    static const int64_t counts[] = {4, 7, 50, LARGE};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(counts); k++) {
        kiln_array *a = NULL;
        OK(t, kiln_array_linspace(t->ctx, KILN_FLOAT64, 0, 0.1, counts[k], &a, &t->err));
        double *data = fetch_doubles(t, a);
        assert_true(data[counts[k] - 1] == 0.1);
        free(data);
        kiln_array_release(a);
    }
}

/* ---- copies ---- */

static void test_array_ops__copies_keep_the_order_and_contiguous_makes_it_c(void **state)
{
    static const int64_t sides[][2] = {{3, 4}, {811, 743}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(sides); k++) {
        const int64_t rows = sides[k][0], columns = sides[k][1];
        kiln_array *m = counting(t, rows, columns), *turned = NULL, *same = NULL, *copy = NULL;
        OK(t, kiln_array_contiguous(m, &same, &t->err));
        assert_ptr_equal(kiln_array_data(same), kiln_array_data(m));
        kiln_array_release(same);

        OK(t, kiln_array_transpose(m, NULL, &turned, &t->err));
        assert_false(kiln_array_is_contiguous(turned));
        OK(t, kiln_array_copy(turned, &copy, &t->err));
        assert_ptr_not_equal(kiln_array_data(copy), kiln_array_data(m));
        assert_true(kiln_array_strides(copy)[0] == 8);
        assert_true(kiln_array_strides(copy)[1] == 8 * columns);
        OK(t, kiln_array_contiguous(turned, &same, &t->err));
        assert_true(kiln_array_is_contiguous(same));
        assert_ptr_equal(kiln_array_context(same), t->ctx);

        kiln_array *both[] = {copy, same};
        for (size_t b = 0; b < COUNT(both); b++) {
            double *data = fetch_doubles(t, both[b]);
            for (int64_t at = 0; at < rows * columns; at++)
                assert_true(data[at] == (double)(at % rows * columns + at / rows));
            free(data);
            kiln_array_release(both[b]);
        }
        kiln_array_release(turned);
        kiln_array_release(m);
    }
}

static void test_array_ops__reshape_is_a_view_where_strides_allow(void **state)
{
    test_env *t = *state;
    kiln_array *m = counting(t, 4, 6), *turned = NULL, *r = NULL;
    const int64_t computed[] = {2, -1, 3}, flat[] = {24}, wrong[] = {5, 5}, two[] = {-1, -1};

    OK(t, kiln_array_reshape(m, 3, computed, &r, &t->err));
    assert_ptr_equal(kiln_array_data(r), kiln_array_data(m));
    assert_true(kiln_array_shape(r)[1] == 4);
    kiln_array_release(r);

    OK(t, kiln_array_transpose(m, NULL, &turned, &t->err));
    OK(t, kiln_array_reshape(turned, 1, flat, &r, &t->err));
    assert_ptr_not_equal(kiln_array_data(r), kiln_array_data(m));
    double *data = fetch_doubles(t, r);
    for (int at = 0; at < 24; at++)
        assert_true(data[at] == at % 4 * 6 + at / 4);
    free(data);
    kiln_array_release(r);

    FAILS(t, KILN_ERR_SHAPE, kiln_array_reshape(m, 2, wrong, &r, &t->err), "(4, 6)", "(5, 5)");
    assert_null(r);
    assert_int_not_equal(kiln_array_reshape(m, 2, two, &r, NULL), KILN_OK);
    assert_null(r);
    kiln_array_release(turned);
    kiln_array_release(m);
}

static void test_array_ops__casts_convert_as_promised(void **state)
{
    static const double from[] = {-2.75, -0.0, 0.5, 100.9};
    static const int8_t whole[] = {-2, 0, 0, 100};
    static const unsigned char truth[] = {1, 0, 1, 1};
    static const double pairs[] = {1.5, 9, 0, 2, 0, 0, -3, 0};
    static const double real[] = {1.5, 0, 0, -3};
    static const unsigned char any[] = {1, 1, 0, 1};
    test_env *t = *state;
    kiln_array *x = NULL, *w = NULL, *y = NULL;
    const int64_t shape[] = {4};
    unsigned char bytes[4];
    double values[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, shape, from, NULL, &x, &t->err));
    OK(t, kiln_array_cast(x, KILN_INT8, &y, &t->err));
    OK(t, kiln_array_to_host(y, bytes, sizeof bytes, NULL, &t->err));
    assert_memory_equal(bytes, whole, sizeof bytes);
    kiln_array_release(y);
    OK(t, kiln_array_cast(x, KILN_BOOL, &y, &t->err));
    OK(t, kiln_array_to_host(y, bytes, sizeof bytes, NULL, &t->err));
    assert_memory_equal(bytes, truth, sizeof bytes);
    kiln_array_release(y);

    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, shape, pairs, NULL, &w, &t->err));
    OK(t, kiln_array_cast(w, KILN_FLOAT64, &y, &t->err));
    OK(t, kiln_array_to_host(y, values, sizeof values, NULL, &t->err));
    assert_memory_equal(values, real, sizeof values);
    kiln_array_release(y);
    OK(t, kiln_array_cast(w, KILN_BOOL, &y, &t->err));
    OK(t, kiln_array_to_host(y, bytes, sizeof bytes, NULL, &t->err));
    assert_memory_equal(bytes, any, sizeof bytes);
    kiln_array_release(y);
    kiln_array_release(w);
    kiln_array_release(x);
}

/* x[1:] = x[:-1] must read all of the old elements first; forwards it would smear x[0]. */
static void test_array_ops__assign_is_safe_against_overlap(void **state)
{
    static const int64_t counts[] = {6, LARGE};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(counts); k++) {
        kiln_array *x = NULL, *to = NULL, *from = NULL;
        OK(t, kiln_array_arange(t->ctx, KILN_FLOAT64, 0, (double)counts[k], 1, &x, &t->err));
        OK(t, kiln_array_slice(x, 0, 1, KILN_SLICE_OPEN, 1, &to, &t->err));
        OK(t, kiln_array_slice(x, 0, KILN_SLICE_OPEN, -1, 1, &from, &t->err));
        OK(t, kiln_array_assign(to, from, &t->err));
        double *data = fetch_doubles(t, x);
        assert_true(data[0] == 0);
        for (int64_t at = 1; at < counts[k]; at++)
            assert_true(data[at] == (double)(at - 1));
        free(data);
        kiln_array_release(from);
        kiln_array_release(to);
        kiln_array_release(x);
    }
}

/* ---- files and text ---- */

static void in_folder(test_env *t, char *path, size_t path_bytes, const char *name)
{
    test_env_fresh_dir(t, path, path_bytes);
    const size_t used = strlen(path);
    assert_true((size_t)snprintf(path + used, path_bytes - used, "/%s", name) < path_bytes - used);
}

static void write_npy(const char *path, const char *header, const void *data, size_t data_bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0, header);
    assert_int_equal(fwrite(data, 1, data_bytes, file), data_bytes);
    assert_int_equal(fclose(file), 0);
}

static void test_array_ops__a_file_comes_back_as_it_went(void **state)
{
    test_env *t = *state;
    kiln_array *m = counting(t, 2, 3), *turned = NULL, *back = NULL;
    char path[300];
    unsigned char file[512];

    in_folder(t, path, sizeof path, "turned.npy");
    OK(t, kiln_array_transpose(m, NULL, &turned, &t->err));
    OK(t, kiln_array_save_npy(turned, path, &t->err));
    OK(t, kiln_array_load_npy(t->ctx, path, &back, &t->err));
    assert_int_equal(kiln_array_rank(back), 2);
    assert_true(kiln_array_shape(back)[0] == 3 && kiln_array_shape(back)[1] == 2);
    double *data = fetch_doubles(t, back);
    for (int at = 0; at < 6; at++)
        assert_true(data[at] == at % 2 * 3 + at / 2);
    free(data);

    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    const size_t bytes = fread(file, 1, sizeof file, stream);
    fclose(stream);
    assert_memory_equal(file, "\x93NUMPY\1\0", 8);
    assert_int_equal((bytes - 48) % 64, 0);
    assert_int_equal(file[bytes - 49], '\n');
    kiln_array_release(back);
    kiln_array_release(turned);
    kiln_array_release(m);
}

static void test_array_ops__foreign_byte_and_axis_order_is_read(void **state)
{
    static const unsigned char big_endian[] = {0, 0, 0, 0, 0, 0, 0, 1, 0,   0,   1,   0,
                                               0, 0, 0, 3, 0, 0, 0, 4, 255, 255, 255, 255};
    static const int32_t want[] = {0, 256, 4, 1, 3, -1};
    test_env *t = *state;
    kiln_array *a = NULL;
    char path[300];
    int32_t got[6];

    in_folder(t, path, sizeof path, "foreign.npy");
    write_npy(path, "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }", big_endian,
              sizeof big_endian);
    OK(t, kiln_array_load_npy(t->ctx, path, &a, &t->err));
    assert_int_equal(kiln_array_dtype(a), KILN_INT32);
    OK(t, kiln_array_to_host(a, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, want, sizeof want);
    kiln_array_release(a);
}

static void test_array_ops__bad_files_are_refused_by_name(void **state)
{
    static const char zeros[64];
    test_env *t = *state;
    kiln_array *a = NULL;
    char path[300];

    in_folder(t, path, sizeof path, "bad.npy");
    FAILS(t, KILN_ERR_IO, kiln_array_load_npy(t->ctx, path, &a, &t->err), "bad.npy");
    write_npy(path, "{'descr': '<f8', 'fortran_order': False, 'shape': (9,), }", zeros, 64);
    FAILS(t, KILN_ERR_FORMAT, kiln_array_load_npy(t->ctx, path, &a, &t->err), "bad.npy", "72",
          "64");
    write_npy(path, "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }", zeros, 64);
    FAILS(t, KILN_ERR_FORMAT, kiln_array_load_npy(t->ctx, path, &a, &t->err), "bad.npy", "objects");
    write_npy(path, "{'descr': '<f8', 'shape': (8,), }", zeros, 64);
    FAILS(t, KILN_ERR_FORMAT, kiln_array_load_npy(t->ctx, path, &a, &t->err), "bad.npy",
          "fortran_order");
    assert_null(a);

    kiln_array *m = counting(t, 1, 2);
    FAILS(t, KILN_ERR_IO, kiln_array_save_npy(m, "/dev/null/no/such.npy", &t->err), "such.npy");
    kiln_array_release(m);
}

static void test_array_ops__text_is_numpys(void **state)
{
    test_env *t = *state;
    kiln_array *m = counting(t, 2, 3), *row = NULL;
    char *text = NULL;

    OK(t, kiln_array_to_string(m, &text, &t->err));
    assert_string_equal(text, "[[0. 1. 2.]\n [3. 4. 5.]]");
    kiln_free(text);
    OK(t, kiln_array_select(m, 0, 1, &row, &t->err));
    OK(t, kiln_array_to_string(row, &text, &t->err));
    assert_string_equal(text, "[3. 4. 5.]");
    kiln_free(text);
    kiln_array_release(row);
    kiln_array_release(m);
}

/* ---- options ---- */

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_array_ops__every_dtype_is_filled),
        TEST(test_array_ops__a_fill_that_does_not_fit_is_refused),
        TEST(test_array_ops__arange_and_linspace_are_numpys),
        TEST(test_array_ops__linspace_ends_at_its_stop),
        TEST(test_array_ops__copies_keep_the_order_and_contiguous_makes_it_c),
        TEST(test_array_ops__reshape_is_a_view_where_strides_allow),
        TEST(test_array_ops__casts_convert_as_promised),
        TEST(test_array_ops__assign_is_safe_against_overlap),
        TEST(test_array_ops__a_file_comes_back_as_it_went),
        TEST(test_array_ops__foreign_byte_and_axis_order_is_read),
        TEST(test_array_ops__bad_files_are_refused_by_name),
        TEST(test_array_ops__text_is_numpys),
    };
    return test_env_main(argc, argv, "test_array_ops", tests, COUNT(tests));
}
