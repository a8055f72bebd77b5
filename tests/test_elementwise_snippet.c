/*
 * test_elementwise_snippet.c - what a snippet may say and see.
 *
 * `snippet_cases` holds definitions over one float32 input and one output, each with the C
 * function that it means; the tests after it need more operands or other options.
 */
#include <math.h>
#include <string.h>

#include "oracle/host.h"

/* ---- one input, one output ---- */

#define WANT(name, expression)                                                                     \
    static void name(const host_value *in, host_value *out)                                        \
    {                                                                                              \
        long double x = in[0].re;                                                                  \
        (void)x;                                                                                   \
        out[0] = host_real(expression);                                                            \
    }

WANT(plus_one, x + 1)
WANT(twice, 2 * x)
WANT(exponential, expl(-x))
WANT(area, x *x * 3.14159265358979323846L)
WANT(even_only, fmodl(x, 2) == 0 ? x : -1)
WANT(small_first, x < 3 ? 0 : x)
WANT(sum_to, x *(x + 1) / 2)
WANT(larger_of_two, x > 2 ? x : 2)
WANT(seven, 7)
WANT(square, x *x)
WANT(size_one, 4)
WANT(identity, x)

typedef struct snippet_case {
    const char *name;
    const char *in, *op, *preamble;
    const char *option;
    host_function want;
    uint64_t ulps;
    bool everywhere; /* also worth a run in other layouts than linear */
} snippet_case;

