/*
 * test_overlap.c - which layouts share bytes, which shapes go together: against plain loops that
 * mark every byte, and NumPy's rules written out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "array/internal.h"

#define MEMORY 600

typedef struct layout {
    int rank;
    int64_t shape[4], strides[4];
    size_t itemsize;
    int64_t at;
} layout;

static uint64_t seed = 42;

static int64_t below(int64_t bound)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

/* Mark every byte the layout touches; true when one was marked with `other` before. */
static bool mark(const layout *l, unsigned char *memory, unsigned char own, unsigned char other)
{
    bool met = false;
    int64_t size = 1;

    for (int axis = 0; axis < l->rank; axis++)
        size *= l->shape[axis];
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i, at = l->at;
        for (int axis = l->rank - 1; axis >= 0; axis--) {
            at += rest % l->shape[axis] * l->strides[axis];
            rest /= l->shape[axis];
        }
        for (size_t byte = 0; byte < l->itemsize; byte++) {
            assert_true(at >= 0 && at + (int64_t)byte < MEMORY);
            met |= memory[at + (int64_t)byte] == other;
            memory[at + (int64_t)byte] = own;
        }
    }
    return met;
}

/* A layout inside the memory; `grain` divides its strides and place. */
static layout random_layout(int64_t grain)
{
    static const size_t sizes[] = {1, 2, 4, 8};

    for (;;) {
        layout l = {.rank = (int)below(5), .itemsize = sizes[below(4)]};
        kiln__int128 low, high;
        for (int axis = 0; axis < l.rank; axis++) {
            l.shape[axis] = below(30) == 0 ? 0 : 1 + below(5);
            l.strides[axis] = (below(61) - 30) * grain;
        }
        kiln__strides_extent(l.rank, l.shape, l.strides, l.itemsize, &low, &high);
        if (high - low > MEMORY)
            continue;
        l.at = below(MEMORY - (int64_t)(high - low) + 1) - (int64_t)low;
        l.at -= (l.at + (int64_t)low) % grain;
        return l;
    }
}

static bool overlap(const layout *a, const layout *b)
{
    return kiln__strides_overlap(4096 + (uintptr_t)a->at, a->rank, a->shape, a->strides,
                                 a->itemsize, 4096 + (uintptr_t)b->at, b->rank, b->shape,
                                 b->strides, b->itemsize);
}

static void test_overlap__is_exact_for_small_layouts(void **state)
{
    int yes = 0, no_inside = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        int64_t grain = (int64_t)1 << below(4);
        layout a = random_layout(grain), b = random_layout(grain);
        unsigned char memory[MEMORY] = {0};
        bool expected;

        mark(&a, memory, 1, 0);
        expected = mark(&b, memory, 2, 1);
        if (overlap(&a, &b) != expected || overlap(&b, &a) != expected)
            fail_msg("round %d: the answer is not %d", round, expected);
        yes += expected;
        if (!expected) {
            kiln__int128 a_low, a_high, b_low, b_high;
            kiln__strides_extent(a.rank, a.shape, a.strides, a.itemsize, &a_low, &a_high);
            kiln__strides_extent(b.rank, b.shape, b.strides, b.itemsize, &b_low, &b_high);
            no_inside += a.at + a_high > b.at + b_low && b.at + b_high > a.at + a_low;
        }
    }
    /* Both answers occur often, "no" also where the bounds meet. */
    assert_true(yes > 3000 && no_inside > 1000);
}

/* Columns, halves, interleaved elements and fields of huge arrays: bounds meet, bytes do not. */
static void test_overlap__tells_interleaved_views_of_huge_arrays_apart(void **state)
{
    const int64_t n = INT64_C(1) << 20;
    const int64_t pairs[2] = {n, n / 2}, strides[2] = {8 * n, 16};
    const int64_t left[2] = {n, n / 2}, rows[2] = {8 * n, 8};
    const int64_t deep[4] = {n, 4, 8, 16}, deep_strides[4] = {4096, 1024, 64, 4};

    (void)state;
    /* x[:, 0::2] and x[:, 1::2] */
    assert_false(
        kiln__strides_overlap(0x10000, 2, pairs, strides, 8, 0x10008, 2, pairs, strides, 8));
    assert_true(
        kiln__strides_overlap(0x10000, 2, pairs, strides, 8, 0x10010, 2, pairs, strides, 8));
    assert_true(
        kiln__strides_overlap(0x10000, 2, pairs, strides, 8, 0x10004, 2, pairs, strides, 8));
    /* x[:, :n/2] and x[:, n/2:], then one column too many */
    assert_false(kiln__strides_overlap(0x10000, 2, left, rows, 8, 0x10000 + 4 * (uintptr_t)n, 2,
                                       left, rows, 8));
    assert_true(kiln__strides_overlap(0x10000, 2, left, rows, 8, 0x10000 + 4 * (uintptr_t)n - 8, 2,
                                      left, rows, 8));
    /* every other 512 bytes of 1024, then from the first gap on, then into it */
    assert_false(kiln__strides_overlap(0x10000, 4, deep, deep_strides, 4, 0x10200, 4, deep,
                                       deep_strides, 4));
    assert_true(kiln__strides_overlap(0x10000, 4, deep, deep_strides, 4, 0x101fc, 4, deep,
                                      deep_strides, 4));
}

