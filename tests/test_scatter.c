/*
 * test_scatter.c - x[i] = v, sums, products, minima and maxima at indices, against plain loops.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { PLACES = 97, VALUES = 5000 };

/* Indices of so many places, negative ones among them, and values that are whole numbers. */
typedef struct data {
    int32_t index[VALUES];
    float value[VALUES];
    kiln_array *i, *v;
} data;

static void data_make(test_env *t, data *d, int64_t count, int64_t places, kiln_dtype dtype)
{
    kiln_array *v = NULL;

    for (int64_t k = 0; k < count; k++) {
        d->index[k] = (int32_t)test_random_below(t, (uint64_t)(2 * places)) - (int32_t)places;
        d->value[k] = (float)((int)test_random_below(t, 7) - (dtype == KILN_UINT8 ? 0 : 3));
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &count, d->index, NULL, &d->i, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &count, d->value, NULL, &v, &t->err));
    OK(t, kiln_array_cast(v, dtype, &d->v, &t->err));
    kiln_array_release(v);
}

static void data_free(data *d)
{
    kiln_array_release(d->i);
    kiln_array_release(d->v);
}

static float *to_floats(test_env *t, const kiln_array *x)
{
    const size_t bytes = (size_t)kiln_array_size(x) * sizeof(float);
    float *out = malloc(bytes + 1);
    kiln_array *y = NULL;

    OK(t, kiln_array_cast(x, KILN_FLOAT32, &y, &t->err));
    OK(t, kiln_array_to_host(y, out, bytes, NULL, &t->err));
    kiln_array_release(y);
    return out;
}

static double combine(kiln_scatter what, double a, double b)
{
    switch (what) {
    case KILN_SCATTER_ADD:
        return a + b;
    case KILN_SCATTER_MULTIPLY:
        return a * b;
    case KILN_SCATTER_MINIMUM:
        return b < a ? b : a;
    case KILN_SCATTER_MAXIMUM:
    case KILN_SCATTER_REDUCE:
        return b > a ? b : a;
    default:
        return b;
    }
}

/* Whole numbers, so that sums of any order are equal; products stay small in so few places. */
static void check(test_env *t, kiln_dtype dtype, kiln_scatter what, bool fast)
{
    const int64_t places = what == KILN_SCATTER_MULTIPLY ? 4000 : PLACES;
    const int64_t count = what == KILN_SCATTER_MULTIPLY ? 2000 : VALUES;
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
    kiln_array *x = NULL;
    static double want[4000];
    static data d;

    opts.fast = fast;
    opts.reduce = "b > a ? b : a";
    data_make(t, &d, count, places, dtype);
    OK(t, kiln_array_ones(t->ctx, dtype, 1, &places, &x, &t->err));
    const kiln_subscript at = kiln_subscript_array(d.i);
    OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_array(d.v), what, &opts, &t->err));
    for (int64_t k = 0; k < places; k++)
        want[k] = 1;
    for (int64_t k = 0; k < count; k++) {
        const int64_t p = d.index[k] < 0 ? d.index[k] + places : d.index[k];
        want[p] = combine(what, want[p], d.value[k]);
    }
    float *got = to_floats(t, x);
    for (int64_t k = 0; k < places; k++) {
        const double expected = dtype == KILN_UINT8 ? (double)((int)want[k] & 255) : want[k];
        CHECK(got[k] == expected, "%s, combination %d: place %d is %g, not %g",
              kiln_dtype_name(dtype), (int)what, (int)k, got[k], expected);
    }
    free(got);
    kiln_array_release(x);
    data_free(&d);
}

static void test_scatter__each_dtype_combines_all_values(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT32, KILN_UINT8, KILN_COMPLEX64};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        check(t, dtypes[k], KILN_SCATTER_SET, false);
        check(t, dtypes[k], KILN_SCATTER_ADD, false);
    }
    check(t, KILN_FLOAT64, KILN_SCATTER_MULTIPLY, false);
    check(t, KILN_FLOAT64, KILN_SCATTER_MINIMUM, false);
    check(t, KILN_FLOAT32, KILN_SCATTER_MAXIMUM, false);
    check(t, KILN_INT64, KILN_SCATTER_MAXIMUM, false);
    check(t, KILN_FLOAT32, KILN_SCATTER_REDUCE, false);
}

