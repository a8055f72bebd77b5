/**
 * @file kiln/graph.h
 * @brief Record an expression once, run it as few fused kernels, as often as wanted.
 *
 *     kiln_graph *g = NULL;
 *     kiln_array *z = NULL;
 *     kiln_graph_create(ctx, NULL, &g, &err);
 *     kiln_node a = kiln_graph_input(g, "a"), b = kiln_graph_input(g, "b");
 *     kiln_node r = kiln_sqrt(kiln_add(kiln_multiply(a, a), kiln_multiply(b, b)));
 *     kiln_node s = kiln_sum(kiln_multiply(r, kiln_exp(kiln_negative(a))), KILN_AXES(1));
 *     kiln_graph_output(g, "z", s);
 *     kiln_graph_compile(g, &err);      // reports what was recorded wrongly
 *     kiln_call(g, &err, x, y, &z);     // one kernel; z is allocated with shape (4,)
 *     kiln_array_release(z);
 *     kiln_graph_destroy(g);
 *
 * A graph has inputs, nodes (kiln/node.h records them) and outputs. A call passes arrays or numbers
 * for the inputs, of any dtypes and shapes that the operations allow. The first call with new
 * dtypes and memory layouts plans the kernels: operations, reductions and views are fused where
 * that saves memory traffic (docs/graphs.md). kiln_graph_explain() describes the kernels of a call.
 *
 * Threads: recording belongs to one thread at a time. A compiled graph is immutable to its callers:
 *          any number of threads may call it at once, each on its own stream, and several that need
 *          the same new kernel compile it once.
 * Units:   shapes count elements.
 * Owner:   whoever calls kiln_graph_create() destroys the graph, and its nodes with it. A graph
 *          keeps its context alive. Custom kernels that became nodes must outlive the graph.
 * Errors:  functions that fail return a status, and leave the graph and every output pointer as
 *          they were. Every function may also return ERR_NULL, ERR_NO_MEMORY and ERR_FORK.
 */
#ifndef KILN_GRAPH_H
#define KILN_GRAPH_H

#include "kiln/node.h"

/** Choices for kiln_graph_create(). Zero in a field means its default. */
typedef struct kiln_graph_options {
    size_t struct_size; /**< sizeof(kiln_graph_options) as the caller compiled it. */
    const char *name;   /**< Begins the names of kernels, a C identifier; NULL: "kiln_graph". */
    int wide; /**< 1: values that are float16 or bfloat16 stay float32 until they are stored as an
                   output, cast or given to a custom kernel (docs/graphs.md); -1: every operation
                   rounds, as NumPy's; 0: what the context says. */
} kiln_graph_options;

#define KILN_GRAPH_OPTIONS_INIT {sizeof(kiln_graph_options), NULL, 0}

/** Choices for one call of a graph. Zero in a field means its default. */
typedef struct kiln_graph_call_options {
    size_t struct_size;  /**< sizeof(kiln_graph_call_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own stream. */
} kiln_graph_call_options;

#define KILN_GRAPH_CALL_OPTIONS_INIT {sizeof(kiln_graph_call_options), NULL}

KILN_EXTERN_C_BEGIN

/* ---- making one ------------------------------------------------------------------------------ */

/**
 * Begin an empty graph.
 *
 * @param ctx  Kept alive by the graph.
 * @param opts May be NULL for defaults; read during the call only.
 * @param out  Receives the graph; NULL on failure.
 * @return ERR_NULL, ERR_ARGUMENT, ERR_NAME for a name that is no identifier, ERR_NO_MEMORY,
 *         ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_create(kiln_context *ctx,
                                                      const kiln_graph_options *opts,
                                                      kiln_graph **out, kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_graph_options_init(kiln_graph_options *opts, size_t struct_size);
KILN_API void kiln_graph_call_options_init(kiln_graph_call_options *opts, size_t struct_size);

/** Release the graph. Accepts NULL. Work already enqueued still completes. No other thread may be
 *  in a call of it. */
KILN_API void kiln_graph_destroy(kiln_graph *graph);

/**
 * A further argument of calls: an array of any dtype and rank, or a number.
 *
 * A call takes the inputs in the order in which they were made. `name` is copied and used in
 * messages. It must not be empty, and no other input may have it (ERR_NAME).
 */
#define kiln_graph_input(graph, name)                                                              \
    kiln_node_input((graph), (name), KILN_DTYPE_NONE, -1, KILN_HERE)

/** The same with a fixed dtype (KILN_DTYPE_NONE: any) and a fixed rank (-1: any). A call with
 *  another dtype or rank fails (ERR_DTYPE, ERR_SHAPE); a number must fit the dtype (ERR_RANGE). */
