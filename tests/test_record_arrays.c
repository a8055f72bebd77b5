/*
 * test_record_arrays.c - functions that index, sort, select, rearrange and draw leave nothing to compile to a
 * program whose cache was warmed from what it recorded ($KILN_RECORD).
 *
 * On the cpu device their own loops are compiled into the library, and only what they are combined with is
 * recorded; on a CUDA device lines of the kind "template" stand for kernels of kiln's own.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kiln/expression.h"
#include "kiln/random.h"
#include "kiln/sort.h"
#include "test_env.h"
#include "warm_env.h"

static kiln_context *make_context(test_env *t, const char *cache, const char *record)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    o.device = t->device;
    o.cache_dir = cache;
    o.record = record;
    OK(t, kiln_context_create(&o, &ctx, &t->err));
    return ctx;
}

/* What an expression of x, i and m needs, as a program and at once. */
static void run_text(test_env *t, kiln_context *ctx, const char *text, kiln_array *const *in)
{
    static const char *const names[] = {"x", "i", "bool m"};
    kiln_array *out[6] = {NULL};
    kiln_arg args[9];
    kiln_graph *graph = NULL;
    size_t results = 0;

    OK(t, kiln_graph_parse(ctx, text, names, COUNT(names), NULL, &graph, &results, &t->err));
    assert_true(results <= COUNT(out));
    for (size_t k = 0; k < COUNT(names); k++)
        args[k] = kiln_arg_array(in[k]);
    for (size_t k = 0; k < results; k++)
        args[COUNT(names) + k] = kiln_arg_out(&out[k]);
    OK(t, kiln_graph_run(graph, args, COUNT(names) + results, NULL, &t->err));
    kiln_graph_destroy(graph);
    for (size_t k = 0; k < COUNT(out); k++)
        kiln_array_release(out[k]);
}

/* Functions that texts do not have, or that take another way at once. */
static void run_calls(test_env *t, kiln_array *x, const kiln_array *i, const kiln_array *long_rows)
{
    kiln_sort_rule rule = KILN_SORT_RULE_INIT;
    kiln_random generator;
    kiln_array *out[9] = {NULL};

    rule.less = "a.v < b.v";
    OK(t, kiln_array_sort(long_rows, NULL, &out[0], &t->err));
    OK(t, kiln_array_unique(x, &out[1], &out[2], &out[3], &out[4], &t->err));
    OK(t, kiln_array_reshape(x, 1, (int64_t[]){-1}, &out[5], &t->err));
    OK(t, kiln_array_sort_by("float32 v", (const kiln_array *const[]){out[5]}, 1, &rule, NULL,
                             &out[6], NULL, &t->err));
    kiln_random_init(&generator, 1, 0);
    OK(t, kiln_random_shuffle(&generator, x, &out[7], &t->err));
    OK(t, kiln_array_take(x, i, 1, NULL, &out[8], &t->err));
    for (size_t k = 0; k < COUNT(out); k++)
        kiln_array_release(out[k]);
}

static void run_program(test_env *t, kiln_context *ctx)
{
    static const char *const texts[] = {
        "topk(x, 3, axis=1), x[m], x[i], cumsum(x, axis=0)",
        "scatter_add(x, i, 1), histogram(x, 8), concatenate([x, roll(x, 1, axis=0)], axis=1)",
        "sort(x, axis=0) + uniform(7, x.shape) + m + sum(i)",
    };
    static const int32_t places[] = {3, 0, 3};
    kiln_array *in[3] = {NULL}, *flat = NULL, *long_rows = NULL;

    OK(t, kiln_array_arange(ctx, KILN_FLOAT32, 0, 20 * 40, 1, &flat, &t->err));
    OK(t, kiln_array_reshape(flat, 2, (int64_t[]){20, 40}, &in[0], &t->err));
    OK(t, kiln_array_from_host(ctx, KILN_INT32, 1, (int64_t[]){3}, places, NULL, &in[1], &t->err));
    OK(t, kiln_array_ones(ctx, KILN_BOOL, 2, (int64_t[]){20, 40}, &in[2], &t->err));
    OK(t, kiln_array_zeros(ctx, KILN_UINT16, 1, (int64_t[]){40000}, &long_rows, &t->err));
    for (size_t k = 0; k < COUNT(texts); k++)
        run_text(t, ctx, texts[k], in);
    run_calls(t, in[0], in[1], long_rows);
    kiln_array *const all[] = {flat, long_rows, in[0], in[1], in[2]};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

static void test_record_arrays__a_warmed_program_compiles_nothing(void **state)
{
    test_env *t = *state;
    const kiln_device_info *info = kiln_context_device(t->ctx);
    char first[256], second[256], path[300], *text = NULL;
    kiln_cache_counters c;
    size_t bytes = 0;

    test_env_fresh_dir(t, first, sizeof first);
    test_env_fresh_dir(t, second, sizeof second);
    snprintf(path, sizeof path, "%s/record.jsonl", t->temp_dir);
    kiln_context *ctx = make_context(t, first, path);
    run_program(t, ctx);
    kiln_context_cache_counters(ctx, &c);
    kiln_context_release(ctx);
    assert_int_equal(kiln__read_file(path, 1 << 20, &text, &bytes), 0);
    CHECK(count_of(text, "\n") == c.compiles, "%zu lines, %d compiled", count_of(text, "\n"),
          (int)c.compiles);
    /* Short rows, long ones (two kernels), the histogram. */
    CHECK(t->cuda ? count_of(text, "{\"kind\":\"template\"") >= 4
                  : count_of(text, "\"template\"") == 0,
          "%s", text);
    assert_true(count_of(text, "{\"kind\":\"filter\"") > 0);
    assert_true(count_of(text, "\"name\":\"kiln_index_z\"") == 1); /* the take at once */

    const warm_result r = warm_text(text, second, info->backend, info->target);
    CHECK(r.kernels == c.compiles && r.compiled == r.kernels, "%zu kernels, %zu compiled",
          r.kernels, r.compiled);
    kiln__free(text);
    ctx = make_context(t, second, "");
    run_program(t, ctx);
    kiln_context_cache_counters(ctx, &c);
    CHECK(c.compiles == 0 && c.misses == 0 && c.hits > 0, "%d compiled, %d missed", (int)c.compiles,
          (int)c.misses);
    kiln_context_release(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_record_arrays__a_warmed_program_compiles_nothing),
    };
    test_env_compile_anew();
    return test_env_main(argc, argv, "test_record_arrays", tests, COUNT(tests));
}
