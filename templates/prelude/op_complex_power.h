// op_complex_power: as pow, but exact for small integer exponents, by squaring, and with NumPy's
// powers of 0.
template <class T> KILN_HEAVY complex<T> kiln_complex_power(const complex<T> &x, const complex<T> &y)
{
    T re = y.kiln__re, im = y.kiln__im, size = fabs(re);
    if (re == T(0) && im == T(0))
        return complex<T>(T(1), T(0));
    if (x.kiln__re == T(0) && x.kiln__im == T(0)) {
        T nan = T(0) / x.kiln__re;
        return re > T(0) ? complex<T>(T(0), T(0)) : complex<T>(nan, nan);
    }
    if (im != T(0) || re != floor(re) || size >= T(100))
        return pow(x, y);
    complex<T> base = x, result = complex<T>(T(1), T(0));
    for (int left = (int)size;; left >>= 1) {
        if ((left & 1) != 0)
            result = result * base;
        if (left < 2)
            break;
        base = base * base;
    }
    return re < T(0) ? T(1) / result : result;
}
