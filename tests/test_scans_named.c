/*
 * test_scans_named.c - cumsum, cumprod, cummax and cummin: NumPy's dtypes and rules.
 *
 * Values are chosen so that every running value is exact in the dtype that NumPy gives, or wraps as
 * NumPy's integers do; a plain loop then gives what NumPy gives.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/scan.h"

static const int64_t shape[] = {5, 70};

/* ---- plain loops ---- */

static uint64_t wrapped(long double v)
{
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static void add_wrapping(host_state *s, const host_value *in, int64_t place)
{
    (void)place;
    s->u += wrapped(in[0].re);
    s->v.re += in[0].re;
    s->v.im += in[0].im;
}

/* `count` tells whether there was anything: the product of nothing is 1. */
static void multiply_wrapping(host_state *s, const host_value *in, int64_t place)
{
    const host_value a = s->count > 0 ? s->v : host_real(1), b = in[0];

    (void)place;
    s->u = s->count > 0 ? s->u * wrapped(b.re) : wrapped(b.re);
    s->v.re = a.re * b.re - a.im * b.im;
    s->v.im = a.re * b.im + a.im * b.re;
    s->count++;
}

static void keep_greatest(host_state *s, const host_value *in, int64_t place)
{
    (void)place;
    if (s->count++ == 0 || in[0].re > s->v.re || isnan((double)in[0].re) ||
        (in[0].re == s->v.re && in[0].im > s->v.im))
        s->v = in[0];
}

static void keep_least(host_state *s, const host_value *in, int64_t place)
{
    (void)place;
    if (s->count++ == 0 || in[0].re < s->v.re || isnan((double)in[0].re) ||
        (in[0].re == s->v.re && in[0].im < s->v.im))
        s->v = in[0];
}

static void tell_value(const host_state *s, int64_t place, int64_t n, host_value *out)
{
    (void)place;
    (void)n;
    out[0] = s->v;
}

static void tell_signed(const host_state *s, int64_t place, int64_t n, host_value *out)
{
    (void)place;
    (void)n;
    out[0] = host_real((long double)(int64_t)s->u);
}

static void tell_unsigned(const host_state *s, int64_t place, int64_t n, host_value *out)
{
    (void)place;
    (void)n;
    out[0] = host_real((long double)s->u);
}

static const host_scan_step steps[] = {
    [KILN_SCAN_CUMSUM] = add_wrapping,
    [KILN_SCAN_CUMPROD] = multiply_wrapping,
    [KILN_SCAN_CUMMAX] = keep_greatest,
    [KILN_SCAN_CUMMIN] = keep_least,
};

/* ---- every dtype ---- */

/* Powers of two and signs for products; else small integers. */
static void fill(host_array *x, kiln_scan_op op)
{
    static const float factors[] = {1, -1, 2, 1, 0.5f, -1, 1, 2, 1, 0.5f, 1};

    host_fill_small(x, (unsigned)op);
    if (op != KILN_SCAN_CUMPROD)
        return;
    const char kind = kiln_dtype_kind(x->dtype);
    for (int64_t k = 0; k < host_size(x); k++) {
        host_value v = host_real(strchr("biu", kind) != NULL ? (long double)(k % 7 + 1)
                                                             : (long double)factors[k % 11]);
        if (kind == 'c' && k % 3 == 0)
            v = (host_value){0, v.re};
        host_store(x->dtype, host_at(x, k), v);
    }
}

static void check_named(test_env *t, kiln_scan_op op, kiln_dtype dtype, kiln_dtype result)
{
    const char kind = kiln_dtype_kind(result);
    host_scanning want_of = {steps[op], tell_value};
    host_array x, want, *in[] = {&x}, *out[] = {&want};
    kiln_array *y = NULL;
    char what[80];

    if (op <= KILN_SCAN_CUMPROD && kind == 'i')
        want_of.tell = tell_signed;
    if (op <= KILN_SCAN_CUMPROD && kind == 'u')
        want_of.tell = tell_unsigned;
    snprintf(what, sizeof what, "%s of %s", kiln_scan_op_name(op), kiln_dtype_name(dtype));
    host_make(t, &x, dtype, 2, shape, NULL);
    fill(&x, op);
    host_send(t, &x);
    host_make(t, &want, result, 2, shape, NULL);
    host_scan(in, 1, out, 1, 2, shape, 1, 0, &want_of);
    OK(t, kiln_array_scan(op, x.array, KILN_AXES(1), 0, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), result);
    host_compare_elements(t, y, &want, 0, what);
    kiln_array_release(y);
    host_free(&x);
    host_free(&want);
}

/* numpy.cumsum(numpy.zeros(1, dtype)).dtype on 64-bit Linux, and the same of cumprod. */
static kiln_dtype sum_dtype(kiln_dtype dtype)
{
    switch (kiln_dtype_kind(dtype)) {
    case 'b':
    case 'i':
        return KILN_INT64;
    case 'u':
        return KILN_UINT64;
    default:
        return dtype;
    }
}

static void test_scans__cumsum_of_every_dtype(void **state)
{
    for (int dtype = KILN_BOOL; dtype <= KILN_COMPLEX128; dtype++)
        if (dtype == KILN_FLOAT32 || test_drawn(*state))
            check_named(*state, KILN_SCAN_CUMSUM, (kiln_dtype)dtype, sum_dtype((kiln_dtype)dtype));
}

static void test_scans__cumprod_of_every_kind(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_BOOL,    KILN_INT8,    KILN_UINT16,   KILN_INT64,
                                        KILN_FLOAT16, KILN_FLOAT32, KILN_COMPLEX64};

    for (size_t k = 0; k < COUNT(dtypes); k++)
        if (test_drawn(*state))
            check_named(*state, KILN_SCAN_CUMPROD, dtypes[k], sum_dtype(dtypes[k]));
}

