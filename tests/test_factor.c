/*
 * test_factor.c - QR factors, eigenvalues of Hermitian matrices, singular values, pseudo-inverses and least
 * squares: by what they must satisfy, in plain loops, and against a few values of NumPy.
 *
 * ctest runs it with the LAPACK that is found, and with kiln's own loops ($KILN_BLAS=none).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "linalg_env.h"

static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};

/* Sides of matrices: tall, wide, square; the last are large enough for a LAPACK. */
static const int64_t sides[][2] = {{1, 1}, {5, 3}, {3, 5}, {6, 6}, {20, 7}, {75, 60}, {60, 75}};

/* ---- matrices in plain loops ----------------------------------------------------------------- */

/* One matrix of a stack, row by row, whatever its dtype. */
typedef struct matrix {
    int64_t m, n;
    double complex *at;
} matrix;

static matrix read_matrix(test_env *t, const kiln_array *x, int64_t nth)
{
    const int rank = kiln_array_rank(x);
    const int64_t *shape = kiln_array_shape(x);
    matrix a = {shape[rank - 2], shape[rank - 1], NULL};
    void *data = elements(t, x);

    a.at = calloc((size_t)(a.m * a.n) + 1, sizeof *a.at);
    assert_non_null(a.at);
    for (int64_t k = 0; k < a.m * a.n; k++)
        a.at[k] = value_at(kiln_array_dtype(x), data, nth * a.m * a.n + k);
    free(data);
    return a;
}

/* a b, or a^H b. */
static matrix product(matrix a, bool adjoint, matrix b)
{
    const int64_t rows = adjoint ? a.n : a.m, inner = adjoint ? a.m : a.n;
    matrix y = {rows, b.n, calloc((size_t)(rows * b.n) + 1, sizeof *y.at)};

    assert_int_equal(inner, b.m);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < b.n; j++)
            for (int64_t k = 0; k < inner; k++)
                y.at[i * b.n + j] +=
                    (adjoint ? conj(a.at[k * a.n + i]) : a.at[i * a.n + k]) * b.at[k * b.n + j];
    return y;
}

static double largest(matrix a)
{
    double size = 0;
    for (int64_t k = 0; k < a.m * a.n; k++)
        size = fmax(size, cabs(a.at[k]));
    return size;
}

/* |a - b| is small beside `scale`, by the dtype's rounding times the longer side. */
static void expect_near(matrix a, matrix b, kiln_dtype dtype, double scale, const char *what)
{
    const double side = (double)(a.m > a.n ? a.m : a.n);
    const double room = 40 * (side + 4) * epsilon_of(dtype) * (scale + 1);

    assert_true(a.m == b.m && a.n == b.n);
    for (int64_t k = 0; k < a.m * a.n; k++)
        CHECK(cabs(a.at[k] - b.at[k]) <= room, "%s, %s, %lld x %lld: [%lld] is %g%+gi, not %g%+gi",
              what, kiln_dtype_name(dtype), (long long)a.m, (long long)a.n, (long long)k,
              creal(a.at[k]), cimag(a.at[k]), creal(b.at[k]), cimag(b.at[k]));
}

/* Columns are orthonormal: a^H a is the unit matrix. */
static void expect_orthonormal(matrix a, kiln_dtype dtype, const char *what)
{
    matrix y = product(a, true, a);
    matrix unit = {y.m, y.n, calloc((size_t)(y.m * y.n) + 1, sizeof *unit.at)};

    for (int64_t k = 0; k < y.m; k++)
        unit.at[k * (y.n + 1)] = 1;
    expect_near(y, unit, dtype, 1, what);
    free(y.at);
    free(unit.at);
}

static void drop(matrix *const *all, size_t count)
{
    for (size_t k = 0; k < count; k++)
        free(all[k]->at);
}

/* A stack (2, m, n) of small integers. */
static kiln_array *stack_of(test_env *t, kiln_dtype dtype, int64_t m, int64_t n)
{
    return random_array(t, dtype, 3, (const int64_t[]){2, m, n});
}

/* The numbers of row `nth` of an array with one axis more than its stack. */
static double *numbers(test_env *t, const kiln_array *x, int64_t nth)
{
    const int64_t count = kiln_array_shape(x)[kiln_array_rank(x) - 1];
    void *data = elements(t, x);
    double *values = calloc((size_t)count + 1, sizeof *values);

    assert_non_null(values);
    for (int64_t k = 0; k < count; k++)
        values[k] = creal(value_at(kiln_array_dtype(x), data, nth * count + k));
    free(data);
    return values;
}

