/*
 * build.h - a program while it is being built. Private to src/fusion.
 *
 * A build owns one arena, which holds the program and everything that leads to it. A function that
 * fails calls kiln__build_fail(), which jumps (longjmp) back to kiln__program_build(); that frees
 * the arena and the `scratch` buffers, in which texts are composed. So no function here returns a
 * status, and none has anything to undo.
 *
 * Lowered nodes are referred to by ids; variables that hold one are called `low`. Operands have
 * smaller ids than their users. Id 0 is no node.
 */
#ifndef KILN_FUSION_BUILD_H
#define KILN_FUSION_BUILD_H

#include <setjmp.h>
#include <stdio.h>

#include "fusion/fusion.h"

/* ---- sets of lowered nodes (sets.c) ------------------------------------------------------- */

/* One mark for each lowered node, all of which are cleared in constant time. */
typedef struct kiln__marks {
    uint32_t *stamp; /* by lowered node: it is marked when its stamp equals `now` */
    uint32_t now, capacity;
} kiln__marks;

typedef struct kiln__set {
    uint32_t *slot;
    uint32_t count, capacity;
} kiln__set;

typedef struct kiln__list {
    uint32_t *ids;
    size_t count, capacity;
} kiln__list;

/* ---- lowered nodes --------------------------------------------------------------------------- */

typedef enum kiln__lowered_kind {
    KILN__LOWERED_LEAF = 1, /* a view of an array argument */
    KILN__LOWERED_SCALAR,   /* a number argument, converted to `dtype` */
    KILN__LOWERED_CONST,    /* `number` as `dtype` */
    KILN__LOWERED_IOTA,     /* int64: the sum of coef[axis] * index[axis] */
    KILN__LOWERED_EXPR,     /* an operation; its operands have the dtypes of its loop */
    KILN__LOWERED_CAST,
    KILN__LOWERED_STORE,    /* the operand, stored in memory of its own */
    KILN__LOWERED_VIEW,     /* a view; `map` has an entry for each axis of the operand */
    KILN__LOWERED_RESHAPED, /* a C-order view of a STORE or of a JOIN */
    KILN__LOWERED_JOIN,     /* a value in memory into whose parts its operands, each a STORE, are
                               stored */
    KILN__LOWERED_REDUCE,
    KILN__LOWERED_GATHER,  /* elements of the first operand, which is in memory, at the indices that
                              the others give; `op`: a kiln_index_mode; `map`: of the first
                              operand's axes */
    KILN__LOWERED_SNIPPET, /* a result of a user's kernel that is inlined into other kernels */
    KILN__LOWERED_CUSTOM   /* a result of a user's kernel that runs by itself, or of an opaque
                              operation */
} kiln__lowered_kind;

/* A scalar that is no argument: planning knows its value, and kernels do not, so that they serve all
 * shapes. */
#define KILN__KNOWN_NUMBER (UINT32_C(1) << 31)

/* `from` in the map of a gather: the first index runs along the axis; KILN__BY_INDEX - 1: the
 * second one does. */
enum { KILN__BY_INDEX = -2 };

/* A lowered node. All members but `output` are known when it is made. What passes find about nodes
 * is in lists of their own, below. */
typedef struct kiln__lowered {
    uint32_t id;
    kiln__lowered_kind kind;
    kiln_dtype dtype;
    int rank;
    int64_t *shape;
    int64_t size;
    uint32_t into;            /* store: the join that it is a part of, or the output that is the
                                 same value in another shape; 0 for none */
    int64_t *start;           /* store: the index in that join at which the part begins */
    uint32_t *operand;
    uint32_t operand_count;
    uint32_t origin;          /* recorded node */
    uint32_t arg;             /* leaf, scalar: number of the argument; of a number that is known: the
                                 recorded node, and KILN__KNOWN_NUMBER */
    int64_t *strides, offset; /* leaf, in bytes */
    int64_t *coef;            /* iota */
    kiln__number number;      /* const, and scalars that are known */
    kiln__op_loop loop;       /* expr */
    kiln__axis_map *map;      /* view */
    int op;                   /* reduce: kiln_reduce_op; snippet, custom: which result */
    bool *reduced;            /* reduce and custom reductions: axes of the operands' shape */
    bool keepdims;
    int64_t *space; /* reduce, custom: the loop's shape */
    int space_rank;
    const kiln__node *custom;
    const kiln_dtype *results;      /* snippet, custom: of all outputs of the kernel */
    const kiln__opaque_value *made; /* likewise, of an opaque operation */

    bool memory;     /* it, or a node beneath it, is read from memory */
    bool of_numbers; /* it is one element, computed from plain numbers alone */
    bool given;      /* it is an output */
    bool c_order;    /* if it is stored, then in C-order */
    int output;      /* which output it is, or -1 */

    uint32_t hash;  /* of the members above when it was made */
    uint32_t older; /* the next node in its hash bucket, which was made before it; 0: none */
} kiln__lowered;

