/*
 * extent.c - an estimate of how much code a snippet is, with the functions that it calls.
 *
 *     op, preamble, headers > tokens > [extent] > plan: one element a thread, or several at once
 *
 * Where memory limits a kernel, a thread takes several elements in one access, and the compiler
 * makes a copy of the snippet for each. With CuPy's longer functions that is half a megabyte of
 * code and ten times the time to compile, for a kernel that mostly computes. So a snippet beyond a
 * limit gets one element a thread, and one copy (def->large).
 *
 * The measure is the number of tokens in the user's functions, counted once for each call, as a
 * compiler would inline them, except those marked `__noinline__`. Of several functions of one name
 * the longest counts. The snippet's own tokens do not count, because a graph's snippet may have
 * thousands of them for few instructions. Methods and macros are overlooked; then the kernel keeps
 * several elements a thread.
 *
 * uses.c, words.c and row_definition.c call this file. Tests: test_scan, test_plan.
 */
#include "codegen/lexer.h"

/* Beyond what memory could keep up with: some 1,000 instructions. A token comes to about one, a
 * call of CUDA's longer functions of mathematics to so many. */
enum { EXTENT_LARGE = 1000, EXTENT_OF_MATH = 60, FUNCTIONS_MAX = 2000, CALLS_MAX = 64 };

typedef struct function {
    const kiln__tokens *tokens;
    size_t begin, end; /* of the body, between its braces */
    bool called;       /* it is not inlined */
    bool measured, open;
    size_t extent;
} function;

typedef struct functions {
    function *items;
    size_t count, room;
    kiln__map by_name; /* the longest of each name, by its place in the list plus 1 */
    bool failed;
} functions;

/* Behind the mark that closes what token `k` opens; the end where nothing does. */
static size_t skip_closed(const kiln__tokens *t, size_t k, const char *opens, const char *closes)
{
    size_t depth = 0;

    for (; k < t->count; k++) {
        depth += kiln__token_is(t, k, opens);
        if (kiln__token_is(t, k, closes) && --depth == 0)
            return k + 1;
    }
    return k;
}

/* Whether the declaration in which token `k` is the name says that no call is to be inlined. */
static bool is_called(const kiln__tokens *t, size_t k)
{
    while (k-- > 0 && t->items[k].directive == 0 && !kiln__token_is(t, k, ";") &&
           !kiln__token_is(t, k, "}") && !kiln__token_is(t, k, "{"))
        if (kiln__token_is(t, k, "__noinline__") || kiln__token_is(t, k, "noinline"))
            return true;
    return false;
}

static void enter(functions *all, const kiln__tokens *t, size_t name, size_t begin, size_t end)
{
    const char *text = kiln__token_text(t, name);

    if (all->count == FUNCTIONS_MAX)
        return;
    void **nth = kiln__map_enter(&all->by_name, text, strlen(text), NULL);
    all->failed |= nth == NULL;
    if (nth == NULL || (*nth != NULL && all->items[(size_t)*nth - 1].end -
                                                all->items[(size_t)*nth - 1].begin >= end - begin))
        return;
    if (!kiln__reserve(&all->items, all->count, &all->room, sizeof *all->items)) {
        all->failed = true;
        return;
    }
    all->items[all->count] = (function){t, begin, end, is_called(t, name), false, false, 0};
    *nth = (void *)++all->count;
}

/* name ( ... ) const noexcept { ... }: whatever has this form outside of a body is a function. */
static void enter_all(functions *all, const kiln__tokens *t)
{
    for (size_t k = 0; k + 1 < t->count; k++) {
        if (t->items[k].kind != KILN__TOKEN_WORD || !kiln__token_is(t, k + 1, "("))
            continue;
        size_t body = skip_closed(t, k + 1, "(", ")");
        while (kiln__token_is(t, body, "const") || kiln__token_is(t, body, "noexcept"))
            body++;
        if (!kiln__token_is(t, body, "{"))
            continue;
        const size_t end = skip_closed(t, body, "{", "}");
        enter(all, t, k, body + 1, end > body + 1 ? end - 1 : body + 1);
        k = end - 1;
    }
}

bool kiln__is_heavy_word(const char *word)
{
    static const char *const names[] = {
        "acos", "acosh", "asin", "asinh", "atan",  "atan2", "atanh", "cbrt",  "cos", "cosh",
        "erf",  "erfc",  "exp",  "exp10", "exp2",  "expm1", "hypot", "lgamma", "log", "log10",
        "kiln_erf", "log1p", "log2", "pow",  "sin",   "sincos", "sinh", "tan",   "tanh",  "tgamma",
    };
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        const size_t bytes = strlen(names[k]);
        if (kiln__starts_with(word, names[k]) &&
            (word[bytes] == '\0' || strcmp(word + bytes, "f") == 0))
            return true;
    }
    return false;
}

bool kiln__is_attempt_word(const char *word)
{
    return strcmp(word, "KILN_ATTEMPT") == 0;
}

bool kiln__is_random_word(const char *word)
{
    static const char *const names[] = {"word",   "word64",      "bits",    "uniform",
                                        "normal", "exponential", "integer", "bernoulli"};
    static const char before[] = "kiln_random_";

    for (size_t k = 0; kiln__starts_with(word, before) && k < KILN_COUNT_OF(names); k++)
        if (strcmp(word + sizeof before - 1, names[k]) == 0)
            return true;
    return strcmp(word, "kiln_drawn_integer") == 0;
}

bool kiln__tokens_are_heavy(const kiln__tokens *t)
{
    for (size_t k = 0; k < t->count; k++)
        if (t->items[k].kind == KILN__TOKEN_WORD && kiln__is_heavy_word(kiln__token_text(t, k)))
            return true;
    return false;
}

/* Of the functions that are called between two tokens and, in a function (`depth` below CALLS_MAX), of
 * these tokens. Never much beyond the limit, so that nothing overflows. */
static size_t extent_of(functions *all, const kiln__tokens *t, size_t begin, size_t end, int depth)
{
    const bool inside = depth < CALLS_MAX;
    size_t extent = 0;

    for (size_t k = begin; k < end && extent < EXTENT_LARGE; k++) {
        const char *text = kiln__token_text(t, k);
        const bool word = t->items[k].kind == KILN__TOKEN_WORD;
        void **nth = word && (kiln__token_is(t, k + 1, "(") || kiln__token_is(t, k + 1, "<"))
                         ? kiln__map_find(&all->by_name, text, strlen(text))
                         : NULL;
        function *f = nth != NULL && *nth != NULL ? &all->items[(size_t)*nth - 1] : NULL;

        if (inside)
            extent += word && f == NULL && kiln__is_heavy_word(text) ? EXTENT_OF_MATH : 1;
        if (f == NULL || f->called || f->open || depth == 0)
            continue;
        f->open = true; /* a call of itself is not inlined */
        if (!f->measured)
            f->extent = extent_of(all, f->tokens, f->begin, f->end, depth - 1);
        f->measured = true;
        f->open = false;
        extent += f->extent;
    }
    return extent;
}

bool kiln__is_large(const kiln__scan *scan, const kiln__headers *headers)
{
    const kiln__tokens *op = &scan->text[scan->statements];
    functions all = {.items = NULL};

    enter_all(&all, &scan->text[KILN__SNIPPET_PREAMBLE]);
    for (size_t k = 0; k < headers->count; k++)
        enter_all(&all, &headers->file[k]);
    const bool large = !all.failed && extent_of(&all, op, 0, op->count, CALLS_MAX) >= EXTENT_LARGE;
    kiln__map_clear(&all.by_name, NULL);
    kiln__free(all.items);
    return large;
}
