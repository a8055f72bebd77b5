/*
 * linalg.h - the one door of src/linalg: products of matrices, by libraries or by kiln itself.
 *
 *     matmul.c        the public function: dtypes, shapes, the output
 *     product.c       from arrays to a kiln__product: stacks, strides
 *     product_cuda.c  a product by cuBLASLt
 *     product_tune.c  the fastest of its algorithms, measured
 *     gpu_library.c   cuBLASLt, cuBLAS, cuSOLVER: found, loaded
 *     product_kernel.c  by kernels of kiln's, and what follows a product elementwise, on a CUDA device
 *     product_cpu.c   a product on the cpu device: which way
 *     product_blas.c  by a BLAS
 *     product_own.c   by kiln's own blocked product, for all dtypes and strides
 *     tile.c          its inner loop
 *     tensor.c        products of arrays of any rank; chain.c: of more than two matrices
 *     einsum.c        sums of products by the names of axes
 *     infer.c         both by their names, for graphs
 *     solve.c         equations, inverses, determinants; factor.c: QR, eigenvalues, singular values
 *     solver.c        what they have in common: a call on a stack of matrices
 *     named.c         functions by their names, for graphs
 *     solver_cuda.c   the stack by cuSOLVER and cuBLAS
 *     dense.c         the same of one matrix: by a LAPACK, or by kiln's own loops (dense_type.h)
 *     finish.c        what follows a product elementwise
 *     threads.c       the device's threads
 *     host.c          the BLAS of the system: found, loaded, its threads
 *
 * Nothing is linked: libraries are loaded when they are first needed.
 *
 * Uses core, ops, device, context, array, kernel.
 */
#ifndef KILN_LINALG_LINALG_H
#define KILN_LINALG_LINALG_H

#include "kernel/kernel.h"
#include "kiln/linalg.h"

/* ---- one product, whatever computes it ------------------------------------------------------- */

/* A stack of matrices in memory. Strides count bytes and may have any sign. */
typedef struct kiln__side {
    char *data; /* of the first element of the first matrix */
    int64_t row, column;
    int64_t step[KILN_RANK_MAX]; /* along the axes of the stack; 0 where it is broadcast */
} kiln__side;

/* y = epilogue(alpha * a @ b + beta * c + bias), for each matrix of the stack. `y` overlaps nothing. */
typedef struct kiln__product {
    kiln_dtype in, out; /* of a and b; of y and the bias */
    kiln_dtype b_in; /* of b where cuBLASLt multiplies two kinds of float8; else KILN_DTYPE_NONE */
    int64_t m, n, k;   /* a is m x k, b is k x n, y is m x n */
    int64_t count;     /* how many matrices, never 0 */
    const char *bias;  /* NULL: none */
    int64_t bias_step; /* bytes from one column's to the next */
    double alpha, beta;
    kiln_epilogue epilogue;
    kiln_compute compute;
    bool autotune; /* measure algorithms instead of asking which is best */
    int stack_rank;
    /* Of these, and of the steps of a side, only the first `stack_rank` are set. */
    int64_t stack[KILN_RANK_MAX];
    kiln__side a, b, y;
    kiln__side c; /* its data NULL: c is what y holds before. Others only where cuBLASLt computes */
} kiln__product;

static inline int64_t kiln__round_up(int64_t count, int64_t block)
{
    return kiln__blocks(count, block) * block;
}

/* Whether products of `in` can be given as `out`. (matmul.c) */
bool kiln__product_fits(kiln_dtype in, kiln_dtype out);

/* Whether anything but the bare product is asked for. */
static inline bool kiln__product_finishes(const kiln__product *p)
{
    return p->bias != NULL || p->epilogue != KILN_EPILOGUE_NONE;
}

/* The nth matrix of a side. */
static inline char *kiln__side_matrix(const kiln__product *p, const kiln__side *side, int64_t nth)
{
    char *at = side->data;
    for (int axis = p->stack_rank - 1; axis >= 0; axis--) {
        at += nth % p->stack[axis] * side->step[axis];
        nth /= p->stack[axis];
    }
    return at;
}

