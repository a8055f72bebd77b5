// rsqrt (CPU): reciprocals of roots. Templates, for newer C libraries have rsqrt as well.
template <class T> KILN_FN typename kiln__is<T, float>::type rsqrt(T x)
{
    return 1.0f / __builtin_sqrtf(x);
}
template <class T> KILN_FN typename kiln__is<T, double>::type rsqrt(T x)
{
    return 1.0 / __builtin_sqrt(x);
}
template <class T> KILN_FN float rsqrtf(T x) { return 1.0f / __builtin_sqrtf((float)x); }
