/*
 * arrange.c - what rearrangements do to shapes: pure geometry, for arrays and for lowered graphs.
 *
 *     (rearrangement, its numbers, shape) > [kiln__arrange_view] > new shape, map of axes
 *                                         > [kiln__arrange_pad]    > segments along each axis
 *
 * A view moves nothing: its map says where each axis of the old array is read. What moves elements
 * (pad, roll, ...) cuts each axis into segments, in which the result runs along the old axis forwards
 * (step 1), backwards (-1), stays (0), or has no source (FILLED).
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/core.h"

/* ---- the table ---- */

static const char *const names[] = {
#define NAME(WORD, value, text) [value] = text,
    KILN_REARRANGEMENT_MAP(NAME)
#undef NAME
};

const char *kiln_rearrangement_name(kiln_rearrangement what)
{
    return (size_t)what < KILN_COUNT_OF(names) && names[what] != NULL ? names[what] : "unknown";
}

/* ---- axes ---- */

kiln_status kiln__arrange_axis(const char *what, int64_t axis, int rank, int *out, kiln_error *err)
{
    *out = (int)(axis < 0 ? axis + rank : axis);
    if (axis >= -rank && axis < rank)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %" PRId64 " is out of range for rank %d", what,
                      axis, rank);
}

/* `count` different axes. */
static kiln_status read_axes(const char *what, const int64_t *n, size_t count, int rank, int *axes,
                             kiln_error *err)
{
    uint64_t seen = 0;

    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(kiln__arrange_axis(what, n[k], rank, &axes[k], err));
        if ((seen >> axes[k] & 1) != 0)
            return kiln__fail(err, KILN_ERR_AXIS, "%s: axis %d is given twice", what, axes[k]);
        seen |= UINT64_C(1) << axes[k];
    }
    return KILN_OK;
}

/* ---- views ---- */

/* Put the old axes into an order: axis k of the result is axis order[k]. */
static void permute(const int *order, kiln__arranged *g)
{
    int64_t shape[KILN_RANK_MAX];

    for (int k = 0; k < g->rank; k++) {
        shape[k] = g->shape[order[k]];
        g->map[order[k]].from = k;
    }
    memcpy(g->shape, shape, (size_t)g->rank * sizeof *shape);
}

static kiln_status swapaxes(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int order[KILN_RANK_MAX], a, b;

    if (count != 2)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "swapaxes: two axes are needed");
    KILN_CHECK(kiln__arrange_axis("swapaxes", n[0], g->rank, &a, err));
    KILN_CHECK(kiln__arrange_axis("swapaxes", n[1], g->rank, &b, err));
    for (int k = 0; k < g->rank; k++)
        order[k] = k == a ? b : k == b ? a : k;
    permute(order, g);
    return KILN_OK;
}

/* Numbers: where axes come from, then where they go. */
static kiln_status moveaxis(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int from[KILN_RANK_MAX], to[KILN_RANK_MAX], order[KILN_RANK_MAX];
    bool moves[KILN_RANK_MAX] = {false};

    if (count % 2 != 0 || count / 2 > (size_t)g->rank)
        return kiln__fail(err, KILN_ERR_AXIS,
                          "moveaxis: as many places as axes are needed, and at most %d", g->rank);
    KILN_CHECK(read_axes("moveaxis", n, count / 2, g->rank, from, err));
    KILN_CHECK(read_axes("moveaxis", n + count / 2, count / 2, g->rank, to, err));
    for (int k = 0; k < g->rank; k++)
        order[k] = -1;
    for (size_t k = 0; k < count / 2; k++) {
        order[to[k]] = from[k];
        moves[from[k]] = true;
    }
    for (int k = 0, next = 0; k < g->rank; k++) {
        while (order[k] < 0 && moves[next])
            next++;
        if (order[k] < 0)
            order[k] = next++;
    }
    permute(order, g);
    return KILN_OK;
}

