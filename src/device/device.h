/*
 * device.h - the header through which other folders use src/device: two backends (cuda, cpu) behind
 * one table of functions.
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

/* Describe up to `capacity` devices; *count_out is how many there are. */
kiln_status kiln__device_list(kiln_device_info *infos, size_t capacity, size_t *count_out,
                              kiln_error *err);

/* Open the device of that name: "auto", "cpu", "cuda", "cuda:N"; NULL: $KILN_DEVICE, else "auto".
 * `cpu_threads` 0: one for each core. */
kiln_status kiln__device_open(const char *name, int cpu_threads, kiln__device **out,
                              kiln_error *err);
/* Why "auto" opened the cpu and no GPU; "" for a GPU, and for a cpu that was asked for by name. */
const char *kiln__device_no_gpu(const kiln__device *device);
/* Whether "auto" opened the cpu on a machine where NVIDIA's driver is installed: its user probably
 * expects the GPU. */
bool kiln__device_misses_gpu(const kiln__device *device);
/* Wait for all work, free the pool, release the primary context. Accepts NULL. */
void kiln__device_close(kiln__device *device);
const kiln_device_info *kiln__device_info(const kiln__device *device);

/* ERR_FORK when this process is not the one that opened the device, ERR_FAULT once a kernel has
 * faulted; else KILN_OK. Takes a few nanoseconds. */
kiln_status kiln__device_check(kiln__device *device, kiln_error *err);
/* Whether device memory is host memory, as on the cpu. */
bool kiln__device_is_host(const kiln__device *device);

/* Check that kernels of the device can access memory which was not allocated by it. ERR_ARGUMENT
 * for memory of the host, ERR_CONTEXT for memory of another device. */
kiln_status kiln__device_check_memory(kiln__device *device, const void *address, kiln_error *err);
/* Wait for all work on the device. ERR_FAULT for a fault of an earlier kernel; ERR_INDEX,
 * ERR_SINGULAR or ERR_RANGE for what a kernel has reported (report.c). */
kiln_status kiln__device_synchronize(kiln__device *device, kiln_error *err);
/* The same, but reports of kernels are left for the next _synchronize. */
kiln_status kiln__device_finish(kiln__device *device, kiln_error *err);

/* ---- reports of kernels (report.c) ---- A kernel that finds a bad value in an array writes these
 * words, which the device and the host can access. A device has one report for all streams, made by
 * the first call and valid until the device is closed. */
enum { KILN__REPORT_WORDS = 26 };
kiln_status kiln__device_report(kiln__device *device, int64_t **out, kiln_error *err);
/* Report, from a host's kernel, that element `at` of `indices` names nothing of the axis, which has `extent` elements. */
void kiln__report_index(int64_t *report, int64_t index, int64_t extent, int axis, int64_t at,
                        const char *array, const char *indices);
/* Values of the word that otherwise says which axis a bad index is of. MATRIX: a matrix of a stack
 * failed; the words that follow are those of kiln__report_matrix_words(). VALUE: a function does
 * not accept a value; the names are the function's, and a message with "%g" for the double whose
 * bits are in the word of the index. */
enum { KILN__REPORT_MATRIX = -1, KILN__REPORT_VALUE = -2 };
/* Write the words that a kernel puts into a report of a matrix: the function's name, `why`, in
 * which "%lld" stands for a number that the kernel adds, and the stack's shape. */
enum { KILN__REPORT_MATRIX_WORDS = 20, KILN__REPORT_MATRIX_RANK = 6 };
void kiln__report_matrix_words(const char *function, const char *why, int rank,
                               const int64_t *stack, int64_t words[KILN__REPORT_MATRIX_WORDS]);
/* Fail with the same message on the host, about matrix `nth` of the stack. */
kiln_status kiln__fail_matrix(const char *function, const char *why, int64_t number, int64_t nth,
                              int rank, const int64_t *stack, kiln_error *err);
/* Set the byte of an expression's text, from 1, of the step that this thread enqueues next, which
 * reports of its kernels name; 0: of no text; -1: leave it. Returns the value before. */
int kiln__report_column(int column);

/* Make the device's context current in this thread, for libraries that are called directly, until
 * kiln__device_leave(), which restores the one before. Does nothing on cpu. (calls.c) */
kiln_status kiln__device_enter(kiln__device *device, bool *pushed_out, kiln_error *err);
void kiln__device_leave(kiln__device *device, bool pushed);

