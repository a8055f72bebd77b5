/*
 * dense.c - factorisations of one matrix on the host: by a LAPACK, or by the loops of dense_type.h.
 *
 * Rule: a matrix of fewer rows than SMALL goes through kiln's own loops, which any number of threads may run at
 *       once, each on a matrix of a stack; a LAPACK spreads one matrix over its threads.
 */
#include <complex.h>
#include <math.h>

#include "linalg/dense.h"

enum { SMALL = 48 };

typedef struct routines {
    int64_t (*lu)(int64_t n, void *a, int32_t *pivots);
    void (*lu_solve)(int64_t n, int64_t columns, const void *lu, const int32_t *pivots, void *b);
    void (*lu_det)(int64_t n, const void *lu, const int32_t *pivots, void *sign, void *log,
                   void *det);
    int64_t (*cholesky)(int64_t n, void *a);
    void (*zero_above)(int64_t n, void *a);
    int64_t (*triangular)(bool upper, int64_t n, int64_t columns, const void *a, void *b);
    void (*identity)(int64_t n, void *a);
    void (*nan)(int64_t count, void *values);
} routines;

#define T float
#define R float
#define NAME(x) x##_float
#define SIZE(v) fabsf(v)
#define CONJ(v) (v)
#define RE(v) (v)
#define ABS(v) fabsf(v)
#define SQRT(r) sqrtf(r)
#define LOG(r) logf(r)
#include "linalg/dense_type.h"
#undef T
#undef R
#undef NAME
#undef SIZE
#undef ABS
#undef SQRT
#undef LOG

#define T double
#define R double
#define NAME(x) x##_double
#define SIZE(v) fabs(v)
#define ABS(v) fabs(v)
#define SQRT(r) sqrt(r)
#define LOG(r) log(r)
#include "linalg/dense_type.h"
#undef T
#undef R
#undef NAME
#undef SIZE
#undef CONJ
#undef RE
#undef ABS
#undef SQRT
#undef LOG

/* LAPACK compares complex pivots by the sum of their parts, and so do we. */
#define T float complex
#define R float
#define NAME(x) x##_complex_float
#define SIZE(v) (fabsf(crealf(v)) + fabsf(cimagf(v)))
#define CONJ(v) conjf(v)
#define RE(v) crealf(v)
#define ABS(v) cabsf(v)
#define SQRT(r) sqrtf(r)
#define LOG(r) logf(r)
#include "linalg/dense_type.h"
#undef T
#undef R
#undef NAME
#undef SIZE
#undef CONJ
#undef RE
#undef ABS
#undef SQRT
#undef LOG

#define T double complex
#define R double
#define NAME(x) x##_complex_double
#define SIZE(v) (fabs(creal(v)) + fabs(cimag(v)))
#define CONJ(v) conj(v)
#define RE(v) creal(v)
#define ABS(v) cabs(v)
#define SQRT(r) sqrt(r)
#define LOG(r) log(r)
#include "linalg/dense_type.h"

/* By kiln__blas_dtype(). */
static const routines *const own[KILN__BLAS_DTYPES] = {
    &routines_float, &routines_double, &routines_complex_float, &routines_complex_double};

/* ---- which way ------------------------------------------------------------------------------- */

bool kiln__dense_takes(kiln_dtype dtype)
{
    return kiln__blas_dtype(dtype) >= 0;
}

static const routines *own_of(kiln_dtype dtype)
{
    return own[kiln__blas_dtype(dtype)];
}

/* A LAPACK for a matrix of that size, or NULL. */
static const kiln__lapack *lapack_for(int64_t n, int64_t columns)
{
    return n >= SMALL && n <= INT32_MAX && columns <= INT32_MAX ? kiln__lapack_get() : NULL;
}

bool kiln__dense_is_small(int64_t n)
{
    return lapack_for(n, 1) == NULL;
}

int64_t kiln__dense_lu(kiln_dtype dtype, int64_t n, void *a, int32_t *pivots)
{
    const kiln__lapack *lapack = lapack_for(n, 1);
    const int32_t size = (int32_t)n;
    int32_t info = 0;

    if (lapack == NULL)
        return own_of(dtype)->lu(n, a, pivots);
    lapack->getrf[kiln__blas_dtype(dtype)](&size, &size, a, &size, pivots, &info);
    return info;
}

void kiln__dense_lu_solve(kiln_dtype dtype, int64_t n, int64_t columns, const void *lu,
                          const int32_t *pivots, void *b)
{
    const kiln__lapack *lapack = lapack_for(n, columns);
    const int32_t size = (int32_t)n, wide = (int32_t)columns;
    int32_t info = 0;

    if (lapack == NULL)
        own_of(dtype)->lu_solve(n, columns, lu, pivots, b);
    else
        lapack->getrs[kiln__blas_dtype(dtype)]("N", &size, &wide, lu, &size, pivots, b, &size,
                                               &info, 1);
}

void kiln__dense_lu_det(kiln_dtype dtype, int64_t n, const void *lu, const int32_t *pivots,
                        void *sign, void *log, void *det)
{
    own_of(dtype)->lu_det(n, lu, pivots, sign, log, det);
}

int64_t kiln__dense_cholesky(kiln_dtype dtype, int64_t n, void *a)
{
    const kiln__lapack *lapack = lapack_for(n, 1);
    const int32_t size = (int32_t)n;
    int32_t narrow = 0;
    int64_t info = 0;

    if (lapack == NULL) {
        info = own_of(dtype)->cholesky(n, a);
    } else {
        lapack->potrf[kiln__blas_dtype(dtype)]("L", &size, a, &size, &narrow, 1);
        info = narrow;
    }
    own_of(dtype)->zero_above(n, a);
    return info;
}

int64_t kiln__dense_triangular(kiln_dtype dtype, bool upper, int64_t n, int64_t columns,
                               const void *a, void *b)
{
    return own_of(dtype)->triangular(upper, n, columns, a, b);
}

void kiln__dense_identity(kiln_dtype dtype, int64_t n, void *a)
{
    own_of(dtype)->identity(n, a);
}

void kiln__dense_nan(kiln_dtype dtype, int64_t count, void *a)
{
    own_of(dtype)->nan(count, a);
}
