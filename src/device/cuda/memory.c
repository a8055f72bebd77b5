/*
 * memory.c - device memory and copies through the CUDA driver.
 *
 *     pool -> [raw_alloc, raw_free]        array -> [copies] -> stage.c, driver
 */
#include "device/cuda/driver.h"

#define POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define POINTER_ATTRIBUTE_IS_MANAGED 8
#define POINTER_ATTRIBUTE_DEVICE_ORDINAL 9
#define POINTER_TYPE_DEVICE 2
#define DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS 88
#define HOST_ALLOC_PORTABLE 0x1u
#define HOST_ALLOC_DEVICE_MAP 0x2u
#define HOST_ALLOC_WRITE_COMBINED 0x4u

/* Copies to the host up to this size go straight to the driver, which is quicker for them. */
#define DIRECT_MAX ((size_t)1 << 20)

static kiln__cu_pointer device_pointer(const void *address)
{
    return (kiln__cu_pointer)(uintptr_t)address;
}

/* ---- memory ---- */

kiln_status kiln__cuda_raw_alloc(kiln__device *device, size_t bytes, void **address_out,
                                 kiln_error *err)
{
    kiln__cu_pointer address = 0;
    bool pushed;

    *address_out = NULL;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    kiln_status status =
        kiln__cuda_status(device, kiln__cu.mem_alloc(&address, bytes), "cuMemAlloc", err);
    if (status == KILN_OK && address % 512 != 0) {
        (void)kiln__cu.mem_free(address);
        address = 0;
        status = kiln__fail(err, KILN_ERR_DRIVER, "cuMemAlloc on %s: memory that is not aligned",
                            device->info.id);
    }
    kiln__cuda_leave(pushed);
    *address_out = (void *)(uintptr_t)address;
    return status;
}

