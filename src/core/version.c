/*
 * version.c - kiln_version() and kiln_free(), the function with which users free texts and lists of
 * the library.
 */
#include "core/core.h"

const char *kiln_version(void)
{
    return KILN_VERSION_STRING;
}

void kiln_free(void *text)
{
    kiln__free(text);
}
