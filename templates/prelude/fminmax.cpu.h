// fminmax (CPU): fmin and fmax; a NaN gives way to a number. The form is one that compilers turn
// into vector minima and maxima.
#define KILN__FMINMAX(T, fmin, fmax)                                                               \
    KILN_FN T fmin(T a, T b) { T least = a < b ? a : b; return b != b ? a : least; }               \
    KILN_FN T fmax(T a, T b) { T most = a > b ? a : b; return b != b ? a : most; }
KILN__FMINMAX(float, fminf, fmaxf)
KILN__FMINMAX(float, fmin, fmax)
KILN__FMINMAX(double, fmin, fmax)
