/*
 * bins.c - how many elements fall into each bin: bincount, histogram; digitize.
 *
 *     array > cpu:  [as int64 or float64] > [pieces count] > [counts of pieces added]
 *           > CUDA: templates/sorting/bins.cu
 *
 * How many bins there are, and whether edges increase, is known on the host alone: these functions wait for the
 * device.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "sorting/sorting.h"

enum { PIECES_MAX = 64, COPIES_MAX = 32 };

/* CUDA: several blocks a multiprocessor with counters for some bins, or one that has all shared memory. Small blocks
 * are for few elements: of large ones fewer fit, whose counters leave more of the L1 cache to loads. */
enum { SMALL_THREADS = 256, SMALL_BLOCKS = 6, SMALL_SIZE = 1 << 21, THREADS = 1024, BLOCKS = 2 };
enum {
    SHARED_BINS = 8192,
    NEAR_EDGES = 1024,
    PAIR_BINS = 1 << 21,
    WIDE_ROWS_MAX = 8,
    ELEMENTS_A_BIN = 64
};

#define SCALE_MIN 1e-30 /* that a float holds with all of its bits */

/* As templates/sorting/bins.cu has it; on the cpu device a launch's arguments. */
typedef struct bins_call {
    const void *x;
    const double *edges;
    int64_t *counts;
    int64_t size, bins;
    double first, scale;
    double least, highest; /* of what is in a bin */
    double slack;          /* CUDA: how far from a whole number a guess must be to be certain */
    float pair[4];         /* CUDA: the scale, and -first times the scale, each in two parts */
    int32_t copies;        /* cpu: pieces */
    int32_t per;           /* CUDA: bins of a block */
    int64_t *parts;        /* cpu: counts of pieces */
} bins_call;

/* ---- the cpu device --------------------------------------------------------------------------------- */

