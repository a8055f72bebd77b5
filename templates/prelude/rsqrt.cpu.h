// rsqrt (CPU): reciprocals of roots.
KILN_FN float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
KILN_FN float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
KILN_FN double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
