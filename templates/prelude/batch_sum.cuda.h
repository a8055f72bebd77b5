// batch_sum (CUDA): the sum of N small integers, at(0) to at(N - 1), added to `a` as one.
template <int N, class T, class A, class P> KILN_FN void kiln_batch_sum(T &a, A at, P)
{
    int sum = 0;
    KILN_UNROLL
    for (int k = 0; k < N; k++)
        sum += at(k);
    a = a + (T)sum;
}
