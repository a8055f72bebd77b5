/*
 * prep.c - which variables of loop_prep each element gets a copy of.
 *
 *     signature > scan (uses.c) > [prep] > assign > bind types > plan > emit
 *
 * CuPy gives every element a thread of its own, so what `op` does to a variable of loop_prep is
 * gone with the element. A thread of kiln has many elements. So each element gets a copy of every
 * variable that `op` may change. Variables that after_loop mentions have no copies, since they
 * collect something over the elements of a thread, and neither have kiln's own (kiln__*).
 *
 *     loop_prep  double s1 {floor(0.25 * n)}; const double den {1.0 / n};
 *     op         if (n % 2 == 0) s1 += 0.5; w = s1 * den;          s1 is copied
 *
 * Rule 1: whatever may be a change counts as one. A needless copy costs nothing, since compilers
 *         remove it.
 * Rule 2: what cannot be copied by name is left alone: references, static and __shared__ variables,
 *         structured bindings, and what a macro declares.
 *
 * Tests: test_elementwise_prep, test_diagnose.
 */
#include "codegen/lexer.h"

static bool is_word(const kiln__tokens *t, size_t k)
{
    return k < t->count && t->items[k].kind == KILN__TOKEN_WORD;
}

static bool is_any(const kiln__tokens *t, size_t k, const char *const *texts)
{
    for (; k < t->count && *texts != NULL; texts++)
        if (kiln__token_is(t, k, *texts))
            return true;
    return false;
}

static bool opens(const kiln__tokens *t, size_t k)
{
    return is_any(t, k, (const char *const[]){"(", "[", "{", NULL});
}

static bool closes(const kiln__tokens *t, size_t k)
{
    return is_any(t, k, (const char *const[]){")", "]", "}", NULL});
}

/* Behind the group that opens at `k`, or the last token. */
static size_t skip_group(const kiln__tokens *t, size_t k)
{
    size_t depth = 0;

    for (; k < t->count; k++) {
        depth += opens(t, k);
        if (closes(t, k) && --depth == 0)
            return k + 1;
    }
    return k;
}

/* Where the bracket that is closed at `k` opens, or 0. */
static size_t back_to_open(const kiln__tokens *t, size_t k)
{
    size_t depth = 0;

    for (; k > 0; k--) {
        depth += closes(t, k);
        if (opens(t, k) && --depth == 0)
            return k;
    }
    return 0;
}

/* ---- what may change ---- */

static const char *const ASSIGNS[] = {"=",  "+=", "-=",  "*=",  "/=",     "%=",    "&=",    "|=",
                                      "^=", "<<=", ">>=", "++", "--",     "and_eq", "or_eq",
                                      "xor_eq", NULL};
static const char *const STEPS[] = {"++", "--", NULL};
static const char *const NO_CALL[] = {"if", "while", "for", "switch", "return", "sizeof", NULL};

/* Whether the `&` at `k` takes an address; a value may stand before one that does not. */
static bool takes_address(const kiln__tokens *t, size_t k)
{
    if (!kiln__token_is(t, k, "&") && !kiln__token_is(t, k, "bitand"))
        return false;
    return k == 0 || (!is_word(t, k - 1) && t->items[k - 1].kind != KILN__TOKEN_NUMBER &&
                      !kiln__token_is(t, k - 1, "]"));
}

/* Whether what stands from `from` to `to`, the whole of an argument or an initializer, may be bound to
 * a reference: f(x), f(a, x), T &r = x, T &r{x}. */
static bool may_be_bound(const kiln__tokens *t, size_t from, size_t to)
{
    static const char *const ends[] = {",", ")", "}", ";", NULL};
    size_t open = from;

    if (from == 0 || (to < t->count && !is_any(t, to, ends)))
        return false;
    if (kiln__token_is(t, from - 1, "="))
        return from >= 3 && is_any(t, from - 3, (const char *const[]){"&", "&&", NULL});
    if (!kiln__token_is(t, from - 1, "(") && !kiln__token_is(t, from - 1, ",") &&
        !kiln__token_is(t, from - 1, "{"))
        return false;
    while (open > 0 && !opens(t, open))
        open = closes(t, open) && back_to_open(t, open) != 0 ? back_to_open(t, open) - 1 : open - 1;
    return open > 0 && !is_any(t, open - 1, NO_CALL) &&
           (is_word(t, open - 1) || kiln__token_is(t, open - 1, ">") ||
            kiln__token_is(t, open - 1, ")") || kiln__token_is(t, open - 1, "]"));
}

/* Whether the use of a variable at `k` may change it. */
static bool may_change(const kiln__tokens *t, size_t k)
{
    size_t from = k, to = k + 1;

    if (k > 0 && is_any(t, k - 1, (const char *const[]){".", "->", "::", NULL}))
        return false; /* a member of something else */
    for (;;) { /* elements, members, brackets around */
        if (kiln__token_is(t, to, "["))
            to = skip_group(t, to);
        else if ((kiln__token_is(t, to, ".") || kiln__token_is(t, to, "->")) && is_word(t, to + 1))
            to += 2;
        else if (from > 0 && kiln__token_is(t, from - 1, "(") && kiln__token_is(t, to, ")") &&
                 (from < 2 || !is_word(t, from - 2) || is_any(t, from - 2, NO_CALL)))
            from--, to++;
        else
            break;
    }
    if (to > k + 1 && from == k && kiln__token_is(t, to, "("))
        return true; /* a member function */
    return is_any(t, to, ASSIGNS) || (from > 0 && is_any(t, from - 1, STEPS)) ||
           (from > 0 && takes_address(t, from - 1)) || may_be_bound(t, from, to);
}

