/**
 * @file kiln/reduction.h
 * @brief Map / reduce / post kernels over any axes of broadcast, strided arrays.
 *
 * A definition is what CuPy's ReductionKernel takes, string for string:
 *
 *     kiln_reduction *l2 = NULL;
 *     kiln_reduction_create(ctx, "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", NULL,
 *                           &l2, &err);
 *     kiln_array *norms = NULL;
 *     kiln_call_over(l2, KILN_AXES(-1), &err, x, &norms);   // one for each row: shape (4,)
 *     kiln_array_release(norms);
 *     kiln_reduction_destroy(l2);
 *
 * `map` is an expression over one element of every input. `reduce` is an expression that combines
 * two mapped values `a` and `b`; it must be associative and commutative. `post` are statements that
 * assign the outputs from the reduced value `a`. `identity` is the neutral value of `reduce`, which
 * leaves any other value unchanged, or "" when there is none (an empty reduction is then
 * ERR_IDENTITY).
 * `_type_reduce` names the type of `a` and `b`. `_J` is the position of the element along the
 * reduced axes in C-order. `_in_ind` and `_out_ind` are index tuples (docs/reductions.md). `n` is
 * the number of elements of each result.
 *
 * Determinism: the order of combination depends on shapes, strides, dtypes and the device only. So
 *              results are bit-identical from run to run, whatever the stream or the load. Devices
 *              with another number of multiprocessors (or of cpu threads) may round differently.
 * Threads, units, ownership: as kiln/elementwise.h.
 */
#ifndef KILN_REDUCTION_H
#define KILN_REDUCTION_H

#include "kiln/elementwise.h"

typedef struct kiln_reduction kiln_reduction;

/** Choices for kiln_reduction_create(). Zero in a field means its default. */
typedef struct kiln_reduction_options {
    size_t struct_size;      /**< sizeof(kiln_reduction_options) as the caller compiled it. */
    const char *name;        /**< Kernel name, a C identifier; NULL: "kiln_reduction". */
    const char *preamble;    /**< C++ text before the kernel. */
    const char *const *compiler_options; /**< Passed on to the compiler, e.g. "-DN=4". */
    size_t compiler_option_count;
    const char *reduce_type; /**< C++ type of the accumulator; NULL: float for float16 and bfloat16,
                                  else the type of the first output. */
    bool numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as
                           in CuPy's strings; off: C's of 32 bits. */
} kiln_reduction_options;

#define KILN_REDUCTION_OPTIONS_INIT                                                                \
    {sizeof(kiln_reduction_options), NULL, NULL, NULL, 0, NULL, false}

/** Choices for one call. Zero in a field means its default. */
typedef struct kiln_reduction_call_options {
    size_t struct_size;     /**< sizeof(kiln_reduction_call_options) as the caller compiled it. */
    kiln_stream *stream;    /**< NULL: the context's own stream. */
    const kiln_axes *axes;  /**< NULL: all. */
    bool keepdims;          /**< Keep reduced axes with extent 1. */
    /** Elements where this bool array is false are left out; NULL: none are. It must broadcast to
     *  the inputs' shape. Without an identity `initial` must be given. `n` counts all elements. */
    const kiln_array *where;
    /** A number to begin with: `reduce` combines it with each result before `post`. Converted to
     *  the first output's dtype, which must hold it (ERR_RANGE). NULL: none. */
    const kiln_arg *initial;
    double ddof; /**< kiln_array_reduce_with(), var and std: divide by the count minus this. */
} kiln_reduction_call_options;

#define KILN_REDUCTION_CALL_OPTIONS_INIT                                                           \
    {sizeof(kiln_reduction_call_options), NULL, NULL, false, NULL, NULL, 0}

KILN_EXTERN_C_BEGIN

