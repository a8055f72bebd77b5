/*
 * solver_gpu.h - one call on a stack of matrices on a CUDA device. Private to src/linalg.
 *
 *     solver.c > [solver_cuda.c: copies, libraries, what failed] > factor_cuda.c: a task's `cuda` > arrays
 */
#ifndef KILN_LINALG_SOLVER_GPU_H
#define KILN_LINALG_SOLVER_GPU_H

#include "linalg/gpu_library.h"
#include "linalg/solver.h"
#include "linalg/steps.h"

typedef struct kiln__small_kernel kiln__small_kernel;

/* Everything of a call. Arrays are NULL until they are made. */
struct kiln__solver_gpu {
    kiln__solver *s;
    int which;           /* of a routine's four symbols */
    int type, real_type; /* of library_types.h */
    int64_t matrices;    /* of `a`, which may be fewer than the stack has */
    int64_t a_bytes;     /* of one of them */
    kiln_array *a;       /* a copy to be used up: columns without gaps */
    kiln_array *sizes;   /* the largest absolute value of each of `matrices`, or NULL */
    kiln_array *info;    /* int32, one for each of `matrices`: what the library says; and one that
                            nobody reads */
    bool info_of_stack;  /* or one for each of the call's stack, by a kernel of kiln's */
    int32_t *failed;     /* which sets this, in memory of the host, where one is not 0 */
    kiln_array *pivots;  /* int64, or int32 where `batched` */
    bool batched;
    const kiln__cusolver *lib;
    kiln__solver_handle handle;
    void *params;
    const kiln__cublas *blas;
    kiln__cublas_handle blas_handle;
    kiln__block *work; /* on the device */
    size_t work_bytes;
    void *host_work;
    size_t host_bytes;
    kiln__small_kernel **small_kernels; /* the context's */
};

/* How the elements of an array's matrices lie: its last axis fastest, or its last but one. */
typedef enum kiln__gpu_order { KILN__GPU_ROWS, KILN__GPU_COLUMNS } kiln__gpu_order;

/* A new array of the stack of `like`, or of the call's stack where that is NULL, whose matrices are rows x columns
 * (-1: without that axis). */
kiln_status kiln__gpu_new(kiln__solver_gpu *g, const kiln_array *like, kiln_dtype dtype,
                          int64_t rows, int64_t columns, kiln__gpu_order order, kiln_array **out,
                          kiln_error *err);
/* `g->a`: a copy of the matrices. */
kiln_status kiln__gpu_take_matrices(kiln__solver_gpu *g, kiln__gpu_order order, kiln_error *err);
/* A copy of the right sides, broadcast to the stack, in columns: the first result. */
kiln_status kiln__gpu_take_right_sides(kiln__solver_gpu *g, kiln_error *err);

