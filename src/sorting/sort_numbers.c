/*
 * sort_numbers.c - sorts of real elements on the cpu device as integers, where the processor has
 * vectors for that.
 *
 *     rows, a row a unit:       [read] > numbers > [sorted by quick.c; or 8 and 16 bits: counted]
 *                                      > [write]
 *     long rows, several units: [sample] > [parts by value] > [move] > [sort each part] > [restore]
 *
 * Where the order is wanted, numbers of 32 bits are sorted with their positions, as integers of 64
 * bits; sort_order.c finds the order of numbers of 64 bits. float64 without the order is sorted as
 * double, with infinity in place of NaN, except for long rows that several threads share, few of
 * them as sort_halves.c does it.
 *
 * Rule 1: numbers are equal for -0 and +0, and for all NaN. Rows that hold such elements are
 *         restored: zeros and NaN are neighbours in the result, and are copied there in the order
 *         of the row.
 * Rule 2: a captured program launches these entries again with other elements. So what is enqueued
 *         must not depend on the elements; what an entry does may.
 *
 * sort_cpu.c calls this file. Tests: test_sort, test_select.
 */
#include "sorting/sort_numbers.h"

enum {
    BLOCK = KILN__NUMBERS_BLOCK,
    NEAR = 2048,            /* numbers of a row that stand on the stack */
    SHORT = 256,            /* elements of rows that become numbers together */
    COUNTED_8 = 1025,       /* elements of 8 bits from which on they are counted */
    COUNTED_16 = 1 << 17,   /* of 16 bits */
    COUNTED_LONG = 1 << 17, /* for each thread that counts, and each byte of an element */
    CHUNK = 4 * BLOCK,
    SAMPLE = 128, /* elements of the sample for each part */
    LINE = 16,    /* numbers between parts: equal ones do not begin alike in pages */
    PARTS = KILN__QUICK_PARTS,
    PIECES_MAX = 64,
    LONG_BYTES = 1 << 20,
    HALVES_BYTES = 1 << 17, /* the same where few threads share a row */
    /* With more, passes over one long row of 8-byte keys are faster than one thread's order. */
    ORDER_THREADS = 6
};

/* What long rows need between launches: where each piece has scratch memory for each part, how many
 * numbers are there, and the borders of the parts. */
typedef struct plan {
    int64_t begins[PIECES_MAX][PARTS], counts[PIECES_MAX][PARTS], most[PARTS];
    int64_t borders[PARTS], tree[PARTS]; /* of 32 or 64 bits each */
    bool strange[PIECES_MAX], full[PIECES_MAX];
} plan;

typedef kiln__number_rows job;

