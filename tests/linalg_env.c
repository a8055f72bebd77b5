/*
 * linalg_env.c - see linalg_env.h.
 */
#include "linalg_env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

double complex value_at(kiln_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
#define VALUE_CASE(name, type)                                                                     \
    case KILN_##name:                                                                              \
        return (double)((const type *)data)[at];
        VALUE_CASE(BOOL, uint8_t)
        VALUE_CASE(INT8, int8_t)
        VALUE_CASE(INT16, int16_t)
        VALUE_CASE(INT32, int32_t)
        VALUE_CASE(INT64, int64_t)
        VALUE_CASE(UINT8, uint8_t)
        VALUE_CASE(UINT16, uint16_t)
        VALUE_CASE(UINT32, uint32_t)
        VALUE_CASE(UINT64, uint64_t)
        VALUE_CASE(FLOAT32, float)
        VALUE_CASE(FLOAT64, double)
#undef VALUE_CASE
    case KILN_FLOAT16:
        return kiln__float16_to_float(((const uint16_t *)data)[at]);
    case KILN_BFLOAT16:
        return kiln__bfloat16_to_float(((const uint16_t *)data)[at]);
    case KILN_FLOAT8_E4M3FN:
    case KILN_FLOAT8_E5M2:
        return (double)kiln__narrow_load(dtype, (const uint8_t *)data + at);
    case KILN_COMPLEX64:
        return CMPLX(((const float *)data)[2 * at], ((const float *)data)[2 * at + 1]);
    default:
        return CMPLX(((const double *)data)[2 * at], ((const double *)data)[2 * at + 1]);
    }
}

void put_value(kiln_dtype dtype, void *data, int64_t at, double complex v)
{
    const double re = creal(v);

    switch (dtype) {
#define PUT_CASE(name, type)                                                                       \
    case KILN_##name:                                                                              \
        ((type *)data)[at] = (type)re;                                                             \
        break;
        PUT_CASE(INT8, int8_t)
        PUT_CASE(INT16, int16_t)
        PUT_CASE(INT32, int32_t)
        PUT_CASE(INT64, int64_t)
        PUT_CASE(FLOAT32, float)
        PUT_CASE(FLOAT64, double)
#undef PUT_CASE
    case KILN_BOOL:
        ((uint8_t *)data)[at] = re > 1;
        break;
    case KILN_UINT8:
        ((uint8_t *)data)[at] = (uint8_t)fabs(re);
        break;
    case KILN_UINT16:
        ((uint16_t *)data)[at] = (uint16_t)fabs(re);
        break;
    case KILN_UINT32:
        ((uint32_t *)data)[at] = (uint32_t)fabs(re);
        break;
    case KILN_UINT64:
        ((uint64_t *)data)[at] = (uint64_t)fabs(re);
        break;
    case KILN_FLOAT16:
        ((uint16_t *)data)[at] = kiln__float16_from_double(re);
        break;
    case KILN_BFLOAT16:
        ((uint16_t *)data)[at] = kiln__bfloat16_from_double(re);
        break;
    case KILN_FLOAT8_E4M3FN:
    case KILN_FLOAT8_E5M2:
        kiln__narrow_store(dtype, re, (uint8_t *)data + at);
        break;
    case KILN_COMPLEX64:
        ((float *)data)[2 * at] = (float)re;
        ((float *)data)[2 * at + 1] = (float)cimag(v);
        break;
    default:
        ((double *)data)[2 * at] = re;
        ((double *)data)[2 * at + 1] = cimag(v);
    }
}

/* Small integers, so that sums of products are exact in every dtype. */
kiln_array *random_array(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    int64_t size = 1;
    kiln_array *x = NULL;

    for (int k = 0; k < rank; k++)
        size *= shape[k];
    void *data = calloc((size_t)size + 1, kiln_dtype_size(dtype));
    assert_non_null(data);
    for (int64_t k = 0; k < size; k++) {
        const double re = (double)test_random_below(t, 7) - 3;
        put_value(dtype, data, k, CMPLX(re, (double)test_random_below(t, 5) - 2));
    }
    OK(t, kiln_array_from_host(t->ctx, dtype, rank, shape, data, NULL, &x, &t->err));
    free(data);
    return x;
}

/* The elements in C-order; free() them. */
void *elements(test_env *t, const kiln_array *x)
{
    const size_t bytes = (size_t)kiln_array_size(x) * kiln_dtype_size(kiln_array_dtype(x));
    void *data = calloc(bytes + 1, 1);

    assert_non_null(data);
    OK(t, kiln_array_to_host(x, data, bytes, NULL, &t->err));
    return data;
}

double epsilon_of(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_FLOAT16:
        return 0x1p-11;
    case KILN_BFLOAT16:
        return 0x1p-8;
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        return 0x1p-24;
    case KILN_FLOAT64:
    case KILN_COMPLEX128:
        return 0x1p-53;
    default:
        return 0;
    }
}

double complex weigh(test_env *t, const kiln_array *y)
{
    void *data = elements(t, y);
    double complex sum = 0;

    for (int64_t k = 0; k < kiln_array_size(y); k++)
        sum += (double)(k % 3 + 1) * value_at(kiln_array_dtype(y), data, k);
    free(data);
    return sum;
}
