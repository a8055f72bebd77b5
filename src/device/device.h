/*
 * device.h - the one door of src/device: two backends (cuda, cpu) behind one table of functions.
 *
 *     list > open > { memory pool, streams, events, copies, compile > load > launch }
 *
 * Rule 1: nothing here knows what an array, a dtype or a snippet is.
 * Rule 2: no CUDA library is linked: the driver and NVRTC are loaded at run time, once.
 * Rule 3: a kiln__device is one device in one context; its primary context (cuda) is retained
 *         while it lives, made current around calls and put back after.
 *
 * Threads: every function may be called from any thread.
 */
#ifndef KILN_DEVICE_DEVICE_H
#define KILN_DEVICE_DEVICE_H

#include "core/core.h"
#include "kiln/event.h"
#include "kiln/observer.h"

typedef struct kiln__device kiln__device;
typedef struct kiln__module kiln__module;
typedef struct kiln__block kiln__block;

/* ---- devices (device.c) ---- */

kiln_status kiln__device_list(kiln_device_info *infos, size_t capacity, size_t *count_out,
                              kiln_error *err);

/* Which device a name ("auto", "cpu", "cuda", "cuda:N", NULL = $KILN_DEVICE else auto) means, and
 * open it. `cpu_threads` 0 = all cores. */
kiln_status kiln__device_open(const char *name, int cpu_threads, kiln__device **out,
                              kiln_error *err);
/* Why "auto" took no GPU and opened the cpu; "" for a GPU, and where the cpu was asked for. */
const char *kiln__device_no_gpu(const kiln__device *device);
/* Waits for all work, frees the pool, releases the primary context. Accepts NULL. */
void kiln__device_close(kiln__device *device);
const kiln_device_info *kiln__device_info(const kiln__device *device);

/* ERR_FORK when this process is not the one that opened the device, ERR_FAULT once a kernel has
 * faulted; else KILN_OK. A few nanoseconds. */
kiln_status kiln__device_check(kiln__device *device, kiln_error *err);
/* True when device memory is host memory (cpu). */
bool kiln__device_is_host(const kiln__device *device);

/* ERR_ARGUMENT or ERR_CONTEXT for memory that somebody else has allocated and that kernels of the device
 * do not reach. */
kiln_status kiln__device_check_memory(kiln__device *device, const void *address, kiln_error *err);
/* Wait for everything on the device; reports a fault of an earlier kernel as ERR_FAULT. */
kiln_status kiln__device_synchronize(kiln__device *device, kiln_error *err);
/* The same, but what kernels have reported is left to the next who asks for results. */
kiln_status kiln__device_finish(kiln__device *device, kiln_error *err);

/* Words that kernels report to what they find wrong with the values in arrays (host_pool.c, report.c): memory of the
 * device and of the host, the same for all streams, until the device is closed. */
enum { KILN__REPORT_WORDS = 26 };
kiln_status kiln__device_report(kiln__device *device, int64_t **out, kiln_error *err);
/* What is said of a matrix of a stack that failed: the function's name, `why` with "%lld" for `number`, and the stack's
 * shape. A kernel that reports it writes these words, which begin with KILN__REPORT_MATRIX in the place of an axis. */
enum { KILN__REPORT_MATRIX = -1, KILN__REPORT_MATRIX_WORDS = 20, KILN__REPORT_MATRIX_RANK = 6 };
/* In the place of an axis: values that a function does not take. The names are the function's and a message with "%g"
 * for the double whose bits are the index. */
enum { KILN__REPORT_VALUE = -2 };
/* Where in a text the step stands that this thread enqueues from now on; 0: in none, -1: as it was. What kernels of the
 * step report is told with it. Returns what it was before. */
int kiln__report_column(int column);
void kiln__report_matrix_words(const char *function, const char *why, int rank,
                               const int64_t *stack, int64_t words[KILN__REPORT_MATRIX_WORDS]);
kiln_status kiln__fail_matrix(const char *function, const char *why, int64_t number, int64_t nth,
                              int rank, const int64_t *stack, kiln_error *err);

/* For libraries that are called directly: make the device's context current in this thread until
 * kiln__device_leave(), which puts back the one before. Nothing on cpu. (calls.c) */
kiln_status kiln__device_enter(kiln__device *device, bool *pushed_out, kiln_error *err);
void kiln__device_leave(kiln__device *device, bool pushed);

/* A library of the CUDA toolkit, looked for where docs/environment.md says. (cuda/find.c) */
typedef struct kiln__toolkit_search {
    const char *name;      /* "libnvrtc" */
    bool archive;          /* "libcudadevrt.a", which names no version */
    int majors[2];         /* versions of the file's name, best first; 0: none. Of an archive any one. */
    const char *wheels[2]; /* folders of its wheels, below site-packages/nvidia */
    bool (*accept)(const char *path, void *user); /* whether this file will do */
    void *user;
} kiln__toolkit_search;
/* Whether a file was accepted. */
bool kiln__toolkit_find(const kiln__toolkit_search *search);

/* ---- streams and events ---- `kiln_stream` and `kiln_event` (public, opaque) are defined in this
 * folder. They are made on a device; the context that owns one is kept by the layer above through
 * `owner`. `options` may be NULL for defaults. */
kiln_status kiln__stream_create(kiln__device *device, const kiln_stream_options *options,
                                kiln_stream **out, kiln_error *err);
/* A handle for a stream made elsewhere. */
kiln_status kiln__stream_wrap(kiln__device *device, void *native, kiln_stream **out,
                              kiln_error *err);
kiln_status kiln__stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                    kiln_error *err);
/* Enqueued work still completes. Accepts NULL. */
void kiln__stream_destroy(kiln_stream *stream);
/* Keep the struct (not the work) valid beyond _destroy, for whoever must name the stream later,
 * as kiln__pool_free's `used_on` does. Both accept NULL. */
kiln_stream *kiln__stream_retain(kiln_stream *stream);
void kiln__stream_release(kiln_stream *stream);
kiln_stream *kiln__device_home(kiln__device *device);   /* the device's own */
kiln_stream *kiln__device_stream(kiln__device *device); /* the device's own stream */
kiln__device *kiln__stream_device(const kiln_stream *stream);
/* CUstream, or NULL on cpu. Whoever asks is taken to enqueue work on it. */
void *kiln__stream_native(kiln_stream *stream);
/* Another number than before if anything has been enqueued since. */
uint64_t kiln__stream_work(const kiln_stream *stream);
/* Wait for the work that it has now, also where its handle is gone or goes meanwhile. (mark.c) */
void kiln__stream_await(kiln_stream *stream);
/* Whether the handle is gone; the struct is there while somebody retains it. */
bool kiln__stream_is_closed(const kiln_stream *stream);
void kiln__stream_set_owner(kiln_stream *stream, void *owner);
void *kiln__stream_owner(const kiln_stream *stream);
kiln_status kiln__stream_synchronize(kiln_stream *stream, kiln_error *err);
/* The same, but what kernels have reported is left to the next who asks for results. */
kiln_status kiln__stream_finish(kiln_stream *stream, kiln_error *err);
kiln_status kiln__stream_query(kiln_stream *stream, bool *done_out, kiln_error *err);
kiln_status kiln__stream_host_call(kiln_stream *stream, kiln_host_fn fn, void *user,
                                   kiln_error *err);
/* `stream` waits for what is enqueued on `other` now. */
kiln_status kiln__stream_wait(kiln_stream *stream, kiln_stream *other, kiln_error *err);
/* The same between a stream of kiln's and one of the driver's that has no handle here. */
kiln_status kiln__native_wait(kiln__device *device, void *native, kiln_stream *other,
                              kiln_error *err);
kiln_status kiln__stream_wait_native(kiln_stream *stream, void *native, kiln_error *err);

/* What an event is good for; see kiln_event_options. */
typedef struct kiln__event_kind {
    bool timing;
    bool blocking;
    bool interprocess;
} kiln__event_kind;
extern const kiln__event_kind kiln__event_plain; /* none of these: the cheapest */

/* Events measure device time between two points of streams (wall time on cpu). */
kiln_status kiln__event_create(kiln__device *device, const kiln__event_kind *kind, kiln_event **out,
                               kiln_error *err);
kiln_status kiln__event_open(kiln__device *device, const kiln_event_handle *handle,
                             kiln_event **out, kiln_error *err);
void kiln__event_destroy(kiln_event *event); /* accepts NULL */
/* The same but for the struct, which is the caller's to free with kiln__free(). */
void kiln__event_close(kiln_event *event);
bool kiln__event_is_closed(const kiln_event *event);
void *kiln__event_native(const kiln_event *event);
void kiln__event_set_owner(kiln_event *event, void *owner);
void *kiln__event_owner(const kiln_event *event);
kiln_status kiln__event_record(kiln_event *event, kiln_stream *stream, kiln_error *err);
/* Waits on the calling thread where the two devices cannot wait for each other. */
kiln_status kiln__stream_wait_event(kiln_stream *stream, kiln_event *event, kiln_error *err);
kiln_status kiln__event_query(kiln_event *event, bool *done_out, kiln_error *err);
kiln_status kiln__event_synchronize(kiln_event *event, kiln_error *err);
/* Waits for both. */
kiln_status kiln__event_elapsed_ms(kiln_event *start, kiln_event *end, double *ms_out,
                                   kiln_error *err);
kiln_status kiln__event_export(kiln_event *event, kiln_event_handle *handle_out, kiln_error *err);

/* ---- memory: the pool (pool.c) ---- Best fit with coalescing, 512-byte granularity, an arena a
 * stream, event-tracked reuse across streams. */
struct kiln__block {
    void *address;     /* device pointer (cuda) or host pointer (cpu), 512-byte aligned */
    size_t bytes;      /* usable size, a multiple of 512 */
    kiln_stream *home; /* the stream whose order governs its reuse */
};
/* `bytes` 0 gives a valid block with address NULL. ERR_DEVICE_MEMORY says asked, in use, held,
 * limit, device free and total, and the labels that most memory was allocated under. Tries: a free
 * block, the device, blocks that other streams use or have free (the stream waits for them), trim +
 * the device, waiting for other streams' blocks, the program's shortage function. */
kiln_status kiln__pool_alloc(kiln__device *device, size_t bytes, kiln_stream *stream,
                             kiln__block **out, kiln_error *err);
/* Give a block back; reusable at once in its home stream's order. `used_on` names the other
 * streams (`count`) that still may use it: reuse waits for an event on each. Accepts NULL. */
void kiln__pool_free(kiln__device *device, kiln__block *block, kiln_stream *const *used_on,
                     size_t count);
void kiln__pool_stats(kiln__device *device, kiln_pool_stats *out);
/* `count` ints that are zero whenever a kernel of this stream begins, provided that each kernel
 * that counts in them leaves zeros behind. NULL where a stream has none to offer: too many are
 * asked for, or the device (cpu) runs the work of several threads at once whatever their stream. */
kiln_status kiln__stream_tickets(kiln_stream *stream, int64_t count, void **address_out,
                                 kiln_error *err);
void kiln__pool_set_limit(kiln__device *device, size_t limit_bytes); /* 0: none */
size_t kiln__pool_trim(kiln__device *device);
/* Before anything is allocated: see kiln_context_options. `source` may be NULL. */
kiln_status kiln__pool_set_source(kiln__device *device, const kiln_memory_source *source,
                                  kiln_error *err);
void kiln__pool_set_shortage(kiln__device *device, kiln_shortage_fn fn, void *user);

