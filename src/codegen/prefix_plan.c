/*
 * prefix_plan.c - decide how one scan (running sums and their like) walks memory.
 *
 *     definition > bind types > [plan] > emit > compile > launch
 *
 * The loop's axes fall into kept ones and those of the sequence that is scanned: one axis, or all
 * of them in C-order. Kept axes are sorted and collapsed; the sequence's are collapsed only, for
 * their order is the order of combination. A variant counts the kept axes first. Two classes are
 * left, by what holds the fastest axis of most operands:
 *
 *   rows     the sequence: a thread, a part of a warp, a warp or a block takes each sequence, by
 *            its length; where there are few, blocks take tiles, and one of them, the carrier,
 *            gives each tile the sum of all elements before it
 *   columns  a kept axis: neighbouring threads take neighbouring sequences; where there are few,
 *            blocks take tiles as well, and carriers give each tile the sums of all rows above it
 *
 * Rule 1: everything that decides an order of combination is in the plan and comes from shapes,
 *         strides, dtypes and (cuda) the number of multiprocessors, never from what else runs at
 *         the time.
 * Rule 2: on the cpu not even the number of threads may decide it.
 *
 * src/kernel calls this file. Tests: test_scan_plan, test_plan_random.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

enum {
    BLOCK_THREADS = 256,
    WARP_THREADS = 32,
    ACCESS_BYTES = 16,
    NARROW_BYTES = 4,         /* the least that an access to an input should have */
    THREAD_BYTES = 128,       /* of inputs, or of mapped values, that a thread holds at once */
    UNROLL_MAX = 16,          /* accesses a thread holds at once */
    UNROLL_LARGE_PART = 4,    /* the same when an accumulator may fill many registers */
    RESIDENT_SMALL_PART = 4,  /* blocks of small accumulators that registers must leave room for */
    RESIDENT_WIDE_PART = 3,   /* the same for accumulators of 8 bytes */
    RESIDENT_UNKNOWN = 4,     /* blocks to ask for where registers decide how many fit */
    ASIDE_BYTES = 1 << 15,    /* of inputs that a block of a split row has in shared memory */
    ASIDE_ELEMENTS = 32,      /* of a thread: larger tiles leave multiprocessors without work ... */
    ASIDE_ELEMENTS_MOST = 48, /* ... and smaller ones the carrier, where there are many: */
    ASIDE_TILES = 4,          /* so many or more for each resident block */
    BLOCKS_PER_UNIT = 8,      /* 256-thread blocks that fill a multiprocessor */
    ROW_ACCESSES_OF_WARP = 512, /* longer sequences take a whole block */
    COLUMN_BLOCKS_PER_UNIT = 4, /* fewer blocks of columns than that: split */
    COLUMNS_ACROSS = 32,        /* threads across a tile that has several rows of threads */
    COLUMNS_ACROSS_MIN = 16,
    CARRIED_BYTES = (48 << 10) - 256, /* shared memory of BLOCK_THREADS threads: four times fits */
    CARRIED_WIDER = 2,                /* times so many threads, where a block may have the memory */
    CARRIED_FULL = 4,      /* the same where it may have nearly all of a multiprocessor's, */
    FULL_BYTES = 128,      /* with results of rows of so many bytes in one piece, */
    FULL_STEPS = 8,        /* and so many such tiles or more for each multiprocessor */
    CARRIED_SEGMENT = 128, /* bytes that memory is read by: those of a tile's row */
    FEW_BYTES = 64,        /* results of rows no longer pass through shared memory */
    CARRIED_ROWS = 64,     /* most neighbouring rows of a thread */
    CARRIED_TILES = 1024,  /* more across would take too many carriers */
    CARRIERS = 8,          /* while there are no more tiles across than warps for them */
    CARRIER_WARPS = 8,
    FAN = WARP_THREADS, /* rows: tiles a warp of the carrier takes at once */
    CPU_RUN = 64,       /* elements of a run, CPU_RUNS of which are scanned side by side */
    CPU_RUNS = 4,       /* compilers make bad vectors of more */
    CPU_COLUMNS = 1024, /* a row of a tile is about a page, which is read ahead */
    CPU_COLUMNS_MIN = 4,
    CPU_WHOLE_MIN = 64, /* so many sequences need not be split for any number of threads */
    CPU_TOGETHER = 1 << 15
};

