/*
 * reduce_plan.c - plan how a reduction walks memory.
 *
 *     definition > bind types > [plan] > emit > compile > launch
 *
 * The axes of the loop are kept or reduced. Each half is sorted and collapsed by itself; a variant
 * counts the kept axes first. plan_reduction() chooses the layout, and plan_walk() deals it to
 * threads:
 *
 *     rows     the fastest axis of most inputs is reduced. A row is the work of a thread, a part
 *              of a warp, a warp, a block or several blocks, by its length. So are outputs that
 *              make more tiles of few columns than a grid has blocks.
 *     columns  the fastest axis is kept. Neighbouring threads take neighbouring outputs and walk
 *              down the rows; where there are few columns, several blocks share the rows.
 *     tile     inputs are broadcast along kept axes (reduce_tile.c).
 *
 * What the numbers of a reduction's variant mean, in short:
 *
 *     batch     elements that are combined among themselves before they are added (reduce_batch.c)
 *     stage     short rows are copied to shared memory, and a thread takes each of them
 *     hold      a group of threads loads all of a row into registers before it combines
 *     peel      rows begin at any address; the elements beside the aligned accesses get threads
 *     segments  results that a group computes at the same time
 *     lanes     accumulators of a thread for one result
 *     split     several blocks share a result, and combine their parts at the end
 *
 * Rule: everything that decides an order of combination is in the plan, and follows from shapes,
 *       strides, dtypes and the number of multiprocessors, never from other work on the device.
 *
 * src/kernel and src/fusion call this file. Tests: test_reduce_plan, test_plan_random.
 */
#include "codegen/emit.h"
#include "codegen/walk.h"

enum {
    BLOCK_THREADS = 256,
    WARP_THREADS = 32,
    ACCESS_BYTES = 16,
    FLIGHT_ACCESSES = 4,        /* loads a thread has in flight */
    GATHER_ACCESSES = 2,        /* the same where it reads elements by index */
    BLOCKS_PER_UNIT = 8,      /* 256-thread blocks that fill a multiprocessor */
    BATCH_BLOCKS_PER_UNIT = 4, /* of those that take batches: resident on every GPU */
    ROW_ACCESSES_OF_WARP = 512, /* longer rows take a whole block */
    STAGE_THREADS_MIN = 64,     /* of a block that copies its rows, each of which one thread takes */
    STAGE_ELEMENTS = 8,         /* that such a thread takes at a time */
    STAGE_CHAIN_MAX = 64,       /* values that it adds up one after the other, for the sake of accuracy */
    HOLD_WORDS = 64,            /* registers of a thread that hold a row's elements */
    HOLD_COUNTED = 32,          /* elements, of batches that count each of them */
    HOLD_STAGED = 16,           /* elements of a row that one thread holds ... */
    HOLD_STAGED_BATCH = 32,     /* ... of moments of 1 or 2 bytes, or of which it looks for a position, */
    HOLD_STAGED_MANY = 36,      /* ... of 1 or 2 bytes that are added one by one */
    HOLD_EACH = 4,              /* accesses that a thread of a group should make */
    HOLD_EACH_SHORT = 2,        /* the same of rows of up to 8 */
    HOLD_EACH_LONG = 12,        /* the same of rows that a warp has no room for */
    HOLD_BESIDE = 2,            /* elements beside the accesses that such a thread has at most */
    HOLD_PEELED_MIN = 16,       /* accesses of rows that begin anywhere, below which they are staged */
    PEEL_ACCESSES = 256,        /* rows of more are peeled by a whole block */
    SPLIT_BLOCKS_PER_UNIT = 24, /* whole waves, whether 3, 4, 6, 8 or 12 blocks are resident */
    COLUMNS_OF_THREAD = 8, /* at most: each has an accumulator, */
    COLUMNS_OF_MOMENTS = 4, /* of four words where it is moments, */
    MOMENTS_ALONE = 8,      /* and bytes of these where a thread has whole columns: */
    MOMENTS_BURST_MIN = 6,  /* then so many accesses at a time, as few times as can be */
    MOMENTS_BURST_MAX = 12,
    ONCE_ELEMENTS_MIN = 64, /* of a result, below which loads are not marked as read once */
    CUDA_LANES = 4,
    CPU_LANES = 32, /* gcc unrolls a loop of 16 before it looks for vectors, and then finds none */
    CPU_LANES_LENGTH = 64,    /* shorter rows are not worth merging lanes for */
    CPU_COLUMNS = 256,        /* accumulators of a column tile, whatever their size */
    CPU_COLUMNS_SMALL = 2048, /* and of built-in types: they stay in the first cache, and a row of a
                               * tile is long enough to be read ahead */
    CPU_UNITS_PER_THREAD = 4,
    CPU_CHUNK_ELEMENTS = 1 << 15
};

/* The bytes of inputs whose fastest axis is reduced, minus the bytes of those whose fastest axis
 * is kept: a positive sum means rows. An input that is broadcast along one half is read from a
 * cache and counts only when there is no other (`still_ones`), but for one that is read by address,
 * of which each index names another row: it counts where elements of a row are neighbours. */
