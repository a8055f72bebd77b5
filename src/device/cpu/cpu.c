/*
 * cpu.c - the cpu backend's table: this machine's cores and memory as one device.
 *
 *     device.h -> backend.h -> [cpu.c] -> target.c cxx.c module.c team.c copy.c
 *
 * Rule 1: everything is done when the call that asks for it returns. Streams have no native
 *         handle, waiting for one returns at once, an event is the time of its recording.
 * Rule 2: opening a device runs no compiler and starts no thread.
 * Rule 3: a kernel that faults takes the process with it, as any C function would; there is no
 *         ERR_FAULT here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

/* ---- devices ---- */

static void describe(kiln_device_info *info, bool run_compiler, int threads)
{
    size_t free_bytes = 0;

    memset(info, 0, sizeof *info);
    info->backend = KILN_BACKEND_CPU;
    info->usable = true;
    snprintf(info->id, sizeof info->id, "cpu");
    kiln__cpu_name(info->name, sizeof info->name);
    snprintf(info->target, sizeof info->target, "%s", kiln__cpu_target());
    kiln__cpu_memory(&free_bytes, &info->memory_bytes);
    info->unit_count = threads > 0 ? threads : kiln__cpu_core_count();
    kiln__cxx_describe(run_compiler, info->compiler, sizeof info->compiler);
}

static size_t cpu_list(kiln_device_info *infos, size_t capacity)
{
    if (capacity > 0)
        describe(&infos[0], true, 0);
    return 1;
}

static kiln_status cpu_open(kiln__device *device, int ordinal, int cpu_threads, kiln_error *err)
{
    kiln__team *team = NULL;

    if (ordinal != 0)
        return kiln__fail(err, KILN_ERR_NO_DEVICE, "there is one cpu device, number 0, not %d",
                          ordinal);
    if (cpu_threads < 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "cpu_threads is %d, below 0", cpu_threads);
    KILN_CHECK(kiln__team_create(cpu_threads, &team, err));
    describe(&device->info, false, kiln__team_threads(team));
    device->state = team;
    return KILN_OK;
}

static void cpu_close(kiln__device *device)
{
    kiln__team_destroy(device->state, kiln__device_forked(device));
    device->state = NULL;
}

static kiln_status cpu_synchronize(kiln__device *device, kiln_error *err)
{
    (void)device;
    (void)err;
    return KILN_OK;
}

/* ---- streams and events ---- */

static kiln_status cpu_stream_priorities(kiln__device *device, int *least_out, int *greatest_out,
                                         kiln_error *err)
{
    (void)device;
    (void)err;
    *least_out = *greatest_out = 0;
    return KILN_OK;
}

static kiln_status cpu_stream_create(kiln__device *device, int priority, bool blocking,
                                     void **native_out, kiln_error *err)
{
    (void)device;
    (void)priority;
    (void)blocking;
    (void)err;
    *native_out = NULL;
    return KILN_OK;
}

static void cpu_stream_destroy(kiln__device *device, void *native)
{
    (void)device;
    (void)native;
}

/* Of a stream or an event. */
static kiln_status cpu_wait(kiln__device *device, void *what, kiln_error *err)
{
    (void)device;
    (void)what;
    (void)err;
    return KILN_OK;
}

static kiln_status cpu_query(kiln__device *device, void *what, bool *done_out, kiln_error *err)
{
    (void)device;
    (void)what;
    (void)err;
    *done_out = true;
    return KILN_OK;
}

static bool cpu_is_captured(kiln__device *device, void *native)
{
    (void)device;
    (void)native;
    return false;
}

static kiln_status cpu_host_call(kiln__device *device, void *native, kiln_host_fn fn, void *user,
                                 kiln_error *err)
{
    (void)device;
    (void)native;
    (void)err;
    fn(user);
    return KILN_OK;
}

