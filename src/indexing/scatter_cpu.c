/*
 * scatter_cpu.c - assignments and sums at places on the cpu device, without sorting the places.
 *
 *     places, values > [integers, assignments, fast sums: each value changes its element]
 *                    > [floating-point sums: chunk sums of each place > added]
 *
 * scatter_run.c calls this file where it is faster than sorting.
 *
 * Rule: floating-point sums have the same bits as those of scatter_run.c, which combines the values
 *       of each place in chunks of KILN__SCATTER_CHUNK.
 *
 * Tests: test_scatter, test_scatter_bits.
 */
#include "indexing/scatter.h"

enum {
    THREADS_MOST = 8,    /* with more, sorts and atomic operations by all of them are faster */
    PLACES_A_VALUE = 4,  /* where there are more places for each value, sorting costs less */
    PLACES_MIN = 1 << 16 /* and where there are more than so many */
};

typedef struct job {
    const void *places; /* int32 or int64; `none`, or out of range, for values that have none */
    int64_t *report;    /* of places that are indices as given; NULL: nothing is to be reported */
    int axis;
    const char *values;
    char *target;
    void *states, *totals; /* of floating-point sums */
    int64_t count, none, row, units;
    size_t size; /* bytes of an element */
    bool wide;
} job;

static bool has_floats(const kiln__scattering *s)
{
    return s->target->dtype == KILN_FLOAT32 || s->target->dtype == KILN_FLOAT64;
}

/* Whether floating-point values are added in an order that is the same on every device. */
static bool is_float_sum(const kiln__scattering *s)
{
    return s->what == KILN_SCATTER_ADD && has_floats(s) && !s->o.fast;
}

bool kiln__scatter_suits_cpu(const kiln__scattering *s)
{
    const kiln__device *device = kiln__context_device(s->ctx);
    const char kind = kiln_dtype_kind(s->target->dtype);
    int64_t places = 1;

    if (!kiln__device_is_host(device) || kiln__device_info(device)->unit_count > THREADS_MOST ||
        s->index_count == 0)
        return false;
    for (int k = 0; k < s->index_count; k++)
        places *= s->target->shape[k];
    if (is_float_sum(s))
        return s->row == 1 && (places <= PLACES_MIN || places / PLACES_A_VALUE <= s->count);
    return s->what == KILN_SCATTER_SET ||
           (s->what == KILN_SCATTER_ADD && (kind == 'i' || kind == 'u' || has_floats(s)));
}

bool kiln__scatter_takes_indices(const kiln__scattering *s)
{
    const kiln_array *i = s->index[0];

    return s->index_count == 1 && s->o.mode == KILN_INDEX_CHECK && i->contiguous &&
           i->size == s->count && (i->dtype == KILN_INT32 || i->dtype == KILN_INT64);
}

/* ---- values that change their elements in C-order -------------------------------------------- */

static __attribute__((noinline, cold)) void report_place(const job *j, int64_t place, int64_t k)
{
    if (j->report != NULL)
        kiln__report_index(j->report, place, j->none, j->axis, k, "the array", "index array 1");
}

/* The place that value k has; `none` where it has no place. Negative indices count from the end. */
static inline int64_t place_of(const job *j, int64_t given, int64_t k)
{
    const int64_t place = given < 0 ? given + j->none : given;

    if (__builtin_expect((uint64_t)place < (uint64_t)j->none, 1))
        return place;
    report_place(j, given, k);
    return j->none;
}

/* A unit's part of the elements of each row: all values change them in C-order. */
#define IN_ORDER(name, type, CHANGE)                                                               \
    static void name##_##type(const void *args, int64_t begin, int64_t end)                        \
    {                                                                                              \
        const job j = *(const job *)args;                                                          \
        const int64_t low = j.row * begin / j.units, high = j.row * end / j.units;                 \
        const int64_t row = j.row, none = j.none, count = j.count;                                 \
        const int64_t *const wide = j.places;                                                      \
        const int32_t *const narrow = j.places;                                                    \
        const type *const values = (const type *)(const void *)j.values;                           \
        type *const target = (type *)(void *)j.target;                                             \
        for (int64_t k = 0; k < count && row == 1; k++) {                                          \
            const int64_t place = place_of(&j, j.wide ? wide[k] : narrow[k], k);                   \
            if (place != none)                                                                     \
                target[place] CHANGE values[k];                                                    \
        }                                                                                          \
        for (int64_t k = 0; k < count && row > 1; k++) {                                           \
            const int64_t place = place_of(&j, j.wide ? wide[k] : narrow[k], k);                   \
            for (int64_t at = low; at < high && place != none; at++)                               \
                target[place * row + at] CHANGE values[k * row + at];                              \
        }                                                                                          \
    }
typedef struct pair {
    uint64_t low, high;
} pair;

IN_ORDER(add, uint8_t, +=)
IN_ORDER(add, uint16_t, +=)
IN_ORDER(add, uint32_t, +=)
IN_ORDER(add, uint64_t, +=)
IN_ORDER(add, float, +=)
IN_ORDER(add, double, +=)
IN_ORDER(set, uint8_t, =)
IN_ORDER(set, uint16_t, =)
IN_ORDER(set, uint32_t, =)
IN_ORDER(set, uint64_t, =)
IN_ORDER(set, pair, =)

