/*
 * test_reduction_batch.c - moments, positions and sums of several elements at a time, where elements
 * are not what an input holds but what is computed of one input or of several.
 *
 * Expected values come from plain C loops in double precision, over rows, columns and everything,
 * with rows long enough for whole batches and for what is left behind them.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { ROWS = 83, COLUMNS = 1100, SIZE = ROWS * COLUMNS };
static const int64_t shape[] = {ROWS, COLUMNS};

/* How one result walks the matrix: all of it, along rows, down columns. */
static const kiln_axes first = {.count = 1, .axis = {0}}, last = {.count = 1, .axis = {1}};
static const struct walk {
    const kiln_axes *axes;
    size_t count, length, begin, step;
} walks[] = {{KILN_ALL_AXES, 1, SIZE, 0, 1},
             {&last, ROWS, COLUMNS, COLUMNS, 1},
             {&first, COLUMNS, ROWS, 1, COLUMNS}};
typedef struct walk walk;

/* Two matrices of the same numbers in other places. */
static void matrices(test_env *t, kiln_dtype dtype, double *xs, double *ys, kiln_array **x,
                     kiln_array **y)
{
    *x = graph_array(t, dtype, 2, shape, xs);
    OK(t, kiln_array_flip(*x, 0, y, &t->err));
    graph_fetch(t, *y, ys, SIZE);
}

/* ---- moments ---- */

static void check_variance(const walk *w, const double *values, const double *got, double tolerance)
{
    for (size_t i = 0; i < w->count; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < w->length; j++)
            sum += values[i * w->begin + j * w->step];
        for (size_t j = 0; j < w->length; j++) {
            const double d = values[i * w->begin + j * w->step] - sum / (double)w->length;
            squares += d * d;
        }
        graph_near(got[i], squares / (double)w->length, tolerance, i);
    }
}

/* Two inputs, a number among them, and a column that is spread along rows. */
static void test_reduction_batch__moments_of_what_is_computed(void **state)
{
    test_env *t = *state;
    static double xs[SIZE], ys[SIZE], values[SIZE], got[COLUMNS];
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *op = NULL;
    kiln_array *x, *y, *column = NULL;

    options.reduce_type = "kiln_moments<float>";
    OK(t, kiln_reduction_create(t->ctx, "T x, T c, T alpha", "float32 v",
                                "kiln_moments_of<float>(alpha * x - c)", "kiln_moments_merge(a, b)",
                                "v = kiln_moments_variance(a, n)", "kiln_moments_none<float>()",
                                &options, &op, &t->err));
    matrices(t, KILN_FLOAT32, xs, ys, &x, &y);
    OK(t, kiln_array_slice(y, 1, 5, 6, 1, &column, &t->err));
    for (size_t k = 0; k < SIZE; k++)
        values[k] = 3 * xs[k] - ys[k / COLUMNS * COLUMNS + 5];
    for (size_t k = 0; k < COUNT(walks); k++) {
        kiln_array *v = NULL;
        OK(t, kiln_call_over(op, walks[k].axes, &t->err, x, column, 3.0, &v));
        graph_fetch(t, v, got, walks[k].count);
        check_variance(&walks[k], values, got, 1e-5);
        kiln_array_release(v);
    }
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(column);
    kiln_reduction_destroy(op);
}

static void check_graph_variance(test_env *t, kiln_dtype dtype, double tolerance)
{
    static double xs[SIZE], ys[SIZE], values[SIZE], got[COLUMNS];
    kiln_array *x, *y;

    matrices(t, dtype, xs, ys, &x, &y);
    for (size_t k = 0; k < SIZE; k++)
        values[k] = 2 * (xs[k] - ys[k]);
    for (size_t k = 0; k < COUNT(walks); k++) {
        kiln_graph *g = graph_begin(t);
        kiln_array *v = NULL;
        kiln_node difference = kiln_subtract(kiln_graph_input(g, "x"), kiln_graph_input(g, "y"));
        kiln_graph_output(g, "v", kiln_var(kiln_multiply(2, difference), walks[k].axes));
        assert_int_equal(KERNELS(t, g, x, y, &v), 1);
        OK(t, kiln_call(g, &t->err, x, y, &v));
        graph_fetch(t, v, got, walks[k].count);
        check_variance(&walks[k], values, got, tolerance);
        kiln_array_release(v);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x), kiln_array_release(y);
}

