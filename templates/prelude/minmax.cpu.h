// minmax (CPU): as CUDA's, a NaN gives way to a number. The form is one that compilers turn into
// vector minima and maxima.
#define KILN__MINMAX_INT(T)                                                                        \
    KILN_FN T min(T a, T b) { return b < a ? b : a; }                                              \
    KILN_FN T max(T a, T b) { return a < b ? b : a; }
KILN__MINMAX_INT(int)
KILN__MINMAX_INT(unsigned int)
KILN__MINMAX_INT(long)
KILN__MINMAX_INT(unsigned long)
KILN__MINMAX_INT(long long)
KILN__MINMAX_INT(unsigned long long)
#define KILN__MINMAX_FLOAT(T, min, max)                                                            \
    KILN_FN T min(T a, T b) { T least = a < b ? a : b; return b != b ? a : least; }                \
    KILN_FN T max(T a, T b) { T most = a > b ? a : b; return b != b ? a : most; }
KILN__MINMAX_FLOAT(float, min, max)
KILN__MINMAX_FLOAT(double, min, max)
