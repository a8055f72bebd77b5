/*
 * prelude.h - choose the parts of templates/prelude/ that a kernel needs. Private to src/codegen.
 */
#ifndef KILN_CODEGEN_PRELUDE_H
#define KILN_CODEGEN_PRELUDE_H

#include "codegen/codegen.h"

/* Append the sections that are needed for the dtypes, the layout and the words of the snippets, and
 * those that these need in turn, each once and in the order of the table. Words that the snippets,
 * or headers that they include, declare themselves are left out. Running out of memory sets
 * out->failed. */
void kiln__prelude_put(const kiln__definition *def, const kiln__variant *variant, kiln__buf *out);

/* Append a snippet's text, with insertions that make its integer divisions safe on the cpu device.
 * Returns the number of insertions, SIZE_MAX without memory. `out` may be NULL. (guard.c) */
size_t kiln__guard_put(const kiln__definition *def, const kiln__variant *variant, const char *text,
                       kiln__buf *out);

/* The word with which such an insertion begins; it ends with the next '/', '%' or '='. */
#define KILN__GUARD_WORD "kiln__by"

#endif
