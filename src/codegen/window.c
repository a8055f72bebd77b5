/*
 * window.c - inputs that are shifted views of one array, as in a stencil, read the array once.
 *
 *     plan.c > [window > window_march] > emit_window.c, templates/cuda/window.cu and march.cu
 *
 * A kernel of x[:, :-2] + x[:, 1:-1] + x[:, 2:] would read x three times, once for each view. This
 * file finds such views. A tile of the kernel then reads every element that it needs once.
 *
 *   view      an input, as a view of an array; its position is a number of planes (`behind`), rows
 *             (`down`) and elements (`along`): the steps of the last three axes
 *   window    views of one dtype and equal strides, whose positions differ by a few steps
 *   root      the first input of those that may share a window (kiln__shift)
 *   corner    the least position of a window's views, from which positions count in the end
 *
 * The last step chooses a tile: of a warp, which holds its part of each window in registers
 * (below), or of a block that goes from plane to plane (window_march.c).
 *
 * Rule: the distances of addresses decide which views share a window. A kept plan is used for a
 *       later call only if kiln__shifts_hold() for its addresses. So nothing else here may depend
 *       on an address but its last four bits.
 *
 * plan.c calls this file, src/kernel asks kiln__shifts_hold(). Tests: test_plan, test_golden, and on
 * a GPU test_elementwise_window.
 */
#include <string.h>

#include "codegen/window.h"

/* Measured: docs/design.md, "What measurement changed". */
enum {
    BLOCK_THREADS = 256,
    WARP_THREADS = KILN__WARP_THREADS,
    WORD_BYTES = KILN__WINDOW_WORD,
    BEHIND_MAX = KILN__WINDOW_BEHIND_MAX,
    DOWN_MAX = KILN__WINDOW_DOWN_MAX,
    ALONG_MAX = KILN__WINDOW_ALONG_MAX, /* lanes of a warp but one */
    SAVED_MIN = 2,                      /* accesses of an element that windows must save */
    ELEMENTS_MIN = 1 << 20, /* fewer elements, columns, rows or planes make too few tiles */
    COLUMNS_MIN = 2 * BLOCK_THREADS,
    ROWS_MIN = 32,
    PLANES_MIN = 2 * BEHIND_MAX,
    RANK_MAX = 6 /* of more axes, the extents and steps of `i` might not fit the argument block */
};

/* The shapes of a warp's tile, the best first. The first is taken whose words need no more
 * registers than `registers_max`. Words of less than 4 bytes have larger tiles, since more of
 * them must be under way at a time. */
typedef struct shape {
    uint8_t planes; /* 0: windows on two axes */
    uint8_t rows;
    uint8_t strips; /* of 32 words each */
    bool packed;    /* words of several elements */
    uint8_t wordsize_max;
    int registers_max;
} shape;
static const shape shapes[] = {
    {0, 8, 2, true, 4, 64},   {0, 4, 2, true, 4, 64},   {0, 4, 1, true, 4, 64},
    {0, 8, 4, false, 2, 64},  {0, 4, 4, false, 16, 64}, {0, 4, 2, false, 16, 64},
    {0, 4, 1, false, 16, 64}, {2, 4, 1, true, 4, 96},   {1, 4, 1, true, 4, 96},
    {2, 4, 2, false, 4, 96},  {2, 4, 1, false, 16, 96}, {1, 4, 1, false, 16, 96},
};

/* Whether an input may share a window. It must be contiguous along the last axis. Its rows must be
 * further apart than a tile is wide, so that what a tile loads behind the end of a row lies in the
 * memory of the next row; and further apart than views of a window are along a row. */
static bool is_candidate(const kiln__walk *w, int k)
{
    const int last = w->rank - 1;
    return kiln__is_array(w, k) && !w->written[k] && w->stride[k][last] == w->itemsize[k] &&
           kiln__magnitude(w->stride[k][last - 1]) >= COLUMNS_MIN * w->itemsize[k];
}

/* Whether this kernel can use windows at all, whatever the addresses of its arrays are. Windows
 * save little in layouts with wide accesses, and where arithmetic takes most of the time. */
static bool kernel_fits(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v,
                        int64_t size)
{
    const int last = w->rank - 1;
    int candidates = 0;

    if (v->layout != KILN__LAYOUT_INNER || v->backend == KILN_BACKEND_CPU || v->unroll == 1 ||
        w->rank > RANK_MAX || size < kiln__tuned("KILN_TUNE_WINDOW_SIZE", ELEMENTS_MIN) ||
        w->shape[last] < COLUMNS_MIN || w->shape[last] > INT32_MAX / 2 ||
        w->shape[last - 1] < ROWS_MIN || def->heavy)
        return false;
    for (int k = 0; k < w->count; k++) {
        if (!kiln__is_array(w, k))
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

/* Bytes from one plane of an operand to the next; 0 where its windows may lie on two axes only:
 * planes are too few or so close that a distance would be ambiguous, or elements have more than
 * `itemsize_max` bytes. */
static int64_t plane_of(const kiln__walk *w, int k, int itemsize_max)
{
    const int plane = w->rank - 3;
    const int64_t row = kiln__magnitude(w->stride[k][w->rank - 2]);

    if (plane < 0 || w->itemsize[k] > itemsize_max || w->shape[plane] < PLANES_MIN ||
        kiln__magnitude(w->stride[k][plane]) <= 2 * (DOWN_MAX + 1) * row)
        return 0;
    return w->stride[k][plane];
}

/* Find the root of each candidate: the first earlier candidate of equal strides that is near it,
 * else the candidate itself. */
static void find_shifts(const kiln__walk *w, const kiln__operand *operands, int itemsize_max,
                        kiln__plan *plan)
{
    memset(plan->shifts, 0, sizeof plan->shifts);
    plan->has_shifts = true;
    for (int k = 0; k < w->count; k++) {
        if (!is_candidate(w, k))
            continue;
        kiln__shift *shift = &plan->shifts[w->param[k]];
        shift->plane = plane_of(w, k, itemsize_max);
        shift->near = BEHIND_MAX * kiln__magnitude(shift->plane) +
                      DOWN_MAX * kiln__magnitude(w->stride[k][w->rank - 2]) +
                      ALONG_MAX * w->itemsize[k];
        shift->root = shift->like = w->param[k];
        shift->row = w->stride[k][w->rank - 2];
        shift->itemsize = w->itemsize[k];
        for (int j = 0; j < k && shift->root == w->param[k]; j++) {
            const int64_t apart =
                (int64_t)(operands[w->param[k]].address - operands[w->param[j]].address);
            if (!is_candidate(w, j) || !same_steps(w, &plan->variant, j, k))
                continue;
            shift->like = plan->shifts[w->param[j]].like;
            if (plan->shifts[w->param[j]].root != w->param[j] ||
                kiln__magnitude(apart) > shift->near)
                continue;
            shift->root = w->param[j];
            shift->apart = apart;
        }
    }
}

/* The number of steps whose sum is nearest to a distance. */
static int64_t nearest(int64_t apart, int64_t step)
{
    const int64_t size = kiln__magnitude(step), shifted = (step < 0 ? -apart : apart) + size / 2;

    return (shifted - (shifted < 0 ? size - 1 : 0)) / size;
}

/* Split a distance in bytes into planes, rows and elements. False when it is not a whole number of
 * elements, or when there are too many of them for a window. */
static bool split_distance(const kiln__shift *shift, int64_t apart, kiln__view *out)
{
    out->behind = shift->plane != 0 ? nearest(apart, shift->plane) : 0;
    const int64_t in_plane = apart - out->behind * shift->plane;
    out->down = nearest(in_plane, shift->row);
    const int64_t rest = in_plane - out->down * shift->row;

    out->along = rest / shift->itemsize;
    return rest % shift->itemsize == 0 && kiln__magnitude(out->along) <= ALONG_MAX;
}

/* Whether an input at this distance from its root is loaded in the same way as the input that
 * the plan was made for: at the same distance, or outside of the root's window in both calls. */
static bool same_distance(const kiln__shift *shift, int64_t apart)
{
    kiln__view ignored;
    return apart == shift->apart || (kiln__magnitude(apart) <= shift->near &&
                                     !split_distance(shift, shift->apart, &ignored) &&
                                     !split_distance(shift, apart, &ignored));
}

bool kiln__shifts_hold(const kiln__shift *shift, const uintptr_t *address, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        if (shift[p].near == 0)
            continue;
        if (shift[p].root != p) {
            if (!same_distance(&shift[p], (int64_t)(address[p] - address[shift[p].root])))
                return false;
            continue;
        }
        for (size_t q = 0; q < p; q++) /* roots of equal strides are not near one another */
            if (shift[q].near != 0 && shift[q].like == shift[p].like && shift[q].root == q &&
                kiln__magnitude((int64_t)(address[p] - address[q])) <= shift[p].near)
                return false;
    }
    return true;
}

/* Whether a view can join the earlier views of `window`: all of them must stay close enough. */
static bool can_join(const kiln__view *views, int count, int window, const kiln__view *v)
{
    int64_t top = v->down, bottom = v->down, left = v->along, right = v->along;
    int64_t front = v->behind, back = v->behind;

    for (int k = 0; k < count; k++) {
        if (views[k].window != window)
            continue;
        top = kiln__least(top, views[k].down);
        bottom = kiln__most(bottom, views[k].down);
        left = kiln__least(left, views[k].along);
        right = kiln__most(right, views[k].along);
        front = kiln__least(front, views[k].behind);
        back = kiln__most(back, views[k].behind);
    }
    return back - front <= BEHIND_MAX && bottom - top <= DOWN_MAX && right - left <= ALONG_MAX;
}

/* Group all inputs that move along rows into windows, in `views` by operand; returns the number of
 * windows. An input that shares its window with no other has one of its own. */
static int group_views(const kiln__walk *w, const kiln__plan *plan, kiln__view *views)
{
    uint8_t root[KILN__WALK_MAX];
    int windows = 0;

    for (int k = 0; k < w->count; k++) {
        const kiln__shift *shift = &plan->shifts[w->param[k]];
        views[k] = (kiln__view){.window = -1};
        if (!kiln__is_array(w, k) || w->written[k] || w->stride[k][w->rank - 1] == 0)
            continue;
        const bool shifted = is_candidate(w, k) && split_distance(shift, shift->apart, &views[k]);
        for (int n = 0; shifted && n < windows && views[k].window < 0; n++)
            if (root[n] == shift->root && can_join(views, k, n, &views[k]))
                views[k].window = n;
        if (views[k].window < 0) {
            root[windows] = shifted ? shift->root : w->param[k];
            views[k].window = windows++;
        }
    }
    return windows;
}

/* The number of accesses of an element that windows save. */
static int accesses_saved(const kiln__walk *w, const kiln__view *views, int windows)
{
    int members = 0;

    for (int k = 0; k < w->count; k++)
        members += views[k].window >= 0;
    return members - windows;
}

/* Whether a tile of that shape suits the words, and its part of all windows fits the registers. */
static bool shape_fits(const kiln__walk *w, const kiln__view *views, int windows, int pack,
                       const shape *s)
{
    bool on_planes = false;
    int registers = 0;

    for (int n = 0; n < windows; n++) {
        int64_t behind = 0, down = 0, along = 0;
        int bytes = 0;
        for (int k = 0; k < w->count; k++) {
            if (views[k].window != n)
                continue;
            bytes = w->itemsize[k] * pack;
            behind = kiln__most(behind, views[k].behind);
            down = kiln__most(down, views[k].down);
            along = kiln__most(along, views[k].along);
        }
        if (bytes > s->wordsize_max)
            return false;
        on_planes |= behind > 0;
        registers += (bytes > 4 ? bytes / 4 : 1) * ((s->planes > 0 ? s->planes : 1) + (int)behind) *
                     (s->rows + (int)down) * (s->strips + (along > 0));
    }
    return on_planes == (s->planes > 0) && (pack > 1) == s->packed && registers <= s->registers_max;
}

/* Make `behind`, `down` and `along` count from the corner of each window. */
static void count_from_corners(const kiln__walk *w, kiln__view *views, int windows)
{
    for (int n = 0; n < windows; n++) {
        int64_t front = INT64_MAX, top = INT64_MAX, left = INT64_MAX;
        for (int k = 0; k < w->count; k++) {
            front = views[k].window == n ? kiln__least(front, views[k].behind) : front;
            top = views[k].window == n ? kiln__least(top, views[k].down) : top;
            left = views[k].window == n ? kiln__least(left, views[k].along) : left;
        }
        for (int k = 0; k < w->count; k++) {
            if (views[k].window != n)
                continue;
            views[k].behind -= front;
            views[k].down -= top;
            views[k].along -= left;
        }
    }
}

/* How many elements a word has. Elements of 1 or 2 bytes are moved by words of 4 bytes if all
 * operands have elements of one size and all rows of outputs begin at words; else it is 1. */
static int pack_of(const kiln__walk *w, const kiln__operand *operands)
{
    uint64_t bits = 0;
    int size = 0;

    for (int k = 0; k < w->count; k++) {
        if (!kiln__is_array(w, k) || w->stride[k][w->rank - 1] == 0)
            continue;
        if (w->itemsize[k] > 2 || (size != 0 && w->itemsize[k] != size))
            return 1;
        size = w->itemsize[k];
        for (int a = 0; a < w->rank - 1; a++)
            bits |= (uint64_t)w->stride[k][a];
        bits |= w->written[k] ? (uint64_t)kiln__walk_begin(w, k, operands) : 0;
    }
    return size == 0 || bits % WORD_BYTES != 0 ? 1 : WORD_BYTES / size;
}

/* How many warps of a block stand side by side: as many as leave few of them without columns. */
static uint8_t warps_across(int64_t columns, int strips)
{
    const int64_t tiles = kiln__divide_up(columns, strips);
    int across = BLOCK_THREADS / WARP_THREADS;

    while (across > 1 && 8 * (kiln__divide_up(tiles, across) * across - tiles) > tiles)
        across /= 2;
    return (uint8_t)across;
}

static void fill_variant(const kiln__walk *w, const kiln__view *views, int pack, const shape *s,
                         kiln__variant *v)
{
    v->layout = KILN__LAYOUT_WINDOW;
    v->block = BLOCK_THREADS;
    v->vec = (uint8_t)pack;
    v->loop.planes = (uint8_t)s->planes;
    v->loop.tile = (uint8_t)s->rows;
    v->unroll = (uint8_t)s->strips;
    v->loop.across = warps_across(w->shape[w->rank - 1], WARP_THREADS * v->unroll * pack);
    kiln__window_place(w, views, v);
}
/* Find the windows of a call, with views counted from the corners. Windows of elements with at most
 * `itemsize_max` bytes may lie on three axes. False where they save too little. */
static bool find_windows(const kiln__walk *w, const kiln__operand *operands, int itemsize_max,
                         kiln__plan *plan, kiln__view *views, int *windows)
{
    find_shifts(w, operands, itemsize_max, plan);
    *windows = group_views(w, plan, views);
    if (accesses_saved(w, views, *windows) < SAVED_MIN)
        return false;
    count_from_corners(w, views, *windows);
    return true;
}

void kiln__window_choose(const kiln__walk *w, const kiln__definition *def,
                         const kiln__operand *operands, kiln__plan *plan)
{
    kiln__view views[KILN__WALK_MAX];
    size_t s = 0;
    int windows;

    plan->has_shifts = false;
    if (!kernel_fits(w, def, &plan->variant, plan->size))
        return;
    if (find_windows(w, operands, 2 * WORD_BYTES, plan, views, &windows) &&
        kiln__march_choose(w, operands, views, windows, &plan->variant))
        return;
    /* Tiles in registers are faster on two axes for elements of more than a word. */
    if (!find_windows(w, operands, WORD_BYTES, plan, views, &windows))
        return;
    int pack = pack_of(w, operands);
    if (pack > 1 && !kiln__window_align(w, operands, WORD_BYTES, views)) {
        pack = 1;
        count_from_corners(w, views, windows);
    }
    while (s < KILN_COUNT_OF(shapes) && !shape_fits(w, views, windows, pack, &shapes[s]))
        s++;
    if (s < KILN_COUNT_OF(shapes))
        fill_variant(w, views, pack, &shapes[s], &plan->variant);
}

void kiln__window_walk(int units, kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;
    const int last = v->rank - 1;
    const int across = kiln__window_across(v);
    const int64_t rows = (int64_t)v->loop.tile * (v->block / WARP_THREADS / across);
    const int64_t columns = (int64_t)WARP_THREADS * v->unroll * v->vec * across;

    plan->walk[last] = kiln__divide_up(plan->shape[last], columns);
    plan->walk[last - 1] = kiln__divide_up(plan->shape[last - 1], rows);
    if (v->loop.ring != 0)
        plan->word[KILN__WORD_CHUNK] = kiln__march_planes(units, plan);
    if (v->loop.planes > 0)
        plan->walk[last - 2] =
            kiln__divide_up(plan->shape[last - 2],
                            v->loop.ring != 0 ? plan->word[KILN__WORD_CHUNK] : v->loop.planes);
}

bool kiln__window_is_valid(const kiln__definition *def, const kiln__variant *v)
{
    if (v->backend != KILN_BACKEND_CUDA || v->rank < (v->loop.planes > 0 ? 3 : 2) ||
        v->loop.tile == 0 || (v->loop.tile & (v->loop.tile - 1)) != 0 || v->loop.index_linear ||
        v->block < WARP_THREADS || v->block % (WARP_THREADS * kiln__window_across(v)) != 0)
        return false;
    if (v->loop.ring != 0 ? !kiln__march_is_valid(def, v)
                          : v->loop.slant != 0 || v->loop.turned != 0)
        return false;
    for (size_t p = 0; p < def->param_count; p++) {
        const bool moves =
            v->access[p] == KILN__ACCESS_WINDOW || v->access[p] == KILN__ACCESS_VECTOR;
        if (v->access[p] == KILN__ACCESS_WINDOW && v->loop.behind[p] > 0 && v->loop.planes == 0)
            return false;
        if (v->loop.ring == 0 && moves && v->vec > 1 &&
            v->vec * kiln_dtype_size(v->dtype[p]) != WORD_BYTES)
            return false;
    }
    return true;
}
