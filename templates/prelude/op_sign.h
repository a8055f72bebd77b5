// op_sign: -1, 0 or 1; NaN stays.
template <class T> KILN_FN T kiln_sign(T x)
{
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
}
