/*
 * test_scans_custom.c - definitions of one's own: several inputs and outputs, structs, raw arrays,
 * outputs that are read or share memory with inputs; and what must be refused.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/scan.h"

/* The options of a scan along the first axis with `scan_flags`. */
#define FLAGS(scan_flags)                                                                          \
    (&(kiln_scan_call_options){.struct_size = sizeof(kiln_scan_call_options),                      \
                               .axes = KILN_AXES(0),                                               \
                               .flags = (scan_flags)})

static kiln_array *ones(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *a = NULL;

    OK(t, kiln_array_ones(t->ctx, dtype, rank, shape, &a, &t->err));
    return a;
}

static kiln_scan *create_sum(test_env *t)
{
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *op = NULL;

    options.name = "adder";
    OK(t,
       kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", &options, &op, &t->err));
    return op;
}

/* ---- several of everything ---- */

static void add_two(host_state *s, const host_value *in, int64_t place)
{
    s->v.re += in[0].re * in[1].re + (long double)place;
    s->w.re = in[0].re;
}

static void tell_two(const host_state *s, int64_t place, int64_t n, host_value *out)
{
    out[0].re = s->v.re + (long double)n;
    out[1].re += s->w.re * (long double)place;
}

/* A fused map of two inputs and a number, one of them broadcast; two outputs, one of them read;
 * `_J` and `n`; the last element as a running value that does not commute. */
static void test_scans__several_inputs_outputs_and_numbers(void **state)
{
    static const int64_t wide[] = {40, 9}, narrow[] = {9};
    static const host_scanning both = {add_two, tell_two};
    test_env *t = *state;
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *op = NULL;
    host_array x, w, sums, lasts, *in[] = {&x, &w}, *out[] = {&sums, &lasts};

    options.preamble = "struct two { double sum, last; };";
    options.reduce_type = "two";
    OK(t, kiln_scan_create(t->ctx, "T x, T w, float64 one", "float64 sum, float64 last",
                           "two{(double)x * (double)w * one + _J, (double)x}",
                           "two{a.sum + b.sum, b.last}", "sum = a.sum + n; last += a.last * _J", "",
                           &options, &op, &t->err));
    for (int axis = 0; axis < 2; axis++) {
        host_make(t, &x, KILN_FLOAT32, 2, wide, NULL);
        host_make(t, &w, KILN_FLOAT32, 1, narrow, NULL);
        host_fill_small(&w, 5);
        host_send(t, &w);
        host_make(t, &sums, KILN_FLOAT64, 2, wide, NULL);
        host_make(t, &lasts, KILN_FLOAT64, 2, wide, NULL);
        host_scan(in, 2, out, 2, 2, wide, axis, 0, &both);
        OK(t, host_scan_run(op, axis, 0, KILN_ARGS(x.array, w.array, 1.0, sums.array, lasts.array),
                            &t->err));
        host_compare(t, &sums, 0, "sums");
        host_compare(t, &lasts, 0, "lasts");
        host_free(&x);
        host_free(&w);
        host_free(&sums);
        host_free(&lasts);
    }
    kiln_scan_destroy(op);
}

/* Raw inputs are seen whole by map. */
static void test_scans__a_raw_table(void **state)
{
    static const int64_t length[] = {6}, entries[] = {3};
    const int32_t keys[] = {0, 1, 2, 2, 0, 1}, want[] = {10, 30, 60, 90, 100, 120};
    const int32_t values[] = {10, 20, 30};
    test_env *t = *state;
    kiln_scan *op = NULL;
    kiln_array *k = NULL, *table = NULL, *y = NULL;
    int32_t got[6];

    OK(t, kiln_scan_create(t->ctx, "int32 key, raw int32 table", "int32 y", "table[key]", "a + b",
                           "y = a", "0", NULL, &op, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, length, keys, NULL, &k, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, entries, values, NULL, &table, &t->err));
    OK(t, kiln_call_over(op, KILN_AXES(-1), &t->err, k, table, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, want, sizeof got);
    kiln_array_release(k);
    kiln_array_release(table);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

/* 2 x 2 matrices: associative, and not commutative. The Fibonacci numbers are the powers of one. */
static void test_scans__products_of_matrices(void **state)
{
    static const int64_t length[] = {90};
    test_env *t = *state;
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *op = NULL;
    kiln_array *x = ones(t, KILN_INT64, 1, length), *y = NULL;
    int64_t got[90], before = 0, now = 1;

    options.preamble = "struct matrix { long long a, b, c, d; };";
    options.reduce_type = "matrix";
    OK(t, kiln_scan_create(t->ctx, "int64 x", "int64 y", "matrix{x, x, x, 0}",
                           "matrix{a.a * b.a + a.b * b.c, a.a * b.b + a.b * b.d,"
                           "       a.c * b.a + a.d * b.c, a.c * b.b + a.d * b.d}",
                           "y = a.b", "matrix{1, 0, 0, 1}", &options, &op, &t->err));
    OK(t, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, &y));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 90; k++) {
        const int64_t next = before + now;

        CHECK(got[k] == now, "Fibonacci number %d: %lld", k + 1, (long long)got[k]);
        before = now;
        now = next;
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

/* ---- memory that is shared ---- */

static void check_in_place(test_env *t, kiln_scan *op, int rank, const int64_t *shape, int axis,
                           unsigned flags)
{
    host_array x, want, *in[] = {&x}, *out[] = {&want};

    host_make(t, &x, KILN_INT32, rank, shape, NULL);
    host_make(t, &want, KILN_INT32, rank, shape, NULL);
    host_scan(in, 1, out, 1, rank, shape, axis, flags, &host_running_sum);
    OK(t, host_scan_run(op, axis, flags, KILN_ARGS(x.array, x.array), &t->err));
    host_compare_elements(t, x.array, &want, 0, "in place");
    host_free(&x);
    host_free(&want);
}

static void test_scans__in_place(void **state)
{
    static const int64_t line[] = {100003}, rows[] = {31, 700}, columns[] = {9001, 7};
    test_env *t = *state;
    kiln_scan *op = create_sum(t);

    for (unsigned flags = 0; flags < 4; flags++) {
        check_in_place(t, op, 1, line, 0, flags);
        check_in_place(t, op, 2, rows, 1, flags);
        check_in_place(t, op, 2, columns, 0, flags);
        check_in_place(t, op, 2, rows, HOST_FLAT, flags);
    }
    kiln_scan_destroy(op);
}

/* Blocks that are two and four times as wide are for hundreds of megabytes, unless they are asked for. */
static void test_scans__few_columns_by_wide_blocks(void **state)
{
    static const struct {
        int64_t shape[2];
        const char *wider;
        unsigned flags;
    } cases[] = {
        {{9001, 7}, "2", 0},  {{20011, 3}, "2", 1}, {{4003, 16}, "2", 2}, {{3001, 32}, "2", 3},
        {{2003, 40}, "2", 0}, {{9001, 16}, "4", 0}, {{6007, 32}, "4", 1}, {{4001, 24}, "4", 0},
        {{3001, 32}, "4", 2}, {{736, 32}, "4", 0},  {{1472, 16}, "4", 1},
    };
    test_env *t = *state;
    kiln_scan *op = create_sum(t);

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        setenv("KILN_TUNE_SCAN_WIDER", cases[k].wider, 1);
        check_in_place(t, op, 2, cases[k].shape, 0, cases[k].flags);
    }
    unsetenv("KILN_TUNE_SCAN_WIDER");
    kiln_scan_destroy(op);
}

/* A block that has a row to itself writes the sums of a tile where those of the tile before stood. */
static void test_scans__rows_of_several_tiles(void **state)
{
    static const int64_t rows[] = {20, 9001};
    test_env *t = *state;
    kiln_scan *op = create_sum(t);

    check_in_place(t, op, 2, rows, 1, 0);
    kiln_scan_destroy(op);
}

/* A prepared scan sees what its arrays hold when it runs, and has workspace at each run. */
static void test_scans__a_prepared_launch(void **state)
{
    enum { N = 40000 };
    static const int64_t length[] = {N};
    test_env *t = *state;
    kiln_scan *op = create_sum(t);
    kiln_array *x = ones(t, KILN_INT32, 1, length), *y = NULL, *part = NULL, *lead = NULL;
    kiln_scan_call_options options = KILN_SCAN_CALL_OPTIONS_INIT;
    kiln_launch *launch = NULL, *none = NULL;
    static int32_t got[N];

    options.flags = KILN_SCAN_EXCLUSIVE;
    OK(t, kiln_scan_prepare(op, KILN_ARGS(x, &y), &options, &launch, &t->err));
    for (int run = 1; run <= 3; run++) {
        kiln_array *value = NULL;

        OK(t, kiln_array_full(t->ctx, KILN_INT32, 0, NULL, run, &value, &t->err));
        OK(t, kiln_array_assign(x, value, &t->err));
        kiln_array_release(value);
        OK(t, kiln_launch_run(launch, NULL, &t->err));
        OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < N; k++)
            CHECK(got[k] == k * run, "run %d, element %d: %d", run, k, got[k]);
    }
    OK(t, kiln_array_slice(x, 0, 1, N, 1, &part, &t->err));
    OK(t, kiln_array_slice(x, 0, 0, N - 1, 1, &lead, &t->err));
    FAILS(t, KILN_ERR_OVERLAP,
          kiln_scan_prepare(op, KILN_ARGS(lead, part), &options, &none, &t->err), "adder");
    FAILS(t, KILN_ERR_NULL, kiln_scan_prepare(op, KILN_ARGS(x, &y), &options, NULL, &t->err),
          "out");
    kiln_launch_destroy(launch);
    kiln_array_release(lead);
    kiln_array_release(part);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

/* y = x[1:], x = x[:-1] of one array: the input is copied first. */
static void test_scans__an_input_that_overlaps_the_output_is_copied(void **state)
{
    enum { N = 50000 };
    static const int64_t length[] = {N};
    test_env *t = *state;
    kiln_scan *op = create_sum(t);
    kiln_array *base = ones(t, KILN_INT32, 1, length), *x = NULL, *y = NULL;
    static int32_t got[N];

    OK(t, kiln_array_slice(base, 0, 0, N - 1, 1, &x, &t->err));
    OK(t, kiln_array_slice(base, 0, 1, N, 1, &y, &t->err));
    OK(t, kiln_call_over(op, KILN_AXES(0), &t->err, x, y));
    OK(t, kiln_array_to_host(base, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < N; k++)
        CHECK(got[k] == (k == 0 ? 1 : k), "element %d is %d", k, got[k]);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(base);
    kiln_scan_destroy(op);
}

/* ---- refusals ---- */

static void test_scans__definitions_that_are_refused(void **state)
{
    static const struct {
        const char *in, *out, *map, *post;
        kiln_status status;
        const char *text;
    } bad[] = {
        {"T x", "", "x", "y = a", KILN_ERR_SYNTAX, "output"},
        {"T x", "raw T y", "x", "y = a", KILN_ERR_SYNTAX, "raw"},
        {"floot x", "T y", "x", "y = a", KILN_ERR_UNKNOWN_TYPE, "floot"},
        {"T x", "T y", NULL, "y = a", KILN_ERR_NULL, "map"},
        {"T x", "T y", "x", NULL, KILN_ERR_NULL, "post"},
        {"T x", "T y", "x * _in_ind.get()[0]", "y = a", KILN_ERR_NAME,
         "`_in_ind` is for reductions"},
        {"T x", "T y", "x", "y = a / _out_ind.size()", KILN_ERR_NAME,
         "`_out_ind` is for reductions"},
        {"T x", "T y", "x + _j", "y = a", KILN_ERR_NAME, "`_j` is for reductions"},
        {"T x", "T y", "x", "y = a + _i", KILN_ERR_NAME, "in a scan, `_J` is the place"},
    };
    test_env *t = *state;
    kiln_scan *op = NULL;

    for (size_t k = 0; k < COUNT(bad); k++) {
        FAILS(t, bad[k].status,
              kiln_scan_create(t->ctx, bad[k].in, bad[k].out, bad[k].map, "a + b", bad[k].post, "0",
                               NULL, &op, &t->err),
              bad[k].text);
        assert_null(op);
    }
    FAILS(t, KILN_ERR_NULL,
          kiln_scan_create(NULL, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &op, &t->err),
          "ctx");
    FAILS(t, KILN_ERR_NULL,
          kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, NULL, &t->err),
          "out");
    kiln_scan_destroy(NULL);
}

static void test_scans__compile_errors_name_the_snippet(void **state)
{
    static const struct {
        const char *map, *reduce, *post, *identity, *snippet, *word;
    } broken[] = {
        {"x * lost_map", "a + b", "y = a", "0", "map", "lost_map"},
        {"x", "a + lost_reduce", "y = a", "0", "reduce", "lost_reduce"},
        {"x", "a + b", "y = a;\ny += lost_post", "0", "post, line 2", "lost_post"},
        {"x", "a + b", "y = a", "lost_identity", "identity", "lost_identity"},
        {"x", "a + b", "y = a +", "0", "post, line 1, column 8", "y = a +"},
    };
    static const int64_t shape[] = {3, 4};
    test_env *t = *state;
    kiln_array *x = ones(t, KILN_FLOAT32, 2, shape), *y = NULL;

    for (size_t k = 0; k < COUNT(broken); k++) {
        kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
        kiln_scan *op = NULL;

        options.name = "broken_kernel";
        OK(t, kiln_scan_create(t->ctx, "T x", "T y", broken[k].map, broken[k].reduce,
                               broken[k].post, broken[k].identity, &options, &op, &t->err));
        FAILS(t, KILN_ERR_COMPILE, kiln_call_with(op, FLAGS(KILN_SCAN_EXCLUSIVE), &t->err, x, &y),
              "broken_kernel", broken[k].snippet, broken[k].word, "^");
        assert_null(y);
        kiln_scan_destroy(op);
    }
    kiln_array_release(x);
}

static void test_scans__calls_that_are_refused(void **state)
{
    static const int64_t shape[] = {3, 4}, other[] = {4, 3}, flat[] = {12}, row[] = {1, 4};
    test_env *t = *state;
    kiln_scan *op = create_sum(t), *none = NULL;
    kiln_array *x = ones(t, KILN_FLOAT32, 2, shape), *y = NULL, *wide = NULL;
    kiln_array *turned = ones(t, KILN_FLOAT32, 2, other), *line = ones(t, KILN_FLOAT32, 1, flat);
    kiln_array *doubles = ones(t, KILN_FLOAT64, 2, shape), *one = ones(t, KILN_FLOAT32, 2, row);

    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, KILN_AXES(2), &t->err, x, &y), "adder", "axis 2");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, KILN_AXES(-3), &t->err, x, &y), "-3");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, KILN_AXES(0, 1), &t->err, x, &y), "one axis");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, (&(kiln_axes){0, {0}}), &t->err, x, &y), "0");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call_with(op, FLAGS(4), &t->err, x, &y), "0x4");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(op, KILN_AXES(0), &t->err, x, turned), "(4, 3)",
          "(3, 4)");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(op, KILN_AXES(0), &t->err, x, line), "(12,)");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(op, KILN_ALL_AXES, &t->err, x, turned), "(4, 3)",
          "(12,)");
    FAILS(t, KILN_ERR_DTYPE, kiln_call_over(op, KILN_AXES(0), &t->err, x, doubles), "float64");
    OK(t, kiln_array_broadcast_to(one, 2, shape, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(op, KILN_AXES(0), &t->err, x, wide), "broadcast");
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call_over(op, KILN_AXES(0), &t->err, 3.0, &y), "adder");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call_over(op, KILN_AXES(0), &t->err, x), "2", "1");
    FAILS(t, KILN_ERR_NULL, kiln_call_over((kiln_scan *)NULL, KILN_AXES(0), &t->err, x, &y),
          "NULL");
    FAILS(t, KILN_ERR_NULL, kiln_scan_source(op, KILN_ARGS(x, &y), NULL, NULL, &t->err),
          "text_out");
    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "", NULL, &none, &t->err));
    FAILS(t, KILN_ERR_IDENTITY, kiln_call_with(none, FLAGS(KILN_SCAN_EXCLUSIVE), &t->err, x, &y),
          "identity");
    assert_null(y);
    OK(t, kiln_call_over(none, KILN_AXES(0), &t->err, x, &y));
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_array_release(wide);
    kiln_array_release(turned);
    kiln_array_release(line);
    kiln_array_release(doubles);
    kiln_array_release(one);
    kiln_scan_destroy(op);
    kiln_scan_destroy(none);
}

