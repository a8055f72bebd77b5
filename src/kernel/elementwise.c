/*
 * elementwise.c - the public kernel object and the path of one call.
 *
 *     kiln_elementwise_run > hash the layouts > recipe from the memo > fill the block > launch
 *
 * Rule: on a hit the path takes no lock and allocates nothing but the outputs asked for. What a
 * call needs once per layout belongs into recipe.c.
 */
#include "kernel/kernel.h"

/* ---- making ------------------------------------------------------------------------------------ */

kiln_status kiln__elementwise_new(kiln_context *ctx, bool owns_ctx,
                                  const kiln__definition_request *request,
                                  kiln_elementwise **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_elementwise *op = NULL;

    *out = NULL;
    op = kiln__calloc(1, sizeof *op);
    if (op == NULL)
        return kiln__fail_memory(err, sizeof *op);
    op->ctx = owns_ctx ? kiln_context_retain(ctx) : ctx;
    op->owns_ctx = owns_ctx;
    op->device = kiln__context_device(ctx);
    kiln__memo_init(&op->memo);
    pthread_mutex_init(&op->lock, NULL);
    KILN_TRY(kiln__definition_create(request, &op->def, err));
    if (op->def->cuda_only && kiln__device_info(op->device)->backend == KILN_BACKEND_CPU) {
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "kernel \"%s\" uses `%s`, which only a CUDA device has; this context "
                            "is on the cpu",
                            op->def->name, op->def->cuda_only_word);
        goto done;
    }
    op->magic = KILN__ELEMENTWISE_MAGIC;
    *out = op;
    op = NULL;

done:
    kiln_elementwise_destroy(op);
    return status;
}

kiln_status kiln_elementwise_create(kiln_context *ctx, const char *in, const char *outputs,
                                    const char *op, const kiln_elementwise_options *opts,
                                    kiln_elementwise **out, kiln_error *err)
{
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_status status = KILN_OK;

    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_elementwise_create: `out` is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_elementwise_create: `ctx` is NULL");
    if (opts != NULL)
        KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts->struct_size,
                                    "kiln_elementwise_options", err));
    if (o.compiler_option_count > 0 && o.compiler_options == NULL) {
        status = kiln__fail(err, KILN_ERR_NULL,
                            "kiln_elementwise_create: compiler_options is NULL, but "
                            "compiler_option_count is %zu",
                            o.compiler_option_count);
        goto done;
    }
    const kiln__definition_request request = {
        .name = o.name,
        .in = in,
        .out = outputs,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_LOOP_PREP] = o.loop_prep,
                    [KILN__SNIPPET_OP] = op,
                    [KILN__SNIPPET_AFTER_LOOP] = o.after_loop},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
        .keep_dims = o.keep_dims,
    };
    KILN_TRY(kiln__elementwise_new(ctx, true, &request, out, err));

done:
    return status;
}

void kiln_elementwise_destroy(kiln_elementwise *op)
{
    if (op == NULL)
        return;
    op->magic = 0;
    kiln__memo_clear(&op->memo);
    while (op->compiled != NULL) {
        kiln__compiled *c = op->compiled;
        op->compiled = c->next;
        kiln__source_clear(&c->source);
        kiln__free(c);
    }
    kiln__definition_destroy(op->def);
    pthread_mutex_destroy(&op->lock);
    if (op->owns_ctx)
        kiln_context_release(op->ctx);
    kiln__free(op);
}

void kiln_elementwise_options_init(kiln_elementwise_options *opts, size_t struct_size)
{
    const kiln_elementwise_options init = KILN_ELEMENTWISE_OPTIONS_INIT;
    if (opts == NULL)
        return;
    memcpy(opts, &init, struct_size < sizeof init ? struct_size : sizeof init);
    opts->struct_size = struct_size < sizeof init ? struct_size : sizeof init;
}

void kiln_call_options_init(kiln_call_options *opts, size_t struct_size)
{
    const kiln_call_options init = KILN_CALL_OPTIONS_INIT;
    if (opts == NULL)
        return;
    memcpy(opts, &init, struct_size < sizeof init ? struct_size : sizeof init);
    opts->struct_size = struct_size < sizeof init ? struct_size : sizeof init;
}

/* ---- one call ------------------------------------------------------------------------------------ */

