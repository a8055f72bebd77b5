/*
 * test_row_bad.c - row programs that cannot be: what is wrong, in words, and nothing changed.
 */
#include "oracle/rows.h"

#include <string.h>

#include "core/core.h"

static const kiln_row_stage sum_stage = {.map = "x",
                                         .type = "float",
                                         .reduce = "a + b",
                                         .identity = "0",
                                         .result = "s"};

static kiln_row *make_sum(test_env *t)
{
    kiln_row *op = NULL;
    OK(t, kiln_row_create(t->ctx, "float32 x", "float32 y", &sum_stage, 1, "y = x / s", NULL, &op,
                          &t->err));
    return op;
}

/* A definition with one thing wrong; `op` stays NULL. */
static kiln_status create(test_env *t, const char *in, const char *out, kiln_row_stage stage,
                          const char *op, const kiln_row_options *opts)
{
    kiln_row *made = (kiln_row *)t;
    kiln_status status = kiln_row_create(t->ctx, in, out, &stage, 1, op, opts, &made, &t->err);
    assert_null(made);
    return status;
}

static void test_row_bad__definitions(void **state)
{
    test_env *t = *state;
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
    kiln_row_stage s = sum_stage;
    kiln_row *op = NULL;

    FAILS(t, KILN_ERR_NULL, create(t, NULL, "float32 y", s, "", NULL), "`in`");
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", NULL, s, "", NULL), "`outputs`");
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", s, NULL, NULL), "`op`");
    FAILS(t, KILN_ERR_SYNTAX, create(t, "float32 x", "", s, "", NULL), "no output");
    FAILS(t, KILN_ERR_SYNTAX, create(t, "float32 x", "raw float32 y", s, "", NULL), "`y`", "raw");
    s.map = NULL;
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", s, "y = s", NULL), "stage1.map");
    s = sum_stage, s.type = "";
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", s, "y = s", NULL), "stage1.type");
    s = sum_stage, s.reduce = NULL;
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", s, "y = s", NULL), "stage1.reduce");
    s = sum_stage, s.result = NULL;
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", s, "y = s", NULL), "result");
    s.result = "x";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", s, "y = s", NULL), "\"x\"",
          "parameter");
    s.result = "2s";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", s, "y = s", NULL), "\"2s\"");
    s.result = "while";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", s, "y = s", NULL), "keyword");
    s.result = "n";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", s, "y = s", NULL), "length of a row");
    s.result = "kiln__s";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", s, "y = s", NULL), "generated");
    opts.values = &(kiln_row_value){"float", "s"};
    opts.value_count = 1;
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts), "\"s\"",
          "twice");
    opts.values = &(kiln_row_value){NULL, "e"};
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts),
          "type of a value");
    opts.values = NULL;
    FAILS(t, KILN_ERR_NULL, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts),
          "`values`");
    opts.value_count = 0;
    opts.row_outputs = "float32 y";
    FAILS(t, KILN_ERR_NAME, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts),
          "already the name of output 1");
    opts.row_outputs = "float33 z";
    FAILS(t, KILN_ERR_UNKNOWN_TYPE, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts),
          "float33");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_row_create(t->ctx, "float32 x", "float32 y", &sum_stage, 0, "", NULL, &op, &t->err),
          "no stage");
    kiln_row_stage many[KILN_ROW_STAGES_MAX + 1];
    for (size_t k = 0; k <= KILN_ROW_STAGES_MAX; k++)
        many[k] = sum_stage;
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_row_create(t->ctx, "float32 x", "float32 y", many, KILN_ROW_STAGES_MAX + 1, "y = s",
                          NULL, &op, &t->err),
          "9 stages", "at most 8");
    FAILS(t, KILN_ERR_NULL, kiln_row_create(NULL, "", "", NULL, 0, "", NULL, &op, &t->err), "`ctx`");
    FAILS(t, KILN_ERR_NULL, kiln_row_create(t->ctx, "", "", NULL, 0, "", NULL, NULL, &t->err),
          "`out`");
    opts.struct_size = 3;
    FAILS(t, KILN_ERR_ARGUMENT, create(t, "float32 x", "float32 y", sum_stage, "y = s", &opts),
          "kiln_row_options");
    kiln_row_destroy(NULL);
}

static void test_row_bad__calls(void **state)
{
    test_env *t = *state;
    kiln_row *op = make_sum(t);
    kiln_array *x = NULL, *wrong = NULL, *y = NULL;
    const int64_t shape[2] = {3, 4}, other[2] = {4, 3};
    char *text = (char *)t;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, other, &wrong, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT_COUNT, kiln_call_over(op, KILN_AXES(1), &t->err, x), "2 arguments");
    FAILS(t, KILN_ERR_OUTPUT, kiln_call_over(op, KILN_AXES(1), &t->err, x, wrong), "(4, 3)",
          "(3, 4)");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, KILN_AXES(2), &t->err, x, &y), "axis 2");
    FAILS(t, KILN_ERR_AXIS, kiln_call_over(op, KILN_AXES(1, -1), &t->err, x, &y), "twice");
    FAILS(t, KILN_ERR_UNDECIDED_SIZE, kiln_call_over(op, KILN_AXES(0), &t->err, 1.0, &y),
          "no input array");
    FAILS(t, KILN_ERR_NULL, kiln_call_over((kiln_row *)NULL, KILN_AXES(0), &t->err, x, &y), "NULL");
    FAILS(t, KILN_ERR_NULL, kiln_row_source(op, KILN_ARGS(x, &y), NULL, NULL, &t->err), "text_out");
    FAILS(t, KILN_ERR_AXIS,
          kiln_row_source(op, KILN_ARGS(x, &y), &(kiln_row_call_options){
                              sizeof(kiln_row_call_options), NULL, KILN_AXES(7), false},
                          &text, &t->err),
          "axis 7");
    assert_null(text);
    assert_null(y);
    OK(t, kiln_call_over(op, KILN_AXES(1), &t->err, x, &y)); /* still as good as before */
    kiln_array_release(x), kiln_array_release(wrong), kiln_array_release(y);
    kiln_row_destroy(op);
}

