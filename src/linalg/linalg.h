/*
 * linalg.h - the header through which other folders use src/linalg: linear algebra by libraries or
 * by kiln itself.
 *
 *     matmul.c        the public function: dtypes, shapes, the output
 *     product.c       from arrays to a kiln__product: stacks, strides
 *     product_cuda.c  a product by cuBLASLt
 *     product_tune.c  the fastest of its algorithms, measured
 *     gpu_library.c   finds and loads cuBLASLt, cuBLAS and cuSOLVER
 *     product_kernel.c  a product, and epilogues, by kernels of kiln's own on a CUDA device
 *     product_cpu.c   a product on the cpu device: chooses one of the two that follow
 *     product_blas.c  a product by a BLAS
 *     product_own.c   a product by kiln's own blocked loops, for all dtypes and strides
 *     tile.c          their inner loop
 *     tensor.c        products of arrays of any rank; chain.c: of more than two matrices
 *     einsum.c        sums of products by the names of axes
 *     infer.c         tensor.c and einsum.c by the names of their functions, for graphs
 *     solve.c         equations, inverses, determinants; factor.c: QR, eigenvalues, singular values
 *     solver.c        what these have in common: a call on a stack of matrices
 *     named.c         these functions by their names, for graphs
 *     solver_cuda.c   a stack by cuSOLVER and cuBLAS
 *     dense.c         one matrix on the cpu: by a LAPACK, or by kiln's own loops (dense_type.h)
 *     finish.c        epilogues on the cpu device
 *     threads.c       runs a function on the cpu device's threads
 *     host.c          finds and loads the system's BLAS and LAPACK
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
    char *data; /* the first element of the first matrix */
    int64_t row, column;
    int64_t step[KILN_RANK_MAX]; /* along the axes of the stack; 0 where it is broadcast */
} kiln__side;

/* y = epilogue(alpha * a @ b + beta * c + bias), for each matrix of the stack. `y` does not overlap
 * the operands. */
typedef struct kiln__product {
    kiln_dtype in, out; /* dtype of a and b; of y and the bias */
    kiln_dtype b_in; /* dtype of b where it is another float8 than a's; else KILN_DTYPE_NONE */
    int64_t m, n, k;   /* a is m x k, b is k x n, y is m x n */
    int64_t count;     /* the number of matrices, not 0 */
    const char *bias;  /* an element for each column; NULL: none */
    int64_t bias_step; /* bytes from element to element */
    double alpha, beta;
    kiln_epilogue epilogue;
    kiln_compute compute;
    bool autotune; /* measure the library's algorithms instead of using the one that it proposes */
    int stack_rank;
    /* Only the first `stack_rank` items are set, also of the steps of sides. */
    int64_t stack[KILN_RANK_MAX];
    kiln__side a, b, y;
    kiln__side c; /* data NULL: c is y. Only cuBLASLt takes another c. */
} kiln__product;

static inline int64_t kiln__round_up(int64_t count, int64_t block)
{
    return kiln__blocks(count, block) * block;
}

/* Whether products of `in` can be stored as `out`. (matmul.c) */
bool kiln__product_fits(kiln_dtype in, kiln_dtype out);

/* Whether a product has a bias or an epilogue. */
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

/* Write alpha or beta as a library reads it: as `dtype`, which is floating-point, complex or int32. */
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

/* A matrix as a BLAS describes it: contiguous columns, or (`transposed`) contiguous rows, which are
 * `step` elements apart. `fits`: the matrix can be described so. */
typedef struct kiln__view {
    bool fits, transposed;
    int64_t step;
} kiln__view;

/* Describe a side's matrices of `rows` x `columns`. (product.c) */
kiln__view kiln__view_of(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize);
/* The same with `transposed` given; matrices of one row or column can be described either way. */
kiln__view kiln__view_as(int64_t rows, int64_t columns, const kiln__side *side, size_t itemsize,
                         bool transposed);

/* Find the shapes of a product by NumPy's rules: fill in m, n, k and the stack of `p`, and give the
 * shape of the result (up to KILN_RANK_MAX axes). ERR_SHAPE. (product.c) */
kiln_status kiln__product_shape(const kiln_array *a, const kiln_array *b, kiln__product *p,
                                int *rank_out, int64_t *shape, kiln_error *err);

/* The default dtype of a product of `in`. (matmul.c) */
kiln_dtype kiln__product_dtype(kiln_dtype in);

/* Give dtype and shape of the result of kiln_matmul() without options. Only dtypes and shapes of
 * the operands are read. ERR_SHAPE. (matmul.c) */
kiln_status kiln__matmul_infer(const kiln_array *a, const kiln_array *b, kiln_dtype *dtype_out,
                               int *rank_out, int64_t *shape, kiln_error *err);

/* Fill in the sides of `p` from arrays of these shapes, and merge axes of the stack where strides
 * allow it, which may change m, n and the stack. `c` NULL: y. (product.c) */
void kiln__product_bind(kiln__product *p, const kiln_array *a, const kiln_array *b,
                        const kiln_array *c, const kiln_array *y);
/* Whether `c`, which has y's shape, can be read where it is: its matrices lie in memory as those of
 * y. (product.c) */
