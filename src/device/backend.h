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
    /* NULL, or constant text for the fault that ended the device's life; see below. */
    _Atomic(const char *) fault;
    kiln_device_info info;
    char no_gpu[KILN_ERROR_MESSAGE_BYTES]; /* see kiln__device_no_gpu() */
    kiln_stream *stream;                   /* the device's own */
    kiln__pool *pool;
    kiln__host_pool *host_pool;
    _Atomic(int64_t *) report; /* of the host pool; NULL: no kernel may report anything yet */
    struct kiln__entry_name *entry_names; /* what observers know entries by; see runs.c */
    struct kiln__runs *runs; /* work whose times somebody observes; NULL: none yet */
};

/* A stream. The struct outlives its handle while it is retained or a pool block calls it home, so
 * that a pointer to it never means another stream. */
struct kiln_stream {
    kiln__device *device;
    void *native;
    kiln__recording *recording;     /* work for this stream is noted there, not enqueued */
    _Atomic(kiln_stream *) standin; /* while recorded: what work for this stream goes to */
    _Atomic(kiln_stream *) behind;  /* of a recording: where it was last run (retained); its work
                                       is done when that stream has passed */
    void *owner;                    /* of the layer above */
    kiln__pool_arena *arena;             /* the stream's part of the pool; made with the stream */
    void *closing_event;            /* once closed: the end of its work */
    bool wrapped;                   /* `native` belongs to somebody else */
    atomic_bool closed;             /* the handle is gone, and `native` with it */
    _Atomic(kiln__block *) tickets; /* NULL until first asked for; see kiln__stream_tickets() */
    atomic_uint refs;               /* the handle, the arena's blocks, kiln__stream_retain() */
    _Atomic(uint64_t) work;         /* see kiln__stream_enter() */
};

/* The native stream of one that is not recorded, for work that is about to be enqueued: counted, so that
 * kiln__stream_work() tells whether there has been any since it was last asked. */
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

/* Fill what `open` of a backend fills, and the backend. (dry.c) */
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

/* Whether an event's point has been passed; never waits. A fault counts as passed. */
static inline bool kiln__event_done(kiln__device *device, void *native)
{
    bool done = false;

    return device->backend->event_query(device, native, &done, NULL) != KILN_OK || done;
}

/* ---- steps of recordings (recording.c) ---- what calls on a recording stream become */
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

/* Remember that the device has faulted (the first text stays) and return ERR_FAULT with a message
 * that names the device. `what` must be constant text, e.g. "an illegal memory access". */
kiln_status kiln__device_fault(kiln__device *device, const char *what, kiln_error *err);

#endif
