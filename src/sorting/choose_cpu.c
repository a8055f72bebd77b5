/*
 * choose_cpu.c - a few neighbours of the sorted order of each row, without sorting the rows, on the
 * cpu device.
 *
 *     row > [nth_cpu.c finds the first and the last number that is wanted]
 *         > the elements from the one to the other, in the order of the row, and their positions
 *         > [sorted] > results
 *
 * Rule: sorts are stable. Of elements whose number is the first or the last one, those are taken
 *       whose positions in the row put them into the wanted part of the sorted order; elements are
 *       copied as they are, -0 and NaN among them.
 *
 * choose.c calls this file. Tests: test_select, test_first.
 */
#include "sorting/nth.h"

enum {
    BLOCK = KILN__NTH_BLOCK,
    PART = 64,        /* elements that are looked at together */
    LENGTH_MIN = 512, /* shorter rows are sorted as fast */
    SHARE = 4         /* at most such a part of a row is chosen */
};

typedef struct job {
    kiln__nth nth;
    char *chosen;         /* rows of `count` elements, and one more where `last` */
    int64_t *positions;   /* where they stand in their row */
    const int64_t *finer; /* the order of those; NULL: not wanted */
    int64_t *order;
    bool last;
} job;

static int64_t less_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What has been taken of a row, and how many elements have been seen that have its first or its
 * last number. */
typedef struct taker {
    int64_t *positions;
    int64_t taken, lows, highs;
} taker;

/* Before a piece: of each piece, all between the two numbers is taken, and of those that have one
 * of the two what is left of as many as are wanted. */
static taker start_of(const job *j, int64_t row, int64_t piece, int64_t *positions)
{
    const kiln__nth_row *const r = &j->nth.states[row];
    const kiln__nth_piece *const parts = j->nth.parts + row * j->nth.pieces;
    taker t = {.positions = positions};

    for (int64_t k = 0; k < piece; k++) {
        const int64_t lows = t.lows + parts[k].low.equal;
        const int64_t before = less_of(t.lows > r->skipped ? t.lows - r->skipped : 0, r->lows);
        t.taken += less_of(lows > r->skipped ? lows - r->skipped : 0, r->lows) - before;
        t.lows = lows;
        if (r->low == r->high)
            continue;
        t.taken += parts[k].high.under - parts[k].low.under - parts[k].low.equal;
        t.taken += less_of(t.highs + parts[k].high.equal, r->highs) - less_of(t.highs, r->highs);
        t.highs += parts[k].high.equal;
    }
    return t;
}

/* Of numbers `first` to `first` + count - 1 of the row. */
static void take_some(const job *j, const kiln__nth_row *r, const void *numbers, int64_t first,
                      int64_t count, taker *t)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = kiln__nth_number(&j->nth, numbers, k);
        bool takes = n > r->low && n < r->high;
        if (n == r->low) {
            takes = t->lows >= r->skipped && t->lows < r->skipped + r->lows;
            t->lows++;
        } else if (n == r->high) {
            takes = t->highs++ < r->highs;
        }
        if (takes)
            t->positions[t->taken++] = first + k;
    }
}

/* What is taken of a piece, and where it stands. Few parts of a row hold any. */
static void take_piece(const job *j, int64_t row, int64_t piece)
{
    const kiln__nth *const n = &j->nth;
    const int64_t begin = kiln__nth_begin_of(n, piece), end = kiln__nth_begin_of(n, piece + 1);
    const int64_t results = n->count + j->last;
    const kiln__nth_row *const r = &n->states[row];
    const char *const keys = n->keys + row * n->length * n->size;
    taker t = start_of(j, row, piece, j->positions + row * results);
    const int64_t taken = t.taken;
    int64_t block[BLOCK];

    for (int64_t at = begin; at < end; at += BLOCK) {
        const int64_t here = less_of(end - at, BLOCK);
        n->numbers.read(keys + at * n->size, here, n->flip, n->infinity, block);
        for (int64_t k = 0; k < here; k += PART) {
            const int64_t some = less_of(here - k, PART);
            const char *const part = (const char *)block + k * n->width;
            if (n->numbers.within(part, some, r->low, r->high) != 0)
                take_some(j, r, part, at + k, some, &t);
        }
    }
    for (int64_t k = taken; k < t.taken; k++)
        memcpy(j->chosen + (row * results + k) * n->size, keys + t.positions[k] * n->size,
               (size_t)n->size);
}

