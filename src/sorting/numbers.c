/*
 * numbers.c - elements as signed integers in the same order, and back.
 *
 *     elements > [numbers] > quick.c or counting (sort_numbers.c) > [elements]
 *
 * Real elements of 1 to 4 bytes become 32 bits, those of 8 bytes 64. -0 becomes the number of +0,
 * and all NaN become the greatest number, whatever the direction: an array that holds either is
 * restored by sort_numbers.c. Loops are compiled for each set of vectors.
 *
 * sort_numbers.c and nth_cpu.c call this file. Test: test_sort.
 */
#include "sorting/sorting.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Results may overwrite what they are made of, element for element. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for
#else
#define EACH _Pragma("GCC ivdep") for
#endif

/* A number of `TO` bits from an element of `BITS`. Floating-point: sign and magnitude become two's
 * complement. */
#define CONVERSIONS(BITS, TO)                                                                      \
    ALWAYS int##TO##_t number_of_##BITS(char kind, uint##BITS##_t v, int##TO##_t flip,             \
                                        uint##BITS##_t infinity, int##TO##_t *strange)             \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)((uint##BITS##_t)1 << (BITS - 1));             \
        if (kind == 'u')                                                                           \
            return (int##TO##_t)((BITS == TO ? v ^ sign : v) ^ (uint##TO##_t)flip);                \
        if (kind == 'i')                                                                           \
            return (int##TO##_t)((int##BITS##_t)v ^ flip);                                         \
        const int##TO##_t size = (int##TO##_t)(v & (uint##BITS##_t) ~sign);                        \
        const int##TO##_t down = (v & sign) != 0 ? ~flip : flip;                                   \
        const bool nan = size > (int##TO##_t)infinity;                                             \
        *strange |= nan | (v == sign);                                                             \
        return nan ? INT##TO##_MAX : (int##TO##_t)((size ^ down) - down);                          \
    }                                                                                              \
    ALWAYS uint##BITS##_t element_of_##BITS(char kind, int##TO##_t n, int##TO##_t flip)            \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)((uint##BITS##_t)1 << (BITS - 1));             \
        if (kind == 'u')                                                                           \
            return (uint##BITS##_t)((uint##TO##_t)(n ^ flip) ^ (BITS == TO ? sign : 0));           \
        if (kind == 'i')                                                                           \
            return (uint##BITS##_t)(n ^ flip);                                                     \
        const int##TO##_t up = (n ^ flip) - flip, below = up < 0 ? -1 : 0;                         \
        const uint##TO##_t size = (uint##TO##_t)((up ^ below) - below);                            \
        return (uint##BITS##_t)((uint##BITS##_t)size | (sign & (uint##BITS##_t)below));            \
    }
CONVERSIONS(8, 32)
CONVERSIONS(16, 32)
CONVERSIONS(32, 32)
CONVERSIONS(64, 64)

/* Elements that are numbers together: where one of them is NaN, all of them are made anew. */
enum { READ = 1024 };

/* Of a floating-point element that is no NaN; *strange is below 0 behind one that is NaN or -0.
 * Without comparisons, of which a processor makes fewer at once than of other operations. */
#define ORDINARY(BITS, TO)                                                                         \
    ALWAYS int##TO##_t ordinary_of_##BITS(uint##BITS##_t v, int##TO##_t flip,                      \
                                          uint##BITS##_t infinity, int##TO##_t *strange)           \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)((uint##BITS##_t)1 << (BITS - 1));             \
        const int##TO##_t size = (int##TO##_t)(v & (uint##BITS##_t) ~sign);                        \
        const int##TO##_t below = (int##BITS##_t)v >> (BITS - 1), down = below ^ flip;             \
        *strange |= ((int##TO##_t)infinity - size) | ((size - 1) & below);                         \
        return (size ^ down) - down;                                                               \
    }
ORDINARY(8, 32)
ORDINARY(16, 32)
ORDINARY(32, 32)
ORDINARY(64, 64)

/* The loops of one kind of elements. */
#define LOOPS(set, target, name, KIND, BITS, TO)                                                   \
    target static bool set##_##name##_read(const void *elements, int64_t count, int64_t flip,      \
                                           uint64_t infinity, void *numbers)                       \
    {                                                                                              \
        const uint##BITS##_t *const from = elements;                                               \
        int##TO##_t *const to = numbers, down = (int##TO##_t)flip;                                 \
        int##TO##_t strange = 0, any = 0;                                                          \
        if (KIND != 'f')                                                                           \
            EACH(int64_t k = 0; k < count; k++)                                                    \
        to[k] = number_of_##BITS(KIND, from[k], down, (uint##BITS##_t)infinity, &strange);         \
        for (int64_t at = 0; KIND == 'f' && at < count; at += READ) {                              \
            const int64_t end = count - at < READ ? count : at + READ;                             \
            int##TO##_t some = 0;                                                                  \
            EACH(int64_t k = at; k < end; k++)                                                     \
            to[k] = ordinary_of_##BITS(from[k], down, (uint##BITS##_t)infinity, &some);            \
            if (some < 0)                                                                          \
                EACH(int64_t k = at; k < end; k++)                                                 \
            to[k] = number_of_##BITS(KIND, from[k], down, (uint##BITS##_t)infinity, &strange);     \
            any |= some;                                                                           \
        }                                                                                          \
        return any < 0;                                                                            \
    }                                                                                              \
    target static void set##_##name##_write(const void *numbers, int64_t count, int64_t flip,      \
                                            void *elements)                                        \
    {                                                                                              \
        const int##TO##_t *const from = numbers, down = (int##TO##_t)flip;                         \
        uint##BITS##_t *const to = elements;                                                       \
        EACH(int64_t k = 0; k < count; k++)                                                        \
        to[k] = element_of_##BITS(KIND, from[k], down);                                            \
    }                                                                                              \
    target static int64_t set##_##name##_within(const void *numbers, int64_t count, int64_t low,   \
                                                int64_t high)                                      \
    {                                                                                              \
        const int##TO##_t *const from = numbers, a = (int##TO##_t)low, b = (int##TO##_t)high;      \
        int##TO##_t many = 0;                                                                      \
        for (int64_t k = 0; k < count && a == b; k++)                                              \
            many += from[k] == a;                                                                  \
        for (int64_t k = 0; k < count && a != b; k++)                                              \
            many += (from[k] >= a) & (from[k] <= b);                                               \
        return many;                                                                               \
    }
/* Number and position in one: 32 bits each. */
#define PAIRS(set, target)                                                                         \
    target static void set##_join(const void *numbers, int64_t count, int64_t first, void *pairs)  \
    {                                                                                              \
        const int32_t *const from = numbers;                                                       \
        int64_t *const to = pairs;                                                                 \
        EACH(int64_t k = 0; k < count; k++)                                                        \
        to[k] = (int64_t)((uint64_t)(uint32_t)from[k] << 32 | (uint32_t)(first + k));              \
    }                                                                                              \
    target static void set##_split(const void *pairs, int64_t count, void *numbers)                \
    {                                                                                              \
        const int64_t *const from = pairs;                                                         \
        int32_t *const to = numbers;                                                               \
        EACH(int64_t k = 0; k < count; k++)                                                        \
        to[k] = (int32_t)(from[k] >> 32);                                                          \
    }                                                                                              \
    target static void set##_order(const void *pairs, int64_t count, bool wide, void *order)       \
    {                                                                                              \
        const uint64_t *const from = pairs;                                                        \
        if (wide)                                                                                  \
            EACH(int64_t k = 0; k < count; k++)                                                    \
        ((int64_t *)order)[k] = (int64_t)(from[k] & UINT32_MAX);                                   \
        else EACH(int64_t k = 0; k < count; k++)((uint32_t *)order)[k] = (uint32_t)from[k];        \
    }

/* Numbers of 64 bits: the least and the greatest; their upper or lower bits, from the least one on,
 * and positions. */
#define WIDE_PAIRS(set, target)                                                                    \
    target static void set##_bounds(const int64_t *from, int64_t count, int64_t *low,              \
                                    int64_t *high)                                                 \
    {                                                                                              \
        int64_t least = INT64_MAX, greatest = INT64_MIN;                                           \
        for (int64_t k = 0; k < count; k++) {                                                      \
            least = from[k] < least ? from[k] : least;                                             \
            greatest = from[k] > greatest ? from[k] : greatest;                                    \
        }                                                                                          \
        *low = least;                                                                              \
        *high = greatest;                                                                          \
    }                                                                                              \
    target static void set##_join_upper(const int64_t *from, int64_t count, int64_t low,           \
                                        int shift, int64_t *to)                                    \
    {                                                                                              \
        EACH(int64_t k = 0; k < count; k++)                                                        \
        {                                                                                          \
            const uint64_t upper = ((uint64_t)from[k] - (uint64_t)low) >> shift;                   \
            to[k] = (int64_t)((upper ^ UINT32_C(0x80000000)) << 32 | (uint64_t)k);                 \
        }                                                                                          \
    }

