/*
 * build.h - a program while it is being built. Private to src/fusion.
 *
 * A build owns one arena, where the program and all that leads to it live, and leaves in one of two
 * ways: to the end, or by kiln__build_fail() from however deep inside, straight back to
 * kiln__program_build(), which frees the arena. So no function here returns a status and none has
 * anything to undo: texts in the making are in `scratch`, freed in the same place.
 *
 * Lowered nodes have a dtype and a shape; every conversion and every broadcast is explicit
 * or follows from shapes. Ids grow from operands to users. Low 0 is none.
 */
#ifndef KILN_FUSION_BUILD_H
#define KILN_FUSION_BUILD_H

#include <setjmp.h>
#include <stdio.h>

#include "fusion/fusion.h"

/* ---- sets of lowered nodes (sets.c) ------------------------------------------------------- */

/* Marks on lowered nodes, none at first; cleared at once. */
typedef struct kiln__marks {
    uint32_t *stamp; /* by lowered node: marked when it is `now` */
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
    KILN__LOWERED_EXPR,     /* an operation; operands have the loop's dtypes */
    KILN__LOWERED_CAST,
    KILN__LOWERED_STORE,    /* the operand, kept in memory of its own */
    KILN__LOWERED_VIEW,     /* a view: `map` has an entry for each axis of the operand */
    KILN__LOWERED_RESHAPED, /* a C-order view of a STORE, or of a JOIN */
    KILN__LOWERED_JOIN,     /* what its operands, each a STORE, are stored into */
    KILN__LOWERED_REDUCE,
    KILN__LOWERED_GATHER, /* elements of the first operand, which is in memory, by the others; `op`: a
                          kiln_index_mode; `map`: of the axes of the first operand */
    KILN__LOWERED_SNIPPET, /* a result of a user's kernel that is done where it is used */
    KILN__LOWERED_CUSTOM   /* a result of a user's kernel, or of an opaque operation */
} kiln__lowered_kind;

/* `from` in the map of a gather: the first indices run along the axis, KILN__BY_INDEX - 1: the
 * second. */
enum { KILN__BY_INDEX = -2 };

/* What a lowered node is: known when it is made, but for the output it becomes. What passes find
 * about it is in lists of their own, below. */
typedef struct kiln__lowered {
    uint32_t id;
    kiln__lowered_kind kind;
    kiln_dtype dtype;
    int rank;
    int64_t *shape;
    int64_t size;
    uint32_t into;            /* store: the join that it is a part of, or the output that is
                                 another shape of it; 0 for none */
    int64_t *start;           /* ... and where in it the part begins */
    uint32_t *operand;
    uint32_t operand_count;
    uint32_t origin;          /* recorded node */
    uint32_t arg;             /* leaf, scalar: place in the call */
    int64_t *strides, offset; /* leaf, in bytes */
    int64_t *coef;            /* iota */
    kiln__number number;      /* const */
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

    bool memory;     /* memory is read beneath it; known as soon as it is made */
    bool of_numbers; /* likewise: one element, computed from plain numbers alone */
    bool given;      /* likewise: an output */
    bool c_order;    /* likewise: stored in C-order, if it is */
    int output;      /* which output it is, or -1 */

    uint32_t hash;  /* of what it was when it was made */
    uint32_t older; /* the lowered node before it of those that share a bucket; 0: none */
} kiln__lowered;

/* ---- what passes find about lowered nodes ---------------------------------------------------- */

/* facts.c: what a lowered node is made of. */
typedef struct kiln__fact {
    bool needed;         /* some output is made of it */
    bool arguments;      /* it is made of arguments and numbers alone, elementwise */
    bool loads, reduces; /* whether arrays, or results of reductions, are beneath it */
    bool positions;      /* whether positions are */
    bool calls;          /* it is itself a function, not plain arithmetic */
    int weight;          /* operations beneath it, roughly, functions counting more */
    uint64_t inputs;     /* arguments beneath it, as bits; the last stands for all that follow */
} kiln__fact;

