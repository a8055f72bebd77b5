// sinpi (CPU): sin and cos of pi x. x is brought to at most a quarter exactly, before pi is
// multiplied in; the count of half turns chooses function and sign.
#define KILN__SINPI(T, trunc, rint, sin, cos)                                                      \
    KILN_FN void sincospi(T x, T *s, T *c)                                                         \
    {                                                                                              \
        T turn = x - T(2) * trunc(T(0.5) * x), half = rint(T(2) * turn);                           \
        T angle = T(3.14159265358979323846) * (turn - T(0.5) * half);                              \
        T sine = sin(angle), cosine = cos(angle);                                                  \
        int q = (int)half & 3;                                                                     \
        T s0 = q & 1 ? cosine : sine, c0 = q & 1 ? sine : cosine;                                  \
        s0 = q & 2 ? -s0 : s0;                                                                     \
        *s = s0 == T(0) ? __builtin_copysign(T(0), x) : s0;                                        \
        c0 = (q + 1) & 2 ? -c0 : c0;                                                               \
        *c = c0 == T(0) ? T(0) : c0;                                                               \
    }                                                                                              \
    KILN_FN T sinpi(T x) { T s, c; sincospi(x, &s, &c); return s; }                                \
    KILN_FN T cospi(T x) { T s, c; sincospi(x, &s, &c); return c; }
KILN__SINPI(float, __builtin_truncf, __builtin_rintf, sinf, cosf)
KILN__SINPI(double, __builtin_trunc, __builtin_rint, sin, cos)
KILN_FN float sinpif(float x) { return sinpi(x); }
KILN_FN float cospif(float x) { return cospi(x); }
KILN_FN void sincospif(float x, float *s, float *c) { sincospi(x, s, c); }