static int64_t weigh(const kiln__operand *operands, const kiln__walk *keep, const kiln__walk *red,
                     bool still_ones, bool *any)
{
    int64_t weight = 0;
    for (int k = 0; k < red->count; k++) {
        const int64_t kept = kiln__magnitude(keep->stride[k][keep->rank - 1]);
        const int64_t reduced = kiln__magnitude(red->stride[k][red->rank - 1]);
        const bool still = kept == 0 || reduced == 0;
        if (!kiln__walk_is_input(red, k) || (kept == 0 && reduced == 0))
            continue;
        const bool named = still && operands[red->param[k]].by_address;
        if (named ? kept + reduced != red->itemsize[k] : still && !still_ones)
            continue;
        const bool row = kept == 0 || (reduced != 0 && reduced <= kept);
        weight += row ? red->itemsize[k] : -(int64_t)red->itemsize[k];
        *any = true;
    }
    return weight;
}

static bool takes_rows(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red)
{
    bool any = false;
    const int64_t weight = weigh(q->operands, keep, red, false, &any);

    if (kiln__walk_size(keep) == 1 ||
        (q->device.backend != KILN_BACKEND_CPU && kiln__walk_exceeds_grid(keep)))
        return true;
    return (any ? weight : weigh(q->operands, keep, red, true, &any)) > 0;
}

/* Widest vectors along the last axis of `inner` that all inputs' alignment allows, of up to `most`
 * elements. Results are stored one by one. */
static int choose_vec(const kiln__walk *inner, const kiln__walk *outer,
                      const kiln__operand *operands, const kiln__variant *v, int most)
{
    int vec = kiln__walk_vec(inner, outer, operands, v, ACCESS_BYTES, false);
    while (vec > most || inner->shape[inner->rank - 1] % vec != 0)
        vec /= 2;
    return vec;
}

/* How many blocks share each of `count` results. `resident` blocks fit on a multiprocessor, so
 * that many are launched, in one wave: a second wave would leave most of the device idle. If
 * `resident` is 0, it is unknown, and many short blocks even out the load. */
static int64_t splits_of(int units, int resident, int64_t count)
{
    resident = kiln__tuned("KILN_TUNE_RESIDENT", resident);
    return resident > 0 ? (int64_t)units * resident / count
                        : kiln__divide_up((int64_t)units * kiln__tuned("KILN_TUNE_SPLIT",
                                                                       SPLIT_BLOCKS_PER_UNIT),
                                          count);
}

/* Whether elements are read where a snippet says, as by an index. */
static bool reads_by_address(const kiln__plan_request *q)
{
    bool by_address = false;

    for (size_t p = 0; p < q->def->input_count; p++)
        by_address = by_address || q->operands[p].by_address;
    return by_address;
}

/* Round a number of accesses up, so that rows of similar lengths share a kernel. */
static int64_t round_accesses(int64_t each)
{
    return each > 8 ? kiln__divide_up(each, 4) * 4 : each;
}

/* Whether threads may load all of their elements of a row before they use the first. Nothing but
 * the value of an element may be used, or its position where the batch asks for it. */
static bool may_hold(const kiln__plan_request *q, const kiln__variant *v)
{
    const kiln__definition *def = q->def;
    const kiln__batch batch = (kiln__batch)v->reduction.batch;
    bool by_address = reads_by_address(q);

    for (int k = KILN__NUMBER_POSITION + 1; k < KILN__NUMBER_COUNT; k++)
        by_address |= def->uses_number[k];
    if (by_address || def->uses_in_indexer || def->uses_out_indexer || def->uses_in_number ||
        def->snippet[KILN__SNIPPET_IDENTITY][0] == '\0' || !kiln__tuned("KILN_TUNE_HOLD", 1))
        return false;
    if (kiln__batch_is_of_rows(batch))
        return true;
    return !def->uses_number[KILN__NUMBER_POSITION] && batch == KILN__BATCH_NONE &&
           kiln__part_bytes(def, v, 0) <= 8;
}

/* Bytes of the widest elements that a row has. */
static int element_bytes(const kiln__walk *red)
{
    int widest = 1;

    for (int k = 0; k < red->count; k++)
        if (kiln__walk_is_input(red, k) && !kiln__walk_constant(red, k) && red->itemsize[k] > widest)
            widest = red->itemsize[k];
    return widest;
}

/* The number of registers for the elements of one access to each input. */
static int64_t access_words(const kiln__walk *red, const kiln__variant *v)
{
    int64_t words = 0;

    for (int k = 0; k < red->count; k++)
        if (kiln__walk_is_input(red, k) && !kiln__walk_constant(red, k))
            words += kiln__divide_up(v->vec * red->itemsize[k], 4);
    return words;
}

/* How many threads hold a row of `accesses`, and how many accesses each of them makes. 0 where
 * their registers do not suffice, or where too few threads would run. Only rows of a batch may
 * be held by the threads of a whole block. */