static bool changes(const kiln__scan *scan, const char *name)
{
    const kiln__tokens *op = &scan->text[KILN__SNIPPET_OP];
    size_t which = 0, at = 0;
    kiln__macro macro;

    for (size_t k = 0; k < op->count; k++)
        if (kiln__token_is(op, k, name) && may_change(op, k))
            return true;
    while (kiln__macro_next(scan, &which, &at, &macro))
        for (size_t k = macro.body_begin; k < macro.body_end; k++)
            if (kiln__token_is(macro.tokens, k, name) && may_change(macro.tokens, k))
                return true;
    return false;
}

/* ---- what is declared ---- */

/* Statements that declare nothing to copy. */
static const char *const NO_VARIABLE[] = {
    "typedef", "using",  "static", "extern", "thread_local", "__shared__", "__constant__", "struct",
    "class",   "union",  "enum",   "return", "if",           "for",        "while",        "do",
    "switch",  "goto",   "static_assert",    "asm",          "constexpr",  "template",     "try",
    NULL};

static size_t statement_end(const kiln__tokens *t, size_t k)
{
    while (k < t->count && !kiln__token_is(t, k, ";"))
        k = opens(t, k) ? skip_group(t, k) : k + 1;
    return k;
}

/* Whether the word at `k`, in a statement from `begin`, is what its first or a later declarator
 * names. */
static bool is_declared(const kiln__tokens *t, size_t begin, size_t k, bool later)
{
    static const char *const before[] = {"*", "&", "&&", ">", ">>", NULL};
    static const char *const behind[] = {"=", "{", "(", "[", ",", ";", NULL};

    if (!is_word(t, k) || kiln__is_cpp_keyword(kiln__token_text(t, k)) ||
        (k + 1 < t->count && !is_any(t, k + 1, behind)))
        return false;
    return later || (k > begin && (is_word(t, k - 1) || is_any(t, k - 1, before)));
}

/* The variables of one statement: `each` is told the name of every one that is not const. */
static void declared_in(const kiln__tokens *t, size_t begin, size_t end,
                        void (*each)(void *state, const char *name), void *state)
{
    bool constant = false, later = false, pointer = false, reference = false;

    for (size_t k = begin; k < end;) {
        constant = constant || (!pointer && kiln__token_is(t, k, "const"));
        pointer = pointer || kiln__token_is(t, k, "*");
        reference = reference || kiln__token_is(t, k, "&") || kiln__token_is(t, k, "&&");
        if (!later && kiln__token_is(t, k, "<")) { /* arguments of a template */
            size_t depth = 0;
            do {
                depth += kiln__token_is(t, k, "<");
                depth -= kiln__token_is(t, k, ">") ? 1 : kiln__token_is(t, k, ">>") ? 2 : 0;
                k++;
            } while (k < end && depth != 0 && depth < 64);
            continue;
        }
        if (!is_declared(t, begin, k, later)) {
            if (later && !kiln__token_is(t, k, "*") && !kiln__token_is(t, k, "&") &&
                !kiln__token_is(t, k, "const"))
                return;
            k = opens(t, k) ? skip_group(t, k) : k + 1;
            continue;
        }
        const bool fixed = kiln__token_is(t, k - 1, "const") && pointer;
        if (!reference && !fixed && (!constant || pointer))
            each(state, kiln__token_text(t, k));
        while (k < end && !kiln__token_is(t, k, ","))
            k = opens(t, k) ? skip_group(t, k) : k + 1;
        k++;
        later = true;
        pointer = reference = false;
    }
}

/* ---- the one entry ---- */

typedef struct gathering {
    const kiln__scan *scan;
    kiln__buf names;
} gathering;

static void gather(void *state, const char *name)
{
    gathering *g = state;
    if (strncmp(name, "kiln__", 6) != 0 &&
        !kiln__tokens_mention(&g->scan->text[KILN__SNIPPET_AFTER_LOOP], name) &&
        changes(g->scan, name))
        kiln__buf_printf(&g->names, ", %s", name);
}

kiln_status kiln__prep_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err)
{
    const kiln__tokens *t = &scan->text[KILN__SNIPPET_LOOP_PREP];
    gathering g = {scan, KILN__BUF_INIT};

    for (size_t k = 0; k < t->count;) {
        if (t->items[k].directive != 0 || kiln__token_is(t, k, ";")) {
            k++;
            continue;
        }
        if (opens(t, k)) { /* what a block declares is its own */
            k = skip_group(t, k);
            continue;
        }
        const size_t end = statement_end(t, k);
        bool declares = true;
        for (size_t w = k; w < end; w++)
            declares = declares && !(is_any(t, w, NO_VARIABLE) && (w == k || w == k + 1));
        if (declares)
            declared_in(t, k, end, gather, &g);
        k = end + 1;
    }
    if (g.names.failed)
        return kiln__fail_memory(err, g.names.capacity);
    def->copied = kiln__buf_take(&g.names);
    return def->copied == NULL ? kiln__fail_memory(err, 1) : KILN_OK;
}
