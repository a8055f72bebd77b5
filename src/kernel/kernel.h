/*
 * kernel.h - the one door of src/kernel: kernels on arrays, the top of the library.
 *
 *     arguments > [recipe: check, bind, broadcast, plan, compile] > memo > [run: patch, launch]
 *
 * kernel.c       the object behind every handle
 * call.c         what all public functions do that make kernels and calls
 * run.c          the path of one call whose kernel is known; copies of arrays
 * recipe.c       everything about a call that does not change while layouts stay the same
 * line.c         notes down which kernels were needed ($KILN_RECORD)
 * abstract.c     the variant that a call would need, from shapes alone
 * elementwise.c  the public functions of kiln_elementwise
 * loop.c         elementwise calls: shapes, options
 * reduce_call.c  reductions: options of a call
 * reduction.c    kiln_reduction: axes, shapes, the public functions
 * reduce_ops.c   named reductions and scans
 * scan.c         kiln_scan: the axis, shapes, the public functions
 * filter.c       kiln_filter: shapes, the public functions
 * row.c          kiln_row: rows, shapes, the public functions
 * resolve.c      from arguments to a plan, for all families
 * overlap.c      outputs that share memory with inputs
 * launch.c       prepared launches
 * lists.c        calls whose arguments are lists of arrays
 * npz.c          .npz files
 * prefetch.c     kernels compiled ahead by other threads
 * array_like.c   arrays like others, single elements
 * transfer.c     page-locked host memory; copies into what exists, and between contexts
 * family.c       the table of families
 * kept.c         kernels of kiln's own, by key
 * own.c          whole kernels of kiln's own for CUDA, by template and macros
 * array_ops.c    array functions that need a kernel: fill, copy, cast, read back
 *
 * Uses codegen, jit, array, context, device, manifest.
 */
#ifndef KILN_KERNEL_KERNEL_H
#define KILN_KERNEL_KERNEL_H

#include <pthread.h>

#include "array/array.h"
#include "codegen/codegen.h"
#include "jit/jit.h"
#include "kiln/elementwise.h"
#include "kiln/prefetch.h"
#include "kiln/reduction.h"
#include "kiln/row.h"
#include "kiln/scan.h"
#include "kiln/select.h"

#define KILN__KERNEL_MAGIC 0x6b6bu
#define KILN__KERNEL_DEAD 0xdeadu

typedef struct kiln__kernel kiln__kernel;
typedef struct kiln__bound kiln__bound;

/* ---- recipes -------------------------------------------------------------------------------- */

/* Whose shape an output has. */
enum kiln__shape_of {
    KILN__SHAPE_LOOP,    /* that of the inputs' broadcast */
    KILN__SHAPE_RESULTS, /* that of a family's results (resolve.h) */
    KILN__SHAPE_CALL     /* one element for the whole call */
};

/* What a recipe holds of one argument: enough to recognise the same layout again. */
typedef struct kiln__recipe_arg {
    uint8_t kind;        /* kiln_arg_kind; KILN_ARG_OUT only for outputs still to be allocated */
    uint8_t dtype;       /* bound dtype */
    uint8_t rank;        /* of an array */
    uint8_t align;       /* address modulo 16 */
    bool output, raw;
    uint8_t row; /* kiln__shape_of, of outputs */
    const int64_t *dims; /* rank extents, then rank strides; points into the recipe */
    int64_t low, high;   /* bytes touched, relative to the first element: [low, high) */
    uint64_t layout;     /* kiln_array.layout */
} kiln__recipe_arg;

/* A place in the argument block that changes from call to call. */
typedef struct kiln__patch {
    uint16_t offset;
    uint8_t param;
    uint8_t bytes; /* 8: pointer or scalar; 16: scalar */
} kiln__patch;

/* What a split reduction or a scan needs beside its operands; ticket_count 0: nothing. */
typedef struct kiln__workspace_need {
    size_t part_bytes; /* room for parts, and how many zeroed tickets behind them */
    int64_t ticket_count;
    bool leaves_marks; /* the kernel does not zero its tickets again, so they must be its own */
    uint16_t parts_offset, tickets_offset; /* where their addresses go in the block */
} kiln__workspace_need;

