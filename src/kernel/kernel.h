/*
 * kernel.h - the header through which other folders use src/kernel: calls of kernels with arrays.
 *
 *     arguments > [recipe: check, bind, broadcast, plan, compile] > memo > [run: patch, launch]
 *
 * kernel.c       the object behind every handle
 * call.c         what all public functions do that make kernels and calls
 * run.c          the path of one call whose kernel is known; copies of arrays
 * recipe.c       everything about a call that does not change while layouts stay the same
 * line.c         records which kernels were needed ($KILN_RECORD)
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

/* The shape that an output has. */
enum kiln__shape_of {
    KILN__SHAPE_LOOP,    /* the shape that the inputs broadcast to */
    KILN__SHAPE_RESULTS, /* the shape of the family's results (resolve.h) */
    KILN__SHAPE_CALL     /* one element for the whole call */
};

/* The properties of one argument that a recipe depends on. */
typedef struct kiln__recipe_arg {
    uint8_t kind;        /* kiln_arg_kind; KILN_ARG_OUT only for outputs still to be allocated */
    uint8_t dtype;       /* the dtype that the parameter is bound to */
    uint8_t rank;        /* of an array */
    uint8_t align;       /* the address modulo 16 */
    bool output, raw;
    uint8_t row;         /* of an output: its kiln__shape_of */
    const int64_t *dims; /* rank extents, then rank strides; points into the recipe */
    int64_t low, high;   /* the bytes that are touched: [low, high) from the first element */
    uint64_t layout;     /* kiln_array.layout */
} kiln__recipe_arg;

/* The part of an argument block that changes from call to call for one parameter. */
typedef struct kiln__patch {
    uint16_t offset;
    uint8_t param;
    uint8_t bytes; /* 8: pointer or scalar; 16: scalar */
} kiln__patch;

/* The memory that kernels need to combine partial results. With ticket_count 0 they need none. */
typedef struct kiln__workspace_need {
    size_t part_bytes;    /* bytes of partial results, which the tickets follow */
    int64_t ticket_count; /* zeroed ints */
    bool leaves_marks;    /* the kernel does not leave its tickets zeroed, so it cannot share them */
    uint16_t parts_offset, tickets_offset; /* where the argument block has their addresses */
} kiln__workspace_need;

/* Everything about a call but addresses and the values of scalars. It does not change once it is
 * built. */
typedef struct kiln__recipe {
    uint64_t hash; /* first: recipes are items of a memo */
    size_t arg_count;
    bool has_size;
    int64_t size;  /* the caller's `size`, when given */
    int64_t count; /* elements to run over */
    int rank;      /* of the loop, and of outputs to be allocated with its shape */
    int64_t shape[KILN_RANK_MAX];
    int order[KILN_RANK_MAX]; /* the K-order of such outputs */
    int row_rank;             /* of outputs with the shape of results, which are in C-order */
    int64_t row_shape[KILN_RANK_MAX];
    void *entry;
    kiln__launch_config config;
    size_t args_bytes;
    unsigned char *block;   /* an argument block of args_bytes; addresses and scalars are not set */
    kiln__patch *pointers, *scalars;
    size_t pointer_count, scalar_count;
    uint8_t lists;  /* the most calls that a launch of the variant serves; 0: it serves one */
    bool allocates; /* some output is to be allocated */
    kiln_axes axes; /* reductions: as given; count -1: all */
    bool keepdims;
    unsigned flags;
    kiln__workspace_need workspace;
    bool has_output_arrays; /* some output that is not raw was given */
    const kiln__shift *shifts; /* by argument; NULL where addresses decide nothing but alignment */
    kiln__recipe_arg args[];
} kiln__recipe;

void kiln__recipe_destroy(void *recipe); /* accepts NULL */

/* Convert a scalar argument to the struct of src/codegen; false when the argument is no scalar. */
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
 * Make the error of a named operation's kernel one of the operation: `kernel "kiln_add": ` at the
 * beginning of the message becomes `add: `, and kiln's definition is removed from the detail.
 * Successes, compilers' errors and other messages stay as they are. Returns `status`.
 */
kiln_status kiln__fail_as(const char *name, kiln_status status, kiln_error *err);

