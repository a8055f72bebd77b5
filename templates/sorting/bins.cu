//% insert sorting/plan.cu
//% plain quads nullptr partial
//% plain AHEAD BITS BLOCKS BYTES EACH EDGES EDGE_ROOM EPSILON FIND CARRY HALF HALVES METHOD_DOUBLE METHOD_PAIRS
//% plain IN_ROWS KILN__BLOCKS KILN__DYNAMIC_SHARED KILN__EDGES KILN__FIND KILN__COUNTERS KILN__ROOM
//% plain KILN__THREADS KILN__UNROLL KILN__WHOLE MAGIC N NOWHERE NUMBERS COUNTERS COUNTERS_GLOBAL
//% plain COUNTERS_BYTES COUNTERS_HALVES COUNTERS_ROWS COUNTERS_SHARED SHARE T THREADS WIDE _Pragma __device__
//% plain __double_as_longlong __funnelshift_l __noinline__ __fadd_rn __float_as_int __fmaf_rn __forceinline__ __fsub_rn above
//% plain accesses add all at atomicAnd base begin beside bin bin_between bins bins_call bins_plan
//% plain body by by_rest bytes c certain close copies copy count count_all count_at count_one
//% plain count_uncertain counters counts counts_of d edges edges_part end even exact fabs fabsf find first full
//% plain floor found fraction from carries carry_out carry_256 carry_out_all half head here high highest method ifndef in
//% plain isfinite j k kiln_sort_bins lead least low make_plan middle n name near number number_of
//% plain off old uncertain p pairs part_count per piece local plan plan_edges rest room scale shift
//% plain slack span start steps stride sum sure uncounted two type uint4 v w method_values whole wide width
//% plain words x y
// How many elements fall into each bin: integers that are numbers of bins themselves, or numbers
// between edges.
//
// Grid: some blocks a multiprocessor, which take elements in turn, accesses of 16 bytes each. A block
// counts in shared memory, where bins have as many counters as there is room for, one for every so
// many lanes; many bins have one of 16 bits each, and still more one of 8. Where there is no room for all
// bins, blocks of row y count `per` bins from number y * per on, so that all elements are read once for
// each row; where these would be too many rows, blocks count in global memory.
//
// Behind the counters is one word a lane for what is not counted: it is added to as well, since
// additions without branches around them follow each other faster.
//
// What a counter cannot hold is carried out: added to the bin's count in global memory. A counter of 16 bits is emptied
// when it is half full. For one of 8 bits that would be too late: the thread that adds to it sees by what its word held
// whether it overflows, and adds 256 to its count and takes from that of the next bin the 1 that was carried there.
//
// KILN__T: the elements; KILN__EDGES: whether there are edges, of which sorting/edges.cu knows the
// most. A bin holds its lower edge; the last one the upper one as well. What is in no bin is not
// counted. KILN__FIND: whether elements are floats, whose bins pairs of floats find. KILN__WHOLE:
// whether they are whole numbers of 32 bits at most. KILN__COUNTERS: what is counted in. KILN__ROOM: the
// most bytes of shared memory that a launch gives: edges, if they are few, and counters.
constexpr bool EDGES = KILN__EDGES;
enum { COUNTERS_GLOBAL, COUNTERS_SHARED, COUNTERS_HALVES, COUNTERS_BYTES, COUNTERS_ROWS };
constexpr int COUNTERS = KILN__COUNTERS, THREADS = KILN__THREADS, BLOCKS = KILN__BLOCKS, EDGE_ROOM = 1024;
constexpr bool HALVES = COUNTERS == COUNTERS_HALVES, IN_ROWS = COUNTERS == COUNTERS_ROWS;
constexpr bool BYTES = IN_ROWS || COUNTERS == COUNTERS_BYTES;
constexpr int SHARE = BYTES ? 4 : HALVES ? 2 : 1, BITS = 32 / SHARE; // counters of a word
constexpr bool FIND = KILN__FIND, NUMBERS = KILN__WHOLE;
constexpr bool WIDE = KILN__ROOM > 65536; // one block has a multiprocessor
constexpr int EACH = 16 / sizeof(T);      // elements of an access
constexpr int AHEAD = (WIDE || EACH > 8 ? 16 : 8) / EACH; // accesses of a thread that are loaded before the first is used
constexpr unsigned int HALF = 0x8000, CARRY = 0x80008000u, NOWHERE = 0xffffffffu;
static_assert(!HALVES || THREADS * (AHEAD * EACH + 1) < HALF, "a counter of 16 bits is emptied before it is full");
#define KILN__UNROLL _Pragma("unroll")
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

