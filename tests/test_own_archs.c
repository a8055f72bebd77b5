/*
 * test_own_archs.c - NVRTC takes the templates that are whole kernels (kiln__own_kernel()), for real GPUs; no GPU is
 * needed.
 *
 *     functions on a driver that is none > [NVRTC, sm_90] > manifest of their kernels > [NVRTC, the other GPUs]
 *
 * The emulated GPU compiles the same templates with the system's C++ compiler, which takes more than NVRTC does. The
 * macros are those of the functions themselves. The kernels of small matrices are test_small_archs's.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "archs.h"
#include "codegen/templates.h"
#include "kiln/kiln.h"
#include "linalg/solver_gpu.h"
#include "load_fake_cuda.h"
#include "warm_env.h"

#define EXIT_SKIP 77
#define RUN_ON "sm_90" /* what the driver that is none has */

static char root[] = "/tmp/kiln_test_own_XXXXXX";

static void must(kiln_status status, const kiln_error *err, const char *file, int line)
{
    if (status != KILN_OK) {
        print_error("%s\n%s\n", err->message, err->detail != NULL ? err->detail : "");
        _fail(file, line);
    }
}
#define OK(call) must((call), &err, __FILE__, __LINE__)

/* ---- functions ------------------------------------------------------------------------------------- */

typedef enum function { SORT, ARGSORT, TOPK, PAD, HISTOGRAM, BINCOUNT, SCATTER } function;

/* A call, and what the manifest then says: the file and one of the macros. */
typedef struct call {
    function function;
    kiln_dtype dtype;
    int64_t rows, length; /* of the array, which is sorted along its rows */
    int64_t count;        /* elements of topk, bins, places */
    const char *file, *macro;
} call;

static const call calls[] = {
    {SORT, KILN_INT32, 20, 40, 0, "sorting/short.cu", "KILN__PACKED=64"},
    {ARGSORT, KILN_COMPLEX64, 20, 20, 0, "sorting/short.cu", "KILN__PACKED=0"},
    {ARGSORT, KILN_FLOAT16, 3, 1000, 0, "sorting/rows.cu", "KILN__ORDER=1"},
    {SORT, KILN_UINT8, 1, 100000, 0, "sorting/sweep.cu", "KILN__ORDER=0"},
    {ARGSORT, KILN_FLOAT64, 1, 100000, 0, "sorting/sweep.cu", "KILN__ORDER=1"},
    {TOPK, KILN_FLOAT32, 8, 2000, 5, "sorting/choose.cu", "KILN__ORDER=1"},
    {TOPK, KILN_FLOAT32, 1, 1 << 18, 5, "sorting/select.cu", "KILN__TAKES=1"},
    {PAD, KILN_UINT8, 100, 1000, 0, "cuda/parts.cu", "KILN__ITEM=1"},
    {PAD, KILN_COMPLEX128, 100, 1000, 0, "cuda/parts.cu", "KILN__ITEM=16"},
    {HISTOGRAM, KILN_FLOAT32, 1, 10000, 10, "sorting/bins.cu", "KILN__FIND=1"},
    {HISTOGRAM, KILN_FLOAT32, 1, 1 << 20, 10000, "sorting/bins.cu", "KILN__COUNTERS=1"},
    {HISTOGRAM, KILN_FLOAT32, 1, 1 << 23, 100000, "sorting/bins_sum.cu", "bins_sum"},
    {HISTOGRAM, KILN_FLOAT64, 1, 10000, 10, "sorting/bins.cu", "KILN__T=double"},
    {BINCOUNT, KILN_INT32, 1, 10000, 10, "sorting/bins.cu", "KILN__EDGES=0"},
    {SCATTER, KILN_FLOAT32, 1, 1 << 20, 10, "indexing/few.cu", "KILN__T=float"},
    {SCATTER, KILN_FLOAT64, 1, 1 << 20, 10, "indexing/few.cu", "KILN__T=double"},
};