static void test_scans__cummax_and_cummin_of_every_kind(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_BOOL,    KILN_INT8,     KILN_UINT64,
                                        KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64,
                                        KILN_COMPLEX64};

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        if (test_drawn(*state))
            check_named(*state, KILN_SCAN_CUMMAX, dtypes[k], dtypes[k]);
        if (test_drawn(*state))
            check_named(*state, KILN_SCAN_CUMMIN, dtypes[k], dtypes[k]);
    }
}

/* ---- particular values ---- */

/* The scan of four values, as the array of their dtype. */
static void four(test_env *t, kiln_scan_op op, kiln_dtype dtype, const void *values, unsigned flags,
                 void *got, size_t got_bytes)
{
    static const int64_t length[] = {4};
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_from_host(t->ctx, dtype, 1, length, values, NULL, &x, &t->err));
    OK(t, kiln_array_scan(op, x, KILN_AXES(0), flags, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, got_bytes, NULL, &t->err));
    kiln_array_release(x);
    kiln_array_release(y);
}

/* numpy: cumsum, cumprod, maximum.accumulate, minimum.accumulate of [1, nan, 3, -inf] */
static void test_scans__from_a_nan_on_everything_is_nan(void **state)
{
    const float values[] = {1, NAN, 3, -INFINITY};
    float got[4];

    for (int op = KILN_SCAN_CUMSUM; op <= KILN_SCAN_CUMMIN; op++) {
        four(*state, (kiln_scan_op)op, KILN_FLOAT32, values, 0, got, sizeof got);
        CHECK(got[0] == 1 && isnan(got[1]) && isnan(got[2]) && isnan(got[3]), "%s: %g %g %g %g",
              kiln_scan_op_name((kiln_scan_op)op), (double)got[0], (double)got[1], (double)got[2],
              (double)got[3]);
    }
}

static void test_scans__the_sum_of_negative_zeros_is_negative_zero(void **state)
{
    const float values[] = {-0.0f, -0.0f, -0.0f, 0.0f};
    float got[4];

    four(*state, KILN_SCAN_CUMSUM, KILN_FLOAT32, values, 0, got, sizeof got);
    assert_true(signbit(got[0]) && signbit(got[1]) && signbit(got[2]) && !signbit(got[3]));
}

static void test_scans__exclusive_ones_begin_with_the_identity(void **state)
{
    const float values[] = {2, 3, 5, 7};
    const int16_t integers[] = {2, -3, 5, 7};
    const float sums[] = {0, 2, 5, 10}, products[] = {105, 35, 7, 1};
    const float greatest[] = {-INFINITY, 2, 3, 5}, least[] = {3, 5, 7, INFINITY};
    float got[4];
    int16_t got16[4];

    four(*state, KILN_SCAN_CUMSUM, KILN_FLOAT32, values, KILN_SCAN_EXCLUSIVE, got, sizeof got);
    assert_memory_equal(got, sums, sizeof got);
    four(*state, KILN_SCAN_CUMPROD, KILN_FLOAT32, values, KILN_SCAN_EXCLUSIVE | KILN_SCAN_REVERSE,
         got, sizeof got);
    assert_memory_equal(got, products, sizeof got);
    four(*state, KILN_SCAN_CUMMAX, KILN_FLOAT32, values, KILN_SCAN_EXCLUSIVE, got, sizeof got);
    assert_memory_equal(got, greatest, sizeof got);
    four(*state, KILN_SCAN_CUMMIN, KILN_FLOAT32, values, KILN_SCAN_EXCLUSIVE | KILN_SCAN_REVERSE,
         got, sizeof got);
    assert_memory_equal(got, least, sizeof got);
    four(*state, KILN_SCAN_CUMMAX, KILN_INT16, integers, KILN_SCAN_EXCLUSIVE, got16, sizeof got16);
    assert_memory_equal(got16, ((const int16_t[]){INT16_MIN, 2, 2, 5}), sizeof got16);
    four(*state, KILN_SCAN_CUMMIN, KILN_INT16, integers, KILN_SCAN_EXCLUSIVE, got16, sizeof got16);
    assert_memory_equal(got16, ((const int16_t[]){INT16_MAX, 2, -3, -3}), sizeof got16);
}

