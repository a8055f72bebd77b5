/*
 * test_row_norms.c - the functions that row programs are for, over rows of every length class.
 *
 * Expected values are float64 loops over the same inputs (oracle/rows.c).
 */
#include "oracle/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of `length` elements, C-order; weights per column where the definition has them. */
static void check_rows(test_env *t, kiln_row *op, row_kind kind, kiln_dtype dtype, int64_t rows,
                       int64_t length)
{
    const row_definition *d = &row_definitions[kind];
    const int64_t shape[2] = {rows, length};
    const double tolerance = row_tolerance(dtype);
    host_array in[3], out, *inputs[3];
    kiln_arg args[4];
    char what[120];

    for (size_t p = 0; p < d->input_count; p++) {
        const bool column = p > 0 && kind != ROW_COSINE;
        host_make(t, &in[p], dtype, column ? 1 : 2, column ? &shape[1] : shape, NULL);
        host_fill_random(t, &in[p]);
        host_send(t, &in[p]);
        inputs[p] = &in[p];
        args[p] = kiln_arg_array(in[p].array);
    }
    host_make(t, &out, d->row_out != NULL ? KILN_FLOAT64 : dtype, d->row_out != NULL ? 1 : 2, shape,
              NULL);
    args[d->input_count] = kiln_arg_array(out.array);
    snprintf(what, sizeof what, "%s of %s, %lld x %lld", d->name, kiln_dtype_name(dtype),
             (long long)rows, (long long)length);
    OK(t, row_run(op, 2u, false, args, d->input_count + 1, &t->err));
    host_rows(kind, inputs, d->row_out != NULL ? NULL : &out, d->row_out != NULL ? &out : NULL, 2,
              shape, 2u);
    host_close(t, &out, d->row_out != NULL ? 1e-5 : tolerance, tolerance, what);
    for (size_t p = 0; p < d->input_count; p++)
        host_free(&in[p]);
    host_free(&out);
}

static void test_row_norms__softmax_of_every_short_length(void **state)
{
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    for (int64_t length = 1; length <= 70; length++)
        check_rows(t, op, ROW_SOFTMAX, KILN_FLOAT32, 3 + length % 5, length);
    kiln_row_destroy(op);
}

/* Rows of a warp, of a block, of a cluster, of none of them; with tails and without. */
static void test_row_norms__softmax_of_long_rows(void **state)
{
    static const int64_t lengths[] = {999, 1000, 1024, 4095, 4096, 4097, 16384, 20000, 131072, 300000};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    for (size_t k = 0; k < COUNT(lengths); k++)
        check_rows(t, op, ROW_SOFTMAX, KILN_FLOAT32, lengths[k] > 100000 ? 2 : 5, lengths[k]);
    kiln_row_destroy(op);
}

/* Every definition in float32 where a row is held, and where it is not. */
static void test_row_norms__every_function_in_float32(void **state)
{
    static const int64_t lengths[] = {7, 1000, 16384, 40003, 131072};
    test_env *t = *state;
    for (int kind = 1; kind < ROW_KINDS; kind++) {
        kiln_row *op = row_make(t, (row_kind)kind);
        for (size_t k = 0; k < COUNT(lengths); k++)
            if (k == (size_t)kind % COUNT(lengths) || test_drawn(t))
                check_rows(t, op, (row_kind)kind, KILN_FLOAT32, 3, lengths[k]);
        kiln_row_destroy(op);
    }
}

/* 16-bit floats are reduced in float32: a sum of thousands of them does not stall. */
static void test_row_norms__dtypes(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64};
    static const row_kind kinds[] = {ROW_SOFTMAX, ROW_LAYER_NORM};
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        kiln_row *op = row_make(t, kinds[k]);
        for (size_t d = 0; d < COUNT(dtypes); d++) {
            if ((k + d) % 3 == 0 || test_drawn(t))
                check_rows(t, op, kinds[k], dtypes[d], 4, 1000);
            if ((k + d) % 3 == 1 || test_drawn(t))
                check_rows(t, op, kinds[k], dtypes[d], 2, 20000);
            if ((k + d) % 3 == 2 || test_drawn(t))
                check_rows(t, op, kinds[k], dtypes[d], 3, 70001);
        }
        kiln_row_destroy(op);
    }
}

