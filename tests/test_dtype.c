/*
 * test_dtype.c - the names and facts of dtypes, and 16-bit floats against the formula of IEEE 754.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core.h"

/* ---- dtypes ---- */

static kiln_dtype from_name(const char *name)
{
    return kiln_dtype_from_name(name, strlen(name));
}

/* clang-format off */
static void test_dtype__facts(void **state)
{
    (void)state;
    /* numpy.dtype(name).itemsize and .kind */
    static const struct {
        kiln_dtype dtype;
        const char *name;
        size_t size;
        char kind;
    } table[] = {
        {KILN_BOOL, "bool", 1, 'b'},         {KILN_INT8, "int8", 1, 'i'},
        {KILN_INT16, "int16", 2, 'i'},       {KILN_INT32, "int32", 4, 'i'},
        {KILN_INT64, "int64", 8, 'i'},       {KILN_UINT8, "uint8", 1, 'u'},
        {KILN_UINT16, "uint16", 2, 'u'},     {KILN_UINT32, "uint32", 4, 'u'},
        {KILN_UINT64, "uint64", 8, 'u'},     {KILN_FLOAT16, "float16", 2, 'f'},
        {KILN_BFLOAT16, "bfloat16", 2, 'f'}, {KILN_FLOAT32, "float32", 4, 'f'},
        {KILN_FLOAT64, "float64", 8, 'f'},   {KILN_COMPLEX64, "complex64", 8, 'c'},
        {KILN_COMPLEX128, "complex128", 16, 'c'},
        {KILN_FLOAT8_E4M3FN, "float8_e4m3fn", 1, 'f'}, {KILN_FLOAT8_E5M2, "float8_e5m2", 1, 'f'},
    };

    /* clang-format on */
    assert_int_equal(KILN_COUNT_OF(table) + 1, KILN_DTYPE_COUNT);
    for (size_t k = 0; k < KILN_COUNT_OF(table); k++) {
        assert_string_equal(kiln_dtype_name(table[k].dtype), table[k].name);
        assert_int_equal(kiln_dtype_size(table[k].dtype), table[k].size);
        assert_int_equal(kiln_dtype_kind(table[k].dtype), table[k].kind);
        assert_int_equal(from_name(table[k].name), table[k].dtype);
        assert_int_equal(from_name(kiln_dtype_ctype(table[k].dtype)), table[k].dtype);
    }
    for (int bad = -1; bad <= KILN_DTYPE_COUNT; bad += KILN_DTYPE_COUNT + 1) {
        assert_string_equal(kiln_dtype_name((kiln_dtype)bad), "none");
        assert_int_equal(kiln_dtype_size((kiln_dtype)bad), 0);
        assert_int_equal(kiln_dtype_kind((kiln_dtype)bad), 0);
        assert_string_equal(kiln_dtype_ctype((kiln_dtype)bad), "void");
    }
    assert_string_equal(kiln_dtype_name(KILN_DTYPE_NONE), "none");
}