kiln_status kiln__call_read(const kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                            const kiln_call_options *opts, kiln__call *out, kiln_error *err)
{
    if (op == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "the kernel is NULL");
    if (op->magic != KILN__ELEMENTWISE_MAGIC)
        return kiln__fail(err, KILN_ERR_RELEASED, "the kernel was destroyed");
    if (args == NULL && arg_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": `args` is NULL", op->def->name);
    *out = (kiln__call){args, arg_count, false, 0, kiln__device_stream(op->device)};
    if (opts == NULL)
        return KILN_OK;
    kiln_call_options o = KILN_CALL_OPTIONS_INIT;
    kiln_status status = kiln__options_read(&o, sizeof o, opts, opts->struct_size,
                                            "kiln_call_options", err);
    if (status != KILN_OK)
        return status;
    out->has_size = o.has_size;
    out->size = o.has_size ? o.size : 0;
    if (o.stream == NULL)
        return KILN_OK;
    return kiln__context_stream(op->ctx, o.stream, &out->stream, err);
}

kiln_status kiln__recipe_get(kiln_elementwise *op, const kiln__call *call,
                             const kiln__recipe **out, kiln__recipe **owned, kiln_error *err)
{
    uint64_t hash;
    kiln__recipe *built = NULL;

    *owned = NULL;
    *out = kiln__call_hash(op, call, &hash) ? kiln__memo_find(&op->memo, hash, call) : NULL;
    if (*out != NULL)
        return KILN_OK;
    kiln_status status = kiln__device_check(op->device, err);
    if (status == KILN_OK)
        status = kiln__recipe_build(op, call, &built, err);
    if (status != KILN_OK)
        return status;
    *out = built;
    if (!kiln__memo_insert(&op->memo, built))
        *owned = built;
    return KILN_OK;
}

kiln_status kiln__bind_arrays(const kiln_elementwise *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln__bound *bound, kiln_error *err)
{
    for (size_t p = 0; p < recipe->arg_count; p++) {
        const kiln_arg *arg = &call->args[p];
        bound->fresh[p] = false;
        bound->array[p] = arg->kind == KILN_ARG_ARRAY ? arg->value.array
                          : arg->kind == KILN_ARG_OUT ? *arg->value.out
                                                      : NULL;
        if (recipe->args[p].kind != KILN_ARG_OUT)
            continue;
        kiln_status status = kiln__array_new(op->ctx, (kiln_dtype)recipe->args[p].dtype,
                                             recipe->rank, recipe->shape, recipe->order,
                                             call->stream, &bound->array[p], err);
        if (status != KILN_OK) {
            for (size_t q = p + 1; q < recipe->arg_count; q++)
                bound->fresh[q] = false;
            kiln__bound_drop(recipe, bound);
            return status;
        }
        bound->fresh[p] = true;
    }
    return KILN_OK;
}

void kiln__bound_drop(const kiln__recipe *recipe, kiln__bound *bound)
{
    if (!recipe->allocates)
        return;
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->fresh[p])
            kiln_array_release(bound->array[p]);
}

static kiln_status put_scalar(const kiln_elementwise *op, const kiln__recipe *recipe,
                              const kiln__call *call, const kiln__patch *patch, void *block,
                              kiln_error *err)
{
    static const uint8_t kinds[] = {
        [KILN_ARG_BOOL] = KILN__GIVEN_BOOL,   [KILN_ARG_INT] = KILN__GIVEN_INT,
        [KILN_ARG_UINT] = KILN__GIVEN_UINT,   [KILN_ARG_FLOAT] = KILN__GIVEN_FLOAT,
        [KILN_ARG_COMPLEX] = KILN__GIVEN_COMPLEX,
    };
    const kiln_arg *arg = &call->args[patch->param];
    kiln__given given = {.kind = (kiln__given_kind)kinds[arg->kind]};
    kiln__scalar value;

    memcpy(&given.value, &arg->value, sizeof given.value);
    memset(&value, 0, sizeof value);
    kiln_status status = kiln__convert_scalar(op->def, patch->param, &given,
                                              (kiln_dtype)recipe->args[patch->param].dtype, &value,
                                              err);
    if (status == KILN_OK)
        memcpy((char *)block + patch->offset, value.bytes, patch->bytes);
    return status;
}

