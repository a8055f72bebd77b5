/**
 * @file kiln/linalg.h
 * @brief Linear algebra: products of matrices and of arrays of any rank; equations, inverses, factors.
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
 * Most of the work is done by libraries, which are loaded when they are first needed and never linked:
 * cuBLASLt and cuSOLVER on a CUDA device, a BLAS and a LAPACK of the system on the cpu device. kiln computes
 * small matrices itself, and what the libraries lack (docs/linalg.md). kiln_linalg_list() says what was
 * found.
 *
 * Threads: every function may be called from any thread.
 * Owner:   results are arrays, which whoever receives them releases.
 * Order:   products enqueue on the stream of their options and return, as calls of kiln/elementwise.h do.
 *          Equations and factors wait until it is known whether a matrix failed, unless `deferred` is set.
 */
#ifndef KILN_LINALG_H
#define KILN_LINALG_H

#include "kiln/array.h"
#include "kiln/stream.h"

/** What becomes of each element of a product, once c and the bias are added. */
typedef enum kiln_epilogue {
    KILN_EPILOGUE_NONE = 0,
    KILN_EPILOGUE_RELU = 1, /**< max(x, 0); NaN stays NaN. */
    KILN_EPILOGUE_GELU = 2  /**< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). */
} kiln_epilogue;

/** In what precision a CUDA device multiplies float32 and complex64. Sums are always float32. A mode that the
 *  library or the GPU lacks counts as KILN_COMPUTE_EXACT. */
typedef enum kiln_compute {
    KILN_COMPUTE_EXACT = 0,    /**< In float32: each product is rounded once. */
    KILN_COMPUTE_TF32 = 1,     /**< Factors are rounded to 11 bits first: faster. */
    KILN_COMPUTE_FLOAT16 = 2,  /**< Factors are rounded to float16 first, and its range must do. */
    KILN_COMPUTE_BFLOAT16 = 3, /**< Factors are rounded to bfloat16, of 8 bits, first. */
    KILN_COMPUTE_BF16X9 =
        4 /**< Factors are split into three bfloat16, and all nine products summed: about as
                                    exact as float32. GPUs of compute capability 10.0 and later. */
} kiln_compute;

/** Choices for kiln_matmul(). Zero in a field means its default. */
typedef struct kiln_matmul_options {
    size_t struct_size;     /**< sizeof(kiln_matmul_options) as the caller compiled it. */
    kiln_stream *stream;    /**< NULL: the context's own stream. */
    kiln_dtype dtype;       /**< Of a result still to be allocated; see kiln_matmul(). */
    kiln_compute compute;   /**< The cpu device computes exactly whatever is set. */
    double alpha;           /**< The product is multiplied by this; 0 means 1. */
    double beta;            /**< `c` is multiplied by this; 0 means 1. */
    const kiln_array *c;    /**< Added to the product; broadcasts to its shape. NULL: nothing. */
    const kiln_array *bias; /**< Added to each row: one number for each column of the product, or
                                  one in all. NULL: nothing. */
    kiln_epilogue epilogue; /**< Comes last. */
    bool autotune; /**< On a GPU the first call of a problem measures the best few algorithms of
                                  the library, which makes the host wait for some milliseconds, and keeps
                                  the fastest in the cache folder. Another run may then sum in another
                                  order than one without. */
} kiln_matmul_options;

#define KILN_MATMUL_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(kiln_matmul_options), NULL, KILN_DTYPE_NONE, KILN_COMPUTE_EXACT, 0, 0, NULL, NULL,  \
            KILN_EPILOGUE_NONE, false                                                              \
    }

/** Which norm kiln_linalg_norm() and kiln_linalg_cond() mean. */
typedef enum kiln_norm {
    KILN_NORM_DEFAULT = 0,   /**< NumPy's `ord=None`: the square root of the sum of squares. */
    KILN_NORM_FROBENIUS = 1, /**< The same, of matrices only. */
    KILN_NORM_NUCLEAR = 2,   /**< The sum of the singular values. */
    KILN_NORM_ORDER = 3      /**< That of the number `order`, INFINITY and -INFINITY included. */
} kiln_norm;

