/*
 * reduce_batch.c - which reductions take several elements at a time.
 *
 *     definition > bind types > [plan: batch] > emit
 *
 * Adding elements to an accumulator one by one is what every reduction can do. For some it is far
 * from the cheapest way, and a batch of elements (what a GPU's thread has in registers, a few hundred
 * on the CPU) is better brought together among themselves and added as one:
 *
 *   sum        elements of one or two bytes that are summed up in 64 bits: an int holds the sum of a
 *              batch exactly
 *   moments    a batch's mean, then its squared deviations: no division per element
 *   positions  the batch's greatest value, and only then where it stands; ties inside of a batch
 *              are settled by the order of its elements, so that order must be that of positions
 *
 * They are told by the texts of a definition, so that a definition of the user's own, or one read
 * from a manifest, is as fast as a named one.
 *
 * Rule: a batch changes the order of combination, never what is combined.
 */
#include "codegen/lexer.h"

/* Whether `text` consists of these tokens; "%" stands for the name of the input. */
static bool is_text(const char *text, const char *input, const char *const *tokens, size_t count)
{
    kiln__tokens t;

    kiln__lex(text, KILN__LEX_CPP, &t);
    bool same = !t.failed && t.count == count;
    for (size_t k = 0; same && k < count; k++)
        same = strcmp(kiln__token_text(&t, k), strcmp(tokens[k], "%") == 0 ? input : tokens[k]) == 0;
    kiln__tokens_clear(&t);
    return same;
}

#define IS_TEXT(text, input, ...)                                                                  \
    is_text(text, input, (const char *const[]){__VA_ARGS__},                                       \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Whether `text` is "function<...>(arguments)", whatever the template's argument is. */
static bool is_call(const char *text, const char *function, const char *input, const char *rest)
{
    const size_t name = strlen(function);
    const char *open = strchr(text, '<'), *close = strrchr(text, '>');
    char arguments[160];

    if (strncmp(text, function, name) != 0 || open != text + name || close == NULL)
        return false;
    snprintf(arguments, sizeof arguments, "(%.100s%s)", input, rest);
    return strcmp(close + 1, arguments) == 0;
}

/* The only input that elements come from, or param_count where there are several. It is the first:
 * those of `post` follow. */
static size_t only_input(const kiln__definition *def)
{
    if (def->input_count == 0 || def->params[0].late)
        return def->param_count;
    for (size_t p = 1; p < def->input_count; p++)
        if (!def->params[p].late)
            return def->param_count;
    return def->params[0].raw || def->params[0].by_address ? def->param_count : 0;
}

/* An accumulator in which the sum of a batch is as exact as in an int. */
static bool is_wide(const kiln__definition *def, const kiln_dtype *dtypes)
{
    static const char *const types[] = {"unsigned long long", "long long", "double", "int64",
                                        "uint64", "float64"};
    const char *type = def->snippet[KILN__SNIPPET_REDUCE_TYPE];
    const kiln_dtype out = dtypes[def->input_count];

    if (type[0] == '\0')
        return out == KILN_INT64 || out == KILN_UINT64 || out == KILN_FLOAT64;
    for (size_t k = 0; k < KILN_COUNT_OF(types); k++)
        if (strcmp(type, types[k]) == 0)
            return true;
    return false;
}

static bool is_small_sum(const kiln__definition *def, const kiln_dtype *dtypes, const char *x)
{
    const char *map = def->snippet[KILN__SNIPPET_MAP];
    const char kind = kiln_dtype_kind(dtypes[0]);
    const bool small = kiln_dtype_size(dtypes[0]) <= 2 && (kind == 'b' || kind == 'i' || kind == 'u');

    return IS_TEXT(def->snippet[KILN__SNIPPET_REDUCE], x, "a", "+", "b") &&
           is_wide(def, dtypes) &&
           IS_TEXT(def->snippet[KILN__SNIPPET_IDENTITY], x, "0") &&
           ((small && IS_TEXT(map, x, "%")) || IS_TEXT(map, x, "%", "!=", "T", "(", "0", ")"));
}

kiln__batch kiln__reduce_batch(const kiln__definition *def, const kiln_dtype *dtypes, bool ordered)
{
    const char *map = def->snippet[KILN__SNIPPET_MAP];
    const char *reduce = def->snippet[KILN__SNIPPET_REDUCE];
    const size_t p = only_input(def);

    if (p == def->param_count || !def->reduction || def->scan)
        return KILN__BATCH_NONE;
    const char *x = def->params[p].name;
    if (is_small_sum(def, dtypes, x))
        return KILN__BATCH_SUM;
    if (strcmp(reduce, "kiln_moments_merge(a, b)") == 0 && is_call(map, "kiln_moments_of", x, ""))
        return KILN__BATCH_MOMENTS;
    if (!ordered || !is_call(map, "kiln_position_of", x, ", _J"))
        return KILN__BATCH_NONE;
    return strcmp(reduce, "kiln_position_least(a, b)") == 0      ? KILN__BATCH_LEAST
           : strcmp(reduce, "kiln_position_greatest(a, b)") == 0 ? KILN__BATCH_GREATEST
                                                                 : KILN__BATCH_NONE;
}

bool kiln__batch_of_bytes(const kiln__definition *def, const kiln__variant *v)
{
    return v->batch == KILN__BATCH_SUM && v->layout == KILN__LAYOUT_ROWS && v->vec % 4 == 0 &&
           kiln_dtype_size((kiln_dtype)v->dtype[0]) == 1 &&
           strcmp(def->snippet[KILN__SNIPPET_MAP], def->params[0].name) == 0;
}
