/*
 * gpu.h - the driver and NVRTC, as a hand-written program uses them: what kiln is measured
 * against.
 *
 * Nothing here goes through kiln. The libraries are loaded at run time, so that the benchmark
 * builds without a toolkit; kiln's primary context is made current once, in gpu_open().
 */
#ifndef KILN_BENCH_GPU_H
#define KILN_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, symbol, parameters): the driver's functions in use. */
#define GPU_DRIVER_MAP(X)                                                                          \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(ctx_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                        \
    X(ctx_set_current, "cuCtxSetCurrent", (void *context))                                         \
    X(ctx_synchronize, "cuCtxSynchronize", (void))                                                 \
    X(stream_synchronize, "cuStreamSynchronize", (void *stream))                                   \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    X(event_synchronize, "cuEventSynchronize", (void *event))                                      \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, void *start, void *end))                    \
    X(stream_wait_event, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))         \
    X(host_alloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                 \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                      \
      (unsigned long long to, const void *from, size_t bytes, void *stream))                       \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2",                                                        \
      (void *to, unsigned long long from, size_t bytes, void *stream))                             \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    X(module_unload, "cuModuleUnload", (void *module))                                             \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    X(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,            \
       unsigned bz, unsigned shared, void *stream, void **params, void **extra))                   \
    X(error_string, "cuGetErrorString", (int result, const char **text))

#define GPU_NVRTC_MAP(X)                                                                           \
    X(create, "nvrtcCreateProgram",                                                                \
      (void **program, const char *source, const char *name, int headers,                          \
       const char *const *texts, const char *const *names))                                        \
    X(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))      \
    X(cubin_size, "nvrtcGetCUBINSize", (void *program, size_t *bytes))                             \
    X(cubin, "nvrtcGetCUBIN", (void *program, char *cubin))                                        \
    X(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *bytes))                          \
    X(log, "nvrtcGetProgramLog", (void *program, char *log))                                       \
    X(destroy, "nvrtcDestroyProgram", (void **program))

typedef struct gpu_table {
#define GPU_FIELD(field, symbol, parameters) int(*field) parameters;
    GPU_DRIVER_MAP(GPU_FIELD)
    /* CUDA 12.4 and later; NULL before. */
    int (*param_info)(void *function, size_t index, size_t *offset, size_t *bytes);
} gpu_table;

typedef struct gpu_compiler {
    GPU_NVRTC_MAP(GPU_FIELD)
#undef GPU_FIELD
} gpu_compiler;

extern gpu_table gpu;
extern gpu_compiler gpu_rtc;

/* Load the libraries and make the device's primary context current. Ends the program with a line
 * on failure. Call it after kiln has compiled something, so that both use one NVRTC. */
void gpu_open(int ordinal);

/* The driver alone, without NVRTC: for a process that must not load it. */
void gpu_open_driver(int ordinal);

void gpu_require(int result, const char *what);
#define GPU(call) gpu_require((call), #call)

/* Compile for `target` ("sm_90") with the flags kiln uses. The cubin is the caller's to free();
 * `us_out` (may be NULL) receives the time NVRTC took. */
char *gpu_compile(const char *source, const char *target, size_t *bytes_out, double *us_out);

void *gpu_function(void *module, const char *name);

#endif
