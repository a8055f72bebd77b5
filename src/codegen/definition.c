/*
 * definition.c - a checked definition from the texts that a user gives.
 *
 *     [definition: name > signature > scan] > bind types > plan > emit
 *
 * Everything is copied first, so that messages and later stages can point into the texts.
 *
 * The families of src/kernel, src/module and src/warm call this file. Tests: test_signature,
 * test_record.
 */
#include "codegen/lexer.h"

/* Longest text of one snippet, and longest kernel name. */
#define SNIPPET_BYTES_MAX ((size_t)8 << 20)
#define NAME_BYTES_MAX 255

/* What all texts that were not given share. */
static char nothing[1];

static kiln_status check_kernel_name(const char *name, kiln_error *err)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return kiln__fail(err, KILN_ERR_NAME,
                          "a kernel's name of %zu bytes is too long (at most %d)", strlen(name),
                          NAME_BYTES_MAX);
    if (!kiln__is_identifier(name))
        return kiln__fail(err, KILN_ERR_NAME, "the kernel name \"%s\" is no C identifier", name);
    if (kiln__is_cpp_keyword(name))
        return kiln__fail(err, KILN_ERR_NAME, "the kernel name \"%s\" is a keyword of C++", name);
    return KILN_OK;
}

static kiln_status copy_text(const char *text, char **out, kiln_error *err)
{
    *out = kiln__strdup(text);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, strlen(text) + 1);
}

/* Copies of some texts; `*count_out` is how many there are, whatever is returned. */
static kiln_status copy_list(const char *const *list, size_t count, const char *name,
                             const char *what, char ***out, size_t *count_out, kiln_error *err)
{
    if (count == 0)
        return KILN_OK;
    if (list == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": the list of %ss is NULL", name, what);
    KILN_CHECK(kiln__make_zeroed(out, count, sizeof **out, err));
    for (; *count_out < count; (*count_out)++) {
        const char *text = list[*count_out];
        KILN_CHECK(text != NULL
                       ? copy_text(text, &(*out)[*count_out], err)
                       : kiln__fail(err, KILN_ERR_NULL, "kernel \"%s\": compiler %s %zu is NULL",
                                    name, what, *count_out + 1));
    }
    return KILN_OK;
}

static kiln_status copy_request(const kiln__definition_request *request, kiln__definition *def,
                                kiln_error *err)
{
    KILN_CHECK(copy_text(request->name != NULL ? request->name : def->family->kernel_name,
                         &def->name, err));
    KILN_CHECK(copy_text(request->in, &def->signature[0], err));
    KILN_CHECK(kiln__row_outputs_join(request, &def->signature[1], err));
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++) {
        const char *text = kiln__row_text(request, (kiln__snippet_kind)k);
        text = text != NULL ? text : request->snippet[k];
        def->snippet[k] = nothing;
        if (text == NULL || text[0] == '\0')
            continue;
        if (strlen(text) > SNIPPET_BYTES_MAX)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "kernel \"%s\": %s is %zu bytes long (at most %zu)", def->name,
                              kiln__snippet_name((kiln__snippet_kind)k), strlen(text),
                              SNIPPET_BYTES_MAX);
        KILN_CHECK(copy_text(text, &def->snippet[k], err));
        KILN_CHECK(kiln__includes_blank(def->snippet[k], err));
    }
    def->keep_axes = request->keep_axes;
    memcpy(def->part_bytes, request->part_bytes, sizeof def->part_bytes);
    def->batching = request->batching;
    def->module = request->module;
    KILN_CHECK(copy_list(request->options, request->option_count, def->name, "option",
                         &def->options, &def->option_count, err));
    KILN_CHECK(copy_list(request->names, request->name_count, def->name, "name", &def->names,
                         &def->name_count, err));
    if (def->family->copy != NULL)
        KILN_CHECK(def->family->copy(request, def, err));
    return KILN_OK;
}

