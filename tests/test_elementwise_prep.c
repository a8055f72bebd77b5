/*
 * test_elementwise_prep.c - variables of loop_prep that `op` changes.
 *
 * As in CuPy, where an element is a thread: what one element does to them, no other sees. What
 * after_loop gathers is a thread's. Expected values come from plain loops over the elements. Arrays are
 * of odd and even sizes, contiguous, reversed and transposed, so that threads have several elements.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "test_env.h"

enum { ROWS = 67, COLUMNS = 130, COUNT_ALL = ROWS * COLUMNS };

/* ---- a window function in the manner of cuSignal's ------------------------------------------- */

static double parzen(int64_t k, int64_t size)
{
    const double edge = floor(0.25 * (double)(size - 1)) + (size % 2 == 0 ? 0.5 : 0);
    const double n = fabs((double)k - 0.5 * (double)(size - 1)), t = n * 2 / (double)size;
    return n <= edge ? 1 - 6 * t * t + 6 * t * t * t : 2 * (1 - t) * (1 - t) * (1 - t);
}

static void test_elementwise_prep__a_parzen_window_of_even_and_odd_size(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 51, 52, 4099, 4100};
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.loop_prep = "const double start {-0.5 * (_ind.size() - 1)};\n"
                        "const bool odd {(_ind.size() & 1) != 0};\n"
                        "double s1 {floor(0.25 * (_ind.size() - 1))};";
    OK(t, kiln_elementwise_create(t->ctx, "float64 scale", "float64 w",
                                  "if (!odd) { s1 += 0.5; }\n"
                                  "const double n = abs(i + start), r = n * scale;\n"
                                  "if (n <= s1) w = 1 - 6 * r * r + 6 * r * r * r;\n"
                                  "else w = 2 * (1 - r) * (1 - r) * (1 - r);",
                                  &options, &op, &t->err));
    for (size_t s = 0; s < COUNT(sizes); s++) {
        double *got = malloc((size_t)sizes[s] * sizeof *got);
        kiln_array *w = NULL;
        assert_non_null(got);
        OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT64, 1, &sizes[s], &w, &t->err));
        OK(t, kiln_call(op, &t->err, 2.0 / (double)sizes[s], w));
        OK(t, kiln_array_to_host(w, got, (size_t)sizes[s] * sizeof *got, NULL, &t->err));
        for (int64_t k = 0; k < sizes[s]; k++)
            CHECK(fabs(got[k] - parzen(k, sizes[s])) < 1e-14, "element %lld of %lld: %.17g",
                  (long long)k, (long long)sizes[s], got[k]);
        kiln_array_release(w);
        free(got);
    }
    kiln_elementwise_destroy(op);
}

/* ---- every way to change a variable ---------------------------------------------------------- */

static int32_t plus_five(int32_t x) { return x + 5; }
static int32_t plus_six(int32_t x) { return x + 6; }
static int32_t twice_plus_one(int32_t x) { return 2 * x + 1; }

