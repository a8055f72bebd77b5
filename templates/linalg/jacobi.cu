//% insert linalg/small.cu
//% plain EPSILON KILN__SMALL_BEGIN KILN__UNROLL LANES M N SHORT SWEEPS T TASK TURNED UPPER a a_step
//% plain back c call copysign d dot fabs finite first flip from i info its k kiln_small known lane
//% plain lane_of largest least left length lives mine most most_of_lanes moved not_a_number nothing
//% plain nth off one other own rank rotates row rsqrt s scale scale_of shift size small_call sqrt
//% plain sum sum_of_lanes sweep symmetric t tell turn twice v value vectors w weight x y z
// Jacobi's rotations of pairs of columns until all are orthogonal (Hestenes): lane j has column j, and its partner
// in step s of a sweep is lane j ^ s, so that a sweep meets each pair once.
//
// TASK 0, 1: eigenvalues of a symmetric matrix, rising, of whose triangle (UPPER or not) the other is a mirror: its
// columns become those of (A + c) V, where c is more than its norm, so that A + c is positive and well conditioned:
// they are V, but for their lengths. The eigenvalues are Rayleigh's quotients. y is the values, z is V (TASK 1).
// TASK 2, 3: singular values, falling, of M x N where M >= N; w is U (M x N), y the values, z is V^H (TASK 3). TURNED:
// the matrix is given as its transpose, and its factors are asked for: w is V^H (N x M), z is U (N x N).
// Columns of U whose singular values are rounding errors of the largest are any that complete the others.
//
// info: 1 where the elements are not finite or SWEEPS were not enough.
enum { SWEEPS = 40 };

extern "C" __global__ void __launch_bounds__(128) kiln_small(const small_call call)
{
    KILN__SMALL_BEGIN(call)
    constexpr bool symmetric = TASK < 2, vectors = TASK % 2 != 0;
    const int own = lane < N ? lane : N - 1;
    const T *from = call.a + nth * call.a_step;
    T a[M], v[N], most = T(0), size = T(0);

    KILN__UNROLL for (int i = 0; i < M; i++) {
        if (symmetric)
            a[i] = from[(i < own) != UPPER ? own * N + i : i * N + own];
        else
            a[i] = from[TURNED ? own * M + i : i * N + own];
        most = fabs(a[i]) > most || a[i] != a[i] ? fabs(a[i]) : most;
    }
    most = most_of_lanes(most);
    const bool finite = most - most == T(0);
    const T scale = finite ? scale_of(most) : T(1), back = T(1) / scale;
    KILN__UNROLL for (int i = 0; i < M; i++) {
        a[i] = finite && lane < N ? a[i] * scale : T(0);
        size += a[i] * a[i];
    }
    if (symmetric) {
        const T sum = sum_of_lanes(size), shift = sum > T(0) ? T(1.125) * sqrt(sum) : T(1);
        KILN__UNROLL for (int i = 0; i < M; i++) a[i] += i == lane ? shift : T(0);
    }
    if (!symmetric && vectors)
        KILN__UNROLL for (int i = 0; i < N; i++) v[i] = i == lane ? T(1) : T(0);

    bool moved = true;
    int sweep = 0;
    for (; sweep < SWEEPS && __ballot_sync(0xffffffffu, moved) != 0; sweep++) {
        moved = false;
        size = T(0);
        KILN__UNROLL for (int i = 0; i < M; i++) size += a[i] * a[i];
        const T nothing = T(M) * T(EPSILON) * (T(M) * T(EPSILON)) * most_of_lanes(size);
//% insert :rotations
    }

    size = T(0);
    KILN__UNROLL for (int i = 0; i < M; i++) size += a[i] * a[i];
    const T length = sqrt(size);
    T value = length * back;
    if (symmetric) {
//% insert :quotients
    }
    int rank = 0; // among the values, in their order
    KILN__UNROLL for (int k = 0; k < N; k++) {
        const T one = lane_of(value, k);
        rank += (symmetric ? one < value : one > value) || (one == value && k < lane);
    }
    if (!symmetric && vectors) {
//% insert :completion
    }
    for (int flip = LANES / 2; flip > 0; flip /= 2)
        moved = __shfl_xor_sync(0xffffffffu, moved, flip, LANES) || moved;
    const int info = !finite || moved ? 1 : 0;
    if (!lives || lane >= N)
        return;
    if (info == 1)
        rank = lane;
    call.y[nth * N + rank] = info == 1 ? not_a_number() : value;
    if (lane == 0)
        tell(call, nth, info);
//% insert :factors
}

