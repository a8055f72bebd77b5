/*
 * test_extents.c - extents of arrays as numbers of graphs and expressions: x.shape[0], len(x), x.size.
 *
 * Values are those of a plain loop, or of the numbers themselves; tests/numpy_text/texts.py has more of them,
 * against NumPy.
 */
#include "graph_env.h"

enum { ROWS = 5, COLUMNS = 4, LENGTH = 9 };

/* Evaluate a text of x (5, 4) and v (9,), of a dtype; the caller releases the result. */
static kiln_array *evaluate(test_env *t, const char *text, kiln_dtype dtype)
{
    static const char *const names[] = {"x", "v"};
    const int64_t shape[] = {ROWS, COLUMNS}, length[] = {LENGTH};
    kiln_array *x = graph_array(t, dtype, 2, shape, NULL), *v = graph_array(t, dtype, 1, length, NULL);
    kiln_array *out = NULL;
    kiln_graph *g = NULL;

    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &g, NULL, &t->err));
    OK(t, kiln_call(g, &t->err, x, v, &out));
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(v);
    return out;
}

static void test_extents__numbers_of_shapes(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"x.shape[0]", 5},           {"x.shape[-1]", 4},         {"len(v)", 9},
                 {"x.size", 20},              {"x.ndim", 2},              {"size(x, 1)", 4},
                 {"ndim(v) + len(x[1:])", 5}, {"len(x) ** 2 // 3", 8},    {"-len(x) % 3", 1},
                 {"len(x) / 2", 2.5},         {"m, n = x.shape; n - m", -1}, {"shape(x.T)[0]", 4},
                 {"(x.size << 2) | 1", 81},   {"maximum(len(v), 3)", 9},  {"len(concatenate([v, v]))", 18}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *out = evaluate(t, cases[k].text, KILN_FLOAT32);
        double value = 0;
        assert_int_equal(kiln_array_rank(out), 0);
        graph_fetch(t, out, &value, 1);
        assert_float_equal(value, cases[k].value, 0);
        kiln_array_release(out);
    }
}

static void test_extents__numbers_are_weak(void **state)
{
    static const struct {
        const char *text;
        kiln_dtype given, wanted;
    } cases[] = {{"x / len(v)", KILN_FLOAT16, KILN_FLOAT16},
                 {"v * x.size + 1", KILN_INT8, KILN_INT8},
                 {"v * (len(x) / 2)", KILN_FLOAT32, KILN_FLOAT32},
                 {"v / len(x)", KILN_INT8, KILN_FLOAT64},
                 {"len(x) * 2", KILN_FLOAT32, KILN_INT64}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *out = evaluate(t, cases[k].text, cases[k].given);
        assert_int_equal(kiln_array_dtype(out), cases[k].wanted);
        kiln_array_release(out);
    }
}

static void test_extents__shapes_bounds_and_counts(void **state)
{
    static const struct {
        const char *text;
        int rank;
        int64_t shape[3];
    } cases[] = {{"x[:len(x) // 2, -x.shape[1] + 1:]", 2, {2, 3}},
                 {"x[len(x) - 1]", 1, {4}},
                 {"zeros((x.shape[1], len(x), 2))", 3, {4, 5, 2}},
                 {"v.reshape(3, len(v) // 3)", 2, {3, 3}},
                 {"x.T.reshape(x.shape)", 2, {5, 4}},
                 {"arange(1, len(v), 3)", 1, {3}},
                 {"arange(len(v), 0, -2)", 1, {5}},
                 {"linspace(0, 1, len(v))", 1, {9}},
                 {"uniform(7, (len(v), 2))", 2, {9, 2}},
                 {"topk(v, len(x))[0]", 1, {5}},
                 {"tile(v, x.ndim)", 1, {18}},
                 {"pad(x, (0, 0, x.ndim, 1))", 2, {5, 7}},
                 {"v[arange(x.size) % len(v)]", 1, {20}},
                 {"x[len(x) - 1, [0, 1, 0]]", 1, {3}},
                 {"x.at[len(x) - 1].set(len(v))", 2, {5, 4}}};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *out = evaluate(t, cases[k].text, KILN_FLOAT64);
        assert_int_equal(kiln_array_rank(out), cases[k].rank);
        for (int a = 0; a < cases[k].rank; a++)
            assert_int_equal(kiln_array_shape(out)[a], cases[k].shape[a]);
        kiln_array_release(out);
    }
}

