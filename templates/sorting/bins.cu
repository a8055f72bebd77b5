//% plain AHEAD EDGES EDGE_ROOM KILN__EDGES KILN__T KILN__THREADS KILN__UNROLL ROOM T THREADS
//% plain _Pragma __device__ __forceinline__ at bin bin_of bins bins_call c close copies copy counts
//% plain edges first high k kiln_sort_bins last low middle n near scale size step sum v x
// How many elements fall into each bin: integers that are numbers of bins themselves, or numbers between edges.
//
// Grid: some blocks a multiprocessor, which take elements in turn. A block counts in shared memory, where bins have
// as many counters as there is room for, one for every so many lanes; where there is no room for all bins, blocks
// count in global memory.
//
// KILN__T: the elements; KILN__EDGES: whether there are edges. A bin holds its lower edge; the last one the upper
// one as well. What is in no bin is not counted.
typedef KILN__T T;
constexpr bool EDGES = KILN__EDGES;
constexpr int THREADS = KILN__THREADS, ROOM = 8192, EDGE_ROOM = 1024, AHEAD = 8;
#define KILN__UNROLL _Pragma("unroll")

struct bins_call {
    const T *x;
    const double *edges;
    unsigned long long *counts;
    long long size, bins;
    double first, last, scale;
    int copies; // of a block's counters, a power of two; 0: it has none
};

// The bin of a number, or -1. The guess is right where edges are evenly spaced, but for rounding.
static __device__ __forceinline__ long long bin_of(double v, const bins_call &c, const double *edges)
{
    if (!(v >= c.first && v <= c.last))
        return -1;
    long long low = (long long)((v - c.first) * c.scale), high = c.bins;
    low = low < 0 ? 0 : low < high ? low : high - 1;
    if (edges[low] <= v && (v < edges[low + 1] || low == high - 1))
        return low;
    low = 0;
    while (high - low > 1) {
        const long long middle = low + (high - low) / 2;
        if (edges[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_bins(const bins_call c)
{
    __shared__ unsigned counts[ROOM];
    __shared__ double near[EDGES ? EDGE_ROOM + 1 : 1];
    const bool close = EDGES && c.bins <= EDGE_ROOM;
    const unsigned copy = threadIdx.x & (c.copies > 0 ? c.copies - 1 : 0);

    for (int k = threadIdx.x; k < ROOM; k += THREADS)
        counts[k] = 0;
    if (close)
        for (int k = threadIdx.x; k <= c.bins; k += THREADS)
            near[k] = c.edges[k];
    __syncthreads();
    const double *const edges = close ? near : c.edges;
    const long long step = (long long)gridDim.x * (THREADS * AHEAD);
    for (long long at = (long long)blockIdx.x * (THREADS * AHEAD) + threadIdx.x; at < c.size; at += step) {
        T v[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (at + k * THREADS < c.size) v[k] = c.x[at + k * THREADS];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) {
            if (at + k * THREADS >= c.size)
                continue;
            const long long bin = EDGES ? bin_of((double)v[k], c, edges) : (long long)v[k];
            if (bin < 0 || bin >= c.bins)
                continue;
            if (c.copies > 0)
                atomicAdd(&counts[(int)bin * c.copies + copy], 1u);
            else
                atomicAdd(&c.counts[bin], 1ull);
        }
    }
    __syncthreads();
    if (c.copies == 0)
        return;
    for (int k = threadIdx.x; k < c.bins; k += THREADS) {
        unsigned long long sum = 0;
        for (int n = 0; n < c.copies; n++)
            sum += counts[k * c.copies + n];
        if (sum != 0)
            atomicAdd(&c.counts[k], sum);
    }
}
