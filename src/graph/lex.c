/*
 * lex.c - the tokens of expressions, and errors that point into the text.
 *
 * Numbers are written as in Python: 12, 1_000, 0x1f, 0b101, 2.5e-3, 1.5j. A text stands in single
 * or double quotes and has no escapes. Of several operators that match, the longest is taken. All
 * files of the parser use it, most of them for its errors.
 *
 * Test: test_expression.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/parse.h"

enum { NUMBER_BYTES = 64 };

/* Longest first. */
static const char *const marks[] = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "...", "+",
                                    "-",  "*",  "/",  "%",  "@",  "&",  "|",  "^",  "~",   "<",
                                    ">",  "(",  ")",  "[",  "]",  ",",  ":",  ";",  "=",   "."};

bool kiln__is_mark(const kiln__parser *p, const char *mark)
{
    return p->token.kind == KILN__TOKEN_MARK && strcmp(p->token.mark, mark) == 0;
}

bool kiln__is_word(const kiln__parser *p, const char *word)
{
    return p->token.kind == KILN__TOKEN_NAME &&
           kiln__same_word(p->text + p->token.at, p->token.width, word);
}

kiln_status kiln__parse_fail(const kiln__parser *p, size_t at, size_t width, kiln_status status,
                             const char *fmt, ...)
{
    char message[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return kiln__fail_at(p->err, status, p->text, at, width, "expression, column %zu: %s", at + 1,
                         message);
}

kiln_status kiln__unexpected(const kiln__parser *p, const char *wanted)
{
    const int shown = p->token.width < 40 ? (int)p->token.width : 40;
    if (p->token.kind == KILN__TOKEN_END)
        return kiln__parse_fail(p, p->token.at, 1, KILN_ERR_SYNTAX, "%s is missing at the end",
                                wanted);
    return kiln__parse_fail(p, p->token.at, p->token.width, KILN_ERR_SYNTAX,
                            "%s is missing before `%.*s`", wanted, shown, p->text + p->token.at);
}

kiln_status kiln__expect(kiln__parser *p, const char *mark)
{
    char wanted[16];
    if (kiln__is_mark(p, mark))
        return kiln__next_token(p);
    snprintf(wanted, sizeof wanted, "`%s`", mark);
    return kiln__unexpected(p, wanted);
}

/* Step over the comma behind an item. Where the text ends, its closing bracket is what is missing. */
kiln_status kiln__expect_comma(kiln__parser *p, const char *close)
{
    const bool ends = p->token.kind == KILN__TOKEN_END || kiln__is_mark(p, ";");
    return kiln__expect(p, ends ? close : ",");
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* How many bytes belong to the number at `s`: all letters, digits, points and exponent signs, so
 * that an error shows the whole of what is no number. */
static size_t number_width(const char *s)
{
    size_t n = 0;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X' || s[1] == 'b' || s[1] == 'B')) {
        n = 2;
        while (kiln__is_word_byte(s[n]))
            n++;
        return n;
    }
    for (;; n++) {
        const bool exponent_sign =
            (s[n] == '+' || s[n] == '-') && n > 0 && (s[n - 1] == 'e' || s[n - 1] == 'E');
        if (!kiln__is_word_byte(s[n]) && s[n] != '.' && !exponent_sign)
            return n;
    }
}

/* Copy the digits without the underscores between them. */
static bool copy_digits(const char *s, size_t width, char *out)
{
    size_t used = 0;
    if (width >= NUMBER_BYTES)
        return false;
    for (size_t k = 0; k < width; k++) {
        if (s[k] != '_')
            out[used++] = s[k];
        else if (k + 1 >= width || s[k + 1] == '_' || s[k + 1] == '.')
            return false;
    }
    out[used] = '\0';
    return true;
}

static bool read_integer(const char *digits, kiln_node *out)
{
    const char *start = digits;
    char *end = NULL;
    int base = 10;
    if (digits[0] == '0' && (digits[1] | 32) == 'x') {
        base = 16;
        start += 2;
    } else if (digits[0] == '0' && (digits[1] | 32) == 'b') {
        base = 2;
        start += 2;
    }
    errno = 0;
    const unsigned long long v = strtoull(start, &end, base);
    if (end == start || *end != '\0' || errno != 0)
        return false;
    *out = v <= INT64_MAX ? kiln_node_of_int((int64_t)v) : kiln_node_of_uint(v);
    return true;
}

static bool read_float(const char *digits, kiln_node *out)
{
    char *end = NULL;
    const double v = strtod(digits, &end);
    if (end == digits || (digits[0] == '0' && (digits[1] | 32) == 'x'))
        return false;
    if ((*end == 'j' || *end == 'J') && end[1] == '\0') {
        *out = kiln_node_of_complex(0.0, v);
        return true;
    }
    *out = kiln_node_of_float(v);
    return *end == '\0';
}

static kiln_status lex_number(kiln__parser *p)
{
    kiln__token *t = &p->token;
    char digits[NUMBER_BYTES];

    t->kind = KILN__TOKEN_NUMBER;
    t->width = number_width(p->text + t->at);
    if (!copy_digits(p->text + t->at, t->width, digits))
        return kiln__parse_fail(p, t->at, t->width, KILN_ERR_SYNTAX, "this is no number");
    const bool integer = strspn(digits, "0123456789") == strlen(digits) ||
                         (digits[0] == '0' && strchr("xXbB", digits[1]) != NULL);
    if (integer ? read_integer(digits, &t->number) : read_float(digits, &t->number))
        return KILN_OK;
    return kiln__parse_fail(p, t->at, t->width, KILN_ERR_SYNTAX,
                            integer ? "this is no integer that fits 64 bits" : "this is no number");
}

/* A text as einsum's, up to the next quote of its kind. */
static kiln_status lex_text(kiln__parser *p)
{
    kiln__token *t = &p->token;
    const char *s = p->text + t->at, *end = strchr(s + 1, *s);

    t->kind = KILN__TOKEN_TEXT;
    t->width = end != NULL ? (size_t)(end - s) + 1 : strlen(s);
    if (end == NULL)
        return kiln__parse_fail(p, t->at, t->width, KILN_ERR_SYNTAX, "this text has no end");
    return KILN_OK;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

kiln_status kiln__next_token(kiln__parser *p)
{
    kiln__token *t = &p->token;
    size_t at = t->at + t->width;

    p->behind = at;
    while (kiln__is_blank(p->text[at]))
        at++;
    memset(t, 0, sizeof *t);
    t->at = at;
    const char *s = p->text + at;
    if (*s == '\0') {
        t->kind = KILN__TOKEN_END;
        return KILN_OK;
    }
    if (kiln__is_digit(*s) || (*s == '.' && kiln__is_digit(s[1])))
        return lex_number(p);
    if (*s == '"' || *s == '\'')
        return lex_text(p);
    if (kiln__is_word_byte(*s)) {
        t->kind = KILN__TOKEN_NAME;
        while (kiln__is_word_byte(s[t->width]))
            t->width++;
        return KILN_OK;
    }
    for (size_t k = 0; k < KILN_COUNT_OF(marks); k++) {
        const size_t bytes = strlen(marks[k]);
        if (strncmp(s, marks[k], bytes) != 0)
            continue;
        t->kind = KILN__TOKEN_MARK;
        t->width = bytes;
        memcpy(t->mark, marks[k], bytes);
        return KILN_OK;
    }
    return kiln__parse_fail(p, at, 1, KILN_ERR_SYNTAX,
                            *s == '!' ? "write ~ or logical_not(...) for `!`"
                                      : "this character has no meaning in an expression");
}
