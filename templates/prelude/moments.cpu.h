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
