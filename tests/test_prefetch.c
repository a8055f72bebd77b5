/*
 * test_prefetch.c - kernels compiled ahead: waited for, looked at, given up, left behind.
 *
 * Whether a compiler has begun or not when it is told to stop is a matter of luck, so tests that
 * cancel accept both ends, and look at what must hold in either: handles end, nothing leaks, the
 * kernel runs afterwards. A compiler that is slow for certain is a script, for the cpu alone.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/core.h"
#include "kiln/expression.h"
#include "test_env.h"

static kiln_array *ones(test_env *t, kiln_context *ctx, int64_t size)
{
    kiln_array *x = NULL;
    OK(t, kiln_array_full(ctx, KILN_FLOAT32, 1, &size, 1, &x, &t->err));
    return x;
}

static uint64_t compiles(kiln_context *ctx)
{
    kiln_cache_counters counters;
    kiln_context_cache_counters(ctx, &counters);
    return counters.compiles;
}

/* A definition that no other test has: its constant tells. */
static kiln_elementwise *define(test_env *t, kiln_context *ctx, int constant)
{
    kiln_elementwise *op = NULL;
    char code[64];
    snprintf(code, sizeof code, "z = x + %d", constant);
    OK(t, kiln_elementwise_create(ctx, "T x", "T z", code, NULL, &op, &t->err));
    return op;
}

static kiln_prefetch *begin(test_env *t, kiln_elementwise *op, kiln_array *x)
{
    kiln_prefetch *p = NULL;
    kiln_array *z = NULL;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
    OK(t, kiln_elementwise_prefetch(op, args, COUNT(args), NULL, &p, &t->err));
    assert_non_null(p);
    assert_null(z); /* nothing is allocated */
    return p;
}

static void run_gives(test_env *t, kiln_elementwise *op, kiln_array *x, float want)
{
    kiln_array *z = NULL;
    float got[4] = {0};
    OK(t, kiln_call(op, &t->err, x, &z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == want && got[3] == want);
    kiln_array_release(z);
}

static void test_prefetch__a_later_run_compiles_nothing(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4), *y = NULL, *s = NULL;
    kiln_elementwise *op = define(t, t->ctx, 1000);
    kiln_reduction *norm = NULL;
    kiln_scan *sum = NULL;
    kiln_row *rows = NULL;
    kiln_array *r = NULL;
    kiln_prefetch *ahead[4] = {NULL};
    static const kiln_row_stage stage = {
        .map = "x", .type = "float", .reduce = "a + b", .identity = "0", .result = "s"};

    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x * x", "a + b", "y = a + 1001", "0", NULL,
                                &norm, &t->err));
    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a + 1002", "0", NULL, &sum,
                           &t->err));
    OK(t, kiln_row_create(t->ctx, "T x", "T y", &stage, 1, "y = x / (s + 1003)", NULL, &rows,
                          &t->err));
    const kiln_arg row[] = {kiln_arg_array(x), kiln_arg_out(&r)};
    const kiln_arg reduce[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    const kiln_arg scan[] = {kiln_arg_array(x), kiln_arg_out(&s)};
    ahead[0] = begin(t, op, x);
    OK(t, kiln_reduction_prefetch(norm, reduce, 2, NULL, &ahead[1], &t->err));
    OK(t, kiln_scan_prefetch(sum, scan, 2, NULL, &ahead[2], &t->err));
    OK(t, kiln_row_prefetch(rows, row, 2, NULL, &ahead[3], &t->err));
    for (size_t k = 0; k < COUNT(ahead); k++) {
        OK(t, kiln_prefetch_wait(ahead[k], -1, &t->err));
        assert_true(kiln_prefetch_done(ahead[k]));
        OK(t, kiln_prefetch_wait(ahead[k], 0, &t->err));
        kiln_prefetch_destroy(ahead[k]);
    }
    const uint64_t before = compiles(t->ctx);
    run_gives(t, op, x, 1001);
    OK(t, kiln_reduction_run(norm, reduce, 2, NULL, &t->err));
    OK(t, kiln_scan_run(sum, scan, 2, NULL, &t->err));
    OK(t, kiln_row_run(rows, row, 2, NULL, &t->err));
    assert_int_equal(compiles(t->ctx), before);
    kiln_array_release(r);
    kiln_array_release(s);
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_row_destroy(rows);
    kiln_scan_destroy(sum);
    kiln_reduction_destroy(norm);
    kiln_elementwise_destroy(op);
}

