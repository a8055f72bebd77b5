/*
 * test_ops_eager.c - operations on arrays at once: dtypes, plain numbers, outputs, errors.
 *
 * What each operation gives for each dtype is test_ops_values' matter; here a few are called
 * through the macros of kiln/ops.h. Expected values are worked out by hand or by plain loops.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <threads.h>

#include "core/core.h"
#include "oracle/host.h"

enum { N = 5, THREADS = 8, ROUNDS = 40 };

static kiln_array *from(test_env *t, kiln_dtype dtype, int64_t count, const void *data)
{
    kiln_array *a = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &count, data, NULL, &a, &t->err));
    return a;
}

/* The array must have this dtype and these elements; it is released. */
static void expect(test_env *t, kiln_array *a, kiln_dtype dtype, const void *want, size_t bytes)
{
    unsigned char got[256];
    char *text = NULL;
    assert_non_null(a);
    CHECK(kiln_array_dtype(a) == dtype, "%s, not %s", kiln_dtype_name(kiln_array_dtype(a)),
          kiln_dtype_name(dtype));
    assert_true(bytes <= sizeof got);
    OK(t, kiln_array_to_host(a, got, sizeof got, NULL, &t->err));
    OK(t, kiln_array_to_string(a, &text, &t->err));
    CHECK(memcmp(got, want, bytes) == 0, "got %s", text);
    kiln_free(text);
    kiln_array_release(a);
}

static void test_ops_eager__arrays_are_promoted_and_broadcast(void **state)
{
    test_env *t = *state;
    const int8_t column[3] = {-100, 0, 100};
    const int16_t row[2] = {1000, -1};
    const int16_t want[6] = {900, -101, 1000, -1, 1100, 99};
    kiln_array *x = from(t, KILN_INT8, 3, column), *y = from(t, KILN_INT16, 2, row);
    kiln_array *xc = NULL, *z = NULL;

    OK(t, kiln_array_newaxis(x, 1, &xc, &t->err));
    OK(t, kiln_array_add(xc, y, &z, &t->err));
    assert_int_equal(kiln_array_rank(z), 2);
    assert_int_equal(kiln_array_shape(z)[0], 3);
    expect(t, z, KILN_INT16, want, sizeof want);
    kiln_array_release(x);
    kiln_array_release(xc);
    kiln_array_release(y);
}

