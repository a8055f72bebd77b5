/*
 * shape.c - arithmetic on extents and strides: no array, no device, no allocation.
 *
 *     [shape] < arrays, views, overlap, .npy, text, calls, graphs, manifests
 *
 * Rule 1: extents count elements, strides count bytes; both may come from a user or a file, so
 *         every product and sum is checked here, once, and trusted afterwards.
 * Rule 2: the strides of an axis of extent 1 mean nothing and are never read.
 * Rule 3: an extent of 0 makes the size 0 but does not excuse the other extents: their product
 *         must still fit, or strides computed from it would not.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/core.h"

kiln_status kiln__shape_size(int rank, const int64_t *shape, size_t itemsize, int64_t *size_out,
                             kiln_error *err)
{
    int64_t bytes = (int64_t)itemsize, size = 1;
    bool empty = false;

    *size_out = 0;
    if (rank < 0 || rank > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "rank %d is outside 0..%d", rank, KILN_RANK_MAX);
    if (rank > 0 && shape == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "shape is NULL for rank %d", rank);
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] < 0)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "extent %" PRId64 " of axis %d is negative",
                              shape[axis], axis);
        if (shape[axis] == 0) {
            empty = true;
            continue;
        }
        if (kiln__mul_overflow(bytes, shape[axis], &bytes) || bytes > KILN__ARRAY_BYTES_MAX) {
            char text[160];
            return kiln__fail(err, KILN_ERR_OVERFLOW,
                              "shape %s of %zu-byte elements does not fit 62 bits of bytes",
                              kiln__shape_text(rank, shape, text, sizeof text), itemsize);
        }
        size *= shape[axis]; /* never more than `bytes`, which fits */
    }
    *size_out = empty ? 0 : size;
    return KILN_OK;
}

char *kiln__shape_text(int rank, const int64_t *shape, char *text, size_t bytes)
{
    size_t used = 0;

    if (bytes == 0)
        return text;
    text[0] = '\0';
    for (int axis = -1; axis <= rank && used < bytes; axis++) {
        int wrote;
        if (axis < 0)
            wrote = snprintf(text + used, bytes - used, "(");
        else if (axis == rank)
            wrote = snprintf(text + used, bytes - used, rank == 1 ? ",)" : ")");
        else
            wrote = snprintf(text + used, bytes - used, "%s%" PRId64, axis > 0 ? ", " : "",
                             shape[axis]);
        used += (size_t)(wrote > 0 ? wrote : 0);
    }
    return text;
}

bool kiln__shape_broadcast(int *rank_io, int64_t *shape, int rank, const int64_t *other)
{
    int wide = *rank_io > rank ? *rank_io : rank;
    int64_t result[KILN_RANK_MAX];

    if (rank < 0 || wide > KILN_RANK_MAX)
        return false;
    for (int back = 1; back <= wide; back++) {
        int64_t a = back <= *rank_io ? shape[*rank_io - back] : 1;
        int64_t b = back <= rank ? other[rank - back] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        result[wide - back] = a == 1 ? b : a;
    }
    for (int axis = 0; axis < wide; axis++)
        shape[axis] = result[axis];
    *rank_io = wide;
    return true;
}

void kiln__strides_ordered(int rank, const int64_t *shape, const int *order, size_t itemsize,
                           int64_t *strides)
{
    int64_t step = (int64_t)itemsize;

    for (int place = rank - 1; place >= 0; place--) {
        int axis = order != NULL ? order[place] : place;
        strides[axis] = step;
        /* Extent 0 counts as 1, as in NumPy: strides stay meaningful and cannot overflow. */
        step *= shape[axis] > 0 ? shape[axis] : 1;
    }
}

bool kiln__strides_contiguous(int rank, const int64_t *shape, const int64_t *strides,
                              size_t itemsize)
{
    int64_t step = (int64_t)itemsize;

    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] == 0)
            return true;
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (shape[axis] == 1)
            continue;
        if (strides[axis] != step)
            return false;
        step *= shape[axis];
    }
    return true;
}

/* Old axes [first, last) hold the same elements as one run of `new_count` new extents: give these
 * their strides. False when the old axes cannot be walked with one stride. */
static bool reshape_run(const int64_t *extents, const int64_t *steps, int first, int last,
                        const int64_t *new_shape, int new_first, int new_last, int64_t *new_strides)
{
    for (int axis = first; axis + 1 < last; axis++)
        if (steps[axis] != extents[axis + 1] * steps[axis + 1])
            return false;
    int64_t step = steps[last - 1];
    for (int axis = new_last - 1; axis >= new_first; axis--) {
        new_strides[axis] = step;
        step *= new_shape[axis];
    }
    return true;
}