kiln_status kiln__block_fill(const kiln_elementwise *op, const kiln__recipe *recipe,
                             const kiln__call *call, const kiln__bound *bound, void *block,
                             kiln_error *err)
{
    memcpy(block, recipe->block, recipe->args_bytes);
    for (size_t k = 0; k < recipe->pointer_count; k++) {
        const kiln__patch *patch = &recipe->pointers[k];
        memcpy((char *)block + patch->offset, &bound->array[patch->param]->data, sizeof(void *));
    }
    for (size_t k = 0; k < recipe->scalar_count; k++) {
        kiln_status status = put_scalar(op, recipe, call, &recipe->scalars[k], block, err);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

void kiln__bound_used_on(const kiln__recipe *recipe, const kiln__bound *bound, kiln_stream *stream)
{
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->array[p] != NULL && bound->array[p]->storage->home != stream)
            kiln__storage_used_on(bound->array[p]->storage, stream);
}

static kiln_status run_call(kiln_elementwise *op, const kiln__call *call, kiln_error *err);

/* The call with copies in place of the inputs that overlap an output. */
static kiln_status run_with_copies(kiln_elementwise *op, const kiln__call *call,
                                   const kiln__bound *bound, const bool *copy, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_arg args[KILN_PARAM_MAX];
    kiln_array *copies[KILN_PARAM_MAX] = {NULL};
    kiln__call again = *call;

    memcpy(args, call->args, call->arg_count * sizeof args[0]);
    for (size_t p = 0; p < op->def->input_count; p++) {
        if (!copy[p])
            continue;
        KILN_TRY(kiln__array_copy_on(bound->array[p], call->stream, &copies[p], err));
        args[p] = kiln_arg_array(copies[p]);
    }
    again.args = args;
    KILN_TRY(run_call(op, &again, err));

done:
    for (size_t p = 0; p < op->def->input_count; p++)
        kiln_array_release(copies[p]);
    return status;
}

/* Hand fresh outputs to the caller. */
static void deliver(const kiln__recipe *recipe, const kiln__call *call, const kiln__bound *bound)
{
    if (!recipe->allocates)
        return;
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->fresh[p])
            *call->args[p].value.out = bound->array[p];
}

static kiln_status run_recipe(kiln_elementwise *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__bound bound;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];

    status = kiln__bind_arrays(op, recipe, call, &bound, err);
    if (status != KILN_OK)
        return status;
    if (recipe->count == 0) {
        deliver(recipe, call, &bound);
        return kiln__device_check(op->device, err);
    }
    if (recipe->has_output_arrays) {
        KILN_TRY(kiln__overlap_check(op, recipe, &bound, copy, &any_copy, err));
        if (any_copy) {
            kiln__bound_drop(recipe, &bound); /* the second round allocates anew */
            return run_with_copies(op, call, &bound, copy, err);
        }
    }
    KILN_TRY(kiln__block_fill(op, recipe, call, &bound, block, err));
    KILN_TRY(kiln__launch(op->device, recipe->entry, &recipe->config, block, recipe->args_bytes,
                          call->stream, err));
    kiln__bound_used_on(recipe, &bound, call->stream);
    deliver(recipe, call, &bound);
    return KILN_OK;

done:
    kiln__bound_drop(recipe, &bound);
    return status;
}

static kiln_status run_call(kiln_elementwise *op, const kiln__call *call, kiln_error *err)
{
    const kiln__recipe *recipe;
    kiln__recipe *owned;
    kiln_status status = kiln__recipe_get(op, call, &recipe, &owned, err);
    if (status == KILN_OK)
        status = run_recipe(op, recipe, call, err);
    kiln__recipe_destroy(owned);
    return status;
}

kiln_status kiln_elementwise_run(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                 const kiln_call_options *opts, kiln_error *err)
{
    kiln__call call;
    kiln_status status = kiln__call_read(op, args, arg_count, opts, &call, err);
    return status == KILN_OK ? run_call(op, &call, err) : status;
}

kiln_status kiln_elementwise_source(kiln_elementwise *op, const kiln_arg *args, size_t arg_count,
                                    const kiln_call_options *opts, char **text_out,
                                    kiln_error *err)
{
    kiln__call call;
    if (text_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_elementwise_source: `text_out` is NULL");
    *text_out = NULL;
    kiln_status status = kiln__call_read(op, args, arg_count, opts, &call, err);
    return status == KILN_OK ? kiln__recipe_source(op, &call, text_out, err) : status;
}
