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
