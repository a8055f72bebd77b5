/*
 * choose_cpu.c - a few neighbours of the sorted order of each row, without sorting the rows, on the cpu device.
 *
 *     row > numbers > [quick.h finds the first and the last number that is wanted]
 *         > the elements from the one to the other, in the order of the row, and their places > [sorted] > results
 *
 * Rule: sorts are stable. Of elements whose number is the first or the last one, those are taken whose places in the row
 *       put them into the wanted part of the sorted order; elements are copied as they are, -0 and NaN among them.
 */
#include "sorting/sorting.h"

enum {
    BLOCK = 1024,      /* elements that are numbers at once */
    PART = 64,         /* of which so many are looked at together */
    COUNTED = 1 << 20, /* numbers that are counted at once */
    NEAR = 2048,       /* numbers of a row that stand on the stack */
    LENGTH_MIN = 512,  /* shorter rows are sorted as fast */
    SHARE = 4,         /* at most such a part of a row is chosen */
    THREADS_MOST = 8 /* with more, they sort a long row together faster than one chooses from it */
};

typedef struct job {
    kiln__numbers numbers;
    kiln__quick quick;
    const char *keys;
    char *scratch;        /* numbers of rows; NULL: rows are short */
    char *chosen;         /* rows of `count` elements, and one more where the greatest is wanted */
    int64_t *places;      /* where they stand in their row; rows of one more than that */
    const int64_t *finer; /* the order of those; NULL: not wanted */
    int64_t *order;
    int64_t length, from, count, flip;
    uint64_t infinity;
    int size, width; /* bytes of an element, of a number */
    bool last;
} job;

/* What is taken of a row: all between the numbers `low` and `high`, of those that have the number `low` so many after
 * `skipped`, and of those that have the other one so many. */
typedef struct range {
    int64_t low, high, skipped, lows, highs;
} range;

static int64_t number_at(const job *j, const void *numbers, int64_t k)
{
    return j->width == 8 ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
}

/* How many of the numbers `begin` to `end` - 1 are that one. */
static int64_t count_of(const job *j, const char *numbers, int64_t begin, int64_t end,
                        int64_t number)
{
    int64_t many = 0;

    for (int64_t k = begin; k < end; k += COUNTED) {
        const int64_t here = end - k < COUNTED ? end - k : COUNTED;
        many += j->numbers.within(numbers + k * j->width, here, number, number);
    }
    return many;
}

static range find_range(const job *j, const char *keys, void *numbers)
{
    const int64_t end = j->from + j->count;
    range r = {0};

    j->numbers.read(keys, j->length, j->flip, j->infinity, numbers);
    j->quick.settle(numbers, j->length, j->from, end);
    r.low = number_at(j, numbers, j->from);
    r.high = number_at(j, numbers, end - 1);
    r.skipped = count_of(j, numbers, 0, j->from, r.low);
    r.lows = count_of(j, numbers, j->from, end, r.low);
    r.highs = count_of(j, numbers, j->from, end, r.high);
    return r;
}

/* What has been taken of a row, and seen of it. */
typedef struct taker {
    int64_t *places;
    int64_t taken, lows, highs, top, top_at;
} taker;

/* Of numbers `first` to `first` + count - 1 of the row. */
static void take_some(const job *j, const range *r, const void *numbers, int64_t first,
                      int64_t count, taker *t)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = number_at(j, numbers, k);
        bool takes = n > r->low && n < r->high;
        if (n >= t->top) {
            t->top = n;
            t->top_at = first + k;
        }
        if (n == r->low) {
            takes = t->lows >= r->skipped && t->lows < r->skipped + r->lows;
            t->lows++;
        } else if (n == r->high) {
            takes = t->highs++ < r->highs;
        }
        t->places[t->taken] = first + k;
        t->taken += takes;
    }
}

/* Places of what is taken, and of the last of the greatest elements where that is wanted. Few parts of a row hold any. */
static void take_range(const job *j, const char *keys, const range *r, int64_t *places)
{
    const int64_t most = j->width == 8 ? INT64_MAX : INT32_MAX;
    taker t = {.places = places, .top = j->last ? -most - 1 : most};
    int64_t block[BLOCK];

    for (int64_t begin = 0; begin < j->length; begin += BLOCK) {
        const int64_t here = j->length - begin < BLOCK ? j->length - begin : BLOCK;
        j->numbers.read(keys + begin * j->size, here, j->flip, j->infinity, block);
        for (int64_t k = 0; k < here; k += PART) {
            const int64_t some = here - k < PART ? here - k : PART;
            const char *const part = (const char *)block + k * j->width;
            if (j->numbers.within(part, some, r->low, r->high) != 0 ||
                j->numbers.within(part, some, t.top, most) != 0)
                take_some(j, r, part, begin + k, some, &t);
        }
    }
    if (j->last)
        places[t.taken] = t.top_at;
}

