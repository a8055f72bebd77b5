/*
 * test_bad_input.c - bad input of indexing, selecting, rearranging, sorting and random numbers: each mistake
 * has an error of its own, which says what was given, and no output is changed.
 */
#include <string.h>

#include "test_env.h"

enum { LENGTH = 6, PATTERN = 0x5a };

/* Arrays that may be named, and one that results would go to. */
typedef struct arrays {
    kiln_array *x, *n, *i, *few, *y, *c,
        *m;        /* x of (2, 3), the others vectors of 6, `few` and `m` of 4 */
    kiln_array *z; /* of bytes of a pattern */
} arrays;

static kiln_array *of_numbers(test_env *t, kiln_dtype dtype, int64_t count, int64_t step)
{
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, (double)(count * step), (double)step, &x,
                            &t->err));
    OK(t, kiln_array_cast(x, dtype, &y, &t->err));
    kiln_array_release(x);
    return y;
}

static void make(test_env *t, arrays *a)
{
    const int64_t shape[] = {2, 3}, six = LENGTH;
    unsigned char pattern[8 * LENGTH];

    memset(pattern, PATTERN, sizeof pattern);
    a->x = test_ramp(t, 2, shape);
    a->n = of_numbers(t, KILN_INT32, LENGTH, 1);
    a->i = of_numbers(t, KILN_INT64, LENGTH, 1);
    a->few = of_numbers(t, KILN_INT32, 4, 1);
    a->y = of_numbers(t, KILN_FLOAT32, LENGTH, 1);
    a->c = of_numbers(t, KILN_COMPLEX64, LENGTH, 1);
    a->m = of_numbers(t, KILN_BOOL, 4, 1);
    a->z = NULL;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &six, pattern, NULL, &a->z, &t->err));
}

static void drop(arrays *a)
{
    kiln_array_release(a->x);
    kiln_array_release(a->n);
    kiln_array_release(a->i);
    kiln_array_release(a->few);
    kiln_array_release(a->y);
    kiln_array_release(a->c);
    kiln_array_release(a->m);
    kiln_array_release(a->z);
}

static void check_unchanged(test_env *t, const kiln_array *z, const char *what)
{
    unsigned char bytes[8 * LENGTH];

    OK(t, kiln_array_to_host(z, bytes, sizeof bytes, NULL, &t->err));
    for (size_t k = 0; k < sizeof bytes; k++)
        CHECK(bytes[k] == PATTERN, "%s: byte %d of the output was changed", what, (int)k);
}

