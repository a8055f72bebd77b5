// fminmax (CPU): fmin and fmax; a NaN gives way to a number. The form is one that compilers turn
// into vector minima and maxima. Templates, so that a header's own go first.
template <class T> KILN_FN typename kiln__math<T>::real fmin(T a, T b)
{
    T least = a < b ? a : b;
    return b != b ? a : least;
}
template <class T> KILN_FN typename kiln__math<T>::real fmax(T a, T b)
{
    T most = a > b ? a : b;
    return b != b ? a : most;
}
template <class A, class B> KILN_FN float fminf(A a, B b) { return fmin((float)a, (float)b); }
template <class A, class B> KILN_FN float fmaxf(A a, B b) { return fmax((float)a, (float)b); }
