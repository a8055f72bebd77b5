/*
 * test_graph_wide.c - graphs that keep 16-bit floats in float32 until they are stored: what is rounded
 * where.
 *
 * Values are chosen so that float32 holds every result exactly: what is expected is computed in double
 * and rounded to the format, once.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "half_format.h"
#include "test_env.h"

enum { ROWS = 8, COLUMNS = 128, COUNT_ALL = ROWS * COLUMNS };

typedef struct operands {
    const format *f;
    double x[COUNT_ALL], y[COUNT_ALL], z[COUNT_ALL];
    kiln_array *a[3];
} operands;

/* Numbers near 1 with all their digits, and nearby ones below 0. */
static void operands_make(test_env *t, operands *o, const format *f)
{
    const int64_t shape[] = {ROWS, COLUMNS};
    const uint16_t one = (uint16_t)(0x3fff >> (f->digits - 1) << (f->digits - 1));
    double *const values[] = {o->x, o->y, o->z};
    uint16_t codes[COUNT_ALL];

    o->f = f;
    for (size_t p = 0; p < 3; p++) {
        for (unsigned k = 0; k < COUNT_ALL; k++) {
            codes[k] = (uint16_t)((one + (k * 37 + (unsigned)p * 11) % 61) | (p == 2 ? 0x8000 : 0));
            values[p][k] = decode(f, codes[k]);
        }
        OK(t, kiln_array_from_host(t->ctx, f->dtype, 2, shape, codes, NULL, &o->a[p], &t->err));
    }
}

static void operands_free(operands *o)
{
    for (size_t p = 0; p < 3; p++)
        kiln_array_release(o->a[p]);
}

/* The values of an expression's results, each of the format; the first of `count`. */
static void evaluate(test_env *t, const operands *o, const char *text, int wide, size_t count,
                     double (*got)[COUNT_ALL])
{
    static const char *const names[] = {"x", "y", "z"};
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    kiln_array *results[2] = {NULL, NULL};
    kiln_graph *g = NULL;
    kiln_arg args[5] = {kiln_arg_array(o->a[0]), kiln_arg_array(o->a[1]), kiln_arg_array(o->a[2]),
                        kiln_arg_out(&results[0]), kiln_arg_out(&results[1])};

    opts.wide = wide;
    OK(t, kiln_graph_parse(t->ctx, text, names, 3, &opts, &g, NULL, &t->err));
    OK(t, kiln_graph_run(g, args, 3 + count, NULL, &t->err));
    for (size_t r = 0; r < count; r++) {
        uint16_t codes[COUNT_ALL] = {0};
        CHECK(kiln_array_dtype(results[r]) == o->f->dtype, "%s: %s", text,
              kiln_dtype_name(kiln_array_dtype(results[r])));
        OK(t, kiln_array_to_host(results[r], codes, sizeof codes, NULL, &t->err));
        for (size_t k = 0; k < COUNT_ALL; k++)
            got[r][k] = decode(o->f, codes[k]);
        kiln_array_release(results[r]);
    }
    kiln_graph_destroy(g);
}

/* `got` is the expression rounded at the end; or, where not `once`, after the product as well. */
static void expect_sum(const operands *o, const double *got, bool once, const char *text)
{
    int differ = 0;
    for (size_t k = 0; k < COUNT_ALL; k++) {
        const double product = o->x[k] * o->y[k];
        const double wide = round_to(o->f, product + o->z[k]);
        const double narrow = round_to(o->f, round_to(o->f, product) + o->z[k]);
        differ += wide != narrow;
        CHECK(same(got[k], once ? wide : narrow), "%s of %s, %zu: %a, wide %a, narrow %a", text,
              o->f->name, k, got[k], wide, narrow);
    }
    assert_true(differ > COUNT_ALL / 4); /* the values tell the two apart */
}

static void test_graph_wide__a_chain_is_rounded_at_its_end(void **state)
{
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    for (size_t f = 0; f < COUNT(formats); f++) {
        operands o;
        operands_make(t, &o, &formats[f]);
        evaluate(t, &o, "x * y + z", 1, 1, got);
        expect_sum(&o, got[0], true, "wide");
        evaluate(t, &o, "x * y + z", -1, 1, got);
        expect_sum(&o, got[0], false, "exact");
        evaluate(t, &o, "x * y + z", 0, 1, got);
        expect_sum(&o, got[0], false, "the context's choice");
        operands_free(&o);
    }
}

/* A value that is an output is rounded there, and only there. */
static void test_graph_wide__other_outputs_change_nothing(void **state)
{
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    for (size_t f = 0; f < COUNT(formats); f++) {
        operands o;
        operands_make(t, &o, &formats[f]);
        evaluate(t, &o, "p = x * y; p, p + z", 1, 2, got);
        expect_sum(&o, got[1], true, "beside an output");
        for (size_t k = 0; k < COUNT_ALL; k++)
            CHECK(same(got[0][k], round_to(o.f, o.x[k] * o.y[k])), "%zu: %a", k, got[0][k]);
        evaluate(t, &o, "transpose(transpose(x * y) + transpose(z))", 1, 1, got);
        expect_sum(&o, got[0], true, "through views");
        operands_free(&o);
    }
}

