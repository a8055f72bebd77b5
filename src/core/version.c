/*
 * version.c - what the library says of itself, and the door through which its texts are freed.
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