/* Bytes of operands that run faster along the sequence than along the kept axes, minus the others:
 * positive means rows. */
static int64_t rows_weight(const kiln__walk *keep, const kiln__walk *seq)
{
    int64_t weight = 0;
    if (kiln__walk_size(keep) == 1)
        return 1;
    for (int k = 0; k < seq->count; k++) {
        const int64_t kept = kiln__magnitude(keep->stride[k][keep->rank - 1]);
        const int64_t along = kiln__magnitude(seq->stride[k][seq->rank - 1]);
        if (kept == 0 && along == 0)
            continue;
        const bool row = kept == 0 || (along != 0 && along <= kept);
        weight += row ? seq->itemsize[k] : -(int64_t)seq->itemsize[k];
    }
    return weight;
}

static void choose_access(const kiln__walk *keep, const kiln__walk *seq, kiln__variant *v)
{
    const kiln__walk *inner = v->layout == KILN__LAYOUT_ROWS ? seq : keep;
    for (int k = 0; k < seq->count; k++) {
        const bool constant = kiln__walk_constant(seq, k) && kiln__walk_constant(keep, k);
        v->access[seq->param[k]] = kiln__walk_access(inner, k, constant);
    }
}

/* Widest vectors along the last axis of `inner` that all operands' alignment allows. A sequence of
 * one axis may end within an access; elsewhere accesses must not straddle. */
static int choose_vec(const kiln__walk *inner, const kiln__walk *outer, bool whole, int bytes,
                      const kiln__operand *operands, const kiln__variant *v)
{
    const int64_t extent = inner->shape[inner->rank - 1];
    int vec = kiln__walk_vec(inner, outer, operands, v, bytes, true);
    while ((whole && extent % vec != 0) || extent < vec)
        vec /= 2;
    return vec;
}

/* Vectors along a sequence. One that runs backwards in memory is read by vectors as well, where all
 * operands allow it. Where the widest operand would leave an input accesses of one or two bytes, it takes
 * two accesses itself. */
static int choose_along(const kiln__walk *seq, const kiln__walk *keep,
                        const kiln__operand *operands, kiln__variant *v)
{
    kiln__variant back = *v;
    int64_t narrowest = ACCESS_BYTES;

    for (int k = 0; k < seq->count; k++) {
        narrowest = kiln__least(narrowest, seq->itemsize[k]);
        if (seq->stride[k][seq->rank - 1] == -seq->itemsize[k] && !kiln__walk_is_number(seq, k))
            back.access[seq->param[k]] = KILN__ACCESS_BACK;
    }
    int vec = choose_vec(seq, keep, seq->rank > 1, ACCESS_BYTES, operands, &back);
    if (vec > 1 && vec * narrowest < NARROW_BYTES)
        vec = choose_vec(seq, keep, seq->rank > 1, 2 * ACCESS_BYTES, operands, &back);
    if (vec > 1)
        *v = back;
    return vec;
}

/* ---- cuda ------------------------------------------------------------------------------------ */

/* Bytes of inputs that an element has, those that snippets assign included: kernels hold all of
 * them. 0 where every input is raw or a number. */
static int64_t input_bytes(const kiln__walk *seq)
{
    int64_t bytes = 0;
    for (int k = 0; k < seq->count; k++)
        bytes += seq->output[k] ? 0 : seq->itemsize[k];
    return bytes;
}

/* Accesses that a thread holds at once: THREAD_BYTES of what compilers keep in registers, which is
 * mapped values as well as inputs. */
static int64_t choose_unroll(const kiln__walk *seq, const kiln__variant *v, int64_t part)
{
    const int64_t most = part > ACCESS_BYTES ? UNROLL_LARGE_PART : UNROLL_MAX;
    const int64_t inputs = input_bytes(seq);
    int64_t held = part > ACCESS_BYTES ? 1 : part;
    for (int k = 0; k < seq->count; k++)
        held = seq->itemsize[k] > held ? seq->itemsize[k] : held;
    const int64_t unroll = THREAD_BYTES / (v->vec * (inputs > held ? inputs : held));
    return kiln__tuned("KILN_TUNE_SCAN_UNROLL", (int)(unroll < 1 ? 1 : kiln__least(unroll, most)));
}

