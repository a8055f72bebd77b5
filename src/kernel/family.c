/*
 * family.c - the table of families: what kinds of kernels there are.
 *
 * A new family is a row here, its calls (kiln__family_calls), and its half in src/codegen
 * (kiln__family). docs/extending.md has the steps.
 */
#include "kernel/kernel.h"

/* Loops are first: what a definition is that names no family. */
static const kiln__family_calls *const families[] = {
#define CALLS_OF(family) &kiln__##family##_calls,
    KILN__FAMILIES(CALLS_OF)
#undef CALLS_OF
};

const kiln__family_calls *kiln__calls_of(const kiln__family *family)
{
    for (size_t k = 0; k < KILN_COUNT_OF(families); k++)
        if (family == NULL || families[k]->family == family)
            return families[k];
    return NULL;
}

const kiln__family *kiln__family_named(const char *name)
{
    for (size_t k = 0; k < KILN_COUNT_OF(families); k++)
        if (strcmp(families[k]->family->name, name) == 0)
            return families[k]->family;
    return NULL;
}
