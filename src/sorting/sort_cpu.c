/*
 * sort_cpu.c - stable sort of rows on the cpu device.
 *
 *     rows > [sort_numbers.c, where the processor's vectors sort them faster]
 *          > a row a unit:        merge sort of radix keys, or radix sort by 8 bits, digit after digit
 *          > short rows of numbers, some rows a unit: as columns of vectors (network.c)
 *          > few long rows:       passes over a row: [pieces count] > [pieces move their elements]
 *
 * Elements are moved as they are; the digit of an element's radix key is computed each time, by
 * functions that are compiled for each dtype (KILN_DTYPE_MAP).
 *
 * Rule: equal radix keys keep their order. Pieces and digits are taken in order, and merging prefers
 *       the left.
 *
 * kiln__sort_rows() (sort.c) calls this file. Test: test_sort.
 */
#include "sorting/sorting.h"

enum {
    SHORT_ROW = 256,
    COLUMN = 512,
    RUN = 8,
    PIECES_MAX = 64,
    LONG_ROW = 1 << 17,
    DIGITS_MAX = 16
};

#define ALWAYS static inline __attribute__((always_inline))

/* ---- radix keys ------------------------------------------------------------------------------ */

/* What the compiler knows of a dtype. */
typedef struct form {
    int size;
    char kind;
    uint64_t infinity;
} form;

/* Of real numbers in `low`; of complex numbers the part that counts more in `high`. */
typedef struct radix_key {
    uint64_t high, low;
} radix_key;

ALWAYS int part_bytes(form f)
{
    return f.kind == 'c' ? f.size / 2 : f.size;
}

ALWAYS uint64_t load_part(form f, const char *at)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (part_bytes(f)) {
    case 1:
        memcpy(&one, at, 1);
        return one;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    default:
        memcpy(&eight, at, 8);
        return eight;
    }
}

ALWAYS uint64_t part_key(form f, uint64_t bits, uint64_t flip)
{
    const int width = 8 * part_bytes(f);
    const uint64_t all = ~UINT64_C(0) >> (64 - width), sign = UINT64_C(1) << (width - 1);

    if (f.kind == 'b')
        return (uint64_t)(bits != 0) ^ (flip & 1);
    if (f.kind == 'u')
        return bits ^ (flip & all);
    if (f.kind == 'i')
        return bits ^ sign ^ (flip & all);
    /* Without branches, which random signs would mislead: numbers below zero are turned round, -0
     * becomes +0. */
    const uint64_t size = bits & ~sign, below = bits >> (width - 1), minus_zero = bits == sign;
    const uint64_t up = ((bits ^ (sign | ((0 - below) & all))) + minus_zero) & all;
    return (up ^ (flip & all)) | ((0 - (uint64_t)(size > f.infinity)) & all);
}

/* Complex numbers as NumPy orders them; templates/sorting/keys.cu says how. */
ALWAYS radix_key radix_key_at(form f, const char *at, uint64_t flip)
{
    const uint64_t all = ~UINT64_C(0) >> (64 - 8 * part_bytes(f));
    const uint64_t a = part_key(f, load_part(f, at), flip);

    if (f.kind != 'c')
        return (radix_key){0, a};
    const uint64_t b = part_key(f, load_part(f, at + part_bytes(f)), flip);
    if (a != all && b != all)
        return (radix_key){a, b};
    if (a != all)
        return (radix_key){all - 2, a};
    return (radix_key){b != all ? all - 1 : all, b != all ? b : 0};
}

ALWAYS unsigned digit_at(form f, const char *at, uint64_t flip, int digit)
{
    const radix_key p = radix_key_at(f, at, flip);
    const int parts = part_bytes(f);
    return (digit < parts ? p.low >> 8 * digit : p.high >> 8 * (digit - parts)) & 255;
}

/* ---- what is to be done ---------------------------------------------------------------------- */