void kiln__cuda_raw_free(kiln__device *device, void *address, size_t bytes)
{
    bool pushed;

    (void)bytes;
    if (address == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.mem_free(device_pointer(address));
    kiln__cuda_leave(pushed);
}

bool kiln__cuda_raw_alloc_async(kiln__device *device, size_t bytes, void *native,
                                void **address_out)
{
    kiln__cu_pointer address = 0;
    bool pushed;

    *address_out = NULL;
    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return false;
    const bool given = kiln__cu.mem_alloc_async(&address, bytes, native) == KILN__CU_OK;
    kiln__cuda_leave(pushed);
    *address_out = (void *)(uintptr_t)address;
    return given;
}

void kiln__cuda_raw_free_async(kiln__device *device, void *address, void *native)
{
    bool pushed;

    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.mem_free_async(device_pointer(address), native);
    kiln__cuda_leave(pushed);
}

void kiln__cuda_mem_info(kiln__device *device, size_t *free_out, size_t *total_out)
{
    bool pushed;

    *free_out = *total_out = 0;
    if (kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    if (kiln__cu.mem_get_info(free_out, total_out) != KILN__CU_OK)
        *free_out = *total_out = 0;
    kiln__cuda_leave(pushed);
}

/* ---- copies ---- */

/* Whether the driver knows the host memory as page-locked (or managed): it can then be read and
 * written by the device at any later time, and in full speed. Of memory that it does not know
 * cuPointerGetAttributes says type 0, where cuPointerGetAttribute would fail: a failed call for
 * each ordinary copy is noise to whoever watches the driver, compute-sanitizer for one. */
static bool is_known_to_driver(const void *address)
{
    int type = 0, attribute = POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;

    return kiln__cu.pointer_get_attributes(1, &attribute, &value, device_pointer(address)) ==
               KILN__CU_OK &&
           type != 0;
}

kiln_status kiln__cuda_memory_check(kiln__device *device, const void *address, kiln_error *err)
{
    int type = 0, managed = 0, ordinal = -1, reaches_all = 0;
    int attributes[] = {POINTER_ATTRIBUTE_MEMORY_TYPE, POINTER_ATTRIBUTE_IS_MANAGED,
                        POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &ordinal};

    KILN_CHECK(kiln__cuda_status(
        device, kiln__cu.pointer_get_attributes(3, attributes, values, device_pointer(address)),
        "cuPointerGetAttributes", err));
    if (managed != 0 || (type != 0 && type != POINTER_TYPE_DEVICE))
        return KILN_OK; /* page-locked host memory, which kernels reach over the bus */
    if (type == 0 &&
        kiln__cu.device_get_attribute(&reaches_all, DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                      kiln__cuda_of(device)->device) == KILN__CU_OK &&
        reaches_all != 0)
        return KILN_OK;
    if (type == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "%p is ordinary host memory, which %s does not reach; copy it with "
                          "kiln_array_from_host()",
                          address, device->info.id);
    if (ordinal != device->info.ordinal)
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "the memory at %p is of cuda:%d, the context is on %s", address, ordinal,
                          device->info.id);
    return KILN_OK;
}

kiln_status kiln__cuda_copy_host_to_device(kiln__device *device, void *dst, const void *src,
                                           size_t bytes, void *native, kiln_error *err)
{
    kiln__cu_pointer to = device_pointer(dst);
    bool pushed, staged = false;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    if (!is_known_to_driver(src)) /* a stage that is sent from is not written to */
        status = kiln__cuda_stage_copy(device, to, (void *)(uintptr_t)src, bytes, true, native,
                                       &staged, err);
    if (!staged) {
        status = kiln__cuda_status(device, kiln__cu.memcpy_htod_async(to, src, bytes, native),
                                   "cuMemcpyHtoDAsync", err);
        if (status == KILN_OK)
            status = kiln__cuda_status(device, kiln__cu.stream_synchronize(native),
                                       "cuStreamSynchronize", err);
    }
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_copy_device_to_host(kiln__device *device, void *dst, const void *src,
                                           size_t bytes, void *native, kiln_error *err)
{
    kiln__cu_pointer from = device_pointer(src);
    bool pushed, staged = false;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    if (bytes > DIRECT_MAX && !is_known_to_driver(dst))
        status = kiln__cuda_stage_copy(device, from, dst, bytes, false, native, &staged, err);
    if (!staged) {
        status = kiln__cuda_status(device, kiln__cu.memcpy_dtoh_async(dst, from, bytes, native),
                                   "cuMemcpyDtoHAsync", err);
        if (status == KILN_OK)
            status = kiln__cuda_status(device, kiln__cu.stream_synchronize(native),
                                       "cuStreamSynchronize", err);
    }
    kiln__cuda_leave(pushed);
    return status;
}

kiln_status kiln__cuda_copy_device_to_device(kiln__device *device, void *dst, const void *src,
                                             size_t bytes, void *native, kiln_error *err)
{
    KILN__CU_CHECK(memcpy_dtod_async, "cuMemcpyDtoDAsync",
                   (device_pointer(dst), device_pointer(src), bytes, native));
    return KILN_OK;
}

kiln_status kiln__cuda_memory_set(kiln__device *device, void *dst, int byte, size_t bytes,
                                  void *native, kiln_error *err)
{
    KILN__CU_CHECK(memset_d8_async, "cuMemsetD8Async",
                   (device_pointer(dst), (unsigned char)byte, bytes, native));
    return KILN_OK;
}

kiln_status kiln__cuda_enqueue_copy(kiln__device *device, void *dst, const void *src, size_t bytes,
                                    bool to_device, void *native, kiln_error *err)
{
    if (to_device)
        KILN__CU_CHECK(memcpy_htod_async, "cuMemcpyHtoDAsync",
                       (device_pointer(dst), src, bytes, native));
    else
        KILN__CU_CHECK(memcpy_dtoh_async, "cuMemcpyDtoHAsync",
                       (dst, device_pointer(src), bytes, native));
    return KILN_OK;
}

/* ---- host memory ---- */

kiln_status kiln__cuda_host_alloc(kiln__device *device, size_t bytes, bool write_combined,
                                  void **out, kiln_error *err)
{
    const unsigned kind = HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICE_MAP |
                          (write_combined ? HOST_ALLOC_WRITE_COMBINED : 0);
    bool pushed;

    *out = NULL;
    KILN_CHECK(kiln__cuda_enter(device, &pushed, err));
    const kiln__cu_result result = kiln__cuda_lock_memory(device, bytes, kind, out);
    kiln_status status =
        result == KILN__CU_OUT_OF_MEMORY
            ? kiln__fail(err, KILN_ERR_NO_MEMORY,
                         "the host has no %zu bytes that it could page-lock", bytes)
            : kiln__cuda_status(device, result, "cuMemHostAlloc", err);
    kiln__cuda_leave(pushed);
    return status;
}

void kiln__cuda_host_free(kiln__device *device, void *memory)
{
    bool pushed;

    if (memory == NULL || kiln__cuda_enter(device, &pushed, NULL) != KILN_OK)
        return;
    (void)kiln__cu.mem_free_host(memory);
    kiln__cuda_leave(pushed);
}
