/*
 * words.c - the identifiers of a definition: used by its snippets, used by the headers that these
 * include, declared by either; and the macros that its compiler options define.
 *
 *     tokens > [words] > prelude.c: which parts are emitted
 *
 * Rule 1: a word in a comment or a literal is no use; a word in a #define body is one.
 * Rule 2: a name that a preamble or a header declares for itself, at file scope, does not call for
 *         the prelude's: `typedef unsigned char uint8;`, `#define M_PI 3.14`, `struct complex {`.
 *         Functions are none of those: the prelude's are overloads beside them.
 *
 * prelude.c, definition.c, src/jit and others ask this file. Tests: test_module, test_scan.
 */
#include <stdlib.h>

#include "codegen/lexer.h"

/* Sort `found` and keep each word once, in one block: pointers, then texts. */
static kiln_status keep_words(const char **found, size_t count, kiln__words *out, kiln_error *err)
{
    size_t kept = 0, bytes = 0;

    qsort(found, count, sizeof *found, kiln__compare_words);
    for (size_t k = 0; k < count; k++) {
        if (kept == 0 || strcmp(found[k], found[kept - 1]) != 0) {
            found[kept++] = found[k];
            bytes += strlen(found[k]) + 1;
        }
    }
    out->items = kiln__alloc((kept + 1) * sizeof *out->items + bytes);
    if (out->items == NULL)
        return kiln__fail_memory(err, (kept + 1) * sizeof *out->items + bytes);
    char *text = (char *)(out->items + kept + 1);
    for (size_t k = 0; k < kept; k++) {
        const size_t length = strlen(found[k]) + 1;
        memcpy(text, found[k], length);
        out->items[k] = text;
        text += length;
    }
    out->items[kept] = NULL;
    out->count = kept;
    return KILN_OK;
}

/* All words of some texts but for the names of directives. */
static kiln_status collect(const kiln__tokens *texts, size_t text_count, kiln__words *out,
                           kiln_error *err)
{
    size_t count = 0;

    for (size_t s = 0; s < text_count; s++)
        count += texts[s].count;
    const char **found = kiln__alloc((count + 1) * sizeof *found);
    if (found == NULL)
        return kiln__fail_memory(err, (count + 1) * sizeof *found);
    count = 0;
    for (size_t s = 0; s < text_count; s++) {
        for (size_t k = 0; k < texts[s].count; k++) {
            const char *word = kiln__word_at(&texts[s], k);
            if (word != NULL && !kiln__token_is_directive(&texts[s], k))
                found[count++] = word;
        }
    }
    const kiln_status status = keep_words(found, count, out, err);
    kiln__free(found);
    return status;
}

/* ---- operators ---- */

/* Whether `<` at token `k` opens the arguments of a template that is known by name. */
static bool opens_arguments(const kiln__tokens *t, size_t k)
{
    static const char *const names[] = {"complex",       "template",         "static_cast",
                                        "const_cast",    "reinterpret_cast", "numeric_limits",
                                        "kiln__bit_cast"};

    for (size_t n = 0; k > 0 && n < KILN_COUNT_OF(names); n++)
        if (kiln__token_is(t, k - 1, names[n]))
            return true;
    return false;
}

static bool orders_values(const kiln__tokens *t)
{
    size_t open = 0;

    for (size_t k = 0; k < t->count; k++) {
        if (kiln__token_is(t, k, "<=") || kiln__token_is(t, k, ">="))
            return true;
        if (kiln__token_is(t, k, "<")) {
            if (!opens_arguments(t, k))
                return true;
            open++;
        } else if (kiln__token_is(t, k, ">") && open-- == 0) {
            return true;
        }
    }
    return false;
}

/* ---- declarations ---- */

/* The name that the typedef at token `k` declares: the last word before its semicolon. */
static const char *typedef_name(const kiln__tokens *t, size_t k)
{
    size_t depth = 0;

    for (; k + 1 < t->count; k++) {
        depth += kiln__token_is(t, k, "{");
        depth -= kiln__token_is(t, k, "}") && depth > 0;
        if (depth == 0 && kiln__token_is(t, k + 1, ";"))
            return kiln__word_at(t, k);
    }
    return NULL;
}

static bool is_any(const kiln__tokens *t, size_t k, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (kiln__token_is(t, k, *texts))
            return true;
    return false;
}

