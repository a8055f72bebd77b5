/*
 * bins_cuda.c - how many elements fall into each bin, on CUDA devices.
 *
 *     [edges looked at: sorting/edges.cu] > counted: sorting/bins.cu > [counters of all blocks added: sorting/bins_sum.cu]
 *
 * What is known of edges stays on the device. The host waits for whether they increase, while elements are being
 * counted.
 */
#include <stdio.h>

#include "sorting/sorting.h"

/* Several blocks a multiprocessor with counters for some bins, or one that has all shared memory. Of few elements one block
 * has enough, and fewer counts are added together. */
enum { SMALL_THREADS = 512, SMALL_BLOCKS = 1, SMALL_SIZE = 1 << 21, THREADS = 512, BLOCKS = 3 };
enum { WIDE_THREADS = 1024, WIDE_ROWS_MAX = 8, ELEMENTS_A_BIN = 64 };
enum {
    SHARED_BINS = 8192,
    NEAR_EDGES = 1024,
    COPIES_MAX = 32,
    ASIDE = 32 * 4,      /* bytes: for what is not counted */
    PLAN_BYTES = 256,    /* what a kernel has besides, at most */
    PARTS_MAX = 64,      /* blocks that look at edges, ... */
    PART_EDGES = 1 << 11 /* ... each at so many at least */
};
/* Rows of blocks, at most, whose counters a kernel of its own adds up. */
enum { PARTIAL_ROWS_MAX = 2, SUM_THREADS = 128, SUM_GROUPS = 6 };

/* Where elements are counted, as templates/sorting/bins.cu has it. */
typedef enum counters {
    COUNTERS_GLOBAL,
    COUNTERS_SHARED,
    COUNTERS_HALVES,
    COUNTERS_BYTES,
    COUNTERS_ROWS /* of counters of 8 bits */
} counters;

/* As templates/sorting/plan.cu has them. */
typedef struct edges_part {
    int64_t wrong;
    double off;
    int64_t even;
} edges_part;

typedef struct bins_call {
    const void *x;
    const double *edges;
    edges_part *parts, *told; /* the same; `told` is the host's memory */
    int64_t *counts;
    int64_t size, bins;
    int32_t part_count;
    int32_t copies;
    int32_t per;
    void *partial;
} bins_call;

typedef struct sum_call {
    const void *partial;
    int64_t *counts;
    int64_t bins;
    int32_t per, quads, blocks, groups;
} sum_call;

/* How a call counts: the block's threads, rows of blocks and shared memory. */
typedef struct layout {
    uint32_t threads, rows;
    int resident;       /* blocks of a multiprocessor */
    size_t room, bytes; /* shared memory of all such kernels, and of this call */
    int64_t blocks;     /* at most, of a row */
    counters counters;
} layout;

/* Counters of a word. */
static int share_of(counters where)
{
    return where >= COUNTERS_BYTES ? 4 : where == COUNTERS_HALVES ? 2 : 1;
}

/* One block a multiprocessor, whose counters have 16 bits if there are many, and 8 if there are more. False: there are too
 * many. */
static bool lay_out_wide(const kiln__raw_limits *limits, int64_t units, bins_call *c, layout *l)
{
    const int64_t shared = (int64_t)limits->shared_bytes / 16 * 16 - PLAN_BYTES;
    const int64_t words = (shared - ASIDE) / 16 * 4;
    const counters where = c->bins <= words       ? COUNTERS_SHARED
                           : c->bins <= words * 2 ? COUNTERS_HALVES
                                                  : COUNTERS_BYTES;
    const int64_t most = words * share_of(where);
    const int64_t rows = most > 0 ? kiln__blocks(c->bins, most) : WIDE_ROWS_MAX + 1;

    if (rows > WIDE_ROWS_MAX)
        return false;
    *l = (layout){.threads = WIDE_THREADS,
                  .rows = (uint32_t)rows,
                  .resident = 1,
                  .room = (size_t)shared,
                  .bytes = (size_t)shared,
                  .blocks = units,
                  .counters = rows > 1 ? COUNTERS_ROWS : where};
    c->copies = 1;
    c->per = (int32_t)kiln__blocks(c->bins, rows);
    return true;
}

