/*
 * test_graph_reduce.c - reductions in graphs: what comes before and after them is in their kernel,
 * several share one pass.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { R = 37, C = 129 };
static const int64_t shape[] = {R, C};

static void test_graph_reduce__a_prologue_is_fused(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], ys[R * C], got[R];
    kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
    kiln_node r = kiln_sqrt(kiln_add(kiln_multiply(x, x), kiln_multiply(y, y)));
    kiln_graph_output(g, "s", kiln_sum(kiln_multiply(r, kiln_exp(kiln_negative(x))), KILN_AXES(1)));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *flipped = NULL, *s = NULL;
    OK(t, kiln_array_flip(a, 0, &flipped, &t->err));
    graph_fetch(t, flipped, ys, R * C);
    assert_int_equal(KERNELS(t, g, a, flipped, &s), 1);
    OK(t, kiln_call(g, &t->err, a, flipped, &s));
    graph_fetch(t, s, got, R);
    for (size_t i = 0; i < R; i++) {
        double want = 0;
        for (size_t j = i * C; j < (i + 1) * C; j++)
            want += sqrt(xs[j] * xs[j] + ys[j] * ys[j]) * exp(-xs[j]);
        graph_near(got[i], want, 1e-5, i);
    }
    kiln_array_release(a), kiln_array_release(flipped), kiln_array_release(s);
    kiln_graph_destroy(g);
}

static void test_graph_reduce__an_epilogue_is_fused(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C];
    double got, want = 0;
    kiln_node x = kiln_graph_input(g, "x"), k = kiln_graph_input(g, "k");
    kiln_node norm = kiln_sqrt(kiln_sum(kiln_multiply(x, x), KILN_ALL_AXES));
    kiln_graph_output(g, "n", kiln_multiply(norm, k));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *n = NULL;
    assert_int_equal(KERNELS(t, g, a, 0.5, &n), 1);
    OK(t, kiln_call(g, &t->err, a, 0.5, &n));
    assert_int_equal(kiln_array_rank(n), 0);
    graph_fetch(t, n, &got, 1);
    for (size_t i = 0; i < R * C; i++)
        want += xs[i] * xs[i];
    graph_near(got, 0.5 * sqrt(want), 1e-12, 0);
    kiln_array_release(a), kiln_array_release(n);
    kiln_graph_destroy(g);
}

static void check_moments(test_env *t, int axis)
{
    kiln_graph *g = graph_begin(t);
    static double xs[R * C];
    double mean[C], var[C], least[C], where[C];
    const size_t count = axis == 0 ? C : R, length = axis == 0 ? R : C;
    const size_t step = axis == 0 ? C : 1, begin = axis == 0 ? 1 : C;
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "mean", kiln_mean(x, KILN_AXES(axis)));
    kiln_graph_output(g, "var", kiln_var(x, KILN_AXES(axis)));
    kiln_graph_output(g, "min", kiln_min(x, KILN_AXES(axis)));
    kiln_graph_output(g, "where", kiln_argmin(x, KILN_AXES(axis)));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs);
    kiln_array *m = NULL, *v = NULL, *l = NULL, *w = NULL;
    assert_true(KERNELS(t, g, a, &m, &v, &l, &w) <= 2); /* rows held on chip know no positions */
    OK(t, kiln_call(g, &t->err, a, &m, &v, &l, &w));
    assert_int_equal(kiln_array_dtype(m), KILN_FLOAT32);
    assert_int_equal(kiln_array_dtype(w), KILN_INT64);
    graph_fetch(t, m, mean, count), graph_fetch(t, v, var, count);
    graph_fetch(t, l, least, count), graph_fetch(t, w, where, count);
    for (size_t i = 0; i < count; i++) {
        double sum = 0, squares = 0;
        size_t low = 0;
        for (size_t j = 0; j < length; j++) {
            sum += xs[i * begin + j * step];
            low = xs[i * begin + j * step] < xs[i * begin + low * step] ? j : low;
        }
        for (size_t j = 0; j < length; j++) {
            const double d = xs[i * begin + j * step] - sum / (double)length;
            squares += d * d;
        }
        graph_near(mean[i], sum / (double)length, 1e-5, i);
        graph_near(var[i], squares / (double)length, 1e-5, i);
        graph_near(least[i], xs[i * begin + low * step], 0, i);
        graph_near(where[i], (double)low, 0, i);
    }
    kiln_array_release(a), kiln_array_release(m), kiln_array_release(v);
    kiln_array_release(l), kiln_array_release(w);
    kiln_graph_destroy(g);
}