static void test_reduction_batch__variance_of_a_graphs_expression(void **state)
{
    check_graph_variance(*state, KILN_FLOAT32, 1e-5);
    check_graph_variance(*state, KILN_FLOAT16, 4e-3); /* differences are rounded to 11 bits */
}

/* ---- positions ---- */

/* Of equal values the first, and of NaN the first before all numbers. */
static size_t best_of(const walk *w, const double *values, size_t i, bool greatest)
{
    size_t best = 0;
    for (size_t j = 1; j < w->length; j++) {
        const double v = values[i * w->begin + j * w->step];
        const double b = values[i * w->begin + best * w->step];
        if (b == b && (v != v || (greatest ? v > b : v < b)))
            best = j;
    }
    return best;
}

/* Few different values, so that most are there many times; a NaN here and there in the second half
 * of the rows. */
static void test_reduction_batch__positions_of_what_is_computed(void **state)
{
    test_env *t = *state;
    static double xs[SIZE], ys[SIZE], values[SIZE], got[COLUMNS];
    kiln_array *x, *y, *steps = NULL;
    kiln_elementwise *rough = NULL;

    matrices(t, KILN_FLOAT32, xs, ys, &x, &y);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z",
                                  "z = i > 45650 && i % 977 == 0 ? NAN : rint(4 * x) / 4", NULL,
                                  &rough, &t->err));
    OK(t, kiln_call(rough, &t->err, x, &steps));
    graph_fetch(t, steps, xs, SIZE);
    for (size_t k = 0; k < SIZE; k++)
        values[k] = fabs(2 * xs[k] - 1);
    for (size_t k = 0; k < 2 * COUNT(walks); k++) {
        kiln_graph *g = graph_begin(t);
        kiln_array *at = NULL;
        kiln_node v = kiln_abs(kiln_subtract(kiln_multiply(2, kiln_graph_input(g, "x")), 1));
        kiln_graph_output(g, "at",
                          k % 2 == 0 ? kiln_argmax(v, walks[k / 2].axes)
                                     : kiln_argmin(v, walks[k / 2].axes));
        OK(t, kiln_call(g, &t->err, steps, &at));
        graph_fetch(t, at, got, walks[k / 2].count);
        for (size_t i = 0; i < walks[k / 2].count; i++)
            graph_near(got[i], (double)best_of(&walks[k / 2], values, i, k % 2 == 0), 0, i);
        kiln_array_release(at);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(steps);
    kiln_elementwise_destroy(rough);
}

/* ---- sums ---- */

/* Comparisons are counted as ints; products of small integers wrap before they are added. */
static void test_reduction_batch__sums_of_small_integers(void **state)
{
    test_env *t = *state;
    static double xs[SIZE], ys[SIZE], counts[COLUMNS], sums[COLUMNS];
    kiln_array *x, *y;

    matrices(t, KILN_INT8, xs, ys, &x, &y);
    for (size_t k = 0; k < COUNT(walks); k++) {
        kiln_array *count = NULL, *sum = NULL;
        kiln_graph *g = graph_begin(t);
        kiln_node a = kiln_graph_input(g, "x"), b = kiln_graph_input(g, "y");
        kiln_graph_output(g, "count", kiln_count_nonzero(kiln_greater(a, b), walks[k].axes));
        OK(t, kiln_call(g, &t->err, x, y, &count));
        kiln_graph_destroy(g);
        g = graph_begin(t);
        a = kiln_graph_input(g, "x"), b = kiln_graph_input(g, "y");
        kiln_graph_output(g, "sum",
                          kiln_sum(kiln_multiply(kiln_multiply(a, 50), b), walks[k].axes));
        OK(t, kiln_call(g, &t->err, x, y, &sum));
        kiln_graph_destroy(g);
        graph_fetch(t, count, counts, walks[k].count);
        graph_fetch(t, sum, sums, walks[k].count);
        for (size_t i = 0; i < walks[k].count; i++) {
            int64_t greater = 0, total = 0;
            for (size_t j = 0; j < walks[k].length; j++) {
                const size_t e = i * walks[k].begin + j * walks[k].step;
                greater += xs[e] > ys[e];
                total += (int8_t)(50 * (int)xs[e] * (int)ys[e]);
            }
            graph_near(counts[i], (double)greater, 0, i);
            graph_near(sums[i], (double)total, 0, i);
        }
        kiln_array_release(count), kiln_array_release(sum);
    }
    kiln_array_release(x), kiln_array_release(y);
}

