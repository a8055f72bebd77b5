/*
 * test_matmul.c - kiln_matmul() against plain loops, and against shapes and values of NumPy.
 *
 * ctest runs it on the cpu device with the BLAS that is found, with none ($KILN_BLAS=none) and with one that
 * is named, and on a GPU, an emulated one with a stand-in for cuBLASLt among them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "matmul_oracle.h"

static const kiln_dtype all_dtypes[] = {
    KILN_BOOL,          KILN_INT8,        KILN_INT16,   KILN_INT32,     KILN_INT64,
    KILN_UINT8,         KILN_UINT16,      KILN_UINT32,  KILN_UINT64,    KILN_FLOAT16,
    KILN_BFLOAT16,      KILN_FLOAT32,     KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128,
    KILN_FLOAT8_E4M3FN, KILN_FLOAT8_E5M2,
};

static kiln_dtype product_dtype(kiln_dtype dtype)
{
    if (dtype == KILN_FLOAT8_E4M3FN || dtype == KILN_FLOAT8_E5M2)
        return KILN_FLOAT32;
    return dtype == KILN_INT8 ? KILN_INT32 : dtype;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_matmul__multiplies_in_every_dtype(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 5, 2}, {17, 33, 9}, {40, 7, 65}};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(all_dtypes); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            const int64_t *n = sizes[s];
            kiln_array *a = random_array(t, all_dtypes[d], 2, (const int64_t[]){n[0], n[1]});
            kiln_array *b = random_array(t, all_dtypes[d], 2, (const int64_t[]){n[1], n[2]});
            kiln_array *y = NULL;
            OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
            assert_int_equal(kiln_array_dtype(y), product_dtype(all_dtypes[d]));
            check_product(t, a, b, y, &plain);
            kiln_array_release(a);
            kiln_array_release(b);
            kiln_array_release(y);
        }
}

typedef struct shape_case {
    int a_rank;
    int64_t a[4];
    int b_rank;
    int64_t b[4];
    int y_rank;
    int64_t y[4];
    double sum, last;
} shape_case;

static const shape_case shape_cases[] = {
#include "data/matmul.inc"
};

static kiln_array *seven(test_env *t, int rank, const int64_t *shape)
{
    double data[256];
    kiln_array *x = NULL;

    for (size_t k = 0; k < COUNT(data); k++)
        data[k] = (double)(k % 7);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, shape, data, NULL, &x, &t->err));
    return x;
}

static void test_matmul__has_the_shapes_and_values_of_numpy(void **state)
{
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(shape_cases); c++) {
        const shape_case *want = &shape_cases[c];
        kiln_array *a = seven(t, want->a_rank, want->a), *b = seven(t, want->b_rank, want->b);
        kiln_array *y = NULL;
        OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
        CHECK(kiln_array_rank(y) == want->y_rank, "case %zu: rank %d", c, kiln_array_rank(y));
        for (int k = 0; k < want->y_rank; k++)
            CHECK(kiln_array_shape(y)[k] == want->y[k], "case %zu, axis %d", c, k);
        const int64_t size = kiln_array_size(y);
        double *got = elements(t, y), sum = 0;
        for (int64_t k = 0; k < size; k++)
            sum += got[k];
        CHECK(sum == want->sum, "case %zu: the sum is %g, not %g", c, sum, want->sum);
        if (size > 0)
            CHECK(got[size - 1] == want->last, "case %zu: the last is %g", c, got[size - 1]);
        free(got);
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(y);
    }
}

static void test_matmul__takes_operands_and_outputs_of_any_strides(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_COMPLEX128, KILN_FLOAT16, KILN_INT16};
    enum { M = 13, K = 10, N = 9, OUTPUTS = 6 };
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int way = 0; way < WAYS * WAYS; way++) {
            kiln_array *a = in_way(t, dtypes[d], way / WAYS, M, K);
            kiln_array *b = in_way(t, dtypes[d], way % WAYS, K, N);
            kiln_array *y = in_way(t, dtypes[d], way % OUTPUTS, M, N), *given = y;
            OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
            assert_ptr_equal(y, given);
            check_product(t, a, b, y, &plain);
            kiln_array_release(a);
            kiln_array_release(b);
            kiln_array_release(y);
        }
}

/* Stacks with odd strides: each matrix is checked by itself. */
static void test_matmul__broadcasts_stacks_of_any_strides(void **state)
{
    static const struct {
        int64_t a[4], b[4];
        const char *a_view, *b_view;
    } cases[] = {
        {{3, 4, 5, 6}, {3, 4, 6, 2}, "...", "..."},
        {{6, 4, 5, 6}, {3, 1, 6, 2}, "::2", "..."},
        {{3, 4, 5, 6}, {1, 4, 6, 2}, "::-1, ::-1", ":, ::-1"},
        {{3, 4, 1, 6}, {1, 1, 6, 2}, "...", "..."},
        {{3, 4, 5, 6}, {1, 1, 6, 2}, "...", "..."},
        {{1, 1, 5, 6}, {3, 4, 6, 1}, "...", "..."},
        {{3, 4, 1, 6}, {1, 1, 6, 2}, "::-1", "..."},
        {{1, 4, 5, 6}, {3, 1, 6, 2}, "...", "..."},
    };
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_INT32, KILN_COMPLEX64};
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases) * COUNT(dtypes); c++) {
        const kiln_dtype dtype = dtypes[c % COUNT(dtypes)];
        kiln_array *a_base = random_array(t, dtype, 4, cases[c / COUNT(dtypes)].a);
        kiln_array *b_base = random_array(t, dtype, 4, cases[c / COUNT(dtypes)].b);
        kiln_array *a = NULL, *b = NULL, *y = NULL;
        OK(t, kiln_array_view(a_base, cases[c / COUNT(dtypes)].a_view, &a, &t->err));
        OK(t, kiln_array_view(b_base, cases[c / COUNT(dtypes)].b_view, &b, &t->err));
        OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
        const int64_t *as = kiln_array_shape(a), *bs = kiln_array_shape(b);
        const oracle o = {.m = as[2], .k = as[3], .n = bs[3], .alpha = 1};
        char *left = elements(t, a), *right = elements(t, b), *got = elements(t, y);
        const int64_t item = (int64_t)kiln_dtype_size(dtype);
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 4; j++) {
                const int64_t nth_a = (as[0] > 1 ? i : 0) * as[1] + (as[1] > 1 ? j : 0);
                const int64_t nth_b = (bs[0] > 1 ? i : 0) * bs[1] + (bs[1] > 1 ? j : 0);
                check_matrix(&o, dtype, left + nth_a * o.m * o.k * item,
                             right + nth_b * o.k * o.n * item, dtype, got, (i * 4 + j) * o.m * o.n);
            }
        free(left);
        free(right);
        free(got);
        kiln_array *const all[] = {a_base, b_base, a, b, y};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* Large enough for several blocks and slices of kiln's own product, with edges in each direction. */
