/*
 * backend.h - what a backend must supply, and what it may know of a device. Private to src/device.
 *
 *     upper folders -> device.h -> device.c stream.c calls.c compile.c -> [kiln__backend] -> cuda/
 *                                                                                       cpu/
 *
 * A backend is one constant table of functions. The files beside this header do what both backends
 * need - choosing a device, the fork and fault check, streams, the pool - and call the table for
 * the rest. "native" below is the backend's own handle (CUstream, CUevent, ...), opaque to others.
 *
 * Rule 1: a callback is never called on a device of another process: calls.c checks first.
 *         `close` and the destroyers are the exception, see there.
 * Rule 2: whoever makes a thing through the table destroys it through the table, with the same
 *         device. Destroyers cannot fail and accept NULL.
 * Rule 3: every callback may run in any thread at any time; only `open` and `close` are alone with
 *         their device.
 * Rule 4: out parameters are NULL or 0 after a failure.
 */
#ifndef KILN_DEVICE_BACKEND_H
#define KILN_DEVICE_BACKEND_H

#include "device/device.h"

typedef struct kiln__backend kiln__backend;
typedef struct kiln__raw_backend kiln__raw_backend;
typedef struct kiln__pool kiln__pool;
typedef struct kiln__host_pool kiln__host_pool;
typedef struct kiln__pool_arena kiln__pool_arena;

/* Kernels take one struct by value; CUDA guarantees 4 KiB of parameters on every GPU. */
#define KILN__ARGS_BYTES_MAX 4096u

/* Stands for "the first device that works" where an ordinal is asked for. */
#define KILN__ORDINAL_ANY (-1)

/* One device in one context. `device.c` fills everything before it calls `open`, except `info`
 * and `state`, which `open` fills. */
struct kiln__device {
    const kiln__backend *backend;
    void *state;              /* the backend's own; freed by `close` */
    unsigned fork_generation; /* of the process that opened the device */
    /* NULL, or constant text for the fault that ended the device's life; see below. */
    _Atomic(const char *) fault;
    kiln_device_info info;
    char no_gpu[KILN_ERROR_MESSAGE_BYTES]; /* see kiln__device_no_gpu() */
    kiln_stream *stream;                   /* the device's own */
    kiln__pool *pool;
    kiln__host_pool *host_pool;
};

/* A stream. The struct outlives its handle while it is retained or a pool block calls it home, so
 * that a pointer to it never means another stream. */
struct kiln_stream {
    kiln__device *device;
    void *native;
    void *owner;                    /* of the layer above */
    kiln__pool_arena *arena;             /* the stream's part of the pool; made with the stream */
    void *closing_event;            /* once closed: the end of its work */
    bool wrapped;                   /* `native` belongs to somebody else */
    atomic_bool closed;             /* the handle is gone, and `native` with it */
    _Atomic(kiln__block *) tickets; /* NULL until first asked for; see kiln__stream_tickets() */
    atomic_uint refs;               /* the handle, the arena's blocks, kiln__stream_retain() */
};

struct kiln_event {
    kiln__device *device;
    void *native;
    void *owner;          /* of the layer above */
    bool timing;          /* whether it measures */
    atomic_bool recorded; /* at least once */
    atomic_bool closed;   /* the handle is gone, and `native` with it */
};

struct kiln__module {
    kiln__device *device;
    void *native;
};

struct kiln__backend {
    kiln_backend kind;
    const char *prefix; /* "cuda", "cpu": how device names begin */

    /* ---- devices ---- */

    /*
     * Describe the devices, usable or not, best first; returns how many there are (which may
     * exceed `capacity`). Never fails: what stands in the way is written to `reason`, if need be
     * in one entry that stands for the whole backend.
     */
    size_t (*list)(kiln_device_info *infos, size_t capacity);

    /*
     * Open number `ordinal` (KILN__ORDINAL_ANY: the first that works): fill `device->info` and
     * `device->state`. Must leave nothing behind on failure: ERR_NO_DRIVER, ERR_NO_DEVICE,
     * ERR_FORK and so on. `cpu_threads` 0 means all cores; cuda ignores it.
     */
    kiln_status (*open)(kiln__device *device, int ordinal, int cpu_threads, kiln_error *err);