static kiln_status squeeze(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axes[KILN_RANK_MAX], kept = 0;
    bool gone[KILN_RANK_MAX] = {false};

    if (count > (size_t)g->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "squeeze: %zu axes of rank %d", count, g->rank);
    KILN_CHECK(read_axes("squeeze", n, count, g->rank, axes, err));
    for (size_t k = 0; k < count; k++) {
        gone[axes[k]] = true;
        if (g->shape[axes[k]] != 1)
            return kiln__fail(err, KILN_ERR_SHAPE, "squeeze: axis %d has extent %" PRId64 ", not 1",
                              axes[k], g->shape[axes[k]]);
    }
    for (int k = 0; k < g->rank; k++) {
        if (gone[k] || (count == 0 && g->shape[k] == 1)) {
            g->map[k] = (kiln__axis_map){-1, 0, 0};
            continue;
        }
        g->map[k].from = kept;
        g->shape[kept++] = g->shape[k];
    }
    g->rank = kept;
    return KILN_OK;
}

/* Numbers: offset, two axes. The diagonal becomes the last axis. */
static kiln_status diagonal(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axes[2], kept = 0;

    if (count != 3)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                          "diagonal: an offset and two axes are needed");
    if (g->rank < 2)
        return kiln__fail(err, KILN_ERR_SHAPE, "diagonal: rank %d has no two axes", g->rank);
    KILN_CHECK(read_axes("diagonal", n + 1, 2, g->rank, axes, err));
    const int64_t rows = g->shape[axes[0]], columns = g->shape[axes[1]];
    /* Offsets beyond the matrix leave no element, whatever they are: the least one has no
     * negative. */
    const int64_t down = n[0] < 0 ? -(n[0] + (n[0] == INT64_MIN)) : 0, right = n[0] > 0 ? n[0] : 0;
    const int64_t high = down >= rows ? 0 : rows - down;
    const int64_t wide = right >= columns ? 0 : columns - right;
    const int64_t length = high < wide ? high : wide;
    for (int k = 0; k < g->rank; k++) {
        if (k == axes[0] || k == axes[1])
            continue;
        g->map[k].from = kept;
        g->shape[kept++] = g->shape[k];
    }
    g->map[axes[0]] = (kiln__axis_map){kept, length > 0 ? down : 0, 1};
    g->map[axes[1]] = (kiln__axis_map){kept, length > 0 ? right : 0, 1};
    g->shape[kept++] = length;
    g->rank = kept;
    return KILN_OK;
}

static void reverse(kiln__arranged *g, int axis)
{
    kiln__axis_map *m = &g->map[axis];
    m->start = g->shape[axis] > 0 ? g->shape[axis] - 1 : 0;
    m->step = -1;
}

/* Numbers: how many quarter turns, two axes. */
static kiln_status rot90(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axes[2], order[KILN_RANK_MAX];

    if (count != 3)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "rot90: a number and two axes are needed");
    if (g->rank < 2)
        return kiln__fail(err, KILN_ERR_SHAPE, "rot90: rank %d has no two axes", g->rank);
    KILN_CHECK(read_axes("rot90", n + 1, 2, g->rank, axes, err));
    const int turns = (int)((n[0] % 4 + 4) % 4);
    if (turns == 1 || turns == 2)
        reverse(g, axes[1]);
    if (turns == 2 || turns == 3)
        reverse(g, axes[0]);
    for (int k = 0; k < g->rank; k++)
        order[k] = k == axes[0] ? axes[1] : k == axes[1] ? axes[0] : k;
    if (turns % 2 != 0)
        permute(order, g);
    return KILN_OK;
}

static kiln_status flip(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axes[KILN_RANK_MAX];

    if (count > (size_t)g->rank)
        return kiln__fail(err, KILN_ERR_AXIS, "flip: %zu axes of rank %d", count, g->rank);
    KILN_CHECK(read_axes("flip", n, count, g->rank, axes, err));
    for (size_t k = 0; k < count; k++)
        reverse(g, axes[k]);
    for (int k = 0; count == 0 && k < g->rank; k++)
        reverse(g, k);
    return KILN_OK;
}

/* At least so many axes, as atleast_1d, _2d and _3d: (n) becomes (1, n) and (1, n, 1),
 * (m, n) becomes (m, n, 1). */
static kiln_status atleast(int least, kiln__arranged *g)
{
    const int had = g->rank, first = had == 1 && least > 1 ? 1 : 0;

    if (had >= least)
        return KILN_OK;
    for (int k = had; k-- > 0;) {
        g->shape[k + first] = g->shape[k];
        g->map[k].from = k + first;
    }
    for (int k = 0; k < least; k++)
        if (k < first || k >= first + had)
            g->shape[k] = 1;
    g->rank = least;
    return KILN_OK;
}