static void test_scatter__in_any_order_when_asked(void **state)
{
    test_env *t = *state;

    check(t, KILN_FLOAT32, KILN_SCATTER_ADD, true);
    check(t, KILN_COMPLEX64, KILN_SCATTER_ADD, true);
    check(t, KILN_FLOAT64, KILN_SCATTER_MAXIMUM, true);
    check(t, KILN_INT32, KILN_SCATTER_REDUCE, true);
}

/* Many values at few places: whole numbers, so that sums of any order are equal. One place is never named. */
static void check_few(test_env *t, kiln_dtype dtype, int64_t places, int64_t count,
                      kiln_index_mode mode, bool one_value)
{
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;
    const int64_t reach = mode == KILN_INDEX_CHECK ? 0 : 2 * places, untouched = places / 2;
    int32_t *const index = malloc((size_t)count * sizeof *index);
    float *const value = malloc((size_t)count * sizeof *value);
    double *const want = calloc((size_t)places, sizeof *want);
    kiln_array *x = NULL, *wide = NULL, *i = NULL, *v = NULL, *narrow = NULL;

    o.fast = true;
    o.mode = mode;
    for (int64_t k = 0; k < places; k++)
        want[k] = k == untouched ? -0.0 : (double)(k % 5);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 1, &places, want, NULL, &wide, &t->err));
    OK(t, kiln_array_cast(wide, dtype, &x, &t->err));
    for (int64_t k = 0; k < count; k++) {
        int64_t at = untouched;
        while (at == untouched) {
            index[k] = (int32_t)test_random_below(t, (uint64_t)(2 * (places + reach))) -
                       (int32_t)(places + reach);
            at = index[k] < 0 && mode != KILN_INDEX_CLIP ? index[k] + places : index[k];
            at = mode == KILN_INDEX_WRAP   ? (at % places + places) % places
                 : mode == KILN_INDEX_CLIP ? (at < 0        ? 0
                                              : at < places ? at
                                                            : places - 1)
                                           : at;
        }
        value[k] = (float)((int)test_random_below(t, 9) - (kiln_dtype_kind(dtype) == 'u' ? 0 : 2));
        want[at] += one_value ? 3 : value[k];
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &count, index, NULL, &i, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &count, value, NULL, &narrow, &t->err));
    OK(t, kiln_array_cast(narrow, dtype, &v, &t->err));
    const kiln_subscript at = kiln_subscript_array(i);
    const kiln_arg given = one_value ? kiln_arg_int(3) : kiln_arg_array(v);
    OK(t, kiln_array_scatter(x, &at, 1, given, KILN_SCATTER_ADD, &o, &t->err));
    float *got = to_floats(t, x);
    for (int64_t k = 0; k < places; k++)
        CHECK((double)got[k] == want[k], "%s, %d places: place %d is %g, not %g",
              kiln_dtype_name(dtype), (int)places, (int)k, got[k], want[k]);
    CHECK(kiln_dtype_kind(dtype) != 'f' || signbit(got[untouched]), "%s: -0 was changed",
          kiln_dtype_name(dtype));
    free(got);
    free(index);
    free(value);
    free(want);
    kiln_array *const all[] = {x, wide, i, v, narrow};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

static void test_scatter__sums_at_few_places(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_INT32, KILN_INT64};
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        check_few(t, dtypes[d], PLACES, 10000, KILN_INDEX_CHECK, d == 2);
    check_few(t, KILN_FLOAT32, 5, 4096 + 77, KILN_INDEX_WRAP, true);
    check_few(t, KILN_FLOAT32, PLACES, 10001, KILN_INDEX_CLIP, false);
    check_few(t, KILN_FLOAT32, 9000, 150000, KILN_INDEX_CHECK,
              false); /* a block has most of the memory */
}

