/*
 * nvrtc.h - NVIDIA's runtime compiler: found, named and used. Private to src/device/cuda.
 *
 *     nvrtc_find.c   where the library is and what identifies it, without loading it
 *     nvrtc.c        load it on the first compile, and compile
 *
 * Threads: every function may be called from any thread, with or without a driver or a GPU.
 */
#ifndef KILN_DEVICE_CUDA_NVRTC_H
#define KILN_DEVICE_CUDA_NVRTC_H

#include "device/device.h"

/* Folders of headers: the user's toolkit, and CCCL within it. */
#define KILN__NVRTC_INCLUDE_MAX 2

/* Where the library is. Constant once found. */
typedef struct kiln__nvrtc_place {
    char path[1024];
    int major;          /* 12 or 13, by the file's name */
    char version[32];   /* "13.0.88" as far as the file's name tells, else "13" */
    char identity[128]; /* "nvrtc-13-<hash of the build>" */
    char include[KILN__NVRTC_INCLUDE_MAX][1024];
    const char *include_dirs[KILN__NVRTC_INCLUDE_MAX + 1];
} kiln__nvrtc_place;

/* Find the library. A success is remembered; after a failure the next call looks again.
 * ERR_NO_NVRTC. */
kiln_status kiln__nvrtc_find(const kiln__nvrtc_place **out, kiln_error *err);

/* "NVRTC 13.0.88" into `text`; empty when there is none. */
void kiln__nvrtc_describe(char *text, size_t bytes);

/* The compiler half of the backend's table; see device.h. */
kiln_status kiln__nvrtc_identity(const char **id_out, kiln_error *err);
void kiln__nvrtc_key(kiln__buf *key);
const char *const *kiln__nvrtc_include_dirs(void);
/* Seconds that one run of NVRTC may take (from 12.8 on, where it can be stopped); tests change it. */
extern double kiln__nvrtc_limit_s;
bool kiln__nvrtc_looks_further(void);
kiln_status kiln__nvrtc_compile(const kiln__compile_request *request, kiln__compile_result *result,
                                kiln_error *err);
size_t kiln__nvrtc_targets(kiln__target *targets, size_t capacity);

#endif
