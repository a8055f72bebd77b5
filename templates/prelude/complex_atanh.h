// complex_atanh: atanh x + iy has the real part log1p(4x / ((1 - x)^2 + y^2)) / 4; for a large z
// it is the real part of 1 / z, and where the square underflows a plain logarithm.
// atan z = -i atanh(iz).
template <class T> KILN_HEAVY complex<T> atanh(const complex<T> &z)
{
    T x = fabs(z.kiln__re), y = z.kiln__im, re, im;
    T size = hypot(x, y), gap = (T(1) - x) * (T(1) - x) + y * y;
    if (size > (sizeof(T) == 4 ? T(1e8) : T(1e16))) {
        re = size - size == T(0) ? x / size / size : T(0);
        im = copysign(T(1.57079632679489661923), y);
    } else {
        re = gap > (sizeof(T) == 4 ? T(1e-30) : T(1e-290))
                 ? T(0.25) * log1p(T(4) * x / gap)
                 : T(0.34657359027997265471) - T(0.5) * log(hypot(T(1) - x, y));
        im = T(0.5) * atan2(T(2) * y, (T(1) - x) * (T(1) + x) - y * y);
    }
    return complex<T>(copysign(re, z.kiln__re), im);
}
template <class T> KILN_HEAVY complex<T> atan(const complex<T> &z)
{
    complex<T> r = atanh(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
