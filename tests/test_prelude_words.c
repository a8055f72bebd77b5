/*
 * test_prelude_words.c - what snippets may write besides arithmetic: constants, type names, CUDA's
 * intrinsics, conversions, atomics. The same words must mean the same on both devices.
 *
 * Expected values are C's own constants, C's arithmetic under the rounding mode asked for, or
 * numbers worked out by hand.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

/* An expression and its value. A NAN stands for any NaN. */
typedef struct value {
    const char *text;
    double want;
} value;

enum { BATCH = 40 };

/* All expressions of one batch in one kernel, so that the compiler starts seldom. */
static void check_batch(test_env *t, const char *prep, const value *values, size_t count)
{
    char op[16384] = "", line[256];
    double got[BATCH];
    const int64_t shape = (int64_t)count;
    kiln_elementwise *kernel = NULL;
    kiln_array *r = NULL;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_arg args[3];

    for (size_t k = 0; k < count; k++) {
        snprintf(line, sizeof line, "r[%zu] = (double)(%s);\n", k, values[k].text);
        assert_true(strlen(op) + strlen(line) < sizeof op);
        strcat(op, line);
    }
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    options.loop_prep = prep;
    OK(t, kiln_elementwise_create(t->ctx, "int32 one, float32 third", "raw float64 r", op, &options,
                                  &kernel, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, &shape, &r, &t->err));
    call.has_size = true;
    call.size = 1;
    args[0] = kiln_arg_int(1);
    args[1] = kiln_arg_float(1.0 / 3);
    args[2] = kiln_arg_array(r);
    OK(t, kiln_elementwise_run(kernel, args, COUNT(args), &call, &t->err));
    OK(t, kiln_array_to_host(r, got, count * sizeof *got, NULL, &t->err));
    for (size_t k = 0; k < count; k++)
        CHECK(isnan(values[k].want) ? isnan(got[k]) : got[k] == values[k].want,
              "%s is %.17g, got %.17g", values[k].text, values[k].want, got[k]);
    kiln_array_release(r);
    kiln_elementwise_destroy(kernel);
}

static void check_values(test_env *t, const char *prep, const value *values, size_t count)
{
    for (size_t k = 0; k < count; k += BATCH)
        check_batch(t, prep, values + k, count - k < BATCH ? count - k : BATCH);
}

