/*
 * test_graph_rows.c - graphs that become row programs: softmax and its relatives, one kernel each.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_env.h"

enum { ROWS = 19, LENGTH = 130 };
static const int64_t shape[] = {ROWS, LENGTH};

/* Record a function of x (and perhaps of weights), run it, compare each row with `want`. */
typedef kiln_node (*record_fn)(kiln_graph *g, kiln_node x);
typedef void (*row_fn)(const double *x, double *y, size_t n);

static void check(test_env *t, record_fn record, row_fn want, kiln_dtype dtype, double tolerance)
{
    kiln_graph *g = graph_begin(t);
    static double xs[ROWS * LENGTH], got[ROWS * LENGTH], expected[LENGTH];
    kiln_graph_output(g, "y", record(g, kiln_graph_input(g, "x")));
    kiln_array *x = graph_array(t, dtype, 2, shape, xs), *y = NULL;
    CHECK(KERNELS(t, g, x, &y) == 1, "more than one kernel");
    OK(t, kiln_call(g, &t->err, x, &y));
    assert_int_equal(kiln_array_dtype(y), dtype);
    graph_fetch(t, y, got, ROWS * LENGTH);
    for (size_t r = 0; r < ROWS; r++) {
        want(xs + r * LENGTH, expected, LENGTH);
        for (size_t k = 0; k < LENGTH; k++)
            graph_near(got[r * LENGTH + k], expected[k], tolerance, r * LENGTH + k);
    }
    OK(t, kiln_call(g, &t->err, x, x)); /* in place */
    graph_fetch(t, x, got, ROWS * LENGTH);
    want(xs, expected, LENGTH);
    for (size_t k = 0; k < LENGTH; k++)
        graph_near(got[k], expected[k], tolerance, k);
    kiln_array_release(x), kiln_array_release(y);
    kiln_graph_destroy(g);
}

static kiln_node softmax(kiln_graph *g, kiln_node x)
{
    (void)g;
    kiln_node e = kiln_exp(kiln_subtract(x, kiln_max_keep(x, KILN_AXES(-1))));
    return kiln_divide(e, kiln_sum_keep(e, KILN_AXES(-1)));
}

static void softmax_row(const double *x, double *y, size_t n)
{
    double most = x[0], sum = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, x[k]);
    for (size_t k = 0; k < n; k++)
        sum += y[k] = exp(x[k] - most);
    for (size_t k = 0; k < n; k++)
        y[k] /= sum;
}

static kiln_node log_softmax(kiln_graph *g, kiln_node x)
{
    (void)g;
    kiln_node d = kiln_subtract(x, kiln_max_keep(x, KILN_AXES(-1)));
    return kiln_subtract(d, kiln_log(kiln_sum_keep(kiln_exp(d), KILN_AXES(-1))));
}

static void log_softmax_row(const double *x, double *y, size_t n)
{
    double most = x[0], sum = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, x[k]);
    for (size_t k = 0; k < n; k++)
        sum += exp(x[k] - most);
    for (size_t k = 0; k < n; k++)
        y[k] = x[k] - most - log(sum);
}

static kiln_node layer_norm(kiln_graph *g, kiln_node x)
{
    (void)g;
    kiln_node mean = kiln_mean_keep(x, KILN_AXES(-1)), var = kiln_var_keep(x, KILN_AXES(-1));
    return kiln_divide(kiln_subtract(x, mean), kiln_sqrt(kiln_add(var, 1e-3)));
}

static void layer_norm_row(const double *x, double *y, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++)
        sum += x[k];
    for (size_t k = 0; k < n; k++)
        squares += (x[k] - sum / (double)n) * (x[k] - sum / (double)n);
    for (size_t k = 0; k < n; k++)
        y[k] = (x[k] - sum / (double)n) / sqrt(squares / (double)n + 1e-3);
}

static kiln_node rms_norm(kiln_graph *g, kiln_node x)
{
    (void)g;
    kiln_node square = kiln_mean_keep(kiln_multiply(x, x), KILN_AXES(-1));
    return kiln_divide(x, kiln_sqrt(kiln_add(square, 1e-6)));
}