/* How to find a library of the CUDA toolkit; docs/environment.md says where is searched.
 * (cuda/find.c) */
typedef struct kiln__toolkit_search {
    const char *name;      /* "libnvrtc" */
    bool archive;          /* it is a .a file, whose name has no version */
    int majors[2];         /* versions in the file's name, best first; 0: none. Not used for
                              archives. */
    const char *wheels[2]; /* folders of its Python wheels, below site-packages/nvidia */
    bool (*accept)(const char *path, void *user); /* try a file; returns whether it can be used */
    void *user;
} kiln__toolkit_search;
/* Try files until one is accepted. Returns whether one was. */
bool kiln__toolkit_find(const kiln__toolkit_search *search);

/* ---- streams and events ---- `kiln_stream` and `kiln_event` (public, opaque) are defined in this
 * folder. `owner` is for the layer above, which keeps the context there. `options` may be NULL for
 * defaults. */
kiln_status kiln__stream_create(kiln__device *device, const kiln_stream_options *options,
                                kiln_stream **out, kiln_error *err);
/* Make a handle for a CUstream that the caller owns. */
kiln_status kiln__stream_wrap(kiln__device *device, void *native, kiln_stream **out,
                              kiln_error *err);
kiln_status kiln__stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                    kiln_error *err);
/* Enqueued work still completes. Accepts NULL. */
void kiln__stream_destroy(kiln_stream *stream);
/* Keep the struct (not the work) valid after _destroy, until it is released as often as it was
 * retained: kiln__pool_free() may name the stream later. Both accept NULL. */
kiln_stream *kiln__stream_retain(kiln_stream *stream);
void kiln__stream_release(kiln_stream *stream);
/* The device's own stream; _stream() gives the stand-in while that is recorded, _home() never does. */
kiln_stream *kiln__device_stream(kiln__device *device);
kiln_stream *kiln__device_home(kiln__device *device);
kiln__device *kiln__stream_device(const kiln_stream *stream);
/* The CUstream, NULL on cpu. The caller is assumed to enqueue work on it. */
void *kiln__stream_native(kiln_stream *stream);
/* A number that changes whenever work is enqueued. */
uint64_t kiln__stream_work(const kiln_stream *stream);
/* Wait for the work that the stream has now, also if it was destroyed, or is meanwhile. (mark.c) */
void kiln__stream_await(kiln_stream *stream);
/* Whether the stream was destroyed; it must be retained. */
bool kiln__stream_is_closed(const kiln_stream *stream);
void kiln__stream_set_owner(kiln_stream *stream, void *owner);
void *kiln__stream_owner(const kiln_stream *stream);
/* As kiln__device_synchronize() and kiln__device_finish(), for the work of one stream. */
kiln_status kiln__stream_synchronize(kiln_stream *stream, kiln_error *err);
kiln_status kiln__stream_finish(kiln_stream *stream, kiln_error *err);
kiln_status kiln__stream_query(kiln_stream *stream, bool *done_out, kiln_error *err);
kiln_status kiln__stream_host_call(kiln_stream *stream, kiln_host_fn fn, void *user,
                                   kiln_error *err);
/* `stream` waits for what is enqueued on `other` now. */
kiln_status kiln__stream_wait(kiln_stream *stream, kiln_stream *other, kiln_error *err);
/* The same for a CUstream without a handle: it waits for `other`, or `stream` waits for it. */
kiln_status kiln__native_wait(kiln__device *device, void *native, kiln_stream *other,
                              kiln_error *err);
kiln_status kiln__stream_wait_native(kiln_stream *stream, void *native, kiln_error *err);

/* The options of an event; see kiln_event_options. */
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
/* The same, but the caller frees the struct, with kiln__free(). */
void kiln__event_close(kiln_event *event);
bool kiln__event_is_closed(const kiln_event *event);
void *kiln__event_native(const kiln_event *event);
void kiln__event_set_owner(kiln_event *event, void *owner);
void *kiln__event_owner(const kiln_event *event);
kiln_status kiln__event_record(kiln_event *event, kiln_stream *stream, kiln_error *err);
/* Make the stream wait for an event. Where it is of a device that the stream's cannot wait for, the
 * calling thread waits. */
