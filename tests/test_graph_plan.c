/*
 * test_graph_plan.c - which kernels a graph becomes, and how much work it is to plan large graphs, counted and not
 * timed.
 *
 * Graphs of several shapes are planned without any array or device. The steps that planning takes
 * (kiln__program.work) must grow with the nodes: from 1,000 nodes to 8,000 there may be twice as many for
 * each node, where quadratic work would take eight times as many.
 */
#include <stdlib.h>

#include "fusion/fusion.h"
#include "graph/graph.h"
#include "graph_env.h"

enum { INPUTS = 4, OUTPUTS_MAX = 8192 };

/* A graph that is being recorded. */
typedef struct recording {
    kiln_graph *g;
    kiln_node in[INPUTS];
    int outputs;
} recording;

static void output(recording *r, kiln_node node)
{
    char name[24];
    snprintf(name, sizeof name, "z%d", r->outputs++);
    kiln_graph_output(r->g, name, node);
}

/* ---- shapes: each records about `nodes` nodes ------------------------------------------------ */

static void chain(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 2; k++)
        x = kiln_add(kiln_multiply(x, 0.5), r->in[k % INPUTS]);
    output(r, x);
}

static void tree(recording *r, int nodes)
{
    int count = nodes / 2;
    kiln_node *level = calloc((size_t)count, sizeof *level);
    for (int k = 0; k < count; k++)
        level[k] = kiln_multiply(r->in[k % INPUTS], k + 0.5);
    for (; count > 1; count = (count + 1) / 2) {
        for (int k = 0; 2 * k + 1 < count; k++)
            level[k] = kiln_add(level[2 * k], level[2 * k + 1]);
        level[count / 2] = level[count - 1]; /* of an odd number the last one waits */
    }
    output(r, level[0]);
    free(level);
}

static void many_outputs(recording *r, int nodes)
{
    for (int k = 0; k < nodes / 2; k++)
        output(r, kiln_add(kiln_multiply(r->in[k % INPUTS], k + 0.5), r->in[0]));
}

static void chain_of_outputs(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 2; k++) {
        x = kiln_add(kiln_multiply(x, 0.5), r->in[k % INPUTS]);
        output(r, x);
    }
}

static void many_reductions(recording *r, int nodes)
{
    for (int k = 0; k < nodes / 2; k++)
        output(r, kiln_sum(kiln_multiply(r->in[k % INPUTS], k + 0.5), KILN_AXES(1)));
}

static void reductions_of_views(recording *r, int nodes)
{
    for (int k = 0; k < nodes / 3; k++)
        output(r, kiln_sum(kiln_multiply(kiln_slice(r->in[0], 1, k, k + 9 + k % 7, 1), k + 0.5),
                           KILN_AXES(1)));
}

static void alternating(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 3; k++)
        x = kiln_multiply(kiln_subtract(x, kiln_mean_keep(x, KILN_AXES(1))), 1.5);
    output(r, x);
}

static void alternating_outputs(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 3; k++) {
        x = kiln_multiply(kiln_subtract(x, kiln_mean_keep(x, KILN_AXES(1))), 1.5);
        output(r, x);
    }
}

/* What follows from a reduction's result alone stands between it and the rows that it scales. */
static void alternating_scales(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 5; k++) {
        const kiln_node mean = kiln_mean_keep(kiln_multiply(x, x), KILN_AXES(1));
        x = kiln_multiply(x, kiln_rsqrt(kiln_add(mean, 1e-5)));
        output(r, x);
    }
}

static void diamonds(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 3; k++)
        x = kiln_add(kiln_multiply(x, 0.5), kiln_tanh(x));
    output(r, x);
}

static void row_programs(recording *r, int nodes)
{
    for (int k = 0; k < nodes / 6; k++) {
        const kiln_node x = kiln_multiply(r->in[k % INPUTS], k + 0.5);
        const kiln_node e = kiln_exp(kiln_subtract(x, kiln_max_keep(x, KILN_AXES(1))));
        output(r, kiln_divide(e, kiln_sum_keep(e, KILN_AXES(1))));
    }
}

