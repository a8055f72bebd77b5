/*
 * test_reduction_runs.c - what must hold from run to run: the same bits, from any thread and
 * stream; no leak when an allocation fails; and agreement with plain loops for random shapes,
 * strides, dtypes, axes and definitions, under a printed seed.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "alloc_env.h"
#include "oracle/reduce.h"

static kiln_reduction *create_sum(test_env *t)
{
    kiln_reduction *op = NULL;

    OK(t,
       kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    return op;
}

/* ---- bits ---- */

/* Shapes that are split in different ways; sums of random floats round in every addition. */
static const struct {
    int64_t shape[2];
    unsigned axes;
} split_shapes[] = {
    {{1, 700001}, 3}, {{3, 200003}, 2}, {{200003, 3}, 1}, {{700, 900}, 1},
    {{700, 900}, 2},  {{90001, 7}, 2},  {{5, 7}, 3},
};

static void check_bits(test_env *t, kiln_reduction *op, const host_array *x, unsigned axes)
{
    enum { RUNS = 100, STREAMS = 3, ROOM = 90001 };
    static float first[ROOM], again[ROOM];
    kiln_stream *streams[STREAMS] = {NULL};
    kiln_axes list = host_axes(axes);
    size_t bytes = 0;

    for (int s = 1; s < STREAMS; s++)
        OK(t, kiln_stream_create(t->ctx, NULL, &streams[s], &t->err));
    for (int run = 0; run < RUNS; run++) {
        kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
        kiln_array *y = NULL;

        options.axes = &list;
        options.stream = streams[run % STREAMS];
        OK(t, kiln_reduction_run(op, KILN_ARGS(x->array, &y), &options, &t->err));
        bytes = (size_t)kiln_array_size(y) * sizeof first[0];
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        OK(t, kiln_array_to_host(y, run == 0 ? first : again, sizeof first, NULL, &t->err));
        CHECK(run == 0 || memcmp(first, again, bytes) == 0, "run %d differs from the first", run);
        kiln_array_release(y);
    }
    for (int s = 1; s < STREAMS; s++)
        kiln_stream_destroy(streams[s]);
}

static void test_reduction__a_hundred_runs_give_the_same_bits(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = create_sum(t);

    for (size_t k = 0; k < COUNT(split_shapes); k++) {
        host_array x;

        host_make(t, &x, KILN_FLOAT32, 2, split_shapes[k].shape, NULL);
        host_fill_random(t, &x);
        host_send(t, &x);
        check_bits(t, op, &x, split_shapes[k].axes);
        host_free(&x);
    }
    kiln_reduction_destroy(op);
}

/* ---- prepared ---- */

static void fill_with(test_env *t, kiln_array *a, double value)
{
    kiln_array *one = NULL;

    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 0, NULL, value, &one, &t->err));
    OK(t, kiln_array_assign(a, one, &t->err));
    kiln_array_release(one);
}

/* A prepared reduction sees what its arrays hold now, on whichever stream, and gives the bits that
 * the call gives; its arrays live as long as it does. */