/* One call, all decided but addresses and scalar values. Immutable once built. */
typedef struct kiln__recipe {
    uint64_t hash; /* first: recipes are items of a memo */
    size_t arg_count;
    bool has_size;
    int64_t size;  /* the caller's `size`, when given */
    int64_t count; /* elements to run over */
    int rank;      /* of the loop: shape of outputs to be allocated */
    int64_t shape[KILN_RANK_MAX];
    int order[KILN_RANK_MAX]; /* K-order of outputs to be allocated */
    int row_rank; /* the same of outputs with `row`, which are C-order */
    int64_t row_shape[KILN_RANK_MAX];
    void *entry;
    kiln__launch_config config;
    size_t args_bytes;
    unsigned char *block;   /* args_bytes, with pointers and scalars unset */
    kiln__patch *pointers, *scalars;
    size_t pointer_count, scalar_count;
    uint8_t lists;  /* calls that a launch of the variant has room for; 0: it is of one */
    bool allocates; /* some output is to be allocated */
    kiln_axes axes; /* reductions: as given; count -1 = all */
    bool keepdims;
    unsigned flags;
    kiln__workspace_need workspace;
    bool has_output_arrays; /* some output that is not raw was given */
    const kiln__shift *shifts; /* by argument; NULL where addresses decided nothing but alignment */
    kiln__recipe_arg args[];
} kiln__recipe;

void kiln__recipe_destroy(void *recipe); /* accepts NULL */

/* A scalar argument as src/codegen knows it; false when it is no scalar. */
static inline bool kiln__given_scalar(const kiln_arg *arg, kiln__given *given)
{
    static const uint8_t kinds[] = {
        [KILN_ARG_BOOL] = KILN__GIVEN_BOOL,   [KILN_ARG_INT] = KILN__GIVEN_INT,
        [KILN_ARG_UINT] = KILN__GIVEN_UINT,   [KILN_ARG_FLOAT] = KILN__GIVEN_FLOAT,
        [KILN_ARG_COMPLEX] = KILN__GIVEN_COMPLEX,
    };
    if ((unsigned)arg->kind >= KILN_COUNT_OF(kinds) || kinds[arg->kind] == 0)
        return false;
    given->kind = (kiln__given_kind)kinds[arg->kind];
    given->dtype = KILN_DTYPE_NONE;
    memcpy(&given->value, &arg->value, sizeof given->value);
    return true;
}

/*
 * A failure of a named operation's kernel in the operation's own words: `kernel "kiln_add": ` at the
 * beginning of the message becomes `add: `, and the definition that kiln wrote for it is not shown.
 * Nothing changes for a success, for what a compiler says, and for other messages. Returns `status`.
 */
kiln_status kiln__fail_as(const char *name, kiln_status status, kiln_error *err);

/* What a caller asks for, the same for run, prepare and source. */
typedef struct kiln__call {
    const kiln_arg *args;
    size_t arg_count;
    bool has_size;
    int64_t size;
    kiln_stream *stream; /* resolved, never NULL */
    const kiln_axes *axes; /* reductions: NULL = all */
    bool keepdims;
    unsigned flags; /* of the family: kiln_scan_flag */
    /* Where set, a recipe is planned and no more: this is filled and no recipe made. */
    struct kiln__planned *planned;
} kiln__call;

typedef struct kiln__planned {
    int64_t size; /* 0: nothing would be launched, and the variant is not set */
    kiln__variant variant;
} kiln__planned;

/* Hash of a call's layouts. False when an argument is not fit to be looked up (NULL, released,
 * foreign): recipe_build then explains. */
bool kiln__call_hash(const kiln__kernel *op, const kiln__call *call, uint64_t *hash_out);

/* Whether a kiln__recipe was built for a kiln__call like this one: everything is compared. */
bool kiln__recipe_matches(const void *recipe, const void *call);

/* The same where layouts, dtypes and options are known to be equal: addresses are compared, and the
 * kinds of numbers, in which their values have a say. */
bool kiln__recipe_still_fits(const kiln__recipe *recipe, const kiln__call *call);

/* What recipes are refused with, before anything else is looked at, where an argument is a list: such a call is
 * for lists.c. It never leaves this folder. */
#define KILN__HAS_LISTS ((kiln_status)1)

/* Check a call and decide everything about it. Exactly one of `out` and `text_out` is not NULL:
 * a recipe, compiled; or only the source that the call's variant has, as heap text. */
kiln_status kiln__recipe_build(kiln__kernel *op, const kiln__call *call, kiln__recipe **out,
                               char **text_out, kiln_error *err);

/* ---- families (family.c) -------------------------------------------------------------------- */

struct kiln__resolved;
struct kiln__reading;

