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
#include <stdio.h>

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
    uint64_t key, index, remaining, appended;
    int32_t shift, in_index, done;
    uint32_t ticket;
} select_state;

typedef struct select_call {
    const void *keys;
    void *state, *counts, *places;
    int64_t length, k;
    int32_t shift, bits, of_index, first;
} select_call;

bool kiln__first_suits(const kiln__sort *s, int64_t keep)
{
    return !kiln__device_is_host(kiln__context_device(s->ctx)) &&
           kiln__place_kind_of(s->dtype) != KILN__PLACE_COMPLEX && s->rows <= ROWS_MAX &&
           s->length >= LENGTH_MIN && keep > 0 && keep <= s->length / 64;
}

static kiln_status launch(const kiln__sort *s, bool takes, const select_call *call, kiln_error *err)
{
    char text[KILN__KEY_MACROS + 2][KILN__KEY_MACRO_BYTES];
    const char *macros[KILN__KEY_MACROS + 2];
    const kiln__own_request request = {.file = "sorting/select.cu",
                                       .entry = "kiln_sort_select",
                                       .macros = macros,
                                       .macro_count = KILN_COUNT_OF(macros)};
    kiln__device *device = kiln__context_device(s->ctx);
    const int64_t wanted = kiln__blocks(s->length, THREADS * 8);
    const int64_t most = (int64_t)kiln__device_info(device)->unit_count * BLOCKS_A_UNIT;
    const kiln__launch_config config = {.grid_x = wanted < most ? wanted : most, .block = THREADS};
    void *entry = NULL;

    kiln__key_macros(s, text);
    snprintf(text[KILN__KEY_MACROS], sizeof text[0], "-DKILN__THREADS=%d", THREADS);
    snprintf(text[KILN__KEY_MACROS + 1], sizeof text[0], "-DKILN__TAKES=%d", takes);
    for (size_t k = 0; k < KILN_COUNT_OF(macros); k++)
        macros[k] = text[k];
    KILN_CHECK(kiln__own_kernel(s->ctx, &request, &entry, err));
    return kiln__launch(device, entry, &config, call, sizeof *call, s->stream, err);
}

/* All digits of a number of `bits` bits, the highest first. */
static kiln_status find_number(const kiln__sort *s, select_call *call, int bits, bool of_index,
                               kiln_error *err)
{
    for (int left = bits; left > 0; left = call->shift) {
        call->bits = left < BITS ? left : BITS;
        call->shift = left - call->bits;
        call->of_index = of_index;
        call->first = !of_index && left == bits;
        KILN_CHECK(launch(s, false, call, err));
    }
    return KILN_OK;
}

/* Where the first `keep` elements of a row stand, in any order. */
static kiln_status find_places(const kiln__sort *s, const void *row, int64_t keep,
                               kiln_array *places, kiln_error *err)
{
    const int64_t bytes = (int64_t)sizeof(select_state) + BINS * 8;
    kiln_array *work = NULL;
    int index_bits = 1;
    kiln_status status = KILN_OK;

    while ((s->length - 1) >> index_bits != 0)
        index_bits++;
    KILN_TRY(kiln__sort_room(s->ctx, s->stream, KILN_UINT8, bytes, &work, err));
    KILN_TRY(
        kiln__memset(kiln__context_device(s->ctx), work->data, 0, (size_t)bytes, s->stream, err));
    select_call call = {.keys = row,
                        .state = work->data,
                        .counts = (char *)work->data + sizeof(select_state),
                        .places = places->data,
                        .length = s->length,
                        .k = keep};
    KILN_TRY(find_number(s, &call, 8 * (int)kiln_dtype_size(s->dtype), false, err));
    KILN_TRY(find_number(s, &call, index_bits, true, err));
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
    kiln_array *places = NULL, *found = NULL, *from = NULL, *chosen = NULL;
    kiln_array *finer = NULL, *to = NULL;
    kiln__sort last = *s;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__sort_room(s->ctx, s->stream, KILN_INT64, keep, &found, err));
    KILN_TRY(find_places(s, keys, keep, found, err));
    KILN_TRY(kiln__sort_keys(found, s->length, KILN_INT64, s->stream, &places, NULL, err));
    KILN_TRY(vector_of(x, keys, s->length, &from, err));
    KILN_TRY(kiln__sort_take(from, places, s->stream, &chosen, err));
    last.rows = 1;
    last.length = keep;
    last.keep = 0;
    last.keys = chosen->data;
    last.sorted = (char *)values->data + (size_t)(row * keep) * size;
    if (order != NULL) {
        KILN_TRY(kiln__sort_room(s->ctx, s->stream, KILN_INT64, keep, &finer, err));
        last.order = finer->data;
    }
    KILN_TRY(kiln__sort_rows(&last, err));
    if (order != NULL) {
        KILN_TRY(vector_of(order, (int64_t *)order->data + row * keep, keep, &to, err));
        KILN_TRY(kiln__sort_take(places, finer, s->stream, &to, err));
    }

done:
    kiln_array_release(places);
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
