/*
 * module.c - kiln_module: a source or an image, loaded; and its variables.
 *
 * Every handle loads for itself, so that its variables are its own. The compiled image of a source is
 * the context's, and is shared.
 */
#include "module/module.h"

/* ---- what is loaded ---- */

kiln__loaded *kiln__loaded_retain(kiln__loaded *l)
{
    atomic_fetch_add(&l->refs, 1);
    return l;
}

void kiln__loaded_release(kiln__loaded *l)
{
    if (l == NULL || atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    kiln_context *const ctx = l->ctx;
    kiln__module_unload(l->module);
    kiln__definition_destroy(l->def);
    kiln__free(l->name);
    kiln__free(l->own);
    kiln__free(l);
    kiln_context_release(ctx);
}

static kiln_status loaded_make(kiln_context *ctx, const char *name, kiln__loaded **out,
                               kiln_error *err)
{
    kiln__loaded *l = kiln__calloc(1, sizeof *l);

    *out = l;
    if (l == NULL)
        return kiln__fail_memory(err, sizeof *l);
    atomic_init(&l->refs, 1);
    l->ctx = kiln_context_retain(ctx);
    l->device = kiln__context_device(ctx);
    l->name = kiln__strdup(name);
    return l->name != NULL ? kiln__raw_limits_get(l->device, &l->limits, err)
                           : kiln__fail_memory(err, strlen(name) + 1);
}

/* Say why an image was not loaded, in the assembler's words where there are any. */
static kiln_status explain_load(const kiln__loaded *l, kiln_status status, char *log,
                                kiln_error *err)
{
    char message[KILN_ERROR_MESSAGE_BYTES] = "";

    if (err == NULL || status == KILN_OK) {
        kiln__free(log);
        return status;
    }
    snprintf(message, sizeof message, "%s", err->message);
    (void)kiln__fail(err, status, "module \"%.60s\" is not loaded: %.200s%s%.*s", l->name, message,
                     log != NULL ? "; " : "", log != NULL ? (int)strcspn(log, "\n") : 0,
                     log != NULL ? log : "");
    err->log = log;
    return status;
}

static kiln_status load(kiln__loaded *l, const void *image, size_t bytes, kiln_error *err)
{
    char *log = NULL;
    kiln_status status = kiln__raw_load(l->device, image, bytes, &l->module, &log, err);

    return explain_load(l, status, log, err);
}

/* ---- sources ---- */

/* Note down that the program needs the module ($KILN_RECORD). */
static void record(const kiln__loaded *l, const char *source, const kiln_module_options *o)
{
    kiln__manifest_entry e = {.kind = &kiln__manifest_module,
                              .options = (const char **)(uintptr_t)o->compiler_options,
                              .option_count = o->compiler_option_count,
                              .names = (const char **)(uintptr_t)o->names,
                              .name_count = o->name_count};

    e.text[KILN__MANIFEST_NAME].text = l->name;
    e.text[KILN__MANIFEST_SOURCE].text = source;
    kiln__recorder_add_entry(kiln__context_recorder(l->ctx), "module", &e);
}

/* What was compiled for it (-dc) becomes a whole by a link, in the place of the image. */
static kiln_status link_source(kiln__loaded *l, kiln_error *err)
{
    kiln_module_input inputs[2] = {{l->blob->data, l->image_bytes, l->name}};
    char *runtime = NULL;

    kiln__link_runtime(&runtime, &inputs[1].bytes);
    inputs[1].data = runtime;
    inputs[1].name = "libcudadevrt.a";
    const kiln_status status = kiln__link(l->device, l->name, inputs, runtime != NULL ? 2 : 1,
                                          &l->own, &l->image_bytes, err);
    kiln__free(runtime);
    l->image = l->own;
    return status;
}

static kiln_status load_source(kiln__loaded *l, const char *source, const kiln_module_options *o,
                               kiln_error *err)
{
    const kiln_backend backend = kiln__device_info(l->device)->backend;
    kiln__source text = KILN__SOURCE_INIT;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__module_definition(l->name, source, o->compiler_options, o->compiler_option_count,
                                     o->names, o->name_count, &l->def, err));
    KILN_TRY(kiln__options_check(backend, o->compiler_options, o->compiler_option_count, err));
    KILN_TRY(kiln__module_emit(l->def, backend, &text, err));
    KILN_TRY(kiln__jit_image(l->ctx, l->def, &text, &l->blob, &l->log, err));
    record(l, source, o);
    l->image_bytes = l->blob->bytes;
    if (text.name_count != 0)
        (void)kiln__names_get(l->blob->data, l->blob->bytes, text.name_count, 0, &l->image_bytes);
    if (backend == KILN_BACKEND_CUDA)
        l->image = l->blob->data;
    if (backend == KILN_BACKEND_CUDA &&
        kiln__options_relocatable(o->compiler_options, o->compiler_option_count))
        KILN_TRY(link_source(l, err));
    status = load(l, l->own != NULL ? l->own : l->blob->data, l->image_bytes, err);

done:
    kiln__source_clear(&text);
    return status;
}