/* numpy.cumsum(numpy.array([2**63 - 1, 1, ...])) wraps. */
static void test_scans__integers_wrap(void **state)
{
    const int64_t values[] = {INT64_MAX, 1, 1, -1};
    int64_t got[4];

    four(*state, KILN_SCAN_CUMSUM, KILN_INT64, values, 0, got, sizeof got);
    assert_true(got[0] == INT64_MAX && got[1] == INT64_MIN && got[2] == INT64_MIN + 1 &&
                got[3] == INT64_MIN);
}

/* ---- outputs of another dtype ---- */

/* The cumsum of x into an output of `dtype` that is given. */
static void sum_into(test_env *t, kiln_dtype x_dtype, const void *values, kiln_dtype dtype,
                     void *got, size_t got_bytes)
{
    static const int64_t length[] = {4};
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_from_host(t->ctx, x_dtype, 1, length, values, NULL, &x, &t->err));
    OK(t, kiln_array_empty(t->ctx, dtype, 1, length, &y, &t->err));
    OK(t, kiln_array_scan(KILN_SCAN_CUMSUM, x, KILN_AXES(0), 0, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, got_bytes, NULL, &t->err));
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_scans__outputs_of_another_dtype(void **state)
{
    const int8_t small[] = {-100, -100, 50, 7};
    const float thirds[] = {0.1f, 0.1f, 0.1f, 1e8f};
    double wide[4], parts[8];
    int32_t narrow[4];
    float single[4];

    sum_into(*state, KILN_INT8, small, KILN_FLOAT64, wide, sizeof wide);
    assert_memory_equal(wide, ((const double[]){-100, -200, -150, -143}), sizeof wide);
    sum_into(*state, KILN_INT8, small, KILN_INT32, narrow, sizeof narrow);
    assert_memory_equal(narrow, ((const int32_t[]){-100, -200, -150, -143}), sizeof narrow);
    sum_into(*state, KILN_INT8, small, KILN_COMPLEX128, parts, sizeof parts);
    assert_memory_equal(parts, ((const double[]){-100, 0, -200, 0, -150, 0, -143, 0}),
                        sizeof parts);
    sum_into(*state, KILN_FLOAT32, thirds, KILN_FLOAT64, wide, sizeof wide);
    assert_true(wide[2] == (double)0.1f + (double)0.1f + (double)0.1f); /* not rounded to float32 */
    assert_true(wide[3] == wide[2] + 1e8);
    sum_into(*state, KILN_FLOAT64, ((const double[]){0.1, 0.1, 0.1, 0.1}), KILN_FLOAT32, single,
             sizeof single);
    assert_true(single[0] == (float)0.1 && single[2] == (float)(0.1 + 0.1 + 0.1));
}

/* ---- in graphs ---- */

/* float64 results of a vector or of rows of seven. */
static void read_doubles(test_env *t, const kiln_array *x, double *values, size_t count)
{
    assert_int_equal(kiln_array_dtype(x), KILN_FLOAT64);
    assert_int_equal(kiln_array_size(x), count);
    OK(t, kiln_array_to_host(x, values, count * sizeof *values, NULL, &t->err));
}

/* What is scanned is computed before, what is made of it after; down columns, along rows, of all elements. */
static void test_scans__steps_of_graphs(void **state)
{
    enum { ROWS = 5, COLUMNS = 7, ALL = ROWS * COLUMNS };
    static const char *const names[] = {"x"};
    test_env *t = *state;
    double numbers[ALL], down[ALL], along[ALL], every[ALL];
    kiln_array *x = NULL, *turned = NULL, *y[3] = {NULL};
    kiln_graph *g = NULL;

    for (int k = 0; k < ALL; k++)
        numbers[k] = (double)test_random_below(t, 100) - 50;
    /* x is given as the transpose of (COLUMNS, ROWS), so that its rows are not in memory order. */
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (int64_t[]){COLUMNS, ROWS}, numbers, NULL,
                               &turned, &t->err));
    OK(t, kiln_array_transpose(turned, NULL, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx,
                           "y = x * 2; cumsum(y, axis=0) + 1, cummax(y, 1) - y, x.cumsum() * 3",
                           names, 1, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, &y[0], &y[1], &y[2]));
    read_doubles(t, y[0], down, ALL);
    read_doubles(t, y[1], along, ALL);
    assert_int_equal(kiln_array_rank(y[2]), 1);
    read_doubles(t, y[2], every, ALL);
    double all = 0;
    for (int r = 0; r < ROWS; r++) {
        double greatest = -HUGE_VAL;
        for (int c = 0; c < COLUMNS; c++) {
            const double v = numbers[c * ROWS + r];
            double above = 0;
            for (int k = 0; k <= r; k++)
                above += 2 * numbers[c * ROWS + k];
            greatest = 2 * v > greatest ? 2 * v : greatest;
            all += v;
            assert_true(down[r * COLUMNS + c] == above + 1);
            assert_true(along[r * COLUMNS + c] == greatest - 2 * v);
            assert_true(every[r * COLUMNS + c] == all * 3);
        }
    }
    for (int k = 0; k < 3; k++)
        kiln_array_release(y[k]);
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(turned);
}

