/*
 * recipe.c - everything about a call that stays the same while dtypes and layouts do.
 *
 *     count > check arrays > bind types > broadcast > plan > variant > recipe
 *
 * Rule: a recipe may depend on nothing that kiln__recipe_matches does not compare.
 */
#include <stdlib.h>

#include "kernel/kernel.h"

/* A call on its way to a recipe. */
typedef struct resolved {
    kiln_array *array[KILN_PARAM_MAX]; /* given arrays, else NULL */
    kiln__given given[KILN_PARAM_MAX];
    kiln_dtype dtype[KILN_PARAM_MAX];
    kiln__operand operand[KILN_PARAM_MAX];
    int rank;
    int64_t shape[KILN_RANK_MAX];
    int order[KILN_RANK_MAX];
    int64_t fresh_strides[KILN_PARAM_MAX][KILN_RANK_MAX]; /* of outputs to be allocated */
    kiln__plan plan;
} resolved;

/* `-1` for NULL outputs: the array given for a parameter, whichever way it was passed. */
static kiln_array *given_array(const kiln_arg *arg)
{
    if (arg->kind == KILN_ARG_ARRAY)
        return arg->value.array;
    return arg->kind == KILN_ARG_OUT && arg->value.out != NULL ? *arg->value.out : NULL;
}

/* A scalar's kind as types are bound: a uint that fits int64 is an int. */
static uint8_t scalar_kind(const kiln_arg *arg)
{
    return arg->kind == KILN_ARG_UINT && arg->value.u <= INT64_MAX ? KILN_ARG_INT
                                                                   : (uint8_t)arg->kind;
}

bool kiln__call_hash(const kiln__kernel *op, const kiln__call *call, uint64_t *hash_out)
{
    uint64_t h = call->has_size ? (uint64_t)call->size * 0x9e3779b97f4a7c15u + 1 : 0;
    if (call->arg_count != op->def->param_count)
        return false;
    for (size_t p = 0; p < call->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        uint64_t word = scalar_kind(arg);
        if (arg->kind == KILN_ARG_ARRAY || arg->kind == KILN_ARG_OUT) {
            const kiln_array *a = given_array(arg);
            if (a != NULL) {
                if (a->magic != KILN__ARRAY_MAGIC || a->ctx != op->ctx)
                    return false;
                word = a->layout + ((uintptr_t)a->data & 15);
            } else if (arg->kind == KILN_ARG_ARRAY || arg->value.out == NULL) {
                return false;
            }
        }
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    *hash_out = h;
    return true;
}

static bool same_layout(const kiln__recipe_arg *r, const kiln_array *a)
{
    return r->kind == KILN_ARG_ARRAY && r->layout == a->layout && r->rank == a->rank &&
           r->dtype == (uint8_t)a->dtype && r->align == ((uintptr_t)a->data & 15) &&
           memcmp(r->dims, a->shape, 2 * (size_t)a->rank * sizeof(int64_t)) == 0;
}

bool kiln__recipe_matches(const kiln__recipe *recipe, const kiln__call *call)
{
    if (recipe->has_size != call->has_size || recipe->size != call->size)
        return false;
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        const kiln_array *a = given_array(arg);
        if (a != NULL ? !same_layout(&recipe->args[p], a)
                      : recipe->args[p].kind != scalar_kind(arg))
            return false;
    }
    return true;
}

/* ---- checks ------------------------------------------------------------------------------------ */

static kiln_status check_count(const kiln__kernel *op, const kiln__call *call, kiln_error *err)
{
    const kiln__definition *d = op->def;
    if (call->arg_count == d->param_count)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                      "kernel \"%s\" takes %zu arguments (%zu inputs \"%s\", %zu outputs \"%s\"), "
                      "%zu given",
                      d->name, d->param_count, d->input_count, d->signature[0],
                      d->param_count - d->input_count, d->signature[1], call->arg_count);
}

static kiln_status take_scalar(const kiln__definition *def, size_t p, const kiln_arg *arg,
                               kiln__given *given, kiln_error *err)
{
    if (kiln__given_scalar(arg, given))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_ARGUMENT,
                      "kernel \"%s\": argument %zu (`%s`) has the unknown kind %d", def->name, p + 1,
                      def->params[p].name, (int)arg->kind);
}

