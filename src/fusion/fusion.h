/*
 * fusion.h - the header through which other folders use src/fusion: it turns a recorded graph into
 * the kernels of one call.
 *
 *     record > [lower > facts > online > states > stores > rows > size > order > schedule > sink > write]
 *            > program
 *
 * nodes.c     recorded nodes; equal ones are one
 * program.c   the passes in brackets, in order. What one finds about lowered nodes is a list of its
 *             own (build.h), which those after it read:
 *
 *     lower.c     kiln__ir, arguments    > lowered nodes with dtypes, shapes, explicit casts
 *     facts.c     lowered nodes          > users, costs, arguments beneath each lowered node
 *     online.c    reductions             > sums of exp(x - max(x)) without the pass that finds max(x)
 *     states.c    reductions             > the accumulator of each, and which may share one
 *     stores.c    facts                  > lowered nodes that something needs in memory
 *     rows.c      reductions, stores     > row programs: the reductions and loops of a row program
 *     size.c      stores, row programs   > lowered nodes stored so that no kernel is too large
 *     order.c     stores, row programs   > tasks, operands first
 *     schedule.c  tasks                  > kernels with levels
 *     sink.c      kernels                > kernels in order, results sunk into later ones
 *     write.c     kernels                > steps: definitions, parameters, temporaries
 *     parts.c     steps that only copy   > fewer of them
 *
 * and below them, each file using only those above it in its group:
 *
 *     build.c             memory and failures; sets.c: marks, sets and maps
 *     lowered.c           making lowered nodes
 *     maps.c              views as maps of axes; views.c, reshape.c: recorded views
 *     joins.c             rearrangements; gather.c: elements that index arrays name
 *     numbers.c           plain numbers, and what is computed from them alone
 *     extents.c           extents as numbers, and data that refers to them
 *     product_epilogue.c  epilogues of matrix products; topk.c: topk() as reductions
 *     why_dtype.c         which operand a dtype comes from
 *     snippet.c           which of the user's kernels can be inlined
 *     names.c             what stands for a lowered node in a text; values.c: where values are
 *     text.c              expressions, with text_snippet.c and text_gather.c
 *     text_loop.c, text_reduce.c, text_rows.c  the definitions of each kind of kernel
 *     explain.c           programs for people: text and DOT
 *
 * A program is a list of steps. Each is an ordinary kernel (a definition as a user could have
 * written it) with the arrays that it is called with. This folder knows nothing of what becomes of
 * definitions (planning, emission, compilation, cache), and no arrays and devices.
 *
 * Rule 1: equal graphs called with equal layouts give equal programs, byte for byte.
 * Rule 2: a program may depend on dtypes, shapes and strides, never on addresses or values.
 *
 * Threads: a recorded graph is changed by one thread; kiln__program_build() only reads it.
 */
#ifndef KILN_FUSION_FUSION_H
#define KILN_FUSION_FUSION_H

#include "codegen/codegen.h"
#include "kiln/indexing.h"
#include "kiln/linalg.h"
#include "kiln/reduction.h"
#include "ops/ops.h"

/* ---- recording (nodes.c) --------------------------------------------------------------------- */

typedef enum kiln__node_kind {
    KILN__NODE_INPUT = 1,
    KILN__NODE_CONSTANT, /* a plain number, weak */
    KILN__NODE_OP,
    KILN__NODE_CAST,
    KILN__NODE_REDUCE,
    KILN__NODE_VIEW,
    KILN__NODE_IOTA,   /* the position along an axis of the operand's shape; data: the axis, and whether
                          it is a vector along that axis alone */
    KILN__NODE_ARANGE, /* data: count */
    KILN__NODE_DRAW,   /* op: kiln_draw; key, draw, parameters; data: shape, or last operand's */
    KILN__NODE_GATHER, /* operands: array, indices; data: see KILN__GATHER_MODE */
    KILN__NODE_REARRANGED, /* op: kiln_rearrangement; data: its numbers */
    KILN__NODE_CUSTOM,     /* one output of a user's kernel */
    KILN__NODE_EXTENT,     /* a weak whole number of the operand's shape; data: an axis, KILN__EXTENT_ALL
                              or KILN__EXTENT_RANK; and how many axes there must be, or -1 */
    KILN__NODE_OPAQUE      /* one result of an operation that a C function does; data: its own */
} kiln__node_kind;