/* All kernels of a graph: a row program, a reduction, a loop, and one of the user's whose snippet
 * needs positions, so that it stays a kernel of its own. */
static kiln_graph *several_kernels(test_env *t, kiln_elementwise *custom)
{
    kiln_graph *g = NULL;
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node x = kiln_graph_input(g, "x"), a = kiln_graph_input(g, "a");
    kiln_graph_output(g, "e", kiln_multiply(kiln_exp(kiln_subtract(x, kiln_max_keep(x, KILN_AXES(-1)))), a));
    kiln_graph_output(g, "s", kiln_sum(kiln_multiply(x, x), KILN_AXES(0)));
    const kiln_node given[] = {kiln_flip(x, 0), a};
    kiln_graph_output(g, "z", kiln_node_elementwise(custom, given, 2, 0, KILN_HERE));
    OK(t, kiln_graph_compile(g, &t->err));
    return g;
}

/* How often a context has looked for a compiled kernel. */
static uint64_t searches(kiln_context *ctx)
{
    kiln_cache_counters counters;
    kiln_context_cache_counters(ctx, &counters);
    return counters.hits + counters.misses;
}

static void test_prefetch__eager_operations_are_compiled_ahead(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4), *z = NULL;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_float(3)};
    kiln_prefetch *ahead = NULL;
    float got[4];

    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_array_op_prefetch(KILN_OP_HYPOT, args, 1, NULL, &ahead, &t->err), "hypot");
    assert_null(ahead);
    const uint64_t before = searches(t->ctx);
    OK(t, kiln_array_op_prefetch(KILN_OP_HYPOT, args, 2, NULL, &ahead, &t->err));
    OK(t, kiln_prefetch_wait(ahead, -1, &t->err));
    kiln_prefetch_destroy(ahead);
    const uint64_t after = searches(t->ctx);
    assert_true(after > before);
    OK(t, kiln_array_hypot(x, 3.0f, &z, &t->err));
    assert_int_equal(searches(t->ctx), after);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_true(got[0] > 3.16227f && got[3] < 3.16228f); /* the square root of 10 */
    kiln_array_release(z);
    kiln_array_release(x);
}

static void test_prefetch__arguments_are_judged_at_once_and_snippets_by_the_wait(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4), *y = ones(t, t->ctx, 3), *none = ones(t, t->ctx, 0);
    kiln_array *z = NULL;
    kiln_elementwise *op = NULL;
    kiln_prefetch *p = (kiln_prefetch *)t;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x + lost", NULL, &op, &t->err));
    const kiln_arg bad[] = {kiln_arg_array(x), kiln_arg_array(y), kiln_arg_out(&z)};
    FAILS(t, KILN_ERR_SHAPE, kiln_elementwise_prefetch(op, bad, 3, NULL, &p, &t->err), "broadcast");
    assert_null(p);
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_elementwise_prefetch(op, bad, 2, NULL, &p, &t->err), "3");
    FAILS(t, KILN_ERR_NULL, kiln_elementwise_prefetch(NULL, bad, 3, NULL, &p, &t->err), "NULL");
    const kiln_arg good[] = {kiln_arg_array(x), kiln_arg_array(x), kiln_arg_out(&z)};
    OK(t, kiln_elementwise_prefetch(op, good, 3, NULL, &p, &t->err));
    for (int k = 0; k < 2; k++)
        FAILS(t, KILN_ERR_COMPILE, kiln_prefetch_wait(p, -1, &t->err), "op, line 1, column 9",
              "lost", "^");
    kiln_prefetch_destroy(p);
    /* Of no elements nothing is compiled. */
    const kiln_arg empty[] = {kiln_arg_array(none), kiln_arg_array(none), kiln_arg_out(&z)};
    const uint64_t before = compiles(t->ctx);
    OK(t, kiln_elementwise_prefetch(op, empty, 3, NULL, &p, &t->err));
    assert_true(kiln_prefetch_done(p));
    OK(t, kiln_prefetch_wait(p, 0, &t->err));
    kiln_prefetch_destroy(p);
    assert_int_equal(compiles(t->ctx), before);

    FAILS(t, KILN_ERR_NULL, kiln_prefetch_wait(NULL, 0, &t->err), "NULL");
    assert_true(kiln_prefetch_done(NULL));
    kiln_prefetch_cancel(NULL);
    kiln_prefetch_destroy(NULL);
    kiln_array_release(none);
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