static kiln__cpu_entry entry_in_order(bool adds, bool floats, size_t size)
{
    if (adds && floats)
        return size == sizeof(float) ? add_float : add_double;
    switch (size) {
    case 1:
        return adds ? add_uint8_t : set_uint8_t;
    case 2:
        return adds ? add_uint16_t : set_uint16_t;
    case 4:
        return adds ? add_uint32_t : set_uint32_t;
    case 8:
        return adds ? add_uint64_t : set_uint64_t;
    default:
        return set_pair;
    }
}

/* ---- sums of floating-point numbers ---------------------------------------------------------- */

/*
 * A place's state: the sum of its chunk and how many values that has, with CHUNKS where its total
 * is the sum of the chunks before. Sums begin with -0, to which any number may be added and stays
 * what it is.
 */
enum { CHUNKS = 256 };
_Static_assert((int)KILN__SCATTER_CHUNK < (int)CHUNKS, "numbers of values have 8 bits");

/*
 * States that no cache holds cost a miss for each value. There a place is its sum alone, and values
 * are counted for cells of neighbouring places: while no cell has received more than
 * KILN__SCATTER_CHUNK values, no place has more than one chunk, and its sum is what the states
 * would give. Where a cell receives more, the sums are thrown away and the states have their turn.
 */
enum {
    CELLS_FROM = 1 << 21, /* bytes of states from which cells pay */
    /* Places share a cell until there are so few cells, which stay in a cache, but no more than
     * 2^8 places, nor so many that a cell receives more than so many values on average: by
     * chance none has twice as many. */
    CELLS_FEW = 1 << 15,
    CELL_PLACES_LOG2_MAX = 8,
    CELL_VALUES_MAX = 64,
    AHEAD = 24,  /* a place is fetched so many values before its turn */
    BLOCK = 4096 /* cells are looked at after so many values */
};

/* Fetch the sum of a place, which need not be in range: nothing is read. */
static inline void fetch(const job *j, int64_t given)
{
    const uint64_t place = (uint64_t)(given < 0 ? given + j->none : given);

    __builtin_prefetch((const void *)((uintptr_t)j->states + (uintptr_t)place * j->size), 1);
}

/* The binary logarithm of how many places share a cell; -1 where places have too many values
 * each, or are few. */
static int cell_places_log2(const job *j)
{
    int log2 = 0;

    if (j->none * 2 * (int64_t)j->size < CELLS_FROM || j->count / j->none > CELL_VALUES_MAX)
        return -1;
    while (log2 < CELL_PLACES_LOG2_MAX && j->none >> log2 > CELLS_FEW &&
           (j->count << log2) / j->none < CELL_VALUES_MAX / 2)
        log2++;
    return log2;
}

/* An element and the sum of its values, which is -0 where there are none: then the element keeps
 * its bits. A selection by masks becomes vector instructions, where jumps would often be guessed
 * wrong. */
#define ADDED_SUMS(T, W)                                                                           \
    typedef union bits_##T {                                                                       \
        T number;                                                                                  \
        W bits;                                                                                    \
    } bits_##T;                                                                                    \
    static inline T added_##T(T element, T sum)                                                    \
    {                                                                                              \
        const bits_##T before = {element}, more = {sum}, both = {element + sum};                   \
        const W has = -(W)(more.bits != (W)1 << (8 * sizeof more.bits - 1));                       \
        const bits_##T after = {.bits = (both.bits & has) | (before.bits & ~has)};                 \
        return after.number;                                                                       \
    }
ADDED_SUMS(float, uint32_t)
ADDED_SUMS(double, uint64_t)

