/*
 * dense.c - factorisations of one matrix on the host: by a LAPACK, or by the loops of dense_type.h.
 *
 * Rule: a matrix of fewer rows than SMALL goes through kiln's own loops, which any number of threads may run at
 *       once, each on a matrix of a stack; a LAPACK spreads one matrix over its threads.
 */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "linalg/dense.h"

/* SWEEPS_MAX: of Jacobi's rotations; ten are enough for matrices of any size. */
enum { SMALL = 48, SWEEPS_MAX = 60 };

typedef struct routines {
    int64_t (*lu)(int64_t m, int64_t n, void *a, int32_t *pivots);
    void (*lu_solve)(int64_t n, int64_t columns, const void *lu, const int32_t *pivots, void *b);
    void (*lu_det)(int64_t n, const void *lu, const int32_t *pivots, void *sign, void *log,
                   void *det);
    int64_t (*cholesky)(int64_t n, void *a);
    void (*zero_above)(int64_t n, void *a);
    void (*ldl)(int64_t n, void *a, int32_t *pivots);
    void (*ldl_form)(int64_t n, const void *a, const int32_t *pivots, void *l, void *d,
                     int64_t *places);
    int64_t (*triangular)(bool upper, int64_t n, int64_t columns, const void *a, void *b);
    void (*identity)(int64_t n, void *a);
    void (*nan)(int64_t count, void *values);
    void (*qr)(int64_t m, int64_t n, void *a, void *scales);
    void (*qr_form)(int64_t m, int64_t n, int64_t columns, const void *a, const void *scales,
                    void *q);
    void (*triangle)(int64_t m, int64_t n, int64_t rows, const void *a, void *r);
    bool (*is_tiny)(int64_t count, const void *values);
    bool (*has_subnormal)(int64_t n, const void *lu);
    int (*bring_near)(int high, int64_t count, void *values);
    void (*bring_back)(bool real, int power, int64_t count, void *values);
    bool (*eigh)(int64_t n, void *a, void *values, void *vectors);
    bool (*svd)(int64_t m, int64_t n, void *a, void *values, void *right);
    void (*complete)(int64_t m, int64_t k, void *u);
    void (*adjoint)(int64_t m, int64_t n, const void *a, void *into);
    void (*mirror)(bool upper, int64_t n, void *a);
    bool (*is_finite)(int64_t count, const void *values);
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
#define HYPOT(x, y) hypotf(x, y)
#define RABS(r) fabsf(r)
#define EPSILON FLT_EPSILON
#define EXPONENT FLT_MAX_EXP
#define SMALLEST FLT_MIN
#include "linalg/dense_type.h"

#define T double
#define R double
#define NAME(x) x##_double
#define SIZE(v) fabs(v)
#define CONJ(v) (v)
#define RE(v) (v)
#define ABS(v) fabs(v)
#define SQRT(r) sqrt(r)
#define LOG(r) log(r)
#define HYPOT(x, y) hypot(x, y)
#define RABS(r) fabs(r)
#define EPSILON DBL_EPSILON
#define EXPONENT DBL_MAX_EXP
#define SMALLEST DBL_MIN
#include "linalg/dense_type.h"

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
#define HYPOT(x, y) hypotf(x, y)
#define RABS(r) fabsf(r)
#define EPSILON FLT_EPSILON
#define EXPONENT FLT_MAX_EXP
#define SMALLEST FLT_MIN
#include "linalg/dense_type.h"

#define T double complex
#define R double
#define NAME(x) x##_complex_double
#define SIZE(v) (fabs(creal(v)) + fabs(cimag(v)))
#define CONJ(v) conj(v)
#define RE(v) creal(v)
#define ABS(v) cabs(v)
#define SQRT(r) sqrt(r)
#define LOG(r) log(r)
#define HYPOT(x, y) hypot(x, y)
#define RABS(r) fabs(r)
#define EPSILON DBL_EPSILON
#define EXPONENT DBL_MAX_EXP
#define SMALLEST DBL_MIN
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

/* The power of two that elements may have before kiln's own loops: sums of their products with unit vectors are
 * numbers, or sums of their squares. */
static int high_of(kiln_dtype dtype, bool squares)
{
    const bool narrow = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
    const int end = narrow ? FLT_MAX_EXP : DBL_MAX_EXP;

    return squares ? end / 8 * 3 : end - 20;
}

int64_t kiln__dense_lu(kiln_dtype dtype, int64_t m, int64_t n, void *a, int32_t *pivots)
{
    const kiln__lapack *lapack = lapack_for(m < n ? m : n, m > n ? m : n);
    const routines *const r = own_of(dtype);
    const int32_t rows = (int32_t)m, columns = (int32_t)n;
    int32_t info = 0;
    int power = 0;

    if (lapack == NULL)
        return r->lu(m, n, a, pivots);
    if (r->is_tiny(m * n, a))
        power = r->bring_near(high_of(dtype, false), m * n, a);
    lapack->getrf[kiln__blas_dtype(dtype)](&rows, &columns, a, &rows, pivots, &info);
    for (int64_t j = 0; j < n && power != 0; j++) /* L has no scale */
        r->bring_back(false, power, j < m ? j + 1 : m,
                      (char *)a + (size_t)(j * m) * kiln_dtype_size(dtype));
    return info;
}

void kiln__dense_lu_solve(kiln_dtype dtype, int64_t n, int64_t columns, const void *lu,
                          const int32_t *pivots, void *b)
{
    const kiln__lapack *lapack = lapack_for(n, columns);
    const int32_t size = (int32_t)n, wide = (int32_t)columns;
    int32_t info = 0;

    if (lapack == NULL || own_of(dtype)->has_subnormal(n, lu))
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

/* ---- orthogonal factors and values ----------------------------------------------------------- */

/* What a LAPACK's query for its workspace gave, as a number of elements. */
static int32_t read_query(kiln_dtype dtype, const double *query)
{
    float narrow;

    memcpy(&narrow, query, sizeof narrow);
    return (int32_t)(dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64 ? narrow : *query);
}

/* Workspaces of a LAPACK call: elements, reals, integers. NULL where memory is short. */
static char *make_work(kiln_dtype dtype, int32_t elements, int64_t reals, int64_t integers,
                       void **real_out, int32_t **integer_out)
{
    const size_t item = kiln_dtype_size(dtype);
    const size_t first = (size_t)(elements > 0 ? elements : 1) * item;
    char *work = kiln__alloc(first + (size_t)reals * sizeof(double) + (size_t)integers * 4);

    *real_out = work != NULL ? work + first : NULL;
    *integer_out =
        work != NULL ? (int32_t *)(void *)(work + first + (size_t)reals * sizeof(double)) : NULL;
    return work;
}

/* Whether the LAPACK had what it needed; `a` holds the factors then. */
static bool lapack_qr(const kiln__lapack *l, kiln_dtype dtype, int32_t m, int32_t n,
                      int32_t columns, void *a, void *tau, void *q)
{
    const int which = kiln__blas_dtype(dtype);
    const int32_t count = m < n ? m : n, ask = -1;
    int32_t info = 0, lwork = 0, *none = NULL;
    double query[2] = {0};
    void *real = NULL;

    l->geqrf[which](&m, &n, a, &m, tau, query, &ask, &info);
    lwork = read_query(dtype, query);
    l->orgqr[which](&m, &columns, &count, q, &m, tau, query, &ask, &info);
    lwork = lwork > read_query(dtype, query) ? lwork : read_query(dtype, query);
    char *work = make_work(dtype, lwork, 0, 0, &real, &none);
    if (work == NULL)
        return false;
    l->geqrf[which](&m, &n, a, &m, tau, work, &lwork, &info);
    memcpy(q, a, (size_t)m * (size_t)count * kiln_dtype_size(dtype));
    l->orgqr[which](&m, &columns, &count, q, &m, tau, work, &lwork, &info);
    kiln__free(work);
    return true;
}

void kiln__dense_qr(kiln_dtype dtype, int64_t m, int64_t n, int64_t columns, void *a, void *q,
                    void *r, void *scales)
{
    const kiln__lapack *lapack = lapack_for(n, m);
    int power = 0;

    if (lapack == NULL ||
        !lapack_qr(lapack, dtype, (int32_t)m, (int32_t)n, (int32_t)columns, a, scales, q)) {
        power = own_of(dtype)->bring_near(high_of(dtype, false), m * n, a);
        own_of(dtype)->qr(m, n, a, scales);
        own_of(dtype)->qr_form(m, n, columns, a, scales, q);
    }
    own_of(dtype)->triangle(m, n, columns, a, r);
    own_of(dtype)->bring_back(false, power, columns * n, r);
}

void kiln__dense_ldl(kiln_dtype dtype, int64_t n, void *a, int32_t *pivots, void *l, void *d,
                     int64_t *places)
{
    const kiln__lapack *lapack = lapack_for(n, 1);
    const int which = kiln__blas_dtype(dtype);
    const int32_t size = (int32_t)n, ask = -1;
    int32_t info = 0, lwork = 0, *none = NULL;
    double query[2] = {0};
    void *reals = NULL;
    char *work = NULL;

    if (lapack != NULL) {
        lapack->hetrf[which]("L", &size, a, &size, pivots, query, &ask, &info, 1);
        lwork = read_query(dtype, query);
        work = make_work(dtype, lwork, 0, 0, &reals, &none);
    }
    if (work != NULL)
        lapack->hetrf[which]("L", &size, a, &size, pivots, work, &lwork, &info, 1);
    else
        own_of(dtype)->ldl(n, a, pivots);
    kiln__free(work);
    own_of(dtype)->ldl_form(n, a, pivots, l, d, places);
}

/* -1: the LAPACK had no memory. */
static int32_t lapack_eigh(const kiln__lapack *l, kiln_dtype dtype, int32_t n, void *a, void *w)
{
    const bool is_complex = kiln_dtype_kind(dtype) == 'c';
    const int which = kiln__blas_dtype(dtype);
    const int64_t size = n;
    const int32_t reals = (int32_t)(1 + 5 * size + 2 * size * size), integers = 3 + 5 * n;
    int32_t info = 0, ask = -1, lwork = 0, *integer = NULL;
    int32_t few[1];
    double query[2] = {0}, real_query[2];
    void *real = NULL;
    char *work = NULL;

    for (int turn = 0; turn < 2; turn++) {
        void *at = turn == 0 ? (void *)query : (void *)work;
        const int32_t *elements = turn == 0 ? &ask : &lwork;
        if (is_complex)
            l->heevd[which]("V", "L", &n, a, &n, w, at, elements,
                            turn == 0 ? (void *)real_query : real, turn == 0 ? &ask : &reals,
                            turn == 0 ? few : integer, turn == 0 ? &ask : &integers, &info, 1, 1);
        else
            l->syevd[which]("V", "L", &n, a, &n, w, at, elements, turn == 0 ? few : integer,
                            turn == 0 ? &ask : &integers, &info, 1, 1);
        if (turn == 0) {
            lwork = read_query(dtype, query);
            work = make_work(dtype, lwork, is_complex ? reals : 0, integers, &real, &integer);
            if (work == NULL)
                return -1;
        }
    }
    kiln__free(work);
    return info;
}

static bool own_eigh(kiln_dtype dtype, int64_t n, void *a, void *values, void *vectors)
{
    const routines *by = own_of(dtype);
    const int power = by->bring_near(high_of(dtype, false), n * n, a);
    const bool converged = by->eigh(n, a, values, vectors);

    by->bring_back(true, power, n, values);
    return converged;
}

bool kiln__dense_eigh(kiln_dtype dtype, int64_t n, void *a, void *values, void *vectors)
{
    /* The workspace of a larger matrix has more elements than its integers count. */
    const kiln__lapack *lapack = n <= 16384 ? lapack_for(n, 1) : NULL;
    const size_t bytes = (size_t)n * (size_t)n * kiln_dtype_size(dtype);
    int32_t info = -1;

    if (!own_of(dtype)->is_finite(n * n, a))
        return false;
    if (lapack != NULL) {
        memcpy(vectors, a, bytes);
        info = lapack_eigh(lapack, dtype, (int32_t)n, vectors, values);
    }
    return info >= 0 ? info == 0 : own_eigh(dtype, n, a, values, vectors);
}

static int32_t lapack_svd(const kiln__lapack *l, kiln_dtype dtype, int32_t m, int32_t n, bool full,
                          void *a, void *u, void *s, void *vh)
{
    const char *job = full ? "A" : "S";
    const bool is_complex = kiln_dtype_kind(dtype) == 'c';
    const int which = kiln__blas_dtype(dtype);
    const int32_t count = m < n ? m : n, vh_step = full ? n : count;
    const int64_t small = count, large = m > n ? m : n;
    const int64_t reals = is_complex ? 5 * small * small + 7 * small + 2 * large * small : 0;
    int32_t info = 0, ask = -1, lwork = 0, *integer = NULL, few[8];
    double query[2] = {0}, real_query[8];
    void *real = NULL;
    char *work = NULL;

    for (int turn = 0; turn < 2; turn++) {
        void *at = turn == 0 ? (void *)query : (void *)work;
        if (is_complex)
            l->gesdd_complex[which](
                job, &m, &n, a, &m, s, u, &m, vh, &vh_step, at, turn == 0 ? &ask : &lwork,
                turn == 0 ? (void *)real_query : real, turn == 0 ? few : integer, &info, 1);
        else
            l->gesdd[which](job, &m, &n, a, &m, s, u, &m, vh, &vh_step, at,
                            turn == 0 ? &ask : &lwork, turn == 0 ? few : integer, &info, 1);
        if (turn == 0) {
            lwork = read_query(dtype, query);
            work = make_work(dtype, lwork, reals, 8 * small, &real, &integer);
            if (work == NULL)
                return -1;
        }
    }
    kiln__free(work);
    return info;
}

/* By rotations: U stands in the place of the taller of a and its adjoint. */
static bool own_svd(kiln_dtype dtype, int64_t m, int64_t n, bool full, void *a, void *u, void *s,
                    void *vh)
{
    const routines *by = own_of(dtype);
    const size_t item = kiln_dtype_size(dtype);
    const int64_t count = m < n ? m : n;
    const int power = by->bring_near(high_of(dtype, true), m * n, a);
    bool converged;

    if (m >= n) {
        converged = by->svd(m, n, a, s, u);
        by->adjoint(n, n, u, vh);
        memcpy(u, a, (size_t)(m * n) * item);
        for (int64_t k = n; k < m && full; k++)
            by->complete(m, k, u);
    } else {
        by->adjoint(m, n, a, u);
        converged = by->svd(n, m, u, s, a);
        for (int64_t k = m; k < n && full; k++)
            by->complete(n, k, u);
        by->adjoint(n, full ? n : m, u, vh);
        memcpy(u, a, (size_t)(m * count) * item);
    }
    by->bring_back(true, power, count, s);
    return converged;
}

bool kiln__dense_svd(kiln_dtype dtype, int64_t m, int64_t n, bool full, void *a, void *u, void *s,
                     void *vh)
{
    const int64_t small = m < n ? m : n;
    const kiln__lapack *lapack = lapack_for(small, m > n ? m : n);
    int32_t info = -1;

    if (!own_of(dtype)->is_finite(m * n, a)) /* some versions never end on a NaN */
        return false;
    if (lapack != NULL)
        info = lapack_svd(lapack, dtype, (int32_t)m, (int32_t)n, full, a, u, s, vh);
    return info >= 0 ? info == 0 : own_svd(dtype, m, n, full, a, u, s, vh);
}

void kiln__dense_mirror(kiln_dtype dtype, bool upper, int64_t n, void *a)
{
    own_of(dtype)->mirror(upper, n, a);
}

bool kiln__dense_eig(kiln_dtype dtype, int64_t n, void *a, void *values, void *vectors)
{
    const kiln__lapack *l = kiln__lapack_get();
    const int32_t size = (int32_t)n, ask = -1, one = 1;
    const char *job = vectors != NULL ? "V" : "N";
    const int which = kiln__blas_dtype(dtype);
    int32_t info = 0, lwork = 0, *none = NULL;
    double query[2] = {0}, few[2];
    void *reals = NULL;

    if (l == NULL || n > INT32_MAX || !own_of(dtype)->is_finite(n * n, a))
        return false;
    if (n == 0)
        return true;
    l->geev[which]("N", job, &size, a, &size, values, query, &one, vectors, &size, query, &ask, few,
                   &info, 1, 1);
    lwork = read_query(dtype, query);
    char *work = make_work(dtype, lwork, 2 * n, 0, &reals, &none);
    if (work == NULL)
        return false;
    l->geev[which]("N", job, &size, a, &size, values, query, &one, vectors, &size, work, &lwork,
                   reals, &info, 1, 1);
    kiln__free(work);
    return info == 0;
}
