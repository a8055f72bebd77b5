//% section top
//% when kiln_top kiln_top_of kiln_top_merge kiln_top_none
// top: the K greatest of some values, greatest first, and where they stand. Of equal values those that come
// first are taken, NaN only where there are fewer numbers. What is missing has no place (kiln__top_none) and the
// least value, a NaN where there is one. Merging is associative and commutative.
constexpr kiln__index kiln__top_none =
    (kiln__index)(sizeof(kiln__index) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
template <class T, int K> struct kiln_top {
    T value[K];
    kiln__index index[K];
};
template <class T, int K> KILN_FN kiln_top<T, K> kiln_top_of(T value, kiln__index index, T least)
{
    kiln_top<T, K> p;
    KILN_UNROLL for (int k = 0; k < K; k++) {
        p.value[k] = k == 0 ? value : least;
        p.index[k] = k == 0 ? index : kiln__top_none;
    }
    return p;
}
template <class T, int K> KILN_FN kiln_top<T, K> kiln_top_none(T least)
{
    return kiln_top_of<T, K>(least, kiln__top_none, least);
}
template <class T>
KILN_FN bool kiln__top_before(const T &a, kiln__index a_at, const T &b, kiln__index b_at)
{
    const bool a_nan = a != a, b_nan = b != b;
    return (a > b) | (b_nan & !a_nan) | (((a == b) | (a_nan & b_nan)) & (a_at < b_at));
}
// Each element of the second is moved up to its place; where one has none, those behind it have none either.
template <class T, int K>
KILN_FN kiln_top<T, K> kiln_top_merge(kiln_top<T, K> a, const kiln_top<T, K> &b)
{
    KILN_UNROLL for (int k = 0; k < K; k++) {
        T value = b.value[k];
        kiln__index index = b.index[k];
        if (!kiln__top_before(value, index, a.value[K - 1], a.index[K - 1]))
            break;
        KILN_UNROLL for (int to = k; to < K; to++) {
            const bool first = kiln__top_before(value, index, a.value[to], a.index[to]);
            const T old = a.value[to];
            const kiln__index old_at = a.index[to];
            a.value[to] = first ? value : old;
            a.index[to] = first ? index : old_at;
            value = first ? old : value;
            index = first ? old_at : index;
        }
    }
    return a;
}
