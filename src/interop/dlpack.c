/*
 * dlpack.c - DLPack's structs, versioned and not, from arrays and to arrays.
 *
 *     kiln_array -> [export] -> a struct whose manager_ctx is an `exported`, freed by its deleter
 *     a struct of somebody's -> [import] -> kiln_array, whose release calls the struct's deleter
 *
 * Rule: an imported struct's deleter is called exactly once, whatever fails.
 */
#include "interop/interop.h"

/* ---- element types ---- */

/* DLPack's codes of the dtypes. */
static const uint8_t codes[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = kDLBool,
    [KILN_INT8] = kDLInt,
    [KILN_INT16] = kDLInt,
    [KILN_INT32] = kDLInt,
    [KILN_INT64] = kDLInt,
    [KILN_UINT8] = kDLUInt,
    [KILN_UINT16] = kDLUInt,
    [KILN_UINT32] = kDLUInt,
    [KILN_UINT64] = kDLUInt,
    [KILN_FLOAT16] = kDLFloat,
    [KILN_FLOAT32] = kDLFloat,
    [KILN_FLOAT64] = kDLFloat,
    [KILN_BFLOAT16] = kDLBfloat,
    [KILN_FLOAT8_E4M3FN] = kDLFloat8_e4m3fn,
    [KILN_FLOAT8_E5M2] = kDLFloat8_e5m2,
    [KILN_COMPLEX64] = kDLComplex,
    [KILN_COMPLEX128] = kDLComplex,
};

static DLDataType type_of(kiln_dtype dtype)
{
    return (DLDataType){codes[dtype], (uint8_t)(8 * kiln_dtype_size(dtype)), 1};
}

/* "float8_e4m3fn" and the like, for messages. */
static const char *code_name(uint8_t code)
{
    static const char *const names[] = {"int",
                                        "uint",
                                        "float",
                                        "opaque handle",
                                        "bfloat",
                                        "complex",
                                        "bool",
                                        "float8_e3m4",
                                        "float8_e4m3",
                                        "float8_e4m3b11fnuz",
                                        "float8_e4m3fn",
                                        "float8_e4m3fnuz",
                                        "float8_e5m2",
                                        "float8_e5m2fnuz",
                                        "float8_e8m0fnu",
                                        "float6_e2m3fn",
                                        "float6_e3m2fn",
                                        "float4_e2m1fn"};

    return code < KILN_COUNT_OF(names) ? names[code] : "unknown";
}

kiln_status kiln_dtype_from_dlpack(DLDataType type, kiln_dtype *out, kiln_error *err)
{
    KILN_CHECK_NULL(out, err);
    *out = KILN_DTYPE_NONE;
    if (type.lanes != 1)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "the tensor has elements of %u lanes; kiln has no vector types",
                          type.lanes);
    for (kiln_dtype dtype = KILN_DTYPE_NONE + 1; dtype < KILN_DTYPE_COUNT; dtype++)
        if (codes[dtype] == type.code && 8 * kiln_dtype_size(dtype) == type.bits) {
            *out = dtype;
            return KILN_OK;
        }
    return kiln__fail(err, KILN_ERR_DTYPE,
                      "the tensor has elements of type %s (code %u) with %u bits; kiln has no such "
                      "dtype",
                      code_name(type.code), type.code, type.bits);
}

/* ---- export ---- */

/* What an exported struct points at. */
typedef struct exported {
    union {
        DLManagedTensorVersioned versioned;
        DLManagedTensor plain;
    } tensor;
    kiln_array *array; /* counted; NULL for a copy in host memory */
    void *host;        /* heap; NULL unless such a copy */
    int64_t dims[];    /* shape, then strides */
} exported;

static void exported_free(exported *e)
{
    if (e == NULL)
        return;
    kiln_array_release(e->array);
    kiln__free(e->host);
    kiln__free(e);
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    exported_free(self != NULL ? self->manager_ctx : NULL);
}

static void delete_plain(DLManagedTensor *self)
{
    exported_free(self != NULL ? self->manager_ctx : NULL);
}

/* Strides in elements; ERR_ARGUMENT where bytes are no whole elements, which a view of a part of
 * wider elements may have. */
static kiln_status fill_dims(exported *e, const kiln_array *array, bool c_order, kiln_error *err)
{
    const int64_t itemsize = (int64_t)kiln_dtype_size(array->dtype);
    int64_t *const strides = e->dims + array->rank;

    kiln__strides_ordered(array->rank, array->shape, NULL, 1, strides);
    for (int axis = 0; axis < array->rank; axis++) {
        e->dims[axis] = array->shape[axis];
        if (!c_order)
            strides[axis] = array->strides[axis] / itemsize;
        if (!c_order && array->shape[axis] > 1 && array->strides[axis] % itemsize != 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "stride %lld of axis %d is no multiple of %s's %lld bytes, in which "
                              "DLPack counts",
                              (long long)array->strides[axis], axis, kiln_dtype_name(array->dtype),
                              (long long)itemsize);
    }
    return KILN_OK;
}