/* alpha or beta as a library reads it, of a floating-point or complex dtype, or of int32. */
static inline void kiln__put_number(kiln_dtype dtype, double value, double out[2])
{
    const float narrow[2] = {(float)value, 0};
    const int32_t whole = (int32_t)value;

    out[0] = value;
    out[1] = 0;
    if (dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64)
        memcpy(out, narrow, sizeof narrow);
    if (dtype == KILN_INT32)
        memcpy(out, &whole, sizeof whole);
}

/* A matrix as a BLAS sees it: columns without gaps, `step` elements apart, or the transpose of such. */
typedef struct kiln__view {
    bool fits, transposed;
    int64_t step;
} kiln__view;

/* A side's matrices of `rows` x `columns`. A stride along an axis of one element does not matter.
 * (product.c) */
kiln__view kiln__view_of(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize);
/* The same where it is known whether they lie transposed, which matters for those of one row or column. */
kiln__view kiln__view_as(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize,
                         bool transposed);

/* Shapes of a product by NumPy's rules, and of its result: `shape` has room for KILN_RANK_MAX. Fills
 * m, n, k and the stack of `p`. ERR_SHAPE. (product.c) */
kiln_status kiln__product_shape(const kiln_array *a, const kiln_array *b, kiln__product *p,
                                int *rank_out, int64_t *shape, kiln_error *err);

/* The dtype of a product of `in` where nothing else is asked for. (matmul.c) */
kiln_dtype kiln__product_dtype(kiln_dtype in);

/* What kiln_matmul() without options gives for operands of which only dtypes and shapes are looked at.
 * ERR_SHAPE. (matmul.c) */
kiln_status kiln__matmul_infer(const kiln_array *a, const kiln_array *b, kiln_dtype *dtype_out,
                               int *rank_out, int64_t *shape, kiln_error *err);

/* Fill the sides of `p` from arrays of those shapes, and make axes of the stack one where memory allows:
 * `m`, `n`, `stack` change. `c` may be NULL: what y holds. (product.c) */
void kiln__product_bind(kiln__product *p, const kiln_array *a, const kiln_array *b,
                        const kiln_array *c, const kiln_array *y);
/* Whether the matrices of `c`, which has y's shape, lie as those of `y`. (product.c) */
bool kiln__product_reads(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                         const kiln_array *c, const kiln_array *y);

/* The addresses of a product that stands at `offset` of what is recorded. (product.c) */
void kiln__product_describe(size_t offset, kiln__step_note *note);

/* ---- on a CUDA device ------------------------------------------------------------------------ */

/* Enqueue it; the sides have layouts that fit (kiln__view_of). What follows the product elementwise is
 * still to be done where `*finished_out` is false. ERR_UNSUPPORTED without cuBLASLt. (product_cuda.c) */
kiln_status kiln__product_cuda(kiln_context *ctx, const kiln__product *p, kiln_stream *stream,
                               bool *finished_out, kiln_error *err);
/* Whether cuBLASLt multiplies that dtype. */
bool kiln__cublaslt_takes(kiln_dtype dtype);
/* The libraries of a GPU. (gpu_library.c) */
typedef enum kiln__gpu_library {
    KILN__GPU_CUBLASLT,
    KILN__GPU_CUBLAS,
    KILN__GPU_CUSOLVER,
    KILN__GPU_LIBRARIES
} kiln__gpu_library;
void kiln__gpu_library_describe(kiln__gpu_library which, kiln_linalg_info *info);

/* The same by kernels of kiln's: sums of products, for dtypes that the library lacks; no epilogue, and
 * p->in is p->out. (product_kernel.c) */
kiln_status kiln__product_kernel(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                                 kiln_array *y, kiln_stream *stream, kiln_error *err);
/* What follows a product elementwise, by one kernel. (product_kernel.c) */
kiln_status kiln__finish_kernel(const kiln__product *p, kiln_array *y, const kiln_array *bias,
                                kiln_stream *stream, kiln_error *err);

