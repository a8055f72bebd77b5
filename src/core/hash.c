/*
 * hash.c - XXH3, the one hash of kiln: cache names, checksums, in-memory tables.
 *
 * Rule 1: XXH3's output is frozen since xxHash 0.8.0, so hashes may be written to disk.
 * Rule 2: not a defence against an attacker. Whatever trusts a hash also compares the whole key.
 *
 * xxHash is compiled in (XXH_INLINE_ALL): no library is needed at run time and no symbol of it
 * leaves this file.
 */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/core.h"

kiln__hash128 kiln__hash_128(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(bytes != 0 ? data : "", bytes);

    return (kiln__hash128){h.low64, h.high64};
}

uint64_t kiln__hash_64(const void *data, size_t bytes)
{
    return XXH3_64bits(bytes != 0 ? data : "", bytes);
}

void kiln__hash_hex(kiln__hash128 h, char out[33])
{
    static const char digits[] = "0123456789abcdef";

    for (int k = 0; k < 32; k++) {
        uint64_t half = k < 16 ? h.hi : h.lo;
        out[k] = digits[(half >> (60 - 4 * (k % 16))) & 15];
    }
    out[32] = '\0';
}

kiln__hash128 kiln__hash_from_hex(const char hex[33])
{
    kiln__hash128 h = {0, 0};
    char half[17] = "";

    memcpy(half, hex, 16);
    h.hi = strtoull(half, NULL, 16);
    memcpy(half, hex + 16, 16);
    h.lo = strtoull(half, NULL, 16);
    return h;
}
