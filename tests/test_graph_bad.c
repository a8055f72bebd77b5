/*
 * test_graph_bad.c - what goes wrong is told with the operation and the place it was recorded at,
 * and leaves the graph usable.
 */
#include "graph_env.h"

/* "test_graph_bad.c:LINE" of a line that is `before` lines above the caller's. */
#define AT(text, line) snprintf(text, sizeof(text), "test_graph_bad.c:%d", (line))

static kiln_array *ones(test_env *t, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *a = NULL;
    OK(t, kiln_array_ones(t->ctx, dtype, rank, shape, &a, &t->err));
    return a;
}

static void test_graph_bad__shapes_that_do_not_broadcast(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    char at[64];
    kiln_node x = kiln_graph_input(g, "x"), y = kiln_graph_input(g, "y");
    kiln_graph_output(g, "z", kiln_add(kiln_tanh(x), y)), AT(at, __LINE__);
    kiln_array *a = ones(t, KILN_FLOAT32, 2, (int64_t[]){3, 4});
    kiln_array *b = ones(t, KILN_FLOAT32, 1, (int64_t[]){5});
    kiln_array *c = ones(t, KILN_FLOAT32, 1, (int64_t[]){4}), *z = NULL;
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, a, b, &z), "add", at, "(3, 4)", "(5,)");
    assert_null(z);
    OK(t, kiln_call(g, &t->err, a, c, &z)); /* still usable */
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(c), kiln_array_release(z);
    kiln_graph_destroy(g);
}

static void test_graph_bad__the_first_fault_is_reported(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t), *other = graph_begin(t);
    char at[64];
    kiln_node x = kiln_graph_input(g, "x"), foreign = kiln_graph_input(other, "x");
    kiln_node bad = kiln_add(x, foreign); AT(at, __LINE__);
    kiln_node worse = kiln_cast(kiln_multiply(bad, 2), KILN_DTYPE_NONE);
    kiln_graph_output(g, "z", worse);
    FAILS(t, KILN_ERR_CONTEXT, kiln_graph_compile(g, &t->err), "add", at, "another graph");
    FAILS(t, KILN_ERR_CONTEXT, kiln_graph_compile(g, &t->err), "add", at);
    kiln_graph_destroy(g), kiln_graph_destroy(other);
}

static void test_graph_bad__plain_numbers_make_no_node(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    char at[64];
    kiln_node lost = kiln_add(1, 2); AT(at, __LINE__);
    kiln_graph_output(g, "z", kiln_multiply(kiln_graph_input(g, "x"), lost));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_graph_compile(g, &t->err), "multiply", "operand 2", at);
    kiln_graph_destroy(g);

    g = graph_begin(t);
    kiln_graph_output(g, "z", kiln_exp((kiln_node){0})); /* none belongs to g: found at the output */
    FAILS(t, KILN_ERR_ARGUMENT, kiln_graph_compile(g, &t->err), "output", "plain numbers");
    kiln_graph_destroy(g);
}

static void test_graph_bad__names(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    (void)kiln_graph_input(g, "x");
    (void)kiln_graph_input(g, "x");
    FAILS(t, KILN_ERR_NAME, kiln_graph_compile(g, &t->err), "input", "`x`");
    kiln_graph_destroy(g);

    g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "z", x);
    kiln_graph_output(g, "z", x);
    FAILS(t, KILN_ERR_NAME, kiln_graph_compile(g, &t->err), "output", "`z`");
    kiln_graph_destroy(g);

    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    opts.name = "two words";
    FAILS(t, KILN_ERR_NAME, kiln_graph_create(t->ctx, &opts, &g, &t->err), "two words");
    assert_null(g);
}

static void test_graph_bad__an_output_was_never_named(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    (void)kiln_add(kiln_graph_input(g, "x"), 1);
    FAILS(t, KILN_ERR_OUTPUT, kiln_graph_compile(g, &t->err), "no output");
    kiln_graph_destroy(g);
}