/* z of every element is what one thread alone would make of x. */
static const struct {
    const char *prep, *op, *preamble;
    int32_t (*want)(int32_t x);
} CASES[] = {
    {"int v = 4;", "z = x + ++v", NULL, plus_five},
    {"int v = 5;", "z = x + v++", NULL, plus_five},
    {"int u = 1, v = 4, *p = &u;", "v += *p; z = x + v", NULL, plus_five},
    {"int v {}", "v = v + 5; z = x + v", NULL, plus_five},
    {"int v[2] = {2, 3};", "int t = v[0] + v[1]; v[1] = 9; z = x + t", NULL, plus_five},
    {"struct pair {int a, b;}; pair v = {2, 3};", "int t = v.a + v.b; v.a = 7; z = x + t", NULL,
     plus_five},
    {"long long v(4);", "int *no = 0; auto *p = &v; (void)no; *p += 1; z = x + int(v)", NULL,
     plus_five},
    {"int v = 4;", "auto &r = v; r += 1; z = x + v", NULL, plus_five},
    {"int v = 4;", "int &r {v}; r += 1; z = x + v", NULL, plus_five},
    {"int v = 4;", "bump(v); z = x + v", "__device__ void bump(int &v) { v++; }", plus_five},
    {"int v = 4;", "BUMP(v); z = x + v", "#define BUMP(a) ((a) += 1)", plus_five},
    {"int v = 4;", "BUMP; z = x + v", "#define BUMP v += 1", plus_five},
    {"int v = 4;", "(v) += 1; z = x + v", NULL, plus_five},
    {"const int v = 5; int u(6);", "int t = u; u = v; z = x + t", NULL, plus_six},
    {"const int one[] = {1, 2}; const int *v = one;", "v++; z = 2 * x + v[-1]", NULL,
     twice_plus_one},
    {"complex<float> v(2, 3);", "const float t = v.real() + v.imag(); v *= 2; z = x + int(t)", NULL,
     plus_five},
    {"int v = 4;", "auto f = [&] { v++; }; f(); if (x >= 0) { z = x + v; return; } z = x + v", NULL,
     plus_five},
};

static void check_case(test_env *t, size_t c, kiln_array *x, kiln_array *z, const int32_t *in,
                       const char *layout)
{
    static int32_t got[COUNT_ALL];
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.loop_prep = CASES[c].prep;
    options.preamble = CASES[c].preamble;
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "int32 z", CASES[c].op, &options, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (size_t k = 0; k < COUNT_ALL; k++)
        CHECK(got[k] == CASES[c].want(in[k]), "%s: %s, %s, element %zu: %d of %d", CASES[c].prep,
              CASES[c].op, layout, k, got[k], in[k]);
    kiln_elementwise_destroy(op);
}

static void test_elementwise_prep__every_element_has_its_own(void **state)
{
    static const int64_t shape[] = {ROWS, COLUMNS}, turned[] = {COLUMNS, ROWS};
    static int32_t in[COUNT_ALL], across[COUNT_ALL];
    test_env *t = *state;
    kiln_array *x = NULL, *z = NULL, *y = NULL, *back = NULL;

    for (int k = 0; k < COUNT_ALL; k++)
        in[k] = k - 1000;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            across[r * COLUMNS + c] = in[c * ROWS + r];
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, shape, in, NULL, &x, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 2, shape, &z, &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 2, turned, in, NULL, &back, &t->err));
    OK(t, kiln_array_transpose(back, NULL, &y, &t->err));
    for (size_t c = 0; c < COUNT(CASES); c++) {
        check_case(t, c, x, z, in, "contiguous");
        if (c % 4 == 0)
            check_case(t, c, y, z, across, "transposed");
    }
    kiln_array_release(x), kiln_array_release(y), kiln_array_release(z);
    kiln_array_release(back);
}

/* ---- what stays a thread's ------------------------------------------------------------------- */

static void test_elementwise_prep__what_after_loop_mentions_is_gathered(void **state)
{
    static const int64_t size = 100003;
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL, *total = NULL;
    int32_t *got = malloc((size_t)size * sizeof *got), *in = malloc((size_t)size * sizeof *in);
    int32_t want = 0, sum = 0;

    assert_non_null(got);
    assert_non_null(in);
    for (int k = 0; k < size; k++) {
        in[k] = k % 7;
        want += in[k] == 3;
    }
    options.loop_prep = "int threes = 0, fresh = 1;";
    options.after_loop = "if (threes != 0) atomicAdd(&total[0], threes);";
    OK(t, kiln_array_from_host(t->ctx, KILN_INT32, 1, &size, in, NULL, &x, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, &size, &z, &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, (const int64_t[]){1}, &total, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "int32 z, raw int32 total",
                                  "threes += x == 3; fresh += x; z = fresh", &options, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, z, total));
    OK(t, kiln_array_to_host(z, got, (size_t)size * sizeof *got, NULL, &t->err));
    OK(t, kiln_array_to_host(total, &sum, sizeof sum, NULL, &t->err));
    CHECK(sum == want, "%d threes, not %d", sum, want);
    for (int k = 0; k < size; k++)
        CHECK(got[k] == in[k] + 1, "element %d: %d of %d", k, got[k], in[k]);
    kiln_elementwise_destroy(op);
    kiln_array_release(x), kiln_array_release(z), kiln_array_release(total);
    free(got);
    free(in);
}

