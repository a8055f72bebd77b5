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
 *   logsum     the batch's greatest value, then its exponentials, and one more for all that was before
 *   positions  the batch's greatest value, and only then where it stands; ties inside of a batch
 *              are settled by the order of its elements, so that order must be that of positions
 *
 * A request of the library's own states its batch. Of other requests it is found in their texts, so
 * that a definition of the user's own, or one read from a manifest, is as fast as a named one. An
 * element is what an input holds, or any expression of what inputs hold at its place:
 *
 *     kiln_moments_of<float>(x)          kiln_moments_of<float>(2 * x - y)
 *     kiln_moments_of_number<float>(x)   kiln_complex_moments_of<float>(x.real(), x.imag())
 *     kiln_position_of<float>(x, _J)     kiln_position_of<float>(fabs(x), _J)
 *     x                                  [&]() -> unsigned char { ... }()
 *
 * Rule 1: a batch changes the order of combination, never what is combined.
 * Rule 2: what a request states is what its texts would have shown (test_reduce_plan), since a manifest
 *         keeps the texts alone.
 */
#include "codegen/lexer.h"

/* Whether these are the tokens of a text; "%" stands for the name of the input. */
static bool is_text(const kiln__tokens *t, const char *input, const char *const *tokens,
                    size_t count)
{
    bool same = !t->failed && t->count == count;
    for (size_t k = 0; same && k < count; k++)
        same = strcmp(kiln__token_text(t, k), strcmp(tokens[k], "%") == 0 ? input : tokens[k]) == 0;
    return same;
}

#define IS_TEXT(text, input, ...)                                                                  \
    is_text(text, input, (const char *const[]){__VA_ARGS__},                                       \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* What makes a batch of more than numbers: how two accumulators are combined, and the function that
 * makes one of an element's value. */
static const struct {
    kiln__batch batch;
    const char *reduce, *of;
    bool place; /* the function's second argument is _J */
} kinds[] = {
    {KILN__BATCH_MOMENTS, "kiln_moments_merge(a, b)", "kiln_moments_of", false},
    {KILN__BATCH_COUNTED, "kiln_moments_merge(a, b)", "kiln_moments_of_number", false},
    {KILN__BATCH_COUNTED, "kiln_complex_moments_merge(a, b)", "kiln_complex_moments_of", false},
    {KILN__BATCH_COUNTED, "kiln_complex_moments_merge(a, b)", "kiln_complex_moments_of_number",
     false},
    {KILN__BATCH_LOGSUM, "kiln_logsum_merge(a, b)", "kiln_logsum_of", false},
    {KILN__BATCH_LEAST, "kiln_position_least(a, b)", "kiln_position_of", true},
    {KILN__BATCH_GREATEST, "kiln_position_greatest(a, b)", "kiln_position_of", true},
};

/* Where the bracket that opens at `from` is closed; `t->count` if nowhere. */
static size_t closing(const kiln__tokens *t, size_t from)
{
    int depth = 0;

    for (size_t k = from; k < t->count; k++) {
        const char c = t->items[k].kind == KILN__TOKEN_MARK ? kiln__token_text(t, k)[0] : ' ';
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth == 0)
            return k;
    }
    return t->count;
}

/* Whether an element can be computed from what was loaded of it alone: none of its numbers is used
 * between these tokens, and nothing that a preprocessor reads. */
static bool is_of_elements(const kiln__tokens *t, size_t from, size_t to)
{
    static const char *const numbers[] = {"_J", "_j", "_i", "_in_ind", "_out_ind"};

    for (size_t k = from; k < to; k++) {
        if (t->items[k].directive != 0)
            return false;
        for (size_t n = 0; n < KILN_COUNT_OF(numbers); n++)
            if (kiln__token_is(t, k, numbers[n]))
                return false;
    }
    return true;
}

/* Whether the tokens are "function<type>(value)", or "...(value, _J)". Where the value begins. */
static bool is_call(const kiln__tokens *t, const char *function, bool place, size_t *value_out)
{
    size_t open;

    if (t->failed || t->doubtful || t->count < 6 || !kiln__token_is(t, 0, function) ||
        !kiln__token_is(t, 1, "<"))
        return false;
    for (open = 2; open < t->count && t->items[open].kind == KILN__TOKEN_WORD;)
        open++;
    if (open + 1 >= t->count || !kiln__token_is(t, open, ">") || !kiln__token_is(t, open + 1, "("))
        return false;
    open++;
    size_t end = t->count - 1;
    if (closing(t, open) != end)
        return false;
    if (place) {
        end -= 2;
        if (end <= open + 1 || !kiln__token_is(t, end, ",") || !kiln__token_is(t, end + 1, "_J"))
            return false;
    }
    *value_out = open + 1;
    return end > open + 1 && is_of_elements(t, open + 1, end);
}

