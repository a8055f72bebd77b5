/*
 * test_launch_hit.c - what a launch costs whose kernel the process has met already: no allocation
 * and no lock, counted by fault_shim.c, which stands before libc.
 *
 * On the cpu device only: a GPU's driver has locks of its own that cannot be told from ours. The
 * arrays are small, so that no second thread is called in.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fault_shim.h"
#include "kiln/kiln.h"

#define LAUNCHES 1000
#define ELEMENTS 12

static const fault_functions *shim;

typedef struct launch_env {
    kiln_context *ctx;
    kiln_elementwise *op;
    /* The same twelve numbers in four layouts, and where the results go. */
    kiln_array *in[4], *out[4];
} launch_env;

static int enter(void **state)
{
    static launch_env env;
    launch_env *t = &env;
    static const int64_t shapes[4][3] = {{12}, {3, 4}, {2, 3, 2}, {1, 12}};
    static const int ranks[4] = {1, 2, 3, 2};
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;
    float numbers[ELEMENTS];

    for (int k = 0; k < ELEMENTS; k++)
        numbers[k] = (float)k;
    opts.device = "cpu";
    assert_int_equal(kiln_context_create(&opts, &t->ctx, NULL), KILN_OK);
    assert_int_equal(kiln_elementwise_create(t->ctx, "T x, float32 a", "T z", "z = a * x", NULL,
                                             &t->op, NULL),
                     KILN_OK);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(kiln_array_from_host(t->ctx, KILN_FLOAT32, ranks[k], shapes[k], numbers,
                                              NULL, &t->in[k], NULL),
                         KILN_OK);
        assert_int_equal(kiln_array_zeros(t->ctx, KILN_FLOAT32, ranks[k], shapes[k], &t->out[k],
                                          NULL),
                         KILN_OK);
    }
    *state = t;
    return 0;
}

static int leave(void **state)
{
    launch_env *t = *state;

    for (int k = 0; k < 4; k++) {
        kiln_array_release(t->in[k]);
        kiln_array_release(t->out[k]);
    }
    kiln_elementwise_destroy(t->op);
    kiln_context_release(t->ctx);
    return 0;
}

static void run(launch_env *t, int k, double a)
{
    const kiln_arg args[] = {kiln_arg_array(t->in[k]), kiln_arg_float(a),
                             kiln_arg_array(t->out[k])};

    if (kiln_elementwise_run(t->op, args, 3, NULL, NULL) != KILN_OK)
        fail_msg("a launch failed");
}

/* Nothing of any kind is to fail; the shim only counts. */
static const fault_plan NEVER = {"none", 0, 0, 0};

static void check_results(launch_env *t, double a)
{
    for (int k = 0; k < 4; k++) {
        float got[ELEMENTS];
        assert_int_equal(kiln_array_to_host(t->out[k], got, sizeof got, NULL, NULL), KILN_OK);
        for (int e = 0; e < ELEMENTS; e++)
            assert_true(got[e] == (float)a * (float)e);
    }
}

static void test_launch_hit__a_known_kernel_takes_no_lock_and_no_memory(void **state)
{
    launch_env *t = *state;
    fault_counts counts;

    for (int k = 0; k < 4; k++)
        run(t, k, 1);
    shim->arm(&NEVER);
    for (int n = 0; n < LAUNCHES; n++)
        run(t, n % 4, 2.5);
    counts = shim->disarm();
    assert_int_equal(counts.locks, 0);
    assert_int_equal(counts.allocs, 0);
    check_results(t, 2.5);
}

static void test_launch_hit__a_prepared_launch_takes_no_lock_and_no_memory(void **state)
{
    launch_env *t = *state;
    kiln_launch *launches[4] = {NULL};
    fault_counts counts;

    for (int k = 0; k < 4; k++) {
        const kiln_arg args[] = {kiln_arg_array(t->in[k]), kiln_arg_float(3),
                                 kiln_arg_array(t->out[k])};
        assert_int_equal(kiln_elementwise_prepare(t->op, args, 3, NULL, &launches[k], NULL),
                         KILN_OK);
    }
    shim->arm(&NEVER);
    for (int n = 0; n < LAUNCHES; n++) {
        if (kiln_launch_run(launches[n % 4], NULL, NULL) != KILN_OK)
            fail_msg("a launch failed");
    }
    counts = shim->disarm();
    assert_int_equal(counts.locks, 0);
    assert_int_equal(counts.allocs, 0);
    check_results(t, 3);
    for (int k = 0; k < 4; k++)
        kiln_launch_destroy(launches[k]);
}

/* The counters count: a kernel that has not been met takes both. */
static void test_launch_hit__a_new_kernel_takes_both(void **state)
{
    launch_env *t = *state;
    kiln_elementwise *op = NULL;
    fault_counts counts;

    shim->arm(&NEVER);
    assert_int_equal(kiln_elementwise_create(t->ctx, "T x, float32 a", "T z", "z = a * x", NULL, &op,
                                             NULL),
                     KILN_OK);
    const kiln_arg args[] = {kiln_arg_array(t->in[0]), kiln_arg_float(1),
                             kiln_arg_array(t->out[0])};
    assert_int_equal(kiln_elementwise_run(op, args, 3, NULL, NULL), KILN_OK);
    counts = shim->disarm();
    kiln_elementwise_destroy(op);
    assert_true(counts.locks > 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
    assert_true(counts.allocs > 0);
#endif
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!fault_shim_enter(argv))
        return 77;
    shim = fault_shim();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_hit__a_known_kernel_takes_no_lock_and_no_memory),
        cmocka_unit_test(test_launch_hit__a_prepared_launch_takes_no_lock_and_no_memory),
        cmocka_unit_test(test_launch_hit__a_new_kernel_takes_both),
    };

    return cmocka_run_group_tests_name("launch_hit", tests, enter, leave);
}
