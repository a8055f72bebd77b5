//% insert sorting/keys.cu
//% plain AHEAD COPIES DIGITS KILN__THREADS KILN__UNROLL THREADS at c copy count_call counts d
//% plain digit_of digits from k keys kiln_sort_count length n part parts row step sum w word
// How often each digit of each number occurs in each row: rows * digits * 256 counts, to which the blocks add.
//
// Grid: `parts` blocks a row. A block counts in shared memory, where equal digits of neighbouring lanes have
// counters of their own.
constexpr int THREADS = KILN__THREADS;
constexpr int DIGITS = int(sizeof(word));
constexpr int COPIES = DIGITS <= 4 ? 8 : DIGITS <= 8 ? 4 : 2;

struct count_call {
    const word *keys;
    unsigned long long *counts;
    long long length;
    unsigned parts;
    int from, digits; // those that are counted
};

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_count(const count_call c)
{
    __shared__ unsigned counts[DIGITS * 256 * COPIES];
    const unsigned row = blockIdx.x / c.parts, part = blockIdx.x % c.parts;
    const word *const keys = c.keys + row * c.length;
    const unsigned copy = threadIdx.x % COPIES;
    constexpr int AHEAD = sizeof(word) <= 4 ? 8 : 4;

    for (int k = threadIdx.x; k < c.digits * 256 * COPIES; k += THREADS)
        counts[k] = 0;
    __syncthreads();
    const long long step = (long long)c.parts * (THREADS * AHEAD);
    for (long long at = (long long)part * (THREADS * AHEAD) + threadIdx.x; at < c.length; at += step) {
        word w[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (at + k * THREADS < c.length) w[k] = keys[at + k * THREADS];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (at + k * THREADS < c.length)
            KILN__UNROLL for (int d = 0; d < DIGITS; d++) if (d < c.digits)
                atomicAdd(&counts[(d * 256 + digit_of(w[k], c.from + d)) * COPIES + copy], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < c.digits * 256; k += THREADS) {
        unsigned sum = 0;
        KILN__UNROLL for (int n = 0; n < COPIES; n++) sum += counts[k * COPIES + n];
        if (sum != 0)
            atomicAdd(&c.counts[(long long)row * c.digits * 256 + k], (unsigned long long)sum);
    }
}
