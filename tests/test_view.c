/*
 * test_view.c - views, and reshapes without a copy, against the layouts NumPy gives.
 *
 * data/views.txt holds chains of operations and the resulting layout; data/make_views.py made it.
 * Runs on the cpu device: a view never looks at an element.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array/array.h"
#include "test_data.h"

#define OPEN KILN_SLICE_OPEN

static kiln_context *ctx;
static kiln_error err;

static int setup(void **state)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;

    (void)state;
    options.device = "cpu";
    options.cache_dir = "";
    return kiln_context_create(&options, &ctx, &err) == KILN_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kiln_context_release(ctx);
    kiln_error_clear(&err);
    return 0;
}

static kiln_array *new_array(kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *array = NULL;

    if (kiln_array_empty(ctx, dtype, rank, shape, &array, &err) != KILN_OK)
        fail_msg("%s", err.message);
    return array;
}

/* ---- NumPy's table ---- */

static bool next_is(char **at, char what)
{
    while (**at == ' ')
        ++*at;
    if (**at != what)
        return false;
    ++*at;
    return true;
}

static int64_t next_number(char **at)
{
    char *end;
    int64_t value;

    if (next_is(at, '_'))
        return OPEN;
    value = strtoll(*at, &end, 10);
    assert_true(end > *at);
    *at = end;
    return value;
}

static int next_shape(char **at, int64_t *shape)
{
    int rank = (int)next_number(at);

    for (int axis = 0; axis < rank; axis++)
        shape[axis] = next_number(at);
    return rank;
}

/* Apply the operation at `at`, giving up `array`. */
static kiln_array *operate(kiln_array *array, char **at)
{
    kiln_array *out = NULL;
    kiln_status status = KILN_ERR_INTERNAL;
    int64_t shape[KILN_RANK_MAX];
    kiln_axes axes = {0};
    int axis = 0;

    if (next_is(at, 's')) {
        int64_t start, stop, step;
        axis = (int)next_number(at);
        start = next_number(at);
        stop = next_number(at);
        step = next_number(at);
        status = kiln_array_slice(array, axis, start, stop, step, &out, &err);
    } else if (next_is(at, 'i')) {
        axis = (int)next_number(at);
        status = kiln_array_select(array, axis, next_number(at), &out, &err);
    } else if (next_is(at, 't')) {
        for (int k = 0; k < array->rank; k++)
            axes.axis[axes.count++] = (int)next_number(at);
        status = kiln_array_transpose(array, &axes, &out, &err);
    } else if (next_is(at, 'b')) {
        int rank = next_shape(at, shape);
        status = kiln_array_broadcast_to(array, rank, shape, &out, &err);
    } else if (next_is(at, 'n')) {
        status = kiln_array_newaxis(array, (int)next_number(at), &out, &err);
    } else if (next_is(at, 'f')) {
        status = kiln_array_flip(array, (int)next_number(at), &out, &err);
    }
    if (status != KILN_OK)
        fail_msg("before '%s': %s", *at, err.message);
    kiln_array_release(array);
    return out;
}

/* Strides of axes that are walked, and the first element, are as the table says. */
static void check_layout(const char *line, int rank, const int64_t *shape, const int64_t *strides,
                         int64_t offset, char **at)
{
    int64_t expected[KILN_RANK_MAX];
    bool empty = false;

    if (next_shape(at, expected) != rank)
        fail_msg("rank %d: %s", rank, line);
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] != expected[axis])
            fail_msg("extent %lld of axis %d: %s", (long long)shape[axis], axis, line);
        empty |= shape[axis] == 0;
    }
    for (int axis = 0; axis < rank; axis++) {
        int64_t stride = next_number(at);
        if (!empty && shape[axis] > 1 && strides[axis] != stride)
            fail_msg("stride %lld of axis %d: %s", (long long)strides[axis], axis, line);
    }
    if (next_number(at) != offset && !empty)
        fail_msg("offset %lld: %s", (long long)offset, line);
}

