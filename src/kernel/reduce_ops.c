/*
 * reduce_ops.c - named reductions: sum, argmin, var, ... of one array.
 *
 *     (op, dtype) > row of the table > texts of a definition > kiln_reduction, kept by the context
 *
 * The table is src/codegen/reduce_table.c.
 */
#include <stdio.h>

#include "kernel/kernel.h"
#include "kiln/reduction.h"

/* One past the largest kiln_reduce_op. */
enum {
    OP_COUNT = 1
#define COUNT_OP(name, value, text, doc) +1
               KILN_REDUCE_MAP(COUNT_OP)
#undef COUNT_OP
};

const char *kiln_reduce_op_name(kiln_reduce_op op)
{
    switch (op) {
#define NAME_CASE(name, value, text, doc)                                                          \
    case KILN_REDUCE_##name:                                                                       \
        return text;
        KILN_REDUCE_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "unknown";
}

/* ---- from a row to a definition -------------------------------------------------------------- */

/* The reduction of a row for `ctx`; or, when that is NULL, only its definition. */
static kiln_status define(kiln_context *ctx, kiln_reduce_op op, const kiln__reduce_row *r,
                          kiln_dtype dtype, kiln_reduction **out, kiln__definition **def_out,
                          kiln_error *err)
{
    static const kiln__snippet_kind kinds[] = {KILN__SNIPPET_MAP, KILN__SNIPPET_REDUCE,
                                               KILN__SNIPPET_POST, KILN__SNIPPET_IDENTITY,
                                               KILN__SNIPPET_REDUCE_TYPE};
    kiln__buf text[KILN_COUNT_OF(kinds)] = {KILN__BUF_INIT};
    char name[32], output[32];
    bool failed = false;
    kiln_status status = KILN_ERR_NO_MEMORY;

    snprintf(name, sizeof name, "kiln_%s", kiln_reduce_op_name(op));
    snprintf(output, sizeof output, "%s y", kiln_dtype_name(kiln__reduce_result(r, dtype)));
    kiln__definition_request request = {.name = name, .in = "T x", .out = output, .reduction = true};
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++) {
        kiln__reduce_text(r, dtype, kinds[k], &text[k]);
        failed = failed || text[k].failed;
        request.snippet[kinds[k]] = text[k].text;
    }
    if (failed)
        kiln__fail_memory(err, sizeof request);
    else if (ctx == NULL)
        status = kiln__definition_create(&request, def_out, err);
    else
        status = kiln__reduction_new(ctx, false, &request, out, err);
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++)
        kiln__buf_clear(&text[k]);
    return status;
}

kiln_status kiln__named_definition(const char *name, kiln_dtype dtype, kiln__definition **out,
                                   kiln_error *err)
{
    *out = NULL;
    for (int op = 1; op < OP_COUNT; op++) {
        if (strcmp(kiln_reduce_op_name((kiln_reduce_op)op), name) != 0)
            continue;
        const kiln__reduce_row *r = kiln__reduce_row_find(op, dtype);
        if (r == NULL)
            return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s", name,
                              kiln_dtype_name(dtype));
        return define(NULL, (kiln_reduce_op)op, r, dtype, NULL, out, err);
    }
    return kiln__fail(err, KILN_ERR_NAME, "there is no reduction named \"%.60s\"", name);
}

/* ---- kept by the context --------------------------------------------------------------------- */

typedef struct reduction_set {
    pthread_mutex_t lock;
    _Atomic(kiln_reduction *) op[OP_COUNT][KILN_DTYPE_COUNT];
} reduction_set;

static void *set_make(kiln_context *ctx)
{
    (void)ctx;
    reduction_set *set = kiln__calloc(1, sizeof *set);
    if (set != NULL)
        pthread_mutex_init(&set->lock, NULL);
    return set;
}

static void set_destroy(void *state)
{
    reduction_set *set = state;
    for (size_t op = 0; op < OP_COUNT; op++)
        for (size_t dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++)
            kiln_reduction_destroy(atomic_load(&set->op[op][dtype]));
    pthread_mutex_destroy(&set->lock);
    kiln__free(set);
}

