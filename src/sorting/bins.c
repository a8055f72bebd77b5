/*
 * bins.c - how many elements fall into each bin: bincount, histogram; digitize.
 *
 *     array > cpu:  [pieces: bins of a block guessed, the others searched, counted] > [counts of pieces added]
 *           > CUDA: bins_cuda.c
 *
 * How many bins there are, and whether edges increase, is known on the host alone: these functions
 * wait for the device.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "sorting/sorting.h"

enum { PIECES_MAX = 64, READ_BLOCK = 1024, TABLES = 4, TABLE_BINS = 4096 };

#define BINS_GUESSED (INT32_MAX - 1) /* cpu: so many bins are not guessed */

typedef struct bins_call bins_call;

/* The elements of a block as float64, and the numbers of their bins: `bins` of those that are in
 * none, -1 where the distance from the first edge does not tell. True: there are such. */
typedef bool (*read_bins)(const bins_call *c, int64_t begin, int64_t count, double *values,
                          int32_t *bins);

/* Of the cpu device: what a launch is given. */
struct bins_call {
    const void *x;
    const double *edges;
    int64_t *counts;
    int64_t size, bins;
    double first, scale;
    double least, highest; /* of what is in a bin */
    double slack;          /* how far from a whole number a guess must be to be certain */
    int32_t copies;        /* pieces */
    int64_t *parts;        /* counts of pieces */
    int64_t tables;        /* of counts, of each piece */
    kiln_dtype dtype;      /* of x */
    read_bins read;        /* between edges */
};

/* ---- guesses ------------------------------------------------------------------------------------------- */

/* A guess is as far off as the edges are from even ones, which `bins_call.slack` is, and by
 * rounding. */
static void round_for(bins_call *c)
{
    c->slack += 8 * (double)(c->bins + 1) * DBL_EPSILON;
    if (!(c->slack < 0.5) || c->bins >= INT32_MAX) {
        c->slack = 1; /* no guess is certain */
        c->scale = 0;
    }
}

/* ---- the cpu device ------------------------------------------------------------------------------------ */

static int64_t bin_of(const bins_call *c, double v)
{
    if (!(v >= c->least && v <= c->highest))
        return -1;
    const double in_bins =
        (v - c->first) * c->scale; /* NaN where the range has no width that is a number */
    int64_t high = c->bins, low = !(in_bins < (double)high) ? high - 1
                                  : in_bins > 0             ? (int64_t)in_bins
                                                            : 0;
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

#define READ_BINS(set, target, name, ctype)                                                        \
    target static bool set##_##name(const bins_call *c, int64_t begin, int64_t count,              \
                                    double *values, int32_t *bins)                                 \
    {                                                                                              \
        const ctype *const x = (const ctype *)c->x + begin;                                        \
        const double first = c->first, scale = c->scale, slack = c->slack, most = (double)c->bins; \
        const int32_t none = (int32_t)c->bins;                                                     \
        int32_t open = 0;                                                                          \
        for (int64_t k = 0; k < count; k++) {                                                      \
            const double v = (double)x[k], sum = (v - first) * scale;                              \
            const double over = sum > -1 ? sum : -1;                                               \
            const double near = over < most + 1 ? over : most + 1;                                 \
            const int32_t low = (int32_t)near;                                                     \
            const double above = near - (double)low;                                               \
            /* All ones where it holds: branches would keep the loop from being one of vectors. */ \
            const int32_t in = -(int32_t)(above > slack) & -(int32_t)(above < 1 - slack) &         \
                               -(int32_t)(near > 0) & -(int32_t)(low < none);                      \
            const int32_t out = -(int32_t)(near < -slack) | -(int32_t)(near > most + slack);       \
            const int32_t bin = (in & low) | (~in & ((out & none) | ~out));                        \
            values[k] = v;                                                                         \
            bins[k] = bin;                                                                         \
            open |= bin;                                                                           \
        }                                                                                          \
        return open < 0;                                                                           \
    }
