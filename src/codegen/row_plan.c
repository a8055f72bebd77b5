/*
 * row_plan.c - decide how a row program walks memory.
 *
 *     definition > bind types > [plan] > emit > compile > launch
 *
 * The loop's axes fall into kept ones, which number the rows, and reduced ones, along which rows run;
 * each half is sorted and collapsed by itself. What an input is follows from its strides: the same
 * for a whole row, the same for every row (a column's weight), or an element of its own. On CUDA
 * the elements of a row are dealt out to threads and stay in their registers:
 *
 *     a thread        short rows of odd lengths, which pass through shared memory (`stage`); of
 *                     those that it has no room for, up to four threads
 *     up to a warp    `group` lanes a row, several rows a block
 *     a block         rows that a warp's registers cannot hold
 *     a cluster       rows that such a block cannot hold: `split` blocks side by side (from sm_90 on)
 *     reread          longer rows: a block goes over the row once more for each stage
 *
 * Where the kept axis is the fast one ("turned"), neighbouring threads take neighbouring rows, `tile`
 * of them, and a row's elements are dealt to threads `tile` apart.
 *
 * Rule: as in reduce_plan.c, an order of combination depends on shapes, strides, dtypes and the
 * device, never on what runs beside.
 *
 * src/kernel, src/fusion and src/warm call this file. Tests: test_plan_random, test_row_frames.
 */
#include "codegen/emit.h"
#include "codegen/lexer.h"
#include "codegen/walk.h"

enum {
    WARP_THREADS = 32,
    ACCESS_BYTES = 16,
    HELD_WORDS = 64,     /* registers of a thread that hold elements */
    READ_WORDS = 128,    /* the same in blocks of programs that write no elements: loads are all they do */
    LONG_STAGES = 3,     /* programs of so many stages hold half as much: a thread's text, which is that of an
                            element times its elements, is to fit into caches of instructions */
    LONG_WORDS = 32,
    REGISTERS = 65536,   /* of a multiprocessor */
    REGISTERS_BESIDE = 32, /* of a thread, that hold no elements */
    UNROLL_MAX = 32,
    GROUP_EACH = 4,      /* accesses a thread of a part of a warp should make */
    GROUP_WIDE_EACH = 2, /* the same of 16 bytes, of rows of up to 32: lanes read sectors together */
    BLOCK_THREADS = 256, /* of blocks with several rows */
    PEELED_MIN = 16,     /* accesses of a row of a warp that are aligned though rows are not ... */
    PEELED_BYTES = 2,    /* ... where those that rows allow have no more bytes */
    STAGE_THREADS = 128, /* of blocks that copy their rows */
    STAGE_THREADS_MANY = 256, /* the same of rows of so few elements: */
    STAGE_FEW = 8,
    STAGE_EACH = 36,     /* elements of such a thread, where several share a row ... */
    STAGE_NARROW = 4,    /* which they do where an access to the row has no more bytes, ... */
    STAGE_ROW_BYTES = 448, /* and the row has no more: most lanes of a warp would be busy with longer ones */
    STAGE_BLOCKS = 8,    /* of these a multiprocessor, before a thread takes several rows */
    ROW_THREADS = 256,   /* of blocks with one row: several are resident, some load, some compute */
    CLUSTER_MAX = 8,     /* what every GPU with clusters can do */
    CLUSTER_THREADS = 128, /* of a block of a cluster, where eight such blocks hold a row */
    SHARED_BYTES = 48 << 10, /* that a block has without asking */
    REREAD_ACCESSES = 4,
    REREAD_THREADS = 1024, /* rows are long, and often few */
    CUDA_LANES = 4,
    CPU_LANES = 16,
    CPU_LANES_LENGTH = 64,
    CPU_PAIR_LENGTH = 16, /* merging more than two lanes costs more than reducing such a row */
    CPU_CHUNK_ELEMENTS = 1 << 14,
    CPU_CACHED_BYTES = 1 << 20, /* of a row that is still in cache when the next stage reads it */
    CPU_TILE_LEAST = 16,        /* rows of a tile */
    CPU_TILE_MOST = 64,
    CPU_TILE_BYTES = 16 << 20
};

static int64_t power_down(int64_t v)
{
    int64_t p = 1;
    while (2 * p <= v)
        p *= 2;
    return p;
}

