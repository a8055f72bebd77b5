// op_gcd: greatest common divisor and least common multiple of absolute values, in U.
template <class T, class U> KILN_FN U kiln__magnitude(T a)
{
    if constexpr (T(-1) < T(0))
        return a < T(0) ? U(0) - U(a) : U(a);
    return U(a);
}
template <class T, class U> KILN_FN T kiln_gcd(T a, T b)
{
    U x = kiln__magnitude<T, U>(a), y = kiln__magnitude<T, U>(b);
    while (y != U(0)) {
        U r = x % y;
        x = y;
        y = r;
    }
    return T(x);
}
template <class T, class U> KILN_FN T kiln_lcm(T a, T b)
{
    U x = kiln__magnitude<T, U>(a), y = kiln__magnitude<T, U>(b);
    U both = kiln__magnitude<T, U>(kiln_gcd<T, U>(a, b));
    return both == U(0) ? T(0) : T(x / both * y);
}
