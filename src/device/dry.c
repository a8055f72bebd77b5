/*
 * dry.c - a device that is not there: work for it is planned and dropped.
 *
 *     src/warm -> [a target, multiprocessors] -> a kiln__device -> whatever enqueues work on one
 *
 * Which kernels a sort or a scatter launches is known to the code that launches them. On such a device that code
 * runs as it does on a true one of the target, and src/jit compiles nothing for it.
 *
 * Rule 1: memory of a GPU is addresses that nothing reads. That of a processor can be read and written, for some loops
 *         on the host do, and takes no room until it is.
 * Rule 2: what is enqueued is dropped, and has run at once; a value read back is 0.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "device/backend.h"

/* Where the memory of such a GPU begins: no address of this process. */
#define MEMORY_BEGIN ((uintptr_t)1 << 52)
#define MEMORY_ALIGN ((uintptr_t)2 << 20)

typedef struct dry {
    _Atomic(uintptr_t) next; /* address of memory */
    kiln__raw_limits limits;
} dry;

/* Something to point to: modules, kernels, streams and events of such devices. */
static char nothing[1];

static kiln_status done(void)
{
    return KILN_OK;
}

/* ---- streams and events ---- */

static kiln_status synchronize(kiln__device *device, kiln_error *err)
{
    (void)device, (void)err;
    return done();
}

static kiln_status stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                     kiln_error *err)
{
    (void)device, (void)err;
    *least_out = *greatest_out = 0;
    return done();
}

static kiln_status stream_create(kiln__device *device, int priority, bool blocking,
                                 void **native_out, kiln_error *err)
{
    (void)device, (void)priority, (void)blocking, (void)err;
    *native_out = NULL;
    return done();
}

static void forget(kiln__device *device, void *native)
{
    (void)device, (void)native;
}

static kiln_status wait_for(kiln__device *device, void *native, kiln_error *err)
{
    (void)device, (void)native, (void)err;
    return done();
}

static kiln_status query(kiln__device *device, void *native, bool *done_out, kiln_error *err)
{
    (void)device, (void)native, (void)err;
    *done_out = true;
    return done();
}

static bool is_captured(kiln__device *device, void *native)
{
    (void)device, (void)native;
    return false;
}

static kiln_status pair(kiln__device *device, void *one, void *other, kiln_error *err)
{
    (void)device, (void)one, (void)other, (void)err;
    return done();
}

static kiln_status host_call(kiln__device *device, void *native, kiln_host_fn fn, void *user,
                             kiln_error *err)
{
    (void)device, (void)native, (void)fn, (void)user, (void)err;
    return done();
}

static kiln_status event_create(kiln__device *device, const kiln__event_kind *kind,
                                void **event_out, kiln_error *err)
{
    (void)device, (void)kind, (void)err;
    *event_out = nothing;
    return done();
}

static kiln_status event_elapsed(kiln__device *device, void *start, void *end, double *ms_out,
                                 kiln_error *err)
{
    (void)device, (void)start, (void)end, (void)err;
    *ms_out = 0;
    return done();
}

/* ---- memory and copies ---- */

static kiln_status raw_alloc(kiln__device *device, size_t bytes, void **address_out,
                             kiln_error *err)
{
    dry *d = device->state;
    const uintptr_t rounded = (bytes + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;

    *address_out = (void *)atomic_fetch_add(&d->next, rounded);
    if (device->backend->kind == KILN_BACKEND_CUDA)
        return KILN_OK;
    *address_out = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*address_out != MAP_FAILED)
        return KILN_OK;
    *address_out = NULL;
    return kiln__fail(err, KILN_ERR_DEVICE_MEMORY, "no room for %zu bytes", bytes);
}

static void raw_free(kiln__device *device, void *address, size_t bytes)
{
    if (address != NULL && device->backend->kind == KILN_BACKEND_CPU)
        munmap(address, bytes);
}

static void mem_info(kiln__device *device, size_t *free_out, size_t *total_out)
{
    (void)device;
    *free_out = *total_out = 0;
}

static kiln_status copy(kiln__device *device, void *dst, const void *src, size_t bytes,
                        void *native, kiln_error *err)
{
    (void)device, (void)dst, (void)src, (void)bytes, (void)native, (void)err;
    return done();
}

static kiln_status copy_back(kiln__device *device, void *dst, const void *src, size_t bytes,
                             void *native, kiln_error *err)
{
    (void)device, (void)src, (void)native, (void)err;
    memset(dst, 0, bytes);
    return done();
}

static kiln_status memory_set(kiln__device *device, void *dst, int byte, size_t bytes, void *native,
                              kiln_error *err)
{
    (void)device, (void)dst, (void)byte, (void)bytes, (void)native, (void)err;
    return done();
}

static kiln_status enqueue_copy(kiln__device *device, void *dst, const void *src, size_t bytes,
                                bool to_device, void *native, kiln_error *err)
{
    return to_device ? copy(device, dst, src, bytes, native, err)
                     : copy_back(device, dst, src, bytes, native, err);
}

static kiln_status host_alloc(kiln__device *device, size_t bytes, bool write_combined, void **out,
                              kiln_error *err)
{
    (void)device, (void)write_combined;
    *out = calloc(1, bytes);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, bytes);
}

