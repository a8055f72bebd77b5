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
