/*
 * stand_in.h - what the stand-in for cuBLASLt (cublaslt.c) tells tests of its last call.
 */
#ifndef KILN_TESTS_STAND_IN_H
#define KILN_TESTS_STAND_IN_H

#include <stdint.h>

typedef struct stand_in_call {
    int64_t m, n, count; /* of the library's problem, whose columns lie without gaps */
    int transposed[2];
    uint32_t epilogue;
    int compute, type, b_type;        /* of the sums; of a; of b */
    const void *a, *b, *c, *d, *bias; /* bias: NULL without one */
    uint64_t workspace_bytes;
    uint64_t algorithm; /* which of those that the heuristic gave, from 0 */
} stand_in_call;

#endif