/* ---- what passes find about lowered nodes ---------------------------------------------------- */

/* facts.c: the nodes beneath a lowered node, that is, those that it is computed from. */
typedef struct kiln__fact {
    bool needed;         /* some output depends on it */
    bool arguments;      /* it is computed elementwise from arguments and numbers alone */
    bool loads, reduces; /* arrays, or results of reductions, are beneath it */
    bool positions;      /* positions (iota) are beneath it */
    bool calls;          /* it is a function such as exp, not arithmetic */
    int weight;          /* about how many operations are beneath it; functions count more */
    uint64_t inputs;     /* arguments beneath it, as bits; the last bit stands for all others */
} kiln__fact;

/* states.c: how a reduction is computed from an accumulator of its own, and from that of another
 * reduction; NULL where it cannot be. */
typedef struct kiln__forms {
    const struct kiln__form *alone, *shared;
} kiln__forms;

/* stores.c, rows.c, size.c: which computed values are stored in memory. */
typedef struct kiln__store {
    bool stored;  /* the kernel that computes it stores it */
    bool cut;     /* it is stored so that its users are in another kernel */
    bool in_rows; /* only row programs compute it */
} kiln__store;

/* rows.c: the row program that a lowered node belongs to, and the stage of a reduction in it. */
typedef struct kiln__row_part {
    struct kiln__row_kernel *rows;
    int stage;
} kiln__row_part;

/* order.c, schedule.c, sink.c: the kernel that stores a lowered node. */
typedef struct kiln__task {
    bool again;      /* reductions may compute it again, so that they need not wait until it is
                        stored */
    bool recomputed; /* some reduction does so */
    bool epilogue;   /* the kernel is that of a reduction, which stores it after the results */
    int level;       /* the level of the kernel */
    struct kiln__plan_kernel *kernel;
} kiln__task;

/* write.c: where a lowered node is stored. */
typedef struct kiln__held {
    bool read;               /* some kernel reads it from memory */
    kiln__step_param *value; /* NULL until its place is known */
} kiln__held;

/* ---- kernels while they are planned ---------------------------------------------------------- */

/* The size of an expression: its operations, and the arrays that it reads, of which `made` are not
 * arguments. `blocks` has a bit for each group of neighbouring ids that an operation or such an
 * array is in, so that two measures without a common bit have none of these in common. */
enum { KILN__BLOCK_WORDS = 16 };
typedef struct kiln__measure {
    int nodes, leaves, made;
    uint64_t blocks[KILN__BLOCK_WORDS];
} kiln__measure;

typedef struct kiln__plan_kernel {
    struct kiln__plan_kernel *next;
    kiln__step_kind kind;
    uint32_t number; /* how many kernels were made before it */
    int level;
    int rank; /* of the loop */
    int64_t *shape;
    bool *reduced;
    kiln__list members; /* its reductions, in order */
    kiln__list roots;   /* values that it stores: of loops, epilogues and row programs */
    size_t states;      /* how many accumulators the members keep */
    kiln__measure size; /* of everything that it computes */
    kiln__set counted;  /* the nodes that `size` counts */
    uint64_t inputs;    /* arguments beneath its roots, as bits (sink.c) */
    struct kiln__row_kernel *rows;
    const struct kiln__survey *survey; /* made before it is written (write.c); may be NULL */
    const struct kiln__copied *copied; /* of a loop that only copies: by root (parts.c); else NULL */
    kiln__step *step;
} kiln__plan_kernel;

