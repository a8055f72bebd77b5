/*
 * kernel.c - the object behind every handle, and the path of one call.
 *
 *     kiln_elementwise_run > hash the layouts > recipe from the memo > fill the block > launch
 *
 * Rule: on a hit the path takes no lock and allocates nothing but the outputs asked for. What a
 * call needs once per layout belongs into recipe.c.
 */
#include "kernel/kernel.h"

/* ---- the object -------------------------------------------------------------------------------- */

/* Into a zeroed kernel. On failure it can and must be cleared. */
static kiln_status init(kiln__kernel *op, kiln_context *ctx, bool owns_ctx,
                        const kiln__family_calls *calls, const kiln__definition_request *request,
                        kiln_error *err)
{
    kiln__definition_request of_family = *request;
    kiln_status status = kiln__context_check(ctx, err);
    if (status != KILN_OK)
        return status;
    op->ctx = owns_ctx ? kiln_context_retain(ctx) : ctx;
    op->owns_ctx = owns_ctx;
    op->device = kiln__context_device(ctx);
    op->calls = calls;
    kiln__memo_init(&op->memo);
    pthread_mutex_init(&op->lock, NULL);
    of_family.family = calls->family;
    status = kiln__definition_create(&of_family, &op->def, err);
    if (status != KILN_OK)
        return status;
    if (op->def->cuda_only && kiln__device_info(op->device)->backend == KILN_BACKEND_CPU)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "kernel \"%s\" uses `%s`, which only a CUDA device has; this context is "
                          "on the cpu",
                          op->def->name, op->def->cuda_only_word);
    op->magic = KILN__KERNEL_MAGIC;
    return KILN_OK;
}

kiln_status kiln__kernel_new(kiln_context *ctx, bool owns_ctx, const kiln__family_calls *calls,
                             const kiln__definition_request *request, kiln__kernel **out,
                             kiln_error *err)
{
    *out = NULL;
    kiln__kernel *op = kiln__calloc(1, sizeof *op);
    if (op == NULL)
        return kiln__fail_memory(err, sizeof *op);
    kiln_status status = init(op, ctx, owns_ctx, calls, request, err);
    if (status == KILN_OK)
        *out = op;
    else
        kiln__kernel_destroy(op);
    return status;
}

void kiln__kernel_clear(kiln__kernel *op)
{
    op->magic = 0;
    for (size_t k = 0; k < KILN_COUNT_OF(op->with); k++)
        kiln__kernel_destroy(atomic_load(&op->with[k]));
    kiln__memo_clear(&op->memo, kiln__recipe_destroy);
    while (op->compiled != NULL) {
        kiln__compiled *c = op->compiled;
        op->compiled = c->next;
        kiln__source_clear(&c->source);
        kiln__free(c);
    }
    kiln__definition_destroy(op->def);
    pthread_mutex_destroy(&op->lock);
}

void kiln__kernel_destroy(kiln__kernel *op)
{
    if (op == NULL || op->magic == KILN__KERNEL_DEAD || kiln__kernel_forked(op))
        return;
    kiln_context *const ctx = op->owns_ctx ? op->ctx : NULL;
    const bool given_out = ctx != NULL && op->magic == KILN__KERNEL_MAGIC;
    kiln__kernel_clear(op);
    op->magic = KILN__KERNEL_DEAD;
    if (given_out)
        kiln__context_bury(ctx, op, NULL);
    else
        kiln__free(op);
    kiln_context_release(ctx);
}

/* ---- variants -------------------------------------------------------------------------------------- */

static const kiln__compiled *find_compiled(kiln__kernel *op, const kiln__variant *variant)
{
    const kiln__compiled *c;
    pthread_mutex_lock(&op->lock);
    for (c = op->compiled; c != NULL; c = c->next)
        if (memcmp(&c->variant, variant, sizeof *variant) == 0)
            break;
    pthread_mutex_unlock(&op->lock);
    return c;
}

bool kiln__kernel_has(kiln__kernel *op, const kiln__variant *variant)
{
    return find_compiled(op, variant) != NULL;
}

/* The compiled form of a variant. Threads that arrive together all emit, but the program is
 * compiled once (src/jit). */
kiln_status kiln__kernel_compiled(kiln__kernel *op, const kiln__variant *variant,
                                  const kiln__compiled **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__compiled *c = NULL;

    *out = find_compiled(op, variant);
    if (*out != NULL)
        return KILN_OK;
    c = kiln__calloc(1, sizeof *c);
    if (c == NULL)
        return kiln__fail_memory(err, sizeof *c);
    c->variant = *variant;
    KILN_TRY(kiln__emit(op->def, variant, &c->source, err));
    KILN_TRY(kiln__jit_entry(op->ctx, op->def, &c->source, &c->entry, err));
    kiln__record_variant(op->ctx, op->def, variant);
    kiln__free(c->source.text);
    c->source.text = NULL;
    pthread_mutex_lock(&op->lock);
    c->next = op->compiled;
    op->compiled = c;
    pthread_mutex_unlock(&op->lock);
    *out = c;
    c = NULL;

done:
    if (c != NULL)
        kiln__source_clear(&c->source);
    kiln__free(c);
    return status;
}

