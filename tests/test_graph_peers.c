/*
 * test_graph_peers.c - cases that other libraries are known to get wrong, as graphs.
 *
 * Expected values by hand or by plain loops.
 */
#include <stdlib.h>

#include "graph_env.h"

static kiln_array *of(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape,
                      const void *data)
{
    kiln_array *a = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, rank, shape, data, NULL, &a, &t->err));
    return a;
}

/* Fused kernels that were made for one shape and reused for another. */
static void test_graph_peers__broadcast_shapes_are_those_of_the_call(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
    kiln_graph_output(g, "z", kiln_subtract(kiln_multiply(x, 10), y));
    static const int64_t shapes[][2][2] = {{{3, 4}, {3, 4}}, {{3, 1}, {1, 4}}, {{1, 4}, {3, 1}},
                                           {{3, 4}, {1, 1}}, {{1, 1}, {3, 4}}};
    for (size_t s = 0; s < COUNT(shapes); s++) {
        double xs[12], ys[12], got[12];
        kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shapes[s][0], xs);
        kiln_array *b = graph_array(t, KILN_FLOAT64, 2, shapes[s][1], ys), *z = NULL;
        OK(t, kiln_call(g, &t->err, a, b, &z));
        assert_int_equal(kiln_array_shape(z)[0], 3);
        assert_int_equal(kiln_array_shape(z)[1], 4);
        graph_fetch(t, z, got, 12);
        for (int64_t r = 0; r < 3; r++)
            for (int64_t c = 0; c < 4; c++) {
                const int64_t *p = shapes[s][0], *q = shapes[s][1];
                const double u = xs[(p[0] > 1 ? r : 0) * p[1] + (p[1] > 1 ? c : 0)];
                const double v = ys[(q[0] > 1 ? r : 0) * q[1] + (q[1] > 1 ? c : 0)];
                graph_near(got[r * 4 + c], 10 * u - v, 1e-12, (size_t)(r * 4 + c));
            }
        kiln_array_release(a), kiln_array_release(b), kiln_array_release(z);
    }
    kiln_graph_destroy(g);
}

/* sum(dtype=...) decides what is added up, not only what is returned. */
static void test_graph_peers__the_dtype_of_a_sum(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "wide", kiln_node_reduce(KILN_REDUCE_SUM, x, NULL, false, KILN_FLOAT64, KILN_HERE));
    kiln_graph_output(g, "half", kiln_node_reduce(KILN_REDUCE_SUM, x, NULL, false, KILN_FLOAT16, KILN_HERE));
    kiln_graph_output(g, "bytes", kiln_node_reduce(KILN_REDUCE_PROD, x, NULL, false, KILN_INT8, KILN_HERE));
    float data[100];
    double got;
    for (int k = 0; k < 100; k++)
        data[k] = 16777216.0f + (float)(2 * k); /* neighbours are 2 apart */
    kiln_array *a = of(t, KILN_FLOAT32, 1, (int64_t[]){100}, data), *w = NULL, *h = NULL, *b = NULL;
    OK(t, kiln_call(g, &t->err, a, &w, &h, &b));
    assert_int_equal(kiln_array_dtype(w), KILN_FLOAT64);
    assert_int_equal(kiln_array_dtype(h), KILN_FLOAT16);
    assert_int_equal(kiln_array_dtype(b), KILN_INT8);
    graph_fetch(t, w, &got, 1);
    graph_near(got, 100 * 16777216.0 + 99 * 100, 0, 0);
    graph_fetch(t, h, &got, 1);
    assert_true(isinf(got)); /* each element is, as float16 */
    kiln_array_release(a), kiln_array_release(w), kiln_array_release(h), kiln_array_release(b);
    kiln_graph_destroy(g);
}