/* The texts that every definition of its kind has. */
static kiln_status check_texts(const kiln__definition_request *request, const kiln__family *family,
                               kiln_error *err)
{
    const struct {
        const char *text, *what;
        bool needed;
    } texts[] = {
        {request->in, "input signature", true},
        {request->out, "output signature", true},
        {request->snippet[KILN__SNIPPET_OP], "op snippet", !family->maps},
        {request->snippet[KILN__SNIPPET_MAP], "map expression", family->maps},
        {request->snippet[KILN__SNIPPET_REDUCE], "reduce expression", family->maps},
        {request->snippet[KILN__SNIPPET_POST], "post snippet", family->maps},
    };
    for (size_t k = 0; k < KILN_COUNT_OF(texts); k++)
        if (texts[k].needed && texts[k].text == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "the %s of a kernel definition is NULL",
                              texts[k].what);
    return KILN_OK;
}

/* Where elements meet, each result has its place: there is an output, and none is raw. */
static kiln_status check_outputs(const kiln__definition *def, kiln_error *err)
{
    if (def->param_count == def->input_count)
        return kiln__fail(err, KILN_ERR_SYNTAX, "kernel \"%s\" has no output", def->name);
    for (size_t p = def->input_count; p < def->param_count; p++)
        if (def->params[p].raw)
            return kiln__fail(err, KILN_ERR_SYNTAX,
                              "kernel \"%s\": output `%s` of a %s cannot be raw", def->name,
                              def->params[p].name, def->family->noun);
    return KILN_OK;
}

static kiln_status create(const kiln__definition_request *request, kiln__definition **out,
                          kiln_error *err)
{
    const kiln__family *family = request->family != NULL ? request->family : &kiln__family_loop;
    kiln_status status = KILN_OK;
    kiln__definition *def = NULL;

    *out = NULL;
    KILN_CHECK(check_texts(request, family, err));
    KILN_CHECK(kiln__make_zeroed(&def, 1, sizeof *def, err));
    atomic_init(&def->references, 1);
    def->family = family;
    if (request->name != NULL && !request->module)
        KILN_TRY(check_kernel_name(request->name, err));
    KILN_TRY(copy_request(request, def, err));
    KILN_TRY(kiln__signature_parse(def, err));
    if (family->combines)
        KILN_TRY(check_outputs(def, err));
    if (family->check != NULL)
        KILN_TRY(family->check(request, def, err));
    KILN_TRY(kiln__scan_definition(def, err));

    *out = def;
    def = NULL;

done:
    kiln__definition_destroy(def);
    return status;
}

kiln_status kiln__definition_create(const kiln__definition_request *request, kiln__definition **out,
                                    kiln_error *err)
{
    kiln__definition_request widened = *request;
    const char **const texts[] = {&widened.in, &widened.out, &widened.row_out};
    char *own[KILN_COUNT_OF(texts)] = {NULL};
    kiln_status status = KILN_OK;

    *out = NULL;
    for (size_t k = 0; request->numpy_types && k < KILN_COUNT_OF(texts); k++) {
        if (*texts[k] == NULL)
            continue;
        KILN_TRY(kiln__signature_widen(*texts[k], &own[k], err));
        *texts[k] = own[k];
    }
    status = create(&widened, out, err);

done:
    for (size_t k = 0; k < KILN_COUNT_OF(texts); k++)
        kiln__free(own[k]);
    return status;
}

kiln__definition *kiln__definition_retain(kiln__definition *def)
{
    atomic_fetch_add_explicit(&def->references, 1, memory_order_relaxed);
    return def;
}

void kiln__definition_destroy(kiln__definition *def)
{
    if (def == NULL || atomic_fetch_sub(&def->references, 1) != 1)
        return;
    for (size_t k = 0; k < def->param_count; k++)
        kiln__free(def->params[k].name);
    for (size_t k = 0; k < def->option_count; k++)
        kiln__free(def->options[k]);
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        if (def->snippet[k] != nothing)
            kiln__free(def->snippet[k]);
    if (def->family->clear != NULL)
        def->family->clear(def);
    kiln__free(def->params);
    kiln__free(def->options);
    for (size_t k = 0; k < def->name_count; k++)
        kiln__free(def->names[k]);
    kiln__free(def->names);
    kiln__free(def->words.items);
    kiln__free(def->header_words.items);
    kiln__free(def->declared.items);
    kiln__free(def->included);
    kiln__free(def->signature[0]);
    kiln__free(def->signature[1]);
    kiln__free(def->name);
    kiln__free(def->copied);
    kiln__free(def->template_file);
    kiln__free(def);
}
