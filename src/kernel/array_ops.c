/*
 * array_ops.c - array functions that need a kernel on a CUDA device: fill, copy, cast, read back
 * (kiln/array.h).
 *
 * The kernels are ordinary definitions, which the context keeps (kept.c) and compiles when they are
 * first needed. On the cpu device small arrays are handled by plain loops instead, so that a first
 * call does not wait for a compiler to copy a few elements. Most folders above call this file.
 *
 * Test: test_array_ops.
 */
#include <math.h>

#include "kernel/kernel.h"

/* ---- fill ------------------------------------------------------------------------------------------ */

/* Whether a number can be an element of `dtype`: integers exactly, floats without overflow. */
static bool number_fits(kiln_dtype dtype, double value)
{
    const int bits = 8 * (int)kiln_dtype_size(dtype);
    switch (kiln_dtype_kind(dtype)) {
    case 'b':
        return value == 0 || value == 1;
    case 'i':
        return value == floor(value) && value >= -ldexp(1, bits - 1) && value < ldexp(1, bits - 1);
    case 'u':
        return value == floor(value) && value >= 0 && value < ldexp(1, bits);
    default:
        if (!isfinite(value))
            return true;
        if (kiln__is_narrow(dtype))
            return isfinite(kiln__float_round(dtype, value));
        return dtype == KILN_FLOAT64 || dtype == KILN_COMPLEX128 || isfinite((float)value);
    }
}

/* A double as the argument that converts to `dtype` exactly. */
static kiln_arg number_arg(kiln_dtype dtype, double value)
{
    const char kind = kiln_dtype_kind(dtype);
    if (kind == 'f' || kind == 'c')
        return kiln_arg_float(value);
    return value < 0x1p63 ? kiln_arg_int((int64_t)value) : kiln_arg_uint((uint64_t)value);
}

/* One element of `dtype` from a number that is cast as C does. */
static void store_number(kiln_dtype dtype, double value, void *at)
{
    switch (dtype) {
#define STORE(DTYPE, ctype)                                                                        \
    case KILN_##DTYPE: {                                                                           \
        ctype v = (ctype)value;                                                                    \
        memcpy(at, &v, sizeof v);                                                                  \
        break;                                                                                     \
    }
        STORE(INT8, int8_t)
        STORE(INT16, int16_t)
        STORE(INT32, int32_t)
        STORE(INT64, int64_t)
        STORE(UINT8, uint8_t)
        STORE(UINT16, uint16_t)
        STORE(UINT32, uint32_t)
        STORE(UINT64, uint64_t)
        STORE(FLOAT32, float)
        STORE(FLOAT64, double)
#undef STORE
    case KILN_BOOL:
        *(unsigned char *)at = value != 0;
        break;
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
    case KILN_FLOAT8_E4M3FN:
    case KILN_FLOAT8_E5M2:
        kiln__narrow_store(dtype, value, at);
        break;
    case KILN_COMPLEX64:
        memcpy(at, (float[]){(float)value, 0.0f}, 8);
        break;
    case KILN_COMPLEX128:
        memcpy(at, (double[]){value, 0.0}, 16);
        break;
    default:
        break;
    }
}

/* y[k] = start + k * step, the last one `stop` when it is given. */
static void host_ramp(kiln_array *y, double start, double step, const double *stop)
{
    const size_t itemsize = kiln_dtype_size(y->dtype);
    for (int64_t k = 0; k < y->size; k++) {
        const bool last = stop != NULL && k > 0 && k + 1 == y->size;
        store_number(y->dtype, last ? *stop : start + (double)k * step,
                     (char *)y->data + (size_t)k * itemsize);
    }
}

kiln_status kiln_array_zeros(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                             kiln_array **out, kiln_error *err)
{
    KILN_CHECK(kiln_array_empty(ctx, dtype, rank, shape, out, err));
    kiln__device *device = kiln__context_device(ctx);
    kiln_status status =
        kiln__memset(device, (*out)->data, 0, (size_t)(*out)->size * kiln_dtype_size(dtype),
                     kiln__device_stream(device), err);
    if (status != KILN_OK) {
        kiln_array_release(*out);
        *out = NULL;
    }
    return status;
}

static kiln_status fill(kiln_array *y, double value, kiln_error *err)
{
    if (!number_fits(y->dtype, value))
        return kiln__fail(err, KILN_ERR_RANGE, "%.17g does not fit %s", value,
                          kiln_dtype_name(y->dtype));
    if (kiln__host_loop_is_faster(y, NULL) && y->contiguous) {
        host_ramp(y, value, 0.0, NULL);
        return KILN_OK;
    }
    const kiln_arg args[] = {number_arg(y->dtype, value), kiln_arg_array(y)};
    return kiln__builtin_run(y->ctx, KILN__BUILTIN_FILL, args, KILN_COUNT_OF(args), NULL, err);
}

