/*
 * product_own.c - kiln's own matrix product on the cpu device: every dtype, every layout.
 *
 *     stack of products > blocks of y > [pack a and b > tiles of sums > store] on all threads
 *
 * A block of y is one unit of work. For each slice of k, the block's rows of `a` and columns of `b` are
 * packed into panels as high and wide as a tile, which makes strides, dtypes and edges a matter of packing
 * alone: elements beyond an edge are zeros. Sums stay in memory of the thread until k is through.
 *
 * A complex product is a real one of twice the size. Packed, a row of `a` holds real and imaginary parts
 * in turn, and a row of `b` becomes two:
 *
 *     (ar ai) * | br  bi |  =  (ar br - ai bi,  ar bi + ai br)
 *               | -bi br |
 *
 * Rule 1: the order of summation depends on k alone, never on the number of threads or the place in the
 *         stack.
 * Rule 2: integers are summed modulo 2^32 or 2^64, which is right modulo each smaller power.
 */
#include "linalg/linalg.h"

enum {
    SLICE = 256,         /* of k, in steps of the tile */
    BLOCK_COLUMNS = 512, /* of y, at most */
    BLOCK_ROWS = 192
};

typedef struct blocked {
    const kiln__product *p;
    const kiln__tile *tile;
    kiln__tile_kind kind;
    int parts;                         /* 2 for complex numbers */
    int64_t block_rows, block_columns; /* of y's elements */
    int64_t rows, columns;             /* blocks in a matrix */
    atomic_bool no_memory;
} blocked;

/* One block of y, and where a thread works on it. */
typedef struct block {
    const blocked *job;
    const char *a, *b; /* first element of the matrices */
    char *y;
    int64_t row, column, height, width; /* in elements of y */
    int64_t sum_step;                   /* elements from one row of sums to the next */
    char *packed_a, *packed_b, *sums;
} block;

/* ---- elements -------------------------------------------------------------------------------- */

/* X(dtype, type in memory, type when packed, conversion of `v`, ... back) for those without parts. */
#define REAL_ELEMENTS(X)                                                                           \
    X(BOOL, uint8_t, uint32_t, v, v != 0)                                                          \
    X(INT8, int8_t, uint32_t, (uint32_t)v, (int8_t)v)                                              \
    X(INT16, int16_t, uint32_t, (uint32_t)v, (int16_t)v)                                           \
    X(INT32, int32_t, uint32_t, (uint32_t)v, (int32_t)v)                                           \
    X(INT64, int64_t, uint64_t, (uint64_t)v, (int64_t)v)                                           \
    X(UINT8, uint8_t, uint32_t, v, (uint8_t)v)                                                     \
    X(UINT16, uint16_t, uint32_t, v, (uint16_t)v)                                                  \
    X(UINT32, uint32_t, uint32_t, v, v)                                                            \
    X(UINT64, uint64_t, uint64_t, v, v)                                                            \
    X(FLOAT16, uint16_t, float, kiln__float16_to_float(v), kiln__float16_from_double(v))           \
    X(BFLOAT16, uint16_t, float, kiln__bfloat16_to_float(v), kiln__bfloat16_from_double(v))        \
    X(FLOAT32, float, float, v, v)                                                                 \
    X(FLOAT64, double, double, v, v)

