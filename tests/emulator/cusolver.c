/*
 * cusolver.c - a stand-in for libcusolver.so.12 and libcublas.so.13, which are made of this file both: it checks
 * what it is asked, counts calls by name, and factorises on the host, in the order of the emulated driver's streams.
 *
 * The numerics are kiln's own loops (src/linalg/dense_type.h), which tests hold against NumPy: what is tested
 * here is what kiln asks a library for, and what it makes of the answer.
 *
 * A test finds the counts by dlsym() of "stand_in_calls".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"
#include "linalg/dense.c"

enum { SUCCESS = 0, ALLOC_FAILED = 2, INVALID_VALUE = 3, WORKSPACE_BYTES = 640, NAMES = 64 };

/* How often each function was called; the last name is NULL. */
typedef struct calls {
    const char *name;
    unsigned count;
} calls;
EMU_EXPORT calls stand_in_calls[NAMES];
/* The workspace on the device that every function asks for; a test may ask for another one. */
EMU_EXPORT size_t stand_in_room = WORKSPACE_BYTES;

/* ---- what dense.c takes from the rest of kiln ---- */

void *kiln__alloc(size_t bytes)
{
    return malloc(bytes);
}

void kiln__free(void *p)
{
    free(p);
}

const kiln__lapack *kiln__lapack_get(void)
{
    return NULL;
}

int kiln__blas_dtype(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? 0 : dtype == KILN_FLOAT64 ? 1 : dtype == KILN_COMPLEX64 ? 2 : 3;
}

char kiln_dtype_kind(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64 ? 'f' : 'c';
}

size_t kiln_dtype_size(kiln_dtype dtype)
{
    static const size_t sizes[] = {4, 8, 8, 16};
    return sizes[kiln__blas_dtype(dtype)];
}

/* ---- calls ---- */

static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};

/* Of library_types.h; -1 for others. */
static int which_of(int type)
{
    return type == 0 ? 0 : type == 1 ? 1 : type == 4 ? 2 : type == 5 ? 3 : -1;
}

static void *stream_of_handle;

/* One call, kept until its stream comes to it. */
typedef struct work {
    void (*run)(const struct work *w);
    int which, job, part, batches;
    int64_t m, n, k, columns;
    void *a, *b, *c, *d, *device_work;
    int64_t *pivots;
    int32_t *narrow_pivots, *info;
    double *host_error;
    void **list, **other_list;
    size_t room; /* bytes of `device_work` */
} work;

static void run(void *given)
{
    work *w = given;

    if (w->device_work != NULL) {
        memset(w->device_work, 0xAB, WORKSPACE_BYTES);
        ((char *)w->device_work)[w->room - 1] = 0;
    }
    w->run(w);
    free(w);
}

static void note(const char *name)
{
    size_t k = 0;

    while (k + 1 < NAMES && stand_in_calls[k].name != NULL &&
           strcmp(stand_in_calls[k].name, name) != 0)
        k++;
    stand_in_calls[k].name = name;
    stand_in_calls[k].count++;
}

static int enqueue(const char *name, work w)
{
    int (*launch)(void *stream, void (*fn)(void *user), void *user) = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver != NULL ? dlsym(driver, "cuLaunchHostFunc") : NULL;
    work *kept = malloc(sizeof *kept);

    if (symbol == NULL || kept == NULL || w.which < 0) {
        free(kept);
        return symbol == NULL || w.which < 0 ? INVALID_VALUE : ALLOC_FAILED;
    }
    *kept = w;
    kept->room = stand_in_room;
    note(name);
    memcpy(&launch, &symbol, sizeof launch);
    return launch(stream_of_handle, run, kept) == 0 ? SUCCESS : INVALID_VALUE;
}

/* Whether workspaces are those that were asked for. */
static bool has_room(const void *device_work, size_t device_bytes)
{
    return device_work != NULL && device_bytes >= stand_in_room;
}

static int ask(int type, size_t *device_bytes, size_t *host_bytes)
{
    *device_bytes = stand_in_room;
    *host_bytes = 0;
    return which_of(type) >= 0 ? SUCCESS : INVALID_VALUE;
}

/* ---- handles ---- */

