// op_shift: shifts by less than 0 or by all bits and more, which C++ leaves undefined, are defined.
template <class T, class U> KILN_FN T kiln_left_shift(T a, T b)
{
    return (unsigned long long)b < 8 * sizeof(T) ? T(U(a) << U(b)) : T(0);
}
template <class T> KILN_FN T kiln_right_shift(T a, T b)
{
    if ((unsigned long long)b < 8 * sizeof(T))
        return T(a >> b);
    if constexpr (T(-1) < T(0))
        return a < T(0) ? T(-1) : T(0);
    return T(0);
}
