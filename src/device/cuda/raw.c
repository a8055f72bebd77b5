/*
 * raw.c - modules and kernels of the user's on a GPU.
 *
 * Rule: a launch that asks for nothing special is cuLaunchKernel, the same as kiln's own kernels;
 *       clusters, cooperation and programmatic launches are attributes of cuLaunchKernelEx.
 */
#include "device/cuda/driver.h"

enum {
    FUNC_MAX_THREADS = 0,
    FUNC_SHARED_BYTES = 1,
    FUNC_CONST_BYTES = 2,
    FUNC_LOCAL_BYTES = 3,
    FUNC_REGISTERS = 4,
    FUNC_PTX_VERSION = 5,
    FUNC_BINARY_VERSION = 6,
    FUNC_CACHE_MODE_CA = 7,
    FUNC_MAX_DYNAMIC_SHARED = 8,
    FUNC_PREFERRED_SHARED_PERCENT = 9,
    FUNC_NON_PORTABLE_CLUSTER = 14
};

enum { LAUNCH_COOPERATIVE = 2, LAUNCH_CLUSTER = 4, LAUNCH_PROGRAMMATIC = 6, LAUNCH_ATTRIBUTES = 3 };

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6, LOG_BYTES = 16384 };

/* What every GPU allows; larger clusters need an attribute of the function. */
#define CLUSTER_BLOCKS_PORTABLE 8

/* ---- limits ---- */

static kiln_status get_limits(kiln__device *device, kiln__raw_limits *out, kiln_error *err)
{
    int cooperative = 0, clusters = 0, major = 0;
    const struct {
        int attribute;
        void *to;
    } wanted[] = {
        {1, &out->block_threads}, {2, &out->block[0]}, {3, &out->block[1]},
        {4, &out->block[2]},      {5, &out->grid[0]},  {6, &out->grid[1]},
        {7, &out->grid[2]},       {16, &out->units},   {97, &out->shared_bytes},
        {95, &cooperative},       {120, &clusters},    {75, &major},
    };
    bool pushed;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    for (size_t k = 0; k < KILN_COUNT_OF(wanted) && status == KILN_OK; k++) {
        int value = 0;
        status = kiln__cuda_status(device,
                                   kiln__cu.device_get_attribute(&value, wanted[k].attribute,
                                                                 kiln__cuda_of(device)->device),
                                   "cuDeviceGetAttribute", err);
        memcpy(wanted[k].to, &value, sizeof value);
    }
    kiln__cuda_leave(pushed);
    out->cooperative = cooperative != 0;
    out->programmatic = major >= 9;
    out->cluster_blocks = clusters != 0 ? 2 * CLUSTER_BLOCKS_PORTABLE : 0;
    return status;
}

/* ---- modules ---- */

static kiln_status load(kiln__device *device, const void *image, void **module_out, char **log_out,
                        kiln_error *err)
{
    kiln__cu_module module = NULL;
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    char *log = kiln__calloc(1, LOG_BYTES);
    void *values[] = {log, (void *)(uintptr_t)(LOG_BYTES - 1)};
    bool pushed = false;
    kiln_status status = log != NULL ? kiln__cuda_enter(device, &pushed, err)
                                     : kiln__fail_memory(err, LOG_BYTES);

    *module_out = NULL;
    if (status != KILN_OK) {
        kiln__free(log);
        return status;
    }
    status = kiln__cuda_status(device,
                               kiln__cu.module_load_data_ex(&module, image, 2, options, values),
                               "cuModuleLoadDataEx", err);
    kiln__cuda_leave(pushed);
    *module_out = module;
    if (status != KILN_OK && log[0] != '\0')
        *log_out = log;
    else
        kiln__free(log);
    return status;
}

