/*
 * module.c - loads cubins, finds their kernels, and launches them.
 *
 *     jit -> [module_load, module_entry] once          call -> [launch] every time
 *
 * Rule: kiln__cuda_launch takes no lock, allocates nothing and calls the driver twice: to see
 *       whose context is current, and to launch. Where it gives shared memory, the driver is also
 *       asked how much of it the kernel may be given.
 */
#include "device/cuda/driver.h"

#define FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
#define FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT 9

kiln_status kiln__cuda_module_load(kiln__device *device, const void *binary, size_t bytes,
                                   void **module_out, kiln_error *err)
{
    kiln__cu_module module = NULL;
    bool pushed;
    kiln_status status = KILN_OK;

    (void)bytes; /* a cubin tells its own size */
    *module_out = NULL;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln__cu_result result = kiln__cu.module_load_data(&module, binary);
    if (result == KILN__CU_INVALID_IMAGE || result == KILN__CU_NO_BINARY_FOR_GPU ||
        result == KILN__CU_UNSUPPORTED_PTX_VERSION)
        status =
            kiln__fail(err, KILN_ERR_DRIVER,
                       "%s (%s, driver for CUDA %d.%d) refuses a kernel made by %s: %s; an "
                       "NVRTC newer than the driver makes kernels that it cannot load (see "
                       "KILN_NVRTC)",
                       device->info.id, device->info.target, kiln__cu.version / 1000,
                       kiln__cu.version % 1000 / 10,
                       device->info.compiler[0] != '\0' ? device->info.compiler : "another machine",
                       kiln__cuda_text(result));
    else
        status = kiln__cuda_status(device, result, "cuModuleLoadData", err);
    kiln__cuda_leave(pushed);
    *module_out = module;
    return status;
}

void kiln__cuda_module_unload(kiln__device *device, void *module)
{
    bool pushed;

    if (module == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    /* A kernel of the module may still be running or waiting on any stream. */
    (void)kiln__cuda_wait_for_all();
    (void)kiln__cu.module_unload(module);
    kiln__cuda_leave(pushed);
}

kiln_status kiln__cuda_module_entry(kiln__device *device, void *module, const char *name,
                                    void **entry_out, kiln_error *err)
{
    kiln__cu_function function = NULL;
    bool pushed;
    kiln_status status = KILN_OK;

    *entry_out = NULL;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln__cu_result result = kiln__cu.module_get_function(&function, module, name);
    if (result == KILN__CU_NOT_FOUND)
        status = kiln__fail(err, KILN_ERR_INTERNAL, "the module has no kernel \"%s\"", name);
    else
        status = kiln__cuda_status(device, result, "cuModuleGetFunction", err);
    kiln__cuda_leave(pushed);
    *entry_out = function;
    return status;
}

void kiln__cuda_entry_prefer_shared(kiln__device *device, void *entry, int percent)
{
    bool pushed;

    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.func_set_attribute(entry, FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                      percent);
    kiln__cuda_leave(pushed);
}

/* Raises the function's limit of dynamic shared memory where a launch needs more than it allows. Before a limit
 * is set, the dynamic memory of a launch and the kernel's static memory together may have 48 KiB. The limit is
 * never lowered, since another thread may be about to launch with it. */
kiln_status kiln__cuda_allow_shared(kiln__device *device, void *entry, uint32_t shared_bytes,
                                    kiln_error *err)
{
    int allowed = 0;

    if (shared_bytes == 0)
        return KILN_OK;
    KILN_CHECK(kiln__cuda_status(
        device,
        kiln__cu.func_get_attribute(&allowed, FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, entry),
        "cuFuncGetAttribute", err));
    if (shared_bytes <= (uint32_t)allowed)
        return KILN_OK;
    return kiln__cuda_status(
        device,
        kiln__cu.func_set_attribute(entry, FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (int)shared_bytes),
        "cuFuncSetAttribute", err);
}

kiln_status kiln__cuda_launch(kiln__device *device, void *entry, const kiln__launch_config *config,
                              const void *args, size_t args_bytes, void *native, kiln_error *err)
{
    void *params[1] = {(void *)(uintptr_t)args}; /* the driver reads only */
    bool pushed;
    kiln_status status = KILN_OK;

    (void)args_bytes; /* the kernel knows the size of its one parameter */
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    if (config->grid_x > INT32_MAX) {
        status =
            kiln__fail(err, KILN_ERR_INTERNAL, "a grid of %lld blocks", (long long)config->grid_x);
        goto done;
    }
    KILN_TRY(kiln__cuda_allow_shared(device, entry, config->shared_bytes, err));
    status = kiln__cuda_status(device,
                               kiln__cu.launch_kernel(entry, (unsigned)config->grid_x,
                                                      config->grid_y > 0 ? config->grid_y : 1,
                                                      config->grid_z > 0 ? config->grid_z : 1,
                                                      config->block, 1, 1, config->shared_bytes,
                                                      native, params, NULL),
                               "cuLaunchKernel", err);

done:
    kiln__cuda_leave(pushed);
    return status;
}