static plan *plan_of(const job *j)
{
    return j->plan;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void sort_some(const job *j, void *numbers, int64_t count)
{
    if (j->reals != NULL)
        j->reals(numbers, count);
    else
        j->quick.sort(numbers, count);
}

/* ---- counting -------------------------------------------------------------------------------- */

static int64_t values_of(const job *j)
{
    return j->size == 1 ? 256 : 65536;
}

/* Descending, numbers of unsigned elements end below 0. */
static int64_t lowest_of(const job *j)
{
    return j->kind != 'u' ? -values_of(j) / 2 : j->flip != 0 ? -values_of(j) : 0;
}

/* Count numbers of 8 or 16 bits: those of floating-point elements that are NaN count as the
 * greatest one. */
static bool count_some(const job *j, const char *keys, int64_t begin, int64_t end, uint64_t *counts)
{
    const int64_t values = values_of(j), lowest = lowest_of(j);
    int32_t block[BLOCK];
    bool strange = false;

    memset(counts, 0, (size_t)values * sizeof *counts);
    for (int64_t at = begin; at < end; at += BLOCK) {
        const int64_t here = end - at < BLOCK ? end - at : BLOCK;
        strange |= j->numbers.read(keys + at * j->size, here, j->flip, j->infinity, block);
        for (int64_t k = 0; k < here; k++) {
            const int64_t v = block[k] - lowest;
            counts[v < values ? v : values - 1]++;
        }
    }
    return strange;
}

/* From how often each number occurs to where it begins. */
static void begin_numbers(const job *j, uint64_t *counts)
{
    uint64_t before = 0;

    for (int64_t v = 0; v < values_of(j); v++) {
        const uint64_t here = counts[v];
        counts[v] = before;
        before += here;
    }
}

/* Sorted elements `begin` to `end` - 1, from where each number begins. */
static void write_counted(const job *j, const uint64_t *begins, int64_t begin, int64_t end,
                          char *sorted)
{
    const int64_t values = values_of(j), lowest = lowest_of(j);
    int64_t v = 0, many;
    int32_t block[BLOCK];

    for (int64_t step = values / 2; step > 0; step /= 2)
        v += (int64_t)begins[v + step] <= begin ? step : 0;
    for (int64_t at = begin; at < end; at += many) {
        const int64_t stop = end - at < BLOCK ? end : at + BLOCK;
        for (many = 0; at + many < stop;) {
            const int64_t next = v + 1 < values ? (int64_t)begins[v + 1] : j->length;
            const int64_t until = next < stop ? next : stop;
            for (; at + many < until; many++)
                block[many] = (int32_t)(v + lowest);
            v += next <= stop && v + 1 < values;
        }
        j->numbers.write(block, many, j->flip, sorted + at * j->size);
    }
}

static void sort_counting(const job *j, const char *keys, char *sorted, uint64_t *counts)
{
    const bool strange = count_some(j, keys, 0, j->length, counts);

    begin_numbers(j, counts);
    write_counted(j, counts, 0, j->length, sorted);
    if (strange)
        kiln__number_rows_restore(j, keys, sorted);
}

/* A long row, by several threads: each counts a piece of the elements, and writes a piece of the
 * sorted ones. */
static uint64_t *counts_of(const job *j, int64_t piece)
{
    return (uint64_t *)(void *)j->scratch + piece * values_of(j);
}

static void count_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;

    for (int64_t piece = begin; piece < end; piece++)
        plan_of(j)->strange[piece] =
            count_some(j, j->keys, j->length / j->pieces * piece,
                       piece + 1 == j->pieces ? j->length : j->length / j->pieces * (piece + 1),
                       counts_of(j, piece));
}

static void join_counts(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    uint64_t *const counts = counts_of(j, 0);

    (void)begin;
    (void)end;
    for (int64_t piece = 1; piece < j->pieces; piece++)
        for (int64_t v = 0; v < values_of(j); v++)
            counts[v] += counts_of(j, piece)[v];
    begin_numbers(j, counts);
}

static void write_pieces(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;

    for (int64_t piece = begin; piece < end; piece++)
        write_counted(j, counts_of(j, 0), j->length / j->pieces * piece,
                      piece + 1 == j->pieces ? j->length : j->length / j->pieces * (piece + 1),
                      j->sorted);
}