/* An accumulator beyond 64 bytes is told of, not overrun. */
static void test_scans__an_accumulator_that_is_too_large(void **state)
{
    static const int64_t length[] = {4};
    test_env *t = *state;
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;
    kiln_scan *op = NULL;
    kiln_array *x = ones(t, KILN_FLOAT32, 1, length), *y = NULL;

    options.preamble = "struct large { double v[9]; };";
    options.reduce_type = "large";
    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "large{{x}}", "large{{a.v[0] + b.v[0]}}",
                           "y = a.v[0]", "", &options, &op, &t->err));
    FAILS(t, KILN_ERR_COMPILE, kiln_call_over(op, KILN_AXES(0), &t->err, x, &y), "64 bytes");
    kiln_array_release(x);
    kiln_scan_destroy(op);
}

/* ---- options, source, memory ---- */

static void test_scans__options_and_source(void **state)
{
    static const int64_t shape[] = {3, 4};
    test_env *t = *state;
    kiln_scan_options options;
    kiln_scan_call_options call;
    kiln_scan *op = NULL;
    kiln_array *x = ones(t, KILN_FLOAT32, 2, shape), *y = NULL;
    const kiln_axes axes = {1, {1}};
    float got[12];
    char *text = NULL;

    kiln_scan_options_init(&options, sizeof options);
    kiln_scan_call_options_init(&call, sizeof call);
    options.name = "running";
    call.axes = &axes;
    call.flags = KILN_SCAN_REVERSE;
    OK(t, kiln_stream_create(t->ctx, NULL, &call.stream, &t->err));
    OK(t, kiln_stream_wait(t->ctx, call.stream, NULL, &t->err)); /* x is filled on the context's */
    OK(t,
       kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", &options, &op, &t->err));
    OK(t, kiln_scan_source(op, KILN_ARGS(x, &y), &call, &text, &t->err));
    assert_non_null(strstr(text, "running"));
    kiln_free(text);
    OK(t, kiln_scan_run(op, KILN_ARGS(x, &y), &call, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < 12; k++)
        assert_true(got[k] == (float)(4 - k % 4));
    call.struct_size += 8;
    struct {
        kiln_scan_call_options known;
        char more[8];
    } wide = {call, {1}};
    FAILS(t, KILN_ERR_ARGUMENT, kiln_scan_run(op, KILN_ARGS(x, &y), &wide.known, &t->err),
          "kiln_scan_call_options");
    kiln_array_release(y);
    kiln_array_release(x);
    kiln_stream_destroy(call.stream);
    kiln_scan_destroy(op);
}

/* Take all that the pool still has below its limit, in ever smaller pieces. */
static size_t take_rest(test_env *t, kiln_array **taken, size_t room)
{
    size_t count = 0;

    for (int64_t bytes = 1 << 24; bytes >= 512; bytes /= 2)
        while (count < room &&
               kiln_array_empty(t->ctx, KILN_UINT8, 1, &bytes, &taken[count], NULL) == KILN_OK)
            count++;
    return count;
}

/* A split scan needs workspace; without room for it the call fails, and works when there is. */
static void test_scans__no_memory_for_the_workspace(void **state)
{
    enum { N = 3000000, TAKEN = 4096 };
    static const int64_t length[] = {N};
    static kiln_array *taken[TAKEN];
    test_env *t = *state;
    kiln_scan *op = create_sum(t);
    kiln_array *x = ones(t, KILN_FLOAT32, 1, length), *y = ones(t, KILN_FLOAT32, 1, length);
    kiln_array *last = NULL;
    kiln_pool_stats stats;
    float got = 0;

    kiln_context_pool_stats(t->ctx, &stats);
    kiln_context_pool_set_limit(t->ctx, stats.held_bytes);
    size_t count = take_rest(t, taken, TAKEN);
    assert_true(count < TAKEN);
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_call_over(op, KILN_AXES(0), &t->err, x, y), "limit");
    while (count > 0)
        kiln_array_release(taken[--count]);
    kiln_context_pool_set_limit(t->ctx, 0);
    OK(t, kiln_call_over(op, KILN_AXES(0), &t->err, x, y));
    OK(t, kiln_array_slice(y, 0, N - 1, N, 1, &last, &t->err));
    OK(t, kiln_array_to_host(last, &got, sizeof got, NULL, &t->err));
    assert_true(got == (float)N);
    kiln_array_release(last);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_scan_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scans__several_inputs_outputs_and_numbers),
        TEST(test_scans__a_raw_table),
        TEST(test_scans__products_of_matrices),
        TEST(test_scans__in_place),
        TEST(test_scans__few_columns_by_wide_blocks),
        TEST(test_scans__rows_of_several_tiles),
        TEST(test_scans__a_prepared_launch),
        TEST(test_scans__an_input_that_overlaps_the_output_is_copied),
        TEST(test_scans__definitions_that_are_refused),
        TEST(test_scans__compile_errors_name_the_snippet),
        TEST(test_scans__calls_that_are_refused),
        TEST(test_scans__an_accumulator_that_is_too_large),
        TEST(test_scans__options_and_source),
        TEST(test_scans__no_memory_for_the_workspace),
    };
    return test_env_main(argc, argv, "test_scans_custom", tests, COUNT(tests));
}
