/*
 * assign.c - which outputs are surely assigned before anything reads them.
 *
 *     signature > scan > [assign] > bind types > plan > emit
 *
 * An output that every path through `op` assigns first need not be loaded: for z = f(x) that is a
 * third of the memory traffic. The proof follows statements, not values:
 *
 *     statement   ASSIGNS   `z = e;` where e does not mention z, alone, in a chain (y = z = e) or
 *                           as a part of a comma expression; `if` where both branches assign; a
 *                           block with a statement that assigns
 *                 PASSES    does not mention z and can only end by falling through to the next
 *                           statement; `if` where the branches assign or pass
 *                 FAILS     everything else
 *
 * Rule 1: what is not understood FAILS, and the output is loaded. A wrong ASSIGNS would store
 *         garbage; a wrong FAILS costs some bandwidth.
 * Rule 2: statements after an assignment are not looked at: z has a value by then, and both
 *         `return` and `continue` store it.
 * Rule 3: macros can hold anything. One whose body could be more than an expression ends every
 *         proof where it is used; macros of included headers are suspected where a statement
 *         begins with an unknown word.
 *
 * uses.c and row_definition.c call this file. Tests: test_scan, test_elementwise_snippet.
 */
#include <stdlib.h>

#include "codegen/lexer.h"

/* Deepest nesting of statements that is followed. */
#define DEPTH_MAX 200

typedef enum outcome { FAILS, PASSES, ASSIGNS } outcome;

typedef struct prover {
    const kiln__definition *def;
    const kiln__tokens *t; /* of op; directive tokens were removed */
    const size_t *order;   /* indices into t of the tokens to look at */
    size_t count;
    size_t at;        /* next token, as an index into `order` */
    const char *name; /* the output in question */
    bool includes;    /* headers that nobody looked into define macros */
    int depth;
} prover;

/* ---- tokens ---- */

static bool is_at(const prover *p, size_t at, const char *text)
{
    return at < p->count && kiln__token_is(p->t, p->order[at], text);
}

static const char *word_at(const prover *p, size_t at)
{
    if (at >= p->count || p->t->items[p->order[at]].kind != KILN__TOKEN_WORD)
        return NULL;
    return kiln__token_text(p->t, p->order[at]);
}

static bool is_open(const prover *p, size_t at)
{
    return is_at(p, at, "(") || is_at(p, at, "[") || is_at(p, at, "{");
}

static bool is_close(const prover *p, size_t at)
{
    return is_at(p, at, ")") || is_at(p, at, "]") || is_at(p, at, "}");
}

/* Just behind the group that opens at `at`; 0 when it does not close. */
static size_t group_end(const prover *p, size_t at)
{
    size_t depth = 0;

    for (; at < p->count; at++) {
        if (is_open(p, at))
            depth++;
        else if (is_close(p, at) && --depth == 0)
            return at + 1;
    }
    return 0;
}

