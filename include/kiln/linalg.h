/**
 * @file kiln/linalg.h
 * @brief Linear algebra: products of matrices and of arrays of any rank; equations, inverses,
 * factors.
 *
 *     kiln_array *rows = NULL, *bias = NULL, *z = NULL;
 *     kiln_array_transpose(y, NULL, &rows, &err);
 *     kiln_matmul(x, rows, NULL, &z, &err);        // z = x @ y.T, of NumPy's shape and dtype
 *
 *     kiln_matmul_options options = KILN_MATMUL_OPTIONS_INIT;
 *     kiln_array_arange(ctx, KILN_FLOAT32, 0, 4, 1, &bias, &err);
 *     options.bias = bias;                         // one number for each column
 *     options.epilogue = KILN_EPILOGUE_RELU;
 *     kiln_matmul(x, rows, &options, &z, &err);    // z = max(x @ y.T + bias, 0), into the same z
 *     kiln_array_release(z);
 *
 * Most of the work is done by libraries, which are loaded when they are first needed and never
 * linked: cuBLASLt and cuSOLVER on a CUDA device, the system's BLAS and LAPACK on the cpu device.
 * Small matrices, and what the libraries lack, are computed by kernels of kiln's (docs/linalg.md).
 * kiln_linalg_list() lists the libraries that were found.
 *
 * Threads: every function may be called from any thread.
 * Owner:   results are arrays, which whoever receives them releases.
 * Order:   products enqueue on the stream of their options and return, as calls of
 *          kiln/elementwise.h do. Solvers and factorisations wait until it is known whether a
 *          matrix failed, unless `deferred` is set.
 */
#ifndef KILN_LINALG_H
#define KILN_LINALG_H

#include "kiln/array.h"
#include "kiln/stream.h"

/** A function that is applied to each element of a product after `c` and the bias are added. */
typedef enum kiln_epilogue {
    KILN_EPILOGUE_NONE = 0,
    KILN_EPILOGUE_RELU = 1, /**< max(x, 0); NaN stays NaN. */
    KILN_EPILOGUE_GELU = 2  /**< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). */
} kiln_epilogue;

/** The precision in which a CUDA device multiplies float32 and complex64. Sums are always
 *  accumulated in float32. A mode that the library or the GPU does not have is replaced by
 *  KILN_COMPUTE_EXACT. */
typedef enum kiln_compute {
    KILN_COMPUTE_EXACT = 0,    /**< In float32: each product is rounded once. */
    KILN_COMPUTE_TF32 = 1,     /**< Factors are rounded to 11 bits first: faster. */
    KILN_COMPUTE_FLOAT16 = 2,  /**< Factors are rounded to float16 first, and must be within its
                                    range. */
    KILN_COMPUTE_BFLOAT16 = 3, /**< Factors are rounded to bfloat16, of 8 bits, first. */
    KILN_COMPUTE_BF16X9 =
        4 /**< Factors are split into three bfloat16, and all nine products summed: about as
                                    exact as float32. GPUs of compute capability 10.0 and later. */
} kiln_compute;

/** Choices for kiln_matmul(). Zero in a field means its default. */
typedef struct kiln_matmul_options {
    size_t struct_size;     /**< sizeof(kiln_matmul_options) as the caller compiled it. */
    kiln_stream *stream;    /**< NULL: the context's own stream. */
    kiln_dtype dtype;       /**< Dtype of a result that the call allocates; see kiln_matmul(). */
    kiln_compute compute;   /**< Ignored by the cpu device, which always computes exactly. */
    double alpha;           /**< The product is multiplied by this; 0 means 1. */
    double beta;            /**< `c` is multiplied by this; 0 means 1. */
    const kiln_array *c;    /**< Added to the product; broadcasts to its shape. NULL: nothing. */
    const kiln_array *bias; /**< Added to each row: one number for each column of the product, or
                                  one in all. NULL: nothing. */
    kiln_epilogue epilogue; /**< Applied last. */
    bool autotune; /**< On a GPU the first call with new shapes and dtypes measures the library's
                        best algorithms, for which the host waits some milliseconds, and keeps the
                        fastest in the cache folder. The order of summation may differ from that
                        without this option. */
} kiln_matmul_options;

