// complex_exp: e^x (cos y + i sin y). Where e^x alone overflows, half of x is applied twice.
template <class T> KILN_HEAVY complex<T> exp(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, e = exp(x), s, c;
    sincos(y, &s, &c);
    if (y == T(0))
        return complex<T>(e, y);
    if (e == T(0)) // also for an infinite or undefined y
        return complex<T>(c == c ? e * c : T(0), s == s ? e * s : T(0));
    if (e - e != T(0) && x - x == T(0)) {
        T half = exp(T(0.5) * x);
        return complex<T>(half * c * half, half * s * half);
    }
    return complex<T>(e * c, e * s);
}
