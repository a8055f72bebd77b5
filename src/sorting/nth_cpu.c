/*
 * nth_cpu.c - which numbers stand at wanted positions of sorted rows, on the cpu device (nth.h).
 *
 *     short rows > numbers > [quick.c settles the wanted positions]
 *     long rows  > [a sample] > two borders, between which the wanted positions probably lie
 *                > pieces: [numbers counted; those between the borders collected] > [settled]
 *
 * Where the borders miss a wanted position, or too many numbers lie between them, the whole row is
 * settled.
 *
 * Rule: a captured program launches these entries again with other elements. So what is enqueued
 *       must not depend on the elements; what an entry does may.
 *
 * choose_cpu.c and partition_cpu.c call this file. Tests: test_select, test_first.
 */
#include <math.h>

#include "sorting/nth.h"

enum {
    BLOCK = KILN__NTH_BLOCK,
    COUNTED = 1 << 20, /* numbers that are counted at once */
    LONG = 1 << 13,    /* elements of rows of which a sample is taken */
    SAMPLE_MIN = 512,
    SAMPLE_MAX = 1 << 15,
    SAMPLE_SHARE = 128, /* one of so many elements is in the sample */
    DEVIATIONS = 3,     /* by which borders are away from the indices that the sample tells */
    PIECE_MIN = 16 * BLOCK,
    PIECES_A_THREAD = 4,
    PIECES_MAX = 64
};

bool kiln__nth_suits(const kiln__sort *s)
{
    const char *const target = kiln__cpu_target();
    kiln__numbers numbers;
    kiln__quick quick;

    return kiln__numbers_of(target, s->dtype, &numbers) &&
           kiln__quick_of(target, kiln_dtype_size(s->dtype) == 8 ? 64 : 32, &quick);
}

int64_t kiln__nth_begin_of(const kiln__nth *n, int64_t piece)
{
    return piece == n->pieces ? n->length : n->length / n->pieces * piece / BLOCK * BLOCK;
}

static const char *keys_of(const kiln__nth *n, int64_t row)
{
    return n->keys + row * n->length * n->size;
}

static char *scratch_of(const kiln__nth *n, int64_t row, int64_t at)
{
    return n->scratch + (row * (n->length + KILN__NTH_SLACK) + at) * n->width;
}

static int64_t least_number(const kiln__nth *n)
{
    return n->width == 8 ? INT64_MIN : INT32_MIN;
}

static int64_t greatest_number(const kiln__nth *n)
{
    return n->width == 8 ? INT64_MAX : INT32_MAX;
}

/* How many numbers are from `low` to `high`. */
static int64_t count_within(const kiln__nth *n, const char *numbers, int64_t count, int64_t low,
                            int64_t high)
{
    int64_t many = 0;

    for (int64_t k = 0; k < count; k += COUNTED)
        many += n->numbers.within(numbers + k * n->width, count - k < COUNTED ? count - k : COUNTED,
                                  low, high);
    return many;
}

static kiln__nth_rank rank_among(const kiln__nth *n, const char *numbers, int64_t count, int64_t x)
{
    kiln__nth_rank rank = {0, count_within(n, numbers, count, x, x)};

    if (x > least_number(n))
        rank.under = count_within(n, numbers, count, least_number(n), x - 1);
    return rank;
}

/* ---- borders --------------------------------------------------------------------------------- */

/* Where in the sample a border stands: how many elements of the row should be less, and some more
 * or fewer. */
static int64_t border_index(const kiln__nth *n, int64_t count, int64_t index, int side)
{
    const double part = (double)index / (double)n->length;
    const double away = DEVIATIONS * (sqrt((double)count * part * (1 - part)) + 1);

    return (int64_t)floor((double)count * part + side * away);
}

/* Both borders: the least or the greatest number where the sample ends before. */
static void find_borders(const kiln__nth *n, char *sample, int64_t count, int64_t *borders)
{
    const int64_t first = border_index(n, count, n->from, -1);
    const int64_t last = border_index(n, count, n->from + n->count, 1);

    n->quick.settle(sample, count, first < 0 ? 0 : first, last < count ? last + 1 : count);
    borders[0] = first < 0 ? least_number(n) : kiln__nth_number(n, sample, first);
    borders[1] = last >= count ? greatest_number(n) : kiln__nth_number(n, sample, last);
}

static void copy_element(const kiln__nth *n, char *to, const char *from)
{
    if (n->size == 8)
        memcpy(to, from, 8);
    else if (n->size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, (size_t)n->size);
}

