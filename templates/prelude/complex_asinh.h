// complex_asinh: asin, acos, acosh and asinh z = -i asin(iz) from the roots of 1 - z and 1 + z.
// W. Kahan, "Branch cuts for complex elementary functions" (1987). Of products of two complex
// numbers only the part that is needed is formed.
template <class T> KILN_HEAVY complex<T> asin(const complex<T> &z)
{
    complex<T> a = sqrt(T(1) - z), b = sqrt(T(1) + z);
    return complex<T>(atan2(z.kiln__re, a.kiln__re * b.kiln__re - a.kiln__im * b.kiln__im),
                      asinh(a.kiln__re * b.kiln__im - a.kiln__im * b.kiln__re));
}
template <class T> KILN_HEAVY complex<T> acos(const complex<T> &z)
{
    complex<T> a = sqrt(T(1) - z), b = sqrt(T(1) + z);
    return complex<T>(T(2) * atan2(a.kiln__re, b.kiln__re),
                      asinh(b.kiln__re * a.kiln__im - b.kiln__im * a.kiln__re));
}
template <class T> KILN_HEAVY complex<T> asinh(const complex<T> &z)
{
    complex<T> r = asin(complex<T>(-z.kiln__im, z.kiln__re));
    return complex<T>(r.kiln__im, -r.kiln__re);
}
template <class T> KILN_HEAVY complex<T> acosh(const complex<T> &z)
{
    complex<T> a = sqrt(z - T(1)), b = sqrt(z + T(1));
    return complex<T>(asinh(a.kiln__re * b.kiln__re + a.kiln__im * b.kiln__im),
                      T(2) * atan2(a.kiln__im, b.kiln__re));
}
