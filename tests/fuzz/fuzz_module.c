/*
 * fuzz_module.c - images, names behind binaries, sources and signatures of modules on any bytes at all.
 *
 * The first byte says what the rest is. Seeds in corpus/module are made by ../data/make_module.py.
 */
#include <stdlib.h>

#include "module/module.h"
#include "promise.h"

/* In memory of exactly its size and a NUL, so that the sanitizer sees each byte too many. */
static char *ended(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);

    PROMISE(text != NULL);
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

static void try_image(const char *data, size_t bytes)
{
    kiln__image_kind kind = KILN__IMAGE_NONE;
    kiln_error err = KILN_ERROR_INIT;
    kiln__raw_param params[KILN__RAW_PARAMS_MAX];
    const char *kernel = NULL;
    size_t count = 0;
    const kiln_status status = kiln__image_check(data, bytes, &kind, &err);

    PROMISE((status == KILN_OK) == (kind != KILN__IMAGE_NONE));
    PROMISE(status == KILN_OK || (status == KILN_ERR_FORMAT && err.message[0] != '\0'));
    for (size_t k = 0; k < 8 && (kernel = kiln__cubin_kernel(data, bytes, k)) != NULL; k++) {
        PROMISE(kernel >= data && kernel + strlen(kernel) < data + bytes);
        if (kiln__cubin_params(data, bytes, kernel, params, &count, NULL) != KILN_OK)
            PROMISE(count == 0);
        PROMISE(count <= KILN__RAW_PARAMS_MAX);
        for (size_t p = 0; p < count; p++)
            PROMISE(params[p].bytes > 0);
    }
    (void)kiln__cubin_params(data, bytes, "f", params, &count, NULL);
    kiln_error_clear(&err);
}

static void try_names(const char *data, size_t bytes)
{
    size_t inner = bytes;
    const char *log = kiln__log_get(data, bytes, &inner);

    PROMISE(log == NULL || (log > data + inner && log + strlen(log) < data + bytes));
    for (size_t count = 1; count < 4; count++)
        for (size_t k = 0; k < count; k++) {
            size_t image = bytes;
            const char *name = kiln__names_get(data, bytes, count, k, &image);
            PROMISE(name == NULL || (name >= data + image && name[0] != '\0' &&
                                     name + strlen(name) < data + bytes));
        }
}

/* A source for the cpu holds all of what was given, and nothing is put into it but objects. */
static void try_source(const char *text)
{
    static const char *const names[] = {"f<int>", "&t"};
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;

    if (kiln__module_definition("m", text, NULL, 0, names, 2, &def, NULL) != KILN_OK)
        return;
    if (kiln__module_emit(def, KILN_BACKEND_CPU, &source, NULL) == KILN_OK)
        PROMISE(source.bytes == strlen(source.text));
    kiln__source_clear(&source);
    PROMISE(kiln__module_emit(def, KILN_BACKEND_CUDA, &source, NULL) == KILN_OK);
    PROMISE(strstr(source.text, def->snippet[KILN__SNIPPET_SOURCE]) != NULL);
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
}

static void try_signature(const char *text)
{
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__module_signature("k<int>", text, &def, &err) == KILN_OK)
        PROMISE(def->param_count == def->input_count && def->param_count <= KILN_PARAM_MAX);
    else
        PROMISE(err.message[0] != '\0' && def == NULL);
    kiln__definition_destroy(def);
    kiln_error_clear(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    char *text = ended(data + 1, bytes - 1);
    switch (data[0]) {
    case 'i':
        try_image(text, bytes - 1);
        break;
    case 'n':
        try_names(text, bytes - 1);
        break;
    case 's':
        try_source(text);
        break;
    default:
        try_signature(text);
        (void)kiln__same_name(text, "axpy<unsigned int, 4>");
        break;
    }
    free(text);
    return 0;
}