/* Coprime strides on many axes make the search long: it must end, and may only err with "yes". */
static void test_overlap__ends_soon_with_yes_where_it_cannot_tell(void **state)
{
    int64_t shape[16], strides[16];
    const int64_t one = 1;
    int64_t prime[16] = {1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121,
                         1000133, 1000151, 1000159, 1000171, 1000183, 1000187, 1000193, 1000199};

    (void)state;
    for (int axis = 0; axis < 16; axis++) {
        shape[axis] = 3;
        strides[axis] = prime[axis] * 2;
    }
    for (uintptr_t at = 0; at < 2000; at++)
        (void)kiln__strides_overlap(0x10000, 16, shape, strides, 1, 0x10000 + 16000000 + at, 1,
                                    &one, &one, 1);
    /* Even and odd addresses never meet, which a divisor shows whatever the size. */
    assert_false(kiln__strides_overlap(0x10000, 16, shape, strides, 1, 0x10000 + 16000001, 1, &one,
                                       &one, 1));
}

static void test_overlap__self_overlap_is_never_missed(void **state)
{
    int guessed = 0, sure = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        layout l = random_layout((int64_t)1 << below(4));
        unsigned char memory[MEMORY] = {0};
        int64_t size = 1, touched = 0;
        bool expected, got;

        for (int axis = 0; axis < l.rank; axis++)
            size *= l.shape[axis];
        mark(&l, memory, 1, 2);
        for (int at = 0; at < MEMORY; at++)
            touched += memory[at];
        expected = touched != size * (int64_t)l.itemsize;
        got = kiln__strides_self_overlap(l.rank, l.shape, l.strides, l.itemsize);
        if (expected && !got)
            fail_msg("round %d: two indices name one byte", round);
        guessed += got && !expected;
        sure += !got;
    }
    assert_true(sure > 3000 && guessed < 3000);
}

/* ---- shapes ---- */

static void check_broadcast(int a_rank, const int64_t *a, int b_rank, const int64_t *b, int rank,
                            const int64_t *expected)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        int got_rank = swapped ? b_rank : a_rank;
        int64_t got[KILN_RANK_MAX];
        bool ok;

        memcpy(got, swapped ? b : a, (size_t)got_rank * sizeof got[0]);
        ok = kiln__shape_broadcast(&got_rank, got, swapped ? a_rank : b_rank, swapped ? a : b);
        assert_int_equal(ok, rank >= 0);
        if (!ok)
            continue;
        assert_int_equal(got_rank, rank);
        assert_memory_equal(got, expected, (size_t)rank * sizeof got[0]);
    }
}

/* python3 -c "import numpy; print(numpy.broadcast_shapes(...))"; -1: ValueError */
static void test_overlap__shapes_broadcast_as_numpys_do(void **state)
{
#define S(...) (const int64_t[]){__VA_ARGS__}
    (void)state;
    check_broadcast(0, S(0), 0, S(0), 0, S(0));
    check_broadcast(0, S(0), 2, S(3, 4), 2, S(3, 4));
    check_broadcast(2, S(3, 1), 1, S(4), 2, S(3, 4));
    check_broadcast(3, S(8, 1, 6), 2, S(7, 1), 3, S(8, 7, 6));
    check_broadcast(1, S(1), 1, S(0), 1, S(0));
    check_broadcast(2, S(0, 1), 1, S(5), 2, S(0, 5));
    check_broadcast(1, S(0), 1, S(2), -1, NULL);
    check_broadcast(1, S(3), 1, S(4), -1, NULL);
    check_broadcast(2, S(2, 1), 3, S(8, 4, 3), -1, NULL);
#undef S
}

static void test_overlap__a_shape_prints_as_a_tuple(void **state)
{
    const int64_t shape[3] = {3, 0, INT64_MAX};
    char text[64], small[5];

    (void)state;
    assert_string_equal(kiln__shape_text(0, NULL, text, sizeof text), "()");
    assert_string_equal(kiln__shape_text(1, shape, text, sizeof text), "(3,)");
    assert_string_equal(kiln__shape_text(3, shape, text, sizeof text),
                        "(3, 0, 9223372036854775807)");
    assert_string_equal(kiln__shape_text(3, shape, small, sizeof small), "(3, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlap__is_exact_for_small_layouts),
        cmocka_unit_test(test_overlap__tells_interleaved_views_of_huge_arrays_apart),
        cmocka_unit_test(test_overlap__ends_soon_with_yes_where_it_cannot_tell),
        cmocka_unit_test(test_overlap__self_overlap_is_never_missed),
        cmocka_unit_test(test_overlap__shapes_broadcast_as_numpys_do),
        cmocka_unit_test(test_overlap__a_shape_prints_as_a_tuple),
    };
    return cmocka_run_group_tests_name("test_overlap", tests, NULL, NULL);
}
