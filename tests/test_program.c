/*
 * test_program.c - kiln/program.h: what is noted, what a run does, what cannot be captured, slots,
 * and whose memory is whose.
 *
 * Expected values come from plain loops, or, for random programs, from the same calls made one by
 * one on other arrays: there the two must have the same bits.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "test_env.h"

enum { N = 1000, ARRAYS = 6, STEPS_MAX = 24 };

static const int64_t shape[] = {20, 50};

static kiln_array *numbers(test_env *t, float first)
{
    float data[N];
    kiln_array *a = NULL;

    for (int k = 0; k < N; k++)
        data[k] = first + (float)(k % 37) / 4;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, data, NULL, &a, &t->err));
    return a;
}

static void read_all(test_env *t, const kiln_array *a, float *data)
{
    OK(t, kiln_array_to_host(a, data, N * sizeof *data, NULL, &t->err));
}

static kiln_elementwise *define(test_env *t, const char *inputs, const char *op)
{
    kiln_elementwise *made = NULL;
    OK(t, kiln_elementwise_create(t->ctx, inputs, "T z", op, NULL, &made, &t->err));
    return made;
}

static void test_program__calls_are_noted_and_done_at_each_run(void **state)
{
    test_env *t = *state;
    kiln_array *x = numbers(t, 1), *y = numbers(t, 0), *between = NULL;
    kiln_elementwise *half = define(t, "T x", "z = x / 2"), *add = define(t, "T x, T y", "z = x + y");
    kiln_program *program = NULL;
    float first[N], got[N];

    read_all(t, y, first);
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_call(half, &t->err, x, &between));
    OK(t, kiln_call(add, &t->err, between, y, y));
    kiln_array_release(between);
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    assert_int_equal(kiln_program_step_count(program), 2);
    read_all(t, y, got);
    assert_memory_equal(got, first, sizeof got);
    for (int run = 1; run <= 3; run++) {
        OK(t, kiln_program_run(program, NULL, &t->err));
        read_all(t, y, got);
        for (int k = 0; k < N; k++)
            CHECK(got[k] == first[k] + (float)run * (1 + (float)(k % 37) / 4) / 2,
                  "run %d, element %d is %g", run, k, (double)got[k]);
    }
    kiln_program_destroy(program);
    kiln_elementwise_destroy(half);
    kiln_elementwise_destroy(add);
    kiln_array_release(x);
    kiln_array_release(y);
}

/* ---- random programs ---- */

typedef struct tools {
    kiln_elementwise *axpy, *square;
    kiln_reduction *sum;
    kiln_scan *cumsum;
} tools;

typedef struct random_step {
    int what, x, y, z;
    double number;
} random_step;

static void make_tools(test_env *t, tools *use)
{
    use->axpy = define(t, "T x, T y, T a", "z = x * a + y");
    use->square = define(t, "T x", "z = x * x / 64");
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "max(a, b)", "y = a", "-1e30f", NULL,
                                &use->sum, &t->err));
    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "max(a, b)", "y = a", "-1e30f", NULL, &use->cumsum,
                           &t->err));
}

static void drop_tools(tools *use)
{
    kiln_elementwise_destroy(use->axpy);
    kiln_elementwise_destroy(use->square);
    kiln_reduction_destroy(use->sum);
    kiln_scan_destroy(use->cumsum);
}

