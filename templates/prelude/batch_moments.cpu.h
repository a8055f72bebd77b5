// batch_moments (CPU): the mean of a batch first, then the deviations from it, in lanes that make
// vectors; one merge for all of them. The sum of the deviations is what the mean's rounding left: the
// rest of the mean.
constexpr int kiln_batch_row = 512, kiln_batch_rows = 16;
template <int L, class T> KILN_FN T kiln_batch_fold(T (&lane)[L])
{
    for (int h = L / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++)
            lane[l] += lane[l + h];
    return lane[0];
}
// The moments of `count` values, of which the sum of deviations from `mean` and of their squares is known.
template <class T> KILN_FN kiln_moments<T> kiln_batch_result(int count, T mean, T left, T squares)
{
    const T rest = left / T(count);
    kiln_moments<T> m = kiln_moments_of<T>(mean);
    m.count = T(count);
    m.squares = squares - left * rest;
    kiln_moments_shift(m, rest);
    return m;
}
template <class T, class A, class P>
KILN_FN void kiln_batch_moments(kiln_moments<T> &a, int count, A at, P)
{
    constexpr int L = 32;
    T sum[L], rest[L], squares[L];
    const int whole = count / L * L;
    for (int l = 0; l < L; l++)
        sum[l] = rest[l] = squares[l] = T(0);
    for (int k = 0; k < whole; k += L)
        for (int l = 0; l < L; l++)
            sum[l] += T(at(k + l));
    for (int k = whole; k < count; k++)
        sum[k - whole] += T(at(k));
    const T mean = kiln_batch_fold(sum) / T(count);
    for (int k = 0; k < whole; k += L)
        for (int l = 0; l < L; l++) {
            const T d = T(at(k + l)) - mean;
            rest[l] += d;
            squares[l] += d * d;
        }
    for (int k = whole; k < count; k++) {
        const T d = T(at(k)) - mean;
        rest[k - whole] += d;
        squares[k - whole] += d * d;
    }
    a = kiln_moments_merge(a, kiln_batch_result(count, mean, kiln_batch_fold(rest),
                                                kiln_batch_fold(squares)));
}
// The same down `rows` rows of `count` columns, one accumulator a column.
template <int X, class T, class A, class P>
KILN_FN void kiln_batch_moments_columns(kiln_moments<T> *a, int count, int rows, A at, P)
{
    T mean[X], rest[X], squares[X];
    for (int k = 0; k < count; k++)
        mean[k] = rest[k] = squares[k] = T(0);
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
            rest[k] += d;
            squares[k] += d * d;
        }
    }
    KILN_INDEPENDENT
    for (int k = 0; k < count; k++)
        a[k] = kiln_moments_merge(a[k], kiln_batch_result(rows, mean[k], rest[k], squares[k]));
}
