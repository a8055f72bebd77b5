/*
 * test_types.c - how arguments decide dtypes, and what scalars become.
 *
 * Expected elements come from NumPy (data/make_scalars.py), bindings by hand from the rules in
 * src/codegen/types.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend.h"
#include "test_data.h"

static kiln__given array_of(kiln_dtype dtype)
{
    return (kiln__given){.kind = KILN__GIVEN_ARRAY, .dtype = dtype};
}

static kiln__given integer(int64_t v)
{
    return (kiln__given){.kind = KILN__GIVEN_INT, .value.i = v};
}

static kiln__given natural(uint64_t v)
{
    return (kiln__given){.kind = KILN__GIVEN_UINT, .value.u = v};
}

static kiln__given floating(double v)
{
    return (kiln__given){.kind = KILN__GIVEN_FLOAT, .value.f = v};
}

static kiln__given boolean(bool v)
{
    return (kiln__given){.kind = KILN__GIVEN_BOOL, .value.b = v};
}

static kiln__given complex_of(double re, double im)
{
    return (kiln__given){.kind = KILN__GIVEN_COMPLEX, .value.c = {re, im}};
}

static const kiln__given NOTHING = {.kind = KILN__GIVEN_NOTHING};

/* The dtypes bound for a signature, as "int64 float32 ". */
static void check_bound(const char *in, const char *out, const kiln__given *given, const char *want)
{
    kiln__definition *def = define(in, out, "");
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln__buf got = KILN__BUF_INIT;
    kiln_status status = kiln__bind_types(def, given, dtypes, &err);

    if (status != KILN_OK)
        print_error("(%s) -> (%s): %s\n", in, out, err.message);
    assert_int_equal(status, KILN_OK);
    for (size_t p = 0; p < def->param_count; p++)
        kiln__buf_printf(&got, "%s ", kiln_dtype_name(dtypes[p]));
    assert_string_equal(got.text, want);
    kiln__buf_clear(&got);
    kiln__definition_destroy(def);
}

#define BOUND(in, out, want, ...) check_bound(in, out, (const kiln__given[]){__VA_ARGS__}, want)

/* A refusal; its message must hold every one of the texts that follow. */
static void check_refused(const char *in, const char *out, const kiln__given *given,
                          kiln_status want, const char *const *texts)
{
    kiln__definition *def = define(in, out, "");
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln__bind_types(def, given, dtypes, &err);

    assert_int_equal(status, want);
    assert_int_equal(err.status, want);
    assert_non_null(err.detail);
    assert_non_null(strstr(err.message, "kernel \"k\": "));
    for (; *texts != NULL; texts++) {
        if (strstr(err.message, *texts) == NULL && strstr(err.detail, *texts) == NULL)
            print_error("missing \"%s\" in: %s\n%s\n", *texts, err.message, err.detail);
        assert_true(strstr(err.message, *texts) != NULL || strstr(err.detail, *texts) != NULL);
    }
    assert_int_equal(kiln__bind_types(def, given, dtypes, NULL), want);
    kiln_error_clear(&err);
    kiln__definition_destroy(def);
}

#define GIVEN(...) ((const kiln__given[]){__VA_ARGS__})
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- arrays ---- */

static void test_types__arrays_bind_placeholders(void **state)
{
    (void)state;
    for (int d = 1; d < KILN_DTYPE_COUNT; d++) {
        char want[64];
        snprintf(want, sizeof want, "%s %s ", kiln_dtype_name((kiln_dtype)d),
                 kiln_dtype_name((kiln_dtype)d));
        BOUND("T x", "T z", want, array_of((kiln_dtype)d), NOTHING);
        BOUND("raw T x", "T z", want, array_of((kiln_dtype)d), NOTHING);
    }
    BOUND("T x, S y", "S z, T w", "int8 float16 float16 int8 ", array_of(KILN_INT8),
          array_of(KILN_FLOAT16), NOTHING, NOTHING);
    BOUND("float32 x, T y", "bool z", "float32 int64 bool ", array_of(KILN_FLOAT32),
          array_of(KILN_INT64), NOTHING);
    BOUND("", "T z", "complex64 ", array_of(KILN_COMPLEX64));
    BOUND("", "float64 z", "float64 ", NOTHING);
    BOUND("raw T x, int32 n", "", "uint8 int32 ", array_of(KILN_UINT8), integer(3));
}

