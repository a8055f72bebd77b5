/*
 * test_norms.c - norms, condition numbers, ranks, traces, tensors' equations, exponentials, eigenvalues of any matrices,
 * and factors that are used later: against NumPy's values (data/make_norms.py) and by residuals.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg_env.h"

/* Elements as in make_norms.py, divided by `by`. */
static kiln_array *make(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape, double by)
{
    const bool is_complex = kiln_dtype_kind(dtype) == 'c';
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    kiln_array *exact = NULL, *x = NULL;
    int64_t size = 1;

    for (int k = 0; k < rank; k++)
        size *= shape[k];
    double complex *data = calloc((size_t)size + 1, sizeof *data);
    assert_non_null(data);
    for (int64_t k = 0; k < size; k++) {
        const int64_t j = k % columns, i = k / columns % rows, n = k / columns / rows;
        data[k] = CMPLX((double)((7 * i + 3 * j + i * j + n) % 11 - 5 + 12 * (i == j)) / by,
                        is_complex ? (double)((i + 2 * j + n) % 5 - 2) / by : 0);
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, rank, shape, data, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    kiln_array_release(exact);
    free(data);
    return x;
}

typedef struct norm_case {
    const char *name;
    bool is_complex;
    int rank;
    int64_t shape[4];
    kiln_norm kind;
    double order;
    int axis_count, axis[2];
    bool keepdims;
    int y_rank;
    int64_t y[4];
    double re, im;
} norm_case;

static const norm_case norm_cases[] = {
#include "data/norms.inc"
};

static void run_case(test_env *t, const norm_case *c, const kiln_array *a, kiln_array **y)
{
    const kiln_axes axes = {.count = c->axis_count, .axis = {c->axis[0], c->axis[1]}};

    if (strcmp(c->name, "norm") == 0)
        OK(t, kiln_linalg_norm(a, c->kind, c->order, c->axis_count < 0 ? NULL : &axes, c->keepdims,
                               NULL, y, &t->err));
    else if (strcmp(c->name, "cond") == 0)
        OK(t, kiln_linalg_cond(a, c->kind, c->order, NULL, y, &t->err));
    else if (strcmp(c->name, "trace") == 0)
        OK(t, kiln_linalg_trace(a, NULL, y, &t->err));
    else if (strcmp(c->name, "matrix_rank") == 0)
        OK(t, kiln_linalg_matrix_rank(a, -1, NULL, y, &t->err));
    else if (strcmp(c->name, "tensorinv") == 0)
        OK(t, kiln_linalg_tensorinv(a, 1, NULL, y, &t->err));
    else
        OK(t, kiln_linalg_expm(a, NULL, y, &t->err));
}

static void check_cases(test_env *t, kiln_dtype real, kiln_dtype complex_, double tolerance)
{
    for (size_t k = 0; k < COUNT(norm_cases); k++) {
        const norm_case *c = &norm_cases[k];
        if (!test_drawn(t))
            continue; /* each is kernels of its own */
        const double by = strcmp(c->name, "expm") == 0 ? 16 : strcmp(c->name, "expm4") == 0 ? 4 : 1;
        kiln_array *a = make(t, c->is_complex ? complex_ : real, c->rank, c->shape, by), *y = NULL;
        double complex sum = 0;
        run_case(t, c, a, &y);
        CHECK(kiln_array_rank(y) == c->y_rank, "case %zu, %s: rank %d", k, c->name,
              kiln_array_rank(y));
        for (int axis = 0; axis < c->y_rank; axis++)
            CHECK(kiln_array_shape(y)[axis] == c->y[axis], "case %zu, %s: axis %d", k, c->name,
                  axis);
        void *data = elements(t, y);
        for (int64_t e = 0; e < kiln_array_size(y); e++)
            sum += (double)(e % 3 + 1) * value_at(kiln_array_dtype(y), data, e);
        const double complex want = CMPLX(c->re, c->im);
        CHECK(cabs(sum - want) <= tolerance * (1 + cabs(want)), "case %zu, %s: %.17g%+.17gi", k,
              c->name, creal(sum), cimag(sum));
        free(data);
        kiln_array_release(a);
        kiln_array_release(y);
    }
}

static void test_norms__gives_what_numpy_gives(void **state)
{
    check_cases(*state, KILN_FLOAT64, KILN_COMPLEX128, 1e-10);
}

static void test_norms__computes_in_single_precision(void **state)
{
    check_cases(*state, KILN_FLOAT32, KILN_COMPLEX64, 2e-3);
}

/* np.linalg.norm(np.arange(-4, 5), ...) and .reshape(3, 3): the values of NumPy's documentation. */
static void test_norms__counts_integers_as_float64(void **state)
{
    static const int32_t data[] = {-4, -3, -2, -1, 0, 1, 2, 3, 4};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    double got = 0;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, (const int64_t[]){3, 3}, data, NULL, &x,
                               &t->err));
    OK(t, kiln_linalg_norm(x, KILN_NORM_ORDER, 1, NULL, false, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_true(kiln_array_dtype(y) == KILN_FLOAT64 && got == 7);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_norm(x, KILN_NORM_ORDER, -2, NULL, false, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_true(fabs(got) < 1e-14);
    kiln_array_release(x);
    kiln_array_release(y);
}

/* A singular matrix has an infinite condition number and less than full rank. */
static void test_norms__knows_singular_matrices(void **state)
{
    static const double data[] = {1, 2, 2, 4};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    double got = 0;
    int64_t rank = 0;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, data, NULL, &x,
                               &t->err));
    OK(t, kiln_linalg_cond(x, KILN_NORM_ORDER, 1, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_true(isinf(got));
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_matrix_rank(x, -1, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, &rank, sizeof rank, NULL, &t->err));
    assert_true(kiln_array_dtype(y) == KILN_INT64 && rank == 1);
    kiln_array_release(x);
    kiln_array_release(y);
}

/* ---- factors that are used later ------------------------------------------------------------- */

/* The largest |a x - b| over a stack of two n x n, and n x columns. */
static double residual(test_env *t, const kiln_array *a, const kiln_array *x, const kiln_array *b,
                       int64_t n, int64_t columns)
{
    void *a_data = elements(t, a), *x_data = elements(t, x), *b_data = elements(t, b);
    const kiln_dtype dtype = kiln_array_dtype(a);
    double worst = 0;

    for (int64_t k = 0; k < 2 * n * columns; k++) {
        const int64_t j = k % columns, i = k / columns % n, nth = k / columns / n;
        double complex sum = -value_at(dtype, b_data, k);
        for (int64_t e = 0; e < n; e++)
            sum += value_at(dtype, a_data, (nth * n + i) * n + e) *
                   value_at(dtype, x_data, (nth * n + e) * columns + j);
        worst = fmax(worst, isnan(cabs(sum)) ? INFINITY : cabs(sum));
    }
    free(a_data);
    free(x_data);
    free(b_data);
    return worst;
}

static void check_factors(test_env *t, kiln_dtype dtype, int64_t n)
{
    const int64_t shape[] = {2, n, n}, sides[] = {2, n, 3};
    kiln_array *a = make(t, dtype, 3, shape, 1), *b = make(t, dtype, 3, sides, 1), *adjoint = NULL;
    kiln_array *lu = NULL, *pivots = NULL, *x = NULL, *square = NULL, *factor = NULL, *y = NULL;
    kiln_array *turned = NULL;

    OK(t, kiln_linalg_lu_factor(a, NULL, &lu, &pivots, &t->err));
    assert_int_equal(kiln_array_dtype(pivots), KILN_INT64);
    assert_int_equal(kiln_array_rank(pivots), 2);
    OK(t, kiln_linalg_lu_solve(lu, pivots, b, NULL, &x, &t->err));
    const double off = residual(t, a, x, b, n, 3);
    CHECK(off < 1e-10 * (double)n, "lu_solve of %lld, %s: %g", (long long)n, kiln_dtype_name(dtype),
          off);
    OK(t, kiln_array_transpose(a, KILN_AXES(0, 2, 1), &turned, &t->err));
    OK(t, kiln_array_conjugate(turned, &adjoint, &t->err));
    OK(t, kiln_matmul(a, adjoint, NULL, &square, &t->err));
    for (int upper = 0; upper < 2; upper++) {
        kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
        options.upper = upper != 0;
        OK(t, kiln_linalg_cholesky(square, &options, &factor, &t->err));
        OK(t, kiln_linalg_cho_solve(factor, b, &options, &y, &t->err));
        const double left = residual(t, square, y, b, n, 3);
        CHECK(left < 1e-7 * (double)n, "cho_solve of %lld, %s: %g", (long long)n,
              kiln_dtype_name(dtype), left);
        kiln_array_release(factor);
        kiln_array_release(y);
        factor = y = NULL;
    }
    kiln_array *const all[] = {a, b, lu, pivots, x, turned, adjoint, square};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_norms__keeps_factors_for_later(void **state)
{
    check_factors(*state, KILN_FLOAT64, 5);
    check_factors(*state, KILN_COMPLEX128, 5);
    check_factors(*state, KILN_FLOAT64, 40);
    check_factors(*state, KILN_COMPLEX128, 50);
}

/* scipy.linalg.lu_factor([[1, 2], [3, 4]]): rows are exchanged. */
static void test_norms__lu_factors_are_scipys(void **state)
{
    static const double data[] = {1, 2, 3, 4};
    test_env *t = *state;
    kiln_array *a = NULL, *lu = NULL, *pivots = NULL, *x = NULL;
    double got[4];
    int64_t rows[2];

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, data, NULL, &a,
                               &t->err));
    OK(t, kiln_linalg_lu_factor(a, NULL, &lu, &pivots, &t->err));
    OK(t, kiln_array_to_host(lu, got, sizeof got, NULL, &t->err));
    OK(t, kiln_array_to_host(pivots, rows, sizeof rows, NULL, &t->err));
    assert_true(got[0] == 3 && got[1] == 4 && fabs(got[2] - 1.0 / 3) < 1e-15 &&
                fabs(got[3] - 2.0 / 3) < 1e-15);
    assert_true(rows[0] == 1 && rows[1] == 1);
    FAILS(t, KILN_ERR_NULL, kiln_linalg_lu_solve(lu, NULL, a, NULL, &x, &t->err), "`pivots`");
    FAILS(t, KILN_ERR_DTYPE, kiln_linalg_lu_solve(lu, lu, a, NULL, &x, &t->err), "int64");
    kiln_array_release(x);
    x = NULL;
    OK(t, kiln_array_fill(pivots, 7, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_lu_solve(lu, pivots, a, NULL, &x, &t->err), "pivot 7",
          "2 rows");
    kiln_array *const all[] = {a, lu, pivots, x};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Elements of matrix `nth` of a stack. */
static double complex at(kiln_dtype dtype, const void *data, int64_t nth, int64_t rows,
                         int64_t columns, int64_t i, int64_t j)
{
    return value_at(dtype, data, (nth * rows + i) * columns + j);
}

/* P has one 1 in each row and column and no other number, L and U are triangles, L with ones, and |L| <= 1; a = P L U,
 * or L U where p is NULL, whose L has the same rows. */
static void check_lu(test_env *t, kiln_dtype dtype, int64_t m, int64_t n)
{
    const int64_t k = m < n ? m : n, shape[] = {2, m, n};
    const double tolerance = 64 * epsilon_of(dtype) * 40 * (double)(m + n);
    kiln_array *a = make(t, dtype, 3, shape, 1), *p = NULL, *l = NULL, *u = NULL;
    kiln_array *mixed = NULL, *same = NULL;

    OK(t, kiln_linalg_lu(a, NULL, &p, &l, &u, &t->err));
    OK(t, kiln_linalg_lu(a, NULL, NULL, &mixed, &same, &t->err));
    const kiln_dtype real = kiln_array_dtype(p);
    assert_int_equal(real, epsilon_of(dtype) > 1e-10 ? KILN_FLOAT32 : KILN_FLOAT64);
    void *const as = elements(t, a), *const ps = elements(t, p), *const ls = elements(t, l),
                *const us = elements(t, u), *const xs = elements(t, mixed),
                *const ss = elements(t, same);
    for (int64_t nth = 0; nth < 2; nth++)
        for (int64_t i = 0; i < m; i++) {
            int64_t ones = 0, row = 0;
            for (int64_t j = 0; j < m; j++) {
                const double complex v = at(real, ps, nth, m, m, i, j);
                assert_true(v == 0 || v == 1);
                ones += v == 1;
                row = v == 1 ? j : row;
            }
            assert_int_equal(ones, 1);
            for (int64_t j = 0; j < k; j++) {
                const double complex v = at(dtype, ls, nth, m, k, i, j);
                assert_true(j < i ? cabs(v) <= 1.5 : v == (i == j));
                assert_true(at(dtype, xs, nth, m, k, i, j) == at(dtype, ls, nth, m, k, row, j));
            }
            for (int64_t j = 0; j < n; j++) {
                double complex sum = 0;
                for (int64_t e = 0; e < k; e++)
                    sum += at(dtype, ls, nth, m, k, row, e) * at(dtype, us, nth, k, n, e, j);
                CHECK(cabs(sum - at(dtype, as, nth, m, n, i, j)) <= tolerance,
                      "lu of %lld x %lld, %s: element %lld, %lld of matrix %lld", (long long)m,
                      (long long)n, kiln_dtype_name(dtype), (long long)i, (long long)j,
                      (long long)nth);
                if (i < k) {
                    assert_true(j >= i || at(dtype, us, nth, k, n, i, j) == 0);
                    assert_true(at(dtype, us, nth, k, n, i, j) == at(dtype, ss, nth, k, n, i, j));
                }
            }
        }
    kiln_array *const all[] = {a, p, l, u, mixed, same};
    void *const data[] = {as, ps, ls, us, xs, ss};
    for (size_t e = 0; e < COUNT(all); e++) {
        kiln_array_release(all[e]);
        free(data[e]);
    }
}

static void test_norms__gives_lu_factors_as_matrices(void **state)
{
    static const int64_t shapes[][2] = {{1, 1}, {5, 5},   {7, 4},   {4, 7},   {1, 6},
                                        {6, 1}, {31, 32}, {40, 35}, {50, 60}, {60, 50}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(shapes); k++) {
        check_lu(t, KILN_FLOAT64, shapes[k][0], shapes[k][1]);
        check_lu(t, k % 2 == 0 ? KILN_FLOAT32 : KILN_COMPLEX128, shapes[k][0], shapes[k][1]);
    }
}

/* scipy.linalg.lu(np.array([[2, 5, 8, 7], [5, 2, 2, 8], [7, 5, 6, 6], [5, 4, 4, 8]])), of its documentation: the rows of
 * `a` come in the order 2, 0, 3, 1. And of matrices without elements. */
static void test_norms__lu_is_scipys(void **state)
{
    static const int32_t data[] = {2, 5, 8, 7, 5, 2, 2, 8, 7, 5, 6, 6, 5, 4, 4, 8};
    static const double places[] = {0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0};
    test_env *t = *state;
    kiln_array *a = NULL, *p = NULL, *l = NULL, *u = NULL, *none = NULL;
    double got[16];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, (const int64_t[]){4, 4}, data, NULL, &a,
                               &t->err));
    OK(t, kiln_linalg_lu(a, NULL, &p, &l, &u, &t->err));
    OK(t, kiln_array_to_host(p, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, places, sizeof got);
    FAILS(t, KILN_ERR_NULL, kiln_linalg_lu(a, NULL, &p, NULL, &u, &t->err), "`l_out`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_lu(a, NULL, &p, &l, NULL, &t->err), "`out`");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_lu(a, NULL, &p, &p, &u, &t->err), "one address");
    kiln_array *const made[] = {p, l, u};
    for (size_t k = 0; k < COUNT(made); k++)
        kiln_array_release(made[k]);
    p = l = u = NULL;
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 3, (const int64_t[]){2, 3, 0}, &none, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_linalg_lu(a, NULL, &p, &l, &none, &t->err), "has shape");
    FAILS(t, KILN_ERR_OUTPUT, kiln_linalg_qr(a, NULL, &l, &none, &t->err), "has shape");
    FAILS(t, KILN_ERR_OUTPUT, kiln_linalg_svd(a, NULL, &p, &l, &none, &t->err), "has shape");
    assert_null(p);
    assert_null(l);
    OK(t, kiln_linalg_lu(none, NULL, &p, &l, &u, &t->err));
    assert_int_equal(kiln_array_size(p), 18);
    assert_int_equal(kiln_array_shape(l)[1], 3);
    assert_int_equal(kiln_array_size(u), 0);
    kiln_array *const all[] = {a, p, l, u, none};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* a = L D L^H for a Hermitian matrix; D has no two neighbours beside its diagonal, and the rows of L in their order are a
 * triangle. `indefinite`: the diagonal is 0, so that blocks of 2 x 2 are needed. */
static void check_ldl(test_env *t, kiln_dtype dtype, int64_t n, bool indefinite, bool upper)
{
    const int64_t shape[] = {2, n, n};
    const bool is_complex = kiln_dtype_kind(dtype) == 'c';
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    double complex *want = calloc((size_t)(2 * n * n) + 1, sizeof *want);
    kiln_array *exact = NULL, *a = NULL, *l = NULL, *d = NULL, *order = NULL;
    int64_t *rows = calloc((size_t)(2 * n) + 1, sizeof *rows);
    unsigned seed = 12345;

    for (int64_t k = 0; k < 2 * n * n; k++) { /* small numbers, of which one triangle counts */
        const int64_t j = k % n, i = k / n % n;
        seed = seed * 1103515245u + 12345u;
        want[k] = CMPLX((double)(seed >> 16) / 32768 - 1,
                        is_complex && i != j ? (double)(seed >> 8 & 0xffffu) / 65536 - 0.5 : 0);
        if (i == j && indefinite)
            want[k] = 0;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 3, shape, want, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &a, &t->err));
    options.upper = upper;
    OK(t, kiln_linalg_ldl(a, &options, &l, &d, &order, &t->err));
    assert_int_equal(kiln_array_dtype(order), KILN_INT64);
    void *const ls = elements(t, l), *const ds = elements(t, d), *const as = elements(t, a);
    OK(t, kiln_array_to_host(order, rows, (size_t)(2 * n) * sizeof *rows, NULL, &t->err));
    for (int64_t nth = 0; nth < 2; nth++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t row = rows[nth * n + i];
            assert_true(row >= 0 && row < n);
            for (int64_t j = i; j < n; j++)
                assert_true(at(dtype, ls, nth, n, n, row, j) == (i == j));
            for (int64_t j = 0; j < n; j++) {
                const bool given = upper ? j >= i : i >= j;
                const double complex v = at(dtype, ds, nth, n, n, i, j);
                double complex sum = 0;
                assert_true(v == conj(at(dtype, ds, nth, n, n, j, i)));
                assert_true(v == 0 || (j >= i - 1 && j <= i + 1));
                assert_true(i == 0 || i + 1 >= n || at(dtype, ds, nth, n, n, i, i - 1) == 0 ||
                            at(dtype, ds, nth, n, n, i, i + 1) == 0);
                for (int64_t e = 0; e < n; e++)
                    for (int64_t f = e > 0 ? e - 1 : 0; f <= e + 1 && f < n; f++)
                        sum += at(dtype, ls, nth, n, n, i, e) * at(dtype, ds, nth, n, n, e, f) *
                               conj(at(dtype, ls, nth, n, n, j, f));
                const double complex a_ij =
                    given ? at(dtype, as, nth, n, n, i, j) : conj(at(dtype, as, nth, n, n, j, i));
                CHECK(cabs(sum - a_ij) <= 200 * (double)n * epsilon_of(dtype),
                      "ldl of %lld, %s: element %lld, %lld", (long long)n, kiln_dtype_name(dtype),
                      (long long)i, (long long)j);
            }
        }
    kiln_array *const all[] = {exact, a, l, d, order};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
    void *const data[] = {want, rows, ls, ds, as};
    for (size_t k = 0; k < COUNT(data); k++)
        free(data[k]);
}

static void test_norms__makes_ldl_factors(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 33, 50};
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_FLOAT32, KILN_COMPLEX128};

    for (size_t k = 0; k < COUNT(sizes); k++)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            check_ldl(*state, dtypes[d], sizes[k], d != 1, d == 2);
}