/* One call: what run, prepare, prefetch and source have in common. */
typedef struct kiln__call {
    const kiln_arg *args;
    size_t arg_count;
    bool has_size;
    int64_t size;
    kiln_stream *stream; /* never NULL: the context's own where the caller gave none */
    const kiln_axes *axes; /* reductions; NULL: all */
    bool keepdims;
    unsigned flags; /* the family's own, such as kiln_scan_flag */
    /* Not NULL: kiln__recipe_build() plans the call, fills this in, and makes no recipe. */
    struct kiln__planned *planned;
} kiln__call;

typedef struct kiln__planned {
    int64_t size; /* 0: nothing would be launched, and the variant is not set */
    kiln__variant variant;
} kiln__planned;

/* Hash the layouts of a call. Returns false when an argument is invalid (NULL, released, of another
 * context); kiln__recipe_build() then reports it. */
bool kiln__call_hash(const kiln__kernel *op, const kiln__call *call, uint64_t *hash_out);

/* Whether a kiln__recipe fits a kiln__call. Everything is compared. */
bool kiln__recipe_matches(const void *recipe, const void *call);

/* The same for a call that is known to have the recipe's layouts, dtypes and options: what may
 * differ is compared, that is, addresses and the kinds of scalars (kiln__scalar_kind()). */
bool kiln__recipe_still_fits(const kiln__recipe *recipe, const kiln__call *call);

/* kiln__recipe_build() returns this, before it checks anything else, if an argument is a list; the
 * caller then uses lists.c. No function of another folder returns it. */
#define KILN__HAS_LISTS ((kiln_status)1)

/* Check a call and build its recipe, with the compiled kernel (`out`); or give the source of the
 * call's variant, which the caller frees (`text_out`). Exactly one of these is not NULL. */
kiln_status kiln__recipe_build(kiln__kernel *op, const kiln__call *call, kiln__recipe **out,
                               char **text_out, kiln_error *err);

/* ---- families (family.c) -------------------------------------------------------------------- */

struct kiln__resolved;
struct kiln__reading;

/* A family as this folder sees it: how its calls are read. kiln__family is the other half. */
typedef struct kiln__family_calls {
    const kiln__family *family;
    /* The public struct of a call's options. It begins with struct_size and stream; in families
     * that combine elements along axes, `axes` follows. */
    const char *options_name;
    size_t options_bytes;
    /* Read the family's own members of `opts`, a complete struct of options, into r->call. It may
     * replace the kernel and the arguments. */
    kiln_status (*read)(struct kiln__reading *r, const void *opts, kiln_error *err);
    /* Decide the shapes of a call whose arrays and dtypes are in `r`: r->rank and r->shape, the
     * loop's; r->along, in families that combine elements; and the shape of results, if outputs
     * have it. */
    kiln_status (*shape)(const kiln__definition *def, const kiln__call *call,
                         struct kiln__resolved *r, kiln_error *err);
    /* How many outputs, the last ones, the kernel assigns by itself and not by the user's texts; NULL: none. */
    size_t (*own_outputs)(const kiln__definition *def);
} kiln__family_calls;

/* options_name and options_bytes of a struct, which is copied to buffers of CALL_OPTIONS_MAX bytes. */
enum { KILN__CALL_OPTIONS_MAX = 128 };
#define KILN__CALL_OPTIONS(type)                                                                   \
    #type, sizeof(struct { type o; _Static_assert(sizeof(type) <= KILN__CALL_OPTIONS_MAX, #type); })

#define KILN__CALLS_EXTERN(family) extern const kiln__family_calls kiln__##family##_calls;
KILN__FAMILIES(KILN__CALLS_EXTERN)
#undef KILN__CALLS_EXTERN

/* The `read` function of reductions (reduce_call.c). */
kiln_status kiln__reduction_read(struct kiln__reading *r, const void *opts, kiln_error *err);

/* The other half of a family (NULL: of loops); NULL where the table lacks it. */
const kiln__family_calls *kiln__calls_of(const kiln__family *family);
/* The family of that name, which is the "kind" of its lines in manifests; NULL for none. */
const kiln__family *kiln__family_named(const char *name);
/* Make a manifest for lines of all families; NULL without memory. */
kiln__manifest *kiln__manifest_of_families(void);
/* A family's kind of lines in manifests. */
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

