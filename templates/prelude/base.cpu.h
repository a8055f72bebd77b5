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
