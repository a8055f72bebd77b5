// op_complex_reciprocal: 1 / z; of 0 both parts are NaN, as in NumPy.
template <class T> KILN_FN complex<T> kiln_complex_reciprocal(const complex<T> &z)
{
    T x = z.kiln__re, y = z.kiln__im;
    bool wide = fabs(x) >= fabs(y);
    T p = wide ? x : y, q = wide ? y : x, r = q / p, s = p + q * r;
    return complex<T>((wide ? T(1) : r) / s, -(wide ? r : T(1)) / s);
}
