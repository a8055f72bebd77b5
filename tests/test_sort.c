/*
 * test_sort.c - sort and argsort against a plain insertion of numbers into order, on every device.
 *
 * The oracle knows of the order only what NumPy says: NaN last, -0 equal to +0, complex numbers by their parts.
 */
#define _GNU_SOURCE /* setenv */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/kiln.h"
#include "test_env.h"

static const kiln_dtype all_dtypes[] = {KILN_BOOL,    KILN_INT8,      KILN_INT16,     KILN_INT32,
                                        KILN_INT64,   KILN_UINT8,     KILN_UINT16,    KILN_UINT32,
                                        KILN_UINT64,  KILN_FLOAT16,   KILN_BFLOAT16,  KILN_FLOAT32,
                                        KILN_FLOAT64, KILN_COMPLEX64, KILN_COMPLEX128};

/* ---- the oracle ---------------------------------------------------------------------------------- */

/* A float of 16 bits, by its definition. */
static double half_value(unsigned bits, int exponent_bits)
{
    const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const unsigned fraction = bits & ((1u << fraction_bits) - 1u);
    const double sign = bits >> 15 ? -1 : 1;

    if (exponent == (1 << exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    return exponent == 0 ? sign * ldexp(fraction, 1 - bias - fraction_bits)
                         : sign * ldexp(fraction + (double)(1u << fraction_bits),
                                        exponent - bias - fraction_bits);
}

/* -1, 0 or 1: how two numbers stand to each other; `down` where the larger comes first. NaN last. */
static int compare_floats(double a, double b, bool down)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    const int up = (a > b) - (a < b);
    return down ? -up : up;
}

static int compare_complex(double ar, double ai, double br, double bi, bool down)
{
    const int a_class = (isnan(ar) ? 2 : 0) + (isnan(ai) ? 1 : 0);
    const int b_class = (isnan(br) ? 2 : 0) + (isnan(bi) ? 1 : 0);

    if (a_class != b_class)
        return a_class < b_class ? -1 : 1;
    const int first = compare_floats(ar, br, down);
    return first != 0 ? first : compare_floats(ai, bi, down);
}

static double float_of(kiln_dtype dtype, const void *at)
{
    uint16_t half;
    float single;
    double wide;

    if (dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16) {
        memcpy(&half, at, 2);
        return half_value(half, dtype == KILN_FLOAT16 ? 5 : 8);
    }
    if (dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64) {
        memcpy(&single, at, 4);
        return single;
    }
    memcpy(&wide, at, 8);
    return wide;
}

static int compare(kiln_dtype dtype, const char *a, const char *b, bool down)
{
    const size_t size = kiln_dtype_size(dtype);
    int64_t i[2] = {0, 0};
    uint64_t u[2] = {0, 0};

    switch (kiln_dtype_kind(dtype)) {
    case 'f':
        return compare_floats(float_of(dtype, a), float_of(dtype, b), down);
    case 'c':
        return compare_complex(float_of(dtype, a), float_of(dtype, a + size / 2),
                               float_of(dtype, b), float_of(dtype, b + size / 2), down);
    case 'i':
        for (int k = 0; k < 2; k++) {
            memcpy(&i[k], k == 0 ? a : b, size);
            i[k] = (int64_t)((uint64_t)i[k] << (64 - 8 * size)) >> (64 - 8 * size);
        }
        return down ? (i[0] < i[1]) - (i[0] > i[1]) : (i[0] > i[1]) - (i[0] < i[1]);
    default:
        memcpy(&u[0], a, size);
        memcpy(&u[1], b, size);
        return down ? (u[0] < u[1]) - (u[0] > u[1]) : (u[0] > u[1]) - (u[0] < u[1]);
    }
}

/* The stable order of a row whose elements are `step` bytes apart: a merge of halves. */
static void sort_order(kiln_dtype dtype, const char *row, int64_t step, int64_t *order,
                       int64_t *room, int64_t count, bool down)
{
    const int64_t half = count / 2;
    int64_t i = 0, j = half;

    if (count < 2)
        return;
    sort_order(dtype, row, step, order, room, half, down);
    sort_order(dtype, row, step, order + half, room, count - half, down);
    for (int64_t k = 0; k < count; k++) {
        const bool right = i == half || (j < count && compare(dtype, row + order[j] * step,
                                                              row + order[i] * step, down) < 0);
        room[k] = right ? order[j++] : order[i++];
    }
    memcpy(order, room, (size_t)count * sizeof *order);
}

/* ---- elements ------------------------------------------------------------------------------------ */

enum { MIXED, FEW, EQUAL, SORTED, KINDS, NUMBERS, CLOSE, LEVEL_KINDS, SECOND, SAMPLED };

/* One part of an element: any bits, often special ones, or one of a few values. NUMBERS: neither -0 nor NaN.
 * SECOND: elements differ in the second byte alone. SAMPLED: every 4th element is far from the others.
 * CLOSE: most elements differ in their lower bits alone. */
static uint64_t random_bits(test_env *t, kiln_dtype dtype, int kind, int64_t k)
{
    static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 2.5};
    const size_t size = kiln_dtype_size(dtype);
    const bool single = dtype == KILN_FLOAT32 || dtype == KILN_COMPLEX64;
    uint64_t bits = test_random(t);

    if (kind == NUMBERS)
        return (bits & UINT64_C(0xbfffffffbfffffff)) | 1;
    if (kind == CLOSE)
        return bits % 8 == 0 ? bits : (bits % 64 << 8 * (size - 1)) + (bits >> 16) % 1000;
    if (kind == SAMPLED)
        return k % 4 == 2 ? bits % 4096 : 0x10000000 + bits % 1000000;
    if (kind == SECOND)
        return (bits & 0xff00) | 0x120034;
    if (kind == EQUAL || kind == SORTED)
        bits = kind == EQUAL ? 1 : (uint64_t)k;
    else if (kind == FEW || bits % 8 == 0) {
        const double v = special[bits / 8 % COUNT(special)];
        const float narrow = (float)v;
        if (single)
            memcpy(&bits, &narrow, 4);
        else if (dtype == KILN_FLOAT64 || dtype == KILN_COMPLEX128)
            memcpy(&bits, &v, 8);
        else if (dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16)
            bits = (const uint16_t[]){
                0, 0x8000, 0x7f80, 0xff80, 0x7c00, 0xfc00, 0xffff, 0x7fff}[bits / 8 % 8];
        else
            bits = bits / 8 % 5 - 2;
    }
    return size == 1 && dtype == KILN_BOOL ? bits & 1 : bits;
}

