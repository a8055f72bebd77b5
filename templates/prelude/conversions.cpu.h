// conversions (CPU): CUDA's named conversions. To an integer they saturate; a NaN gives the integer
// with only the highest bit set, but 0 from float to 32 bits, as PTX has it. The suffix is the
// rounding: rn to nearest even, rz to zero, rd down, ru up.
template <class I, class F> KILN_FN I kiln__to_int(F v, F low, F high, I least, I most, I undefined)
{
    return v != v ? undefined : v < low ? least : v >= high ? most : (I)v;
}
#define KILN__TO_INT(name, F, mode, round)                                                         \
    KILN_FN int __##name##2int_##mode(F v)                                                         \
    {                                                                                              \
        return kiln__to_int<int, F>(round(v), (F)-0x1p31, (F)0x1p31, -0x7fffffff - 1, 0x7fffffff,  \
                                    sizeof(F) == 4 ? 0 : -0x7fffffff - 1);                         \
    }                                                                                              \
    KILN_FN unsigned int __##name##2uint_##mode(F v)                                               \
    {                                                                                              \
        return kiln__to_int<unsigned int, F>(round(v), 0, (F)0x1p32, 0, 0xffffffffu,               \
                                             sizeof(F) == 4 ? 0 : 0x80000000u);                    \
    }                                                                                              \
    KILN_FN long long __##name##2ll_##mode(F v)                                                    \
    {                                                                                              \
        return kiln__to_int<long long, F>(round(v), (F)-0x1p63, (F)0x1p63,                         \
                                          -0x7fffffffffffffffll - 1, 0x7fffffffffffffffll,         \
                                          -0x7fffffffffffffffll - 1);                              \
    }                                                                                              \
    KILN_FN unsigned long long __##name##2ull_##mode(F v)                                          \
    {                                                                                              \
        return kiln__to_int<unsigned long long, F>(round(v), 0, (F)0x1p64, 0,                      \
                                                   0xffffffffffffffffull, 0x8000000000000000ull);  \
    }
KILN__TO_INT(float, float, rn, __builtin_rintf)
KILN__TO_INT(float, float, rz, __builtin_truncf)
KILN__TO_INT(float, float, rd, __builtin_floorf)
KILN__TO_INT(float, float, ru, __builtin_ceilf)
KILN__TO_INT(double, double, rn, __builtin_rint)
KILN__TO_INT(double, double, rz, __builtin_trunc)
KILN__TO_INT(double, double, rd, __builtin_floor)
KILN__TO_INT(double, double, ru, __builtin_ceil)

// `near` is `exact` rounded to nearest; step to the neighbour that the mode asks for. long double
// holds every integer of 64 bits and every double.
template <class F> KILN_FN F kiln__toward(F near, long double exact, int mode)
{
    F inf = (F)__builtin_inf(), zero = 0;
    bool down = mode == 1 || (mode == 0 && exact > 0), up = mode == 2 || (mode == 0 && exact < 0);
    F to = down && (long double)near > exact ? -inf : up && (long double)near < exact ? inf : near;
    if (mode == 0 && to != near)
        to = zero;
    return sizeof(F) == 4 ? (F)__builtin_nextafterf((float)near, (float)to)
                          : (F)__builtin_nextafter((double)near, (double)to);
}
#define KILN__TO_FLOAT(name, I, F, to)                                                             \
    KILN_FN F __##name##2##to##_rn(I v) { return (F)v; }                                           \
    KILN_FN F __##name##2##to##_rz(I v) { return kiln__toward<F>((F)v, v, 0); }                    \
    KILN_FN F __##name##2##to##_rd(I v) { return kiln__toward<F>((F)v, v, 1); }                    \
    KILN_FN F __##name##2##to##_ru(I v) { return kiln__toward<F>((F)v, v, 2); }
KILN__TO_FLOAT(int, int, float, float)
KILN__TO_FLOAT(uint, unsigned int, float, float)
KILN__TO_FLOAT(ll, long long, float, float)
KILN__TO_FLOAT(ull, unsigned long long, float, float)
KILN__TO_FLOAT(double, double, float, float)
KILN__TO_FLOAT(ll, long long, double, double)
KILN__TO_FLOAT(ull, unsigned long long, double, double)
KILN_FN double __int2double_rn(int v) { return v; }
KILN_FN double __uint2double_rn(unsigned int v) { return v; }