static bool is_among(const char *word, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

static bool mentions(const prover *p, size_t begin, size_t end, const char *const *words)
{
    for (; begin < end; begin++) {
        const char *word = word_at(p, begin);
        if (word != NULL && is_among(word, words))
            return true;
    }
    return false;
}

static bool mentions_name(const prover *p, size_t begin, size_t end)
{
    const char *const words[] = {p->name, NULL};
    return mentions(p, begin, end, words);
}

/* Words that may leave a loop body, or the element that is being computed. */
static const char *const LEAVES_LOOP[] = {"return",   "goto",     "throw",   "co_return",
                                          "co_yield", "co_await", "try",     "catch",
                                          "asm",      "__asm",    "__asm__", NULL};

/* Words that no simple statement may hold: those above, and what only means something in a
 * statement that was not understood. */
static const char *const LEAVES_STATEMENT[] = {
    "return", "goto",  "throw",   "co_return", "co_yield", "co_await", "try",  "catch",
    "asm",    "__asm", "__asm__", "break",     "continue", "else",     "case", "default",
    "if",     "for",   "while",   "do",        "switch",   NULL};

/* ---- statements ---- */

/* Where the simple statement at `at` ends, its ';' included; 0 when it does not end well. Like
 * the emitter, this supplies the last ';'. */
static size_t simple_end(const prover *p, size_t at)
{
    while (at < p->count && !is_at(p, at, ";")) {
        if (is_close(p, at))
            return 0;
        at = is_open(p, at) ? group_end(p, at) : at + 1;
        if (at == 0)
            return 0;
    }
    return at < p->count ? at + 1 : at;
}

/* Where the statement at `at` ends, whatever it is; 0 when that cannot be told. */
static size_t statement_end(const prover *p, size_t at, int depth)
{
    if (at >= p->count || depth > DEPTH_MAX)
        return 0;
    if (is_at(p, at, "{"))
        return group_end(p, at);
    if (is_at(p, at, "do")) {
        at = statement_end(p, at + 1, depth + 1);
        if (at == 0 || !is_at(p, at, "while") || !is_at(p, at + 1, "("))
            return 0;
        return simple_end(p, at);
    }
    if (is_at(p, at, "if") || is_at(p, at, "for") || is_at(p, at, "while") ||
        is_at(p, at, "switch")) {
        bool is_if = is_at(p, at, "if");

        at += is_if && is_at(p, at + 1, "constexpr") ? 2 : 1;
        if (!is_at(p, at, "("))
            return 0;
        at = group_end(p, at);
        at = at == 0 ? 0 : statement_end(p, at, depth + 1);
        if (at != 0 && is_if && is_at(p, at, "else"))
            return statement_end(p, at + 1, depth + 1);
        return at;
    }
    return simple_end(p, at);
}

/* A comma, or the end, at which a part of the comma expression at..end stops. */
static size_t part_end(const prover *p, size_t at, size_t end)
{
    size_t questions = 0; /* whose ':' is still to come: a comma between belongs to them */

    while (at < end && !(questions == 0 && is_at(p, at, ","))) {
        if (is_at(p, at, "?"))
            questions++;
        else if (is_at(p, at, ":") && questions != 0)
            questions--;
        at = is_open(p, at) ? group_end(p, at) : at + 1;
    }
    return at;
}

static bool begins_assignment(const prover *p, size_t at)
{
    const char *word = word_at(p, at);
    return word != NULL && !kiln__is_cpp_keyword(word) && is_at(p, at + 1, "=");
}

/* The expression at..end, which begins with `word =` and so is no declaration. */
static outcome assignment(const prover *p, size_t at, size_t end)
{
    while (at < end) {
        size_t stop = part_end(p, at, end), value = at;
        bool assigned = false;

        while (value + 1 < stop && begins_assignment(p, value)) {
            assigned = assigned || strcmp(word_at(p, value), p->name) == 0;
            value += 2;
        }
        if (mentions_name(p, value, stop))
            return FAILS;
        if (assigned)
            return ASSIGNS;
        at = stop + 1;
    }
    return PASSES;
}

/* Whether a statement that begins with this word could be a macro from some header: what is
 * neither a keyword nor anything that the definition declares could. */
static bool may_be_macro(const prover *p, const char *word)
{
    if (kiln__is_cpp_keyword(word) || kiln_dtype_from_name(word, strlen(word)) != KILN_DTYPE_NONE)
        return false;
    for (size_t k = 0; k < p->def->param_count; k++) {
        if (strcmp(word, p->def->params[k].name) == 0 ||
            (word[0] == p->def->params[k].placeholder && word[1] == '\0'))
            return false;
    }
    return true;
}

/* An expression or a declaration. */
static outcome simple_statement(prover *p)
{
    size_t begin = p->at, end = simple_end(p, begin), stop = 0;
    const char *first = word_at(p, begin);

    if (end == 0 || mentions(p, begin, end, LEAVES_STATEMENT) || is_at(p, begin + 1, ":"))
        return FAILS;
    p->at = end;
    stop = is_at(p, end - 1, ";") ? end - 1 : end;
    if (begins_assignment(p, begin))
        return assignment(p, begin, stop);
    if (mentions_name(p, begin, stop))
        return FAILS;
    if (p->includes && first != NULL && may_be_macro(p, first))
        return FAILS;
    return PASSES;
}

/* Whether a statement inside at..end, a compound one, may be a macro from some header. */
static bool begins_with_macro(const prover *p, size_t at, size_t end)
{
    size_t depth = 0; /* of parentheses: semicolons in them are those of a `for` */

    for (; at + 1 < end; at++) {
        const char *next = word_at(p, at + 1);

        if (is_at(p, at, "("))
            depth++;
        else if (is_at(p, at, ")") && depth != 0)
            depth--;
        if (depth == 0 && next != NULL && !begins_assignment(p, at + 1) && may_be_macro(p, next) &&
            (is_at(p, at, ";") || is_at(p, at, "{") || is_at(p, at, "}") || is_at(p, at, ")") ||
             is_at(p, at, "else") || is_at(p, at, "do")))
            return true;
    }
    return false;
}

/* A loop or a switch: its body may run any number of times, so it must not touch the output. */
static outcome loop(prover *p, bool is_switch)
{
    size_t begin = p->at, end = statement_end(p, begin, p->depth);

    if (end == 0 || mentions_name(p, begin, end) || mentions(p, begin, end, LEAVES_LOOP))
        return FAILS;
    /* In a switch, `continue` belongs to the loop over the elements. */
    if (is_switch && mentions(p, begin, end, (const char *const[]){"continue", NULL}))
        return FAILS;
    if (p->includes && begins_with_macro(p, begin, end))
        return FAILS;
    p->at = end;
    return PASSES;
}

static outcome statement(prover *p);

static outcome branches(prover *p)
{
    outcome no = PASSES;
    size_t condition = p->at + (is_at(p, p->at + 1, "constexpr") ? 2u : 1u), end = 0;

    if (!is_at(p, condition, "("))
        return FAILS;
    end = group_end(p, condition);
    if (end == 0 || mentions_name(p, condition, end) ||
        mentions(p, condition, end, LEAVES_STATEMENT))
        return FAILS;
    p->at = end;
    outcome yes = statement(p);
    if (yes == FAILS)
        return FAILS;
    if (is_at(p, p->at, "else")) {
        p->at++;
        no = statement(p);
        if (no == FAILS)
            return FAILS;
    }
    return yes == ASSIGNS && no == ASSIGNS ? ASSIGNS : PASSES;
}

static outcome block(prover *p)
{
    size_t end = group_end(p, p->at);

    if (end == 0)
        return FAILS;
    p->at++;
    while (p->at < end - 1) {
        outcome result = statement(p);
        if (result == FAILS)
            return FAILS;
        if (result == ASSIGNS) {
            p->at = end;
            return ASSIGNS;
        }
    }
    p->at = end;
    return PASSES;
}

/* Follow one statement and move behind it (unless it FAILS). */
static outcome statement(prover *p)
{
    outcome result = FAILS;

    if (p->at >= p->count || p->depth >= DEPTH_MAX)
        return FAILS;
    p->depth++;
    while (is_at(p, p->at, "_Pragma") && is_at(p, p->at + 1, "(")) {
        p->at = group_end(p, p->at + 1);
        if (p->at == 0)
            return FAILS;
    }
    if (is_at(p, p->at, ";")) {
        p->at++;
        result = PASSES;
    } else if (is_at(p, p->at, "{")) {
        result = block(p);
    } else if (is_at(p, p->at, "if")) {
        result = branches(p);
    } else if (is_at(p, p->at, "for") || is_at(p, p->at, "while") || is_at(p, p->at, "do")) {
        result = loop(p, false);
    } else if (is_at(p, p->at, "switch")) {
        result = loop(p, true);
    } else {
        result = simple_statement(p);
    }
    p->depth--;
    return result;
}

static bool always_assigned(prover *p)
{
    p->at = 0;
    p->depth = 0;
    while (p->at < p->count) {
        outcome result = statement(p);
        if (result != PASSES)
            return result == ASSIGNS;
    }
    return false;
}

/* ---- macros ---- */

/* Words that make a macro more than an expression, next to those that leave a statement. */
static const char *const NO_EXPRESSION[] = {
    "{",  "}",  ";",   "=",   "+=", "-=", "*=",     "/=",    "%=",     "&=",
    "|=", "^=", "<<=", ">>=", "#",  "##", "and_eq", "or_eq", "xor_eq", NULL};

/* Whether a macro's name or body makes it more than a name for an expression. */
static bool is_suspect(const kiln__definition *def, const kiln__macro *macro)
{
    const kiln__tokens *t = macro->tokens;
    size_t depth = 0, questions = 0;

    for (size_t k = macro->body_begin; k < macro->body_end; k++) {
        const char *text = kiln__token_text(t, k);
        kiln__token_kind kind = t->items[k].kind;
        bool own = false; /* the word is a parameter of the macro */

        for (size_t m = macro->param_begin; m < macro->param_end; m++)
            own = own || (kind == KILN__TOKEN_WORD && kiln__token_is(t, m, text));
        if (own)
            continue;
        if (kind == KILN__TOKEN_STRAY)
            return true;
        if (kind != KILN__TOKEN_WORD && kind != KILN__TOKEN_MARK)
            continue;
        if (is_among(text, NO_EXPRESSION) || is_among(text, LEAVES_STATEMENT))
            return true;
        for (size_t p = 0; p < def->param_count; p++) {
            if (def->params[p].output && strcmp(text, def->params[p].name) == 0)
                return true;
        }
        questions += strcmp(text, "?") == 0;
        if (strcmp(text, ":") == 0 && questions-- == 0)
            return true;
        if (strcmp(text, "(") == 0 || strcmp(text, "[") == 0)
            depth++;
        else if ((strcmp(text, ")") == 0 || strcmp(text, "]") == 0) && depth-- == 0)
            return true;
    }
    return depth != 0 || questions != 0;
}

/* The words of op and of all macros' bodies, sorted: what a macro must be among to matter. NULL
 * without memory. */
static const char **used_words(const kiln__scan *scan, size_t *count_out)
{
    const kiln__tokens *op = &scan->text[scan->statements];
    size_t most = 1, count = 0, which = 0, at = 0;
    const char **words = NULL;
    kiln__macro macro;

    for (int s = 0; s < KILN__SCAN_COUNT; s++)
        most += scan->text[s].count;
    words = kiln__alloc(most * sizeof *words);
    if (words == NULL)
        return NULL;
    for (size_t k = 0; k < op->count; k++) {
        if (op->items[k].directive == 0 && op->items[k].kind == KILN__TOKEN_WORD)
            words[count++] = kiln__token_text(op, k);
    }
    while (kiln__macro_next(scan, &which, &at, &macro)) {
        for (size_t k = macro.body_begin; k < macro.body_end; k++) {
            if (macro.tokens->items[k].kind == KILN__TOKEN_WORD)
                words[count++] = kiln__token_text(macro.tokens, k);
        }
    }
    qsort(words, count, sizeof *words, kiln__compare_words);
    *count_out = count;
    return words;
}

/* Whether macros could make op something else than its tokens say. */
static kiln_status macros_interfere(const kiln__definition *def, const kiln__scan *scan,
                                    bool *found_out, kiln_error *err)
{
    size_t which = 0, at = 0, count = 0;
    const char **used = used_words(scan, &count);
    bool found = false;
    kiln__macro macro;

    if (used == NULL)
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "no memory to scan kernel \"%s\"", def->name);
    while (!found && kiln__macro_next(scan, &which, &at, &macro)) {
        const char *name = kiln__token_text(macro.tokens, macro.name);

        found = kiln__is_cpp_keyword(name) ||
                (is_suspect(def, &macro) &&
                 bsearch(&name, used, count, sizeof *used, kiln__compare_words) != NULL);
        for (size_t p = 0; p < def->param_count; p++)
            found = found || strcmp(name, def->params[p].name) == 0;
    }
    kiln__free((void *)used);
    *found_out = found;
    return KILN_OK;
}

