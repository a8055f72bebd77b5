/*
 * test_divide.c - division by magic numbers: src/codegen/divide.c makes them, the kernels' half in
 * templates/prelude/divide.h uses them. Expected values come from C's own `/`.
 */
#include <stdlib.h>

#include "codegen/codegen.h"
#include "test_env.h"

enum { DIVISORS = 4096, CALLS = 1 << 16 };

/* A dividend's worst cases lie beside multiples of the divisor and at the end of the range. */
static uint64_t dividend(test_env *t, uint64_t d, uint64_t most, int nth)
{
    const uint64_t multiple = most / d * d;
    switch (nth) {
    case 0:
        return 0;
    case 1:
        return most;
    case 2:
        return multiple;
    case 3:
        return multiple - 1;
    case 4:
        return d - 1 < most ? d - 1 : most;
    default:
        return test_random_below(t, most / d + 1) * d - (test_random_below(t, 2) != 0 && nth > 5);
    }
}

/* Small divisors, powers of two and their neighbours, the largest, and any. */
static uint64_t divisor(test_env *t, uint64_t most, int nth)
{
    if (nth < 2000)
        return (uint64_t)nth + 1;
    if (nth < 2200) {
        const uint64_t power = 1ull << (nth - 2000) / 3 % 63;
        const uint64_t d = power + (uint64_t)(nth - 2000) % 3 - 1;
        return d == 0 || d > most ? 1 : d;
    }
    if (nth < 2300)
        return most - (uint64_t)(nth - 2200);
    return 1 + test_random_below(t, most >> test_random_below(t, 31));
}

/* What kiln__divisor32 computes, in C. */
static uint32_t quotient32(const uint32_t words[4], uint32_t n)
{
    return (uint32_t)(((uint64_t)words[0] * (uint32_t)(2 * n)) >> 32) >> words[1];
}

/* What kiln__divisor64 computes, in C: the high half of the product from four smaller ones. */
static uint64_t quotient64(const uint64_t words[4], uint64_t n)
{
    const uint64_t a = words[0], b = 2 * n;
    const uint64_t low = (a & 0xffffffff) * (b & 0xffffffff);
    const uint64_t mid = (a >> 32) * (b & 0xffffffff) + (low >> 32);
    const uint64_t cross = (a & 0xffffffff) * (b >> 32) + (mid & 0xffffffff);
    return ((a >> 32) * (b >> 32) + (mid >> 32) + (cross >> 32)) >> words[1];
}

static void test_divide__is_exact_in_32_bits(void **state)
{
    test_env *t = *state;
    for (int k = 0; k < DIVISORS; k++) {
        uint32_t words[4];
        const uint32_t d = (uint32_t)divisor(t, INT32_MAX, k);
        kiln__divisor32_make(d, words);
        CHECK(words[2] == d, "the divisor %u is kept as %u", d, words[2]);
        for (int c = 0; c < 64; c++) {
            const uint64_t wanted = dividend(t, d, INT32_MAX, c);
            const uint32_t n = wanted > INT32_MAX ? 0 : (uint32_t)wanted;
            CHECK(quotient32(words, n) == n / d, "%u / %u gave %u", n, d, quotient32(words, n));
        }
    }
}

static void test_divide__is_exact_in_64_bits(void **state)
{
    test_env *t = *state;
    for (int k = 0; k < DIVISORS; k++) {
        uint64_t words[4];
        const uint64_t d = divisor(t, INT64_MAX, k);
        kiln__divisor64_make(d, words);
        CHECK(words[2] == d, "the divisor %llu is kept", (unsigned long long)d);
        for (int c = 0; c < 64; c++) {
            const uint64_t wanted = dividend(t, d, INT64_MAX, c);
            const uint64_t n = wanted > INT64_MAX ? 0 : wanted;
            CHECK(quotient64(words, n) == n / d, "%llu / %llu gave %llu", (unsigned long long)n,
                  (unsigned long long)d, (unsigned long long)quotient64(words, n));
        }
    }
}

/* ---- the kernels' half ----------------------------------------------------------------------- */

