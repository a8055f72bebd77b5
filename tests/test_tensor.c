/*
 * test_tensor.c - dot, inner, outer, kron, matvec, vecmat, tensordot, multi_dot and einsum against NumPy, whose
 * values data/make_tensor.py and data/make_einsum.py have put into tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "linalg_env.h"

/* ---- operands -------------------------------------------------------------------------------- */

/* 0, 1, 2, ... modulo 5, minus 2; complex numbers have an imaginary part modulo 3. */
static kiln_array *ramp(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    double data[2 * 512];
    kiln_array *exact = NULL, *x = NULL;

    for (int k = 0; k < 512; k++) {
        data[2 * k] = k % 5 - 2;
        data[2 * k + 1] = dtype == KILN_COMPLEX128 ? k % 3 : 0;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, rank, shape, data, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    kiln_array_release(exact);
    return x;
}

static void expect_shape(const kiln_array *y, int rank, const int64_t *shape, const char *what)
{
    char text[160];

    CHECK(kiln_array_rank(y) == rank &&
              memcmp(kiln_array_shape(y), shape, (size_t)rank * sizeof *shape) == 0,
          "%s has shape %s", what,
          kiln__shape_text(kiln_array_rank(y), kiln_array_shape(y), text, sizeof text));
}

/* ---- products of two ------------------------------------------------------------------------- */

static kiln_status kiln_array_tensordot_default(const kiln_array *a, const kiln_array *b,
                                                const kiln_matmul_options *opts, kiln_array **out,
                                                kiln_error *err)
{
    return kiln_array_tensordot(a, b, NULL, NULL, opts, out, err);
}

typedef struct pair_case {
    kiln_status (*function)(const kiln_array *a, const kiln_array *b,
                            const kiln_matmul_options *opts, kiln_array **out, kiln_error *err);
    int a_rank;
    int64_t a[4];
    int b_rank;
    int64_t b[4];
    int y_rank;
    int64_t y[4];
    double re, im;
} pair_case;

static const pair_case pair_cases[] = {
#include "data/tensor.inc"
};

static void test_tensor__products_have_the_shapes_and_values_of_numpy(void **state)
{
    test_env *t = *state;
    char what[40];

    for (size_t c = 0; c < COUNT(pair_cases); c++) {
        const pair_case *want = &pair_cases[c];
        kiln_array *a = ramp(t, KILN_COMPLEX128, want->a_rank, want->a);
        kiln_array *b = ramp(t, KILN_COMPLEX128, want->b_rank, want->b), *y = NULL, *given = NULL;
        snprintf(what, sizeof what, "case %zu", c);
        OK(t, want->function(a, b, NULL, &y, &t->err));
        expect_shape(y, want->y_rank, want->y, what);
        const double complex sum = weigh(t, y);
        CHECK(creal(sum) == want->re && cimag(sum) == want->im, "%s: %g%+gi", what, creal(sum),
              cimag(sum));
        /* Into an array of another dtype that is there. */
        OK(t, kiln_array_full_like(y, KILN_COMPLEX64, 9, &given, &t->err));
        kiln_array *same = given;
        OK(t, want->function(a, b, NULL, &given, &t->err));
        assert_ptr_equal(given, same);
        const double complex again = weigh(t, given);
        CHECK(creal(again) == want->re && cimag(again) == want->im, "%s: %g%+gi", what,
              creal(again), cimag(again));
        kiln_array *const all[] = {a, b, y, given};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* np.tensordot(a, b, ([2, 0], [0, -1])) of ramps of shapes (2, 3, 4) and (4, 5, 2): the weighted sum by a
 * plain loop. */
/* Products that nothing is added to have C's signs, those of zeros too; the sums of others begin with 0. */
static void test_tensor__products_alone_keep_the_sign_of_zero(void **state)
{
    static const double values[] = {0, -0.0, 1, -1, 0x1p-1074, -0x1p-1000, 3};
    enum { MOST = 40 };
    test_env *t = *state;

    for (int round = 0; round < 24; round++) {
        const bool single = round % 2 == 0, scalar = round % 3 == 2;
        const int64_t m = 1 + (int64_t)test_random_below(t, MOST);
        const int64_t n = scalar ? 1 : 1 + (int64_t)test_random_below(t, MOST);
        double a[MOST], b[MOST], got[MOST * MOST];
        kiln_array *x[2] = {NULL}, *y[2] = {NULL}, *z = NULL, *wide = NULL;
        for (int k = 0; k < MOST; k++) {
            a[k] = values[test_random_below(t, COUNT(values) - (single ? 3 : 0))];
            b[k] = values[test_random_below(t, COUNT(values) - (single ? 3 : 0))];
        }
        for (int k = 0; k < 2; k++) {
            OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, k == 1 && scalar ? 0 : 1,
                                       k == 0 ? &m : &n, k == 0 ? a : b, NULL, &x[k], &t->err));
            OK(t, kiln_array_cast(x[k], single ? KILN_FLOAT32 : KILN_FLOAT64, &y[k], &t->err));
        }
        OK(t, scalar          ? kiln_array_dot(y[0], y[1], NULL, &z, &t->err)
              : round % 4 < 2 ? kiln_array_outer(y[0], y[1], NULL, &z, &t->err)
                              : kiln_array_kron(y[0], y[1], NULL, &z, &t->err));
        OK(t, kiln_array_cast(z, KILN_FLOAT64, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, got, (size_t)(m * n) * sizeof *got, NULL, &t->err));
        for (int64_t k = 0; k < m * n; k++) {
            const double product = a[k / n] * b[k % n];
            CHECK(memcmp(&got[k], &product, sizeof product) == 0, "round %d: %g times %g is %g",
                  round, a[k / n], b[k % n], got[k]);
        }
        kiln_array_release(x[0]), kiln_array_release(x[1]), kiln_array_release(y[0]);
        kiln_array_release(y[1]), kiln_array_release(z), kiln_array_release(wide);
    }
}

static void test_tensor__tensordot_takes_axes_in_any_order(void **state)
{
    test_env *t = *state;
    kiln_array *a = ramp(t, KILN_INT64, 3, (const int64_t[]){2, 3, 4});
    kiln_array *b = ramp(t, KILN_INT64, 3, (const int64_t[]){4, 5, 2}), *y = NULL;
    int64_t *left = elements(t, a), *right = elements(t, b);

    OK(t, kiln_array_tensordot(a, b, KILN_AXES(2, 0), KILN_AXES(0, -1), NULL, &y, &t->err));
    expect_shape(y, 2, (const int64_t[]){3, 5}, "the result");
    int64_t *got = elements(t, y);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            int64_t want = 0;
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 2; q++)
                    want += left[(q * 3 + i) * 4 + p] * right[(p * 5 + j) * 2 + q];
            assert_int_equal(got[i * 5 + j], want);
        }
    free(left);
    free(right);
    free(got);
    kiln_array_release(y);
    y = NULL;
    FAILS(t, KILN_ERR_AXIS,
          kiln_array_tensordot(a, b, KILN_AXES(0), KILN_AXES(0, 1), NULL, &y, &t->err), "1 axes",
          "2 of");
    FAILS(t, KILN_ERR_AXIS,
          kiln_array_tensordot(a, b, KILN_AXES(3), KILN_AXES(0), NULL, &y, &t->err), "axis 3",
          "3 axes");
    FAILS(t, KILN_ERR_AXIS,
          kiln_array_tensordot(a, b, KILN_AXES(0, -3), KILN_AXES(0, 1), NULL, &y, &t->err),
          "twice");
    FAILS(t, KILN_ERR_AXIS, kiln_array_tensordot(a, b, NULL, KILN_AXES(0), NULL, &y, &t->err),
          "one operand only");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_tensordot(a, b, KILN_AXES(1), KILN_AXES(1), NULL, &y, &t->err), "(2, 3, 4)",
          "(4, 5, 2)");
    assert_null(y);
    kiln_array_release(a);
    kiln_array_release(b);
}

