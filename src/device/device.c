/*
 * device.c - which device is meant, its life, and the calls that go straight to its backend.
 *
 *     context -> [list, open, check, copy, load, launch] -> kiln__backend_cuda | kiln__backend_cpu
 *
 * Rule 1: every call on a device begins with the fork and fault check, so that no backend has to.
 * Rule 2: kiln__launch stays small: whatever is added there is paid by every kernel call.
 * Not done here: streams and events (stream.c), memory (pool.c), compilers (compile.c).
 */
#include <stdlib.h>

#include "device/pool.h"

struct kiln__module {
    kiln__device *device;
    void *native;
};

/* ---- which device ---- */

kiln_status kiln__device_list(kiln_device_info *infos, size_t capacity, size_t *count_out,
                              kiln_error *err)
{
    const kiln__backend *const backends[] = {&kiln__backend_cuda, &kiln__backend_cpu};
    size_t count = 0;

    if (count_out == NULL || (infos == NULL && capacity > 0))
        return kiln__fail(err, KILN_ERR_NULL, "%s is NULL",
                          count_out == NULL ? "count_out" : "infos");
    for (size_t i = 0; i < KILN_COUNT_OF(backends); i++) {
        size_t room = count < capacity ? capacity - count : 0;
        count += backends[i]->list(room > 0 ? infos + count : NULL, room);
    }
    *count_out = count;
    return KILN_OK;
}

/* A device name, read. */
typedef struct choice {
    bool cuda; /* the cuda backend may serve */
    bool cpu;  /* the cpu backend may serve (after cuda) */
    int ordinal;
} choice;

static kiln_status choice_read(const char *name, choice *out, kiln_error *err)
{
    const char *given = name != NULL ? name : kiln__env("KILN_DEVICE");
    const char *source = name != NULL ? "" : "$KILN_DEVICE: ";

    *out = (choice){.ordinal = KILN__ORDINAL_ANY};
    if (given == NULL || strcmp(given, "auto") == 0) {
        out->cuda = out->cpu = true;
        return KILN_OK;
    }
    if (strcmp(given, "cpu") == 0) {
        out->cpu = true;
        return KILN_OK;
    }
    if (strcmp(given, "cuda") == 0) {
        out->cuda = true;
        return KILN_OK;
    }
    const char *digits = given + strlen("cuda:");
    if (strncmp(given, "cuda:", strlen("cuda:")) == 0 && *digits >= '0' && *digits <= '9') {
        char *end = NULL;
        unsigned long ordinal = strtoul(digits, &end, 10);
        if (*end == '\0' && ordinal < 1000) {
            out->cuda = true;
            out->ordinal = (int)ordinal;
            return KILN_OK;
        }
    }
    return kiln__fail(err, KILN_ERR_ARGUMENT,
                      "%s\"%.64s\" names no device; there are auto, cpu, cuda, cuda:0, cuda:1, ...",
                      source, given);
}

/* ---- life ---- */

static kiln_status open_on(const kiln__backend *backend, int ordinal, int cpu_threads,
                           kiln__device **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__device *device = kiln__calloc(1, sizeof *device);

    if (device == NULL)
        return kiln__fail_memory(err, sizeof *device);
    device->backend = backend;
    device->fork_generation = kiln__fork_generation();
    status = backend->open(device, ordinal, cpu_threads, err);
    if (status != KILN_OK) {
        kiln__free(device);
        return status;
    }
    KILN_TRY(kiln__pool_create(device, &device->pool, err));
    KILN_TRY(kiln__host_pool_create(device, &device->host_pool, err));
    KILN_TRY(kiln__stream_create(device, NULL, &device->stream, err));
    *out = device;
    device = NULL;

done:
    kiln__device_close(device);
    return status;
}

kiln_status kiln__device_open(const char *name, int cpu_threads, kiln__device **out,
                              kiln_error *err)
{
    choice wanted;
    kiln_status status = KILN_OK;
    kiln_error why = KILN_ERROR_INIT;

    *out = NULL;
    KILN_TRY(choice_read(name, &wanted, err));
    if (wanted.cuda && !wanted.cpu)
        return open_on(&kiln__backend_cuda, wanted.ordinal, cpu_threads, out, err);
    if (wanted.cuda) {
        /* Under "auto" a GPU that does not work is passed over, and its reason is kept. But a
         * forked process that has lost its GPU must hear of it instead of becoming slow. */
        status = open_on(&kiln__backend_cuda, wanted.ordinal, cpu_threads, out, &why);
        if (status == KILN_OK || status == KILN_ERR_NO_MEMORY || status == KILN_ERR_FORK) {
            if (status != KILN_OK)
                (void)kiln__error_copy(err, &why);
            goto done;
        }
    }
    KILN_TRY(open_on(&kiln__backend_cpu, 0, cpu_threads, out, err));
    snprintf((*out)->no_gpu, sizeof((*out)->no_gpu), "%s", why.message);

done:
    kiln_error_clear(&why);
    return status;
}

