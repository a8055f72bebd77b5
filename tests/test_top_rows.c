/*
 * test_top_rows.c - the greatest elements of rows that a row program computes, and positions in such rows: one kernel
 * each, against plain loops.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_env.h"

enum { ROOM = 6000 };

/* A row of numbers, most of which occur often, some NaN where the dtype has one. */
static void draw(test_env *t, kiln_dtype dtype, double *values, size_t count)
{
    const char kind = kiln_dtype_kind(dtype);
    const uint64_t various = test_random_below(t, 2) == 0 ? 7 : 100;

    for (size_t k = 0; k < count; k++) {
        values[k] = (double)test_random_below(t, various);
        if (kind == 'b')
            values[k] = (double)test_random_below(t, 2);
        if (kind == 'i' || kind == 'f')
            values[k] -= (double)(various / 2);
        if (kind == 'f' && test_random_below(t, 9) == 0)
            values[k] = test_random_below(t, 2) == 0   ? NAN
                        : test_random_below(t, 2) == 0 ? INFINITY
                                                       : -INFINITY;
    }
}

/* Whether element `a` is chosen before element `b`, which stands behind it. */
static bool is_before(double a, double b)
{
    return isnan(b) || (!isnan(a) && a >= b);
}

/* The places of the k greatest of `length` elements `step` apart. */
static void choose(const double *x, size_t length, size_t step, size_t k, size_t *places)
{
    for (size_t n = 0; n < k; n++) {
        size_t best = length;
        for (size_t at = 0; at < length; at++) {
            bool taken = false;
            for (size_t m = 0; m < n; m++)
                taken = taken || places[m] == at;
            if (!taken && (best == length || !is_before(x[best * step], x[at * step])))
                best = at;
        }
        places[n] = best;
    }
}

/* What makes a row program of a chain that changes no value. */
#define SAME "y = x * any((x == x) | (x != x), axis=%d, keepdims=True); "

static kiln_graph *parse(test_env *t, const char *text)
{
    static const char *const names[] = {"x"};
    kiln_graph *g = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    return g;
}

/* x of (rows, length) or, along axis 0, of (length, rows). */
static void check(test_env *t, kiln_dtype dtype, int axis, size_t rows, size_t length, size_t k)
{
    const int64_t shape[] = {(int64_t)(axis == 0 ? length : rows),
                             (int64_t)(axis == 0 ? rows : length)};
    static double xs[ROOM], values[ROOM], places[ROOM];
    kiln_array *wide = NULL, *x = NULL, *v = NULL, *i = NULL;
    char text[200];

    draw(t, dtype, xs, rows * length);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, xs, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
    snprintf(text, sizeof text, SAME "topk(y, %zu, axis=%d)", axis, k, axis);
    kiln_graph *g = parse(t, text);
    CHECK(KERNELS(t, g, x, &v, &i) == 1, "%s of %s is no row program", text,
          kiln_dtype_name(dtype));
    OK(t, kiln_call(g, &t->err, x, &v, &i));
    assert_int_equal(kiln_array_dtype(v), dtype);
    assert_int_equal(kiln_array_dtype(i), KILN_INT64);
    graph_fetch(t, v, values, rows * k);
    graph_fetch(t, i, places, rows * k);
    for (size_t r = 0; r < rows; r++) {
        size_t want[8];
        const size_t step = axis == 0 ? rows : 1, first = axis == 0 ? r : r * length;
        choose(xs + first, length, step, k, want);
        for (size_t n = 0; n < k; n++) {
            const size_t at = axis == 0 ? n * rows + r : r * k + n;
            CHECK(places[at] == (double)want[n],
                  "%s, %zu rows of %zu, axis %d: %zu of row %zu stands at %g, not %zu",
                  kiln_dtype_name(dtype), rows, length, axis, n, r, places[at], want[n]);
            graph_near(values[at], xs[first + want[n] * step], 0, at);
        }
    }
    kiln_array_release(wide), kiln_array_release(x), kiln_array_release(v), kiln_array_release(i);
    kiln_graph_destroy(g);
}

static void test_top_rows__are_found_in_the_kernel_of_the_rows(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_FLOAT64, KILN_INT8,
                                        KILN_UINT32,  KILN_INT64,   KILN_BOOL,    KILN_BFLOAT16};
    static const size_t lengths[] = {2, 5, 33, 130, 700, 1999};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const bool eight = kiln_dtype_size(dtypes[d]) == 8;
        for (int c = 0; c < (d == 0 ? 6 : 1); c++) {
            const size_t length =
                lengths[d == 0 ? (size_t)c : test_random_below(t, COUNT(lengths))];
            const size_t most = eight ? 6 : 8,
                         k = 1 + test_random_below(t, length < most ? length : most);
            const size_t rows = 1 + test_random_below(t, ROOM / length < 12 ? ROOM / length : 12);
            check(t, dtypes[d], 1, rows, length, k);
        }
    }
    check(t, KILN_FLOAT32, 0, 40, 60, 5);
    check(t, KILN_FLOAT32, 0, 3, 130, 8);
}

