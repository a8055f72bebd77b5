// complex_test: a complex number is NaN or infinite when a part is.
template <class T> KILN_FN bool isnan(const complex<T> &z)
{
    return isnan(z.kiln__re) || isnan(z.kiln__im);
}
template <class T> KILN_FN bool isinf(const complex<T> &z)
{
    return isinf(z.kiln__re) || isinf(z.kiln__im);
}
template <class T> KILN_FN bool isfinite(const complex<T> &z)
{
    return isfinite(z.kiln__re) && isfinite(z.kiln__im);
}
