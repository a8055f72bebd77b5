/*
 * driver.h - the CUDA driver as the files of this folder see it. Private to src/device/cuda.
 *
 * Own declarations instead of cuda.h: kiln builds on a machine that has no toolkit, and one binary
 * serves CUDA 12 and 13. What is declared here is part of the driver's stable binary interface.
 *
 * Rule: every driver call that concerns a device stands between kiln__cuda_enter() and
 *       kiln__cuda_leave(), which put back the context that the calling thread had.
 */
#ifndef KILN_DEVICE_CUDA_DRIVER_H
#define KILN_DEVICE_CUDA_DRIVER_H

#include <pthread.h>

#include "device/backend.h"

typedef int kiln__cu_result;
typedef struct kiln__cu_context_st *kiln__cu_context;
typedef struct kiln__cu_stream_st *kiln__cu_stream;
typedef struct kiln__cu_event_st *kiln__cu_event;
typedef struct kiln__cu_module_st *kiln__cu_module;
typedef struct kiln__cu_function_st *kiln__cu_function;
typedef struct kiln__cu_graph_st *kiln__cu_graph;
typedef struct kiln__cu_graph_exec_st *kiln__cu_graph_exec;
typedef struct kiln__cu_graph_node_st *kiln__cu_graph_node;
typedef unsigned long long kiln__cu_pointer;

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct kiln__cu_kernel_node {
    kiln__cu_function function;
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void **params, **extra;
    void *kernel;
    kiln__cu_context context;
} kiln__cu_kernel_node;

/* One side of a CUDA_MEMCPY3D, and the whole. */
typedef struct kiln__cu_copy_end {
    size_t x, y, z, lod;
    unsigned kind; /* 1: host, 2: device */
    const void *host;
    kiln__cu_pointer device;
    void *array, *reserved;
    size_t pitch, height;
} kiln__cu_copy_end;

typedef struct kiln__cu_copy_node {
    kiln__cu_copy_end from, to;
    size_t width, height, depth;
} kiln__cu_copy_node;

/* CUDA_MEMSET_NODE_PARAMS and CUDA_HOST_NODE_PARAMS. */
typedef struct kiln__cu_set_node {
    kiln__cu_pointer to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
} kiln__cu_set_node;

typedef struct kiln__cu_host_node {
    void (*fn)(void *user);
    void *user;
} kiln__cu_host_node;

/* CUlaunchAttribute and CUlaunchConfig; an attribute's value is a union of 64 bytes. */
typedef struct kiln__cu_launch_attribute {
    int id;
    int pad;
    union {
        unsigned dims[3];
        int flag;
        void *pointer; /* not used: aligns the union as the driver's is, which has pointers */
        char bytes[64];
    } value;
} kiln__cu_launch_attribute;

typedef struct kiln__cu_launch_config {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    kiln__cu_stream stream;
    kiln__cu_launch_attribute *attributes;
    unsigned attribute_count;
} kiln__cu_launch_config;

/* Results that kiln tells apart; all others go into messages by the driver's own text. */
enum {
    KILN__CU_OK = 0,
    KILN__CU_OUT_OF_MEMORY = 2,
    KILN__CU_NOT_INITIALIZED = 3,
    KILN__CU_NO_DEVICE = 100,
    KILN__CU_INVALID_IMAGE = 200,
    KILN__CU_NO_BINARY_FOR_GPU = 209,
    KILN__CU_UNSUPPORTED_PTX_VERSION = 222,
    KILN__CU_NOT_FOUND = 500,
    KILN__CU_NOT_READY = 600,
    KILN__CU_CAPTURE_UNSUPPORTED = 900,
    KILN__CU_CAPTURE_INVALIDATED = 901
};

/* The driver's entry points. */
typedef struct kiln__cuda_driver {
#define KILN_CU(field, symbol, parameters) kiln__cu_result(*field) parameters;
#define KILN_CU_SINCE(version, field, symbol, parameters) KILN_CU(field, symbol, parameters)
#include "device/cuda/driver.def"
#undef KILN_CU_SINCE
#undef KILN_CU
    int version; /* 13000 for CUDA 13.0: what the driver supports at most */
} kiln__cuda_driver;

/* Valid once kiln__cuda_init() has succeeded. */
extern kiln__cuda_driver kiln__cu;

/*
 * Load and initialise the driver, at most once in a process; the outcome is remembered.
 * ERR_NO_DRIVER, ERR_NO_DEVICE (a driver but no GPU), ERR_DRIVER; ERR_FORK in a process forked
 * after the driver was initialised.
 */
kiln_status kiln__cuda_init(kiln_error *err);
/* Whether NVIDIA's driver, or a part of it, is on this machine. */
bool kiln__cuda_is_installed(void);

/* Copies of ordinary memory go through slots of page-locked memory of this size each (stage.c); from a copy of
 * KILN__STAGE_GROWS_AT on of the second size. */
#define KILN__STAGE_SLOTS 4
#define KILN__STAGE_BYTES ((size_t)2 << 20)
#define KILN__STAGE_BYTES_LARGE ((size_t)6 << 20)
#define KILN__STAGE_GROWS_AT ((size_t)64 << 20)

