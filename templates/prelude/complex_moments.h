// complex_moments: as moments, for complex values; the squares are those of both parts together.
template <class T> struct kiln_complex_moments {
    T count, mean_re, mean_im, squares;
};
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_none()
{
    kiln_complex_moments<T> m;
    m.count = m.mean_re = m.mean_im = m.squares = T(0);
    return m;
}
template <class T> KILN_FN kiln_complex_moments<T> kiln_complex_moments_of(T re, T im)
{
    kiln_complex_moments<T> m;
    m.count = T(1);
    m.mean_re = re;
    m.mean_im = im;
    m.squares = T(0);
    return m;
}
template <class T>
KILN_FN kiln_complex_moments<T> kiln_complex_moments_merge(kiln_complex_moments<T> a,
                                                           kiln_complex_moments<T> b)
{
    T count = a.count + b.count, re = b.mean_re - a.mean_re, im = b.mean_im - a.mean_im;
    T share = kiln_moments_share(b.count, count > T(0) ? count : T(1));
    T weight = a.count * share;
    a.squares = a.squares + b.squares + (re * weight * re + im * weight * im);
    a.mean_re = kiln_moments_mean(a.mean_re, b.mean_re, re, share);
    a.mean_im = kiln_moments_mean(a.mean_im, b.mean_im, im, share);
    a.count = count;
    return a;
}
template <class T> KILN_FN T kiln_complex_moments_variance(kiln_complex_moments<T> m, double n)
{
    return (m.squares + (m.mean_re - m.mean_re) + (m.mean_im - m.mean_im)) / T(n > 0 ? n : 0);
}
