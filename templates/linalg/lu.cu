//% insert linalg/small.cu
//% plain COLUMNS EACH INVERTS KILN__SMALL_BEGIN KILN__UNROLL LANES LEAST LEFT LENGTH M N RIGHT RIGHT_SIDES SHORT T TASK
//% plain WORD
//% plain __device__ __forceinline__ a a_step after at b b_step both c call done e factor first flip
//% plain from group_in_block info inverse j k key key_of kiln_small lane lane_of lives load_row matrix
//% plain not_a_number nth on_diagonal other own own_pivot p part piece pivot pivots place q row rows
//% plain share small_call step store_row subtract tell to top turn up v whole x y
// LU with exchanges of rows, and what follows of it: lane i has row i, and keeps it: what is exchanged is only
// known (`place`). The row of the pivot goes to the other lanes through shared memory, 16 bytes at a time: a
// shuffle for each of its elements would take four times as long.
//
// TASK 0: x of a x = b, COLUMNS of them. 1: the inverse, in place of the matrix. 2: the factors of M x N and LAPACK's
// pivots; all other matrices are square. 3: x where a is lower triangular, 4: upper.

// Pivots are compared by the leading bits of their size, a lane's number behind them: one shuffle a step. Lanes
// that had their turn count least, and zeros count less than everything else.
static __device__ __forceinline__ unsigned key_of(T v, bool done, int lane)
{
    both x;
    x.v = v;
    const unsigned top = (unsigned)(x.word >> (8 * sizeof(WORD) - 32)) & 0x7fffff80u;
    return done ? 0u : top | (v != T(0) ? 64u : 0u) | 32u | (unsigned)lane;
}

constexpr bool INVERTS = TASK == 1;
constexpr int EACH = 16 / sizeof(T), LEFT = (N + EACH - 1) / EACH;
constexpr T LEAST = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022); // that is normal: reciprocals of others may be infinite
constexpr int RIGHT_SIDES = INVERTS ? 1 : COLUMNS, RIGHT = (RIGHT_SIDES + EACH - 1) / EACH;

// Write elements from the piece of number `first` on.
template <int LENGTH> static __device__ __forceinline__ void share(const T (&row)[LENGTH], int first, piece *to)
{
    KILN__UNROLL for (int q = 0; q < (LENGTH + EACH - 1) / EACH; q++) {
        piece p;
        KILN__UNROLL for (int e = 0; e < EACH; e++)
            p.part[e] = q * EACH + e < LENGTH ? row[q * EACH + e] : T(0);
        if (q >= first)
            to[q] = p;
    }
}

// row -= factor * what was written, from element `first` on.
template <int LENGTH> static __device__ __forceinline__ void subtract(T (&row)[LENGTH], int first, T factor, const piece *from)
{
    KILN__UNROLL for (int q = 0; q < (LENGTH + EACH - 1) / EACH; q++) {
        if (q < first / EACH)
            continue;
        const piece p = from[q];
        KILN__UNROLL for (int e = 0; e < EACH; e++) {
            const int j = q * EACH + e;
            if (j >= first && j < LENGTH)
                row[j] -= factor * p.part[e];
        }
    }
}

extern "C" __global__ void __launch_bounds__(128) kiln_small(const small_call call)
{
    KILN__SMALL_BEGIN(call)
    const int own = lane < M ? lane : M - 1;
    // Two rows take turns, so that one wait a step is enough.
    __shared__ piece rows[2][128 / LANES][LEFT + RIGHT];
    const int group_in_block = threadIdx.x / LANES;
    T a[N], b[RIGHT_SIDES], own_pivot = T(1);
    int place = lane, turn[N], info = 0;
    bool done = lane >= M;

    load_row(a, call.a + nth * call.a_step + own * N);
    if (TASK == 0 || TASK >= 3)
        load_row(b, call.b + nth * call.b_step + own * COLUMNS);
    KILN__UNROLL for (int k = 0; k < SHORT; k++) {
//% insert :elimination
    }
    const T up = own_pivot < LEAST && own_pivot > -LEAST ? T(0x1p64) : T(1), inverse = T(1) / (own_pivot * up);
    if constexpr (INVERTS) {
//% insert :exchange
    } else {
//% insert :substitution
    }
    if (!lives || lane >= M)
        return;
    if (TASK == 2) {
        store_row(a, call.y + (nth * M + place) * N);
    } else if (TASK != 1) {
        KILN__UNROLL for (int c = 0; c < RIGHT_SIDES; c++) b[c] = info != 0 ? not_a_number() : b[c];
        store_row(b, call.y + (nth * N + place) * COLUMNS);
    }
    if (lane == 0)
        tell(call, nth, info);
}

