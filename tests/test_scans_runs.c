/*
 * test_scans_runs.c - what must hold from run to run: the same bits, from any thread, stream and
 * number of threads; sums closer to the exact ones than a loop's; no leak when an allocation fails;
 * and agreement with plain loops for random shapes, strides, dtypes, axes and directions, under a
 * printed seed.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_env.h"
#include "oracle/scan.h"

/* ---- bits ---- */

/* Sums of random floats round in every addition, so another order shows. */
static const struct {
    int64_t shape[2];
    int axis;
} split_shapes[] = {
    {{1, 700001}, HOST_FLAT}, {{3, 200003}, 1}, {{200003, 3}, 0},
    {{700, 900}, 0},          {{700, 900}, 1},  {{90001, 7}, 0},
};

enum { ELEMENTS_MAX = 700001 };

static void run_once(test_env *t, kiln_context *ctx, const float *values, size_t shape_index,
                     kiln_stream *stream, int runs, float *got)
{
    const int64_t *shape = split_shapes[shape_index].shape;
    const int axis = split_shapes[shape_index].axis;
    const kiln_axes axes = {1, {axis}};
    kiln_scan_call_options options = KILN_SCAN_CALL_OPTIONS_INIT;
    kiln_scan *op = NULL;
    kiln_array *x = NULL, *y = NULL;

    options.axes = axis == HOST_FLAT ? NULL : &axes;
    options.stream = stream;
    OK(t, kiln_scan_create(ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    OK(t, kiln_array_from_host(ctx, KILN_FLOAT32, 2, shape, values, NULL, &x, &t->err));
    OK(t, kiln_context_synchronize(ctx, &t->err));
    for (int run = 0; run < runs; run++) {
        OK(t, kiln_scan_run(op, KILN_ARGS(x, &y), &options, &t->err));
        OK(t, kiln_context_synchronize(ctx, &t->err));
        static float again[ELEMENTS_MAX];
        float *to = run == 0 ? got : again;
        const size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof *to;
        OK(t, kiln_array_to_host(y, to, bytes, NULL, &t->err));
        CHECK(run == 0 || memcmp(got, again, bytes) == 0, "shape %zu: run %d differs", shape_index,
              run);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

static float *random_floats(test_env *t)
{
    float *values = malloc(ELEMENTS_MAX * sizeof *values);

    assert_non_null(values);
    for (int k = 0; k < ELEMENTS_MAX; k++)
        values[k] = (float)(int64_t)(test_random_below(t, 2000001) - 1000000) * 1.1e-6f;
    return values;
}

/* Of 6 shapes on 2 streams. */
static void test_scans__a_hundred_runs_give_the_same_bits(void **state)
{
    enum { RUNS = 9 };
    test_env *t = *state;
    float *values = random_floats(t), *first = malloc(ELEMENTS_MAX * sizeof *first);
    float *other = malloc(ELEMENTS_MAX * sizeof *other);
    kiln_stream *stream = NULL;

    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    for (size_t k = 0; k < COUNT(split_shapes); k++) {
        const int64_t size = split_shapes[k].shape[0] * split_shapes[k].shape[1];

        run_once(t, t->ctx, values, k, NULL, RUNS, first);
        run_once(t, t->ctx, values, k, stream, RUNS, other);
        CHECK(memcmp(first, other, (size_t)size * sizeof *first) == 0, "shape %zu: streams", k);
    }
    kiln_stream_destroy(stream);
    free(values);
    free(first);
    free(other);
}

static void test_scans__the_number_of_cpu_threads_changes_no_bit(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    test_env *t = *state;
    float *values = random_floats(t), *first = malloc(ELEMENTS_MAX * sizeof *first);
    float *other = malloc(ELEMENTS_MAX * sizeof *other);

    if (t->cuda) {
        free(values), free(first), free(other);
        skip();
    }
    for (size_t n = 0; n < COUNT(threads); n++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *ctx = NULL;

        options.device = t->device;
        options.cache_dir = t->cache_dir;
        options.cpu_threads = threads[n];
        OK(t, kiln_context_create(&options, &ctx, &t->err));
        for (size_t k = 0; k < COUNT(split_shapes); k += 2) {
            const int64_t size = split_shapes[k].shape[0] * split_shapes[k].shape[1];
            run_once(t, t->ctx, values, k, NULL, 1, first);
            run_once(t, ctx, values, k, NULL, 2, other);
            CHECK(memcmp(first, other, (size_t)size * sizeof *first) == 0,
                  "shape %zu with %d threads", k, threads[n]);
        }
        kiln_context_release(ctx);
    }
    free(values), free(first), free(other);
}

/* Sums of ones are their number. */
static void check_count(test_env *t, kiln_array *sums, int64_t count)
{
    kiln_array *wide = NULL;
    double *got = malloc((size_t)count * sizeof *got);

    assert_non_null(got);
    OK(t, kiln_array_cast(sums, KILN_FLOAT64, &wide, &t->err));
    OK(t, kiln_array_to_host(wide, got, (size_t)count * sizeof *got, NULL, &t->err));
    for (int64_t k = 0; k < count; k++)
        CHECK(got[k] == (double)(k + 1), "element %lld of %lld: %g", (long long)k,
              (long long)count, got[k]);
    kiln_array_release(wide);
    free(got);
}

/* Kernels of one stream share words in memory, which each must leave as it found them: scans of
 * sums of 4 and 8 bytes and of several lengths, and a reduction, none waited for. */
static void test_scans__calls_that_follow_each_other_do_not_meet(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_FLOAT32, KILN_INT32};
    static const int64_t counts[] = {300001, 20001, 70001, 200003};
    enum { ROUNDS = 5, CASES = 4 };
    test_env *t = *state;
    kiln_array *x[CASES] = {NULL}, *y[ROUNDS][CASES] = {{NULL}}, *sum = NULL;
    float total = 0;

    for (size_t k = 0; k < CASES; k++)
        OK(t, kiln_array_ones(t->ctx, dtypes[k], 1, &counts[k], &x[k], &t->err));
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < CASES; k++)
            OK(t, kiln_array_scan(KILN_SCAN_CUMSUM, x[k], KILN_ALL_AXES, 0, &y[round][k], &t->err));
        OK(t, kiln_array_reduce(KILN_REDUCE_SUM, x[0], KILN_ALL_AXES, false, &sum, &t->err));
    }
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < CASES; k++)
            check_count(t, y[round][k], counts[k]);
    OK(t, kiln_array_to_host(sum, &total, sizeof total, NULL, &t->err));
    CHECK(total == (float)counts[0], "the sum is %g", (double)total);
    for (size_t k = 0; k < CASES; k++) {
        kiln_array_release(x[k]);
        for (size_t round = 0; round < ROUNDS; round++)
            kiln_array_release(y[round][k]);
    }
    kiln_array_release(sum);
}

