/*
 * graph.h - the header through which other folders use src/graph: recorded graphs on arrays.
 *
 *     arguments > [memo by layouts] > entry: program + kernels + views > [run: step after step]
 *
 * record.c   the public recording functions; relative.c: nodes that follow another one
 * statements.c  graphs from text; on parse.c, calls.c, near.c, apply.c, fold.c and lex.c
 * graph.c    the object: creation, compilation, its kernels by their text
 * entry.c    everything about a call that does not change while layouts stay the same
 * call.c     the path of one call
 * prepare.c  prepared launches
 * part_copies.c  steps that copy to parts of arrays
 * prefetch.c kernels of a call, compiled ahead
 * step.c     the variant that a step needs, without arrays and without a device
 * show.c     explain, DOT, source
 * keep.c     graphs of kiln's own that a context keeps
 * kept_text.c  eager functions whose graph is an expression
 * subscripts.c  x[...] as views and gathers; take.c: the same at once
 * opaque.c   operations that C functions do, such as matrix products
 * eager.c    operations of arrays, without a graph
 * at_once.c  sets and random choices at once; choices.c: choose(), select(), diag()
 *
 * Uses fusion, ops, linalg, kernel, array, context.
 */
#ifndef KILN_GRAPH_GRAPH_H
#define KILN_GRAPH_GRAPH_H

#include <pthread.h>

#include "fusion/fusion.h"
#include "kernel/kernel.h"
#include "kiln/graph.h"

#define KILN__GRAPH_MAGIC 0x6b67u

/* ---- entries --------------------------------------------------------------------------------- */

/* The array struct of a view of a value. A call copies it to the stack and sets its address. */
typedef struct kiln__param_view {
    kiln__step_param param;
    kiln_array *header; /* NULL when the value is passed as it is */
    size_t bytes;       /* of the array struct with its axes */
} kiln__param_view;

/* The launch of a step that copies to parts. */
typedef struct kiln__bound_parts {
    _Atomic(void *) entry; /* of the kernel, once a run needed it */
    kiln__parts plan;
} kiln__bound_parts;

typedef struct kiln__bound_step {
    kiln__kernel *kernel;     /* NULL: an opaque operation, or parts */
    kiln__bound_parts *parts; /* not NULL: the step copies to parts */
    kiln__param_view *views; /* one for each parameter */
    size_t view_count, input_count;
    const kiln_axes *axes; /* reductions */
    bool reduce, keepdims;
    _Atomic(const kiln__recipe *) recent; /* the last recipe that a call used */
} kiln__bound_step;

/* The layout that an argument of a call must have for the entry to be used. */
typedef struct kiln__entry_arg {
    uint8_t kind, dtype, rank;
    uint64_t layout;
    const int64_t *dims; /* rank extents, then rank strides */
} kiln__entry_arg;

/* Everything about a call but addresses and the values of numbers. Immutable once built, except for
 * `recent` of its steps. */
typedef struct kiln__entry {
    uint64_t hash; /* first: entries are items of a memo */
    kiln__program *program;
    kiln__bound_step *steps;
    size_t arg_count;
    kiln__entry_arg args[];
} kiln__entry;

/* ---- the object ------------------------------------------------------------------------------ */

enum { KILN__COUNTED_MAX = 64 }; /* the most results whose length only the device knows */
struct kiln_graph {
    uint32_t magic;
    kiln_context *ctx; /* the graph is one of its owners, unless `kept` */
    kiln__device *device;
    kiln_array *report; /* the array that kernels report to; NULL where none does */
    bool kept; /* the context owns the graph; neither the graph nor `report` keeps the context alive */
    kiln__ir ir;
    int8_t counted_axis[KILN__COUNTED_MAX]; /* by counted output: the axis that its count is of */
    uint64_t counted; /* bit k: output k has as many elements as output k + 1 says */
    bool wide;        /* 16-bit floats stay float32 until they are stored */
    _Atomic(bool) sealed;
    _Atomic(bool) late; /* something was recorded after sealing, which is reported once */
    kiln_error failed;  /* the first error of recording */
    kiln_error late_error;
    pthread_mutex_t lock; /* of `kernels`, `report`, sealing and late_error */
    kiln__map kernels;    /* by their texts; steps with equal texts share a kernel */
    kiln__map names;      /* of inputs and outputs */
    kiln__memo memo;      /* entries by layouts */
};

