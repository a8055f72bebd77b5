/*
 * test_choosing.c - masks in expressions, against plain loops: x[mask], sums of it, nonzero() and such.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { ROWS = 30, COLUMNS = 41, SIZE = ROWS * COLUMNS };

typedef struct inputs {
    int32_t x[SIZE];
    bool m[SIZE];
    kiln_array *array, *mask;
} inputs;

static void make(test_env *t, inputs *in)
{
    const int64_t shape[] = {ROWS, COLUMNS};

    for (int k = 0; k < SIZE; k++) {
        in->x[k] = (int32_t)test_random_below(t, 21) - 10;
        in->m[k] = test_random_below(t, 3) == 0;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, in->x, NULL, &in->array, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 2, shape, in->m, NULL, &in->mask, &t->err));
}

static void drop(inputs *in)
{
    kiln_array_release(in->array);
    kiln_array_release(in->mask);
}

/* Run an expression of x and the mask m into `count` outputs. */
static kiln_graph *run(test_env *t, const inputs *in, const char *text, kiln_array **out,
                       size_t count)
{
    static const char *const names[] = {"x", "bool m"};
    kiln_arg args[10] = {kiln_arg_array(in->array), kiln_arg_array(in->mask)};
    kiln_graph *graph = NULL;
    size_t results = 0;

    memset(out, 0, count * sizeof out[0]);
    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &graph, &results, &t->err));
    assert_int_equal(results, count);
    for (size_t k = 0; k < count; k++)
        args[2 + k] = kiln_arg_out(&out[k]);
    OK(t, kiln_graph_run(graph, args, 2 + count, NULL, &t->err));
    return graph;
}

static int64_t number(test_env *t, const kiln_array *a)
{
    int64_t value = -1;

    assert_int_equal(kiln_array_rank(a), 0);
    assert_int_equal(kiln_array_dtype(a), KILN_INT64);
    OK(t, kiln_array_to_host(a, &value, sizeof value, NULL, &t->err));
    return value;
}

/* The first elements of an output, of `itemsize` bytes, as many as the output behind it says. */
static void *first(test_env *t, kiln_array *const *out, size_t itemsize, int64_t *count)
{
    kiln_array *cut = NULL;

    *count = number(t, out[1]);
    OK(t, kiln_array_first(out[0], out[1], &cut, &t->err));
    const size_t bytes = (size_t)kiln_array_size(cut) * itemsize;
    void *const got = malloc(bytes + 1);
    assert_non_null(got);
    OK(t, kiln_array_to_host(cut, got, bytes, NULL, &t->err));
    kiln_array_release(cut);
    return got;
}

static void release(kiln_array **out, size_t count)
{
    for (size_t k = 0; k < count; k++)
        kiln_array_release(out[k]);
}

/* Results with a length of their own are two outputs each, others one. */
/* The axis of parts is that of the text; other results have the first one. */
static void test_choosing__results_count_along_an_axis(void **state)
{
    static const int axes[] = {-1, 0, 0, 0, 0};
    static const bool counted[] = {true, false, true, false, false};
    test_env *t = *state;
    kiln_graph *graph = NULL;
    size_t results = 0;

    OK(t, kiln_graph_parse(t->ctx, "unique(x, return_index=True, return_inverse=True, axis=-1)",
                           (const char *const[]){"x"}, 1, NULL, &graph, &results, &t->err));
    assert_int_equal(results, COUNT(axes));
    for (size_t k = 0; k < COUNT(axes); k++) {
        assert_int_equal(kiln_graph_result_axis(graph, k), axes[k]);
        assert_int_equal(kiln_graph_result_is_counted(graph, k), counted[k]);
    }
    assert_int_equal(kiln_graph_result_axis(NULL, 0), 0);
    kiln_graph_destroy(graph);
}

static void test_choosing__results(void **state)
{
    test_env *t = *state;
    inputs in;
    kiln_array *out[5];
    int64_t positive, chosen, at = 0, also = 0;

    make(t, &in);
    kiln_graph *const graph = run(t, &in, "y = x[m]; x[x > 0], x * 2, y * 3 - 1", out, COUNT(out));
    static const bool counted[] = {true, false, false, true, false};
    for (size_t k = 0; k < COUNT(out); k++)
        assert_int_equal(kiln_graph_result_is_counted(graph, k), counted[k]);
    int32_t *const a = first(t, &out[0], sizeof *a, &positive);
    int32_t *const b = first(t, &out[3], sizeof *b, &chosen);
    for (int k = 0; k < SIZE; k++) {
        if (in.x[k] > 0)
            assert_true(at < positive && a[at] == in.x[k]);
        at += in.x[k] > 0;
        if (in.m[k])
            assert_true(also < chosen && b[also] == in.x[k] * 3 - 1);
        also += in.m[k];
    }
    assert_int_equal(at, positive);
    assert_int_equal(also, chosen);
    free(a);
    free(b);
    release(out, COUNT(out));
    kiln_graph_destroy(graph);
    drop(&in);
}

/* Sums of chosen elements are one kernel, which puts nothing next to each other. */
static void test_choosing__reductions_need_no_compaction(void **state)
{
    test_env *t = *state;
    inputs in;
    kiln_array *out[4];
    int64_t sum = 0, twice = 0, nonzero = 0, product = 1;
    size_t kernels = 0;

    make(t, &in);
    for (int k = 0; k < SIZE; k++) {
        sum += in.m[k] ? in.x[k] : 0;
        twice += in.x[k] > 2 ? 2 * in.x[k] + 1 : 0;
        nonzero += in.m[k] && in.x[k] != 0;
        product *= in.x[k] > 9 ? in.x[k] / 10 : 1;
    }
    kiln_graph *graph = run(t, &in,
                            "x[m].sum(), sum(x[x > 2] * 2 + 1), count_nonzero(x[m]), "
                            "prod(x[x > 9] // 10)",
                            out, COUNT(out));
    assert_int_equal(number(t, out[0]), sum);
    assert_int_equal(number(t, out[1]), twice);
    assert_int_equal(number(t, out[2]), nonzero);
    assert_int_equal(number(t, out[3]), product);
    release(out, COUNT(out));
    kiln_graph_destroy(graph);
    graph = run(t, &in, "x[m].sum()", out, 1);
    const kiln_arg args[] = {kiln_arg_array(in.array), kiln_arg_array(in.mask),
                             kiln_arg_array(out[0])};
    OK(t, kiln_graph_kernel_count(graph, args, COUNT(args), &kernels, &t->err));
    assert_int_equal(kernels, 1);
    release(out, 1);
    kiln_graph_destroy(graph);
    drop(&in);
}

static void test_choosing__truth_values(void **state)
{
    test_env *t = *state;
    inputs in;
    kiln_array *out[2];
    bool any = false, all = true, got[2];

    make(t, &in);
    for (int k = 0; k < SIZE; k++) {
        any = any || (in.m[k] && in.x[k] > 9);
        all = all && (!in.m[k] || in.x[k] > -10);
    }
    kiln_graph *const graph = run(t, &in, "any(x[m] > 9), all(x[m] > -10)", out, COUNT(out));
    for (int k = 0; k < 2; k++)
        OK(t, kiln_array_to_host(out[k], &got[k], sizeof got[k], NULL, &t->err));
    assert_int_equal(got[0], any);
    assert_int_equal(got[1], all);
    release(out, COUNT(out));
    kiln_graph_destroy(graph);
    drop(&in);
}

/* Numbers without axes may stand beside chosen elements, sums of them too. */
static void test_choosing__beside_single_values(void **state)
{
    test_env *t = *state;
    inputs in;
    kiln_array *out[2];
    int64_t sum = 0, count, at = 0;

    make(t, &in);
    for (int k = 0; k < SIZE; k++)
        sum += in.m[k] ? in.x[k] : 0;
    kiln_graph *const graph = run(t, &in, "y = x[m]; y * 2 - sum(y)", out, COUNT(out));
    int64_t *const got = first(t, out, sizeof *got, &count);
    for (int k = 0; k < SIZE; k++) {
        if (!in.m[k])
            continue;
        assert_true(at < count);
        assert_int_equal(got[at], 2 * in.x[k] - sum);
        at++;
    }
    assert_int_equal(at, count);
    free(got);
    release(out, COUNT(out));
    kiln_graph_destroy(graph);
    drop(&in);
}

static void test_choosing__places(void **state)
{
    test_env *t = *state;
    inputs in;
    kiln_array *out[8];
    int64_t count[4], at = 0, also = 0;

    make(t, &in);
    kiln_graph *const graph = run(
        t, &in, "flatnonzero(x), argwhere(x), nonzero(ravel(x)), extract(m, x)", out, COUNT(out));
    int64_t *const flat = first(t, &out[0], sizeof *flat, &count[0]);
    int64_t *const rows = first(t, &out[2], sizeof *rows, &count[1]);
    int64_t *const again = first(t, &out[4], sizeof *again, &count[2]);
    int32_t *const chosen = first(t, &out[6], sizeof *chosen, &count[3]);
    for (int k = 0; k < SIZE; k++) {
        if (in.x[k] != 0) {
            assert_true(at < count[0]);
            assert_int_equal(flat[at], k);
            assert_int_equal(again[at], k);
            assert_int_equal(rows[2 * at], k / COLUMNS);
            assert_int_equal(rows[2 * at + 1], k % COLUMNS);
            at++;
        }
        if (in.m[k])
            assert_true(also < count[3] && chosen[also] == in.x[k]);
        also += in.m[k];
    }
    for (int k = 0; k < 3; k++)
        assert_int_equal(count[k], at);
    assert_int_equal(count[3], also);
    free(flat);
    free(rows);
    free(again);
    free(chosen);
    release(out, COUNT(out));
    kiln_graph_destroy(graph);
    drop(&in);
}

static void test_choosing__what_is_refused(void **state)
{
    test_env *t = *state;
    static const char *const names[] = {"x", "bool m"};
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } texts[] = {
        {"x[m] + x[x > 0]", KILN_ERR_UNSUPPORTED, "what the same mask chooses"},
        {"expand_dims(x[m], 0)", KILN_ERR_ARGUMENT, "needed here, and this is what a mask chooses"},
        {"expand_dims(x[m], 0)", KILN_ERR_ARGUMENT, "as in f(x)[mask], or write where(mask, x, value)"},
        {"topk(x[m], 2, axis=0)", KILN_ERR_UNSUPPORTED, "not known along the axis that they are counted"},
        {"sort(x[m], axis=0, key=x)", KILN_ERR_UNSUPPORTED, "takes no such arguments along the axis"},
        {"min(x[:, m], axis=-1)", KILN_ERR_UNSUPPORTED, "counted from the first one, as axis=1"},
        {"x @ x[m]", KILN_ERR_ARGUMENT, "this is what a mask chooses"},
        {"x[m] @ x[m]", KILN_ERR_UNSUPPORTED, "dot(x[m], y[m]) is known of vectors"},
        {"x[m][:, m]", KILN_ERR_UNSUPPORTED, "two axes would have lengths"},
        {"x[m].shape", KILN_ERR_ARGUMENT, "this is a shape"},
        {"nonzero(x)[1:]", KILN_ERR_ARGUMENT, "of which a whole number chooses one"},
        {"x[m][None]", KILN_ERR_UNSUPPORTED, "the first subscript is a number"},
        {"x[m][x > 0]", KILN_ERR_UNSUPPORTED, "only a condition on those same elements"},
        {"x[m][::0]", KILN_ERR_UNSUPPORTED, "the step is 0"},
        {"x[m].nanargmax()", KILN_ERR_UNSUPPORTED, "nanargmax of what a mask chooses"},
        {"stack([x[m], x])", KILN_ERR_UNSUPPORTED, "only what one mask chooses may stand side by side"},
        {"concatenate([x[m], x], axis=-1)", KILN_ERR_UNSUPPORTED, "counted from the first one"},
        {"vstack([x[m], x[m]])", KILN_ERR_UNSUPPORTED, "write concatenate() for one behind the other"},
        {"block([x[m], x])", KILN_ERR_UNSUPPORTED, "block takes no list with elements whose number"},
        {"x[argwhere(m), 0]", KILN_ERR_UNSUPPORTED, "they form no vector"},
        {"x.at[flatnonzero(m)].add(1)", KILN_ERR_UNSUPPORTED, "change nothing"},
        {"take(x, flatnonzero(m), axis=-1)", KILN_ERR_AXIS, "counted from the first one"},
        {"sort(argwhere(m))", KILN_ERR_ARGUMENT, "whose length only the device knows"},
        {"x[m, [0, 1]]", KILN_ERR_UNSUPPORTED, "write x[m][:, i] for columns of its rows"},
        {"insert(x, m, 1)", KILN_ERR_UNSUPPORTED, "write the places as numbers or as an array"},
        {"x.at[m, 0].set(1)", KILN_ERR_UNSUPPORTED, "write where(mask, value, x)"},
        {"flatnonzero(x) + flatnonzero(m)", KILN_ERR_UNSUPPORTED, "known to the device alone"},
        {"compress(m)", KILN_ERR_ARGUMENT_COUNT, "takes 2 arguments"},
        {"nonzero(x, axis=0)", KILN_ERR_NAME, "no axis"},
        {"column_stack([x[m], x[m]], axis=None)", KILN_ERR_NAME, "column_stack takes no axis"},
        {"hstack([x[m], x[m]], axis=0)", KILN_ERR_NAME, "hstack takes no axis"},
        {"concatenate([x[m], x[m]], 0, 1)", KILN_ERR_ARGUMENT_COUNT, "does not take 3 arguments"},
        {"append(x[m], x[m], 0, 1)", KILN_ERR_ARGUMENT_COUNT, "does not take 4 arguments"},
    };
    kiln_graph *graph = NULL;

    for (size_t k = 0; k < COUNT(texts); k++)
        FAILS(t, texts[k].status,
              kiln_graph_parse(t->ctx, texts[k].text, names, 2, NULL, &graph, NULL, &t->err),
              texts[k].says);
}

