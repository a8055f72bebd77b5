/*
 * cuda.c - the CUDA backend: which GPUs there are, opening and closing one, and the table.
 *
 *     device.c -> [list, open, close, synchronize] -> driver.c
 *
 * Rule 1: kiln uses a device's primary context, which it shares with the CUDA runtime and with
 *         every library built on it: arrays of the others can be wrapped. It is retained while a
 *         device is open and never reset.
 * Rule 2: nothing is initialised for a device that is only listed, but the driver itself.
 */
#include "device/cpu/cpu.h"
#include "device/cuda/driver.h"
#include "device/cuda/fault.h"
#include "device/cuda/nvrtc.h"

enum {
    ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    ATTRIBUTE_COMPUTE_MODE = 20,
    ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

#define COMPUTE_MODE_PROHIBITED 2

/* The oldest GPUs that CUDA 13 makes code for. */
#define CAPABILITY_MIN 75

static int attribute(int device, int which)
{
    int value = 0;
    return kiln__cu.device_get_attribute(&value, which, device) == KILN__CU_OK ? value : 0;
}

/* Everything kiln tells of GPU number `ordinal`, with the reason when it cannot be used. */
static void describe(int ordinal, kiln_device_info *info)
{
    int device = 0;

    *info = (kiln_device_info){.backend = KILN_BACKEND_CUDA, .ordinal = ordinal};
    snprintf(info->id, sizeof info->id, "cuda:%d", ordinal);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", kiln__cu.version / 1000,
             kiln__cu.version % 1000 / 10);
    kiln__nvrtc_describe(info->compiler, sizeof info->compiler);