static void test_matmul__multiplies_large_matrices(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64,
                                        KILN_INT32,   KILN_INT64,   KILN_BFLOAT16};
    test_env *t = *state;
    /* The emulated GPU takes a microsecond for each product of two elements, and so do oracle and sanitizers. */
    const int64_t m = test_whole(t) ? 203 : 67, k = 531, n = test_whole(t) ? 517 : 261;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *a = random_array(t, dtypes[d], 2, (const int64_t[]){m, k});
        kiln_array *b = random_array(t, dtypes[d], 2, (const int64_t[]){k, n});
        kiln_array *y = NULL;
        OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
        check_product(t, a, b, y, &plain);
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(y);
    }
}

/* NumPy: np.array([[1, np.nan], [2, 3]]) @ np.array([[1., 2], [0, 4]]) has NaN in row 0 only; an infinity
 * times 0 is NaN. */
static void test_matmul__keeps_nan_and_infinity(void **state)
{
    const float x[] = {1, NAN, INFINITY, 3}, w[] = {1, 2, 0, 4};
    test_env *t = *state;
    kiln_array *a = NULL, *b = NULL, *y = NULL;
    float got[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){2, 2}, x, NULL, &a,
                               &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){2, 2}, w, NULL, &b,
                               &t->err));
    OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(isnan(got[0]) && isnan(got[1]));
    assert_true(isinf(got[2]) && isinf(got[3]));
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(y);
}

/* np.maximum(x @ w, 0): every row of x is 0 but for a number in its first place, and w is 1 everywhere. A NaN stays
 * NaN behind relu, whether a library computes relu within the product or a kernel behind it. */