/* X(dtype, name, type) */
#define READ_TYPES(X)                                                                              \
    X(KILN_INT8, i8, int8_t)                                                                       \
    X(KILN_INT16, i16, int16_t)                                                                    \
    X(KILN_INT32, i32, int32_t)                                                                    \
    X(KILN_INT64, i64, int64_t)                                                                    \
    X(KILN_UINT8, u8, uint8_t)                                                                     \
    X(KILN_UINT16, u16, uint16_t)                                                                  \
    X(KILN_UINT32, u32, uint32_t)                                                                  \
    X(KILN_UINT64, u64, uint64_t)                                                                  \
    X(KILN_FLOAT32, f32, float)                                                                    \
    X(KILN_FLOAT64, f64, double)

#define READ_PLAIN(dtype, name, ctype) READ_BINS(plain, , name, ctype)
#define PLAIN_ENTRY(dtype, name, ctype) [dtype] = plain_##name,
READ_TYPES(READ_PLAIN)
static const read_bins plain_reads[KILN_DTYPE_COUNT] = {READ_TYPES(PLAIN_ENTRY)};

#if defined(__x86_64__)
#define READ_AVX2(dtype, name, ctype)                                                              \
    READ_BINS(avx2, __attribute__((target("avx2,fma"))), name, ctype)
#define READ_AVX512(dtype, name, ctype)                                                            \
    READ_BINS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), name, ctype)
#define AVX2_ENTRY(dtype, name, ctype) [dtype] = avx2_##name,
#define AVX512_ENTRY(dtype, name, ctype) [dtype] = avx512_##name,
READ_TYPES(READ_AVX2)
READ_TYPES(READ_AVX512)
static const read_bins avx2_reads[KILN_DTYPE_COUNT] = {READ_TYPES(AVX2_ENTRY)};
static const read_bins avx512_reads[KILN_DTYPE_COUNT] = {READ_TYPES(AVX512_ENTRY)};
#endif

static read_bins read_bins_of(kiln_dtype dtype)
{
#if defined(__x86_64__)
    const char *target = kiln__cpu_target();

    if (strcmp(target, "x86-64-v4") == 0)
        return avx512_reads[dtype];
    if (strcmp(target, "x86-64-v3") == 0)
        return avx2_reads[dtype];
#endif
    return plain_reads[dtype];
}

/* Numbers between edges. Neighbours are counted in tables of their own: the next increment of a
 * counter would have to wait for the one before. */
static void count_between(const bins_call *c, int64_t begin, int64_t end, int64_t *const *tables)
{
    double values[READ_BLOCK];
    int32_t bins[READ_BLOCK];

    if (c->bins >= BINS_GUESSED)
        for (int64_t k = begin; k < end; k++) {
            const int64_t bin = bin_of(c, ((const double *)c->x)[k]);
            tables[0][bin < 0 ? c->bins : bin]++;
        }
    for (int64_t at = begin; at < end && c->bins < BINS_GUESSED; at += READ_BLOCK) {
        const int64_t here = end - at < READ_BLOCK ? end - at : READ_BLOCK;
        if (c->read(c, at, here, values, bins))
            for (int64_t k = 0; k < here; k++)
                if (bins[k] < 0) {
                    const int64_t bin = bin_of(c, values[k]);
                    bins[k] = (int32_t)(bin < 0 ? c->bins : bin);
                }
        int64_t k = 0;
        for (; k + TABLES <= here; k += TABLES)
            for (int t = 0; t < TABLES; t++)
                tables[t][bins[k + t]]++;
        for (; k < here; k++)
            tables[0][bins[k]]++;
    }
}

/* Integers that are numbers of bins. */
#define COUNT_NUMBERS(dtype, name, ctype)                                                          \
    case dtype:                                                                                    \
        for (; k + TABLES <= end; k += TABLES)                                                     \
            for (int t = 0; t < TABLES; t++) {                                                     \
                const uint64_t bin = (uint64_t)(int64_t)((const ctype *)c->x)[k + t];              \
                if (bin < bins)                                                                    \
                    tables[t][bin]++;                                                              \
            }                                                                                      \
        for (; k < end; k++)                                                                       \
            if ((uint64_t)(int64_t)((const ctype *)c->x)[k] < bins)                                \
                tables[0][(int64_t)((const ctype *)c->x)[k]]++;                                    \
        break;

