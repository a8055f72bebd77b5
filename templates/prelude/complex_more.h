// complex_more: e^z - 1 and log(1 + z), exact also for a small z.
template <class T> KILN_FN complex<T> expm1(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, h = sin(T(0.5) * y);
    return complex<T>(expm1(x) * cos(y) - T(2) * h * h, y == T(0) ? y : exp(x) * sin(y));
}
template <class T> KILN_FN complex<T> log1p(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, square = x * (T(2) + x) + y * y;
    T re = fabs(x) < T(0.5) && fabs(y) < T(0.5) ? T(0.5) * log1p(square) : log(hypot(T(1) + x, y));
    return complex<T>(re, atan2(y, T(1) + x));
}