kiln_status kiln__arrange_split_axis(int64_t axis, int rank, int *out, kiln_error *err)
{
    static const struct {
        const char *name;
        int least;
    } named[] = {{"hsplit", 1}, {"vsplit", 2}, {"dsplit", 3}};
    const int64_t k = axis < 0 ? axis - KILN__SPLIT_H : -1;

    if (k < 0 || k >= (int64_t)KILN_COUNT_OF(named))
        return kiln__arrange_axis("split", axis, rank, out, err);
    *out = k == 0 ? rank > 1 : k == 1 ? 0 : 2;
    if (rank >= named[k].least)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_AXIS, "%s needs an array of %d or more axes, this one has %d",
                      named[k].name, named[k].least, rank);
}

/* The elements of an axis from `start` to `stop`, as Python cuts them. */
static void cut(int64_t start, int64_t stop, int axis, kiln__arranged *g)
{
    const int64_t n = g->shape[axis];
    int64_t from = start < 0 ? start + n : start, to = stop < 0 ? stop + n : stop;

    from = from < 0 ? 0 : from > n ? n : from;
    to = to < from ? from : to > n ? n : to;
    g->shape[axis] = to - from;
    g->map[axis].start = to > from ? from : 0;
}

/* Numbers: an axis, which part of it, of how many, and whether they must be equal. Without that the
 * first parts have one element more, as those of array_split. */
static kiln_status section(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axis = 0;

    if (count != 4 || (n[3] != KILN__SECTION_SLICE && (n[2] < 1 || n[1] < 0 || n[1] >= n[2])))
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "split: an axis, the number of a part and that of all are needed");
    KILN_CHECK(kiln__arrange_split_axis(n[0], g->rank, &axis, err));
    if (n[3] == KILN__SECTION_SLICE) {
        cut(n[1], n[2], axis, g);
        return KILN_OK;
    }
    const int64_t each = g->shape[axis] / n[2], more = g->shape[axis] % n[2];
    if (n[3] != 0 && more != 0)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "split: %" PRId64 " elements along axis %d cannot be split into %" PRId64
                          " equal parts; array_split gives unequal ones",
                          g->shape[axis], axis, n[2]);
    g->shape[axis] = each + (n[1] < more);
    if (g->shape[axis] > 0)
        g->map[axis].start = n[1] * each + (n[1] < more ? n[1] : more);
    return KILN_OK;
}

static kiln_status check_window(int64_t width, int axis, int64_t extent, kiln_error *err)
{
    if (width >= 1 && width <= extent)
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_SHAPE,
                      "sliding_window_view: a window of %" PRId64
                      " elements along axis %d, which has %" PRId64,
                      width, axis, extent);
}

kiln_status kiln__arrange_windows(const int64_t *n, size_t count, int rank, const int64_t *shape,
                                  int64_t *shape_out, int *axis_out, kiln_error *err)
{
    if (count == 4 && n[3] != rank)
        return kiln__fail(err, KILN_ERR_AXIS,
                          "sliding_window_view: windows of %" PRId64
                          " axes, and the array has %d: axis= says along which",
                          n[3], rank);
    KILN_CHECK(kiln__arrange_axis("sliding_window_view", n[0], rank, axis_out, err));
    KILN_CHECK(check_window(n[1], *axis_out, shape[*axis_out], err));
    if (rank == KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "sliding_window_view: an axis more than %d",
                          KILN_RANK_MAX);
    memcpy(shape_out, shape, (size_t)rank * sizeof *shape);
    shape_out[*axis_out] -= n[1] - 1;
    shape_out[rank] = n[1];
    return KILN_OK;
}

/* Numbers: an axis, an element of the windows along it, and how many elements a window has: that
 * element of every window. */
static kiln_status window(const int64_t *n, size_t count, kiln__arranged *g, kiln_error *err)
{
    int axis = 0;

    if (count != 3 || n[1] < 0 || n[1] >= n[2])
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "sliding_window_view: an axis, an element and a width are needed");
    KILN_CHECK(kiln__arrange_axis("sliding_window_view", n[0], g->rank, &axis, err));
    KILN_CHECK(check_window(n[2], axis, g->shape[axis], err));
    g->shape[axis] -= n[2] - 1;
    g->map[axis].start = n[1];
    return KILN_OK;
}