/* ---- QR -------------------------------------------------------------------------------------- */

static void test_factor__qr_gives_a_back(void **state)
{
    test_env *t = *state;

    for (size_t c = 0; c < 2 * COUNT(dtypes) * COUNT(sides); c++) {
        const kiln_dtype dtype = dtypes[c % COUNT(dtypes)];
        const int64_t *side = sides[c / COUNT(dtypes) / 2];
        if (t->cuda && !test_drawn(t))
            continue;
        kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
        kiln_array *x = stack_of(t, dtype, side[0], side[1]), *q_array = NULL, *r_array = NULL;
        options.full = c / COUNT(dtypes) % 2 != 0;
        OK(t, kiln_linalg_qr(x, &options, &q_array, &r_array, &t->err));
        const int64_t columns = options.full || side[0] < side[1] ? side[0] : side[1];
        assert_true(kiln_array_shape(q_array)[2] == columns &&
                    kiln_array_shape(r_array)[1] == columns);
        matrix a = read_matrix(t, x, 1), q = read_matrix(t, q_array, 1);
        matrix r = read_matrix(t, r_array, 1), y = product(q, false, r);
        expect_near(y, a, dtype, largest(a) * 10, "Q R");
        expect_orthonormal(q, dtype, "Q");
        for (int64_t i = 0; i < r.m; i++)
            for (int64_t j = 0; j < i && j < r.n; j++)
                assert_true(r.at[i * r.n + j] == 0);
        drop((matrix *const[]){&a, &q, &r, &y}, 4);
        kiln_array *const all[] = {x, q_array, r_array};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* np.linalg.qr([[3., 1], [4, 2]]) has R = [[-5, -2.2], [0, 0.4]]. */
static void test_factor__qr_has_the_signs_of_numpy(void **state)
{
    static const double data[] = {3, 1, 4, 2}, want[] = {-5, -2.2, 0, 0.4};
    test_env *t = *state;
    kiln_array *x = NULL, *q = NULL, *r = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, data, NULL, &x,
                               &t->err));
    OK(t, kiln_linalg_qr(x, NULL, &q, &r, &t->err));
    double *got = elements(t, r);
    for (int k = 0; k < 4; k++)
        assert_true(fabs(got[k] - want[k]) < 1e-14);
    free(got);
    kiln_array_release(x);
    kiln_array_release(q);
    kiln_array_release(r);
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* A Hermitian matrix, of which only one triangle is given: the other holds NaN. */
static kiln_array *triangle(test_env *t, kiln_dtype dtype, int64_t n, bool upper, matrix *full)
{
    kiln_array *base = random_array(t, dtype, 2, (const int64_t[]){n, n}), *x = NULL;
    matrix a = read_matrix(t, base, 0);
    double complex *cut = calloc((size_t)(n * n) + 1, sizeof *cut);
    kiln_array *exact = NULL;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            a.at[i * n + j] = i == j ? creal(a.at[i * n + j]) : a.at[i * n + j];
            a.at[j * n + i] = conj(a.at[i * n + j]);
        }
    for (int64_t k = 0; k < n * n; k++)
        cut[k] = (upper ? k / n <= k % n : k / n >= k % n) ? a.at[k] : (double complex)NAN;
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 2, (const int64_t[]){n, n}, cut, NULL,
                               &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    free(cut);
    kiln_array_release(base);
    kiln_array_release(exact);
    *full = a;
    return x;
}

