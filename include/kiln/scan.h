/**
 * @file kiln/scan.h
 * @brief Running sums and similar results along an axis, defined by map / reduce / post texts.
 *
 * A definition has the texts of a reduction (kiln/reduction.h):
 *
 *     kiln_scan *running = NULL;
 *     kiln_scan_create(ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &running, &err);
 *     kiln_array *sums = NULL;
 *     kiln_call_over(running, KILN_AXES(-1), &err, x, &sums);   // along each row: shape (4, 3)
 *     kiln_array_release(sums);
 *     kiln_scan_destroy(running);
 *
 * `map` is an expression over one element of every input. `reduce` is an expression that combines
 * two values, of which `a` comes from earlier elements than `b`; it must be associative and need
 * not be commutative. `post` are statements that assign the outputs of an element from the running
 * value `a`. `identity` is the first value of an exclusive scan. `_type_reduce` names the type of
 * `a` and `b`, `_J` is the element's position along the scanned axis, and `n` is the length of that
 * axis.
 *
 * Determinism: the order of combination depends on shapes, strides, dtypes and the device only, and
 *              on the cpu device not on the number of threads: results are bit-identical from run
 *              to run. Sums of floating-point numbers differ from those of a single loop in their
 *              last digits, since a loop adds in another order, and are closer to the exact sums.
 * Threads, units, ownership: as kiln/elementwise.h.
 */
#ifndef KILN_SCAN_H
#define KILN_SCAN_H

#include "kiln/node.h"
#include "kiln/reduction.h"

typedef struct kiln_scan kiln_scan;

/** How a scan runs; OR them. 0: inclusive, from the first element to the last. */
typedef enum kiln_scan_flag {
    KILN_SCAN_EXCLUSIVE = 1, /**< An element's result combines the elements before it only. */
    KILN_SCAN_REVERSE = 2    /**< From the last element to the first. */
} kiln_scan_flag;

/** Choices for kiln_scan_create(). Zero in a field means its default. */
typedef struct kiln_scan_options {
    size_t struct_size;      /**< sizeof(kiln_scan_options) as the caller compiled it. */
    const char *name;        /**< Kernel name, a C identifier; NULL: "kiln_scan". */
    const char *preamble;    /**< C++ text before the kernel. */
    const char *const *compiler_options; /**< Passed on to the compiler, e.g. "-DN=4". */
    size_t compiler_option_count;
    const char *reduce_type; /**< C++ type of the running value, at most 64 bytes, copied byte by
                                  byte; NULL: float for float16 and bfloat16, else the type of the
                                  first output. */
    bool numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as
                           in CuPy's strings; off: C's of 32 bits. */
} kiln_scan_options;

#define KILN_SCAN_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(kiln_scan_options), NULL, NULL, NULL, 0, NULL, false                                \
    }

/** Choices for one call. Zero in a field means its default. */
typedef struct kiln_scan_call_options {
    size_t struct_size;    /**< sizeof(kiln_scan_call_options) as the caller compiled it. */
    kiln_stream *stream;   /**< NULL: the context's own stream. */
    const kiln_axes *axes; /**< One axis; NULL: all elements as one sequence in C-order. */
    unsigned flags;        /**< OR of kiln_scan_flag. */
} kiln_scan_call_options;

#define KILN_SCAN_CALL_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(kiln_scan_call_options), NULL, NULL, 0                                              \
    }

KILN_EXTERN_C_BEGIN

/**
 * Define a scan; parses and checks, compiles nothing yet. All texts are copied.
 *
 * @param in       Input parameters, e.g. "T x, T y"; raw ones are allowed.
 * @param outputs  Output parameters, e.g. "T y"; none may be raw.
 * @param map      Expression of type `_type_reduce` (or converted to it).
 * @param reduce   Expression over `a` and `b`.
 * @param post     Statements; e.g. "y = a".
 * @param identity Expression, e.g. "0"; "" or NULL for none: then there is no exclusive scan.
 * @param opts     May be NULL for defaults; read during the call only.
 * @return ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT, ERR_UNSUPPORTED,
 *         ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_scan_create(kiln_context *ctx, const char *in,
                                                     const char *outputs, const char *map,
                                                     const char *reduce, const char *post,
                                                     const char *identity,
                                                     const kiln_scan_options *opts, kiln_scan **out,
                                                     kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_scan_options_init(kiln_scan_options *opts, size_t struct_size);
KILN_API void kiln_scan_call_options_init(kiln_scan_call_options *opts, size_t struct_size);

/**
 * Scan the broadcast of all non-raw inputs: enqueue and return.
 *
 * Arguments and dtypes are as in kiln_elementwise_run(). Along one axis every output has the
 * broadcast shape, and an allocated output keeps the inputs' memory order. Over all elements (axes
 * NULL) outputs are one-dimensional; a given output may have the broadcast shape instead. `post`
 * converts to an output's dtype by assignment. An output may be the same array as an input; an
 * input that overlaps an output in another way is copied first.
 *
 * A long scan over few sequences takes workspace from the pool.
 * @return The statuses of kiln_elementwise_run(); ERR_AXIS for an axis out of range, or several;
 *         ERR_IDENTITY for KILN_SCAN_EXCLUSIVE without an identity; ERR_ARGUMENT for unknown flags.
 */