static int64_t hold_group(const kiln__walk *red, const kiln__variant *v, int units, int64_t outputs,
                          int64_t accesses, int64_t *each_out)
{
    const kiln__batch batch = (kiln__batch)v->reduction.batch;
    const int64_t aim = kiln__tuned("KILN_TUNE_HOLD_EACH",
                                    accesses <= 8 && !v->reduction.peel ? HOLD_EACH_SHORT : HOLD_EACH);
    const int64_t words = access_words(red, v);
    const int64_t most = batch == KILN__BATCH_COUNTED ? HOLD_COUNTED : HOLD_WORDS;
    const int64_t least =
        v->reduction.peel
            ? kiln__power_up(kiln__divide_up(2 * (v->vec - 1),
                                             kiln__tuned("KILN_TUNE_HOLD_BESIDE", HOLD_BESIDE)))
            : 1;
    const int64_t full = (int64_t)units * BLOCKS_PER_UNIT * BLOCK_THREADS;
    int64_t room = 0, group = kiln__power_up(kiln__divide_up(accesses, aim));

    if (words == 0)
        return 0; /* all elements of a row are one in memory */
    room = HOLD_WORDS / words;
    if (batch != KILN__BATCH_NONE && most / v->vec < room)
        room = most / v->vec;
    group = group < least ? least : group > WARP_THREADS ? WARP_THREADS : group;
    while (group < WARP_THREADS && group < accesses && outputs * group < full / 2)
        group *= 2;
    if (room * group < accesses && kiln__batch_is_of_rows(batch) &&
        kiln__tuned("KILN_TUNE_HOLD_LONG", 1)) {
        const int64_t long_aim = room < HOLD_EACH_LONG ? room : HOLD_EACH_LONG;
        group = kiln__power_up(kiln__divide_up(accesses, long_aim > 0 ? long_aim : 1));
        group = group > BLOCK_THREADS ? BLOCK_THREADS : group;
    }
    *each_out = round_accesses(kiln__divide_up(accesses, group));
    return *each_out > room || (accesses > WARP_THREADS &&
                                outputs * (group < WARP_THREADS ? WARP_THREADS : group) < full / 2)
               ? 0
               : group;
}

/* Let a part of a warp, a warp or a block hold each row. False where that is not possible. */
static bool hold_on_cuda(const kiln__plan_request *q, const kiln__walk *red, kiln__plan *plan,
                         int64_t outputs, int64_t length)
{
    kiln__variant *v = &plan->variant;
    int64_t each = 0, segments = 1;

    /* Rows that begin at whole accesses gain only with batches, whose merging is expensive. */
    if (length == 0 || red->rank != 1 || !may_hold(q, v) ||
        !(v->reduction.peel || v->reduction.batch != KILN__BATCH_NONE))
        return false;
    const int64_t group = hold_group(red, v, q->device.units, outputs, length, &each);
    if (group == 0 || kiln__group_within_grid(outputs, group, BLOCK_THREADS) != group)
        return false;
    const int64_t full = (int64_t)q->device.units * BLOCKS_PER_UNIT * BLOCK_THREADS;
    /* The overhead of a thread costs as much as a row of up to 8 bytes, so it takes twice as many. */
    const bool tiny = each == 1 && access_words(red, v) <= 2 && element_bytes(red) <= 2 &&
                      v->reduction.batch == KILN__BATCH_MOMENTS;
    while (!v->reduction.peel && group <= WARP_THREADS &&
           segments * each < (tiny ? 2 * HOLD_EACH : HOLD_EACH) &&
           2 * segments * each * access_words(red, v) <= HOLD_WORDS &&
           outputs * group / (2 * segments) >= full)
        segments *= 2;
    v->reduction.group = (uint16_t)group;
    v->reduction.segments = (uint8_t)segments;
    v->reduction.hold = !v->reduction.peel && length == group * each ? 2 : 1;
    v->block = (uint16_t)(group > WARP_THREADS ? group : BLOCK_THREADS);
    v->unroll = (uint8_t)each;
    if (v->unroll * v->vec < v->reduction.lanes)
        v->reduction.lanes = 1;
    plan->word[KILN__WORD_CHUNK] = length;
    plan->word[KILN__WORD_SPLITS] = 1;
    plan->grid = kiln__divide_up(outputs, segments * (v->block / group));
    return true;
}

static void rows_on_cuda(kiln__plan *plan, const kiln__plan_request *q, int64_t outputs,
                         int64_t length)
{
    kiln__variant *v = &plan->variant;
    const int units = q->device.units;
    /* Index tuples are computed from the elements' numbers, which is much code when it is repeated. */
    const bool tuples = q->def->uses_number[KILN__NUMBER_IN], gathers = reads_by_address(q);
    const int64_t full = (int64_t)units * BLOCKS_PER_UNIT; /* blocks that fill the device */
    int64_t group;

    if (length <= WARP_THREADS)
        group = kiln__power_up(length);
    else if (length <= ROW_ACCESSES_OF_WARP && !v->reduction.peel &&
             outputs * WARP_THREADS >= full * BLOCK_THREADS / 2)
        group = WARP_THREADS;
    else
        group = BLOCK_THREADS;
    group = kiln__group_within_grid(outputs, group, BLOCK_THREADS);
    const int64_t each = kiln__divide_up(length, group); /* accesses a thread makes for an output */
    v->reduction.group = (uint16_t)group;
    v->unroll = (uint8_t)(each >= FLIGHT_ACCESSES ? FLIGHT_ACCESSES : each >= 2 ? 2 : 1);
    v->reduction.segments = 1;
    const int gather = kiln__tuned("KILN_TUNE_GATHER_FLIGHT", GATHER_ACCESSES);
    if (gathers && v->unroll > gather)
        v->unroll = (uint8_t)gather;
    if (each < 2)
        v->reduction.lanes = 1; /* a thread has too few elements of a row for several lanes */
    const int flight = kiln__tuned("KILN_TUNE_SEGMENTS", gathers     ? gather
                                                         : tuples    ? FLIGHT_ACCESSES / 2
                                                         : group > 1 ? 2 * FLIGHT_ACCESSES
                                                                     : FLIGHT_ACCESSES);
    while (group <= WARP_THREADS && v->reduction.segments * v->unroll < flight &&
           outputs * group / (2 * v->reduction.segments) >= full * BLOCK_THREADS)
        v->reduction.segments *= 2;
    plan->word[KILN__WORD_CHUNK] = length;
    plan->word[KILN__WORD_SPLITS] = 1;
    if (group == BLOCK_THREADS && outputs < full / 2)
        kiln__reduce_split(plan,
                     splits_of(units,
                               v->reduction.batch != KILN__BATCH_NONE ? BATCH_BLOCKS_PER_UNIT : 0,
                               outputs),
                     length, (int64_t)BLOCK_THREADS * v->unroll);
    plan->grid = v->reduction.split
                     ? outputs * plan->word[KILN__WORD_SPLITS]
                     : kiln__divide_up(outputs, v->reduction.segments * (BLOCK_THREADS / group));
    plan->part_count = v->reduction.split ? outputs * plan->word[KILN__WORD_SPLITS] : 0;
    plan->ticket_count = v->reduction.split ? outputs : 0;
}

