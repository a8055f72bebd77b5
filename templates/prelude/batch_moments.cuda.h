// batch_moments (CUDA): the moments of N values, at(0) to at(N - 1): their mean first, then their
// deviations from it, and one merge for all of them.
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_moments(kiln_moments<T> &a, A at, P)
{
    constexpr int L = N < 4 ? N : 4;
    T sum[L], squares[L];
    KILN_UNROLL
    for (int k = 0; k < L; k++)
        sum[k] = T(at(k));
    KILN_UNROLL
    for (int k = L; k < N; k++)
        sum[k % L] += T(at(k));
    KILN_UNROLL
    for (int k = 1; k < L; k++)
        sum[0] += sum[k];
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(N);
    m.mean = sum[0] * (T(1) / T(N));
    KILN_UNROLL
    for (int k = 0; k < N; k++) {
        const T d = T(at(k)) - m.mean;
        squares[k % L] = k < L ? d * d : squares[k % L] + d * d;
    }
    KILN_UNROLL
    for (int k = 1; k < L; k++)
        squares[0] += squares[k];
    m.squares = squares[0];
    a = kiln_moments_merge(a, m);
}
