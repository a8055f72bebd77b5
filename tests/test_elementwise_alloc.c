/*
 * test_elementwise_alloc.c - every host allocation of a call fails once.
 *
 * For each step, allocation 0, 1, 2, ... is made to fail in turn until the step needs no more. Each
 * failure must give ERR_NO_MEMORY, hand back NULL, leave outputs alone and leak nothing; the step
 * must work right afterwards on the same objects. Needs a library built with KILN_TEST_HOOKS.
 */
#include <string.h>

#include "core/core.h"
#include "oracle/host.h"

static const int64_t shape[] = {40, 50};

static void muladd(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re * in[1].re + 1);
}

/* Only success, or the failure that the sweep asked for; everything else ends the test. */
static void expected(test_env *t, kiln_status status, size_t nth)
{
    if (status == KILN_OK)
        return;
    CHECK(status == KILN_ERR_NO_MEMORY, "allocation %zu: %s: %s", nth, kiln_status_name(status),
          t->err.message);
    kiln_error_clear(&t->err);
}

enum { SWEEP_MAX = 5000 };

/* Stop asking for a failure; whether it came. A step may survive one (a cache does without), so
 * the sweep ends at the first step that did not reach its nth allocation. */
static bool failure_came(size_t nth)
{
    bool came = true;

    for (size_t k = 0; k <= nth && came; k++) {
        void *p = kiln__alloc(1);

        came = p != NULL;
        kiln__free(p);
    }
    kiln__test_alloc_fail_at(SIZE_MAX);
    return came;
}

static void test_elementwise__create_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    kiln_status status;
    bool came = true;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    const char *const flags[] = {"-DONE=1"};
    size_t nth;

    options.name = "sweep";
    options.preamble = "#define TWO 2";
    options.loop_prep = "float f = 1;";
    options.compiler_options = flags;
    options.compiler_option_count = 1;
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln_elementwise *op = NULL;
        size_t live = kiln__test_alloc_live();

        kiln__test_alloc_fail_at(nth);
        status = kiln_elementwise_create(t->ctx, "T x, raw const float32 y", "T z, int8 w",
                                         "z = x + f * ONE; w = TWO", &options, &op, &t->err);
        came = failure_came(nth);
        expected(t, status, nth);
        CHECK((status == KILN_OK) == (op != NULL), "allocation %zu", nth);
        kiln_elementwise_destroy(op);
        CHECK(kiln__test_alloc_live() == live, "allocation %zu: %zu live, %zu before", nth,
              kiln__test_alloc_live(), live);
    }
    CHECK(nth > 5 && nth < SWEEP_MAX, "%zu allocations", nth);
}

/* Errors need memory for their detail; without it they keep status and message. */
static void test_elementwise__a_refusal_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    bool refused = false;

    for (size_t nth = 0; !refused && nth < SWEEP_MAX; nth++) {
        kiln_elementwise *op = NULL;
        size_t live = kiln__test_alloc_live();
        kiln_status status;

        kiln__test_alloc_fail_at(nth);
        status = kiln_elementwise_create(t->ctx, "T x, T x", "T z", "z = x", NULL, &op, &t->err);
        kiln__test_alloc_fail_at(SIZE_MAX);
        CHECK(status == KILN_ERR_NO_MEMORY || status == KILN_ERR_NAME, "allocation %zu: %s", nth,
              kiln_status_name(status));
        refused = status == KILN_ERR_NAME && t->err.detail != NULL;
        kiln_error_clear(&t->err);
        assert_null(op);
        CHECK(kiln__test_alloc_live() == live, "allocation %zu", nth);
    }
    CHECK(refused, "no refusal");
}

/* The first call compiles: its allocations include those of emitting, compiling and loading. */
static void sweep_run(test_env *t, bool first_call)
{
    kiln_status status;
    bool came = true;
    host_array x, y, z, *arrays[] = {&x, &y, &z};
    kiln_elementwise *op = NULL;
    size_t nth;

    host_make(t, &x, KILN_FLOAT32, 2, shape, &(host_layout){.order = {2, 1}});
    host_make(t, &y, KILN_FLOAT32, 2, shape, NULL);
    host_make(t, &z, KILN_FLOAT32, 2, shape, NULL);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op, &t->err));
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        if (first_call) { /* forget what earlier failures may have left in the handle */
            kiln_elementwise_destroy(op);
            OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * y + T(1)", NULL, &op,
                                          &t->err));
        }
        kiln__test_alloc_fail_at(nth);
        status = kiln_call(op, &t->err, x.array, y.array, z.array);
        came = failure_came(nth);
        expected(t, status, nth);
        if (status != KILN_OK)
            host_compare(t, &z, 0, "the output of a call that failed");
    }
    CHECK(nth < SWEEP_MAX, "%zu allocations", nth);
    host_apply(arrays, 2, 1, 2, shape, muladd);
    host_compare(t, &z, 0, "the output of the call that worked");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
    host_free(&z);
}

static void test_elementwise__a_first_call_survives_each_allocation_failure(void **state)
{
    sweep_run(*state, true);
}

static void test_elementwise__calls_survive_each_allocation_failure(void **state)
{
    sweep_run(*state, false);
}

