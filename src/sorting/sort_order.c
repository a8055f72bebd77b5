/*
 * sort_order.c - the order of rows of 8-byte elements on the cpu device, by vectors of the
 * processor.
 *
 *     row > numbers > [the upper 32 bits of what differs, with positions, as integers of 64 bits]
 *         > [quick sort] > [the lower bits where the upper ones are equal] > order, elements
 *
 * A thread orders one row after the other. Where there are fewer rows than threads, and two to four
 * of these, they share a row: each step by pieces, and the sort as sort_halves.c does it.
 * sort_numbers.c calls this file.
 *
 * Rule: a captured program launches these entries again with other elements: nothing here depends
 *       on elements but what entries do.
 *
 * Tests: test_sort, difftest.
 */
#include "sorting/sort_numbers.h"

enum {
    NEAR = 2048,         /* numbers of a row that stand on the stack */
    FEW_EQUAL = 12,      /* pairs with equal upper bits that are sorted by insertion */
    AHEAD = 32,          /* pairs whose numbers are fetched before they are needed */
    PIECES = 16,         /* of a row that threads share */
    SHARED_MIN = 1 << 14 /* elements of such a row */
};

typedef kiln__number_rows job;

/* Of a row that threads share. */
typedef struct plan {
    int64_t lows[PIECES], highs[PIECES]; /* the least and the greatest number of each piece */
    int64_t starts[PIECES +
                   1]; /* where the first pair of each piece stands whose upper bits begin there */
    char halves[KILN__HALVES_PLAN];
} plan;

/* What is known of the numbers of a row. */
typedef struct numbers {
    int64_t *numbers, *pairs, low;
    int shift; /* lower bits that are not in the pairs */
} numbers;

static void choose_bits(numbers *n, int64_t low, int64_t high)
{
    int bits = 0;

    while (bits < 64 && ((uint64_t)high - (uint64_t)low) >> bits != 0)
        bits++;
    n->low = low;
    n->shift = bits > 32 ? bits - 32 : 0;
}

/* Pairs whose upper bits are equal, in the order of the lower ones. */
static void order_equal(const job *j, const numbers *n, int64_t *pairs, int64_t count)
{
    const uint64_t lower = (UINT64_C(1) << n->shift) - 1;

    for (int64_t k = 1; k < count && count <= FEW_EQUAL; k++) {
        const int64_t pair = pairs[k], number = n->numbers[(uint32_t)pair];
        int64_t at = k;
        for (; at > 0 && number < n->numbers[(uint32_t)pairs[at - 1]]; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
    if (count <= FEW_EQUAL)
        return;
    for (int64_t k = 0; k < count; k++) {
        const uint32_t position = (uint32_t)pairs[k];
        const uint64_t bits = ((uint64_t)n->numbers[position] - (uint64_t)n->low) & lower;
        pairs[k] = (int64_t)((bits ^ UINT32_C(0x80000000)) << 32 | position);
    }
    j->quick.sort(pairs, count);
}

/* Results `begin` to `end` - 1 of a row, from sorted pairs: no pair outside has the upper bits
 * of one within. */
static void finish_some(const job *j, const numbers *n, int64_t row, int64_t begin, int64_t end)
{
    const char *const keys = j->keys + row * j->length * j->size;
    int64_t *const pairs = n->pairs;

    for (int64_t k = begin, next; k < end && n->shift > 0; k = next) {
        for (next = k + 1; next < end && pairs[next] >> 32 == pairs[k] >> 32;)
            next++;
        for (int64_t at = k + AHEAD; at < next + AHEAD && at + 1 < end; at++)
            if (pairs[at] >> 32 == pairs[at + 1] >> 32) {
                __builtin_prefetch(&n->numbers[(uint32_t)pairs[at]]);
                __builtin_prefetch(&n->numbers[(uint32_t)pairs[at + 1]]);
            }
        if (next > k + 1)
            order_equal(j, n, pairs + k, next - k);
    }
    j->numbers.order(pairs + begin, end - begin, j->wide,
                     j->order + (row * j->length + begin) * (j->wide ? 8 : 4));
    for (int64_t k = begin; j->sorted != NULL && k < end; k++)
        memcpy(j->sorted + (row * j->length + k) * 8, keys + 8 * (size_t)(uint32_t)pairs[k], 8);
}

/* ---- a row by one thread --------------------------------------------------------------------- */

static numbers numbers_of(const job *j, int64_t row, int64_t *near)
{
    numbers n = {.numbers =
                     j->length > NEAR ? (int64_t *)(void *)j->scratch + 2 * row * j->length : near};

    n.pairs = n.numbers + (j->length > NEAR ? j->length : NEAR);
    return n;
}

static void order_row(const job *j, int64_t row)
{
    int64_t near[2 * NEAR], low, high;
    numbers n = numbers_of(j, row, near);

    j->numbers.read(j->keys + row * j->length * j->size, j->length, j->flip, j->infinity,
                    n.numbers);
    j->numbers.bounds(n.numbers, j->length, &low, &high);
    choose_bits(&n, low, high);
    j->numbers.join_upper(n.numbers, j->length, n.low, n.shift, n.pairs);
    j->quick.sort(n.pairs, j->length);
    finish_some(j, &n, row, 0, j->length);
}

static void order_rows(const void *args, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        order_row(args, row);
}

/* ---- a row by several threads ---------------------------------------------------------------- */

static int64_t piece_of(const job *j, int64_t k)
{
    return j->length * k / PIECES;
}

static numbers shared_numbers(const job *j)
{
    const plan *const p = j->plan;
    numbers n = numbers_of(j, 0, NULL);
    int64_t low = p->lows[0], high = p->highs[0];

    for (int k = 1; k < PIECES; k++) {
        low = p->lows[k] < low ? p->lows[k] : low;
        high = p->highs[k] > high ? p->highs[k] : high;
    }
    choose_bits(&n, low, high);
    return n;
}

static void read_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    plan *const p = j->plan;
    int64_t *const to = numbers_of(j, 0, NULL).numbers;

    for (int64_t k = begin; k < end; k++) {
        const int64_t from = piece_of(j, k), count = piece_of(j, k + 1) - from;
        j->numbers.read(j->keys + from * j->size, count, j->flip, j->infinity, to + from);
        j->numbers.bounds(to + from, count, &p->lows[k], &p->highs[k]);
    }
}

static void join_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const numbers n = shared_numbers(j);

    for (int64_t k = begin; k < end; k++) {
        const int64_t from = piece_of(j, k), to = piece_of(j, k + 1);
        j->numbers.join_upper(n.numbers + from, to - from, n.low, n.shift, n.pairs + from);
        for (int64_t at = from; at < to; at++) /* positions in the row, which have 32 bits */
            n.pairs[at] += from;
    }
}

