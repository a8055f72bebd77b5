/*
 * test_options.c - what all options structs of the public headers have in common.
 */
#include <string.h>

#include "kiln/kiln.h"
#include "test_env.h"

/* Fields that several families have stand first, in one order. */
#define SAME(field, type)                                                                          \
    _Static_assert(offsetof(type, field) == offsetof(kiln_elementwise_options, field),             \
                   #field " of " #type)
#define SAME_CREATE(type)                                                                          \
    SAME(struct_size, type);                                                                       \
    SAME(name, type);                                                                              \
    SAME(preamble, type);                                                                          \
    SAME(compiler_options, type);                                                                  \
    SAME(compiler_option_count, type)
SAME_CREATE(kiln_reduction_options);
SAME_CREATE(kiln_scan_options);
SAME_CREATE(kiln_row_options);
SAME_CREATE(kiln_filter_options);
SAME(name, kiln_graph_options);

#define SAME_CALL(field, type)                                                                     \
    _Static_assert(offsetof(type, field) == offsetof(kiln_reduction_call_options, field),          \
                   #field " of " #type)
SAME_CALL(stream, kiln_elementwise_call_options);
SAME_CALL(stream, kiln_scan_call_options);
SAME_CALL(stream, kiln_row_call_options);
SAME_CALL(stream, kiln_filter_call_options);
SAME_CALL(stream, kiln_graph_call_options);
SAME_CALL(stream, kiln_matmul_options);
SAME_CALL(stream, kiln_sort_options);
SAME_CALL(stream, kiln_index_options);
SAME_CALL(axes, kiln_sort_options);
SAME_CALL(axes, kiln_scan_call_options);
SAME_CALL(axes, kiln_row_call_options);
SAME_CALL(keepdims, kiln_row_call_options);

/* The init function writes the bytes that it is told and no more: the size first, zeros behind it. The
 * padding of the INIT constant is unspecified, so only its first member is compared. */
#define CHECK_INIT(type, init, constant)                                                           \
    do {                                                                                           \
        const type expected = constant;                                                            \
        const size_t sizes[] = {sizeof(type), 2 * sizeof(size_t)};                                 \
        union {                                                                                    \
            type options;                                                                          \
            unsigned char bytes[sizeof(type) + 16];                                                \
        } room;                                                                                    \
        assert_true(expected.struct_size == sizeof(type));                                         \
        for (size_t s = 0; s < COUNT(sizes); s++) {                                                \
            memset(&room, 0xEE, sizeof room);                                                      \
            init(&room.options, sizes[s]);                                                         \
            assert_true(room.options.struct_size == sizes[s]);                                     \
            for (size_t k = sizeof(size_t); k < sizeof room; k++)                                  \
                assert_int_equal(room.bytes[k], k < sizes[s] ? 0 : 0xEE);                          \
        }                                                                                          \
        init(NULL, sizeof(type));                                                                  \
    } while (0)

static void test_options__start_empty_within_their_size(void **state)
{
    (void)state;
    CHECK_INIT(kiln_context_options, kiln_context_options_init, KILN_CONTEXT_OPTIONS_INIT);
    CHECK_INIT(kiln_stream_options, kiln_stream_options_init, KILN_STREAM_OPTIONS_INIT);
    CHECK_INIT(kiln_event_options, kiln_event_options_init, KILN_EVENT_OPTIONS_INIT);
    CHECK_INIT(kiln_dlpack_options, kiln_dlpack_options_init, KILN_DLPACK_OPTIONS_INIT);
    CHECK_INIT(kiln_benchmark_options, kiln_benchmark_options_init, KILN_BENCHMARK_OPTIONS_INIT);
    CHECK_INIT(kiln_graph_options, kiln_graph_options_init, KILN_GRAPH_OPTIONS_INIT);
    CHECK_INIT(kiln_graph_call_options, kiln_graph_call_options_init, KILN_GRAPH_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_scatter_options, kiln_scatter_options_init, KILN_SCATTER_OPTIONS_INIT);
    CHECK_INIT(kiln_sort_rule, kiln_sort_rule_init, KILN_SORT_RULE_INIT);
    CHECK_INIT(kiln_index_options, kiln_index_options_init, KILN_INDEX_OPTIONS_INIT);
    CHECK_INIT(kiln_module_options, kiln_module_options_init, KILN_MODULE_OPTIONS_INIT);
    CHECK_INIT(kiln_raw_call_options, kiln_raw_call_options_init, KILN_RAW_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_linalg_options, kiln_linalg_options_init, KILN_LINALG_OPTIONS_INIT);
    CHECK_INIT(kiln_matmul_options, kiln_matmul_options_init, KILN_MATMUL_OPTIONS_INIT);
    CHECK_INIT(kiln_sort_options, kiln_sort_options_init, KILN_SORT_OPTIONS_INIT);
    CHECK_INIT(kiln_elementwise_options, kiln_elementwise_options_init,
               KILN_ELEMENTWISE_OPTIONS_INIT);
    CHECK_INIT(kiln_elementwise_call_options, kiln_elementwise_call_options_init,
               KILN_ELEMENTWISE_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_reduction_options, kiln_reduction_options_init, KILN_REDUCTION_OPTIONS_INIT);
    CHECK_INIT(kiln_reduction_call_options, kiln_reduction_call_options_init,
               KILN_REDUCTION_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_scan_options, kiln_scan_options_init, KILN_SCAN_OPTIONS_INIT);
    CHECK_INIT(kiln_scan_call_options, kiln_scan_call_options_init, KILN_SCAN_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_row_options, kiln_row_options_init, KILN_ROW_OPTIONS_INIT);
    CHECK_INIT(kiln_row_call_options, kiln_row_call_options_init, KILN_ROW_CALL_OPTIONS_INIT);
    CHECK_INIT(kiln_filter_options, kiln_filter_options_init, KILN_FILTER_OPTIONS_INIT);
    CHECK_INIT(kiln_filter_call_options, kiln_filter_call_options_init,
               KILN_FILTER_CALL_OPTIONS_INIT);
}

#define ZEROS(call, macro) FAILS(t, KILN_ERR_ARGUMENT, call, "struct_size 0", "begin with " macro)

static const kiln_row_stage stage = {
    .map = "x", .type = "float", .reduce = "a + b", .identity = "0", .result = "s"};
static const char *const names[] = {"x"};
static const char source[] = "__global__ void one(float *y) { y[0] = 1; }\n";

static kiln_status nothing(void *user, kiln_error *err)
{
    (void)user, (void)err;
    return KILN_OK;
}

static void test_options__of_zeros_are_answered_with_the_macro_to_use(void **state)
{
    const kiln_context_options context_zero = {0};
    const kiln_stream_options stream_zero = {0};
    const kiln_event_options event_zero = {0};
    const kiln_dlpack_options dlpack_zero = {0};
    const kiln_benchmark_options benchmark_zero = {0};
    const kiln_graph_options graph_zero = {0};
    const kiln_elementwise_options loop_zero = {0};
    const kiln_reduction_options sum_zero = {0};
    const kiln_scan_options scan_zero = {0};
    const kiln_row_options row_zero = {0};
    const kiln_module_options module_zero = {0};
    const kiln_matmul_options matmul_zero = {0};
    const kiln_linalg_options linalg_zero = {0};
    const kiln_sort_options sort_zero = {0};
    const kiln_index_options index_zero = {0};
    const kiln_scatter_options scatter_zero = {0};
    const kiln_sort_rule rule_zero = {0};
    test_env *t = *state;
    kiln_context *context = NULL;
    kiln_stream *stream = NULL;
    kiln_event *event = NULL;
    DLManagedTensorVersioned *tensor = NULL;
    kiln_benchmark_result result;
    kiln_graph *graph = NULL;
    kiln_elementwise *loop = NULL;
    kiln_reduction *sum = NULL;
    kiln_scan *scan = NULL;
    kiln_row *row = NULL;
    kiln_module *module = NULL;
    kiln_array *x = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 0, NULL, &x, &t->err));
    ZEROS(kiln_context_create(&context_zero, &context, &t->err), "KILN_CONTEXT_OPTIONS_INIT");
    ZEROS(kiln_stream_create(t->ctx, &stream_zero, &stream, &t->err), "KILN_STREAM_OPTIONS_INIT");
    ZEROS(kiln_event_create(t->ctx, &event_zero, &event, &t->err), "KILN_EVENT_OPTIONS_INIT");
    ZEROS(kiln_array_to_dlpack(x, &dlpack_zero, &tensor, &t->err), "KILN_DLPACK_OPTIONS_INIT");
    ZEROS(kiln_linalg_inv(x, &linalg_zero, &x, &t->err), "KILN_LINALG_OPTIONS_INIT");
    ZEROS(kiln_array_put(x, x, kiln_arg_int(1), &scatter_zero, &t->err),
          "KILN_SCATTER_OPTIONS_INIT");
    ZEROS(kiln_array_take(x, x, 0, &index_zero, &x, &t->err), "KILN_INDEX_OPTIONS_INIT");
    ZEROS(kiln_array_sort(x, &sort_zero, &x, &t->err), "KILN_SORT_OPTIONS_INIT");
    ZEROS(kiln_array_sort_by("T x", (const kiln_array *const *)&x, 1, &rule_zero, NULL, NULL, NULL,
                             &t->err),
          "KILN_SORT_RULE_INIT");
    ZEROS(kiln_matmul(x, x, &matmul_zero, &x, &t->err), "KILN_MATMUL_OPTIONS_INIT");
    ZEROS(kiln_benchmark(t->ctx, nothing, NULL, &benchmark_zero, &result, &t->err),
          "KILN_BENCHMARK_OPTIONS_INIT");
    ZEROS(kiln_graph_create(t->ctx, &graph_zero, &graph, &t->err), "KILN_GRAPH_OPTIONS_INIT");
    ZEROS(kiln_graph_parse(t->ctx, "x + 1", names, 1, &graph_zero, &graph, NULL, &t->err),
          "KILN_GRAPH_OPTIONS_INIT");
    ZEROS(kiln_elementwise_create(t->ctx, "T x", "T y", "y = x", &loop_zero, &loop, &t->err),
          "KILN_ELEMENTWISE_OPTIONS_INIT");
    ZEROS(kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", &sum_zero, &sum,
                                &t->err),
          "KILN_REDUCTION_OPTIONS_INIT");
    ZEROS(kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", &scan_zero, &scan,
                           &t->err),
          "KILN_SCAN_OPTIONS_INIT");
    ZEROS(kiln_row_create(t->ctx, "T x", "T y", &stage, 1, "y = x / s", &row_zero, &row, &t->err),
          "KILN_ROW_OPTIONS_INIT");
    ZEROS(kiln_module_create(t->ctx, source, &module_zero, &module, &t->err),
          "KILN_MODULE_OPTIONS_INIT");
    kiln_array_release(x);
}