/* ---- on the cpu device ----------------------------------------------------------------------- */

/* Compute it now, or at each run of what is recorded. ERR_NO_MEMORY. (product_cpu.c) */
kiln_status kiln__product_cpu(kiln__device *device, const kiln__product *p, kiln_stream *stream,
                              kiln_error *err);
/* By kiln's own loops, whatever libraries there are. (product_own.c) */
kiln_status kiln__product_own(kiln__device *device, const kiln__product *p, kiln_error *err);
/* By a BLAS; ERR_UNSUPPORTED, and nothing has happened, where it cannot. (product_blas.c) */
kiln_status kiln__product_blas(kiln__device *device, const kiln__product *p, kiln_error *err);

/* Add the bias to row `row` of matrix `y` and apply the epilogue. (finish.c) */
void kiln__finish_row(const kiln__product *p, char *y, int64_t row);

/* Call `entry` with pieces of [0, units) on the device's threads. (threads.c) */
kiln_status kiln__on_threads(kiln__device *device, kiln__cpu_entry entry, const void *args,
                             size_t args_bytes, int64_t units, kiln_error *err);

/* ---- the inner loop of kiln's own product (tile.c) ------------------------------------------- */

/* What the elements of packed operands are. 16-bit floats are packed as float, complex numbers as two
 * rows and columns of their parts, integers as unsigned ones that wrap around. */
typedef enum kiln__tile_kind {
    KILN__TILE_FLOAT,
    KILN__TILE_DOUBLE,
    KILN__TILE_UINT32,
    KILN__TILE_UINT64,
    KILN__TILE_KINDS
} kiln__tile_kind;

/* sum[rows][columns] += a[rows][k] * b[k][columns]: `a` holds `rows` elements for each of k steps,
 * `b` holds `columns`; rows of `sum` are `step` elements apart. */
typedef struct kiln__tile {
    int rows, columns;
    size_t item_bytes;
    void (*run)(int64_t k, const void *a, const void *b, void *sum, int64_t step);
} kiln__tile;

/* The one for this machine's processor. */
const kiln__tile *kiln__tile_of(kiln__tile_kind kind);

/* ---- functions by name, for graphs (named.c) ------------------------------------------------- */

/* X(name, operands, results): kiln_linalg_NAME() without options of its own. */
#define KILN__LINALG_FUNCTIONS(X)                                                                  \
    X(solve, 2, 1)                                                                                 \
    X(solve_triangular, 2, 1)                                                                      \
    X(cho_solve, 2, 1)                                                                             \
    X(lstsq, 2, 1)                                                                                 \
    X(inv, 1, 1)                                                                                   \
    X(pinv, 1, 1)                                                                                  \
    X(det, 1, 1)                                                                                   \
    X(slogdet, 1, 2)                                                                               \
    X(cholesky, 1, 1)                                                                              \
    X(qr, 1, 2)                                                                                    \
    X(lu, 1, 3)                                                                                    \
    X(lu_factor, 1, 2)                                                                             \
    X(lu_solve, 3, 1)                                                                              \
    X(ldl, 1, 3)                                                                                   \
    X(svd, 1, 3)                                                                                   \
    X(svdvals, 1, 1)                                                                               \
    X(eigh, 1, 2)                                                                                  \
    X(eigvalsh, 1, 1)                                                                              \
    X(eig, 1, 2)                                                                                   \
    X(eigvals, 1, 1)                                                                               \
    X(expm, 1, 1)                                                                                  \
    X(matrix_rank, 1, 1)

typedef enum kiln__linalg_function {
#define KILN__LINALG_VALUE(name, operands, results) KILN__LINALG_##name,
    KILN__LINALG_FUNCTIONS(KILN__LINALG_VALUE)
#undef KILN__LINALG_VALUE
        KILN__LINALG_COUNT
} kiln__linalg_function;