/* Whether op's lines depend on more than macros: #if, #include and the like. */
static bool has_other_directives(const kiln__tokens *op)
{
    static const char *const HARMLESS[] = {"define", "undef", "pragma", NULL};
    uint32_t line = 0;

    for (size_t k = 0; k < op->count; k++) {
        if (op->items[k].directive == line)
            continue;
        line = op->items[k].directive;
        if (line != 0 && (op->items[k + 1].directive != line ||
                          !is_among(kiln__token_text(op, k + 1), HARMLESS)))
            return true;
    }
    return false;
}

/* Whether headers are read, by a snippet or by a compiler option (-include, -imacros, ...). */
static bool reads_headers(const kiln__definition *def)
{
    for (size_t k = 0; k < def->option_count; k++) {
        if (strstr(def->options[k], "include") != NULL ||
            strstr(def->options[k], "imacros") != NULL)
            return true;
    }
    return def->includes;
}

/* ---- the one entry ---- */

kiln_status kiln__assign_scan(kiln__definition *def, const kiln__scan *scan, kiln_error *err)
{
    const kiln__tokens *op = &scan->text[scan->statements];
    bool hopeless = false;
    kiln_status status = macros_interfere(def, scan, &hopeless, err);
    size_t *order = status == KILN_OK ? kiln__alloc((op->count + 1) * sizeof *order) : NULL;
    prover p = {.def = def, .t = op, .order = order, .includes = reads_headers(def)};

    if (status != KILN_OK)
        return status;
    if (order == NULL)
        return kiln__fail_memory(err, (op->count + 1) * sizeof *order);
    for (size_t k = 0; k < op->count; k++) {
        if (op->items[k].directive == 0)
            order[p.count++] = k;
    }
    hopeless = hopeless || has_other_directives(op);
    for (int s = 0; s < KILN__SCAN_COUNT; s++)
        hopeless = hopeless || scan->text[s].doubtful;
    for (size_t k = 0; k < def->param_count; k++) {
        kiln__param *param = &def->params[k];

        p.name = param->name;
        param->read_first = param->output && (param->raw || hopeless || !always_assigned(&p));
    }
    kiln__free(order);
    return KILN_OK;
}
