/*
 * family.c - the table of families, the kinds of kernels: elementwise, reduction, scan, row
 * program, filter.
 *
 * To add a family, add a row here, its calls (kiln__family_calls) and its half in src/codegen
 * (kiln__family). docs/extending.md lists the steps.
 */
#include "kernel/kernel.h"

/* Loops are first: what a definition is that names no family. */
static const kiln__family_calls *const families[] = {
#define CALLS_OF(family) &kiln__##family##_calls,
    KILN__FAMILIES(CALLS_OF)
#undef CALLS_OF
};

#ifdef KILN_TEST_HOOKS
const kiln__family_calls *kiln__test_family;
#endif

/* The nth family; NULL past the end. */
static const kiln__family_calls *family_at(size_t nth)
{
#ifdef KILN_TEST_HOOKS
    if (nth == KILN_COUNT_OF(families))
        return kiln__test_family;
#endif
    return nth < KILN_COUNT_OF(families) ? families[nth] : NULL;
}

const kiln__family_calls *kiln__calls_of(const kiln__family *family)
{
    const kiln__family_calls *calls = NULL;
    for (size_t k = 0; (calls = family_at(k)) != NULL; k++)
        if (family == NULL || calls->family == family)
            break;
    return calls;
}

const kiln__family *kiln__family_named(const char *name)
{
    const kiln__family_calls *calls = NULL;
    for (size_t k = 0; (calls = family_at(k)) != NULL; k++)
        if (strcmp(calls->family->name, name) == 0)
            return calls->family;
    return NULL;
}

kiln__manifest *kiln__manifest_of_families(void)
{
    kiln__manifest_kind kinds[KILN_COUNT_OF(families) + 1];
    size_t count = 0;

    for (const kiln__family_calls *calls; (calls = family_at(count)) != NULL; count++)
        kinds[count] = kiln__manifest_kind_of(calls->family);
    return kiln__manifest_create(kinds, count);
}
