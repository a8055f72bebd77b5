/*
 * test_select.c - topk, partition, median, quantile and searchsorted: at once, and in graphs and expressions.
 */
#define _GNU_SOURCE /* setenv */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/kiln.h"
#include "test_env.h"

static kiln_array *of_floats(test_env *t, int rank, const int64_t *shape, const float *values)
{
    kiln_array *x = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, rank, shape, values, NULL, &x, &t->err));
    return x;
}

/* How many of `count` numbers come before `v` in a sorted row: smaller ones, and all but NaN before NaN. */
static int64_t count_before(const float *values, int64_t count, float v, bool equal_too)
{
    int64_t before = 0;
    for (int64_t k = 0; k < count; k++) {
        const float w = values[k];
        before += isnan(v) ? (equal_too || !isnan(w)) : (w < v || (equal_too && w == v));
    }
    return before;
}

/* ---- topk -------------------------------------------------------------------------------------------- */

/* Element n of the k largest has n elements that are larger, or equal and before it. */
static void check_topk(test_env *t, int64_t rows, int64_t length, int64_t k, bool smallest)
{
    const int64_t shape[] = {rows, length};
    float *const given = malloc((size_t)(rows * length) * sizeof *given);
    float *const values = malloc((size_t)(rows * k) * sizeof *values);
    int64_t *const places = malloc((size_t)(rows * k) * sizeof *places);
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    for (int64_t n = 0; n < rows * length; n++)
        given[n] = test_random_below(t, 50) == 0 ? NAN : (float)test_random_below(t, 100) - 50;
    x = of_floats(t, 2, shape, given);
    o.axes = KILN_AXES(1);
    o.descending = smallest;
    OK(t, kiln_array_topk(x, k, &o, &y, &z, &t->err));
    OK(t, kiln_array_to_host(y, values, (size_t)(rows * k) * 4, NULL, &t->err));
    OK(t, kiln_array_to_host(z, places, (size_t)(rows * k) * 8, NULL, &t->err));
    for (int64_t n = 0; n < rows * k; n++) {
        const float *row = given + n / k * length, v = row[places[n]];
        int64_t before = 0;
        for (int64_t j = 0; j < length; j++) {
            const float w = row[j];
            const bool equal = w == v || (isnan(w) && isnan(v));
            const bool first = isnan(v) ? !isnan(w) : smallest ? w < v : w > v;
            before += first || (equal && j < places[n]);
        }
        assert_int_equal(before, n % k);
        assert_memory_equal(&values[n], &v, sizeof v);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    free(given);
    free(values);
    free(places);
}

static void test_select__finds_the_k_first_of_rows(void **state)
{
    test_env *t = *state;

    check_topk(t, 3, 20, 5, false);
    check_topk(t, 2, 300, 1, true);
    check_topk(t, 1, 17000, 40, false);
    check_topk(t, 2, 7, 7, true);
}

/* No element of rows of any length, into new arrays and arrays that exist, along both axes. */
static void test_select__finds_none_when_none_are_asked_for(void **state)
{
    test_env *t = *state;
    const int64_t lengths[] = {3, 17000};

    for (int k = 0; k < 4; k++) {
        const int64_t shape[] = {2, lengths[k / 2]}, none[] = {k % 2 ? 2 : 0, k % 2 ? 0 : shape[1]};
        kiln_array *x = test_ramp(t, 2, shape), *y = NULL, *z = NULL;
        kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

        o.axes = KILN_AXES(k % 2);
        OK(t, kiln_array_empty(t->ctx, kiln_array_dtype(x), 2, none, &y, &t->err));
        OK(t, kiln_array_topk(x, 0, &o, &y, &z, &t->err));
        assert_int_equal(kiln_array_rank(z), 2);
        assert_memory_equal(kiln_array_shape(z), none, sizeof none);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(z);
    }
}

static void test_select__refuses_a_k_that_no_row_has(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3};
    kiln_array *x = test_ramp(t, 2, shape), *y = NULL, *z = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    const double q[] = {0.5, 1.5};

    o.axes = KILN_AXES(1);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_topk(x, 4, &o, &y, &z, &t->err), "k is 4", "3 elements");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_topk(x, -1, &o, &y, NULL, &t->err), "k is -1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_partition(x, 3, &o, &y, &t->err), "kth is 3",
          "3 elements");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_argpartition(x, -7, NULL, &y, &t->err), "kth is -7", "6");
    FAILS(t, KILN_ERR_RANGE, kiln_array_quantile(x, q, 2, KILN_QUANTILE_LINEAR, &o, &y, &t->err),
          "quantile: 1.5 is not between 0 and 1");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_quantile(x, q, 1, (kiln_quantile_method)13, &o, &y, &t->err), "method 13");
    FAILS(t, KILN_ERR_NULL, kiln_array_quantile(x, NULL, 1, KILN_QUANTILE_LINEAR, &o, &y, &t->err),
          "`q`");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_searchsorted(x, x, false, NULL, &y, &t->err),
          "and this one has 2");
    assert_null(y);
    kiln_array_release(x);
    const int64_t none[] = {2, 0};
    OK(t, kiln_array_zeros(t->ctx, KILN_COMPLEX64, 2, none, &x, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_array_median(x, &o, &y, &t->err),
          "median: a row has no elements");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_quantile(x, q, 1, KILN_QUANTILE_LINEAR, &o, &y, &t->err),
          "complex");
    kiln_array_release(x);
}