static kiln_status cpu_stream_wait_event(kiln__device *device, void *native, void *event,
                                         kiln_error *err)
{
    (void)device;
    (void)native;
    (void)event;
    (void)err;
    return KILN_OK;
}

typedef struct cpu_event {
    _Atomic(double) at_us;
} cpu_event;

static kiln_status cpu_event_create(kiln__device *device, const kiln__event_kind *kind,
                                    void **event_out, kiln_error *err)
{
    cpu_event *event = NULL;

    *event_out = NULL;
    if (kind->interprocess)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED, "%s shares no events with other processes",
                          device->info.id);
    *event_out = event = kiln__alloc(sizeof *event);
    if (event == NULL)
        return kiln__fail_memory(err, sizeof *event);
    atomic_init(&event->at_us, 0.0);
    return KILN_OK;
}

static void cpu_event_destroy(kiln__device *device, void *event)
{
    (void)device;
    kiln__free(event);
}

static kiln_status cpu_event_record(kiln__device *device, void *event, void *native,
                                    kiln_error *err)
{
    (void)device;
    (void)native;
    (void)err;
    atomic_store_explicit(&((cpu_event *)event)->at_us, kiln__now_us(), memory_order_relaxed);
    return KILN_OK;
}

static kiln_status cpu_event_elapsed(kiln__device *device, void *start, void *end, double *ms_out,
                                     kiln_error *err)
{
    double from = atomic_load_explicit(&((cpu_event *)start)->at_us, memory_order_relaxed);
    double to = atomic_load_explicit(&((cpu_event *)end)->at_us, memory_order_relaxed);

    (void)device;
    (void)err;
    *ms_out = (to - from) * 1e-3;
    return KILN_OK;
}

/* ---- memory ---- */

/* From this size on, blocks begin at a huge page's start and ask for such pages: the first touch
 * of a block then costs one fault for 2 MiB and not 512. */
#define HUGE_BYTES ((size_t)2 << 20)
#define HUGE_BLOCK_BYTES ((size_t)4 << 20)
/* From this size on, ask whether the memory is there before taking it: an untouched mapping
 * always succeeds, and the process is killed when it is touched. */
#define ASK_BYTES ((size_t)64 << 20)

static size_t page_round(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static bool is_too_much(size_t bytes)
{
    size_t free_bytes = 0, total_bytes = 0;

    if (bytes > (size_t)PTRDIFF_MAX - HUGE_BYTES * 2)
        return true;
    if (bytes < ASK_BYTES)
        return false;
    kiln__cpu_memory(&free_bytes, &total_bytes);
    return total_bytes != 0 && bytes > free_bytes;
}

/* A mapping of `bytes` whose start is a multiple of HUGE_BYTES; NULL when there is no room. */
static void *map_aligned(size_t bytes)
{
    size_t capacity = bytes + HUGE_BYTES, before = 0, behind = 0;
    char *base = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)base & (HUGE_BYTES - 1));
    behind = capacity - before - bytes;
    if (before != 0)
        munmap(base, before);
    if (behind != 0)
        munmap(base + before + bytes, behind);
    /* Refused where huge pages are switched off; small ones do. */
    (void)madvise(base + before, bytes, MADV_HUGEPAGE);
    return base + before;
}

static kiln_status cpu_raw_alloc(kiln__device *device, size_t bytes, void **address_out,
                                 kiln_error *err)
{
    void *address = NULL;

    (void)device;
    *address_out = NULL;
    if (is_too_much(bytes))
        return kiln__fail(err, KILN_ERR_DEVICE_MEMORY, "%zu bytes are more than is free", bytes);
    bytes = page_round(bytes);
    if (bytes >= HUGE_BLOCK_BYTES) {
        address = map_aligned(bytes);
    } else {
        address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address == MAP_FAILED)
            address = NULL;
    }
    if (address == NULL)
        return kiln__fail(err, KILN_ERR_DEVICE_MEMORY, "%zu bytes: %s", bytes, strerror(errno));
    *address_out = address;
    return KILN_OK;
}

