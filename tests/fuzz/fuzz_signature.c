/*
 * fuzz_signature.c - definitions, bindings and diagnoses of arbitrary text.
 *
 * An input is texts with NULs between: inputs, outputs, op, preamble, loop_prep, after_loop, kernel
 * name, one compiler option, a compiler's log. Those at the end may be missing.
 *
 * What must hold: a definition is whole or not there; a refusal has a message of one line; words
 * are sorted; what is bound is a dtype. Everything else is up to the sanitizers.
 */
#include <stdlib.h>

#include "codegen/codegen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum {
    TEXT_IN,
    TEXT_OUT,
    TEXT_OP,
    TEXT_PREAMBLE,
    TEXT_LOOP_PREP,
    TEXT_AFTER_LOOP,
    TEXT_NAME,
    TEXT_OPTION,
    TEXT_LOG,
    TEXT_COUNT
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Cut `copy`, which ends in a NUL, into texts; those that are missing are NULL. */
static void cut(char *copy, size_t bytes, const char **texts)
{
    size_t at = 0;

    for (int k = 0; k < TEXT_COUNT; k++) {
        texts[k] = at <= bytes ? copy + at : NULL;
        at += at <= bytes ? strlen(copy + at) + 1 : 0;
    }
}

static void check_error(kiln_error *err, kiln_status status)
{
    require(status != KILN_OK && err->status == status);
    require(err->message[0] != '\0' && strchr(err->message, '\n') == NULL);
    kiln_error_clear(err);
}

static void check_definition(const kiln__definition *def)
{
    require(def->param_count <= KILN_PARAM_MAX && def->input_count <= def->param_count);
    for (size_t k = 0; k < def->param_count; k++) {
        const kiln__param *p = &def->params[k];
        require((p->placeholder != 0) != (p->dtype != KILN_DTYPE_NONE));
        require(p->output == (k >= def->input_count) && (p->output || !p->read_first));
        require(p->column + (size_t)p->width <= strlen(def->signature[p->output ? 1 : 0]));
        for (size_t j = 0; j < k; j++)
            require(strcmp(def->params[j].name, p->name) != 0);
    }
    for (size_t k = 0; k < def->words.count; k++) {
        require(k == 0 || strcmp(def->words.items[k - 1], def->words.items[k]) < 0);
        require(kiln__definition_uses(def, def->words.items[k]));
    }
}

/* Bind with arguments whose kinds and values come from `seed`. */
static void check_types(const kiln__definition *def, uint64_t seed)
{
    kiln__given given[KILN_PARAM_MAX];
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;

    memset(given, 0, sizeof given);
    for (size_t k = 0; k < def->param_count; k++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        given[k].kind = (kiln__given_kind)((seed >> 33) % (KILN__GIVEN_COMPLEX + 1));
        given[k].dtype = (kiln_dtype)((seed >> 40) % (KILN_DTYPE_COUNT - 1) + 1);
        if (given[k].kind == KILN__GIVEN_BOOL)
            given[k].value.b = (seed >> 50 & 1) != 0;
        else
            given[k].value.u = seed >> (seed >> 58);
    }
    status = kiln__bind_types(def, given, dtypes, &err);
    if (status != KILN_OK) {
        check_error(&err, status);
        return;
    }
    for (size_t k = 0; k < def->param_count; k++)
        require(kiln_dtype_size(dtypes[k]) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *texts[TEXT_COUNT];
    kiln__definition_request request = {0};
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = KILN_OK;
    char *copy = malloc(bytes + 1);

    if (copy == NULL)
        return 0;
    if (bytes != 0)
        memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    cut(copy, bytes, texts);
    request.in = texts[TEXT_IN];
    request.out = texts[TEXT_OUT];
    request.name = texts[TEXT_NAME];
    request.options = &texts[TEXT_OPTION];
    request.option_count = texts[TEXT_OPTION] != NULL;
    request.snippet[KILN__SNIPPET_OP] = texts[TEXT_OP];
    request.snippet[KILN__SNIPPET_PREAMBLE] = texts[TEXT_PREAMBLE];
    request.snippet[KILN__SNIPPET_LOOP_PREP] = texts[TEXT_LOOP_PREP];
    request.snippet[KILN__SNIPPET_AFTER_LOOP] = texts[TEXT_AFTER_LOOP];
    status = kiln__definition_create(&request, &def, &err);
    require((status == KILN_OK) == (def != NULL));
    if (def == NULL) {
        check_error(&err, status);
    } else {
        check_definition(def);
        check_types(def, kiln__hash_64(data, bytes));
        check_error(&err,
                    kiln__diagnose(def, def->snippet[KILN__SNIPPET_OP], texts[TEXT_LOG], &err));
        kiln__definition_destroy(def);
    }
    free(copy);
    return 0;
}