/* Pairs with the same upper bits belong to one piece: the one in which the first of them stands. */
static void find_starts(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    plan *const p = j->plan;
    const int64_t *const pairs = numbers_of(j, 0, NULL).pairs;

    for (int64_t k = begin; k < end; k++) {
        int64_t at = piece_of(j, k);
        while (at > 0 && at < j->length && pairs[at] >> 32 == pairs[at - 1] >> 32)
            at++;
        p->starts[k] = at;
    }
    p->starts[PIECES] = j->length;
}

static void finish_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const plan *const p = j->plan;
    const numbers n = shared_numbers(j);

    for (int64_t k = begin; k < end; k++)
        finish_some(j, &n, 0, p->starts[k], p->starts[k + 1]);
}

static kiln_status order_shared(const kiln__sort *s, const job *row, kiln_error *err)
{
    job pairs = *row;

    pairs.keys = NULL;
    pairs.sorted = pairs.order = NULL;
    pairs.target = row->scratch + row->length * (int64_t)sizeof(int64_t);
    pairs.plan = ((plan *)row->plan)->halves;
    KILN_CHECK(kiln__sort_launch(s, read_pieces, row, sizeof *row, PIECES, err));
    KILN_CHECK(kiln__sort_launch(s, join_pieces, row, sizeof *row, PIECES, err));
    KILN_CHECK(kiln__number_rows_halves(s, &pairs, err));
    KILN_CHECK(kiln__sort_launch(s, find_starts, row, sizeof *row, PIECES, err));
    return kiln__sort_launch(s, finish_pieces, row, sizeof *row, PIECES, err);
}

/* ---- the call -------------------------------------------------------------------------------- */

kiln_status kiln__number_rows_order(const kiln__sort *s, const kiln__number_rows *rows,
                                    kiln_error *err)
{
    const int threads = kiln__device_info(kiln__context_device(s->ctx))->unit_count;
    const bool shared = threads > 1 && s->rows < threads &&
                        threads <= kiln__tuned("KILN_TUNE_SORT_HALVES", KILN__HALVES_THREADS) &&
                        s->length >= SHARED_MIN;
    const int64_t together = shared ? 1 : s->rows;
    kiln_array *scratch = NULL, *plans = NULL;
    kiln_status status = KILN_OK;
    job j = *rows;

    if (s->length > NEAR) {
        KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, 2 * together * s->length,
                                   &scratch, err));
        j.scratch = scratch->data;
    }
    if (!shared) {
        status = kiln__sort_launch(s, order_rows, &j, sizeof j, s->rows, err);
        goto done;
    }
    KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8, sizeof(plan), &plans, err));
    j.plan = plans->data;
    for (int64_t row = 0; row < s->rows; row++) {
        KILN_TRY(order_shared(s, &j, err));
        j.keys += j.length * j.size;
        j.order += j.length * (j.wide ? 8 : 4);
        j.sorted += j.sorted != NULL ? j.length * j.size : 0;
    }

done:
    kiln_array_release(scratch);
    kiln_array_release(plans);
    return status;
}