/* What src/kernel knows of a family: the half of its descriptor that is about arrays and calls. */
typedef struct kiln__family_calls {
    const kiln__family *family;
    /* The public struct of a call's options. It begins with struct_size and stream, and, where elements
     * meet along axes, with axes behind them. */
    const char *options_name;
    size_t options_bytes;
    /* Take the family's own fields of a complete struct of options into r->call. May put another kernel
     * and other arguments in the place of those given. */
    kiln_status (*read)(struct kiln__reading *r, const void *opts, kiln_error *err);
    /* The shapes of a call whose arrays and dtypes are in `r`: r->rank and r->shape of the loop; where
     * elements meet along axes, r->along; and the shape of results where outputs have it (resolve.h). */
    kiln_status (*shape)(const kiln__definition *def, const kiln__call *call,
                         struct kiln__resolved *r, kiln_error *err);
} kiln__family_calls;

/* The two members that tell of a struct of options, which must have room in a copy on a stack. */
enum { KILN__CALL_OPTIONS_MAX = 128 };
#define KILN__CALL_OPTIONS(type)                                                                   \
    #type, sizeof(struct { type o; _Static_assert(sizeof(type) <= KILN__CALL_OPTIONS_MAX, #type); })

#define KILN__CALLS_EXTERN(family) extern const kiln__family_calls kiln__##family##_calls;
KILN__FAMILIES(KILN__CALLS_EXTERN)
#undef KILN__CALLS_EXTERN

/* How calls of reductions are read (reduce_call.c). */
kiln_status kiln__reduction_read(struct kiln__reading *r, const void *opts, kiln_error *err);

/* How calls of a family (NULL: loops) are made; NULL where the table lacks it. */
const kiln__family_calls *kiln__calls_of(const kiln__family *family);
/* The family of that name, which lines of a manifest have as their "kind"; NULL for none. */
const kiln__family *kiln__family_named(const char *name);
/* A manifest for lines of all families; NULL without memory. */
kiln__manifest *kiln__manifest_of_families(void);
/* A family's kind of lines. */
static inline kiln__manifest_kind kiln__manifest_kind_of(const kiln__family *family)
{
    return (kiln__manifest_kind){family->name, family->noun, family->line};
}

#ifdef KILN_TEST_HOOKS
/* A further family, for tests; NULL: none. */
extern const kiln__family_calls *kiln__test_family;
#endif

/* ---- the object ----------------------------------------------------------------------------- */

typedef struct kiln__compiled {
    struct kiln__compiled *next;
    kiln__variant variant;
    kiln__source source; /* its text is dropped once compiled */
    void *entry;
} kiln__compiled;

/* What every kind of kernel has in common; the public handles begin with it. */
struct kiln__kernel {
    uint32_t magic; /* KILN__KERNEL_MAGIC while alive */
    bool owns_ctx;  /* built-in kernels belong to their context and must not keep it alive */
    kiln_context *ctx;
    kiln__device *device;
    kiln__definition *def;
    const kiln__family_calls *calls;
    kiln__memo memo;      /* recipes by layout */
    pthread_mutex_t lock; /* of `compiled` */
    kiln__compiled *compiled;
    /* The same with inputs that a call adds (reduce_call.c), once made. */
    _Atomic(kiln__kernel *) with[4];
};

struct kiln_elementwise {
    kiln__kernel kernel;
};

/* Parse `request` (whose family does not count) into a new kernel: every public handle is one. */
kiln_status kiln__kernel_new(kiln_context *ctx, bool owns_ctx, const kiln__family_calls *calls,
                             const kiln__definition_request *request, kiln__kernel **out,
                             kiln_error *err);
/* The same of a definition of the caller's; an output that no text assigns is told of. */
kiln_status kiln__kernel_define(kiln_context *ctx, const kiln__family_calls *calls,
                                const kiln__definition_request *request, kiln__kernel **out,
                                kiln_error *err);
/* An elementwise kernel of kiln's own; `in` and `op` are cleared. */
kiln_status kiln__loop_kernel(kiln_context *ctx, const char *name, kiln__buf *in,
                              const char *result, kiln__buf *op, kiln__kernel **out,
                              kiln_error *err);
/* Clear a kernel and give up the handle that begins with it. NULL, one that was destroyed a while ago,
 * and one of a forked child's parent are left alone. */
void kiln__kernel_destroy(kiln__kernel *op);
struct kiln_reduction {
    kiln__kernel kernel;
};