static void restore_counted(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    bool strange = false;

    (void)begin;
    (void)end;
    for (int64_t piece = 0; piece < j->pieces; piece++)
        strange |= plan_of(j)->strange[piece];
    if (strange)
        kiln__number_rows_restore(j, j->keys, j->sorted);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void sort_row(const job *j, int64_t row)
{
    const char *const keys = j->keys + row * j->length * j->size;
    char *const sorted = j->sorted != NULL ? j->sorted + row * j->length * j->size : NULL;
    char *const order = j->order != NULL ? j->order + row * j->length * (j->wide ? 8 : 4) : NULL;
    uint64_t counts[256];
    int64_t near[NEAR];
    void *numbers = near;

    if (order == NULL && (j->size == 1 && j->length >= COUNTED_8)) {
        sort_counting(j, keys, sorted, counts);
        return;
    }
    if (order != NULL ? j->wide : j->size >= 4)
        numbers = order != NULL ? order : sorted;
    else if (j->length > NEAR)
        numbers = j->scratch + row * j->length * j->width;
    if (order == NULL && j->size == 2 && j->length >= COUNTED_16) {
        sort_counting(j, keys, sorted, numbers);
        return;
    }
    const bool strange = kiln__number_rows_read(j, keys, 0, j->length, numbers);
    sort_some(j, numbers, j->length);
    kiln__number_rows_write(j, numbers, j->length, sorted, order);
    if (strange && sorted != NULL)
        kiln__number_rows_restore(j, keys, sorted);
}

/* Short rows become numbers together, and elements again. False: one of them holds -0 or NaN. */
static bool sort_short(const job *j, int64_t row, int64_t rows)
{
    const char *const keys = j->keys + row * j->length * j->size;
    char *const sorted = j->sorted + row * j->length * j->size;
    int64_t near[NEAR];
    char *const numbers = j->size >= 4 ? sorted : (char *)near;

    if (kiln__number_rows_read(j, keys, 0, rows * j->length, numbers))
        return false;
    for (int64_t r = 0; r < rows; r++)
        sort_some(j, numbers + r * j->length * j->width, j->length);
    kiln__number_rows_write(j, numbers, rows * j->length, sorted, NULL);
    return true;
}

static void sort_rows(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t together = j->order == NULL && j->length <= SHORT ? NEAR / j->length : 1;

    for (int64_t row = begin; row < end; row += together) {
        const int64_t rows = end - row < together ? end - row : together;
        if (together == 1 || !sort_short(j, row, rows))
            for (int64_t r = 0; r < rows; r++)
                sort_row(j, row + r);
    }
}

/* ---- long rows ------------------------------------------------------------------------------- */

static int64_t border_at(const job *j, const void *borders, int64_t k)
{
    return j->width == 8 ? ((const int64_t *)borders)[k] : ((const int32_t *)borders)[k];
}

static void put_border(const job *j, void *borders, int64_t k, int64_t value)
{
    if (j->width == 8)
        ((int64_t *)borders)[k] = value;
    else
        ((int32_t *)borders)[k] = (int32_t)value;
}

/* The tree beneath node `k`, of borders `low` to `high` - 1. */
static void plant(const job *j, int64_t k, int64_t low, int64_t high)
{
    const int64_t middle = (low + high) / 2;

    put_border(j, plan_of(j)->tree, k, border_at(j, plan_of(j)->borders, middle));
    if (high - low > 1) {
        plant(j, 2 * k, low, middle);
        plant(j, 2 * k + 1, middle + 1, high);
    }
}

/* Borders that part a sorted sample evenly. Where a number occurs twice among them, the first
 * becomes the number before: then a part holds nothing else. */
static void choose_borders(const job *j, const void *sample)
{
    void *const borders = plan_of(j)->borders;

    for (int64_t k = 0; k < PARTS - 1; k++)
        put_border(j, borders, k, border_at(j, sample, (k + 1) * SAMPLE));
    for (int64_t k = 0; k + 1 < PARTS - 1; k++) {
        const int64_t here = border_at(j, borders, k);
        if (here == (j->width == 8 ? INT64_MIN : INT32_MIN) || here != border_at(j, borders, k + 1))
            continue;
        if (k == 0 || border_at(j, borders, k - 1) < here - 1)
            put_border(j, borders, k, here - 1);
    }
    plant(j, 1, 0, PARTS - 1);
}

/* Each piece has room for as many elements of a part as the sample makes likely, and more: a half
 * of what it has on average, and a quarter of what is expected. The numbers of a block are moved
 * before anybody looks. */
static void plan_parts(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t step = j->length / (SAMPLE * PARTS), each = j->length / j->pieces + CHUNK;
    int64_t sample[SAMPLE * PARTS], counts[PARTS] = {0}, at = 0;
    uint8_t parts[SAMPLE * PARTS];

    (void)begin;
    (void)end;
    for (int64_t k = 0; k < SAMPLE * PARTS; k++)
        kiln__number_rows_read(j, j->keys, k * step + step / 2, 1, (char *)sample + k * j->width);
    j->quick.sort(sample, SAMPLE * PARTS);
    choose_borders(j, sample);
    j->quick.classify(sample, SAMPLE * PARTS, plan_of(j)->tree, parts);
    for (int64_t k = 0; k < SAMPLE * PARTS; k++)
        counts[parts[k]]++;
    for (int64_t piece = 0; piece < j->pieces; piece++)
        for (int64_t p = 0; p < PARTS; p++) {
            const int64_t likely = each * counts[p] / (SAMPLE * PARTS);
            plan_of(j)->begins[piece][p] = at;
            plan_of(j)->most[p] = likely + likely / 4 + each / (4 * PARTS);
            at += plan_of(j)->most[p] + BLOCK + LINE;
        }
}

static int64_t scratch_count(const job *j)
{
    const int64_t each = j->length / j->pieces + CHUNK;
    return j->pieces * (each + each / 4 + each / 4 + PARTS * (BLOCK + LINE));
}

/* Move the numbers of a piece, which is every so many chunks of the row, to where the piece has
 * room for each part. */
static void move_parts(const job *j, int64_t piece)
{
    plan *const p = j->plan;
    int64_t block[BLOCK], starts[PARTS];
    uint8_t parts[BLOCK];
    bool strange = false, full = false;

    memcpy(starts, p->begins[piece], sizeof starts);
    for (int64_t chunk = piece * CHUNK; chunk < j->length; chunk += j->pieces * CHUNK)
        for (int64_t at = chunk; at < chunk + CHUNK && at < j->length && !full; at += BLOCK) {
            const int64_t here = j->length - at < BLOCK ? j->length - at : BLOCK;
            strange |= kiln__number_rows_read(j, j->keys, at, here, block);
            j->quick.classify(block, here, p->tree, parts);
            if (j->width == 8)
                for (int64_t k = 0; k < here; k++)
                    ((int64_t *)(void *)j->scratch)[starts[parts[k]]++] = block[k];
            else
                for (int64_t k = 0; k < here; k++)
                    ((int32_t *)(void *)j->scratch)[starts[parts[k]]++] = ((int32_t *)block)[k];
            for (int k = 0; k < PARTS; k++)
                full |= starts[k] - p->begins[piece][k] > p->most[k];
        }
    for (int k = 0; k < PARTS; k++)
        p->counts[piece][k] = starts[k] - p->begins[piece][k];
    p->strange[piece] = strange;
    p->full[piece] = full;
}

static void move_pieces(const void *args, int64_t begin, int64_t end)
{
    for (int64_t piece = begin; piece < end; piece++)
        move_parts(args, piece);
}

static bool is_full(const job *j)
{
    bool full = false;

    for (int64_t piece = 0; piece < j->pieces; piece++)
        full |= plan_of(j)->full[piece];
    return full;
}

/* Bring a part's numbers together where they belong, and sort them. */
static void sort_part(const job *j, int part)
{
    const plan *const p = j->plan;
    int64_t first = 0, count = 0;

    for (int64_t piece = 0; piece < j->pieces; piece++)
        for (int k = 0; k < part; k++)
            first += p->counts[piece][k];
    char *const numbers = j->target + first * j->width;
    for (int64_t piece = 0; piece < j->pieces; piece++) {
        memcpy(numbers + count * j->width, j->scratch + p->begins[piece][part] * j->width,
               (size_t)(p->counts[piece][part] * j->width));
        count += p->counts[piece][part];
    }
    const bool same =
        part > 0 && part < PARTS - 1 &&
        (uint64_t)border_at(j, p->borders, part) - (uint64_t)border_at(j, p->borders, part - 1) <=
            1;
    if (!same)
        j->quick.sort(numbers, count);
    kiln__number_rows_write(j, numbers, count,
                            j->sorted != NULL ? j->sorted + first * j->size : NULL,
                            j->order != NULL ? j->order + first * (j->wide ? 8 : 4) : NULL);
}

static void sort_parts(const void *args, int64_t begin, int64_t end)
{
    for (int64_t part = begin; part < end && !is_full(args); part++)
        sort_part(args, (int)part);
}

/* What is left: a row whose parts were not as large as the sample made likely, zeros and NaN. */
static void finish_long(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    bool strange = false;

    (void)begin;
    (void)end;
    if (is_full(j)) {
        strange = kiln__number_rows_read(j, j->keys, 0, j->length, j->target);
        j->quick.sort(j->target, j->length);
        kiln__number_rows_write(j, j->target, j->length, j->sorted, j->order);
    }
    for (int64_t piece = 0; piece < j->pieces; piece++)
        strange |= plan_of(j)->strange[piece];
    if (strange && j->sorted != NULL)
        kiln__number_rows_restore(j, j->keys, j->sorted);
}

/* ---- launches -------------------------------------------------------------------------------- */

static kiln_status sort_long(const kiln__sort *s, const job *whole, int64_t row, bool few,
                             kiln_error *err)
{
    job j = *whole;

    j.keys += row * j.length * j.size;
    j.sorted += j.sorted != NULL ? row * j.length * j.size : 0;
    j.order += j.order != NULL ? row * j.length * (j.wide ? 8 : 4) : 0;
    j.target = j.target != NULL ? j.target : j.order != NULL ? j.order : j.sorted;
    if (few)
        return kiln__number_rows_halves(s, &j, err);
    KILN_CHECK(kiln__sort_launch(s, plan_parts, &j, sizeof j, 1, err));
    KILN_CHECK(kiln__sort_launch(s, move_pieces, &j, sizeof j, j.pieces, err));
    KILN_CHECK(kiln__sort_launch(s, sort_parts, &j, sizeof j, PARTS, err));
    return kiln__sort_launch(s, finish_long, &j, sizeof j, 1, err);
}

/* Memory of a call; what it does not need stays NULL. */
typedef struct memory {
    kiln_array *scratch, *target, *plans;
} memory;

static kiln_dtype number_dtype(const job *j)
{
    return j->width == 8 ? KILN_INT64 : KILN_INT32;
}

/* Whether numbers stand in the memory of the results before these do: they are as wide. */
static bool in_results(const job *j)
{
    return j->order != NULL ? j->wide : j->size >= 4;
}

/* Each row is counted by all threads. */
static kiln_status count_rows(const kiln__sort *s, job *j, memory *m, kiln_error *err)
{
    KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, j->pieces * values_of(j),
                                 &m->scratch, err));
    KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8, sizeof(plan), &m->plans, err));
    j->scratch = m->scratch->data;
    j->plan = m->plans->data;
    for (int64_t row = 0; row < s->rows; row++) {
        KILN_CHECK(kiln__sort_launch(s, count_pieces, j, sizeof *j, j->pieces, err));
        KILN_CHECK(kiln__sort_launch(s, join_counts, j, sizeof *j, 1, err));
        KILN_CHECK(kiln__sort_launch(s, write_pieces, j, sizeof *j, j->pieces, err));
        KILN_CHECK(kiln__sort_launch(s, restore_counted, j, sizeof *j, 1, err));
        j->keys += j->length * j->size;
        j->sorted += j->length * j->size;
    }
    return KILN_OK;
}

