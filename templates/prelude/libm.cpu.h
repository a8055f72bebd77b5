// libm (CPU): the C library's functions, declared as its header does, and overloads for float.
// With glibc on x86-64, gcc calls vector variants of them from a loop: six are old, most of the
// others came with glibc 2.35; the flags that we pass tell which are there.
#if defined(__x86_64__) && !defined(__clang__) && defined(KILN_LIBMVEC_FULL)
#define KILN__SIMD_NEW __attribute__((simd("notinbranch"), const))
#define KILN__SIMD KILN__SIMD_NEW
#elif defined(__x86_64__) && !defined(__clang__) && defined(KILN_LIBMVEC)
#define KILN__SIMD_NEW __attribute__((const))
#define KILN__SIMD __attribute__((simd("notinbranch"), const))
#else
#define KILN__SIMD_NEW __attribute__((const))
#define KILN__SIMD KILN__SIMD_NEW
#endif
#define KILN__PURE __attribute__((const))
#define KILN__LIBM1(how, T, f) extern "C" how T f(T) noexcept;
#define KILN__LIBM2(how, T, f) extern "C" how T f(T, T) noexcept;
#define KILN__LIBM3(how, T, f) extern "C" how T f(T, T, T) noexcept;
#define KILN__LIBM1_TO(R, T, f) extern "C" KILN__PURE R f(T) noexcept;
#define KILN__LIBM1_AND(A, T, f) extern "C" KILN__PURE T f(T, A) noexcept;
// Overloads for float are templates: a header that a preamble includes may have the same ones, and
// these then go first.
template <class T, class U, class R = U> struct kiln__is {};
template <class U, class R> struct kiln__is<U, U, R> { typedef R type; };
#define KILN__FLOAT1(g)                                                                            \
    template <class T> KILN_FN typename kiln__is<T, float>::type g(T x) { return g##f(x); }
#define KILN__FLOAT2(g)                                                                            \
    template <class T> KILN_FN typename kiln__is<T, float>::type g(T x, T y) { return g##f(x, y); }
#define KILN__FLOAT3(g)                                                                            \
    template <class T> KILN_FN typename kiln__is<T, float>::type g(T x, T y, T z)                  \
    {                                                                                              \
        return g##f(x, y, z);                                                                      \
    }
#define KILN__FLOAT1_TO(R, g)                                                                      \
    template <class T> KILN_FN typename kiln__is<T, float, R>::type g(T x) { return g##f(x); }
#define KILN__FLOAT1_AND(A, g)                                                                     \
    template <class T> KILN_FN typename kiln__is<T, float>::type g(T x, A y) { return g##f(x, y); }