/* How many blocks must be resident on a multiprocessor: while some wait for memory or for the sums of
 * other blocks, enough others must be loading. */
static int choose_resident(int64_t part)
{
    return kiln__tuned("KILN_TUNE_SCAN_BLOCKS", part <= 4   ? RESIDENT_SMALL_PART
                                                : part <= 8 ? RESIDENT_WIDE_PART
                                                            : 1);
}

/* How many tickets hold the sums that blocks publish: one 8-byte word for every 4 bytes of a sum. Tickets
 * are ints; the first 16 bytes hold the number of tiles that were taken. */
static int64_t tickets_of_sums(int64_t sums, int64_t part)
{
    return 4 + 2 * kiln__divide_up(part, 4) * sums;
}

/* Divide a few long sequences into tiles of whole blocks; one more block is the carrier. Each tile
 * publishes its sum, and receives the sum of the tiles before it. */
static void split_rows(kiln__plan *plan, const kiln__walk *seq, int units, int64_t part)
{
    kiln__variant *v = &plan->variant;
    const int64_t length = plan->word[KILN__WORD_LENGTH];
    const int64_t inputs = input_bytes(seq);
    const int64_t access = v->vec * (inputs > 0 ? inputs : 1);
    const int64_t all_accesses = length * plan->word[KILN__WORD_OUTPUTS];
    const bool many = part <= 4 && all_accesses * v->vec >= (int64_t)ASIDE_ELEMENTS_MOST *
                                                                v->block * units *
                                                                RESIDENT_SMALL_PART * ASIDE_TILES;
    const int64_t aside = (many ? ASIDE_ELEMENTS_MOST : ASIDE_ELEMENTS) / v->vec;
    const int64_t unroll = kiln__least(kiln__least(THREAD_BYTES / access, aside), UNROLL_MAX);
    int64_t block = v->block;

    /* Only inputs are held from phase to phase, not running values: they may be more, and wider
     * values need no more registers than narrow ones. */
    if (part <= 8)
        v->scan.resident = (uint8_t)choose_resident(4);
    if (unroll > v->unroll && length > block * unroll)
        v->unroll = (uint8_t)kiln__tuned("KILN_TUNE_SCAN_UNROLL", (int)unroll);
    while (block > WARP_THREADS && block * v->unroll * access > ASIDE_BYTES)
        block /= 2;
    v->scan.split = 1;
    v->block = v->scan.group = (uint16_t)block;
    const int64_t tiles = kiln__divide_up(length, block * v->unroll);
    const int64_t all = tiles * plan->word[KILN__WORD_OUTPUTS];
    const int64_t room =
        (int64_t)units * (v->scan.resident > 1 ? v->scan.resident : RESIDENT_UNKNOWN);
    plan->word[KILN__WORD_SPLITS] = tiles;
    plan->grid = kiln__least(all, room) + 1;
    plan->ticket_count = tickets_of_sums(2 * all, part);
}

static void rows_on_cuda(kiln__plan *plan, const kiln__walk *seq, int units, int64_t part)
{
    kiln__variant *v = &plan->variant;
    const int64_t outputs = plan->word[KILN__WORD_OUTPUTS], length = plan->word[KILN__WORD_LENGTH];
    const int64_t full = (int64_t)units * BLOCKS_PER_UNIT;
    const int64_t block = kiln__tuned("KILN_TUNE_SCAN_THREADS", BLOCK_THREADS);
    int64_t group = block;

    v->block = (uint16_t)block;
    if (length <= WARP_THREADS)
        group = kiln__power_up(length);
    else if (length <= ROW_ACCESSES_OF_WARP && outputs * WARP_THREADS >= full * BLOCK_THREADS / 2)
        group = WARP_THREADS;
    group = kiln__group_within_grid(outputs, group, block);
    const int64_t most = choose_unroll(seq, v, part);
    v->scan.group = (uint16_t)group;
    v->scan.resident = (uint8_t)choose_resident(part);
    v->unroll = (uint8_t)kiln__least(most, kiln__power_up(kiln__divide_up(length, group)));
    v->scan.fan = FAN;
    plan->word[KILN__WORD_SPLITS] = 1;
    plan->grid = kiln__divide_up(outputs, block / group);
    if (group == block && length > group * v->unroll && outputs < full)
        split_rows(plan, seq, units, part);
}

