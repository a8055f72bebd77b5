// abs (CPU): for the types that C++ has it for. Templates, so that a header's own go first.
extern "C" int abs(int) noexcept;
template <class T> KILN_FN typename kiln__is<T, long>::type abs(T x) { return x < 0 ? -x : x; }
template <class T> KILN_FN typename kiln__is<T, long long>::type abs(T x) { return x < 0 ? -x : x; }
template <class T> KILN_FN typename kiln__is<T, float>::type abs(T x) { return __builtin_fabsf(x); }
template <class T> KILN_FN typename kiln__is<T, double>::type abs(T x) { return __builtin_fabs(x); }
