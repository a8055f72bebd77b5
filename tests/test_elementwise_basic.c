/*
 * test_elementwise_basic.c - dtypes, operations, sizes, scalars and outputs, end to end.
 *
 * Every expected value comes from the C functions in this file, run by oracle/host.c.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "oracle/host.h"

static const kiln_dtype all_dtypes[] = {
    KILN_BOOL,     KILN_INT8,    KILN_INT16,   KILN_INT32,     KILN_INT64,
    KILN_UINT8,    KILN_UINT16,  KILN_UINT32,  KILN_UINT64,    KILN_FLOAT16,
    KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128,
};

/* ---- dtypes and operations ---- */

static void muladd(const host_value *in, host_value *out)
{
    out[0].re = in[0].re * in[1].re - in[0].im * in[1].im + 1;
    out[0].im = in[0].re * in[1].im + in[0].im * in[1].re;
}

static void add(const host_value *in, host_value *out)
{
    out[0] = (host_value){in[0].re + in[1].re, in[0].im + in[1].im};
}

static void subtract(const host_value *in, host_value *out)
{
    out[0] = (host_value){in[0].re - in[1].re, in[0].im - in[1].im};
}

static void multiply(const host_value *in, host_value *out)
{
    out[0].re = in[0].re * in[1].re - in[0].im * in[1].im;
    out[0].im = in[0].re * in[1].im + in[0].im * in[1].re;
}

static void negate(const host_value *in, host_value *out)
{
    out[0] = (host_value){-in[0].re, -in[0].im};
}

static void copy(const host_value *in, host_value *out)
{
    out[0] = in[0];
}

static void divide(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re / in[1].re);
}

static void divide_integers(const host_value *in, host_value *out)
{
    out[0] = host_real(truncl(in[0].re / in[1].re));
}

static void equal(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re == in[1].re && in[0].im == in[1].im);
}

static void larger(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re > in[1].re ? in[0].re : in[1].re);
}

static void exclusive_or(const host_value *in, host_value *out)
{
    out[0] = host_real((long double)((uint64_t)in[0].re ^ (uint64_t)in[1].re));
}

static void shift_left(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re * 2);
}

typedef struct op_case {
    const char *in, *out, *op;
    const char *kinds; /* of the dtypes T that the operation takes; see KILN_DTYPE_MAP */
    host_function want;
    uint64_t ulps; /* beyond 0 only where the device may round differently */
    unsigned low;  /* added to y: keeps divisors from zero */
} op_case;

static const op_case op_cases[] = {
    {"T x, T y", "T z", "z = x * y + T(1)", "iufc", muladd, 0, 0},
    {"T x, T y", "T z", "z = x + y", "iufc", add, 0, 0},
    {"T x, T y", "T z", "z = x - y", "ifc", subtract, 0, 0},
    {"T x, T y", "T z", "z = x * y", "iufc", multiply, 0, 0},
    {"T x, T y", "T z", "z = -x", "ifc", negate, 0, 0},
    {"T x, T y", "T z", "z = x", "biufc", copy, 0, 0},
    {"T x, T y", "T z", "z = x / y", "f", divide, 1, 1},
    {"T x, T y", "T z", "z = x / y", "iu", divide_integers, 0, 1},
    {"T x, T y", "bool z", "z = x == y", "biufc", equal, 0, 0},
    {"T x, T y", "T z", "z = x > y ? x : y", "iuf", larger, 0, 0},
    {"T x, T y", "T z", "z = x ^ y", "iu", exclusive_or, 0, 0},
    {"T x, T y", "T z", "z = x << 1", "iu", shift_left, 0, 0},
};

static void raise(host_array *a, unsigned low)
{
    for (int64_t k = 0; k < host_size(a) && low != 0; k++) {
        host_value v = host_load(a->dtype, host_at(a, k));

        v.re += low;
        host_store(a->dtype, host_at(a, k), v);
    }
}