/* ---- cuda: columns that carriers serve ---- */

/* What tiles have in shared memory: inputs that run along the columns, and outputs of few of them. */
static bool is_staged(const kiln__walk *seq, const kiln__variant *v, int k)
{
    return seq->output[k] ? v->scan.flat == KILN__FLAT_FEW
                          : v->access[seq->param[k]] == KILN__ACCESS_VECTOR;
}

/* Bytes of an element's inputs there, and of the widest of them. `results`: of its outputs, 0 where the
 * only one takes the place of the first input. */
static int64_t staged_bytes(const kiln__walk *seq, const kiln__variant *v, int64_t *widest,
                            int64_t *results)
{
    int64_t bytes = 0, first = 0;
    int outputs = 0;

    *widest = 1;
    *results = 0;
    for (int k = 0; k < seq->count; k++) {
        const int64_t size = seq->itemsize[k];
        if (seq->output[k]) {
            *results += size;
            outputs++;
        } else if (is_staged(seq, v, k)) {
            first = bytes == 0 ? size : first;
            bytes += size;
            *widest = size > *widest ? size : *widest;
        }
    }
    if (outputs == 1 && *results == first)
        *results = 0;
    return bytes;
}

/* Whether a tile of all columns is one piece of memory in each input that runs along them. */
static bool rows_touch(const kiln__walk *keep, const kiln__walk *seq, const kiln__variant *v)
{
    for (int k = 0; k < seq->count; k++)
        if (!seq->output[k] && v->access[seq->param[k]] == KILN__ACCESS_VECTOR &&
            seq->stride[k][0] != keep->shape[0] * seq->itemsize[k])
            return false;
    return keep->rank == 1;
}

/* Whether it is one in each output too, of rows of at most so many bytes. */
static bool results_touch(const kiln__walk *keep, const kiln__walk *seq, const kiln__variant *v,
                          int64_t bytes)
{
    for (int k = 0; k < seq->count; k++)
        if (seq->output[k] &&
            (v->access[seq->param[k]] != KILN__ACCESS_VECTOR ||
             seq->stride[k][0] != keep->shape[0] * seq->itemsize[k] || seq->stride[k][0] > bytes))
            return false;
    return true;
}

/* Elements of an access to what is staged: no more than 16 bytes of any, none that straddles `whole`
 * elements, all aligned. */
static int staged_access(const kiln__walk *keep, const kiln__walk *seq,
                         const kiln__operand *operands, const kiln__variant *v, int64_t whole)
{
    int64_t access = ACCESS_BYTES;
    for (int k = 0; k < seq->count; k++) {
        if (!is_staged(seq, v, k))
            continue;
        uint64_t low_bits = kiln__walk_begin(seq, k, operands);
        for (int a = 0; a < keep->rank - 1; a++)
            low_bits |= (uint64_t)keep->stride[k][a];
        low_bits |= v->scan.flat != 0 ? 0 : (uint64_t)seq->stride[k][0];
        while (access > 1 && (access * seq->itemsize[k] > ACCESS_BYTES ||
                              low_bits % (uint64_t)(access * seq->itemsize[k]) != 0))
            access /= 2;
    }
    while (whole % access != 0)
        access /= 2;
    return (int)access;
}

/* Lanes across a tile: so many that its rows are read in whole lines, unless 16 columns at a time
 * leave fewer lanes without one. */
static int64_t lanes_across(int64_t columns, int64_t widest, int64_t part)
{
    int64_t across = kiln__least(WARP_THREADS, CARRIED_SEGMENT / widest);
    if (part > ACCESS_BYTES)
        across = kiln__least(across, COLUMNS_ACROSS_MIN);
    if (across > COLUMNS_ACROSS_MIN && columns < 4 * across &&
        kiln__divide_up(columns, across / 2) < 2 * kiln__divide_up(columns, across))
        across /= 2;
    return kiln__least(across, kiln__power_up(columns));
}