/* The function of C; int8 becomes int64, as at once. */
static void test_scans__recorded_as_nodes(void **state)
{
    static const int8_t numbers[] = {100, 100, -50, 7};
    test_env *t = *state;
    int64_t sums[4];
    kiln_array *x = NULL, *y = NULL;
    kiln_graph *g = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT8, 1, (int64_t[]){4}, numbers, NULL, &x, &t->err));
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node in = kiln_graph_input(g, "x");
    kiln_graph_output(g, "y", kiln_node_scan(KILN_SCAN_CUMSUM, in, KILN_AXES(0), KILN_HERE));
    OK(t, kiln_call(g, &t->err, x, &y));
    OK(t, kiln_array_to_host(y, sums, sizeof sums, NULL, &t->err));
    assert_memory_equal(sums, ((const int64_t[]){100, 200, 150, 157}), sizeof sums);
    kiln_graph_destroy(g);

    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node other = kiln_graph_input(g, "x");
    kiln_graph_output(g, "y", kiln_node_scan(KILN_SCAN_CUMSUM, other, KILN_AXES(1), KILN_HERE));
    kiln_array_release(y);
    y = NULL;
    FAILS(t, KILN_ERR_AXIS, kiln_call(g, &t->err, x, &y), "cumsum", "axis 1");
    kiln_graph_destroy(g);
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node third = kiln_graph_input(g, "x");
    kiln_graph_output(g, "y", kiln_node_scan((kiln_scan_op)9, third, NULL, KILN_HERE));
    FAILS(t, KILN_ERR_NAME, kiln_call(g, &t->err, x, &y), "no function `unknown`");
    kiln_graph_destroy(g);
    kiln_array_release(x);
}

/* ---- names and refusals ---- */

static void test_scans__names(void **state)
{
    (void)state;
    assert_string_equal(kiln_scan_op_name(KILN_SCAN_CUMSUM), "cumsum");
    assert_string_equal(kiln_scan_op_name(KILN_SCAN_CUMMIN), "cummin");
    assert_string_equal(kiln_scan_op_name((kiln_scan_op)99), "unknown");
}

static void test_scans__named_calls_that_are_refused(void **state)
{
    static const int64_t length[] = {4};
    test_env *t = *state;
    kiln_array *z = NULL, *x = NULL, *y = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_COMPLEX64, 1, length, &z, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_INT8, 1, length, &x, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_scan(KILN_SCAN_CUMSUM, z, NULL, 0, &x, &t->err),
          "complex64", "int8", "go into");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_scan((kiln_scan_op)0, x, NULL, 0, &y, &t->err), "0");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_scan((kiln_scan_op)5, x, NULL, 0, &y, &t->err), "5");
    FAILS(t, KILN_ERR_NULL, kiln_array_scan(KILN_SCAN_CUMSUM, NULL, NULL, 0, &y, &t->err), "array");
    FAILS(t, KILN_ERR_NULL, kiln_array_scan(KILN_SCAN_CUMSUM, x, NULL, 0, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_AXIS, kiln_array_scan(KILN_SCAN_CUMSUM, x, KILN_AXES(1), 0, &y, &t->err),
          "axis 1", "rank 1");
    assert_null(y);
    kiln_array_release(z);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scans__cumsum_of_every_dtype),
        TEST(test_scans__cumprod_of_every_kind),
        TEST(test_scans__cummax_and_cummin_of_every_kind),
        TEST(test_scans__from_a_nan_on_everything_is_nan),
        TEST(test_scans__the_sum_of_negative_zeros_is_negative_zero),
        TEST(test_scans__exclusive_ones_begin_with_the_identity),
        TEST(test_scans__integers_wrap),
        TEST(test_scans__outputs_of_another_dtype),
        TEST(test_scans__steps_of_graphs),
        TEST(test_scans__recorded_as_nodes),
        TEST(test_scans__names),
        TEST(test_scans__named_calls_that_are_refused),
    };
    return test_env_main(argc, argv, "test_scans_named", tests, COUNT(tests));
}
