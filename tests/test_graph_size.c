/*
 * test_graph_size.c - graphs that are too large for one kernel: many inputs, many results, many
 * views, deep expressions.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { N = 50, INPUTS_MAX = 96, OUTPUTS_MAX = 40 };

/* A call of many arrays, and their values. */
typedef struct many {
    kiln_graph *g;
    kiln_node in[INPUTS_MAX];
    kiln_array *arrays[INPUTS_MAX], *out[OUTPUTS_MAX];
    double x[INPUTS_MAX][N];
    size_t inputs, outputs;
} many;

/* Arrays near 1, so that products stay there. */
static void begin(test_env *t, many *m, size_t inputs, int rank, const int64_t *shape)
{
    memset(m, 0, sizeof *m);
    m->g = graph_begin(t);
    m->inputs = inputs;
    for (size_t k = 0; k < inputs; k++) {
        char name[24];
        snprintf(name, sizeof name, "x%zu", k);
        m->in[k] = kiln_graph_input(m->g, name);
        for (size_t e = 0; e < N; e++)
            m->x[k][e] = 1 + graph_number(e + N * k) / 20;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, rank, shape, m->x[k], NULL, &m->arrays[k],
                                   &t->err));
    }
}

static void output(many *m, kiln_node node)
{
    char name[24];
    snprintf(name, sizeof name, "z%zu", m->outputs++);
    kiln_graph_output(m->g, name, node);
}

/* Run it; how many kernels that took. */
static size_t run(test_env *t, many *m)
{
    kiln_arg args[INPUTS_MAX + OUTPUTS_MAX];
    size_t kernels = 0;
    for (size_t k = 0; k < m->inputs; k++)
        args[k] = kiln_arg_array(m->arrays[k]);
    for (size_t k = 0; k < m->outputs; k++)
        args[m->inputs + k] = kiln_arg_out(&m->out[k]);
    OK(t, kiln_graph_kernel_count(m->g, args, m->inputs + m->outputs, &kernels, &t->err));
    OK(t, kiln_graph_run(m->g, args, m->inputs + m->outputs, NULL, &t->err));
    return kernels;
}

static void finish(many *m)
{
    for (size_t k = 0; k < m->inputs; k++)
        kiln_array_release(m->arrays[k]);
    for (size_t k = 0; k < m->outputs; k++)
        kiln_array_release(m->out[k]);
    kiln_graph_destroy(m->g);
}

static many call;
static const int64_t line[] = {N};

static void test_graph_size__forty_inputs(void **state)
{
    test_env *t = *state;
    double got[N];
    begin(t, &call, 40, 1, line);
    kiln_node z = call.in[0];
    for (size_t k = 1; k < 40; k++)
        z = kiln_add(kiln_multiply(z, 0.5), call.in[k]);
    output(&call, z);
    const size_t kernels = run(t, &call);
    CHECK(kernels >= 2 && kernels <= 4, "%zu kernels", kernels);
    graph_fetch(t, call.out[0], got, N);
    for (size_t e = 0; e < N; e++) {
        double want = call.x[0][e];
        for (size_t k = 1; k < 40; k++)
            want = want * 0.5 + call.x[k][e];
        graph_near(got[e], want, 1e-13, e);
    }
    finish(&call);
}

/* Each result continues the one before it: no kernel takes all, and none starts from the beginning. */
static void test_graph_size__forty_results_of_forty_inputs(void **state)
{
    test_env *t = *state;
    double want[N], got[N];
    begin(t, &call, 40, 1, line);
    kiln_node z = call.in[0];
    for (size_t k = 0; k < 40; k++) {
        z = k == 0 ? kiln_multiply(z, 2) : kiln_multiply(z, call.in[k]);
        output(&call, z);
    }
    const size_t kernels = run(t, &call);
    CHECK(kernels >= 2 && kernels <= 6, "%zu kernels", kernels);
    for (size_t e = 0; e < N; e++)
        want[e] = 2;
    for (size_t k = 0; k < 40; k++) {
        graph_fetch(t, call.out[k], got, N);
        for (size_t e = 0; e < N; e++) {
            want[e] *= call.x[k][e];
            graph_near(got[e], want[e], 1e-13, N * k + e);
        }
    }
    finish(&call);
}

