/*
 * test_warm_runs.c - that the line of an expression whose operations choose their kernels when they run is warm for
 * GPUs of every size and generation: sorts, scatters, selections, histograms, products of integers, small factors.
 *
 * Driver and NVRTC are none (fake_cuda.c, fake_nvrtc.c), so that kernels cost nothing; keys are those of true ones. The
 * counters of a context tell whether the folder that was warmed had all kernels of a run.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kiln/kiln.h"
#include "load_fake_cuda.h"
#include "warm_env.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static fake_cuda *cuda;
static char root[] = "/tmp/kiln_test_warm_runs_XXXXXX";

static void must(kiln_status status, const kiln_error *err, const char *what)
{
    if (status != KILN_OK)
        fail_msg("%s: %s\n%s", what, err->message, err->detail != NULL ? err->detail : "");
}

/* ---- what is run ------------------------------------------------------------------------------- */

enum { INPUTS = 4, RANK = 3 };

typedef struct operand {
    const char *name, *dtype;
    int rank; /* -1: a number */
    int64_t shape[RANK];
} operand;

typedef struct expression {
    const char *text;
    operand in[INPUTS];
} expression;

#define X(...) {"x", __VA_ARGS__}
#define Y(...) {"y", __VA_ARGS__}
#define M(...) {"m", "bool", __VA_ARGS__}
#define I(...) {"i", "int32", __VA_ARGS__}

static const expression expressions[] = {
    {"x[argsort(x[:,0])]", {X("float32", 2, {60, 40})}},
    {"topk(exp(x), 5)", {X("float32", 2, {30, 70})}},
    {"topk(x, 3, axis=0)", {X("float16", 2, {40000, 3})}},
    {"sort(x, axis=0), sort(x.T)", {X("int16", 2, {300, 50})}},
    {"sort(x), argsort(x)", {X("float64", 1, {30000})}},
    {"sort(x)", {X("complex64", 2, {4, 9000})}},
    {"lexsort([x, y]), partition(x, 7)", {X("float32", 1, {900}), Y("int64", 1, {900})}},
    {"median(x, axis=1), quantile(x, [0.1, 0.9])", {X("float32", 2, {60, 2000})}},
    {"searchsorted(x, y), isin(y, x)", {X("float32", 1, {500}), Y("float64", 2, {3, 5})}},
    {"unique(x), flatnonzero(x), argwhere(x > 2)", {X("uint8", 2, {70, 30})}},
    {"unique(x, return_inverse=True, return_counts=True, axis=0)", {X("int32", 2, {70, 30})}},
    {"nanmedian(x, axis=1), place(x, x > 0, x[0]), column_stack([x, x])", {X("float32", 2, {70, 30})}},
    {"intersect1d(x, y), setxor1d(x, y)", {X("int32", 1, {700}), Y("int32", 1, {300})}},
    {"x[:, m]", {X("float64", 2, {30, 37}), M(1, {37})}},
    {"x[:, m] + 1", {X("int8", 2, {30, 70}), M(1, {70})}},
    {"x[:, m, ::2]", {X("float16", 3, {5, 41, 6}), M(1, {41})}},
    {"x[m], sum(x[m]), compress(m, x)", {X("float32", 2, {70, 30}), M(2, {70, 30})}},
    {"scatter_add(x, i, y), x.at[i].set(a)",
     {X("float32", 2, {50, 40}), I(1, {20}), Y("float32", 1, {40}), {"a", "float64", -1, {0}}}},
    {"scatter_add(x, i, 1), y.at[:, i].max(0), put(x, i, 7)",
     {X("int64", 1, {50}), I(1, {20}), Y("bfloat16", 2, {30, 50})}},
    {"histogram(x, 10)", {X("float32", 2, {60, 40})}},
    {"bincount(x, length=60000)", {X("int32", 1, {4000000})}},
    {"bincount(x, length=20000)", {X("uint16", 1, {1500000})}},
    {"histogram2d(x, y, 4)", {X("float64", 1, {60}), Y("float64", 1, {60})}},
    {"convolve(x, y), diag(x, 1), diag(outer(x, y))", {X("int16", 1, {60}), Y("int16", 1, {50})}},
    {"permutation(7, x), choice(3, 50, 20, replace=False, p=abs(y))",
     {X("float32", 2, {60, 40}), Y("float32", 1, {50})}},
    {"x @ x.T, tensordot(x, y, 1), kron(x, y)", {X("int32", 2, {20, 20}), Y("int32", 2, {20, 9})}},
    {"inv(x), det(x), cholesky(x)", {X("float32", 3, {5, 8, 8})}},
    {"eigh(x), svd(x)", {X("float64", 3, {5, 8, 8})}},
    {"pad(x, 1), roll(x, (1, 2), axis=(0, 1))", {X("float16", 2, {20, 600})}},
    {"pad(x, 1, mode=edge) * 2, delete(x, 3, axis=2)", {X("float64", 3, {5, 6, 7})}},
    {"qr(x)", {X("float64", 2, {200, 30})}},
    {"cumsum(x, axis=0)[argmax(x, axis=1)], x.T", {X("float32", 2, {90, 60})}},
};