static kiln_status symbol(kiln__device *device, void *module, const char *name, void **address_out,
                          size_t *bytes_out, bool *read_only_out, kiln_error *err)
{
    kiln__cu_pointer address = 0;
    bool pushed;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln__cu_result result = kiln__cu.module_get_global(&address, bytes_out, module, name);
    kiln_status status =
        result == KILN__CU_NOT_FOUND
            ? kiln__fail(err, KILN_ERR_NAME, "there is no variable \"%.200s\"", name)
            : kiln__cuda_status(device, result, "cuModuleGetGlobal", err);
    kiln__cuda_leave(pushed);
    *read_only_out = false; /* constant memory is written by copies, too */
    *address_out = (void *)(uintptr_t)address;
    return status;
}

/* ---- kernels ---- */

/* CUDA 12 has no call for the number of parameters: it is the first index that the driver refuses.
 * */
static kiln_status get_params(kiln__device *device, void *entry, kiln__raw_param *params,
                              size_t *count_out, kiln_error *err)
{
    bool pushed;
    kiln_status status = KILN_OK;

    if (kiln__cu.func_get_param_info == NULL || kiln__cu.version < 12040)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "drivers before CUDA 12.4 do not tell a kernel's parameters");
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    for (;; (*count_out)++) {
        size_t offset = 0, bytes = 0;
        if (kiln__cu.func_get_param_info(entry, *count_out, &offset, &bytes) != KILN__CU_OK)
            break;
        if (*count_out == KILN__RAW_PARAMS_MAX) {
            status = kiln__fail(err, KILN_ERR_UNSUPPORTED, "it has more than %d parameters",
                                KILN__RAW_PARAMS_MAX);
            break;
        }
        params[*count_out] = (kiln__raw_param){(uint32_t)offset, (uint32_t)bytes, 0};
    }
    kiln__cuda_leave(pushed);
    return status;
}

static kiln_status get_attributes(kiln__device *device, void *entry, kiln__raw_attributes *out,
                                  kiln_error *err)
{
    const struct {
        int attribute, *to;
    } wanted[] = {
        {FUNC_MAX_THREADS, &out->max_threads},       {FUNC_SHARED_BYTES, &out->shared_bytes},
        {FUNC_CONST_BYTES, &out->const_bytes},       {FUNC_LOCAL_BYTES, &out->local_bytes},
        {FUNC_REGISTERS, &out->registers},           {FUNC_PTX_VERSION, &out->ptx_version},
        {FUNC_BINARY_VERSION, &out->binary_version},
        {FUNC_MAX_DYNAMIC_SHARED, &out->max_dynamic_shared_bytes},
        {FUNC_CACHE_MODE_CA, &out->cache_mode_ca},
        {FUNC_PREFERRED_SHARED_PERCENT, &out->preferred_shared_percent},
    };
    bool pushed;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    for (size_t k = 0; k < KILN_COUNT_OF(wanted) && status == KILN_OK; k++)
        status = kiln__cuda_status(
            device, kiln__cu.func_get_attribute(wanted[k].to, wanted[k].attribute, entry),
            "cuFuncGetAttribute", err);
    kiln__cuda_leave(pushed);
    return status;
}

/* ---- launches ---- */

static uint32_t volume(const uint32_t dims[3])
{
    return dims[0] * dims[1] * dims[2];
}

/* Raise the limits of the function to what the launch asks for. */
kiln_status kiln__cuda_raise_limits(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                    kiln_error *err)
{
    kiln_status status = kiln__cuda_allow_shared(device, entry, launch->shared_bytes, err);

    if (status == KILN_OK && volume(launch->cluster) > CLUSTER_BLOCKS_PORTABLE)
        status = kiln__cuda_status(
            device, kiln__cu.func_set_attribute(entry, FUNC_NON_PORTABLE_CLUSTER, 1),
            "cuFuncSetAttribute", err);
    return status;
}