#define MAKE_HANDLE(create, destroy, set_stream)                                                   \
    EMU_EXPORT int create(void **handle)                                                           \
    {                                                                                              \
        *handle = calloc(1, 1);                                                                    \
        return *handle != NULL ? SUCCESS : ALLOC_FAILED;                                           \
    }                                                                                              \
    EMU_EXPORT int destroy(void *handle)                                                           \
    {                                                                                              \
        free(handle);                                                                              \
        return SUCCESS;                                                                            \
    }                                                                                              \
    EMU_EXPORT int set_stream(void *handle, void *stream)                                          \
    {                                                                                              \
        stream_of_handle = stream;                                                                 \
        return handle != NULL ? SUCCESS : INVALID_VALUE;                                           \
    }
MAKE_HANDLE(cusolverDnCreate, cusolverDnDestroy, cusolverDnSetStream)
MAKE_HANDLE(cublasCreate_v2, cublasDestroy_v2, cublasSetStream_v2)

EMU_EXPORT int cusolverDnCreateParams(void **params)
{
    return cusolverDnCreate(params);
}

EMU_EXPORT int cusolverDnDestroyParams(void *params)
{
    return cusolverDnDestroy(params);
}

/* ---- LU ---- */

/* cuSOLVER multiplies by reciprocals, which it makes of squares of complex pivots: of matrices of tiny elements it leaves no
 * digit. Here that is NaN, so that whoever gives it such matrices is found. */
static void lose_tiny_elements(const work *w, int64_t count, void *matrix)
{
    const bool narrow = kiln_dtype_size(dtypes[w->which]) / (w->which >= 2 ? 2 : 1) == 4;
    const int64_t reals = w->which >= 2 ? 2 * count : count;
    const double tiny = ldexp(1, narrow ? -45 : -420);
    double most = 0;

    for (int64_t k = 0; k < reals; k++) {
        const double v =
            fabs(narrow ? (double)((const float *)matrix)[k] : ((const double *)matrix)[k]);
        most = v > most ? v : most;
    }
    if (most > 0 && most < tiny)
        kiln__dense_nan(dtypes[w->which], count, matrix);
}

static void run_getrf(const work *w)
{
    lose_tiny_elements(w, w->m * w->n, w->a);
    int32_t *narrow = malloc((size_t)w->n * sizeof *narrow);

    *w->info = (int32_t)kiln__dense_lu(dtypes[w->which], w->m, w->n, w->a, narrow);
    for (int64_t k = 0; k < w->n && k < w->m; k++)
        w->pivots[k] = narrow[k];
    free(narrow);
}