/* Behind what is taken of a row: a NaN where the row has any, else an element that is as great as
 * the last one. */
static void put_last(const job *j, int64_t row)
{
    const kiln__nth *const n = &j->nth;
    const kiln__nth_piece *const parts = n->parts + row * n->pieces;
    const int64_t at = row * (n->count + 1) + n->count, high = n->states[row].high;
    const int32_t narrow = (int32_t)high;
    int64_t nan_at = -1;

    for (int64_t k = 0; k < n->pieces; k++)
        nan_at = parts[k].nan_at >= 0 ? parts[k].nan_at : nan_at;
    j->positions[at] = nan_at;
    if (nan_at >= 0)
        memcpy(j->chosen + at * n->size, n->keys + (row * n->length + nan_at) * n->size,
               (size_t)n->size);
    else
        n->numbers.write(n->width == 8 ? (const void *)&high : (const void *)&narrow, 1, n->flip,
                         j->chosen + at * n->size);
}

static void choose_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;

    for (int64_t unit = begin; unit < end; unit++) {
        take_piece(j, unit / j->nth.pieces, unit % j->nth.pieces);
        if (j->last && unit % j->nth.pieces == 0)
            put_last(j, unit / j->nth.pieces);
    }
}

static void order_rows(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t results = j->nth.count + j->last;

    for (int64_t row = begin; row < end; row++)
        for (int64_t k = row * results; k < (row + 1) * results; k++)
            j->order[k] = j->positions[row * results + j->finer[k]];
}

bool kiln__choose_suits_cpu(const kiln__sort *s, int64_t count)
{
    return s->length >= LENGTH_MIN && count > 0 && count <= s->length / SHARE && s->rows > 0 &&
           kiln__nth_suits(s);
}

kiln_status kiln__choose_rows_cpu(const kiln__sort *s, int64_t from, int64_t count, bool last,
                                  kiln_error *err)
{
    const int64_t results = s->rows * (count + last);
    kiln_array *memory[KILN__NTH_ARRAYS] = {NULL}, *chosen = NULL, *positions = NULL, *finer = NULL;
    kiln__sort few = *s;
    kiln_status status = KILN_OK;
    job j = {.order = s->order, .last = last};

    kiln__nth_begin(&j.nth, s, from, count);
    KILN_TRY(kiln__nth_rows(&j.nth, s, memory, err));
    KILN_TRY(kiln__sort_memory(s->ctx, s->stream, s->dtype, results, &chosen, err));
    KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, results, &positions, err));
    j.chosen = chosen->data;
    j.positions = positions->data;
    KILN_TRY(kiln__sort_launch(s, choose_pieces, &j, sizeof j, s->rows * j.nth.pieces, err));
    if (s->order != NULL)
        KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, results, &finer, err));
    few.length = count + last;
    few.keep = 0;
    few.keys = chosen->data;
    few.order = finer != NULL ? finer->data : NULL;
    KILN_TRY(kiln__sort_rows(&few, err));
    j.finer = few.order;
    if (s->order != NULL)
        KILN_TRY(kiln__sort_launch(s, order_rows, &j, sizeof j, s->rows, err));

done:
    for (int k = 0; k < KILN__NTH_ARRAYS; k++)
        kiln_array_release(memory[k]);
    kiln_array_release(chosen);
    kiln_array_release(positions);
    kiln_array_release(finer);
    return status;
}
