/**
 * @file kiln/node.h
 * @brief kiln_node: a value of a graph, and the functions that record one from others.
 *
 * A node stands for an array that a graph will compute: an input, or an operation on other nodes.
 * Its dtype and shape follow from the arrays of each call, by NumPy's rules. kiln/graph.h makes the
 * graph that nodes belong to and runs it; kiln/ops.h has a macro for every elementwise operation.
 *
 *     kiln_graph *g = NULL;
 *     kiln_array *z = NULL;
 *     kiln_graph_create(ctx, NULL, &g, &err);
 *     kiln_node a = kiln_graph_input(g, "a");
 *     kiln_node centred = kiln_subtract(a, kiln_mean_keep(a, KILN_AXES(-1)));
 *     kiln_node inner = kiln_slice(centred, 0, 1, -1, 1);        // without the first and last row
 *     kiln_graph_output(g, "z", kiln_multiply(inner, 2));        // 2 takes the dtype of `inner`
 *     kiln_call(g, &err, x, &z);                                 // one kernel; shape (2, 3)
 *     kiln_array_release(z);
 *     kiln_graph_destroy(g);
 *
 * Numbers: every macro takes plain C numbers in place of nodes. A plain number is weak, as Python's
 *          numbers are in NumPy 2: `kiln_add(a, 1)` has the dtype of `a`. The result of numbers
 *          alone is weak, too.
 * Errors:  no function here returns a status. The graph keeps the first mistake, with its operation
 *          and the program's line. kiln_graph_compile() or the first call reports it, with one of
 *          the statuses named below. A node that uses a faulty node is faulty, and reports nothing.
 *          Mistakes in dtypes and shapes (ERR_DTYPE, ERR_SHAPE, and ERR_AXIS for an axis out of
 *          range) are reported by the call whose arguments show them.
 * Owner:   nodes belong to their graph and go with it. A kiln_node is a plain value: copy it, pass
 *          it on, use it in several places; equal operations on equal nodes are one node.
 * Threads: recording into one graph belongs to one thread at a time.
 * Macros:  each macro passes its own place, KILN_HERE, and turns plain numbers into nodes. The
 *          functions behind them, kiln_node_...(), are for languages without macros.
 */
#ifndef KILN_NODE_H
#define KILN_NODE_H

#include "kiln/reduction.h"

/** Nodes and how they are computed. Immutable once it is compiled; see kiln/graph.h. */
typedef struct kiln_graph kiln_graph;

/** What a kiln_node holds. */
typedef enum kiln_node_kind {
    KILN_NODE_NOTHING = 0, /**< A faulty node; also what `{0}` is. */
    KILN_NODE_GRAPH,       /**< Node `id` of `graph`. */
    KILN_NODE_BOOL,        /**< A plain number, in `value.b`. */
    KILN_NODE_INT,         /**< A plain number, in `value.i`. */
    KILN_NODE_UINT,        /**< A plain number, in `value.u`. */
    KILN_NODE_FLOAT,       /**< A plain number, in `value.f`. */
    KILN_NODE_COMPLEX      /**< A plain number, in `value.c`. */
} kiln_node_kind;

/** A value of a graph, or a plain number that may become one. Pass it by value. */
typedef struct kiln_node {
    kiln_graph *graph; /**< NULL for plain numbers. */
    uint32_t id;       /**< Number of the node, in the order of recording. */
    uint32_t kind;     /**< kiln_node_kind */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double f;
        double c[2]; /**< Real and imaginary part. */
    } value;         /**< Of a plain number. */
} kiln_node;

/** The place in the caller's program: the last two arguments of every recording function. Messages
 *  name it. `file` is copied. */
#define KILN_HERE __FILE__, __LINE__

/** KILN_NODE(v): a node as it is, or a plain number as a node. Other types do not compile. */
#define KILN_NODE(v) KILN__NODE(v)

KILN_EXTERN_C_BEGIN

/* ---- plain numbers as nodes ------------------------------------------------------------------ */

/** kiln_node_of_bool(bool), kiln_node_of_int(int64_t), kiln_node_of_uint(uint64_t) and
 *  kiln_node_of_float(double): a weak number, as KILN_NODE() makes it. */
#define KILN__NODE_FUNCTION(name, type, its_kind, member)                                          \
    static inline kiln_node kiln_node_of_##name(type v)                                            \
    {                                                                                              \
        kiln_node n = {0, 0, its_kind, {0}};                                                       \
        n.value.member = v;                                                                        \
        return n;                                                                                  \
    }