static void fill(test_env *t, kiln_dtype dtype, int kind, char *at, int64_t count)
{
    const size_t size = kiln_dtype_size(dtype);
    const size_t part = kiln_dtype_kind(dtype) == 'c' ? size / 2 : size;

    for (int64_t k = 0; k < count; k++)
        for (size_t p = 0; p < size; p += part) {
            const uint64_t bits = random_bits(t, dtype, kind, k);
            memcpy(at + (size_t)k * size + p, &bits, part);
        }
}

/* ---- one case ------------------------------------------------------------------------------------ */

/* An array of (outer, length, inner), sorted along its middle axis in both ways, and what both must be. */
static void check_case(test_env *t, kiln_dtype dtype, int kind, int64_t outer, int64_t length,
                       int64_t inner, bool down)
{
    const size_t size = kiln_dtype_size(dtype);
    const int64_t shape[] = {outer, length, inner}, count = outer * length * inner;
    char *const given = malloc((size_t)count * size + 1), *const got =
                                                              malloc((size_t)count * size + 1);
    int64_t *const places = malloc((size_t)(count + 1) * sizeof *places);
    int64_t *const order = malloc((size_t)(2 * length + 1) * sizeof *order);
    kiln_array *x = NULL, *sorted = NULL, *argsorted = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    fill(t, dtype, kind, given, count);
    OK(t, kiln_array_from_host(t->ctx, dtype, 3, shape, given, NULL, &x, &t->err));
    o.axes = KILN_AXES(-2);
    o.descending = down;
    OK(t, kiln_array_sort(x, &o, &sorted, &t->err));
    OK(t, kiln_array_argsort(x, &o, &argsorted, &t->err));
    OK(t, kiln_array_to_host(sorted, got, (size_t)count * size, NULL, &t->err));
    OK(t, kiln_array_to_host(argsorted, places, (size_t)count * 8, NULL, &t->err));
    for (int64_t a = 0; a < outer; a++)
        for (int64_t b = 0; b < inner; b++) {
            const int64_t first = a * length * inner + b;
            for (int64_t k = 0; k < length; k++)
                order[k] = k;
            sort_order(dtype, given + (size_t)first * size, inner * (int64_t)size, order,
                       order + length, length, down);
            for (int64_t k = 0; k < length; k++) {
                const size_t at = (size_t)(first + k * inner);
                const size_t from = (size_t)(first + order[k] * inner);
                if (places[at] != order[k] ||
                    memcmp(got + at * size, given + from * size, size) != 0)
                    fail_msg("%s (%lld, %lld, %lld) kind %d%s: row %lld %lld, element %lld comes "
                             "from %lld, not %lld; KILN_TEST_SEED=%llu",
                             kiln_dtype_name(dtype), (long long)outer, (long long)length,
                             (long long)inner, kind, down ? " descending" : "", (long long)a,
                             (long long)b, (long long)k, (long long)places[at], (long long)order[k],
                             (unsigned long long)t->seed);
            }
        }
    kiln_array_release(x);
    kiln_array_release(sorted);
    kiln_array_release(argsorted);
    free(given);
    free(got);
    free(places);
    free(order);
}

