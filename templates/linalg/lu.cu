//% insert linalg/small.cu
//% plain COLUMNS KILN__SMALL_BEGIN KILN__UNROLL LANES N T TASK WORD __device__ __forceinline__ a
//% plain a_step after at b b_step both c call done factor flip info inverse j k key key_of
//% plain kiln_small lane lane_of lives load_row not_a_number nth other own p pivot pivots place
//% plain small_call step store_row top turn v x y
// LU with exchanges of rows, and what follows of it: lane i has row i, and keeps it: what is exchanged is only
// known (`place`).
//
// TASK 0: x of a x = b, COLUMNS of them. 1: the inverse: b is the unit matrix. 2: the factors and LAPACK's pivots.
// 3: x where a is lower triangular, 4: upper.

// Pivots are compared by the leading bits of their size, a lane's number behind them: one shuffle a step. Lanes
// that had their turn count least, and zeros count less than everything else.
static __device__ __forceinline__ unsigned key_of(T v, bool done, int lane)
{
    both x;
    x.v = v;
    const unsigned top = (unsigned)(x.word >> (8 * sizeof(WORD) - 32)) & 0x7fffff80u;
    return done ? 0u : top | (v != T(0) ? 64u : 0u) | 32u | (unsigned)lane;
}

extern "C" __global__ void __launch_bounds__(128) kiln_small(const small_call call)
{
    KILN__SMALL_BEGIN(call)
    const int own = lane < N ? lane : N - 1;
    T a[N], b[COLUMNS], inverse = T(0);
    int place = lane, turn[N], info = 0;
    bool done = lane >= N;

    load_row(a, call.a + nth * call.a_step + own * N);
    if (TASK == 0 || TASK >= 3)
        load_row(b, call.b + nth * call.b_step + own * COLUMNS);
    else
        KILN__UNROLL for (int c = 0; c < COLUMNS; c++) b[c] = c == lane ? T(1) : T(0);
    KILN__UNROLL for (int k = 0; k < N; k++) {
        if (TASK >= 3) { // no pivots: the rows as they are
            turn[k] = k;
            if (lane == k)
                inverse = T(1) / a[k];
            if (info == 0 && lane_of(a[k], k) == T(0))
                info = k + 1;
            continue;
        }
        unsigned key = key_of(a[k], done, lane);
        for (int flip = LANES / 2; flip > 0; flip /= 2) {
            const unsigned other = __shfl_xor_sync(0xffffffffu, key, flip, LANES);
            key = other > key ? other : key;
        }
        const int p = key & 31u;
        turn[k] = p;
        const T pivot = lane_of(a[k], p);
        const int at = __shfl_sync(0xffffffffu, place, p, LANES);
        if (pivot == T(0) && info == 0)
            info = k + 1;
        if (TASK == 2 && lives && lane == 0)
            call.pivots[nth * N + k] = at + 1;
        if (place == k)
            place = at;
        if (lane == p) {
            place = k;
            inverse = T(1) / pivot;
            done = true;
        }
        const T factor = done || pivot == T(0) ? T(0) : a[k] / pivot;
        KILN__UNROLL for (int j = k + 1; j < N; j++) a[j] -= factor * lane_of(a[j], p);
        if (TASK < 2)
            KILN__UNROLL for (int c = 0; c < COLUMNS; c++) b[c] -= factor * lane_of(b[c], p);
        else if (!done)
            a[k] = factor;
    }
    if (TASK != 2)
        KILN__UNROLL for (int step = 0; step < N; step++) {
            const int k = TASK == 3 ? step : N - 1 - step;
            const bool after = TASK == 3 ? place > k : place < k;
            const T factor = after ? a[k] : T(0);
            KILN__UNROLL for (int c = 0; c < COLUMNS; c++) {
                const T x = lane_of(b[c] * inverse, turn[k]);
                b[c] = place == k ? x : b[c] - factor * x;
            }
        }
    if (!lives || lane >= N)
        return;
    if (TASK == 2) {
        store_row(a, call.y + (nth * N + place) * N);
    } else {
        KILN__UNROLL for (int c = 0; c < COLUMNS; c++) b[c] = info != 0 ? not_a_number() : b[c];
        store_row(b, call.y + (nth * N + place) * COLUMNS);
    }
    if (lane == 0)
        call.info[nth] = info;
}