#define kiln_graph_input_of(graph, name, dtype, rank)                                              \
    kiln_node_input((graph), (name), (dtype), (rank), KILN_HERE)

/** Name a result. Outputs follow the inputs in a call's arguments, in the order of these calls. A
 *  call computes what its outputs need, and nothing else. ERR_NAME as for inputs. */
#define kiln_graph_output(graph, name, node)                                                       \
    kiln_node_output((graph), (name), KILN_NODE(node), KILN_HERE)

/** The functions behind kiln_graph_input(), kiln_graph_input_of() and kiln_graph_output(). They do
 *  not fail, as no recording function does: see kiln/node.h. */
KILN_API kiln_node kiln_node_input(kiln_graph *graph, const char *name, kiln_dtype dtype, int rank,
                                   const char *file, int line);
KILN_API void kiln_node_output(kiln_graph *graph, const char *name, kiln_node node,
                               const char *file, int line);

/**
 * Seal the graph, and report the first mistake that was made while it was recorded.
 *
 * No kernel is compiled yet: a call compiles the kernels that it needs first. The first call of a
 * graph seals it, too; sealing a sealed graph does nothing. Recording into a sealed graph changes
 * nothing, and the next call reports it as an error, once.
 *
 * @return The first mistake: ERR_ARGUMENT, ERR_AXIS, ERR_DTYPE, ERR_NAME, ERR_CONTEXT,
 *         ERR_UNSUPPORTED, ERR_NO_MEMORY; ERR_OUTPUT if no output was named. The graph can then not
 *         be called.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_compile(kiln_graph *graph, kiln_error *err);

/* ---- calling it ------------------------------------------------------------------------------ */

/**
 * Run: enqueue all kernels on the call's stream and return. kiln_call() is the same with plain C
 * values.
 *
 * Inputs come first, in the order in which they were made, then outputs. An input is an array or a
 * weak number. An output is an array, or the address of an array pointer; if that pointer is NULL,
 * the output is allocated. A given output must have the result's dtype and shape. Outputs may
 * overlap inputs in any way: results are as if every input had been copied first. An input that no
 * output needs must be passed too, and is not read.
 *
 * @param args  `arg_count` arguments: one for each input and output.
 * @param opts  May be NULL for defaults.
 * @return ERR_ARGUMENT_COUNT, ERR_ARGUMENT, ERR_NULL, ERR_RELEASED, ERR_CONTEXT, ERR_DTYPE,
 *         ERR_RANGE, ERR_SHAPE, ERR_AXIS, ERR_IDENTITY, ERR_OUTPUT, ERR_OVERLAP, and those of
 *         kiln_elementwise_run() for its kernels. Messages name the operation, the shapes, and the
 *         place where the operation was recorded. After a failure no output pointer has changed.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_run(kiln_graph *graph, const kiln_arg *args,
                                                   size_t arg_count,
                                                   const kiln_graph_call_options *opts,
                                                   kiln_error *err);

/**
 * Do everything but the launches once, as kiln_elementwise_prepare(); kiln_launch_run() then
 * enqueues all kernels.
 *
 * The launch keeps the arrays and the temporaries of the call. If it has several kernels, it must
 * not run on two streams at once. kiln_launch_destroy() releases it.
 * @return As kiln_graph_run(); ERR_OVERLAP where an input would have to be copied first.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_prepare(kiln_graph *graph, const kiln_arg *args,
                                                       size_t arg_count,
                                                       const kiln_graph_call_options *opts,
                                                       kiln_launch **out, kiln_error *err);

/* ---- seeing what a call does ----------------------------------------------------------------- */

/* These take the arguments of a call and do its checks. Nothing is compiled or run, and outputs
 * that would be allocated stay as they are. Texts are the caller's: free them with kiln_free(). */

/** How many kernels a call with these arguments launches. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_kernel_count(kiln_graph *graph, const kiln_arg *args,
                                                            size_t arg_count, size_t *count_out,
                                                            kiln_error *err);

/** The kernels of such a call, why each is one, and the bytes it moves, as text for people. Its
 *  form may change between versions. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_explain(kiln_graph *graph, const kiln_arg *args,
                                                       size_t arg_count, char **text_out,
                                                       kiln_error *err);

/** The same as a graph in Graphviz's DOT language (`dot -Tsvg`), with a box around each kernel. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_dot(kiln_graph *graph, const kiln_arg *args,
                                                   size_t arg_count, char **text_out,
                                                   kiln_error *err);

/** The generated source of kernel number `kernel` (from 0) of such a call. ERR_ARGUMENT when there
 *  are fewer. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_source(kiln_graph *graph, const kiln_arg *args,
                                                      size_t arg_count, size_t kernel,
                                                      char **text_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
