//% section base
// base (CUDA): the words that every other part of the prelude is written in.
// No `static` before a device function: NVRTC would warn of each one that a kernel leaves unused.
#define KILN_FN __device__ __forceinline__
#define KILN_METHOD __device__ __forceinline__
// For long functions: one copy a kernel, called, where inlining makes one for each unrolled use.
#ifndef KILN_HEAVY
#define KILN_HEAVY __device__ __noinline__
#endif
#define KILN_UNROLL _Pragma("unroll")
