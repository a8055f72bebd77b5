/*
 * fault_text.c - rewrites a program so that the assembler sees no negation in it.
 *
 *     nvrtc.c: compile > a fault is found > [text] > compile again
 *
 * Wherever the source negates, `-x` becomes `kiln__minus()->*x`, which subtracts from a number that
 * is 0 in constant memory: the compiler cannot know that, and a subtraction is no negation. The
 * operator ->* binds tighter than every binary operator but not than what stands behind a minus
 * (calls, indices, casts), so nothing but the sign itself needs to be found: no expression is
 * parsed.
 * `0 - x` becomes `kiln__zero - x`, and `T(0) - x` is treated in the same way.
 *
 * Some signs are left unchanged: those in macros and in headers, a minus behind ')' (the end of an
 * operand, or of a cast) and one behind ! or ~. If the fault is then found again, the caller
 * compiles without optimisation.
 *
 * Rule: the result either means the same as the source or does not compile. All lines keep their
 *       numbers.
 */
#include "device/cuda/fault.h"

/* Only integers that are promoted to int are subtracted from zero, because minima and maxima of 32
 * bits are made of them. Other types, and constant expressions, are negated as before. */
static const char head[] =
    "struct kiln__minus {}; __constant__ int kiln__zero; "
    "template <class T> __device__ __forceinline__ constexpr auto operator->*(kiln__minus, "
    "const T &v) -> decltype(-v) { return -v; } "
#define OF(type)                                                                                   \
    "__device__ __forceinline__ constexpr auto operator->*(kiln__minus, " type " v) "              \
    "-> decltype(-v) { return __builtin_is_constant_evaluated() ? -v : kiln__zero - v; } "
    OF("int") OF("unsigned int") OF("short") OF("unsigned short") OF("signed char")
    OF("unsigned char") OF("char") OF("bool")
#undef OF
    "\n#line 1\n";

/* What precedes the current position. */
typedef enum before {
    BEFORE_OPERATOR, /* or nothing: a minus is a sign */
    BEFORE_OPERAND,  /* a minus subtracts, or it cannot be told */
    BEFORE_ZERO      /* a 0 of its own, which something may be subtracted from */
} before;

static bool is_word(char c)
{
    return kiln__is_word_byte(c) || c == '$' || (unsigned char)c >= 0x80;
}

/* The end of the comment, literal or preprocessor line that begins at `p`; `p` when none does. */
static const char *skip_opaque(const char *p, bool line_start)
{
    const char *end;

    if (p[0] == '/' && p[1] == '*') {
        end = strstr(p + 2, "*/");
        return end != NULL ? end + 2 : p + strlen(p);
    }
    if ((p[0] == '/' && p[1] == '/') || (line_start && p[0] == '#')) {
        for (end = p; *end != '\0' && *end != '\n'; end++)
            if (*end == '\\' && end[1] == '\n')
                end++;
        return end;
    }
    if (*p != '"' && *p != '\'')
        return p;
    for (end = p + 1; *end != '\0' && *end != '\n' && *end != *p; end++)
        if (*end == '\\' && end[1] != '\0')
            end++;
    return *end == *p ? end + 1 : end;
}

/* The end of the raw string whose '"' is at `p`. */
static const char *skip_raw(const char *p)
{
    const size_t width = strcspn(p + 1, "( )\\\n");
    const char *end = p + 1 + width;

    if (*end != '(')
        return skip_opaque(p, false);
    while ((end = strchr(end + 1, ')')) != NULL)
        if (strncmp(end + 1, p + 1, width) == 0 && end[1 + width] == '"')
            return end + 2 + width;
    return p + strlen(p);
}

/* The end of the word or number at `p`, and what a minus behind it means. */
static const char *skip_word(const char *p, before *state)
{
    static const char *const words[] = {"return", "case", "else", "do", "throw"};
    const char *end = p;

    while (is_word(*end) ||
           (kiln__is_digit(*p) &&
            (*end == '.' || (*end == '\'' && is_word(end[1])) ||
             ((*end == '-' || *end == '+') && strchr("eEpP", end[-1]) != NULL && p[1] != 'x'))))
        end++;
    if (*end == '"' && end[-1] == 'R') {
        *state = BEFORE_OPERAND;
        return skip_raw(end);
    }
    const bool alone = *state == BEFORE_OPERATOR && end - p == 1 && *p == '0';
    *state = alone ? BEFORE_ZERO : BEFORE_OPERAND;
    for (size_t k = 0; k < KILN_COUNT_OF(words); k++)
        if (kiln__same_word(p, (size_t)(end - p), words[k]))
            *state = BEFORE_OPERATOR;
    return end;
}

/* What a minus behind the operator or bracket at `p` means. */
static before after_mark(char c, before state)
{
    if (strchr(" \t\r\n\v\f", c) != NULL)
        return state;
    return strchr("(,=?:{;[<>&|^+-*/%", c) != NULL ? BEFORE_OPERATOR : BEFORE_OPERAND;
}

/* Whether the operator in front binds no tighter than a subtraction, so that `0 - x` behind it is a
 * subtraction. */
static bool is_loose(char c)
{
    return strchr("(,=?:{;[<>&|^", c) != NULL;
}

char *kiln__fault_text(const char *source)
{
    kiln__buf out = KILN__BUF_INIT;
    before state = BEFORE_OPERATOR;
    bool line_start = true, loose = true;

    kiln__buf_puts(&out, head);
    for (const char *p = source; *p != '\0';) {
        const char *end = skip_opaque(p, line_start);
        const bool opaque = end != p;
        const bool minus = *p == '-' && strchr("-=>", p[1]) == NULL;
        const char *next = p + 1 + strspn(p + (*p != '\0'), " \t");

        line_start = *p == '\n' || (line_start && (*p == ' ' || *p == '\t'));
        if (opaque) {
            state = *p == '"' || *p == '\'' ? BEFORE_OPERAND : state;
            kiln__buf_put(&out, p, (size_t)(end - p));
        } else if (is_word(*p)) {
            const before was = state;
            end = skip_word(p, &state);
            const bool enclosed = p > source && p[-1] == '(' && *end == ')'; /* T(0) - x */
            const char *behind = end + enclosed;
            behind += strspn(behind, " \t");
            const bool zero = state == BEFORE_ZERO && was == BEFORE_OPERATOR &&
                              (loose || enclosed) && *behind == '-' &&
                              strchr("-=>", behind[1]) == NULL;
            loose = state == BEFORE_OPERATOR;
            if (zero)
                kiln__buf_puts(&out, "kiln__zero");
            else
                kiln__buf_put(&out, p, (size_t)(end - p));
        } else if (minus && state == BEFORE_OPERATOR && !kiln__is_digit(*next) && *next != '.') {
            end = p + 1;
            state = BEFORE_OPERAND; /* a second sign stays */
            kiln__buf_puts(&out, "kiln__minus()->*");
        } else {
            const bool doubled = (*p == '-' || *p == '+') && p[1] == *p; /* -- and ++ */
            end = p + 1 + doubled;
            state = doubled ? BEFORE_OPERAND : after_mark(*p, state);
            loose = strchr(" \t\r\n\v\f", *p) != NULL ? loose : is_loose(*p);
            kiln__buf_put(&out, p, (size_t)(end - p));
        }
        p = end;
    }
    return kiln__buf_take(&out);
}