static void host_free(kiln__device *device, void *memory)
{
    (void)device;
    free(memory);
}

/* ---- modules and launches ---- */

static kiln_status module_load(kiln__device *device, const void *binary, size_t bytes,
                               void **module_out, kiln_error *err)
{
    (void)device, (void)binary, (void)bytes, (void)err;
    *module_out = nothing;
    return done();
}

static kiln_status module_entry(kiln__device *device, void *module, const char *name,
                                void **entry_out, kiln_error *err)
{
    (void)device, (void)module, (void)name, (void)err;
    *entry_out = nothing;
    return done();
}

static kiln_status launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                          const void *args, size_t args_bytes, void *native, kiln_error *err)
{
    (void)device, (void)entry, (void)config, (void)args, (void)args_bytes, (void)native, (void)err;
    return done();
}

static kiln_status limits(kiln__device *device, kiln__raw_limits *out, kiln_error *err)
{
    (void)err;
    *out = ((const dry *)device->state)->limits;
    return done();
}

/* ---- the tables ---- */

static void close_dry(kiln__device *device)
{
    kiln__free(device->state);
    device->state = NULL;
}

static const kiln__raw_backend raw = {.limits = limits};

#define DRY(KIND, PREFIX)                                                                          \
    {                                                                                              \
        .kind = (KIND), .prefix = (PREFIX), .close = close_dry, .synchronize = synchronize,        \
        .stream_priorities = stream_priorities, .stream_create = stream_create,                    \
        .stream_destroy = forget, .stream_synchronize = wait_for, .stream_query = query,           \
        .stream_is_captured = is_captured, .stream_wait_event = pair, .host_call = host_call,      \
        .event_create = event_create, .event_destroy = forget, .event_record = pair,               \
        .event_query = query, .event_synchronize = wait_for, .event_elapsed = event_elapsed,       \
        .raw_alloc = raw_alloc, .raw_free = raw_free, .mem_info = mem_info,                        \
        .copy_host_to_device = copy, .copy_device_to_host = copy_back,                             \
        .copy_device_to_device = copy, .memory_set = memory_set, .enqueue_copy = enqueue_copy,     \
        .host_alloc = host_alloc, .host_free = host_free, .module_load = module_load,              \
        .module_unload = forget, .module_entry = module_entry, .launch = launch, .raw = &raw       \
    }

static const kiln__backend backends[] = {[KILN_BACKEND_CPU] = DRY(KILN_BACKEND_CPU, "cpu"),
                                         [KILN_BACKEND_CUDA] = DRY(KILN_BACKEND_CUDA, "cuda")};

bool kiln__device_is_dry(const kiln__device *device)
{
    return device->backend->close == close_dry;
}

/* ---- GPUs ---- */

/* Shared memory that a block of a GPU may have at most, by compute capability (CUDA's guide to
 * programming, table of technical specifications). */
static const struct {
    int capability;
    uint32_t kib;
} shared[] = {{75, 64},   {80, 163},  {86, 99},   {87, 163},  {89, 99},  {90, 227},
              {100, 227}, {103, 227}, {110, 227}, {120, 99},  {121, 99}};

bool kiln__dry_shared_bytes(const char *target, size_t nth, uint32_t *bytes_out)
{
    static const uint32_t any[] = {64, 99, 163, 227};
    const int capability = strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : -1;

    *bytes_out = 0;
    if (capability < 0)
        return nth == 0;
    for (size_t k = 0; k < KILN_COUNT_OF(shared); k++)
        if (shared[k].capability == capability) {
            *bytes_out = shared[k].kib << 10;
            return nth == 0;
        }
    *bytes_out = nth < KILN_COUNT_OF(any) ? any[nth] << 10 : 0;
    return nth < KILN_COUNT_OF(any);
}

static kiln__raw_limits limits_of(const kiln__dry_device *what, bool has_clusters)
{
    return (kiln__raw_limits){.grid = {INT32_MAX, 65535, 65535},
                              .block = {1024, 1024, 64},
                              .block_threads = 1024,
                              .cluster_blocks = has_clusters ? 16 : 0,
                              .shared_bytes = what->shared_bytes,
                              .units = what->units,
                              .cooperative = true,
                              .programmatic = has_clusters};
}

kiln_status kiln__dry_open(kiln__device *device, const kiln__dry_device *what, kiln_error *err)
{
    const kiln_backend kind = what->target.backend;
    const bool gpu = kind == KILN_BACKEND_CUDA;
    dry *d = NULL;

    KILN_CHECK(kiln__make_zeroed(&d, 1, sizeof *d, err));
    atomic_init(&d->next, MEMORY_BEGIN);
    if (gpu)
        d->limits = limits_of(what, atoi(what->target.name + strlen("sm_")) >= 90);
    device->backend = &backends[kind];
    device->state = d;
    device->info = (kiln_device_info){.backend = kind, .usable = true, .unit_count = what->units};
    snprintf(device->info.id, sizeof device->info.id, "%.15s", what->target.name);
    snprintf(device->info.name, sizeof device->info.name, "a device that is not there");
    snprintf(device->info.target, sizeof device->info.target, "%s", what->target.name);
    snprintf(device->info.driver, sizeof device->info.driver, "%s", gpu ? "CUDA 13.0" : "");
    return KILN_OK;
}
