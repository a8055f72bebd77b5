// device.h - CUDA C++ for a host compiler: what NVRTC has built in, ahead of every kernel.
//
//     nvrtc.c: kernel source -> [device.h, rewritten source] -> g++ -> shared object
//
// A thread of the GPU is a fiber of the emulator (grid.c), and one of them runs at a time, so that
// what is atomic needs no instruction for it. Functions that begin with emu_ are the emulator's.
// All other memory accesses are reported to it by the compiler (-fsanitize=thread; memory.c).
#pragma once

#define __host__
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Every block has its own: the emulator exchanges the section when it turns to another block.
#define __shared__ static __attribute__((section("emu_shared")))
// Shared memory that a launch gives is the kernel's own here, of the size that the kernel names; how much of a
// module's shared memory that is stands in a section of its own.
#define KILN__DYNAMIC_SHARED(name, bytes)                                                          \
    __shared__ uint4 name[((bytes) + 15) / 16];                                                    \
    static const int name##_emu_bytes __attribute__((section("emu_dynamic"), used)) = (int)sizeof name

// g++ does not take the standard's own form behind `static`.
#define alignas(n) __attribute__((aligned(n)))

#define KILN_FN static inline __attribute__((always_inline, unused))
#define EMU_CALL extern "C" __attribute__((visibility("default")))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

// ---- mathematics, intrinsics, short vectors: as the cpu device has them

// Kernels bring along the overloads for integers and 16-bit floats.
#define EMU__MATH1(f)
#define EMU__MATH2(f)
#define EMU__MATH3(f)
#define EMU__MATH1_TO(R, f)
#define EMU__MATH1_AND(f, A)
#define emu__rounded(v) (v)
#include "prelude.h"
#undef assert

KILN_FN int __dp4a(int a, int b, int c)
{
    for (int k = 0; k < 32; k += 8)
        c += (signed char)(a >> k) * (signed char)(b >> k);
    return c;
}
KILN_FN unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c)
{
    for (int k = 0; k < 32; k += 8)
        c += (a >> k & 255) * (b >> k & 255);
    return c;
}

// ---- where a thread is

struct dim3 {
    unsigned int x, y, z;
};
EMU_CALL dim3 emu_thread_idx() __attribute__((const));
EMU_CALL dim3 emu_block_idx() __attribute__((const));
EMU_CALL dim3 emu_block_dim() __attribute__((const));
EMU_CALL dim3 emu_grid_dim() __attribute__((const));
#define threadIdx emu_thread_idx()
#define blockIdx emu_block_idx()
#define blockDim emu_block_dim()
#define gridDim emu_grid_dim()
constexpr int warpSize = 32;

// ---- memory

// What the compiler does not report: calls of memcpy.
EMU_CALL void emu_read(const void *at, size_t bytes, size_t alignment);
EMU_CALL void emu_write(void *at, size_t bytes, size_t alignment);
KILN_FN void *emu_copy(void *to, const void *from, size_t bytes)
{
    emu_read(from, bytes, 1);
    emu_write(to, bytes, 1);
    return __builtin_memcpy(to, from, bytes);
}
#define memcpy(to, from, bytes) emu_copy(to, from, bytes)
// An access of so many bytes is one, and wants an address that is a multiple of them.
template <class W> KILN_FN W emu_load(const W *p)
{
    emu_read(p, sizeof(W), sizeof(W));
    return *p;
}
template <class W> KILN_FN void emu_store(W *p, W v)
{
    emu_write(p, sizeof(W), sizeof(W));
    *p = v;
}
#define EMU_LOADS(x) template <class T> KILN_FN T x(const T *p) { return emu_load(p); }
EMU_LOADS(__ldg) EMU_LOADS(__ldca) EMU_LOADS(__ldcg)
EMU_LOADS(__ldcs) EMU_LOADS(__ldcv) EMU_LOADS(__ldlu)
#define EMU_STORES(x)                                                                              \
    template <class T> KILN_FN void x(T *p, typename emu__own<T>::type v) { emu_store(p, v); }
EMU_STORES(__stcg) EMU_STORES(__stcs) EMU_STORES(__stwb) EMU_STORES(__stwt)
#define KILN_LD(p) emu_load(p)
#define KILN_ST(p, v) emu_store(p, v)

// ---- barriers and warps