static kiln_array *edges_of(kiln_context *ctx, int64_t bins)
{
    kiln_error err = KILN_ERROR_INIT;
    double *const edges = malloc((size_t)(bins + 1) * sizeof *edges);
    kiln_array *out = NULL;

    assert_non_null(edges);
    for (int64_t k = 0; k <= bins; k++)
        edges[k] = (double)k;
    OK(kiln_array_from_host(ctx, KILN_FLOAT64, 1, (const int64_t[]){bins + 1}, edges, NULL, &out,
                            &err));
    free(edges);
    return out;
}

static void run_text(kiln_context *ctx, const char *text, kiln_array *x, kiln_array **out)
{
    static const char *const names[] = {"x"};
    kiln_error err = KILN_ERROR_INIT;
    kiln_graph *graph = NULL;

    OK(kiln_graph_parse(ctx, text, names, 1, NULL, &graph, NULL, &err));
    OK(kiln_call(graph, &err, x, out));
    kiln_graph_destroy(graph);
}

/* As many sums as the array has elements, at `count` places. */
static void scatter(kiln_context *ctx, kiln_array *values, int64_t count)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;
    kiln_array *x = NULL, *i = NULL;
    const int64_t size = kiln_array_size(values);

    o.fast = true;
    OK(kiln_array_empty(ctx, kiln_array_dtype(values), 1, &count, &x, &err));
    OK(kiln_array_empty(ctx, KILN_INT32, 1, &size, &i, &err));
    const kiln_subscript at = kiln_subscript_array(i);
    OK(kiln_array_scatter(x, &at, 1, kiln_arg_array(values), KILN_SCATTER_ADD, &o, &err));
    kiln_array_release(x);
    kiln_array_release(i);
}

static void run(kiln_context *ctx, const call *c)
{
    const int64_t shape[] = {c->rows, c->length};
    const bool flat = c->function >= HISTOGRAM;
    kiln_error err = KILN_ERROR_INIT;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *x = NULL, *edges = NULL, *out[2] = {NULL};
    char text[64];

    /* The function itself would ask the device for the largest number, which nobody has computed. */
    snprintf(text, sizeof text, "bincount(x, length=%d)", (int)c->count);
    o.axes = KILN_AXES(1);
    OK(kiln_array_empty(ctx, c->dtype, flat ? 1 : 2, flat ? shape + 1 : shape, &x, &err));
    if (c->function == SORT)
        OK(kiln_array_sort(x, &o, &out[0], &err));
    else if (c->function == ARGSORT)
        OK(kiln_array_argsort(x, &o, &out[0], &err));
    else if (c->function == TOPK)
        OK(kiln_array_topk(x, c->count, &o, &out[0], &out[1], &err));
    else if (c->function == PAD)
        run_text(ctx, "pad(x, 1)", x, &out[0]);
    else if (c->function == SCATTER)
        scatter(ctx, x, c->count);
    else if (c->function == BINCOUNT)
        run_text(ctx, text, x, &out[0]);
    else
        OK(kiln_array_histogram(x, edges = edges_of(ctx, c->count), &out[0], &err));
    kiln_array *const all[] = {x, edges, out[0], out[1]};
    for (size_t k = 0; k < KILN_COUNT_OF(all); k++)
        kiln_array_release(all[k]);
}

/* A rule in a text is no template, but wants of NVRTC what other C++ compilers do not: no generic lambda. */
static void sort_by_rule(kiln_context *ctx)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *x = NULL, *out = NULL;

    OK(kiln_array_empty(ctx, KILN_INT32, 1, (const int64_t[]){100}, &x, &err));
    run_text(ctx, "sort(x, less='a % 2 < b % 2')", x, &out);
    kiln_array_release(x);
    kiln_array_release(out);
}

/* ---- the manifest ---------------------------------------------------------------------------------- */

