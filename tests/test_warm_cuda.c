/*
 * test_warm_cuda.c - that what is warmed for a GPU is what a program on that GPU asks for, by a
 * driver that is none (fake_cuda.c: kernels do nothing) and NVRTC as it is.
 *
 * A context on the fake plans, names and looks for its kernels as on a true GPU of compute
 * capability 9.0; its counters tell whether the folder that was warmed had them all.
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

#define EXIT_SKIP 77
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static fake_cuda *cuda;
static char root[] = "/tmp/kiln_test_warm_XXXXXX";

/* A path below the test's own folder; valid until the eighth call after. */
static const char *below(const char *name)
{
    static char paths[8][256];
    static unsigned nth;
    char *path = paths[nth++ % COUNT(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void must(kiln_status status, const kiln_error *err, const char *file, int line)
{
    if (status != KILN_OK) {
        print_error("%s\n%s\n", err->message, err->detail != NULL ? err->detail : "");
        _fail(file, line);
    }
}
#define OK(call) must((call), &err, __FILE__, __LINE__)

static kiln_context *open_context(const char *cache, const char *record)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;

    o.device = "cuda:0";
    o.cache_dir = cache;
    o.record = record;
    OK(kiln_context_create(&o, &ctx, &err));
    assert_string_equal(kiln_context_device(ctx)->target, "sm_90");
    return ctx;
}

/* Release it; it must have compiled nothing and found all it looked for. */
static void close_warm(kiln_context *ctx, const char *what)
{
    kiln_cache_counters c;
    kiln_context_cache_counters(ctx, &c);
    if (c.compiles != 0 || c.misses != 0 || c.hits == 0)
        fail_msg("%s: %d compiled, %d missed, %d hit", what, (int)c.compiles, (int)c.misses,
                 (int)c.hits);
    kiln_context_release(ctx);
}

static kiln_array *empty(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a = NULL;
    OK(kiln_array_empty(ctx, dtype, rank, shape, &a, &err));
    return a;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* Kernels of every layout class: linear with and without alignment, inner, transpose, general; and a transpose
 * of seven channels, which a thread holds. */
static void run_loops(kiln_context *ctx)
{
    static const int64_t shape[] = {64, 96};
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *x = empty(ctx, KILN_FLOAT32, 2, shape), *turned = NULL, *part = NULL, *odd = NULL;
    kiln_array *image = empty(ctx, KILN_FLOAT32, 3, (const int64_t[]){7, 12, 16}), *pixels = NULL;
    kiln_array *all[8] = {NULL};
    kiln_elementwise *op = NULL;

    OK(kiln_elementwise_create(ctx, "T x, T y, float32 a", "T z", "z = a * x + y", NULL, &op,
                               &err));
    OK(kiln_array_transpose(x, NULL, &turned, &err));
    OK(kiln_array_slice(x, 1, 0, 90, 1, &part, &err));
    OK(kiln_array_slice(x, 1, 1, 91, 2, &odd, &err));
    OK(kiln_call(op, &err, x, x, 2.0, &all[0]));
    OK(kiln_call(op, &err, part, part, 2.0, &all[1]));
    OK(kiln_call(op, &err, odd, odd, 2.0, &all[2]));
    all[3] = empty(ctx, KILN_FLOAT32, 2, (const int64_t[]){96, 64});
    OK(kiln_call(op, &err, turned, turned, 2.0, &all[3]));
    OK(kiln_array_transpose(image, &(kiln_axes){3, {1, 2, 0}}, &pixels, &err));
    all[4] = empty(ctx, KILN_FLOAT32, 3, (const int64_t[]){12, 16, 7});
    OK(kiln_call(op, &err, pixels, pixels, 2.0, &all[4]));
    kiln_elementwise_destroy(op);
    kiln_array *const more[] = {x, turned, part, odd, image, pixels};
    for (size_t k = 0; k < COUNT(more); k++)
        kiln_array_release(more[k]);
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* Rows that a warp holds, that take a cluster of blocks, that are read again; and rows along the slow
 * axis. */
static void run_rows(kiln_context *ctx, bool by_hand)
{
    static const struct {
        int64_t shape[2];
        int axis;
    } calls[] = {{{100, 64}, -1}, {{4, 40000}, -1}, {{2, 400000}, -1}, {{64, 1000}, 0}};
    static const kiln_row_stage stages[] = {
        {.map = "x", .type = "float", .reduce = "max(a, b)", .identity = "-INFINITY", .result = "m"},
        {.prep = "e = exp(x - m);", .map = "e", .type = "float", .reduce = "a + b",
         .identity = "0", .result = "s"}};
    static const kiln_row_value values[] = {{"float", "e"}};
    kiln_error err = KILN_ERROR_INIT;
    kiln_row_options o = KILN_ROW_OPTIONS_INIT;
    kiln_row *softmax = NULL;

    o.values = values;
    o.value_count = 1;
    o.name = by_hand ? "softmax" : NULL;
    OK(kiln_row_create(ctx, "T x", "T y", stages, 2, "y = e / s", &o, &softmax, &err));
    for (size_t k = 0; k < COUNT(calls); k++) {
        kiln_array *x = empty(ctx, KILN_FLOAT32, 2, calls[k].shape), *y = NULL;
        OK(kiln_call_over(softmax, KILN_AXES(calls[k].axis), &err, x, &y));
        kiln_array_release(y);
        kiln_array_release(x);
    }
    kiln_row_destroy(softmax);
}

/* Short and long, few and many, along either axis and over all: the ways to split them. */
static const int64_t reduced_shapes[][2] = {{1000, 128}, {200000, 4}, {4, 200000}};

static void run_reductions(kiln_context *ctx)
{
    kiln_error err = KILN_ERROR_INIT;

    for (size_t s = 0; s < COUNT(reduced_shapes); s++) {
        kiln_array *x = empty(ctx, KILN_FLOAT32, 2, reduced_shapes[s]), *y[4] = {NULL};
        OK(kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y[0], &err));
        OK(kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(0), false, &y[1], &err));
        OK(kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(-1), true, &y[2], &err));
        if (s == 0)
            OK(kiln_array_reduce(KILN_REDUCE_ARGMAX, x, KILN_AXES(1), true, &y[3], &err));
        for (size_t k = 0; k < COUNT(y); k++)
            kiln_array_release(y[k]);
        kiln_array_release(x);
    }
}

/* The options of a scan along `axes` with `flags`. */
#define SCAN(scan_axes, scan_flags)                                                                \
    (&(kiln_scan_call_options){.struct_size = sizeof(kiln_scan_call_options),                      \
                               .axes = (scan_axes),                                                \
                               .flags = (scan_flags)})

static void run_scans(kiln_context *ctx)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_scan *scan = NULL;

    OK(kiln_scan_create(ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &scan, &err));
    for (size_t s = 0; s < COUNT(reduced_shapes); s += 2) {
        kiln_array *x = empty(ctx, KILN_FLOAT32, 2, reduced_shapes[s]), *y[4] = {NULL};
        OK(kiln_call_with(scan, SCAN(KILN_AXES(0), KILN_SCAN_REVERSE), &err, x, &y[0]));
        OK(kiln_call_over(scan, KILN_AXES(-1), &err, x, &y[1]));
        OK(kiln_call_with(scan, SCAN(NULL, KILN_SCAN_EXCLUSIVE), &err, x, &y[2]));
        if (s == 0)
            OK(kiln_array_scan(KILN_SCAN_CUMSUM, x, KILN_AXES(-1), 0, &y[3], &err));
        for (size_t k = 0; k < COUNT(y); k++)
            kiln_array_release(y[k]);
        kiln_array_release(x);
    }
    kiln_scan_destroy(scan);
}