/** Choices for solvers and factorisations. Zero in a field means its default. */
typedef struct kiln_linalg_options {
    size_t struct_size;  /**< sizeof(kiln_linalg_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own stream. */
    bool nan_on_failure; /**< What is singular or not positive definite gives NaN for that matrix of
                              the stack, instead of ERR_SINGULAR for all. */
    bool upper;          /**< Cholesky: factors R with a = R^H R, from the upper triangle.
                              solve_triangular: `a` is upper triangular. eigh, eigvalsh: the
                              upper triangle is read, as by ldl. */
    bool full;           /**< qr: Q is square, as in NumPy's mode "complete". svd: U and V^H are
                              square, as with NumPy's full_matrices=True. */
    bool deferred; /**< On a CUDA device the call does not wait: a matrix that failed gives NaN,
                              and the next call that waits for the device returns ERR_SINGULAR (of
                              several such matrices one is named), or nothing does where
                              `nan_on_failure` is set. Eigenvalues and singular values by a library
                              wait nevertheless. The cpu device has no use for it. */
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
    char library[256]; /**< Where it was found; empty when it was not. */
    char reason[512];  /**< Why there is none, or what else there is to say; may be empty. */
} kiln_linalg_info;

KILN_EXTERN_C_BEGIN

/** KILN_MATMUL_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_matmul_options_init(kiln_matmul_options *opts, size_t given);

/**
 * The matrix product of NumPy's `matmul` and of `@`: of the last two axes of `a` and `b`, while the
 * axes before them are stacks, which broadcast. An operand with one axis counts as one row (a) or as one
 * column (b), which the result then lacks.
 *
 * The dtypes are promoted as NumPy does, and the result has the promoted one, with two exceptions:
 * int8 gives int32 and a float8 gives float32, in which the products are summed. `opts->dtype`, or the dtype of an array given as
 * `*out`, may ask for int8 instead (sums wrap), for float32 of float16 and bfloat16, which are always
 * summed in float32, and for float16 and bfloat16 of float8. Integers wrap around; a product of bool is "or" of "and".
 *
 * Operands may have any strides: transposed ones are never copied where the library takes their layout,
 * and kiln's own product on the cpu device takes every layout.
 *
 * @param opts  May be NULL. `alpha`, `beta`, `c`, `bias` and `epilogue` are for floating-point and
 *              complex dtypes, and `epilogue` for the former only (ERR_DTYPE). `c` and `bias` are cast
 *              to the result's dtype.
 * @param out   Where it points at NULL, a new C-order array is stored there; else that array is
 *              written, with any strides, even where it overlaps an operand. With `c` set, a failure
 *              may leave it changed.
 * @return ERR_SHAPE for operands that do not go together or have no axis (both shapes are named);
 *         ERR_DTYPE; ERR_OUTPUT for an `*out` of another shape or one that cannot be written;
 *         ERR_UNSUPPORTED when a CUDA device lacks cuBLASLt (the names that were tried are said).
 */
KILN_API KILN_NODISCARD kiln_status kiln_matmul(const kiln_array *a, const kiln_array *b,
                                                const kiln_matmul_options *opts, kiln_array **out,
                                                kiln_error *err);

/* ---- products of arrays of any rank ------------------------------------------------------ */

/* Each of the functions below is made of views and one kiln_matmul() or a few, whose dtypes it has, int8
 * included. Of the options they take `stream`, `dtype`, `compute` and `alpha`; the others must be unset
 * (ERR_ARGUMENT). `*out` is a new array where it points at NULL, else an array of the result's shape,
 * which receives it, cast as kiln_array_assign() does. They return what kiln_matmul() does, and ERR_AXIS. */

/** NumPy's `dot`: the sum over the last axis of `a` and the last but one (the only one) of `b`; the axes of
 *  the result are the others of `a`, then the others of `b`. With a scalar: its product with each element. */
