/*
 * test_block.c - block() and the parts of split() and array_split() at once, against plain loops; functions of texts that
 * take lists of arrays or give several, against NumPy's results.
 */
#include "kiln/expression.h"
#include "kiln/indexing.h"
#include "kiln/rearrange.h"
#include "test_env.h"

static kiln_array *filled(test_env *t, int rank, const int64_t *shape, double value)
{
    kiln_array *x = NULL;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, rank, shape, value, &x, &t->err));
    return x;
}

/* Rows of blocks of one number each, of vectors and of a matrix that is turned. */
static void test_block__rows_are_plain_loops(void **state)
{
    static const int64_t heights[] = {2, 3}, widths[] = {4, 1, 2};
    const int64_t rows[] = {3, 3}, uneven[] = {3, 2};
    test_env *t = *state;
    kiln_array *blocks[6], *turned = NULL, *z = NULL;
    kiln_arg args[6];
    float got[5][7];

    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 3; c++) {
            const int64_t shape[] = {widths[c], heights[r]};
            blocks[3 * r + c] = filled(t, 2, shape, 10 * r + c);
            OK(t, kiln_array_transpose(blocks[3 * r + c], NULL, &turned, &t->err));
            kiln_array_release(blocks[3 * r + c]);
            blocks[3 * r + c] = turned;
            turned = NULL;
            args[3 * r + c] = kiln_arg_array(blocks[3 * r + c]);
        }
    OK(t, kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, rows, 2, &z, &t->err));
    assert_true(kiln_array_rank(z) == 2 && kiln_array_shape(z)[0] == 5 &&
                kiln_array_shape(z)[1] == 7);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 7; c++)
            assert_true(got[r][c] == (float)(10 * (r >= 2) + (c >= 4) + (c >= 5)));
    kiln_array_release(z);
    z = NULL;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, uneven, 2, &z, &t->err),
          "the rows do not have as many arrays as are given");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, (int64_t[]){2, 4}, 2, &z, &t->err),
          "");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 6, (int64_t[]){6, 0}, 2, &z, &t->err),
          "rows");
    assert_null(z);
    OK(t, kiln_array_rearrange(KILN_REARRANGE_BLOCK, args, 3, NULL, 0, &z, &t->err));
    assert_true(kiln_array_shape(z)[0] == 2 && kiln_array_shape(z)[1] == 7);
    kiln_array_release(z);
    for (int k = 0; k < 6; k++)
        kiln_array_release(blocks[k]);
}

/* Every part of every number of parts: views of the array, one behind the other. */
static void test_block__parts_cover_an_axis(void **state)
{
    const int64_t shape[] = {2, 7};
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 2, shape), *y = NULL;
    const kiln_arg args[] = {kiln_arg_array(x)};

    for (int64_t parts = 1; parts < 10; parts++) {
        int64_t at = 0;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t length = 7 / parts + (part < 7 % parts);
            int32_t got[14];
            y = NULL;
            OK(t, kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1,
                                       (int64_t[]){-1, part, parts, 0}, 4, &y, &t->err));
            assert_true(kiln_array_shape(y)[0] == 2 && kiln_array_shape(y)[1] == length);
            OK(t, kiln_array_to_host(y, got, (size_t)(2 * length) * sizeof *got, NULL, &t->err));
            for (int64_t k = 0; k < length; k++)
                assert_true(got[k] == at + k && got[length + k] == 7 + at + k);
            if (length > 0)
                assert_ptr_equal(kiln_array_data(y), (char *)kiln_array_data(x) + 4 * at);
            at += length;
            kiln_array_release(y);
        }
        assert_int_equal(at, 7);
    }
    y = NULL;
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1, (int64_t[]){1, 0, 2, 1}, 4, &y,
                               &t->err),
          "7 elements along axis 1 cannot be split into 2 equal parts");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_rearrange(KILN_REARRANGE_SECTION, args, 1, (int64_t[]){1, 2, 2, 0}, 4, &y,
                               &t->err),
          "the number of a part");
    kiln_array_release(x);
}

/* Of a (2, 4, 6) array [p.shape for p in np.hsplit(x, 2)] is (2, 2, 6) twice, of np.vsplit(x, [1]) (1, 4, 6) twice, of
 * np.dsplit(x, 3) (2, 4, 2) three times; np.hsplit of a vector cuts its one axis. */
static void test_block__parts_along_named_axes(void **state)
{
    test_env *t = *state;
    static const int64_t shape[] = {2, 4, 6}, four = 4, second = 1;
    kiln_array *x = test_ramp(t, 3, shape), *v = test_ramp(t, 1, &four), *parts[3];

    OK(t, kiln_array_hsplit(x, NULL, 2, parts, &t->err));
    assert_true(kiln_array_shape(parts[1])[1] == 2 && kiln_array_rank(parts[1]) == 3);
    assert_ptr_equal(kiln_array_data(parts[1]), (char *)kiln_array_data(x) + (size_t)4 * 12);
    kiln_array_release(parts[0]), kiln_array_release(parts[1]);
    OK(t, kiln_array_vsplit(x, &second, 2, parts, &t->err));
    assert_true(kiln_array_shape(parts[1])[0] == 1);
    assert_ptr_equal(kiln_array_data(parts[1]), (char *)kiln_array_data(x) + (size_t)4 * 24);
    kiln_array_release(parts[0]), kiln_array_release(parts[1]);
    OK(t, kiln_array_dsplit(x, NULL, 3, parts, &t->err));
    assert_true(kiln_array_shape(parts[2])[2] == 2);
    assert_ptr_equal(kiln_array_data(parts[2]), (char *)kiln_array_data(x) + (size_t)4 * 4);
    kiln_array_release(parts[0]), kiln_array_release(parts[1]), kiln_array_release(parts[2]);
    OK(t, kiln_array_hsplit(v, NULL, 2, parts, &t->err));
    assert_int_equal(kiln_array_size(parts[1]), 2);
    kiln_array_release(parts[0]), kiln_array_release(parts[1]);
    FAILS(t, KILN_ERR_SHAPE, kiln_array_hsplit(v, NULL, 3, parts, &t->err),
          "4 elements along axis 0 cannot be split into 3 equal parts");
    FAILS(t, KILN_ERR_AXIS, kiln_array_vsplit(v, NULL, 2, parts, &t->err),
          "vsplit needs an array of 2 or more axes, this one has 1");
    FAILS(t, KILN_ERR_AXIS, kiln_array_dsplit(v, NULL, 2, parts, &t->err), "3 or more axes");
    kiln_array_release(x), kiln_array_release(v);
}

/* ---- in text ------------------------------------------------------------------------------------- */

/* Expressions of v, (3, 0, 2, 5, 1), and x, (2, 3) of 0 to 5; the results, one behind the other, are NumPy's. */
static const struct {
    const char *text;
    size_t count;
    double want[24];
} texts[] = {
    {"select([v > 2, v > 0], [v * 10, -v], 7)", 5, {30, 7, -2, 50, -1}},
    {"choose(v - 2, [v, -v], mode=wrap)", 5, {-3, 0, 2, -5, -1}},
    {"choose(v, [v, -v, 9], mode='clip')", 5, {9, 0, 9, 9, -1}},
    {"choose(v > 2, [v, -v])", 5, {-3, 0, 2, -5, 1}},
    {"block([[x[:, :1], x], [v[:4]]])", 12, {0, 0, 1, 2, 3, 3, 4, 5, 3, 0, 2, 5}},
    {"block([v[:2], 8])", 3, {3, 0, 8}},
    {"array_split(v, 3)", 5, {3, 0, 2, 5, 1}},
    {"split(x, 3, axis=1)", 6, {0, 3, 1, 4, 2, 5}},
    {"split(v + 1, (1, 3))", 5, {4, 1, 3, 6, 2}},
    {"sliding_window_view(v, 4)", 8, {3, 0, 2, 5, 0, 2, 5, 1}},
    {"sliding_window_view(x, 2, axis=0)", 6, {0, 3, 1, 4, 2, 5}},
    {"broadcast_arrays(x[:, :1], v[:2])", 8, {0, 0, 3, 3, 3, 0, 3, 0}},
    {"diag(v[:3])", 9, {3, 0, 0, 0, 0, 0, 0, 0, 2}},
    {"diag(x, 1)", 2, {1, 5}},
    {"diag(v[:2], -1)", 9, {0, 0, 0, 3, 0, 0, 0, 0, 0}},
    {"diagflat(x[:, 2:], 1)", 9, {0, 2, 0, 0, 0, 5, 0, 0, 0}},
    {"bincount(v // 2, 4)", 4, {2, 2, 1, 0}},
    {"lexsort([v, v // 2])", 5, {1, 4, 2, 0, 3}},
    {"quantile(v, 0.3, method='lower'), percentile(x, 50, axis=1, method=higher)", 3, {1, 1, 4}},
    {"choose(v * 0 + 1, [v, x[0, 0]])", 5, {0, 0, 0, 0, 0}},
    {"hsplit(x, (1,))", 6, {0, 3, 1, 2, 4, 5}},
    {"vsplit(x, 2)", 6, {0, 1, 2, 3, 4, 5}},
    {"dsplit(x[None], 3)", 6, {0, 3, 1, 4, 2, 5}},
    {"sliding_window_view(arange(11) + v[0], 10)[1]", 10, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},
    {"sliding_window_view(x, (2, 2))[0]", 8, {0, 1, 3, 4, 1, 2, 4, 5}},
    {"zeros((2, 1)), ones_like(v[:2]), full(x.shape, 7)", 10, {0, 0, 1, 1, 7, 7, 7, 7, 7, 7}},
    {"linspace(1, 2, 5), arange(5, 2, -1)", 8, {1, 1.25, 1.5, 1.75, 2, 5, 4, 3}},
    {"round(v * 0.256, 1), around(v * 7, -1)", 10, {0.8, 0, 0.5, 1.3, 0.3, 20, 0, 10, 40, 10}},
    {"norm(v), norm(x, inf), norm(x, 1, axis=0)", 5, {6.244997998398398, 12, 3, 5, 7}},
    {"sort(v, descending=True), sort(v, key=abs(v - 2))", 10, {5, 3, 2, 1, 0, 2, 3, 1, 0, 5}},
    {"sort(v, less='a % 2 < b % 2'), argsort(v, less='a > b')", 10, {0, 2, 3, 5, 1, 3, 0, 2, 4, 1}},
    {"sort_by('T n, T m', v, -v, less='a.m < b.m')",
     15,
     {5, 3, 2, 1, 0, -5, -3, -2, -1, 0, 3, 0, 2, 4, 1}},
    {"sort_by('T n', v, key='(n - 2) * (n - 2)')", 10, {2, 3, 1, 0, 5, 2, 0, 4, 1, 3}},
    {"topk(v, 2, largest=False)", 4, {0, 1, 1, 4}},
    {"digitize(v, v[:2]), searchsorted(v, 2, sorter=argsort(v))", 6, {0, 1, 1, 0, 1, 2}},
    {"pad(x, 1, mode=maximum)[0]", 5, {5, 3, 4, 5, 5}},
    {"meshgrid(v[:2] > 1, v[:1])", 4, {1, 0, 3, 3}},
    {"meshgrid(v[:2], v[2:4], indexing='ij')", 8, {3, 3, 0, 0, 2, 5, 2, 5}},
    {"place(v, v > 2, 7.9)", 5, {7, 0, 2, 7, 1}},
};

static void test_block__functions_of_lists_in_text(void **state)
{
    static const char *const names[] = {"v", "x"};
    static const int32_t numbers[] = {3, 0, 2, 5, 1};
    test_env *t = *state;
    kiln_array *v = NULL, *x = test_ramp(t, 2, (int64_t[]){2, 3});

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, (int64_t[]){5}, numbers, NULL, &v, &t->err));
    for (size_t k = 0; k < COUNT(texts); k++) {
        kiln_array *out[4] = {NULL};
        kiln_arg args[6] = {kiln_arg_array(v), kiln_arg_array(x)};
        kiln_graph *g = NULL;
        size_t results = 0, at = 0;
        if (!test_drawn(t))
            continue;
        OK(t, kiln_graph_parse(t->ctx, texts[k].text, names, 2, NULL, &g, &results, &t->err));
        assert_true(results <= COUNT(out));
        for (size_t r = 0; r < results; r++)
            args[2 + r] = kiln_arg_out(&out[r]);
        OK(t, kiln_graph_run(g, args, 2 + results, NULL, &t->err));
        for (size_t r = 0; r < results; r++) {
            const size_t size = (size_t)kiln_array_size(out[r]);
            kiln_array *wide = NULL;
            double got[24];
            CHECK(at + size <= texts[k].count, "%s: too many elements", texts[k].text);
            OK(t, kiln_array_cast(out[r], KILN_FLOAT64, &wide, &t->err));
            OK(t, kiln_array_to_host(wide, got, size * sizeof *got, NULL, &t->err));
            for (size_t n = 0; n < size; n++, at++)
                CHECK(got[n] == texts[k].want[at], "%s: element %d is %g, not %g", texts[k].text,
                      (int)at, got[n], texts[k].want[at]);
            kiln_array_release(wide);
            kiln_array_release(out[r]);
        }
        CHECK(at == texts[k].count, "%s: %d elements", texts[k].text, (int)at);
        kiln_graph_destroy(g);
    }
    kiln_array_release(v);
    kiln_array_release(x);
}

/* Plain numbers among the choices are weak, however many there are: NumPy's results have the dtype of the arrays. */
static void test_block__plain_choices_have_the_dtype_of_the_arrays(void **state)
{
    static const char *const names[] = {"x"};
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_UINT8, KILN_FLOAT16, KILN_FLOAT32};
    static const char *const choices[] = {
        "choose(arange(3), [x, 2, 3])", "choose(2 - arange(3), [2, 3, x])",
        "select([x > 1, x > 0], [5, x], 3)", "select([x > 1, x > 0], [5, 4], x)",
    };
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++) {
        kiln_array *x = NULL, *ramp = test_ramp(t, 1, (int64_t[]){3});
        OK(t, kiln_array_cast(ramp, dtypes[d], &x, &t->err));
        for (size_t k = 0; k < COUNT(choices); k++) {
            kiln_array *out = NULL;
            kiln_graph *g = NULL;
            OK(t, kiln_graph_parse(t->ctx, choices[k], names, 1, NULL, &g, NULL, &t->err));
            OK(t, kiln_graph_run(g, (kiln_arg[]){kiln_arg_array(x), kiln_arg_out(&out)}, 2, NULL, &t->err));
            CHECK(kiln_array_dtype(out) == dtypes[d], "%s of %s is of %s", choices[k],
                  kiln_dtype_name(dtypes[d]), kiln_dtype_name(kiln_array_dtype(out)));
            kiln_array_release(out);
            kiln_graph_destroy(g);
        }
        kiln_array_release(ramp), kiln_array_release(x);
    }
}

/* What choose() and select() refuse at once. */
static void test_block__choosing_refuses(void **state)
{
    static const int32_t indices[] = {0, 1};
    static const int64_t two = 2;
    test_env *t = *state;
    kiln_array *i = NULL, *c[] = {filled(t, 1, &two, 1), filled(t, 1, &two, 2)}, *y = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &two, indices, NULL, &i, &t->err));
    FAILS(t, KILN_ERR_DTYPE,
          kiln_array_choose_where((const kiln_array *const *)&i, (const kiln_array *const *)c, 1,
                                  kiln_arg_int(7), &y, &t->err),
          "int32, not bool");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_array_choose(i, (const kiln_array *const *)c, 0, KILN_INDEX_WRAP, &y, &t->err),
          "1 to 30");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT,
          kiln_array_choose_where((const kiln_array *const *)c, (const kiln_array *const *)c, 0,
                                  kiln_arg_int(7), &y, &t->err),
          "1 to 30");
    FAILS(t, KILN_ERR_NULL,
          kiln_array_choose_where((const kiln_array *const[]){NULL}, (const kiln_array *const *)c,
                                  1, kiln_arg_int(7), &y, &t->err),
          "a condition");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_choose(i, (const kiln_array *const *)c, 2, (kiln_index_mode)9, &y, &t->err),
          "no mode 9");
    assert_null(y);
    kiln_array_release(i), kiln_array_release(c[0]), kiln_array_release(c[1]);
}

