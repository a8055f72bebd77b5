/*
 * sort_halves.c - a long row of numbers that a few threads sort, on the cpu device.
 *
 *     row > [numbers, by pieces, unless they are there]
 *         > [each half is cut by the border in the middle of a sample]
 *         > [what is on the wrong side is exchanged] > [both sides are cut] > [and all four]
 *         > [eight parts are sorted and written] > [zeros and NaN restored]
 *
 * A cut is a partition of quick.h. So the row takes the steps of one thread's quicksort, the first
 * of which is shared by two threads, and each of the next ones by as many as it has parts.
 * sort_numbers.c calls this file where there are few threads; more of them share the first step
 * better by 64 parts.
 *
 * Rule: a captured program launches these entries again with other elements: nothing here depends
 *       on elements but what entries do.
 *
 * Tests: test_sort, difftest.
 */
#include "sorting/sort_numbers.h"

enum {
    PARTS = 8,
    SAMPLE = 128, /* elements of the sample for each part */
    READERS = 16  /* pieces whose numbers are read by one thread each */
};

typedef kiln__number_rows job;

/* Part k is numbers begins[k] to begins[k + 1] - 1, none greater than borders[k]. */
typedef struct plan {
    int64_t begins[PARTS + 1], borders[PARTS - 1];
    int64_t lefts[2]; /* of each half, how many numbers are not greater than the middle border */
    bool strange[READERS];
} plan;
_Static_assert(sizeof(plan) <= KILN__HALVES_PLAN, "a plan has its memory");

static char *number(const job *j, int64_t k)
{
    return j->target + k * j->width;
}

static int64_t value_at(const job *j, const void *numbers, int64_t k)
{
    return j->width == 8 ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
}

static void choose_borders(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    plan *const p = j->plan;
    const int64_t step = j->length / (SAMPLE * PARTS);
    int64_t sample[SAMPLE * PARTS];

    (void)begin;
    (void)end;
    for (int64_t k = 0; k < SAMPLE * PARTS; k++)
        memcpy((char *)sample + k * j->width, number(j, k * step + step / 2), (size_t)j->width);
    j->quick.sort(sample, SAMPLE * PARTS);
    for (int64_t k = 0; k < PARTS - 1; k++)
        p->borders[k] = value_at(j, sample, (k + 1) * SAMPLE);
    p->begins[0] = 0;
    p->begins[PARTS] = j->length;
}

static void read_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    plan *const p = j->plan;

    for (int64_t k = begin; k < end; k++) {
        const int64_t from = j->length * k / READERS, to = j->length * (k + 1) / READERS;
        p->strange[k] = kiln__number_rows_read(j, j->keys, from, to - from, number(j, from));
    }
}

static void cut_halves(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    plan *const p = j->plan;
    const int64_t half = j->length / 2;

    for (int64_t k = begin; k < end; k++)
        p->lefts[k] = j->quick.cut(number(j, k * half), k == 0 ? half : j->length - half,
                                   p->borders[PARTS / 2 - 1]);
}

/* Between what each half has on its left stands what the first one has on its right: one of the
 * two goes to the far end of the other. Each unit does a half of that. */
static void join_halves(const void *args, int64_t begin, int64_t end)
{
    enum { ROOM = 4096 };
    const job *j = args;
    plan *const p = j->plan;
    const int64_t half = j->length / 2, rights = half - p->lefts[0];
    const int64_t many = rights < p->lefts[1] ? rights : p->lefts[1];
    char *const low = number(j, p->lefts[0]), *const high = number(j, half + p->lefts[1] - many);
    char room[ROOM];

    for (int64_t at = many * begin / 2 * j->width, last = many * end / 2 * j->width, here;
         at < last; at += here) {
        here = last - at < ROOM ? last - at : ROOM;
        memcpy(room, low + at, (size_t)here);
        memcpy(low + at, high + at, (size_t)here);
        memcpy(high + at, room, (size_t)here);
    }
    if (begin == 0)
        p->begins[PARTS / 2] = p->lefts[0] + p->lefts[1];
}

/* Parts that are still as large as `span` of the last ones. */
static void cut_parts(const job *j, int64_t span, int64_t begin, int64_t end)
{
    plan *const p = j->plan;

    for (int64_t k = begin * span; k < end * span; k += span)
        p->begins[k + span / 2] =
            p->begins[k] + j->quick.cut(number(j, p->begins[k]), p->begins[k + span] - p->begins[k],
                                        p->borders[k + span / 2 - 1]);
}

static void cut_two(const void *args, int64_t begin, int64_t end)
{
    cut_parts(args, PARTS / 2, begin, end);
}

static void cut_four(const void *args, int64_t begin, int64_t end)
{
    cut_parts(args, PARTS / 4, begin, end);
}

static void sort_parts(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const plan *const p = j->plan;

    for (int64_t k = begin; k < end; k++) {
        const int64_t first = p->begins[k], count = p->begins[k + 1] - first;
        j->quick.sort(number(j, first), count);
        if (j->sorted == NULL && j->order == NULL)
            continue;
        kiln__number_rows_write(j, number(j, first), count,
                                j->sorted != NULL ? j->sorted + first * j->size : NULL,
                                j->order != NULL ? j->order + first * (j->wide ? 8 : 4) : NULL);
    }
}

static void finish(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const plan *const p = j->plan;
    bool strange = false;

    (void)begin;
    (void)end;
    for (int k = 0; k < READERS; k++)
        strange |= p->strange[k];
    if (strange && j->sorted != NULL)
        kiln__number_rows_restore(j, j->keys, j->sorted);
}

kiln_status kiln__number_rows_halves(const kiln__sort *s, const kiln__number_rows *row,
                                     kiln_error *err)
{
    static const struct {
        kiln__cpu_entry entry;
        int64_t units;
    } steps[] = {{read_pieces, READERS}, {choose_borders, 1}, {cut_halves, 2},     {join_halves, 2},
                 {cut_two, 2},           {cut_four, 4},       {sort_parts, PARTS}, {finish, 1}};

    for (size_t k = row->keys == NULL; k < KILN_COUNT_OF(steps) - (row->keys == NULL); k++)
        KILN_CHECK(kiln__sort_launch(s, steps[k].entry, row, sizeof *row, steps[k].units, err));
    return KILN_OK;
}