static kiln_status take_arguments(const kiln__kernel *op, const kiln__call *call, resolved *r,
                                  kiln_error *err)
{
    const kiln__definition *d = op->def;
    kiln_status status = KILN_OK;
    for (size_t p = 0; p < d->param_count && status == KILN_OK; p++) {
        const kiln_arg *arg = &call->args[p];
        char what[160];
        memset(&r->given[p], 0, sizeof r->given[p]);
        r->array[p] = given_array(arg);
        snprintf(what, sizeof what, "kernel \"%.60s\": argument %zu (`%.60s`)", d->name, p + 1,
                 d->params[p].name);
        if (arg->kind == KILN_ARG_OUT && !d->params[p].output) {
            status = kiln__fail(err, KILN_ERR_ARGUMENT,
                                "%s is an input, but an output pointer was given", what);
        } else if (arg->kind == KILN_ARG_OUT && arg->value.out == NULL) {
            status = kiln__fail(err, KILN_ERR_NULL, "%s: the output pointer is NULL", what);
        } else if (arg->kind == KILN_ARG_ARRAY || r->array[p] != NULL) {
            status = kiln__array_check(r->array[p], op->ctx, what, err);
            if (status == KILN_OK) {
                r->given[p].kind = KILN__GIVEN_ARRAY;
                r->given[p].dtype = r->array[p]->dtype;
            }
        } else if (arg->kind != KILN_ARG_OUT) {
            status = take_scalar(d, p, arg, &r->given[p], err);
        }
    }
    return status;
}

/* "x (3, 4), y (5,)" for messages. */
static void shapes_text(const kiln__definition *d, const resolved *r, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < d->param_count && used + 1 < bytes; p++) {
        char shape[160];
        if (r->array[p] == NULL || d->params[p].raw)
            continue;
        int n = snprintf(text + used, bytes - used, "%s%s %s", used == 0 ? "" : ", ",
                         d->params[p].name,
                         kiln__shape_text(r->array[p]->rank, r->array[p]->shape, shape,
                                          sizeof shape));
        used += n > 0 ? (size_t)n : 0;
    }
}

static kiln_status decide_size(const kiln__kernel *op, const kiln__call *call, resolved *r,
                               kiln_error *err)
{
    const kiln__definition *d = op->def;
    if (!call->has_size)
        return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                          "kernel \"%s\": no array that is not raw was given, so `size` must say "
                          "how many elements to run over",
                          d->name);
    if (call->size < 0)
        return kiln__fail(err, KILN_ERR_SIZE, "kernel \"%s\": size %lld is negative", d->name,
                          (long long)call->size);
    r->rank = 1;
    r->shape[0] = call->size;
    return KILN_OK;
}

static kiln_status check_output(const kiln__kernel *op, const resolved *r, size_t p,
                                kiln_error *err)
{
    const kiln__definition *d = op->def;
    const kiln_array *a = r->array[p];
    char have[160], need[160];

    if (d->params[p].raw) {
        if (a == NULL)
            return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                              "kernel \"%s\": output `%s` is raw, so nothing decides its shape: "
                              "give an array",
                              d->name, d->params[p].name);
        return KILN_OK;
    }
    if (a == NULL)
        return KILN_OK;
    if (a->rank != r->rank || memcmp(a->shape, r->shape, (size_t)a->rank * sizeof a->shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "kernel \"%s\": output `%s` has shape %s, but the inputs broadcast to %s",
                          d->name, d->params[p].name,
                          kiln__shape_text(a->rank, a->shape, have, sizeof have),
                          kiln__shape_text(r->rank, r->shape, need, sizeof need));
    if (a->self_overlap)
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "kernel \"%s\": output `%s` has several indices for one element (it was "
                          "broadcast) and cannot be written",
                          d->name, d->params[p].name);
    return KILN_OK;
}

/* An array that takes part in deciding the loop's shape. */
static bool decides_shape(const kiln__definition *d, const resolved *r, size_t p)
{
    return r->array[p] != NULL && !d->params[p].raw;
}

static kiln_status broadcast_inputs(const kiln__definition *d, resolved *r, kiln_error *err)
{
    char text[400];
    r->rank = 0;
    for (size_t p = 0; p < d->input_count; p++) {
        if (!decides_shape(d, r, p) ||
            kiln__shape_broadcast(&r->rank, r->shape, r->array[p]->rank, r->array[p]->shape))
            continue;
        shapes_text(d, r, text, sizeof text);
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "kernel \"%s\": shapes do not broadcast together: %s", d->name, text);
    }
    return KILN_OK;
}

/* The loop's shape: what all inputs and given outputs broadcast to, or `size`. A given output may
 * be larger than the inputs' broadcast, never smaller. */
static kiln_status decide_shape(const kiln__kernel *op, const kiln__call *call, resolved *r,
                                kiln_error *err)
{
    const kiln__definition *d = op->def;
    size_t first = 0;

    while (first < d->param_count && !decides_shape(d, r, first))
        first++;
    if (first == d->param_count)
        return decide_size(op, call, r, err);
    if (call->has_size)
        return kiln__fail(err, KILN_ERR_SIZE,
                          "kernel \"%s\": size %lld was given, but `%s` is not raw and decides it",
                          d->name, (long long)call->size, d->params[first].name);
    kiln_status status = broadcast_inputs(d, r, err);
    int64_t shape[KILN_RANK_MAX];
    int rank = r->rank;
    memcpy(shape, r->shape, (size_t)rank * sizeof shape[0]);
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++)
        if (decides_shape(d, r, p) &&
            !kiln__shape_broadcast(&rank, shape, r->array[p]->rank, r->array[p]->shape))
            return check_output(op, r, p, err); /* explains with the inputs' shape */
    r->rank = rank;
    memcpy(r->shape, shape, (size_t)rank * sizeof shape[0]);
    return status;
}

