// complex_polar: what needs a distance or an angle.
template <class T> KILN_FN T abs(const complex<T> &z) { return hypot(z.kiln__re, z.kiln__im); }
template <class T> KILN_FN T arg(const complex<T> &z) { return atan2(z.kiln__im, z.kiln__re); }
template <class T> KILN_FN complex<T> polar(T r, T angle = T(0))
{
    T s, c;
    sincos(angle, &s, &c);
    return complex<T>(r * c, r * s);
}
template <class T> KILN_FN complex<T> proj(const complex<T> &z)
{
    T inf = T(1) / fabs(T(0));
    bool far = fabs(z.kiln__re) == inf || fabs(z.kiln__im) == inf;
    return far ? complex<T>(inf, copysign(T(0), z.kiln__im)) : z;
}
