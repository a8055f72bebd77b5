//# Macros, for the C library declares some of these names without having the functions.
//% for x | y
//% | __expf | expf
//% | __exp10f | exp10f
//% | __logf | logf
//% | __log2f | log2f
//% | __log10f | log10f
//% | __sinf | sinf
//% | __cosf | cosf
//% | __tanf | tanf
//% | __tanhf | tanhf
//% section ${x} needs ${y} when ${x}
#define ${x}(x) ${y}(x)
//% end

//% section __powf needs powf when __powf
#define __powf(x, y) powf(x, y)

//% section __sincosf needs sincos when __sincosf
#define __sincosf(x, s, c) sincosf(x, s, c)

//% section rounded
// rounded (CPU): a value that is rounded here and now, never merged into a multiply-add.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define kiln__rounded(v) __builtin_assoc_barrier(v)
#else
template <class T> KILN_FN T kiln__rounded(T v)
{
#if defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#else
    asm("" : "+m"(v));
#endif
    return v;
}
#endif

//% section basics needs rounded
//% when __fdividef fdividef __saturatef __fadd_rn __fsub_rn __fmul_rn __fdiv_rn __frcp_rn
//% when __fsqrt_rn __frsqrt_rn __fmaf_rn __dadd_rn __dsub_rn __dmul_rn __ddiv_rn __drcp_rn
//% when __dsqrt_rn __fma_rn
// basics (CPU): arithmetic by name. What is rounded (_rn) is never merged into a multiply-add.
KILN_FN float __fdividef(float x, float y) { return x / y; }
KILN_FN float fdividef(float x, float y) { return x / y; }
KILN_FN float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
KILN_FN float __fadd_rn(float x, float y) { return kiln__rounded(x + y); }
KILN_FN float __fsub_rn(float x, float y) { return kiln__rounded(x - y); }
KILN_FN float __fmul_rn(float x, float y) { return kiln__rounded(x * y); }
KILN_FN float __fdiv_rn(float x, float y) { return x / y; }
KILN_FN float __frcp_rn(float x) { return 1 / x; }
KILN_FN float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
KILN_FN float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt(x)); }
KILN_FN float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KILN_FN double __dadd_rn(double x, double y) { return kiln__rounded(x + y); }
KILN_FN double __dsub_rn(double x, double y) { return kiln__rounded(x - y); }
KILN_FN double __dmul_rn(double x, double y) { return kiln__rounded(x * y); }
KILN_FN double __ddiv_rn(double x, double y) { return x / y; }
KILN_FN double __drcp_rn(double x) { return 1 / x; }
KILN_FN double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
KILN_FN double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

//% section directed
//% when __fadd_rz __fadd_rd __fadd_ru __fsub_rz __fsub_rd __fsub_ru __fmul_rz __fmul_rd __fmul_ru
//% when __fdiv_rz __fdiv_rd __fdiv_ru __frcp_rz __frcp_rd __frcp_ru __fsqrt_rz __fsqrt_rd
//% when __fsqrt_ru __dadd_rz __dadd_rd __dadd_ru __dsub_rz __dsub_rd __dsub_ru __dmul_rz
//% when __dmul_rd __dmul_ru __ddiv_rz __ddiv_rd __ddiv_ru __drcp_rz __drcp_rd __drcp_ru
//% when __dsqrt_rz __dsqrt_rd __dsqrt_ru
// directed (CPU): arithmetic rounded to zero (rz), down (rd) or up (ru). The result to nearest is
// moved to its neighbour when the exact error, whose sign is all that counts, asks for it.
KILN_FN float kiln__fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KILN_FN double kiln__fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
KILN_FN float kiln__next(float a, float to) { return __builtin_nextafterf(a, to); }
KILN_FN double kiln__next(double a, double to) { return __builtin_nextafter(a, to); }
// `error`: exact result minus `near`. mode 0: toward zero, 1: down, 2: up.
template <class F> KILN_FN F kiln__directed(F near, F error, int mode)
{
    F inf = (F)__builtin_inf();
    bool down = mode == 1 || (mode == 0 && near > 0), up = mode == 2 || (mode == 0 && near < 0);
    return down && error < 0 ? kiln__next(near, -inf)
           : up && error > 0 ? kiln__next(near, inf)
                             : near;
}
template <class F> KILN_FN F kiln__sum_error(F a, F b, F s)
{
    F t = s - a;
    return (a - (s - t)) + (b - t);
}
#define KILN__DIRECTED(F, f, mode, suffix, sqrt)                                                   \
    KILN_FN F __##f##add_##suffix(F a, F b)                                                        \
    {                                                                                              \
        return kiln__directed(a + b, kiln__sum_error(a, b, a + b), mode);                          \
    }                                                                                              \
    KILN_FN F __##f##sub_##suffix(F a, F b) { return __##f##add_##suffix(a, -b); }                 \
    KILN_FN F __##f##mul_##suffix(F a, F b)                                                        \
    {                                                                                              \
        return kiln__directed(a * b, kiln__fma(a, b, -(a * b)), mode);                             \
    }                                                                                              \
    KILN_FN F __##f##div_##suffix(F a, F b)                                                        \
    {                                                                                              \
        F q = a / b, rest = kiln__fma(-q, b, a);                                                   \
        return kiln__directed(q, b < 0 ? -rest : rest, mode);                                      \
    }                                                                                              \
    KILN_FN F __##f##rcp_##suffix(F a) { return __##f##div_##suffix(1, a); }                       \
    KILN_FN F __##f##sqrt_##suffix(F a)                                                            \
    {                                                                                              \
        return kiln__directed(sqrt(a), kiln__fma(-sqrt(a), sqrt(a), a), mode);                     \
    }
KILN__DIRECTED(float, f, 0, rz, __builtin_sqrtf)
KILN__DIRECTED(float, f, 1, rd, __builtin_sqrtf)
KILN__DIRECTED(float, f, 2, ru, __builtin_sqrtf)
KILN__DIRECTED(double, d, 0, rz, __builtin_sqrt)
KILN__DIRECTED(double, d, 1, rd, __builtin_sqrt)
KILN__DIRECTED(double, d, 2, ru, __builtin_sqrt)
