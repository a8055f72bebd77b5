/*
 * test_ops_values.c - what every operation gives for every dtype, against NumPy and SciPy.
 *
 * The operands are the interesting ones: NaN, infinities, both zeros, least and greatest values,
 * wide shifts, division by zero. A kernel computes some hundred cases (ops_data.h), so thousands of
 * combinations cost some ten compilations; each expression is what kiln__op_text() gives.
 *
 * KILN_TEST_TABLE=1 prints the largest error of each operation.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_data.h"
#include "test_env.h"

/* Compute cases of one length that are not done yet: a kernel's worth of them. */
static void run_some(test_env *t, table *d, size_t first, kiln_array *x, kiln_array *z)
{
    char *op = table_kernel(d, first);
    kiln_elementwise *kernel = NULL;
    kiln_elementwise_call_options opts = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    OK(t,
       kiln_elementwise_create(t->ctx, "raw uint8 x", "raw uint8 z", op, NULL, &kernel, &t->err));
    opts.has_size = true;
    opts.size = (int64_t)d->cases[first].count;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(z)};
    OK(t, kiln_elementwise_run(kernel, args, COUNT(args), &opts, &t->err));
    kiln_elementwise_destroy(kernel);
    kiln__free(op);
}

static unsigned char *run_all(test_env *t, table *d)
{
    kiln_array *x = NULL, *z = NULL;
    const int64_t shape = (int64_t)d->size;
    unsigned char *got = malloc(d->size);

    assert_non_null(got);
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &shape, d->bytes, NULL, &x, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_UINT8, 1, &shape, 0xa5, &z, &t->err));
    for (size_t k = 0; k < d->case_count; k++)
        if (!d->cases[k].done)
            run_some(t, d, k, x, z);
    OK(t, kiln_array_to_host(z, got, d->size, NULL, &t->err));
    kiln_array_release(x);
    kiln_array_release(z);
    return got;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* An element's parts as doubles; of integers the bits are compared instead. */
static int load_parts(kiln_dtype dtype, const unsigned char *at, double parts[2])
{
    float f[2];
    uint16_t h;
    switch (dtype) {
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
        memcpy(&h, at, 2);
        parts[0] = (double)(dtype == KILN_FLOAT16 ? kiln__float16_to_float(h)
                                                  : kiln__bfloat16_to_float(h));
        return 1;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        memcpy(f, at, kiln_dtype_size(dtype));
        parts[0] = (double)f[0];
        parts[1] = dtype == KILN_COMPLEX64 ? (double)f[1] : 0;
        return dtype == KILN_COMPLEX64 ? 2 : 1;
    default:
        memcpy(parts, at, kiln_dtype_size(dtype));
        return dtype == KILN_COMPLEX128 ? 2 : 1;
    }
}

/* One unit in the last place of a number of this size. */
static double ulp_of(kiln_dtype dtype, double v)
{
    int digits = 53, least = -1074, exponent = 0;
    switch (dtype) {
    case KILN_FLOAT16:
        digits = 11, least = -24;
        break;
    case KILN_BFLOAT16:
        digits = 8, least = -133;
        break;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        digits = 24, least = -149;
        break;
    default:
        break;
    }
    frexp(v, &exponent);
    exponent = v == 0 || exponent - digits < least ? least : exponent - digits;
    return ldexp(1, exponent);
}

/* The number behind the largest one, which a result rounded up by one unit becomes. */
static double overflow_of(kiln_dtype dtype)
{
    if (dtype == KILN_FLOAT64 || dtype == KILN_COMPLEX128)
        return INFINITY;
    return dtype == KILN_FLOAT16 ? 0x1p16 : 0x1p128;
}

/* Units in the last place between a number and an infinity. */
static double overflow_error(kiln_dtype dtype, double finite, double infinite)
{
    const double largest = nextafter(INFINITY, 0);
    if ((finite < 0) != (infinite < 0))
        return INFINITY;
    if (isinf(overflow_of(dtype)))
        return (largest - fabs(finite)) / ulp_of(dtype, largest) + 1;
    return (overflow_of(dtype) - fabs(finite)) / ulp_of(dtype, finite);
}

/* Units in the last place between two elements; infinite when only one is NaN, or one is infinite
 * and the other not next to it. */
static double error_of(kiln_dtype dtype, const unsigned char *got, const unsigned char *want)
{
    double g[2] = {0}, w[2] = {0}, size = 0, distance = 0;
    const char kind = kiln_dtype_kind(dtype);

    if (kind != 'f' && kind != 'c')
        return memcmp(got, want, kiln_dtype_size(dtype)) == 0 ? 0 : INFINITY;
    const int parts = load_parts(dtype, got, g);
    load_parts(dtype, want, w);
    for (int k = 0; k < parts; k++) {
        if ((isnan(g[k]) && isnan(w[k])) || g[k] == w[k])
            continue;
        if (isnan(g[k]) || isnan(w[k]) || (isinf(g[k]) && isinf(w[k])))
            return INFINITY;
        if (isinf(g[k]) || isinf(w[k]))
            return overflow_error(dtype, isinf(g[k]) ? w[k] : g[k], isinf(g[k]) ? g[k] : w[k]);
        distance = hypot(distance, g[k] - w[k]);
    }
    for (int k = 0; k < parts; k++)
        size = isfinite(w[k]) ? fmax(size, fabs(w[k])) : size;
    return distance == 0 ? 0 : distance / ulp_of(dtype, size);
}

