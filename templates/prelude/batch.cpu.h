//% section batch_sum
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

//% section batch_moments needs moments
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

//% section batch_position needs position
// batch_position (CPU): the best value of a batch, whose places rise with k; where it stands is
// looked for only when it is better than what there is. G: the greatest one, else the least.
constexpr int kiln_batch_row = 4096, kiln_batch_rows = 32;
template <bool G, class T, class A, class P>
KILN_FN void kiln_batch_position(kiln_position<T> &a, int count, A at, P place)
{
    constexpr int L = 128 / sizeof(T) < 64 ? 128 / sizeof(T) : 64;
    T lane[L];
    int numbers[L], is_number = 0;
    const int whole = count / L * L;
    if (a.value != a.value)
        return; // the first NaN stays
    for (int l = 0; l < L; l++) {
        lane[l] = a.value;
        numbers[l] = 0;
    }
    for (int k = 0; k < whole; k += L)
        for (int l = 0; l < L; l++) {
            const T v = T(at(k + l));
            lane[l] = (G ? v > lane[l] : v < lane[l]) ? v : lane[l];
            numbers[l] += v == v;
        }
    for (int k = whole; k < count; k++) {
        const T v = T(at(k));
        lane[k - whole] = (G ? v > lane[k - whole] : v < lane[k - whole]) ? v : lane[k - whole];
        numbers[k - whole] += v == v;
    }
    for (int l = 0; l < L; l++)
        is_number += numbers[l];
    for (int h = L / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++)
            lane[l] = (G ? lane[l + h] > lane[l] : lane[l + h] < lane[l]) ? lane[l + h] : lane[l];
    const bool nan = is_number != count;
    if (!nan && lane[0] == a.value && a.index != kiln_position_none)
        return;
    for (int k = 0; k < count; k++) {
        const T v = T(at(k));
        if (nan ? v != v : v == lane[0]) {
            a = kiln_position_of<T>(v, (kiln__index)place(k));
            return;
        }
    }
}
// The same down `rows` rows of `count` columns, one accumulator a column.
template <bool G, int X, class T, class A, class P>
KILN_FN void kiln_batch_position_columns(kiln_position<T> *a, int count, int rows, A at, P place)
{
    T best[X];
    int which[X];
    for (int k = 0; k < count; k++) {
        best[k] = T(at(0, k));
        which[k] = 0;
    }
    for (int j = 1; j < rows; j++) {
        KILN_INDEPENDENT
        for (int k = 0; k < count; k++) {
            const T v = T(at(j, k));
            const bool take = (G ? !(v <= best[k]) : !(v >= best[k])) & (best[k] == best[k]);
            best[k] = take ? v : best[k];
            which[k] = take ? j : which[k];
        }
    }
    for (int k = 0; k < count; k++) {
        const bool better = (G ? !(best[k] <= a[k].value) : !(best[k] >= a[k].value)) &&
                            a[k].value == a[k].value;
        if (better || a[k].index == kiln_position_none)
            a[k] = kiln_position_of<T>(best[k], (kiln__index)place(which[k], k));
    }
}
template <class T, class A, class P>
KILN_FN void kiln_batch_least(kiln_position<T> &a, int count, A at, P place)
{
    kiln_batch_position<false>(a, count, at, place);
}
template <class T, class A, class P>
KILN_FN void kiln_batch_greatest(kiln_position<T> &a, int count, A at, P place)
{
    kiln_batch_position<true>(a, count, at, place);
}
template <int X, class T, class A, class P>
KILN_FN void kiln_batch_least_columns(kiln_position<T> *a, int count, int rows, A at, P place)
{
    kiln_batch_position_columns<false, X>(a, count, rows, at, place);
}
template <int X, class T, class A, class P>
KILN_FN void kiln_batch_greatest_columns(kiln_position<T> *a, int count, int rows, A at, P place)
{
    kiln_batch_position_columns<true, X>(a, count, rows, at, place);
}
