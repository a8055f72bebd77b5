/*
 * array_like.c - kiln_array_empty_like() and similar functions, and kiln_array_item().
 *
 *     shape and order of an array > a new array;  an index > a number of C
 */
#include "kernel/kernel.h"

/* ---- new arrays ---- */

kiln_status kiln_array_empty_like(const kiln_array *array, kiln_dtype dtype, kiln_array **out,
                                  kiln_error *err)
{
    int order[KILN_RANK_MAX];

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    kiln__array_k_order(array, order);
    return kiln__array_new(array->ctx, dtype != KILN_DTYPE_NONE ? dtype : array->dtype, array->rank,
                           array->shape, order, NULL, out, err);
}

kiln_status kiln_array_full_like(const kiln_array *array, kiln_dtype dtype, double value,
                                 kiln_array **out, kiln_error *err)
{
    KILN_CHECK(kiln_array_empty_like(array, dtype, out, err));
    kiln_status status = kiln_array_fill(*out, value, err);
    if (status != KILN_OK) {
        kiln_array_release(*out);
        *out = NULL;
    }
    return status;
}

kiln_status kiln_array_ones_like(const kiln_array *array, kiln_dtype dtype, kiln_array **out,
                                 kiln_error *err)
{
    return kiln_array_full_like(array, dtype, 1.0, out, err);
}

kiln_status kiln_array_zeros_like(const kiln_array *array, kiln_dtype dtype, kiln_array **out,
                                  kiln_error *err)
{
    KILN_CHECK(kiln_array_empty_like(array, dtype, out, err));
    kiln_array *const y = *out;
    kiln__device *device = kiln__context_device(y->ctx);
    /* Whatever its order, a new array has no gaps. */
    kiln_status status =
        kiln__memset(device, y->data, 0, (size_t)y->size * kiln_dtype_size(y->dtype),
                     kiln__device_stream(device), err);
    if (status != KILN_OK) {
        kiln_array_release(y);
        *out = NULL;
    }
    return status;
}

/* ---- one element ---- */

/* The number that the bytes of an element stand for. */
static void decode(kiln_dtype dtype, const void *bytes, kiln_scalar *out)
{
    out->dtype = dtype;
    switch (dtype) {
#define DECODE(DTYPE, ctype, member)                                                               \
    case KILN_##DTYPE: {                                                                           \
        ctype v;                                                                                   \
        memcpy(&v, bytes, sizeof v);                                                               \
        out->value.member = v;                                                                     \
        break;                                                                                     \
    }
        DECODE(BOOL, bool, b)
        DECODE(INT8, int8_t, i)
        DECODE(INT16, int16_t, i)
        DECODE(INT32, int32_t, i)
        DECODE(INT64, int64_t, i)
        DECODE(UINT8, uint8_t, u)
        DECODE(UINT16, uint16_t, u)
        DECODE(UINT32, uint32_t, u)
        DECODE(UINT64, uint64_t, u)
        DECODE(FLOAT32, float, f)
        DECODE(FLOAT64, double, f)
#undef DECODE
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
    case KILN_FLOAT8_E4M3FN:
    case KILN_FLOAT8_E5M2:
        out->value.f = (double)kiln__narrow_load(dtype, bytes);
        break;
    case KILN_COMPLEX64: {
        float v[2];
        memcpy(v, bytes, sizeof v);
        out->value.c[0] = (double)v[0];
        out->value.c[1] = (double)v[1];
        break;
    }
    case KILN_COMPLEX128:
        memcpy(out->value.c, bytes, sizeof out->value.c);
        break;
    default:
        break;
    }
}

kiln_status kiln_array_item(const kiln_array *array, const int64_t *index, kiln_scalar *item_out,
                            kiln_error *err)
{
    kiln__scalar bytes;
    kiln_array *at = NULL, *next = NULL;
    char text[160];
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(item_out, err);
    memset(item_out, 0, sizeof *item_out);
    KILN_TRY(kiln__array_check(array, NULL, "array", err));
    if (index == NULL && array->size != 1) {
        status = kiln__fail(err, KILN_ERR_SHAPE,
                            "an array of shape %s has no single element; give an index",
                            kiln__shape_text(array->rank, array->shape, text, sizeof text));
        goto done;
    }
    KILN_TRY(
        kiln__array_view(array, array->rank, array->shape, array->strides, array->data, &at, err));
    for (int axis = 0; axis < array->rank; axis++) {
        KILN_TRY(kiln_array_select(at, 0, index != NULL ? index[axis] : 0, &next, err));
        kiln_array_release(at);
        at = next;
        next = NULL;
    }
    KILN_TRY(kiln_array_to_host(at, bytes.bytes, sizeof bytes.bytes, NULL, err));
    decode(array->dtype, bytes.bytes, item_out);

done:
    kiln_array_release(at);
    return status;
}