    /* Free `device->state`; all work is done and everything made is destroyed. In a forked child
     * (kiln__device_forked()) it must only free host memory: no driver call, no thread joined. */
    void (*close)(kiln__device *device);

    /* Wait for all work on the device. ERR_FAULT when a kernel faulted. */
    kiln_status (*synchronize)(kiln__device *device, kiln_error *err);

    /* ---- streams ---- a backend that runs work at once may hand out NULL natives */

    kiln_status (*stream_priorities)(kiln__device *device, int *least_out, int *greatest_out,
                                     kiln_error *err);
    /* See kiln_stream_options. */
    kiln_status (*stream_create)(kiln__device *device, int priority, bool blocking,
                                 void **native_out, kiln_error *err);
    /* Enqueued work still completes. */
    void (*stream_destroy)(kiln__device *device, void *native);
    /* Take over the use (not the ownership) of a stream made elsewhere; NULL: unsupported.
     * Checks that it belongs to this device. */
    kiln_status (*stream_wrap)(kiln__device *device, void *native, kiln_error *err);
    kiln_status (*stream_synchronize)(kiln__device *device, void *native, kiln_error *err);
    /* Whether the stream's work is done; never waits. */
    kiln_status (*stream_query)(kiln__device *device, void *native, bool *done_out,
                                kiln_error *err);
    /* Work enqueued on `native` from now on waits for `event` as last recorded. */
    kiln_status (*stream_wait_event)(kiln__device *device, void *native, void *event,
                                     kiln_error *err);
    /* Call `fn` in the stream's order; see kiln_stream_host_call(). */
    kiln_status (*host_call)(kiln__device *device, void *native, kiln_host_fn fn, void *user,
                             kiln_error *err);

    /* ---- events ---- a point in a stream's work */

    /* ERR_UNSUPPORTED for a kind that the backend does not have. */
    kiln_status (*event_create)(kiln__device *device, const kiln__event_kind *kind,
                                void **event_out, kiln_error *err);
    void (*event_destroy)(kiln__device *device, void *event);
    kiln_status (*event_record)(kiln__device *device, void *event, void *native, kiln_error *err);
    /* Whether the point has been passed; never waits. */
    kiln_status (*event_query)(kiln__device *device, void *event, bool *done_out, kiln_error *err);
    kiln_status (*event_synchronize)(kiln__device *device, void *event, kiln_error *err);
    /* Both recorded with timing; waits for `end`. */
    kiln_status (*event_elapsed)(kiln__device *device, void *start, void *end, double *ms_out,
                                 kiln_error *err);
    /* Events of other processes; NULL: unsupported. */
    kiln_status (*event_export)(kiln__device *device, void *event, kiln_event_handle *handle_out,
                                kiln_error *err);
    kiln_status (*event_open)(kiln__device *device, const kiln_event_handle *handle,
                              void **event_out, kiln_error *err);

    /* ---- memory ---- for the pool, which takes large pieces and cuts them up */

    /* 512-byte aligned device memory. ERR_DEVICE_MEMORY when the device has none left (its
     * message is dropped: the pool tries other ways, and writes its own); another status for
     * anything else. */
    kiln_status (*raw_alloc)(kiln__device *device, size_t bytes, void **address_out,
                             kiln_error *err);
    /* No work uses the memory any more. `bytes` is what was asked for. */
    void (*raw_free)(kiln__device *device, void *address, size_t bytes);
    /* Bytes free and in all on the device; both 0 when that cannot be known. */
    void (*mem_info)(kiln__device *device, size_t *free_out, size_t *total_out);

    /* ---- copies ---- enqueued on `native`; bytes > 0 */

    /* `src` is the caller's again on return. */
    kiln_status (*copy_host_to_device)(kiln__device *device, void *dst, const void *src,
                                       size_t bytes, void *native, kiln_error *err);
    /* `dst` is filled on return. */
    kiln_status (*copy_device_to_host)(kiln__device *device, void *dst, const void *src,
                                       size_t bytes, void *native, kiln_error *err);
    kiln_status (*copy_device_to_device)(kiln__device *device, void *dst, const void *src,
                                         size_t bytes, void *native, kiln_error *err);
    kiln_status (*memory_set)(kiln__device *device, void *dst, int byte, size_t bytes, void *native,
                              kiln_error *err);

