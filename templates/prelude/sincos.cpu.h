// sincos (CPU): both at once, as two calls, which have vector variants. Templates, so that a
// header's own go first.
template <class T> KILN_FN void sincos(T x, typename kiln__math<T>::real *s, T *c)
{
    *s = sin(x);
    *c = cos(x);
}
template <class T> KILN_FN void sincosf(T x, float *s, float *c)
{
    *s = sinf((float)x);
    *c = cosf((float)x);
}
