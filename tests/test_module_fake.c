/*
 * test_module_fake.c - modules on a GPU that is none (fake_cuda.c), with NVRTC as it is: which symbol is
 * looked for, what a launch is given, what is refused before the driver is asked.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"
#include "in_child.h"
#include "kiln/kiln.h"
#include "load_fake_cuda.h"

#define EXIT_SKIP 77
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static fake_cuda *cuda;
static char folder[] = "/tmp/kiln_test_module_XXXXXX";

static const char source[] =
    "template <class T, int N> __global__ void axpy(const T *x, T *y, int n, T a) {\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] += a * x[i] * N;\n"
    "}\n"
    "__global__ void plain(int *out) { out[0] = 1; }\n"
    "__global__ void over(int *out) { out[0] = 1; }\n"
    "__global__ void over(float *out) { out[0] = 1; }\n"
    "namespace ns { __constant__ float deep[4]; }\n";
static const char *const names[] = {"axpy<float, 4>", "&ns::deep"};
static const char axpy_symbol[] = "_Z4axpyIfLi4EEvPKT_PS0_iS0_";
static const char *const kernels[] = {axpy_symbol, "_Z5plainPi", "_Z4overPi", "_Z4overPf", NULL};

static void must(kiln_status status, const kiln_error *err, int line)
{
    if (status != KILN_OK)
        fail_msg("line %d: %s\n%s", line, err->message, err->detail != NULL ? err->detail : "");
}
#define OK(call) must((call), &err, __LINE__)

static void refused(kiln_status got, kiln_status want, const kiln_error *err, const char *text,
                    int line)
{
    if (got != want || strstr(err->message, text) == NULL)
        fail_msg("line %d: %s, and not \"%s\"", line, err->message, text);
}
#define FAILS(status, text, call) refused((call), (status), &err, (text), __LINE__)

static kiln_context *open_context(const char *cache)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context *ctx = NULL;

    o.device = "cuda:0";
    o.cache_dir = cache;
    OK(kiln_context_create(&o, &ctx, &err));
    return ctx;
}

/* The parameters that the driver tells of: those of axpy. */
static void tell_axpy(void)
{
    cuda->param_count = 4;
    memcpy(cuda->param_offset, (size_t[]){0, 8, 16, 20}, 4 * sizeof(size_t));
    memcpy(cuda->param_bytes, (size_t[]){8, 8, 4, 4}, 4 * sizeof(size_t));
}

static kiln_module *make(kiln_context *ctx)
{
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = NULL;

    o.name = "sample";
    o.names = names;
    o.name_count = COUNT(names);
    OK(kiln_module_create(ctx, source, &o, &m, &err));
    return m;
}

static kiln_raw *axpy_of(kiln_module *m)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_raw *k = NULL;

    tell_axpy();
    OK(kiln_module_kernel(m, "axpy<float,4>",
                          "raw const float32 x, raw float32 y, int32 n, float32 a", &k, &err));
    return k;
}

static kiln_array *zeros(kiln_context *ctx)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_array *a = NULL;

    OK(kiln_array_empty(ctx, KILN_FLOAT32, 1, (int64_t[]){64}, &a, &err));
    return a;
}

static kiln_raw_call_options threads(int64_t blocks, int64_t block)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;

    o.grid[0] = blocks;
    o.block[0] = block;
    return o;
}

/* ---- names ---- */

static void test_module_fake__names_lead_to_symbols_from_the_cache_too(void **state)
{
    (void)state;
    kiln_cache_counters counters;
    char own[64];

    snprintf(own, sizeof own, "%s/own", folder);
    for (int round = 0; round < 2; round++) {
        kiln_context *ctx = open_context(own);
        kiln_error err = KILN_ERROR_INIT;
        kiln_module *m = make(ctx);
        kiln_raw *k = axpy_of(m);
        kiln_array *deep = NULL;

        assert_string_equal(cuda->function, axpy_symbol);
        kiln_raw_destroy(k);
        cuda->symbol = "_ZN2ns4deepE";
        cuda->symbol_bytes = 16;
        OK(kiln_module_symbol(m, "ns::deep", KILN_FLOAT32, &deep, &err));
        assert_int_equal(kiln_array_size(deep), 4);
        kiln_array_release(deep);
        FAILS(KILN_ERR_NAME, "deeper", kiln_module_symbol(m, "deeper", KILN_FLOAT32, &deep, &err));
        kiln_context_cache_counters(ctx, &counters);
        assert_int_equal(counters.compiles, round == 0 ? 1 : 0);
        kiln_module_destroy(m);
        kiln_error_clear(&err);
        kiln_context_release(ctx);
        assert_int_equal(cuda->modules, 0);
    }
}