typedef struct kiln__row_kernel {
    struct kiln__row_kernel *next;
    int stage_count;
    bool busy;                   /* order.c is placing the tasks that it reads */
    const kiln__lowered *sample; /* one of its reductions, for their common space and axes */
    kiln__list lowered;          /* its reductions, and the values that it stores */
    uint32_t first, last;        /* the least and the greatest id in that list */
    kiln__set inside;            /* values that it computes and uses */
} kiln__row_kernel;

/* The texts of a row of the table of named reductions, for elements of one dtype. */
typedef struct kiln__form {
    struct kiln__form *next;
    const kiln__reduce_row *row;
    int op;          /* the reduction that the row was found by */
    kiln_dtype from; /* dtype of the elements */
    const char *type, *map, *reduce, *post, *identity;
    size_t bytes;                   /* upper bound of the accumulator's bytes, a multiple of 8 */
    const struct kiln__form *state; /* one form for all that keep the same accumulator */
} kiln__form;

/* One application of a user's kernel that is inlined. */
typedef struct kiln__snippet {
    kiln__list results; /* lowered nodes */
    uint32_t uses;      /* uses of all results together */
} kiln__snippet;

/* ---- the build ------------------------------------------------------------------------------- */

/* The last scratch buffer is for texts that a function begins and ends itself. */
enum { KILN__SCRATCH = 11, KILN__SCRATCH_SHORT = KILN__SCRATCH - 1 };

/* The hash tables of passes, and what their keys consist of. */
typedef enum kiln__build_map {
    KILN__MAP_RESHAPED, /* lowered nodes, by lowered node and shape (reshape.c) */
    KILN__MAP_SNIPPETS, /* applications of the user's kernels, by kernel and operands */
    KILN__MAP_SPACES,   /* reductions, by space and axes (rows.c) */
    KILN__MAP_GROUPS,   /* kernels, by level and space (schedule.c) */
    KILN__MAP_PASSES,   /* kernels, by group and reduced operand */
    KILN__MAP_CUSTOMS,  /* kernels, by the user's kernel and operands */
    KILN__MAP_SHAPES,   /* kernels, by shape (sink.c) */
    KILN__MAPS
} kiln__build_map;

/* A node in pieces along an axis: a lowered node for each index there. `back` axes follow that
 * axis. */
enum { KILN__PIECES_MOST = KILN__TOP_MOST };
typedef struct kiln__pieces {
    int count, back;
    uint32_t low[KILN__PIECES_MOST];
} kiln__pieces;

/* What lowering keeps for each recorded node. */
typedef struct kiln__lowering {
    const kiln__pieces **pieces; /* of results of topk(), of stacked values, and of values computed
                                    from these; else NULL */
    uint32_t *lowered;           /* its lowered node; 0: it has none yet */
    bool *wanted;      /* some output depends on it */
    bool *viewed;      /* it is the operand of a view */
    bool *kept;        /* it is the operand of a view, or of a node that reads stored arrays */
    uint32_t *uses;    /* uses by outputs, and by nodes that some output depends on */
    char *numbers;     /* the kind of its value if it is computed from numbers alone, else 0 */
    kiln__number *known; /* its value if that is a whole number computed from extents; else its kind is
                            0. NULL in graphs without extents */
    kiln_dtype *dtype; /* the dtype by which NumPy promotes it: that of its lowered node, or float16
                          or bfloat16 where that node has a wide value of float32 */
} kiln__lowering;

/* What measuring keeps (size.c). */
typedef struct kiln__sizes {
    int (*beneath)[2];     /* by view: operations and arrays that it adds to each user */
    kiln__measure **alone; /* by lowered node: the size of it alone; NULL: not known yet */
    kiln__list measured;   /* the nodes that the last measurement counted */
} kiln__sizes;

/* The kernel that is being written (write.c, names.c). */
typedef struct kiln__writing {
    kiln__marks named;    /* lowered nodes that have a text in it */
    uint32_t *last_named; /* by such a lowered node: the last of its texts */
    struct kiln__seen *seen;                 /* has room for all texts of a kernel */
    size_t seen_capacity;
    kiln__marks listed;                      /* recorded nodes that its step lists */
    kiln__step_param params[KILN_PARAM_MAX]; /* of its step */
} kiln__writing;

/* A build: the call, the lowered nodes, and what passes have found. Tasks and kernels are handed
 * from pass to pass (program.c). */