/* clang-format off */
static void test_dtype__names_of_c_and_numpy(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } table[] = {
        {"float", KILN_FLOAT32}, {"double", KILN_FLOAT64}, {"int", KILN_INT32},
        {"unsigned", KILN_UINT32}, {"unsigned int", KILN_UINT32}, {"uint", KILN_UINT32},
        {"signed", KILN_INT32}, {"signed int", KILN_INT32}, {"int signed", KILN_INT32},
        {"long", KILN_INT64}, {"long int", KILN_INT64}, {"unsigned long", KILN_UINT64},
        {"long long", KILN_INT64}, {"unsigned long long", KILN_UINT64},
        {"long unsigned int long", KILN_UINT64}, {"long\t \nlong", KILN_INT64},
        {"  long long int  ", KILN_INT64}, {"short", KILN_INT16}, {"short int", KILN_INT16},
        {"unsigned short", KILN_UINT16}, {"char", KILN_INT8}, {"signed char", KILN_INT8},
        {"unsigned char", KILN_UINT8}, {"char unsigned", KILN_UINT8}, {"bool", KILN_BOOL},
        {"_Bool", KILN_BOOL}, {"size_t", KILN_UINT64}, {"ptrdiff_t", KILN_INT64},
        {"std::size_t", KILN_UINT64}, {"int8_t", KILN_INT8}, {"int16_t", KILN_INT16},
        {"int32_t", KILN_INT32}, {"std::int64_t", KILN_INT64}, {"uint8_t", KILN_UINT8},
        {"uint16_t", KILN_UINT16}, {"uint32_t", KILN_UINT32}, {"uint64_t", KILN_UINT64},
        {"half", KILN_FLOAT16}, {"__half", KILN_FLOAT16}, {"float16", KILN_FLOAT16},
        {"__nv_fp8_e4m3", KILN_FLOAT8_E4M3FN}, {"__nv_fp8_e5m2", KILN_FLOAT8_E5M2},
        {"__nv_bfloat16", KILN_BFLOAT16}, {"bfloat16", KILN_BFLOAT16},
        {"complex<float>", KILN_COMPLEX64}, {"complex<double>", KILN_COMPLEX128},
        {"thrust::complex<float>", KILN_COMPLEX64},
        {" thrust :: complex < double > ", KILN_COMPLEX128},
        {"std::complex<float>", KILN_COMPLEX64}, {"cuda::std::complex<float>", KILN_COMPLEX64},
        {"::thrust::complex<float>", KILN_COMPLEX64}, {"bool_", KILN_BOOL}, {"f4", KILN_FLOAT32},
        {"c16", KILN_COMPLEX128}, {"i8", KILN_INT64}, {"u1", KILN_UINT8}, {"b1", KILN_BOOL},
        {"intp", KILN_INT64}, {"longlong", KILN_INT64}, {"ubyte", KILN_UINT8},
        {"csingle", KILN_COMPLEX64}, {"cdouble", KILN_COMPLEX128}, {"single", KILN_FLOAT32},
    };

    /* clang-format on */
    for (size_t k = 0; k < KILN_COUNT_OF(table); k++) {
        if (from_name(table[k].name) != table[k].dtype)
            fail_msg("'%s' gave %s", table[k].name, kiln_dtype_name(from_name(table[k].name)));
    }
    assert_int_equal(kiln_dtype_from_name("float32x", 7), KILN_FLOAT32);
    assert_int_equal(kiln_dtype_from_name("int\0x", 3), KILN_INT32);
}

static void test_dtype__names_that_stand_for_no_dtype(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        " ",
        "T",
        "flaot32",
        "Float32",
        "float32 ,",
        "float 32",
        "long long long",
        "long short",
        "short char",
        "char int",
        "signed unsigned",
        "unsigned unsigned",
        "int int",
        "long double",
        "long float",
        "unsigned float",
        "unsigned bool",
        "float float",
        "longlong int",
        "none",
        "void",
        "V2",
        "V1",
        "f1",
        "float8",
        "float128",
        "complex256",
        "complex<int>",
        "complex<float",
        "complex<>",
        "complex<float>>",
        "complex float>",
        "complex<float> x",
        "complex<long double>",
        "thrust::float",
        "std::float32",
        "other::complex<float>",
        "::float",
        "thrust::",
        "::",
        "cuda::complex<float>",
        "std::std::size_t",
        "a::int32_t",
        "std::_t",
        "<",
        "int32*",
        "int[4]",
        "object",
        "str",
        "datetime64",
    };

    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        if (from_name(names[k]) != KILN_DTYPE_NONE)
            fail_msg("'%s' gave %s", names[k], kiln_dtype_name(from_name(names[k])));
    }
    assert_int_equal(kiln_dtype_from_name(NULL, 0), KILN_DTYPE_NONE);
    assert_int_equal(kiln_dtype_from_name("int\0x", 5), KILN_DTYPE_NONE);
    assert_int_equal(kiln_dtype_from_name("int32", 0), KILN_DTYPE_NONE);
}

/* ---- 16-bit floats ---- */

/* The value of a 16-bit pattern by the formula of IEEE 754, in double. */
static double value_of(uint16_t v, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, highest = (1 << exponent_bits) - 1;
    int exponent = (v >> fraction_bits) & highest;
    int fraction = v & ((1 << fraction_bits) - 1);
    double size = 0;

    if (exponent == highest)
        size = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, 1 - bias - fraction_bits);
    else
        size = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return v >> 15 ? -size : size;
}

