// complex_minmax: the lesser and the greater in the order of complex_order; a NaN gives way.
template <class T> KILN_FN complex<T> min(const complex<T> &x, const complex<T> &y)
{
    return x < y || y != y ? x : y;
}
template <class T> KILN_FN complex<T> max(const complex<T> &x, const complex<T> &y)
{
    return x > y || y != y ? x : y;
}
