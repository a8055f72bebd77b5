//% insert sorting/keys.cu
//% plain ALONG COUNTS EACH ITEMS KILN__ITEMS KILN__SORT_FN KILN__THREADS KILN__UNROLL P T THREADS TILE WARPS
//% plain __device__ __forceinline__ __popc a above alike all_three b before below c clear_counts count
//% plain count_tile counts d digit digits equal forget four here k lane left mine move_tile moved p
//% plain scan_counts put rank run small_digits sorted start sum_before sums total v w warp word
// Ranks of the elements of a tile by one digit, stable: THREADS * ITEMS elements, of which a warp has ITEMS * 32
// in a row; element k of lane l is number k * 32 + l of them.
//
// count_tile() counts the digits of each warp, scan_counts() turns the counts into the destination of the first element
// of a digit and a warp, and move_tile() takes the elements there one after the other. Lanes of a warp that have the same
// digit find each other by eight votes, one for each bit, whose time does not depend on what the digits are.
constexpr int THREADS = KILN__THREADS, ITEMS = KILN__ITEMS, WARPS = THREADS / 32;
constexpr int TILE = THREADS * ITEMS, COUNTS = WARPS * 256;
constexpr int EACH = THREADS < 256 ? 256 / THREADS : 1; // so many neighbouring digits are a thread's, of the first threads

// Digits of a thread's elements, four in a register; they are put in order, from the first one on.
struct small_digits {
    unsigned four[(ITEMS + 3) / 4];
    __device__ __forceinline__ unsigned operator[](int k) const { return four[k / 4] >> k % 4 * 8 & 255u; }
};
KILN__SORT_FN void put(small_digits &digits, int k, unsigned v)
{
    digits.four[k / 4] = k % 4 == 0 ? v : digits.four[k / 4] | v << k % 4 * 8;
}
// What has been computed of digits is not kept in registers beyond this.
KILN__SORT_FN void forget(small_digits &digits)
{
    KILN__UNROLL for (int k = 0; k < (ITEMS + 3) / 4; k++) asm volatile("" : "+r"(digits.four[k]));
}

// The sum of all threads' values before this one, of the first 256 threads; every thread calls it.
template <class T> KILN__SORT_FN T sum_before(T v, T *sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T run = v;
    KILN__UNROLL for (int d = 1; d < 32; d *= 2) {
        const T left = __shfl_up_sync(0xffffffffu, run, d);
        if (lane >= d)
            run += left;
    }
    if (lane == 31 && warp < 8)
        sums[warp] = run;
    __syncthreads();
    T before = run - v;
    for (int k = 0; k < 8; k++)
        if (k < warp)
            before += sums[k];
    return before;
}

KILN__SORT_FN unsigned all_three(unsigned a, unsigned b, unsigned c)
{
    unsigned v;
    asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
    return v;
}

// The lanes of a warp that have this lane's digit.
//# In PTX, because the compiler turns the same in C++ into twice as many instructions.
KILN__SORT_FN unsigned alike(unsigned digit)
{
    unsigned v[8];
    KILN__UNROLL for (int k = 0; k < 8; k++) asm volatile(
        "{ .reg .pred p; and.b32 %0, %1, %2; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
        : "=r"(v[k]) : "r"(digit), "r"(1u << k));
    return all_three(all_three(v[0], v[1], v[2]), all_three(v[3], v[4], v[5]), v[6] & v[7]);
}

// Of this warp alone, whose counts no other warp wants any more.
KILN__SORT_FN void clear_counts(unsigned *counts)
{
    unsigned *const mine = counts + threadIdx.x / 32 * 256 + threadIdx.x % 32;
    KILN__UNROLL for (int k = 0; k < 8; k++) mine[k * 32] = 0;
    __syncwarp();
}

// Count the digits of each warp; returns how often this thread's digits occur in the tile.
KILN__SORT_FN unsigned count_tile(const small_digits &digits, unsigned *counts)
{
    unsigned *const mine = counts + threadIdx.x / 32 * 256;
    unsigned total = 0;
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) atomicAdd(&mine[digits[k]], 1u);
    __syncthreads();
    if (threadIdx.x < 256)
        KILN__UNROLL for (int w = 0; w < WARPS; w++) KILN__UNROLL for (int d = 0; d < EACH; d++)
            total += counts[w * 256 + threadIdx.x * EACH + d];
    return total;
}

// Replace each count by the destination of the first of those elements; returns where this thread's digits begin.
KILN__SORT_FN unsigned scan_counts(unsigned *counts, unsigned total, unsigned *sums)
{
    const unsigned start = sum_before(total, sums);
    unsigned run = start;
    if (threadIdx.x < 256)
        KILN__UNROLL for (int d = 0; d < EACH; d++) KILN__UNROLL for (int w = 0; w < WARPS; w++) {
            unsigned *const count = &counts[w * 256 + threadIdx.x * EACH + d];
            const unsigned here = *count;
            *count = run;
            run += here;
        }
    __syncthreads();
    return start;
}

// Write the elements, and the positions `p` that go along with them, in the order of their digits.
template <bool ALONG, class P>
KILN__SORT_FN void move_tile(const small_digits &digits, unsigned *counts, const word (&w)[ITEMS], word *sorted,
                             const P (&p)[ITEMS], P *moved)
{
    const unsigned below = (1u << threadIdx.x % 32) - 1u, above = ~below << 1;
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const unsigned digit = digits[k], equal = alike(digit);
        unsigned *const mine = counts + threadIdx.x / 32 * 256 + digit;
        const unsigned rank = *mine + (unsigned)__popc(equal & below);
        __syncwarp();
        if ((equal & above) == 0)
            *mine = rank + 1;
        __syncwarp();
        sorted[rank] = w[k];
        if constexpr (ALONG)
            moved[rank] = p[k];
    }
}