static const value constants[] = {
    {"M_E", M_E},
    {"M_LOG2E", M_LOG2E},
    {"M_LOG10E", M_LOG10E},
    {"M_LN2", M_LN2},
    {"M_LN10", M_LN10},
    {"M_PI", M_PI},
    {"M_PI_2", M_PI_2},
    {"M_PI_4", M_PI_4},
    {"M_1_PI", M_1_PI},
    {"M_2_PI", M_2_PI},
    {"M_2_SQRTPI", M_2_SQRTPI},
    {"M_SQRT2", M_SQRT2},
    {"M_SQRT1_2", M_SQRT1_2},
    {"CUDART_PI", M_PI},
    {"CUDART_PI_F", (float)M_PI},
    {"INFINITY", INFINITY},
    {"-INFINITY", -INFINITY},
    {"NAN", NAN},
    {"HUGE_VAL", INFINITY},
    {"HUGE_VALF", INFINITY},
    {"CUDART_INF_F", INFINITY},
    {"CUDART_INF", INFINITY},
    {"CUDART_NAN_F", NAN},
    {"CUDART_NAN", NAN},
    {"FLT_MAX", FLT_MAX},
    {"FLT_MIN", FLT_MIN},
    {"FLT_EPSILON", FLT_EPSILON},
    {"FLT_TRUE_MIN", 0x1p-149},
    {"FLT_DIG", FLT_DIG},
    {"FLT_MANT_DIG", FLT_MANT_DIG},
    {"FLT_MAX_EXP", FLT_MAX_EXP},
    {"FLT_MIN_EXP", FLT_MIN_EXP},
    {"DBL_MAX", DBL_MAX},
    {"DBL_MIN", DBL_MIN},
    {"DBL_EPSILON", DBL_EPSILON},
    {"DBL_TRUE_MIN", 0x1p-1074},
    {"DBL_DIG", DBL_DIG},
    {"DBL_MANT_DIG", DBL_MANT_DIG},
    {"DBL_MAX_EXP", DBL_MAX_EXP},
    {"DBL_MIN_EXP", DBL_MIN_EXP},
    {"CHAR_BIT", 8},
    {"SCHAR_MIN", SCHAR_MIN},
    {"SCHAR_MAX", SCHAR_MAX},
    {"UCHAR_MAX", UCHAR_MAX},
    {"SHRT_MIN", SHRT_MIN},
    {"SHRT_MAX", SHRT_MAX},
    {"USHRT_MAX", USHRT_MAX},
    {"INT_MIN", INT_MIN},
    {"INT_MAX", INT_MAX},
    {"UINT_MAX", UINT_MAX},
    {"LONG_MIN + 1 == -LONG_MAX", 1},
    {"LLONG_MIN + 1 == -LLONG_MAX", 1},
    {"LLONG_MAX == 0x7fffffffffffffffll", 1},
    {"LONG_MAX == 0x7fffffffffffffffll", 1},
    {"ULONG_MAX == ~0ul", 1},
    {"ULLONG_MAX == ~0ull", 1},
    {"INT8_MIN", INT8_MIN},
    {"INT8_MAX", INT8_MAX},
    {"UINT8_MAX", UINT8_MAX},
    {"INT16_MIN", INT16_MIN},
    {"INT16_MAX", INT16_MAX},
    {"UINT16_MAX", UINT16_MAX},
    {"INT32_MIN", INT32_MIN},
    {"INT32_MAX", INT32_MAX},
    {"UINT32_MAX", UINT32_MAX},
    {"INT64_MIN + 1 == -INT64_MAX", 1},
    {"INT64_MAX == 0x7fffffffffffffffll", 1},
    {"UINT64_MAX == ~0ull", 1},
    {"SIZE_MAX == ~0ul", 1},
    {"std::numeric_limits<float>::max()", FLT_MAX},
    {"std::numeric_limits<float>::min()", FLT_MIN},
    {"std::numeric_limits<float>::lowest()", -FLT_MAX},
    {"std::numeric_limits<float>::epsilon()", FLT_EPSILON},
    {"std::numeric_limits<float>::infinity()", INFINITY},
    {"std::numeric_limits<double>::quiet_NaN()", NAN},
    {"std::numeric_limits<double>::max()", DBL_MAX},
    {"std::numeric_limits<double>::denorm_min()", 0x1p-1074},
    {"std::numeric_limits<bool>::max()", 1},
    {"std::numeric_limits<signed char>::min()", -128},
    {"std::numeric_limits<unsigned char>::max()", 255},
    {"std::numeric_limits<short>::lowest()", -32768},
    {"std::numeric_limits<int>::min()", INT_MIN},
    {"std::numeric_limits<int>::max()", INT_MAX},
    {"std::numeric_limits<unsigned int>::max()", UINT_MAX},
    {"std::numeric_limits<long long>::min() == -0x7fffffffffffffffll - 1", 1},
    {"std::numeric_limits<unsigned long long>::max() == ~0ull", 1},
    {"std::numeric_limits<int>::is_signed", 1},
    {"std::numeric_limits<double>::digits", 53},
};

static void test_prelude_words__constants_are_those_of_c(void **state)
{
    check_values(*state, NULL, constants, COUNT(constants));
}

static const value types[] = {
    {"sizeof(int8)", 1},
    {"sizeof(int16)", 2},
    {"sizeof(int32)", 4},
    {"sizeof(int64)", 8},
    {"sizeof(uint8)", 1},
    {"sizeof(uint16)", 2},
    {"sizeof(uint32)", 4},
    {"sizeof(uint64)", 8},
    {"sizeof(float16)", 2},
    {"sizeof(bfloat16)", 2},
    {"sizeof(float32)", 4},
    {"sizeof(float64)", 8},
    {"sizeof(complex64)", 8},
    {"sizeof(complex128)", 16},
    {"alignof(complex64)", 8},
    {"alignof(complex128)", 16},
    {"sizeof(bool_)", 1},
    {"sizeof(int8_t)", 1},
    {"sizeof(int16_t)", 2},
    {"sizeof(int32_t)", 4},
    {"sizeof(int64_t)", 8},
    {"sizeof(uint8_t)", 1},
    {"sizeof(uint16_t)", 2},
    {"sizeof(uint32_t)", 4},
    {"sizeof(uint64_t)", 8},
    {"sizeof(intptr_t)", 8},
    {"sizeof(uintptr_t)", 8},
    {"sizeof(size_t)", 8},
    {"sizeof(ptrdiff_t)", 8},
    {"sizeof(uchar)", 1},
    {"sizeof(ushort)", 2},
    {"sizeof(uint)", 4},
    {"sizeof(ulong)", 8},
    {"sizeof(longlong)", 8},
    {"sizeof(half)", 2},
    {"sizeof(__half)", 2},
    {"sizeof(__nv_bfloat16)", 2},
    {"int8(-1) < 0", 1},
    {"uint8(-1)", 255},
    {"uint16(-1)", 65535},
    {"uint32(-1)", UINT_MAX},
    {"int64(-1) < 0", 1},
    {"uint64(-1) > 0", 1},
    {"size_t(-1) > 0", 1},
    {"ptrdiff_t(-1) < 0", 1},
    {"sizeof(float3)", 12},
    {"alignof(float4)", 16},
    {"alignof(float3)", 4},
    {"alignof(double2)", 16},
    {"sizeof(char4)", 4},
    {"alignof(short2)", 4},
    {"make_float4(1, 2, 3, 4).w", 4},
    {"make_int2(-1, 7).x", -1},
    {"make_uchar4(1, 2, 255, 4).z", 255},
    {"make_double2(1, 0.25).y", 0.25},
    {"make_longlong2(1, -9).y", -9},
    {"complex<float>(3, -4).imag()", -4},
    {"thrust::complex<double>(3, 4).real()", 3},
    {"thrust::abs(thrust::complex<double>(3, 4))", 5},
};

