/*
 * module_text.c - sources of the user's own as the compilers get them.
 *
 *     source, names  >  [module_text]  >  NVRTC: as it is            > image with the names behind it
 *                                      >  C++ compiler: with objects > shared object
 *
 * For CUDA a source is left alone. Plain C++ lacks CUDA's words, which the prelude has, and a compiler
 * that tells what became of a name; so for the cpu each kernel and variable of the source is followed
 * by a macro (templates/module/begin.cpp) that defines an object with what a launch must know.
 *
 * Rule 1: a macro goes behind the definition itself, on the same line: the lines of messages stay
 *         true, and what an #if leaves out has no object.
 * Rule 2: only what stands at file scope, or in an extern "C" block there, is found. Template
 *         instances, overloads and what stands in namespaces is wanted by name.
 *
 * src/kernel, src/module and src/warm call this file. Test: test_module.
 */
#include "codegen/lexer.h"
#include "codegen/prelude.h"
#include "codegen/template.h"

enum { NAMES_MAX = 1024, NAME_BYTES_MAX = 1000 };

/* ---- definitions ---- */

/* A name is shown in a comment of the source, so that it is part of the key: one line. */
static kiln_status check_names(const char *module, const char *const *names, size_t count,
                               kiln_error *err)
{
    if (count > NAMES_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "module \"%s\": %zu names (at most %d)", module,
                          count, NAMES_MAX);
    for (size_t k = 0; names != NULL && k < count; k++) {
        if (names[k] == NULL)
            continue; /* the definition refuses it */
        if (names[k][0] == '\0' || strlen(names[k]) > NAME_BYTES_MAX)
            return kiln__fail(err, KILN_ERR_NAME, "module \"%s\": name %zu has %zu bytes (1 to %d)",
                              module, k + 1, strlen(names[k]), NAME_BYTES_MAX);
        for (const char *c = names[k]; *c != '\0'; c++)
            if ((unsigned char)*c < ' ' || *c == '\\')
                return kiln__fail(err, KILN_ERR_NAME,
                                  "module \"%s\": name %zu holds a control character or a "
                                  "backslash",
                                  module, k + 1);
    }
    return KILN_OK;
}

kiln_status kiln__module_definition(const char *name, const char *source,
                                    const char *const *options, size_t option_count,
                                    const char *const *names, size_t name_count,
                                    kiln__definition **out, kiln_error *err)
{
    const kiln__definition_request request = {
        .name = name,
        .in = "",
        .out = "",
        .snippet = {[KILN__SNIPPET_OP] = "", [KILN__SNIPPET_SOURCE] = source},
        .options = options,
        .option_count = option_count,
        .module = true,
        .names = names,
        .name_count = name_count};
    kiln_status status = check_names(name, names, name_count, err);

    *out = NULL;
    if (status == KILN_OK)
        status = kiln__definition_create(&request, out, err);
    if (status == KILN_OK)
        (*out)->module_prelude = strcmp((*out)->snippet[KILN__SNIPPET_SOURCE], source) != 0;
    return status;
}

kiln_status kiln__module_signature(const char *kernel, const char *text, kiln__definition **out,
                                   kiln_error *err)
{
    const kiln__definition_request request = {.name = kernel,
                                              .in = text,
                                              .out = "",
                                              .snippet = {[KILN__SNIPPET_OP] = ""},
                                              .module = true};

    return kiln__definition_create(&request, out, err);
}

/* ---- what a source defines ---- */

/* One declaration at file scope, as far as it has been read. */
typedef struct declaration {
    bool any, is_template, is_kernel, is_variable, is_namespace, has_value;
    size_t function, variable; /* tokens that are the names; 0: none so far */
} declaration;

static bool is_any_of(const kiln__tokens *t, size_t nth, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (kiln__token_is(t, nth, words[k]))
            return true;
    return false;
}

/* Behind the bracket that closes the one at token `k`; t->count where none does. */
static size_t behind_close(const kiln__tokens *t, size_t k)
{
    static const char *const opening[] = {"(", "[", "{"}, *const closing[] = {")", "]", "}"};
    size_t depth = 0;

    for (; k < t->count; k++) {
        if (t->items[k].directive != 0)
            continue;
        if (is_any_of(t, k, opening, KILN_COUNT_OF(opening)))
            depth++;
        else if (is_any_of(t, k, closing, KILN_COUNT_OF(closing)) && --depth == 0)
            return k + 1;
    }
    return t->count;
}

/* Behind the '>' that closes the '<' at token `k`. */
static size_t behind_angle(const kiln__tokens *t, size_t k)
{
    size_t depth = 0;

    for (; k < t->count; k++) {
        if (kiln__token_is(t, k, "<"))
            depth++;
        else if (kiln__token_is(t, k, ">>"))
            depth -= depth > 1 ? 2 : 1;
        else if (kiln__token_is(t, k, ">"))
            depth--;
        if (depth == 0)
            return k + 1;
    }
    return t->count;
}