struct kiln_scan {
    kiln__kernel kernel;
};
struct kiln_filter {
    kiln__kernel kernel;
};

/*
 * A row program (row.c): `request` has stages. Rows run along the axes of a call (call->axes, NULL =
 * all), whatever their order and strides; inputs broadcast against each other as in a loop, so that
 * each is per element, per row, per column or a number, as its shape says. Outputs per element have
 * the broadcast shape, outputs per row that of a reduction (call->keepdims). Run it by
 * kiln__kernel_run() or kiln__kernel_prepare() on &op->kernel.
 */
struct kiln_row {
    kiln__kernel kernel;
};

/* Whether the device has thread block clusters: what kiln__row_is_held() asks. */
bool kiln__has_clusters(const kiln_device_info *info);

/* What planners ask of the device. */
kiln__plan_device kiln__plan_device_of(const kiln_device_info *info);

/* ---- calls of shapes and dtypes, without arrays (abstract.c) ---- */

/* An argument without its memory. */
typedef struct kiln__abstract {
    bool scalar;
    bool absent; /* an output still to be allocated */
    int rank;
    int64_t shape[KILN_RANK_MAX];
    const int64_t *strides; /* bytes; NULL: C-order */
    uintptr_t address;      /* of the first element */
} kiln__abstract;

/* Where the memory of an abstract value begins: aligned to everything and far from all others. */
static inline uintptr_t kiln__abstract_base(size_t nth)
{
    return ((uintptr_t)nth + 1) << 44;
}

typedef struct kiln__abstract_call {
    const kiln__abstract *args;
    const kiln_dtype *dtypes; /* of the parameters */
    const kiln_axes *axes;    /* of reductions, scans and row programs */
    bool keepdims;
    unsigned flags;
} kiln__abstract_call;

/* What such a call would need. ERR_SHAPE, ERR_AXIS and whatever else such a call fails with. */
kiln_status kiln__abstract_variant(kiln__definition *def, const kiln__plan_device *device,
                                   const kiln__abstract_call *call, kiln__planned *out,
                                   kiln_error *err);

/* The definition behind a named reduction ("sum") of one dtype. ERR_NAME, ERR_DTYPE.
 * (reduce_ops.c) */
kiln_status kiln__named_definition(const char *name, kiln_dtype dtype, kiln__definition **out,
                                   kiln_error *err);

/* The definition of the kernel of a named scan. ERR_DTYPE. (reduce_ops.c) */
kiln_status kiln__named_scan(kiln_scan_op op, kiln_dtype dtype, kiln__definition **out,
                             kiln_error *err);

/* A named scan as an operation of graphs: what its result is (of `x` only dtype and shape are read), and the call. `axis`
 * may be KILN__SCAN_ALL: all elements in C-order. ERR_DTYPE, ERR_AXIS. (reduce_ops.c) */
#define KILN__SCAN_ALL INT64_MIN
kiln_status kiln__scan_infer(kiln_scan_op op, const kiln_array *x, int64_t axis,
                             kiln_dtype *dtype_out, int *rank_out, int64_t *shape_out,
                             kiln_error *err);
kiln_status kiln__scan_into(kiln_scan_op op, const kiln_array *x, int64_t axis, kiln_stream *stream,
                            kiln_array **out, kiln_error *err);

/* Kernels that array functions need. `T` is always bound by arrays; scalars are converted by kiln itself. */
typedef enum kiln__builtin {
    KILN__BUILTIN_FILL,
    KILN__BUILTIN_ARANGE,
    KILN__BUILTIN_LINSPACE,
    KILN__BUILTIN_CAST,
    KILN__BUILTIN_CAST_BOOL, /* to bool: anything but zero */
    KILN__BUILTIN_CAST_COMPLEX_BOOL,
    KILN__BUILTIN_CAST_REAL, /* complex to real: the real part */
    KILN__BUILTIN_COUNT
} kiln__builtin;

/* Get one of them; and run it on `stream` (NULL: the context's own). (kept.c, run.c) */
kiln_status kiln__builtin_get(kiln_context *ctx, kiln__builtin which, kiln__kernel **out,
                              kiln_error *err);
kiln_status kiln__builtin_run(kiln_context *ctx, kiln__builtin which, const kiln_arg *args,
                              size_t arg_count, kiln_stream *stream, kiln_error *err);

/* Make a kernel of kiln's own as `wanted` says, for a context that it must not keep alive. */
typedef kiln_status (*kiln__kept_fn)(kiln_context *ctx, const void *wanted, kiln__kernel **out,
                                     kiln_error *err);

