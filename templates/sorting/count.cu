//% insert sorting/keys.cu
//% plain AHEAD COPIES DIGITS KILN__AHEAD KILN__COPIES KILN__DYNAMIC_SHARED KILN__SORT_FN bytes ifndef name uint4 KILN__THREADS KILN__UNROLL THREADS __threadfence at atomicOr c copy count_call counts d
//% plain digit_of_encoded encode digits done k keys kiln_sort_count last left length n nullptr part parts passes plan_passes row rows
//% plain before step sum varied w word
// How often each digit of each number occurs in each row: rows * digits * 256 counts, to which the blocks add; and
// which passes are worth while.
//
// Grid: `parts` blocks a row. A block counts in shared memory, where equal digits of KILN__COPIES neighbouring lanes have
// counters of their own. The block that is done last plans the passes: where all elements of a row have the same
// digit, be it another one in each row, a pass by it would move nothing. passes[d] is 0 for those; else 512, 256
// more of the first pass, and how many follow it. One pass always remains, which copies.
constexpr int THREADS = KILN__THREADS;
constexpr int DIGITS = int(sizeof(word));
constexpr int COPIES = KILN__COPIES;
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

struct count_call {
    const word *keys;
    unsigned long long *counts;
    unsigned *passes, *done; // null: none are planned; the blocks that are done
    long long length;
    unsigned parts, rows;
    int digits;
};

KILN__SORT_FN void plan_passes(const count_call &c, unsigned *varied)
{
    if (threadIdx.x < DIGITS)
        varied[threadIdx.x] = c.rows > THREADS; // too many rows to look at them all
    __syncthreads();
    for (unsigned row = threadIdx.x; row < c.rows && c.rows <= THREADS; row += THREADS) {
        const word w = c.keys[row * c.length];
        for (int d = 0; d < c.digits; d++) {
            const volatile unsigned long long *const n = c.counts + ((long long)row * c.digits + d) * 256 + digit_of_encoded(encode(w), d);
            if (*n != (unsigned long long)c.length)
                atomicOr(&varied[d], 1u);
        }
    }
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    unsigned left = 0;
    for (int d = 0; d < c.digits; d++)
        left += varied[d];
    if (left == 0)
        left = varied[c.digits - 1] = 1;
    unsigned before = 256;
    for (int d = 0; d < c.digits; d++) {
        if (varied[d] == 0)
            continue;
        c.passes[d] = 512 + before + --left;
        before = 0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_count(const count_call c)
{
    KILN__DYNAMIC_SHARED(bytes, DIGITS * 256 * COPIES * 4);
    unsigned *const counts = (unsigned *)bytes;
    const unsigned row = blockIdx.x / c.parts, part = blockIdx.x % c.parts;
    const word *const keys = c.keys + row * c.length;
    const unsigned copy = threadIdx.x % COPIES;
    constexpr int AHEAD = KILN__AHEAD;

    for (int k = threadIdx.x; k < c.digits * 256 * COPIES; k += THREADS)
        counts[k] = 0;
    __syncthreads();
    const long long step = (long long)c.parts * (THREADS * AHEAD);
    for (long long at = (long long)part * (THREADS * AHEAD) + threadIdx.x; at < c.length; at += step) {
        word w[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (at + k * THREADS < c.length) w[k] = keys[at + k * THREADS];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (at + k * THREADS < c.length)
            KILN__UNROLL for (int d = 0; d < DIGITS; d++) if (d < c.digits)
                atomicAdd(&counts[(d * 256 + digit_of_encoded(encode(w[k]), d)) * COPIES + copy], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < c.digits * 256; k += THREADS) {
        unsigned sum = 0;
        KILN__UNROLL for (int n = 0; n < COPIES; n++) sum += counts[k * COPIES + (k + n) % COPIES];
        if (sum != 0)
            atomicAdd(&c.counts[(long long)row * c.digits * 256 + k], (unsigned long long)sum);
    }
    if (c.passes == nullptr)
        return;
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(c.done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    plan_passes(c, counts);
}