static void test_prelude_words__types_have_their_sizes_and_signs(void **state)
{
    check_values(*state, NULL, types, COUNT(types));
}

static const value intrinsics[] = {
    {"__popc(0xf0f0f0f0u * one)", 16},
    {"__popc(0)", 0},
    {"__popcll(-one)", 64},
    {"__clz(0)", 32},
    {"__clz(1)", 31},
    {"__clz(-1)", 0},
    {"__clzll(0)", 64},
    {"__clzll(1)", 63},
    {"__ffs(0)", 0},
    {"__ffs(8)", 4},
    {"__ffs(-2)", 2},
    {"__ffsll(0)", 0},
    {"__ffsll(1ll << 40)", 41},
    {"__brev(1u) == 0x80000000u", 1},
    {"__brev(0x12345678u) == 0x1e6a2c48u", 1},
    {"__brev(~0u) == ~0u", 1},
    {"__brevll(~0ull) == ~0ull", 1},
    {"__brevll(1ull) == 0x8000000000000000ull", 1},
    {"__brevll(0x123456789abcdef0ull) == 0x0f7b3d591e6a2c48ull", 1},
    {"__mulhi(0x40000000, 8)", 2},
    {"__mulhi(-0x40000000, 8)", -2},
    {"__mulhi(-1, 1)", -1},
    {"__umulhi(0xffffffffu, 0xffffffffu)", 4294967294.0},
    {"__mul64hi(1ll << 62, 8)", 2},
    {"__mul64hi(-1ll, 1)", -1},
    {"__umul64hi(~0ull, ~0ull) == 0xfffffffffffffffeull", 1},
    {"__mul24(0x1000001, 3)", 3},
    {"__mul24(-5, 7)", -35},
    {"__umul24(0xff000002u, 5u)", 10},
    {"__sad(-3, 4, 10u)", 17},
    {"__sad(2147483647, -2147483647 - 1, 0u) == 0xffffffffu", 1},
    {"__usad(3u, 10u, 1u)", 8},
    {"__hadd(-3, -4)", -4},
    {"__hadd(2147483647, 2147483647)", 2147483647},
    {"__rhadd(3, 4)", 4},
    {"__uhadd(0xffffffffu, 0xfffffffdu) == 0xfffffffeu", 1},
    {"__urhadd(4u, 5u)", 5},
    {"__byte_perm(0x33221100u, 0x77665544u, 0x7531u) == 0x77553311u", 1},
    {"__byte_perm(0x00008000u, 0u, 0x9198u) == 0x80808000u", 1},
    {"__funnelshift_l(0x80000000u, 1u, 1u)", 3},
    {"__funnelshift_r(2u, 1u, 1u) == 0x80000001u", 1},
    {"__float_as_int(1.0f) == 0x3f800000", 1},
    {"__float_as_uint(-0.0f) == 0x80000000u", 1},
    {"__int_as_float(0x40490fdb)", (float)M_PI},
    {"__uint_as_float(0xc0000000u)", -2},
    {"__double_as_longlong(1.0) == 0x3ff0000000000000ll", 1},
    {"__longlong_as_double(0x4000000000000000ll)", 2},
    {"__hiloint2double(0x3ff00000, 1)", 1 + 0x1p-52},
    {"__double2hiint(-2.0) == (int)0xc0000000", 1},
    {"__double2loint(1 + 0x1p-52)", 1},
    {"__ldg(&r[r.size() - 1])", 0},
    {"__saturatef(-third)", 0},
    {"__saturatef(2.0f)", 1},
    {"__saturatef(NAN)", 0},
    {"__fdividef(1.0f, 4.0f)", 0.25},
    {"fdividef(3.0f, 2.0f)", 1.5},
    {"__frcp_rn(3.0f)", 1.0f / 3.0f},
    {"__fsqrt_rn(2.0f)", 0x1.6a09e6p0f},
    {"__fmaf_rn(0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f)", 0x1p-46},
    {"__fadd_rn(__fmul_rn(0x1.000002p0f * one, 0x1.000002p0f), -0x1.000004p0f)", 0},
    {"__dadd_rn(__dmul_rn(1 + 0x1p-52 * one, 1 + 0x1p-52), -(1 + 0x1p-51))", 0},
    {"__fma_rn(1 + 0x1p-52, 1 + 0x1p-52, -(1 + 0x1p-51))", 0x1p-104},
    {"__fdiv_rn(1.0f, 3.0f) == third", 1},
    {"__drcp_rn(3.0)", 1.0 / 3},
    {"__dsqrt_rn(4.0)", 2},
    {"fabs(__expf(1.0f) - 2.7182818f) < 1e-5f", 1},
    {"fabs(__logf(2.0f) - 0.6931472f) < 1e-5f", 1},
    {"fabs(__sinf(1.0f) - 0.8414710f) < 1e-5f", 1},
    {"fabs(__cosf(1.0f) - 0.5403023f) < 1e-5f", 1},
    {"fabs(__powf(2.0f, 0.5f) - 1.4142135f) < 1e-5f", 1},
    {"fabs(__tanf(1.0f) - 1.5574077f) < 1e-4f", 1},
    {"fabs(__log2f(10.0f) - 3.3219281f) < 1e-5f", 1},
    {"fabs(__log10f(2.0f) - 0.30103f) < 1e-5f", 1},
    {"fabs(__exp10f(0.5f) - 3.1622777f) < 1e-4f", 1},
};

