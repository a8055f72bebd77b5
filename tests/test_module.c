/*
 * test_module.c - kernels that are written whole: sources, names, signatures, calls, variables.
 *
 * Expected values are computed by plain loops. What only a GPU has is skipped on the cpu device, which
 * must refuse it by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "module_env.h"

static const char source[] = LINES(
    template <class T, int N> __global__ void axpy(const T *x, T *y, int n, T a) {
        const int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;
        for (int k = 0; k < N; k++)
            if (i + k < n)
                y[i + k] += a * x[i + k];
    }
    __constant__ float table[4] = {1, 2, 3, 4};
    __device__ int counter = 7;
    extern "C" __global__ void scale(const float *x, float *y, int n, float a) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n)
            y[i] = a * x[i] + table[i % 4];
    }
    __global__ void plain(int *out) { out[blockIdx.x] = counter + blockIdx.x; }
    __global__ void over(float *p) { p[0] = 1; }
    __global__ void over(int *p) { p[0] = 2; }
    namespace ns {
    __device__ double deep[2] = {0.5, 1.5};
    __global__ void inner(double *out) { out[0] = deep[0] + deep[1]; }
    }
    extern "C" {
    __global__ void __launch_bounds__(128)
    grid(int *out) {
        const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        const int threads = blockDim.x * blockDim.y * blockDim.z;
        out[block * threads + thread] = 1000 * block + thread;
    }
    __global__ void mixed(signed char c, short s, double d, bool b, float f, unsigned long long u,
                          unsigned char h, double *out) {
        out[0] = c; out[1] = s; out[2] = d; out[3] = b; out[4] = f; out[5] = (double)u; out[6] = h;
    }
    __global__ void nothing() { counter = 99; }
    });

static const char *const names[] = {"axpy<float, 4>", "axpy<double, 1>", "(void (*)(int *))over",
                                    "ns::inner", "&ns::deep"};

static kiln_module *make(test_env *t)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_module *m = NULL;

    o.name = "sample";
    o.names = names;
    o.name_count = COUNT(names);
    OK(t, kiln_module_create(t->ctx, source, &o, &m, &t->err));
    assert_non_null(m);
    return m;
}

/* ---- launches ---- */

enum { N = 1000 };

static void test_module__runs_a_kernel_with_and_without_a_signature(void **state)
{
    static const char *const signatures[] = {
        "raw const float32 x, raw float32 y, int32 n, float32 a", NULL};
    test_env *t = *state;
    kiln_module *m = make(t);
    const kiln_raw_call_options o = threads((N + 127) / 128, 128);
    float x[N], y[N];

    for (int i = 0; i < N; i++)
        x[i] = (float)i * 0.25f;
    for (size_t s = 0; s < COUNT(signatures); s++) {
        kiln_raw *k = kernel(t, m, "scale", signatures[s]);
        kiln_array *ax = upload(t, KILN_FLOAT32, N, x), *ay = NULL;
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 1, &(int64_t){N}, &ay, &t->err));
        OK(t, kiln_raw_run(k, KILN_ARGS(ax, ay, N, 2.5f), &o, &t->err));
        download(t, ay, y, sizeof y);
        for (int i = 0; i < N; i++)
            assert_float_equal(y[i], 2.5f * x[i] + (float)(1 + i % 4), 0);
        kiln_array_release(ax);
        kiln_array_release(ay);
        kiln_raw_destroy(k);
    }
    kiln_module_destroy(m);
}

