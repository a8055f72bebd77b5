/*
 * test_reduction_bad.c - definitions and calls that must be refused: status, message, nothing
 * changed, nothing leaked, and the same object still works afterwards.
 */
#include <string.h>

#include "oracle/reduce.h"

static const int64_t shape_34[] = {3, 4};

static kiln_array *ones(test_env *t, kiln_context *ctx, kiln_dtype dtype, int rank,
                        const int64_t *shape)
{
    kiln_array *a = NULL;

    OK(t, kiln_array_ones(ctx, dtype, rank, shape, &a, &t->err));
    return a;
}

/* A sum, and an array that fits it. */
typedef struct bench {
    kiln_reduction *op;
    kiln_array *x;
} bench;

static void bench_make(test_env *t, bench *b)
{
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;

    options.name = "adder";
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", &options, &b->op,
                                &t->err));
    b->x = ones(t, t->ctx, KILN_FLOAT32, 2, shape_34);
}

/* A right call works; take all down. */
static void bench_end(test_env *t, bench *b)
{
    kiln_array *y = NULL;
    float got[3] = {0};

    OK(t, kiln_call_over(b->op, KILN_AXES(1), &t->err, b->x, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 4 && got[1] == 4 && got[2] == 4);
    kiln_array_release(y);
    kiln_array_release(b->x);
    kiln_reduction_destroy(b->op);
}

/* ---- definitions ---- */

typedef struct bad_definition {
    const char *in, *out, *map, *reduce, *post, *reduce_type;
    kiln_status status;
    const char *text;
} bad_definition;

static const bad_definition bad_definitions[] = {
    {"T x", "", "x", "a + b", "y = a", NULL, KILN_ERR_SYNTAX, "output"},
    {"T x", "raw T y", "x", "a + b", "y = a", NULL, KILN_ERR_SYNTAX, "raw"},
    {"T x,", "T y", "x", "a + b", "y = a", NULL, KILN_ERR_SYNTAX, ""},
    {"floot x", "T y", "x", "a + b", "y = a", NULL, KILN_ERR_UNKNOWN_TYPE, "floot"},
    {"T x, T x", "T y", "x", "a + b", "y = a", NULL, KILN_ERR_NAME, "x"},
    {"T x", "T x", "x", "a + b", "x = a", NULL, KILN_ERR_NAME, "x"},
    {"T int", "T y", "1", "a + b", "y = a", NULL, KILN_ERR_NAME, "int"},
    {NULL, "T y", "x", "a + b", "y = a", NULL, KILN_ERR_NULL, ""},
    {"T x", NULL, "x", "a + b", "y = a", NULL, KILN_ERR_NULL, ""},
};

static void test_reduction__definitions_that_are_refused(void **state)
{
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(bad_definitions); k++) {
        const bad_definition *c = &bad_definitions[k];
        kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
        kiln_reduction *op = NULL;

        options.reduce_type = c->reduce_type;
        FAILS(t, c->status,
              kiln_reduction_create(t->ctx, c->in, c->out, c->map, c->reduce, c->post, "0",
                                    &options, &op, &t->err),
              c->text);
        assert_null(op);
    }
}

static void test_reduction__null_where_it_is_not_allowed(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_reduction *op = NULL;
    kiln_array *none = NULL, *y = NULL;

    bench_make(t, &b);
    FAILS(t, KILN_ERR_NULL,
          kiln_reduction_create(NULL, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err),
          "ctx");
    FAILS(t, KILN_ERR_NULL,
          kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, NULL,
                                &t->err),
          "out");
    FAILS(t, KILN_ERR_NULL, kiln_call_over((kiln_reduction *)NULL, NULL, &t->err, b.x, &y), "NULL");
    FAILS(t, KILN_ERR_NULL, kiln_call_over(b.op, NULL, &t->err, none, &y), "x");
    FAILS(t, KILN_ERR_NULL, kiln_call_over(b.op, NULL, &t->err, b.x, none), "y");
    FAILS(t, KILN_ERR_NULL, kiln_reduction_run(b.op, NULL, 2, NULL, &t->err), "args");
    FAILS(t, KILN_ERR_NULL, kiln_reduction_source(b.op, KILN_ARGS(b.x, &y), NULL, NULL, &t->err),
          "text_out");
    assert_null(y);
    kiln_reduction_destroy(NULL);
    bench_end(t, &b);
}