/* float64 as double: infinity in place of NaN, the other sign where elements descend. */
#define REALS(set, target)                                                                         \
    target static bool set##_read_reals(const void *elements, int64_t count, int64_t flip,         \
                                        void *numbers)                                             \
    {                                                                                              \
        const int64_t sign = INT64_MIN, infinity = INT64_C(0x7ff0000000000000);                    \
        const int64_t *const from = elements, turn = flip & sign;                                  \
        int64_t *const to = numbers;                                                               \
        int64_t any = 0;                                                                           \
        for (int64_t at = 0; at < count; at += READ) {                                             \
            const int64_t end = count - at < READ ? count : at + READ;                             \
            int64_t some = 0;                                                                      \
            EACH(int64_t k = at; k < end; k++)                                                     \
            {                                                                                      \
                const int64_t v = from[k], size = v & ~sign;                                       \
                some |= (infinity - size) | ((size - 1) & v);                                      \
                to[k] = v ^ turn;                                                                  \
            }                                                                                      \
            if (some < 0)                                                                          \
                EACH(int64_t k = at; k < end; k++)                                                 \
            to[k] = (from[k] & ~sign) > infinity ? infinity : from[k] ^ turn;                      \
            any |= some;                                                                           \
        }                                                                                          \
        return any < 0;                                                                            \
    }                                                                                              \
    target static void set##_write_reals(const void *numbers, int64_t count, int64_t flip,         \
                                         void *elements)                                           \
    {                                                                                              \
        const int64_t *const from = numbers, turn = flip & INT64_MIN;                              \
        int64_t *const to = elements;                                                              \
        if (turn == 0 && from == to)                                                               \
            return;                                                                                \
        EACH(int64_t k = 0; k < count; k++)                                                        \
        to[k] = from[k] ^ turn;                                                                    \
    }