static void test_tensor__products_refuse_what_does_not_fit(void **state)
{
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *a = ramp(t, KILN_FLOAT32, 2, (const int64_t[]){2, 3});
    kiln_array *v = ramp(t, KILN_FLOAT32, 1, (const int64_t[]){4}), *y = NULL;

    FAILS(t, KILN_ERR_SHAPE, kiln_array_dot(a, v, NULL, &y, &t->err), "dot", "(2, 3)", "(4,)");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_inner(a, v, NULL, &y, &t->err), "inner", "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_matvec(a, v, NULL, &y, &t->err), "3 columns");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_matvec(v, v, NULL, &y, &t->err), "matvec", "1 and 2");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_vecmat(v, v, NULL, &y, &t->err), "vecmat");
    FAILS(t, KILN_ERR_NULL, kiln_array_outer(NULL, v, NULL, &y, &t->err), "outer");
    FAILS(t, KILN_ERR_NULL, kiln_array_kron(v, v, NULL, NULL, &t->err), "kron", "`out`");
    options.bias = v;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_outer(v, v, &options, &y, &t->err), "`bias`");
    assert_null(y);
    y = v;
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_outer(v, v, NULL, &y, &t->err), "(4,)", "(4, 4)");
    assert_ptr_equal(y, v);
    kiln_array_release(a);
    kiln_array_release(v);
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Against the products one after the other, in exact integers. */
static void test_tensor__multi_dot_multiplies_a_chain(void **state)
{
    static const int64_t sizes[] = {7, 2, 9, 3, 8};
    test_env *t = *state;

    for (int ends = 0; ends < 4; ends++) {
        kiln_array *x[4], *y = NULL, *want = NULL, *next = NULL;
        for (int k = 0; k < 4; k++) {
            const bool first = k == 0 && (ends & 1) != 0, last = k == 3 && (ends & 2) != 0;
            x[k] =
                random_array(t, KILN_INT64, first || last ? 1 : 2, first ? &sizes[1] : &sizes[k]);
        }
        OK(t, kiln_linalg_multi_dot((const kiln_array *const *)x, 4, NULL, &y, &t->err));
        want = kiln_array_retain(x[0]);
        for (int k = 1; k < 4; k++) {
            OK(t, kiln_matmul(want, x[k], NULL, &next, &t->err));
            kiln_array_release(want);
            want = next;
            next = NULL;
        }
        expect_shape(y, kiln_array_rank(want), kiln_array_shape(want), "the product");
        assert_true(weigh(t, y) == weigh(t, want));
        kiln_array_release(y);
        kiln_array_release(want);
        for (int k = 0; k < 4; k++)
            kiln_array_release(x[k]);
    }
    kiln_array *v = ramp(t, KILN_INT64, 1, sizes), *y = NULL;
    const kiln_array *const inside[] = {v, v, v};
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_multi_dot(inside, 3, NULL, &y, &t->err), "array 2",
          "1 axes");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_multi_dot(inside, 1, NULL, &y, &t->err), "1 arrays");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_multi_dot(NULL, 2, NULL, &y, &t->err), "`arrays`");
    kiln_array_release(v);
}