/* A kernel of any family; the public handles begin with it. */
struct kiln__kernel {
    uint32_t magic; /* KILN__KERNEL_MAGIC while alive */
    bool owns_ctx;  /* false: the context owns the kernel, which must not keep the context alive */
    kiln_context *ctx;
    kiln__device *device;
    kiln__definition *def;
    const kiln__family_calls *calls;
    kiln__memo memo;      /* recipes by layout */
    pthread_mutex_t lock; /* of `compiled` */
    kiln__compiled *compiled;
    /* Reductions: the kernels of the same reduction with inputs that a call adds (reduce_call.c);
     * NULL until a call needs them. */
    _Atomic(kiln__kernel *) with[4];
};

struct kiln_elementwise {
    kiln__kernel kernel;
};

/* Make a kernel from a request, whose `family` is not read. Public handles are made by this as
 * well. */
kiln_status kiln__kernel_new(kiln_context *ctx, bool owns_ctx, const kiln__family_calls *calls,
                             const kiln__definition_request *request, kiln__kernel **out,
                             kiln_error *err);
/* The same for a definition that a user gives. Logs a warning for an output that no text assigns. */
kiln_status kiln__kernel_define(kiln_context *ctx, const kiln__family_calls *calls,
                                const kiln__definition_request *request, kiln__kernel **out,
                                kiln_error *err);
/* Make an elementwise kernel of kiln's own. Clears `in` and `op`, also after a failure. */
kiln_status kiln__loop_kernel(kiln_context *ctx, const char *name, kiln__buf *in,
                              const char *result, kiln__buf *op, kiln__kernel **out,
                              kiln_error *err);
/* Destroy a kernel, and the handle that begins with it. Does nothing for NULL, for a kernel that
 * was destroyed before, and in a child process for a kernel of its parent. */
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

/* A row program (row.c). Rows run along call->axes (NULL: all). Inputs broadcast as in a loop, so
 * that each has an element for each element of a row, for each row, for each column, or one for
 * all. Outputs per element have the broadcast shape, outputs per row that of a reduction's results. */
struct kiln_row {
    kiln__kernel kernel;
};

/* Whether the device has thread block clusters, on which plans of row programs depend. */
bool kiln__has_clusters(const kiln_device_info *info);

/* The properties of a device that plans depend on. */
kiln__plan_device kiln__plan_device_of(const kiln_device_info *info);

/* ---- calls of which only shapes and dtypes are known (abstract.c) --------------------------- */

/* An argument without its memory. */
typedef struct kiln__abstract {
    bool scalar;
    bool absent; /* an output still to be allocated */
    int rank;
    int64_t shape[KILN_RANK_MAX];
    const int64_t *strides; /* bytes; NULL: C-order */
    uintptr_t address;      /* of the first element */
} kiln__abstract;

/* The address of the nth abstract value: it is aligned, and far from all others. */
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

/* Plan such a call. It fails as the call itself would: ERR_SHAPE, ERR_AXIS, ... */
kiln_status kiln__abstract_variant(kiln__definition *def, const kiln__plan_device *device,
                                   const kiln__abstract_call *call, kiln__planned *out,
                                   kiln_error *err);

/* ---- named reductions and scans (reduce_ops.c) ----------------------------------------------- */

/* Make the definition of a named reduction ("sum"), or of a named scan. ERR_NAME, ERR_DTYPE. */
kiln_status kiln__named_definition(const char *name, kiln_dtype dtype, kiln__definition **out,
                                   kiln_error *err);
kiln_status kiln__named_scan(kiln_scan_op op, kiln_dtype dtype, kiln__definition **out,
                             kiln_error *err);

/* A named scan in a graph: give the dtype and shape of its result (of `x` only these are read), and
 * run it. `axis` KILN__SCAN_ALL: over all elements in C-order. ERR_DTYPE, ERR_AXIS. */
#define KILN__SCAN_ALL INT64_MIN
kiln_status kiln__scan_infer(kiln_scan_op op, const kiln_array *x, int64_t axis,
                             kiln_dtype *dtype_out, int *rank_out, int64_t *shape_out,
                             kiln_error *err);
kiln_status kiln__scan_into(kiln_scan_op op, const kiln_array *x, int64_t axis, kiln_stream *stream,
                            kiln_array **out, kiln_error *err);

/* ---- kernels of kiln's own ------------------------------------------------------------------- */

