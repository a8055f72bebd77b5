// complex_sinh: sinh and cosh of x + iy, and sin z = -i sinh(iz), cos z = cosh(iz).
template <class T> KILN_FN complex<T> sinh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    return complex<T>(x == T(0) ? x : sinh(x) * cos(y), y == T(0) ? y : cosh(x) * sin(y));
}
template <class T> KILN_FN complex<T> cosh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    return complex<T>(cosh(x) * cos(y), x == T(0) || y == T(0) ? x * y : sinh(x) * sin(y));
}
template <class T> KILN_FN complex<T> sin(const complex<T> &z)
{
    complex<T> r = sinh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
template <class T> KILN_FN complex<T> cos(const complex<T> &z)
{
    return cosh(complex<T>(-z.kiln__im, z.kiln__re));
}
