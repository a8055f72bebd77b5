// sincos (CPU): both at once, as two calls, which have vector variants.
KILN_FN void sincos(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
KILN_FN void sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
KILN_FN void __sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
KILN_FN void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