static const snippet_case snippet_cases[] = {
    {"no semicolon", "T x", "z = x + 1", NULL, NULL, plus_one, 0, false},
    {"a semicolon", "T x", "z = x + 1;", NULL, NULL, plus_one, 0, false},
    {"two semicolons", "T x", "z = x + 1;;", NULL, NULL, plus_one, 0, false},
    {"comment at the end", "T x", "z = x + 1; // one more", NULL, NULL, plus_one, 0, false},
    {"comment without newline", "T x", "z = x + 1 // one more", NULL, NULL, plus_one, 0, true},
    {"block comment", "T x", "/* z = 9 */ z = x /* + 9 */ + 1", NULL, NULL, plus_one, 0, false},
    {"a line continued", "T x", "z = x \\\n + 1", NULL, NULL, plus_one, 0, false},
    {"many lines", "T x", "\n  T y = x;\n  y = y + 1;\n  z = y;\n", NULL, NULL, plus_one, 0, false},
    {"carriage returns", "T x", "T y = x;\r\nz = y + 1;\r\n", NULL, NULL, plus_one, 0, false},
    {"name inside names", "T x", "z = exp(-x)", NULL, NULL, exponential, 4, false},
    {"name inside text", "T x", "const char *text = \"x z T\"; z = x + (text[0] == 'x');", NULL,
     NULL, plus_one, 0, false},
    {"name after a dot", "T x", "struct { T x; } s; s.x = x; z = s.x + 1", NULL, NULL, plus_one, 0,
     false},
    {"pi", "T x", "z = x * x * (T)M_PI", NULL, NULL, area, 2, false},
    {"continue", "T x", "if ((int)x % 2 == 0) { z = x; continue; } z = -1", NULL, NULL, even_only,
     0, true},
    {"continue leaves z", "T x", "z = 0; if (x < 3) continue; z = x", NULL, NULL, small_first, 0,
     true},
    {"return", "T x", "z = 0; if (x < 3) return; z = x", NULL, NULL, small_first, 0, true},
    {"a loop", "T x", "T s = 0; for (int k = 0; k <= (int)x; ++k) s += k; z = s", NULL, NULL,
     sum_to, 0, false},
    {"break and continue inside a loop", "T x",
     "T s = 0; for (int k = 0;; ++k) { if (k > (int)x) break; if (k == 0) continue; s += k; } "
     "z = s",
     NULL, NULL, sum_to, 0, true},
    {"a switch", "T x", "switch ((int)x) { case 0: z = 1; break; default: z = x + 1; }", NULL, NULL,
     plus_one, 0, true},
    {"preamble function", "T x", "z = twice(x)",
     "__device__ float twice(float v) { return v + v; }", NULL, twice, 0, false},
    {"preamble function without mark", "T x", "z = twice(x)",
     "static inline __device__ float twice(float v) { return v + v; }", NULL, twice, 0, false},
    {"preamble template", "T x", "z = larger<T>(x, 2)",
     "template <typename V> __device__ V larger(V a, V b) { return a > b ? a : b; }", NULL,
     larger_of_two, 0, false},
    {"preamble macro", "T x", "z = ADD_ONE(x)", "#define ADD_ONE(v) ((v) + 1)", NULL, plus_one, 0,
     false},
    {"macro comma", "T x", "z = PICK(x, x + 1)", "#define PICK(a, b) (b)", NULL, plus_one, 0, true},
    {"macro of two lines", "T x", "z = ADD(x)", "#define ADD(v) \\\n  ((v) + 1)\n", NULL, plus_one,
     0, false},
    {"macro that names the output", "T x", "ASSIGN", "#define ASSIGN z = x + 1", NULL, plus_one, 0,
     false},
    {"lambda", "T x", "auto f = [](T v) { return v + v; }; z = f(x)", NULL, NULL, twice, 0, false},
    {"typed by placeholder", "T x", "T y = (T)2; z = T(x) * y", NULL, NULL, twice, 0, false},
    {"option", "T x", "z = VALUE", NULL, "-DVALUE=7", seven, 0, false},
    {"option with expression", "T x", "z = MUL(x, x)", NULL, "-DMUL(a,b)=((a)*(b))", square, 0,
     false},
    {"leading underscore", "T __x", "z = __x + 1", NULL, NULL, plus_one, 0, false},
    {"parameter _i", "T _i", "z = _i + 1", NULL, NULL, plus_one, 0, false},
    {"parameter n", "T n", "z = n + 1", NULL, NULL, plus_one, 0, true},
    {"parameter named like a function", "T sin", "z = sin + 1", NULL, NULL, plus_one, 0, false},
    {"parameter named size", "T size", "z = size + 1", NULL, NULL, plus_one, 0, false},
    {"const", "const T x", "z = x + 1", NULL, NULL, plus_one, 0, false},
    {"sizeof", "T x", "z = sizeof(x)", NULL, NULL, size_one, 0, false},
    {"conditional operator", "T x", "z = x < 3 ? T(0) : x", NULL, NULL, small_first, 0, false},
    {"comma operator", "T x", "T y; y = 1, z = x + y", NULL, NULL, plus_one, 0, false},
    {"assigned twice", "T x", "z = 5; z = x + 1", NULL, NULL, plus_one, 0, false},
    {"assigned in both branches", "T x", "if (x < 3) z = 0; else z = x", NULL, NULL, small_first, 0,
     true},
    {"through a reference", "T x", "T &r = z; r = x + 1", NULL, NULL, plus_one, 0, false},
    {"through a pointer", "T x", "T *p = &z; *p = x + 1", NULL, NULL, plus_one, 0, true},
    {"inputs can be changed locally", "T x", "T y = x; y += 1; z = y", NULL, NULL, plus_one, 0,
     false},
    {"unused input", "T x", "z = 7", NULL, NULL, seven, 0, false},
    {"hexadecimal and suffixes", "T x", "z = x + 0x1p0f + 0u + 0ull", NULL, NULL, plus_one, 0,
     false},
    {"operators without spaces", "T x", "z = x <3?0:x", NULL, NULL, small_first, 0, false},
    {"chained signs", "T x", "z = x+-+-1", NULL, NULL, plus_one, 0, false},
    {"nested blocks", "T x", "{ { z = x; } }", NULL, NULL, identity, 0, false},
    {"static_cast", "T x", "z = static_cast<T>(static_cast<int>(x)) + 1", NULL, NULL, plus_one, 0,
     false},
    {"decltype", "T x", "decltype(x + 1) y = x; z = y + 1", NULL, NULL, plus_one, 0, false},
};

