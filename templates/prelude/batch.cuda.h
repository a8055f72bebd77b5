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
// What threads that share a batch make of a value of each, by an operation that all of them then have the
// result of. A thread that has a batch of its own has the result already.
struct kiln_batch_alone {
    template <class T, class F> KILN_METHOD T operator()(T value, F) const { return value; }
};
struct kiln_batch_plus {
    template <class T> KILN_METHOD T operator()(T a, T b) const { return a + b; }
};
template <int N, class T, class A, class S> KILN_FN T kiln_batch_add(int n, A at, S together)
{
    T sum[4] = {T(0), T(0), T(0), T(0)};
    kiln_batch_each<N>(n, [&](int k, int l, bool first) { sum[l] = first ? at(k) : sum[l] + at(k); });
    return together(kiln_batch_fold<N>(sum), kiln_batch_plus());
}
// The moments of the values of all threads, of which count(k) is 1 or 0: their mean first, then their deviations
// from it, whose sum is what the mean was rounded by. The sum of the squares is the result.
template <int N, class T, class A, class C, class S>
KILN_FN T kiln_batch_part(int n, A at, C count, T each, T &mean, T &rest, S together)
{
    const T middle = kiln_batch_add<N, T>(n, at, together) * each;
    T left[4] = {T(0), T(0), T(0), T(0)}, square[4] = {T(0), T(0), T(0), T(0)};
    kiln_batch_each<N>(n, [&](int k, int l, bool first) {
        const T d = (at(k) - middle) * count(k);
        left[l] = first ? d : left[l] + d;
        square[l] = first ? d * d : square[l] + d * d;
    });
    const T off = together(kiln_batch_fold<N>(left), kiln_batch_plus());
    mean = middle;
    rest = middle - middle == T(0) ? off * each : T(0); // what is infinite has none
    const T squares = together(kiln_batch_fold<N>(square), kiln_batch_plus()) - off * rest;
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
    m.squares = kiln_batch_part<N, T>(n, [&](int k) { return T(at(k)); }, [](int) { return T(1); },
                                      T(1) / T(n), m.mean, m.rest, kiln_batch_alone());
    a = N > 0 ? kiln_moments_merge(a, m) : m;
}
// Of `n` values that threads have together, N each: those for which there(k) does not hold are 0.
template <int N, int, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_moments_row(kiln_moments<T> &a, A at, H there, P, int n, S together)
{
    a.count = T(n);
    a.squares = kiln_batch_part<N, T>(N, [&](int k) { return T(at(k)); },
                                      [&](int k) { return there(k) ? T(1) : T(0); }, T(1) / T(n),
                                      a.mean, a.rest, together);
}