/**
 * Define a reduction; parses and checks, compiles nothing yet. All texts are copied.
 *
 * @param in       Input parameters, e.g. "T x, T y", or "take T w by at, int32 at" for elements
 *                 that indices name; raw ones are allowed.
 * @param outputs  Output parameters, e.g. "T y, int64 count"; none may be raw.
 * @param map      Expression of type `_type_reduce` (or converted to it).
 * @param reduce   Expression over `a` and `b`.
 * @param post     Statements; e.g. "y = a".
 * @param identity Expression, e.g. "0"; "" or NULL for none.
 * @return ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT, ERR_UNSUPPORTED,
 *         ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_reduction_create(
    kiln_context *ctx, const char *in, const char *outputs, const char *map, const char *reduce,
    const char *post, const char *identity, const kiln_reduction_options *opts,
    kiln_reduction **out, kiln_error *err);

/**
 * Set `opts` to what the _INIT macro of its type has, for languages that cannot use the macro.
 *
 * @param opts         The options to set; NULL is ignored.
 * @param struct_size  sizeof(*opts) as the caller compiled it; nothing behind it is written.
 */
KILN_API void kiln_reduction_options_init(kiln_reduction_options *opts, size_t struct_size);
KILN_API void kiln_reduction_call_options_init(kiln_reduction_call_options *opts,
                                               size_t struct_size);

/**
 * Reduce the broadcast of all non-raw inputs over `opts->axes`: enqueue and return.
 *
 * Arguments and dtypes are as in kiln_elementwise_run(). A given output must have the result's
 * shape; `post` converts to its dtype by assignment. An allocated output is C-order.
 * @return The statuses of kiln_elementwise_run(), ERR_AXIS, and ERR_IDENTITY for an empty
 *         reduction without identity.
 */
KILN_API KILN_NODISCARD kiln_status kiln_reduction_run(kiln_reduction *op, const kiln_arg *args,
                                                       size_t arg_count,
                                                       const kiln_reduction_call_options *opts,
                                                       kiln_error *err);

/**
 * Do everything but the launch once, as kiln_elementwise_prepare(); kiln_launch_run() runs it. If
 * several blocks share a result, each run takes memory for their parts from the pool, and may fail
 * with ERR_DEVICE_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_reduction_prepare(kiln_reduction *op, const kiln_arg *args,
                                                           size_t arg_count,
                                                           const kiln_reduction_call_options *opts,
                                                           kiln_launch **out, kiln_error *err);

/** The generated source that such a call would compile; free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_reduction_source(kiln_reduction *op, const kiln_arg *args,
                                                          size_t arg_count,
                                                          const kiln_reduction_call_options *opts,
                                                          char **text_out, kiln_error *err);

/** Release the handle. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_reduction_destroy(kiln_reduction *op);

/* ---- named reductions ------------------------------------------------------------------------ */

/**
 * X(NAME, value, "name", text): reductions with NumPy's result dtypes and rules for NaN and empty
 * axes. sum and prod of bool and small integers are int64 (uint64 for unsigned ones); argmin,
 * argmax and count_nonzero are int64; mean, var, std and the norms of integers are float64;
 * float16 and bfloat16 accumulate in float32.
 */