static void cpu_raw_free(kiln__device *device, void *address, size_t bytes)
{
    (void)device;
    if (address != NULL)
        munmap(address, page_round(bytes));
}

static void cpu_mem_info(kiln__device *device, size_t *free_out, size_t *total_out)
{
    (void)device;
    kiln__cpu_memory(free_out, total_out);
}

/* ---- copies ---- one memory: all three directions are the same */

static kiln_status cpu_copy(kiln__device *device, void *dst, const void *src, size_t bytes,
                            void *native, kiln_error *err)
{
    (void)native;
    (void)err;
    kiln__cpu_copy(device->state, dst, src, bytes);
    return KILN_OK;
}

static kiln_status cpu_memory_set(kiln__device *device, void *dst, int byte, size_t bytes,
                                  void *native, kiln_error *err)
{
    (void)native;
    (void)err;
    kiln__cpu_fill(device->state, dst, byte, bytes);
    return KILN_OK;
}

static kiln_status cpu_enqueue_copy(kiln__device *device, void *dst, const void *src, size_t bytes,
                                    bool to_device, void *native, kiln_error *err)
{
    (void)to_device;
    return cpu_copy(device, dst, src, bytes, native, err);
}

/* ---- host memory ---- */

static kiln_status cpu_host_alloc(kiln__device *device, size_t bytes, bool write_combined,
                                  void **out, kiln_error *err)
{
    enum { LINE = 256 };

    (void)device;
    (void)write_combined;
    *out = is_too_much(bytes) ? NULL : aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    return *out != NULL ? KILN_OK : kiln__fail_memory(err, bytes);
}

static void cpu_host_free(kiln__device *device, void *memory)
{
    (void)device;
    free(memory);
}

/* ---- launch ---- */

static kiln_status cpu_launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                              const void *args, size_t args_bytes, void *native, kiln_error *err)
{
    kiln__cpu_entry call = (kiln__cpu_entry)(uintptr_t)entry;

    (void)args_bytes;
    (void)native;
    (void)err;
    kiln__team_run(device->state, call, args, config->grid_x, config->block);
    return KILN_OK;
}

const kiln__backend kiln__backend_cpu = {
    .kind = KILN_BACKEND_CPU,
    .prefix = "cpu",
    .list = cpu_list,
    .open = cpu_open,
    .close = cpu_close,
    .synchronize = cpu_synchronize,
    .stream_priorities = cpu_stream_priorities,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .stream_wrap = NULL,
    .stream_synchronize = cpu_wait,
    .stream_query = cpu_query,
    .stream_is_captured = cpu_is_captured,
    .stream_wait_event = cpu_stream_wait_event,
    .host_call = cpu_host_call,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_query = cpu_query,
    .event_synchronize = cpu_wait,
    .event_elapsed = cpu_event_elapsed,
    .raw_alloc = cpu_raw_alloc,
    .raw_free = cpu_raw_free,
    .mem_info = cpu_mem_info,
    .copy_host_to_device = cpu_copy,
    .copy_device_to_host = cpu_copy,
    .copy_device_to_device = cpu_copy,
    .memory_set = cpu_memory_set,
    .enqueue_copy = cpu_enqueue_copy,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .module_load = kiln__cpu_module_load,
    .module_unload = kiln__cpu_module_unload,
    .module_entry = kiln__cpu_module_entry,
    .launch = cpu_launch,
    .raw = &kiln__raw_cpu,
    .compiler_identity = kiln__cxx_identity,
    .compiler_key = kiln__cxx_key,
    .compiler_faults = "",
    .compiler_include_dirs = kiln__cxx_include_dirs,
    .compiler_looks_further = kiln__cxx_looks_further,
    .compile = kiln__cxx_compile,
    .compiler_targets = kiln__cxx_targets,
};