/* ---- median and quantile ------------------------------------------------------------------------------- */

/* np.quantile([7.5, -2, 0.25, 3, 11, -6.5, 4, 9, 1, 2], [0, 0.1, 0.25, 0.37, 0.5, 0.75, 1], method=...) */
static const double numpy_quantiles[13][7] = {
    {-6.5, -2.4499999999999997, 0.4375, 1.33, 2.5, 6.625, 11.0},  /* linear */
    {-6.5, -6.5, 0.25, 1.0, 2.0, 7.5, 11.0},                      /* inverted_cdf */
    {-6.5, -4.25, 0.25, 1.0, 2.5, 7.5, 11.0},                     /* averaged_inverted_cdf */
    {-6.5, -6.5, -2.0, 1.0, 2.0, 7.5, 11.0},                      /* closest_observation */
    {-6.5, -6.5, -0.875, 0.7750000000000001, 2.0, 5.75, 11.0},    /* interpolated_inverted_cdf */
    {-6.5, -4.25, 0.25, 1.2000000000000002, 2.5, 7.5, 11.0},      /* hazen */
    {-6.5, -6.05, -0.3125, 1.0700000000000003, 2.5, 7.875, 11.0}, /* weibull */
    {-6.5, -4.85, 0.06249999999999967, 1.1566666666666672, 2.5, 7.625000000000001,
     11.0},                                                         /* median_unbiased */
    {-6.5, -4.7, 0.109375, 1.1675000000000004, 2.5, 7.59375, 11.0}, /* normal_unbiased */
    {-6.5, -6.5, 0.25, 1.0, 2.0, 4.0, 11.0},                        /* lower */
    {-6.5, -2.0, 1.0, 2.0, 3.0, 7.5, 11.0},                         /* higher */
    {-6.5, -4.25, 0.625, 1.5, 2.5, 5.75, 11.0},                     /* midpoint */
    {-6.5, -2.0, 0.25, 1.0, 2.0, 7.5, 11.0},                        /* nearest */
};

static void test_select__has_the_quantiles_of_numpy(void **state)
{
    static const double given[] = {7.5, -2, 0.25, 3, 11, -6.5, 4, 9, 1, 2};
    static const double q[] = {0, 0.1, 0.25, 0.37, 0.5, 0.75, 1};
    const int64_t shape[] = {10};
    test_env *t = *state;
    kiln_array *x = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, shape, given, NULL, &x, &t->err));
    for (int m = 0; m < 13; m++) {
        double got[7];
        kiln_array *y = NULL;
        OK(t, kiln_array_quantile(x, q, 7, (kiln_quantile_method)m, NULL, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < 7; k++)
            if (fabs(got[k] - numpy_quantiles[m][k]) > 1e-14 * fabs(numpy_quantiles[m][k]))
                fail_msg("method %d, q %g: %.17g, not %.17g", m, q[k], got[k],
                         numpy_quantiles[m][k]);
        kiln_array_release(y);
    }
    kiln_array_release(x);
}

