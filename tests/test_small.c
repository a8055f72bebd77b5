/*
 * test_small.c - stacks of small matrices, which a GPU factorises by kernels of kiln's own: residuals and orthogonality,
 * with bounds by the size and the rounding of the dtype, for sizes on both sides of a group of lanes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg_env.h"

enum { STACK = 5 };

/* A stack of matrices in double, whatever the arrays have. */
typedef struct stack {
    int64_t m, n;
    double *data; /* STACK * m * n */
} stack;

static stack make_stack(int64_t m, int64_t n)
{
    stack s = {m, n, calloc((size_t)(STACK * m * n) + 1, sizeof(double))};
    assert_non_null(s.data);
    return s;
}

static double *at(const stack *s, int nth, int64_t i, int64_t j)
{
    return &s->data[(nth * s->m + i) * s->n + j];
}

/* Between -1 and 1, of magnitudes that differ from matrix to matrix. */
static stack random_stack(test_env *t, int64_t m, int64_t n)
{
    static const double scales[STACK] = {1, 1e-6, 1e6, 1, 30};
    stack s = make_stack(m, n);

    for (int64_t k = 0; k < STACK * m * n; k++)
        s.data[k] = scales[k / (m * n)] * ((double)test_random_below(t, 2000) - 999.5) / 1000;
    return s;
}

/* a b, or a b^T. */
static stack multiply(const stack *a, const stack *b, bool turned)
{
    stack y = make_stack(a->m, turned ? b->m : b->n);

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = 0; i < y.m; i++)
            for (int64_t j = 0; j < y.n; j++)
                for (int64_t k = 0; k < a->n; k++)
                    *at(&y, nth, i, j) +=
                        *at(a, nth, i, k) * (turned ? *at(b, nth, j, k) : *at(b, nth, k, j));
    return y;
}

static stack transpose(const stack *a)
{
    stack y = make_stack(a->n, a->m);

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = 0; i < a->m; i++)
            for (int64_t j = 0; j < a->n; j++)
                *at(&y, nth, j, i) = *at(a, nth, i, j);
    return y;
}

/* The largest difference of two, as a fraction of the largest element of `against`, over all matrices. */
static double difference(const stack *a, const stack *b, const stack *against)
{
    double worst = 0;

    for (int nth = 0; nth < STACK; nth++) {
        double off = 0, size = 0;
        for (int64_t k = 0; k < a->m * a->n; k++) {
            const double d = fabs(*at(a, nth, 0, k) - *at(b, nth, 0, k));
            off = d > off || isnan(d) ? d : off;
        }
        for (int64_t k = 0; k < against->m * against->n; k++)
            size = fmax(size, fabs(*at(against, nth, 0, k)));
        worst = fmax(worst, isnan(off) ? INFINITY : off / size);
    }
    return worst;
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, const stack *s)
{
    kiln_array *exact = NULL, *x = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){STACK, s->m, s->n},
                               s->data, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    kiln_array_release(exact);
    return x;
}

/* Its elements; the array is released. */
static stack stack_of(test_env *t, kiln_array *x)
{
    const int rank = kiln_array_rank(x);
    const int64_t *shape = kiln_array_shape(x);
    stack s = make_stack(shape[1], rank > 2 ? shape[2] : 1);
    void *data = elements(t, x);

    for (int64_t k = 0; k < kiln_array_size(x); k++)
        s.data[k] = creal(value_at(kiln_array_dtype(x), data, k));
    free(data);
    kiln_array_release(x);
    return s;
}

/* What the array holds of `s`, rounded to its dtype. */
static kiln_array *round_to(test_env *t, kiln_dtype dtype, stack *s)
{
    kiln_array *x = array_of(t, dtype, s);

    free(s->data);
    *s = stack_of(t, kiln_array_retain(x));
    return x;
}

#define SMALL(value, bound, what, m, n, dtype)                                                     \
    CHECK((value) <= (bound), "%s of %lld x %lld, %s: %g, and %g is allowed", what,                \
          (long long)(m), (long long)(n), kiln_dtype_name(dtype), value, bound)

