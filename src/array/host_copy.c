/*
 * host_copy.c - elements from strided host memory to strided host memory.
 *
 *     drop axes of extent 1 > sort by the destination's strides > join axes > lines or tiles
 *
 * Writing follows the destination's order, for a cache line half written costs more than one half
 * read. Where the source's fastest axis is another one, the two are walked in square tiles, so that
 * each line of memory is fetched once on either side.
 *
 * Rule 1: elements are moved by memcpy of a constant size, which compiles to one load and one
 *         store and does not care for alignment.
 */
#include "array/internal.h"

/* Side of a tile: 32 lines of 64 bytes on each side fit any first-level cache. */
#define TILE 32

typedef struct copy_axis {
    int64_t extent, dst, src;
} copy_axis;

static inline int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

#define COPY_LINE(bytes)                                                                           \
    do {                                                                                           \
        for (int64_t k = 0; k < count; k++)                                                        \
            memcpy(dst + k * dst_step, src + k * src_step, (bytes));                               \
    } while (0)

static void copy_line(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t count,
                      size_t itemsize)
{
    if (dst_step == (int64_t)itemsize && src_step == (int64_t)itemsize) {
        memcpy(dst, src, (size_t)count * itemsize);
        return;
    }
    switch (itemsize) {
    case 1:
        COPY_LINE(1);
        break;
    case 2:
        COPY_LINE(2);
        break;
    case 4:
        COPY_LINE(4);
        break;
    case 8:
        COPY_LINE(8);
        break;
    case 16:
        COPY_LINE(16);
        break;
    default:
        COPY_LINE(itemsize);
        break;
    }
}

/* Two axes, the second one innermost for `dst`, the first one for `src`. */
static void copy_tiles(char *dst, const char *src, const copy_axis *outer, const copy_axis *inner,
                       size_t itemsize)
{
    for (int64_t i0 = 0; i0 < outer->extent; i0 += TILE) {
        int64_t i1 = i0 + TILE < outer->extent ? i0 + TILE : outer->extent;
        for (int64_t j = 0; j < inner->extent; j += TILE) {
            int64_t count = j + TILE < inner->extent ? TILE : inner->extent - j;
            for (int64_t i = i0; i < i1; i++)
                copy_line(dst + i * outer->dst + j * inner->dst, inner->dst,
                          src + i * outer->src + j * inner->src, inner->src, count, itemsize);
        }
    }
}

/* Fill `axes`, slowest first by the destination's strides, joined where both sides allow. Returns
 * their number, or -1 when there is no element. */
static int collect_axes(copy_axis *axes, int rank, const int64_t *shape, const int64_t *dst,
                        const int64_t *src)
{
    int count = 0, joined = 0;

    for (int axis = 0; axis < rank; axis++) {
        int place = count;
        if (shape[axis] == 0)
            return -1;
        if (shape[axis] == 1)
            continue;
        for (; place > 0 && magnitude(axes[place - 1].dst) < magnitude(dst[axis]); place--)
            axes[place] = axes[place - 1];
        axes[place] = (copy_axis){shape[axis], dst[axis], src[axis]};
        count++;
    }
    for (int k = 1; k < count; k++) {
        copy_axis *last = &axes[joined];
        if (last->dst == axes[k].dst * axes[k].extent && last->src == axes[k].src * axes[k].extent)
            *last = (copy_axis){last->extent * axes[k].extent, axes[k].dst, axes[k].src};
        else
            axes[++joined] = axes[k];
    }
    return count > 0 ? joined + 1 : 0;
}

/* Move the source's fastest axis next to the innermost one, where it makes a tile. */
static bool choose_tile(copy_axis *axes, int count)
{
    int fastest = count - 1;

    for (int k = count - 1; k >= 0; k--)
        if (magnitude(axes[k].src) < magnitude(axes[fastest].src))
            fastest = k;
    if (fastest == count - 1)
        return false;
    copy_axis kept = axes[fastest];
    for (int k = fastest; k < count - 2; k++)
        axes[k] = axes[k + 1];
    axes[count - 2] = kept;
    return true;
}

void kiln__host_copy(void *dst, const int64_t *dst_strides, const void *src,
                     const int64_t *src_strides, int rank, const int64_t *shape, size_t itemsize)
{
    copy_axis axes[KILN_RANK_MAX];
    int64_t index[KILN_RANK_MAX] = {0};
    int count = collect_axes(axes, rank, shape, dst_strides, src_strides), outer;
    int64_t to = 0, from = 0;

    if (count < 0)
        return;
    if (count == 0) {
        memcpy(dst, src, itemsize);
        return;
    }
    bool tiled = choose_tile(axes, count);
    outer = count - (tiled ? 2 : 1);
    for (;;) {
        int k = outer - 1;
        if (tiled)
            copy_tiles((char *)dst + to, (const char *)src + from, &axes[count - 2],
                       &axes[count - 1], itemsize);
        else
            copy_line((char *)dst + to, axes[count - 1].dst, (const char *)src + from,
                      axes[count - 1].src, axes[count - 1].extent, itemsize);
        for (; k >= 0; k--) {
            to += axes[k].dst;
            from += axes[k].src;
            if (++index[k] < axes[k].extent)
                break;
            to -= axes[k].dst * axes[k].extent;
            from -= axes[k].src * axes[k].extent;
            index[k] = 0;
        }
        if (k < 0)
            return;
    }
}
