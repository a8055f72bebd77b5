// memory_once (CUDA): kiln__load of 16 bytes that the kernel reads once: the caches drop them first.
template <class T, int N> KILN_FN void kiln__load_once(T (&dst)[N], const void *src)
{
    static_assert(sizeof dst == 16, "an access that is marked has 16 bytes");
    const uint4 w = __ldcs((const uint4 *)src);
    memcpy(dst, &w, sizeof dst);
}