    /* Between the device and memory of host_alloc, in either direction; returns at once. */
    kiln_status (*enqueue_copy)(kiln__device *device, void *dst, const void *src, size_t bytes,
                                bool to_device, void *native, kiln_error *err);

    /* ---- host memory ---- that the device reaches by itself */

    /* ERR_NO_MEMORY. */
    kiln_status (*host_alloc)(kiln__device *device, size_t bytes, bool write_combined, void **out,
                              kiln_error *err);
    void (*host_free)(kiln__device *device, void *memory); /* no copy uses it any more */

    /* ---- modules ---- */

    /* `binary` (a result of `compile`) is the caller's again on return. */
    kiln_status (*module_load)(kiln__device *device, const void *binary, size_t bytes,
                               void **module_out, kiln_error *err);
    /* No work uses it any more, or the backend waits for that. */
    void (*module_unload)(kiln__device *device, void *module);
    /* What `launch` takes as `entry`; valid until the module is unloaded. ERR_INTERNAL for a name
     * that is not there. */
    kiln_status (*module_entry)(kiln__device *device, void *module, const char *name,
                                void **entry_out, kiln_error *err);

    /* The grid is not 0, args_bytes is at most KILN__ARGS_BYTES_MAX; `args` is the caller's again
     * on return. Takes no lock and allocates nothing on cuda. */
    kiln_status (*launch)(kiln__device *device, void *entry, const kiln__launch_config *config,
                          const void *args, size_t args_bytes, void *native, kiln_error *err);

    const kiln__raw_backend *raw; /* modules and kernels of the user's; see raw.c */

    /* ---- the compiler ---- needs no device; see the functions of the same names in device.h */

    kiln_status (*compiler_identity)(const char **id_out, kiln_error *err);
    void (*compiler_key)(kiln__buf *key);
    const char *compiler_faults; /* a line or nothing, for keys */
    const char *const *(*compiler_include_dirs)(void);
    bool (*compiler_looks_further)(void);
    kiln_status (*compile)(const kiln__compile_request *request, kiln__compile_result *result,
                           kiln_error *err);
    size_t (*compiler_targets)(kiln__target *targets, size_t capacity);
};

/* What src/device/raw.c hands on; see the functions of these names in device.h. */
struct kiln__raw_backend {
    kiln_status (*limits)(kiln__device *device, kiln__raw_limits *out, kiln_error *err);
    kiln_status (*load)(kiln__device *device, const void *image, void **module_out, char **log_out,
                        kiln_error *err);
    kiln_status (*symbol)(kiln__device *device, void *module, const char *name, void **address_out,
                          size_t *bytes_out, bool *read_only_out, kiln_error *err);
    kiln_status (*params)(kiln__device *device, void *entry, kiln__raw_param *params,
                          size_t *count_out, kiln_error *err);
    kiln_status (*attributes)(kiln__device *device, void *entry, kiln__raw_attributes *out,
                              kiln_error *err);
    kiln_status (*occupancy)(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                             int64_t *blocks_out, kiln_error *err);
    kiln_status (*launch)(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                          const kiln__raw_param *params, size_t count, const void *block,
                          size_t bytes, void *native, kiln_error *err);
};

extern const kiln__backend kiln__backend_cuda; /* cuda/cuda.c */
extern const kiln__backend kiln__backend_cpu;  /* cpu/cpu.c */

/* ---- helpers for backends (calls.c) ---- */

/* Whether this process is a fork of the one that opened the device. */
static inline bool kiln__device_forked(const kiln__device *device)
{
    return device->fork_generation != kiln__fork_generation();
}

/* True while the device may be used: two relaxed loads. */
static inline bool kiln__device_ok(const kiln__device *device)
{
    return !kiln__device_forked(device) &&
           atomic_load_explicit(&device->fault, memory_order_relaxed) == NULL;
}

/* Whether an event's point has been passed; never waits. A fault counts as passed. */
static inline bool kiln__event_done(kiln__device *device, void *native)
{
    bool done = false;

    return device->backend->event_query(device, native, &done, NULL) != KILN_OK || done;
}

/* Remember that the device has faulted (the first text stays) and return ERR_FAULT with a message
 * that names the device. `what` must be constant text, e.g. "an illegal memory access". */
kiln_status kiln__device_fault(kiln__device *device, const char *what, kiln_error *err);

#endif
