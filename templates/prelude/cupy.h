//% section thrust needs complex when thrust
namespace thrust { using ::complex; }

//% for x
//% | real imag conj norm abs arg polar proj exp log log10 sqrt pow sin cos tan asin acos atan
//% | sinh cosh tanh asinh acosh atanh
//% section thrust_${x} when @thrust&${x}
namespace thrust { using ::${x}; }
//% end

//% lines
typedef ptrdiff_t IndexT;

//% section cupy_traits when type_traits
// cupy_traits: the few type traits that CuPy's headers have.
namespace cupy
{
namespace type_traits
{
template <bool C, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <class T, class U> struct is_same { static constexpr bool value = false; };
template <class T> struct is_same<T, T> { static constexpr bool value = true; };
} // namespace type_traits
} // namespace cupy

//% section cupy_floor_divide needs floor when _floor_divide
// cupy_floor_divide: CuPy's _floor_divide(): rounded down; an integer by 0 is 0.
template <class A, class B> KILN_FN decltype(A() + B()) _floor_divide(A a, B b)
{
    typedef decltype(A() + B()) R;
    R x = R(a), y = R(b);
    if constexpr ((R)0.5 != (R)0) {
        return floor(x / y);
    } else {
        if (y == R(0))
            return R(0);
        if ((R)-1 < (R)0 && y == (R)-1) // the least integer has no opposite
            return R(0ull - (unsigned long long)x);
        R q = x / y;
        return q - R(q * y != x && (x < R(0)) != (y < R(0)));
    }
}

//% section cucomplex_types on cuda
// cucomplex_types (CUDA): pairs of numbers.
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;

//% section cucomplex_types on cpu needs float1 double1
// cucomplex_types (CPU): pairs of numbers.
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;

//% section cucomplex needs cucomplex_types hypot fabs fma when cuFloatComplex cuDoubleComplex cuComplex !cuComplex.h
// cucomplex: the functions of CUDA's header cuComplex.h, for float (with an f) and double. A quotient is
// scaled by the divisor's parts, so that it overflows only where the result does.
#define CU_COMPLEX_H_
typedef cuFloatComplex cuComplex;
#define KILN__CU_COMPLEX(T, C, name, f)                                                            \
    KILN_FN C make_##name(T x, T y)                                                                \
    {                                                                                              \
        C c;                                                                                       \
        c.x = x;                                                                                   \
        c.y = y;                                                                                   \
        return c;                                                                                  \
    }                                                                                              \
    KILN_FN T cuCreal##f(C a) { return a.x; }                                                      \
    KILN_FN T cuCimag##f(C a) { return a.y; }                                                      \
    KILN_FN T cuCabs##f(C a) { return (T)hypot(a.x, a.y); }                                        \
    KILN_FN C cuConj##f(C a) { return make_##name(a.x, -a.y); }                                    \
    KILN_FN C cuCadd##f(C a, C b) { return make_##name(a.x + b.x, a.y + b.y); }                    \
    KILN_FN C cuCsub##f(C a, C b) { return make_##name(a.x - b.x, a.y - b.y); }                    \
    KILN_FN C cuCmul##f(C a, C b)                                                                  \
    {                                                                                              \
        return make_##name(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                          \
    }                                                                                              \
    KILN_FN C cuCdiv##f(C a, C b)                                                                  \
    {                                                                                              \
        const T s = T(1) / (T)(fabs(b.x) + fabs(b.y));                                             \
        const T ax = a.x * s, ay = a.y * s, bx = b.x * s, by = b.y * s;                            \
        const T d = T(1) / (bx * bx + by * by);                                                    \
        return make_##name((ax * bx + ay * by) * d, (ay * bx - ax * by) * d);                      \
    }                                                                                              \
    KILN_FN C cuCfma##f(C a, C b, C c)                                                             \
    {                                                                                              \
        return make_##name((T)fma(-a.y, b.y, (T)fma(a.x, b.x, c.x)),                               \
                           (T)fma(a.y, b.x, (T)fma(a.x, b.y, c.y)));                               \
    }
KILN__CU_COMPLEX(float, cuFloatComplex, cuFloatComplex, f)
KILN__CU_COMPLEX(double, cuDoubleComplex, cuDoubleComplex, )
#undef KILN__CU_COMPLEX
KILN_FN cuComplex cuCadd(cuComplex a, cuComplex b) { return cuCaddf(a, b); } // as CuPy's complex has them
KILN_FN cuComplex cuCsub(cuComplex a, cuComplex b) { return cuCsubf(a, b); }
KILN_FN cuComplex cuCmul(cuComplex a, cuComplex b) { return cuCmulf(a, b); }
KILN_FN cuComplex cuCdiv(cuComplex a, cuComplex b) { return cuCdivf(a, b); }
KILN_FN cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
KILN_FN cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a)
{
    return make_cuDoubleComplex((double)a.x, (double)a.y);
}
KILN_FN cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a)
{
    return make_cuFloatComplex((float)a.x, (float)a.y);
}
