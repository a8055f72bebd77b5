/*
 * test_elementwise_divide.c - integers divided in snippets.
 *
 * On the cpu device a division by 0, or of the least integer by -1, must not end the process: it gives
 * NumPy's results. On both devices other divisions are what C says, whatever stands around them. Expected
 * values come from plain C.
 */
#include <limits.h>
#include <string.h>

#include "test_env.h"

enum { SIDE = 9, COUNT_ALL = SIDE * SIDE };

static const int32_t SOME[SIDE] = {0, 1, -1, 2, -7, 100, 12345, INT_MAX, INT_MIN};

static int32_t quotient(int32_t a, int32_t b)
{
    return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static int32_t modulus(int32_t a, int32_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int32_t both(int32_t a, int32_t b)
{
    return quotient(a, b) ^ modulus(a, b);
}

static int32_t halves(int32_t a, int32_t b)
{
    return a / 2 + b % 5;
}

static int32_t chain(int32_t a, int32_t b)
{
    return modulus(quotient(a, b), 3) + (b / 4) * 2;
}

static int32_t first_is_least(int32_t a, int32_t b)
{
    (void)a;
    return quotient(INT_MIN, b);
}

static int32_t doubled(int32_t a, int32_t b)
{
    return (int32_t)((double)a / 4 + (double)b / 4);
}

static int32_t three(int32_t a, int32_t b)
{
    (void)a, (void)b;
    return 3;
}

static const struct {
    const char *op, *preamble;
    int32_t (*want)(int32_t a, int32_t b);
} CASES[] = {
    {"z = x / y", NULL, quotient},
    {"z = x % y", NULL, modulus},
    {"z = x/y ^ x%y", NULL, both},
    {"z = x; z /= y", NULL, quotient},
    {"int v = x; v %= y; z = v", NULL, modulus},
    {"int v = x, w = y; z = (v /= w)", NULL, quotient},
    {"long long v = x; v /= y == 0 ? 1 : 1; z = int(v) / (y)", NULL, quotient},
    {"z = x /* / 0 */ / y // % 0", NULL, quotient},
    {"z = x / y % 3 + y / 4 * 2", NULL, chain},
    {"z = x / 2 + y % 5", NULL, halves},
    {"z = (1 << 31) / y", NULL, first_is_least},
    {"z = by(x, y)", "__device__ int by(int a, int b) { return a / b; }", quotient},
    {"z = by(x, y)", "template <class T> __device__ T by(T a, T b) { T q = a; q /= b; return q; }",
     quotient},
    {"const float f = x; z = int(double(x) / 4.0 + y / 4.0)", NULL, doubled},
    {"int a[12 / 4]; switch (2) { case 8 / 4: z = sizeof a / sizeof(int); }", NULL, three},
    {"enum { N = 9 }; const int M = N; auto f = [](int k) { return k / M; }; z = f(27)", NULL, three},
    {"z = pick<7 / 2>()", "template <int N> __device__ int pick() { return N; }", three},
    {"struct bits { int b : 8; }; bits s; s.b = 9; int k = 3; z = s.b / k", NULL, three},
    {"own v = {9}; v /= 1.5f; v = v / 2; z = v.a",
     "struct own { int a; __device__ own operator/(int b) { return {a / b}; }\n"
     "  __device__ own &operator/=(float b) { a = int(a / b); return *this; } };",
     three},
    {"complex<float> v(18, 0), w(3, 0); v /= w; float16 h(2); z = int((v / h).real())", NULL, three},
    {"duo v = {9, 1}; v /= 3; z = int(v.x)",
     "struct duo { float x, y; template <class S> __device__ duo &operator/=(S s) {\n"
     "  x /= s; y /= s; return *this; } };",
     three},
    {"unsigned char a = 200, b = 66; z = a / b; static_assert(sizeof(a / b) == 4, \"\")", NULL,
     three},
};

static void test_elementwise_divide__integers_as_numpy_does(void **state)
{
    static const int64_t shape[] = {COUNT_ALL};
    static int32_t a[COUNT_ALL], b[COUNT_ALL], got[COUNT_ALL];
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;

    for (int k = 0; k < COUNT_ALL; k++) {
        a[k] = SOME[k / SIDE];
        b[k] = SOME[k % SIDE];
        if (t->cuda && (b[k] == 0 || b[k] == -1))
            b[k] = 3; /* CUDA's own results for these are not promised */
    }
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, a, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, shape, b, NULL, &y, &t->err));
    for (size_t c = 0; c < COUNT(CASES); c++) {
        kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
        kiln_elementwise *op = NULL;
        kiln_array *z = NULL;
        options.preamble = CASES[c].preamble;
        OK(t, kiln_elementwise_create(t->ctx, "int32 x, int32 y", "int32 z", CASES[c].op, &options,
                                      &op, &t->err));
        OK(t, kiln_call(op, &t->err, x, y, &z));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        for (int k = 0; k < COUNT_ALL; k++)
            CHECK(got[k] == CASES[c].want(a[k], b[k]), "%s: %d of %d and %d, not %d", CASES[c].op,
                  got[k], a[k], b[k], CASES[c].want(a[k], b[k]));
        kiln_array_release(z);
        kiln_elementwise_destroy(op);
    }
    kiln_array_release(x), kiln_array_release(y);
}

static void test_elementwise_divide__placeholders_and_reductions(void **state)
{
    static const int64_t shape[] = {4};
    static const int64_t wide[] = {INT64_MIN, 7, INT64_MIN, 9}, by[] = {-1, 0, 2, 3};
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_reduction *sum = NULL;
    kiln_array *x = NULL, *y = NULL, *z = NULL, *s = NULL;
    int64_t got[4], total = 0;

    if (t->cuda)
        skip(); /* not promised there */
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, shape, wide, NULL, &x, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT64, 1, shape, by, NULL, &y, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", "z = x / y + x % y", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, y, &z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    assert_true(got[0] == INT64_MIN && got[1] == 0 && got[2] == INT64_MIN / 2 && got[3] == 3);
    OK(t, kiln_reduction_create(t->ctx, "T x, T y", "T z", "x / y % 5", "a + b", "z = a / (a - a)", "0",
                                NULL, &sum, &t->err));
    OK(t, kiln_call_over(sum, KILN_ALL_AXES, &t->err, x, y, &s));
    OK(t, kiln_array_to_host(s, &total, sizeof total, NULL, &t->err));
    assert_true(total == 0);
    kiln_reduction_destroy(sum);
    kiln_elementwise_destroy(op);
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(z), kiln_array_release(s);
}

/* Errors stand where the user's text has them. */
static void test_elementwise_divide__errors_keep_their_columns(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;

    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, (const int64_t[]){4}, &x, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "int32 x, int32 y", "int32 z", "z = x / y % x + oops / y",
                                  NULL, &op, &t->err));
    FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x, x, &z), "op, line 1, column 17", "oops");
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise_divide__integers_as_numpy_does),
        TEST(test_elementwise_divide__placeholders_and_reductions),
        TEST(test_elementwise_divide__errors_keep_their_columns),
    };
    return test_env_main(argc, argv, "test_elementwise_divide", tests, COUNT(tests));
}
