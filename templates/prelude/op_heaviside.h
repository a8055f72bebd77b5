// op_heaviside: 0 below 0, 1 above, y at 0; NaN stays.
template <class T> KILN_FN T kiln_heaviside(T x, T y)
{
    typename kiln__order<T>::wide v = x;
    return v != v ? x : v == 0 ? y : v < 0 ? T(0) : T(1);
}