/* The columns of q are orthonormal. */
static void check_orthonormal(const stack *q, double bound, const char *what, kiln_dtype dtype)
{
    stack turned = transpose(q), gram = multiply(&turned, q, false), unit = make_stack(q->n, q->n);

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t k = 0; k < q->n; k++)
            *at(&unit, nth, k, k) = 1;
    const double off = difference(&gram, &unit, &unit);
    SMALL(off, bound, what, q->m, q->n, dtype);
    free(turned.data);
    free(gram.data);
    free(unit.data);
}

/* ---- square matrices ------------------------------------------------------------------------- */

static void check_solve(test_env *t, kiln_dtype dtype, int64_t n, int64_t columns)
{
    const double bound = 40 * (double)n * epsilon_of(dtype);
    stack a = random_stack(t, n, n), b = random_stack(t, n, columns);
    kiln_array *x = NULL, *inverse = NULL, *a_array, *b_array;

    for (int nth = 0; nth < STACK; nth++) /* well conditioned, but rows in another order */
        for (int64_t k = 0; k < n; k++)
            *at(&a, nth, k, (k + nth) % n) += 8 * (double)n * fabs(*at(&a, nth, k, k));
    a_array = round_to(t, dtype, &a);
    b_array = round_to(t, dtype, &b);
    OK(t, kiln_linalg_solve(a_array, b_array, NULL, &x, &t->err));
    OK(t, kiln_linalg_inv(a_array, NULL, &inverse, &t->err));
    stack x_stack = stack_of(t, x), inverse_stack = stack_of(t, inverse);
    stack again = multiply(&a, &x_stack, false), unit = multiply(&a, &inverse_stack, false);
    stack ones = make_stack(n, n);
    for (int nth = 0; nth < STACK; nth++)
        for (int64_t k = 0; k < n; k++)
            *at(&ones, nth, k, k) = 1;
    SMALL(difference(&again, &b, &b), 20 * bound, "a x - b", n, columns, dtype);
    SMALL(difference(&unit, &ones, &ones), 20 * bound, "a a^-1 - 1", n, n, dtype);
    stack *const all[] = {&a, &b, &x_stack, &inverse_stack, &again, &unit, &ones};
    for (size_t k = 0; k < COUNT(all); k++)
        free(all[k]->data);
    kiln_array_release(a_array);
    kiln_array_release(b_array);
}

static void check_cholesky(test_env *t, kiln_dtype dtype, int64_t n)
{
    const double bound = 20 * (double)n * epsilon_of(dtype);
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    stack base = random_stack(t, n, n), a = multiply(&base, &base, true);

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t k = 0; k < n; k++)
            *at(&a, nth, k, k) *= 1.5;
    for (int upper = 0; upper < 2; upper++) {
        kiln_array *y = NULL, *a_array = round_to(t, dtype, &a);
        options.upper = upper != 0;
        OK(t, kiln_linalg_cholesky(a_array, &options, &y, &t->err));
        stack l = stack_of(t, y), turned = transpose(&l);
        stack again = upper ? multiply(&turned, &l, false) : multiply(&l, &l, true);
        SMALL(difference(&again, &a, &a), bound, "l l^T - a", n, n, dtype);
        free(l.data);
        free(turned.data);
        free(again.data);
        kiln_array_release(a_array);
    }
    free(base.data);
    free(a.data);
}

