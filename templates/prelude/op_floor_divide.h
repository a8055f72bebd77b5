// op_floor_divide: quotient rounded down and remainder with the divisor's sign, as Python has them.
// The quotient comes from the exact remainder, so that the two always fit each other.
template <class T> KILN_FN T kiln_remainder(T a, T b)
{
    T r = fmod(a, b);
    if (b == T(0))
        return r;
    if (r == T(0))
        return copysign(T(0), b);
    return (b < T(0)) != (r < T(0)) ? r + b : r;
}
template <class T> KILN_FN T kiln_floor_divide(T a, T b)
{
    if (b == T(0))
        return a / b;
    T r = fmod(a, b), q = (a - r) / b;
    if (r != T(0) && (b < T(0)) != (r < T(0)))
        q = q - T(1);
    if (q == T(0))
        return copysign(T(0), a / b);
    T whole = floor(q);
    return q - whole > T(0.5) ? whole + T(1) : whole;
}
