/*
 * window.c - inputs that are views of one array, shifted by planes, rows and elements, as a stencil's.
 *
 *     plan > [windows] > emit
 *
 * A kernel that loads each view by itself reads the same memory once for each of them. Inputs of one
 * dtype and equal strides whose addresses are a few planes, rows and elements apart share a window
 * instead: a tile reads the part of the array that any of them needs once (templates/cuda/window.cu).
 *
 * Rule: addresses decide. A plan that is kept for later calls is used for a call only if
 *       kiln__shifts_hold() for its addresses, so nothing here may depend on anything else of an address
 *       but its last four bits.
 */
#include <string.h>

#include "codegen/walk.h"

/* Threads a block; how many accesses an element windows must save; the fewest elements, columns, rows
 * and planes that make enough tiles. Measured: docs/design.md, "What measurement changed". */
enum {
    BLOCK_THREADS = 256,
    WARP_THREADS = 32,
    WORD_BYTES = 4,
    BEHIND_MAX = KILN__WINDOW_BEHIND_MAX,
    DOWN_MAX = KILN__WINDOW_DOWN_MAX,
    ALONG_MAX = KILN__WINDOW_ALONG_MAX, /* lanes of a warp but one */
    SAVED_MIN = 2,
    ELEMENTS_MIN = 1 << 20,
    COLUMNS_MIN = 2 * BLOCK_THREADS,
    ROWS_MIN = 32,
    PLANES_MIN = 2 * BEHIND_MAX,
    RANK_MAX = 6 /* of more axes, the extents and steps of `i` might not fit the argument block */
};

/* Shapes of a warp's tile, best first: planes (0: of windows on two axes), rows, strips of 32 words. The
 * first whose words take no more registers than that is taken. Of words below 4 bytes more must be on
 * their way. */
typedef struct shape {
    uint8_t planes, rows, strips;
    bool packed; /* words of several elements */
    uint8_t wordsize_max;
    int registers_max;
} shape;
static const shape shapes[] = {
    {0, 8, 2, true, 4, 64},   {0, 4, 2, true, 4, 64},   {0, 4, 1, true, 4, 64},
    {0, 8, 4, false, 2, 64},  {0, 4, 4, false, 16, 64}, {0, 4, 2, false, 16, 64},
    {0, 4, 1, false, 16, 64}, {2, 4, 1, true, 4, 96},   {1, 4, 1, true, 4, 96},
    {2, 4, 2, false, 4, 96},  {2, 4, 1, false, 16, 96}, {1, 4, 1, false, 16, 96},
};

/* Shapes of a marching block's tile, best first: bytes of a thread's word, rows of a thread, warps side by
 * side and below one another; for elements of so many bytes; and most registers for words of windows. */
typedef struct march {
    uint8_t word_bytes, rows, across, down, itemsize_min, itemsize_max;
    int registers_max;
} march;
static const march marches[] = {
    {16, 4, 1, 4, 8, 8, 160}, {8, 4, 4, 2, 4, 8, 108}, {8, 4, 2, 4, 4, 8, 108},
    {8, 2, 2, 4, 4, 8, 80},   {4, 8, 4, 2, 4, 4, 108}, {4, 4, 4, 2, 4, 4, 80},
    {4, 4, 4, 2, 1, 2, 80},   {4, 4, 2, 4, 1, 2, 80},
};
/* Planes in a block's ring of shared memory, of which it has so many bytes; bytes of a copy to it, and of the
 * units in which memory is read; planes that a block marches through at least, and how many are best: as measured
 * (bench/results/stencils-h200.txt). */
enum {
    RING = 3,
    RING_OF_WORDS = 4, /* of elements of 4 bytes */
    RING_BYTES = 48 << 10,
    PIECE_BYTES = 16,
    SECTOR_BYTES = 32,
    MARCH_MIN = 8,
    MARCH_BEST = 16,
    BLOCKS_OF_UNIT = 4 /* that a multiprocessor should have, if there are so many planes */
};