static void check_line(char *line)
{
    char *at = line;
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    int rank = next_shape(&at, shape);
    kiln_array *base = new_array(KILN_INT32, rank, shape), *view = kiln_array_retain(base);
    int64_t offset;

    while (!next_is(&at, '=') && !next_is(&at, 'r'))
        view = operate(view, &at);
    offset = view->size > 0 ? (int64_t)((char *)view->data - (char *)base->data) : 0;
    if (at[-1] == '=') {
        check_layout(line, view->rank, view->shape, view->strides, offset, &at);
    } else {
        int new_rank = next_shape(&at, shape);
        bool possible = kiln__reshape_strides(view->rank, view->shape, view->strides, 4, new_rank,
                                              shape, strides);
        assert_true(next_is(&at, '='));
        if (possible == next_is(&at, 'c'))
            fail_msg("a view is %spossible: %s", possible ? "" : "not ", line);
        if (possible)
            check_layout(line, new_rank, shape, strides, offset, &at);
    }
    kiln_array_release(view);
    kiln_array_release(base);
}

static void test_view__layouts_are_numpys(void **state)
{
    char path[1024], *line = NULL;
    size_t room = 0, count = 0;
    FILE *file = fopen(test_data("data/views.txt", path, sizeof path), "r");

    (void)state;
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    while (getline(&line, &room, file) > 0) {
        check_line(line);
        count++;
    }
    free(line);
    fclose(file);
    assert_int_equal(count, 2269);
}

/* ---- what follows from a layout ---- */

/* By plain loops: is every element one item behind the one before it, in C-order? */
static bool lies_in_c_order(const kiln_array *a)
{
    for (int64_t i = 0; i < a->size; i++) {
        int64_t rest = i, at = 0;
        for (int axis = a->rank - 1; axis >= 0; axis--) {
            at += rest % a->shape[axis] * a->strides[axis];
            rest /= a->shape[axis];
        }
        if (at != i * (int64_t)kiln_dtype_size(a->dtype))
            return false;
    }
    return true;
}

/* By plain loops: do two indices name one element? */
static bool names_one_twice(const kiln_array *a)
{
    static unsigned char seen[4096];

    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < a->size; i++) {
        int64_t rest = i, at = 2048;
        for (int axis = a->rank - 1; axis >= 0; axis--) {
            at += rest % a->shape[axis] * a->strides[axis] / 4;
            rest /= a->shape[axis];
        }
        assert_true(at >= 0 && at < (int64_t)sizeof seen);
        if (seen[at]++)
            return true;
    }
    return false;
}

/* Random views of a small array, checked element by element. */
static void test_view__contiguous_and_self_overlap_are_right(void **state)
{
    const int64_t shape[3] = {4, 3, 5};
    int contiguous = 0, overlapping = 0;
    unsigned seed = 3;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        kiln_array *a = new_array(KILN_INT32, 3, shape);
        for (int step = 0; step < 3 && a->rank > 0; step++) {
            kiln_array *b = NULL;
            int64_t wide[5] = {2, 1, 0, 0, 0};
            int axis;
            seed = seed * 1664525u + 1013904223u;
            axis = (int)(seed >> 8) % a->rank;
            switch (seed >> 28) {
            case 0:
            case 1:
            case 2:
                assert_int_equal(kiln_array_transpose(a, NULL, &b, NULL), KILN_OK);
                break;
            case 3:
                if (a->shape[axis] == 0)
                    continue;
                assert_int_equal(kiln_array_select(a, axis, 0, &b, NULL), KILN_OK);
                break;
            case 4:
                if (a->rank > 3)
                    continue;
                memcpy(wide + 2, a->shape, (size_t)a->rank * sizeof wide[0]);
                assert_int_equal(kiln_array_broadcast_to(a, a->rank + 2, wide, &b, NULL), KILN_OK);
                break;
            case 5:
                assert_int_equal(kiln_array_newaxis(a, axis, &b, NULL), KILN_OK);
                break;
            default:
                assert_int_equal(kiln_array_slice(a, axis, (seed >> 4) % 3, OPEN,
                                                  (int64_t)((seed >> 6) % 3) + 1, &b, NULL),
                                 KILN_OK);
                break;
            }
            kiln_array_release(a);
            a = b;
        }
        assert_int_equal(kiln_array_is_contiguous(a), lies_in_c_order(a));
        assert_int_equal(a->self_overlap, names_one_twice(a));
        contiguous += a->contiguous;
        overlapping += a->self_overlap;
        kiln_array_release(a);
    }
    assert_true(contiguous > 200 && overlapping > 100);
}

