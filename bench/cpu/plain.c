/*
 * plain.c - what kiln is measured against on the cpu: the loops a C programmer writes first.
 *
 * Compiled like any other file of a release build. The compiler turns the copy into memcpy; the
 * clones give x*y+1 the vectors that this machine has, as kiln's kernels have them.
 */
#include <stdint.h>

#include "plain.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BEST_VECTORS __attribute__((target_clones("avx2,fma", "default")))
#else
#define BEST_VECTORS
#endif

void plain_copy(const float *restrict x, const float *restrict y, float *restrict z, int64_t begin,
                int64_t end)
{
    (void)y;
    for (int64_t k = begin; k < end; k++)
        z[k] = x[k];
}

BEST_VECTORS
void plain_axpy(const float *restrict x, const float *restrict y, float *restrict z, int64_t begin,
                int64_t end)
{
    for (int64_t k = begin; k < end; k++)
        z[k] = x[k] * y[k] + 1.0f;
}