static int64_t bin_of(const bins_call *c, double v)
{
    if (!(v >= c->least && v <= c->highest))
        return -1;
    int64_t low = (int64_t)((v - c->first) * c->scale), high = c->bins;
    low = low < 0 ? 0 : low < high ? low : high - 1;
    if (c->edges[low] <= v && (v < c->edges[low + 1] || low == high - 1))
        return low;
    low = 0;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->edges[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void count_pieces(const void *args, int64_t begin, int64_t end)
{
    const bins_call *c = args;
    const int64_t each = (c->size + c->copies - 1) / c->copies;

    for (int64_t piece = begin; piece < end; piece++) {
        int64_t *const counts = c->parts + piece * c->bins;
        const int64_t last = (piece + 1) * each < c->size ? (piece + 1) * each : c->size;
        memset(counts, 0, (size_t)c->bins * sizeof *counts);
        for (int64_t k = piece * each; k < last; k++) {
            const int64_t bin = c->edges != NULL ? bin_of(c, ((const double *)c->x)[k])
                                                 : ((const int64_t *)c->x)[k];
            if (bin >= 0 && bin < c->bins)
                counts[bin]++;
        }
    }
}

static void add_pieces(const void *args, int64_t begin, int64_t end)
{
    const bins_call *c = args;

    for (int64_t bin = begin; bin < end; bin++) {
        int64_t sum = 0;
        for (int piece = 0; piece < c->copies; piece++)
            sum += c->parts[piece * c->bins + bin];
        c->counts[bin] = sum;
    }
}

static kiln_status count_cpu(kiln_context *ctx, bins_call *c, kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = kiln__context_device(ctx);
    const int threads = kiln__device_info(device)->unit_count;
    kiln_array *parts = NULL;
    kiln_status status = KILN_OK;

    c->copies = threads < PIECES_MAX ? threads : PIECES_MAX;
    KILN_TRY(kiln__sort_room(ctx, stream, KILN_INT64, c->copies * c->bins, &parts, err));
    c->parts = parts->data;
    const kiln__launch_config pieces = {.grid_x = c->copies, .block = 1};
    const kiln__launch_config bins = {.grid_x = c->bins, .block = 64};
    KILN_TRY(
        kiln__launch(device, (void *)(uintptr_t)count_pieces, &pieces, c, sizeof *c, stream, err));
    KILN_TRY(kiln__launch(device, (void *)(uintptr_t)add_pieces, &bins, c, sizeof *c, stream, err));

done:
    kiln_array_release(parts);
    return status;
}

/* ---- CUDA devices ------------------------------------------------------------------------------------- */

/* How the kernel guesses the bin of a number: of float32 in float, where rounding leaves most guesses certain, or
 * in pairs of floats. */
typedef enum find { FIND_DOUBLE, FIND_FLOAT, FIND_PAIR } find;

static find find_of(const bins_call *c, kiln_dtype dtype)
{
    if (c->edges == NULL || dtype != KILN_FLOAT32 || c->bins > PAIR_BINS)
        return FIND_DOUBLE;
    return c->bins <= NEAR_EDGES ? FIND_FLOAT : FIND_PAIR;
}

/* A guess is as far off as the edges are from even ones, and by rounding. `bins_call.slack` is the former. A
 * pair of floats has the product of an element and the scale to 47 bits, and adds the rest in one. */
static void round_for(bins_call *c, find how)
{
    const double start = -c->first * c->scale, most = fabs(start) + (double)c->bins;

    if (how == FIND_FLOAT) {
        const double first = (double)(float)c->first;
        c->slack += fabs(first - c->first) * c->scale + 8 * (double)(c->bins + 1) * FLT_EPSILON;
        c->first = first;
    } else {
        c->slack += how == FIND_PAIR ? FLT_EPSILON + 0x1p-42 * most
                                     : 8 * (double)(c->bins + 1) * DBL_EPSILON;
    }
    c->pair[0] = (float)c->scale;
    c->pair[1] = (float)(c->scale - (double)c->pair[0]);
    c->pair[2] = (float)start;
    c->pair[3] = (float)(start - (double)c->pair[2]);
    if (!(c->slack < 0.5) || !(c->scale < FLT_MAX) || c->bins >= INT32_MAX ||
        (how != FIND_DOUBLE && !(c->scale > SCALE_MIN))) {
        c->slack = 1; /* no guess is certain */
        c->scale = 0;
        memset(c->pair, 0, sizeof c->pair);
    }
}

/* How a call counts: the block's threads, rows of blocks and shared memory. */
typedef struct layout {
    uint32_t threads, rows;
    size_t room, bytes; /* of all such kernels, and of this call */
    int64_t blocks;     /* at most, of a row */
    bool wide, halves;  /* one block a multiprocessor; counters have 16 bits */
} layout;

static layout lay_out(kiln__device *device, bins_call *c)
{
    const size_t edges = c->edges != NULL && c->bins <= NEAR_EDGES ? (size_t)(c->bins + 1) * 8 : 0;
    const int64_t units = kiln__device_info(device)->unit_count;
    const bool small = c->size < SMALL_SIZE;
    layout l = {.threads = small ? SMALL_THREADS : THREADS,
                .rows = 1,
                .room = SHARED_BINS * 4 + (NEAR_EDGES + 1) * 8,
                .blocks = units * (small ? SMALL_BLOCKS : BLOCKS)};
    kiln__raw_limits limits;

    c->copies = c->bins <= SHARED_BINS ? 1 : 0;
    c->per = c->copies > 0 ? (int32_t)c->bins : 0;
    while (c->copies > 0 && c->copies < COPIES_MAX && c->bins * c->copies * 2 <= SHARED_BINS)
        c->copies *= 2;
    if (c->copies == 0 && c->size / ELEMENTS_A_BIN >= c->bins &&
        kiln__raw_limits_get(device, &limits, NULL) == KILN_OK) {
        const bool halves = c->bins > (int64_t)limits.shared_bytes / 4;
        const int64_t most = (int64_t)limits.shared_bytes / (halves ? 2 : 4);
        const int64_t rows = most > 0 ? kiln__blocks(c->bins, most) : WIDE_ROWS_MAX + 1;
        if (rows <= WIDE_ROWS_MAX) {
            l = (layout){.threads = THREADS,
                         .wide = true,
                         .rows = (uint32_t)rows,
                         .room = limits.shared_bytes / 16 * 16,
                         .blocks = units,
                         .halves = halves};
            c->copies = 1;
            c->per = (int32_t)kiln__blocks(c->bins, rows);
        }
    }
    l.bytes = l.wide ? l.room : edges + (size_t)c->per * (size_t)c->copies * 4;
    return l;
}

static kiln_status count_cuda(kiln_context *ctx, kiln_dtype dtype, bins_call *c,
                              kiln_stream *stream, kiln_error *err)
{
    char texts[6][48];
    const char *const macros[] = {texts[0], texts[1], texts[2], texts[3], texts[4], texts[5]};
    const kiln__own_request request = {"sorting/bins.cu", "kiln_sort_bins", macros, 6};
    kiln__device *device = kiln__context_device(ctx);
    const layout l = lay_out(device, c);
    const int64_t wanted = kiln__blocks(c->size, (int64_t)l.threads * 8);
    const kiln__launch_config config = {.grid_x = wanted < l.blocks ? wanted : l.blocks,
                                        .grid_y = l.rows,
                                        .block = l.threads,
                                        .shared_bytes = (uint32_t)l.bytes};
    const find how = find_of(c, dtype);
    void *entry = NULL;

    round_for(c, how);
    snprintf(texts[0], sizeof texts[0], "-DKILN__T=%s", kiln_dtype_ctype(dtype));
    snprintf(texts[1], sizeof texts[1], "-DKILN__EDGES=%d", c->edges != NULL);
    snprintf(texts[2], sizeof texts[2], "-DKILN__THREADS=%u", (unsigned)l.threads);
    snprintf(texts[3], sizeof texts[3], "-DKILN__FIND=%d", (int)how);
    snprintf(texts[4], sizeof texts[4], "-DKILN__ROOM=%zu", l.room);
    snprintf(texts[5], sizeof texts[5], "-DKILN__HALVES=%d", l.halves);
    KILN_CHECK(kiln__own_kernel(ctx, &request, &entry, err));
    KILN_CHECK(
        kiln__memset(device, c->counts, 0, (size_t)c->bins * sizeof *c->counts, stream, err));
    return kiln__launch(device, entry, &config, c, offsetof(bins_call, parts), stream, err);
}

/* The dtype in which the kernel reads: its own, but for 16-bit floats. On the cpu device one for all. */
static kiln_dtype read_as(const kiln_array *x, bool edges)
{
    if (kiln__device_is_host(kiln__context_device(x->ctx)))
        return edges ? KILN_FLOAT64 : KILN_INT64;
    return kiln__is_narrow(x->dtype) ? KILN_FLOAT32 : x->dtype;
}

static kiln_status count(const kiln_array *array, bins_call *c, kiln_stream *stream,
                         kiln_array **out, kiln_error *err)
{
    const kiln_dtype dtype = read_as(array, c->edges != NULL);
    kiln_array *x = NULL, *counts = NULL;
    kiln_status status = KILN_OK;

    if (array->contiguous && array->dtype == dtype)
        x = kiln_array_retain((kiln_array *)array);
    else
        KILN_TRY(kiln__array_copy_as(array, dtype, NULL, stream, &x, err));
    kiln__sort_used(x, stream);
    KILN_TRY(kiln__sort_room(array->ctx, stream, KILN_INT64, c->bins, &counts, err));
    c->x = x->data;
    c->size = x->size;
    c->counts = counts->data;
    if (c->bins > 0 && c->size == 0)
        KILN_TRY(kiln__memset(kiln__context_device(array->ctx), counts->data, 0,
                              (size_t)c->bins * 8, stream, err));
    else if (c->bins > 0)
        KILN_TRY(kiln__device_is_host(kiln__context_device(array->ctx))
                     ? count_cpu(array->ctx, c, stream, err)
                     : count_cuda(array->ctx, dtype, c, stream, err));
    *out = counts;
    counts = NULL;

done:
    kiln_array_release(x);
    kiln_array_release(counts);
    return status;
}

kiln_status kiln__count_bins(const kiln_array *places, int64_t bins, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    bins_call c = {.bins = bins};
    return count(places, &c, stream, out, err);
}

/* ---- bincount ------------------------------------------------------------------------------------------ */

/* The least or the largest element, as float64 or int64. */
static kiln_status extreme(kiln_reduce_op op, const kiln_array *array, kiln_dtype dtype, void *at,
                           kiln_error *err)
{
    kiln_array *y = NULL, *wide = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln_array_reduce(op, array, KILN_ALL_AXES, false, &y, err));
    KILN_TRY(kiln_array_cast(y, dtype, &wide, err));
    KILN_TRY(kiln_array_to_host(wide, at, 8, NULL, err));

done:
    kiln_array_release(y);
    kiln_array_release(wide);
    return status;
}

kiln_status kiln_array_bincount(const kiln_array *array, int64_t least_count, kiln_array **out,
                                kiln_error *err)
{
    int64_t low = 0, high = -1;
    bins_call c = {.bins = 0};

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    if (strchr("biu", kiln_dtype_kind(array->dtype)) == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "bincount: %s are no integers",
                          kiln_dtype_name(array->dtype));
    if (least_count < 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "bincount: %lld bins at least",
                          (long long)least_count);
    if (array->size > 0) {
        KILN_CHECK(extreme(KILN_REDUCE_MIN, array, KILN_INT64, &low, err));
        KILN_CHECK(extreme(KILN_REDUCE_MAX, array, KILN_INT64, &high, err));
    }
    /* Of uint64, what int64 has no room for is negative here. */
    if (array->size > 0 && (low < 0 || high < low || high == INT64_MAX))
        return kiln__fail(err, KILN_ERR_RANGE,
                          array->dtype == KILN_UINT64
                              ? "bincount: the array holds %llu, which is no bin"
                              : "bincount: the array holds %lld, which is no bin",
                          (long long)(low < 0 ? low : high));
    c.bins = high + 1 > least_count ? high + 1 : least_count;
    return count(array, &c, kiln__device_stream(kiln__context_device(array->ctx)), out, err);
}

/* ---- histogram ------------------------------------------------------------------------------------------ */

/* Edges as the host has them, checked. Heap. */
static kiln_status read_edges(const char *what, const kiln_array *edges, bool falls_too,
                              double **out, bool *falls_out, kiln_error *err)
{
    kiln_array *wide = NULL;
    double *e = NULL;
    bool rises = true, falls = falls_too;
    kiln_status status = KILN_OK;

    *out = NULL;
    if (edges->rank != 1 || edges->size < (falls_too ? 1 : 2))
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: edges of bins are a vector of %d at least",
                          what, falls_too ? 1 : 2);
    if (kiln_dtype_kind(edges->dtype) == 'c')
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: complex numbers are no edges of bins", what);
    KILN_TRY(kiln__make_room(&e, (size_t)edges->size * sizeof *e, err));
    KILN_TRY(kiln_array_cast(edges, KILN_FLOAT64, &wide, err));
    KILN_TRY(kiln_array_to_host(wide, e, (size_t)edges->size * sizeof *e, NULL, err));
    for (int64_t k = 0; k + 1 < edges->size; k++)
        rises &= e[k] <= e[k + 1];
    int64_t at = 0;
    for (int64_t k = 0; k + 1 < edges->size && falls; k++)
        falls = e[k] >= e[k + 1];
    while (!rises && e[at] <= e[at + 1])
        at++;
    if (!rises && !(falls_too && falls)) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT,
                            "%s: bins do not increase: edge %lld is %g, and edge %lld is %g", what,
                            (long long)at, e[at], (long long)at + 1, e[at + 1]);
        goto done;
    }
    if (falls_out != NULL)
        *falls_out = !rises;
    *out = e;
    e = NULL;

