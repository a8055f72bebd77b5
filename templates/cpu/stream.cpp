//# Stores that pass the caches, for outputs much larger than these: the line that is about to be
//# overwritten is not read first, which saves a quarter to a third of the traffic.
//% own N T line stream
//% plain from k p size to
#if defined(__AVX__)
typedef float line __attribute__((vector_size(32), may_alias));
template <class T, int N> KILN_FN void stream(T *to, const T (&from)[N])
{
    for (int k = 0; k < (int)(N * sizeof(T) / 32); k++)
#if defined(__clang__)
        __builtin_nontemporal_store(((const line *)from)[k], (line *)to + k);
#else
        __builtin_ia32_movntps256((float *)((line *)to + k), ((const line *)from)[k]);
#endif
}
// Elements from an address to the next line of the cache; 64 when none begins there. A line that is
// streamed to in part, or stored to as well, is slower than either.
#define KILN__STREAM_HEAD(p, size) \
    ((size_t)(p) % (size) == 0 ? (long long)((-(size_t)(p) & 63) / (size)) : 64)
#define KILN__STREAMED() __builtin_ia32_sfence()
#else
#define KILN__STREAM_HEAD(p, size) 64
#define KILN__STREAMED() ((void)0)
template <class T, int N> KILN_FN void stream(T *, const T (&)[N]) {}
#endif