static void test_graph_bad__a_compiled_graph_does_not_change(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    char at[64];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "z", kiln_add(x, 1));
    OK(t, kiln_graph_compile(g, &t->err));
    kiln_graph_output(g, "w", kiln_multiply(x, 3)); AT(at, __LINE__);
    kiln_array *a = ones(t, KILN_FLOAT32, 1, (int64_t[]){4}), *z = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(g, &t->err, a, &z), "multiply", at, "compiled");
    OK(t, kiln_call(g, &t->err, a, &z)); /* told once */
    kiln_array_release(a), kiln_array_release(z);
    kiln_graph_destroy(g);
}

static void test_graph_bad__dtypes(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    char at[64];
    kiln_node x = kiln_graph_input(g, "x");
    kiln_graph_output(g, "z", kiln_negative(x)); AT(at, __LINE__);
    kiln_array *a = ones(t, KILN_BOOL, 1, (int64_t[]){4}), *z = NULL;
    kiln_array *b = ones(t, KILN_INT16, 1, (int64_t[]){4});
    FAILS(t, KILN_ERR_DTYPE, kiln_call(g, &t->err, a, &z), "negative", at, "bool");
    OK(t, kiln_call(g, &t->err, b, &z));
    FAILS(t, KILN_ERR_DTYPE, kiln_call(g, &t->err, b, a), "`z`", "bool", "int16");
    kiln_graph_destroy(g);

    g = graph_begin(t);
    x = kiln_graph_input_of(g, "x", KILN_FLOAT32, 2);
    kiln_graph_output(g, "z", kiln_max(x, KILN_ALL_AXES));
    FAILS(t, KILN_ERR_DTYPE, kiln_call(g, &t->err, b, &z), "`x`", "int16", "float32");
    kiln_array *flat = ones(t, KILN_FLOAT32, 1, (int64_t[]){4});
    FAILS(t, KILN_ERR_SHAPE, kiln_call(g, &t->err, flat, &z), "`x`", "rank 2");
    kiln_graph_destroy(g);

    g = graph_begin(t);
    kiln_graph_output(g, "z", kiln_max(kiln_floor(kiln_graph_input(g, "x")), KILN_ALL_AXES));
    kiln_array *c = ones(t, KILN_COMPLEX64, 1, (int64_t[]){4});
    FAILS(t, KILN_ERR_DTYPE, kiln_call(g, &t->err, c, &z), "floor", "complex64");
    kiln_array *none = ones(t, KILN_FLOAT32, 1, (int64_t[]){0});
    kiln_array_release(z), z = NULL;
    FAILS(t, KILN_ERR_IDENTITY, kiln_call(g, &t->err, none, &z), "max", "(0,)");
    kiln_graph_destroy(g);

    g = graph_begin(t);
    kiln_graph_output(g, "z", kiln_add(kiln_graph_input(g, "x"), 300));
    kiln_array *bytes = ones(t, KILN_UINT8, 1, (int64_t[]){4});
    FAILS(t, KILN_ERR_RANGE, kiln_call(g, &t->err, bytes, &z), "add", "300", "uint8");
    kiln_graph_destroy(g);
    kiln_array_release(a), kiln_array_release(b), kiln_array_release(c), kiln_array_release(z);
    kiln_array_release(flat), kiln_array_release(none), kiln_array_release(bytes);
}