static void test_factor__eigh_gives_vectors_that_the_matrix_stretches(void **state)
{
    static const int64_t orders[] = {1, 2, 5, 12, 60};
    test_env *t = *state;

    for (size_t c = 0; c < 2 * COUNT(dtypes) * COUNT(orders); c++) {
        const kiln_dtype dtype = dtypes[c % COUNT(dtypes)];
        const int64_t n = orders[c / COUNT(dtypes) / 2];
        if (t->cuda && !test_drawn(t))
            continue;
        kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
        kiln_array *w_array = NULL, *v_array = NULL, *alone = NULL;
        matrix a;
        options.upper = c / COUNT(dtypes) % 2 != 0;
        kiln_array *x = triangle(t, dtype, n, options.upper, &a);
        OK(t, kiln_linalg_eigh(x, &options, &w_array, &v_array, &t->err));
        OK(t, kiln_linalg_eigvalsh(x, &options, &alone, &t->err));
        matrix v = read_matrix(t, v_array, 0), y = product(a, false, v);
        double *w = numbers(t, w_array, 0), *same = numbers(t, alone, 0);
        expect_orthonormal(v, dtype, "eigenvectors");
        for (int64_t i = 0; i < n * n; i++)
            v.at[i] *= w[i % n];
        expect_near(y, v, dtype, largest(a) * (double)n, "A V");
        for (int64_t k = 0; k < n; k++) {
            assert_true(k == 0 || w[k] >= w[k - 1]);
            assert_true(fabs(w[k] - same[k]) <= 100 * (double)n * epsilon_of(dtype) * largest(a));
        }
        free(w);
        free(same);
        drop((matrix *const[]){&a, &v, &y}, 3);
        kiln_array *const all[] = {x, w_array, v_array, alone};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* ---- singular values ------------------------------------------------------------------------- */

static void test_factor__svd_gives_a_back(void **state)
{
    test_env *t = *state;

    for (size_t c = 0; c < 2 * COUNT(dtypes) * COUNT(sides); c++) {
        const kiln_dtype dtype = dtypes[c % COUNT(dtypes)];
        const int64_t *side = sides[c / COUNT(dtypes) / 2];
        if (t->cuda && !test_drawn(t))
            continue;
        const int64_t count = side[0] < side[1] ? side[0] : side[1];
        kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
        kiln_array *x = stack_of(t, dtype, side[0], side[1]);
        kiln_array *u_array = NULL, *s_array = NULL, *vh_array = NULL, *alone = NULL;
        options.full = c / COUNT(dtypes) % 2 != 0;
        OK(t, kiln_linalg_svd(x, &options, &u_array, &s_array, &vh_array, &t->err));
        OK(t, kiln_linalg_svdvals(x, &options, &alone, &t->err));
        assert_true(kiln_array_shape(u_array)[2] == (options.full ? side[0] : count));
        assert_true(kiln_array_shape(vh_array)[1] == (options.full ? side[1] : count));
        matrix a = read_matrix(t, x, 1), u = read_matrix(t, u_array, 1);
        matrix vh = read_matrix(t, vh_array, 1), v = {vh.n, vh.m, NULL};
        double *s = numbers(t, s_array, 1), *same = numbers(t, alone, 1);
        v.at = calloc((size_t)(v.m * v.n) + 1, sizeof *v.at);
        for (int64_t k = 0; k < v.m * v.n; k++)
            v.at[k] = conj(vh.at[k % v.n * vh.n + k / v.n]);
        expect_orthonormal(u, dtype, "U");
        expect_orthonormal(v, dtype, "V");
        for (int64_t i = 0; i < u.m; i++) /* the columns of singular values, close together */
            for (int64_t k = 0; k < count; k++)
                u.at[i * count + k] = u.at[i * u.n + k] * s[k];
        u.n = vh.m = count;
        matrix y = product(u, false, vh);
        expect_near(y, a, dtype, largest(a) * 10, "U S V^H");
        for (int64_t k = 0; k < u.n; k++) {
            assert_true(s[k] >= 0 && (k == 0 || s[k] <= s[k - 1]));
            assert_true(fabs(s[k] - same[k]) <= 100 * epsilon_of(dtype) * s[0]);
        }
        free(s);
        free(same);
        drop((matrix *const[]){&a, &u, &vh, &v, &y}, 5);
        kiln_array *const all[] = {x, u_array, s_array, vh_array, alone};
        for (size_t k = 0; k < COUNT(all); k++)
            kiln_array_release(all[k]);
    }
}

/* A matrix of ones has one singular value that is not 0; vectors are orthonormal all the same. */
static void test_factor__svd_of_less_than_full_rank(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *u_array = NULL, *s_array = NULL, *vh = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){6, 4}, &x, &t->err));
    OK(t, kiln_linalg_svd(x, NULL, &u_array, &s_array, &vh, &t->err));
    double *s = numbers(t, s_array, 0);
    assert_true(fabs(s[0] - sqrt(24)) < 1e-14);
    for (int k = 1; k < 4; k++)
        assert_true(s[k] < 1e-14);
    matrix u = read_matrix(t, u_array, 0);
    expect_orthonormal(u, KILN_FLOAT64, "U");
    free(s);
    free(u.at);
    kiln_array *const all[] = {x, u_array, s_array, vh};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- least squares --------------------------------------------------------------------------- */