static void test_view__equal_layouts_have_equal_hashes_and_others_do_not(void **state)
{
    enum { MOST = 4096 };
    static uint64_t hashes[MOST];
    size_t count = 0;

    (void)state;
    for (int dtype = KILN_INT32; dtype <= KILN_FLOAT32; dtype += 3) /* int32, uint16, float16 */
        for (int64_t i = 1; i <= 5; i++)
            for (int64_t j = 1; j <= 5; j++)
                for (int64_t k = 1; k <= 5; k++) {
                    const int64_t shape[3] = {i, j, k};
                    kiln_array *a = new_array((kiln_dtype)dtype, 3, shape), *b = NULL;
                    kiln_array *c = new_array((kiln_dtype)dtype, 3, shape);
                    assert_int_equal(a->layout, c->layout);
                    hashes[count++] = a->layout;
                    assert_int_equal(kiln_array_newaxis(a, 0, &b, NULL), KILN_OK);
                    hashes[count++] = b->layout;
                    kiln_array_release(b);
                    if (j > 1 && k > 1) { /* else strides of extent 1 alone may tell them apart */
                        assert_int_equal(kiln_array_transpose(a, KILN_AXES(0, 2, 1), &b, NULL),
                                         KILN_OK);
                        hashes[count++] = b->layout;
                        kiln_array_release(b);
                    }
                    kiln_array_release(a);
                    kiln_array_release(c);
                }
    assert_true(count > 900 && count < MOST);
    for (size_t x = 0; x < count; x++)
        for (size_t y = 0; y < x; y++)
            if (hashes[x] == hashes[y])
                fail_msg("layouts %zu and %zu have one hash", x, y);
}

/* ---- refusals ---- */

#define FAILS(want, call, text)                                                                    \
    do {                                                                                           \
        out = a;                                                                                   \
        assert_int_equal((call), (want));                                                          \
        assert_null(out);                                                                          \
        if (strstr(err.message, (text)) == NULL)                                                   \
            fail_msg("'%s' is not in: %s", (text), err.message);                                   \
    } while (0)

static void test_view__bad_axes_and_indices_are_refused(void **state)
{
    const int64_t shape[3] = {2, 3, 4};
    kiln_array *a = new_array(KILN_INT8, 3, shape), *out = NULL;

    (void)state;
    FAILS(KILN_ERR_AXIS, kiln_array_slice(a, 3, 0, 1, 1, &out, &err), "axis 3 is out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_slice(a, -4, 0, 1, 1, &out, &err), "axis -4 is out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_slice(a, 1, 0, 1, 0, &out, &err), "step");
    FAILS(KILN_ERR_AXIS, kiln_array_select(a, 0, 2, &out, &err), "index 2 is out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_select(a, 0, -3, &out, &err), "index -3 is out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_select(a, 0, INT64_MIN, &out, &err), "out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_select(a, INT32_MIN, 0, &out, &err), "out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_transpose(a, KILN_AXES(0, 1, -3), &out, &err),
          "axis 0 is named twice");
    FAILS(KILN_ERR_AXIS, kiln_array_transpose(a, KILN_AXES(0, 1, 3), &out, &err),
          "axis 3 is out of range");
    FAILS(KILN_ERR_AXIS, kiln_array_transpose(a, KILN_AXES(0, 1), &out, &err),
          "2 axes are given for an array of rank 3");
    FAILS(KILN_ERR_AXIS, kiln_array_transpose(a, KILN_AXES(0, 1, 2, 0), &out, &err),
          "4 axes are given for an array of rank 3");
    FAILS(KILN_ERR_AXIS, kiln_array_newaxis(a, 4, &out, &err), "axis 4");
    FAILS(KILN_ERR_AXIS, kiln_array_newaxis(a, -5, &out, &err), "axis -5");
    FAILS(KILN_ERR_AXIS, kiln_array_flip(a, 3, &out, &err), "axis 3");
    FAILS(KILN_ERR_NULL, kiln_array_flip(NULL, 0, &out, &err), "NULL");
    assert_int_equal(kiln_array_flip(a, 0, NULL, &err), KILN_ERR_NULL);
    kiln_array_release(a);
    a = new_array(KILN_INT8, 0, NULL);
    FAILS(KILN_ERR_AXIS, kiln_array_flip(a, 0, &out, &err), "rank 0");
    kiln_array_release(a);
}