/* Whether the graph was made in another process, from which this one was forked. */
static inline bool kiln__graph_forked(const kiln_graph *graph)
{
    return graph->ctx != NULL && kiln__context_forked(graph->ctx);
}

/* Whether a graph may have this name: an identifier of at most 100 bytes that begins with a letter. */
bool kiln__graph_name(const char *name);

/* Make an empty graph; `opts` NULL means the defaults. Without a context it can be recorded and
 * planned, but not called. ERR_NAME, ERR_ARGUMENT, ERR_NO_MEMORY. */
kiln_status kiln__graph_new(kiln_context *ctx, const kiln_graph_options *opts, kiln_graph **out,
                            kiln_error *err);

/* Record a plain number as a node, so that operations on numbers alone can be recorded. Returns
 * other nodes as they are. */
kiln_node kiln__graph_number(kiln_graph *graph, kiln_node node);

/* Check that a graph can be called: not NULL, not destroyed, sealed without an error. Reports an
 * attempt to record after sealing once. */
kiln_status kiln__graph_ready(kiln_graph *graph, const char *function, kiln_error *err);

/* Give the kernel for a step, which the graph keeps; it is made now if there is none. NULL for an
 * opaque operation. */
kiln_status kiln__graph_kernel(kiln_graph *graph, const kiln__step *step, kiln__kernel **out,
                               kiln_error *err);

/* The checked arguments of one call. */
typedef struct kiln__graph_call {
    const kiln_arg *args;
    size_t arg_count;
    kiln_stream *stream;
} kiln__graph_call;

kiln_status kiln__graph_call_read(kiln_graph *graph, const char *function, const kiln_arg *args,
                                  size_t arg_count, const kiln_graph_call_options *opts,
                                  kiln__graph_call *out, kiln_error *err);

/* Plan a call: its program, without kernels. The caller destroys it. */
kiln_status kiln__graph_program(kiln_graph *graph, const kiln__graph_call *call,
                                kiln__program **out, kiln_error *err);

/* Find the entry of a call in the memo, or build it. If the memo's table is full, *borrowed is the
 * entry as well, and the caller gives it back by kiln__memo_return(). `ahead`: other threads begin
 * to compile all kernels of a new entry but the first. */
kiln_status kiln__entry_get(kiln_graph *graph, const kiln__graph_call *call, bool ahead,
                            const kiln__entry **out, kiln__entry **borrowed, kiln_error *err);

/* Plan a step of an entry for this call: the variant that it needs. */
kiln_status kiln__entry_plan(const kiln_graph *graph, const kiln__entry *entry, size_t step,
                             const kiln__graph_call *call, kiln__planned *out, kiln_error *err);
void kiln__entry_destroy(void *entry); /* accepts NULL */

/* ---- graphs that a context keeps (keep.c) ---------------------------------------------------- */

/* A graph of kiln's own that does an eager function. `make` records it as `wanted` says; equal keys
 * with the same `make` stand for equal graphs. */
typedef struct kiln__kept_request {
    kiln_status (*make)(kiln_context *ctx, const void *wanted, kiln_graph **out, kiln_error *err);
    const void *wanted;
    int64_t *key; /* kiln__kept_graph_run() sets the first item */
    size_t key_count;
} kiln__kept_request;

/* Run such a graph on `stream` (NULL: the context's own). It is made if the context does not have
 * it. */
kiln_status kiln__kept_graph_run(kiln_context *ctx, const kiln__kept_request *request,
                                 const kiln_arg *args, size_t arg_count, kiln_stream *stream,
                                 kiln_error *err);

