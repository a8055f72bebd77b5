/*
 * transfer.c - page-locked host memory, and copies between existing arrays and the host or another
 * context (kiln/memory.h).
 *
 *     upload:   host memory > [direct, or by C-order memory] > array, any strides
 *     download: the same backwards
 *
 * A copy is direct if both sides are C-order without gaps. Otherwise the elements pass through
 * C-order memory: on the host if the host's side has strides, on the device if the array has.
 *
 * Test: test_memory.
 */
#include "kernel/kernel.h"
#include "kiln/memory.h"

/* ---- host memory ---- */

kiln_status kiln_host_alloc(kiln_context *ctx, size_t bytes, unsigned flags, void **out,
                            kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    if ((flags & ~(unsigned)KILN_HOST_WRITE_COMBINED) != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "flags %#x hold more than kiln_host_flag has",
                          flags);
    return kiln__host_alloc(kiln__context_device(ctx), bytes,
                            (flags & KILN_HOST_WRITE_COMBINED) != 0, out, err);
}

void kiln_host_free(kiln_context *ctx, void *memory)
{
    if (ctx != NULL)
        kiln__host_free(kiln__context_device(ctx), memory);
}

void kiln_host_pool_stats(kiln_context *ctx, kiln_pool_stats *stats_out)
{
    if (stats_out == NULL)
        return;
    memset(stats_out, 0, sizeof *stats_out);
    if (ctx != NULL)
        kiln__host_pool_stats(kiln__context_device(ctx), stats_out);
}

void kiln_host_pool_set_limit(kiln_context *ctx, size_t limit_bytes)
{
    if (ctx != NULL)
        kiln__host_pool_set_limit(kiln__context_device(ctx), limit_bytes);
}

size_t kiln_host_pool_trim(kiln_context *ctx)
{
    return ctx != NULL ? kiln__host_pool_trim(kiln__context_device(ctx)) : 0;
}

static void free_host(void *owner, void *data)
{
    kiln__host_free(owner, data);
}

kiln_status kiln_array_empty_host(kiln_context *ctx, kiln_dtype dtype, int rank,
                                  const int64_t *shape, kiln_array **out, kiln_error *err)
{
    const size_t itemsize = kiln_dtype_size(dtype);
    void *memory = NULL;
    int64_t size = 0;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    if (itemsize == 0)
        return kiln__fail(err, KILN_ERR_DTYPE, "%d is no dtype", (int)dtype);
    kiln__device *const device = kiln__context_device(ctx);
    KILN_TRY(kiln__shape_size(rank, shape, itemsize, &size, err));
    KILN_TRY(kiln__host_alloc(device, (size_t)size * itemsize, false, &memory, err));
    /* The array keeps its context, and with it the device, alive until the memory is given back. */
    status = kiln_array_wrap(ctx, dtype, rank, shape, NULL, memory, NULL, (size_t)size * itemsize,
                             free_host, device, out, err);
    if (status != KILN_OK)
        kiln__host_free(device, memory);

done:
    return status;
}

/* ---- what both directions need ---- */

/* Whether `strides` are those of C-order without gaps, which `c_order` holds. */
static bool are_dense(const kiln_array *array, const int64_t *strides, const int64_t *c_order)
{
    for (int axis = 0; strides != NULL && axis < array->rank; axis++)
        if (array->shape[axis] > 1 && strides[axis] != c_order[axis])
            return false;
    return true;
}

static size_t bytes_of(const kiln_array *array)
{
    return (size_t)array->size * kiln_dtype_size(array->dtype);
}

/* Work on `stream` uses the array's memory from now on. */
static void used_on(const kiln_array *array, kiln_stream *stream)
{
    if (array->storage->home != stream)
        kiln__storage_used_on(array->storage, stream);
}

/* ---- upload ---- */

/* Dense host memory into a dense array. */
static kiln_status send(const kiln_array *array, const void *data, size_t bytes,
                        kiln_stream *stream, kiln_error *err)
{
    kiln__device *const device = kiln__context_device(array->ctx);

    if (kiln__host_is_pinned(device, data, bytes))
        return kiln__copy_enqueue(device, array->data, data, bytes, true, stream, err);
    return kiln__copy_host_to_device(device, array->data, data, bytes, stream, err);
}