static void put_line(const expression *e, kiln__buf *line)
{
    const char *comma = "";

    kiln__buf_printf(line, "{\"kind\":\"expression\",\"text\":\"%s\",\"types\":[{", e->text);
    for (const operand *o = e->in; o < e->in + INPUTS && o->name != NULL; o++, comma = ",")
        kiln__buf_printf(line, "%s\"%s\":\"%s\"", comma, o->name, o->dtype);
    comma = "";
    kiln__buf_puts(line, "}],\"scalars\":[");
    for (const operand *o = e->in; o < e->in + INPUTS && o->name != NULL; o++)
        if (o->rank < 0)
            kiln__buf_printf(line, "\"%s\"", o->name);
    kiln__buf_puts(line, "],\"shapes\":[{");
    for (const operand *o = e->in; o < e->in + INPUTS && o->name != NULL; o++) {
        if (o->rank < 0)
            continue;
        kiln__buf_printf(line, "%s\"%s\":[", comma, o->name);
        for (int a = 0; a < o->rank; a++)
            kiln__buf_printf(line, "%s%lld", a > 0 ? "," : "", (long long)o->shape[a]);
        kiln__buf_puts(line, "]");
        comma = ",";
    }
    kiln__buf_puts(line, "}]}\n");
}

static void read_back(const kiln_array *array, const char *text)
{
    kiln_error err = KILN_ERROR_INIT;
    const size_t bytes = (size_t)kiln_array_size(array) * kiln_dtype_size(kiln_array_dtype(array));
    void *data = malloc(bytes + 1);

    assert_non_null(data);
    must(kiln_array_to_host(array, data, bytes, NULL, &err), &err, text);
    free(data);
}

/* Whatever length a mask leaves along an axis. */
static void read_lengths(const kiln_graph *graph, size_t result, kiln_array *array, const char *text)
{
    const int axis = kiln_graph_result_axis(graph, result);
    const int at = axis < 0 ? axis + kiln_array_rank(array) : axis;

    for (int64_t length = 1; length < kiln_array_shape(array)[at]; length++) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_array *first = NULL;
        must(kiln_array_slice(array, at, 0, length, 1, &first, &err), &err, text);
        read_back(first, text);
        kiln_array_release(first);
    }
}

static void run_expression(kiln_context *ctx, const expression *e)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_graph *graph = NULL;
    kiln_array *in[INPUTS] = {NULL}, *out[8] = {NULL};
    const char *names[INPUTS];
    kiln_arg args[INPUTS + COUNT(out)];
    size_t count = 0, results = 0;

    for (; count < INPUTS && e->in[count].name != NULL; count++) {
        const operand *o = &e->in[count];
        const kiln_dtype dtype = kiln_dtype_from_name(o->dtype, strlen(o->dtype));
        names[count] = strcmp(o->dtype, "bool") == 0 ? "bool m" : o->name;
        args[count] = kiln_arg_float(2.5);
        if (o->rank < 0)
            continue;
        must(kiln_array_empty(ctx, dtype, o->rank, o->shape, &in[count], &err), &err, e->text);
        args[count] = kiln_arg_array(in[count]);
    }
    must(kiln_graph_parse(ctx, e->text, names, count, NULL, &graph, &results, &err), &err, e->text);
    assert_in_range(results, 1, COUNT(out));
    for (size_t k = 0; k < results; k++)
        args[count + k] = kiln_arg_out(&out[k]);
    must(kiln_graph_run(graph, args, count + results, NULL, &err), &err, e->text);
    for (size_t k = 0; k < results; k++) {
        read_back(out[k], e->text);
        if (kiln_graph_result_is_counted(graph, k))
            read_lengths(graph, k, out[k], e->text);
    }
    kiln_graph_destroy(graph);
    for (size_t k = 0; k < COUNT(out); k++)
        kiln_array_release(out[k]);
    for (size_t k = 0; k < COUNT(in); k++)
        kiln_array_release(in[k]);
}

/* ---- the tests --------------------------------------------------------------------------------- */

