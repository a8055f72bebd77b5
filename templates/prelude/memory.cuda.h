//% section memory
// memory (CUDA): N neighbours of type T in one access of N * sizeof(T) = 1, 2, 4, 8 or 16 bytes;
// wider runs are split into accesses of 16. Addresses are multiples of the access.
// KILN_LD and KILN_ST are the accesses themselves, to be tuned (-DKILN_LD=__ldcs).
#ifndef KILN_LD
#define KILN_LD(p) (*(p))
#endif
#ifndef KILN_ST
#define KILN_ST(p, v) (*(p) = (v))
#endif
template <int bytes> struct kiln__word { typedef uint4 type; };
template <> struct kiln__word<1> { typedef unsigned char type; };
template <> struct kiln__word<2> { typedef unsigned short type; };
template <> struct kiln__word<4> { typedef unsigned int type; };
template <> struct kiln__word<8> { typedef uint2 type; };
template <class T, int N> KILN_FN void kiln__load(T (&dst)[N], const void *src)
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    static_assert(sizeof dst % sizeof(word) == 0, "an access has 1, 2, 4, 8 or 16 bytes");
    word w[sizeof dst / sizeof(word)];
    KILN_UNROLL
    for (int k = 0; k < (int)(sizeof dst / sizeof(word)); k++)
        w[k] = KILN_LD((const word *)src + k);
    memcpy(dst, w, sizeof dst);
}
template <class T, int N> KILN_FN void kiln__store(void *dst, const T (&src)[N])
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    static_assert(sizeof src % sizeof(word) == 0, "an access has 1, 2, 4, 8 or 16 bytes");
    word w[sizeof src / sizeof(word)];
    memcpy(w, src, sizeof src);
    KILN_UNROLL
    for (int k = 0; k < (int)(sizeof src / sizeof(word)); k++)
        KILN_ST((word *)dst + k, w[k]);
}

//% section memory_once
// memory_once (CUDA): kiln__load of 16 bytes that the kernel reads once: the caches drop them first.
template <class T, int N> KILN_FN void kiln__load_once(T (&dst)[N], const void *src)
{
    static_assert(sizeof dst == 16, "an access that is marked has 16 bytes");
    const uint4 w = __ldcs((const uint4 *)src);
    memcpy(dst, &w, sizeof dst);
}