static void choose_rows(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t results = j->count + j->last;
    int64_t near[NEAR];

    for (int64_t row = begin; row < end; row++) {
        const char *const keys = j->keys + row * j->length * j->size;
        void *const numbers =
            j->scratch != NULL ? (void *)(j->scratch + row * j->length * j->width) : near;
        const range r = find_range(j, keys, numbers);
        int64_t *const places = j->places + row * (results + 1);
        char *const chosen = j->chosen + row * results * j->size;
        take_range(j, keys, &r, places);
        for (int64_t k = 0; k < results; k++)
            memcpy(chosen + k * j->size, keys + places[k] * j->size, (size_t)j->size);
    }
}

static void order_rows(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t results = j->count + j->last;

    for (int64_t row = begin; row < end; row++)
        for (int64_t k = row * results; k < (row + 1) * results; k++)
            j->order[k] = j->places[row * (results + 1) + j->finer[k]];
}

static bool find_functions(const kiln__sort *s, job *j)
{
    const char *const target = kiln__cpu_target();

    return kiln__numbers_of(target, s->dtype, &j->numbers) &&
           kiln__quick_of(target, kiln_dtype_size(s->dtype) == 8 ? 64 : 32, &j->quick);
}

bool kiln__choose_suits_cpu(const kiln__sort *s, int64_t count)
{
    const int threads = kiln__device_info(kiln__context_device(s->ctx))->unit_count;
    job j;

    return s->length >= LENGTH_MIN && count > 0 && count <= s->length / SHARE && s->rows > 0 &&
           (threads <= THREADS_MOST || s->rows >= threads) && find_functions(s, &j);
}

static kiln_status launch(const kiln__sort *s, kiln__cpu_entry entry, const job *j, kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = s->rows, .block = 1};
    return kiln__launch(kiln__context_device(s->ctx), (void *)(uintptr_t)entry, &config, j,
                        sizeof *j, s->stream, err);
}

kiln_status kiln__choose_rows_cpu(const kiln__sort *s, int64_t from, int64_t count, bool last,
                                  kiln_error *err)
{
    const int size = (int)kiln_dtype_size(s->dtype), width = size == 8 ? 8 : 4;
    const int64_t results = s->rows * (count + last);
    kiln_array *scratch = NULL, *chosen = NULL, *places = NULL, *finer = NULL;
    kiln__sort few = *s;
    kiln_status status = KILN_OK;
    job j = {.keys = s->keys,
             .order = s->order,
             .length = s->length,
             .from = from,
             .count = count,
             .flip = s->descending ? -1 : 0,
             .infinity = kiln__place_infinity(s->dtype),
             .size = size,
             .width = width,
             .last = last};

    (void)find_functions(s, &j); /* kiln__choose_suits_cpu() has said so */
    if (s->length > NEAR)
        KILN_TRY(kiln__sort_room(s->ctx, s->stream, width == 8 ? KILN_INT64 : KILN_INT32,
                                 s->rows * s->length, &scratch, err));
    KILN_TRY(kiln__sort_room(s->ctx, s->stream, s->dtype, results, &chosen, err));
    KILN_TRY(kiln__sort_room(s->ctx, s->stream, KILN_INT64, results + s->rows, &places, err));
    j.scratch = scratch != NULL ? scratch->data : NULL;
    j.chosen = chosen->data;
    j.places = places->data;
    KILN_TRY(launch(s, choose_rows, &j, err));
    if (s->order != NULL)
        KILN_TRY(kiln__sort_room(s->ctx, s->stream, KILN_INT64, results, &finer, err));
    few.length = count + last;
    few.keep = 0;
    few.keys = chosen->data;
    few.order = finer != NULL ? finer->data : NULL;
    KILN_TRY(kiln__sort_rows(&few, err));
    j.finer = few.order;
    if (s->order != NULL)
        KILN_TRY(launch(s, order_rows, &j, err));

done:
    kiln_array_release(scratch);
    kiln_array_release(chosen);
    kiln_array_release(places);
    kiln_array_release(finer);
    return status;
}