static void test_prelude_words__integer_intrinsics_give_what_cuda_documents(void **state)
{
    check_values(*state, NULL, intrinsics, COUNT(intrinsics));
}

static const value mixed[] = {
    {"max(one, 5ll)", 5},
    {"max(-1, 2.5f)", 2.5},
    {"min(0.5, one)", 0.5},
    {"min(3ull, 7)", 3},
    {"max((short)-3, (short)4)", 4},
    {"max(-1, 1u) == 0xffffffffu", 1},
    {"max(1.5f, NAN)", 1.5},
    {"max(NAN, 1.5f)", 1.5},
    {"min(NAN, -2.0)", -2},
    {"fmax(NAN, 3)", 3},
    {"fmin(1.0f, NAN)", 1},
    {"fmax(third, 0.25)", (float)(1.0 / 3)},
    {"fmaxf(1, 2)", 2},
    {"isnan(max(NAN, NAN))", 1},
    {"max(max(1, 2), 3)", 3},
    {"max(true, 0)", 1},
    {"abs(-3)", 3},
    {"abs(-3ll)", 3},
    {"abs(-2.5f)", 2.5},
    {"abs(-2.5)", 2.5},
    {"abs(3u)", 3},
    {"abs((short)-7)", 7},
    {"fabs(-3)", 3},
    {"sqrt(16)", 4},
    {"sqrt(2)", M_SQRT2},
    {"sqrt(9u)", 3},
    {"floor(7)", 7},
    {"pow(2, 10)", 1024},
    {"pow(2.0f, 3)", 8},
    {"pow(2, 0.5)", M_SQRT2},
    {"pow(9ll, 0.5)", 3},
    {"fmod(7, 4)", 3},
    {"fmod(7.5f, 2)", 1.5},
    {"hypot(3, 4)", 5},
    {"hypot(3.0f, 4.0)", 5},
    {"atan2(0, 1)", 0},
    {"fma(2, 3, 4)", 10},
    {"fma(2.0f, 3, 0.5)", 6.5},
    {"isnan(1)", 0},
    {"isnan(NAN)", 1},
    {"isinf(3ll)", 0},
    {"isinf(-INFINITY)", 1},
    {"isfinite(2u)", 1},
    {"isfinite(INFINITY)", 0},
    {"signbit(-0.0)", 1},
    {"signbit(-1)", 1},
    {"signbit(1.0f)", 0},
    {"exp(0)", 1},
    {"log(1u)", 0},
    {"rsqrt(4)", 0.5},
    {"fabs(cbrt(27) - 3) < 1e-15", 1},
    {"lround(2.5f)", 3},
    {"lround(-2.5)", -3},
    {"lrint(2.5)", 2},
    {"llround(1e10) == 10000000000ll", 1},
    {"llrint(3.5f)", 4},
    {"ilogb(8.0f)", 3},
    {"logb(0.25)", -2},
    {"ldexp(0.75, 2)", 3},
    {"ldexp(3, 1)", 6},
    {"scalbn(1.5f, -1)", 0.75},
    {"scalbln(1.0, 3l)", 8},
    {"frexp(12.0, &whole) + 100 * whole", 400.75},
    {"modf(-1.25, &part)", -0.25},
    {"remquo(7.0, 2.0, &whole)", -1},
    {"nextafter(1.0f, 2.0f)", 1 + 0x1p-23},
    {"copysign(3, -1.0)", -3},
    {"rint(2.5f)", 2},
    {"nearbyint(3.5)", 4},
    {"round(-0.5f)", -1},
    {"trunc(-1.75)", -1},
    {"ceil(1.25f)", 2},
    {"fabs(jn(0, 0.0) - 1) < 1e-15", 1},
    {"jn(1, 0.0f)", 0},
    {"norm3d(2.0, 3.0, 6.0)", 7},
    {"norm4d(1.0, 1.0, 1.0, 1.0)", 2},
    {"fabs(rnorm3d(2.0f, 3.0f, 6.0f) - 1.0f / 7.0f) < 1e-7f", 1},
    {"sizeof(norm3d(1.0f, 1.0f, 1.0f))", 4},
    {"sizeof(rhypot(1.0f, 1.0f))", 4},
    {"umin(3u, 4u)", 3},
    {"llmax(-3ll, -4ll)", -3},
    {"ullmax(1ull, 2ull)", 2},
    {"labs(-4l)", 4},
    {"float16(3) * 2", 6},
    {"max(float16(3), float16(4))", 4},
    {"max(bfloat16(1), 2)", 2},
    {"float16(1) + 0.5f", 1.5},
    {"(sincos(0.0, &part, &other), part + other)", 1},
    {"(sincospi(0.5f, &narrow, &wide), narrow - wide)", 1},
    {"float16(2049) == 2048", 1},
    {"complex<float>(1, 2) == complex<float>(1, 2)", 1},
    {"complex<double>(2, 0) == 2", 1},
    {"real(complex<float>(1, 2) * 2 + 1)", 3},
    {"imag(2.5f * complex<float>(1, 2) - 1)", 5},
    {"norm(1 / complex<double>(0, 2))", 0.25},
    {"proj(complex<double>(INFINITY, -1)).real()", INFINITY},
    {"isnan(complex<float>(NAN, 1))", 1},
    {"isfinite(complex<float>(1, INFINITY))", 0},
};