/* One step on a set of arrays. What it allocates it releases. */
static void do_step(test_env *t, const tools *use, const random_step *s, kiln_array **a)
{
    kiln_reduction_call_options axis = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_sort_options sort = KILN_SORT_OPTIONS_INIT;
    kiln_array *made = NULL, *more = NULL;

    switch (s->what) {
    case 0:
        OK(t, kiln_call(use->axpy, &t->err, a[s->x], a[s->y], s->number, a[s->z]));
        break;
    case 1:
        OK(t, kiln_call(use->square, &t->err, a[s->x], &made));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->y], s->number, a[s->z]));
        break;
    case 2: /* a row's greatest, added to the row */
        axis.axes = KILN_AXES(1);
        axis.keepdims = true;
        OK(t, kiln_reduction_run(use->sum, KILN_ARGS(a[s->x], &made), &axis, &t->err));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->y], s->number, a[s->z]));
        break;
    case 3:
        OK(t, kiln_call(use->cumsum, &t->err, a[s->x], &made));
        OK(t, kiln_array_reshape(made, 2, shape, &more, &t->err));
        OK(t, kiln_array_assign(a[s->z], more, &t->err));
        break;
    case 4:
        OK(t, kiln_array_copy(a[s->x], &made, &t->err));
        OK(t, kiln_array_fill(a[s->x], s->number, &t->err));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->x], s->number, a[s->z]));
        break;
    case 5: /* the greatest of all: blocks that share a result count themselves by tickets */
        OK(t, kiln_array_broadcast_to(a[s->x], 3, (int64_t[]){32, shape[0], shape[1]}, &more,
                                      &t->err));
        OK(t, kiln_reduction_run(use->sum, KILN_ARGS(more, &made), &axis, &t->err));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->y], s->number, a[s->z]));
        break;
    case 6: /* columns, sorted by way of a copy */
        sort.axes = KILN_AXES(0);
        OK(t, kiln_array_sort(a[s->x], &sort, &made, &t->err));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->y], s->number, a[s->z]));
        break;
    default:
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, shape, &made, &t->err));
        OK(t, kiln_call(use->axpy, &t->err, made, a[s->y], s->number, a[s->z]));
        break;
    }
    kiln_array_release(made);
    kiln_array_release(more);
}

static void draw_steps(test_env *t, random_step *steps, int count)
{
    for (int k = 0; k < count; k++)
        steps[k] = (random_step){(int)test_random_below(t, 8), (int)test_random_below(t, ARRAYS),
                                 (int)test_random_below(t, ARRAYS),
                                 (int)test_random_below(t, ARRAYS),
                                 (double)test_random_below(t, 17) / 16 - 0.5};
}

static void compare(test_env *t, kiln_array **done, kiln_array **wanted, int program, int run)
{
    float got[N], want[N];

    for (int a = 0; a < ARRAYS; a++) {
        read_all(t, done[a], got);
        read_all(t, wanted[a], want);
        CHECK(memcmp(got, want, sizeof got) == 0, "program %d, run %d: array %d differs", program,
              run, a);
    }
}

static void test_program__random_programs_do_what_the_calls_do(void **state)
{
    test_env *t = *state;
    tools use;
    random_step steps[STEPS_MAX];
    kiln_stream *other = NULL;

    make_tools(t, &use);
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    for (int round = 0; round < 40; round++) {
        kiln_array *eager[ARRAYS], *captured[ARRAYS], *late[ARRAYS];
        kiln_program *program = NULL;
        const int count = 1 + (int)test_random_below(t, STEPS_MAX);
        draw_steps(t, steps, count);
        for (int a = 0; a < ARRAYS; a++) {
            eager[a] = numbers(t, (float)a);
            captured[a] = numbers(t, (float)a);
        }
        OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
        for (int k = 0; k < count; k++)
            do_step(t, &use, &steps[k], captured);
        OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
        /* Memory that others get now must not be the program's. */
        for (int a = 0; a < ARRAYS; a++)
            late[a] = numbers(t, 1000 + (float)a);
        for (int run = 0; run < 3; run++) {
            for (int k = 0; k < count; k++)
                do_step(t, &use, &steps[k], eager);
            (void)kiln_context_pool_trim(t->ctx);
            OK(t, kiln_program_run(program, run == 1 ? other : NULL, &t->err));
            OK(t, kiln_stream_wait(t->ctx, NULL, other, &t->err));
            compare(t, captured, eager, round, run);
        }
        for (int a = 0; a < ARRAYS; a++) {
            kiln_array *again = numbers(t, 1000 + (float)a);
            float got[N], want[N];
            read_all(t, late[a], got);
            read_all(t, again, want);
            assert_memory_equal(got, want, sizeof got);
            kiln_array_release(again);
            kiln_array_release(late[a]);
            kiln_array_release(eager[a]);
            kiln_array_release(captured[a]);
        }
        kiln_program_destroy(program);
    }
    kiln_stream_destroy(other);
    drop_tools(&use);
}

