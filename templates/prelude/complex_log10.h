// complex_log10: logarithms to base 10 and 2.
template <class T> KILN_HEAVY complex<T> log10(const complex<T> &z)
{
    return log(z) * T(0.43429448190325182765);
}
template <class T> KILN_HEAVY complex<T> log2(const complex<T> &z)
{
    return log(z) * T(1.44269504088896340736);
}