/* What token `k` declares, at file scope, or NULL. */
static const char *declared_at(const kiln__tokens *t, size_t k)
{
    static const char *const kinds[] = {"struct", "class", "union", "enum", NULL};
    static const char *const type_ends[] = {"*", "&", ">", NULL};
    static const char *const after_type[] = {"{", ":", "final", NULL};
    static const char *const after_variable[] = {"=", "[", NULL};
    const char *word = kiln__word_at(t, k);

    if (word == NULL || t->items[k].directive != 0 || kiln__token_is_directive(t, k))
        return NULL;
    if (strcmp(word, "typedef") == 0)
        return typedef_name(t, k);
    if (k == 0 || kiln__is_cpp_keyword(word))
        return NULL;
    if (kiln__token_is(t, k - 1, "using") && kiln__token_is(t, k + 1, "="))
        return word;
    if (is_any(t, k - 1, kinds))
        return is_any(t, k + 1, after_type) ? word : NULL;
    const bool typed = kiln__word_at(t, k - 1) != NULL || is_any(t, k - 1, type_ends);
    return typed && is_any(t, k + 1, after_variable) ? word : NULL;
}

/* Note what a text declares outside all braces and parentheses but those of extern "C". */
static size_t declared_in(const kiln__tokens *t, const char **found)
{
    size_t depth = 0, linkage = 0, count = 0;

    for (size_t k = 0; k < t->count; k++) {
        if (kiln__token_is_directive(t, k) && kiln__token_is(t, k, "define") &&
            kiln__word_at(t, k + 1) != NULL)
            found[count++] = kiln__word_at(t, k + 1);
        if (t->items[k].directive != 0)
            continue;
        if (kiln__token_is(t, k, "{") && k > 1 && depth == 0 &&
            t->items[k - 1].kind == KILN__TOKEN_TEXT && kiln__token_is(t, k - 2, "extern"))
            linkage++;
        else if (kiln__token_is(t, k, "{") || kiln__token_is(t, k, "("))
            depth++;
        else if (kiln__token_is(t, k, "}") && depth == 0 && linkage > 0)
            linkage--;
        else if ((kiln__token_is(t, k, "}") || kiln__token_is(t, k, ")")) && depth > 0)
            depth--;
        const char *word = depth == 0 ? declared_at(t, k) : NULL;
        if (word != NULL)
            found[count++] = word;
    }
    return count;
}

static kiln_status collect_declared(const kiln__scan *scan, const kiln__headers *headers,
                                    kiln__words *out, kiln_error *err)
{
    const kiln__tokens *preamble = &scan->text[KILN__SNIPPET_PREAMBLE];
    const kiln__tokens *source = &scan->text[KILN__SNIPPET_SOURCE];
    const kiln__tokens *options = &scan->text[KILN__SCAN_OPTIONS];
    size_t count = preamble->count + source->count + options->count;

    for (size_t h = 0; h < headers->count; h++)
        count += headers->file[h].count;
    const char **found = kiln__alloc((count + 1) * sizeof *found);
    if (found == NULL)
        return kiln__fail_memory(err, (count + 1) * sizeof *found);
    count = declared_in(preamble, found);
    count += declared_in(source, found + count);
    count += declared_in(options, found + count);
    for (size_t h = 0; h < headers->count; h++)
        count += declared_in(&headers->file[h], found + count);
    const kiln_status status = keep_words(found, count, out, err);
    kiln__free(found);
    return status;
}

kiln_status kiln__words_collect(kiln__definition *def, const kiln__scan *scan, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__headers headers = {.file = NULL};

    KILN_TRY(kiln__headers_read(def, scan, &headers, err));
    KILN_TRY(collect(scan->text, KILN__SCAN_COUNT, &def->words, err));
    for (size_t k = 0; k < def->words.count; k++)
        def->heavy = def->heavy || kiln__is_heavy_word(def->words.items[k]);
    for (size_t k = 0; k < def->words.count; k++)
        def->draws = def->draws || kiln__is_random_word(def->words.items[k]);
    for (size_t k = 0; k < def->words.count; k++)
        def->attempts = def->attempts || kiln__is_attempt_word(def->words.items[k]);
    if (headers.count > 0)
        KILN_TRY(collect(headers.file, headers.count, &def->header_words, err));
    if (headers.count > 0 && (def->included = kiln__buf_take(&headers.included)) == NULL)
        KILN_TRY(kiln__fail_memory(err, 1));
    KILN_TRY(collect_declared(scan, &headers, &def->declared, err));
    def->large = kiln__is_large(scan, &headers);
    for (size_t s = 0; s < KILN__SCAN_COUNT; s++)
        def->compares = def->compares || orders_values(&scan->text[s]);
    for (size_t h = 0; h < headers.count; h++)
        def->compares = def->compares || orders_values(&headers.file[h]);

done:
    kiln__headers_clear(&headers);
    return status;
}

