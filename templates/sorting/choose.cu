//% insert sorting/keys.cu
//% plain BINS BITS ITEMS KILN__ITEMS KILN__ORDER KILN__ROOM KILN__SORT_FN KILN__THREADS KILN__UNROLL KIND more
//% plain KIND_FLOATING MINE NOWHERE ORDER POSITION_BITS ROOM THREADS WIDTH __popc active add_digit agree agrees alone
//% plain at atomicMax base before bin bins bits by_position c choose_call choose_room collect count covered d deliver
//% plain digit end equal equal_here find_bin find_limit floor from has here k keys keys_out kiln_sort_choose l lane
//% plain last leader left length limit mask masked mine most n nullptr order_out p piece key key_mask radix_key_of position
//% plain position_mask rank room run s shift side start sum sums taken to total w want warp wide word
// Elements number `from` to `from + count` of each row in sorted order, without sorting the row: for rows that a block
// holds in its registers, and few elements.
//
//     row > radix keys in registers > the last element that is wanted, digit by digit from the highest
//         > the elements up to it > ranked among each other > results
//
// Grid: a block a row. Elements are ordered by their radix keys (keys.cu) and, where these are equal, by their positions,
// whose digits come last. A pass counts the digits of the elements that agree with what is known of the wanted one.
// As soon as few enough are left, they are collected and each is compared with all others. Elements before number
// `from` are left out by a first round of the same, which ends with the elements that agree with number `from`.
//
// `last`: behind them a NaN of the row, the last of its order, or the last of them where there is none.
constexpr int THREADS = KILN__THREADS, ITEMS = KILN__ITEMS, ROOM = KILN__ROOM;
constexpr int BITS = 11, BINS = 1 << BITS, MINE = BINS / THREADS;
constexpr int WIDTH = 8 * sizeof(piece), POSITION_BITS = 14;
constexpr bool ORDER = KILN__ORDER;
static_assert(THREADS * ITEMS <= 1 << POSITION_BITS && BINS % THREADS == 0, "positions and bins");

struct choose_call {
    const word *keys;
    word *keys_out;  // null: not wanted
    void *order_out; // null: not wanted
    int length, wide, from, count, last;
    int most; // elements that are collected, unless more are wanted
};

// What is known of an element: the bits of its radix key that the mask has and, behind all of these, of its position. So
// many elements stand before those that agree with it.
struct limit {
    piece key, key_mask;
    unsigned position, position_mask;
    int before, agree;
};

struct choose_room {
    unsigned bins[BINS], sums[THREADS / 32];
    int bin, before, agree; // of the bin that holds the wanted element
    int taken, last;
    piece key[ROOM];
    unsigned short position[ROOM];
};

KILN__SORT_FN bool agrees(piece p, unsigned at, const limit &l)
{
    return ((p ^ l.key) & l.key_mask) == 0 && ((at ^ l.position) & l.position_mask) == 0;
}

// Whether an element is before those that agree with what is known (-1), one of them (0) or behind them (1).
KILN__SORT_FN int side(piece p, unsigned at, const limit &l)
{
    const piece here = piece(p & l.key_mask);
    if (here != l.key)
        return here < l.key ? -1 : 1;
    const unsigned masked = at & l.position_mask;
    return masked < l.position ? -1 : masked > l.position;
}

// One more of the bin of each lane that has one; those that share the bin of the first lane are added at once.
KILN__SORT_FN void add_digit(unsigned *bins, bool has, unsigned digit)
{
    const unsigned active = __ballot_sync(0xffffffffu, has);
    if (active == 0)
        return;
    const int leader = __ffs(active) - 1;
    const bool equal_here = __shfl_sync(0xffffffffu, digit, leader) == digit && has;
    const unsigned equal = __ballot_sync(0xffffffffu, equal_here);
    if (has && !equal_here)
        atomicAdd(&bins[digit], 1u);
    if ((int)threadIdx.x % 32 == leader)
        atomicAdd(&bins[digit], (unsigned)__popc(equal));
}

// The bin that holds element number `want` of those that are counted: every thread calls it.
KILN__SORT_FN void find_bin(choose_room &room, int want)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned mine[MINE], sum = 0;
    KILN__UNROLL for (int k = 0; k < MINE; k++) {
        mine[k] = room.bins[threadIdx.x * MINE + k];
        sum += mine[k];
    }
    unsigned run = sum;
    KILN__UNROLL for (int d = 1; d < 32; d *= 2) {
        const unsigned left = __shfl_up_sync(0xffffffffu, run, d);
        if (lane >= d)
            run += left;
    }
    if (lane == 31)
        room.sums[warp] = run;
    __syncthreads();
    int start = (int)(run - sum);
    for (int k = 0; k < warp; k++)
        start += (int)room.sums[k];
    KILN__UNROLL for (int k = 0; k < MINE; k++) {
        if (start <= want && want < start + (int)mine[k]) {
            room.bin = threadIdx.x * MINE + k;
            room.before = start;
            room.agree = (int)mine[k];
        }
        start += (int)mine[k];
    }
    __syncthreads();
}