kiln_status kiln_array_upload(kiln_array *array, const void *data, const int64_t *strides,
                              kiln_stream *stream, kiln_error *err)
{
    int64_t c_order[KILN_RANK_MAX];
    void *packed = NULL;
    kiln_array *dense = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    if (kiln__array_unwritable(array) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "the array to upload into %s",
                          kiln__array_unwritable(array));
    KILN_TRY(kiln__context_stream(array->ctx, stream, &stream, err));
    KILN_TRY(kiln__device_check(kiln__context_device(array->ctx), err));
    const size_t bytes = bytes_of(array);
    kiln__c_order(array, c_order);
    if (bytes == 0)
        goto done;
    if (data == NULL) {
        status = kiln__fail(err, KILN_ERR_NULL, "data is NULL");
        goto done;
    }
    if (!are_dense(array, strides, c_order)) {
        KILN_TRY(kiln__make_room(&packed, bytes, err));
        kiln__host_copy(packed, c_order, data, strides, array->rank, array->shape,
                        kiln_dtype_size(array->dtype));
        data = packed;
    }
    if (array->contiguous) {
        KILN_TRY(send(array, data, bytes, stream, err));
    } else {
        KILN_TRY(kiln__array_new(array->ctx, array->dtype, array->rank, array->shape, NULL, stream,
                                 &dense, err));
        KILN_TRY(kiln__copy_host_to_device(kiln__context_device(array->ctx), dense->data, data,
                                           bytes, stream, err));
        KILN_TRY(kiln__array_assign_on(array, dense, stream, err));
    }
    used_on(array, stream);

done:
    kiln_array_release(dense);
    kiln__free(packed);
    return status;
}

/* ---- download ---- */

kiln_status kiln_array_download(const kiln_array *array, void *data, size_t data_bytes,
                                const int64_t *strides, kiln_stream *stream, kiln_error *err)
{
    int64_t c_order[KILN_RANK_MAX];
    void *packed = NULL;
    kiln_array *dense = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    kiln__device *const device = kiln__context_device(array->ctx);
    KILN_TRY(kiln__context_stream(array->ctx, stream, &stream, err));
    KILN_TRY(kiln__device_check(device, err));
    KILN_TRY(kiln__host_room(array, data, data_bytes, strides, c_order, err));
    const size_t bytes = bytes_of(array);
    const bool is_dense = are_dense(array, strides, c_order);
    if (bytes == 0)
        goto done;
    if (array->contiguous)
        dense = kiln_array_retain((kiln_array *)array);
    else
        KILN_TRY(kiln__array_copy_on(array, stream, &dense, err));
    used_on(dense, stream);
    if (is_dense && kiln__host_is_pinned(device, data, bytes)) {
        status = kiln__copy_enqueue(device, data, dense->data, bytes, false, stream, err);
        goto done;
    }
    if (!is_dense) {
        KILN_TRY(kiln__make_room(&packed, bytes, err));
    }
    KILN_TRY(kiln__copy_device_to_host(device, is_dense ? data : packed, dense->data, bytes, stream,
                                       err));
    if (!is_dense)
        kiln__host_copy(data, strides, packed, c_order, array->rank, array->shape,
                        kiln_dtype_size(array->dtype));

done:
    kiln_array_release(dense);
    kiln__free(packed);
    return status;
}

/* ---- between contexts ---- */

/* Through page-locked memory of the source's context, which both drivers' copies take. */
kiln_status kiln_array_copy_to(const kiln_array *array, kiln_context *ctx, kiln_array **out,
                               kiln_error *err)
{
    kiln_array *y = NULL;
    void *memory = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    const size_t bytes = bytes_of(array);
    kiln__device *const from = kiln__context_device(array->ctx);
    KILN_TRY(kiln__stream_no_recording(kiln__device_stream(kiln__context_device(ctx)),
                                       "copying an array of another context", err));
    KILN_TRY(kiln_array_empty(ctx, array->dtype, array->rank, array->shape, &y, err));
    if (kiln__device_is_host(kiln__context_device(ctx))) {
        KILN_TRY(kiln_array_to_host(array, y->data, bytes, NULL, err));
    } else if (kiln__device_is_host(from) && array->contiguous) {
        KILN_TRY(kiln_array_upload(y, array->data, NULL, NULL, err));
    } else {
        KILN_TRY(kiln__host_alloc(from, bytes, false, &memory, err));
        KILN_TRY(kiln_array_to_host(array, memory, bytes, NULL, err));
        KILN_TRY(kiln_array_upload(y, memory, NULL, NULL, err));
    }
    *out = y;
    y = NULL;

done:
    kiln__host_free(from, memory);
    kiln_array_release(y);
    return status;
}