#define FLOAT_SUMS(T, K)                                                                           \
    static bool sum_by_cells_##T##_##K(const job *given, int log2)                                 \
    {                                                                                              \
        const job j = *given;                                                                      \
        const K *const places = j.places;                                                          \
        const T *const values = (const T *)(const void *)j.values;                                 \
        T *const restrict target = (T *)(void *)j.target, *const restrict sums = j.states;         \
        uint8_t *const cells = (uint8_t *)(sums + j.none);                                         \
        bool few = true;                                                                           \
        for (int64_t p = 0; p < j.none; p++)                                                       \
            sums[p] = -(T)0;                                                                       \
        memset(cells, 0, (size_t)(j.none >> log2) + 1);                                            \
        for (int64_t k = 0, end; k < j.count && few; k = end) {                                    \
            unsigned most = 0;                                                                     \
            end = j.count - k < BLOCK ? j.count : k + BLOCK;                                       \
            for (int64_t n = k; n < end; n++) {                                                    \
                const int64_t place = place_of(&j, places[n], n);                                  \
                fetch(&j, places[n + AHEAD < j.count ? n + AHEAD : n]);                            \
                if (place == j.none)                                                               \
                    continue;                                                                      \
                sums[place] += values[n];                                                          \
                most |= ++cells[place >> log2];                                                    \
            }                                                                                      \
            few = most < KILN__SCATTER_CHUNK;                                                      \
        }                                                                                          \
        for (int64_t p = 0; p < j.none && few; p++)                                                \
            target[p] = added_##T(target[p], sums[p]);                                             \
        return few;                                                                                \
    }                                                                                              \
                                                                                                   \
    static void sum_by_states_##T##_##K(const job *given)                                          \
    {                                                                                              \
        const job j = *given;                                                                      \
        const K *const places = j.places;                                                          \
        const T *const values = (const T *)(const void *)j.values;                                 \
        T *const restrict target = (T *)(void *)j.target, *const restrict totals = j.totals;       \
        state_##T *const restrict states = j.states;                                               \
        bool chunks = false;                                                                       \
        for (int64_t p = 0; p < j.none; p++)                                                       \
            states[p] = (state_##T){-(T)0, 0};                                                     \
        for (int64_t k = 0; k < j.count; k++) {                                                    \
            const int64_t place = place_of(&j, places[k], k);                                      \
            state_##T *const s = &states[place];                                                   \
            if (place == j.none)                                                                   \
                continue;                                                                          \
            if ((uint8_t)s->count == KILN__SCATTER_CHUNK) {                                        \
                totals[place] = s->count > CHUNKS ? totals[place] + s->sum : s->sum;               \
                *s = (state_##T){values[k], CHUNKS + 1};                                           \
                chunks = true;                                                                     \
            } else {                                                                               \
                s->sum += values[k];                                                               \
                s->count++;                                                                        \
            }                                                                                      \
        }                                                                                          \
        for (int64_t p = 0; p < j.none && chunks; p++)                                             \
            if (states[p].count > CHUNKS)                                                          \
                states[p].sum += totals[p];                                                        \
        for (int64_t p = 0; p < j.none; p++)                                                       \
            target[p] = added_##T(target[p], states[p].sum);                                       \
    }
typedef struct state_float {
    float sum;
    uint32_t count;
} state_float;
typedef struct state_double {
    double sum;
    uint32_t count;
} state_double;
FLOAT_SUMS(float, int32_t)
FLOAT_SUMS(float, int64_t)
FLOAT_SUMS(double, int32_t)
FLOAT_SUMS(double, int64_t)

static void sum_floats(const void *args, int64_t begin, int64_t end)
{
    static bool (*const by_cells[2][2])(const job *, int) = {
        {sum_by_cells_float_int32_t, sum_by_cells_float_int64_t},
        {sum_by_cells_double_int32_t, sum_by_cells_double_int64_t}};
    static void (*const by_states[2][2])(const job *) = {
        {sum_by_states_float_int32_t, sum_by_states_float_int64_t},
        {sum_by_states_double_int32_t, sum_by_states_double_int64_t}};
    const job *j = args;
    const bool is_double = j->size == sizeof(double);
    const int log2 = cell_places_log2(j);

    (void)begin;
    (void)end;
    if (log2 < 0 || !by_cells[is_double][j->wide](j, log2))
        by_states[is_double][j->wide](j);
}

/* ---- the call -------------------------------------------------------------------------------- */

kiln_status kiln__scatter_cpu(const kiln__scattering *s, const kiln_array *target,
                              const kiln_array *places, const kiln_array *values, int64_t none,
                              kiln_error *err)
{
    enum { ROW_BYTES = 512 }; /* of rows that threads share */
    kiln__device *const device = kiln__context_device(s->ctx);
    const size_t size = kiln_dtype_size(target->dtype);
    const bool given = places == s->index[0];
    const int64_t units = kiln__device_info(device)->unit_count;
    kiln_array *states = NULL, *totals = NULL;
    kiln_status status = KILN_OK;
    job j = {.places = places->data,
             .report = given ? s->report->data : NULL,
             .axis = s->axis[0],
             .values = values->data,
             .target = target->data,
             .count = s->count,
             .none = none,
             .row = s->row,
             .units = s->row * (int64_t)size >= ROW_BYTES ? units : 1,
             .size = size,
             .wide = places->dtype == KILN_INT64};
    const kiln__launch_config config = {.grid_x = j.units, .block = 1};
    kiln__cpu_entry entry = entry_in_order(s->what == KILN_SCATTER_ADD, has_floats(s), size);

    if (is_float_sum(s)) {
        const int64_t bytes =
            none * (int64_t)(size == 4 ? sizeof(state_float) : sizeof(state_double));
        entry = sum_floats;
        KILN_TRY(kiln__array_new(s->ctx, KILN_UINT8, 1, &bytes, NULL, s->stream, &states, err));
        KILN_TRY(kiln__array_new(s->ctx, target->dtype, 1, &none, NULL, s->stream, &totals, err));
        j.states = states->data;
        j.totals = totals->data;
    }
    status = kiln__launch(device, (void *)(uintptr_t)entry, &config, &j, sizeof j, s->stream, err);

done:
    kiln_array_release(states);
    kiln_array_release(totals);
    return status;
}
