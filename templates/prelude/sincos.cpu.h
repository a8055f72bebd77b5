// sincos (CPU): both at once, as two calls, which have vector variants. Where the results go decides
// the type. Templates, so that a header's own go first.
template <class X, class T> KILN_FN void sincos(X x, typename kiln__math<T>::real *s, T *c)
{
    *s = sin((T)x);
    *c = cos((T)x);
}
template <class X> KILN_FN void sincosf(X x, float *s, float *c)
{
    *s = sinf((float)x);
    *c = cosf((float)x);
}
