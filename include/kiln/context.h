/**
 * @file kiln/context.h
 * @brief Devices, contexts (one device + cache + pool) and the memory pool.
 *
 * A context is one device with the cache of its compiled kernels and the pool of its memory.
 * Everything else is made from one.
 *
 *     kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
 *     kiln_context *cpu = NULL;
 *     kiln_pool_stats stats;
 *     options.device = "cpu";
 *     options.pool_limit_bytes = (size_t)1 << 30;
 *     kiln_context_create(&options, &cpu, &err);
 *     kiln_context_pool_stats(cpu, &stats);
 *     printf("%s: %zu bytes in use\n", kiln_context_device(cpu)->name, stats.used_bytes);
 *     kiln_context_release(cpu);
 *
 * Threads: every function may be called from any thread on a shared context.
 * Units:   memory in bytes, times in milliseconds, as the names say.
 * Owner:   contexts are counted (retain/release); every array, stream, event and kernel made from
 *          one keeps it alive.
 */
#ifndef KILN_CONTEXT_H
#define KILN_CONTEXT_H

#include "kiln/error.h"

typedef struct kiln_context kiln_context;

/** What runs the kernels of a device. */
typedef enum kiln_backend {
    KILN_BACKEND_CPU = 1, /**< The system's C++ compiler and all cores. */
    KILN_BACKEND_CUDA = 2 /**< The CUDA driver and NVRTC. */
} kiln_backend;

/** What kiln knows of one device; filled by kiln_device_list() and kiln_context_device(). */
typedef struct kiln_device_info {
    kiln_backend backend;
    int ordinal;        /**< Number among the CUDA devices; 0 for the cpu. */
    char id[16];        /**< What selects it: "cpu", "cuda:0", ... */
    char name[128];     /**< The vendor's name. */
    char target[32];    /**< What code is made for: "sm_90", "x86-64-v3", ... */
    bool usable;        /**< Whether kiln_context_create() would accept it now. */
    char reason[256];   /**< Why it is not usable; empty when it is. */
    size_t memory_bytes; /**< Memory in all. */
    int unit_count;     /**< Multiprocessors, or cores. */
    char compiler[160]; /**< What compiles for it, with version: "NVRTC 13.0", "g++ 12.2.0". */
    char driver[64];    /**< "CUDA 13.0" as the driver supports it; empty for the cpu. */
} kiln_device_info;

/** Receives what kiln works around: an unusable cache folder, a machine without a GPU. One line,
 *  without a newline at its end. May be called from any thread that calls kiln. */
typedef void (*kiln_log_fn)(void *user, const char *line);

/** Called when an allocation finds the device full or the pool at its limit, after the pool has
 *  given its free blocks back. It may release arrays that the program can do without and return
 *  true, which repeats the allocation; false lets the allocation fail. It is called again as long
 *  as it returns true and the allocation fails. It may call kiln; an allocation inside it that
 *  fails does not call it. */
typedef bool (*kiln_shortage_fn)(void *user, size_t bytes);

/**
 * Where the pool takes the device's memory from, in the place of cuMemAlloc.
 *
 * Both functions are called with the device's CUDA context current, from any thread, with locks of
 * the pool held: they may not call kiln. `stream` is a CUstream, NULL on the cpu device.
 */
typedef struct kiln_memory_source {
    /** Allocate memory for use in the order of `stream`, at least 256-byte aligned; false when
     *  there is none. */
    bool (*alloc)(void *user, size_t bytes, void *stream, void **memory_out);
    /** Free memory; `bytes` is the size that was requested. All work on the memory precedes this
     *  call in the order of `stream`. */
    void (*free)(void *user, void *memory, size_t bytes, void *stream);
    void *user;
    /** Every block is allocated and freed individually: for sources that keep free memory in a pool
     *  of their own. Off: the source is asked for large pieces, which kiln's pool cuts up. */
    bool direct;
} kiln_memory_source;

/** The driver's own pool: cuMemAllocAsync and cuMemFreeAsync, for every block. ERR_UNSUPPORTED on
 *  the cpu device. */
#define KILN_MEMORY_ASYNC ((const kiln_memory_source *)1)