/* Elements at regular distances, each moved by less than one distance, so that no period of the row
 * shows. */
static void plan_row(const kiln__nth *n, int64_t row)
{
    const int64_t share = n->length / SAMPLE_SHARE;
    const int64_t count = share < SAMPLE_MIN ? SAMPLE_MIN : share > SAMPLE_MAX ? SAMPLE_MAX : share;
    const uint64_t step = (uint64_t)(n->length / count);
    char *const sample = scratch_of(n, row, 0);
    kiln__nth_row *const state = &n->states[row];
    int64_t elements[BLOCK];

    for (int64_t done = 0, here; done < count; done += here) {
        here = count - done < BLOCK ? count - done : BLOCK;
        for (int64_t k = done; k < done + here; k++) {
            const uint32_t part = (uint32_t)k * UINT32_C(2654435769); /* 2^32 by the golden ratio */
            const int64_t at = k * (int64_t)step + (int64_t)((part * step) >> 32);
            copy_element(n, (char *)elements + (k - done) * n->size,
                         keys_of(n, row) + at * n->size);
        }
        n->numbers.read(elements, here, n->flip, n->infinity, sample + done * n->width);
    }
    find_borders(n, sample, count, state->borders);
}

/* ---- numbers between borders ----------------------------------------------------------------- */

/* Where the last NaN of some numbers stands, or `otherwise`. */
static int64_t last_nan(const kiln__nth *n, const void *numbers, int64_t first, int64_t count,
                        int64_t otherwise)
{
    for (int64_t k = 0; k < count; k++)
        if (kiln__nth_number(n, numbers, k) == greatest_number(n))
            otherwise = first + k;
    return otherwise;
}

/* A piece's numbers between the borders stand in the first half of the row's scratch memory, so
 * that each piece has room for half of its elements. */
static void collect_piece(const kiln__nth *n, int64_t row, int64_t piece)
{
    const int64_t begin = kiln__nth_begin_of(n, piece), end = kiln__nth_begin_of(n, piece + 1);
    const int64_t most = (end - begin) / 2 - BLOCK - KILN__NTH_SLACK;
    const kiln__nth_row *const state = &n->states[row];
    kiln__nth_piece p = {.nan_at = -1};
    char *const to = scratch_of(n, row, begin / 2);
    int64_t block[BLOCK];

    for (int64_t at = begin; at < end && !p.full; at += BLOCK) {
        const int64_t here = end - at < BLOCK ? end - at : BLOCK;
        bool strange;
        const void *const numbers = kiln__nth_block(n, row, at, here, block, &strange);
        if (strange && n->kind == 'f')
            p.nan_at = last_nan(n, numbers, at, here, p.nan_at);
        n->quick.between(numbers, here, state->borders[0], state->borders[1],
                         to + p.counts[2] * n->width, p.counts);
        p.full = p.counts[2] > most;
    }
    n->parts[row * n->pieces + piece] = p;
}

/* ---- the wanted numbers ---------------------------------------------------------------------- */

static void set_row(const kiln__nth *n, kiln__nth_row *state, int64_t low, int64_t high,
                    kiln__nth_rank low_rank, kiln__nth_rank high_rank)
{
    const int64_t left = low_rank.under + low_rank.equal - n->from;

    state->low = low;
    state->high = high;
    state->skipped = n->from - low_rank.under;
    state->lows = left < n->count ? left : n->count;
    state->highs = low < high ? n->from + n->count - high_rank.under : 0;
}

/* A row of one piece, settled: equal numbers stand beside the wanted ones or among them. */
static void settle_alone(const kiln__nth *n, int64_t row, char *numbers)
{
    const char *const keys = keys_of(n, row), *const wanted = numbers + n->from * n->width;
    kiln__nth_row *const state = &n->states[row];
    kiln__nth_piece *const part = &n->parts[row];
    int64_t block[BLOCK];

    const bool strange = n->numbers.read(keys, n->length, n->flip, n->infinity, numbers);
    n->quick.settle(numbers, n->length, n->from, n->from + n->count);
    state->low = kiln__nth_number(n, wanted, 0);
    state->skipped = KILN__NTH_UNKNOWN;
    if (n->uncounted)
        return;
    state->high = kiln__nth_number(n, wanted, n->count - 1);
    state->skipped = count_within(n, numbers, n->from, state->low, state->low);
    state->lows = count_within(n, wanted, n->count, state->low, state->low);
    state->highs =
        state->low < state->high ? count_within(n, wanted, n->count, state->high, state->high) : 0;
    part->nan_at = -1;
    for (int64_t at = 0; at < n->length && strange && n->kind == 'f'; at += BLOCK) {
        const int64_t here = n->length - at < BLOCK ? n->length - at : BLOCK;
        n->numbers.read(keys + at * n->size, here, n->flip, n->infinity, block);
        part->nan_at = last_nan(n, block, at, here, part->nan_at);
    }
}

