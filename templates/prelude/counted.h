// counted: a sum and how many values went into it, what nanmean accumulates.
template <class T> struct kiln_counted {
    T sum;
    long long count;
};
template <class T> KILN_FN kiln_counted<T> kiln_counted_of(T value, bool counts)
{
    kiln_counted<T> c;
    c.sum = counts ? value : T(0);
    c.count = counts ? 1 : 0;
    return c;
}
template <class T> KILN_FN kiln_counted<T> kiln_counted_add(kiln_counted<T> a, kiln_counted<T> b)
{
    a.sum = a.sum + b.sum;
    a.count += b.count;
    return a;
}
