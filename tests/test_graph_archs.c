/*
 * test_graph_archs.c - kernels that graphs make, compiled for every GPU that NVRTC knows, without a
 * GPU.
 *
 * What they compute is tested where they run. Graphs are recorded in a context of the cpu device;
 * programs are built and planned as for a GPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "graph/graph.h"

enum { UNITS = 132, ARGS_MAX = 12 };

static kiln__target targets[ARCHS_MAX];
static size_t target_count;
static kiln_context *ctx;

/* ---- graphs ---------------------------------------------------------------------------------------- */

typedef kiln_node node;
typedef void (*record_fn)(kiln_graph *g, node x, node y);

static void chain(kiln_graph *g, node x, node y)
{
    node xx = kiln_multiply(x, x);
    node r = kiln_multiply(kiln_sqrt(kiln_add(xx, kiln_multiply(y, y))), kiln_exp(kiln_negative(x)));
    kiln_graph_output(g, "z", kiln_add(r, kiln_divide(kiln_tanh(y), kiln_add(1, xx))));
    kiln_graph_output(g, "far", kiln_greater(x, y));
}

static void black_scholes(kiln_graph *g, node s, node k)
{
    node root = kiln_sqrt(kiln_add(kiln_absolute(k), 0.5));
    node d1 = kiln_divide(kiln_add(kiln_log(kiln_divide(s, k)), 0.05), root);
    node d2 = kiln_subtract(d1, root);
    node a = kiln_multiply(0.5, kiln_add(1, kiln_tanh(d1)));
    node b = kiln_multiply(0.5, kiln_add(1, kiln_tanh(d2)));
    kiln_graph_output(g, "call", kiln_subtract(kiln_multiply(s, a), kiln_multiply(k, b)));
    kiln_graph_output(g, "put", kiln_where(kiln_less(s, k), kiln_subtract(k, s), 0));
}

static void stencil(kiln_graph *g, node x, node y)
{
    node inside = kiln_slice(kiln_slice(x, 0, 1, -1, 1), 1, 1, -1, 1);
    node up = kiln_slice(kiln_slice(x, 0, 0, -2, 1), 1, 1, -1, 1);
    node left = kiln_slice(kiln_slice(x, 0, 1, -1, 1), 1, 0, -2, 1);
    kiln_graph_output(g, "z", kiln_subtract(kiln_add(up, left), kiln_multiply(inside, 2)));
    kiln_graph_output(g, "turned", kiln_add(kiln_transpose(x, NULL), kiln_transpose(y, NULL)));
}

static void positions(kiln_graph *g, node x, node y)
{
    kiln_graph_output(g, "z", kiln_add(kiln_multiply(kiln_iota(x, 0), 3), kiln_iota(y, 1)));
    kiln_graph_output(g, "mass", kiln_sum(kiln_multiply(x, kiln_iota(x, 1)), KILN_AXES(0)));
}

static void moments(kiln_graph *g, node x, node y)
{
    node d = kiln_subtract(x, y);
    kiln_graph_output(g, "mean", kiln_mean(d, KILN_AXES(1)));
    kiln_graph_output(g, "std", kiln_sqrt(kiln_add(kiln_var(d, KILN_AXES(1)), 1e-6)));
    kiln_graph_output(g, "most", kiln_argmax(d, KILN_AXES(1)));
    kiln_graph_output(g, "norm", kiln_sqrt(kiln_sum(kiln_multiply(x, x), KILN_ALL_AXES)));
    kiln_graph_output(g, "down", kiln_max(d, KILN_AXES(0)));
}

static void softmax(kiln_graph *g, node x, node y)
{
    node e = kiln_exp(kiln_subtract(x, kiln_max_keep(x, KILN_AXES(-1))));
    kiln_graph_output(g, "p", kiln_divide(e, kiln_sum_keep(e, KILN_AXES(-1))));
    kiln_graph_output(g, "q", kiln_add(y, 1));
}

