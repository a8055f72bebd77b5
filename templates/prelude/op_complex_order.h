// op_complex_order: complex numbers by their real parts, then by their imaginary ones; a NaN in
// either makes a comparison false. Of maximum and its kin NaN wins, of fmax and its kin it loses.
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