//% part elimination
//# Step k: the row of the pivot is found and shared, and subtracted from those that had no turn.
        if (TASK >= 3) { // no pivots: the rows as they are
            turn[k] = k;
            if (lane == k)
                own_pivot = a[k];
            const T on_diagonal = lane_of(a[k], k); // of all lanes, whatever became of their matrices
            if (info == 0 && on_diagonal == T(0))
                info = k + 1;
            continue;
        }
        unsigned key = key_of(a[k], done, lane);
        for (int flip = LANES / 2; flip > 0; flip /= 2) {
            const unsigned other = __shfl_xor_sync(0xffffffffu, key, flip, LANES);
            key = other > key ? other : key;
        }
        const int p = key & 31u;
        piece *row = rows[k % 2][group_in_block];
        turn[k] = p;
        if (lane == p) {
            share(a, INVERTS ? 0 : k / EACH, row);
            if (TASK == 0)
                share(b, 0, row + LEFT);
        }
        const int at = __shfl_sync(0xffffffffu, place, p, LANES);
        __syncwarp();
        const T pivot = row[k / EACH].part[k % EACH];
        if (pivot == T(0) && info == 0)
            info = k + 1;
        if (TASK == 2 && lives && lane == 0)
            call.pivots[nth * SHORT + k] = at + 1;
        if (place == k)
            place = at;
        if (lane == p) {
            place = k;
            own_pivot = pivot;
            done = true;
        }
        if constexpr (INVERTS) { // from all other rows; what the unit matrix becomes takes the column's place
            const T factor = lane == p || pivot == T(0) ? T(0) : a[k] / pivot;
            subtract(a, 0, factor, row);
            a[k] = lane == p ? T(1) : -factor;
            continue;
        }
        const T factor = done || pivot == T(0) ? T(0) : a[k] / pivot;
        subtract(a, k + 1, factor, row);
        if (TASK == 0)
            subtract(b, 0, factor, row + LEFT);
        else if (!done)
            a[k] = factor;

//% part exchange
//# Column k is that of the row that had turn k, and rows lie where their pivots were: put into order in shared memory.
        __shared__ T whole[128 / LANES][N][N + 1];
        T(*const matrix)[N + 1] = whole[group_in_block];
        if (lane < N)
            KILN__UNROLL for (int j = 0; j < N; j++)
                matrix[place][turn[j]] = info != 0 ? not_a_number() : a[j] * up * inverse;
        __syncwarp();
        if (lives && lane < N)
            KILN__UNROLL for (int k = 0; k < N; k++) call.y[(nth * N + k) * N + lane] = matrix[k][lane];

//% part substitution
//# From the triangle to x: one row after the other is divided by its pivot, and subtracted from the others.
    if (TASK != 2)
        KILN__UNROLL for (int step = 0; step < N; step++) {
            const int k = TASK == 3 ? step : N - 1 - step;
            const bool after = TASK == 3 ? place > k : place < k;
            const T factor = after ? a[k] : T(0);
            if (COLUMNS == 1) {
                const T x = lane_of(b[0] * up * inverse, turn[k]);
                b[0] = place == k ? x : b[0] - factor * x;
                continue;
            }
            piece *row = rows[(N + step) % 2][group_in_block] + LEFT;
            if (place == k) {
                KILN__UNROLL for (int c = 0; c < COLUMNS; c++) b[c] = b[c] * up * inverse;
                share(b, 0, row);
            }
            __syncwarp();
            subtract(b, 0, factor, row);
        }