static void layer_norm(kiln_graph *g, node x, node y)
{
    node mean = kiln_mean_keep(x, KILN_AXES(-1)), var = kiln_var_keep(x, KILN_AXES(-1));
    node n = kiln_divide(kiln_subtract(x, mean), kiln_sqrt(kiln_add(var, 1e-5)));
    kiln_graph_output(g, "n", kiln_add(kiln_multiply(n, y), y));
    kiln_graph_output(g, "mean", mean);
}

/* The user's kernels inside of others, with preambles and without. */
static kiln_elementwise *gate, *split;

static void customs(kiln_graph *g, node x, node y)
{
    const node pair[] = {kiln_multiply(x, 2), y};
    node opened = kiln_node_elementwise(gate, pair, 2, 0, KILN_HERE);
    node whole = kiln_node_elementwise(split, &opened, 1, 0, KILN_HERE);
    node part = kiln_node_elementwise(split, &opened, 1, 1, KILN_HERE);
    kiln_graph_output(g, "wholes", kiln_sum(whole, KILN_AXES(0)));
    kiln_graph_output(g, "share", kiln_divide(part, kiln_sum_keep(part, KILN_AXES(1))));
}

/* Three stages that write a result each: elements are computed anew in each of them. */
static void scales(kiln_graph *g, node x, node y)
{
    static const char *const names[] = {"u", "v", "z"};
    for (int k = 0; k < 3; k++) {
        x = kiln_multiply(x, kiln_rsqrt(kiln_add(kiln_mean_keep(kiln_multiply(x, x), KILN_AXES(1)), 1)));
        kiln_graph_output(g, names[k], kiln_add(x, y));
    }
}

static const record_fn graphs[] = {chain,   black_scholes, stencil,    positions, moments,
                                   softmax, layer_norm,    customs,    scales};

/* ---- from a step to a source --------------------------------------------------------------------------- */

static void source_of(const kiln__step *s, bool clusters, kiln__source *source)
{
    kiln__definition *def = NULL;
    kiln_dtype dtypes[KILN_PARAM_MAX];
    kiln__operand operands[KILN_PARAM_MAX];
    int64_t shape[KILN_PARAM_MAX][KILN_RANK_MAX], strides[KILN_PARAM_MAX][KILN_RANK_MAX];
    bool reduced[KILN_RANK_MAX] = {false};
    kiln__plan plan;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__definition_create(&s->request, &def, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, err.detail != NULL ? err.detail : "");
    for (int a = 0; a < s->axes.count; a++)
        reduced[s->axes.axis[a]] = true;
    memset(operands, 0, sizeof operands);
    for (size_t p = 0; p < s->param_count; p++) {
        const kiln__step_param *param = &s->params[p];
        const bool spread = p >= s->input_count && param->rank != s->rank;
        int own = 0;
        dtypes[p] = param->dtype;
        for (int a = 0; a < s->rank; a++) { /* results of reductions have the loop's axes here */
            const bool there = !spread || !reduced[a];
            shape[p][a] = there ? param->shape[own] : 1;
            strides[p][a] = there ? param->strides[own] : 0;
            own += there;
        }
        operands[p] = (kiln__operand){.is_array = param->kind != KILN__VALUE_SCALAR,
                                      .written = p >= s->input_count,
                                      .itemsize = (uint8_t)kiln_dtype_size(param->dtype),
                                      .rank = s->rank,
                                      .shape = shape[p],
                                      .strides = strides[p],
                                      .address = 4096 + (uintptr_t)param->offset};
    }
    const int64_t *shape_of =
        s->kind == KILN__STEP_LOOP ? operands[s->input_count].shape : s->shape;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, clusters, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = s->rank,
                                          .shape = shape_of,
                                          .along = reduced},
                    &plan);
    if (kiln__emit(def, &plan.variant, source, &err) != KILN_OK)
        fail_msg("%s", err.message);
    kiln__definition_destroy(def);
    kiln_error_clear(&err);
}