done:
    kiln_array_release(wide);
    kiln__free(e);
    return status;
}

kiln_status kiln__check_edges(const char *what, const kiln_array *edges, kiln_error *err)
{
    double *e = NULL;
    const kiln_status status = read_edges(what, edges, false, &e, NULL, err);

    kiln__free(e);
    return status;
}

static kiln_status check_real(const char *what, const kiln_array *array, kiln_error *err)
{
    return kiln_dtype_kind(array->dtype) != 'c'
               ? KILN_OK
               : kiln__fail(err, KILN_ERR_DTYPE, "%s: complex numbers fall into no bins", what);
}

/* How far edges are from even ones, in widths of a bin. In lanes, for there may be very many of them. */
static double unevenness(const double *e, int64_t bins, double scale)
{
    enum { LANES = 8 };
    double most[LANES] = {scale > 0 ? 0 : 1};
    int64_t k = 0;

    for (; k + LANES <= bins + 1; k += LANES)
        for (int n = 0; n < LANES; n++) {
            const double off = fabs((e[k + n] - e[0]) * scale - (double)(k + n));
            most[n] = off > most[n] ? off : most[n];
        }
    for (; k <= bins; k++)
        most[0] = fmax(most[0], fabs((e[k] - e[0]) * scale - (double)k));
    for (int n = 1; n < LANES; n++)
        most[0] = most[n] > most[0] ? most[n] : most[0];
    return most[0];
}