/* ---- operands ------------------------------------------------------------------------------------ */

static void fill_operand(const kiln__definition *d, resolved *r, size_t p)
{
    kiln__operand *o = &r->operand[p];
    const kiln_array *a = r->array[p];
    memset(o, 0, sizeof *o);
    o->raw = d->params[p].raw;
    o->written = d->params[p].output;
    o->by_address = d->params[p].by_address;
    o->itemsize = (uint8_t)kiln_dtype_size(r->dtype[p]);
    if (a == NULL)
        return;
    o->is_array = true;
    o->contiguous = a->contiguous;
    o->rank = a->rank;
    o->shape = a->shape;
    o->strides = a->strides;
    o->address = (uintptr_t)a->data;
}

/* Strides of the outputs still to be allocated, in the order of the inputs' axes. */
static void fill_fresh(const kiln__definition *d, resolved *r)
{
    kiln__plan_k_order(r->operand, d->param_count, r->rank, r->shape, r->order);
    for (size_t p = d->input_count; p < d->param_count; p++) {
        kiln__operand *o = &r->operand[p];
        int64_t step = o->itemsize;
        if (o->is_array)
            continue;
        for (int k = r->rank - 1; k >= 0; k--) {
            r->fresh_strides[p][r->order[k]] = step;
            step *= r->shape[r->order[k]] > 1 ? r->shape[r->order[k]] : 1;
        }
        o->is_array = true;
        o->contiguous = true;
        o->rank = r->rank;
        o->shape = r->shape;
        o->strides = r->fresh_strides[p];
    }
}

static kiln_status check_loop_size(const kiln__definition *d, const resolved *r, kiln_error *err)
{
    int64_t size;
    size_t itemsize = 1;
    for (size_t p = d->input_count; p < d->param_count; p++)
        itemsize = kiln_dtype_size(r->dtype[p]) > itemsize ? kiln_dtype_size(r->dtype[p]) : itemsize;
    return kiln__shape_size(r->rank, r->shape, itemsize, &size, err);
}

static kiln_status resolve(kiln__kernel *op, const kiln__call *call, resolved *r,
                           kiln_error *err)
{
    const kiln__definition *d = op->def;
    kiln_status status = KILN_OK;

    KILN_TRY(check_count(op, call, err));
    KILN_TRY(take_arguments(op, call, r, err));
    KILN_TRY(kiln__bind_types(d, r->given, r->dtype, err));
    KILN_TRY(decide_shape(op, call, r, err));
    KILN_TRY(check_loop_size(d, r, err));
    for (size_t p = d->input_count; p < d->param_count; p++)
        KILN_TRY(check_output(op, r, p, err));
    for (size_t p = 0; p < d->param_count; p++)
        fill_operand(d, r, p);
    fill_fresh(d, r);
    kiln__plan_make(d, kiln__device_info(op->device)->backend, r->dtype, r->operand, r->rank,
                    r->shape, &r->plan);

done:
    return status;
}

/* ---- the recipe --------------------------------------------------------------------------------------- */

void kiln__recipe_destroy(kiln__recipe *recipe)
{
    kiln__free(recipe); /* one allocation holds it all */
}

/* Bytes that an operand touches, relative to its first element. */
static void operand_extent(const kiln__operand *o, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = o->itemsize;
    for (int a = 0; a < o->rank; a++) {
        int64_t reach = (o->shape[a] - 1) * o->strides[a];
        if (o->shape[a] == 0)
            *high = *low = 0;
        else if (reach < 0)
            *low += reach;
        else
            *high += reach;
        if (o->shape[a] == 0)
            return;
    }
}

/* Sizes of what follows the struct in its allocation. */
static kiln__recipe *recipe_alloc(const kiln__definition *d, const resolved *r, size_t args_bytes)
{
    size_t dims = 0, args = d->param_count * sizeof(kiln__recipe_arg);
    for (size_t p = 0; p < d->param_count; p++)
        dims += r->array[p] != NULL ? 2 * (size_t)r->array[p]->rank * sizeof(int64_t) : 0;
    const size_t block = (args_bytes + 15) / 16 * 16;
    const size_t patches = 2 * d->param_count * sizeof(kiln__patch);
    kiln__recipe *recipe = kiln__calloc(1, sizeof *recipe + args + dims + block + patches);
    if (recipe == NULL)
        return NULL;
    char *at = (char *)recipe + sizeof *recipe + args;
    for (size_t p = 0; p < d->param_count; p++) {
        recipe->args[p].dims = (int64_t *)(void *)at;
        at += r->array[p] != NULL ? 2 * (size_t)r->array[p]->rank * sizeof(int64_t) : 0;
    }
    recipe->block = (unsigned char *)at;
    recipe->pointers = (kiln__patch *)(void *)(at + block);
    recipe->scalars = recipe->pointers + d->param_count;
    recipe->args_bytes = args_bytes;
    return recipe;
}