static void test_view__bad_shapes_are_refused(void **state)
{
    const int64_t shape[2] = {2, 3}, wrong[2] = {2, 4}, narrow[1] = {3}, negative[2] = {-2, 3};
    const int64_t vast[3] = {INT64_MAX / 4, 2, 3};
    int64_t ones[KILN_RANK_MAX];
    kiln_array *a = new_array(KILN_INT32, 2, shape), *out = NULL;

    (void)state;
    FAILS(KILN_ERR_SHAPE, kiln_array_broadcast_to(a, 2, wrong, &out, &err),
          "(2, 3) does not broadcast to (2, 4)");
    FAILS(KILN_ERR_SHAPE, kiln_array_broadcast_to(a, 1, narrow, &out, &err), "to (3,)");
    FAILS(KILN_ERR_SHAPE, kiln_array_broadcast_to(a, 0, NULL, &out, &err), "to ()");
    FAILS(KILN_ERR_ARGUMENT, kiln_array_broadcast_to(a, 2, negative, &out, &err), "negative");
    FAILS(KILN_ERR_ARGUMENT, kiln_array_broadcast_to(a, 33, ones, &out, &err), "rank 33");
    FAILS(KILN_ERR_OVERFLOW, kiln_array_broadcast_to(a, 3, vast, &out, &err), "62 bits");
    kiln_array_release(a);
    for (int axis = 0; axis < KILN_RANK_MAX; axis++)
        ones[axis] = 1;
    a = new_array(KILN_INT32, KILN_RANK_MAX, ones);
    FAILS(KILN_ERR_ARGUMENT, kiln_array_newaxis(a, 0, &out, &err), "rank 33");
    kiln_array_release(a);
}

/* Steps and bounds at the edge of 64 bits: Python gives x[5], then nothing. */
static void test_view__slices_take_any_64_bit_numbers(void **state)
{
    const int64_t ten = 10;
    kiln_array *a = new_array(KILN_FLOAT64, 1, &ten), *out = NULL;

    (void)state;
    assert_int_equal(kiln_array_slice(a, 0, 5, INT64_MAX, INT64_MAX, &out, NULL), KILN_OK);
    assert_int_equal(kiln_array_size(out), 1);
    assert_ptr_equal(kiln_array_data(out), (double *)kiln_array_data(a) + 5);
    kiln_array_release(out);
    assert_int_equal(kiln_array_slice(a, 0, OPEN, OPEN, INT64_MIN, &out, NULL), KILN_OK);
    assert_int_equal(kiln_array_size(out), 1);
    assert_ptr_equal(kiln_array_data(out), (double *)kiln_array_data(a) + 9);
    kiln_array_release(out);
    assert_int_equal(kiln_array_slice(a, 0, INT64_MAX, INT64_MIN + 1, 3, &out, NULL), KILN_OK);
    assert_int_equal(kiln_array_size(out), 0);
    assert_ptr_equal(kiln_array_data(out), kiln_array_data(a));
    kiln_array_release(out);
    kiln_array_release(a);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_view__layouts_are_numpys),
        TEST(test_view__contiguous_and_self_overlap_are_right),
        TEST(test_view__equal_layouts_have_equal_hashes_and_others_do_not),
        TEST(test_view__bad_axes_and_indices_are_refused),
        TEST(test_view__bad_shapes_are_refused),
        TEST(test_view__slices_take_any_64_bit_numbers),
    };
    return cmocka_run_group_tests_name("test_view", tests, NULL, NULL);
}