/* Neighbouring rows of a thread, of tiles of so many bytes an element (of three quarters of the
 * elements where they are tall) that have room beside the sums of warps. Where a warp has several rows
 * of lanes their number is odd, so that they read from different banks. */
static int64_t carried_rows(int64_t across, bool tall, int64_t bytes, int64_t part)
{
    const int64_t room = (CARRIED_BYTES - CARRIER_WARPS * across * part) * (tall ? 4 : 3) / 3;
    const int64_t rows =
        kiln__least(bytes > 0 ? room / (BLOCK_THREADS * bytes) : UNROLL_MAX, CARRIED_ROWS);
    return across < WARP_THREADS && rows > 1 ? (rows - 1) | 1 : rows;
}

/* Tiles of columns that carriers serve. */
typedef struct column_tiles {
    int64_t columns, length, across, tiles; /* tiles: across */
    int64_t staged, results, held; /* bytes of an element: inputs, outputs, shared memory */
    int64_t rows, wider;           /* of a thread; times BLOCK_THREADS */
    bool flat, few, tall;
} column_tiles;

static int64_t steps_of(const column_tiles *c, int64_t wider)
{
    return kiln__divide_up(c->length, wider * BLOCK_THREADS / c->across * c->rows);
}

/* Decide whether results are one piece of memory, and with that the rows of a thread. */
static void fit_rows(column_tiles *c, bool few, int64_t part)
{
    c->few = few;
    c->held = 2 * c->staged + (few ? c->results : 0);
    c->rows = carried_rows(c->across, c->tall, c->held, part);
}

/* Whether blocks have four times BLOCK_THREADS, one on each multiprocessor, as measured: for sums of
 * 4 bytes down the columns of one tile across, 16 of them only with results in one piece of memory. */
static bool choose_full(column_tiles *c, const kiln__plan_device *device, bool few, int64_t part)
{
    const int forced = kiln__tuned("KILN_TUNE_SCAN_WIDER", 0);
    column_tiles full = *c;

    if (part > 4 || c->staged < 4 || c->tiles > 1 || (forced != 0 && forced != CARRIED_FULL))
        return false;
    if (c->across != WARP_THREADS && (c->columns < COLUMNS_ACROSS_MIN || !few))
        return false;
    full.wider = CARRIED_FULL;
    fit_rows(&full, few, part);
    if (full.rows < 1 ||
        (forced == 0 &&
         (!device->large_shared || steps_of(&full, full.wider) < (int64_t)FULL_STEPS * device->units)))
        return false;
    *c = full;
    return true;
}

/* How many times BLOCK_THREADS a block has: tiles twice as tall halve the work of carriers, which
 * limits few columns. Where there are many, blocks of carriers would take the room of too many
 * others. */
static int64_t choose_wider(const column_tiles *c, const kiln__plan_device *device, int64_t part)
{
    const bool enough = c->tiles * steps_of(c, 1) >= (int64_t)device->units * RESIDENT_SMALL_PART;
    const bool small = part <= 4 || (part <= 8 && c->across >= COLUMNS_ACROSS_MIN);
    const bool fits = device->clusters && small && c->tiles <= CARRIERS;
    const int chosen = kiln__tuned("KILN_TUNE_SCAN_WIDER", fits && enough ? CARRIED_WIDER : 1);

    return kiln__least(chosen, CARRIED_WIDER);
}

/* Decide tiles; false where inputs are too wide. */
static bool choose_carried(column_tiles *c, const kiln__walk *keep, const kiln__walk *seq,
                           const kiln__plan_request *q, const kiln__plan *plan, int64_t part)
{
    const kiln__variant *v = &plan->variant;
    int64_t widest;

    c->columns = plan->shape[v->keep_rank - 1];
    c->length = plan->word[KILN__WORD_LENGTH];
    c->staged = staged_bytes(seq, v, &widest, &c->results);
    c->flat = rows_touch(keep, seq, v) && c->staged > 0 &&
              c->columns <= (part > ACCESS_BYTES ? COLUMNS_ACROSS_MIN : WARP_THREADS);
    c->across = c->flat ? kiln__power_up(c->columns) : lanes_across(c->columns, widest, part);
    c->tiles = plan->word[KILN__WORD_OUTPUTS] / c->columns * kiln__divide_up(c->columns, c->across);
    c->tall = c->flat && 4 * c->columns <= 3 * c->across;
    if (c->tiles > CARRIED_TILES)
        return false;
    if (choose_full(c, &q->device, c->flat && results_touch(keep, seq, v, FULL_BYTES), part))
        return true;
    fit_rows(c, c->flat && results_touch(keep, seq, v, FEW_BYTES), part);
    if (c->rows < 1)
        return false;
    c->wider = choose_wider(c, &q->device, part);
    return true;
}