/* A launch's arguments. `order` arrays hold int64 or int32, as `wide` says. */
typedef struct job {
    const char *keys;
    char *sorted, *spare; /* NULL: not needed */
    char *order, *spare_order;
    int64_t rows, length;
    uint64_t flip; /* all ones: descending */
    bool wide;
    int digits;
    kiln__network network;
    /* Passes over long rows. */
    int digit, pieces;
    const char *from, *from_order; /* from_order NULL: the first pass */
    char *to, *to_order;
    int64_t *counts; /* pieces x 256 */
} job;

ALWAYS void put_order(bool wide, char *order, int64_t at, int64_t index)
{
    if (wide)
        ((int64_t *)(void *)order)[at] = index;
    else
        ((uint32_t *)(void *)order)[at] = (uint32_t)index;
}

ALWAYS int64_t get_order(bool wide, const char *order, int64_t at)
{
    return wide ? ((const int64_t *)(const void *)order)[at]
                : (int64_t)((const uint32_t *)(const void *)order)[at];
}

/* Move one element to where it stands behind a pass. `order` false: without its position. */
ALWAYS void move(form f, const char *from, const char *from_order, int64_t k, char *to,
                 char *to_order, int64_t at, bool order, bool wide)
{
    if (to != NULL)
        memcpy(to + at * f.size, from + k * f.size, (size_t)f.size);
    if (order)
        put_order(wide, to_order, at, from_order != NULL ? get_order(wide, from_order, k) : k);
}

/* ---- short rows: merge sort ------------------------------------------------------------------ */

typedef struct item {
    radix_key radix_key;
    uint32_t index;
} item;

#define NARROW_LESS(a, b) ((a) < (b)) /* radix_key and index in one number */
#define WIDE_LESS(a, b)                                                                            \
    ((a).radix_key.high != (b).radix_key.high ? (a).radix_key.high < (b).radix_key.high            \
                                              : (a).radix_key.low < (b).radix_key.low)

/* Sort `count` items, of which runs of RUN are sorted by insertion first; the result is `a` or
 * `b`. */
#define MERGE_SORT(name, type, LESS)                                                               \
    static type *name(type *a, type *b, int count)                                                 \
    {                                                                                              \
        for (int run = 0; run < count; run += RUN) {                                               \
            const int end = run + RUN < count ? run + RUN : count;                                 \
            for (int k = run + 1; k < end; k++) {                                                  \
                const type v = a[k];                                                               \
                int at = k;                                                                        \
                for (; at > run && LESS(v, a[at - 1]); at--)                                       \
                    a[at] = a[at - 1];                                                             \
                a[at] = v;                                                                         \
            }                                                                                      \
        }                                                                                          \
        for (int run = RUN; run < count; run *= 2) {                                               \
            for (int at = 0; at < count; at += 2 * run) {                                          \
                const int middle = at + run < count ? at + run : count;                            \
                const int end = at + 2 * run < count ? at + 2 * run : count;                       \
                int i = at, j = middle, k = at;                                                    \
                while (i < middle && j < end) {                                                    \
                    const bool right = LESS(a[j], a[i]);                                           \
                    b[k++] = right ? a[j] : a[i];                                                  \
                    j += right;                                                                    \
                    i += !right;                                                                   \
                }                                                                                  \
                while (i < middle)                                                                 \
                    b[k++] = a[i++];                                                               \
                while (j < end)                                                                    \
                    b[k++] = a[j++];                                                               \
            }                                                                                      \
            type *const other = a;                                                                 \
            a = b;                                                                                 \
            b = other;                                                                             \
        }                                                                                          \
        return a;                                                                                  \
    }
MERGE_SORT(merge_narrow, uint64_t, NARROW_LESS)
MERGE_SORT(merge_wide, item, WIDE_LESS)

ALWAYS void sort_short(form f, const job *j, const char *keys, char *sorted, char *order)
{
    const int count = (int)j->length;
    uint64_t narrow[2][SHORT_ROW];
    item wide[2][SHORT_ROW];

    if (f.size <= 4) {
        for (int k = 0; k < count; k++)
            narrow[0][k] = radix_key_at(f, keys + k * f.size, j->flip).low << 32 | (uint32_t)k;
        const uint64_t *result = merge_narrow(narrow[0], narrow[1], count);
        for (int k = 0; k < count; k++)
            move(f, keys, NULL, (uint32_t)result[k], sorted, order, k, order != NULL, j->wide);
    } else {
        for (int k = 0; k < count; k++)
            wide[0][k] = (item){radix_key_at(f, keys + k * f.size, j->flip), (uint32_t)k};
        const item *result = merge_wide(wide[0], wide[1], count);
        for (int k = 0; k < count; k++)
            move(f, keys, NULL, result[k].index, sorted, order, k, order != NULL, j->wide);
    }
}