// How the bin of an element is found.
enum { METHOD_DOUBLE, METHOD_PAIRS };
// Numbers from 2^23 to 2^24 have no bits behind the point, so that what is added to this one is rounded to a whole number,
// which are the last bits of the sum.
constexpr float MAGIC = 12582912.0f;
constexpr double EPSILON = 2.220446049250313e-16;

struct bins_plan {
    int method;
    double first, scale;   // the distance from the first edge times the scale is the bin, if edges are even
    double least, highest; // of what is in a bin
    // METHOD_DOUBLE: how far from a whole number that must be for the bin to be certain.
    double slack;
    // METHOD_PAIRS: x * (by + by_rest) + start + fraction, where `near` is MAGIC + start: a bin is certain if what is behind the
    // point differs from a half by less than `half`.
    float by, near, by_rest, fraction, half;
};

// A product by two floats is exact to 2^-47 of itself, and what is behind the point of it to 2^-24. Where edges are
// at k / 2^n and whole numbers lie before the first one, nothing is rounded.
static __device__ bool pairs(bins_plan &p, const long long bins, const double off, const bool exact)
{
    const double start = -p.first * p.scale, whole = floor(start - 0.5);
    if (!(fabs(whole) + (double)bins < 4194304.0 - 2) || !(p.scale > 1e-30 && p.scale < 1e30))
        return false;
    p.by = (float)p.scale;
    p.by_rest = (float)(p.scale - (double)p.by);
    p.near = (float)((double)MAGIC + whole);
    p.fraction = exact ? -0.0f : (float)(start - whole - 1);
    p.half = exact ? 2.0f : (float)(0.5 - off - 4.76837158203125e-07);
    return p.half > 0.25f;
}

// Exact: the scale is a power of two, and edges are multiples of its inverse. Nothing is rounded then but what is less than
// any number, whose sign stays as long as it is added to zeroes of its own sign.
static __device__ void make_plan(bins_plan &p, const bins_call &c, const edges_part &all)
{
    p.first = p.least = c.edges[0];
    p.highest = c.edges[c.bins];
    const double width = p.highest - p.first;
    p.scale = width > 0 && isfinite(width) ? (double)c.bins / width : 0;
    p.method = METHOD_DOUBLE;
    p.slack = all.off + 8 * (double)(c.bins + 1) * EPSILON;
    if (!(p.slack < 0.5) || c.bins >= 0x7fffffff) {
        p.slack = 1; // no bin is certain
        p.scale = 0;
        return;
    }
    const double start = p.first * p.scale;
    const bool two = (__double_as_longlong(p.scale) & 0xfffffffffffffll) == 0;
    const bool exact = all.even != 0 && two && p.scale > 1e-6 && p.scale < 1e6 && fabs(start) < 4194304.0 &&
                       floor(start) == start;
    if (FIND && pairs(p, c.bins, all.off, exact))
        p.method = METHOD_PAIRS;
    else if (NUMBERS && exact)
        p.slack = 0;
}

// The same by a warp, of the parts of all edges.
static __device__ void plan_edges(bins_plan &p, const bins_call &c)
{
    edges_part all = {0, 0, 1};
    for (int k = threadIdx.x; k < c.part_count; k += 32) {
        all.off = c.parts[k].off <= all.off ? all.off : c.parts[k].off;
        all.even &= c.parts[k].even;
    }
    KILN__UNROLL for (int d = 16; d > 0; d /= 2) {
        const double off = __shfl_xor_sync(0xffffffffu, all.off, d);
        all.off = off <= all.off ? all.off : off;
        all.even &= __shfl_xor_sync(0xffffffffu, all.even, d);
    }
    if (threadIdx.x == 0)
        make_plan(p, c, all);
}

template <int N> struct steps {};
struct alignas(16) piece {
    T v[EACH];
};

