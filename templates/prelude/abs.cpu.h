// abs (CPU): for the types that C++ has it for.
extern "C" int abs(int) noexcept;
KILN_FN long abs(long x) { return x < 0 ? -x : x; }
KILN_FN long long abs(long long x) { return x < 0 ? -x : x; }
KILN_FN float abs(float x) { return __builtin_fabsf(x); }
KILN_FN double abs(double x) { return __builtin_fabs(x); }