static void compile(const kiln__step *s, const kiln__target *target, bool clusters)
{
    kiln__source source = KILN__SOURCE_INIT;
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;
    source_of(s, clusters, &source);
    const kiln__compile_request request = {.target = *target, .source = source.text};
    kiln_status status = kiln__compile(&request, &result, &err);
    if (status != KILN_OK || result.bytes < 4 ||
        (result.log != NULL && strstr(result.log, "warning") != NULL))
        fail_msg("%s for %s: %s\n%s\n%s", s->request.name, target->name, err.message,
                 result.log != NULL ? result.log : "", source.text);
    kiln__compile_result_clear(&result);
    kiln__source_clear(&source);
    kiln_error_clear(&err);
}

static size_t compile_graph(record_fn record, kiln_dtype dtype, const kiln__target *target)
{
    kiln_graph *g = NULL;
    kiln__program *program = NULL;
    kiln_error err = KILN_ERROR_INIT;
    int number = 0;
    int64_t shape[] = {600, 1000};
    const int64_t size = (int64_t)kiln_dtype_size(dtype);
    int64_t strides[] = {1000 * size, size};
    (void)sscanf(target->name, "sm_%d", &number);
    const kiln__graph_target device = {.backend = KILN_BACKEND_CUDA, .clusters = number >= 90};
    kiln__graph_arg args[ARGS_MAX];

    assert_int_equal(kiln_graph_create(ctx, NULL, &g, NULL), KILN_OK);
    record(g, kiln_graph_input(g, "x"), kiln_graph_input(g, "y"));
    if (kiln_graph_compile(g, &err) != KILN_OK)
        fail_msg("%s", err.message);
    memset(args, 0, sizeof args);
    for (int k = 0; k < 2; k++)
        args[k] = (kiln__graph_arg){
            .is_array = true, .dtype = dtype, .rank = 2, .shape = shape, .strides = strides};
    if (kiln__program_build(&g->ir, args, &device, &program, &err) != KILN_OK)
        fail_msg("%s", err.message);
    const size_t count = program->step_count;
    for (size_t s = 0; s < count; s++)
        compile(&program->steps[s], target, device.clusters);
    kiln__program_destroy(program);
    kiln_graph_destroy(g);
    kiln_error_clear(&err);
    return count;
}

static void test_graph_archs__kernels_compile_for_every_gpu(void **state)
{
    (void)state;
    size_t count = 0;
    if (target_count == 0)
        skip();
    for (size_t k = 0; k < target_count; k++)
        for (size_t g = k % 2; g < KILN_COUNT_OF(graphs); g += 2) /* each for every second GPU */
            count += compile_graph(graphs[g], KILN_FLOAT32, &targets[k]);
    assert_true(count >= target_count * 4);
}

static void test_graph_archs__other_dtypes_compile_for_the_newest_gpu(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64, KILN_INT16};
    (void)state;
    if (target_count == 0)
        skip();
    for (size_t d = 0; d < KILN_COUNT_OF(dtypes); d++)
        for (size_t g = 0; g < KILN_COUNT_OF(graphs); g++)
            compile_graph(graphs[g], dtypes[d], &targets[target_count - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_archs__kernels_compile_for_every_gpu),
        cmocka_unit_test(test_graph_archs__other_dtypes_compile_for_the_newest_gpu),
    };
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;

    target_count = archs_find(targets);
    opts.device = "cpu";
    if (kiln_context_create(&opts, &ctx, NULL) != KILN_OK)
        return 1;
    kiln_elementwise_options own = KILN_ELEMENTWISE_OPTIONS_INIT;
    own.preamble = "template <class V> inline __device__ V open(V v) { return v > V(0) ? v : V(1); }\n"
                   "inline __device__ T other(T v) { return v; }";
    if (kiln_elementwise_create(ctx, "T x, T y", "T z", "z = open(x); if (x > y) return; z = other(y);",
                                &own, &gate, NULL) != KILN_OK ||
        kiln_elementwise_create(ctx, "T v", "int32 whole, T part",
                                "whole = (int)(float)v; part = v - T(whole)", NULL, &split,
                                NULL) != KILN_OK)
        return 1;
    const int failed = cmocka_run_group_tests_name("test_graph_archs", tests, NULL, NULL);
    kiln_elementwise_destroy(gate);
    kiln_elementwise_destroy(split);
    kiln_context_release(ctx);
    return failed;
}