bool kiln__arrange_is_view(kiln_rearrangement what)
{
    return what >= KILN_REARRANGE_SWAPAXES && what < KILN_REARRANGE_CONCATENATE;
}

kiln_status kiln__arrange_view(kiln_rearrangement what, const int64_t *n, size_t count, int rank,
                               const int64_t *shape, kiln__arranged *out, kiln_error *err)
{
    out->rank = rank;
    if (rank > 0) /* a number has no shape */
        memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
    for (int k = 0; k < rank; k++)
        out->map[k] = (kiln__axis_map){k, 0, 1};
    switch (what) {
    case KILN_REARRANGE_SWAPAXES:
        return swapaxes(n, count, out, err);
    case KILN_REARRANGE_MOVEAXIS:
        return moveaxis(n, count, out, err);
    case KILN_REARRANGE_SQUEEZE:
        return squeeze(n, count, out, err);
    case KILN_REARRANGE_DIAGONAL:
        return diagonal(n, count, out, err);
    case KILN_REARRANGE_ROT90:
        return rot90(n, count, out, err);
    case KILN_REARRANGE_FLIP:
        return flip(n, count, out, err);
    case KILN_REARRANGE_ATLEAST_1D:
        return atleast(1, out);
    case KILN_REARRANGE_ATLEAST_2D:
        return atleast(2, out);
    case KILN_REARRANGE_ATLEAST_3D:
        return atleast(3, out);
    case KILN_REARRANGE_SECTION:
        return section(n, count, out, err);
    case KILN_REARRANGE_WINDOW:
        return window(n, count, out, err);
    default:
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s is no view", kiln_rearrangement_name(what));
    }
}

/* ---- segments ---- */

/* Whether there is room for one more segment; it is then the last, and empty. */
static kiln__axis_run *next_segment(kiln__axis_run *list, size_t *count)
{
    if (*count == KILN__SEGMENTS_MAX)
        return NULL;
    list[*count] = (kiln__axis_run){0, 0, 0, 0};
    return &list[(*count)++];
}

/* Where place `p` of an axis that goes on for ever is read, and how many places from it on run the
 * same way. */
static kiln__axis_run run_at(kiln_pad_mode mode, int64_t n, int64_t p)
{
    const bool mirrored = mode != KILN_PAD_WRAP;
    const int64_t period = !mirrored ? n : mode == KILN_PAD_REFLECT ? 2 * (n - 1) : 2 * n;
    const int64_t at = (p % period + period) % period;

    if (at < n)
        return (kiln__axis_run){0, n - at, at, 1};
    if (mode == KILN_PAD_REFLECT)
        return (kiln__axis_run){0, period - at, period - at, -1};
    return (kiln__axis_run){0, period - at, period - 1 - at, -1};
}

kiln_status kiln__arrange_pad(kiln_pad_mode mode, int64_t n, int64_t before, int64_t after,
                              kiln__axis_run list[KILN__SEGMENTS_MAX], size_t *count_out,
                              kiln_error *err)
{
    int64_t whole = 0;
    size_t count = 0;

    *count_out = 0;
    if (before < 0 || after < 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "pad: the width %" PRId64 " is negative",
                          before < 0 ? before : after);
    if (kiln__add_overflow(n, before, &whole) || kiln__add_overflow(whole, after, &whole))
        return kiln__fail(err, KILN_ERR_OVERFLOW, "pad: the result has too many elements");
    if (n == 0 && whole > 0 && mode != KILN_PAD_CONSTANT && mode != KILN_PAD_EMPTY)
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "pad: an axis without elements has nothing to continue");
    if (mode == KILN_PAD_REFLECT && n == 1)
        mode = KILN_PAD_EDGE;
    for (int64_t at = 0; at < whole;) {
        const int64_t p = at - before, rest = whole - at;
        kiln__axis_run *s = next_segment(list, &count);
        if (s == NULL)
            return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                              "pad: an axis of %" PRId64 " elements would be repeated too often",
                              n);
        if (mode == KILN_PAD_REFLECT || mode == KILN_PAD_SYMMETRIC || mode == KILN_PAD_WRAP)
            *s = run_at(mode, n, p);
        else if (p >= 0 && p < n)
            *s = (kiln__axis_run){0, n - p, p, 1};
        else if (mode == KILN_PAD_EDGE)
            *s = (kiln__axis_run){0, p < 0 ? -p : rest, p < 0 ? 0 : n - 1, 0};
        else
            *s = (kiln__axis_run){0, p < 0 ? -p : rest, -1, 0};
        s->at = at;
        s->count = s->count < rest ? s->count : rest;
        at += s->count;
    }
    *count_out = count;
    return KILN_OK;
}