/* ---- expressions ------------------------------------------------------------------------------- */

/* An expression, what its line says of it behind its text, and a call: rank -1 is a number. */
typedef struct expression {
    const char *text, *line;
    struct {
        const char *name;
        int rank;
        int64_t shape[2];
    } in[3];
} expression;

#define XY "\"types\":[{\"x\":\"float32\",\"y\":\"float32\"}]"
#define AXY "\"types\":[{\"x\":\"float32\",\"a\":\"float64\",\"y\":\"float32\"}],\"scalars\":[\"a\"]"
#define SOFTMAX "e = exp(x - max(x, axis=-1, keepdims=True)); e / sum(e, axis=-1, keepdims=True)"

#define STENCIL "x[:-2,1:-1] + x[2:,1:-1] + x[1:-1,:-2] + x[1:-1,2:] - 4*x[1:-1,1:-1]"

/* The first ones with nothing but text and types. */
static const expression expressions[] = {
    {"x*x + y", XY, {{"x", 1, {1000}}, {"y", 1, {1000}}}},
    {"x*x + y", XY, {{"x", 2, {3, 5}}, {"y", 2, {3, 5}}}},
    {"a*x + y", AXY, {{"a", -1, {0}}, {"x", 2, {7, 9}}, {"y", 2, {7, 9}}}},
    {"sum(sqrt(x*x + y*y) * exp(-x), axis=1)", XY, {{"x", 2, {4096, 4096}}, {"y", 2, {4096, 4096}}}},
    {"sum(x * y, axis=0), mean(x)", XY, {{"x", 2, {4096, 4096}}, {"y", 2, {4096, 4096}}}},
    {SOFTMAX, "\"types\":[{\"x\":\"float32\"}]", {{"x", 2, {3000, 4096}}}},
    {SOFTMAX, "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[100,1000],[4,40000],[1,4000000]]",
     {{"x", 2, {100, 1000}}}},
    {SOFTMAX, "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[4,40000]]", {{"x", 2, {4, 40000}}}},
    {SOFTMAX, "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[1,4000000]]", {{"x", 2, {1, 4000000}}}},
    {"d = x - mean(x, axis=-1, keepdims=True); d / sqrt(mean(d*d, axis=-1, keepdims=True)) * w",
     "\"types\":[{\"x\":\"float32\",\"w\":\"float32\"}],\"shapes\":[{\"x\":[512,768],\"w\":[768]}]",
     {{"x", 2, {512, 768}}, {"w", 1, {768}}}},
    {"x[1:, ::2] + y.T[:-1], argmax(x, axis=0)", XY ",\"shapes\":[{\"x\":[100,200],\"y\":[100,100]}]",
     {{"x", 2, {100, 200}}, {"y", 2, {100, 100}}}},
    {STENCIL, "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[100,200]]", {{"x", 2, {100, 200}}}},
    {STENCIL, "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[2051,2057]]",
     {{"x", 2, {2051, 2057}}}},
    {"max(x / sum(x, axis=-1, keepdims=True), axis=-1)",
     "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[300,1000]]", {{"x", 2, {300, 1000}}}},
};

