/*
 * matmul_oracle.h - what a product of matrices must be, by plain loops, and matrices that lie in memory in many ways.
 */
#ifndef KILN_TESTS_MATMUL_ORACLE_H
#define KILN_TESTS_MATMUL_ORACLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg_env.h"

/* ---- the oracle ------------------------------------------------------------------------------ */

/* What y[m, n] of one matrix must be. */
typedef struct oracle {
    int64_t m, n, k;
    double alpha, beta;
    const void *c;    /* y's dtype and shape, or NULL */
    const void *bias; /* n of them, or NULL */
    kiln_epilogue epilogue;
} oracle;

static inline double complex follow(kiln_epilogue epilogue, double complex v)
{
    const double x = creal(v);

    if (epilogue == KILN_EPILOGUE_RELU)
        return x > 0 ? v : 0;
    if (epilogue == KILN_EPILOGUE_GELU)
        return x / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    return v;
}

static inline bool is_integer(kiln_dtype dtype)
{
    return kiln_dtype_kind(dtype) == 'i' || kiln_dtype_kind(dtype) == 'u';
}

/* `v` as an integer dtype wraps it. */
static inline double complex wrapped(kiln_dtype dtype, double complex v)
{
    unsigned char room[16] = {0};

    if (kiln_dtype_kind(dtype) == 'b')
        return creal(v) != 0;
    if (!is_integer(dtype))
        return v;
    const int64_t whole = (int64_t)creal(v);
    memcpy(room, &whole, sizeof whole); /* little endian: the low bytes come first */
    return value_at(dtype, room, 0);
}

static inline void check_matrix(const oracle *o, kiln_dtype in, const void *a, const void *b,
                                kiln_dtype out, const void *y, int64_t offset)
{
    for (int64_t i = 0; i < o->m; i++)
        for (int64_t j = 0; j < o->n; j++) {
            double complex want = 0;
            double size = 0;
            for (int64_t k = 0; k < o->k; k++) {
                const double complex one =
                    value_at(in, a, i * o->k + k) * value_at(in, b, k * o->n + j);
                want += one;
                size += cabs(one);
            }
            want *= o->alpha;
            const double complex before = o->c != NULL ? o->beta * value_at(out, o->c, i * o->n + j) : 0;
            const double complex bias = o->bias != NULL ? value_at(out, o->bias, j) : 0;
            want += before + bias;
            /* Rounded sums count by what is added, and gelu multiplies x by a sum that is rounded: 1 + tanh(-4). */
            size += cabs(before) + cabs(bias) + cabs(want);
            want = wrapped(out, follow(o->epilogue, want));
            const double complex got = value_at(out, y, offset + i * o->n + j);
            const double room = (4 * size + 4 * cabs(want) + 1) * epsilon_of(out);
            CHECK(cabs(got - want) <= room,
                  "%s, %lld x %lld x %lld: y[%lld, %lld] is %g%+gi, not "
                  "%g%+gi",
                  kiln_dtype_name(in), (long long)o->m, (long long)o->k, (long long)o->n,
                  (long long)i, (long long)j, creal(got), cimag(got), creal(want), cimag(want));
        }
}

/* Check a product of matrices without stacks. */
static inline void check_product(test_env *t, const kiln_array *a, const kiln_array *b,
                                 const kiln_array *y, const oracle *options)
{
    oracle o = *options;
    void *left = elements(t, a), *right = elements(t, b), *got = elements(t, y);

    o.m = kiln_array_shape(a)[0];
    o.k = kiln_array_shape(a)[1];
    o.n = kiln_array_shape(b)[1];
    assert_int_equal(kiln_array_rank(y), 2);
    assert_int_equal(kiln_array_shape(y)[0], o.m);
    assert_int_equal(kiln_array_shape(y)[1], o.n);
    check_matrix(&o, kiln_array_dtype(a), left, right, kiln_array_dtype(y), got, 0);
    free(left);
    free(right);
    free(got);
}

static const oracle plain = {.alpha = 1};

/* One of the ways to have a matrix in memory: 0 C-order, 1 transposed, 2 every second column, 3 every third
 * row, 4 rows backwards, 5 columns backwards, 6 one row for all, 7 inside a larger matrix. */
enum { WAYS = 8 };

static inline kiln_array *in_way(test_env *t, kiln_dtype dtype, int way, int64_t rows,
                                 int64_t columns)
{
    static const char *const subscripts[WAYS] = {"...",  "...",     ":, ::2", "::3",
                                                 "::-1", ":, ::-1", "...",    "2:-1, 3:-2"};
    const int64_t shapes[WAYS][2] = {
        {rows, columns}, {columns, rows}, {rows, 2 * columns}, {3 * rows, columns},
        {rows, columns}, {rows, columns}, {1, columns},        {rows + 3, columns + 5}};
    kiln_array *base = random_array(t, dtype, 2, shapes[way]), *x = NULL;

    if (way == 1)
        OK(t, kiln_array_transpose(base, NULL, &x, &t->err));
    else if (way == 6)
        OK(t, kiln_array_broadcast_to(base, 2, (const int64_t[]){rows, columns}, &x, &t->err));
    else
        OK(t, kiln_array_view(base, subscripts[way], &x, &t->err));
    kiln_array_release(base);
    return x;
}

#endif
