/*
 * random.c - numbers that follow from a seed alone, on every machine.
 *
 * The generator is splitmix64: each state gives one number, so a sequence can begin anywhere.
 */
#include "difftest.h"

static uint64_t scramble(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t dt_mix(uint64_t a, uint64_t b)
{
    return scramble(scramble(a + 0x9e3779b97f4a7c15u) + b * 0x9e3779b97f4a7c15u + 1);
}

dt_random dt_random_of(uint64_t seed, uint64_t stream, uint64_t number)
{
    return (dt_random){dt_mix(dt_mix(seed, stream), number)};
}

uint64_t dt_next(dt_random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return scramble(r->state);
}

int dt_below(dt_random *r, int bound)
{
    return bound <= 1 ? 0 : (int)(dt_next(r) % (uint64_t)bound);
}

bool dt_once_in(dt_random *r, int times)
{
    return dt_below(r, times) == 0;
}