/* Many rows: more than one block, a last block that is not full, clamped rows that store nothing. */
static void test_row_norms__many_short_rows(void **state)
{
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    check_rows(t, op, ROW_SOFTMAX, KILN_FLOAT32, 10007, 12);
    check_rows(t, op, ROW_SOFTMAX, KILN_FLOAT32, 100003, 3);
    kiln_row_destroy(op);
}

/* The order of combination is fixed: runs agree bit for bit. */
static void test_row_norms__runs_agree_bit_for_bit(void **state)
{
    static const int64_t lengths[] = {1000, 16384, 131072, 300000};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_LOG_SOFTMAX);
    for (size_t k = 0; k < COUNT(lengths); k++) {
        const int64_t shape[2] = {3, lengths[k]};
        const size_t bytes = (size_t)(3 * lengths[k]) * 4;
        unsigned char *first = malloc(bytes), *again = malloc(bytes);
        host_array x;
        kiln_array *y = NULL;
        host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
        host_fill_random(t, &x);
        host_send(t, &x);
        OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, &y));
        OK(t, kiln_array_to_host(y, first, bytes, NULL, &t->err));
        for (int run = 0; run < 3; run++) {
            OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x.array, &y));
            OK(t, kiln_array_to_host(y, again, bytes, NULL, &t->err));
            assert_memory_equal(first, again, bytes);
        }
        kiln_array_release(y);
        host_free(&x);
        free(first);
        free(again);
    }
    kiln_row_destroy(op);
}

/* Infinities and NaN go where the texts send them. */
static void test_row_norms__softmax_of_infinities_and_nan(void **state)
{
    test_env *t = *state;
    const float x[4][3] = {{0, -INFINITY, 0}, {1, NAN, 2}, {-INFINITY, -INFINITY, -INFINITY}, {88, 0, -88}};
    const int64_t shape[2] = {4, 3};
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    host_array in;
    kiln_array *y = NULL;
    float got[4][3];

    host_from(t, &in, KILN_FLOAT32, 2, shape, x);
    OK(t, kiln_call_over(op, KILN_AXES(-1), &t->err, in.array, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0][0] == 0.5f && got[0][1] == 0.0f && got[0][2] == 0.5f);
    for (int r = 1; r < 3; r++)
        for (int k = 0; k < 3; k++)
            assert_true(isnan(got[r][k]));
    assert_true(got[3][0] == 1.0f && got[3][2] < 1e-30f);
    kiln_array_release(y);
    host_free(&in);
    kiln_row_destroy(op);
}

/* z = x * w + b, in rows that begin at any address, with weights that begin at others, of small integers. */
static void check_weights(test_env *t, kiln_row *op, kiln_dtype dtype, kiln_dtype other,
                          int64_t length)
{
    const int64_t shape[2] = {9, length};
    host_array x, w, b, z;

    for (int off = 0; off < 3; off++) {
        const host_layout first = {{0}, {0}, (int32_t)test_random_below(t, 9)};
        const host_layout last = {{0}, {0}, (int32_t)test_random_below(t, 9)};
        host_make(t, &x, dtype, 2, shape, NULL);
        host_make(t, &w, other, 1, &shape[1], &first);
        host_make(t, &b, other, 1, &shape[1], &last);
        host_make(t, &z, dtype, 2, shape, NULL);
        host_fill_small(&x, 1), host_fill_small(&w, 2), host_fill_small(&b, 3);
        host_send(t, &x), host_send(t, &w), host_send(t, &b);
        const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(w.array),
                                 kiln_arg_array(b.array), kiln_arg_array(z.array)};
        OK(t, row_run(op, 2u, false, args, 4, &t->err));
        for (int64_t k = 0; k < shape[0] * length; k++) {
            const long double value = host_load(dtype, host_at(&x, k)).re;
            host_store(dtype, host_at(&z, k),
                       host_real(value * host_load(other, host_at(&w, k % length)).re +
                                 host_load(other, host_at(&b, k % length)).re));
        }
        host_compare(t, &z, 0, "x * w + b");
        host_free(&x), host_free(&w), host_free(&b), host_free(&z);
    }
}

