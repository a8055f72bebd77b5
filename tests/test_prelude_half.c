/*
 * test_prelude_half.c - float16 and bfloat16 in snippets: every value decoded, every rounding
 * boundary encoded, and arithmetic in float that is rounded when it is assigned.
 *
 * Expected values are computed here in double, by ldexp() and nearbyint(), from the definition of
 * the two formats; nothing is shared with the library.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half_format.h"
#include "test_env.h"

/* Run `op` over host arrays x and y (y may be NULL) of `in_dtype`; out gets `count` elements. */
static void run(test_env *t, const char *op, kiln_dtype in_dtype, const void *x, const void *y,
                size_t count, kiln_dtype out_dtype, void *out)
{
    const int64_t shape = (int64_t)count;
    char in_text[64], out_text[64];
    kiln_array *arrays[3] = {NULL, NULL, NULL};
    kiln_elementwise *kernel = NULL;

    snprintf(in_text, sizeof in_text, y != NULL ? "%s x, %s y" : "%s x", kiln_dtype_name(in_dtype),
             kiln_dtype_name(in_dtype));
    snprintf(out_text, sizeof out_text, "%s z", kiln_dtype_name(out_dtype));
    OK(t, kiln_elementwise_create(t->ctx, in_text, out_text, op, NULL, &kernel, &t->err));
    OK(t, kiln_array_from_host(t->ctx, in_dtype, 1, &shape, x, NULL, &arrays[0], &t->err));
    if (y != NULL) {
        OK(t, kiln_array_from_host(t->ctx, in_dtype, 1, &shape, y, NULL, &arrays[1], &t->err));
        OK(t, kiln_call(kernel, &t->err, arrays[0], arrays[1], &arrays[2]));
    } else {
        OK(t, kiln_call(kernel, &t->err, arrays[0], &arrays[2]));
    }
    OK(t, kiln_array_to_host(arrays[2], out, count * kiln_dtype_size(out_dtype), NULL, &t->err));
    for (size_t k = 0; k < COUNT(arrays); k++)
        kiln_array_release(arrays[k]);
    kiln_elementwise_destroy(kernel);
}

static uint16_t *all_codes(void)
{
    uint16_t *codes = malloc(CODES * sizeof *codes);
    assert_non_null(codes);
    for (int k = 0; k < CODES; k++)
        codes[k] = (uint16_t)k;
    return codes;
}

static void test_prelude_half__every_code_becomes_its_float(void **state)
{
    test_env *t = *state;
    uint16_t *codes = all_codes();
    float *got = malloc(CODES * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++) {
        run(t, "z = x", formats[f].dtype, codes, NULL, CODES, KILN_FLOAT32, got);
        for (int k = 0; k < CODES; k++)
            CHECK(same(got[k], decode(&formats[f], (uint16_t)k)), "%s %#06x is %a, got %a",
                  formats[f].name, k, decode(&formats[f], (uint16_t)k), (double)got[k]);
    }
    free(got);
    free(codes);
}

static void check_rounded(const format *f, const double *x, const uint16_t *got, size_t count,
                          const char *from)
{
    for (size_t k = 0; k < count; k++)
        CHECK(same(decode(f, got[k]), round_to(f, x[k])), "%s(%s %a) is %a, got %a", f->name, from,
              x[k], round_to(f, x[k]), decode(f, got[k]));
}

/* Each value, the middle between it and the next one, and what lies just beside that middle. */
static size_t boundaries(const format *f, double nudge, double *x)
{
    size_t count = 0;
    for (int k = 0; k < CODES; k++) {
        const double v = decode(f, (uint16_t)k);
        double next = decode(f, (uint16_t)(k + 1));
        if (!isfinite(v)) {
            x[count++] = v;
            continue;
        }
        if (!isfinite(next)) /* where infinity begins, as if the exponents went on */
            next = copysign(ldexp(1, ilogb(f->most) + 1), v);
        const double middle = (v + next) / 2;
        x[count++] = v;
        x[count++] = middle;
        x[count++] = middle * (1 + nudge);
        x[count++] = middle * (1 - nudge);
    }
    return count;
}

