/*
 * transpose.c - operands that are contiguous along different axes.
 *
 *     plan.c > [transpose] > emit.c, templates/cuda/transpose*.cu and templates/cpu
 *
 * Axis A is the last axis. Operands that are contiguous along A are accessed directly. The others
 * are contiguous along one other axis, B, and are read or written by tiles over A and B. There are
 * four forms; a GPU takes the first of them that fits (kiln__transpose_choose()):
 *
 *   few       one axis has 2 to 15 elements: a thread holds all of them (transpose_narrow.cu)
 *   gathered  rows begin at any address: a tile lies in shared memory as it lies in memory, and
 *             threads gather the elements of a word from it (transpose_gather.cu)
 *   square    rows of all operands begin at sectors of 32 bytes: square tiles (transpose_even.cu)
 *   skewed    all others: `tile` elements along B, as many along A as give each thread `unroll`
 *             words, and rows that begin where the output's sectors do (transpose.cu)
 *
 * A tile is short along an axis that is short, and longer along the other. On the cpu there is one
 * form. Tests: test_plan, test_golden, and on a GPU test_elementwise_layout.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

/* Measured: docs/design.md, "What measurement changed". */
enum {
    EXTENT_MIN = 16, /* axes that fill most of a tile */
    TILE = 64,
    TILE_OF_WIDE = 32, /* of elements wider than 4 bytes */
    SHORT_MIN = 5,     /* an axis of SHORT_MIN to SHORT elements has tiles that are as short; */
    SHORT = 32,        /* of fewer elements, threads hold them or caches keep them */
    LONG_MIN = 128,    /* the other axis of a short one has as many elements or more */
    SHARED_MAX = 40 * 1024
};

/* The cpu: a tile is smaller where its buffers would leave a core's nearest caches. */
enum { CPU_TILE = 64, CPU_TILE_MIN = 16, CPU_TILE_BYTES = 40 * 1024 };

enum { BLOCK_THREADS = 256 };

/* Gathered tiles. */
enum {
    GATHER_ROW = 128, /* bytes of a tile's row */
    GATHER_LONG_ROW = 2 * GATHER_ROW,
    GATHER_LONG_BYTES = 96 << 20, /* operands of so many bytes have long rows */
    GATHER_GAP = 4,    /* bytes between rows in shared memory, if those of memory begin at words */
    GATHER_SIDE = 128, /* elements of 1 or 2 bytes along A */
    GATHER_SIDE_OF_WORDS = 64, /* the same of 4 bytes */
    GATHER_SHARED_MAX = 47 * 1024
};

/* A short axis whose elements a thread holds. */
enum {
    FEW_MAX = 16,     /* it has fewer elements */
    FEW_VEC = 4,      /* most neighbours of a thread along the other axis */
    FEW_ACCESS = 8,   /* most bytes of an access along the other axis */
    FEW_BYTES = 48,   /* most bytes that a thread moves of an operand */
    ACCESS_BYTES = 16 /* most bytes of an access along the short axis */
};

/* Whether the axes fill tiles well enough. */
static bool extents_fit(const kiln__variant *v, int64_t one, int64_t other)
{
    const int64_t less = one < other ? one : other, more = one < other ? other : one;

    return less >= EXTENT_MIN || (v->backend != KILN_BACKEND_CPU && less >= 2 && more >= LONG_MIN);
}

/* Axis B: every operand that is not dense on the last axis is dense on it. -1 when there is none
 * that fills a tile. */
static int find_axis(const kiln__walk *w, const kiln__definition *def, const kiln__variant *v)
{
    const int last = w->rank - 1;

    for (int b = last - 1; b >= 0; b--) {
        bool fits = extents_fit(v, w->shape[b], w->shape[last]);
        for (int k = 0; k < w->count && fits; k++) {
            if (k == w->index || kiln__walk_dense(w, k, last))
                continue;
            fits = w->stride[k][b] == w->itemsize[k] && !def->params[w->param[k]].by_address;
        }
        if (fits)
            return b;
    }
    return -1;
}

/* Bytes of one element of each operand that goes through tiles. */
static int tiled_bytes(const kiln__walk *w)
{
    int bytes = 0;

    for (int k = 0; k < w->count; k++)
        if (k != w->index && !kiln__walk_dense(w, k, w->rank - 1))
            bytes += w->itemsize[k];
    return bytes;
}

