/*
 * test_take.c - inputs that snippets see as the element an index names ("take float32 w by i"), against plain loops.
 */
#include <stdlib.h>
#include <string.h>

#include "test_env.h"

enum { ROWS = 37, COLUMNS = 6, SIZE = 900 };

typedef struct data {
    float w[ROWS * COLUMNS], x[SIZE];
    int32_t row[SIZE];
    uint8_t column[SIZE];
    kiln_array *table, *xa, *ra, *ca;
} data;

/* Indices from -span to span - 1. */
static void make(test_env *t, data *d, int span)
{
    const int64_t shape[] = {ROWS, COLUMNS}, size = SIZE;

    for (int k = 0; k < ROWS * COLUMNS; k++)
        d->w[k] = (float)test_random_below(t, 1000);
    for (int k = 0; k < SIZE; k++) {
        d->x[k] = (float)test_random_below(t, 1000);
        d->row[k] = (int32_t)test_random_below(t, 2 * (uint64_t)span) - span;
        d->column[k] = (uint8_t)test_random_below(t, COLUMNS);
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, d->w, NULL, &d->table, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &size, d->x, NULL, &d->xa, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &size, d->row, NULL, &d->ra, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_UINT8, 1, &size, d->column, NULL, &d->ca, &t->err));
}

static void drop(data *d)
{
    kiln_array_release(d->table);
    kiln_array_release(d->xa);
    kiln_array_release(d->ra);
    kiln_array_release(d->ca);
}

/* y = x + w[row] of column 2, whose elements lie apart; `mode` stands in the signature. */
static void check_mode(test_env *t, const char *in, int span, int64_t (*at)(int64_t))
{
    static data d;
    kiln_elementwise *op = NULL;
    kiln_array *column = NULL, *y = NULL;
    static float got[SIZE];

    make(t, &d, span);
    OK(t, kiln_array_view(d.table, ":, 2", &column, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, in, "T y", "y = x + w * 2", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, column, d.ra, d.xa, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < SIZE; k++) {
        const float want = d.x[k] + 2 * d.w[at(d.row[k]) * COLUMNS + 2];
        CHECK(got[k] == want, "%s: element %d is %g, not %g", in, k, got[k], want);
    }
    kiln_array_release(column);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
    drop(&d);
}

static int64_t from_end(int64_t i)
{
    return i < 0 ? i + ROWS : i;
}

static int64_t wrapped(int64_t i)
{
    return ((i % ROWS) + ROWS) % ROWS;
}

static int64_t clipped(int64_t i)
{
    return i < 0 ? 0 : i < ROWS ? i : ROWS - 1;
}

static void test_take__modes(void **state)
{
    test_env *t = *state;

    check_mode(t, "take T w by row, int32 row, T x", ROWS, from_end);
    check_mode(t, "take float32 w by row, I row, T x", ROWS, from_end);
    check_mode(t, "take wrap T w by row, int32 row, T x", 5 * ROWS, wrapped);
    check_mode(t, "take clip T w by row, I row, T x", 5 * ROWS, clipped);
}

/* An index for each axis, one of them a number; two tables; a kernel that also asks for `i`. */
static void test_take__several_indices(void **state)
{
    test_env *t = *state;
    static data d;
    static double got[SIZE];
    kiln_elementwise *op = NULL;
    kiln_array *y = NULL;

    make(t, &d, ROWS);
    OK(t, kiln_elementwise_create(t->ctx,
                                  "take T w by r c, take T v by r one, int32 r, uint8 c, int64 one",
                                  "float64 y", "y = w * 2 + v * 0.5 + i", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, d.table, d.table, d.ra, d.ca, -1, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < SIZE; k++) {
        const float *row = &d.w[from_end(d.row[k]) * COLUMNS];
        const double want = row[d.column[k]] * 2.0 + row[COLUMNS - 1] * 0.5 + k;
        CHECK(got[k] == want, "element %d is %g, not %g", k, got[k], want);
    }
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
    drop(&d);
}

/* Indices whose axes lie in another order than those of the output. */
static void test_take__any_layout(void **state)
{
    test_env *t = *state;
    const int64_t square[] = {30, 30};
    static data d;
    static float got[SIZE];
    kiln_elementwise *op = NULL;
    kiln_array *row = NULL, *turned = NULL, *x = NULL, *w = NULL, *y = NULL;

    make(t, &d, ROWS);
    OK(t, kiln_array_reshape(d.ra, 2, square, &row, &t->err));
    OK(t, kiln_array_transpose(row, NULL, &turned, &t->err));
    OK(t, kiln_array_reshape(d.xa, 2, square, &x, &t->err));
    OK(t, kiln_array_view(d.table, ":, 1", &w, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x, take T w by row, int32 row", "T y", "y = x + w",
                                  NULL, &op, &t->err));
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, square, &y, &t->err));
    OK(t, kiln_call(op, &t->err, x, w, turned, y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int a = 0; a < 30; a++)
        for (int b = 0; b < 30; b++) {
            const float want = d.x[30 * a + b] + d.w[from_end(d.row[30 * b + a]) * COLUMNS + 1];
            CHECK(got[30 * a + b] == want, "(%d, %d) is %g, not %g", a, b, got[30 * a + b], want);
        }
    kiln_elementwise_destroy(op);
    kiln_array_release(row);
    kiln_array_release(turned);
    kiln_array_release(x);
    kiln_array_release(w);
    kiln_array_release(y);
    drop(&d);
}

static void test_take__indices_out_of_range_are_told(void **state)
{
    test_env *t = *state;
    const int64_t four = 4, three = 3;
    static const int32_t i[] = {1, -5, 2};
    kiln_array *w = test_ramp(t, 1, &four), *ia = NULL, *y = NULL, *none = NULL;
    kiln_elementwise *op = NULL;
    int32_t got[3];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &three, i, NULL, &ia, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "take T table by at, int32 at", "T y", "y = table + 10",
                                  NULL, &op, &t->err));
    for (int again = 0; again < 2; again++) {
        OK(t, kiln_call(op, &t->err, w, ia, &y));
        FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), "index -5",
              "input `at`", "axis 0 of input `table`", "4 elements", "element 1");
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        assert_memory_equal(got, ((const int32_t[]){11, 10, 12}), sizeof got);
        kiln_array_release(y);
        y = NULL;
    }
    OK(t, kiln_array_slice(w, 0, 0, 0, 1, &none, &t->err));
    FAILS(t, KILN_ERR_INDEX, kiln_call(op, &t->err, none, ia, &y), "`table` has no elements");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(op, &t->err, 3, ia, &y), "taken by index needs an array");
    kiln_array_release(none);
    OK(t, kiln_array_reshape(w, 2, (int64_t[]){2, 2}, &none, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_call(op, &t->err, none, ia, &y), "2 axes and is taken by 1");
    kiln_elementwise_destroy(op);
    OK(t, kiln_elementwise_create(t->ctx, "take T table by at, I at", "T y", "y = table", NULL, &op,
                                  &t->err));
    kiln_array_release(ia);
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, &three, &ia, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_call(op, &t->err, w, ia, &y), "float32", "integers");
    kiln_elementwise_destroy(op);
    kiln_array_release(w);
    kiln_array_release(ia);
    kiln_array_release(none);
}