enum emu_vote { EMU_SYNC, EMU_SHUFFLE, EMU_BALLOT, EMU_MATCH };
EMU_CALL void emu_syncthreads();
// What the lanes of `mask` come to together: EMU_SHUFFLE gives the value of `lane`, EMU_BALLOT the
// lanes whose value is not 0, EMU_MATCH those whose value is this one's.
EMU_CALL unsigned long long emu_warp(int vote, unsigned int mask, unsigned long long value,
                                     int lane);
EMU_CALL void emu_poll();
EMU_CALL void emu_fence();
EMU_CALL void emu_trap() __attribute__((noreturn));
EMU_CALL void emu_assert(const char *file, int line, const char *text) __attribute__((noreturn));
EMU_CALL long long emu_clock();

#define assert(condition) ((condition) ? (void)0 : emu_assert(__FILE__, __LINE__, #condition))
KILN_FN void __trap() { emu_trap(); }
KILN_FN void __syncthreads() { emu_syncthreads(); }
KILN_FN void __syncwarp(unsigned int mask = 0xffffffffu) { emu_warp(EMU_SYNC, mask, 0, 0); }
KILN_FN void __threadfence() { emu_fence(); }
KILN_FN void __threadfence_block() { emu_fence(); }
KILN_FN void __threadfence_system() { emu_fence(); }
KILN_FN void __nanosleep(unsigned int) { emu_poll(); }
KILN_FN long long clock64() { return emu_clock(); }
KILN_FN unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    return (unsigned int)emu_warp(EMU_BALLOT, mask, predicate != 0, 0);
}
KILN_FN int __any_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
KILN_FN int __all_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}
template <class T> KILN_FN unsigned int __match_any_sync(unsigned int mask, T value)
{
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return (unsigned int)emu_warp(EMU_MATCH, mask, bits, 0);
}
template <class T> KILN_FN T emu_shuffle(unsigned int mask, T value, int lane)
{
    static_assert(sizeof(T) <= 8, "a shuffle takes up to 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = emu_warp(EMU_SHUFFLE, mask, bits, lane);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
KILN_FN int emu_lane() { return (int)(threadIdx.x % 32); }
template <class T> KILN_FN T __shfl_sync(unsigned int mask, T value, int lane, int width = 32)
{
    return emu_shuffle(mask, value, (emu_lane() & ~(width - 1)) | (lane & (width - 1)));
}
template <class T> KILN_FN T __shfl_xor_sync(unsigned int mask, T value, int flip, int width = 32)
{
    const int lane = emu_lane() ^ flip;
    return emu_shuffle(mask, value, lane < (emu_lane() | (width - 1)) + 1 ? lane : emu_lane());
}
template <class T>
KILN_FN T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32)
{
    const int lane = emu_lane() - (int)by;
    return emu_shuffle(mask, value, lane >= (emu_lane() & ~(width - 1)) ? lane : emu_lane());
}
template <class T>
KILN_FN T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32)
{
    const int lane = emu_lane() + (int)by;
    return emu_shuffle(mask, value, lane <= (emu_lane() | (width - 1)) ? lane : emu_lane());
}

// ---- atomics

enum emu_change {
    EMU_LOAD, EMU_STORE, EMU_ADD, EMU_AND, EMU_OR, EMU_XOR, EMU_EXCHANGE, EMU_CAS, EMU_INC, EMU_DEC
};
EMU_CALL unsigned long long emu_atomic(int change, void *at, int bytes, unsigned long long value,
                                       unsigned long long expected);
