//% insert sorting/keys.cu
//% plain ITEMS KILN__ITEMS KILN__SORT_FN KILN__THREADS KILN__UNROLL T THREADS TILE WARPS __clz
//% plain __popc atomicOr before clear_room count count_tile d digits equal first here k lane lanes
//% plain last left mine rank_tile ranks room run start sum_before sums tile_room total v w warp
//% plain CROWDED D KILN__CROWDED R __device__ __forceinline__ __match_any_sync below crowded four forget ifndef most put small_digits
//% plain small_ranks two
// Ranks of the elements of a tile by one digit, stable: THREADS * ITEMS elements, of which a warp has ITEMS * 32
// in a row; element k of lane l is number k * 32 + l of them.
constexpr int THREADS = KILN__THREADS, ITEMS = KILN__ITEMS, WARPS = THREADS / 32;
constexpr int TILE = THREADS * ITEMS;
static_assert(THREADS >= 256, "each digit has a thread");

// How often each digit occurs in each warp, and which lanes have it; sums of warps.
struct tile_room {
    unsigned count[WARPS][256], lanes[WARPS][256], sums[WARPS], crowded;
};

KILN__SORT_FN void clear_room(tile_room &room)
{
    unsigned *const first = &room.count[0][0];
    for (int k = threadIdx.x; k < 2 * WARPS * 256; k += THREADS)
        first[k] = 0;
    if (threadIdx.x == 0)
        room.crowded = 0;
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

#ifndef KILN__CROWDED
#define KILN__CROWDED 0
#endif
constexpr int CROWDED = KILN__CROWDED; // so many times a thread's elements of a warp have one digit in a crowded tile; 0: none is

// Digits and ranks of a thread's elements, four and two in a register; they are put in order, from the first one on.
struct small_digits {
    unsigned four[(ITEMS + 3) / 4];
    __device__ __forceinline__ unsigned operator[](int k) const { return four[k / 4] >> k % 4 * 8 & 255u; }
};
struct small_ranks {
    unsigned two[(ITEMS + 1) / 2];
    __device__ __forceinline__ unsigned operator[](int k) const { return two[k / 2] >> k % 2 * 16 & 0xffffu; }
};
KILN__SORT_FN void put(small_digits &digits, int k, unsigned v)
{
    digits.four[k / 4] = k % 4 == 0 ? v : digits.four[k / 4] | v << k % 4 * 8;
}
KILN__SORT_FN void put(small_ranks &ranks, int k, unsigned v)
{
    ranks.two[k / 2] = k % 2 == 0 ? v : ranks.two[k / 2] | v << 16;
}
KILN__SORT_FN void put(unsigned (&ranks)[ITEMS], int k, unsigned v)
{
    ranks[k] = v;
}
// What has been computed of small digits is not kept in registers beyond this.
KILN__SORT_FN void forget(small_digits &digits)
{
    KILN__UNROLL for (int k = 0; k < (ITEMS + 3) / 4; k++) asm volatile("" : "+r"(digits.four[k]));
}
KILN__SORT_FN void forget(unsigned (&)[ITEMS])
{
}

// Count the digits. Of thread t below 256: how often digit t occurs in the tile, and how many elements have a
// smaller one. `room` is clear, and the block has passed a barrier since.
template <class D> KILN__SORT_FN void count_tile(const D &digits, tile_room &room, unsigned &total)
{
    unsigned *const mine = room.count[threadIdx.x / 32];
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) atomicAdd(&mine[digits[k]], 1u);
    __syncthreads();
    total = 0;
    unsigned most = 0;
    if (threadIdx.x < 256)
        KILN__UNROLL for (int w = 0; w < WARPS; w++) {
            const unsigned here = room.count[w][threadIdx.x];
            room.count[w][threadIdx.x] = total;
            total += here;
            most = here > most ? here : most;
        }
    if (CROWDED > 0 && most > CROWDED * ITEMS)
        atomicOr(&room.crowded, 1u);
}

// Behind count_tile(): where in the sorted tile each element goes, and (for thread t) where digit t begins.
template <class D, class R>
KILN__SORT_FN void rank_tile(const D &digits, tile_room &room, unsigned total, R &ranks, unsigned &start)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    start = sum_before(total, room.sums);
    if (threadIdx.x < 256)
        KILN__UNROLL for (int w = 0; w < WARPS; w++) room.count[w][threadIdx.x] += start;
    __syncthreads();
    // Where many lanes have one digit, their atomic operations would wait for each other.
    if (CROWDED > 0 && room.crowded != 0) {
        KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
            const unsigned equal = __match_any_sync(0xffffffffu, digits[k]);
            unsigned *const mine = &room.count[warp][digits[k]];
            const unsigned before = *mine, below = (unsigned)__popc(equal & ((1u << lane) - 1u));
            __syncwarp();
            if (below == 0)
                *mine = before + (unsigned)__popc(equal);
            put(ranks, k, before + below);
            __syncwarp();
        }
        return;
    }
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        unsigned *const lanes = &room.lanes[warp][digits[k]];
        atomicOr(lanes, 1u << lane);
        __syncwarp();
        const unsigned equal = *lanes;
        const int last = 31 - __clz(equal);
        unsigned before = 0;
        __syncwarp();
        if (lane == last) {
            before = atomicAdd(&room.count[warp][digits[k]], (unsigned)__popc(equal));
            *lanes = 0;
        }
        before = __shfl_sync(0xffffffffu, before, last);
        put(ranks, k, before + (unsigned)__popc(equal & ((1u << lane) - 1u)));
        __syncwarp();
    }
}
