//% plain BITS EACH KILN__SHARE SHARE THREADS all at base begin bins blocks counts end group groups j k partial
//% plain kiln_sort_bins_sum per local quads row sum sum_call uint4 w words x y z
// The counters of all blocks of sorting/bins.cu, added to the counts: each block's lie one behind the other, in words of 16
// bytes. KILN__SHARE: counters of 4 bytes, 2 or 4.
//
// Grid: a thread for each such word, and `groups` rows of threads for each row of blocks, which add up a part of the blocks.
constexpr int THREADS = 128, SHARE = KILN__SHARE, BITS = 32 / SHARE, EACH = 4 * SHARE;

struct sum_call {
    const uint4 *partial;
    long long *counts;
    long long bins;
    int per, quads, blocks, groups; // bins of a row of blocks, words and blocks of it
};

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_bins_sum(const __grid_constant__ sum_call x)
{
    const int at = (int)blockIdx.x * THREADS + (int)threadIdx.x;
    const int row = (int)blockIdx.y / x.groups, group = (int)blockIdx.y % x.groups;
    const int begin = (int)((long long)x.blocks * group / x.groups), end = (int)((long long)x.blocks * (group + 1) / x.groups);
    unsigned int sum[EACH] = {}; // of at most 65536 blocks

    if (at >= x.quads)
        return;
    #pragma unroll 8
    for (int k = begin; k < end; k++) {
        const uint4 all = x.partial[((long long)row * x.blocks + k) * x.quads + at];
        const unsigned int words[4] = {all.x, all.y, all.z, all.w};
        #pragma unroll
        for (int j = 0; j < EACH; j++)
            sum[j] += words[j / SHARE] >> j % SHARE * BITS & (1u << BITS) - 1;
    }
    #pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int local = at * EACH + j;
        const long long base = (long long)row * x.per;
        if (sum[j] != 0 && local < x.per && base + local < x.bins)
            atomicAdd((unsigned long long *)&x.counts[base + local], (unsigned long long)sum[j]);
    }
}