/* ---- one call ------------------------------------------------------------------------------------ */

kiln_status kiln__call_read(const kiln__kernel *op, const kiln_arg *args, size_t arg_count,
                            kiln_stream *stream, kiln__call *out, kiln_error *err)
{
    memset(out, 0, sizeof *out);
    if (op == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "the kernel is NULL");
    if (op->magic != KILN__KERNEL_MAGIC)
        return kiln__fail(err, KILN_ERR_RELEASED, "the kernel was destroyed");
    if (kiln__context_forked(op->ctx))
        return kiln__context_check(op->ctx, err);
    if (args == NULL && arg_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": `args` is NULL", op->def->name);
    out->args = args;
    out->arg_count = arg_count;
    if (stream != NULL)
        return kiln__context_stream(op->ctx, stream, &out->stream, err);
    out->stream = kiln__device_stream(op->device);
    return KILN_OK;
}

kiln_status kiln__wanted_begin(const kiln__wanted *wanted, kiln_error *err)
{
    switch (wanted->what) {
    case KILN__WANT_LAUNCH:
        if (wanted->out.launch == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "%s: `out` is NULL", wanted->function);
        *wanted->out.launch = NULL;
        break;
    case KILN__WANT_SOURCE:
        if (wanted->out.source == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "%s: `text_out` is NULL", wanted->function);
        *wanted->out.source = NULL;
        break;
    case KILN__WANT_AHEAD:
        if (wanted->out.ahead != NULL)
            *wanted->out.ahead = NULL;
        break;
    }
    return KILN_OK;
}

kiln_status kiln__wanted_make(const kiln__wanted *wanted, kiln__kernel *op, const kiln__call *call,
                              kiln_error *err)
{
    switch (wanted->what) {
    case KILN__WANT_LAUNCH:
        return kiln__kernel_prepare(op, call, wanted->out.launch, err);
    case KILN__WANT_AHEAD:
        return kiln__kernel_prefetch(op, call, wanted->out.ahead, err);
    case KILN__WANT_SOURCE:
        break;
    }
    return kiln__recipe_build(op, call, NULL, wanted->out.source, err);
}

kiln_status kiln__recipe_get(kiln__kernel *op, const kiln__call *call,
                             const kiln__recipe **out, kiln__recipe **owned, kiln_error *err)
{
    uint64_t hash;
    kiln__recipe *built = NULL;

    *owned = NULL;
    *out = kiln__call_hash(op, call, &hash)
               ? kiln__memo_find(&op->memo, hash, kiln__recipe_matches, call)
               : NULL;
    if (*out != NULL)
        return KILN_OK;
    kiln_status status = kiln__device_check(op->device, err);
    if (status == KILN_OK)
        status = kiln__recipe_build(op, call, &built, NULL, err);
    if (status != KILN_OK)
        return status;
    *out = built;
    if (!kiln__memo_insert(&op->memo, built))
        *owned = built;
    return KILN_OK;
}

kiln_status kiln__check_out(const kiln_arg *args, size_t at, const bool *fresh, kiln_error *err)
{
    for (size_t p = 0; p < at; p++)
        if (fresh[p] && args[p].value.out == args[at].value.out)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "arguments %zu and %zu are outputs that are to be stored at one "
                              "address; give each its own",
                              p + 1, at + 1);
    return KILN_OK;
}

