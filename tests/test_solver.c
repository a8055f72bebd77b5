/*
 * test_solver.c - equations, inverses, determinants, Cholesky factors and powers: against NumPy, whose values
 * data/make_solver.py has put into a table, and for large matrices by residuals.
 *
 * ctest runs it with the LAPACK that is found, and with kiln's own loops ($KILN_BLAS=none).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "linalg_env.h"

/* ---- operands -------------------------------------------------------------------------------- */

/* As in make_solver.py; free() it. `shape` ends in rows and columns. */
static double complex *numbers(int rank, const int64_t *shape, bool is_complex)
{
    int64_t size = 1;

    for (int k = 0; k < rank; k++)
        size *= shape[k];
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    double complex *data = calloc((size_t)size + 1, sizeof *data);
    assert_non_null(data);
    for (int64_t k = 0; k < size; k++) {
        const int64_t j = k % columns, i = k / columns % rows, n = k / columns / rows;
        data[k] = CMPLX((double)((7 * i + 3 * j + i * j + n) % 11 - 5 + 12 * (i == j)),
                        is_complex ? (double)((i + 2 * j + n) % 5 - 2) : 0);
    }
    return data;
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                            const double complex *data)
{
    kiln_array *exact = NULL, *x = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, rank, shape, data, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    kiln_array_release(exact);
    return x;
}

static kiln_array *make(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    const int64_t column[] = {shape[0], 1};
    double complex *data =
        numbers(rank > 1 ? rank : 2, rank > 1 ? shape : column, kiln_dtype_kind(dtype) == 'c');
    kiln_array *x = array_of(t, dtype, rank, shape, data);

    free(data);
    return x;
}

/* ---- NumPy's values -------------------------------------------------------------------------- */

typedef struct solver_case {
    const char *name;
    bool is_complex;
    int a_rank;
    int64_t a[4];
    int b_rank;
    int64_t b[4];
    int y_rank;
    int64_t y[5];
    double re, im;
} solver_case;

static const solver_case solver_cases[] = {
#include "data/solver.inc"
};

/* a a^H, which is positive definite. */
static kiln_array *square(test_env *t, const kiln_array *a)
{
    kiln_axes axes = {.count = kiln_array_rank(a)};
    kiln_array *turned = NULL, *conjugated = NULL, *y = NULL;

    for (int k = 0; k < axes.count; k++)
        axes.axis[k] = k;
    axes.axis[axes.count - 2] = axes.count - 1;
    axes.axis[axes.count - 1] = axes.count - 2;
    OK(t, kiln_array_transpose(a, &axes, &turned, &t->err));
    OK(t, kiln_array_conjugate(turned, &conjugated, &t->err));
    OK(t, kiln_matmul(a, conjugated, NULL, &y, &t->err));
    kiln_array_release(turned);
    kiln_array_release(conjugated);
    return y;
}

static void run_case(test_env *t, const solver_case *c, const kiln_array *a, const kiln_array *b,
                     kiln_array **y)
{
    kiln_array *other = NULL, *product = NULL;

    if (strcmp(c->name, "solve") == 0)
        OK(t, kiln_linalg_solve(a, b, NULL, y, &t->err));
    else if (strcmp(c->name, "solve_triangular") == 0)
        OK(t, kiln_linalg_solve_triangular(a, b, NULL, y, &t->err));
    else if (strcmp(c->name, "inv") == 0)
        OK(t, kiln_linalg_inv(a, NULL, y, &t->err));
    else if (strcmp(c->name, "det") == 0)
        OK(t, kiln_linalg_det(a, NULL, y, &t->err));
    else if (strcmp(c->name, "sign") == 0)
        OK(t, kiln_linalg_slogdet(a, NULL, y, &other, &t->err));
    else if (strcmp(c->name, "log") == 0)
        OK(t, kiln_linalg_slogdet(a, NULL, &other, y, &t->err));
    else if (strcmp(c->name, "cholesky") == 0) {
        product = square(t, a);
        OK(t, kiln_linalg_cholesky(product, NULL, y, &t->err));
    } else {
        assert_true(strncmp(c->name, "power", 5) == 0);
        OK(t, kiln_linalg_matrix_power(a, atoi(c->name + 5), NULL, y, &t->err));
    }
    kiln_array_release(other);
    kiln_array_release(product);
}