/* The residual of a least-squares solution is orthogonal to the columns: a^H (a x - b) = 0. */
static void test_factor__lstsq_leaves_an_orthogonal_residual(void **state)
{
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *a_array = stack_of(t, dtypes[d], 11, 4), *x_array = NULL;
        kiln_array *b_array = stack_of(t, dtypes[d], 11, 2);
        OK(t, kiln_linalg_lstsq(a_array, b_array, -1, NULL, &x_array, &t->err));
        matrix a = read_matrix(t, a_array, 1), b = read_matrix(t, b_array, 1);
        matrix x = read_matrix(t, x_array, 1), y = product(a, false, x);
        for (int64_t k = 0; k < y.m * y.n; k++)
            y.at[k] -= b.at[k];
        matrix rest = product(a, true, y);
        matrix zero = {rest.m, rest.n, calloc((size_t)(rest.m * rest.n) + 1, sizeof *zero.at)};
        expect_near(rest, zero, dtypes[d], 100, "a^H (a x - b)");
        drop((matrix *const[]){&a, &b, &x, &y, &rest, &zero}, 6);
        kiln_array_release(a_array);
        kiln_array_release(b_array);
        kiln_array_release(x_array);
    }
}

/* np.linalg.lstsq([[1., 0], [1, 1], [1, 2]], [1., 3, 4]) is [7/6, 3/2]; np.linalg.pinv of a matrix of ones of
 * 2 x 3 is 1/6 everywhere. */
static void test_factor__lstsq_and_pinv_have_values_of_numpy(void **state)
{
    static const double line[] = {1, 0, 1, 1, 1, 2}, at[] = {1, 3, 4};
    test_env *t = *state;
    kiln_array *a = NULL, *b = NULL, *x = NULL, *ones = NULL, *inverse = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){3, 2}, line, NULL, &a,
                               &t->err));
    OK(t,
       kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (const int64_t[]){3}, at, NULL, &b, &t->err));
    OK(t, kiln_linalg_lstsq(a, b, -1, NULL, &x, &t->err));
    assert_int_equal(kiln_array_rank(x), 1);
    double *got = elements(t, x);
    assert_true(fabs(got[0] - 7.0 / 6) < 1e-14 && fabs(got[1] - 1.5) < 1e-14);
    free(got);
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 3}, &ones, &t->err));
    OK(t, kiln_linalg_pinv(ones, -1, NULL, &inverse, &t->err));
    assert_true(kiln_array_shape(inverse)[0] == 3 && kiln_array_shape(inverse)[1] == 2);
    got = elements(t, inverse);
    for (int k = 0; k < 6; k++)
        assert_true(fabs(got[k] - 1.0 / 6) < 1e-14);
    free(got);
    kiln_array *const all[] = {a, b, x, ones, inverse};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Many more rows than columns: what a call needs grows with the elements, not with the square of the rows. */
static void test_factor__long_columns(void **state)
{
    enum { ROWS = 200000, COLUMNS = 2 };
    test_env *t = *state;
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    double *data = calloc(ROWS * COLUMNS, sizeof *data);
    kiln_array *a = NULL, *b = NULL, *x = NULL, *q = NULL, *r = NULL, *values = NULL;

    for (int k = 0; k < ROWS * COLUMNS; k++) /* b = 2 + 3 t */
        data[k] = k % COLUMNS == 0 ? 1 : (double)(k / COLUMNS % 7) - 3;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){ROWS, COLUMNS}, data,
                               NULL, &a, &t->err));
    for (int k = 0; k < ROWS; k++)
        data[k] = 2 + 3 * ((double)(k % 7) - 3);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (const int64_t[]){ROWS}, data, NULL, &b,
                               &t->err));
    OK(t, kiln_linalg_lstsq(a, b, -1, NULL, &x, &t->err));
    double *got = elements(t, x);
    assert_true(fabs(got[0] - 2) < 1e-10 && fabs(got[1] - 3) < 1e-10);
    free(got);
    OK(t, kiln_linalg_qr(a, NULL, &q, &r, &t->err));
    got = elements(t, r);
    assert_true(fabs(fabs(got[0]) - sqrt(ROWS)) < 1e-9 && got[2] == 0);
    free(got);
    options.full = true; /* says nothing of values alone */
    OK(t, kiln_linalg_svdvals(a, &options, &values, &t->err));
    got = elements(t, values);
    assert_int_equal(kiln_array_size(values), COLUMNS);
    assert_true(fabs(got[0] - sqrt(800002)) < 1e-6 && fabs(got[1] - sqrt(ROWS)) < 1e-6);
    free(got);
    free(data);
    kiln_array *const all[] = {a, b, x, q, r, values};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- random stacks --------------------------------------------------------------------------- */