/* ---- long ones ---- */

/* So long that on a GPU there are groups of groups of tiles; on the cpu, where that adds
 * nothing, shorter. The recurrence of host_ordered, written out. */
static void check_long(test_env *t, kiln_scan *op, int64_t rows, int64_t columns, int axis)
{
    const int64_t shape[] = {rows, columns}, size = rows * columns;
    const int64_t inner = axis == 0 ? columns : 1, n = axis == 0 ? rows : columns;
    int32_t *values = malloc((size_t)size * sizeof *values);
    int64_t *got = malloc((size_t)size * sizeof *got);
    kiln_array *x = NULL, *y = NULL;
    const kiln_axes axes = {1, {axis}};

    assert_true(values != NULL && got != NULL);
    for (int64_t k = 0; k < size; k++)
        values[k] = (int32_t)((uint32_t)k * 2654435761u >> 7);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, values, NULL, &x, &t->err));
    OK(t, kiln_call_over(op, &axes, &t->err, x, &y));
    OK(t, kiln_array_to_host(y, got, (size_t)size * sizeof *got, NULL, &t->err));
    for (int64_t q = 0; q < size / n; q++) {
        const int64_t first = axis == 0 ? q : q * n;
        uint32_t state = 0;
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = first + k * inner;
            state = (2 * (uint32_t)values[at] + 1) * state + (uint32_t)values[at] + 3;
            if (got[at] != (int64_t)state + k)
                fail_msg("(%lld, %lld) axis %d: element %lld is %lld", (long long)rows,
                         (long long)columns, axis, (long long)at, (long long)got[at]);
        }
    }
    free(values);
    free(got);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_scans__long_lines_and_columns(void **state)
{
    test_env *t = *state;
    kiln_scan *op = host_ordered_create(t);
    const int64_t more = t->cuda ? 10 : 1;

    check_long(t, op, 1, 1200007 * more, 1);
    check_long(t, op, 3, 170003 * more, 1);
    check_long(t, op, 30001 * more, 40, 0);
    check_long(t, op, 40001 * more, 3, 0);
    check_long(t, op, 501 * more, 2201, 0);
    kiln_scan_destroy(op);
}