static void test_module_fake__warnings_are_kept_in_the_cache(void **state)
{
    (void)state;
    static const char careless[] =
        "__global__ void careless(float *x) { int forgotten; x[0] = 1; }";
    const char *const instance = "careless";
    kiln_module_options named = KILN_MODULE_OPTIONS_INIT;
    char own[64];

    snprintf(own, sizeof own, "%s/log", folder);
    named.names = &instance;
    named.name_count = 1;
    for (int round = 0; round < 2; round++) {
        kiln_context *ctx = open_context(own);
        kiln_error err = KILN_ERROR_INIT;
        kiln_module *m = NULL;

        for (int k = 0; k < 2; k++) { /* without names behind the binary, and with */
            OK(kiln_module_create(ctx, careless, k == 0 ? NULL : &named, &m, &err));
            assert_non_null(strstr(kiln_module_log(m), "source(1): warning"));
            assert_non_null(strstr(kiln_module_log(m), "forgotten"));
            kiln_module_destroy(m);
        }
        m = make(ctx);
        assert_string_equal(kiln_module_log(m), "");
        assert_string_equal(kiln_module_log(NULL), "");
        kiln_module_destroy(m);
        kiln_cache_counters counters;
        kiln_context_cache_counters(ctx, &counters);
        assert_int_equal(counters.compiles, round == 0 ? 3 : 0);
        kiln_context_release(ctx);
    }
}

static void test_module_fake__a_plain_name_is_found_unless_it_is_overloaded(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_raw *k = NULL;

    cuda->param_count = 1;
    cuda->param_offset[0] = 0;
    cuda->param_bytes[0] = 8;
    OK(kiln_module_kernel(m, "plain", "raw int32 out", &k, &err));
    assert_string_equal(cuda->function, "_Z5plainPi");
    kiln_raw_destroy(k);
    OK(kiln_module_kernel(m, "_Z4overPf", NULL, &k, &err));
    kiln_raw_destroy(k);
    FAILS(KILN_ERR_NAME, "_Z4overPi", kiln_module_kernel(m, "over", NULL, &k, &err));
    FAILS(KILN_ERR_NAME, "axpy<float, 4>", kiln_module_kernel(m, "plan", NULL, &k, &err));
    FAILS(KILN_ERR_NAME, "kiln_module_options.names",
          kiln_module_kernel(m, "axpy<int, 4>", NULL, &k, &err));
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
}

/* ---- parameters ---- */

/* The driver is of CUDA 12.3: the cubin tells. What the fake would tell is wrong. */
static bool an_old_driver_is_helped_by_the_cubin(void)
{
    kiln_error err = KILN_ERROR_INIT;
    kiln_raw *k = NULL;
    bool right = true;

    cuda->version = 12030;
    kiln_context *ctx = open_context(folder);
    kiln_module *m = make(ctx), *ptx = NULL;
    cuda->param_count = 1;
    right &=
        kiln_module_kernel(m, "axpy<float, 4>", "raw float32 x, raw float32 y, int32 n, float32 a",
                           &k, &err) == KILN_OK;
    kiln_raw_destroy(k);
    right &=
        kiln_module_kernel(m, "axpy<float, 4>", "raw float32 x, raw float32 y, int64 n, float32 a",
                           &k, &err) == KILN_ERR_DTYPE &&
        strstr(err.message, "argument 3 (`n`)") != NULL && strstr(err.message, "8 bytes") != NULL;
    right &= kiln_module_create_from_image(ctx, ".version 8.0", 12, NULL, &ptx, &err) == KILN_OK &&
             kiln_module_kernel(ptx, "_Z5plainPi", NULL, &k, &err) == KILN_ERR_UNSUPPORTED &&
             strstr(err.message, "CUDA 12.4") != NULL;
    if (!right)
        fprintf(stderr, "%s\n", err.message);
    return right;
}