static void test_module__finds_instances_overloads_and_namespaces_by_name(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    const int64_t n = 10;
    float x[10], y[10];
    double d[2];
    int v[3];

    for (int i = 0; i < 10; i++) {
        x[i] = (float)i;
        y[i] = 100;
    }
    /* Blanks do not matter. */
    kiln_raw *k = kernel(t, m, "axpy<float,4>", "raw const float32 x, raw float32 y, int32 n, float32 a");
    kiln_array *ax = upload(t, KILN_FLOAT32, n, x), *ay = upload(t, KILN_FLOAT32, n, y);
    kiln_raw_call_options o = threads(1, 3);
    OK(t, kiln_raw_run(k, KILN_ARGS(ax, ay, 9, 2), &o, &t->err));
    download(t, ay, y, sizeof y);
    for (int i = 0; i < 10; i++)
        assert_float_equal(y[i], i < 9 ? 100 + 2 * x[i] : 100, 0);
    kiln_raw_destroy(k);

    int zeros[3] = {0};
    kiln_array *ints = upload(t, KILN_INT32, 3, zeros);
    k = kernel(t, m, "(void(*)(int*))over", NULL);
    o = threads(1, 1);
    OK(t, kiln_raw_run(k, KILN_ARGS(ints), &o, &t->err));
    kiln_raw_destroy(k);
    download(t, ints, v, sizeof v);
    assert_int_equal(v[0], 2);
    k = kernel(t, m, "plain", "raw int32 out"); /* without extern "C" and without being named */
    o = threads(3, 1);
    OK(t, kiln_raw_run(k, KILN_ARGS(ints), &o, &t->err));
    kiln_raw_destroy(k);
    download(t, ints, v, sizeof v);
    assert_int_equal(v[0], 7);
    assert_int_equal(v[2], 9);

    kiln_array *doubles = upload(t, KILN_FLOAT64, 2, (double[]){0, 0});
    k = kernel(t, m, "ns::inner", "raw float64 out");
    o = threads(1, 1);
    OK(t, kiln_raw_run(k, KILN_ARGS(doubles), &o, &t->err));
    download(t, doubles, d, sizeof d);
    assert_float_equal(d[0], 2.0, 0);
    kiln_raw_destroy(k);
    kiln_array_release(ax);
    kiln_array_release(ay);
    kiln_array_release(ints);
    kiln_array_release(doubles);
    kiln_module_destroy(m);
}

static void test_module__runs_three_dimensions(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "grid", "raw int32 out");
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;
    enum { BLOCKS = 2 * 3 * 4, THREADS = 5 * 2 * 3, ALL = BLOCKS * THREADS };
    int64_t count = ALL;
    kiln_array *out = NULL;
    int got[ALL];

    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, &count, &out, &t->err));
    memcpy(o.grid, (int64_t[]){2, 3, 4}, sizeof o.grid);
    memcpy(o.block, (int64_t[]){5, 2, 3}, sizeof o.block);
    OK(t, kiln_raw_run(k, KILN_ARGS(out), &o, &t->err));
    download(t, out, got, sizeof got);
    for (int b = 0; b < BLOCKS; b++)
        for (int th = 0; th < THREADS; th++)
            assert_int_equal(got[b * THREADS + th], 1000 * b + th);
    kiln_array_release(out);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

static void test_module__passes_numbers_of_every_size(void **state)
{
    static const char *const signatures[] = {
        "int8 c, int16 s, float64 d, bool b, float32 f, uint64 u, uint8 h, raw float64 out", NULL};
    test_env *t = *state;
    kiln_module *m = make(t);
    const kiln_raw_call_options o = threads(1, 1);
    double got[7];

    for (size_t s = 0; s < COUNT(signatures); s++) {
        kiln_raw *k = kernel(t, m, "mixed", signatures[s]);
        kiln_array *out = upload(t, KILN_FLOAT64, 7, (double[7]){0});
        OK(t, kiln_raw_run(k, KILN_ARGS(-5, -300, 1.25, true, 0.5f, 1ull << 40, 200u, out), &o,
                           &t->err));
        download(t, out, got, sizeof got);
        const double want[] = {-5, -300, 1.25, 1, 0.5, 1099511627776.0, 200};
        for (int i = 0; i < 7; i++)
            assert_float_equal(got[i], want[i], 0);
        FAILS(t, KILN_ERR_RANGE,
              kiln_raw_run(k, KILN_ARGS(300, 1, 1.0, true, 1.0f, 1ull, 1u, out), &o, &t->err),
              "argument 1", "300");
        kiln_array_release(out);
        kiln_raw_destroy(k);
    }
    kiln_module_destroy(m);
}

static void test_module__an_empty_grid_launches_nothing(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "nothing", "");
    kiln_array *counter = NULL;
    kiln_raw_call_options o = threads(0, 32);
    int got = 0;

    OK(t, kiln_module_symbol(m, "counter", KILN_INT32, &counter, &t->err));
    OK(t, kiln_raw_run(k, NULL, 0, &o, &t->err));
    download(t, counter, &got, sizeof got);
    assert_int_equal(got, 7);
    o.fill = true;
    OK(t, kiln_raw_run(k, NULL, 0, &o, &t->err));
    download(t, counter, &got, sizeof got);
    assert_int_equal(got, 99);
    kiln_array_release(counter);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

