/*
 * device_env.c - what the tests of devices share: opening, checked helpers, kernels by hand.
 */
#define _GNU_SOURCE
#include "device_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *device_name;
bool on_cuda;

kiln__device *must_open(const char *name)
{
    kiln__device *device = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__device_open(name, 0, &device, &err) != KILN_OK)
        fail_msg("%s: %s", name, err.message);
    return device;
}

kiln_stream *must_stream(kiln__device *device)
{
    kiln_stream *stream = NULL;

    assert_int_equal(kiln__stream_create(device, NULL, &stream, NULL), KILN_OK);
    return stream;
}

kiln__block *must_alloc(kiln__device *device, size_t bytes, kiln_stream *stream)
{
    kiln__block *block = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__pool_alloc(device, bytes, stream, &block, &err) != KILN_OK)
        fail_msg("%zu bytes: %s", bytes, err.message);
    return block;
}

double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)((i * 2654435761u + seed * 40503u) >> 11);
}

void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = pattern(i, seed);
}

bool matches(const unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != pattern(i, seed))
            return false;
    return true;
}

bool says(kiln_status got, kiln_status want, const kiln_error *err, const char *text)
{
    bool right = got == want && err->status == want && strstr(err->message, text) != NULL;

    if (!right)
        fprintf(stderr, "got %s: \"%s\", wanted %s with \"%s\"\n", kiln_status_name(got),
                err->message, kiln_status_name(want), text);
    return right;
}

/* ---- kernels ---- */

static const char cuda_source[] =
    "struct axpy_args { const float *x; float *y; float a; long long n; };\n"
    "extern \"C\" __global__ void axpy(axpy_args p)\n"
    "{\n"
    "    long long i = blockIdx.x * 256LL + threadIdx.x;\n"
    "    if (i < p.n) p.y[i] = p.a * p.x[i] + p.y[i];\n"
    "}\n"
    "struct spin_args { int *flag; long long clocks; };\n"
    "extern \"C\" __global__ void spin(spin_args p)\n"
    "{\n"
    "    long long start = clock64();\n"
    "    while (clock64() - start < p.clocks) {}\n"
    "    *p.flag += 1;\n"
    "}\n"
    "struct wide_args { int *out; int values[1022]; };\n"
    "extern \"C\" __global__ void wide(wide_args p)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (int k = 0; k < 1022; k++) sum += p.values[k];\n"
    "    *p.out = sum;\n"
    "}\n"
    "extern \"C\" __global__ void shared(int *const out)\n"
    "{\n"
    "    extern __shared__ int room[];\n"
    "    for (int k = threadIdx.x; k < 15000; k += blockDim.x) room[k] = k;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) *out = room[14999];\n"
    "}\n"
    "extern \"C\" __global__ void where(int *const out)\n"
    "{\n"
    "    atomicAdd(out + blockIdx.y + 2 * blockIdx.z, 1);\n"
    "}\n"
    "extern \"C\" __global__ void bad_address(int *const p) { *(volatile int *)1024 = 1; }\n"
    "extern \"C\" __global__ void bad_alignment(char *const p) { *(volatile int *)(p + 1) = 1; }\n"
    "extern \"C\" __global__ void bad_assert(int *const p) { assert(p == nullptr); }\n"
    "extern \"C\" __global__ void bad_trap(int *const p) { asm volatile(\"trap;\"); }\n"
    "extern \"C\" __global__ void nothing(int *const p) {}\n";

static const char cpu_source[] =
    "struct axpy_args { const float *x; float *y; float a; long long n; };\n"
    "extern \"C\" __attribute__((visibility(\"default\")))\n"
    "void axpy(const void *args, long begin, long end)\n"
    "{\n"
    "    const axpy_args &p = *(const axpy_args *)args;\n"
    "    for (long i = begin * 256; i < end * 256 && i < p.n; i++)\n"
    "        p.y[i] = p.a * p.x[i] + p.y[i];\n"
    "}\n"
    "struct wide_args { int *out; int values[1022]; };\n"
    "extern \"C\" __attribute__((visibility(\"default\")))\n"
    "void wide(const void *args, long, long)\n"
    "{\n"
    "    const wide_args &p = *(const wide_args *)args;\n"
    "    int sum = 0;\n"
    "    for (int k = 0; k < 1022; k++) sum += p.values[k];\n"
    "    *p.out = sum;\n"
    "}\n";

