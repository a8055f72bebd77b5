/*
 * test_row_layout.c - one row program, every way its operands can lie in memory, every set of axes.
 *
 * Outputs go into layouts of their own, guard bytes around them are compared, too.
 */
#include "oracle/rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BC HOST_BROADCAST

typedef struct placed {
    const char *name;
    int rank;
    int64_t shape[HOST_AXES];
    unsigned axes; /* along which rows run, as a set */
    host_layout x, y;
} placed;

static const placed places[] = {
    {"C-order", 2, {9, 40}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"off by an element", 2, {9, 40}, 2u, {{0}, {0}, 1}, {{0}, {0}, 3}},
    {"columns", 2, {40, 9}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"many columns", 2, {70, 130}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"long columns", 2, {1500, 65}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"longer columns", 2, {5000, 33}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"two columns", 2, {700, 2}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"transposed", 2, {9, 40}, 2u, {{2, 1}, {0}, 0}, {{2, 1}, {0}, 0}},
    {"transposed input", 2, {33, 40}, 2u, {{2, 1}, {0}, 0}, {{0}, {0}, 0}},
    {"transposed output", 2, {33, 40}, 2u, {{0}, {0}, 0}, {{2, 1}, {0}, 0}},
    {"every second", 2, {9, 100}, 2u, {{0}, {0, 2}, 0}, {{0}, {0}, 0}},
    {"backwards", 2, {9, 100}, 2u, {{0}, {0, -1}, 0}, {{0}, {-1, -2}, 2}},
    {"rows apart", 2, {9, 100}, 2u, {{0}, {3, 1}, 0}, {{0}, {2, 1}, 0}},
    {"the same row again", 2, {9, 100}, 2u, {{0}, {BC, 1}, 0}, {{0}, {0}, 0}},
    {"the same element along a row", 2, {9, 100}, 2u, {{0}, {1, BC}, 0}, {{0}, {0}, 0}},
    {"one element", 2, {9, 100}, 2u, {{0}, {BC, BC}, 0}, {{0}, {0}, 0}},
    {"one row", 1, {1000}, 1u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"everything is a row", 3, {5, 6, 7}, 7u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"middle", 3, {5, 60, 7}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"wide middle", 3, {3, 200, 48}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"outer and inner", 3, {5, 6, 70}, 5u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"inner two", 3, {5, 6, 70}, 6u, {{0}, {0, 1, 2}, 0}, {{0}, {0}, 0}},
    {"no row axis", 2, {5, 6}, 0u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"short, odd", 2, {5000, 7}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"short, off alike", 2, {700, 33}, 2u, {{0}, {0}, 1}, {{0}, {0}, 3}},
    {"two threads a row", 2, {531, 65}, 2u, {{0}, {0}, 1}, {{0}, {0}, 3}},
    {"four threads a row", 2, {301, 97}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"short, of whole accesses, off", 2, {300, 12}, 2u, {{0}, {0}, 1}, {{0}, {0}, 0}},
    {"short, rows apart", 2, {300, 7}, 2u, {{0}, {2, 1}, 0}, {{0}, {0}, 0}},
    {"long, rows begin anywhere", 2, {5, 40003}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"long, off alike", 2, {3, 40001}, 2u, {{0}, {0}, 3}, {{0}, {0}, 3}},
    {"long, one of them off", 2, {3, 40003}, 2u, {{0}, {0}, 0}, {{0}, {0}, 1}},
    {"long, rows apart", 2, {3, 33333}, 2u, {{0}, {2, 1}, 1}, {{0}, {2, 1}, 1}},
    {"long, rows differently apart", 2, {3, 33333}, 2u, {{0}, {3, 1}, 0}, {{0}, {1, 1}, 0}},
    {"long, every second", 2, {3, 34567}, 2u, {{0}, {1, 2}, 0}, {{0}, {0}, 0}},
    {"long, one row", 1, {65537}, 1u, {{0}, {0}, 2}, {{0}, {0}, 2}},
    {"long, of two axes", 3, {2, 7, 5003}, 6u, {{0}, {1, 2, 1}, 0}, {{0}, {0}, 0}},
    {"longest, aligned", 2, {2, 131072}, 2u, {{0}, {0}, 0}, {{0}, {0}, 0}},
    {"five axes", 5, {2, 3, 4, 5, 6}, 10u, {{5, 1, 3, 2, 4}, {0}, 0}, {{0}, {1, 1, 2, 1, 1}, 0}},
};