/* All numbers of a row of several pieces, settled: the borders were not good. */
static void settle_row(const kiln__nth *n, int64_t row, char *numbers)
{
    const char *const keys = keys_of(n, row);
    kiln__nth_rank ranks[2] = {{0}};
    int64_t block[BLOCK];

    const bool strange = n->numbers.read(keys, n->length, n->flip, n->infinity, numbers);
    n->quick.settle(numbers, n->length, n->from, n->from + n->count);
    const int64_t low = kiln__nth_number(n, numbers, n->from);
    const int64_t high = kiln__nth_number(n, numbers, n->from + n->count - 1);
    for (int64_t piece = 0; piece < n->pieces; piece++) {
        const int64_t begin = kiln__nth_begin_of(n, piece), end = kiln__nth_begin_of(n, piece + 1);
        kiln__nth_piece p = {.nan_at = -1};
        for (int64_t at = begin; at < end; at += BLOCK) {
            const int64_t here = end - at < BLOCK ? end - at : BLOCK;
            n->numbers.read(keys + at * n->size, here, n->flip, n->infinity, block);
            if (strange && n->kind == 'f')
                p.nan_at = last_nan(n, block, at, here, p.nan_at);
            const kiln__nth_rank a = rank_among(n, (char *)block, here, low);
            const kiln__nth_rank b = rank_among(n, (char *)block, here, high);
            p.low = (kiln__nth_rank){p.low.under + a.under, p.low.equal + a.equal};
            p.high = (kiln__nth_rank){p.high.under + b.under, p.high.equal + b.equal};
        }
        ranks[0] = (kiln__nth_rank){ranks[0].under + p.low.under, ranks[0].equal + p.low.equal};
        ranks[1] = (kiln__nth_rank){ranks[1].under + p.high.under, ranks[1].equal + p.high.equal};
        n->parts[row * n->pieces + piece] = p;
    }
    set_row(n, &n->states[row], low, high, ranks[0], ranks[1]);
}

/* The number at an index of the sorted row, where the settled numbers between the borders stand from `first` on;
 * false: it is not known. */
static bool number_at(const kiln__nth *n, const int64_t *borders, const int64_t *counts,
                      const char *settled, int64_t index, int64_t *out)
{
    const int64_t first = counts[0] + counts[1];

    if (index < counts[0] || index >= first + counts[2] + counts[3])
        return false;
    *out = index < first               ? borders[0]
           : index < first + counts[2] ? kiln__nth_number(n, settled, index - first)
                                       : borders[1];
    return true;
}

/* The rank in a piece of a number from border to border, from what was collected. */
static kiln__nth_rank rank_in_piece(const kiln__nth *n, int64_t row, int64_t piece, int64_t x)
{
    const int64_t *const borders = n->states[row].borders;
    const int64_t *const counts = n->parts[row * n->pieces + piece].counts;

    if (x == borders[0])
        return (kiln__nth_rank){counts[0], counts[1]};
    if (x == borders[1])
        return (kiln__nth_rank){counts[0] + counts[1] + counts[2], counts[3]};
    kiln__nth_rank rank =
        rank_among(n, scratch_of(n, row, kiln__nth_begin_of(n, piece) / 2), counts[2], x);
    rank.under += counts[0] + counts[1];
    return rank;
}

/* From what the pieces have collected; false: they have not what is needed. */
static bool find_among(const kiln__nth *n, int64_t row)
{
    kiln__nth_piece *const parts = n->parts + row * n->pieces;
    kiln__nth_row *const state = &n->states[row];
    const int64_t half = (n->length + 1) / 2, end = n->from + n->count;
    char *const settled = scratch_of(n, row, half);
    int64_t counts[KILN__QUICK_BETWEEN] = {0}, low, high;
    kiln__nth_rank ranks[2] = {{0}};

    for (int64_t p = 0; p < n->pieces; p++) {
        if (parts[p].full || counts[2] + parts[p].counts[2] > n->length - half)
            return false;
        memcpy(settled + counts[2] * n->width, scratch_of(n, row, kiln__nth_begin_of(n, p) / 2),
               (size_t)(parts[p].counts[2] * n->width));
        for (int k = 0; k < KILN__QUICK_BETWEEN; k++)
            counts[k] += parts[p].counts[k];
    }
    const int64_t first = counts[0] + counts[1];
    n->quick.settle(settled, counts[2], n->from - first, end - first);
    if (!number_at(n, state->borders, counts, settled, n->from, &low) ||
        !number_at(n, state->borders, counts, settled, end - 1, &high))
        return false;
    for (int64_t p = 0; p < n->pieces; p++) {
        parts[p].low = rank_in_piece(n, row, p, low);
        parts[p].high = rank_in_piece(n, row, p, high);
        ranks[0].under += parts[p].low.under, ranks[0].equal += parts[p].low.equal;
        ranks[1].under += parts[p].high.under, ranks[1].equal += parts[p].high.equal;
    }
    set_row(n, state, low, high, ranks[0], ranks[1]);
    return true;
}