/* Long columns that are few: tiles, and carriers for the tiles across. Where those are too many, or
 * inputs too wide, nothing is changed. */
static void carry_columns(kiln__plan *plan, const kiln__walk *keep, const kiln__walk *seq,
                          const kiln__plan_request *q, int64_t part)
{
    const int units = q->device.units;
    kiln__variant *v = &plan->variant;
    column_tiles c = {.wider = 1};

    if (!choose_carried(&c, keep, seq, q, plan, part))
        return;
    const int64_t threads = c.wider * BLOCK_THREADS / c.across; /* above each other */
    v->block = (uint16_t)(c.wider * BLOCK_THREADS);
    v->vec = 1; /* lanes have columns */
    kiln__walk_join(keep, seq, plan);
    v->scan.resident = (uint8_t)(part <= 8 ? choose_resident(4) / c.wider : 1);
    const int64_t room =
        (int64_t)units *
        (v->scan.resident > 1 || c.wider == CARRIED_FULL ? v->scan.resident : RESIDENT_UNKNOWN);
    if (c.rows > 4 && c.tiles * steps_of(&c, c.wider) < room)
        c.rows = c.rows / 4 | 1;
    const int64_t served =
        c.tiles <= CARRIERS ? 1 : kiln__least(CARRIER_WARPS, kiln__power_up(c.tiles) / CARRIERS);
    const int64_t all = c.tiles * steps_of(&c, c.wider);
    v->scan.fan = FAN;
    v->scan.flat = c.few ? KILN__FLAT_FEW : c.flat;
    v->scan.tall = c.tall;
    v->scan.group = (uint16_t)c.across;
    v->unroll = (uint8_t)c.rows;
    v->scan.lanes = (uint8_t)staged_access(keep, seq, q->operands, v,
                                           c.flat ? threads * c.rows * c.columns : c.columns);
    while (v->scan.lanes > c.across)
        v->scan.lanes /= 2;
    plan->walk[v->keep_rank - 1] = kiln__divide_up(c.columns, c.across);
    plan->word[KILN__WORD_SPLITS] = c.tiles;
    plan->word[KILN__WORD_CHUNK] = served;
    plan->grid = kiln__least(all, room) + kiln__divide_up(c.tiles, served);
    plan->ticket_count = tickets_of_sums(2 * all * c.across, part);
    const int64_t messages = 2 * (v->block / WARP_THREADS) * c.across * part; /* of a carrier */
    const int64_t place = c.tall ? c.across - c.across / 4 : c.across;
    plan->shared_bytes = (uint32_t)(threads * c.rows * place * c.held);
    if (plan->shared_bytes < messages)
        plan->shared_bytes = (uint32_t)messages;
}

/* ---- cuda: other columns ---- */

