//% section moments on cuda needs INFINITY
//% when kiln_moments kiln_moments_of kiln_moments_of_number
// moments (CUDA): number, mean and sum of squared deviations of a set of values. Two sets merge as
// T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
// sample variances", Stanford STAN-CS-79-773 (1979); The American Statistician 37 (1983) 242:
//     d = mean_b - mean_a                    mean = mean_a + d n_b / n
//     n = n_a + n_b                          squares = squares_a + squares_b + d^2 n_a n_b / n
// The mean is mean + rest, unevaluated: `mean` is the first value, or the mean of the first few, and stays
// as it is. Two of these differ by no more than values do, so that their difference, and with it every
// rest, is rounded in proportion to deviations: no digits are lost, however far from zero values are.
template <class T> struct kiln_moments {
    typedef T value_type;
    T count, mean, rest, squares;
};
// Which share of a set one part of it is, of floats an approximate reciprocal and one step of Newton's,
// which leaves the last bit in doubt: a third of a division's instructions.
KILN_FN double kiln_moments_share(double part, double whole) { return part / whole; }
KILN_FN float kiln_moments_share(float part, float whole)
{
    const float inverse = __fdividef(1.0f, whole), share = part * inverse;
    return share + (part - share * whole) * inverse;
}
template <class T> KILN_FN kiln_moments<T> kiln_moments_none()
{
    return kiln_moments<T>();
}
template <class T> KILN_FN kiln_moments<T> kiln_moments_of(T value)
{
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(1);
    m.mean = value;
    return m;
}
// Of a value that may be NaN: none then.
template <class T> KILN_FN kiln_moments<T> kiln_moments_of_number(T value)
{
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(value == value);
    m.mean = value == value ? value : T(0);
    return m;
}
// What is to be added to `pivot` for the mean of two sets, of which one is a and its rest, the other b and
// b_rest. A mean that is infinite stays so, and two opposite ones have no mean: NaN, as their sum is.
template <class T> KILN_FN T kiln_moments_rest(T pivot, T rest, T step, T a, T b, T b_rest)
{
    const T moved = rest + step, mean = pivot + moved;
    return mean == mean ? moved : (a + b) + (rest + b_rest);
}
// n_a n_b / n comes first: 0 for an empty set, whatever the other's values are.
template <class T>
KILN_FN kiln_moments<T> kiln_moments_merge(kiln_moments<T> a, kiln_moments<T> b)
{
    const T count = a.count + b.count, pivot = a.count > T(0) ? a.mean : b.mean;
    const T d = (b.mean - pivot) + (b.rest - a.rest);
    const T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    a.squares = a.squares + b.squares + d * (a.count * share) * d;
    a.rest = kiln_moments_rest(pivot, a.rest, d * share, a.mean, b.mean, b.rest);
    a.mean = pivot;
    a.count = count;
    return a;
}
template <class T> KILN_FN T kiln_moments_mean(kiln_moments<T> m) { return m.mean + m.rest; }
// Infinities among the values leave the mean without a meaning, and with it the deviations: NaN. A sum
// that overflowed is infinite, and what was added to it later made it NaN. Divided by n, or by 0 where n
// is negative, as NumPy does for more degrees of freedom than values.
template <class T> KILN_FN T kiln_moments_deviation(T sum, T mean, double n)
{
    return ((sum == sum ? sum : T(INFINITY)) + (mean - mean)) / T(n > 0 ? n : 0);
}
template <class T> KILN_FN T kiln_moments_variance(kiln_moments<T> m, double n)
{
    return kiln_moments_deviation(m.squares, kiln_moments_mean(m), n);
}

