/*
 * window_march.c - windows on several planes: a block marches from plane to plane.
 *
 *     window.c > [window_march] > emit_window.c, templates/cuda/march.cu
 *
 * A block has a tile of a plane and takes a run of planes, one after the other. It copies each
 * plane of its windows once into a ring of planes in shared memory, some planes ahead. A thread
 * keeps the words that later planes need again in registers. This file chooses the tile, so that
 * the ring fits shared memory and the words fit the registers, and the number of planes in a run.
 *
 * The words (view, window, `behind`, `down`, `along`) are those of window.c, which calls this file.
 * Tests: test_plan, test_golden, and on a GPU test_elementwise_window.
 */
#include <string.h>

#include "codegen/window.h"

enum {
    WARP_THREADS = KILN__WARP_THREADS,
    WORD_BYTES = KILN__WINDOW_WORD,
    ALONG_MAX = KILN__WINDOW_ALONG_MAX
};

/* The shapes of a block's tile, the best first. */
typedef struct march {
    uint8_t word_bytes;                 /* a thread has one word of each row */
    uint8_t rows;                       /* of a thread */
    uint8_t across, down;               /* warps side by side, and below one another */
    uint8_t itemsize_min, itemsize_max; /* elements for which the shape is meant */
    int registers_max;                  /* for words of windows */
} march;
static const march marches[] = {
    {16, 4, 1, 4, 8, 8, 160}, {8, 4, 4, 2, 4, 8, 108}, {8, 4, 2, 4, 4, 8, 108},
    {8, 2, 2, 4, 4, 8, 80},   {4, 8, 4, 2, 4, 4, 108}, {4, 4, 4, 2, 4, 4, 80},
    {4, 4, 4, 2, 1, 2, 80},   {4, 4, 2, 4, 1, 2, 80},
};
/* As measured (bench/results/stencils-h200.txt). */
enum {
    RING = 3,              /* planes of a ring */
    RING_OF_WORDS = 4,     /* the same of elements of 4 bytes */
    RING_BYTES = 48 << 10, /* most shared memory of all rings of a block */
    PIECE_BYTES = 16,      /* of a copy into a ring */
    SECTOR_BYTES = 32,     /* the unit in which memory is read */
    MARCH_MIN = 8,         /* planes of a run, at least */
    MARCH_BEST = 16,       /* planes of the best run */
    BLOCKS_OF_UNIT = 4 /* blocks that a multiprocessor should have, if there are enough planes */
};

/* How many views a window has. */
static int members_of(const kiln__walk *w, const kiln__view *views, int window)
{
    int members = 0;

    for (int k = 0; k < w->count; k++)
        members += views[k].window == window;
    return members;
}

/* ---- for window.c as well ---- */

bool kiln__window_align(const kiln__walk *w, const kiln__operand *operands, int bytes,
                        kiln__view *views)
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

void kiln__window_place(const kiln__walk *w, const kiln__view *views, kiln__variant *v)
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

int kiln__window_across(const kiln__variant *v)
{
    return v->loop.across > 0 ? v->loop.across : v->block / WARP_THREADS;
}

/* ---- marching ---- */

/* What the windows of several views have in common. A view that is alone in its window is loaded
 * without a ring, and does not count. */
typedef struct common {
    int itemsize;
    int64_t behind; /* the farthest view */
    int64_t bits;   /* of all distances between rows */
} common;

/* False if there is no window of several views, or if windows have elements of different sizes. */
static bool find_common(const kiln__walk *w, const kiln__view *views, common *out)
{
    *out = (common){0, 0, 0};
    for (int k = 0; k < w->count; k++) {
        if (views[k].window < 0)
            continue;
        if (out->itemsize != 0 && w->itemsize[k] != out->itemsize)
            return false;
        out->itemsize = w->itemsize[k];
        out->behind = kiln__most(out->behind, views[k].behind);
        for (int a = 0; a < w->rank - 1; a++)
            out->bits |= w->stride[k][a];
    }
    return out->itemsize != 0;
}

/* Whether all rows of outputs begin where words of so many elements can be stored. */
static bool stores_words(const kiln__walk *w, const kiln__operand *operands, int vec)
{
    for (int k = 0; k < w->count; k++) {
        if (!kiln__is_array(w, k) || !w->written[k])
            continue;
        int64_t bits = (int64_t)kiln__walk_begin(w, k, operands);
        for (int a = 0; a < w->rank - 1; a++)
            bits |= w->stride[k][a];
        if (bits % kiln__least((int64_t)vec * w->itemsize[k], PIECE_BYTES) != 0)
            return false;
    }
    return true;
}