static kiln_status get(kiln_context *ctx, kiln_reduce_op op, const kiln__reduce_row *r,
                       kiln_dtype dtype, kiln_reduction **out, kiln_error *err)
{
    void *state = NULL;
    kiln_status status =
        kiln__context_attachment(ctx, KILN__ATTACH_REDUCE, set_make, set_destroy, &state, err);
    if (status != KILN_OK)
        return status;
    reduction_set *set = state;
    _Atomic(kiln_reduction *) *slot = &set->op[op][dtype];
    *out = atomic_load_explicit(slot, memory_order_acquire);
    if (*out != NULL)
        return KILN_OK;
    pthread_mutex_lock(&set->lock);
    *out = atomic_load(slot);
    if (*out == NULL)
        status = define(ctx, op, r, dtype, out, NULL, err);
    atomic_store_explicit(slot, *out, memory_order_release);
    pthread_mutex_unlock(&set->lock);
    return status;
}

/* ---- the public function --------------------------------------------------------------------- */

/* Whether an axis without elements is reduced: as in NumPy, also where no result is asked for. Axes
 * that are no axes are left for kiln_reduction_run() to explain. */
static bool reduces_nothing(const kiln_array *x, const kiln_axes *axes)
{
    if (axes == NULL)
        return x->size == 0;
    if (axes->count < 0 || axes->count > KILN_RANK_MAX)
        return false;
    bool nothing = false;
    for (int k = 0; k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + x->rank : axes->axis[k];
        if (axis < 0 || axis >= x->rank)
            return false;
        nothing = nothing || x->shape[axis] == 0;
    }
    return nothing;
}

/* The row for a call, after everything about it that the definition cannot know was checked. */
static kiln_status check(kiln_reduce_op op, const kiln_array *array, const kiln_axes *axes,
                         kiln_array *const *out, const kiln__reduce_row **row_out,
                         kiln_error *err)
{
    const char *name = kiln_reduce_op_name(op);
    char shape[256];

    if (array == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_reduce: `%s` is NULL",
                          array == NULL ? "array" : "out");
    if ((int)op < 1 || (int)op >= OP_COUNT)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no reduction %d", (int)op);
    kiln_status status = kiln__array_check(array, NULL, "`array`", err);
    if (status == KILN_OK && *out != NULL)
        status = kiln__array_check(*out, array->ctx, "`*out`", err);
    if (status != KILN_OK)
        return status;
    *row_out = kiln__reduce_row_find((int)op, array->dtype);
    if (*row_out == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s does not take %s: complex numbers have no order",
                          name, kiln_dtype_name(array->dtype));
    const kiln_dtype result = kiln__reduce_result(*row_out, array->dtype);
    if (*out != NULL && (*out)->dtype != result)
        return kiln__fail(err, KILN_ERR_DTYPE, "%s of %s is %s, but `*out` is %s", name,
                          kiln_dtype_name(array->dtype), kiln_dtype_name(result),
                          kiln_dtype_name((*out)->dtype));
    if (kiln__reduce_needs_elements(*row_out) && reduces_nothing(array, axes))
        return kiln__fail(err, KILN_ERR_IDENTITY, "%s of no elements has no value: the shape is %s",
                          name, kiln__shape_text(array->rank, array->shape, shape, sizeof shape));
    return KILN_OK;
}

kiln_status kiln_array_reduce(kiln_reduce_op op, const kiln_array *array, const kiln_axes *axes,
                              bool keepdims, kiln_array **out, kiln_error *err)
{
    const kiln__reduce_row *r = NULL;
    kiln_reduction *reduction = NULL;
    kiln_reduce_options opts = KILN_REDUCE_OPTIONS_INIT;

    kiln_status status = check(op, array, axes, out, &r, err);
    if (status == KILN_OK)
        status = get(array->ctx, op, r, array->dtype, &reduction, err);
    if (status != KILN_OK)
        return status;
    const kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(out)};
    opts.axes = axes;
    opts.keepdims = keepdims;
    return kiln_reduction_run(reduction, args, KILN_COUNT_OF(args), &opts, err);
}