/* np.quantile([inf, 2, -inf, -1], [0.4, 0.6], method=...): methods that choose an element have nothing to
 * do with its neighbours. */
static void test_select__quantiles_that_are_elements_stand_beside_infinities(void **state)
{
    static const kiln_quantile_method methods[] = {
        KILN_QUANTILE_LOWER, KILN_QUANTILE_HIGHER, KILN_QUANTILE_NEAREST,
        KILN_QUANTILE_INVERTED_CDF, KILN_QUANTILE_CLOSEST_OBSERVATION};
    test_env *t = *state;
    const float given[] = {INFINITY, 2, -INFINITY, -1};
    const int64_t shape[] = {4};
    const double q[] = {0.4, 0.6};
    static const float want[][2] = {{-1, -1}, {2, 2}, {-1, 2}, {-1, 2}, {-1, -1}};
    kiln_array *x = of_floats(t, 1, shape, given);

    for (size_t m = 0; m < COUNT(methods); m++) {
        float got[2];
        kiln_array *y = NULL;
        OK(t, kiln_array_quantile(x, q, 2, methods[m], NULL, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, want[m], sizeof got);
        kiln_array_release(y);
    }
    kiln_array_release(x);
}

static void test_select__has_medians_of_rows_and_nan_where_one_is(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3, 4};
    const float given[] = {3, 1, 2, 10, 5, NAN, 1, 2, -1, -1, 7, INFINITY};
    float got[4];
    double wide[2];
    kiln_array *x = of_floats(t, 2, shape, given), *y = NULL, *whole = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    o.axes = KILN_AXES(-1);
    OK(t, kiln_array_median(x, &o, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, 3 * sizeof *got, NULL, &t->err));
    assert_true(got[0] == 2.5f && isnan(got[1]) && got[2] == 3);
    kiln_array_release(y);
    y = NULL;
    o.axes = KILN_AXES(0);
    OK(t, kiln_array_median(x, &o, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, 4 * sizeof *got, NULL, &t->err));
    assert_true(got[0] == 3 && isnan(got[1]) && got[2] == 2 && got[3] == 10);
    kiln_array_release(y);
    kiln_array_release(x);
    /* Integers: float64; elements by methods that take them. */
    const int64_t many[] = {2, 4};
    const double third = 0.34;
    int64_t lower = 0;
    x = y = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 2, many,
                               ((const int64_t[]){4, 1, 3, 2, 9, 9, 8, 8}), NULL, &x, &t->err));
    o.axes = KILN_AXES(1);
    OK(t, kiln_array_median(x, &o, &y, &t->err));
    assert_int_equal(kiln_array_dtype(y), KILN_FLOAT64);
    OK(t, kiln_array_to_host(y, wide, sizeof wide, NULL, &t->err));
    assert_true(wide[0] == 2.5 && wide[1] == 8.5);
    OK(t, kiln_array_quantile(x, &third, 1, KILN_QUANTILE_LOWER, NULL, &whole, &t->err));
    OK(t, kiln_array_to_host(whole, &lower, sizeof lower, NULL, &t->err));
    assert_int_equal(lower, 3);
    kiln_array_release(whole);
    kiln_array_release(y);
    kiln_array_release(x);
}

/* ---- searchsorted ---------------------------------------------------------------------------------------- */