static void test_module_fake__parameters_come_from_the_driver_or_the_cubin(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_raw *k = axpy_of(m);

    kiln_raw_destroy(k);
    cuda->param_bytes[3] = 4080; /* the driver is believed */
    FAILS(KILN_ERR_UNSUPPORTED, "4100 bytes (at most 4096)",
          kiln_module_kernel(m, "axpy<float, 4>", NULL, &k, &err));
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
}

/* Two texts of PTX, of which one calls the other's function. */
static const char twice_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .func (.param .b32 out) twice(.param .b32 in)\n{\n.reg .b32 %r<3>;\n"
    "ld.param.b32 %r1, [in];\nadd.s32 %r2, %r1, %r1;\nst.param.b32 [out], %r2;\nret;\n}\n";
static const char caller_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 out) twice(.param .b32 in);\n"
    ".visible .entry use_twice(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nld.global.u32 %r1, [%rd2];\n"
    "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall (b), twice, (a);\n"
    "ld.param.b32 %r2, [b];\n}\nst.global.u32 [%rd2], %r2;\nret;\n}\n";

/* Asked by the address sanitizer: nvJitLink 13.0 keeps memory of a link that it refuses, also when its handle
 * is destroyed. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libnvJitLink.so";
}

static void test_module_fake__images_are_linked(void **state)
{
    (void)state;
    const kiln_module_input both[] = {{twice_ptx, sizeof twice_ptx - 1, "twice.ptx"},
                                      {caller_ptx, sizeof caller_ptx - 1, NULL}};
    const kiln_module_input bad[] = {{twice_ptx, sizeof twice_ptx - 1, NULL}, {"nothing", 7, NULL}};
    kiln_module_options named = KILN_MODULE_OPTIONS_INIT;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = NULL;
    kiln_raw *k = NULL;

    named.name = "linked";
    FAILS(KILN_ERR_FORMAT, "module \"linked\": input 2: 7 bytes",
          kiln_module_create_linked(ctx, bad, 2, &named, &m, &err));
    FAILS(KILN_ERR_NULL, "input 1 is NULL",
          kiln_module_create_linked(ctx, &(kiln_module_input){NULL, 4, NULL}, 1, &named, &m, &err));
    const kiln_status status = kiln_module_create_linked(ctx, both, 2, &named, &m, &err);
    if (status != KILN_ERR_UNSUPPORTED) {
        OK(status);
        FAILS(KILN_ERR_COMPILE, "twice",
              kiln_module_create_linked(ctx, both + 1, 1, &named, &(kiln_module *){NULL}, &err));
        assert_non_null(err.log);
        kiln_error_clear(&err);
        cuda->kernels = (const char *const[]){"use_twice", NULL};
        FAILS(KILN_ERR_NAME, "it has use_twice", kiln_module_kernel(m, "other", NULL, &k, &err));
        cuda->kernels = kernels;
        kiln_module_destroy(m);
    }
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    if (status == KILN_ERR_UNSUPPORTED)
        skip(); /* nvJitLink is not here */
}