/* Whether all inputs that elements come from are read by value. */
static bool by_value(const kiln__definition *def)
{
    for (size_t p = 0; p < def->input_count; p++)
        if (!def->params[p].post_only && (def->params[p].by_address || def->params[p].writable))
            return false;
    return true;
}

/* The only input that elements come from, or param_count where there are several. It is the first:
 * those of `post` follow. */
static size_t only_input(const kiln__definition *def)
{
    if (def->input_count == 0 || def->params[0].post_only || def->params[0].raw)
        return def->param_count;
    for (size_t p = 1; p < def->input_count; p++)
        if (!def->params[p].post_only)
            return def->param_count;
    return 0;
}

/* Whether the tokens are a function without arguments, of a type of one or two bytes, and its call:
 * how graphs write what is computed of an element. */
static bool is_small_lambda(const kiln__tokens *t)
{
    static const char *const head[] = {"[", "&", "]", "(", ")", "->"};
    static const kiln_dtype small[] = {KILN_BOOL,  KILN_INT8,   KILN_UINT8,
                                       KILN_INT16, KILN_UINT16, KILN_DTYPE_NONE};
    const size_t heads = KILN_COUNT_OF(head);
    char type[32] = "";
    size_t k = heads;

    if (t->failed || t->doubtful || t->count < heads + 4)
        return false;
    for (size_t h = 0; h < heads; h++)
        if (!kiln__token_is(t, h, head[h]))
            return false;
    for (; t->items[k].kind == KILN__TOKEN_WORD && k < heads + 2; k++)
        snprintf(type + strlen(type), sizeof type - strlen(type), "%s%.12s", k > heads ? " " : "",
                 kiln__token_text(t, k));
    size_t d = 0;
    while (small[d] != KILN_DTYPE_NONE && strcmp(type, kiln_dtype_ctype(small[d])) != 0)
        d++;
    return small[d] != KILN_DTYPE_NONE && kiln__token_is(t, k, "{") &&
           closing(t, k) + 3 == t->count && is_of_elements(t, k, t->count);
}

/* Whether sums can be taken as ints: the elements are small integers, or say whether something is 0. */
static bool is_small_sum(const kiln__definition *def, const kiln__scan *scan, kiln__batching *out)
{
    const kiln__tokens *map = &scan->text[KILN__SNIPPET_MAP];
    const size_t p = only_input(def);

    if (def->masked || !IS_TEXT(&scan->text[KILN__SNIPPET_REDUCE], "", "a", "+", "b") ||
        !IS_TEXT(&scan->text[KILN__SNIPPET_IDENTITY], "", "0"))
        return false;
    if (p < def->param_count) {
        out->element = IS_TEXT(map, def->params[p].name, "%");
        if (out->element || IS_TEXT(map, def->params[p].name, "%", "!=", "T", "(", "0", ")"))
            return true;
    }
    out->mapped = true;
    return is_small_lambda(map);
}

void kiln__batch_scan(kiln__definition *def, const kiln__scan *scan)
{
    const kiln__tokens *map = &scan->text[KILN__SNIPPET_MAP];
    const char *reduce = def->snippet[KILN__SNIPPET_REDUCE];
    const kiln__batching stated = def->batching;
    kiln__batching *const out = &def->batching;
    size_t value = 0;

    *out = (kiln__batching){0};
    if (!def->family->maps || !def->family->shrinks || !by_value(def) || def->takes)
        return;
    if (stated.stated) {
        *out = stated;
        return;
    }
    for (size_t k = 0; out->batch == KILN__BATCH_NONE && k < KILN_COUNT_OF(kinds); k++) {
        if (strcmp(reduce, kinds[k].reduce) == 0 &&
            is_call(map, kinds[k].of, kinds[k].place, &value)) {
            const size_t p = only_input(def);
            out->batch = kinds[k].batch;
            out->mapped = p == def->param_count ||
                          value + 2 + (kinds[k].place ? 2 : 0) != map->count ||
                          !kiln__token_is(map, value, def->params[p].name);
        }
    }
    if (out->batch == KILN__BATCH_NONE)
        out->batch = is_small_sum(def, scan, out) ? KILN__BATCH_SUM : KILN__BATCH_NONE;
    else if (def->snippet[KILN__SNIPPET_IDENTITY][0] == '\0')
        out->batch = KILN__BATCH_NONE;
}

