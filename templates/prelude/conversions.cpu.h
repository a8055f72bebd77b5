//% section casts needs bits
//% when __float_as_int __float_as_uint __int_as_float __uint_as_float __double_as_longlong
//% when __longlong_as_double __hiloint2double __double2hiint __double2loint
// casts (CPU): the bits of a floating-point number as an integer, and back.
KILN_FN int __float_as_int(float x) { return kiln__bit_cast<int>(x); }
KILN_FN unsigned int __float_as_uint(float x) { return kiln__bit_cast<unsigned int>(x); }
KILN_FN float __int_as_float(int x) { return kiln__bit_cast<float>(x); }
KILN_FN float __uint_as_float(unsigned int x) { return kiln__bit_cast<float>(x); }
KILN_FN long long __double_as_longlong(double x) { return kiln__bit_cast<long long>(x); }
KILN_FN double __longlong_as_double(long long x) { return kiln__bit_cast<double>(x); }
KILN_FN int __double2hiint(double x) { return (int)(kiln__bit_cast<long long>(x) >> 32); }
KILN_FN int __double2loint(double x) { return (int)kiln__bit_cast<long long>(x); }
KILN_FN double __hiloint2double(int hi, int lo)
{
    return kiln__bit_cast<double>((long long)((unsigned long long)(unsigned int)hi << 32 |
                                              (unsigned int)lo));
}

//% section conversions
//% when __float2int_rn __float2int_rz __float2int_rd __float2int_ru __float2uint_rn
//% when __float2uint_rz __float2uint_rd __float2uint_ru __float2ll_rn __float2ll_rz __float2ll_rd
//% when __float2ll_ru __float2ull_rn __float2ull_rz __float2ull_rd __float2ull_ru __double2int_rn
//% when __double2int_rz __double2int_rd __double2int_ru __double2uint_rn __double2uint_rz
//% when __double2uint_rd __double2uint_ru __double2ll_rn __double2ll_rz __double2ll_rd
//% when __double2ll_ru __double2ull_rn __double2ull_rz __double2ull_rd __double2ull_ru
//% when __int2float_rn __int2float_rz __int2float_rd __int2float_ru __uint2float_rn
//% when __uint2float_rz __uint2float_rd __uint2float_ru __ll2float_rn __ll2float_rz __ll2float_rd
//% when __ll2float_ru __ull2float_rn __ull2float_rz __ull2float_rd __ull2float_ru
//% when __double2float_rn __double2float_rz __double2float_rd __double2float_ru __ll2double_rn
//% when __ll2double_rz __ll2double_rd __ll2double_ru __ull2double_rn __ull2double_rz
//% when __ull2double_rd __ull2double_ru __int2double_rn __uint2double_rn
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
