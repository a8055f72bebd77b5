//% lines
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define CUDART_PI 3.14159265358979323846
#define CUDART_PI_F 3.141592654f

//% section INFINITY on cuda when INFINITY HUGE_VALF CUDART_INF_F
#define INFINITY __builtin_bit_cast(float, 0x7f800000)

//% section INFINITY on cpu when INFINITY HUGE_VALF CUDART_INF_F
#define INFINITY (__builtin_inff ())

//% section NAN on cuda when NAN CUDART_NAN_F
#define NAN __builtin_bit_cast(float, 0x7fffffff)

//% section NAN on cpu when NAN CUDART_NAN_F
#define NAN (__builtin_nanf (""))

//% section HUGE_VAL on cuda when HUGE_VAL CUDART_INF
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000ll)

//% section HUGE_VAL on cpu when HUGE_VAL CUDART_INF
#define HUGE_VAL (__builtin_huge_val ())

//% section HUGE_VALF on cuda needs INFINITY when HUGE_VALF
#define HUGE_VALF INFINITY

//% lines on cpu
#define HUGE_VALF (__builtin_huge_valf ())

//% section CUDART_INF_F needs INFINITY when CUDART_INF_F
#define CUDART_INF_F INFINITY

//% section CUDART_INF needs HUGE_VAL when CUDART_INF
#define CUDART_INF HUGE_VAL

//% section CUDART_NAN_F needs NAN when CUDART_NAN_F
#define CUDART_NAN_F NAN

//% section CUDART_NAN needs NAN when CUDART_NAN
#define CUDART_NAN ((double)NAN)

//% lines
#define CUDART_2_OVER_PI 0.63661977236758138
#define CUDART_2_OVER_PI_F 0.636619747f
#define CUDART_3PIO4 2.3561944901923448
#define CUDART_3PIO4_F 2.3561945f
#define CUDART_L2E 1.4426950408889634
#define CUDART_L2E_F 1.44269502f
#define CUDART_L2E_HI 1.4426950408889634
#define CUDART_L2E_LO 2.0355273740931033e-17
#define CUDART_L2T 3.3219280948873622
#define CUDART_L2T_F 3.32192802f
#define CUDART_LG2 0.3010299956639812
#define CUDART_LG2_F 0.30103001f
#define CUDART_LG2_HI 0.3010299956639812
#define CUDART_LG2_LO -2.8037281277851704e-18
#define CUDART_LG2_X_1024 308.25471555991675
#define CUDART_LG2_X_1075 323.60724533877976
#define CUDART_LGE 0.43429448190325182
#define CUDART_LGE_F 0.434294492f
#define CUDART_LGE_HI 0.43429448190325182
#define CUDART_LGE_LO 1.0983196502167651e-17
#define CUDART_LN2 0.69314718055994529
#define CUDART_LN2_F 0.693147182f
#define CUDART_LN2_HI 0.69314718055994529
#define CUDART_LN2_LO 2.3190468138462996e-17
#define CUDART_LN2_X_1024 709.78271289338397
#define CUDART_LN2_X_1025 710.47586007394398
#define CUDART_LN2_X_1075 745.13321910194122
#define CUDART_LNPI 1.1447298858494002
#define CUDART_LNPI_F 1.14472985f
#define CUDART_LNT 2.3025850929940459
#define CUDART_LNT_F 2.30258512f
#define CUDART_LNT_HI 2.3025850929940459
#define CUDART_LNT_LO -2.1707562233822494e-16
#define CUDART_MAX_NORMAL_F 3.40282347e+38f
#define CUDART_MIN_DENORM 4.9406564584124654e-324
#define CUDART_MIN_DENORM_F 1.40129846e-45f
#define CUDART_NEG_ZERO (-0.0)
#define CUDART_NEG_ZERO_F (-0.0f)
#define CUDART_NORM_HUGE_F 3.40282347e+38f
#define CUDART_ONE 1.0
#define CUDART_ONE_F 1.0f
#define CUDART_PIO2 1.5707963267948966
#define CUDART_PIO2_F 1.57079637f
#define CUDART_PIO2_HI 1.5707963267948966
#define CUDART_PIO2_LO 6.123233995736766e-17
#define CUDART_PIO4 0.78539816339744828
#define CUDART_PIO4_F 0.785398185f
#define CUDART_PIO4_HI 0.78539816339744828
#define CUDART_PIO4_LO 3.061616997868383e-17
#define CUDART_PI_HI 3.1415926535897931
#define CUDART_PI_LO 1.2246467991473532e-16
#define CUDART_SQRT_2OPI 0.79788456080286541
#define CUDART_SQRT_2PI 2.5066282746310007
#define CUDART_SQRT_2PI_HI 2.5066282746310007
#define CUDART_SQRT_2PI_LO -1.8328579980459167e-16
#define CUDART_SQRT_2_OVER_PI_F 0.797884583f
#define CUDART_SQRT_HALF 0.70710678118654757
#define CUDART_SQRT_HALF_F 0.707106769f
#define CUDART_SQRT_HALF_HI 0.70710678118654757
#define CUDART_SQRT_HALF_HI_F 0.707106769f
#define CUDART_SQRT_HALF_LO -4.8336466567264567e-17
#define CUDART_SQRT_HALF_LO_F 1.21016175e-08f
#define CUDART_SQRT_PIO2 1.2533141373155003
#define CUDART_SQRT_PIO2_HI 1.2533141373155003
#define CUDART_SQRT_PIO2_LO -9.1642899902295834e-17
#define CUDART_SQRT_TWO 1.4142135623730951
#define CUDART_SQRT_TWO_F 1.41421354f
#define CUDART_THIRD 0.33333333333333331
#define CUDART_THIRD_F 0.333333343f
#define CUDART_TWOTHIRD 0.66666666666666663
#define CUDART_TWO_TO_126_F 8.50705917e+37f
#define CUDART_TWO_TO_23 8388608.0
#define CUDART_TWO_TO_23_F 8388608.0f
#define CUDART_TWO_TO_24_F 16777216.0f
#define CUDART_TWO_TO_31_F 2.14748365e+09f
#define CUDART_TWO_TO_32_F 4.2949673e+09f
#define CUDART_TWO_TO_52 4503599627370496.0
#define CUDART_TWO_TO_53 9007199254740992.0
#define CUDART_TWO_TO_54 18014398509481984.0
#define CUDART_TWO_TO_M1022 2.2250738585072014e-308
#define CUDART_TWO_TO_M126_F 1.17549435e-38f
#define CUDART_TWO_TO_M54 5.5511151231257827e-17
#define CUDART_ZERO 0.0
#define CUDART_ZERO_F 0.0f
#define FLT_MAX 3.402823466385288598e+38f
#define FLT_MIN 1.175494350822287508e-38f
#define FLT_EPSILON 1.192092895507812500e-07f
#define FLT_TRUE_MIN 1.401298464324817071e-45f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_EXP 128
#define FLT_MIN_EXP (-125)
#define DBL_MAX 1.797693134862315708e+308
#define DBL_MIN 2.225073858507201383e-308
#define DBL_EPSILON 2.220446049250313081e-16
#define DBL_TRUE_MIN 4.940656458412465442e-324
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_EXP 1024
#define DBL_MIN_EXP (-1021)
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX 18446744073709551615ul