static void check_prepared(test_env *t, kiln_reduction *op, const host_array *x, unsigned axes)
{
    enum { ROOM = 90001 };
    static float called[ROOM], prepared[ROOM];
    const kiln_axes list = host_axes(axes);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *y = NULL, *z = NULL;
    kiln_launch *launch = NULL;
    kiln_stream *stream = NULL;

    options.axes = &list;
    OK(t, kiln_reduction_prepare(op, KILN_ARGS(x->array, &y), &options, &launch, &t->err));
    OK(t, kiln_reduction_run(op, KILN_ARGS(x->array, &z), &options, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_array_to_host(z, called, sizeof called, NULL, &t->err));
    for (int run = 0; run < 3; run++) {
        fill_with(t, y, -1);
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        OK(t, kiln_launch_run(launch, run == 1 ? stream : NULL, &t->err));
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        OK(t, kiln_array_to_host(y, prepared, sizeof prepared, NULL, &t->err));
        assert_memory_equal(prepared, called, (size_t)kiln_array_size(z) * sizeof called[0]);
    }
    kiln_array_release(y); /* the launch still holds it */
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    kiln_launch_destroy(launch);
    kiln_stream_destroy(stream);
    kiln_array_release(z);
}

static void test_reduction__prepared_ones_do_what_the_call_does(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = create_sum(t);
    kiln_launch *launch = NULL;
    kiln_array *y = NULL;

    for (size_t k = 0; k < COUNT(split_shapes); k++) {
        host_array x;

        host_make(t, &x, KILN_FLOAT32, 2, split_shapes[k].shape, NULL);
        host_fill_random(t, &x);
        host_send(t, &x);
        check_prepared(t, op, &x, split_shapes[k].axes);
        if (k == 0) {
            FAILS(t, KILN_ERR_NULL, kiln_reduction_prepare(op, KILN_ARGS(x.array, &y), NULL, NULL,
                                                           &t->err), "out");
            FAILS(t, KILN_ERR_ARGUMENT_COUNT,
                  kiln_reduction_prepare(op, KILN_ARGS(x.array), NULL, &launch, &t->err), "2");
            assert_null(launch);
        }
        host_free(&x);
    }
    kiln_reduction_destroy(op);
}

/* With a mask and a start value; and into the input's own memory, which cannot be prepared. */
static void test_reduction__prepared_with_options(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3};
    const bool mask[] = {true, false, true};
    const kiln_arg ten = kiln_arg_int(10);
    kiln_reduction *op = create_sum(t);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_array *x = NULL, *where = NULL, *y = NULL, *row = NULL;
    kiln_launch *launch = NULL;
    float got[2] = {0};

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_BOOL, 1, shape + 1, mask, NULL, &where, &t->err));
    options.axes = KILN_AXES(1);
    options.where = where;
    options.initial = &ten;
    OK(t, kiln_reduction_prepare(op, KILN_ARGS(x, &y), &options, &launch, &t->err));
    kiln_array_release(where);
    fill_with(t, x, 3);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 16 && got[1] == 16);
    kiln_launch_destroy(launch);
    launch = NULL;
    OK(t, kiln_array_select(x, 0, 1, &row, &t->err));
    FAILS(t, KILN_ERR_OVERLAP,
          kiln_reduction_prepare(
              op, KILN_ARGS(x, row),
              &(kiln_reduction_call_options){.struct_size = sizeof options, .axes = KILN_AXES(0)},
              &launch, &t->err),
          "prepared");
    assert_null(launch);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(row);
    kiln_reduction_destroy(op);
}

/* ---- threads ---- */

typedef struct work {
    kiln_reduction *op;
    const kiln_array *x;
    unsigned axes;
    float want;
    int wrong;
} work;

static void *reduce_often(void *argument)
{
    enum { CALLS = 200, RESULTS = 300 };
    work *w = argument;
    kiln_axes list = host_axes(w->axes);
    float got[RESULTS];

    for (int call = 0; call < CALLS; call++) {
        kiln_array *y = NULL;
        bool right = kiln_call_over(w->op, &list, NULL, w->x, &y) == KILN_OK &&
                     kiln_array_to_host(y, got, sizeof got, NULL, NULL) == KILN_OK;

        for (int64_t k = 0; right && k < kiln_array_size(y); k++)
            right = got[k] == w->want;
        w->wrong += !right;
        kiln_array_release(y);
    }
    return NULL;
}