KILN__NODE_FUNCTION(bool, bool, KILN_NODE_BOOL, b)
KILN__NODE_FUNCTION(int, int64_t, KILN_NODE_INT, i)
KILN__NODE_FUNCTION(uint, uint64_t, KILN_NODE_UINT, u)
KILN__NODE_FUNCTION(float, double, KILN_NODE_FLOAT, f)
#undef KILN__NODE_FUNCTION

/** The same for a complex number. Combined with it, other numbers and arrays become complex. */
static inline kiln_node kiln_node_of_complex(double re, double im)
{
    kiln_node n = {0, 0, KILN_NODE_COMPLEX, {0}};
    n.value.c[0] = re;
    n.value.c[1] = im;
    return n;
}

/* ---- operations: kiln/ops.h has a macro for each --------------------------------------------- */

/**
 * Operation `op` (a kiln_op) of one, two or three operands: what kiln_sqrt(a), kiln_add(a, b) and
 * kiln_where(a, b, c) expand to.
 *
 * Operands broadcast against each other to the result's shape. docs/operations.md says which dtypes
 * an operation takes and gives. At least one operand is a node, and all nodes are of one graph.
 * @return The node. It is faulty, and compiling reports: ERR_ARGUMENT if the operation does not
 *         exist or an operand is no node, ERR_ARGUMENT_COUNT if the operation takes another number
 *         of operands, ERR_CONTEXT for nodes of two graphs, ERR_UNSUPPORTED for more nodes than a
 *         graph holds.
 */
KILN_API kiln_node kiln_node_op1(int op, kiln_node a, const char *file, int line);
KILN_API kiln_node kiln_node_op2(int op, kiln_node a, kiln_node b, const char *file, int line);
KILN_API kiln_node kiln_node_op3(int op, kiln_node a, kiln_node b, kiln_node c, const char *file,
                                 int line);

/* NumPy's functions with two results, as kiln_divmod(x, y, &quotient, &remainder), are macros of
 * kiln/ops.h too. Each records two operations on the same operands, which one kernel computes if
 * both are needed. The addresses must not be NULL; they may be those of the operands' variables. */

/**
 * x converted to `dtype`, as kiln_array_cast() does: float to integer truncates toward zero,
 * complex to real keeps the real part, anything to bool is `!= 0`.
 *
 * The kernel that uses the value converts it; no array of the other dtype is made. ERR_DTYPE if
 * `dtype` is no kiln_dtype.
 */
#define kiln_cast(x, dtype) kiln_node_cast(KILN_NODE(x), (dtype), KILN_HERE)
KILN_API kiln_node kiln_node_cast(kiln_node x, kiln_dtype dtype, const char *file, int line);

/* ---- reductions ------------------------------------------------------------------------------ */

/**
 * A named reduction of kiln/reduction.h, with its rules for dtypes, NaN and empty axes.
 *
 * @param axes     Those to reduce, read during the call; NULL: all. An axis that is out of range
 *                 for the rank of a call's arrays, or named twice, is ERR_AXIS of that call.
 * @param keepdims Keep reduced axes with extent 1, so that the result broadcasts against x.
 * @param dtype    KILN_DTYPE_NONE, or what elements are converted to first, and the dtype of the
 *                 result (NumPy's dtype=).
 */
KILN_API kiln_node kiln_node_reduce(kiln_reduce_op op, kiln_node x, const kiln_axes *axes,
                                    bool keepdims, kiln_dtype dtype, const char *file, int line);

/**
 * kiln_sum(x, axes) and so on: the named reductions over `axes`, a `const kiln_axes *`, as
 * KILN_AXES(0, -1) makes one; KILN_ALL_AXES reduces to a single element of shape ().
 *
 * Reduced axes disappear; those of the macros that end in _keep stay with extent 1, ready to
 * broadcast back against x, as in kiln_subtract(x, kiln_max_keep(x, axes)). Reductions of the same
 * values over the same axes share one pass over memory.
 */
#define kiln__node_over(op, x, axes, keepdims)                                                     \
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
#define kiln_sum_keep(x, axes) kiln__node_over(SUM, x, axes, true)
#define kiln_prod_keep(x, axes) kiln__node_over(PROD, x, axes, true)
#define kiln_min_keep(x, axes) kiln__node_over(MIN, x, axes, true)
#define kiln_max_keep(x, axes) kiln__node_over(MAX, x, axes, true)
#define kiln_mean_keep(x, axes) kiln__node_over(MEAN, x, axes, true)
#define kiln_var_keep(x, axes) kiln__node_over(VAR, x, axes, true)
#define kiln_std_keep(x, axes) kiln__node_over(STD, x, axes, true)
#define kiln_norm2_keep(x, axes) kiln__node_over(NORM2, x, axes, true)