enum { CROWD = 6 };

typedef struct waiter {
    kiln_prefetch *prefetch;
    kiln_status status;
} waiter;

static void *wait_for_it(void *argument)
{
    waiter *w = argument;
    w->status = kiln_prefetch_wait(w->prefetch, -1, NULL);
    return NULL;
}

static void test_prefetch__many_wait_for_one_and_runs_join_in(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4);
    kiln_elementwise *op = define(t, t->ctx, 2000);
    waiter waiters[CROWD];
    pthread_t thread[CROWD];
    const uint64_t before = compiles(t->ctx);

    for (int k = 0; k < CROWD; k++) {
        waiters[k] = (waiter){begin(t, op, x), KILN_ERR_INTERNAL};
        assert_int_equal(pthread_create(&thread[k], NULL, wait_for_it, &waiters[k]), 0);
    }
    run_gives(t, op, x, 2001);
    for (int k = 0; k < CROWD; k++) {
        assert_int_equal(pthread_join(thread[k], NULL), 0);
        assert_int_equal(waiters[k].status, KILN_OK);
        kiln_prefetch_destroy(waiters[k].prefetch);
    }
    assert_int_equal(compiles(t->ctx), before + 1);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

static void test_prefetch__nobody_needs_to_wait_or_to_keep_anything(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4), *z = NULL;
    kiln_elementwise *op = define(t, t->ctx, 3000);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
    kiln_prefetch *p = begin(t, op, x);

    OK(t, kiln_elementwise_prefetch(op, args, 2, NULL, NULL, &t->err));
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    OK(t, kiln_prefetch_wait(p, -1, &t->err));
    kiln_prefetch_destroy(p);
    const uint64_t before = compiles(t->ctx);
    x = ones(t, t->ctx, 4);
    op = define(t, t->ctx, 3000);
    run_gives(t, op, x, 3001);
    assert_int_equal(compiles(t->ctx), before);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

static void test_prefetch__what_is_given_up_can_be_run_all_the_same(void **state)
{
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, 4);

    for (int k = 0; k < 3; k++) {
        kiln_elementwise *op = define(t, t->ctx, 4000 + k);
        kiln_prefetch *p = begin(t, op, x);
        usleep((unsigned)k * 30000);
        kiln_prefetch_cancel(p);
        kiln_prefetch_cancel(p);
        const kiln_status status = kiln_prefetch_wait(p, -1, &t->err);
        CHECK(status == KILN_OK || status == KILN_ERR_CANCELLED, "%s", t->err.message);
        if (status == KILN_ERR_CANCELLED)
            CHECK(strstr(t->err.message, "cancelled") != NULL, "%s", t->err.message);
        kiln_error_clear(&t->err);
        kiln_prefetch_destroy(p);
        run_gives(t, op, x, (float)(4001 + k));
        kiln_elementwise_destroy(op);
    }
    kiln_array_release(x);
}