/* How many elements a word has. Elements of 1 or 2 bytes are moved by words of 4 bytes if all
 * operands have elements of one size and both axes fill a tile of 32 words; else it is 1. */
static int packed_elements(const kiln__walk *w, int b)
{
    int size = 0;

    for (int k = 0; k < w->count; k++) {
        if (k == w->index)
            continue;
        if (w->itemsize[k] > 2 || (size != 0 && w->itemsize[k] != size))
            return 1;
        size = w->itemsize[k];
    }
    const int pack = size == 0 ? 1 : 4 / size;
    return w->shape[b] >= 32 * pack && w->shape[w->rank - 1] >= 32 * pack ? pack : 1;
}

static int power_above(int64_t extent)
{
    int power = 2;

    while (power < extent)
        power *= 2;
    return power;
}

/* Whether rows of all operands begin at sectors of a GPU's memory. Addresses are tested modulo 16
 * bytes only, since kept plans do not depend on more. */
static bool rows_are_even(const kiln__walk *w, const kiln__operand *operands, int b)
{
    const int last = w->rank - 1;

    if (w->shape[b] < EXTENT_MIN || w->shape[last] < EXTENT_MIN)
        return false;
    for (int k = 0; k < w->count; k++) {
        if (k == w->index || w->stride[k][last] == 0)
            continue;
        if (kiln__walk_begin(w, k, operands) % 16 != 0)
            return false;
        const int along = kiln__walk_dense(w, k, last) ? last : b;
        for (int a = 0; a <= last; a++)
            if (a != along && w->stride[k][a] % KILN__SECTOR != 0)
                return false;
    }
    return true;
}

/* Whether some operand has elements of more than 4 bytes. */
static bool has_wide(const kiln__walk *w)
{
    for (int k = 0; k < w->count; k++)
        if (k != w->index && w->itemsize[k] > 4)
            return true;
    return false;
}

/* The form "square"; false where tiles would take too much shared memory. */
static bool choose_square(const kiln__walk *w, const kiln__definition *def, int b, kiln__variant *v)
{
    const int bytes = tiled_bytes(w), vec = def->large ? 1 : packed_elements(w, b);

    v->loop.tile = has_wide(w) ? TILE_OF_WIDE : TILE;
    if (vec > 1 && (32 * vec + vec) * (32 * vec + vec + 1) * bytes <= SHARED_MAX) {
        v->vec = (uint8_t)vec;
        v->loop.tile = (uint16_t)(32 * vec);
    }
    if (v->loop.tile * (v->loop.tile + 1) * bytes > SHARED_MAX)
        v->loop.tile = TILE_OF_WIDE;
    return v->loop.tile * (v->loop.tile + 1) * bytes <= SHARED_MAX;
}

/* Whether some operand has elements of 1 byte. These are turned in registers, by words, and square
 * tiles do not do that. */
static bool has_bytes(const kiln__walk *w)
{
    for (int k = 0; k < w->count; k++)
        if (k != w->index && w->itemsize[k] < 2)
            return true;
    return false;
}

/* The form "skewed"; false where a tile would take too much shared memory. */
static bool choose_skewed(const kiln__walk *w, const kiln__definition *def, int b, kiln__variant *v)
{
    const int64_t along_a = w->shape[w->rank - 1], along_b = w->shape[b];
    const int bytes = tiled_bytes(w);

    v->vec = (uint8_t)(def->large ? 1 : packed_elements(w, b));
    int side = v->vec > 1 ? 32 * v->vec : has_wide(w) ? TILE_OF_WIDE : TILE;
    if ((side + KILN__SECTOR) * side * bytes > SHARED_MAX)
        v->vec = 1, side = TILE_OF_WIDE;
    if ((side + KILN__SECTOR) * side * bytes > SHARED_MAX)
        return false;
    int tile = side;
    if (along_b <= SHORT && along_b < along_a)
        tile = power_above(along_b);
    else if (along_a <= SHORT)
        tile = side * side / power_above(along_a);
    v->loop.tile = (uint16_t)tile;
    v->block = BLOCK_THREADS;
    v->unroll = (uint8_t)(side * side / v->vec / BLOCK_THREADS);
    return true;
}

