/*
 * prelude.h - choose the parts of templates/prelude/ that a kernel needs. Private to src/codegen.
 */
#ifndef KILN_CODEGEN_PRELUDE_H
#define KILN_CODEGEN_PRELUDE_H

#include "codegen/codegen.h"

/* Append the sections that the dtypes, the layout and the words of the snippets call for, in the
 * order of templates/prelude/sections.def. */
void kiln__prelude_put(const kiln__definition *def, const kiln__variant *variant, kiln__buf *out);

#endif