/* Values whose parts are equal: whichever of them stays, it stays as a whole. */
static void test_scatter__fast_assignments_keep_whole_numbers(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_COMPLEX64, KILN_COMPLEX128};
    enum { MANY = 1 << 15, FEW = 3 };
    static int32_t index[MANY];
    static double parts[2 * MANY];
    test_env *t = *state;
    const int64_t many = MANY, places = FEW;
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;

    o.fast = true;
    for (int k = 0; k < MANY; k++) {
        index[k] = k % FEW;
        parts[2 * k] = parts[2 * k + 1] = k + 1;
    }
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        double got[2 * FEW];
        kiln_array *x = NULL, *z = NULL, *i = NULL, *wide = NULL, *v = NULL;
        OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &many, index, NULL, &i, &t->err));
        OK(t, kiln_array_from_host(t->ctx, KILN_COMPLEX128, 1, &many, parts, NULL, &wide, &t->err));
        OK(t, kiln_array_cast(wide, dtypes[d], &v, &t->err));
        OK(t, kiln_array_zeros(t->ctx, dtypes[d], 1, &places, &x, &t->err));
        const kiln_subscript at[] = {kiln_subscript_array(i)};
        OK(t, kiln_array_scatter(x, at, 1, kiln_arg_array(v), KILN_SCATTER_SET, &o, &t->err));
        OK(t, kiln_array_cast(x, KILN_COMPLEX128, &z, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < FEW; k++) {
            CHECK(got[2 * k] == got[2 * k + 1] && got[2 * k] >= 1, "%s: %g%+gj",
                  kiln_dtype_name(dtypes[d]), got[2 * k], got[2 * k + 1]);
            assert_int_equal(((int)got[2 * k] - 1) % FEW, k);
        }
        kiln_array_release(x);
        kiln_array_release(z);
        kiln_array_release(i);
        kiln_array_release(wide);
        kiln_array_release(v);
    }
}

/* Sums of numbers that are rounded: the same bits every time, and near the exact ones. */
static void test_scatter__sums_are_reproducible(void **state)
{
    test_env *t = *state;
    const int64_t count = VALUES, places = 7;
    float first[7], got[7];
    double want[7] = {0};
    static float values[VALUES];
    static int64_t index[VALUES];
    kiln_array *i = NULL, *v = NULL;

    for (int k = 0; k < VALUES; k++) {
        values[k] = (float)test_random_below(t, 1000003) * 1.7e-6f - 0.3f;
        index[k] = k < 3000 ? 5 : (int64_t)test_random_below(t, 7); /* a run over many chunks */
        want[index[k]] += values[k];
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, &count, index, NULL, &i, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &count, values, NULL, &v, &t->err));
    for (int run = 0; run < 3; run++) {
        kiln_array *x = NULL;
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &places, &x, &t->err));
        const kiln_subscript at = kiln_subscript_array(i);
        OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_array(v), KILN_SCATTER_ADD, NULL, &t->err));
        OK(t, kiln_array_to_host(x, run == 0 ? first : got, sizeof got, NULL, &t->err));
        if (run > 0)
            assert_memory_equal(first, got, sizeof got);
        kiln_array_release(x);
    }
    for (int k = 0; k < 7; k++)
        CHECK(fabs(first[k] - want[k]) < 1e-3, "place %d is %g, not %g", k, first[k], want[k]);
    kiln_array_release(i);
    kiln_array_release(v);
}

/* ---- several axes ---- */

/* x[i, 1:4, j] += v for x of (5, 6, 4), of any memory order: broadcast indices come first. */
static void check_axes(test_env *t, kiln_scatter what, bool turned, bool fast)
{
    const int64_t shape[] = {5, 6, 4}, two[] = {3, 1}, one = 2, out[] = {3, 2, 3};
    static const int32_t i[] = {4, 0, -1};
    static const uint8_t j[] = {3, 0};
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
    kiln_array *x = NULL, *y = NULL, *ia = NULL, *ja = NULL, *v = NULL;
    float values[18], want[120];

    opts.fast = fast;
    for (int k = 0; k < 18; k++)
        values[k] = (float)(k + 1);
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 3, turned ? (const int64_t[]){4, 6, 5} : shape, &y,
                          &t->err));
    if (turned)
        OK(t, kiln_array_transpose(y, NULL, &x, &t->err));
    else
        x = kiln_array_retain(y);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, two, i, NULL, &ia, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &one, j, NULL, &ja, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 3, out, values, NULL, &v, &t->err));
    const kiln_subscript at[] = {kiln_subscript_array(ia), kiln_subscript_slice(1, 4, 1),
                                 kiln_subscript_array(ja)};
    OK(t, kiln_array_scatter(x, at, 3, kiln_arg_array(v), what, &opts, &t->err));
    for (int k = 0; k < 120; k++)
        want[k] = 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++)
            for (int c = 0; c < 3; c++) {
                float *e = &want[(((i[a] + 5) % 5) * 6 + 1 + c) * 4 + j[b]];
                *e = (float)combine(what, *e, values[(a * 2 + b) * 3 + c]);
            }
    float *got = to_floats(t, x);
    for (int k = 0; k < 120; k++)
        CHECK(got[k] == want[k], "element %d is %g, not %g", k, got[k], want[k]);
    free(got);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(ia);
    kiln_array_release(ja);
    kiln_array_release(v);
}

