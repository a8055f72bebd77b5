// op_bitwise_count: how many bits of the absolute value are set.
template <class T> KILN_FN unsigned char kiln_bitwise_count(T a)
{
    unsigned long long bits = (unsigned long long)a;
    if constexpr (T(-1) < T(0))
        bits = a < T(0) ? 0ull - bits : bits;
    return (unsigned char)__popcll(bits);
}
