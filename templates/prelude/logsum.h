//% section logsum_exp on cuda needs half_ex2 exp when kiln_logsum kiln_logsum_of
// logsum_exp (CUDA): exp of floats for sums: the error is 2^-23 of the result, and 2^-24 of it for each
// unit of the exponent, so that terms which count are the most exact ones. A subnormal result is 0.
KILN_FN float kiln_logsum_exp(float v) { return kiln__half_ex2(v * 1.4426950408889634f); }
KILN_FN double kiln_logsum_exp(double v) { return exp(v); }

//% section logsum_exp on cpu needs exp when kiln_logsum kiln_logsum_of
template <class T> KILN_FN T kiln_logsum_exp(T v) { return exp(v); }

//% section logsum needs half_greatest INFINITY when kiln_logsum kiln_logsum_of
// logsum: the greatest of some values, and the sum of exp(value - greatest). Where the greatest one is
// -inf, the sum is of exp(value - lowest number), which is 0. A NaN makes both parts NaN, an infinity
// the sum.
template <class T> struct kiln_logsum {
    T most, sum;
};
template <class T> KILN_FN kiln_logsum<T> kiln_logsum_none()
{
    kiln_logsum<T> s;
    s.most = -INFINITY;
    s.sum = T(0);
    return s;
}
template <class T> KILN_FN kiln_logsum<T> kiln_logsum_of(T value)
{
    kiln_logsum<T> s;
    s.most = value;
    s.sum = T(1);
    return s;
}
KILN_FN float kiln_logsum_greater(float a, float b) { return kiln_half_greatest(a, b); }
KILN_FN double kiln_logsum_greater(double a, double b) { return !(b <= a) & (a == a) ? b : a; }
// What is subtracted: the greatest value, unless it is -inf.
KILN_FN float kiln_logsum_base(float most) { return most < -0x1.fffffep127f ? -0x1.fffffep127f : most; }
KILN_FN double kiln_logsum_base(double most)
{
    return most < -0x1.fffffffffffffp1023 ? -0x1.fffffffffffffp1023 : most;
}
template <class T> KILN_FN kiln_logsum<T> kiln_logsum_merge(kiln_logsum<T> a, kiln_logsum<T> b)
{
    kiln_logsum<T> s;
    s.most = kiln_logsum_greater(a.most, b.most);
    const T base = kiln_logsum_base(s.most);
    s.sum = a.sum * kiln_logsum_exp(a.most - base) + b.sum * kiln_logsum_exp(b.most - base);
    return s;
}
// What NumPy's sum(exp(x - max(x))) is: NaN where the greatest value is infinite.
template <class T> KILN_FN T kiln_logsum_sum(kiln_logsum<T> s) { return s.sum + (s.most - s.most); }

//% section batch_logsum on cuda needs logsum batch_parts
// batch_logsum (CUDA): N values, at(0).most to at(N - 1).most: what was summed is multiplied once for all.
template <int N, class T, class A, class P> KILN_FN void kiln_batch_logsum(kiln_logsum<T> &a, A at, P)
{
    T most = a.most;
    KILN_UNROLL
    for (int k = 0; k < N; k++)
        most = kiln_logsum_greater(most, at(k).most);
    const T base = kiln_logsum_base(most);
    a.sum = a.sum * kiln_logsum_exp(a.most - base) +
            kiln_batch_add<N, T>(N, [&](int k) { return kiln_logsum_exp(at(k).most - base); },
                                 kiln_batch_alone());
    a.most = most;
}
