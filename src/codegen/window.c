/*
 * window.c - inputs that are views of one array, shifted by rows and elements, as a stencil's are.
 *
 *     plan > [windows] > emit
 *
 * A kernel that loads each view by itself reads the same memory once for each of them. Inputs of one
 * dtype and equal strides whose addresses are a few rows and elements apart share a window instead: a
 * tile reads the part of the array that any of them needs once (templates/cuda/window.cu).
 *
 * Rule: addresses decide. A plan that is kept for later calls is used for a call only if
 *       kiln__kin_holds() for its addresses, so nothing here may depend on anything else of an address.
 */
#include <string.h>

#include "codegen/walk.h"

/* Threads a block; how many accesses an element windows must save; the fewest elements, columns and
 * rows that make enough tiles. Measured: docs/design.md, "What measurement changed". */
enum {
    BLOCK_THREADS = 256,
    DOWN_MAX = KILN__WINDOW_DOWN_MAX,
    ALONG_MAX = KILN__WINDOW_ALONG_MAX, /* lanes of a warp but one */
    SAVED_MIN = 2,
    ELEMENTS_MIN = 1 << 20,
    COLUMNS_MIN = 2 * BLOCK_THREADS,
    ROWS_MIN = 32,
    RANK_MAX = 6 /* of more axes, the extents and steps of `i` might not fit the argument block */
};

/* Shapes of a warp's tile, best first: rows, strips of 32 columns. The first whose elements take
 * no more registers than that is taken. Of elements below 4 bytes more must be on their way. */
static const struct {
    uint8_t rows, strips, itemsize_max;
} tiles[] = {{8, 4, 2}, {4, 4, 16}, {4, 2, 16}, {4, 1, 16}};
enum { REGISTERS_MAX = 64 };

static bool is_array(const kiln__walk *w, int k)
{
    return k != w->index;
}

/* Inputs that may share a window: neighbours along the last axis, rows further apart than views. */
static bool is_candidate(const kiln__walk *w, int k)
{
    const int last = w->rank - 1;
    return is_array(w, k) && !w->written[k] && w->stride[k][last] == w->itemsize[k] &&
           kiln__magnitude(w->stride[k][last - 1]) > 2 * ALONG_MAX * w->itemsize[k];
}

/* Whether this kernel can use windows at all, whatever the addresses of its arrays are. They save little
 * where accesses are as wide as they should be, and where arithmetic takes most of the time. */
static bool fits(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v,
                 int64_t size)
{
    const int last = w->rank - 1;
    int candidates = 0;

    if (v->layout != KILN__LAYOUT_INNER || v->backend == KILN_BACKEND_CPU || v->unroll == 1 ||
        w->rank > RANK_MAX ||
        size < kiln__tuned("KILN_TUNE_WINDOW_SIZE", ELEMENTS_MIN) ||
        w->shape[last] < COLUMNS_MIN || w->shape[last] > INT32_MAX / 2 ||
        w->shape[last - 1] < ROWS_MIN || def->heavy)
        return false;
    for (int k = 0; k < w->count; k++) {
        if (!is_array(w, k))
            continue;
        const kiln__param *param = &def->params[w->param[k]];
        if (param->by_address || param->read_first || (w->written[k] && !param->output) ||
            (param->output && w->stride[k][last] != w->itemsize[k]))
            return false;
        candidates += is_candidate(w, k);
    }
    return candidates > SAVED_MIN;
}

static bool same_steps(const kiln__walk *w, const kiln__variant *v, int j, int k)
{
    return w->itemsize[j] == w->itemsize[k] && v->dtype[w->param[j]] == v->dtype[w->param[k]] &&
           memcmp(w->stride[j], w->stride[k], (size_t)w->rank * sizeof w->stride[k][0]) == 0;
}

/* Find the root of each candidate: the first candidate of equal strides that is near it, or itself. */
static void find_kin(const kiln__walk *w, const kiln__operand *operands, kiln__plan *plan)
{
    memset(plan->kin, 0, sizeof plan->kin);
    plan->has_kin = true;
    for (int k = 0; k < w->count; k++) {
        if (!is_candidate(w, k))
            continue;
        kiln__kin *kin = &plan->kin[w->param[k]];
        kin->near = DOWN_MAX * kiln__magnitude(w->stride[k][w->rank - 2]) +
                    ALONG_MAX * w->itemsize[k];
        kin->root = kin->like = w->param[k];
        kin->row = w->stride[k][w->rank - 2];
        kin->itemsize = w->itemsize[k];
        for (int j = 0; j < k && kin->root == w->param[k]; j++) {
            const int64_t apart = (int64_t)(operands[w->param[k]].address -
                                            operands[w->param[j]].address);
            if (!is_candidate(w, j) || !same_steps(w, &plan->variant, j, k))
                continue;
            kin->like = plan->kin[w->param[j]].like;
            if (plan->kin[w->param[j]].root != w->param[j] || kiln__magnitude(apart) > kin->near)
                continue;
            kin->root = w->param[j];
            kin->apart = apart;
        }
    }
}

/* The position of a view in its window, in rows and elements from the first view of the window. */
typedef struct view {
    int window;
    int64_t down, along;
} view;

/* Divide a distance in bytes into rows and elements. False when it is no whole number of elements, or
 * when they are too many for a window. */
static bool take_apart(const kiln__kin *kin, int64_t apart, view *out)
{
    const int64_t row = kin->row, half = kiln__magnitude(row) / 2;
    const int64_t sign = row < 0 ? -1 : 1, shifted = sign * apart + half;
    const int64_t rows = (shifted - (shifted < 0 ? kiln__magnitude(row) - 1 : 0)) / (sign * row);
    const int64_t rest = apart - rows * row;

    out->down = rows;
    out->along = rest / kin->itemsize;
    return rest % kin->itemsize == 0 && kiln__magnitude(out->along) <= ALONG_MAX;
}