/* True is 1 to arithmetic, one bit to logic, and a bool stays one only where NumPy says so. */
static void test_graph_peers__bools_count_as_integers(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    const bool data[] = {true, false, true, true};
    double got[4];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "twice", kiln_multiply(x, 2));
    kiln_graph_output(g, "both", kiln_add(x, x));
    kiln_graph_output(g, "sum", kiln_sum(x, KILN_ALL_AXES));
    kiln_graph_output(g, "mean", kiln_mean(x, KILN_ALL_AXES));
    kiln_graph_output(g, "root", kiln_sqrt(kiln_cast(x, KILN_FLOAT32)));
    kiln_array *a = of(t, KILN_BOOL, 1, (int64_t[]){4}, data);
    kiln_array *out[5] = {NULL};
    OK(t, kiln_call(g, &t->err, a, &out[0], &out[1], &out[2], &out[3], &out[4]));
    assert_int_equal(kiln_array_dtype(out[0]), KILN_INT64);
    assert_int_equal(kiln_array_dtype(out[1]), KILN_BOOL);
    assert_int_equal(kiln_array_dtype(out[2]), KILN_INT64);
    assert_int_equal(kiln_array_dtype(out[3]), KILN_FLOAT64);
    graph_fetch(t, out[0], got, 4);
    for (int k = 0; k < 4; k++)
        graph_near(got[k], data[k] ? 2 : 0, 0, (size_t)k);
    graph_fetch(t, out[1], got, 4);
    for (int k = 0; k < 4; k++)
        graph_near(got[k], data[k], 0, (size_t)k);
    graph_fetch(t, out[2], got, 1);
    graph_near(got[0], 3, 0, 0);
    graph_fetch(t, out[3], got, 1);
    graph_near(got[0], 0.75, 0, 0);
    kiln_array_release(a);
    for (int k = 0; k < 5; k++)
        kiln_array_release(out[k]);
    kiln_graph_destroy(g);
}

/* An output over an input that is also seen shifted and turned. */
static void test_graph_peers__outputs_over_inputs(void **state)
{
    test_env *t = *state;
    enum { N = 50 };
    kiln_graph *g = graph_begin(t);
    double xs[N], got[N];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "z", kiln_add(kiln_flip(x, 0), kiln_multiply(x, 100)));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 1, (int64_t[]){N}, xs);
    OK(t, kiln_call(g, &t->err, a, a));
    graph_fetch(t, a, got, N);
    for (size_t k = 0; k < N; k++)
        graph_near(got[k], xs[N - 1 - k] + 100 * xs[k], 1e-12, k);
    kiln_array_release(a);
    kiln_graph_destroy(g);
}

/* One compiled graph, called with f(a[:10]), then f(a[::2]), then f(a[::-1]), then f(a.T). */
static void test_graph_peers__one_graph_for_every_layout(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    double xs[20], got[10], total;
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "y", kiln_add(kiln_multiply(x, x), 1));
    kiln_graph_output(g, "s", kiln_sum(x, KILN_ALL_AXES));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 1, (int64_t[]){20}, xs);
    static const int64_t cuts[][3] = {{0, 10, 1}, {0, 20, 2}, {1, 20, 2}, {10, 20, 1}};
    for (size_t c = 0; c < COUNT(cuts); c++) {
        kiln_array *part = NULL, *turned = NULL, *y = NULL, *s = NULL;
        OK(t, kiln_array_slice(a, 0, cuts[c][0], cuts[c][1], cuts[c][2], &part, &t->err));
        for (int flip = 0; flip < 2; flip++) {
            kiln_array *use = part;
            double sum = 0;
            if (flip) {
                OK(t, kiln_array_flip(part, 0, &turned, &t->err));
                use = turned;
            }
            OK(t, kiln_call(g, &t->err, use, &y, &s));
            graph_fetch(t, y, got, 10);
            for (int k = 0; k < 10; k++) {
                const double v = xs[cuts[c][0] + (flip ? 9 - k : k) * cuts[c][2]];
                sum += v;
                graph_near(got[k], v * v + 1, 1e-12, (size_t)k);
            }
            graph_fetch(t, s, &total, 1);
            graph_near(total, sum, 1e-12, 0);
        }
        kiln_array_release(part), kiln_array_release(turned);
        kiln_array_release(y), kiln_array_release(s);
    }
    kiln_array_release(a);
    kiln_graph_destroy(g);
}

