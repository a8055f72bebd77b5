/*
 * test_graph_custom.c - the user's elementwise kernels inside of the kernels that a graph makes:
 * snippets mean what they mean in a kernel of their own, whatever stands around them.
 *
 * Expected values come from plain C loops in double precision.
 */
#include <stdlib.h>

#include "graph_env.h"

enum { R = 23, C = 70 };
static const int64_t shape[] = {R, C};

static kiln_elementwise *define(test_env *t, const char *in, const char *out, const char *op,
                                const char *preamble)
{
    kiln_elementwise *made = NULL;
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
    opts.preamble = preamble;
    OK(t, kiln_elementwise_create(t->ctx, in, out, op, &opts, &made, &t->err));
    return made;
}

/* The only or first result of a kernel over one or two operands. */
static kiln_node apply(kiln_elementwise *op, kiln_node x)
{
    return kiln_node_elementwise(op, &x, 1, 0, KILN_HERE);
}

static kiln_node apply2(kiln_elementwise *op, kiln_node x, kiln_node y, size_t result)
{
    const kiln_node operands[] = {x, y};
    return kiln_node_elementwise(op, operands, 2, result, KILN_HERE);
}

static void test_graph_custom__a_snippet_is_a_prologue(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], got[R];
    double wholes[1], want_wholes = 0;
    /* The graph's input has the name of a parameter that means something else. */
    kiln_elementwise *split = define(t, "T k, T x", "T whole, T part",
                                     "whole = floor(k * x); part = k * x - whole // no newline", NULL);
    kiln_node x = kiln_graph_input(g, "x"), half = kiln_multiply(x, 0.5);
    kiln_node part = apply2(split, half, KILN_NODE(3), 1);
    kiln_graph_output(g, "parts", kiln_sum(part, KILN_AXES(1)));
    kiln_graph_output(g, "wholes", kiln_sum(apply2(split, half, KILN_NODE(3), 0), KILN_ALL_AXES));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *p = NULL, *w = NULL;
    assert_int_equal(KERNELS(t, g, a, &p, &w), 2);
    OK(t, kiln_call(g, &t->err, a, &p, &w));
    graph_fetch(t, p, got, R), graph_fetch(t, w, wholes, 1);
    for (size_t i = 0; i < R; i++) {
        double want = 0;
        for (size_t j = i * C; j < (i + 1) * C; j++) {
            want += 1.5 * xs[j] - floor(1.5 * xs[j]);
            want_wholes += floor(1.5 * xs[j]);
        }
        graph_near(got[i], want, 1e-12, i);
    }
    graph_near(wholes[0], want_wholes, 0, 0);
    kiln_array_release(a), kiln_array_release(p), kiln_array_release(w);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(split);
}

/* `return` and `continue` end the element and nothing else; names of the graph are not seen; two
 * preambles may hold different functions of one name. */
static void test_graph_custom__snippets_keep_their_meaning_in_chains(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], got[R * C];
    kiln_elementwise *twice = define(t, "T v", "T y", "y = f(v); if (y > 1) return; y = -y;",
                                     "static inline __device__ T f(T v) { return 2 * v; }");
    kiln_elementwise *shift = define(t, "T v", "T y",
                                     "y = f(v);\nif (y < 0) continue;\ny += 100 * g;",
                                     "template <class V> inline __device__ V f(V v) { return v - 1; }\n"
                                     "constexpr int g = 3;");
    kiln_node x = kiln_graph_input(g, "v"), y = kiln_graph_input(g, "g");
    kiln_node chain = kiln_add(apply(shift, kiln_multiply(apply(twice, x), y)),
                               kiln_cast(apply(twice, kiln_cast(x, KILN_FLOAT32)), KILN_FLOAT64));
    kiln_graph_output(g, "z", chain);
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *z = NULL;
    assert_int_equal(KERNELS(t, g, a, 0.5, &z), 1);
    OK(t, kiln_call(g, &t->err, a, 0.5, &z));
    graph_fetch(t, z, got, R * C);
    for (size_t k = 0; k < R * C; k++) {
        const double doubled = 2 * xs[k] > 1 ? 2 * xs[k] : -2 * xs[k];
        const double low = 0.5 * doubled - 1;
        const float single = 2 * (float)xs[k];
        graph_near(got[k], (low < 0 ? low : low + 300) + (single > 1 ? single : -single), 1e-12, k);
    }
    kiln_array_release(a), kiln_array_release(z);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(twice);
    kiln_elementwise_destroy(shift);
}

static void test_graph_custom__a_snippet_is_part_of_a_row_program(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], got[R * C];
    kiln_elementwise *power = define(t, "T x, T top", "T e", "e = h(x - top)",
                                     "inline __device__ T h(T v) { return exp2(v); }");
    kiln_node x = kiln_graph_input(g, "x");
    kiln_node e = apply2(power, x, kiln_max_keep(x, KILN_AXES(1)), 0);
    kiln_graph_output(g, "y", kiln_divide(e, kiln_sum_keep(e, KILN_AXES(1))));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, xs), *y = NULL;
    assert_int_equal(KERNELS(t, g, a, &y), 1);
    OK(t, kiln_call(g, &t->err, a, &y));
    graph_fetch(t, y, got, R * C);
    for (size_t i = 0; i < R; i++) {
        double sum = 0;
        for (size_t j = i * C; j < (i + 1) * C; j++)
            sum += exp2(xs[j]);
        for (size_t j = i * C; j < (i + 1) * C; j++)
            graph_near(got[j], exp2(xs[j]) / sum, 1e-5, j);
    }
    kiln_array_release(a), kiln_array_release(y);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(power);
}