enum { WAYS = 4, RANK_MAX = 4 };

/* An array of these values whose matrices lie without gaps, upside down, in every second column, or transposed;
 * what lies between the elements is NaN. */
static kiln_array *lay_out(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                           const double complex *at, uint64_t way)
{
    static const char *const views[WAYS] = {"...", "..., ::-1, :", "..., ::2", "..."};
    const int64_t m = shape[rank - 2], n = shape[rank - 1];
    int64_t given[RANK_MAX], count = 1;
    kiln_axes axes = {.count = rank};
    kiln_array *exact = NULL, *cast = NULL, *turned = NULL, *x = NULL;

    for (int k = 0; k < rank; k++) {
        given[k] = shape[k];
        axes.axis[k] = k;
        count *= k < rank - 2 ? shape[k] : 1;
    }
    axes.axis[rank - 2] = rank - 1;
    axes.axis[rank - 1] = rank - 2;
    given[rank - 2] = way == 3 ? n : m;
    given[rank - 1] = way == 3 ? m : way == 2 ? 2 * n : n;
    const int64_t each = given[rank - 2] * given[rank - 1];
    double complex *data = calloc((size_t)(count * each) + 1, sizeof *data);
    assert_non_null(data);
    for (int64_t k = 0; k < count * each; k++)
        data[k] = NAN;
    for (int64_t k = 0; k < count * m * n; k++) {
        const int64_t i = k / n % m, j = k % n, first = k / (m * n) * each;
        const int64_t to = way == 1   ? (m - 1 - i) * n + j
                           : way == 2 ? i * 2 * n + 2 * j
                           : way == 3 ? j * m + i
                                      : i * n + j;
        data[first + to] = at[k];
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, rank, given, data, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &cast, &t->err));
    OK(t, kiln_array_transpose(cast, &axes, &turned, &t->err));
    OK(t, kiln_array_view(way == 3 ? turned : cast, views[way], &x, &t->err));
    kiln_array_release(exact);
    kiln_array_release(cast);
    kiln_array_release(turned);
    free(data);
    return x;
}

/* Whole numbers, complex ones where the dtype is; `diagonal` is added there, and a is made Hermitian. */
static double complex *draw(test_env *t, kiln_dtype dtype, int64_t count, int64_t m, int64_t n,
                            double diagonal, bool hermitian)
{
    double complex *at = calloc((size_t)(count * m * n) + 1, sizeof *at);

    assert_non_null(at);
    for (int64_t k = 0; k < count * m * n; k++) {
        const double imag = kiln_dtype_kind(dtype) == 'c' ? (double)test_random_below(t, 9) - 4 : 0;
        at[k] = CMPLX((double)test_random_below(t, 17) - 8, imag);
    }
    for (int64_t k = 0; k < count * m * n; k++) {
        const int64_t i = k / n % m, j = k % n;
        if (i == j)
            at[k] = hermitian ? creal(at[k]) + diagonal : at[k] + diagonal;
        else if (hermitian && i < j)
            at[k] = conj(at[k - i * n - j + j * n + i]);
    }
    return at;
}