static void test_module__a_prepared_launch_keeps_what_it_needs(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "axpy<float, 4>", "raw const float32 x, raw float32 y, int32 n, float32 a");
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    kiln_array *x = upload(t, KILN_FLOAT32, 8, ones), *y = upload(t, KILN_FLOAT32, 8, ones);
    kiln_raw_call_options o = threads(1, 2);
    kiln_launch *launch = NULL, *none = NULL;
    kiln_stream *stream = NULL;
    float got[8];

    OK(t, kiln_raw_prepare(k, KILN_ARGS(x, y, 8, 0.5f), &o, &launch, &t->err));
    o.grid[0] = 0;
    OK(t, kiln_raw_prepare(k, KILN_ARGS(x, y, 8, 0.5f), &o, &none, &t->err));
    OK(t, kiln_launch_run(none, NULL, &t->err)); /* nothing */
    kiln_launch_destroy(none);
    o.block[0] = 0;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_prepare(k, KILN_ARGS(x, y, 8, 0.5f), &o, &none, &t->err),
          "block[0]");
    assert_null(none);
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_launch_run(launch, NULL, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    OK(t, kiln_launch_run(launch, stream, &t->err));
    OK(t, kiln_stream_synchronize(stream, &t->err));
    download(t, y, got, sizeof got);
    for (int i = 0; i < 8; i++)
        assert_float_equal(got[i], 2, 0);
    kiln_launch_destroy(launch);
    FAILS(t, KILN_ERR_RELEASED, kiln_launch_run(launch, NULL, &t->err), "prepared launch");
    kiln_array_release(y);
    kiln_stream_destroy(stream);
}

/* ---- variables ---- */

static void test_module__variables_are_arrays_of_one_module(void **state)
{
    test_env *t = *state;
    kiln_module *one = make(t), *two = make(t);
    kiln_array *table = NULL, *other = NULL, *deep = NULL, *bytes = NULL;
    const float fresh[4] = {10, 20, 30, 40};
    float got[4];
    double d[2];

    OK(t, kiln_module_symbol(one, "table", KILN_FLOAT32, &table, &t->err));
    OK(t, kiln_module_symbol(two, "table", KILN_FLOAT32, &other, &t->err));
    OK(t, kiln_module_symbol(one, "ns::deep", KILN_FLOAT64, &deep, &t->err));
    OK(t, kiln_module_symbol(one, "counter", KILN_UINT8, &bytes, &t->err));
    assert_int_equal(kiln_array_size(table), 4);
    assert_int_equal(kiln_array_size(bytes), 4);
    kiln_array *from = upload(t, KILN_FLOAT32, 4, fresh);
    OK(t, kiln_array_assign(table, from, &t->err));
    download(t, table, got, sizeof got);
    assert_memory_equal(got, fresh, sizeof got);
    download(t, other, got, sizeof got);
    assert_float_equal(got[0], 1, 0);
    download(t, deep, d, sizeof d);
    assert_float_equal(d[1], 1.5, 0);

    kiln_raw *k = kernel(t, one, "scale", NULL);
    kiln_module_destroy(one); /* the kernel and the symbols keep it loaded */
    kiln_raw_call_options o = threads(1, 4);
    kiln_array *x = upload(t, KILN_FLOAT32, 4, (float[4]){0}), *y = NULL;
    OK(t, kiln_array_zeros_like(x, KILN_DTYPE_NONE, &y, &t->err));
    OK(t, kiln_raw_run(k, KILN_ARGS(x, y, 4, 1.0f), &o, &t->err));
    download(t, y, got, sizeof got);
    assert_memory_equal(got, fresh, sizeof got);
    kiln_raw_destroy(k);
    download(t, table, got, sizeof got);
    assert_memory_equal(got, fresh, sizeof got);

    kiln_array *none = NULL;
    FAILS(t, KILN_ERR_NAME, kiln_module_symbol(two, "tabel", KILN_FLOAT32, &none, &t->err), "sample",
          "tabel");
    FAILS(t, KILN_ERR_DTYPE, kiln_module_symbol(two, "counter", KILN_FLOAT64, &none, &t->err),
          "4 bytes", "float64");
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(from);
    kiln_array_release(table);
    kiln_array_release(other);
    kiln_array_release(deep);
    kiln_array_release(bytes);
    kiln_module_destroy(two);
}

