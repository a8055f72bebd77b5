/*
 * test_elementwise_bad_call.c - calls that must be refused: status, message, nothing changed.
 *
 * After each refusal the outputs given hold what they held, output pointers are NULL as before,
 * and the same kernel object still runs a right call.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle/host.h"

static const int64_t shape_34[] = {3, 4};

/* A kernel of two inputs and one output, with arrays that fit it. */
typedef struct bench {
    kiln_elementwise *op;
    host_array x, y, z;
} bench;

static void add(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re + in[1].re);
}

static void bench_make(test_env *t, bench *b, const char *in, const char *out)
{
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;

    memset(b, 0, sizeof *b);
    options.name = "adder";
    OK(t, kiln_elementwise_create(t->ctx, in, out, "z = x + y", &options, &b->op, &t->err));
    host_make(t, &b->x, KILN_FLOAT32, 2, shape_34, NULL);
    host_make(t, &b->y, KILN_FLOAT32, 2, shape_34, NULL);
    host_make(t, &b->z, KILN_FLOAT32, 2, shape_34, NULL);
}

/* Nothing was written; a right call works; take all down. */
static void bench_end(test_env *t, bench *b)
{
    host_array *arrays[] = {&b->x, &b->y, &b->z};

    host_compare(t, &b->z, 0, "the output after refused calls");
    OK(t, kiln_call(b->op, &t->err, b->x.array, b->y.array, b->z.array));
    host_apply(arrays, 2, 1, 2, shape_34, add);
    host_compare(t, &b->z, 0, "the output after a right call");
    kiln_elementwise_destroy(b->op);
    host_free(&b->x);
    host_free(&b->y);
    host_free(&b->z);
}

static kiln_array *new_array(test_env *t, kiln_context *ctx, kiln_dtype dtype, int rank,
                             const int64_t *shape)
{
    kiln_array *a = NULL;

    OK(t, kiln_array_zeros(ctx, dtype, rank, shape, &a, &t->err));
    return a;
}

/* ---- counts, NULL, handles ---- */

static void test_elementwise__a_wrong_number_of_arguments(void **state)
{
    test_env *t = *state;
    bench b;

    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call(b.op, &t->err, b.x.array, b.z.array), "adder", "3",
          "2");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call(b.op, &t->err, b.x.array, b.y.array, 1, b.z.array),
          "adder", "3", "4");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_elementwise_run(b.op, NULL, 0, NULL, &t->err), "adder",
          "0");
    bench_end(t, &b);
}

static void test_elementwise__null_arguments(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_array *none = NULL;
    kiln_array **no_place = NULL;
    kiln_launch *launch = NULL;
    char *text = NULL;

    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_NULL, kiln_call(b.op, &t->err, none, b.y.array, b.z.array), "x");
    FAILS(t, KILN_ERR_NULL, kiln_call(b.op, &t->err, b.x.array, none, b.z.array), "y");
    FAILS(t, KILN_ERR_NULL, kiln_call(b.op, &t->err, b.x.array, b.y.array, none), "z");
    FAILS(t, KILN_ERR_NULL, kiln_call(b.op, &t->err, b.x.array, b.y.array, no_place), "z");
    FAILS(t, KILN_ERR_NULL, kiln_elementwise_run(b.op, NULL, 3, NULL, &t->err), "args");
    FAILS(t, KILN_ERR_NULL, kiln_call((kiln_elementwise *)NULL, &t->err, b.x.array, b.y.array, b.z.array), "NULL");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_prepare(b.op, KILN_ARGS(b.x.array, b.y.array, b.z.array), NULL, NULL,
                                   &t->err),
          "out");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_prepare(b.op, KILN_ARGS(none, b.y.array, b.z.array), NULL, &launch,
                                   &t->err),
          "x");
    assert_null(launch);
    FAILS(t, KILN_ERR_NULL, kiln_launch_run(NULL, NULL, &t->err), "launch");
    FAILS(t, KILN_ERR_NULL,
          kiln_elementwise_source(b.op, KILN_ARGS(b.x.array, b.y.array, b.z.array), NULL, NULL,
                                  &t->err),
          "text_out");
    FAILS(
        t, KILN_ERR_NULL,
        kiln_elementwise_source(b.op, KILN_ARGS(none, b.y.array, b.z.array), NULL, &text, &t->err),
        "x");
    assert_null(text);
    bench_end(t, &b);
}

