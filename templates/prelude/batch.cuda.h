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

//% section batch_parts
// batch_parts (CUDA): what batches of values are made with.
// `visit` for each of N values, or of `n` where N is 0, in lanes that do not wait for each other: with
// whether it is the lane's first.
template <int N, class F> KILN_FN void kiln_batch_each(int n, F visit)
{
    KILN_UNROLL
    for (int k = 0; k < N; k++)
        visit(k, k % 4, k < 4);
    int k = 0;
    for (; N == 0 && k + 4 <= n; k += 4) {
        KILN_UNROLL
        for (int l = 0; l < 4; l++)
            visit(k + l, l, false);
    }
    for (; N == 0 && k < n; k++)
        visit(k, 0, false);
}
template <int N, class T> KILN_FN T kiln_batch_fold(const T (&lane)[4])
{
    T sum = lane[0];
    KILN_UNROLL
    for (int l = 1; l < (N > 0 && N < 4 ? N : 4); l++)
        sum += lane[l];
    return sum;
}
// The sum of what G lanes have, a part of a warp whose other lanes do the same.
template <int G, class T> KILN_FN T kiln_batch_together(T sum)
{
    KILN_UNROLL
    for (int d = G / 2; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}
template <int N, int G, class T, class A> KILN_FN T kiln_batch_add(int n, A at)
{
    T sum[4] = {T(0), T(0), T(0), T(0)};
    kiln_batch_each<N>(n, [&](int k, int l, bool first) { sum[l] = first ? at(k) : sum[l] + at(k); });
    return kiln_batch_together<G>(kiln_batch_fold<N>(sum));
}
// The moments of the values of G lanes, of which count(k) is 1 or 0: their mean first, then their deviations
// from it, whose sum is what the mean was rounded by. The sum of the squares is the result.
template <int N, int G, class T, class A, class C>
KILN_FN T kiln_batch_part(int n, A at, C count, T each, T &mean, T &rest)
{
    const T middle = kiln_batch_add<N, G, T>(n, at) * each;
    T left[4] = {T(0), T(0), T(0), T(0)}, square[4] = {T(0), T(0), T(0), T(0)};
    kiln_batch_each<N>(n, [&](int k, int l, bool first) {
        const T d = (at(k) - middle) * count(k);
        left[l] = first ? d : left[l] + d;
        square[l] = first ? d * d : square[l] + d * d;
    });
    const T off = kiln_batch_together<G>(kiln_batch_fold<N>(left));
    mean = middle;
    rest = middle - middle == T(0) ? off * each : T(0); // what is infinite has none
    const T squares = kiln_batch_together<G>(kiln_batch_fold<N>(square)) - off * rest;
    return squares < T(0) ? T(0) : squares;
}

//% section batch_moments needs moments batch_parts
// batch_moments (CUDA): the moments of N values, at(0) to at(N - 1), and one merge for all of them; where
// N is 0, those of the `n` values that are all there are.
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_moments(kiln_moments<T> &a, A at, P, int n = N)
{
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(n);
    m.squares = kiln_batch_part<N, 1, T>(n, [&](int k) { return T(at(k)); }, [](int) { return T(1); },
                                         T(1) / T(n), m.mean, m.rest);
    a = N > 0 ? kiln_moments_merge(a, m) : m;
}
// Of `n` values that G lanes have, N each: those for which there(k) does not hold are 0.
template <int N, int G, class T, class A, class H>
KILN_FN void kiln_batch_moments_row(kiln_moments<T> &a, A at, H there, int n)
{
    a.count = T(n);
    a.squares = kiln_batch_part<N, G, T>(N, [&](int k) { return T(at(k)); },
                                         [&](int k) { return there(k) ? T(1) : T(0); }, T(1) / T(n),
                                         a.mean, a.rest);
}

//% section batch_counted needs moments batch_parts
// batch_counted (CUDA): the same of accumulators that hold a value each, or none.
template <int N, int G, class T, class A>
KILN_FN kiln_moments<T> kiln_batch_counted_of(A at, int n)
{
    const auto count = [&](int k) { return at(k).count; };
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = kiln_batch_add<N, G, T>(n, count);
    m.squares = kiln_batch_part<N, G, T>(n, [&](int k) { return at(k).mean; }, count,
                                         kiln_moments_share(T(1), m.count > T(0) ? m.count : T(1)),
                                         m.mean, m.rest);
    return m;
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_counted(kiln_moments<T> &a, A at, P, int n = N)
{
    const kiln_moments<T> m = kiln_batch_counted_of<N, 1, T>(at, n);
    a = N > 0 ? kiln_moments_merge(a, m) : m;
}
template <int N, int G, class T, class A, class H>
KILN_FN void kiln_batch_counted_row(kiln_moments<T> &a, A at, H, int)
{
    a = kiln_batch_counted_of<N, G, T>(at, N);
}

//% section batch_counted_complex needs batch_counted complex_moments
//% when @batch_counted&kiln_complex_moments_merge
template <int N, int G, class T, class A>
KILN_FN kiln_complex_moments<T> kiln_batch_complex_of(A at, int n)
{
    const auto count = [&](int k) { return at(k).count; };
    kiln_complex_moments<T> m = kiln_complex_moments_none<T>();
    m.count = kiln_batch_add<N, G, T>(n, count);
    const T each = kiln_moments_share(T(1), m.count > T(0) ? m.count : T(1));
    m.squares = kiln_batch_part<N, G, T>(n, [&](int k) { return at(k).mean_re; }, count, each,
                                         m.mean_re, m.rest_re) +
                kiln_batch_part<N, G, T>(n, [&](int k) { return at(k).mean_im; }, count, each,
                                         m.mean_im, m.rest_im);
    return m;
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_counted(kiln_complex_moments<T> &a, A at, P, int n = N)
{
    const kiln_complex_moments<T> m = kiln_batch_complex_of<N, 1, T>(at, n);
    a = N > 0 ? kiln_complex_moments_merge(a, m) : m;
}
template <int N, int G, class T, class A, class H>
KILN_FN void kiln_batch_counted_row(kiln_complex_moments<T> &a, A at, H, int)
{
    a = kiln_batch_complex_of<N, G, T>(at, N);
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