/* The operands of the form "gathered". */
typedef struct gathered {
    int tiled_size; /* bytes of an element of all tiled operands */
    int size;       /* bytes of an element of all outputs */
    int phase;      /* bytes of a row of the tiled operands, modulo 4 */
    int count;      /* tiled operands */
    bool beside;    /* whether other operands are loaded */
} gathered;

/* Whether operands can be gathered. Outputs must run along the last axis. If a word of theirs has
 * several elements, all operands that run along the last axis must have the outputs' size. */
static bool can_gather(const kiln__walk *w, const kiln__definition *def, gathered *g)
{
    const int last = w->rank - 1;

    for (int k = 0; k < w->count; k++) {
        const bool written = k != w->index && w->written[k];
        int *const size = written ? &g->size : &g->tiled_size;
        g->beside |= k != w->index &&
                     (written ? def->params[w->param[k]].read_first : kiln__walk_dense(w, k, last));
        if (k == w->index || (!written && kiln__walk_dense(w, k, last)))
            continue;
        if (w->itemsize[k] > 4 || (*size != 0 && *size != w->itemsize[k]) ||
            (written && w->stride[k][last] != w->itemsize[k]))
            return false;
        *size = w->itemsize[k];
        if (written)
            continue;
        const int phase = (int)(w->stride[k][last] & 3);
        if ((g->count > 0 && phase != g->phase) || phase % *size != 0)
            return false;
        g->phase = phase;
        g->count++;
    }
    for (int k = 0; k < w->count; k++)
        if (k != w->index && kiln__walk_dense(w, k, last) && g->size < 4 &&
            w->itemsize[k] != g->size && !kiln__walk_constant(w, k))
            return false;
    return g->size > 0 && g->count > 0;
}

/* Whether more than two lanes use one bank of shared memory when they gather from rows `apart`
 * bytes apart. */
static bool banks_meet(int vec, int apart)
{
    return vec * apart % 16 == 0;
}

/* Whether tiles of rows of `row` bytes, and of `side` elements along A, are filled and fit. */
static bool tile_gathers(const kiln__walk *w, int b, const gathered *g, int row, int side)
{
    const int apart = row + GATHER_GAP + g->phase;

    return w->shape[w->rank - 1] >= side && w->shape[b] * g->tiled_size >= row &&
           !banks_meet(4 / g->size, apart) &&
           g->count * ((side + KILN__SECTOR / g->size) * apart + 4) <= GATHER_SHARED_MAX;
}

/* The form "gathered", for operands with elements of up to 4 bytes. False where it is not faster:
 *
 *   - all operands have elements of 4 bytes (bench/results/workloads-h200.txt);
 *   - lanes would use the same banks, as for bytes in rows that begin at words
 *     (bench/results/bandwidth-h200.txt);
 *   - an axis does not fill a tile.
 *
 * A large operand that is the only one loaded has long rows: a row that begins within a line of
 * memory takes one line more than it fills. Smaller operands would have too few such tiles, and
 * other operands would need the registers. */
static bool choose_gather(const kiln__walk *w, const kiln__definition *def, int b, kiln__variant *v)
{
    gathered g = {0};

    if (def->large || !can_gather(w, def, &g) || (g.size == 4 && g.tiled_size == 4))
        return false;
    const int side = g.size == 4 ? GATHER_SIDE_OF_WORDS : GATHER_SIDE, vec = 4 / g.size;
    const bool is_long = g.size < 4 && g.count == 1 && !g.beside &&
                         kiln__walk_size(w) * g.tiled_size >=
                             kiln__tuned("KILN_TUNE_GATHER_LONG", GATHER_LONG_BYTES) &&
                         tile_gathers(w, b, &g, GATHER_LONG_ROW, side);
    const int row = is_long ? GATHER_LONG_ROW : GATHER_ROW;
    if (!is_long && !tile_gathers(w, b, &g, row, side))
        return false;
    v->vec = (uint8_t)vec;
    v->loop.tile = (uint16_t)(row / g.tiled_size);
    v->block = is_long ? 2 * BLOCK_THREADS : BLOCK_THREADS;
    v->unroll = (uint8_t)(side * v->loop.tile / vec / v->block);
    v->loop.apart = (uint16_t)(row + GATHER_GAP + g.phase);
    return true;
}