static void put_element(char *text, size_t bytes, kiln_dtype dtype, const unsigned char *at)
{
    double p[2] = {0};
    const size_t size = kiln_dtype_size(dtype);
    unsigned long long u = 0;
    switch (kiln_dtype_kind(dtype)) {
    case 'f':
    case 'c':
        if (load_parts(dtype, at, p) == 1)
            snprintf(text, bytes, "%.17g", p[0]);
        else
            snprintf(text, bytes, "(%.17g, %.17g)", p[0], p[1]);
        break;
    case 'i':
        memcpy(&u, at, size);
        snprintf(text, bytes, "%lld", (long long)(u << (64 - 8 * size)) >> (64 - 8 * size));
        break;
    default:
        memcpy(&u, at, size);
        snprintf(text, bytes, "%llu", u);
        break;
    }
}

static void explain(const table *d, const op_case *c, size_t i, const unsigned char *got)
{
    const size_t size = kiln_dtype_size(c->out);
    char text[80];
    print_error("%s(", c->op->name);
    for (int k = 0; k < c->op->arity; k++) {
        const operand *o = c->in[k];
        put_element(text, sizeof text, o->dtype,
                    d->bytes + o->offset + i * kiln_dtype_size(o->dtype));
        print_error("%s%s %s", k == 0 ? "" : ", ", kiln_dtype_name(o->dtype), text);
    }
    put_element(text, sizeof text, c->out, got + c->offset + i * size);
    print_error(") is %s %s, ", kiln_dtype_name(c->out), text);
    put_element(text, sizeof text, c->out, d->bytes + c->offset + i * size);
    print_error("not %s\n", text);
}

/* NumPy defines the sign of a zero wherever it defines all bits, but for the choice between two
 * zeros of either sign. */
static bool zero_sign_counts(const op_case *c)
{
    static const char *const choices[] = {"maximum", "minimum", "fmax", "fmin", "clip"};
    for (size_t k = 0; k < COUNT(choices); k++)
        if (strcmp(c->op->name, choices[k]) == 0)
            return false;
    return c->ulps == 0 && kiln_dtype_kind(c->out) == 'f';
}

static bool other_zero(kiln_dtype dtype, const unsigned char *got, const unsigned char *want)
{
    double g[2], w[2];
    load_parts(dtype, got, g);
    load_parts(dtype, want, w);
    return g[0] == 0 && w[0] == 0 && signbit(g[0]) != signbit(w[0]);
}

/* What CUDA promises of some functions where it promises no relative error: far from zero the
 * oscillating ones, between its zeros lgamma. Source: CUDA C++ Programming Guide, "Mathematical
 * Functions"; the value for lgamma, which the guide leaves open, was measured. */
static double cuda_bound(const op_case *c)
{
    static const struct {
        const char *op;
        double narrow, wide; /* of float32 and less; of float64 */
    } bounds[] = {{"j0", 2.2e-6, 5e-12},
                  {"j1", 2.2e-6, 5e-12},
                  {"y0", 2.2e-6, 5e-12},
                  {"y1", 2.2e-6, 5e-12},
                  {"gammaln", 2e-7, 1e-15}};
    for (size_t k = 0; k < COUNT(bounds); k++)
        if (strcmp(bounds[k].op, c->op->name) == 0)
            return c->out == KILN_FLOAT64 ? bounds[k].wide : bounds[k].narrow;
    return 0;
}

static bool within(const op_case *c, double bound, const unsigned char *got,
                   const unsigned char *want)
{
    double g[2], w[2];
    if (bound == 0 || kiln_dtype_kind(c->out) != 'f')
        return false;
    load_parts(c->out, got, g);
    load_parts(c->out, want, w);
    return fabs(g[0] - w[0]) <= bound;
}

/* How many elements of a case are wrong; the first ones are explained. */
static size_t compare(const table *d, const op_case *c, const unsigned char *got, bool cuda,
                      double *worst)
{
    const double bound = cuda ? cuda_bound(c) : 0;
    const size_t size = kiln_dtype_size(c->out);
    const bool signs = zero_sign_counts(c);
    size_t wrong = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t at = c->offset + i * size;
        double error = error_of(c->out, got + at, d->bytes + at);
        if (signs && other_zero(c->out, got + at, d->bytes + at))
            error = INFINITY;
        if (within(c, bound, got + at, d->bytes + at))
            continue;
        if (error > *worst)
            *worst = error;
        if (error > c->ulps && wrong++ < 3)
            explain(d, c, i, got);
    }
    return wrong;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_ops_values__every_operation_and_dtype_as_numpy(void **state)
{
    test_env *t = *state;
    table *d = table_read();
    unsigned char *got = run_all(t, d);
    size_t wrong = 0;

    assert_true(d->case_count > 1500);
    for (size_t k = 0; k < d->case_count; k++) {
        const op_case *c = &d->cases[k];
        double worst = 0;
        wrong += compare(d, c, got, t->cuda, &worst);
        if (getenv("KILN_TEST_TABLE") != NULL && worst > 0)
            print_message("%s %s %.2f\n", c->op->name, kiln_dtype_name(c->in[0]->dtype), worst);
    }
    free(got);
    table_free(d);
    CHECK(wrong == 0, "%zu elements are wrong", wrong);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ops_values__every_operation_and_dtype_as_numpy),
    };
    return test_env_main(argc, argv, "test_ops_values", tests, COUNT(tests));
}