/* A reshape sinks through what is computed, each operand of which is used twice. */
static void reshaped(recording *r, int nodes)
{
    kiln_node x = r->in[0];
    for (int k = 0; k < nodes / 3; k++)
        x = kiln_add(kiln_multiply(x, 0.5), kiln_tanh(x));
    output(r, kiln_reshape(x, 1, (int64_t[]){-1}));
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Steps for each node. */
static double plan(test_env *t, void (*record)(recording *, int), int nodes)
{
    static const int64_t shape[] = {256, 4096}, strides[] = {4 * 4096, 4};
    static kiln__graph_arg args[INPUTS + OUTPUTS_MAX];
    const kiln__graph_target target = {KILN_BACKEND_CUDA, true, false};
    kiln__program *program = NULL;
    recording r = {.outputs = 0};
    char name[16];

    memset(args, 0, sizeof args);
    OK(t, kiln__graph_new(NULL, NULL, &r.g, &t->err));
    for (int k = 0; k < INPUTS; k++) {
        snprintf(name, sizeof name, "x%d", k);
        r.in[k] = kiln_graph_input(r.g, name);
        args[k] = (kiln__graph_arg){true, KILN_FLOAT32, 2, shape, strides, {0}};
    }
    record(&r, nodes);
    assert_true(r.outputs <= OUTPUTS_MAX);
    OK(t, kiln_graph_compile(r.g, &t->err));
    OK(t, kiln__program_build(&r.g->ir, args, &target, &program, &t->err));
    const double work = (double)program->work / r.g->ir.node_count;
    kiln__program_destroy(program);
    kiln_graph_destroy(r.g);
    return work;
}

static void test_graph_plan__work_grows_with_the_nodes(void **state)
{
    static const struct {
        const char *name;
        void (*record)(recording *r, int nodes);
    } shapes[] = {
        {"chain", chain},
        {"tree", tree},
        {"many outputs", many_outputs},
        {"chain of outputs", chain_of_outputs},
        {"many reductions", many_reductions},
        {"reductions of views", reductions_of_views},
        {"alternating", alternating},
        {"alternating, with outputs", alternating_outputs},
        {"alternating scales", alternating_scales},
        {"diamonds", diamonds},
        {"reshaped diamonds", reshaped},
        {"row programs", row_programs},
    };
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(shapes); k++) {
        const double few = plan(t, shapes[k].record, 1000), many = plan(t, shapes[k].record, 8000);
        CHECK(many <= 2 * few, "%s: %.1f steps a node of 1,000, %.1f a node of 8,000",
              shapes[k].name, few, many);
        CHECK(many < 1000, "%s: %.1f steps a node", shapes[k].name, many);
    }
}

/* Expressions are as deep as the graph: planning must not need a stack as deep. */
static void test_graph_plan__the_largest_graphs(void **state)
{
    test_env *t = *state;
    (void)plan(t, alternating, 32000);
    (void)plan(t, chain, 32000);
    (void)plan(t, diamonds, 32000);
    (void)plan(t, reshaped, 32000);
}

/* How many kernels a layer norm of few rows becomes where a row is as long as a cluster of blocks holds, with so many
 * weights. */
static size_t kernels_of_norm(test_env *t, int weights, int64_t length)
{
    const int64_t shape[] = {16, length}, strides[] = {4 * length, 4};
    const kiln__graph_target target = {KILN_BACKEND_CUDA, true, false};
    kiln__graph_arg args[INPUTS + OUTPUTS_MAX];
    kiln__program *program = NULL;
    kiln_graph *g = NULL;
    char name[16];

    memset(args, 0, sizeof args);
    OK(t, kiln__graph_new(NULL, NULL, &g, &t->err));
    const kiln_node x = kiln_graph_input(g, "x");
    args[0] = (kiln__graph_arg){true, KILN_FLOAT32, 2, shape, strides, {0}};
    kiln_node y = kiln_subtract(x, kiln_mean_keep(x, KILN_AXES(1)));
    y = kiln_divide(y, kiln_sqrt(kiln_mean_keep(kiln_multiply(y, y), KILN_AXES(1))));
    for (int k = 0; k < weights; k++) {
        snprintf(name, sizeof name, "w%d", k);
        y = kiln_multiply(y, kiln_graph_input(g, name));
        args[1 + k] = (kiln__graph_arg){true, KILN_FLOAT32, 1, shape + 1, strides + 1, {0}};
    }
    kiln_graph_output(g, "z", y);
    OK(t, kiln_graph_compile(g, &t->err));
    OK(t, kiln__program_build(&g->ir, args, &target, &program, &t->err));
    const size_t kernels = program->step_count;
    kiln__program_destroy(program);
    kiln_graph_destroy(g);
    return kernels;
}

/* A GPU does not hold what all rows share: weights do not make rows longer. */
static void test_graph_plan__weights_are_not_held(void **state)
{
    test_env *t = *state;

    for (int weights = 0; weights < 3; weights++)
        assert_int_equal(kernels_of_norm(t, weights, 262144), 1);
    assert_true(kernels_of_norm(t, 0, 262147) > 1);
}

/* ---- which kernels ---------------------------------------------------------------------------- */

/* A letter for each kind of step. */
static const char letters[] = {[KILN__STEP_LOOP] = 'l',   [KILN__STEP_REDUCE] = 'r',
                               [KILN__STEP_ROW] = 'w',    [KILN__STEP_CUSTOM] = 'c',
                               [KILN__STEP_CUSTOM_REDUCE] = 'C', [KILN__STEP_OPAQUE] = 'o',
                               [KILN__STEP_PARTS] = 'p'};

