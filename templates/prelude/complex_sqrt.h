// complex_sqrt: the root with a real part >= 0; the cut runs along the negative real axis.
// W. Kahan, "Branch cuts for complex elementary functions" (1987). Both parts are scaled by a
// power of 4 where their sum would overflow or lose digits.
template <class T> KILN_HEAVY complex<T> sqrt(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, ax = fabs(x), ay = fabs(y);
    if (ax == T(0) && ay == T(0))
        return complex<T>(T(0), y);
    if (ay > T(0) && ay - ay != T(0) && ay == ay)
        return complex<T>(ay, y);
    T huge = sizeof(T) == 4 ? T(4e37) : T(4e307), tiny = sizeof(T) == 4 ? T(4e-37) : T(4e-307);
    T up = T(1), down = T(1);
    if (ax > huge || ay > huge)
        up = T(0.0625), down = T(4);
    else if (ax < tiny && ay < tiny)
        up = T(0x1p60), down = T(0x1p-30);
    T t = sqrt(T(0.5) * (ax * up + hypot(ax * up, ay * up)));
    T other = ay * up / (t + t) * down;
    t *= down;
    return x >= T(0) ? complex<T>(t, copysign(other, y)) : complex<T>(other, copysign(t, y));
}