static void test_elementwise__output_pointers_and_scalars_in_the_wrong_place(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_elementwise *raw = NULL;
    kiln_array *fresh = NULL;

    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(b.op, &t->err, &fresh, b.y.array, b.z.array), "x");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(b.op, &t->err, b.x.array, b.y.array, 3.0), "z");
    assert_null(fresh);
    OK(t,
       kiln_elementwise_create(t->ctx, "raw T x, T y", "T z", "z = x[0] + y", NULL, &raw, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(raw, &t->err, 3.0, b.y.array, b.z.array), "x");
    kiln_elementwise_destroy(raw);
    bench_end(t, &b);
}

static void test_elementwise__a_released_array_is_recognised(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_array *gone;

    bench_make(t, &b, "T x, T y", "T z");
    gone = new_array(t, t->ctx, KILN_FLOAT32, 2, shape_34);
    kiln_array_release(gone);
    FAILS(t, KILN_ERR_RELEASED, kiln_call(b.op, &t->err, gone, b.y.array, b.z.array), "x");
    FAILS(t, KILN_ERR_RELEASED, kiln_call(b.op, &t->err, b.x.array, b.y.array, gone), "z");
    bench_end(t, &b);
}

static void test_elementwise__an_array_of_another_context(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_context *other = test_env_context(t, t->cache_dir);
    kiln_array *foreign = new_array(t, other, KILN_FLOAT32, 2, shape_34);
    kiln_stream *stream = NULL;
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_CONTEXT, kiln_call(b.op, &t->err, b.x.array, foreign, b.z.array), "y",
          kiln_context_device(t->ctx)->id);
    FAILS(t, KILN_ERR_CONTEXT, kiln_call(b.op, &t->err, b.x.array, b.y.array, foreign), "z");
    OK(t, kiln_stream_create(other, NULL, &stream, &t->err));
    options.stream = stream;
    FAILS(t, KILN_ERR_CONTEXT,
          kiln_elementwise_run(b.op, KILN_ARGS(b.x.array, b.y.array, b.z.array), &options, &t->err),
          "stream");
    kiln_stream_destroy(stream);
    bench_end(t, &b);
    kiln_array_release(foreign);
    kiln_context_release(other);
}

static void test_elementwise__an_array_of_another_device_names_both(void **state)
{
    test_env *t = *state;
    test_env on_cpu = *t;
    kiln_context *cpu;
    kiln_array *foreign;
    bench b;

    if (!t->cuda)
        skip();
    on_cpu.device = "cpu";
    cpu = test_env_context(&on_cpu, t->cache_dir);
    foreign = new_array(t, cpu, KILN_FLOAT32, 2, shape_34);
    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_CONTEXT, kiln_call(b.op, &t->err, b.x.array, foreign, b.z.array), "y", "cpu",
          "cuda:");
    bench_end(t, &b);
    kiln_array_release(foreign);
    kiln_context_release(cpu);
}

/* ---- types ---- */

static void test_elementwise__dtypes_that_disagree(void **state)
{
    test_env *t = *state;
    bench b, declared;
    kiln_array *ints, *doubles;

    bench_make(t, &b, "T x, T y", "T z");
    ints = new_array(t, t->ctx, KILN_INT32, 2, shape_34);
    doubles = new_array(t, t->ctx, KILN_FLOAT64, 2, shape_34);
    FAILS(t, KILN_ERR_DTYPE, kiln_call(b.op, &t->err, b.x.array, ints, b.z.array), "adder", "y",
          "int32", "float32");
    FAILS(t, KILN_ERR_DTYPE, kiln_call(b.op, &t->err, b.x.array, b.y.array, doubles), "float64",
          "float32", "z");
    bench_make(t, &declared, "float32 x, float32 y", "float32 z");
    FAILS(t, KILN_ERR_DTYPE, kiln_call(declared.op, &t->err, ints, b.y.array, b.z.array), "x",
          "int32", "float32");
    FAILS(t, KILN_ERR_DTYPE, kiln_call(declared.op, &t->err, b.x.array, b.y.array, doubles), "z",
          "float64", "float32");
    bench_end(t, &declared);
    bench_end(t, &b);
    kiln_array_release(ints);
    kiln_array_release(doubles);
}