/* The lines of templates alone, and one of the solvers', which need a library that is not here. */
static char *record_calls(void)
{
    static const char report[] = "{\"kind\":\"template\",\"name\":\"kiln_linalg_report\","
                                 "\"template\":\"linalg/report.cu\"}\n";
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;
    char path[64], *text = NULL, *kept = NULL;
    size_t bytes = 0, length = 0;

    snprintf(path, sizeof path, "%s/record.jsonl", root);
    o.device = "cuda:0";
    o.cache_dir = root;
    o.record = path;
    OK(kiln_context_create(&o, &ctx, &err));
    assert_string_equal(kiln_context_device(ctx)->target, RUN_ON);
    for (size_t k = 0; k < KILN_COUNT_OF(calls); k++)
        run(ctx, &calls[k]);
    sort_by_rule(ctx);
    kiln_context_release(ctx);
    assert_int_equal(kiln__read_file(path, 1 << 20, &text, &bytes), 0);
    kept = malloc(bytes + sizeof report);
    assert_non_null(kept);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strstr(line, "\"kind\":\"template\"") != NULL)
            length += (size_t)sprintf(kept + length, "%s\n", line);
    memcpy(kept + length, report, sizeof report);
    kiln__free(text);
    return kept;
}

/* Whether a line names the file and holds the macro. */
static bool has_line(const char *manifest, const char *file, const char *macro)
{
    char want[128];

    snprintf(want, sizeof want, "\"template\":\"%s\"", file);
    for (const char *at = strstr(manifest, want); at != NULL; at = strstr(at + 1, want)) {
        const char *const found = strstr(at, macro);
        if (found != NULL && found < at + strcspn(at, "\n"))
            return true;
    }
    return false;
}

static bool is_small(const char *path)
{
    for (int kind = KILN__SMALL_CHOLESKY; kind <= KILN__SMALL_JACOBI; kind++) {
        const kiln__small_variant v = {.kind = kind, .dtype = KILN_FLOAT32, .m = 4, .n = 4};
        kiln__small_texts texts;
        kiln__small_request(&v, &texts);
        if (strcmp(texts.request.file, path) == 0)
            return true;
    }
    return false;
}

/* A template that asks its caller for nothing and holds a kernel is one of them. */
static size_t expect_all_templates(const char *manifest)
{
    size_t found = 0;

    for (size_t k = 0; k < kiln__template_file_count; k++) {
        const char *const path = kiln__template_files[k].path;
        kiln__buf text = KILN__BUF_INIT;
        kiln_error err = KILN_ERROR_INIT;
        const bool whole = kiln__module_template(path, &text, &err) == KILN_OK && text.text != NULL &&
                           strstr(text.text, "extern \"C\" __global__") != NULL;
        if (whole && !is_small(path) && !has_line(manifest, path, ""))
            fail_msg("no call of this test has a kernel of templates/%s in\n%s", path, manifest);
        found += whole;
        kiln__buf_clear(&text);
        kiln_error_clear(&err);
    }
    return found;
}

static void test_own_archs__nvrtc_takes_every_template_that_is_a_kernel(void **state)
{
    kiln__target targets[ARCHS_MAX];
    const size_t target_count = archs_find(targets);
    char *const manifest = record_calls();

    (void)state;
    assert_true(target_count > 0);
    for (size_t k = 0; k < KILN_COUNT_OF(calls); k++)
        if (!has_line(manifest, calls[k].file, calls[k].macro))
            fail_msg("no %s with %s in\n%s", calls[k].file, calls[k].macro, manifest);
    assert_true(expect_all_templates(manifest) > KILN__SMALL_JACOBI);
    for (size_t k = 0; k < target_count; k++) {
        const warm_result r = warm_text(manifest, root, KILN_BACKEND_CUDA, targets[k].name);
        if (r.kernels != r.entries || r.skipped > 0)
            fail_msg("%s: %zu lines, %zu kernels", targets[k].name, r.entries, r.kernels);
    }
    free(manifest);
}

static int leave(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_archs__nvrtc_takes_every_template_that_is_a_kernel),
    };
    const char *id = NULL;

    if (kiln__compiler_identity(KILN_BACKEND_CUDA, &id, NULL) != KILN_OK) {
        fprintf(stderr, "SKIPPED: there is no NVRTC\n");
        return EXIT_SKIP;
    }
    fake_cuda *const cuda = load_fake_cuda();
    if (cuda == NULL || mkdtemp(root) == NULL)
        return 1;
    cuda->any_module = true;
    return cmocka_run_group_tests_name("test_own_archs", tests, NULL, leave);
}