KILN_API KILN_NODISCARD kiln_status kiln_array_dot(const kiln_array *a, const kiln_array *b,
                                                   const kiln_matmul_options *opts,
                                                   kiln_array **out, kiln_error *err);

/** NumPy's `inner`: the sum over the last axes of both. */
KILN_API KILN_NODISCARD kiln_status kiln_array_inner(const kiln_array *a, const kiln_array *b,
                                                     const kiln_matmul_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** NumPy's `outer`: each element of `a` times each of `b`, of shape (size of a, size of b). Nothing is added
 *  to the products, here, in kron() and in dot() with a scalar: 0 times -0 is -0. */
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
 * NumPy's `tensordot`: the sum over axes of `a` and of `b`, which go together in their order. The axes of
 * the result are the others of `a`, then the others of `b`.
 *
 * @param a_axes, b_axes  As many of each (ERR_AXIS), of equal extents (ERR_SHAPE), none twice (ERR_AXIS).
 *                        Both NULL: the last two of `a` with the first two of `b`, NumPy's default.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_tensordot(const kiln_array *a, const kiln_array *b,
                                                         const kiln_axes *a_axes,
                                                         const kiln_axes *b_axes,
                                                         const kiln_matmul_options *opts,
                                                         kiln_array **out, kiln_error *err);

/** NumPy's `kron`: b, scaled by each element of `a`, laid out as `a` is; the shorter shape gets leading
 *  axes of extent 1. */