/* More elements than 32 bits count, in one byte each. */
static void test_scans__more_elements_than_32_bits_count(void **state)
{
    enum { TOLD = 4096 };
    test_env *t = *state;
    const int64_t one = 1, n = (INT64_C(1) << 31) + 100001;
    const int64_t places[] = {0, (INT64_C(1) << 31) - TOLD / 2, n - TOLD};
    kiln_scan *op = NULL;
    kiln_array *x = NULL, *wide = NULL, *y = NULL, *part = NULL;
    uint8_t got[TOLD];

    if (!t->cuda)
        skip(); /* there, all counting is in 64 bits */
    OK(t, kiln_scan_create(t->ctx, "uint8 x", "uint8 y", "x", "a + b", "y = a % 251", "0",
                           &(kiln_scan_options){.struct_size = sizeof(kiln_scan_options),
                                                .reduce_type = "unsigned int"},
                           &op, &t->err));
    OK(t, kiln_array_full(t->ctx, KILN_UINT8, 1, &one, 1.0, &x, &t->err));
    OK(t, kiln_array_broadcast_to(x, 1, &n, &wide, &t->err));
    OK(t, kiln_call_over(op, KILN_AXES(0), &t->err, wide, &y));
    for (size_t p = 0; p < COUNT(places); p++) {
        OK(t, kiln_array_slice(y, 0, places[p], places[p] + TOLD, 1, &part, &t->err));
        OK(t, kiln_array_to_host(part, got, sizeof got, NULL, &t->err));
        kiln_array_release(part);
        for (int64_t k = 0; k < TOLD; k++)
            CHECK(got[k] == (places[p] + k + 1) % 251, "element %lld", (long long)(places[p] + k));
    }
    kiln_array_release(x);
    kiln_array_release(wide);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

/* ---- accuracy ---- */

/* A loop over 2^22 times 0.1f is off by 1 in 40 at its end: of what it adds, fewer and fewer
 * digits count. Sums of parts are not. */
static void test_scans__long_sums_keep_their_digits(void **state)
{
    enum { N = 1 << 22 };
    static const int64_t length[] = {N};
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    float *got = malloc(N * sizeof *got), value = 0.1f;
    double worst = 0;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 1, length, 0.1, &x, &t->err));
    OK(t, kiln_array_scan(KILN_SCAN_CUMSUM, x, NULL, 0, &y, &t->err));
    OK(t, kiln_array_to_host(y, got, N * sizeof *got, NULL, &t->err));
    for (int k = 0; k < N; k++) {
        const double exact = (double)value * (k + 1), error = fabs((double)got[k] - exact) / exact;
        worst = error > worst ? error : worst;
    }
    CHECK(worst < 1e-4, "relative error %g", worst);
    free(got);
    kiln_array_release(x);
    kiln_array_release(y);
}

/* ---- threads ---- */

typedef struct work {
    kiln_scan *op;
    const kiln_array *x;
    int axis;
    int wrong;
} work;

enum { ROWS = 40, COLUMNS = 900 };

static void *scan_often(void *argument)
{
    enum { CALLS = 60 };
    work *w = argument;
    const kiln_axes axes = {1, {w->axis}};
    static const int64_t extents[] = {ROWS, COLUMNS};
    float *got = malloc(ROWS * COLUMNS * sizeof *got);

    for (int call = 0; call < CALLS && got != NULL; call++) {
        kiln_array *y = NULL;
        bool right =
            kiln_call_over(w->op, w->axis == HOST_FLAT ? NULL : &axes, NULL, w->x, &y) == KILN_OK &&
            kiln_array_to_host(y, got, ROWS * COLUMNS * sizeof *got, NULL, NULL) == KILN_OK;

        for (int64_t k = 0; right && k < ROWS * COLUMNS; k++) {
            const int64_t place = w->axis == HOST_FLAT ? k
                                  : w->axis == 0       ? k / extents[1]
                                                       : k % extents[1];
            right = got[k] == (float)(place + 1);
        }
        w->wrong += !right;
        kiln_array_release(y);
    }
    free(got);
    return NULL;
}