/* Kernels that array functions need. */
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

/* Get one of them, which the context owns; or run it on `stream` (NULL: the context's own).
 * (kept.c, run.c) */
kiln_status kiln__builtin_get(kiln_context *ctx, kiln__builtin which, kiln__kernel **out,
                              kiln_error *err);
kiln_status kiln__builtin_run(kiln_context *ctx, kiln__builtin which, const kiln_arg *args,
                              size_t arg_count, kiln_stream *stream, kiln_error *err);

/* A function that makes a kernel as `wanted` says. The context will own it, so owns_ctx must be
 * false. */
typedef kiln_status (*kiln__kept_fn)(kiln_context *ctx, const void *wanted, kiln__kernel **out,
                                     kiln_error *err);

/* The context's kernel for this `make` and key, which `make` makes if there is none. Equal keys
 * with the same `make` must stand for equal values of `wanted`. (kept.c) */
kiln_status kiln__kept_kernel(kiln_context *ctx, kiln__kept_fn make, const void *wanted,
                              uint64_t key, kiln__kernel **out, kiln_error *err);

/* A kernel of constant texts. The address of this struct is its key. */
typedef struct kiln__kept_texts {
    const kiln__family_calls *calls;
    kiln__definition_request request;
} kiln__kept_texts;

/* Get that kernel, which the context owns; or run it on `stream` (NULL: the context's own).
 * (kept.c, run.c) */
kiln_status kiln__kept_by_texts(kiln_context *ctx, const kiln__kept_texts *texts,
                                kiln__kernel **out, kiln_error *err);
kiln_status kiln__kept_run(kiln_context *ctx, const kiln__kept_texts *texts, const kiln_arg *args,
                           size_t arg_count, kiln_stream *stream, kiln_error *err);

/* A kernel that is a whole template of its own: the file, the extern "C" name of the kernel, and
 * the compiler's options that define macros ("-DKILN__N=4"). (own.c) */
typedef struct kiln__own_request {
    const char *file, *entry;
    const char *const *macros;
    size_t macro_count;
} kiln__own_request;

/* Make its definition, which the caller destroys; and also its source, which the caller clears. No
 * device is needed. ERR_INTERNAL for a file that kiln does not have. */
kiln_status kiln__own_definition(const kiln__own_request *request, kiln__definition **out,
                                 kiln_error *err);
kiln_status kiln__own_emit(const kiln__own_request *request, kiln__definition **def_out,
                           kiln__source *out, kiln_error *err);
/* Compile it, unless that was done before, for the context's CUDA device. Gives the entry for
 * kiln__launch(), which the context owns. */
kiln_status kiln__own_kernel(kiln_context *ctx, const kiln__own_request *request, void **entry_out,
                             kiln_error *err);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Run one call: find or build its recipe, allocate outputs, fill an argument block, launch. */
kiln_status kiln__kernel_run(kiln__kernel *op, const kiln__call *call, kiln_error *err);

/* The same for a series of calls that differ in addresses and in the values of scalars only. The
 * recipe of the last one is in *recent (NULL at first) and is tried before the memo. *recent must
 * not be used after the kernel is destroyed; several threads may share it. */
kiln_status kiln__kernel_run_again(kiln__kernel *op, const kiln__call *call,
                                   _Atomic(const kiln__recipe *) *recent, kiln_error *err);

/* Do everything for a call but launch it; see kiln_elementwise_prepare(). */
kiln_status kiln__kernel_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                 kiln_error *err);

/* Begin to compile what the call needs; see kiln_elementwise_prefetch(). (prefetch.c) */
kiln_status kiln__kernel_prefetch(kiln__kernel *op, const kiln__call *call,
                                  kiln_prefetch **out, kiln_error *err);

/* The same for a call that is planned already. */
kiln_status kiln__variant_prefetch(kiln__kernel *op, const kiln__planned *planned,
                                   kiln_prefetch **out, kiln_error *err);

/* Make one handle of several, which are waited for in this order. On success it owns them. */
kiln_status kiln__prefetch_join(kiln_prefetch *const *parts, size_t count, kiln_prefetch **out,
                                kiln_error *err);