static void rms_norm_row(const double *x, double *y, size_t n)
{
    double squares = 0;
    for (size_t k = 0; k < n; k++)
        squares += x[k] * x[k];
    for (size_t k = 0; k < n; k++)
        y[k] = x[k] / sqrt(squares / (double)n + 1e-6);
}

static void test_graph_rows__softmax_is_one_kernel(void **state)
{
    check(*state, softmax, softmax_row, KILN_FLOAT32, 1e-6);
    check(*state, softmax, softmax_row, KILN_FLOAT16, 2e-2);
}

static void test_graph_rows__log_softmax_is_one_kernel(void **state)
{
    check(*state, log_softmax, log_softmax_row, KILN_FLOAT32, 1e-5);
    check(*state, log_softmax, log_softmax_row, KILN_FLOAT64, 1e-13);
}

static void test_graph_rows__layer_norm_is_one_kernel(void **state)
{
    check(*state, layer_norm, layer_norm_row, KILN_FLOAT32, 1e-5);
}

static void test_graph_rows__rms_norm_is_one_kernel(void **state)
{
    check(*state, rms_norm, rms_norm_row, KILN_FLOAT32, 1e-5);
    check(*state, rms_norm, rms_norm_row, KILN_BFLOAT16, 5e-2);
}

static void test_graph_rows__weights_belong_to_columns(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[ROWS * LENGTH], ws[LENGTH], got[ROWS * LENGTH], means[ROWS];
    kiln_node x = kiln_graph_input(g, "x"), w = kiln_graph_input(g, "w");
    kiln_node mean = kiln_mean(x, KILN_AXES(1)), var = kiln_var(x, KILN_AXES(1));
    kiln_node scale = kiln_divide(1, kiln_sqrt(kiln_add(var, 1e-3)));
    kiln_node y = kiln_multiply(kiln_subtract(x, kiln_newaxis(mean, 1)), kiln_newaxis(scale, 1));
    kiln_graph_output(g, "y", kiln_add(kiln_multiply(y, w), w));
    kiln_graph_output(g, "mean", mean);
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs);
    kiln_array *b = graph_array(t, KILN_FLOAT32, 1, shape + 1, ws), *out = NULL, *m = NULL;
    assert_int_equal(KERNELS(t, g, a, b, &out, &m), 1);
    OK(t, kiln_call(g, &t->err, a, b, &out, &m));
    graph_fetch(t, out, got, ROWS * LENGTH);
    graph_fetch(t, m, means, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        double expected[LENGTH], sum = 0;
        layer_norm_row(xs + r * LENGTH, expected, LENGTH);
        for (size_t k = 0; k < LENGTH; k++) {
            graph_near(got[r * LENGTH + k], expected[k] * ws[k] + ws[k], 1e-5, r * LENGTH + k);
            sum += xs[r * LENGTH + k];
        }
        graph_near(means[r], sum / LENGTH, 1e-5, r);
    }
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(out), kiln_array_release(m);
    kiln_graph_destroy(g);
}

static void test_graph_rows__cosine_similarity_is_one_reduction(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[ROWS * LENGTH], ys[ROWS * LENGTH], got[ROWS];
    kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
    kiln_node xy = kiln_sum(kiln_multiply(x, y), KILN_AXES(1));
    kiln_node xx = kiln_sum(kiln_multiply(x, x), KILN_AXES(1));
    kiln_node yy = kiln_sum(kiln_multiply(y, y), KILN_AXES(1));
    kiln_graph_output(g, "c", kiln_divide(xy, kiln_multiply(kiln_sqrt(xx), kiln_sqrt(yy))));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *b = NULL, *c = NULL;
    OK(t, kiln_array_flip(a, 1, &b, &t->err));
    graph_fetch(t, b, ys, ROWS * LENGTH);
    assert_int_equal(KERNELS(t, g, a, b, &c), 1);
    OK(t, kiln_call(g, &t->err, a, b, &c));
    graph_fetch(t, c, got, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0, p = 0, q = 0;
        for (size_t k = r * LENGTH; k < (r + 1) * LENGTH; k++)
            sum += xs[k] * ys[k], p += xs[k] * xs[k], q += ys[k] * ys[k];
        graph_near(got[r], sum / sqrt(p) / sqrt(q), 1e-5, r);
    }
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(c);
    kiln_graph_destroy(g);
}