KILN_API KILN_NODISCARD kiln_status kiln_array_kron(const kiln_array *a, const kiln_array *b,
                                                    const kiln_matmul_options *opts,
                                                    kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.multi_dot`: the product of two or more matrices in the order that multiplies least. The
 * first and the last may be vectors. ERR_SHAPE, ERR_ARGUMENT for fewer than two.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_multi_dot(const kiln_array *const *arrays,
                                                          size_t count,
                                                          const kiln_matmul_options *opts,
                                                          kiln_array **out, kiln_error *err);

/**
 * NumPy's `einsum`: a product of operands, named axis by axis, of which those that the result does not name
 * are summed: "ij,jk->ik" is a matrix product, "ii" a trace, "...ij->...ji" a transpose.
 *
 * A letter is an axis, the same letter axes of equal extents (or 1, which broadcasts); "..." stands for
 * further axes, which broadcast. Without "->" the result has the letters that appear once, in alphabetical
 * order. More than two operands are contracted in pairs, the pair first whose result adds the fewest elements
 * (docs/linalg.md). Each pair over which axes are summed is one kiln_matmul() or one reduction.
 *
 * @param subscripts  Blanks are ignored. ERR_SYNTAX, with a caret.
 * @param arrays      As many as there are terms (ERR_ARGUMENT_COUNT).
 * @return ERR_SHAPE where one letter stands for two extents.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_einsum(const char *subscripts,
                                                      const kiln_array *const *arrays, size_t count,
                                                      const kiln_matmul_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** How kiln_array_einsum() would do it, a line for each step: the terms that it takes and the one that it
 *  makes. Nothing is computed. @param text_out Free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_array_einsum_path(const char *subscripts,
                                                           const kiln_array *const *arrays,
                                                           size_t count, char **text_out,
                                                           kiln_error *err);

/** NumPy's `linalg.matrix_power`: the nth power of square matrices, by squaring; their inverses are
 *  multiplied where `n` is negative, the 0th is the unit matrix. ERR_SHAPE, and for n < 0 what
 *  kiln_linalg_inv() fails with. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_matrix_power(const kiln_array *a, int64_t n,
                                                             const kiln_matmul_options *opts,
                                                             kiln_array **out, kiln_error *err);

/* ---- equations and factors of square matrices --------------------------------------------- */

/* The functions below take stacks of square matrices (ERR_SHAPE) of float32, float64, complex64 or complex128
 * (ERR_DTYPE); integers and bool become float64. `opts` may be NULL. `*out` is a new array where it points at
 * NULL, else an array of the result's shape, which receives it. A call waits until it is known whether a
 * matrix failed: on the cpu device the work is done then. On a CUDA device kernels of kiln's own do it for
 * small matrices of float32 and float64, cuSOLVER and cuBLAS for others; ERR_UNSUPPORTED, with the names that
 * were tried, where these are needed and missing.
 *
 * ERR_SINGULAR names the matrix of the stack and the pivot. Matrices with NaN give NaN, but no Cholesky
 * factor. */

/** KILN_LINALG_OPTIONS_INIT at run time; `given` is sizeof *opts. Accepts NULL. */
KILN_API void kiln_linalg_options_init(kiln_linalg_options *opts, size_t given);

/**
 * NumPy's `linalg.solve`: x of a x = b, by an LU factorisation with exchanges of rows.
 *
 * @param a    (..., n, n).
 * @param b    A vector (n) where it has one axis, else a stack of matrices (..., n, k) whose columns are
 *             right sides; stacks broadcast (ERR_SHAPE).
 * @param out  Receives x, (..., n) for a vector, else (..., n, k).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_solve(const kiln_array *a, const kiln_array *b,
                                                      const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** The same where `a` is lower triangular, or upper by option; the other triangle is not read. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_solve_triangular(const kiln_array *a,
                                                                 const kiln_array *b,
                                                                 const kiln_linalg_options *opts,
                                                                 kiln_array **out, kiln_error *err);

/** NumPy's `linalg.inv`: b such that a b = b a is the unit matrix. To solve equations, kiln_linalg_solve() is
 *  faster and more accurate than a product with the inverse. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_inv(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **out, kiln_error *err);

/** NumPy's `linalg.det`: one number for each matrix; 0 for a singular one, 1 for an empty one. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_det(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **out, kiln_error *err);

/** NumPy's `linalg.slogdet`: the determinant as sign * exp(log). Of a singular matrix the sign is 0 and
 *  the logarithm -infinity. `*log_out` has the real dtype. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_slogdet(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **sign_out, kiln_array **log_out,
                                                        kiln_error *err);

/** NumPy's `linalg.cholesky`: lower triangular L with a = L L^H, from the lower triangle of `a`; the upper
 *  one is not read. ERR_SINGULAR where a matrix is not positive definite. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cholesky(const kiln_array *a,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/* ---- factors of matrices of any shape, eigenvalues, singular values ----------------------- */

/* As the functions above; matrices need not be square but for eigenvalues. ERR_SINGULAR where an iteration
 * does not converge, as with NaN. Signs (complex: phases) of vectors are those of the library, and no
 * promise. */

/** NumPy's `linalg.qr`: orthonormal columns Q (..., m, k) and upper triangular R (..., k, n) with a = Q R,
 *  k = min(m, n); with the option `full` k = m. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_qr(const kiln_array *a,
                                                   const kiln_linalg_options *opts,
                                                   kiln_array **q_out, kiln_array **r_out,
                                                   kiln_error *err);

/** NumPy's `linalg.eigh`: rising eigenvalues of Hermitian matrices, real, and their vectors, a column each.
 *  The lower triangle is read, or the upper one by option. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigh(const kiln_array *a,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **values_out,
                                                     kiln_array **vectors_out, kiln_error *err);

/** The eigenvalues alone, as NumPy's `linalg.eigvalsh`: (..., n), rising. They take as long as with their
 *  vectors here, since both come from one routine. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigvalsh(const kiln_array *a,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/** NumPy's `linalg.svd` with full_matrices=False: a = U S V^H, with U (..., m, k), falling singular values
 *  (..., k), real, and V^H (..., k, n), k = min(m, n). With the option `full` U and V^H are square; their
 *  further columns and rows are any that complete the others. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_svd(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **u_out, kiln_array **s_out,
                                                    kiln_array **vh_out, kiln_error *err);

/** The singular values alone, as NumPy's `linalg.svdvals`: (..., k), falling, real. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_svdvals(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **out, kiln_error *err);

/** NumPy's `linalg.eig`: eigenvalues of any square matrices, in no order, and their vectors, a column each of
 *  length 1. Both are complex always. A CUDA device computes them with the cuSOLVER of CUDA 12.6 or
 *  later (Xgeev), else the host's LAPACK does; ERR_UNSUPPORTED without either. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eig(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **values_out,
                                                    kiln_array **vectors_out, kiln_error *err);

/**
 * The eigenvalues alone, as NumPy's `linalg.eigvals`: (..., n), complex, in no order.
 * @return As kiln_linalg_eig().
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_eigvals(const kiln_array *a,
                                                        const kiln_linalg_options *opts,
                                                        kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.lu`: a = P L U with a permutation P (..., m, m) of the real dtype, L (..., m, k), whose
 * diagonal is 1, and upper triangular U (..., k, n), k = min(m, n). Singular matrices are no failure.
 *
 * @param p_out  NULL: the rows of L are permuted instead, so that a = L U: SciPy's `permute_l=True`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu(const kiln_array *a,
                                                   const kiln_linalg_options *opts,
                                                   kiln_array **p_out, kiln_array **l_out,
                                                   kiln_array **u_out, kiln_error *err);