static void check_cases(test_env *t, kiln_dtype real, kiln_dtype complex_, double tolerance)
{
    for (size_t k = 0; k < COUNT(solver_cases); k++) {
        const solver_case *c = &solver_cases[k];
        const kiln_dtype dtype = c->is_complex ? complex_ : real;
        if (t->cuda && !test_drawn(t))
            continue;
        kiln_array *a = make(t, dtype, c->a_rank, c->a), *y = NULL;
        kiln_array *b = make(t, dtype, c->b_rank > 0 ? c->b_rank : 1,
                             c->b_rank > 0 ? c->b : (const int64_t[]){1});
        run_case(t, c, a, b, &y);
        assert_int_equal(kiln_array_dtype(y), strcmp(c->name, "log") == 0 ? real : dtype);
        CHECK(kiln_array_rank(y) == c->y_rank, "case %zu, %s: rank %d", k, c->name,
              kiln_array_rank(y));
        for (int axis = 0; axis < c->y_rank; axis++)
            CHECK(kiln_array_shape(y)[axis] == c->y[axis], "case %zu, %s: axis %d", k, c->name,
                  axis);
        const double complex got = weigh(t, y), want = CMPLX(c->re, c->im);
        CHECK(cabs(got - want) <= tolerance * (1 + cabs(want)), "case %zu, %s: %.17g%+.17gi", k,
              c->name, creal(got), cimag(got));
        kiln_array_release(a);
        kiln_array_release(b);
        kiln_array_release(y);
    }
}

static void test_solver__gives_what_numpy_gives(void **state)
{
    check_cases(*state, KILN_FLOAT64, KILN_COMPLEX128, 1e-11);
}

static void test_solver__computes_in_single_precision(void **state)
{
    check_cases(*state, KILN_FLOAT32, KILN_COMPLEX64, 1e-3);
}

/* ---- large matrices -------------------------------------------------------------------------- */

/* The largest |a x - b| for n x n and n x columns, and what it may be: n times the rounding of each sum. */
static void check_residual(kiln_dtype dtype, int64_t n, int64_t columns, const void *a,
                           const void *x, const void *b)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++) {
            double complex sum = -value_at(dtype, b, i * columns + j);
            double size = cabs(sum);
            for (int64_t k = 0; k < n; k++) {
                const double complex one =
                    value_at(dtype, a, i * n + k) * value_at(dtype, x, k * columns + j);
                sum += one;
                size += cabs(one);
            }
            CHECK(cabs(sum) <= 4 * (double)n * size * epsilon_of(dtype),
                  "%s: [%lld, %lld] is %g off", kiln_dtype_name(dtype), (long long)i, (long long)j,
                  cabs(sum));
        }
}

static void test_solver__solves_large_systems(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64,
                                        KILN_COMPLEX128};
    enum { N = 131, COLUMNS = 3 };
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *base = random_array(t, dtypes[d], 2, (const int64_t[]){N, N}), *a = NULL;
        kiln_array *b = random_array(t, dtypes[d], 2, (const int64_t[]){N, COLUMNS}), *x = NULL;
        OK(t, kiln_array_transpose(base, NULL, &a, &t->err));
        OK(t, kiln_linalg_solve(a, b, NULL, &x, &t->err));
        void *a_data = elements(t, a), *b_data = elements(t, b), *x_data = elements(t, x);
        check_residual(dtypes[d], N, COLUMNS, a_data, x_data, b_data);
        free(a_data);
        free(b_data);
        free(x_data);
        kiln_array *const all[] = {base, a, b, x};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* One stack of matrices for two stacks of right sides. */