/* The same for an expression; `names` are at most KILN__KEPT_NAMES_MAX. (kept_text.c) */
enum { KILN__KEPT_NAMES_MAX = 64 };
kiln_status kiln__kept_text_run(kiln_context *ctx, const char *text, const char *const *names,
                                size_t name_count, const kiln_arg *args, size_t arg_count,
                                kiln_error *err);

/* Record a node over operands; `what` names it in messages. (record.c) */
kiln_node kiln__record(const kiln__node *node, const kiln_node *operands, size_t count,
                       const int64_t *data, size_t data_count, const char *what, const char *file,
                       int line);

/* ---- nodes that the public functions do not record (relative.c) ------------------------------ */

/* x, after a check that its first axes are those of the mask. */
kiln_node kiln__node_masked(kiln_node x, kiln_node mask, const char *file, int line);
/* A mask of x's first axes, broadcast to the shape of x; `whole`: it must have all axes. */
kiln_node kiln__node_mask_of(kiln_node mask, kiln_node x, bool whole, const char *file, int line);
/* y, after a check that it broadcasts with x, whose first axes a mask chooses from, or of which the extent
 * of an axis is known to the device alone: there y has one element. */
kiln_node kiln__node_beside(kiln_node y, kiln_node x, const kiln_node *mask, int axis,
                            const char *file, int line);
/* y, after a check that as many axes are behind `axis` of it as behind `other` of x. */
kiln_node kiln__node_aligned(kiln_node y, int axis, kiln_node x, int other, const char *file,
                             int line);
/* x, after a check that two of its axes are not the same. */
kiln_node kiln__node_apart(kiln_node x, int64_t axis, int64_t other, const char *file, int line);
/* x, after a check that it has an index along an axis. */
kiln_node kiln__node_holding(kiln_node x, int64_t axis, int64_t index, const char *file, int line);
/* x, after a check that it has so many elements along an axis. */
kiln_node kiln__node_sized(kiln_node x, int64_t axis, int64_t extent, const char *file, int line);
/* x or, where it has no elements along some axes (NULL: all), a number without axes in their place. */
kiln_node kiln__node_filled(kiln_node x, kiln_node number, const kiln_axes *axes, const char *file, int line);
/* x, after a check that it has so many axes; `hint` is a KILN__HINT_... */
kiln_node kiln__node_ranked(kiln_node x, int least, int most, int hint, const char *file, int line);
/* x broadcast to the shape of `like`. */
kiln_node kiln__node_broadcast_like(kiln_node x, kiln_node like, const char *file, int line);
/* x with the axes of `behind` added behind its own, along which its elements are repeated. */
kiln_node kiln__node_before(kiln_node x, kiln_node behind, const char *file, int line);
/* x as a dtype, where a KILN__CASTING_... allows it. */
kiln_node kiln__node_cast_by(kiln_node x, kiln_dtype dtype, int64_t casting, const char *file, int line);
/* x in the shape of `like`, with as many elements. */
kiln_node kiln__node_reshape_like(kiln_node x, kiln_node like, const char *file, int line);
/* An extent of x, a whole number: of an axis, KILN__EXTENT_ALL or KILN__EXTENT_RANK; `rank`: how many axes
 * there must be, or -1. */
kiln_node kiln__node_extent(kiln_node x, int64_t axis, int64_t rank, const char *file, int line);
/* An int64 without axes as a plain number, whose value only the device knows. */
kiln_node kiln__node_weak(kiln_node x, const char *file, int line);
/* The node of a number of an expression: the one that it refers to (fusion.h), or a plain number. */
kiln_node kiln__number_node(kiln_graph *graph, int64_t number);
/* x in the dtype of `like`; `how` (KILN__CAST_...) applies where that is an integer dtype. */
kiln_node kiln__node_cast_like(kiln_node x, kiln_node like, int64_t how, const char *file,
                               int line);
/* A rearrangement that kiln__pads_by_elements() does not name. (record.c) */
kiln_node kiln__node_rearranged(kiln_rearrangement what, const kiln_node *operands,
                                size_t operand_count, const int64_t *numbers, size_t number_count,
                                const char *file, int line);