static void test_row_bad__empty_rows_without_identity(void **state)
{
    test_env *t = *state;
    kiln_row_stage s = {.map = "x", .type = "float", .reduce = "a < b ? a : b", .result = "least"};
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
    kiln_row *op = NULL;
    kiln_array *x = NULL, *y = NULL;
    const int64_t shape[2] = {3, 0};

    opts.row_outputs = "float32 y";
    opts.row_post = "y = least";
    OK(t, kiln_row_create(t->ctx, "float32 x", "", &s, 1, "", &opts, &op, &t->err));
    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    FAILS(t, KILN_ERR_IDENTITY, kiln_call_over(op, KILN_AXES(1), &t->err, x, &y), "(3, 0)",
          "stage 1");
    assert_null(y);
    kiln_array_release(x);
    kiln_row_destroy(op);
}

/* What a compiler says is told of the stage and the text it is about. */
static void test_row_bad__compile_errors_name_the_stage(void **state)
{
    static const struct {
        kiln_row_stage second;
        const char *op, *where;
    } cases[] = {
        {{.map = "x - q", .type = "float", .reduce = "a + b", .result = "z"}, "y = z", "stage2.map, line 1, column 5"},
        {{.map = "x", .type = "float", .reduce = "a + c", .result = "z"}, "y = z", "stage2.reduce, line 1, column 5"},
        {{.prep = "int k;\nk = nothing;", .map = "x", .type = "float", .reduce = "a", .result = "z"},
         "y = z", "stage2.prep, line 2, column 5"},
        {{.map = "x", .type = "float", .reduce = "a + b", .result = "z", .post = "float q = t0;"},
         "y = z", "stage2.post, line 1, column 11"},
        {{.map = "x", .type = "flood", .reduce = "a + b", .result = "z"}, "y = z", "stage2.type, line 1"},
        {{.map = "x", .type = "float", .reduce = "a + b", .result = "z"}, "y = later", "op, line 1, column 5"},
    };
    test_env *t = *state;
    kiln_array *x = NULL, *y = NULL;
    const int64_t shape[2] = {3, 4};

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, shape, &x, &t->err));
    for (size_t k = 0; k < COUNT(cases); k++) {
        const kiln_row_stage stages[] = {sum_stage, cases[k].second};
        kiln_row *op = NULL;
        OK(t, kiln_row_create(t->ctx, "float32 x", "float32 y", stages, 2, cases[k].op, NULL, &op,
                              &t->err));
        FAILS(t, KILN_ERR_COMPILE, kiln_call_over(op, KILN_AXES(1), &t->err, x, &y), "kiln_row",
              cases[k].where);
        kiln_row_destroy(op);
    }
    kiln_array_release(x);
}

/* Each allocation of a definition fails once; nothing is left behind. */
static void test_row_bad__definitions_survive_each_allocation_failure(void **state)
{
    const row_definition *d = &row_definitions[ROW_SOFTMAX];
    test_env *t = *state;
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
    kiln_status status = KILN_ERR_NO_MEMORY;

    opts.values = d->values;
    opts.value_count = d->value_count;
    opts.preamble = row_preamble;
    opts.row_outputs = "float32 peak";
    opts.row_post = "peak = m";
    for (size_t nth = 0; status != KILN_OK; nth++) {
        kiln_row *op = NULL;
        kiln__test_alloc_fail_at(nth);
        status = kiln_row_create(t->ctx, d->in, d->out, d->stages, d->stage_count, d->op, &opts, &op,
                                 NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        assert_true((status == KILN_OK) == (op != NULL));
        kiln_row_destroy(op);
    }
}

static void test_row_bad__options_init(void **state)
{
    (void)state;
    kiln_row_options opts;
    kiln_row_call_options call;
    memset(&opts, 0xff, sizeof opts);
    memset(&call, 0xff, sizeof call);
    kiln_row_options_init(&opts, sizeof opts);
    kiln_row_call_options_init(&call, sizeof call);
    assert_true(opts.struct_size == sizeof opts && opts.name == NULL && opts.value_count == 0);
    assert_true(call.struct_size == sizeof call && call.axes == NULL && !call.keepdims);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_row_bad__definitions),
        TEST(test_row_bad__calls),
        TEST(test_row_bad__empty_rows_without_identity),
        TEST(test_row_bad__compile_errors_name_the_stage),
        TEST(test_row_bad__definitions_survive_each_allocation_failure),
        TEST(test_row_bad__options_init),
    };
    return test_env_main(argc, argv, "test_row_bad", tests, COUNT(tests));
}
