/*
 * gpu.c - the driver and NVRTC by hand; see gpu.h.
 */
#define _GNU_SOURCE
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

gpu_table gpu;
gpu_compiler gpu_rtc;

void gpu_require(int result, const char *what)
{
    const char *text = NULL;

    if (result == 0)
        return;
    if (gpu.error_string != NULL)
        (void)gpu.error_string(result, &text);
    fprintf(stderr, "%s: %d (%s)\n", what, result, text != NULL ? text : "no text");
    exit(1);
}

/* Store a symbol's address through a pointer to a function pointer, as POSIX has it. */
static void find(void *library, const char *symbol, void *field, bool needed)
{
    void *address = dlsym(library, symbol);

    if (address == NULL && needed) {
        fprintf(stderr, "%s is missing\n", symbol);
        exit(1);
    }
    memcpy(field, &address, sizeof address);
}

void gpu_open_driver(int ordinal)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    int device = 0;

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define GPU_LOAD(field, symbol, parameters) find(library, symbol, &gpu.field, true);
    GPU_DRIVER_MAP(GPU_LOAD)
#undef GPU_LOAD
    find(library, "cuFuncGetParamInfo", &gpu.param_info, false);
    GPU(gpu.init(0));
    GPU(gpu.device_get(&device, ordinal));
    GPU(gpu.ctx_retain(&context, device));
    GPU(gpu.ctx_set_current(context));
}

void gpu_open(int ordinal)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    void *library = NULL;

    gpu_open_driver(ordinal);
    for (size_t k = 0; k < COUNT(names) && library == NULL; k++)
        library = dlopen(names[k], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define GPU_LOAD(field, symbol, parameters) find(library, symbol, &gpu_rtc.field, true);
    GPU_NVRTC_MAP(GPU_LOAD)
#undef GPU_LOAD
}

static void show_log(void *program)
{
    size_t bytes = 0;
    char *log;

    if (gpu_rtc.log_size(program, &bytes) != 0 || (log = malloc(bytes + 1)) == NULL)
        return;
    if (gpu_rtc.log(program, log) == 0)
        fprintf(stderr, "%.*s\n", (int)bytes, log);
    free(log);
}

char *gpu_compile(const char *source, const char *target, size_t *bytes_out, double *us_out)
{
    char arch[64];
    const char *const options[] = {arch, "--std=c++17", "--minimal", "--no-cache",
                                   "--modify-stack-limit=false"};
    void *program = NULL;
    double start = bench_now_us();
    size_t bytes = 0;
    char *cubin;

    snprintf(arch, sizeof arch, "-arch=%s", target);
    GPU(gpu_rtc.create(&program, source, "limit.cu", 0, NULL, NULL));
    if (gpu_rtc.compile(program, (int)COUNT(options), options) != 0) {
        show_log(program);
        exit(1);
    }
    GPU(gpu_rtc.cubin_size(program, &bytes));
    cubin = malloc(bytes);
    if (cubin == NULL) {
        fprintf(stderr, "no memory for a cubin of %zu bytes\n", bytes);
        exit(1);
    }
    GPU(gpu_rtc.cubin(program, cubin));
    GPU(gpu_rtc.destroy(&program));
    if (us_out != NULL)
        *us_out = bench_now_us() - start;
    if (bytes_out != NULL)
        *bytes_out = bytes;
    return cubin;
}

void *gpu_function(void *module, const char *name)
{
    void *function = NULL;

    GPU(gpu.module_function(&function, module, name));
    return function;
}