static void test_dtype__16_bit_floats_widen_exactly(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 65536; v++) {
        double half = value_of((uint16_t)v, 5, 10), brain = value_of((uint16_t)v, 8, 7);
        float got_half = kiln__float16_to_float((uint16_t)v);
        float got_brain = kiln__bfloat16_to_float((uint16_t)v);
        if (isnan(half) ? !isnan(got_half)
                        : (double)got_half != half || !signbit(got_half) != !signbit(half))
            fail_msg("float16 %04x gave %a, not %a", v, (double)got_half, half);
        if (isnan(brain) ? !isnan(got_brain)
                         : (double)got_brain != brain || !signbit(got_brain) != !signbit(brain))
            fail_msg("bfloat16 %04x gave %a, not %a", v, (double)got_brain, brain);
    }
}

typedef struct narrowing {
    int exponent_bits, fraction_bits;
    uint16_t (*from_double)(double v);
} narrowing;

static void check_narrowing(const narrowing *n, double v, unsigned expected)
{
    for (int negative = 0; negative < 2; negative++) {
        double signed_v = negative ? -v : v;
        unsigned wanted = expected | (negative ? 0x8000u : 0u);
        if (n->from_double(signed_v) != wanted)
            fail_msg("%a gave %04x, not %04x", signed_v, n->from_double(signed_v), wanted);
    }
}

/* Rounding is monotone, so it is right everywhere when it is right at each representable value, at
 * each midpoint (ties to even) and at the doubles and floats next to the midpoint. */
static void check_all_roundings(const narrowing *n)
{
    unsigned infinity = ((1u << n->exponent_bits) - 1u) << n->fraction_bits;

    for (unsigned v = 0; v < infinity; v++) {
        double here = value_of((uint16_t)v, n->exponent_bits, n->fraction_bits);
        /* Above the largest finite value comes what would be the next one: infinity's place. */
        double next =
            v + 1 < infinity
                ? value_of((uint16_t)(v + 1), n->exponent_bits, n->fraction_bits)
                : here + (here - value_of((uint16_t)(v - 1), n->exponent_bits, n->fraction_bits));
        double middle = here + (next - here) / 2;
        check_narrowing(n, here, v);
        check_narrowing(n, middle, v % 2 == 0 ? v : v + 1);
        check_narrowing(n, nextafter(middle, here), v);
        check_narrowing(n, nextafter(middle, next), v + 1);
        check_narrowing(n, (double)nextafterf((float)middle, (float)here), v);
        if (next <= (double)FLT_MAX)
            check_narrowing(n, (double)nextafterf((float)middle, (float)next), v + 1);
    }
    check_narrowing(n, (double)INFINITY, infinity);
    check_narrowing(n, 1e300, infinity);
    check_narrowing(n, 5e-324, 0);
    check_narrowing(n, 1e-300, 0);
}

static void test_dtype__16_bit_floats_round_once_to_nearest_even(void **state)
{
    (void)state;
    const narrowing half = {5, 10, kiln__float16_from_double};
    const narrowing brain = {8, 7, kiln__bfloat16_from_double};

    check_all_roundings(&half);
    check_all_roundings(&brain);
}

static void test_dtype__nan_stays_nan_in_16_bits(void **state)
{
    (void)state;
    /* Quiet, signalling with one low bit set, and negative. */
    static const uint64_t patterns[] = {UINT64_C(0x7FF8000000000000), UINT64_C(0x7FF0000000000001),
                                        UINT64_C(0xFFF8000000000000), UINT64_C(0xFFFFFFFFFFFFFFFF)};

    for (size_t k = 0; k < KILN_COUNT_OF(patterns); k++) {
        double v = 0;
        memcpy(&v, &patterns[k], sizeof v);
        assert_true(isnan(value_of(kiln__float16_from_double(v), 5, 10)));
        assert_true(isnan(value_of(kiln__bfloat16_from_double(v), 8, 7)));
        assert_int_equal(kiln__float16_from_double(v) >> 15, patterns[k] >> 63);
        assert_int_equal(kiln__bfloat16_from_double(v) >> 15, patterns[k] >> 63);
        assert_true(isnan(kiln__float16_to_float(kiln__float16_from_double(v))));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype__facts),
        cmocka_unit_test(test_dtype__names_of_c_and_numpy),
        cmocka_unit_test(test_dtype__names_that_stand_for_no_dtype),
        cmocka_unit_test(test_dtype__16_bit_floats_widen_exactly),
        cmocka_unit_test(test_dtype__16_bit_floats_round_once_to_nearest_even),
        cmocka_unit_test(test_dtype__nan_stays_nan_in_16_bits),
    };

    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