static void test_solver__broadcasts_stacks_of_matrices(void **state)
{
    enum { SETS = 2, COUNT_A = 4, N = 40, COLUMNS = 2 };
    test_env *t = *state;
    kiln_array *a = make(t, KILN_FLOAT64, 3, (const int64_t[]){COUNT_A, N, N}), *x = NULL;
    kiln_array *b = random_array(t, KILN_FLOAT64, 4, (const int64_t[]){SETS, COUNT_A, N, COLUMNS});

    OK(t, kiln_linalg_solve(a, b, NULL, &x, &t->err));
    double *a_data = elements(t, a), *b_data = elements(t, b), *x_data = elements(t, x);
    for (size_t k = 0; k < SETS * COUNT_A; k++)
        check_residual(KILN_FLOAT64, N, COLUMNS, a_data + k % COUNT_A * N * N,
                       x_data + k * N * COLUMNS, b_data + k * N * COLUMNS);
    free(a_data);
    free(b_data);
    free(x_data);
    kiln_array *const all[] = {a, b, x};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* L L^H and R^H R are the matrix; what lies beyond the diagonal is zero and was not read. */
static void test_solver__factorises_large_matrices(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT64, KILN_COMPLEX128};
    enum { N = 70 };
    test_env *t = *state;

    for (size_t d = 0; d < 2 * COUNT(dtypes); d++) {
        const kiln_dtype dtype = dtypes[d / 2];
        kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
        kiln_array *base = make(t, dtype, 2, (const int64_t[]){N, N}), *y = NULL;
        kiln_array *full = square(t, base), *half = NULL;
        double complex *a = calloc(N * N, sizeof *a), *cut = calloc(N * N, sizeof *cut);
        void *data = elements(t, full);
        options.upper = d % 2 != 0;
        for (int64_t k = 0; k < N * N; k++) {
            const bool read = options.upper ? k / N <= k % N : k / N >= k % N;
            a[k] = value_at(dtype, data, k);
            cut[k] = read ? a[k] : NAN;
        }
        half = array_of(t, dtype, 2, (const int64_t[]){N, N}, cut);
        OK(t, kiln_linalg_cholesky(half, &options, &y, &t->err));
        void *f = elements(t, y);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < N; j++) {
                double complex sum = 0;
                for (int64_t k = 0; k < N; k++)
                    sum +=
                        options.upper
                            ? conj(value_at(dtype, f, k * N + i)) * value_at(dtype, f, k * N + j)
                            : value_at(dtype, f, i * N + k) * conj(value_at(dtype, f, j * N + k));
                CHECK(cabs(sum - a[i * N + j]) <= 1e-10 * cabs(a[i * N + i]), "[%lld, %lld]: %g",
                      (long long)i, (long long)j, cabs(sum - a[i * N + j]));
                if (options.upper ? i > j : i < j)
                    assert_true(value_at(dtype, f, i * N + j) == 0);
            }
        free(a);
        free(cut);
        free(data);
        free(f);
        kiln_array *const all[] = {base, full, half, y};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* ---- libraries of a GPU ---------------------------------------------------------------------- */

/* What the stand-in for cuSOLVER and cuBLAS counts (emulator/cusolver.c). */
typedef struct library_calls {
    const char *name;
    unsigned count;
} library_calls;

static const library_calls *calls_to(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? dlsym(handle, "stand_in_calls") : NULL;
}

static unsigned calls_of(const char *library, const char *name)
{
    const library_calls *calls = calls_to(library);
    unsigned count = 0;

    for (size_t k = 0; calls != NULL && calls[k].name != NULL; k++)
        if (strcmp(calls[k].name, name) == 0)
            count = calls[k].count;
    return count;
}

#define SOLVER "libcusolver.so.12"
#define CUBLAS "libcublas.so.13"

/* ---- failures that are told later -------------------------------------------------------------- */

enum { FUNCTIONS = 4 };

static kiln_status call_function(int function, const kiln_array *a, const kiln_array *b,
                                 const kiln_linalg_options *options, kiln_array **y,
                                 kiln_error *err)
{
    switch (function) {
    case 0:
        return kiln_linalg_inv(a, options, y, err);
    case 1:
        return kiln_linalg_solve(a, b, options, y, err);
    case 2:
        return kiln_linalg_solve_triangular(a, b, options, y, err);
    default:
        return kiln_linalg_cholesky(a, options, y, err);
    }
}

/* The matrix that failed is NaN, where anything of it is defined; the others are `by` in their diagonals. */
static void check_others(test_env *t, const kiln_array *y, int64_t n, double by)
{
    void *data = elements(t, y);

    for (int64_t k = 0; k < 6 * n * n; k++) {
        const double v = creal(value_at(kiln_array_dtype(y), data, k));
        if (k / (n * n) == 3)
            assert_true(isnan(v) || (by > 1 && k % n > k / n % n)); /* above a Cholesky factor */
        else
            assert_true(fabs(v - (k / n % n == k % n ? by : 0)) < 1e-6);
    }
    free(data);
}

/* Six matrices, of which the fourth has nothing but zeros and the others 2 in their diagonals. */
static void check_deferred(test_env *t, kiln_dtype dtype, int64_t n)
{
    static const char *const names[FUNCTIONS] = {"inv", "solve", "solve_triangular", "cholesky"};
    const int64_t shape[] = {2, 3, n, n};
    double complex *data = calloc((size_t)(6 * n * n), sizeof *data);
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    kiln_array *eye = NULL, *a = NULL, *y = NULL;

    options.deferred = true;
    for (int64_t k = 0; k < 6 * n * n; k++)
        data[k] = k / n % n == k % n;
    eye = array_of(t, dtype, 4, shape, data);
    for (int64_t k = 0; k < 6 * n * n; k++)
        data[k] *= k / (n * n) == 3 ? 0 : 2;
    a = array_of(t, dtype, 4, shape, data);
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int f = 0; f < FUNCTIONS; f++) {
        options.nan_on_failure = false;
        if (!t->cuda) { /* it is done at once, and told */
            FAILS(t, KILN_ERR_SINGULAR, call_function(f, a, eye, &options, &y, &t->err), names[f],
                  "matrix [1, 0] of the stack");
            assert_null(y);
        } else {
            OK(t, call_function(f, a, eye, &options, &y, &t->err));
            FAILS(t, KILN_ERR_SINGULAR, kiln_context_synchronize(t->ctx, &t->err), names[f],
                  "matrix [1, 0] of the stack", f < 3 ? " 1 of its " : "order 1 is not positive");
            OK(t, kiln_context_synchronize(t->ctx, &t->err));
            check_others(t, y, n, f < 3 ? 0.5 : sqrt(2));
            kiln_array_release(y);
            y = NULL;
        }
        options.nan_on_failure = true;
        OK(t, call_function(f, a, eye, &options, &y, &t->err));
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        check_others(t, y, n, f < 3 ? 0.5 : sqrt(2));
        kiln_array_release(y);
        y = NULL;
    }
    /* Nothing failed, nothing is said. */
    options.nan_on_failure = false;
    OK(t, kiln_linalg_solve(eye, a, &options, &y, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    free(data);
    kiln_array *const all[] = {eye, a, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* One singular matrix of many, which a block in the middle of the report's kernel finds. */
static void check_one_of_many(test_env *t)
{
    enum { COUNT_OF_ALL = 5000, SINGULAR = 3210 };
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    double complex *data = calloc(4 * COUNT_OF_ALL, sizeof *data);
    kiln_array *y = NULL;

    for (int k = 0; k < COUNT_OF_ALL; k++)
        data[4 * k] = data[4 * k + 3] = k != SINGULAR;
    kiln_array *a = array_of(t, KILN_FLOAT32, 3, (const int64_t[]){COUNT_OF_ALL, 2, 2}, data);
    options.deferred = t->cuda;
    if (t->cuda)
        OK(t, kiln_linalg_inv(a, &options, &y, &t->err));
    FAILS(t, KILN_ERR_SINGULAR,
          t->cuda ? kiln_context_synchronize(t->ctx, &t->err)
                  : kiln_linalg_inv(a, &options, &y, &t->err),
          "matrix [3210] of the stack");
    free(data);
    kiln_array_release(a);
    kiln_array_release(y);
}

static void test_solver__tells_of_failures_at_the_next_wait(void **state)
{
    check_one_of_many(*state);
    check_deferred(*state, KILN_FLOAT32, 4);
    check_deferred(*state, KILN_FLOAT64, 34);
    check_deferred(*state, KILN_COMPLEX128, 5);
}

/* A few large matrices are factorised one by one, many by one call; what is broadcast, once. */
static void test_solver__asks_the_library_for_stacks(void **state)
{
    test_env *t = *state;
    if (calls_to(SOLVER) == NULL)
        skip(); /* the real library, or none */
    kiln_array *few = make(t, KILN_FLOAT64, 3, (const int64_t[]){2, 40, 40}), *y = NULL;
    kiln_array *many = make(t, KILN_FLOAT64, 4, (const int64_t[]){2, 3, 40, 40});
    kiln_array *one = make(t, KILN_FLOAT64, 2, (const int64_t[]){40, 40});
    kiln_array *right = make(t, KILN_FLOAT64, 3, (const int64_t[]){5, 40, 2});

    unsigned before = calls_of(SOLVER, "getrf");
    OK(t, kiln_linalg_inv(few, NULL, &y, &t->err));
    assert_int_equal(calls_of(SOLVER, "getrf"), before + 2);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_solve(one, right, NULL, &y, &t->err));
    assert_int_equal(calls_of(SOLVER, "getrf"), before + 3);
    kiln_array_release(y);
    y = NULL;
    /* One or many right sides of each matrix's own are exchanged by a kernel, and substituted by cuBLAS. */
    kiln_array *own[] = {make(t, KILN_FLOAT64, 3, (const int64_t[]){2, 40, 43}),
                         make(t, KILN_FLOAT64, 3, (const int64_t[]){2, 40, 1})};
    const unsigned together = calls_of(SOLVER, "getrs"), triangles = calls_of(CUBLAS, "trsm");
    for (size_t k = 0; k < COUNT(own); k++) {
        OK(t, kiln_linalg_solve(few, own[k], NULL, &y, &t->err));
        assert_int_equal(calls_of(CUBLAS, "trsm"), triangles + 4 * (k + 1));
        kiln_array_release(y);
        kiln_array_release(own[k]);
        y = NULL;
    }
    assert_int_equal(calls_of(SOLVER, "getrs"), together);
    /* Singular values come from gesvdp, float32 in double precision, but of singular matrices from gesvd. */
    kiln_array *narrow = make(t, KILN_FLOAT32, 3, (const int64_t[]){2, 41, 40}), *ones = NULL;
    before = calls_of(SOLVER, "gesvd");
    const unsigned polar = calls_of(SOLVER, "gesvdp");
    OK(t, kiln_linalg_svdvals(narrow, NULL, &y, &t->err));
    assert_true(kiln_array_dtype(y) == KILN_FLOAT32);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){3, 40, 41}, &ones, &t->err));
    assert_int_equal(calls_of(SOLVER, "gesvdp"), polar + 2);
    assert_int_equal(calls_of(SOLVER, "gesvd"), before);
    OK(t, kiln_linalg_svdvals(ones, NULL, &y, &t->err));
    assert_int_equal(calls_of(SOLVER, "gesvd"), before + 3);
    kiln_array_release(narrow);
    kiln_array_release(ones);
    kiln_array_release(y);
    y = ones = NULL;
    /* Small matrices are for kernels of kiln's own, singular ones too. */
    before = calls_of(SOLVER, "gesvd");
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){3, 4, 4}, &ones, &t->err));
    OK(t, kiln_linalg_pinv(ones, -1, NULL, &y, &t->err));
    assert_int_equal(calls_of(SOLVER, "gesvd"), before);
    kiln_array_release(ones);
    kiln_array_release(y);
    y = NULL;
    before = calls_of(CUBLAS, "getrfBatched");
    const unsigned inverted = calls_of(CUBLAS, "getriBatched");
    OK(t, kiln_linalg_inv(many, NULL, &y, &t->err));
    assert_int_equal(calls_of(CUBLAS, "getrfBatched"), before + 1);
    assert_int_equal(calls_of(CUBLAS, "getriBatched"), inverted + 1);
    kiln_array *const all[] = {few, many, one, right, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* A workspace of more than 2^31 bytes is used up to its end; one that no memory holds is an error, after which the
 * context works on. */
static void test_solver__gives_the_library_large_workspaces(void **state)
{
    test_env *t = *state;
    void *library = dlopen(SOLVER, RTLD_NOW | RTLD_LOCAL);
    size_t *room = library != NULL ? dlsym(library, "stand_in_room") : NULL;
    if (room == NULL)
        skip(); /* the real library, or none */
    const size_t before = *room, rooms[] = {((size_t)1 << 31) + 4096, (size_t)1 << 50, before};
    kiln_array *a = make(t, KILN_FLOAT64, 2, (const int64_t[]){40, 40}), *y = NULL;
    kiln_array *b = make(t, KILN_FLOAT64, 2, (const int64_t[]){40, 3}), *product = NULL;
    double *want = elements(t, b);

    for (size_t k = 0; k < COUNT(rooms); k++) {
        *room = rooms[k];
        if (k == 1) {
            FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_linalg_solve(a, b, NULL, &y, &t->err),
                  "1.00 PiB");
            assert_null(y);
            continue;
        }
        OK(t, kiln_linalg_solve(a, b, NULL, &y, &t->err));
        OK(t, kiln_matmul(a, y, NULL, &product, &t->err));
        double *got = elements(t, product);
        for (int at = 0; at < 40 * 3; at++)
            CHECK(fabs(got[at] - want[at]) < 1e-9, "%d: %g, not %g", at, got[at], want[at]);
        free(got);
        kiln_array_release(y);
        kiln_array_release(product);
        y = product = NULL;
        (void)kiln_context_pool_trim(t->ctx);
    }
    free(want);
    kiln_array_release(a);
    kiln_array_release(b);
}