static void test_prelude_words__mixed_types_choose_the_overload_that_c_would(void **state)
{
    check_values(*state, "int whole = 0; double part = 0, other = 0; float narrow = 0, wide = 0;",
                 mixed, COUNT(mixed));
}

/* Fast mathematics is less exact, but a NaN is a NaN, as on CUDA. */
static void test_prelude_words__fast_mathematics_keeps_special_values(void **state)
{
    static const char *const fast[] = {"--use_fast_math"};
    static const float x[] = {NAN, INFINITY, -INFINITY, -1, 2, 0.5f, -0.0f, NAN};
    static const float want[] = {100, 200, 200, 0, 2, 0.5f, 0, 100};
    const int64_t shape = COUNT(x);
    test_env *t = *state;
    float got[COUNT(x)];
    kiln_elementwise *kernel = NULL;
    kiln_array *in = NULL, *out = NULL;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;

    options.compiler_options = fast;
    options.compiler_option_count = COUNT(fast);
    OK(t, kiln_elementwise_create(t->ctx, "float32 x", "float32 z",
                                  "z = isnan(x) ? 100 : isinf(x) ? 200 : max(x, 0)", &options,
                                  &kernel, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &shape, x, NULL, &in, &t->err));
    OK(t, kiln_call(kernel, &t->err, in, &out));
    OK(t, kiln_array_to_host(out, got, sizeof got, NULL, &t->err));
    for (size_t k = 0; k < COUNT(x); k++)
        CHECK(got[k] == want[k], "%g gave %g", (double)x[k], (double)got[k]);
    kiln_array_release(in);
    kiln_array_release(out);
    kiln_elementwise_destroy(kernel);
}

/* ---- rounding modes -------------------------------------------------------------------------- */

typedef struct mode {
    const char *suffix;
    int c; /* for fesetround() */
} mode;

static const mode modes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rd", FE_DOWNWARD}, {"ru", FE_UPWARD}};

enum { SAMPLES = 2048 };

/* Numbers of all sizes, most of them near a multiple of a half; and the special ones. */
static double sample(test_env *t, size_t k)
{
    static const double special[] = {0.0,    -0.0,         0.5,          -0.5,      1.5,    2.5,
                                     -2.5,   0x1p31,       -0x1p31,      0x1p32,    0x1p63, -0x1p63,
                                     0x1p64, 0x1p31 - 0.5, INFINITY,     -INFINITY, NAN,    1e300,
                                     -1e300, 0x1p62,       4294967295.5, 9e18,      -9e18};
    if (k < COUNT(special))
        return special[k];
    const double v = ldexp((double)(test_random(t) >> 11), (int)test_random_below(t, 70) - 56);
    return test_random_below(t, 2) ? -v : v;
}