/* Triangles, of which the other half is not read: NaN in one matrix of two, the largest numbers in the next. */
static void check_triangular(test_env *t, kiln_dtype dtype, int64_t n)
{
    kiln_linalg_options options = KILN_LINALG_OPTIONS_INIT;
    const double other[] = {(double)NAN, dtype == KILN_FLOAT32 ? 3e38 : 1.7e308};

    for (int upper = 0; upper < 2; upper++) {
        stack a = random_stack(t, n, n), b = random_stack(t, n, 2);
        kiln_array *x = NULL;
        for (int nth = 0; nth < STACK; nth++)
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    double *one = at(&a, nth, i, j);
                    *one = i == j ? 4 * (double)n * (fabs(*one) + 1e-9)
                                  : ((upper ? i > j : i < j) ? other[nth % 2] : *one);
                }
        kiln_array *a_array = round_to(t, dtype, &a), *b_array = round_to(t, dtype, &b);
        options.upper = upper != 0;
        OK(t, kiln_linalg_solve_triangular(a_array, b_array, &options, &x, &t->err));
        for (int64_t k = 0; k < STACK * n * n; k++)
            if (isnan(a.data[k]) || a.data[k] > 1e30)
                a.data[k] = 0;
        stack x_stack = stack_of(t, x), again = multiply(&a, &x_stack, false);
        SMALL(difference(&again, &b, &b), 1e4 * (double)n * epsilon_of(dtype), "triangle", n, n,
              dtype);
        stack *const all[] = {&a, &b, &x_stack, &again};
        for (size_t k = 0; k < COUNT(all); k++)
            free(all[k]->data);
        kiln_array_release(a_array);
        kiln_array_release(b_array);
    }
}

static void check_eigh(test_env *t, kiln_dtype dtype, int64_t n)
{
    const double bound = 60 * (double)n * epsilon_of(dtype);
    stack a = random_stack(t, n, n);
    kiln_array *values = NULL, *vectors = NULL, *alone = NULL;

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                *at(&a, nth, j, i) =
                    nth == 3 ? 0 : *at(&a, nth, i, j); /* one has two equal values */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            *at(&a, 3, i, j) = i == j ? (double)(i / 2) : 0;
    kiln_array *a_array = round_to(t, dtype, &a);
    OK(t, kiln_linalg_eigh(a_array, NULL, &values, &vectors, &t->err));
    OK(t, kiln_linalg_eigvalsh(a_array, NULL, &alone, &t->err));
    stack w = stack_of(t, values), v = stack_of(t, vectors), only = stack_of(t, alone);
    stack left = multiply(&a, &v, false), right = make_stack(n, n);
    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = 0; i < n; i++) {
            assert_true(i == 0 || *at(&w, nth, i - 1, 0) <= *at(&w, nth, i, 0));
            for (int64_t j = 0; j < n; j++)
                *at(&right, nth, i, j) = *at(&v, nth, i, j) * *at(&w, nth, j, 0);
        }
    if (n > 1)
        SMALL(difference(&left, &right, &a), bound, "a v - v w", n, n, dtype);
    SMALL(difference(&w, &only, &w), bound, "eigvalsh", n, n, dtype);
    check_orthonormal(&v, bound, "v^T v - 1", dtype);
    stack *const all[] = {&a, &w, &v, &only, &left, &right};
    for (size_t k = 0; k < COUNT(all); k++)
        free(all[k]->data);
    kiln_array_release(a_array);
}

/* ---- matrices of any shape ------------------------------------------------------------------- */

static void check_qr(test_env *t, kiln_dtype dtype, int64_t m, int64_t n)
{
    const double bound = 20 * (double)(m + n) * epsilon_of(dtype);
    stack a = random_stack(t, m, n);
    kiln_array *q_array = NULL, *r_array = NULL, *a_array = round_to(t, dtype, &a);

    OK(t, kiln_linalg_qr(a_array, NULL, &q_array, &r_array, &t->err));
    stack q = stack_of(t, q_array), r = stack_of(t, r_array), again = multiply(&q, &r, false);
    SMALL(difference(&again, &a, &a), bound, "q r - a", m, n, dtype);
    check_orthonormal(&q, bound, "q^T q - 1", dtype);
    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = 0; i < r.m; i++)
            for (int64_t j = 0; j < i && j < r.n; j++)
                assert_true(*at(&r, nth, i, j) == 0);
    stack *const all[] = {&a, &q, &r, &again};
    for (size_t k = 0; k < COUNT(all); k++)
        free(all[k]->data);
    kiln_array_release(a_array);
}

