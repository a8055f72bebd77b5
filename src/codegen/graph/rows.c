/*
 * rows.c - which reductions and loops become one row program.
 */
#include "codegen/graph/build.h"

void kiln__find_rows(kiln__build *b)
{
    (void)b;
}