static void check_relu(test_env *t, kiln_dtype dtype, bool with_bias)
{
    static const double firsts[] = {1, -1, NAN, 0, INFINITY, -INFINITY};
    enum { ROWS = 64, WIDE = 64 };
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    double x[ROWS * WIDE] = {0}, w[WIDE * WIDE];
    kiln_array *exact = NULL, *a = NULL, *b = NULL, *bias = NULL, *y = NULL, *wide = NULL;

    for (int k = 0; k < WIDE * WIDE; k++)
        w[k] = 1;
    for (int row = 0; row < ROWS; row++)
        x[row * WIDE] = firsts[row % (int)COUNT(firsts)];
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){ROWS, WIDE}, x, NULL,
                               &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &a, &t->err));
    kiln_array_release(exact);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){WIDE, WIDE}, w, NULL,
                               &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &b, &t->err));
    OK(t, kiln_array_zeros(t->ctx, dtype, 1, (const int64_t[]){WIDE}, &bias, &t->err));
    options.bias = with_bias ? bias : NULL;
    options.epilogue = KILN_EPILOGUE_RELU;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, x, sizeof x, NULL, &t->err));
    for (int k = 0; k < ROWS * WIDE; k++) {
        const double first = firsts[k / WIDE % (int)COUNT(firsts)], want = first < 0 ? 0 : first;
        CHECK(isnan(want) ? isnan(x[k]) : x[k] == want, "%s%s: relu of %g is %g",
              kiln_dtype_name(dtype), with_bias ? ", with a bias" : "", first, x[k]);
    }
    kiln_array *const all[] = {exact, a, b, bias, y, wide};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_matmul__relu_keeps_nan(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64};

    for (size_t k = 0; k < COUNT(dtypes); k++)
        for (int bias = 0; bias < 2; bias++)
            check_relu(*state, dtypes[k], bias != 0);
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

