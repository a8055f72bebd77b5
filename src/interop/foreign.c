/*
 * foreign.c - memory of other libraries as arrays, and order between their streams and kiln's.
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

/* Lowest and highest byte that elements may touch, relative to the first one. ERR_OVERFLOW where
 * they do not fit an address. */
static kiln_status extent(const kiln__foreign *f, int64_t *low, int64_t *high, kiln_error *err)
{
    *low = 0;
    *high = (int64_t)kiln_dtype_size(f->dtype);
    for (int axis = 0; axis < f->rank; axis++) {
        int64_t reach = 0;
        if (f->shape[axis] == 0) {
            *low = *high = 0;
            return KILN_OK;
        }
        if (__builtin_mul_overflow(f->shape[axis] - 1, f->strides[axis], &reach) ||
            __builtin_add_overflow(reach < 0 ? *low : *high, reach, reach < 0 ? low : high))
            return kiln__fail(err, KILN_ERR_OVERFLOW,
                              "stride %lld of axis %d reaches beyond every address",
                              (long long)f->strides[axis], axis);
    }
    return KILN_OK;
}

kiln_status kiln__foreign_wrap(kiln_context *ctx, const kiln__foreign *foreign, kiln_array **out,
                               kiln_error *err)
{
    kiln__foreign f = *foreign;
    kiln__device *device = kiln__context_device(ctx);
    int64_t c_order[KILN_RANK_MAX], low = 0, high = 0, size = 0;
    kiln_status status = KILN_OK;

    *out = NULL;
    KILN_TRY(kiln__shape_size(f.rank, f.shape, kiln_dtype_size(f.dtype), &size, err));
    if (f.strides == NULL) {
        int64_t step = (int64_t)kiln_dtype_size(f.dtype);
        for (int axis = f.rank - 1; axis >= 0; axis--) {
            c_order[axis] = step;
            step *= f.shape[axis] > 0 ? f.shape[axis] : 1;
        }
        f.strides = c_order;
    }
    KILN_TRY(extent(&f, &low, &high, err));
    if (f.stream != KILN_DLPACK_STREAM_NO_SYNC && !kiln__device_is_host(device))
        KILN_TRY(kiln__stream_wait_native(kiln__device_stream(device), native_of(f.stream), err));
    KILN_TRY(kiln_array_wrap(ctx, f.dtype, f.rank, f.shape, f.strides, f.data,
                             f.data != NULL ? (char *)f.data + low : NULL, (size_t)(high - low),
                             f.release, f.owner, out, err));
    if (f.read_only)
        kiln__array_make_read_only(*out);

done:
    return status;
}