static void test_reduction__options_of_a_wrong_size(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_array *y = NULL;
    struct {
        kiln_reduction_call_options known;
        char more[8];
    } wide = {KILN_REDUCTION_CALL_OPTIONS_INIT, {0}};

    bench_make(t, &b);
    wide.known.struct_size = sizeof wide;
    OK(t, kiln_reduction_run(b.op, KILN_ARGS(b.x, &y), &wide.known, &t->err));
    wide.more[3] = 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_reduction_run(b.op, KILN_ARGS(b.x, &y), &wide.known, &t->err),
          "kiln_reduction_call_options");
    kiln_array_release(y);
    bench_end(t, &b);
}

/* ---- snippets that do not compile ---- */

typedef struct broken {
    const char *map, *reduce, *post, *identity, *reduce_type, *preamble;
    const char *snippet, *word; /* which snippet is named; what the caret line shows */
} broken;

static const broken brokens[] = {
    {"x * lost_map", "a + b", "y = a", "0", NULL, NULL, "map", "lost_map"},
    {"x", "a + lost_reduce", "y = a", "0", NULL, NULL, "reduce", "lost_reduce"},
    {"x", "a + b", "y = a;\ny += lost_post", "0", NULL, NULL, "post", "lost_post"},
    {"x", "a + b", "y = a", "lost_identity", NULL, NULL, "identity", "lost_identity"},
    {"x", "a + b", "y = a", "0", "lost_type", NULL, "reduce_type", "lost_type"},
    {"x", "a + b", "y = a", "0", NULL, "__device__ int f() { return lost_word; }", "preamble",
     "lost_word"},
    /* What is missing is missed behind the snippet, in text that is not the user's. */
    {"x +", "a + b", "y = a", "0", NULL, NULL, "map, line 1, column 4", "x +"},
    {"x", "a +\nb *", "y = a", "0", NULL, NULL, "reduce, line 2, column 4", "b *"},
    {"x", "a + b", "y = a /", "0", NULL, NULL, "post, line 1, column 8", "y = a /"},
    {"x", "a + b", "y = a", "0 -", NULL, NULL, "identity, line 1, column 4", "0 -"},
    {"", "a + b", "y = a", "0", NULL, NULL, "map, line 1", ""},
};

static void check_broken(test_env *t, const broken *c)
{
    kiln_reduction_options options = KILN_REDUCTION_OPTIONS_INIT;
    kiln_reduction *op = NULL;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 2, shape_34), *y = NULL;

    options.name = "broken_kernel";
    options.reduce_type = c->reduce_type;
    options.preamble = c->preamble;
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", c->map, c->reduce, c->post, c->identity,
                                &options, &op, &t->err));
    for (int again = 0; again < 2; again++) {
        kiln_status status = kiln_call_over(op, KILN_AXES(0), &t->err, x, &y);

        CHECK(status == KILN_ERR_COMPILE, "%s: %s", c->word, kiln_status_name(status));
        CHECK(strstr(t->err.message, "broken_kernel") != NULL &&
                  strstr(t->err.message, c->snippet) != NULL,
              "want %s: %s", c->snippet, t->err.message);
        CHECK(t->err.detail != NULL && strstr(t->err.detail, c->word) != NULL &&
                  strchr(t->err.detail, '^') != NULL,
              "%s: detail: %s", c->word, t->err.detail);
        CHECK(t->err.log != NULL && t->err.source != NULL, "%s: no log or source", c->word);
        kiln_error_clear(&t->err);
    }
    assert_null(y);
    kiln_array_release(x);
    kiln_reduction_destroy(op);
}

static void test_reduction__compile_errors_name_the_snippet(void **state)
{
    for (size_t k = 0; k < COUNT(brokens); k++)
        check_broken(*state, &brokens[k]);
}

