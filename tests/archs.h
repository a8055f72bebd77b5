/*
 * archs.h - the GPUs for which a test program compiles kernels, with no GPU present.
 */
#ifndef KILN_TESTS_ARCHS_H
#define KILN_TESTS_ARCHS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "device/device.h"

enum { ARCHS_MAX = 64 };

/* The oldest and the newest generation that kiln runs on (sm_75 and later) and NVRTC knows, in this
 * order; with KILN_TEST_ALL_ARCHS in the environment all of them. How many they are, 0 without NVRTC. */
static inline size_t archs_find(kiln__target targets[ARCHS_MAX])
{
    kiln__target known[ARCHS_MAX];
    const size_t count = kiln__compiler_targets(KILN_BACKEND_CUDA, known, ARCHS_MAX);
    size_t found = 0;
    int number = 0;

    for (size_t k = 0; k < count && k < ARCHS_MAX; k++)
        if (sscanf(known[k].name, "sm_%d", &number) == 1 && number >= 75)
            targets[found++] = known[k];
    if (found > 2 && getenv("KILN_TEST_ALL_ARCHS") == NULL) {
        targets[1] = targets[found - 1];
        found = 2;
    }
    return found;
}

/* Whether a table of kernels runs whole on every target. */
static inline bool archs_whole(void)
{
    return getenv("KILN_TEST_ALL") != NULL || getenv("KILN_TEST_ALL_ARCHS") != NULL;
}

/* Whether case `nth` is one of those that $KILN_TEST_SEED (without it the time) chooses: every `share`th, and fewer in
 * the proportion of $KILN_TEST_SHARE to 4. Each is a compile, and other seeds choose others. What every share of a table
 * must hold stands outside of it. */
static inline bool archs_drawn(size_t nth, size_t share)
{
    static uint64_t seed;
    const char *const asked = getenv("KILN_TEST_SHARE");
    const size_t times = asked != NULL ? strtoul(asked, NULL, 10) / 4 : 1;

    if (seed == 0) {
        const char *const given = getenv("KILN_TEST_SEED");
        seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
        printf("KILN_TEST_SEED=%llu\n", (unsigned long long)seed);
        seed = seed * 2862933555777941757u + 3037000493u;
    }
    return archs_whole() || (nth + (seed >> 33)) % (share * (times > 0 ? times : 1)) == 0;
}

#endif