kiln_status kiln__bind_arrays(const kiln__kernel *op, const kiln__recipe *recipe,
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
        const bool row = recipe->args[p].row;
        kiln_status status = kiln__check_out(call->args, p, bound->fresh, err);
        if (status == KILN_OK)
            status = kiln__array_new(
                op->ctx, (kiln_dtype)recipe->args[p].dtype, row ? recipe->row_rank : recipe->rank,
                row ? recipe->row_shape : recipe->shape, row ? NULL : recipe->order, call->stream,
                &bound->array[p], err);
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

bool kiln__given_scalar(const kiln_arg *arg, kiln__given *given)
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

static kiln_status put_scalar(const kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, const kiln__patch *patch, void *block,
                              kiln_error *err)
{
    const size_t p = patch->param;
    kiln__given given;
    kiln__scalar value;

    memset(&value, 0, sizeof value);
    if (!kiln__given_scalar(&call->args[p], &given))
        return kiln__fail(err, KILN_ERR_INTERNAL, "kernel \"%s\": `%s` is no scalar",
                          op->def->name, op->def->params[p].name);
    kiln_status status = kiln__convert_scalar(op->def, p, &given, (kiln_dtype)recipe->args[p].dtype,
                                              &value, err);
    if (status == KILN_OK)
        memcpy((char *)block + patch->offset, value.bytes, patch->bytes);
    return status;
}

kiln_status kiln__block_fill(const kiln__kernel *op, const kiln__recipe *recipe,
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

/* The call with copies in place of the inputs that overlap an output. */
static kiln_status run_with_copies(kiln__kernel *op, const kiln__call *call,
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
    KILN_TRY(kiln__kernel_run(op, &again, err));

done:
    for (size_t p = 0; p < op->def->input_count; p++)
        kiln_array_release(copies[p]);
    return status;
}

void kiln__bound_deliver(const kiln__recipe *recipe, const kiln__call *call, const kiln__bound *bound)
{
    if (!recipe->allocates)
        return;
    for (size_t p = 0; p < recipe->arg_count; p++)
        if (bound->fresh[p])
            *call->args[p].value.out = bound->array[p];
}

/* Room for a reduction's parts, and for its zeroed tickets where the stream has none. */
kiln_status kiln__workspace_make(kiln__device *device, const kiln__workspace_need *need,
                                 kiln_stream *stream, void *block, kiln__block **out,
                                 kiln_error *err)
{
    const size_t parts = (need->part_bytes + 511) / 512 * 512;
    size_t own = 0;
    void *tickets = NULL;
    kiln_status status = KILN_OK;

    if (!need->leaves_marks)
        status = kiln__stream_tickets(stream, need->ticket_count, &tickets, err);
    if (status == KILN_OK && tickets == NULL)
        own = (size_t)need->ticket_count * sizeof(int);
    if (status == KILN_OK)
        status = kiln__pool_alloc(device, parts + own, stream, out, err);
    if (status == KILN_ERR_DEVICE_MEMORY && err != NULL) {
        char low[KILN_ERROR_MESSAGE_BYTES];
        snprintf(low, sizeof low, "%s", err->message);
        return kiln__fail(err, status, "no room for the %zu bytes of partial results: %.400s",
                          parts + own, low);
    }
    if (status != KILN_OK)
        return status;
    char *at = (*out)->address;
    if (own > 0) {
        tickets = at + parts;
        status = kiln__memset(device, tickets, 0, own, stream, err);
    }
    memcpy((char *)block + need->parts_offset, &at, sizeof at);
    memcpy((char *)block + need->tickets_offset, &tickets, sizeof tickets);
    return status;
}

static kiln_status run_recipe(kiln__kernel *op, const kiln__recipe *recipe,
                              const kiln__call *call, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__bound bound;
    bool copy[KILN_PARAM_MAX] = {false}, any_copy = false;
    kiln__block *workspace = NULL;
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];

    status = kiln__bind_arrays(op, recipe, call, &bound, err);
    if (status != KILN_OK)
        return status;
    if (recipe->count == 0) {
        kiln__bound_deliver(recipe, call, &bound);
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
    if (recipe->workspace.ticket_count > 0)
        KILN_TRY(kiln__workspace_make(op->device, &recipe->workspace, call->stream, block,
                                      &workspace, err));
    KILN_TRY(kiln__launch(op->device, recipe->entry, &recipe->config, block, recipe->args_bytes,
                          call->stream, err));
    kiln__pool_free(op->device, workspace, NULL, 0);
    kiln__bound_used_on(recipe, &bound, call->stream);
    kiln__bound_deliver(recipe, call, &bound);
    return KILN_OK;

done:
    kiln__pool_free(op->device, workspace, NULL, 0);
    kiln__bound_drop(recipe, &bound);
    return status;
}

kiln_status kiln__kernel_run(kiln__kernel *op, const kiln__call *call, kiln_error *err)
{
    const kiln__recipe *recipe;
    kiln__recipe *owned;
    kiln_status status = kiln__recipe_get(op, call, &recipe, &owned, err);
    if (status == KILN_OK)
        status = run_recipe(op, recipe, call, err);
    kiln__recipe_destroy(owned);
    return status;
}

kiln_status kiln__kernel_run_again(kiln__kernel *op, const kiln__call *call,
                                   _Atomic(const kiln__recipe *) *recent, kiln_error *err)
{
    const kiln__recipe *recipe = atomic_load_explicit(recent, memory_order_acquire);
    kiln__recipe *owned = NULL;

    if (recipe == NULL || !kiln__recipe_still_fits(recipe, call)) {
        kiln_status status = kiln__recipe_get(op, call, &recipe, &owned, err);
        if (status != KILN_OK)
            return status;
        if (owned == NULL)
            atomic_store_explicit(recent, recipe, memory_order_release);
    }
    kiln_status status = run_recipe(op, recipe, call, err);
    kiln__recipe_destroy(owned);
    return status;
}
