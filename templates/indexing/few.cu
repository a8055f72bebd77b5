//% plain name AHEAD KILN__DYNAMIC_SHARED KILN__K KILN__NOTHING KILN__ROOM KILN__T KILN__THREADS T THREADS K
//% plain at begin bytes c copies copy count few_call ifndef k kiln_scatter_few n none places
//% plain span sum sums uint4 value_step values words x
// Sums at places of which there are so few that each block has room for all of them.
//
// Grid: some blocks a multiprocessor, which take values in turn. A block adds in shared memory, where neighbouring lanes
// have copies of their own as far as there is room, and then its sums to the elements.
//
// KILN__T: the elements; KILN__K: the places, `none` and more for values that have none. KILN__NOTHING: what changes no
// element that it is added to. KILN__ROOM: the most bytes of shared memory that a launch gives.
typedef KILN__T T;
typedef KILN__K K;
constexpr int THREADS = KILN__THREADS, AHEAD = 8;
#ifndef KILN__DYNAMIC_SHARED
#define KILN__DYNAMIC_SHARED(name, bytes) extern __shared__ uint4 name[]
#endif

struct few_call {
    const K *places;
    const T *values;
    T *x;
    long long count, value_step; // 0: one value for all places
    int none, copies;            // a power of two
};

extern "C" __global__ void __launch_bounds__(THREADS) kiln_scatter_few(const __grid_constant__ few_call c)
{
    KILN__DYNAMIC_SHARED(bytes, KILN__ROOM);
    T *const sums = (T *)bytes;
    const int words = c.none * c.copies, copy = (int)threadIdx.x & (c.copies - 1);
    constexpr int span = THREADS * AHEAD;

    for (int k = threadIdx.x; k < words; k += THREADS)
        sums[k] = (T)KILN__NOTHING;
    __syncthreads();
    for (long long begin = (long long)blockIdx.x * span; begin < c.count; begin += (long long)gridDim.x * span) {
        K places[AHEAD];
        T values[AHEAD];
        #pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            const long long at = begin + n * THREADS + threadIdx.x;
            places[n] = at < c.count ? c.places[at] : (K)c.none;
            if (at < c.count)
                values[n] = c.values[at * c.value_step];
        }
        #pragma unroll
        for (int n = 0; n < AHEAD; n++)
            if (places[n] < (K)c.none)
                atomicAdd(&sums[(int)places[n] * c.copies + copy], values[n]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < c.none; k += THREADS) {
        T sum = (T)KILN__NOTHING;
        for (int n = 0; n < c.copies; n++)
            sum += sums[k * c.copies + ((n + k) & (c.copies - 1))];
        atomicAdd(&c.x[k], sum);
    }
}
