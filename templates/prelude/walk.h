// walk: the index tuple of linear index `at` in C-order over `shape`. Division in 32 bits is many
// times faster than in 64, and nearly every array is small enough for it.
template <class F>
KILN_FN void kiln__walk(ptrdiff_t at, ptrdiff_t size, const ptrdiff_t *shape, int rank, F each)
{
    if (size <= 0x7fffffff) {
        unsigned int rest = (unsigned int)at;
        KILN_UNROLL
        for (int d = rank - 1; d > 0; d--) {
            unsigned int extent = (unsigned int)shape[d], q = rest / extent;
            each(d, (ptrdiff_t)(rest - q * extent));
            rest = q;
        }
        each(0, (ptrdiff_t)rest);
    } else {
        unsigned long long rest = (unsigned long long)at;
        KILN_UNROLL
        for (int d = rank - 1; d > 0; d--) {
            unsigned long long extent = (unsigned long long)shape[d], q = rest / extent;
            each(d, (ptrdiff_t)(rest - q * extent));
            rest = q;
        }
        each(0, (ptrdiff_t)rest);
    }
}