/* The bits of an operand's address and of its steps along all axes but those of the tile. */
static uint64_t outer_bits(const kiln__walk *w, int k, const kiln__operand *operands, int b)
{
    uint64_t bits = kiln__walk_begin(w, k, operands);

    for (int a = 0; a < w->rank - 1; a++)
        bits |= a == b ? 0 : (uint64_t)w->stride[k][a];
    return bits;
}

/* Whether a thread can have `vec` neighbours on the long axis (`line`) and all elements of the
 * short one (`run`): `vec` divides the long axis, and its accesses are aligned and contiguous.
 * *each receives the elements of an access along the short axis. */
static bool vec_fits(const kiln__walk *w, const kiln__operand *operands, int b, bool last, int vec,
                     int *each)
{
    const int run = last ? w->rank - 1 : b, line = last ? b : w->rank - 1;

    if (w->shape[line] % vec != 0)
        return false;
    *each = ACCESS_BYTES;
    for (int k = 0; k < w->count; k++) {
        const int64_t size = w->itemsize[k], elements = vec * w->shape[run];
        const uint64_t bits = outer_bits(w, k, operands, b);
        if (k == w->index)
            continue;
        /* What is contiguous along both axes, as overlapping windows are, is moved along the last. */
        const bool as_line = w->stride[k][line] == size && !(last && w->stride[k][run] == size);
        if (as_line && (bits | (uint64_t)w->stride[k][run]) % (uint64_t)(vec * size) != 0)
            return false;
        if (w->stride[k][run] != size || as_line)
            continue;
        if (vec > 1 && w->stride[k][line] != size * w->shape[run])
            return false;
        while (*each * size > ACCESS_BYTES || elements % *each != 0 ||
               (bits | (uint64_t)(vec * w->stride[k][line])) % (uint64_t)(*each * size) != 0)
            *each /= 2;
    }
    return true;
}

/* The form "few"; false where tiles serve better. */
static bool choose_few(const kiln__walk *w, const kiln__definition *def,
                       const kiln__operand *operands, int b, kiln__variant *v)
{
    const bool last = w->shape[w->rank - 1] < w->shape[b];
    const int64_t extent = w->shape[last ? w->rank - 1 : b];
    const int64_t other = w->shape[last ? b : w->rank - 1];
    int bytes = 1, vec = FEW_VEC, each = 1;

    for (int k = 0; k < w->count; k++)
        if (k != w->index && w->itemsize[k] > bytes)
            bytes = w->itemsize[k];
    if (def->large || extent >= FEW_MAX || other < LONG_MIN ||
        (extent >= SHORT_MIN && power_above(extent) == extent) || extent * bytes > 2 * FEW_BYTES)
        return false;
    while (vec > 1 && (vec * bytes > FEW_ACCESS || vec * extent * bytes > FEW_BYTES ||
                       !vec_fits(w, operands, b, last, vec, &each)))
        vec /= 2;
    (void)vec_fits(w, operands, b, last, vec, &each);
    v->loop.narrow = last ? KILN__NARROW_LAST : KILN__NARROW_BEFORE;
    v->loop.tile = (uint16_t)extent;
    v->vec = (uint8_t)vec;
    v->unroll = (uint8_t)each;
    return true;
}

static void choose_on_cpu(const kiln__walk *w, kiln__variant *v)
{
    v->loop.tile = CPU_TILE;
    while (v->loop.tile > CPU_TILE_MIN &&
           v->loop.tile * (v->loop.tile + 1) * tiled_bytes(w) > CPU_TILE_BYTES)
        v->loop.tile /= 2;
}

/* The first form of a GPU that fits; false where none does. */
static bool choose_on_gpu(const kiln__walk *w, const kiln__definition *def,
                          const kiln__operand *operands, int b, kiln__variant *v)
{
    if (choose_few(w, def, operands, b, v))
        return true;
    if (w->shape[b] < SHORT_MIN || w->shape[w->rank - 1] < SHORT_MIN)
        return false;
    if (!rows_are_even(w, operands, b))
        return choose_gather(w, def, b, v) || choose_skewed(w, def, b, v);
    if (!has_bytes(w))
        return choose_square(w, def, b, v);
    if (!choose_skewed(w, def, b, v))
        return false;
    v->loop.aligned = v->vec > 1;
    return true;
}