typedef struct kiln__build {
    jmp_buf leave;
    kiln_error *err;
    kiln_status status;
    struct kiln__arena *arena;
    struct kiln__arena *notes; /* memory that is needed for one kernel at a time */
    const kiln__ir *ir;
    const kiln__graph_arg *args;
    const kiln__graph_target *target;
    kiln__lowered *lowered;
    uint32_t lowered_count, lowered_capacity;
    uint32_t *lowered_buckets; /* `lowered_capacity` hash buckets: the newest node of each, or 0 */
    uint32_t *outputs;         /* lowered nodes, by output */
    uint32_t *user_begin, *users; /* the users of k are users[user_begin[k]] to, without it,
                                     users[user_begin[k + 1]] */
    kiln__snippet **snippets; /* by lowered node */
    /* These have an entry for each lowered node. The first of the passes that fill one in makes it;
     * it is NULL before. */
    kiln__fact *facts;
    kiln__forms *forms;
    kiln__store *stores;
    kiln__row_part *row_parts;
    kiln__task *tasks;
    kiln__held *values;
    kiln__form *all_forms;
    kiln__lowering lowering;
    kiln__sizes size;
    kiln__writing text;
    kiln__marks marks; /* for walks that call no other walk */
    uint32_t part_count; /* how many joins, and parts of joins, there are so far */
    size_t work;         /* how many nodes walks have visited, for tests */
    kiln__program *program;
    kiln__buf scratch[KILN__SCRATCH];
    kiln__map maps[KILN__MAPS];
} kiln__build;

/* Zeroed memory of the arena; never NULL. */
void *kiln__build_alloc(kiln__build *b, size_t bytes);
/* A copy of `data` in the arena. */
void *kiln__build_copy(kiln__build *b, const void *data, size_t bytes);
/* Memory that kiln__build_forget() frees. A pass calls that before it goes on to the next kernel. */
void *kiln__build_note(kiln__build *b, size_t bytes);
void kiln__build_forget(kiln__build *b);
/* Returns `items`, or a copy with twice the capacity if it has no room for another item. */
void *kiln__build_reserve(kiln__build *b, void *items, size_t count, size_t *capacity,
                          size_t item_bytes);
/* Move the text of a scratch buffer into the arena, and empty the buffer. */
char *kiln__build_text(kiln__build *b, kiln__buf *text);
/* Leave the build if a scratch buffer ever ran out of memory. A text that is left out because it is empty may be empty
 * for that reason, and nobody asks what is wrong with a text that is not taken. */
void kiln__build_check_texts(kiln__build *b);
/* The same as kiln__build_text() into memory that kiln__build_forget() frees. */
char *kiln__build_note_text(kiln__build *b, kiln__buf *text);

/* Where the table keeps the value of `key`, which is NULL at first. Empties the buffer `key`. */
void **kiln__build_find(kiln__build *b, kiln__build_map map, kiln__buf *key);

/* Report an error and leave the build. The message names `node` (0: none) and where it was
 * recorded. */
_Noreturn void kiln__build_fail(kiln__build *b, uint32_t node, kiln_status status, const char *fmt,
                                ...) KILN_PRINTF(4, 5);

/* The last component of a path. */
static inline const char *kiln__file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A shape as text in the arena: "(3, 4)". */
const char *kiln__build_shape(kiln__build *b, int rank, const int64_t *shape);

/* ---- sets.c --- */

/* Clear the marks, and make them large enough for ids below `count`. */
void kiln__marks_begin(kiln__build *b, kiln__marks *marks, uint32_t count);
/* The same for all lowered nodes that there are now. */
static inline void kiln__marks_clear(kiln__build *b, kiln__marks *marks)
{
    kiln__marks_begin(b, marks, b->lowered_count);
}
/* Mark `id`. Returns whether it was not marked before. */
static inline bool kiln__mark(kiln__build *b, kiln__marks *marks, uint32_t id)
{
    const bool is_new = marks->stamp[id] != marks->now;
    marks->stamp[id] = marks->now;
    b->work++;
    return is_new;
}
static inline bool kiln__is_marked(const kiln__marks *marks, uint32_t id)
{
    return marks->stamp[id] == marks->now;
}

bool kiln__set_has(const kiln__set *set, uint32_t id);
/* Add `id`. Returns whether it was not in the set before. */
bool kiln__set_add(kiln__build *b, kiln__set *set, uint32_t id);
void kiln__list_add(kiln__build *b, kiln__list *list, uint32_t id);

