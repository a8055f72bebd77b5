/*
 * test_elementwise_threads.c - one kernel from many threads, prepared launches, streams.
 *
 * cmocka's assertions leave a thread by longjmp, so threads only count what went wrong; the test's
 * own thread judges afterwards.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "oracle/host.h"

#include "jit/jit.h"

enum { THREADS = 16 };

typedef struct crew {
    test_env *t;
    kiln_elementwise *op;
    kiln_array *x;
    pthread_barrier_t start;
    atomic_int wrong;
    atomic_int next;
    int rounds;
} crew;

static void run_threads(crew *c, void *(*work)(void *))
{
    pthread_t threads[THREADS];

    atomic_init(&c->wrong, 0);
    atomic_init(&c->next, 0);
    pthread_barrier_init(&c->start, NULL, THREADS);
    for (int k = 0; k < THREADS; k++)
        if (pthread_create(&threads[k], NULL, work, c) != 0)
            fail_msg("no thread");
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    pthread_barrier_destroy(&c->start);
}

/* Whether z holds 2, 3, 4, ... 2 + i % 5. */
static bool right(const kiln_array *z, int64_t size, float plus)
{
    float got[4096];

    if (kiln_array_size(z) != size || size > 4096 ||
        kiln_array_to_host(z, got, sizeof got, NULL, NULL) != KILN_OK)
        return false;
    for (int64_t k = 0; k < size; k++)
        if (got[k] != (float)(k % 5) + plus)
            return false;
    return true;
}

static kiln_array *cyclic(test_env *t, int64_t size)
{
    float values[4096];
    kiln_array *x = NULL;

    for (int64_t k = 0; k < size; k++)
        values[k] = (float)(k % 5);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &size, values, NULL, &x, &t->err));
    return x;
}

/* ---- one compile for many threads ---- */

static void *call_once(void *arg)
{
    crew *c = arg;
    kiln_array *z = NULL;

    pthread_barrier_wait(&c->start);
    if (kiln_call(c->op, NULL, c->x, &z) != KILN_OK || !right(z, 3000, 1))
        atomic_fetch_add(&c->wrong, 1);
    kiln_array_release(z);
    return NULL;
}

static uint64_t compiles_of(kiln_context *ctx)
{
    kiln_cache_counters counters;

    kiln_context_cache_counters(ctx, &counters);
    return counters.compiles;
}

static void test_elementwise__sixteen_threads_compile_a_new_kernel_once(void **state)
{
    test_env *t = *state;
    kiln_context *shared = t->ctx;
    char dir[256];
    crew c = {.t = t};

    test_env_fresh_dir(t, dir, sizeof dir);
    t->ctx = test_env_context(t, dir);
    c.x = cyclic(t, 3000);
    OK(t, kiln_elementwise_create(t->ctx, "float32 x", "float32 z", "z = x + 1", NULL, &c.op,
                                  &t->err));
    run_threads(&c, call_once);
    CHECK(atomic_load(&c.wrong) == 0, "%d of %d threads", atomic_load(&c.wrong), THREADS);
    CHECK(compiles_of(t->ctx) == 1, "%llu compiles", (unsigned long long)compiles_of(t->ctx));
    kiln_array_release(c.x);
    kiln_elementwise_destroy(c.op);
    kiln_context_release(t->ctx);
    t->ctx = shared;
}

/* ---- a storm of different variants on one kernel ---- */

static const int64_t starts[] = {0, 1, 2, 3, 5, 10};
static const int64_t steps[] = {1, 2, 3, -1};

static bool check_slice(crew *c, int64_t start, int64_t step)
{
    kiln_array *view = NULL, *z = NULL;
    float got[4096];
    bool ok = false;
    int64_t from = step > 0 ? start : 3999 - start;

    if (kiln_array_slice(c->x, 0, from, KILN_SLICE_OPEN, step, &view, NULL) == KILN_OK &&
        kiln_call(c->op, NULL, view, &z) == KILN_OK &&
        kiln_array_to_host(z, got, sizeof got, NULL, NULL) == KILN_OK) {
        int64_t size = kiln_array_size(z);

        ok = size > 0;
        for (int64_t k = 0; k < size; k++)
            ok &= got[k] == (float)((from + k * step) % 5) + 1;
    }
    kiln_array_release(view);
    kiln_array_release(z);
    return ok;
}