kiln__module *load_kernels(kiln__device *device)
{
    const kiln_device_info *info = kiln__device_info(device);
    kiln__compile_request request = {.target = {.backend = info->backend},
                                     .source = info->backend == KILN_BACKEND_CUDA ? cuda_source
                                                                                  : cpu_source};
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;
    kiln__module *module = NULL;

    memcpy(request.target.name, info->target, sizeof request.target.name);
    kiln_status status = kiln__compile(&request, &result, &err);
    if (status == KILN_ERR_NO_NVRTC || status == KILN_ERR_NO_COMPILER) {
        print_message("%s has no compiler: %s\n", info->id, err.message);
        kiln_error_clear(&err);
        return NULL;
    }
    if (status != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    if (kiln__module_load(device, result.binary, result.bytes, &module, &err) != KILN_OK)
        fail_msg("%s", err.message);
    kiln__compile_result_clear(&result);
    return module;
}

void *must_entry(kiln__module *module, const char *name)
{
    void *entry = NULL;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__module_entry(module, name, &entry, &err) != KILN_OK)
        fail_msg("%s: %s", name, err.message);
    return entry;
}

kiln_status launch(kiln__device *device, void *entry, int64_t blocks, uint32_t threads,
                   const void *args, size_t bytes, kiln_stream *stream, kiln_error *err)
{
    kiln__launch_config config = {.grid_x = blocks, .block = threads};

    return kiln__launch(device, entry, &config, args, bytes, stream, err);
}

void spin(kiln__device *device, kiln__module *module, kiln__block *flag, double ms,
          kiln_stream *stream)
{
    spin_args args = {flag->address, (long long)(ms * 1.5e6)}; /* GPUs run at 1 to 2 GHz */

    assert_int_equal(
        launch(device, must_entry(module, "spin"), 1, 1, &args, sizeof args, stream, NULL),
        KILN_OK);
}

void check_axpy(kiln__device *device, kiln__module *module, size_t n)
{
    kiln_stream *stream = kiln__device_stream(device);
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *z = malloc(n * sizeof *z);
    kiln__block *dx = must_alloc(device, n * sizeof *x, stream);
    kiln__block *dy = must_alloc(device, n * sizeof *y, stream);
    axpy_args args = {dx->address, dy->address, 3, (long long)n};

    assert_true(x != NULL && y != NULL && z != NULL);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1000); /* small integers: exact in float, fused or not */
        y[i] = (float)(i % 77);
    }
    assert_int_equal(kiln__copy_host_to_device(device, dx->address, x, n * 4, stream, NULL),
                     KILN_OK);
    assert_int_equal(kiln__copy_host_to_device(device, dy->address, y, n * 4, stream, NULL),
                     KILN_OK);
    assert_int_equal(launch(device, must_entry(module, "axpy"), (int64_t)(n + 255) / 256,
                            on_cuda ? 256 : 1, &args, sizeof args, stream, NULL),
                     KILN_OK);
    assert_int_equal(kiln__copy_device_to_host(device, z, dy->address, n * 4, stream, NULL),
                     KILN_OK);
    for (size_t i = 0; i < n; i++)
        if (z[i] != 3 * x[i] + y[i])
            fail_msg("element %zu of %zu: %g", i, n, (double)z[i]);
    kiln__pool_free(device, dx, NULL, 0);
    kiln__pool_free(device, dy, NULL, 0);
    free(x);
    free(y);
    free(z);
}

/* ---- the program ---- */

/* Whether the device opens, asked in a child: this process stays untouched by CUDA. */
static bool opens(const char *name)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        kiln__device *device = NULL;
        kiln_error err = KILN_ERROR_INIT;
        kiln_status status = kiln__device_open(name, 0, &device, &err);
        if (status != KILN_OK)
            printf("SKIP: %s is not usable: %s\n", name, err.message);
        fflush(stdout);
        kiln__device_close(device);
        _exit(status == KILN_OK ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
}

int device_env_run(const char *name, const char *group, const struct CMUnitTest *tests,
                   size_t count)
{
    device_name = name;
    on_cuda = strncmp(name, "cuda", 4) == 0;
    if (!opens(name))
        return EXIT_SKIP;
    return _cmocka_run_group_tests(group, tests, count, NULL, NULL) == 0 ? 0 : 1;
}