static void test_scatter__several_axes_and_slices(void **state)
{
    test_env *t = *state;

    check_axes(t, KILN_SCATTER_ADD, false, false);
    check_axes(t, KILN_SCATTER_ADD, true, true);
    check_axes(t, KILN_SCATTER_SET, true, false);
}

/* Rows of values: one place for each row. */
static void test_scatter__rows_are_added(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {9, 7}, values[] = {700, 7}, count = 700;
    static float v[4900], want[63];
    static int16_t i[700];
    kiln_array *x = NULL, *ia = NULL, *va = NULL;

    memset(want, 0, sizeof want);
    for (int k = 0; k < 700; k++)
        i[k] = (int16_t)test_random_below(t, k < 300 ? 1 : 9);
    for (int k = 0; k < 4900; k++) {
        v[k] = (float)((int)test_random_below(t, 9) - 4);
        want[i[k / 7] * 7 + k % 7] += v[k];
    }
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT16, 1, &count, i, NULL, &ia, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, values, v, NULL, &va, &t->err));
    const kiln_subscript at = kiln_subscript_array(ia);
    OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_array(va), KILN_SCATTER_ADD, NULL, &t->err));
    float *got = to_floats(t, x);
    for (int k = 0; k < 63; k++)
        CHECK(got[k] == want[k], "element %d is %g, not %g", k, got[k], want[k]);
    free(got);
    kiln_array_release(x);
    kiln_array_release(ia);
    kiln_array_release(va);
}

/* ---- put and put_along_axis ---- */

static void test_scatter__put_is_numpys(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3, 4}, three = 3, along[] = {3, 1};
    static const int32_t i[] = {5, -1, 5}, best[] = {2, 0, 3};
    static const float v[] = {7, 8, 9};
    float want[12] = {0};
    kiln_array *x = NULL, *y = NULL, *ia = NULL, *va = NULL, *ba = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, (const int64_t[]){4, 3}, &y, &t->err));
    OK(t, kiln_array_transpose(y, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &three, i, NULL, &ia, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &three, v, NULL, &va, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, along, best, NULL, &ba, &t->err));
    assert_int_equal(kiln_array_shape(x)[0], shape[0]);
    OK(t, kiln_array_put(x, ia, kiln_arg_array(va), NULL, &t->err));
    want[5] = 9;
    want[11] = 8;
    OK(t, kiln_array_put_along_axis(x, ba, kiln_arg_float(-1), 1, NULL, &t->err));
    for (int k = 0; k < 3; k++)
        want[4 * k + best[k]] = -1;
    float *got = to_floats(t, x);
    assert_memory_equal(got, want, sizeof want);
    free(got);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(ia);
    kiln_array_release(va);
    kiln_array_release(ba);
}

/* x[i] = x: values in the array's own memory are read first. */
static void test_scatter__values_may_be_of_the_array(void **state)
{
    test_env *t = *state;
    const int64_t count = 1000;
    static int32_t turned[1000], got[1000];
    kiln_array *x = test_ramp(t, 1, &count), *i = NULL;

    for (int k = 0; k < 1000; k++)
        turned[k] = 999 - k;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &count, turned, NULL, &i, &t->err));
    const kiln_subscript at = kiln_subscript_array(i), own = kiln_subscript_array(x);
    OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_array(x), KILN_SCATTER_SET, NULL, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, turned, sizeof got);
    OK(t, kiln_array_scatter(x, &own, 1, kiln_arg_array(i), KILN_SCATTER_ADD, NULL, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 1000; k++)
        assert_int_equal(got[k], turned[k] + k);
    kiln_array_release(x);
    kiln_array_release(i);
}