/**
 * SciPy's `linalg.ldl` of Hermitian matrices, which need not be positive definite: a = L D L^H, where D is
 * Hermitian with blocks of 1 x 1 and 2 x 2 in its diagonal. The rows of L are mixed: those that `*order_out`
 * names, in its order, are a lower triangle with ones in its diagonal.
 *
 * The lower triangle of `a` is read, or the upper one by option, and L is lower in both cases (SciPy's
 * `lower=False` makes it upper). Singular matrices are no failure. The host computes it on CUDA devices, too:
 * cuSOLVER has no such routine for Hermitian complex matrices, nor for stacks.
 *
 * @param order_out  int64, (..., n).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_ldl(const kiln_array *a,
                                                    const kiln_linalg_options *opts,
                                                    kiln_array **l_out, kiln_array **d_out,
                                                    kiln_array **order_out, kiln_error *err);

/* ---- factors for later -------------------------------------------------------------------- */

/**
 * SciPy's `linalg.lu_factor` of matrices of any shape: L without its diagonal of ones below the diagonal, U in
 * and above it, and for each of the first k rows, in order, the row that it was exchanged with, counted from 0.
 * The factors of a singular matrix have a zero in the diagonal, and are no failure.
 *
 * @param pivots_out  int64, (..., k), k = min(m, n).
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu_factor(const kiln_array *a,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **lu_out,
                                                          kiln_array **pivots_out, kiln_error *err);

/**
 * SciPy's `linalg.lu_solve`: x of a x = b from what kiln_linalg_lu_factor() gave. Zeros in the diagonal give
 * infinities and NaN.
 *
 * @param lu      The factors, (..., n, n).
 * @param pivots  int64 (ERR_DTYPE), (..., n) with the stack of `lu` (ERR_SHAPE); ERR_ARGUMENT for numbers
 *                that are no rows.
 * @param b       As in kiln_linalg_solve(); its stack broadcasts with that of `lu`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lu_solve(const kiln_array *lu,
                                                         const kiln_array *pivots,
                                                         const kiln_array *b,
                                                         const kiln_linalg_options *opts,
                                                         kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.cho_solve`: x of a x = b from the factor that kiln_linalg_cholesky() gave.
 *
 * @param c     The factor; the triangle beyond its diagonal is not read.
 * @param b     As in kiln_linalg_solve().
 * @param opts  `upper` as when the factor was made.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cho_solve(const kiln_array *c, const kiln_array *b,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **out, kiln_error *err);

/* ---- made of factors ---------------------------------------------------------------------- */