/* A variable of four elements for each dtype: what is assigned to it is what a kernel finds in it. */
static void test_module__constants_of_every_dtype(void **state)
{
    enum { ELEMENTS = 4, BYTES_MAX = ELEMENTS * 16 };
    static const char *const types[KILN_DTYPE_COUNT] = {[KILN_BOOL] = "bool",
                                                        [KILN_INT8] = "signed char",
                                                        [KILN_INT16] = "short",
                                                        [KILN_INT32] = "int",
                                                        [KILN_INT64] = "long long",
                                                        [KILN_UINT8] = "unsigned char",
                                                        [KILN_UINT16] = "unsigned short",
                                                        [KILN_UINT32] = "unsigned",
                                                        [KILN_UINT64] = "unsigned long long",
                                                        [KILN_FLOAT16] = "unsigned short",
                                                        [KILN_BFLOAT16] = "unsigned short",
                                                        [KILN_FLOAT32] = "float",
                                                        [KILN_FLOAT64] = "double",
                                                        [KILN_FLOAT8_E4M3FN] = "unsigned char", [KILN_FLOAT8_E5M2] = "unsigned char",
        [KILN_COMPLEX64] = "pair<float>",
                                                        [KILN_COMPLEX128] = "pair<double>"};
    test_env *t = *state;
    char text[8192], name[16];
    unsigned char given[KILN_DTYPE_COUNT][BYTES_MAX], got[KILN_DTYPE_COUNT * BYTES_MAX];
    kiln_module *m = NULL;
    kiln_array *all = NULL;
    int at = snprintf(text, sizeof text, "template <class T> struct pair { T re, im; };\n");

    for (int d = 1; d < KILN_DTYPE_COUNT; d++)
        at +=
            snprintf(text + at, sizeof text - (size_t)at, "__constant__ %s v%d[4];\n", types[d], d);
    at += snprintf(text + at, sizeof text - (size_t)at,
                   "extern \"C\" __global__ void dump(unsigned char *out) {\n");
    for (int d = 1; d < KILN_DTYPE_COUNT; d++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "  for (int i = 0; i < (int)sizeof v%d; i++)"
                       " out[%d + i] = ((const unsigned char *)v%d)[i];\n",
                       d, d * BYTES_MAX, d);
    snprintf(text + at, sizeof text - (size_t)at, "}\n");
    OK(t, kiln_module_create(t->ctx, text, NULL, &m, &t->err));
    for (int d = 1; d < KILN_DTYPE_COUNT; d++) {
        kiln_array *variable = NULL, *values = NULL;
        for (int b = 0; b < BYTES_MAX; b++)
            given[d][b] = (unsigned char)test_random_below(t, d == KILN_BOOL ? 2 : 256);
        snprintf(name, sizeof name, "v%d", d);
        OK(t, kiln_module_symbol(m, name, (kiln_dtype)d, &variable, &t->err));
        assert_int_equal(kiln_array_size(variable), ELEMENTS);
        values = upload(t, (kiln_dtype)d, ELEMENTS, given[d]);
        OK(t, kiln_array_assign(variable, values, &t->err));
        kiln_array_release(values);
        kiln_array_release(variable);
    }
    kiln_raw *const k = kernel(t, m, "dump", NULL);
    const kiln_raw_call_options o = threads(1, 1);
    OK(t, kiln_array_zeros(t->ctx, KILN_UINT8, 1, (int64_t[]){sizeof got}, &all, &t->err));
    OK(t, kiln_raw_run(k, KILN_ARGS(all), &o, &t->err));
    download(t, all, got, sizeof got);
    for (int d = 1; d < KILN_DTYPE_COUNT; d++)
        CHECK(memcmp(got + d * BYTES_MAX, given[d], ELEMENTS * kiln_dtype_size((kiln_dtype)d)) == 0,
              "%s", kiln_dtype_name((kiln_dtype)d));
    kiln_array_release(all);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

/* ---- wrong calls ---- */

static void test_module__wrong_signatures_are_told_with_the_place(void **state)
{
    static const struct {
        const char *kernel, *signature;
        kiln_status status;
        const char *text;
    } cases[] = {
        {"scale", "raw float32 x, raw float32 y, int32 n", KILN_ERR_ARGUMENT_COUNT, "has 4"},
        {"scale", "raw float32 x, raw float32 y, int64 n, float32 a", KILN_ERR_DTYPE, "`n`"},
        {"scale", "raw float32 x, raw float32 y, int32 n, float64 a", KILN_ERR_DTYPE, "`a`"},
        {"scale", "float32 x, raw float32 y, int32 n, float32 a", KILN_ERR_DTYPE, "`x`"},
        {"scale", "raw float32 x, raw float32 y, raw int32 n, float32 a", KILN_ERR_DTYPE, "`n`"},
        {"scale", "raw float32 x, raw T y, T n, float32 a", KILN_ERR_UNBOUND, "`n`"},
        {"scale", "raw float32 x, raw flaot y, int32 n, float32 a", KILN_ERR_UNKNOWN_TYPE, "flaot"},
        {"scale", "raw float32 x raw float32 y", KILN_ERR_SYNTAX, "signature"},
        {"scael", NULL, KILN_ERR_NAME, "scael"},
        {"axpy<int, 4>", NULL, KILN_ERR_NAME, "kiln_module_options.names"},
    };
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = NULL;

    for (size_t c = 0; c < COUNT(cases); c++) {
        FAILS(t, cases[c].status,
              kiln_module_kernel(m, cases[c].kernel, cases[c].signature, &k, &t->err), cases[c].text);
        assert_null(k);
    }
    kiln_module_destroy(m);
}

static void test_module__wrong_arguments_are_told_by_name(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "scale", "raw const T x, raw T y, int32 n, float32 a");
    kiln_raw *untyped = kernel(t, m, "scale", NULL);
    kiln_raw_call_options o = threads(1, 32);
    kiln_context *foreign = test_env_context(t, "");
    kiln_array *x = upload(t, KILN_FLOAT32, 4, (float[4]){0}), *none = NULL, *far = NULL;
    kiln_array *d = upload(t, KILN_FLOAT64, 4, (double[4]){0}), *fixed = NULL;

    OK(t, kiln_array_zeros(foreign, KILN_FLOAT32, 1, &(int64_t){4}, &far, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_raw_run(k, KILN_ARGS(x, x, 4), &o, &t->err), "takes 4",
          "3 were given", "raw const T x");
    FAILS(t, KILN_ERR_DTYPE, kiln_raw_run(k, KILN_ARGS(x, d, 4, 1.0f), &o, &t->err), "`y`",
          "float64");
    FAILS(t, KILN_ERR_DTYPE, kiln_raw_run(k, KILN_ARGS(x, 5, 4, 1.0f), &o, &t->err), "`y`",
          "takes an array");
    FAILS(t, KILN_ERR_DTYPE, kiln_raw_run(k, KILN_ARGS(x, x, x, 1.0f), &o, &t->err), "`n`",
          "takes a number");
    FAILS(t, KILN_ERR_RANGE, kiln_raw_run(k, KILN_ARGS(x, x, 1ll << 33, 1.0f), &o, &t->err), "`n`");
    FAILS(t, KILN_ERR_RANGE, kiln_raw_run(k, KILN_ARGS(x, x, 1.5, 1.0f), &o, &t->err), "`n`");
    FAILS(t, KILN_ERR_CONTEXT, kiln_raw_run(k, KILN_ARGS(x, far, 4, 1.0f), &o, &t->err), "`y`");
    FAILS(t, KILN_ERR_NULL, kiln_raw_run(k, KILN_ARGS(x, &none, 4, 1.0f), &o, &t->err), "`y`",
          "allocates no outputs");
    FAILS(t, KILN_ERR_NULL, kiln_raw_run(k, KILN_ARGS(x, none, 4, 1.0f), &o, &t->err), "`y`");
    FAILS(t, KILN_ERR_NULL, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), NULL, &t->err), "opts");
    FAILS(t, KILN_ERR_DTYPE, kiln_raw_run(untyped, KILN_ARGS(x, x, x, 1.0f), &o, &t->err),
          "argument 3");
    FAILS(t, KILN_ERR_RANGE, kiln_raw_run(untyped, KILN_ARGS(x, x, 1ll << 33, 1.0f), &o, &t->err),
          "argument 3");
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_raw_run(untyped, KILN_ARGS(x), &o, &t->err), "takes 4");
    o = threads(1, 4);
    fixed = upload(t, KILN_FLOAT32, 4, (float[4]){0});
    kiln__array_make_read_only(fixed);
    FAILS(t, KILN_ERR_OUTPUT, kiln_raw_run(k, KILN_ARGS(x, fixed, 4, 1.0f), &o, &t->err), "`y`",
          "read-only");
    OK(t, kiln_raw_run(k, KILN_ARGS(fixed, x, 4, 1.0f), &o, &t->err));
    kiln_array_release(fixed);
    kiln_array_release(x);
    kiln_array_release(d);
    kiln_array_release(far);
    kiln_context_release(foreign);
    kiln_raw_destroy(k);
    kiln_raw_destroy(untyped);
    kiln_module_destroy(m);
}