/* The elements in C-order in host memory. */
static kiln_status copy_to_host(exported *e, const kiln_array *array, kiln_error *err)
{
    const size_t bytes = (size_t)array->size * kiln_dtype_size(array->dtype);

    KILN_CHECK(kiln__make_room(&e->host, bytes > 0 ? bytes : 1, err));
    return kiln_array_to_host(array, e->host, bytes, NULL, err);
}

/* Share `array`, or a copy, in `e->array` or `e->host`. */
static kiln_status share(exported *e, kiln_array *array, const kiln_dlpack_options *o,
                         kiln_error *err)
{
    if (o->host)
        return copy_to_host(e, array, err);
    if (o->copy)
        KILN_CHECK(kiln_array_copy(array, &e->array, err));
    else
        e->array = kiln_array_retain(array);
    return kiln__foreign_order(e->array, o->stream, err);
}

/* What both exports begin with: the struct's content, and whether it is a copy. NULL in `*e_out`
 * after a failure. `out` is the caller's place for the struct. */
static kiln_status export_array(kiln_array *array, const kiln_dlpack_options *opts, const void *out,
                                exported **e_out, bool *copied_out, DLTensor *tensor,
                                kiln_error *err)
{
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    kiln_status status = KILN_OK;
    exported *e = NULL;

    *e_out = NULL;
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "out is NULL");
    KILN_TRY(KILN_READ_OPTIONS(kiln_dlpack_options, &o, opts, err));
    KILN_TRY(kiln__array_check(array, array != NULL ? array->ctx : NULL, "array", err));
    KILN_TRY(kiln__make_zeroed(&e, 1, sizeof *e + 2 * (size_t)array->rank * sizeof(int64_t), err));
    KILN_TRY(share(e, array, &o, err));
    const kiln_array *shown = o.host ? array : e->array;
    const kiln_device_info *info = kiln_context_device(array->ctx);
    const bool host = o.host || info->backend == KILN_BACKEND_CPU;
    KILN_TRY(fill_dims(e, shown, o.host, err));
    *tensor = (DLTensor){.data = o.host ? e->host : shown->data,
                         .device = {host ? kDLCPU : kDLCUDA, host ? 0 : info->ordinal},
                         .ndim = array->rank,
                         .dtype = type_of(array->dtype),
                         .shape = e->dims,
                         .strides = e->dims + array->rank};
    *copied_out = o.copy || o.host;
    *e_out = e;
    e = NULL;

done:
    exported_free(e);
    return status;
}

KILN_DEFINE_OPTIONS_INIT(kiln_dlpack_options)

kiln_status kiln_array_to_dlpack(kiln_array *array, const kiln_dlpack_options *opts,
                                 DLManagedTensorVersioned **out, kiln_error *err)
{
    DLTensor tensor;
    exported *e = NULL;
    bool copied = false;
    kiln_status status = export_array(array, opts, out, &e, &copied, &tensor, err);

    if (out != NULL)
        *out = e != NULL ? &e->tensor.versioned : NULL;
    if (status == KILN_OK)
        **out = (DLManagedTensorVersioned){.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
                                           .manager_ctx = e,
                                           .deleter = delete_versioned,
                                           .flags = copied ? DLPACK_FLAG_BITMASK_IS_COPIED
                                                    : kiln__array_unwritable(array) != NULL
                                                        ? DLPACK_FLAG_BITMASK_READ_ONLY
                                                        : 0,
                                           .dl_tensor = tensor};
    return status;
}

kiln_status kiln_array_to_dlpack_unversioned(kiln_array *array, const kiln_dlpack_options *opts,
                                             DLManagedTensor **out, kiln_error *err)
{
    DLTensor tensor;
    exported *e = NULL;
    bool copied = false;
    kiln_status status = export_array(array, opts, out, &e, &copied, &tensor, err);

    if (status == KILN_OK && !copied && kiln_array_is_read_only(array)) {
        exported_free(e);
        e = NULL;
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "the array is read-only, which the unversioned struct cannot say; "
                            "export a copy");
    }
    if (out != NULL)
        *out = e != NULL ? &e->tensor.plain : NULL;
    if (status == KILN_OK)
        **out = (DLManagedTensor){tensor, e, delete_plain};
    return status;
}

/* ---- import ---- */

/* Whether a context's device reaches memory of `device`. */
static kiln_status check_device(kiln_context *ctx, DLDevice device, kiln_error *err)
{
    const kiln_device_info *info = kiln_context_device(ctx);
    const bool cuda = info->backend == KILN_BACKEND_CUDA;

    switch (device.device_type) {
    case kDLCPU:
        if (!cuda)
            return KILN_OK;
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "the tensor is in host memory, the context on %s: use a context on the "
                          "cpu, or copy with kiln_array_from_host()",
                          info->id);
    case kDLCUDAHost:
        return KILN_OK;
    case kDLCUDA:
    case kDLCUDAManaged:
        if (cuda && device.device_id == info->ordinal)
            return KILN_OK;
        return kiln__fail(err, KILN_ERR_CONTEXT, "the tensor is on cuda:%d, the context on %s",
                          (int)device.device_id, info->id);
    default:
        return kiln__fail(err, KILN_ERR_CONTEXT,
                          "the tensor is on a device of DLPack's type %d, the context on %s",
                          (int)device.device_type, info->id);
    }
}

