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
    MACROS_MAX = 12,
    MACRO_BYTES = KILN__KEY_MACRO_BYTES,
    COUNT_THREADS = 256,
    COUNT_PARTS = 512, /* blocks that count a row, at most */
    SHORT_THREADS = 128,
    SHORT_ROW = 256,
    CROWDED = 8,             /* templates/sorting/tile.cu */
    FEW = 1 << 22,           /* elements for which tiles are shorter */
    PLANNED = 1 << 18,       /* fewer elements: planning passes takes longer than it saves */
    STATIC_BYTES = 48 << 10, /* of shared memory that a block has without asking */
    POSITIONS_32 = 1 << 30   /* longest row, in units of 4 elements, whose positions have 32 bits */
};

/* ---- kernels ------------------------------------------------------------------------------------- */

typedef struct macros {
    char text[MACROS_MAX][MACRO_BYTES];
    const char *list[MACROS_MAX];
    size_t count;
} macros;

KILN_PRINTF(2, 3) static void define(macros *m, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(m->text[m->count], MACRO_BYTES, fmt, ap);
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

void kiln__key_macros(const kiln__sort *s, char (*text)[KILN__KEY_MACRO_BYTES])
{
    const kiln__place_kind kind = kiln__place_kind_of(s->dtype);
    const size_t bytes = kiln_dtype_size(s->dtype),
                 part = bytes / (kind == KILN__PLACE_COMPLEX ? 2 : 1);

    snprintf(text[0], sizeof text[0], "-DKILN__WORD=%s", unsigned_of(bytes));
    snprintf(text[1], sizeof text[1], "-DKILN__PART=%s", unsigned_of(part));
    snprintf(text[2], sizeof text[2], "-DKILN__KIND=%d", (int)kind);
    snprintf(text[3], sizeof text[3], "-DKILN__INFINITY=%lluull",
             (unsigned long long)kiln__place_infinity(s->dtype));
    snprintf(text[4], sizeof text[4], "-DKILN__DOWN=%d", s->descending ? 1 : 0);
}

static void define_keys(macros *m, const kiln__sort *s)
{
    kiln__key_macros(s, m->text);
    for (m->count = 0; m->count < KILN__KEY_MACROS; m->count++)
        m->list[m->count] = m->text[m->count];
}

static kiln_status get_kernel(const kiln__sort *s, const char *file, const char *entry,
                              const macros *m, void **out, kiln_error *err)
{
    const kiln__own_request request = {
        .file = file, .entry = entry, .macros = m->list, .macro_count = m->count};
    return kiln__own_kernel(s->ctx, &request, out, err);
}

static kiln_status launch(const kiln__sort *s, void *entry, int64_t blocks, int threads,
                          const void *args, size_t bytes, kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = blocks, .block = (uint32_t)threads};
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, args, bytes, s->stream, err);
}

static int digits_of(const kiln__sort *s)
{
    return s->digits != 0 ? s->digits : kiln__place_digits(s->dtype);
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
    macros m = {.count = 0};
    void *entry = NULL;

    while (lanes * items < s->length)
        lanes *= 2;
    define_keys(&m, s);
    define(&m, "-DKILN__THREADS=%d", SHORT_THREADS);
    define(&m, "-DKILN__LANES=%d", lanes);
    define(&m, "-DKILN__ITEMS=%d", items);
    define(&m, "-DKILN__PACKED=%d", bytes <= 2 ? 32 : bytes == 4 ? 64 : 0);
    define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    KILN_CHECK(get_kernel(s, "sorting/short.cu", "kiln_sort_short", &m, &entry, err));
    return launch(s, entry, kiln__blocks(s->rows, SHORT_THREADS / lanes), SHORT_THREADS, &call,
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
    size_t room; /* of shared memory, which holds the elements and the counts of digits in turn */
} block;

static block fit_rows(const kiln__sort *s)
{
    const size_t bytes = kiln_dtype_size(s->dtype);
    block b = {.threads = s->length > 4096 || s->length * (int64_t)bytes > 32768 ? 512 : 256,
               .items = 1};
    kiln__raw_limits limits;

    while ((int64_t)b.threads * b.items < s->length && b.items <= 32)
        b.items *= 2;
    const size_t counts = ((size_t)b.threads / 32 * (2 * 256 + 1) + 1) * 4;
    const size_t elements = (size_t)b.threads * (size_t)b.items * bytes;
    b.room = (counts > elements ? counts : elements) + 15;
    b.room -= b.room % 16;
    if (b.items > 32 || (size_t)b.items * bytes > 128 ||
        (b.room > STATIC_BYTES &&
         (kiln__raw_limits_get(kiln__context_device(s->ctx), &limits, NULL) != KILN_OK ||
          b.room > limits.shared_bytes)))
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
    const kiln__launch_config config = {
        .grid_x = s->rows, .block = (uint32_t)b->threads, .shared_bytes = (uint32_t)b->room};
    macros m = {.count = 0};
    void *entry = NULL;

    define_keys(&m, s);
    define(&m, "-DKILN__THREADS=%d", b->threads);
    define(&m, "-DKILN__ITEMS=%d", b->items);
    define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    define(&m, "-DKILN__ROOM=%zu", b->room);
    KILN_CHECK(get_kernel(s, "sorting/rows.cu", "kiln_sort_rows", &m, &entry, err));
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, &call, sizeof call, s->stream,
                        err);
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
    bool packed;
    int64_t tiles;
    bool far; /* positions have 64 bits */
    void *count, *sweep;
    kiln_array *work, *keys[2], *order[2];
    int64_t words_bytes, counts_bytes;
} sweeps;