static void run_expression(kiln_context *ctx, const expression *e)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_graph *graph = NULL;
    kiln_array *in[3] = {NULL}, *out[3] = {NULL};
    const char *names[3];
    kiln_arg args[6];
    size_t count = 0, results = 0;

    for (; count < COUNT(e->in) && e->in[count].name != NULL; count++) {
        names[count] = e->in[count].name;
        if (e->in[count].rank >= 0)
            in[count] = empty(ctx, KILN_FLOAT32, e->in[count].rank, e->in[count].shape);
        args[count] = in[count] != NULL ? kiln_arg_array(in[count]) : kiln_arg_float(2.5);
    }
    OK(kiln_graph_parse(ctx, e->text, names, count, NULL, &graph, &results, &err));
    for (size_t k = 0; k < results; k++)
        args[count + k] = kiln_arg_out(&out[k]);
    OK(kiln_graph_run(graph, args, count + results, NULL, &err));
    kiln_graph_destroy(graph);
    for (size_t k = 0; k < COUNT(in); k++) {
        kiln_array_release(in[k]);
        kiln_array_release(out[k]);
    }
}

/* ---- recorded ---------------------------------------------------------------------------------- */

static void run_all(kiln_context *ctx)
{
    run_loops(ctx);
    run_reductions(ctx);
    run_scans(ctx);
    run_rows(ctx, false);
    /* Each second one: compiling takes its time. */
    for (size_t k = 2; k < COUNT(expressions); k += 2)
        run_expression(ctx, &expressions[k]);
}

static void test_warm_cuda__a_recorded_program_finds_all_of_its_kernels(void **state)
{
    /* Every class of layouts, and the ways of the parts that they are of. */
    static const char *const schemes[] = {
        "linear", "inner", "window", "transpose", "general", "rows", "columns", "held", "reread", "split=1",
        "split=5", "tile=32", "group=256", "group=1 ", "exclusive=1", "reverse=1",
        "\"kind\":\"elementwise\"", "\"kind\":\"reduction\"", "\"kind\":\"scan\"", "\"kind\":\"row\""};
    const char *record = below("record.jsonl");
    char *text = NULL;
    size_t bytes = 0;

    (void)state;
    kiln_context *ctx = open_context(below("first"), record);
    run_all(ctx);
    kiln_context_release(ctx);
    assert_int_equal(kiln__read_file(record, 1 << 20, &text, &bytes), 0);
    const warm_result r = warm_text(text, below("second"), KILN_BACKEND_CUDA, "sm_90");
    if (r.entries < 30 || r.kernels != r.entries || r.compiled != r.entries)
        fail_msg("%zu lines, %zu kernels, %zu compiled", r.entries, r.kernels, r.compiled);
    for (size_t k = 0; k < COUNT(schemes); k++)
        if (strstr(text, schemes[k]) == NULL)
            fail_msg("no kernel is \"%s\" in\n%s", schemes[k], text);
    assert_int_equal(warm_text(text, below("second"), KILN_BACKEND_CUDA, "sm_90").compiled, 0);
    kiln__free(text);
    ctx = open_context(below("second"), "");
    run_all(ctx);
    close_warm(ctx, "recorded");
}