/* CUDA's conversion to an integer: round, then saturate. */
static long double to_integer(double v, int rounding, long double least, long double most,
                              long double undefined)
{
    fesetround(rounding);
    volatile double r = nearbyint(v);
    fesetround(FE_TONEAREST);
    return isnan(v) ? undefined : r < least ? least : r > most ? most : r;
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, const void *data)
{
    const int64_t shape = SAMPLES;
    kiln_array *array = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &shape, data, NULL, &array, &t->err));
    return array;
}

static void check_to_integer(test_env *t, const mode *m, bool wide, const double *x)
{
    const char *from = wide ? "double" : "float";
    static float narrow[SAMPLES];
    static int32_t a[SAMPLES];
    static uint32_t b[SAMPLES];
    static int64_t c[SAMPLES];
    static uint64_t d[SAMPLES];
    char op[256];
    kiln_array *in, *z[4] = {NULL, NULL, NULL, NULL};
    kiln_elementwise *kernel = NULL;

    for (size_t k = 0; k < SAMPLES; k++)
        narrow[k] = (float)x[k];
    snprintf(op, sizeof op,
             "a = __%s2int_%s(x); b = __%s2uint_%s(x); c = __%s2ll_%s(x); d = __%s2ull_%s(x);",
             from, m->suffix, from, m->suffix, from, m->suffix, from, m->suffix);
    OK(t,
       kiln_elementwise_create(t->ctx, wide ? "float64 x" : "float32 x",
                               "int32 a, uint32 b, int64 c, uint64 d", op, NULL, &kernel, &t->err));
    in = array_of(t, wide ? KILN_FLOAT64 : KILN_FLOAT32, wide ? (const void *)x : narrow);
    OK(t, kiln_call(kernel, &t->err, in, &z[0], &z[1], &z[2], &z[3]));
    OK(t, kiln_array_to_host(z[0], a, sizeof a, NULL, &t->err));
    OK(t, kiln_array_to_host(z[1], b, sizeof b, NULL, &t->err));
    OK(t, kiln_array_to_host(z[2], c, sizeof c, NULL, &t->err));
    OK(t, kiln_array_to_host(z[3], d, sizeof d, NULL, &t->err));
    for (size_t k = 0; k < SAMPLES; k++) {
        const double v = wide ? x[k] : (double)narrow[k];
        const long double wa = to_integer(v, m->c, INT32_MIN, INT32_MAX, wide ? INT32_MIN : 0);
        const long double wb = to_integer(v, m->c, 0, UINT32_MAX, wide ? 0x1p31L : 0);
        const long double wc = to_integer(v, m->c, INT64_MIN, (long double)INT64_MAX, INT64_MIN);
        const long double wd = to_integer(v, m->c, 0, (long double)UINT64_MAX, 0x1p63L);
        CHECK(a[k] == wa, "__%s2int_%s(%a): %d", from, m->suffix, v, a[k]);
        CHECK(b[k] == wb, "__%s2uint_%s(%a): %u", from, m->suffix, v, b[k]);
        CHECK(c[k] == wc, "__%s2ll_%s(%a): %lld", from, m->suffix, v, (long long)c[k]);
        CHECK(d[k] == wd, "__%s2ull_%s(%a): %llu", from, m->suffix, v, (unsigned long long)d[k]);
    }
    for (size_t k = 0; k < COUNT(z); k++)
        kiln_array_release(z[k]);
    kiln_array_release(in);
    kiln_elementwise_destroy(kernel);
}

static void test_prelude_words__conversions_to_integers_round_and_saturate(void **state)
{
    test_env *t = *state;
    static double x[SAMPLES];
    for (size_t k = 0; k < SAMPLES; k++)
        x[k] = sample(t, k);
    for (size_t m = 0; m < COUNT(modes); m++) {
        check_to_integer(t, &modes[m], false, x);
        check_to_integer(t, &modes[m], true, x);
    }
}