static void columns_on_cuda(kiln__plan *plan, const kiln__walk *keep, const kiln__walk *seq,
                            const kiln__plan_request *q, int64_t part)
{
    const int units = q->device.units;
    kiln__variant *v = &plan->variant;
    const int last = v->keep_rank - 1;
    const int64_t columns = plan->shape[last] / v->vec, length = plan->word[KILN__WORD_LENGTH];
    const int64_t outer = plan->word[KILN__WORD_OUTPUTS] / plan->shape[last];
    const int64_t enough = (int64_t)units * COLUMN_BLOCKS_PER_UNIT;
    int64_t across = BLOCK_THREADS;

    if (outer * kiln__divide_up(columns, across) < enough)
        across = columns <= COLUMNS_ACROSS_MIN
                     ? COLUMNS_ACROSS_MIN
                     : kiln__tuned("KILN_TUNE_SCAN_ACROSS", COLUMNS_ACROSS);
    const int64_t rows = BLOCK_THREADS / across; /* of threads */
    v->scan.group = (uint16_t)across;
    v->scan.resident = (uint8_t)choose_resident(part);
    v->unroll = (uint8_t)kiln__least(choose_unroll(seq, v, part),
                                     kiln__power_up(kiln__divide_up(length, rows)));
    plan->walk[last] = kiln__divide_up(columns, across);
    const int64_t tiles = outer * plan->walk[last];
    const int64_t steps = kiln__divide_up(length, rows * v->unroll);
    v->scan.split = across < BLOCK_THREADS && steps > 1 && tiles < enough;
    plan->word[KILN__WORD_SPLITS] = tiles;
    plan->grid = v->scan.split ? tiles * steps : tiles;
    if (!v->scan.split)
        return;
    plan->ticket_count = tickets_of_sums(2 * tiles * across * v->vec, part); /* used in turn */
    /* A plain chain costs the time of one look a step. Enough other tiles hide it, but the carrier of
     * small values is faster all the same: 16384 x 16384 sums 3657 GB/s against 3184. */
    if (part <= 4 || tiles < kiln__tuned("KILN_TUNE_SCAN_CHAIN", units / 2))
        carry_columns(plan, keep, seq, q, part);
}

/* ---- cpu ------------------------------------------------------------------------------------- */