/* Run, prepare, prefetch and source for calls whose arguments are lists. (lists.c) */
kiln_status kiln__lists_run(kiln__kernel *op, const kiln__call *call, kiln_error *err);
kiln_status kiln__lists_prepare(kiln__kernel *op, const kiln__call *call, kiln_launch **out,
                                kiln_error *err);
kiln_status kiln__lists_prefetch(kiln__kernel *op, const kiln__call *call, kiln_prefetch **out,
                                 kiln_error *err);
kiln_status kiln__lists_source(kiln__kernel *op, const kiln__call *call, char **text_out,
                               kiln_error *err);

/* ---- prepared launches that consist of parts (launch.c) --------------------------------------- */

/* Check that an array can replace `before`: dtype, shape, strides and alignment must be equal, and
 * if `writable`, it must not be read-only. The message begins with `what`. ERR_DTYPE, ERR_SHAPE,
 * ERR_OUTPUT. */
kiln_status kiln__array_fits(const kiln_array *before, bool writable, const kiln_array *array,
                             const char *what, kiln_error *err);

/* The argument of the whole call that an argument of a part is, and in calls with lists the number
 * of the call. */
typedef struct kiln__launch_from {
    uint32_t argument; /* KILN__FROM_NONE: none */
    uint32_t call;
} kiln__launch_from;
#define KILN__FROM_NONE UINT32_MAX

/* The launches that a prepared call consists of. */
typedef struct kiln__launch_parts {
    kiln_launch **list;
    size_t count, capacity;
} kiln__launch_parts;
#define KILN__LAUNCH_PARTS_INIT {NULL, 0, 0}
/* Add a launch, which `parts` then owns; a failure destroys it. */
kiln_status kiln__launch_parts_add(kiln__launch_parts *parts, kiln_launch *launch, kiln_error *err);
/* Make a launch of a filled argument block. */
kiln_status kiln__launch_part(kiln__launch_parts *parts, kiln__kernel *op, void *entry,
                              const kiln__launch_config *config, const void *block, size_t bytes,
                              kiln__describe_fn describe, const void *user, kiln_stream *stream,
                              kiln_launch **part_out, kiln_error *err);
/* Give a part the arrays of its calls, `arg_count` for each call; and the origin of each of these
 * arrays. The part owns the lists, which kiln__alloc() must have made. */
void kiln__launch_set_arrays(kiln_launch *part, kiln_array **arrays, size_t count, size_t arg_count);
void kiln__launch_set_origins(kiln_launch *part, kiln__launch_from *from);
/* Make one launch of all parts, which it then owns, for a call with lists. */
kiln_status kiln__launch_of_parts(kiln_context *ctx, kiln_stream *stream,
                                  kiln__launch_parts *parts, const kiln__call *call,
                                  size_t call_count, kiln_launch **out, kiln_error *err);
void kiln__launch_parts_clear(kiln__launch_parts *parts);

/* Make one launch that runs `count` launches one after the other, for a call with these arrays
 * (NULL for numbers). On success it owns them and `parts`, which kiln__alloc() must have made. */
kiln_status kiln__launch_chain(kiln_context *ctx, kiln_launch **parts, size_t count,
                               kiln_array *const *arrays, size_t arg_count, size_t input_count,
                               kiln_launch **out, kiln_error *err);

/* The functions of a launch that another folder makes. */
typedef struct kiln__launch_task {
    /* What kiln_launch_run() calls, possibly in several threads at once. */
    kiln_status (*run)(void *state, kiln_stream *stream, kiln_error *err);
    /* What kiln_launch_set() calls, unless the launch is a part of another one. */
    kiln_status (*set)(void *state, size_t parameter, const kiln_arg *value, kiln_error *err);
    void (*destroy)(void *state);
    void *state;
    kiln_array **arrays; /* of a part: the arrays that `run` uses; kiln_launch_set() exchanges them */
    size_t array_count;
} kiln__launch_task;
/* Make such a launch. On success it owns task->state. */
kiln_status kiln__launch_custom(kiln_context *ctx, kiln_stream *stream,
                                const kiln__launch_task *task, kiln_launch **out, kiln_error *err);

/* ---- manifests (line.c) ---------------------------------------------------------------------- */

/* Write a definition and a variant as one line of a manifest. Returns false when a text is not
 * UTF-8; running out of memory sets line->failed. */
