/*
 * sort_cuda.c - stable sort of rows on CUDA devices, by the kernels of templates/sorting/.
 *
 *     rows that fit a block > rows.cu: one launch
 *     longer ones           > count.cu: all digits > sweep.cu: one launch a digit
 *
 * The structs of arguments are those of the templates.
 */
#include <stdio.h>

#include "sorting/sorting.h"

enum {
    MACROS_MAX = 12,
    MACRO_BYTES = 48,
    COUNT_THREADS = 256,
    SWEEP_THREADS = 256,
    COUNT_PARTS = 512,       /* blocks that count a row, at most */
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

/* What templates/sorting/keys.cu wants to know. */
static void define_keys(macros *m, const kiln__sort *s)
{
    const kiln__place_kind kind = kiln__place_kind_of(s->dtype);
    const size_t bytes = kiln_dtype_size(s->dtype);

    define(m, "-DKILN__WORD=%s", unsigned_of(bytes));
    define(m, "-DKILN__PART=%s", unsigned_of(kind == KILN__PLACE_COMPLEX ? bytes / 2 : bytes));
    define(m, "-DKILN__KIND=%d", (int)kind);
    define(m, "-DKILN__INFINITY=%lluull", (unsigned long long)kiln__place_infinity(s->dtype));
    define(m, "-DKILN__DOWN=%d", s->descending ? 1 : 0);
}

static kiln_status get_kernel(const kiln__sort *s, const char *file, const char *entry,
                              const macros *m, void **out, kiln_error *err)
{
    const kiln__own_request request = {
        .file = file, .entry = entry, .macros = m->list, .macro_count = m->count};
    return kiln__own_kernel(s->ctx, &request, out, err);
}

static kiln_status launch(const kiln__sort *s, void *entry, int64_t blocks, uint32_t threads,
                          const void *args, size_t bytes, kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = blocks, .block = threads};
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, args, bytes, s->stream, err);
}

static int digits_of(const kiln__sort *s)
{
    return s->digits != 0 ? s->digits : kiln__place_digits(s->dtype);
}

/* ---- rows that fit a block ----------------------------------------------------------------------- */

typedef struct rows_call {
    const void *keys;
    void *sorted, *order;
    int32_t length, wide, from, digits, keep;
} rows_call;

/* Threads and elements of each for rows of that length; no threads where they do not fit. */
static void fit_rows(const kiln__sort *s, int *threads, int *items)
{
    const size_t bytes = kiln_dtype_size(s->dtype);

    *threads = s->length > 4096 ? 512 : 256;
    *items = 1;
    while ((int64_t)*threads * *items < s->length && *items <= 16)
        *items *= 2;
    if (*items > 16 || (size_t)*threads * (size_t)*items * bytes > STATIC_BYTES)
        *threads = 0;
}

static kiln_status sort_in_blocks(const kiln__sort *s, int threads, int items, kiln_error *err)
{
    const rows_call call = {.keys = s->keys,
                            .sorted = s->sorted,
                            .order = s->order,
                            .length = (int32_t)s->length,
                            .wide = s->wide,
                            .digits = digits_of(s),
                            .keep = (int32_t)(s->keep > 0 ? s->keep : s->length)};
    macros m = {.count = 0};
    void *entry = NULL;

    define_keys(&m, s);
    define(&m, "-DKILN__THREADS=%d", threads);
    define(&m, "-DKILN__ITEMS=%d", items);
    define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    KILN_CHECK(get_kernel(s, "sorting/rows.cu", "kiln_sort_rows", &m, &entry, err));
    return launch(s, entry, s->rows, (uint32_t)threads, &call, sizeof call, err);
}

/* ---- long rows ----------------------------------------------------------------------------------- */

typedef struct count_call {
    const void *keys;
    void *counts;
    int64_t length;
    uint32_t parts;
    int32_t from, digits;
} count_call;

typedef struct sweep_call {
    const void *keys;
    void *keys_out;
    const void *order;
    void *order_out;
    char *words;
    const char *counts;
    char *tickets;
    int64_t length;
    uint32_t tiles;
    int32_t digit, count_step;
    uint32_t mark;
    int32_t wide;
} sweep_call;