/* A quantile that is an element: that of the sorted order, or NaN where the row has one. */
static void check_quantile(test_env *t, kiln_dtype dtype, const kiln_array *x, const char *row,
                           const int64_t *order, int64_t length)
{
    const size_t size = kiln_dtype_size(dtype);
    const int64_t place = (int64_t)test_random_below(t, (uint64_t)length);
    const double q = length > 1 ? ((double)place + 0.25) / (double)(length - 1) : 0;
    const char *const last = row + order[length - 1] * (int64_t)size;
    const char *expected = row + order[place] * (int64_t)size;
    char got[16];
    kiln_array *y = NULL;

    OK(t, kiln_array_quantile(x, q < 1 ? &q : &(double){1}, 1, KILN_QUANTILE_LOWER, NULL, &y,
                              &t->err));
    OK(t, kiln_array_to_host(y, got, size, NULL, &t->err));
    if (kiln_dtype_kind(dtype) == 'f' && isnan(float_of(dtype, last)))
        expected = last;
    if (memcmp(got, expected, size) != 0)
        fail_msg("%s: quantile %g of %lld elements is not number %lld; KILN_TEST_SEED=%llu",
                 kiln_dtype_name(dtype), q, (long long)length, (long long)place,
                 (unsigned long long)t->seed);
    kiln_array_release(y);
}

/* The first `k` elements of the sorted order of rows. */
static void check_first(test_env *t, kiln_dtype dtype, int kind, int64_t rows, int64_t length,
                        int64_t k, bool down)
{
    const size_t size = kiln_dtype_size(dtype);
    const int64_t shape[] = {rows, length};
    char *const given = malloc((size_t)(rows * length) * size + 1);
    char *const values = malloc((size_t)(rows * k) * size + 1);
    int64_t *const places = malloc((size_t)(rows * k + 1) * sizeof *places);
    int64_t *const order = malloc((size_t)(2 * length + 1) * sizeof *order);
    kiln_array *x = NULL, *y = NULL, *z = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    fill(t, dtype, kind, given, rows * length);
    OK(t, kiln_array_from_host(t->ctx, dtype, 2, shape, given, NULL, &x, &t->err));
    o.axes = KILN_AXES(1);
    o.descending = !down; /* of topk: the smallest ones */
    OK(t, kiln_array_topk(x, k, &o, &y, &z, &t->err));
    OK(t, kiln_array_to_host(y, values, (size_t)(rows * k) * size, NULL, &t->err));
    OK(t, kiln_array_to_host(z, places, (size_t)(rows * k) * 8, NULL, &t->err));
    for (int64_t r = 0; r < rows; r++) {
        const char *const row = given + (size_t)(r * length) * size;
        for (int64_t n = 0; n < length; n++)
            order[n] = n;
        sort_order(dtype, row, (int64_t)size, order, order + length, length, down);
        for (int64_t n = 0; n < k; n++)
            if (places[r * k + n] != order[n] || memcmp(values + (size_t)(r * k + n) * size,
                                                        row + (size_t)order[n] * size, size) != 0)
                fail_msg("%s, kind %d, %lld rows of %lld%s: number %lld of %lld is %lld, not %lld; "
                         "KILN_TEST_SEED=%llu",
                         kiln_dtype_name(dtype), kind, (long long)rows, (long long)length,
                         down ? " descending" : "", (long long)n, (long long)k,
                         (long long)places[r * k + n], (long long)order[n],
                         (unsigned long long)t->seed);
        if (rows == 1 && !down && (size == 8 || dtype == KILN_FLOAT32))
            check_quantile(t, dtype, x, row, order, length);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    free(given);
    free(values);
    free(places);
    free(order);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void test_sort__orders_rows_of_every_dtype(void **state)
{
    test_env *t = *state;

    for (size_t d = 0; d < COUNT(all_dtypes); d++)
        for (int kind = 0; kind < (d % 4 == 0 ? KINDS : 2); kind++)
            check_case(t, all_dtypes[d], kind, 3, 21 + (int64_t)test_random_below(t, 20), 1,
                       kind % 2 != 0);
}

static void test_sort__orders_rows_of_every_length(void **state)
{
    static const int64_t lengths[] = {0,   1,   2,   3,   8,   31,   32,   33,  64,
                                      100, 129, 255, 256, 257, 1000, 1025, 4097};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(lengths); k++)
        check_case(t, k % 2 == 0 ? KILN_FLOAT32 : KILN_INT64, MIXED, 2, lengths[k], 1, k % 3 == 0);
    check_case(t, KILN_INT64, FEW, 1, 8192, 1, false);
    check_case(t, KILN_FLOAT16, MIXED, 1, 16384, 1, true);
    check_case(t, KILN_FLOAT32, MIXED, 0, 5, 3, false);
    check_case(t, KILN_INT16, MIXED, 4, 0, 3, false);
}

/* The cpu device sorts such rows as columns of vectors, and longer ones by passes over integers. */
static void test_sort__orders_rows_of_numbers(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_INT32,
                                        KILN_INT64,   KILN_UINT32,  KILN_UINT64};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(dtypes); k++) {
        check_case(t, dtypes[k], NUMBERS, 17, 50, 1, k % 2 != 0);
        check_case(t, dtypes[k], NUMBERS, 13, 1 + (int64_t)test_random_below(t, 512), 1,
                   k % 2 == 0);
        check_case(t, dtypes[k], NUMBERS, 1, 2000, 1, k % 3 == 0);
    }
}

