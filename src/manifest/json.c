/*
 * json.c - a strict parser of JSON on one line (json.h). read.c calls it for each line of a
 * manifest. Test: test_manifest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "manifest/json.h"

/* ---- failures ---------------------------------------------------------------------------------- */

bool kiln__json_fail(kiln__json *j, size_t at, size_t width, const char *fmt, ...)
{
    va_list ap;

    if (j->failed)
        return false;
    j->failed = true;
    j->bad_at = at;
    j->bad_width = width;
    va_start(ap, fmt);
    vsnprintf(j->why, sizeof j->why, fmt, ap);
    va_end(ap);
    return false;
}

static bool fail_memory(kiln__json *j)
{
    j->no_memory = true;
    return kiln__json_fail(j, j->at, 0, "the host is out of memory");
}

/* ---- words ------------------------------------------------------------------------------------- */

char kiln__json_peek(kiln__json *j)
{
    while (j->at < j->bytes && (j->line[j->at] == ' ' || j->line[j->at] == '\t' ||
                                j->line[j->at] == '\r'))
        j->at++;
    return j->at < j->bytes ? j->line[j->at] : '\0';
}

/* How wide the thing under the cursor is, for carets: a word, a string or one byte. */
static size_t width_here(const kiln__json *j)
{
    size_t end = j->at;

    while (end < j->bytes && strchr(" \t\r,:[]{}\"", j->line[end]) == NULL)
        end++;
    return end > j->at ? end - j->at : j->at < j->bytes ? 1 : 0;
}

static bool fail_here(kiln__json *j, const char *wanted)
{
    const char c = kiln__json_peek(j);
    const size_t width = width_here(j);

    if (j->at >= j->bytes)
        return kiln__json_fail(j, j->at, 0, "%s is missing: the line ends here", wanted);
    if (c == '"')
        return kiln__json_fail(j, j->at, 1, "%s is expected here, not a string", wanted);
    /* Bytes that are no text must not reach a message. */
    if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7f)
        return kiln__json_fail(j, j->at, 1, "%s is expected here", wanted);
    return kiln__json_fail(j, j->at, width, "%s is expected here, not `%.*s`", wanted,
                           (int)(width < 40 && kiln__utf8_check(j->line + j->at, width)
                                     ? width
                                     : 1),
                           j->line + j->at);
}

bool kiln__json_expect(kiln__json *j, char c, const char *wanted)
{
    if (j->failed)
        return false;
    if (kiln__json_peek(j) != c || j->at >= j->bytes)
        return fail_here(j, wanted);
    j->at++;
    return true;
}

static bool take_word(kiln__json *j, const char *word)
{
    const size_t width = strlen(word);

    (void)kiln__json_peek(j);
    if (width_here(j) != width || memcmp(j->line + j->at, word, width) != 0)
        return false;
    j->at += width;
    return true;
}

bool kiln__json_bool(kiln__json *j, bool *out)
{
    if (j->failed)
        return false;
    *out = take_word(j, "true");
    return *out || take_word(j, "false") || fail_here(j, "true or false");
}

bool kiln__json_null(kiln__json *j)
{
    return !j->failed && take_word(j, "null");
}

bool kiln__json_integer(kiln__json *j, int64_t low, int64_t high, int64_t *out)
{
    char digits[24];

    if (j->failed)
        return false;
    (void)kiln__json_peek(j);
    size_t width = width_here(j);
    const char *word = j->line + j->at;
    const size_t sign = width > 0 && word[0] == '-';
    if (width == sign || width >= sizeof digits)
        return fail_here(j, "a whole number");
    for (size_t k = sign; k < width; k++)
        if (word[k] < '0' || word[k] > '9')
            return fail_here(j, "a whole number");
    memcpy(digits, word, width);
    digits[width] = '\0';
    *out = width - sign <= 18 ? strtoll(digits, NULL, 10) : sign ? INT64_MIN : INT64_MAX;
    if ((width > sign + 1 && word[sign] == '0') || *out < low || *out > high)
        return kiln__json_fail(j, j->at, width, "a whole number from %lld to %lld is expected here",
                               (long long)low, (long long)high);
    j->at += width;
    return true;
}

bool kiln__json_begin(kiln__json *j, char open, const char *wanted)
{
    return kiln__json_expect(j, open, wanted);
}

