// norms (CPU): lengths of vectors of three and four numbers, and reciprocals of lengths.
#define KILN__NORMS(T, hypot)                                                                      \
    KILN_FN T norm3d(T a, T b, T c) { return hypot(hypot(a, b), c); }                              \
    KILN_FN T norm4d(T a, T b, T c, T d) { return hypot(hypot(a, b), hypot(c, d)); }               \
    KILN_FN T rhypot(T a, T b) { return T(1) / hypot(a, b); }                                      \
    KILN_FN T rnorm3d(T a, T b, T c) { return T(1) / norm3d(a, b, c); }                            \
    KILN_FN T rnorm4d(T a, T b, T c, T d) { return T(1) / norm4d(a, b, c, d); }
KILN__NORMS(float, hypotf)
KILN__NORMS(double, hypot)
KILN_FN float norm3df(float a, float b, float c) { return norm3d(a, b, c); }
KILN_FN float norm4df(float a, float b, float c, float d) { return norm4d(a, b, c, d); }
KILN_FN float rhypotf(float a, float b) { return rhypot(a, b); }
KILN_FN float rnorm3df(float a, float b, float c) { return rnorm3d(a, b, c); }
KILN_FN float rnorm4df(float a, float b, float c, float d) { return rnorm4d(a, b, c, d); }