#define KILN_MATMUL_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kiln_matmul_options), NULL, KILN_DTYPE_NONE, KILN_COMPUTE_EXACT, 0, 0, NULL, NULL,  \
            KILN_EPILOGUE_NONE, false                                                              \
    }

/** The norm that kiln_linalg_norm() and kiln_linalg_cond() compute. */
typedef enum kiln_norm {
    KILN_NORM_DEFAULT = 0,   /**< NumPy's `ord=None`: the square root of the sum of squares. */
    KILN_NORM_FROBENIUS = 1, /**< The same, for matrices only. */
    KILN_NORM_NUCLEAR = 2,   /**< The sum of the singular values. */
    KILN_NORM_ORDER = 3      /**< The norm of `order`, which may be INFINITY or -INFINITY. */
} kiln_norm;

/** Choices for solvers and factorisations. Zero in a field means its default. */
typedef struct kiln_linalg_options {
    size_t struct_size;  /**< sizeof(kiln_linalg_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own stream. */
    bool nan_on_failure; /**< A matrix of the stack that is singular or not positive definite gives
                              NaN, and the call succeeds. Off: the call fails with ERR_SINGULAR. */
    bool upper;          /**< cholesky: compute R with a = R^H R from the upper triangle.
                              solve_triangular: `a` is upper triangular. eigh, eigvalsh, ldl: read
                              the upper triangle. */
    bool full;           /**< qr: Q is square, as in NumPy's mode "complete". svd: U and V^H are
                              square, as with NumPy's full_matrices=True. */
    bool deferred; /**< On a CUDA device the call does not wait. A matrix that failed gives NaN, and
                        the next call that waits for the device returns ERR_SINGULAR, naming one
                        such matrix, unless `nan_on_failure` is set. Eigenvalues and singular values
                        that a library computes wait nevertheless. Ignored by the cpu device. */
} kiln_linalg_options;

#define KILN_LINALG_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kiln_linalg_options), NULL, false, false, false, false                              \
    }

/** A library that linear algebra can use; filled by kiln_linalg_list(). */
typedef struct kiln_linalg_info {
    kiln_backend backend; /**< The device that it serves. */
    char role[32];        /**< "BLAS", "LAPACK", "cuBLASLt", "cuBLAS", "cuSOLVER". */
    bool found;
    char library[256]; /**< Path of the library; empty when it was not found. */
    char reason[512];  /**< Why it was not found, or another remark; may be empty. */
} kiln_linalg_info;

KILN_EXTERN_C_BEGIN

/** KILN_MATMUL_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_matmul_options_init(kiln_matmul_options *opts, size_t given);

/**
 * The matrix product of NumPy's `matmul` and of `@`: of the last two axes of `a` and `b`, while the
 * axes before them are stacks, which broadcast. A vector counts as one row (a) or one column (b),
 * and its axis is removed from the result.
 *
 * The dtypes are promoted as by NumPy, and the result has the promoted dtype, with two exceptions:
 * int8 gives int32 and float8 gives float32, in which they are summed. `opts->dtype`, or the dtype
 * of an array given as `*out`, may choose int8 for int8 (sums wrap around), float32 for float16 and
 * bfloat16 (which are always summed in float32), and float16 or bfloat16 for float8. Integers wrap
 * around; for bool the product is "and" and the sum is "or".
 *
 * Operands may have any strides. A transposed operand is not copied if the library accepts its
 * layout; kiln's own product on the cpu device accepts every layout.
 *
 * @param opts  May be NULL. `alpha`, `beta`, `c`, `bias` and `epilogue` require a floating-point or
 *              complex dtype, and `epilogue` a floating-point one (ERR_DTYPE). `c` and `bias` are
 *              cast to the result's dtype.
 * @param out   If `*out` is NULL, it receives a new C-order array. Otherwise the array is written;
 *              it may have any strides and overlap an operand. With `c` set, a failure may leave it
 *              changed.
 * @return ERR_SHAPE for operands whose shapes do not match or that have rank 0 (the message has
 *         both shapes); ERR_DTYPE; ERR_OUTPUT when `*out` has another shape or cannot be written;
 *         ERR_UNSUPPORTED when cuBLASLt is missing on a CUDA device (the message has the names that
 *         were tried).
 */