static layout lay_out(kiln__device *device, bins_call *c)
{
    const size_t edges = c->edges != NULL && c->bins <= NEAR_EDGES ? (size_t)(c->bins + 1) * 8 : 0;
    const int64_t units = kiln__device_info(device)->unit_count;
    const bool small = c->size < SMALL_SIZE;
    kiln__raw_limits limits;
    layout l = {.threads = small ? SMALL_THREADS : THREADS,
                .rows = 1,
                .resident = small ? SMALL_BLOCKS : BLOCKS,
                .room = SHARED_BINS * 4 + ASIDE + (NEAR_EDGES + 1) * 8,
                .counters = COUNTERS_GLOBAL};

    c->copies = 1;
    c->per = 0;
    l.blocks = units * l.resident;
    if (c->bins <= SHARED_BINS) {
        l.counters = COUNTERS_SHARED;
        c->per = (int32_t)c->bins;
        while (c->copies < COPIES_MAX && c->bins * c->copies * 2 <= SHARED_BINS)
            c->copies *= 2;
        l.bytes = edges + (size_t)c->per * (size_t)c->copies * 4 + ASIDE;
    } else if (c->size / ELEMENTS_A_BIN >= c->bins &&
               kiln__raw_limits_get(device, &limits, NULL) == KILN_OK) {
        (void)lay_out_wide(&limits, units, c, &l);
    }
    return l;
}

/* Kernels of a call, compiled for the dtype. */
static kiln_status entries(kiln_context *ctx, kiln_dtype dtype, const bins_call *c, const layout *l,
                           void **edges_out, void **bins_out, kiln_error *err)
{
    char texts[8][48];
    const char *const macros[] = {texts[0], texts[1], texts[2], texts[3],
                                  texts[4], texts[5], texts[6], texts[7]};
    const kiln__own_request edges = {"sorting/edges.cu", "kiln_sort_edges", macros, 1};
    const kiln__own_request bins = {"sorting/bins.cu", "kiln_sort_bins", macros, 8};
    const char kind = kiln_dtype_kind(dtype);
    const bool between = c->edges != NULL;

    snprintf(texts[0], sizeof texts[0], "-DKILN__T=%s", kiln_dtype_ctype(dtype));
    snprintf(texts[1], sizeof texts[1], "-DKILN__EDGES=%d", between);
    snprintf(texts[2], sizeof texts[2], "-DKILN__THREADS=%u", (unsigned)l->threads);
    snprintf(texts[3], sizeof texts[3], "-DKILN__BLOCKS=%d", l->resident);
    snprintf(texts[4], sizeof texts[4], "-DKILN__FIND=%d", between && dtype == KILN_FLOAT32);
    snprintf(texts[5], sizeof texts[5], "-DKILN__WHOLE=%d",
             (kind == 'i' || kind == 'u' || kind == 'b') && kiln_dtype_size(dtype) <= 4);
    snprintf(texts[6], sizeof texts[6], "-DKILN__ROOM=%zu", l->room);
    snprintf(texts[7], sizeof texts[7], "-DKILN__COUNTERS=%d", (int)l->counters);
    if (between)
        KILN_CHECK(kiln__own_kernel(ctx, &edges, edges_out, err));
    return kiln__own_kernel(ctx, &bins, bins_out, err);
}

/* Words of 16 bytes of a block's counters. */
static int64_t quads_of(const layout *l, const bins_call *c)
{
    return kiln__blocks(c->per, (int64_t)4 * share_of(l->counters));
}

/* Bytes of what blocks whose counters share words leave, one row of them behind the other; 0: they add to the counts. */
static int64_t partial_bytes(const layout *l, const bins_call *c, int64_t blocks)
{
    const bool many = l->counters >= COUNTERS_HALVES && l->rows <= PARTIAL_ROWS_MAX;

    return many ? blocks * l->rows * quads_of(l, c) * 16 : 0;
}