// What has to be known of element number `rank` so that few are left to be collected: of those that agree with it
// (alone) or of all up to them but the first `covered`.
KILN__SORT_FN limit find_limit(const piece (&p)[ITEMS], const choose_call &c, choose_room &room, int rank, bool alone,
                               int covered)
{
    const int most = c.most > c.count ? c.most : c.count;
    limit l = {piece(0), piece(0), 0, 0, 0, c.length};
    bool by_position = false;
    for (int left = WIDTH; l.key_mask == 0 || (alone ? 0 : l.before - covered) + l.agree > most;) {
        if (left == 0) {
            by_position = true;
            left = POSITION_BITS;
        }
        const int bits = left < BITS ? left : BITS, shift = left - bits;
        const unsigned mask = (1u << bits) - 1u;
        for (int k = threadIdx.x; k < BINS; k += THREADS)
            room.bins[k] = 0;
        __syncthreads();
        KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
            const unsigned at = k * THREADS + threadIdx.x;
            const unsigned digit = (by_position ? at >> shift : unsigned(p[k] >> shift)) & mask;
            add_digit(room.bins, (int)at < c.length && agrees(p[k], at, l), digit);
        }
        __syncthreads();
        find_bin(room, rank - l.before);
        if (by_position) {
            l.position |= (unsigned)room.bin << shift;
            l.position_mask |= mask << shift;
        } else {
            l.key |= piece(piece(room.bin) << shift);
            l.key_mask |= piece(piece(mask) << shift);
        }
        l.before += room.before;
        l.agree = room.agree;
        left = shift;
    }
    return l;
}

// Store element number `rank` of the sorted row, of that position, as a result where it is wanted.
KILN__SORT_FN void deliver(const choose_call &c, int rank, int position)
{
    const long long to = (long long)blockIdx.x * (c.count + c.last) + (rank - c.from);
    if (rank < c.from || rank >= c.from + c.count + c.last)
        return;
    if (c.keys_out != nullptr)
        c.keys_out[to] = c.keys[(long long)blockIdx.x * c.length + position];
    if constexpr (ORDER) {
        if (c.wide)
            ((long long *)c.order_out)[to] = position;
        else
            ((int *)c.order_out)[to] = position;
    }
}

// The elements behind `floor` (agree 0: there is none) and up to `l`, of which `covered` stand before them, and
// results from them.
KILN__SORT_FN void collect(const piece (&p)[ITEMS], const choose_call &c, choose_room &room, const limit &floor,
                           const limit &l, bool alone, int covered)
{
    if (threadIdx.x == 0)
        room.taken = 0;
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const unsigned at = k * THREADS + threadIdx.x;
        const int s = side(p[k], at, l);
        if ((int)at >= c.length || s > 0 || (alone && s < 0) || (floor.agree > 0 && side(p[k], at, floor) <= 0))
            continue;
        const int n = atomicAdd(&room.taken, 1);
        room.key[n] = p[k];
        room.position[n] = (unsigned short)at;
    }
    __syncthreads();
    const int total = room.taken;
    for (int n = threadIdx.x; n < total; n += THREADS) {
        const piece key = room.key[n];
        const unsigned position = room.position[n];
        int rank = covered;
        for (int k = 0; k < total; k++)
            rank += room.key[k] < key || (room.key[k] == key && room.position[k] < position);
        if (rank < c.from + c.count)
            deliver(c, rank, (int)position);
        if (c.last && rank == c.from + c.count - 1 && room.last < 0)
            deliver(c, c.from + c.count, (int)position);
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1024 / THREADS) kiln_sort_choose(const choose_call c)
{
    __shared__ choose_room room;
    const long long base = (long long)blockIdx.x * c.length;
    const int end = c.from + c.count;
    word w[ITEMS];
    piece p[ITEMS];
    limit floor = {piece(0), piece(0), 0, 0, 0, 0};
    int covered = 0;

    if (threadIdx.x == 0)
        room.last = -1;
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * THREADS + threadIdx.x;
        w[k] = at < c.length ? c.keys[base + at] : word(0);
    }
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * THREADS + threadIdx.x;
        p[k] = radix_key_of(piece(w[k]));
        if (KIND == KIND_FLOATING && c.last && at < c.length && p[k] == NOWHERE)
            atomicMax(&room.last, at);
    }
    __syncthreads();
    if (c.last && room.last >= 0 && threadIdx.x == 0)
        deliver(c, end, room.last);
    // One round or two in a loop, so that a compiler meets each function once.
    #pragma unroll 1
    for (bool alone = c.from > 0, more = true; more;) {
        const limit l = find_limit(p, c, room, alone ? c.from : end - 1, alone, covered);
        collect(p, c, room, floor, l, alone, alone ? l.before : covered);
        covered = l.before + l.agree;
        floor = l;
        more = alone && covered < end;
        alone = false;
    }
}
