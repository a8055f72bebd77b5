/*
 * raw.c - kiln_raw: a kernel of a module, found by its name, and its parameters.
 *
 *     name > entry         the names that were wanted, the symbol, the only C++ function of that name
 *     entry > parameters   the driver, else the cubin
 *     signature            compared with these, so that a wrong one is told when the kernel is looked for
 */
#include "module/module.h"

/* ---- names ---- */

/* The one kernel that C++ made of a function `name` at file scope, "_Z4nameif" of "name"; NULL
 * where there is none, or more than one. */
static const char *find_mangled(const kiln__loaded *l, const char *name)
{
    const char *found = NULL, *kernel;
    char prefix[512];
    const int width = snprintf(prefix, sizeof prefix, "_Z%zu%s", strlen(name), name);

    if (l->image == NULL || width < 0 || (size_t)width >= sizeof prefix)
        return NULL;
    for (size_t k = 0; (kernel = kiln__cubin_kernel(l->image, l->image_bytes, k)) != NULL; k++) {
        if (strncmp(kernel, prefix, (size_t)width) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = kernel;
    }
    return found;
}

static kiln_status fail_name(const kiln__loaded *l, const char *name, kiln_error *err)
{
    kiln__buf known = {.max_bytes = 300};
    const char *kernel;
    size_t count = 0;

    for (size_t k = 0; l->def != NULL && k < l->def->name_count; k++)
        if (l->def->names[k][0] != '&')
            kiln__buf_printf(&known, "%s%s", count++ == 0 ? "" : ", ", l->def->names[k]);
    for (size_t k = 0; l->image != NULL && !known.failed &&
                       (kernel = kiln__cubin_kernel(l->image, l->image_bytes, k)) != NULL;
         k++)
        kiln__buf_printf(&known, "%s%s", count++ == 0 ? "" : ", ", kernel);
    kiln_status status = kiln__fail(
        err, KILN_ERR_NAME, "module \"%.60s\" has no kernel \"%.100s\"%s%s%s", l->name, name,
        l->def != NULL && strpbrk(name, "<:(") != NULL
            ? "; templates, namespaces and overloads are wanted by kiln_module_options.names"
        : l->def != NULL && strstr(l->def->snippet[KILN__SNIPPET_SOURCE], "template") != NULL
            ? "; a template is named with its arguments, as in \"axpy<float>\""
            : "",
        count != 0 && known.text != NULL ? "; it has " : "",
        count != 0 && known.text != NULL ? known.text : "");
    kiln__buf_clear(&known);
    return status;
}

/* `*symbol_out`: what the image calls it, in memory of the module's or of `text`. */
static kiln_status find_entry(const kiln__loaded *l, const char *name, kiln__buf *text,
                              const char **symbol_out, void **entry_out, kiln_error *err)
{
    const bool cpu = kiln__device_info(l->device)->backend == KILN_BACKEND_CPU;
    const char *symbol = NULL;

    for (size_t k = 0; l->def != NULL && k < l->def->name_count && symbol == NULL; k++) {
        if (!kiln__same_name(l->def->names[k], name))
            continue;
        if (cpu)
            kiln__buf_printf(text, "kiln__named_%zu", k);
        symbol = cpu ? text->text
                     : kiln__names_get(l->blob->data, l->blob->bytes, l->def->name_count, k, NULL);
    }
    if (symbol == NULL && cpu) {
        kiln__buf_printf(text, "kiln__kernel_%s", name);
        symbol = text->text;
    }
    if (text->failed)
        return kiln__fail_memory(err, strlen(name));
    *symbol_out = symbol != NULL ? symbol : name;
    kiln_status status = kiln__raw_entry(l->module, *symbol_out, entry_out, err);
    if (status == KILN_ERR_NAME && symbol == NULL && (symbol = find_mangled(l, name)) != NULL) {
        *symbol_out = symbol;
        status = kiln__raw_entry(l->module, symbol, entry_out, err);
    }
    return status == KILN_ERR_NAME ? fail_name(l, name, err) : status;
}

/* ---- parameters ---- */

static kiln_status read_params(kiln__function *r, const char *name, const char *symbol,
                               size_t *count_out, kiln_error *err)
{
    const kiln__loaded *l = r->loaded;
    kiln__raw_param params[KILN__RAW_PARAMS_MAX];
    kiln_error why = KILN_ERROR_INIT;
    kiln_status status = kiln__raw_params(l->device, r->entry, params, count_out, &why);

    if (status == KILN_ERR_UNSUPPORTED && l->image != NULL)
        status = kiln__cubin_params(l->image, l->image_bytes, symbol, params, count_out, &why);
    if (status != KILN_OK)
        return kiln__fail(err, status, "kernel \"%.100s\": %s", name, why.message);
    if (*count_out > KILN_PARAM_MAX)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "kernel \"%.100s\" has %zu parameters (at most "
                          "%d)",
                          name, *count_out, KILN_PARAM_MAX);
    memcpy(r->params, params, *count_out * sizeof *params);
    for (size_t k = 0; k < *count_out; k++) {
        const size_t end = (size_t)params[k].offset + params[k].bytes;
        if (end > r->block_bytes)
            r->block_bytes = end;
    }
    if (r->block_bytes > KILN__RAW_BLOCK_MAX)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "kernel \"%.100s\": its parameters take %zu bytes (at most %d)", name,
                          r->block_bytes, KILN__RAW_BLOCK_MAX);
    return KILN_OK;
}