/* What the libraries need to be called; with cuSOLVER, room for what it says of each matrix. */
kiln_status kiln__gpu_use_cusolver(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__gpu_use_cublas(kiln__solver_gpu *g, kiln_error *err);
/* Workspaces of that size at least. */
kiln_status kiln__gpu_room(kiln__solver_gpu *g, size_t device_bytes, size_t host_bytes,
                           kiln_error *err);
/* A status of a library: ERR_DEVICE_MEMORY, ERR_DRIVER. */
kiln_status kiln__gpu_check(const kiln__solver_gpu *g, const char *call, int result,
                            kiln_error *err);
/* Addresses of matrices of `bytes` each, on the device: those of `g->a` that the call's stack needs, or (`a` false)
 * those of a result, one behind the other. */
kiln_status kiln__gpu_addresses(kiln__solver_gpu *g, const kiln_array *of, int64_t bytes,
                                int64_t count, bool of_stack, kiln_array **out, kiln_error *err);
/* Which of `g->a` the nth of the stack is. */
int64_t kiln__gpu_matrix(const kiln__solver_gpu *g, int64_t nth);

/* Mark matrices with elements that are not finite as failed, and make them 0. They are `g->matrices`. */
kiln_status kiln__gpu_refuse_nan(kiln__solver_gpu *g, kiln_error *err);
/* Routines that square elements as they are lose those near the ends of the dtype's range, and cuBLAS subnormal pivots.
 * Multiply each of `g->a` by a power of two where its largest element is there; and bring back a result of the call's
 * stack, which is as large as the matrix, or (`inverse`) as its inverse. */
kiln_status kiln__gpu_scale(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__gpu_scale_back(kiln__solver_gpu *g, kiln_array *result, bool inverse,
                                 kiln_error *err);
/* As kiln__gpu_scale(), of matrices whose elements are small; large ones come as far below the largest number as sums need,
 * for their factors may need the whole range of the dtype. */
kiln_status kiln__gpu_scale_ends(kiln__solver_gpu *g, kiln_error *err);
/* The same as kiln__gpu_scale_back() of U in g->a = L U after it: L has no scale. */
kiln_status kiln__gpu_scale_back_ends(kiln__solver_gpu *g, kiln_error *err);
/* As kiln__gpu_scale(), of U in g->a = L U. */
kiln_status kiln__gpu_scale_upper(kiln__solver_gpu *g, kiln_error *err);

/* ---- small matrices (small_cuda.c) ---- */

typedef enum kiln__small_kind {
    KILN__SMALL_CHOLESKY,
    KILN__SMALL_LU,
    KILN__SMALL_QR,
    KILN__SMALL_QR_BLOCK,
    KILN__SMALL_JACOBI
} kiln__small_kind;

/* What a kernel of templates/linalg/ writes: NULL where it does not. C-order, of the call's stack. */
typedef struct kiln__small_results {
    kiln_array *y, *z, *w;
    int64_t columns; /* of right sides */
} kiln__small_results;

/* What a kernel is compiled for. Compared as bytes: no padding. */
typedef struct kiln__small_variant {
    int32_t kind, dtype, task, m, n, columns, upper, turned;
} kiln__small_variant;

/* Its template with what the compiler is told to define: `request` lives as long as the texts. */
enum { KILN__SMALL_MACROS = 13, KILN__SMALL_MACRO_BYTES = 40 };
typedef struct kiln__small_texts {
    kiln__own_request request;
    const char *macros[KILN__SMALL_MACROS];
    char text[KILN__SMALL_MACROS][KILN__SMALL_MACRO_BYTES];
} kiln__small_texts;
void kiln__small_request(const kiln__small_variant *s, kiln__small_texts *out);
/* Whether the matrices are for a kernel of kiln's own; and for one that keeps them and as many columns of a result in
 * the shared memory of a block. */
bool kiln__small_suits(const kiln__solver_gpu *g);
bool kiln__block_suits(const kiln__solver_gpu *g, int64_t columns);
/* Run it; `task` as its file says. */
kiln_status kiln__small_run(kiln__solver_gpu *g, kiln__small_kind kind, int task, bool turned,
                            const kiln__small_results *r, kiln_error *err);
/* End what a context has kept. */
void kiln__small_clear(kiln__small_kernel *first);

static inline char *kiln__gpu_at(const kiln_array *x, int64_t nth, int64_t bytes)
{
    return (char *)x->data + nth * bytes;
}

/* Whether there is nothing to compute; bytes of an element; where a library says what it made of a matrix. */
static inline bool kiln__gpu_is_empty(const kiln__solver_gpu *g)
{
    return g->matrices == 0 || g->a_bytes == 0;
}

static inline int64_t kiln__gpu_item(const kiln__solver_gpu *g)
{
    return (int64_t)kiln_dtype_size(g->s->dtype);
}

static inline int32_t *kiln__gpu_info(const kiln__solver_gpu *g, int64_t nth)
{
    return (int32_t *)(void *)kiln__gpu_at(g->info, nth, sizeof(int32_t));
}

#endif