/* Whether '(' at token `k` begins what an attribute takes, and no parameters. */
static bool is_attribute(const kiln__tokens *t, size_t k)
{
    static const char *const words[] = {"__launch_bounds__", "__cluster_dims__", "__attribute__",
                                        "__block_size__",    "__maxnreg__",      "__align__",
                                        "alignas",           "decltype",         "noexcept"};

    return k == 0 || t->items[k - 1].kind != KILN__TOKEN_WORD ||
           is_any_of(t, k - 1, words, KILN_COUNT_OF(words));
}

/* Read token `k` into a declaration; returns the next one to be read. `*ends`: the declaration ends
 * before that. */
static size_t read_token(const kiln__tokens *t, size_t k, declaration *d, bool *ends)
{
    static const char *const device[] = {"__device__", "__constant__", "__managed__"};

    *ends = kiln__token_is(t, k, ";");
    d->any = true;
    d->is_template |= kiln__token_is(t, k, "template");
    d->is_kernel |= kiln__token_is(t, k, "__global__");
    d->is_variable |= is_any_of(t, k, device, KILN_COUNT_OF(device));
    d->is_namespace |= kiln__token_is(t, k, "namespace");
    d->has_value |= kiln__token_is(t, k, "=");
    if (kiln__token_is(t, k, "("))
        d->function =
            d->function != 0 || d->variable != 0 || is_attribute(t, k) ? d->function : k - 1;
    else if (d->variable == 0 && k != 0 && t->items[k - 1].kind == KILN__TOKEN_WORD &&
             (*ends || kiln__token_is(t, k, "[") || kiln__token_is(t, k, "=") ||
              kiln__token_is(t, k, "{") || kiln__token_is(t, k, ",")))
        d->variable = k - 1;
    if (kiln__token_is(t, k, "<") && k != 0 && t->items[k - 1].kind == KILN__TOKEN_WORD)
        return behind_angle(t, k);
    if (kiln__token_is(t, k, "(") || kiln__token_is(t, k, "["))
        return behind_close(t, k);
    if (kiln__token_is(t, k, "{")) {
        *ends = (d->function != 0 && !d->has_value) || d->is_namespace;
        return behind_close(t, k);
    }
    return k + 1;
}

/* Whether tokens k and k + 1 are `extern "C"` before a '{'. */
static bool opens_linkage(const kiln__tokens *t, size_t k)
{
    return k + 2 < t->count && kiln__token_is(t, k, "extern") &&
           t->items[k + 1].kind == KILN__TOKEN_TEXT && kiln__token_is(t, k + 2, "{");
}

/* A kernel or a variable that a source defines. */
typedef struct entity {
    bool kernel;
    bool conditional; /* between an #if and its #endif */
    size_t name;      /* token */
    size_t end;       /* byte behind the definition */
} entity;

/* Follow #if and #endif: `*depth` is how many are open at token `k`. */
static void follow_condition(const kiln__tokens *t, size_t k, size_t *depth)
{
    if (!kiln__token_is_directive(t, k))
        return;
    if (strncmp(kiln__token_text(t, k), "if", 2) == 0)
        (*depth)++;
    else if (kiln__token_is(t, k, "endif") && *depth != 0)
        (*depth)--;
}

/* Go through the tokens; room for as many entities as there are tokens. Returns how many were found. */
static size_t find_entities(const kiln__tokens *t, entity *found)
{
    declaration d = {.any = false};
    size_t count = 0, depth = 0;

    for (size_t k = 0; k < t->count;) {
        bool ends = false;
        if (t->items[k].directive != 0) {
            follow_condition(t, k++, &depth);
            continue;
        }
        if (!d.any && (opens_linkage(t, k) || kiln__token_is(t, k, "}"))) {
            k += kiln__token_is(t, k, "}") ? 1 : 3; /* of a block of linkage */
            continue;
        }
        const bool body = kiln__token_is(t, k, "{");
        k = read_token(t, k, &d, &ends);
        if (!ends)
            continue;
        const bool kernel = d.is_kernel && d.function != 0 && body;
        const bool variable = d.is_variable && !d.is_kernel && d.function == 0 && d.variable != 0;
        if (!d.is_template && !d.is_namespace && (kernel || variable))
            found[count++] = (entity){kernel, depth != 0, kernel ? d.function : d.variable,
                                      t->items[k - 1].at + t->items[k - 1].bytes};
        d = (declaration){.any = false};
    }
    return count;
}

/* Whether the name is given to something else as well: an overload, which only a name that says
 * which one can mean. Of those in conditions a compiler may see but one. */
static bool is_overloaded(const kiln__tokens *t, const entity *found, size_t count, size_t nth)
{
    for (size_t k = 0; k < count; k++)
        if (k != nth && !found[k].conditional && !found[nth].conditional &&
            strcmp(kiln__token_text(t, found[k].name), kiln__token_text(t, found[nth].name)) == 0)
            return true;
    return false;
}

