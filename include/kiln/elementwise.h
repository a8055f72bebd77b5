/**
 * @file kiln/elementwise.h
 * @brief Kernels from a signature and a C++ snippet, run over broadcast arrays and scalars.
 *
 * A definition is what CuPy's ElementwiseKernel takes, string for string:
 *
 *     kiln_elementwise *axpy = NULL;
 *     kiln_array *z = NULL;
 *     kiln_elementwise_create(ctx, "T x, T y, float32 a", "T z", "z = a * x + y", NULL,
 *                             &axpy, &err);
 *     kiln_call(axpy, &err, x, y, 2.5, &z);             // z is allocated with x's shape and dtype
 *
 *     kiln_launch *again = NULL;                        // the same call, bound once
 *     kiln_elementwise_prepare(axpy, KILN_ARGS(x, y, 0.5, z), NULL, &again, &err);
 *     for (int k = 0; k < 10; k++)
 *         kiln_launch_run(again, NULL, &err);           // costs what the driver's own call costs
 *
 *     kiln_launch_destroy(again);
 *     kiln_array_release(z);
 *     kiln_elementwise_destroy(axpy);
 *
 * Inside a snippet: the parameters by name, `i` (linear index in C-order), `n` (number of
 * elements), `_ind`, placeholder letters as types; see docs/snippets.md.
 *
 * Threads: a kiln_elementwise is immutable to its callers: any number of threads may call it at
 *          once, and several that need the same new variant compile it once.
 * Units:   `size` counts elements.
 * Owner:   whoever calls _create calls _destroy. Nothing here takes an argument over.
 */
#ifndef KILN_ELEMENTWISE_H
#define KILN_ELEMENTWISE_H

#include "kiln/arg.h"
#include "kiln/stream.h"

typedef struct kiln_elementwise kiln_elementwise;
typedef struct kiln_launch kiln_launch;

/** Choices for kiln_elementwise_create(). Zero in a field means its default. */
typedef struct kiln_elementwise_options {
    size_t struct_size;       /**< sizeof(kiln_elementwise_options) as the caller compiled it. */
    const char *name;         /**< Kernel name, a C identifier; NULL: "kiln_kernel". */
    const char *preamble;     /**< C++ text before the kernel: functions, macros, #includes. */
    const char *const *compiler_options; /**< Passed on to the compiler, e.g. "-DN=4". */
    size_t compiler_option_count;
    const char *loop_prep;  /**< Statements before a thread's first element. */
    const char *after_loop; /**< Statements after a thread's last element. */
    bool keep_axes; /**< CuPy's reduce_dims=False: `_ind` sees the axes as given, uncollapsed. */
    bool numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as
                           in CuPy's strings; off: C's of 32 bits. */
} kiln_elementwise_options;

#define KILN_ELEMENTWISE_OPTIONS_INIT                                                              \
    {sizeof(kiln_elementwise_options), NULL, NULL, NULL, 0, NULL, NULL, false, false}

/** Choices for one call. Zero in a field means its default. */
typedef struct kiln_elementwise_call_options {
    size_t struct_size;    /**< sizeof(kiln_elementwise_call_options) as the caller compiled it. */
    kiln_stream *stream;   /**< NULL: the context's own stream. */
    bool has_size;         /**< Whether `size` is set. */
    int64_t size;          /**< Elements to run over, where no array decides it. */
} kiln_elementwise_call_options;

#define KILN_ELEMENTWISE_CALL_OPTIONS_INIT {sizeof(kiln_elementwise_call_options), NULL, false, 0}

KILN_EXTERN_C_BEGIN

/**
 * Define a kernel. Parses and checks the signature; compiles nothing yet: variants (by dtype and
 * memory layout) are compiled, or taken from the cache, when a call first needs them.
 *
 * @param ctx     Kept alive by the result.
 * @param in      Input parameters, e.g. "T x, raw float32 table", or "take T w by at, int32 at" for
 *                an input that the snippet sees as the element which `at` names; "" for none.
 *                Copied.
 * @param outputs Output parameters, e.g. "T z". Copied.
 * @param op      C++ statements run for every element. Copied.
 * @param opts    May be NULL for defaults; read during the call only.
 * @return ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT, ERR_NO_MEMORY, or
 *         ERR_UNSUPPORTED for CUDA-only snippets on the cpu device. The error's detail shows the
 *         signature with a caret.
 */
