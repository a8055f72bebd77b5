/*
 * test_quick.c - sorts by vectors (src/sorting/quick.c), of each set of instructions that this processor has: the cpu
 * device uses the widest one alone.
 *
 * Expected values are those of qsort() and of a loop over the borders.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sorting/sorting.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { MOST = 9000, GUARD = 64, PARTS = KILN__QUICK_PARTS };

static uint64_t state = 88172645463325252;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Numbers of several kinds: few and many different ones, the least and the greatest, rising, falling, and with few
 * that differ from the rest. */
static int64_t number(int kind, int bits, int64_t k, int64_t count)
{
    const int64_t low = bits == 32 ? INT32_MIN : INT64_MIN,
                  high = bits == 32 ? INT32_MAX : INT64_MAX;
    const int64_t any = (int64_t)(draw() << 11 ^ draw());
    const int64_t ends[] = {low, low + 1, high, high - 1, 0};

    switch (kind) {
    case 0:
        return bits == 32 ? (int32_t)any : any;
    case 1:
        return ends[draw() % 5];
    case 2:
        return (int64_t)(draw() % 3);
    case 3:
        return k;
    case 4:
        return count - k;
    case 5:
        return draw() % 50 == 0 ? high : low;
    case 6:
        return k < count / 2 ? k : count - k;
    default:
        return ends[count % 5];
    }
}

static void put(void *numbers, int bits, int64_t k, int64_t value)
{
    if (bits == 32)
        ((int32_t *)numbers)[k] = (int32_t)value;
    else
        ((int64_t *)numbers)[k] = value;
}

static int64_t get(const void *numbers, int bits, int64_t k)
{
    return bits == 32 ? ((const int32_t *)numbers)[k] : ((const int64_t *)numbers)[k];
}

static void check_sort(const kiln__quick *quick, int bits, int kind, int64_t count)
{
    static int64_t expected[MOST];
    static unsigned char memory[8 * MOST + 2 * GUARD + 8];
    const size_t size = (size_t)bits / 8, end = GUARD + (size_t)count * size;

    memset(memory, 0xa5, sizeof memory);
    for (int64_t k = 0; k < count; k++) {
        expected[k] = number(kind, bits, k, count);
        put(memory + GUARD, bits, k, expected[k]);
    }
    qsort(expected, (size_t)count, sizeof *expected, by_value);
    quick->sort(memory + GUARD, count);
    for (int64_t k = 0; k < count; k++)
        if (get(memory + GUARD, bits, k) != expected[k])
            fail_msg("%d bits, kind %d, %d numbers: number %d", bits, kind, (int)count, (int)k);
    for (size_t k = 0; k < GUARD; k++)
        if (memory[k] != 0xa5 || memory[end + k] != 0xa5)
            fail_msg("%d bits, kind %d, %d numbers: memory beside them", bits, kind, (int)count);
}

/* ---- double ---------------------------------------------------------------------------------------------- */