/* ---- written by hand --------------------------------------------------------------------------- */

static void run_axpy(kiln_context *ctx, kiln_dtype dtype, int64_t size, bool number)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *x = empty(ctx, dtype, 1, &size), *a = empty(ctx, KILN_FLOAT32, 1, &size);
    kiln_array *z = NULL;
    kiln_elementwise *op = NULL;
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;

    o.name = "axpy";
    OK(kiln_elementwise_create(ctx, "T x, T y, float32 a", "T z", "z = a * x + y", &o, &op, &err));
    if (number)
        OK(kiln_call(op, &err, x, x, 2.0, &z));
    else
        OK(kiln_call(op, &err, x, x, a, &z));
    kiln_elementwise_destroy(op);
    kiln_array_release(z);
    kiln_array_release(a);
    kiln_array_release(x);
}

static void test_warm_cuda__the_shortest_line_serves_common_calls(void **state)
{
    static const char text[] =
        "{\"kind\":\"elementwise\",\"name\":\"axpy\",\"in\":\"T x, T y, float32 a\",\"out\":\"T z\","
        "\"op\":\"z = a * x + y\",\"types\":[{\"T\":\"float32\"},{\"T\":\"float16\"}]}";
    static const int64_t sizes[] = {1, 31, 1000, 1 << 20, (1 << 20) + 3};

    (void)state;
    assert_int_equal(warm_text(text, below("hand"), KILN_BACKEND_CUDA, "sm_90").kernels, 4);
    kiln_context *ctx = open_context(below("hand"), "");
    for (size_t k = 0; k < COUNT(sizes); k++) {
        run_axpy(ctx, KILN_FLOAT32, sizes[k], true);
        run_axpy(ctx, KILN_FLOAT16, sizes[k], false);
    }
    close_warm(ctx, "by hand");
}