static void test_options__of_zeros_are_refused_by_calls_as_well(void **state)
{
    const kiln_graph_call_options graph_zero = {0};
    const kiln_elementwise_call_options loop_zero = {0};
    const kiln_reduction_call_options sum_zero = {0};
    const kiln_scan_call_options scan_zero = {0};
    const kiln_row_call_options row_zero = {0};
    const kiln_raw_call_options raw_zero = {0};
    test_env *t = *state;
    kiln_graph *graph = NULL;
    kiln_elementwise *loop = NULL;
    kiln_reduction *sum = NULL;
    kiln_scan *scan = NULL;
    kiln_row *row = NULL;
    kiln_module *module = NULL;
    kiln_raw *raw = NULL;
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, (int64_t[]){3}, &x, &t->err));
    OK(t, kiln_graph_parse(t->ctx, "x + 1", names, 1, NULL, &graph, NULL, &t->err));
    OK(t, kiln_elementwise_create(t->ctx, "T x", "T y", "y = x", NULL, &loop, &t->err));
    OK(t, kiln_reduction_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &sum,
                                &t->err));
    OK(t, kiln_scan_create(t->ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &scan, &t->err));
    OK(t, kiln_row_create(t->ctx, "T x", "T y", &stage, 1, "y = x / s", NULL, &row, &t->err));
    ZEROS(kiln_call_with(graph, &graph_zero, &t->err, x, &y), "KILN_GRAPH_CALL_OPTIONS_INIT");
    ZEROS(kiln_call_with(loop, &loop_zero, &t->err, x, &y), "KILN_ELEMENTWISE_CALL_OPTIONS_INIT");
    ZEROS(kiln_array_op(KILN_OP_SQRT, KILN_ARGS(x), &loop_zero, &y, &t->err),
          "KILN_ELEMENTWISE_CALL_OPTIONS_INIT");
    ZEROS(kiln_call_with(sum, &sum_zero, &t->err, x, &y), "KILN_REDUCTION_CALL_OPTIONS_INIT");
    ZEROS(kiln_array_reduce_with(KILN_REDUCE_SUM, x, &sum_zero, &y, &t->err),
          "KILN_REDUCTION_CALL_OPTIONS_INIT");
    ZEROS(kiln_call_with(scan, &scan_zero, &t->err, x, &y), "KILN_SCAN_CALL_OPTIONS_INIT");
    ZEROS(kiln_call_with(row, &row_zero, &t->err, x, &y), "KILN_ROW_CALL_OPTIONS_INIT");
    OK(t, kiln_module_create(t->ctx, source, NULL, &module, &t->err));
    OK(t, kiln_module_kernel(module, "one", "raw float32 y", &raw, &t->err));
    ZEROS(kiln_call_with(raw, &raw_zero, &t->err, x), "KILN_RAW_CALL_OPTIONS_INIT");
    assert_null(y);
    kiln_raw_destroy(raw);
    kiln_module_destroy(module);
    kiln_row_destroy(row);
    kiln_scan_destroy(scan);
    kiln_reduction_destroy(sum);
    kiln_elementwise_destroy(loop);
    kiln_graph_destroy(graph);
    kiln_array_release(x);
}