static void *call_slices(void *arg)
{
    crew *c = arg;
    int me = atomic_fetch_add(&c->next, 1);

    pthread_barrier_wait(&c->start);
    for (int k = 0; k < c->rounds; k++) {
        size_t at = (size_t)(me * 7 + k);

        if (!check_slice(c, starts[at % COUNT(starts)], steps[at / 3 % COUNT(steps)]))
            atomic_fetch_add(&c->wrong, 1);
    }
    return NULL;
}

static void test_elementwise__threads_on_one_kernel_with_changing_layouts(void **state)
{
    test_env *t = *state;
    crew c = {.t = t, .rounds = 40};

    c.x = cyclic(t, 4000);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &c.op, &t->err));
    run_threads(&c, call_slices);
    CHECK(atomic_load(&c.wrong) == 0, "%d calls went wrong", atomic_load(&c.wrong));
    kiln_array_release(c.x);
    kiln_elementwise_destroy(c.op);
}

static void *define_and_call(void *arg)
{
    crew *c = arg;

    pthread_barrier_wait(&c->start);
    for (int k = 0; k < c->rounds; k++) {
        kiln_elementwise *op = NULL;
        kiln_array *z = NULL;
        char snippet[64];

        snprintf(snippet, sizeof snippet, "z = x + %d", k % 4 + 1);
        if (kiln_elementwise_create(c->t->ctx, "T x", "T z", snippet, NULL, &op, NULL) != KILN_OK ||
            kiln_call(op, NULL, c->x, &z) != KILN_OK || !right(z, 1000, (float)(k % 4 + 1)))
            atomic_fetch_add(&c->wrong, 1);
        kiln_elementwise_destroy(op); /* while its work may still run */
        kiln_array_release(z);
    }
    return NULL;
}

static void test_elementwise__threads_that_make_and_destroy_their_own_kernels(void **state)
{
    test_env *t = *state;
    crew c = {.t = t, .rounds = 12};

    c.x = cyclic(t, 1000);
    run_threads(&c, define_and_call);
    CHECK(atomic_load(&c.wrong) == 0, "%d calls went wrong", atomic_load(&c.wrong));
    kiln_array_release(c.x);
}

/* A definition that does not compile fails alike in every thread. */
static void *call_broken(void *arg)
{
    crew *c = arg;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *z = NULL;

    pthread_barrier_wait(&c->start);
    if (kiln_call(c->op, &err, c->x, &z) != KILN_ERR_COMPILE || z != NULL ||
        strstr(err.message, "op") == NULL)
        atomic_fetch_add(&c->wrong, 1);
    kiln_error_clear(&err);
    return NULL;
}

static void test_elementwise__a_broken_kernel_fails_in_every_thread(void **state)
{
    test_env *t = *state;
    crew c = {.t = t};

    c.x = cyclic(t, 100);
    OK(t,
       kiln_elementwise_create(t->ctx, "T x", "T z", "z = never_declared", NULL, &c.op, &t->err));
    run_threads(&c, call_broken);
    CHECK(atomic_load(&c.wrong) == 0, "%d threads", atomic_load(&c.wrong));
    kiln_array_release(c.x);
    kiln_elementwise_destroy(c.op);
}

/* ---- the disk cache ---- */