static void test_reduction__many_threads_on_one_object(void **state)
{
    enum { THREADS = 8 };
    static const int64_t shape[] = {300, 200};
    test_env *t = *state;
    kiln_reduction *op = create_sum(t);
    kiln_array *x = NULL;
    pthread_t threads[THREADS];
    work works[THREADS];

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    for (unsigned k = 0; k < THREADS; k++) {
        unsigned axes = k % 3 + 1;

        works[k] = (work){op, x, axes, axes == 1 ? 300.0f : axes == 2 ? 200.0f : 60000.0f, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, reduce_often, &works[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        CHECK(works[k].wrong == 0, "thread %d: %d wrong calls", k, works[k].wrong);
    }
    kiln_array_release(x);
    kiln_reduction_destroy(op);
}

static void *reduce_by_name(void *argument)
{
    work *w = argument;

    for (int op = KILN_REDUCE_SUM; op <= KILN_REDUCE_NANARGMAX; op++) {
        kiln_array *y = NULL;
        w->wrong += kiln_array_reduce((kiln_reduce_op)op, w->x, NULL, false, &y, NULL) != KILN_OK;
        kiln_array_release(y);
    }
    return NULL;
}

static void test_reduction__many_threads_make_the_named_reductions(void **state)
{
    enum { THREADS = 4 };
    static const int64_t shape[] = {10};
    test_env *t = *state;
    kiln_array *x = NULL;
    pthread_t threads[THREADS];
    work works[THREADS];

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    for (int k = 0; k < THREADS; k++) {
        works[k] = (work){NULL, x, 0, 0, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, reduce_by_name, &works[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        CHECK(works[k].wrong == 0, "thread %d: %d calls failed", k, works[k].wrong);
    }
    kiln_array_release(x);
}

/* ---- allocations that fail ---- */

#ifdef KILN_TEST_HOOKS

/* Every allocation from creation to result fails once, in turn. */
static kiln_status create_and_call(test_env *t, kiln_array *x, kiln_array **y)
{
    kiln_reduction *op = NULL;
    kiln_status status = kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0",
                                               NULL, &op, &t->err);

    CHECK((status == KILN_OK) == (op != NULL), "%s", kiln_status_name(status));
    if (status == KILN_OK)
        status = kiln_call_over(op, KILN_AXES(1), &t->err, x, y);
    kiln_reduction_destroy(op);
    return status;
}

static kiln_status call_named(test_env *t, kiln_array *x, kiln_array **y)
{
    return kiln_array_reduce(KILN_REDUCE_VAR, x, KILN_AXES(1), false, y, &t->err);
}

static void test_reduction__each_allocation_failure_is_survived(void **state)
{
    static const int64_t shape[] = {3, 100};
    test_env *t = *state;
    kiln_array *x = NULL, *whole = NULL;
    kiln_reduction *warm = create_sum(t);

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_INT32, 2, shape, &whole, &t->err));
    test_allocations_fail(t, x, create_and_call);
    test_allocations_fail(t, whole, call_named);
    kiln_array_release(x);
    kiln_array_release(whole);
    kiln_reduction_destroy(warm);
}

#endif

/* ---- random ---- */

static void add_weighed(host_state *s, const host_value *in, int64_t position)
{
    s->v.re += in[0].re * (long double)(position % 3 + 1);
}

static void keep_greatest(host_state *s, const host_value *in, int64_t position)
{
    s->v.re = position == 0 || in[0].re > s->v.re ? in[0].re : s->v.re;
}

static void tell(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0] = s->v;
}

static void tell_with_count(const host_state *s, int64_t n, host_value *out)
{
    out[0].re = s->v.re + (long double)n;
}

static const struct {
    const char *map, *reduce, *post, *identity;
    host_reduction want;
} expressions[] = {
    {"x", "a + b", "y = a", "0", {NULL, tell}}, /* steps of the first two: expression_want() */
    {"(double)x * (double)x", "a + b", "y = a", "0", {NULL, tell}},
    {"(double)x * (double)(_J % 3 + 1)", "a + b", "y = a + n", "0", {add_weighed, tell_with_count}},
    {"x", "max(a, b)", "y = a", "", {keep_greatest, tell}},
};

