// libm_parts (CPU): functions of the C library with two results.
extern "C" float frexpf(float, int *) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float remquof(float, float, int *) noexcept;
extern "C" double remquo(double, double, int *) noexcept;
KILN_FN float frexp(float x, int *exponent) { return frexpf(x, exponent); }
KILN_FN float modf(float x, float *whole) { return modff(x, whole); }
KILN_FN float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }
