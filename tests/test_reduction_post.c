/*
 * test_reduction_post.c - inputs of `post`: arrays with an element for each result.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <stdlib.h>

#include "graph_env.h"

static kiln_reduction *define(test_env *t, const char *in, const char *map, const char *post)
{
    kiln_reduction *made = NULL;
    OK(t, kiln_reduction_create(t->ctx, in, "T y", map, "a + b", post, "0", NULL, &made, &t->err));
    return made;
}

/* Sums of squares along one axis of three, scaled and shifted by arrays of the result's shape. */
static void check_scaled(test_env *t, kiln_reduction *op, const int64_t *shape, int axis)
{
    const int64_t kept[] = {axis == 0 ? 1 : shape[0], axis == 1 ? 1 : shape[1],
                            axis == 2 ? 1 : shape[2]};
    const int64_t results = kept[0] * kept[1] * kept[2], size = shape[0] * shape[1] * shape[2];
    kiln_reduction_call_options opts = KILN_REDUCTION_CALL_OPTIONS_INIT;
    double *xs = calloc((size_t)size, sizeof *xs), *ks = calloc((size_t)results, sizeof *ks);
    double *got = calloc((size_t)results, sizeof *got), *want = calloc((size_t)results, sizeof *want);
    kiln_array *x = graph_array(t, KILN_FLOAT32, 3, shape, xs), *y = NULL;
    kiln_array *k = graph_array(t, KILN_FLOAT64, 3, kept, ks), *back = NULL;
    opts.keepdims = true;
    opts.axes = KILN_AXES(axis);
    OK(t, kiln_array_flip(k, axis == 0 ? 1 : 0, &back, &t->err)); /* its own strides count */
    OK(t, kiln_array_to_host(back, ks, (size_t)results * sizeof *ks, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(back), kiln_arg_float(0.5),
                             kiln_arg_out(&y)};
    OK(t, kiln_reduction_run(op, args, 4, &opts, &t->err));
    for (int64_t e = 0; e < size; e++) {
        const int64_t a = e / (shape[1] * shape[2]), b = e / shape[2] % shape[1], c = e % shape[2];
        want[((axis == 0 ? 0 : a) * kept[1] + (axis == 1 ? 0 : b)) * kept[2] +
             (axis == 2 ? 0 : c)] += xs[e] * xs[e];
    }
    graph_fetch(t, y, got, (size_t)results);
    for (size_t r = 0; r < (size_t)results; r++)
        graph_near(got[r], want[r] * ks[r] + 0.5, 1e-4, r);
    kiln_array_release(x), kiln_array_release(k), kiln_array_release(back), kiln_array_release(y);
    free(xs), free(ks), free(got), free(want);
}

static void test_reduction_post__has_inputs_with_an_element_for_each_result(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = define(t, "T x, float64 scale, T shift", "x * x", "y = a * scale + shift");
    check_scaled(t, op, (int64_t[]){5, 40, 70}, 2);
    check_scaled(t, op, (int64_t[]){5, 40, 70}, 1);
    check_scaled(t, op, (int64_t[]){2, 3, 70000}, 2); /* several blocks a result */
    check_scaled(t, op, (int64_t[]){2, 1, 300}, 0);
    kiln_reduction_destroy(op);
}

static void test_reduction_post__refuses_inputs_with_more_than_results(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = define(t, "T x, T scale", "x", "y = a * scale");
    kiln_array *x = graph_array(t, KILN_FLOAT32, 2, (int64_t[]){4, 6}, NULL), *y = NULL;
    kiln_array *none = graph_array(t, KILN_FLOAT32, 2, (int64_t[]){4, 0}, NULL);
    kiln_array *column = graph_array(t, KILN_FLOAT32, 2, (int64_t[]){4, 1}, NULL);
    kiln_reduction_call_options opts = KILN_REDUCTION_CALL_OPTIONS_INIT;
    double got[4], scale[4];
    opts.axes = KILN_AXES(1);
    const kiln_arg wrong[] = {kiln_arg_array(x), kiln_arg_array(x), kiln_arg_out(&y)};
    assert_int_equal(kiln_reduction_run(op, wrong, 3, &opts, &t->err), KILN_ERR_SHAPE);
    CHECK(strstr(t->err.message, "`scale`") != NULL && strstr(t->err.message, "(4, 6)") != NULL,
          "%s", t->err.message);
    kiln_error_clear(&t->err);
    assert_null(y);
    const kiln_arg hollow[] = {kiln_arg_array(none), kiln_arg_array(none), kiln_arg_out(&y)};
    assert_int_equal(kiln_reduction_run(op, hollow, 3, &opts, &t->err), KILN_ERR_SHAPE);
    kiln_error_clear(&t->err);

    /* Of no elements it is the identity that is scaled. */
    const kiln_arg empty[] = {kiln_arg_array(none), kiln_arg_array(column), kiln_arg_out(&y)};
    OK(t, kiln_reduction_run(op, empty, 3, &opts, &t->err));
    graph_fetch(t, y, got, 4), graph_fetch(t, column, scale, 4);
    for (size_t k = 0; k < 4; k++)
        graph_near(got[k], 0 * scale[k], 0, k);
    kiln_array_release(x), kiln_array_release(none), kiln_array_release(column);
    kiln_array_release(y);
    kiln_reduction_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction_post__has_inputs_with_an_element_for_each_result),
        TEST(test_reduction_post__refuses_inputs_with_more_than_results),
    };
    return test_env_main(argc, argv, "test_reduction_post", tests, COUNT(tests));
}