/* ---- in graphs ---- */

enum { NODE_ROWS = 40, NODE_COLUMNS = 5, NODE_VALUES = 300 };

/* What a graph of one output, named z, gives. */
static float *run_graph(test_env *t, kiln_graph *g, const kiln_arg *inputs, size_t count)
{
    kiln_arg args[8];
    kiln_array *z = NULL;

    memcpy(args, inputs, count * sizeof *args);
    args[count] = kiln_arg_out(&z);
    OK(t, kiln_graph_run(g, args, count + 1, NULL, &t->err));
    float *got = to_floats(t, z);
    kiln_array_release(z);
    return got;
}

/* (x * 2).at[i, 1:4] combined with v: x stays, duplicates are combined, what follows sees it. */
static void check_node(test_env *t, kiln_scatter what)
{
    const int64_t shape[] = {NODE_ROWS, NODE_COLUMNS}, wide[] = {NODE_VALUES, 3};
    const int64_t count = NODE_VALUES;
    static float x[NODE_ROWS * NODE_COLUMNS], want[NODE_ROWS * NODE_COLUMNS], v[NODE_VALUES * 3];
    static int32_t i[NODE_VALUES];
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
    kiln_array *xa = NULL, *ia = NULL, *va = NULL;
    kiln_graph *g = NULL;

    opts.reduce = "b > a ? b : a";
    for (int k = 0; k < NODE_ROWS * NODE_COLUMNS; k++) {
        x[k] = (float)test_random_below(t, 9);
        want[k] = 2 * x[k];
    }
    for (int k = 0; k < NODE_VALUES; k++) {
        i[k] = (int32_t)test_random_below(t, 2 * NODE_ROWS) - NODE_ROWS;
        for (int c = 0; c < 3; c++) {
            float *e = &want[((i[k] + NODE_ROWS) % NODE_ROWS) * NODE_COLUMNS + 1 + c];
            v[3 * k + c] = (float)test_random_below(t, 100);
            *e = (float)combine(what, *e, v[3 * k + c]);
        }
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, x, NULL, &xa, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &count, i, NULL, &ia, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, wide, v, NULL, &va, &t->err));
    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node xn = kiln_node_input(g, "x", KILN_DTYPE_NONE, -1, "f", 1);
    const kiln_node in = kiln_node_input(g, "i", KILN_DTYPE_NONE, -1, "f", 1);
    const kiln_node vn = kiln_node_input(g, "v", KILN_DTYPE_NONE, -1, "f", 1);
    const kiln_subscript at[] = {kiln_subscript_node(in), kiln_subscript_slice(1, 4, 1)};
    const kiln_node y =
        kiln_node_scatter(kiln_multiply(xn, 2), at, 2, vn, what, &opts, __FILE__, __LINE__);
    kiln_node_output(g, "z", kiln_add(y, 1), "f", 1);
    OK(t, kiln_graph_compile(g, &t->err));
    const kiln_arg args[] = {kiln_arg_array(xa), kiln_arg_array(ia), kiln_arg_array(va)};
    float *got = run_graph(t, g, args, 3);
    for (int k = 0; k < NODE_ROWS * NODE_COLUMNS; k++)
        CHECK(got[k] == want[k] + 1, "combination %d: element %d is %g, not %g", (int)what, k,
              got[k], want[k] + 1);
    free(got);
    OK(t, kiln_array_to_host(xa, v, sizeof x, NULL, &t->err));
    assert_memory_equal(v, x, sizeof x);
    kiln_graph_destroy(g);
    kiln_array_release(xa);
    kiln_array_release(ia);
    kiln_array_release(va);
}

static void test_scatter__nodes_give_new_arrays(void **state)
{
    test_env *t = *state;

    check_node(t, KILN_SCATTER_SET);
    check_node(t, KILN_SCATTER_ADD);
    check_node(t, KILN_SCATTER_REDUCE);
}

