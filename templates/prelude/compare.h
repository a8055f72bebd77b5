//# Not __builtin_signbit: next to a vector function, GCC 12 ends in an internal error over it.
//% for x | test
//% | isnan | x != x
//% | isinf | __builtin_isinf(x) != 0
//% | isfinite | __builtin_isfinite(x) != 0
//% | signbit | __builtin_copysign(1.0, x) < 0
//% section ${x} on cpu needs tests when ${x}
KILN__TEST(${x}, ${test})
//% section ${x} needs math when ${x}
KILN__MATH1_TO(bool, ${x})
//% end

//% section abs_all on cpu needs libm when abs
// abs (CPU): for the types that C++ has it for. Templates, so that a header's own go first.
extern "C" int abs(int) noexcept;
template <class T> KILN_FN typename kiln__is<T, long>::type abs(T x) { return x < 0 ? -x : x; }
template <class T> KILN_FN typename kiln__is<T, long long>::type abs(T x) { return x < 0 ? -x : x; }
template <class T> KILN_FN typename kiln__is<T, float>::type abs(T x) { return __builtin_fabsf(x); }
template <class T> KILN_FN typename kiln__is<T, double>::type abs(T x) { return __builtin_fabs(x); }

//% section abs_unsigned when abs
// abs of what has no sign.
KILN_FN unsigned int abs(unsigned int x) { return x; }
KILN_FN unsigned long abs(unsigned long x) { return x; }
KILN_FN unsigned long long abs(unsigned long long x) { return x; }

//% section abs needs math when abs
KILN__MATH1_HALF(abs)

//% section labs on cpu when labs
extern "C" long labs(long) noexcept;

//% section llabs on cpu when llabs
extern "C" long long llabs(long long) noexcept;

//% section minmax_all on cpu when min max umin umax llmin llmax ullmin ullmax
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

//% section minmax needs traits when min max
// minmax: min and max of two different types, compared in the type that arithmetic gives them.
#define KILN__MINMAX(f)                                                                            \
    template <class A, class B, class M = typename kiln__math<decltype(A() + B())>::wide>          \
    KILN_FN typename kiln__either<A, B>::type f(A a, B b)                                          \
    {                                                                                              \
        typedef typename kiln__either<A, B>::type R;                                               \
        typedef typename kiln__order<R>::wide W;                                                   \
        return R(f(W(a), W(b)));                                                                   \
    }
KILN__MINMAX(min)
KILN__MINMAX(max)

//% section minmax_names on cpu when umin umax llmin llmax ullmin ullmax
// minmax_names (CPU): min and max with the type in the name.
KILN_FN unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
KILN_FN unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
KILN_FN long long llmin(long long a, long long b) { return min(a, b); }
KILN_FN long long llmax(long long a, long long b) { return max(a, b); }
KILN_FN unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
KILN_FN unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