#define KINDS(X, set, target)                                                                      \
    X(set, target, u8, 'u', 8, 32)                                                                 \
    X(set, target, i8, 'i', 8, 32)                                                                 \
    X(set, target, f8, 'f', 8, 32)                                                                 \
    X(set, target, u16, 'u', 16, 32)                                                               \
    X(set, target, i16, 'i', 16, 32)                                                               \
    X(set, target, f16, 'f', 16, 32)                                                               \
    X(set, target, u32, 'u', 32, 32)                                                               \
    X(set, target, i32, 'i', 32, 32)                                                               \
    X(set, target, f32, 'f', 32, 32)                                                               \
    X(set, target, u64, 'u', 64, 64)                                                               \
    X(set, target, i64, 'i', 64, 64)                                                               \
    X(set, target, f64, 'f', 64, 64)

#define ENTRY(set, target, name, KIND, BITS, TO)                                                   \
    {KIND,                                                                                         \
     BITS / 8,                                                                                     \
     {set##_##name##_read, set##_##name##_write, set##_read_reals, set##_write_reals,              \
      set##_##name##_within, set##_join, set##_split, set##_order, set##_bounds,                   \
      set##_join_upper}},
#define SET(set, target)                                                                           \
    KINDS(LOOPS, set, target)                                                                      \
    PAIRS(set, target)                                                                             \
    WIDE_PAIRS(set, target)                                                                        \
    REALS(set, target)                                                                             \
    static const entry set##_entries[] = {KINDS(ENTRY, set, target)};

typedef struct entry {
    char kind;
    int size;
    kiln__numbers numbers;
} entry;

#if defined(__x86_64__)
SET(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt"))))
SET(avx2, __attribute__((target("avx2,bmi2,popcnt"))))
#else
SET(plain, )
#endif

bool kiln__numbers_of(const char *target, kiln_dtype dtype, kiln__numbers *out)
{
#if defined(__x86_64__)
    const entry *const entries = strcmp(target, "x86-64-v4") == 0   ? avx512_entries
                                 : strcmp(target, "x86-64-v3") == 0 ? avx2_entries
                                                                    : NULL;
    const size_t count = KILN_COUNT_OF(avx2_entries);
#else
    const entry *const entries = plain_entries;
    const size_t count = KILN_COUNT_OF(plain_entries);
    (void)target;
#endif
    for (size_t k = 0; entries != NULL && k < count; k++)
        if (entries[k].kind == kiln_dtype_kind(dtype) &&
            entries[k].size == (int)kiln_dtype_size(dtype)) {
            *out = entries[k].numbers;
            return true;
        }
    return false;
}