static void check_op(test_env *t, const op_case *c, kiln_dtype dtype)
{
    static const int64_t shape[] = {1031};
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    kiln_elementwise *op = NULL;
    char what[128];

    snprintf(what, sizeof what, "%s of %s", c->op, kiln_dtype_name(dtype));
    host_make(t, &x, dtype, 1, shape, NULL);
    host_make(t, &y, dtype, 1, shape, NULL);
    host_make(t, &z, c->out[0] == 'b' ? KILN_BOOL : dtype, 1, shape, NULL);
    host_fill_small(&y, 1);
    raise(&y, c->low);
    host_send(t, &y);
    OK(t, kiln_elementwise_create(t->ctx, c->in, c->out, c->op, NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    host_apply(arrays, 2, 1, 1, shape, c->want);
    host_compare(t, &z, c->ulps, what);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

static void test_elementwise__every_dtype_has_the_operations_of_its_kind(void **state)
{
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(op_cases); c++)
        for (size_t d = 0; d < COUNT(all_dtypes); d++)
            if (strchr(op_cases[c].kinds, kiln_dtype_kind(all_dtypes[d])) != NULL && test_drawn(t))
                check_op(t, &op_cases[c], all_dtypes[d]);
}

static void test_elementwise__integers_wrap_and_keep_all_their_bits(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_UINT8, KILN_UINT16, KILN_UINT32, KILN_UINT64};
    static const int64_t shape[] = {517};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        size_t bytes = kiln_dtype_size(dtypes[d]);
        host_array x, y, z;

        host_make(t, &x, dtypes[d], 1, shape, NULL);
        host_make(t, &y, dtypes[d], 1, shape, NULL);
        host_make(t, &z, dtypes[d], 1, shape, NULL);
        host_fill_random(t, &x);
        host_fill_random(t, &y);
        host_send(t, &x);
        host_send(t, &y);
        OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
        for (int64_t k = 0; k < shape[0]; k++) {
            uint64_t a = 0, b = 0, r;

            memcpy(&a, host_at(&x, k), bytes); /* little endian: the low bytes */
            memcpy(&b, host_at(&y, k), bytes);
            r = a * b + 1;
            memcpy(host_at(&z, k), &r, bytes);
        }
        host_compare(t, &z, 0, kiln_dtype_name(dtypes[d]));
        host_free(&x);
        host_free(&y);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

/* ---- sizes ---- */

static void test_elementwise__sizes_around_blocks_vectors_and_powers(void **state)
{
    static const int64_t sizes[] = {0,    1,    2,    3,    7,    8,     15,    16,     17,
                                    31,   32,   33,   63,   64,   65,    127,   128,    129,
                                    255,  256,  257,  511,  512,  513,   1023,  1024,   1025,
                                    2047, 2049, 4095, 4097, 7919, 65535, 65537, 104729, 1000003};
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_COMPLEX128};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            host_array x, y, z, *arrays[] = {&x, &y, &z};
            char what[64];

            host_make(t, &x, dtypes[d], 1, &sizes[s], NULL);
            host_make(t, &y, dtypes[d], 1, &sizes[s], NULL);
            host_make(t, &z, dtypes[d], 1, &sizes[s], NULL);
            OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
            host_apply(arrays, 2, 1, 1, &sizes[s], muladd);
            snprintf(what, sizeof what, "%lld of %s", (long long)sizes[s],
                     kiln_dtype_name(dtypes[d]));
            host_compare(t, &z, 0, what);
            host_free(&x);
            host_free(&y);
            host_free(&z);
        }
    kiln_elementwise_destroy(op);
}

/* ---- scalars ---- */