#define KILN_REDUCE_MAP(X)                                                                         \
    X(SUM, 1, "sum", "sum of the elements")                                                        \
    X(PROD, 2, "prod", "product of the elements")                                                  \
    X(MIN, 3, "min", "smallest element; NaN if there is one")                                      \
    X(MAX, 4, "max", "largest element; NaN if there is one")                                       \
    X(ARGMIN, 5, "argmin", "position of the first smallest element (or first NaN)")                \
    X(ARGMAX, 6, "argmax", "position of the first largest element (or first NaN)")                 \
    X(ANY, 7, "any", "whether some element is not zero")                                           \
    X(ALL, 8, "all", "whether every element is not zero")                                          \
    X(MEAN, 9, "mean", "arithmetic mean")                                                          \
    X(VAR, 10, "var", "variance, one pass, Chan's merging of means")                               \
    X(STD, 11, "std", "square root of var")                                                        \
    X(COUNT_NONZERO, 12, "count_nonzero", "how many elements are not zero")                        \
    X(NORM1, 13, "norm1", "sum of absolute values")                                                \
    X(NORM2, 14, "norm2", "square root of the sum of squared absolute values")                     \
    X(NORMINF, 15, "norminf", "largest absolute value")                                            \
    X(NANSUM, 16, "nansum", "sum, NaN counting as 0")                                              \
    X(NANPROD, 17, "nanprod", "product, NaN counting as 1")                                        \
    X(NANMIN, 18, "nanmin", "smallest element that is not NaN")                                    \
    X(NANMAX, 19, "nanmax", "largest element that is not NaN")                                     \
    X(NANMEAN, 20, "nanmean", "mean of the elements that are not NaN")                             \
    X(NANVAR, 21, "nanvar", "variance of the elements that are not NaN")                           \
    X(NANSTD, 22, "nanstd", "square root of nanvar")                                               \
    X(NANARGMIN, 23, "nanargmin", "position of the first smallest that is not NaN; -1 if none")    \
    X(NANARGMAX, 24, "nanargmax", "position of the first largest that is not NaN; -1 if none")

typedef enum kiln_reduce_op {
#define KILN_REDUCE_ENUM(name, value, text, doc) KILN_REDUCE_##name = value,
    KILN_REDUCE_MAP(KILN_REDUCE_ENUM)
#undef KILN_REDUCE_ENUM
} kiln_reduce_op;

/**
 * A named reduction of one array.
 *
 * @param axes NULL: all.
 * @param out  As KILN_ARG_OUT: allocated when it points at NULL, else written. Its dtype may be of
 *             the result's kind or a more general one (bool, integers, floating point, complex);
 *             positions need an integer dtype. A wider floating-point or complex output is
 *             accumulated in its own precision; for a narrower one the result is rounded at the
 *             end.
 * @return As kiln_reduction_run(); ERR_DTYPE for an output that cannot hold the result.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_reduce(kiln_reduce_op op, const kiln_array *array,
                                                      const kiln_axes *axes, bool keepdims,
                                                      kiln_array **out, kiln_error *err);

/**
 * kiln_array_reduce() with all options. `initial` is for sum, prod, min, max and their nan
 * relatives; `where` for all but positions, and min, max, nanmin and nanmax then need `initial`;
 * `ddof` for var, std, nanvar and nanstd. mean, var and std count the elements that `where` leaves.
 *
 * @param opts May be NULL for defaults.
 * @return As kiln_array_reduce(); ERR_ARGUMENT for an option that the reduction does not take.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_reduce_with(kiln_reduce_op op,
                                                           const kiln_array *array,
                                                           const kiln_reduction_call_options *opts,
                                                           kiln_array **out, kiln_error *err);

/**
 * Sum of x * y over the axes of `opts`; x and y broadcast, and nothing is conjugated.
 *
 * x and y have the same dtype, and the result has it too. Integers wrap in it. For bool the result
 * is "any of (x and y)". Products and sums of float16, bfloat16 and float8 are computed in float32
 * and rounded once. `opts` may be NULL: all axes. With the axis -1 it is NumPy's vecdot, except for
 * complex numbers.
 * @return As kiln_array_reduce_with(); ERR_SHAPE.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_sum_product(const kiln_array *x, const kiln_array *y,
                                                   const kiln_reduction_call_options *opts,
                                                   kiln_array **out, kiln_error *err);

/** The same of conj(x) * y, as NumPy's vdot and vecdot have it. */
KILN_API KILN_NODISCARD kiln_status kiln_array_vecdot(const kiln_array *x, const kiln_array *y,
                                                      const kiln_reduction_call_options *opts,
                                                      kiln_array **out, kiln_error *err);

/** "sum" etc.; "unknown" for a value not in the table. */
KILN_API const char *kiln_reduce_op_name(kiln_reduce_op op);

KILN_EXTERN_C_END

#endif
