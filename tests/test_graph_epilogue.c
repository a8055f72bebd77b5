/*
 * test_graph_epilogue.c - what follows a reduction's results is done in its kernel, arrays of the
 * results' shape included.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { R = 37, C = 129 };
static const int64_t shape[] = {R, C}, rows[] = {R}, columns[] = {C};

/* The sum of squares of each row, then of each column. */
static void squares(const double *xs, double *of_rows, double *of_columns)
{
    memset(of_rows, 0, R * sizeof *of_rows);
    memset(of_columns, 0, C * sizeof *of_columns);
    for (size_t k = 0; k < R * C; k++) {
        of_rows[k / C] += xs[k] * xs[k];
        of_columns[k % C] += xs[k] * xs[k];
    }
}

static void check_scale(test_env *t, int axis)
{
    kiln_graph *g = graph_begin(t);
    static double xs[R * C];
    double ks[C], got[C], want[2][C];
    const size_t count = axis == 0 ? C : R;
    kiln_node x = kiln_graph_input(g, "x"), k = kiln_graph_input(g, "k");
    kiln_node sum = kiln_sum(kiln_multiply(x, x), KILN_AXES(axis));
    kiln_graph_output(g, "z", kiln_add(kiln_multiply(sum, kiln_sqrt(kiln_absolute(k))), 0.25));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *z = NULL;
    kiln_array *scale = graph_array(t, KILN_FLOAT32, 1, axis == 0 ? columns : rows, ks);
    assert_int_equal(KERNELS(t, g, a, scale, &z), 1);
    OK(t, kiln_call(g, &t->err, a, scale, &z));
    graph_fetch(t, z, got, count);
    squares(xs, want[1], want[0]);
    for (size_t i = 0; i < count; i++)
        graph_near(got[i], want[axis][i] * sqrt(fabs(ks[i])) + 0.25, 1e-5, i);
    kiln_array_release(a), kiln_array_release(scale), kiln_array_release(z);
    kiln_graph_destroy(g);
}

static void test_graph_epilogue__a_scale_for_each_result_is_read_there(void **state)
{
    check_scale(*state, 1);
    check_scale(*state, 0);
}

/* One array before the reduction and behind it, seen from its end; kept axes; a row program; a result
 * that an earlier kernel left. */
static void test_graph_epilogue__arrays_stand_on_both_sides(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C];
    double ks[R], z[R], v[R], w[C], total = 0;
    kiln_node x = kiln_graph_input(g, "x"), k = kiln_graph_input(g, "k");
    kiln_node column = kiln_newaxis(k, 1), back = kiln_flip(k, 0);
    kiln_node sum = kiln_sum_keep(kiln_multiply(x, column), KILN_AXES(1));
    kiln_node largest = kiln_max(kiln_absolute(x), KILN_ALL_AXES);
    kiln_graph_output(g, "z", kiln_add(sum, kiln_newaxis(back, 1)));
    kiln_graph_output(g, "v", kiln_multiply(kiln_var(kiln_divide(x, largest), KILN_AXES(1)), back));
    kiln_graph_output(g, "w", kiln_multiply(kiln_sum(kiln_divide(x, largest), KILN_AXES(0)),
                                            largest));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *first = NULL, *second = NULL;
    kiln_array *scale = graph_array(t, KILN_FLOAT64, 1, rows, ks), *third = NULL;
    assert_true(KERNELS(t, g, a, scale, &first, &second, &third) <= 4);
    OK(t, kiln_call(g, &t->err, a, scale, &first, &second, &third));
    assert_int_equal(kiln_array_rank(first), 2);
    graph_fetch(t, first, z, R), graph_fetch(t, second, v, R), graph_fetch(t, third, w, C);
    for (size_t e = 0; e < R * C; e++)
        total = fmax(total, fabs(xs[e]));
    for (size_t i = 0; i < R; i++) {
        double sums = 0, deviations = 0;
        for (size_t j = i * C; j < (i + 1) * C; j++)
            sums += xs[j];
        for (size_t j = i * C; j < (i + 1) * C; j++)
            deviations += (xs[j] - sums / C) * (xs[j] - sums / C);
        graph_near(z[i], sums * ks[i] + ks[R - 1 - i], 1e-12, i);
        graph_near(v[i], deviations / C / (total * total) * ks[R - 1 - i], 1e-12, i);
    }
    for (size_t j = 0; j < C; j++) {
        double sums = 0;
        for (size_t i = 0; i < R; i++)
            sums += xs[i * C + j];
        graph_near(w[j], sums, 1e-12, j);
    }
    kiln_array_release(a), kiln_array_release(scale);
    kiln_array_release(first), kiln_array_release(second), kiln_array_release(third);
    kiln_graph_destroy(g);
}

/* An array that makes the result larger is no epilogue's, and one of a single element is. */
static void test_graph_epilogue__shapes_decide(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], outer[R * R];
    double ks[R], one, per_row[R], per_column[C], whole = 0;
    kiln_node x = kiln_graph_input(g, "x"), k = kiln_graph_input(g, "k");
    kiln_node s = kiln_graph_input(g, "s"), xx = kiln_multiply(x, x);
    kiln_graph_output(g, "outer", kiln_multiply(kiln_sum_keep(xx, KILN_AXES(1)), k));
    kiln_graph_output(g, "one", kiln_divide(kiln_sum(xx, KILN_ALL_AXES), s));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *o = NULL, *w = NULL;
    kiln_array *scale = graph_array(t, KILN_FLOAT64, 1, rows, ks), *single = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){1}, &(double){4}, NULL, &single,
                               &t->err));
    assert_int_equal(KERNELS(t, g, a, scale, single, &o, &w), 3);
    OK(t, kiln_call(g, &t->err, a, scale, single, &o, &w));
    graph_fetch(t, o, outer, R * R), graph_fetch(t, w, &one, 1);
    squares(xs, per_row, per_column);
    for (size_t e = 0; e < R * R; e++)
        graph_near(outer[e], per_row[e / R] * ks[e % R], 1e-12, e);
    for (size_t i = 0; i < R; i++)
        whole += per_row[i];
    graph_near(one, whole / 4, 1e-12, 0);
    kiln_array_release(a), kiln_array_release(scale), kiln_array_release(single);
    kiln_array_release(o), kiln_array_release(w);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_epilogue__a_scale_for_each_result_is_read_there),
        TEST(test_graph_epilogue__arrays_stand_on_both_sides),
        TEST(test_graph_epilogue__shapes_decide),
    };
    return test_env_main(argc, argv, "test_graph_epilogue", tests, COUNT(tests));
}
