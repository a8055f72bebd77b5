// bessel (CPU): Bessel functions of any order.
extern "C" float jnf(int, float) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" float ynf(int, float) noexcept;
extern "C" double yn(int, double) noexcept;
KILN_FN float jn(int n, float x) { return jnf(n, x); }
KILN_FN float yn(int n, float x) { return ynf(n, x); }