KILN_API KILN_NODISCARD kiln_status kiln_elementwise_create(kiln_context *ctx, const char *in,
                                                            const char *outputs, const char *op,
                                                            const kiln_elementwise_options *opts,
                                                            kiln_elementwise **out,
                                                            kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_elementwise_options_init(kiln_elementwise_options *opts, size_t struct_size);
KILN_API void kiln_elementwise_call_options_init(kiln_elementwise_call_options *opts,
                                                 size_t struct_size);

/**
 * Run over the broadcast of all non-raw arrays: enqueue and return. kiln_call() is the same with
 * plain C values as arguments.
 *
 * Inputs come first, then outputs, in the order declared. A placeholder takes its dtype from
 * given outputs, then input arrays, then scalars (bool, int64, uint64, float64 or complex128);
 * a scalar whose dtype is decided elsewhere must fit it. An input that overlaps an output in any
 * way other than element by element, or is raw and shares memory with one that is not, is copied
 * first. Nothing is launched for zero elements.
 *
 * @param args  `arg_count` arguments: one per parameter.
 * @param opts  May be NULL.
 * @return ERR_ARGUMENT_COUNT, ERR_DTYPE, ERR_UNBOUND, ERR_RANGE, ERR_SHAPE, ERR_OUTPUT,
 *         ERR_OVERLAP, ERR_SIZE, ERR_UNDECIDED_SIZE, ERR_CONTEXT, ERR_RELEASED, ERR_COMPILE,
 *         ERR_NO_COMPILER, ERR_NO_NVRTC, ERR_DEVICE_MEMORY, ERR_NO_MEMORY, ERR_DRIVER, ERR_FAULT
 *         or ERR_FORK. After a failure no output pointer has changed.
 */
KILN_API KILN_NODISCARD kiln_status kiln_elementwise_run(
    kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
    const kiln_elementwise_call_options *opts, kiln_error *err);

/**
 * Do everything but the launch once: check, allocate, compile, bind. The result launches at the
 * cost of the driver's own call. Array arguments are kept alive by the result; scalars are
 * fixed; KILN_ARG_OUT outputs are allocated now.
 */
KILN_API KILN_NODISCARD kiln_status kiln_elementwise_prepare(
    kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
    const kiln_elementwise_call_options *opts, kiln_launch **out, kiln_error *err);

/** Enqueue a prepared launch. `stream` NULL: the stream given to _prepare. */
KILN_API KILN_NODISCARD kiln_status kiln_launch_run(kiln_launch *launch, kiln_stream *stream,
                                                    kiln_error *err);

/**
 * Replace an argument by another array or number, from the next run on.
 *
 * @param parameter The index, from 0, of the argument of _prepare. It may be a launch of a graph,
 *                  whose views of the argument follow it, of a raw kernel, or of a call with lists.
 * @param value     For an array: one of the same dtype, shape and strides and at least the same
 *                  alignment (for a raw kernel only the dtype must agree, and only if it has a
 *                  signature). The launch keeps it alive from now on. An output must not overlap
 *                  arrays that it did not overlap before. For a list: a list of the same length of
 *                  such arrays. For a number: a number, converted as in a call.
 * @return KILN_OK; ERR_ARGUMENT when there is no such argument, or for an array in place of a
 *         number and vice versa; ERR_DTYPE, ERR_SHAPE, ERR_RANGE, ERR_OUTPUT, ERR_OVERLAP;
 *         ERR_NULL, ERR_RELEASED, ERR_CONTEXT, ERR_NO_MEMORY, ERR_FAULT, ERR_FORK. After a failure
 *         the launch is what it was.
 *
 * No other thread may run or change the launch meanwhile.
 */
KILN_API KILN_NODISCARD kiln_status kiln_launch_set(kiln_launch *launch, size_t parameter,
                                                    kiln_arg value, kiln_error *err);

/** Release a prepared launch; enqueued work still completes. Accepts NULL. */
KILN_API void kiln_launch_destroy(kiln_launch *launch);

/**
 * The generated source that a call with these arguments would compile; nothing is compiled,
 * allocated or run, and KILN_ARG_OUT outputs stay as they are.
 * @param text_out Receives NUL-terminated text; free it with kiln_free().
 */
KILN_API KILN_NODISCARD kiln_status kiln_elementwise_source(
    kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
    const kiln_elementwise_call_options *opts, char **text_out, kiln_error *err);

/** Release the handle. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_elementwise_destroy(kiln_elementwise *op);

KILN_EXTERN_C_END

#endif