static void check_place(test_env *t, kiln_row *op, row_kind kind, const placed *c)
{
    host_array x, y, *in[1] = {&x};

    host_make(t, &x, KILN_FLOAT32, c->rank, c->shape, &c->x);
    host_fill_random(t, &x);
    host_send(t, &x);
    host_make(t, &y, KILN_FLOAT32, c->rank, c->shape, &c->y);
    const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(y.array)};
    OK(t, row_run(op, c->axes, false, args, 2, &t->err));
    host_rows(kind, in, &y, NULL, c->rank, c->shape, c->axes);
    host_close(t, &y, 2e-5, 2e-5, c->name);
    host_free(&x);
    host_free(&y);
}

static void test_row_layout__softmax_wherever_arrays_lie(void **state)
{
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    for (size_t k = 0; k < COUNT(places); k++)
        if (test_drawn(t))
            check_place(t, op, ROW_SOFTMAX, &places[k]);
    kiln_row_destroy(op);
}

/* A struct accumulator without identity, through every way of bringing parts together. */
static void test_row_layout__moments_wherever_arrays_lie(void **state)
{
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_STANDARDISE);
    for (size_t k = 2; k < COUNT(places); k += 4)
        if (places[k].x.step[1] != BC && test_drawn(t))
            check_place(t, op, ROW_STANDARDISE, &places[k]);
    kiln_row_destroy(op);
}

/* ---- what an input is, is decided by its shape ----------------------------------------------------- */

/* y = (x - shift) * gain after a sum over the row, each of them an element, a row's, a column's or a
 * number. */
static kiln_row *make_affine(test_env *t)
{
    static const kiln_row_stage stages[] = {{.map = "(double)x * gain",
                                             .type = "double",
                                             .reduce = "a + b",
                                             .identity = "0",
                                             .result = "total"}};
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
    kiln_row *op = NULL;
    opts.row_outputs = "float64 sum, int32 length";
    opts.row_post = "sum = total; length = n";
    OK(t, kiln_row_create(t->ctx, "T x, T gain, T shift", "float64 y", stages, 1,
                          "y = x * gain + shift - total", &opts, &op, &t->err));
    return op;
}

static void test_row_layout__inputs_are_what_their_shapes_say(void **state)
{
    static const int64_t shapes[][2] = {{6, 50}, {6, 1}, {1, 50}, {1, 1}};
    const int64_t full[2] = {6, 50}, kept[2] = {6, 1};
    test_env *t = *state;
    kiln_row *op = make_affine(t);

    for (size_t k = 0; k < COUNT(shapes) * COUNT(shapes); k++) {
        host_array x, gain, shift, y, sum, length;
        host_make(t, &x, KILN_FLOAT32, 2, full, NULL);
        host_make(t, &gain, KILN_FLOAT32, 2, shapes[k % 4], NULL);
        host_make(t, &shift, KILN_FLOAT32, 2, shapes[k / 4], NULL);
        host_make(t, &y, KILN_FLOAT64, 2, full, NULL);
        host_make(t, &sum, KILN_FLOAT64, 2, kept, NULL);
        host_make(t, &length, KILN_INT32, 2, kept, NULL);
        host_fill_small(&gain, (unsigned)k);
        host_fill_small(&shift, (unsigned)k + 7);
        host_send(t, &gain);
        host_send(t, &shift);
        const kiln_arg args[] = {kiln_arg_array(x.array),     kiln_arg_array(gain.array),
                                 kiln_arg_array(shift.array), kiln_arg_array(y.array),
                                 kiln_arg_array(sum.array),   kiln_arg_array(length.array)};
        OK(t, row_run(op, 2u, true, args, 6, &t->err));
        for (int64_t r = 0; r < full[0]; r++) {
            int64_t at[2] = {r, 0};
            double total = 0;
            for (at[1] = 0; at[1] < full[1]; at[1]++)
                total += (double)host_load(KILN_FLOAT32, host_broadcast_at(&x, 2, at)).re *
                         (double)host_load(KILN_FLOAT32, host_broadcast_at(&gain, 2, at)).re;
            for (at[1] = 0; at[1] < full[1]; at[1]++)
                host_store(KILN_FLOAT64, host_broadcast_at(&y, 2, at),
                           host_real(host_load(KILN_FLOAT32, host_broadcast_at(&x, 2, at)).re *
                                         host_load(KILN_FLOAT32, host_broadcast_at(&gain, 2, at)).re +
                                     host_load(KILN_FLOAT32, host_broadcast_at(&shift, 2, at)).re -
                                     (long double)total));
            host_store(KILN_FLOAT64, host_at(&sum, r), host_real(total));
            host_store(KILN_INT32, host_at(&length, r), host_real(full[1]));
        }
        host_compare(t, &y, 0, "y"); /* small integers: exact in any order */
        host_compare(t, &sum, 0, "sum");
        host_compare(t, &length, 0, "length");
        host_free(&x), host_free(&gain), host_free(&shift);
        host_free(&y), host_free(&sum), host_free(&length);
    }
    kiln_row_destroy(op);
}