/* ---- lower.c --- */

/* Lower every node that outputs depend on into b->lowered and b->outputs. */
void kiln__lower(kiln__build *b);

/* ---- product_epilogue.c --- */

/* If `low`, an operation, is a matrix product followed by operations that the library can do as
 * well, return a node of that product which does them; else return `low`. */
uint32_t kiln__finished_product(kiln__build *b, uint32_t node, uint32_t low);

/* ---- lowered.c --- */

/* Add to *bytes what arrays beneath `low` that have its shape hold for each element; add to *weight
 * the bytes of those that are contiguous along rows, and subtract the bytes of others. Nodes that
 * are marked are left out. */
void kiln__row_bytes(kiln__build *b, uint32_t low, const bool *reduced, int64_t *bytes,
                     int64_t *weight);
bool kiln__same_map(const kiln__axis_map *a, const kiln__axis_map *b, int count);
/* Add a node, or find an equal one. `model` is copied; its lists must be in the arena. */
uint32_t kiln__lowered_add(kiln__build *b, const kiln__lowered *model);
/* `low` converted to `dtype`, and `low` stored; `origin` is the recorded node. */
uint32_t kiln__lowered_cast(kiln__build *b, uint32_t low, kiln_dtype dtype, uint32_t origin);
uint32_t kiln__lowered_store(kiln__build *b, uint32_t low, uint32_t origin);
/* The number of elements of a shape. Fails where their bytes overflow. */
int64_t kiln__lowered_size(kiln__build *b, uint32_t origin, int rank, const int64_t *shape,
                           kiln_dtype dtype);

/* Add a computed node over these operands; `model` gives everything else, with its shape. */
uint32_t kiln__lowered_over(kiln__build *b, kiln__lowered *model, const uint32_t *operands,
                            size_t count);
/* Set the shape of `made` to what the operands broadcast to. */
void kiln__shape_over(kiln__build *b, uint32_t node, const uint32_t *operands, size_t count,
                      kiln__lowered *made);
/* Fail if a function of another folder has: with its error, and where `node` was recorded. */
void kiln__check_resolved(kiln__build *b, uint32_t node, kiln_status status, kiln_error *err);
/* Find the loop of an operation for operands of these types. */
void kiln__resolve_op(kiln__build *b, uint32_t node, const kiln__op *op, const kiln__op_type *types,
                      kiln__op_loop *out);
/* Add an operation that was not recorded; the operands have the dtype of its loop. */
uint32_t kiln__lowered_op(kiln__build *b, uint32_t node, kiln_op op, const uint32_t *operands,
                          size_t count);

static inline bool kiln__lowered_computed(const kiln__lowered *n)
{
    return n->kind == KILN__LOWERED_EXPR || n->kind == KILN__LOWERED_CAST ||
           n->kind == KILN__LOWERED_SNIPPET || n->kind == KILN__LOWERED_STORE ||
           n->kind == KILN__LOWERED_GATHER;
}
/* Whether a reduction's kernel can store this value after its results: it need not be in C-order,
 * or it is a part of a join, which decides the order. */
static inline bool kiln__lowered_can_be_epilogue(const kiln__lowered *n)
{
    return !n->c_order || (n->kind == KILN__LOWERED_STORE && n->start != NULL);
}
/* Whether an operand is the array that a gather reads, at any of its elements. */
static inline bool kiln__lowered_is_table(const kiln__lowered *n, uint32_t operand)
{
    return n->kind == KILN__LOWERED_GATHER && operand == 0;
}
static inline bool kiln__same_shape(int rank, const int64_t *shape, int other_rank,
                                    const int64_t *other)
{
    return rank == other_rank &&
           (rank == 0 || memcmp(shape, other, (size_t)rank * sizeof *shape) == 0);
}

/* ---- numbers.c --- */

/* Whether a recorded node is weak in this call: a plain number, a number given as an argument, or
 * computed from such alone. Gives its type, with a zero where the value is unknown. */
