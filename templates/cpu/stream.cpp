//# Stores that pass the caches, for outputs much larger than these: the line that is about to be
//# overwritten is not read first, which saves a quarter to a third of the traffic.
#if defined(__AVX__)
typedef float kiln__line __attribute__((vector_size(32), may_alias));
template <class kiln__T, int kiln__N> KILN_FN void kiln__stream(kiln__T *to, const kiln__T (&from)[kiln__N])
{
    for (int k = 0; k < (int)(kiln__N * sizeof(kiln__T) / 32); k++)
#if defined(__clang__)
        __builtin_nontemporal_store(((const kiln__line *)from)[k], (kiln__line *)to + k);
#else
        __builtin_ia32_movntps256((float *)((kiln__line *)to + k), ((const kiln__line *)from)[k]);
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
template <class kiln__T, int kiln__N> KILN_FN void kiln__stream(kiln__T *, const kiln__T (&)[kiln__N]) {}
#endif

