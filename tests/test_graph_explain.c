/*
 * test_graph_explain.c - what a graph tells about itself: explained text, DOT, sources, against
 * tests/golden/graph_*.txt. KILN_UPDATE_GOLDEN=1 writes those files anew.
 *
 * The texts are those of the cpu device; a GPU may hold other rows on chip.
 */
#include <stdlib.h>

#include "graph_env.h"
#include "test_data.h"

enum { ARGS_MAX = 8 };

/* A graph and the arguments to explain it with. */
typedef struct example {
    kiln_graph *g;
    kiln_array *in[ARGS_MAX];
    kiln_array *out[ARGS_MAX];
    kiln_arg args[ARGS_MAX];
    size_t inputs, count;
    kiln_elementwise *own; /* a kernel that the graph uses */
} example;

static void add_input(test_env *t, example *e, int rank, const int64_t *shape)
{
    OK(t, kiln_array_zeros(t->ctx, KILN_FLOAT32, rank, shape, &e->in[e->inputs], &t->err));
    e->args[e->count++] = kiln_arg_array(e->in[e->inputs++]);
}

static void add_output(example *e)
{
    e->args[e->count] = kiln_arg_out(&e->out[e->count]);
    e->count++;
}

static void finish(example *e)
{
    for (size_t k = 0; k < e->inputs; k++)
        kiln_array_release(e->in[k]);
    kiln_graph_destroy(e->g);
    kiln_elementwise_destroy(e->own);
}

static void check_text(const char *name, char *text)
{
    char local[64], path[512], *want = NULL;
    snprintf(local, sizeof local, "golden/graph_%s.txt", name);
    test_data(local, path, sizeof path);
    if (getenv("KILN_UPDATE_GOLDEN") != NULL) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
    }
    FILE *f = fopen(path, "r");
    CHECK(f != NULL, "%s is missing", path);
    want = calloc(1, 65536);
    (void)!fread(want, 1, 65535, f);
    fclose(f);
    assert_string_equal(text, want);
    free(want);
    kiln_free(text);
}

static void explain(test_env *t, example *e, const char *name)
{
    char *text = NULL;
    OK(t, kiln_graph_explain(e->g, e->args, e->count, &text, &t->err));
    finish(e);
    if (t->cuda) {
        kiln_free(text);
        skip();
    }
    check_text(name, text);
}

static void test_graph_explain__a_loop(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    kiln_node x = kiln_graph_input(e.g, "x"), y = kiln_graph_input(e.g, "y");
    kiln_node r = kiln_sqrt(kiln_add(kiln_multiply(x, x), kiln_multiply(y, y)));
    kiln_graph_output(e.g, "r", r);
    kiln_graph_output(e.g, "c", kiln_divide(x, r));
    add_input(t, &e, 2, (int64_t[]){1024, 1024});
    add_input(t, &e, 1, (int64_t[]){1024});
    add_output(&e), add_output(&e);
    explain(t, &e, "loop");
}

static void test_graph_explain__reductions(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    kiln_node x = kiln_graph_input(e.g, "x");
    kiln_graph_output(e.g, "rms", kiln_sqrt(kiln_mean(kiln_multiply(x, x), KILN_AXES(0))));
    kiln_graph_output(e.g, "var", kiln_var(x, KILN_AXES(0)));
    kiln_graph_output(e.g, "far", kiln_greater(kiln_absolute(x), kiln_norm2(x, KILN_ALL_AXES)));
    add_input(t, &e, 2, (int64_t[]){4096, 300});
    add_output(&e), add_output(&e), add_output(&e);
    explain(t, &e, "reductions");
}

/* A kernel of the user's before a reduction, an array behind it, accumulators that are shared. */
static void test_graph_explain__what_is_fused(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    kiln_elementwise_options opts = KILN_ELEMENTWISE_OPTIONS_INIT;
    opts.name = "soft";
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T y", "y = x > 0 ? x : expm1(x)", &opts, &e.own,
                                  &t->err));
    kiln_node x = kiln_graph_input(e.g, "x"), w = kiln_graph_input(e.g, "w");
    kiln_node y = kiln_node_elementwise(e.own, &x, 1, 0, KILN_HERE);
    kiln_graph_output(e.g, "mean", kiln_multiply(kiln_mean(y, KILN_AXES(0)), w));
    kiln_graph_output(e.g, "std", kiln_std(y, KILN_AXES(0)));
    add_input(t, &e, 2, (int64_t[]){4096, 300});
    add_input(t, &e, 1, (int64_t[]){300});
    add_output(&e), add_output(&e);
    explain(t, &e, "fused");
}

static void test_graph_explain__rows(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    kiln_node x = kiln_graph_input(e.g, "x"), w = kiln_graph_input(e.g, "w");
    kiln_node d = kiln_subtract(x, kiln_mean_keep(x, KILN_AXES(-1)));
    kiln_node s = kiln_sqrt(kiln_add(kiln_var_keep(x, KILN_AXES(-1)), 1e-5));
    kiln_node y = kiln_multiply(kiln_divide(d, s), w);
    kiln_node p = kiln_exp(kiln_subtract(y, kiln_max_keep(y, KILN_AXES(-1))));
    kiln_graph_output(e.g, "p", kiln_divide(p, kiln_sum_keep(p, KILN_AXES(-1))));
    add_input(t, &e, 2, (int64_t[]){512, 1000});
    add_input(t, &e, 1, (int64_t[]){1000});
    add_output(&e);
    explain(t, &e, "rows");
}