/* Rows that a mask chooses: sums along either axis, what is computed of both, and places along two axes. */
static void test_choosing__parts(void **state)
{
    static const char *const texts[] = {"r = x[m[:, 0]]; sum(r, axis=0)", "r = x[m[:, 0]]; sum(r, axis=1)",
                                        "r = x[m[:, 0]]; max(r, axis=0) - r[0]",
                                        "r = x[m[:, 0]]; sum((r - x[0])[:, 3])",
                                        "i, j = nonzero(x * m); sum(i * 100 + j)", "len(x[m[:, 0]])"};
    test_env *t = *state;
    inputs in;

    make(t, &in);
    in.m[COLUMNS] = true; /* one row at least */
    drop(&in);
    const int64_t shape[] = {ROWS, COLUMNS};
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, in.x, NULL, &in.array, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 2, shape, in.m, NULL, &in.mask, &t->err));
    int64_t down[COLUMNS] = {0}, right[ROWS] = {0}, most[COLUMNS], less = 0, places = 0, rows = 0;
    const int32_t *first = NULL;
    for (int i = 0; i < ROWS; i++) {
        const int32_t *row = in.x + i * COLUMNS;
        for (int j = 0; j < COLUMNS; j++)
            places += row[j] != 0 && in.m[i * COLUMNS + j] ? i * 100 + j : 0;
        if (!in.m[i * COLUMNS])
            continue;
        first = first == NULL ? row : first;
        less += row[3] - in.x[3];
        for (int j = 0; j < COLUMNS; j++) {
            most[j] = rows == 0 || row[j] > most[j] ? row[j] : most[j];
            down[j] += row[j];
            right[rows] += row[j];
        }
        rows++;
    }
    for (int j = 0; j < COLUMNS; j++)
        most[j] -= first[j];
    const int64_t *const wanted[] = {down, right, most, &less, &places, &rows};
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_array *out[2] = {NULL}, *wide = NULL;
        kiln_graph *const graph = run(t, &in, texts[k], out, k == 1 ? 2 : 1);
        int64_t got[COLUMNS + ROWS];
        OK(t, kiln_array_cast(out[0], KILN_INT64, &wide, &t->err));
        const size_t bytes = (size_t)kiln_array_size(wide) * sizeof *got;
        OK(t, kiln_array_to_host(wide, got, bytes, NULL, &t->err));
        assert_true(k != 1 || number(t, out[1]) == rows);
        assert_memory_equal(got, wanted[k], k == 1 ? (size_t)rows * sizeof *got : bytes);
        kiln_array_release(wide);
        release(out, k == 1 ? 2 : 1);
        kiln_graph_destroy(graph);
    }
    drop(&in);
}