/* The kernel that `make` made for this context and key; made now if there is none. `wanted` is read
 * only then; equal keys of one `make` stand for equal ones. (kept.c) */
kiln_status kiln__kept_kernel(kiln_context *ctx, kiln__kept_fn make, const void *wanted,
                              uint64_t key, kiln__kernel **out, kiln_error *err);

/* A kernel of constant texts, which are told apart by their address. */
typedef struct kiln__kept_texts {
    const kiln__family_calls *calls;
    kiln__definition_request request;
} kiln__kept_texts;

/* The kernel; and that, run on `stream` (NULL: the context's own). (kept.c, run.c) */
kiln_status kiln__kept_by_texts(kiln_context *ctx, const kiln__kept_texts *texts,
                                kiln__kernel **out, kiln_error *err);
kiln_status kiln__kept_run(kiln_context *ctx, const kiln__kept_texts *texts, const kiln_arg *args,
                           size_t arg_count, kiln_stream *stream, kiln_error *err);

/* A kernel of kiln's own that is a template without values: its file, its extern "C" name, and what the
 * compiler is told to define ("-DKILN__N=4"). Everything is read during the call only. */
typedef struct kiln__own_request {
    const char *file, *entry;
    const char *const *macros;
    size_t macro_count;
} kiln__own_request;

/* Its definition, which the caller destroys; and with it the source, to be cleared. Need no device; ERR_INTERNAL for
 * a file that kiln does not have. (own.c) */
kiln_status kiln__own_definition(const kiln__own_request *request, kiln__definition **out,
                                 kiln_error *err);
kiln_status kiln__own_emit(const kiln__own_request *request, kiln__definition **def_out,
                           kiln__source *out, kiln_error *err);
/* Its entry on the context's CUDA device, for kiln__launch(), compiled now if that was not done before.
 * (own.c) */
kiln_status kiln__own_kernel(kiln_context *ctx, const kiln__own_request *request, void **entry_out,
                             kiln_error *err);

/* Run one call: recipe from the memo or built, outputs allocated, block filled, launched. */
kiln_status kiln__kernel_run(kiln__kernel *op, const kiln__call *call, kiln_error *err);

/* The same for a caller whose calls differ in addresses and scalars' values alone: the recipe that
 * fitted last is in `*recent` (NULL at first; lives as long as the kernel) and is tried before the
 * memo. Any thread may use one `recent`. */
kiln_status kiln__kernel_run_again(kiln__kernel *op, const kiln__call *call,
                                   _Atomic(const kiln__recipe *) *recent, kiln_error *err);

/* Do all of a call but the launch; see kiln_elementwise_prepare(). */
kiln_status kiln__kernel_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                 kiln_error *err);

/* Begin to compile what the call needs; see kiln_elementwise_prefetch(). (prefetch.c) */
kiln_status kiln__kernel_prefetch(kiln__kernel *op, const kiln__call *call,
                                  kiln_prefetch **out, kiln_error *err);

/* The same where the plan is known. */
kiln_status kiln__variant_prefetch(kiln__kernel *op, const kiln__planned *planned,
                                   kiln_prefetch **out, kiln_error *err);

/* Handles as one, whose parts are waited for in this order. It takes them over; not when it fails. */
kiln_status kiln__prefetch_join(kiln_prefetch *const *parts, size_t count, kiln_prefetch **out,
                                kiln_error *err);

/* Whether the kernel has this variant already. (kernel.c) */
bool kiln__kernel_has(kiln__kernel *op, const kiln__variant *variant);

/* The same four for calls whose arguments are lists. (lists.c) */
kiln_status kiln__lists_run(kiln__kernel *op, const kiln__call *call, kiln_error *err);
kiln_status kiln__lists_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                kiln_error *err);
kiln_status kiln__lists_prefetch(kiln__kernel *op, const kiln__call *call, kiln_prefetch **out,
                                 kiln_error *err);
kiln_status kiln__lists_source(kiln__kernel *op, const kiln__call *call, char **text_out,
                               kiln_error *err);

/* Whether an array can stand where `before` did: dtype, shape, strides, alignment; `writable`: it can be
 * written to. `what` begins the message. ERR_DTYPE, ERR_SHAPE, ERR_OUTPUT. (launch.c) */
kiln_status kiln__array_fits(const kiln_array *before, bool writable, const kiln_array *array,
                             const char *what, kiln_error *err);