kiln_status kiln_array_fill(kiln_array *array, double value, kiln_error *err)
{
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    if (kiln__array_unwritable(array) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "the array to fill %s",
                          kiln__array_unwritable(array));
    return fill(array, value, err);
}

kiln_status kiln_array_full(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                            double value, kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *y = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_TRY(kiln_array_empty(ctx, dtype, rank, shape, &y, err));
    KILN_TRY(fill(y, value, err));
    *out = y;
    y = NULL;

done:
    kiln_array_release(y);
    return status;
}

kiln_status kiln_array_ones(kiln_context *ctx, kiln_dtype dtype, int rank, const int64_t *shape,
                            kiln_array **out, kiln_error *err)
{
    return kiln_array_full(ctx, dtype, rank, shape, 1.0, out, err);
}

kiln_status kiln_array_arange(kiln_context *ctx, kiln_dtype dtype, double start, double stop,
                              double step, kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *y = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    if (step == 0.0 || !isfinite(start) || !isfinite(stop) || !isfinite(step))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "arange from %g to %g in steps of %g never ends",
                          start, stop, step);
    const double count = ceil((stop - start) / step);
    if (count >= 0x1p62)
        return kiln__fail(err, KILN_ERR_OVERFLOW, "arange of %g elements", count);
    const int64_t shape[] = {count > 0 ? (int64_t)count : 0};
    KILN_TRY(kiln_array_empty(ctx, dtype, 1, shape, &y, err));
    if (kiln__host_loop_is_faster(y, NULL)) {
        host_ramp(y, start, step, NULL);
    } else {
        const kiln_arg args[] = {kiln_arg_float(start), kiln_arg_float(step), kiln_arg_array(y)};
        KILN_TRY(
            kiln__builtin_run(ctx, KILN__BUILTIN_ARANGE, args, KILN_COUNT_OF(args), NULL, err));
    }
    *out = y;
    y = NULL;

done:
    kiln_array_release(y);
    return status;
}

kiln_status kiln_array_linspace(kiln_context *ctx, kiln_dtype dtype, double start, double stop,
                                int64_t count, kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *y = NULL;
    const double step = count > 1 ? (stop - start) / (double)(count - 1) : 0.0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_TRY(kiln_array_empty(ctx, dtype, 1, &count, &y, err));
    if (kiln__host_loop_is_faster(y, NULL)) {
        host_ramp(y, start, step, &stop);
    } else {
        const kiln_arg args[] = {kiln_arg_float(start), kiln_arg_float(step), kiln_arg_float(stop),
                                 kiln_arg_array(y)};
        KILN_TRY(
            kiln__builtin_run(ctx, KILN__BUILTIN_LINSPACE, args, KILN_COUNT_OF(args), NULL, err));
    }
    *out = y;
    y = NULL;

done:
    kiln_array_release(y);
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static kiln_status check_source(const kiln_array *array, kiln_array **out, kiln_error *err)
{
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "`out` is NULL");
    *out = NULL;
    return kiln__array_check(array, NULL, "array", err);
}

kiln_status kiln_array_cast(const kiln_array *array, kiln_dtype dtype, kiln_array **out,
                            kiln_error *err)
{
    int order[KILN_RANK_MAX];
    KILN_CHECK(check_source(array, out, err));
    if (kiln_dtype_size(dtype) == 0)
        return kiln__fail(err, KILN_ERR_DTYPE, "%d is no dtype", (int)dtype);
    kiln__array_k_order(array, order);
    return kiln__array_copy_as(array, dtype, order, NULL, out, err);
}

kiln_status kiln_array_copy(const kiln_array *array, kiln_array **out, kiln_error *err)
{
    KILN_CHECK(check_source(array, out, err));
    return kiln_array_cast(array, array->dtype, out, err);
}

kiln_status kiln_array_contiguous(kiln_array *array, kiln_array **out, kiln_error *err)
{
    KILN_CHECK(check_source(array, out, err));
    if (array->contiguous) {
        *out = kiln_array_retain(array);
        return KILN_OK;
    }
    return kiln__array_copy_on(array, NULL, out, err);
}