/* ---- einsum ---------------------------------------------------------------------------------- */

typedef struct einsum_case {
    const char *text;
    size_t count;
    struct {
        int rank;
        int64_t shape[5];
    } operand[4];
    int y_rank;
    int64_t y[8];
    double sum;
} einsum_case;

static const einsum_case einsum_cases[] = {
#include "data/einsum.inc"
};

/* An array of ones of that shape: in C-order, with gaps along its last axis, or with its axes reversed. */
static kiln_array *laid_out(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                            int layout)
{
    kiln_array *whole = NULL, *y = NULL;
    int64_t extents[8] = {0};

    for (int k = 0; k < rank; k++)
        extents[k] = layout == 2 ? shape[rank - 1 - k] : shape[k];
    if (layout == 1 && rank > 0)
        extents[rank - 1] *= 2;
    OK(t, kiln_array_ones(t->ctx, dtype, rank, extents, &whole, &t->err));
    if (layout == 2)
        OK(t, kiln_array_transpose(whole, NULL, &y, &t->err));
    else
        OK(t, kiln_array_view(whole, layout == 1 && rank > 0 ? "..., ::2" : "...", &y, &t->err));
    kiln_array_release(whole);
    return y;
}

static void check_einsum(test_env *t, const einsum_case *want, kiln_dtype dtype)
{
    kiln_array *x[4] = {NULL}, *y = NULL;
    char *path = NULL;

    for (size_t k = 0; k < want->count; k++)
        x[k] = ramp(t, dtype, want->operand[k].rank, want->operand[k].shape);
    OK(t,
       kiln_array_einsum(want->text, (const kiln_array *const *)x, want->count, NULL, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), dtype);
    expect_shape(y, want->y_rank, want->y, want->text);
    const double complex sum = weigh(t, y);
    CHECK(sum == want->sum, "%s: %g, not %g", want->text, creal(sum), want->sum);
    OK(t, kiln_array_einsum_path(want->text, (const kiln_array *const *)x, want->count, &path,
                                 &t->err));
    assert_non_null(strstr(path, "->"));
    kiln_free(path);
    kiln_array_release(y);
    for (int layout = 0; layout < 3; layout++) {
        kiln_array *given = laid_out(t, dtype, want->y_rank, want->y, layout);
        OK(t, kiln_array_einsum(want->text, (const kiln_array *const *)x, want->count, NULL, &given,
                                &t->err));
        const double complex into = weigh(t, given);
        CHECK(into == want->sum, "%s: %g, not %g in layout %d", want->text, creal(into), want->sum,
              layout);
        kiln_array_release(given);
    }
    for (size_t k = 0; k < want->count; k++)
        kiln_array_release(x[k]);
}