/* Whether the rows of input `k` follow each other in memory without gaps. */
static bool is_dense(const kiln__walk *keep, const kiln__walk *red, int k)
{
    return red->stride[k][0] == red->itemsize[k] &&
           keep->stride[k][0] == red->itemsize[k] * red->shape[0];
}

static bool moves_twice(const kiln__walk *keep, const kiln__walk *red, int k)
{
    return kiln__walk_is_input(red, k) && red->stride[k][0] != 0 && keep->stride[k][0] != 0;
}

/* Bytes of shared memory for a row of all inputs; *access receives the bytes of an access that
 * copies rows there. 0 where rows cannot be copied (an input has gaps between its rows, or a
 * snippet asks for addresses), and where threads of a group read rows with wide accesses anyway. */
static int64_t stage_bytes(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                           const kiln__variant *v, int *access)
{
    uint64_t low_bits = ACCESS_BYTES;
    int64_t row = 0;
    int widest = 0;

    if (keep->rank != 1 || red->rank != 1 || red->shape[0] <= v->vec)
        return 0;
    for (int k = 0; k < red->count; k++) {
        if (!moves_twice(keep, red, k))
            continue;
        const int64_t bytes = red->shape[0] * red->itemsize[k];
        if (!is_dense(keep, red, k) || q->operands[red->param[k]].by_address)
            return 0;
        row += bytes + (bytes % ACCESS_BYTES == 0 ? ACCESS_BYTES : 0);
        widest = v->vec * red->itemsize[k] > widest ? v->vec * red->itemsize[k] : widest;
        low_bits |= kiln__walk_begin(red, k, q->operands) + (uint64_t)keep->begin[k];
    }
    *access = (int)(low_bits & (~low_bits + 1)); /* whole elements, as every array is aligned */
    return widest < ACCESS_BYTES ? row : 0;
}

/* Let blocks copy short rows to shared memory, by accesses that do not depend on a row's length,
 * and let one thread take each row, so that no results have to be merged. False where that is
 * not possible. */
static bool stage_on_cuda(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                          kiln__plan *plan, int64_t length)
{
    kiln__variant *v = &plan->variant;
    const int64_t outputs = kiln__walk_size(keep), units = q->device.units;
    const bool lanes = kiln__part_bytes(q->def, v, 0) <= 8;
    int access = 0;
    const int64_t row = stage_bytes(q, keep, red, v, &access);
    const int least = kiln__tuned("KILN_TUNE_STAGE", STAGE_THREADS_MIN);
    int64_t threads = BLOCK_THREADS, rows;

    while (threads >= least && (threads * row > KILN__STAGE_BYTES || outputs < threads * units))
        threads /= 2;
    if (row == 0 || threads < least ||
        (v->reduction.batch == KILN__BATCH_NONE &&
         red->shape[0] > (lanes ? CUDA_LANES : 1) * STAGE_CHAIN_MAX))
        return false;
    rows = KILN__STAGE_BYTES / (threads * row);
    while (rows > 1 && outputs < rows * threads * units * BLOCKS_PER_UNIT)
        rows /= 2;
    for (int k = 0; k < red->count; k++)
        if (moves_twice(keep, red, k))
            v->access[red->param[k]] = KILN__ACCESS_TILE;
    v->block = (uint16_t)threads;
    v->unroll = (uint8_t)(STAGE_ELEMENTS > v->vec ? STAGE_ELEMENTS / v->vec : 1);
    while (v->unroll > length)
        v->unroll /= 2;
    v->reduction.group = v->reduction.segments = 1;
    if (lanes && v->reduction.batch == KILN__BATCH_NONE)
        v->reduction.lanes = v->unroll * v->vec < CUDA_LANES ? v->unroll : CUDA_LANES;
    v->reduction.stage = (uint8_t)access;
    const bool many = element_bytes(red) <= 2 || v->reduction.batch == KILN__BATCH_LEAST ||
                      v->reduction.batch == KILN__BATCH_GREATEST;
    const int most = !many                                      ? HOLD_STAGED
                     : v->reduction.batch == KILN__BATCH_NONE ? HOLD_STAGED_MANY
                                                              : HOLD_STAGED_BATCH;
    if (may_hold(q, v) && length * v->vec <= kiln__tuned("KILN_TUNE_HOLD_STAGED", most)) {
        v->unroll = (uint8_t)round_accesses(length);
        v->reduction.hold = length == v->unroll ? 2 : 1;
    }
    plan->word[KILN__WORD_CHUNK] = rows * threads;
    plan->word[KILN__WORD_SPLITS] = 1;
    plan->grid = kiln__divide_up(outputs, rows * threads);
    return true;
}