static void test_module__wrong_launches_are_told_with_the_limit(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "scale", "raw const T x, raw T y, int32 n, float32 a");
    kiln_array *x = upload(t, KILN_FLOAT32, 4, (float[4]){0});
    kiln_raw_call_options o = threads(1, 0);

    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "block[0]");
    o.block[0] = 2048;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "2048");
    o.block[0] = 64;
    o.block[1] = 64;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "4096");
    o = threads(1, 32);
    o.grid[1] = 70000;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "grid",
          "70000");
    o = threads(1, 32);
    o.shared_bytes = -1;
    FAILS(t, t->cuda ? KILN_ERR_ARGUMENT : KILN_ERR_UNSUPPORTED,
          kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "shared memory");
    o.shared_bytes = (int64_t)1 << 40;
    FAILS(t, t->cuda ? KILN_ERR_ARGUMENT : KILN_ERR_UNSUPPORTED,
          kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err), "shared memory");
    if (!t->cuda) {
        o = threads(1, 32);
        o.cluster[0] = 2;
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err),
              "cpu has no clusters");
        o = threads(1, 32);
        o.cooperative = true;
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0f), &o, &t->err),
              "cooperative");
    }
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

/* ---- sources that are refused, the cache ---- */

static void test_module__a_compilers_refusal_shows_the_line(void **state)
{
    test_env *t = *state;
    kiln_module *m = NULL;

    FAILS(t, KILN_ERR_COMPILE,
          kiln_module_create(t->ctx, "\nextern \"C\" __global__ void f(float *x) {\n    x[0] = q;\n}\n",
                             NULL, &m, &t->err),
          "module \"module\": source, line 3, column 12", "    x[0] = q;\n           ^");
    assert_null(m);
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    o.compiler_options = (const char *const[]){"--wrapper=sh"};
    o.compiler_option_count = 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_module_create(t->ctx, "", &o, &m, &t->err), "--wrapper");
    o.compiler_options = (const char *const[]){"-DQ=2"};
    OK(t, kiln_module_create(t->ctx, "extern \"C\" __global__ void f(float *x) { x[0] = Q; }", &o, &m,
                             &t->err));
    kiln_module_destroy(m);
    o = (kiln_module_options)KILN_MODULE_OPTIONS_INIT;
    o.names = (const char *const[]){"f\n"};
    o.name_count = 1;
    FAILS(t, KILN_ERR_NAME, kiln_module_create(t->ctx, "", &o, &m, &t->err), "control character");
    o.names = (const char *const[]){"missing<int>"};
    FAILS(t, KILN_ERR_COMPILE, kiln_module_create(t->ctx, "", &o, &m, &t->err), "missing");
    FAILS(t, KILN_ERR_NULL, kiln_module_create(t->ctx, NULL, NULL, &m, &t->err), "NULL");
    FAILS(t, KILN_ERR_NULL, kiln_module_create(NULL, "", NULL, &m, &t->err), "ctx");
}

