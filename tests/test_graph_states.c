/*
 * test_graph_states.c - reductions of the same values that share an accumulator: a mean beside its
 * variance, a sum beside a mean, a minimum beside its position.
 *
 * Expected values come from plain C loops in double precision over the values as they are stored.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { N = 3000 };

/* How many accumulators the explained text tells of; 0 when it tells of none that is shared. */
static int shared_accumulators(test_env *t, kiln_graph *g, const kiln_arg *args, size_t count)
{
    char *text = NULL;
    OK(t, kiln_graph_explain(g, args, count, &text, &t->err));
    const char *at = strstr(text, " results in one pass from ");
    const int accumulators = at == NULL ? 0 : atoi(at + 26);
    kiln_free(text);
    return accumulators;
}

/* Record a reduction of `x` along all axes as an output of its own name. */
static void reduce_to(kiln_graph *g, kiln_node x, kiln_reduce_op op)
{
    kiln_graph_output(g, kiln_reduce_op_name(op),
                      kiln_node_reduce(op, x, NULL, false, KILN_DTYPE_NONE, KILN_HERE));
}

/* Reduce a vector by several reductions in one kernel with so many accumulators. */
static void reduce_all(test_env *t, kiln_array *x, const kiln_reduce_op *ops, size_t count,
                       int accumulators, double *got, kiln_dtype *dtypes)
{
    kiln_graph *g = graph_begin(t);
    kiln_array *out[8] = {NULL};
    kiln_arg args[9];
    size_t kernels = 0;
    kiln_node in = kiln_graph_input(g, "x");
    args[0] = kiln_arg_array(x);
    for (size_t k = 0; k < count; k++) {
        reduce_to(g, in, ops[k]);
        args[1 + k] = kiln_arg_out(&out[k]);
    }
    OK(t, kiln_graph_kernel_count(g, args, 1 + count, &kernels, &t->err));
    assert_int_equal(kernels, 1);
    assert_int_equal(shared_accumulators(t, g, args, 1 + count), accumulators);
    OK(t, kiln_graph_run(g, args, 1 + count, NULL, &t->err));
    for (size_t k = 0; k < count; k++) {
        graph_fetch(t, out[k], &got[k], 1);
        dtypes[k] = kiln_array_dtype(out[k]);
        kiln_array_release(out[k]);
    }
    kiln_graph_destroy(g);
}

static double mean_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += x[k];
    return sum / (double)count;
}

static double variance_of(const double *x, size_t count)
{
    const double mean = mean_of(x, count);
    double squares = 0;
    for (size_t k = 0; k < count; k++)
        squares += (x[k] - mean) * (x[k] - mean);
    return squares / (double)count;
}

/* ---- moments --------------------------------------------------------------------------------- */

static const kiln_reduce_op moments[] = {KILN_REDUCE_MEAN, KILN_REDUCE_VAR, KILN_REDUCE_STD};

/* NumPy's dtypes: float64 of integers, else the array's. */
static void check_dtype(test_env *t, kiln_dtype dtype, kiln_dtype result, double tolerance)
{
    static double xs[N];
    double got[3];
    kiln_dtype dtypes[3];
    kiln_array *x = graph_array(t, dtype, 1, (int64_t[]){N}, xs);
    reduce_all(t, x, moments, 3, 1, got, dtypes);
    graph_near(got[0], mean_of(xs, N), tolerance, 0);
    graph_near(got[1], variance_of(xs, N), tolerance, 1);
    graph_near(got[2], sqrt(variance_of(xs, N)), tolerance, 2);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(dtypes[k], result);
    kiln_array_release(x);
}

static void test_graph_states__a_mean_is_had_from_moments_of_integers(void **state)
{
    check_dtype(*state, KILN_BOOL, KILN_FLOAT64, 1e-12);
    check_dtype(*state, KILN_INT8, KILN_FLOAT64, 1e-12);
    check_dtype(*state, KILN_INT64, KILN_FLOAT64, 1e-12);
}

static void test_graph_states__a_mean_is_had_from_moments_of_floats(void **state)
{
    check_dtype(*state, KILN_FLOAT16, KILN_FLOAT16, 1e-3); /* float32 until it is stored */
    check_dtype(*state, KILN_FLOAT32, KILN_FLOAT32, 1e-6);
    check_dtype(*state, KILN_FLOAT64, KILN_FLOAT64, 1e-12);
}

