/*
 * graph.h - the one door of src/graph: recorded graphs on arrays.
 *
 *     arguments > [memo by layouts] > entry: program + kernels + views > [run: step after step]
 *
 * record.c   the public recording functions
 * statements.c  graphs from text; on parse.c, calls.c, near.c, apply.c, fold.c and lex.c
 * graph.c    the object: creation, compilation, its kernels by their text
 * entry.c    everything about a call that does not change while layouts stay the same
 * call.c     the path of one call
 * prepare.c  prepared launches
 * prefetch.c kernels of a call, compiled ahead
 * step.c     a step without arrays and without a device: what it would need
 * show.c     explain, DOT, source
 * keep.c     graphs of kiln's own that a context keeps
 * kept_text.c  functions at once whose graph is a text
 * subscripts.c  x[...] as views and gathers; take.c: the same at once
 * opaque.c   operations that no kernel of a graph does: matrix products
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

/* The header of a view of a value. A call copies it to the stack and sets its address. */
typedef struct kiln__param_view {
    kiln__step_param param;
    kiln_array *header; /* NULL when the value is passed as it is */
    size_t bytes;       /* of the header with its axes */
} kiln__param_view;

typedef struct kiln__bound_step {
    kiln__kernel *kernel;    /* NULL: an opaque operation */
    kiln__param_view *views; /* one a parameter */
    size_t view_count, input_count;
    const kiln_axes *axes; /* reductions */
    bool reduce, keepdims;
    size_t view_bytes;                    /* of all headers, aligned */
    _Atomic(const kiln__recipe *) recent; /* the recipe that fitted last: layouts are the entry's */
} kiln__bound_step;

/* What an argument must be equal to for the entry to fit. */
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

enum { KILN__COUNTED_MAX = 64 }; /* results that may be of lengths that the device knows */
struct kiln_graph {
    uint32_t magic;
    kiln_context *ctx; /* counted */
    kiln__device *device;
    kiln_array *report; /* what kernels report to; NULL where none does */
    bool kept; /* by the context, which it must not keep alive in turn: neither does `report` */
    kiln__ir ir;
    int8_t counted_axis[KILN__COUNTED_MAX]; /* along which their elements count */
    uint64_t counted; /* outputs whose number of elements is the output behind them, by bits */
    bool wide;        /* 16-bit floats stay float32 until they are stored */
    _Atomic(bool) sealed;
    _Atomic(bool) late; /* something was recorded after sealing: to be reported once */
    kiln_error failed;  /* the first error of recording */
    kiln_error late_error;
    pthread_mutex_t lock; /* of `kernels`, `report`, sealing and late_error */
    kiln__map kernels;    /* by their texts: steps of equal texts share one */
    kiln__map names;      /* of inputs and outputs */
    kiln__memo memo;      /* entries by layouts */
};

/* Whether another process made the graph, of which this one is a fork. */
static inline bool kiln__graph_forked(const kiln_graph *graph)
{
    return graph->ctx != NULL && kiln__context_forked(graph->ctx);
}

/* Whether a graph may have this name: an identifier of at most 100 bytes that begins with a letter.
 * */
bool kiln__graph_name(const char *name);

/* An empty graph; `opts` NULL means the defaults. A graph without a context can be recorded and
 * planned, but not called. ERR_NAME, ERR_ARGUMENT, ERR_NO_MEMORY. */
kiln_status kiln__graph_new(kiln_context *ctx, const kiln_graph_options *opts, kiln_graph **out,
                            kiln_error *err);

/* A plain number as a node of the graph, so that what is computed from numbers alone can be recorded;
 * any other node as it is. */
kiln_node kiln__graph_number(kiln_graph *graph, kiln_node node);

/* Check that a graph can be called: not NULL, not destroyed, sealed without an error. Reports an
 * attempt to record after sealing once. */
kiln_status kiln__graph_ready(kiln_graph *graph, const char *function, kiln_error *err);

/* The kernel for a step, from the graph's list or made now; NULL for an opaque operation. */
kiln_status kiln__graph_kernel(kiln_graph *graph, const kiln__step *step, kiln__kernel **out,
                               kiln_error *err);

