/*
 * values.c - what a word of the command line stands for: a number, a .npy file, a count.
 *
 * Numbers are read with the C locale's rules; the command never calls setlocale().
 */
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* An integer of 64 bits, signed when it fits so. */
static bool integer_parse(const char *text, kiln_arg *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    char *end = NULL;

    if (!isdigit((unsigned char)digits[0]))
        return false;
    errno = 0;
    long long i = strtoll(text, &end, base);
    if (*end == '\0' && errno == 0) {
        *out = kiln_arg_int(i);
        return true;
    }
    errno = 0;
    unsigned long long u = strtoull(text, &end, base);
    if (*end == '\0' && errno == 0 && *text != '-') {
        *out = kiln_arg_uint(u);
        return true;
    }
    return false;
}

/* Whether the text is digits only (a sign aside): such a text must not become a float when it is
 * too large for an integer, for its low digits would be lost in silence. */
static bool is_integer_text(const char *text)
{
    text += *text == '-' || *text == '+';
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A float at the start of `text` as strtod() reads it, but no leading white space and no hex. */
static bool float_parse(const char *text, double *value, const char **end_out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end = NULL;

    if (isspace((unsigned char)digits[0]) ||
        (digits[0] == '0' && tolower((unsigned char)digits[1]) == 'x'))
        return false;
    *value = strtod(text, &end);
    *end_out = end;
    return end != text;
}

bool number_parse(const char *text, kiln_arg *out)
{
    double first = 0.0, second = 0.0;
    const char *end = NULL;

    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        *out = kiln_arg_bool(text[0] == 't');
        return true;
    }
    if (integer_parse(text, out))
        return true;
    if (is_integer_text(text) || !float_parse(text, &first, &end))
        return false;
    if (*end == '\0') {
        *out = kiln_arg_float(first);
        return true;
    }
    if (end[0] == 'j' && end[1] == '\0') {
        *out = kiln_arg_complex(0.0, first);
        return true;
    }
    if ((*end == '+' || *end == '-') && float_parse(end, &second, &end) && end[0] == 'j' &&
        end[1] == '\0') {
        *out = kiln_arg_complex(first, second);
        return true;
    }
    return false;
}

bool is_npy_path(const char *text)
{
    size_t length = strlen(text);
    return length > 4 && strcmp(text + length - 4, ".npy") == 0;
}

bool count_parse(const char *text, bool zero, int64_t max, int64_t *out)
{
    kiln_arg number;
    if (!integer_parse(text, &number) || number.kind != KILN_ARG_INT)
        return false;
    *out = number.value.i;
    return *out >= (zero ? 0 : 1) && *out <= max;
}