static void test_module__the_cpu_refuses_what_threads_do_together(void **state)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"__global__ void f(float *x) { __shared__ float s[4]; x[0] = s[0]; }", "__shared__"},
        {"__global__ void f(float *x) { __syncthreads(); }", "__syncthreads"},
        {"__global__ void f(float *x) { x[0] = __shfl_sync(~0u, x[0], 0); }", "__shfl_sync"},
    };
    test_env *t = *state;
    kiln_module *m = NULL;

    for (size_t c = 0; c < COUNT(cases); c++) {
        if (t->cuda) {
            OK(t, kiln_module_create(t->ctx, cases[c].text, NULL, &m, &t->err));
            kiln_module_destroy(m);
        } else {
            FAILS(t, KILN_ERR_UNSUPPORTED,
                  kiln_module_create(t->ctx, cases[c].text, NULL, &m, &t->err), cases[c].word);
        }
    }
    if (!t->cuda)
        FAILS(t, KILN_ERR_UNSUPPORTED,
              kiln_module_create_from_image(t->ctx, ".version 7.0", 12, NULL, &m, &t->err), "cpu");
}

static void test_module__a_second_process_would_compile_nothing(void **state)
{
    test_env *t = *state;
    char folder[256];
    kiln_module *m = NULL;
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_cache_counters counters;

    test_env_fresh_dir(t, folder, sizeof folder);
    o.names = names;
    o.name_count = COUNT(names);
    for (int round = 0; round < 2; round++) {
        kiln_context *ctx = test_env_context(t, folder);
        OK(t, kiln_module_create(ctx, source, &o, &m, &t->err));
        kiln_module_destroy(m);
        OK(t, kiln_module_create(ctx, source, &o, &m, &t->err)); /* from memory */
        kiln_raw *k = kernel(t, m, "axpy<double, 1>", NULL);
        kiln_raw_destroy(k);
        kiln_module_destroy(m);
        kiln_context_cache_counters(ctx, &counters);
        assert_int_equal(counters.compiles, round == 0 ? 1 : 0);
        kiln_context_release(ctx);
    }
}