typedef struct kiln__cuda_stage {
    pthread_mutex_t lock;
    char *memory;      /* of all slots; NULL until needed */
    size_t slot_bytes; /* a multiple of what a thread copies at a time */
    kiln__cu_event event[KILN__STAGE_SLOTS]; /* the last transfer of each slot */
    bool busy[KILN__STAGE_SLOTS];            /* whether the event has to be waited for */
    int at;                                  /* the slot being filled */
    size_t used;                             /* bytes of it already taken */
    kiln__cu_stream stream;                  /* its transfers are all on this stream */
    bool failed;             /* no page-locked memory could be had: the driver copies directly */
    struct kiln__team *team; /* whose threads fill and empty the slots; NULL until needed */
} kiln__cuda_stage;

/* What a kiln__device of this backend has in `state`. */
typedef struct kiln__cuda {
    kiln__cu_context context; /* the primary one, retained */
    int device;
    kiln__cuda_stage stage;
} kiln__cuda;

/* ---- context ---- */

static inline kiln__cuda *kiln__cuda_of(const kiln__device *device)
{
    return device->state;
}

kiln_status kiln__cuda_push(kiln__device *device, kiln_error *err);
void kiln__cuda_pop(void);

/* Make the device's context current unless it is. `*pushed_out` goes to kiln__cuda_leave(). */
static inline kiln_status kiln__cuda_enter(kiln__device *device, bool *pushed_out, kiln_error *err)
{
    kiln__cu_context current = NULL;

    *pushed_out = false;
    if (kiln__cu.ctx_get_current(&current) == KILN__CU_OK &&
        current == kiln__cuda_of(device)->context)
        return KILN_OK;
    kiln_status status = kiln__cuda_push(device, err);
    *pushed_out = status == KILN_OK;
    return status;
}

static inline void kiln__cuda_leave(bool pushed)
{
    if (pushed)
        kiln__cuda_pop();
}

/* ---- errors ---- */

/* What a result means, as constant text of the driver. */
const char *kiln__cuda_text(kiln__cu_result result);

/* Turn a failed call into a status: ERR_FAULT (and the device is marked) for what a kernel did
 * earlier, ERR_DEVICE_MEMORY, ERR_DRIVER. `call` is the driver's name of the function. */
kiln_status kiln__cuda_fail(kiln__device *device, kiln__cu_result result, const char *call,
                            kiln_error *err);

/* KILN_OK, or kiln__cuda_fail(). */
static inline kiln_status kiln__cuda_status(kiln__device *device, kiln__cu_result result,
                                            const char *call, kiln_error *err)
{
    return result == KILN__CU_OK ? KILN_OK : kiln__cuda_fail(device, result, call, err);
}

/* Call driver function `field` with `arguments` while the context of `device` is current. A failure
 * is explained in `err` and returned. */
#define KILN__CU_CHECK(field, symbol, arguments)                                                   \
    do {                                                                                           \
        bool pushed;                                                                               \
        KILN_CHECK(kiln__cuda_enter(device, &pushed, err));                                        \
        const kiln__cu_result kiln__result = kiln__cu.field arguments;                             \
        kiln__cuda_leave(pushed);                                                                  \
        KILN_CHECK(kiln__cuda_status(device, kiln__result, symbol, err));                          \
    } while (0)

/* ---- captures ---- */

/* Held while a stream is captured: then the driver refuses to wait for the whole context. */
extern pthread_mutex_t kiln__cuda_capture;
/* Wait for all work of the current context; also while another thread captures. */
kiln__cu_result kiln__cuda_wait_for_all(void);

/* ---- parts of the backend's table ---- */

/* memory.c, stream.c, module.c */
#define KILN_BACKEND(result, name, parameters) result kiln__cuda_##name parameters;
#include "device/backend.def"
#undef KILN_BACKEND
/* stage.c: page-locked memory of the host, on the NUMA node that is nearest to the device. The context is
 * current. */
kiln__cu_result kiln__cuda_lock_memory(kiln__device *device, size_t bytes, unsigned kind, void **out);

/* A copy between the device and ordinary host memory; `up`: to the device, and `host` is only read.
 * On return the host memory is done with. `*staged_out`: false where there is no stage, and nothing was
 * copied. The context is current. */
kiln_status kiln__cuda_stage_copy(kiln__device *device, kiln__cu_pointer on_device, void *host,
                                  size_t bytes, bool up, kiln__cu_stream stream, bool *staged_out,
                                  kiln_error *err);
void kiln__cuda_stage_clear(kiln__device *device); /* the context is current */

/* module.c: let launches give a kernel so much shared memory. The context is current. */
kiln_status kiln__cuda_allow_shared(kiln__device *device, void *entry, uint32_t shared_bytes,
                                    kiln_error *err);

/* raw.c: let a kernel have what a launch asks for. The context is current. */
kiln_status kiln__cuda_raise_limits(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                    kiln_error *err);
extern const kiln__raw_backend kiln__raw_cuda;

#endif