/* ---- rows: radix sort ------------------------------------------------------------------------ */

/* One pass over a row. `start`: where each digit goes. */
ALWAYS void pass(form f, const job *j, int digit, const char *from, const char *from_order,
                 char *to, char *to_order, int64_t *start, int64_t count, bool order, bool wide)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = start[digit_at(f, from + k * f.size, j->flip, digit)]++;
        move(f, from, from_order, k, to, to_order, at, order, wide);
    }
}

ALWAYS void pass_of(form f, const job *j, int digit, const char *from, const char *from_order,
                    char *to, char *to_order, int64_t *start, int64_t count)
{
    if (to_order == NULL)
        pass(f, j, digit, from, NULL, to, NULL, start, count, false, false);
    else if (j->wide)
        pass(f, j, digit, from, from_order, to, to_order, start, count, true, true);
    else
        pass(f, j, digit, from, from_order, to, to_order, start, count, true, false);
}

/* From how often each digit occurs to where it begins. Lists those in which elements differ. */
static int start_digits(int64_t counts[][256], int count, int64_t length, int *digits)
{
    int different = 0;

    for (int d = 0; d < count; d++) {
        int64_t before = 0;
        bool alone = false;
        for (int v = 0; v < 256; v++) {
            const int64_t here = counts[d][v];
            alone = alone || here == length;
            counts[d][v] = before;
            before += here;
        }
        if (!alone)
            digits[different++] = d;
    }
    return different;
}

/* Digits in which a row's elements differ, counted: how often each occurs, turned into where it
 * begins. */
ALWAYS int count_row(form f, const job *j, const char *keys, int64_t counts[][256], int *digits)
{
    const int count = j->digits, parts = part_bytes(f);

    memset(counts, 0, (size_t)count * sizeof counts[0]);
    for (int64_t k = 0; k < j->length; k++) {
        const radix_key p = radix_key_at(f, keys + k * f.size, j->flip);
        for (int d = 0; d < f.size; d++)
            if (count == f.size || d < count)
                counts[d][(d < parts ? p.low >> 8 * d : p.high >> 8 * (d - parts)) & 255]++;
    }
    return start_digits(counts, count, j->length, digits);
}

/* ---- rows of numbers whose bits can be had back ---------------------------------------------- */

/*
 * Keys that are sorted without their positions, of 4 or 8 bytes: the first pass turns elements into
 * unsigned integers in the same order, the last one turns them back, and the passes between move
 * integers alone. -0 and NaN, which share radix keys with other elements, have no such integer: a row
 * that holds one is sorted as any other.
 */
