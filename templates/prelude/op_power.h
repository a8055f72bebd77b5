// op_power: an integer's power by squaring, wrapping in U; below 0 it is the reciprocal of the
// positive power rounded toward 0.
template <class T, class U> KILN_FN T kiln_int_power(T a, T b)
{
    bool negative = false;
    if constexpr (T(-1) < T(0)) {
        negative = b < T(0);
        if (negative && a != T(1) && a != T(-1))
            return T(0);
    }
    U base = U(a), result = U(1), left = negative ? U(0) - U(b) : U(b);
    for (; left != U(0); left >>= 1) {
        if ((left & U(1)) != U(0))
            result *= base;
        base *= base;
    }
    return T(result);
}