/* The number of planes for which a thread keeps a word, summed over its words of a row of a
 * window. A word is kept until the last view that contains a part of it has used it. */
static int64_t planes_held(const kiln__walk *w, const kiln__view *views, int window, int64_t along,
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

/* Whether the rings of a tile of that shape fit shared memory, and a thread's words its
 * registers. */
static bool march_fits(const kiln__walk *w, const kiln__view *views, int windows, const march *m,
                       const kiln__variant *v)
{
    int64_t bytes = 0, registers = 0, turns = 0;

    for (int k = 0; k < w->count; k++)
        turns = views[k].window >= 0 ? kiln__most(turns, views[k].behind + 1) : turns;
    for (int n = 0; n < windows; n++) {
        int64_t down = 0, along = 0, itemsize = 0;
        for (int k = 0; k < w->count; k++) {
            if (views[k].window != n)
                continue;
            itemsize = w->itemsize[k];
            down = kiln__most(down, views[k].down);
            along = kiln__most(along, views[k].along);
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

/* Whether that shape suits the rows: those of windows (in shared memory too) and of outputs
 * begin at words, except words of several elements in 4 bytes; and few of its warps have no
 * columns. */
static bool march_suits(const kiln__walk *w, const kiln__operand *operands, const common *c,
                        const march *m)
{
    const int vec = m->word_bytes / c->itemsize;
    const int64_t columns = w->shape[w->rank - 1], tile = (int64_t)WARP_THREADS * vec * m->across;
    const int64_t idle = kiln__divide_up(columns, tile) * tile - columns;

    return c->itemsize >= m->itemsize_min && c->itemsize <= m->itemsize_max &&
           (c->bits % PIECE_BYTES == 0 ||
            (m->word_bytes <= kiln__most(c->itemsize, WORD_BYTES) &&
             (c->itemsize < WORD_BYTES || c->bits % m->word_bytes == 0))) &&
           (c->itemsize < WORD_BYTES || stores_words(w, operands, vec)) &&
           (m->across < 4 || vec == 1 || 8 * idle <= columns);
}

/* At which addresses, modulo 16 bytes, the rows of windows begin: a KILN__SLANT_. */
static int slant_of(const common *c)
{
    if (c->bits % PIECE_BYTES == 0)
        return KILN__SLANT_NONE;
    return c->itemsize >= WORD_BYTES || c->bits % WORD_BYTES == 0 ? KILN__SLANT_WORDS
                                                                  : KILN__SLANT_BYTES;
}

bool kiln__march_choose(const kiln__walk *w, const kiln__operand *operands, const kiln__view *given,
                        int windows, kiln__variant *out)
{
    kiln__view views[KILN__WALK_MAX];
    kiln__variant v = *out;
    common c;

    memcpy(views, given, sizeof views);
    for (int k = 0; k < w->count; k++)
        if (given[k].window >= 0 && members_of(w, given, given[k].window) < 2)
            views[k].window = -1;
    if (!find_common(w, views, &c) || c.behind == 0 || w->shape[w->rank - 3] < MARCH_MIN)
        return false;
    const int slant = slant_of(&c);
    const int64_t begins[] = {PIECE_BYTES, kiln__most(c.itemsize, WORD_BYTES), c.itemsize};
    if (!kiln__window_align(w, operands, (int)begins[slant], views))
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
        kiln__window_place(w, views, out);
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

int64_t kiln__march_planes(int units, const kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;
    int64_t planes = plan->shape[v->rank - 3], tiles = 1;

    for (int a = 0; a < v->rank; a++)
        tiles *= a == v->rank - 3 ? 1 : plan->walk[a];
    const int64_t best = kiln__tuned("KILN_TUNE_MARCH_PLANES", MARCH_BEST);
    int64_t chunks = (planes + best / 2) / best;
    chunks =
        kiln__most(chunks, kiln__least(planes / MARCH_MIN,
                                       kiln__divide_up(BLOCKS_OF_UNIT * (int64_t)units, tiles)));
    return kiln__divide_up(planes, kiln__most(chunks, 1));
}

bool kiln__march_is_valid(const kiln__definition *def, const kiln__variant *v)
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