/* Everything of one call. The words of look-back, the counts of digits and the tickets lie in one array. */
typedef struct sweeps {
    const kiln__sort *s;
    int digits, items;
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
    define(&m, "-DKILN__THREADS=%d", SWEEP_THREADS);
    define(&m, "-DKILN__ITEMS=%d", w->items);
    define(&m, "-DKILN__ORDER=%d", s->order != NULL ? 1 : 0);
    define(&m, "-DKILN__POSITION=%s", unsigned_of(w->far ? 8 : 4));
    return get_kernel(s, "sorting/sweep.cu", "kiln_sort_sweep", &m, &w->sweep, err);
}

static kiln_status make_rooms(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    const int64_t elements = s->rows * s->length;

    w->words_bytes = s->rows * w->tiles * 256 * 8;
    w->counts_bytes = s->rows * w->digits * 256 * 8;
    KILN_CHECK(kiln__sort_room(s->ctx, s->stream, KILN_UINT8,
                               w->words_bytes + w->counts_bytes + 4 * w->digits, &w->work, err));
    KILN_CHECK(kiln__memset(kiln__context_device(s->ctx), w->work->data, 0, (size_t)w->work->size,
                            s->stream, err));
    /* Passes write in turn here and there; the last one writes results. */
    for (int k = 0; k < 2 && k < w->digits - 1; k++) {
        if (k == 0 || s->sorted == NULL)
            KILN_CHECK(kiln__sort_room(s->ctx, s->stream, s->dtype, elements, &w->keys[k], err));
        if (s->order != NULL)
            KILN_CHECK(kiln__sort_room(s->ctx, s->stream, w->far ? KILN_INT64 : KILN_INT32,
                                       elements, &w->order[k], err));
    }
    return KILN_OK;
}

static kiln_status run_sweeps(sweeps *w, kiln_error *err)
{
    const kiln__sort *s = w->s;
    char *const words = w->work->data, *const counts = words + w->words_bytes;
    const int64_t parts = kiln__blocks(s->length, COUNT_THREADS * 16);
    const count_call count = {.keys = s->keys,
                              .counts = counts,
                              .length = s->length,
                              .parts = (uint32_t)(parts < COUNT_PARTS ? parts : COUNT_PARTS),
                              .digits = w->digits};
    sweep_call call = {.keys = s->keys,
                       .words = words,
                       .length = s->length,
                       .tiles = (uint32_t)w->tiles,
                       .count_step = w->digits * 256};

    KILN_CHECK(
        launch(s, w->count, s->rows * count.parts, COUNT_THREADS, &count, sizeof count, err));
    for (int digit = 0; digit < w->digits; digit++) {
        const int left = w->digits - 1 - digit, odd = left % 2;
        kiln_array *const keys = odd ? w->keys[0] : w->keys[1];
        call.digit = digit;
        call.counts = counts + digit * 256 * 8;
        call.tickets = counts + w->counts_bytes + 4 * digit;
        call.mark = 2 * (uint32_t)digit + 1;
        call.keys_out = left == 0 || keys == NULL ? s->sorted : keys->data;
        call.order_out = s->order;
        call.wide = left == 0 && s->wide;
        if (s->order != NULL && left > 0)
            call.order_out = w->order[odd ? 0 : 1]->data;
        KILN_CHECK(launch(s, w->sweep, s->rows * w->tiles, SWEEP_THREADS, &call, sizeof call, err));
        call.keys = call.keys_out;
        call.order = call.order_out;
    }
    return KILN_OK;
}

static kiln_status sort_by_sweeps(const kiln__sort *s, kiln_error *err)
{
    const size_t bytes = kiln_dtype_size(s->dtype);
    sweeps w = {.s = s,
                .digits = digits_of(s),
                .items = bytes <= 4   ? s->order != NULL ? 16 : 20
                         : bytes == 8 ? 12
                                      : 6,
                .far = s->length / 4 >= POSITIONS_32};
    kiln_status status = KILN_OK;

    w.tiles = kiln__blocks(s->length, SWEEP_THREADS * w.items);
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

bool kiln__sort_fits_block(const kiln__sort *s)
{
    int threads = 0, items = 0;

    fit_rows(s, &threads, &items);
    return threads > 0 && s->rows <= INT32_MAX;
}

kiln_status kiln__sort_rows_cuda(const kiln__sort *s, kiln_error *err)
{
    int threads = 0, items = 0;

    fit_rows(s, &threads, &items);
    return threads > 0 && s->rows <= INT32_MAX ? sort_in_blocks(s, threads, items, err)
                                               : sort_by_sweeps(s, err);
}