/* Whether a thread takes whole columns: moments are expensive to merge, and there are enough
 * columns. */
static bool has_whole_columns(const kiln__variant *v, int units, int64_t outputs, int64_t columns)
{
    return kiln__batch_is_of_moments((kiln__batch)v->reduction.batch) &&
           outputs / columns * (columns / v->vec / BLOCK_THREADS) >=
               (int64_t)units * BATCH_BLOCKS_PER_UNIT;
}

/* How many rows a thread with whole columns takes at a time. The rows left over come one by one,
 * and each of them costs as much as a burst: a merge and the time of a load. */
static uint8_t burst_of(int64_t length)
{
    int64_t best = length < MOMENTS_BURST_MAX ? length : MOMENTS_BURST_MIN;

    for (int64_t rows = best; rows <= MOMENTS_BURST_MAX; rows++)
        if (length / rows + length % rows < length / best + length % best)
            best = rows;
    return (uint8_t)(best < 1 ? 1 : best);
}

static void columns_on_cuda(kiln__plan *plan, int units, bool small, int64_t outputs,
                            int64_t length)
{
    kiln__variant *v = &plan->variant;
    const bool moments = kiln__batch_is_of_moments((kiln__batch)v->reduction.batch);
    /* Bytes in eights, and what moments take in fours: accesses of half the size, so twice as many. A merge is then of
     * twice as many elements, too, and costs moments as many instructions as four of these. */
    const bool narrow = (moments || (v->reduction.batch == KILN__BATCH_SUM &&
                                     v->vec == COLUMNS_OF_THREAD)) &&
                        v->vec * (int)kiln_dtype_size((kiln_dtype)v->dtype[0]) <= ACCESS_BYTES / 2;
    const int64_t full = (int64_t)units * BLOCKS_PER_UNIT;
    const int64_t columns = plan->shape[v->keep_rank - 1] / v->vec;
    const int64_t outer = outputs / plan->shape[v->keep_rank - 1];
    const bool alone = has_whole_columns(v, units, outputs, plan->shape[v->keep_rank - 1]);
    int64_t rows = 1; /* of threads */

    while (!alone && rows < BLOCK_THREADS / WARP_THREADS && rows * 2 * FLIGHT_ACCESSES <= length)
        rows *= 2;
    int64_t across = BLOCK_THREADS / rows;
    while (across > 1 && across / 2 >= columns)
        across /= 2;
    rows = BLOCK_THREADS / across;
    v->reduction.group = (uint16_t)across;
    v->unroll = narrow ? 2 * FLIGHT_ACCESSES : FLIGHT_ACCESSES;
    while (v->unroll > 1 && v->unroll * rows > length)
        v->unroll /= 2;
    if (alone && rows == 1 && v->vec * (int)kiln_dtype_size((kiln_dtype)v->dtype[0]) <= MOMENTS_ALONE)
        v->unroll = burst_of(length);
    plan->walk[v->keep_rank - 1] = kiln__divide_up(columns, across);
    const int64_t tiles = outer * plan->walk[v->keep_rank - 1];
    plan->word[KILN__WORD_CHUNK] = length;
    plan->word[KILN__WORD_SPLITS] = 1;
    const int resident = v->reduction.batch != KILN__BATCH_NONE ? BATCH_BLOCKS_PER_UNIT
                         : small                                ? BLOCKS_PER_UNIT
                                                                : 0;
    if (tiles < full)
        kiln__reduce_split(plan, splits_of(units, resident, tiles), length, rows * v->unroll);
    plan->grid = tiles * plan->word[KILN__WORD_SPLITS];
    plan->part_count = v->reduction.split ? outputs * plan->word[KILN__WORD_SPLITS] : 0;
    /* One ticket for each tile, and one for each team of its blocks; a team has at least one block. */
    plan->ticket_count = v->reduction.split ? tiles + plan->grid : 0;
}