bool kiln__manifest_line(const kiln__definition *def, const kiln__variant *variant,
                         kiln__buf *line);

/* The nth pair of a snippet and its field in manifests; KILN__SNIPPET_COUNT past the last. */
kiln__snippet_kind kiln__manifest_snippet(size_t nth, kiln__manifest_text *text_out);

/* Give the stages and values of a row program's line in the form that definitions take. The lists
 * have room for KILN__STAGE_MAX and KILN__VALUE_MAX; ERR_ARGUMENT where there are more. */
kiln_status kiln__manifest_rows(const kiln__manifest_entry *entry, kiln_row_stage *stages,
                                kiln_row_value *values, kiln_error *err);

/* Report that this variant was needed to the context's recorder, if it has one, and to the function
 * that a dry context was made with (kiln__context_create_dry()), whose failure is returned. */
kiln_status kiln__record_variant(kiln_context *ctx, const kiln__definition *def,
                                 const kiln__variant *variant, kiln_error *err);

/* ---- parts of the path of a call -------------------------------------------------------------- */

/* Whether the kernel has compiled this variant. (kernel.c) */
bool kiln__kernel_has(kiln__kernel *op, const kiln__variant *variant);

/* The compiled form of a variant, which the kernel owns; it is compiled if the kernel does not have
 * it. */
kiln_status kiln__kernel_compiled(kiln__kernel *op, const kiln__variant *variant,
                                  const kiln__compiled **out, kiln_error *err);

/* Check that a call has as many arguments as the kernel. ERR_ARGUMENT_COUNT. (resolve.c) */
kiln_status kiln__check_count(const kiln__kernel *op, const kiln__call *call, kiln_error *err);

/* Check that args[at], an output to be allocated, is not handed to the same variable of the caller
 * as an earlier one; fresh[k] says which earlier arguments are such outputs. ERR_ARGUMENT.
 * (kernel.c) */
kiln_status kiln__check_out(const kiln_arg *args, size_t at, const bool *fresh, kiln_error *err);

/* A call while its options are read. */
typedef struct kiln__reading {
    kiln__kernel *op; /* the kernel to run */
    kiln__call call;
    kiln_arg args[KILN_PARAM_MAX]; /* used where the options add arguments */
} kiln__reading;

/* What a public function makes of a call, other than running it. */
typedef struct kiln__wanted {
    const char *function; /* for messages */
    enum { KILN__WANT_LAUNCH, KILN__WANT_SOURCE, KILN__WANT_AHEAD } what;
    union {
        kiln_launch **launch;
        char **source;
        kiln_prefetch **ahead; /* may be NULL */
    } out;
} kiln__wanted;

/* Do what a public function is called for: check the handle and the arguments, read `opts`, the
 * family's struct of call options (NULL: defaults), and run the call or make something of it.
 * (call.c) */
kiln_status kiln__call_run(kiln__kernel *op, const kiln_arg *args, size_t arg_count,
                           const void *opts, kiln_error *err);
kiln_status kiln__call_make(const kiln__wanted *wanted, kiln__kernel *op, const kiln_arg *args,
                            size_t arg_count, const void *opts, kiln_error *err);

/* Begin a public create function: check ctx, out and opts (may be NULL), and copy the options to
 * `known`, which has known_bytes bytes. `handle` ("kiln_scan") names the function in messages.
 * (call.c) */
kiln_status kiln__create_begin(const char *handle, const kiln_context *ctx, const void *out,
                               const void *opts, void *known, size_t known_bytes, kiln_error *err);
/* Make a reduction or a scan, whose options are alike. `texts` are the input and output signature,
 * map, reduce, post and identity. *kernel_out is NULL after a failure. */
kiln_status kiln__maps_create(const char *handle, kiln_context *ctx,
                              const kiln__family_calls *calls, const char *const *texts,
                              const void *opts, const void *out, kiln__kernel **kernel_out,
                              kiln_error *err);

/* Defines the public functions that are the same in all families, for the handle kiln_FAMILY:
 * _destroy, _options_init, _call_options_init, _run, _prepare, _prefetch and _source. */
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

/* Defines one of them that calls kiln__call_make(). */
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

/* Find the recipe of a call in the memo, or build it. If the memo's table is full, *borrowed is the
 * recipe as well, and the caller gives it back by kiln__memo_return(). */