/* Each row is sorted by one thread. */
static kiln_status sort_each(const kiln__sort *s, job *j, bool counted, memory *m, kiln_error *err)
{
    if (s->length > NEAR && !in_results(j) && !(counted && j->size == 1))
        KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, number_dtype(j), s->rows * s->length,
                                     &m->scratch, err));
    j->scratch = m->scratch != NULL ? m->scratch->data : NULL;
    return kiln__sort_launch(s, sort_rows, j, sizeof *j, s->rows, err);
}

/* Each row is cut into parts, which all threads sort. */
static kiln_status sort_in_parts(const kiln__sort *s, job *j, bool few, memory *m, kiln_error *err)
{
    if (!in_results(j))
        KILN_CHECK(
            kiln__sort_memory(s->ctx, s->stream, number_dtype(j), s->length, &m->target, err));
    if (!few)
        KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, number_dtype(j), scratch_count(j),
                                     &m->scratch, err));
    KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8,
                                 few ? KILN__HALVES_PLAN : sizeof(plan), &m->plans, err));
    j->target = m->target != NULL ? m->target->data : NULL;
    j->scratch = m->scratch != NULL ? m->scratch->data : NULL;
    j->plan = m->plans->data;
    for (int64_t row = 0; row < s->rows; row++)
        KILN_CHECK(sort_long(s, j, row, few, err));
    return KILN_OK;
}