bool kiln__transpose_choose(kiln__walk *w, const kiln__definition *def,
                            const kiln__operand *operands, kiln__variant *v)
{
    int b = find_axis(w, def, v);

    if (b < 0)
        return false;
    if (v->backend == KILN_BACKEND_CPU)
        choose_on_cpu(w, v);
    else if (!choose_on_gpu(w, def, operands, b, v))
        return false;
    for (; b < w->rank - 2; b++) /* the second tile axis goes next to the last */
        kiln__walk_swap(w, b, b + 1);
    v->layout = KILN__LAYOUT_TRANSPOSE;
    return true;
}

bool kiln__transpose_even(const kiln__variant *v)
{
    return v->layout == KILN__LAYOUT_TRANSPOSE && v->backend != KILN_BACKEND_CPU &&
           v->unroll == 1 && v->loop.narrow == KILN__NARROW_NONE;
}

size_t kiln__transpose_skewed(const kiln__definition *def, const kiln__variant *v)
{
    size_t found = SIZE_MAX;

    for (size_t p = def->param_count; p-- > 0;) {
        if (!def->params[p].output || def->params[p].by_address)
            continue;
        if (v->access[p] == KILN__ACCESS_TILE)
            return SIZE_MAX;
        if (v->access[p] == KILN__ACCESS_VECTOR)
            found = p;
    }
    return found;
}

kiln__transpose_tile kiln__transpose_tile_of(const kiln__definition *def, const kiln__variant *v)
{
    kiln__transpose_tile t = {.side = 1, .lanes = 1, .across = 1};

    if (v->layout != KILN__LAYOUT_TRANSPOSE || v->backend == KILN_BACKEND_CPU ||
        v->loop.tile == 0 || v->loop.narrow != KILN__NARROW_NONE)
        return t;
    if (kiln__transpose_even(v)) {
        t.side = v->loop.tile;
        return t;
    }
    const size_t skewed = kiln__transpose_skewed(def, v);
    const int lanes = v->loop.tile / v->vec;
    t.side = v->block * v->vec * v->unroll / v->loop.tile;
    if (skewed != SIZE_MAX)
        t.skew = KILN__SECTOR / (int)kiln_dtype_size((kiln_dtype)v->dtype[skewed]);
    if (v->loop.aligned != 0 || 4 * t.skew > t.side)
        t.skew = 0;
    t.pitch = (t.side + t.skew) / v->vec | 1;
    t.lanes = lanes < v->block ? lanes : v->block;
    t.across = t.side / v->vec < v->block ? t.side / v->vec : v->block;
    if (t.lanes > 0)
        t.groups = (int)kiln__divide_up((t.side + t.skew) / v->vec, v->block / t.lanes) *
                   (lanes / t.lanes);
    return t;
}

/* Whether the numbers of a gathered tile are among those that the template has: so that all of its
 * loads and stores are whole. */
static bool gather_tile_fits(const kiln__variant *v, const kiln__transpose_tile *t, int row)
{
    const int size = 4 / v->vec, rows = t->side + t->skew, phase = v->loop.apart - row - GATHER_GAP;
    const int tiled_size = row / v->loop.tile, threads = v->block;

    if (v->backend == KILN_BACKEND_CPU || v->loop.narrow != KILN__NARROW_NONE ||
        v->loop.aligned != 0 || (v->vec & (v->vec - 1)) != 0 || v->vec > 4)
        return false;
    if (phase < 0 || phase > 3 || tiled_size < 1 || tiled_size * v->loop.tile != row ||
        phase % tiled_size != 0 || banks_meet(v->vec, v->loop.apart))
        return false;
    return (threads == BLOCK_THREADS || threads == 2 * BLOCK_THREADS) && v->unroll >= 2 &&
           t->skew * size == KILN__SECTOR && rows <= threads && rows % (threads / 32) == 0 &&
           t->side % v->vec == 0 && threads % (t->side / v->vec) == 0 &&
           t->side * v->loop.tile == threads * v->vec * v->unroll;
}