static host_reduction expression_want(size_t k)
{
    host_reduction want = expressions[k].want;

    if (k == 0)
        want.step = host_sum.step;
    if (k == 1)
        want.step = host_sum_squares.step;
    return want;
}

static void random_layout(test_env *t, int rank, host_layout *layout)
{
    static const int8_t steps[] = {1, 1, 1, 1, 2, -1, 3, -2, HOST_BROADCAST};

    memset(layout, 0, sizeof *layout);
    for (int axis = 0; axis < rank; axis++) {
        layout->order[axis] = (int8_t)(axis + 1);
        layout->step[axis] = steps[test_random_below(t, COUNT(steps))];
    }
    for (int k = rank - 1; k > 0 && test_random_below(t, 2) == 0; k--) {
        size_t other = test_random_below(t, (uint64_t)k + 1);
        int8_t kept = layout->order[k];

        layout->order[k] = layout->order[other];
        layout->order[other] = kept;
    }
    layout->offset = (int32_t)test_random_below(t, 4);
}

/* Up to 4 axes and some 20 000 elements. */
static int random_shape(test_env *t, int64_t *shape)
{
    static const uint64_t extents[] = {2000, 140, 27, 12};
    int rank = (int)test_random_below(t, 4) + 1;

    for (int axis = 0; axis < rank; axis++)
        shape[axis] = (int64_t)test_random_below(t, extents[rank - 1]) + 1;
    return rank;
}

/* On the cpu device every pair of dtype and expression costs a run of the compiler for each layout
 * it meets: two dtypes an expression there, all of them between all expressions. */
static kiln_dtype random_dtype(test_env *t, size_t expression)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_BOOL,  KILN_INT8,     KILN_FLOAT64,
                                        KILN_UINT16,  KILN_INT32, KILN_BFLOAT16, KILN_INT64,
                                        KILN_FLOAT16};
    if (t->cuda)
        return dtypes[test_random_below(t, COUNT(dtypes))];
    return dtypes[(2 * expression + test_random_below(t, 2)) % COUNT(dtypes)];
}

static void check_random(test_env *t, kiln_reduction *const *ops, int round)
{
    host_array x, want, *in[] = {&x}, *out[] = {&want};
    host_layout layout;
    int64_t shape[HOST_AXES], kept[HOST_AXES];
    int rank = random_shape(t, shape);
    unsigned axes = (unsigned)test_random_below(t, 1u << rank);
    bool keepdims = test_random_below(t, 2) == 0;
    size_t e = test_random_below(t, COUNT(expressions));
    kiln_dtype dtype = random_dtype(t, e);
    host_reduction reduction = expression_want(e);
    kiln_axes list = host_axes(axes);
    kiln_array *y = NULL;
    char what[200];

    random_layout(t, rank, &layout);
    snprintf(what, sizeof what, "seed %llu, round %d: %s over %d axes of %s, set %#x",
             (unsigned long long)t->seed, round, expressions[e].map, rank, kiln_dtype_name(dtype),
             axes);
    host_make(t, &x, dtype, rank, shape, &layout);
    host_fill_small(&x, (unsigned)round);
    host_send(t, &x);
    host_make(t, &want, KILN_FLOAT64, host_reduced_shape(rank, shape, axes, keepdims, kept), kept,
              NULL);
    host_reduce(in, 1, out, 1, rank, shape, axes, &reduction);
    OK(t, host_run(ops[e], &list, keepdims, KILN_ARGS(x.array, &y), &t->err));
    host_compare_elements(t, y, &want, 0, what);
    kiln_array_release(y);
    host_free(&x);
    host_free(&want);
}