static void test_graph_states__a_mean_is_had_from_moments_of_complex_numbers(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double z[2 * N], re[N], im[N];
    double mean[2], var;
    for (size_t k = 0; k < N; k++) {
        z[2 * k] = re[k] = graph_number(k) + 100;
        z[2 * k + 1] = im[k] = graph_number(k + N) - 7;
    }
    kiln_node x = kiln_graph_input(g, "x");
    reduce_to(g, x, KILN_REDUCE_MEAN);
    reduce_to(g, x, KILN_REDUCE_VAR);
    kiln_array *a = NULL, *m = NULL, *v = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, (int64_t[]){N}, z, NULL, &a, &t->err));
    kiln_arg args[] = {kiln_arg_array(a), kiln_arg_out(&m), kiln_arg_out(&v)};
    assert_int_equal(shared_accumulators(t, g, args, 3), 1);
    OK(t, kiln_graph_run(g, args, 3, NULL, &t->err));
    assert_int_equal(kiln_array_dtype(m), KILN_COMPLEX128);
    OK(t, kiln_array_to_host(m, mean, sizeof mean, NULL, &t->err));
    graph_fetch(t, v, &var, 1);
    graph_near(mean[0], mean_of(re, N), 1e-12, 0);
    graph_near(mean[1], mean_of(im, N), 1e-12, 1);
    graph_near(var, variance_of(re, N) + variance_of(im, N), 1e-12, 2);
    kiln_array_release(a), kiln_array_release(m), kiln_array_release(v);
    kiln_graph_destroy(g);
}

/* What NumPy gives: np.mean([1, np.inf]) is inf, of inf and -inf nan, of nothing nan. */
static void test_graph_states__means_of_infinities_and_of_nothing_are_numpys(void **state)
{
    test_env *t = *state;
    static const struct {
        size_t count;
        double x[20], mean;
    } cases[] = {
        {3, {1, INFINITY, 2}, INFINITY},
        {2, {-INFINITY, 1}, -INFINITY},
        {2, {INFINITY, INFINITY}, INFINITY},
        {3, {INFINITY, 5, -INFINITY}, NAN},
        {2, {NAN, INFINITY}, NAN},
        {20, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, INFINITY, 16, 17, 18, 19}, INFINITY},
        {20, {-INFINITY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
         -INFINITY},
        {0, {0}, NAN},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        double got[3];
        kiln_dtype dtypes[3];
        kiln_array *x = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){(int64_t)cases[k].count},
                                   cases[k].x, NULL, &x, &t->err));
        reduce_all(t, x, moments, 3, 1, got, dtypes);
        graph_near(got[0], cases[k].mean, 0, k);
        CHECK(isnan(got[1]) && isnan(got[2]), "case %zu: %g and %g", k, got[1], got[2]);
        kiln_array_release(x);
    }
}

/* Along either axis, where values are far from 0: what is squared is the deviation. */
static void check_far(test_env *t, int axis)
{
    enum { ROWS = 70, COLUMNS = 90 };
    kiln_graph *g = graph_begin(t);
    static float data[ROWS * COLUMNS];
    double mean[COLUMNS], var[COLUMNS], x[COLUMNS];
    const size_t count = axis == 0 ? COLUMNS : ROWS, length = axis == 0 ? ROWS : COLUMNS;
    kiln_array *a = NULL, *m = NULL, *v = NULL;
    kiln_node in = kiln_graph_input(g, "x");
    kiln_graph_output(g, "mean", kiln_mean(in, KILN_AXES(axis)));
    kiln_graph_output(g, "var", kiln_var_keep(in, KILN_AXES(axis)));
    for (size_t k = 0; k < ROWS * COLUMNS; k++)
        data[k] = (float)(4096 + graph_number(k));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, (int64_t[]){ROWS, COLUMNS}, data, NULL, &a,
                               &t->err));
    OK(t, kiln_call(g, &t->err, a, &m, &v));
    graph_fetch(t, m, mean, count), graph_fetch(t, v, var, count);
    for (size_t k = 0; k < count; k++) {
        for (size_t j = 0; j < length; j++)
            x[j] = axis == 0 ? data[j * COLUMNS + k] : data[k * COLUMNS + j];
        graph_near(mean[k], mean_of(x, length), 1e-6, k);
        graph_near(var[k], variance_of(x, length), 1e-3, k);
    }
    kiln_array_release(a), kiln_array_release(m), kiln_array_release(v);
    kiln_graph_destroy(g);
}

static void test_graph_states__moments_far_from_zero_keep_their_digits(void **state)
{
    check_far(*state, 0);
    check_far(*state, 1);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void test_graph_states__reductions_share_what_they_keep(void **state)
{
    test_env *t = *state;
    /* sum and mean; min and max beside their positions: three accumulators for six results */
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM,    KILN_REDUCE_MEAN, KILN_REDUCE_MIN,
                                         KILN_REDUCE_ARGMIN, KILN_REDUCE_MAX,  KILN_REDUCE_ARGMAX};
    static double xs[N];
    double got[6], want[6] = {0};
    kiln_dtype dtypes[6];
    kiln_array *x = graph_array(t, KILN_FLOAT32, 1, (int64_t[]){N}, xs);
    for (size_t k = 0; k < N; k++) {
        want[0] += xs[k];
        want[3] = xs[k] < xs[(size_t)want[3]] ? (double)k : want[3];
        want[5] = xs[k] > xs[(size_t)want[5]] ? (double)k : want[5];
    }
    want[1] = want[0] / N;
    want[2] = xs[(size_t)want[3]];
    want[4] = xs[(size_t)want[5]];
    reduce_all(t, x, ops, 6, 3, got, dtypes);
    for (size_t k = 0; k < 6; k++)
        graph_near(got[k], want[k], k < 2 ? 1e-5 : 0, k);
    assert_int_equal(dtypes[2], KILN_FLOAT32);
    assert_int_equal(dtypes[3], KILN_INT64);
    kiln_array_release(x);
}