static kiln_status check_tensor(kiln_context *ctx, const DLTensor *t, kiln_dtype *dtype_out,
                                kiln_error *err)
{
    KILN_CHECK(check_device(ctx, t->device, err));
    KILN_CHECK(kiln_dtype_from_dlpack(t->dtype, dtype_out, err));
    if (t->ndim < 0 || t->ndim > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the tensor has %d axes, not 0 to %d",
                          (int)t->ndim, KILN_RANK_MAX);
    if (t->ndim > 0 && t->shape == NULL)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the tensor has %d axes and no shape",
                          (int)t->ndim);
    return KILN_OK;
}

/* Strides in bytes of a tensor whose strides count elements. */
static kiln_status byte_strides(const DLTensor *t, kiln_dtype dtype, int64_t *out, kiln_error *err)
{
    const int64_t itemsize = (int64_t)kiln_dtype_size(dtype);

    for (int axis = 0; axis < t->ndim; axis++)
        if (__builtin_mul_overflow(t->strides[axis], itemsize, &out[axis]))
            return kiln__fail(err, KILN_ERR_OVERFLOW,
                              "stride %lld of axis %d reaches beyond every address",
                              (long long)t->strides[axis], axis);
    return KILN_OK;
}

static kiln_status import_tensor(kiln_context *ctx, const DLTensor *t, bool read_only,
                                 const kiln_dlpack_options *opts, kiln_release_fn release,
                                 void *owner, kiln_array **out, kiln_error *err)
{
    kiln_dlpack_options o = KILN_DLPACK_OPTIONS_INIT;
    int64_t strides[KILN_RANK_MAX];
    kiln_dtype dtype = KILN_DTYPE_NONE;
    uintptr_t first = (uintptr_t)t->data;

    if (ctx == NULL || out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_array_from_dlpack: `%s` is NULL",
                          ctx == NULL ? "ctx" : "out");
    KILN_CHECK(KILN_READ_OPTIONS(kiln_dlpack_options, &o, opts, err));
    KILN_CHECK(check_tensor(ctx, t, &dtype, err));
    if (t->strides != NULL)
        KILN_CHECK(byte_strides(t, dtype, strides, err));
    if (t->data != NULL && __builtin_add_overflow(first, t->byte_offset, &first))
        return kiln__fail(err, KILN_ERR_OVERFLOW, "byte_offset %llu reaches beyond every address",
                          (unsigned long long)t->byte_offset);
    const kiln__foreign foreign = {.dtype = dtype,
                                   .rank = t->ndim,
                                   .shape = t->shape,
                                   .strides = t->strides != NULL ? strides : NULL,
                                   .data = (void *)first,
                                   .read_only = read_only,
                                   .stream = o.stream,
                                   .ordered_release = o.ordered_release,
                                   .release = release,
                                   .owner = owner};
    return kiln__foreign_wrap(ctx, &foreign, out, err);
}

static void release_versioned(void *owner, void *data)
{
    DLManagedTensorVersioned *tensor = owner;

    (void)data;
    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

static void release_plain(void *owner, void *data)
{
    DLManagedTensor *tensor = owner;

    (void)data;
    if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

kiln_status kiln_array_from_dlpack(kiln_context *ctx, DLManagedTensorVersioned *tensor,
                                   const kiln_dlpack_options *opts, kiln_array **out,
                                   kiln_error *err)
{
    if (out != NULL)
        *out = NULL;
    KILN_CHECK_NULL(tensor, err);
    kiln_status status =
        tensor->version.major != DLPACK_MAJOR_VERSION
            ? kiln__fail(err, KILN_ERR_UNSUPPORTED,
                         "the tensor is of DLPack %u.%u; this is a consumer of version %d",
                         (unsigned)tensor->version.major, (unsigned)tensor->version.minor,
                         DLPACK_MAJOR_VERSION)
            : import_tensor(ctx, &tensor->dl_tensor,
                            (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, opts,
                            tensor->deleter != NULL ? release_versioned : NULL, tensor, out, err);
    if (status != KILN_OK)
        release_versioned(tensor, NULL);
    return status;
}

kiln_status kiln_array_from_dlpack_unversioned(kiln_context *ctx, DLManagedTensor *tensor,
                                               const kiln_dlpack_options *opts, kiln_array **out,
                                               kiln_error *err)
{
    if (out != NULL)
        *out = NULL;
    KILN_CHECK_NULL(tensor, err);
    kiln_status status =
        import_tensor(ctx, &tensor->dl_tensor, false, opts,
                      tensor->deleter != NULL ? release_plain : NULL, tensor, out, err);
    if (status != KILN_OK)
        release_plain(tensor, NULL);
    return status;
}