/* What a function's C++ type lets a parameter be declared as; true where the type is not known. */
static bool kind_fits(char kind, const kiln__param *declared)
{
    const char wanted = kiln_dtype_kind(declared->dtype);

    if (declared->is_struct)
        return kind == 's' || kind == 0;
    switch (kind) {
    case 'p':
    case 'c':
        return declared->raw;
    case 'f':
        return !declared->raw && wanted == 'f';
    case 'i':
    case 'u':
        return !declared->raw && (wanted == 'i' || wanted == 'u');
    case 'b':
        return !declared->raw && wanted == 'b';
    default:
        return true;
    }
}

static kiln_status fail_signature(const kiln__function *r, size_t p, kiln_status status,
                                  const char *why, kiln_error *err)
{
    const kiln__param *declared = &r->def->params[p];
    char which[160];

    kiln__param_text(r->def, p, which, sizeof which);
    return kiln__fail_at(err, status, r->def->signature[0], declared->column, declared->width,
                         "kernel \"%.100s\": signature, %s %s", r->def->name, which, why);
}

/* The signature against what the function says of itself. */
static kiln_status check_signature(const kiln__function *r, size_t count, kiln_error *err)
{
    char why[128];

    if (r->def->param_count != count)
        return kiln__fail_detail(err, KILN_ERR_ARGUMENT_COUNT, kiln__strdup(r->def->signature[0]),
                                 "kernel \"%.100s\": the signature has %zu parameters, and the "
                                 "function has %zu",
                                 r->def->name, r->def->param_count, count);
    for (size_t p = 0; p < count; p++) {
        const kiln__param *declared = &r->def->params[p];
        const size_t bytes = declared->raw         ? sizeof(void *)
                             : declared->is_struct ? r->params[p].bytes
                                                   : kiln_dtype_size(declared->dtype);
        if (!declared->raw && declared->placeholder != 0)
            return fail_signature(r, p, KILN_ERR_UNBOUND,
                                  "is a number and needs a dtype of its own", err);
        snprintf(why, sizeof why, "takes %zu bytes, and the function's parameter has %u", bytes,
                 r->params[p].bytes);
        if (bytes != r->params[p].bytes)
            return fail_signature(r, p, KILN_ERR_DTYPE, why, err);
        if (!kind_fits(r->params[p].kind, declared))
            return fail_signature(r, p, KILN_ERR_DTYPE, "is not what the function takes", err);
    }
    return KILN_OK;
}

/* Parameters without a signature: their number alone is known, and they are called p1, p2, ... */
static kiln_status make_untyped(kiln__function *r, const char *name, size_t count, kiln_error *err)
{
    kiln__buf text = KILN__BUF_INIT;

    for (size_t p = 0; p < count; p++)
        kiln__buf_printf(&text, "%sint64 p%zu", p == 0 ? "" : ", ", p + 1);
    kiln_status status =
        text.failed
            ? kiln__fail_memory(err, 16 * count)
            : kiln__module_signature(name, text.text != NULL ? text.text : "", &r->def, err);
    kiln__buf_clear(&text);
    return status;
}