/* Computed indices are called by what they are for, and inputs by their names. */
static void test_take__a_report_names_computed_indices(void **state)
{
    static const char *const names[] = {"x", "i"};
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"x[i * 3]", "index 9 in the indices of take is out of range for axis 0 of input `x`"},
        {"arange(5)[[0, 9]] + i[:2]",
         "index 9 in the indices of take is out of range for axis 0 of arange"},
        {"x[:2][i]", "in input `i` is out of range for axis 0 of a view of input `x`"}};
    test_env *t = *state;
    const int64_t four = 4;

    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_array *x = test_ramp(t, 1, &four), *i = test_ramp(t, 1, &four), *y = NULL;
        kiln_graph *g = NULL;
        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, x, i, &y));
        const kiln_status got = kiln_context_synchronize(t->ctx, &t->err);
        assert_int_equal(got, KILN_ERR_INDEX);
        /* Which of several indices is told is not defined. */
        if (strstr(t->err.message, cases[k].said + (k == 0 ? 8 : 0)) == NULL)
            fail_msg("%s: %s", cases[k].text, t->err.message);
        kiln_error_clear(&t->err);
        kiln_array_release(x), kiln_array_release(i), kiln_array_release(y);
        kiln_graph_destroy(g);
    }
}

/* ---- reductions ---- */

