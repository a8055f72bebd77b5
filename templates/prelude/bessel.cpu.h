// bessel (CPU): Bessel functions of any order.
extern "C" float jnf(int, float) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" float ynf(int, float) noexcept;
extern "C" double yn(int, double) noexcept;
template <class T> KILN_FN typename kiln__is<T, float>::type jn(int n, T x) { return jnf(n, x); }
template <class T> KILN_FN typename kiln__is<T, float>::type yn(int n, T x) { return ynf(n, x); }