static void test_types__given_outputs_bind_first(void **state)
{
    (void)state;
    BOUND("S x", "T z", "int8 float32 ", array_of(KILN_INT8), array_of(KILN_FLOAT32));
    BOUND("T a", "T z", "float32 float32 ", floating(2.5), array_of(KILN_FLOAT32));
    BOUND("T a", "T z, T w", "float32 float32 float32 ", integer(2), NOTHING,
          array_of(KILN_FLOAT32));
    /* The input is blamed, for the output came first. */
    check_refused("T x", "T z", GIVEN(array_of(KILN_INT8), array_of(KILN_FLOAT32)), KILN_ERR_DTYPE,
                  TEXTS("argument 1 (`x`) has dtype int8, but T is float32, bound by argument 2 "
                        "(`z`)",
                        "T x\n^~~"));
}

static void test_types__arrays_must_agree(void **state)
{
    (void)state;
    check_refused("T x, T y", "T z", GIVEN(array_of(KILN_FLOAT64), array_of(KILN_FLOAT32), NOTHING),
                  KILN_ERR_DTYPE,
                  TEXTS("argument 2 (`y`) has dtype float32, but T is float64, bound by argument 1 "
                        "(`x`)",
                        "T x, T y\n     ^~~"));
    check_refused("T x, float32 a", "T z",
                  GIVEN(array_of(KILN_FLOAT64), array_of(KILN_FLOAT64), NOTHING), KILN_ERR_DTYPE,
                  TEXTS("argument 2 (`a`) has dtype float64, but is declared as float32"));
    check_refused("T x", "int32 z, T w",
                  GIVEN(array_of(KILN_FLOAT64), array_of(KILN_UINT32), NOTHING), KILN_ERR_DTYPE,
                  TEXTS("argument 2 (`z`) has dtype uint32, but is declared as int32",
                        "int32 z, T w\n^~~~~~~"));
    check_refused("T x", "T z, T w",
                  GIVEN(array_of(KILN_FLOAT64), array_of(KILN_INT8), array_of(KILN_INT16)),
                  KILN_ERR_DTYPE,
                  TEXTS("argument 3 (`w`) has dtype int16, but T is int8, bound by argument 2"));
}

static void test_types__open_placeholders_are_named(void **state)
{
    (void)state;
    check_refused("T x", "S z", GIVEN(array_of(KILN_INT8), NOTHING), KILN_ERR_UNBOUND,
                  TEXTS("argument 2 (`z`) has type S, which no argument decides", "S z\n^~~"));
    check_refused("", "T z", GIVEN(NOTHING), KILN_ERR_UNBOUND, TEXTS("argument 1 (`z`)"));
}

static void test_types__scalars_cannot_be_outputs(void **state)
{
    (void)state;
    check_refused("raw _non_const T x", "T z", GIVEN(floating(1), NOTHING), KILN_ERR_ARGUMENT,
                  TEXTS("argument 1 (`x`) is a scalar, and a raw input that is indexed or written "));
    check_refused("T x", "raw T z", GIVEN(floating(1), floating(1)), KILN_ERR_ARGUMENT,
                  TEXTS("argument 2 (`z`) is a scalar, and an output needs an array"));
    check_refused("T x", "T z", GIVEN(floating(1), integer(0)), KILN_ERR_ARGUMENT,
                  TEXTS("argument 2 (`z`) is a scalar, and an output needs an array"));
    check_refused("T x", "T z", GIVEN(NOTHING, NOTHING), KILN_ERR_ARGUMENT,
                  TEXTS("argument 1 (`x`) is an input"));
}

/* ---- scalars bind ---- */

static void test_types__scalars_bind_what_is_left(void **state)
{
    (void)state;
    BOUND("T a", "T z", "bool bool ", boolean(true), NOTHING);
    BOUND("T a", "T z", "int64 int64 ", integer(-3), NOTHING);
    BOUND("T a", "T z", "int64 int64 ", natural(3), NOTHING);
    BOUND("T a", "T z", "int64 int64 ", natural(INT64_MAX), NOTHING);
    BOUND("T a", "T z", "uint64 uint64 ", natural((uint64_t)INT64_MAX + 1), NOTHING);
    BOUND("T a", "T z", "float64 float64 ", floating(1), NOTHING);
    BOUND("T a", "T z", "complex128 complex128 ", complex_of(1, 0), NOTHING);
    BOUND("T a, S b", "T z", "int64 float64 int64 ", integer(1), floating(1), NOTHING);
    /* Arrays decide, wherever they stand. */
    BOUND("T a, T x", "T z", "int8 int8 int8 ", integer(1), array_of(KILN_INT8), NOTHING);
    BOUND("T x, T a", "T z", "float16 float16 float16 ", array_of(KILN_FLOAT16), integer(1),
          NOTHING);
    BOUND("float32 a", "float32 z", "float32 float32 ", floating(0.1), NOTHING);
}