static void test_tensor__einsum_gives_what_numpy_gives(void **state)
{
    test_env *t = *state;
    for (size_t c = 0; c < COUNT(einsum_cases); c++)
        if (test_drawn(t))
            check_einsum(t, &einsum_cases[c], KILN_FLOAT64);
}

static void test_tensor__einsum_takes_other_dtypes(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT32, KILN_COMPLEX64, KILN_FLOAT32};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t c = 0; c < 20; c++)
            if (test_drawn(t))
                check_einsum(t, &einsum_cases[c], dtypes[d]);
}

/* The order that multiplies least: a matrix times a vector comes before the product of two matrices. */
static void test_tensor__einsum_path_tells_the_order(void **state)
{
    test_env *t = *state;
    kiln_array *a = ramp(t, KILN_FLOAT32, 2, (const int64_t[]){20, 20});
    kiln_array *v = ramp(t, KILN_FLOAT32, 1, (const int64_t[]){20});
    const kiln_array *const x[] = {a, a, v};
    char *path = NULL;

    OK(t, kiln_array_einsum_path("ij,jk,k->i", x, 3, &path, &t->err));
    assert_string_equal(path, "jk,k->j  (operands 2 and 3, 400 multiplications)\n"
                              "ij,j->i  (operands 1 and 2, 400 multiplications)\n");
    kiln_free(path);
    kiln_array_release(a);
    kiln_array_release(v);
}

/* A transpose by einsum is an array of its own. */
static void test_tensor__einsum_gives_no_view(void **state)
{
    test_env *t = *state;
    kiln_array *a = ramp(t, KILN_FLOAT64, 2, (const int64_t[]){2, 3}), *y = NULL;
    const kiln_array *const x[] = {a};

    OK(t, kiln_array_einsum("ij->ji", x, 1, NULL, &y, &t->err));
    const double complex before = weigh(t, y);
    OK(t, kiln_array_fill(a, 7, &t->err));
    assert_true(weigh(t, y) == before);
    kiln_array_release(a);
    kiln_array_release(y);
}

static void test_tensor__einsum_refuses(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        kiln_status status;
        const char *why;
    } cases[] = {
        {"ij,jk->i1", 2, KILN_ERR_SYNTAX, "column 9"},
        {"ij,j.k->i", 2, KILN_ERR_SYNTAX, "neither a letter"},
        {"ij,jk-i", 2, KILN_ERR_SYNTAX, "\"->\""},
        {"ij,jk->ik,", 2, KILN_ERR_SYNTAX, "goes on"},
        {"ij,jk->il", 2, KILN_ERR_SYNTAX, "\"l\" which no operand has"},
        {"ij,jk->ii", 2, KILN_ERR_SYNTAX, "\"i\" twice"},
        {"......,jk", 2, KILN_ERR_SYNTAX, "second"},
        {"i...,jk->ijk", 2, KILN_ERR_SYNTAX, "lacks \"...\""},
        {"ij,jk,kl", 2, KILN_ERR_ARGUMENT_COUNT, "more terms"},
        {"ij", 2, KILN_ERR_ARGUMENT_COUNT, "fewer terms"},
        {"i,jk", 2, KILN_ERR_SHAPE, "term 1 names 1 axes"},
        {"ijk,jk", 2, KILN_ERR_SHAPE, "term 1 names 3 axes"},
        {"ij,ik->jk", 2, KILN_ERR_SHAPE, "\"i\", has 3 elements"},
        {"ij,jk", 0, KILN_ERR_ARGUMENT_COUNT, "0 operands"},
    };
    test_env *t = *state;
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *a = ramp(t, KILN_FLOAT64, 2, (const int64_t[]){2, 3});
    kiln_array *b = ramp(t, KILN_FLOAT64, 2, (const int64_t[]){3, 4}), *y = NULL;
    const kiln_array *const x[] = {a, b};
    char *path = NULL;

    for (size_t c = 0; c < COUNT(cases); c++) {
        FAILS(t, cases[c].status,
              kiln_array_einsum(cases[c].text, x, cases[c].count, NULL, &y, &t->err), cases[c].why);
        FAILS(t, cases[c].status,
              kiln_array_einsum_path(cases[c].text, x, cases[c].count, &path, &t->err),
              cases[c].why);
    }
    options.alpha = 2;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_einsum("ij,jk", x, 2, &options, &y, &t->err), "`alpha`");
    options.alpha = 0;
    options.dtype = KILN_INT8;
    FAILS(t, KILN_ERR_DTYPE, kiln_array_einsum("ij,jk", x, 2, &options, &y, &t->err), "int8");
    FAILS(t, KILN_ERR_NULL, kiln_array_einsum(NULL, x, 2, NULL, &y, &t->err), "`subscripts`");
    FAILS(t, KILN_ERR_NULL, kiln_array_einsum_path("ij,jk", x, 2, NULL, &t->err), "`out`");
    assert_null(y);
    kiln_array_release(a);
    kiln_array_release(b);
}

