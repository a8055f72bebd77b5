/**
 * @file kiln/row.h
 * @brief Row programs: reduce each row of an array and use the results in the same row, in
 *        one pass.
 *
 * Softmax, layer norm and similar functions need a row several times: for its maximum, for a sum
 * that uses the maximum, and for the outputs. A row program states these steps as stages, and runs
 * them while the row stays in registers: memory is read once and written once.
 *
 *     const kiln_row_stage stages[] = {
 *         {.map = "float(x)", .type = "float", .reduce = "fmaxf(a, b)", .identity = "-INFINITY",
 *          .result = "m"},
 *         {.prep = "e = expf(float(x) - m);", .map = "e", .type = "float", .reduce = "a + b",
 *          .identity = "0", .result = "s", .post = "const float scale = 1 / s;"}};
 *     const kiln_row_value values[] = {{"float", "e"}};
 *     kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
 *     kiln_row *softmax = NULL;
 *     kiln_array *z = NULL;
 *     opts.values = values;
 *     opts.value_count = 1;
 *     kiln_row_create(ctx, "T x", "T y", stages, 2, "y = e * scale", &opts, &softmax, &err);
 *     kiln_call_over(softmax, KILN_AXES(-1), &err, x, &z);
 *     kiln_array_release(z);
 *     kiln_row_destroy(softmax);
 *
 * All texts can use `n` (the elements of a row), the results of earlier stages, and the variables
 * that their `post` declares. Texts that run for each element (prep, map, op) can use every input,
 * and `_J`, the element's position in its row in C-order. Texts that run once a row (reduce,
 * identity, post, row_post) can use the inputs that are the same for the whole row. The shape of an
 * input decides in each call whether it has an element for each element of the rows, one for each
 * row, or one row for all: inputs broadcast as everywhere in kiln.
 *
 * Long rows: a row that does not fit one block of threads (or a cluster of blocks, on GPUs with
 *            clusters) is read from memory once for each stage. On the cpu one thread has a row.
 * Determinism: as kiln/reduction.h.
 * Threads, units, ownership: as kiln/elementwise.h.
 */
#ifndef KILN_ROW_H
#define KILN_ROW_H

#include "kiln/reduction.h"

typedef struct kiln_row kiln_row;

/** Most stages and values of a row program. */
#define KILN_ROW_STAGES_MAX 8
#define KILN_ROW_VALUES_MAX 16

/** One reduction over each row. */
typedef struct kiln_row_stage {
    const char *prep;     /**< Statements per element, before map; NULL: none. They may assign
                               values, and may run again in later stages if these are not kept. */
    const char *map;      /**< Expression per element. */
    const char *type;     /**< C++ type of the accumulator and of the result: at most 64 bytes. */
    const char *reduce;   /**< Expression over `a` and `b`, associative and commutative. */
    const char *identity; /**< Expression; NULL or "": none. */
    const char *result;   /**< Name of the reduced value in all texts of later stages. */
    const char *post;     /**< Statements per row, after the reduction; NULL: none. */
} kiln_row_stage;

/** A variable that each element of a row has: assigned by a stage's prep, read by later texts. */
typedef struct kiln_row_value {
    const char *type; /**< C++ type. */
    const char *name;
} kiln_row_value;

/** Choices for kiln_row_create(). Zero in a field means its default. */
typedef struct kiln_row_options {
    size_t struct_size;      /**< sizeof(kiln_row_options) as the caller compiled it. */
    const char *name;        /**< Kernel name, a C identifier; NULL: "kiln_row". */
    const char *preamble;    /**< C++ text before the kernel. */
    const char *const *compiler_options; /**< Passed on to the compiler, e.g. "-DN=4". */
    size_t compiler_option_count;
    const char *row_outputs; /**< Output parameters with one element a row; NULL: none. */
    const char *row_post;    /**< Statements that assign them, once a row. */
    const kiln_row_value *values; /**< Variables that each element of a row has. */
    size_t value_count;
    bool numpy_types; /**< In signatures `float`, `int` and `uint` are NumPy's types of 64 bits, as
                           in CuPy's strings; off: C's of 32 bits. */
} kiln_row_options;

#define KILN_ROW_OPTIONS_INIT                                                                      \
    {sizeof(kiln_row_options), NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, false}

/** Choices for one call. Zero in a field means its default. */
typedef struct kiln_row_call_options {
    size_t struct_size;    /**< sizeof(kiln_row_call_options) as the caller compiled it. */
    kiln_stream *stream;   /**< NULL: the context's own stream. */
    const kiln_axes *axes; /**< Along which a row runs; NULL: all, the whole array is one row. */
    bool keepdims;         /**< Outputs per row keep the row's axes with extent 1. */
} kiln_row_call_options;

#define KILN_ROW_CALL_OPTIONS_INIT {sizeof(kiln_row_call_options), NULL, NULL, false}

KILN_EXTERN_C_BEGIN

/**
 * Define a row program; parses and checks, compiles nothing yet. All texts are copied.
 *
 * @param in      Input parameters, e.g. "T x, T weight, float32 eps"; raw ones are allowed.
 * @param outputs Output parameters of one element for each of the inputs' broadcast, e.g. "T y"; ""
 *                when there are only row_outputs. None may be raw.
 * @param stages  `stage_count` of them, 1 to KILN_ROW_STAGES_MAX, in order.
 * @param op      Statements per element that assign the outputs, after the last stage; "" when
 *                there are none.
 * @return ERR_NULL, ERR_SYNTAX, ERR_NAME, ERR_UNKNOWN_TYPE, ERR_ARGUMENT, ERR_UNSUPPORTED,
 *         ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_row_create(kiln_context *ctx, const char *in,
                                                    const char *outputs,
                                                    const kiln_row_stage *stages,
                                                    size_t stage_count, const char *op,
                                                    const kiln_row_options *opts, kiln_row **out,
                                                    kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_row_options_init(kiln_row_options *opts, size_t struct_size);
KILN_API void kiln_row_call_options_init(kiln_row_call_options *opts, size_t struct_size);

/**
 * Run over the rows of the broadcast of all non-raw inputs, along `opts->axes`: enqueue and return.
 *
 * Arguments and dtypes are as in kiln_elementwise_run(). Outputs per element have the broadcast
 * shape; outputs per row have the shape of a reduction over the axes (see opts->keepdims). An
 * output may be the same array as an input. Rows without elements write nothing per element.
 * @return The statuses of kiln_reduction_run(); ERR_IDENTITY for rows without elements where there
 *         are row_outputs and a stage has no identity.
 */
KILN_API KILN_NODISCARD kiln_status kiln_row_run(kiln_row *op, const kiln_arg *args,
                                                 size_t arg_count,
                                                 const kiln_row_call_options *opts,
                                                 kiln_error *err);

/**
 * Do all of kiln_row_run() but the launch; see kiln_elementwise_prepare(). kiln_launch_run() then
 * costs little more than the driver's own work. An input that would have to be copied first is
 * refused.
 */
KILN_API KILN_NODISCARD kiln_status kiln_row_prepare(kiln_row *op, const kiln_arg *args,
                                                     size_t arg_count,
                                                     const kiln_row_call_options *opts,
                                                     kiln_launch **out, kiln_error *err);

/** The generated source that such a call would compile; free it with kiln_free(). */
KILN_API KILN_NODISCARD kiln_status kiln_row_source(kiln_row *op, const kiln_arg *args,
                                                    size_t arg_count,
                                                    const kiln_row_call_options *opts,
                                                    char **text_out, kiln_error *err);

/** Release the handle. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_row_destroy(kiln_row *op);

KILN_EXTERN_C_END

#endif