/* ---- copies ---- All enqueue on `stream`. host_to_device is done with `src` when it returns;
 * device_to_host waits until `dst` is filled. */
kiln_status kiln__copy_host_to_device(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__copy_device_to_host(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__copy_device_to_device(kiln__device *device, void *dst, const void *src,
                                        size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__memset(kiln__device *device, void *dst, int byte, size_t bytes,
                         kiln_stream *stream, kiln_error *err);
/* Enqueue a copy from or to memory of kiln__host_alloc() and return; the memory is in use until the
 * stream has passed. */
kiln_status kiln__copy_enqueue(kiln__device *device, void *dst, const void *src, size_t bytes,
                               bool to_device, kiln_stream *stream, kiln_error *err);

/* ---- page-locked host memory (host_pool.c); see kiln/memory.h ---- */
kiln_status kiln__host_alloc(kiln__device *device, size_t bytes, bool write_combined, void **out,
                             kiln_error *err);
/* Accepts NULL; ignores what is not the start of memory handed out. */
void kiln__host_free(kiln__device *device, void *memory);
/* Whether all of the memory is of kiln__host_alloc() on this device. */
bool kiln__host_is_pinned(kiln__device *device, const void *address, size_t bytes);
void kiln__host_pool_stats(kiln__device *device, kiln_pool_stats *out);
void kiln__host_pool_set_limit(kiln__device *device, size_t limit_bytes); /* 0: none */
size_t kiln__host_pool_trim(kiln__device *device);

/* ---- compilers (compile.c: cuda/nvrtc.c, cpu/cxx.c) ---- need no device and no driver ---- */

/* What a kernel is compiled for. `backend` CUDA: target "sm_75".."sm_121"; CPU: "x86-64-v3", ... */
typedef struct kiln__target {
    kiln_backend backend;
    char name[32];
} kiln__target;

typedef struct kiln__compile_request {
    kiln__target target;
    const char *source;         /* NUL-terminated generated source */
    const char *const *options; /* the user's; those that are not allowed are ERR_ARGUMENT */
    size_t option_count;
    const char *const *names; /* modules: entities whose names in the binary are wanted; they follow
                                 it (names.c). The cpu's compiler takes none. */
    size_t name_count;
    const atomic_bool *cancel; /* NULL, or another thread's wish to stop: ERR_CANCELLED, as soon
                                  as the compiler can be stopped */
} kiln__compile_request;

typedef struct kiln__compile_result {
    unsigned char *binary; /* cubin, or a shared object's bytes; heap */
    size_t bytes;
    char *log; /* what the compiler said, also on success (warnings); heap or NULL */
    char *inputs; /* paths of all files it has read, one a line; heap, or NULL: it does not tell */
    size_t frame_bytes; /* of local memory a thread, of the function with most; 0: none, or not known */
} kiln__compile_result;
#define KILN__COMPILE_RESULT_INIT {NULL, 0, NULL, NULL, 0}
void kiln__compile_result_clear(kiln__compile_result *result);

/* Whether a compiler may get this option of a caller's (options.c). And whether a caller may give
 * some: ERR_ARGUMENT names the first that he may not. kiln__compile asks. */
bool kiln__option_allowed(kiln_backend backend, const char *option);
kiln_status kiln__options_check(kiln_backend backend, const char *const *options, size_t count,
                                kiln_error *err);

/* Whether the options ask NVRTC for code that is yet to be linked (-dc and its other names). */
bool kiln__options_relocatable(const char *const *options, size_t count);

/* Identity of the compiler that would compile for `backend`, without loading or running it when
 * that can be helped: version and build, nothing local to the machine. ERR_NO_NVRTC or
 * ERR_NO_COMPILER when there is none. Constant text, found once per process. */
kiln_status kiln__compiler_identity(kiln_backend backend, const char **id_out, kiln_error *err);

/* Compiler, fixed flags and $NVRTC_APPEND_FLAGS etc.: all that changes the binary besides source,
 * options and target. Appended to a cache key. */
void kiln__compiler_key(kiln_backend backend, kiln__buf *key);
/* Which known faults of that backend's compilers its binaries are free of: part of every key, with
 * and without a compiler at hand. A line or nothing. */
const char *kiln__compiler_faults(kiln_backend backend);

/* Folders searched for `#include <...>` after the user's -I, ending in NULL; for the include scan. */
const char *const *kiln__compiler_include_dirs(kiln_backend backend);
/* Whether the compiler may find headers in more folders than those and the options'. */
bool kiln__compiler_looks_further(kiln_backend backend);

/* Whether a compiler's log complains of the source or the options. One that does not tells of a
 * failure of the machine, which may pass. */
bool kiln__log_blames_source(const char *log);

/* Compile. ERR_COMPILE fills result->log and leaves explaining to the caller; ERR_NO_NVRTC /
 * ERR_NO_COMPILER say where was looked. No shell is ever started. */
kiln_status kiln__compile(const kiln__compile_request *request, kiln__compile_result *result,
                          kiln_error *err);

/* An option of the user's, but for C++ standards older than C++17, in which the prelude is written:
 * they are raised to that. */
const char *kiln__compiler_standard(const char *option);

/* The targets a backend's compiler can make, e.g. {"sm_75", ...}; count 0 when it is missing. */
size_t kiln__compiler_targets(kiln_backend backend, kiln__target *targets, size_t capacity);

/* The best target of this machine's processor, "x86-64-v3" for one; constant text. */
const char *kiln__cpu_target(void);
/* Cores this process may use: its affinity, bounded by the container's quota. At least 1. */
int kiln__cpu_core_count(void);

/* ---- devices that are not there (dry.c) ---- for those who want to know which kernels some work needs */

typedef struct kiln__dry_device {
    kiln__target target;
    int units;             /* multiprocessors or threads */
    uint32_t shared_bytes; /* that a block of a GPU may have */
} kiln__dry_device;

/* Memory of such a device holds nothing, what is enqueued is dropped, and values that are read from it are 0. No kernel
 * is compiled for it. */
kiln_status kiln__device_open_dry(const kiln__dry_device *what, kiln__device **out,
                                  kiln_error *err);
bool kiln__device_is_dry(const kiln__device *device);
/* The `shared_bytes` that a target may have, by number: one, or several for a GPU that is not known. False past the
 * end. */
bool kiln__dry_shared_bytes(const char *target, size_t nth, uint32_t *bytes_out);

/* ---- modules ---- */
kiln_status kiln__module_load(kiln__device *device, const void *binary, size_t bytes,
                              kiln__module **out, kiln_error *err);
void kiln__module_unload(kiln__module *module); /* accepts NULL */
/* A kernel's entry: CUfunction, or the address of a CPU kernel function. */
kiln_status kiln__module_entry(kiln__module *module, const char *name, void **entry_out,
                               kiln_error *err);
/* How much of the memory that is shared memory and L1 cache the kernel had better have as shared memory; 0: nothing is
 * known. It is no more than advice. */
void kiln__entry_prefer_shared(kiln__module *module, void *entry, int percent);

/* ---- launch ---- */

/* A CPU kernel: does units [begin, end) of the work. `args` is the argument block. */
typedef void (*kiln__cpu_entry)(const void *args, int64_t begin, int64_t end);

typedef struct kiln__launch_config {
    int64_t grid_x;          /* cuda: blocks. cpu: number of work units. */
    uint32_t grid_y, grid_z; /* cuda: blocks, 0 means 1. cpu: not used. */
    uint32_t block; /* cuda: threads a block. cpu: units that should stay together (>= 1). */
    uint32_t shared_bytes;
} kiln__launch_config;


/* Enqueue. `args` (args_bytes, at most 4096) is copied before the call returns. Takes no lock and
 * allocates nothing on cuda. A grid of 0 does nothing. */
kiln_status kiln__launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                         const void *args, size_t args_bytes, kiln_stream *stream, kiln_error *err);

/* ---- modules of the user's (raw.c) ---- kernels as their authors wrote them: any number of
 * parameters, three-dimensional grids and blocks. */

/* Most parameters that are looked at, and bytes that all arguments of a launch may have. */
#define KILN__RAW_PARAMS_MAX 256
#define KILN__RAW_BLOCK_MAX 4096

typedef struct kiln__raw_param {
    uint32_t offset, bytes; /* in the block of arguments */
    char kind;              /* cpu: 'i', 'u', 'b', 'f', 'p' (to what is written), 'c' (to const),
                               's'; 0 where it is not known */
} kiln__raw_param;

/* What a device lets one launch have; 0 where there is no such limit. */
typedef struct kiln__raw_limits {
    uint32_t grid[3], block[3];
    uint32_t block_threads, cluster_blocks;
    uint32_t shared_bytes; /* a block's, static and dynamic */
    int units;             /* multiprocessors */
    bool cooperative, programmatic;
} kiln__raw_limits;

typedef struct kiln__raw_attributes {
    int max_threads, registers, shared_bytes, local_bytes, const_bytes, max_dynamic_shared_bytes;
    int binary_version, ptx_version, cache_mode_ca, preferred_shared_percent;
} kiln__raw_attributes;

/* All of grid and block are at least 1; no cluster is all zeros. */
typedef struct kiln__raw_launch {
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes;
    bool cooperative, programmatic;
} kiln__raw_launch;

kiln_status kiln__raw_limits_get(kiln__device *device, kiln__raw_limits *out, kiln_error *err);
/* Load an image that nobody compiled for this device in particular: PTX (ended by a NUL), a cubin or
 * a fatbin, whose sizes were checked. ERR_DRIVER with the assembler's words in *log_out (heap, or
 * NULL). On the cpu a shared object of kiln__compile. */
kiln_status kiln__raw_load(kiln__device *device, const void *image, size_t bytes,
                           kiln__module **out, char **log_out, kiln_error *err);
/* A kernel of a module; ERR_NAME where it has none of that name. */
kiln_status kiln__raw_entry(kiln__module *module, const char *name, void **entry_out,
                            kiln_error *err);
/* A variable of a module: ERR_NAME where it has none of that name. */
kiln_status kiln__raw_symbol(kiln__module *module, const char *name, void **address_out,
                             size_t *bytes_out, bool *read_only_out, kiln_error *err);
/* What the kernel's parameters are: room for KILN__RAW_PARAMS_MAX. ERR_UNSUPPORTED where the driver
 * does not tell, or there are more. */
kiln_status kiln__raw_params(kiln__device *device, void *entry, kiln__raw_param *params,
                             size_t *count_out, kiln_error *err);
kiln_status kiln__raw_attributes_get(kiln__device *device, void *entry, kiln__raw_attributes *out,
                                     kiln_error *err);
/* How many blocks of such a launch fit the device at a time; whole clusters. */
kiln_status kiln__raw_occupancy(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                int64_t *blocks_out, kiln_error *err);

/* ---- recordings (recording.c) ---- work that is noted instead of enqueued, to be done many times.
 * Between _begin and _end the stream is stood in for by another, which kiln__stream_current() and
 * kiln__device_stream() give out: what is enqueued there becomes a step, and memory that is
 * allocated there belongs to the recording, so that nobody else gets it between two replays. */
typedef struct kiln__recording kiln__recording;

/* A place in a step's argument block that a later call may change. */
typedef struct kiln__arg_place {
    uint16_t offset, bytes;
    uint8_t dtype;     /* of a number, as the layer above counts them */
    uint8_t param;     /* which argument it is of */
    bool is_pointer;
    uint8_t call;      /* of several calls in one step: which it is of */
    const char *name;  /* of the parameter */
} kiln__arg_place;

/* What a step is, for those who look for places in it. */
typedef struct kiln__step_note {
    const char *kernel; /* its name */
    kiln__arg_place *places;
    size_t place_count;
} kiln__step_note;

/* Fill a note; where its `places` are NULL, all but them. Called only where the stream is recorded. */
typedef void (*kiln__describe_fn)(const void *user, kiln__step_note *note);
/* The note that it fills, with texts of its own, in one piece of memory; NULL without memory. */
kiln__step_note *kiln__note_make(kiln__describe_fn describe, const void *user);

/* ERR_ARGUMENT where the stream is recorded already. `owner` is the stand-in's; see
 * kiln__stream_set_owner(). */
kiln_status kiln__recording_begin(kiln_stream *stream, void *owner, kiln_error *err);
/* The stream's work is enqueued again from here on. Fails, and leaves nothing behind, with the
 * first failure of a step; ERR_ARGUMENT where the stream is not recorded. `out` NULL: drop it. */
kiln_status kiln__recording_end(kiln_stream *stream, kiln__recording **out, kiln_error *err);
/* The work of the steps still completes. Accepts NULL. */
void kiln__recording_destroy(kiln__recording *recording);
/* Do all steps, in their order. */
kiln_status kiln__recording_run(kiln__recording *recording, kiln_stream *stream, kiln_error *err);
size_t kiln__recording_step_count(const kiln__recording *recording);
/* The stand-in: what the steps use is used on it, for whoever must name a stream. */
kiln_stream *kiln__recording_stream(const kiln__recording *recording);

/* The stream that work for `stream` goes to now; and of such a stand-in, what it stands in for. */
kiln_stream *kiln__stream_current(kiln_stream *stream);
kiln_stream *kiln__stream_base(kiln_stream *stream);
/* Whether it is such a stand-in. */
bool kiln__stream_is_recording(const kiln_stream *stream);
/* How many steps the recording of such a stream has so far. */
size_t kiln__stream_step_count(kiln_stream *stream);
/* Where it is, `object` stays until the recording is destroyed, which calls `release`; where not,
 * or without memory, it is released at once. */
void kiln__stream_keep(kiln_stream *stream, void *object, void (*release)(void *object));
/* ERR_UNSUPPORTED for a recording stream, whose recording fails by it: `what` cannot be recorded. */
kiln_status kiln__stream_no_recording(kiln_stream *stream, const char *what, kiln_error *err);
/* Work that a library enqueues by itself on a stream of the backend's (`native`). It may be done several
 * times, each with the addresses that its block of arguments has then. */
typedef kiln_status (*kiln__library_fn)(const void *args, void *native, kiln_error *err);
/* Have a library enqueue work on a stream that is not recorded, as observers are told: a launch of a kernel of
 * that name. (runs.c) */
kiln_status kiln__library_call(kiln_stream *stream, const char *name, kiln__library_fn call,
                               const void *args, kiln_error *err);
/* Note such work on a recording stream; `args` is copied, and `describe(args, ..)` tells its addresses. */
kiln_status kiln__record_library(kiln_stream *stream, kiln__library_fn call, const void *args,
                                 size_t args_bytes, kiln__describe_fn describe, kiln_error *err);

/* Launch a kernel of the user's: enqueue. `block` holds the arguments at their offsets, and is the caller's
 * again on return. (raw.c) */
kiln_status kiln__raw_launch_run(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                 const kiln__raw_param *params, size_t count, const void *block,
                                 size_t bytes, kiln__describe_fn describe, const void *user,
                                 kiln_stream *stream, kiln_error *err);
/* As kiln__launch; `describe(user, ..)` tells what the step is. */
kiln_status kiln__launch_noted(kiln__device *device, void *entry,
                               const kiln__launch_config *config, const void *args,
                               size_t args_bytes, kiln__describe_fn describe, const void *user,
                               kiln_stream *stream, kiln_error *err);

/* One place of one step. */
typedef struct kiln__place {
    uint32_t step, index;
} kiln__place;

/* The places that hold an address inside [base, base + bytes), and those of the numbers that
 * kernels of that name take for a parameter of that name, all of one dtype. `out` is the caller's
 * to free. ERR_UNSUPPORTED where a step without a note has the address in it. */
kiln_status kiln__recording_find_memory(kiln__recording *recording, const void *base, size_t bytes,
                                        kiln__place **out, size_t *count_out, kiln_error *err);
kiln_status kiln__recording_find_number(kiln__recording *recording, const char *kernel,
                                        const char *parameter, kiln__place **out,
                                        size_t *count_out, uint8_t *dtype_out, kiln_error *err);
/* Move addresses by `bytes`; write a number. Runs that are enqueued already keep what they had. */
kiln_status kiln__recording_move(kiln__recording *recording, const kiln__place *places,
                                 size_t count, intptr_t bytes, kiln_error *err);
kiln_status kiln__recording_write(kiln__recording *recording, const kiln__place *places,
                                  size_t count, const void *value, size_t bytes, kiln_error *err);

/* ---- observers (watch.c, runs.c) ---- see kiln/observer.h. They are called one at a time, under a lock
 * that comes after all others. */
typedef struct kiln__observer {
    struct kiln__observer *next;
    const kiln__device *device; /* NULL: what happens on any */
    uint32_t kinds;
    kiln_observe_fn fn;
    void *user;
} kiln__observer;

/* What anybody observes now: KILN_OBSERVE() of kinds, and KILN__LABELLED once a thread has pushed a
 * label. */
extern _Atomic(uint32_t) kiln__watched;
#define KILN__LABELLED (UINT32_C(1) << 31)

static inline bool kiln__is_watched(uint32_t kinds)
{
    return (atomic_load_explicit(&kiln__watched, memory_order_relaxed) & kinds) != 0;
}

/* The struct is the caller's, and in use until _remove() has returned. */
void kiln__observer_add(kiln__observer *observer);
void kiln__observer_remove(kiln__observer *observer);
/* Between them no observer is called. False in an observer's function: nothing is held then. */
bool kiln__observers_hold(void);
void kiln__observers_let_go(void);
/* Tell those who observe the kind; the rest of `what` is filled in where it is NULL. `device` NULL: it
 * is of none. */
void kiln__watch_tell(const kiln__device *device, kiln_observation *what);
/* The thread calls a kernel from here on. `before` is what kiln__call_end() wants. */
void kiln__call_begin(const kiln__device *device, const char *kernel, const char **before_out);
void kiln__call_end(const kiln__device *device, const char *before, kiln_status status);
/* What observers know an entry of a module by; the name is copied. Without memory it has none. */
void kiln__entry_set_name(kiln__module *module, const void *entry, const char *name);
/* Tell of work that has run by now on `device`, or on all (NULL); or, with `wait`, of all work that
 * was enqueued. */
void kiln__runs_settle(const kiln__device *device, bool wait);

/* Names in a binary, behind its bytes (names.c). Append them, each ended by a NUL; find the nth, or
 * NULL where the bytes are not a binary with `count` names. `*image_bytes_out`, if not NULL, is the
 * size of the binary alone. */
void kiln__names_put(kiln__buf *binary, const char *const *names, size_t count);
const char *kiln__names_get(const void *binary, size_t bytes, size_t count, size_t nth,
                            size_t *image_bytes_out);
/* The compiler's log behind them: NULL is none; and as it was put, or NULL where the bytes have no log. What
 * stands before it has `*inner_bytes_out` bytes. */
void kiln__log_put(kiln__buf *binary, const char *log);
const char *kiln__log_get(const void *binary, size_t bytes, size_t *inner_bytes_out);

#endif