/* Each allocation of making, finding and launching fails once: ERR_NO_MEMORY, and nothing is lost. */
static void test_module__survives_each_allocation_failure(void **state)
{
    enum { SWEEP_MAX = 5000 };
    test_env *t = *state;
    kiln_module *warm = make(t);
    kiln_array *x = upload(t, KILN_FLOAT32, 4, (float[4]){0});
    const kiln_raw_call_options o = threads(1, 4);
    bool came = true;
    size_t nth;

    for (nth = 0; came && nth < SWEEP_MAX; nth++) {
        kiln_module_options mo = KILN_MODULE_OPTIONS_INIT;
        kiln_module *m = NULL;
        kiln_raw *k = NULL;
        kiln_array *table = NULL;
        const size_t live = kiln__test_alloc_live();

        mo.name = "sample";
        mo.names = names;
        mo.name_count = COUNT(names);
        kiln__test_alloc_fail_at(nth);
        kiln_status status = kiln_module_create(t->ctx, source, &mo, &m, NULL);
        assert_true((status == KILN_OK) == (m != NULL));
        if (status == KILN_OK)
            status = kiln_module_kernel(m, "axpy<float, 4>", "raw T x, raw T y, int32 n, float32 a", &k,
                                        NULL);
        if (status == KILN_OK)
            status = kiln_module_symbol(m, "table", KILN_FLOAT32, &table, NULL);
        if (status == KILN_OK)
            status = kiln_raw_run(k, KILN_ARGS(x, x, 4, 1.0), &o, NULL);
        came = false;
        for (size_t a = 0; a <= nth && !came; a++) {
            void *p = kiln__alloc(1);
            came = p == NULL;
            kiln__free(p);
        }
        came = !came;
        kiln__test_alloc_fail_at(SIZE_MAX);
        if (status != KILN_OK && status != KILN_ERR_NO_MEMORY)
            fail_msg("allocation %zu: %s", nth, kiln_status_name(status));
        kiln_array_release(table);
        kiln_raw_destroy(k);
        kiln_module_destroy(m);
        assert_int_equal(kiln__test_alloc_live(), live);
    }
    assert_in_range(nth, 20, SWEEP_MAX - 1);
    kiln_array_release(x);
    kiln_module_destroy(warm);
}

/* ---- files, options ---- */

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static void test_module__a_file_of_source_finds_what_lies_beside_it(void **state)
{
    static const char header[] = "#define BESIDE 41\n";
    static const char text[] = "#include \"beside.h\"\n__global__ void f(int *x) { x[0] = BESIDE; }\n";
    static const char wrong[] = "__global__ void f(int *x) { x[0] = ; }\n";
    test_env *t = *state;
    char folder[256], path[300], other[300];
    kiln_module *m = NULL;
    int got = 0;

    test_env_fresh_dir(t, folder, sizeof folder);
    snprintf(path, sizeof path, "%s/text.cu", folder);
    snprintf(other, sizeof other, "%s/beside.h", folder);
    write_file(path, text, strlen(text));
    write_file(other, header, strlen(header));
    OK(t, kiln_module_create_from_file(t->ctx, path, NULL, &m, &t->err));
    kiln_raw *k = kernel(t, m, "f", "raw int32 x");
    kiln_array *x = upload(t, KILN_INT32, 1, &got);
    const kiln_raw_call_options o = threads(1, 1);
    OK(t, kiln_raw_run(k, KILN_ARGS(x), &o, &t->err));
    download(t, x, &got, sizeof got);
    assert_int_equal(got, 41);
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    write_file(path, wrong, strlen(wrong));
    FAILS(t, KILN_ERR_COMPILE, kiln_module_create_from_file(t->ctx, path, NULL, &m, &t->err),
          "module \"text.cu\"", "line 1");
    write_file(path, "\177ELF and no more", 16);
    FAILS(t, KILN_ERR_COMPILE, kiln_module_create_from_file(t->ctx, path, NULL, &m, &t->err),
          "text.cu");
    write_file(path, "\177ELF\0\0\0", 7);
    FAILS(t, KILN_ERR_FORMAT, kiln_module_create_from_file(t->ctx, path, NULL, &m, &t->err),
          "text.cu", "no cubin");
    snprintf(path, sizeof path, "%s/missing.cu", folder);
    FAILS(t, KILN_ERR_IO, kiln_module_create_from_file(t->ctx, path, NULL, &m, &t->err), "missing.cu");
}