/* `rank`: the last rows are copies of the first beyond it. */
static void check_svd(test_env *t, kiln_dtype dtype, int64_t m, int64_t n, int64_t rank)
{
    const double bound = 60 * (double)(m + n) * epsilon_of(dtype);
    stack a = random_stack(t, m, n);
    kiln_array *u_array = NULL, *s_array = NULL, *vh_array = NULL, *alone = NULL;

    for (int nth = 0; nth < STACK; nth++)
        for (int64_t i = rank; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                *at(&a, nth, i, j) = *at(&a, nth, i % rank, j);
    kiln_array *a_array = round_to(t, dtype, &a);
    OK(t, kiln_linalg_svd(a_array, NULL, &u_array, &s_array, &vh_array, &t->err));
    OK(t, kiln_linalg_svdvals(a_array, NULL, &alone, &t->err));
    stack u = stack_of(t, u_array), s = stack_of(t, s_array), vh = stack_of(t, vh_array);
    stack only = stack_of(t, alone), turned = transpose(&vh);
    check_orthonormal(&u, bound, "u^T u - 1", dtype);
    check_orthonormal(&turned, bound, "v^T v - 1", dtype);
    for (int nth = 0; nth < STACK; nth++)
        for (int64_t k = 0; k < s.m; k++) {
            assert_true(*at(&s, nth, k, 0) >= 0);
            assert_true(k == 0 || *at(&s, nth, k - 1, 0) >= *at(&s, nth, k, 0));
            for (int64_t i = 0; i < m; i++)
                *at(&u, nth, i, k) *= *at(&s, nth, k, 0);
        }
    stack again = multiply(&u, &vh, false);
    SMALL(difference(&again, &a, &a), bound, "u s v - a", m, n, dtype);
    SMALL(difference(&s, &only, &s), bound, "svdvals", m, n, dtype);
    stack *const all[] = {&a, &u, &s, &vh, &only, &turned, &again};
    for (size_t k = 0; k < COUNT(all); k++)
        free(all[k]->data);
    kiln_array_release(a_array);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const struct {
    int64_t n;
    kiln_dtype dtype;
} sizes[] = {{1, KILN_FLOAT64}, {3, KILN_FLOAT32}, {8, KILN_FLOAT64}, {32, KILN_FLOAT32}};

static void test_small__solves_and_inverts(void **state)
{
    for (size_t k = 0; k < COUNT(sizes); k++)
        check_solve(*state, sizes[k].dtype, sizes[k].n, k % 2 == 0 ? 1 : 4);
}

static void test_small__factorises_positive_definite_matrices(void **state)
{
    for (size_t k = 0; k < COUNT(sizes); k++)
        check_cholesky(*state, sizes[k].dtype, sizes[k].n);
}

static void test_small__solves_triangles(void **state)
{
    check_triangular(*state, KILN_FLOAT64, 5);
    check_triangular(*state, KILN_FLOAT32, 32);
    check_triangular(*state, KILN_FLOAT64, 40); /* by the library */
    check_triangular(*state, KILN_FLOAT32, 33);
}

static void test_small__finds_eigenvalues(void **state)
{
    for (size_t k = 0; k < COUNT(sizes); k++)
        check_eigh(*state, sizes[k].dtype, sizes[k].n);
}

static void test_small__makes_orthogonal_factors(void **state)
{
    for (size_t k = 0; k < COUNT(sizes); k++)
        check_qr(*state, sizes[k].dtype, sizes[k].n, sizes[k].n);
    check_qr(*state, KILN_FLOAT32, 32, 5);
    check_qr(*state, KILN_FLOAT64, 3, 17);
}

/* They fit the shared memory of a block, but not the registers of a group of lanes. */
static void test_small__makes_orthogonal_factors_in_blocks(void **state)
{
    check_qr(*state, KILN_FLOAT64, 34, 34);
    check_qr(*state, KILN_FLOAT32, 140, 9);
    check_qr(*state, KILN_FLOAT32, 9, 70);
}

static void test_small__finds_singular_values(void **state)
{
    for (size_t k = 0; k < COUNT(sizes); k++)
        check_svd(*state, sizes[k].dtype, sizes[k].n, sizes[k].n, sizes[k].n);
    check_svd(*state, KILN_FLOAT32, 20, 6, 20);
    check_svd(*state, KILN_FLOAT64, 4, 9, 4);
    check_svd(*state, KILN_FLOAT64, 8, 8, 5); /* three of them are 0 */
}

/* One matrix for all right sides, a stack that broadcasts, a transposed view, and a failure in between. */
static void test_small__takes_stacks_that_broadcast(void **state)
{
    static const double a[] = {2, 1, 0, 4}, b[] = {1, 2, 3, 4, 5, 6};
    test_env *t = *state;
    kiln_array *x = NULL, *right = NULL, *y = NULL, *turned = NULL;
    double got[6];

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, (const int64_t[]){2, 2}, a, NULL, &x,
                               &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 3, (const int64_t[]){3, 2, 1}, b, NULL, &right,
                               &t->err));
    OK(t, kiln_linalg_solve(x, right, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(got[2 * k + 1] - b[2 * k + 1] / 4) < 1e-14);
        assert_true(fabs(got[2 * k] - (b[2 * k] - got[2 * k + 1]) / 2) < 1e-14);
    }
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_transpose(x, NULL, &turned, &t->err));
    OK(t, kiln_linalg_solve(turned, right, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(got[2 * k] - b[2 * k] / 2) < 1e-14);
        assert_true(fabs(got[2 * k + 1] - (b[2 * k + 1] - got[2 * k]) / 4) < 1e-14);
    }
    kiln_array *const all[] = {x, right, y, turned};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- elements near the ends of a dtype's range -------------------------------------------------- */