static void test_top_rows__of_a_softmax_are_one_kernel(void **state)
{
    enum { ROWS = 7, LENGTH = 201, K = 5 };
    static const int64_t shape[] = {ROWS, LENGTH};
    static double xs[ROWS * LENGTH], v[ROWS * K], i[ROWS * K], most[ROWS];
    test_env *t = *state;
    kiln_array *x = graph_array(t, KILN_FLOAT32, 2, shape, xs), *out[3] = {NULL};
    kiln_graph *g = parse(t, "s = softmax(x); v, i = topk(s, 5); v, i, argmax(s, axis=1)");

    CHECK(KERNELS(t, g, x, &out[0], &out[1], &out[2]) == 1, "not one kernel");
    OK(t, kiln_call(g, &t->err, x, &out[0], &out[1], &out[2]));
    graph_fetch(t, out[0], v, ROWS * K);
    graph_fetch(t, out[1], i, ROWS * K);
    graph_fetch(t, out[2], most, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0;
        size_t want[K];
        choose(xs + r * LENGTH, LENGTH, 1, K, want);
        for (size_t j = 0; j < LENGTH; j++)
            sum += exp(xs[r * LENGTH + j]);
        assert_int_equal(most[r], want[0]);
        for (size_t n = 0; n < K; n++) {
            /* Rounding makes some exponentials equal; of these the order may be another one. */
            graph_near(xs[r * LENGTH + (size_t)i[r * K + n]], xs[r * LENGTH + want[n]], 1e-6, n);
            graph_near(v[r * K + n], exp(xs[r * LENGTH + want[n]]) / sum, 1e-6, n);
        }
    }
    kiln_array_release(x);
    for (size_t k = 0; k < COUNT(out); k++)
        kiln_array_release(out[k]);
    kiln_graph_destroy(g);
}

/* What follows from the chosen elements alone is a part of the kernel. */
static void test_top_rows__may_be_computed_with(void **state)
{
    enum { ROWS = 11, LENGTH = 64, K = 4 };
    static const int64_t shape[] = {ROWS, LENGTH};
    static const struct {
        const char *text;
        bool kernel;
    } cases[] = {
        {"v, i = topk(softmax(x), 4); v / sum(v, axis=-1, keepdims=True), i", true},
        {"v, i = topk(x - mean(x, axis=1, keepdims=True), 4);"
         "e = exp(v - max(v, axis=1, keepdims=True)); e / sum(e, axis=1, keepdims=True), i",
         true},
        {"v, i = topk(softmax(x), 4); v / sum(v, axis=-1)[:, None], i", true},
        {"v, i = topk(softmax(x), 4); (v + x[0, :4] * 0) / sum(v, axis=-1, keepdims=True), i",
         false}};
    static double xs[ROWS * LENGTH], v[ROWS * K], i[ROWS * K];
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_array *x = graph_array(t, KILN_FLOAT32, 2, shape, xs), *out[2] = {NULL};
        kiln_graph *g = parse(t, cases[c].text);
        CHECK((KERNELS(t, g, x, &out[0], &out[1]) == 1) == cases[c].kernel, "%s", cases[c].text);
        OK(t, kiln_call(g, &t->err, x, &out[0], &out[1]));
        graph_fetch(t, out[0], v, ROWS * K);
        graph_fetch(t, out[1], i, ROWS * K);
        for (size_t r = 0; r < ROWS; r++) {
            double sum = 0;
            size_t want[K];
            choose(xs + r * LENGTH, LENGTH, 1, K, want);
            for (size_t n = 0; n < K; n++)
                sum += exp(xs[r * LENGTH + want[n]]);
            for (size_t n = 0; n < K; n++) {
                graph_near(xs[r * LENGTH + (size_t)i[r * K + n]], xs[r * LENGTH + want[n]], 1e-6,
                           n);
                graph_near(v[r * K + n], exp(xs[r * LENGTH + want[n]]) / sum, 1e-5, n);
            }
        }
        kiln_array_release(x), kiln_array_release(out[0]), kiln_array_release(out[1]);
        kiln_graph_destroy(g);
    }
}

