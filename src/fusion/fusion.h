/*
 * fusion.h - the door of src/fusion: from a recorded expression to the kernels of one call.
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
 *
 * and below them, each file using only those above it in its group:
 *
 *     build.c             memory and failures; sets.c: marks, sets and maps
 *     lowered.c           making lowered nodes
 *     maps.c              views as maps of axes; views.c, reshape.c: recorded views
 *     joins.c             rearrangements; gather.c: elements that index arrays name
 *     numbers.c           plain numbers, and what is computed from them alone
 *     product_epilogue.c  epilogues of matrix products; topk.c: topk() as reductions
 *     why_dtype.c         which operand a dtype comes from
 *     snippet.c           which of the user's kernels can be inlined
 *     names.c             what stands for a lowered node in a text; values.c: where values are
 *     text.c              expressions, with text_snippet.c and text_gather.c
 *     text_loop.c, text_reduce.c, text_rows.c  the definitions of each kind of kernel
 *     explain.c           programs for people: text and DOT
 *
 * A program is a list of steps, each an ordinary kernel (a definition as a user could have written
 * it) with the arrays it is called with. All below definitions - planning, emission, compilation,
 * cache - is not known here, nor is any array or device.
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
    KILN__NODE_IOTA,   /* position along an axis of the operand's shape; data: the axis, whether it stands alone */
    KILN__NODE_ARANGE, /* data: count */
    KILN__NODE_DRAW,   /* op: kiln_draw; key, draw, parameters; data: shape, or last operand's */
    KILN__NODE_GATHER, /* operands: array, indices; data: see KILN__GATHER_MODE */
    KILN__NODE_REARRANGED, /* op: kiln_rearrangement; data: its numbers */
    KILN__NODE_CUSTOM,     /* one output of a kernel of the user's */
    KILN__NODE_OPAQUE /* one result of an operation that no generated kernel does; data: its own */
} kiln__node_kind;

typedef enum kiln__view_kind {
    KILN__VIEW_TRANSPOSE, /* data: axes; none reverses */
    KILN__VIEW_NEWAXIS,   /* data: axis */
    KILN__VIEW_FLIP,      /* data: axis */
    KILN__VIEW_SELECT,    /* data: axis, index */
    KILN__VIEW_SLICE,     /* data: axis, start, stop, step */
    KILN__VIEW_BROADCAST, /* data: shape */
    KILN__VIEW_RESHAPE,   /* data: shape */
    KILN__VIEW_MASKED,    /* the first operand, whose shape, or first axes, are those of the second, a mask */
    KILN__VIEW_LIKE,      /* the first operand, broadcast to the shape of the second */
    KILN__VIEW_OVER,      /* the first operand, with all axes of the second behind those that it has */
    KILN__VIEW_WHOLE,     /* the first operand, a mask that has all axes of the second */
    KILN__VIEW_FOLDED     /* data: axis. The first operand; its axes that are those of the second, a mask, are one */
} kiln__view_kind;

/* Data of a cast that has a second operand, whose dtype it is to: how numbers become whole ones. */
enum { KILN__CAST_PLAIN, KILN__CAST_ROUND, KILN__CAST_FLOOR };

/* Data of a gather: a kiln_index_mode, where the axes of the indices stand, then the axis of each. */
enum { KILN__GATHER_MODE, KILN__GATHER_KIND, KILN__GATHER_AXES };
enum {
    KILN__GATHER_TOGETHER, /* where the indexed axes are, if these are neighbours, else first */
    KILN__GATHER_APART,    /* first */
    KILN__GATHER_ALONG     /* take_along_axis(): they are the array's */
};

/* An array that an opaque operation takes or gives, as far as planning knows it. */
typedef struct kiln__opaque_value {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_RANK_MAX];
} kiln__opaque_value;

enum { KILN__OPAQUE_OPERANDS = 16, KILN__OPAQUE_RESULTS = 4 };

