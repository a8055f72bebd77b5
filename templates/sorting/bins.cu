//% plain left place_of AHEAD EDGES EDGE_ROOM KILN__DYNAMIC_SHARED KILN__EDGES KILN__NARROW KILN__ROOM KILN__T KILN__THREADS
//% plain KILN__UNROLL T THREADS _Pragma __device__ __forceinline__ at base bin bin_between bin_of bins bins_call
//% plain bytes c close copies copy counts counts_of edges first frac guess high highest ifndef k kiln_sort_bins least
//% plain low middle n name number per room scale size slack step sum uint4 v words x y
// How many elements fall into each bin: integers that are numbers of bins themselves, or numbers between edges.
//
// Grid: some blocks a multiprocessor, which take elements in turn. A block counts in shared memory, where bins have
// as many counters as there is room for, one for every so many lanes. Where there is no room for all bins, blocks of
// row y count `per` bins from number y * per on, so that all elements are read once for each row; where these would
// be too many rows, blocks count in global memory.
//
// KILN__T: the elements; KILN__EDGES: whether there are edges. A bin holds its lower edge; the last one the upper
// one as well. What is in no bin is not counted. KILN__NARROW: `number` is float, else double. KILN__ROOM: the most
// bytes of shared memory that a launch gives: edges, if they are few, and counters.
typedef KILN__T T;
constexpr bool EDGES = KILN__EDGES;
constexpr int THREADS = KILN__THREADS, EDGE_ROOM = 1024, AHEAD = THREADS > 256 ? 16 : 8;
#if KILN__NARROW
typedef float number;
#else
typedef double number;
#endif
#define KILN__UNROLL _Pragma("unroll")
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

struct bins_call {
    const T *x;
    const double *edges;
    unsigned long long *counts;
    long long size, bins;
    double first, scale;
    double least, highest; // of what is in a bin; of narrow numbers they are floats
    double slack;          // how far from a whole number a guess must be to be certain
    int copies;            // of a block's counters, a power of two; 0: it has none
    int per;               // bins of a block
};

// Between edges, for what the guess leaves open.
static __device__ __forceinline__ long long bin_between(double v, long long low, const bins_call &c,
                                                        const double *edges)
{
    if (edges[low] <= v && (v < edges[low + 1] || low == c.bins - 1))
        return low;
    long long high = c.bins;
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

// The bin of a number, or -1. Where edges are evenly spaced, its distance from the first one tells, unless it is near
// an edge or outside of all bins.
static __device__ __forceinline__ long long bin_of(number v, const bins_call &c, const double *edges)
{
    const number guess = (v - (number)c.first) * (number)c.scale;
    const int low = (int)guess;
    const number frac = guess - (number)low;
    if (frac > (number)c.slack && frac < (number)1 - (number)c.slack && (unsigned)low < (unsigned)c.bins)
        return low;
    if (!(v >= (number)c.least && v <= (number)c.highest))
        return -1;
    return bin_between((double)v, low < 0 ? 0 : low < c.bins ? low : c.bins - 1, c, edges);
}

// Which of the block's bins, of `per` from number `base` on, or a larger number.
static __device__ __forceinline__ unsigned place_of(T v, const bins_call &c, unsigned base, const double *edges)
{
    if constexpr (EDGES)
        return (unsigned)bin_of((number)v, c, edges) - base;
    else if constexpr (sizeof(T) <= 4)
        return (unsigned)v - base;
    else
        return (unsigned long long)v < (unsigned long long)c.bins ? (unsigned)v - base : ~0u;
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_bins(const bins_call c)
{
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    double *const room = (double *)bytes;
    const bool close = EDGES && c.bins <= EDGE_ROOM;
    unsigned *const counts_of = (unsigned *)(room + (close ? c.bins + 1 : 0));
    const unsigned copy = threadIdx.x & (c.copies > 0 ? c.copies - 1 : 0);
    const long long base = (long long)blockIdx.y * c.per;
    const int words = c.per * c.copies;

    for (int k = threadIdx.x; k < words; k += THREADS)
        counts_of[k] = 0;
    if (close)
        for (int k = threadIdx.x; k <= c.bins; k += THREADS)
            room[k] = c.edges[k];
    __syncthreads();
    const double *const edges = close ? room : c.edges;
    const long long step = (long long)gridDim.x * (THREADS * AHEAD);
    for (long long at = (long long)blockIdx.x * (THREADS * AHEAD) + threadIdx.x; at < c.size; at += step) {
        const int left = c.size - at < THREADS * AHEAD ? (int)(c.size - at) : THREADS * AHEAD;
        T v[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (k * THREADS < left) v[k] = c.x[at + k * THREADS];
        if (c.copies > 0) {
            KILN__UNROLL for (int k = 0; k < AHEAD; k++) {
                const unsigned bin = k * THREADS < left ? place_of(v[k], c, (unsigned)base, edges) : ~0u;
                if (bin < (unsigned)c.per)
                    atomicAdd(&counts_of[bin * c.copies + copy], 1u);
            }
        } else {
            KILN__UNROLL for (int k = 0; k < AHEAD; k++) {
                const long long bin = k * THREADS >= left ? -1 : EDGES ? bin_of((number)v[k], c, edges) : (long long)v[k];
                if (bin >= 0 && bin < c.bins)
                    atomicAdd(&c.counts[bin], 1ull);
            }
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; c.copies > 0 && k < c.per && base + k < c.bins; k += THREADS) {
        unsigned long long sum = 0;
        for (int n = 0; n < c.copies; n++)
            sum += counts_of[k * c.copies + n];
        if (sum != 0)
            atomicAdd(&c.counts[base + k], sum);
    }
}
