/*
 * test_kept.c - graphs that a context keeps for functions that are called at once: more of them than there is room
 * for, by several threads. Results are those of plain loops.
 *
 * Each shift of roll() is a graph of its own.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/core.h"
#include "test_env.h"

enum { ELEMENTS = 700, THREADS = 4, CALLS = 300, FEW = 12 };

static kiln_status roll(kiln_array *x, int64_t shift, kiln_array **out, kiln_error *err)
{
    return kiln_array_rearrange(KILN_REARRANGE_ROLL, KILN_ARGS(x), &shift, 1, out, err);
}

/* Whether the call gives x, whose elements are their places, turned by the shift. */
static bool rolls(kiln_array *x, int64_t shift, kiln_error *err)
{
    int32_t got[ELEMENTS];
    kiln_array *y = NULL;
    bool right = roll(x, shift, &y, err) == KILN_OK &&
                 kiln_array_to_host(y, got, sizeof got, NULL, err) == KILN_OK;

    for (int64_t k = 0; k < ELEMENTS && right; k++)
        right = got[(k + shift) % ELEMENTS] == k;
    kiln_array_release(y);
    return right;
}

/* Whether a call makes a few allocations at most, as one does whose graph is kept. */
static bool is_short(test_env *t, kiln_array *x, int64_t shift)
{
    kiln_array *y = NULL;

    kiln__test_alloc_fail_at(FEW);
    const kiln_status status = roll(x, shift, &y, &t->err);
    kiln__test_alloc_fail_at(SIZE_MAX);
    assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
    kiln_array_release(y);
    kiln_error_clear(&t->err);
    return status == KILN_OK;
}

static void test_kept__what_was_used_last_is_kept(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 1, (const int64_t[]){ELEMENTS});
    size_t live = 0;
    int made = 0;

    for (int64_t shift = 1; shift < ELEMENTS; shift++) {
        CHECK(rolls(x, shift, &t->err), "shift %d: %s", (int)shift, t->err.message);
        if (shift % 50 == 0) {
            assert_true(is_short(t, x, shift));
            assert_true(is_short(t, x, shift - 20));
            made += !is_short(t, x, shift + 1); /* which may do without some of its memory */
        }
        if (shift == 300)
            live = kiln__test_alloc_live();
    }
    assert_true(made > 0);
    /* Of 256 graphs there are 128 to 256 at any time. */
    assert_true(kiln__test_alloc_live() < 2 * live);
    kiln_array_release(x);
}

/* A program outlives the graphs that were run while it was captured. */
static void test_kept__programs_outlive_graphs(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 1, (const int64_t[]){ELEMENTS}), *y = NULL, *z = NULL,
               *taken = NULL;
    kiln_program *program = NULL;
    int32_t got[ELEMENTS];

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, roll(x, 3, &y, &t->err));
    OK(t, roll(y, -1, &z, &t->err));
    OK(t, kiln_array_take(x, z, 0, NULL, &taken, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    for (int64_t shift = 4; shift < ELEMENTS; shift++)
        CHECK(rolls(x, shift, &t->err), "shift %d: %s", (int)shift, t->err.message);
    OK(t, kiln_program_run(program, NULL, &t->err));
    OK(t, kiln_array_to_host(taken, got, sizeof got, NULL, &t->err));
    for (int64_t k = 0; k < ELEMENTS; k++)
        assert_int_equal(got[(k + 2) % ELEMENTS], k);
    kiln_program_destroy(program);
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(z), kiln_array_release(taken);
}

typedef struct worker {
    kiln_array *x;
    uint64_t seed;
    int wrong;
} worker;

static void *work(void *argument)
{
    worker *const w = argument;
    kiln_error err = KILN_ERROR_INIT;

    for (int k = 0; k < CALLS; k++) {
        w->seed = w->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        w->wrong += !rolls(w->x, (int64_t)((w->seed >> 33) % ELEMENTS), &err);
    }
    kiln_error_clear(&err);
    return NULL;
}

static void test_kept__threads_share_what_is_kept(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 1, (const int64_t[]){ELEMENTS});
    pthread_t threads[THREADS];
    worker workers[THREADS];

    for (int k = 0; k < THREADS; k++) {
        workers[k] = (worker){x, test_random(t), 0};
        assert_int_equal(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_int_equal(workers[k].wrong, 0);
    }
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kept__what_was_used_last_is_kept),
        TEST(test_kept__programs_outlive_graphs),
        TEST(test_kept__threads_share_what_is_kept),
    };

    return test_env_main(argc, argv, "test_kept", tests, COUNT(tests));
}