static void test_graph_wide__casts_round(void **state)
{
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    static const char *const casts[] = {"astype(x * y, float16) + z",
                                        "astype(x * y, bfloat16) + z"};
    for (size_t f = 0; f < COUNT(formats); f++) {
        operands o;
        operands_make(t, &o, &formats[f]);
        evaluate(t, &o, casts[f], 1, 1, got);
        expect_sum(&o, got[0], false, "cast");
        operands_free(&o);
    }
}

/* A sum is spread over the rows that it came from, by a row program; over others it is stored in
 * between. */
static void test_graph_wide__results_of_reductions_are_not_rounded(void **state)
{
    static const char *const texts[] = {"sum(x * y, axis=1, keepdims=True) * z",
                                        "broadcast_to(sum(x * y), (8, 128)) * z"};
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    for (size_t f = 0; f < COUNT(formats); f++) {
        operands o;
        operands_make(t, &o, &formats[f]);
        double all = 0, rows[ROWS] = {0};
        for (size_t k = 0; k < COUNT_ALL; k++) {
            rows[k / COLUMNS] += o.x[k] * o.y[k];
            all += o.x[k] * o.y[k];
        }
        for (size_t e = 0; e < COUNT(texts); e++) {
            evaluate(t, &o, texts[e], 1, 1, got);
            for (size_t k = 0; k < COUNT_ALL; k++) {
                const double sum = e == 0 ? rows[k / COLUMNS] : all;
                const double exact = sum * o.z[k], want = round_to(o.f, exact);
                /* sums of float32 may be off by what decides between two neighbours */
                CHECK(fabs(got[0][k] - exact) <= fabs(want - exact) + sum * 0x1p-20,
                      "%s of %s, %zu: %a, not %a", texts[e], o.f->name, k, got[0][k], want);
            }
        }
        operands_free(&o);
    }
}

/* Operations on the format itself, and a custom kernel with 16-bit parameters, see rounded values. */
static void test_graph_wide__what_wants_16_bits_gets_rounded_values(void **state)
{
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    for (size_t f = 0; f < COUNT(formats); f++) {
        const int64_t shape[] = {ROWS, COLUMNS};
        kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
        kiln_elementwise *same_value = NULL;
        kiln_graph *g = NULL;
        kiln_array *out = NULL;
        uint16_t codes[COUNT_ALL];
        operands o;

        operands_make(t, &o, &formats[f]);
        evaluate(t, &o, "spacing(x * y)", 1, 1, got);
        for (size_t k = 0; k < COUNT_ALL; k++) {
            const double product = round_to(o.f, o.x[k] * o.y[k]);
            CHECK(got[0][k] == ldexp(1, ilogb(product) - o.f->digits + 1), "%zu: %a", k, got[0][k]);
        }
        opts.wide = 1;
        OK(t, kiln_elementwise_create(t->ctx, "T v", "T r", "r = v", NULL, &same_value, &t->err));
        OK(t, kiln_graph_create(t->ctx, &opts, &g, &t->err));
        kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y"),
                  z = kiln_graph_input(g, "z"), product = kiln_multiply(x, y);
        kiln_node r = kiln_node_elementwise(same_value, &product, 1, 0, KILN_HERE);
        kiln_graph_output(g, "r", kiln_add(r, z));
        OK(t, kiln_graph_compile(g, &t->err));
        OK(t, kiln_call(g, &t->err, o.a[0], o.a[1], o.a[2], &out));
        assert_true(memcmp(kiln_array_shape(out), shape, sizeof shape) == 0);
        OK(t, kiln_array_to_host(out, codes, sizeof codes, NULL, &t->err));
        for (size_t k = 0; k < COUNT_ALL; k++)
            got[0][k] = decode(o.f, codes[k]);
        expect_sum(&o, got[0], false, "custom kernel");
        kiln_array_release(out);
        kiln_graph_destroy(g);
        kiln_elementwise_destroy(same_value);
        operands_free(&o);
    }
}

static double quotient(double x, double y)
{
    return x / y;
}

static double exp_of(double x, double y)
{
    return exp(x * y * 8);
}

static double tanh_of(double x, double y)
{
    return tanh(x - y);
}

static double one_over_large(double x, double y)
{
    return 1 / (1 + exp(x * 30) * y);
}

