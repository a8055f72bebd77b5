// op_complex_exp2: 2^x (cos(y log 2) + i sin(y log 2)); e^(z log 2) would round a large x log 2.
template <class T> KILN_FN complex<T> kiln_complex_exp2(const complex<T> &z)
{
    T size = exp2(z.kiln__re), s, c;
    if (z.kiln__im == T(0))
        return complex<T>(size, z.kiln__im);
    sincos(z.kiln__im * T(0.69314718055994530942), &s, &c);
    return complex<T>(size * c, size * s);
}
