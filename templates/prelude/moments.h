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
// sum + step, where the last rest is a part of the step (W. Kahan, Comm. ACM 8 (1965) 40). What is not
// finite has no rest: the sum is `plain` then. An infinite mean stays so, and two opposite ones have
// none: NaN, as their sum is.
template <class T> KILN_FN void kiln_moments_add(T &sum, T &rest, T step, T plain)
{
    const T whole = sum + step;
    rest = step - (whole - sum);
    sum = whole == whole ? whole : plain;
}
// n_a n_b / n comes first: 0 for an empty set, whatever the other's values are.
template <class T>
KILN_FN kiln_moments<T> kiln_moments_merge(kiln_moments<T> a, kiln_moments<T> b)
{
    T count = a.count + b.count, gap = b.mean - a.mean, rest = b.mean_rest - a.mean_rest;
    T d = gap + rest, left = rest - (d - gap);
    T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    T square = d * a.count * share, past = a.squares + b.squares;
    T squares = a.squares_rest + b.squares_rest + b.squares;
    kiln_moments_add(a.squares, a.squares_rest, square * (d + 2 * left) + squares,
                     past + square * d);
    kiln_moments_add(a.mean, a.mean_rest, d * share + a.mean_rest, a.mean + b.mean);
    a.count = count;
    return a;
}
// What a mean of rounded sums was off by.
template <class T> KILN_FN void kiln_moments_shift(kiln_moments<T> &m, T rest) { m.mean_rest = rest; }
template <class T> KILN_FN T kiln_moments_whole(T sum, T rest)
{
    const T whole = sum + rest;
    return whole == whole ? whole : sum;
}
template <class T> KILN_FN T kiln_moments_mean(kiln_moments<T> m)
{
    return kiln_moments_whole(m.mean, m.mean_rest);
}
// Infinities among the values leave the mean without a meaning, and with it the deviations: NaN.
// Divided by n, or by 0 where n is negative, as NumPy does for more degrees of freedom than values.
template <class T> KILN_FN T kiln_moments_variance(kiln_moments<T> m, double n)
{
    const T squares = kiln_moments_whole(m.squares, m.squares_rest);
    return (squares + (m.mean - m.mean)) / T(n > 0 ? n : 0);
}
