/*
 * choose.c - a few neighbours of the sorted order of each row, without sorting the rows: on CUDA
 * devices for rows that a block holds in its registers, on the cpu device by choose_cpu.c.
 *
 * The kernel is templates/sorting/choose.cu, whose struct this is. select.c calls this file.
 *
 * Tests: test_select, on a GPU; difftest --kind sort, on the emulated one.
 */
#include "sorting/sorting.h"

enum {
    LENGTH_MIN = 256, /* lanes sort shorter rows faster */
    THREADS_MIN = 256,
    THREADS_MAX = 1024,
    ITEMS_MAX = 16, /* elements that a thread holds: what 64 registers have room for */
    ROOM = 512,     /* elements that a block ranks among each other, at most */
    FEW = 32,       /* so many are not worth another pass */
    PAIRS_A_ELEMENT = 16
};

typedef struct choose_call {
    const void *keys;
    void *keys_out, *order_out;
    int32_t length, wide, from, count, last, most;
} choose_call;

/* Threads of a block that holds a row, and elements that each of them holds; false: the row does
 * not fit. */
static bool fits(const kiln__sort *s, int *threads, int *items)
{
    const int most = kiln_dtype_size(s->dtype) > 4 ? ITEMS_MAX / 2 : ITEMS_MAX;

    *threads = THREADS_MIN;
    *items = 1;
    while (*threads < THREADS_MAX && (int64_t)*threads * most < s->length)
        *threads *= 2;
    while (*items < most && (int64_t)*threads * *items < s->length)
        *items *= 2;
    return (int64_t)*threads * *items >= s->length;
}

bool kiln__choose_suits(const kiln__sort *s, int64_t count)
{
    int threads, items;

    if (kiln__device_is_host(kiln__context_device(s->ctx)))
        return kiln__choose_suits_cpu(s, count);
    return kiln__radix_kind_of(s->dtype) != KILN__RADIX_COMPLEX && s->length > LENGTH_MIN &&
           fits(s, &threads, &items) && s->rows > 0 && s->rows <= INT32_MAX && count > 0 &&
           count <= ROOM - FEW && (count + FEW) * (count + FEW) <= PAIRS_A_ELEMENT * s->length;
}

kiln_status kiln__choose_rows(const kiln__sort *s, int64_t from, int64_t count, bool last,
                              kiln_error *err)
{
    int threads = 0, items = 0;

    if (kiln__device_is_host(kiln__context_device(s->ctx)))
        return kiln__choose_rows_cpu(s, from, count, last, err);
    (void)fits(s, &threads, &items); /* kiln__choose_suits() has said so */
    const choose_call call = {.keys = s->keys,
                              .keys_out = s->sorted,
                              .order_out = s->order,
                              .length = (int32_t)s->length,
                              .wide = s->wide,
                              .from = (int32_t)from,
                              .count = (int32_t)count,
                              .last = last,
                              .most = (int32_t)(count + FEW)};
    const kiln__launch_config config = {.grid_x = s->rows, .block = (uint32_t)threads};
    kiln__sort_macros m;
    void *entry = NULL;

    kiln__sort_define_keys(&m, s);
    kiln__sort_define(&m, "-DKILN__THREADS=%d", threads);
    kiln__sort_define(&m, "-DKILN__ITEMS=%d", items);
    kiln__sort_define(&m, "-DKILN__ROOM=%d", ROOM);
    kiln__sort_define(&m, "-DKILN__ORDER=%d", s->order != NULL);
    KILN_CHECK(kiln__sort_kernel(s, "sorting/choose.cu", "kiln_sort_choose", &m, &entry, err));
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, &call, sizeof call, s->stream,
                        err);
}