static void test_options__of_zeros_are_refused_by_filters(void **state)
{
    const kiln_filter_options filter_zero = {0};
    const kiln_filter_call_options call_zero = {0};
    test_env *t = *state;
    kiln_filter *filter = NULL;
    kiln_array *x = NULL, *y = NULL, *count = NULL;

    ZEROS(kiln_filter_create(t->ctx, "T x", "T y, int64 count", "x > 0", "y = x", &filter_zero,
                             &filter, &t->err),
          "KILN_FILTER_OPTIONS_INIT");
    OK(t, kiln_filter_create(t->ctx, "T x", "T y, int64 count", "x > 0", "y = x", NULL, &filter,
                             &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 1, (int64_t[]){3}, &x, &t->err));
    ZEROS(kiln_call_with(filter, &call_zero, &t->err, x, &y, &count),
          "KILN_FILTER_CALL_OPTIONS_INIT");
    assert_null(y);
    kiln_filter_destroy(filter);
    kiln_array_release(x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options__start_empty_within_their_size),
        TEST(test_options__of_zeros_are_answered_with_the_macro_to_use),
        TEST(test_options__of_zeros_are_refused_by_calls_as_well),
        TEST(test_options__of_zeros_are_refused_by_filters),
    };
    return test_env_main(argc, argv, "test_options", tests, COUNT(tests));
}