static void test_matmul__promotes_and_casts(void **state)
{
    static const struct {
        kiln_dtype a, b, asked, want;
    } cases[] = {
        {KILN_FLOAT32, KILN_FLOAT64, KILN_DTYPE_NONE, KILN_FLOAT64},
        {KILN_INT32, KILN_FLOAT32, KILN_DTYPE_NONE, KILN_FLOAT64},
        {KILN_INT8, KILN_UINT8, KILN_DTYPE_NONE, KILN_INT16},
        {KILN_BOOL, KILN_INT64, KILN_DTYPE_NONE, KILN_INT64},
        {KILN_FLOAT16, KILN_COMPLEX64, KILN_DTYPE_NONE, KILN_COMPLEX64},
        {KILN_INT8, KILN_INT8, KILN_INT8, KILN_INT8},
        {KILN_FLOAT16, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT32},
        {KILN_BFLOAT16, KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT32},
    };
    enum { M = 4, K = 40, N = 3 };
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
        kiln_array *a = random_array(t, cases[c].a, 2, (const int64_t[]){M, K});
        kiln_array *b = random_array(t, cases[c].b, 2, (const int64_t[]){K, N});
        kiln_array *y = NULL;
        options.dtype = cases[c].asked;
        OK(t, kiln_matmul(a, b, &options, &y, &t->err));
        assert_int_equal(kiln_array_dtype(y), cases[c].want);
        void *left = elements(t, a), *right = elements(t, b), *got = elements(t, y);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                double complex want = 0;
                for (int64_t k = 0; k < K; k++)
                    want += value_at(cases[c].a, left, i * K + k) *
                            value_at(cases[c].b, right, k * N + j);
                want = wrapped(cases[c].want, want);
                assert_true(value_at(cases[c].want, got, i * N + j) == want);
            }
        free(left);
        free(right);
        free(got);
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(y);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static void test_matmul__adds_and_finishes(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64,
                                        KILN_COMPLEX64};
    enum { M = 7, K = 6, N = 5 };
    test_env *t = *state;

    for (unsigned bits = 0; bits < 3 * 16 * COUNT(dtypes); bits++) {
        const kiln_dtype dtype = dtypes[bits / 48];
        const kiln_epilogue epilogue = (kiln_epilogue)(bits % 48 / 16);
        kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
        oracle o = {.alpha = (bits & 1) != 0 ? -0.5 : 1, .beta = (bits & 2) != 0 ? 2 : 1};
        if (epilogue != KILN_EPILOGUE_NONE && kiln_dtype_kind(dtype) == 'c')
            continue;
        kiln_array *a = random_array(t, dtype, 2, (const int64_t[]){M, K});
        kiln_array *b = random_array(t, dtype, 2, (const int64_t[]){K, N});
        kiln_array *c = random_array(t, dtype, 2, (const int64_t[]){M, N});
        kiln_array *bias = random_array(t, dtype, 1, (const int64_t[]){N});
        kiln_array *y = NULL;
        void *c_data = elements(t, c), *bias_data = elements(t, bias);
        options.alpha = o.alpha;
        options.beta = o.beta;
        options.epilogue = o.epilogue = epilogue;
        if ((bits & 4) != 0) {
            options.c = c;
            o.c = c_data;
        }
        if ((bits & 8) != 0) {
            options.bias = bias;
            o.bias = bias_data;
        }
        OK(t, kiln_matmul(a, b, &options, &y, &t->err));
        check_product(t, a, b, y, &o);
        free(c_data);
        free(bias_data);
        kiln_array *const all[] = {a, b, c, bias, y};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* c of one row, the bias a number, and y = c: what broadcasts and what is in place. */
static void test_matmul__broadcasts_what_is_added(void **state)
{
    enum { M = 4, K = 3, N = 5 };
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *a = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){M, K});
    kiln_array *b = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){K, N});
    kiln_array *row = random_array(t, KILN_FLOAT32, 1, (const int64_t[]){N});
    kiln_array *one = random_array(t, KILN_FLOAT64, 0, NULL), *y = NULL;
    float *first = elements(t, row);
    double *number = elements(t, one);
    float c[M * N], bias[N];
    oracle o = {.alpha = 1, .beta = 1, .c = c, .bias = bias};

    for (int k = 0; k < M * N; k++)
        c[k] = first[k % N];
    for (int k = 0; k < N; k++)
        bias[k] = (float)*number;
    options.c = row;
    options.bias = one;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    check_product(t, a, b, y, &o);
    float *before = elements(t, y);
    o = (oracle){.alpha = 1, .beta = 1, .c = before};
    options.c = y;
    options.bias = NULL;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    check_product(t, a, b, y, &o);
    free(before);
    free(first);
    free(number);
    kiln_array *const all[] = {a, b, row, one, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* With k = 0 the product is zero; what is added stays. */
static void test_matmul__adds_to_an_empty_product(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *a = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){3, 0});
    kiln_array *b = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){0, 4});
    kiln_array *bias = random_array(t, KILN_FLOAT32, 1, (const int64_t[]){4}), *y = NULL;
    float *want = elements(t, bias);

    options.bias = bias;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    float *got = elements(t, y);
    for (int k = 0; k < 12; k++)
        assert_true(got[k] == want[k % 4]);
    free(got);
    free(want);
    kiln_array *const all[] = {a, b, bias, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void test_matmul__writes_an_output_that_overlaps_an_operand(void **state)
{
    enum { N = 6 };
    test_env *t = *state;
    kiln_array *a = random_array(t, KILN_FLOAT64, 2, (const int64_t[]){N, N});
    kiln_array *b = random_array(t, KILN_FLOAT64, 2, (const int64_t[]){N, N});
    void *left = elements(t, a), *right = elements(t, b);
    const oracle o = {.m = N, .k = N, .n = N, .alpha = 1};
    kiln_array *y = a;

    OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
    assert_ptr_equal(y, a);
    void *got = elements(t, a);
    check_matrix(&o, KILN_FLOAT64, left, right, KILN_FLOAT64, got, 0);
    free(left);
    free(right);
    free(got);
    kiln_array_release(a);
    kiln_array_release(b);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_matmul__refuses_shapes(void **state)
{
    static const struct {
        int a_rank;
        int64_t a[3];
        int b_rank;
        int64_t b[3];
        const char *a_text, *b_text, *why;
    } cases[] = {
        {2, {2, 3}, 2, {4, 5}, "(2, 3)", "(4, 5)", "3 columns do not meet 4 rows"},
        {1, {3}, 1, {4}, "(3,)", "(4,)", "3 columns do not meet 4 rows"},
        {0, {0}, 2, {4, 5}, "()", "(4, 5)", "must have an axis"},
        {2, {4, 5}, 0, {0}, "(4, 5)", "()", "must have an axis"},
        {3, {2, 4, 5}, 3, {3, 5, 6}, "(2, 4, 5)", "(3, 5, 6)", "stacks do not broadcast"},
    };
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_array *a = random_array(t, KILN_FLOAT32, cases[c].a_rank, cases[c].a);
        kiln_array *b = random_array(t, KILN_FLOAT32, cases[c].b_rank, cases[c].b), *y = NULL;
        FAILS(t, KILN_ERR_SHAPE, kiln_matmul(a, b, NULL, &y, &t->err), cases[c].a_text,
              cases[c].b_text, cases[c].why);
        assert_null(y);
        kiln_array_release(a);
        kiln_array_release(b);
    }
}

static void test_matmul__refuses_arguments(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    const int64_t square[] = {3, 3}, other[] = {2, 3};
    kiln_array *x = random_array(t, KILN_FLOAT32, 2, square), *y = NULL, *wide = NULL;
    kiln_array *i = random_array(t, KILN_INT32, 2, square);
    kiln_array *z = random_array(t, KILN_COMPLEX64, 2, square);
    kiln_array *wrong = random_array(t, KILN_FLOAT32, 2, other);

    FAILS(t, KILN_ERR_NULL, kiln_matmul(NULL, x, NULL, &y, &t->err), "`a`");
    FAILS(t, KILN_ERR_NULL, kiln_matmul(x, NULL, NULL, &y, &t->err), "`b`");
    FAILS(t, KILN_ERR_NULL, kiln_matmul(x, x, NULL, NULL, &t->err), "`out`");
    FAILS(t, KILN_ERR_OUTPUT, kiln_matmul(x, x, NULL, &wrong, &t->err), "(2, 3)", "(3, 3)");
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(x, x, NULL, &i, &t->err), "float32", "int32");
    OK(t, kiln_array_broadcast_to(x, 3, (const int64_t[]){2, 3, 3}, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_matmul(wide, x, NULL, &wide, &t->err), "broadcast");
    options.dtype = KILN_FLOAT16;
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(x, x, &options, &y, &t->err), "float32", "float16");
    options.dtype = (kiln_dtype)99;
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(x, x, &options, &y, &t->err), "99");
    options = (kiln_matmul_options)KILN_MATMUL_OPTIONS_INIT;
    options.epilogue = KILN_EPILOGUE_RELU;
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(i, i, &options, &y, &t->err), "epilogue", "int32");
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(z, z, &options, &y, &t->err), "epilogue", "complex64");
    options.epilogue = (kiln_epilogue)9;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_matmul(x, x, &options, &y, &t->err), "epilogue 9");
    options = (kiln_matmul_options)KILN_MATMUL_OPTIONS_INIT;
    options.alpha = 2;
    FAILS(t, KILN_ERR_DTYPE, kiln_matmul(i, i, &options, &y, &t->err), "alpha", "int32");
    options.alpha = 0;
    options.bias = wrong;
    FAILS(t, KILN_ERR_SHAPE, kiln_matmul(x, x, &options, &y, &t->err), "(2, 3)");
    options.struct_size = 3;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_matmul(x, x, &options, &y, &t->err), "kiln_matmul_options");
    assert_null(y);
    kiln_array *const all[] = {x, i, z, wrong, wide};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Extents beyond 2^31 of arrays without elements. */
