/*
 * test_elementwise_offsets.c - elements around 2^31 and 2^32 bytes from an array's first one.
 *
 * An offset that passes through 32 bits somewhere lands elsewhere in the array, so each case looks
 * at the elements within 1024 bytes of both marks, at both ends, and at those places that the low
 * 32 bits of a far offset would name. Needs up to 14 GiB: GPUs only, and only with room for it.
 */
#include <stdio.h>
#include <string.h>

#include "test_env.h"

#define MARK_31 (INT64_C(1) << 31)
#define MARK_32 (INT64_C(1) << 32)

enum { AROUND = 1024 };

static void need_memory(test_env *t, int64_t bytes)
{
    if (!t->cuda || kiln_context_device(t->ctx)->memory_bytes < (size_t)bytes + (1u << 30))
        skip();
}

static kiln_array *fresh(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *a = NULL;

    OK(t, kiln_array_empty(t->ctx, dtype, rank, shape, &a, &t->err));
    return a;
}

/* The bytes of `whole` (1-D) from `low` to `high`, to host memory. */
static void fetch(test_env *t, const kiln_array *whole, int64_t low, int64_t high, void *out,
                  size_t room)
{
    kiln_array *part = NULL;

    OK(t, kiln_array_slice(whole, 0, low, high, 1, &part, &t->err));
    OK(t, kiln_array_to_host(part, out, room, NULL, &t->err));
    kiln_array_release(part);
}

/* What element k of every array of this file holds: a mix of all of its bits, below 200. */
static unsigned mix(uint64_t k)
{
    return (unsigned)((k ^ (k >> 13) ^ (k >> 29) ^ (k >> 32) * 7u) % 100u);
}

static const char *const mix_snippet =
    "unsigned long long k = i; z = T((k ^ (k >> 13) ^ (k >> 29) ^ (k >> 32) * 7u) % 100u)";