static void test_ops_eager__plain_numbers_are_weak(void **state)
{
    test_env *t = *state;
    const float f[2] = {1.5f, -2.0f}, doubled[2] = {3.0f, -4.0f}, tripled[2] = {4.5f, -6.0f};
    const uint8_t u[2] = {3, 200}, plus[2] = {47, 244};
    const double half[2] = {3.5, 200.5};
    kiln_array *x = from(t, KILN_FLOAT32, 2, f), *y = from(t, KILN_UINT8, 2, u), *z = NULL;

    OK(t, kiln_array_multiply(x, 2, &z, &t->err));
    expect(t, z, KILN_FLOAT32, doubled, sizeof doubled);
    z = NULL;
    OK(t, kiln_array_multiply(x, 3.0, &z, &t->err));
    expect(t, z, KILN_FLOAT32, tripled, sizeof tripled);
    z = NULL;
    OK(t, kiln_array_add(44, y, &z, &t->err));
    expect(t, z, KILN_UINT8, plus, sizeof plus);
    z = NULL;
    OK(t, kiln_array_add(y, 0.5, &z, &t->err));
    expect(t, z, KILN_FLOAT64, half, sizeof half);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_ops_eager__other_numbers_need_no_other_kernel(void **state)
{
    test_env *t = *state;
    const float f[2] = {1.5f, -2.0f};
    kiln_array *x = from(t, KILN_FLOAT32, 2, f), *z = NULL;
    kiln_cache_counters before = {0}, after = {0};

    OK(t, kiln_array_multiply(x, 2, &z, &t->err));
    kiln_context_cache_counters(t->ctx, &before);
    for (int k = 0; k < 5; k++)
        OK(t, kiln_array_multiply(x, 0.25 * k, &z, &t->err));
    kiln_context_cache_counters(t->ctx, &after);
    assert_int_equal(after.hits, before.hits);
    assert_int_equal(after.misses, before.misses);
    kiln_array_release(x);
    kiln_array_release(z);
}

static void test_ops_eager__a_plain_integer_must_fit(void **state)
{
    test_env *t = *state;
    const uint8_t u[2] = {3, 200}, yes[2] = {1, 1}, clipped[2] = {5, 200};
    kiln_array *x = from(t, KILN_UINT8, 2, u), *z = NULL;

    FAILS(t, KILN_ERR_RANGE, kiln_array_add(x, 300, &z, &t->err), "add", "300", "uint8");
    FAILS(t, KILN_ERR_RANGE, kiln_array_add(-1, x, &z, &t->err), "-1", "uint8");
    assert_null(z);
    /* Not in comparisons, which answer for the number itself, nor as bounds. */
    OK(t, kiln_array_less(x, 300, &z, &t->err));
    expect(t, z, KILN_BOOL, yes, sizeof yes);
    z = NULL;
    OK(t, kiln_array_greater(x, -1, &z, &t->err));
    expect(t, z, KILN_BOOL, yes, sizeof yes);
    z = NULL;
    OK(t, kiln_array_clip(x, 5, 300, &z, &t->err));
    expect(t, z, KILN_UINT8, clipped, sizeof clipped);
    kiln_array_release(x);
}

static void test_ops_eager__a_plain_float_may_overflow_to_infinity(void **state)
{
    test_env *t = *state;
    const uint16_t one = 0x3c00, infinity = 0x7c00;
    kiln_array *x = from(t, KILN_FLOAT16, 1, &one), *z = NULL;
    OK(t, kiln_array_multiply(x, 1e6, &z, &t->err));
    expect(t, z, KILN_FLOAT16, &infinity, sizeof infinity);
    kiln_array_release(x);
}

static void test_ops_eager__signed_beside_uint64_is_compared_exactly(void **state)
{
    test_env *t = *state;
    const int64_t i[3] = {-1, INT64_MAX, 5};
    const uint64_t u[3] = {0, (uint64_t)INT64_MAX + 1, 5};
    const uint8_t less[3] = {1, 1, 0}, equal[3] = {0, 0, 1};
    kiln_array *x = from(t, KILN_INT64, 3, i), *y = from(t, KILN_UINT64, 3, u), *z = NULL;

    OK(t, kiln_array_less(x, y, &z, &t->err));
    expect(t, z, KILN_BOOL, less, sizeof less);
    z = NULL;
    OK(t, kiln_array_equal(y, x, &z, &t->err));
    expect(t, z, KILN_BOOL, equal, sizeof equal);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_ops_eager__outputs_are_given_or_in_place(void **state)
{
    test_env *t = *state;
    const float f[N] = {4, 9, 16, 25, 36}, roots[N] = {2, 3, 4, 5, 6};
    kiln_array *x = from(t, KILN_FLOAT32, N, f), *z = NULL, *wrong = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (int64_t[]){N}, &z, &t->err));
    kiln_array *given = z;
    OK(t, kiln_array_sqrt(x, &z, &t->err));
    assert_ptr_equal(z, given);
    expect(t, z, KILN_FLOAT32, roots, sizeof roots);
    z = x;
    OK(t, kiln_array_sqrt(x, &z, &t->err));
    assert_ptr_equal(z, x);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, (int64_t[]){N}, &wrong, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_sqrt(x, &wrong, &t->err),
          "sqrt: the output given has dtype float64, but the result of float32 is float32");
    assert_null(t->err.detail); /* no definition that kiln wrote is shown */
    FAILS(t, KILN_ERR_DTYPE, kiln_array_divmod(x, 2, &z, &wrong, &t->err),
          "floor_divide: the second output given has dtype float64");
    kiln_array_release(wrong);
    expect(t, x, KILN_FLOAT32, roots, sizeof roots);
}