/* ---- views, dtypes, outputs ------------------------------------------------------------------ */

/* np.linalg.det of a reversed, transposed stack of integers is that of the copy of it: here of 2 x 2. */
static void test_solver__takes_views_and_integers(void **state)
{
    static const int32_t data[] = {1, 2, 3, 4, 5, 7, 8, 6};
    test_env *t = *state;
    kiln_array *x = NULL, *v = NULL, *turned = NULL, *y = NULL;
    double got[2];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 3, (const int64_t[]){2, 2, 2}, data, NULL, &x,
                               &t->err));
    OK(t, kiln_array_flip(x, 0, &v, &t->err));
    OK(t, kiln_array_transpose(v, KILN_AXES(0, 2, 1), &turned, &t->err));
    OK(t, kiln_linalg_det(turned, NULL, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), KILN_FLOAT64);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(fabs(got[0] - (5 * 6 - 7 * 8)) < 1e-12 && fabs(got[1] - (1 * 4 - 2 * 3)) < 1e-12);
    kiln_array *const all[] = {x, v, turned, y};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_solver__powers_of_other_dtypes(void **state)
{
    static const int8_t data[] = {1, 1, 1, 0};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    int8_t got[4];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT8, 2, (const int64_t[]){2, 2}, data, NULL, &x,
                               &t->err));
    OK(t, kiln_linalg_matrix_power(x, 10, NULL, &y, &t->err)); /* Fibonacci's numbers */
    assert_int_equal(kiln_array_dtype(y), KILN_INT8);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 89 && got[1] == 55 && got[2] == 55 && got[3] == 34);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_matrix_power(x, 1, NULL, &y, &t->err));
    assert_true(kiln_array_data(y) != kiln_array_data(x));
    kiln_array_release(x);
    kiln_array_release(y);
}