static void check_snippet(test_env *t, const snippet_case *c, const int64_t *shape,
                          const host_layout *layout)
{
    host_array x, z, *arrays[] = {&x, &z};
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.preamble = c->preamble;
    options.compiler_options = &c->option;
    options.compiler_option_count = c->option != NULL;
    host_make(t, &x, KILN_FLOAT32, 2, shape, layout);
    host_make(t, &z, KILN_FLOAT32, 2, shape, NULL);
    host_fill_small(&z, 3);
    host_send(t, &z);
    OK(t, kiln_elementwise_create(t->ctx, c->in, "T z", c->op, &options, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, z.array));
    host_apply(arrays, 1, 1, 2, shape, c->want);
    host_compare(t, &z, c->ulps, c->name);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&z);
}

static void test_elementwise__snippets_mean_what_they_say(void **state)
{
    static const int64_t shape[] = {33, 40};

    for (size_t c = 0; c < COUNT(snippet_cases); c++)
        check_snippet(*state, &snippet_cases[c], shape, NULL);
}

/* The same where the loop around the snippet is another one: tiles, and one by one. */
static void test_elementwise__snippets_mean_the_same_in_other_layouts(void **state)
{
    static const int64_t shape[] = {33, 40};
    static const host_layout transposed = {.order = {2, 1}}, spread = {.step = {3, -2}};

    for (size_t c = 0; c < COUNT(snippet_cases); c++)
        if (snippet_cases[c].everywhere) {
            check_snippet(*state, &snippet_cases[c], shape, &transposed);
            check_snippet(*state, &snippet_cases[c], shape, &spread);
        }
}

/* ---- loop_prep, after_loop ---- */

static void test_elementwise__loop_prep_and_after_loop_run_once_a_thread(void **state)
{
    static const int64_t sizes[] = {1, 1000, 100003};
    test_env *t = *state;
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.loop_prep = "int sum = 0;";
    options.after_loop = "if (sum != 0) atomicAdd(&total[0], sum);";
    OK(t, kiln_elementwise_create(t->ctx, "int32 x", "int32 z, raw int32 total",
                                  "sum += x; z = x + 1", &options, &op, &t->err));
    for (size_t s = 0; s < COUNT(sizes); s++) {
        host_array x, z;
        kiln_array *total = NULL;
        int32_t want = 0, got = 0;

        host_make(t, &x, KILN_INT32, 1, &sizes[s], NULL);
        host_make(t, &z, KILN_INT32, 1, &sizes[s], NULL);
        OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 1, (const int64_t[]){1}, &total, &t->err));
        OK(t, kiln_call(op, &t->err, x.array, z.array, total));
        for (int64_t k = 0; k < sizes[s]; k++) {
            int32_t v;

            memcpy(&v, host_at(&x, k), sizeof v);
            want += v;
            v++;
            memcpy(host_at(&z, k), &v, sizeof v);
        }
        host_compare(t, &z, 0, "z");
        OK(t, kiln_array_to_host(total, &got, sizeof got, NULL, &t->err));
        CHECK(got == want, "sum of %lld: %d, not %d", (long long)sizes[s], got, want);
        kiln_array_release(total);
        host_free(&x);
        host_free(&z);
    }
    kiln_elementwise_destroy(op);
}

static void scaled(const host_value *in, host_value *out)
{
    out[0] = host_real(in[0].re * 3);
}