static void test_elementwise__a_placeholder_that_nothing_decides(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_array *x = new_array(t, t->ctx, KILN_FLOAT32, 2, shape_34), *z = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x", "U z", "z = x", NULL, &op, &t->err));
    FAILS(t, KILN_ERR_UNBOUND, kiln_call(op, &t->err, x, &z), "U", "z");
    assert_null(z);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
}

static void test_elementwise__scalars_that_do_not_fit(void **state)
{
    static const struct {
        kiln_dtype dtype;
        kiln_arg scalar;
        const char *value;
    } cases[] = {
        {KILN_INT8, {KILN_ARG_INT, {.i = 128}}, "128"},
        {KILN_INT8, {KILN_ARG_INT, {.i = -129}}, "-129"},
        {KILN_UINT8, {KILN_ARG_INT, {.i = -1}}, "-1"},
        {KILN_UINT8, {KILN_ARG_INT, {.i = 256}}, "256"},
        {KILN_INT16, {KILN_ARG_INT, {.i = 32768}}, "32768"},
        {KILN_UINT16, {KILN_ARG_INT, {.i = 65536}}, "65536"},
        {KILN_INT32, {KILN_ARG_INT, {.i = INT64_C(4294967296)}}, "4294967296"},
        {KILN_INT32, {KILN_ARG_UINT, {.u = 2147483648u}}, "2147483648"},
        {KILN_UINT32, {KILN_ARG_INT, {.i = -1}}, "-1"},
        {KILN_UINT32, {KILN_ARG_INT, {.i = INT64_C(4294967296)}}, "4294967296"},
        {KILN_INT64, {KILN_ARG_UINT, {.u = UINT64_C(9223372036854775808)}}, "9223372036854775808"},
        {KILN_UINT64, {KILN_ARG_INT, {.i = -1}}, "-1"},
        {KILN_UINT64, {KILN_ARG_INT, {.i = INT64_MIN}}, "-9223372036854775808"},
        {KILN_INT32, {KILN_ARG_FLOAT, {.f = 1.5}}, "1.5"},
        {KILN_BOOL, {KILN_ARG_FLOAT, {.f = 0.5}}, "0.5"},
        {KILN_INT32, {KILN_ARG_COMPLEX, {.c = {1, 2}}}, "2"},
        {KILN_FLOAT32, {KILN_ARG_COMPLEX, {.c = {1, 2}}}, "2"},
        {KILN_FLOAT32, {KILN_ARG_FLOAT, {.f = 1e39}}, "1e+39"},
        {KILN_FLOAT16, {KILN_ARG_FLOAT, {.f = 70001.5}}, "70001.5"},
        {KILN_COMPLEX64, {KILN_ARG_FLOAT, {.f = 1e39}}, "1e+39"},
    };
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = x + a", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_array *x = new_array(t, t->ctx, cases[c].dtype, 2, shape_34), *z = NULL;
        kiln_arg args[] = {kiln_arg_array(x), cases[c].scalar, kiln_arg_out(&z)};

        FAILS(t, KILN_ERR_RANGE, kiln_elementwise_run(op, args, 3, NULL, &t->err), "a",
              cases[c].value, kiln_dtype_name(cases[c].dtype));
        assert_null(z);
        kiln_array_release(x);
    }
    kiln_elementwise_destroy(op);
}