/* log(sum(exp(x))) without overflow: two stages, and nothing is written per element. */
static void test_graph_rows__a_reduction_may_need_another(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[ROWS * LENGTH], got[ROWS];
    kiln_node x = kiln_multiply(kiln_graph_input(g, "x"), 100);
    kiln_node m = kiln_max(x, KILN_AXES(1));
    kiln_node s = kiln_sum(kiln_exp(kiln_subtract(x, kiln_newaxis(m, 1))), KILN_AXES(1));
    kiln_graph_output(g, "y", kiln_add(kiln_log(s), m));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *y = NULL;
    assert_int_equal(KERNELS(t, g, a, &y), 1);
    OK(t, kiln_call(g, &t->err, a, &y));
    graph_fetch(t, y, got, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        double most = -INFINITY, sum = 0;
        for (size_t k = r * LENGTH; k < (r + 1) * LENGTH; k++)
            most = fmax(most, 100 * xs[k]);
        for (size_t k = r * LENGTH; k < (r + 1) * LENGTH; k++)
            sum += exp(100 * xs[k] - most);
        graph_near(got[r], log(sum) + most, 1e-5, r);
    }
    kiln_array_release(a), kiln_array_release(y);
    kiln_graph_destroy(g);
}

/* A chain of reductions that is longer than one row program may be: each takes as many steps as it
 * can, or writes as many results as it should, and reads what the one before it has written. */
static void test_graph_rows__long_chains_are_few_kernels(void **state)
{
    enum { STEPS = 8 };
    test_env *t = *state;
    static double xs[ROWS * LENGTH], got[ROWS * LENGTH], want[ROWS * LENGTH];
    kiln_graph *g = graph_begin(t);
    kiln_array *x = graph_array(t, KILN_FLOAT32, 2, shape, xs), *y[STEPS] = {NULL};
    kiln_arg args[STEPS + 1] = {kiln_arg_array(x)};
    kiln_node z = kiln_graph_input(g, "x");
    size_t kernels = 0;

    for (int k = 0; k < STEPS; k++) {
        char name[8];
        snprintf(name, sizeof name, "y%d", k);
        z = kiln_multiply(kiln_subtract(z, kiln_mean_keep(z, KILN_AXES(1))), k + 0.5);
        kiln_graph_output(g, name, z);
        args[k + 1] = kiln_arg_out(&y[k]);
    }
    OK(t, kiln_graph_kernel_count(g, args, STEPS + 1, &kernels, &t->err));
    assert_int_equal(kernels, 2);
    OK(t, kiln_graph_run(g, args, STEPS + 1, NULL, &t->err));
    memcpy(want, xs, sizeof want);
    for (int k = 0; k < STEPS; k++) {
        graph_fetch(t, y[k], got, ROWS * LENGTH);
        for (size_t r = 0; r < ROWS; r++) {
            double sum = 0;
            for (size_t c = r * LENGTH; c < (r + 1) * LENGTH; c++)
                sum += want[c];
            for (size_t c = r * LENGTH; c < (r + 1) * LENGTH; c++) {
                want[c] = (want[c] - sum / LENGTH) * (k + 0.5);
                graph_near(got[c], want[c], 1e-2, c);
            }
        }
        kiln_array_release(y[k]);
    }
    kiln_array_release(x);
    kiln_graph_destroy(g);
}

/* The same where a result scales its rows, and only the last step is wanted. What would be computed again
 * and again is stored in between. */