/* What such a node has beside its operands, as numbers of its data. */
typedef enum kiln__opaque_data {
    KILN__OPAQUE_NONE,
    KILN__OPAQUE_NUMBER,     /* a whole number, written behind the operands */
    KILN__OPAQUE_NUMBERS,    /* an axis and numbers, written behind the operands */
    KILN__OPAQUE_LIST,       /* nothing; its operands, of any number, are written as a list */
    KILN__OPAQUE_SUBSCRIPTS, /* which of its elements change, in a form of its own */
    KILN__OPAQUE_TEXT        /* a text with its end, written before the operands, of any number */
} kiln__opaque_data;

/* What becomes a part of a matrix product: epilogue(scale * product + residual + bias), as `dtype`. */
typedef struct kiln__finish {
    double scale;        /* 0: 1 */
    bool residual, bias; /* whether they are operands, behind those of the product in this order */
    kiln_epilogue epilogue;
    kiln_dtype dtype; /* KILN_DTYPE_NONE: that of the product */
} kiln__finish;

/* An operation that a function does as a whole, between arrays that are stored: a matrix product by
 * a library. Whoever records such a node has the table of them, and knows how one is run. */
typedef struct kiln__opaque {
    const char *name;                /* for people: "matmul" */
    int operand_count, result_count; /* no operands: any number of them */
    kiln__opaque_data data;
    const char *why; /* one line: who does it */
    /* The results' dtypes and shapes. ERR_DTYPE, ERR_SHAPE, ERR_AXIS. */
    kiln_status (*infer)(const struct kiln__opaque *o, const kiln__opaque_value *operands,
                         size_t count, const int64_t *data, kiln__opaque_value *results,
                         kiln_error *err);
    bool topk; /* the k greatest elements of each row, and where they stand; data: the axis, k */
    /* Not 0: a matrix product, which a copy of so many bytes of what this stands in finishes. */
    size_t copy_bytes;
    kiln__finish finish;
    /* KILN__OPAQUE_NUMBERS: whether an axis is the first number, and which where none is named;
     * behind it one for each letter of `numbers`, 'i' a whole one, 'd' the bits of a double. */
    bool takes_axis;
    int64_t axis;
    const char *numbers;
} kiln__opaque;

/* A recorded node. Zero-initialised, plain bytes but for texts: compared field by field. */
typedef struct kiln__node {
    kiln__node_kind kind;
    int op;           /* kiln_op, kiln_reduce_op, kiln__view_kind, kiln_draw or
                             kiln_rearrangement */
    kiln_dtype dtype; /* input, cast, reduce: KILN_DTYPE_NONE = open */
    int rank;         /* input: -1 = open */
    bool all_axes;    /* reduce, custom reduction: `data` is not asked */
    bool keepdims;
    bool constant;       /* set when added: it, or all that it is made of, is a plain number */
    kiln__number number; /* CONSTANT */
    uint32_t operands, operand_count; /* into kiln__ir.edges */
    uint32_t data, data_count;        /* into kiln__ir.data: axes, shapes, bounds */
    uint32_t input;                   /* input: which */
    uint32_t result;                  /* custom, opaque: which output */
    const void *kernel;               /* custom: kiln_elementwise or kiln_reduction, not known here;
                                         opaque: the kiln__opaque */
    const kiln__definition *def;      /* custom */
    const char *file;                 /* where it was recorded; kept by the graph */
    int line;
    uint32_t hash;  /* set when added */
    uint32_t older; /* the node before it of those that share a bucket; 0: none */
} kiln__node;

typedef struct kiln__ir_name {
    char *name;
    uint32_t node;
    const char *file;
    int line;
} kiln__ir_name;