typedef enum kiln__view_kind {
    KILN__VIEW_TRANSPOSE, /* data: axes; none reverses */
    KILN__VIEW_NEWAXIS,   /* data: axis */
    KILN__VIEW_FLIP,      /* data: axis */
    KILN__VIEW_SELECT,    /* data: axis, index */
    KILN__VIEW_SLICE,     /* data: axis, start, stop, step */
    KILN__VIEW_BROADCAST, /* data: shape */
    KILN__VIEW_RESHAPE,   /* data: shape, or the second operand's */
    KILN__VIEW_MASKED, /* the first operand, checked: its first axes must be those of the second, a
                          mask */
    KILN__VIEW_LIKE,   /* the first operand, broadcast to the shape of the second */
    KILN__VIEW_OVER,   /* the first operand, with those axes of the second behind its own that it lacks */
    KILN__VIEW_BEFORE, /* the first operand, with all axes of the second added behind its own */
    KILN__VIEW_WHOLE,  /* the first operand, a mask, checked: it must have all axes of the second */
    KILN__VIEW_BESIDE, /* the first operand, checked: it broadcasts with the second one, of which the
                          first axes that a third operand, a mask, has, or the axis in data are of
                          unknown extent */
    KILN__VIEW_ALIGNED, /* data: an axis of the first operand, and one of the second: there are equally many
                           behind both */
    KILN__VIEW_APART,  /* data: two axes, which must be different ones of the operand */
    KILN__VIEW_RANKED, /* data: the operand must have so many axes at least, at most; KILN__HINT_... */
    KILN__VIEW_HOLDING, /* data: the operand must have an axis and an index along it */
    KILN__VIEW_SIZED,   /* data: an axis of the operand, and how many elements it must have there */
    KILN__VIEW_FILLED,  /* data: axes, none for all. The first operand or, where it has no elements along them, the
                           second, a number, with one element along such axes */
    KILN__VIEW_WEAK,   /* the operand, an int64 without axes, as a plain number */
    KILN__VIEW_FOLDED  /* data: axis. The first operand, with the axes from this one on that are those of
                          the second, a mask, merged into one; of one operand as many axes as the
                          next number says */
} kiln__view_kind;

/* What an array of another rank is told beside that. */
enum { KILN__HINT_NONE, KILN__HINT_AXIS, KILN__HINT_PLACES };

/* The data of an extent: the number of elements, and that of axes. */
enum { KILN__EXTENT_ALL = 1000, KILN__EXTENT_RANK = 1001 };

/* The data of a cast with a second operand, to whose dtype it converts: how floats become integers. That of one with a
 * dtype, if there is any: which casts NumPy's word casting= allows. */
enum { KILN__CAST_PLAIN, KILN__CAST_ROUND, KILN__CAST_FLOOR };
enum { KILN__CASTING_SAME_KIND, KILN__CASTING_SAFE, KILN__CASTING_NO };

/* The data of a gather: a kiln_index_mode; one of the second enum, which says where the result has
 * the axes of the index arrays; then the axis that each index array indexes. */
enum { KILN__GATHER_MODE, KILN__GATHER_KIND, KILN__GATHER_AXES };
enum {
    KILN__GATHER_TOGETHER, /* in place of the indexed axes, if these are neighbours; else first */
    KILN__GATHER_APART,    /* first */
    KILN__GATHER_ALONG     /* take_along_axis(): they are the axes of the array */
};

/* An operand or a result of an opaque operation, as far as planning knows it. */
typedef struct kiln__opaque_value {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
} kiln__opaque_value;

enum { KILN__OPAQUE_OPERANDS = 16, KILN__OPAQUE_RESULTS = 4 };

/* What the data of an opaque node is, and how expressions write it. */
typedef enum kiln__opaque_data {
    KILN__OPAQUE_NONE,
    KILN__OPAQUE_NUMBER,     /* an integer, written behind the operands */
    KILN__OPAQUE_NUMBERS,    /* an axis and numbers, written behind the operands */
    KILN__OPAQUE_LIST,       /* none; the operands, of any number, are written as a list */
    KILN__OPAQUE_SUBSCRIPTS, /* the subscripts of the elements that change (src/graph/subscripts.h) */
    KILN__OPAQUE_TEXT        /* a NUL-terminated text, written before the operands, of any number */
} kiln__opaque_data;