/** NumPy's `linalg.pinv`: the pseudo-inverse, by singular values. @param rcond Values below this fraction of
 *  the largest count as 0; negative: 1e-15, NumPy's default. */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_pinv(const kiln_array *a, double rcond,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** The solution of NumPy's `linalg.lstsq`, in stacks: the shortest x that minimises |a x - b|; `b` as in
 *  kiln_linalg_solve(). @param rcond As above; negative: the dtype's rounding times max(m, n). */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_lstsq(const kiln_array *a, const kiln_array *b,
                                                      double rcond, const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.norm`. Integers and bool count as float64; the result is real.
 *
 * @param kind      KILN_NORM_ORDER: `order` is p of the p-norm of vectors (0: how many are not zero), and of
 *                  matrices 1, 2, INFINITY or their negatives (ERR_ARGUMENT). `order` is not read else.
 * @param axes      One axis: of vectors. Two: rows and columns of matrices. NULL: with KILN_NORM_DEFAULT all
 *                  elements as one vector, else the only axis, or the two, that the array has (ERR_AXIS).
 * @param keepdims  Whether these axes stay, with extent 1.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_norm(const kiln_array *a, kiln_norm kind,
                                                     double order, const kiln_axes *axes,
                                                     bool keepdims, const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.cond`: the norm of matrices times that of their inverses; infinity for singular ones.
 *
 * @param a     Any matrices with KILN_NORM_DEFAULT and the orders 2 and -2, whose condition numbers are
 *              quotients of singular values; else square ones (ERR_SHAPE).
 * @param kind  As in kiln_linalg_norm(), of matrices.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_cond(const kiln_array *a, kiln_norm kind,
                                                     double order, const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/** NumPy's `linalg.matrix_rank`: how many singular values are greater than `rtol` times the largest, as
 *  int64. @param rtol Negative: the dtype's rounding times max(m, n). */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_matrix_rank(const kiln_array *a, double rtol,
                                                            const kiln_linalg_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.trace`: the sum of the diagonals of matrices, one number for each matrix of the stack.
 *
 * @param a  (..., m, n) of any dtype, which is summed as kiln_array_reduce() sums it. ERR_SHAPE for fewer
 *           than two axes.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_trace(const kiln_array *a,
                                                      const kiln_linalg_options *opts,
                                                      kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.tensorsolve`: x with tensordot(a, x) = b, where the first axes of `a` are those of `b` and
 * the others those of x.
 *
 * @param a     With as many elements along the axes of `b` as along the others (ERR_SHAPE).
 * @param axes  Axes of `a` that are moved behind the others first, or NULL. ERR_AXIS.
 * @param out   Receives x, of the shape of the last axes of `a`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_tensorsolve(const kiln_array *a,
                                                            const kiln_array *b,
                                                            const kiln_axes *axes,
                                                            const kiln_linalg_options *opts,
                                                            kiln_array **out, kiln_error *err);

/**
 * NumPy's `linalg.tensorinv`: the inverse of the map of the last axes onto the first `split` ones.
 *
 * @param split  At least 1 (ERR_ARGUMENT). The first `split` axes have as many elements as the others
 *               (ERR_SHAPE).
 * @param out    Receives the inverse, whose first axes are the last ones of `a`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_tensorinv(const kiln_array *a, int split,
                                                          const kiln_linalg_options *opts,
                                                          kiln_array **out, kiln_error *err);

/**
 * SciPy's `linalg.expm`: the exponentials of square matrices (ERR_SHAPE), by halving them until a quotient of
 * polynomials (Pade's, of order 13) is exact to the dtype, and squaring.
 *
 * All matrices of a stack are halved as often as the largest needs it; the host waits for its norm. Integers
 * and bool count as float64.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_expm(const kiln_array *a,
                                                     const kiln_linalg_options *opts,
                                                     kiln_array **out, kiln_error *err);

/**
 * List the libraries that linear algebra uses, found or not; those of the cpu are loaded for it.
 *
 * @param infos     Room for `capacity` entries; may be NULL when capacity is 0.
 * @param count_out Receives how many there are, which may exceed `capacity`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_linalg_list(kiln_linalg_info *infos, size_t capacity,
                                                     size_t *count_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