/* ---- how operands are reached ------------------------------------------------------------------ */

static uint8_t choose_access(const kiln__definition *def, const kiln__walk *keep,
                             const kiln__walk *red, int k)
{
    const int64_t step = red->stride[k][red->rank - 1];
    const bool along = !kiln__walk_constant(red, k), across = !kiln__walk_constant(keep, k);
    const kiln__param *param = &def->params[red->param[k]];

    if (param->output)
        return param->row                    ? KILN__ACCESS_SPLAT
               : step == red->itemsize[k] ? KILN__ACCESS_VECTOR
                                          : KILN__ACCESS_STRIDED;
    if (!along)
        return across ? KILN__ACCESS_SPLAT : KILN__ACCESS_ONE;
    if (!across && kiln__walk_size(keep) > 1)
        return KILN__ACCESS_COLUMN;
    return step == red->itemsize[k] ? KILN__ACCESS_VECTOR : KILN__ACCESS_STRIDED;
}

static bool is_element(const kiln__variant *v, size_t p)
{
    return v->access[p] == KILN__ACCESS_VECTOR || v->access[p] == KILN__ACCESS_STRIDED ||
           v->access[p] == KILN__ACCESS_COLUMN || v->access[p] == KILN__ACCESS_TILE;
}

/* Widest vectors along the row that every operand allows. */
static int choose_vec(const kiln__walk *keep, const kiln__walk *red, const kiln__operand *operands,
                      const kiln__variant *v)
{
    int vec = kiln__walk_vec(red, keep, operands, v, ACCESS_BYTES, true);
    while (red->shape[red->rank - 1] % vec != 0)
        vec /= 2;
    return vec;
}

/* Whether most bytes run faster along the kept axes than along the row. */
static bool is_turned(const kiln__walk *keep, const kiln__walk *red, const kiln__variant *v)
{
    int64_t weight = 0;
    for (int k = 0; k < red->count; k++) {
        const int64_t kept = kiln__magnitude(keep->stride[k][keep->rank - 1]);
        const int64_t reduced = kiln__magnitude(red->stride[k][red->rank - 1]);
        if (!is_element(v, red->param[k]) || v->access[red->param[k]] == KILN__ACCESS_COLUMN)
            continue;
        const bool row = reduced != 0 && (kept == 0 || reduced <= kept);
        weight += row ? red->itemsize[k] : -(int64_t)red->itemsize[k];
    }
    return weight < 0;
}

/* ---- cuda ---------------------------------------------------------------------------------------- */

/* Registers of a thread for elements, where several threads share a row that lies in memory. */
static int64_t held_words(const kiln__definition *def)
{
    return kiln__tuned("KILN_TUNE_ROW_WORDS",
                       def->rows->stage_count >= LONG_STAGES ? LONG_WORDS : HELD_WORDS);
}

/* Accesses of so many words that `room` registers hold. */
static int64_t most_in(int64_t room, int64_t words)
{
    const int64_t most = room / (words > 0 ? words : 1);
    return most < 1 ? 1 : most > UNROLL_MAX ? UNROLL_MAX : most;
}

/* The largest block whose threads can have the registers: 512 where they hold 64 words. */
static int64_t most_threads(int64_t room, int64_t words)
{
    int64_t threads = 1024;
    while (threads * (most_in(room, words) * words + REGISTERS_BESIDE) > REGISTERS && threads > 32)
        threads /= 2;
    return threads;
}

/* Few different numbers of accesses, so that rows of many lengths share a kernel. */
static uint8_t round_accesses(int64_t each)
{
    const int64_t step = each > KILN__ROW_EACH ? 4 : 1;
    return (uint8_t)(each < 1 ? 1 : kiln__divide_up(each, step) * step);
}

/* Whether a program has results for each element of a row, or for each row alone. */
static bool writes_elements(const kiln__definition *def)
{
    bool writes = false;
    for (size_t p = 0; p < def->param_count; p++)
        writes |= def->params[p].output && !def->params[p].row;
    return writes;
}

/* Registers of a thread for elements, in blocks with one row. */
static int64_t block_words(const kiln__definition *def)
{
    const bool is_long = def->rows->stage_count >= LONG_STAGES;
    return writes_elements(def) ? held_words(def)
                                : kiln__tuned("KILN_TUNE_ROW_WORDS", is_long ? HELD_WORDS : READ_WORDS);
}