/* From which argument of the whole an argument of a part comes, and of which call of a list. */
typedef struct kiln__launch_from {
    uint32_t argument; /* KILN__FROM_NONE: none */
    uint32_t call;
} kiln__launch_from;
#define KILN__FROM_NONE UINT32_MAX

/* Launches of one prepared call that is made of several. */
typedef struct kiln__launch_parts {
    kiln_launch **list;
    size_t count, capacity;
} kiln__launch_parts;
#define KILN__LAUNCH_PARTS_INIT {NULL, 0, 0}
/* Add a launch, which is taken over also by a failure; and one of a filled block. */
kiln_status kiln__launch_parts_add(kiln__launch_parts *parts, kiln_launch *launch, kiln_error *err);
kiln_status kiln__launch_part(kiln__launch_parts *parts, kiln__kernel *op, void *entry,
                              const kiln__launch_config *config, const void *block, size_t bytes,
                              kiln__describe_fn describe, const void *user, kiln_stream *stream,
                              kiln_launch **part_out, kiln_error *err);
/* Give a part the arrays of its calls, `arg_count` of each, and what its arguments come from: one for each
 * of its arrays. Lists from kiln__alloc(), which it takes over. */
void kiln__launch_hold(kiln_launch *part, kiln_array **arrays, size_t count, size_t arg_count);
void kiln__launch_come_from(kiln_launch *part, kiln__launch_from *from);
/* One launch of all, which are taken over, for a call with lists. */
kiln_status kiln__launch_of_parts(kiln_context *ctx, kiln_stream *stream,
                                  kiln__launch_parts *parts, const kiln__call *call,
                                  size_t call_count, kiln_launch **out, kiln_error *err);
void kiln__launch_parts_clear(kiln__launch_parts *parts);

/* Launches that run one after the other as one, for a call with these arrays (NULL for numbers). On success
 * `parts`, a list from kiln__alloc() of `count`, belongs to the result. */
kiln_status kiln__launch_chain(kiln_context *ctx, kiln_launch **parts, size_t count,
                               kiln_array *const *arrays, size_t arg_count, size_t input_count,
                               kiln_launch **out, kiln_error *err);

/* A launch that is not of this folder's making: kiln_launch_run() calls `run` with the stream, in any
 * number of threads, and kiln_launch_destroy() `destroy`. On failure `state` is the caller's still. */
typedef struct kiln__launch_task {
    kiln_status (*run)(void *state, kiln_stream *stream, kiln_error *err);
    /* kiln_launch_set() of such a launch that is not a part of another. */
    kiln_status (*set)(void *state, size_t parameter, const kiln_arg *value, kiln_error *err);
    void (*destroy)(void *state);
    void *state;
    kiln_array **arrays; /* of a part: those that `run` uses, which kiln_launch_set() may exchange */
    size_t array_count;
} kiln__launch_task;
kiln_status kiln__launch_custom(kiln_context *ctx, kiln_stream *stream,
                                const kiln__launch_task *task, kiln_launch **out, kiln_error *err);

/* A definition and its variant as one line of a manifest. False when a text is no UTF-8; look at
 * line->failed otherwise. (line.c) */
bool kiln__manifest_line(const kiln__definition *def, const kiln__variant *variant,
                         kiln__buf *line);

/* Which snippet of a definition stands in which field of a manifest, by number;
 * KILN__SNIPPET_COUNT past the end. */
kiln__snippet_kind kiln__manifest_snippet(size_t nth, kiln__manifest_text *text_out);

/* The stages and values of a row program's line, as a definition takes them: room for
 * KILN__STAGE_MAX and KILN__VALUE_MAX. ERR_ARGUMENT for more. */
kiln_status kiln__manifest_rows(const kiln__manifest_entry *entry, kiln_row_stage *stages,
                                kiln_row_value *values, kiln_error *err);

/* Note in the context's recorder, when it has one, that this variant was needed, and tell who asked for that
 * (kiln__context_create_dry()), whose failure is returned. (line.c) */
kiln_status kiln__record_variant(kiln_context *ctx, const kiln__definition *def,
                                 const kiln__variant *variant, kiln_error *err);

/* The compiled form of a variant, from the kernel's list or made now. */
kiln_status kiln__kernel_compiled(kiln__kernel *op, const kiln__variant *variant,
                                  const kiln__compiled **out, kiln_error *err);

/* Whether a call has as many arguments as the kernel takes. ERR_ARGUMENT_COUNT. (resolve.c) */
kiln_status kiln__check_count(const kiln__kernel *op, const kiln__call *call, kiln_error *err);