static void test_select__searches_sorted_vectors(void **state)
{
    static const float sorted[] = {-INFINITY, -3, -3, -0.0f, 0, 2, 2, 2, 7, INFINITY, NAN, NAN};
    static const float values[] = {-5, -3, 0, -0.0f, 2, 1, 8, INFINITY, NAN, -INFINITY};
    const int64_t shape[] = {12}, wanted[] = {5, 2};
    test_env *t = *state;
    kiln_array *s = of_floats(t, 1, shape, sorted), *v = of_floats(t, 2, wanted, values);

    for (int right = 0; right < 2; right++) {
        int64_t got[10];
        kiln_array *y = NULL;
        OK(t, kiln_array_searchsorted(s, v, right != 0, NULL, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < 10; k++)
            assert_int_equal(got[k], count_before(sorted, 12, values[k], right != 0));
        kiln_array_release(y);
    }
    kiln_array_release(s);
    kiln_array_release(v);
}

/* Small whole numbers, the greatest of which become NaN in floating-point vectors; the vector rises. */
static void check_search(test_env *t, kiln_dtype dtype, int64_t length, int64_t count, bool right)
{
    enum { RANGE = 40 };
    const bool real = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64;
    double *const sorted = malloc((size_t)(length + 1) * sizeof *sorted);
    double *const values = malloc((size_t)count * sizeof *values);
    int64_t *const got = malloc((size_t)count * sizeof *got);
    kiln_array *s = NULL, *v = NULL, *given = NULL, *y = NULL;

    for (int64_t k = 0; k < length; k++)
        sorted[k] = real && k * RANGE / length > RANGE - 5 ? NAN : (double)(k * RANGE / length);
    for (int64_t k = 0; k < count; k++) {
        values[k] = (double)test_random_below(t, RANGE + 2);
        values[k] = real && values[k] > RANGE - 3 ? NAN : values[k];
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &length, sorted, NULL, &given, &t->err));
    OK(t, kiln_array_cast(given, dtype, &s, &t->err));
    kiln_array_release(given);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &count, values, NULL, &given, &t->err));
    OK(t, kiln_array_cast(given, dtype, &v, &t->err));
    OK(t, kiln_array_searchsorted(s, v, right, NULL, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, (size_t)count * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < count; k++) {
        int64_t want = 0;
        for (int64_t n = 0; n < length; n++)
            want += isnan(values[k]) ? right || !isnan(sorted[n])
                    : right          ? sorted[n] <= values[k]
                                     : sorted[n] < values[k];
        CHECK(got[k] == want, "%s, %d of %d, right %d: value %d, %g, belongs at %d, not at %d",
              kiln_dtype_name(dtype), (int)count, (int)length, right, (int)k, values[k], (int)want,
              (int)got[k]);
    }
    kiln_array_release(s), kiln_array_release(v), kiln_array_release(given), kiln_array_release(y);
    free(sorted), free(values), free(got);
}

static void test_select__searches_for_many_values_of_each_dtype(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT32,   KILN_UINT32,  KILN_INT64, KILN_UINT64,
                                        KILN_FLOAT32, KILN_FLOAT64, KILN_INT16};
    static const int64_t lengths[] = {0, 1, 2, 3, 64, 1000}, counts[] = {1, 15, 16, 17, 4200};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t k = 0; k < COUNT(lengths); k++)
            for (int right = 0; right < 2; right++)
                check_search(t, dtypes[d], lengths[k], counts[(k + d) % COUNT(counts)], right != 0);
}

/* ---- graphs ------------------------------------------------------------------------------------------------ */

/* The elements of an expression's result over x = [[3, 1, 2], [9, 8, 7]]. */
static void check_expression(test_env *t, const char *text, size_t which, const double *expected,
                             int64_t count)
{
    const int64_t shape[] = {2, 3};
    static const char *const names[] = {"x"};
    const float given[] = {3, 1, 2, 9, 8, 7};
    kiln_array *x = of_floats(t, 2, shape, given), *y[2] = {NULL, NULL}, *wide = NULL;
    kiln_graph *graph = NULL;
    double got[8];
    size_t results = 0;

    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &graph, &results, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y[0]), kiln_arg_out(&y[1])};
    OK(t, kiln_graph_run(graph, args, 1 + results, NULL, &t->err));
    OK(t, kiln_array_cast(y[which], KILN_FLOAT64, &wide, &t->err));
    assert_int_equal(kiln_array_size(wide), count);
    OK(t, kiln_array_to_host(wide, got, sizeof got, NULL, &t->err));
    for (int64_t k = 0; k < count; k++)
        if (got[k] != expected[k])
            fail_msg("%s: element %d is %g, not %g", text, (int)k, got[k], expected[k]);
    kiln_array_release(wide);
    kiln_array_release(x);
    kiln_array_release(y[0]);
    kiln_array_release(y[1]);
    kiln_graph_destroy(graph);
}

