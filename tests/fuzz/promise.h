/*
 * promise.h - what every fuzz target has: its entry, and what must hold whatever the input is.
 */
#ifndef KILN_FUZZ_PROMISE_H
#define KILN_FUZZ_PROMISE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define PROMISE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "broken promise: %s\n", #cond);                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
