/*
 * philox.h - Philox 4x32-10 in plain C: for tests, which share nothing with the library.
 *
 * J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011). test_random compares it with the
 * known answers of Random123.
 */
#ifndef KILN_TESTS_PHILOX_H
#define KILN_TESTS_PHILOX_H

#include <stdint.h>

/* The four words of the block with the counter `low`, `high`. */
static inline void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t *out)
{
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};

    out[0] = (uint32_t)low;
    out[1] = (uint32_t)(low >> 32);
    out[2] = (uint32_t)high;
    out[3] = (uint32_t)(high >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = UINT64_C(0xD2511F53) * out[0], q = UINT64_C(0xCD9E8D57) * out[2];
        out[0] = (uint32_t)(q >> 32) ^ out[1] ^ k[0];
        out[1] = (uint32_t)q;
        out[2] = (uint32_t)(p >> 32) ^ out[3] ^ k[1];
        out[3] = (uint32_t)p;
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

#endif