/* states.c: how a reduction is computed by itself, and from the state of another one; or NULL. */
typedef struct kiln__forms {
    const struct kiln__form *alone, *shared;
} kiln__forms;

/* stores.c, rows.c, size.c: what is kept in memory. */
typedef struct kiln__store {
    bool stored;  /* of what is computed: kept in memory by the kernel that computes it */
    bool cut;     /* stored so that what uses it becomes another kernel */
    bool in_rows; /* computed by row programs alone */
} kiln__store;

/* rows.c: the row program that a lowered node belongs to, and the stage of a reduction in it. */
typedef struct kiln__row_part {
    struct kiln__row_kernel *rows;
    int stage;
} kiln__row_part;

/* order.c, schedule.c, sink.c: the kernel that stores a lowered node. */
typedef struct kiln__task {
    bool again;      /* reductions compute the lowered node again rather than wait for it */
    bool recomputed; /* some reduction does */
    bool epilogue;   /* a reduction's kernel stores it */
    int level;       /* of the kernel */
    struct kiln__plan_kernel *kernel;
} kiln__task;

/* write.c: where a lowered node is stored. */
typedef struct kiln__held {
    bool read;               /* some kernel reads it from memory */
    kiln__step_param *value; /* NULL until its place is known */
} kiln__held;

/* ---- kernels while they are planned ---------------------------------------------------------- */

/* How large something is: operations, and arrays that are read; among these `made` that are no
 * arguments. Blocks of neighbouring lowered nodes among operations and these are bits: two measures
 * that have none in common have none of these in common. */
enum { KILN__BLOCK_WORDS = 16 };
typedef struct kiln__measure {
    int nodes, leaves, made;
    uint64_t blocks[KILN__BLOCK_WORDS];
} kiln__measure;

typedef struct kiln__plan_kernel {
    struct kiln__plan_kernel *next;
    kiln__step_kind kind;
    uint32_t number; /* in the order they were made in */
    int level;
    int rank; /* of the loop */
    int64_t *shape;
    bool *reduced;
    kiln__list members; /* reductions: those that are reduced, in order */
    kiln__list roots;   /* what is stored: loops, epilogues, rows */
    size_t states;      /* what the members keep */
    kiln__measure size; /* of all it computes ... */
    kiln__set counted;  /* ... and what was counted for that */
    uint64_t inputs;    /* arguments beneath its roots, as bits (sink.c) */
    struct kiln__row_kernel *rows;
    const struct kiln__survey *survey; /* what writing it must know first (write.c); may be NULL */
    kiln__step *step;
} kiln__plan_kernel;

typedef struct kiln__row_kernel {
    struct kiln__row_kernel *next;
    int stage_count;
    bool busy;               /* what it reads is being placed (order.c) */
    const kiln__lowered *sample; /* one of its reductions: space and reduced axes */
    kiln__list lowered;          /* its reductions, and what it stores */
    uint32_t first, last;    /* of them */
    kiln__set inside;        /* what it computes for itself */
} kiln__row_kernel;

/* A row of the table of named reductions for elements of one dtype. */
typedef struct kiln__form {
    struct kiln__form *next;
    const kiln__reduce_row *row;
    int op;          /* that which the row was found by */
    kiln_dtype from; /* of the elements */
    const char *type, *map, *reduce, *post, *identity;
    size_t bytes;                   /* of the state, from above, a multiple of 8 */
    const struct kiln__form *state; /* the same one for all forms that keep the same state */
} kiln__form;

/* One application of a user's kernel that is inlined. */
typedef struct kiln__snippet {
    kiln__list results; /* lowered nodes */
    uint32_t uses;      /* of all of them */
} kiln__snippet;

/* ---- the build ------------------------------------------------------------------------------- */

/* The last scratch buffer is for texts that the function which begins them ends. */
enum { KILN__SCRATCH = 9, KILN__SCRATCH_SHORT = KILN__SCRATCH - 1 };

