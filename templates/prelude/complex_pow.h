// complex_pow: small integer powers by multiplication, the rest as exp(w log z).
template <class T> KILN_HEAVY complex<T> kiln__power(const complex<T> &z, const complex<T> &w)
{
    T p = w.kiln__re;
    if (w.kiln__im == T(0) && fabs(p) <= T(64) && p == floor(p)) {
        complex<T> r(T(1)), base = z;
        for (unsigned int k = (unsigned int)fabs(p); k != 0; k >>= 1) {
            if (k & 1)
                r = r * base;
            base = base * base;
        }
        return p < T(0) ? T(1) / r : r;
    }
    if (z.kiln__re == T(0) && z.kiln__im == T(0) && p > T(0))
        return complex<T>(T(0));
    return exp(w * log(z));
}
template <class A, class B>
KILN_FN complex<decltype(A() + B())> pow(const complex<A> &z, const complex<B> &w)
{
    typedef complex<decltype(A() + B())> C;
    return kiln__power(C(z), C(w));
}
template <class A, class B, class = typename kiln__math<B>::wide>
KILN_FN complex<decltype(A() + B())> pow(const complex<A> &z, B w)
{
    typedef decltype(A() + B()) R;
    return kiln__power(complex<R>(z), complex<R>(R(w)));
}
template <class A, class B, class = typename kiln__math<A>::wide>
KILN_FN complex<decltype(A() + B())> pow(A z, const complex<B> &w)
{
    typedef decltype(A() + B()) R;
    return kiln__power(complex<R>(R(z)), complex<R>(w));
}
