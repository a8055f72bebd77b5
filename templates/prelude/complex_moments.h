// complex_moments: as moments, for complex values; the squares are those of both parts together.
template <class T> struct kiln_complex_moments {
    T count, mean_re, rest_re, mean_im, rest_im, squares, squares_rest;
    KILN_MOMENTS_PAD(T, 1)
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
template <class T>
KILN_FN kiln_complex_moments<T> kiln_complex_moments_merge(kiln_complex_moments<T> a,
                                                           kiln_complex_moments<T> b)
{
    T count = a.count + b.count;
    T re = b.mean_re - a.mean_re, rest_re = b.rest_re - a.rest_re;
    T im = b.mean_im - a.mean_im, rest_im = b.rest_im - a.rest_im;
    T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
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
