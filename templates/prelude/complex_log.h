// complex_log: (log |z|, arg z). Near |z| = 1 the logarithm is taken of |z|^2 - 1, whose terms are
// known exactly; beyond the range of |z| z is halved first.
template <class T> KILN_HEAVY complex<T> log(const complex<T> &z)
{
    T x = fabs(z.kiln__re), y = fabs(z.kiln__im);
    T big = x > y ? x : y, small = x > y ? y : x, angle = atan2(z.kiln__im, z.kiln__re);
    if (big > T(0.5) && big < T(1.5) && small < T(1.5))
        return complex<T>(T(0.5) * log1p((big - T(1)) * (big + T(1)) + small * small), angle);
    T size = hypot(x, y);
    if (size - size != T(0) && big - big == T(0))
        return complex<T>(log(hypot(T(0.5) * x, T(0.5) * y)) + T(0.69314718055994530942), angle);
    return complex<T>(log(size), angle);
}