static void count_numbers(const bins_call *c, int64_t begin, int64_t end, int64_t *const *others)
{
    int64_t *const tables[TABLES] = {others[0], others[1], others[2], others[3]};
    const uint64_t bins = (uint64_t)c->bins;
    int64_t k = begin;

    switch (c->dtype) {
        READ_TYPES(COUNT_NUMBERS)
    default:
        break;
    }
}

/* Each piece has counters for the bins and, between edges, one for what is in none. */
static int64_t counters_of(const bins_call *c)
{
    return c->bins + (c->edges != NULL);
}

static void count_pieces(const void *args, int64_t begin, int64_t end)
{
    const bins_call *c = args;
    const int64_t each = (c->size + c->copies - 1) / c->copies;

    for (int64_t piece = begin; piece < end; piece++) {
        int64_t *const counts = c->parts + piece * c->tables * counters_of(c), *tables[TABLES];
        const int64_t last = (piece + 1) * each < c->size ? (piece + 1) * each : c->size;
        memset(counts, 0, (size_t)(c->tables * counters_of(c)) * sizeof *counts);
        for (int t = 0; t < TABLES; t++)
            tables[t] = counts + (t < c->tables ? t : 0) * counters_of(c);
        if (c->edges != NULL)
            count_between(c, piece * each, last, tables);
        else
            count_numbers(c, piece * each, last, tables);
    }
}

static void add_pieces(const void *args, int64_t begin, int64_t end)
{
    const bins_call *c = args;

    for (int64_t bin = begin; bin < end; bin++) {
        int64_t sum = 0;
        for (int64_t table = 0; table < (int64_t)c->copies * c->tables; table++)
            sum += c->parts[table * counters_of(c) + bin];
        c->counts[bin] = sum;
    }
}

static kiln_status count_cpu(kiln_context *ctx, bins_call *c, kiln_stream *stream, kiln_error *err)
{
    kiln__device *device = kiln__context_device(ctx);
    const int threads = kiln__device_info(device)->unit_count;
    kiln_array *parts = NULL;
    kiln_status status = KILN_OK;

    /* Pieces whose counters are more than their elements cost more than they save. */
    const int64_t most = c->size / counters_of(c) + 1;
    c->copies = threads < PIECES_MAX ? threads : PIECES_MAX;
    c->copies = c->copies < most ? c->copies : (int32_t)most;
    c->tables = c->bins <= TABLE_BINS ? TABLES : 1;
    c->read = read_bins_of(c->dtype);
    if (c->edges != NULL)
        round_for(c);
    const bool alone = c->edges == NULL && c->copies * c->tables == 1;
    if (!alone)
        KILN_TRY(kiln__sort_memory(ctx, stream, KILN_INT64, c->copies * c->tables * counters_of(c),
                                   &parts, err));
    c->parts = alone ? c->counts : parts->data;
    const kiln__launch_config pieces = {.grid_x = c->copies, .block = 1};
    const kiln__launch_config bins = {.grid_x = c->bins, .block = 64};
    KILN_TRY(
        kiln__launch(device, (void *)(uintptr_t)count_pieces, &pieces, c, sizeof *c, stream, err));
    if (!alone)
        KILN_TRY(
            kiln__launch(device, (void *)(uintptr_t)add_pieces, &bins, c, sizeof *c, stream, err));

done:
    kiln_array_release(parts);
    return status;
}

/* The dtype in which the kernel reads: its own, but for 16-bit floats. On the cpu device what is
 * neither an integer nor float32 or float64 is copied as such. */