static void test_select__is_a_step_of_expressions(void **state)
{
    test_env *t = *state;

    check_expression(t, "sort(x)", 0, (const double[]){1, 2, 3, 7, 8, 9}, 6);
    check_expression(t, "sort(-x, axis=0) + 1", 0, (const double[]){-8, -7, -6, -2, 0, -1}, 6);
    check_expression(t, "argsort(x * 2, axis=None)", 0, (const double[]){1, 2, 0, 5, 4, 3}, 6);
    check_expression(t, "topk(x + 1, 2)", 0, (const double[]){4, 3, 10, 9}, 4);
    check_expression(t, "topk(x + 1, 2)", 1, (const double[]){0, 2, 0, 1}, 4);
    check_expression(t, "median(x, axis=1) * 2", 0, (const double[]){4, 16}, 2);
    check_expression(t, "median(x)", 0, (const double[]){5}, 1);
    check_expression(t, "percentile(x, 50, axis=0)", 0, (const double[]){6, 4.5, 4.5}, 3);
    check_expression(t, "quantile(x, 0.25, axis=1)", 0, (const double[]){1.5, 7.5}, 2);
    check_expression(t, "quantile(x, [0.5, 0.25], axis=1)", 0, (const double[]){2, 8, 1.5, 7.5}, 4);
    check_expression(t, "percentile(x, (0, 25, 100), 1)", 0, (const double[]){1, 7, 1.5, 7.5, 3, 9},
                     6);
    check_expression(t, "searchsorted(sort(x[0]), x[1] - 6)", 0, (const double[]){2, 1, 0}, 3);
}

static void test_select__tells_what_is_wrong_in_expressions(void **state)
{
    static const struct {
        const char *text, *message;
        kiln_status status;
    } wrong[] = {
        {"topk(x)", "topk takes 2 to 3 arguments", KILN_ERR_ARGUMENT_COUNT},
        {"topk(x, 1.5)", "a whole number is needed here", KILN_ERR_ARGUMENT},
        {"sort(x, keepdims=True)", "takes no keepdims", KILN_ERR_NAME},
        {"searchsorted(x, x, axis=0)", "takes no axis", KILN_ERR_NAME},
    };
    static const char *const names[] = {"x"};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(wrong); k++) {
        kiln_graph *graph = NULL;
        size_t results;
        FAILS(t, wrong[k].status,
              kiln_graph_parse(t->ctx, wrong[k].text, names, 1, NULL, &graph, &results, &t->err),
              wrong[k].message);
    }
}

static void test_select__is_recorded_by_name(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3};
    const float given[] = {3, 1, 2, 9, 8, 7};
    const double two = 2;
    int64_t got[4];
    kiln_array *x = of_floats(t, 2, shape, given), *y = NULL;
    kiln_graph *graph = NULL;

    OK(t, kiln_graph_create(t->ctx, NULL, &graph, &t->err));
    const kiln_node in = kiln_graph_input(graph, "x");
    const kiln_node places = kiln_node_sorting("topk", &in, 1, KILN_AXES(1), &two, 1, 1, KILN_HERE);
    kiln_graph_output(graph, "y", places);
    OK(t, kiln_graph_compile(graph, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    OK(t, kiln_graph_run(graph, args, 2, NULL, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const int64_t[]){0, 2, 0, 1}), sizeof got);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_graph_destroy(graph);
    OK(t, kiln_graph_create(t->ctx, NULL, &graph, &t->err));
    const kiln_node other = kiln_graph_input(graph, "x");
    (void)kiln_node_sorting("topk", &other, 1, NULL, NULL, 0, 0, KILN_HERE);
    FAILS(t, KILN_ERR_NAME, kiln_graph_compile(graph, &t->err), "`topk` of 1 arrays and 0 numbers");
    kiln_graph_destroy(graph);
}

/* ---- rows of all kinds --------------------------------------------------------------------------------- */

enum { KINDS = 7 };