/* Results of one shape that read nothing in common. */
static void test_graph_size__many_results_with_inputs_of_their_own(void **state)
{
    test_env *t = *state;
    double got[N];
    begin(t, &call, 96, 1, line);
    for (size_t k = 0; k < 12; k++) {
        kiln_node z = call.in[8 * k];
        for (size_t j = 1; j < 8; j++)
            z = kiln_add(z, call.in[8 * k + j]);
        output(&call, z);
    }
    const size_t kernels = run(t, &call);
    CHECK(kernels >= 2 && kernels <= 4, "%zu kernels", kernels);
    for (size_t k = 0; k < 12; k++) {
        graph_fetch(t, call.out[k], got, N);
        for (size_t e = 0; e < N; e++) {
            double want = 0;
            for (size_t j = 0; j < 8; j++)
                want += call.x[8 * k + j][e];
            graph_near(got[e], want, 1e-13, N * k + e);
        }
    }
    finish(&call);
}

/* The rows of forty arrays, less the mean of the first one's. */
static void test_graph_size__many_results_of_one_row(void **state)
{
    test_env *t = *state;
    double got[N];
    begin(t, &call, 40, 2, (int64_t[]){5, N / 5});
    for (size_t k = 0; k < 40; k++)
        output(&call, kiln_subtract(call.in[k], kiln_mean_keep(call.in[0], KILN_AXES(1))));
    (void)run(t, &call);
    for (size_t k = 0; k < 40; k++) {
        graph_fetch(t, call.out[k], got, N);
        for (size_t e = 0; e < N; e++) {
            double mean = 0;
            for (size_t j = 0; j < N / 5; j++)
                mean += call.x[0][e / (N / 5) * (N / 5) + j] / (N / 5);
            graph_near(got[e], call.x[k][e] - mean, 1e-13, N * k + e);
        }
    }
    finish(&call);
}

/* Each slice of an array is a parameter. */
static void test_graph_size__seventy_views_of_one_array(void **state)
{
    test_env *t = *state;
    enum { WIDTH = 70, LENGTH = 200 };
    kiln_graph *g = graph_begin(t);
    double xs[LENGTH], got[LENGTH - WIDTH];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_node sum = kiln_slice(x, 0, 0, LENGTH - WIDTH, 1);
    for (int k = 1; k < WIDTH; k++)
        sum = kiln_add(sum, kiln_slice(x, 0, k, LENGTH - WIDTH + k, 1));
    kiln_graph_output(g, "z", sum);
    kiln_array *a = graph_array(t, KILN_FLOAT64, 1, (int64_t[]){LENGTH}, xs), *z = NULL;
    assert_true(KERNELS(t, g, a, &z) >= 2);
    OK(t, kiln_call(g, &t->err, a, &z));
    graph_fetch(t, z, got, LENGTH - WIDTH);
    for (size_t e = 0; e < LENGTH - WIDTH; e++) {
        double want = 0;
        for (size_t k = 0; k < WIDTH; k++)
            want += xs[e + k];
        graph_near(got[e], want, 1e-12, e);
    }
    kiln_array_release(a), kiln_array_release(z);
    kiln_graph_destroy(g);
}

/* Every step uses the one before it twice: 2^80 ways lead to the input, and none is gone twice. */
static void test_graph_size__deep_expressions_that_share_operands(void **state)
{
    test_env *t = *state;
    double got[N];
    begin(t, &call, 1, 1, line);
    kiln_node z = call.in[0];
    for (size_t k = 0; k < 80; k++)
        z = kiln_add(kiln_multiply(z, 0.5), kiln_multiply(z, 0.25));
    output(&call, z);
    output(&call, kiln_subtract(z, kiln_mean(z, KILN_ALL_AXES)));
    const size_t kernels = run(t, &call);
    CHECK(kernels <= 8, "%zu kernels", kernels);
    graph_fetch(t, call.out[0], got, N);
    for (size_t e = 0; e < N; e++)
        graph_near(got[e] / pow(0.75, 80), call.x[0][e], 1e-12, e);
    finish(&call);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_size__forty_inputs),
        TEST(test_graph_size__forty_results_of_forty_inputs),
        TEST(test_graph_size__many_results_with_inputs_of_their_own),
        TEST(test_graph_size__many_results_of_one_row),
        TEST(test_graph_size__seventy_views_of_one_array),
        TEST(test_graph_size__deep_expressions_that_share_operands),
    };
    return test_env_main(argc, argv, "test_graph_size", tests, COUNT(tests));
}