/* ---- what cannot be captured ---- */

static void test_program__what_needs_a_value_now_is_refused_by_name(void **state)
{
    test_env *t = *state;
    kiln_array *x = numbers(t, 1), *made = NULL;
    kiln_elementwise *half = define(t, "T x", "z = x / 2");
    kiln_program *program = NULL;
    kiln_stream *other = NULL;
    kiln_event *event = NULL;
    float data[N];
    static const char *const what[] = {"reading an array",
                                       "making an array from host memory",
                                       "a copy from ordinary host memory",
                                       "recording an event",
                                       "waiting for an event",
                                       "waiting for another stream",
                                       "letting another stream wait",
                                       "the run of a program"};

    memset(data, 0, sizeof data);
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
    OK(t, kiln_event_record(event, other, &t->err));
    OK(t, kiln_capture_begin(t->ctx, other, &t->err));
    OK(t, kiln_capture_end(t->ctx, other, &program, &t->err));
    assert_int_equal(kiln_program_step_count(program), 0);
    for (size_t k = 0; k < COUNT(what); k++) {
        kiln_program *none = NULL;
        OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
        OK(t, kiln_call(half, &t->err, x, &made));
        kiln_array_release(made);
        made = NULL;
        const kiln_status got =
            k == 0   ? kiln_array_to_host(x, data, sizeof data, NULL, &t->err)
            : k == 1 ? kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, shape, data, NULL, &made,
                                            &t->err)
            : k == 2 ? kiln_array_upload(x, data, NULL, NULL, &t->err)
            : k == 3 ? kiln_event_record(event, NULL, &t->err)
            : k == 4 ? kiln_stream_wait_event(t->ctx, NULL, event, &t->err)
            : k == 5 ? kiln_stream_wait(t->ctx, NULL, other, &t->err)
            : k == 6 ? kiln_stream_wait(t->ctx, other, NULL, &t->err)
                     : kiln_program_run(program, NULL, &t->err);
        test_expect_fail(t, got, KILN_ERR_UNSUPPORTED, (const char *const[]){what[k], NULL}, what[k],
                         __FILE__, __LINE__);
        kiln_array_release(made);
        made = NULL;
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_call(half, &t->err, x, &made), what[k]);
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_capture_end(t->ctx, NULL, &none, &t->err), what[k]);
        assert_null(none);
        OK(t, kiln_call(half, &t->err, x, &made)); /* the stream is as before */
        read_all(t, made, data);
        assert_true(data[1] == 1.25f / 2);
        kiln_array_release(made);
        made = NULL;
    }
    kiln_program_destroy(program);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_capture_end(t->ctx, NULL, &program, &t->err),
          "no work of the stream is being captured");
    assert_null(program);
    kiln_stream_destroy(other);
    kiln_event_destroy(event);
    kiln_elementwise_destroy(half);
    kiln_array_release(x);
}

static void test_program__captures_can_be_abandoned(void **state)
{
    test_env *t = *state;
    kiln_array *x = numbers(t, 1), *made = NULL;
    kiln_elementwise *half = define(t, "T x", "z = x / 2");
    kiln_elementwise_call_options on = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_capture_begin(t->ctx, NULL, &t->err), "already");
    OK(t, kiln_call(half, &t->err, x, &made));
    kiln_array_release(made);
    made = NULL;
    kiln_capture_abort(t->ctx, NULL);
    kiln_capture_abort(t->ctx, NULL);
    OK(t, kiln_stream_create(t->ctx, NULL, &on.stream, &t->err));
    OK(t, kiln_capture_begin(t->ctx, on.stream, &t->err));
    OK(t, kiln_elementwise_run(half, KILN_ARGS(x, &made), &on, &t->err));
    kiln_array_release(made);
    kiln_stream_destroy(on.stream); /* ends it */
    kiln_elementwise_destroy(half);
    kiln_array_release(x);
}