/* One call's arguments, read. */
typedef struct kiln__graph_call {
    const kiln_arg *args;
    size_t arg_count;
    kiln_stream *stream;
} kiln__graph_call;

kiln_status kiln__graph_call_read(kiln_graph *graph, const char *function, const kiln_arg *args,
                                  size_t arg_count, const kiln_graph_call_options *opts,
                                  kiln__graph_call *out, kiln_error *err);

/* The program for a call, without kernels. */
kiln_status kiln__graph_program(kiln_graph *graph, const kiln__graph_call *call,
                                kiln__program **out, kiln_error *err);

/* Find the entry in the memo, or build it. Where the memo's table is full, `*borrowed` is the entry, which
 * the caller returns by kiln__memo_return(). With `ahead` other threads begin to compile all kernels of a new entry but
 * the first. */
kiln_status kiln__entry_get(kiln_graph *graph, const kiln__graph_call *call, bool ahead,
                            const kiln__entry **out, kiln__entry **borrowed, kiln_error *err);

/* What a step of an entry needs for this call. */
kiln_status kiln__entry_plan(const kiln_graph *graph, const kiln__entry *entry, size_t step,
                             const kiln__graph_call *call, kiln__planned *out, kiln_error *err);
void kiln__entry_destroy(void *entry); /* accepts NULL */

/* ---- graphs that a context keeps (keep.c) -------------------------------------------------------- */

/* A graph of kiln's own, for a function that is called at once. Equal keys of one `make` stand for equal graphs. */
typedef struct kiln__kept_request {
    kiln_status (*make)(kiln_context *ctx, const void *wanted, kiln_graph **out, kiln_error *err);
    const void *wanted;
    int64_t *key; /* the first item is left to kiln__kept_graph_run() */
    size_t key_count;
} kiln__kept_request;

/* Run it on `stream` (NULL: the context's own), made now if the context has none. */
kiln_status kiln__kept_graph_run(kiln_context *ctx, const kiln__kept_request *request,
                                 const kiln_arg *args, size_t arg_count, kiln_stream *stream,
                                 kiln_error *err);

/* The same of an expression's text; `names` are at most KILN__KEPT_NAMES_MAX. (kept_text.c) */
enum { KILN__KEPT_NAMES_MAX = 64 };
kiln_status kiln__kept_text_run(kiln_context *ctx, const char *text, const char *const *names,
                                size_t name_count, const kiln_arg *args, size_t arg_count,
                                kiln_error *err);

/* x, whose first axes are checked to be the mask's. (record.c) */
kiln_node kiln__node_masked(kiln_node x, kiln_node mask, const char *file, int line);
/* A mask of x's first axes in the shape of x; `whole`: it must have all of them. (record.c) */
kiln_node kiln__node_mask_of(kiln_node mask, kiln_node x, bool whole, const char *file, int line);

/* x, of which the axes from `axis` on that are the mask's are one; below 0: that one's place from the end. (record.c) */
kiln_node kiln__node_folded(kiln_node x, kiln_node mask, int axis, const char *file, int line);
/* Positions along an axis of x, and no other one. (record.c) */
kiln_node kiln__node_places(kiln_node x, int axis, const char *file, int line);

/* _need() of expressions: a copy of operands[1] that reports where operands[0] is false. (needed.c) */
kiln_status kiln__need_infer(const kiln_array *const *operands, kiln_error *err);
kiln_status kiln__need_run(const kiln_array *const *operands, kiln_stream *stream, kiln_array *out,
                           kiln_error *err);

/* x broadcast to the shape of another node. (record.c) */
kiln_node kiln__node_broadcast_like(kiln_node x, kiln_node like, const char *file, int line);

/* x in the dtype of another node; `how`: KILN__CAST_ROUND, where that is one of whole numbers. (record.c) */
kiln_node kiln__node_cast_like(kiln_node x, kiln_node like, int64_t how, const char *file,
                               int line);

/* ---- pad() by what is computed of the array (padding.c) ------------------------------------------ */

