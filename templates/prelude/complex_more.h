// complex_more: e^z - 1 and log(1 + z), exact also for a small z.
template <class T> KILN_HEAVY complex<T> expm1(const complex<T> &z)
{
    // cos y - 1 = -2 sin(y / 2)^2, and the angle is doubled by sin y = 2 sin(y / 2) cos(y / 2).
    T x = z.kiln__re, y = z.kiln__im, e = expm1(x), s, c;
    sincos(T(0.5) * y, &s, &c);
    return complex<T>(e * (T(1) - T(2) * s * s) - T(2) * s * s,
                      y == T(0) ? y : T(2) * (e + T(1)) * s * c);
}
template <class T> KILN_HEAVY complex<T> log1p(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, square = x * (T(2) + x) + y * y;
    T re = fabs(x) < T(0.5) && fabs(y) < T(0.5) ? T(0.5) * log1p(square) : log(hypot(T(1) + x, y));
    return complex<T>(re, atan2(y, T(1) + x));
}