static void test_matmul__counts_beyond_32_bits(void **state)
{
    const int64_t large = (INT64_C(1) << 31) + 4;
    test_env *t = *state;
    kiln_array *one = NULL, *a = NULL, *b = NULL, *y = NULL;

    /* no columns to sum over: a result too large to be; no rows and columns: an empty one */
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){large * large / 8, 0}, &a,
                           &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){0, large * 16}, &b, &t->err));
    FAILS(t, KILN_ERR_OVERFLOW, kiln_matmul(a, b, NULL, &y, &t->err), "62 bits");
    OK(t, kiln_array_transpose(a, NULL, &one, &t->err));
    OK(t, kiln_matmul(one, a, NULL, &y, &t->err));
    assert_true(kiln_array_size(y) == 0 && kiln_array_shape(y)[0] == 0);
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(y), kiln_array_release(one);
    a = b = y = one = NULL;
    /* more matrices than a library counts, all of them empty */
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 3, (const int64_t[]){large, 0, 3}, &a, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){3, 4}, &b, &t->err));
    OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
    assert_true(kiln_array_shape(y)[0] == large && kiln_array_size(y) == 0);
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(y);
}

/* A product of more than 2^31 elements, of which some at both ends and in the middle are looked at. */
static void test_matmul__makes_more_elements_than_32_bits_count(void **state)
{
    enum { M = 70000, K = 8, N = 32768 };
    static const int rows[] = {0, 1, 65535, 65536, M - 1}, columns[] = {0, 1, 255, N - 1};
    test_env *t = *state;

    if (!t->cuda || kiln_context_device(t->ctx)->memory_bytes < (uint64_t)8 << 30)
        skip();
    float *numbers = malloc(sizeof *numbers * M * K);
    kiln_array *exact = NULL, *a = NULL, *b = NULL, *y = NULL, *one = NULL;
    assert_non_null(numbers);
    for (int k = 0; k < M * K; k++)
        numbers[k] = (float)((k / K * 3 + k % K) % 5 - 2);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){M, K}, numbers, NULL,
                               &exact, &t->err));
    OK(t, kiln_array_cast(exact, KILN_FLOAT16, &a, &t->err));
    kiln_array_release(exact);
    exact = NULL;
    for (int k = 0; k < K * N; k++)
        numbers[k] = (float)((k % N + 2 * (k / N)) % 7 - 3);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){K, N}, numbers, NULL,
                               &exact, &t->err));
    OK(t, kiln_array_cast(exact, KILN_FLOAT16, &b, &t->err));
    OK(t, kiln_matmul(a, b, NULL, &y, &t->err));
    assert_true(kiln_array_size(y) > INT32_MAX);
    for (size_t at = 0; at < COUNT(rows) * COUNT(columns); at++) {
        const int i = rows[at / COUNT(columns)], j = columns[at % COUNT(columns)];
        int want = 0;
        for (int k = 0; k < K; k++)
            want += ((i * 3 + k) % 5 - 2) * ((j + 2 * k) % 7 - 3);
        char place[40];
        snprintf(place, sizeof place, "%d, %d", i, j);
        OK(t, kiln_array_view(y, place, &one, &t->err));
        void *got = elements(t, one);
        CHECK(creal(value_at(KILN_FLOAT16, got, 0)) == want, "[%d, %d]: %g, not %d", i, j,
              creal(value_at(KILN_FLOAT16, got, 0)), want);
        free(got);
        kiln_array_release(one);
        one = NULL;
    }
    free(numbers);
    kiln_array *const all[] = {exact, a, b, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Every allocation fails once, each time for another shape; nothing is leaked (the fixture looks), and the
 * context works on. */
static void test_matmul__survives_a_lack_of_memory(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *b = in_way(t, KILN_FLOAT32, 2, 4, 3);
    kiln_array *bias = random_array(t, KILN_FLOAT32, 1, (const int64_t[]){3});
    int64_t nth = 0;

    options.bias = bias;
    for (bool done = false; !done; nth++) {
        kiln_array *a = random_array(t, KILN_FLOAT32, 3, (const int64_t[]){2, 5 + nth, 4});
        kiln_array *y = NULL;
        if (nth == 0) { /* what is compiled once is compiled now */
            OK(t, kiln_matmul(a, b, &options, &y, &t->err));
            kiln_array_release(y);
            y = NULL;
        }
        kiln__test_alloc_fail_at((size_t)nth);
        const kiln_status status = kiln_matmul(a, b, &options, &y, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        done = status == KILN_OK && nth > 0;
        CHECK(status == KILN_OK || status == KILN_ERR_NO_MEMORY, "allocation %lld: status %d",
              (long long)nth, (int)status);
        kiln_array_release(y);
        kiln_array_release(a);
        assert_true(nth < 200);
    }
    assert_true(nth > 1);
    kiln_array_release(b);
    kiln_array_release(bias);
}

/* ---- threads and libraries ------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 20 };

typedef struct shared {
    test_env *t;
    kiln_array *a, *b;
    const float *want;
    atomic_int wrong;
} shared;

static void *multiply_often(void *given)
{
    shared *s = given;

    for (int round = 0; round < ROUNDS; round++) {
        kiln_array *y = NULL;
        float got[12 * 9];
        if (kiln_matmul(s->a, s->b, NULL, &y, NULL) != KILN_OK ||
            kiln_array_to_host(y, got, sizeof got, NULL, NULL) != KILN_OK ||
            memcmp(got, s->want, sizeof got) != 0)
            s->wrong++;
        kiln_array_release(y);
    }
    return NULL;
}

static void test_matmul__serves_threads_of_one_context(void **state)
{
    test_env *t = *state;
    shared s = {.t = t};
    pthread_t threads[THREADS];
    float want[12 * 9];
    kiln_array *y = NULL;

    s.a = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){12, 15});
    s.b = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){15, 9});
    OK(t, kiln_matmul(s.a, s.b, NULL, &y, &t->err));
    check_product(t, s.a, s.b, y, &plain);
    OK(t, kiln_array_to_host(y, want, sizeof want, NULL, &t->err));
    s.want = want;
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, multiply_often, &s), 0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    assert_int_equal(s.wrong, 0);
    kiln_array_release(s.a);
    kiln_array_release(s.b);
    kiln_array_release(y);
}

static void test_matmul__enqueues_on_a_stream(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_stream *stream = NULL;
    kiln_array *a = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){5, 6});
    kiln_array *b = random_array(t, KILN_FLOAT32, 2, (const int64_t[]){6, 7}), *y = NULL;

    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_stream_wait(t->ctx, stream, NULL, &t->err));
    options.stream = stream;
    OK(t, kiln_matmul(a, b, &options, &y, &t->err));
    OK(t, kiln_stream_synchronize(stream, &t->err));
    check_product(t, a, b, y, &plain);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(y);
    kiln_stream_destroy(stream);
}

/* An OpenBLAS takes as many threads as the context of the product has. */
static void test_matmul__gives_the_blas_the_threads_of_the_context(void **state)
{
    test_env *t = *state;
    int (*count_threads)(void) = NULL;
    kiln_linalg_info info;
    size_t count = 0;

    OK(t, kiln_linalg_list(&info, 1, &count, &t->err));
    void *const library = info.found ? dlopen(info.library, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *const symbol = library != NULL ? dlsym(library, "openblas_get_num_threads") : NULL;
    if (t->cuda || symbol == NULL)
        skip();
    memcpy(&count_threads, &symbol, sizeof symbol);
    for (int threads = 1; threads <= 4; threads++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *ctx = NULL;
        kiln_array *x = NULL, *y = NULL;
        const int wanted = threads % 2 + 1; /* 2, 1, 2, 1 */
        options.device = "cpu";
        options.cpu_threads = wanted;
        OK(t, kiln_context_create(&options, &ctx, &t->err));
        OK(t, kiln_array_ones(ctx, KILN_FLOAT32, 2, (const int64_t[]){256, 256}, &x, &t->err));
        OK(t, kiln_matmul(x, x, NULL, &y, &t->err));
        assert_int_equal(count_threads(), wanted);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_context_release(ctx);
    }
}

/* A BLAS that was asked for by name and is not there: nothing to test. */
static bool lacks_named_blas(void)
{
    const char *blas = getenv("KILN_BLAS");
    kiln_linalg_info info;
    size_t count = 0;

    if (blas == NULL || strcmp(blas, "none") == 0)
        return false;
    const bool listed = kiln_linalg_list(&info, 1, &count, NULL) == KILN_OK;
    if (listed && !info.found)
        print_message("skipped: %s\n", info.reason);
    return !listed || !info.found;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_matmul__multiplies_in_every_dtype),
        TEST(test_matmul__has_the_shapes_and_values_of_numpy),
        TEST(test_matmul__takes_operands_and_outputs_of_any_strides),
        TEST(test_matmul__broadcasts_stacks_of_any_strides),
        TEST(test_matmul__multiplies_large_matrices),
        TEST(test_matmul__keeps_nan_and_infinity),
        TEST(test_matmul__relu_keeps_nan),
        TEST(test_matmul__promotes_and_casts),
        TEST(test_matmul__adds_and_finishes),
        TEST(test_matmul__broadcasts_what_is_added),
        TEST(test_matmul__adds_to_an_empty_product),
        TEST(test_matmul__writes_an_output_that_overlaps_an_operand),
        TEST(test_matmul__refuses_shapes),
        TEST(test_matmul__refuses_arguments),
        TEST(test_matmul__counts_beyond_32_bits),
        TEST(test_matmul__makes_more_elements_than_32_bits_count),
        TEST(test_matmul__survives_a_lack_of_memory),
        TEST(test_matmul__serves_threads_of_one_context),
        TEST(test_matmul__enqueues_on_a_stream),
        TEST(test_matmul__gives_the_blas_the_threads_of_the_context),
    };

    if (lacks_named_blas())
        return TEST_EXIT_SKIP;
    return test_env_main(argc, argv, "test_matmul", tests, COUNT(tests));
}