/* ---- images ---- */

static kiln_status load_image(kiln__loaded *l, const void *image, size_t bytes,
                              const kiln_module_options *o, kiln_error *err)
{
    kiln__image_kind kind = KILN__IMAGE_NONE;
    kiln_error why = KILN_ERROR_INIT;

    if (o->compiler_option_count != 0 || o->name_count != 0)
        return kiln__fail(
            err, KILN_ERR_ARGUMENT,
            "module \"%.60s\": compiler options and names are for sources, and this is "
            "an image",
            l->name);
    if (kiln__device_info(l->device)->backend != KILN_BACKEND_CUDA)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "module \"%.60s\": the cpu device runs sources, no code for GPUs",
                          l->name);
    KILN_CHECK(kiln__make_room(&l->own, bytes + 1, err));
    memcpy(l->own, image, bytes);
    ((char *)l->own)[bytes] = '\0';
    kiln_status status = kiln__image_check(l->own, bytes, &kind, &why);
    if (status != KILN_OK)
        return kiln__fail(err, status, "module \"%.60s\": %s", l->name, why.message);
    if (kind == KILN__IMAGE_CUBIN)
        l->image = l->own;
    l->image_bytes = bytes;
    return load(l, l->own, bytes, err);
}

static kiln_status load_linked(kiln__loaded *l, const kiln_module_input *inputs, size_t count,
                               const kiln_module_options *o, kiln_error *err)
{
    void *cubin = NULL;
    size_t bytes = 0;

    if (kiln__device_info(l->device)->backend != KILN_BACKEND_CUDA)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "module \"%.60s\": the cpu device links no code for GPUs", l->name);
    KILN_CHECK(kiln__link(l->device, l->name, inputs, count, &cubin, &bytes, err));
    const kiln_status status = load_image(l, cubin, bytes, o, err);
    kiln__free(cubin);
    return status;
}

/* ---- creation ---- */

/* What is to be loaded: exactly one of the first three. */
typedef struct origin {
    const char *source;
    const void *image;
    const kiln_module_input *inputs;
    size_t bytes; /* of the image, or how many inputs there are */
} origin;

static kiln_status create(kiln_context *ctx, const origin *from, const char *name,
                          const kiln_module_options *o, kiln_module **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_module *m = NULL;
    KILN_CHECK(kiln__make_zeroed(&m, 1, sizeof *m, err));
    m->magic = KILN__MODULE_MAGIC;
    KILN_TRY(loaded_make(ctx, name, &m->loaded, err));
    status = from->source != NULL  ? load_source(m->loaded, from->source, o, err)
             : from->image != NULL ? load_image(m->loaded, from->image, from->bytes, o, err)
                                   : load_linked(m->loaded, from->inputs, from->bytes, o, err);
    if (status == KILN_OK) {
        *out = m;
        return KILN_OK;
    }

done:
    kiln__loaded_release(m->loaded);
    kiln__free(m);
    return status;
}