static void test_sort__orders_long_rows_by_passes(void **state)
{
    static const kiln_dtype widths[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64,
                                        KILN_COMPLEX128};
    test_env *t = *state;

    check_case(t, KILN_FLOAT32, MIXED, 1, 30000, 1, false);
    check_case(t, KILN_UINT8, MIXED, 1, 50001, 1, true);
    check_case(t, KILN_INT16, FEW, 2, 33000, 1, false);
    check_case(t, KILN_COMPLEX128, FEW, 1, 9000, 1, false);
    check_case(t, KILN_UINT8, NUMBERS, 1, (1 << 20) + 77, 1, false); /* is counted by larger blocks */
    setenv("KILN_TUNE_SORT_FEW", "1", 1); /* the tiles of long rows on short ones */
    for (size_t d = 0; d < COUNT(widths) && t->cuda; d++)
        check_case(t, widths[d], d % 2 == 0 ? MIXED : FEW, 1,
                   16500 + (int64_t)test_random_below(t, 3000), 1, d % 3 == 0);
    unsetenv("KILN_TUNE_SORT_FEW");
    if (!t->cuda)
        for (int kind = 0; kind < KINDS; kind++)
            check_case(t, KILN_FLOAT64, kind, 1, 300000, 1, kind % 2 == 0);
}

/* On CUDA devices a digit that all elements of a row share has no pass where there are many of them. */
static void test_sort__orders_long_rows_that_share_digits(void **state)
{
    test_env *t = *state;

    check_case(t, KILN_INT32, SORTED, 1, 270000, 1, true);
    check_case(t, KILN_INT32, EQUAL, 1, 270000, 1, false);
    check_case(t, KILN_UINT64, SECOND, 3, 90000, 1, false);
    check_case(t, KILN_FLOAT32, SECOND, 16, 17000, 1, true);
}

