/*
 * test_limits.c - calls at the edge of what there is: no parameters, no PATH, little stack, extents
 * near 2^63, expressions without end, one address for two results.
 *
 * Each test names what went wrong before: undefined behaviour, a crash, or a result that was lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

/* Sanitizers make frames several times as large. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LARGE_FRAMES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LARGE_FRAMES 1
#endif
#if !defined(LARGE_FRAMES)
#define LARGE_FRAMES 0
#endif

/* ---- definitions and shapes ---- */

/* Nothing to read and nothing to write: the loop runs all the same. It read parameter 0. */
static void test_limits__a_definition_may_have_no_parameters(void **state)
{
    test_env *t = *state;
    kiln_elementwise *op = NULL;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;

    call.has_size = true;
    call.size = 10;
    OK(t, kiln_elementwise_create(t->ctx, "", "", "int q = i; (void)q;", NULL, &op, &t->err));
    OK(t, kiln_elementwise_run(op, NULL, 0, &call, &t->err));
    kiln_elementwise_destroy(op);
}

/* Strides of such shapes would not fit, as with elements; 2^62 bytes of complex128 are the most. */
static void test_limits__an_empty_array_has_no_shape_of_any_size(void **state)
{
    static const struct {
        int64_t shape[3];
        kiln_status status;
    } rows[] = {
        {{INT64_MAX, 0, 1}, KILN_ERR_OVERFLOW},     {{0, INT64_MAX, INT64_MAX}, KILN_ERR_OVERFLOW},
        {{INT64_MAX / 8, 0, 2}, KILN_ERR_OVERFLOW}, {{INT64_MAX / 32, 0, 1}, KILN_OK},
        {{0, INT64_MAX / 32, 1}, KILN_OK},          {{-1, INT64_MAX / 32, 1}, KILN_OK},
        {{0, -1, INT64_MAX}, KILN_ERR_SHAPE},
    };
    test_env *t = *state;
    const int64_t shape[] = {0, 3};
    kiln_array *x = NULL;

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT64, 2, shape, &x, &t->err));
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        kiln_array *view = NULL;
        const kiln_status status = kiln_array_reshape(x, 3, rows[k].shape, &view, &t->err);
        if (status != rows[k].status)
            fail_msg("row %zu: %s", k, kiln_status_name(status));
        kiln_array_release(view);
    }
    /* The same in a graph, and where a cast makes elements wider. */
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        kiln_graph *graph = NULL;
        kiln_array *y = NULL;
        const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
        OK(t, kiln_graph_create(t->ctx, NULL, &graph, &t->err));
        kiln_node n = kiln_node_input(graph, "x", KILN_FLOAT64, 2, __FILE__, __LINE__);
        n = kiln_node_reshape(n, 3, rows[k].shape, __FILE__, __LINE__);
        n = kiln_node_cast(n, KILN_COMPLEX128, __FILE__, __LINE__);
        kiln_node_output(graph, "y", n, __FILE__, __LINE__);
        const kiln_status status = kiln_graph_run(graph, args, 2, NULL, &t->err);
        if ((status == KILN_OK) != (rows[k].status == KILN_OK))
            fail_msg("graph of row %zu: %s", k, kiln_status_name(status));
        kiln_array_release(y);
        kiln_graph_destroy(graph);
    }
    kiln_array_release(x);
}

/* ---- two results at one address ---- */

static void test_limits__two_results_need_two_addresses(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4};
    kiln_elementwise *op = NULL;
    kiln_graph *graph = NULL;
    kiln_array *x = NULL, *z = NULL, *w = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    OK(t,
       kiln_elementwise_create(t->ctx, "T x", "T y, T z", "y = x; z = 2 * x", NULL, &op, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(op, &t->err, x, &z, &z), "arguments 2 and 3");
    assert_null(z);
    OK(t, kiln_call(op, &t->err, x, &z, &w));
    kiln_array_release(w);
    w = NULL;
    /* Once more, with a recipe at hand. */
    kiln_array_release(z);
    z = NULL;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_call(op, &t->err, x, &z, &z), "one address");
    assert_null(z);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_array_divmod(x, x, &z, &z, &t->err), "one address");
    assert_null(z);

    OK(t, kiln_graph_create(t->ctx, NULL, &graph, &t->err));
    kiln_node n = kiln_node_input(graph, "x", KILN_FLOAT32, 1, __FILE__, __LINE__);
    kiln_node_output(graph, "y", kiln_add(n, 1), __FILE__, __LINE__);
    kiln_node_output(graph, "z", kiln_add(n, 2), __FILE__, __LINE__);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z), kiln_arg_out(&z)};
    FAILS(t, KILN_ERR_ARGUMENT, kiln_graph_run(graph, args, 3, NULL, &t->err), "one address");
    assert_null(z);
    kiln_graph_destroy(graph);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
}