static void test_prefetch__all_kernels_of_a_graph_are_one_handle(void **state)
{
    static const int64_t shape[] = {3, 8};
    test_env *t = *state;
    kiln_elementwise *custom = NULL;
    kiln_array *x = NULL, *y[3] = {NULL};
    kiln_prefetch *p = NULL;
    size_t kernels = 0;
    float got[24];

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = x * a + T(i)", NULL, &custom, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 2, shape, 3, &x, &t->err));
    kiln_graph *g = several_kernels(t, custom);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_float(2), kiln_arg_out(&y[0]),
                             kiln_arg_out(&y[1]), kiln_arg_out(&y[2])};
    OK(t, kiln_graph_kernel_count(g, args, COUNT(args), &kernels, &t->err));
    assert_int_equal(kernels, 3);
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_graph_prefetch(g, args, 2, NULL, &p, &t->err), "5");
    assert_null(p);
    const uint64_t before = compiles(t->ctx);
    OK(t, kiln_graph_prefetch(g, args, COUNT(args), NULL, &p, &t->err));
    assert_null(y[0]); /* nothing is allocated */
    OK(t, kiln_prefetch_wait(p, -1, &t->err));
    assert_true(kiln_prefetch_done(p));
    assert_int_equal(compiles(t->ctx), before + kernels);
    kiln_prefetch_cancel(p); /* it is done and stays */
    OK(t, kiln_prefetch_wait(p, 0, &t->err));
    kiln_prefetch_destroy(p);
    OK(t, kiln_graph_prefetch(g, args, COUNT(args), NULL, NULL, &t->err));
    OK(t, kiln_graph_run(g, args, COUNT(args), NULL, &t->err));
    assert_int_equal(compiles(t->ctx), before + kernels);
    /* x is 3 everywhere: exp(3 - 3) * 2; 3 * 9; 3 * 2 + i. */
    OK(t, kiln_array_to_host(y[0], got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 2 && got[23] == 2);
    OK(t, kiln_array_to_host(y[1], got, 8 * sizeof got[0], NULL, &t->err));
    assert_true(got[0] == 27 && got[7] == 27);
    OK(t, kiln_array_to_host(y[2], got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 6 && got[23] == 29);
    for (size_t k = 0; k < COUNT(y); k++)
        kiln_array_release(y[k]);
    kiln_array_release(x);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(custom);
}

/* The user's kernel in a graph does not compile: the handle of all tells, and the call in the same
 * words. */
static void test_prefetch__a_graph_tells_of_its_first_failure(void **state)
{
    static const int64_t shape[] = {3, 8};
    test_env *t = *state;
    kiln_elementwise *custom = NULL;
    kiln_array *x = NULL, *y[3] = {NULL};
    kiln_prefetch *p = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = lost(i)", NULL, &custom, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 2, shape, 3, &x, &t->err));
    kiln_graph *g = several_kernels(t, custom);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_float(2), kiln_arg_out(&y[0]),
                             kiln_arg_out(&y[1]), kiln_arg_out(&y[2])};
    OK(t, kiln_graph_prefetch(g, args, COUNT(args), NULL, &p, &t->err));
    for (int k = 0; k < 2; k++)
        FAILS(t, KILN_ERR_COMPILE, kiln_prefetch_wait(p, -1, &t->err), "op, line 1, column 5", "lost");
    assert_true(kiln_prefetch_done(p));
    kiln_prefetch_destroy(p);
    FAILS(t, KILN_ERR_COMPILE, kiln_graph_run(g, args, COUNT(args), NULL, &t->err), "op, line 1", "lost");
    kiln_array_release(x);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(custom);
}

static void test_prefetch__the_end_of_a_context_ends_what_was_begun(void **state)
{
    test_env *t = *state;

    for (int round = 0; round < 2; round++) {
        kiln_context *ctx = test_env_context(t, "");
        kiln_array *x = ones(t, ctx, 4);
        kiln_prefetch *ahead[CROWD];
        for (int k = 0; k < CROWD; k++) {
            kiln_elementwise *op = define(t, ctx, 5000 + 10 * round + k);
            ahead[k] = begin(t, op, x);
            kiln_elementwise_destroy(op);
        }
        kiln_array_release(x);
        usleep((unsigned)round * 40000);
        const double start = kiln__now_us();
        kiln_context_release(ctx); /* the last reference */
        CHECK(kiln__now_us() - start < 10e6, "it took %.1f s", (kiln__now_us() - start) / 1e6);
        for (int k = 0; k < CROWD; k++) {
            assert_true(kiln_prefetch_done(ahead[k]));
            const kiln_status status = kiln_prefetch_wait(ahead[k], 0, NULL);
            assert_true(status == KILN_OK || status == KILN_ERR_CANCELLED);
            kiln_prefetch_cancel(ahead[k]);
            kiln_prefetch_destroy(ahead[k]);
        }
    }
}

/* ---- a compiler that never ends ---------------------------------------------------------------- */

