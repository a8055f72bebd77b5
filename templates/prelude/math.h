//% section libm on cpu
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

//% section math needs traits
// math: makes a built-in function take integers too (they count as double, unless a float stands
// beside them) and the 16-bit floats (which count as float). <cmath> has templates for integers as
// well, and std:: brings both into one call: arguments that are none (`No`) make these ones less
// special, so that the header's go first.
template <class R, class Other> struct kiln__other { typedef R type; };
#define KILN__MATH1(f)                                                                             \
    template <class T, class... No> KILN_FN typename kiln__math<T, No...>::other f(T x, No...)     \
    {                                                                                              \
        return typename kiln__math<T>::other(f(typename kiln__math<T>::wide(x)));                  \
    }
// For the 16-bit floats alone, where integers have functions of their own.
#define KILN__MATH1_HALF(f)                                                                        \
    template <class T> KILN_FN typename kiln__math<T>::half f(T x)                                 \
    {                                                                                              \
        return typename kiln__math<T>::half(f(float(x)));                                          \
    }
// With a result of its own, and with one more argument.
#define KILN__MATH1_TO(R, f)                                                                       \
    template <class T, class... No>                                                                \
    KILN_FN typename kiln__other<R, typename kiln__math<T, No...>::other>::type f(T x, No...)      \
    {                                                                                              \
        return f(typename kiln__math<T>::wide(x));                                                 \
    }
#define KILN__MATH1_AND(f, A)                                                                      \
    template <class T, class... No>                                                                \
    KILN_FN typename kiln__math<T, No...>::other f(T x, A y, No...)                                \
    {                                                                                              \
        return typename kiln__math<T>::other(f(typename kiln__math<T>::wide(x), y));               \
    }
#define KILN__MATH2(f)                                                                             \
    template <class A, class B, class... No>                                                       \
    KILN_FN typename kiln__math<decltype(A() + B()), No...>::result f(A a, B b, No...)             \
    {                                                                                              \
        typedef kiln__math<decltype(A() + B())> M;                                                 \
        return typename M::result(f(typename M::wide(a), typename M::wide(b)));                    \
    }
#define KILN__MATH3(f)                                                                             \
    template <class A, class B, class C, class... No>                                              \
    KILN_FN typename kiln__math<decltype(A() + B() + C()), No...>::result f(A a, B b, C c, No...)  \
    {                                                                                              \
        typedef kiln__math<decltype(A() + B() + C())> M;                                           \
        typedef typename M::wide W;                                                                \
        return typename M::result(f(W(a), W(b), W(c)));                                            \
    }

//# x: the function of doubles; ${x}f: that of floats. `how` tells of vector variants in libmvec.
//% for x | how
//% | sin | KILN__SIMD
//% | cos | KILN__SIMD
//% | exp | KILN__SIMD
//% | log | KILN__SIMD
//% | tan | KILN__SIMD_NEW
//% | asin | KILN__SIMD_NEW
//% | acos | KILN__SIMD_NEW
//% | atan | KILN__SIMD_NEW
//% | sinh | KILN__SIMD_NEW
//% | cosh | KILN__SIMD_NEW
//% | tanh | KILN__SIMD_NEW
//% | asinh | KILN__SIMD_NEW
//% | acosh | KILN__SIMD_NEW
//% | atanh | KILN__SIMD_NEW
//% | exp2 | KILN__SIMD_NEW
//% | exp10 | KILN__SIMD_NEW
//% | expm1 | KILN__SIMD_NEW
//% | log2 | KILN__SIMD_NEW
//% | log10 | KILN__SIMD_NEW
//% | log1p | KILN__SIMD_NEW
//% | cbrt | KILN__SIMD_NEW
//% | erf | KILN__SIMD_NEW
//% | erfc | KILN__SIMD_NEW
//% | sqrt | KILN__PURE
//% | tgamma |
//% | lgamma |
//% | j0 | KILN__PURE
//% | j1 | KILN__PURE
//% | y0 | KILN__PURE
//% | y1 | KILN__PURE
//% | floor | KILN__PURE
//% | ceil | KILN__PURE
//% | round | KILN__PURE
//% | trunc | KILN__PURE
//% | rint | KILN__PURE
//% | nearbyint | KILN__PURE
//% | fabs | KILN__PURE
//% | logb | KILN__PURE
//% section ${x}f on cpu needs libm when ${x}f
KILN__LIBM1(${how}, float, ${x}f)
//% section ${x} on cpu needs math ${x}f when ${x}
KILN__LIBM1(${how}, double, ${x}) KILN__FLOAT1(${x}) KILN__MATH1(${x})
//% section ${x} on cuda needs math when ${x}
KILN__MATH1(${x})
//% end

