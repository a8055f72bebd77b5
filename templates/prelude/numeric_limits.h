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
