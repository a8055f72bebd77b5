/*
 * guard.c - integer divisions of snippets that cannot end the process, on the cpu device.
 *
 *     plan > [emit: guard] > compile
 *
 * An x86 processor raises SIGFPE for an integer divided by 0, and for the least integer by -1. There is
 * no overloading an operator of int; but what stands between two operators of the same precedence may be
 * of a class:
 *
 *     a / b      a /kiln__by/ b          (a / kiln__by) / b, where / of any type and kiln__by is ours
 *     a % b      a %kiln__by% b
 *     a /= b     a /=kiln__by_of(a)= b   a /= (kiln__by_of(a) = b)
 *
 * So no expression has to be understood, and the types decide, at compile time (checked_divide.cpu.h):
 * whatever is no integer is divided as it was.
 *
 * Rule 1: where an operand is surely floating point, or the divisor a number other than 0, the text
 *         stays as it is: most kernels have no other divisions.
 * Rule 2: every insertion begins with "kiln__by" and ends with the first '/', '%' or '=' after that, so
 *         that diagnose.c can tell users where things stand in their own text.
 * Rule 3: where the user defines an operator of division, or a header might, nothing is changed:
 *         templates of theirs may fit what we put in as well as ours do.
 *
 * emit.c, prelude.c and module_text.c call this file. Test: test_elementwise_divide.
 */
#include <stdlib.h>

#include "codegen/lexer.h"
#include "codegen/prelude.h"

typedef struct guard {
    const kiln__definition *def;
    const kiln__variant *v;
    const kiln__tokens *t;
} guard;

static const char *word_at(const kiln__tokens *t, size_t k)
{
    return k < t->count && t->items[k].kind == KILN__TOKEN_WORD ? kiln__token_text(t, k) : NULL;
}

static bool is_mark(const kiln__tokens *t, size_t k, const char *const *marks)
{
    for (; k < t->count && *marks != NULL; marks++)
        if (kiln__token_is(t, k, *marks))
            return true;
    return false;
}

static bool is_float_dtype(kiln_dtype dtype)
{
    return kiln_dtype_kind(dtype) == 'f' || kiln_dtype_kind(dtype) == 'c';
}

/* Whether `word` names a type that is floating point, be it as a placeholder. */
static bool is_float_type(const guard *g, const char *word)
{
    for (size_t p = 0; p < g->def->param_count; p++)
        if (word[0] == g->def->params[p].placeholder && word[1] == '\0')
            return is_float_dtype((kiln_dtype)g->v->dtype[p]);
    const kiln_dtype dtype = kiln_dtype_from_name(word, strlen(word));
    return dtype != KILN_DTYPE_NONE && is_float_dtype(dtype);
}

/* Whether `name` is floating point wherever this text has it: an input or output that is, or a
 * variable declared with such a type, and never with another. */
static bool is_float_name(const guard *g, const char *name)
{
    static const char *const no_types[] = {"return", "else", "do", "const", "goto", "case", NULL};
    bool is = false;

    for (size_t p = 0; p < g->def->param_count; p++)
        if (strcmp(g->def->params[p].name, name) == 0 && !g->def->params[p].raw)
            is = is_float_dtype((kiln_dtype)g->v->dtype[p]);
    for (size_t k = 1; k < g->t->count; k++) {
        if (!kiln__token_is(g->t, k, name))
            continue;
        const size_t type = kiln__token_is(g->t, k - 1, "&") && k > 1 ? k - 2 : k - 1;
        const char *word = word_at(g->t, type);
        if (word == NULL || is_mark(g->t, type, no_types))
            continue;
        if (!is_float_type(g, word))
            return false;
        is = true;
    }
    return is;
}

/* Whether the divisor that begins at `k` is floating point, or a number that is not 0. */
static bool is_safe_divisor(const guard *g, size_t k)
{
    static const char *const goes_on[] = {".", "->", "[", "(", "::", "<", NULL};
    const char *word = word_at(g->t, k);

    if (k < g->t->count && g->t->items[k].kind == KILN__TOKEN_NUMBER)
        return strtod(kiln__token_text(g->t, k), NULL) != 0;
    return word != NULL && !is_mark(g->t, k + 1, goes_on) && is_float_name(g, word);
}

