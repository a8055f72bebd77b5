// complex_rint: each part is rounded.
template <class T> KILN_FN complex<T> rint(const complex<T> &z)
{
    return complex<T>(rint(z.kiln__re), rint(z.kiln__im));
}