/* The same kinds of scalar at the edge of what fits. */
static void test_elementwise__scalars_that_just_fit(void **state)
{
    static const struct {
        kiln_dtype dtype;
        kiln_arg scalar;
        long double want;
    } cases[] = {
        {KILN_INT8, {KILN_ARG_INT, {.i = 127}}, 127},
        {KILN_INT8, {KILN_ARG_INT, {.i = -128}}, -128},
        {KILN_UINT8, {KILN_ARG_UINT, {.u = 255}}, 255},
        {KILN_INT32, {KILN_ARG_INT, {.i = INT32_MIN}}, INT32_MIN},
        {KILN_UINT32, {KILN_ARG_INT, {.i = UINT32_MAX}}, UINT32_MAX},
        {KILN_INT64, {KILN_ARG_INT, {.i = INT64_MAX}}, INT64_MAX},
        {KILN_INT64, {KILN_ARG_INT, {.i = INT64_MIN}}, INT64_MIN},
        {KILN_UINT64, {KILN_ARG_UINT, {.u = UINT64_MAX}}, UINT64_MAX},
        {KILN_FLOAT16, {KILN_ARG_FLOAT, {.f = 65504}}, 65504},
        {KILN_FLOAT32, {KILN_ARG_FLOAT, {.f = HUGE_VAL}}, HUGE_VALL},
        {KILN_FLOAT32, {KILN_ARG_INT, {.i = 16777217}}, 16777216},
        {KILN_FLOAT64, {KILN_ARG_UINT, {.u = UINT64_MAX}}, 18446744073709551616.0L},
        {KILN_BOOL, {KILN_ARG_BOOL, {.b = true}}, 1},
        {KILN_INT8, {KILN_ARG_BOOL, {.b = true}}, 1},
    };
    static const int64_t one[] = {1};
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    OK(t, kiln_elementwise_create(t->ctx, "T x, T a", "T z", "z = a", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(cases); c++) {
        host_array x, z;
        kiln_arg args[3];

        host_make(t, &x, cases[c].dtype, 1, one, NULL);
        host_make(t, &z, cases[c].dtype, 1, one, NULL);
        args[0] = kiln_arg_array(x.array);
        args[1] = cases[c].scalar;
        args[2] = kiln_arg_array(z.array);
        OK(t, kiln_elementwise_run(op, args, 3, NULL, &t->err));
        host_store(cases[c].dtype, host_at(&z, 0), host_real(cases[c].want));
        host_compare(t, &z, 0, kiln_dtype_name(cases[c].dtype));
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

/* ---- shapes and sizes ---- */

static void test_elementwise__shapes_that_do_not_broadcast(void **state)
{
    static const int64_t five[] = {5}, four[] = {4}, other[] = {2, 4};
    test_env *t = *state;
    bench b;
    kiln_array *a5 = new_array(t, t->ctx, KILN_FLOAT32, 1, five);
    kiln_array *a24 = new_array(t, t->ctx, KILN_FLOAT32, 2, other);
    kiln_array *a4 = new_array(t, t->ctx, KILN_FLOAT32, 1, four);
    kiln_array *fresh = NULL;

    bench_make(t, &b, "T x, T y", "T z");
    FAILS(t, KILN_ERR_SHAPE, kiln_call(b.op, &t->err, b.x.array, a5, &fresh), "(3, 4)", "(5,)", "x",
          "y");
    FAILS(t, KILN_ERR_SHAPE, kiln_call(b.op, &t->err, b.x.array, a24, &fresh), "(3, 4)", "(2, 4)");
    assert_null(fresh);
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(b.op, &t->err, b.x.array, b.y.array, a4), "z", "(4,)",
          "(3, 4)");
    bench_end(t, &b);
    kiln_array_release(a5);
    kiln_array_release(a24);
    kiln_array_release(a4);
}

static void test_elementwise__an_output_that_was_broadcast(void **state)
{
    static const int64_t four[] = {4};
    test_env *t = *state;
    bench b;
    kiln_array *row = new_array(t, t->ctx, KILN_FLOAT32, 1, four), *wide = NULL;

    bench_make(t, &b, "T x, T y", "T z");
    OK(t, kiln_array_broadcast_to(row, 2, shape_34, &wide, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(b.op, &t->err, b.x.array, b.y.array, wide), "z");
    bench_end(t, &b);
    kiln_array_release(wide);
    kiln_array_release(row);
}

static void test_elementwise__size_beside_arrays_and_no_size_without(void **state)
{
    test_env *t = *state;
    bench b;
    kiln_elementwise *raw = NULL;
    kiln_elementwise_call_options options = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *fresh = NULL;

    bench_make(t, &b, "T x, T y", "T z");
    options.has_size = true;
    options.size = 12;
    FAILS(t, KILN_ERR_SIZE,
          kiln_elementwise_run(b.op, KILN_ARGS(b.x.array, b.y.array, b.z.array), &options, &t->err),
          "12", "x");
    OK(t,
       kiln_elementwise_create(t->ctx, "raw T x", "raw T z", "z[i] = x[i]", NULL, &raw, &t->err));
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call(raw, &t->err, b.x.array, b.z.array), "size");
    options.size = -1;
    FAILS(t, KILN_ERR_SIZE,
          kiln_elementwise_run(raw, KILN_ARGS(b.x.array, b.z.array), &options, &t->err), "-1");
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call(b.op, &t->err, 1.0, 2.0, &fresh), "size");
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call(raw, &t->err, b.x.array, &fresh), "size");
    assert_null(fresh);
    options.size = 4;
    OK(t, kiln_elementwise_run(raw, KILN_ARGS(b.x.array, &fresh), &options, &t->err));
    assert_int_equal(kiln_array_rank(fresh), 1);
    assert_int_equal(kiln_array_size(fresh), 4);
    kiln_array_release(fresh);
    kiln_elementwise_destroy(raw);
    bench_end(t, &b);
}