/* Refuse an output that is to be stored where another new one is: `at` of `args`, of which `fresh` tells
 * those before it that are new. ERR_ARGUMENT. (kernel.c) */
kiln_status kiln__check_out(const kiln_arg *args, size_t at, const bool *fresh, kiln_error *err);

/* A call while its options are read. */
typedef struct kiln__reading {
    kiln__kernel *op; /* the one to run */
    kiln__call call;
    kiln_arg args[KILN_PARAM_MAX]; /* room for arguments that the options add */
} kiln__reading;

/* What else than a run a public function makes of a call. */
typedef struct kiln__wanted {
    const char *function; /* for messages */
    enum { KILN__WANT_LAUNCH, KILN__WANT_SOURCE, KILN__WANT_AHEAD } what;
    union {
        kiln_launch **launch;
        char **source;
        kiln_prefetch **ahead; /* may be NULL */
    } out;
} kiln__wanted;

/* A call of a public function: `opts` is the family's struct of call options, NULL for defaults. The
 * handle and all arguments are checked. (call.c) */
kiln_status kiln__call_run(kiln__kernel *op, const kiln_arg *args, size_t arg_count,
                           const void *opts, kiln_error *err);
kiln_status kiln__call_make(const kiln__wanted *wanted, kiln__kernel *op, const kiln_arg *args,
                            size_t arg_count, const void *opts, kiln_error *err);

/* What a create function begins with: `handle` ("kiln_scan") names the function and its options in
 * messages, `out` is where its caller wants the handle; `known` (`known_bytes`) receives the options
 * of `opts`, which may be NULL. (call.c) */
kiln_status kiln__create_begin(const char *handle, const kiln_context *ctx, const void *out,
                               const void *opts, void *known, size_t known_bytes, kiln_error *err);
/* A reduction or a scan, whose options are alike; `texts` are input and output signature, map, reduce,
 * post and identity. *kernel_out is NULL after a failure. */
kiln_status kiln__maps_create(const char *handle, kiln_context *ctx,
                              const kiln__family_calls *calls, const char *const *texts,
                              const void *opts, const void *out, kiln__kernel **kernel_out,
                              kiln_error *err);

/*
 * The public functions that all families have alike, for the handle kiln_FAMILY: _destroy,
 * _options_init, _call_options_init, _run, _prepare, _prefetch and _source.
 */
#define KILN__HANDLE_FUNCTIONS(family)                                                             \
    void kiln_##family##_destroy(kiln_##family *op)                                                \
    {                                                                                              \
        kiln__kernel_destroy(op != NULL ? &op->kernel : NULL);                                     \
    }                                                                                              \
    void kiln_##family##_options_init(kiln_##family##_options *opts, size_t struct_size)           \
    {                                                                                              \
        kiln__options_init(opts, struct_size);                                                     \
    }                                                                                              \
    void kiln_##family##_call_options_init(kiln_##family##_call_options *opts, size_t struct_size) \
    {                                                                                              \
        kiln__options_init(opts, struct_size);                                                     \
    }                                                                                              \
    kiln_status kiln_##family##_run(kiln_##family *op, const kiln_arg *args, size_t arg_count,     \
                                    const kiln_##family##_call_options *opts, kiln_error *err)     \
    {                                                                                              \
        return kiln__call_run(op != NULL ? &op->kernel : NULL, args, arg_count, opts, err);        \
    }                                                                                              \
    KILN__HANDLE_MAKES(family, prepare, kiln_launch **, KILN__WANT_LAUNCH, launch)                 \
    KILN__HANDLE_MAKES(family, prefetch, kiln_prefetch **, KILN__WANT_AHEAD, ahead)                \
    KILN__HANDLE_MAKES(family, source, char **, KILN__WANT_SOURCE, source)