bool kiln__reshape_strides(int rank, const int64_t *shape, const int64_t *strides, size_t itemsize,
                           int new_rank, const int64_t *new_shape, int64_t *new_strides)
{
    int64_t extents[KILN_RANK_MAX];
    int64_t steps[KILN_RANK_MAX];
    int old = 0, count = 0, fresh = 0;

    for (int axis = 0; axis < new_rank; axis++)
        if (new_shape[axis] == 0) {
            kiln__strides_ordered(new_rank, new_shape, NULL, itemsize, new_strides);
            return true;
        }
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] != 1) { /* Such an axis has no say: its stride is never walked. */
            extents[count] = shape[axis];
            steps[count++] = strides[axis];
        }
    while (old < count && fresh < new_rank) {
        int old_end = old + 1, fresh_end = fresh + 1;
        int64_t old_size = extents[old], fresh_size = new_shape[fresh];
        while (old_size != fresh_size) {
            if (fresh_size < old_size) {
                if (fresh_end == new_rank)
                    return false; /* sizes differ: the caller's error, but no over-read */
                fresh_size *= new_shape[fresh_end++];
            } else {
                if (old_end == count)
                    return false;
                old_size *= extents[old_end++];
            }
        }
        if (!reshape_run(extents, steps, old, old_end, new_shape, fresh, fresh_end, new_strides))
            return false;
        old = old_end;
        fresh = fresh_end;
    }
    if (old < count)
        return false;
    /* What is left on the new side can only be extents of 1. */
    for (; fresh < new_rank; fresh++)
        new_strides[fresh] = fresh > 0 ? new_strides[fresh - 1] : (int64_t)itemsize;
    return true;
}

void kiln__strides_extent(int rank, const int64_t *shape, const int64_t *strides, size_t itemsize,
                          kiln__int128 *low_out, kiln__int128 *high_out)
{
    kiln__int128 low = 0, high = (kiln__int128)itemsize;

    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) {
            *low_out = 0;
            *high_out = 0;
            return;
        }
        /* 32 axes of 2^126 would overflow even here, so a hopeless sum is cut short. */
        kiln__int128 reach =
            (kiln__int128)(shape[axis] - 1) * (shape[axis] > 1 ? strides[axis] : 0);
        if (reach < 0)
            low = low < -((kiln__int128)1 << 100) ? low : low + reach;
        else
            high = high > ((kiln__int128)1 << 100) ? high : high + reach;
    }
    *low_out = low;
    *high_out = high;
}

bool kiln__strides_self_overlap(int rank, const int64_t *shape, const int64_t *strides,
                                size_t itemsize)
{
    int64_t steps[KILN_RANK_MAX], extents[KILN_RANK_MAX];
    kiln__int128 span = (kiln__int128)itemsize;
    int count = 0;

    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] == 0)
            return false;
    for (int axis = 0; axis < rank; axis++) {
        int place = count;
        if (shape[axis] == 1)
            continue;
        if (strides[axis] == 0)
            return true;
        int64_t step = strides[axis] < 0 ? -strides[axis] : strides[axis];
        for (; place > 0 && steps[place - 1] > step; place--) {
            steps[place] = steps[place - 1];
            extents[place] = extents[place - 1];
        }
        steps[place] = step;
        extents[place] = shape[axis];
        count++;
    }
    /* From the fastest axis out, each step must jump over all that the faster axes span. Layouts
     * that interleave and still never collide exist; they are called overlapping, for no view of
     * an ordinary array looks like that and the answer must be cheap. */
    for (int place = 0; place < count; place++) {
        if (steps[place] < span)
            return true;
        span += (kiln__int128)(extents[place] - 1) * steps[place];
    }
    return false;
}

/* One odd constant per role (digits of the golden ratio and of pi), so that shape and stride of
 * an axis, and equal values on different axes, never cancel. */
#define LAYOUT_SEED UINT64_C(0x9e3779b97f4a7c15)
#define LAYOUT_SHAPE UINT64_C(0x243f6a8885a308d3)
#define LAYOUT_STRIDE UINT64_C(0x13198a2e03707345)

static inline uint64_t layout_mix(uint64_t a, uint64_t b)
{
    kiln__uint128 product = (kiln__uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t kiln__layout_hash(kiln_dtype dtype, int rank, const int64_t *shape, const int64_t *strides)
{
    uint64_t h = layout_mix(LAYOUT_SEED ^ (uint64_t)dtype, LAYOUT_SHAPE ^ (uint64_t)rank << 32);

    for (int axis = 0; axis < rank; axis++)
        h = layout_mix(h ^ (uint64_t)shape[axis] ^ LAYOUT_SHAPE,
                       ((uint64_t)strides[axis] ^ LAYOUT_STRIDE) + (h << 1));
    return h;
}
