//% insert sorting/tile.cu
//% plain D KILN__BLOCKS KILN__PACKED PLACED R forget packed packing put small_digits small_ranks
//% plain along keys_buffer left odd order_buffer pass passes planned way way_of EXCHANGED ITEMS ITEM_BYTES KILN__ORDER KILN__POSITION KILN__SORT_FN KILN__UNROLL ORDER
//% plain THREADS TILE all at base before begin c clear_room count_step count_tile counts digit
//% plain digit_placed digits enter enters leave leaves exchange first hear k keys keys_out kiln_sort_sweep lane length look_back
//% plain mark mine move_order moved nullptr order order_out p position rank_tile ranks rest room row sorted
//% plain start sum_before sums sweep_call target tell ticket tickets tile tile_room tiles to total
//% plain v valid w warp wide word words
// One pass of a radix sort of long rows: by one digit of 8 bits, read once and written once. After A. Adinets,
// D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv:2206.01784.
//
// Grid: `tiles` blocks a row, which take tiles in the order in which they start. A block ranks its tile, finds out
// how many elements of each digit stand before it in the row, and writes its elements sorted, so that equal digits
// are neighbours in memory as well.
//
// Look-back: thread t asks for digit t. A tile's word for a digit tells its own count (mark `mark`), later that of
// all tiles up to it (`mark` + 1). A thread adds up own counts backwards until it finds a sum. The words of a pass
// have marks of their own, so they need not be cleared between passes. A tile waits only for tiles before it,
// which have started before it; the first one knows where its digits begin from the counts of the whole row.
//
// KILN__ORDER: positions, of type KILN__POSITION, are moved along. In the first pass they are made.
//
// What count.cu has planned says whether a digit has a pass at all, and where it reads and writes: the first one reads
// the elements given, the last one writes results, and those between take two buffers in turn.
typedef KILN__POSITION position;
constexpr bool ORDER = KILN__ORDER;

// KILN__PACKED: how a thread keeps digits and ranks, so that as many blocks as KILN__BLOCKS says have registers; 0: it does not
// matter.
template <bool packed> struct packing {
    typedef unsigned digits[ITEMS], ranks[ITEMS];
};
template <> struct packing<true> {
    typedef small_digits digits;
    typedef small_ranks ranks;
};
constexpr int ITEM_BYTES = ORDER && sizeof(position) > sizeof(word) ? sizeof(position) : sizeof(word);

struct sweep_call {
    const word *keys;
    word *sorted;       // null: not wanted
    word *keys_buffer[2]; // after a pass that an even number of passes follows, and an odd one
    position *order_buffer[2];
    void *order;
    unsigned long long *words;
    const unsigned long long *counts;
    const unsigned *passes;
    unsigned *tickets;
    long long length;
    unsigned tiles;
    int digit, count_step; // which one, and how many counts a row has
    unsigned mark;
    int wide; // the result `order` has 64 bits, whatever `position` has
    unsigned pass; // as count.cu would have planned it, where it has not: `passes` is null
};

// Where a pass reads and writes.
struct way {
    const word *keys;
    word *keys_out;        // null: not wanted any more
    const position *order; // null: the first pass
    void *order_out;
    bool wide, enters, leaves; // places are computed when the first pass loads, elements when the last one stores
};
KILN__SORT_FN way way_of(const sweep_call &c, unsigned pass)
{
    const unsigned left = pass & 255;
    const bool first = (pass & 256) != 0, odd = left % 2 != 0;
    return {first ? c.keys : odd ? c.keys_buffer[0] : c.keys_buffer[1],
            left == 0 ? c.sorted : odd ? c.keys_buffer[1] : c.keys_buffer[0],
            first ? nullptr : odd ? c.order_buffer[0] : c.order_buffer[1],
            left == 0 ? c.order : (void *)(odd ? c.order_buffer[1] : c.order_buffer[0]), left == 0 && c.wide != 0, first,
            left == 0};
}

KILN__SORT_FN void tell(unsigned long long *at, unsigned long long v)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
KILN__SORT_FN unsigned long long hear(const unsigned long long *at)
{
    unsigned long long v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}

