// batch_sum (CPU): small integers are summed up in ints, which hold 2^15 of them, and then widened.
constexpr int kiln_batch_row = 4096, kiln_batch_rows = 32;
template <class T, class A, class P> KILN_FN void kiln_batch_sum(T &a, int count, A at, P)
{
    int sum = 0;
    for (int k = 0; k < count; k++)
        sum += at(k);
    a = a + (T)sum;
}
// The same down `rows` rows of `count` columns, one accumulator a column.
template <int X, class T, class A, class P>
KILN_FN void kiln_batch_sum_columns(T *a, int count, int rows, A at, P)
{
    int sum[X];
    for (int k = 0; k < count; k++)
        sum[k] = 0;
    for (int j = 0; j < rows; j++) {
        KILN_INDEPENDENT
        for (int k = 0; k < count; k++)
            sum[k] += at(j, k);
    }
    for (int k = 0; k < count; k++)
        a[k] = a[k] + (T)sum[k];
}