/* Numbers bind as in any kernel; outputs to be allocated have the shapes that are due. */
static void test_row_layout__numbers_and_allocated_outputs(void **state)
{
    test_env *t = *state;
    kiln_row *op = make_affine(t);
    kiln_array *x = NULL, *xt = NULL, *y = NULL, *sum = NULL, *length = NULL;
    double got[12], sums[3];

    OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, 12, 1, &x, &t->err));
    OK(t, kiln_array_reshape(x, 2, (int64_t[]){4, 3}, &xt, &t->err));
    kiln_array_release(x);
    OK(t, kiln_array_transpose(xt, NULL, &x, &t->err)); /* (3, 4), the first axis is the fast one */
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x, 2.0, 1, &y, &sum, &length));
    assert_int_equal(kiln_array_rank(y), 2);
    assert_int_equal(kiln_array_strides(y)[0], 8); /* as its input lies */
    assert_int_equal(kiln_array_rank(sum), 1);
    assert_int_equal(kiln_array_shape(sum)[0], 3);
    assert_int_equal(kiln_array_dtype(length), KILN_INT32);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    OK(t, kiln_array_to_host(sum, sums, sizeof sums, NULL, &t->err));
    for (int r = 0; r < 3; r++) {
        const double total = 2.0 * (r + r + 3 + r + 6 + r + 9);
        assert_true(sums[r] == total);
        for (int k = 0; k < 4; k++)
            assert_true(got[4 * r + k] == (r + 3 * k) * 2.0 + 1 - total);
    }
    kiln_array_release(x), kiln_array_release(xt), kiln_array_release(y);
    kiln_array_release(sum), kiln_array_release(length);
    kiln_row_destroy(op);
}

/* ---- sharing memory ---------------------------------------------------------------------------------- */

static void test_row_layout__in_place_at_every_length(void **state)
{
    static const int64_t lengths[] = {5, 1000, 16384, 131072, 300000};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    for (size_t k = 0; k < COUNT(lengths); k++) {
        const int64_t shape[2] = {3, lengths[k]};
        host_array x, *in[1] = {&x};
        host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
        host_fill_random(t, &x);
        host_send(t, &x);
        const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(x.array)};
        OK(t, row_run(op, 2u, false, args, 2, &t->err));
        host_rows(ROW_SOFTMAX, in, &x, NULL, 2, shape, 2u);
        host_close(t, &x, 2e-5, 2e-5, "in place");
        host_free(&x);
    }
    kiln_row_destroy(op);
}

/* An output that lies across its input, not on it: the input is copied first. */
static void test_row_layout__overlapping_inputs_are_copied(void **state)
{
    const int64_t shape[2] = {8, 8}, across[2] = {4, 32};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    host_array x, y, *in[1] = {&x};

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    host_fill_random(t, &x);
    host_send(t, &x);
    host_view(t, &y, &x, 2, shape, across, 0);
    host_array before = x;
    before.store = malloc(x.bytes);
    memcpy(before.store, x.store, x.bytes);
    in[0] = &before;
    const kiln_arg args[] = {kiln_arg_array(x.array), kiln_arg_array(y.array)};
    OK(t, row_run(op, 2u, false, args, 2, &t->err));
    host_rows(ROW_SOFTMAX, in, &y, NULL, 2, shape, 2u);
    host_close(t, &y, 2e-5, 2e-5, "turned in place");
    free(before.store);
    host_free(&y);
    host_free(&x);
    kiln_row_destroy(op);
}

/* ---- prepared ------------------------------------------------------------------------------------------- */

/* Bound once, along columns, run again over what the input holds by then. */
static void test_row_layout__a_prepared_program_runs_again(void **state)
{
    const int64_t shape[2] = {30, 17};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    kiln_row_call_options opts = KILN_ROW_CALL_OPTIONS_INIT;
    host_array x, y, *in[1] = {&x};
    kiln_launch *launch = NULL;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    host_make(t, &y, KILN_FLOAT32, 2, shape, NULL);
    opts.axes = KILN_AXES(0);
    FAILS(t, KILN_ERR_NULL, kiln_row_prepare(op, KILN_ARGS(x.array, y.array), &opts, NULL, &t->err),
          "kiln_row_prepare", "`out` is NULL");
    OK(t, kiln_row_prepare(op, KILN_ARGS(x.array, y.array), &opts, &launch, &t->err));
    for (int k = 0; k < 2; k++) {
        host_fill_random(t, &x);
        host_send(t, &x);
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        host_rows(ROW_SOFTMAX, in, &y, NULL, 2, shape, 1u);
        host_close(t, &y, 2e-5, 2e-5, "prepared");
    }
    kiln_launch_destroy(launch);
    host_free(&y);
    host_free(&x);
    kiln_row_destroy(op);
}