static void make_config(const kiln__raw_launch *launch, void *native,
                        kiln__cu_launch_attribute attributes[LAUNCH_ATTRIBUTES],
                        kiln__cu_launch_config *config)
{
    memset(attributes, 0, LAUNCH_ATTRIBUTES * sizeof *attributes);
    *config = (kiln__cu_launch_config){
        .shared_bytes = launch->shared_bytes, .stream = native, .attributes = attributes};
    memcpy(config->grid, launch->grid, sizeof config->grid);
    memcpy(config->block, launch->block, sizeof config->block);
    if (launch->cluster[0] != 0) {
        attributes[config->attribute_count].id = LAUNCH_CLUSTER;
        memcpy(attributes[config->attribute_count++].value.dims, launch->cluster,
               sizeof launch->cluster);
    }
    if (launch->cooperative) {
        attributes[config->attribute_count].id = LAUNCH_COOPERATIVE;
        attributes[config->attribute_count++].value.flag = 1;
    }
    if (launch->programmatic) {
        attributes[config->attribute_count].id = LAUNCH_PROGRAMMATIC;
        attributes[config->attribute_count++].value.flag = 1;
    }
}

static kiln_status get_occupancy(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                                 int64_t *blocks_out, kiln_error *err)
{
    kiln__cu_launch_attribute attributes[LAUNCH_ATTRIBUTES];
    kiln__cu_launch_config config;
    int count = 0;
    bool pushed;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    KILN_TRY(kiln__cuda_raise_limits(device, entry, launch, err));
    if (launch->cluster[0] != 0) {
        make_config(launch, NULL, attributes, &config);
        memcpy(config.grid, launch->cluster, sizeof config.grid); /* a whole number of clusters */
        KILN_TRY(kiln__cuda_status(device, kiln__cu.occupancy_clusters(&count, entry, &config),
                                   "cuOccupancyMaxActiveClusters", err));
        *blocks_out = (int64_t)count * volume(launch->cluster);
    } else {
        KILN_TRY(kiln__cuda_status(
            device,
            kiln__cu.occupancy_blocks(&count, entry, (int)volume(launch->block),
                                      launch->shared_bytes),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", err));
        *blocks_out = (int64_t)count * device->info.unit_count;
    }

done:
    kiln__cuda_leave(pushed);
    return status;
}

static kiln_status run(kiln__device *device, void *entry, const kiln__raw_launch *launch,
                       const kiln__raw_param *params, size_t count, const void *block,
                       size_t bytes, void *native, kiln_error *err)
{
    const uint32_t *const grid = launch->grid, *const threads = launch->block;
    kiln__cu_launch_attribute attributes[LAUNCH_ATTRIBUTES];
    kiln__cu_launch_config config;
    void *values[KILN_PARAM_MAX];
    bool pushed;
    kiln_status status = KILN_OK;

    (void)bytes;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    for (size_t k = 0; k < count; k++) /* the driver reads only */
        values[k] = (void *)((uintptr_t)block + params[k].offset);
    KILN_TRY(kiln__cuda_raise_limits(device, entry, launch, err));
    if (launch->cluster[0] == 0 && !launch->cooperative && !launch->programmatic) {
        status = kiln__cuda_status(device,
                                   kiln__cu.launch_kernel(entry, grid[0], grid[1], grid[2],
                                                          threads[0], threads[1], threads[2],
                                                          launch->shared_bytes, native, values, NULL),
                                   "cuLaunchKernel", err);
    } else {
        make_config(launch, native, attributes, &config);
        status =
            kiln__cuda_status(device, kiln__cu.launch_kernel_ex(&config, entry, values, NULL),
                              "cuLaunchKernelEx", err);
    }

done:
    kiln__cuda_leave(pushed);
    return status;
}

const kiln__raw_backend kiln__raw_cuda = {
    .limits = get_limits,
    .load = load,
    .symbol = symbol,
    .params = get_params,
    .attributes = get_attributes,
    .occupancy = get_occupancy,
    .launch = run,
};