/* The right sides are the output. */
static void test_solver__writes_an_output(void **state)
{
    test_env *t = *state;
    kiln_array *a = make(t, KILN_FLOAT64, 2, (const int64_t[]){3, 3}), *x = NULL;
    kiln_array *b = make(t, KILN_FLOAT64, 2, (const int64_t[]){3, 2}), *given = b;

    OK(t, kiln_linalg_solve(a, b, NULL, &x, &t->err));
    const double complex want = weigh(t, x);
    OK(t, kiln_linalg_solve(a, b, NULL, &given, &t->err));
    assert_ptr_equal(given, b);
    assert_true(weigh(t, b) == want);
    FAILS(t, KILN_ERR_OUTPUT, kiln_linalg_inv(a, NULL, &given, &t->err), "(3, 2)", "(3, 3)");
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(x);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* A stack (2, 2) of unit matrices of order 3; [1, 0] has a zero in its second row and column. */
static kiln_array *stack_with_a_hole(test_env *t)
{
    double complex data[4 * 9] = {0};

    for (int n = 0; n < 4; n++)
        for (int k = 0; k < 3; k++)
            data[n * 9 + 4 * k] = n == 2 && k == 1 ? 0 : k + 1;
    return array_of(t, KILN_FLOAT64, 4, (const int64_t[]){2, 2, 3, 3}, data);
}

static void test_solver__names_the_matrix_that_is_singular(void **state)
{
    test_env *t = *state;
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    kiln_array *a = stack_with_a_hole(t), *y = NULL, *log = NULL, *one = NULL;
    kiln_array *b = make(t, KILN_FLOAT64, 2, (const int64_t[]){3, 1});

    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_solve(a, b, NULL, &y, &t->err), "matrix [1, 0]",
          "pivot 2");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_inv(a, NULL, &y, &t->err), "matrix [1, 0]", "pivot 2");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_cholesky(a, NULL, &y, &t->err), "matrix [1, 0]",
          "order 2");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_solve_triangular(a, b, NULL, &y, &t->err), "[1, 0]",
          "element 2");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_matrix_power(a, -1, NULL, &y, &t->err), "[1, 0]");
    assert_null(y);
    OK(t, kiln_array_view(a, "1, 0", &one, &t->err));
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_inv(one, NULL, &y, &t->err), "inv: the matrix is");
    /* NaN for that one, by option; determinants are numbers. */
    options.nan_on_failure = true;
    OK(t, kiln_linalg_inv(a, &options, &y, &t->err));
    double *inverse = elements(t, y);
    for (int k = 0; k < 36; k++)
        assert_true(isnan(inverse[k]) == (k / 9 == 2));
    assert_true(inverse[0] == 1 && inverse[4] == 0.5);
    free(inverse);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_linalg_slogdet(a, NULL, &y, &log, &t->err));
    double *sign = elements(t, y), *logs = elements(t, log);
    for (int k = 0; k < 4; k++) {
        assert_true(sign[k] == (k == 2 ? 0 : 1));
        assert_true(k == 2 ? logs[k] == -INFINITY : fabs(logs[k] - 1.791759469228055) < 1e-15);
    }
    free(sign);
    free(logs);
    kiln_array *const all[] = {a, b, y, log, one};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* As a library says it: of one matrix and of a stack that are too large for kernels of kiln's own. */
