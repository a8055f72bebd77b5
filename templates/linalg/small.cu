//% plain BIAS COLUMNS EPSILON KILN__BIAS KILN__COLUMNS KILN__EPSILON KILN__LANES KILN__M
//% plain KILN__MANTISSA KILN__N KILN__SMALL_BEGIN KILN__T KILN__TASK KILN__TURNED KILN__UNROLL
//% plain KILN__UPPER KILN__WORD LANES LENGTH M MANTISSA N SHORT T TASK TURNED UPPER WORD _Pragma
//% plain __device__ __forceinline__ a a_step b b_step blockDim both call count e each failed flip
//% plain from group info k lane lane_of lives load_row most most_of_lanes not_a_number nth of_word
//% plain other p part piece pivots power reinterpret_cast row scale_of small_call store_row
//% plain sum_of_lanes tell to v w word x y z
// Factorisations of stacks of small matrices: a group of lanes has a matrix in its registers.
//
// Grid: enough blocks of 128 threads for `count` matrices. A group is LANES neighbouring lanes of a warp, a
// power of two. Lanes beyond the matrix, and groups beyond the stack, compute on copies and store nothing, so that
// shuffles have all lanes. No shared memory.
//
// What the compiler's options define: the dtype, the unsigned integer of its size, its epsilon, the width of its
// mantissa and the bias of its exponent; the matrix, M x N, and the shorter side; right sides; lanes of a group;
// and TASK, UPPER, TURNED, of which the kernel's own file tells.
typedef KILN__T T;
typedef KILN__WORD WORD;
constexpr int MANTISSA = KILN__MANTISSA, BIAS = KILN__BIAS;
constexpr double EPSILON = KILN__EPSILON;
constexpr int M = KILN__M, N = KILN__N, SHORT = M < N ? M : N, COLUMNS = KILN__COLUMNS;
constexpr int LANES = KILN__LANES, TASK = KILN__TASK;
constexpr bool UPPER = KILN__UPPER, TURNED = KILN__TURNED;
#define KILN__UNROLL _Pragma("unroll")

struct small_call {
    const T *a, *b;
    T *y, *z, *w;
    int *info, *failed; // `failed`: one for all, on the host, which is 0 before
    long long *pivots;
    long long count, a_step, b_step; // elements from matrix to matrix, 0 for a single one
};

static __device__ __forceinline__ T lane_of(T v, int lane)
{
    return __shfl_sync(0xffffffffu, v, lane, LANES);
}

static __device__ __forceinline__ T sum_of_lanes(T v)
{
    for (int flip = LANES / 2; flip > 0; flip /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, flip, LANES);
    return v;
}

static __device__ __forceinline__ T most_of_lanes(T v) // NaN wins
{
    for (int flip = LANES / 2; flip > 0; flip /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, v, flip, LANES);
        v = other > v || other != other ? other : v;
    }
    return v;
}

// 16 bytes at a time where rows have such pieces: both sides are aligned then.
struct alignas(16) piece {
    T part[16 / sizeof(T)];
};

template <int LENGTH> static __device__ __forceinline__ void load_row(T (&row)[LENGTH], const T *from)
{
    constexpr int each = 16 / sizeof(T);
    if constexpr (LENGTH % each == 0) {
        KILN__UNROLL for (int k = 0; k < LENGTH / each; k++) {
            const piece p = reinterpret_cast<const piece *>(from)[k];
            KILN__UNROLL for (int e = 0; e < each; e++) row[k * each + e] = p.part[e];
        }
    } else {
        KILN__UNROLL for (int k = 0; k < LENGTH; k++) row[k] = from[k];
    }
}

template <int LENGTH> static __device__ __forceinline__ void store_row(const T (&row)[LENGTH], T *to)
{
    constexpr int each = 16 / sizeof(T);
    if constexpr (LENGTH % each == 0) {
        KILN__UNROLL for (int k = 0; k < LENGTH / each; k++) {
            piece p;
            KILN__UNROLL for (int e = 0; e < each; e++) p.part[e] = row[k * each + e];
            reinterpret_cast<piece *>(to)[k] = p;
        }
    } else {
        KILN__UNROLL for (int k = 0; k < LENGTH; k++) to[k] = row[k];
    }
}

// The bits of a number.
union both {
    T v;
    WORD word;
};

static __device__ __forceinline__ T of_word(WORD word)
{
    both x;
    x.word = word;
    return x.v;
}

static __device__ __forceinline__ T not_a_number()
{
    return of_word(~WORD(0) >> 1);
}

// A power of two that brings numbers up to `most` near 1, so that squares neither overflow nor vanish.
static __device__ __forceinline__ T scale_of(T most)
{
    both x;
    x.v = most;
    int power = int(x.word >> MANTISSA) - BIAS;
    if (!(most > T(0)) || power > BIAS)
        return T(1);
    power = power > BIAS - 4 ? BIAS - 4 : power < 4 - BIAS ? 4 - BIAS : power;
    return of_word(WORD(BIAS - power) << MANTISSA);
}

// What a matrix came to, by one lane of its group.
static __device__ __forceinline__ void tell(const small_call &call, long long nth, int info)
{
    call.info[nth] = info;
    if (info != 0)
        *call.failed = 1;
}

// Where a group is.
#define KILN__SMALL_BEGIN(call)                                                                    \
    const int lane = threadIdx.x % LANES;                                                          \
    const long long group = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;            \
    const bool lives = group < call.count;                                                         \
    const long long nth = lives ? group : call.count - 1;