static void on_cpu(kiln__plan *plan, bool small, int threads, int64_t outputs, int64_t length)
{
    kiln__variant *v = &plan->variant;
    int64_t tiles = outputs, per_unit = length;

    if (v->layout == KILN__LAYOUT_COLUMNS) {
        const int64_t columns = plan->shape[v->keep_rank - 1];
        v->reduction.group = small ? CPU_COLUMNS_SMALL : CPU_COLUMNS;
        tiles = outputs / columns * kiln__divide_up(columns, v->reduction.group);
        per_unit = length * (columns < v->reduction.group ? columns : v->reduction.group);
    } else {
        v->reduction.group = 1;
    }
    plan->word[KILN__WORD_CHUNK] = length;
    plan->word[KILN__WORD_SPLITS] = 1;
    const int64_t wanted = (int64_t)threads * CPU_UNITS_PER_THREAD;
    if (tiles < wanted && per_unit >= 2 * CPU_CHUNK_ELEMENTS) {
        int64_t splits = kiln__divide_up(wanted, tiles), most = per_unit / CPU_CHUNK_ELEMENTS;
        kiln__reduce_split(plan, splits < most ? splits : most, length, 1);
    }
    plan->grid = tiles * plan->word[KILN__WORD_SPLITS];
    per_unit = per_unit / plan->word[KILN__WORD_SPLITS] + 1;
    plan->units_together = (uint32_t)(per_unit >= CPU_CHUNK_ELEMENTS ? 1
                                      : CPU_CHUNK_ELEMENTS / per_unit);
    plan->part_count = v->reduction.split ? outputs * plan->word[KILN__WORD_SPLITS] : 0;
    plan->ticket_count = v->reduction.split ? tiles : 0;
}

/* Clear the strides of outputs along reduced axes, and those of an axis that stands for an empty
 * half. */
static void clear_strides(kiln__walk *keep, kiln__walk *red)
{
    kiln__walk_still(keep);
    kiln__walk_still(red);
    for (int k = 0; k < red->count; k++)
        for (int a = 0; a < red->rank && red->written[k]; a++)
            red->stride[k][a] = 0;
}

static void choose_access(const kiln__walk *keep, const kiln__walk *red, kiln__variant *v)
{
    const kiln__walk *inner = v->layout == KILN__LAYOUT_ROWS ? red : keep;
    for (int k = 0; k < red->count; k++) {
        if (kiln__walk_is_number(red, k))
            continue;
        const bool constant = kiln__walk_constant(red, k) && kiln__walk_constant(keep, k);
        v->access[red->param[k]] = red->written[k] ? KILN__ACCESS_STRIDED
                                                   : kiln__walk_access(inner, k, constant);
    }
}

/* Whether positions rise along the walk: its axes have the order of the caller's. */
static bool is_ordered(const kiln__walk *red)
{
    for (int k = 0; k < red->count; k++)
        if (kiln__walk_is_number(red, k) && red->param[k] == KILN__NUMBER_POSITION)
            for (int a = 1; a < red->rank; a++)
                if (red->stride[k][a - 1] <= red->stride[k][a])
                    return false;
    return true;
}

static bool moves_everywhere(const kiln__walk *w, int k)
{
    bool moves = true;
    for (int a = 0; a < w->rank; a++)
        moves &= w->shape[a] == 1 || w->stride[k][a] != 0;
    return moves;
}

/* Mark the inputs of which every byte is read once. Caches then keep other data: what an earlier
 * kernel has left there, or a row that is read many times. It is slower, and not done, where
 * results need much bandwidth, where all columns share a row, and for sums of bytes. */
static void mark_once(const kiln__walk *keep, const kiln__walk *red, kiln__variant *v)
{
    bool once[KILN__WALK_MAX], all = true;

    if (kiln__walk_size(red) < ONCE_ELEMENTS_MIN || v->reduction.batch == KILN__BATCH_SUM)
        return;
    for (int k = 0; k < red->count; k++) {
        once[k] = kiln__walk_is_input(red, k) && v->access[red->param[k]] == KILN__ACCESS_VECTOR &&
                  v->vec * red->itemsize[k] == ACCESS_BYTES && moves_everywhere(keep, k) &&
                  moves_everywhere(red, k);
        all &= once[k] || !kiln__walk_is_input(red, k);
    }
    for (int k = 0; k < red->count; k++)
        if (once[k] && (all || v->layout == KILN__LAYOUT_ROWS))
            v->access[red->param[k]] = KILN__ACCESS_ONCE;
}

/* Add the numbers of elements and results that the snippets use, as operands with strides. */
static void add_numbers(const kiln__plan_request *q, kiln__walk *keep, kiln__walk *red)
{
    bool kept[KILN_RANK_MAX];
    const bool *const over[KILN__NUMBER_COUNT] = {
        [KILN__NUMBER_POSITION] = q->along, [KILN__NUMBER_IN] = NULL, [KILN__NUMBER_OUT] = kept};
    int64_t strides[KILN_RANK_MAX];

    for (int a = 0; a < q->rank; a++)
        kept[a] = !q->along[a];
    for (int kind = 0; kind < KILN__NUMBER_COUNT; kind++) {
        if (!q->def->uses_number[kind])
            continue;
        kiln__index_strides(q->rank, q->shape, over[kind], strides);
        kiln__walk_add_number(keep, (kiln__numbering)kind, q->rank, q->shape, kept, strides);
        kiln__walk_add_number(red, (kiln__numbering)kind, q->rank, q->shape, q->along, strides);
    }
}

/* The shapes of `_in_ind` and `_out_ind`: of the inputs' broadcast, and of the result. */
static void fill_indexers(const kiln__plan_request *q, kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;

    if (q->def->uses_in_indexer) {
        v->indexer_rank = (uint8_t)q->rank;
        plan->indexer_size = 1;
        memcpy(plan->indexer_shape, q->shape, (size_t)q->rank * sizeof q->shape[0]);
        for (int a = 0; a < q->rank; a++)
            plan->indexer_size *= q->shape[a];
    }
    plan->out_indexer_size = 1;
    for (int a = 0; q->def->uses_out_indexer && a < q->rank; a++) {
        if (q->along[a] && !q->keepdims)
            continue;
        const int64_t extent = q->along[a] ? 1 : q->shape[a];
        plan->out_indexer_shape[v->out_indexer_rank++] = extent;
        plan->out_indexer_size *= extent;
    }
}

/* A call without results launches nothing, but its source can be asked for. So it is planned as
 * if it had one result. Returns whether the call is of that kind. */
static bool make_nonempty(kiln__walk *keep)
{
    bool empty = false;
    for (int a = 0; a < keep->rank; a++) {
        empty |= keep->shape[a] == 0;
        keep->shape[a] += keep->shape[a] == 0;
    }
    return empty;
}

/* Let long rows that begin at any address be read by whole accesses, and the elements beside
 * these by threads of their own. */
static void choose_peel(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                        kiln__variant *v)
{
    const int64_t vec = kiln__walk_peel(keep, red, q->operands, v);
    const int64_t accesses = kiln__walk_size(red) / vec;
    kiln__variant wide = *v;
    int64_t each;

    if (vec <= v->vec || reads_by_address(q) || kiln__walk_size(keep) > INT32_MAX)
        return;
    wide.vec = (uint8_t)vec;
    wide.reduction.peel = 1;
    /* Accesses of eight bytes are as good where a warp has all of a row. */
    const bool held =
        v->vec * element_bytes(red) < ACCESS_BYTES / 2 &&
        accesses >= kiln__tuned("KILN_TUNE_HOLD_PEEL", HOLD_PEELED_MIN) && may_hold(q, v) &&
        hold_group(red, &wide, q->device.units, kiln__walk_size(keep), accesses, &each) > 0;
    /* Rows that a warp or less takes otherwise have no threads for the elements beside. */
    if (!held && (accesses <= WARP_THREADS || accesses <= kiln__tuned("KILN_TUNE_PEEL", PEEL_ACCESSES)))
        return;
    v->vec = (uint8_t)vec;
    v->reduction.peel = 1;
}

/* The elements of an access on cuda. */
static void choose_width(const kiln__plan_request *q, const kiln__walk *keep, const kiln__walk *red,
                         kiln__variant *v)
{
    const bool rows = v->layout == KILN__LAYOUT_ROWS;
    const bool moments = kiln__batch_is_of_moments((kiln__batch)v->reduction.batch);

    v->vec = (uint8_t)choose_vec(rows ? red : keep, rows ? keep : red, q->operands, v,
                                 rows      ? ACCESS_BYTES
                                 : moments ? COLUMNS_OF_MOMENTS
                                           : COLUMNS_OF_THREAD);
    if (!rows && v->vec == COLUMNS_OF_MOMENTS &&
        v->vec * (int)kiln_dtype_size((kiln_dtype)v->dtype[0]) > MOMENTS_ALONE &&
        has_whole_columns(v, q->device.units, kiln__walk_size(keep), keep->shape[keep->rank - 1]))
        v->vec /= 2;
    if (rows)
        choose_peel(q, keep, red, v);
}

/* Put both halves into the plan, in accesses of `vec` elements; returns the accesses of a
 * result. */
static int64_t join_halves(const kiln__walk *keep, const kiln__walk *red, kiln__plan *plan)
{
    const kiln__variant *v = &plan->variant;

    kiln__walk_join(keep, red, plan);
    if (v->layout == KILN__LAYOUT_ROWS && v->vec > 1) {
        kiln__walk_widen(red, v->rank - 1, plan);
        return kiln__walk_size(red) / v->vec;
    }
    for (int k = 0; k < keep->count && v->vec > 1; k++)
        if (kiln__walk_is_input(keep, k))
            plan->step[keep->param[k]][v->keep_rank - 1] *= v->vec;
    return kiln__walk_size(red);
}

/* Deal the layouts rows and columns to threads. */
static void plan_walk(const kiln__plan_request *q, kiln__walk *keep, kiln__walk *red,
                      kiln__plan *plan)
{
    kiln__variant *v = &plan->variant;
    const bool on_cuda = q->device.backend != KILN_BACKEND_CPU;
    const bool rows = v->layout == KILN__LAYOUT_ROWS;
    const bool small = kiln__part_bytes(q->def, v, 0) <= 8; /* cheap to have several of */
    const int64_t outputs = kiln__walk_size(keep);

    v->reduction.batch = (uint16_t)kiln__reduce_batch(q->def, v, is_ordered(red));
    if (on_cuda)
        choose_width(q, keep, red, v);
    const int64_t length = join_halves(keep, red, plan);
    if (small && rows && v->reduction.batch == KILN__BATCH_NONE)
        v->reduction.lanes = !on_cuda ? (kiln__walk_size(red) >= CPU_LANES_LENGTH ? CPU_LANES : 1)
                             : v->vec < CUDA_LANES ? v->vec
                                                   : CUDA_LANES;
    plan->word[KILN__WORD_LENGTH] = length;
    if (!on_cuda) {
        on_cpu(plan, small || v->reduction.batch != KILN__BATCH_NONE, q->device.units, outputs,
               length);
        return;
    }
    mark_once(keep, red, v);
    if (!rows)
        columns_on_cuda(plan, q->device.units, small, outputs, length);
    else if (!stage_on_cuda(q, keep, red, plan, length) &&
             !hold_on_cuda(q, red, plan, outputs, length))
        rows_on_cuda(plan, q, outputs, length);
}