/* What a matrix product does before it stores: epilogue(scale * product + residual + bias), as
 * `dtype`. */
typedef struct kiln__finish {
    double scale;        /* 0: 1 */
    bool residual, bias; /* whether they are operands, behind those of the product, in this order */
    kiln_epilogue epilogue;
    kiln_dtype dtype; /* KILN_DTYPE_NONE: that of the product */
} kiln__finish;

/* An operation that a C function does as a whole, from stored arrays to stored arrays, such as a
 * matrix product by a library. The folder that records such nodes has the table of them, and runs
 * them. */
typedef struct kiln__opaque {
    const char *name;                /* "matmul", for messages and explained programs */
    int operand_count, result_count; /* 0 operands: any number of them */
    kiln__opaque_data data;
    const char *why; /* one line for explained programs: what does it */
    /* Give the results' dtypes and shapes. ERR_DTYPE, ERR_SHAPE, ERR_AXIS. */
    kiln_status (*infer)(const struct kiln__opaque *o, const kiln__opaque_value *operands,
                         size_t count, const int64_t *data, kiln__opaque_value *results,
                         kiln_error *err);
    bool topk; /* it finds the k greatest elements of each row and their positions; data: the axis,
                  k */
    /* Not 0: it is a matrix product. Fusion finishes one by a copy of this struct, and of what
     * follows it in memory, so many bytes in all, in which it sets `finish`. */
    size_t copy_bytes;
    kiln__finish finish;
    /* KILN__OPAQUE_NUMBERS: whether the first number is an axis, and its default. Then a number for
     * each letter of `numbers`: 'i' is an integer, 'd' the bits of a double. */
    bool takes_axis;
    int64_t axis;
    const char *numbers;
} kiln__opaque;

/* A recorded node. Members that a kind does not use are 0; nodes are compared member by member. */
typedef struct kiln__node {
    kiln__node_kind kind;
    int op;           /* kiln_op, kiln_reduce_op, kiln__view_kind, kiln_draw or
                         kiln_rearrangement */
    kiln_dtype dtype; /* input, cast, reduce; KILN_DTYPE_NONE: the call decides */
    int rank;         /* input; -1: the call decides */
    bool all_axes;    /* reduce, custom reduction: all axes are reduced, and `data` has none */
    bool keepdims;
    bool constant;       /* it is a plain number, or is computed from such alone; _ir_add() sets it */
    bool whole;          /* it is a whole number that is computed from extents; likewise */
    kiln__number number; /* CONSTANT */
    uint32_t operands, operand_count; /* in kiln__ir.edges */
    uint32_t data, data_count;        /* in kiln__ir.data: axes, shapes, bounds */
    uint32_t input;                   /* input: which */
    uint32_t result;                  /* custom, opaque: which output */
    const void *kernel;               /* custom: a kiln_elementwise or kiln_reduction; opaque: the
                                         kiln__opaque */
    const kiln__definition *def;      /* custom */
    const char *file;                 /* where it was recorded; the graph owns the text */
    int line;
    uint32_t hash;  /* _ir_add() sets it */
    uint32_t older; /* the next node in its hash bucket, which was added before it; 0: none */
} kiln__node;

typedef struct kiln__ir_name {
    char *name;
    uint32_t node;
    const char *file;
    int line;
} kiln__ir_name;

/* A recorded graph. Id 0 is no node. */
typedef struct kiln__ir {
    char *name;
    bool of_text; /* it was recorded from an expression: `line` of a node is a byte of that, from 1 */
    char *text;   /* that expression; may be NULL */
    int place;    /* not 0: nodes are recorded with this line, and not with their own */
    kiln__node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *buckets; /* `node_capacity` hash buckets: the newest node of each, or 0 */
    uint32_t *edges;
    uint32_t edge_count, edge_capacity;
    int64_t *data;
    uint32_t data_count, data_capacity;
    kiln__ir_name *inputs, *outputs;
    uint32_t input_count, input_capacity, output_count, output_capacity;
    char **files;
    uint32_t file_count, file_room;
    bool extents; /* there is a node of that kind, and data may refer to nodes */
} kiln__ir;

/* The most nodes of a graph, counting node 0. */
#define KILN__IR_NODES_MAX (1u << 15)