/* One of them that makes something else than a run of a call. */
#define KILN__HANDLE_MAKES(family, verb, type, want, member)                                       \
    kiln_status kiln_##family##_##verb(kiln_##family *op, const kiln_arg *args, size_t arg_count,  \
                                       const kiln_##family##_call_options *opts, type out,         \
                                       kiln_error *err)                                            \
    {                                                                                              \
        const kiln__wanted wanted = {                                                              \
            .function = "kiln_" #family "_" #verb, .what = want, .out.member = out};               \
        return kiln__call_make(&wanted, op != NULL ? &op->kernel : NULL, args, arg_count, opts,    \
                               err);                                                               \
    }

/* A recipe for the call from the memo, or built now. `*borrowed` is set where the memo's table is
 * full: the caller returns it, by kiln__memo_return(). */
kiln_status kiln__recipe_get(kiln__kernel *op, const kiln__call *call,
                             const kiln__recipe **out, kiln__recipe **borrowed, kiln_error *err);

/* ---- running ---------------------------------------------------------------------------------- */

/* The arrays of one call, by parameter; outputs that were allocated now are `fresh`. */
struct kiln__bound {
    kiln_array *array[KILN_PARAM_MAX]; /* borrowed, but for fresh ones */
    bool fresh[KILN_PARAM_MAX];
};

/* Collect arrays and allocate outputs. On failure nothing is held. */
kiln_status kiln__bind_arrays(const kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln__bound *bound, kiln_error *err);
/* Remember on every array's storage that `stream` uses it. */
void kiln__bound_used(const kiln__recipe *recipe, const kiln__bound *bound, kiln_stream *stream);
void kiln__bound_drop(const kiln__recipe *recipe, kiln__bound *bound); /* release fresh ones */
void kiln__bound_deliver(const kiln__recipe *recipe, const kiln__call *call,
                         const kiln__bound *bound); /* or hand them to the caller */

/* Fill an argument block (recipe->args_bytes of room). ERR_RANGE for a scalar. */
kiln_status kiln__block_fill(const kiln__kernel *op, const kiln__recipe *recipe,
                             const kiln__call *call, const kiln__bound *bound, void *block,
                             kiln_error *err);

/* KILN_OK when no output overlaps an input or another output in a harmful way; ERR_OVERLAP for
 * outputs. Inputs that must be copied first are marked. */
kiln_status kiln__overlap_check(const kiln__kernel *op, const kiln__recipe *recipe,
                                const kiln__bound *bound, bool *copy_out, bool *any_copy,
                                kiln_error *err);

/* The arguments of a launch by name, for recordings: a kiln__describe_fn. */
typedef struct kiln__described {
    const kiln__definition *def;
    const kiln__recipe *recipe;
} kiln__described;
void kiln__described_note(const void *described, kiln__step_note *note);

/* Allocate a workspace for one launch on `stream` and put its addresses into `block`. It is freed
 * (kiln__pool_free) as soon as the launch is enqueued: its reuse is ordered behind that launch on
 * the same stream. On failure *out is NULL or must be freed likewise. */
kiln_status kiln__workspace_make(kiln__device *device, const kiln__workspace_need *need,
                                 kiln_stream *stream, void *block, kiln__block **out,
                                 kiln_error *err);

/* A new array of elements as a .npy file has them. (array_ops.c) */
kiln_status kiln__array_from_npy(kiln_context *ctx, const kiln__npy_header *header, const void *data,
                                 kiln_array **out, kiln_error *err);

/* The order of axes, slowest first, of a new array that is like this one (K-order). */
void kiln__array_k_order(const kiln_array *array, int *order_out);

/* Byte strides of C-order without gaps in the array's shape. */
void kiln__c_order(const kiln_array *array, int64_t *strides_out);

/* Whether elements with these strides (NULL: C-order) fit the host's `data_bytes` at `data`; fills the
 * strides of C-order. ERR_ARGUMENT, ERR_NULL. */
kiln_status kiln__host_room(const kiln_array *array, const void *data, size_t data_bytes,
                            const int64_t *strides, int64_t *c_order, kiln_error *err);

/* dst[...] = src on `stream`; the shapes are equal and `dst` may be written. */
kiln_status kiln__array_assign_on(kiln_array *dst, const kiln_array *src, kiln_stream *stream,
                                  kiln_error *err);

/* Whether a plain loop on the host is better than a kernel, for so small an array on the cpu device.
 * `stream` NULL: the context's own. */
bool kiln__plain_loop_suits(const kiln_array *a, kiln_stream *stream);

/* A copy of that dtype whose axes have the order `order` (NULL: C-order), enqueued on `stream`. */
kiln_status kiln__array_copy_as(const kiln_array *array, kiln_dtype dtype, const int *order,
                                kiln_stream *stream, kiln_array **out, kiln_error *err);

/* A C-order copy of `array` enqueued on `stream` (built-in kernel or plain copy). */
kiln_status kiln__array_copy_on(const kiln_array *array, kiln_stream *stream, kiln_array **out,
                                kiln_error *err);

#endif