/* ---- threads --------------------------------------------------------------------------------------------- */

typedef struct worker {
    kiln_row *op;
    kiln_array *x, *y;
    kiln_stream *stream;
    kiln_status status;
} worker;

static void *run_columns(void *of)
{
    worker *w = of;
    kiln_row_call_options opts = KILN_ROW_CALL_OPTIONS_INIT;
    opts.axes = KILN_AXES(0);
    opts.stream = w->stream;
    for (int k = 0; k < 20 && w->status == KILN_OK; k++)
        w->status = kiln_row_run(w->op, KILN_ARGS(w->x, w->y), &opts, NULL);
    return NULL;
}

/* Tiles of rows go through buffers that launches must not share. */
static void test_row_layout__threads_share_a_program(void **state)
{
    enum { THREADS = 4 };
    const int64_t shape[2] = {300, 70};
    test_env *t = *state;
    kiln_row *op = row_make(t, ROW_SOFTMAX);
    host_array x[THREADS], y[THREADS], *in[1];
    worker w[THREADS];
    pthread_t thread[THREADS];

    for (int k = 0; k < THREADS; k++) {
        host_make(t, &x[k], KILN_FLOAT32, 2, shape, NULL);
        host_fill_random(t, &x[k]);
        host_send(t, &x[k]);
        host_make(t, &y[k], KILN_FLOAT32, 2, shape, NULL);
        w[k] = (worker){op, x[k].array, y[k].array, NULL, KILN_OK};
        OK(t, kiln_stream_create(t->ctx, NULL, &w[k].stream, &t->err));
    }
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, run_columns, &w[k]), 0);
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(thread[k], NULL), 0);
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(w[k].status, KILN_OK);
        in[0] = &x[k];
        host_rows(ROW_SOFTMAX, in, &y[k], NULL, 2, shape, 1u);
        host_close(t, &y[k], 2e-5, 2e-5, "threads");
        kiln_stream_destroy(w[k].stream);
        host_free(&x[k]);
        host_free(&y[k]);
    }
    kiln_row_destroy(op);
}

/* ---- nothing to do ------------------------------------------------------------------------------------- */

static void test_row_layout__no_rows_and_empty_rows(void **state)
{
    static const int64_t shapes[][2] = {{0, 5}, {5, 0}, {0, 0}};
    test_env *t = *state;
    kiln_row *softmax = row_make(t, ROW_SOFTMAX), *cosine = row_make(t, ROW_COSINE);
    for (size_t k = 0; k < COUNT(shapes); k++) {
        kiln_array *x = NULL, *y = NULL, *c = NULL;
        double got[5] = {1, 1, 1, 1, 1};
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, shapes[k], &x, &t->err));
        OK(t, kiln_call_over(softmax, KILN_AXES(1), &t->err, x, &y));
        assert_int_equal(kiln_array_size(y), 0);
        OK(t, kiln_call_over(cosine, KILN_AXES(1), &t->err, x, x, &c));
        assert_int_equal(kiln_array_size(c), shapes[k][0]);
        if (shapes[k][0] > 0) {
            OK(t, kiln_array_to_host(c, got, sizeof got, NULL, &t->err));
            for (int r = 0; r < 5; r++) /* 0 / 0, from the identity */
                assert_true(got[r] != got[r]);
        }
        kiln_array_release(x), kiln_array_release(y), kiln_array_release(c);
    }
    kiln_row_destroy(softmax);
    kiln_row_destroy(cosine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_row_layout__softmax_wherever_arrays_lie),
        TEST(test_row_layout__moments_wherever_arrays_lie),
        TEST(test_row_layout__inputs_are_what_their_shapes_say),
        TEST(test_row_layout__numbers_and_allocated_outputs),
        TEST(test_row_layout__in_place_at_every_length),
        TEST(test_row_layout__overlapping_inputs_are_copied),
        TEST(test_row_layout__a_prepared_program_runs_again),
        TEST(test_row_layout__threads_share_a_program),
        TEST(test_row_layout__no_rows_and_empty_rows),
    };
    return test_env_main(argc, argv, "test_row_layout", tests, COUNT(tests));
}
