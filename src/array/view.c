/*
 * view.c - other ways to look at the same elements: slice, index, transpose, broadcast, ...
 *
 *     array > [new shape, strides, first element] > kiln__array_view
 *
 * No element moves and no memory is allocated but a recycled handle. All views are made alike: copy
 * the geometry, change it, let kiln__array_view compute what follows from it.
 *
 * Rule 1: the geometry stays inside the base's. That is checked here, by indices, not by addresses.
 * Rule 2: a view without elements keeps the base's address, so that no pointer leaves its memory.
 */
#include <inttypes.h>

#include "array/internal.h"

/* A layout being changed. */
typedef struct geometry {
    int rank;
    int64_t shape[KILN_RANK_MAX + 1];
    int64_t strides[KILN_RANK_MAX + 1];
    char *data;
} geometry;

static kiln_status view_start(const kiln_array *array, geometry *g, kiln_array **out,
                              kiln_error *err)
{
    g->rank = 0;
    g->data = NULL;
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "out is NULL");
    *out = NULL;
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    g->rank = array->rank;
    memcpy(g->shape, array->shape, (size_t)array->rank * sizeof g->shape[0]);
    memcpy(g->strides, array->strides, (size_t)array->rank * sizeof g->strides[0]);
    g->data = array->data;
    return KILN_OK;
}

static kiln_status view_end(const kiln_array *array, const geometry *g, kiln_array **out,
                            kiln_error *err)
{
    return kiln__array_view(array, g->rank, g->shape, g->strides, g->data, out, err);
}

/* Make `axis` count from the front, where negative ones count from the end. */
static kiln_status check_axis(int rank, int axis, int *axis_out, kiln_error *err)
{
    *axis_out = axis < 0 ? axis + rank : axis;
    if (*axis_out >= 0 && *axis_out < rank)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_AXIS, "axis %d is out of range for rank %d", axis, rank);
}

static void axis_remove(geometry *g, int axis)
{
    g->rank--;
    for (int k = axis; k < g->rank; k++) {
        g->shape[k] = g->shape[k + 1];
        g->strides[k] = g->strides[k + 1];
    }
}

/* One bound of a slice into [low, high], Python's way. */
static int64_t clip_bound(int64_t bound, int64_t extent, int64_t low, int64_t high)
{
    if (bound < 0)
        bound += extent; /* cannot overflow: the extent is not negative */
    return bound < low ? low : bound > high ? high : bound;
}

/* First index and number of indices of start:stop:step over `extent`. */
static void slice_range(int64_t extent, int64_t start, int64_t stop, int64_t step,
                        int64_t *first_out, int64_t *count_out)
{
    /* Going down, a bound may lie one before the first element; going up, one behind the last. */
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
    int64_t first = step < 0 ? high : low, last = step < 0 ? low : high;
    uint64_t distance, stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

    if (start != KILN_SLICE_OPEN)
        first = clip_bound(start, extent, low, high);
    if (stop != KILN_SLICE_OPEN)
        last = clip_bound(stop, extent, low, high);
    *first_out = first;
    *count_out = 0;
    if (step < 0 ? last >= first : last <= first)
        return;
    distance = step < 0 ? (uint64_t)(first - last) : (uint64_t)(last - first);
    *count_out = (int64_t)((distance - 1) / stride + 1);
}

kiln_status kiln_array_slice(const kiln_array *array, int axis, int64_t start, int64_t stop,
                             int64_t step, kiln_array **out, kiln_error *err)
{
    int64_t first = 0, stride = 0;
    geometry g;

    KILN_CHECK(view_start(array, &g, out, err));
    KILN_CHECK(check_axis(g.rank, axis, &axis, err));
    if (step == 0)
        return kiln__fail(err, KILN_ERR_AXIS, "the step of a slice of axis %d is 0", axis);
    slice_range(g.shape[axis], start, stop, step, &first, &g.shape[axis]);
    if (g.shape[axis] > 0)
        g.data += first * g.strides[axis];
    /* A step too large to multiply leaves one element, whose stride means nothing. */
    if (!kiln__mul_overflow(g.strides[axis], step, &stride))
        g.strides[axis] = stride;
    return view_end(array, &g, out, err);
}