/* Values of a row that every dtype has: any, few, one alone, rising, mostly one, with NaN, zeros of both signs. */
static double value_of_kind(test_env *t, kiln_dtype dtype, int kind, int64_t k)
{
    const bool real = kiln_dtype_kind(dtype) == 'f';
    const int64_t limit = kiln_dtype_size(dtype) == 1 ? 100 : 30000;

    switch (kind) {
    case 1:
        return (double)test_random_below(t, 3);
    case 2:
        return 0;
    case 3:
        return (double)(k % (limit + 1));
    case 4:
        return test_random_below(t, 9) == 0 ? (double)test_random_below(t, (uint64_t)limit) : 5;
    case 5:
        return real && test_random_below(t, 3) == 0 ? NAN
                                                    : (double)test_random_below(t, (uint64_t)limit);
    case 6:
        return real && test_random_below(t, 2) == 0 ? -0.0 : (double)test_random_below(t, 2);
    default:
        return (double)test_random_below(t, (uint64_t)limit);
    }
}

static const double *ordered;

static bool stands_before(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

static int by_element(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const int lesser = stands_before(ordered[i], ordered[j]);
    const int greater = stands_before(ordered[j], ordered[i]);

    return lesser != greater ? greater - lesser : (i > j) - (i < j);
}

/* A row, its stable order, and one of some dtype and of float64 on the device. */
typedef struct drawn {
    int64_t length;
    double *value;
    int64_t *order;
    kiln_array *x;
} drawn;

static drawn draw_row(test_env *t, kiln_dtype dtype, int kind, int64_t length)
{
    drawn d = {.length = length, .value = malloc((size_t)length * sizeof(double))};
    kiln_array *wide = NULL;

    d.order = malloc((size_t)length * sizeof *d.order);
    for (int64_t k = 0; k < length; k++) {
        d.value[k] = value_of_kind(t, dtype, kind, k);
        d.order[k] = k;
    }
    ordered = d.value;
    qsort(d.order, (size_t)length, sizeof *d.order, by_element);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &length, d.value, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &d.x, &t->err));
    kiln_array_release(wide);
    return d;
}

static void drop_row(drawn *d)
{
    kiln_array_release(d->x);
    free(d->value);
    free(d->order);
}