enum { TINY_STACK = 40, TINY_SIDE = 6 };

/* (rows, columns) of them, times 2^power: of `parts`, (re, im) for each. */
static kiln_array *powers_of(test_env *t, kiln_dtype dtype, int64_t rows, int64_t columns,
                             double *parts, int power)
{
    const int64_t shape[] = {TINY_STACK, rows, columns};
    kiln_array *exact = NULL, *x = NULL;

    for (int64_t k = 0; k < 2 * TINY_STACK * rows * columns; k++)
        parts[k] = ldexp(parts[k], power);
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 3, shape, parts, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    kiln_array_release(exact);
    return x;
}

/* a x = b of small whole numbers, x real, of which a and b are times 2^power and x and b times 2^more. */
static void check_tiny(test_env *t, int function, kiln_dtype dtype, int64_t m, int64_t n,
                       int64_t columns, int power, int more)
{
    static double a[2 * TINY_STACK * TINY_SIDE * TINY_SIDE], b[2 * TINY_STACK * TINY_SIDE * 3];
    double x[TINY_STACK * TINY_SIDE * 3], got[2 * TINY_STACK * TINY_SIDE * 3];
    const bool narrow = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
    /* Eliminations round subnormal numbers to whole multiples of the least one, those of the right side too, whose elements
     * are 2^more times as large as those of a; least squares are scaled. */
    const double digits = ldexp(1, narrow ? -23 : -52);
    const int finest = (narrow ? -149 : -1074) - power - (more < 0 ? more : 0);
    const double bound = 1000 * (digits + (function > 0 ? ldexp(1, finest) : 0));
    kiln_array *y = NULL, *wide = NULL;

    memset(b, 0, sizeof b);
    for (int64_t k = 0; k < TINY_STACK * n * columns; k++)
        x[k] = (double)test_random_below(t, 7) - 3;
    for (int64_t k = 0; k < TINY_STACK * m * n; k++) {
        const int64_t row = k / n % m, column = k % n;
        a[2 * k] = (double)test_random_below(t, 7) - 3 + (row == column ? 20 : 0);
        a[2 * k + 1] = kiln_dtype_kind(dtype) == 'c' ? (double)test_random_below(t, 5) - 2 : 0;
        if (function == 2 && row < column)
            a[2 * k] = a[2 * k + 1] = 0;
        for (int64_t c = 0; c < columns; c++)
            for (int part = 0; part < 2; part++)
                b[2 * (k / n * columns + c) + part] +=
                    a[2 * k + part] * x[(k / (m * n) * n + column) * columns + c];
    }
    kiln_array *left = powers_of(t, dtype, m, n, a, power);
    kiln_array *right = powers_of(t, dtype, m, columns, b, power + more);
    OK(t, function == 0   ? kiln_linalg_lstsq(left, right, -1, NULL, &y, &t->err)
          : function == 1 ? kiln_linalg_solve(left, right, NULL, &y, &t->err)
                          : kiln_linalg_solve_triangular(left, right, NULL, &y, &t->err));
    OK(t, kiln_array_cast(y, KILN_COMPLEX128, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, (size_t)kiln_array_size(y) * 16, NULL, &t->err));
    for (int64_t k = 0; k < TINY_STACK * n * columns; k++)
        CHECK(fabs(ldexp(got[2 * k], -more) - x[k]) < bound &&
                  fabs(ldexp(got[2 * k + 1], -more)) < bound,
              "function %d of %s, %d x %d times 2^%d and 2^%d: %g + %gi, not %g", function,
              kiln_dtype_name(dtype), (int)m, (int)n, power, more, ldexp(got[2 * k], -more),
              ldexp(got[2 * k + 1], -more), x[k]);
    kiln_array_release(left), kiln_array_release(right), kiln_array_release(y);
    kiln_array_release(wide);
}