//% part rotations
//# One sweep: each pair of columns is rotated until the two are orthogonal.
        for (int s = 1; s < LANES; s++) {
            T other[M], off = T(0);
            KILN__UNROLL for (int i = 0; i < M; i++) {
                other[i] = __shfl_xor_sync(0xffffffffu, a[i], s, LANES);
                off += a[i] * other[i];
            }
            const T its = __shfl_xor_sync(0xffffffffu, size, s, LANES);
            const bool first = lane < (lane ^ s); // the left one of the two
            const bool rotates = fabs(off) > T(EPSILON) * T(SHORT < 9 ? 3 : SHORT < 17 ? 4 : 6) * sqrt(size * its) &&
                                 size > nothing && its > nothing; // not of rounding alone
            if (__ballot_sync(0xffffffffu, rotates) == 0)
                continue;
            // The tangent of the angle is twice / (d + sign(d) sqrt(d d + twice twice)), the smaller of two.
            const T d = first ? its - size : size - its, twice = off + off;
            const T t = rotates ? twice / (d + copysign(sqrt(d * d + twice * twice), d)) : T(0);
            const T c = rsqrt(T(1) + t * t), turn = first ? -(c * t) : c * t;
            moved = moved || rotates;
            KILN__UNROLL for (int i = 0; i < M; i++) a[i] = c * a[i] + turn * other[i];
            size += first ? -(t * off) : t * off;
            if (!symmetric && vectors)
                KILN__UNROLL for (int i = 0; i < N; i++)
                    v[i] = c * v[i] + turn * __shfl_xor_sync(0xffffffffu, v[i], s, LANES);
        }

//% part quotients
//# Rayleigh's quotients, by A V once more, from memory.
        value = T(0);
        KILN__UNROLL for (int i = 0; i < M; i++) a[i] /= length;
        for (int i = 0; i < N; i++) {
            T sum = T(0), mine = T(0);
            KILN__UNROLL for (int k = 0; k < N; k++) {
                sum += from[(i < k) == UPPER ? i * N + k : k * N + i] * scale * a[k];
                mine = k == i ? a[k] : mine;
            }
            value += mine * sum;
        }
        value *= back;

//% part completion
//# Columns of length 1. One that is not known becomes what the known ones leave of the unit vector in which they
//# are least: twice, for what rounding left.
        const T largest = most_of_lanes(lane < N ? length : T(0));
        bool known = lane >= N || length > T(2 * M) * T(EPSILON) * largest;
        KILN__UNROLL for (int i = 0; i < M; i++) a[i] = known && lane < N ? a[i] / length : T(0);
        for (int k = 0; k < N; k++) {
            if (__ballot_sync(0xffffffffu, lane == k && !known) == 0)
                continue;
            T x[M], least = T(2), left = T(0);
            int row = 0;
            KILN__UNROLL for (int i = 0; i < M; i++) {
                const T weight = sum_of_lanes(a[i] * a[i]);
                row = weight < least ? i : row;
                least = weight < least ? weight : least;
            }
            KILN__UNROLL for (int i = 0; i < M; i++) x[i] = i == row ? T(1) : T(0);
            for (int turn = 0; turn < 2; turn++) {
                T dot = T(0);
                KILN__UNROLL for (int i = 0; i < M; i++) dot += a[i] * x[i];
                KILN__UNROLL for (int i = 0; i < M; i++) x[i] -= sum_of_lanes(a[i] * dot);
            }
            KILN__UNROLL for (int i = 0; i < M; i++) left += x[i] * x[i];
            if (lane == k && !known) {
                KILN__UNROLL for (int i = 0; i < M; i++) a[i] = x[i] / sqrt(left);
                known = true;
            }
        }

//% part factors
//# The vectors, in the order of the values.
    if (!vectors)
        return;
    KILN__UNROLL for (int i = 0; i < M; i++) {
        const T one = info == 1 ? not_a_number() : a[i];
        if (symmetric)
            call.z[(nth * N + i) * N + rank] = one;
        else
            call.w[TURNED ? (nth * N + rank) * M + i : (nth * M + i) * N + rank] = one;
    }
    if (!symmetric)
        KILN__UNROLL for (int i = 0; i < N; i++)
            call.z[TURNED ? (nth * N + i) * N + rank : (nth * N + rank) * N + i] =
                info == 1 ? not_a_number() : v[i];
