//% insert sorting/tile.cu
//% plain WINDOW COUNTS ITEMS KILN__BLOCKS KILN__DYNAMIC_SHARED KILN__ORDER KILN__POSITION KILN__ROOM
//% plain KILN__SORT_FN KILN__UNROLL ORDER ENCODED THREADS TILE all arrays at at_shared before begin bytes c
//% plain clear_counts count_step count_tile counts digit digit_of_encoded digits encode encodes first forget from
//% plain load_word known ifndef k keys keys_buffer keys_out kiln_sort_sweep decode decodes left length load_order
//% plain load_tile look_back mark mine move_tile moved name nullptr odd order order_buffer order_out p pass
//% plain passes scan_counts planned position put rest row small_digits sorted start store_tile sum_before
//% plain complete sums sums_of_tile sweep_call take_tile tile_of_block target store_word ticket tickets tile tiles to state
//% plain total uint4 v valid valid_of w pass_arrays arrays_of wide word word_of look_back_words
// One pass of a radix sort of long rows: by one digit of 8 bits, read once and written once. After A. Adinets,
// D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv:2206.01784.
//
// Grid: `tiles` blocks a row, which take tiles in the order in which they start. A block ranks its tile, finds out
// how many elements of each digit stand before it in the row, and writes its elements sorted, so that equal digits
// are neighbours in memory as well.
//
// Look-back, by thread t for digit t: a tile's word for a digit holds its own count (state `mark`), later that of
// all tiles up to it, an inclusive sum (`mark` + 1). A thread adds up the counts of tiles before its own, backwards,
// until it finds an inclusive sum. Each pass has states of its own, so words need not be cleared between passes. A tile
// waits only for tiles before it, which have started before it; the first one knows where its digits begin from the
// counts of the whole row.
//
// KILN__ORDER: positions, of type KILN__POSITION, are moved with the elements. The first pass makes them.
//
// What count.cu has planned says whether a digit has a pass at all, and where it reads and writes: the first one reads
// the elements given, the last one writes results, and those between take two buffers in turn.
typedef KILN__POSITION position;
constexpr bool ORDER = KILN__ORDER;

#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

struct sweep_call {
    const word *keys;
    word *sorted;       // null: not wanted
    word *keys_buffer[2]; // after a pass that an even number of passes follows, and an odd one
    position *order_buffer[2];
    void *order;
    unsigned long long *look_back_words;
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

// What a pass reads and writes.
struct pass_arrays {
    const word *keys;
    word *keys_out;        // null: not wanted any more
    const position *order; // null: the first pass
    void *order_out;
    bool wide;             // order_out has 64 bits
    bool encodes, decodes; // the first pass encodes elements, the last one decodes them (keys.cu)
};
KILN__SORT_FN pass_arrays arrays_of(const sweep_call &c, unsigned pass)
{
    const unsigned left = pass & 255;
    const bool first = (pass & 256) != 0, odd = left % 2 != 0;
    return {first ? c.keys : odd ? c.keys_buffer[0] : c.keys_buffer[1],
            left == 0 ? c.sorted : odd ? c.keys_buffer[1] : c.keys_buffer[0],
            first ? nullptr : odd ? c.order_buffer[0] : c.order_buffer[1],
            left == 0 ? c.order : (void *)(odd ? c.order_buffer[1] : c.order_buffer[0]), left == 0 && c.wide != 0, first,
            left == 0};
}

KILN__SORT_FN void store_word(unsigned long long *at, unsigned long long v)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
KILN__SORT_FN unsigned long long load_word(const unsigned long long *at)
{
    unsigned long long v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}

// What a block works on: a tile of a row, and what is planned for the pass.
struct tile_of_block {
    unsigned row, tile, planned;
};
KILN__SORT_FN tile_of_block take_tile(const sweep_call &c)
{
    const unsigned ticket = atomicAdd(c.tickets, 1u);
    return {ticket / c.tiles, ticket % c.tiles, c.passes != nullptr ? c.passes[c.digit] : c.pass};
}
// The look-back word of the thread's digit.
KILN__SORT_FN unsigned long long *word_of(const sweep_call &c, const tile_of_block &at)
{
    return c.look_back_words + ((unsigned long long)at.row * c.tiles + at.tile) * 256 + threadIdx.x;
}
KILN__SORT_FN int valid_of(const sweep_call &c, const tile_of_block &at)
{
    const long long rest = c.length - (long long)at.tile * TILE;
    return rest < TILE ? (int)rest : TILE;
}

// What is beyond the end of the row counts as the last digit and is not written.
KILN__SORT_FN void load_tile(const sweep_call &c, const tile_of_block &at, word (&w)[ITEMS], small_digits &digits)
{
    const pass_arrays arrays = arrays_of(c, at.planned);
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32, valid = valid_of(c, at);
    const word *const keys = arrays.keys + at.row * c.length + (long long)at.tile * TILE + first;
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) w[k] = first + k * 32 < valid ? keys[k * 32] : word();
    if (ENCODED && arrays.encodes) KILN__UNROLL for (int k = 0; k < ITEMS; k++) w[k] = encode(w[k]);
    KILN__UNROLL for (int k = 0; k < ITEMS; k++)
        put(digits, k, first + k * 32 < valid ? digit_of_encoded(w[k], c.digit) : 255u);
}

