/*
 * raw.c - modules and kernels of the user's: the checks that both backends share.
 *
 *     src/module -> [raw] -> the backend's kiln__raw_backend
 *
 * Kernels that kiln generates take one block of arguments and a grid of its own planning; those go
 * through kiln__launch(). What stands here makes no assumption about a kernel.
 */
#include "device/watch.h"

kiln_status kiln__raw_limits_get(kiln__device *device, kiln__raw_limits *out, kiln_error *err)
{
    memset(out, 0, sizeof *out);
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->raw->limits(device, out, err);
}

kiln_status kiln__raw_load(kiln__device *device, const void *image, size_t bytes,
                           kiln__module **out, char **log_out, kiln_error *err)
{
    kiln__module *module = NULL;

    *out = NULL;
    *log_out = NULL;
    KILN_CHECK(kiln__device_check(device, err));
    if (device->backend->raw->load == NULL)
        return kiln__module_load(device, image, bytes, out, err);
    KILN_CHECK(kiln__make_zeroed(&module, 1, sizeof *module, err));
    module->device = device;
    kiln_status status = device->backend->raw->load(device, image, &module->native, log_out, err);
    if (status == KILN_OK)
        *out = module;
    else
        kiln__free(module);
    return status;
}

/* The backends' own word for a name that is not there is ERR_INTERNAL: kiln's kernels have
 * theirs. */
kiln_status kiln__raw_entry(kiln__module *module, const char *name, void **entry_out,
                            kiln_error *err)
{
    kiln_status status = kiln__module_entry(module, name, entry_out, err);

    if (status == KILN_OK)
        kiln__entry_set_name(module, *entry_out, name);
    return status != KILN_ERR_INTERNAL
               ? status
               : kiln__fail(err, KILN_ERR_NAME, "there is no kernel \"%.200s\"", name);
}

kiln_status kiln__raw_symbol(kiln__module *module, const char *name, void **address_out,
                             size_t *bytes_out, bool *read_only_out, kiln_error *err)
{
    kiln__device *device = module->device;

    *address_out = NULL;
    *bytes_out = 0;
    *read_only_out = false;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->raw->symbol(device, module->native, name, address_out, bytes_out,
                                        read_only_out, err);
}

kiln_status kiln__raw_params(kiln__device *device, void *entry, kiln__raw_param *params,
                             size_t *count_out, kiln_error *err)
{
    *count_out = 0;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->raw->params(device, entry, params, count_out, err);
}

kiln_status kiln__raw_attributes_get(kiln__device *device, void *entry, kiln__raw_attributes *out,
                                     kiln_error *err)
{
    memset(out, 0, sizeof *out);
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->raw->attributes(device, entry, out, err);
}

kiln_status kiln__raw_occupancy(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                int64_t *blocks_out, kiln_error *err)
{
    *blocks_out = 0;
    KILN_CHECK(kiln__device_check(device, err));
    return device->backend->raw->occupancy(device, entry, launch, blocks_out, err);
}

kiln_status kiln__raw_launch_run(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                 const kiln__raw_param *params, size_t count, const void *block,
                                 size_t bytes, kiln__describe_fn describe, const void *user,
                                 kiln_stream *stream, kiln_error *err)
{
    KILN_CHECK(kiln__device_check(device, err));
    if (count > KILN_PARAM_MAX || bytes > KILN__RAW_BLOCK_MAX)
        return kiln__fail(err, KILN_ERR_INTERNAL, "%zu kernel arguments in %zu bytes", count,
                          bytes);
    if (stream->recording != NULL)
        return kiln__record_raw(stream, entry, launch, params, count, block, bytes, describe, user,
                                err);
    kiln__work work;
    kiln__work_begin(&work, KILN_OBSERVED_LAUNCH, device, stream);
    kiln__work_name(&work, entry);
    return kiln__work_end(&work, device->backend->raw->launch(device, entry, launch, params, count,
                                                              block, bytes, kiln__stream_enter(stream), err));
}