/* ---- entries --------------------------------------------------------------------------------- */

static void find_row(const kiln__nth *n, int64_t row)
{
    if (find_among(n, row))
        return;
    if (n->pieces == 1)
        settle_alone(n, row, scratch_of(n, row, 0));
    else
        settle_row(n, row, scratch_of(n, row, 0));
}

static void find_rows(const void *args, int64_t begin, int64_t end)
{
    const kiln__nth *n = args;
    int64_t near[KILN__NTH_NEAR];

    for (int64_t row = begin; row < end; row++) {
        if (n->length < LONG) {
            settle_alone(n, row, n->length > KILN__NTH_NEAR ? scratch_of(n, row, 0) : (char *)near);
            continue;
        }
        plan_row(n, row);
        collect_piece(n, row, 0);
        find_row(n, row);
    }
}

static void plan_rows(const void *args, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        plan_row(args, row);
}

static void collect_pieces(const void *args, int64_t begin, int64_t end)
{
    const kiln__nth *n = args;

    for (int64_t unit = begin; unit < end; unit++)
        collect_piece(n, unit / n->pieces, unit % n->pieces);
}

static void finish_rows(const void *args, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        find_row(args, row);
}

void kiln__nth_begin(kiln__nth *n, const kiln__sort *s, int64_t from, int64_t count)
{
    const char *const target = kiln__cpu_target();
    const int64_t threads = kiln__device_info(kiln__context_device(s->ctx))->unit_count;
    const int size = (int)kiln_dtype_size(s->dtype);
    int64_t pieces = s->rows < threads ? threads * PIECES_A_THREAD : 1;

    pieces = pieces < s->length / PIECE_MIN ? pieces : s->length / PIECE_MIN;
    pieces = pieces < PIECES_MAX ? pieces : PIECES_MAX;
    *n = (kiln__nth){.keys = s->keys,
                     .rows = s->rows,
                     .length = s->length,
                     .pieces = pieces > 1 ? pieces : 1,
                     .flip = s->descending ? -1 : 0,
                     .from = from,
                     .count = count,
                     .infinity = kiln__radix_infinity(s->dtype),
                     .size = size,
                     .width = size == 8 ? 8 : 4,
                     .kind = kiln_dtype_kind(s->dtype)};
    n->plain = n->kind == 'i' && size >= 4 && !s->descending;
    (void)kiln__numbers_of(target, s->dtype, &n->numbers); /* kiln__nth_suits() has said so */
    (void)kiln__quick_of(target, 8 * n->width, &n->quick);
}

kiln_status kiln__nth_rows(kiln__nth *n, const kiln__sort *s, kiln_array **memory, kiln_error *err)
{
    const int64_t rows = n->rows * (int64_t)sizeof(kiln__nth_row);
    const int64_t parts = n->rows * n->pieces * (int64_t)sizeof(kiln__nth_piece);

    if (n->length > KILN__NTH_NEAR) {
        KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, n->width == 8 ? KILN_INT64 : KILN_INT32,
                                     n->rows * (n->length + KILN__NTH_SLACK), &memory[0], err));
        n->scratch = memory[0]->data;
    }
    KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8, rows + parts, &memory[1], err));
    n->states = memory[1]->data;
    n->parts = (kiln__nth_piece *)(void *)((char *)memory[1]->data + rows);
    if (n->pieces == 1)
        return kiln__sort_launch(s, find_rows, n, sizeof *n, n->rows, err);
    KILN_CHECK(kiln__sort_launch(s, plan_rows, n, sizeof *n, n->rows, err));
    KILN_CHECK(kiln__sort_launch(s, collect_pieces, n, sizeof *n, n->rows * n->pieces, err));
    return kiln__sort_launch(s, finish_rows, n, sizeof *n, n->rows, err);
}
