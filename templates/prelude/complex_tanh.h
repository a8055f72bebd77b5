// complex_tanh: tanh, and tan z = -i tanh(iz). W. Kahan, "Branch cuts for complex elementary
// functions" (1987): no overflow on the way, and no cancellation.
template <class T> KILN_HEAVY complex<T> tanh(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    if (fabs(x) > (sizeof(T) == 4 ? T(11) : T(22))) {
        T e = exp(-fabs(x)), s, c;
        sincos(y, &s, &c);
        T wave = y - y == T(0) ? s * c : T(0);
        return complex<T>(copysign(T(1), x), y == T(0) ? y : T(4) * wave * e * e);
    }
    T t = tan(y), beta = T(1) + t * t, s = sinh(x), rho = sqrt(T(1) + s * s);
    T under = T(1) + beta * s * s;
    return complex<T>(beta * rho * s / under, t / under);
}
template <class T> KILN_HEAVY complex<T> tan(const complex<T> &z)
{
    complex<T> r = tanh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