static bool is_array(const kiln__walk *w, int k)
{
    return k != w->index;
}

/* Inputs that may share a window: neighbours along the last axis, rows further apart than views are and than
 * a tile is wide: what a tile loads behind a row's end lies in the memory of the next row then. */
static bool is_candidate(const kiln__walk *w, int k)
{
    const int last = w->rank - 1;
    return is_array(w, k) && !w->written[k] && w->stride[k][last] == w->itemsize[k] &&
           kiln__magnitude(w->stride[k][last - 1]) >= COLUMNS_MIN * w->itemsize[k];
}

/* Whether this kernel can use windows at all, whatever the addresses of its arrays are. They save little
 * where accesses are as wide as they should be, and where arithmetic takes most of the time. */
static bool fits(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v,
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

/* Bytes from plane to plane where an operand's planes are further apart than the rows and elements of a
 * window are, else 0: also of elements that have more than `itemsize_max` bytes. */
static int64_t plane_of(const kiln__walk *w, int k, int itemsize_max)
{
    const int plane = w->rank - 3;
    const int64_t row = kiln__magnitude(w->stride[k][w->rank - 2]);

    if (plane < 0 || w->itemsize[k] > itemsize_max || w->shape[plane] < PLANES_MIN ||
        kiln__magnitude(w->stride[k][plane]) <= 2 * (DOWN_MAX + 1) * row)
        return 0;
    return w->stride[k][plane];
}

/* Find the root of each candidate: the first candidate of equal strides that is near it, or itself. */
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

/* The position of a view in its window, in planes, rows and elements from the first view of the window. */
typedef struct view {
    int window;
    int64_t behind, down, along;
} view;

/* The whole number of steps that comes nearest to a distance. */
static int64_t nearest(int64_t apart, int64_t step)
{
    const int64_t size = kiln__magnitude(step), shifted = (step < 0 ? -apart : apart) + size / 2;

    return (shifted - (shifted < 0 ? size - 1 : 0)) / size;
}

/* Divide a distance in bytes into planes, rows and elements. False when it is no whole number of elements,
 * or when they are too many for a window. */
static bool take_apart(const kiln__shift *shift, int64_t apart, view *out)
{
    out->behind = shift->plane != 0 ? nearest(apart, shift->plane) : 0;
    const int64_t in_plane = apart - out->behind * shift->plane;
    out->down = nearest(in_plane, shift->row);
    const int64_t rest = in_plane - out->down * shift->row;

    out->along = rest / shift->itemsize;
    return rest % shift->itemsize == 0 && kiln__magnitude(out->along) <= ALONG_MAX;
}

/* Whether an input at this distance from its root is loaded as the one that the plan was made for. */
static bool same_distance(const kiln__shift *shift, int64_t apart)
{
    view ignored;
    return apart == shift->apart ||
           (kiln__magnitude(apart) <= shift->near && !take_apart(shift, shift->apart, &ignored) &&
            !take_apart(shift, apart, &ignored));
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

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether a view fits among those of `window` before it. */
static bool joins(const view *views, int count, int window, const view *v)
{
    int64_t top = v->down, bottom = v->down, left = v->along, right = v->along;
    int64_t front = v->behind, back = v->behind;

    for (int k = 0; k < count; k++) {
        if (views[k].window != window)
            continue;
        top = kiln__least(top, views[k].down);
        bottom = most(bottom, views[k].down);
        left = kiln__least(left, views[k].along);
        right = most(right, views[k].along);
        front = kiln__least(front, views[k].behind);
        back = most(back, views[k].behind);
    }
    return back - front <= BEHIND_MAX && bottom - top <= DOWN_MAX && right - left <= ALONG_MAX;
}

/* Windows of all inputs that move along rows, in `views` by operand; gives how many there are. */
static int put_together(const kiln__walk *w, const kiln__plan *plan, view *views)
{
    uint8_t root[KILN__WALK_MAX];
    int windows = 0;

    for (int k = 0; k < w->count; k++) {
        const kiln__shift *shift = &plan->shifts[w->param[k]];
        views[k] = (view){.window = -1};
        if (!is_array(w, k) || w->written[k] || w->stride[k][w->rank - 1] == 0)
            continue;
        const bool shifted = is_candidate(w, k) && take_apart(shift, shift->apart, &views[k]);
        for (int n = 0; shifted && n < windows && views[k].window < 0; n++)
            if (root[n] == shift->root && joins(views, k, n, &views[k]))
                views[k].window = n;
        if (views[k].window < 0) {
            root[windows] = shifted ? shift->root : w->param[k];
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

/* Whether a tile of that shape suits the words and fits the registers. */
static bool shape_fits(const kiln__walk *w, const view *views, int windows, int pack,
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
            behind = most(behind, views[k].behind);
            down = most(down, views[k].down);
            along = most(along, views[k].along);
        }
        if (bytes > s->wordsize_max)
            return false;
        on_planes |= behind > 0;
        registers += (bytes > 4 ? bytes / 4 : 1) * ((s->planes > 0 ? s->planes : 1) + (int)behind) *
                     (s->rows + (int)down) * (s->strips + (along > 0));
    }
    return on_planes == (s->planes > 0) && (pack > 1) == s->packed && registers <= s->registers_max;
}

/* Let `behind`, `down` and `along` count from the corner of each window. */
static void count_from_corners(const kiln__walk *w, view *views, int windows)
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

/* Elements of 1 or 2 bytes are moved by words of 4 where all operands have the same size and all rows
 * of outputs begin at words: how many make a word, else 1. */
static int pack_of(const kiln__walk *w, const kiln__operand *operands)
{
    uint64_t bits = 0;
    int size = 0;

    for (int k = 0; k < w->count; k++) {
        if (!is_array(w, k) || w->stride[k][w->rank - 1] == 0)
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

/* Let windows begin at multiples of so many bytes: they have up to that much more at the left. False where
 * one is too wide. */
static bool begin_at(const kiln__walk *w, const kiln__operand *operands, int bytes, view *views)
{
    for (int k = 0; k < w->count; k++) {
        if (views[k].window < 0)
            continue;
        const int64_t begin =
            (int64_t)kiln__walk_begin(w, k, operands) - views[k].along * w->itemsize[k];
        views[k].along += (begin % bytes + bytes) % bytes / w->itemsize[k];
        if (views[k].along > ALONG_MAX)
            return false;
    }
    return true;
}

/* As many warps side by side as leave few of them without columns. */
static uint8_t warps_across(int64_t columns, int strips)
{
    const int64_t tiles = kiln__divide_up(columns, strips);
    int across = BLOCK_THREADS / WARP_THREADS;

    while (across > 1 && 8 * (kiln__divide_up(tiles, across) * across - tiles) > tiles)
        across /= 2;
    return (uint8_t)across;
}

/* The places of views in their windows. */
static void put_places(const kiln__walk *w, const view *views, kiln__variant *v)
{
    for (int k = 0; k < w->count; k++) {
        if (views[k].window < 0)
            continue;
        const size_t p = w->param[k];
        v->access[p] = KILN__ACCESS_WINDOW;
        v->loop.window[p] = (uint8_t)views[k].window;
        v->loop.behind[p] = (uint8_t)views[k].behind;
        v->loop.down[p] = (uint8_t)views[k].down;
        v->loop.along[p] = (uint8_t)views[k].along;
    }
}

static void fill_variant(const kiln__walk *w, const view *views, int pack, const shape *s,
                         kiln__variant *v)
{
    v->layout = KILN__LAYOUT_WINDOW;
    v->block = BLOCK_THREADS;
    v->vec = (uint8_t)pack;
    v->loop.planes = (uint8_t)s->planes;
    v->loop.tile = (uint8_t)s->rows;
    v->unroll = (uint8_t)s->strips;
    v->loop.across = warps_across(w->shape[w->rank - 1], WARP_THREADS * v->unroll * pack);
    put_places(w, views, v);
}
/* ---- marching from plane to plane ---- */

/* How many views a window has. */
static int members_of(const kiln__walk *w, const view *views, int window)
{
    int members = 0;

    for (int k = 0; k < w->count; k++)
        members += views[k].window == window;
    return members;
}

/* What windows of several views have in common. Views that are alone in a window are loaded by themselves. */
typedef struct common {
    int itemsize;
    int64_t behind; /* the farthest view */
    int64_t bits;   /* of all distances between rows */
} common;

/* False where windows have elements of different sizes. */
static bool find_common(const kiln__walk *w, const view *views, common *out)
{
    *out = (common){0, 0, 0};
    for (int k = 0; k < w->count; k++) {
        if (views[k].window < 0)
            continue;
        if (out->itemsize != 0 && w->itemsize[k] != out->itemsize)
            return false;
        out->itemsize = w->itemsize[k];
        out->behind = most(out->behind, views[k].behind);
        for (int a = 0; a < w->rank - 1; a++)
            out->bits |= w->stride[k][a];
    }
    return out->itemsize != 0;
}

/* Whether all rows of outputs begin where words of so many elements can be stored. */
static bool stores_words(const kiln__walk *w, const kiln__operand *operands, int vec)
{
    for (int k = 0; k < w->count; k++) {
        if (!is_array(w, k) || !w->written[k])
            continue;
        int64_t bits = (int64_t)kiln__walk_begin(w, k, operands);
        for (int a = 0; a < w->rank - 1; a++)
            bits |= w->stride[k][a];
        if (bits % kiln__least((int64_t)vec * w->itemsize[k], PIECE_BYTES) != 0)
            return false;
    }
    return true;
}

/* Planes of which a thread holds words, summed over the words of a row of a window: a word is held until the
 * last view that has a part of it has seen it. */
static int64_t planes_held(const kiln__walk *w, const view *views, int window, int64_t along,
                           int64_t turns, int word)
{
    int64_t held = 0;

    for (int64_t n = 0; n <= kiln__divide_up(along, word); n++) {
        int64_t first = turns;
        for (int k = 0; k < w->count; k++)
            if (views[k].window == window && views[k].along < (n + 1) * word &&
                views[k].along + word > n * word)
                first = kiln__least(first, views[k].behind);
        held += turns - first;
    }
    return held;
}

/* Whether a block's tile of that shape fits shared memory, and a thread's rows its registers. */
static bool march_fits(const kiln__walk *w, const view *views, int windows, const march *m,
                       const kiln__variant *v)
{
    int64_t bytes = 0, registers = 0, turns = 0;

    for (int k = 0; k < w->count; k++)
        turns = views[k].window >= 0 ? most(turns, views[k].behind + 1) : turns;
    for (int n = 0; n < windows; n++) {
        int64_t down = 0, along = 0, itemsize = 0;
        for (int k = 0; k < w->count; k++) {
            if (views[k].window != n)
                continue;
            itemsize = w->itemsize[k];
            down = most(down, views[k].down);
            along = most(along, views[k].along);
        }
        if (itemsize == 0) /* its only view is loaded by itself */
            continue;
        bytes += (int64_t)v->loop.ring * kiln__ring_rows(v, (int)down) *
                 kiln__ring_row(v, (int)itemsize, (int)along);
        registers += planes_held(w, views, n, along, turns, v->vec) * (m->rows + down) * v->vec *
                     itemsize / 4;
    }
    return bytes <= RING_BYTES && registers <= m->registers_max;
}

/* Whether that shape suits the words: rows of windows, in shared memory too, and of outputs begin
 * at them, but for words of several elements in 4 bytes; and few of its warps have no columns. */
static bool march_suits(const kiln__walk *w, const kiln__operand *operands, const common *c,
                        const march *m)
{
    const int vec = m->word_bytes / c->itemsize;
    const int64_t columns = w->shape[w->rank - 1], tile = (int64_t)WARP_THREADS * vec * m->across;
    const int64_t idle = kiln__divide_up(columns, tile) * tile - columns;

    return c->itemsize >= m->itemsize_min && c->itemsize <= m->itemsize_max &&
           (c->bits % PIECE_BYTES == 0 ||
            (m->word_bytes <= most(c->itemsize, WORD_BYTES) &&
             (c->itemsize < WORD_BYTES || c->bits % m->word_bytes == 0))) &&
           (c->itemsize < WORD_BYTES || stores_words(w, operands, vec)) &&
           (m->across < 4 || vec == 1 || 8 * idle <= columns);
}

/* Where rows of windows begin modulo 16 bytes. */
static int slant_of(const common *c)
{
    if (c->bits % PIECE_BYTES == 0)
        return KILN__SLANT_NONE;
    return c->itemsize >= WORD_BYTES || c->bits % WORD_BYTES == 0 ? KILN__SLANT_WORDS
                                                                  : KILN__SLANT_BYTES;
}

/* Let blocks march from plane to plane, where that can be: most windows on three axes. */
static bool march_choose(const kiln__walk *w, const kiln__operand *operands, const view *given,
                         int windows, kiln__variant *out)
{
    view views[KILN__WALK_MAX];
    kiln__variant v = *out;
    common c;

    memcpy(views, given, sizeof views);
    for (int k = 0; k < w->count; k++)
        if (given[k].window >= 0 && members_of(w, given, given[k].window) < 2)
            views[k].window = -1;
    if (!find_common(w, views, &c) || c.behind == 0 || w->shape[w->rank - 3] < MARCH_MIN)
        return false;
    const int slant = slant_of(&c);
    const int64_t begins[] = {PIECE_BYTES, most(c.itemsize, WORD_BYTES), c.itemsize};
    if (!begin_at(w, operands, (int)begins[slant], views))
        return false;
    v.layout = KILN__LAYOUT_WINDOW;
    v.unroll = 1;
    v.loop.planes = 1;
    v.loop.ring = c.itemsize == 4 ? RING_OF_WORDS : RING;
    v.loop.slant = (uint8_t)slant;
    for (size_t s = 0; s < KILN_COUNT_OF(marches); s++) {
        const march *m = &marches[s];
        if (!march_suits(w, operands, &c, m))
            continue;
        v.block = (uint16_t)(WARP_THREADS * m->across * m->down);
        v.vec = (uint8_t)(m->word_bytes / c.itemsize);
        v.loop.tile = m->rows;
        v.loop.across = m->across;
        if (!march_fits(w, views, windows, m, &v))
            continue;
        v.loop.turned = !stores_words(w, operands, v.vec);
        *out = v;
        put_places(w, views, out);
        return true;
    }
    return false;
}

int kiln__ring_rows(const kiln__variant *v, int down)
{
    return v->loop.tile * (v->block / WARP_THREADS / kiln__window_across(v)) + down;
}

int kiln__ring_row(const kiln__variant *v, int itemsize, int along)
{
    const int64_t words = WARP_THREADS * kiln__window_across(v) + kiln__divide_up(along, v->vec);
    const int more[] = {0, PIECE_BYTES - WORD_BYTES, PIECE_BYTES};
    const int64_t bytes = words * v->vec * itemsize + more[v->loop.slant];
    return (int)kiln__divide_up(bytes, SECTOR_BYTES) * SECTOR_BYTES;
}

/* Windows whose elements have at most `itemsize_max` bytes may lie on three axes. False where they save
 * too little. */
static bool find_windows(const kiln__walk *w, const kiln__operand *operands, int itemsize_max,
                         kiln__plan *plan, view *views, int *windows)
{
    find_shifts(w, operands, itemsize_max, plan);
    *windows = put_together(w, plan, views);
    if (saved(w, views, *windows) < SAVED_MIN)
        return false;
    count_from_corners(w, views, *windows);
    return true;
}

void kiln__window_choose(const kiln__walk *w, const kiln__definition *def,
                         const kiln__operand *operands, kiln__plan *plan)
{
    view views[KILN__WALK_MAX];
    size_t s = 0;
    int windows;

    plan->has_shifts = false;
    if (!fits(w, def, &plan->variant, plan->size))
        return;
    if (find_windows(w, operands, 2 * WORD_BYTES, plan, views, &windows) &&
        march_choose(w, operands, views, windows, &plan->variant))
        return;
    /* Tiles in registers are faster on two axes for elements of more than a word. */
    if (!find_windows(w, operands, WORD_BYTES, plan, views, &windows))
        return;
    int pack = pack_of(w, operands);
    if (pack > 1 && !begin_at(w, operands, WORD_BYTES, views)) {
        pack = 1;
        count_from_corners(w, views, windows);
    }
    while (s < KILN_COUNT_OF(shapes) && !shape_fits(w, views, windows, pack, &shapes[s]))
        s++;
    if (s < KILN_COUNT_OF(shapes))
        fill_variant(w, views, pack, &shapes[s], &plan->variant);
}

int kiln__window_across(const kiln__variant *v)
{
    return v->loop.across > 0 ? v->loop.across : v->block / WARP_THREADS;
}

/* Planes that a block marches through: so many that few are read twice, and so few that blocks which share
 * rows stay near one another, and that each multiprocessor has blocks. */
static int64_t planes_of_a_block(int units, const kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;
    int64_t planes = plan->shape[v->rank - 3], tiles = 1;

    for (int a = 0; a < v->rank; a++)
        tiles *= a == v->rank - 3 ? 1 : plan->walk[a];
    const int64_t best = kiln__tuned("KILN_TUNE_MARCH_PLANES", MARCH_BEST);
    int64_t chunks = (planes + best / 2) / best;
    chunks = most(chunks, kiln__least(planes / MARCH_MIN,
                                      kiln__divide_up(BLOCKS_OF_UNIT * (int64_t)units, tiles)));
    return kiln__divide_up(planes, most(chunks, 1));
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
        plan->word[KILN__WORD_CHUNK] = planes_of_a_block(units, plan);
    if (v->loop.planes > 0)
        plan->walk[last - 2] =
            kiln__divide_up(plan->shape[last - 2],
                            v->loop.ring != 0 ? plan->word[KILN__WORD_CHUNK] : v->loop.planes);
}

/* Whether a variant can march: words that registers have, of one size of elements. */
static bool march_is_valid(const kiln__definition *def, const kiln__variant *v)
{
    if (v->loop.ring < 2 || v->loop.planes != 1 || v->unroll != 1)
        return false;
    for (size_t p = 0; p < def->param_count; p++) {
        const int bytes = v->vec * (int)kiln_dtype_size((kiln_dtype)v->dtype[p]);
        if (v->access[p] == KILN__ACCESS_WINDOW &&
            (bytes < WORD_BYTES || bytes > PIECE_BYTES ||
             (v->loop.slant == KILN__SLANT_BYTES && bytes > WORD_BYTES)))
            return false;
    }
    return true;
}

bool kiln__window_is_valid(const kiln__definition *def, const kiln__variant *v)
{
    if (v->backend != KILN_BACKEND_CUDA || v->rank < (v->loop.planes > 0 ? 3 : 2) ||
        v->loop.tile == 0 || (v->loop.tile & (v->loop.tile - 1)) != 0 || v->loop.index_linear ||
        v->block < WARP_THREADS || v->block % (WARP_THREADS * kiln__window_across(v)) != 0)
        return false;
    if (v->loop.ring != 0 ? !march_is_valid(def, v) : v->loop.slant != 0 || v->loop.turned != 0)
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