static void test_reduction__cuda_only_words_are_refused_by_name_on_the_cpu(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = NULL;

    if (t->cuda)
        skip();
    FAILS(t, KILN_ERR_UNSUPPORTED,
          kiln_reduction_create(t->ctx, "T x", "T y", "x + threadIdx.x", "a + b", "y = a", "0",
                                NULL, &op, &t->err),
          "threadIdx");
    assert_null(op);
}

/* ---- calls ---- */

static void test_reduction__axes_out_of_range_or_repeated(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_array *y = NULL;
    kiln_axes many = {KILN_RANK_MAX + 1, {0}}, negative = {-1, {0}};

    bench_make(t, &b);
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(b.op, KILN_AXES(2), &t->err, b.x, &y), "adder", "2");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(b.op, KILN_AXES(-3), &t->err, b.x, &y), "-3");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(b.op, KILN_AXES(0, 0), &t->err, b.x, &y), "0", "twice");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(b.op, KILN_AXES(1, -1), &t->err, b.x, &y), "1", "twice");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call_over(b.op, &many, &t->err, b.x, &y), "33");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call_over(b.op, &negative, &t->err, b.x, &y), "-1");
    assert_null(y);
    bench_end(t, &b);
}

static void test_reduction__nothing_to_reduce_and_no_identity(void **state)
{
    static const int64_t empty[] = {0, 3};
    static const char *const none[] = {"", NULL};
    test_env *t = *state;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 2, empty), *y = NULL;

    for (size_t k = 0; k < COUNT(none); k++) {
        kiln_reduction *op = NULL;

        OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "max(a, b)", "y = a", none[k], NULL,
                                    &op, &t->err));
        FAILS(t, KILN_ERR_IDENTITY, kiln_call_over(op, KILN_AXES(0), &t->err, x, &y), "identity",
              "(0, 3)");
        FAILS(t, KILN_ERR_IDENTITY, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y), "identity");
        assert_null(y);
        OK(t,
           kiln_call_over(op, KILN_AXES(1), &t->err, x, &y)); /* no results: nothing is missing */
        assert_int_equal(kiln_array_size(y), 0);
        kiln_array_release(y);
        y = NULL;
        kiln_reduction_destroy(op);
    }
    kiln_array_release(x);
}

static void test_reduction__outputs_of_a_wrong_shape_or_dtype(void **state)
{
    static const int64_t three[] = {3}, four[] = {4}, three_one[] = {3, 1};
    test_env *t = *state;
    bench b;
    kiln_array *y3 = ones(t, t->ctx, KILN_FLOAT32, 1, three);
    kiln_array *y4 = ones(t, t->ctx, KILN_FLOAT32, 1, four);
    kiln_array *y31 = ones(t, t->ctx, KILN_FLOAT32, 2, three_one);
    kiln_array *y_int = ones(t, t->ctx, KILN_INT32, 1, three), *wide = NULL;
    float got[4];

    bench_make(t, &b);
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(b.op, KILN_AXES(1), &t->err, b.x, y4), "(4,)", "(3,)");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(b.op, KILN_AXES(1), &t->err, b.x, y31), "(3, 1)");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(b.op, KILN_ALL_AXES, &t->err, b.x, y3), "()");
    FAILS(t, KILN_ERR_DTYPE, kiln_call_over(b.op, KILN_AXES(1), &t->err, b.x, y_int), "float32",
          "int32");
    OK(t, kiln_array_broadcast_to(y31, 2, shape_34, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(b.op, (&(kiln_axes){0, {0}}), &t->err, b.x, wide),
          "broadcast");
    OK(t, kiln_array_to_host(y4, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == 1 && got[3] == 1);
    kiln_array_release(y3);
    kiln_array_release(y4);
    kiln_array_release(y31);
    kiln_array_release(y_int);
    kiln_array_release(wide);
    bench_end(t, &b);
}

static void test_reduction__arguments_that_do_not_fit(void **state)
{
    static const int64_t three[] = {3}, five[] = {5};
    test_env *t = *state;
    bench b;
    kiln_reduction *dot = NULL;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 1, three);
    kiln_array *longer = ones(t, t->ctx, KILN_FLOAT32, 1, five);
    kiln_array *wide = ones(t, t->ctx, KILN_FLOAT64, 1, three), *y = NULL;

    bench_make(t, &b);
    OK(t, kiln_reduction_create(t->ctx, "T x, T w", "T y", "x * w", "a + b", "y = a", "0", NULL,
                                &dot, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call_over(b.op, NULL, &t->err, b.x), "adder", "2", "1");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call_over(b.op, NULL, &t->err, b.x, 1.0, &y), "2", "3");
    FAILS(t, KILN_ERR_SHAPE, kiln_call_over(dot, NULL, &t->err, x, longer, &y), "(3,)", "(5,)");
    FAILS(t, KILN_ERR_DTYPE, kiln_call_over(dot, NULL, &t->err, x, wide, &y), "float32", "float64");
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call_over(b.op, NULL, &t->err, 3.0, &y), "adder");
    assert_null(y);
    kiln_array_release(x);
    kiln_array_release(longer);
    kiln_array_release(wide);
    kiln_reduction_destroy(dot);
    bench_end(t, &b);
}

