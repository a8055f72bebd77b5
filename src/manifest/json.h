/*
 * json.h - strict JSON on one line. Private to src/manifest.
 *
 * A cursor over a line; each function takes one thing and moves on, or fails with a message and
 * the bytes to blame. Strict means RFC 8259: no comments, no trailing commas, no control characters
 * in strings, UTF-8 without surrogates or overlong forms, no names given twice.
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

/* The next byte behind blanks, not taken; 0 at the end. */
char kiln__json_peek(kiln__json *j);

/* Take `c`, or fail with what was `wanted`. */
bool kiln__json_expect(kiln__json *j, char c, const char *wanted);

/* Take a string; its text lives in the arena. `at` of the word is behind the quote. */
bool kiln__json_string(kiln__json *j, kiln__manifest_word *out);
/* The byte of `line` at which byte `nth` of a string's text begins; `at` is behind the quote, and
 * the string was taken before. */
size_t kiln__json_place(const char *line, size_t bytes, size_t at, size_t nth);
bool kiln__json_bool(kiln__json *j, bool *out);
/* A whole number from `low` to `high`. */
bool kiln__json_integer(kiln__json *j, int64_t low, int64_t high, int64_t *out);
bool kiln__json_null(kiln__json *j); /* when the next word is null, take it */

/* Lists: begin, then next before each item until it is false; look at `failed` afterwards. */
bool kiln__json_begin(kiln__json *j, char open, const char *wanted);
bool kiln__json_next(kiln__json *j, char close, bool *first);

/* What the fields of a kind say of a name: '!' required, '=' a flag of calls, with this bit, ' ' neither,
 * 0 that it has no such field. (read.c) */
char kiln__manifest_mark(const kiln__manifest_kind *kind, const char *name, unsigned *bit);

#endif