/** Choices for kiln_context_create(). Zero in a field means its default. */
typedef struct kiln_context_options {
    size_t struct_size;      /**< sizeof(kiln_context_options) as the caller compiled it. */
    const char *device;      /**< "auto", "cpu", "cuda", "cuda:N"; NULL: $KILN_DEVICE, else auto. */
    const char *cache_dir;   /**< NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else
                                  ~/.cache/kiln. "" keeps compiled kernels in memory only. */
    size_t pool_limit_bytes; /**< Most the pool may hold; 0: no limit but the device's memory. */
    int pool_limit_percent;  /**< The same in percent of the device's memory, 1 to 100. Setting
                                  both limits is an error. */
    int cpu_threads;         /**< cpu device: threads that run kernels; 0: all cores. */
    kiln_log_fn log;         /**< NULL: warnings go to stderr, once each, as $KILN_LOG says: off,
                                  error, warn (the default) or info (docs/environment.md). */
    void *log_user;
    const char *bundles;      /**< Bundles of kernels to look into first: paths with ':' between.
                                   Those of $KILN_BUNDLES follow. NULL: only these. */
    uint64_t cache_limit_bytes; /**< Most the cache folder may hold; 0: $KILN_CACHE_LIMIT, else
                                     1 GiB. UINT64_MAX: no limit. */
    const char *record; /**< Append every kernel that the context needs to this manifest, from
                             which `kiln warm` fills a cache elsewhere (docs/manifest.md). NULL:
                             $KILN_RECORD, else nothing is recorded. "": nothing is. */
    int wide; /**< How graphs and expressions whose own option `wide` is 0 compute 16-bit floats:
                   1 keeps them in float32, -1 rounds every operation; 0: $KILN_WIDE, else -1. */
    kiln_shortage_fn shortage; /**< Called before an allocation fails; NULL: nothing is. */
    void *shortage_user;
    const kiln_memory_source *memory; /**< Source of device memory; copied. NULL: the device. */
} kiln_context_options;

#define KILN_CONTEXT_OPTIONS_INIT                                                                  \
    {sizeof(kiln_context_options), NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, 0,      \
     NULL, NULL, NULL}

/** What a context's memory pool holds; see kiln_context_pool_stats(). */
typedef struct kiln_pool_stats {
    size_t used_bytes;        /**< Handed out and not yet returned (rounded up to 512 bytes). */
    size_t held_bytes;        /**< Taken from the device: used and free blocks together. */
    size_t peak_used_bytes;   /**< Largest used_bytes so far. */
    size_t limit_bytes;       /**< The limit in force; SIZE_MAX when there is none. */
    uint64_t allocation_count; /**< Allocations served so far. */
    uint64_t device_allocation_count; /**< Allocations for which memory had to be taken from the
                                           device. */
} kiln_pool_stats;

KILN_EXTERN_C_BEGIN

/**
 * List the devices of this machine, usable or not, best first; the cpu is always last.
 *
 * @param infos     Room for `capacity` entries; may be NULL when capacity is 0.
 * @param count_out Receives how many there are, which may exceed `capacity`.
 */
KILN_API KILN_NODISCARD kiln_status kiln_device_list(kiln_device_info *infos, size_t capacity,
                                                     size_t *count_out, kiln_error *err);

/**
 * Make a context: the device named in `opts`, or the first CUDA GPU that works, else the cpu.
 *
 * @param opts May be NULL for defaults; read during the call only.
 * @param out  Receives the context with one reference; NULL on failure.
 * @return KILN_OK, ERR_ARGUMENT, ERR_NO_DEVICE, ERR_NO_DRIVER, ERR_DRIVER, ERR_NO_MEMORY.
 *         A missing compiler is no failure here: a warm cache needs none.
 */
KILN_API KILN_NODISCARD kiln_status kiln_context_create(const kiln_context_options *opts,
                                                        kiln_context **out, kiln_error *err);

/** As KILN_CONTEXT_OPTIONS_INIT, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_context_options_init(kiln_context_options *opts, size_t struct_size);

/** Add a reference. Accepts NULL. Returns its argument. */
KILN_API kiln_context *kiln_context_retain(kiln_context *ctx);

/** Give a reference back; the last one waits for running work and frees everything. */
KILN_API void kiln_context_release(kiln_context *ctx);

/** What the context runs on. The struct is the context's; valid as long as the context is. */
KILN_API const kiln_device_info *kiln_context_device(const kiln_context *ctx);

/** The folder compiled kernels are kept in; "" when they are kept in memory only. */
KILN_API const char *kiln_context_cache_dir(const kiln_context *ctx);

/**
 * Wait until all work of all the context's streams is done.
 * @return KILN_OK, or ERR_FAULT when a kernel faulted since the last synchronise.
 */
KILN_API KILN_NODISCARD kiln_status kiln_context_synchronize(kiln_context *ctx, kiln_error *err);

/** Statistics of the context's pool. */
KILN_API void kiln_context_pool_stats(kiln_context *ctx, kiln_pool_stats *stats_out);

/** Change the pool's limit; 0 lifts it. Memory already in use is not taken back. */
KILN_API void kiln_context_pool_set_limit(kiln_context *ctx, size_t limit_bytes);

/** Give every free block back to the device; returns the number of bytes given back. */
KILN_API size_t kiln_context_pool_trim(kiln_context *ctx);

KILN_EXTERN_C_END

#endif
