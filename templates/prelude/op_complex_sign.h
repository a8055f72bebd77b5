// op_complex_sign: z / |z|; the direction of an infinite part when just one is.
template <class T> KILN_FN complex<T> kiln_complex_sign(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im, size = hypot(x, y);
    if (size == T(0))
        return complex<T>(T(0), T(0));
    if (size - size == T(0))
        return complex<T>(x / size, y / size);
    T nan = size - size;
    bool wide_x = x - x != T(0) && x == x, wide_y = y - y != T(0) && y == y;
    if (x != x || y != y || wide_x == wide_y)
        return complex<T>(nan, nan);
    return wide_x ? complex<T>(copysign(T(1), x), T(0)) : complex<T>(T(0), copysign(T(1), y));
}