KILN_API KILN_NODISCARD kiln_status kiln_scan_run(kiln_scan *op, const kiln_arg *args,
                                                  size_t arg_count,
                                                  const kiln_scan_call_options *opts,
                                                  kiln_error *err);

/**
 * Do all of kiln_scan_run() but the launch; see kiln_elementwise_prepare(). kiln_launch_run() then
 * costs little more than the driver's own work. An input that would have to be copied first is
 * refused.
 */
KILN_API KILN_NODISCARD kiln_status kiln_scan_prepare(kiln_scan *op, const kiln_arg *args,
                                                      size_t arg_count,
                                                      const kiln_scan_call_options *opts,
                                                      kiln_launch **out, kiln_error *err);

/** The generated source that such a call would compile; free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_scan_source(kiln_scan *op, const kiln_arg *args,
                                                     size_t arg_count,
                                                     const kiln_scan_call_options *opts,
                                                     char **text_out, kiln_error *err);

/** Release the handle. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_scan_destroy(kiln_scan *op);

/* ---- named scans ----------------------------------------------------------------------------- */

/**
 * X(NAME, value, "name", text): scans with NumPy's result dtypes. cumsum and cumprod of bool and
 * signed integers are int64, of unsigned ones uint64, and wrap; float16 and bfloat16 accumulate in
 * float32 and are rounded at every element. From a NaN on, all four give NaN.
 */
#define KILN_SCAN_MAP(X)                                                                           \
    X(CUMSUM, 1, "cumsum", "sum of the elements so far")                                           \
    X(CUMPROD, 2, "cumprod", "product of the elements so far")                                     \
    X(CUMMAX, 3, "cummax", "largest element so far")                                               \
    X(CUMMIN, 4, "cummin", "smallest element so far")

typedef enum kiln_scan_op {
#define KILN_SCAN_ENUM(name, value, text, doc) KILN_SCAN_##name = value,
    KILN_SCAN_MAP(KILN_SCAN_ENUM)
#undef KILN_SCAN_ENUM
} kiln_scan_op;

/**
 * A named scan of one array, on the context's own stream.
 *
 * @param axes  One axis; NULL: all elements as one sequence in C-order.
 * @param flags OR of kiln_scan_flag. An exclusive cumsum begins with 0, cumprod with 1, cummax and
 *              cummin with the least and greatest value of the dtype (infinities, if it has them).
 * @param out   As KILN_ARG_OUT: allocated when it points at NULL, else written. Its dtype may be of
 *              the result's kind or a more general one (bool, integers, floating point, complex);
 *              a wider floating-point or complex output is accumulated in its own precision, a
 *              narrower one is rounded to. It may be `array` where the dtype is.
 * @return As kiln_scan_run(); ERR_DTYPE for a dtype the scan does not take, or an output that
 *         cannot hold the result.
 */
KILN_API KILN_NODISCARD kiln_status kiln_array_scan(kiln_scan_op op, const kiln_array *array,
                                                    const kiln_axes *axes, unsigned flags,
                                                    kiln_array **out, kiln_error *err);

/**
 * A named scan as a node of a graph: inclusive, from the first element to the last. It is a step of
 * its own.
 * @param axes One axis; NULL: all elements in C-order, so that the result has one axis.
 */
KILN_API kiln_node kiln_node_scan(kiln_scan_op op, kiln_node x, const kiln_axes *axes,
                                  const char *file, int line);

/** "cumsum" etc.; "unknown" for a value not in the table. */
KILN_API const char *kiln_scan_op_name(kiln_scan_op op);

KILN_EXTERN_C_END

#endif