/* Accesses of a thread. */
static int64_t each_of(int64_t length, int64_t threads)
{
    return round_accesses(kiln__divide_up(length, threads));
}

/* Deal a row of `length` accesses, of so many words, to a block of threads that have room for so many, or
 * to a cluster of blocks. False when it is too long. */
static bool fill_block(kiln__variant *v, int64_t length, int64_t room, int64_t words, bool clusters)
{
    int64_t threads = kiln__power_up(kiln__divide_up(length, most_in(room, words)));
    const int64_t usual = kiln__tuned("KILN_TUNE_ROW_THREADS", ROW_THREADS);
    int64_t blocks = 1;

    threads = threads < 2 * WARP_THREADS ? 2 * WARP_THREADS : threads;
    /* Where a cluster is whole, more threads that hold less each keep more loads on their way. */
    const int64_t more = room == HELD_WORDS ? 2 : 1;
    const bool whole = more * threads >= 2 * CLUSTER_MAX * CLUSTER_THREADS &&
                       more * threads < 8 * CLUSTER_MAX * CLUSTER_THREADS && clusters &&
                       room <= HELD_WORDS && 4 * words == ACCESS_BYTES;
    threads *= whole ? more : 1;
    if (threads > usual && clusters) {
        blocks = threads / CLUSTER_THREADS;
        threads = CLUSTER_THREADS;
        if (blocks > CLUSTER_MAX) {
            threads *= blocks / CLUSTER_MAX;
            blocks = CLUSTER_MAX;
        }
    }
    /* Blocks that would hold little are left out: those of other clusters take their place. */
    if (whole)
        blocks = kiln__least(blocks, kiln__divide_up(length, threads * KILN__ROW_EACH));
    if (threads > most_threads(each_of(length, threads * blocks) * words, words))
        return false;
    v->block = v->row.group = (uint16_t)threads;
    v->row.cluster = (uint8_t)blocks;
    v->unroll = (uint8_t)each_of(length, threads * blocks);
    return true;
}

/* The same of a program. A long row of many stages may need more registers than caches of instructions suit. */
static bool deal_block(const kiln__definition *def, kiln__variant *v, int64_t length, int64_t words,
                       bool clusters)
{
    return fill_block(v, length, block_words(def), words, clusters) ||
           fill_block(v, length, HELD_WORDS, words, clusters);
}

/* Threads of a part of a warp that a row must have at least: elements beside the accesses have one each. */
static int64_t least_group(const kiln__variant *v)
{
    return v->row.peel ? kiln__power_up(2 * (v->vec - 1)) : 1;
}

/* Aligned accesses for rows of a block or a cluster, where vectors along whole rows are narrower, and for
 * those of a warp or a part of it, where they are so narrow that a warp reads little at a time. */
static void choose_peel(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                        kiln__variant *v)
{
    kiln__variant wide = *v;
    int64_t widest = 1;

    wide.vec = (uint8_t)kiln__walk_peel(keep, red, q->operands, v);
    for (int k = 0; k < red->count; k++)
        if (is_element(v, red->param[k]) && red->itemsize[k] > widest)
            widest = red->itemsize[k];
    const int64_t length = kiln__walk_size(red) / wide.vec;
    const int64_t words = kiln__row_access_words(q->def, &wide);
    const bool in_warp = length <= WARP_THREADS * most_in(held_words(q->def), words);
    if (wide.vec > v->vec &&
        (in_warp ? length >= kiln__tuned("KILN_TUNE_ROW_PEEL", PEELED_MIN) &&
                       v->vec * widest <= kiln__tuned("KILN_TUNE_ROW_NARROW", PEELED_BYTES)
                 : deal_block(q->def, &wide, length, words, q->device.clusters))) {
        v->vec = wide.vec;
        v->row.peel = 1;
    }
}

/* Whether operand `k` has elements of its own in every row, and these lie one behind the other. */
static bool is_dense(const kiln__walk *keep, const kiln__walk *red, int k)
{
    return red->stride[k][0] == red->itemsize[k] &&
           keep->stride[k][0] == red->itemsize[k] * red->shape[0];
}

