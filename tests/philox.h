/*
 * philox.h - Philox 4x32-10 in plain C, and integers and permutations made of it: for tests, which share nothing
 * with the library.
 *
 * J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011). test_random compares it with the
 * known answers of Random123.
 */
#ifndef KILN_TESTS_PHILOX_H
#define KILN_TESTS_PHILOX_H

#include <math.h>
#include <stdbool.h>
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

/* Word number i of 32 or 64 bits, and those of further blocks. */
static inline uint64_t philox_word(uint64_t key, uint64_t draw, uint64_t i, bool wide, int attempt)
{
    uint32_t w[4];

    if (attempt > 0) {
        philox(key, i | (uint64_t)(attempt + 1) << 48, draw, w);
        return wide ? (uint64_t)w[1] << 32 | w[0] : w[0];
    }
    philox(key, i / (wide ? 2 : 4), draw, w);
    return wide ? (uint64_t)w[2 * (i % 2) + 1] << 32 | w[2 * (i % 2)] : w[i % 4];
}

/* Lemire: the high half of the product with the number of values, unless the low half is less than 2^b mod range. */
static inline uint64_t philox_integer(uint64_t key, uint64_t draw, uint64_t i, uint64_t range)
{
    const bool wide = range > UINT64_C(1) << 32;
    const uint64_t least = wide ? (0 - range) % range : ((UINT64_C(1) << 32) - range) % range;

    for (int attempt = 0;; attempt++) {
        const uint64_t word = philox_word(key, draw, i, wide, attempt);
        const uint64_t low = wide ? word * range : (uint32_t)(word * range);
        if (low < least)
            continue;
        if (!wide)
            return word * range >> 32;
        const uint64_t a = (word & UINT32_MAX) * (range & UINT32_MAX);
        const uint64_t b = (word >> 32) * (range & UINT32_MAX) + (a >> 32);
        const uint64_t c = (word & UINT32_MAX) * (range >> 32) + (b & UINT32_MAX);
        return (word >> 32) * (range >> 32) + (b >> 32) + (c >> 32);
    }
}

static inline uint32_t philox_mix(uint32_t part, uint32_t key)
{
    uint32_t f = (part ^ key) * 0x9E3779B1u;
    f = (f ^ f >> 15) * 0x85EBCA77u + key;
    f = (f ^ f >> 13) * 0xC2B2AE3Du;
    return f ^ f >> 16;
}

/* A Feistel network of twelve rounds over as many bits as n - 1 has, 10 at least, until it is below n. */
static inline uint64_t philox_permuted(uint64_t key, uint64_t draw, uint64_t i, uint64_t n)
{
    uint32_t keys[12];
    int bits = 10;

    for (uint64_t k = 0; k < 3; k++)
        philox(key, k, draw, keys + 4 * k);
    while ((UINT64_C(1) << bits) < n)
        bits++;
    const int low = (bits + 1) / 2;
    do {
        uint64_t left = i >> low, right = i & ((UINT64_C(1) << low) - 1);
        for (int r = 0; r < 12; r++) {
            if (r % 2 == 0)
                left ^= philox_mix((uint32_t)right, keys[r]) & ((UINT64_C(1) << bits / 2) - 1);
            else
                right ^= philox_mix((uint32_t)left, keys[r]) & ((UINT64_C(1) << low) - 1);
        }
        i = left << low | right;
    } while (i >= n);
    return i;
}

/* 53 bits of two words as a number in [0, 1). */
static inline double philox_unit(uint32_t low, uint32_t high)
{
    return (double)((uint64_t)(high >> 5) << 26 | low >> 6) / 9007199254740992.0;
}

/* Marsaglia and Tsang (2000): x normal, v = (1 + c x)^3, taken where log(u) < x^2 / 2 + d (1 - v + log(v)). */
static inline double philox_gamma(uint64_t key, uint64_t draw, uint64_t i, double k)
{
    const double d = k + (k < 1) - 1.0 / 3, c = 1 / sqrt(9 * d);
    uint32_t a[4], b[4];

    for (uint64_t t = 0;; t++) {
        philox(key, i | (2 * t + 2) << 48, draw, a);
        philox(key, i | (2 * t + 3) << 48, draw, b);
        const double x = sqrt(-2 * log(1 - philox_unit(a[0], a[1]))) *
                         cos(6.283185307179586 * philox_unit(a[2], a[3]));
        const double v = pow(1 + c * x, 3), u = 1 - philox_unit(b[0], b[1]);
        if (v > 0 && log(u) < x * x / 2 + d * (1 - v + log(v)))
            return d * v * (k < 1 ? pow(1 - philox_unit(b[2], b[3]), 1 / k) : 1);
    }
}

/* By inversion below 10, else by Hormann's PTRS (1993). */
static inline int64_t philox_poisson(uint64_t key, uint64_t draw, uint64_t i, double mean)
{
    const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    uint32_t w[4];

    for (uint64_t t = 0;; t++) {
        philox(key, i | (t + 2) << 48, draw, w);
        const double u = philox_unit(w[0], w[1]), v = 1 - philox_unit(w[2], w[3]);
        const double s = 0.5 - fabs(u - 0.5);
        if (mean < 10) {
            double rest = u, p = exp(-mean);
            int64_t k = 0;
            for (; rest >= p && k < 1000; p *= mean / (double)++k)
                rest -= p;
            return k;
        }
        const double k = floor((2 * a / s + b) * (u - 0.5) + mean + 0.43);
        if ((s >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) ||
            (k >= 0 && !(s < 0.013 && v > s) &&
             log(v) + log(1.1239 + 1.1328 / (b - 3.4)) - log(a / (s * s) + b) <=
                 k * log(mean) - mean - lgamma(k + 1)))
            return (int64_t)k;
    }
}

#endif
