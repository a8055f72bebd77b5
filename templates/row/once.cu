//# As kiln__load and kiln__store, for what is not looked at again: it need not stay in the caches.
template <class T, int N> KILN_FN void kiln__load_once(T (&dst)[N], const void *src)
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    word w[sizeof dst / sizeof(word)];
    #pragma unroll
    for (int k = 0; k < (int)(sizeof dst / sizeof(word)); k++)
        w[k] = __ldcs((const word *)src + k);
    memcpy(dst, w, sizeof dst);
}
template <class T, int N> KILN_FN void kiln__store_once(void *dst, const T (&src)[N])
{
    typedef typename kiln__word<N * sizeof(T)>::type word;
    word w[sizeof src / sizeof(word)];
    memcpy(w, src, sizeof src);
    #pragma unroll
    for (int k = 0; k < (int)(sizeof src / sizeof(word)); k++)
        __stcs((word *)dst + k, w[k]);
}