/* ---- handles that were destroyed ---- */

/* Their memory was read after it was freed. */
static void test_limits__a_destroyed_handle_says_so(void **state)
{
    test_env *t = *state;
    const int64_t shape[] = {4};
    const char *const names[] = {"x"};
    kiln_elementwise *op = NULL;
    kiln_reduction *sum = NULL;
    kiln_launch *launch = NULL;
    kiln_graph *graph = NULL;
    kiln_stream *stream = NULL;
    kiln_event *event = NULL, *other = NULL;
    kiln_event_handle handle;
    kiln_array *x = NULL, *y = NULL;
    bool done = false;
    double ms = 0;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, shape, &y, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T y", "y = x", NULL, &op, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &sum,
                                &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &other, &t->err));
    OK(t, kiln_event_record(other, NULL, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "x + 1", names, 1, NULL, &graph, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(y)};
    OK(t, kiln_elementwise_prepare(op, args, 2, NULL, &launch, &t->err));
    for (int twice = 0; twice < 2; twice++) {
        kiln_launch_destroy(launch);
        kiln_elementwise_destroy(op);
        kiln_reduction_destroy(sum);
        kiln_graph_destroy(graph);
        kiln_stream_destroy(stream);
        kiln_event_destroy(event);
    }
    FAILS(t, KILN_ERR_RELEASED, kiln_call(op, &t->err, x, y), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_reduction_run(sum, args, 2, NULL, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_launch_run(launch, NULL, &t->err), "launch was destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_graph_run(graph, args, 2, NULL, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_stream_synchronize(stream, &t->err), "stream was destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_stream_query(stream, &done, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_stream_wait(t->ctx, stream, NULL, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_record(event, NULL, &t->err), "event was destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_query(event, &done, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_synchronize(event, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_elapsed_ms(event, other, &ms, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_elapsed_ms(other, event, &ms, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_event_export(event, &handle, &t->err), "destroyed");
    FAILS(t, KILN_ERR_RELEASED, kiln_stream_wait_event(t->ctx, NULL, event, &t->err), "destroyed");
    assert_null(kiln_event_native(event));
    kiln_event_destroy(other);
    kiln_array_release(y);
    kiln_array_release(x);
}

/* ---- little stack ---- */

static void *first_calls(void *state)
{
    test_env *t = state;
    const int64_t shape[] = {8, 9};
    const kiln_axes axis = {.count = 1, .axis = {1}};
    const char *const names[] = {"x"};
    kiln_array *x = NULL, *s = NULL, *c = NULL, *y = NULL;
    kiln_graph *graph = NULL;
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &err);

    if (status == KILN_OK)
        status = kiln_array_reduce(KILN_REDUCE_SUM, x, &axis, false, &s, &err);
    if (status == KILN_OK)
        status = kiln_array_scan(KILN_SCAN_CUMSUM, x, &axis, 0, &c, &err);
    if (status == KILN_OK)
        status = kiln_graph_parse(t->ctx, "x - mean(x, axis=1, keepdims=True) + sum(sqrt(x))",
                                  names, 1, NULL, &graph, NULL, &err);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    if (status == KILN_OK)
        status = kiln_graph_run(graph, args, 2, NULL, &err);
    kiln_graph_destroy(graph);
    kiln_array_release(y);
    kiln_array_release(c);
    kiln_array_release(s);
    kiln_array_release(x);
    kiln_error_clear(&err);
    return status == KILN_OK ? NULL : state;
}

/* Threads of some systems have little more. On the cpu: a CUDA driver takes what it likes. */
static void test_limits__first_calls_fit_a_small_stack(void **state)
{
    test_env *t = *state;
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed = NULL;

    if (t->cuda || LARGE_FRAMES)
        skip();
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)160 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, first_calls, t), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    pthread_attr_destroy(&attributes);
}

/* ---- expressions without end ---- */

static char *repeat(const char *text, size_t count, const char *end)
{
    const size_t width = strlen(text);
    char *all = malloc(width * count + strlen(end) + 1);

    assert_non_null(all);
    for (size_t k = 0; k < count; k++)
        memcpy(all + k * width, text, width);
    strcpy(all + count * width, end);
    return all;
}

/* Each of these took minutes, or all of the stack. */
static void test_limits__expressions_are_bounded_in_nodes_and_depth(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        const char *end, *says;
        kiln_status status;
    } rows[] = {
        {"x+1+", 128000, "x", "at most 32767 nodes", KILN_ERR_UNSUPPORTED},
        {"x**", 100000, "x", "nested too deeply", KILN_ERR_SYNTAX},
        {"(", 100000, "x", "nested too deeply", KILN_ERR_SYNTAX},
        {"-~", 100000, "x", "nested too deeply", KILN_ERR_SYNTAX},
        {"sqrt(", 100000, "x", "nested too deeply", KILN_ERR_SYNTAX},
        {"x[", 100000, "0", "nested too deeply", KILN_ERR_SYNTAX},
    };
    const char *const names[] = {"x"};
    test_env *t = *state;

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char *text = repeat(rows[k].text, rows[k].count, rows[k].end);
        kiln_graph *graph = NULL;
        FAILS(t, rows[k].status,
              kiln_graph_parse(t->ctx, text, names, 1, NULL, &graph, NULL, &t->err), rows[k].says);
        assert_null(graph);
        free(text);
    }
}

