/**
 * @file kiln/graph.h
 * @brief Record an expression once, run it as few fused kernels, as often as wanted.
 *
 *     kiln_graph *g = NULL;
 *     kiln_array *z = NULL;
 *     kiln_graph_create(ctx, NULL, &g, &err);
 *     kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
 *     kiln_node r = kiln_sqrt(kiln_add(kiln_multiply(x, x), kiln_multiply(y, y)));
 *     kiln_graph_output(g, "z", kiln_sum(kiln_multiply(r, kiln_exp(kiln_negative(x))), KILN_AXES(1)));
 *     kiln_graph_compile(g, &err);
 *     kiln_call(g, &err, a, b, &z);   // a and b of any dtype and shape that fit; z allocated
 *
 * Nodes are values: copy them, pass them on, use one in several places. Plain C numbers may stand
 * wherever a node may; they are weak, as Python's numbers are in NumPy 2: `kiln_add(x, 1)` has x's
 * dtype. So are numbers given as arguments, and what is computed from numbers alone: with a number
 * for y, `kiln_multiply(x, kiln_exp(y))` has x's dtype too. Dtypes and shapes follow from the arrays
 * of each call, by NumPy's rules.
 *
 * Functions that record nodes do not fail. The graph keeps the first mistake, with the operation and
 * the place in the program where it was recorded, and kiln_graph_compile() reports it. Nodes that use
 * a faulty node are faulty too, and report nothing of their own. A node can only use nodes that were
 * made before it, so a graph has no cycles.
 *
 * Threads: recording belongs to one thread at a time. A compiled graph is immutable: any number of
 *          threads may call it at once.
 * Units:   shapes count elements.
 * Owner:   whoever calls kiln_graph_create() destroys the graph; its nodes go with it. Custom
 *          kernels that became nodes must outlive the graph.
 */
#ifndef KILN_GRAPH_H
#define KILN_GRAPH_H

#include "kiln/reduction.h"

typedef struct kiln_graph kiln_graph;

/** What a kiln_node holds. */
typedef enum kiln_node_kind {
    KILN_NODE_NOTHING = 0, /**< A faulty node; also what `{0}` is. */
    KILN_NODE_GRAPH,       /**< Node `id` of `graph`. */
    KILN_NODE_BOOL,        /**< Plain numbers: weak constants. */
    KILN_NODE_INT,
    KILN_NODE_UINT,
    KILN_NODE_FLOAT,
    KILN_NODE_COMPLEX
} kiln_node_kind;

/** A value of a graph, or a plain number that may become one. Pass it by value. */
typedef struct kiln_node {
    kiln_graph *graph; /**< NULL for plain numbers. */
    uint32_t id;
    uint32_t kind; /**< kiln_node_kind */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2];
    } value; /**< Of a plain number. */
} kiln_node;

/** Choices for kiln_graph_create(). Zero in a field means its default. */
typedef struct kiln_graph_options {
    size_t struct_size; /**< sizeof(kiln_graph_options) as the caller compiled it. */
    const char *name;   /**< Begins the names of kernels, a C identifier; NULL: "kiln_graph". */
} kiln_graph_options;

#define KILN_GRAPH_OPTIONS_INIT {sizeof(kiln_graph_options), NULL}

/** Choices for one call of a graph. Zero in a field means its default. */
typedef struct kiln_graph_call_options {
    size_t struct_size;  /**< sizeof(kiln_graph_call_options) as the caller compiled it. */
    kiln_stream *stream; /**< NULL: the context's own stream. */
} kiln_graph_call_options;

#define KILN_GRAPH_CALL_OPTIONS_INIT {sizeof(kiln_graph_call_options), NULL}

/** The place in the caller's program: the last two arguments of every recording function. */
#define KILN_HERE __FILE__, __LINE__

KILN_EXTERN_C_BEGIN

/* ---- a graph --------------------------------------------------------------------------------- */

/** Begin an empty graph. `opts` may be NULL. ERR_NULL, ERR_NAME, ERR_NO_MEMORY. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_create(kiln_context *ctx,
                                                      const kiln_graph_options *opts,
                                                      kiln_graph **out, kiln_error *err);

/** As the _INIT macros, for languages without them; pass sizeof(*opts). */
KILN_API void kiln_graph_options_init(kiln_graph_options *opts, size_t struct_size);
KILN_API void kiln_graph_call_options_init(kiln_graph_call_options *opts, size_t struct_size);

