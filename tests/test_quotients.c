/*
 * test_quotients.c - float32 elements divided by a number, which a GPU computes by a product and a correction: the
 * quotients of C, whatever is divided.
 *
 * The function runs on the cpu device as well, with all mantissas; graphs use it on CUDA devices, with a part of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { MANTISSAS = 1 << 23, SAMPLE = 1 << 15 };

/* Numbers for which the function is used; the greatest and the least mantissas are the hardest ones. */
static const char *const divisors[] = {"0.9",           "-0.7",           "3.0",           "0x1.fffffep0",
                                       "0x1.fffffcp58", "-0x1.000002p-59", "0x1.fffffap-60"};

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The bits of an exponent: in the middle, at both ends of the range, and where the function begins to divide. */
static uint32_t exponent_of(size_t k, float by)
{
    int of_by = 0;
    frexpf(by, &of_by);
    const int exponents[] = {127, 254, 255, 0, 1, of_by + 1, of_by + 2, of_by + 3, 26, 27, 28, of_by + 253};
    const int e = exponents[k % COUNT(exponents)];
    return (uint32_t)(e < 0 ? 0 : e > 255 ? 255 : e) << 23;
}

static void compare(const float *x, float by, const float *got, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const float want = x[k] / by;
        CHECK(memcmp(&got[k], &want, sizeof want) == 0 || (isnan(got[k]) && isnan(want)), "%a / %a is %a, not %a",
              (double)x[k], (double)by, (double)got[k], (double)want);
    }
}

/* All mantissas with one exponent and one sign, by the function itself. */
static void test_quotients__of_all_mantissas(void **state)
{
    static float xs[MANTISSAS], got[MANTISSAS];
    const int64_t extent[] = {MANTISSAS};
    test_env *t = *state;
    kiln_array *x = NULL, *z = NULL;
    char op[100];

    if (t->cuda) /* An emulated GPU would take minutes. */
        return;
    for (size_t d = 0; d < COUNT(divisors); d++) {
        const float by = strtof(divisors[d], NULL);
        kiln_elementwise *kernel = NULL;
        snprintf(op, sizeof op, "z = kiln_quotient_by(x, %af)", (double)by);
        OK(t, kiln_elementwise_create(t->ctx, "float32 x", "float32 z", op, NULL, &kernel, &t->err));
        for (size_t e = 0; e < 2; e++) { /* one of the middle, and another one */
            const uint32_t sign = (uint32_t)test_random_below(t, 2) << 31;
            const uint32_t high = exponent_of(e * (1 + test_random_below(t, 11)), by) | sign;
            for (uint32_t k = 0; k < MANTISSAS; k++)
                xs[k] = float_of(high | k);
            OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, extent, xs, NULL, &x, &t->err));
            OK(t, kiln_call(kernel, &t->err, x, &z));
            OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
            compare(xs, by, got, MANTISSAS);
            kiln_array_release(x), kiln_array_release(z);
            x = z = NULL;
        }
        kiln_elementwise_destroy(kernel);
    }
}

/* Some of the least, some of the greatest, then any. */
static uint32_t mantissa_of(test_env *t, uint32_t k)
{
    return k < 128 ? k / 16 : k < 256 ? MANTISSAS + 7 - k / 16 : (uint32_t)test_random_below(t, MANTISSAS);
}

/* Kernels of CUDA devices alone use the function, and only for the numbers that it is for. */
static void check_source(test_env *t, kiln_graph *g, kiln_array *x, bool is_for)
{
    kiln_array *z = NULL;
    char *source = NULL;

    OK(t, kiln_graph_source(g, KILN_ARGS(x, &z), 0, &source, &t->err));
    CHECK((t->cuda && is_for) == (strstr(source, " = kiln_quotient_by(") != NULL), "%s", source);
    kiln_free(source);
}

/* The quotients of graphs, by numbers of all kinds. */
static void test_quotients__of_graphs(void **state)
{
    static const char *const more[] = {"0.0", "-0.0", "1e-30", "-3e30", "1e-44", "4.0", "-0.125", "inf", "nan"};
    static float xs[SAMPLE], got[SAMPLE];
    const int64_t extent[] = {SAMPLE};
    test_env *t = *state;
    kiln_array *x = NULL, *z = NULL;

    for (size_t d = 0; d < COUNT(divisors) + COUNT(more); d++) {
        const float by = strtof(d < COUNT(divisors) ? divisors[d] : more[d - COUNT(divisors)], NULL);
        kiln_graph *g = NULL;
        OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
        kiln_graph_output(g, "z", kiln_divide(kiln_graph_input(g, "x"), (double)by));
        for (uint32_t k = 0; k < SAMPLE; k++)
            xs[k] = float_of(exponent_of(k, by) | (uint32_t)(test_random_below(t, 2) << 31) | mantissa_of(t, k));
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, extent, xs, NULL, &x, &t->err));
        check_source(t, g, x, d < COUNT(divisors));
        OK(t, kiln_call(g, &t->err, x, &z));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        compare(xs, by, got, SAMPLE);
        kiln_array_release(x), kiln_array_release(z);
        x = z = NULL;
        kiln_graph_destroy(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_quotients__of_all_mantissas),
        TEST(test_quotients__of_graphs),
    };
    return test_env_main(argc, argv, "test_quotients", tests, COUNT(tests));
}