static const struct {
    const char *text;
    kiln_status status;
    const char *says;
} expressions[] = {
    /* index arrays that do not broadcast, float indices */
    {"x[i, few]", KILN_ERR_SHAPE, "shape (4,) do not broadcast with those before them, of shape (6,)"},
    {"x[y]", KILN_ERR_DTYPE, "indices must be integers, and these are float32"},
    {"take(n, y)", KILN_ERR_DTYPE, "indices must be integers, and these are float32"},
    {"take(n, i, axis=1)", KILN_ERR_AXIS, "axis 1"},
    {"take_along_axis(x, i, 0)", KILN_ERR_SHAPE, "1"},
    /* more numbers than there are, probabilities of another number, no order, no key */
    {"choice(1, 6, 7, replace=False, p=y)", KILN_ERR_ARGUMENT,
     "n without replacement must be at least 7, and is 6"},
    {"choice(1, 5, 2, p=y)", KILN_ERR_SHAPE, "broadcast"},
    {"shuffle(1, y[0])", KILN_ERR_SHAPE, "an array without axes has no order"},
    {"shuffle(n, y)", KILN_ERR_DTYPE, "the key is a whole number"},
    /* parts that are not equal, windows that are too wide, rows that do not fit, choices */
    {"a, b, c, d = split(n, 4); a + b + c + d", KILN_ERR_SHAPE,
     "6 elements along axis 0 cannot be split into 4 equal parts"},
    {"a, b = array_split(n, 2, axis=1); a + b", KILN_ERR_AXIS, "axis 1"},
    {"sliding_window_view(few, 5)", KILN_ERR_SHAPE,
     "a window of 5 elements along axis 0, which has 4"},
    {"sliding_window_view(few, 2, axis=2)", KILN_ERR_AXIS, "axis 2"},
    {"block([[n, few], [n]])", KILN_ERR_SHAPE, "block: operand 2 has shape (1, 6)"},
    {"choose(y, [n, n])", KILN_ERR_DTYPE, "indices must be integers, and these are float32"},
    {"choose(few, [n, n])", KILN_ERR_SHAPE, "broadcast"},
    {"a, b = broadcast_arrays(n, few); a + b", KILN_ERR_SHAPE, "broadcast"},
    {"diag(x[None])", KILN_ERR_SHAPE, "an array with one or two axes"},
    {"lexsort([n, few])", KILN_ERR_SHAPE, "that of key 2 is (4,), that of key 1 (6,)"},
    /* masks of the wrong shape */
    {"sum(n[m])", KILN_ERR_SHAPE, "mask of shape (4,) does not fit an array of shape (6,)"},
    {"sum(compress(n > -1, few))", KILN_ERR_SHAPE, "mask of shape (6,) does not fit an array of shape (4,)"},
    /* negative repetitions, paddings of the wrong rank */
    {"repeat(i, -1)", KILN_ERR_ARGUMENT, "the number of repetitions is -1"},
    {"tile(i, -2)", KILN_ERR_ARGUMENT, "the number of repetitions is -2"},
    {"pad(n, (1, 1, 1, 1))", KILN_ERR_SHAPE, "rank 1 takes 2"},
    {"pad(n, (1, 1, 1))", KILN_ERR_ARGUMENT, "3 are given"},
    {"pad(n, -1)", KILN_ERR_ARGUMENT, "-1 is negative"},
    {"concatenate([n, x])", KILN_ERR_SHAPE, "operand 2 has shape (2, 3)"},
    {"gradient(n[:1])", KILN_ERR_AXIS, "index 1 is out of range for axis 0, which has 1 elements"},
    {"roll(n, 1, axis=1)", KILN_ERR_AXIS, "axis 1"},
    /* sorts */
    {"v, p = topk(i, 7); v", KILN_ERR_ARGUMENT, "k is 7, and a row has 6 elements"},
    {"partition(i, 6)", KILN_ERR_ARGUMENT, "kth is 6, and a row has 6 elements"},
    {"partition(i, (1, -7))", KILN_ERR_AXIS, "kth is -7, and a row has 6 elements"},
    {"sort(i, 1)", KILN_ERR_AXIS, "axis 1"},
    {"int64(quantile(c, 0.5) + i)", KILN_ERR_DTYPE, "complex"},
    {"int64(quantile(y, 1.5) + i)", KILN_ERR_RANGE, "1.5"},
    {"int64(quantile(n[:0], 0.5) + i)", KILN_ERR_SHAPE, "no elements"},
    {"searchsorted(x, n)", KILN_ERR_SHAPE, "and this one has 2"},
    {"digitize(c, y)", KILN_ERR_DTYPE, "complex"},
    /* parameters of random numbers */
    {"int64(bernoulli(3, 6, 2))", KILN_ERR_RANGE, "2"},
    {"int64(normal(3, 6, 0, -1))", KILN_ERR_RANGE, "-1"},
    {"integers(3, 6, 5, 5)", KILN_ERR_RANGE, "5"},
    {"int64(integers(3, 6, 0, 300, uint8))", KILN_ERR_RANGE, "300 does not fit uint8"},
};

static void test_bad_input__of_expressions(void **state)
{
    static const char *const names[] = {"x", "n", "i", "few", "y", "c", "bool m"};
    test_env *t = *state;
    arrays a;

    make(t, &a);
    for (size_t k = 0; k < COUNT(expressions); k++) {
        kiln_graph *g = NULL;
        kiln_status status = kiln_graph_parse(t->ctx, expressions[k].text, names, COUNT(names),
                                              NULL, &g, NULL, &t->err);
        const kiln_arg args[] = {kiln_arg_array(a.x),   kiln_arg_array(a.n), kiln_arg_array(a.i),
                                 kiln_arg_array(a.few), kiln_arg_array(a.y), kiln_arg_array(a.c),
                                 kiln_arg_array(a.m),   kiln_arg_array(a.z)};
        if (status == KILN_OK)
            status = kiln_graph_run(g, args, COUNT(args), NULL, &t->err);
        CHECK(status == expressions[k].status &&
                  strstr(t->err.message, expressions[k].says) != NULL,
              "%s: %s: %s", expressions[k].text, kiln_status_name(status), t->err.message);
        kiln_error_clear(&t->err);
        kiln_graph_destroy(g);
        check_unchanged(t, a.z, expressions[k].text);
    }
    drop(&a);
}

