/*
 * test_data.h - where a test finds its files: $KILN_TEST_DATA, else the tests folder of the
 * source tree. The variable lets test programs run on a machine that has no source tree.
 */
#ifndef KILN_TESTS_TEST_DATA_H
#define KILN_TESTS_TEST_DATA_H

#include <stdio.h>
#include <stdlib.h>

/* The path of `name` ("golden/axpy.kiln"), written into `path`. Returns `path`. */
static inline const char *test_data(const char *name, char *path, size_t bytes)
{
    const char *dir = getenv("KILN_TEST_DATA");
    if (dir == NULL || dir[0] == '\0')
        dir = KILN_TEST_DATA_DIR;
    snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

#endif