/* A recorded graph. Node 0 is none. */
typedef struct kiln__ir {
    char *name;
    bool of_text; /* recorded from an expression: the line of a node is a byte of it, from 1 */
    char *text;   /* that expression; may be NULL */
    int place;    /* not 0: the line of whatever is recorded, instead of its own */
    kiln__node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *buckets; /* as many as there is room for nodes: the newest node of each hash */
    uint32_t *edges;
    uint32_t edge_count, edge_capacity;
    int64_t *data;
    uint32_t data_count, data_capacity;
    kiln__ir_name *inputs, *outputs;
    uint32_t input_count, input_capacity, output_count, output_capacity;
    char **files;
    uint32_t file_count, file_room;
} kiln__ir;

/* Most nodes a graph may hold, counting node 0. */
#define KILN__IR_NODES_MAX (1u << 15)

/* A value into a hash of several; good enough for tables. */
static inline uint32_t kiln__mix(uint32_t hash, uint64_t value)
{
    const uint64_t mixed = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed ^ (mixed >> 32));
}

void kiln__ir_clear(kiln__ir *ir);

/* Add a node, or find the equal one: 0 when memory is short or the graph is full. `node` gives
 * all but operands and data, which are copied from the lists. */
uint32_t kiln__ir_add(kiln__ir *ir, const kiln__node *node, const uint32_t *operands,
                      size_t operand_count, const int64_t *data, size_t data_count);

/* The graph's own copy of a file's name; NULL when memory is short. */
const char *kiln__ir_file(kiln__ir *ir, const char *file);

/* Name an input (its node is added) or an output. False when memory is short. */
bool kiln__ir_input(kiln__ir *ir, const char *name, kiln_dtype dtype, int rank, const char *file,
                    int line, uint32_t *node_out);
bool kiln__ir_output(kiln__ir *ir, const char *name, uint32_t node, const char *file, int line);

/* What a node is called in messages: "add", "sum", "transpose", "input `x`". */
const char *kiln__ir_what(const kiln__ir *ir, uint32_t node, char text[96]);
#define KILN__GRAPH_NAME "kiln_graph" /* of graphs that were given none */
/* Fail for what `what` at byte `line` of an expression's text asked for; a graph that was given a name is
 * called by it. Where a function is called at that place, the message is the function's, whatever it is made of. */
kiln_status kiln__fail_in_text(kiln_error *err, kiln_status status, const kiln__ir *ir,
                               const char *what, int line, const char *text);

/* ---- programs -------------------------------------------------------------------------------- */

/* One argument of a call as it is known before anything runs. */
typedef struct kiln__graph_arg {
    bool is_array;    /* outputs: given */
    kiln_dtype dtype; /* of an array */
    int rank;
    const int64_t *shape, *strides; /* strides in bytes */
    kiln__number number;            /* of a number: its kind counts, not its value */
} kiln__graph_arg;

typedef enum kiln__value_kind {
    KILN__VALUE_ARG,    /* an array argument: input or output, by its place in the call */
    KILN__VALUE_TEMP,   /* program->temps */
    KILN__VALUE_SCALAR, /* a number argument, by its place in the call */
    KILN__VALUE_NUMBER, /* a plain number of the graph, for custom kernels */
    KILN__VALUE_REPORT  /* what kernels report to: KILN__REPORT_SHAPE int64 */
} kiln__value_kind;

enum { KILN__REPORT_SHAPE = 26 };

/* What a kernel's parameter is bound to: a view of a value. */
typedef struct kiln__step_param {
    kiln__value_kind kind;
    uint32_t index;
    uint32_t node; /* recorded node, for people; 0 when there is none */
    kiln__number number;
    kiln_dtype dtype;
    bool whole; /* the value's own shape and strides */
    bool raw;   /* snippets reach it by indices */
    bool again; /* a raw parameter tells of the same value */
    int rank;
    int64_t *shape, *strides; /* strides in bytes */
    int64_t offset;           /* bytes from the value's first element */
    int64_t bytes;            /* that a kernel touches, each element counted once */
} kiln__step_param;