static void fill_args(kiln__recipe *recipe, const kiln__definition *d, const kiln__call *call,
                      const resolved *r)
{
    recipe->arg_count = d->param_count;
    for (size_t p = 0; p < d->param_count; p++) {
        kiln__recipe_arg *arg = &recipe->args[p];
        const kiln_array *a = r->array[p];
        arg->kind = a != NULL ? KILN_ARG_ARRAY : scalar_kind(&call->args[p]);
        arg->dtype = (uint8_t)r->dtype[p];
        arg->output = d->params[p].output;
        arg->raw = d->params[p].raw;
        recipe->allocates |= arg->kind == KILN_ARG_OUT;
        recipe->has_output_arrays |= a != NULL && arg->output && !arg->raw;
        if (a == NULL)
            continue;
        arg->rank = (uint8_t)a->rank;
        arg->align = (uint8_t)((uintptr_t)a->data & 15);
        arg->layout = a->layout;
        memcpy((void *)(uintptr_t)arg->dims, a->shape, 2 * (size_t)a->rank * sizeof(int64_t));
        operand_extent(&r->operand[p], &arg->low, &arg->high);
    }
}

static void fill_patches(kiln__recipe *recipe, const kiln__source *source)
{
    for (size_t s = 0; s < source->slot_count; s++) {
        const kiln__slot *slot = &source->slots[s];
        const kiln__patch patch = {slot->offset, slot->param, 8};
        if (slot->kind == KILN__SLOT_POINTER || slot->kind == KILN__SLOT_RAW) {
            recipe->pointers[recipe->pointer_count++] = patch;
        } else if (slot->kind == KILN__SLOT_SCALAR) {
            recipe->scalars[recipe->scalar_count] = patch;
            recipe->scalars[recipe->scalar_count++].bytes = (uint8_t)slot->bytes;
        }
    }
}

static kiln_status make_recipe(kiln__kernel *op, const kiln__call *call, const resolved *r,
                               kiln__recipe **out, kiln_error *err)
{
    static const kiln__scalar no_scalars[KILN_PARAM_MAX];
    const kiln__compiled *compiled = NULL;

    if (r->plan.size > 0) {
        kiln_status status = kiln__kernel_compiled(op, &r->plan.variant, &compiled, err);
        if (status != KILN_OK)
            return status;
    }
    kiln__recipe *recipe =
        recipe_alloc(op->def, r, compiled != NULL ? compiled->source.args_bytes : 0);
    if (recipe == NULL)
        return kiln__fail_memory(err, sizeof *recipe);
    fill_args(recipe, op->def, call, r);
    recipe->has_size = call->has_size;
    recipe->size = call->size;
    recipe->count = r->plan.size;
    recipe->rank = r->rank;
    memcpy(recipe->shape, r->shape, (size_t)r->rank * sizeof r->shape[0]);
    memcpy(recipe->order, r->order, (size_t)r->rank * sizeof r->order[0]);
    (void)kiln__call_hash(op, call, &recipe->hash);
    if (compiled != NULL) {
        const kiln__variant *v = &r->plan.variant;
        recipe->entry = compiled->entry;
        recipe->config = (kiln__launch_config){
            .grid_x = r->plan.grid,
            .grid_y = 1,
            .grid_z = 1,
            .block = v->backend == KILN_BACKEND_CPU ? r->plan.units_together : v->block,
            .shared_bytes = 0};
        kiln__args_fill(&compiled->source, &r->plan, r->operand, no_scalars, recipe->block);
        fill_patches(recipe, &compiled->source);
    }
    *out = recipe;
    return KILN_OK;
}

kiln_status kiln__elementwise_recipe(kiln__kernel *op, const kiln__call *call, kiln__recipe **out,
                                     char **text_out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__source source = KILN__SOURCE_INIT;
    resolved r;

    KILN_TRY(resolve(op, call, &r, err));
    if (out != NULL) {
        KILN_TRY(make_recipe(op, call, &r, out, err));
    } else {
        KILN_TRY(kiln__emit(op->def, &r.plan.variant, &source, err));
        *text_out = source.text;
        source.text = NULL;
    }

done:
    kiln__source_clear(&source);
    return status;
}