static int by_real(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of any bits, subnormal ones beside others, infinities, few different ones, and in many places of one value. */
static double real(int kind, int64_t k, int64_t count)
{
    const double ends[] = {-INFINITY, INFINITY, 0x1p-1074, -0x1p-1074, -DBL_MAX};
    const int64_t bits = number(kind, 64, k, count);
    double any;

    memcpy(&any, &bits, sizeof any);
    switch (kind) {
    case 0:
        return isnan(any) || any == 0 ? INFINITY : any;
    case 1:
        return ends[draw() % 5];
    case 2:
        return (double)(draw() % 5) * 0x1p-1074;
    default:
        return (double)bits;
    }
}

static void check_reals(kiln__quick_sort sort, int kind, int64_t count)
{
    static double expected[MOST], got[MOST + 2];

    got[0] = got[count + 1] = 77;
    for (int64_t k = 0; k < count; k++)
        expected[k] = got[k + 1] = real(kind, k, count);
    qsort(expected, (size_t)count, sizeof *expected, by_real);
    sort(got + 1, count);
    for (int64_t k = 0; k < count; k++)
        if (memcmp(got + k + 1, expected + k, sizeof *got) != 0)
            fail_msg("kind %d, %d of double: number %d is %a, not %a", kind, (int)count, (int)k,
                     got[k + 1], expected[k]);
    assert_true(got[0] == 77 && got[count + 1] == 77);
}

/* A program may have said that subnormal numbers are zeros; while numbers are sorted they are not. */
static void test_quick__every_set_of_vectors_sorts_reals(void **unused)
{
    static const char *const targets[] = {"x86-64-v3", "x86-64-v4"};
    const char *const own = kiln__cpu_target();

    (void)unused;
    for (size_t t = 0; t < KILN_COUNT_OF(targets) && strcmp(targets[t], own) <= 0; t++) {
        const kiln__quick_sort sort = kiln__quick_reals_of(targets[t]);
        for (int round = 0; sort != NULL && round < 500; round++)
            check_reals(sort, round % 8, round < 300 ? round : (int64_t)(draw() % MOST));
#if defined(__x86_64__)
        const unsigned mode = _mm_getcsr(), zeros = mode | 0x8040;
        double few[] = {0x1p-1074, -0x1p-1070, 0x1p-1073, 0, -1},
               want[] = {-1, -0x1p-1070, 0, 0x1p-1074, 0x1p-1073};
        _mm_setcsr(zeros);
        if (sort != NULL)
            sort(few, 5);
        const unsigned left = _mm_getcsr();
        _mm_setcsr(mode);
        assert_int_equal(left & 0xffc0, zeros & 0xffc0);
        if (sort != NULL)
            assert_memory_equal(few, want, sizeof few);
#endif
    }
}

/* ---- parts ----------------------------------------------------------------------------------------------- */

/* Borders that rise, some of them equal, into a tree. */
static void plant(void *tree, int bits, const int64_t *borders, int64_t k, int64_t low,
                  int64_t high)
{
    const int64_t middle = (low + high) / 2;

    put(tree, bits, k, borders[middle]);
    if (high - low > 1) {
        plant(tree, bits, borders, 2 * k, low, middle);
        plant(tree, bits, borders, 2 * k + 1, middle + 1, high);
    }
}

static void check_classify(const kiln__quick *quick, int bits, int kind, int64_t count)
{
    static int64_t numbers[MOST];
    uint8_t parts[MOST + GUARD];
    int64_t borders[PARTS - 1], tree[PARTS] = {0};

    for (int64_t k = 0; k < count; k++)
        put(numbers, bits, k, number(kind, bits, k, count));
    for (int k = 0; k < PARTS - 1; k++)
        borders[k] = number(kind, bits, k, count);
    qsort(borders, PARTS - 1, sizeof *borders, by_value);
    plant(tree, bits, borders, 1, 0, PARTS - 1);
    memset(parts, 0xa5, sizeof parts);
    quick->classify(numbers, count, tree, parts);
    for (int64_t k = 0; k < count; k++) {
        int part = 0;
        while (part < PARTS - 1 && get(numbers, bits, k) > borders[part])
            part++;
        if (parts[k] != part)
            fail_msg("%d bits, kind %d, %d numbers: part %d, not %d", bits, kind, (int)count,
                     parts[k], part);
    }
    assert_int_equal(parts[count], 0xa5);
}

static void check_between(const kiln__quick *quick, int bits, int kind, int64_t count)
{
    enum { ROOM = 16 };
    static int64_t numbers[MOST], got[MOST + ROOM], expected[MOST];
    const int64_t ends[] = {number(kind, bits, 0, count), number(kind, bits, count / 2, count)};
    const int64_t low = ends[ends[1] < ends[0]], high = ends[ends[1] >= ends[0]];
    int64_t counts[KILN__QUICK_BETWEEN] = {1, 2, 0, 4}, want[KILN__QUICK_BETWEEN] = {1, 2, 0, 4};

    for (int64_t k = 0; k < count; k++) {
        const int64_t n = number(kind, bits, k, count);
        put(numbers, bits, k, n);
        want[0] += n < low;
        want[1] += n == low;
        want[3] += n == high && high > low;
        if (n > low && n < high)
            expected[want[2]++] = n;
    }
    put(got, bits, want[2] + ROOM, 77);
    quick->between(numbers, count, low, high, got, counts);
    assert_memory_equal(counts, want, sizeof want);
    for (int64_t k = 0; k < want[2]; k++)
        assert_int_equal(get(got, bits, k), expected[k]);
    assert_int_equal(get(got, bits, want[2] + ROOM), 77);
}

static void check_part(const kiln__quick *quick, int bits, int kind, int64_t count)
{
    enum { ROOM = 16 };
    static int64_t numbers[MOST], words[MOST], left[MOST + ROOM], right[MOST + ROOM];
    const int64_t border = number(kind, bits, count / 3, count);
    int64_t lefts = 0, rights = 0;

    for (int64_t k = 0; k < count; k++) {
        put(numbers, bits, k, number(kind, bits, k, count));
        put(words, bits, k, k);
        lefts += get(numbers, bits, k) <= border;
    }
    put(left, bits, lefts + ROOM, 77);
    put(right, bits, count - lefts + ROOM, 77);
    assert_int_equal(quick->part(numbers, words, count, border, left, right), lefts);
    lefts = 0;
    for (int64_t k = 0; k < count; k++)
        assert_int_equal(get(numbers, bits, k) <= border ? get(left, bits, lefts++)
                                                         : get(right, bits, rights++),
                         k);
    assert_int_equal(get(left, bits, lefts + ROOM), 77);
    assert_int_equal(get(right, bits, rights + ROOM), 77);
}

static void test_quick__every_set_of_vectors_sorts(void **unused)
{
    static const char *const targets[] = {"x86-64-v3", "x86-64-v4"};
    const char *const own = kiln__cpu_target();

    (void)unused;
    for (size_t t = 0; t < KILN_COUNT_OF(targets) && strcmp(targets[t], own) <= 0; t++)
        for (int bits = 32; bits <= 64; bits += 32) {
            kiln__quick quick;
            if (!kiln__quick_of(targets[t], bits, &quick))
                continue; /* another kind of processor */
            for (int64_t count = 0; count < 300; count++) {
                check_sort(&quick, bits, (int)(count % 8), count);
                check_sort(&quick, bits, 0, count);
            }
            for (int round = 0; round < 200; round++) {
                check_sort(&quick, bits, round % 8, (int64_t)(draw() % MOST));
                check_classify(&quick, bits, round % 8, (int64_t)(draw() % 200));
                check_between(&quick, bits, round % 8, 1 + (int64_t)(draw() % 200));
                check_part(&quick, bits, round % 8, 1 + (int64_t)(draw() % 200));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quick__every_set_of_vectors_sorts),
        cmocka_unit_test(test_quick__every_set_of_vectors_sorts_reals),
    };

    return cmocka_run_group_tests_name("test_quick", tests, NULL, NULL);
}