kiln__batching kiln__batching_with(const kiln__definition *def, bool masked)
{
    kiln__batching batching = def->batching;

    /* Sums as ints are for elements of the first input alone, or for those of a function. */
    if (batching.batch == KILN__BATCH_SUM && (masked || !batching.mapped))
        batching.batch = KILN__BATCH_NONE;
    batching.mapped = true;
    batching.stated = true;
    return batching;
}

/* Whether the sum of a batch is as exact in an accumulator as in an int, and elements are so small. */
static bool dtypes_suit_sums(const kiln__definition *def, const kiln__variant *v)
{
    const char *type = def->snippet[KILN__SNIPPET_REDUCE_TYPE];
    const kiln_dtype sum = type[0] == '\0' ? (kiln_dtype)v->dtype[def->input_count]
                           : kiln__definition_declares(def, type)
                               ? KILN_DTYPE_NONE
                               : kiln_dtype_from_name(type, strlen(type));
    const kiln_dtype element = (kiln_dtype)v->dtype[0];

    return (sum == KILN_INT64 || sum == KILN_UINT64 || sum == KILN_FLOAT64) &&
           (!def->batching.element ||
            (kiln_dtype_size(element) <= 2 && strchr("biu", kiln_dtype_kind(element)) != NULL));
}

/* The batch of a kind that a device has: values that count all are plain ones, and the cpu's
 * compilers make vectors of those alone. */
static kiln__batch batch_on(kiln_backend backend, kiln__batch batch, bool masked)
{
    if (masked)
        batch = kiln__batch_is_of_moments(batch) ? KILN__BATCH_COUNTED : KILN__BATCH_NONE;
    const bool alone = batch == KILN__BATCH_COUNTED || batch == KILN__BATCH_LOGSUM;
    return alone && backend == KILN_BACKEND_CPU ? KILN__BATCH_NONE : batch;
}

kiln__batch kiln__reduce_batch(const kiln__definition *def, const kiln__variant *v, bool ordered)
{
    bool walks = false;

    for (size_t p = 0; p < def->input_count; p++)
        walks = walks || (!def->params[p].post_only && !def->params[p].raw &&
                          v->access[p] != KILN__ACCESS_SCALAR && v->access[p] != KILN__ACCESS_ONE);
    const kiln__batch batch = batch_on((kiln_backend)v->backend, def->batching.batch, def->masked);
    const bool place = batch == KILN__BATCH_LEAST || batch == KILN__BATCH_GREATEST;
    if (!walks || (place && !ordered) || (batch == KILN__BATCH_SUM && !dtypes_suit_sums(def, v)))
        return KILN__BATCH_NONE;
    if (batch == KILN__BATCH_MOMENTS && v->backend == KILN_BACKEND_CPU &&
        v->layout == KILN__LAYOUT_COLUMNS &&
        strcmp(def->snippet[KILN__SNIPPET_REDUCE_TYPE], "kiln_moments<float>") == 0)
        return KILN__BATCH_NONE; /* compilers make vectors of columns' moments as they are */
    return batch;
}

kiln__batch kiln__batch_of_stage(const kiln__definition *def, const kiln__variant *v, size_t stage)
{
    const char *reduce = def->snippet[kiln__stage_snippet(stage, KILN__STAGE_REDUCE)];

    if (v->backend == KILN_BACKEND_CPU ||
        def->snippet[kiln__stage_snippet(stage, KILN__STAGE_IDENTITY)][0] == '\0')
        return KILN__BATCH_NONE;
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++)
        if (!kinds[k].place && strcmp(reduce, kinds[k].reduce) == 0)
            return kinds[k].batch == KILN__BATCH_LOGSUM ? KILN__BATCH_LOGSUM : KILN__BATCH_COUNTED;
    return KILN__BATCH_NONE;
}

bool kiln__batch_is_kept(const kiln__definition *def, const kiln__variant *v)
{
    const kiln__batch batch = kiln__batch_of(v);

    /* Sums look at an element once, and so do positions down columns. */
    return def->batching.mapped && batch != KILN__BATCH_NONE &&
           (kiln__batch_is_of_moments(batch) ||
            batch == KILN__BATCH_LOGSUM ||
            (batch != KILN__BATCH_SUM && v->layout == KILN__LAYOUT_ROWS));
}

bool kiln__batch_of_bytes(const kiln__definition *def, const kiln__variant *v)
{
    /* Where one element stands for all of an access, no access has four of them. */
    return kiln__batch_of(v) == KILN__BATCH_SUM && v->layout == KILN__LAYOUT_ROWS &&
           v->vec % 4 == 0 && v->access[0] == KILN__ACCESS_VECTOR &&
           kiln_dtype_size((kiln_dtype)v->dtype[0]) == 1 &&
           strcmp(def->snippet[KILN__SNIPPET_MAP], def->params[0].name) == 0;
}