/* ---- streams, memory ------------------------------------------------------------------------- */

static kiln_status run_all(kiln_array *const *x, kiln_stream *stream, kiln_array **y,
                           kiln_error *err)
{
    kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
    const kiln_array *const both[] = {x[0], x[1]};
    kiln_status status = KILN_OK;

    options.stream = stream;
    status = kiln_array_einsum("ijk,kjl->il", both, 2, &options, &y[0], err);
    if (status == KILN_OK)
        status = kiln_array_tensordot(x[0], x[1], KILN_AXES(2, 1), KILN_AXES(0, 1), &options, &y[1],
                                      err);
    if (status == KILN_OK)
        status = kiln_array_kron(y[0], y[1], &options, &y[2], err);
    return status;
}

/* Operands that must be copied before they are matrices, in the order of a stream. */
static void test_tensor__products_run_on_a_stream_and_survive_a_lack_of_memory(void **state)
{
    test_env *t = *state;
    kiln_stream *stream = NULL;
    kiln_array *x[2], *y[3] = {NULL};
    size_t nth = 0;

    x[0] = ramp(t, KILN_FLOAT64, 3, (const int64_t[]){2, 3, 4});
    x[1] = ramp(t, KILN_FLOAT64, 3, (const int64_t[]){4, 3, 5});
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_stream_wait(t->ctx, stream, NULL, &t->err));
    OK(t, run_all(x, stream, y, &t->err));
    OK(t, kiln_stream_synchronize(stream, &t->err));
    const double complex want = weigh(t, y[2]);
    assert_true(weigh(t, y[0]) == weigh(t, y[1]));
    for (bool done = false; !done; nth++) {
        for (size_t k = 0; k < COUNT(y); k++) {
            kiln_array_release(y[k]);
            y[k] = NULL;
        }
        kiln__test_alloc_fail_at(nth);
        const kiln_status status = run_all(x, NULL, y, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        CHECK(status == KILN_OK || status == KILN_ERR_NO_MEMORY, "allocation %zu: %d", nth,
              (int)status);
        done = status == KILN_OK;
        assert_true(nth < 500);
    }
    assert_true(nth > 1);
    assert_true(weigh(t, y[2]) == want);
    for (size_t k = 0; k < COUNT(y); k++)
        kiln_array_release(y[k]);
    kiln_array_release(x[0]);
    kiln_array_release(x[1]);
    kiln_stream_destroy(stream);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tensor__products_have_the_shapes_and_values_of_numpy),
        TEST(test_tensor__products_alone_keep_the_sign_of_zero),
        TEST(test_tensor__tensordot_takes_axes_in_any_order),
        TEST(test_tensor__products_refuse_what_does_not_fit),
        TEST(test_tensor__multi_dot_multiplies_a_chain),
        TEST(test_tensor__einsum_gives_what_numpy_gives),
        TEST(test_tensor__einsum_takes_other_dtypes),
        TEST(test_tensor__einsum_path_tells_the_order),
        TEST(test_tensor__einsum_gives_no_view),
        TEST(test_tensor__einsum_refuses),
        TEST(test_tensor__products_run_on_a_stream_and_survive_a_lack_of_memory),
    };

    return test_env_main(argc, argv, "test_tensor", tests, COUNT(tests));
}
