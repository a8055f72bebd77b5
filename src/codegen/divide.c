/*
 * divide.c - magic numbers for division by a value that is known when a kernel is launched.
 *
 *     plan > emit > args (calls this) > launch
 *
 * A GPU has no instruction for n / d. For 0 <= n < 2^b (b is 31 or 63) it is exact to multiply by
 * m = ceil(2^(b + s) / d) and to drop b + s bits, where 2^s is the least power of two not below d:
 * m exceeds the true ratio by e / d with e < d <= 2^s, so the product is too large by less than
 * n * 2^s / (d * 2^(b + s)) < 1 / d, which never reaches the next multiple. m fits b + 1 bits.
 * templates/prelude/divide.h holds the other half.
 *
 * Test: test_divide.
 */
#include "codegen/codegen.h"

__extension__ typedef unsigned __int128 uint128;

void kiln__divisor32_make(uint32_t d, uint32_t words[4])
{
    uint32_t shift = 0;
    while ((uint64_t)1 << shift < d)
        shift++;
    words[0] = (uint32_t)((((uint64_t)1 << (31 + shift)) + d - 1) / d);
    words[1] = shift;
    words[2] = d;
    words[3] = 0;
}

void kiln__divisor64_make(uint64_t d, uint64_t words[4])
{
    unsigned shift = 0;
    while ((uint128)1 << shift < d)
        shift++;
    words[0] = (uint64_t)((((uint128)1 << (63 + shift)) + d - 1) / d);
    words[1] = shift;
    words[2] = d;
    words[3] = 0;
}