static kiln_array *array_of(test_env *t, kiln_dtype dtype, const void *data)
{
    const int64_t shape = CALLS;
    kiln_array *array = NULL;
    OK(t, kiln_array_from_host(t->ctx, dtype, 1, &shape, data, NULL, &array, &t->err));
    return array;
}

/* q, r = divmod(n, d) on the device; all arrays hold CALLS elements of `dtype`. */
static void run(test_env *t, kiln_dtype dtype, const char *op, void *const host[4], void *q,
                void *r)
{
    const size_t bytes = CALLS * kiln_dtype_size(dtype);
    kiln_array *in[4], *out[2] = {NULL, NULL};
    kiln_elementwise *kernel = NULL;

    for (int k = 0; k < 4; k++)
        in[k] = array_of(t, dtype, host[k]);
    OK(t, kiln_elementwise_create(t->ctx, "T n, T magic, T shift, T d", "T q, T r", op, NULL,
                                  &kernel, &t->err));
    OK(t, kiln_call(kernel, &t->err, in[0], in[1], in[2], in[3], &out[0], &out[1]));
    OK(t, kiln_array_to_host(out[0], q, bytes, NULL, &t->err));
    OK(t, kiln_array_to_host(out[1], r, bytes, NULL, &t->err));
    for (int k = 0; k < 4; k++)
        kiln_array_release(in[k]);
    kiln_array_release(out[0]);
    kiln_array_release(out[1]);
    kiln_elementwise_destroy(kernel);
}

static void test_divide__kernels_divide_in_32_bits(void **state)
{
    test_env *t = *state;
    static uint32_t n[CALLS], magic[CALLS], shift[CALLS], d[CALLS], q[CALLS], r[CALLS];
    for (int k = 0; k < CALLS; k++) {
        uint32_t words[4];
        d[k] = (uint32_t)divisor(t, INT32_MAX, k % DIVISORS);
        kiln__divisor32_make(d[k], words);
        magic[k] = words[0];
        shift[k] = words[1];
        const uint64_t wanted = dividend(t, d[k], INT32_MAX, k / DIVISORS);
        n[k] = wanted > INT32_MAX ? 0 : (uint32_t)wanted;
    }
    run(t, KILN_UINT32,
        "kiln__divisor32 v = {magic, shift, d, 0}; int rest; q = v.divmod((int)n, &rest); r = rest",
        (void *const[]){n, magic, shift, d}, q, r);
    for (int k = 0; k < CALLS; k++)
        CHECK(q[k] == n[k] / d[k] && r[k] == n[k] % d[k], "%u / %u gave %u, rest %u", n[k], d[k],
              q[k], r[k]);
}

static void test_divide__kernels_divide_in_64_bits(void **state)
{
    test_env *t = *state;
    static uint64_t n[CALLS], magic[CALLS], shift[CALLS], d[CALLS], q[CALLS], r[CALLS];
    for (int k = 0; k < CALLS; k++) {
        uint64_t words[4];
        d[k] = divisor(t, INT64_MAX, k % DIVISORS);
        kiln__divisor64_make(d[k], words);
        magic[k] = words[0];
        shift[k] = words[1];
        const uint64_t wanted = dividend(t, d[k], INT64_MAX, k / DIVISORS);
        n[k] = wanted > INT64_MAX ? 0 : wanted;
    }
    run(t, KILN_UINT64,
        "kiln__divisor64 v = {magic, shift, d, 0}; long long rest; "
        "q = v.divmod((long long)n, &rest); r = rest",
        (void *const[]){n, magic, shift, d}, q, r);
    for (int k = 0; k < CALLS; k++)
        CHECK(q[k] == n[k] / d[k] && r[k] == n[k] % d[k], "%llu / %llu gave %llu",
              (unsigned long long)n[k], (unsigned long long)d[k], (unsigned long long)q[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_divide__is_exact_in_32_bits),
        TEST(test_divide__is_exact_in_64_bits),
        TEST(test_divide__kernels_divide_in_32_bits),
        TEST(test_divide__kernels_divide_in_64_bits),
    };
    return test_env_main(argc, argv, "test_divide", tests, COUNT(tests));
}