kiln_status kiln__stream_wait_event(kiln_stream *stream, kiln_event *event, kiln_error *err);
kiln_status kiln__event_query(kiln_event *event, bool *done_out, kiln_error *err);
kiln_status kiln__event_synchronize(kiln_event *event, kiln_error *err);
/* Give the time between two events; waits for both. */
kiln_status kiln__event_elapsed_ms(kiln_event *start, kiln_event *end, double *ms_out,
                                   kiln_error *err);
kiln_status kiln__event_export(kiln_event *event, kiln_event_handle *handle_out, kiln_error *err);

/* ---- memory: the pool (pool.c) ---- Best fit with coalescing, in units of 512 bytes. Each stream
 * has an arena; events order the reuse of memory by another stream. */
struct kiln__block {
    void *address;     /* device pointer (cuda) or host pointer (cpu), 512-byte aligned */
    size_t bytes;      /* usable size, a multiple of 512 */
    kiln_stream *home; /* the stream in whose order it is reused */
};
/* Allocate for use on `stream`. `bytes` 0 gives a valid block with address NULL. In this order, it
 * tries: a free block; the device; blocks of other streams (the stream then waits for these); the
 * device after a trim; waiting for blocks of other streams; the program's shortage function. The
 * message of ERR_DEVICE_MEMORY says what was asked for, in use, held and allowed, what the device
 * has free and in all, and under which labels most memory was allocated. */
kiln_status kiln__pool_alloc(kiln__device *device, size_t bytes, kiln_stream *stream,
                             kiln__block **out, kiln_error *err);
/* Free a block. Later work on its home stream may reuse it at once. `used_on` are other streams
 * that may still use it; reuse waits for an event on each of them. Accepts NULL. */
void kiln__pool_free(kiln__device *device, kiln__block *block, kiln_stream *const *used_on,
                     size_t count);
void kiln__pool_stats(kiln__device *device, kiln_pool_stats *out);
/* Give the address of `count` ints that are zero whenever a kernel of this stream begins; every
 * kernel that uses them must leave them zeroed. *address_out is NULL if `count` is too large, and
 * on the cpu, where kernels of one stream may run at the same time. */
kiln_status kiln__stream_tickets(kiln_stream *stream, int64_t count, void **address_out,
                                 kiln_error *err);
void kiln__pool_set_limit(kiln__device *device, size_t limit_bytes); /* 0: none */
size_t kiln__pool_trim(kiln__device *device); /* returns the bytes given back to the device */
/* Set where memory comes from (kiln_context_options), before any is allocated. `source` may be
 * NULL. */
kiln_status kiln__pool_set_source(kiln__device *device, const kiln_memory_source *source,
                                  kiln_error *err);
void kiln__pool_set_shortage(kiln__device *device, kiln_shortage_fn fn, void *user);

/* ---- copies ---- All enqueue on `stream`. host_to_device no longer reads `src` when it returns;
 * device_to_host returns when `dst` is filled. */