// How many elements of the row have the thread's digit and stand before the tile; told to those behind it.
KILN__SORT_FN unsigned long long look_back(const sweep_call &c, unsigned long long *mine, unsigned tile,
                                           unsigned total)
{
    unsigned long long before = 0;
    const unsigned long long *at = mine;
    while (tile > 0) {
        at -= 256;
        unsigned long long v;
        do {
            v = hear(at);
        } while (((unsigned)v & 255u) - c.mark > 1u);
        before += v >> 8;
        if (((unsigned)v & 255u) != c.mark)
            break;
    }
    tell(mine, (before + total) << 8 | (c.mark + 1));
    return before;
}

// The positions of a tile, moved as its elements have been. `digits`: of the elements in the order of the sorted tile.
template <class D, class R>
KILN__SORT_FN void move_order(const way &c, const D &digits, const R &ranks,
                              const long long *target, position *moved, long long base, long long begin, int valid)
{
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32;
    position p[ITEMS];
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) if (first + k * 32 < valid)
        p[k] = c.order != nullptr ? c.order[base + begin + first + k * 32] : (position)(begin + first + k * 32);
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) if (first + k * 32 < valid) moved[ranks[k]] = p[k];
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * THREADS + threadIdx.x;
        if (at >= valid)
            continue;
        const long long to = target[digits[k]] + at;
        if (c.wide)
            ((long long *)c.order_out)[to] = (long long)moved[at];
        else
            ((position *)c.order_out)[to] = moved[at];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, KILN__BLOCKS) kiln_sort_sweep(const sweep_call c)
{
    constexpr int EXCHANGED = TILE * ITEM_BYTES;
    __shared__ alignas(16) unsigned char exchange[EXCHANGED > (int)sizeof(tile_room) ? EXCHANGED : (int)sizeof(tile_room)];
    tile_room &room = *(tile_room *)exchange; // until the tile is ranked
    __shared__ unsigned long long sums[8];
    __shared__ long long target[256]; // of a digit: where its elements go, less where they stand in the tile
    __shared__ unsigned ticket, planned;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        planned = c.passes != nullptr ? c.passes[c.digit] : c.pass;
        ticket = atomicAdd(c.tickets, 1u);
    }
    clear_room(room);
    __syncthreads();
    if (planned == 0)
        return;
    const way along = way_of(c, planned);
    const unsigned row = ticket / c.tiles, tile = ticket % c.tiles;
    const long long begin = (long long)tile * TILE, rest = c.length - begin;
    const int valid = rest < TILE ? (int)rest : TILE, first = warp * (ITEMS * 32) + lane;
    const long long base = row * c.length;
    unsigned long long *const mine = c.words + (unsigned long long)ticket * 256 + threadIdx.x;
    word w[ITEMS];
    packing<KILN__PACKED>::digits digits;
    packing<KILN__PACKED>::ranks ranks;
    unsigned total, start;

    // What is beyond the end of the row counts as the last digit and is not written.
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) if (first + k * 32 < valid) w[k] = along.keys[base + begin + first + k * 32];
    if (PLACED && along.enters) KILN__UNROLL for (int k = 0; k < ITEMS; k++) w[k] = enter(w[k]);
    KILN__UNROLL for (int k = 0; k < ITEMS; k++)
        put(digits, k, first + k * 32 < valid ? digit_placed(w[k], c.digit) : 255u);
    count_tile(digits, room, total);
    unsigned long long before = 0;
    if (tile == 0) {
        const unsigned long long all =
            threadIdx.x < 256 ? c.counts[(long long)row * c.count_step + threadIdx.x] : 0;
        before = sum_before(all, sums);
        if (threadIdx.x < 256)
            tell(mine, (before + total) << 8 | (c.mark + 1));
    } else if (threadIdx.x < 256) {
        tell(mine, (unsigned long long)total << 8 | c.mark);
    }
    forget(digits);
    rank_tile(digits, room, total, ranks, start);
    __syncthreads();
    word *const sorted = (word *)exchange;
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) if (first + k * 32 < valid) sorted[ranks[k]] = w[k];
    if (threadIdx.x < 256) {
        if (tile > 0)
            before = look_back(c, mine, tile, total);
        target[threadIdx.x] = base + (long long)before - (long long)start;
    }
    __syncthreads();

    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * THREADS + threadIdx.x;
        if (at < valid) {
            const word v = sorted[at];
            const unsigned digit = digit_placed(v, c.digit);
            put(digits, k, digit); // of no use without an order
            if (along.keys_out != nullptr)
                along.keys_out[target[digit] + at] = along.leaves ? leave(v) : v;
        }
    }
    if constexpr (ORDER)
        move_order(along, digits, ranks, target, (position *)exchange, base, begin, valid);
}