/* Bytes of shared memory that one row of an operand takes: see part copy_in of held.cu. */
static int64_t staged_row(const kiln__walk *red, int k)
{
    const int64_t bytes = red->shape[0] * red->itemsize[k];
    return bytes + (bytes % ACCESS_BYTES == 0 ? ACCESS_BYTES : 0);
}

/* The same for all operands, and bytes of an access that copies them. 0 where some rows are neither one
 * behind the other nor the same for all, where an output is read first, or where 16 bytes of a row can be
 * read at once anyway. */
static int64_t staged_rows(const kiln__plan_request *q, const kiln__walk *keep,
                           const kiln__walk *red, const kiln__variant *v, int *access)
{
    uint64_t low_bits = ACCESS_BYTES;
    int64_t in = 0, out = 0;
    int widest = 0, inputs = 0, outputs = 0;

    for (int k = 0; k < red->count; k++) {
        const kiln__param *param = &q->def->params[red->param[k]];
        if (!is_element(v, red->param[k]) || v->access[red->param[k]] == KILN__ACCESS_COLUMN)
            continue;
        if (keep->rank != 1 || red->rank != 1 || !is_dense(keep, red, k) ||
            (param->output && param->read_first))
            return 0;
        widest = v->vec * red->itemsize[k] > widest ? v->vec * red->itemsize[k] : widest;
        low_bits |= kiln__walk_begin(red, k, q->operands) + (uint64_t)keep->begin[k];
        *(param->output ? &outputs : &inputs) += 1;
        *(param->output ? &out : &in) += staged_row(red, k);
    }
    *access = (int)(low_bits & (~low_bits + 1)); /* whole elements, as every array is aligned */
    if (widest >= ACCESS_BYTES || inputs == 0)
        return 0;
    return inputs == 1 && outputs == 1 && in == out ? in : in + out;
}

/* How many threads hold a row that is copied: one where it has room for the row. 0: too few. */
static int64_t staged_group(const kiln__definition *def, const kiln__walk *red,
                            const kiln__variant *v)
{
    kiln__variant single = *v;
    const int64_t length = kiln__walk_size(red);
    int64_t widest = 1;

    single.vec = 1;
    for (int k = 0; k < red->count; k++)
        if (is_element(v, red->param[k]) && v->vec * red->itemsize[k] > widest)
            widest = v->vec * red->itemsize[k];
    const int64_t words = kiln__row_access_words(def, &single);
    if (length * words <= HELD_WORDS)
        return 1;
    const int64_t group = kiln__power_up(
        kiln__divide_up(length * words, kiln__tuned("KILN_TUNE_ROW_SHARE", STAGE_EACH)));
    return widest <= STAGE_NARROW &&
                   length / v->vec * widest <=
                       kiln__tuned("KILN_TUNE_ROW_SHORT", STAGE_ROW_BYTES) &&
                   group * WARP_THREADS <= STAGE_THREADS
               ? group
               : 0;
}

/* Short rows of odd lengths are copied by accesses that are whole whatever their length is, and a thread, or
 * a few, hold each. */
static void choose_stage(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                         kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;
    const int64_t rows = kiln__walk_size(keep), units = q->device.units;
    const int64_t group = staged_group(q->def, red, v);
    int64_t each;
    int access = 0;
    const int64_t bytes = staged_rows(q, keep, red, v, &access);
    int64_t threads =
        kiln__tuned("KILN_TUNE_ROW_STAGE",
                    kiln__walk_size(red) <= STAGE_FEW ? STAGE_THREADS_MANY : STAGE_THREADS);

    if (bytes == 0 || group == 0)
        return;
    while (threads > WARP_THREADS * group &&
           (threads / group * bytes > KILN__STAGE_BYTES || rows < threads / group * units))
        threads /= 2;
    each = KILN__STAGE_BYTES / (threads / group * bytes);
    while (each > 1 && rows < each * (threads / group) * units * STAGE_BLOCKS)
        each /= 2;
    if (each == 0)
        return;
    for (int k = 0; k < red->count; k++)
        if (is_element(v, red->param[k]) && v->access[red->param[k]] != KILN__ACCESS_COLUMN)
            v->access[red->param[k]] = KILN__ACCESS_TILE;
    v->vec = 1;
    v->block = (uint16_t)threads;
    v->row.group = (uint16_t)group;
    v->row.stage = (uint8_t)access;
    plan->word[KILN__WORD_CHUNK] = each * (threads / group);
}