/* A snippet with a loop may cost anything: it is done once, though two kernels need it. */
static void test_graph_custom__loops_are_not_done_again(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    static double xs[R * C], got[R * C];
    char *text = NULL;
    kiln_elementwise *root = define(t, "float64 v", "float64 y",
                                    "y = 1; for (int k = 0; k < 20; k++) y = (y + v / y) / 2;", NULL);
    kiln_node x = kiln_graph_input(g, "x"), y = apply(root, kiln_add(kiln_absolute(x), 1));
    kiln_graph_output(g, "share", kiln_divide(y, kiln_sum(y, KILN_ALL_AXES)));
    kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *share = NULL;
    const kiln_arg args[] = {kiln_arg_array(a), kiln_arg_out(&share)};
    double sum = 0;
    OK(t, kiln_graph_explain(g, args, 2, &text, &t->err));
    const char *first = strstr(text, "the user's");
    CHECK(first != NULL && strstr(first + 1, "the user's") == NULL, "%s", text);
    kiln_free(text);
    OK(t, kiln_call(g, &t->err, a, &share));
    graph_fetch(t, share, got, R * C);
    for (size_t k = 0; k < R * C; k++)
        sum += sqrt(fabs(xs[k]) + 1);
    for (size_t k = 0; k < R * C; k++)
        graph_near(got[k], sqrt(fabs(xs[k]) + 1) / sum, 1e-12, k);
    kiln_array_release(a), kiln_array_release(share);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(root);
}

/* What cannot mean the same in another kernel is one of its own. */
static void test_graph_custom__what_needs_its_own_kernel_has_one(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *in, *op, *preamble;
        double factor, step; /* y = factor * x + step * position */
    } cases[] = {
        {"T x", "y = x + i", NULL, 1, 1},
        {"T x", "y = x * M", "#define M 2", 2, 0},
        {"T x", "\n#define M 2\ny = x * M;", NULL, 2, 0},
        {"T x", "const T t1 = x; y = t1;", NULL, 1, 0},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = graph_begin(t);
        static double xs[R * C], got[R * C];
        kiln_elementwise *op = define(t, cases[k].in, "T y", cases[k].op, cases[k].preamble);
        kiln_graph_output(g, "z", kiln_negative(apply(op, kiln_graph_input(g, "x"))));
        kiln_array *a = graph_array(t, KILN_FLOAT64, 2, shape, xs), *z = NULL;
        assert_int_equal(KERNELS(t, g, a, &z), 2);
        OK(t, kiln_call(g, &t->err, a, &z));
        graph_fetch(t, z, got, R * C);
        for (size_t e = 0; e < R * C; e++)
            graph_near(got[e], -(cases[k].factor * xs[e] + cases[k].step * (double)e), 0, e);
        kiln_array_release(a), kiln_array_release(z);
        kiln_graph_destroy(g);
        kiln_elementwise_destroy(op);
    }
}

/* An error in a snippet is shown as the user wrote it, and one in a preamble too. */
static void test_graph_custom__errors_show_the_users_line(void **state)
{
    test_env *t = *state;
    static const struct {
        const char *op, *preamble, *line, *word;
    } cases[] = {
        {"const T w = x + 1;\n  y = w * nothing;", NULL, "  y = w * nothing;", "nothing"},
        {"y = f(x)", "inline __device__ float f(float v) { return missing * v; }",
         "inline __device__ float f(float v) { return missing * v; }", "missing"},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = graph_begin(t);
        kiln_elementwise *op = define(t, "T x", "T y", cases[k].op, cases[k].preamble);
        kiln_node x = kiln_graph_input(g, "nothing");
        kiln_graph_output(g, "z", kiln_sum(apply(op, kiln_multiply(x, x)), KILN_ALL_AXES));
        kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, NULL), *z = NULL;
        assert_int_equal(kiln_call(g, &t->err, a, &z), KILN_ERR_COMPILE);
        const char *detail = t->err.detail != NULL ? t->err.detail : t->err.message;
        const char *line = strstr(detail, cases[k].line);
        CHECK(line != NULL, "no line in:\n%s\n%s", t->err.message, detail);
        const char *caret = strchr(line, '\n') + 1;
        const size_t column = (size_t)(strstr(cases[k].line, cases[k].word) - cases[k].line);
        CHECK(strspn(caret, " ") == column && caret[column] == '^', "%s", detail);
        kiln_error_clear(&t->err);
        kiln_array_release(a);
        kiln_graph_destroy(g);
        kiln_elementwise_destroy(op);
    }
}

static void test_graph_custom__numbers_must_fit_their_parameter(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_elementwise *add = define(t, "T x, int8 k", "T y", "y = x + k", NULL);
    kiln_graph_output(g, "z", apply2(add, kiln_graph_input(g, "x"), KILN_NODE(300), 0));
    kiln_array *a = graph_array(t, KILN_FLOAT32, 2, shape, NULL), *z = NULL;
    assert_int_equal(kiln_call(g, &t->err, a, &z), KILN_ERR_RANGE);
    CHECK(strstr(t->err.message, "test_graph_custom.c:") != NULL, "%s", t->err.message);
    assert_null(z);
    kiln_error_clear(&t->err);
    kiln_array_release(a);
    kiln_graph_destroy(g);
    kiln_elementwise_destroy(add);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_custom__a_snippet_is_a_prologue),
        TEST(test_graph_custom__snippets_keep_their_meaning_in_chains),
        TEST(test_graph_custom__a_snippet_is_part_of_a_row_program),
        TEST(test_graph_custom__loops_are_not_done_again),
        TEST(test_graph_custom__what_needs_its_own_kernel_has_one),
        TEST(test_graph_custom__errors_show_the_users_line),
        TEST(test_graph_custom__numbers_must_fit_their_parameter),
    };
    return test_env_main(argc, argv, "test_graph_custom", tests, COUNT(tests));
}