/* ---- slots ---- */

static void test_program__slots_change_arrays_and_numbers(void **state)
{
    test_env *t = *state;
    kiln_array *x = numbers(t, 1), *y = numbers(t, 2), *z = numbers(t, 0), *z2 = numbers(t, 0);
    kiln_elementwise *axpy = define(t, "T x, T y, T a", "z = x * a + y");
    kiln_program *program = NULL;
    size_t from = 9, to = 9, factor = 9;
    float got[N];

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_call(axpy, &t->err, x, y, 2.0, z));
    OK(t, kiln_array_assign(y, z, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    OK(t, kiln_program_array_slot(program, x, &from, &t->err));
    OK(t, kiln_program_array_slot(program, z, &to, &t->err));
    OK(t, kiln_program_number_slot(program, "kiln_kernel", "a", &factor, &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err)); /* z = y = 2 x + y0 */
    OK(t, kiln_program_set(program, factor, kiln_arg_float(3), &t->err));
    OK(t, kiln_program_set(program, from, kiln_arg_array(z), &t->err));
    OK(t, kiln_program_set(program, to, kiln_arg_array(z2), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err)); /* z2 = y = 3 z + z */
    read_all(t, z2, got);
    for (int k = 0; k < N; k++) {
        const float x0 = 1 + (float)(k % 37) / 4;
        CHECK(got[k] == 4 * (2 * x0 + x0 + 1), "element %d is %g", k, (double)got[k]);
    }
    read_all(t, y, got);
    CHECK(got[5] == 4 * (3 * 2.25f + 1), "the copy has %g", (double)got[5]);
    read_all(t, z, got);
    CHECK(got[5] == 3 * 2.25f + 1, "what is no output any more has %g", (double)got[5]);
    kiln_program_destroy(program);
    kiln_elementwise_destroy(axpy);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_array_release(z2);
}

static void test_program__slots_refuse_what_does_not_fit(void **state)
{
    test_env *t = *state;
    const int64_t other_shape[] = {50, 20}, long_shape[] = {N + 1};
    kiln_array *x = numbers(t, 1), *z = numbers(t, 0), *wrong = NULL, *view = NULL;
    kiln_array *flat = NULL;
    kiln_elementwise *axpy = define(t, "T x, T a", "z = x * a");
    kiln_program *program = NULL;
    size_t at = 9, number = 9, none = 9;

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_call(axpy, &t->err, x, 2.0, z));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    OK(t, kiln_program_array_slot(program, x, &at, &t->err));
    OK(t, kiln_program_number_slot(program, "kiln_kernel", "a", &number, &t->err));
    FAILS(t, KILN_ERR_NAME, kiln_program_number_slot(program, "kiln_kernel", "b", &none, &t->err),
          "`b`");
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 1, long_shape, &flat, &t->err));
    FAILS(t, KILN_ERR_NAME, kiln_program_array_slot(program, flat, &none, &t->err), "no step");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_program_set(program, 7, kiln_arg_float(1), &t->err),
          "there is no slot 7");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_program_set(program, at, kiln_arg_float(1), &t->err),
          "an array's");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_program_set(program, number, kiln_arg_array(x), &t->err),
          "a number's");
    FAILS(t, KILN_ERR_RANGE, kiln_program_set(program, number, kiln_arg_float(1e300), &t->err), "`a`");
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 2, shape, &wrong, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_program_set(program, at, kiln_arg_array(wrong), &t->err),
          "float64");
    kiln_array_release(wrong);
    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 2, other_shape, &wrong, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_program_set(program, at, kiln_arg_array(wrong), &t->err),
          "(20, 50)", "(50, 20)");
    OK(t, kiln_array_transpose(wrong, NULL, &view, &t->err));
    FAILS(t, KILN_ERR_SHAPE, kiln_program_set(program, at, kiln_arg_array(view), &t->err), "strides");
    kiln_array_release(view);
    kiln_array_release(wrong);
    kiln_program_destroy(program);
    FAILS(t, KILN_ERR_RELEASED, kiln_program_run(program, NULL, &t->err), "program was destroyed");
    kiln_elementwise_destroy(axpy);
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_array_release(flat);
}

