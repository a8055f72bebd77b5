/*
 * search_cpu.c - searchsorted and isin of numbers of one dtype on the cpu device: LANES binary
 * searches at a time.
 *
 *     values > [LANES of them take each step together] > indices
 *                                                      > whether equal elements are there
 *
 * Every search takes as many steps as every other, for how many elements are left does not depend
 * on what was found. The loads of a step are independent of each other, so that the processor waits
 * for all of them at once, and no step is a branch that random values mislead. search.c calls this
 * file, and generates a kernel for what it does not do.
 *
 * Rule: NaN stand last. A number that is compared with one goes on to the left, and NaN themselves
 *       are looked up apart.
 *
 * Tests: test_select, difftest (searchsorted, isin, digitize).
 */
#include <math.h>

#include "sorting/sorting.h"

enum {
    LANES = 16,
    TOGETHER = 2048 /* values of one unit of work */
};

typedef void (*search)(const void *sorted, int64_t count, const void *values, int64_t *indices);

typedef struct job {
    const char *sorted, *values;
    void *out; /* int64, or bool */
    int64_t sorted_count, count;
    size_t size;
    search search;
    bool (*equal)(const void *a, const void *b);
    kiln__search_result result;
} job;

/* Where each of LANES values belongs: behind all elements that are `BEFORE` it. */
#define SEARCH(name, T, BEFORE)                                                                    \
    static void name(const void *sorted, int64_t count, const void *values, int64_t *indices)      \
    {                                                                                              \
        const T *low[LANES];                                                                       \
        T value[LANES];                                                                            \
        memcpy(value, values, sizeof value);                                                       \
        for (int k = 0; k < LANES; k++)                                                            \
            low[k] = sorted;                                                                       \
        for (int64_t left = count, half = 0; left > 0; left -= half) {                             \
            half = (left + 1) / 2;                                                                 \
            for (int k = 0; k < LANES; k++) {                                                      \
                const T *const next = low[k] + half;                                               \
                low[k] = next[-1] BEFORE value[k] ? next : low[k];                                 \
            }                                                                                      \
        }                                                                                          \
        for (int k = 0; k < LANES; k++)                                                            \
            indices[k] = low[k] - (const T *)sorted;                                               \
    }

/* The same where values may be NaN, which belong behind all numbers, or behind all NaN. */
#define SEARCH_REALS(name, T, BEFORE, right)                                                       \
    SEARCH(name##_of_numbers, T, BEFORE)                                                           \
    static void name(const void *sorted, int64_t count, const void *values, int64_t *indices)      \
    {                                                                                              \
        const T *const value = values;                                                             \
        int64_t numbers = right ? count : -1;                                                      \
        name##_of_numbers(sorted, count, values, indices);                                         \
        for (int k = 0; k < LANES; k++) {                                                          \
            if (value[k] == value[k])                                                              \
                continue;                                                                          \
            for (int64_t low = 0, high = count; numbers < 0;) {                                    \
                const int64_t middle = low + (high - low) / 2;                                     \
                const T here = low < high ? ((const T *)sorted)[middle] : (T)0;                    \
                if (low == high)                                                                   \
                    numbers = low;                                                                 \
                else if (here == here)                                                             \
                    low = middle + 1;                                                              \
                else                                                                               \
                    high = middle;                                                                 \
            }                                                                                      \
            indices[k] = numbers;                                                                  \
        }                                                                                          \
    }

#define EQUAL(T)                                                                                   \
    static bool equal_##T(const void *a, const void *b)                                            \
    {                                                                                              \
        return *(const T *)a == *(const T *)b;                                                     \
    }

#define INTEGERS(T) SEARCH(left_##T, T, <) SEARCH(right_##T, T, <=) EQUAL(T)
#define REALS(T) SEARCH_REALS(left_##T, T, <, false) SEARCH_REALS(right_##T, T, <=, true) EQUAL(T)
INTEGERS(int32_t)
INTEGERS(uint32_t)
INTEGERS(int64_t)
INTEGERS(uint64_t)
REALS(float)
REALS(double)

static bool find_functions(kiln_dtype dtype, bool right, job *j)
{
    switch (dtype) {
#define FUNCTIONS(name, T)                                                                         \
    case name:                                                                                     \
        j->search = right ? right_##T : left_##T;                                                  \
        j->equal = equal_##T;                                                                      \
        return true
        FUNCTIONS(KILN_INT32, int32_t);
        FUNCTIONS(KILN_UINT32, uint32_t);
        FUNCTIONS(KILN_INT64, int64_t);
        FUNCTIONS(KILN_UINT64, uint64_t);
        FUNCTIONS(KILN_FLOAT32, float);
        FUNCTIONS(KILN_FLOAT64, double);
    default:
        return false;
    }
}

/* The results of `here` values from number `first` on. */
static void put(const job *j, int64_t first, int64_t here, const int64_t *indices)
{
    int64_t *const out = (int64_t *)j->out + first;

    for (int64_t k = 0; k < here && j->result != KILN__SEARCH_IS_IN; k++)
        out[k] = j->result == KILN__SEARCH_INDEX ? indices[k] : j->sorted_count - indices[k];
    for (int64_t k = 0; k < here && j->result == KILN__SEARCH_IS_IN; k++)
        ((bool *)j->out)[first + k] =
            indices[k] < j->sorted_count && j->equal(j->sorted + (size_t)indices[k] * j->size,
                                                     j->values + (size_t)(first + k) * j->size);
}

static void search_units(const void *args, int64_t begin, int64_t end)
{
    const job *j = args;
    const int64_t last = end * TOGETHER < j->count ? end * TOGETHER : j->count;
    int64_t indices[LANES];
    uint64_t some[LANES] = {0};

    for (int64_t k = begin * TOGETHER; k < last; k += LANES) {
        const int64_t here = last - k < LANES ? last - k : LANES;
        const char *values = j->values + (size_t)k * j->size;
        if (here < LANES)
            values = memcpy(some, values, (size_t)here * j->size);
        j->search(j->sorted, j->sorted_count, values, indices);
        put(j, k, here, indices);
    }
}

bool kiln__search_suits_cpu(const kiln_array *sorted, const kiln_array *values,
                            const kiln_array *out)
{
    job j;

    return kiln__device_is_host(kiln__context_device(sorted->ctx)) && sorted->contiguous &&
           values->contiguous && sorted->dtype == values->dtype &&
           find_functions(sorted->dtype, false, &j) &&
           (out == NULL || (out->contiguous && out->storage != sorted->storage &&
                            out->storage != values->storage));
}

kiln_status kiln__search_cpu(const kiln_array *sorted, const kiln_array *values, bool right,
                             kiln__search_result result, kiln_stream *stream, const kiln_array *out,
                             kiln_error *err)
{
    const kiln__launch_config config = {.grid_x = (values->size + TOGETHER - 1) / TOGETHER,
                                        .block = 1};
    job j = {.sorted = sorted->data,
             .values = values->data,
             .out = out->data,
             .sorted_count = sorted->size,
             .count = values->size,
             .size = kiln_dtype_size(sorted->dtype),
             .result = result};

    find_functions(sorted->dtype, right, &j);
    if (values->size == 0)
        return KILN_OK;
    return kiln__launch(kiln__context_device(sorted->ctx), (void *)(uintptr_t)search_units, &config,
                        &j, sizeof j, stream, err);
}