static void test_prelude_words__conversions_to_floats_take_the_rounding_mode(void **state)
{
    test_env *t = *state;
    static int64_t x[SAMPLES];
    static double y[SAMPLES], f[SAMPLES];
    static float a[SAMPLES], b[SAMPLES], c[SAMPLES], d[SAMPLES], e[SAMPLES];
    for (size_t k = 0; k < SAMPLES; k++) {
        x[k] = (int64_t)test_random(t) >> test_random_below(t, 63);
        y[k] = sample(t, k);
    }
    for (size_t m = 0; m < COUNT(modes); m++) {
        char op[512];
        const char *s = modes[m].suffix;
        kiln_elementwise *kernel = NULL;
        kiln_array *in = array_of(t, KILN_INT64, x), *reals = array_of(t, KILN_FLOAT64, y);
        kiln_array *z[6] = {NULL};
        void *to[6] = {a, b, c, d, e, f};
        snprintf(
            op, sizeof op,
            "a = __int2float_%s((int)x); b = __uint2float_%s((unsigned)x); c = __ll2float_%s(x); "
            "d = __ull2float_%s((unsigned long long)x); e = __double2float_%s(y); "
            "f = __ll2double_%s(x);",
            s, s, s, s, s, s);
        OK(t, kiln_elementwise_create(
                  t->ctx, "int64 x, float64 y",
                  "float32 a, float32 b, float32 c, float32 d, float32 e, float64 f", op, NULL,
                  &kernel, &t->err));
        OK(t, kiln_call(kernel, &t->err, in, reals, &z[0], &z[1], &z[2], &z[3], &z[4], &z[5]));
        for (size_t k = 0; k < COUNT(z); k++)
            OK(t, kiln_array_to_host(z[k], to[k], k == 5 ? sizeof f : sizeof a, NULL, &t->err));
        for (size_t k = 0; k < SAMPLES; k++) {
            volatile int32_t i = (int32_t)x[k];
            volatile uint32_t u = (uint32_t)x[k];
            volatile int64_t l = x[k];
            volatile uint64_t w = (uint64_t)x[k];
            volatile double r = y[k];
            fesetround(modes[m].c);
            volatile float wa = (float)i, wb = (float)u, wc = (float)l, wd = (float)w,
                           we = (float)r;
            volatile double wf = (double)l;
            fesetround(FE_TONEAREST);
            CHECK(a[k] == wa && b[k] == wb && c[k] == wc && d[k] == wd && f[k] == wf,
                  "%s of %lld: %a %a %a %a %a", s, (long long)l, (double)a[k], (double)b[k],
                  (double)c[k], (double)d[k], f[k]);
            CHECK(e[k] == we || (isnan(e[k]) && isnan(we)), "__double2float_%s(%a): %a, not %a", s,
                  r, (double)e[k], (double)we);
        }
        for (size_t k = 0; k < COUNT(z); k++)
            kiln_array_release(z[k]);
        kiln_array_release(in);
        kiln_array_release(reals);
        kiln_elementwise_destroy(kernel);
    }
}

/* C's own result under a rounding mode; volatile, for compilers do not know that the mode moved. */
static float directed(char what, float x, float y, int rounding)
{
    volatile float a = x, b = y, r;
    fesetround(rounding);
    r = what == '+' ? a + b : what == '*' ? a * b : what == '/' ? a / b : sqrtf(a);
    fesetround(FE_TONEAREST);
    return r;
}

static void test_prelude_words__arithmetic_takes_the_rounding_mode(void **state)
{
    test_env *t = *state;
    static float x[SAMPLES], y[SAMPLES], got[4][SAMPLES];
    for (size_t k = 0; k < SAMPLES; k++) { /* far from overflow and from subnormal numbers */
        x[k] = (float)ldexp((double)(1 + test_random_below(t, 1 << 24)), -12);
        y[k] = (float)ldexp((double)(1 + test_random_below(t, 1 << 24)), -20);
        if (test_random_below(t, 2))
            y[k] = -y[k];
    }
    for (size_t m = 1; m < COUNT(modes); m++) {
        char op[256];
        const char *s = modes[m].suffix;
        kiln_elementwise *kernel = NULL;
        kiln_array *in[2] = {array_of(t, KILN_FLOAT32, x), array_of(t, KILN_FLOAT32, y)};
        kiln_array *z[4] = {NULL};
        snprintf(
            op, sizeof op,
            "a = __fadd_%s(x, y); b = __fmul_%s(x, y); c = __fdiv_%s(x, y); d = __fsqrt_%s(x);", s,
            s, s, s);
        OK(t, kiln_elementwise_create(t->ctx, "float32 x, float32 y",
                                      "float32 a, float32 b, float32 c, float32 d", op, NULL,
                                      &kernel, &t->err));
        OK(t, kiln_call(kernel, &t->err, in[0], in[1], &z[0], &z[1], &z[2], &z[3]));
        for (size_t k = 0; k < COUNT(z); k++) {
            OK(t, kiln_array_to_host(z[k], got[k], sizeof got[k], NULL, &t->err));
            kiln_array_release(z[k]);
        }
        for (size_t k = 0; k < SAMPLES; k++) {
            for (int what = 0; what < 4; what++) {
                const float want = directed("+*/r"[what], x[k], y[k], modes[m].c);
                CHECK(got[what][k] == want, "%c_%s(%a, %a): %a, not %a", "+*/r"[what], s,
                      (double)x[k], (double)y[k], (double)got[what][k], (double)want);
            }
        }
        kiln_array_release(in[0]);
        kiln_array_release(in[1]);
        kiln_elementwise_destroy(kernel);
    }
}

/* ---- atomics --------------------------------------------------------------------------------- */

/* Enough elements for several threads to meet at the one that they all change. */
enum { MEETINGS = 200000 };

