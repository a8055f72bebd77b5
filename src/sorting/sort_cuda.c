/*
 * sort_cuda.c - stable sort of rows on CUDA devices, by the kernels of templates/sorting/.
 *
 *     rows of some lanes    > short.cu: one launch, many rows a block
 *     rows that fit a block > rows.cu: one launch, a row a block
 *     longer ones           > count.cu: all digits > sweep.cu: one launch a digit
 *
 * The structs of arguments are those of the templates.
 */
#include <stdio.h>

#include "sorting/sorting.h"

enum {
    COUNT_PARTS = 512, /* blocks that count a row, at most */
    COUNT_LONG =
        1
        << 20, /* elements of a row that is counted by as many blocks as the device has multiprocessors */
    SHORT_THREADS = 128,
    SHORT_ROW = 256,
    FEW = 1 << 19, /* fewer elements: short tiles, so that more multiprocessors take part */
    FEW_ITEMS = 4,
    PLANNED = 1 << 18, /* fewer elements: planning passes takes longer than it saves */
    STATIC_BYTES =
        3 << 10, /* of shared memory that kernels have beside what launches give, at most */
    POSITIONS_32 = 1 << 30 /* longest row, in units of 4 elements, whose positions have 32 bits */
};

/* ---- kernels ------------------------------------------------------------------------------------- */

KILN_PRINTF(2, 3) void kiln__sort_define(kiln__sort_macros *m, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(m->text[m->count], sizeof m->text[0], fmt, ap);
    va_end(ap);
    m->list[m->count] = m->text[m->count];
    m->count++;
}

static const char *unsigned_of(size_t bytes)
{
    return bytes == 1   ? "unsigned char"
           : bytes == 2 ? "unsigned short"
           : bytes == 4 ? "unsigned int"
           : bytes == 8 ? "unsigned long long"
                        : "two_words";
}

void kiln__sort_define_keys(kiln__sort_macros *m, const kiln__sort *s)
{
    const kiln__radix_kind kind = kiln__radix_kind_of(s->dtype);
    const size_t bytes = kiln_dtype_size(s->dtype),
                 part = bytes / (kind == KILN__RADIX_COMPLEX ? 2 : 1);

    m->count = 0;
    kiln__sort_define(m, "-DKILN__WORD=%s", unsigned_of(bytes));
    kiln__sort_define(m, "-DKILN__PART=%s", unsigned_of(part));
    kiln__sort_define(m, "-DKILN__KIND=%d", (int)kind);
    kiln__sort_define(m, "-DKILN__INFINITY=%lluull",
                      (unsigned long long)kiln__radix_infinity(s->dtype));
    kiln__sort_define(m, "-DKILN__DOWN=%d", s->descending ? 1 : 0);
}

kiln_status kiln__sort_kernel(const kiln__sort *s, const char *file, const char *entry,
                              const kiln__sort_macros *m, void **out, kiln_error *err)
{
    const kiln__own_request request = {
        .file = file, .entry = entry, .macros = m->list, .macro_count = m->count};
    return kiln__own_kernel(s->ctx, &request, out, err);
}

static kiln_status launch(const kiln__sort *s, void *entry, int64_t blocks, int threads,
                          size_t room, const void *args, size_t bytes, kiln_error *err)
{
    const kiln__launch_config config = {
        .grid_x = blocks, .block = (uint32_t)threads, .shared_bytes = (uint32_t)room};
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, args, bytes, s->stream, err);
}

/* Of shared memory, what a launch may give a block. */
static size_t room_most(const kiln__sort *s)
{
    kiln__raw_limits limits;

    if (kiln__raw_limits_get(kiln__context_device(s->ctx), &limits, NULL) != KILN_OK)
        return (48 << 10) - STATIC_BYTES;
    return limits.shared_bytes - STATIC_BYTES;
}

/* Sorted elements, their positions, if there are any, and the counts of digits of each warp (templates/sorting/tile.cu). */
static size_t room_of(const kiln__sort *s, int threads, int items, size_t position_bytes)
{
    const size_t along = s->order != NULL ? position_bytes : 0;

    return (size_t)threads * (size_t)items * (kiln_dtype_size(s->dtype) + along) +
           (size_t)threads / 32 * 256 * 4;
}

static int digits_of(const kiln__sort *s)
{
    return s->digits != 0 ? s->digits : kiln__radix_digits(s->dtype);
}

/* ---- rows of some lanes ---------------------------------------------------------------------------- */