/* What passes look up by what it consists of. */
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

/* The lowered nodes of a node's elements along an axis, each of one index there; `back`: how many
 * axes stand behind it. */
enum { KILN__PIECES_MOST = KILN__TOP_MOST };
typedef struct kiln__pieces {
    int count, back;
    uint32_t low[KILN__PIECES_MOST];
} kiln__pieces;

/* What lowering keeps for each recorded node. */
typedef struct kiln__lowering {
    const kiln__pieces **pieces; /* what topk() found, what is stacked, and what follows from that; else NULL */
    uint32_t *lowered;           /* its lowered node; 0: not yet */
    bool *wanted;      /* some output needs it */
    bool *viewed;      /* some view takes it */
    bool *kept;        /* some node takes it that is no loop, or views it: it needs memory */
    uint32_t *uses;    /* by outputs and by nodes that some output needs */
    char *numbers;     /* the kind of what is computed from numbers alone, else 0 */
    kiln_dtype *dtype; /* NumPy's, by which operands are promoted: its lowered node's, but where
                          16-bit floats stay wide float16 or bfloat16 of a node of float32 */
} kiln__lowering;

/* What measuring keeps (size.c). */
typedef struct kiln__sizes {
    int (*beneath)[2];     /* by view: operations and arrays of each of its users */
    kiln__measure **alone; /* by lowered node: what it computes by itself; NULL: not known yet */
    kiln__list measured;   /* what the last measurement counted */
} kiln__sizes;

/* The kernel that is being written (write.c, names.c). */
typedef struct kiln__writing {
    kiln__marks named;    /* lowered nodes that have a text in it */
    uint32_t *last_named; /* which of its texts is the last, by such a lowered node */
    struct kiln__seen *seen;                 /* room for all texts of a kernel */
    size_t seen_capacity;
    kiln__marks listed;                      /* recorded nodes that its step lists */
    kiln__step_param params[KILN_PARAM_MAX]; /* of its step */
} kiln__writing;

/* A call's own data, the lowered nodes, what each pass has found about them, and what it keeps for
 * itself. Tasks and kernels are handed from pass to pass (program.c). */
typedef struct kiln__build {
    jmp_buf leave;
    kiln_error *err;
    kiln_status status;
    struct kiln__arena *arena;
    struct kiln__arena *notes; /* what is needed for one kernel only, while it is looked at or written */
    const kiln__ir *ir;
    const kiln__graph_arg *args;
    const kiln__graph_target *target;
    kiln__lowered *lowered;
    uint32_t lowered_count, lowered_capacity;
    uint32_t
        *lowered_buckets; /* `lowered_capacity` of them: the newest lowered node of each hash */
    uint32_t *outputs; /* lowered nodes, by output */
    uint32_t *user_begin,
        *users; /* users of lowered node k: those from user_begin[k] to user_begin[k + 1] */
    kiln__snippet **snippets; /* by lowered node */
    /* By lowered node. Each list is made by the first of the passes that fill it in, and is NULL
     * before. */
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
    uint32_t part_count; /* parts of joins, and joins, so far */
    size_t work;         /* lowered nodes that walks came to, for tests */
    kiln__program *program;
    kiln__buf scratch[KILN__SCRATCH];
    kiln__map maps[KILN__MAPS];
} kiln__build;

/* Zeroed memory of the arena; never NULL. */
void *kiln__build_alloc(kiln__build *b, size_t bytes);
/* The same until kiln__build_forget(), which a pass calls before it turns to the next kernel. */
void *kiln__build_note(kiln__build *b, size_t bytes);
void kiln__build_forget(kiln__build *b);
void *kiln__build_copy(kiln__build *b, const void *data, size_t bytes);
/* A list of `count` items that has room for one more: `items`, or a copy with twice the room. */
void *kiln__build_reserve(kiln__build *b, void *items, size_t count, size_t *capacity,
                          size_t item_bytes);