static kiln__tile_kind kind_of(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
    case KILN_FLOAT32:
    case KILN_COMPLEX64:
        return KILN__TILE_FLOAT;
    case KILN_FLOAT64:
    case KILN_COMPLEX128:
        return KILN__TILE_DOUBLE;
    case KILN_INT64:
    case KILN_UINT64:
        return KILN__TILE_UINT64;
    default:
        return KILN__TILE_UINT32;
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

/* A panel: `count` lines of `k` elements each, `wide` lines side by side. `along` is the stride of k,
 * `across` that from line to line. Lines beyond `count` are zeros. */
typedef struct panel {
    const char *at;
    int64_t across, along, count, k;
    int wide;
} panel;

#define PACK_REAL(dtype, stored, packed, in, out)                                                  \
    static void pack_##dtype(const panel *p, void *to)                                             \
    {                                                                                              \
        for (int line = 0; line < p->wide; line++) {                                               \
            packed *dst = (packed *)to + line;                                                     \
            const char *src = p->at + line * p->across;                                            \
            for (int64_t k = 0; k < p->k; k++, src += p->along, dst += p->wide) {                  \
                if (line >= p->count) {                                                            \
                    *dst = 0;                                                                      \
                    continue;                                                                      \
                }                                                                                  \
                const stored v = *(const stored *)src;                                             \
                *dst = (in);                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
REAL_ELEMENTS(PACK_REAL)

/* Complex numbers: for `a` each element is two steps of k; for `b` it is two steps of two columns. */
#define PACK_COMPLEX(name, type)                                                                   \
    static void pack_rows_##name(const panel *p, void *to)                                         \
    {                                                                                              \
        type *dst = to;                                                                            \
        for (int64_t k = 0; k < p->k; k++, dst += 2 * p->wide)                                     \
            for (int line = 0; line < p->wide; line++) {                                           \
                const type *v = (const type *)(p->at + line * p->across + k * p->along);           \
                dst[line] = line < p->count ? v[0] : 0;                                            \
                dst[p->wide + line] = line < p->count ? v[1] : 0;                                  \
            }                                                                                      \
    }                                                                                              \
    static void pack_columns_##name(const panel *p, void *to)                                      \
    {                                                                                              \
        type *dst = to;                                                                            \
        for (int64_t k = 0; k < p->k; k++, dst += 2 * p->wide)                                     \
            for (int line = 0; line < p->wide / 2; line++) {                                       \
                const type *v = (const type *)(p->at + line * p->across + k * p->along);           \
                const type re = line < p->count ? v[0] : 0, im = line < p->count ? v[1] : 0;       \
                dst[2 * line] = re;                                                                \
                dst[2 * line + 1] = im;                                                            \
                dst[p->wide + 2 * line] = -im;                                                     \
                dst[p->wide + 2 * line + 1] = re;                                                  \
            }                                                                                      \
    }
PACK_COMPLEX(COMPLEX64, float)
PACK_COMPLEX(COMPLEX128, double)

typedef void (*pack_fn)(const panel *p, void *to);

#define PACK_CASE(dtype, stored, packed, in, out) [KILN_##dtype] = pack_##dtype,
static const pack_fn pack_rows[KILN_DTYPE_COUNT] = {
    REAL_ELEMENTS(PACK_CASE)[KILN_COMPLEX64] = pack_rows_COMPLEX64,
    [KILN_COMPLEX128] = pack_rows_COMPLEX128,
};
static const pack_fn pack_columns[KILN_DTYPE_COUNT] = {
    REAL_ELEMENTS(PACK_CASE)[KILN_COMPLEX64] = pack_columns_COMPLEX64,
    [KILN_COMPLEX128] = pack_columns_COMPLEX128,
};
#undef PACK_CASE

/* Pack `k` steps from `from` on of `count` lines, panel by panel. `lines` of y go into one panel. */
static void pack_side(const block *b, bool is_a, int64_t from, int64_t k)
{
    const kiln__product *p = b->job->p;
    const kiln__tile *tile = b->job->tile;
    const int wide = is_a ? tile->rows : tile->columns;
    const int lines = is_a ? wide : wide / b->job->parts;
    const int64_t across = is_a ? p->a.row : p->b.column, along = is_a ? p->a.column : p->b.row;
    const int64_t first = is_a ? b->row : b->column, count = is_a ? b->height : b->width;
    char *to = is_a ? b->packed_a : b->packed_b;

    for (int64_t line = 0; line < count; line += lines) {
        const panel one = {.at = (is_a ? b->a : b->b) + (first + line) * across + from * along,
                           .across = across,
                           .along = along,
                           .count = count - line < lines ? count - line : lines,
                           .k = k,
                           .wide = wide};
        (is_a ? pack_rows : pack_columns)[p->in](&one, to);
        to += (int64_t)wide * k * b->job->parts * (int64_t)tile->item_bytes;
    }
}

/* ---- storing --------------------------------------------------------------------------------- */

/* A row of sums into y. Real sums and those of integers. */
#define STORE_REAL(dtype, stored, packed, in, out)                                                 \
    static void store_##dtype(const kiln__product *p, const void *sums, char *y, int64_t count)    \
    {                                                                                              \
        const packed *sum = sums;                                                                  \
        const packed alpha = (packed)p->alpha;                                                     \
        for (int64_t k = 0; k < count; k++, y += p->y.column) {                                    \
            packed v = sum[k] * alpha;                                                             \
            if (p->beta != 0)                                                                      \
                v += (packed)p->beta * load_##dtype(y);                                            \
            *(stored *)y = (out);                                                                  \
        }                                                                                          \
    }
#define LOAD_REAL(dtype, stored, packed, in, out)                                                  \
    static packed load_##dtype(const char *y)                                                      \
    {                                                                                              \
        const stored v = *(const stored *)y;                                                       \
        return (in);                                                                               \
    }
REAL_ELEMENTS(LOAD_REAL)
REAL_ELEMENTS(STORE_REAL)

#define STORE_COMPLEX(dtype, type)                                                                 \
    static void store_##dtype(const kiln__product *p, const void *sums, char *y, int64_t count)    \
    {                                                                                              \
        const type *sum = sums;                                                                    \
        const type alpha = (type)p->alpha, beta = (type)p->beta;                                   \
        for (int64_t k = 0; k < count; k++, sum += 2, y += p->y.column)                            \
            for (int part = 0; part < 2; part++)                                                   \
                ((type *)y)[part] =                                                                \
                    alpha * sum[part] + (beta != 0 ? beta * ((type *)y)[part] : 0);                \
    }
STORE_COMPLEX(COMPLEX64, float)
STORE_COMPLEX(COMPLEX128, double)

#define STORE_CASE(dtype, stored, packed, in, out) [KILN_##dtype] = store_##dtype,
static void (*const store[KILN_DTYPE_COUNT])(const kiln__product *p, const void *sums, char *y,
                                             int64_t count) = {
    REAL_ELEMENTS(STORE_CASE)[KILN_COMPLEX64] = store_COMPLEX64,
    [KILN_COMPLEX128] = store_COMPLEX128,
};
#undef STORE_CASE

/* ---- a block --------------------------------------------------------------------------------- */

static void multiply(const block *b)
{
    const blocked *job = b->job;
    const kiln__product *p = job->p;
    const kiln__tile *tile = job->tile;
    const int64_t item = (int64_t)tile->item_bytes, width = b->width * job->parts;
    const int64_t slice = SLICE / job->parts;

    memset(b->sums, 0,
           (size_t)(kiln__round_up(b->height, tile->rows) * b->sum_step) * tile->item_bytes);
    for (int64_t from = 0; from < p->k; from += slice) {
        const int64_t k = p->k - from < slice ? p->k - from : slice;
        const int64_t steps = k * job->parts;
        pack_side(b, true, from, k);
        pack_side(b, false, from, k);
        for (int64_t j = 0; j < width; j += tile->columns)
            for (int64_t i = 0; i < b->height; i += tile->rows)
                tile->run(steps, b->packed_a + i * steps * item, b->packed_b + j * steps * item,
                          b->sums + (i * b->sum_step + j) * item, b->sum_step);
    }
    for (int64_t i = 0; i < b->height; i++) {
        store[p->out](p, b->sums + i * b->sum_step * item,
                      b->y + (b->row + i) * p->y.row + b->column * p->y.column, b->width);
    }
}

/* Units [begin, end): blocks of all matrices, column by column within one. */
static void run_blocks(const void *args, int64_t begin, int64_t end)
{
    blocked *const job = *(blocked *const *)args;
    const kiln__product *p = job->p;
    const size_t item = job->tile->item_bytes;
    const int64_t high = kiln__round_up(job->block_rows, job->tile->rows);
    const int64_t wide = kiln__round_up(job->block_columns * job->parts, job->tile->columns);
    /* No more than is needed: of small products the pages of new memory take longer than the sums. */
    const int64_t deep = p->k < SLICE / job->parts ? p->k * job->parts : SLICE;
    const size_t a_bytes = (size_t)(high * deep) * item, b_bytes = (size_t)(wide * deep) * item;
    char *memory = kiln__alloc(a_bytes + b_bytes + (size_t)(high * wide) * item);

    if (memory == NULL) {
        atomic_store(&job->no_memory, true);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t matrix = unit / (job->rows * job->columns);
        const int64_t within = unit % (job->rows * job->columns);
        block b = {.job = job,
                   .a = kiln__side_matrix(p, &p->a, matrix),
                   .b = kiln__side_matrix(p, &p->b, matrix),
                   .y = kiln__side_matrix(p, &p->y, matrix),
                   .row = within % job->rows * job->block_rows,
                   .column = within / job->rows * job->block_columns,
                   .sum_step = wide,
                   .packed_a = memory,
                   .packed_b = memory + a_bytes,
                   .sums = memory + a_bytes + b_bytes};
        b.height = p->m - b.row < job->block_rows ? p->m - b.row : job->block_rows;
        b.width = p->n - b.column < job->block_columns ? p->n - b.column : job->block_columns;
        multiply(&b);
    }
    kiln__free(memory);
}

kiln_status kiln__product_own(kiln__device *device, const kiln__product *p, kiln_error *err)
{
    const int threads = kiln__device_info(device)->unit_count;
    const int parts = kiln_dtype_kind(p->in) == 'c' ? 2 : 1;
    blocked job = {.p = p, .kind = kind_of(p->in), .parts = parts};
    blocked *const args = &job;

    job.tile = kiln__tile_of(job.kind);
    job.block_rows = p->m < BLOCK_ROWS ? p->m : BLOCK_ROWS / job.tile->rows * job.tile->rows;
    job.block_columns = p->n < BLOCK_COLUMNS / parts ? p->n : BLOCK_COLUMNS / parts;
    /* Small matrices: smaller blocks, until every thread has one. */
    while (p->count * kiln__blocks(p->m, job.block_rows) * kiln__blocks(p->n, job.block_columns) <
           threads) {
        if (job.block_columns * parts >= 2 * job.tile->columns)
            job.block_columns = kiln__round_up(job.block_columns / 2, job.tile->columns / parts);
        else if (job.block_rows >= 2 * job.tile->rows)
            job.block_rows = kiln__round_up(job.block_rows / 2, job.tile->rows);
        else
            break;
    }
    job.rows = kiln__blocks(p->m, job.block_rows);
    job.columns = kiln__blocks(p->n, job.block_columns);
    kiln_status status = kiln__on_threads(device, run_blocks, &args, sizeof args,
                                          p->count * job.rows * job.columns, err);
    if (status == KILN_OK && atomic_load(&job.no_memory))
        return kiln__fail(err, KILN_ERR_NO_MEMORY, "no memory for blocks of a matrix product");
    return status;
}
