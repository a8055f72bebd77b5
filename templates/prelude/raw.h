// raw: a `raw` parameter. x[i] counts elements in C-order whatever the strides (C: they are
// C-order without gaps), x[index] takes an index tuple, such as _ind.get() or an array of integers.
// The members are the words that the launcher fills, in this order.
template <class T, int N, bool C> struct kiln__raw {
    static constexpr int ndim = N;
    typedef ptrdiff_t index_t;
    T *kiln__data;
    ptrdiff_t kiln__size, kiln__shape[N], kiln__strides[N];
    KILN_METHOD ptrdiff_t size() const { return kiln__size; }
    KILN_METHOD const ptrdiff_t *shape() const { return kiln__shape; }
    KILN_METHOD const ptrdiff_t *strides() const { return kiln__strides; }
    KILN_METHOD T &kiln__at(ptrdiff_t bytes) const { return *(T *)((size_t)kiln__data + bytes); }
    KILN_METHOD T &operator[](ptrdiff_t i) const
    {
        if constexpr (C) {
            return kiln__data[i];
        } else if constexpr (N == 1) {
            return kiln__at(i * kiln__strides[0]);
        } else {
            ptrdiff_t bytes = 0;
            kiln__walk(i, kiln__size, kiln__shape, N,
                       [&](int d, ptrdiff_t at) { bytes += at * kiln__strides[d]; });
            return kiln__at(bytes);
        }
    }
    template <class I> KILN_METHOD T &operator[](const I *index) const
    {
        ptrdiff_t bytes = 0;
        KILN_UNROLL
        for (int d = 0; d < N; d++)
            bytes += (ptrdiff_t)index[d] * kiln__strides[d];
        return kiln__at(bytes);
    }
};
template <class T, bool C> struct kiln__raw<T, 0, C> {
    static constexpr int ndim = 0;
    typedef ptrdiff_t index_t;
    T *kiln__data;
    ptrdiff_t kiln__size;
    KILN_METHOD ptrdiff_t size() const { return kiln__size; }
    KILN_METHOD const ptrdiff_t *shape() const { return nullptr; }
    KILN_METHOD const ptrdiff_t *strides() const { return nullptr; }
    KILN_METHOD T &operator[](ptrdiff_t) const { return *kiln__data; }
    template <class I> KILN_METHOD T &operator[](const I *) const { return *kiln__data; }
};