static void test_reduction__an_output_placeholder_that_nothing_decides(void **state)
{
    test_env *t = *state;
    kiln_reduction *op = NULL;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 2, shape_34), *y = NULL;

    OK(t,
       kiln_reduction_create(t->ctx, "T x", "U y", "x", "a + b", "y = a", "0", NULL, &op, &t->err));
    FAILS(t, KILN_ERR_UNBOUND, kiln_call_over(op, NULL, &t->err, x, &y), "U");
    kiln_array_release(x);
    kiln_reduction_destroy(op);
}

static void test_reduction__released_and_foreign_arrays(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_context *other = test_env_context(t, t->cache_dir);
    kiln_array *foreign = ones(t, other, KILN_FLOAT32, 2, shape_34);
    kiln_array *gone = ones(t, t->ctx, KILN_FLOAT32, 2, shape_34), *y = NULL;
    kiln_reduction_call_options options = KILN_REDUCTION_CALL_OPTIONS_INIT;

    bench_make(t, &b);
    kiln_array_release(gone);
    FAILS(t, KILN_ERR_RELEASED, kiln_call_over(b.op, NULL, &t->err, gone, &y), "x");
    FAILS(t, KILN_ERR_CONTEXT, kiln_call_over(b.op, NULL, &t->err, foreign, &y), "x");
    FAILS(t, KILN_ERR_RELEASED, kiln_array_reduce(KILN_REDUCE_SUM, gone, NULL, false, &y, &t->err),
          "array");
    OK(t, kiln_stream_create(other, NULL, &options.stream, &t->err));
    FAILS(t, KILN_ERR_CONTEXT, kiln_reduction_run(b.op, KILN_ARGS(b.x, &y), &options, &t->err),
          "stream");
    kiln_stream_destroy(options.stream);
    assert_null(y);
    kiln_array_release(foreign);
    kiln_context_release(other);
    bench_end(t, &b);
}