static void on_cpu(kiln__plan *plan, int64_t part)
{
    kiln__variant *v = &plan->variant;
    const int64_t outputs = plan->word[KILN__WORD_OUTPUTS], length = plan->word[KILN__WORD_LENGTH];
    int64_t tiles = outputs, across = 1;

    v->scan.lanes = CPU_RUNS;
    v->unroll = CPU_RUN;
    if (v->layout == KILN__LAYOUT_COLUMNS) {
        const int64_t columns = plan->shape[v->keep_rank - 1];
        across = kiln__least(CPU_COLUMNS, kiln__power_up(columns));
        across = across < CPU_COLUMNS_MIN ? CPU_COLUMNS_MIN : across;
        tiles = outputs / columns * kiln__divide_up(columns, across);
    }
    v->scan.group = (uint16_t)across;
    int64_t chunk = KILN__SCAN_CHUNK / across;
    if (v->layout == KILN__LAYOUT_COLUMNS && chunk < CPU_RUN)
        chunk = CPU_RUN;
    const int64_t chunks = kiln__divide_up(length, chunk);
    v->scan.split = tiles < CPU_WHOLE_MIN && chunks > 1;
    plan->word[KILN__WORD_CHUNK] = chunk;
    plan->word[KILN__WORD_SPLITS] = chunks;
    plan->grid = v->scan.split ? tiles * chunks : tiles;
    const int64_t each = v->scan.split ? CPU_TOGETHER : length * across;
    plan->units_together = (uint32_t)(each >= CPU_TOGETHER ? 1 : CPU_TOGETHER / each);
    if (!v->scan.split)
        return;
    plan->part_count = kiln__divide_up(tiles * chunks * across * part, KILN__PART_BYTES_MAX);
    plan->ticket_count = 1 + tiles * chunks;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Nothing is launched for no elements, but the source can be asked for: it is planned as if each axis
 * had one. */
static void plan_scan(const kiln__plan_request *request, kiln__plan *plan)
{
    const kiln_backend backend = request->device.backend;
    int64_t shape[KILN_RANK_MAX];
    kiln__plan_request filled = *request;
    const kiln__plan_request *const q = &filled;
    kiln__walk keep, seq;
    kiln__variant *v = &plan->variant;
    bool empty = false;

    for (int a = 0; a < q->rank; a++) {
        empty = empty || q->shape[a] == 0;
        shape[a] = q->shape[a] > 0 ? q->shape[a] : 1;
    }
    filled.shape = shape;
    const int64_t part = kiln__part_bytes(q->def, v, 0);
    v->scan.exclusive = (q->flags & KILN__SCAN_EXCLUSIVE) != 0;
    v->scan.reverse = (q->flags & KILN__SCAN_REVERSE) != 0;
    v->block = BLOCK_THREADS;
    v->scan.resident = v->scan.lanes = v->scan.fan = 1;
    kiln__walk_halves(q, &keep, &seq);
    kiln__walk_sort(&keep, true);
    kiln__walk_collapse(&keep);
    kiln__walk_collapse(&seq);
    kiln__walk_still(&keep);
    kiln__walk_still(&seq);
    if (v->scan.reverse)
        kiln__walk_reverse(&seq);
    for (int k = 0; k < seq.count; k++)
        plan->begin[seq.param[k]] = seq.begin[k];
    v->keep_rank = (uint8_t)keep.rank;
    v->rank = (uint8_t)(keep.rank + seq.rank);

    v->layout = rows_weight(&keep, &seq) > 0 ||
                        (backend != KILN_BACKEND_CPU && kiln__walk_exceeds_grid(&keep))
                    ? KILN__LAYOUT_ROWS
                    : KILN__LAYOUT_COLUMNS;
    const bool rows = v->layout == KILN__LAYOUT_ROWS;
    choose_access(&keep, &seq, v);
    if (backend != KILN_BACKEND_CPU && rows)
        v->vec = (uint8_t)choose_along(&seq, &keep, q->operands, v);
    else if (backend != KILN_BACKEND_CPU && part <= ACCESS_BYTES)
        v->vec = (uint8_t)choose_vec(&keep, &seq, true, ACCESS_BYTES, q->operands, v);
    kiln__walk_join(&keep, &seq, plan);
    kiln__walk_widen(rows ? &seq : &keep, (rows ? v->rank : v->keep_rank) - 1, plan);
    plan->size = empty ? 0 : kiln__walk_size(&keep) * kiln__walk_size(&seq);
    plan->word[KILN__WORD_OUTPUTS] = kiln__walk_size(&keep);
    plan->word[KILN__WORD_COUNT_ALL] = kiln__walk_size(&seq);
    const int64_t elements = kiln__walk_size(&seq);
    plan->word[KILN__WORD_LENGTH] = rows ? kiln__divide_up(elements, v->vec) : elements;
    if (backend == KILN_BACKEND_CPU)
        on_cpu(plan, part);
    else if (rows)
        rows_on_cuda(plan, &seq, q->device.units, part);
    else
        columns_on_cuda(plan, &keep, &seq, q, part);
    plan->leaves_marks = !rows && v->scan.fan == 1;
    v->index_bits = (uint8_t)kiln__walk_bits(
        v, &keep, &seq, plan->grid > plan->ticket_count ? plan->grid : plan->ticket_count);
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("keep", keep_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("vec", vec, 1, 64, true),
    KILN__FIELD("unroll", unroll, 1, 64, false),
    KILN__FIELD("tile", scan.flat, 0, KILN__FLAT_FEW, false),
    KILN__FIELD("split", scan.split, 0, 1, false),
    KILN__FIELD("segments", scan.resident, 0, 128, false),
    KILN__FIELD("lanes", scan.lanes, 0, 128, true),
    KILN__FIELD("group", scan.group, 0, 8192, true),
    KILN__FIELD("block", block, 1, 1024, true),
    KILN__FIELD("exclusive", scan.exclusive, 0, 1, false),
    KILN__FIELD("reverse", scan.reverse, 0, 1, false),
    KILN__FIELD("fan", scan.fan, 0, 128, true),
    KILN__FIELD("tall", scan.tall, 0, 1, false),
};

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    (void)def;
    const bool carried = v->backend == KILN_BACKEND_CUDA && v->scan.split != 0;

    return (v->scan.flat == 0 ? v->scan.tall == 0 : carried)
               ? NULL
               : "only tiles of carriers are one piece of memory, unlike";
}

const kiln__family kiln__family_scan = {
    .name = "scan",
    .noun = "scan",
    .kernel_name = "kiln_scan",
    .line = "map! reduce! post! identity reduce_type axes exclusive=1 reverse=2",
    .maps = true,
    .combines = true,
    .clusters = true,
    .in_place = true,
    .part_bytes_max = KILN__PART_BYTES_MAX,
    .plan = plan_scan,
    .layouts = 1u << KILN__LAYOUT_ROWS | 1u << KILN__LAYOUT_COLUMNS,
    .accesses = 1u << KILN__ACCESS_BACK,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .skeleton = "scan/kernel.cpp",
    .slots = kiln__reduce_slots,
};