/* Functions for the sort; false: sort_cpu.c has better ones. */
static bool find_functions(const kiln__sort *s, int threads, job *j)
{
    const char *const target = kiln__cpu_target();
    const int size = (int)kiln_dtype_size(s->dtype);

    if (s->order != NULL && (s->length > UINT32_MAX || s->digits != 0))
        return false;
    if (s->order != NULL && size == 8 && s->rows < threads && threads > ORDER_THREADS)
        return false;
    return kiln__numbers_of(target, s->dtype, &j->numbers) &&
           kiln__quick_of(target, s->order != NULL || size == 8 ? 64 : 32, &j->quick);
}

kiln_status kiln__sort_rows_numbers(const kiln__sort *s, bool *done, kiln_error *err)
{
    const int threads = kiln__device_info(kiln__context_device(s->ctx))->unit_count;
    const int size = (int)kiln_dtype_size(s->dtype), width = s->order != NULL || size == 8 ? 8 : 4;
    memory m = {NULL, NULL, NULL};
    kiln_status status = KILN_OK;
    job j = {.keys = s->keys,
             .sorted = s->sorted,
             .order = s->order,
             .rows = s->rows,
             .length = s->length,
             .flip = s->descending ? -1 : 0,
             .infinity = kiln__radix_infinity(s->dtype),
             .size = size,
             .width = width,
             .wide = s->wide,
             .kind = kiln_dtype_kind(s->dtype),
             .pieces = threads < PIECES_MAX ? threads : PIECES_MAX};

    *done = find_functions(s, threads, &j);
    if (!*done)
        return KILN_OK;
    const bool pairs = s->order != NULL && size == 8;
    const bool counted = s->order == NULL && (size == 1 || (size == 2 && s->length >= COUNTED_16));
    const bool shared = counted && s->rows < threads && s->length / j.pieces >= COUNTED_LONG * size;
    const bool few = threads <= kiln__tuned("KILN_TUNE_SORT_HALVES", KILN__HALVES_THREADS);
    const bool split =
        !counted && !pairs && threads > 1 && s->length >= SAMPLE * PARTS &&
        s->length * width >= kiln__tuned("KILN_TUNE_SORT_LONG", few ? HALVES_BYTES : LONG_BYTES);
    if (j.kind == 'f' && size == 8 && s->order == NULL && !split)
        j.reals = kiln__quick_reals_of(kiln__cpu_target());
    status = pairs    ? kiln__number_rows_order(s, &j, err)
             : shared ? count_rows(s, &j, &m, err)
             : split  ? sort_in_parts(s, &j, few, &m, err)
                      : sort_each(s, &j, counted, &m, err);
    kiln_array_release(m.scratch);
    kiln_array_release(m.target);
    kiln_array_release(m.plans);
    return status;
}