/* x, of which the axes from `axis` on that are the mask's are one; below 0: that one's place from the end. */
kiln_node kiln__node_folded(kiln_node x, kiln_node mask, int axis, const char *file, int line);
/* x, of which the last `count` axes are one. */
kiln_node kiln__node_merged(kiln_node x, int64_t count, const char *file, int line);
/* Positions along an axis of x, and no other one. */
kiln_node kiln__node_places(kiln_node x, int axis, const char *file, int line);

/* x, which reports where a condition is false; message number `what` of needed.c, with a number. */
enum { KILN__NEEDS_ELEMENT = 6, KILN__NEEDS_EQUAL_NUMBERS = 10 };
kiln_node kiln__node_need(kiln_node ok, kiln_node x, kiln_node number, int what, const char *file,
                          int line);
/* _need() of expressions: a copy of operands[1] that reports where operands[0] is false. (needed.c) */
kiln_status kiln__need_infer(const kiln_array *const *operands, kiln_error *err);
kiln_status kiln__need_run(const kiln_array *const *operands, kiln_stream *stream, kiln_array *out,
                           kiln_error *err);

/* ---- pad() with values that are computed from the array (padding.c) -------------------------- */

/* Whether a rearrangement is such a pad(). */
bool kiln__pads_by_elements(kiln_rearrangement what, const int64_t *numbers, size_t number_count);
/* Record one with widths for each axis. */
kiln_node kiln__node_padded(const kiln_node *operands, size_t operand_count, const int64_t *numbers,
                            size_t number_count, const char *file, int line);
/* pad() as one step: give the result's shape, and do it on `stream`. `values` are constants or the ends of ramps, a
 * number, a pair, or a pair for each axis. `numbers` are a kiln_pad_mode, whether reflections are odd, how many pairs
 * there are of widths and of lengths, and these pairs: one for all axes, or one for each. A length is how many elements
 * next to an edge are used; no pair: all. (pad_all.c) */
enum { KILN__PAD_MODE, KILN__PAD_ODD, KILN__PAD_WIDTHS, KILN__PAD_LENGTHS, KILN__PAD_HEAD };
kiln_status kiln__pad_infer(const kiln_array *x, const kiln_array *values, const int64_t *numbers,
                            int64_t *shape, kiln_error *err);
kiln_status kiln__pad_run(const kiln_array *x, const kiln_array *values, const int64_t *numbers,
                          kiln_stream *stream, kiln_array *out, kiln_error *err);

/* ---- diag() (diagonals.c) -------------------------------------------------------------------- */

kiln_status kiln__diagonal_infer(const kiln_array *x, int64_t k, int *rank, int64_t *shape,
                                 kiln_error *err);
kiln_status kiln__diagonal_run(const kiln_array *x, int64_t k, kiln_stream *stream, kiln_array *out,
                               kiln_error *err);

/* ---- long lists of numbers (values.c) -------------------------------------------------------- */

/* The data of such a node: KILN_INT64, KILN_FLOAT64 or KILN_BOOL, how many numbers there are, and these, each of which
 * kiln__values_put() puts into two places: an integer, or the bits of a double. */
enum { KILN__VALUES_DTYPE, KILN__VALUES_COUNT, KILN__VALUES_HEAD };
void kiln__values_put(int64_t *data, int64_t k, int64_t bits);
kiln_node kiln__values_node(kiln_graph *graph, const int64_t *data, const char *file, int line);
kiln_status kiln__values_run(const int64_t *data, kiln_stream *stream, kiln_array *out, kiln_error *err);

/* ---- random order (random.c): the key is an integer array without axes ----------------------- */

kiln_status kiln__shuffle_infer(const kiln_array *key, const kiln_array *array, kiln_error *err);
kiln_status kiln__shuffle_into(const kiln_array *key, const kiln_array *array, kiln_stream *stream,
                               kiln_array *out, kiln_error *err);

/* ---- opaque operations (opaque.c) ------------------------------------------------------------ */