/* An expression of x, of 3 x 4 ones, and j = 1, 2, 1. */
static void check_text(test_env *t, const char *text, const float *want)
{
    static const char *const names[] = {"x", "j"};
    const int64_t shape[] = {3, 4}, three = 3;
    static const int16_t j[] = {1, 2, 1};
    kiln_array *x = NULL, *ja = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT16, 1, &three, j, NULL, &ja, &t->err));
    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &g, &results, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(ja)};
    float *got = run_graph(t, g, args, 2);
    for (int k = 0; k < 12; k++)
        CHECK(got[k] == want[k], "%s: element %d is %g, not %g", text, k, got[k], want[k]);
    free(got);
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(ja);
}

static void test_scatter__expressions(void **state)
{
    test_env *t = *state;

    check_text(t, "x.at[j].add(j[:, None])", (const float[]){1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3});
    check_text(t, "scatter_add(x, j, 2) * 2",
               (const float[]){2, 2, 2, 2, 10, 10, 10, 10, 6, 6, 6, 6});
    check_text(t, "x.at[..., j + 2].set(7, mode=clip)",
               (const float[]){1, 1, 1, 7, 1, 1, 1, 7, 1, 1, 1, 7});
    check_text(t, "x.at[1:, 0].max(5)", (const float[]){1, 1, 1, 1, 5, 1, 1, 1, 5, 1, 1, 1});
    check_text(t, "put(x, j * 5, j)", (const float[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1});
    check_text(t, "put_along_axis(x * 3, j[:, None], -1, axis=1)",
               (const float[]){3, -1, 3, 3, 3, 3, -1, 3, 3, -1, 3, 3});
}

/* Numbers as operands of what is done as a whole: arrays without axes. */
static void test_scatter__numbers_are_operands(void **state)
{
    check_text(*state, "x * searchsorted(sort(j + 0), 2)",
               (const float[]){2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
}

static void check_refused(test_env *t, const char *text, kiln_status status, const char *why)
{
    static const char *const names[] = {"x", "j"};
    const int64_t three = 3;
    kiln_array *x = test_ramp(t, 1, &three), *j = test_ramp(t, 1, &three), *z = NULL;
    kiln_graph *g = NULL;
    size_t results = 0;

    kiln_status got = kiln_graph_parse(t->ctx, text, names, 2, NULL, &g, &results, &t->err);
    if (got == KILN_OK) {
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(j), kiln_arg_out(&z)};
        got = kiln_graph_run(g, args, 3, NULL, &t->err);
    }
    FAILS(t, status, got, why);
    kiln_graph_destroy(g);
    kiln_array_release(x);
    kiln_array_release(j);
}

static void test_scatter__bad_nodes_are_refused(void **state)
{
    test_env *t = *state;

    check_refused(t, "x.at[j]", KILN_ERR_ARGUMENT, "x.at[...] without");
    check_refused(t, "x.at[j].put(1)", KILN_ERR_NAME, "no `put`");
    check_refused(t, "x.at[x > j].set(1)", KILN_ERR_UNSUPPORTED, "where(mask, value, x)");
    check_refused(t, "x.at[j * 0.5].set(1)", KILN_ERR_DTYPE, "index array 1 is float64");
    check_refused(t, "x.at[j].set(x[:2])", KILN_ERR_SHAPE, "(2,)");
    check_refused(t, "put(x, j)", KILN_ERR_ARGUMENT_COUNT, "takes 3 arguments");
    check_refused(t, "put_along_axis(x, j, 1)", KILN_ERR_ARGUMENT_COUNT, "needs an axis");
    check_refused(t, "x.at[j].set(1, mode=foo)", KILN_ERR_NAME, "no such mode");
    check_refused(t, "x.at[0, 1:].add(1)", KILN_ERR_AXIS,
                  "expression, column 13: add: 2 subscripts of an array with 1 axis");
    check_refused(t, "(x[0] * 1).at[0].add(1)", KILN_ERR_AXIS,
                  "expression, column 18: add: 1 subscript of an array with 0 axes");
    check_refused(t, "put_along_axis(x, int32(j), 1, 3)", KILN_ERR_AXIS,
                  "expression, column 1: put_along_axis: axis 3 is out of range for rank 1");
    check_refused(t, "put_along_axis(x, int32(j[:, None]), 1, 0)", KILN_ERR_SHAPE,
                  "expression, column 1: put_along_axis: the indices have 2 axes, the array 1");
}

/* ---- what is refused ---- */

static void test_scatter__indices_out_of_range_are_left_out(void **state)
{
    test_env *t = *state;
    const int64_t four = 4, three = 3;
    static const int32_t i[] = {1, 4, -4};
    int32_t got[4];

    for (int fast = 0; fast < 2; fast++) {
        kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
        kiln_array *x = test_ramp(t, 1, &four), *ia = NULL;
        opts.fast = fast != 0;
        OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &three, i, NULL, &ia, &t->err));
        const kiln_subscript at = kiln_subscript_array(ia);
        OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_int(9), KILN_SCATTER_SET, &opts, &t->err));
        FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "index 4",
              "index array 1", "4 elements", "element 1");
        OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, ((const int32_t[]){9, 9, 2, 3}), sizeof got);
        opts.mode = KILN_INDEX_CLIP;
        OK(t, kiln_array_scatter(x, &at, 1, kiln_arg_int(5), KILN_SCATTER_SET, &opts, &t->err));
        OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, ((const int32_t[]){5, 5, 2, 5}), sizeof got);
        kiln_array_release(x);
        kiln_array_release(ia);
    }
}