/*
 * A number of a node's data may be that of another, earlier node: a bound of x[:len(y) // 2]. It is
 * then a *reference*, one of the greatest int64 but the very greatest, and planning replaces it
 * (extents.c). Such a number is no extent, index or axis of an array that fits memory; as a double
 * it is a NaN that no operation gives, and its bytes are in no text.
 */
#define KILN__REFERENCE (INT64_MAX - (int64_t)KILN__IR_NODES_MAX)
static inline int64_t kiln__reference(uint32_t node)
{
    return KILN__REFERENCE + (int64_t)node;
}
/* The node that a number refers to; 0 for other numbers. */
static inline uint32_t kiln__referred(int64_t number)
{
    return number > KILN__REFERENCE && number < INT64_MAX ? (uint32_t)(number - KILN__REFERENCE) : 0;
}

/* The hash of several values: add one more. Good enough for hash tables, and nothing else. */
static inline uint32_t kiln__mix(uint32_t hash, uint64_t value)
{
    const uint64_t mixed = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed ^ (mixed >> 32));
}

void kiln__ir_clear(kiln__ir *ir);

/* Add a node, or find an equal one. Returns its id; 0 without memory, or when the graph is full.
 * `node` gives everything but operands and data, which are copied from the lists. */
uint32_t kiln__ir_add(kiln__ir *ir, const kiln__node *node, const uint32_t *operands,
                      size_t operand_count, const int64_t *data, size_t data_count);

/* The graph's own copy of a file's name; NULL without memory. */
const char *kiln__ir_file(kiln__ir *ir, const char *file);

/* Add an input with its node, or name an output. Returns false without memory. */
bool kiln__ir_input(kiln__ir *ir, const char *name, kiln_dtype dtype, int rank, const char *file,
                    int line, uint32_t *node_out);
bool kiln__ir_output(kiln__ir *ir, const char *name, uint32_t node, const char *file, int line);

/* Give the name of a node in messages: "add", "sum", "transpose", "input `x`". Returns `text`, or
 * constant text. */
const char *kiln__ir_what(const kiln__ir *ir, uint32_t node, char text[96]);
#define KILN__GRAPH_NAME "kiln_graph" /* the name of graphs that were given none */
/* Fail with the message `text` about `what` at byte `line` of an expression. A graph with a name is
 * called by it. Where a function is called at that byte, the message names the function instead of
 * `what`, one of the operations that it consists of. */
kiln_status kiln__fail_in_text(kiln_error *err, kiln_status status, const kiln__ir *ir,
                               const char *what, int line, const char *text);

/* ---- programs -------------------------------------------------------------------------------- */

/* One argument of a call, as far as it is known before anything runs. */
typedef struct kiln__graph_arg {
    bool is_array;    /* of outputs: an array was given */
    kiln_dtype dtype; /* of an array */
    int rank;
    const int64_t *shape, *strides; /* strides in bytes */
    kiln__number number;            /* of a number: planning depends on its kind, not on its value */
} kiln__graph_arg;

typedef enum kiln__value_kind {
    KILN__VALUE_ARG,    /* an array argument; index: inputs first, then outputs */
    KILN__VALUE_TEMP,   /* program->temps[index] */
    KILN__VALUE_SCALAR, /* a number argument; index as above */
    KILN__VALUE_NUMBER, /* a number that planning knows: one of the graph, for custom kernels, or an
                           extent */
    KILN__VALUE_REPORT  /* the KILN__REPORT_SHAPE int64 to which kernels report bad indices */
} kiln__value_kind;

enum { KILN__REPORT_SHAPE = 26 };

/* The argument of a kernel's parameter: a view of a value. */
typedef struct kiln__step_param {
    kiln__value_kind kind;
    uint32_t index;
    uint32_t node; /* recorded node, for explained programs; 0 when there is none */
    kiln__number number;
    kiln_dtype dtype;
    bool whole; /* it has the value's own shape and strides */
    bool raw;   /* the parameter is raw */
    bool again; /* another parameter of the step, a raw one, has the same value */
    int rank;
    int64_t *shape, *strides; /* strides in bytes */
    int64_t offset;           /* bytes from the value's first element */
    int64_t bytes;            /* bytes that a kernel touches, each element counted once */
} kiln__step_param;