/* Empty the output, and read the options. */
static kiln_status begin(kiln_context *ctx, const void *given, const char *what,
                         const kiln_module_options *opts, kiln_module_options *o, kiln_module **out,
                         kiln_error *err)
{
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `out` is NULL", what);
    *out = NULL;
    if (ctx == NULL || given == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `%s` is NULL", what,
                          ctx == NULL ? "ctx" : "source, image, inputs or path");
    KILN_CHECK(kiln__context_check(ctx, err));
    KILN_CHECK(KILN_READ_OPTIONS(kiln_module_options, o, opts, err));
    if ((o->compiler_options == NULL && o->compiler_option_count != 0) ||
        (o->names == NULL && o->name_count != 0))
        return kiln__fail(err, KILN_ERR_NULL,
                          "%s: a list of the options is NULL, and its count is not 0", what);
    return KILN_OK;
}

kiln_status kiln_module_create(kiln_context *ctx, const char *source,
                               const kiln_module_options *opts, kiln_module **out, kiln_error *err)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    KILN_CHECK(begin(ctx, source, "kiln_module_create", opts, &o, out, err));
    return create(ctx, &(origin){.source = source}, o.name != NULL ? o.name : "module", &o, out,
                  err);
}

kiln_status kiln_module_create_from_image(kiln_context *ctx, const void *image, size_t bytes,
                                          const kiln_module_options *opts, kiln_module **out,
                                          kiln_error *err)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    KILN_CHECK(begin(ctx, image, "kiln_module_create_from_image", opts, &o, out, err));
    return create(ctx, &(origin){.image = image, .bytes = bytes},
                  o.name != NULL ? o.name : "module", &o, out, err);
}

kiln_status kiln_module_create_linked(kiln_context *ctx, const kiln_module_input *inputs,
                                      size_t count, const kiln_module_options *opts,
                                      kiln_module **out, kiln_error *err)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    KILN_CHECK(begin(ctx, inputs, "kiln_module_create_linked", opts, &o, out, err));
    return create(ctx, &(origin){.inputs = inputs, .bytes = count},
                  o.name != NULL ? o.name : "module", &o, out, err);
}

/* Source that is read from a file finds what lies beside it. */
static kiln_status create_from_text(kiln_context *ctx, const char *path, const char *text,
                                    const char *name, const kiln_module_options *o,
                                    kiln_module **out, kiln_error *err)
{
    kiln_module_options with = *o;
    const char *slash = strrchr(path, '/');
    kiln__buf folder = KILN__BUF_INIT;
    const char **options = NULL;
    KILN_CHECK(kiln__make_room(&options, (o->compiler_option_count + 1) * sizeof *options, err));
    for (size_t k = 0; k < o->compiler_option_count; k++)
        options[k] = o->compiler_options[k];
    if (strstr(text, "include") != NULL) {
        kiln__buf_puts(&folder, "-I");
        kiln__buf_put(&folder, slash != NULL ? path : ".",
                      slash != NULL ? (size_t)(slash - path) + 1 : 1);
        options[with.compiler_option_count++] = folder.text;
    }
    with.compiler_options = options;
    kiln_status status = folder.failed
                             ? kiln__fail_memory(err, strlen(path))
                             : create(ctx, &(origin){.source = text}, name, &with, out, err);
    kiln__buf_clear(&folder);
    kiln__free(options);
    return status;
}

kiln_status kiln_module_create_from_file(kiln_context *ctx, const char *path,
                                         const kiln_module_options *opts, kiln_module **out,
                                         kiln_error *err)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln__image_kind kind = KILN__IMAGE_NONE;
    kiln_error why = KILN_ERROR_INIT;
    char *data = NULL;
    size_t bytes = 0;
    KILN_CHECK(begin(ctx, path, "kiln_module_create_from_file", opts, &o, out, err));
    const int bad = kiln__read_regular_file(path, KILN__IMAGE_BYTES_MAX, &data, &bytes);
    if (bad != 0)
        return kiln__fail(err, KILN_ERR_IO, "%.300s: %s", path, strerror(bad));
    const char *base = strrchr(path, '/');
    const char *name = o.name != NULL ? o.name : base != NULL ? base + 1 : path;
    kiln_status status = kiln__image_check(data, bytes, &kind, &why);
    if (status != KILN_OK && strlen(data) == bytes)
        status = create_from_text(ctx, path, data, name, &o, out, err);
    else if (status == KILN_OK)
        status = create(ctx, &(origin){.image = data, .bytes = bytes}, name, &o, out, err);
    else
        status = kiln__fail(err, status, "%.300s: %s", path, why.message);
    kiln__free(data);
    return status;
}