static void test_graph_rows__a_chain_of_scales_is_few_kernels(void **state)
{
    enum { STEPS = 33 };
    test_env *t = *state;
    static double xs[ROWS * LENGTH], got[ROWS * LENGTH];
    kiln_graph *g = graph_begin(t);
    kiln_array *x = graph_array(t, KILN_FLOAT32, 2, shape, xs), *y = NULL;
    kiln_node z = kiln_graph_input(g, "x");

    for (int k = 0; k < STEPS; k++) {
        const kiln_node mean = kiln_mean_keep(kiln_multiply(z, z), KILN_AXES(1));
        z = kiln_multiply(z, kiln_rsqrt(kiln_add(mean, k + 1)));
    }
    kiln_graph_output(g, "y", z);
    assert_int_equal(KERNELS(t, g, x, &y), 6);
    OK(t, kiln_call(g, &t->err, x, &y));
    graph_fetch(t, y, got, ROWS * LENGTH);
    for (size_t r = 0; r < ROWS; r++) {
        double *row = xs + r * LENGTH;
        for (int k = 0; k < STEPS; k++) {
            double sum = 0;
            for (size_t c = 0; c < LENGTH; c++)
                sum += row[c] * row[c];
            for (size_t c = 0; c < LENGTH; c++)
                row[c] /= sqrt(sum / LENGTH + k + 1);
        }
        for (size_t c = 0; c < LENGTH; c++)
            graph_near(got[r * LENGTH + c], row[c], 1e-4, c);
    }
    kiln_array_release(x), kiln_array_release(y);
    kiln_graph_destroy(g);
}

/* Running means, as batch normalisation keeps: an input that has one element a row, and is an output. */
static void test_graph_rows__results_of_rows_may_be_in_place(void **state)
{
    test_env *t = *state;
    const int64_t rows = ROWS;
    static double xs[ROWS * LENGTH], before[ROWS], got[ROWS * LENGTH], after[ROWS];
    kiln_graph *g = graph_begin(t);
    const kiln_node x = kiln_graph_input(g, "x"), r = kiln_graph_input(g, "r");
    const kiln_node mean = kiln_mean(x, KILN_AXES(-1));
    kiln_graph_output(g, "y", kiln_subtract(x, kiln_newaxis(mean, 1)));
    kiln_graph_output(g, "s", kiln_add(kiln_multiply(r, 0.9), mean));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *y = NULL;
    kiln_array *b = graph_array(t, KILN_FLOAT64, 1, &rows, before);
    OK(t, kiln_call(g, &t->err, a, b, &y, b));
    graph_fetch(t, y, got, ROWS * LENGTH);
    graph_fetch(t, b, after, ROWS);
    for (size_t k = 0; k < ROWS; k++) {
        double sum = 0;
        for (size_t j = 0; j < LENGTH; j++)
            sum += xs[k * LENGTH + j];
        graph_near(after[k], 0.9 * before[k] + sum / LENGTH, 1e-12, k);
        graph_near(got[k * LENGTH], xs[k * LENGTH] - sum / LENGTH, 1e-12, k);
    }
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(y);
    kiln_graph_destroy(g);
}

/* A mean over all elements by a count that is an array without axes: it is one value for the row, but is
 * computed for each element, and is an output as well. */
static void test_graph_rows__what_elements_compute_is_no_name_for_rows(void **state)
{
    static const char *const names[] = {"x", "z"};
    test_env *t = *state;
    static double xs[ROWS * LENGTH], got[ROWS * LENGTH];
    kiln_graph *g = NULL;
    kiln_array *x = graph_array(t, KILN_FLOAT32, 2, shape, xs), *z = NULL, *y = NULL, *m = NULL;
    double count = 0, mean = 0, sum = 0, doubled = 0;

    z = graph_array(t, KILN_FLOAT32, 0, NULL, &count);
    OK(t, kiln_graph_parse(t->ctx, "m = sum(x) / z; v = sum(exp(x - m)); exp(x - m) / v, m * 2", names,
                           2, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, z, &y, &m));
    graph_fetch(t, y, got, ROWS * LENGTH);
    graph_fetch(t, m, &doubled, 1);
    for (size_t k = 0; k < ROWS * LENGTH; k++)
        mean += xs[k] / count;
    for (size_t k = 0; k < ROWS * LENGTH; k++)
        sum += exp(xs[k] - mean);
    graph_near(doubled, 2 * mean, 1e-4, 0);
    for (size_t k = 0; k < ROWS * LENGTH; k++)
        graph_near(got[k], exp(xs[k] - mean) / sum, 1e-3, k);
    kiln_array_release(x), kiln_array_release(z), kiln_array_release(y), kiln_array_release(m);
    kiln_graph_destroy(g);
}