static kiln_status get_kernels(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    macros m = {.count = 0};

    define_keys(&m, s);
    const size_t common = m.count;
    define(&m, "-DKILN__THREADS=%d", COUNT_THREADS);
    KILN_CHECK(get_kernel(s, "sorting/count.cu", "kiln_sort_count", &m, &w->count, err));
    m.count = common;
    define(&m, "-DKILN__THREADS=%d", w->threads);
    define(&m, "-DKILN__ITEMS=%d", w->items);
    define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    define(&m, "-DKILN__POSITION=%s", unsigned_of(w->far ? 8 : 4));
    define(&m, "-DKILN__BLOCKS=%d", w->blocks);
    define(&m, "-DKILN__PACKED=%d", w->packed);
    define(&m, "-DKILN__CROWDED=%d", w->packed ? CROWDED : 0);
    return get_kernel(s, "sorting/sweep.cu", "kiln_sort_sweep", &m, &w->sweep, err);
}

static kiln_status make_rooms(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    const int64_t elements = s->rows * s->length;

    w->words_bytes = s->rows * w->tiles * 256 * 8;
    w->counts_bytes = s->rows * w->digits * 256 * 8;
    KILN_CHECK(kiln__sort_room(s->ctx, s->stream, KILN_UINT8,
                               w->words_bytes + w->counts_bytes + 8 * w->digits + 4, &w->work,
                               err));
    KILN_CHECK(kiln__memset(kiln__context_device(s->ctx), w->work->data, 0, (size_t)w->work->size,
                            s->stream, err));
    /* Passes write in turn here and there; the last one writes results. */
    for (int k = 0; k < 2 && k < w->digits - 1; k++) {
        if (k == 0 || s->sorted == NULL)
            KILN_CHECK(
                kiln__sort_room(s->ctx, s->stream, s->dtype, elements, &w->keys[1 - k], err));
        if (s->order != NULL)
            KILN_CHECK(kiln__sort_room(s->ctx, s->stream, w->far ? KILN_INT64 : KILN_INT32,
                                       elements, &w->order[1 - k], err));
    }
    return KILN_OK;
}

static kiln_status run_sweeps(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    char *const words = w->work->data, *const counts = words + w->words_bytes;
    char *const planned = counts + w->counts_bytes, *const done = planned + 4 * w->digits;
    char *const passes = s->rows * s->length >= PLANNED ? planned : NULL;
    const int64_t parts = kiln__blocks(s->length, COUNT_THREADS * 16);
    const count_call count = {.keys = s->keys,
                              .counts = counts,
                              .passes = passes,
                              .done = done,
                              .length = s->length,
                              .parts = (uint32_t)(parts < COUNT_PARTS ? parts : COUNT_PARTS),
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

    KILN_CHECK(
        launch(s, w->count, s->rows * count.parts, COUNT_THREADS, &count, sizeof count, err));
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
        KILN_CHECK(launch(s, w->sweep, s->rows * w->tiles, w->threads, &call, sizeof call, err));
    }
    return KILN_OK;
}

/* Threads of a block that takes a tile, elements of each, and blocks of a multiprocessor, as measured
 * (bench/results/sort-h200.txt). Where registers limit the blocks, threads keep digits and ranks packed, and look at how
 * crowded a tile is; sorts of whole numbers of 4 bytes are faster with one block and all registers. */
static void choose_tile(sweeps *w)
{
    const kiln__sort *s = w->s;
    const size_t bytes = kiln_dtype_size(s->dtype);
    const bool plain = s->order == NULL, real = kiln_dtype_kind(s->dtype) == 'f';

    w->threads = bytes == 4 && plain ? 512 : 256;
    w->items = bytes <= 4 ? 20 : bytes == 8 ? plain ? 16 : 12 : 6;
    w->blocks = 0;
    w->packed = (bytes == 4 && (real || !plain)) || (bytes == 8 && plain && kiln__place_kind_of(s->dtype) < KILN__PLACE_FLOATING);
    if (w->packed)
        w->blocks = bytes == 4 && plain ? 2 : 3;
    if (bytes == 4 && plain && real && s->rows * s->length < FEW)
        w->items = 16;
}

static kiln_status sort_by_sweeps(const kiln__sort *s, kiln_error *err)
{
    sweeps w = {.s = s, .digits = digits_of(s), .far = s->length / 4 >= POSITIONS_32};
    kiln_status status = KILN_OK;

    choose_tile(&w);
    w.tiles = kiln__blocks(s->length, w.threads * w.items);
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