/* To 2^-17 of themselves, before they are rounded. */
static void test_graph_wide__functions_are_accurate_enough(void **state)
{
    static const struct {
        const char *text;
        double (*exact)(double x, double y);
    } cases[] = {{"x / y", quotient},
                 {"exp(x * y * 8)", exp_of},
                 {"tanh(x - y)", tanh_of},
                 {"1 / (1 + exp(x * 30) * y)", one_over_large}};
    test_env *t = *state;
    static double got[2][COUNT_ALL];
    for (size_t f = 0; f < COUNT(formats); f++) {
        operands o;
        operands_make(t, &o, &formats[f]);
        for (size_t c = 0; c < COUNT(cases); c++) {
            evaluate(t, &o, cases[c].text, 1, 1, got);
            for (size_t k = 0; k < COUNT_ALL; k++) {
                const double exact = cases[c].exact(o.x[k], o.y[k]), want = round_to(o.f, exact);
                CHECK(fabs(got[0][k] - exact) <= fabs(want - exact) + fabs(exact) * 0x1p-15,
                      "%s of %s, %zu: %a, not %a", cases[c].text, o.f->name, k, got[0][k], want);
            }
        }
        operands_free(&o);
    }
}

static void test_graph_wide__dtypes_are_numpys(void **state)
{
    static const char *const names[] = {"h", "b", "i"};
    static const struct {
        const char *text;
        kiln_dtype want;
    } cases[] = {
        {"h + h", KILN_FLOAT16},       {"h + b", KILN_FLOAT16},
        {"h + h + i", KILN_FLOAT64},   {"h * 2.5", KILN_FLOAT16},
        {"mean(h * h)", KILN_FLOAT16}, {"sum(h, dtype=float32)", KILN_FLOAT32},
        {"argmax(h + h)", KILN_INT64}, {"sqrt(b)", KILN_FLOAT16},
        {"h + h < h", KILN_BOOL},      {"where(h < 1, h, 0) + h", KILN_FLOAT16},
        {"max(h) - h", KILN_FLOAT16},  {"var(h, axis=0)", KILN_FLOAT16},
        {"std(h + h)", KILN_FLOAT16},  {"h.T + h", KILN_FLOAT16},
    };
    test_env *t = *state;
    const int64_t shape[] = {4, 4};
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    kiln_array *a[3] = {NULL};

    opts.wide = 1;
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT16, 2, shape, &a[0], &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT8, 2, shape, &a[1], &t->err));
    OK(t, kiln_array_zeros(t->ctx, KILN_INT32, 2, shape, &a[2], &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = NULL;
        kiln_array *out = NULL;
        OK(t, kiln_graph_parse(t->ctx, cases[k].text, names, 3, &opts, &g, NULL, &t->err));
        OK(t, kiln_call(g, &t->err, a[0], a[1], a[2], &out));
        CHECK(kiln_array_dtype(out) == cases[k].want, "%s is %s", cases[k].text,
              kiln_dtype_name(kiln_array_dtype(out)));
        kiln_array_release(out);
        kiln_graph_destroy(g);
    }
    for (size_t k = 0; k < COUNT(a); k++)
        kiln_array_release(a[k]);
}

/* A graph's option decides, then the context's, then the variable. */
static void test_graph_wide__who_decides(void **state)
{
    static const struct {
        const char *variable;
        int context, graph;
        bool wide;
    } cases[] = {
        {"", 0, 0, false},   {"1", 0, 0, true},   {"0", 0, 0, false},
        {"1", -1, 0, false}, {"0", 1, 0, true},   {"", 1, 0, true},
        {"", -1, 1, true},   {"1", 1, -1, false}, {"yes", 0, 0, false},
    };
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_context_options of_context = KILN_CONTEXT_OPTIONS_INIT;
        kiln_graph_options of_graph = KILN_GRAPH_OPTIONS_INIT;
        kiln_context *ctx = NULL;
        kiln_graph *g = NULL;
        of_context.device = "cpu";
        of_context.wide = cases[k].context;
        of_graph.wide = cases[k].graph;
        assert_int_equal(setenv("KILN_WIDE", cases[k].variable, 1), 0);
        OK(t, kiln_context_create(&of_context, &ctx, &t->err));
        OK(t, kiln_graph_create(ctx, &of_graph, &g, &t->err));
        CHECK(g->wide == cases[k].wide, "case %zu", k);
        kiln_graph_destroy(g);
        kiln_context_release(ctx);
    }
    unsetenv("KILN_WIDE");
}

static void test_graph_wide__other_choices_are_refused(void **state)
{
    test_env *t = *state;
    kiln_context_options of_context = KILN_CONTEXT_OPTIONS_INIT;
    kiln_graph_options of_graph = KILN_GRAPH_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_graph *g = NULL;
    of_context.wide = of_graph.wide = 2;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_context_create(&of_context, &ctx, &t->err), "wide", "2");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_graph_create(t->ctx, &of_graph, &g, &t->err), "wide", "2");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_wide__a_chain_is_rounded_at_its_end),
        TEST(test_graph_wide__other_outputs_change_nothing),
        TEST(test_graph_wide__casts_round),
        TEST(test_graph_wide__results_of_reductions_are_not_rounded),
        TEST(test_graph_wide__what_wants_16_bits_gets_rounded_values),
        TEST(test_graph_wide__functions_are_accurate_enough),
        TEST(test_graph_wide__dtypes_are_numpys),
        TEST(test_graph_wide__who_decides),
        TEST(test_graph_wide__other_choices_are_refused),
    };
    return test_env_main(argc, argv, "test_graph_wide", tests, COUNT(tests));
}