static void test_solver__names_large_matrices_too(void **state)
{
    enum { N = 40 };
    test_env *t = *state;
    double complex *data = calloc(6 * N * N, sizeof *data);
    kiln_array *b = make(t, KILN_FLOAT64, 2, (const int64_t[]){N, 1}), *y = NULL, *one = NULL;

    for (int k = 0; k < 6 * N; k++) /* the last of matrix 4 has a row of zeros */
        data[k / N * N * N + k % N * (N + 1)] = k == 4 * N + 17 ? 0 : 2;
    kiln_array *a = array_of(t, KILN_FLOAT64, 4, (const int64_t[]){2, 3, N, N}, data);
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_inv(a, NULL, &y, &t->err), "matrix [1, 1]", "pivot 18");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_solve(a, b, NULL, &y, &t->err), "matrix [1, 1]",
          "pivot 18");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_cholesky(a, NULL, &y, &t->err), "matrix [1, 1]",
          "order 18");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_solve_triangular(a, b, NULL, &y, &t->err),
          "matrix [1, 1]", "element 18");
    OK(t, kiln_array_view(a, "1, 1", &one, &t->err));
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_inv(one, NULL, &y, &t->err), "the matrix is", "18");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_solve(one, b, NULL, &y, &t->err), "the matrix is",
          "18");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_cholesky(one, NULL, &y, &t->err), "the matrix is",
          "18");
    assert_null(y);
    free(data);
    kiln_array_release(a);
    kiln_array_release(b);
    kiln_array_release(one);
}

