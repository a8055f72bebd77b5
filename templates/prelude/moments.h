// moments: number, mean and sum of squared deviations of a set of values. Two sets merge as
// T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances", Stanford STAN-CS-79-773 (1979); The American Statistician 37 (1983) 242:
//     d = mean_b - mean_a                    mean = mean_a + d n_b / n
//     n = n_a + n_b                          squares = squares_a + squares_b + d^2 n_a n_b / n
// The share n_b / n only moves a mean between two others: an approximate division serves.
KILN_FN float kiln_moments_share(float part, float whole) { return __fdividef(part, whole); }
KILN_FN double kiln_moments_share(double part, double whole) { return part / whole; }

template <class T> struct kiln_moments {
    T count, mean, squares;
};
template <class T> KILN_FN kiln_moments<T> kiln_moments_none()
{
    kiln_moments<T> m;
    m.count = m.mean = m.squares = T(0);
    return m;
}
template <class T> KILN_FN kiln_moments<T> kiln_moments_of(T value)
{
    kiln_moments<T> m;
    m.count = T(1);
    m.mean = value;
    m.squares = T(0);
    return m;
}
// n_a n_b / n comes first: 0 for an empty set, whatever the other's values are. A mean that is
// infinite stays so, and two opposite ones have no mean: NaN, as their sum is.
template <class T> KILN_FN T kiln_moments_mean(T a, T b, T d, T share)
{
    T mean = a + d * share;
    return mean == mean ? mean : a + b;
}
template <class T>
KILN_FN kiln_moments<T> kiln_moments_merge(kiln_moments<T> a, kiln_moments<T> b)
{
    T count = a.count + b.count, d = b.mean - a.mean;
    T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    a.squares = a.squares + b.squares + d * (a.count * share) * d;
    a.mean = kiln_moments_mean(a.mean, b.mean, d, share);
    a.count = count;
    return a;
}
// Infinities among the values leave the mean without a meaning, and with it the deviations: NaN.
// Divided by n, or by 0 where n is negative, as NumPy does for more degrees of freedom than values.
template <class T> KILN_FN T kiln_moments_variance(kiln_moments<T> m, double n)
{
    return (m.squares + (m.mean - m.mean)) / T(n > 0 ? n : 0);
}