static void write_below(const char *name, const char *text)
{
    FILE *file = fopen(below(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* How many kernels a program with the definition of the test below compiles. */
static int compiles_of_asking(const char *option)
{
    kiln_context *ctx = open_context(below("asking"), "");
    kiln_elementwise_options o = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *x = empty(ctx, KILN_FLOAT32, 1, (int64_t[]){1000}), *z = NULL;
    kiln_elementwise *op = NULL;
    kiln_cache_counters c;

    o.name = "asking";
    o.preamble = "#include <outer.h>";
    o.compiler_options = &option;
    o.compiler_option_count = 1;
    OK(kiln_elementwise_create(ctx, "T x", "T z", "z = x + V", &o, &op, &err));
    OK(kiln_call(op, &err, x, &z));
    kiln_context_cache_counters(ctx, &c);
    kiln_elementwise_destroy(op);
    kiln_array_release(z);
    kiln_array_release(x);
    kiln_context_release(ctx);
    return (int)c.compiles;
}

/* A header of a library asks what there is, and includes much that is for other compilers. */
static void test_warm_cuda__headers_that_ask_for_files_are_kept(void **state)
{
    char option[300], line[600];

    (void)state;
    snprintf(option, sizeof option, "-I%s", root);
    write_below("outer.h", "#define HAS(_X) __has_include(_X)\n"
                           "#if HAS(<new.h>)\n#include <new.h>\n#else\n#define V 1\n#endif\n"
                           "#ifdef _MSC_VER\n#include <intrin.h>\n#endif\n");
    snprintf(line, sizeof line,
             "{\"kind\":\"elementwise\",\"name\":\"asking\",\"in\":\"T x\",\"out\":\"T z\","
             "\"op\":\"z = x + V\",\"preamble\":\"#include <outer.h>\",\"options\":[\"%s\"],"
             "\"types\":[{\"T\":\"float32\"}]}",
             option);
    assert_true(warm_text(line, below("asking"), KILN_BACKEND_CUDA, "sm_90").kernels > 0);
    assert_int_equal(compiles_of_asking(option), 0);
    write_below("new.h", "#define V 2\n");
    assert_int_equal(compiles_of_asking(option), 1);
    assert_int_equal(compiles_of_asking(option), 0);
    write_below("intrin.h", ""); /* not read by this compiler, but that is for it to know */
    assert_int_equal(compiles_of_asking(option), 1);
    assert_int_equal(remove(below("new.h")), 0);
    assert_int_equal(remove(below("intrin.h")), 0);
    assert_int_equal(compiles_of_asking(option), 0);
}

/* An input that only `post` reads has an element for each result, told or not. */
static void test_warm_cuda__inputs_of_post_have_the_shape_of_results(void **state)
{
    static const char text[] =
        "{\"kind\":\"reduction\",\"name\":\"scaled\",\"in\":\"T x, T w\",\"out\":\"T y\",\"map\":\"x\","
        "\"reduce\":\"a + b\",\"post\":\"y = a * w\",\"identity\":\"0\",\"types\":[{\"T\":\"float32\"}]}";
    static const int64_t whole[] = {4096, 4096}, column[] = {4096, 1};
    kiln_error err = KILN_ERROR_INIT;
    kiln_reduction_options o = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *scaled = NULL;

    (void)state;
    assert_true(warm_text(text, below("post"), KILN_BACKEND_CUDA, "sm_90").kernels >= 3);
    kiln_context *ctx = open_context(below("post"), "");
    kiln_array *x = empty(ctx, KILN_FLOAT32, 2, whole), *w = empty(ctx, KILN_FLOAT32, 2, column);
    kiln_array *y = NULL;
    o.name = "scaled";
    OK(kiln_reduction_create(ctx, "T x, T w", "T y", "x", "a + b", "y = a * w", "0", &o, &scaled,
                             &err));
    OK(kiln_call_over(scaled, KILN_AXES(-1), &err, x, w, &y));
    kiln_reduction_destroy(scaled);
    kiln_array_release(y);
    kiln_array_release(w);
    kiln_array_release(x);
    close_warm(ctx, "post");
}

static void test_warm_cuda__shapes_serve_gpus_of_every_size(void **state)
{
    static const char text[] =
        "{\"kind\":\"reduction\",\"named\":\"sum\",\"types\":[{\"T\":\"float32\"}],"
        "\"shapes\":[[300,512],[20000,40]],\"axes\":[null,[0],[-1]]}\n"
        "{\"kind\":\"scan\",\"name\":\"running\",\"in\":\"T x\",\"out\":\"T y\",\"map\":\"x\","
        "\"reduce\":\"a + b\",\"post\":\"y = a\",\"identity\":\"0\",\"types\":[{\"T\":\"float32\"}],"
        "\"shapes\":[[300,512],[20000,40]],\"axes\":[[0],[1]],\"reverse\":true}";
    static const int64_t shapes[][2] = {{300, 512}, {20000, 40}};
    static const int sizes[] = {6, 8, 14, 20, 30, 46, 58, 84, 108, 132, 148, 188, 256};

    (void)state;
    (void)warm_text(text, below("sizes"), KILN_BACKEND_CUDA, "sm_90");
    for (size_t u = 0; u < COUNT(sizes); u++) {
        cuda->multiprocessors = sizes[u];
        kiln_context *ctx = open_context(below("sizes"), "");
        char what[64];
        kiln_error err = KILN_ERROR_INIT;
        kiln_scan_options o = KILN_SCAN_OPTIONS_INIT;
        kiln_scan *scan = NULL;
        assert_int_equal(kiln_context_device(ctx)->unit_count, sizes[u]);
        o.name = "running";
        OK(kiln_scan_create(ctx, "T x", "T y", "x", "a + b", "y = a", "0", &o, &scan, &err));
        for (size_t s = 0; s < COUNT(shapes); s++) {
            kiln_array *x = empty(ctx, KILN_FLOAT32, 2, shapes[s]), *y[5] = {NULL};
            OK(kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &y[0], &err));
            OK(kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(0), false, &y[1], &err));
            OK(kiln_array_reduce(KILN_REDUCE_SUM, x, KILN_AXES(1), false, &y[2], &err));
            OK(kiln_call_with(scan, SCAN(KILN_AXES(0), KILN_SCAN_REVERSE), &err, x, &y[3]));
            OK(kiln_call_with(scan, SCAN(KILN_AXES(1), KILN_SCAN_REVERSE), &err, x, &y[4]));
            for (size_t k = 0; k < COUNT(y); k++)
                kiln_array_release(y[k]);
            kiln_array_release(x);
        }
        kiln_scan_destroy(scan);
        snprintf(what, sizeof what, "%d multiprocessors", sizes[u]);
        close_warm(ctx, what);
    }
    cuda->multiprocessors = 132;
}

static void test_warm_cuda__rows_told_by_shapes_serve_gpus_of_every_size(void **state)
{
    static const char text[] =
        "{\"kind\":\"row\",\"name\":\"softmax\",\"in\":\"T x\",\"out\":\"T y\",\"op\":\"y = e / s\","
        "\"stages\":[{\"map\":\"x\",\"type\":\"float\",\"reduce\":\"max(a, b)\",\"identity\":"
        "\"-INFINITY\",\"result\":\"m\"},{\"prep\":\"e = exp(x - m);\",\"map\":\"e\",\"type\":"
        "\"float\",\"reduce\":\"a + b\",\"identity\":\"0\",\"result\":\"s\"}],\"values\":[{\"type\":"
        "\"float\",\"name\":\"e\"}],\"types\":[{\"T\":\"float32\"}]";
    static const int sizes[] = {6, 20, 132, 256};
    char lines[4000];

    (void)state;
    snprintf(lines, sizeof lines, "%s,\"shapes\":[[100,64],[4,40000],[2,400000]]}\n%s,\"axes\":[0],"
             "\"shapes\":[[64,1000]]}", text, text);
    const warm_result r = warm_text(lines, below("rows"), KILN_BACKEND_CUDA, "sm_90");
    if (r.kernels < 4 || r.skipped > 0)
        fail_msg("%zu kernels, %zu skipped", r.kernels, r.skipped);
    /* Rows of 40000 take a cluster. */
    assert_true(warm_text(lines, below("older_rows"), KILN_BACKEND_CUDA, "sm_80").skipped > 0);
    for (size_t u = 0; u < COUNT(sizes); u++) {
        cuda->multiprocessors = sizes[u];
        kiln_context *ctx = open_context(below("rows"), "");
        run_rows(ctx, true);
        close_warm(ctx, "rows");
    }
    cuda->multiprocessors = 132;
}

static void test_warm_cuda__expressions_serve_graphs_on_gpus_of_every_size(void **state)
{
    static const int sizes[] = {6, 20, 132, 256};
    kiln__buf lines = KILN__BUF_INIT;

    (void)state;
    for (size_t k = 0; k < COUNT(expressions); k++)
        kiln__buf_printf(&lines, "{\"kind\":\"expression\",\"text\":\"%s\",%s}\n", expressions[k].text,
                         expressions[k].line);
    assert_false(lines.failed);
    const warm_result r = warm_text(lines.text, below("graphs"), KILN_BACKEND_CUDA, "sm_90");
    assert_true(r.kernels > 15);
    for (size_t u = 0; u < COUNT(sizes); u++) {
        cuda->multiprocessors = sizes[u];
        for (size_t k = 0; k < COUNT(expressions); k++) {
            kiln_context *ctx = open_context(below("graphs"), "");
            run_expression(ctx, &expressions[k]);
            close_warm(ctx, expressions[k].text);
        }
    }
    cuda->multiprocessors = 132;
    kiln__buf_clear(&lines);
}

/* ---- the program ------------------------------------------------------------------------------- */

static int leave(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_cuda__a_recorded_program_finds_all_of_its_kernels),
        cmocka_unit_test(test_warm_cuda__the_shortest_line_serves_common_calls),
        cmocka_unit_test(test_warm_cuda__headers_that_ask_for_files_are_kept),
        cmocka_unit_test(test_warm_cuda__inputs_of_post_have_the_shape_of_results),
        cmocka_unit_test(test_warm_cuda__shapes_serve_gpus_of_every_size),
        cmocka_unit_test(test_warm_cuda__rows_told_by_shapes_serve_gpus_of_every_size),
        cmocka_unit_test(test_warm_cuda__expressions_serve_graphs_on_gpus_of_every_size),
    };
    const char *id = NULL;

    if (kiln__compiler_identity(KILN_BACKEND_CUDA, &id, NULL) != KILN_OK) {
        fprintf(stderr, "SKIPPED: there is no NVRTC\n");
        return EXIT_SKIP;
    }
    cuda = load_fake_cuda();
    if (cuda == NULL || mkdtemp(root) == NULL)
        return 1;
    cuda->any_module = true;
    return cmocka_run_group_tests_name("test_warm_cuda", tests, NULL, leave);
}
