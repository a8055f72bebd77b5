/*
 * test_context_cache.c - what a program sees of its context's cache: counters and bundles.
 *
 * The numbers follow from what the test itself does with a fresh folder: one kernel, one context
 * after the other.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* ---- what a key must hold ---- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[400];
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* 0 + V as a new context that keeps its kernels in `cache` gets it. `stores` may be NULL. */
static float value_of(test_env *t, const char *cache, const char *preamble,
                      const char *const *options, size_t count, uint64_t *stores)
{
    kiln_cache_counters counters;
    kiln_context *ctx = test_env_context(t, cache);
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;
    const int64_t shape[] = {1};
    float value = -1;

    o.preamble = preamble;
    o.compiler_options = options;
    o.compiler_option_count = count;
    OK(t, kiln_array_full(ctx, KILN_FLOAT32, 1, shape, 0, &x, &t->err));
    OK(t, kiln_elementwise_create(ctx, "T x", "T z", "z = x + V", &o, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, &z));
    OK(t, kiln_array_to_host(z, &value, sizeof value, NULL, &t->err));
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    kiln_context_cache_counters(ctx, &counters);
    if (stores != NULL)
        *stores = counters.stores;
    kiln_context_release(ctx);
    return value;
}

static void test_context_cache__a_changed_header_is_another_kernel(void **state)
{
    /* `outer`: what outer.h says. `@` in an option stands for the folder where v.h changes, `%` for
     * one whose v.h never does. */
    static const struct {
        const char *preamble, *outer, *first, *second;
        bool cpu_only;
    } cases[] = {
        {"#include \"v.h\"\n", "", "-I@", NULL, false},
        {"/* why */ #include \"v.h\"\n", "", "-I@", NULL, false},
        {"#include \"outer.h\"\n", "#include \"v.h\"\n", "-I@", NULL, false},
        {"#include \"outer.h\"\n", "/* why */ #include \"v.h\"\n", "-I@", NULL, false},
        {"#include \"outer.h\"\n", "/* a\n b */#/**/include/**/\"v.h\"\n", "-I@", NULL, false},
        {"#include \"outer.h\"\n", "#\\\ninclude \"v.h\"\n", "-I@", NULL, false},
        {"#include \"outer.h\"\n", "%:include \"v.h\"\n", "-I@", NULL, true},
        {"#include \"outer.h\"\n", "\xef\xbb\xbf#include \"v.h\"\n", "-I@", NULL, true},
        {"#include \"outer.h\"\n", "#define Q \"/*\"\n#include \"v.h\"\n", "-I@", NULL, true},
        {"#import \"v.h\"\n", "", "-I@", NULL, true},
        {"", "", "-include@/v.h", NULL, true},
        {"", "", "--include=@/v.h", NULL, true},
        {"", "", "-imacros@/v.h", NULL, true},
        {"#include \"v.h\"\n", "", "-I%", "-iquote@", true},
        {"#include \"v.h\"\n", "", "--include-directory=@", "-I%", true},
        {"#include \"v.h\"\n", "", "-I%", NULL, true}, /* the working directory comes first */
    };
    test_env *t = *state;
    char cache[256], folder[256], other[256], text[2][600];
    const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(here >= 0);
    test_env_fresh_dir(t, other, sizeof other);
    write_text(other, "v.h", "#define V 9.0f\n");
    for (size_t k = 0; k < COUNT(cases); k++) {
        const char *given[] = {cases[k].first, cases[k].second}, *options[] = {text[0], text[1]};
        const size_t count = cases[k].second != NULL ? 2 : 1;

        if (cases[k].cpu_only && t->cuda)
            continue;
        test_env_fresh_dir(t, cache, sizeof cache);
        test_env_fresh_dir(t, folder, sizeof folder);
        write_text(folder, "outer.h", cases[k].outer);
        for (size_t o = 0; o < count; o++) {
            const char *at = given[o] + strcspn(given[o], "@%");
            snprintf(text[o], sizeof text[o], "%.*s%s%s", (int)(at - given[o]), given[o],
                     *at == '@' ? folder : other, at + 1);
        }
        if (cases[k].cpu_only)
            assert_int_equal(chdir(folder), 0);
        for (int v = 1; v <= 2; v++) {
            char define[32];
            snprintf(define, sizeof define, "#define V %d.0f\n", v);
            write_text(folder, "v.h", define);
            const float got =
                value_of(t, cache, cases[k].preamble, options, count, NULL);
            CHECK(got == (float)v, "case %zu: V is %d and the kernel says %g", k, v, (double)got);
        }
        assert_int_equal(fchdir(here), 0);
    }
    close(here);
}

static void test_context_cache__what_no_key_can_hold_stays_in_memory(void **state)
{
    static const struct {
        const char *option, *preamble;
        bool kept;
    } cases[] = {
        {"-DV=1.0f", "", true},
        {"-march=native", "#define V 1.0f\n", false},
        {"-L/nowhere/at/all", "#define V 1.0f\n", false},
        {"-lm", "#define V 1.0f\n", true},
        {"-DV=1.0f", "#if __has_include(\"kiln_nowhere.h\")\n#undef V\n#endif\n", false},
    };
    test_env *t = *state;
    char cache[256];

    if (t->cuda)
        skip(); /* NVRTC takes none of these options */
    for (size_t k = 0; k < COUNT(cases); k++) {
        test_env_fresh_dir(t, cache, sizeof cache);
        uint64_t stores = 0;
        assert_true(value_of(t, cache, cases[k].preamble, &cases[k].option, 1, &stores) == 1);
        CHECK((stores > 0) == cases[k].kept, "case %zu: %s", k,
              cases[k].option);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_context_cache__a_second_context_hits_what_the_first_stored),
        TEST(test_context_cache__what_is_no_bundle_is_refused),
        TEST(test_context_cache__a_changed_header_is_another_kernel),
        TEST(test_context_cache__what_no_key_can_hold_stays_in_memory),
    };
    return test_env_main(argc, argv, "test_context_cache", tests, COUNT(tests));
}
