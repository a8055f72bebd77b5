/*
 * prelude.h - choose the parts of templates/prelude/ that a kernel needs. Private to src/codegen.
 */
#ifndef KILN_CODEGEN_PRELUDE_H
#define KILN_CODEGEN_PRELUDE_H

#include "codegen/codegen.h"

/* Append the sections that the dtypes, the layout and the words of the snippets call for, and those
 * that these need, each once and in the order of the table. A word that the snippets or the headers
 * they include declare calls for nothing. Running out of memory shows in out->failed. */
void kiln__prelude_put(const kiln__definition *def, const kiln__variant *variant, kiln__buf *out);

/* guard.c: append a snippet's text with what makes its integer divisions safe on the cpu device.
 * Returns how many were changed, SIZE_MAX without memory; `out` may be NULL. */
size_t kiln__guard_put(const kiln__definition *def, const kiln__variant *variant, const char *text,
                       kiln__buf *out);

/* What kiln__guard_put() puts in: it begins with this word and ends with the next '/', '%' or '='. */
#define KILN__GUARD_WORD "kiln__by"

#endif
