//% insert sorting/tile.cu
//% plain COUNTS ITEMS KILN__DYNAMIC_SHARED KILN__ORDER KILN__ROOM KILN__SORT_FN KILN__UNROLL ORDER T THREADS
//% plain TILE at base bytes c clear_counts count_tile counts digit digit_of digits first forget from ifndef
//% plain items k keep keys keys_out kiln_sort_rows length move_tile moved name nullptr order order_out
//% plain scan_counts position put read_tile room rows_call small_digits sorted sums to total uint4 w wide
//% plain word
// Rows that fit a block: a block sorts one row by all digits, which it holds in registers and exchanges through
// shared memory.
//
// Grid: a block a row. KILN__ORDER: positions in the row are moved along.
// KILN__ROOM: bytes of shared memory, which the launch gives: elements, positions and counts of digits.
constexpr bool ORDER = KILN__ORDER;
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

struct rows_call {
    const word *keys;
    word *keys_out; // null: not wanted
    void *order_out; // null: not wanted
    int length;
    int wide; // order_out has 64 bits, else 32
    int from, digits;
    int keep; // so many elements are written, to rows of that length
};

// The order of the tile once more, behind a barrier.
template <class T> KILN__SORT_FN void read_tile(T (&items)[ITEMS], const T *room)
{
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32;
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) items[k] = room[first + k * 32];
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_rows(const rows_call c)
{
    typedef unsigned short position;
    static_assert(TILE * (sizeof(word) + (ORDER ? sizeof(position) : 0)) + COUNTS * 4 == KILN__ROOM, "one behind the other");
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    word *const sorted = (word *)bytes;
    position *const moved = (position *)(sorted + TILE);
    unsigned *const counts = (unsigned *)(moved + (ORDER ? TILE : 0));
    __shared__ unsigned sums[8];
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32;
    const long long base = (long long)blockIdx.x * c.length;
    word w[ITEMS];
    position order[ITEMS];
    small_digits digits;

    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = first + k * 32;
        w[k] = word();
        if (at < c.length)
            w[k] = c.keys[base + at];
        order[k] = (position)at;
    }
    // What is beyond the row stays behind it: it counts as the last digit in each pass.
    for (int digit = c.from; digit < c.from + c.digits; digit++) {
        clear_counts(counts);
        KILN__UNROLL for (int k = 0; k < ITEMS; k++)
            put(digits, k, first + k * 32 < c.length ? digit_of(w[k], digit) : 255u);
        forget(digits);
        const unsigned total = count_tile(digits, counts);
        scan_counts(counts, total, sums);
        forget(digits);
        move_tile<ORDER>(digits, counts, w, sorted, order, moved);
        __syncthreads();
        read_tile(w, sorted);
        if constexpr (ORDER)
            read_tile(order, moved);
    }
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = first + k * 32;
        const long long to = (long long)blockIdx.x * c.keep + at;
        if (at >= c.keep)
            continue;
        if (c.keys_out != nullptr)
            c.keys_out[to] = w[k];
        if constexpr (ORDER) {
            if (c.wide)
                ((long long *)c.order_out)[to] = order[k];
            else
                ((int *)c.order_out)[to] = order[k];
        }
    }
}