static kiln_status add_partial(kiln_context *ctx, const bins_call *c, const layout *l,
                               int64_t blocks, kiln_stream *stream, kiln_error *err)
{
    char text[32];
    const char *const macros[] = {text};
    const kiln__own_request request = {"sorting/bins_sum.cu", "kiln_sort_bins_sum", macros, 1};
    const sum_call call = {.partial = c->partial,
                           .counts = c->counts,
                           .bins = c->bins,
                           .per = c->per,
                           .quads = (int32_t)quads_of(l, c),
                           .blocks = (int32_t)blocks,
                           .groups = SUM_GROUPS};
    const kiln__launch_config config = {.grid_x = kiln__blocks(call.quads, SUM_THREADS),
                                        .grid_y = l->rows * SUM_GROUPS,
                                        .block = SUM_THREADS};
    void *entry = NULL;

    snprintf(text, sizeof text, "-DKILN__SHARE=%d", share_of(l->counters));
    KILN_CHECK(kiln__own_kernel(ctx, &request, &entry, err));
    return kiln__launch(kiln__context_device(ctx), entry, &config, &call, sizeof call, stream, err);
}

/* Zeroes, or what there is to know of the edges as well. */
static kiln_status begin(kiln__device *device, void *entry, const bins_call *c, kiln_stream *stream,
                         kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = c->part_count, .block = 1024};

    if (c->edges == NULL)
        return kiln__memset(device, c->counts, 0, (size_t)c->bins * sizeof *c->counts, stream, err);
    return kiln__launch(device, entry, &config, c, sizeof *c, stream, err);
}

kiln_status kiln__bins_cuda(const kiln_array *x, const double *edges, const kiln_array *counts,
                            kiln_stream *stream, bool *wrong, kiln_error *err)
{
    kiln__device *device = kiln__context_device(x->ctx);
    bins_call c = {.x = x->data,
                   .edges = edges,
                   .counts = counts->data,
                   .size = x->size,
                   .bins = counts->size};
    const layout l = lay_out(device, &c);
    const int64_t wanted = kiln__blocks(c.size, (int64_t)l.threads * 8);
    const kiln__launch_config config = {.grid_x = wanted < l.blocks ? wanted : l.blocks,
                                        .grid_y = l.rows,
                                        .block = l.threads,
                                        .shared_bytes = (uint32_t)l.bytes};
    void *edges_entry = NULL, *bins_entry = NULL, *memory = NULL;
    kiln_event *told = NULL;
    kiln_array *parts = NULL, *partial = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(entries(x->ctx, x->dtype, &c, &l, &edges_entry, &bins_entry, err));
    if (edges != NULL) {
        c.part_count = (int32_t)kiln__blocks(c.bins + 1, PART_EDGES);
        c.part_count = c.part_count < PARTS_MAX ? c.part_count : PARTS_MAX;
        const size_t bytes = (size_t)c.part_count * sizeof *c.parts;
        KILN_TRY(kiln__sort_memory(x->ctx, stream, KILN_UINT8, (int64_t)bytes, &parts, err));
        c.parts = parts->data;
        KILN_TRY(kiln__host_alloc(device, bytes, false, &memory, err));
        memset(memory, 0, bytes);
        c.told = memory;
        KILN_TRY(kiln__event_create(device, &kiln__event_plain, &told, err));
    }
    KILN_TRY(begin(device, edges_entry, &c, stream, err));
    if (edges != NULL)
        KILN_TRY(kiln__event_record(told, stream, err));
    const int64_t partial_size = partial_bytes(&l, &c, config.grid_x);
    if (partial_size > 0) {
        KILN_TRY(kiln__sort_memory(x->ctx, stream, KILN_UINT8, partial_size, &partial, err));
        c.partial = partial->data;
    }
    status = kiln__launch(device, bins_entry, &config, &c, sizeof c, stream, err);
    if (status == KILN_OK && partial_size > 0)
        status = add_partial(x->ctx, &c, &l, config.grid_x, stream, err);
    if (edges != NULL) {
        const kiln_status waited = kiln__event_synchronize(told, status == KILN_OK ? err : NULL);
        status = status == KILN_OK ? waited : status;
        *wrong = false;
        for (int k = 0; k < c.part_count; k++)
            *wrong = *wrong || ((const edges_part *)memory)[k].wrong != 0;
    }

done:
    kiln__event_destroy(told);
    kiln__host_free(device, memory);
    kiln_array_release(parts);
    kiln_array_release(partial);
    return status;
}
