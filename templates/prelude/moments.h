// moments: number, mean and sum of squared deviations of a set of values. Two sets merge as
// T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances", Stanford STAN-CS-79-773 (1979); The American Statistician 37 (1983) 242:
//     d = mean_b - mean_a                    mean = mean_a + d n_b / n
//     n = n_a + n_b                          squares = squares_a + squares_b + d^2 n_a n_b / n
// The mean is mean + mean_rest and the sum is squares + squares_rest, unevaluated: what each addition
// rounds away goes to the rest and takes part in the next one, so errors do not grow with the number
// of merges, nor with the distance of the values from zero. Where the summand is greater than the
// sum, the rest is off by a rounding error of the summand, which may have one of its own anyway.
template <class T> struct kiln_moments {
    typedef T value_type;
    T count, mean, mean_rest, squares, squares_rest;
    KILN_MOMENTS_PAD(T, 3)
};
template <class T> KILN_FN kiln_moments<T> kiln_moments_none()
{
    kiln_moments<T> m;
    m.count = m.mean = m.mean_rest = m.squares = m.squares_rest = T(0);
    return m;
}
template <class T> KILN_FN kiln_moments<T> kiln_moments_of(T value)
{
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(1);
    m.mean = value;
    return m;
}
// sum + step, where the last rest is a part of the step (W. Kahan, Comm. ACM 8 (1965) 40).
template <class T> KILN_FN void kiln_moments_add(T &sum, T &rest, T step)
{
    const T whole = sum + step;
    rest = step - (whole - sum);
    sum = whole;
}
// A mean that is infinite stays so, and two opposite ones have no mean: NaN, as their sum is.
template <class T> KILN_FN void kiln_moments_move(T &mean, T &rest, T step, T other)
{
    const T plain = mean + other;
    kiln_moments_add(mean, rest, step);
    mean = mean == mean ? mean : plain;
}
// n_a n_b / n comes first: 0 for an empty set, whatever the other's values are.
template <class T>
KILN_FN kiln_moments<T> kiln_moments_merge(kiln_moments<T> a, kiln_moments<T> b)
{
    T count = a.count + b.count, gap = b.mean - a.mean, rest = b.mean_rest - a.mean_rest;
    T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    T square = gap * (a.count * share) * (gap + 2 * rest); // d^2, but for the square of a rest
    kiln_moments_add(a.squares, a.squares_rest,
                     square + (a.squares_rest + b.squares_rest + b.squares));
    kiln_moments_move(a.mean, a.mean_rest, (gap + rest) * share + a.mean_rest, b.mean);
    a.count = count;
    return a;
}
// What a mean of rounded sums was off by.
template <class T> KILN_FN void kiln_moments_shift(kiln_moments<T> &m, T rest) { m.mean_rest = rest; }
template <class T> KILN_FN T kiln_moments_mean(kiln_moments<T> m)
{
    const T mean = m.mean + m.mean_rest;
    return mean == mean ? mean : m.mean; // what is infinite has no rest
}
// Infinities among the values leave the mean without a meaning, and with it the deviations: NaN. A sum
// that overflowed is infinite, and what was added to it later made it NaN. Divided by n, or by 0 where n
// is negative, as NumPy does for more degrees of freedom than values.
template <class T> KILN_FN T kiln_moments_deviation(T squares, T rest, T mean, double n)
{
    const T sum = squares + rest;
    return ((sum == sum ? sum : T(INFINITY)) + (mean - mean)) / T(n > 0 ? n : 0);
}
template <class T> KILN_FN T kiln_moments_variance(kiln_moments<T> m, double n)
{
    return kiln_moments_deviation(m.squares, m.squares_rest, m.mean, n);
}
