/*
 * network.c - sorts columns of integers side by side: as many as a vector has lanes, by one
 * sequence of comparisons.
 *
 *     sort_cpu.c turns rows into columns > [network] > sort_cpu.c turns them back
 *
 * The sequence is Batcher's odd-even merge sort, which is the same for any elements: each
 * comparison is a minimum and a maximum of two vectors, and nothing branches on what they hold.
 *
 * Test: test_sort, rows of up to 512 elements.
 */
#include "sorting/sorting.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Order two lines of lanes, so that each lane's lesser element is in the first. */
#define LINES(BITS)                                                                                \
    typedef int##BITS##_t line_##BITS                                                              \
        __attribute__((vector_size(KILN__NETWORK_BYTES), may_alias));                              \
    ALWAYS void order_lines_##BITS(line_##BITS *a, line_##BITS *b)                                 \
    {                                                                                              \
        const line_##BITS x = *a, y = *b, change = (x ^ y) & (y < x);                              \
        *a = x ^ change;                                                                           \
        *b = y ^ change;                                                                           \
    }
LINES(32)
LINES(64)

/* `count` lines, a power of two. Sorted runs of `run` lines are merged in pairs; in the merge,
 * lines `far` apart are compared, but for those that stand on either side of two pairs. */
#define NETWORK(set, BITS, target)                                                                 \
    target static void set##_##BITS(void *lines, int count)                                        \
    {                                                                                              \
        line_##BITS *const v = lines;                                                              \
        for (int run = 1; run < count; run *= 2)                                                   \
            for (int far = run; far > 0; far /= 2)                                                 \
                for (int begin = far % run; begin + far < count; begin += 2 * far)                 \
                    for (int at = begin; at < begin + far && at + far < count; at++)               \
                        if (((at ^ (at + far)) & -(2 * run)) == 0)                                 \
                            order_lines_##BITS(v + at, v + at + far);                              \
    }

#if defined(__x86_64__)
NETWORK(sse2, 32, )
NETWORK(sse2, 64, )
NETWORK(avx2, 32, __attribute__((target("avx2"))))
NETWORK(avx2, 64, __attribute__((target("avx2"))))
NETWORK(avx512, 32, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))))
NETWORK(avx512, 64, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))))

kiln__network kiln__network_of(int bits)
{
    const char *target = kiln__cpu_target();

    if (strcmp(target, "x86-64-v4") == 0)
        return bits == 32 ? avx512_32 : avx512_64;
    if (strcmp(target, "x86-64-v3") == 0)
        return bits == 32 ? avx2_32 : avx2_64;
    return bits == 32 ? sse2_32 : sse2_64;
}
#else
NETWORK(plain, 32, )
NETWORK(plain, 64, )

kiln__network kiln__network_of(int bits)
{
    return bits == 32 ? plain_32 : plain_64;
}
#endif
