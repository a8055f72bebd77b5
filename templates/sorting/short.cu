//% insert sorting/keys.cu
//% plain ITEMS KILN__ITEMS KILN__LANES KILN__ORDER KILN__PACKED KILN__SORT_FN KILN__THREADS
//% plain KILN__UNROLL KIND KIND_COMPLEX LANES NOWHERE ORDER PACKED THREADS W a at b base before
//% plain beyond c far first flip from_lane group item item_of k keep keys keys_out kiln_sort_short
//% plain lane least length lives mine nullptr order_out order_two other piece radix_key_of radix_keys_of
//% plain position position_of row rows run second short_call sort_items staged to two_radix_keys up v w
//% plain wide word
// Short rows: LANES neighbouring lanes of a warp, a power of two, sort a row of at most LANES * ITEMS elements in
// their registers, by a bitonic network.
//
// Grid: blocks of THREADS threads for all rows. What is sorted are radix keys together with positions, of which no
// two are equal, so that the order is the stable one; the elements are then read again, from the nearest cache. Position lane * ITEMS + k of the network is item k of a lane.
//
// KILN__PACKED: radix key and position are one number, KILN__PACKED wide; 0: they are kept side by side.
constexpr int THREADS = KILN__THREADS, LANES = KILN__LANES, ITEMS = KILN__ITEMS, PACKED = KILN__PACKED;
constexpr bool ORDER = KILN__ORDER;

struct short_call {
    const word *keys;
    word *keys_out;  // null: not wanted
    void *order_out; // null: not wanted
    long long rows;
    int length, wide, keep;
};

#if KILN__PACKED == 32
typedef unsigned item;
#elif KILN__PACKED == 64
typedef unsigned long long item;
#else
struct item {
    two_radix_keys at;
    unsigned position;
};
#endif

#if KILN__PACKED
KILN__SORT_FN item item_of(const word &w, int position)
{
    return item(radix_key_of(piece(w))) << (PACKED / 2) | (unsigned)position;
}
KILN__SORT_FN item beyond() { return ~item(0); }
KILN__SORT_FN unsigned position_of(const item &v) { return unsigned(v) & (PACKED == 32 ? 0xffffu : ~0u); }
KILN__SORT_FN bool before(const item &a, const item &b) { return a < b; }
KILN__SORT_FN item from_lane(const item &v, int flip) { return __shfl_xor_sync(0xffffffffu, v, flip, LANES); }
#else
template <class W> KILN__SORT_FN item item_of(const W &w, int position)
{
    if constexpr (KIND == KIND_COMPLEX)
        return {radix_keys_of(w), (unsigned)position};
    else
        return {{piece(0), radix_key_of(piece(w))}, (unsigned)position};
}
KILN__SORT_FN item beyond() { return {{NOWHERE, NOWHERE}, ~0u}; }
KILN__SORT_FN unsigned position_of(const item &v) { return v.position; }
KILN__SORT_FN bool before(const item &a, const item &b)
{
    if (KIND == KIND_COMPLEX && a.at.first != b.at.first)
        return a.at.first < b.at.first;
    return a.at.second != b.at.second ? a.at.second < b.at.second : a.position < b.position;
}
KILN__SORT_FN item from_lane(const item &v, int flip)
{
    item other;
    other.at.first = KIND == KIND_COMPLEX ? __shfl_xor_sync(0xffffffffu, v.at.first, flip, LANES) : piece(0);
    other.at.second = __shfl_xor_sync(0xffffffffu, v.at.second, flip, LANES);
    other.position = __shfl_xor_sync(0xffffffffu, v.position, flip, LANES);
    return other;
}
#endif

// Order two items of a lane: upwards or downwards.
KILN__SORT_FN void order_two(item &a, item &b, bool up)
{
    if (before(b, a) == up) {
        const item v = a;
        a = b;
        b = v;
    }
}

KILN__SORT_FN void sort_items(item (&v)[ITEMS], int lane)
{
    KILN__UNROLL for (int run = 2; run <= ITEMS; run *= 2)
        KILN__UNROLL for (int far = run / 2; far > 0; far /= 2)
            KILN__UNROLL for (int k = 0; k < ITEMS; k++) if ((k & far) == 0)
                order_two(v[k], v[k | far], ((lane * ITEMS + k) & run) == 0);
    for (int run = 2; run <= LANES; run *= 2) { // lanes of a run
        const bool up = (lane & run) == 0;
        for (int far = run / 2; far > 0; far /= 2) {
            const bool least = ((lane & far) == 0) == up;
            KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
                const item other = from_lane(v[k], far);
                if (before(other, v[k]) == least)
                    v[k] = other;
            }
        }
        KILN__UNROLL for (int far = ITEMS / 2; far > 0; far /= 2)
            KILN__UNROLL for (int k = 0; k < ITEMS; k++) if ((k & far) == 0) order_two(v[k], v[k | far], up);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_short(const short_call c)
{
    __shared__ unsigned short staged[THREADS * ITEMS];
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const long long row = (long long)blockIdx.x * (THREADS / LANES) + group;
    const bool lives = row < c.rows;
    const long long base = row * c.length;
    unsigned short *const mine = staged + group * (LANES * ITEMS);
    item v[ITEMS];

    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * LANES + lane;
        v[k] = lives && at < c.length ? item_of(c.keys[base + at], at) : beyond();
    }
    sort_items(v, lane);
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) mine[lane * ITEMS + k] = (unsigned short)position_of(v[k]);
    __syncwarp();
    KILN__UNROLL for (int k = 0; k < ITEMS; k++) {
        const int at = k * LANES + lane;
        const long long to = row * c.keep + at;
        if (!lives || at >= c.keep)
            continue;
        const int position = mine[at];
        if (c.keys_out != nullptr)
            c.keys_out[to] = c.keys[base + position];
        if constexpr (ORDER) {
            if (c.wide)
                ((long long *)c.order_out)[to] = position;
            else
                ((int *)c.order_out)[to] = position;
        }
    }
}