static void test_module__options_may_be_shorter_and_not_be_unknown(void **state)
{
    test_env *t = *state;
    kiln_module *m = NULL;
    kiln_raw_call_options o, newer[2];
    kiln_module_options mo;
    int64_t blocks = 0;

    kiln_module_options_init(&mo, sizeof mo);
    assert_int_equal(mo.struct_size, sizeof mo);
    assert_null(mo.names);
    mo.struct_size = offsetof(kiln_module_options, names); /* an older program's */
    mo.name_count = 1000;
    OK(t, kiln_module_create(t->ctx, "__global__ void f() {}", &mo, &m, &t->err));
    mo.struct_size = 3;
    kiln_module *none = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_module_create(t->ctx, "", &mo, &none, &t->err),
          "kiln_module_options");
    kiln_raw *k = kernel(t, m, "f", "");
    kiln_raw_call_options_init(&o, sizeof o);
    o.block[0] = 64;
    OK(t, kiln_raw_occupancy(k, &o, &blocks, &t->err));
    assert_true(blocks >= kiln_context_device(t->ctx)->unit_count);
    memset(newer, 0, sizeof newer);
    newer[0] = o;
    newer[0].struct_size = sizeof newer;
    OK(t, kiln_raw_run(k, NULL, 0, newer, &t->err));
    newer[1].cooperative = true; /* a byte that this version knows nothing of */
    FAILS(t, KILN_ERR_ARGUMENT, kiln_raw_run(k, NULL, 0, newer, &t->err), "kiln_raw_call_options");
    kiln_raw_attributes a;
    OK(t, kiln_raw_get_attributes(k, &a, &t->err));
    assert_true(a.max_threads >= 64 && (!t->cuda || a.binary_version >= 75));
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
}

static void test_module__uses_after_the_end_are_refused(void **state)
{
    test_env *t = *state;
    kiln_module *m = make(t);
    kiln_raw *k = kernel(t, m, "nothing", ""), *other = NULL;
    kiln_array *a = NULL;
    const kiln_raw_call_options o = threads(1, 1);

    kiln_raw_destroy(k);
    kiln_raw_destroy(k);
    FAILS(t, KILN_ERR_RELEASED, kiln_raw_run(k, NULL, 0, &o, &t->err), "destroyed");
    kiln_module_destroy(m);
    kiln_module_destroy(m);
    FAILS(t, KILN_ERR_RELEASED, kiln_module_kernel(m, "nothing", NULL, &other, &t->err), "module");
    FAILS(t, KILN_ERR_RELEASED, kiln_module_symbol(m, "counter", KILN_INT32, &a, &t->err), "module");
    kiln_raw_destroy(NULL);
    kiln_module_destroy(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_module__runs_a_kernel_with_and_without_a_signature),
        TEST(test_module__finds_instances_overloads_and_namespaces_by_name),
        TEST(test_module__runs_three_dimensions),
        TEST(test_module__passes_numbers_of_every_size),
        TEST(test_module__an_empty_grid_launches_nothing),
        TEST(test_module__a_prepared_launch_keeps_what_it_needs),
        TEST(test_module__variables_are_arrays_of_one_module),
        TEST(test_module__constants_of_every_dtype),
        TEST(test_module__wrong_signatures_are_told_with_the_place),
        TEST(test_module__wrong_arguments_are_told_by_name),
        TEST(test_module__wrong_launches_are_told_with_the_limit),
        TEST(test_module__a_compilers_refusal_shows_the_line),
        TEST(test_module__the_cpu_refuses_what_threads_do_together),
        TEST(test_module__a_second_process_would_compile_nothing),
        TEST(test_module__survives_each_allocation_failure),
        TEST(test_module__a_file_of_source_finds_what_lies_beside_it),
        TEST(test_module__options_may_be_shorter_and_not_be_unknown),
        TEST(test_module__uses_after_the_end_are_refused),
    };
    return test_env_main(argc, argv, "test_module", tests, COUNT(tests));
}