//% section numeric_limits needs INFINITY NAN when numeric_limits !limits
// numeric_limits: the members that kernels ask for, without <limits>.
namespace std
{
template <class T> struct numeric_limits {
    static constexpr bool is_specialized = false;
};
#define KILN__LIMITS_INT(T, sign, bits)                                                            \
    template <> struct numeric_limits<T> {                                                         \
        static constexpr bool is_specialized = true, is_integer = true, is_signed = sign;          \
        static constexpr bool has_infinity = false, has_quiet_NaN = false;                         \
        static constexpr int digits = bits;                                                        \
        KILN__LIMIT T max() { return (T)(~0ull >> (64 - bits)); }                                  \
        KILN__LIMIT T min() { return sign ? (T)(-(long long)(~0ull >> (64 - bits)) - 1) : (T)0; }  \
        KILN__LIMIT T lowest() { return min(); }                                                   \
        KILN__LIMIT T epsilon() { return (T)0; }                                                   \
    };
#define KILN__LIMITS_FLOAT(T, bits, greatest, least, step, tiny)                                   \
    template <> struct numeric_limits<T> {                                                         \
        static constexpr bool is_specialized = true, is_integer = false, is_signed = true;         \
        static constexpr bool has_infinity = true, has_quiet_NaN = true;                           \
        static constexpr int digits = bits;                                                        \
        KILN__LIMIT T max() { return greatest; }                                                   \
        KILN__LIMIT T min() { return least; }                                                      \
        KILN__LIMIT T lowest() { return -greatest; }                                               \
        KILN__LIMIT T epsilon() { return step; }                                                   \
        KILN__LIMIT T denorm_min() { return tiny; }                                                \
        KILN__LIMIT T infinity() { return (T)INFINITY; }                                           \
        KILN__LIMIT T quiet_NaN() { return (T)NAN; }                                               \
    };
#define KILN__LIMIT KILN_METHOD static constexpr
KILN__LIMITS_INT(bool, false, 1)
KILN__LIMITS_INT(char, true, 7)
KILN__LIMITS_INT(signed char, true, 7)
KILN__LIMITS_INT(unsigned char, false, 8)
KILN__LIMITS_INT(short, true, 15)
KILN__LIMITS_INT(unsigned short, false, 16)
KILN__LIMITS_INT(int, true, 31)
KILN__LIMITS_INT(unsigned int, false, 32)
KILN__LIMITS_INT(long, true, 63)
KILN__LIMITS_INT(unsigned long, false, 64)
KILN__LIMITS_INT(long long, true, 63)
KILN__LIMITS_INT(unsigned long long, false, 64)
KILN__LIMITS_FLOAT(float, 24, 3.402823466385288598e+38f, 1.175494350822287508e-38f,
                   1.192092895507812500e-07f, 1.401298464324817071e-45f)
KILN__LIMITS_FLOAT(double, 53, 1.797693134862315708e+308, 2.225073858507201383e-308,
                   2.220446049250313081e-16, 4.940656458412465442e-324)
} // namespace std
