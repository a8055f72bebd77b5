/*
 * test_graph_online.c - sums of exp(x - max(x)) over long rows, which CUDA finds in one pass together with
 * max(x).
 *
 * Expected values are plain loops in double precision, of NumPy's formula.
 */
#include "graph_env.h"

enum { ROWS = 7, LENGTH = 20003 };

/* Fill rows with numbers; some hold what makes sums NaN, and some values that count for nothing. */
static void fill(double *x)
{
    for (size_t k = 0; k < ROWS * LENGTH; k++)
        x[k] = 8 * graph_number(k);
    x[1 * LENGTH + 4711] = INFINITY;
    x[2 * LENGTH + LENGTH - 1] = NAN;
    for (size_t k = 0; k < LENGTH; k++) {
        x[3 * LENGTH + k] = -INFINITY;
        x[4 * LENGTH + k] = k % 3 == 0 ? x[4 * LENGTH + k] : -INFINITY;
        x[5 * LENGTH + k] += 30000 + (double)k / 4; /* a greater value comes again and again */
        x[6 * LENGTH + k] -= k < LENGTH / 2 ? 0 : 60000;
    }
}

/* max(x), sum(exp(x - max(x))) and their logsumexp. */
static void row_of(const double *x, size_t n, double *want)
{
    double most = x[0], sum = 0;
    for (size_t k = 1; k < n; k++)
        most = isnan(most) || most >= x[k] ? most : x[k];
    for (size_t k = 0; k < n; k++)
        sum += exp(x[k] - most);
    want[0] = most;
    want[1] = sum;
    want[2] = log(sum) + most;
}

static kiln_array *array_of(test_env *t, kiln_dtype dtype, double *values)
{
    static const int64_t shape[] = {ROWS, LENGTH};
    kiln_array *wide = NULL, *made = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, values, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &made, &t->err));
    kiln_array_release(wide);
    graph_fetch(t, made, values, ROWS * LENGTH); /* as rounded */
    return made;
}

/* Whether CUDA takes one pass and one accumulator for two reductions. */
static void check_one_pass(test_env *t, kiln_graph *g, const kiln_arg *args, size_t count)
{
    char *text = NULL;
    OK(t, kiln_graph_explain(g, args, count, &text, &t->err));
    if (strncmp(t->device, "cuda", 4) == 0)
        CHECK(strstr(text, "2 results in one pass from 1 accumulator") != NULL, "%s", text);
    kiln_free(text);
}

static void check(test_env *t, kiln_dtype dtype, bool wide, double tolerance)
{
    static double x[ROWS * LENGTH];
    kiln_graph_options options = KILN_GRAPH_OPTIONS_INIT;
    kiln_graph *g = NULL;
    kiln_array *array, *most = NULL, *sum = NULL, *all = NULL;
    double got[3][ROWS], want[3];

    options.wide = wide;
    OK(t, kiln_graph_create(t->ctx, &options, &g, &t->err));
    kiln_node in = kiln_graph_input(g, "x"), m = kiln_max_keep(in, KILN_AXES(1));
    kiln_node s = kiln_sum_keep(kiln_exp(kiln_subtract(in, m)), KILN_AXES(1));
    kiln_graph_output(g, "most", m);
    kiln_graph_output(g, "sum", s);
    kiln_graph_output(g, "all", kiln_add(kiln_log(s), m));
    fill(x);
    array = array_of(t, dtype, x);
    kiln_arg args[] = {kiln_arg_array(array), kiln_arg_out(&most), kiln_arg_out(&sum),
                       kiln_arg_out(&all)};
    check_one_pass(t, g, args, 4);
    OK(t, kiln_call(g, &t->err, array, &most, &sum, &all));
    graph_fetch(t, most, got[0], ROWS);
    graph_fetch(t, sum, got[1], ROWS);
    graph_fetch(t, all, got[2], ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        row_of(x + r * LENGTH, LENGTH, want);
        for (int k = 0; k < 3; k++)
            graph_near(got[k][r], want[k], k == 0 ? 0 : tolerance, r);
    }
    kiln_array_release(array);
    kiln_array_release(most);
    kiln_array_release(sum);
    kiln_array_release(all);
    kiln_graph_destroy(g);
}

static void test_graph_online__logsumexp_is_one_pass(void **state)
{
    test_env *t = *state;
    check(t, KILN_FLOAT32, false, 1e-5);
    check(t, KILN_FLOAT64, false, 1e-12);
    check(t, KILN_FLOAT16, true, 2e-3);
}

/* Rows that no cluster holds: a pass for both reductions, and a loop. */
static void test_graph_online__softmax_of_rows_that_are_not_held(void **state)
{
    enum { LONG = 300001 };
    static double x[2 * LONG], got[2 * LONG], want[3];
    static const int64_t shape[] = {2, LONG};
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_array *array = graph_array(t, KILN_FLOAT32, 2, shape, x), *y = NULL;
    kiln_node in = kiln_graph_input(g, "x");
    kiln_node e = kiln_exp(kiln_subtract(in, kiln_max_keep(in, KILN_AXES(1))));

    kiln_graph_output(g, "y", kiln_divide(e, kiln_sum_keep(e, KILN_AXES(1))));
    if (strncmp(t->device, "cuda", 4) == 0)
        assert_int_equal(KERNELS(t, g, array, &y), 2);
    OK(t, kiln_call(g, &t->err, array, &y));
    graph_fetch(t, y, got, 2 * LONG);
    for (size_t r = 0; r < 2; r++) {
        row_of(x + r * LONG, LONG, want);
        for (size_t k = r * LONG; k < (r + 1) * LONG; k++)
            graph_near(got[k] * want[1], exp(x[k] - want[0]), 1e-5, k);
    }
    kiln_array_release(array);
    kiln_array_release(y);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_online__logsumexp_is_one_pass),
        TEST(test_graph_online__softmax_of_rows_that_are_not_held),
    };
    return test_env_main(argc, argv, "test_graph_online", tests, COUNT(tests));
}