const char *kiln_module_log(const kiln_module *m)
{
    return m != NULL && m->magic == KILN__MODULE_MAGIC && m->loaded->log != NULL ? m->loaded->log
                                                                                 : "";
}

void kiln_module_destroy(kiln_module *m)
{
    if (m == NULL || m->magic != KILN__MODULE_MAGIC || kiln__context_forked(m->loaded->ctx))
        return;
    m->magic = KILN__MODULE_DEAD;
    kiln_context *const ctx = kiln_context_retain(m->loaded->ctx);
    kiln__loaded_release(m->loaded);
    m->loaded = NULL;
    kiln__context_bury(ctx, m, NULL);
    kiln_context_release(ctx);
}

KILN_DEFINE_OPTIONS_INIT(kiln_module_options)

/* ---- variables ---- */

static void release_symbol(void *owner, void *data)
{
    (void)data;
    kiln__loaded_release(owner);
}

/* Where a variable is: by its name, or by what it is called among the names that were wanted. */
static kiln_status find_symbol(const kiln__loaded *l, const char *name, void **address_out,
                               size_t *bytes_out, bool *read_only_out, kiln_error *err)
{
    const bool cpu = kiln__device_info(l->device)->backend == KILN_BACKEND_CPU;
    const char *plain = name[0] == '&' ? name + 1 : name, *symbol = plain;
    kiln__buf text = KILN__BUF_INIT;
    bool named = false;

    for (size_t k = 0; l->def != NULL && k < l->def->name_count && !named; k++) {
        named = l->def->names[k][0] == '&' && kiln__same_name(l->def->names[k] + 1, plain);
        if (named && cpu)
            kiln__buf_printf(&text, "kiln__named_%zu", k);
        else if (named)
            symbol = kiln__names_get(l->blob->data, l->blob->bytes, l->def->name_count, k, NULL);
    }
    if (!named && cpu)
        kiln__buf_printf(&text, "kiln__variable_%s", plain);
    kiln_status status = text.failed ? kiln__fail_memory(err, strlen(name))
                                     : kiln__raw_symbol(l->module, cpu ? text.text : symbol,
                                                        address_out, bytes_out, read_only_out, err);
    kiln__buf_clear(&text);
    return status != KILN_ERR_NAME
               ? status
               : kiln__fail(err, KILN_ERR_NAME, "module \"%.60s\" has no variable \"%.200s\"",
                            l->name, name);
}

kiln_status kiln_module_symbol(kiln_module *m, const char *name, kiln_dtype dtype, kiln_array **out,
                               kiln_error *err)
{
    void *address = NULL;
    size_t bytes = 0;
    bool read_only = false;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(m, err);
    KILN_CHECK_NULL(name, err);
    if (m->magic != KILN__MODULE_MAGIC)
        return kiln__context_released("module", err);
    const kiln__loaded *l = m->loaded;
    KILN_CHECK(kiln__context_check(l->ctx, err));
    KILN_CHECK(find_symbol(l, name, &address, &bytes, &read_only, err));
    const size_t itemsize = kiln_dtype_size(dtype);
    if (itemsize == 0 || bytes % itemsize != 0)
        return kiln__fail(err, KILN_ERR_DTYPE,
                          "module \"%.60s\": the %zu bytes of \"%.100s\" are no whole number of %s",
                          l->name, bytes, name,
                          itemsize == 0 ? "elements" : kiln_dtype_name(dtype));
    const int64_t shape[] = {(int64_t)(bytes / itemsize)};
    KILN_CHECK(kiln_array_wrap(l->ctx, dtype, 1, shape, NULL, address, NULL, bytes, release_symbol,
                               m->loaded, out, err));
    (void)kiln__loaded_retain(m->loaded);
    if (read_only)
        kiln__array_make_read_only(*out);
    return KILN_OK;
}
