/*
 * digest.c - SHA-256 (FIPS 180-4), where a hash must stand for a text that somebody may have made up.
 *
 * Everything else hashes with XXH3 and compares the whole key (hash.c).
 */
#include <stdio.h>

#include "core/core.h"

enum { BLOCK = 64, ROUNDS = 64 };

static const uint32_t round_constant[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void add_block(uint32_t state[8], const unsigned char block[BLOCK])
{
    uint32_t w[ROUNDS], v[8];

    for (int k = 0; k < 16; k++)
        w[k] = (uint32_t)block[4 * k] << 24 | (uint32_t)block[4 * k + 1] << 16 |
               (uint32_t)block[4 * k + 2] << 8 | block[4 * k + 3];
    for (int k = 16; k < ROUNDS; k++) {
        const uint32_t a = w[k - 15], b = w[k - 2];
        w[k] = w[k - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[k - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    /* The standard moves eight variables on by one in each round; here they stay, and their names
     * move. */
    for (unsigned k = 0; k < ROUNDS; k++) {
        const uint32_t a = v[-k & 7], e = v[(4 - k) & 7];
        const uint32_t b = v[(1 - k) & 7], c = v[(2 - k) & 7];
        const uint32_t t = v[(7 - k) & 7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                           ((e & v[(5 - k) & 7]) ^ (~e & v[(6 - k) & 7])) + round_constant[k] +
                           w[k];
        v[(3 - k) & 7] += t;
        v[(7 - k) & 7] = t + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                         ((a & b) ^ (a & c) ^ (b & c));
    }
    for (int k = 0; k < 8; k++)
        state[k] += v[k];
}

void kiln__digest(const void *data, size_t bytes, char out[65])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = data;
    unsigned char tail[2 * BLOCK] = {0};
    const size_t rest = bytes % BLOCK, padded = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;

    for (size_t k = 0; k < bytes / BLOCK; k++)
        add_block(state, at + k * BLOCK);
    if (rest != 0)
        memcpy(tail, at + bytes - rest, rest);
    tail[rest] = 0x80;
    for (int k = 0; k < 8; k++)
        tail[padded - 1 - (size_t)k] = (unsigned char)((uint64_t)bytes * 8 >> 8 * k);
    for (size_t k = 0; k < padded; k += BLOCK)
        add_block(state, tail + k);
    for (int k = 0; k < 8; k++)
        snprintf(out + 8 * k, 9, "%08x", (unsigned)state[k]);
}