static void test_scatter__mistakes_are_refused(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4, 3}, four = 4, three = 3;
    kiln_array *x = test_ramp(t, 2, shape), *i = test_ramp(t, 1, &four);
    kiln_array *j = test_ramp(t, 1, &three), *f = NULL, *wide = NULL;
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, &four, &f, &t->err));
    OK(t, kiln_array_broadcast_to(j, 2, shape, &wide, &t->err));
    const kiln_subscript at = kiln_subscript_array(i), real = kiln_subscript_array(f);
    const kiln_subscript both[] = {at, kiln_subscript_array(j)};
    const kiln_subscript many[] = {at, kiln_subscript_slice(0, 1, 1), at};
    const kiln_arg one = kiln_arg_int(1);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_scatter(x, &real, 1, one, KILN_SCATTER_SET, NULL, &t->err),
          "float32", "integers");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_scatter(x, both, 2, one, KILN_SCATTER_SET, NULL, &t->err),
          "index array 2", "broadcast");
    FAILS(t, KILN_ERR_AXIS, kiln_array_scatter(x, many, 3, one, KILN_SCATTER_SET, NULL, &t->err),
          "axis 2");
    FAILS(t, KILN_ERR_SHAPE,
          kiln_array_scatter(x, &at, 1, kiln_arg_array(i), KILN_SCATTER_SET, NULL, &t->err), "4");
    FAILS(t, KILN_ERR_OUTPUT,
          kiln_array_scatter(wide, &at, 1, one, KILN_SCATTER_SET, NULL, &t->err), "broadcast");
    FAILS(t, KILN_ERR_NULL, kiln_array_scatter(x, &at, 1, one, KILN_SCATTER_REDUCE, NULL, &t->err),
          "reduce");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_scatter(x, &at, 1, one, (kiln_scatter)9, NULL, &t->err),
          "combination 9");
    opts.mode = (kiln_index_mode)5;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_array_scatter(x, &at, 1, one, KILN_SCATTER_SET, &opts, &t->err), "mode 5");
    opts.mode = KILN_INDEX_CHECK;
    opts.reduce = "a + q"; /* the place is that in this text */
    FAILS(t, KILN_ERR_COMPILE,
          kiln_array_scatter(x, &at, 1, one, KILN_SCATTER_REDUCE, &opts, &t->err), "reduce, line 1",
          "q");
    FAILS(t, KILN_ERR_NULL,
          kiln_array_scatter(x, &at, 1, kiln_arg_array(NULL), KILN_SCATTER_SET, NULL, &t->err),
          "the array of values is NULL");
    FAILS(t, KILN_ERR_AXIS, kiln_array_put_along_axis(x, x, one, 2, NULL, &t->err), "axis 2");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_put_along_axis(x, i, one, 1, NULL, &t->err),
          "have 1 axis, the array");
    kiln_array_release(x), kiln_array_release(i), kiln_array_release(j);
    kiln_array_release(f), kiln_array_release(wide);
}

