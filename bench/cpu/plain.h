/* plain.h - the loops of plain.c, over elements [begin, end). */
#ifndef KILN_BENCH_PLAIN_H
#define KILN_BENCH_PLAIN_H

#include <stdint.h>

typedef void (*plain_loop)(const float *restrict x, const float *restrict y, float *restrict z,
                           int64_t begin, int64_t end);

void plain_copy(const float *restrict x, const float *restrict y, float *restrict z, int64_t begin,
                int64_t end);
void plain_axpy(const float *restrict x, const float *restrict y, float *restrict z, int64_t begin,
                int64_t end);

#endif