typedef struct short_call {
    const void *keys;
    void *sorted, *order;
    int64_t rows;
    int32_t length, wide, keep;
} short_call;

static int64_t kept(const kiln__sort *s)
{
    return s->keep > 0 ? s->keep : s->length;
}

static kiln_status sort_in_lanes(const kiln__sort *s, kiln_error *err)
{
    const short_call call = {.keys = s->keys,
                             .sorted = s->sorted,
                             .order = s->order,
                             .rows = s->rows,
                             .length = (int32_t)s->length,
                             .wide = s->wide,
                             .keep = (int32_t)kept(s)};
    const size_t bytes = kiln_dtype_size(s->dtype);
    int lanes = 2, items = s->length > 16 ? s->length > 64 ? 8 : 4 : 2;
    kiln__sort_macros m;
    void *entry = NULL;

    while (lanes * items < s->length)
        lanes *= 2;
    kiln__sort_define_keys(&m, s);
    kiln__sort_define(&m, "-DKILN__THREADS=%d", SHORT_THREADS);
    kiln__sort_define(&m, "-DKILN__LANES=%d", lanes);
    kiln__sort_define(&m, "-DKILN__ITEMS=%d", items);
    kiln__sort_define(&m, "-DKILN__PACKED=%d", bytes <= 2 ? 32 : bytes == 4 ? 64 : 0);
    kiln__sort_define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    KILN_CHECK(kiln__sort_kernel(s, "sorting/short.cu", "kiln_sort_short", &m, &entry, err));
    return launch(s, entry, kiln__blocks(s->rows, SHORT_THREADS / lanes), SHORT_THREADS, 0, &call,
                  sizeof call, err);
}

/* ---- rows that fit a block ----------------------------------------------------------------------- */

typedef struct rows_call {
    const void *keys;
    void *sorted, *order;
    int32_t length, wide, from, digits, keep;
} rows_call;

/* A block for rows of some length. */
typedef struct block {
    int threads, items; /* no threads: they do not fit */
    size_t room;
} block;

static block fit_rows(const kiln__sort *s)
{
    const size_t bytes = kiln_dtype_size(s->dtype);
    block b = {.threads = s->length <= (bytes <= 8 ? 2048 : 1024)                    ? 128
                          : s->length <= 4096 && s->length * (int64_t)bytes <= 32768 ? 256
                                                                                     : 512,
               .items = 1};

    while ((int64_t)b.threads * b.items < s->length && b.items <= 32)
        b.items *= 2;
    b.room = room_of(s, b.threads, b.items, 2);
    if (b.items > 32 || (size_t)b.items * bytes > 128 || b.room > room_most(s))
        b.threads = 0;
    return b;
}

static kiln_status sort_in_blocks(const kiln__sort *s, const block *b, kiln_error *err)
{
    const rows_call call = {.keys = s->keys,
                            .sorted = s->sorted,
                            .order = s->order,
                            .length = (int32_t)s->length,
                            .wide = s->wide,
                            .digits = digits_of(s),
                            .keep = (int32_t)kept(s)};
    kiln__sort_macros m;
    void *entry = NULL;

    kiln__sort_define_keys(&m, s);
    kiln__sort_define(&m, "-DKILN__THREADS=%d", b->threads);
    kiln__sort_define(&m, "-DKILN__ITEMS=%d", b->items);
    kiln__sort_define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    kiln__sort_define(&m, "-DKILN__ROOM=%zu", b->room);
    KILN_CHECK(kiln__sort_kernel(s, "sorting/rows.cu", "kiln_sort_rows", &m, &entry, err));
    return launch(s, entry, s->rows, b->threads, b->room, &call, sizeof call, err);
}

/* ---- long rows ----------------------------------------------------------------------------------- */

typedef struct count_call {
    const void *keys;
    char *counts, *passes, *done;
    int64_t length;
    uint32_t parts, rows;
    int32_t digits;
} count_call;

typedef struct sweep_call {
    const void *keys;
    void *sorted, *keys_buffer[2], *order_buffer[2], *order;
    char *words;
    const char *counts, *passes;
    char *tickets;
    int64_t length;
    uint32_t tiles;
    int32_t digit, count_step;
    uint32_t mark;
    int32_t wide;
    uint32_t pass;
} sweep_call;

/* Everything of one call. The words of look-back, the counts of digits, the passes that are planned, the number of
 * blocks that have counted, and the passes' tickets lie in one array. */