KILN_API KILN_NODISCARD kiln_status kiln_matmul(const kiln_array *a, const kiln_array *b,
                                                const kiln_matmul_options *opts, kiln_array **out,
                                                kiln_error *err);

/* ---- products of arrays of any rank ------------------------------------------------------ */

/* Each of the functions below consists of views and one or a few calls of kiln_matmul(), whose
 *  rules for dtypes apply, also for int8. Of the options they use `stream`, `dtype`, `compute` and
 *  `alpha`; the others must be unset (ERR_ARGUMENT). If `*out` is NULL, it receives a new array;
 *  otherwise it must have the result's shape and receives the result, cast as by
 *  kiln_array_assign(). They return the statuses of kiln_matmul(), and ERR_AXIS. */

/** NumPy's `dot`: the sum over the last axis of `a` and the last but one (the only one) of `b`; the
 *  axes of the result are the others of `a`, then the others of `b`. With an operand of rank 0: its
 *  product with each element. */
KILN_API KILN_NODISCARD kiln_status kiln_array_dot(const kiln_array *a, const kiln_array *b,
                                                   const kiln_matmul_options *opts,
                                                   kiln_array **out, kiln_error *err);

/** NumPy's `inner`: the sum over the last axes of both. */
KILN_API KILN_NODISCARD kiln_status kiln_array_inner(const kiln_array *a, const kiln_array *b,
                                                     const kiln_matmul_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** NumPy's `outer`: each element of `a` times each of `b`, of shape (size of a, size of b). The
 *  products of outer(), kron() and of dot() with a scalar are not summed: 0 times -0 is -0. */
KILN_API KILN_NODISCARD kiln_status kiln_array_outer(const kiln_array *a, const kiln_array *b,
                                                     const kiln_matmul_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** NumPy's `matvec`: matrices (..., m, n) times vectors (..., n), whose stacks broadcast. */
KILN_API KILN_NODISCARD kiln_status kiln_array_matvec(const kiln_array *a, const kiln_array *x,
                                                      const kiln_matmul_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** NumPy's `vecmat`: the conjugates of vectors (..., m) times matrices (..., m, n). */
KILN_API KILN_NODISCARD kiln_status kiln_array_vecmat(const kiln_array *x, const kiln_array *a,
                                                      const kiln_matmul_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's `tensordot`: the sum over pairs of axes: the k-th of a_axes with the k-th of b_axes. The
 * result has the remaining axes of `a`, then those of `b`.
 *
 * @param a_axes, b_axes The same number of each, none twice (ERR_AXIS), with equal extents
 *                (ERR_SHAPE). Both NULL: the last two of `a` and the first two of `b`, NumPy's
 *                default.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_tensordot(const kiln_array *a, const kiln_array *b,
                                                         const kiln_axes *a_axes,
                                                         const kiln_axes *b_axes,
                                                         const kiln_matmul_options *opts,
                                                         kiln_array **out, kiln_error *err);

/** NumPy's `kron`: the Kronecker product: a block of `b` times a[i, j] for each element of `a`. The
 *  shorter shape gets leading axes of extent 1. */
KILN_API KILN_NODISCARD kiln_status kiln_array_kron(const kiln_array *a, const kiln_array *b,
                                                    const kiln_matmul_options *opts,
                                                    kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.multi_dot`: the product of two or more matrices, in the order with the fewest
 * multiplications. The first and the last may be vectors. ERR_SHAPE, ERR_ARGUMENT for fewer than
 * two.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_multi_dot(const kiln_array *const *arrays,
                                                          size_t count,
                                                          const kiln_matmul_options *opts,
                                                          kiln_array **out, kiln_error *err);

/**
 * NumPy's `einsum`: a product of operands whose axes are named by letters, summed over the letters
 * that the result does not have: "ij,jk->ik" is a matrix product, "ii" a trace, "...ij->...ji" a
 * transpose.
 *
 * Axes with the same letter have equal extents, or extent 1, which broadcasts; "..." stands for
 * further axes, which broadcast. Without "->" the result has the letters that appear once, in
 * alphabetical order. More than two operands are contracted in pairs; the first pair is the one
 * whose result adds the fewest elements (docs/linalg.md). Each contraction of a pair is one
 * kiln_matmul() or one reduction.
 *
 * @param subscripts  Blanks are ignored. ERR_SYNTAX, with a caret.
 * @param arrays      As many as there are terms (ERR_ARGUMENT_COUNT).
 * @return ERR_SHAPE when one letter stands for two different extents.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_einsum(const char *subscripts,
                                                      const kiln_array *const *arrays, size_t count,
                                                      const kiln_matmul_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** The steps that kiln_array_einsum() would take, one line each: the terms that are contracted and
 *  the resulting term. Nothing is computed. @param text_out Free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_array_einsum_path(const char *subscripts,
                                                           const kiln_array *const *arrays,
                                                           size_t count, char **text_out,
                                                           kiln_error *err);

/** NumPy's `linalg.matrix_power`: the nth power of square matrices, by squaring. A negative `n`
 *  gives powers of the inverse, 0 the identity matrix. ERR_SHAPE, and for n < 0 what
 *  kiln_linalg_inv() fails with. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_matrix_power(const kiln_array *a, int64_t n,
                                                             const kiln_matmul_options *opts,
                                                             kiln_array **out, kiln_error *err);

/* ---- equations and factors of square matrices --------------------------------------------- */

/* The functions below take stacks of square matrices (ERR_SHAPE) of float32, float64, complex64 or
 * complex128 (ERR_DTYPE); integers and bool are converted to float64. `opts` may be NULL. If `*out`
 * is NULL, it receives a new array; otherwise it must have the result's shape and receives the
 * result. A call waits until it is known whether a matrix failed; on the cpu device all work is
 * done by then. On a CUDA device kernels of kiln's own do it for small matrices of float32 and
 * float64, cuSOLVER and cuBLAS for others; ERR_UNSUPPORTED when they are needed and missing (the
 * message has the names that were tried).
 *
 * ERR_SINGULAR names the matrix of the stack and the pivot. Matrices with NaN give NaN; for
 * cholesky they are ERR_SINGULAR. */

/** KILN_LINALG_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_linalg_options_init(kiln_linalg_options *opts, size_t given);

/**
 * NumPy's `linalg.solve`: the solution x of a x = b, by an LU factorisation with partial pivoting.
 *
 * @param a    (..., n, n).
 * @param b    A vector (n), or a stack of matrices (..., n, k) whose columns are right-hand sides.
 *             Stacks broadcast (ERR_SHAPE).
 * @param out  Receives x: (..., n) for a vector, otherwise (..., n, k).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_solve(const kiln_array *a, const kiln_array *b,
                                                      const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** The same for a lower triangular `a`, or with the option `upper` an upper triangular one. The
 *  other triangle is not read. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_solve_triangular(const kiln_array *a,
                                                                 const kiln_array *b,
                                                                 const kiln_linalg_options *opts,
                                                                 kiln_array **out, kiln_error *err);

/** NumPy's `linalg.inv`: the inverse. To solve equations, kiln_linalg_solve() is faster and more
 *  accurate than a product with the inverse. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_inv(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **out, kiln_error *err);

/** NumPy's `linalg.det`: one number for each matrix; 0 for a singular one, 1 for an empty one. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_det(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **out, kiln_error *err);

/** NumPy's `linalg.slogdet`: the determinant as sign * exp(log). Of a singular matrix the sign is 0
 *  and the logarithm -infinity. `*log_out` has the real dtype. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_slogdet(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **sign_out, kiln_array **log_out,
                                                        kiln_error *err);

/** NumPy's `linalg.cholesky`: lower triangular L with a = L L^H, from the lower triangle of `a`;
 *  the upper one is not read. ERR_SINGULAR where a matrix is not positive definite. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cholesky(const kiln_array *a,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/* ---- factors of matrices of any shape, eigenvalues, singular values ----------------------- */

/* As the functions above, except that only eigenvalues require square matrices. ERR_SINGULAR when
 *  an iteration does not converge, as with NaN. The signs (complex: phases) of vectors depend on
 *  the library and are not specified. */

/** NumPy's `linalg.qr`: orthonormal columns Q (..., m, k) and upper triangular R (..., k, n) with a
 *  = Q R, k = min(m, n); with the option `full` k = m. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_qr(const kiln_array *a,
                                                   const kiln_linalg_options *opts,
                                                   kiln_array **q_out, kiln_array **r_out,
                                                   kiln_error *err);

/** NumPy's `linalg.eigh`: the real eigenvalues of Hermitian matrices, in ascending order, and the
 *  eigenvectors as columns. The lower triangle is read, or with the option `upper` the upper one.
 *  */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigh(const kiln_array *a,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **values_out,
                                                     kiln_array **vectors_out, kiln_error *err);

/** The eigenvalues alone, as NumPy's `linalg.eigvalsh`: (..., n), ascending. The call takes as long
 *  as kiln_linalg_eigh(), since both use the same routine. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigvalsh(const kiln_array *a,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/** NumPy's `linalg.svd` with full_matrices=False: a = U S V^H, with U (..., m, k), real singular
 *  values (..., k) in descending order, and V^H (..., k, n), k = min(m, n). With the option `full`
 *  U and V^H are square; the additional columns and rows are any that make them unitary. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_svd(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **u_out, kiln_array **s_out,
                                                    kiln_array **vh_out, kiln_error *err);

/** The singular values alone, as NumPy's `linalg.svdvals`: (..., k), real, descending. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_svdvals(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **out, kiln_error *err);

/** NumPy's `linalg.eig`: the eigenvalues of square matrices, in no particular order, and the
 *  eigenvectors as columns of length 1. Both are always complex. A CUDA device computes them with
 *  the cuSOLVER of CUDA 12.6 or later (Xgeev), else the host's LAPACK does; ERR_UNSUPPORTED without
 *  either. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eig(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **values_out,
                                                    kiln_array **vectors_out, kiln_error *err);

/**
 * The eigenvalues alone, as NumPy's `linalg.eigvals`: (..., n), complex, in no particular order.
 * @return As kiln_linalg_eig().
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigvals(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.lu`: a = P L U with a permutation P (..., m, m) of the real dtype, L (..., m, k),
 * whose diagonal is 1, and upper triangular U (..., k, n), k = min(m, n). A singular matrix is not
 * an error.
 *
 * @param p_out  NULL: the rows of L are permuted instead, so that a = L U (SciPy's
 *               `permute_l=True`).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu(const kiln_array *a,
                                                   const kiln_linalg_options *opts,
                                                   kiln_array **p_out, kiln_array **l_out,
                                                   kiln_array **u_out, kiln_error *err);

/**
 * SciPy's `linalg.ldl` of Hermitian matrices, which need not be positive definite: a = L D L^H,
 * where D is Hermitian and block diagonal with 1 x 1 and 2 x 2 blocks. The rows of L are permuted:
 * L[order] is lower triangular with a unit diagonal.
 *
 * The lower triangle of `a` is read, or with the option `upper` the upper one; L is lower
 * triangular in both cases (SciPy's `lower=False` makes it upper). A singular matrix is not an
 * error. The host computes it for CUDA devices as well: cuSOLVER has no such routine for complex
 * Hermitian matrices or for stacks.
 *
 * @param order_out  int64, (..., n).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_ldl(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **l_out, kiln_array **d_out,
                                                    kiln_array **order_out, kiln_error *err);

/* ---- factors for later -------------------------------------------------------------------- */

/**
 * SciPy's `linalg.lu_factor` of matrices of any shape: one matrix with L below the diagonal (its
 * unit diagonal is omitted) and U on and above it, and for each of the first k rows, in order, the
 * index of the row with which it was exchanged. For a singular matrix U has a zero on its diagonal;
 * that is not an error.
 *
 * @param pivots_out  int64, (..., k), k = min(m, n).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu_factor(const kiln_array *a,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **lu_out,
                                                          kiln_array **pivots_out, kiln_error *err);

/**
 * SciPy's `linalg.lu_solve`: the solution x of a x = b from the result of kiln_linalg_lu_factor().
 * Zeros on the diagonal give infinities and NaN.
 *
 * @param lu      The factors, (..., n, n).
 * @param pivots  int64 (ERR_DTYPE), (..., n) with the stack of `lu` (ERR_SHAPE); ERR_ARGUMENT for
 *                numbers that are not row indices.
 * @param b       As in kiln_linalg_solve(); its stack broadcasts with that of `lu`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu_solve(const kiln_array *lu,
                                                         const kiln_array *pivots,
                                                         const kiln_array *b,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.cho_solve`: the solution x of a x = b from the factor that kiln_linalg_cholesky()
 * gave.
 *
 * @param c     The factor; its other triangle is not read.
 * @param b     As in kiln_linalg_solve().
 * @param opts  `upper` as when the factor was made.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cho_solve(const kiln_array *c, const kiln_array *b,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **out, kiln_error *err);

/* ---- made of factors ---------------------------------------------------------------------- */

/** NumPy's `linalg.pinv`: the pseudo-inverse, by singular values. @param rcond Singular values
 *  below this fraction of the largest one count as 0; negative: 1e-15, NumPy's default. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_pinv(const kiln_array *a, double rcond,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** The solution of NumPy's `linalg.lstsq`, for stacks: the shortest x that minimises |a x - b|; `b`
 *  as in kiln_linalg_solve(). @param rcond As above; negative: the dtype's epsilon times max(m, n).
 *  */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lstsq(const kiln_array *a, const kiln_array *b,
                                                      double rcond, const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.norm`. Integers and bool count as float64; the result is real.
 *
 * @param kind      KILN_NORM_ORDER: `order` is the p of the p-norm of vectors (0: the number of
 *                  nonzero elements), or for matrices 1, 2, INFINITY or their negatives
 *                  (ERR_ARGUMENT). Otherwise `order` is ignored.
 * @param axes      One axis: norms of vectors. Two axes: of matrices. NULL: with KILN_NORM_DEFAULT
 *                  all elements are one vector; otherwise the array must have one or two axes
 *                  (ERR_AXIS).
 * @param keepdims  Whether these axes are kept with extent 1.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_norm(const kiln_array *a, kiln_norm kind,
                                                     double order, const kiln_axes *axes,
                                                     bool keepdims, const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.cond`: the condition number: the norm of a matrix times that of its inverse;
 * infinity for singular ones.
 *
 * @param a     With KILN_NORM_DEFAULT and the orders 2 and -2, which are quotients of singular
 *              values, any matrices; otherwise square ones (ERR_SHAPE).
 * @param kind  As in kiln_linalg_norm(), for matrices.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cond(const kiln_array *a, kiln_norm kind,
                                                     double order, const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** NumPy's `linalg.matrix_rank`: the int64 number of singular values greater than `rtol` times the
 *  largest. @param rtol Negative: the dtype's epsilon times max(m, n). */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_matrix_rank(const kiln_array *a, double rtol,
                                                            const kiln_linalg_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.trace`: the sum of the diagonals of matrices, one number for each matrix of the
 * stack.
 *
 * @param a  (..., m, n) of any dtype, which is summed as kiln_array_reduce() sums it. ERR_SHAPE for
 *           fewer than two axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_trace(const kiln_array *a,
                                                      const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.tensorsolve`: the x with tensordot(a, x) = b; the leading axes of `a` are those
 * of `b`, the remaining ones those of x.
 *
 * @param a     The leading axes must have as many elements as the remaining ones (ERR_SHAPE).
 * @param axes  Axes of `a` that are first moved to its end, or NULL. ERR_AXIS.
 * @param out   Receives x, which has the shape of the remaining axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_tensorsolve(const kiln_array *a,
                                                            const kiln_array *b,
                                                            const kiln_axes *axes,
                                                            const kiln_linalg_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.tensorinv`: the inverse of `a` as a linear map from its last axes to its first
 * `split` ones.
 *
 * @param split  At least 1 (ERR_ARGUMENT). The first `split` axes have as many elements as the
 *               others (ERR_SHAPE).
 * @param out    Receives the inverse, whose first axes are the last ones of `a`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_tensorinv(const kiln_array *a, int split,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.expm`: the exponentials of square matrices (ERR_SHAPE), by scaling and squaring
 * with a Pade approximant of order 13.
 *
 * All matrices of a stack are scaled alike, as the largest norm needs it; the host waits for that
 * norm. Integers and bool count as float64.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_expm(const kiln_array *a,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/**
 * List the libraries that linear algebra uses, found or not. The call loads those of the cpu
 * device.
 *
 * @param infos     Room for `capacity` entries; may be NULL when capacity is 0.
 * @param count_out Receives how many there are, which may exceed `capacity`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_list(kiln_linalg_info *infos, size_t capacity,
                                                     size_t *count_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