static void test_elementwise__loop_prep_sees_constant_parameters(void **state)
{
    static const int64_t shape[] = {1000};
    test_env *t = *state;
    host_array x, z, *arrays[] = {&x, &z};
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.name = "scale_by_table";
    options.loop_prep = "const float factor = table[0] + table[1]; // once";
    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    host_make(t, &z, KILN_FLOAT32, 1, shape, NULL);
    host_array table;
    host_from(t, &table, KILN_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    OK(t, kiln_elementwise_create(t->ctx, "float32 x, raw float32 table", "float32 z",
                                  "z = x * factor", &options, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, table.array, z.array));
    host_apply(arrays, 1, 1, 1, shape, scaled);
    host_compare(t, &z, 0, "loop_prep");
    kiln_elementwise_destroy(op);
    host_free(&table);
    host_free(&x);
    host_free(&z);
}

/* ---- complex and half ---- */

static void complex_mix(const host_value *in, host_value *out)
{
    long double re = in[0].re * in[1].re - in[0].im * in[1].im;
    long double im = in[0].re * in[1].im + in[0].im * in[1].re;

    out[0] = (host_value){re + in[0].re, im - in[0].im};
    out[1] = host_real(in[0].re * in[0].re + in[0].im * in[0].im);
}

static void test_elementwise__complex_by_both_names(void **state)
{
    static const char *const ops[] = {
        "complex<float> s = x * y; z = s + conj(x); m = norm(x)",
        "thrust::complex<float> s = x * y; z = s + conj(x); m = norm(x)",
        "T s = x * y; z = s + conj(x); m = x.real() * x.real() + x.imag() * x.imag()",
        ("float a = x.real(), b = x.imag(), c = y.real(), d = y.imag(); T s(a * c - b * d, "
         "a * d + b * c); z = s + T(a, -b); m = abs(x) * abs(x)"),
    };
    static const int64_t shape[] = {700};
    test_env *t = *state;

    for (size_t k = 0; k < COUNT(ops); k++) {
        host_array x, y, z, m, *arrays[] = {&x, &y, &z, &m};
        kiln_elementwise *op = NULL;

        host_make(t, &x, KILN_COMPLEX64, 1, shape, NULL);
        host_make(t, &y, KILN_COMPLEX64, 1, shape, NULL);
        host_fill_small(&y, 9);
        host_send(t, &y);
        host_make(t, &z, KILN_COMPLEX64, 1, shape, NULL);
        host_make(t, &m, KILN_FLOAT32, 1, shape, NULL);
        OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z, float32 m", ops[k], NULL, &op,
                                      &t->err));
        OK(t, kiln_call(op, &t->err, x.array, y.array, z.array, m.array));
        host_apply(arrays, 2, 2, 1, shape, complex_mix);
        host_compare(t, &z, 2, ops[k]);
        host_compare(t, &m, 4, ops[k]);
        kiln_elementwise_destroy(op);
        for (size_t p = 0; p < COUNT(arrays); p++)
            host_free(arrays[p]);
    }
}

/* The product is rounded because it is assigned; the oracle rounds it, too. */
static void half_steps(const host_value *in, host_value *out)
{
    host_value s = host_round(KILN_FLOAT16, host_real(in[0].re * in[1].re));

    out[0] = host_real(s.re + in[0].re);
}

static void bfloat_steps(const host_value *in, host_value *out)
{
    host_value s = host_round(KILN_BFLOAT16, host_real(in[0].re * in[1].re));

    out[0] = host_real(s.re + in[0].re);
}