/* Two stages and the results use the square root of an input that has one element a row: no element keeps
 * it. An exponential of the elements is kept. */
static void test_graph_rows__elements_keep_what_differs_among_them(void **state)
{
    static const struct {
        const char *text;
        bool keeps;
    } cases[] = {
        {"y = x / sqrt(s * s + 1); y / sqrt(mean(y * y, axis=-1, keepdims=True) + 1)", false},
        {"y = exp(x / sqrt(s * s + 1)); y / sqrt(mean(y * y, axis=-1, keepdims=True) + 1)", true}};
    static const char *const names[] = {"x", "s"};
    test_env *t = *state;
    static double xs[ROWS * LENGTH], ss[ROWS], got[ROWS * LENGTH];
    kiln_array *x = graph_array(t, KILN_FLOAT64, 2, shape, xs);
    kiln_array *s = graph_array(t, KILN_FLOAT64, 2, (int64_t[]){ROWS, 1}, ss);

    for (size_t c = 0; c < 2; c++) {
        kiln_graph *g = NULL;
        kiln_array *y = NULL;
        char *told = NULL;
        OK(t, kiln_graph_parse(t->ctx, cases[c].text, names, 2, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(s), kiln_arg_out(&y)};
        OK(t, kiln_graph_explain(g, args, 3, &told, &t->err));
        CHECK((strstr(told, "kept per element") != NULL) == cases[c].keeps, "%s", told);
        OK(t, kiln_call(g, &t->err, x, s, &y));
        graph_fetch(t, y, got, ROWS * LENGTH);
        for (size_t r = 0; r < ROWS; r++) {
            double row[LENGTH], squares = 0;
            for (size_t k = 0; k < LENGTH; k++) {
                row[k] = xs[r * LENGTH + k] / sqrt(ss[r] * ss[r] + 1);
                row[k] = cases[c].keeps ? exp(row[k]) : row[k];
                squares += row[k] * row[k];
            }
            for (size_t k = 0; k < LENGTH; k++)
                graph_near(got[r * LENGTH + k], row[k] / sqrt(squares / LENGTH + 1), 1e-12, k);
        }
        kiln_free(told);
        kiln_array_release(y);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x), kiln_array_release(s);
}

enum { DIVISORS = 48, DIVIDED = 512 };

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Number k of the floats that are rare or hard to divide, then of random ones: the last ones below 2 and 4, zeros,
 * the ends of the normal and the subnormal numbers, infinities, NaN. */
static float hard_float(size_t k)
{
    static const uint32_t bits[] = {
        0x3fffffff, 0x3ffffffe, 0x3ffffffd, 0x407fffff, 0x407ffffe, 0x407ffffd, 0x3f800000, 0xbfffffff,
        0x00000000, 0x80000000, 0x40400000, 0xc0400000, 0x00000001, 0x80000003, 0x007fffff, 0x00800000,
        0x001fffff, 0x00200001, 0x7effffff, 0x7e800000, 0x7e800001, 0x7e7fffff, 0x7f000001, 0x7f7fffff,
        0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x0d800000, 0x0c000001, 0x3f7fffff, 0x34000001};
    const uint32_t random = (uint32_t)((k + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    return float_of(k < COUNT(bits) ? bits[k] : random);
}

/* Quotients by what is one for a row are those of C, whatever is divided: a GPU divides by a reciprocal. */
static void test_graph_rows__quotients_by_rows_are_exact(void **state)
{
    static const char *const names[] = {"x", "d"};
    static float xs[DIVISORS * DIVIDED], ds[DIVISORS * DIVIDED], got[DIVISORS * DIVIDED];
    const int64_t extent[] = {DIVISORS, DIVIDED};
    test_env *t = *state;
    kiln_array *x = NULL, *d = NULL, *y = NULL;
    kiln_graph *g = NULL;

    for (size_t r = 0; r < DIVISORS; r++)
        for (size_t k = 0; k < DIVIDED; k++) {
            const bool corner = k % 4 != 0; /* else one element in four is rare */
            xs[r * DIVIDED + k] = r % 2 != 0 && corner ? (float)graph_number(k) : hard_float(k / 2);
            ds[r * DIVIDED + k] = hard_float(r);
        }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, extent, xs, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, extent, ds, NULL, &d, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "x / max(d, axis=-1, keepdims=True)", names, 2, NULL, &g, NULL,
                           &t->err));
    CHECK(KERNELS(t, g, x, d, &y) == 1, "more than one kernel");
    OK(t, kiln_call(g, &t->err, x, d, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (size_t k = 0; k < DIVISORS * DIVIDED; k++) {
        const float want = xs[k] / ds[k];
        CHECK(memcmp(&got[k], &want, sizeof want) == 0 || (isnan(got[k]) && isnan(want)),
              "%a / %a is %a, not %a", (double)xs[k], (double)ds[k], (double)got[k], (double)want);
    }
    kiln_array_release(x), kiln_array_release(d), kiln_array_release(y);
    kiln_graph_destroy(g);
}

/* Quotients by rows of several stages, of which later stages and the outputs use earlier ones: those of C, too.
 * Maxima have no rounding. */
static void test_graph_rows__quotients_of_earlier_stages_are_exact(void **state)
{
    static const char *const names[] = {"x"};
    static const char *const text = "a = x / max(abs(x), axis=-1, keepdims=True); "
                                    "b = a / min(abs(a - 3), axis=-1, keepdims=True); "
                                    "b / max(b + a, axis=-1, keepdims=True) + a";
    static float xs[DIVISORS * DIVIDED], got[DIVISORS * DIVIDED], a[DIVIDED], b[DIVIDED];
    const int64_t extent[] = {DIVISORS, DIVIDED};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    kiln_graph *g = NULL;

    for (size_t k = 0; k < DIVISORS * DIVIDED; k++) {
        const float value = hard_float(k / DIVIDED % 2 == 0 ? k % DIVIDED : k);
        xs[k] = isfinite(value) ? value : 0x1p-140f * (float)k;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, extent, xs, NULL, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
    CHECK(KERNELS(t, g, x, &y) == 1, "more than one kernel");
    OK(t, kiln_call(g, &t->err, x, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (size_t r = 0; r < DIVISORS; r++) {
        float most = 0, least = INFINITY, last = -INFINITY;
        for (size_t k = 0; k < DIVIDED; k++)
            most = fmaxf(most, fabsf(xs[r * DIVIDED + k]));
        for (size_t k = 0; k < DIVIDED; k++) {
            a[k] = xs[r * DIVIDED + k] / most;
            least = fminf(least, fabsf(a[k] - 3));
        }
        for (size_t k = 0; k < DIVIDED; k++) {
            b[k] = a[k] / least;
            last = fmaxf(last, b[k] + a[k]);
        }
        for (size_t k = 0; k < DIVIDED; k++) {
            const float want = b[k] / last + a[k], is = got[r * DIVIDED + k];
            CHECK(memcmp(&is, &want, sizeof want) == 0 || (isnan(is) && isnan(want)),
                  "row %zu: %a becomes %a, not %a", r, (double)xs[r * DIVIDED + k], (double)is, (double)want);
        }
    }
    kiln_array_release(x), kiln_array_release(y);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_rows__softmax_is_one_kernel),
        TEST(test_graph_rows__log_softmax_is_one_kernel),
        TEST(test_graph_rows__layer_norm_is_one_kernel),
        TEST(test_graph_rows__rms_norm_is_one_kernel),
        TEST(test_graph_rows__weights_belong_to_columns),
        TEST(test_graph_rows__cosine_similarity_is_one_reduction),
        TEST(test_graph_rows__a_reduction_may_need_another),
        TEST(test_graph_rows__long_chains_are_few_kernels),
        TEST(test_graph_rows__a_chain_of_scales_is_few_kernels),
        TEST(test_graph_rows__results_of_rows_may_be_in_place),
        TEST(test_graph_rows__what_elements_compute_is_no_name_for_rows),
        TEST(test_graph_rows__elements_keep_what_differs_among_them),
        TEST(test_graph_rows__quotients_by_rows_are_exact),
        TEST(test_graph_rows__quotients_of_earlier_stages_are_exact),
    };
    return test_env_main(argc, argv, "test_graph_rows", tests, COUNT(tests));
}