typedef enum kiln__step_kind {
    KILN__STEP_LOOP,
    KILN__STEP_REDUCE,
    KILN__STEP_ROW,
    KILN__STEP_CUSTOM,        /* the user's kiln_elementwise */
    KILN__STEP_CUSTOM_REDUCE, /* the user's kiln_reduction */
    KILN__STEP_OPAQUE         /* no kernel: an opaque operation */
} kiln__step_kind;

typedef struct kiln__step {
    kiln__step_kind kind;
    kiln__definition_request request; /* but for custom ones; texts belong to the program */
    const void *kernel;               /* custom ones; of an opaque one the kiln__opaque ... */
    const int64_t *data;              /* ... and the node's data, which the graph owns */
    size_t data_count;
    kiln__step_param *params; /* inputs, then outputs */
    size_t param_count, input_count;
    int rank; /* of the loop */
    int64_t *shape;
    kiln_axes axes; /* reduced ones */
    bool keepdims;
    int column;      /* opaque ones: where in an expression the function stands; 0: in none */
    const char *why; /* one line: why this is a kernel of its own */
    uint32_t *nodes; /* recorded nodes computed here, for people */
    size_t node_count;
    int64_t bytes_read, bytes_written;
} kiln__step;

/* A value that a program makes: a temporary, or an output that the call allocates. */
typedef struct kiln__made {
    kiln_dtype dtype;
    int rank;
    int64_t *shape;
    int *order;           /* axes from slowest to fastest */
    uint32_t first, last; /* steps that write it first and use it last; temporaries */
} kiln__made;

/* An operation that makes an operand wider for the sake of another one, for people. */
typedef struct kiln__widened {
    uint32_t node;
    const char *text; /* "float32 widens to float64 in add (norm.c:7): input `b` is float64" */
} kiln__widened;

/* Most of them that a program tells of. */
enum { KILN__WIDENED_MAX = 16 };

typedef struct kiln__program {
    struct kiln__arena *arena; /* everything below lives there */
    kiln__step *steps;
    size_t step_count;
    kiln__made *temps; /* in the order of the steps that write them first */
    uint32_t *ending;  /* the same by number, in the order of the steps that use them last */
    size_t temp_count;
    kiln__made *outputs; /* as many as the graph has; order is for those not given */
    size_t output_count;
    /* last_read[k]: step that reads input k last, counted from 1; first_write likewise for each
     * output. 0: never. An input that a step reads at other places than those that it writes counts
     * as read one step later: what the step writes must not be its memory. */
    uint32_t *last_read, *first_write;
    bool reads_elsewhere; /* there is such an input */
    kiln__widened widened[KILN__WIDENED_MAX];
    size_t widened_count;
    size_t work; /* steps that planning took, for tests: they grow with the nodes */
} kiln__program;

/* What planning must know of the device. */
typedef struct kiln__graph_target {
    kiln_backend backend;
    bool clusters; /* it has thread block clusters */
    bool wide;     /* 16-bit floats are computed in float32 and rounded when they are stored */
} kiln__graph_target;

/*
 * Decide dtypes and shapes of everything, and the kernels. `args`: one for each input, then for
 * each output of `ir`. ERR_DTYPE, ERR_RANGE, ERR_SHAPE, ERR_AXIS, ERR_IDENTITY, ERR_OUTPUT,
 * ERR_OVERFLOW, ERR_NO_MEMORY; messages name the operation and where it was recorded.
 */
kiln_status kiln__program_build(const kiln__ir *ir, const kiln__graph_arg *args,
                                const kiln__graph_target *target, kiln__program **out,
                                kiln_error *err);
void kiln__program_destroy(kiln__program *program); /* accepts NULL */

/* The program as text and as DOT, appended. */
void kiln__program_explain(const kiln__ir *ir, const kiln__program *program, kiln__buf *out);
void kiln__program_dot(const kiln__ir *ir, const kiln__program *program, kiln__buf *out);

#endif
