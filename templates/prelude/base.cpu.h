//% section base
// base (CPU): the words that every other part of the prelude is written in, and CUDA's
// qualifiers, which mean nothing here, so that one preamble serves both devices.
#define KILN_FN static inline __attribute__((always_inline, unused))
#define KILN_METHOD inline __attribute__((always_inline))
#define KILN_HEAVY static inline __attribute__((unused))
#define KILN_UNROLL
// Before a loop whose rounds may run side by side, whatever the compiler can prove. Not omp simd:
// that makes arrays of a round's own objects, and gcc then gives up on float16.
#if defined(__clang__)
#define KILN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KILN_INDEPENDENT _Pragma("GCC ivdep")
#endif
// The system's <math.h> and <stdlib.h> without the overloads that C++ adds, for ours are there.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

//% section noinline when __noinline__
#define __noinline__ __attribute__((noinline))

//% section align when __align__
#define __align__(n) __attribute__((aligned(n)))

//% section null when NULL
#define NULL __null

//% section assume when __builtin_assume
#define __builtin_assume(c) ((c) ? (void)0 : __builtin_unreachable())

//% section trap when __trap
#define __trap() __builtin_trap()

//% section printf when printf
extern "C" int printf(const char *, ...) __attribute__((format(printf, 1, 2)));

//% section assert when assert
// assert (CPU): says what failed, and ends the process, for there is no device to fail instead.
extern "C" int dprintf(int, const char *, ...);
extern "C" void abort() noexcept __attribute__((noreturn));
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition) ? (void)0                                                                         \
                 : (dprintf(2, "%s:%d: assertion `%s' failed\n", __FILE__, __LINE__, #condition),  \
                    abort()))
#endif

//% section memcpy when memcpy
extern "C" void *memcpy(void *__restrict, const void *__restrict, size_t) noexcept;

//% section memset when memset
extern "C" void *memset(void *, int, size_t) noexcept;

//% section malloc when malloc free
extern "C" void *malloc(size_t) noexcept; extern "C" void free(void *) noexcept;

//% section fences when __threadfence __threadfence_block __threadfence_system
// fences (CPU): of any reach, for all threads share one memory.
KILN_FN void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KILN_FN void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KILN_FN void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