/* Whether an input at this distance from its root is loaded as the one that the plan was made for. */
static bool same_distance(const kiln__kin *kin, int64_t apart)
{
    view ignored;
    return apart == kin->apart ||
           (kiln__magnitude(apart) <= kin->near && !take_apart(kin, kin->apart, &ignored) &&
            !take_apart(kin, apart, &ignored));
}

bool kiln__kin_holds(const kiln__kin *kin, const uintptr_t *address, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        if (kin[p].near == 0)
            continue;
        if (kin[p].root != p) {
            if (!same_distance(&kin[p], (int64_t)(address[p] - address[kin[p].root])))
                return false;
            continue;
        }
        for (size_t q = 0; q < p; q++) /* roots of equal strides are not near one another */
            if (kin[q].near != 0 && kin[q].like == kin[p].like && kin[q].root == q &&
                kiln__magnitude((int64_t)(address[p] - address[q])) <= kin[p].near)
                return false;
    }
    return true;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether a view fits among those of `window` before it. */
static bool joins(const view *views, int count, int window, const view *v)
{
    int64_t top = v->down, bottom = v->down, left = v->along, right = v->along;

    for (int k = 0; k < count; k++) {
        if (views[k].window != window)
            continue;
        top = kiln__least(top, views[k].down);
        bottom = most(bottom, views[k].down);
        left = kiln__least(left, views[k].along);
        right = most(right, views[k].along);
    }
    return bottom - top <= DOWN_MAX && right - left <= ALONG_MAX;
}

/* Windows of all inputs that move along rows, in `views` by operand; gives how many there are. */
static int put_together(const kiln__walk *w, const kiln__plan *plan, view *views)
{
    uint8_t root[KILN__WALK_MAX];
    int windows = 0;

    for (int k = 0; k < w->count; k++) {
        const kiln__kin *kin = &plan->kin[w->param[k]];
        views[k] = (view){.window = -1};
        if (!is_array(w, k) || w->written[k] || w->stride[k][w->rank - 1] == 0)
            continue;
        const bool kindred = is_candidate(w, k) && take_apart(kin, kin->apart, &views[k]);
        for (int n = 0; kindred && n < windows && views[k].window < 0; n++)
            if (root[n] == kin->root && joins(views, k, n, &views[k]))
                views[k].window = n;
        if (views[k].window < 0) {
            root[windows] = kindred ? kin->root : w->param[k];
            views[k].window = windows++;
        }
    }
    return windows;
}

/* Accesses an element that windows save. */
static int saved(const kiln__walk *w, const view *views, int windows)
{
    int members = 0;

    for (int k = 0; k < w->count; k++)
        members += views[k].window >= 0;
    return members - windows;
}

/* Whether a tile of such rows and strips suits the elements and fits the registers. */
static bool tile_fits(const kiln__walk *w, const view *views, int windows, size_t tile)
{
    const int rows = tiles[tile].rows, strips = tiles[tile].strips;
    int registers = 0;

    for (int n = 0; n < windows; n++) {
        int64_t down = 0, along = 0;
        int words = 1;
        for (int k = 0; k < w->count; k++) {
            if (views[k].window != n)
                continue;
            if (w->itemsize[k] > tiles[tile].itemsize_max)
                return false;
            words = w->itemsize[k] > 4 ? w->itemsize[k] / 4 : 1;
            down = most(down, views[k].down);
            along = most(along, views[k].along);
        }
        registers += words * (rows + (int)down) * (strips + (along > 0));
    }
    return registers <= REGISTERS_MAX;
}

/* Let `down` and `along` count from the corner of each window. */
static void count_from_corners(const kiln__walk *w, view *views, int windows)
{
    for (int n = 0; n < windows; n++) {
        int64_t top = INT64_MAX, left = INT64_MAX;
        for (int k = 0; k < w->count; k++) {
            top = views[k].window == n ? kiln__least(top, views[k].down) : top;
            left = views[k].window == n ? kiln__least(left, views[k].along) : left;
        }
        for (int k = 0; k < w->count; k++) {
            views[k].down -= views[k].window == n ? top : 0;
            views[k].along -= views[k].window == n ? left : 0;
        }
    }
}

void kiln__window_choose(const kiln__walk *w, const kiln__definition *def,
                         const kiln__operand *operands, kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;
    view views[KILN__WALK_MAX];
    size_t t = 0;

    plan->has_kin = false;
    if (!fits(w, def, v, plan->size))
        return;
    find_kin(w, operands, plan);
    const int windows = put_together(w, plan, views);
    count_from_corners(w, views, windows);
    while (t < KILN_COUNT_OF(tiles) && !tile_fits(w, views, windows, t))
        t++;
    if (t == KILN_COUNT_OF(tiles) || saved(w, views, windows) < SAVED_MIN)
        return;
    v->layout = KILN__LAYOUT_WINDOW;
    v->block = BLOCK_THREADS;
    v->vec = 1;
    v->loop.tile = (uint8_t)kiln__tuned("KILN_TUNE_WINDOW_ROWS", tiles[t].rows);
    v->unroll = (uint8_t)kiln__tuned("KILN_TUNE_WINDOW_STRIPS", tiles[t].strips);
    for (int k = 0; k < w->count; k++) {
        if (views[k].window < 0)
            continue;
        const size_t p = w->param[k];
        v->access[p] = KILN__ACCESS_WINDOW;
        v->loop.window[p] = (uint8_t)views[k].window;
        v->loop.down[p] = (uint8_t)views[k].down;
        v->loop.along[p] = (uint8_t)views[k].along;
    }
}
