/*
 * calls.c - the calls that go straight to a device's backend.
 *
 *     device.c stream.c event.c pool.c -> [check, copy, load, launch] -> the backend's table
 *                                                       `-> runs.c, while somebody observes
 *
 * Rule 1: every call on a device begins with the fork and fault check, so that no backend has to.
 * Rule 2: kiln__launch stays small: whatever is added there is paid by every kernel call. That it is
 *         observed costs one load and one branch while nobody does.
 */
#include "device/watch.h"

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
    if (kiln__process_is_ending())
        return kiln__fail(err, KILN_ERR_RELEASED,
                          "the process is ending (exit handlers run), and %s is not used any more",
                          device->info.id);
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

kiln_status kiln__device_check_memory(kiln__device *device, const void *address, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    return device->backend->memory_check != NULL
               ? device->backend->memory_check(device, address, err)
               : KILN_OK;
}

kiln_status kiln__device_finish(kiln__device *device, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    kiln__work work;
    kiln__work_begin(&work, KILN_OBSERVED_WAIT, device, NULL);
    return kiln__work_end(&work, device->backend->synchronize(device, err));
}

kiln_status kiln__device_synchronize(kiln__device *device, kiln_error *err)
{
    return kiln__report_check(device, kiln__device_finish(device, err), err);
}

/* ---- the device's context ---- */

kiln_status kiln__device_enter(kiln__device *device, bool *pushed_out, kiln_error *err)
{
    *pushed_out = false;
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    return device->backend->enter != NULL ? device->backend->enter(device, pushed_out, err)
                                          : KILN_OK;
}

void kiln__device_leave(kiln__device *device, bool pushed)
{
    if (device->backend->leave != NULL)
        device->backend->leave(pushed);
}

/* ---- copies ---- */

kiln_status kiln__copy_host_to_device(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0)
        return KILN_OK;
    if (stream->recording != NULL)
        return kiln__stream_no_recording(stream, "a copy from ordinary host memory", err);
    kiln__work work;
    kiln__work_begin_copy(&work, KILN_DIRECTION_TO_DEVICE, dst, bytes, stream);
    return kiln__work_end(
        &work, device->backend->copy_host_to_device(device, dst, src, bytes,
                                                   kiln__stream_enter(stream), err));
}

kiln_status kiln__copy_device_to_host(kiln__device *device, void *dst, const void *src,
                                      size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (stream->recording != NULL)
        return kiln__stream_no_recording(stream, "reading a value into ordinary host memory", err);
    if (bytes == 0)
        return kiln__report_check(
            device, device->backend->stream_synchronize(device, stream->native, err), err);
    kiln__work work;
    kiln__work_begin_copy(&work, KILN_DIRECTION_TO_HOST, dst, bytes, stream);
    const kiln_status status = kiln__work_end(
        &work, device->backend->copy_device_to_host(device, dst, src, bytes,
                                                   kiln__stream_enter(stream), err));
    return kiln__report_check(device, status, err);
}

kiln_status kiln__copy_device_to_device(kiln__device *device, void *dst, const void *src,
                                        size_t bytes, kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0 || dst == src)
        return KILN_OK;
    if (stream->recording != NULL)
        return kiln__record_copy(stream, dst, src, bytes, err);
    kiln__work work;
    kiln__work_begin_copy(&work, KILN_DIRECTION_ON_DEVICE, dst, bytes, stream);
    return kiln__work_end(&work, device->backend->copy_device_to_device(
                                     device, dst, src, bytes, kiln__stream_enter(stream), err));
}

kiln_status kiln__memset(kiln__device *device, void *dst, int byte, size_t bytes,
                         kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (bytes == 0)
        return KILN_OK;
    if (stream->recording != NULL)
        return kiln__record_memset(stream, dst, byte, bytes, err);
    kiln__work work;
    kiln__work_begin_copy(&work, KILN_DIRECTION_SET, dst, bytes, stream);
    return kiln__work_end(
        &work, device->backend->memory_set(device, dst, byte, bytes,
                                          kiln__stream_enter(stream), err));
}

/* ---- modules and launch ---- */

kiln_status kiln__module_load(kiln__device *device, const void *binary, size_t bytes,
                              kiln__module **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__module *module = NULL;

    *out = NULL;
    KILN_TRY(kiln__device_check(device, err));
    KILN_TRY(kiln__make_zeroed(&module, 1, sizeof *module, err));
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
    kiln__entry_forget_names(module);
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

void kiln__entry_prefer_shared(kiln__module *module, void *entry, int percent)
{
    kiln__device *device = module->device;

    if (percent != 0 && device->backend->entry_prefer_shared != NULL)
        device->backend->entry_prefer_shared(device, entry, percent);
}

kiln_status kiln__launch_noted(kiln__device *device, void *entry,
                               const kiln__launch_config *config, const void *args,
                               size_t args_bytes, kiln__describe_fn describe, const void *user,
                               kiln_stream *stream, kiln_error *err)
{
    if (!kiln__device_ok(device))
        return check_fails(device, err);
    if (args_bytes > KILN__ARGS_BYTES_MAX)
        return kiln__fail(err, KILN_ERR_INTERNAL, "%zu bytes of kernel arguments, at most %u fit",
                          args_bytes, KILN__ARGS_BYTES_MAX);
    if (config->grid_x <= 0)
        return KILN_OK;
    if (stream->recording != NULL)
        return kiln__record_launch(stream, entry, config, args, args_bytes, describe, user, err);
    if (kiln__is_watched(KILN__WATCH_WORK))
        return kiln__launch_watched(device, entry, config, args, args_bytes, stream, err);
    return device->backend->launch(device, entry, config, args, args_bytes,
                                   kiln__stream_enter(stream), err);
}

kiln_status kiln__launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                         const void *args, size_t args_bytes, kiln_stream *stream, kiln_error *err)
{
    return kiln__launch_noted(device, entry, config, args, args_bytes, NULL, NULL, stream, err);
}
