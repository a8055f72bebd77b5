// sinpi (CPU): sin and cos of pi x. x is brought to at most a quarter exactly, before pi is
// multiplied in; the count of half turns chooses function and sign. Templates, for newer C
// libraries have sinpi and cospi as well.
template <class X, class T> KILN_FN void sincospi(X v, typename kiln__math<T>::real *s, T *c)
{
    T x = (T)v, turn = x - T(2) * trunc(T(0.5) * x), half = rint(T(2) * turn);
    T angle = T(3.14159265358979323846) * (turn - T(0.5) * half);
    T sine = sin(angle), cosine = cos(angle);
    int q = (int)half & 3;
    T s0 = q & 1 ? cosine : sine, c0 = q & 1 ? sine : cosine;
    s0 = q & 2 ? -s0 : s0;
    *s = s0 == T(0) ? copysign(T(0), x) : s0;
    c0 = (q + 1) & 2 ? -c0 : c0;
    *c = c0 == T(0) ? T(0) : c0;
}
template <class T> KILN_FN typename kiln__math<T>::real sinpi(T x)
{
    T s, c;
    sincospi(x, &s, &c);
    return s;
}
template <class T> KILN_FN typename kiln__math<T>::real cospi(T x)
{
    T s, c;
    sincospi(x, &s, &c);
    return c;
}
template <class T> KILN_FN float sinpif(T x) { return sinpi((float)x); }
template <class T> KILN_FN float cospif(T x) { return cospi((float)x); }
template <class T> KILN_FN void sincospif(T x, float *s, float *c) { sincospi((float)x, s, c); }