bool kiln__is_number(const kiln__build *b, uint32_t node, kiln__op_type *type_out);
/* Fail if the number is an integer that `dtype` does not hold. */
void kiln__need_fit(kiln__build *b, uint32_t node, const kiln__op_type *type, kiln_dtype dtype);
/* The lowered node of a weak node, as `dtype`. */
uint32_t kiln__lowered_number(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* The same for an integer whose value is unknown: the kernel clamps it to the range of `dtype`. */
uint32_t kiln__lowered_clamped(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* The lowered node of any node; a weak one gets its default dtype. */
uint32_t kiln__lowered_strong(kiln__build *b, uint32_t node);
/* The same as a pointer, which is valid until the next lowered node is made. */
static inline const kiln__lowered *kiln__strong(kiln__build *b, uint32_t node)
{
    const uint32_t low = kiln__lowered_strong(b, node); /* it may move the list */
    return &b->lowered[low];
}
/* A number given as an argument, which the call converts to `dtype`. */
uint32_t kiln__lowered_scalar(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* ---- extents.c: extents as numbers ---- */
/* Make room for what is known of numbers, and a copy of the nodes' data, in which references are replaced. */
void kiln__begin_extents(kiln__build *b);
/* Mark the nodes that a node's data refers to as wanted. */
void kiln__want_extents(kiln__build *b, uint32_t node);
/* Replace references in a node's data by the values that they refer to. ERR_RANGE, ERR_SHAPE. */
void kiln__replace_references(kiln__build *b, uint32_t node);
uint32_t kiln__lower_extent(kiln__build *b, uint32_t node, uint32_t operand);
/* Compute an operation on whole numbers that are known, of which one is an extent; 0: it is none. */
uint32_t kiln__lower_known_op(kiln__build *b, uint32_t node);
/* The known value of a node as `dtype`. */
uint32_t kiln__lowered_known(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* Whether a node's value is known so. */
static inline bool kiln__is_known(const kiln__build *b, uint32_t node)
{
    return b->lowering.known != NULL && b->lowering.known[node].kind != 0;
}
/* Lower a recorded operation all of whose operands are weak. */
uint32_t kiln__lower_number_op(kiln__build *b, uint32_t node);

/* ---- why_dtype.c --- */

/* Note for kiln__program_explain() that an operation makes an operand wider. */
void kiln__note_widening(kiln__build *b, uint32_t node, const kiln__op_loop *loop);
/* The reason for the dtype of a recorded node, as text in the arena: "input `b` is float64, beside
 * float32 in add (norm.c:7)". */
const char *kiln__why_dtype(kiln__build *b, uint32_t node);

/* ---- maps.c, views.c --- */

/* The view of `low` with this shape; `map` has an entry for each axis of `low`. */
uint32_t kiln__lowered_view(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                            const kiln__axis_map *map, uint32_t origin);
/* Lower a recorded view of `operand`, a lowered node. */
uint32_t kiln__lower_view(kiln__build *b, uint32_t node, uint32_t operand);
/* Give the map of an operand's axes in an elementwise node of that shape: NumPy's broadcasting. */
void kiln__broadcast_map(const kiln__lowered *operand, int rank, const int64_t *shape,
                         kiln__axis_map *map_out);
/* The map of a view (`inner`) of a view (`outer`); `outer` has `count` axes. */
void kiln__compose(const kiln__axis_map *outer, const kiln__axis_map *inner, int count,
                   kiln__axis_map *out);
/* `axis` counted from the first axis; negative ones count from the end. Fails with ERR_AXIS. */
int kiln__lower_axis(kiln__build *b, uint32_t node, int64_t axis, int rank);

/* ---- topk.c --- */
/* Lower a result of topk() of the lowered node `x` so that the kernel which computes x finds it; 0:
 * this is not possible, and it is a step of its own. Operands and numbers must be checked already. */
uint32_t kiln__lower_topk(kiln__build *b, uint32_t node, uint32_t x);
/* Lower an operation by `lower`. Where an operand is in pieces, that is done for each piece, and
 * the results are put side by side. */
uint32_t kiln__lower_pieces(kiln__build *b, uint32_t node,
                            uint32_t (*lower)(kiln__build *b, uint32_t node));
/* Lower a reduction of pieces along their axis; 0: the node is no such reduction. */
uint32_t kiln__reduce_pieces(kiln__build *b, uint32_t node);

/* ---- joins.c --- */
/* The concatenation along an axis of lowered nodes of one dtype, whose other extents are equal. */
uint32_t kiln__lowered_side_by_side(kiln__build *b, uint32_t node, const uint32_t *lowered,
                                    size_t count, int axis, kiln_dtype dtype);
/* Lower a recorded rearrangement. */
uint32_t kiln__lower_rearranged(kiln__build *b, uint32_t node);
/* Lower KILN_REARRANGE_WINDOW with 2 or 4 numbers: all windows along an axis. (gather.c) */
uint32_t kiln__lower_windows(kiln__build *b, uint32_t node);

/* ---- gather.c --- */
uint32_t kiln__lower_gather(kiln__build *b, uint32_t node);

/* ---- reshape.c --- */
/* `low` with another shape of as many elements. */
uint32_t kiln__lowered_reshaped(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                                uint32_t node);
/* Lower a recorded reshape of `operand`, a lowered node. */
uint32_t kiln__lower_reshape(kiln__build *b, uint32_t node, uint32_t operand);

/* ---- facts.c --- */

enum {
    KILN__WEIGHT_CALL = 10, /* the weight of a function; that of an arithmetic operation is 1 */
    KILN__WEIGHT_AGAIN = 60 /* values of this weight are not computed again */
};

void kiln__find_needed(kiln__build *b);
void kiln__find_snippets(kiln__build *b);
/* Find the other facts. Weights do not count what is beneath stored values, so the function is
 * called again when `stores` (NULL: not decided yet) has changed. */
void kiln__find_facts(kiln__build *b, const kiln__store *stores);
/* The node that `low` is a view of, through any number of views; `low` if it is no view. */
static inline uint32_t kiln__behind(const kiln__build *b, uint32_t low)
{
    while (b->lowered[low].kind == KILN__LOWERED_VIEW)
        low = b->lowered[low].operand[0];
    return low;
}

/* ---- online.c --- */

/* Give sums of exp(x - max(x)) and max(x) one accumulator where they then need one pass over rows. */
void kiln__find_online(kiln__build *b);

/* ---- stores.c --- */

/* Store outputs, operands of custom kernels, and values of unknown cost. */
void kiln__store_outputs(kiln__build *b);
/* Store values that many more elements of another value use. */
void kiln__store_spread(kiln__build *b);

/* ---- size.c --- */

/* The most results of one loop, reductions of one pass, and epilogues of these. */
enum { KILN__ROOTS_MAX = 12 };

/* Measure the values beneath views. What it finds holds until more values are stored. */
void kiln__measure_views(kiln__build *b);
/* Whether a kernel would not be too large if it computed `id`, a value or reduction, as well. */
bool kiln__kernel_fits(kiln__build *b, const kiln__plan_kernel *kernel, uint32_t id);
/* Count `id` as a part of the kernel. Returns whether the kernel is not too large. */
bool kiln__kernel_grow(kiln__build *b, kiln__plan_kernel *kernel, uint32_t id);
/* Count everything that a kernel computes again from nothing. */
void kiln__kernel_measure(kiln__build *b, kiln__plan_kernel *kernel);
/* Store values so that no kernel of one result is too large. */
void kiln__cut_large(kiln__build *b);

/* ---- rows.c --- */

/* How many rows a block holds side by side where neighbours in memory are of different rows. */
enum { KILN__TURNED_ROWS = 16 };
void kiln__find_rows(kiln__build *b);

/* ---- order.c --- */
/* All tasks, each after those that it reads. */
kiln__list kiln__order_tasks(kiln__build *b);

/* ---- schedule.c --- */
/* Make the kernels of the tasks; the list is in the order in which they were made. */
kiln__plan_kernel *kiln__schedule_tasks(kiln__build *b, const kiln__list *tasks);
/* Whether a kernel computes `low` itself and does not read it from memory. */
bool kiln__inlined(const kiln__build *b, const kiln__plan_kernel *kernel, uint32_t low);

/* ---- sink.c --- */
/* Sink results into later kernels, and put the kernels into the order in which they run. */
kiln__plan_kernel *kiln__order_kernels(kiln__build *b, kiln__plan_kernel *made);

/* ---- snippet.c --- */

/* Whether a user's kernel can be inlined into other kernels. */
bool kiln__snippet_inlines(const kiln__definition *def);
/* Whether it has loops, so that its cost is unknown. */
bool kiln__snippet_loops(const kiln__definition *def);

#endif
