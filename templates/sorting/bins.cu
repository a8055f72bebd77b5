//% plain AHEAD EACH EDGES EDGE_ROOM HALF HALVES KILN__DYNAMIC_SHARED KILN__EDGES KILN__FIND KILN__HALVES KILN__ROOM above beside lead place y
//% plain KILN__T KILN__THREADS KILN__UNROLL T THREADS FIND FIND_FLOAT FIND_PAIR _Pragma __device__ __forceinline__
//% plain __fadd_rn __float_as_int __fmaf_rn __fmul_rn __fsub_rn
//% plain access base begin bin bin_between bin_of bins bins_call body bytes c close copies copy count count_all count_at counters counts counts_of
//% plain edges error first frac guess_of head here high highest ifndef j k kiln_sort_bins least left low middle
//% plain n name near number old open pair part per product rest room scale shift size slack span sum uint4 v w whole
//% plain words x
// How many elements fall into each bin: integers that are numbers of bins themselves, or numbers between edges.
//
// Grid: some blocks a multiprocessor, which take elements in turn, accesses of 16 bytes each. A block counts in shared
// memory, where bins have as many counters as there is room for, one for every so many lanes; many bins have one of 16
// bits each (KILN__HALVES). Where there is no room for all bins, blocks of row y count `per` bins from number
// y * per on, so that all elements are read once for each row; where these would be too many rows, blocks
// count in global memory.
//
// KILN__T: the elements; KILN__EDGES: whether there are edges. A bin holds its lower edge; the last one the upper
// one as well. What is in no bin is not counted. KILN__FIND: how the bin is guessed, in double, in float, or in pairs of
// floats, which know the bins of float elements as exactly as double and take less time. KILN__ROOM: the
// most bytes of shared memory that a launch gives: edges, if they are few, and counters.
typedef KILN__T T;
constexpr bool EDGES = KILN__EDGES, HALVES = KILN__HALVES;
constexpr int THREADS = KILN__THREADS, EDGE_ROOM = 1024, FIND = KILN__FIND, FIND_FLOAT = 1, FIND_PAIR = 2;
constexpr int EACH = 16 / sizeof(T); // elements of an access
// Accesses of a thread that are loaded before the first is used: more where one block has a multiprocessor.
constexpr int AHEAD = (KILN__ROOM > 65536 || EACH > 8 ? 16 : 8) / EACH;
constexpr unsigned HALF = 0x8000;
static_assert(THREADS * AHEAD * EACH < HALF, "a counter of 16 bits is looked at before it is full");
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
    double least, highest; // of what is in a bin
    double slack;          // how far from a whole number a guess must be to be certain
    float pair[4];         // the scale and the product of -first with it, each in two parts
    int copies;            // of a block's counters, a power of two; 0: it has none
    int per;               // bins of a block
};

struct alignas(16) access {
    T v[EACH];
};