/* 1-byte elements: the offset is the index. */
static void test_elementwise__linear_bytes_beyond_2_32(void **state)
{
    static const int64_t shape[] = {MARK_32 + 5000};
    static const int64_t marks[] = {AROUND, MARK_31, MARK_32, MARK_32 + 5000 - AROUND};
    test_env *t = *state;
    kiln_elementwise *fill = NULL, *op = NULL;
    kiln_array *x, *z;

    need_memory(t, 2 * shape[0]);
    x = fresh(t, KILN_UINT8, 1, shape);
    z = fresh(t, KILN_UINT8, 1, shape);
    OK(t, kiln_elementwise_create(t->ctx, "", "T z", mix_snippet, NULL, &fill, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + T(3)", NULL, &op, &t->err));
    OK(t, kiln_call(fill, &t->err, x));
    OK(t, kiln_call(op, &t->err, x, z));
    for (size_t m = 0; m < COUNT(marks); m++) {
        unsigned char got[2 * AROUND];

        fetch(t, z, marks[m] - AROUND, marks[m] + AROUND, got, sizeof got);
        for (int64_t k = 0; k < 2 * AROUND; k++)
            CHECK(got[k] == mix((uint64_t)(marks[m] - AROUND + k)) + 3, "byte %lld: %u",
                  (long long)(marks[m] - AROUND + k), got[k]);
    }
    kiln_elementwise_destroy(fill);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
}

typedef struct far_case {
    const char *name;
    int64_t shape[2];
    bool transposed;  /* x is seen through reversed axes */
    int64_t step;     /* on x's last axis */
    int64_t extent_y; /* of y's last axis: 1 broadcasts */
} far_case;

/* x and z as uint16; x's storage is a little larger than 2^31 or 2^32 bytes. */
static const far_case far_cases[] = {
    {"rows just over 2^31 bytes", {32768, 32784}, false, 1, 32784},
    {"a column broadcast just over 2^31 bytes", {32784, 32768}, false, 1, 1},
    {"transposed, just over 2^31 bytes", {32784, 32800}, true, 1, 1},
    {"every second, just over 2^32 bytes", {32784, 32784}, false, 2, 32784},
    {"transposed, just over 2^32 bytes", {46352, 46368}, true, 1, 1},
    {"just under 2^31 bytes", {32768, 32752}, false, 1, 1},
};

static uint16_t far_want(const far_case *c, int64_t row, int64_t column)
{
    int64_t k = c->transposed ? column * c->shape[0] + row : (row * c->shape[1] + column) * c->step;
    int64_t y = c->extent_y == 1 ? row : column;

    return (uint16_t)(mix((uint64_t)k) * 3 + mix((uint64_t)y));
}

/* Compare z around one linear position. */
static void check_around(test_env *t, const far_case *c, const kiln_array *flat, int64_t at)
{
    uint16_t got[AROUND];
    int64_t size = c->shape[0] * c->shape[1];
    int64_t low = at - AROUND / 2 < 0 ? 0 : at - AROUND / 2;
    int64_t high = at + AROUND / 2 > size ? size : at + AROUND / 2;

    if (low >= high)
        return;
    fetch(t, flat, low, high, got, sizeof got);
    for (int64_t k = low; k < high; k++)
        CHECK(got[k - low] == far_want(c, k / c->shape[1], k % c->shape[1]),
              "%s: element %lld: %u, not %u", c->name, (long long)k, got[k - low],
              far_want(c, k / c->shape[1], k % c->shape[1]));
}

static void check_far(test_env *t, const far_case *c, kiln_elementwise *fill, kiln_elementwise *op)
{
    int64_t stored[] = {c->shape[c->transposed], c->shape[!c->transposed] * c->step};
    int64_t size = c->shape[0] * c->shape[1], stored_size = stored[0] * stored[1];
    int64_t y_length = c->extent_y == 1 ? c->shape[0] : c->shape[1];
    int64_t y_shape[] = {c->extent_y == 1 ? c->shape[0] : 1, c->extent_y};
    kiln_array *base = fresh(t, KILN_UINT16, 2, stored), *z = fresh(t, KILN_UINT16, 2, c->shape);
    kiln_array *y = fresh(t, KILN_UINT16, 1, &y_length), *x = NULL, *flat = NULL, *y2 = NULL;

    OK(t, kiln_call(fill, &t->err, base));
    OK(t, kiln_call(fill, &t->err, y));
    OK(t, kiln_array_reshape(y, 2, y_shape, &y2, &t->err));
    if (c->transposed)
        OK(t, kiln_array_transpose(base, NULL, &x, &t->err));
    else
        OK(t, kiln_array_slice(base, 1, KILN_SLICE_OPEN, KILN_SLICE_OPEN, c->step, &x, &t->err));
    OK(t, kiln_call(op, &t->err, x, y2, z));
    OK(t, kiln_array_reshape(z, 1, &size, &flat, &t->err));
    check_around(t, c, flat, 0);
    check_around(t, c, flat, size);
    check_around(t, c, flat, MARK_31 / 2); /* of z itself */
    check_around(t, c, flat, MARK_32 / 2);
    check_around(t, c, flat, (stored_size - MARK_31 / 2) % size); /* where a wrapped x would end */
    for (int64_t k = 1; k < 8; k++)
        check_around(t, c, flat, size / 8 * k + 17);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(y2);
    kiln_array_release(z);
    kiln_array_release(flat);
    kiln_array_release(base);
}

static void test_elementwise__strided_offsets_around_2_31_and_2_32(void **state)
{
    test_env *t = *state;
    kiln_elementwise *fill = NULL, *op = NULL;

    need_memory(t, 3 * MARK_32);
    OK(t, kiln_elementwise_create(t->ctx, "", "T z", mix_snippet, NULL, &fill, &t->err));
    OK(t,
       kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x * T(3) + y", NULL, &op, &t->err));
    for (size_t c = 0; c < COUNT(far_cases); c++)
        check_far(t, &far_cases[c], fill, op);
    kiln_elementwise_destroy(fill);
    kiln_elementwise_destroy(op);
}

/* A raw array indexed far away, and an index beyond 32 bits. */
static void test_elementwise__raw_indices_beyond_2_32(void **state)
{
    static const int64_t shape[] = {MARK_32 + 4096}, few[] = {4};
    static const int64_t at[] = {MARK_31 - 1, MARK_31, MARK_32 - 1, MARK_32 + 1000};
    test_env *t = *state;
    kiln_elementwise *fill = NULL, *pick = NULL;
    kiln_array *x, *where = NULL, *z = NULL;
    unsigned char got[4];

    need_memory(t, shape[0]);
    x = fresh(t, KILN_UINT8, 1, shape);
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, few, at, NULL, &where, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "", "T z", mix_snippet, NULL, &fill, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "int64 k, raw T x", "T z", "z = x[k]", NULL, &pick,
                                  &t->err));
    OK(t, kiln_call(fill, &t->err, x));
    OK(t, kiln_call(pick, &t->err, where, x, &z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (size_t k = 0; k < COUNT(at); k++)
        CHECK(got[k] == mix((uint64_t)at[k]), "element %lld: %u", (long long)at[k], got[k]);
    kiln_elementwise_destroy(fill);
    kiln_elementwise_destroy(pick);
    kiln_array_release(x);
    kiln_array_release(where);
    kiln_array_release(z);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__linear_bytes_beyond_2_32),
        TEST(test_elementwise__strided_offsets_around_2_31_and_2_32),
        TEST(test_elementwise__raw_indices_beyond_2_32),
    };

    if (argc > 1 && strcmp(argv[1], "cpu") == 0) {
        printf("SKIP: offsets beyond 2^32 bytes are for GPUs, which have the memory\n");
        return TEST_EXIT_SKIP;
    }
    return test_env_main(argc, argv, "test_elementwise_offsets", tests, COUNT(tests));
}