static void test_elementwise__a_second_context_finds_the_kernel_on_disk(void **state)
{
    test_env *t = *state;
    kiln_context *shared = t->ctx;
    char dir[256];

    test_env_fresh_dir(t, dir, sizeof dir);
    for (int pass = 0; pass < 2; pass++) {
        kiln_elementwise *op = NULL;
        kiln_array *x, *z = NULL;

        t->ctx = test_env_context(t, dir);
        x = cyclic(t, 500);
        OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
        OK(t, kiln_call(op, &t->err, x, &z));
        CHECK(right(z, 500, 1), "pass %d", pass);
        CHECK(compiles_of(t->ctx) == (uint64_t)!pass, "pass %d: %llu compiles", pass,
              (unsigned long long)compiles_of(t->ctx));
        kiln_array_release(x);
        kiln_array_release(z);
        kiln_elementwise_destroy(op);
        kiln_context_release(t->ctx);
    }
    t->ctx = shared;
}

static void test_elementwise__without_a_cache_folder_kernels_live_in_memory(void **state)
{
    test_env *t = *state;
    kiln_context *shared = t->ctx;
    kiln_elementwise *op = NULL;
    kiln_array *x, *z = NULL;

    t->ctx = test_env_context(t, "");
    x = cyclic(t, 500);
    assert_string_equal(kiln_context_cache_dir(t->ctx), "");
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, &z));
    CHECK(right(z, 500, 1), "wrong");
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(t->ctx);
    t->ctx = shared;
}

/* ---- prepared launches ---- */

static void test_elementwise__a_prepared_launch_runs_again_and_again(void **state)
{
    static const int64_t shape[] = {1000};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_launch *launch = NULL;
    kiln_array *x = cyclic(t, 1000), *z = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z += x * a", NULL, &op, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, shape, &z, &t->err));
    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, 2, z), NULL, &launch, &t->err));
    kiln_elementwise_destroy(op); /* the launch keeps what it needs */
    kiln_array_release(x);
    for (int k = 0; k < 10; k++)
        OK(t, kiln_launch_run(launch, NULL, &t->err));
    kiln_launch_destroy(launch); /* enqueued work still completes */
    float got[1000];
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 1000; k++)
        CHECK(got[k] == (float)(k % 5 * 20), "element %d: %g", k, (double)got[k]);
    kiln_array_release(z);
}

static void test_elementwise__prepare_allocates_outputs_at_once(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_launch *launch = NULL;
    kiln_array *x = cyclic(t, 1000), *z = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, &z), NULL, &launch, &t->err));
    assert_non_null(z);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    CHECK(right(z, 1000, 1), "wrong");
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
}