static void test_elementwise__sixteen_bit_floats_compute_and_round(void **state)
{
    static const struct {
        kiln_dtype dtype;
        host_function want;
        const char *op;
    } cases[] = {
        {KILN_FLOAT16, half_steps, "float16 s = x * y; s += x; z = s"},
        {KILN_FLOAT16, half_steps, "T s = (T)((float)x * (float)y); z = s + x"},
        {KILN_BFLOAT16, bfloat_steps, "bfloat16 s = x * y; s += x; z = s"},
        {KILN_BFLOAT16, bfloat_steps, "T s = (T)((float)x * (float)y); z = s + x"},
    };
    static const int64_t shape[] = {5000};
    test_env *t = *state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        host_array x, y, z, *arrays[] = {&x, &y, &z};
        kiln_elementwise *op = NULL;

        host_make(t, &x, cases[c].dtype, 1, shape, NULL);
        host_make(t, &y, cases[c].dtype, 1, shape, NULL);
        host_make(t, &z, cases[c].dtype, 1, shape, NULL);
        host_fill_random(t, &x);
        host_fill_random(t, &y);
        for (int64_t k = 0; k < shape[0]; k++) { /* no cancellation: s and x of one sign */
            host_value v = host_load(cases[c].dtype, host_at(&y, k));

            host_store(cases[c].dtype, host_at(&y, k), host_real(fabsl(v.re)));
        }
        host_send(t, &x);
        host_send(t, &y);
        OK(t, kiln_elementwise_create(t->ctx, "T x, T y", "T z", cases[c].op, NULL, &op, &t->err));
        OK(t, kiln_call(op, &t->err, x.array, y.array, z.array));
        host_apply(arrays, 2, 1, 1, shape, cases[c].want);
        host_compare(t, &z, 1, cases[c].op);
        kiln_elementwise_destroy(op);
        host_free(&x);
        host_free(&y);
        host_free(&z);
    }
}

/* Copying a half must not touch its bits: NaN payloads apart, every pattern comes back. */
static void test_elementwise__all_65536_halves_survive_a_round_trip_through_float(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16};
    static const int64_t shape[] = {65536};
    static uint16_t bits[65536];
    test_env *t = *state;
    kiln_elementwise *op = NULL;

    for (uint32_t k = 0; k < 65536; k++)
        bits[k] = (uint16_t)k;
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T z, float32 f", "f = (float)x; z = T(f)", NULL,
                                  &op, &t->err));
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        host_array x, f;
        kiln_array *z = NULL, *got_f = NULL;

        host_from(t, &x, dtypes[d], 1, shape, bits);
        host_make(t, &f, KILN_FLOAT32, 1, shape, NULL);
        for (int64_t k = 0; k < shape[0]; k++)
            host_store(KILN_FLOAT32, host_at(&f, k), host_load(dtypes[d], host_at(&x, k)));
        OK(t, kiln_call(op, &t->err, x.array, &z, &got_f));
        host_compare_elements(t, z, &x, 0, "back");
        host_compare_elements(t, got_f, &f, 0, "float");
        kiln_array_release(z);
        kiln_array_release(got_f);
        host_free(&x);
        host_free(&f);
    }
    kiln_elementwise_destroy(op);
}

/* ---- printf ---- */

static void test_elementwise__printf_is_allowed(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_array *z = NULL;
    float got = 0;

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 0, NULL, &z, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "float32 x", "float32 z",
                                  "if (i == 0) printf(\"printf from a snippet: %g of %d\\n\", "
                                  "(double)x, (int)n); z = x",
                                  NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, 2.5, z));
    OK(t, kiln_array_to_host(z, &got, sizeof got, NULL, &t->err));
    CHECK(got == 2.5f, "%g", (double)got);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__snippets_mean_what_they_say),
        TEST(test_elementwise__snippets_mean_the_same_in_other_layouts),
        TEST(test_elementwise__loop_prep_and_after_loop_run_once_a_thread),
        TEST(test_elementwise__loop_prep_sees_constant_parameters),
        TEST(test_elementwise__complex_by_both_names),
        TEST(test_elementwise__sixteen_bit_floats_compute_and_round),
        TEST(test_elementwise__all_65536_halves_survive_a_round_trip_through_float),
        TEST(test_elementwise__printf_is_allowed),
    };

    return test_env_main(argc, argv, "test_elementwise_snippet", tests, COUNT(tests));
}