/* The cpu device chooses by the processor: quicksorts by vectors of two kinds, and digits. */
static void test_sort__orders_alike_on_every_level_of_processors(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_INT8,    KILN_UINT8,    KILN_INT16,  KILN_UINT16,
                                        KILN_FLOAT16, KILN_BFLOAT16, KILN_INT32,  KILN_UINT32,
                                        KILN_FLOAT32, KILN_INT64,    KILN_UINT64, KILN_FLOAT64};
    test_env *t = *state;

    for (int level = 2; level <= 4 && !t->cuda; level++) {
        char text[8];
        snprintf(text, sizeof text, "%d", level);
        setenv("KILN_TUNE_CPU_LEVEL", text, 1);
        for (size_t d = 0; d < COUNT(dtypes); d++)
            for (int kind = 0; kind < LEVEL_KINDS; kind++)
                if (kind != KINDS) {
                    const int64_t most = INT64_C(1) << (1 + test_random_below(t, 12));
                    check_case(t, dtypes[d], kind, 1 + (int64_t)test_random_below(t, 9),
                               1 + (int64_t)test_random_below(t, (uint64_t)most), 1,
                               test_random_below(t, 2) != 0);
                    const int64_t length = 1 + (int64_t)test_random_below(t, 6000);
                    const uint64_t most_chosen = (uint64_t)length / (1 + test_random_below(t, 99));
                    check_first(t, dtypes[d], kind, 1 + (int64_t)test_random_below(t, 2), length,
                                1 + (int64_t)test_random_below(t, most_chosen + 1) * (length > 1) /
                                        2,
                                test_random_below(t, 2) != 0);
                }
        setenv("KILN_TUNE_SORT_LONG", "1000", 1);
        for (int halves = 0; halves < 2; halves++) { /* long rows that threads share */
            setenv("KILN_TUNE_SORT_HALVES", halves == 0 ? "0" : "99", 1);
            check_case(t, KILN_FLOAT16, MIXED, 1, 9000, 1, level % 2 == 0);
            check_case(t, KILN_FLOAT32, MIXED, 2, 20000, 1, level % 2 != 0);
            check_case(t, KILN_INT32, FEW, 1, 10000, 1, level % 2 == 0);
            check_case(t, KILN_INT32, EQUAL, 1, 8193, 1, level % 2 == 0);
            check_case(t, KILN_UINT32, SAMPLED, 1, 1 << 15, 1, level % 2 != 0);
            check_case(t, KILN_INT64, SORTED, 1, 9999, 1, level % 2 != 0);
            check_case(t, KILN_FLOAT64, MIXED, 2, 12345, 1, level % 2 == 0);
            check_case(t, KILN_UINT64, FEW, 1, 16385, 1, level % 2 != 0);
            check_case(t, KILN_FLOAT64, MIXED, 1, 20011, 1, level % 2 == 0);
        }
        unsetenv("KILN_TUNE_SORT_HALVES");
        unsetenv("KILN_TUNE_SORT_LONG");
    }
    if (!t->cuda)
        check_case(t, KILN_FLOAT16, MIXED, 1, 140000, 1, true); /* whose values are counted */
    unsetenv("KILN_TUNE_CPU_LEVEL");
}

static void test_sort__orders_along_any_axis(void **state)
{
    test_env *t = *state;

    check_case(t, KILN_FLOAT64, FEW, 3, 40, 5, false);
    check_case(t, KILN_COMPLEX64, FEW, 2, 300, 3, true);
    check_case(t, KILN_BFLOAT16, MIXED, 1, 77, 2, false);
}

static void test_sort__flattens_without_an_axis_and_takes_any_strides(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {3, 4};
    const int given[] = {5, 3, 9, 1, 11, 2, 8, 0, 7, 10, 4, 6};
    int got[12], expected[12];
    kiln_array *x = NULL, *turned = NULL, *y = NULL, *out = NULL;

    for (int k = 0; k < 12; k++)
        expected[k] = k;
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, given, NULL, &x, &t->err));
    OK(t, kiln_array_transpose(x, NULL, &turned, &t->err));
    OK(t, kiln_array_sort(turned, NULL, &y, &t->err));
    assert_int_equal(kiln_array_rank(y), 1);
    OK(t, kiln_array_to_host(y, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, expected, sizeof got);
    /* In place, through a view: columns of x are rows of `turned`. */
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;
    o.axes = KILN_AXES(1);
    out = turned;
    OK(t, kiln_array_sort(turned, &o, &out, &t->err));
    OK(t, kiln_array_to_host(x, got, sizeof got, NULL, &t->err));
    assert_memory_equal(got, ((const int[]){5, 2, 4, 0, 7, 3, 8, 1, 11, 10, 9, 6}), sizeof got);
    kiln_array_release(x);
    kiln_array_release(turned);
    kiln_array_release(y);
}