static void test_graph_reduce__several_share_one_pass_along_rows(void **state)
{
    check_moments(*state, 1);
}

static void test_graph_reduce__several_share_one_pass_down_columns(void **state)
{
    check_moments(*state, 0);
}

static void test_graph_reduce__results_are_broadcast_back(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], got[R * C];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_node mean = kiln_mean_keep(x, KILN_AXES(0)), var = kiln_var_keep(x, KILN_AXES(0));
    kiln_node scale = kiln_divide(1, kiln_sqrt(kiln_add(var, 1e-5)));
    kiln_graph_output(g, "y", kiln_multiply(kiln_subtract(x, mean), scale));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *y = NULL;
    OK(t, kiln_call(g, &t->err, a, &y));
    graph_fetch(t, y, got, R * C);
    for (size_t j = 0; j < C; j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < R; i++)
            sum += xs[i * C + j];
        for (size_t i = 0; i < R; i++)
            squares += (xs[i * C + j] - sum / R) * (xs[i * C + j] - sum / R);
        for (size_t i = 0; i < R; i++)
            graph_near(got[i * C + j], (xs[i * C + j] - sum / R) / sqrt(squares / R + 1e-5), 1e-4,
                       i * C + j);
    }
    kiln_array_release(a), kiln_array_release(y);
    kiln_graph_destroy(g);
}

static void test_graph_reduce__dtypes_are_numpys(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    double got;
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "sum", kiln_sum(x, KILN_ALL_AXES));
    kiln_graph_output(g, "bytes", kiln_node_reduce(KILN_REDUCE_SUM, x, NULL, false, KILN_UINT8, KILN_HERE));
    kiln_graph_output(g, "mean", kiln_mean(x, KILN_ALL_AXES));
    kiln_graph_output(g, "some", kiln_any(kiln_less(x, -120), KILN_ALL_AXES));
    int8_t data[300];
    int64_t want = 0;
    for (int k = 0; k < 300; k++)
        want += data[k] = (int8_t)(k * 7 % 256 - 128);
    kiln_array *a = NULL, *s = NULL, *b = NULL, *m = NULL, *some = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT8, 1, (int64_t[]){300}, data, NULL, &a, &t->err));
    OK(t, kiln_call(g, &t->err, a, &s, &b, &m, &some));
    assert_int_equal(kiln_array_dtype(s), KILN_INT64);
    assert_int_equal(kiln_array_dtype(b), KILN_UINT8);
    assert_int_equal(kiln_array_dtype(m), KILN_FLOAT64);
    assert_int_equal(kiln_array_dtype(some), KILN_BOOL);
    graph_fetch(t, s, &got, 1);
    graph_near(got, (double)want, 0, 0);
    graph_fetch(t, b, &got, 1);
    graph_near(got, (double)(uint8_t)want, 0, 1);
    graph_fetch(t, m, &got, 1);
    graph_near(got, (double)want / 300, 1e-12, 2);
    graph_fetch(t, some, &got, 1);
    graph_near(got, 1, 0, 3);
    kiln_array_release(a), kiln_array_release(s), kiln_array_release(b);
    kiln_array_release(m), kiln_array_release(some);
    kiln_graph_destroy(g);
}

static void test_graph_reduce__positions_can_be_reduced(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C];
    double got[2], mass = 0, first = 0, second = 0;
    kiln_node x = kiln_graph_input(g, "x"), xx = kiln_multiply(x, x);
    kiln_node total = kiln_sum(xx, KILN_ALL_AXES);
    kiln_graph_output(
        g, "row", kiln_divide(kiln_sum(kiln_multiply(xx, kiln_iota(x, 0)), KILN_ALL_AXES), total));
    kiln_graph_output(
        g, "column",
        kiln_divide(kiln_sum(kiln_multiply(xx, kiln_iota(x, 1)), KILN_ALL_AXES), total));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *r = NULL, *c = NULL;
    assert_int_equal(KERNELS(t, g, a, &r, &c), 1);
    OK(t, kiln_call(g, &t->err, a, &r, &c));
    graph_fetch(t, r, got, 1), graph_fetch(t, c, got + 1, 1);
    for (size_t i = 0; i < R; i++)
        for (size_t j = 0; j < C; j++) {
            const double m = xs[i * C + j] * xs[i * C + j];
            mass += m, first += m * (double)i, second += m * (double)j;
        }
    graph_near(got[0], first / mass, 1e-10, 0);
    graph_near(got[1], second / mass, 1e-10, 1);
    kiln_array_release(a), kiln_array_release(r), kiln_array_release(c);
    kiln_graph_destroy(g);
}