//% section moments_result on cuda needs moments when kiln_moments_var kiln_moments_std
// moments_result (CUDA): variance and standard deviation that become a value of type R. For a 16-bit one
// a product with 1 / n and the machine's square root do, each of which is off by 2^-22 of itself at most;
// for others quotient and root are correctly rounded.
template <class R, class T, class N> KILN_FN T kiln_moments_var(kiln_moments<T> m, N n)
{
    if constexpr (sizeof(R) > 2 || sizeof(T) > 4) {
        return kiln_moments_variance(m, n);
    } else {
        const T each = T(1) / T(n > 0 ? n : 0), mean = kiln_moments_mean(m);
        return ((m.squares == m.squares ? m.squares : T(INFINITY)) + (mean - mean)) * each;
    }
}
template <class R, class T, class N> KILN_FN T kiln_moments_std(kiln_moments<T> m, N n)
{
    const T variance = kiln_moments_var<R>(m, n);
    if constexpr (sizeof(R) > 2 || sizeof(T) > 4) {
        return sqrt(variance);
    } else {
        T root;
        asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(variance));
        return root;
    }
}

//% section complex_moments on cuda needs moments
//% when kiln_complex_moments kiln_complex_moments_of kiln_complex_moments_of_number
// complex_moments (CUDA): as moments, for complex values; the squares are those of both parts together.
template <class T> struct kiln_complex_moments {
    T count, mean_re, rest_re, mean_im, rest_im, squares;
};
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_none()
{
    return kiln_complex_moments<T>();
}
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_of(T re, T im)
{
    kiln_complex_moments<T> m = kiln_complex_moments_none<T>();
    m.count = T(1);
    m.mean_re = re;
    m.mean_im = im;
    return m;
}
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_of_number(T re, T im)
{
    return re == re && im == im ? kiln_complex_moments_of(re, im) : kiln_complex_moments_none<T>();
}
template <class T>
KILN_FN kiln_complex_moments<T> kiln_complex_moments_merge(kiln_complex_moments<T> a,
                                                           kiln_complex_moments<T> b)
{
    const T count = a.count + b.count;
    const T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    const T weight = a.count * share;
    const T pivot_re = a.count > T(0) ? a.mean_re : b.mean_re;
    const T pivot_im = a.count > T(0) ? a.mean_im : b.mean_im;
    const T re = (b.mean_re - pivot_re) + (b.rest_re - a.rest_re);
    const T im = (b.mean_im - pivot_im) + (b.rest_im - a.rest_im);
    a.squares = a.squares + b.squares + (re * weight * re + im * weight * im);
    a.rest_re = kiln_moments_rest(pivot_re, a.rest_re, re * share, a.mean_re, b.mean_re, b.rest_re);
    a.rest_im = kiln_moments_rest(pivot_im, a.rest_im, im * share, a.mean_im, b.mean_im, b.rest_im);
    a.mean_re = pivot_re;
    a.mean_im = pivot_im;
    a.count = count;
    return a;
}
template <class T> KILN_FN T kiln_complex_moments_re(kiln_complex_moments<T> m)
{
    return m.mean_re + m.rest_re;
}
template <class T> KILN_FN T kiln_complex_moments_im(kiln_complex_moments<T> m)
{
    return m.mean_im + m.rest_im;
}
template <class T> KILN_FN T kiln_complex_moments_variance(kiln_complex_moments<T> m, double n)
{
    const T re = kiln_complex_moments_re(m), im = kiln_complex_moments_im(m);
    return kiln_moments_deviation(m.squares, (re - re) + (im - im), n);
}