static void test_reduction__an_output_that_is_also_the_input_is_safe(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_array *row = NULL;
    float got[12];

    bench_make(t, &b);
    OK(t, kiln_array_select(b.x, 0, 1, &row, &t->err));
    OK(t, kiln_call_over(b.op, KILN_AXES(0), &t->err, b.x, row));
    OK(t, kiln_array_to_host(b.x, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 12; k++)
        assert_true(got[k] == (k / 4 == 1 ? 3 : 1));
    kiln_array_release(row);
    kiln_array_release(b.x);
    b.x = ones(t, t->ctx, KILN_FLOAT32, 2, shape_34);
    bench_end(t, &b);
}

/* The output needs more than the pool may give; so may the partial results of a long reduction. */
static void test_reduction__device_memory_at_its_limit(void **state)
{
    static const int64_t tall[] = {2, 4 << 20};
    test_env *t = *state;
    bench b;
    kiln_pool_stats before, after;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 2, tall), *y = NULL;

    bench_make(t, &b);
    kiln_context_pool_stats(t->ctx, &before);
    kiln_context_pool_set_limit(t->ctx, before.used_bytes + (1 << 20));
    kiln_context_pool_trim(t->ctx);
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_call_over(b.op, KILN_AXES(0), &t->err, x, &y),
          "16.00 MiB");
    assert_null(y);
    kiln_context_pool_stats(t->ctx, &after);
    CHECK(after.used_bytes == before.used_bytes, "%zu then %zu bytes in use", before.used_bytes,
          after.used_bytes);
    kiln_context_pool_set_limit(t->ctx, 0);
    OK(t, kiln_call_over(b.op, KILN_AXES(0), &t->err, x, &y));
    kiln_array_release(x);
    kiln_array_release(y);
    bench_end(t, &b);
}

/* Take all that the pool still has, from large pieces to the smallest. Returns how many. */
static size_t fill_pool(test_env *t, kiln_array **filler, size_t room)
{
    size_t count = 0;

    kiln_context_pool_set_limit(t->ctx, 1);
    for (int64_t bytes = 64 << 20; bytes >= 512; bytes /= 2)
        while (count < room && kiln_array_empty(t->ctx, KILN_INT8, 1, &bytes, &filler[count],
                                                NULL) == KILN_OK)
            count++;
    return count;
}

/* There is room for the result, but not for what blocks leave behind for the last one. */
static void test_reduction__no_room_for_partial_results(void **state)
{
    static const int64_t tall[] = {4 << 20};
    test_env *t = *state;
    bench b;
    kiln_pool_stats before, after;
    kiln_array *x = ones(t, t->ctx, KILN_FLOAT32, 1, tall);
    kiln_array *y = ones(t, t->ctx, KILN_FLOAT32, 0, NULL);
    kiln_array *filler[256] = {NULL};
    kiln_launch *launch = NULL;
    float got = 0;

    bench_make(t, &b);
    OK(t, kiln_reduction_prepare(b.op, KILN_ARGS(x, y), NULL, &launch, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    const size_t count = fill_pool(t, filler, COUNT(filler));
    kiln_context_pool_stats(t->ctx, &before);
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_call_over(b.op, KILN_ALL_AXES, &t->err, x, y),
          "partial results");
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_launch_run(launch, NULL, &t->err), "partial results");
    kiln_context_pool_stats(t->ctx, &after);
    CHECK(after.used_bytes == before.used_bytes, "%zu then %zu bytes in use", before.used_bytes,
          after.used_bytes);
    kiln_context_pool_set_limit(t->ctx, 0);
    for (size_t k = 0; k < count; k++)
        kiln_array_release(filler[k]);
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_array_to_host(y, &got, sizeof got, NULL, &t->err));
    assert_true(got == 4 << 20);
    kiln_launch_destroy(launch);
    kiln_array_release(x);
    kiln_array_release(y);
    bench_end(t, &b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reduction__definitions_that_are_refused),
        TEST(test_reduction__null_where_it_is_not_allowed),
        TEST(test_reduction__options_of_a_wrong_size),
        TEST(test_reduction__compile_errors_name_the_snippet),
        TEST(test_reduction__cuda_only_words_are_refused_by_name_on_the_cpu),
        TEST(test_reduction__axes_out_of_range_or_repeated),
        TEST(test_reduction__nothing_to_reduce_and_no_identity),
        TEST(test_reduction__outputs_of_a_wrong_shape_or_dtype),
        TEST(test_reduction__arguments_that_do_not_fit),
        TEST(test_reduction__an_output_placeholder_that_nothing_decides),
        TEST(test_reduction__released_and_foreign_arrays),
        TEST(test_reduction__an_output_that_is_also_the_input_is_safe),
        TEST(test_reduction__device_memory_at_its_limit),
        TEST(test_reduction__no_room_for_partial_results),
    };

    return test_env_main(argc, argv, "test_reduction_bad", tests, COUNT(tests));
}