kiln_status kiln_array_select(const kiln_array *array, int axis, int64_t index, kiln_array **out,
                              kiln_error *err)
{
    int64_t at = index;
    geometry g;

    KILN_CHECK(view_start(array, &g, out, err));
    KILN_CHECK(check_axis(g.rank, axis, &axis, err));
    if (at < 0)
        at += g.shape[axis];
    if (at < 0 || at >= g.shape[axis])
        return kiln__fail(err, KILN_ERR_AXIS,
                          "index %" PRId64 " is out of range for extent %" PRId64 " of axis %d",
                          index, g.shape[axis], axis);
    if (array->size > 0)
        g.data += at * g.strides[axis];
    axis_remove(&g, axis);
    return view_end(array, &g, out, err);
}

kiln_status kiln_array_transpose(const kiln_array *array, const kiln_axes *axes, kiln_array **out,
                                 kiln_error *err)
{
    uint32_t seen = 0;
    geometry g;

    KILN_CHECK(view_start(array, &g, out, err));
    if (axes != NULL && axes->count != g.rank)
        return kiln__fail(err, KILN_ERR_AXIS,
                          "%d axes are given for an array of rank %d; each axis must be named once",
                          axes->count, g.rank);
    for (int k = 0; k < g.rank; k++) {
        int axis = g.rank - 1 - k;
        if (axes != NULL)
            KILN_CHECK(check_axis(g.rank, axes->axis[k], &axis, err));
        if ((seen & UINT32_C(1) << axis) != 0)
            return kiln__fail(err, KILN_ERR_AXIS, "axis %d is named twice", axis);
        seen |= UINT32_C(1) << axis;
        g.shape[k] = array->shape[axis];
        g.strides[k] = array->strides[axis];
    }
    return view_end(array, &g, out, err);
}

kiln_status kiln_array_broadcast_to(const kiln_array *array, int rank, const int64_t *shape,
                                    kiln_array **out, kiln_error *err)
{
    char from[160], to[160];
    int64_t size = 0;
    geometry g;

    KILN_CHECK(view_start(array, &g, out, err));
    KILN_CHECK(kiln__shape_size(rank, shape, kiln_dtype_size(array->dtype), &size, err));
    g.rank = rank;
    for (int back = 1; back <= (rank > array->rank ? rank : array->rank); back++) {
        int64_t had = back <= array->rank ? array->shape[array->rank - back] : 1;
        if (back > rank || (had != 1 && had != shape[rank - back]))
            return kiln__fail(err, KILN_ERR_SHAPE, "an array of shape %s does not broadcast to %s",
                              kiln__shape_text(array->rank, array->shape, from, sizeof from),
                              kiln__shape_text(rank, shape, to, sizeof to));
        g.shape[rank - back] = shape[rank - back];
        g.strides[rank - back] = back <= array->rank && had == shape[rank - back]
                                     ? array->strides[array->rank - back]
                                     : 0;
    }
    return view_end(array, &g, out, err);
}

kiln_status kiln_array_newaxis(const kiln_array *array, int axis, kiln_array **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    geometry g;

    KILN_TRY(view_start(array, &g, out, err));
    KILN_TRY(check_axis(g.rank + 1, axis, &axis, err));
    for (int k = g.rank; k > axis; k--) {
        g.shape[k] = g.shape[k - 1];
        g.strides[k] = g.strides[k - 1];
    }
    g.shape[axis] = 1;
    g.strides[axis] = 0;
    g.rank++;
    status = view_end(array, &g, out, err); /* refuses a 33rd axis */

done:
    return status;
}

kiln_status kiln_array_flip(const kiln_array *array, int axis, kiln_array **out, kiln_error *err)
{
    return kiln_array_slice(array, axis, KILN_SLICE_OPEN, KILN_SLICE_OPEN, -1, out, err);
}
