// batch_moments (CPU): the mean of a batch first, then the deviations from it, in lanes that make
// vectors; one merge for all of them.
constexpr int kiln_batch_row = 512, kiln_batch_rows = 8;
template <class T, class A, class P>
KILN_FN void kiln_batch_moments(kiln_moments<T> &a, int count, A at, P)
{
    constexpr int L = 16;
    T sum[L], squares[L];
    const int whole = count / L * L;
    for (int l = 0; l < L; l++)
        sum[l] = squares[l] = T(0);
    for (int k = 0; k < whole; k += L)
        for (int l = 0; l < L; l++)
            sum[l] += T(at(k + l));
    for (int k = whole; k < count; k++)
        sum[k - whole] += T(at(k));
    for (int h = L / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++)
            sum[l] += sum[l + h];
    kiln_moments<T> m;
    m.count = T(count);
    m.mean = sum[0] / T(count);
    for (int k = 0; k < whole; k += L)
        for (int l = 0; l < L; l++) {
            const T d = T(at(k + l)) - m.mean;
            squares[l] += d * d;
        }
    for (int k = whole; k < count; k++) {
        const T d = T(at(k)) - m.mean;
        squares[k - whole] += d * d;
    }
    for (int h = L / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++)
            squares[l] += squares[l + h];
    m.squares = squares[0];
    a = kiln_moments_merge(a, m);
}
// The same down `rows` rows of `count` columns, one accumulator a column.
template <int X, class T, class A, class P>
KILN_FN void kiln_batch_moments_columns(kiln_moments<T> *a, int count, int rows, A at, P)
{
    T mean[X], squares[X];
    for (int k = 0; k < count; k++)
        mean[k] = squares[k] = T(0);
    for (int j = 0; j < rows; j++) {
        KILN_INDEPENDENT
        for (int k = 0; k < count; k++)
            mean[k] += T(at(j, k));
    }
    for (int k = 0; k < count; k++)
        mean[k] /= T(rows);
    for (int j = 0; j < rows; j++) {
        KILN_INDEPENDENT
        for (int k = 0; k < count; k++) {
            const T d = T(at(j, k)) - mean[k];
            squares[k] += d * d;
        }
    }
    for (int k = 0; k < count; k++) {
        kiln_moments<T> m;
        m.count = T(rows);
        m.mean = mean[k];
        m.squares = squares[k];
        a[k] = kiln_moments_merge(a[k], m);
    }
}