bool kiln__product_reads(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                         const kiln_array *c, const kiln_array *y);

/* Describe the addresses in a kiln__product at byte `offset` of a recorded call's arguments.
 * (product.c) */
void kiln__product_describe(size_t offset, kiln__step_note *note);

/* ---- on a CUDA device ------------------------------------------------------------------------ */

/* Enqueue a product by cuBLASLt. The sides must have views that fit (kiln__view_of). If
 * *finished_out is false, bias and epilogue are still to be done. ERR_UNSUPPORTED without cuBLASLt.
 * (product_cuda.c) */
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

/* Enqueue a product by kernels of kiln's own, for dtypes that the library lacks. The caller does
 * bias and epilogue, and p->in must be p->out. (product_kernel.c) */
kiln_status kiln__product_kernel(const kiln__product *p, const kiln_array *a, const kiln_array *b,
                                 kiln_array *y, kiln_stream *stream, kiln_error *err);
/* Enqueue a kernel that adds the bias and applies the epilogue. (product_kernel.c) */
kiln_status kiln__finish_kernel(const kiln__product *p, kiln_array *y, const kiln_array *bias,
                                kiln_stream *stream, kiln_error *err);

/* ---- on the cpu device ----------------------------------------------------------------------- */

/* Compute a product before returning, or record it. ERR_NO_MEMORY. (product_cpu.c) */
kiln_status kiln__product_cpu(kiln__device *device, const kiln__product *p, kiln_stream *stream,
                              kiln_error *err);
/* Compute it by kiln's own loops. (product_own.c) */
kiln_status kiln__product_own(kiln__device *device, const kiln__product *p, kiln_error *err);
/* Compute it by a BLAS. ERR_UNSUPPORTED, with y unchanged, for what no BLAS can do.
 * (product_blas.c) */
kiln_status kiln__product_blas(kiln__device *device, const kiln__product *p, kiln_error *err);

/* Add the bias to row `row` of matrix `y` and apply the epilogue. (finish.c) */
void kiln__finish_row(const kiln__product *p, char *y, int64_t row);

/* Call `entry` with parts of [0, units) on the device's threads, and wait for all. (threads.c) */
kiln_status kiln__on_threads(kiln__device *device, kiln__cpu_entry entry, const void *args,
                             size_t args_bytes, int64_t units, kiln_error *err);

/* ---- the inner loop of kiln's own product (tile.c) ------------------------------------------- */

/* The type of packed elements. 16-bit floats are packed as float, complex numbers as two rows or
 * columns of their parts, integers as unsigned ones, which wrap around. */
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

/* The fastest one for this machine's processor. */
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

/* Dtype and shape of a result. */
typedef struct kiln__linalg_value {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
} kiln__linalg_value;

/* Describe the results of a function. Only dtypes and shapes of the operands are read. ERR_DTYPE,
 * ERR_SHAPE. */
kiln_status kiln__linalg_infer(kiln__linalg_function function, const kiln_array *const *operands,
                               kiln__linalg_value *results, kiln_error *err);
/* Call it; `outs` are as in the public function. */
kiln_status kiln__linalg_run(kiln__linalg_function function, const kiln_array *const *operands,
                             kiln_stream *stream, kiln_array **outs, kiln_error *err);

/* The same for norm() and cond(). `data` is: a kiln_norm, the bits of its order, two axes
 * (INT64_MIN: not given), keepdims. (norm.c) */
enum { KILN__NORM_DATA = 5 };
kiln_status kiln__norm_infer(bool cond, const kiln_array *x, const int64_t *data,
                             kiln__linalg_value *out, kiln_error *err);
kiln_status kiln__norm_run(bool cond, const kiln_array *x, const int64_t *data, kiln_stream *stream,
                           kiln_array **out, kiln_error *err);

/* X(name, operands, data): products of arrays of any rank. Operands 0: any number; data: what
 * `data` is, as in kiln__opaque_data. */
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

/* The same for these. `data` is, of tensordot: how many axes are summed; of matrix_power: the
 * exponent; of einsum: the NUL-terminated text. (infer.c) */
kiln_status kiln__tensor_infer(kiln__tensor_function function, const kiln_array *const *operands,
                               size_t count, const int64_t *data, kiln__linalg_value *out,
                               kiln_error *err);
kiln_status kiln__tensor_run(kiln__tensor_function function, const kiln_array *const *operands,
                             size_t count, const int64_t *data, kiln_stream *stream,
                             kiln_array **out, kiln_error *err);

/* ---- the host's libraries (host.c) ----------------------------------------------------------- */

/* Each routine has four symbols. This is the number of the one for a dtype, -1 for dtypes that a
 * BLAS lacks. */
enum { KILN__BLAS_DTYPES = 4 };
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

/* The system's LAPACK, or NULL. */
const kiln__lapack *kiln__lapack_get(void);
void kiln__lapack_describe(kiln_linalg_info *info);

/* The system's BLAS, after setting it to that many threads; NULL when there is none, or only one
 * that is slower than kiln's own loops. */
const kiln__blas *kiln__blas_get(int threads);
void kiln__blas_describe(kiln_linalg_info *info);

#endif