/* Accumulators of one pass have 104 bytes together: what does not fit goes into another. */
static void test_graph_reduce__many_reductions_take_few_passes(void **state)
{
    test_env *t = *state;
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM, KILN_REDUCE_MEAN, KILN_REDUCE_NANMEAN,
                                         KILN_REDUCE_VAR, KILN_REDUCE_ARGMAX, KILN_REDUCE_MAX,
                                         KILN_REDUCE_COUNT_NONZERO, KILN_REDUCE_NORM2,
                                         KILN_REDUCE_ALL};
    enum { OPS = COUNT(ops), N = 300 };
    kiln_graph *g = graph_begin(t);
    uint8_t data[N];
    double want[OPS] = {0}, got;
    kiln_arg args[1 + OPS];
    kiln_array *x = NULL, *out[OPS] = {NULL};
    size_t kernels = 0;
    kiln_node n = kiln_graph_input(g, "x");
    for (size_t k = 0; k < OPS; k++) {
        kiln_graph_output(g, kiln_reduce_op_name(ops[k]),
                          kiln_node_reduce(ops[k], n, NULL, false, KILN_DTYPE_NONE, KILN_HERE));
        args[1 + k] = kiln_arg_out(&out[k]);
    }
    for (int k = 0; k < N; k++) {
        data[k] = (uint8_t)(k * 37 % 251);
        want[0] += data[k];
        want[4] = data[k] > data[(int)want[4]] ? k : want[4];
        want[5] = fmax(want[5], data[k]);
        want[6] += data[k] != 0;
        want[7] += (double)data[k] * data[k];
    }
    want[1] = want[2] = want[0] / N;
    for (int k = 0; k < N; k++)
        want[3] += (data[k] - want[1]) * (data[k] - want[1]) / N;
    want[7] = sqrt(want[7]); /* and not all are other than 0: want[8] */
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, (int64_t[]){N}, data, NULL, &x, &t->err));
    args[0] = kiln_arg_array(x);
    OK(t, kiln_graph_kernel_count(g, args, 1 + OPS, &kernels, &t->err));
    CHECK(kernels >= 2 && kernels <= 3, "%zu kernels", kernels);
    OK(t, kiln_graph_run(g, args, 1 + OPS, NULL, &t->err));
    for (size_t k = 0; k < OPS; k++) {
        graph_fetch(t, out[k], &got, 1);
        graph_near(got, want[k], 1e-12, k);
        kiln_array_release(out[k]);
    }
    kiln_array_release(x);
    kiln_graph_destroy(g);
}

/* One reduced number of a graph over `a` and `b`. */
static double reduced(test_env *t, kiln_graph *g, const kiln_array *a, const kiln_array *b)
{
    kiln_array *s = NULL;
    double got = 0;
    OK(t, kiln_call(g, &t->err, a, b, &s));
    graph_fetch(t, s, &got, 1);
    kiln_array_release(s);
    kiln_graph_destroy(g);
    return got;
}

/* The imaginary part of a real number, isnan of an integer: no element is read to compute them. The
 * inputs are called `y` and `x` as the texts of reductions call what is theirs. */