const char *kiln__device_no_gpu(const kiln__device *device)
{
    return device->no_gpu;
}

void kiln__device_close(kiln__device *device)
{
    if (device == NULL)
        return;
    if (!kiln__device_forked(device))
        (void)device->backend->synchronize(device, NULL);
    kiln_stream *stream = device->stream;
    device->stream = NULL;
    kiln__stream_destroy(stream);
    kiln__host_pool_destroy(device->host_pool);
    kiln__pool_destroy(device->pool);
    device->backend->close(device);
    kiln__free(device);
}

const kiln_device_info *kiln__device_info(const kiln__device *device)
{
    return &device->info;
}

bool kiln__device_is_host(const kiln__device *device)
{
    return device->backend->kind == KILN_BACKEND_CPU;
}

/* ---- fork and fault ---- */

kiln_status kiln__device_fault(kiln__device *device, const char *what, kiln_error *err)
{
    const char *none = NULL;
    if (!atomic_compare_exchange_strong(&device->fault, &none, what))
        what = none;
    return kiln__fail(err, KILN_ERR_FAULT,
                      "a kernel faulted on %s (%s): %s; the device can be used again only by a "
                      "new process",
                      device->info.id, device->info.name, what);
}

static kiln_status check_fails(kiln__device *device, kiln_error *err)
{
    const char *fault = atomic_load(&device->fault);
    if (!kiln__device_forked(device))
        return kiln__device_fault(device, fault, err);
    return kiln__fail(err, KILN_ERR_FORK,
                      "%s was opened before this process was forked and cannot be used in it; "
                      "fork first and make a context in each child, or start children with exec "
                      "(posix_spawn)",
                      device->info.id);
}

kiln_status kiln__device_check(kiln__device *device, kiln_error *err)
{
    return kiln__device_ok(device) ? KILN_OK : check_fails(device, err);
}

kiln_status kiln__device_synchronize(kiln__device *device, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    return device->backend->synchronize(device, err);
}

/* ---- copies ---- */

kiln_status kiln__copy_enqueue(kiln__device *device, void *dst, const void *src, size_t bytes,
                               bool to_device, kiln_stream *stream, kiln_error *err)
{
    kiln_status status = kiln__device_check(device, err);

    if (status != KILN_OK || bytes == 0)
        return status;
    status = device->backend->enqueue_copy(device, dst, src, bytes, to_device, stream->native, err);
    /* A failed call may have enqueued all the same. */
    kiln__host_used_on(device, to_device ? src : dst, stream);
    return status;
}

kiln_status kiln__copy_host_to_device(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0)
        return KILN_OK;
    return device->backend->copy_host_to_device(device, dst, src, bytes, stream->native, err);
}

kiln_status kiln__copy_device_to_host(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0)
        return device->backend->stream_synchronize(device, stream->native, err);
    return device->backend->copy_device_to_host(device, dst, src, bytes, stream->native, err);
}

kiln_status kiln__copy_device_to_device(kiln__device *device, void *dst, const void *src,
                                        size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0 || dst == src)
        return KILN_OK;
    return device->backend->copy_device_to_device(device, dst, src, bytes, stream->native, err);
}

kiln_status kiln__memset(kiln__device *device, void *dst, int byte, size_t bytes,
                         kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0)
        return KILN_OK;
    return device->backend->memory_set(device, dst, byte, bytes, stream->native, err);
}

/* ---- modules and launch ---- */

kiln_status kiln__module_load(kiln__device *device, const void *binary, size_t bytes,
                              kiln__module **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__module *module = NULL;

    *out = NULL;
    KILN_TRY(kiln__device_check(device, err));
    module = kiln__calloc(1, sizeof *module);
    if (module == NULL) {
        status = kiln__fail_memory(err, sizeof *module);
        goto done;
    }
    module->device = device;
    KILN_TRY(device->backend->module_load(device, binary, bytes, &module->native, err));
    *out = module;
    module = NULL;

done:
    kiln__free(module);
    return status;
}

void kiln__module_unload(kiln__module *module)
{
    if (module == NULL)
        return;
    if (!kiln__device_forked(module->device))
        module->device->backend->module_unload(module->device, module->native);
    kiln__free(module);
}

kiln_status kiln__module_entry(kiln__module *module, const char *name, void **entry_out,
                               kiln_error *err)
{
    kiln__device *device = module->device;
    *entry_out = NULL;
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    return device->backend->module_entry(device, module->native, name, entry_out, err);
}

kiln_status kiln__launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                         const void *args, size_t args_bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (args_bytes > KILN__ARGS_BYTES_MAX)
        return kiln__fail(err, KILN_ERR_INTERNAL, "%zu bytes of kernel arguments, at most %u fit",
                          args_bytes, KILN__ARGS_BYTES_MAX);
    if (config->grid_x <= 0)
        return KILN_OK;
    return device->backend->launch(device, entry, config, args, args_bytes, stream->native, err);
}
