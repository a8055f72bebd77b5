// complex_sinh: sinh and cosh of x + iy, and sin z = -i sinh(iz), cos z = cosh(iz).
template <class T> KILN_HEAVY complex<T> sinh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, s, c;
    sincos(y, &s, &c);
    return complex<T>(x == T(0) ? x : sinh(x) * c, y == T(0) ? y : cosh(x) * s);
}
template <class T> KILN_HEAVY complex<T> cosh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, s, c;
    sincos(y, &s, &c);
    return complex<T>(cosh(x) * c, x == T(0) || y == T(0) ? x * y : sinh(x) * s);
}
template <class T> KILN_HEAVY complex<T> sin(const complex<T> &z)
{
    complex<T> r = sinh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
template <class T> KILN_HEAVY complex<T> cos(const complex<T> &z)
{
    return cosh(complex<T>(-z.kiln__im, z.kiln__re));
}