kiln_status kiln__copy_host_to_device(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__copy_device_to_host(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__copy_device_to_device(kiln__device *device, void *dst, const void *src,
                                        size_t bytes, kiln_stream *stream, kiln_error *err);
kiln_status kiln__memset(kiln__device *device, void *dst, int byte, size_t bytes,
                         kiln_stream *stream, kiln_error *err);
/* Enqueue a copy from or to memory of kiln__host_alloc(), which is in use until the stream has done
 * it. */
kiln_status kiln__copy_enqueue(kiln__device *device, void *dst, const void *src, size_t bytes,
                               bool to_device, kiln_stream *stream, kiln_error *err);

/* ---- page-locked host memory (host_pool.c); see kiln/memory.h ---- */
kiln_status kiln__host_alloc(kiln__device *device, size_t bytes, bool write_combined, void **out,
                             kiln_error *err);
/* Does nothing for NULL, and for addresses that kiln__host_alloc() did not return. */
void kiln__host_free(kiln__device *device, void *memory);
/* Whether all of the memory was allocated by kiln__host_alloc() on this device. */
bool kiln__host_is_pinned(kiln__device *device, const void *address, size_t bytes);
void kiln__host_pool_stats(kiln__device *device, kiln_pool_stats *out);
void kiln__host_pool_set_limit(kiln__device *device, size_t limit_bytes); /* 0: none */
size_t kiln__host_pool_trim(kiln__device *device);

/* ---- compilers (compile.c: cuda/nvrtc.c, cpu/cxx.c) ---- These need no device and no driver. */

/* What a kernel is compiled for: "sm_75".."sm_121" (cuda), "x86-64-v3", ... (cpu). */
typedef struct kiln__target {
    kiln_backend backend;
    char name[32];
} kiln__target;

typedef struct kiln__compile_request {
    kiln__target target;
    const char *source;         /* NUL-terminated generated source */
    const char *const *options; /* the user's; ERR_ARGUMENT for those that are not allowed */
    size_t option_count;
    const char *const *names; /* modules, cuda: C++ names whose names in the binary are put behind
                                 it (names.c) */
    size_t name_count;
    const atomic_bool *cancel; /* may be NULL. Once another thread sets it, compiling fails with
                                  ERR_CANCELLED, as soon as the compiler can be stopped */
} kiln__compile_request;

/* All pointers are to heap memory. */
typedef struct kiln__compile_result {
    unsigned char *binary; /* a cubin, or the bytes of a shared object */
    size_t bytes;
    char *log;    /* the compiler's messages, also on success (warnings); NULL: none */
    char *inputs; /* the paths of all files that it has read, one on each line; NULL: unknown */
    size_t frame_bytes; /* the most local memory for each thread that a function uses; 0: none, or
                           unknown */
} kiln__compile_result;
#define KILN__COMPILE_RESULT_INIT {NULL, 0, NULL, NULL, 0}
void kiln__compile_result_clear(kiln__compile_result *result);

/* Whether the compiler may be given this option of a user's; and a check of several, whose
 * ERR_ARGUMENT names the first that is not allowed. kiln__compile() makes that check. (options.c) */
bool kiln__option_allowed(kiln_backend backend, const char *option);
kiln_status kiln__options_check(kiln_backend backend, const char *const *options, size_t count,
                                kiln_error *err);

/* Whether the options ask NVRTC for relocatable code, which must be linked (-dc and its other
 * names). */
bool kiln__options_relocatable(const char *const *options, size_t count);

/* Give the version and build of the backend's compiler, with nothing that is local to the machine.
 * The compiler is loaded or run only if need be. ERR_NO_NVRTC or ERR_NO_COMPILER if there is none.
 * Constant text, found once for the process. */
kiln_status kiln__compiler_identity(kiln_backend backend, const char **id_out, kiln_error *err);

/* Append to a cache key everything that the binary depends on besides source, options and target:
 * the compiler, fixed flags, $NVRTC_APPEND_FLAGS, ... */
void kiln__compiler_key(kiln_backend backend, kiln__buf *key);
/* Which known faults of the backend's compilers kiln avoids, as a line or "". It is a part of every
 * key, also where no compiler is installed. */
const char *kiln__compiler_faults(kiln_backend backend);

/* The folders that the compiler searches for `#include <...>` after the user's -I, ended by NULL. */
const char *const *kiln__compiler_include_dirs(kiln_backend backend);
/* Whether the compiler may search folders other than those and the options'. */
bool kiln__compiler_looks_further(kiln_backend backend);

/* Whether a compiler's log has an error of the source or the options. Other failures are the
 * machine's, and may be temporary. */
bool kiln__log_blames_source(const char *log);

/* Compile. After ERR_COMPILE the caller explains result->log; ERR_NO_NVRTC and ERR_NO_COMPILER say
 * which places were searched. No shell is started. */
kiln_status kiln__compile(const kiln__compile_request *request, kiln__compile_result *result,
                          kiln_error *err);

/* The option itself, or -std=c++17 for an older standard: the prelude needs C++17. */
const char *kiln__compiler_standard(const char *option);

/* List up to `capacity` targets that the backend's compiler has ("sm_75", ...). Returns how many; 0
 * if there is no compiler. */
size_t kiln__compiler_targets(kiln_backend backend, kiln__target *targets, size_t capacity);

/* The best target for this machine's processor, such as "x86-64-v3"; constant text. */
const char *kiln__cpu_target(void);
/* The cores that this process may use: its affinity, bounded by the container's quota. At least 1. */
int kiln__cpu_core_count(void);

/* ---- dry devices (dry.c) ---- They stand for a target, to find which kernels some work needs. */

typedef struct kiln__dry_device {
    kiln__target target;
    int units;             /* multiprocessors or threads */
    uint32_t shared_bytes; /* the most shared memory of a GPU's block */
} kiln__dry_device;

/* Open a dry device: its memory has addresses and no contents, work that is enqueued is dropped,
 * values that are read are 0, and nothing is compiled. */
kiln_status kiln__device_open_dry(const kiln__dry_device *what, kiln__device **out,
                                  kiln_error *err);
bool kiln__device_is_dry(const kiln__device *device);
/* Give the nth value of `shared_bytes` that devices of a target may have: there is one, or several
 * for an unknown GPU. Returns false past the last. */
bool kiln__dry_shared_bytes(const char *target, size_t nth, uint32_t *bytes_out);

/* ---- modules ---- */
kiln_status kiln__module_load(kiln__device *device, const void *binary, size_t bytes,
                              kiln__module **out, kiln_error *err);
void kiln__module_unload(kiln__module *module); /* accepts NULL */
/* Give a kernel's entry, valid until the module is unloaded: a CUfunction, or a function's address. */
kiln_status kiln__module_entry(kiln__module *module, const char *name, void **entry_out,
                               kiln_error *err);
/* Advise the driver to make `percent` of a multiprocessor's L1 memory shared memory for this
 * kernel; 0: no advice. */
void kiln__entry_prefer_shared(kiln__module *module, void *entry, int percent);

/* ---- launch ---- */

/* A kernel of the cpu device: it does work units [begin, end). `args` is the argument block. */
typedef void (*kiln__cpu_entry)(const void *args, int64_t begin, int64_t end);

typedef struct kiln__launch_config {
    int64_t grid_x;          /* cuda: blocks; cpu: work units */
    uint32_t grid_y, grid_z; /* cuda: blocks, 0 means 1; cpu: not used */
    uint32_t block; /* cuda: threads of a block; cpu: units that should stay together, at least 1 */
    uint32_t shared_bytes; /* cuda: dynamic shared memory */
} kiln__launch_config;

/* Enqueue a kernel. `args` (at most 4096 bytes) is copied before the call returns. On cuda it takes
 * no lock and allocates nothing. A grid of 0 does nothing. */
kiln_status kiln__launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                         const void *args, size_t args_bytes, kiln_stream *stream, kiln_error *err);

/* ---- kernels that users have written whole (raw.c) ---- with any number of parameters, and
 * three-dimensional grids and blocks. */

/* The most parameters of a kernel, and the most bytes of all its arguments. */
#define KILN__RAW_PARAMS_MAX 256
#define KILN__RAW_BLOCK_MAX 4096

typedef struct kiln__raw_param {
    uint32_t offset, bytes; /* in the block of arguments */
    char kind;              /* cpu: 'i', 'u', 'b', 'f', 's' (struct), 'p' (pointer), 'c' (pointer to
                               const); 0 where it is not known */
} kiln__raw_param;

/* The limits of one launch; 0 where there is none. */
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
/* Load PTX (NUL-terminated), a cubin or a fatbin, whose sizes were checked; on the cpu a shared
 * object of kiln__compile(). ERR_DRIVER, with the assembler's log in *log_out, which the caller
 * frees (or NULL). */
kiln_status kiln__raw_load(kiln__device *device, const void *image, size_t bytes,
                           kiln__module **out, char **log_out, kiln_error *err);
/* Find a kernel, or a variable, of a module. ERR_NAME where it has none of that name. */
kiln_status kiln__raw_entry(kiln__module *module, const char *name, void **entry_out,
                            kiln_error *err);
kiln_status kiln__raw_symbol(kiln__module *module, const char *name, void **address_out,
                             size_t *bytes_out, bool *read_only_out, kiln_error *err);
/* Describe the kernel's parameters, at most KILN__RAW_PARAMS_MAX. ERR_UNSUPPORTED where there are
 * more, or where the driver cannot describe them. */
kiln_status kiln__raw_params(kiln__device *device, void *entry, kiln__raw_param *params,
                             size_t *count_out, kiln_error *err);
kiln_status kiln__raw_attributes_get(kiln__device *device, void *entry, kiln__raw_attributes *out,
                                     kiln_error *err);
/* How many blocks of such a launch can be resident at a time, in whole clusters. */
kiln_status kiln__raw_occupancy(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                int64_t *blocks_out, kiln_error *err);

/* ---- recordings (recording.c) ---- work that is recorded instead of enqueued, and then run many
 * times. Between _begin and _end a stand-in, another stream, takes the work of the recorded stream;
 * kiln__stream_current() and kiln__device_stream() return it. Work that is enqueued there becomes a
 * step of the recording. Memory that is allocated there belongs to the recording, so that nothing
 * else uses it between two runs. */
typedef struct kiln__recording kiln__recording;

/* A part of a step's argument block that a later call may change. */
typedef struct kiln__arg_place {
    uint16_t offset, bytes;
    uint8_t dtype;     /* of a number: its kiln_dtype */
    uint8_t param;     /* the number of the argument */
    bool is_pointer;
    uint8_t call;      /* the number of the call, in steps of several calls */
    const char *name;  /* the parameter's name */
} kiln__arg_place;

/* The description of a step. */
typedef struct kiln__step_note {
    const char *kernel; /* its name */
    kiln__arg_place *places;
    size_t place_count;
} kiln__step_note;

/* Fill in a description; if `places` is NULL, without writing to it. Called for recorded streams
 * only. */
typedef void (*kiln__describe_fn)(const void *user, kiln__step_note *note);
/* Make the description that `describe` gives, with copies of its texts, in one allocation that the
 * caller frees; NULL without memory. */
kiln__step_note *kiln__note_make(kiln__describe_fn describe, const void *user);

/* Begin to record a stream. The stand-in gets `owner` (kiln__stream_set_owner()). ERR_ARGUMENT
 * where the stream is recorded already. */
kiln_status kiln__recording_begin(kiln_stream *stream, void *owner, kiln_error *err);
/* End recording. If a step has failed, fails with its error and drops the recording. ERR_ARGUMENT
 * where the stream is not recorded. `out` NULL: drop the recording. */
kiln_status kiln__recording_end(kiln_stream *stream, kiln__recording **out, kiln_error *err);
/* Work that was enqueued still completes. Accepts NULL. */
void kiln__recording_destroy(kiln__recording *recording);
/* Enqueue all steps in their order. */
kiln_status kiln__recording_run(kiln__recording *recording, kiln_stream *stream, kiln_error *err);
size_t kiln__recording_step_count(const kiln__recording *recording);
/* The stand-in, for functions that must name the stream on which the steps use memory. */
kiln_stream *kiln__recording_stream(const kiln__recording *recording);

/* The stream that takes the work of `stream` now: its stand-in or itself. And the reverse: the
 * stream that a stand-in stands in for, or the stream itself. */
kiln_stream *kiln__stream_current(kiln_stream *stream);
kiln_stream *kiln__stream_base(kiln_stream *stream);
/* Whether a stream is a stand-in. */
bool kiln__stream_is_recording(const kiln_stream *stream);
/* How many steps the recording of a stand-in has so far. */
size_t kiln__stream_step_count(kiln_stream *stream);
/* Make the recording of a stand-in an owner of `object`, which it passes to `release` when it is
 * destroyed. For other streams, and without memory, `object` is released at once. */
void kiln__stream_keep(kiln_stream *stream, void *object, void (*release)(void *object));
/* ERR_UNSUPPORTED for a stand-in, because `what` cannot be recorded; its recording then fails. */
kiln_status kiln__stream_no_recording(kiln_stream *stream, const char *what, kiln_error *err);
/* A call of a library that enqueues work on a native stream (CUstream). A recording calls it for
 * each run, with the addresses that `args` then has. */
typedef kiln_status (*kiln__library_fn)(const void *args, void *native, kiln_error *err);
/* Make such a call for a stream that is not recorded. Observers see the launch of a kernel `name`.
 * (runs.c) */
kiln_status kiln__library_call(kiln_stream *stream, const char *name, kiln__library_fn call,
                               const void *args, kiln_error *err);
/* Record such a call on a stand-in. `args` is copied; describe(args, ..) names the addresses in it. */
kiln_status kiln__record_library(kiln_stream *stream, kiln__library_fn call, const void *args,
                                 size_t args_bytes, kiln__describe_fn describe, kiln_error *err);

/* Enqueue a kernel that a user has written whole. `block` has the arguments at their offsets, and
 * is not read after the call. (raw.c) */
kiln_status kiln__raw_launch_run(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                 const kiln__raw_param *params, size_t count, const void *block,
                                 size_t bytes, kiln__describe_fn describe, const void *user,
                                 kiln_stream *stream, kiln_error *err);
/* As kiln__launch(); describe(user, ..) describes the step for recordings. */
kiln_status kiln__launch_noted(kiln__device *device, void *entry,
                               const kiln__launch_config *config, const void *args,
                               size_t args_bytes, kiln__describe_fn describe, const void *user,
                               kiln_stream *stream, kiln_error *err);

/* A kiln__arg_place by the number of its step and its number within that. */
typedef struct kiln__place {
    uint32_t step, index;
} kiln__place;

/* Find the places that hold an address in [base, base + bytes); or those of the numbers that
 * kernels named `kernel` get for their parameter `parameter`, which are all of one dtype. The
 * caller frees *out. ERR_UNSUPPORTED where a step that is not described has such an address. */
kiln_status kiln__recording_find_memory(kiln__recording *recording, const void *base, size_t bytes,
                                        kiln__place **out, size_t *count_out, kiln_error *err);
kiln_status kiln__recording_find_number(kiln__recording *recording, const char *kernel,
                                        const char *parameter, kiln__place **out,
                                        size_t *count_out, uint8_t *dtype_out, kiln_error *err);
/* Add `bytes` to addresses, or write a number. Runs that were enqueued before are not changed. */
kiln_status kiln__recording_move(kiln__recording *recording, const kiln__place *places,
                                 size_t count, intptr_t bytes, kiln_error *err);
kiln_status kiln__recording_write(kiln__recording *recording, const kiln__place *places,
                                  size_t count, const void *value, size_t bytes, kiln_error *err);

/* ---- observers (watch.c, runs.c) ---- see kiln/observer.h. They are called one at a time, under a
 * lock that is taken after all others. */
typedef struct kiln__observer {
    struct kiln__observer *next;
    const kiln__device *device; /* NULL: any device */
    uint32_t kinds;
    kiln_observe_fn fn;
    void *user;
} kiln__observer;

/* The kinds that some observer wants, as bits KILN_OBSERVE(kind); and KILN__LABELLED once a thread
 * has pushed a label. */
extern _Atomic(uint32_t) kiln__watched;
#define KILN__LABELLED (UINT32_C(1) << 31)

static inline bool kiln__is_watched(uint32_t kinds)
{
    return (atomic_load_explicit(&kiln__watched, memory_order_relaxed) & kinds) != 0;
}

/* Add and remove an observer. The caller owns the struct, which is in use until _remove() has
 * returned. */
void kiln__observer_add(kiln__observer *observer);
void kiln__observer_remove(kiln__observer *observer);
/* Lock and unlock the observers: none is called in between. _hold() returns false, and locks
 * nothing, when the calling thread is in an observer's function. */
bool kiln__observers_hold(void);
void kiln__observers_release(void);
/* Call the observers of what->kind. Members of `what` that are NULL are filled in. `device` may be
 * NULL. */
void kiln__watch_tell(const kiln__device *device, kiln_observation *what);
/* Observe the beginning and the end of a call of a kernel by this thread. _end() needs the value
 * that _begin() gives. */
void kiln__call_begin(const kiln__device *device, const char *kernel, const char **before_out);
void kiln__call_end(const kiln__device *device, const char *before, kiln_status status);
/* Set the name by which observers know an entry of a module; it is copied. Without memory it has
 * none. */
void kiln__entry_set_name(kiln__module *module, const void *entry, const char *name);
/* Report to observers the work that has run on `device` (NULL: on any); `wait`: all that was
 * enqueued, after waiting for it. */
void kiln__runs_report(const kiln__device *device, bool wait);

/* ---- texts behind a binary (names.c) ---- */

/* Append names, each ended by a NUL. _get() finds the nth; NULL where the bytes are not a binary
 * with `count` names. *image_bytes_out, if not NULL, is the size of the binary alone. */
void kiln__names_put(kiln__buf *binary, const char *const *names, size_t count);
const char *kiln__names_get(const void *binary, size_t bytes, size_t count, size_t nth,
                            size_t *image_bytes_out);
/* Append the compiler's log (NULL: none). _get() finds it; NULL where there is none.
 * *inner_bytes_out is the size of what is before it. */
void kiln__log_put(kiln__buf *binary, const char *log);
const char *kiln__log_get(const void *binary, size_t bytes, size_t *inner_bytes_out);

#endif
