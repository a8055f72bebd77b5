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
