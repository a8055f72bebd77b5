//% section batch_sum
// batch_sum (CUDA): the sum of N small integers, at(0) to at(N - 1), added to `a` as one.
template <int N, class T, class A, class P> KILN_FN void kiln_batch_sum(T &a, A at, P)
{
    int sum = 0;
    KILN_UNROLL
    for (int k = 0; k < N; k++)
        sum += at(k);
    a = a + (T)sum;
}
// The same of N accesses of V integers of one byte each, four at a time. Every access is touched
// before the second four of any, so that all of them are on their way before the first is needed.
template <int N, int V, class T, class B> KILN_FN void kiln_batch_sum_bytes(T &a, const B (&x)[N][V])
{
    static_assert(sizeof(B) == 1 && V % 4 == 0, "an access has whole words of bytes");
    int word[N][V / 4], sum = 0;
    memcpy(word, x, sizeof word);
    KILN_UNROLL
    for (int v = 0; v < V / 4; v++) {
        KILN_UNROLL
        for (int n = N - 1; n >= 0; n--)
            sum = B(-1) < B(1) ? __dp4a(word[n][v], 0x01010101, sum)
                               : (int)__dp4a((unsigned)word[n][v], 0x01010101u, (unsigned)sum);
    }
    a = a + (T)sum;
}

//% section batch_moments needs moments
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

//% section batch_position needs position
// batch_position (CUDA): the best of N values, at(0) to at(N - 1), whose places rise with k: the
// first of equal ones stays without a look at places. G: the greatest one, else the least.
template <bool G, int N, class T, class A, class P>
KILN_FN void kiln_batch_position(kiln_position<T> &a, A at, P place)
{
    T best = T(at(0));
    int which = 0;
    KILN_UNROLL
    for (int k = 1; k < N; k++) {
        const T v = T(at(k));
        // Also when v is the first NaN.
        const bool take = (G ? !(v <= best) : !(v >= best)) && best == best;
        best = take ? v : best;
        which = take ? k : which;
    }
    // Behind a's own place: only what is better counts, or anything if there is nothing yet.
    const bool take = ((G ? !(best <= a.value) : !(best >= a.value)) && a.value == a.value) ||
                      a.index == kiln_position_none;
    if (take) {
        a.index = place(which);
        a.value = best;
    }
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_least(kiln_position<T> &a, A at, P place)
{
    kiln_batch_position<false, N>(a, at, place);
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_greatest(kiln_position<T> &a, A at, P place)
{
    kiln_batch_position<true, N>(a, at, place);
}