/* One drawn call, and what its results must satisfy. */
static void check_random(test_env *t, int function, kiln_dtype dtype, int rank,
                         const int64_t *shape, int64_t count)
{
    const int64_t m = shape[rank - 2], n = shape[rank - 1],
                  k = 1 + (int64_t)test_random_below(t, 3);
    const double strong = 20 * (double)n;
    double complex *a = draw(t, dtype, count, m, n, function < 2 ? strong : 0, function > 2);
    double complex *b = draw(t, dtype, count, n, k, 0, false);
    int64_t b_shape[RANK_MAX];
    kiln_array *y[3] = {NULL}, *v = NULL;

    memcpy(b_shape, shape, sizeof b_shape);
    b_shape[rank - 1] = k;
    kiln_array *x = lay_out(t, dtype, rank, shape, a, test_random_below(t, WAYS));
    if (function == 0) {
        v = lay_out(t, dtype, rank, b_shape, b, test_random_below(t, WAYS));
        OK(t, kiln_linalg_solve(x, v, NULL, &y[0], &t->err));
    } else if (function == 1)
        OK(t, kiln_linalg_inv(x, NULL, &y[0], &t->err));
    else if (function == 2)
        OK(t, kiln_linalg_qr(x, NULL, &y[0], &y[1], &t->err));
    else
        OK(t, kiln_linalg_eigh(x, NULL, &y[0], &y[1], &t->err));
    for (int64_t nth = 0; nth < count; nth++) {
        const matrix left = {m, n, a + nth * m * n};
        matrix one = read_matrix(t, y[function == 3 ? 1 : 0], nth), made = one;
        if (function == 0) {
            made = product(left, false, one);
            expect_near(made, (matrix){n, k, b + nth * n * k}, dtype, 200, "a x");
        } else if (function == 1) {
            made = product(left, false, one);
            for (int64_t i = 0; i < n; i++)
                made.at[i * (n + 1)] -= 1;
            CHECK(largest(made) <= 400 * (double)(n + 4) * epsilon_of(dtype), "a a^-1 - 1: %g",
                  largest(made));
        } else if (function == 2) {
            matrix r = read_matrix(t, y[1], nth);
            expect_orthonormal(one, dtype, "Q");
            made = product(one, false, r);
            expect_near(made, left, dtype, 100, "Q R");
            free(r.at);
        } else {
            double *w = numbers(t, y[0], nth);
            expect_orthonormal(one, dtype, "eigenvectors");
            made = product(left, false, one);
            for (int64_t i = 0; i < n * n; i++)
                one.at[i] *= w[i % n];
            expect_near(made, one, dtype, 40 * (double)n, "A V");
            free(w);
        }
        free(made.at);
        free(one.at);
    }
    assert_int_equal(kiln_array_size(y[0]), function == 0   ? count * n * k
                                            : function == 1 ? count * n * n
                                            : function == 2 ? count * m * (m < n ? m : n)
                                                            : count * n);
    kiln_array *const all[] = {x, v, y[0], y[1], y[2]};
    for (size_t p = 0; p < COUNT(all); p++)
        kiln_array_release(all[p]);
    free(a);
    free(b);
}

/* Each side of a small matrix is a kernel of its own, and a compile: few sides, among them those that no
 * kernel serves. */
static int64_t random_side(test_env *t)
{
    static const int64_t drawn[] = {0, 1, 3, 3, 6, 6, 34};
    return drawn[test_random_below(t, COUNT(drawn))];
}

/* Stacks of up to two axes, with extents of 0 and 1 among them, of views with gaps and reversed axes. */
static void test_factor__random_stacks_of_views(void **state)
{
    test_env *t = *state;

    for (int turn = 0; turn < test_rounds(t, 120); turn++) {
        const int function = turn % 4, rank = 2 + (int)test_random_below(t, 3);
        int64_t shape[RANK_MAX], count = 1;
        for (int k = 0; k < rank - 2; k++)
            count *= shape[k] = (int64_t)test_random_below(t, 4);
        shape[rank - 1] = random_side(t);
        shape[rank - 2] = function == 2 ? random_side(t) : shape[rank - 1];
        check_random(t, function, dtypes[test_random_below(t, COUNT(dtypes))], rank, shape, count);
    }
}

/* ---- elements of any size -------------------------------------------------------------------- */

static void scale_numbers(double complex *at, int64_t count, int power)
{
    for (int64_t k = 0; k < count; k++)
        at[k] = CMPLX(ldexp(creal(at[k]), power), ldexp(cimag(at[k]), power));
}

/* The factors of 2^power a are those of a, but for the one that grows with it, which is brought back: U S V^H (0),
 * eigenvalues (1), Q R (2). */
static void expect_factors(test_env *t, int function, matrix a, kiln_array *const *y, int power,
                           kiln_dtype dtype)
{
    const int64_t few = a.m < a.n ? a.m : a.n;
    matrix left = read_matrix(t, y[0], 0), made, wanted = a;
    matrix right = function == 1 ? a : read_matrix(t, y[1], 0);
    double *values = function == 2 ? NULL : numbers(t, y[2], 0);

    expect_orthonormal(left, dtype, "a factor of elements of any size");
    if (function == 1) {
        made = product(a, false, left);
        wanted = (matrix){a.m, a.n, left.at};
        right = left;
    } else if (function == 2)
        scale_numbers(right.at, right.m * right.n, power);
    for (int64_t k = 0; k < a.m * few && function != 2; k++)
        left.at[k] *= ldexp(values[k % few], power);
    if (function != 1)
        made = product(left, false, right);
    expect_near(made, wanted, dtype, largest(a) * 10, function == 1 ? "A V" : "the factors");
    free(values);
    free(made.at);
    free(left.at);
    if (function != 1)
        free(right.at);
}