static void test_ops_eager__two_results_come_from_one_kernel(void **state)
{
    test_env *t = *state;
    const int32_t a[4] = {7, -7, 7, 5}, b[4] = {2, 2, -2, 0};
    const int32_t quotient[4] = {3, -4, -4, 0}, remainder[4] = {1, 1, -1, 0};
    const double v[3] = {6.0, -0.75, 0.0}, mantissa[3] = {0.75, -0.75, 0.0};
    const double fraction[3] = {0.0, -0.75, 0.0}, whole[3] = {6.0, -0.0, 0.0};
    const int32_t exponent[3] = {3, 0, 0};
    kiln_array *x = from(t, KILN_INT32, 4, a), *y = from(t, KILN_INT32, 4, b);
    kiln_array *f = from(t, KILN_FLOAT64, 3, v), *p = NULL, *q = NULL;

    OK(t, kiln_array_divmod(x, y, &p, &q, &t->err));
    expect(t, p, KILN_INT32, quotient, sizeof quotient);
    expect(t, q, KILN_INT32, remainder, sizeof remainder);
    p = q = NULL;
    OK(t, kiln_array_frexp(f, &p, &q, &t->err));
    expect(t, p, KILN_FLOAT64, mantissa, sizeof mantissa);
    expect(t, q, KILN_INT32, exponent, sizeof exponent);
    p = q = NULL;
    OK(t, kiln_array_modf(f, &p, &q, &t->err));
    expect(t, p, KILN_FLOAT64, fraction, sizeof fraction);
    expect(t, q, KILN_FLOAT64, whole, sizeof whole);
    p = q = NULL;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_op_pair(KILN_OP_SQRT, KILN_OP_NEGATIVE, KILN_ARGS(x), NULL, &p, &q, &t->err),
          "sqrt", "negative");
    FAILS(t, KILN_ERR_NULL,
          kiln_array_op_pair(KILN_OP_SQRT, KILN_OP_SQRT, KILN_ARGS(f), NULL, &p, NULL, &t->err),
          "NULL");
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(f);
}

static void test_ops_eager__where_takes_numbers_on_both_sides(void **state)
{
    test_env *t = *state;
    const float f[3] = {0.5f, 0.0f, NAN};
    const int64_t want[3] = {7, -7, 7};
    kiln_array *x = from(t, KILN_FLOAT32, 3, f), *z = NULL;
    OK(t, kiln_array_where(x, 7, -7, &z, &t->err));
    expect(t, z, KILN_INT64, want, sizeof want);
    kiln_array_release(x);
}

static void test_ops_eager__what_is_wrong_is_named(void **state)
{
    test_env *t = *state;
    const float f[2] = {1, 2};
    kiln_array *x = from(t, KILN_FLOAT32, 2, f), *y = from(t, KILN_FLOAT32, 1, f), *z = NULL;
    kiln_array *three = NULL;
    kiln_context *other = test_env_context(t, NULL);
    kiln_array *foreign = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, (int64_t[]){3}, &three, &t->err));
    OK(t, kiln_array_zeros(other, KILN_FLOAT32, 1, (int64_t[]){2}, &foreign, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_bitwise_and(x, 1, &z, &t->err), "bitwise_and", "float32",
          "a plain number");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_add(1, 2, &z, &t->err), "add", "no operand is an array");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_sqrt(&y, &z, &t->err), "sqrt", "operand 1");
    FAILS(t, KILN_ERR_NULL, kiln_array_sqrt((kiln_array *)NULL, &z, &t->err), "sqrt", "operand 1");
    FAILS(t, KILN_ERR_NULL, kiln_array_op(KILN_OP_SQRT, KILN_ARGS(x), NULL, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_array_op(KILN_OP_ADD, KILN_ARGS(x), NULL, &z, &t->err),
          "add", "2", "1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_op((kiln_op)999, KILN_ARGS(x), NULL, &z, &t->err),
          "999");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_add(x, three, &z, &t->err), "add: shapes", "(2,)", "(3,)");
    assert_null(strstr(t->err.message, "kernel"));
    FAILS(t, KILN_ERR_AXIS, kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(3), false, &z, &t->err),
          "sum: axis 3 is");
    FAILS(t, KILN_ERR_AXIS, kiln_array_scan(KILN_SCAN_CUMSUM, x, KILN_AXES(3), 0, &z, &t->err),
          "cumsum: axis 3 is");
    FAILS(t, KILN_ERR_CONTEXT, kiln_array_add(x, foreign, &z, &t->err), "add", "operand 2");
    assert_null(z);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, (int64_t[]){2}, &z, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_subtract(z, x, &x, &t->err),
          "subtract: the output given has dtype float32, but the result of float64 and float32 is "
          "float64");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_multiply(x, 2.5, &z, &t->err),
          "multiply: the output given has dtype float64, but the result of float32 and a plain "
          "number is float32");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_isnan(x, &z, &t->err),
          "isnan: the output given has dtype float64, but the result of float32 is bool");
    kiln_array_release(z);
    kiln_array_release(foreign);
    kiln_context_release(other);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(three);
}