// The moments of `n` values that have been 16-bit floats, each looked at once: the sums of what they differ by
// from the first, and of its squares. As the first is one of them, it is no farther from the mean than the
// square root of their squared deviations, whose sum is at least 1 / (n + 1) of the sum of squares here: of rows
// of 127 values the variance is off by 2^-17 of itself. Tells whether the sums are finite; if they are not, `a` has
// to be found as usual.
template <int N, class T, class A, class H>
KILN_FN bool kiln_batch_moments_once(kiln_moments<T> &a, A at, H there, int n)
{
    constexpr int M = N == 0 ? 0 : N - 1;
    const T begin = at(0), each = T(1) / T(n);
    T sum[4] = {T(0), T(0), T(0), T(0)}, square[4] = {T(0), T(0), T(0), T(0)};
    kiln_batch_each<M>(n - 1, [&](int k, int l, bool first) {
        const T d = there(k + 1) ? at(k + 1) - begin : T(0);
        sum[l] = first ? d : sum[l] + d;
        square[l] = first ? d * d : square[l] + d * d;
    });
    const T whole = kiln_batch_fold<M>(sum), squares = kiln_batch_fold<M>(square);
    a.count = T(n);
    a.mean = begin;
    a.rest = whole * each;
    a.squares = squares - whole * a.rest;
    a.squares = a.squares < T(0) ? T(0) : a.squares;
    return squares - squares == T(0);
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_moments_short(kiln_moments<T> &a, A at, P place, int n)
{
    if (!kiln_batch_moments_once<N>(a, at, [](int) { return true; }, n))
        kiln_batch_moments<N>(a, at, place, n);
}
// The same of a row of `n` values that one thread holds: N of them, and where there(k) does not hold, none.
template <int N, int V, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_moments_short_row(kiln_moments<T> &a, A at, H there, P place, int n,
                                          S together)
{
    if (!kiln_batch_moments_once<N>(a, at, there, n))
        kiln_batch_moments_row<N, V>(a, at, there, place, n, together);
}

//% section batch_counted needs moments batch_parts
// batch_counted (CUDA): the same of accumulators that hold a value each, or none.
template <int N, class T, class A, class S>
KILN_FN kiln_moments<T> kiln_batch_counted_of(A at, int n, S together)
{
    const auto count = [&](int k) { return at(k).count; };
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = kiln_batch_add<N, T>(n, count, together);
    m.squares = kiln_batch_part<N, T>(n, [&](int k) { return at(k).mean; }, count,
                                      kiln_moments_share(T(1), m.count > T(0) ? m.count : T(1)),
                                      m.mean, m.rest, together);
    return m;
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_counted(kiln_moments<T> &a, A at, P, int n = N)
{
    const kiln_moments<T> m = kiln_batch_counted_of<N, T>(at, n, kiln_batch_alone());
    a = N > 0 ? kiln_moments_merge(a, m) : m;
}
template <int N, int, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_counted_row(kiln_moments<T> &a, A at, H, P, int, S together)
{
    a = kiln_batch_counted_of<N, T>(at, N, together);
}

//% section batch_counted_complex needs batch_counted complex_moments
//% when @batch_counted&kiln_complex_moments_merge
template <int N, class T, class A, class S>
KILN_FN kiln_complex_moments<T> kiln_batch_complex_of(A at, int n, S together)
{
    const auto count = [&](int k) { return at(k).count; };
    kiln_complex_moments<T> m = kiln_complex_moments_none<T>();
    m.count = kiln_batch_add<N, T>(n, count, together);
    const T each = kiln_moments_share(T(1), m.count > T(0) ? m.count : T(1));
    m.squares = kiln_batch_part<N, T>(n, [&](int k) { return at(k).mean_re; }, count, each,
                                      m.mean_re, m.rest_re, together) +
                kiln_batch_part<N, T>(n, [&](int k) { return at(k).mean_im; }, count, each,
                                      m.mean_im, m.rest_im, together);
    return m;
}
template <int N, class T, class A, class P>
KILN_FN void kiln_batch_counted(kiln_complex_moments<T> &a, A at, P, int n = N)
{
    const kiln_complex_moments<T> m = kiln_batch_complex_of<N, T>(at, n, kiln_batch_alone());
    a = N > 0 ? kiln_complex_moments_merge(a, m) : m;
}
template <int N, int, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_counted_row(kiln_complex_moments<T> &a, A at, H, P, int, S together)
{
    a = kiln_batch_complex_of<N, T>(at, N, together);
}

//% section batch_position needs position half_least half_greatest
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
// The greater or the less of two values; a NaN wins.
template <bool G, class T> KILN_FN T kiln_batch_better(T a, T b)
{
    return (G ? !(b <= a) : !(b >= a)) && a == a ? b : a;
}
template <bool G> KILN_FN float kiln_batch_better(float a, float b)
{
    return G ? kiln_half_greatest(a, b) : kiln_half_least(a, b);
}
// The first place of those of N values for which is(k) holds. The places of M values rise with k, those of the
// others are compared.
template <int N, int M, class I, class P> KILN_FN kiln__index kiln_batch_first(I is, P place)
{
    int which = -1;
    KILN_UNROLL
    for (int k = M - 1; k >= 0; k--)
        which = is(k) ? k : which;
    kiln__index first = which < 0 ? kiln_position_none : place(which);
    KILN_UNROLL
    for (int k = M; k < N; k++)
        if (is(k) && place(k) < first)
            first = place(k);
    return first;
}
// The best of values that threads have together, N each, first, and then where it stands. Values for which
// there(k) does not hold are the worst, which `a` has in the beginning.
template <bool G, int N, int M, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_position_row(kiln_position<T> &a, A at, H there, P place, S together)
{
    const T worst = a.value;
    T best = T(at(0));
    KILN_UNROLL
    for (int k = 1; k < N; k++)
        best = kiln_batch_better<G>(best, T(at(k)));
    best = together(best, [](T x, T y) { return kiln_batch_better<G>(x, y); });
    if (G ? best > worst : best < worst)
        a.index = kiln_batch_first<N, M>([&](int k) { return T(at(k)) == best; }, place);
    else if (best == best)
        a.index = kiln_batch_first<N, M>([&](int k) { return T(at(k)) == best && there(k); }, place);
    else
        a.index = kiln_batch_first<N, M>([&](int k) { return T(at(k)) != T(at(k)); }, place);
    a.index = together(a.index, [](kiln__index x, kiln__index y) { return y < x ? y : x; });
    a.value = best;
}
template <int N, int M, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_least_row(kiln_position<T> &a, A at, H there, P place, int, S together)
{
    kiln_batch_position_row<false, N, M>(a, at, there, place, together);
}
template <int N, int M, class T, class A, class H, class P, class S>
KILN_FN void kiln_batch_greatest_row(kiln_position<T> &a, A at, H there, P place, int, S together)
{
    kiln_batch_position_row<true, N, M>(a, at, there, place, together);
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