/* A context whose cache is empty, so that the compiler itself runs under the sweep. */
static void test_elementwise__a_compile_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    kiln_context *shared = t->ctx;
    kiln_status status;
    bool came = true;
    size_t nth;

    for (nth = 0; came && nth < 400; nth++) {
        kiln_elementwise *op = NULL;
        kiln_array *x = NULL, *z = NULL;

        t->ctx = test_env_context(t, "");
        OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
        OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
        kiln__test_alloc_fail_at(nth);
        status = kiln_call(op, &t->err, x, &z);
        came = failure_came(nth);
        expected(t, status, nth);
        CHECK((status == KILN_OK) == (z != NULL), "allocation %zu", nth);
        kiln_array_release(z);
        kiln_array_release(x);
        kiln_elementwise_destroy(op);
        kiln_context_release(t->ctx);
    }
    t->ctx = shared;
    CHECK(nth > 3 && nth < 400, "%zu allocations", nth);
}

static void test_elementwise__allocated_outputs_survive_each_allocation_failure(void **state)
{
    test_env *t = *state;
    kiln_status status;
    bool came = true;
    host_array x;
    kiln_elementwise *op = NULL;
    size_t nth;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T p, float64 q", "p = x; q = x", NULL, &op,
                                  &t->err));
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln_array *p = NULL, *q = NULL;
        kiln_pool_stats before, after;

        kiln_context_pool_stats(t->ctx, &before);
        kiln__test_alloc_fail_at(nth);
        status = kiln_call(op, &t->err, x.array, &p, &q);
        came = failure_came(nth);
        expected(t, status, nth);
        CHECK((status == KILN_OK) == (p != NULL) && (p != NULL) == (q != NULL),
              "allocation %zu: one pointer was set", nth);
        kiln_array_release(p);
        kiln_array_release(q);
        kiln_context_pool_stats(t->ctx, &after);
        CHECK(after.used_bytes == before.used_bytes, "allocation %zu: device memory leaked", nth);
    }
    CHECK(nth < SWEEP_MAX, "%zu allocations", nth);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

/* An input that must be copied first takes the path with the most allocations. */
static void test_elementwise__overlap_survives_each_allocation_failure(void **state)
{
    static const int64_t length[] = {300};
    test_env *t = *state;
    kiln_status status;
    bool came = true;
    host_array x;
    kiln_array *head = NULL, *tail = NULL;
    kiln_elementwise *op = NULL;
    size_t nth;

    host_make(t, &x, KILN_INT32, 1, length, NULL);
    OK(t, kiln_array_slice(x.array, 0, 0, -1, 1, &head, &t->err));
    OK(t, kiln_array_slice(x.array, 0, 1, KILN_SLICE_OPEN, 1, &tail, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln__test_alloc_fail_at(nth);
        status = kiln_call(op, &t->err, head, tail);
        came = failure_came(nth);
        expected(t, status, nth);
        for (int64_t k = length[0] - 1; k > 0 && status == KILN_OK; k--)
            memcpy(host_at(&x, k), host_at(&x, k - 1), 4);
        host_compare(t, &x, 0, status == KILN_OK ? "shifted" : "left alone");
    }
    CHECK(nth < SWEEP_MAX, "%zu allocations", nth);
    kiln_array_release(head);
    kiln_array_release(tail);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

static void test_elementwise__prepare_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    kiln_status status;
    bool came = true;
    host_array x;
    kiln_elementwise *op = NULL;
    size_t nth;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln_launch *launch = NULL;
        kiln_array *z = NULL;

        kiln__test_alloc_fail_at(nth);
        status = kiln_elementwise_prepare(op, KILN_ARGS(x.array, &z), NULL, &launch, &t->err);
        came = failure_came(nth);
        expected(t, status, nth);
        CHECK((status == KILN_OK) == (launch != NULL) && (launch != NULL) == (z != NULL),
              "allocation %zu", nth);
        kiln_launch_destroy(launch);
        kiln_array_release(z);
    }
    CHECK(nth > 1 && nth < SWEEP_MAX, "%zu allocations", nth);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

static void test_elementwise__source_survives_each_allocation_failure(void **state)
{
    test_env *t = *state;
    kiln_status status;
    bool came = true;
    host_array x;
    kiln_elementwise *op = NULL;
    size_t nth;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln_array *z = NULL;
        char *text = NULL;

        kiln__test_alloc_fail_at(nth);
        status = kiln_elementwise_source(op, KILN_ARGS(x.array, &z), NULL, &text, &t->err);
        came = failure_came(nth);
        expected(t, status, nth);
        CHECK((status == KILN_OK) == (text != NULL) && z == NULL, "allocation %zu", nth);
        kiln_free(text);
    }
    CHECK(nth > 1 && nth < SWEEP_MAX, "%zu allocations", nth);
    kiln_elementwise_destroy(op);
    host_free(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__create_survives_each_allocation_failure),
        TEST(test_elementwise__a_refusal_survives_each_allocation_failure),
        TEST(test_elementwise__a_first_call_survives_each_allocation_failure),
        TEST(test_elementwise__calls_survive_each_allocation_failure),
        TEST(test_elementwise__a_compile_survives_each_allocation_failure),
        TEST(test_elementwise__allocated_outputs_survive_each_allocation_failure),
        TEST(test_elementwise__overlap_survives_each_allocation_failure),
        TEST(test_elementwise__prepare_survives_each_allocation_failure),
        TEST(test_elementwise__source_survives_each_allocation_failure),
    };

    test_env_compile_anew();
    return test_env_main(argc, argv, "test_elementwise_alloc", tests, COUNT(tests));
}