static void test_elementwise__scalars_of_every_c_type(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL, *complex_op = NULL;
    kiln_array *z = NULL;
    double got;
    double pair[2];

#define CHECK_SCALAR(value, want)                                                                  \
    do {                                                                                           \
        OK(t, kiln_call(op, &t->err, (value), &z));                                                \
        OK(t, kiln_array_to_host(z, &got, sizeof got, NULL, &t->err));                             \
        CHECK(got == (want), "%s gave %g", #value, got);                                           \
    } while (0)

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 0, NULL, &z, &t->err));
    OK(t,
       kiln_elementwise_create(t->ctx, "float64 x", "float64 z", "z = x + 1", NULL, &op, &t->err));
    CHECK_SCALAR((_Bool)1, 2.0);
    CHECK_SCALAR((signed char)-7, -6.0);
    CHECK_SCALAR((short)-300, -299.0);
    CHECK_SCALAR(-70000, -69999.0);
    CHECK_SCALAR(-3000000000L, -2999999999.0);
    CHECK_SCALAR(-3000000000LL, -2999999999.0);
    CHECK_SCALAR((unsigned char)200, 201.0);
    CHECK_SCALAR((unsigned short)60000, 60001.0);
    CHECK_SCALAR(4000000000U, 4000000001.0);
    CHECK_SCALAR(5000000000UL, 5000000001.0);
    CHECK_SCALAR(5000000000ULL, 5000000001.0);
    CHECK_SCALAR(1.5f, 2.5);
    CHECK_SCALAR(-2.25, -1.25);
    kiln_array_release(z);
    OK(t, kiln_array_empty(t->ctx, KILN_COMPLEX128, 0, NULL, &z, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "complex128 x", "complex128 z", "z = x * x", NULL,
                                  &complex_op, &t->err));
    OK(t, kiln_call(complex_op, &t->err, 3.0 + 2.0 * I, &z));
    OK(t, kiln_array_to_host(z, pair, sizeof pair, NULL, &t->err));
    CHECK(pair[0] == 5.0 && pair[1] == 12.0, "%g %g", pair[0], pair[1]);
    OK(t, kiln_call(complex_op, &t->err, 1.0f + 1.0f * I, &z));
    OK(t, kiln_array_to_host(z, pair, sizeof pair, NULL, &t->err));
    CHECK(pair[0] == 0.0 && pair[1] == 2.0, "%g %g", pair[0], pair[1]);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_elementwise_destroy(complex_op);
#undef CHECK_SCALAR
}

/* A scalar beside an array takes the array's dtype; alone it brings its own. */
static void test_elementwise__scalars_are_weak_beside_arrays_and_bind_alone(void **state)
{
    static const struct {
        const char *what;
        kiln_arg scalar;
        kiln_dtype alone;
    } cases[] = {
        {"bool", {KILN_ARG_BOOL, {.b = true}}, KILN_BOOL},
        {"int", {KILN_ARG_INT, {.i = 1}}, KILN_INT64},
        {"unsigned", {KILN_ARG_UINT, {.u = UINT64_C(1) << 63}}, KILN_UINT64},
        {"double", {KILN_ARG_FLOAT, {.f = 1}}, KILN_FLOAT64},
        {"complex", {KILN_ARG_COMPLEX, {.c = {1, 0}}}, KILN_COMPLEX128},
    };
    static const int64_t shape[] = {3};
    test_env *t = *state;
    kiln_elementwise_call_options one_element = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_elementwise *op = NULL, *two = NULL;
    host_array x;

    one_element.has_size = true;
    one_element.size = 1;
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_array *z = NULL;
        kiln_arg args[] = {cases[c].scalar, kiln_arg_out(&z)};

        OK(t, kiln_elementwise_run(op, args, 2, &one_element, &t->err));
        CHECK(kiln_array_dtype(z) == cases[c].alone && kiln_array_size(z) == 1, "%s: %s, rank %d",
              cases[c].what, kiln_dtype_name(kiln_array_dtype(z)), kiln_array_rank(z));
        kiln_array_release(z);
    }
    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = x * a", NULL, &two, &t->err));
    for (size_t d = 0; d < COUNT(all_dtypes); d++) {
        kiln_array *z = NULL;

        if (all_dtypes[d] == KILN_BOOL)
            continue;
        host_make(t, &x, all_dtypes[d], 1, shape, NULL);
        OK(t, kiln_call(two, &t->err, x.array, 1, &z));
        host_compare_elements(t, z, &x, 0, kiln_dtype_name(all_dtypes[d]));
        kiln_array_release(z);
        host_free(&x);
    }
    kiln_elementwise_destroy(op);
    kiln_elementwise_destroy(two);
}