/* Whether a variant of the form "gathered" is one that the template can write. */
static bool gather_fits(const kiln__definition *def, const kiln__variant *v,
                        const kiln__transpose_tile *t)
{
    const int row = v->loop.apart < GATHER_LONG_ROW ? GATHER_ROW : GATHER_LONG_ROW;
    int tiled = 0;

    if (!gather_tile_fits(v, t, row))
        return false;
    for (size_t p = 0; p < def->param_count; p++) {
        const uint8_t access = v->access[p];
        const bool direct = access == KILN__ACCESS_VECTOR || access == KILN__ACCESS_SPLAT ||
                            access == KILN__ACCESS_STRIDED;
        const int bytes = (int)kiln_dtype_size((kiln_dtype)v->dtype[p]);
        if (access == KILN__ACCESS_TILE ? bytes != row / v->loop.tile
                                        : direct && v->vec > 1 && bytes != 4 / v->vec)
            return false;
        tiled += access == KILN__ACCESS_TILE;
    }
    return tiled > 0 && tiled * ((t->side + t->skew) * v->loop.apart + 4) <= GATHER_SHARED_MAX;
}

bool kiln__transpose_is_valid(const kiln__definition *def, const kiln__variant *v)
{
    const kiln__transpose_tile t = kiln__transpose_tile_of(def, v);

    if (v->rank < 2 || v->loop.tile < 2)
        return false;
    if (v->loop.apart != 0)
        return gather_fits(def, v, &t);
    if (v->loop.aligned != 0 &&
        (v->vec == 1 || v->backend == KILN_BACKEND_CPU || kiln__transpose_even(v)))
        return false;
    if (v->loop.narrow != KILN__NARROW_NONE)
        return v->loop.aligned == 0 && v->loop.tile < FEW_MAX &&
               v->loop.tile * v->vec % v->unroll == 0 && (v->unroll & (v->unroll - 1)) == 0;
    if ((v->loop.tile & (v->loop.tile - 1)) != 0)
        return false;
    if (kiln__transpose_even(v)) {
        const int across = v->vec > 1 ? 32 : v->loop.tile;
        return v->loop.tile == across * v->vec && v->loop.tile <= 128 && v->block % across == 0 &&
               v->loop.tile * across % v->block == 0;
    }
    return v->backend == KILN_BACKEND_CPU ||
           (v->loop.tile % v->vec == 0 && t.side % v->vec == 0 && t.side > 1 &&
            (t.side & (t.side - 1)) == 0 &&
            t.side * v->loop.tile == v->block * v->vec * v->unroll &&
            t.pitch * v->vec * v->loop.tile <= SHARED_MAX);
}

/* Whether all rows of the output `skewed` begin at multiples of 16 bytes; then tiles do, too. */
static bool is_even(const kiln__plan_request *q, const kiln__plan *plan, size_t skewed)
{
    uintptr_t bits = q->operands[skewed].address;

    for (int a = 0; a < plan->variant.rank - 1; a++)
        bits |= (uintptr_t)plan->step[skewed][a];
    return bits % 16 == 0;
}

void kiln__transpose_walk(const kiln__plan_request *q, kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;
    const kiln__transpose_tile t = kiln__transpose_tile_of(q->def, v);
    if (v->loop.narrow != KILN__NARROW_NONE) {
        const int run = v->rank - (v->loop.narrow == KILN__NARROW_LAST ? 1 : 2),
                  line = 2 * v->rank - 3 - run;
        plan->walk[run] = 1;
        plan->walk[line] = kiln__divide_up(plan->shape[line], (int64_t)v->vec * v->block);
        return;
    }
    const int last = v->rank - 1, side = v->backend == KILN_BACKEND_CPU ? v->loop.tile : t.side;
    const int before =
        t.skew == 0 || is_even(q, plan, kiln__transpose_skewed(q->def, v)) ? 0 : t.skew - 1;

    plan->walk[last - 1] = kiln__divide_up(plan->shape[last - 1], v->loop.tile);
    plan->walk[last] = kiln__divide_up(plan->shape[last] + before, side);
}
