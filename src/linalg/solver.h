/*
 * solver.h - one call on a stack of matrices, whatever is done with each: arguments, memory, threads, what
 * failed. Private to src/linalg.
 *
 *     solve.c, factor.c: a kiln__solver_task > [solver.c] > its `run`, once a matrix > arrays
 */
#ifndef KILN_LINALG_SOLVER_H
#define KILN_LINALG_SOLVER_H

#include "linalg/dense.h"
#include "linalg/internal.h"

enum { KILN__SOLVER_RESULTS = 3, KILN__SOLVER_BUFFERS = 4 };

typedef struct kiln__solver kiln__solver;
typedef struct kiln__solver_gpu kiln__solver_gpu;

/* Memory of a thread for one matrix: buffers of max(m, n) * max(min(m, n), columns) elements each, or of
 * max(m, n)^2 where square factors are asked for. */
typedef struct kiln__solver_work {
    char *buffer[KILN__SOLVER_BUFFERS];
    int32_t *pivots; /* max(m, n) */
} kiln__solver_work;

/* What the elements of a result are. */
typedef enum kiln__solver_kind {
    KILN__SOLVER_SAME,    /* of the call's dtype */
    KILN__SOLVER_REAL,    /* of its real one */
    KILN__SOLVER_COMPLEX, /* of its complex one */
    KILN__SOLVER_PLACES   /* int64 */
} kiln__solver_kind;

/* A result: for each matrix one of `rows` x `columns`, or a vector or a number where those are -1. */
typedef struct kiln__solver_result {
    int64_t rows, columns;
    kiln__solver_kind kind;
    kiln_array *array;
    void *host; /* its elements, where the device is not the host */
    char *to;   /* where they are written, C-order */
} kiln__solver_result;

typedef struct kiln__solver_task {
    const char *name;
    bool square, has_right_side;
    int result_count; /* of those that `shape` tells */
    /* Extents of the results, from those of the operands. */
    void (*shape)(kiln__solver *s);
    /* One matrix. What it came to: 0, or a number for `why`; its results are NaN then. */
    int64_t (*run)(const kiln__solver *s, int64_t nth, const kiln__solver_work *work);
    const char *why; /* with "%lld" for that number; "": nothing fails */
    /* All matrices on a CUDA device (factor_cuda.c): the results' arrays, in the order of the call's stream. NULL:
     * the host does it. */
    kiln_status (*cuda)(kiln__solver_gpu *g, kiln_error *err);
} kiln__solver_task;

struct kiln__solver {
    const kiln__solver_task *task;
    const kiln_array *a, *b;
    const kiln_array *pivots; /* of lu_solve: int64, as many for each of `a` as it has rows */
    int64_t *host_pivots;     /* the same, checked */
    kiln_linalg_options o;
    kiln_context *ctx;
    kiln_stream *stream;
    kiln_dtype dtype, real;
    int64_t m, n,
        columns; /* a is m x n; b has `columns` columns, and is a vector where that is -1 */
    kiln__product layout; /* the stack, and the sides a and b */
    kiln__solver_result result[KILN__SOLVER_RESULTS];
    kiln_array *cast_a, *cast_b;
    void *host_a, *host_b; /* copies of a CUDA device's arrays */
    int64_t *info; /* what each matrix came to; on a CUDA device NULL until one of them failed */
    bool failed;   /* there: whether that is so */
    bool filled; /* results of those that failed are NaN already */
    atomic_bool no_memory;
};

/* For a task's `shape`: the extents of a result. */
static inline void kiln__solver_shape(kiln__solver *s, int nth, int64_t rows, int64_t columns,
                                      kiln__solver_kind kind)
{
    s->result[nth] = (kiln__solver_result){.rows = rows, .columns = columns, .kind = kind};
}

/* Run `s`, whose task and operands are set, and deliver its results. */
kiln_status kiln__solver_call(kiln__solver *s, const kiln_linalg_options *opts,
                              kiln_array **const *outs, kiln_error *err);

/* What the results of `s` will be, from the dtypes and shapes of its operands, whose elements are not read.
 * ERR_DTYPE, ERR_SHAPE. */
kiln_status kiln__solver_infer(kiln__solver *s, kiln__linalg_value *results, kiln_error *err);

/* What graphs know by name. (solve.c, factor.c) */
extern const kiln__solver_task kiln__solve_task, kiln__triangular_task, kiln__inv_task,
    kiln__det_task, kiln__slogdet_task, kiln__cholesky_task, kiln__qr_task, kiln__eigh_task,
    kiln__eigvalsh_task, kiln__svd_task, kiln__svdvals_task, kiln__lu_factor_task, kiln__ldl_task,
    kiln__lu_solve_task;

/* The nth matrix of a side, `rows` x `columns`, as columns without gaps. */
void kiln__solver_gather(const kiln__solver *s, const kiln__side *side, int64_t nth, int64_t rows,
                         int64_t columns, char *to);

/* Which of `a` the nth of the stack has, where they follow each other. */
static inline int64_t kiln__solver_matrix(const kiln__solver *s, int64_t nth)
{
    int64_t at = 0, each = 1;

    for (int axis = s->layout.stack_rank - 1, own = s->a->rank - 3; axis >= 0; axis--, own--) {
        const int64_t extent = own >= 0 ? s->a->shape[own] : 1;
        at += extent != 1 ? nth % s->layout.stack[axis] * each : 0;
        each *= extent;
        nth /= s->layout.stack[axis];
    }
    return at;
}

/* Columns of `step` elements each as the nth matrix of a result. */
void kiln__solver_scatter(const kiln__solver *s, int result, int64_t nth, int64_t step,
                          const char *from);

/* Make `info`, unless it is there. */
static inline kiln_status kiln__solver_make_info(kiln__solver *s, kiln_error *err)
{
    return s->info != NULL ? KILN_OK
                           : kiln__make_zeroed(&s->info, (size_t)s->layout.count + 1,
                                               sizeof s->info[0], err);
}

/* All of a call but its arguments, on a CUDA device: results, and what each matrix came to. (solver_cuda.c) */
kiln_status kiln__solver_cuda(kiln__solver *s, kiln_error *err);
/* Then: results in C-order, with NaN where a matrix failed. */
kiln_status kiln__solver_cuda_finish(kiln__solver *s, kiln_error *err);

/* What tasks do there. (factor_cuda.c) */
kiln_status kiln__cuda_solve(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_inv(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_det(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_lu(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_lu_solve(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_eig(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_triangular(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_cholesky(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_qr(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_eigh(kiln__solver_gpu *g, kiln_error *err);
kiln_status kiln__cuda_svd(kiln__solver_gpu *g, kiln_error *err);
/* Whether singular values of float32 are to be found in float64. (svd_cuda.c) */
bool kiln__svd_is_widened(const kiln_array *a);

#endif