/* The source with an object behind each kernel and variable. */
static void put_with_objects(const char *source, kiln__buf *out)
{
    size_t done = 0, count = 0;
    kiln__tokens t;

    kiln__lex(source, KILN__LEX_CPP, &t);
    entity *found = kiln__alloc((t.count + 1) * sizeof *found);
    if (found != NULL && !t.failed)
        count = find_entities(&t, found);
    for (size_t k = 0; k < count; k++) {
        const char *name = kiln__token_text(&t, found[k].name);
        if (is_overloaded(&t, found, count, k))
            continue;
        kiln__buf_put(out, source + done, found[k].end - done);
        if (found[k].kernel)
            kiln__buf_printf(out, " KILN__MODULE_KERNEL(kiln__kernel_%s, %s)", name, name);
        else
            kiln__buf_printf(out, " KILN__MODULE_VARIABLE(kiln__variable_%s, &%s)", name, name);
        done = found[k].end;
    }
    out->failed = out->failed || t.failed || found == NULL;
    kiln__buf_puts(out, source + done);
    kiln__free(found);
    kiln__tokens_clear(&t);
}

/* ---- emission ---- */

/* The cache lists its entries by what stands behind `kernel`. */
static void put_title(const kiln__definition *def, kiln__buf *out)
{
    kiln__buf_printf(out, "// kiln %s: module; kernel \"%s\"\n", kiln_version(),
                     def->name_count != 0 ? def->names[0] : "module");
    for (size_t k = 0; k < def->name_count; k++)
        kiln__buf_printf(out, "// name: %s\n", def->names[k]);
}

/* The templates of modules ask for nothing. */
static bool no_value(void *state, const char *name, size_t bytes, kiln__buf *out)
{
    (void)state;
    (void)name;
    (void)bytes;
    (void)out;
    return false;
}

static int no_test(void *state, const char *name, size_t bytes)
{
    (void)state;
    (void)name;
    (void)bytes;
    return -1;
}

static int no_item(void *state, const char *list, size_t bytes, int nth)
{
    (void)nth;
    return no_test(state, list, bytes);
}

kiln_status kiln__module_template(const char *path, kiln__buf *out, kiln_error *err)
{
    const kiln__template_env env = {NULL, no_value, no_test, no_item};
    KILN_CHECK(kiln__template_expand(path, &env, out, err));
    return out->failed ? kiln__fail_memory(err, out->length) : KILN_OK;
}

static void put_macros(const kiln__definition *def, kiln__buf *out)
{
    char *macros = kiln__definition_macros(def);

    kiln__buf_puts(out, macros != NULL ? macros : "");
    out->failed = out->failed || macros == NULL;
    kiln__free(macros);
}

static void put_source(const kiln__definition *def, const kiln__variant *v, kiln__buf *out)
{
    kiln__buf text = KILN__BUF_INIT;

    kiln__buf_printf(out, "#line 1 \"%s\"\n", kiln__snippet_name(KILN__SNIPPET_SOURCE));
    if (v->backend == KILN_BACKEND_CUDA) {
        kiln__buf_puts(out, def->snippet[KILN__SNIPPET_SOURCE]);
    } else {
        put_with_objects(def->snippet[KILN__SNIPPET_SOURCE], &text);
        if (!text.failed && text.text != NULL)
            (void)kiln__guard_put(def, v, text.text, out);
        out->failed = out->failed || text.failed;
    }
    kiln__buf_clear(&text);
    kiln__buf_putc(out, '\n');
}

/* What is wanted by name on the cpu; NVRTC is told in another way. */
static void put_names(const kiln__definition *def, kiln__buf *out)
{
    kiln__buf_puts(out, "#line 1 \"names\"\n");
    for (size_t k = 0; k < def->name_count; k++)
        kiln__buf_printf(out, "KILN__MODULE_%s(kiln__named_%zu, %s)\n",
                         def->names[k][0] == '&' ? "VARIABLE" : "KERNEL", k, def->names[k]);
}

kiln_status kiln__module_emit(const kiln__definition *def, kiln_backend backend, kiln__source *out,
                              kiln_error *err)
{
    const bool cpu = backend == KILN_BACKEND_CPU;
    const kiln__variant v = {.family = &kiln__family_loop,
                             .backend = (uint8_t)backend,
                             .layout = KILN__LAYOUT_LINEAR,
                             .rank = 1,
                             .index_bits = 64,
                             .vec = 1,
                             .unroll = 1};
    const kiln__template_env env = {NULL, no_value, no_test, no_item};
    kiln__buf text = KILN__BUF_INIT;
    kiln_status status = KILN_OK;

    *out = (kiln__source)KILN__SOURCE_INIT;
    if (cpu && def->cuda_only)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "module \"%s\" uses `%s`, which only a CUDA device has", def->name,
                          def->cuda_only_word);
    put_title(def, &text);
    if (cpu || def->module_prelude)
        kiln__prelude_put(def, &v, &text);
    if (cpu)
        status = kiln__template_expand("module/begin.cpp", &env, &text, err);
    put_macros(def, &text);
    put_source(def, &v, &text);
    if (cpu)
        put_names(def, &text);
    if (status == KILN_OK && text.failed)
        status = kiln__fail_memory(err, text.capacity);
    if (status != KILN_OK) {
        kiln__buf_clear(&text);
        return status;
    }
    out->name_count = cpu ? 0 : def->name_count;
    out->bytes = text.length;
    out->text = kiln__buf_take(&text);
    return KILN_OK;
}
