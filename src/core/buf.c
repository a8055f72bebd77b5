/*
 * buf.c - a growing text with a sticky failure and a hard bound.
 *
 * All generated source, cache keys and long messages are built here. Callers append without
 * looking and ask once at the end; after a failure (no memory, bound reached) appends do nothing,
 * so that half a text is never mistaken for a whole one.
 *
 * Rule: the text is NUL-terminated after every call and may hold NULs of its own (keys do).
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/core.h"

#define BUF_BYTES_MAX_DEFAULT ((size_t)64 << 20)
#define BUF_BYTES_FIRST ((size_t)256)

/* Make room for `more` bytes and the NUL behind what is there. */
static bool reserve(kiln__buf *b, size_t more)
{
    size_t limit = b->max_bytes != 0 ? b->max_bytes : BUF_BYTES_MAX_DEFAULT;
    size_t capacity = 0;

    if (b->failed)
        return false;
    if (more > limit || b->length > limit - more) {
        b->failed = true;
        return false;
    }
    size_t needed = b->length + more + 1;
    if (needed <= b->capacity)
        return true;

    /* Doubling keeps appends cheap on average; limit + 1 is all that can ever be needed. */
    capacity = b->capacity != 0 ? b->capacity : BUF_BYTES_FIRST;
    while (capacity < needed)
        capacity *= 2;
    if (capacity > limit + 1)
        capacity = limit + 1;
    char *text = kiln__realloc(b->text, capacity);
    if (text == NULL) {
        b->failed = true;
        return false;
    }
    b->text = text;
    b->capacity = capacity;
    return true;
}

void kiln__buf_put(kiln__buf *b, const char *text, size_t bytes)
{
    if (!reserve(b, bytes))
        return;
    if (bytes != 0)
        memcpy(b->text + b->length, text, bytes);
    b->length += bytes;
    b->text[b->length] = '\0';
}

void kiln__buf_puts(kiln__buf *b, const char *text)
{
    kiln__buf_put(b, text, strlen(text));
}

void kiln__buf_putc(kiln__buf *b, char c)
{
    kiln__buf_put(b, &c, 1);
}

void kiln__buf_vprintf(kiln__buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int length = 0;

    if (!reserve(b, 0))
        return;
    va_copy(again, ap);
    const size_t left = b->capacity - b->length;
    length = vsnprintf(b->text + b->length, left, fmt, ap);
    if (length < 0) {
        b->text[b->length] = '\0';
        b->failed = true;
    } else if ((size_t)length < left) {
        b->length += (size_t)length;
    } else if (reserve(b, (size_t)length)) {
        vsnprintf(b->text + b->length, (size_t)length + 1, fmt, again);
        b->length += (size_t)length;
    } else {
        b->text[b->length] = '\0';
    }
    va_end(again);
}

void kiln__buf_printf(kiln__buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    kiln__buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void kiln__buf_put_number(kiln__buf *b, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        digits[--at] = (char)('0' + rest % 10);
    } while ((rest /= 10) != 0);
    if (number < 0)
        digits[--at] = '-';
    kiln__buf_put(b, digits + at, sizeof digits - at);
}

bool kiln__is_identifier(const char *text)
{
    if (text[0] == '\0' || kiln__is_digit(text[0]))
        return false;
    while (kiln__is_word_byte(*text))
        text++;
    return *text == '\0';
}

char *kiln__buf_take(kiln__buf *b)
{
    char *text = NULL;

    reserve(b, 0); /* An empty buffer gives "", not NULL. */
    if (!b->failed) {
        b->text[b->length] = '\0';
        text = b->text;
        b->text = NULL;
    }
    kiln__buf_clear(b);
    return text;
}

void kiln__buf_clear(kiln__buf *b)
{
    kiln__free(b->text);
    *b = (kiln__buf){NULL, 0, 0, b->max_bytes, false};
}

const char *kiln__bytes_text(size_t bytes, char text[32])
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t at = 0;

    if (bytes == SIZE_MAX)
        return strcpy(text, "none");
    if (bytes < 1024) {
        snprintf(text, 32, "%zu B", bytes);
        return text;
    }
    for (value /= 1024; value >= 1024 && at + 1 < KILN_COUNT_OF(unit); at++)
        value /= 1024;
    snprintf(text, 32, "%.2f %s", value, unit[at]);
    return text;
}
