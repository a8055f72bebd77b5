// libm_parts (CPU): functions of the C library with two results.
extern "C" float frexpf(float, int *) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float remquof(float, float, int *) noexcept;
extern "C" double remquo(double, double, int *) noexcept;
template <class T> KILN_FN typename kiln__is<T, float>::type frexp(T x, int *exponent)
{
    return frexpf(x, exponent);
}
template <class T> KILN_FN typename kiln__is<T, float>::type modf(T x, float *whole)
{
    return modff(x, whole);
}
template <class T> KILN_FN typename kiln__is<T, float>::type remquo(T x, T y, int *quotient)
{
    return remquof(x, y, quotient);
}
