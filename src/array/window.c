/*
 * window.c - views by strides, windows, parts, and arrays broadcast together.
 *
 *     array > [new shape, strides, first element] > kiln__array_view
 *
 * Rule: no view leaves the memory of its array. Strides that a caller gives are checked against the
 *       storage; all others follow from indices.
 */
#include <inttypes.h>

#include "array/internal.h"
#include "kiln/rearrange.h"

/* The least and the greatest byte, counted from the first element, at which an element begins.
 * False where they do not fit. */
static bool reach(int rank, const int64_t *shape, const int64_t *strides, int64_t *low,
                  int64_t *high)
{
    *low = *high = 0;
    for (int a = 0; a < rank; a++) {
        int64_t far;
        if (kiln__mul_overflow(shape[a] - 1, strides[a], &far) ||
            kiln__add_overflow(far < 0 ? *low : *high, far, far < 0 ? low : high))
            return false;
    }
    return true;
}

kiln_status kiln_array_as_strided(const kiln_array *array, int rank, const int64_t *shape,
                                  const int64_t *strides, int64_t offset_bytes, kiln_array **out,
                                  kiln_error *err)
{
    int64_t size = 0, low = 0, high = 0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    const int64_t itemsize = (int64_t)kiln_dtype_size(array->dtype);
    KILN_CHECK(kiln__shape_size(rank, shape, (size_t)itemsize, &size, err));
    if (rank > 0)
        KILN_CHECK_NULL(strides, err);
    bool aligned = offset_bytes % itemsize == 0;
    for (int a = 0; a < rank; a++)
        aligned = aligned && strides[a] % itemsize == 0;
    if (!aligned)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "strides and offset must be multiples of %" PRId64 " bytes", itemsize);
    if (size == 0)
        return kiln__array_view(array, rank, shape, strides, array->data, out, err);
    const int64_t first = (char *)array->data - (char *)array->storage->base;
    const int64_t last = (int64_t)array->storage->bytes - itemsize;
    if (!reach(rank, shape, strides, &low, &high) ||
        kiln__add_overflow(offset_bytes, first, &offset_bytes) ||
        kiln__add_overflow(low, offset_bytes, &low) ||
        kiln__add_overflow(high, offset_bytes, &high) || low < 0 || high > last)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "elements would lie outside of the %zu bytes that the array has",
                          array->storage->bytes);
    return kiln__array_view(array, rank, shape, strides,
                            (char *)array->storage->base + offset_bytes, out, err);
}

kiln_status kiln_array_sliding_window(const kiln_array *array, const kiln_axes *axes,
                                      const int64_t *window, kiln_array **out, kiln_error *err)
{
    int64_t shape[2 * KILN_RANK_MAX], strides[2 * KILN_RANK_MAX];

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    const int rank = array->rank, count = axes != NULL ? axes->count : rank;
    if (count > 0)
        KILN_CHECK_NULL(window, err);
    if (count < 0 || count > KILN_RANK_MAX || rank + count > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "windows along %d axes of rank %d are too many axes", count, rank);
    memcpy(shape, array->shape, (size_t)rank * sizeof *shape);
    memcpy(strides, array->strides, (size_t)rank * sizeof *strides);
    for (int k = 0; k < count; k++) {
        int a = k;
        if (axes != NULL)
            KILN_CHECK(kiln__arrange_axis("sliding_window", axes->axis[k], rank, &a, err));
        if (window[k] < 0 || window[k] > shape[a])
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "a window of %" PRId64 " does not fit extent %" PRId64 " of axis %d",
                              window[k], shape[a], a);
        shape[a] -= window[k] - 1;
        shape[rank + k] = window[k];
        strides[rank + k] = array->strides[a];
    }
    return kiln__array_view(array, rank + count, shape, strides, array->data, out, err);
}

/* ---- several at once ---- */

static void release_all(kiln_array **arrays, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        kiln_array_release(arrays[k]);
        arrays[k] = NULL;
    }
}

/* Part number `k` of `count`: between two of the places `at`, or of equal extent, the first
 * `more` parts larger by one. */
static void part_of(const int64_t *at, size_t k, size_t count, int64_t extent, int64_t bounds[2])
{
    const int64_t n = (int64_t)k, each = extent / (int64_t)count, more = extent % (int64_t)count;

    bounds[0] = at == NULL ? n * each + (n < more ? n : more) : k == 0 ? 0 : at[k - 1];
    bounds[1] = at == NULL       ? (n + 1) * each + (n + 1 < more ? n + 1 : more)
                : k + 1 == count ? KILN_SLICE_OPEN
                                 : at[k];
}

/* `equal`: the parts are, where their places are not given. */
static kiln_status split(const kiln_array *array, int64_t axis, bool equal, const int64_t *at,
                         size_t count, kiln_array **outs, kiln_error *err)
{
    int64_t bounds[2];
    int a = 0;

    KILN_CHECK_NULL(outs, err);
    memset(outs, 0, count * sizeof *outs);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__arrange_split_axis(axis, array->rank, &a, err));
    if (count == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "split: no parts");
    if (equal && at == NULL && array->shape[a] % (int64_t)count != 0)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "split: %" PRId64 " elements along axis %d cannot be split into %zu"
                          " equal parts; kiln_array_split() gives unequal ones",
                          array->shape[a], a, count);
    for (size_t k = 0; k < count; k++) {
        part_of(at, k, count, array->shape[a], bounds);
        const kiln_status status =
            kiln_array_slice(array, a, bounds[0], bounds[1], 1, &outs[k], err);
        if (status != KILN_OK) {
            release_all(outs, k);
            return status;
        }
    }
    return KILN_OK;
}

kiln_status kiln_array_split(const kiln_array *array, int axis, const int64_t *at, size_t count,
                             kiln_array **outs, kiln_error *err)
{
    return split(array, axis, false, at, count, outs, err);
}

kiln_status kiln_array_hsplit(const kiln_array *array, const int64_t *at, size_t count,
                              kiln_array **outs, kiln_error *err)
{
    return split(array, KILN__SPLIT_H, true, at, count, outs, err);
}

kiln_status kiln_array_vsplit(const kiln_array *array, const int64_t *at, size_t count,
                              kiln_array **outs, kiln_error *err)
{
    return split(array, KILN__SPLIT_V, true, at, count, outs, err);
}

kiln_status kiln_array_dsplit(const kiln_array *array, const int64_t *at, size_t count,
                              kiln_array **outs, kiln_error *err)
{
    return split(array, KILN__SPLIT_D, true, at, count, outs, err);
}

kiln_status kiln_array_broadcast(const kiln_array *const *arrays, size_t count, kiln_array **outs,
                                 kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    char text[160];
    int rank = 0;

    KILN_CHECK_NULL(outs, err);
    memset(outs, 0, count * sizeof *outs);
    KILN_CHECK_NULL(arrays, err);
    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(kiln__array_check(arrays[k], NULL, "array", err));
        if (!kiln__shape_broadcast(&rank, shape, arrays[k]->rank, arrays[k]->shape))
            return kiln__fail(
                err, KILN_ERR_SHAPE, "array %zu of shape %s does not broadcast to those before it",
                k + 1, kiln__shape_text(arrays[k]->rank, arrays[k]->shape, text, sizeof text));
    }
    for (size_t k = 0; k < count; k++) {
        const kiln_status status = kiln_array_broadcast_to(arrays[k], rank, shape, &outs[k], err);
        if (status != KILN_OK) {
            release_all(outs, k);
            return status;
        }
    }
    return KILN_OK;
}