/* Whether the dividend that ends at `k` is floating point. What stands before a name may make it a
 * part of something that is not: (int)x, p.x, !x. */
static bool is_float_dividend(const guard *g, size_t k)
{
    static const char *const harmless[] = {"=",  "(",  ",",  "+",      "-", "*", "/",
                                           "+=", "-=", "*=", "{",      ";", "}", "?",
                                           "<=", ">=", "==", "return", NULL};
    const char *text = kiln__token_text(g->t, k);

    if (g->t->items[k].kind == KILN__TOKEN_NUMBER)
        return strpbrk(text, ".") != NULL && strpbrk(text, "xX") == NULL;
    return word_at(g->t, k) != NULL && (k == 0 || is_mark(g->t, k - 1, harmless)) &&
           is_float_name(g, text);
}

static const char *const DIVIDES[] = {"/", "%", "/=", "%=", NULL};

/* Whether the division at `k` is to be changed. */
static bool is_guarded(const guard *g, size_t k)
{
    static const char *const parts[] = {".", "->", "::", NULL};

    if (k == 0 || k + 1 >= g->t->count || g->t->items[k].directive != 0 ||
        !is_mark(g->t, k, DIVIDES))
        return false;
    if (kiln__token_text(g->t, k)[1] == '=' &&
        (word_at(g->t, k - 1) == NULL || (k > 1 && is_mark(g->t, k - 2, parts))))
        return false; /* what is assigned is looked at twice, so it must be a name */
    return !is_safe_divisor(g, k + 1) && !is_float_dividend(g, k - 1);
}

static void put_guard(const guard *g, size_t k, kiln__buf *out)
{
    const char *mark = kiln__token_text(g->t, k);

    if (mark[1] == '=')
        kiln__buf_printf(out, KILN__GUARD_WORD "_of(%s)=", kiln__token_text(g->t, k - 1));
    else
        kiln__buf_printf(out, KILN__GUARD_WORD "%c", mark[0]);
}

/* Whether division may be an operator of the user's. */
static bool defines_division(const kiln__definition *def, bool *failed)
{
    kiln__tokens t;
    bool found = def->includes;

    for (int s = 0; s < KILN__SNIPPET_COUNT && !found; s++) {
        if (strstr(def->snippet[s], "operator") == NULL)
            continue;
        kiln__lex(def->snippet[s], KILN__LEX_CPP, &t);
        *failed = *failed || t.failed;
        for (size_t k = 1; k < t.count && !found; k++)
            found = kiln__token_is(&t, k - 1, "operator") && is_mark(&t, k, DIVIDES);
        kiln__tokens_clear(&t);
    }
    return found;
}

size_t kiln__guard_put(const kiln__definition *def, const kiln__variant *v, const char *text,
                       kiln__buf *out)
{
    size_t done = 0, count = 0;
    bool failed = false;
    kiln__tokens t;

    if (v->backend == KILN_BACKEND_CPU && strpbrk(text, "/%") != NULL &&
        !defines_division(def, &failed)) {
        kiln__lex(text, KILN__LEX_CPP, &t);
        const guard g = {def, v, &t};
        for (size_t k = 0; k < t.count && !t.failed && !t.doubtful; k++) {
            if (!is_guarded(&g, k))
                continue;
            const size_t end = t.items[k].at + t.items[k].bytes;
            if (out != NULL) {
                kiln__buf_put(out, text + done, end - done);
                put_guard(&g, k, out);
            }
            done = end;
            count++;
        }
        failed = failed || t.failed;
        kiln__tokens_clear(&t);
    }
    if (failed && out != NULL)
        out->failed = true;
    if (out != NULL)
        kiln__buf_puts(out, text + done);
    return failed ? SIZE_MAX : count;
}