/* Part of a warp for each row, or a whole one. */
static void fill_warp(kiln__plan *plan, int64_t length, int64_t rows, int units)
{
    kiln__variant *v = &plan->variant;
    int64_t widest = 1;
    for (size_t p = 0; p < v->param_count; p++)
        if (is_element(v, p) && v->vec * (int64_t)kiln_dtype_size(v->dtype[p]) > widest)
            widest = v->vec * (int64_t)kiln_dtype_size(v->dtype[p]);
    const bool wide = widest >= ACCESS_BYTES && length <= WARP_THREADS;
    const int64_t each = kiln__tuned("KILN_TUNE_ROW_EACH", wide ? GROUP_WIDE_EACH : GROUP_EACH);
    int64_t group = length == 2 && wide ? 2 : kiln__power_up(kiln__divide_up(length, each));
    int64_t block = kiln__tuned("KILN_TUNE_ROW_BLOCK", BLOCK_THREADS);

    group = group < least_group(v) ? least_group(v) : group > WARP_THREADS ? WARP_THREADS : group;
    while (block > 2 * WARP_THREADS && kiln__divide_up(rows, block / group) < 2 * (int64_t)units)
        block /= 2;
    v->row.group = (uint16_t)group;
    v->block = (uint16_t)block;
    v->unroll = round_accesses(kiln__divide_up(length, group));
}

/* How many threads of a turned block have room in shared memory for their accumulators, twice. Slots are
 * aligned to 16 bytes; without an identity each also holds a flag for an accumulator that is empty. */
static int64_t most_parts(const kiln__definition *def, const kiln__variant *v)
{
    int64_t slot = 16;
    for (size_t s = 0; s < def->rows->stage_count; s++) {
        const int64_t bytes = kiln__divide_up(kiln__part_bytes(def, v, s) + 8, 16) * 16;
        slot = bytes > slot ? bytes : slot;
    }
    return power_down(SHARED_BYTES / 2 / slot);
}

/* Neighbouring threads on neighbouring rows; at least a sector's worth of them. */
static bool fill_turned(kiln__variant *v, int64_t length, int64_t words, int64_t across,
                        int64_t parts)
{
    int64_t tile = kiln__power_up(across);
    int64_t lanes = kiln__power_up(kiln__divide_up(length, most_in(HELD_WORDS, words)));

    tile = tile > WARP_THREADS ? WARP_THREADS : tile;
    while (tile > 8 && tile * lanes > ROW_THREADS)
        tile /= 2;
    if (tile * lanes > most_threads(HELD_WORDS, words) || tile * lanes > parts)
        return false;
    while (tile * lanes < WARP_THREADS)
        lanes *= 2;
    v->row.tile = (uint8_t)tile;
    v->row.group = (uint16_t)lanes;
    v->block = (uint16_t)(tile * lanes);
    v->unroll = round_accesses(kiln__divide_up(length, lanes));
    return true;
}

static void fill_cuda(kiln__plan *plan, const kiln__definition *def, int units, bool clusters,
                      bool turned, int64_t across)
{
    kiln__variant *v = &plan->variant;
    const int64_t rows = plan->word[KILN__WORD_OUTPUTS], length = plan->word[KILN__WORD_LENGTH];
    const int64_t words = kiln__row_access_words(def, v), parts = most_parts(def, v);

    v->layout = KILN__LAYOUT_HELD;
    if (v->row.stage != 0) {
        v->unroll = (uint8_t)each_of(length, v->row.group);
        v->row.whole = length == (int64_t)v->unroll * v->row.group ? 2 : 1;
        plan->grid = kiln__divide_up(rows, plan->word[KILN__WORD_CHUNK]);
        return;
    }
    if (turned && fill_turned(v, length, words, across, parts)) {
        /* done */
    } else if (!turned && length <= WARP_THREADS * most_in(held_words(def), words)) {
        fill_warp(plan, length, rows, units);
    } else if (turned || !deal_block(def, v, length, words, clusters)) {
        v->layout = KILN__LAYOUT_REREAD;
        v->row.tile = (uint8_t)(turned ? WARP_THREADS : 0);
        const int64_t most = parts < REREAD_THREADS / 2 ? parts : REREAD_THREADS / 2;
        v->block = (uint16_t)(turned ? most : REREAD_THREADS);
        v->row.group = (uint16_t)(turned ? v->block / WARP_THREADS : v->block);
        v->unroll = REREAD_ACCESSES;
    }
    if (v->layout == KILN__LAYOUT_HELD && !v->row.peel &&
        length == (int64_t)v->row.group * v->row.cluster * v->unroll)
        v->row.whole = 2;
    plan->grid = kiln__divide_up(rows, v->block / v->row.group) * v->row.cluster;
}

