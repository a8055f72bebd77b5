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
