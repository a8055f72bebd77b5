/*
 * test_subscript.c - kiln_array_view() against NumPy, arrays like others, fill, single elements,
 * subscripts of nodes.
 *
 * tests/data/subscripts.txt holds what NumPy makes of 400 random subscripts; see
 * tests/oracle/make_subscripts.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_data.h"
#include "test_env.h"

/* Numbers from `text` up to a ';' or the line's end. Returns how many. */
static int numbers(const char *text, int64_t *out, int most)
{
    int count = 0;

    while (count < most && *text != ';' && *text != '\0' && *text != '\n') {
        char *end = NULL;
        out[count] = strtoll(text, &end, 10);
        if (end == text)
            break;
        count++;
        text = *end == ' ' ? end + 1 : end;
    }
    return count;
}

static void check_line(test_env *t, char *line)
{
    char *field[5] = {line};
    int64_t shape[8], want[8], values[64];

    for (int k = 1; k < 5; k++) {
        field[k] = strchr(field[k - 1], ';');
        assert_non_null(field[k]);
        *field[k]++ = '\0';
    }
    const int rank = numbers(field[0], shape, 8), want_rank = numbers(field[2], want, 8);
    const int count = numbers(field[4], values, 64);
    kiln_array *x = test_ramp(t, rank, shape), *v = NULL;
    OK(t, kiln_array_view(x, field[1], &v, &t->err));
    CHECK(kiln_array_rank(v) == want_rank, "%s: rank %d, not %d", field[1], kiln_array_rank(v),
          want_rank);
    for (int k = 0; k < want_rank; k++)
        CHECK(kiln_array_shape(v)[k] == want[k], "%s: axis %d", field[1], k);
    int32_t *got = calloc((size_t)kiln_array_size(v) + 1, sizeof *got);
    OK(t,
       kiln_array_to_host(v, got, ((size_t)kiln_array_size(v) + 1) * sizeof *got, NULL, &t->err));
    for (int k = 0; k < count; k++)
        CHECK(got[k] == values[k], "%s: element %d is %d, not %" PRId64, field[1], k, (int)got[k],
              values[k]);
    free(got);
    kiln_array_release(v);
    kiln_array_release(x);
}

static void test_subscript__views_are_numpys(void **state)
{
    test_env *t = *state;
    char path[512], line[1024];
    FILE *file = fopen(test_data("data/subscripts.txt", path, sizeof path), "r");
    int lines = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        check_line(t, line);
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 400);
}

static void test_subscript__what_is_wrong_is_pointed_at(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *text;
        kiln_status status;
        const char *says;
    } rows[] = {
        {"x", KILN_ERR_SYNTAX, "column 1"},
        {"1:2:3:4", KILN_ERR_SYNTAX, "column 6: a comma"},
        {"0 1", KILN_ERR_SYNTAX, "column 3: a comma"},
        {"..., 0, ...", KILN_ERR_SYNTAX, "column 9: a second ..."},
        {"0,,1", KILN_ERR_SYNTAX, "column 3"},
        {"::0", KILN_ERR_SYNTAX, "step of a slice is 0"},
        {"1.5", KILN_ERR_SYNTAX, "column 2"},
        {"--1", KILN_ERR_SYNTAX, "column 1"},
        {"Nonesuch", KILN_ERR_SYNTAX, "column 1"},
        {"[0]", KILN_ERR_SYNTAX, "column 1"},
        {"99999999999999999999", KILN_ERR_SYNTAX, "64 bits"},
        {"-9223372036854775808", KILN_ERR_SYNTAX, "64 bits"},
        {"0, 0, 0, 0", KILN_ERR_AXIS, "names 4 axes of 3"},
        {"4", KILN_ERR_AXIS, "index 4 is out of range for extent 4"},
        {":, -6", KILN_ERR_AXIS, "index -6 is out of range for extent 5"},
    };
    kiln_array *x = test_ramp(t, 3, (int64_t[]){4, 5, 6}), *v = NULL;
    char many[600] = "";

    for (size_t k = 0; k < COUNT(rows); k++) {
        v = x;
        FAILS(t, rows[k].status, kiln_array_view(x, rows[k].text, &v, &t->err), rows[k].says);
        assert_null(v);
    }
    for (int k = 0; k < 30; k++)
        strcat(many, "None,");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_view(x, many, &v, &t->err), "33");
    for (int k = 0; k < 50; k++)
        strcat(many, "None,");
    FAILS(t, KILN_ERR_SYNTAX, kiln_array_view(x, many, &v, &t->err), "too many");
    FAILS(t, KILN_ERR_NULL, kiln_array_view(x, NULL, &v, &t->err), "subscript");
    FAILS(t, KILN_ERR_NULL, kiln_array_view(x, ":", NULL, &t->err), "out");
    FAILS(t, KILN_ERR_NULL, kiln_array_view(NULL, ":", &v, &t->err), "array");
    OK(t, kiln_array_view(x, "  ", &v, &t->err)); /* nothing: all of it */
    assert_int_equal(kiln_array_size(v), 120);
    kiln_array_release(v);
    kiln_array_release(x);
}