/* The steps of an expression of x and y of shape (rows, columns), v (columns) and w (columns, 64): a letter for each. */
static void steps_of(test_env *t, const char *text, kiln_backend backend, int64_t rows,
                     int64_t columns, char *out)
{
    static const char *const names[] = {"x", "y", "v", "w"};
    const int64_t shape[] = {rows, columns}, strides[] = {4 * columns, 4};
    const int64_t other[] = {columns, 64}, others[] = {4 * 64, 4};
    const kiln__graph_target target = {backend, true, false};
    kiln__graph_arg args[4 + 4] = {
        {true, KILN_FLOAT32, 2, shape, strides, {0}},
        {true, KILN_FLOAT32, 2, shape, strides, {0}},
        {true, KILN_FLOAT32, 1, shape + 1, strides + 1, {0}},
        {true, KILN_FLOAT32, 2, other, others, {0}},
    };
    kiln__program *program = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;

    OK(t, kiln__graph_from_text(NULL, text, names, 4, NULL, &g, &results, &t->err));
    OK(t, kiln_graph_compile(g, &t->err));
    OK(t, kiln__program_build(&g->ir, args, &target, &program, &t->err));
    for (size_t k = 0; k < program->step_count && k < 15; k++)
        *out++ = letters[program->steps[k].kind];
    *out = '\0';
    kiln__program_destroy(program);
    kiln_graph_destroy(g);
}

/* What docs/graphs.md says. Each case names the pass that decides. */
static void test_graph_plan__which_kernels_there_are(void **state)
{
    static const struct {
        const char *pass, *text;
        int64_t rows, columns;
        const char *cuda, *cpu; /* steps */
    } cases[] = {
        {"schedule: loops of one shape", "x + y, x - y", 512, 4096, "l", "l"},
        {"sink: a result joins a later loop", "s = sum(x); y * 2, y - s", 512, 4096, "rl", "rl"},
        {"stores: a costly vector is stored", "x * sin(exp(v))", 512, 4096, "ll", "ll"},
        {"stores: a cheap one is not", "x * (v + 1)", 512, 4096, "l", "l"},
        {"text_reduce: the epilogue", "sqrt(sum(x * x, axis=1)) * 2", 512, 4096, "r", "r"},
        {"states: one pass", "sum(x, axis=1), max(x, axis=1)", 512, 4096, "r", "r"},
        {"rows: softmax", "softmax(x, axis=1)", 512, 4096, "w", "w"},
        {"rows: along columns", "x - sum(x, axis=0)", 4, 400000, "w", "w"},
        {"rows: not of few long rows", "x - sum(x, axis=1, keepdims=True)", 4, 40000000, "rl", "rl"},
        {"online: logsumexp", "m = max(x, axis=1, keepdims=True); log(sum(exp(x - m), axis=1))", 8, 400000, "r", "rr"},
        {"joins: parts are stored in place", "concatenate([x * 2, y * 3])", 512, 4096, "l", "l"},
        {"parts: copies share a launch", "pad(x, 1)", 512, 4096, "p", "lll"},
        {"parts: not of what another one stores", "pad(roll(x, (1, 2), axis=(0, 1)), 1)", 512, 4096, "pl", "lllllll"},
        {"parts: not of computed ones", "concatenate([x, exp(y[1:]), x[2:]])", 512, 4096, "lll", "lll"},
        {"parts: not of rows that are turned", "concatenate([x.T, x[:, 1:].T])", 4096, 4096, "ll", "ll"},
        {"reshape: no copy", "reshape(x * 2, (-1,)) + 1", 512, 4096, "l", "l"},
        {"gather: read where it is used", "sum(take(x, [0, 2], axis=0), axis=1)", 512, 4096, "r", "r"},
        {"product_epilogue: relu", "maximum(x @ w, 0)", 512, 4096, "o", "ol"},
    };
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(cases); k++) {
        char cuda[16], cpu[16];
        steps_of(t, cases[k].text, KILN_BACKEND_CUDA, cases[k].rows, cases[k].columns, cuda);
        steps_of(t, cases[k].text, KILN_BACKEND_CPU, cases[k].rows, cases[k].columns, cpu);
        CHECK(strcmp(cuda, cases[k].cuda) == 0 && strcmp(cpu, cases[k].cpu) == 0,
              "%s: %s becomes %s on cuda and %s on the cpu", cases[k].pass, cases[k].text, cuda, cpu);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_plan__work_grows_with_the_nodes),
        TEST(test_graph_plan__the_largest_graphs),
        TEST(test_graph_plan__weights_are_not_held),
        TEST(test_graph_plan__which_kernels_there_are),
    };
    return test_env_main(argc, argv, "test_graph_plan", tests, COUNT(tests));
}