//% for x | how
//% | pow | KILN__SIMD
//% | atan2 | KILN__SIMD_NEW
//% | hypot | KILN__SIMD_NEW
//% | fmod | KILN__PURE
//% | remainder | KILN__PURE
//% | fdim | KILN__PURE
//% | copysign | KILN__PURE
//% | nextafter | KILN__PURE
//% section ${x}f on cpu needs libm when ${x}f
KILN__LIBM2(${how}, float, ${x}f)
//% section ${x} on cpu needs math ${x}f when ${x}
KILN__LIBM2(${how}, double, ${x}) KILN__FLOAT2(${x}) KILN__MATH2(${x})
//% section ${x} on cuda needs math when ${x}
KILN__MATH2(${x})
//% end

//% for x | R
//% | ilogb | int
//% | lround | long
//% | llround | long long
//% | lrint | long
//% | llrint | long long
//% section ${x}f on cpu needs libm when ${x}f
KILN__LIBM1_TO(${R}, float, ${x}f)
//% section ${x} on cpu needs math ${x}f when ${x}
KILN__LIBM1_TO(${R}, double, ${x}) KILN__FLOAT1_TO(${R}, ${x}) KILN__MATH1_TO(${R}, ${x})
//% section ${x} on cuda needs math when ${x}
KILN__MATH1_TO(${R}, ${x})
//% end

//% for x | A
//% | ldexp | int
//% | scalbn | int
//% | scalbln | long
//% section ${x}f on cpu needs libm when ${x}f
KILN__LIBM1_AND(${A}, float, ${x}f)
//% section ${x} on cpu needs math ${x}f when ${x}
KILN__LIBM1_AND(${A}, double, ${x}) KILN__FLOAT1_AND(${A}, ${x}) KILN__MATH1_AND(${x}, ${A})
//% section ${x} on cuda needs math when ${x}
KILN__MATH1_AND(${x}, ${A})
//% end

//% section fmaf on cpu needs libm when fmaf
KILN__LIBM3(KILN__PURE, float, fmaf)

//% section fma on cpu needs math fmaf when fma
KILN__LIBM3(KILN__PURE, double, fma) KILN__FLOAT3(fma) KILN__MATH3(fma)

//% section fma on cuda needs math when fma
KILN__MATH3(fma)

//% section fminmax on cpu needs traits when fmin fmax fminf fmaxf
// fminmax (CPU): fmin and fmax; a NaN gives way to a number. The form is one that compilers turn
// into vector minima and maxima. Templates, so that a header's own go first.
template <class T> KILN_FN typename kiln__math<T>::real fmin(T a, T b)
{
    T least = a < b ? a : b;
    return b != b ? a : least;
}
template <class T> KILN_FN typename kiln__math<T>::real fmax(T a, T b)
{
    T most = a > b ? a : b;
    return b != b ? a : most;
}
template <class A, class B> KILN_FN float fminf(A a, B b) { return fmin((float)a, (float)b); }
template <class A, class B> KILN_FN float fmaxf(A a, B b) { return fmax((float)a, (float)b); }

//% section fmin needs math when fmin
KILN__MATH2(fmin)

//% section fmax needs math when fmax
KILN__MATH2(fmax)

//% section nan on cpu when nan nanf
extern "C" double nan(const char *) noexcept; extern "C" float nanf(const char *) noexcept;

//% section libm_parts on cpu needs libm when frexp frexpf modf modff remquo remquof
// libm_parts (CPU): functions of the C library with two results.
extern "C" float frexpf(float, int *) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float remquof(float, float, int *) noexcept;
extern "C" double remquo(double, double, int *) noexcept;
template <class T> KILN_FN typename kiln__is<T, float>::type frexp(T x, int *exponent)
{
    return frexpf(x, exponent);
}
template <class T> KILN_FN typename kiln__is<T, float>::type modf(T x, float *whole)
{
    return modff(x, whole);
}
template <class T> KILN_FN typename kiln__is<T, float>::type remquo(T x, T y, int *quotient)
{
    return remquof(x, y, quotient);
}

//% section bessel on cpu needs libm when jn jnf yn ynf
// bessel (CPU): Bessel functions of any order.
extern "C" float jnf(int, float) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" float ynf(int, float) noexcept;
extern "C" double yn(int, double) noexcept;
template <class T> KILN_FN typename kiln__is<T, float>::type jn(int n, T x) { return jnf(n, x); }
template <class T> KILN_FN typename kiln__is<T, float>::type yn(int n, T x) { return ynf(n, x); }