typedef struct sweeps {
    const kiln__sort *s;
    int digits, threads, items, blocks;
    size_t room;
    int count_threads, count_copies, count_ahead; /* elements that a thread reads at once */
    int64_t tiles, count_parts;
    bool far; /* positions have 64 bits */
    void *count, *sweep;
    kiln_array *work, *keys[2], *order[2];
    int64_t words_bytes, counts_bytes;
} sweeps;

static kiln_status get_kernels(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    kiln__sort_macros m;

    kiln__sort_define_keys(&m, s);
    const size_t common = m.count;
    kiln__sort_define(&m, "-DKILN__THREADS=%d", w->count_threads);
    kiln__sort_define(&m, "-DKILN__COPIES=%d", w->count_copies);
    kiln__sort_define(&m, "-DKILN__AHEAD=%d", w->count_ahead);
    KILN_CHECK(kiln__sort_kernel(s, "sorting/count.cu", "kiln_sort_count", &m, &w->count, err));
    m.count = common;
    kiln__sort_define(&m, "-DKILN__THREADS=%d", w->threads);
    kiln__sort_define(&m, "-DKILN__ITEMS=%d", w->items);
    kiln__sort_define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    kiln__sort_define(&m, "-DKILN__POSITION=%s", unsigned_of(w->far ? 8 : 4));
    kiln__sort_define(&m, "-DKILN__BLOCKS=%d", w->blocks);
    kiln__sort_define(&m, "-DKILN__ROOM=%zu", w->room);
    return kiln__sort_kernel(s, "sorting/sweep.cu", "kiln_sort_sweep", &m, &w->sweep, err);
}

static kiln_status make_rooms(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    const int64_t elements = s->rows * s->length;

    w->words_bytes = s->rows * w->tiles * 256 * 8;
    w->counts_bytes = s->rows * w->digits * 256 * 8;
    KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8,
                                 w->words_bytes + w->counts_bytes + 8 * w->digits + 4, &w->work,
                                 err));
    KILN_CHECK(kiln__memset(kiln__context_device(s->ctx), w->work->data, 0, (size_t)w->work->size,
                            s->stream, err));
    /* Passes write in turn here and there; the last one writes results. */
    for (int k = 0; k < 2 && k < w->digits - 1; k++) {
        if (k == 0 || s->sorted == NULL)
            KILN_CHECK(
                kiln__sort_memory(s->ctx, s->stream, s->dtype, elements, &w->keys[1 - k], err));
        if (s->order != NULL)
            KILN_CHECK(kiln__sort_memory(s->ctx, s->stream, w->far ? KILN_INT64 : KILN_INT32,
                                         elements, &w->order[1 - k], err));
    }
    return KILN_OK;
}

static size_t count_room(const sweeps *w)
{
    return kiln_dtype_size(w->s->dtype) * 256 * 4 * (size_t)w->count_copies;
}

static kiln_status run_sweeps(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    char *const words = w->work->data, *const counts = words + w->words_bytes;
    char *const planned = counts + w->counts_bytes, *const done = planned + 4 * w->digits;
    char *const passes = s->rows * s->length >= PLANNED ? planned : NULL;
    const count_call count = {.keys = s->keys,
                              .counts = counts,
                              .passes = passes,
                              .done = done,
                              .length = s->length,
                              .parts = (uint32_t)w->count_parts,
                              .rows = (uint32_t)s->rows,
                              .digits = w->digits};
    sweep_call call = {.keys = s->keys,
                       .sorted = s->sorted,
                       .order = s->order,
                       .words = words,
                       .passes = passes,
                       .wide = s->wide,
                       .length = s->length,
                       .tiles = (uint32_t)w->tiles,
                       .count_step = w->digits * 256};

    KILN_CHECK(launch(s, w->count, s->rows * w->count_parts, w->count_threads, count_room(w), &count,
                      sizeof count, err));
    /* An odd number of passes is left behind what is in room 1. */
    for (int odd = 0; odd < 2; odd++) {
        call.keys_buffer[odd] = w->keys[odd] != NULL ? w->keys[odd]->data : s->sorted;
        call.order_buffer[odd] = w->order[odd] != NULL ? w->order[odd]->data : NULL;
    }
    for (int digit = 0; digit < w->digits; digit++) {
        call.digit = digit;
        call.pass = 512 + (digit == 0 ? 256 : 0) + (uint32_t)(w->digits - 1 - digit);
        call.counts = counts + digit * 256 * 8;
        call.tickets = done + 4 + 4 * digit;
        call.mark = 2 * (uint32_t)digit + 1;
        KILN_CHECK(
            launch(s, w->sweep, s->rows * w->tiles, w->threads, w->room, &call, sizeof call, err));
    }
    return KILN_OK;
}

