//% insert sorting/tile.cu
//% plain ITEMS KILN__DYNAMIC_SHARED KILN__ORDER KILN__ROOM KILN__SORT_FN KILN__UNROLL ORDER T
//% plain THREADS TILE at base bytes c clear_room count_tile digit digit_of digits exchange_tile
//% plain first from ifndef items k keep keys keys_out kiln_sort_rows length name nullptr order
//% plain order_out rank_tile ranks room rows_call start tile_room to total uint4 w wide word
// Rows that fit a block: a block sorts one row by all digits, which it holds in registers and exchanges through
// shared memory.
//
// Grid: a block a row. KILN__ORDER: positions in the row are moved along.
// KILN__ROOM: bytes of shared memory, which the launch gives.
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

// What is ranked is written where it goes, and read in the order of the tile again.
template <class T>
KILN__SORT_FN void exchange_tile(T (&items)[ITEMS], const unsigned (&ranks)[ITEMS], T *room)
{
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32;
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) room[ranks[k]] = items[k];
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) items[k] = room[first + k * 32];
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_rows(const rows_call c)
{
    static_assert(sizeof(tile_room) <= KILN__ROOM && TILE * sizeof(word) <= KILN__ROOM, "both in turn");
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    tile_room &room = *(tile_room *)bytes;
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32;
    const long long base = (long long)blockIdx.x * c.length;
    word w[ITEMS];
    unsigned short order[ITEMS];
    unsigned digits[ITEMS], ranks[ITEMS], total, start;

    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = first + k * 32;
        w[k] = word();
        if (at < c.length)
            w[k] = c.keys[base + at];
        if constexpr (ORDER)
            order[k] = (unsigned short)at;
    }
    // What is beyond the row stays behind it: it counts as the last digit in each pass.
    for (int digit = c.from; digit < c.from + c.digits; digit++) {
        __syncthreads();
        clear_room(room);
        __syncthreads();
        KILN__UNROLL for (int k = 0; k < ITEMS; k++)
            digits[k] = first + k * 32 < c.length ? digit_of(w[k], digit) : 255u;
        count_tile(digits, room, total);
        rank_tile(digits, room, total, ranks, start);
        exchange_tile(w, ranks, (word *)bytes);
        if constexpr (ORDER)
            exchange_tile(order, ranks, (unsigned short *)bytes);
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