/* Compiled with -dc: the link has put the device's runtime in. */
static void test_module_fake__kernels_that_launch_kernels_are_linked(void **state)
{
    (void)state;
    static const char nested[] =
        "extern \"C\" __global__ void inner(float *x) { x[threadIdx.x] = 1; }\n"
        "extern \"C\" __global__ void outer(float *x) { inner<<<1, 4>>>(x); }\n";
    static const char *const spellings[] = {"-dc", "--relocatable-device-code=true"};
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    kiln_elementwise_options eo = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_elementwise *op = NULL;
    kiln_module *m = NULL;
    kiln_raw *k = NULL;
    bool linked = true;

    FAILS(KILN_ERR_COMPILE, "", kiln_module_create(ctx, nested, NULL, &m, &err));
    o.compiler_option_count = eo.compiler_option_count = 1;
    for (size_t s = 0; s < COUNT(spellings) && linked; s++) {
        o.compiler_options = &spellings[s];
        const kiln_status status = kiln_module_create(ctx, nested, &o, &m, &err);
        linked = status != KILN_ERR_UNSUPPORTED && strstr(err.message, "cudaLaunchDevice") == NULL;
        if (!linked)
            break;
        OK(status);
        cuda->kernels = (const char *const[]){"inner", "outer", NULL};
        cuda->param_count = 1;
        cuda->param_offset[0] = 0;
        cuda->param_bytes[0] = 8;
        OK(kiln_module_kernel(m, "outer", "raw float32 x", &k, &err));
        cuda->kernels = kernels;
        kiln_raw_destroy(k);
        kiln_module_destroy(m);
    }
    eo.compiler_options = spellings;
    OK(kiln_elementwise_create(ctx, "float32 x", "float32 y", "y = x;", &eo, &op, &err));
    kiln_array *x = zeros(ctx);
    FAILS(KILN_ERR_ARGUMENT, "is for modules", kiln_call(op, &err, x, x));
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    if (!linked)
        skip(); /* nvJitLink or libcudadevrt.a is not here */
}

static void test_module_fake__old_drivers(void **state)
{
    (void)state;
    in_child(an_old_driver_is_helped_by_the_cubin);
}

/* ---- launches ---- */

static void test_module_fake__a_launch_is_what_was_asked_for(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_raw *k = axpy_of(m);
    kiln_array *x = zeros(ctx), *y = zeros(ctx);
    kiln_raw_call_options o = threads(7, 32);
    kiln_stream *stream = NULL;
    void *pointer = NULL;
    int n = 0;
    float a = 0;

    o.grid[1] = 3;
    o.block[2] = 2;
    OK(kiln_stream_create(ctx, NULL, &stream, &err));
    o.stream = stream;
    OK(kiln_call_with(k, &o, &err, x, &y, 64, 2));
    assert_int_equal(cuda->grid[0], 7);
    assert_int_equal(cuda->grid[1], 3);
    assert_int_equal(cuda->grid[2], 1);
    assert_int_equal(cuda->block, 32);
    assert_int_equal(cuda->block_yz[0], 1);
    assert_int_equal(cuda->block_yz[1], 2);
    assert_ptr_equal(cuda->stream, kiln_stream_native(ctx, stream));
    memcpy(&pointer, cuda->params + 8, sizeof pointer);
    memcpy(&n, cuda->params + 16, sizeof n);
    memcpy(&a, cuda->params + 20, sizeof a);
    assert_ptr_equal(pointer, kiln_array_data(y));
    assert_int_equal(n, 64);
    assert_true(a == 2.0f);

    const long before = cuda->launches;
    o.grid[0] = 0;
    OK(kiln_call_with(k, &o, &err, x, y, 64, 2));
    assert_int_equal(cuda->launches, before);
    FAILS(KILN_ERR_ARGUMENT_COUNT, "takes 4", kiln_call_with(k, &o, &err, x, y, 64));
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_stream_destroy(stream);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    assert_int_equal(cuda->modules, 0);
    assert_int_equal(cuda->refused, 0);
}

/* Until a limit is set, static shared memory counts towards the 48 KiB of a launch; a limit is never lowered. */
static void test_module_fake__leave_for_shared_memory(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_raw *k = axpy_of(m);
    kiln_array *x = zeros(ctx);
    kiln_raw_call_options o = threads(8, 128);

    cuda->static_shared = 2000;
    cuda->shared_allowed = 0;
    o.shared_bytes = 48 << 10;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->shared_allowed, 48 << 10);
    o.shared_bytes = 20000;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->shared_allowed, 48 << 10);
    cuda->static_shared = 0;
    cuda->shared_allowed = 0;
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    assert_int_equal(cuda->refused, 0);
}