/* As NumPy: a NaN is the least of all, and nanmean and its relatives pass over it. */
static void test_graph_states__nans_are_treated_alike_in_shared_states(void **state)
{
    test_env *t = *state;
    static const kiln_reduce_op least[] = {KILN_REDUCE_MIN, KILN_REDUCE_ARGMIN};
    static const kiln_reduce_op some[] = {KILN_REDUCE_NANVAR, KILN_REDUCE_NANMEAN,
                                          KILN_REDUCE_NANSTD};
    static const kiln_reduce_op sums[] = {KILN_REDUCE_NANMEAN, KILN_REDUCE_NANSUM};
    double x[] = {4, 1, NAN, 7, NAN, 0}, known[] = {4, 1, 7, 0}, got[3];
    kiln_dtype dtypes[3];
    kiln_array *a = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){6}, x, NULL, &a, &t->err));
    reduce_all(t, a, least, 2, 1, got, dtypes);
    CHECK(isnan(got[0]) && got[1] == 2, "%g at %g", got[0], got[1]);
    reduce_all(t, a, some, 3, 1, got, dtypes);
    graph_near(got[0], variance_of(known, 4), 1e-14, 0);
    graph_near(got[1], 3, 1e-14, 1);
    graph_near(got[2], sqrt(variance_of(known, 4)), 1e-14, 2);
    reduce_all(t, a, sums, 2, 1, got, dtypes);
    graph_near(got[0], 3, 0, 0);
    graph_near(got[1], 12, 0, 1);
    kiln_array_release(a);

    for (size_t k = 0; k < 6; k++)
        x[k] = NAN;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, (int64_t[]){6}, x, NULL, &a, &t->err));
    reduce_all(t, a, some, 3, 1, got, dtypes);
    CHECK(isnan(got[0]) && isnan(got[1]) && isnan(got[2]), "%g, %g, %g", got[0], got[1], got[2]);
    kiln_array_release(a);
}

/* 16-bit floats are added up as float32, whether a program converts them or not: one sum for two results. */
static void test_graph_states__halves_and_their_floats_have_one_sum(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[N];
    double got[3], want = 0, most = 0;
    kiln_array *x = graph_array(t, KILN_FLOAT16, 1, (int64_t[]){N}, xs), *out[3] = {NULL, NULL, NULL};
    kiln_node in = kiln_graph_input(g, "x"), wide = kiln_cast(in, KILN_FLOAT32);
    kiln_graph_output(g, "sum", kiln_sum(in, KILN_ALL_AXES));
    kiln_graph_output(g, "mean", kiln_mean(wide, KILN_ALL_AXES));
    kiln_graph_output(g, "most", kiln_max(in, KILN_ALL_AXES));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&out[0]), kiln_arg_out(&out[1]),
                             kiln_arg_out(&out[2])};

    graph_fetch(t, x, xs, N);
    for (size_t k = 0; k < N; k++) {
        want += xs[k];
        most = k == 0 || xs[k] > most ? xs[k] : most;
    }
    assert_int_equal(shared_accumulators(t, g, args, 4), 2);
    OK(t, kiln_graph_run(g, args, 4, NULL, &t->err));
    for (size_t k = 0; k < 3; k++) {
        graph_fetch(t, out[k], &got[k], 1);
        kiln_array_release(out[k]);
    }
    graph_near(got[0], want, 1e-3, 0);
    graph_near(got[1], want / N, 1e-5, 1);
    graph_near(got[2], most, 0, 2);
    kiln_array_release(x);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_states__a_mean_is_had_from_moments_of_integers),
        TEST(test_graph_states__a_mean_is_had_from_moments_of_floats),
        TEST(test_graph_states__a_mean_is_had_from_moments_of_complex_numbers),
        TEST(test_graph_states__means_of_infinities_and_of_nothing_are_numpys),
        TEST(test_graph_states__moments_far_from_zero_keep_their_digits),
        TEST(test_graph_states__reductions_share_what_they_keep),
        TEST(test_graph_states__nans_are_treated_alike_in_shared_states),
        TEST(test_graph_states__halves_and_their_floats_have_one_sum),
    };
    return test_env_main(argc, argv, "test_graph_states", tests, COUNT(tests));
}
