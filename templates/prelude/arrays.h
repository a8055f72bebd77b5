//% section walk
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

//% section raw needs walk
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

//% section indexer needs walk
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