    kiln__cu_result result = kiln__cu.device_get(&device, ordinal);
    if (result != KILN__CU_OK) {
        snprintf(info->name, sizeof info->name, "GPU %d", ordinal);
        snprintf(info->reason, sizeof info->reason, "cuDeviceGet: %s", kiln__cuda_text(result));
        return;
    }
    if (kiln__cu.device_get_name(info->name, (int)sizeof info->name, device) != KILN__CU_OK)
        snprintf(info->name, sizeof info->name, "GPU %d", ordinal);
    if (kiln__cu.device_total_mem(&info->memory_bytes, device) != KILN__CU_OK)
        info->memory_bytes = 0;
    info->unit_count = attribute(device, ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int major = attribute(device, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(device, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(info->target, sizeof info->target, "sm_%d%d", major, minor);

    if (major * 10 + minor < CAPABILITY_MIN)
        snprintf(info->reason, sizeof info->reason,
                 "compute capability %d.%d; kiln needs %d.%d or later", major, minor,
                 CAPABILITY_MIN / 10, CAPABILITY_MIN % 10);
    else if (attribute(device, ATTRIBUTE_COMPUTE_MODE) == COMPUTE_MODE_PROHIBITED)
        snprintf(info->reason, sizeof info->reason, "its compute mode is \"prohibited\"");
    else
        info->usable = true;
}

static size_t cuda_list(kiln_device_info *infos, size_t capacity)
{
    kiln_error err = KILN_ERROR_INIT;
    int count = 0;

    if (kiln__cuda_init(&err) != KILN_OK || kiln__cu.device_get_count(&count) != KILN__CU_OK ||
        count == 0) {
        if (capacity > 0) {
            infos[0] = (kiln_device_info){.backend = KILN_BACKEND_CUDA};
            snprintf(infos[0].id, sizeof infos[0].id, "cuda");
            snprintf(infos[0].name, sizeof infos[0].name, "CUDA GPU");
            snprintf(infos[0].reason, sizeof infos[0].reason, "%.*s",
                     (int)sizeof infos[0].reason - 1,
                     err.status != KILN_OK ? err.message : "the CUDA driver sees no GPU");
            kiln__nvrtc_describe(infos[0].compiler, sizeof infos[0].compiler);
        }
        kiln_error_clear(&err);
        return 1;
    }
    for (int i = 0; i < count && (size_t)i < capacity; i++)
        describe(i, &infos[i]);
    return (size_t)count;
}

/* ---- open and close ---- */

static kiln_status open_ordinal(kiln__device *device, int ordinal, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__cuda *cuda = NULL;

    describe(ordinal, &device->info);
    if (!device->info.usable)
        return kiln__fail(err, KILN_ERR_NO_DEVICE, "%s (%s) cannot be used: %s", device->info.id,
                          device->info.name, device->info.reason);
    KILN_CHECK(kiln__make_zeroed(&cuda, 1, sizeof *cuda, err));
    KILN_TRY(
        kiln__cuda_status(device, kiln__cu.device_get(&cuda->device, ordinal), "cuDeviceGet", err));
    KILN_TRY(kiln__cuda_status(device, kiln__cu.primary_retain(&cuda->context, cuda->device),
                               "cuDevicePrimaryCtxRetain", err));
    pthread_mutex_init(&cuda->stage.lock, NULL);
    device->state = cuda;
    cuda = NULL;

done:
    kiln__free(cuda);
    return status;
}

static kiln_status cuda_open(kiln__device *device, int ordinal, int cpu_threads, kiln_error *err)
{
    int count = 0;
    kiln_status status = KILN_OK;

    (void)cpu_threads;
    KILN_CHECK(kiln__cuda_init(err));
    if (kiln__cu.device_get_count(&count) != KILN__CU_OK || count == 0)
        return kiln__fail(err, KILN_ERR_NO_DEVICE, "the CUDA driver sees no GPU");
    if (ordinal != KILN__ORDINAL_ANY) {
        if (ordinal >= count)
            return kiln__fail(err, KILN_ERR_NO_DEVICE,
                              "there is no cuda:%d; the CUDA driver sees %d GPU%s, from cuda:0 on",
                              ordinal, count, count == 1 ? "" : "s");
        return open_ordinal(device, ordinal, err);
    }
    for (int i = 0; i < count; i++) {
        status = open_ordinal(device, i, err);
        if (status == KILN_OK || status == KILN_ERR_NO_MEMORY)
            break;
    }
    return status;
}

static void cuda_close(kiln__device *device)
{
    kiln__cuda *cuda = kiln__cuda_of(device);
    bool pushed;

    if (cuda == NULL)
        return;
    if (!kiln__device_forked(device)) {
        if (kiln__cuda_enter(device, &pushed, NULL) == KILN_OK) {
            kiln__cuda_stage_clear(device);
            kiln__cuda_leave(pushed);
        }
        (void)kiln__cu.primary_release(cuda->device);
    }
    kiln__team_destroy(cuda->stage.team, kiln__device_forked(device));
    pthread_mutex_destroy(&cuda->stage.lock);
    kiln__free(cuda);
    device->state = NULL;
}

static kiln_status cuda_synchronize(kiln__device *device, kiln_error *err)
{
    bool pushed;

    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    const kiln__cu_result result = kiln__cuda_wait_for_all();
    kiln__cuda_leave(pushed);
    return kiln__cuda_status(device, result, "cuCtxSynchronize", err);
}

static kiln_status cuda_enter(kiln__device *device, bool *pushed_out, kiln_error *err)
{
    return kiln__cuda_enter(device, pushed_out, err);
}

const kiln__backend kiln__backend_cuda = {
    .kind = KILN_BACKEND_CUDA,
    .prefix = "cuda",
    .list = cuda_list,
    .is_installed = kiln__cuda_is_installed,
    .open = cuda_open,
    .close = cuda_close,
    .synchronize = cuda_synchronize,
    .enter = cuda_enter,
    .leave = kiln__cuda_leave,
#define KILN_BACKEND(result, name, parameters) .name = kiln__cuda_##name,
#include "device/backend.def"
#undef KILN_BACKEND
    .raw = &kiln__raw_cuda,
    .compiler_identity = kiln__nvrtc_identity,
    .compiler_key = kiln__nvrtc_key,
    .compiler_faults = KILN__FAULT_TABLE,
    .compiler_include_dirs = kiln__nvrtc_include_dirs,
    .compiler_looks_further = kiln__nvrtc_looks_further,
    .compile = kiln__nvrtc_compile,
    .compiler_targets = kiln__nvrtc_targets,
};