static void test_reduction__random_calls_agree_with_plain_loops(void **state)
{
    enum { ROUNDS = 400 };
    test_env *t = *state;
    kiln_reduction *ops[COUNT(expressions)] = {NULL};

    for (size_t e = 0; e < COUNT(expressions); e++)
        OK(t, kiln_reduction_create(t->ctx, "T x", "float64 y", expressions[e].map,
                                    expressions[e].reduce, expressions[e].post,
                                    expressions[e].identity, NULL, &ops[e], &t->err));
    for (int round = 0; round < test_rounds(t, ROUNDS); round++)
        check_random(t, ops, round);
    for (size_t e = 0; e < COUNT(expressions); e++)
        kiln_reduction_destroy(ops[e]);
}

/* ---- random, with a mask, a start value and a second input ---- */

static void add_products(host_state *s, const host_value *in, int64_t position)
{
    (void)position;
    s->v.re += in[0].re * in[1].re;
}

static void add_places(host_state *s, const host_value *in, int64_t position)
{
    s->v.re += in[0].re + in[1].re * (long double)(position % 3 + 1);
}

static void keep_greater(host_state *s, const host_value *in, int64_t position)
{
    const long double here = in[0].re > in[1].re ? in[0].re : in[1].re;
    (void)position;
    s->v.re = s->count == 0 || here > s->v.re ? here : s->v.re;
    s->count++;
}

static void tell_if_any(const host_state *s, int64_t n, host_value *out)
{
    (void)n;
    out[0].re = s->count > 0 ? s->v.re : -INFINITY;
}

static const struct {
    const char *map, *reduce, *post, *identity;
    host_step step; /* of an element that the mask leaves; in[2] is the mask */
    host_finish finish;
} pairs[] = {
    {"(double)x * (double)w", "a + b", "y = a", "0", add_products, tell},
    {"(double)x + (double)w * (double)(_J % 3 + 1)", "a + b", "y = a + n", "0", add_places,
     tell_with_count},
    {"max((double)x, (double)w)", "max(a, b)", "y = a", "", keep_greater, tell_if_any},
};

/* The mask decides whether the pair's own step sees an element. */
#define MASKED(nth)                                                                                \
    static void step_masked_##nth(host_state *s, const host_value *in, int64_t position)           \
    {                                                                                              \
        if (in[2].re != 0)                                                                         \
            pairs[nth].step(s, in, position);                                                      \
    }
MASKED(0)
MASKED(1)
MASKED(2)

/* Fewer axes or extents of 1 in places: what broadcasts to `shape`. Returns its rank. */
static int random_broadcast(test_env *t, int rank, const int64_t *shape, int64_t *out)
{
    const int own = test_random_below(t, 4) == 0 ? (int)test_random_below(t, (uint64_t)rank) + 1
                                                 : rank;
    for (int a = 0; a < own; a++)
        out[a] = test_random_below(t, 5) == 0 ? 1 : shape[rank - own + a];
    return own;
}

static void make_random(test_env *t, host_array *a, kiln_dtype dtype, int rank,
                        const int64_t *shape, int round)
{
    host_layout layout;

    random_layout(t, rank, &layout);
    host_make(t, a, dtype, rank, shape, &layout);
    host_fill_small(a, (unsigned)round);
    for (int64_t k = 0; dtype == KILN_BOOL && k < host_size(a); k++)
        host_store(dtype, host_at(a, k), host_real(test_random_below(t, 3) > 0));
    host_send(t, a);
}

/* What the start value adds to results that were found without it. */
static void add_initial(host_array *want, bool sums, long double initial)
{
    for (int64_t k = 0; k < host_size(want); k++) {
        host_value v = host_load(want->dtype, host_at(want, k));
        v.re = sums ? v.re + initial : v.re > initial ? v.re : initial;
        host_store(want->dtype, host_at(want, k), v);
    }
}

