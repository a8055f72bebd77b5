/*
 * json.h - strict JSON on one line. Private to src/manifest.
 *
 * kiln__json is a cursor over a line. Each function reads one item and moves the cursor behind it,
 * or fails with a message and the bytes at fault. Strict means RFC 8259: no comments, no trailing
 * commas, no control characters in strings, UTF-8 without surrogates or overlong forms, no name
 * given twice.
 */
#ifndef KILN_MANIFEST_JSON_H
#define KILN_MANIFEST_JSON_H

#include "manifest/manifest.h"

typedef struct kiln__json {
    const char *line;
    size_t bytes, at;
    kiln__arena **arena;
    /* The failure, when there is one. */
    bool failed, no_memory;
    size_t bad_at, bad_width;
    char why[256];
} kiln__json;

/* Fail at `at`; keeps the first failure. Returns false. */
bool kiln__json_fail(kiln__json *j, size_t at, size_t width, const char *fmt, ...)
    KILN_PRINTF(4, 5);

/* Skip blanks, and return the byte that follows, without reading it; 0 at the end. */
char kiln__json_peek(kiln__json *j);

/* Read `c`, or fail with a message that names what was `wanted`. */
bool kiln__json_expect(kiln__json *j, char c, const char *wanted);

/* Read a string, whose text is put into the arena. */
bool kiln__json_string(kiln__json *j, kiln__manifest_word *out);
/* The byte of `line` at which byte `nth` of a string's text is. `at` is the byte after the quote of
 * a string that was read before. */
size_t kiln__json_place(const char *line, size_t bytes, size_t at, size_t nth);
bool kiln__json_bool(kiln__json *j, bool *out);
/* Read an integer from `low` to `high`. */
bool kiln__json_integer(kiln__json *j, int64_t low, int64_t high, int64_t *out);
bool kiln__json_null(kiln__json *j); /* read null if it comes next; returns whether it does */

/* Read a list or an object: call _begin, then _next before each item until it returns false, which
 * it also does after a failure (j->failed). */
bool kiln__json_begin(kiln__json *j, char open, const char *wanted);
bool kiln__json_next(kiln__json *j, char close, bool *first);

/* How the fields of a kind list a name: '!' required, '=' a flag of calls with that bit, ' '
 * otherwise, 0 not at all. (read.c) */
char kiln__manifest_mark(const kiln__manifest_kind *kind, const char *name, unsigned *bit);

#endif