/* 12,000 different nodes are planned, with an equal one found for each of as many more. */
static void test_limits__thousands_of_nodes_are_planned(void **state)
{
    enum { TERMS = 6000 };
    const char *const names[] = {"x"};
    test_env *t = *state;
    const int64_t shape[] = {5};
    kiln_graph *graph = NULL;
    kiln_array *x = NULL, *y = NULL;
    size_t count = 0;
    char *text = malloc((size_t)TERMS * 40), *at = text;

    assert_non_null(text);
    for (int k = 0; k < TERMS; k++)
        at += sprintf(at, "%s(x+%d)*(x+%d)", k > 0 ? "-" : "", k, k);
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, shape, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, text, names, 1, NULL, &graph, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    OK(t, kiln_graph_kernel_count(graph, args, 2, &count, &t->err));
    assert_true(count > 1);
    kiln_graph_destroy(graph);
    kiln_array_release(x);
    free(text);
}

/* ---- no PATH ---- */

/* The compiler was found without PATH, and did not find its assembler and linker. */
static void test_limits__kernels_are_compiled_without_a_path(void **state)
{
    static const char *const values[] = {NULL, ""};
    test_env *t = *state;
    int status = 0;

    if (t->cuda)
        skip();
    for (size_t k = 0; k < 2; k++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
            kiln_context *ctx = NULL;
            kiln_array *x = NULL;
            const int64_t shape[] = {3};
            o.device = "cpu";
            o.cache_dir = "";
            if (values[k] == NULL)
                (void)unsetenv("PATH");
            else
                (void)setenv("PATH", values[k], 1);
            _exit(kiln_context_create(&o, &ctx, NULL) == KILN_OK &&
                          kiln_array_full(ctx, KILN_FLOAT32, 1, shape, 7, &x, NULL) == KILN_OK
                      ? 0
                      : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_limits__a_definition_may_have_no_parameters),
        TEST(test_limits__an_empty_array_has_no_shape_of_any_size),
        TEST(test_limits__two_results_need_two_addresses),
        TEST(test_limits__a_destroyed_handle_says_so),
        TEST(test_limits__first_calls_fit_a_small_stack),
        TEST(test_limits__expressions_are_bounded_in_nodes_and_depth),
        TEST(test_limits__thousands_of_nodes_are_planned),
        TEST(test_limits__kernels_are_compiled_without_a_path),
    };
    return test_env_main(argc, argv, "test_limits", tests, sizeof tests / sizeof tests[0]);
}