static kiln_context *open_context(const char *cache, const char *record)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;

    o.device = "cuda:0";
    o.cache_dir = cache;
    o.record = record;
    must(kiln_context_create(&o, &ctx, &err), &err, "a context");
    return ctx;
}

static void check_warm(const expression *e, const char *folder, const char *target)
{
    kiln_context *ctx = open_context(folder, "");
    kiln_cache_counters c;

    assert_string_equal(kiln_context_device(ctx)->target, target);
    run_expression(ctx, e);
    kiln_context_cache_counters(ctx, &c);
    if (c.compiles != 0 || c.misses != 0 || c.hits == 0)
        fail_msg("%s on %s, %d multiprocessors: %d compiled, %d missed, %d hit", e->text, target,
                 cuda->multiprocessors, (int)c.compiles, (int)c.misses, (int)c.hits);
    kiln_context_release(ctx);
}

/* Each line is tried on one generation, those whose kernels have as much shared memory as there is on all. */
static bool is_tried(size_t k, size_t generation)
{
    return k % 3 == generation || strncmp(expressions[k].text, "bincount", 8) == 0;
}

static void test_warm_runs__expressions_serve_gpus_of_every_size_and_generation(void **state)
{
    static const struct {
        int capability, shared_kib;
    } gpus[] = {{75, 64}, {90, 227}, {120, 99}};
    static const int sizes[] = {6, 132};
    char folder[300], target[16];

    (void)state;
    for (size_t g = 0; g < COUNT(gpus); g++) {
        kiln__buf lines = KILN__BUF_INIT;
        cuda->capability = gpus[g].capability;
        cuda->shared_most = gpus[g].shared_kib << 10;
        snprintf(target, sizeof target, "sm_%d", gpus[g].capability);
        snprintf(folder, sizeof folder, "%s/%s", root, target);
        for (size_t k = 0; k < COUNT(expressions); k++)
            if (is_tried(k, g))
                put_line(&expressions[k], &lines);
        assert_false(lines.failed);
        (void)warm_text(lines.text, folder, KILN_BACKEND_CUDA, target);
        kiln__buf_clear(&lines);
        for (size_t u = 0; u < COUNT(sizes); u++) {
            cuda->multiprocessors = sizes[u];
            for (size_t k = 0; k < COUNT(expressions); k++)
                if (is_tried(k, g))
                    check_warm(&expressions[k], folder, target);
        }
    }
}

/* No line compiles what no run asks for: a release holds what it needs. */
static void test_warm_runs__nothing_is_compiled_that_no_run_needs(void **state)
{
    char folder[300], record[300], *text = NULL;
    size_t bytes = 0, needed = 0;

    (void)state;
    cuda->capability = 90;
    cuda->shared_most = 227 << 10;
    cuda->multiprocessors = 132;
    for (size_t k = 0; k < COUNT(expressions); k += 4) {
        kiln__buf line = KILN__BUF_INIT;
        put_line(&expressions[k], &line);
        snprintf(folder, sizeof folder, "%s/one%zu", root, k);
        snprintf(record, sizeof record, "%s/one%zu.jsonl", root, k);
        const warm_result r = warm_text(line.text, folder, KILN_BACKEND_CUDA, "sm_90");
        kiln_context *ctx = open_context(folder, record);
        run_expression(ctx, &expressions[k]);
        kiln_context_release(ctx);
        assert_int_equal(kiln__read_file(record, 1 << 20, &text, &bytes), 0);
        needed = 0;
        for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
            needed++;
        /* Reductions and scans are split in other ways on GPUs of other sizes. */
        if (r.compiled > needed + 6)
            fail_msg("%s: %zu kernels were compiled, and a run needs %zu", expressions[k].text,
                     r.compiled, needed);
        kiln__free(text);
        kiln__buf_clear(&line);
    }
}

/* ---- the program ------------------------------------------------------------------------------- */

static int leave(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* The file beside the program, for $KILN_NVRTC. */
static void name_fake_nvrtc(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);

    assert_true(length > 0);
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "fake_nvrtc/libnvrtc.so.13");
    setenv("KILN_NVRTC", path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_runs__expressions_serve_gpus_of_every_size_and_generation),
        cmocka_unit_test(test_warm_runs__nothing_is_compiled_that_no_run_needs),
    };

    name_fake_nvrtc();
    cuda = load_fake_cuda();
    if (cuda == NULL || mkdtemp(root) == NULL)
        return 1;
    cuda->any_module = true;
    cuda->eager = true;
    return cmocka_run_group_tests_name("test_warm_runs", tests, NULL, leave);
}