bool kiln__json_next(kiln__json *j, char close, bool *first)
{
    if (j->failed)
        return false;
    if (kiln__json_peek(j) == close && j->at < j->bytes) {
        j->at++;
        return false;
    }
    if (!*first && !kiln__json_expect(j, ',', close == ']' ? "`,` or `]`" : "`,` or `}`"))
        return false;
    if (!*first && kiln__json_peek(j) == close)
        return kiln__json_fail(j, j->at, 1, "nothing stands between this and the comma before it");
    *first = false;
    return true;
}

/* ---- strings ----------------------------------------------------------------------------------- */

static int hex4(const char *text, size_t room)
{
    int value = 0;

    if (room < 4)
        return -1;
    for (int k = 0; k < 4; k++) {
        const char c = text[k];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        value = 16 * value + digit;
    }
    return value;
}

static size_t put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* \uXXXX at `at`, with its second half when it has one. Bytes written to `to`, 0 on failure. */
static size_t take_unicode(kiln__json *j, char *to)
{
    const size_t start = j->at;
    int code = hex4(j->line + j->at + 2, j->bytes - j->at - 2);

    if (code < 0) {
        kiln__json_fail(j, start, 2, "\\u wants four hexadecimal digits");
        return 0;
    }
    j->at += 6;
    if (code >= 0xd800 && code < 0xdc00 && j->bytes - j->at >= 6 && j->line[j->at] == '\\' &&
        j->line[j->at + 1] == 'u') {
        const int low = hex4(j->line + j->at + 2, 4);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            j->at += 6;
        }
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
        kiln__json_fail(j, start, 6, code == 0 ? "a text cannot hold the character U+0000"
                                               : "half of a surrogate pair");
        return 0;
    }
    return put_utf8(to, (unsigned)code);
}

/* One escape at the cursor. Bytes written to `to`, 0 on failure. */
static size_t take_escape(kiln__json *j, char *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char c = j->bytes - j->at >= 2 ? j->line[j->at + 1] : '\0';
    const char *found = c != '\0' ? strchr(from, c) : NULL;

    if (c == 'u')
        return take_unicode(j, to);
    if (found == NULL) {
        kiln__json_fail(j, j->at, 2, "there is no such escape in JSON");
        return 0;
    }
    to[0] = into[found - from];
    j->at += 2;
    return 1;
}

size_t kiln__json_place(const char *line, size_t bytes, size_t at, size_t nth)
{
    kiln__json j = {.line = line, .bytes = bytes, .at = at};
    char decoded[4];

    while (j.at < bytes) {
        const size_t here = j.at;
        size_t n;
        if (line[here] == '\\') {
            n = take_escape(&j, decoded);
        } else {
            n = kiln__utf8_sequence(line + here, bytes - here);
            j.at += n;
        }
        if (n == 0 || n > nth)
            return here;
        nth -= n;
    }
    return bytes;
}

bool kiln__json_string(kiln__json *j, kiln__manifest_word *out)
{
    size_t length = 0, end, n;

    if (!kiln__json_expect(j, '"', "a string"))
        return false;
    const size_t open = j->at - 1;
    /* No longer decoded than written. */
    for (end = j->at; end < j->bytes && j->line[end] != '"'; end++)
        end += j->line[end] == '\\';
    char *text = kiln__arena_alloc(j->arena, (end < j->bytes ? end : j->bytes) - j->at + 1);
    if (text == NULL)
        return fail_memory(j);
    *out = (kiln__manifest_word){text, j->at};
    while (j->at < j->bytes && j->line[j->at] != '"') {
        const unsigned char *c = (const unsigned char *)j->line + j->at;
        if (*c == '\\') {
            n = take_escape(j, text + length);
        } else if (*c < 0x20) {
            return kiln__json_fail(j, j->at, 1, "a control character in a string must be escaped");
        } else {
            n = kiln__utf8_sequence(j->line + j->at, j->bytes - j->at);
            if (n == 0)
                return kiln__json_fail(j, j->at, 1, "this byte is no UTF-8");
            memcpy(text + length, c, n);
            j->at += n;
        }
        if (n == 0)
            return false;
        length += n;
    }
    if (j->at >= j->bytes)
        return kiln__json_fail(j, open, 1, "this string does not end");
    j->at++;
    text[length] = '\0';
    return true;
}
