/*
 * first.c - the first elements of long rows in sorted order, without sorting the rows, on CUDA
 * devices.
 *
 *     row > [passes find the last element that is taken, digit by digit]
 *         > positions of those that are taken > [sorted] > their elements, in the order of the row
 *         > [sorted stably] > results
 *
 * The kernels are templates/sorting/select.cu, whose structs these are. select.c calls this file.
 *
 * Tests, on a GPU: test_first, test_select.
 */
#include "sorting/sorting.h"

enum {
    THREADS = 256,
    BINS = 2048,
    BITS = 11,
    BLOCKS_A_UNIT = 8,
    ROWS_MAX = 8,
    LENGTH_MIN = 1 << 17
};

typedef struct select_state {
    uint64_t key, position, remaining, appended;
    int32_t shift, in_position, done;
    uint32_t ticket;
} select_state;

typedef struct select_call {
    const void *keys;
    void *state, *counts, *positions;
    int64_t length, k;
    int32_t shift, bits, of_position, first;
} select_call;

bool kiln__first_suits(const kiln__sort *s, int64_t keep)
{
    return !kiln__device_is_host(kiln__context_device(s->ctx)) &&
           kiln__radix_kind_of(s->dtype) != KILN__RADIX_COMPLEX && s->rows <= ROWS_MAX &&
           s->length >= LENGTH_MIN && keep > 0 && keep <= s->length / 64;
}

static kiln_status launch(const kiln__sort *s, bool takes, const select_call *call, kiln_error *err)
{
    kiln__device *device = kiln__context_device(s->ctx);
    const int64_t wanted = kiln__blocks(s->length, THREADS * 8);
    const int64_t most = (int64_t)kiln__device_info(device)->unit_count * BLOCKS_A_UNIT;
    const kiln__launch_config config = {.grid_x = wanted < most ? wanted : most, .block = THREADS};
    kiln__sort_macros m;
    void *entry = NULL;

    kiln__sort_define_keys(&m, s);
    kiln__sort_define(&m, "-DKILN__THREADS=%d", THREADS);
    kiln__sort_define(&m, "-DKILN__TAKES=%d", takes);
    KILN_CHECK(kiln__sort_kernel(s, "sorting/select.cu", "kiln_sort_select", &m, &entry, err));
    return kiln__launch(device, entry, &config, call, sizeof *call, s->stream, err);
}

/* All digits of a number of `bits` bits, the highest first. */
static kiln_status find_number(const kiln__sort *s, select_call *call, int bits, bool of_position,
                               kiln_error *err)
{
    for (int left = bits; left > 0; left = call->shift) {
        call->bits = left < BITS ? left : BITS;
        call->shift = left - call->bits;
        call->of_position = of_position;
        call->first = !of_position && left == bits;
        KILN_CHECK(launch(s, false, call, err));
    }
    return KILN_OK;
}

/* Where the first `keep` elements of a row stand, in any order. */
static kiln_status find_positions(const kiln__sort *s, const void *row, int64_t keep,
                                  kiln_array *positions, kiln_error *err)
{
    const int64_t bytes = (int64_t)sizeof(select_state) + BINS * 8;
    kiln_array *work = NULL;
    int position_bits = 1;
    kiln_status status = KILN_OK;

    while ((s->length - 1) >> position_bits != 0)
        position_bits++;
    KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_UINT8, bytes, &work, err));
    KILN_TRY(
        kiln__memset(kiln__context_device(s->ctx), work->data, 0, (size_t)bytes, s->stream, err));
    select_call call = {.keys = row,
                        .state = work->data,
                        .counts = (char *)work->data + sizeof(select_state),
                        .positions = positions->data,
                        .length = s->length,
                        .k = keep};
    KILN_TRY(find_number(s, &call, 8 * (int)kiln_dtype_size(s->dtype), false, err));
    KILN_TRY(find_number(s, &call, position_bits, true, err));
    KILN_TRY(launch(s, true, &call, err));

done:
    kiln_array_release(work);
    return status;
}

/* `from` at its first element, as a vector of so many. */
static kiln_status vector_of(const kiln_array *from, void *first, int64_t count, kiln_array **out,
                             kiln_error *err)
{
    const int64_t stride = (int64_t)kiln_dtype_size(from->dtype);
    return kiln__array_view(from, 1, &count, &stride, first, out, err);
}

static kiln_status first_of_row(const kiln__sort *s, const kiln_array *x, int64_t row, int64_t keep,
                                const kiln_array *values, const kiln_array *order, kiln_error *err)
{
    const size_t size = kiln_dtype_size(s->dtype);
    char *const keys = (char *)x->data + (size_t)(row * s->length) * size;
    kiln_array *positions = NULL, *found = NULL, *from = NULL, *chosen = NULL;
    kiln_array *finer = NULL, *to = NULL;
    kiln__sort last = *s;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, keep, &found, err));
    KILN_TRY(find_positions(s, keys, keep, found, err));
    KILN_TRY(kiln__sort_keys(found, s->length, KILN_INT64, s->stream, &positions, NULL, err));
    KILN_TRY(vector_of(x, keys, s->length, &from, err));
    KILN_TRY(kiln__sort_take(from, positions, s->stream, &chosen, err));
    last.rows = 1;
    last.length = keep;
    last.keep = 0;
    last.keys = chosen->data;
    last.sorted = (char *)values->data + (size_t)(row * keep) * size;
    if (order != NULL) {
        KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, keep, &finer, err));
        last.order = finer->data;
    }
    KILN_TRY(kiln__sort_rows(&last, err));
    if (order != NULL) {
        KILN_TRY(vector_of(order, (int64_t *)order->data + row * keep, keep, &to, err));
        KILN_TRY(kiln__sort_take(positions, finer, s->stream, &to, err));
    }

done:
    kiln_array_release(positions);
    kiln_array_release(found);
    kiln_array_release(from);
    kiln_array_release(chosen);
    kiln_array_release(finer);
    kiln_array_release(to);
    return status;
}

kiln_status kiln__first_of_long_rows(const kiln__sort *s, const kiln_array *x, int64_t keep,
                                     const kiln_array *values, const kiln_array *order,
                                     kiln_error *err)
{
    for (int64_t row = 0; row < s->rows; row++)
        KILN_CHECK(first_of_row(s, x, row, keep, values, order, err));
    return KILN_OK;
}