static void test_sort__refuses_what_cannot_be_sorted(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {2, 3};
    kiln_array *x = test_ramp(t, 2, shape), *y = NULL, *other = NULL;
    kiln_sort_options o = KILN_SORT_OPTIONS_INIT;

    FAILS(t, KILN_ERR_NULL, kiln_array_sort(x, NULL, NULL, &t->err), "kiln_array_sort", "`out`");
    FAILS(t, KILN_ERR_NULL, kiln_array_argsort(NULL, NULL, &y, &t->err), "array");
    o.axes = KILN_AXES(2);
    FAILS(t, KILN_ERR_AXIS, kiln_array_sort(x, &o, &y, &t->err), "sort: axis 2", "rank 2");
    o.axes = KILN_AXES(0, 1);
    FAILS(t, KILN_ERR_AXIS, kiln_array_argsort(x, &o, &y, &t->err), "argsort: one axis", "2");
    assert_null(y);
    o.axes = KILN_AXES(-1);
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, 2, shape, &other, &t->err));
    FAILS(t, KILN_ERR_DTYPE, kiln_array_sort(x, &o, &other, &t->err), "int32", "float32");
    kiln_array_release(other);
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, shape, &other, &t->err));
    FAILS(t, KILN_ERR_OUTPUT, kiln_array_sort(x, &o, &other, &t->err), "shape (2,)");
    kiln_array_release(other);
    kiln_array_release(x);
}

/* Where an element of 8 or 16 bits belongs: -0 beside +0, NaN behind all numbers. */
static int32_t key_of(kiln_dtype dtype, const uint16_t *x, int64_t k)
{
    if (dtype == KILN_INT8)
        return (int32_t)(int8_t)((const uint8_t *)x)[k] + 128;
    if (dtype == KILN_UINT16)
        return x[k];
    const int32_t size = x[k] & 0x7fff;
    return size > 0x7c00 ? 65536 : x[k] >> 15 != 0 ? 32768 - size : 32768 + size;
}

/* Long rows, which several threads count. */
static void test_sort__counted_rows(void **state)
{
    static const struct {
        kiln_dtype dtype;
        int64_t length;
    } rows[] = {
        {KILN_INT8, (1 << 18) + 3}, {KILN_UINT16, 1 << 19}, {KILN_FLOAT16, (1 << 19) + 1001}};
    test_env *t = *state;

    for (size_t r = 0; r < COUNT(rows); r++) {
        const int64_t n = rows[r].length, size = (int64_t)kiln_dtype_size(rows[r].dtype);
        uint16_t *const x = malloc((size_t)n * 2), *const want = malloc((size_t)n * 2);
        uint16_t *const got = malloc((size_t)n * 2);
        int64_t *const begins = calloc(65538, sizeof *begins);
        kiln_array *given = NULL, *sorted = NULL;

        for (int64_t k = 0; k < n; k++)
            x[k] = (uint16_t)test_random(t);
        for (int64_t k = 0; k < n; k++)
            begins[key_of(rows[r].dtype, x, k) + 1]++;
        for (int k = 0; k < 65537; k++)
            begins[k + 1] += begins[k];
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = begins[key_of(rows[r].dtype, x, k)]++;
            memcpy((char *)want + at * size, (char *)x + k * size, (size_t)size);
        }
        OK(t, kiln_array_from_host(t->ctx, rows[r].dtype, 1, &n, x, NULL, &given, &t->err));
        OK(t, kiln_array_sort(given, NULL, &sorted, &t->err));
        OK(t, kiln_array_to_host(sorted, got, (size_t)(n * size), NULL, &t->err));
        assert_memory_equal(got, want, (size_t)(n * size));
        kiln_array_release(given);
        kiln_array_release(sorted);
        free(x), free(want), free(got), free(begins);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sort__orders_rows_of_every_dtype),
        TEST(test_sort__orders_rows_of_every_length),
        TEST(test_sort__orders_rows_of_numbers),
        TEST(test_sort__orders_long_rows_by_passes),
        TEST(test_sort__orders_long_rows_that_share_digits),
        TEST(test_sort__orders_alike_on_every_level_of_processors),
        TEST(test_sort__orders_along_any_axis),
        TEST(test_sort__flattens_without_an_axis_and_takes_any_strides),
        TEST(test_sort__refuses_what_cannot_be_sorted),
        TEST(test_sort__counted_rows),
    };
    return test_env_main(argc, argv, "test_sort", tests, COUNT(tests));
}