/* NumPy: inv and solve give NaN, cholesky raises LinAlgError. */
static void test_solver__passes_nan_on(void **state)
{
    const double complex data[] = {NAN, 1, 1, 2};
    test_env *t = *state;
    kiln_array *a = array_of(t, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, data), *y = NULL;

    OK(t, kiln_linalg_inv(a, NULL, &y, &t->err));
    double *got = elements(t, y);
    assert_true(isnan(got[0]));
    free(got);
    kiln_array_release(y);
    y = NULL;
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_cholesky(a, NULL, &y, &t->err), "order 1");
    kiln_array_release(a);
}

static void test_solver__refuses_arguments(void **state)
{
    test_env *t = *state;
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    kiln_matmul_options products = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *wide = make(t, KILN_FLOAT64, 2, (const int64_t[]){2, 3}), *y = NULL;
    kiln_array *square_one = make(t, KILN_FLOAT64, 2, (const int64_t[]){3, 3});
    kiln_array *line = make(t, KILN_FLOAT64, 1, (const int64_t[]){2});
    kiln_array *stack = make(t, KILN_FLOAT64, 3, (const int64_t[]){2, 3, 3});
    kiln_array *others = make(t, KILN_FLOAT64, 3, (const int64_t[]){5, 3, 1});
    kiln_array *half = make(t, KILN_FLOAT16, 2, (const int64_t[]){3, 3});

    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_inv(wide, NULL, &y, &t->err), "inv", "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_det(line, NULL, &y, &t->err), "det", "(2,)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_matrix_power(wide, 2, NULL, &y, &t->err), "(2, 3)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_solve(square_one, line, NULL, &y, &t->err),
          "matrices of shape (3, 3)", "right sides of shape (2,)");
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_solve(stack, others, NULL, &y, &t->err), "(2, 3, 3)",
          "(5, 3, 1)");
    FAILS(t, KILN_ERR_DTYPE, kiln_linalg_cholesky(half, NULL, &y, &t->err), "float16");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_inv(NULL, NULL, &y, &t->err), "`a`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_solve(square_one, NULL, NULL, &y, &t->err), "`b`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_inv(square_one, NULL, NULL, &t->err), "`out`");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_slogdet(square_one, NULL, &y, NULL, &t->err), "result 2");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_slogdet(square_one, NULL, &y, &y, &t->err),
          "results 1 and 2");
    products.alpha = 2;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_matrix_power(square_one, 2, &products, &y, &t->err),
          "`alpha`");
    options.struct_size = 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_inv(square_one, &options, &y, &t->err),
          "kiln_linalg_options");
    assert_null(y);
    kiln_array *const all[] = {wide, square_one, line, stack, others, half};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_solver__survives_a_lack_of_memory(void **state)
{
    test_env *t = *state;
    kiln_array *a = make(t, KILN_FLOAT64, 3, (const int64_t[]){3, 4, 4});
    kiln_array *b = make(t, KILN_FLOAT64, 3, (const int64_t[]){3, 4, 2});
    size_t nth = 0;

    for (bool done = false; !done; nth++) {
        kiln_array *x = NULL, *sign = NULL, *log = NULL;
        kiln__test_alloc_fail_at(nth);
        kiln_status status = kiln_linalg_solve(a, b, NULL, &x, NULL);
        if (status == KILN_OK)
            status = kiln_linalg_slogdet(a, NULL, &sign, &log, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        CHECK(status == KILN_OK || status == KILN_ERR_NO_MEMORY, "allocation %zu: %d", nth,
              (int)status);
        done = status == KILN_OK;
        kiln_array_release(x);
        kiln_array_release(sign);
        kiln_array_release(log);
        assert_true(nth < 200);
    }
    assert_true(nth > 1);
    kiln_array_release(a);
    kiln_array_release(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_solver__gives_what_numpy_gives),
        TEST(test_solver__computes_in_single_precision),
        TEST(test_solver__solves_large_systems),
        TEST(test_solver__broadcasts_stacks_of_matrices),
        TEST(test_solver__factorises_large_matrices),
        TEST(test_solver__tells_of_failures_at_the_next_wait),
        TEST(test_solver__asks_the_library_for_stacks),
        TEST(test_solver__gives_the_library_large_workspaces),
        TEST(test_solver__takes_views_and_integers),
        TEST(test_solver__powers_of_other_dtypes),
        TEST(test_solver__writes_an_output),
        TEST(test_solver__names_the_matrix_that_is_singular),
        TEST(test_solver__names_large_matrices_too),
        TEST(test_solver__passes_nan_on),
        TEST(test_solver__refuses_arguments),
        TEST(test_solver__survives_a_lack_of_memory),
    };

    return test_env_main(argc, argv, "test_solver", tests, COUNT(tests));
}