template <class T> KILN_FN unsigned long long emu_bits(T value)
{
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> KILN_FN T emu_value(unsigned long long bits)
{
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> KILN_FN T emu_change_by(int change, T *p, T v, T expected = T())
{
    return emu_value<T>(emu_atomic(change, p, sizeof(T), emu_bits(v), emu_bits(expected)));
}
template <class T, class F> KILN_FN T emu_update(T *p, F update)
{
    unsigned long long seen = emu_atomic(EMU_LOAD, p, sizeof(T), 0, 0), expected;
    do {
        expected = seen;
        const unsigned long long next = emu_bits(update(emu_value<T>(expected)));
        seen = emu_atomic(EMU_CAS, p, sizeof(T), next, expected);
    } while (seen != expected);
    return emu_value<T>(expected);
}
#define EMU_INTEGERS(X) X(int) X(unsigned int) X(unsigned long long)
#define EMU_ATOMICS(T)                                                                             \
    KILN_FN T atomicAdd(T *p, T v) { return emu_change_by(EMU_ADD, p, v); }                        \
    KILN_FN T atomicExch(T *p, T v) { return emu_change_by(EMU_EXCHANGE, p, v); }                  \
    KILN_FN T atomicCAS(T *p, T expected, T v) { return emu_change_by(EMU_CAS, p, v, expected); }  \
    KILN_FN T atomicAnd(T *p, T v) { return emu_change_by(EMU_AND, p, v); }                        \
    KILN_FN T atomicOr(T *p, T v) { return emu_change_by(EMU_OR, p, v); }                          \
    KILN_FN T atomicXor(T *p, T v) { return emu_change_by(EMU_XOR, p, v); }
EMU_INTEGERS(EMU_ATOMICS)
#define EMU_MINMAX(T)                                                                              \
    KILN_FN T atomicMin(T *p, T v)                                                                 \
    {                                                                                              \
        return emu_update(p, [=](T old) -> T { return v < old ? v : old; });                       \
    }                                                                                              \
    KILN_FN T atomicMax(T *p, T v)                                                                 \
    {                                                                                              \
        return emu_update(p, [=](T old) -> T { return v > old ? v : old; });                       \
    }
EMU_INTEGERS(EMU_MINMAX)
EMU_MINMAX(long long)
KILN_FN int atomicSub(int *p, int v) { return atomicAdd(p, -v); }
KILN_FN unsigned int atomicSub(unsigned int *p, unsigned int v) { return atomicAdd(p, 0u - v); }
KILN_FN unsigned int atomicInc(unsigned int *p, unsigned int v)
{
    return emu_change_by(EMU_INC, p, v);
}
KILN_FN unsigned int atomicDec(unsigned int *p, unsigned int v)
{
    return emu_change_by(EMU_DEC, p, v);
}
KILN_FN float atomicExch(float *p, float v) { return emu_change_by(EMU_EXCHANGE, p, v); }
KILN_FN float atomicAdd(float *p, float v)
{
    return emu_update(p, [=](float old) -> float { return old + v; });
}
KILN_FN double atomicAdd(double *p, double v)
{
    return emu_update(p, [=](double old) -> double { return old + v; });
}
KILN_FN unsigned short atomicCAS(unsigned short *p, unsigned short expected, unsigned short v)
{
    return emu_change_by(EMU_CAS, p, v, expected);
}

// ---- clusters

EMU_CALL int emu_cluster_rank();
EMU_CALL void emu_cluster_arrive();
EMU_CALL void emu_cluster_wait();
EMU_CALL size_t emu_shared_offset(const void *at);
EMU_CALL unsigned int emu_shared_of(unsigned int offset, unsigned int rank);
EMU_CALL void emu_shared_store(unsigned int at, unsigned int value);
EMU_CALL unsigned int emu_barrier(unsigned int at, int change);
EMU_CALL unsigned int emu_barrier_phases(unsigned int at);
KILN_FN size_t __cvta_generic_to_shared(const void *at) { return emu_shared_offset(at); }

// ---- twins of PTX: ptx.def has the instructions; operands in the order of their numbers

KILN_FN void emu_opaque(unsigned int &) {}
KILN_FN void emu_cvt_bf16_f32(unsigned short &bits, float v) { bits = emu__bf16_from(v); }
KILN_FN void emu_pack(float &v, unsigned short low, unsigned short high)
{
    const unsigned int word = (unsigned int)high << 16 | low;
    __builtin_memcpy(&v, &word, sizeof v);
}
KILN_FN void emu_clear_sign(unsigned short &to, unsigned short from) { to = from & 0x7fff; }
KILN_FN void emu_cvt_f16_f32(unsigned short &bits, float v) { bits = emu__f16_from(v); }
KILN_FN void emu_cvt_f16_f64(unsigned short &bits, double v) { bits = emu__f16_from(v); }
KILN_FN void emu_cvt_f32_f16(float &v, unsigned short bits) { v = emu__f16_to(bits); }
// Two of a byte each, the first in the upper one; numbers that are too large become the largest.
#define EMU_FLOAT8(name, most)                                                                     \
    KILN_FN unsigned short emu__##name##_clamped(float v)                                          \
    {                                                                                              \
        return emu__##name##_from(v > most ? most : v < -most ? -most : v);                        \
    }                                                                                              \
    KILN_FN void emu_cvt_##name##x2_f32(unsigned short &bits, float high, float low)               \
    {                                                                                              \
        bits = (unsigned short)(emu__##name##_clamped(high) << 8 | emu__##name##_clamped(low));    \
    }
EMU_FLOAT8(e4m3, 448.0f)
EMU_FLOAT8(e5m2, 57344.0f)
KILN_FN void emu_cvt_f16x2_e4m3x2(unsigned int &halves, unsigned short bits)
{
    const unsigned int low = emu__f16_from(emu__e4m3_to((unsigned char)bits));
    const unsigned int high = emu__f16_from(emu__e4m3_to((unsigned char)(bits >> 8)));
    halves = high << 16 | low;
}
// Results are exact in a double, or (sums of numbers very far apart) wide enough to be rounded again.
#define EMU_HALF(name, expression)                                                                 \
    KILN_FN void emu_##name##_f16(unsigned short &r, unsigned short p, unsigned short q)           \
    {                                                                                              \
        const double a = emu__f16_to(p), b = emu__f16_to(q);                                       \
        r = emu__f16_from(expression);                                                             \
    }                                                                                              \
    KILN_FN void emu_##name##_bf16(unsigned short &r, unsigned short p, unsigned short q)          \
    {                                                                                              \
        const double a = emu__bf16_to(p), b = emu__bf16_to(q);                                     \
        r = emu__bf16_from(expression);                                                            \
    }
EMU_HALF(add, a + b)
EMU_HALF(sub, a - b)
EMU_HALF(mul, a *b)
// A NaN wins or loses; a zero below 0 is less than one above.
#define EMU_IS_LESS(a, b) ((a) < (b) || ((a) == (b) && __builtin_signbit(a) > __builtin_signbit(b)))
EMU_HALF(max_nan, a != a || b != b ? a + b : EMU_IS_LESS(a, b) ? b : a)
EMU_HALF(min_nan, a != a || b != b ? a + b : EMU_IS_LESS(b, a) ? b : a)
EMU_HALF(max, a != a ? b : b != b ? a : EMU_IS_LESS(a, b) ? b : a)
EMU_HALF(min, a != a ? b : b != b ? a : EMU_IS_LESS(b, a) ? b : a)
KILN_FN void emu_max_nan(float &r, float a, float b)
{
    r = a != a || b != b ? a + b : EMU_IS_LESS(a, b) ? b : a;
}
KILN_FN void emu_min_nan(float &r, float a, float b)
{
    r = a != a || b != b ? a + b : EMU_IS_LESS(b, a) ? b : a;
}
KILN_FN void emu_fma_bf16(unsigned short &r, unsigned short p, unsigned short q, unsigned short s)
{
    r = emu__bf16_from((double)emu__bf16_to(p) * (double)emu__bf16_to(q) + (double)emu__bf16_to(s));
}
// A unit off in either direction, by what v is, as PTX allows; of powers of two it is exact.
KILN_FN void emu_rcp(float &r, float v)
{
    unsigned int bits;
    r = __builtin_fabsf(v) < 0x1p-126f ? 1 / __builtin_copysignf(0, v) : 1 / v;
    __builtin_memcpy(&bits, &r, sizeof bits);
    if ((bits & 0x7fffff) != 0 && (bits & 0x7f800000) != 0x7f800000)
        bits += bits * 0x9e3779b9u >> 30 == 0 ? -1 : bits * 0x9e3779b9u >> 30 == 1;
    __builtin_memcpy(&r, &bits, sizeof r);
}
KILN_FN void emu_ex2(float &power, float v) { power = exp2f(v); }
KILN_FN void emu_lg2(float &log, float v) { log = log2f(v); }
KILN_FN void emu_sqrt(float &root, float v) { root = sqrtf(v); }
KILN_FN void emu_sin(float &part, float v) { part = sinf(v); }
KILN_FN void emu_cos(float &part, float v) { part = cosf(v); }
KILN_FN void emu_rank(int &rank) { rank = emu_cluster_rank(); }
KILN_FN void emu_mapa(unsigned int &far, unsigned int near, unsigned int rank)
{
    far = emu_shared_of(near, rank);
}
KILN_FN void emu_barrier_begin(unsigned int at) { emu_barrier(at, 0); }
KILN_FN void emu_barrier_fence() {}
KILN_FN void emu_barrier_expect(unsigned int at, int bytes) { emu_barrier(at, bytes); }
KILN_FN void emu_store_told(unsigned int at, unsigned int value, unsigned int barrier)
{
    emu_shared_store(at, value);
    emu_barrier(barrier, -(int)sizeof value);
}
KILN_FN void emu_barrier_try(unsigned int &done, unsigned int at, unsigned int parity)
{
    emu_poll();
    done = emu_barrier_phases(at) % 2 != parity;
}
EMU_CALL void emu_copy_begin(unsigned int at, const void *data, unsigned int bytes);
EMU_CALL void emu_copies_end();
EMU_CALL void emu_copies_wait(unsigned int but);
KILN_FN void emu_copy_16(unsigned int at, const char *from)
{
    const uint4 data = *(const uint4 *)from;
    emu_copy_begin(at, &data, 16);
}
KILN_FN void emu_copy_of(unsigned int at, const char *from, int share)
{
    unsigned char data[16] = {};
    for (int k = 0; k < share; k++)
        data[k] = (unsigned char)from[k];
    emu_copy_begin(at, data, 16);
}
template <class T> KILN_FN void emu_add_to(T *p, T v) { atomicAdd(p, v); }
KILN_FN void emu_vote_bit(unsigned int &lanes, unsigned int v, unsigned int bit)
{
    lanes = __ballot_sync(0xffffffffu, (v & bit) != 0);
    if ((v & bit) == 0)
        lanes = ~lanes;
}
KILN_FN void emu_all_three(unsigned int &v, unsigned int a, unsigned int b, unsigned int c) { v = a & b & c; }
KILN_FN void emu_store_word(unsigned long long *at, unsigned long long value)
{
    emu_atomic(EMU_STORE, at, 8, value, 0);
}
KILN_FN void emu_load_word(unsigned long long &value, const unsigned long long *at)
{
    emu_poll();
    value = emu_atomic(EMU_LOAD, (void *)at, 8, 0, 0);
}
KILN_FN void emu_count(int &n, int *at) { n = atomicAdd(at, 1); }
KILN_FN void emu_take_ticket(int &n, int *at)
{
    n = (int)atomicInc((unsigned int *)at, 0x7fffffffu);
}

// ---- what the emulator is told of the kernels of a module: nvrtc.c lists them behind the source

struct emu_entry {
    const char *name;
    void (*run)(void *const *arguments);
    const unsigned int *argument_bytes; // the last is 0
    unsigned int threads_max;           // __launch_bounds__; 0: not said
    unsigned int cluster;               // __cluster_dims__; 0: none
};
template <int... I> struct emu_places {};
template <auto F> struct emu_kernel;
template <class... P, void (*F)(P...)> struct emu_kernel<F> {
    static constexpr unsigned int bytes[] = {sizeof(P)..., 0};
    template <int... I> static void call(void *const *arguments, emu_places<I...>)
    {
        F(*(const P *)arguments[I]...);
    }
    static void run(void *const *arguments)
    {
        call(arguments, emu_places<__integer_pack(sizeof...(P))...>());
    }
};
#define EMU_KERNEL(name, threads_max, cluster)                                                     \
    {#name, emu_kernel<name>::run, emu_kernel<name>::bytes, threads_max, cluster},

struct emu_module {
    const emu_entry *entries;
    char *low, *high, *shared_low, *shared_high;
    const char *dynamic_low, *dynamic_high;
};
#define EMU_HIDDEN extern "C" __attribute__((visibility("hidden"), weak)) char
EMU_HIDDEN __ehdr_start[], _end[], __start_emu_shared[], __stop_emu_shared[], __start_emu_dynamic[],
    __stop_emu_dynamic[];
#define EMU_MODULE(entries)                                                                        \
    EMU_CALL const emu_module emu_module_info = {entries, __ehdr_start, _end, __start_emu_shared,  \
                                                 __stop_emu_shared, __start_emu_dynamic,           \
                                                 __stop_emu_dynamic};

#undef KILN_FN
