//% insert linalg/small.cu
//% plain COUNT EACH KILN__DYNAMIC_SHARED KILN__ROOM KILN__UNROLL M N SHORT STEP T TASK THREADS
//% plain WARPS __device__ __forceinline__ a a_step at back below beta bytes call e end fabs first
//% plain from i ifndef j k kiln_small lane length mine most most_of_lanes name nth parts reflect
//% plain reinterpret_cast room scale scale_of small_call sqrt start sum sum_of_lanes t tau tell
//% plain uint4 v warp x y z
// QR by Householder's reflections of matrices that fit the shared memory of a block: a block has a matrix, and a warp
// reflects a column at a time. y is Q, of M x COUNT; z is R, of COUNT x N. TASK 0: COUNT is the shorter side. 1: it
// is M.
//
// Grid: a block a matrix. KILN__ROOM: bytes of shared memory, which the launch gives.
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif
constexpr int COUNT = TASK == 0 ? SHORT : M, THREADS = M > 128 ? 512 : 256, WARPS = THREADS / 32;
constexpr int EACH = (M + 31) / 32; // elements of a column in a lane
constexpr int STEP = M | 1;         // from column to column: odd, so that a row lies in different banks

// Subtract the reflection of v, which is 0 above row `first`, from the columns from `start` on.
static __device__ __forceinline__ void reflect(T *a, const T (&v)[EACH], T t, int first, int start, int end)
{
    const int lane = threadIdx.x % 32;
    for (int j = start + threadIdx.x / 32; j < end; j += WARPS) {
        T *const at = a + j * STEP;
        T x[EACH], sum = T(0);
        KILN__UNROLL for (int e = 0; e < EACH; e++) {
            const int i = lane + e * 32;
            x[e] = i >= first && i < M ? at[i] : T(0);
            sum += v[e] * x[e];
        }
        sum = sum_of_lanes(sum) * t;
        KILN__UNROLL for (int e = 0; e < EACH; e++) {
            const int i = lane + e * 32;
            if (i >= first && i < M)
                at[i] = x[e] - sum * v[e];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) kiln_small(const small_call call)
{
    KILN__DYNAMIC_SHARED(room, KILN__ROOM);
    __shared__ T tau[SHORT], parts[WARPS];
    T *const a = reinterpret_cast<T *>(room); // by columns
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long nth = blockIdx.x;
    const T *from = call.a + nth * call.a_step;
    T v[EACH], most = T(0);

    for (int e = threadIdx.x; e < M * N; e += THREADS) {
        const T x = from[e];
        a[e % N * STEP + e / N] = x;
        most = fabs(x) > most || x != x ? fabs(x) : most;
    }
    most = most_of_lanes(most);
    if (lane == 0)
        parts[warp] = most;
    __syncthreads();
    most = most_of_lanes(parts[lane % WARPS]);
    const T scale = scale_of(most), back = T(1) / scale;
    for (int e = threadIdx.x; e < M * N; e += THREADS)
        a[e % N * STEP + e / N] *= scale;
    __syncthreads();
//% insert :factors
    for (int e = threadIdx.x; e < COUNT * N; e += THREADS) {
        const int i = e / N, j = e % N;
        call.z[nth * COUNT * N + e] = i <= j ? a[j * STEP + i] * back : T(0);
    }
    __syncthreads();
//% insert :orthogonal
    for (int e = threadIdx.x; e < M * COUNT; e += THREADS)
        call.y[nth * M * COUNT + e] = a[e % COUNT * STEP + e / COUNT];
    if (threadIdx.x == 0)
        tell(call, nth, 0);
}

//% part factors
//# R in and above the diagonal, the vectors below it. Every warp finds the vector of step k itself; the first one
//# writes it when all have read its column.
    for (int k = 0; k < SHORT; k++) {
        T below = T(0);
        KILN__UNROLL for (int e = 0; e < EACH; e++) {
            const int i = lane + e * 32;
            v[e] = i > k && i < M ? a[k * STEP + i] : T(0);
            below += v[e] * v[e];
        }
        below = sum_of_lanes(below);
        const T first = a[k * STEP + k], length = sqrt(first * first + below);
        const T beta = below == T(0) ? first : first < T(0) ? length : -length;
        const T mine = below == T(0) ? T(0) : T(1) / (first - beta);
        const T t = below == T(0) ? T(0) : (beta - first) / beta;
        KILN__UNROLL for (int e = 0; e < EACH; e++) v[e] = lane + e * 32 == k ? T(1) : v[e] * mine;
        reflect(a, v, t, k, k + 1, N);
        __syncthreads();
        if (warp == 0) {
            KILN__UNROLL for (int e = 0; e < EACH; e++) {
                const int i = lane + e * 32;
                if (i >= k && i < M)
                    a[k * STEP + i] = i == k ? beta : v[e];
            }
            if (lane == 0)
                tau[k] = t;
        }
    }
    __syncthreads();

//% part orthogonal
//# Q in the place of the vectors, from the last to the first; column k is done by the warp that wrote it.
    for (int e = threadIdx.x; e < M * (COUNT - SHORT); e += THREADS)
        a[(SHORT + e / M) * STEP + e % M] = e % M == SHORT + e / M ? T(1) : T(0);
    __syncthreads();
    for (int k = SHORT - 1; k >= 0; k--) {
        const T t = tau[k];
        KILN__UNROLL for (int e = 0; e < EACH; e++) {
            const int i = lane + e * 32;
            v[e] = i > k && i < M ? a[k * STEP + i] : i == k ? T(1) : T(0);
        }
        reflect(a, v, t, k, k + 1, COUNT);
        __syncthreads();
        if (warp == 0)
            KILN__UNROLL for (int e = 0; e < EACH; e++) {
                const int i = lane + e * 32;
                if (i < M)
                    a[k * STEP + i] = i < k ? T(0) : i == k ? T(1) - t : -t * v[e];
            }
    }
    __syncthreads();