static kiln_dtype read_as(const kiln_array *x, const bins_call *c)
{
    const char kind = kiln_dtype_kind(x->dtype);

    if (!kiln__device_is_host(kiln__context_device(x->ctx)))
        return kiln__is_narrow(x->dtype) ? KILN_FLOAT32 : x->dtype;
    if (c->edges != NULL && c->bins >= BINS_GUESSED)
        return KILN_FLOAT64;
    if (kind == 'i' || kind == 'u' || x->dtype == KILN_FLOAT32 || x->dtype == KILN_FLOAT64)
        return x->dtype;
    return c->edges != NULL ? KILN_FLOAT64 : KILN_INT64;
}

static kiln_status count(const kiln_array *array, bins_call *c, kiln_stream *stream, bool *wrong,
                         kiln_array **out, kiln_error *err)
{
    const kiln_dtype dtype = read_as(array, c);
    kiln_array *x = NULL, *counts = NULL;
    kiln_status status = KILN_OK;

    if (array->contiguous && array->dtype == dtype)
        x = kiln_array_retain((kiln_array *)array);
    else
        KILN_TRY(kiln__array_copy_as(array, dtype, NULL, stream, &x, err));
    kiln__sort_used(x, stream);
    KILN_TRY(kiln__sort_memory(array->ctx, stream, KILN_INT64, c->bins, &counts, err));
    c->x = x->data;
    c->dtype = dtype;
    c->size = x->size;
    c->counts = counts->data;
    if (c->bins > 0 && !kiln__device_is_host(kiln__context_device(array->ctx)))
        KILN_TRY(kiln__bins_cuda(x, c->edges, counts, stream, wrong, err));
    else if (c->bins > 0)
        KILN_TRY(count_cpu(array->ctx, c, stream, err));
    *out = counts;
    counts = NULL;

done:
    kiln_array_release(x);
    kiln_array_release(counts);
    return status;
}

kiln_status kiln__count_bins(const kiln_array *numbers, int64_t bins, kiln_stream *stream,
                             kiln_array **out, kiln_error *err)
{
    bins_call c = {.bins = bins};
    return count(numbers, &c, stream, NULL, out, err);
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

/* The largest element, of negative ones and those that int64 has no room for one of these: read
 * without a sign, they are larger than all others. */
static kiln_status largest_bin(const kiln_array *array, int64_t *out, kiln_error *err)
{
    const int bits = 8 * (int)kiln_dtype_size(array->dtype);
    kiln_array *x = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(
        kiln__array_view(array, array->rank, array->shape, array->strides, array->data, &x, err));
    x->dtype = kiln__dtype_without_sign(array->dtype);
    KILN_TRY(extreme(KILN_REDUCE_MAX, x, KILN_INT64, out, err));
    if (kiln_dtype_kind(array->dtype) == 'i' && *out >> (bits - 1) != 0)
        status = extreme(KILN_REDUCE_MIN, array, KILN_INT64, out, err);

done:
    kiln_array_release(x);
    return status;
}

kiln_status kiln_array_bincount(const kiln_array *array, int64_t least_count, kiln_array **out,
                                kiln_error *err)
{
    int64_t high = -1;
    bins_call c = {.bins = 0};

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    if (strchr("biu", kiln_dtype_kind(array->dtype)) == NULL)
        return kiln__fail(err, KILN_ERR_DTYPE, "bincount: elements must be integers, and these are %s",
                          kiln_dtype_name(array->dtype));
    if (least_count < 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "bincount: least_count is %lld",
                          (long long)least_count);
    if (array->size > 0)
        KILN_CHECK(largest_bin(array, &high, err));
    if (array->size > 0 && (high < 0 || high == INT64_MAX))
        return kiln__fail(err, KILN_ERR_RANGE,
                          array->dtype == KILN_UINT64
                              ? "bincount: the array holds %llu, which is no bin"
                              : "bincount: the array holds %lld, which is no bin",
                          (long long)high);
    c.bins = high + 1 > least_count ? high + 1 : least_count;
    return count(array, &c, kiln__device_stream(kiln__context_device(array->ctx)), NULL, out, err);
}

/* ---- histogram ----------------------------------------------------------------------------------------- */

static kiln_status check_shape(const char *what, const kiln_array *edges, bool falls_too,
                               kiln_error *err)
{
    if (edges->rank != 1 || edges->size < (falls_too ? 1 : 2))
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: edges of bins are a vector of %d at least",
                          what, falls_too ? 1 : 2);
    if (kiln_dtype_kind(edges->dtype) == 'c')
        return kiln__fail(err, KILN_ERR_DTYPE, "%s: complex numbers are no edges of bins", what);
    return KILN_OK;
}