/* Positions count a row's elements in C-order, whatever the order in memory and wherever rows begin. */
static void test_top_rows__positions_are_those_of_the_row(void **state)
{
    static const int64_t shape[] = {6, 5, 44};
    enum { SIZE = 6 * 5 * 44 };
    static double xs[SIZE], got[ROOM];
    static const struct {
        const char *text;
        int order[3];
        int64_t begin;
        bool both;
    } cases[] = {{"argmax(%s, axis=2)", {0, 1, 2}, 0, false},
                 {"argmax(%s, axis=2)", {0, 1, 2}, 3, false},
                 {"argmax(%s, axis=2)", {2, 1, 0}, 0, false},
                 {"argmax(%s, axis=(1, 2))", {0, 1, 2}, 0, true},
                 {"argmax(%s, axis=(1, 2))", {0, 2, 1}, 1, true}};
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_array *dense = graph_array(t, KILN_FLOAT32, 3, shape, xs), *moved = NULL, *laid = NULL;
        kiln_array *x = NULL, *cut = NULL, *y = NULL;
        const kiln_axes order = {.count = 3,
                                 .axis = {cases[c].order[0], cases[c].order[1], cases[c].order[2]}};
        kiln_axes back = {.count = 3};
        char inner[100], text[200];
        for (int a = 0; a < 3; a++)
            back.axis[order.axis[a]] = a;
        OK(t, kiln_array_transpose(dense, &order, &moved, &t->err));
        OK(t, kiln_array_copy(moved, &laid, &t->err)); /* C-order in the other order of axes */
        OK(t, kiln_array_transpose(laid, &back, &x, &t->err));
        OK(t, kiln_array_slice(x, 2, cases[c].begin, shape[2], 1, &cut, &t->err));
        snprintf(inner, sizeof inner, "x - min(x, axis=%s, keepdims=True)",
                 cases[c].both ? "(1, 2)" : "2");
        snprintf(text, sizeof text, cases[c].text, inner);
        kiln_graph *g = parse(t, text);
        CHECK(KERNELS(t, g, cut, &y) == 1, "%s is no row program", text);
        OK(t, kiln_call(g, &t->err, cut, &y));
        const size_t width = (size_t)(shape[2] - cases[c].begin), planes = cases[c].both ? 6 : 30;
        const size_t lines = cases[c].both ? 5 : 1;
        graph_fetch(t, y, got, planes);
        for (size_t p = 0; p < planes; p++) {
            size_t best = 0, n = 0;
            double most = -INFINITY;
            for (size_t l = 0; l < lines; l++)
                for (size_t j = 0; j < width; j++, n++) {
                    const double v = xs[(p * lines + l) * 44 + j + (size_t)cases[c].begin];
                    best = v > most ? n : best;
                    most = v > most ? v : most;
                }
            CHECK(got[p] == (double)best, "%s, case %zu: row %zu has its greatest at %g, not %zu",
                  text, c, p, got[p], best);
        }
        kiln_array_release(dense), kiln_array_release(moved), kiln_array_release(laid);
        kiln_array_release(x), kiln_array_release(cut), kiln_array_release(y);
        kiln_graph_destroy(g);
    }
}

/* Results of reductions go where a join wants them. */
static void test_top_rows__results_side_by_side_are_one_kernel(void **state)
{
    enum { ROWS = 9, LENGTH = 50 };
    static const int64_t shape[] = {ROWS, LENGTH};
    static const char *const texts[] = {"stack([min(x, axis=1), sum(x, axis=1) * 2], axis=1)",
                                        "d = x - mean(x, axis=1, keepdims=True); "
                                        "m = mean(x, axis=1, keepdims=True); "
                                        "concatenate([min(d, axis=1, keepdims=True) + m, "
                                        "(sum(d, axis=1, keepdims=True) + m * 50) * 2], axis=1)"};
    static double xs[ROWS * LENGTH], got[2 * ROWS];
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(texts); c++) {
        kiln_array *x = graph_array(t, KILN_FLOAT64, 2, shape, xs), *y = NULL;
        kiln_graph *g = parse(t, texts[c]);
        CHECK(KERNELS(t, g, x, &y) == 1, "%s is more than one kernel", texts[c]);
        OK(t, kiln_call(g, &t->err, x, &y));
        graph_fetch(t, y, got, 2 * ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            double least = xs[r * LENGTH], sum = 0;
            for (size_t j = 0; j < LENGTH; j++) {
                least = fmin(least, xs[r * LENGTH + j]);
                sum += xs[r * LENGTH + j];
            }
            graph_near(got[2 * r], least, 1e-12, r);
            graph_near(got[2 * r + 1], 2 * sum, 1e-11, r);
        }
        kiln_array_release(x), kiln_array_release(y);
        kiln_graph_destroy(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_top_rows__are_found_in_the_kernel_of_the_rows),
        TEST(test_top_rows__of_a_softmax_are_one_kernel),
        TEST(test_top_rows__may_be_computed_with),
        TEST(test_top_rows__positions_are_those_of_the_row),
        TEST(test_top_rows__results_side_by_side_are_one_kernel),
    };
    return test_env_main(argc, argv, "test_top_rows", tests, COUNT(tests));
}