static void test_extents__one_kernel_of_the_cpu_device_serves_all_shapes(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "x");
    double values[ROWS * COLUMNS], got = 0;
    kiln_cache_counters before, after;
    uint64_t kernels = 0;

    kiln_graph_output(g, "mean", kiln_divide(kiln_sum(x, KILN_ALL_AXES), kiln_extent(x, KILN_AXIS_FLAT)));
    OK(t, kiln_graph_compile(g, &t->err));
    for (int64_t n = 2; n <= ROWS; n++) {
        const int64_t shape[] = {n, COLUMNS};
        kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, values), *mean = NULL;
        double sum = 0;
        kiln_context_cache_counters(t->ctx, &before);
        OK(t, kiln_call(g, &t->err, a, &mean));
        kiln_context_cache_counters(t->ctx, &after);
        kernels += n == 2 ? 0 : after.compiles - before.compiles + after.hits - before.hits;
        for (int64_t k = 0; k < n * COLUMNS; k++)
            sum += values[k];
        graph_fetch(t, mean, &got, 1);
        assert_float_equal(got, sum / (double)(n * COLUMNS), 1e-12);
        kiln_array_release(a);
        kiln_array_release(mean);
    }
    /* A GPU has other kernels for rows of other short lengths. */
    assert_true(kernels == 0 || kiln_context_device(t->ctx)->backend != KILN_BACKEND_CPU);
    kiln_graph_destroy(g);
}

static void test_extents__mistakes(void **state)
{
    static const struct {
        const char *text, *says;
        kiln_status status;
    } cases[] = {
        {"x[len(v)]", "column 3: subscript: index 9 is out of range for axis 0", KILN_ERR_AXIS},
        {"zeros(len(x) - 6)", "zeros: a shape is computed from extents here, and one of its extents is -1",
         KILN_ERR_SHAPE},
        {"v[::len(v) - 9]", "the step is 0", KILN_ERR_AXIS},
        {"x[:len(x) // (len(v) - 9)]", "is no whole number", KILN_ERR_RANGE},
        {"len(v) ** 40", "power: the result does not fit an integer of 64 bits", KILN_ERR_RANGE},
        {"int8(v) * (len(v) * 20)", "is 180, and int8 holds -128 to 127", KILN_ERR_RANGE},
        {"a, b, c = x.shape; a", "3 names for the shape (5, 4)", KILN_ERR_SHAPE},
        {"len(3)", "len: axis 0 is out of range for rank 0", KILN_ERR_AXIS},
        {"iota(3, 0)", "iota: axis 0 is out of range for rank 0", KILN_ERR_AXIS},
        {"x.shape[3]", "axis 3 is out of range for rank 2", KILN_ERR_AXIS},
        {"split(v, len(v) // 3)", "must be clear from the text", KILN_ERR_ARGUMENT},
        {"sum(x, axis=x.ndim - 1)", "must be clear from the text", KILN_ERR_ARGUMENT},
        {"x.shape[1:]", "a number that the text tells chooses an extent", KILN_ERR_ARGUMENT},
        {"indices(x.shape)", "this is a shape: write x.shape[0]", KILN_ERR_ARGUMENT},
        {"len(x, v)", "len takes one array", KILN_ERR_ARGUMENT_COUNT}};
    static const char *const names[] = {"x", "v"};
    const int64_t shape[] = {ROWS, COLUMNS}, length[] = {LENGTH};
    test_env *t = *state;
    kiln_array *x = graph_array(t, KILN_FLOAT64, 2, shape, NULL);
    kiln_array *v = graph_array(t, KILN_FLOAT64, 1, length, NULL);

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *out = NULL;
        kiln_status status =
            kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err);
        if (status == KILN_OK)
            status = kiln_call(g, &t->err, x, v, &out);
        assert_int_equal(status, cases[k].status);
        assert_non_null(strstr(t->err.message, cases[k].says));
        assert_null(out);
        kiln_error_clear(&t->err);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
    kiln_array_release(v);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_extents__numbers_of_shapes), TEST(test_extents__numbers_are_weak),
        TEST(test_extents__shapes_bounds_and_counts), TEST(test_extents__one_kernel_of_the_cpu_device_serves_all_shapes),
        TEST(test_extents__mistakes)};
    return test_env_main(argc, argv, "test_extents", tests, COUNT(tests));
}