/* Names of functions, keywords and macros as names of inputs and outputs. */
static void test_graph_peers__names_do_not_meet_the_kernels_own(void **state)
{
    test_env *t = *state;
    static const char *const names[] = {"exp", "a", "i", "float", "T", "NAN", "x y", "t1", "_ind",
                                        "n", "threadIdx", "min"};
    kiln_graph *g = graph_begin(t);
    kiln_node sum = kiln_exp(kiln_graph_input(g, names[0]));
    double got[3];
    kiln_arg args[2 * COUNT(names)];
    kiln_array *x = NULL, *y[COUNT(names)] = {NULL};
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, (int64_t[]){3}, &x, &t->err));
    for (size_t k = 1; k < COUNT(names); k++)
        sum = kiln_maximum(kiln_add(sum, kiln_graph_input(g, names[k])), -5);
    kiln_graph_output(g, "exp", sum);
    kiln_graph_output(g, "max", kiln_max(sum, KILN_ALL_AXES));
    for (size_t k = 0; k < COUNT(names); k++)
        args[k] = kiln_arg_array(x);
    args[COUNT(names)] = kiln_arg_out(&y[0]);
    args[COUNT(names) + 1] = kiln_arg_out(&y[1]);
    OK(t, kiln_graph_run(g, args, COUNT(names) + 2, NULL, &t->err));
    graph_fetch(t, y[0], got, 3);
    for (size_t k = 0; k < 3; k++)
        graph_near(got[k], 1, 0, k);
    graph_fetch(t, y[1], got, 1);
    graph_near(got[0], 1, 0, 0);
    kiln_array_release(x), kiln_array_release(y[0]), kiln_array_release(y[1]);
    kiln_graph_destroy(g);
}

/* Twenty arrays of which each is stored once: more operations than one kernel should have. */
static void test_graph_peers__long_chains_are_cut(void **state)
{
    test_env *t = *state;
    enum { N = 40, LENGTH = 400 };
    kiln_graph *g = graph_begin(t);
    double xs[N], got[N];
    kiln_node x = kiln_graph_input(g, "x"), v = x;
    for (int k = 0; k < LENGTH; k++)
        v = kiln_add(kiln_multiply(v, 0.5), kiln_multiply(x, 1 + k % 3));
    kiln_graph_output(g, "z", v);
    kiln_array *a = graph_array(t, KILN_FLOAT64, 1, (int64_t[]){N}, xs), *z = NULL;
    const size_t kernels = KERNELS(t, g, a, &z);
    CHECK(kernels > 1 && kernels < 40, "%zu kernels", kernels);
    OK(t, kiln_call(g, &t->err, a, &z));
    graph_fetch(t, z, got, N);
    for (size_t e = 0; e < N; e++) {
        double want = xs[e];
        for (int k = 0; k < LENGTH; k++)
            want = want * 0.5 + xs[e] * (1 + k % 3);
        graph_near(got[e], want, 1e-12, e);
    }
    kiln_array_release(a), kiln_array_release(z);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_peers__broadcast_shapes_are_those_of_the_call),
        TEST(test_graph_peers__the_dtype_of_a_sum),
        TEST(test_graph_peers__bools_count_as_integers),
        TEST(test_graph_peers__outputs_over_inputs),
        TEST(test_graph_peers__one_graph_for_every_layout),
        TEST(test_graph_peers__names_do_not_meet_the_kernels_own),
        TEST(test_graph_peers__long_chains_are_cut),
    };
    return test_env_main(argc, argv, "test_graph_peers", tests, COUNT(tests));
}