/* Elements that were found, as the row has them at those places, signs of zeros too. */
static void check_elements(test_env *t, const drawn *d, const kiln_array *y, const int64_t *places,
                           int64_t count, const char *what)
{
    double *const got = malloc((size_t)count * sizeof *got);
    kiln_array *wide = NULL;

    OK(t, kiln_array_cast(y, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, (size_t)count * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < count; k++) {
        const double want = d->value[places[k]];
        CHECK((isnan(want) && isnan(got[k])) ||
                  (got[k] == want && !signbit(got[k]) == !signbit(want)),
              "%s of %d %s: element %d is %g, not %g", what, (int)d->length,
              kiln_dtype_name(kiln_array_dtype(y)), (int)k, got[k], want);
    }
    kiln_array_release(wide);
    free(got);
}

/* Vectors of two kinds, or none, on the cpu device, until level 0 is set. */
static void set_level(const test_env *t, uint64_t level)
{
    char text[8];

    snprintf(text, sizeof text, "%d", (int)level);
    if (t->cuda || level == 0)
        unsetenv("KILN_TUNE_CPU_LEVEL");
    else
        setenv("KILN_TUNE_CPU_LEVEL", text, 1);
}

/* Before and behind the place either sorted elements or those of the row in its order. */
static void check_partition(test_env *t, const drawn *d, int64_t kth)
{
    const int64_t n = d->length;
    int64_t *const got = malloc((size_t)n * sizeof *got), *const kept =
                                                              malloc((size_t)n * sizeof *got);
    int64_t *const rank = malloc((size_t)n * sizeof *got), left = 0, right = kth + 1;
    kiln_array *y = NULL, *z = NULL;

    for (int64_t k = 0; k < n; k++)
        rank[d->order[k]] = k;
    for (int64_t k = 0; k < n; k++)
        kept[rank[k] < kth ? left++ : rank[k] > kth ? right++ : kth] = k;
    set_level(t, 2 + test_random_below(t, 3));
    OK(t, kiln_array_argpartition(d->x, test_random_below(t, 2) == 0 ? kth : kth - n, NULL, &y,
                                  &t->err));
    OK(t, kiln_array_partition(d->x, kth, NULL, &z, &t->err));
    set_level(t, 0);
    OK(t, kiln_array_to_host(y, got, (size_t)n * sizeof *got, NULL, &t->err));
    const int64_t *const want =
        memcmp(got, d->order, (size_t)n * sizeof *got) == 0 ? d->order : kept;
    for (int64_t k = 0; k < n; k++)
        CHECK(got[k] == want[k], "argpartition of %d %s at %d: place %d is %d, not %d", (int)n,
              kiln_dtype_name(kiln_array_dtype(d->x)), (int)kth, (int)k, (int)got[k], (int)want[k]);
    check_elements(t, d, z, want, n, "partition");
    kiln_array_release(y);
    kiln_array_release(z);
    free(got), free(kept), free(rank);
}

static void check_chosen(test_env *t, const drawn *d, int64_t count)
{
    int64_t *const got = malloc((size_t)count * sizeof *got);
    const int64_t n = d->length;
    const double a = d->value[d->order[(n - 1) / 2]], b = d->value[d->order[n / 2]];
    const double want = isnan(d->value[d->order[n - 1]]) ? NAN : (a + b) / 2;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    kiln_array *values = NULL, *places = NULL, *median = NULL, *wide = NULL;
    double middle = 0;

    o.descending = true;
    set_level(t, 2 + test_random_below(t, 3));
    OK(t, kiln_array_topk(d->x, count, &o, &values, &places, &t->err));
    set_level(t, 0);
    OK(t, kiln_array_to_host(places, got, (size_t)count * sizeof *got, NULL, &t->err));
    assert_memory_equal(got, d->order, (size_t)count * sizeof *got);
    check_elements(t, d, values, d->order, count, "topk");
    OK(t, kiln_array_median(d->x, NULL, &median, &t->err));
    OK(t, kiln_array_cast(median, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, &middle, sizeof middle, NULL, &t->err));
    CHECK(middle == want || (isnan(middle) && isnan(want)), "median of %d %s: %g, not %g", (int)n,
          kiln_dtype_name(kiln_array_dtype(d->x)), middle, want);
    kiln_array_release(values), kiln_array_release(places);
    kiln_array_release(median), kiln_array_release(wide);
    free(got);
}

/* Lengths at which rows are sorted, settled, and looked at in one piece or in several. */
static void test_select__rows_of_all_kinds(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_INT16, KILN_UINT8,
                                        KILN_INT64,   KILN_UINT32,  KILN_INT32};
    static const int64_t lengths[] = {2, 511, 512, 1500, 5000, 17000, 40001};
    test_env *t = *state;

    for (size_t n = 0; n < COUNT(lengths); n++)
        for (int kind = 0; kind < KINDS; kind++) {
            const kiln_dtype dtype = dtypes[test_random_below(t, COUNT(dtypes))];
            drawn d = draw_row(t, dtype, kind, lengths[n]);
            const int64_t any = (int64_t)test_random_below(t, (uint64_t)lengths[n]);
            check_partition(t, &d, kind % 3 == 0 ? 0 : kind % 3 == 1 ? lengths[n] - 1 : any);
            check_partition(t, &d, any);
            check_chosen(t, &d, kind % 2 == 0 ? (lengths[n] + 3) / 4 : 1 + any % 50 % lengths[n]);
            drop_row(&d);
        }
}

/* A row that fits a block with its places, or without them alone, where blocks have less shared memory. */
static void test_select__many_first_of_a_row(void **state)
{
    test_env *t = *state;
    drawn d = draw_row(t, KILN_FLOAT32, 0, 5000);

    check_chosen(t, &d, 1250);
    drop_row(&d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_select__finds_the_k_first_of_rows),
        TEST(test_select__finds_none_when_none_are_asked_for),
        TEST(test_select__refuses_a_k_that_no_row_has),
        TEST(test_select__has_the_quantiles_of_numpy),
        TEST(test_select__quantiles_that_are_elements_stand_beside_infinities),
        TEST(test_select__has_medians_of_rows_and_nan_where_one_is),
        TEST(test_select__searches_sorted_vectors),
        TEST(test_select__searches_for_many_values_of_each_dtype),
        TEST(test_select__is_a_step_of_expressions),
        TEST(test_select__tells_what_is_wrong_in_expressions),
        TEST(test_select__is_recorded_by_name),
        TEST(test_select__rows_of_all_kinds),
        TEST(test_select__many_first_of_a_row),
    };
    return test_env_main(argc, argv, "test_select", tests, COUNT(tests));
}
