/*
 * foreign.c - arrays in memory of other libraries, and the order between their streams and kiln's.
 * dlpack.c and interface.c call it. Tests: test_dlpack, test_dlpack_streams.
 */
#include "interop/interop.h"

/* The driver's handle for a stream of the options: 0 and 1 both mean the legacy default stream. */
static void *native_of(intptr_t stream)
{
    return stream == 0 ? KILN_STREAM_LEGACY : (void *)stream;
}

kiln_status kiln__foreign_order(const kiln_array *array, intptr_t stream, kiln_error *err)
{
    if (stream == KILN_DLPACK_STREAM_NO_SYNC ||
        kiln__device_is_host(kiln__context_device(array->ctx)))
        return KILN_OK;
    return kiln__storage_wait_on(array->storage, native_of(stream), err);
}

kiln_status kiln__foreign_wrap(kiln_context *ctx, const kiln__foreign *foreign, kiln_array **out,
                               kiln_error *err)
{
    kiln__foreign f = *foreign;
    kiln__device *device = kiln__context_device(ctx);
    int64_t c_order[KILN_RANK_MAX], size = 0;
    kiln__int128 low = 0, high = 0;

    *out = NULL;
    KILN_CHECK(kiln__shape_size(f.rank, f.shape, kiln_dtype_size(f.dtype), &size, err));
    if (f.strides == NULL) {
        kiln__strides_ordered(f.rank, f.shape, NULL, kiln_dtype_size(f.dtype), c_order);
        f.strides = c_order;
    }
    kiln__strides_extent(f.rank, f.shape, f.strides, kiln_dtype_size(f.dtype), &low, &high);
    if (low < INT64_MIN || high - low > INT64_MAX)
        return kiln__fail(err, KILN_ERR_OVERFLOW, "the strides reach beyond every address");
    if (f.stream != KILN_DLPACK_STREAM_NO_SYNC && !kiln__device_is_host(device))
        KILN_CHECK(kiln__stream_wait_native(kiln__device_stream(device), native_of(f.stream), err));
    KILN_CHECK(kiln_array_wrap(ctx, f.dtype, f.rank, f.shape, f.strides, f.data,
                               f.data != NULL ? (void *)((uintptr_t)f.data + (uintptr_t)low) : NULL,
                               (size_t)(high - low), f.release, f.owner, out, err));
    if (f.read_only)
        kiln__array_make_read_only(*out);
    if (f.ordered_release && f.stream != KILN_DLPACK_STREAM_NO_SYNC &&
        !kiln__device_is_host(device))
        kiln__storage_release_in_order((*out)->storage, native_of(f.stream));
    return KILN_OK;
}