/* Edges as the host has them, checked. Heap. */
static kiln_status read_edges(const char *what, const kiln_array *edges, bool falls_too,
                              double **out, bool *falls_out, kiln_error *err)
{
    kiln_array *wide = NULL;
    double *e = NULL;
    bool rises = true, falls = falls_too;
    kiln_status status = KILN_OK;

    *out = NULL;
    KILN_CHECK(check_shape(what, edges, falls_too, err));
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

/* How far edges are from even ones, in widths of a bin. In lanes, for there may be very many of
 * them. */
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

/* What the host has to know of edges for the cpu device. */
static kiln_status read_plan(const kiln_array *edges, bins_call *c, kiln_error *err)
{
    double *e = NULL;

    KILN_CHECK(read_edges("histogram", edges, false, &e, NULL, err));
    const double width = e[c->bins] - e[0];
    c->first = c->least = e[0];
    c->highest = e[c->bins];
    c->scale = width > 0 && isfinite(width) ? (double)c->bins / width : 0;
    c->slack = unevenness(e, c->bins, c->scale);
    kiln__free(e);
    return KILN_OK;
}

kiln_status kiln_array_histogram(const kiln_array *array, const kiln_array *edges, kiln_array **out,
                                 kiln_error *err)
{
    kiln_array *wide = NULL, *counts = NULL;
    bool wrong = false;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(kiln__array_check(edges, array->ctx, "edges", err));
    KILN_CHECK(check_real("histogram", array, err));
    KILN_CHECK(check_shape("histogram", edges, false, err));
    kiln_stream *const stream = kiln__device_stream(kiln__context_device(array->ctx));
    bins_call c = {.bins = edges->size - 1};
    if (kiln__device_is_host(kiln__context_device(array->ctx)))
        KILN_CHECK(read_plan(edges, &c, err));
    if (edges->contiguous && edges->dtype == KILN_FLOAT64)
        wide = kiln_array_retain((kiln_array *)edges);
    else
        KILN_TRY(kiln__array_copy_as(edges, KILN_FLOAT64, NULL, stream, &wide, err));
    kiln__sort_used(wide, stream);
    c.edges = wide->data;
    KILN_TRY(count(array, &c, stream, &wrong, &counts, err));
    if (wrong)
        KILN_TRY(kiln__check_edges("histogram", edges, err));
    *out = counts;
    counts = NULL;

done:
    kiln_array_release(wide);
    kiln_array_release(counts);
    return status;
}

/* A number as NumPy rounds it where it computes in a dtype. */
static double rounded(kiln_dtype dtype, double v)
{
    return dtype == KILN_FLOAT32   ? (double)(float)v
           : dtype == KILN_FLOAT16 ? (double)kiln__float16_to_float(kiln__float16_from_double(v))
                                   : v;
}

/* Edge number k of bins of equal width; each operation is rounded. */
static double edge_at(kiln_dtype dtype, const double ends[2], double step, int64_t k, int64_t bins)
{
    if (k == bins)
        return ends[1];
    return rounded(dtype, rounded(dtype, rounded(dtype, (double)k) * step) + ends[0]);
}

/* Edges of float32 or float16. */
static kiln_status narrow_edges(kiln_context *ctx, kiln_dtype dtype, const double ends[2],
                                int64_t bins, kiln_array **out, kiln_error *err)
{
    const size_t bytes = kiln_dtype_size(dtype);
    const double width = rounded(dtype, ends[1] - ends[0]);
    const double step = rounded(dtype, width / rounded(dtype, (double)bins));
    const int64_t shape[] = {bins + 1};
    double before = -INFINITY;
    char *host = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__make_room(&host, (size_t)(bins + 1) * bytes, err));
    for (int64_t k = 0; k <= bins; k++) {
        const double edge = edge_at(dtype, ends, step, k, bins);
        const float narrow = (float)edge;
        const uint16_t half = kiln__float16_from_double(edge);
        if (!(edge > before)) {
            status = kiln__fail(err, KILN_ERR_RANGE,
                                "histogram_edges: too many bins for the range of the data, from %g to "
                                "%g: cannot create %lld finite-sized bins",
                                ends[0], ends[1], (long long)bins);
            goto done;
        }
        before = edge;
        memcpy(host + (size_t)k * bytes, bytes == sizeof narrow ? (const void *)&narrow : &half, bytes);
    }
    status = kiln_array_from_host(ctx, dtype, 1, shape, host, NULL, out, err);

done:
    kiln__free(host);
    return status;
}