/* ---- how many operands and numbers ---- */

kiln_status kiln__arrange_check(kiln_rearrangement what, size_t operands, size_t numbers,
                                kiln_error *err)
{
    enum { ANY = KILN__REARRANGE_NUMBERS_MAX, MANY = KILN__REARRANGE_OPERANDS_MAX };
    static const struct {
        uint16_t operands[2], numbers[2]; /* at least, at most */
    } limits[] = {
        [KILN_REARRANGE_SWAPAXES] = {{1, 1}, {2, 2}},
        [KILN_REARRANGE_MOVEAXIS] = {{1, 1}, {0, ANY}},
        [KILN_REARRANGE_SQUEEZE] = {{1, 1}, {0, ANY}},
        [KILN_REARRANGE_DIAGONAL] = {{1, 1}, {3, 3}},
        [KILN_REARRANGE_ROT90] = {{1, 1}, {3, 3}},
        [KILN_REARRANGE_FLIP] = {{1, 1}, {0, ANY}},
        [KILN_REARRANGE_ATLEAST_1D] = {{1, 1}, {0, 0}},
        [KILN_REARRANGE_ATLEAST_2D] = {{1, 1}, {0, 0}},
        [KILN_REARRANGE_ATLEAST_3D] = {{1, 1}, {0, 0}},
        [KILN_REARRANGE_SECTION] = {{1, 1}, {4, 4}},
        [KILN_REARRANGE_WINDOW] = {{1, 1}, {2, 4}},
        [KILN_REARRANGE_CONCATENATE] = {{1, MANY}, {0, 1}},
        [KILN_REARRANGE_STACK] = {{1, MANY}, {1, 1}},
        [KILN_REARRANGE_HSTACK] = {{1, MANY}, {0, 0}},
        [KILN_REARRANGE_VSTACK] = {{1, MANY}, {0, 0}},
        [KILN_REARRANGE_DSTACK] = {{1, MANY}, {0, 0}},
        [KILN_REARRANGE_COLUMN_STACK] = {{1, MANY}, {0, 0}},
        [KILN_REARRANGE_TILE] = {{1, 1}, {0, KILN_RANK_MAX}},
        [KILN_REARRANGE_REPEAT] = {{1, 1}, {1, ANY}},
        [KILN_REARRANGE_REPEAT_ALONG] = {{1, 1}, {2, ANY}},
        [KILN_REARRANGE_ROLL] = {{1, 1}, {1, ANY}},
        [KILN_REARRANGE_PAD] = {{1, 2}, {1, 2 + 2 * KILN_RANK_MAX}},
        [KILN_REARRANGE_DELETE] = {{1, 1}, {1, ANY}},
        [KILN_REARRANGE_INSERT] = {{2, 2}, {2, ANY}},
        [KILN_REARRANGE_BLOCK] = {{1, MANY}, {0, MANY}},
    };
    const char *name = kiln_rearrangement_name(what);

    if ((size_t)what >= KILN_COUNT_OF(limits) || limits[what].operands[0] == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "there is no rearrangement %d", (int)what);
    if (limits[what].operands[1] == 1 && operands != 1)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "%s takes 1 array, %zu given", name, operands);
    if (operands < limits[what].operands[0] || operands > limits[what].operands[1])
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "%s takes %d to %d arrays, %zu given", name,
                          limits[what].operands[0], limits[what].operands[1], operands);
    if (numbers < limits[what].numbers[0] || numbers > limits[what].numbers[1] ||
        (what == KILN_REARRANGE_ROLL && numbers > 1 && numbers % 2 != 0))
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT, "%s does not take %zu whole numbers", name,
                          numbers);
    return KILN_OK;
}
