/*
 * text_rows.c - the definition of a row program.
 */
#include "codegen/graph/write.h"

void kiln__write_rows(kiln__writer *w)
{
    kiln__build_fail(w->b, 0, KILN_ERR_INTERNAL, "no row program is made");
}