kiln_status kiln_array_assign(kiln_array *dst, const kiln_array *src, kiln_error *err)
{
    int rank = 0;
    int64_t shape[KILN_RANK_MAX];
    char to[160], from[160];
    KILN_CHECK(kiln__array_check(dst, NULL, "dst", err));
    KILN_CHECK(kiln__array_check(src, dst->ctx, "src", err));
    if (!kiln__shape_broadcast(&rank, shape, dst->rank, dst->shape) ||
        !kiln__shape_broadcast(&rank, shape, src->rank, src->shape) || rank != dst->rank ||
        memcmp(shape, dst->shape, (size_t)rank * sizeof shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "an array of shape %s cannot be assigned to %s",
                          kiln__shape_text(src->rank, src->shape, from, sizeof from),
                          kiln__shape_text(dst->rank, dst->shape, to, sizeof to));
    if (kiln__array_unwritable(dst) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "the array assigned to %s",
                          kiln__array_unwritable(dst));
    kiln_stream *stream = kiln__device_stream(kiln__context_device(dst->ctx));
    return dst->size == 0 ? KILN_OK : kiln__array_assign_on(dst, src, stream, err);
}

/* `shape` with its one -1 replaced. ERR_SHAPE when the sizes differ. */
static kiln_status reshape_extents(const kiln_array *array, int rank, const int64_t *shape,
                                   int64_t *full, kiln_error *err)
{
    int64_t known = 1, size = 0;
    int open = -1;
    char from[160], to[160];

    if (rank < 0 || rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "rank %d is not between 0 and %d", rank,
                          KILN_RANK_MAX);
    if (shape == NULL && rank > 0)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_reshape: `shape` is NULL");
    for (int a = 0; a < rank; a++) {
        full[a] = shape[a];
        if (shape[a] == -1 && open < 0)
            open = a;
        else if (shape[a] < 0 || kiln__mul_overflow(known, shape[a], &known))
            known = -1; /* equals no size */
        if (known < 0)
            break;
    }
    if (open >= 0 && known > 0 && array->size % known == 0) {
        full[open] = array->size / known;
        known = array->size;
    } else if (open >= 0) {
        known = -1;
    }
    /* Without elements any extents have the right product, but strides must fit as well. */
    if (known == array->size)
        return kiln__shape_size(rank, full, kiln_dtype_size(array->dtype), &size, err);
    return kiln__fail(err, KILN_ERR_SHAPE, "an array of shape %s cannot be reshaped to %s",
                      kiln__shape_text(array->rank, array->shape, from, sizeof from),
                      kiln__shape_text(rank, shape, to, sizeof to));
}

kiln_status kiln_array_reshape(const kiln_array *array, int rank, const int64_t *shape,
                               kiln_array **out, kiln_error *err)
{
    int64_t full[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    kiln_array *copy = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(check_source(array, out, err));
    KILN_CHECK(reshape_extents(array, rank, shape, full, err));
    const size_t itemsize = kiln_dtype_size(array->dtype);
    if (kiln__reshape_strides(array->rank, array->shape, array->strides, itemsize, rank, full,
                              strides))
        return kiln__array_view(array, rank, full, strides, array->data, out, err);
    KILN_TRY(kiln__array_copy_on(array, NULL, &copy, err));
    (void)kiln__reshape_strides(copy->rank, copy->shape, copy->strides, itemsize, rank, full,
                                strides);
    KILN_TRY(kiln__array_view(copy, rank, full, strides, copy->data, out, err));

done:
    kiln_array_release(copy);
    return status;
}

/* ---- reading back -------------------------------------------------------------------------------------- */

/* C-order elements into `data`, which has room. */
static kiln_status read_back(const kiln_array *array, void *data, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_array *dense = NULL;
    kiln__device *device = kiln__context_device(array->ctx);
    const size_t itemsize = kiln_dtype_size(array->dtype);

    if (array->size == 0)
        return kiln__device_check(device, err);
    KILN_TRY(kiln__stream_no_recording(kiln__device_stream(device), "reading an array", err));
    if (kiln__device_is_host(device) && !array->contiguous) {
        int64_t strides[KILN_RANK_MAX];
        kiln__c_order(array, strides);
        kiln__host_copy(data, strides, array->data, array->strides, array->rank, array->shape,
                        itemsize);
        return kiln__device_check(device, err);
    }
    /* The value may come from streams that ours does not wait for. */
    kiln_stream *stream = kiln__device_stream(device);
    if (array->storage->home != stream || atomic_load(&array->storage->used_on) != 0)
        KILN_TRY(kiln__device_synchronize(device, err));
    KILN_TRY(kiln_array_contiguous((kiln_array *)array, &dense, err));
    KILN_TRY(kiln__copy_device_to_host(device, data, dense->data, (size_t)array->size * itemsize,
                                       stream, err));

done:
    kiln_array_release(dense);
    return status;
}

/* Heap memory with the C-order elements. */
static kiln_status read_back_new(const kiln_array *array, void **data_out, kiln_error *err)
{
    const size_t bytes = (size_t)array->size * kiln_dtype_size(array->dtype);
    void *data = NULL;
    KILN_CHECK(kiln__make_room(&data, bytes > 0 ? bytes : 1, err));
    kiln_status status = read_back(array, data, err);
    if (status != KILN_OK) {
        kiln__free(data);
        data = NULL;
    }
    *data_out = data;
    return status;
}

void kiln__c_order(const kiln_array *array, int64_t *strides_out)
{
    int64_t step = (int64_t)kiln_dtype_size(array->dtype);

    for (int axis = array->rank - 1; axis >= 0; axis--) {
        strides_out[axis] = step;
        step *= array->shape[axis];
    }
}

kiln_status kiln__host_room(const kiln_array *array, const void *data, size_t data_bytes,
                            const int64_t *strides, int64_t *c_order, kiln_error *err)
{
    int64_t need = array->size > 0 ? (int64_t)kiln_dtype_size(array->dtype) : 0;

    kiln__c_order(array, c_order);
    for (int a = array->rank - 1; a >= 0; a--) {
        const int64_t stride = strides != NULL ? strides[a] : c_order[a];
        int64_t reach;
        if (stride < 0 || kiln__mul_overflow(array->shape[a] - 1, stride, &reach) ||
            (array->size > 0 && kiln__add_overflow(need, reach, &need)))
            return kiln__fail(err, KILN_ERR_ARGUMENT, "stride %lld of axis %d cannot be written",
                              (long long)stride, a);
    }
    if (data == NULL && need > 0)
        return kiln__fail(err, KILN_ERR_NULL, "data is NULL");
    if ((uint64_t)need > data_bytes)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "`data` has room for %zu bytes, and the array needs %lld", data_bytes,
                          (long long)need);
    return KILN_OK;
}

kiln_status kiln_array_to_host(const kiln_array *array, void *data, size_t data_bytes,
                               const int64_t *strides, kiln_error *err)
{
    void *dense = NULL;
    int64_t c_order[KILN_RANK_MAX];
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__host_room(array, data, data_bytes, strides, c_order, err));
    if (strides == NULL)
        return read_back(array, data, err);
    KILN_TRY(read_back_new(array, &dense, err));
    kiln__host_copy(data, strides, dense, c_order, array->rank, array->shape,
                    kiln_dtype_size(array->dtype));

done:
    kiln__free(dense);
    return status;
}