/* Threads of a block that takes a tile, elements of each, and blocks of a multiprocessor, as measured
 * (bench/results/sort-h200.txt). */
typedef struct tile {
    int threads, items, blocks;
} tile;

static void choose_tile(sweeps *w)
{
    static const tile tiles[2][4] = {
        /* elements of 1, of up to 4, of 8 and of 16 bytes: alone, and with their positions */
        {{512, 32, 2}, {384, 20, 3}, {512, 12, 2}, {384, 8, 2}},
        {{512, 24, 2}, {512, 16, 2}, {384, 16, 2}, {384, 8, 2}},
    };
    const kiln__sort *s = w->s;
    const size_t bytes = kiln_dtype_size(s->dtype), most = room_most(s);
    tile t = tiles[s->order != NULL][bytes == 1 ? 0 : bytes <= 4 ? 1 : bytes == 8 ? 2 : 3];

    if (s->rows * s->length < kiln__tuned("KILN_TUNE_SORT_FEW", FEW))
        t.items = FEW_ITEMS;
    while (room_of(s, t.threads, t.items, w->far ? 8 : 4) > most)
        t.items -= 4;
    w->threads = t.threads;
    w->items = t.items;
    w->blocks = t.blocks;
    w->room = room_of(s, t.threads, t.items, w->far ? 8 : 4);
    w->tiles = kiln__blocks(s->length, t.threads * t.items);
}

/* How rows are counted: long ones by few blocks, whose digits have many counters, others by more blocks. */
static void choose_count(sweeps *w)
{
    const kiln__sort *s = w->s;
    const int bytes = (int)kiln_dtype_size(s->dtype), each = 32 / (bytes < 4 ? 4 : bytes);
    const bool is_long = s->length >= COUNT_LONG;
    const int64_t parts = kiln__blocks(s->length, 256 * 16);
    kiln__raw_limits limits;

    w->count_threads = is_long ? 1024 : 256;
    w->count_ahead = is_long ? 2 * each : each;
    w->count_copies = is_long ? 4 * each : each;
    while (count_room(w) > room_most(s))
        w->count_copies /= 2;
    w->count_parts = parts < COUNT_PARTS ? parts : COUNT_PARTS;
    if (is_long && kiln__raw_limits_get(kiln__context_device(s->ctx), &limits, NULL) == KILN_OK)
        w->count_parts = kiln__blocks(limits.units, s->rows);
}

static kiln_status sort_by_sweeps(const kiln__sort *s, kiln_error *err)
{
    sweeps w = {.s = s, .digits = digits_of(s), .far = s->length / 4 >= POSITIONS_32};
    kiln_status status = KILN_OK;

    choose_tile(&w);
    choose_count(&w);
    if (s->rows * w.tiles > INT32_MAX)
        return kiln__fail(err, KILN_ERR_UNSUPPORTED,
                          "sort: %lld rows of %lld elements are too many for one call",
                          (long long)s->rows, (long long)s->length);
    KILN_TRY(get_kernels(&w, err));
    KILN_TRY(make_rooms(&w, err));
    KILN_TRY(run_sweeps(&w, err));

done:
    for (int k = 0; k < 2; k++) {
        kiln_array_release(w.keys[k]);
        kiln_array_release(w.order[k]);
    }
    kiln_array_release(w.work);
    return status;
}

/* ---- which way ------------------------------------------------------------------------------------- */

static bool is_short(const kiln__sort *s)
{
    return s->length <= SHORT_ROW && s->digits == 0 && s->rows / 4 <= INT32_MAX / 64;
}

bool kiln__sort_fits_block(const kiln__sort *s)
{
    return is_short(s) || (s->rows <= INT32_MAX && fit_rows(s).threads > 0);
}

kiln_status kiln__sort_rows_cuda(const kiln__sort *s, kiln_error *err)
{
    if (is_short(s))
        return sort_in_lanes(s, err);
    const block b = fit_rows(s);
    return b.threads > 0 && s->rows <= INT32_MAX ? sort_in_blocks(s, &b, err)
                                                 : sort_by_sweeps(s, err);
}