/* As expect_factors() has it; 3: the pseudo-inverse of a matrix that is far from singular, and its rank; 4: the
 * determinant of a diagonal whose first half is large where the other is small. */
static void check_scaled(test_env *t, int function, kiln_dtype dtype, const int64_t *side,
                         int power)
{
    const int64_t m = side[0], n = function == 1 || function > 2 ? m : side[1];
    const double strong = function > 2 ? 20 * (double)n : 0;
    double complex *exact = draw(t, dtype, 1, m, n, strong, function == 1);
    matrix a = {m, n, calloc((size_t)(m * n), sizeof *a.at)};
    kiln_array *x, *plain = NULL, *y[3] = {NULL};

    assert_non_null(a.at);
    memcpy(a.at, exact, (size_t)(m * n) * sizeof *a.at);
    for (int64_t k = 0; k < m * n && function == 4; k++)
        exact[k] *= k % (n + 1) == 0;
    if (function == 4)
        plain = lay_out(t, dtype, 3, (const int64_t[]){1, m, n}, exact, 0);
    for (int64_t i = 0; i < m; i++)
        scale_numbers(exact + i * n, n,
                      function != 4 || i < m / 2 ? power
                      : i < m / 2 * 2            ? -power
                                                 : 0);
    x = lay_out(t, dtype, 3, (const int64_t[]){1, m, n}, exact, 0);
    if (function == 0)
        OK(t, kiln_linalg_svd(x, NULL, &y[0], &y[2], &y[1], &t->err));
    else if (function == 1)
        OK(t, kiln_linalg_eigh(x, NULL, &y[2], &y[0], &t->err));
    else if (function == 2)
        OK(t, kiln_linalg_qr(x, NULL, &y[0], &y[1], &t->err));
    else if (function == 3) {
        OK(t, kiln_linalg_pinv(x, -1, NULL, &y[0], &t->err));
        OK(t, kiln_linalg_matrix_rank(x, -1, NULL, &y[1], &t->err));
    } else {
        OK(t, kiln_linalg_det(plain, NULL, &y[0], &t->err));
        OK(t, kiln_linalg_det(x, NULL, &y[1], &t->err));
    }
    if (function < 3)
        expect_factors(t, function, a, y, -power, dtype);
    else if (function == 3) {
        matrix inverse = read_matrix(t, y[0], 0);
        scale_numbers(inverse.at, n * m, power);
        matrix unit = product(a, false, inverse);
        for (int64_t k = 0; k < n; k++)
            unit.at[k * (n + 1)] -= 1;
        double *rank = numbers(t, y[1], 0);
        CHECK(largest(unit) <= 400 * (double)(n + 4) * epsilon_of(dtype), "2^%d: a a^-1 - 1: %g",
              power, largest(unit));
        assert_true(rank[0] == (double)n);
        free(rank);
        drop((matrix *const[]){&inverse, &unit}, 2);
    } else {
        void *is = elements(t, y[1]), *was = elements(t, y[0]);
        const double complex right = value_at(dtype, was, 0), got = value_at(dtype, is, 0);
        CHECK(cabs(got - right) <= 400 * epsilon_of(dtype) * cabs(right), "2^%d: det is %g, not %g",
              power, creal(got), creal(right));
        free(is);
        free(was);
    }
    kiln_array *const all[] = {x, plain, y[0], y[1], y[2]};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
    free(exact);
    free(a.at);
}

/* Over all exponents whose numbers, and those of the results, are neither subnormal nor infinite. */
static void test_factor__elements_of_any_size(void **state)
{
    test_env *t = *state;

    for (int turn = 0; turn < 100; turn++) {
        const int function = turn % 5;
        const kiln_dtype dtype = dtypes[turn / 5 % (int)COUNT(dtypes)];
        const int end = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64 ? 128 : 1024;
        const int ends[] = {12 - end, end - 12}; /* a third of the powers are close to an end */
        const uint64_t way = test_random_below(t, 6);
        const int power =
            way < 2 ? ends[way] : (int)test_random_below(t, 2 * (uint64_t)(end - 12)) - end + 12;
        check_scaled(t, function, dtype,
                     sides[function % 2 != 0 || function == 4 ? 3 : 1 + test_random_below(t, 3)],
                     power);
    }
}

/* ---- empty matrices, failures ---------------------------------------------------------------- */

