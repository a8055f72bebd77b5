/*
 * caret.c - point at the token that is at fault.
 *
 *     T x, T y, flaot32 a
 *               ^~~~~~~
 *
 * The caret line repeats the tabs of the line above it and counts a UTF-8 character as one column,
 * so that the caret stands right in a terminal whatever its tab width.
 */
#include "core/core.h"

/* What a terminal may be shown: control characters other than tabs would move the cursor. */
static char printable(char c)
{
    bool control = ((unsigned char)c < 0x20 && c != '\t') || c == 0x7F;

    return (char)(control ? ' ' : c);
}

char *kiln__caret(const char *text, size_t at, size_t width)
{
    kiln__buf out = KILN__BUF_INIT;
    size_t length = strlen(text);

    if (at > length)
        at = length;
    size_t begin = at;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    size_t end = at + strcspn(text + at, "\n");
    if (end > begin && text[end - 1] == '\r')
        end--;
    if (at > end)
        at = end;
    /* A caret inside a character stands under that character. */
    while (at > begin && at < end && kiln__utf8_continues(text[at]))
        at--;
    size_t stop = width < end - at ? at + width : end;

    for (size_t k = begin; k < end; k++)
        kiln__buf_putc(&out, printable(text[k]));
    kiln__buf_putc(&out, '\n');
    for (size_t k = begin; k < at; k++) {
        if (!kiln__utf8_continues(text[k]))
            kiln__buf_putc(&out, text[k] == '\t' ? '\t' : ' ');
    }
    kiln__buf_putc(&out, '^');
    for (size_t k = at + 1; k < stop; k++) {
        if (!kiln__utf8_continues(text[k]))
            kiln__buf_putc(&out, '~');
    }
    return kiln__buf_take(&out);
}

size_t kiln__word_bytes(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return strspn(text, letters);
}

char *kiln__caret_word(const char *text, size_t at)
{
    const size_t width = at < strlen(text) ? kiln__word_bytes(text + at) : 0;

    return kiln__caret(text, at, width > 0 ? width : 1);
}