/* ---- memory ---- */

static void test_elementwise__device_memory_at_its_limit(void **state)
{
    static const int64_t big[] = {4 << 20};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_pool_stats before, after;
    kiln_array *x, *z = NULL;

    x = new_array(t, t->ctx, KILN_FLOAT32, 1, big);
    kiln_context_pool_set_limit(t->ctx, 20 << 20);
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x", NULL, &op, &t->err));
    kiln_context_pool_stats(t->ctx, &before);
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_call(op, &t->err, x, &z), "16.00 MiB", "20.00 MiB");
    assert_null(z);
    kiln_context_pool_stats(t->ctx, &after);
    CHECK(after.used_bytes == before.used_bytes, "%zu then %zu bytes in use", before.used_bytes,
          after.used_bytes);
    kiln_context_pool_set_limit(t->ctx, 0);
    OK(t, kiln_call(op, &t->err, x, &z));
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
}

/* Two outputs, room for the first: it must be given back and no pointer be set. */
static void test_elementwise__half_of_the_outputs_is_given_back(void **state)
{
    static const int64_t big[] = {4 << 20};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_pool_stats stats;
    kiln_array *x, *p = NULL, *q = NULL;

    x = new_array(t, t->ctx, KILN_UINT8, 1, big);
    kiln_context_pool_set_limit(t->ctx, 40 << 20);
    OK(t, kiln_elementwise_create(t->ctx, "uint8 x", "uint8 p, float64 q", "p = x; q = x", NULL,
                                  &op, &t->err));
    FAILS(t, KILN_ERR_DEVICE_MEMORY, kiln_call(op, &t->err, x, &p, &q), "32.00 MiB",
          "in use 8.00 MiB"); /* x and p */
    CHECK(p == NULL && q == NULL, "a pointer was set");
    kiln_context_pool_stats(t->ctx, &stats);
    CHECK(stats.used_bytes == 4 << 20, "%zu bytes in use", stats.used_bytes);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

/* ---- fork ---- */

static void test_elementwise__a_forked_child_is_refused(void **state)
{
    test_env *t = *state;
    bench b;
    pid_t child;
    int status = 0;

    bench_make(t, &b, "T x, T y", "T z");
    OK(t, kiln_call(b.op, &t->err, b.x.array, b.y.array, b.z.array));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    child = fork();
    if (child == 0) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_array *fresh = NULL;
        kiln_status got = kiln_call(b.op, &err, b.x.array, b.y.array, &fresh);

        _exit(got == KILN_ERR_FORK && strstr(err.message, "fork") != NULL ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
    kiln_elementwise_destroy(b.op);
    host_free(&b.x);
    host_free(&b.y);
    host_free(&b.z);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__a_wrong_number_of_arguments),
        TEST(test_elementwise__null_arguments),
        TEST(test_elementwise__output_pointers_and_scalars_in_the_wrong_place),
        TEST(test_elementwise__a_released_array_is_recognised),
        TEST(test_elementwise__an_array_of_another_context),
        TEST(test_elementwise__an_array_of_another_device_names_both),
        TEST(test_elementwise__dtypes_that_disagree),
        TEST(test_elementwise__a_placeholder_that_nothing_decides),
        TEST(test_elementwise__scalars_that_do_not_fit),
        TEST(test_elementwise__scalars_that_just_fit),
        TEST(test_elementwise__shapes_that_do_not_broadcast),
        TEST(test_elementwise__an_output_that_was_broadcast),
        TEST(test_elementwise__size_beside_arrays_and_no_size_without),
        TEST(test_elementwise__device_memory_at_its_limit),
        TEST(test_elementwise__half_of_the_outputs_is_given_back),
        TEST(test_elementwise__a_forked_child_is_refused),
    };

    return test_env_main(argc, argv, "test_elementwise_bad_call", tests, COUNT(tests));
}