/* The value a 16-byte block receives must be rounded to the parameter's dtype once. */
static void test_elementwise__scalars_reach_the_kernel_as_their_dtype(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT32, KILN_FLOAT64};
    static const double values[] = {0.1, -1.0 / 3, 65503.0, 1e-7, 2049.0, 0.0, -0.0};
    static const int64_t shape[] = {1};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = a", NULL, &op, &t->err));
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t v = 0; v < COUNT(values); v++) {
            host_array x, z;

            host_make(t, &x, dtypes[d], 1, shape, NULL);
            host_make(t, &z, dtypes[d], 1, shape, NULL);
            OK(t, kiln_call(op, &t->err, x.array, values[v], z.array));
            host_store(dtypes[d], host_at(&z, 0), host_real((long double)values[v]));
            host_compare(t, &z, 0, kiln_dtype_name(dtypes[d]));
            host_free(&x);
            host_free(&z);
        }
    kiln_elementwise_destroy(op);
}

/* ---- outputs ---- */

static void three_outputs(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re + in[1].re);
    out[1] = host_real(in[0].re > in[1].re);
    out[2] = host_real(in[0].re * 0.5L);
}

static void test_elementwise__several_outputs_of_different_dtypes(void **state)
{
    static const int64_t shape[] = {33, 70};
    test_env *t = *state;
    host_array x, y, a, b, c, *arrays[] = {&x, &y, &a, &b, &c};
    kiln_elementwise *op = NULL;
    kiln_array *p = NULL, *q = NULL, *r = NULL;

    host_make(t, &x, KILN_INT16, 2, shape, NULL);
    host_make(t, &y, KILN_INT16, 2, shape, NULL);
    host_fill_small(&y, 5);
    host_send(t, &y);
    host_make(t, &a, KILN_INT16, 2, shape, NULL);
    host_make(t, &b, KILN_BOOL, 2, shape, NULL);
    host_make(t, &c, KILN_FLOAT64, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T a, bool b, float64 c",
                                  "a = x + y; b = x > y; c = x * 0.5;", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array, a.array, b.array, c.array));
    host_apply(arrays, 2, 3, 2, shape, three_outputs);
    host_compare(t, &a, 0, "a");
    host_compare(t, &b, 0, "b");
    host_compare(t, &c, 0, "c");
    OK(t, kiln_call(op, &t->err, x.array, y.array, &p, &q, &r));
    host_compare_elements(t, p, &a, 0, "a allocated");
    host_compare_elements(t, q, &b, 0, "b allocated");
    host_compare_elements(t, r, &c, 0, "c allocated");
    kiln_array_release(p);
    kiln_array_release(q);
    kiln_array_release(r);
    kiln_elementwise_destroy(op);
    for (size_t k = 0; k < COUNT(arrays); k++)
        host_free(arrays[k]);
}

static void six_to_three(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re + in[1].re * in[2].re);
    out[1] = host_real(in[3].re + in[4].re * in[5].re);
    out[2] = host_real(in[0].re - in[5].re);
}

static void test_elementwise__six_inputs_and_three_outputs(void **state)
{
    static const int64_t sizes[] = {1, 1000, 65537};
    test_env *t = *state;
    host_array a[9], *arrays[9];
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T a, T b, T c, T d, T e, T f", "T p, T q, T r",
                                  "p = a + b * c; q = d + e * f; r = a - f", NULL, &op, &t->err));
    for (size_t s = 0; s < COUNT(sizes); s++) {
        for (unsigned k = 0; k < 9; k++) {
            arrays[k] = &a[k];
            host_make(t, &a[k], KILN_FLOAT32, 1, &sizes[s], NULL);
            host_fill_small(&a[k], k);
            host_send(t, &a[k]);
        }
        OK(t, kiln_call(op, &t->err, a[0].array, a[1].array, a[2].array, a[3].array, a[4].array,
                        a[5].array, a[6].array, a[7].array, a[8].array));
        host_apply(arrays, 6, 3, 1, &sizes[s], six_to_three);
        for (size_t k = 6; k < 9; k++)
            host_compare(t, &a[k], 0, "6 to 3");
        for (size_t k = 0; k < 9; k++)
            host_free(&a[k]);
    }
    kiln_elementwise_destroy(op);
}

