/*
 * scatter_few.c - sums at few places on CUDA devices: each block adds in its own shared memory.
 *
 *     places, values > [templates/indexing/few.cu] > the array, changed
 *
 * Additions to one element of global memory wait for each other, which limits sums of many values
 * at some thousand places. The order of these additions is open, so scatter_run.c uses this file
 * only for sums whose order may vary.
 *
 * Test: test_scatter, on a GPU.
 */
#include <stdio.h>

#include "indexing/scatter.h"

/* Blocks with little shared memory, several a multiprocessor; else one that has what there is. */
enum { SMALL_BYTES = 32 << 10, SMALL_THREADS = 512, SMALL_BLOCKS = 4, THREADS = 1024 };
/* So many values, and for each place of a block so many, at least. */
enum { VALUES_MIN = 1 << 12, VALUES_A_PLACE = 8, COPIES_MAX = 32 };

/* As templates/indexing/few.cu has it. */
typedef struct few_call {
    const void *places, *values;
    void *x;
    int64_t count, value_step;
    int32_t none, copies;
} few_call;

/* The step from value to value in C-order: 1; 0 where all are one; -1 where there is none. */
static int64_t step_of(const kiln_array *values)
{
    bool one = true;

    for (int a = 0; a < values->rank; a++)
        one = one && (values->strides[a] == 0 || values->shape[a] == 1);
    return one ? 0 : values->contiguous ? 1 : -1;
}

/* How a call is launched; false: it is better off without. */
static bool lay_out(const kiln__scattering *s, int64_t none, kiln__launch_config *config)
{
    kiln__device *const device = kiln__context_device(s->ctx);
    const int64_t bytes = none * (int64_t)kiln_dtype_size(s->target->dtype);
    const bool small = bytes <= SMALL_BYTES;
    kiln__raw_limits limits;

    if (kiln__device_is_host(device) || s->row != 1 || !s->target->contiguous ||
        step_of(s->values) < 0 || kiln__raw_limits_get(device, &limits, NULL) != KILN_OK ||
        bytes > (int64_t)limits.shared_bytes)
        return false;
    *config = (kiln__launch_config){
        .grid_x = (int64_t)kiln__device_info(device)->unit_count * (small ? SMALL_BLOCKS : 1),
        .block = small ? SMALL_THREADS : THREADS,
        .shared_bytes = small ? SMALL_BYTES : limits.shared_bytes / 16 * 16};
    const int least = kiln__tuned("KILN_TUNE_FEW", VALUES_A_PLACE);
    return least == 0 || (s->count >= VALUES_MIN && s->count / least >= config->grid_x * none);
}

bool kiln__scatter_has_few(const kiln__scattering *s, int64_t none)
{
    kiln__launch_config config;

    return lay_out(s, none, &config);
}

kiln_status kiln__scatter_few(const kiln__scattering *s, const kiln_array *places, int64_t none,
                              kiln_error *err)
{
    const char kind = kiln_dtype_kind(s->target->dtype);
    char texts[5][48];
    const char *const macros[] = {texts[0], texts[1], texts[2], texts[3], texts[4]};
    const kiln__own_request request = {"indexing/few.cu", "kiln_scatter_few", macros, 5};
    few_call call = {.places = places->data,
                     .values = s->values->data,
                     .x = s->target->data,
                     .count = s->count,
                     .value_step = step_of(s->values),
                     .none = (int32_t)none,
                     .copies = 1};
    kiln__launch_config config;
    void *entry = NULL;

    if (!lay_out(s, none, &config))
        return kiln__fail(err, KILN_ERR_INTERNAL, "%s: there are not few places", s->name);
    while (call.copies < COPIES_MAX && (uint64_t)none * 2 * (uint64_t)call.copies *
                                               kiln_dtype_size(s->target->dtype) <=
                                           config.shared_bytes)
        call.copies *= 2;
    /* Additions of whole numbers are those of their bits. */
    snprintf(texts[0], sizeof texts[0], "-DKILN__T=%s",
             kind == 'f'                                    ? kiln_dtype_ctype(s->target->dtype)
             : kiln_dtype_size(s->target->dtype) == 4 ? "unsigned int"
                                                            : "unsigned long long");
    snprintf(texts[1], sizeof texts[1], "-DKILN__K=%s", kiln_dtype_ctype(places->dtype));
    snprintf(texts[2], sizeof texts[2], "-DKILN__THREADS=%u", (unsigned)config.block);
    snprintf(texts[3], sizeof texts[3], "-DKILN__NOTHING=%s", kind == 'f' ? "-0.0f" : "0");
    snprintf(texts[4], sizeof texts[4], "-DKILN__ROOM=%u", (unsigned)config.shared_bytes);
    kiln__sort_used(s->values, s->stream);
    kiln__sort_used(s->target, s->stream);
    KILN_CHECK(kiln__own_kernel(s->ctx, &request, &entry, err));
    return kiln__launch(kiln__context_device(s->ctx), entry, &config, &call, sizeof call, s->stream,
                        err);
}