bool kiln__row_is_held(kiln_backend backend, bool clusters, int64_t length, int64_t element_bytes)
{
    kiln__variant v;
    const int64_t bytes = length * element_bytes;

    if (backend == KILN_BACKEND_CPU)
        return bytes <= CPU_CACHED_BYTES;
    memset(&v, 0, sizeof v);
    return fill_block(&v, kiln__divide_up(bytes, ACCESS_BYTES), HELD_WORDS, ACCESS_BYTES / 4,
                      clusters);
}

/* ---- cpu ------------------------------------------------------------------------------------------- */

/* Rows that lie beside each other in memory go through buffers, a tile of them at a time: as many as
 * fill a core's second cache, and lines of memory. False where not even those of one line fit. */
static bool fill_tiles(kiln__plan *plan, const kiln__definition *def, int units, int64_t across)
{
    kiln__variant *v = &plan->variant;
    const int64_t length = plan->word[KILN__WORD_LENGTH];
    int64_t bytes = 0, tile = CPU_TILE_MOST;

    for (size_t p = 0; p < def->param_count; p++)
        if (is_element(v, p) && v->access[p] != KILN__ACCESS_COLUMN)
            bytes += length * (int64_t)kiln_dtype_size(v->dtype[p]);
    while (tile > CPU_TILE_LEAST && tile * bytes > CPU_CACHED_BYTES)
        tile /= 2;
    if (across < tile)
        tile = kiln__power_up(across);
    if (tile * bytes > CPU_TILE_BYTES || bytes == 0)
        return false;
    v->row.tile = (uint8_t)tile;
    for (size_t p = 0; p < def->param_count; p++)
        if (v->access[p] == KILN__ACCESS_STRIDED)
            v->access[p] = KILN__ACCESS_VECTOR; /* in the buffer */
    plan->word[KILN__WORD_CHUNK] = tile * bytes + 64 * (int64_t)def->param_count;
    plan->word[KILN__WORD_SPLITS] = plan->ticket_count = units + 1;
    plan->part_count =
        kiln__divide_up(plan->word[KILN__WORD_CHUNK] * (units + 1), KILN__PART_BYTES_MAX);
    plan->word[KILN__WORD_CHUNK] = plan->word[KILN__WORD_CHUNK] / 64 * 64;
    plan->grid = plan->word[KILN__WORD_OUTPUTS] / across * kiln__divide_up(across, tile);
    return true;
}

