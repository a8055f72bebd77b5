// op_logaddexp: log(exp(x) + exp(y)) without overflow on the way; equal infinities stay.
template <class T> KILN_FN T kiln_logaddexp(T x, T y)
{
    T gap = x - y;
    if (x == y)
        return x + T(0.69314718055994530942);
    if (gap > T(0))
        return x + log1p(exp(-gap));
    return gap <= T(0) ? y + log1p(exp(gap)) : gap;
}