static void test_scans__many_threads_on_one_object(void **state)
{
    enum { THREADS = 6 };
    static const int64_t shape[] = {ROWS, COLUMNS};
    test_env *t = *state;
    kiln_scan *op = NULL;
    kiln_array *x = NULL;
    pthread_t threads[THREADS];
    work works[THREADS];

    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    for (int k = 0; k < THREADS; k++) {
        works[k] = (work){op, x, k % 3 - 1, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, scan_often, &works[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        CHECK(works[k].wrong == 0, "thread %d: %d wrong calls", k, works[k].wrong);
    }
    kiln_array_release(x);
    kiln_scan_destroy(op);
}

/* ---- allocations that fail ---- */

#ifdef KILN_TEST_HOOKS

/* Every allocation from creation to result fails once, in turn; the line is long enough for
 * workspace. */
static kiln_status create_and_call(test_env *t, kiln_array *x, kiln_array **y)
{
    kiln_scan *op = NULL;
    kiln_status status =
        kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err);

    CHECK((status == KILN_OK) == (op != NULL), "%s", kiln_status_name(status));
    if (status == KILN_OK)
        status = kiln_call_over(op, KILN_AXES(0), &t->err, x, y);
    kiln_scan_destroy(op);
    return status;
}

static kiln_status call_named(test_env *t, kiln_array *x, kiln_array **y)
{
    return kiln_array_scan(KILN_SCAN_CUMPROD, x, KILN_AXES(1), 0, y, &t->err);
}

static void test_scans__each_allocation_failure_is_survived(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *first = NULL, *whole = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, (int64_t[]){40000}, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_INT32, 2, (int64_t[]){3, 100}, &whole, &t->err));
    OK(t, kiln_array_scan(KILN_SCAN_CUMSUM, x, NULL, 0, &first, &t->err)); /* into the cache */
    test_allocations_fail(t, x, create_and_call);
    test_allocations_fail(t, whole, call_named);
    kiln_array_release(x);
    kiln_array_release(first);
    kiln_array_release(whole);
}

#endif

/* ---- random ---- */

static void random_layout(test_env *t, int rank, bool written, host_layout *layout)
{
    static const int8_t steps[] = {1, 1, 1, 1, 2, -1, 3, HOST_BROADCAST};

    memset(layout, 0, sizeof *layout);
    for (int axis = 0; axis < rank; axis++) {
        layout->order[axis] = (int8_t)(axis + 1);
        layout->step[axis] = steps[test_random_below(t, COUNT(steps) - written)];
    }
    for (int k = rank - 1; k > 0 && test_random_below(t, 2) == 0; k--) {
        const size_t other = test_random_below(t, (uint64_t)k + 1);
        const int8_t kept = layout->order[k];

        layout->order[k] = layout->order[other];
        layout->order[other] = kept;
    }
    layout->offset = (int32_t)test_random_below(t, 4);
}

static void check_random(test_env *t, kiln_scan *op, int round)
{
    static const kiln_dtype dtypes[] = {KILN_INT32, KILN_FLOAT16};
    static const uint64_t extents[] = {60000, 300, 35, 14};
    host_array x, want, *in[] = {&x}, *out[] = {&want};
    host_layout layouts[2];
    int64_t shape[HOST_AXES];
    const int rank = (int)test_random_below(t, 4) + 1;
    const int axis = (int)test_random_below(t, (uint64_t)rank + 1) - 1;
    const unsigned flags = test_random_below(t, 2) == 0 ? 0 : (unsigned)test_random_below(t, 4);
    const kiln_dtype dtype = dtypes[test_random_below(t, COUNT(dtypes))];
    char what[200];

    for (int a = 0; a < rank; a++)
        shape[a] = (int64_t)test_random_below(t, extents[rank - 1]) + 1;
    random_layout(t, rank, false, &layouts[0]);
    random_layout(t, rank, true, &layouts[1]);
    snprintf(what, sizeof what, "seed %llu, round %d: axis %d of %d axes of %s, flags %u",
             (unsigned long long)t->seed, round, axis, rank, kiln_dtype_name(dtype), flags);
    host_make(t, &x, dtype, rank, shape, &layouts[0]);
    host_fill_small(&x, (unsigned)round);
    host_send(t, &x);
    host_make(t, &want, KILN_INT64, rank, shape, &layouts[1]);
    host_scan(in, 1, out, 1, rank, shape, axis, flags, &host_ordered);
    OK(t, host_scan_run(op, axis, flags, KILN_ARGS(x.array, want.array), &t->err));
    host_compare(t, &want, 0, what);
    host_free(&x);
    host_free(&want);
}

static void test_scans__random_calls_agree_with_plain_loops(void **state)
{
    enum { ROUNDS = 60 };
    test_env *t = *state;
    kiln_scan *op = host_ordered_create(t);

    for (int round = 0; round < test_rounds(t, ROUNDS); round++)
        check_random(t, op, round);
    kiln_scan_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scans__a_hundred_runs_give_the_same_bits),
        TEST(test_scans__the_number_of_cpu_threads_changes_no_bit),
        TEST(test_scans__calls_that_follow_each_other_do_not_meet),
        TEST(test_scans__long_lines_and_columns),
        TEST(test_scans__more_elements_than_32_bits_count),
        TEST(test_scans__long_sums_keep_their_digits),
        TEST(test_scans__many_threads_on_one_object),
#ifdef KILN_TEST_HOOKS
        TEST(test_scans__each_allocation_failure_is_survived),
#endif
        TEST(test_scans__random_calls_agree_with_plain_loops),
    };
    return test_env_main(argc, argv, "test_scans_runs", tests, COUNT(tests));
}