/* The sum and the greatest of w[r, c] * x or of w[r, c] alone, over rows, columns or all of an array. */
static void check_reduction(test_env *t, bool greatest, bool times, int axis, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns}, table[] = {7, 5}, count = rows * columns;
    const kiln_axes one = {1, {axis}};
    const int64_t results = axis < 0 ? 1 : axis == 0 ? columns : rows;
    int32_t *i = calloc((size_t)count, sizeof *i);
    double w[35], *x = calloc((size_t)count, sizeof *x), *got = calloc((size_t)results, sizeof *got);
    double *want = calloc((size_t)results, sizeof *want);
    kiln_reduction_call_options opts = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *wa = NULL, *ia = NULL, *ja = NULL, *xa = NULL, *y = NULL;
    kiln_reduction *op = NULL;
    int16_t *j = calloc((size_t)columns, sizeof *j);

    for (int k = 0; k < 35; k++)
        w[k] = (double)test_random_below(t, 2000) - 1000;
    for (int64_t k = 0; k < columns; k++)
        j[k] = (int16_t)((int)test_random_below(t, 10) - 5);
    for (int64_t k = 0; k < count; k++) {
        i[k] = (int32_t)test_random_below(t, 14) - 7;
        x[k] = (double)test_random_below(t, 9);
        const double element = w[(i[k] + 7) % 7 * 5 + (j[k % columns] + 5) % 5] * (times ? x[k] : 1);
        double *const to = &want[axis < 0 ? 0 : axis == 0 ? k % columns : k / columns];
        const bool first = axis < 0 ? k == 0 : axis == 0 ? k < columns : k % columns == 0;
        *to = first ? element : !greatest ? *to + element : element > *to ? element : *to;
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, table, w, NULL, &wa, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, i, NULL, &ia, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT16, 1, &columns, j, NULL, &ja, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT64, 2, shape, x, NULL, &xa, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "take T w by r c, int32 r, int16 c, T x", "T y", times ? "w * x" : "w",
                                greatest ? "max(a, b)" : "a + b", "y = a", greatest ? NULL : "0", NULL, &op,
                                &t->err));
    opts.axes = axis < 0 ? KILN_ALL_AXES : &one;
    OK(t, kiln_reduction_run(op, KILN_ARGS(wa, ia, ja, xa, &y), &opts, &t->err));
    OK(t, kiln_array_to_host(y, got, (size_t)results * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < results; k++)
        CHECK(got[k] == want[k], "%s of %s, (%d, %d), axis %d: %d is %g, not %g", greatest ? "max" : "sum",
              times ? "w * x" : "w", (int)rows, (int)columns, axis, (int)k, got[k], want[k]);
    kiln_array_release(wa), kiln_array_release(ia), kiln_array_release(ja);
    kiln_array_release(xa), kiln_array_release(y);
    kiln_reduction_destroy(op);
    free(i), free(j), free(x), free(got), free(want);
}

static void test_take__reductions(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {70, 3}, {3000, 2}, {20, 300}, {3, 5000}, {129, 64}};

    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int axis = -1; axis < 2; axis++)
            for (int what = 0; what < 4; what++)
                check_reduction(*state, (what & 1) != 0, (what & 2) != 0, axis, sizes[s][0], sizes[s][1]);
}

/* A reduction of one's own tells a wrong index, and what does not fit is refused before it runs. */
static void test_take__reductions_refuse_what_does_not_fit(void **state)
{
    test_env *t = *state;
    const int64_t four = 4, none = 0, square[] = {2, 2};
    static const int32_t indices[] = {0, 3, -5, 1};
    kiln_array *w = test_ramp(t, 1, &four), *wide = test_ramp(t, 2, square), *i = NULL, *y = NULL, *empty = NULL;
    kiln_reduction *op = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &none, &empty, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &four, indices, NULL, &i, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "take T w by at, int32 at", "T y", "w", "a + b", "y = a", "0", NULL, &op,
                                &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_call(op, &t->err, wide, i, &y), "`w` has 2 axes and is taken by 1 index");
    FAILS(t, KILN_ERR_INDEX, kiln_call(op, &t->err, empty, i, &y), "`w` has no elements to take");
    OK(t, kiln_call(op, &t->err, w, i, &y));
    FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err),
          "index -5 in input `at` is out of range for axis 0 of input `w`, which has 4 elements");
    kiln_array_release(w), kiln_array_release(wide), kiln_array_release(i);
    kiln_array_release(y), kiln_array_release(empty);
    kiln_reduction_destroy(op);
}

