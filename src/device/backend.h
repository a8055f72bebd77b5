/*
 * backend.h - the functions that a backend supplies, and the structs that it may read. Private to
 * src/device.
 *
 *     upper folders -> device.h -> device.c stream.c calls.c compile.c -> [kiln__backend] -> cuda/
 *                                                                                       cpu/
 *
 * A backend is one constant table of functions. The files beside this header do what both backends
 * need (choosing a device, the checks for forks and faults, streams, the pool) and call the table
 * for the rest. `native` is the backend's own handle: a CUstream, a CUevent, ...
 *
 * Rule 1: a function is never called for a device of another process: calls.c checks that. `close`
 *         and the destroyers are exceptions, see there.
 * Rule 2: what one of the functions has made is destroyed by another one, with the same device.
 *         Destroyers cannot fail and accept NULL.
 * Rule 3: every function may be called by several threads at once, but for `open` and `close`.
 * Rule 4: out parameters are NULL or 0 after a failure.
 */
#ifndef KILN_DEVICE_BACKEND_H
#define KILN_DEVICE_BACKEND_H

#include "device/device.h"

typedef struct kiln__backend kiln__backend;
typedef struct kiln__raw_backend kiln__raw_backend;
typedef struct kiln__step kiln__step; /* recording.h */
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
    _Atomic(const char *) fault; /* constant text of the fault after which the device cannot be
                                    used; NULL: none. See kiln__device_fault(). */
    kiln_device_info info;
    char no_gpu[KILN_ERROR_MESSAGE_BYTES]; /* see kiln__device_no_gpu() */
    bool misses_gpu;                       /* see kiln__device_misses_gpu() */
    kiln_stream *stream;                   /* the device's own */
    kiln__pool *pool;
    kiln__host_pool *host_pool;
    _Atomic(int64_t *) report; /* see kiln__device_report(); NULL: not made yet */
    struct kiln__entry_name *entry_names; /* the names by which observers know entries (runs.c) */
    struct kiln__runs *runs; /* work whose times are observed; NULL: none yet */
};

/* A stream. The struct is freed when the handle is destroyed, nobody retains it and no block of the
 * pool has it as its home, so that a pointer to it never means another stream. */
struct kiln_stream {
    kiln__device *device;
    void *native;
    kiln__recording *recording;     /* of a stand-in: the recording that its work goes to; else NULL */
    _Atomic(kiln_stream *) standin; /* of a recorded stream: its stand-in; else NULL */
    _Atomic(kiln_stream *) behind;  /* of a stand-in: the stream on which the recording was last run
                                       (retained), whose work includes that run */
    void *owner;                    /* of the layer above */
    kiln__pool_arena *arena;             /* the stream's part of the pool; made with the stream */
    void *closing_event;            /* of a destroyed stream: recorded after all of its work */
    bool wrapped;                   /* the user owns `native` */
    atomic_bool closed;             /* the handle is gone, and `native` with it */
    _Atomic(kiln__block *) tickets; /* NULL until first asked for; see kiln__stream_tickets() */
    atomic_uint refs;               /* the handle, the arena's blocks, kiln__stream_retain() */
    _Atomic(uint64_t) work;         /* see kiln__stream_enter() */
};

/* The native stream, on which the caller is about to enqueue work; counts it for
 * kiln__stream_work(). The stream must not be recorded. */
static inline void *kiln__stream_enter(kiln_stream *stream)
{
    (void)atomic_fetch_add_explicit(&stream->work, 1, memory_order_relaxed);
    return stream->native;
}

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
     * Describe up to `capacity` devices, usable or not, best first. Returns how many there are. It
     * never fails: an error goes into `reason` of a device, or of one entry for the whole backend.
     */
    size_t (*list)(kiln_device_info *infos, size_t capacity);

    /* Whether there is a sign that this machine has such a device. NULL: it always has one. */
    bool (*is_installed)(void);

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

    /* See kiln__device_enter(); both NULL where there is nothing to enter. */
    kiln_status (*enter)(kiln__device *device, bool *pushed_out, kiln_error *err);
    void (*leave)(bool pushed);

    /* ---- streams, events, memory, copies, modules, launches ---- */
#define KILN_BACKEND(result, name, parameters) result(*name) parameters;
#include "device/backend.def"
#undef KILN_BACKEND

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

/* The functions that raw.c calls; see those of the same names in device.h. */
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

/* Fill in device->backend, and what the backend's `open` fills in. (dry.c) */
kiln_status kiln__dry_open(kiln__device *device, const kiln__dry_device *what, kiln_error *err);

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

/* Whether an event is reached, without waiting. After a fault it counts as reached. */
static inline bool kiln__event_done(kiln__device *device, void *native)
{
    bool done = false;

    return device->backend->event_query(device, native, &done, NULL) != KILN_OK || done;
}

/* ---- recordings (recording.c) ---- Each adds a step to the recording of a stand-in. */
kiln_status kiln__record_launch(kiln_stream *stream, void *entry, const kiln__launch_config *config,
                                const void *args, size_t args_bytes, kiln__describe_fn describe,
                                const void *user, kiln_error *err);
kiln_status kiln__record_raw(kiln_stream *stream, void *entry, const kiln__raw_launch *launch,
                             const kiln__raw_param *params, size_t count, const void *block,
                             size_t bytes, kiln__describe_fn describe, const void *user,
                             kiln_error *err);
kiln_status kiln__record_copy(kiln_stream *stream, void *dst, const void *src, size_t bytes,
                              kiln_error *err);
kiln_status kiln__record_transfer(kiln_stream *stream, void *dst, const void *src, size_t bytes,
                                  bool to_device, kiln_error *err);
kiln_status kiln__record_memset(kiln_stream *stream, void *dst, int byte, size_t bytes,
                                kiln_error *err);
kiln_status kiln__record_host_call(kiln_stream *stream, kiln_host_fn fn, void *user,
                                   kiln_error *err);

/* Set device->fault, unless it is set, and return ERR_FAULT with a message that names the device.
 * `what` is constant text such as "an illegal memory access". */
kiln_status kiln__device_fault(kiln__device *device, const char *what, kiln_error *err);

#endif