/* ---- short rows ---- */

enum { SHORT_ROWS = 4333, SHORT_MOST = 257, LONG_ROWS = 43, LONG_MOST = 5003 };

/* Sum, variance and place of the greatest of rows 1 to the last: the first begins anywhere. */
static void check_rows(test_env *t, kiln_dtype dtype, int64_t count, int64_t length, double *xs)
{
    static double got[3][SHORT_ROWS];
    const int64_t short_shape[] = {count, length};
    const walk rows = {&last, (size_t)count - 1, (size_t)length, (size_t)length, 1};
    kiln_array *x = graph_array(t, dtype, 2, short_shape, xs), *tail = NULL;

    OK(t, kiln_array_slice(x, 0, 1, count, 1, &tail, &t->err));
    for (size_t r = 0; r < 3; r++) {
        kiln_graph *g = graph_begin(t);
        kiln_array *y = NULL;
        const kiln_node v = kiln_graph_input(g, "x");
        kiln_graph_output(g, "y",
                          r == 0   ? kiln_sum(v, &last)
                          : r == 1 ? kiln_var(v, &last)
                                   : kiln_argmax(v, &last));
        OK(t, kiln_call(g, &t->err, tail, &y));
        graph_fetch(t, y, got[r], rows.count);
        kiln_array_release(y);
        kiln_graph_destroy(g);
    }
    check_variance(&rows, xs + length, got[1], 1e-6);
    for (size_t i = 0; i < rows.count; i++) {
        double sum = 0;
        for (size_t j = 0; j < rows.length; j++)
            sum += xs[(i + 1) * rows.length + j];
        graph_near(got[0][i], sum, 1e-5, i);
        graph_near(got[2][i], (double)best_of(&rows, xs + length, i, true), 0, i);
    }
    kiln_array_release(x), kiln_array_release(tail);
}

static void test_reduction_batch__short_rows_of_any_length(void **state)
{
    static const struct {
        kiln_dtype dtype;
        int64_t length;
    } cases[] = {{KILN_FLOAT32, 2},   {KILN_FLOAT32, 3},   {KILN_FLOAT32, 16},
                 {KILN_FLOAT32, 33},  {KILN_FLOAT32, 64},  {KILN_FLOAT32, SHORT_MOST},
                 {KILN_FLOAT64, 7},   {KILN_INT8, 33},     {KILN_INT16, 100},
                 {KILN_FLOAT32, 101}, {KILN_FLOAT32, 255}, {KILN_FLOAT64, 65},
                 {KILN_INT16, 129},   {KILN_INT8, 13}};
    double *xs = malloc(sizeof *xs * SHORT_ROWS * SHORT_MOST);

    assert_non_null(xs);
    for (size_t c = 0; c < COUNT(cases); c++)
        check_rows(*state, cases[c].dtype, SHORT_ROWS, cases[c].length, xs);
    free(xs);
}

/* Rows that a warp has no room for are held by a block, where there are enough of them for the device: on
 * the emulated GPU these are. */
static void test_reduction_batch__rows_of_several_warps(void **state)
{
    static const struct {
        kiln_dtype dtype;
        int64_t length;
    } cases[] = {{KILN_FLOAT32, 3001}, {KILN_FLOAT32, 4096}, {KILN_INT16, 5003}, {KILN_FLOAT64, 2051}};
    double *xs = malloc(sizeof *xs * LONG_ROWS * LONG_MOST);

    assert_non_null(xs);
    for (size_t c = 0; c < COUNT(cases); c++)
        check_rows(*state, cases[c].dtype, LONG_ROWS, cases[c].length, xs);
    free(xs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_batch__moments_of_what_is_computed),
        TEST(test_reduction_batch__variance_of_a_graphs_expression),
        TEST(test_reduction_batch__positions_of_what_is_computed),
        TEST(test_reduction_batch__sums_of_small_integers),
        TEST(test_reduction_batch__short_rows_of_any_length),
        TEST(test_reduction_batch__rows_of_several_warps),
    };
    return test_env_main(argc, argv, "test_reduction_batch", tests, COUNT(tests));
}