kiln_status kiln_array_histogram(const kiln_array *array, const kiln_array *edges, kiln_array **out,
                                 kiln_error *err)
{
    double *e = NULL;
    kiln_array *wide = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__array_check(edges, array->ctx, "edges", err));
    KILN_CHECK(check_real("histogram", array, err));
    KILN_TRY(read_edges("histogram", edges, false, &e, NULL, err));
    const int64_t bins = edges->size - 1;
    kiln_stream *const stream = kiln__device_stream(kiln__context_device(array->ctx));
    KILN_TRY(kiln__array_copy_as(edges, KILN_FLOAT64, NULL, stream, &wide, err));
    const double width = e[bins] - e[0];
    bins_call c = {.edges = wide->data,
                   .bins = bins,
                   .first = e[0],
                   .least = e[0],
                   .highest = e[bins],
                   .scale = width > 0 && isfinite(width) ? (double)bins / width : 0};
    c.slack = unevenness(e, bins, c.scale);
    KILN_TRY(count(array, &c, stream, out, err));

done:
    kiln_array_release(wide);
    kiln__free(e);
    return status;
}

kiln_status kiln_array_histogram_edges(const kiln_array *array, int64_t bins, const double range[2],
                                       kiln_array **out, kiln_error *err)
{
    double ends[2] = {0, 1};

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(check_real("histogram_edges", array, err));
    if (bins < 1 || bins == INT64_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "histogram_edges: %lld bins", (long long)bins);
    if (range != NULL) {
        ends[0] = range[0];
        ends[1] = range[1];
    } else if (array->size > 0) {
        KILN_CHECK(extreme(KILN_REDUCE_MIN, array, KILN_FLOAT64, &ends[0], err));
        KILN_CHECK(extreme(KILN_REDUCE_MAX, array, KILN_FLOAT64, &ends[1], err));
    }
    if (!isfinite(ends[0]) || !isfinite(ends[1]) || ends[0] > ends[1])
        return kiln__fail(err, KILN_ERR_RANGE, "histogram_edges: from %g to %g is no range",
                          ends[0], ends[1]);
    if (ends[0] == ends[1]) {
        ends[0] -= 0.5;
        ends[1] += 0.5;
    }
    return kiln_array_linspace(array->ctx, KILN_FLOAT64, ends[0], ends[1], bins + 1, out, err);
}

/* ---- digitize ------------------------------------------------------------------------------------------- */

kiln_status kiln_array_digitize(const kiln_array *values, const kiln_array *edges, bool right,
                                kiln_array **out, kiln_error *err)
{
    double *e = NULL;
    kiln_array *turned = NULL;
    bool falls = false;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(values, NULL, "values", err));
    KILN_CHECK(kiln__array_check(edges, values->ctx, "edges", err));
    KILN_TRY(read_edges("digitize", edges, true, &e, &falls, err));
    KILN_TRY(falls ? kiln_array_flip(edges, 0, &turned, err) : KILN_OK);
    KILN_TRY(kiln__search(falls ? turned : edges, values, !right,
                          falls ? KILN__SEARCH_FROM_END : KILN__SEARCH_PLACE, NULL, out, err));

done:
    kiln_array_release(turned);
    kiln__free(e);
    return status;
}