kiln_status kiln__array_from_npy(kiln_context *ctx, const kiln__npy_header *header,
                                 const void *data, kiln_array **out, kiln_error *err)
{
    int64_t strides[KILN_RANK_MAX], step = (int64_t)kiln_dtype_size(header->dtype);

    for (int k = 0; k < header->rank; k++) {
        const int axis = header->fortran ? k : header->rank - 1 - k;
        strides[axis] = step;
        step *= header->shape[axis];
    }
    return kiln_array_from_host(ctx, header->dtype, header->rank, header->shape, data, strides, out,
                                err);
}

kiln_status kiln_array_load_npy(kiln_context *ctx, const char *path, kiln_array **out,
                                kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__npy_header header;
    void *data = NULL;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    if (ctx == NULL || path == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_load_npy: `%s` is NULL",
                          ctx == NULL ? "ctx" : "path");
    KILN_TRY(kiln__npy_read(path, &header, &data, err));
    status = kiln__array_from_npy(ctx, &header, data, out, err);

done:
    kiln__free(data);
    return status;
}

kiln_status kiln_array_save_npy(const kiln_array *array, const char *path, kiln_error *err)
{
    void *data = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK_NULL(path, err);
    KILN_TRY(read_back_new(array, &data, err));
    KILN_TRY(kiln__npy_write(path, array->dtype, array->rank, array->shape, data, err));

done:
    kiln__free(data);
    return status;
}

kiln_status kiln_array_to_string(const kiln_array *array, char **text_out, kiln_error *err)
{
    void *data = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(text_out, err);
    *text_out = NULL;
    KILN_TRY(kiln__array_check(array, NULL, "array", err));
    KILN_TRY(read_back_new(array, &data, err));
    KILN_TRY(kiln__array_format(array->dtype, array->rank, array->shape, data, text_out, err));

done:
    kiln__free(data);
    return status;
}