/* The last of several values stays, and whole numbers of all widths wrap; rows that threads share among them. */
static void test_scatter__rows_of_each_width_are_set_and_added(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_UINT8, KILN_INT16, KILN_UINT32, KILN_INT64};
    enum { ROWS = 7, NAMED = 40, WIDTH_MOST = 600 };
    static int64_t want[ROWS * WIDTH_MOST], got[ROWS * WIDTH_MOST], values[NAMED * WIDTH_MOST];
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int64_t width = 1; width <= WIDTH_MOST; width *= width == 1 ? 3 : 200) {
            const int64_t shape[] = {ROWS, width}, given[] = {NAMED, width};
            const int bits = 8 * (int)kiln_dtype_size(dtypes[d]);
            for (int adds = 0; adds < 2; adds++) {
                kiln_array *x = NULL, *v = NULL, *w = NULL, *i = NULL;
                int32_t index[NAMED];
                memset(want, 0, sizeof want);
                for (int64_t k = 0; k < NAMED * width; k++)
                    values[k] = (int64_t)test_random(t);
                for (int k = 0; k < NAMED; k++) {
                    index[k] = (int32_t)test_random_below(t, ROWS);
                    for (int64_t c = 0; c < width; c++) {
                        int64_t *const to = &want[index[k] * width + c];
                        *to =
                            (int64_t)((adds ? (uint64_t)*to : 0) + (uint64_t)values[k * width + c]);
                    }
                }
                OK(t,
                   kiln_array_from_host(t->ctx, KILN_INT64, 2, given, values, NULL, &w, &t->err));
                OK(t, kiln_array_cast(w, dtypes[d], &v, &t->err));
                OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &(int64_t){NAMED}, index, NULL,
                                           &i, &t->err));
                OK(t, kiln_array_zeros(t->ctx, dtypes[d], 2, shape, &x, &t->err));
                const kiln_subscript at = kiln_subscript_array(i);
                OK(t,
                   kiln_array_scatter(x, &at, 1, kiln_arg_array(v),
                                      adds ? KILN_SCATTER_ADD : KILN_SCATTER_SET, NULL, &t->err));
                kiln_array_release(w);
                w = NULL;
                OK(t, kiln_array_cast(x, KILN_INT64, &w, &t->err));
                OK(t, kiln_array_to_host(w, got, (size_t)(ROWS * width) * 8, NULL, &t->err));
                for (int64_t k = 0; k < ROWS * width; k++)
                    CHECK((uint64_t)got[k] << (64 - bits) == (uint64_t)want[k] << (64 - bits),
                          "%s, rows of %d, %s: element %d", kiln_dtype_name(dtypes[d]), (int)width,
                          adds ? "added" : "set", (int)k);
                kiln_array_release(x), kiln_array_release(v);
                kiln_array_release(w), kiln_array_release(i);
            }
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scatter__each_dtype_combines_all_values),
        TEST(test_scatter__in_any_order_when_asked),
        TEST(test_scatter__sums_at_few_places),
        TEST(test_scatter__fast_assignments_keep_whole_numbers),
        TEST(test_scatter__sums_are_reproducible),
        TEST(test_scatter__several_axes_and_slices),
        TEST(test_scatter__rows_are_added),
        TEST(test_scatter__rows_of_each_width_are_set_and_added),
        TEST(test_scatter__put_is_numpys),
        TEST(test_scatter__values_may_be_of_the_array),
        TEST(test_scatter__nodes_give_new_arrays),
        TEST(test_scatter__expressions),
        TEST(test_scatter__numbers_are_operands),
        TEST(test_scatter__bad_nodes_are_refused),
        TEST(test_scatter__indices_out_of_range_are_left_out),
        TEST(test_scatter__mistakes_are_refused),
    };
    return test_env_main(argc, argv, "test_scatter", tests, COUNT(tests));
}