/* Subnormal elements, whose reciprocals are infinite, among them. */
static void test_small__solves_for_tiny_and_huge_elements(void **state)
{
    static const kiln_dtype all[] = {KILN_FLOAT64, KILN_COMPLEX64, KILN_FLOAT32, KILN_COMPLEX128};
    test_env *t = *state;

    for (int turn = 0; turn < 48; turn++) {
        const int function = turn % 3;
        const int which = turn / 3 % (function == 0 ? 2 : 4); /* each is compiled */
        const kiln_dtype dtype = all[which];
        const bool narrow = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
        const int low = (narrow ? -149 : -1074) + (function > 0 ? narrow ? 14 : 30 : 0);
        const int high = narrow ? 100 : 1000;
        const int64_t n = 2 + which;
        const int64_t m = function == 0 ? n + 2 : n;
        const int near = (int)test_random_below(t, 30);
        const int power = test_random_below(t, 3) == 0   ? high - near
                          : test_random_below(t, 2) == 0 ? (low + high) / 2 + near
                                                         : low + near;
        const int least = low - power > -15 ? low - power : -15;
        check_tiny(t, function, dtype, m, n, which < 2 ? 1 : 3, power,
                   least + (int)test_random_below(t, (uint64_t)(15 - least)));
    }
}

enum { TALL = 50, TALL_STACK = 3 }; /* rows, of which a LAPACK takes care where there is one */

/* What of A - P L U is more than rounding, as a factor of it; of matrices times 2^-power. */
static double difference_of_lu(test_env *t, const kiln_array *x, const double *a, const int *power,
                               double digits)
{
    static double p[2 * TALL_STACK * TALL * TALL], l[COUNT(p)], u[COUNT(p)];
    double *const into[] = {p, l, u}, worst = 0;
    kiln_array *parts[3] = {NULL}, *wide = NULL;

    OK(t, kiln_linalg_lu(x, NULL, &parts[0], &parts[1], &parts[2], &t->err));
    for (int k = 0; k < 3; k++) {
        OK(t, kiln_array_cast(parts[k], KILN_COMPLEX128, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, into[k], sizeof p, NULL, &t->err));
        kiln_array_release(parts[k]), kiln_array_release(wide);
        wide = NULL;
    }
    for (int nth = 0; nth < TALL_STACK; nth++)
        for (int i = 0; i < TALL; i++)
            for (int j = 0; j < TALL; j++) {
                const int64_t at = 2 * (int64_t)TALL * TALL * nth;
                double sum = 0; /* real numbers; P has one 1 in a row */
                int row = 0;
                while (row < TALL - 1 && p[at + 2 * (i * TALL + row)] == 0)
                    row++;
                for (int k = 0; k < TALL; k++)
                    sum += l[at + 2 * (row * TALL + k)] *
                           ldexp(u[at + 2 * (k * TALL + j)], -power[nth]);
                const double rest =
                    fabs(sum - ldexp(a[at + 2 * (i * TALL + j)], -power[nth])) / digits;
                worst = rest > worst || isnan(rest) ? rest : worst;
            }
    return worst;
}