kiln_status kiln__recipe_get(kiln__kernel *op, const kiln__call *call,
                             const kiln__recipe **out, kiln__recipe **borrowed, kiln_error *err);

/* ---- running ---------------------------------------------------------------------------------- */

/* The arrays of one call, by parameter; outputs that were allocated now are `fresh`. */
struct kiln__bound {
    kiln_array *array[KILN_PARAM_MAX]; /* borrowed, but for fresh ones */
    bool fresh[KILN_PARAM_MAX];
};

/* Collect the arrays of a call and allocate outputs. After a failure there is nothing to release. */
kiln_status kiln__bind_arrays(const kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln__bound *bound, kiln_error *err);
/* Note in the storage of every array that `stream` uses it. */
void kiln__bound_used(const kiln__recipe *recipe, const kiln__bound *bound, kiln_stream *stream);
/* Release the fresh arrays, or hand them to the caller. */
void kiln__bound_drop(const kiln__recipe *recipe, kiln__bound *bound);
void kiln__bound_deliver(const kiln__recipe *recipe, const kiln__call *call,
                         const kiln__bound *bound);

/* Fill an argument block of recipe->args_bytes. ERR_RANGE for scalars. */
kiln_status kiln__block_fill(const kiln__kernel *op, const kiln__recipe *recipe,
                             const kiln__call *call, const kiln__bound *bound, void *block,
                             kiln_error *err);

/* Mark the inputs that overlap an output so that they must be copied first. ERR_OVERLAP for outputs
 * that overlap each other. */
kiln_status kiln__overlap_check(const kiln__kernel *op, const kiln__recipe *recipe,
                                const kiln__bound *bound, bool *copy_out, bool *any_copy,
                                kiln_error *err);

/* Describe the arguments of a launch by their names, for recordings: a kiln__describe_fn. */
typedef struct kiln__described {
    const kiln__definition *def;
    const kiln__recipe *recipe;
} kiln__described;
void kiln__described_note(const void *described, kiln__step_note *note);

/* Allocate the workspace of one launch on `stream`, and put its addresses into the argument block.
 * The caller frees it (kiln__pool_free) as soon as the launch is enqueued, since later work on the
 * stream runs after it; also after a failure, unless *out is NULL. */
kiln_status kiln__workspace_make(kiln__device *device, const kiln__workspace_need *need,
                                 kiln_stream *stream, void *block, kiln__block **out,
                                 kiln_error *err);

/* ---- functions of arrays that need a kernel -------------------------------------------------- */

/* Make an array of the elements of a .npy file. (array_ops.c) */
kiln_status kiln__array_from_npy(kiln_context *ctx, const kiln__npy_header *header, const void *data,
                                 kiln_array **out, kiln_error *err);

/* Give the order of an array's axes in memory, slowest first (K-order). */
void kiln__array_k_order(const kiln_array *array, int *order_out);

/* Give the byte strides of a contiguous array of the same shape. */
void kiln__c_order(const kiln_array *array, int64_t *strides_out);

/* Check that elements with these strides (NULL: contiguous) fit `data_bytes` bytes of the host at
 * `data`; give the strides of a contiguous array. ERR_ARGUMENT, ERR_NULL. */
kiln_status kiln__host_room(const kiln_array *array, const void *data, size_t data_bytes,
                            const int64_t *strides, int64_t *c_order, kiln_error *err);

/* dst[...] = src on `stream`; the shapes are equal and `dst` may be written. */
kiln_status kiln__array_assign_on(kiln_array *dst, const kiln_array *src, kiln_stream *stream,
                                  kiln_error *err);

/* Whether a loop in this library is faster than a kernel: for small arrays on the cpu device.
 * `stream` NULL: the context's own. */
bool kiln__host_loop_is_faster(const kiln_array *a, kiln_stream *stream);

/* Enqueue a copy as `dtype` with its axes in the order `order`, slowest first (NULL: C-order). */
kiln_status kiln__array_copy_as(const kiln_array *array, kiln_dtype dtype, const int *order,
                                kiln_stream *stream, kiln_array **out, kiln_error *err);

/* Enqueue a copy in C-order. */
kiln_status kiln__array_copy_on(const kiln_array *array, kiln_stream *stream, kiln_array **out,
                                kiln_error *err);

#endif