static void test_types__the_widest_scalar_binds(void **state)
{
    /* From narrow to wide, by NumPy's order of kinds; uint64 only when int64 is too small. */
    const kiln__given values[] = {boolean(true), integer(1), natural(UINT64_MAX), floating(1.5),
                                  complex_of(1, 2)};
    static const kiln_dtype DTYPES[] = {KILN_BOOL, KILN_INT64, KILN_UINT64, KILN_FLOAT64,
                                        KILN_COMPLEX128};

    (void)state;
    for (size_t a = 0; a < KILN_COUNT_OF(values); a++) {
        for (size_t b = 0; b < KILN_COUNT_OF(values); b++) {
            const char *name = kiln_dtype_name(DTYPES[a > b ? a : b]);
            char want[64];

            snprintf(want, sizeof want, "%s %s %s ", name, name, name);
            BOUND("T a, T b", "T z", want, values[a], values[b], NOTHING);
        }
    }
    check_refused("T a, T b", "T z", GIVEN(integer(-1), natural(UINT64_MAX), NOTHING),
                  KILN_ERR_RANGE, TEXTS("argument 1 (`a`) is -1, and uint64 holds 0 to"));
}

static void test_types__unfit_scalars_are_refused_when_types_are_bound(void **state)
{
    (void)state;
    check_refused("T x, T a", "T z", GIVEN(array_of(KILN_UINT8), integer(-1), NOTHING),
                  KILN_ERR_RANGE,
                  TEXTS("argument 2 (`a`) is -1, and uint8 holds 0 to 255", "T x, T a\n     ^~~"));
    check_refused("int8 a", "T z", GIVEN(integer(128), array_of(KILN_INT8)), KILN_ERR_RANGE,
                  TEXTS("is 128, and int8 holds -128 to 127"));
    check_refused("int32 a", "int32 z", GIVEN(floating(2.5), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is 2.5, a floating-point number, and int32 takes integers only; pass an "
                        "integer"));
    check_refused("bool a", "int32 z", GIVEN(floating(1), NOTHING), KILN_ERR_RANGE,
                  TEXTS("bool takes true or false; pass a bool"));
    check_refused("bool a", "int32 z", GIVEN(integer(2), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is 2, and bool holds 0 to 1"));
    check_refused("float32 a", "int32 z", GIVEN(complex_of(1, -2), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is (1-2j), a complex number, and float32 takes real ones only"));
    check_refused("float16 a", "int32 z", GIVEN(integer(70000), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is 70000, which is too large for float16"));
    check_refused("complex64 a", "int32 z", GIVEN(complex_of(0, 1e39), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is (0+1e+39j)", "too large for complex64"));
    check_refused("uint64 a", "int32 z", GIVEN(integer(INT64_MIN), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is -9223372036854775808, and uint64 holds 0 to 18446744073709551615"));
    check_refused("int64 a", "int32 z", GIVEN(natural(UINT64_MAX), NOTHING), KILN_ERR_RANGE,
                  TEXTS("is 18446744073709551615, and int64 holds -9223372036854775808 to "
                        "9223372036854775807"));
}

/* ---- scalars convert ---- */

static kiln__given read_value(const char *kind, const char *text)
{
    char *end = NULL;
    double re = 0;

    if (strcmp(kind, "bool") == 0)
        return boolean(text[0] == '1');
    if (strcmp(kind, "int") == 0)
        return integer(strtoll(text, NULL, 10));
    if (strcmp(kind, "uint") == 0)
        return natural(strtoull(text, NULL, 10));
    re = strtod(text, &end);
    return strcmp(kind, "float") == 0 ? floating(re) : complex_of(re, strtod(end + 1, NULL));
}

static bool is_nan_of(kiln_dtype dtype, const unsigned char *bytes)
{
    uint16_t half = 0;
    float f = 0;
    double d = 0;

    memcpy(&half, bytes, sizeof half);
    memcpy(&f, bytes, sizeof f);
    memcpy(&d, bytes, sizeof d);
    switch (dtype) {
    case KILN_FLOAT16:
        return isnan(kiln__float16_to_float(half));
    case KILN_BFLOAT16:
        return isnan(kiln__bfloat16_to_float(half));
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        return isnan(f);
    default:
        return isnan(d);
    }
}

static void check_conversion(const kiln__definition *def, const char *line)
{
    char kind[16], value[64], name[16], want[64], got[64] = "";
    kiln__scalar scalar;
    kiln__given given = NOTHING;
    kiln_dtype dtype = KILN_DTYPE_NONE;
    kiln_status status = KILN_OK;

    assert_int_equal(sscanf(line, "%15s %63s %15s %63s", kind, value, name, want), 4);
    given = read_value(kind, value);
    dtype = kiln_dtype_from_name(name, strlen(name));
    memset(&scalar, 0xAA, sizeof scalar);
    status = kiln__convert_scalar(def, 0, &given, dtype, &scalar, NULL);
    if (status == KILN_ERR_RANGE) {
        snprintf(got, sizeof got, "range");
    } else if (status == KILN_OK && strcmp(want, "nan") == 0) {
        snprintf(got, sizeof got, "%s", is_nan_of(dtype, scalar.bytes) ? "nan" : "a number");
    } else if (status == KILN_OK) {
        for (size_t k = 0; k < kiln_dtype_size(dtype); k++)
            snprintf(got + 2 * k, sizeof got - 2 * k, "%02x", scalar.bytes[k]);
        for (size_t k = kiln_dtype_size(dtype); k < sizeof scalar.bytes; k++)
            assert_int_equal(scalar.bytes[k], 0); /* equal calls, equal blocks */
    }
    if (strcmp(got, want) != 0)
        print_error("%s -> %s\n", line, got);
    assert_string_equal(got, want);
}

static void test_types__scalars_become_what_numpy_makes_of_them(void **state)
{
    char path[1024], line[256];
    size_t rows = 0;
    kiln__definition *def = define("T x", "", "");
    FILE *file = fopen(test_data("data/scalars.txt", path, sizeof path), "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        check_conversion(def, line);
        rows++;
    }
    fclose(file);
    assert_true(rows > 1000);
    kiln__definition_destroy(def);
}

static void test_types__integers_to_float32_round_as_c_does(void **state)
{
    kiln__definition *def = define("T x", "", "");
    uint64_t seed = 12345;

    (void)state;
    for (int k = 0; k < 20000; k++) {
        kiln__given given = NOTHING;
        kiln__scalar scalar;
        float got = 0;
        double got64 = 0;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        given = integer((int64_t)(seed ^ (seed >> 31)) >> (k % 60));
        assert_int_equal(kiln__convert_scalar(def, 0, &given, KILN_FLOAT32, &scalar, NULL),
                         KILN_OK);
        memcpy(&got, scalar.bytes, sizeof got);
        assert_true(got == (float)given.value.i);
        assert_int_equal(kiln__convert_scalar(def, 0, &given, KILN_FLOAT64, &scalar, NULL),
                         KILN_OK);
        memcpy(&got64, scalar.bytes, sizeof got64);
        assert_true(got64 == (double)given.value.i);
    }
    kiln__definition_destroy(def);
}

static void test_types__what_is_no_scalar_cannot_be_converted(void **state)
{
    kiln__definition *def = define("T x", "", "");
    kiln__scalar scalar;
    kiln__given array = array_of(KILN_INT8), one = integer(1);

    (void)state;
    assert_int_equal(kiln__convert_scalar(def, 0, &array, KILN_INT8, &scalar, NULL),
                     KILN_ERR_ARGUMENT);
    assert_int_equal(kiln__convert_scalar(def, 0, &NOTHING, KILN_INT8, &scalar, NULL),
                     KILN_ERR_ARGUMENT);
    assert_int_equal(kiln__convert_scalar(def, 0, &one, KILN_DTYPE_NONE, &scalar, NULL),
                     KILN_ERR_INTERNAL);
    assert_int_equal(
        kiln__convert_scalar(def, 0, &one, (kiln_dtype)KILN_DTYPE_COUNT, &scalar, NULL),
        KILN_ERR_INTERNAL);
    kiln__definition_destroy(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types__arrays_bind_placeholders),
        cmocka_unit_test(test_types__given_outputs_bind_first),
        cmocka_unit_test(test_types__arrays_must_agree),
        cmocka_unit_test(test_types__open_placeholders_are_named),
        cmocka_unit_test(test_types__scalars_cannot_be_outputs),
        cmocka_unit_test(test_types__scalars_bind_what_is_left),
        cmocka_unit_test(test_types__the_widest_scalar_binds),
        cmocka_unit_test(test_types__unfit_scalars_are_refused_when_types_are_bound),
        cmocka_unit_test(test_types__scalars_become_what_numpy_makes_of_them),
        cmocka_unit_test(test_types__integers_to_float32_round_as_c_does),
        cmocka_unit_test(test_types__what_is_no_scalar_cannot_be_converted),
    };

    return cmocka_run_group_tests_name("test_types", tests, NULL, NULL);
}