/* As in NumPy, an output given takes part in broadcasting: inputs stretch to it. */
static void test_elementwise__inputs_stretch_to_a_larger_output(void **state)
{
    static const int64_t row[] = {40}, column[] = {30, 1}, whole[] = {2, 30, 40};
    test_env *t = *state;
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, row, NULL);
    host_make(t, &y, KILN_FLOAT32, 2, column, NULL);
    host_make(t, &z, KILN_FLOAT32, 3, whole, NULL);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
    host_apply(arrays, 2, 1, 3, whole, muladd);
    host_compare(t, &z, 0, "stretched");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

static void product_and_sum(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re * in[1].re);
    out[1] = host_real(in[0].re + in[1].re);
}

/* The second output is transposed in tiles, which the array's edges cut. */
static void test_elementwise__outputs_in_different_orders(void **state)
{
    static const int64_t shape[] = {75, 101};
    static const host_layout transposed = {.order = {2, 1}};
    test_env *t = *state;
    host_array a[4], *arrays[] = {&a[0], &a[1], &a[2], &a[3]};
    kiln_elementwise *op = NULL;

    for (size_t k = 0; k < COUNT(a); k++)
        host_make(t, &a[k], KILN_FLOAT32, 2, shape, k == 3 ? &transposed : NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z, T w", "z = x * y; w = x + y", NULL, &op,
                                  &t->err));
    OK(t, kiln_call(op, &t->err, a[0].array, a[1].array, a[2].array, a[3].array));
    host_apply(arrays, 2, 2, 2, shape, product_and_sum);
    for (size_t k = 0; k < COUNT(a); k++) {
        if (k > 1)
            host_compare(t, &a[k], 0, "of different orders");
        host_free(&a[k]);
    }
    kiln_elementwise_destroy(op);
}

static void test_elementwise__an_out_pointer_is_filled_once_and_then_reused(void **state)
{
    static const int64_t shape[] = {5, 7};
    test_env *t = *state;
    host_array x;
    kiln_elementwise *op = NULL;
    kiln_array *z = NULL, *first;
    void *data;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, &z));
    first = z;
    data = kiln_array_data(z);
    CHECK(kiln_array_is_contiguous(z), "a new output of a C-order input is C-order");
    OK(t, kiln_call(op, &t->err, x.array, &z));
    CHECK(z == first && kiln_array_data(z) == data, "the array was replaced");
    host_compare_elements(t, z, &x, 0, "reused");
    kiln_array_release(z);
    host_free(&x);
    kiln_elementwise_destroy(op);
}

static void test_elementwise__zero_elements_launch_nothing(void **state)
{
    static const int64_t shapes[][3] = {{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    /* Would not compile: a zero-size call must not get that far. */
    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x +* y", NULL, &op, &t->err));
    for (size_t s = 0; s < COUNT(shapes); s++) {
        host_array x, y;
        kiln_array *z = NULL;

        host_make(t, &x, KILN_FLOAT32, 3, shapes[s], NULL);
        host_make(t, &y, KILN_FLOAT32, 1, (const int64_t[]){1}, NULL);
        OK(t, kiln_call(op, &t->err, x.array, y.array, &z));
        for (int axis = 0; axis < 3; axis++)
            CHECK(kiln_array_shape(z)[axis] == shapes[s][axis], "axis %d", axis);
        kiln_array_release(z);
        host_free(&x);
        host_free(&y);
    }
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__every_dtype_has_the_operations_of_its_kind),
        TEST(test_elementwise__integers_wrap_and_keep_all_their_bits),
        TEST(test_elementwise__sizes_around_blocks_vectors_and_powers),
        TEST(test_elementwise__scalars_of_every_c_type),
        TEST(test_elementwise__scalars_are_weak_beside_arrays_and_bind_alone),
        TEST(test_elementwise__scalars_reach_the_kernel_as_their_dtype),
        TEST(test_elementwise__several_outputs_of_different_dtypes),
        TEST(test_elementwise__six_inputs_and_three_outputs),
        TEST(test_elementwise__inputs_stretch_to_a_larger_output),
        TEST(test_elementwise__outputs_in_different_orders),
        TEST(test_elementwise__an_out_pointer_is_filled_once_and_then_reused),
        TEST(test_elementwise__zero_elements_launch_nothing),
    };

    return test_env_main(argc, argv, "test_elementwise_basic", tests, COUNT(tests));
}
