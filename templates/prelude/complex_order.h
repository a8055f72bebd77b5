// complex_order: NumPy's order, by real, then by imaginary parts; beside a NaN nothing holds. A real
// number has the imaginary part 0.
template <class T>
KILN_FN bool kiln__complex_before(T a, T b, T c, T d, bool equal)
{
    return a == c ? b < d || (equal && b == d) : a < c && b == b && d == d;
}
#define KILN__COMPLEX_ORDER(op, equal, swap)                                                       \
    template <class A, class B>                                                                    \
    KILN_FN bool operator op(const complex<A> &x, const complex<B> &y)                             \
    {                                                                                              \
        typedef decltype(A() + B()) R;                                                             \
        R a = R(x.kiln__re), b = R(x.kiln__im), c = R(y.kiln__re), d = R(y.kiln__im);              \
        return swap ? kiln__complex_before(c, d, a, b, equal)                                      \
                    : kiln__complex_before(a, b, c, d, equal);                                     \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<B>::wide>                              \
    KILN_FN bool operator op(const complex<A> &x, B y)                                             \
    {                                                                                              \
        return x op complex<decltype(A() + B())>(y);                                               \
    }                                                                                              \
    template <class A, class B, class = typename kiln__math<A>::wide>                              \
    KILN_FN bool operator op(A x, const complex<B> &y)                                             \
    {                                                                                              \
        return complex<decltype(A() + B())>(x) op y;                                               \
    }
KILN__COMPLEX_ORDER(<, false, false)
KILN__COMPLEX_ORDER(<=, true, false)
KILN__COMPLEX_ORDER(>, false, true)
KILN__COMPLEX_ORDER(>=, true, true)
