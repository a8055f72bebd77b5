/*
 * test_memory_source.c - contexts whose memory runs short, or comes from elsewhere: kernels run, and
 * arrays that a shortage function lets go of make room.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

typedef struct given {
    size_t allocs, frees, bytes;
    size_t refused; /* the allocation that is refused, from 1 on; 0: none */
} given;

static bool alloc_host(void *user, size_t bytes, void *stream, void **memory_out)
{
    given *g = user;

    (void)stream;
    if (g->refused != 0 && --g->refused == 0)
        return false;
    *memory_out = aligned_alloc(256, bytes);
    g->allocs++;
    g->bytes += bytes;
    return *memory_out != NULL;
}

static void free_host(void *user, void *memory, size_t bytes, void *stream)
{
    given *g = user;

    (void)stream;
    free(memory);
    g->frees++;
    g->bytes -= bytes;
}

/* 1 + 2 + .. + 1000 by a kernel and a reduction, with arrays that come and go. */
static void use(test_env *t, kiln_context *ctx)
{
    kiln_array *x = NULL, *y = NULL, *sum = NULL;
    kiln_scalar got;

    for (int k = 0; k < 5; k++) {
        OK(t, kiln_array_arange(ctx, KILN_INT64, 0, 1000, 1, &x, &t->err));
        OK(t, kiln_array_add(x, 1, &y, &t->err));
        OK(t, kiln_array_reduce(KILN_REDUCE_SUM, y, NULL, false, &sum, &t->err));
        OK(t, kiln_array_item(sum, NULL, &got, &t->err));
        assert_int_equal(got.value.i, 500500);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(sum);
        x = y = sum = NULL;
    }
}

static kiln_context *make(test_env *t, kiln_context_options *options)
{
    kiln_context *ctx = NULL;

    options->device = t->device;
    options->cache_dir = t->cache_dir;
    OK(t, kiln_context_create(options, &ctx, &t->err));
    return ctx;
}

static void test_memory_source__the_programs_own_memory_serves(void **state)
{
    test_env *t = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    given g = {0, 0, 0, 0};
    kiln_memory_source source = {alloc_host, free_host, &g, false};

    if (t->cuda)
        skip(); /* the test's source has host memory only */
    for (int direct = 0; direct < 2; direct++) {
        source.direct = direct == 1;
        options.memory = &source;
        g = (given){0, 0, 0, 0};
        kiln_context *ctx = make(t, &options);
        use(t, ctx);
        assert_true(direct ? g.allocs >= 10 : g.allocs <= 2);
        kiln_context_release(ctx);
        assert_int_equal(g.allocs, g.frees);
        assert_int_equal(g.bytes, 0);
    }
}

/* A call with two results, of which the second may find no room: neither is there then. */
static void test_memory_source__a_failed_call_keeps_no_result(void **state)
{
    test_env *t = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    given g = {0, 0, 0, 0};
    const kiln_memory_source source = {alloc_host, free_host, &g, true};
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    size_t failures = 0;

    if (t->cuda)
        skip(); /* the test's source has host memory only */
    options.memory = &source;
    kiln_context *ctx = make(t, &options);
    OK(t, kiln_array_zeros(ctx, KILN_FLOAT32, 2, (int64_t[]){5, 3}, &x, &t->err));
    o.axes = KILN_AXES(0); /* so that both results are copied to where they belong */
    for (size_t nth = 1; y == NULL; nth++) {
        g.refused = nth;
        const kiln_status status = kiln_array_topk(x, 2, &o, &y, &z, NULL);
        g.refused = 0;
        failures += status != KILN_OK;
        CHECK((y != NULL) == (status == KILN_OK) && (z != NULL) == (status == KILN_OK),
              "block %zu: status %d, values %s, places %s", nth, (int)status,
              y != NULL ? "there" : "not there", z != NULL ? "there" : "not there");
    }
    assert_true(failures >= 4);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_context_release(ctx);
    assert_int_equal(g.bytes, 0);
}

static void test_memory_source__the_drivers_pool_serves(void **state)
{
    test_env *t = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_pool_stats stats;

    options.memory = KILN_MEMORY_ASYNC;
    options.device = t->device;
    if (!t->cuda) {
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_context_create(&options, &ctx, &t->err), "cpu");
        return;
    }
    ctx = make(t, &options);
    use(t, ctx);
    kiln_context_pool_stats(ctx, &stats);
    assert_true(stats.device_allocation_count >= 10);
    assert_int_equal(stats.used_bytes, 0);
    kiln_context_release(ctx);
}

/* Arrays that can be let go of. */
typedef struct cache {
    kiln_array *arrays[4];
    int asked;
} cache;

static bool drop_one(void *user, size_t bytes)
{
    cache *c = user;

    (void)bytes;
    c->asked++;
    for (size_t k = 0; k < COUNT(c->arrays); k++)
        if (c->arrays[k] != NULL) {
            kiln_array_release(c->arrays[k]);
            c->arrays[k] = NULL;
            return true;
        }
    return false;
}

static void test_memory_source__a_cache_of_arrays_makes_room(void **state)
{
    test_env *t = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    cache c = {{NULL}, 0};
    kiln_array *large = NULL, *none = NULL;

    options.pool_limit_bytes = (size_t)64 << 20;
    options.shortage = drop_one;
    options.shortage_user = &c;
    kiln_context *ctx = make(t, &options);
    for (size_t k = 0; k < COUNT(c.arrays); k++)
        OK(t, kiln_array_empty(ctx, KILN_UINT8, 1, (int64_t[]){12 << 20}, &c.arrays[k], &t->err));
    assert_int_equal(c.asked, 0);
    OK(t, kiln_array_empty(ctx, KILN_UINT8, 1, (int64_t[]){40 << 20}, &large, &t->err));
    assert_true(c.asked >= 1 && c.asked <= 3);
    assert_null(c.arrays[0]);
    assert_non_null(c.arrays[3]);
    kiln_scope_push("too large");
    FAILS(t, KILN_ERR_DEVICE_MEMORY,
          kiln_array_empty(ctx, KILN_UINT8, 1, (int64_t[]){65 << 20}, &none, &t->err), "65.00 MiB",
          "limit 64.00 MiB", "no label 40.00 MiB in 1 block");
    kiln_scope_pop();
    kiln_array_release(large);
    kiln_context_release(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_memory_source__the_programs_own_memory_serves),
        TEST(test_memory_source__a_failed_call_keeps_no_result),
        TEST(test_memory_source__the_drivers_pool_serves),
        TEST(test_memory_source__a_cache_of_arrays_makes_room),
    };
    return test_env_main(argc, argv, "test_memory_source", tests, COUNT(tests));
}