/* Which parameters are of kinds that calls check in a few steps. */
static void find_plain(kiln__function *r)
{
    static const uint8_t kinds[KILN_DTYPE_COUNT] = {[KILN_INT32] = KILN__PLAIN_INT32,
                                                    [KILN_INT64] = KILN__PLAIN_INT64,
                                                    [KILN_FLOAT32] = KILN__PLAIN_FLOAT32,
                                                    [KILN_FLOAT64] = KILN__PLAIN_FLOAT64};

    for (size_t p = 0; p < r->def->param_count; p++) {
        const kiln__param *const declared = &r->def->params[p];
        const kiln_dtype dtype = declared->dtype;
        if (dtype == KILN_DTYPE_NONE || declared->is_struct)
            continue;
        const int array = declared->is_const ? KILN__PLAIN_READ : KILN__PLAIN_WRITTEN;
        r->plain[p] = (kiln__plain_param){.offset = r->params[p].offset,
                                          .kind = declared->raw ? (uint8_t)array : kinds[dtype],
                                          .dtype = (uint8_t)dtype};
    }
}

/* ---- the object ---- */

void kiln__function_release(void *function)
{
    kiln__function *const r = function;

    if (r == NULL || atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    kiln__definition_destroy(r->def);
    kiln__loaded_release(r->loaded);
    kiln__free(r);
}

static kiln_status make(kiln__function *r, const char *name, const char *signature, kiln_error *err)
{
    kiln__buf text = KILN__BUF_INIT;
    const char *symbol = NULL;
    kiln__raw_attributes own;
    size_t count = 0;
    kiln_status status = KILN_OK;

    r->typed = signature != NULL;
    if (r->typed)
        KILN_TRY(kiln__module_signature(name, signature, &r->def, err));
    KILN_TRY(find_entry(r->loaded, name, &text, &symbol, &r->entry, err));
    KILN_TRY(kiln__raw_attributes_get(r->loaded->device, r->entry, &own, err));
    r->max_threads = own.max_threads;
    r->shared_bytes = own.shared_bytes;
    KILN_TRY(read_params(r, name, symbol, &count, err));
    status = r->typed ? check_signature(r, count, err) : make_untyped(r, name, count, err);
    if (r->typed && status == KILN_OK)
        find_plain(r);

done:
    kiln__buf_clear(&text);
    return status;
}

kiln_status kiln_module_kernel(kiln_module *m, const char *name, const char *signature,
                               kiln_raw **out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(m, err);
    KILN_CHECK_NULL(name, err);
    if (m->magic != KILN__MODULE_MAGIC)
        return kiln__context_released("module", err);
    KILN_CHECK(kiln__context_check(m->loaded->ctx, err));
    kiln_status status = KILN_OK;
    kiln__function *r = NULL;
    kiln_raw *kernel = NULL;
    KILN_CHECK(kiln__make_zeroed(&r, 1, sizeof *r, err));
    atomic_init(&r->refs, 1);
    r->loaded = kiln__loaded_retain(m->loaded);
    KILN_TRY(make(r, name, signature, err));
    KILN_TRY(kiln__make_zeroed(&kernel, 1, sizeof *kernel, err));
    *kernel = (kiln_raw){KILN__RAW_MAGIC, r};
    *out = kernel;
    r = NULL;

done:
    kiln__function_release(r);
    return status;
}

void kiln_raw_destroy(kiln_raw *kernel)
{
    if (kernel == NULL || kernel->magic != KILN__RAW_MAGIC ||
        kiln__context_forked(kernel->function->loaded->ctx))
        return;
    kernel->magic = KILN__MODULE_DEAD;
    kiln_context *const ctx = kiln_context_retain(kernel->function->loaded->ctx);
    kiln__function_release(kernel->function);
    kernel->function = NULL;
    kiln__context_bury(ctx, kernel, NULL);
    kiln_context_release(ctx);
}