/* NumPy: np.linalg.qr(np.ones((3, 0))) has shapes (3, 0) and (0, 0), and so on. */
static void test_factor__takes_empty_matrices(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *q = NULL, *r = NULL, *u = NULL, *s = NULL, *vh = NULL, *w = NULL;
    kiln_array *square = NULL, *v = NULL, *p = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){3, 0}, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){2, 0, 0}, &square, &t->err));
    OK(t, kiln_linalg_qr(x, NULL, &q, &r, &t->err));
    assert_true(kiln_array_shape(q)[0] == 3 && kiln_array_shape(q)[1] == 0);
    OK(t, kiln_linalg_svd(x, NULL, &u, &s, &vh, &t->err));
    assert_true(kiln_array_size(s) == 0 && kiln_array_shape(u)[0] == 3);
    OK(t, kiln_linalg_eigh(square, NULL, &w, &v, &t->err));
    assert_true(kiln_array_shape(w)[0] == 2 && kiln_array_size(v) == 0);
    OK(t, kiln_linalg_pinv(x, -1, NULL, &p, &t->err));
    assert_true(kiln_array_shape(p)[0] == 0 && kiln_array_shape(p)[1] == 3);
    kiln_array *const all[] = {x, q, r, u, s, vh, w, square, v, p};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* NumPy raises LinAlgError: what holds NaN does not converge, however large it is. */
static void test_factor__refuses_nan_and_bad_arguments(void **state)
{
    test_env *t = *state;
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    kiln_array *x = NULL, *one = NULL, *two = NULL, *three = NULL, *wide = NULL;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){2, 70, 70}, NAN, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 3}, &wide, &t->err));
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_svd(x, NULL, &one, &two, &three, &t->err), "matrix [0]",
          "converge");
    FAILS(t, KILN_ERR_SINGULAR, kiln_linalg_eigvalsh(x, NULL, &one, &t->err), "eigenvalues");
    options.nan_on_failure = true;
    OK(t, kiln_linalg_svdvals(x, &options, &one, &t->err));
    double *got = elements(t, one);
    assert_true(isnan(got[0]) && isnan(got[139]));
    free(got);
    kiln_array_release(one);
    one = NULL;
    FAILS(t, KILN_ERR_SHAPE, kiln_linalg_eigh(wide, NULL, &one, &two, &t->err), "eigh", "(2, 3)");
    FAILS(t, KILN_ERR_NULL, kiln_linalg_qr(wide, NULL, &one, NULL, &t->err), "result 2");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_linalg_svd(wide, NULL, &one, &two, &one, &t->err),
          "results 1 and 3");
    assert_true(one == NULL && two == NULL && three == NULL);
    kiln_array_release(x);
    kiln_array_release(wide);
}

static void test_factor__survives_a_lack_of_memory(void **state)
{
    test_env *t = *state;
    kiln_array *a = stack_of(t, KILN_COMPLEX64, 61, 60), *b = stack_of(t, KILN_COMPLEX64, 61, 1);
    size_t nth = 0;

    for (bool done = false; !done; nth++) {
        kiln_array *q = NULL, *r = NULL, *x = NULL;
        kiln__test_alloc_fail_at(nth);
        kiln_status status = kiln_linalg_qr(a, NULL, &q, &r, NULL);
        if (status == KILN_OK)
            status = kiln_linalg_lstsq(a, b, -1, NULL, &x, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        CHECK(status == KILN_OK || status == KILN_ERR_NO_MEMORY, "allocation %zu: %d", nth,
              (int)status);
        done = status == KILN_OK && nth > 20;
        kiln_array_release(q);
        kiln_array_release(r);
        kiln_array_release(x);
        assert_true(nth < 200);
    }
    kiln_array_release(a);
    kiln_array_release(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_factor__qr_gives_a_back),
        TEST(test_factor__qr_has_the_signs_of_numpy),
        TEST(test_factor__eigh_gives_vectors_that_the_matrix_stretches),
        TEST(test_factor__svd_gives_a_back),
        TEST(test_factor__svd_of_less_than_full_rank),
        TEST(test_factor__lstsq_leaves_an_orthogonal_residual),
        TEST(test_factor__lstsq_and_pinv_have_values_of_numpy),
        TEST(test_factor__long_columns),
        TEST(test_factor__random_stacks_of_views),
        TEST(test_factor__elements_of_any_size),
        TEST(test_factor__takes_empty_matrices),
        TEST(test_factor__refuses_nan_and_bad_arguments),
        TEST(test_factor__survives_a_lack_of_memory),
    };

    return test_env_main(argc, argv, "test_factor", tests, COUNT(tests));
}