/* What an array will be. */
typedef struct kiln__linalg_value {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
} kiln__linalg_value;

/* The results of a function; of the operands only dtypes and shapes are read. ERR_DTYPE, ERR_SHAPE. */
kiln_status kiln__linalg_infer(kiln__linalg_function function, const kiln_array *const *operands,
                               kiln__linalg_value *results, kiln_error *err);
/* Call it; `outs` as those of the public function. */
kiln_status kiln__linalg_run(kiln__linalg_function function, const kiln_array *const *operands,
                             kiln_stream *stream, kiln_array **outs, kiln_error *err);

/* norm() and cond() as operations of graphs. `data`: a kiln_norm, the bits of its order, two axes (INT64_MIN: not given),
 * whether they stay. (norm.c) */
enum { KILN__NORM_DATA = 5 };
kiln_status kiln__norm_infer(bool cond, const kiln_array *x, const int64_t *data,
                             kiln__linalg_value *out, kiln_error *err);
kiln_status kiln__norm_run(bool cond, const kiln_array *x, const int64_t *data, kiln_stream *stream,
                           kiln_array **out, kiln_error *err);

/* X(name, operands, data): products of arrays of any rank; operands 0: any number; data: what else there is. */
#define KILN__TENSOR_FUNCTIONS(X)                                                                  \
    X(dot, 2, NONE)                                                                                \
    X(inner, 2, NONE)                                                                              \
    X(outer, 2, NONE)                                                                              \
    X(kron, 2, NONE)                                                                               \
    X(matvec, 2, NONE)                                                                             \
    X(vecmat, 2, NONE)                                                                             \
    X(tensordot, 2, NUMBER)                                                                        \
    X(matrix_power, 1, NUMBER)                                                                     \
    X(multi_dot, 0, LIST)                                                                          \
    X(einsum, 0, TEXT)

typedef enum kiln__tensor_function {
#define KILN__TENSOR_VALUE(name, operands, data) KILN__TENSOR_##name,
    KILN__TENSOR_FUNCTIONS(KILN__TENSOR_VALUE)
#undef KILN__TENSOR_VALUE
        KILN__TENSOR_COUNT
} kiln__tensor_function;

/* As above. `data`: of tensordot how many axes are summed, of matrix_power the exponent, of einsum the text
 * with its end. (infer.c) */
kiln_status kiln__tensor_infer(kiln__tensor_function function, const kiln_array *const *operands,
                               size_t count, const int64_t *data, kiln__linalg_value *out,
                               kiln_error *err);
kiln_status kiln__tensor_run(kiln__tensor_function function, const kiln_array *const *operands,
                             size_t count, const int64_t *data, kiln_stream *stream,
                             kiln_array **out, kiln_error *err);

/* ---- the host's libraries (host.c) ----------------------------------------------------------- */

/* Which of a routine's four symbols serves a dtype. */
enum { KILN__BLAS_DTYPES = 4 };
/* -1 for dtypes that a BLAS lacks. */
int kiln__blas_dtype(kiln_dtype dtype);

typedef struct kiln__blas {
#define KILN_BLAS(field, s, d, c, z, parameters) void(*field[KILN__BLAS_DTYPES]) parameters;
#include "linalg/blas.def"
#undef KILN_BLAS
} kiln__blas;

typedef struct kiln__lapack {
#define KILN_LAPACK(field, s, d, c, z, parameters) void(*field[KILN__BLAS_DTYPES]) parameters;
#include "linalg/lapack.def"
#undef KILN_LAPACK
} kiln__lapack;

/* The LAPACK, or NULL. */
const kiln__lapack *kiln__lapack_get(void);
void kiln__lapack_describe(kiln_linalg_info *info);

/* The BLAS, set to that many threads; NULL when there is none, or only one that is slower than kiln. */
const kiln__blas *kiln__blas_get(int threads);
void kiln__blas_describe(kiln_linalg_info *info);

#endif