/* ---- macros of the options ---- */

/* What option `k` defines or undefines, behind its name, as in -DN=3; `*next` is the option after it.
 * NULL when it does neither. */
static const char *macro_of(const kiln__definition *def, size_t k, bool *defines, size_t *next)
{
    static const struct {
        const char *name;
        bool defines;
    } spellings[] = {{"-D", true},
                     {"-U", false},
                     {"--define-macro=", true},
                     {"--undefine-macro=", false},
                     {"--define-macro", true},
                     {"--undefine-macro", false}};
    const char *option = def->options[k];

    *next = k + 1;
    for (size_t s = 0; s < KILN_COUNT_OF(spellings); s++) {
        const size_t width = strlen(spellings[s].name);
        if (strncmp(option, spellings[s].name, width) != 0)
            continue;
        *defines = spellings[s].defines;
        if (option[width] != '\0')
            return option + width;
        if (k + 1 == def->option_count)
            return NULL;
        ++*next;
        return def->options[k + 1];
    }
    return NULL;
}

char *kiln__definition_macros(const kiln__definition *def)
{
    kiln__buf lines = KILN__BUF_INIT;

    for (size_t k = 0, next = 0; k < def->option_count; k = next) {
        bool defines = false;
        const char *macro = macro_of(def, k, &defines, &next);
        if (macro == NULL)
            continue;
        const size_t name = strcspn(macro, "=\n"), text = name + 1;
        kiln__buf_puts(&lines, defines ? "#define " : "#undef ");
        kiln__buf_put(&lines, macro, name);
        if (defines)
            kiln__buf_puts(&lines, macro[name] == '=' ? " " : " 1");
        if (defines && macro[name] == '=')
            kiln__buf_put(&lines, macro + text, strcspn(macro + text, "\n"));
        kiln__buf_putc(&lines, '\n');
    }
    return kiln__buf_take(&lines);
}

size_t kiln__definition_plain_options(const kiln__definition *def, const char **out)
{
    size_t count = 0;

    for (size_t k = 0, next = 0; k < def->option_count; k = next) {
        bool defines = false;
        if (macro_of(def, k, &defines, &next) == NULL)
            out[count++] = def->options[k];
    }
    return count;
}

/* ---- asking ---- */

static bool has_word(const kiln__words *words, const char *word)
{
    size_t low = 0, high = words->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(word, words->items[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

bool kiln__definition_uses(const kiln__definition *def, const char *word)
{
    return has_word(&def->words, word);
}

bool kiln__definition_wants(const kiln__definition *def, const char *word)
{
    return (has_word(&def->words, word) || has_word(&def->header_words, word)) &&
           !has_word(&def->declared, word);
}

bool kiln__definition_declares(const kiln__definition *def, const char *word)
{
    return has_word(&def->declared, word);
}

const char *kiln__snippet_name(kiln__snippet_kind kind)
{
#define STAGE_NAMES(nth)                                                                           \
    "stage" #nth ".prep", "stage" #nth ".map", "stage" #nth ".type", "stage" #nth ".reduce",       \
        "stage" #nth ".identity", "stage" #nth ".post"
    static const char *const NAMES[] = {
        "preamble", "loop_prep", "op", "after_loop", "map", "reduce", "post", "identity",
        "reduce_type", "where", "otherwise", "less", "key", "source", STAGE_NAMES(1), STAGE_NAMES(2), STAGE_NAMES(3), STAGE_NAMES(4),
        STAGE_NAMES(5), STAGE_NAMES(6), STAGE_NAMES(7), STAGE_NAMES(8)};
#undef STAGE_NAMES
    _Static_assert(KILN_COUNT_OF(NAMES) == KILN__SNIPPET_COUNT, "every snippet has a name");

    return (unsigned)kind < KILN__SNIPPET_COUNT ? NAMES[kind] : "snippet";
}