/* What only the shapes of a call show. */
static void test_choosing__what_calls_refuse(void **state)
{
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } texts[] = {
        {"x[m[0]]", KILN_ERR_SHAPE, "a mask of shape (41,) does not fit an array of shape (30, 41)"},
        {"sum(x[m[:, :1]])", KILN_ERR_SHAPE, "(30, 1)"},
        {"sort(x[m[:, 0]])", KILN_ERR_SHAPE,
         "a mask of shape (30,) chooses parts of an array of shape (30, 41), which form no vector: axis=1"},
        {"x[m] + x", KILN_ERR_SHAPE,
         "column 8: mask: an array of shape (30, 41) stands beside elements whose number only"},
        {"sum(x[m], axis=-1)", KILN_ERR_AXIS, "write axis=0"},
        {"i, j, k = nonzero(x); i", KILN_ERR_AXIS, "2 axes, and 3 are needed"},
        {"nonzero(x + m)", KILN_ERR_AXIS, "argwhere"},
    };
    static const char *const names[] = {"x", "bool m"};
    test_env *t = *state;
    inputs in;

    make(t, &in);
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_array *out[2] = {NULL, NULL};
        kiln_graph *graph = NULL;
        size_t results = 0;
        OK(t, kiln_graph_parse(t->ctx, texts[k].text, names, 2, NULL, &graph, &results, &t->err));
        const kiln_arg args[] = {kiln_arg_array(in.array), kiln_arg_array(in.mask),
                                 kiln_arg_out(&out[0]), kiln_arg_out(&out[1])};
        FAILS(t, texts[k].status, kiln_graph_run(graph, args, 2 + results, NULL, &t->err), texts[k].says);
        assert_null(out[0]);
        assert_null(out[1]);
        kiln_graph_destroy(graph);
    }
    drop(&in);
}

/* Of complex numbers both parts count, whichever the compiler sums first. */
static void test_choosing__complex_numbers(void **state)
{
    static const double z[][2] = {{3, 4}, {-2, 1}, {5, -3}, {0, 7}};
    static const bool m[] = {true, true, true, false};
    static const struct {
        const char *text;
        double real, imag;
        kiln_dtype dtype;
    } cases[] = {{"sum(x[[True, True, True, False]])", 6, 2, KILN_COMPLEX128},
                 {"mean(x[m])", 2, 2.0 / 3, KILN_COMPLEX128},
                 {"x[m].mean()", 2, 2.0 / 3, KILN_COMPLEX128},
                 {"mean(x, where=m)", 2, 2.0 / 3, KILN_COMPLEX128},
                 {"var(x[m])", 64.0 / 3 - 4.0 - 4.0 / 9, 0, KILN_FLOAT64}, /* mean(|x|^2) - |mean(x)|^2 */
                 {"std(x[m]) ** 2", 64.0 / 3 - 4.0 - 4.0 / 9, 0, KILN_FLOAT64}};
    const int64_t shape[] = {4};
    test_env *t = *state;
    inputs in;

    OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, shape, z, NULL, &in.array, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 1, shape, m, NULL, &in.mask, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *out[1], *wide = NULL;
        double got[2] = {0, 0};
        kiln_graph *const g = run(t, &in, cases[k].text, out, 1);
        assert_int_equal(kiln_array_dtype(out[0]), cases[k].dtype);
        OK(t, kiln_array_cast(out[0], KILN_COMPLEX128, &wide, &t->err));
        OK(t, kiln_array_to_host(wide, got, sizeof got, NULL, &t->err));
        assert_float_equal(got[0], cases[k].real, 1e-12);
        assert_float_equal(got[1], cases[k].imag, 1e-12);
        kiln_array_release(wide);
        release(out, 1);
        kiln_graph_destroy(g);
    }
    drop(&in);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_choosing__results_count_along_an_axis),
        TEST(test_choosing__results),      TEST(test_choosing__reductions_need_no_compaction),
        TEST(test_choosing__truth_values), TEST(test_choosing__beside_single_values),
        TEST(test_choosing__places),       TEST(test_choosing__what_is_refused), TEST(test_choosing__what_calls_refuse), TEST(test_choosing__parts),
        TEST(test_choosing__complex_numbers),
    };
    return test_env_main(argc, argv, "test_choosing", tests, COUNT(tests));
}
