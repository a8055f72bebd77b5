/*
 * kernel.c - the object behind every handle: a definition, its recipes and its compiled variants.
 *
 * call.c and recipe.c use it. Calls are in call.c, recipes in recipe.c, runs in run.c.
 *
 * Test: test_graph_run.
 */
#include "kernel/kernel.h"

/* ---- the object -------------------------------------------------------------------------------- */

/* Into a zeroed kernel. On failure it can and must be cleared. */
static kiln_status init(kiln__kernel *op, kiln_context *ctx, bool owns_ctx,
                        const kiln__family_calls *calls, const kiln__definition_request *request,
                        kiln_error *err)
{
    kiln__definition_request of_family = *request;
    KILN_CHECK(kiln__context_check(ctx, err));
    op->ctx = owns_ctx ? kiln_context_retain(ctx) : ctx;
    op->owns_ctx = owns_ctx;
    op->device = kiln__context_device(ctx);
    op->calls = calls;
    kiln__memo_init(&op->memo);
    pthread_mutex_init(&op->lock, NULL);
    of_family.family = calls->family;
    KILN_CHECK(kiln__definition_create(&of_family, &op->def, err));
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
    kiln__kernel *op = NULL;
    KILN_CHECK(kiln__make_zeroed(&op, 1, sizeof *op, err));
    kiln_status status = init(op, ctx, owns_ctx, calls, request, err);
    if (status == KILN_OK)
        *out = op;
    else
        kiln__kernel_destroy(op);
    return status;
}

/* A likely mistake, which compiles: "x * 2" where "z = x * 2" is meant. */
static void warn_unassigned(const kiln__kernel *op)
{
    const kiln__definition *d = op->def;
    const size_t own = op->calls->own_outputs != NULL ? op->calls->own_outputs(d) : 0;
    const size_t end = d->param_count - own;

    for (size_t p = d->input_count; p < end && !d->includes; p++) {
        const char *name = d->params[p].name;
        bool used = d->params[p].raw;
        for (size_t k = 0; k < d->words.count && !used; k++)
            used = strcmp(d->words.items[k], name) == 0;
        if (!used)
            kiln__log_line(kiln__context_log(op->ctx), KILN__LOG_WARN,
                           "kernel \"%.60s\" never assigns its output `%.60s`, whose elements are "
                           "therefore undefined: a statement such as \"%.60s = ...\" is missing",
                           d->name, name, name);
    }
}

kiln_status kiln__kernel_define(kiln_context *ctx, const kiln__family_calls *calls,
                                const kiln__definition_request *request, kiln__kernel **out,
                                kiln_error *err)
{
    KILN_CHECK(kiln__kernel_new(ctx, true, calls, request, out, err));
    warn_unassigned(*out);
    return KILN_OK;
}

kiln_status kiln__loop_kernel(kiln_context *ctx, const char *name, kiln__buf *in,
                              const char *result, kiln__buf *op, kiln__kernel **out,
                              kiln_error *err)
{
    const kiln__definition_request request = {
        .name = name,
        .in = in->text,
        .out = result,
        .snippet = {[KILN__SNIPPET_OP] = op->text},
    };
    const kiln_status status =
        in->failed || op->failed
            ? kiln__fail_memory(err, sizeof request)
            : kiln__kernel_new(ctx, false, &kiln__loop_calls, &request, out, err);

    kiln__buf_clear(in);
    kiln__buf_clear(op);
    return status;
}

static void clear(kiln__kernel *op)
{
    op->magic = 0;
    for (size_t k = 0; k < KILN_COUNT_OF(op->with); k++)
        kiln__kernel_destroy(atomic_load(&op->with[k]));
    kiln__memo_clear(&op->memo, kiln__free); /* one allocation holds a recipe */
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
    if (op == NULL || op->magic == KILN__KERNEL_DEAD ||
        (op->ctx != NULL && kiln__context_forked(op->ctx)))
        return;
    kiln_context *const ctx = op->owns_ctx ? op->ctx : NULL;
    const bool given_out = ctx != NULL && op->magic == KILN__KERNEL_MAGIC;
    clear(op);
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
    KILN_CHECK(kiln__make_zeroed(&c, 1, sizeof *c, err));
    c->variant = *variant;
    /* Without a device nothing is launched, so that no source is needed. */
    if (!kiln__device_is_dry(op->device))
        KILN_TRY(kiln__emit(op->def, variant, &c->source, err));
    KILN_TRY(kiln__jit_entry(op->ctx, op->def, &c->source, &c->entry, err));
    KILN_TRY(kiln__record_variant(op->ctx, op->def, variant, err));
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