static void test_row_norms__weights_begin_anywhere(void **state)
{
    static const struct {
        kiln_dtype dtype, other;
        int64_t length; /* of rows that are read in whole accesses wherever they begin */
    } cases[] = {{KILN_FLOAT16, KILN_FLOAT16, 1003},
                 {KILN_FLOAT32, KILN_INT8, 3001},
                 {KILN_FLOAT32, KILN_FLOAT32, 3001}};
    static const kiln_row_stage stage = {
        .map = "x", .type = "float", .reduce = "a + b", .identity = "0", .result = "total"};
    test_env *t = *state;
    kiln_row *op = NULL;

    OK(t, kiln_row_create(t->ctx, "T x, U w, U b", "T z", &stage, 1,
                          "z = x * w + b + (total != total)", NULL, &op, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++)
        check_weights(t, op, cases[k].dtype, cases[k].other, cases[k].length);
    kiln_row_destroy(op);
}

/* The least and the greatest of 16-bit floats, of which a GPU compares two at a time: a NaN wins. */
static void check_extremes(test_env *t, kiln_row *op, kiln_dtype dtype)
{
    enum { KINDS = 6, LENGTH = 136 };
    const int64_t shape[2] = {KINDS, LENGTH};
    double xs[KINDS][LENGTH], low[KINDS][LENGTH], high[KINDS][LENGTH];
    kiln_array *wide = NULL, *x = NULL, *results[2] = {NULL, NULL};

    for (int r = 0; r < KINDS; r++) {
        for (int k = 0; k < LENGTH; k++)
            xs[r][k] = r == 1   ? -INFINITY
                       : r == 2 ? INFINITY
                                : (double)test_random_below(t, 64) - (r == 3 ? 100 : 32);
        xs[r][test_random_below(t, LENGTH / 2)] = r == 3 ? INFINITY : r >= 4 ? NAN : xs[r][0];
        xs[r][LENGTH - 1] = r == 5 ? -INFINITY : xs[r][1];
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, xs, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
    OK(t, kiln_call_over(op, KILN_AXES(-1), &t->err, x, &results[0], &results[1]));
    OK(t, kiln_array_to_host(results[0], low, sizeof low, NULL, &t->err));
    OK(t, kiln_array_to_host(results[1], high, sizeof high, NULL, &t->err));
    for (int r = 0; r < KINDS; r++) {
        double least = xs[r][0], greatest = xs[r][0];
        for (int k = 1; k < LENGTH; k++) {
            least = xs[r][k] < least || isnan(xs[r][k]) ? xs[r][k] : least;
            greatest = xs[r][k] > greatest || isnan(xs[r][k]) ? xs[r][k] : greatest;
        }
        for (int k = 0; k < LENGTH; k++)
            CHECK(isnan(least) ? isnan(low[r][k]) && isnan(high[r][k])
                               : low[r][k] == least && high[r][k] == greatest,
                  "%s, row %d: %g to %g, not %g to %g", kiln_dtype_name(dtype), r, low[r][k],
                  high[r][k], least, greatest);
    }
    kiln_array_release(wide), kiln_array_release(x);
    kiln_array_release(results[0]), kiln_array_release(results[1]);
}

static void test_row_norms__extremes_of_16_bit_floats(void **state)
{
    static const kiln_row_stage stages[] = {{.map = "x",
                                             .type = "float",
                                             .reduce = "kiln_half_least(a, b)",
                                             .identity = "INFINITY",
                                             .result = "least"},
                                            {.map = "x",
                                             .type = "float",
                                             .reduce = "kiln_half_greatest(a, b)",
                                             .identity = "-INFINITY",
                                             .result = "greatest"}};
    test_env *t = *state;
    kiln_row *op = NULL;

    OK(t, kiln_row_create(t->ctx, "T x", "float64 low, float64 high", stages, 2,
                          "low = least; high = greatest", NULL, &op, &t->err));
    check_extremes(t, op, KILN_FLOAT16);
    check_extremes(t, op, KILN_BFLOAT16);
    kiln_row_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_row_norms__softmax_of_every_short_length),
        TEST(test_row_norms__softmax_of_long_rows),
        TEST(test_row_norms__every_function_in_float32),
        TEST(test_row_norms__dtypes),
        TEST(test_row_norms__many_short_rows),
        TEST(test_row_norms__runs_agree_bit_for_bit),
        TEST(test_row_norms__softmax_of_infinities_and_nan),
        TEST(test_row_norms__weights_begin_anywhere),
        TEST(test_row_norms__extremes_of_16_bit_floats),
    };
    return test_env_main(argc, argv, "test_row_norms", tests, COUNT(tests));
}