static void test_elementwise__a_prepared_launch_over_nothing(void **state)
{
    static const int64_t none[] = {0};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_launch *launch = NULL;
    kiln_array *x = NULL, *z = NULL;

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 1, none, &x, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(1)", NULL, &op, &t->err));
    OK(t, kiln_elementwise_prepare(op, KILN_ARGS(x, &z), NULL, &launch, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    kiln_launch_destroy(launch);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
}

/* ---- streams ---- */

static void test_elementwise__work_on_streams_waits_where_it_is_told_to(void **state)
{
    enum { ROUNDS = 50 };
    static const int64_t shape[] = {200000};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_stream *a = NULL, *b = NULL;
    kiln_array *x = NULL;
    kiln_elementwise_call_options on_a = KILN_ELEMENTWISE_CALL_OPTIONS_INIT,
                                  on_b = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    static float got[200000];

    OK(t, kiln_stream_create(t->ctx, NULL, &a, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &b, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "float32 f", "float32 z", "z = z * f + 1", NULL, &op,
                                  &t->err));
    on_a.stream = a;
    on_b.stream = b;
    OK(t, kiln_stream_wait(t->ctx, a, NULL, &t->err)); /* for the zeros */
    for (int k = 0; k < ROUNDS; k++) {
        OK(t, kiln_elementwise_run(op, KILN_ARGS(-1, x), &on_a, &t->err));
        OK(t, kiln_stream_wait(t->ctx, b, a, &t->err));
        OK(t, kiln_elementwise_run(op, KILN_ARGS(2, x), &on_b, &t->err));
        OK(t, kiln_stream_wait(t->ctx, a, b, &t->err));
    }
    OK(t, kiln_stream_synchronize(b, &t->err));
    OK(t, kiln_stream_wait(t->ctx, NULL, b, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    float want = 0; /* bounded: exact until the magnitude passes 2^24, and then equal rounding */
    for (int k = 0; k < ROUNDS; k++)
        want = (want * -1.0f + 1.0f) * 2.0f + 1.0f;
    for (int64_t k = 0; k < shape[0]; k++)
        CHECK(got[k] == want, "element %lld: %g, not %g", (long long)k, (double)got[k],
              (double)want);
    kiln_stream_destroy(a);
    kiln_stream_destroy(b);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

/* An output allocated on a stream and released at once must not be reused by another stream
 * before that stream is done with it. */
static void test_elementwise__memory_released_early_is_not_handed_to_another_stream(void **state)
{
    static const int64_t shape[] = {1 << 20};
    test_env *t = *state;
    kiln_elementwise *slow = NULL, *fill = NULL;
    kiln_stream *a = NULL, *b = NULL;
    kiln_elementwise_call_options on_a = KILN_ELEMENTWISE_CALL_OPTIONS_INIT,
                                  on_b = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *result = NULL;
    float sample[4];

    OK(t, kiln_stream_create(t->ctx, NULL, &a, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &b, &t->err));
    on_a.stream = a;
    on_b.stream = b;
    on_b.has_size = true;
    on_b.size = shape[0];
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, shape, &result, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "float32 x", "float32 z",
                                  "float v = x; for (int k = 0; k < 200; ++k) v = v * 0.5f + x; "
                                  "z = v",
                                  NULL, &slow, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "float32 f", "float32 z", "z = f", NULL, &fill, &t->err));
    for (int round = 0; round < 20; round++) {
        kiln_array *x = NULL, *other = NULL;
        kiln_elementwise_call_options sized = on_a;

        sized.has_size = true;
        sized.size = shape[0];
        OK(t, kiln_elementwise_run(fill, KILN_ARGS(1, &x), &sized, &t->err));
        OK(t, kiln_elementwise_run(slow, KILN_ARGS(x, result), &on_a, &t->err));
        kiln_array_release(x); /* still being read on a */
        OK(t, kiln_elementwise_run(fill, KILN_ARGS(7, &other), &on_b, &t->err));
        OK(t, kiln_stream_synchronize(a, &t->err));
        kiln_array *tail = NULL;
        OK(t, kiln_array_slice(result, 0, -4, KILN_SLICE_OPEN, 1, &tail, &t->err));
        OK(t, kiln_array_to_host(tail, sample, sizeof sample, NULL, &t->err));
        for (int k = 0; k < 4; k++)
            CHECK(sample[k] == 2.0f, "round %d: %g", round, (double)sample[k]);
        kiln_array_release(tail);
        OK(t, kiln_stream_synchronize(b, &t->err));
        kiln_array_release(other);
    }
    kiln_elementwise_destroy(slow);
    kiln_elementwise_destroy(fill);
    kiln_array_release(result);
    kiln_stream_destroy(a);
    kiln_stream_destroy(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__sixteen_threads_compile_a_new_kernel_once),
        TEST(test_elementwise__threads_on_one_kernel_with_changing_layouts),
        TEST(test_elementwise__threads_that_make_and_destroy_their_own_kernels),
        TEST(test_elementwise__a_broken_kernel_fails_in_every_thread),
        TEST(test_elementwise__a_second_context_finds_the_kernel_on_disk),
        TEST(test_elementwise__without_a_cache_folder_kernels_live_in_memory),
        TEST(test_elementwise__a_prepared_launch_runs_again_and_again),
        TEST(test_elementwise__prepare_allocates_outputs_at_once),
        TEST(test_elementwise__a_prepared_launch_over_nothing),
        TEST(test_elementwise__work_on_streams_waits_where_it_is_told_to),
        TEST(test_elementwise__memory_released_early_is_not_handed_to_another_stream),
    };

    test_env_compile_anew();
    return test_env_main(argc, argv, "test_elementwise_threads", tests, COUNT(tests));
}