/* The text of a scratch buffer, moved into the arena; the buffer is empty again. */
char *kiln__build_text(kiln__build *b, kiln__buf *text);
/* The same until kiln__build_forget(). */
char *kiln__build_note_text(kiln__build *b, kiln__buf *text);

/* The place of the value of a key, which is emptied; NULL is there at first. */
void **kiln__build_find(kiln__build *b, kiln__build_map map, kiln__buf *key);

/* Leave the build. `node` (0: none) is named with its place. */
_Noreturn void kiln__build_fail(kiln__build *b, uint32_t node, kiln_status status, const char *fmt,
                                ...) KILN_PRINTF(4, 5);

/* The last component of a path. */
static inline const char *kiln__file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* "(3, 4)" in the arena. */
const char *kiln__build_shape(kiln__build *b, int rank, const int64_t *shape);

/* ---- sets.c --- */

/* Begin with nothing marked of `count` lowered nodes or nodes. */
void kiln__marks_begin(kiln__build *b, kiln__marks *marks, uint32_t count);
/* The same of all lowered nodes that there are now. */
static inline void kiln__marks_clear(kiln__build *b, kiln__marks *marks)
{
    kiln__marks_begin(b, marks, b->lowered_count);
}
/* Whether it was not marked; it is now. */
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
/* Whether it was not there; it is now. */
bool kiln__set_add(kiln__build *b, kiln__set *set, uint32_t id);
void kiln__list_add(kiln__build *b, kiln__list *list, uint32_t id);

/* ---- lower.c --- */

/* Lower everything that outputs need into b->lowered and b->outputs. */
void kiln__lower(kiln__build *b);

/* ---- product_epilogue.c --- */

/* `low`, of an operation, or the matrix product beneath it with all that follows, where that is the
 * same. */
uint32_t kiln__finished_product(kiln__build *b, uint32_t node, uint32_t low);

/* ---- lowered.c --- */

/* Add the bytes that arrays of the same shape beneath a lowered node hold for each element, all of
 * them and, in `weight`, those whose rows are neighbours in memory less the others. What is marked
 * already is left out. */
void kiln__row_bytes(kiln__build *b, uint32_t low, const bool *reduced, int64_t *bytes,
                     int64_t *weight);
bool kiln__same_map(const kiln__axis_map *a, const kiln__axis_map *b, int count);
/* A new lowered node, or an equal one. `model` is copied; its lists must be in the arena. */
uint32_t kiln__lowered_add(kiln__build *b, const kiln__lowered *model);
uint32_t kiln__lowered_cast(kiln__build *b, uint32_t low, kiln_dtype dtype, uint32_t origin);
uint32_t kiln__lowered_store(kiln__build *b, uint32_t low, uint32_t origin);
int64_t kiln__lowered_size(kiln__build *b, uint32_t origin, int rank, const int64_t *shape,
                           kiln_dtype dtype);

/* A computed lowered node over operands, shaped like the model says. */
uint32_t kiln__lowered_over(kiln__build *b, kiln__lowered *model, const uint32_t *operands,
                            size_t count);
/* The shape that operands broadcast to. */
void kiln__shape_over(kiln__build *b, uint32_t node, const uint32_t *operands, size_t count,
                      kiln__lowered *made);
/* Pass on what a function of another folder found wrong, with the place of `node`. */
void kiln__check_resolved(kiln__build *b, uint32_t node, kiln_status status, kiln_error *err);
/* The loop of an operation; fails with the place of `node`. */
void kiln__resolve_op(kiln__build *b, uint32_t node, const kiln__op *op, const kiln__op_type *types,
                      kiln__op_loop *out);
/* An operation that was not recorded, over lowered nodes of its loop's dtype. */
uint32_t kiln__lowered_op(kiln__build *b, uint32_t node, kiln_op op, const uint32_t *operands,
                          size_t count);