/** Release the graph. Accepts NULL. Work already enqueued still completes. */
KILN_API void kiln_graph_destroy(kiln_graph *graph);

/** A further argument of calls: an array of any dtype and rank, or a number. `name` is copied. */
#define kiln_graph_input(graph, name)                                                              \
    kiln_node_input((graph), (name), KILN_DTYPE_NONE, -1, KILN_HERE)

/** The same, held to a dtype (KILN_DTYPE_NONE: any) and a rank (-1: any). A number given for it
 *  must fit the dtype. */
#define kiln_graph_input_of(graph, name, dtype, rank)                                              \
    kiln_node_input((graph), (name), (dtype), (rank), KILN_HERE)

/** Name a result: outputs follow the inputs in a call's arguments, in the order of these calls. */
#define kiln_graph_output(graph, name, node)                                                       \
    kiln_node_output((graph), (name), KILN_NODE(node), KILN_HERE)

KILN_API kiln_node kiln_node_input(kiln_graph *graph, const char *name, kiln_dtype dtype, int rank,
                                   const char *file, int line);
KILN_API void kiln_node_output(kiln_graph *graph, const char *name, kiln_node node,
                               const char *file, int line);

/**
 * Seal the graph. Recording into it afterwards is an error that the next call reports once; the
 * graph stays as it is and callable. Compiles nothing yet: kernels are made when a call first
 * needs them. Calling it again does nothing. The first call of a graph seals it as well.
 *
 * @return What recording met first: ERR_ARGUMENT, ERR_AXIS, ERR_NAME, ERR_CONTEXT, ERR_NO_MEMORY;
 *         ERR_OUTPUT when no output was named. A graph that failed stays failed.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_compile(kiln_graph *graph, kiln_error *err);

/**
 * Run: enqueue all kernels on the call's stream and return.
 *
 * Inputs first, in the order they were made, then outputs. An input is an array or a number (weak,
 * as a constant); an output an array, or the address of an array pointer: allocated when it points
 * at NULL. Given outputs must have the result's dtype and shape. Outputs may overlap inputs in any
 * way: results are as if every input had been copied first. An input that no output needs must be
 * given all the same; it is not looked at beyond its handle.
 *
 * @param opts May be NULL for defaults.
 * @return ERR_ARGUMENT_COUNT, ERR_ARGUMENT, ERR_NULL, ERR_RELEASED, ERR_CONTEXT, ERR_DTYPE,
 *         ERR_RANGE, ERR_SHAPE, ERR_AXIS, ERR_IDENTITY, ERR_OUTPUT, ERR_OVERLAP and whatever a
 *         kernel may return. Messages name the operation, the shapes and where it was recorded.
 *         After a failure no output pointer has changed.
 */
KILN_API KILN_NODISCARD kiln_status kiln_graph_run(kiln_graph *graph, const kiln_arg *args,
                                                   size_t arg_count, const kiln_graph_call_options *opts,
                                                   kiln_error *err);

/** Do everything but the launches once; kiln_launch_run() then enqueues all kernels. Arrays, and
 *  temporaries, are kept by the result: one with several kernels must not run on two streams at
 *  once. ERR_OVERLAP where an input would have to be copied. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_prepare(kiln_graph *graph, const kiln_arg *args,
                                                       size_t arg_count,
                                                       const kiln_graph_call_options *opts,
                                                       kiln_launch **out, kiln_error *err);

/* ---- seeing what a call does ------------------------------------------------------------------ */

/** How many kernels a call with these arguments launches; nothing is compiled or run. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_kernel_count(kiln_graph *graph, const kiln_arg *args,
                                                            size_t arg_count, size_t *count_out,
                                                            kiln_error *err);

/** The kernels of such a call, why each is one, and the bytes it moves, as text for people; free
 *  it with kiln_free(). Its form may change between versions. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_explain(kiln_graph *graph, const kiln_arg *args,
                                                       size_t arg_count, char **text_out,
                                                       kiln_error *err);

/** The same as a graph in Graphviz's DOT, kernels as boxes. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_dot(kiln_graph *graph, const kiln_arg *args,
                                                   size_t arg_count, char **text_out,
                                                   kiln_error *err);

/** The generated source of kernel number `kernel` (from 0) of such a call. ERR_ARGUMENT when there
 *  are fewer. */