//% section moments_pairs on cpu needs INFINITY
// moments (CPU): as on CUDA, but few threads merge many sets. The mean is mean + mean_rest and the sum is
// squares + squares_rest, unevaluated: what each addition rounds away goes to the rest and takes part in the
// next one, so errors do not grow with the number of merges, nor with the distance of the values from zero.
// Where the summand is greater than the sum, the rest is off by a rounding error of the summand, which may
// have one of its own anyway.
template <class T> struct kiln_moments {
    typedef T value_type;
    T count, mean, mean_rest, squares, squares_rest;
    T pad[3]; // eight numbers, for compilers put those into vectors
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
// Of a value that may be NaN: none then.
template <class T> KILN_FN kiln_moments<T> kiln_moments_of_number(T value)
{
    kiln_moments<T> m = kiln_moments_none<T>();
    m.count = T(value == value);
    m.mean = value == value ? value : T(0);
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
    a.mean = a.count > T(0) ? a.mean : b.mean; // none begin where the others are
    T count = a.count + b.count, gap = b.mean - a.mean, rest = b.mean_rest - a.mean_rest;
    T share = b.count / (count > T(0) ? count : T(1));
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

//% section moments on cpu needs moments_pairs
//% when kiln_moments kiln_moments_of kiln_moments_of_number
// moments (CPU): those of floats are brought together in double, which needs no rests.
template <> struct kiln_moments<float> {
    typedef float value_type;
    double count, mean, squares;
};
template <> inline __attribute__((always_inline)) kiln_moments<float> kiln_moments_none<float>()
{
    kiln_moments<float> m;
    m.count = m.mean = m.squares = 0;
    return m;
}
template <> inline __attribute__((always_inline)) kiln_moments<float> kiln_moments_of<float>(float value)
{
    kiln_moments<float> m = kiln_moments_none<float>();
    m.count = 1;
    m.mean = value;
    return m;
}
KILN_FN kiln_moments<float> kiln_moments_merge(kiln_moments<float> a, kiln_moments<float> b)
{
    const double count = a.count + b.count, d = b.mean - a.mean, sum = a.mean + b.mean;
    const double share = b.count / (count > 0 ? count : 1), mean = a.mean + d * share;
    a.squares = a.squares + b.squares + d * (a.count * share) * d;
    a.mean = mean == mean ? mean : sum;
    a.count = count;
    return a;
}
KILN_FN void kiln_moments_shift(kiln_moments<float> &m, float rest) { m.mean += rest; }
KILN_FN double kiln_moments_mean(kiln_moments<float> m) { return m.mean; }
KILN_FN double kiln_moments_variance(kiln_moments<float> m, double n)
{
    return (m.squares + (m.mean - m.mean)) / (n > 0 ? n : 0);
}

//% section moments_result on cpu needs moments sqrt when kiln_moments_var kiln_moments_std
// moments_result (CPU): variance and standard deviation that become a value of type R.
template <class R, class T> KILN_FN auto kiln_moments_var(kiln_moments<T> m, double n)
{
    return kiln_moments_variance(m, n);
}
template <class R, class T> KILN_FN auto kiln_moments_std(kiln_moments<T> m, double n)
{
    return sqrt(kiln_moments_variance(m, n));
}

//% section complex_pairs on cpu needs moments
// complex_moments (CPU): as moments, for complex values; the squares are those of both parts together.
template <class T> struct kiln_complex_moments {
    T count, mean_re, rest_re, mean_im, rest_im, squares, squares_rest;
    T pad[1];
};
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_none()
{
    kiln_complex_moments<T> m;
    m.count = m.mean_re = m.rest_re = m.mean_im = m.rest_im = m.squares = m.squares_rest = T(0);
    return m;
}
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_of(T re, T im)
{
    kiln_complex_moments<T> m = kiln_complex_moments_none<T>();
    m.count = T(1);
    m.mean_re = re;
    m.mean_im = im;
    return m;
}
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_of_number(T re, T im)
{
    return re == re && im == im ? kiln_complex_moments_of(re, im) : kiln_complex_moments_none<T>();
}
template <class T>
KILN_FN kiln_complex_moments<T> kiln_complex_moments_merge(kiln_complex_moments<T> a,
                                                           kiln_complex_moments<T> b)
{
    a.mean_re = a.count > T(0) ? a.mean_re : b.mean_re;
    a.mean_im = a.count > T(0) ? a.mean_im : b.mean_im;
    T count = a.count + b.count;
    T re = b.mean_re - a.mean_re, rest_re = b.rest_re - a.rest_re;
    T im = b.mean_im - a.mean_im, rest_im = b.rest_im - a.rest_im;
    T share = b.count / (count > T(0) ? count : T(1));
    T weight = a.count * share;
    T square = re * weight * (re + 2 * rest_re) + im * weight * (im + 2 * rest_im);
    kiln_moments_add(a.squares, a.squares_rest,
                     square + (a.squares_rest + b.squares_rest + b.squares));
    kiln_moments_move(a.mean_re, a.rest_re, (re + rest_re) * share + a.rest_re, b.mean_re);
    kiln_moments_move(a.mean_im, a.rest_im, (im + rest_im) * share + a.rest_im, b.mean_im);
    a.count = count;
    return a;
}
template <class T> KILN_FN T kiln_complex_moments_re(kiln_complex_moments<T> m)
{
    const T mean = m.mean_re + m.rest_re;
    return mean == mean ? mean : m.mean_re;
}
template <class T> KILN_FN T kiln_complex_moments_im(kiln_complex_moments<T> m)
{
    const T mean = m.mean_im + m.rest_im;
    return mean == mean ? mean : m.mean_im;
}
template <class T> KILN_FN T kiln_complex_moments_variance(kiln_complex_moments<T> m, double n)
{
    const T means = (m.mean_re - m.mean_re) + (m.mean_im - m.mean_im);
    return kiln_moments_deviation(m.squares, m.squares_rest, means, n);
}

//% section complex_moments on cpu needs complex_pairs
//% when kiln_complex_moments kiln_complex_moments_of kiln_complex_moments_of_number
// complex_moments (CPU): those of floats are brought together in double, which needs no rests.
template <> struct kiln_complex_moments<float> {
    double count, mean_re, mean_im, squares;
};
template <> inline __attribute__((always_inline))
kiln_complex_moments<float> kiln_complex_moments_none<float>()
{
    kiln_complex_moments<float> m;
    m.count = m.mean_re = m.mean_im = m.squares = 0;
    return m;
}
template <> inline __attribute__((always_inline))
kiln_complex_moments<float> kiln_complex_moments_of<float>(float re, float im)
{
    kiln_complex_moments<float> m;
    m.count = 1;
    m.mean_re = re;
    m.mean_im = im;
    m.squares = 0;
    return m;
}
KILN_FN kiln_complex_moments<float> kiln_complex_moments_merge(kiln_complex_moments<float> a,
                                                               kiln_complex_moments<float> b)
{
    const double count = a.count + b.count, re = b.mean_re - a.mean_re, im = b.mean_im - a.mean_im;
    const double share = b.count / (count > 0 ? count : 1), weight = a.count * share;
    const double sum_re = a.mean_re + b.mean_re, sum_im = a.mean_im + b.mean_im;
    a.squares = a.squares + b.squares + (re * weight * re + im * weight * im);
    a.mean_re += re * share;
    a.mean_im += im * share;
    a.mean_re = a.mean_re == a.mean_re ? a.mean_re : sum_re;
    a.mean_im = a.mean_im == a.mean_im ? a.mean_im : sum_im;
    a.count = count;
    return a;
}
KILN_FN double kiln_complex_moments_re(kiln_complex_moments<float> m) { return m.mean_re; }
KILN_FN double kiln_complex_moments_im(kiln_complex_moments<float> m) { return m.mean_im; }
KILN_FN double kiln_complex_moments_variance(kiln_complex_moments<float> m, double n)
{
    return (m.squares + (m.mean_re - m.mean_re) + (m.mean_im - m.mean_im)) / (n > 0 ? n : 0);
}

//% section counted when kiln_counted kiln_counted_of
// counted: a sum and how many values went into it, what nanmean accumulates.
template <class T> struct kiln_counted {
    T sum;
    long long count;
};
template <class T> KILN_FN kiln_counted<T> kiln_counted_of(T value, bool counts)
{
    kiln_counted<T> c;
    c.sum = counts ? value : T(0);
    c.count = counts ? 1 : 0;
    return c;
}
template <class T> KILN_FN kiln_counted<T> kiln_counted_add(kiln_counted<T> a, kiln_counted<T> b)
{
    a.sum = a.sum + b.sum;
    a.count += b.count;
    return a;
}