typedef enum kiln__step_kind {
    KILN__STEP_LOOP,
    KILN__STEP_REDUCE,
    KILN__STEP_ROW,
    KILN__STEP_CUSTOM,        /* the user's kiln_elementwise */
    KILN__STEP_CUSTOM_REDUCE, /* the user's kiln_reduction */
    KILN__STEP_OPAQUE,        /* no kernel: an opaque operation */
    KILN__STEP_PARTS          /* copies to parts of arrays: parameter k is copied to the kth output. No
                                 definition: the kernel is one of kiln's own (src/codegen/parts.h) */
} kiln__step_kind;

typedef struct kiln__step {
    kiln__step_kind kind;
    kiln__definition_request request; /* not of custom and opaque steps, of parts the name; the program
                                         owns the texts */
    const void *kernel;               /* custom steps: the kernel; opaque steps: the kiln__opaque */
    const int64_t *data;              /* opaque steps: the node's data, which the graph owns */
    size_t data_count;
    kiln__step_param *params; /* inputs, then outputs */
    size_t param_count, input_count;
    int rank; /* of the loop */
    int64_t *shape;
    kiln_axes axes; /* reduced axes */
    bool keepdims;
    int column;      /* opaque steps: the byte of the expression where the function is, from 1; 0:
                        none */
    const char *why; /* one line: why this is a kernel of its own */
    uint32_t *nodes; /* recorded nodes that it computes, for explained programs */
    size_t node_count;
    int64_t bytes_read, bytes_written;
} kiln__step;

/* A value that a program makes: a temporary, or an output that the call allocates. */
typedef struct kiln__made {
    kiln_dtype dtype;
    int rank;
    int64_t *shape;
    int *order;           /* its axes from slowest to fastest in memory */
    uint32_t first, last; /* temporaries: the steps that write it first and use it last */
} kiln__made;

/* An operation that converts an operand to a wider dtype, because another operand has that dtype. */
typedef struct kiln__widened {
    uint32_t node;
    const char *text; /* "float32 widens to float64 in add (norm.c:7): input `b` is float64" */
} kiln__widened;

/* The most of them that a program lists. */
enum { KILN__WIDENED_MAX = 16 };

typedef struct kiln__program {
    struct kiln__arena *arena; /* it holds everything below */
    kiln__step *steps;
    size_t step_count;
    kiln__made *temps; /* in the order of the steps that write them first */
    uint32_t *ending;  /* their numbers, in the order of the steps that use them last */
    size_t temp_count;
    kiln__made *outputs; /* of all outputs; `order` is used for those that the call allocates */
    size_t output_count;
    /* last_read[k] is the step that reads input k last, first_write[k] the one that writes output k
     * first, counted from 1; 0: none. A step that reads an input at other indices than it writes
     * counts as one later, so that no output of that step may share the input's memory. */
    uint32_t *last_read, *first_write;
    bool reads_elsewhere; /* there is such an input */
    kiln__widened widened[KILN__WIDENED_MAX];
    size_t widened_count;
    size_t work; /* nodes that planning visited, for tests: it grows with the nodes of the graph */
} kiln__program;

/* The properties of a device, and the options of a graph, that planning depends on. */
typedef struct kiln__graph_target {
    kiln_backend backend;
    bool clusters; /* it has thread block clusters */
    bool wide;     /* 16-bit floats are computed in float32 and rounded when they are stored */
} kiln__graph_target;

/*
 * Plan one call of a graph: dtypes, shapes and kernels. `args` has an entry for each input and then
 * for each output of `ir`, which must outlive the program. ERR_DTYPE, ERR_RANGE, ERR_SHAPE,
 * ERR_AXIS, ERR_IDENTITY, ERR_OUTPUT, ERR_OVERFLOW, ERR_NO_MEMORY; messages name the operation and
 * where it was recorded.
 */
kiln_status kiln__program_build(const kiln__ir *ir, const kiln__graph_arg *args,
                                const kiln__graph_target *target, kiln__program **out,
                                kiln_error *err);
void kiln__program_destroy(kiln__program *program); /* accepts NULL */

/* A number of a program as an element of a dtype. False where it is none. (parts.c) */
bool kiln__number_element(const kiln__number *number, kiln_dtype dtype, unsigned char out[16]);

/* Append a description of the program: as text, and as a graph in the language DOT. */
void kiln__program_explain(const kiln__ir *ir, const kiln__program *program, kiln__buf *out);
void kiln__program_dot(const kiln__ir *ir, const kiln__program *program, kiln__buf *out);

#endif
