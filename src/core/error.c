/*
 * error.c - how a failing call explains itself.
 *
 *     kiln__fail(err, KILN_ERR_SHAPE, "axis %d has ...", ...)  ->  status + caller-owned text
 *
 * Rule 1: a message is one line of valid UTF-8 whatever went into it. Names and file paths come
 *         from the user and may hold any byte.
 * Rule 2: the new text is complete before an old one is freed, because a message may quote the
 *         one it replaces: kiln__fail(err, s, "%s (while copying)", err->message).
 * Rule 3: nothing here fails. A text that finds no memory is left out; the status stays.
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/core.h"

const char *kiln_status_string(kiln_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text)                                                             \
    case KILN_##name:                                                                              \
        return text;
        KILN_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *kiln_status_name(kiln_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                                             \
    case KILN_##name:                                                                              \
        return "KILN_" #name;
        KILN_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown status";
}

/* Make any NUL-terminated bytes one line of UTF-8, in place: control characters become blanks and
 * ill-formed bytes '?'. */
static void make_one_line(char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const size_t length = kiln__utf8_sequence(text, left), step = length != 0 ? length : 1;
        if (length == 0)
            *text = '?';
        else if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = ' ';
        text += step;
        left -= step;
    }
}

/* End a text that vsnprintf has truncated with dots, so that a reader sees that something is
 * missing; they begin where a character begins (at most three bytes back). */
static void mark_truncation(char *text, size_t capacity)
{
    size_t end = capacity - 4; /* "..." and the NUL */

    for (int k = 0; k < 3 && kiln__utf8_continues(text[end]); k++)
        end--;
    memcpy(text + end, "...", 4);
}

static void format_message(char *message, kiln_status status, const char *fmt, va_list ap)
{
    int length = vsnprintf(message, KILN_ERROR_MESSAGE_BYTES, fmt, ap);

    if (length < 0)
        snprintf(message, KILN_ERROR_MESSAGE_BYTES, "%s", kiln_status_string(status));
    else if ((size_t)length >= KILN_ERROR_MESSAGE_BYTES)
        mark_truncation(message, KILN_ERROR_MESSAGE_BYTES);
    make_one_line(message);
}

static void fail_with(kiln_error *err, kiln_status status, char *detail, const char *fmt,
                      va_list ap)
{
    char message[KILN_ERROR_MESSAGE_BYTES];

    format_message(message, status, fmt, ap);
    kiln_error_clear(err);
    err->status = status;
    memcpy(err->message, message, sizeof message);
    err->detail = detail;
}

kiln_status kiln__fail(kiln_error *err, kiln_status status, const char *fmt, ...)
{
    if (err != NULL) {
        va_list ap;
        va_start(ap, fmt);
        fail_with(err, status, NULL, fmt, ap);
        va_end(ap);
    }
    return status;
}

kiln_status kiln__fail_detail(kiln_error *err, kiln_status status, char *detail, const char *fmt,
                              ...)
{
    if (err != NULL) {
        va_list ap;
        va_start(ap, fmt);
        fail_with(err, status, detail, fmt, ap);
        va_end(ap);
    } else {
        kiln__free(detail);
    }
    return status;
}

kiln_status kiln__fail_at(kiln_error *err, kiln_status status, const char *text, size_t at,
                          size_t width, const char *fmt, ...)
{
    if (err != NULL) {
        va_list ap;
        va_start(ap, fmt);
        fail_with(err, status, kiln__caret(text, at, width), fmt, ap);
        va_end(ap);
        err->offset = (int64_t)at;
    }
    return status;
}

bool kiln__is_of_values(kiln_status status)
{
    switch (status) {
    case KILN_ERR_ARGUMENT:
    case KILN_ERR_AXIS:
    case KILN_ERR_DTYPE:
    case KILN_ERR_RANGE:
    case KILN_ERR_SHAPE:
    case KILN_ERR_SINGULAR:
    case KILN_ERR_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

kiln_status kiln__fail_in_column(kiln_error *err, kiln_status status, int column)
{
    char said[KILN_ERROR_MESSAGE_BYTES];

    if (err == NULL || column <= 0 || err->detail != NULL || !kiln__is_of_values(status))
        return status;
    memcpy(said, err->message, sizeof said);
    kiln__fail(err, status, "expression, column %d: %s", column, said);
    err->offset = column - 1;
    return status;
}

kiln_status kiln__fail_memory(kiln_error *err, size_t bytes)
{
    return kiln__fail(err, KILN_ERR_NO_MEMORY, "the host has no memory for %zu bytes", bytes);
}

kiln_status kiln__make_zeroed(void *pointer, size_t count, size_t item_bytes, kiln_error *err)
{
    void *const made = kiln__calloc(count, item_bytes);
    memcpy(pointer, &made, sizeof made);
    return made != NULL ? KILN_OK : kiln__fail_memory(err, count * item_bytes);
}

kiln_status kiln__make_room(void *pointer, size_t bytes, kiln_error *err)
{
    void *const made = kiln__alloc(bytes);
    memcpy(pointer, &made, sizeof made);
    return made != NULL ? KILN_OK : kiln__fail_memory(err, bytes);
}

kiln_status kiln__error_copy(kiln_error *dst, const kiln_error *src)
{
    if (dst == NULL || dst == src)
        return src->status;

    kiln_error_clear(dst);
    dst->status = src->status;
    memcpy(dst->message, src->message, sizeof dst->message);
    dst->offset = src->offset;
    dst->detail = kiln__strdup(src->detail);
    dst->log = kiln__strdup(src->log);
    dst->source = kiln__strdup(src->source);
    return src->status;
}

void kiln_error_clear(kiln_error *err)
{
    if (err == NULL)
        return;
    kiln__free(err->detail);
    kiln__free(err->log);
    kiln__free(err->source);
    *err = (kiln_error)KILN_ERROR_INIT;
}

void kiln_error_print(const kiln_error *err, FILE *out)
{
    if (err == NULL || err->status == KILN_OK)
        return;
    fprintf(out, "%s\n", err->message[0] != '\0' ? err->message : kiln_status_string(err->status));
    if (err->detail != NULL && err->detail[0] != '\0') {
        size_t length = strlen(err->detail);
        fputs(err->detail, out);
        if (err->detail[length - 1] != '\n')
            fputc('\n', out);
    }
}