static void test_graph_reduce__elements_that_read_no_array(void **state)
{
    test_env *t = *state;
    kiln_array *n = graph_array(t, KILN_INT32, 2, (int64_t[]){3, 4}, NULL);
    kiln_array *f = graph_array(t, KILN_FLOAT32, 2, (int64_t[]){3, 4}, NULL);
    kiln_array *column = graph_array(t, KILN_INT32, 2, (int64_t[]){3, 1}, NULL);
    kiln_array *empty = graph_array(t, KILN_FLOAT32, 1, (int64_t[]){0}, NULL);
    for (int k = 0; k < 6; k++) {
        kiln_graph *g = graph_begin(t);
        const kiln_node y = kiln_graph_input(g, "y"), x = kiln_graph_input(g, "x");
        const kiln_node none = kiln_isnan(y), all = kiln_isfinite(y);
        kiln_graph_output(
            g, "z",
            k == 0   ? kiln_var(none, NULL)
            : k == 1 ? kiln_argmax(kiln_imag(x), NULL)
            : k == 2 ? kiln_sum(all, NULL)
            : k == 3 ? kiln_sum(kiln_add(kiln_sum(all, KILN_AXES(1)), kiln_max(none, KILN_AXES(1))),
                                NULL)
            : k == 4 ? kiln_max(kiln_subtract(all, kiln_mean_keep(all, KILN_AXES(1))), NULL)
                     : kiln_sum(kiln_real(kiln_conjugate(kiln_fmax(none, x))), NULL));
        /* zeros; the first of zeros; 12 times True; 3 rows of 4 + False; 1 - 1; nothing */
        const double want[] = {0, 0, 12, 12, 0, 0};
        const double got = reduced(t, g, k == 5 ? column : n, k == 5 ? empty : f);
        CHECK(got == want[k], "case %d: %g", k, got);
    }
    kiln_array_release(n), kiln_array_release(f);
    kiln_array_release(column), kiln_array_release(empty);
}

static void test_graph_reduce__custom_kernels_are_nodes(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_elementwise *split = NULL;
    kiln_reduction *l2 = NULL;
    double xs[12], got[12], tail[4];
    OK(t, kiln_elementwise_create(t->ctx, "T x, T k", "T whole, T part",
                                  "whole = floor(x * k); part = x * k - whole", NULL, &split,
                                  &t->err));
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", NULL,
                                &l2, &t->err));
    kiln_node x = kiln_graph_input(g, "x");
    const kiln_node operands[] = {kiln_multiply(x, 2), KILN_NODE(1.5)};
    kiln_node whole = kiln_node_elementwise(split, operands, 2, 0, KILN_HERE);
    kiln_node part = kiln_node_elementwise(split, operands, 2, 1, KILN_HERE);
    kiln_node norm = kiln_node_reduction(l2, &part, 1, KILN_AXES(0), false, 0, KILN_HERE);
    kiln_graph_output(g, "sum", kiln_add(whole, kiln_multiply(part, 10)));
    kiln_graph_output(g, "norm", kiln_add(norm, 1));
    const kiln_node again[] = {x, KILN_NODE(2.0)}; /* only one output of this one is used */
    kiln_graph_output(g, "floor", kiln_node_elementwise(split, again, 2, 0, KILN_HERE));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, (int64_t[]){3, 4}, xs), *s = NULL, *n = NULL;
    kiln_array *whole_part = NULL;
    OK(t, kiln_call(g, &t->err, a, &s, &n, &whole_part));
    graph_fetch(t, whole_part, got, 12);
    for (size_t k = 0; k < 12; k++)
        graph_near(got[k], floor(2 * xs[k]), 0, k);
    graph_fetch(t, s, got, 12);
    graph_fetch(t, n, tail, 4);
    for (size_t k = 0; k < 12; k++) {
        const double v = xs[k] * 2 * 1.5;
        graph_near(got[k], floor(v) + 10 * (v - floor(v)), 1e-12, k);
    }
    for (size_t j = 0; j < 4; j++) {
        double squares = 0;
        for (size_t i = 0; i < 3; i++) {
            const double v = xs[i * 4 + j] * 2 * 1.5;
            squares += (v - floor(v)) * (v - floor(v));
        }
        graph_near(tail[j], sqrt(squares) + 1, 1e-12, j);
    }
    kiln_array_release(a), kiln_array_release(s), kiln_array_release(n);
    kiln_array_release(whole_part);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(split);
    kiln_reduction_destroy(l2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_reduce__a_prologue_is_fused),
        TEST(test_graph_reduce__an_epilogue_is_fused),
        TEST(test_graph_reduce__several_share_one_pass_along_rows),
        TEST(test_graph_reduce__several_share_one_pass_down_columns),
        TEST(test_graph_reduce__results_are_broadcast_back),
        TEST(test_graph_reduce__dtypes_are_numpys),
        TEST(test_graph_reduce__positions_can_be_reduced),
        TEST(test_graph_reduce__many_reductions_take_few_passes),
        TEST(test_graph_reduce__elements_that_read_no_array),
        TEST(test_graph_reduce__custom_kernels_are_nodes),
    };
    return test_env_main(argc, argv, "test_graph_reduce", tests, COUNT(tests));
}
