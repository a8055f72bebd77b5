// mixed_compare: int64 beside uint64, which no integer type holds both of, compared exactly.
KILN_FN int kiln__mixed_order(long long a, unsigned long long b)
{
    return a < 0 || (unsigned long long)a < b ? -1 : (unsigned long long)a > b;
}
KILN_FN int kiln__mixed_order(unsigned long long a, long long b)
{
    return -kiln__mixed_order(b, a);
}
template <class A, class B> KILN_FN bool kiln_mixed_less(A a, B b)
{
    return kiln__mixed_order(a, b) < 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_less_equal(A a, B b)
{
    return kiln__mixed_order(a, b) <= 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_greater(A a, B b)
{
    return kiln__mixed_order(a, b) > 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_greater_equal(A a, B b)
{
    return kiln__mixed_order(a, b) >= 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_equal(A a, B b)
{
    return kiln__mixed_order(a, b) == 0;
}
template <class A, class B> KILN_FN bool kiln_mixed_not_equal(A a, B b)
{
    return kiln__mixed_order(a, b) != 0;
}