static void test_graph_explain__dot(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    char *text = NULL;
    kiln_node x = kiln_graph_input(e.g, "x");
    kiln_node scaled = kiln_multiply(x, kiln_sum(x, KILN_ALL_AXES));
    kiln_graph_output(e.g, "y", kiln_add(scaled, 0.5));
    add_input(t, &e, 1, (int64_t[]){1 << 22});
    add_output(&e);
    OK(t, kiln_graph_dot(e.g, e.args, e.count, &text, &t->err));
    finish(&e);
    check_text("dot", text); /* the same on every device */
}

static void give(test_env *t, example *e, kiln_dtype dtype)
{
    OK(t, kiln_array_zeros(t->ctx, dtype, 1, (int64_t[]){100}, &e->in[e->inputs], &t->err));
    e->args[e->count++] = kiln_arg_array(e->in[e->inputs++]);
}

/* One array of float64, and one of int32, make float64 of all that they touch. */
static void test_graph_explain__what_widens(void **state)
{
    test_env *t = *state;
    example e = {.g = graph_begin(t)};
    const char *const here = "explain.c";
    kiln_node x = kiln_graph_input(e.g, "x"), w = kiln_graph_input(e.g, "w");
    kiln_node n = kiln_graph_input(e.g, "n"), y = kiln_graph_input(e.g, "y");
    kiln_node wide = kiln_node_op2(KILN_OP_MULTIPLY, x, kiln_exp(w), here, 1);
    kiln_node weak = kiln_node_op2(KILN_OP_MULTIPLY, x, kiln_exp(y), here, 2);
    kiln_node joint = kiln_node_op2(KILN_OP_SUBTRACT, x, n, here, 3);
    kiln_graph_output(e.g, "a", kiln_node_op2(KILN_OP_ADD, wide, weak, here, 4));
    kiln_graph_output(e.g, "b", joint);
    kiln_graph_output(e.g, "c", weak);
    give(t, &e, KILN_FLOAT32), give(t, &e, KILN_FLOAT64), give(t, &e, KILN_INT32);
    e.args[e.count++] = kiln_arg_float(0.5);
    add_output(&e), add_output(&e), add_output(&e);
    explain(t, &e, "widened");
}

/* The message says what made a result wider than the output that is given for it. */
static void test_graph_explain__an_output_that_is_too_narrow(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"x * x + exp(w)", "result is float64: input `w` is float64, beside float32 in add "
                           "(expression:7)"},
        {"w * w", "result is float64: input `w` is float64"},
        {"x - n", "result is float64: subtract (expression:3) of float32 and int32 is float64"},
        {"n * 2.5", "result is float64: multiply (expression:3) of int32 and a plain number is "
                    "float64"},
        {"sqrt(mean(n) * x)[0:1]", "result is float64: mean (expression:6) of int32 is float64, "
                                   "beside float32 in multiply (expression:14)"},
        {"x + cast(x, float64).T", "result is float64: cast (expression:5) is float64, beside "
                                   "float32 in add (expression:3)"},
        {"y * 2 + 1", "result is float64: it is made of plain numbers alone"},
    };
    static const char *const names[] = {"x", "w", "n", "y"};
    test_env *t = *state;
    for (size_t k = 0; k < COUNT(rows); k++) {
        example e = {.g = NULL};
        OK(t, kiln_graph_parse(t->ctx, rows[k].text, names, 4, NULL, &e.g, NULL, &t->err));
        give(t, &e, KILN_FLOAT32), give(t, &e, KILN_FLOAT64), give(t, &e, KILN_INT32);
        e.args[e.count++] = kiln_arg_float(0.5);
        give(t, &e, KILN_FLOAT32);
        FAILS(t, KILN_ERR_DTYPE, kiln_graph_run(e.g, e.args, e.count, NULL, &t->err),
              "output `result` is given as float32, but the ", rows[k].why);
        finish(&e);
    }
}

/* The generated source holds the statements, by the names that the graph's inputs have. */
static void test_graph_explain__sources(void **state)
{
    test_env *t = *state;
    static const char *const wanted[] = {"kiln_graph_z", "const float t1 = width * width;",
                                         "const float t2 = sqrt(t1);", "z = t2;"};
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    example e = {.g = NULL};
    char *text = NULL;
    kiln_graph_options_init(&opts, sizeof opts);
    OK(t, kiln_graph_create(t->ctx, &opts, &e.g, &t->err));
    kiln_node w = kiln_graph_input(e.g, "width");
    kiln_graph_output(e.g, "z", kiln_sqrt(kiln_multiply(w, w)));
    add_input(t, &e, 1, (int64_t[]){100});
    add_output(&e);
    OK(t, kiln_graph_source(e.g, e.args, e.count, 0, &text, &t->err));
    for (size_t k = 0; k < COUNT(wanted); k++)
        CHECK(strstr(text, wanted[k]) != NULL, "no `%s` in:\n%s", wanted[k], text);
    assert_null(e.out[1]);
    kiln_free(text);
    finish(&e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_explain__a_loop),
        TEST(test_graph_explain__reductions),
        TEST(test_graph_explain__what_is_fused),
        TEST(test_graph_explain__rows),
        TEST(test_graph_explain__dot),
        TEST(test_graph_explain__what_widens),
        TEST(test_graph_explain__an_output_that_is_too_narrow),
        TEST(test_graph_explain__sources),
    };
    return test_env_main(argc, argv, "test_graph_explain", tests, COUNT(tests));
}