static inline bool kiln__lowered_computed(const kiln__lowered *n)
{
    return n->kind == KILN__LOWERED_EXPR || n->kind == KILN__LOWERED_CAST ||
           n->kind == KILN__LOWERED_SNIPPET || n->kind == KILN__LOWERED_STORE ||
           n->kind == KILN__LOWERED_GATHER;
}
/* Whether the kernel that computes a value from results of reductions can store it: it may lie in
 * any order of axes, or in a part of a join, whose place is the join's business. */
static inline bool kiln__lowered_lies_anyhow(const kiln__lowered *n)
{
    return !n->c_order || (n->kind == KILN__LOWERED_STORE && n->start != NULL);
}
/* Whether an operand is read by its memory's address, wherever that says. */
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

/* Whether a recorded node is weak in this call: a plain number, one given as an argument, or
 * computed from such alone. Its type, with a zero of its kind where the value is unknown. */
bool kiln__is_number(const kiln__build *b, uint32_t node, kiln__op_type *type_out);
/* Fail for a plain integer that the dtype does not hold. */
void kiln__need_fit(kiln__build *b, uint32_t node, const kiln__op_type *type, kiln_dtype dtype);
/* A weak node as a lowered node of `dtype`. */
uint32_t kiln__lowered_number(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* The same of a whole number whose value is unknown, and the nearest value of `dtype`. */
uint32_t kiln__lowered_clamped(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* The lowered node of any node; a weak one has the dtype that it has by itself. */
uint32_t kiln__lowered_strong(kiln__build *b, uint32_t node);
/* A number given as an argument, converted to `dtype` by the call. */
uint32_t kiln__lowered_scalar(kiln__build *b, uint32_t node, kiln_dtype dtype);
/* A recorded operation of which all operands are weak. */
uint32_t kiln__lower_number_op(kiln__build *b, uint32_t node);

/* ---- why_dtype.c --- */

/* Note for kiln__program_explain() that an operation makes an operand wider. */
void kiln__note_widening(kiln__build *b, uint32_t node, const kiln__op_loop *loop);
/* What the dtype of a recorded node comes from, in the arena: "input `b` is float64, beside float32
 * in add (norm.c:7)". */
const char *kiln__why_dtype(kiln__build *b, uint32_t node);

/* ---- maps.c, views.c --- */

/* The view of `low` with this shape and map (an entry for each axis of lowered node). */
uint32_t kiln__lowered_view(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                            const kiln__axis_map *map, uint32_t origin);
/* A recorded view of a lowered node. */
uint32_t kiln__lower_view(kiln__build *b, uint32_t node, uint32_t operand);
/* The map of an operand's axes in an elementwise node of `rank` axes: NumPy's broadcasting. */
void kiln__broadcast_map(const kiln__lowered *operand, int rank, const int64_t *shape,
                         kiln__axis_map *map_out);
/* first, then second: maps of `count` axes through the viewer's own map. */
void kiln__compose(const kiln__axis_map *outer, const kiln__axis_map *inner, int count,
                   kiln__axis_map *out);
/* Axis `axis` of a shape of `rank` axes, negative from the end. Fails with ERR_AXIS. */
int kiln__lower_axis(kiln__build *b, uint32_t node, int64_t axis, int rank);

/* ---- topk.c --- */
/* A result of topk() of `x`, which the node takes, as a part of the kernel that computes x; 0: it
 * is a step of its own between stored arrays. Operands and numbers were checked. */
uint32_t kiln__lower_topk(kiln__build *b, uint32_t node, uint32_t x);
/* An operation by `lower`: where an operand is known in pieces, of each piece, and the result side
 * by side. */
uint32_t kiln__lower_pieces(kiln__build *b, uint32_t node,
                            uint32_t (*lower)(kiln__build *b, uint32_t node));
/* A recorded reduction of pieces along their axis; 0: it is another one. */
uint32_t kiln__reduce_pieces(kiln__build *b, uint32_t node);

/* ---- joins.c --- */
/* Lowered nodes of one dtype along an axis; their other extents are equal. */
uint32_t kiln__lowered_side_by_side(kiln__build *b, uint32_t node, const uint32_t *lowered,
                                    size_t count, int axis, kiln_dtype dtype);
/* A recorded rearrangement of its operands. */
uint32_t kiln__lower_rearranged(kiln__build *b, uint32_t node);
/* All windows along an axis: KILN_REARRANGE_WINDOW of 2 or 4 numbers. (gather.c) */
uint32_t kiln__lower_windows(kiln__build *b, uint32_t node);

/* ---- gather.c --- */
uint32_t kiln__lower_gather(kiln__build *b, uint32_t node);

/* ---- reshape.c --- */
/* A lowered node of as many elements under another shape. */
uint32_t kiln__lowered_reshaped(kiln__build *b, uint32_t low, int rank, const int64_t *shape,
                                uint32_t node);
uint32_t kiln__lower_reshape(kiln__build *b, uint32_t node, uint32_t operand);

/* ---- facts.c --- */

enum {
    KILN__WEIGHT_CALL = 10, /* a function, against 1 for arithmetic */
    KILN__WEIGHT_AGAIN = 60 /* too much to be computed again */
};

void kiln__find_needed(kiln__build *b);
void kiln__find_snippets(kiln__build *b);
/* Weights stop at what is stored (NULL: not decided yet): they are found again when that has
 * changed. */
void kiln__find_facts(kiln__build *b, const kiln__store *stores);
/* The operand behind views. */
static inline uint32_t kiln__behind(const kiln__build *b, uint32_t low)
{
    while (b->lowered[low].kind == KILN__LOWERED_VIEW)
        low = b->lowered[low].operand[0];
    return low;
}

/* ---- online.c --- */

/* Where two reductions can be had in one pass over rows, make them so. */
void kiln__find_online(kiln__build *b);

/* ---- stores.c --- */

/* Outputs, what custom kernels read, and what may cost any time to do again. */
void kiln__store_outputs(kiln__build *b);
void kiln__store_spread(kiln__build *b);

/* ---- size.c --- */

/* Most results of one loop, reductions of one pass, epilogues of them. */
enum { KILN__ROOTS_MAX = 12 };

/* Measure what lies beneath views, as long as nothing more is stored. */
void kiln__measure_views(kiln__build *b);
/* Whether a kernel that computes one more value, or reduction, is not too large. */
bool kiln__kernel_fits(kiln__build *b, const kiln__plan_kernel *kernel, uint32_t id);
/* Count it; whether the kernel is not too large. */
bool kiln__kernel_grow(kiln__build *b, kiln__plan_kernel *kernel, uint32_t id);
/* Count all that a kernel computes anew. */
void kiln__kernel_measure(kiln__build *b, kiln__plan_kernel *kernel);
/* Store values so that no kernel of one result is too large. */
void kiln__cut_large(kiln__build *b);

/* ---- rows.c --- */

/* Rows that are held side by side where neighbours in memory are of other rows. */
enum { KILN__TURNED_ROWS = 16 };
void kiln__find_rows(kiln__build *b);

/* ---- order.c --- */
/* All tasks, operands first. */
kiln__list kiln__order_tasks(kiln__build *b);

/* ---- schedule.c --- */
/* The kernels of tasks, in the order in which they were made. */
kiln__plan_kernel *kiln__schedule_tasks(kiln__build *b, const kiln__list *tasks);
/* Whether a kernel computes a lowered node rather than read it from memory. */
bool kiln__inlined(const kiln__build *b, const kiln__plan_kernel *kernel, uint32_t low);

/* ---- sink.c --- */
/* The kernels in the order in which they run, some results moved between them. */
kiln__plan_kernel *kiln__order_kernels(kiln__build *b, kiln__plan_kernel *made);

/* ---- snippet.c --- */

/* Whether a user's kernel can be done inside of others. */
bool kiln__snippet_inlines(const kiln__definition *def);
/* Whether it has loops: no one knows what it costs. */
bool kiln__snippet_loops(const kiln__definition *def);

#endif