/* x of a x = b from the factors, whose pivots are as small as the matrices. */
static void solve_by_factors(test_env *t, const kiln_array *a, const kiln_array *b, double *got)
{
    kiln_array *lu = NULL, *pivots = NULL, *y = NULL, *wide = NULL;

    OK(t, kiln_linalg_lu_factor(a, NULL, &lu, &pivots, &t->err));
    OK(t, kiln_linalg_lu_solve(lu, pivots, b, NULL, &y, &t->err));
    OK(t, kiln_array_cast(y, KILN_COMPLEX128, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, (size_t)kiln_array_size(y) * 16, NULL, &t->err));
    kiln_array *const all[] = {lu, pivots, y, wide};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Sign and logarithm of the determinants of a times 2^power, and the determinants: 5 numbers a matrix. */
static void determinants(test_env *t, kiln_dtype dtype, int64_t n, const double *a, int power,
                         double *got)
{
    const int64_t shape[] = {TALL_STACK, n, n};
    double *const scaled = malloc((size_t)(2 * TALL_STACK * n * n) * sizeof *scaled);
    kiln_array *exact = NULL, *x = NULL, *y[3] = {NULL}, *wide = NULL;
    double parts[2 * TALL_STACK];

    assert_non_null(scaled);
    for (int64_t k = 0; k < 2 * TALL_STACK * n * n; k++)
        scaled[k] = ldexp(a[k], power);
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 3, shape, scaled, NULL, &exact, &t->err));
    OK(t, kiln_array_cast(exact, dtype, &x, &t->err));
    OK(t, kiln_linalg_slogdet(x, NULL, &y[0], &y[1], &t->err));
    OK(t, kiln_linalg_det(x, NULL, &y[2], &t->err));
    for (int k = 0; k < 3; k++) {
        OK(t, kiln_array_cast(y[k], KILN_COMPLEX128, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, parts, sizeof parts, NULL, &t->err));
        for (int nth = 0; nth < TALL_STACK; nth++)
            for (int part = 0; part < 2; part++)
                got[6 * nth + 2 * k + part] = parts[2 * nth + part];
        kiln_array_release(wide), kiln_array_release(y[k]);
        wide = NULL;
    }
    kiln_array_release(exact), kiln_array_release(x);
    free(scaled);
}

/* Elements whose sums of parts, and of a few of them, are infinite: the determinants are, and their logarithms are not. */
static void test_small__finds_determinants_of_huge_elements(void **state)
{
    static const kiln_dtype all[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};
    static double a[2 * TALL_STACK * TALL * TALL];
    test_env *t = *state;

    for (int turn = 0; turn < 24; turn++) {
        const kiln_dtype dtype = all[turn % 4];
        const bool narrow = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
        const bool is_complex = kiln_dtype_kind(dtype) == 'c';
        const int64_t n = is_complex && turn % 8 < 4 ? 5 : TALL;
        const int power = (narrow ? 127 : 1023) - 4;
        double plain[6 * TALL_STACK], huge[6 * TALL_STACK];

        for (int64_t k = 0; k < TALL_STACK * n * n; k++) {
            a[2 * k] = (double)test_random_below(t, 3) - 1 + (k / n % n == k % n ? 12 : 0);
            a[2 * k + 1] = is_complex ? (double)test_random_below(t, 3) - 1 : 0;
        }
        determinants(t, dtype, n, a, 0, plain);
        determinants(t, dtype, n, a, power, huge);
        for (int nth = 0; nth < TALL_STACK; nth++) {
            const double *was = plain + 6 * nth, *is = huge + 6 * nth;
            const double log = was[2] + (double)n * power * 0.693147180559945309417;
            CHECK(fabs(is[0] - was[0]) < 1e-3 && fabs(is[1] - was[1]) < 1e-3 &&
                      fabs(is[2] - log) < 1e-4 * log && (isinf(is[4]) || isinf(is[5])),
                  "%s, %d x %d times 2^%d: sign %g + %gi, not %g + %gi; log %g, not %g; det %g + %gi",
                  kiln_dtype_name(dtype), (int)n, (int)n, power, is[0], is[1], was[0], was[1],
                  is[2], log, is[4], is[5]);
        }
    }
}