/* Start this program anew, for slow_main(), with a C++ compiler that sleeps for a minute. */
static void test_prefetch__a_compiler_at_work_is_stopped(void **state)
{
    test_env *t = *state;
    char script[300];
    int status = 0;

    if (t->cuda)
        skip();
    snprintf(script, sizeof script, "%s/slow-c++", t->temp_dir);
    FILE *f = fopen(script, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\ncase \"$1\" in --version) echo 'slow 1.0'; exit 0;; esac\nsleep 60\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(script, 0755), 0);
    fflush(NULL);
    const double start = kiln__now_us();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *argv[] = {"test_prefetch", NULL};
        setenv("KILN_PREFETCH_TEST", "slow", 1);
        setenv("KILN_CXX", script, 1);
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(kiln__now_us() - start < 30e6);
}

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* What the new process does: a handle times out, is cancelled while its compiler runs, and a
 * context ends with compilers at work. Its exit status. */
static int slow_main(void)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_elementwise *op[2] = {NULL};
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *z = NULL;
    kiln_prefetch *p = NULL, *q = NULL;
    kiln_error err = KILN_ERROR_INIT;
    const kiln_arg args[] = {kiln_arg_out(&z)};

    o.device = "cpu";
    o.cache_dir = "";
    call.has_size = true;
    call.size = 4;
    MUST(kiln_context_create(&o, &ctx, NULL) == KILN_OK);
    MUST(kiln_elementwise_create(ctx, "", "int32 z", "z = 1", NULL, &op[0], NULL) == KILN_OK);
    MUST(kiln_elementwise_create(ctx, "", "int32 z", "z = 2", NULL, &op[1], NULL) == KILN_OK);
    MUST(kiln_elementwise_prefetch(op[0], args, 1, &call, &p, NULL) == KILN_OK);
    MUST(!kiln_prefetch_done(p));
    const double start = kiln__now_us();
    MUST(kiln_prefetch_wait(p, 300, &err) == KILN_ERR_TIMEOUT);
    MUST(kiln__now_us() - start > 290e3);
    MUST(strstr(err.message, "not compiled after 300 ms") != NULL);
    MUST(kiln_prefetch_wait(p, 0, NULL) == KILN_ERR_TIMEOUT);
    kiln_prefetch_cancel(p);
    MUST(kiln_prefetch_wait(p, 10000, &err) == KILN_ERR_CANCELLED);
    MUST(strstr(err.message, "cancelled") != NULL);

    MUST(kiln_elementwise_prefetch(op[1], args, 1, &call, &q, NULL) == KILN_OK);
    usleep(200000);
    pid_t child = fork();
    if (child == 0) {
        /* No worker is here: nobody may wait for one, and the context can be released. */
        const bool right = kiln_prefetch_wait(q, -1, NULL) == KILN_ERR_FORK &&
                           kiln_elementwise_prefetch(op[0], args, 1, &call, NULL, NULL) ==
                               KILN_ERR_FORK;
        kiln_prefetch_cancel(q);
        _exit(right ? 0 : 1);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    kiln_elementwise_destroy(op[0]);
    kiln_elementwise_destroy(op[1]);
    kiln_context_release(ctx);
    MUST(kiln_prefetch_wait(q, 0, NULL) == KILN_ERR_CANCELLED);
    MUST(kiln__now_us() - start < 15e6);
    kiln_prefetch_destroy(p);
    kiln_prefetch_destroy(q);
    kiln_error_clear(&err);
    MUST(kiln__test_alloc_live() == 0);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_prefetch__a_later_run_compiles_nothing),
        TEST(test_prefetch__eager_operations_are_compiled_ahead),
        TEST(test_prefetch__arguments_are_judged_at_once_and_snippets_by_the_wait),
        TEST(test_prefetch__many_wait_for_one_and_runs_join_in),
        TEST(test_prefetch__nobody_needs_to_wait_or_to_keep_anything),
        TEST(test_prefetch__what_is_given_up_can_be_run_all_the_same),
        TEST(test_prefetch__all_kernels_of_a_graph_are_one_handle),
        TEST(test_prefetch__a_graph_tells_of_its_first_failure),
        TEST(test_prefetch__the_end_of_a_context_ends_what_was_begun),
        TEST(test_prefetch__a_compiler_at_work_is_stopped),
    };

    if (getenv("KILN_PREFETCH_TEST") != NULL)
        return slow_main();
    test_env_compile_anew();
    return test_env_main(argc, argv, "test_prefetch", tests, COUNT(tests));
}