KILN__SORT_FN void load_order(const sweep_call &c, const tile_of_block &at, position (&p)[ITEMS])
{
    const pass_arrays arrays = arrays_of(c, at.planned);
    const int first = threadIdx.x / 32 * (ITEMS * 32) + threadIdx.x % 32, valid = valid_of(c, at);
    const long long begin = (long long)at.tile * TILE + first;
    const position *const order = arrays.order + at.row * c.length + begin;
    if (arrays.order != nullptr)
        KILN__UNROLL for (int k = 0; k < ITEMS; k++) p[k] = first + k * 32 < valid ? order[k * 32] : 0;
    else
        KILN__UNROLL for (int k = 0; k < ITEMS; k++) p[k] = (position)begin + k * 32;
}

// Equal digits are neighbours in the sorted tile, and so in memory.
KILN__SORT_FN void store_tile(const sweep_call &c, const tile_of_block &at, const word *sorted, const position *moved,
                              const long long *target)
{
    const pass_arrays arrays = arrays_of(c, at.planned);
    const int valid = valid_of(c, at);
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int from = k * THREADS + threadIdx.x;
        if (from >= valid)
            continue;
        const word v = sorted[from];
        const long long to = target[digit_of_encoded(v, c.digit)] + from;
        if (arrays.keys_out != nullptr)
            arrays.keys_out[to] = arrays.decodes ? decode(v) : v;
        if (ORDER && arrays.wide)
            ((long long *)arrays.order_out)[to] = (long long)moved[from];
        else if (ORDER)
            ((position *)arrays.order_out)[to] = moved[from];
    }
}

// How many elements of the row before the tile have the thread's digit; stores the inclusive sum for tiles behind it.
// Words of several tiles are loaded at once, since one load takes as long as all of them.
KILN__SORT_FN unsigned long long look_back(const sweep_call &c, unsigned long long *mine, unsigned tile,
                                           unsigned total)
{
    constexpr int WINDOW = 4;
    unsigned long long before = 0;
    const unsigned long long *at = mine - 256;
    for (bool complete = tile == 0; !complete;) {
        unsigned long long v[WINDOW];
        KILN__UNROLL for (int k = 0; k < WINDOW; k++) v[k] = k < (int)tile ? load_word(at - 256 * k) : 0;
        int known = 0;
        KILN__UNROLL for (int k = 0; k < WINDOW; k++) {
            const unsigned state = ((unsigned)v[k] & 255u) - c.mark; // 0: its own count, 1: an inclusive sum, else nothing yet
            if (complete || known != k || state > 1u)
                continue;
            before += v[k] >> 8;
            known++;
            complete = state == 1u;
        }
        at -= 256 * known;
        tile -= (unsigned)known;
    }
    store_word(mine, (before + total) << 8 | (c.mark + 1));
    return before;
}

extern "C" __global__ void __launch_bounds__(THREADS, KILN__BLOCKS) kiln_sort_sweep(const sweep_call c)
{
    static_assert(TILE * (sizeof(word) + (ORDER ? sizeof(position) : 0)) + COUNTS * 4 == KILN__ROOM, "one behind the other");
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    word *const sorted = (word *)bytes;
    position *const moved = (position *)(sorted + TILE);
    unsigned *const counts = (unsigned *)(moved + (ORDER ? TILE : 0));
    __shared__ unsigned long long sums[8];
    __shared__ long long target[256]; // of a digit: its elements' destination less their index in the sorted tile
    __shared__ unsigned sums_of_tile[8];
    __shared__ tile_of_block at_shared;
    // Read again behind barriers, instead of being kept in registers.
    const tile_of_block &at = at_shared;

    if (threadIdx.x == 0)
        at_shared = take_tile(c);
    clear_counts(counts);
    __syncthreads();
    if (at.planned == 0)
        return;
    word w[ITEMS];
    position p[ITEMS];
    small_digits digits;

    load_tile(c, at, w, digits);
    const unsigned total = count_tile(digits, counts);
    unsigned long long before = 0;
    if (at.tile == 0) {
        const unsigned long long all =
            threadIdx.x < 256 ? c.counts[(long long)at.row * c.count_step + threadIdx.x] : 0;
        before = sum_before(all, sums);
        if (threadIdx.x < 256)
            store_word(word_of(c, at), (before + total) << 8 | (c.mark + 1));
    } else if (threadIdx.x < 256) {
        store_word(word_of(c, at), (unsigned long long)total << 8 | c.mark);
    }
    const unsigned start = scan_counts(counts, total, sums_of_tile);
    forget(digits);
    if constexpr (ORDER)
        load_order(c, at, p);
    move_tile<ORDER>(digits, counts, w, sorted, p, moved);
    if (threadIdx.x < 256) {
        if (at.tile > 0)
            before = look_back(c, word_of(c, at), at.tile, total);
        target[threadIdx.x] = at.row * c.length + (long long)before - (long long)start;
    }
    __syncthreads();
    store_tile(c, at, sorted, moved, target);
}