// For elements whose bin the plan's method leaves uncertain: the bin of a number that is in one. Most are near an edge, as
// whole numbers often are, and in the bin that their distance from the first edge names.
static __device__ long long bin_between(const double v, const bins_plan &p, const double *edges, const long long bins)
{
    const double sum = (v - p.first) * p.scale;
    const long long near = sum < 0 ? 0 : sum < (double)bins ? (long long)sum : bins - 1;
    if (edges[near] <= v && (v < edges[near + 1] || near == bins - 1))
        return near;
    long long low = 0, high = bins;
    while (high - low > 1) {
        const long long middle = low + (high - low) / 2;
        if (edges[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <bool wide> struct number_of {
    typedef unsigned int type;
};
template <> struct number_of<true> {
    typedef unsigned long long type;
};
typedef number_of<COUNTERS == COUNTERS_GLOBAL>::type number; // of a bin

// What a method needs for each element.
template <int method> struct method_values {
    double first, scale, slack;
    __device__ __forceinline__ method_values(const bins_plan &p) : first(p.first), scale(p.scale), slack(p.slack) {}
};
template <> struct method_values<METHOD_PAIRS> {
    float by, near, by_rest, fraction, half;
    __device__ __forceinline__ method_values(const bins_plan &p)
        : by(p.by), near(p.near), by_rest(p.by_rest), fraction(p.fraction), half(p.half)
    {
    }
};

// Where a block counts.
template <int method> struct counters {
    const bins_call &c;
    const bins_plan &p;
    const method_values<method> w;
    const double *const edges;
    unsigned int *const counts_of;
    const unsigned int stride, copy; // between counters of neighbouring bins, and which the thread has, in bytes
    const unsigned int uncounted;        // what is not counted, in bytes
    const unsigned int base;         // the first bin of the block

    // Whether an element is in a bin, and in which; `sure` is false from the first one on of which that is not certain.
    __device__ __forceinline__ bool find(const T v, number &bin, bool &sure) const
    {
        if constexpr (!EDGES) {
            bin = (number)v;
            return (unsigned long long)v < (unsigned long long)c.bins;
        } else if constexpr (method == METHOD_PAIRS) {
            const float sum = __fmaf_rn((float)v, w.by, w.near);
            const float rest = __fmaf_rn((float)v, w.by, __fsub_rn(w.near, sum));
            const float above = __fadd_rn(rest, __fmaf_rn((float)v, w.by_rest, w.fraction));
            bin = (unsigned int)__float_as_int(sum) - (unsigned int)__float_as_int(MAGIC) + (__float_as_int(above) >= 0 ? 1u : 0u);
            // What is in no bin is certain as well, except for that of a bin behind the last one, where its upper edge is.
            const unsigned int all = (unsigned int)c.bins;
            const bool certain = fabsf(fabsf(above) - 0.5f) < w.half;
            sure = sure & ((certain & (bin + 1 <= all)) | (bin + 1 > all + 1));
            return certain & (bin < all);
        } else {
            const double sum = ((double)v - w.first) * w.scale;
            const int low = (int)sum;
            const double above = sum - (double)low;
            bin = (unsigned int)low;
            const bool in = (above >= w.slack) & (above <= 1 - w.slack) & ((unsigned int)low < (unsigned int)c.bins);
            sure = sure & in;
            return in;
        }
    }

    // The counter of a bin, number k of a word that held `old`, overflowed, and so did those that the carry went through.
    static __device__ __noinline__ void carry_256(long long *const counts, long long bin, const long long end, int k,
                                                 const unsigned int old)
    {
        for (; k < 4 && bin < end && (old >> k * 8 & 255) == 255; k++, bin++) {
            atomicAdd((unsigned long long *)&counts[bin], 256ull);
            if (k < 3 && bin + 1 < end)
                atomicAdd((unsigned long long *)&counts[bin + 1], ~0ull);
        }
    }
    // What a counter cannot hold, by what its word held before an addition to it: the half of one of 16 bits, by the thread
    // that takes it out, or 256. `local`: the bin's number among those of the block.
    __device__ __forceinline__ void carry_out(const unsigned int local, const unsigned int old) const
    {
        if constexpr (BYTES) {
            const long long begin = base, end = begin + c.per;
            carry_256(c.counts, begin + local, end < c.bins ? end : c.bins, (int)local % 4, old);
        } else {
            const unsigned int shift = local % 2 * 16;
            if ((atomicAnd(&counts_of[local / 2], ~(HALF << shift)) >> shift & HALF) != 0)
                atomicAdd((unsigned long long *)&c.counts[base + local], (unsigned long long)HALF);
        }
    }
    // What has a bit of CARRY if a counter has something to be carried out: for one of 16 bits, it or the other one of its word.
    static __device__ __forceinline__ unsigned int carries(const unsigned int local, const unsigned int old)
    {
        return !BYTES ? old : (~old & __funnelshift_l(0u, 1u, local * 8) * 255) == 0 ? CARRY : 0;
    }
    // Count an element of that bin, if it is `in` one; what the word of its counter held before.
    __device__ __forceinline__ unsigned int count_at(const number bin, bool in) const
    {
        number local = bin;
        if constexpr (IN_ROWS) {
            local = bin - base;
            in = in && local < (unsigned int)c.per;
        }
        if constexpr (SHARE > 1) {
            const unsigned int at = in ? (unsigned int)local * (4 / SHARE) & ~3u : uncounted;
            const unsigned int add = BYTES ? __funnelshift_l(0u, 1u, (unsigned int)local * 8)
                                           : ((unsigned int)local & 1) * 0xffffu + 1;
            return atomicAdd((unsigned int *)((char *)counts_of + at), in ? add : 0);
        } else if constexpr (COUNTERS == COUNTERS_SHARED) {
            const unsigned int at = in ? (unsigned int)local * stride + copy : uncounted;
            atomicAdd((unsigned int *)((char *)counts_of + at), 1u);
        } else if (in) {
            atomicAdd((unsigned long long *)&c.counts[local], 1ull);
        }
        return 0;
    }
    // Count an element whose bin is not certain.
    __device__ __forceinline__ void count_one(const T v) const
    {
        number bin = NOWHERE;
        bool in;
        if constexpr (EDGES) {
            in = (double)v >= p.least && (double)v <= p.highest;
            bin = in ? (number)bin_between((double)v, p, edges, c.bins) : NOWHERE;
        } else {
            bool sure = true;
            in = find(v, bin, sure);
        }
        const unsigned int old = count_at(bin, in), local = (unsigned int)bin - base;
        if (SHARE > 1 && in && local < (unsigned int)c.per && (carries(local, old) & CARRY) != 0)
            carry_out(local, old);
    }
    // A thread's accesses, N of them from `from` on, THREADS apart. Whoever adds to a counter of 16 bits that is half full
    // takes that half out before the next accesses: all threads together add less meanwhile than the other half has room for.
    template <int N> __device__ __forceinline__ void count_all(const piece *const from, steps<N>) const
    {
        piece x[N];
        bool sure = true;
        unsigned int full = 0, old[N * EACH];
        KILN__UNROLL for (int k = 0; k < N; k++)
            x[k] = from[k * THREADS];
        KILN__UNROLL for (int k = 0; k < N; k++) KILN__UNROLL for (int j = 0; j < EACH; j++) {
            number bin;
            const bool found = find(x[k].v[j], bin, sure);
            old[k * EACH + j] = count_at(bin, found);
            full |= carries((unsigned int)bin - base, old[k * EACH + j]);
        }
        if (SHARE > 1 && (full & CARRY) != 0)
            carry_out_all(from, old, steps<N>());
        if (!sure)
            count_uncertain(from, N);
    }
    // What is rare loads the elements again, which need no registers so.
    template <int N>
    __device__ __forceinline__ void carry_out_all(const piece *const from, const unsigned int (&old)[N * EACH], steps<N>) const
    {
        _Pragma("unroll (BYTES ? N : 1)") for (int k = 0; k < N; k++) {
            const piece x = from[k * THREADS];
            KILN__UNROLL for (int j = 0; j < EACH; j++) {
                number bin;
                bool sure = true;
                const bool found = find(x.v[j], bin, sure);
                const unsigned int local = (unsigned int)bin - base;
                if (!found || local >= (unsigned int)c.per)
                    continue;
                if (BYTES ? carries(local, old[BYTES ? k * EACH + j : 0]) != 0
                          : (counts_of[local / 2] >> local % 2 * 16 & HALF) != 0)
                    carry_out(local, old[BYTES ? k * EACH + j : 0]);
            }
        }
    }
    __device__ __forceinline__ void count_uncertain(const piece *const from, const int accesses) const
    {
        _Pragma("unroll 1") for (int k = 0; k < accesses; k++) {
            const piece x = from[k * THREADS];
            unsigned int uncertain = 0;
            KILN__UNROLL for (int j = 0; j < EACH; j++) {
                number bin;
                bool sure = true;
                find(x.v[j], bin, sure);
                uncertain |= sure ? 0 : 1u << j;
            }
            for (; uncertain != 0; uncertain &= uncertain - 1)
                count_one(((const T *)&from[k * THREADS])[__ffs((int)uncertain) - 1]);
        }
    }
};

// What the blocks of a row do: elements before the first whole access and behind the last one, then batches of accesses.
template <int method> static __device__ __forceinline__ void count(const counters<method> here)
{
    const bins_call &c = here.c;
    const long long lead = (long long)((16 - (size_t)c.x % 16) % 16 / sizeof(T));
    const long long head = lead < c.size ? lead : c.size, whole = (c.size - head) / EACH;
    const piece *const body = (const piece *)(c.x + head);
    const int beside = (int)(c.size - whole * EACH);
    if (blockIdx.x == 0 && (int)threadIdx.x < beside)
        here.count_one(c.x[(int)threadIdx.x < head ? threadIdx.x : whole * EACH + threadIdx.x]);
    constexpr int span = THREADS * AHEAD;
    long long begin = (long long)blockIdx.x * span;
    for (; begin + span <= whole; begin += (long long)gridDim.x * span)
        here.count_all(body + begin + threadIdx.x, steps<AHEAD>());
    for (long long at = begin + threadIdx.x; at < whole; at += THREADS)
        here.count_all(body + at, steps<1>());
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) kiln_sort_bins(const __grid_constant__ bins_call c)
{
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    __shared__ bins_plan plan;
    double *const room = (double *)bytes;
    const bool close = EDGES && c.bins <= EDGE_ROOM;
    unsigned int *const counts_of = (unsigned int *)(room + (close ? c.bins + 1 : 0));
    const unsigned int base = IN_ROWS ? blockIdx.y * (unsigned int)c.per : 0;
    const int words = SHARE > 1 ? (c.per + SHARE - 1) / SHARE : c.per * c.copies;

    if (COUNTERS != COUNTERS_GLOBAL)
        for (int k = threadIdx.x; k < words + 32; k += THREADS)
            counts_of[k] = 0;
    if (close)
        for (int k = threadIdx.x; k <= c.bins; k += THREADS)
            room[k] = c.edges[k];
    if (EDGES && threadIdx.x < 32)
        plan_edges(plan, c);
    else if (threadIdx.x == 0)
        plan.method = METHOD_DOUBLE;
    __syncthreads();
    const double *const edges = close ? room : c.edges;
    const unsigned int copy = (threadIdx.x & (unsigned int)(c.copies - 1)) * 4, stride = (unsigned int)c.copies * 4;
    const unsigned int uncounted = ((unsigned int)words + threadIdx.x % 32) * 4;
    if constexpr (EDGES && FIND) {
        if (plan.method == METHOD_PAIRS)
            count<METHOD_PAIRS>({c, plan, plan, edges, counts_of, stride, copy, uncounted, base});
    }
    if (plan.method == METHOD_DOUBLE)
        count<METHOD_DOUBLE>({c, plan, plan, edges, counts_of, stride, copy, uncounted, base});
    __syncthreads();
    if (SHARE > 1 && c.partial != nullptr) {
        const int quads = (words + 3) / 4;
        uint4 *const partial = c.partial + ((long long)blockIdx.y * gridDim.x + blockIdx.x) * quads;
        for (int k = threadIdx.x; k < quads; k += THREADS)
            partial[k] = ((const uint4 *)counts_of)[k];
        return;
    }
    for (int k = threadIdx.x; COUNTERS != COUNTERS_GLOBAL && k < c.per && base + k < c.bins; k += THREADS) {
        unsigned long long sum = SHARE > 1 ? counts_of[k / SHARE] >> k % SHARE * BITS & (1u << BITS % 32) - 1 : 0;
        for (int n = 0; n < c.copies && SHARE == 1; n++)
            sum += counts_of[k * c.copies + ((n + k) & (c.copies - 1))];
        if (sum != 0)
            atomicAdd((unsigned long long *)&c.counts[base + k], sum);
    }
}