/* Run `op` for i = 0..MEETINGS-1 on one element that starts as `start`; its value afterwards. */
static double accumulate(test_env *t, const char *type, double start, const char *op)
{
    const int64_t shape = 1;
    char out[64];
    double result;
    kiln_dtype dtype = kiln_dtype_from_name(type, strlen(type));
    kiln_array *r = NULL, *wide = NULL;
    kiln_elementwise *kernel = NULL;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_arg arg;

    snprintf(out, sizeof out, "raw %s r", type);
    OK(t, kiln_array_full(t->ctx, dtype, 1, &shape, start, &r, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "", out, op, NULL, &kernel, &t->err));
    call.has_size = true;
    call.size = MEETINGS;
    arg = kiln_arg_array(r);
    OK(t, kiln_elementwise_run(kernel, &arg, 1, &call, &t->err));
    OK(t, kiln_array_cast(r, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, &result, sizeof result, NULL, &t->err));
    kiln_array_release(wide);
    kiln_array_release(r);
    kiln_elementwise_destroy(kernel);
    return result;
}

static void test_prelude_words__atomics_lose_nothing(void **state)
{
    /* 200000 is 3 more than a multiple of 7; i % 7 sums up to 599994. */
    static const struct {
        const char *type;
        double start;
        const char *op;
        double want;
    } rows[] = {
        {"int32", 5, "atomicAdd(&r[0], (int)(i % 7))", 599999},
        {"uint32", 0, "atomicAdd(&r[0], 2)", 400000},
        {"int64", 0, "atomicAdd(&r[0], -3)", -600000},
        {"uint64", 1, "atomicAdd(&r[0], 1ull << 20)", 1 + 200000 * 0x1p20},
        {"float32", 0, "atomicAdd(&r[0], 0.5f)", 100000},
        {"float64", 0, "atomicAdd(&r[0], 0.25)", 50000},
        {"float16", 0, "if (i % 200 == 0) atomicAdd(&r[0], T1(1))", 1000},
        {"bfloat16", 0, "if (i % 1000 == 0) atomicAdd(&r[0], 1)", 200},
        {"complex64", 0, "atomicAdd(&r[0], complex<float>(2, 1))", 400000},
        {"int32", 0, "atomicSub(&r[0], (int)(i % 7))", -599994},
        {"int32", 7, "atomicMax(&r[0], (int)i)", 199999},
        {"int32", 7, "atomicMin(&r[0], -(int)i)", -199999},
        {"uint32", 7, "atomicMax(&r[0], (unsigned)i)", 199999},
        {"int64", 7, "atomicMin(&r[0], -i)", -199999},
        {"float32", 7, "atomicMax(&r[0], i * 0.5f)", 99999.5},
        {"float64", 7, "atomicMin(&r[0], i * -0.5)", -99999.5},
        {"float16", 7, "atomicMax(&r[0], T1(i % 1000))", 999},
        {"uint32", 0, "atomicInc(&r[0], 6u)", 3},
        {"uint32", 3, "atomicDec(&r[0], 6u)", 0},
        {"uint32", 0xffff, "atomicAnd(&r[0], ~(1u << (i % 8)))", 0xff00},
        {"uint32", 0, "atomicOr(&r[0], 1u << (i % 20))", 0xfffff},
        {"uint32", 9, "atomicXor(&r[0], (unsigned)i)", 9}, /* 0 ^ 1 ^ ... ^ 199999 is 0 */
        {"uint64", 0, "atomicOr(&r[0], 1ull << (i % 40))", 0x1p40 - 1},
        {"int32", 1, "atomicCAS(&r[0], (int)(i == 77777), 42)", 42},
        {"float32", 1, "atomicExch(&r[0], 4.5f)", 4.5},
        {"int64", 1, "atomicExch(&r[0], -9ll)", -9},
    };
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(rows); k++) {
        char op[160];
        const double want = rows[k].want;
        snprintf(op, sizeof op, "typedef float16 T1; %s", rows[k].op);
        const double got = accumulate(t, rows[k].type, rows[k].start, op);
        CHECK(got == want, "%s: %s: expected %.17g, got %.17g", rows[k].type, op, want, got);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_prelude_words__constants_are_those_of_c),
        TEST(test_prelude_words__types_have_their_sizes_and_signs),
        TEST(test_prelude_words__integer_intrinsics_give_what_cuda_documents),
        TEST(test_prelude_words__mixed_types_choose_the_overload_that_c_would),
        TEST(test_prelude_words__fast_mathematics_keeps_special_values),
        TEST(test_prelude_words__conversions_to_integers_round_and_saturate),
        TEST(test_prelude_words__conversions_to_floats_take_the_rounding_mode),
        TEST(test_prelude_words__arithmetic_takes_the_rounding_mode),
        TEST(test_prelude_words__atomics_lose_nothing),
    };
    return test_env_main(argc, argv, "test_prelude_words", tests, COUNT(tests));
}