/* ---- matrix products ------------------------------------------------------------------------- */

/**
 * `a @ b`: the matrix product of the last two axes of a and b, by the rules of kiln_matmul() for
 * shapes and dtypes, and by the same libraries. kiln/linalg.h describes both.
 *
 * A product is a step of its own between stored arrays. A transposed or sliced operand is passed
 * with its strides. A computed operand is stored by one kernel first. The elementwise operations
 * behind the product, up to the next reduction, are one kernel too. If the shapes do not fit, the
 * call returns ERR_SHAPE.
 */
#define kiln_dot(a, b) kiln_node_matmul(KILN_NODE(a), KILN_NODE(b), KILN_HERE)
KILN_API kiln_node kiln_node_matmul(kiln_node a, kiln_node b, const char *file, int line);

/**
 * Equations and factors: result number `result` (from 0) of kiln_linalg_NAME(), with the shapes,
 * dtypes and errors of that function. The call returns ERR_SINGULAR for a singular matrix.
 *
 * `function` is the NAME: of one array "inv", "pinv", "det", "slogdet", "cholesky", "qr", "svd",
 * "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "lu", "lu_factor", "ldl", "expm", "matrix_rank";
 * of two "solve", "solve_triangular", "cho_solve", "lstsq" (ERR_NAME for others). Options have
 * their defaults: lower triangles are read. All results of one function over the same arrays come
 * from one call of the function, which is a step of its own between stored arrays.
 */
#define kiln_solve(a, b) kiln_node_linalg2("solve", KILN_NODE(a), KILN_NODE(b), 0, KILN_HERE)
#define kiln_inv(a) kiln_node_linalg1("inv", KILN_NODE(a), 0, KILN_HERE)
#define kiln_det(a) kiln_node_linalg1("det", KILN_NODE(a), 0, KILN_HERE)
#define kiln_cholesky(a) kiln_node_linalg1("cholesky", KILN_NODE(a), 0, KILN_HERE)
KILN_API kiln_node kiln_node_linalg1(const char *function, kiln_node a, size_t result,
                                     const char *file, int line);
KILN_API kiln_node kiln_node_linalg2(const char *function, kiln_node a, kiln_node b, size_t result,
                                     const char *file, int line);

/**
 * kiln_array_einsum() of `count` nodes (16 at most, ERR_ARGUMENT), with its shapes, dtypes and
 * errors. kiln_node_linalg2() records other products: "dot", "inner", "outer", "kron", "matvec",
 * "vecmat".
 */
#define kiln_einsum(subscripts, nodes, count)                                                      \
    kiln_node_einsum((subscripts), (nodes), (count), KILN_HERE)
KILN_API kiln_node kiln_node_einsum(const char *subscripts, const kiln_node *operands, size_t count,
                                    const char *file, int line);

/* ---- custom kernels as nodes ----------------------------------------------------------------- */

/**
 * Output number `result` (from 0) of an elementwise kernel over `inputs`.
 *
 * The inputs are those that the kernel declares, in that order (ERR_ARGUMENT_COUNT). A raw
 * parameter gets the whole array of its node. For several outputs, record several nodes with the
 * same inputs. Dtypes are bound as in a call of the kernel. A kernel that writes its inputs or has
 * raw outputs cannot be a node (ERR_UNSUPPORTED). The kernel must belong to the graph's context and
 * outlive the graph.
 */
KILN_API kiln_node kiln_node_elementwise(kiln_elementwise *op, const kiln_node *inputs,
                                         size_t input_count, size_t result, const char *file,
                                         int line);

/** The same for a custom reduction, over `axes` of the broadcast of its inputs; axes and keepdims
 *  are as in kiln_node_reduce(). It is a kernel of its own, between stored arrays. */
KILN_API kiln_node kiln_node_reduction(kiln_reduction *op, const kiln_node *inputs,
                                       size_t input_count, const kiln_axes *axes, bool keepdims,
                                       size_t result, const char *file, int line);

/* ---- views: no element moves ----------------------------------------------------------------- */

/**
 * As the functions of the same names in kiln/array.h: kiln_transpose(x, axes) is for nodes what
 * kiln_array_transpose() is for arrays.
 *
 * A view of an input changes the strides and the offset with which a kernel reads it. A view of a
 * computed value changes the positions at which it is computed. Negative axes count from the end.
 * If an axis or an index is out of range for the arrays of a call, that call returns ERR_AXIS.
 */