KILN_API KILN_NODISCARD kiln_status kiln_graph_source(kiln_graph *graph, const kiln_arg *args,
                                                      size_t arg_count, size_t kernel,
                                                      char **text_out, kiln_error *err);

/* ---- operations: kiln/ops.h has a macro for each ---------------------------------------------- */

/** Operation `op` (a kiln_op) of one, two or three operands. */
KILN_API kiln_node kiln_node_op1(int op, kiln_node a, const char *file, int line);
KILN_API kiln_node kiln_node_op2(int op, kiln_node a, kiln_node b, const char *file, int line);
KILN_API kiln_node kiln_node_op3(int op, kiln_node a, kiln_node b, kiln_node c, const char *file,
                                 int line);

/** Two operations on the same operands: NumPy's functions with two results, as
 *  kiln_divmod(x, y, &quotient, &remainder). A graph whose outputs need both computes them in one
 *  kernel. The addresses must not be NULL, and may be those of the operands' own variables. */
static inline void kiln_node_pair1(int first, int second, kiln_node a, kiln_node *first_out,
                                   kiln_node *second_out, const char *file, int line)
{
    *first_out = kiln_node_op1(first, a, file, line);
    *second_out = kiln_node_op1(second, a, file, line);
}
static inline void kiln_node_pair2(int first, int second, kiln_node a, kiln_node b,
                                   kiln_node *first_out, kiln_node *second_out, const char *file,
                                   int line)
{
    *first_out = kiln_node_op2(first, a, b, file, line);
    *second_out = kiln_node_op2(second, a, b, file, line);
}

/** x converted as kiln_array_cast() does. */
#define kiln_cast(x, dtype) kiln_node_cast(KILN_NODE(x), (dtype), KILN_HERE)
KILN_API kiln_node kiln_node_cast(kiln_node x, kiln_dtype dtype, const char *file, int line);

/* ---- reductions ------------------------------------------------------------------------------- */

/**
 * A named reduction. `axes` NULL: all. `dtype` other than KILN_DTYPE_NONE: elements are converted
 * to it first, and so is the result (NumPy's dtype=).
 */
KILN_API kiln_node kiln_node_reduce(kiln_reduce_op op, kiln_node x, const kiln_axes *axes,
                                    bool keepdims, kiln_dtype dtype, const char *file, int line);