/* ---- arrays like others ---- */

static void test_subscript__new_arrays_keep_shape_and_order(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 3, (int64_t[]){2, 3, 4}), *y = NULL, *z = NULL;
    double all[24];

    OK(t, kiln_array_transpose(x, KILN_AXES(2, 0, 1), &y, &t->err));
    OK(t, kiln_array_full_like(y, KILN_FLOAT64, 2.5, &z, &t->err));
    assert_int_equal(kiln_array_dtype(z), KILN_FLOAT64);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(kiln_array_shape(z)[k], kiln_array_shape(y)[k]);
        assert_int_equal(kiln_array_strides(z)[k], 2 * kiln_array_strides(y)[k]);
    }
    OK(t, kiln_array_to_host(z, all, sizeof all, NULL, &t->err));
    for (int k = 0; k < 24; k++)
        assert_true(all[k] == 2.5);
    kiln_array_release(z);
    OK(t, kiln_array_zeros_like(y, KILN_FLOAT64, &z, &t->err));
    OK(t, kiln_array_to_host(z, all, sizeof all, NULL, &t->err));
    for (int k = 0; k < 24; k++)
        assert_true(all[k] == 0);
    kiln_array_release(z);
    OK(t, kiln_array_ones_like(y, KILN_DTYPE_NONE, &z, &t->err));
    assert_int_equal(kiln_array_dtype(z), KILN_INT32);
    kiln_scalar one;
    OK(t, kiln_array_item(z, (int64_t[]){-1, 0, 2}, &one, &t->err));
    assert_true(one.dtype == KILN_INT32 && one.value.i == 1);
    kiln_array_release(z);
    OK(t, kiln_array_empty_like(x, KILN_BOOL, &z, &t->err));
    assert_int_equal(kiln_array_dtype(z), KILN_BOOL);
    kiln_array_release(z);
    FAILS(t, KILN_ERR_RANGE, kiln_array_full_like(x, KILN_INT8, 300, &z, &t->err), "300", "int8");
    assert_null(z);
    FAILS(t, KILN_ERR_DTYPE, kiln_array_empty_like(x, (kiln_dtype)99, &z, &t->err), "99");
    FAILS(t, KILN_ERR_NULL, kiln_array_zeros_like(NULL, KILN_BOOL, &z, &t->err), "array");
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_subscript__fill_touches_the_view_alone(void **state)
{
    test_env *t = *state;
    kiln_array *x = test_ramp(t, 2, (int64_t[]){6, 50}), *v = NULL, *wide = NULL;
    int32_t got[300];

    OK(t, kiln_array_view(x, "::-2, 3:41:7", &v, &t->err));
    OK(t, kiln_array_fill(v, -7, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 50; j++) {
            const bool inside = i % 2 == 1 && j >= 3 && j < 41 && (j - 3) % 7 == 0;
            CHECK(got[50 * i + j] == (inside ? -7 : 50 * i + j), "element %d, %d", i, j);
        }
    FAILS(t, KILN_ERR_RANGE, kiln_array_fill(v, 0.5, &t->err), "0.5", "int32");
    OK(t, kiln_array_broadcast_to(x, 3, (int64_t[]){2, 6, 50}, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_fill(wide, 1, &t->err), "broadcast");
    FAILS(t, KILN_ERR_NULL, kiln_array_fill(NULL, 1, &t->err), "array");
    kiln_array_release(wide);
    kiln_array_release(v);
    kiln_array_release(x);
}

/* ---- single elements ---- */

static void test_subscript__elements_of_every_dtype_are_read(void **state)
{
    test_env *t = *state;
    static const kiln_dtype dtypes[] = {KILN_BOOL,    KILN_INT8,      KILN_INT16,     KILN_INT32,
                                        KILN_INT64,   KILN_UINT8,     KILN_UINT16,    KILN_UINT32,
                                        KILN_UINT64,  KILN_FLOAT16,   KILN_BFLOAT16,  KILN_FLOAT32,
                                        KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};
    kiln_array *x = NULL;
    kiln_scalar got;

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        const char kind = kiln_dtype_kind(dtypes[k]);
        const double value = kind == 'b' ? 1 : kind == 'u' ? 5 : kind == 'i' ? -5 : -2.5;
        OK(t, kiln_array_full(t->ctx, dtypes[k], 2, (int64_t[]){1, 1}, value, &x, &t->err));
        OK(t, kiln_array_item(x, NULL, &got, &t->err));
        assert_int_equal(got.dtype, dtypes[k]);
        switch (kind) {
        case 'b':
            assert_true(got.value.b);
            break;
        case 'i':
            assert_int_equal(got.value.i, -5);
            break;
        case 'u':
            assert_int_equal(got.value.u, 5);
            break;
        case 'f':
            assert_true(got.value.f == -2.5);
            break;
        default:
            assert_true(got.value.c[0] == -2.5 && got.value.c[1] == 0);
            break;
        }
        kiln_array_release(x);
    }
    x = test_ramp(t, 2, (int64_t[]){3, 4});
    OK(t, kiln_array_item(x, (int64_t[]){-1, 1}, &got, &t->err));
    assert_int_equal(got.value.i, 9);
    FAILS(t, KILN_ERR_AXIS, kiln_array_item(x, (int64_t[]){0, 4}, &got, &t->err), "index 4");
    FAILS(t, KILN_ERR_SHAPE, kiln_array_item(x, NULL, &got, &t->err), "(3, 4)");
    FAILS(t, KILN_ERR_NULL, kiln_array_item(x, NULL, NULL, &t->err), "item_out");
    kiln_array_release(x);
}

/* Equal scatters are one node, whatever stands in the numbers that their subscripts do not have. */
static void test_subscript__unused_numbers_tell_no_nodes_apart(void **state)
{
    test_env *t = *state;
    kiln_subscript at = kiln_subscript_index(3);
    kiln_graph *g = NULL;

    OK(t, kiln_graph_create(t->ctx, NULL, &g, &t->err));
    const kiln_node x = kiln_node_input(g, "x", KILN_DTYPE_NONE, -1, "f", 1);
    const kiln_node one = kiln_node_scatter(x, &at, 1, x, KILN_SCATTER_ADD, NULL, "f", 1);
    at.stop = 4, at.step = -7;
    const kiln_node same = kiln_node_scatter(x, &at, 1, x, KILN_SCATTER_ADD, NULL, "f", 2);
    at.start = 2;
    const kiln_node other = kiln_node_scatter(x, &at, 1, x, KILN_SCATTER_ADD, NULL, "f", 3);
    assert_true(one.id != 0);
    assert_int_equal(same.id, one.id);
    assert_int_not_equal(other.id, one.id);
    kiln_graph_destroy(g);
}

/* Axes are numbered as in the array that is named; one that a view cuts or turns around is said to be of a view. */
static void test_subscript__an_index_into_a_view_is_told_of_the_array(void **state)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"x[2][i]", "axis 1 of input `x`, which has 4 elements"},
        {"x[i + 2, 3]", "axis 0 of input `x`, which has 6 elements"},
        {"x[2, i]", "axis 1 of input `x`, which has 4 elements"},
        {"x.T[i, 0]", "axis 1 of input `x`, which has 4 elements"},
        {"x[None][0, i + 2]", "axis 0 of input `x`, which has 6 elements"},
        {"reshape(x, (-1, 4))[i + 2]", "axis 0 of a view of input `x`, which has 6 elements"},
        {"x[2:5][i, 0]", "axis 0 of a view of input `x`, which has 3 elements"},
        {"x[2:5][0, i]", "axis 1 of input `x`, which has 4 elements"},
        {"x[::-1][i + 2, 0]", "axis 0 of a view of input `x`, which has 6 elements"},
        {"take(x, i + 20)", "axis 0 of a view of input `x`, which has 24 elements"},
    };
    static const char *const names[] = {"x", "i"};
    test_env *t = *state;
    const int32_t five = 5;
    kiln_array *x = test_ramp(t, 2, (int64_t[]){6, 4}), *i = NULL;

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, (int64_t[]){1}, &five, NULL, &i, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        size_t results = 0;
        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 2, NULL, &g, &results, &t->err));
        OK(t, kiln_graph_run(g, KILN_ARGS(x, i, &z), NULL, &t->err));
        FAILS(t, KILN_ERR_INDEX, kiln_context_synchronize(t->ctx, &t->err), cases[k].told);
        kiln_array_release(z);
        kiln_graph_destroy(g);
    }
    const kiln_subscript beside[] = {kiln_subscript_array(i), kiln_subscript_index(4)};
    kiln_array *z = NULL;
    FAILS(t, KILN_ERR_AXIS, kiln_array_index(x, beside, 2, NULL, &z, &t->err), "index 4", "axis 1", "4 elements");
    kiln_array_release(i);
    kiln_array_release(x);
}

