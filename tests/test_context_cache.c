/*
 * test_context_cache.c - what a program sees of its context's cache: counters and bundles.
 *
 * The numbers follow from what the test itself does with a fresh folder: one kernel, one context
 * after the other.
 */
#include <stdio.h>
#include <string.h>

#include "test_env.h"

/* Run one kernel, the same in every context, once on `ctx`. */
static void run_once(test_env *t, kiln_context *ctx)
{
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;
    const int64_t shape[] = {3};
    float values[3];

    OK(t, kiln_array_full(ctx, KILN_FLOAT32, 1, shape, 5, &x, &t->err));
    OK(t, kiln_elementwise_create(ctx, "T x", "T z", "z = x * 2", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, &z));
    OK(t, kiln_array_to_host(z, values, sizeof values, NULL, &t->err));
    assert_true(values[0] == 10 && values[1] == 10 && values[2] == 10);
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

static void test_context_cache__a_second_context_hits_what_the_first_stored(void **state)
{
    test_env *t = *state;
    kiln_cache_counters counters;
    char dir[256];

    test_env_fresh_dir(t, dir, sizeof dir);
    kiln_context *first = test_env_context(t, dir);
    run_once(t, first);
    kiln_context_cache_counters(first, &counters);
    CHECK(counters.stores >= 1, "%llu stores", (unsigned long long)counters.stores);
    assert_true(counters.miss_absent >= 1);
    assert_true(counters.bytes_written > 0);
    assert_true(counters.hits == 0 && counters.store_failures == 0);
    kiln_context_release(first);

    kiln_context *second = test_env_context(t, dir);
    run_once(t, second);
    kiln_context_cache_counters(second, &counters);
    /* How many entries a compile leaves is not promised; that none is made again is. */
    CHECK(counters.hits >= 1, "%llu hits", (unsigned long long)counters.hits);
    assert_true(counters.misses == 0 && counters.stores == 0 && counters.bytes_written == 0);
    assert_true(counters.bytes_read > 0);
    kiln_context_release(second);

    memset(&counters, 0xEE, sizeof counters);
    kiln_context_cache_counters(NULL, &counters);
    assert_true(counters.hits == 0 && counters.misses == 0 && counters.stores == 0);
}

static void test_context_cache__what_is_no_bundle_is_refused(void **state)
{
    test_env *t = *state;
    char path[300];

    test_env_fresh_dir(t, path, 256);
    strcat(path, "/some.bundle");
    FAILS(t, KILN_ERR_IO, kiln_context_add_bundle(t->ctx, path, &t->err), "some.bundle");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int k = 0; k < 4096; k++)
        fputc(k % 251, file);
    assert_int_equal(fclose(file), 0);
    FAILS(t, KILN_ERR_FORMAT, kiln_context_add_bundle(t->ctx, path, &t->err), "some.bundle");
    FAILS(t, KILN_ERR_NULL, kiln_context_add_bundle(t->ctx, NULL, &t->err), "NULL");
    FAILS(t, KILN_ERR_NULL, kiln_context_add_bundle(NULL, path, &t->err), "NULL");
    run_once(t, t->ctx); /* none of this harmed the context */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_context_cache__a_second_context_hits_what_the_first_stored),
        TEST(test_context_cache__what_is_no_bundle_is_refused),
    };
    return test_env_main(argc, argv, "test_context_cache", tests, COUNT(tests));
}