/* Whether a rearrangement is such a one. */
bool kiln__pads_by_elements(kiln_rearrangement what, const int64_t *numbers, size_t number_count);
/* One with widths for each axis, as a node. */
kiln_node kiln__node_padded(const kiln_node *operands, size_t operand_count, const int64_t *numbers,
                            size_t number_count, const char *file, int line);
/* pad() with widths that are those of all axes: its shape, and that on `stream`; `end` has one element. `numbers`: a
 * kiln_pad_mode, the widths before and behind, how many elements are looked at (0: all). (pad_all.c) */
kiln_status kiln__pad_infer(const kiln_array *x, const int64_t *numbers, int64_t *shape,
                            kiln_error *err);
kiln_status kiln__pad_run(const kiln_array *x, const kiln_array *end, const int64_t *numbers,
                          kiln_stream *stream, kiln_array *out, kiln_error *err);
/* Any other one as a node. (record.c) */
kiln_node kiln__node_rearranged(kiln_rearrangement what, const kiln_node *operands,
                                size_t operand_count, const int64_t *numbers, size_t number_count,
                                const char *file, int line);

/* ---- random order (random.c) ---- The key is a whole number without axes. */
kiln_status kiln__shuffle_infer(const kiln_array *key, const kiln_array *array, kiln_error *err);
kiln_status kiln__shuffle_into(const kiln_array *key, const kiln_array *array, kiln_stream *stream,
                               kiln_array *out, kiln_error *err);

/* ---- opaque operations (opaque.c) ---------------------------------------------------------------- */

/* The operation of that name; NULL where there is none. */
const kiln__opaque *kiln__opaque_named(const char *name, size_t bytes);
/* What a node of it is made of. */
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
/* A text with its end as data; the number of items, 0 where it is too long. (record.c) */
enum { KILN__OPAQUE_DATA_MAX = 64 };
size_t kiln__opaque_text(const char *text, size_t bytes, int64_t data[KILN__OPAQUE_DATA_MAX]);

/* In the text of an order by a rule, instead of an axis: all elements. */
enum { KILN__ORDER_ALL = 99 };

/* The one kernel of such a step, where dtypes and layouts tell which that is: its definition, and the
 * step as a call of it, which names no axes where it is a KILN__STEP_CUSTOM. *out NULL: a run chooses
 * kernels. */
kiln_status kiln__opaque_kernel(const kiln__step *step, kiln__step *call, kiln__definition **out,
                                kiln_error *err);

/* Do a step of such an operation on `stream`. `values`: for each parameter the array that it is a view
 * of. */
kiln_status kiln__opaque_run(const kiln__step *step, kiln_array *const *values, kiln_stream *stream,
                             kiln_error *err);
/* The same as a launch, which keeps views of the values. */
kiln_status kiln__opaque_prepare(kiln_context *ctx, const kiln__step *step,
                                 kiln_array *const *values, kiln_stream *stream, kiln_launch **out,
                                 kiln_error *err);

/* ---- text (parse.c) -------------------------------------------------------------------------- */

/* kiln_graph_parse() after its arguments were checked; the context may be NULL, as above. */
kiln_status kiln__graph_from_text(kiln_context *ctx, const char *text, const char *const *names,
                                  size_t name_count, const kiln_graph_options *opts,
                                  kiln_graph **out, size_t *results_out, kiln_error *err);

/* ---- steps without arrays (step.c) -------------------------------------------------------------- */

/* A plain number as an argument, and an argument as a number: false when it is none. */
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
 * or NULL; a value whose address they do not tell is taken to begin at an aligned one. */
kiln_status kiln__step_plan(const kiln__step *step, kiln__definition *def,
                            const kiln__plan_device *device, const kiln_arg *args,
                            kiln__planned *out, kiln_error *err);

/* The array given for an argument, NULL for numbers and outputs still to be allocated. */
static inline kiln_array *kiln__graph_array(const kiln_arg *arg)
{
    return arg->kind == KILN_ARG_ARRAY                           ? arg->value.array
           : arg->kind == KILN_ARG_OUT && arg->value.out != NULL ? *arg->value.out
                                                                 : NULL;
}

#endif