static void test_graph_bad__axes_and_views(void **state)
{
    test_env *t = *state;
    const struct {
        int which;
        kiln_status status;
        const char *what, *text;
    } cases[] = {
        {0, KILN_ERR_AXIS, "sum", "axis 2"},           {1, KILN_ERR_AXIS, "sum", "twice"},
        {2, KILN_ERR_AXIS, "transpose", "rank 2"},     {3, KILN_ERR_SHAPE, "reshape", "(2, 3)"},
        {4, KILN_ERR_SHAPE, "broadcast_to", "(2, 3)"}, {5, KILN_ERR_AXIS, "select", "index 3"},
        {6, KILN_ERR_AXIS, "iota", "axis -3"},         {7, KILN_ERR_AXIS, "slice", "step"}};
    kiln_array *a = ones(t, KILN_FLOAT32, 2, (int64_t[]){2, 3}), *z = NULL;
    for (size_t k = 0; k < COUNT(cases); k++) {
        kiln_graph *g = graph_begin(t);
        kiln_node x = kiln_graph_input(g, "x"), n = x;
        switch (cases[k].which) {
        case 0:
            n = kiln_sum(x, KILN_AXES(2));
            break;
        case 1:
            n = kiln_sum(x, KILN_AXES(1, -1));
            break;
        case 2:
            n = kiln_transpose(x, KILN_AXES(1, 0, 2));
            break;
        case 3:
            n = kiln_reshape(x, 2, ((int64_t[]){4, -1}));
            break;
        case 4:
            n = kiln_broadcast_to(x, 2, ((int64_t[]){4, 3}));
            break;
        case 5:
            n = kiln_select(x, 1, 3);
            break;
        case 6:
            n = kiln_iota(x, -3);
            break;
        default:
            n = kiln_slice(x, 0, 0, 2, 0);
        }
        kiln_graph_output(g, "z", n);
        FAILS(t, cases[k].status, kiln_call(g, &t->err, a, &z), cases[k].what, cases[k].text,
              "test_graph_bad.c");
        kiln_graph_destroy(g);
    }
    kiln_array_release(a);
}

static void test_graph_bad__arguments(void **state)
{
    test_env *t = *state;
    kiln_graph *g = graph_begin(t);
    kiln_node x = kiln_graph_input(g, "x"), unused = kiln_graph_input(g, "unused");
    (void)unused;
    kiln_graph_output(g, "z", kiln_add(x, 1));
    kiln_array *a = ones(t, KILN_FLOAT32, 1, (int64_t[]){4}), *z = NULL, *gone = NULL;
    kiln_array *longer = ones(t, KILN_FLOAT32, 1, (int64_t[]){5}), *spread = NULL;
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call(g, &t->err, a, &z), "x, unused -> z");
    OK(t, kiln_call(g, &t->err, a, longer, &z)); /* not looked at */
    FAILS(t, KILN_ERR_NULL, kiln_call(g, &t->err, a, gone, &z), "`unused`");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(g, &t->err, &z, a, &z), "`x`");
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(g, &t->err, a, a, 3), "`z`", "number");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(g, &t->err, a, a, longer), "`z`", "(5,)", "(4,)");
    OK(t, kiln_array_broadcast_to(a, 2, (int64_t[]){2, 4}, &spread, &t->err));
    kiln_array *w = NULL;
    FAILS(t, KILN_ERR_OUTPUT, kiln_call(g, &t->err, spread, a, spread), "`z`", "broadcast");
    kiln_context *other = test_env_context(t, NULL);
    kiln_array *b = NULL;
    OK(t, kiln_array_ones(other, KILN_FLOAT32, 1, (int64_t[]){4}, &b, &t->err));
    FAILS(t, KILN_ERR_CONTEXT, kiln_call(g, &t->err, b, a, &w), "`x`");
    FAILS(t, KILN_ERR_NULL, kiln_graph_run(NULL, NULL, 0, NULL, &t->err), "NULL");
    char *text = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_graph_source(g, KILN_ARGS(a, a, &z), 1, &text, &t->err), "kernel 1");
    kiln_array_release(a), kiln_array_release(z), kiln_array_release(longer);
    kiln_array_release(spread), kiln_array_release(b);
    kiln_context_release(other);
    kiln_graph_destroy(g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_graph_bad__shapes_that_do_not_broadcast),
        TEST(test_graph_bad__the_first_fault_is_reported),
        TEST(test_graph_bad__plain_numbers_make_no_node),
        TEST(test_graph_bad__names),
        TEST(test_graph_bad__an_output_was_never_named),
        TEST(test_graph_bad__a_compiled_graph_does_not_change),
        TEST(test_graph_bad__dtypes),
        TEST(test_graph_bad__axes_and_views),
        TEST(test_graph_bad__arguments),
    };
    return test_env_main(argc, argv, "test_graph_bad", tests, COUNT(tests));
}