static void test_prelude_half__floats_and_doubles_are_rounded_once_to_nearest_even(void **state)
{
    test_env *t = *state;
    double *x = malloc(4 * CODES * sizeof *x);
    float *narrow = malloc(4 * CODES * sizeof *narrow);
    uint16_t *got = malloc(4 * CODES * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++) {
        size_t count = boundaries(&formats[f], 0x1p-23, x);
        for (size_t k = 0; k < count; k++) {
            narrow[k] = (float)x[k];
            x[k] = narrow[k]; /* what cannot be a float is judged as the float it becomes */
        }
        run(t, "z = x", KILN_FLOAT32, narrow, NULL, count, formats[f].dtype, got);
        check_rounded(&formats[f], x, got, count, "float");
        count = boundaries(&formats[f], 0x1p-50, x); /* a float would lose the nudge */
        run(t, "z = x", KILN_FLOAT64, x, NULL, count, formats[f].dtype, got);
        check_rounded(&formats[f], x, got, count, "double");
    }
    free(got);
    free(narrow);
    free(x);
}

static void test_prelude_half__integers_are_rounded_once(void **state)
{
    static const int64_t x[] = {
        0, 1, -1, 255, 257, 258, 259, -259, 2049, 2051, 65519, 65520, -65519, 16777217,
        /* halfway for bfloat16 but for the last digit, which float and double drop */
        0x40400000, 0x4040000000000001, 0x40C0000000000000, 0x40BFFFFFFFFFFFFF, -0x4040000000000001,
        0x4040000000000000, INT64_MAX, INT64_MIN, 0x7F80000000000000, 0x7F7FFFFFFFFFFFFF,
        0x20200000000001, 0x2020000000000000};
    test_env *t = *state;
    uint16_t got[COUNT(x)];
    for (size_t f = 0; f < COUNT(formats); f++) {
        run(t, "z = x", KILN_INT64, x, NULL, COUNT(x), formats[f].dtype, got);
        for (size_t k = 0; k < COUNT(x); k++) {
            /* Correct to 64 digits, in which an int64 is exact. */
            long double v = x[k], scale = 1;
            while (fabsl(v) >= 0x1p40L) {
                v /= 2;
                scale *= 2;
            }
            const int drop = fabsl(v) < 1 ? 0 : ilogbl(v) + 1 - formats[f].digits;
            long double r = ldexpl(nearbyintl(ldexpl(v, -drop)), drop) * scale;
            if (fabsl(r) > (long double)formats[f].most)
                r = copysignl(INFINITY, r);
            CHECK(decode(&formats[f], got[k]) == (double)r, "%s(%lld) is %a, got %a",
                  formats[f].name, (long long)x[k], (double)r, decode(&formats[f], got[k]));
        }
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The product of two 16-bit floats is exact in float, so a fused operation changes nothing. */
static double muladd(const format *f, double x, double y)
{
    return round_to(f, (float)x * (float)y + 1);
}

static double sum_and_back(const format *f, double x, double y)
{
    const volatile float sum = (float)x + (float)y;
    return round_to(f, sum - (float)y);
}

static double assigned_between(const format *f, double x, double y)
{
    return round_to(f, (float)round_to(f, (float)x + (float)y) - (float)y);
}

static double quotient(const format *f, double x, double y)
{
    return round_to(f, x / y);
}

static double difference(const format *f, double x, double y)
{
    return round_to(f, x - y);
}

static double larger(const format *f, double x, double y)
{
    (void)f;
    return isnan(x) || x < y ? y : isnan(y) || y < x ? x : signbit(x) ? y : x;
}

static double leaky(const format *f, double x, double y)
{
    return x > 0 ? x : round_to(f, (float)x * (float)y - 1);
}

static double weighted(const format *f, double x, double y)
{
    return round_to(f, 2.5 * x + 0.25 * y); /* in double, for the literals are */
}

static double stepped(const format *f, double x, double y)
{
    const double sum = round_to(f, x + y), doubled = round_to(f, sum * 2);
    return round_to(f, doubled - 1);
}

static void test_prelude_half__arithmetic_is_rounded_when_it_is_assigned(void **state)
{
    static const struct {
        const char *op;
        double (*want)(const format *f, double x, double y);
    } rows[] = {
        {"z = x * y + T(1)", muladd},
        {"z = x / y", quotient},
        {"z = x - y", difference},
        {"z = max(x, y)", larger},
        {"z = (x + y) - y", sum_and_back},
        {"T sum = x + y; z = sum - y", assigned_between},
        {"z = x + y; z -= y", assigned_between},
        {"auto sum = x + y; z = sum - y", sum_and_back},
        {"z = x > 0 ? x : T(x * y - 1)", leaky},
        {"z = x > 0 ? min(x, INFINITY) : x * y - 1", leaky},
        {"z = x * 2.5 + y * 0.25", weighted},
        {"z = x; z += y; z *= 2; --z", stepped},
    };
    enum { PAIRS = 1 << 16 };
    test_env *t = *state;
    uint16_t *x = malloc(PAIRS * sizeof *x), *y = malloc(PAIRS * sizeof *y);
    uint16_t *got = malloc(PAIRS * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++) {
        for (int k = 0; k < PAIRS; k++) {
            x[k] = (uint16_t)k;
            y[k] = (uint16_t)test_random(t);
        }
        for (size_t r = 0; r < COUNT(rows); r++) {
            char op[128];
            snprintf(op, sizeof op, "typedef %s T; %s", formats[f].name, rows[r].op);
            run(t, op, formats[f].dtype, x, y, PAIRS, formats[f].dtype, got);
            for (int k = 0; k < PAIRS; k++) {
                const double a = decode(&formats[f], x[k]), b = decode(&formats[f], y[k]);
                const double want = rows[r].want(&formats[f], a, b),
                             have = decode(&formats[f], got[k]);
                /* Which zero max() returns of two is open, in C as in CUDA. */
                CHECK(same(have, want) || (rows[r].want == larger && have == 0 && want == 0),
                      "%s: %s: x = %a, y = %a: expected %a, got %a", formats[f].name, rows[r].op, a,
                      b, want, have);
            }
        }
    }
    free(got);
    free(y);
    free(x);
}

/* A double beside a 16-bit float makes a double, as it does beside a float. */
static void test_prelude_half__wider_operands_decide_the_type(void **state)
{
    test_env *t = *state;
    uint16_t *codes = all_codes();
    double *got = malloc(CODES * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++) {
        run(t, "z = x * 0.1", formats[f].dtype, codes, NULL, CODES, KILN_FLOAT64, got);
        for (int k = 0; k < CODES; k++) {
            const double want = decode(&formats[f], (uint16_t)k) * 0.1;
            CHECK(same(got[k], want), "%s %#06x * 0.1 is %a, got %a", formats[f].name, k, want,
                  got[k]);
        }
        run(t, "z = 0.1f - x", formats[f].dtype, codes, NULL, CODES, KILN_FLOAT64, got);
        for (int k = 0; k < CODES; k++) {
            const float want = (float)(0.1f - decode(&formats[f], (uint16_t)k));
            CHECK(same(got[k], want), "0.1f - %s %#06x is %a, got %a", formats[f].name, k,
                  (double)want, got[k]);
        }
    }
    free(got);
    free(codes);
}

/* The function in double, rounded; a neighbour is allowed, for float comes in between. */
static void test_prelude_half__functions_are_rounded_to_the_type(void **state)
{
    static const struct {
        const char *op;
        double (*want)(double x);
    } rows[] = {{"z = exp(x)", exp},   {"z = sqrt(x)", sqrt},   {"z = tanh(x)", tanh},
                {"z = fabs(x)", fabs}, {"z = floor(x)", floor}, {"z = abs(x)", fabs}};
    test_env *t = *state;
    uint16_t *codes = all_codes(), *got = malloc(CODES * sizeof *got);
    for (size_t f = 0; f < COUNT(formats); f++) {
        for (size_t r = 0; r < COUNT(rows); r++) {
            run(t, rows[r].op, formats[f].dtype, codes, NULL, CODES, formats[f].dtype, got);
            for (int k = 0; k < CODES; k++) {
                const double x = decode(&formats[f], (uint16_t)k), exact = rows[r].want(x);
                const double want = round_to(&formats[f], exact),
                             have = decode(&formats[f], got[k]);
                const bool near =
                    isfinite(have) &&
                    fabs(have - exact) <= 0.505 * fabs(exact) * ldexp(2, -formats[f].digits);
                CHECK(same(have, want) || near, "%s: %s: x = %a: expected %a, got %a",
                      formats[f].name, rows[r].op, x, want, have);
            }
        }
    }
    free(got);
    free(codes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_prelude_half__every_code_becomes_its_float),
        TEST(test_prelude_half__floats_and_doubles_are_rounded_once_to_nearest_even),
        TEST(test_prelude_half__integers_are_rounded_once),
        TEST(test_prelude_half__arithmetic_is_rounded_when_it_is_assigned),
        TEST(test_prelude_half__wider_operands_decide_the_type),
        TEST(test_prelude_half__functions_are_rounded_to_the_type),
    };
    return test_env_main(argc, argv, "test_prelude_half", tests, COUNT(tests));
}