/* Several GPU features at once, and one by one. */
static void test_module_fake__attributes_of_a_launch(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_raw *k = axpy_of(m);
    kiln_array *x = zeros(ctx);
    kiln_raw_call_options o = threads(8, 128);
    int64_t blocks = 0;

    cuda->shared_allowed = 0;
    o.shared_bytes = 48 << 10;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->shared_allowed, 0);
    o.shared_bytes = 100 << 10;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->shared_allowed, 100 << 10);
    assert_int_equal(cuda->shared_bytes, 100 << 10);
    o.shared_bytes = 232449;
    FAILS(KILN_ERR_ARGUMENT, "at most 232448", kiln_call_with(k, &o, &err, x, x, 64, 2.0));

    o = threads(8, 128);
    o.cluster[0] = 2;
    o.cluster[1] = 1;
    o.cooperative = o.programmatic = true;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->cluster[0], 2);
    assert_int_equal(cuda->cluster[2], 1);
    assert_true(cuda->cooperative && cuda->programmatic && !cuda->large_clusters);
    o = threads(32, 128);
    o.cluster[0] = 16;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_true(cuda->large_clusters && !cuda->cooperative);
    o.cluster[0] = 17;
    FAILS(KILN_ERR_ARGUMENT, "cluster of (17", kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    o.cluster[0] = 3;
    FAILS(KILN_ERR_ARGUMENT, "whole number of clusters",
          kiln_call_with(k, &o, &err, x, x, 64, 2.0));

    o = threads(0, 128);
    o.fill = true;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->grid[0], 264); /* 2 on each of 132 */
    o.grid[1] = 2;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->grid[0], 132);
    o.grid[1] = 0;
    o.cluster[0] = 8;
    OK(kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    assert_int_equal(cuda->grid[0], 480); /* 60 clusters */
    OK(kiln_raw_occupancy(k, &o, &blocks, &err));
    assert_int_equal(blocks, 480);

    o = threads(265, 128);
    o.cooperative = true;
    FAILS(KILN_ERR_ARGUMENT, "runs 264 of them at a time",
          kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    assert_int_equal(cuda->refused, 0);
}

static void test_module_fake__what_the_function_allows_is_told(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = make(ctx);
    kiln_array *x = zeros(ctx);
    kiln_raw_attributes a;

    cuda->max_threads = 256;
    cuda->static_shared = 1000;
    kiln_raw *k = axpy_of(m);
    cuda->max_threads = 1024;
    cuda->static_shared = 0;
    kiln_raw_call_options o = threads(1, 288);
    FAILS(KILN_ERR_ARGUMENT, "allow 256", kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    o = threads(1, 64);
    o.shared_bytes = 232448;
    FAILS(KILN_ERR_ARGUMENT, "beside its own 1000", kiln_call_with(k, &o, &err, x, x, 64, 2.0));
    OK(kiln_raw_get_attributes(k, &a, &err));
    assert_int_equal(a.registers, 104);
    assert_int_equal(a.binary_version, 106);
    assert_int_equal(a.cache_mode_ca, 107);
    assert_int_equal(a.preferred_shared_percent, 109);
    kiln_array_release(x);
    kiln_raw_destroy(k);
    kiln_module_destroy(m);
    kiln_error_clear(&err);
    kiln_context_release(ctx);
}

/* ---- images ---- */

static void test_module_fake__images_are_ended_and_their_refusal_is_explained(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_90\n.visible .entry f(){ret;}\n#####";
    (void)state;
    kiln_context *ctx = open_context("");
    kiln_error err = KILN_ERROR_INIT;
    kiln_module *m = NULL;
    const size_t bytes = strlen(ptx) - 5;

    OK(kiln_module_create_from_image(ctx, ptx, bytes, NULL, &m, &err));
    assert_int_equal(cuda->image_bytes, bytes);
    kiln_module_destroy(m);
    cuda->jit_log = "ptxas application ptx input, line 3; error : Unknown\nmore";
    FAILS(KILN_ERR_DRIVER, "line 3; error : Unknown",
          kiln_module_create_from_image(ctx, ptx, bytes, NULL, &m, &err));
    assert_non_null(err.log);
    assert_non_null(strstr(err.log, "more"));
    cuda->jit_log = NULL;
    kiln_module_options o = KILN_MODULE_OPTIONS_INIT;
    o.names = names;
    o.name_count = 1;
    FAILS(KILN_ERR_ARGUMENT, "are for sources",
          kiln_module_create_from_image(ctx, ptx, bytes, &o, &m, &err));
    FAILS(KILN_ERR_FORMAT, "no PTX", kiln_module_create_from_image(ctx, "x", 1, NULL, &m, &err));
    kiln_error_clear(&err);
    kiln_context_release(ctx);
    assert_int_equal(cuda->modules, 0);
}

/* Each call of the driver fails once: no crash, nothing left behind. */
static void test_module_fake__survives_each_failure_of_the_driver(void **state)
{
    (void)state;
    kiln_context *ctx = open_context(folder);
    kiln_array *x = zeros(ctx);
    kiln_status status = KILN_ERR_DRIVER;
    int rounds = 0;

    tell_axpy();
    for (; status != KILN_OK && rounds < 200; rounds++) {
        kiln_module_options mo = KILN_MODULE_OPTIONS_INIT;
        kiln_module *m = NULL;
        kiln_raw *k = NULL;
        kiln_raw_call_options o = threads(0, 64);
        const long modules = cuda->modules;

        mo.names = names;
        mo.name_count = COUNT(names);
        o.fill = true;
        cuda->fail_after = rounds;
        cuda->fail_result = 999;
        status = kiln_module_create(ctx, source, &mo, &m, NULL);
        assert_true((status == KILN_OK) == (m != NULL));
        if (status == KILN_OK)
            status = kiln_module_kernel(m, "axpy<float, 4>", NULL, &k, NULL);
        if (status == KILN_OK)
            status = kiln_call_with(k, &o, NULL, x, x, 64, 2.0);
        if (cuda->fail_after >= 0 && status == KILN_OK)
            cuda->fail_after = -1;
        else if (status == KILN_OK)
            status = KILN_ERR_DRIVER; /* a failure that nobody has to report: go on */
        cuda->fail_after = -1;
        kiln_raw_destroy(k);
        kiln_module_destroy(m);
        assert_int_equal(cuda->modules, modules);
    }
    assert_in_range(rounds, 20, 199);
    kiln_array_release(x);
    kiln_context_release(ctx);
}

static int set_up(void **state)
{
    (void)state;
    cuda->any_module = true;
    cuda->kernels = kernels;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_module_fake__old_drivers),
        cmocka_unit_test(test_module_fake__names_lead_to_symbols_from_the_cache_too),
        cmocka_unit_test(test_module_fake__warnings_are_kept_in_the_cache),
        cmocka_unit_test(test_module_fake__a_plain_name_is_found_unless_it_is_overloaded),
        cmocka_unit_test(test_module_fake__parameters_come_from_the_driver_or_the_cubin),
        cmocka_unit_test(test_module_fake__a_launch_is_what_was_asked_for),
        cmocka_unit_test(test_module_fake__leave_for_shared_memory),
        cmocka_unit_test(test_module_fake__attributes_of_a_launch),
        cmocka_unit_test(test_module_fake__what_the_function_allows_is_told),
        cmocka_unit_test(test_module_fake__images_are_ended_and_their_refusal_is_explained),
        cmocka_unit_test(test_module_fake__images_are_linked),
        cmocka_unit_test(test_module_fake__kernels_that_launch_kernels_are_linked),
        cmocka_unit_test(test_module_fake__survives_each_failure_of_the_driver),
    };
    const char *id = NULL;

    if (kiln__compiler_identity(KILN_BACKEND_CUDA, &id, NULL) != KILN_OK) {
        fprintf(stderr, "SKIPPED: there is no NVRTC\n");
        return EXIT_SKIP;
    }
    cuda = load_fake_cuda();
    if (cuda == NULL)
        return 1;
    if (mkdtemp(folder) == NULL)
        return 1;
    const int failed = cmocka_run_group_tests_name("test_module_fake", tests, set_up, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed != 0;
}