static void check_random_pair(test_env *t, kiln_reduction *const *ops, int round)
{
    static const host_step masked_steps[] = {step_masked_0, step_masked_1, step_masked_2};
    static const kiln_dtype second[] = {KILN_FLOAT32, KILN_INT16, KILN_FLOAT64};
    host_array x, w, mask, want, *in[] = {&x, &w, &mask}, *out[] = {&want};
    int64_t shape[HOST_AXES], other[HOST_AXES], kept[HOST_AXES];
    const size_t e = test_random_below(t, COUNT(pairs));
    const int rank = random_shape(t, shape);
    const unsigned axes = (unsigned)test_random_below(t, 1u << rank);
    const bool masked = test_random_below(t, 4) > 0, identity = pairs[e].identity[0] != '\0';
    const kiln_arg initial = kiln_arg_int((int64_t)test_random_below(t, 9) - 4);
    const host_reduction reduction = {masked ? masked_steps[e] : pairs[e].step, pairs[e].finish};
    const kiln_dtype dtype = random_dtype(t, e);
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;
    kiln_axes list = host_axes(axes);
    kiln_array *y = NULL;
    char what[240];

    options.axes = &list;
    options.keepdims = test_random_below(t, 2) == 0;
    options.initial = (masked && !identity) || test_random_below(t, 3) == 0 ? &initial : NULL;
    snprintf(what, sizeof what, "seed %llu, round %d: %s over %d axes of %s, set %#x%s%s",
             (unsigned long long)t->seed, round, pairs[e].map, rank, kiln_dtype_name(dtype), axes,
             masked ? ", masked" : "", options.initial != NULL ? ", with a start value" : "");
    make_random(t, &x, dtype, rank, shape, round);
    make_random(t, &w, second[e], random_broadcast(t, rank, shape, other), other, round + 1);
    make_random(t, &mask, KILN_BOOL, random_broadcast(t, rank, shape, other), other, round);
    options.where = masked ? mask.array : NULL;
    host_make(t, &want, KILN_FLOAT64,
              host_reduced_shape(rank, shape, axes, options.keepdims, kept), kept, NULL);
    host_reduce(in, COUNT(in), out, 1, rank, shape, axes, &reduction);
    if (options.initial != NULL)
        add_initial(&want, identity, (long double)initial.value.i);
    OK(t, kiln_reduction_run(ops[e], KILN_ARGS(x.array, w.array, &y), &options, &t->err));
    host_compare_elements(t, y, &want, 0, what);
    kiln_array_release(y);
    host_free(&x);
    host_free(&w);
    host_free(&mask);
    host_free(&want);
}

/* Three operands have many layouts together, and the cpu device compiles each for a second. */
static void test_reduction__random_masks_and_pairs_agree_with_plain_loops(void **state)
{
    test_env *t = *state;
    const int rounds = t->cuda ? 120 : 8;
    kiln_reduction *ops[COUNT(pairs)] = {NULL};

    for (size_t e = 0; e < COUNT(pairs); e++)
        OK(t, kiln_reduction_create(t->ctx, "T x, U w", "float64 y", pairs[e].map, pairs[e].reduce,
                                    pairs[e].post, pairs[e].identity, NULL, &ops[e], &t->err));
    for (int round = 0; round < rounds; round++)
        check_random_pair(t, ops, round);
    for (size_t e = 0; e < COUNT(pairs); e++)
        kiln_reduction_destroy(ops[e]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction__a_hundred_runs_give_the_same_bits),
        TEST(test_reduction__prepared_ones_do_what_the_call_does),
        TEST(test_reduction__prepared_with_options),
        TEST(test_reduction__many_threads_on_one_object),
        TEST(test_reduction__many_threads_make_the_named_reductions),
#ifdef KILN_TEST_HOOKS
        TEST(test_reduction__each_allocation_failure_is_survived),
#endif
        TEST(test_reduction__random_calls_agree_with_plain_loops),
        TEST(test_reduction__random_masks_and_pairs_agree_with_plain_loops),
    };

    return test_env_main(argc, argv, "test_reduction_runs", tests, COUNT(tests));
}
