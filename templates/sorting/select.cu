//% insert sorting/keys.cu
//% plain AHEAD BINS BITS COPIES KILN__SORT_FN KILN__TAKES KILN__THREADS KILN__UNROLL TAKES THREADS
//% plain MINE __threadfence appended at before bin bits c copy counts digit done find_digit first high
//% plain in_position position is_last k key keys kiln_sort_select known length mine n number of_position piece
//% plain radix_key radix_key_of positions remaining select_call select_state shift state step sum sums taken ticket
//% plain total w word
// The positions of the k first elements of a long row in sorted order, without sorting it; they come in any order.
//
// Passes look for the last element that is taken, digit by digit from the highest, and count the digits of those
// elements only that agree with what is known of it. Elements are ordered by their radix keys (keys.cu) and,
// where these are equal, by their positions, whose digits come last: so that of equal elements the first are taken,
// and exactly k. As soon as all elements that agree are taken, later passes end at once. The block that ends last
// finds the digit.
//
// KILN__TAKES: the pass behind those, which appends the position of each element that is taken.
//
// Grid: some blocks, which take elements in turn.
constexpr int THREADS = KILN__THREADS, BITS = 11, BINS = 1 << BITS, COPIES = 4, AHEAD = 8;
constexpr bool TAKES = KILN__TAKES;
static_assert(BINS % THREADS == 0, "each thread sums up as many bins");

// What is known. All zero before the first pass.
struct select_state {
    unsigned long long key, position; // of the last element that is taken, as far as it is known
    unsigned long long remaining;  // elements to be taken of those that agree with it
    unsigned long long appended;
    int shift, in_position, done; // lowest bit that is known, and of which number
    unsigned ticket;
};

struct select_call {
    const word *keys;
    select_state *state;
    unsigned long long *counts; // one for each bin, all zero between passes
    long long *positions;
    long long length, k;
    int shift, bits, of_position, first; // the digit of this pass
};

// The thread whose bins hold element number `remaining` of those that agree says so.
KILN__SORT_FN void find_digit(const select_call &c, unsigned long long *sums)
{
    constexpr int MINE = BINS / THREADS;
    unsigned long long mine[MINE], sum = 0;
    KILN__UNROLL for (int k = 0; k < MINE; k++) {
        mine[k] = c.counts[threadIdx.x * MINE + k];
        c.counts[threadIdx.x * MINE + k] = 0;
        sum += mine[k];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    unsigned long long before = 0;
    for (int k = 0; k < (int)threadIdx.x; k++)
        before += sums[k];
    const unsigned long long remaining = c.first ? (unsigned long long)c.k : c.state->remaining;
    __syncthreads();
    KILN__UNROLL for (int k = 0; k < MINE; k++) {
        if (before < remaining && remaining <= before + mine[k]) {
            select_state &state = *c.state;
            const unsigned long long digit = (unsigned long long)(threadIdx.x * MINE + k) << c.shift;
            if (c.of_position)
                state.position |= digit;
            else
                state.key |= digit;
            state.remaining = remaining - before;
            state.shift = c.shift;
            state.in_position = c.of_position;
            state.done = remaining - before == mine[k];
            state.ticket = 0;
        }
        before += mine[k];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_sort_select(const select_call c)
{
    __shared__ unsigned counts[TAKES ? 1 : BINS * COPIES];
    __shared__ unsigned long long sums[THREADS];
    __shared__ bool is_last;
    const select_state state = *c.state;
    const unsigned copy = threadIdx.x % COPIES;

    if (!TAKES && state.done)
        return;
    for (int k = threadIdx.x; !TAKES && k < BINS * COPIES; k += THREADS)
        counts[k] = 0;
    __syncthreads();
    const int high = c.shift + c.bits;
    const long long step = (long long)gridDim.x * (THREADS * AHEAD);
    for (long long first = (long long)blockIdx.x * (THREADS * AHEAD) + threadIdx.x; first < c.length; first += step) {
        word w[AHEAD];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) if (first + k * THREADS < c.length) w[k] = c.keys[first + k * THREADS];
        KILN__UNROLL for (int k = 0; k < AHEAD; k++) {
            const unsigned long long at = (unsigned long long)(first + k * THREADS);
            if ((long long)at >= c.length)
                break;
            const unsigned long long radix_key = radix_key_of(piece(w[k]));
            if constexpr (TAKES) {
                const bool taken = state.in_position ? radix_key < state.key || (radix_key == state.key &&
                                                        at >> state.shift <= state.position >> state.shift)
                                                  : radix_key >> state.shift <= state.key >> state.shift;
                if (taken)
                    c.positions[atomicAdd(&c.state->appended, 1ull)] = (long long)at;
            } else {
                const unsigned long long number = c.of_position ? at : radix_key;
                const unsigned long long known = c.of_position ? state.position : state.key;
                if ((c.of_position && radix_key != state.key) || (high < 64 && number >> high != known >> high))
                    continue;
                const unsigned bin = unsigned(number >> c.shift) & ((1u << c.bits) - 1u);
                atomicAdd(&counts[bin * COPIES + copy], 1u);
            }
        }
    }
    if constexpr (!TAKES) {
        __syncthreads();
        for (int k = threadIdx.x; k < BINS; k += THREADS) {
            unsigned total = 0;
            KILN__UNROLL for (int n = 0; n < COPIES; n++) total += counts[k * COPIES + n];
            if (total != 0)
                atomicAdd(&c.counts[k], (unsigned long long)total);
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            is_last = atomicAdd(&c.state->ticket, 1u) == gridDim.x - 1;
        __syncthreads();
        if (!is_last)
            return;
        __threadfence();
        find_digit(c, sums);
    }
}