/* The operation of that name; NULL where there is none. */
const kiln__opaque *kiln__opaque_named(const char *name, size_t bytes);
/* An opaque operation with its operands and data. */
typedef struct kiln__opaque_given {
    const kiln__opaque *operation;
    const kiln_node *operands;
    size_t count;
    const int64_t *data;
    size_t data_count;
} kiln__opaque_given;
/* Record a result of it. (record.c) */
kiln_node kiln__opaque_node(const kiln__opaque_given *given, size_t result, const char *file,
                            int line);
/* Pack a text with a NUL into `data`. Returns the number of items, 0 where it is too long.
 * (record.c) */
enum { KILN__OPAQUE_DATA_MAX = 64 };
size_t kiln__opaque_text(const char *text, size_t bytes, int64_t data[KILN__OPAQUE_DATA_MAX]);

/* Stands for all elements where the data of a sort by a rule has an axis. */
enum { KILN__ORDER_ALL = 99 };

/* If dtypes and layouts determine that an opaque step is one kernel, give its definition, and the
 * step as a call of it (a KILN__STEP_CUSTOM then has no axes). Else *out is NULL: running it
 * chooses kernels. */
kiln_status kiln__opaque_kernel(const kiln__step *step, kiln__step *call, kiln__definition **out,
                                kiln_error *err);

/* Do an opaque step on `stream`. `values` has for each parameter the array that it is a view of. */
kiln_status kiln__opaque_run(const kiln__step *step, kiln_array *const *values, kiln_stream *stream,
                             kiln_error *err);
/* Make it a launch, which keeps views of the values. */
kiln_status kiln__opaque_prepare(kiln_context *ctx, const kiln__step *step,
                                 kiln_array *const *values, kiln_stream *stream, kiln_launch **out,
                                 kiln_error *err);

/* ---- copies to parts (part_copies.c) --------------------------------------------------------- */

/* Lay out the launch of a KILN__STEP_PARTS. The caller frees *out, also after a failure. */
kiln_status kiln__parts_bind(const kiln__step *step, kiln__bound_parts **out, kiln_error *err);
/* The source of its kernel, which the caller frees. */
kiln_status kiln__parts_source(const kiln__bound_parts *parts, char **text_out, kiln_error *err);

/* ---- text (parse.c) -------------------------------------------------------------------------- */

/* kiln_graph_parse() after its arguments were checked. The context may be NULL, as in
 * kiln__graph_new(). */
kiln_status kiln__graph_from_text(kiln_context *ctx, const char *text, const char *const *names,
                                  size_t name_count, const kiln_graph_options *opts,
                                  kiln_graph **out, size_t *results_out, kiln_error *err);

/* ---- steps without arrays (step.c) -------------------------------------------------------------- */

/* A plain number as an argument; and an argument as a number, false when it is not a number. */
kiln_arg kiln__number_arg(const kiln__number *n);
static inline bool kiln__arg_number(const kiln_arg *arg, kiln__number *out)
{
    const bool is_number = arg->kind >= KILN_ARG_BOOL && arg->kind <= KILN_ARG_COMPLEX;
    if (is_number)
        *out = kiln__number_of(arg->kind - KILN_ARG_BOOL, &arg->value);
    return is_number;
}

/* Whether a node or an output uses input number `input`. */
bool kiln__graph_uses(const kiln_graph *graph, size_t input);

/* Plan a step of a program, whose definition is `def`, for a device. `args` are those of the call,
 * or NULL. Values whose address is unknown are assumed to be aligned. */
kiln_status kiln__step_plan(const kiln__step *step, kiln__definition *def,
                            const kiln__plan_device *device, const kiln_arg *args,
                            kiln__planned *out, kiln_error *err);

/* The array given for an argument; NULL for numbers, and for outputs that are still to be
 * allocated. */
static inline kiln_array *kiln__graph_array(const kiln_arg *arg)
{
    return arg->kind == KILN_ARG_ARRAY                           ? arg->value.array
           : arg->kind == KILN_ARG_OUT && arg->value.out != NULL ? *arg->value.out
                                                                 : NULL;
}

#endif