#define kiln_transpose(x, axes) kiln_node_transpose(KILN_NODE(x), (axes), KILN_HERE)
#define kiln_newaxis(x, axis) kiln_node_newaxis(KILN_NODE(x), (axis), KILN_HERE)
#define kiln_flip(x, axis) kiln_node_flip(KILN_NODE(x), (axis), KILN_HERE)
#define kiln_select(x, axis, index) kiln_node_select(KILN_NODE(x), (axis), (index), KILN_HERE)
#define kiln_slice(x, axis, start, stop, step)                                                     \
    kiln_node_slice(KILN_NODE(x), (axis), (start), (stop), (step), KILN_HERE)
#define kiln_broadcast_to(x, rank, shape)                                                          \
    kiln_node_broadcast_to(KILN_NODE(x), (rank), (shape), KILN_HERE)
#define kiln_reshape(x, rank, shape) kiln_node_reshape(KILN_NODE(x), (rank), (shape), KILN_HERE)

/** Axis k of the result is axis axes->axis[k] of x. `axes` names every axis once, and is read
 *  during the call; NULL reverses their order. */
KILN_API kiln_node kiln_node_transpose(kiln_node x, const kiln_axes *axes, const char *file,
                                       int line);
/** Insert an axis of extent 1 before `axis`, which is 0 to x's rank, or negative and counted from
 *  the end. */
KILN_API kiln_node kiln_node_newaxis(kiln_node x, int axis, const char *file, int line);
/** Reverse the order of the elements along `axis`. */
KILN_API kiln_node kiln_node_flip(kiln_node x, int axis, const char *file, int line);
/** x[index] along `axis`, which disappears. A negative index counts from the end. */
KILN_API kiln_node kiln_node_select(kiln_node x, int axis, int64_t index, const char *file,
                                    int line);
/** x[start:stop:step] along `axis`, with Python's rules; KILN_SLICE_OPEN leaves a bound out.
 *  ERR_AXIS for a step of 0. */
KILN_API kiln_node kiln_node_slice(kiln_node x, int axis, int64_t start, int64_t stop, int64_t step,
                                   const char *file, int line);
/** Stretch axes of extent 1, and add leading ones, to the shape given. `shape` is copied; it may be
 *  NULL when rank is 0. ERR_SHAPE for a negative extent. */
KILN_API kiln_node kiln_node_broadcast_to(kiln_node x, int rank, const int64_t *shape,
                                          const char *file, int line);
/** The same elements in C-order under another shape, of which one extent may be -1 and is computed.
 *  The shape is copied. ERR_SHAPE for another negative extent, and of the call when sizes
 *  differ. */
KILN_API kiln_node kiln_node_reshape(kiln_node x, int rank, const int64_t *shape, const char *file,
                                     int line);

/* ---- positions ------------------------------------------------------------------------------- */

/**
 * For every element of x's shape its position along `axis`: int64, 0 to the extent minus 1.
 *
 * XLA and JAX call it iota. It takes no memory: kernels compute it where it is used, and do not
 * read x for it. For instance, the lower triangle of a matrix is
 * kiln_where(kiln_less_equal(kiln_iota(x, 1), kiln_iota(x, 0)), x, 0).
 */
#define kiln_iota(x, axis) kiln_node_iota(KILN_NODE(x), (axis), KILN_HERE)
KILN_API kiln_node kiln_node_iota(kiln_node x, int axis, const char *file, int line);

/**
 * The extent of x along `axis`, or with KILN_AXIS_FLAT the number of its elements: a plain whole
 * number, as weak as one in the program, whose value each call decides. One kernel serves all
 * extents. For instance, kiln_divide(kiln_sum(x, KILN_ALL_AXES), kiln_extent(x, KILN_AXIS_FLAT))
 * has the dtype of a mean. ERR_AXIS at the call for a bad axis.
 */
#define kiln_extent(x, axis) kiln_node_extent(KILN_NODE(x), (axis), KILN_HERE)
KILN_API kiln_node kiln_node_extent(kiln_node x, int axis, const char *file, int line);

/** 0, 1, ..., count - 1: an int64 vector that takes no memory. ERR_SHAPE for a negative count. */
#define kiln_arange(graph, count) kiln_node_arange((graph), (count), KILN_HERE)
KILN_API kiln_node kiln_node_arange(kiln_graph *graph, int64_t count, const char *file, int line);

KILN_EXTERN_C_END

#include "kiln/detail/node.h"
#include "kiln/ops.h"

#endif