/* One wrong index among `rows` of a table of 40 rows of `width`: a kernel tells it, wherever it stands, and only it. */
static void check_told(test_env *t, const char *text, int64_t rows, int64_t width)
{
    static const char *const names[] = {"x", "i"};
    const int64_t shape[] = {40, width};
    int32_t *indices = calloc((size_t)rows, sizeof *indices);
    kiln_array *x = test_ramp(t, 2, shape), *i = NULL, *y = NULL;
    kiln_graph *g = NULL;
    const int64_t at = (int64_t)test_random_below(t, (uint64_t)rows);
    char said[96];

    for (int64_t k = 0; k < rows; k++)
        indices[k] = (int32_t)test_random_below(t, 80) - 40;
    OK(t, kiln_graph_parse(t->ctx, text, names, 2, NULL, &g, NULL, &t->err));
    for (int wrong = 0; wrong < 3; wrong++) {
        static const int32_t values[] = {7, 40, -41};
        indices[at] = values[wrong];
        OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &rows, indices, NULL, &i, &t->err));
        OK(t, kiln_call(g, &t->err, x, i, &y));
        const kiln_status got = kiln_context_synchronize(t->ctx, &t->err);
        CHECK(got == (wrong > 0 ? KILN_ERR_INDEX : KILN_OK), "%s, index %d at %d of %d: %s", text,
              (int)values[wrong], (int)at, (int)rows, kiln_status_name(got));
        snprintf(said, sizeof said, "index %d in input `i` is out of range for axis 0 of input `x`, which has 40",
                 (int)values[wrong]);
        CHECK(wrong == 0 || strstr(t->err.message, said) != NULL, "%s: %s", text, t->err.message);
        kiln_error_clear(&t->err);
        kiln_array_release(i), kiln_array_release(y), y = NULL;
    }
    kiln_array_release(x);
    kiln_graph_destroy(g);
    free(indices);
}

static void test_take__kernels_of_all_families_tell_a_wrong_index(void **state)
{
    static const char *const texts[] = {
        "x[i] * 2", "sum(x[i], axis=1)", "sum(x[i], axis=0)", "sum(x[i] * x[i])", "argmax(x[i])",
        "var(x[i], axis=1)", "softmax(x[i], axis=1)", "cumsum(x[i, 0])", "sum(x[i, 0][x[i, 0] > 2])"};
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {70, 3}, {3000, 2}, {20, 300}, {3, 5000}};

    for (size_t k = 0; k < COUNT(texts); k++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            check_told(*state, texts[k], sizes[s][0], sizes[s][1]);
}

static void refuse(test_env *t, const char *in, kiln_status status, const char *why)
{
    kiln_elementwise *op = NULL;

    FAILS(t, status, kiln_elementwise_create(t->ctx, in, "T y", "y = 1", NULL, &op, &t->err), why);
}

static void test_take__bad_signatures(void **state)
{
    test_env *t = *state;
    kiln_reduction *sum = NULL;

    refuse(t, "take T w, int32 i2", KILN_ERR_SYNTAX, "needs an index");
    refuse(t, "take T w by, int32 i2", KILN_ERR_SYNTAX, "needs an index");
    refuse(t, "take T w by j, int32 i2", KILN_ERR_NAME, "\"j\" is no input");
    refuse(t, "take T w by x, T v, float32 x", KILN_ERR_DTYPE, "integers");
    refuse(t, "take T w by x, raw int32 x", KILN_ERR_ARGUMENT, "raw input");
    refuse(t, "take raw T w by x, int32 x", KILN_ERR_SYNTAX, "contradicts");
    refuse(t, "take T by x, int32 x", KILN_ERR_SYNTAX, "name is missing");
    refuse(t, "take T w by x 3, int32 x", KILN_ERR_SYNTAX, "\"3\"");
    FAILS(t, KILN_ERR_UNSUPPORTED,
          kiln_reduction_create(t->ctx, "take T w by j, int32 j", "T y", "w", "a + b", "y = a + w", "0",
                                NULL, &sum, &t->err),
          "`w` is taken by index, which the map can do and `post` cannot");
    FAILS(t, KILN_ERR_UNSUPPORTED,
          kiln_reduction_create(t->ctx, "T x", "take T y by x", "x", "a + b", "y = a", "0", NULL, &sum,
                                &t->err),
          "inputs");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_take__modes),          TEST(test_take__several_indices),
        TEST(test_take__any_layout),     TEST(test_take__indices_out_of_range_are_told),
        TEST(test_take__reductions),     TEST(test_take__reductions_refuse_what_does_not_fit),
        TEST(test_take__kernels_of_all_families_tell_a_wrong_index),
        TEST(test_take__bad_signatures), TEST(test_take__a_report_names_computed_indices),
    };
    return test_env_main(argc, argv, "test_take", tests, COUNT(tests));
}