/* choose(), select() and diag() at once. */
static void test_block__one_of_several_is_chosen(void **state)
{
    static const int32_t indices[] = {0, 2, 1, -1, 3, 5};
    static const int64_t six = 6;
    static const struct {
        kiln_index_mode mode;
        int which[6];
    } modes[] = {{KILN_INDEX_WRAP, {0, 2, 1, 2, 0, 2}}, {KILN_INDEX_CLIP, {0, 2, 1, 0, 2, 2}}};
    test_env *t = *state;
    kiln_array *i = NULL, *c[3], *b[2] = {NULL}, *y = NULL, *z = NULL;
    float got[36];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &six, indices, NULL, &i, &t->err));
    for (int k = 0; k < 3; k++)
        c[k] = filled(t, k == 0 ? 0 : 1, &six, k + 1);
    for (size_t m = 0; m < COUNT(modes); m++) {
        OK(t, kiln_array_choose(i, (const kiln_array *const *)c, 3, modes[m].mode, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, 6 * sizeof *got, NULL, &t->err));
        for (int k = 0; k < 6; k++)
            CHECK(got[k] == (float)(modes[m].which[k] + 1), "mode %zu, element %d: %g", m, k,
                  got[k]);
        kiln_array_release(y);
    }
    OK(t, kiln_array_choose(i, (const kiln_array *const *)c, 3, KILN_INDEX_CHECK, &y, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "out of range");
    kiln_array_release(y);
    y = NULL;
    for (int k = 0; k < 2; k++) {
        const kiln_arg args[] = {kiln_arg_array(i), kiln_arg_int(k + 1)};
        OK(t, kiln_array_op(KILN_OP_EQUAL, args, 2, NULL, &b[k], &t->err));
    }
    OK(t, kiln_array_choose_where((const kiln_array *const *)b, (const kiln_array *const *)c, 2,
                                  kiln_arg_int(7), &y, &t->err));
    OK(t, kiln_array_to_host(y, got, 6 * sizeof *got, NULL, &t->err));
    for (int k = 0; k < 6; k++)
        CHECK(got[k] == (indices[k] == 1   ? 1.0f
                         : indices[k] == 2 ? 2.0f
                                           : 7.0f),
              "element %d: %g", k, got[k]);
    kiln_array_release(y);
    y = NULL;
    OK(t, kiln_array_diag(c[1], 0, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 36; k++)
        CHECK(got[k] == (k % 7 == 0 ? 2.0f : 0.0f), "element %d of the matrix: %g", k, got[k]);
    OK(t, kiln_array_diag(y, 1, &z, &t->err));
    assert_int_equal(kiln_array_size(z), 5);
    kiln_array_release(y), kiln_array_release(z), kiln_array_release(i);
    for (int k = 0; k < 3; k++)
        kiln_array_release(c[k]);
    kiln_array_release(b[0]), kiln_array_release(b[1]);
}

/* Operations on a few arrays that are stacked, and on short windows, do not wait for a copy of them. */
static void test_block__what_is_stacked_need_not_be_stored(void **state)
{
    enum { LENGTH = 40 };
    static const char *const names[] = {"x"};
    static const struct {
        const char *text;
        int width;
        bool mean, most;
    } cases[] = {{"mean(sliding_window_view(x, 5), axis=-1)", 5, true, false},
                 {"sum(sliding_window_view(x, 3), axis=-1, keepdims=True)[:, 0]", 3, false, false},
                 {"max(sliding_window_view(x + 0, 8) * 2, axis=1) / 2", 8, false, true},
                 {"sum(stack([x[:-2], x[1:-1], x[2:]], axis=1), axis=1)", 3, false, false}};
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT16, KILN_FLOAT16};
    test_env *t = *state;
    const int64_t length = LENGTH;
    double given[LENGTH], got[LENGTH];

    for (int k = 0; k < LENGTH; k++)
        given[k] = (double)(k * 37 % 19 - 7);
    for (size_t c = 0; c < COUNT(cases) * COUNT(dtypes); c++) {
        const kiln_dtype dtype = dtypes[c / COUNT(cases)];
        const int width = cases[c % COUNT(cases)].width;
        const char *text = cases[c % COUNT(cases)].text;
        kiln_array *wide = NULL, *x = NULL, *y = NULL, *z = NULL;
        kiln_graph *g = NULL;
        size_t kernels = 0;
        OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &length, given, NULL, &wide, &t->err));
        OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
        OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &g, NULL, &t->err));
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
        OK(t, kiln_graph_kernel_count(g, args, 2, &kernels, &t->err));
        CHECK(kernels == 1, "%s of %s is %zu kernels", text, kiln_dtype_name(dtype), kernels);
        OK(t, kiln_graph_run(g, args, 2, NULL, &t->err));
        OK(t, kiln_array_cast(y, KILN_FLOAT64, &z, &t->err));
        assert_int_equal(kiln_array_size(z), LENGTH - width + 1);
        OK(t,
           kiln_array_to_host(z, got, (size_t)(LENGTH - width + 1) * sizeof *got, NULL, &t->err));
        for (int k = 0; k + width <= LENGTH; k++) {
            double sum = 0, most = given[k];
            for (int j = 0; j < width; j++) {
                sum += given[k + j];
                most = given[k + j] > most ? given[k + j] : most;
            }
            const double want = cases[c % COUNT(cases)].most   ? most
                                : cases[c % COUNT(cases)].mean ? sum / width
                                                               : sum;
            const double slack = dtype == KILN_FLOAT16   ? 1e-2
                                 : dtype == KILN_FLOAT32 ? 1e-5
                                                         : 1e-12;
            CHECK(got[k] >= want - slack && got[k] <= want + slack, "%s of %s: %d is %g, not %g",
                  text, kiln_dtype_name(dtype), k, got[k], want);
        }
        kiln_array_release(wide), kiln_array_release(x), kiln_array_release(y),
            kiln_array_release(z);
        kiln_graph_destroy(g);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_block__rows_are_plain_loops),
        TEST(test_block__parts_cover_an_axis),
        TEST(test_block__parts_along_named_axes),
        TEST(test_block__functions_of_lists_in_text),
        TEST(test_block__plain_choices_have_the_dtype_of_the_arrays),
        TEST(test_block__choosing_refuses),
        TEST(test_block__one_of_several_is_chosen),
        TEST(test_block__what_is_stacked_need_not_be_stored),
    };
    return test_env_main(argc, argv, "test_block", tests, COUNT(tests));
}