EMU_EXPORT int cusolverDnXgetrf_bufferSize(void *handle, void *params, int64_t m, int64_t n,
                                           int type, const void *a, int64_t a_step, int compute,
                                           size_t *device_bytes, size_t *host_bytes)
{
    (void)handle, (void)a;
    (void)n;
    return a_step >= m && compute == type && params != NULL ? ask(type, device_bytes, host_bytes)
                                                            : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXgetrf(void *handle, void *params, int64_t m, int64_t n, int type, void *a,
                                int64_t a_step, int64_t *pivots, int compute, void *device_work,
                                size_t device_bytes, void *host_work, size_t host_bytes,
                                int32_t *info)
{
    (void)params, (void)host_work, (void)host_bytes, (void)compute;
    if (handle == NULL || a_step != m || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("getrf", (work){.run = run_getrf,
                                   .which = which_of(type),
                                   .m = m,
                                   .n = n,
                                   .a = a,
                                   .pivots = pivots,
                                   .info = info,
                                   .device_work = device_work});
}

static void run_getrs(const work *w)
{
    int32_t *narrow = malloc((size_t)w->n * sizeof *narrow);

    for (int64_t k = 0; k < w->n; k++)
        narrow[k] = (int32_t)w->pivots[k];
    kiln__dense_lu_solve(dtypes[w->which], w->n, w->columns, w->a, narrow, w->b);
    *w->info = 0; /* it says what became of its arguments, not of the factors */
    free(narrow);
}

EMU_EXPORT int cusolverDnXgetrs(void *handle, void *params, int transpose, int64_t n,
                                int64_t columns, int type, const void *a, int64_t a_step,
                                const int64_t *pivots, int b_type, void *b, int64_t b_step,
                                int32_t *info)
{
    (void)params;
    if (handle == NULL || transpose != 0 || a_step != n || b_step != n || type != b_type)
        return INVALID_VALUE;
    return enqueue("getrs", (work){.run = run_getrs,
                                   .which = which_of(type),
                                   .n = n,
                                   .columns = columns,
                                   .a = (void *)a,
                                   .b = b,
                                   .pivots = (int64_t *)pivots,
                                   .info = info});
}

static void run_getrf_batched(const work *w)
{
    for (int k = 0; k < w->batches; k++) {
        lose_tiny_elements(w, (int64_t)w->n * w->n, w->list[k]);
        w->info[k] = (int32_t)kiln__dense_lu(dtypes[w->which], w->n, w->n, w->list[k],
                                             w->narrow_pivots + k * w->n);
    }
}

static void run_getrs_batched(const work *w)
{
    for (int k = 0; k < w->batches; k++)
        kiln__dense_lu_solve(dtypes[w->which], w->n, w->columns, w->list[k],
                             w->narrow_pivots + k * w->n, w->other_list[k]);
}

static int getrf_batched(int which, void *handle, int n, void **a, int a_step, int32_t *pivots,
                         int32_t *info, int count)
{
    if (handle == NULL || a_step != n || a == NULL)
        return INVALID_VALUE;
    return enqueue("getrfBatched", (work){.run = run_getrf_batched,
                                          .which = which,
                                          .n = n,
                                          .list = a,
                                          .narrow_pivots = pivots,
                                          .info = info,
                                          .batches = count});
}

static void run_getri_batched(const work *w)
{
    for (int k = 0; k < w->batches; k++) {
        kiln__dense_identity(dtypes[w->which], w->n, w->other_list[k]);
        kiln__dense_lu_solve(dtypes[w->which], w->n, w->n, w->list[k], w->narrow_pivots + k * w->n,
                             w->other_list[k]);
        w->info[k] = 0;
    }
}

static int getri_batched(int which, void *handle, int n, void **a, int a_step,
                         const int32_t *pivots, void **inverse, int inverse_step, int32_t *info,
                         int count)
{
    if (handle == NULL || a_step != n || inverse_step != n || info == NULL)
        return INVALID_VALUE;
    return enqueue("getriBatched", (work){.run = run_getri_batched,
                                          .which = which,
                                          .n = n,
                                          .list = a,
                                          .other_list = inverse,
                                          .narrow_pivots = (int32_t *)pivots,
                                          .info = info,
                                          .batches = count});
}

static int getrs_batched(int which, void *handle, int transpose, int n, int columns, void **a,
                         int a_step, const int32_t *pivots, void **b, int b_step, int *host_info,
                         int count)
{
    if (handle == NULL || a_step != n || b_step != n || transpose != 0)
        return INVALID_VALUE;
    *host_info = 0;
    return enqueue("getrsBatched", (work){.run = run_getrs_batched,
                                          .which = which,
                                          .n = n,
                                          .columns = columns,
                                          .list = a,
                                          .other_list = b,
                                          .narrow_pivots = (int32_t *)pivots,
                                          .batches = count});
}

/* ---- Cholesky, triangular systems ---- */

/* The other triangle stays as it was, as a library leaves it. */
static int32_t factor(const work *w, void *matrix)
{
    const size_t item = kiln_dtype_size(dtypes[w->which]), n = (size_t)w->n;
    char *a = matrix, *copy = malloc(n * n * item);

    for (size_t j = 0; j < n; j++) /* the adjoint of the upper part is the lower one */
        for (size_t i = 0; i < n; i++)
            memcpy(copy + (j * n + i) * item, a + (w->part == 0 ? j * n + i : i * n + j) * item,
                   item);
    const int32_t info = (int32_t)kiln__dense_cholesky(dtypes[w->which], w->n, copy);
    for (size_t j = 0; j < n && info == 0; j++)
        for (size_t i = j; i < n; i++)
            memcpy(a + (w->part == 0 ? j * n + i : i * n + j) * item, copy + (j * n + i) * item,
                   item);
    free(copy);
    return info;
}

static void run_potrf(const work *w)
{
    *w->info = factor(w, w->a);
}

static void run_potrf_batched(const work *w)
{
    for (int k = 0; k < w->batches; k++)
        w->info[k] = factor(w, w->list[k]);
}

EMU_EXPORT int cusolverDnXpotrf_bufferSize(void *handle, void *params, int part, int64_t n,
                                           int type, const void *a, int64_t a_step, int compute,
                                           size_t *device_bytes, size_t *host_bytes)
{
    (void)handle, (void)params, (void)a, (void)n, (void)a_step;
    return part <= 1 && compute == type ? ask(type, device_bytes, host_bytes) : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXpotrf(void *handle, void *params, int part, int64_t n, int type, void *a,
                                int64_t a_step, int compute, void *device_work, size_t device_bytes,
                                void *host_work, size_t host_bytes, int32_t *info)
{
    (void)params, (void)host_work, (void)host_bytes, (void)compute;
    if (handle == NULL || a_step != n || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("potrf", (work){.run = run_potrf,
                                   .which = which_of(type),
                                   .n = n,
                                   .a = a,
                                   .part = part,
                                   .info = info,
                                   .device_work = device_work});
}

static int potrf_batched(int which, void *handle, int part, int n, void **a, int a_step,
                         int32_t *info, int count)
{
    if (handle == NULL || a_step != n)
        return INVALID_VALUE;
    return enqueue("potrfBatched", (work){.run = run_potrf_batched,
                                          .which = which,
                                          .n = n,
                                          .list = a,
                                          .part = part,
                                          .info = info,
                                          .batches = count});
}

/* `job`: the diagonal counts as 1. */
static void run_trsm(const work *w)
{
    const size_t item = kiln_dtype_size(dtypes[w->which]), n = (size_t)w->n;
    char *copy = malloc(n * n * item), *one = malloc(item);

    memcpy(copy, w->a, n * n * item);
    kiln__dense_identity(dtypes[w->which], 1, one);
    for (size_t k = 0; k < n && w->job == 1; k++)
        memcpy(copy + k * (n + 1) * item, one, item);
    (void)kiln__dense_triangular(dtypes[w->which], w->part == 1, w->n, w->columns, copy, w->b);
    free(copy);
    free(one);
}

static int trsm(int which, void *handle, int side, int part, int transpose, int unit, int64_t m,
                int64_t n, const void *a, int64_t a_step, void *b, int64_t b_step)
{
    if (handle == NULL || side != 0 || transpose != 0 || unit > 1 || a_step != m || b_step != m)
        return INVALID_VALUE;
    return enqueue("trsm", (work){.run = run_trsm,
                                  .which = which,
                                  .part = part,
                                  .job = unit,
                                  .n = m,
                                  .columns = n,
                                  .a = (void *)a,
                                  .b = b});
}

/* ---- QR ---- */

static void run_geqrf(const work *w)
{
    own[w->which]->qr(w->m, w->n, w->a, w->b);
    *w->info = 0;
}

static void run_orgqr(const work *w)
{
    const size_t bytes = (size_t)(w->m * w->n) * kiln_dtype_size(dtypes[w->which]);
    void *q = malloc(bytes);

    own[w->which]->qr_form(w->m, w->k, w->n, w->a, w->b, q);
    memcpy(w->a, q, bytes);
    free(q);
    *w->info = 0;
}

EMU_EXPORT int cusolverDnXgeqrf_bufferSize(void *handle, void *params, int64_t m, int64_t n,
                                           int type, const void *a, int64_t a_step, int scales_type,
                                           const void *scales, int compute, size_t *device_bytes,
                                           size_t *host_bytes)
{
    (void)handle, (void)params, (void)a, (void)m, (void)n, (void)a_step, (void)scales;
    return scales_type == type && compute == type ? ask(type, device_bytes, host_bytes)
                                                  : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXgeqrf(void *handle, void *params, int64_t m, int64_t n, int type, void *a,
                                int64_t a_step, int scales_type, void *scales, int compute,
                                void *device_work, size_t device_bytes, void *host_work,
                                size_t host_bytes, int32_t *info)
{
    (void)params, (void)host_work, (void)host_bytes, (void)scales_type, (void)compute;
    if (handle == NULL || a_step != m || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("geqrf", (work){.run = run_geqrf,
                                   .which = which_of(type),
                                   .m = m,
                                   .n = n,
                                   .a = a,
                                   .b = scales,
                                   .info = info,
                                   .device_work = device_work});
}

static int orgqr(int which, void *handle, int m, int n, int k, void *a, int a_step,
                 const void *scales, void *room, int elements, int32_t *info)
{
    if (handle == NULL || n > m || k > n || a_step != m || room == NULL || elements < 7)
        return INVALID_VALUE;
    return enqueue("orgqr", (work){.run = run_orgqr,
                                   .which = which,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .a = a,
                                   .b = (void *)scales,
                                   .info = info});
}

/* ---- eigenvalues, singular values ---- */

static int32_t eigen(const work *w, char *a, char *values)
{
    const kiln_dtype dtype = dtypes[w->which];
    const size_t bytes = (size_t)(w->n * w->n) * kiln_dtype_size(dtype);
    void *vectors = malloc(bytes);

    kiln__dense_mirror(dtype, w->part == 1, w->n, a);
    const bool converged = kiln__dense_eigh(dtype, w->n, a, values, vectors);
    if (w->job == 1)
        memcpy(a, vectors, bytes);
    free(vectors);
    return converged ? 0 : 1;
}

static void run_syevd(const work *w)
{
    const size_t item = kiln_dtype_size(dtypes[w->which]);
    const size_t real = w->which % 2 == 0 ? sizeof(float) : sizeof(double);
    const size_t count = w->batches > 0 ? (size_t)w->batches : 1, n = (size_t)w->n;

    for (size_t k = 0; k < count; k++)
        w->info[k] = eigen(w, (char *)w->a + k * n * n * item, (char *)w->b + k * n * real);
}

EMU_EXPORT int cusolverDnXsyevd_bufferSize(void *handle, void *params, int job, int part, int64_t n,
                                           int type, const void *a, int64_t a_step, int values_type,
                                           const void *values, int compute, size_t *device_bytes,
                                           size_t *host_bytes)
{
    (void)handle, (void)params, (void)a, (void)n, (void)a_step, (void)values;
    return job <= 1 && part <= 1 && which_of(values_type) == which_of(type) % 2 && compute == type
               ? ask(type, device_bytes, host_bytes)
               : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXsyevd(void *handle, void *params, int job, int part, int64_t n, int type,
                                void *a, int64_t a_step, int values_type, void *values, int compute,
                                void *device_work, size_t device_bytes, void *host_work,
                                size_t host_bytes, int32_t *info)
{
    (void)params, (void)host_work, (void)host_bytes, (void)values_type, (void)compute;
    if (handle == NULL || a_step != n || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("syevd", (work){.run = run_syevd,
                                   .which = which_of(type),
                                   .n = n,
                                   .a = a,
                                   .b = values,
                                   .job = job,
                                   .part = part,
                                   .info = info,
                                   .device_work = device_work});
}

EMU_EXPORT int cusolverDnXsyevBatched_bufferSize(void *handle, void *params, int job, int part,
                                                 int64_t n, int type, const void *a, int64_t a_step,
                                                 int values_type, const void *values, int compute,
                                                 size_t *device_bytes, size_t *host_bytes,
                                                 int64_t count)
{
    return count < 1 ? INVALID_VALUE
                     : cusolverDnXsyevd_bufferSize(handle, params, job, part, n, type, a, a_step,
                                                   values_type, values, compute, device_bytes,
                                                   host_bytes);
}

EMU_EXPORT int cusolverDnXsyevBatched(void *handle, void *params, int job, int part, int64_t n,
                                      int type, void *a, int64_t a_step, int values_type,
                                      void *values, int compute, void *device_work,
                                      size_t device_bytes, void *host_work, size_t host_bytes,
                                      int32_t *info, int64_t count)
{
    (void)params, (void)host_work, (void)host_bytes, (void)values_type, (void)compute;
    if (handle == NULL || a_step != n || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("syevBatched", (work){.run = run_syevd,
                                         .which = which_of(type),
                                         .n = n,
                                         .a = a,
                                         .b = values,
                                         .job = job,
                                         .part = part,
                                         .info = info,
                                         .batches = (int)count,
                                         .device_work = device_work});
}

static void run_gesvd(const work *w)
{
    const kiln_dtype dtype = dtypes[w->which];
    const size_t item = kiln_dtype_size(dtype);
    void *u = w->c != NULL ? w->c : malloc((size_t)(w->m * w->n) * item);
    void *vh = w->d != NULL ? w->d : malloc((size_t)(w->n * w->n) * item);

    *w->info = kiln__dense_svd(dtype, w->m, w->n, w->job == 'A', w->a, u, w->b, vh) ? 0 : 1;
    if (w->c == NULL)
        free(u);
    if (w->d == NULL)
        free(vh);
}

EMU_EXPORT int cusolverDnXgesvd_bufferSize(void *handle, void *params, signed char job_u,
                                           signed char job_vh, int64_t m, int64_t n, int type,
                                           const void *a, int64_t a_step, int values_type,
                                           const void *values, int u_type, const void *u,
                                           int64_t u_step, int vh_type, const void *vh,
                                           int64_t vh_step, int compute, size_t *device_bytes,
                                           size_t *host_bytes)
{
    (void)handle, (void)params, (void)a, (void)a_step, (void)values, (void)u, (void)u_step;
    (void)vh, (void)vh_step, (void)values_type;
    return job_u == job_vh && m >= n && u_type == type && vh_type == type && compute == type
               ? ask(type, device_bytes, host_bytes)
               : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXgesvd(void *handle, void *params, signed char job_u, signed char job_vh,
                                int64_t m, int64_t n, int type, void *a, int64_t a_step,
                                int values_type, void *values, int u_type, void *u, int64_t u_step,
                                int vh_type, void *vh, int64_t vh_step, int compute,
                                void *device_work, size_t device_bytes, void *host_work,
                                size_t host_bytes, int32_t *info)
{
    (void)params, (void)host_work, (void)host_bytes, (void)u_type, (void)vh_type, (void)compute;
    if (handle == NULL || a_step != m || m < n || u_step != m || vh_step != n ||
        (job_u != 'N') != (u != NULL) || (job_vh != 'N') != (vh != NULL) ||
        which_of(values_type) != which_of(type) % 2 || !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("gesvd", (work){.run = run_gesvd,
                                   .which = which_of(type),
                                   .job = job_u,
                                   .m = m,
                                   .n = n,
                                   .a = a,
                                   .b = values,
                                   .c = u,
                                   .d = vh,
                                   .info = info,
                                   .device_work = device_work});
}

/* As gesvd, but V in the place of V^H, and singular values near 0 are not told from it: it says that it was
 * wrong. */
static void run_gesvdp(const work *w)
{
    const size_t item = kiln_dtype_size(dtypes[w->which]);
    void *vh = malloc((size_t)(w->n * w->n) * item);
    const double *values = w->b;
    work plain = *w;

    plain.d = vh;
    run_gesvd(&plain);
    if (w->d != NULL)
        own[w->which]->adjoint(w->n, w->n, vh, w->d);
    *w->host_error = w->n > 0 && values[w->n - 1] > 1e-12 * values[0] ? 0 : 1;
    free(vh);
}

EMU_EXPORT int cusolverDnXgesvdp_bufferSize(void *handle, void *params, int job, int thin,
                                            int64_t m, int64_t n, int type, const void *a,
                                            int64_t a_step, int values_type, const void *values,
                                            int u_type, const void *u, int64_t u_step, int v_type,
                                            const void *v, int64_t v_step, int compute,
                                            size_t *device_bytes, size_t *host_bytes)
{
    (void)handle, (void)params, (void)a, (void)a_step, (void)values, (void)u, (void)u_step;
    (void)v, (void)v_step, (void)values_type, (void)job, (void)thin;
    return m >= n && u_type == type && v_type == type && compute == type
               ? ask(type, device_bytes, host_bytes)
               : INVALID_VALUE;
}

EMU_EXPORT int cusolverDnXgesvdp(void *handle, void *params, int job, int thin, int64_t m,
                                 int64_t n, int type, void *a, int64_t a_step, int values_type,
                                 void *values, int u_type, void *u, int64_t u_step, int v_type,
                                 void *v, int64_t v_step, int compute, void *device_work,
                                 size_t device_bytes, void *host_work, size_t host_bytes,
                                 int32_t *info, double *host_error)
{
    (void)params, (void)host_work, (void)host_bytes, (void)u_type, (void)v_type, (void)compute;
    if (handle == NULL || a_step != m || m < n || u_step != m || v_step != n || job != 1 ||
        u == NULL || v == NULL || which_of(type) % 2 == 0 || which_of(values_type) != 1 ||
        !has_room(device_work, device_bytes))
        return INVALID_VALUE;
    return enqueue("gesvdp", (work){.run = run_gesvdp,
                                    .which = which_of(type),
                                    .job = thin != 0 ? 'S' : 'A',
                                    .m = m,
                                    .n = n,
                                    .a = a,
                                    .b = values,
                                    .c = u,
                                    .d = v,
                                    .info = info,
                                    .host_error = host_error,
                                    .device_work = device_work});
}

/* ---- functions of which there are four ---- */

#define FOUR(which, letter, qr_prefix)                                                             \
    EMU_EXPORT int cublas##letter##getrfBatched(void *handle, int n, void **a, int a_step,         \
                                                int32_t *pivots, int32_t *info, int count)         \
    {                                                                                              \
        return getrf_batched(which, handle, n, a, a_step, pivots, info, count);                    \
    }                                                                                              \
    EMU_EXPORT int cublas##letter##getriBatched(void *handle, int n, void **a, int a_step,         \
                                                const int32_t *pivots, void **inverse,             \
                                                int inverse_step, int32_t *info, int count)        \
    {                                                                                              \
        return getri_batched(which, handle, n, a, a_step, pivots, inverse, inverse_step, info,     \
                             count);                                                               \
    }                                                                                              \
    EMU_EXPORT int cublas##letter##getrsBatched(void *handle, int transpose, int n, int columns,   \
                                                void **a, int a_step, const int32_t *pivots,       \
                                                void **b, int b_step, int *host_info, int count)   \
    {                                                                                              \
        return getrs_batched(which, handle, transpose, n, columns, a, a_step, pivots, b, b_step,   \
                             host_info, count);                                                    \
    }                                                                                              \
    EMU_EXPORT int cublas##letter##trsm_v2_64(                                                     \
        void *handle, int side, int part, int transpose, int unit, int64_t m, int64_t n,           \
        const void *alpha, const void *a, int64_t a_step, void *b, int64_t b_step)                 \
    {                                                                                              \
        (void)alpha;                                                                               \
        return trsm(which, handle, side, part, transpose, unit, m, n, a, a_step, b, b_step);       \
    }                                                                                              \
    EMU_EXPORT int cublas##letter##trsv_v2_64(void *handle, int part, int transpose, int unit,     \
                                              int64_t n, const void *a, int64_t a_step, void *x,   \
                                              int64_t x_step)                                      \
    {                                                                                              \
        return x_step == 1 ? trsm(which, handle, 0, part, transpose, unit, n, 1, a, a_step, x, n)  \
                           : INVALID_VALUE;                                                        \
    }                                                                                              \
    EMU_EXPORT int cusolverDn##letter##potrfBatched(void *handle, int part, int n, void **a,       \
                                                    int a_step, int32_t *info, int count)          \
    {                                                                                              \
        return potrf_batched(which, handle, part, n, a, a_step, info, count);                      \
    }                                                                                              \
    EMU_EXPORT int cusolverDn##qr_prefix##gqr_bufferSize(void *handle, int m, int n, int k,        \
                                                         const void *a, int a_step,                \
                                                         const void *scales, int *elements)        \
    {                                                                                              \
        (void)a, (void)a_step, (void)scales;                                                       \
        *elements = 7;                                                                             \
        return handle != NULL && k <= n && n <= m ? SUCCESS : INVALID_VALUE;                       \
    }                                                                                              \
    EMU_EXPORT int cusolverDn##qr_prefix##gqr(void *handle, int m, int n, int k, void *a,          \
                                              int a_step, const void *scales, void *room,          \
                                              int elements, int32_t *info)                         \
    {                                                                                              \
        return orgqr(which, handle, m, n, k, a, a_step, scales, room, elements, info);             \
    }
FOUR(0, S, Sor)
FOUR(1, D, Dor)
FOUR(2, C, Cun)
FOUR(3, Z, Zun)
