// op_logaddexp2: log2(exp2(x) + exp2(y)) without overflow on the way; equal infinities stay.
template <class T> KILN_FN T kiln_logaddexp2(T x, T y)
{
    T gap = x - y, log2e = T(1.44269504088896340736);
    if (x == y)
        return x + T(1);
    if (gap > T(0))
        return x + log2e * log1p(exp2(-gap));
    return gap <= T(0) ? y + log2e * log1p(exp2(gap)) : gap;
}