static void fill_cpu(kiln__plan *plan, const kiln__definition *def, int units, bool turned,
                     int64_t across)
{
    kiln__variant *v = &plan->variant;
    const int64_t length = plan->word[KILN__WORD_LENGTH];
    int64_t bytes = 0, each = length;

    for (size_t k = 0; k < def->rows->value_count; k++)
        bytes += kiln__row_value_bytes(def, v, k);
    v->layout = bytes > 0 && length * bytes <= KILN__CPU_ROW_BYTES ? KILN__LAYOUT_HELD
                                                                  : KILN__LAYOUT_REREAD;
    v->row.group = v->block = 1;
    plan->grid = plan->word[KILN__WORD_OUTPUTS];
    if (turned && length > 0 && across > 0 && fill_tiles(plan, def, units, across))
        each *= v->row.tile;
    plan->units_together =
        (uint32_t)(each >= CPU_CHUNK_ELEMENTS ? 1 : CPU_CHUNK_ELEMENTS / (each + 1));
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static void plan_rows(const kiln__plan_request *q, kiln__plan *plan)
{
    const kiln__definition *def = q->def;
    kiln__walk keep, red;
    kiln__variant *v = &plan->variant;

    kiln__walk_halves(q, &keep, &red);
    kiln__walk_sort(&keep, false);
    /* Positions count the elements of a row in C-order. */
    if (!def->uses_number[KILN__NUMBER_POSITION])
        kiln__walk_sort(&red, false);
    kiln__walk_collapse(&keep);
    kiln__walk_collapse(&red);
    kiln__walk_still(&keep);
    kiln__walk_still(&red);

    for (int k = 0; k < red.count; k++)
        v->access[red.param[k]] = choose_access(def, &keep, &red, k);
    const int64_t rows = kiln__walk_size(&keep), elements = kiln__walk_size(&red);
    const bool cuda = v->backend != KILN_BACKEND_CPU;
    const bool turned = is_turned(&keep, &red, v);
    v->row.cluster = v->row.whole = 1;
    if (cuda && !turned)
        v->vec = (uint8_t)choose_vec(&keep, &red, q->operands, v);
    if (cuda && !turned)
        choose_peel(q, &keep, &red, v);
    if (cuda && !turned)
        choose_stage(q, &keep, &red, plan);
    v->row.lanes = cuda                           ? CUDA_LANES
                   : elements >= CPU_LANES_LENGTH ? CPU_LANES
                   : elements >= CPU_PAIR_LENGTH  ? 2
                                                  : 1;
    v->index_bits = (uint8_t)kiln__walk_bits(v, &keep, &red, 0);
    kiln__walk_join(&keep, &red, plan);
    kiln__walk_widen(&red, v->rank - 1, plan);
    plan->size = elements > 0 || !writes_elements(def) ? rows : 0;
    for (size_t p = def->input_count; p < def->param_count && plan->size == 0; p++)
        plan->size = def->params[p].row ? rows : 0;
    plan->word[KILN__WORD_OUTPUTS] = rows;
    plan->word[KILN__WORD_LENGTH] = elements / v->vec;
    plan->word[KILN__WORD_COUNT_ALL] = elements;
    if (cuda)
        fill_cuda(plan, def, q->device.units, q->device.clusters, turned,
                  keep.shape[keep.rank - 1]);
    else
        fill_cpu(plan, def, q->device.units, turned && red.rank == 1, keep.shape[keep.rank - 1]);
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("keep", keep_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("vec", vec, 1, 64, true),
    KILN__FIELD("unroll", unroll, 1, 64, false),
    KILN__FIELD("tile", row.tile, 0, 128, true),
    KILN__FIELD("split", row.cluster, 0, 16, false),
    KILN__FIELD("segments", row.whole, 1, 128, true),
    KILN__FIELD("lanes", row.lanes, 1, 128, true),
    KILN__FIELD("group", row.group, 0, 8192, true),
    KILN__FIELD("block", block, 1, 1024, true),
    KILN__FIELD("peel", row.peel, 0, 1, false),
    KILN__FIELD("stage", row.stage, 0, ACCESS_BYTES, true),
};

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    if (v->row.peel && (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_HELD ||
                        v->row.tile != 0 || v->row.group < least_group(v) ||
                        v->rank != v->keep_rank + 1))
        return "rows of such threads do not begin anywhere, unlike";
    if (v->row.stage != 0 &&
        (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_HELD || v->row.tile != 0 ||
         v->vec != 1 || v->row.group == 0 || v->block % (v->row.group * WARP_THREADS) != 0 ||
         v->row.cluster != 1 || v->rank != 2 || v->keep_rank != 1))
        return "rows are not copied in";
    for (size_t p = 0; p < def->param_count; p++)
        if (v->access[p] == KILN__ACCESS_TILE && v->row.stage < kiln_dtype_size(v->dtype[p]))
            return "only short rows are copied, unlike";
    return NULL;
}

const kiln__family kiln__family_row = {
    .name = "row",
    .noun = "row program",
    .kernel_name = "kiln_row",
    .line = "row_out op post stages! values axes",
    .combines = true,
    .in_place = true,
    .part_bytes_max = KILN__PART_BYTES_MAX,
    .copy = kiln__row_copy,
    .check = kiln__row_check,
    .scan = kiln__row_scan,
    .clear = kiln__row_clear,
    .plan = plan_rows,
    .layouts = 1u << KILN__LAYOUT_HELD | 1u << KILN__LAYOUT_REREAD,
    .accesses = 1u << KILN__ACCESS_COLUMN | 1u << KILN__ACCESS_TILE,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .clusters = true,
    .skeleton = "row/kernel.cpp",
    .slots = kiln__row_slots,
};