/* Of [[0, 1], [1, 0]] L is the unit matrix, D the matrix itself; a matrix of zeros is no failure. */
static void test_norms__ldl_takes_blocks_and_zeros(void **state)
{
    static const double data[] = {0, 1, 1, 0, 0, 0, 0, 0}, unit[] = {1, 0, 0, 1, 1, 0, 0, 1};
    test_env *t = *state;
    kiln_array *a = NULL, *l = NULL, *d = NULL, *order = NULL;
    double got[8];
    int64_t rows[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){2, 2, 2}, data, NULL, &a,
                               &t->err));
    OK(t, kiln_linalg_ldl(a, NULL, &l, &d, &order, &t->err));
    OK(t, kiln_array_to_host(d, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, data, sizeof got);
    OK(t, kiln_array_to_host(l, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, unit, sizeof got);
    OK(t, kiln_array_to_host(order, rows, sizeof rows, NULL, &t->err));
    assert_true(rows[0] == 0 && rows[1] == 1 && rows[2] == 0 && rows[3] == 1);
    kiln_array *const all[] = {a, l, d, order};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- eigenvalues of any matrices ------------------------------------------------------------- */

static void test_norms__finds_eigenvalues_of_any_matrix(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_COMPLEX128, KILN_INT32};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const int64_t n = d == 1 ? 35 : 6, shape[] = {2, n, n};
        kiln_array *a = make(t, dtypes[d], 3, shape, 1), *w = NULL, *v = NULL, *only = NULL;
        if (kiln_linalg_eig(a, NULL, &w, &v, &t->err) == KILN_ERR_UNSUPPORTED) {
            assert_non_null(strstr(t->err.message, "eig needs a LAPACK"));
            kiln_array_release(a);
            continue;
        }
        assert_int_equal(kiln_array_dtype(w), KILN_COMPLEX128);
        OK(t, kiln_linalg_eigvals(a, NULL, &only, &t->err));
        void *a_data = elements(t, a);
        double complex *values = elements(t, w), *vectors = elements(t, v),
                       *alone = elements(t, only);
        for (int64_t nth = 0; nth < 2; nth++) {
            double complex sum = 0, trace = 0, again = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += values[nth * n + j];
                again += alone[nth * n + j];
                trace += value_at(dtypes[d], a_data, (nth * n + j) * n + j);
                for (int64_t i = 0; i < n; i++) {
                    double complex off = -values[nth * n + j] * vectors[(nth * n + i) * n + j];
                    for (int64_t k = 0; k < n; k++)
                        off += value_at(dtypes[d], a_data, (nth * n + i) * n + k) *
                               vectors[(nth * n + k) * n + j];
                    CHECK(cabs(off) < 1e-10, "a v - v w at %lld, %lld is %g", (long long)i,
                          (long long)j, cabs(off));
                }
            }
            assert_true(cabs(sum - trace) < 1e-10 * (double)n &&
                        cabs(again - trace) < 1e-10 * (double)n);
        }
        free(a_data);
        free(values);
        free(vectors);
        free(alone);
        kiln_array *const all[] = {a, w, v, only};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* ---- tensors, refusals ----------------------------------------------------------------------- */

/* tensordot(a, x, axes of x) is b again, for axes in two orders. */
static void test_norms__solves_equations_of_tensors(void **state)
{
    const int64_t square[] = {6, 6}, shape[] = {2, 3, 6}, sides[] = {2, 3};
    test_env *t = *state;
    kiln_array *base = make(t, KILN_FLOAT64, 2, square, 1), *a = NULL, *other = NULL;
    kiln_array *b = make(t, KILN_FLOAT64, 2, sides, 1), *x = NULL, *y = NULL, *back = NULL;
    double got[6], want[6];

    OK(t, kiln_array_reshape(base, 3, shape, &a, &t->err));
    OK(t, kiln_array_transpose(a, KILN_AXES(0, 2, 1), &other, &t->err));

    OK(t, kiln_linalg_tensorsolve(a, b, NULL, NULL, &x, &t->err));
    OK(t, kiln_array_tensordot(a, x, KILN_AXES(-1), KILN_AXES(0), NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    OK(t, kiln_array_to_host(b, want, sizeof want, NULL, &t->err));
    for (int k = 0; k < 6; k++)
        assert_true(fabs(got[k] - want[k]) < 1e-11);
    kiln_array_release(x);
    kiln_array_release(y);
    x = y = NULL;
    OK(t, kiln_linalg_tensorsolve(other, b, KILN_AXES(1), NULL, &x, &t->err));
    OK(t, kiln_array_tensordot(other, x, KILN_AXES(1), KILN_AXES(0), NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 6; k++)
        assert_true(fabs(got[k] - want[k]) < 1e-11);
    /* The inverse of the map takes b to x. */
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_tensorinv(a, 2, NULL, &back, &t->err));
    assert_int_equal(kiln_array_rank(back), 3);
    assert_int_equal(kiln_array_shape(back)[0], 6);
    OK(t, kiln_array_tensordot(back, b, KILN_AXES(1, 2), KILN_AXES(0, 1), NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    OK(t, kiln_array_to_host(x, want, sizeof want, NULL, &t->err));
    for (int k = 0; k < 6; k++)
        assert_true(fabs(got[k] - want[k]) < 1e-11);
    kiln_array *const all[] = {base, a, b, other, x, y, back};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_norms__refuses_arguments(void **state)
{
    test_env *t = *state;
    kiln_array *a = make(t, KILN_FLOAT64, 2, (const int64_t[]){2, 3}, 1), *y = NULL;
    kiln_array *cube = make(t, KILN_FLOAT64, 3, (const int64_t[]){2, 3, 4}, 1), *half = NULL;

    FAILS(t, KILN_ERR_NULL, kiln_linalg_norm(NULL, 0, 0, NULL, false, NULL, &y, &t->err), "`a`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_trace(a, NULL, NULL, &t->err), "`out`");
    FAILS(t, KILN_ERR_AXIS,
          kiln_linalg_norm(cube, KILN_NORM_ORDER, 1, NULL, false, NULL, &y, &t->err),
          "3 are given");
    FAILS(t, KILN_ERR_AXIS,
          kiln_linalg_norm(a, KILN_NORM_DEFAULT, 0, KILN_AXES(2), false, NULL, &y, &t->err),
          "axis 2");
    FAILS(t, KILN_ERR_AXIS,
          kiln_linalg_norm(a, KILN_NORM_DEFAULT, 0, KILN_AXES(1, -1), false, NULL, &y, &t->err),
          "twice");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_linalg_norm(a, KILN_NORM_ORDER, 3, NULL, false, NULL, &y, &t->err), "order 3");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_linalg_norm(a, KILN_NORM_NUCLEAR, 0, KILN_AXES(0), false, NULL, &y, &t->err),
          "vector");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_linalg_norm(a, (kiln_norm)9, 0, NULL, false, NULL, &y, &t->err), "norm 9");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_cond(a, KILN_NORM_ORDER, 1, NULL, &y, &t->err), "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_expm(a, NULL, &y, &t->err), "expm", "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_lu_solve(a, a, a, NULL, &y, &t->err), "(2, 3)");
    if (kiln_linalg_eig(a, NULL, &y, &half, &t->err) != KILN_ERR_UNSUPPORTED) /* without a LAPACK */
        FAILS(t, KILN_ERR_SHAPE, kiln_linalg_eig(a, NULL, &y, &half, &t->err), "eig", "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_tensorinv(cube, 1, NULL, &y, &t->err), "2 elements", "12");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_tensorinv(cube, 0, NULL, &y, &t->err), "`split`");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_tensorsolve(a, cube, NULL, NULL, &y, &t->err), "3 axes");
    FAILS(t, KILN_ERR_AXIS, kiln_linalg_tensorsolve(cube, a, KILN_AXES(5), NULL, &y, &t->err),
          "axis 5");
    OK(t, kiln_array_cast(a, KILN_FLOAT16, &half, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_linalg_matrix_rank(half, -1, NULL, &y, &t->err), "float16");
    assert_null(y);
    kiln_array *const all[] = {a, cube, half};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- libraries ---- */

static void test_norms__tells_which_libraries_there_are(void **state)
{
    test_env *t = *state;
    kiln_linalg_info infos[8];
    size_t count = 0;
    const char *blas = getenv("KILN_BLAS");

    OK(t, kiln_linalg_list(infos, COUNT(infos), &count, &t->err));
    assert_true(count == 5);
    assert_string_equal(infos[0].role, "BLAS");
    assert_string_equal(infos[1].role, "LAPACK");
    assert_string_equal(infos[2].role, "cuBLASLt");
    assert_string_equal(infos[3].role, "cuBLAS");
    assert_string_equal(infos[4].role, "cuSOLVER");
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(infos[k].found, infos[k].library[0] != '\0');
        assert_true(infos[k].found || infos[k].reason[0] != '\0');
    }
    if (blas != NULL && strcmp(blas, "none") == 0)
        assert_non_null(strstr(infos[0].reason, "KILN_BLAS"));
    FAILS(t, KILN_ERR_NULL, kiln_linalg_list(NULL, 2, &count, &t->err), "`infos`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_list(NULL, 0, NULL, &t->err), "`count_out`");
}

static void make_file(const char *folder, const char *name, int version)
{
    char path[320];

    snprintf(path, sizeof path, "%s/%s.so.%d", folder, name, version);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Libraries of CUDA 13 are taken before those of CUDA 12, which do as well; the names of both are said. */
static void test_norms__finds_libraries_of_either_version(void **state)
{
    static const struct {
        const char *name;
        int newer, older;
    } libraries[] = {{"libcublasLt", 13, 12}, {"libcublas", 13, 12}, {"libcusolver", 12, 11}};
    enum { FIRST = 2 };
    test_env *t = *state;
    const char *const path = getenv("LD_LIBRARY_PATH");
    char *const before = path != NULL ? strdup(path) : NULL;
    char folder[200], wanted[300];
    kiln_linalg_info infos[8];
    size_t count = 0, gpus = 0;

    OK(t, kiln_device_list(NULL, 0, &count, &t->err));
    kiln_device_info *devices = calloc(count + 1, sizeof *devices);
    OK(t, kiln_device_list(devices, count, &count, &t->err));
    for (size_t k = 0; k < count; k++)
        gpus += devices[k].backend == KILN_BACKEND_CUDA && devices[k].usable;
    free(devices);
    if (gpus > 0) { /* its driver decides, and its libraries may be loaded */
        free(before);
        skip();
    }
    test_env_fresh_dir(t, folder, sizeof folder);
    setenv("LD_LIBRARY_PATH", folder, 1);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t k = 0; k < COUNT(libraries) && turn > 0; k++)
            make_file(folder, libraries[k].name,
                      turn == 1 ? libraries[k].older : libraries[k].newer);
        OK(t, kiln_linalg_list(infos, COUNT(infos), &count, &t->err));
        for (size_t k = 0; k < COUNT(libraries); k++) {
            const kiln_linalg_info *info = &infos[FIRST + k];
            const bool elsewhere =
                info->found && strncmp(info->library, folder, strlen(folder)) != 0;
            for (int older = 0; older < 2 && !info->found; older++) {
                snprintf(wanted, sizeof wanted, "%s.so.%d", libraries[k].name,
                         older ? libraries[k].older : libraries[k].newer);
                CHECK(strstr(info->reason, wanted) != NULL, "%s", info->reason);
            }
            snprintf(wanted, sizeof wanted, "%s/%s.so.%d", folder, libraries[k].name,
                     turn == 1 ? libraries[k].older : libraries[k].newer);
            CHECK(elsewhere || turn == 0 || strcmp(info->library, wanted) == 0, "%s, not %s",
                  info->library, wanted);
        }
    }
    if (before != NULL)
        setenv("LD_LIBRARY_PATH", before, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    free(before);
}

/* cuSOLVER's orgqr counts rows in 32 bits. */
static void test_norms__refuses_more_rows_than_a_library_counts(void **state)
{
    test_env *t = *state;
    kiln_array *one = NULL, *tall = NULL, *q = NULL, *r = NULL;

    if (!t->cuda)
        skip();
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){1, 1}, &one, &t->err));
    OK(t, kiln_array_broadcast_to(one, 2, (const int64_t[]){INT64_C(1) << 31, 1}, &tall, &t->err));
    FAILS(t, KILN_ERR_UNSUPPORTED, kiln_linalg_qr(tall, NULL, &q, &r, &t->err), "2147483648 x 1");
    assert_true(q == NULL && r == NULL);
    kiln_array_release(one);
    kiln_array_release(tall);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_norms__gives_what_numpy_gives),
        TEST(test_norms__computes_in_single_precision),
        TEST(test_norms__counts_integers_as_float64),
        TEST(test_norms__knows_singular_matrices),
        TEST(test_norms__keeps_factors_for_later),
        TEST(test_norms__lu_factors_are_scipys),
        TEST(test_norms__gives_lu_factors_as_matrices),
        TEST(test_norms__lu_is_scipys),
        TEST(test_norms__makes_ldl_factors),
        TEST(test_norms__ldl_takes_blocks_and_zeros),
        TEST(test_norms__finds_eigenvalues_of_any_matrix),
        TEST(test_norms__solves_equations_of_tensors),
        TEST(test_norms__refuses_arguments),
        TEST(test_norms__tells_which_libraries_there_are),
        TEST(test_norms__finds_libraries_of_either_version),
        TEST(test_norms__refuses_more_rows_than_a_library_counts),
    };

    return test_env_main(argc, argv, "test_norms", tests, COUNT(tests));
}