#define NUMBERS(BITS)                                                                              \
    ALWAYS uint##BITS##_t to_number_##BITS(form f, uint##BITS##_t v, uint64_t flip)                \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)1 << (BITS - 1);                               \
        if (f.kind == 'f')                                                                         \
            v ^= sign | (uint##BITS##_t)(0 - (v >> (BITS - 1)));                                   \
        return (uint##BITS##_t)((f.kind == 'i' ? v ^ sign : v) ^ flip);                            \
    }                                                                                              \
    ALWAYS uint##BITS##_t from_number_##BITS(form f, uint##BITS##_t v, uint64_t flip)              \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)1 << (BITS - 1);                               \
        v ^= (uint##BITS##_t)flip;                                                                 \
        if (f.kind == 'f')                                                                         \
            v ^= sign | (uint##BITS##_t)((v >> (BITS - 1)) - 1);                                   \
        return f.kind == 'i' ? v ^ sign : v;                                                       \
    }                                                                                              \
    /* How often each digit occurs; false: the row holds -0 or NaN. */                             \
    ALWAYS bool count_numbers_##BITS(form f, const job *j, const uint##BITS##_t *from,             \
                                     int64_t counts[][256])                                        \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)1 << (BITS - 1);                               \
        uint##BITS##_t strange = 0;                                                                \
        memset(counts, 0, BITS / 8 * sizeof counts[0]);                                            \
        for (int64_t k = 0; k < j->length; k++) {                                                  \
            const uint##BITS##_t v = from[k], number = to_number_##BITS(f, v, j->flip);            \
            strange |= f.kind == 'f' && (v == sign || (v & ~sign) > f.infinity);                   \
            for (int d = 0; d < BITS / 8; d++)                                                     \
                counts[d][number >> 8 * d & 255]++;                                                \
        }                                                                                          \
        return strange == 0;                                                                       \
    }                                                                                              \
    ALWAYS void pass_numbers_##BITS(form f, const job *j, int digit, const uint##BITS##_t *from,   \
                                    uint##BITS##_t *to, int64_t *start, bool first, bool last)     \
    {                                                                                              \
        const uint64_t flip = j->flip;                                                             \
        const int64_t length = j->length;                                                          \
        for (int64_t k = 0; k < length; k++) {                                                     \
            const uint##BITS##_t v = first ? to_number_##BITS(f, from[k], flip) : from[k];         \
            to[start[v >> 8 * digit & 255]++] = last ? from_number_##BITS(f, v, flip) : v;         \
        }                                                                                          \
    }                                                                                              \
    ALWAYS bool sort_numbers_##BITS(form f, const job *j, const void *keys, void *sorted,          \
                                    void *spare)                                                   \
    {                                                                                              \
        const uint##BITS##_t *from = keys;                                                         \
        int64_t counts[BITS / 8][256];                                                             \
        int digits[BITS / 8];                                                                      \
        if (!count_numbers_##BITS(f, j, from, counts))                                             \
            return false;                                                                          \
        const int different = start_digits(counts, BITS / 8, j->length, digits);                   \
        if (different == 0)                                                                        \
            memcpy(sorted, keys, (size_t)j->length *(BITS / 8));                                   \
        for (int n = 0; n < different; n++) {                                                      \
            const bool first = n == 0, last = n == different - 1;                                  \
            uint##BITS##_t *const to = (different - 1 - n) % 2 == 0 ? sorted : spare;              \
            int64_t *const start = counts[digits[n]];                                              \
            if (first && last)                                                                     \
                pass_numbers_##BITS(f, j, digits[n], from, to, start, true, true);                 \
            else if (first)                                                                        \
                pass_numbers_##BITS(f, j, digits[n], from, to, start, true, false);                \
            else if (last)                                                                         \
                pass_numbers_##BITS(f, j, digits[n], from, to, start, false, true);                \
            else                                                                                   \
                pass_numbers_##BITS(f, j, digits[n], from, to, start, false, false);               \
            from = to;                                                                             \
        }                                                                                          \
        return true;                                                                               \
    }
NUMBERS(32)
NUMBERS(64)

/* Rows as columns: those from `row` on, as many as there are lanes or `rows`. False: one of them
 * holds -0 or NaN. */
#define COLUMNS(BITS)                                                                              \
    ALWAYS bool sort_columns_##BITS(form f, const job *j, int64_t row, int rows)                   \
    {                                                                                              \
        enum { LANES = 512 / BITS };                                                               \
        const uint##BITS##_t sign = (uint##BITS##_t)1 << (BITS - 1);                               \
        const int length = (int)j->length;                                                         \
        uint##BITS##_t strange = 0;                                                                \
        int count = 1;                                                                             \
        _Alignas(KILN__NETWORK_BYTES) uint##BITS##_t lines[COLUMN * LANES];                        \
        while (count < length)                                                                     \
            count *= 2;                                                                            \
        if (rows < LANES)                                                                          \
            memset(lines, 0, (size_t)length *KILN__NETWORK_BYTES);                                 \
        for (int r = 0; r < rows; r++) {                                                           \
            const uint##BITS##_t *from =                                                           \
                (const uint##BITS##_t *)(const void *)j->keys + (row + r) * j->length;             \
            for (int k = 0; k < length; k++) {                                                     \
                const uint##BITS##_t v = from[k];                                                  \
                strange |= f.kind == 'f' && (v == sign || (v & ~sign) > f.infinity);               \
                lines[k * LANES + r] = to_number_##BITS(f, v, j->flip) ^ sign;                     \
            }                                                                                      \
        }                                                                                          \
        if (strange != 0)                                                                          \
            return false;                                                                          \
        for (int k = length * LANES; k < count * LANES; k++)                                       \
            lines[k] = sign - 1; /* behind all others */                                           \
        j->network(lines, count);                                                                  \
        for (int r = 0; r < rows; r++) {                                                           \
            uint##BITS##_t *to = (uint##BITS##_t *)(void *)j->sorted + (row + r) * j->length;      \
            for (int k = 0; k < length; k++)                                                       \
                to[k] = from_number_##BITS(f, lines[k * LANES + r] ^ sign, j->flip);               \
        }                                                                                          \
        return true;                                                                               \
    }
COLUMNS(32)
COLUMNS(64)

ALWAYS bool sort_columns(form f, const job *j, int64_t row, int rows)
{
    return f.size == 4 ? sort_columns_32(f, j, row, rows) : sort_columns_64(f, j, row, rows);
}

/* Whether rows are sorted as columns, and how many at a time; else 0. */
ALWAYS int columns_of(form f, const job *j)
{
    const bool numbers = (f.size == 4 || f.size == 8) && f.kind != 'c';
    return numbers && j->order == NULL && j->sorted != NULL && j->digits == f.size &&
                   j->length > 1 && j->length <= COLUMN
               ? KILN__NETWORK_BYTES / f.size
               : 0;
}

ALWAYS bool sort_numbers(form f, const job *j, const void *keys, void *sorted, void *spare)
{
    if (f.size == 4 && f.kind != 'c')
        return sort_numbers_32(f, j, keys, sorted, spare);
    if (f.size == 8 && f.kind != 'c')
        return sort_numbers_64(f, j, keys, sorted, spare);
    return false;
}

ALWAYS void sort_row(form f, const job *j, int64_t row)
{
    const int64_t at = row * j->length, bytes = at * f.size, order_bytes = at * (j->wide ? 8 : 4);
    const char *from = j->keys + bytes, *from_order = NULL;
    char *const sorted = j->sorted != NULL ? j->sorted + bytes : NULL;
    char *const order = j->order != NULL ? j->order + order_bytes : NULL;
    int64_t counts[DIGITS_MAX][256];
    int digits[DIGITS_MAX];

    if (j->length <= SHORT_ROW) {
        sort_short(f, j, from, sorted, order);
        return;
    }
    if (order == NULL && j->digits == f.size && sort_numbers(f, j, from, sorted, j->spare + bytes))
        return;
    const int different = count_row(f, j, from, counts, digits);
    if (different == 0)
        for (int64_t k = 0; k < j->length; k++)
            move(f, from, NULL, k, sorted, order, k, order != NULL, j->wide);
    for (int d = 0; d < different; d++) {
        /* The last pass writes the results, the one before it the spare room, and so on. */
        const bool result = (different - 1 - d) % 2 == 0;
        char *const to = result ? sorted : j->spare + bytes;
        char *const to_order = order == NULL ? NULL : result ? order : j->spare_order + order_bytes;
        pass_of(f, j, digits[d], from, from_order, to, to_order, counts[digits[d]], j->length);
        from = to;
        from_order = to_order;
    }
}

ALWAYS void sort_rows(form f, const job *j, int64_t begin, int64_t end)
{
    const int lanes = columns_of(f, j);

    for (int64_t row = begin; row < end;) {
        const int rows = end - row < lanes ? (int)(end - row) : lanes;
        const bool done = 2 * rows > lanes && sort_columns(f, j, row, rows);
        for (int k = 0; !done && (k < rows || k == 0); k++)
            sort_row(f, j, row + k);
        row += rows > 0 ? rows : 1;
    }
}

/* ---- long rows: passes of pieces ------------------------------------------------------------- */

ALWAYS void piece_of(const job *j, int64_t unit, int64_t *begin, int64_t *end)
{
    const int64_t each = (j->length + j->pieces - 1) / j->pieces;
    *begin = unit * each < j->length ? unit * each : j->length;
    *end = *begin + each < j->length ? *begin + each : j->length;
}

ALWAYS void count_piece(form f, const job *j, int64_t unit)
{
    int64_t begin, end, counts[256] = {0};

    piece_of(j, unit, &begin, &end);
    for (int64_t k = begin; k < end; k++)
        counts[digit_at(f, j->from + k * f.size, j->flip, j->digit)]++;
    memcpy(j->counts + unit * 256, counts, sizeof counts);
}

ALWAYS void move_piece(form f, const job *j, int64_t unit)
{
    const int64_t item_bytes = j->wide ? 8 : 4;
    int64_t begin, end, start[256], before = 0;

    piece_of(j, unit, &begin, &end);
    for (int v = 0; v < 256; v++) {
        for (int p = 0; p < j->pieces; p++) {
            if (p == unit)
                start[v] = before;
            before += j->counts[p * 256 + v];
        }
    }
    if (j->to_order == NULL || j->from_order != NULL) {
        pass_of(f, j, j->digit, j->from + begin * f.size,
                j->from_order != NULL ? j->from_order + begin * item_bytes : NULL, j->to,
                j->to_order, start, end - begin);
        return;
    }
    for (int64_t k = begin; k < end; k++) {
        const int64_t at = start[digit_at(f, j->from + k * f.size, j->flip, j->digit)]++;
        move(f, j->from, NULL, k, j->to, j->to_order, at, true, j->wide);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

/* kiln__radix_infinity() as a constant: each dtype has functions of its own. */
#define INFINITY_OF(dtype, size, kind)                                                             \
    ((dtype) == KILN_BFLOAT16        ? 0x7f80                                                      \
     : (dtype) == KILN_FLOAT8_E4M3FN ? 0x7e                                                        \
     : (dtype) == KILN_FLOAT8_E5M2   ? 0x7c                                                        \
     : (dtype) == KILN_FLOAT16       ? 0x7c00                                                      \
     : ((kind) == 'f' && (size) == 4) || ((kind) == 'c' && (size) == 8)                            \
         ? 0x7f800000                                                                              \
         : UINT64_C(0x7ff0000000000000))
/* clang-format off */
#define ENTRIES(NAME, value, text, size, kind, ctype, npy)                                         \
    static const form form_##NAME = {size, kind, INFINITY_OF(KILN_##NAME, size, kind)}; \
    static void rows_##NAME(const void *args, int64_t begin, int64_t end)                          \
    {                                                                                              \
        sort_rows(form_##NAME, args, begin, end);                                                  \
    }                                                                                              \
    static void count_##NAME(const void *args, int64_t begin, int64_t end)                         \
    {                                                                                              \
        for (int64_t unit = begin; unit < end; unit++)                                             \
            count_piece(form_##NAME, args, unit);                                                  \
    }                                                                                              \
    static void move_##NAME(const void *args, int64_t begin, int64_t end)                          \
    {                                                                                              \
        for (int64_t unit = begin; unit < end; unit++)                                             \
            move_piece(form_##NAME, args, unit);                                                   \
    }
KILN_DTYPE_MAP(ENTRIES)
static const struct {
    kiln__cpu_entry rows, count, move;
} entries[KILN_DTYPE_COUNT] = {
#define ENTRY(NAME, value, text, size, kind, ctype, npy) [KILN_##NAME] = {rows_##NAME, count_##NAME, move_##NAME},
    KILN_DTYPE_MAP(ENTRY)
};
/* clang-format on */

/* Passes over one row by all threads. */
static kiln_status sort_long(const kiln__sort *s, job *j, int64_t row, char *const spare[2],
                             char *const spare_order[2], kiln_error *err)
{
    const int64_t bytes = row * s->length * (int64_t)kiln_dtype_size(s->dtype);
    const int64_t order_bytes = row * s->length * (s->wide ? 8 : 4);

    j->from = j->keys + bytes;
    j->from_order = NULL;
    for (j->digit = 0; j->digit < j->digits; j->digit++) {
        const int left = j->digits - 1 - j->digit;
        j->to = left > 0 ? spare[left % 2] : s->sorted == NULL ? NULL : j->sorted + bytes;
        j->to_order = s->order == NULL ? NULL
                      : left > 0       ? spare_order[left % 2]
                                       : j->order + order_bytes;
        KILN_CHECK(kiln__sort_launch(s, entries[s->dtype].count, j, sizeof *j, j->pieces, err));
        KILN_CHECK(kiln__sort_launch(s, entries[s->dtype].move, j, sizeof *j, j->pieces, err));
        j->from = j->to;
        j->from_order = j->to_order;
    }
    return KILN_OK;
}

static kiln_status sort_by_digits(const kiln__sort *s, kiln_error *err)
{
    const int threads = kiln__device_info(kiln__context_device(s->ctx))->unit_count;
    const bool few = threads > 1 && s->rows < threads && s->length >= LONG_ROW;
    const int64_t elements = few ? s->length : s->rows * s->length;
    const kiln_dtype order = s->wide ? KILN_INT64 : KILN_INT32;
    kiln_array *spare[2] = {NULL, NULL}, *spare_order[2] = {NULL, NULL}, *counts = NULL;
    kiln_status status = KILN_OK;
    job j = {.keys = s->keys,
             .sorted = s->sorted,
             .order = s->order,
             .rows = s->rows,
             .length = s->length,
             .flip = s->descending ? ~UINT64_C(0) : 0,
             .wide = s->wide,
             .digits = s->digits != 0 ? s->digits : kiln__radix_digits(s->dtype),
             .network = kiln__network_of(8 * (int)kiln_dtype_size(s->dtype)),
             .pieces = threads < PIECES_MAX ? threads : PIECES_MAX};

    for (int k = 0; s->length > SHORT_ROW && k < (few ? 2 : 1); k++) {
        KILN_TRY(kiln__sort_memory(s->ctx, s->stream, s->dtype, elements, &spare[k], err));
        if (s->order != NULL)
            KILN_TRY(kiln__sort_memory(s->ctx, s->stream, order, elements, &spare_order[k], err));
    }
    if (!few) {
        kiln_array *keys = NULL; /* where nobody wants the keys, they go here */
        if (s->sorted == NULL && s->length > SHORT_ROW)
            KILN_TRY(kiln__sort_memory(s->ctx, s->stream, s->dtype, elements, &keys, err));
        spare[1] = keys;
        if (keys != NULL)
            j.sorted = keys->data;
        j.spare = spare[0] != NULL ? spare[0]->data : NULL;
        j.spare_order = spare_order[0] != NULL ? spare_order[0]->data : NULL;
        KILN_TRY(kiln__sort_launch(s, entries[s->dtype].rows, &j, sizeof j, s->rows, err));
    } else {
        char *const buffers[2] = {spare[0]->data, spare[1]->data};
        char *const order_buffer[2] = {s->order != NULL ? spare_order[0]->data : NULL,
                                       s->order != NULL ? spare_order[1]->data : NULL};
        KILN_TRY(kiln__sort_memory(s->ctx, s->stream, KILN_INT64, 256 * PIECES_MAX, &counts, err));
        j.counts = counts->data;
        for (int64_t row = 0; row < s->rows; row++)
            KILN_TRY(sort_long(s, &j, row, buffers, order_buffer, err));
    }

done:
    for (int k = 0; k < 2; k++) {
        kiln_array_release(spare[k]);
        kiln_array_release(spare_order[k]);
    }
    kiln_array_release(counts);
    return status;
}

kiln_status kiln__sort_rows_cpu(const kiln__sort *s, kiln_error *err)
{
    bool done = false;

    KILN_CHECK(kiln__sort_rows_numbers(s, &done, err));
    return done ? KILN_OK : sort_by_digits(s, err);
}