/* ---- memory, host memory and host calls ---- */

static void count_up(void *user)
{
    ++*(int *)user;
}

static void test_program__copies_host_calls_and_memory_over_many_runs(void **state)
{
    test_env *t = *state;
    enum { RUNS = 2000 };
    kiln_array *x = numbers(t, 0), *kept = NULL;
    kiln_elementwise *half = define(t, "T x", "z = x / 2");
    kiln_program *program = NULL;
    kiln_pool_stats before, after;
    int calls = 0;
    float *up = NULL, *down = NULL, got[N];

    OK(t, kiln_host_alloc(t->ctx, N * sizeof *up, false, (void **)&up, &t->err));
    OK(t, kiln_host_alloc(t->ctx, N * sizeof *down, false, (void **)&down, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_array_upload(x, up, NULL, NULL, &t->err));
    OK(t, kiln_call(half, &t->err, x, &kept));
    OK(t, kiln_array_download(kept, down, N * sizeof *down, NULL, NULL, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, NULL, count_up, &calls, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    assert_int_equal(kiln_program_step_count(program), 4);
    kiln_array_release(x); /* the program keeps it */
    assert_int_equal(calls, 0);
    kiln_context_pool_stats(t->ctx, &before);
    for (int run = 1; run <= RUNS; run++) {
        if (run % 500 == 0) {
            OK(t, kiln_context_synchronize(t->ctx, &t->err));
            for (int k = 0; k < N; k++)
                up[k] = (float)(run + k);
        }
        OK(t, kiln_program_run(program, NULL, &t->err));
        if (run % 500 == 0) {
            OK(t, kiln_context_synchronize(t->ctx, &t->err));
            assert_int_equal(calls, run);
            for (int k = 0; k < N; k++)
                CHECK(down[k] == (float)(run + k) / 2, "run %d, element %d is %g", run, k,
                      (double)down[k]);
        }
    }
    kiln_context_pool_stats(t->ctx, &after);
    assert_int_equal(before.held_bytes, after.held_bytes);
    assert_int_equal(before.used_bytes, after.used_bytes);
    kiln_program_destroy(program);
    read_all(t, kept, got); /* outlives the program */
    assert_true(got[3] == (float)(RUNS + 3) / 2);
    kiln_array_release(kept);
    kiln_host_free(t->ctx, up);
    kiln_host_free(t->ctx, down);
    kiln_elementwise_destroy(half);
}

/* ---- products of matrices ---- */

enum { ROWS = 20, INNER = 50, COLUMNS = 8 };

/* relu(x w + bias), then all of it minus one; and how it is checked. */
static void do_layer(test_env *t, kiln_array *x, kiln_array *w, kiln_array *bias,
                     kiln_stream *stream, kiln_array *y)
{
    kiln_elementwise_call_options on = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_elementwise *minus = define(t, "T x", "z = x - T(1)");
    kiln_matmul_options o = KILN_MATMUL_OPTIONS_INIT;
    kiln_array *between = NULL;

    on.stream = o.stream = stream;
    o.bias = bias;
    o.epilogue = KILN_EPILOGUE_RELU;
    OK(t, kiln_matmul(x, w, &o, &between, &t->err));
    OK(t, kiln_elementwise_run(minus, KILN_ARGS(between, y), &on, &t->err));
    kiln_array_release(between);
    kiln_elementwise_destroy(minus);
}

static void check_layer(test_env *t, float first, const kiln_array *y)
{
    float got[ROWS * COLUMNS];

    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = (double)j - 4;
            for (int k = 0; k < INNER; k++)
                sum += (double)(first + (float)((i * INNER + k) % 37) / 4) *
                       ((k * COLUMNS + j) % 5 - 2);
            const double want = (sum > 0 ? sum : 0) - 1;
            CHECK(fabs(got[i * COLUMNS + j] - want) <= 1e-3, "element %d, %d is %g and not %g", i, j,
                  (double)got[i * COLUMNS + j], want);
        }
}

/* The stand-in driver's control, if that is what runs. */
static int *spoiled_captures(void)
{
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    fake_cuda *(*control)(void) = NULL;
    void *const symbol = driver != NULL ? dlsym(driver, "fake_cuda_control") : NULL;

    memcpy(&control, &symbol, sizeof control);
    return control != NULL ? &control()->spoiled_captures : NULL;
}

static void test_program__products_of_libraries_are_steps(void **state)
{
    test_env *t = *state;
    static const int64_t w_shape[] = {INNER, COLUMNS}, y_shape[] = {ROWS, COLUMNS};
    float w_data[INNER * COLUMNS], bias_data[COLUMNS];
    kiln_array *x = numbers(t, 1), *x2 = numbers(t, -3), *w = NULL, *bias = NULL, *y = NULL;
    kiln_program *program = NULL;
    kiln_stream *other = NULL;
    size_t slot = 9;

    for (int k = 0; k < INNER * COLUMNS; k++)
        w_data[k] = (float)(k % 5 - 2);
    for (int j = 0; j < COLUMNS; j++)
        bias_data[j] = (float)j - 4;
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, w_shape, w_data, NULL, &w, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, &w_shape[1], bias_data, NULL, &bias, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, y_shape, &y, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    do_layer(t, x, w, bias, NULL, y);
    int *const spoiled = spoiled_captures();
    if (spoiled != NULL)
        *spoiled = 2;
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    OK(t, kiln_program_array_slot(program, x, &slot, &t->err));
    for (int run = 0; run < 3; run++) {
        OK(t, kiln_array_fill(y, 7, &t->err));
        OK(t, kiln_program_run(program, NULL, &t->err));
        check_layer(t, 1, y);
    }
    OK(t, kiln_program_set(program, slot, kiln_arg_array(x2), &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    check_layer(t, -3, y);
    kiln_program_destroy(program);
    /* Work on another stream is done while this one is captured. */
    OK(t, kiln_array_fill(y, 7, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_stream_wait(t->ctx, other, NULL, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    do_layer(t, x, w, bias, other, y);
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    assert_int_equal(kiln_program_step_count(program), 0);
    OK(t, kiln_stream_synchronize(other, &t->err));
    check_layer(t, 1, y);
    kiln_program_destroy(program);
    kiln_stream_destroy(other);
    kiln_array_release(x), kiln_array_release(x2), kiln_array_release(w);
    kiln_array_release(bias), kiln_array_release(y);
}

/* ---- every kind of step ---- */

static void test_program__raw_kernels_outlive_their_module(void **state)
{
    static const char text[] =
        "extern \"C\" __global__ void twice(float *x, int n)\n"
        "{\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n)\n"
        "        x[i] *= 2;\n"
        "}\n";
    test_env *t = *state;
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;
    kiln_array *x = numbers(t, 1);
    kiln_module *module = NULL;
    kiln_raw *twice = NULL;
    kiln_program *program = NULL;
    size_t slot = 0;
    float first[N], got[N];

    o.grid[0] = (N + 127) / 128;
    o.block[0] = 128;
    read_all(t, x, first);
    OK(t, kiln_module_create(t->ctx, text, NULL, &module, &t->err));
    OK(t, kiln_module_kernel(module, "twice", "raw float32 x, int32 n", &twice, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_raw_run(twice, KILN_ARGS(x, N), &o, &t->err));
    OK(t, kiln_raw_run(twice, KILN_ARGS(x, N), &o, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    kiln_raw_destroy(twice);
    kiln_module_destroy(module);
    OK(t, kiln_program_array_slot(program, x, &slot, &t->err));
    FAILS(t, KILN_ERR_NAME, kiln_program_number_slot(program, "twice", "x", &slot, &t->err), "`x`");
    for (int run = 1; run <= 2; run++)
        OK(t, kiln_program_run(program, NULL, &t->err));
    read_all(t, x, got);
    for (int k = 0; k < N; k++)
        CHECK(got[k] == 16 * first[k], "element %d is %g", k, (double)got[k]);
    kiln_program_destroy(program);
    kiln_array_release(x);
}

/* A prepared graph, which is one launch of the driver's: on its own stream, on another one, while its own is
 * captured, and in a program. */
static void test_program__prepared_graphs_are_one_launch(void **state)
{
    enum { SIDE = 64 };
    static const char *const names[] = {"x"};
    static const int64_t square[] = {SIDE, SIDE};
    test_env *t = *state;
    float data[SIDE * SIDE], got[SIDE];
    kiln_array *x = NULL, *y = NULL;
    kiln_graph *g = NULL;
    kiln_launch *launch = NULL;
    kiln_program *program = NULL, *none = NULL;
    kiln_stream *other = NULL;

    for (int k = 0; k < SIDE * SIDE; k++)
        data[k] = (float)(k % 16);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 2, square, data, NULL, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "sum(x * sum(x, axis=0), axis=1)", names, 1, NULL, &g, NULL,
                           &t->err));
    OK(t, kiln_graph_prepare(g, KILN_ARGS(x, &y), NULL, &launch, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    assert_true(kiln_program_step_count(program) > 1);
    for (int way = 0; way < 4; way++) {
        OK(t, kiln_array_fill(y, -1, &t->err));
        OK(t, kiln_stream_wait(t->ctx, other, NULL, &t->err));
        if (way == 2)
            OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
        OK(t, way == 3 ? kiln_program_run(program, NULL, &t->err)
                       : kiln_launch_run(launch, way == 0 ? NULL : other, &t->err));
        if (way == 2) {
            OK(t, kiln_capture_end(t->ctx, NULL, &none, &t->err));
            assert_int_equal(kiln_program_step_count(none), 0);
            kiln_program_destroy(none);
        }
        OK(t, kiln_stream_wait(t->ctx, NULL, other, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < SIDE; k++) /* columns sum to SIDE times 0 to 15; squares of those to 1240 */
            CHECK(got[k] == SIDE * (SIDE / 16) * 1240.0f, "way %d, element %d: %g", way, k,
                  (double)got[k]);
    }
    kiln_launch_destroy(launch);
    kiln_program_destroy(program);
    kiln_graph_destroy(g);
    kiln_stream_destroy(other);
    kiln_array_release(x);
    kiln_array_release(y);
}

/* A sum so long that blocks share it, and a graph of several kernels: what they count in and store
 * between two kernels is the program's. */
static void test_program__long_sums_and_graphs_have_memory_of_their_own(void **state)
{
    enum { LENGTH = 1 << 18 };
    static const char *const names[] = {"x"};
    static float data[LENGTH];
    static const int64_t length[] = {LENGTH};
    test_env *t = *state;
    kiln_array *x = NULL, *sum = NULL, *y = NULL;
    kiln_graph *g = NULL;
    kiln_program *program = NULL;
    float got = 0;

    for (int k = 0; k < LENGTH; k++)
        data[k] = (float)(k % 16);
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, length, data, NULL, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "sum(x * (x - sum(x) / 262144))", names, 1, NULL, &g, NULL, &t->err));
    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x, NULL, false, &sum, &t->err));
    OK(t, kiln_call(g, &t->err, x, &y));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    for (int run = 0; run < 3; run++) {
        OK(t, kiln_program_run(program, NULL, &t->err));
        OK(t, kiln_array_to_host(sum, &got, sizeof got, NULL, &t->err));
        assert_true(got == LENGTH / 16 * 120.0f);
        OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
        CHECK(got == LENGTH / 16 * (1240.0f - 7.5f * 120.0f), "run %d gives %g", run, (double)got);
    }
    kiln_program_destroy(program);
    kiln_graph_destroy(g);
    kiln_array_release(x), kiln_array_release(sum), kiln_array_release(y);
}

/* ---- threads ---- */

typedef struct worker {
    kiln_context *ctx;
    kiln_elementwise *half;
    kiln_array *x, *y;
    kiln_status status;
} worker;

/* Capture and run ten programs on a stream of the thread's own: y = x / 4. */
static void *capture_and_run(void *user)
{
    worker *w = user;
    kiln_stream *stream = NULL;
    kiln_elementwise_call_options on = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    w->status = kiln_stream_create(w->ctx, NULL, &stream, NULL);
    on.stream = stream;
    for (int k = 0; k < 10 && w->status == KILN_OK; k++) {
        kiln_array *between = NULL;
        kiln_program *program = NULL;
        w->status = kiln_capture_begin(w->ctx, stream, NULL);
        if (w->status == KILN_OK)
            w->status = kiln_elementwise_run(w->half, KILN_ARGS(w->x, &between), &on, NULL);
        if (w->status == KILN_OK)
            w->status = kiln_elementwise_run(w->half, KILN_ARGS(between, w->y), &on, NULL);
        kiln_array_release(between);
        if (w->status == KILN_OK)
            w->status = kiln_capture_end(w->ctx, stream, &program, NULL);
        if (w->status == KILN_OK)
            w->status = kiln_program_run(program, stream, NULL);
        if (w->status == KILN_OK)
            w->status = kiln_stream_synchronize(stream, NULL);
        kiln_program_destroy(program);
    }
    kiln_stream_destroy(stream);
    return NULL;
}

static void test_program__threads_capture_on_their_own_streams(void **state)
{
    test_env *t = *state;
    kiln_elementwise *half = define(t, "T x", "z = x / 2");
    worker workers[4];
    pthread_t threads[COUNT(workers)];
    float got[N];

    for (size_t k = 0; k < COUNT(workers); k++)
        workers[k] = (worker){t->ctx, half, numbers(t, (float)k), numbers(t, 0), KILN_OK};
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    for (size_t k = 0; k < COUNT(workers); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, capture_and_run, &workers[k]), 0);
    for (size_t k = 0; k < COUNT(workers); k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(workers[k].status, KILN_OK);
        read_all(t, workers[k].y, got);
        for (int e = 0; e < N; e++)
            assert_true(got[e] == ((float)k + (float)(e % 37) / 4) / 4);
        kiln_array_release(workers[k].x);
        kiln_array_release(workers[k].y);
    }
    kiln_elementwise_destroy(half);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_program__calls_are_noted_and_done_at_each_run),
        TEST(test_program__random_programs_do_what_the_calls_do),
        TEST(test_program__what_needs_a_value_now_is_refused_by_name),
        TEST(test_program__captures_can_be_abandoned),
        TEST(test_program__slots_change_arrays_and_numbers),
        TEST(test_program__slots_refuse_what_does_not_fit),
        TEST(test_program__products_of_libraries_are_steps),
        TEST(test_program__raw_kernels_outlive_their_module),
        TEST(test_program__long_sums_and_graphs_have_memory_of_their_own),
        TEST(test_program__prepared_graphs_are_one_launch),
        TEST(test_program__threads_capture_on_their_own_streams),
        TEST(test_program__copies_host_calls_and_memory_over_many_runs),
    };

    return test_env_main(argc, argv, "test_program", tests, COUNT(tests));
}
