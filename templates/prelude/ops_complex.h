//% section op_complex_where on cuda needs complex when kiln_complex_where
// op_complex_where (CUDA): x where c is true, else y.
template <class T>
KILN_FN complex<T> kiln_complex_where(bool c, const complex<T> &x, const complex<T> &y)
{
    return c ? x : y;
}

//% section op_complex_where on cpu needs complex when kiln_complex_where
// op_complex_where (CPU): the same by bits, so that both are read whatever c is. Of loads under a
// condition gcc 12 makes masked loads; where it sums both parts of complex numbers in one vector, with
// the imaginary parts first, it loads a real part from the number behind (with AVX-512).
KILN_FN float kiln__bits_where(bool c, float x, float y)
{
    unsigned int a, b, m = 0u - (unsigned int)c;
    __builtin_memcpy(&a, &x, sizeof a);
    __builtin_memcpy(&b, &y, sizeof b);
    a = (a & m) | (b & ~m);
    __builtin_memcpy(&x, &a, sizeof a);
    return x;
}
KILN_FN double kiln__bits_where(bool c, double x, double y)
{
    unsigned long long a, b, m = 0ull - (unsigned long long)c;
    __builtin_memcpy(&a, &x, sizeof a);
    __builtin_memcpy(&b, &y, sizeof b);
    a = (a & m) | (b & ~m);
    __builtin_memcpy(&x, &a, sizeof a);
    return x;
}
template <class T>
KILN_FN complex<T> kiln_complex_where(bool c, const complex<T> &x, const complex<T> &y)
{
    return complex<T>(kiln__bits_where(c, x.kiln__re, y.kiln__re),
                      kiln__bits_where(c, x.kiln__im, y.kiln__im));
}

//% section op_complex_sign needs complex hypot copysign when kiln_complex_sign
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

//% section op_complex_reciprocal needs complex fabs when kiln_complex_reciprocal
// op_complex_reciprocal: 1 / z; of 0 both parts are NaN, as in NumPy.
template <class T> KILN_FN complex<T> kiln_complex_reciprocal(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    bool wide = fabs(x) >= fabs(y);
    T p = wide ? x : y, q = wide ? y : x, r = q / p, s = p + q * r;
    return complex<T>((wide ? T(1) : r) / s, -(wide ? r : T(1)) / s);
}

//% section op_complex_exp2 needs complex exp2 sincos when kiln_complex_exp2
// op_complex_exp2: 2^x (cos(y log 2) + i sin(y log 2)); e^(z log 2) would round a large x log 2.
template <class T> KILN_FN complex<T> kiln_complex_exp2(const complex<T> &z)
{
    T size = exp2(z.kiln__re), s, c;
    if (z.kiln__im == T(0))
        return complex<T>(size, z.kiln__im);
    sincos(z.kiln__im * T(0.69314718055994530942), &s, &c);
    if (s != s && z.kiln__re == z.kiln__re && z.kiln__re - z.kiln__re != T(0))
        return complex<T>(size, size == T(0) ? size : s);
    return complex<T>(size * c, size * s);
}

//% section op_complex_order needs complex
//% when kiln_complex_less kiln_complex_less_equal kiln_complex_maximum kiln_complex_minimum
//% when kiln_complex_fmax kiln_complex_fmin
// op_complex_order: complex numbers by their real parts, then by their imaginary ones; a NaN in
// either makes a comparison false. Of maximum and minimum NaN wins, of fmax and fmin it loses.
template <class T> KILN_FN bool kiln__complex_known(const complex<T> &z)
{
    return z.kiln__re == z.kiln__re && z.kiln__im == z.kiln__im;
}
template <class T> KILN_FN bool kiln_complex_less(const complex<T> &x, const complex<T> &y)
{
    bool im_known = x.kiln__im == x.kiln__im && y.kiln__im == y.kiln__im;
    return (x.kiln__re < y.kiln__re && im_known) ||
           (x.kiln__re == y.kiln__re && x.kiln__im < y.kiln__im);
}
template <class T> KILN_FN bool kiln_complex_less_equal(const complex<T> &x, const complex<T> &y)
{
    bool im_known = x.kiln__im == x.kiln__im && y.kiln__im == y.kiln__im;
    return (x.kiln__re < y.kiln__re && im_known) ||
           (x.kiln__re == y.kiln__re && x.kiln__im <= y.kiln__im);
}
#define KILN__COMPLEX_PICK(f, keep)                                                                \
    template <class T> KILN_FN complex<T> f(const complex<T> &x, const complex<T> &y)              \
    {                                                                                              \
        return keep ? x : y;                                                                       \
    }
KILN__COMPLEX_PICK(kiln_complex_maximum, !kiln__complex_known(x) || kiln_complex_less_equal(y, x))
KILN__COMPLEX_PICK(kiln_complex_minimum, !kiln__complex_known(x) || kiln_complex_less_equal(x, y))
KILN__COMPLEX_PICK(kiln_complex_fmax, !kiln__complex_known(y) || kiln_complex_less_equal(y, x))
KILN__COMPLEX_PICK(kiln_complex_fmin, !kiln__complex_known(y) || kiln_complex_less_equal(x, y))

//% section complex_position needs position op_complex_order
//% when kiln_complex_position_least kiln_complex_position_greatest
// complex_position: a complex number and where it stands, as in the section position.
template <class T>
KILN_FN kiln_position<T> kiln_complex_position_least(kiln_position<T> a, kiln_position<T> b)
{
    return kiln_position_pick(a, b, kiln_complex_less(b.value, a.value), b.value == a.value);
}
template <class T>
KILN_FN kiln_position<T> kiln_complex_position_greatest(kiln_position<T> a, kiln_position<T> b)
{
    return kiln_position_pick(a, b, kiln_complex_less(a.value, b.value), b.value == a.value);
}

//% section op_complex_power needs complex_pow fabs when kiln_complex_power
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