/* A number beside index arrays is a view of the array: no other number needs another kernel. */
static void test_subscript__numbers_beside_arrays_share_a_kernel(void **state)
{
    test_env *t = *state;
    const int32_t places[] = {2, 0};
    kiln_cache_counters counters;
    kiln_array *x = test_ramp(t, 2, (int64_t[]){3, 50}), *i = NULL;
    uint64_t compiles = 0;
    int32_t got[2];

    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, (int64_t[]){2}, places, NULL, &i, &t->err));
    for (int c = 0; c < 50; c++) {
        const kiln_subscript by[] = {kiln_subscript_array(i), kiln_subscript_index(c)};
        kiln_array *y = NULL;
        OK(t, kiln_array_index(x, by, 2, NULL, &y, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        assert_int_equal(got[0], 2 * 50 + c);
        assert_int_equal(got[1], c);
        kiln_array_release(y);
        kiln_context_cache_counters(t->ctx, &counters);
        if (c == 0)
            compiles = counters.compiles;
    }
    assert_true(counters.compiles <= compiles + 1); /* columns may begin within words of memory */
    kiln_array_release(i);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_subscript__views_are_numpys),
        TEST(test_subscript__what_is_wrong_is_pointed_at),
        TEST(test_subscript__new_arrays_keep_shape_and_order),
        TEST(test_subscript__fill_touches_the_view_alone),
        TEST(test_subscript__elements_of_every_dtype_are_read),
        TEST(test_subscript__unused_numbers_tell_no_nodes_apart),
        TEST(test_subscript__an_index_into_a_view_is_told_of_the_array),
        TEST(test_subscript__numbers_beside_arrays_share_a_kernel),
    };

    return test_env_main(argc, argv, "test_subscript", tests, COUNT(tests));
}