/* Every allocation of a first call fails once, in turn. */
static void test_ops_eager__survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    const float f[2] = {1, 2}, want[2] = {1.5f, 2.5f};
    kiln_status status = KILN_ERR_NO_MEMORY;
    kiln_array *z = NULL;

    for (size_t nth = 0; status != KILN_OK; nth++) {
        kiln_context *ctx = test_env_context(t, t->cache_dir);
        kiln_array *x = NULL;
        OK(t, kiln_array_from_host(ctx, KILN_FLOAT32, 1, (int64_t[]){2}, f, NULL, &x, &t->err));
        kiln__test_alloc_fail_at(nth);
        status = kiln_array_add(x, 0.5, &z, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == KILN_OK || z == NULL);
        if (status == KILN_OK) {
            float got[2];
            OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
            assert_memory_equal(got, want, sizeof want);
        }
        kiln_array_release(z);
        kiln_array_release(x);
        kiln_context_release(ctx);
    }
}

typedef struct worker {
    kiln_array *x;
    bool ok;
} worker;

static int work(void *data)
{
    worker *w = data;
    float got[N];
    w->ok = true;
    for (int k = 0; k < ROUNDS; k++) {
        kiln_array *z = NULL;
        w->ok = w->ok && kiln_array_subtract(w->x, k, &z, NULL) == KILN_OK &&
                kiln_array_to_host(z, got, sizeof got, NULL, NULL) == KILN_OK;
        for (int i = 0; i < N && w->ok; i++)
            w->ok = got[i] == (float)(i - k);
        kiln_array_release(z);
    }
    return 0;
}

static void test_ops_eager__threads_share_kernels(void **state)
{
    test_env *t = *state;
    const float f[N] = {0, 1, 2, 3, 4};
    kiln_array *x = from(t, KILN_FLOAT32, N, f);
    worker workers[THREADS];
    thrd_t threads[THREADS];

    for (int k = 0; k < THREADS; k++) {
        workers[k] = (worker){x, false};
        assert_int_equal(thrd_create(&threads[k], work, &workers[k]), thrd_success);
    }
    for (int k = 0; k < THREADS; k++) {
        thrd_join(threads[k], NULL);
        assert_true(workers[k].ok);
    }
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ops_eager__arrays_are_promoted_and_broadcast),
        TEST(test_ops_eager__plain_numbers_are_weak),
        TEST(test_ops_eager__other_numbers_need_no_other_kernel),
        TEST(test_ops_eager__a_plain_integer_must_fit),
        TEST(test_ops_eager__a_plain_float_may_overflow_to_infinity),
        TEST(test_ops_eager__signed_beside_uint64_is_compared_exactly),
        TEST(test_ops_eager__outputs_are_given_or_in_place),
        TEST(test_ops_eager__two_results_come_from_one_kernel),
        TEST(test_ops_eager__where_takes_numbers_on_both_sides),
        TEST(test_ops_eager__what_is_wrong_is_named),
        TEST(test_ops_eager__survives_each_allocation_failure),
        TEST(test_ops_eager__threads_share_kernels),
    };
    return test_env_main(argc, argv, "test_ops_eager", tests, COUNT(tests));
}
