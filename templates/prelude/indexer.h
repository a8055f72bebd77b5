// indexer: `_ind`, the index tuple of the current element. kiln__indexer<N> holds the words that
// the launcher fills; walker() makes the object that a snippet sees.
template <int N> struct kiln__walker {
    static constexpr int ndim = N;
    ptrdiff_t kiln__size, kiln__shape[N], kiln__index[N];
    KILN_METHOD ptrdiff_t size() const { return kiln__size; }
    KILN_METHOD const ptrdiff_t *shape() const { return kiln__shape; }
    KILN_METHOD const ptrdiff_t *get() const { return kiln__index; }
    KILN_METHOD void set(ptrdiff_t i)
    {
        kiln__walk(i, kiln__size, kiln__shape, N,
                   [&](int d, ptrdiff_t at) { kiln__index[d] = at; });
    }
};
template <> struct kiln__walker<0> {
    static constexpr int ndim = 0;
    ptrdiff_t kiln__size;
    KILN_METHOD ptrdiff_t size() const { return kiln__size; }
    KILN_METHOD const ptrdiff_t *shape() const { return nullptr; }
    KILN_METHOD const ptrdiff_t *get() const { return nullptr; }
    KILN_METHOD void set(ptrdiff_t) {}
};
template <int N> struct kiln__indexer {
    ptrdiff_t kiln__size, kiln__shape[N];
    KILN_METHOD kiln__walker<N> walker() const
    {
        kiln__walker<N> w;
        w.kiln__size = kiln__size;
        KILN_UNROLL
        for (int d = 0; d < N; d++) {
            w.kiln__shape[d] = kiln__shape[d];
            w.kiln__index[d] = 0;
        }
        return w;
    }
};
template <> struct kiln__indexer<0> {
    ptrdiff_t kiln__size;
    KILN_METHOD kiln__walker<0> walker() const
    {
        kiln__walker<0> w;
        w.kiln__size = kiln__size;
        return w;
    }
};