#define kiln__node_over(op, x, axes, keepdims)                                                      \
    kiln_node_reduce(KILN_REDUCE_##op, KILN_NODE(x), (axes), (keepdims), KILN_DTYPE_NONE, KILN_HERE)
#define kiln_sum(x, axes) kiln__node_over(SUM, x, axes, false)
#define kiln_prod(x, axes) kiln__node_over(PROD, x, axes, false)
#define kiln_min(x, axes) kiln__node_over(MIN, x, axes, false)
#define kiln_max(x, axes) kiln__node_over(MAX, x, axes, false)
#define kiln_argmin(x, axes) kiln__node_over(ARGMIN, x, axes, false)
#define kiln_argmax(x, axes) kiln__node_over(ARGMAX, x, axes, false)
#define kiln_any(x, axes) kiln__node_over(ANY, x, axes, false)
#define kiln_all(x, axes) kiln__node_over(ALL, x, axes, false)
#define kiln_mean(x, axes) kiln__node_over(MEAN, x, axes, false)
#define kiln_var(x, axes) kiln__node_over(VAR, x, axes, false)
#define kiln_std(x, axes) kiln__node_over(STD, x, axes, false)
#define kiln_count_nonzero(x, axes) kiln__node_over(COUNT_NONZERO, x, axes, false)
#define kiln_norm1(x, axes) kiln__node_over(NORM1, x, axes, false)
#define kiln_norm2(x, axes) kiln__node_over(NORM2, x, axes, false)
#define kiln_norminf(x, axes) kiln__node_over(NORMINF, x, axes, false)

/** As the macros above with keepdims: reduced axes stay with extent 1, ready to broadcast back. */
#define kiln_sum_keep(x, axes) kiln__node_over(SUM, x, axes, true)
#define kiln_prod_keep(x, axes) kiln__node_over(PROD, x, axes, true)
#define kiln_min_keep(x, axes) kiln__node_over(MIN, x, axes, true)
#define kiln_max_keep(x, axes) kiln__node_over(MAX, x, axes, true)
#define kiln_mean_keep(x, axes) kiln__node_over(MEAN, x, axes, true)
#define kiln_var_keep(x, axes) kiln__node_over(VAR, x, axes, true)
#define kiln_std_keep(x, axes) kiln__node_over(STD, x, axes, true)
#define kiln_norm2_keep(x, axes) kiln__node_over(NORM2, x, axes, true)

/* ---- custom kernels as nodes ------------------------------------------------------------------ */

/** Output number `result` of a kernel of one's own over `inputs` (as many as it declares). Raw
 *  parameters get the node's whole array. The kernel must not write its inputs. */
KILN_API kiln_node kiln_node_elementwise(kiln_elementwise *op, const kiln_node *inputs,
                                         size_t input_count, size_t result, const char *file,
                                         int line);

/** The same for a reduction. */
KILN_API kiln_node kiln_node_reduction(kiln_reduction *op, const kiln_node *inputs,
                                       size_t input_count, const kiln_axes *axes, bool keepdims,
                                       size_t result, const char *file, int line);

/* ---- views: no element moves ------------------------------------------------------------------ */

/** As the functions of the same names in kiln/array.h. */
#define kiln_transpose(x, axes) kiln_node_transpose(KILN_NODE(x), (axes), KILN_HERE)
#define kiln_newaxis(x, axis) kiln_node_newaxis(KILN_NODE(x), (axis), KILN_HERE)
#define kiln_flip(x, axis) kiln_node_flip(KILN_NODE(x), (axis), KILN_HERE)
#define kiln_select(x, axis, index) kiln_node_select(KILN_NODE(x), (axis), (index), KILN_HERE)
#define kiln_slice(x, axis, start, stop, step)                                                     \
    kiln_node_slice(KILN_NODE(x), (axis), (start), (stop), (step), KILN_HERE)
#define kiln_broadcast_to(x, rank, shape)                                                          \
    kiln_node_broadcast_to(KILN_NODE(x), (rank), (shape), KILN_HERE)
#define kiln_reshape(x, rank, shape) kiln_node_reshape(KILN_NODE(x), (rank), (shape), KILN_HERE)

/** `axes` NULL reverses; else a permutation of all axes. */
KILN_API kiln_node kiln_node_transpose(kiln_node x, const kiln_axes *axes, const char *file,
                                       int line);
KILN_API kiln_node kiln_node_newaxis(kiln_node x, int axis, const char *file, int line);
KILN_API kiln_node kiln_node_flip(kiln_node x, int axis, const char *file, int line);
KILN_API kiln_node kiln_node_select(kiln_node x, int axis, int64_t index, const char *file, int line);
KILN_API kiln_node kiln_node_slice(kiln_node x, int axis, int64_t start, int64_t stop, int64_t step,
                                   const char *file, int line);
KILN_API kiln_node kiln_node_broadcast_to(kiln_node x, int rank, const int64_t *shape,
                                          const char *file, int line);
KILN_API kiln_node kiln_node_reshape(kiln_node x, int rank, const int64_t *shape, const char *file,
                                     int line);

/* ---- positions -------------------------------------------------------------------------------- */

/** For every element of x's shape, its position along `axis`; int64. Takes no memory. */
#define kiln_iota(x, axis) kiln_node_iota(KILN_NODE(x), (axis), KILN_HERE)
KILN_API kiln_node kiln_node_iota(kiln_node x, int axis, const char *file, int line);

/** 0, 1, ..., count - 1; int64. Takes no memory. */
#define kiln_arange(graph, count) kiln_node_arange((graph), (count), KILN_HERE)
KILN_API kiln_node kiln_node_arange(kiln_graph *graph, int64_t count, const char *file, int line);

/* ---- plain numbers as nodes ------------------------------------------------------------------- */

static inline kiln_node kiln_node_of_bool(bool v)
{
    kiln_node n = {0, 0, KILN_NODE_BOOL, {0}};
    n.value.b = v;
    return n;
}
static inline kiln_node kiln_node_of_int(int64_t v)
{
    kiln_node n = {0, 0, KILN_NODE_INT, {0}};
    n.value.i = v;
    return n;
}
static inline kiln_node kiln_node_of_uint(uint64_t v)
{
    kiln_node n = {0, 0, KILN_NODE_UINT, {0}};
    n.value.u = v;
    return n;
}
static inline kiln_node kiln_node_of_float(double v)
{
    kiln_node n = {0, 0, KILN_NODE_FLOAT, {0}};
    n.value.f = v;
    return n;
}
static inline kiln_node kiln_node_of_complex(double re, double im)
{
    kiln_node n = {0, 0, KILN_NODE_COMPLEX, {0}};
    n.value.c[0] = re;
    n.value.c[1] = im;
    return n;
}
static inline kiln_node kiln_node_of_node(kiln_node v) { return v; }

KILN_EXTERN_C_END

#ifdef __cplusplus
static inline kiln_node kiln_node_of(kiln_node v) { return v; }
static inline kiln_node kiln_node_of(bool v) { return kiln_node_of_bool(v); }
static inline kiln_node kiln_node_of(signed char v) { return kiln_node_of_int(v); }
static inline kiln_node kiln_node_of(short v) { return kiln_node_of_int(v); }
static inline kiln_node kiln_node_of(int v) { return kiln_node_of_int(v); }
static inline kiln_node kiln_node_of(long v) { return kiln_node_of_int(v); }
static inline kiln_node kiln_node_of(long long v) { return kiln_node_of_int(v); }
static inline kiln_node kiln_node_of(unsigned char v) { return kiln_node_of_uint(v); }
static inline kiln_node kiln_node_of(unsigned short v) { return kiln_node_of_uint(v); }
static inline kiln_node kiln_node_of(unsigned int v) { return kiln_node_of_uint(v); }
static inline kiln_node kiln_node_of(unsigned long v) { return kiln_node_of_uint(v); }
static inline kiln_node kiln_node_of(unsigned long long v) { return kiln_node_of_uint(v); }
static inline kiln_node kiln_node_of(float v) { return kiln_node_of_float((double)v); }
static inline kiln_node kiln_node_of(double v) { return kiln_node_of_float(v); }
template <class T> kiln_node kiln_node_of(T) = delete;
#define KILN_NODE(v) kiln_node_of(v)
#else
/* C11 6.2.5p13: a complex value is laid out as its real part, then its imaginary part. */
static inline kiln_node kiln__node_c128(double _Complex v)
{
    union {
        double _Complex whole;
        double part[2];
    } u = {v};
    return kiln_node_of_complex(u.part[0], u.part[1]);
}
static inline kiln_node kiln__node_c64(float _Complex v)
{
    return kiln__node_c128((double _Complex)v);
}

/** A node, or a plain number as one; other types do not compile. */
#define KILN_NODE(v)                                                                               \
    _Generic((v),                                                                                  \
        kiln_node: kiln_node_of_node,                                                              \
        _Bool: kiln_node_of_bool,                                                                  \
        signed char: kiln_node_of_int,                                                             \
        short: kiln_node_of_int,                                                                   \
        int: kiln_node_of_int,                                                                     \
        long: kiln_node_of_int,                                                                    \
        long long: kiln_node_of_int,                                                               \
        unsigned char: kiln_node_of_uint,                                                          \
        unsigned short: kiln_node_of_uint,                                                         \
        unsigned int: kiln_node_of_uint,                                                           \
        unsigned long: kiln_node_of_uint,                                                          \
        unsigned long long: kiln_node_of_uint,                                                     \
        float: kiln_node_of_float,                                                                 \
        double: kiln_node_of_float,                                                                \
        float _Complex: kiln__node_c64,                                                            \
        double _Complex: kiln__node_c128)(v)
#endif

#include "kiln/ops.h"

#endif