static void plan_reduction(const kiln__plan_request *q, kiln__plan *plan)
{
    kiln__walk keep, red;
    kiln__variant *v = &plan->variant;

    kiln__walk_halves(q, &keep, &red);
    add_numbers(q, &keep, &red);
    kiln__walk_sort(&keep, false);
    kiln__walk_sort(&red, false);
    kiln__walk_collapse(&keep);
    kiln__walk_collapse(&red);
    const bool empty = make_nonempty(&keep);
    clear_strides(&keep, &red);

    v->layout = takes_rows(q, &keep, &red) ? KILN__LAYOUT_ROWS : KILN__LAYOUT_COLUMNS;
    choose_access(&keep, &red, v);
    v->block = BLOCK_THREADS;
    v->reduction.segments = v->reduction.lanes = 1;
    fill_indexers(q, plan);
    plan->word[KILN__WORD_OUTPUTS] = kiln__walk_size(&keep);
    plan->word[KILN__WORD_COUNT_ALL] = kiln__walk_size(&red);
    plan->size = empty ? 0 : plan->word[KILN__WORD_OUTPUTS];
    if (!kiln__tile_choose(q, &keep, &red, plan))
        plan_walk(q, &keep, &red, plan);
    v->index_bits = (uint8_t)kiln__walk_bits(v, &keep, &red, plan->part_count);
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("keep", keep_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("vec", vec, 1, 64, true),
    KILN__FIELD("unroll", unroll, 1, 64, false),
    KILN__FIELD("split", reduction.split, 0, 1, false),
    KILN__FIELD("segments", reduction.segments, 1, 128, true),
    KILN__FIELD("lanes", reduction.lanes, 1, 128, true),
    KILN__FIELD("batch", reduction.batch, 0, KILN__BATCH_LOGSUM, false),
    KILN__FIELD("stage", reduction.stage, 0, ACCESS_BYTES, true),
    KILN__FIELD("peel", reduction.peel, 0, 1, false),
    KILN__FIELD("hold", reduction.hold, 0, 2, false),
    KILN__FIELD("group", reduction.group, 0, 8192, true),
    KILN__FIELD("block", block, 1, 1024, true),
    KILN__FIELD("indexer", indexer_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("out_indexer", out_indexer_rank, 0, KILN_RANK_MAX, false),
};

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    const kiln__reduction_variant *r = &v->reduction;

    if (r->stage != 0 && (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_ROWS ||
                          v->rank != 2 || v->keep_rank != 1 || r->group != 1 || r->segments != 1 ||
                          r->split != 0))
        return "rows are not copied in";
    if (r->peel && (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_ROWS ||
                    (!r->hold && r->group != v->block) || r->segments != 1 || r->stage != 0 ||
                    v->rank != v->keep_rank + 1))
        return "rows of such threads do not begin anywhere, unlike";
    if (r->hold && (v->backend != KILN_BACKEND_CUDA || v->layout != KILN__LAYOUT_ROWS ||
                    (r->group > WARP_THREADS && (r->group != v->block || r->segments != 1 ||
                                                 !kiln__batch_is_of_rows((kiln__batch)r->batch))) ||
                    r->split != 0 || v->rank != v->keep_rank + 1))
        return "rows are not held, unlike";
    if (r->batch != KILN__BATCH_NONE && r->batch != kiln__reduce_batch(def, v, true))
        return "this definition takes no such batch, unlike";
    for (size_t p = 0; p < def->param_count; p++) {
        const size_t size = kiln_dtype_size((kiln_dtype)v->dtype[p]);
        if (v->access[p] == KILN__ACCESS_ONCE &&
            (v->backend != KILN_BACKEND_CUDA || def->params[p].output || v->vec * size != ACCESS_BYTES))
            return "only reductions read 16 bytes once, unlike";
        if (v->access[p] == KILN__ACCESS_TILE &&
            (r->stage < size || def->params[p].output || def->params[p].post_only ||
             def->params[p].by_address))
            return "only inputs of short rows are copied, unlike";
    }
    return kiln__tile_refuse(def, v);
}

const kiln__family kiln__family_reduction = {
    .name = "reduction",
    .noun = "reduction",
    .kernel_name = "kiln_reduction",
    .line = "map! reduce! post! identity reduce_type named axes",
    .maps = true,
    .combines = true,
    .shrinks = true,
    .part_bytes_max = KILN__PASS_BYTES_MAX,
    .plan = plan_reduction,
    .layouts = 1u << KILN__LAYOUT_ROWS | 1u << KILN__LAYOUT_COLUMNS | 1u << KILN__LAYOUT_TILE,
    .accesses = 1u << KILN__ACCESS_ONCE | 1u << KILN__ACCESS_STAGED |
                1u << KILN__ACCESS_TILE,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .skeleton = "reduce/kernel.cpp",
    .slots = kiln__reduce_slots,
};
