/*
 * expressions.h - the expressions of expressions.txt, made into kernels and compiled without a
 * device. For test_prelude.c (all in one kernel) and test_prelude_each.c (one by one).
 */
#ifndef KILN_TESTS_EXPRESSIONS_H
#define KILN_TESTS_EXPRESSIONS_H

#include "codegen/codegen.h"
#include "device/device.h"

enum { EXPRESSIONS_MAX = 1024 };

/* Statements, each with the types and variables that it needs. */
typedef struct expressions {
    size_t count;
    char *text[EXPRESSIONS_MAX];
} expressions;

/* Fails the running test when the file cannot be read. */
void expressions_load(expressions *e);
void expressions_free(expressions *e);

/* Append a function of `name`, or the body alone when it is NULL, that runs `text` on numbers that
 * no compiler knows and keeps what it gives. The body reads and writes a double called sum. */
void expressions_put(const char *text, const char *name, kiln__buf *out);

/* The source of an elementwise kernel "float64 sum" of these snippets, contiguous. Heap text. */
char *expressions_source(kiln_backend backend, const char *preamble, const char *op);

/* Compile; fails the running test with the log (and `what`) when the compiler refuses, or warns of
 * a line that is not the user's. False when there is no such compiler. */
bool expressions_compile(const kiln__target *target, const char *source, const char *what);

#endif