/* What is copied, by the definition alone. */
static void test_elementwise_prep__what_is_copied(void **state)
{
    static const struct {
        const char *prep, *op, *after, *own;
    } rows[] = {
        {"double a = 1, b {2}, c(3);", "z = a; b++; c *= 2", "", ", b, c"},
        {"const double a = 1; constexpr int b = 2;", "z = f(a) + b", "", ""},
        {"double a = 1;", "z = a * x + (a == 1) - a", "", ""},
        {"double a = 1; int n = 0;", "a += x; n++; z = a", "g(&n);", ", a"},
        {"float *const p = q; const float *r = q;", "p[0] = 1; r = p; z = *r", "", ", r"},
        {"auto &p = q; T &&s = w;", "p = 1; s = 2; z = p", "", ""},
        {"static int a = 0; __shared__ float b[4];", "a++; b[0] = 1; z = a", "", ""},
        {"std::pair<int, float> a(1, 2), b;", "a.first = 2; b.swap(a); z = 1", "", ", a, b"},
        {"for (int k = 0; k < 4; k++) { int a = k; }", "int a = 1; a++; z = a", "", ""},
        {"int a = 0; { int b = 1; }", "int b = 1; b++; z = a", "", ""},
        {"int a = 0;", "w.a = 1; z = w.a", "", ""},
    };

    (void)state;
    for (size_t r = 0; r < COUNT(rows); r++) {
        const kiln__definition_request request = {
            .in = "T x", .out = "T z",
            .snippet = {[KILN__SNIPPET_LOOP_PREP] = rows[r].prep, [KILN__SNIPPET_OP] = rows[r].op,
                        [KILN__SNIPPET_AFTER_LOOP] = rows[r].after}};
        kiln__definition *def = NULL;
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        CHECK(strcmp(def->copied, rows[r].own) == 0, "%s / %s: \"%s\"", rows[r].prep, rows[r].op,
              def->copied);
        kiln__definition_destroy(def);
    }
}

/* A thread's number decides where an element begins: no two elements have the same. */
static void test_elementwise_prep__threads_with_numbers_have_one_element(void **state)
{
    enum { SIZE = 10007 };
    static const int64_t size = SIZE;
    static int64_t got[SIZE];
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;
    kiln_array *z = NULL;

    if (!t->cuda)
        skip(); /* there are no thread numbers */
    options.loop_prep = "long long s = blockIdx.x * (long long)blockDim.x + threadIdx.x;";
    OK(t, kiln_elementwise_create(t->ctx, "", "int64 z", "s = 3 * s + 1; z = s", &options, &op,
                                  &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT64, 1, &size, &z, &t->err));
    OK(t, kiln_call(op, &t->err, z));
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int k = 0; k < SIZE; k++)
        CHECK(got[k] == 3 * k + 1, "element %d: %lld", k, (long long)got[k]);
    kiln_elementwise_destroy(op);
    kiln_array_release(z);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise_prep__a_parzen_window_of_even_and_odd_size),
        TEST(test_elementwise_prep__every_element_has_its_own),
        TEST(test_elementwise_prep__what_after_loop_mentions_is_gathered),
        TEST(test_elementwise_prep__what_is_copied),
        TEST(test_elementwise_prep__threads_with_numbers_have_one_element),
    };
    return test_env_main(argc, argv, "test_elementwise_prep", tests, COUNT(tests));
}