/* Matrices of one stack near both ends of the dtype's range, and one beside them. */
static void test_small__solves_for_tiny_elements_of_large_matrices(void **state)
{
    static const kiln_dtype all[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};
    static double a[2 * TALL_STACK * TALL * TALL], b[2 * TALL_STACK * TALL], got[COUNT(b)];
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(all); d++) {
        const bool narrow = all[d] == KILN_FLOAT32 || all[d] == KILN_COMPLEX64;
        const int power[TALL_STACK] = {narrow ? -140 : -1055, 0, narrow ? 100 : 1000};
        const int64_t shape[] = {TALL_STACK, TALL, TALL};
        const double digits = ldexp(1, narrow ? -9 : -19) * TALL; /* of subnormal numbers */
        kiln_array *wide = NULL, *left = NULL, *right = NULL, *y = NULL, *back = NULL;

        memset(a, 0, sizeof a), memset(b, 0, sizeof b);
        for (int64_t k = 0; k < TALL_STACK * TALL * TALL; k++) {
            const int scale = power[k / (TALL * TALL)];
            a[2 * k] =
                ldexp((double)test_random_below(t, 7) - 3 + (k / TALL % TALL == k % TALL ? 160 : 0),
                      scale);
            b[2 * (k / TALL)] += a[2 * k] * (double)(k % TALL % 5 - 2);
        }
        OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 3, shape, a, NULL, &wide, &t->err));
        OK(t, kiln_array_cast(wide, all[d], &left, &t->err));
        kiln_array_release(wide);
        wide = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 3, (int64_t[]){TALL_STACK, TALL, 1}, b,
                                   NULL, &wide, &t->err));
        OK(t, kiln_array_cast(wide, all[d], &right, &t->err));
        OK(t, kiln_linalg_solve(left, right, NULL, &y, &t->err));
        OK(t, kiln_array_cast(y, KILN_COMPLEX128, &back, &t->err));
        OK(t, kiln_array_to_host(back, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < TALL_STACK * TALL; k++)
            CHECK(fabs(got[2 * k] - (k % TALL % 5 - 2)) < digits && fabs(got[2 * k + 1]) < digits,
                  "%s times 2^%d: x[%d] is %g + %gi", kiln_dtype_name(all[d]), power[k / TALL],
                  k % TALL, got[2 * k], got[2 * k + 1]);
        solve_by_factors(t, left, right, got);
        for (int k = 0; k < TALL_STACK * TALL; k++)
            CHECK(fabs(got[2 * k] - (k % TALL % 5 - 2)) < digits && fabs(got[2 * k + 1]) < digits,
                  "by factors of %s times 2^%d: x[%d] is %g + %gi", kiln_dtype_name(all[d]),
                  power[k / TALL], k % TALL, got[2 * k], got[2 * k + 1]);
        const double rest = difference_of_lu(t, left, a, power, digits);
        CHECK(rest < 100, "P L U of %s: %g", kiln_dtype_name(all[d]), rest);
        kiln_array *const done[] = {wide, left, right, y, back};
        for (size_t k = 0; k < COUNT(done); k++)
            kiln_array_release(done[k]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_small__solves_and_inverts),
        TEST(test_small__factorises_positive_definite_matrices),
        TEST(test_small__solves_triangles),
        TEST(test_small__finds_eigenvalues),
        TEST(test_small__makes_orthogonal_factors),
        TEST(test_small__makes_orthogonal_factors_in_blocks),
        TEST(test_small__finds_singular_values),
        TEST(test_small__solves_for_tiny_and_huge_elements),
        TEST(test_small__solves_for_tiny_elements_of_large_matrices),
        TEST(test_small__finds_determinants_of_huge_elements),
        TEST(test_small__takes_stacks_that_broadcast),
    };

    return test_env_main(argc, argv, "test_small", tests, COUNT(tests));
}