// Between edges, for what the guess leaves open: the bin of a number, or -1. Most are near an edge, as whole numbers
// often are, and in the bin that their distance from the first edge names.
static __device__ long long bin_between(double v, const bins_call &c, const double *edges)
{
    if (!(v >= c.least && v <= c.highest))
        return -1;
    const double sum = (v - c.first) * c.scale;
    const long long near = sum < 0 ? 0 : sum < (double)c.bins ? (long long)sum : c.bins - 1;
    if (edges[near] <= v && (v < edges[near + 1] || near == c.bins - 1))
        return near;
    long long low = 0, high = c.bins;
    while (high - low > 1) {
        const long long middle = low + (high - low) / 2;
        if (edges[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// The bin of a number if its distance from the first edge tells, as of evenly spaced edges unless it is near one of
// them; else -1. Numbers are rounded to whole ones by an addition, after which the last bits are the number: of
// what is too large for that they are no bin's.
template <class number> static __device__ __forceinline__ int guess_of(number v, const bins_call &c)
{
    float near, frac;
    if constexpr (FIND == FIND_PAIR) {
        const float product = __fmul_rn(v, c.pair[0]);
        const float rest = __fmaf_rn(v, c.pair[1], __fmaf_rn(v, c.pair[0], -product));
        const float sum = __fadd_rn(product, c.pair[2]), part = __fsub_rn(sum, product);
        const float error = __fadd_rn(__fsub_rn(product, __fsub_rn(sum, part)), __fsub_rn(c.pair[2], part));
        near = __fadd_rn(sum, 12582912.0f);
        frac = __fsub_rn(sum, __fsub_rn(near, 12582912.0f)) + (rest + error + c.pair[3]);
    } else if constexpr (FIND == FIND_FLOAT) {
        const float sum = __fmul_rn(__fsub_rn(v, (float)c.first), (float)c.scale);
        near = __fadd_rn(sum, 12582912.0f);
        frac = __fsub_rn(sum, __fsub_rn(near, 12582912.0f));
    } else {
        const double sum = (v - c.first) * c.scale;
        const int low = (int)sum;
        const double above = sum - (double)low;
        return above > c.slack && above < 1 - c.slack && (unsigned)low < (unsigned)c.bins ? low : -1;
    }
    const int low = (int)((unsigned)__float_as_int(near) - 0x4b400000u - (frac < 0 ? 1u : 0u));
    const float size = frac < 0 ? -frac : frac;
    return size > (float)c.slack && size < 1 - (float)c.slack && (unsigned)low < (unsigned)c.bins ? low : -1;
}

// Where a block counts: element number k of a thread's accesses is in bin `bin`, which is counter `place` of the block.
struct counters {
    const bins_call &c;
    const double *const edges;
    unsigned *const counts_of;
    const unsigned copy;
    const long long base; // the first bin of the block

    // A counter of 16 bits gives half of what it can hold to global memory when it has it. All threads meet after
    // each batch of elements, which are fewer than the other half.
    __device__ __forceinline__ void count_at(const unsigned place, const long long bin) const
    {
        if (HALVES) {
            if (place < (unsigned)c.per) {
                const unsigned shift = place % 2 * 16;
                const unsigned old = atomicAdd(&counts_of[place / 2], 1u << shift) >> shift & 0xffffu;
                if (old == HALF - 1) {
                    atomicAdd(&counts_of[place / 2], 0u - (HALF << shift));
                    atomicAdd(&c.counts[bin], (unsigned long long)HALF);
                }
            }
        } else if (c.copies > 0) {
            if (place < (unsigned)c.per)
                atomicAdd(&counts_of[place * c.copies + copy], 1u);
        } else if ((unsigned long long)bin < (unsigned long long)c.bins) {
            atomicAdd(&c.counts[bin], 1ull);
        }
    }
    __device__ __forceinline__ void count(const long long bin) const
    {
        count_at(bin >= base && bin - base < c.per ? (unsigned)(bin - base) : ~0u, bin);
    }
    __device__ __forceinline__ long long bin_of(const T v) const
    {
        if constexpr (EDGES)
            return bin_between((double)v, c, edges);
        else
            return (long long)v < 0 ? -1 : (long long)v;
    }
    // A thread's accesses, of which those are there whose place in the batch is less than `left`.
    __device__ __forceinline__ void count_all(const access (&w)[AHEAD], const int left) const
    {
        if constexpr (EDGES) {
            unsigned open = 0; // elements whose bins are not certain
            KILN__UNROLL for (int k = 0; k < AHEAD; k++) KILN__UNROLL for (int j = 0; j < EACH; j++) {
                if (k * THREADS >= left)
                    continue;
                const int bin = guess_of(w[k].v[j], c);
                open |= (bin < 0 ? 1u : 0u) << (k * EACH + j);
                if (bin >= 0)
                    count_at((unsigned)bin - (unsigned)base, bin);
            }
            if (open != 0)
                KILN__UNROLL for (int k = 0; k < AHEAD; k++) KILN__UNROLL for (int j = 0; j < EACH; j++)
                    if ((open >> (k * EACH + j) & 1) != 0)
                        count(bin_of(w[k].v[j]));
        } else {
            KILN__UNROLL for (int k = 0; k < AHEAD; k++) KILN__UNROLL for (int j = 0; j < EACH; j++)
                if (k * THREADS < left)
                    count(bin_of(w[k].v[j]));
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_bins(const bins_call c)
{
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    double *const room = (double *)bytes;
    const bool close = EDGES && c.bins <= EDGE_ROOM;
    unsigned *const counts_of = (unsigned *)(room + (close ? c.bins + 1 : 0));
    const unsigned copy = threadIdx.x & (c.copies > 0 ? c.copies - 1 : 0);
    const long long base = (long long)blockIdx.y * c.per;
    const int words = HALVES ? (c.per + 1) / 2 : c.per * c.copies;

    for (int k = threadIdx.x; k < words; k += THREADS)
        counts_of[k] = 0;
    if (close)
        for (int k = threadIdx.x; k <= c.bins; k += THREADS)
            room[k] = c.edges[k];
    __syncthreads();
    const counters here = {c, close ? room : c.edges, counts_of, copy, base};

    // Elements before the first whole access and behind the last one.
    const long long lead = (long long)((16 - (size_t)c.x % 16) % 16 / sizeof(T));
    const long long head = lead < c.size ? lead : c.size, whole = (c.size - head) / EACH;
    const access *const body = (const access *)(c.x + head);
    const int beside = (int)(c.size - whole * EACH);
    if (blockIdx.x == 0 && (int)threadIdx.x < beside)
        here.count(here.bin_of(c.x[(int)threadIdx.x < head ? threadIdx.x : whole * EACH + threadIdx.x]));
    constexpr int span = THREADS * AHEAD;
    for (long long begin = (long long)blockIdx.x * span; begin < whole; begin += (long long)gridDim.x * span) {
        const int left = (whole - begin < span ? (int)(whole - begin) : span) - (int)threadIdx.x;
        access w[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (k * THREADS < left) w[k] = body[begin + threadIdx.x + k * THREADS];
        here.count_all(w, left);
        if (HALVES)
            __syncthreads();
    }
    __syncthreads();
    for (int k = threadIdx.x; words > 0 && k < c.per && base + k < c.bins; k += THREADS) {
        unsigned long long sum = HALVES ? counts_of[k / 2] >> k % 2 * 16 & 0xffffu : 0;
        for (int n = 0; n < c.copies && !HALVES; n++)
            sum += counts_of[k * c.copies + n];
        if (sum != 0)
            atomicAdd(&c.counts[base + k], sum);
    }
}