/* Functions that have an output of their own. */
static void test_bad_input__of_calls(void **state)
{
    test_env *t = *state;
    arrays a;
    kiln_array *none = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    const double q = -0.5;

    make(t, &a);
    const kiln_subscript apart[] = {kiln_subscript_array(a.i), kiln_subscript_array(a.few)};
    FAILS(t, KILN_ERR_SHAPE, kiln_array_index(a.x, apart, 2, NULL, &a.z, &t->err), "broadcast");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_take(a.n, a.y, 0, NULL, &a.z, &t->err), "float32");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_scatter(a.x, apart, 2, kiln_arg_int(0), KILN_SCATTER_SET, NULL, &t->err),
          "index array 2 of shape (4,)", "of shape (6,)");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_topk(a.i, 7, &o, &a.z, &a.z, &t->err), "k is 7", "6");
    FAILS(t, KILN_ERR_RANGE,
          kiln_array_quantile(a.y, &q, 1, KILN_QUANTILE_LINEAR, &o, &a.z, &t->err), "-0.5");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_scatter(a.z, apart, 1, kiln_arg_array(a.few), KILN_SCATTER_ADD, NULL, &t->err),
          "(4,)");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_place(a.z, a.m, a.i, &t->err), "4 elements", "6");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_put_along_axis(a.z, a.x, kiln_arg_int(1), 0, NULL, &t->err),
          "put_along_axis: the indices have 2 axes, the array 1");
    check_unchanged(t, a.z, "calls");
    /* Functions whose results are new arrays. */
    const kiln_arg repeated[] = {kiln_arg_array(a.n)};
    const int64_t less[] = {-1}, wide[] = {KILN_PAD_EDGE, 1, 1, 1, 1};
    FAILS(t, KILN_ERR_SHAPE, kiln_array_compress(a.n, a.m, &none, NULL, &t->err), "4 elements",
          "6");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_REPEAT, repeated, 1, less, 1, &none, &t->err), "-1");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_rearrange(KILN_REARRANGE_PAD, repeated, 1, wide, 5, &none, &t->err),
          "rank 1 takes 2");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_bincount(a.few, -1, &none, &t->err), "-1");
    /* Calls that are graphs or expressions inside say nothing of lines and columns. */
    const kiln_subscript two[] = {kiln_subscript_ellipsis(), kiln_subscript_ellipsis()};
    const kiln_array *choices[] = {a.n, a.n};
    CHECK(kiln_array_choose(a.y, choices, 2, KILN_INDEX_CHECK, &none, &t->err) == KILN_ERR_DTYPE &&
              strncmp(t->err.message, "choose: indices must be integers", 32) == 0,
          "%s", t->err.message);
    kiln_error_clear(&t->err);
    CHECK(kiln_array_index(a.x, two, 2, NULL, &none, &t->err) == KILN_ERR_AXIS &&
              strcmp(t->err.message, "index: there may be one `...`") == 0,
          "%s", t->err.message);
    kiln_error_clear(&t->err);
    assert_null(none);
    drop(&a);
}

/* Requirements on values, which whoever waits for the device is told. */
static void test_bad_input__of_values_in_expressions(void **state)
{
    static const struct {
        const char *text, *says;
    } needs[] = {
        {"h, e = histogram(y, 3, range=(3, 1)); h", "the end of the range, 1, is below its begin"},
        {"histogram_bin_edges(y, roll(y, 2))", "edge 1 is larger than the next one"},
        {"digitize(n, roll(y, 2))", "and the next one do not"},
        {"bincount(few - 1, length=9)", "one is -1"},
    };
    static const char *const names[] = {"n", "few", "y"};
    test_env *t = *state;
    arrays a;

    make(t, &a);
    for (size_t k = 0; k < COUNT(needs); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        const kiln_arg args[] = {kiln_arg_array(a.n), kiln_arg_array(a.few), kiln_arg_array(a.y),
                                 kiln_arg_out(&z)};
        OK(t, kiln_graph_parse(t->ctx, needs[k].text, names, COUNT(names), NULL, &g, NULL, &t->err));
        kiln_status status = kiln_graph_run(g, args, COUNT(args), NULL, &t->err);
        if (status == KILN_OK)
            status = kiln_context_synchronize(t->ctx, &t->err);
        CHECK(status == KILN_ERR_RANGE && strstr(t->err.message, needs[k].says) != NULL, "%s: %s: %s",
              needs[k].text, kiln_status_name(status), t->err.message);
        kiln_error_clear(&t->err);
        kiln_array_release(z);
        kiln_graph_destroy(g);
    }
    drop(&a);
}

/* What only the device knows is told by what waits for it, with the value, its position and the extent. */
static void test_bad_input__of_indices_and_bins(void **state)
{
    test_env *t = *state;
    static const float falling[] = {0, 2, 1, 3};
    const int64_t four = 4;
    arrays a;
    kiln_array *edges = NULL, *none = NULL, *once = NULL;

    make(t, &a);
    OK(t, kiln_array_slice(a.i, 0, 0, 5, 1, &once, &t->err)); /* of several any may be told */
    const kiln_subscript at[] = {kiln_subscript_array(once)};
    FAILS(t, KILN_ERR_INDEX,
          (kiln_array_scatter(a.few, at, 1, kiln_arg_int(9), KILN_SCATTER_SET, NULL, &t->err) !=
                   KILN_OK
               ? t->err.status
               : kiln_context_synchronize(t->ctx, &t->err)),
          "index 4", "4 elements", "index array 1");
    kiln_array_release(once);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &four, falling, NULL, &edges, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_histogram(a.y, edges, &none, &t->err), "2", "1");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_digitize(a.y, edges, false, &none, &t->err), "2");
    FAILS(t, KILN_ERR_DTYPE, kiln_array_histogram(a.c, edges, &none, &t->err), "complex");
    assert_null(none);
    kiln_array_release(edges);
    drop(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bad_input__of_expressions),
        TEST(test_bad_input__of_calls),
        TEST(test_bad_input__of_values_in_expressions),
        TEST(test_bad_input__of_indices_and_bins),
    };
    return test_env_main(argc, argv, "test_bad_input", tests, COUNT(tests));
}
