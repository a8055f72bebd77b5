/*
 * own.c - whole kernels of kiln's own for CUDA devices, from templates without a signature.
 *
 *     (template, macros) > table of the context > entry, compiled and recorded when first needed
 *
 * Unlike the kernels of kept.c they have no planner: their callers (indexing, linalg, sorting) fill
 * the argument block. Entries are only added, and live as long as the context.
 */
#include "kernel/kernel.h"

typedef struct own {
    kiln__module *module;
    void *entry;
} own;

typedef struct owned {
    pthread_mutex_t lock;
    kiln__map kernels; /* by template and macros */
} owned;

static void *owned_make(kiln_context *ctx)
{
    (void)ctx;
    owned *o = kiln__calloc(1, sizeof *o);
    if (o != NULL)
        pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void own_destroy(void *kernel)
{
    own *k = kernel;
    kiln__module_unload(k->module);
    kiln__free(k);
}

static void owned_destroy(void *state)
{
    owned *o = state;
    kiln__map_clear(&o->kernels, own_destroy);
    pthread_mutex_destroy(&o->lock);
    kiln__free(o);
}

static kiln_status define(const kiln__own_request *r, const char *text, kiln__definition **out,
                          kiln_error *err)
{
    KILN_CHECK(
        kiln__module_definition(r->entry, text, r->macros, r->macro_count, NULL, 0, out, err));
    (*out)->module_prelude = strstr(text, "KILN_FN") != NULL; /* what it uses of the prelude comes with it */
    (*out)->template_file = kiln__strdup(r->file);
    if ((*out)->template_file != NULL)
        return KILN_OK;
    kiln__definition_destroy(*out);
    *out = NULL;
    return kiln__fail_memory(err, strlen(r->file));
}

kiln_status kiln__own_definition(const kiln__own_request *r, kiln__definition **out,
                                 kiln_error *err)
{
    kiln__buf text = KILN__BUF_INIT;
    kiln_status status = kiln__module_template(r->file, &text, err);

    *out = NULL;
    if (status == KILN_OK)
        status = define(r, text.text, out, err);
    kiln__buf_clear(&text);
    return status;
}

kiln_status kiln__own_emit(const kiln__own_request *r, kiln__definition **def_out,
                           kiln__source *out, kiln_error *err)
{
    kiln__definition *def = NULL;
    kiln_status status = kiln__own_definition(r, &def, err);

    if (status == KILN_OK)
        status = kiln__module_emit(def, KILN_BACKEND_CUDA, out, err);
    if (status == KILN_OK)
        *def_out = def;
    else
        kiln__definition_destroy(def);
    return status;
}

static const kiln__variant any = {.family = &kiln__family_loop, .backend = KILN_BACKEND_CUDA};

/* Without a device: tell that the kernel is needed. Whoever wants its source asks for its definition. */
static kiln_status compile_dry(kiln_context *ctx, const kiln__own_request *r, own *into,
                               kiln_error *err)
{
    static char nowhere[1];
    kiln__definition *def = NULL;
    kiln_status status = define(r, "", &def, err);

    if (status == KILN_OK)
        status = kiln__record_variant(ctx, def, &any, err);
    kiln__definition_destroy(def);
    into->entry = nowhere;
    return status;
}

static kiln_status compile(kiln_context *ctx, const kiln__own_request *r, own *into,
                           kiln_error *err)
{
    kiln__definition *def = NULL;
    const kiln__blob *blob = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    kiln_status status = KILN_OK;

    if (kiln__device_is_dry(kiln__context_device(ctx)))
        return compile_dry(ctx, r, into, err);
    KILN_TRY(kiln__own_emit(r, &def, &source, err));
    KILN_TRY(kiln__jit_image(ctx, def, &source, &blob, NULL, err));
    KILN_TRY(kiln__record_variant(ctx, def, &any, err));
    KILN_TRY(
        kiln__module_load(kiln__context_device(ctx), blob->data, blob->bytes, &into->module, err));
    KILN_TRY(kiln__raw_entry(into->module, r->entry, &into->entry, err));

done:
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
    return status;
}

/* Find the kernel under its key, or make it; the table is locked. */
static kiln_status find(owned *o, kiln_context *ctx, const kiln__own_request *r,
                        const kiln__buf *key, void **entry_out, kiln_error *err)
{
    void **place = kiln__map_find(&o->kernels, key->text, key->length);
    own *k = NULL;
    kiln_status status = KILN_OK;

    if (place != NULL && *place != NULL) {
        *entry_out = ((own *)*place)->entry;
        return KILN_OK;
    }
    KILN_TRY(kiln__make_zeroed(&k, 1, sizeof *k, err));
    KILN_TRY(compile(ctx, r, k, err));
    place = kiln__map_enter(&o->kernels, key->text, key->length, NULL);
    if (place == NULL) {
        status = kiln__fail_memory(err, key->length);
        goto done;
    }
    *entry_out = k->entry;
    *place = k;
    k = NULL;

done:
    if (k != NULL)
        own_destroy(k);
    return status;
}

kiln_status kiln__own_kernel(kiln_context *ctx, const kiln__own_request *request, void **entry_out,
                             kiln_error *err)
{
    kiln__buf key = KILN__BUF_INIT;
    void *state = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(
        kiln__context_attachment(ctx, KILN__ATTACH_OWN, owned_make, owned_destroy, &state, err));
    kiln__buf_printf(&key, "%s\n%s", request->file, request->entry);
    for (size_t k = 0; k < request->macro_count; k++)
        kiln__buf_printf(&key, "\n%s", request->macros[k]);
    if (key.failed) {
        status = kiln__fail_memory(err, sizeof key);
        goto done;
    }
    owned *o = state;
    pthread_mutex_lock(&o->lock);
    status = find(o, ctx, request, &key, entry_out, err);
    pthread_mutex_unlock(&o->lock);

done:
    kiln__buf_clear(&key);
    return status;
}