/* Whether every edge is larger than the one before it. Only bins about as narrow as the distance
 * of neighbouring numbers are looked at one by one. */
static bool have_width(const double ends[2], int64_t bins)
{
    const double width = (ends[1] - ends[0]) / (double)bins;
    const double size = fmax(fabs(ends[0]), fabs(ends[1]));
    double before = ends[0];

    if (width > 4 * size * DBL_EPSILON)
        return true;
    for (int64_t k = 1; k <= bins; k++) {
        const double edge = k == bins ? ends[1] : ends[0] + (double)k * width;
        if (!(edge > before))
            return false;
        before = edge;
    }
    return true;
}

kiln_status kiln_array_histogram_edges(const kiln_array *array, int64_t bins, const double range[2],
                                       kiln_array **out, kiln_error *err)
{
    double ends[2] = {0, 1};

    KILN_CHECK_NULL(out, err);
    KILN_CHECK(kiln__array_check(array, NULL, "array", err));
    KILN_CHECK(check_real("histogram_edges", array, err));
    if (bins < 1 || bins == INT64_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT,
                          "histogram_edges: %lld bins are asked for; at least 1 is needed",
                          (long long)bins);
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
    const bool narrow = array->dtype == KILN_FLOAT32 || array->dtype == KILN_FLOAT16;
    ends[0] = rounded(array->dtype, ends[0]);
    ends[1] = rounded(array->dtype, ends[1]);
    if (ends[0] == ends[1]) {
        ends[0] = rounded(array->dtype, ends[0] - 0.5);
        ends[1] = rounded(array->dtype, ends[1] + 0.5);
    }
    if (narrow)
        return narrow_edges(array->ctx, array->dtype, ends, bins, out, err);
    if (!have_width(ends, bins))
        return kiln__fail(
            err, KILN_ERR_RANGE,
            "histogram_edges: too many bins for the range of the data, from %g to %g: "
            "cannot create %lld finite-sized bins",
            ends[0], ends[1], (long long)bins);
    return kiln_array_linspace(array->ctx, KILN_FLOAT64, ends[0], ends[1], bins + 1, out, err);
}

/* ---- digitize ------------------------------------------------------------------------------------------ */

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
    if (kiln_dtype_kind(values->dtype) == 'c')
        return kiln__fail(err, KILN_ERR_DTYPE, "digitize: complex numbers are in no bin");
    KILN_TRY(read_edges("digitize", edges, true, &e, &falls, err));
    KILN_TRY(falls ? kiln_array_flip(edges, 0, &turned, err) : KILN_OK);
    KILN_TRY(kiln__search(falls ? turned : edges, values, !right,
                          falls ? KILN__SEARCH_FROM_END : KILN__SEARCH_INDEX, NULL, out, err));

done:
    kiln_array_release(turned);
    kiln__free(e);
    return status;
}
