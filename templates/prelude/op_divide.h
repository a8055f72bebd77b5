// op_divide: integers divided as NumPy does: by 0 it is 0, the least one by -1 wraps to itself.
template <class T> KILN_FN bool kiln__by_minus_one(T b)
{
    if constexpr (T(-1) < T(0))
        return b == T(-1);
    return false;
}
template <class T> KILN_FN bool kiln__signs_differ(T a, T b)
{
    if constexpr (T(-1) < T(0))
        return (a < T(0)) != (b < T(0));
    return false;
}
template <class T> KILN_FN T kiln_int_fmod(T a, T b)
{
    return b == T(0) || kiln__by_minus_one(b) ? T(0) : T(a % b);
}
template <class T> KILN_FN T kiln_int_remainder(T a, T b)
{
    T r = kiln_int_fmod(a, b);
    return r != T(0) && kiln__signs_differ(r, b) ? T(r + b) : r;
}
template <class T> KILN_FN T kiln_int_floor_divide(T a, T b)
{
    if (b == T(0))
        return T(0);
    if (kiln__by_minus_one(b))
        return T(0ull - (unsigned long long)a);
    T q = T(a / b);
    return kiln__signs_differ(a, b) && q * b != a ? T(q - 1) : q;
}
template <class T> KILN_FN T kiln_int_reciprocal(T a)
{
    if (a == T(1) || kiln__by_minus_one(a))
        return a;
    return T(0);
}
