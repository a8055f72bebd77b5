/*
 * test_family.c - a family of kernels that is no part of kiln: running differences along an axis.
 *
 * It is added through the interface that the families of kiln use themselves (docs/extending.md walks
 * through this file): a kiln__family, which says how a call is planned and where its source begins, a
 * kiln__family_calls, which decides the shapes of a call, and a template. On the cpu device only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/emit.h"
#include "codegen/template.h"
#include "codegen/templates.h"
#include "codegen/walk.h"
#include "kernel/resolve.h"
#include "test_env.h"
#include "warm/warm.h"

/* ---- the text half: a plan and a source ---- */

/* One unit is one sequence; a snippet sees each input `x` and, as `x_before`, the element before it. */
static void plan_difference(const kiln__plan_request *q, kiln__plan *plan)
{
    kiln__walk keep, along;
    kiln__variant *v = &plan->variant;

    kiln__walk_halves(q, &keep, &along);
    kiln__walk_sort(&keep, true);
    kiln__walk_collapse(&keep);
    kiln__walk_collapse(&along);
    kiln__walk_still(&keep);
    kiln__walk_still(&along);
    for (int k = 0; k < along.count; k++)
        v->access[along.param[k]] = KILN__ACCESS_STRIDED;
    kiln__walk_join(&keep, &along, plan);
    v->layout = KILN__LAYOUT_ROWS;
    v->block = 1;
    v->index_bits = 64;
    plan->size = kiln__walk_size(&keep) * kiln__walk_size(&along);
    plan->word[KILN__WORD_OUTPUTS] = plan->grid = kiln__walk_size(&keep);
    plan->word[KILN__WORD_LENGTH] = plan->word[KILN__WORD_COUNT_ALL] = kiln__walk_size(&along);
    plan->units_together = 1;
}

static const char *refuse(const kiln__definition *def, const kiln__variant *v)
{
    (void)def;
    return v->backend == KILN_BACKEND_CPU ? NULL : "differences have no kernel for a GPU, unlike";
}

static const kiln__variant_field fields[] = {
    KILN__FIELD("rank", rank, 1, KILN_RANK_MAX, false),
    KILN__FIELD("keep", keep_rank, 0, KILN_RANK_MAX, false),
    KILN__FIELD("bits", index_bits, 32, 64, true),
    KILN__FIELD("vec", vec, 1, 1, true),
    KILN__FIELD("unroll", unroll, 1, 1, false),
    KILN__FIELD("block", block, 0, 1, true),
};

static const kiln__family difference = {
    .name = "difference",
    .noun = "running difference",
    .kernel_name = "difference",
    .line = "op! axes",
    .combines = true,
    .part_bytes_max = KILN__PART_BYTES_MAX,
    .layouts = 1u << KILN__LAYOUT_ROWS,
    .fields = fields,
    .field_count = KILN_COUNT_OF(fields),
    .refuse = refuse,
    .plan = plan_difference,
    .skeleton = "difference/kernel.cpp",
    .slots = kiln__row_slots,
};

static const char skeleton[] =
    "// ${title}\n"
    "${prelude}\n"
    "//% for p in placeholders\n"
    "typedef ${p.ctype} ${p.placeholder};\n"
    "//% end\n"
    "//% insert arguments.cpp\n"
    "extern \"C\" __attribute__((visibility(\"default\")))\n"
    "void ${entry}(const kiln__args *in, long long begin, long long end)\n"
    "{\n"
    "    const kiln__args a = *in;\n"
    "    for (long long unit = begin; unit < end; unit++) {\n"
    "        long long rest = unit;\n"
    "//% for p in walking\n"
    "        ${p.const}char *base_${p.name} = (${p.const}char *)a.ptr_${p.name};\n"
    "//% end\n"
    "//% for a in keep_inward\n"
    "        const long long at_${a.n} = rest % a.shape_${a.n};\n"
    "        rest /= a.shape_${a.n};\n"
    "//% for p in walking\n"
    "        base_${p.name} += at_${a.n} * a.stride_${p.name}_${a.n};\n"
    "//% end\n"
    "//% end\n"
    "//% for p in walking\n"
    "        base_${p.name} += rest * a.stride_${p.name}_0;\n"
    "//% end\n"
    "        for (long long j = 0; j < a.length; j++) {\n"
    "//% for p in loaded\n"
    "            const long long step_${p.name} = a.stride_${p.name}_${last};\n"
    "            const ${p.type} ${p.name} = *(const ${p.type} *)(base_${p.name} + j * "
    "step_${p.name});\n"
    "            const ${p.type} ${p.name}_before =\n"
    "                j > 0 ? *(const ${p.type} *)(base_${p.name} + (j - 1) * step_${p.name}) : "
    "${p.type}(0);\n"
    "//% end\n"
    "//% for p in stored\n"
    "            ${p.type} ${p.name};\n"
    "//% end\n"
    "            do {\n"
    "${op}\n"
    "            } while (0);\n"
    "//% for p in stored\n"
    "            *(${p.type} *)(base_${p.name} + j * a.stride_${p.name}_${last}) = ${p.name};\n"
    "//% end\n"
    "        }\n"
    "    }\n"
    "}\n";

/* ---- the other half: calls ---- */

typedef struct difference_call_options {
    size_t struct_size;
    kiln_stream *stream;
    const kiln_axes *axes;
} difference_call_options;

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    (void)r; /* there is nothing beside the stream and the axes */
    (void)opts;
    (void)err;
    return KILN_OK;
}

static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    kiln_status status = kiln__decide_inputs(d, r, err);
    return status == KILN_OK ? kiln__read_axes(d, call->axes, r, err) : status;
}

static const kiln__family_calls difference_calls = {
    &difference, KILN__CALL_OPTIONS(difference_call_options), read_options, decide_shape, NULL};

/* ---- tests ---- */

static const struct kiln__template_file templates[] = {
    {"difference/kernel.cpp", skeleton, sizeof skeleton - 1, 1}};

typedef struct fixture {
    kiln_context *ctx;
    kiln__kernel *op;
} fixture;

static int enter(void **state)
{
    static fixture f;
    const kiln__definition_request request = {
        .in = "T x", .out = "T y", .snippet = {[KILN__SNIPPET_OP] = "y = x - x_before"}};
    kiln_context_options opts = KILN_CONTEXT_OPTIONS_INIT;

    opts.device = "cpu";
    kiln__test_template = templates;
    kiln__test_family = &difference_calls;
    assert_int_equal(kiln_context_create(&opts, &f.ctx, NULL), KILN_OK);
    assert_int_equal(kiln__kernel_new(f.ctx, true, &difference_calls, &request, &f.op, NULL),
                     KILN_OK);
    *state = &f;
    return 0;
}

static int leave(void **state)
{
    fixture *f = *state;

    kiln__kernel_destroy(f->op);
    kiln_context_release(f->ctx);
    kiln__test_template = NULL;
    kiln__test_family = NULL;
    return 0;
}

/* Differences of an array of three axes along one of them, by a plain loop. */
static void expect_differences(fixture *f, const int64_t *shape, int axis, const int *order)
{
    enum { MOST = 64 };
    float numbers[MOST], got[MOST];
    int64_t turned_shape[3];
    const int64_t step[3] = {shape[1] * shape[2], shape[2], 1}; /* of the view */
    const int64_t count = shape[0] * shape[1] * shape[2];
    kiln_array *x = NULL, *view = NULL, *y = NULL;
    const kiln_axes axes = {1, {axis}};
    const difference_call_options opts = {sizeof opts, NULL, &axes};
    kiln_error err = KILN_ERROR_INIT;

    /* `numbers` is in the order of memory, whose axis a is axis order[a] of the view. */
    for (int a = 0; a < 3; a++)
        turned_shape[a] = shape[order[a]];
    for (int64_t k = 0; k < count; k++)
        numbers[k] = (float)((k * 37) % 101);
    assert_int_equal(
        kiln_array_from_host(f->ctx, KILN_FLOAT32, 3, turned_shape, numbers, NULL, &x, NULL),
        KILN_OK);
    kiln_axes back = {.count = 3};
    for (int a = 0; a < 3; a++)
        back.axis[order[a]] = a;
    assert_int_equal(kiln_array_transpose(x, &back, &view, NULL), KILN_OK);
    const kiln_arg args[] = {kiln_arg_array(view), kiln_arg_out(&y)};
    if (kiln__call_run(f->op, args, 2, &opts, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, err.log != NULL ? err.log : "");
    assert_int_equal(kiln_array_to_host(y, got, sizeof got, NULL, NULL), KILN_OK);
    for (int64_t k = 0; k < count; k++) {
        int64_t at[3], offset = 0, before = 0, unit = 1;
        for (int a = 0; a < 3; a++)
            at[a] = k / step[a] % shape[a];
        for (int a = 2; a >= 0; a--) {
            offset += at[order[a]] * unit;
            before += (at[order[a]] - (order[a] == axis)) * unit;
            unit *= turned_shape[a];
        }
        const float want = numbers[offset] - (at[axis] > 0 ? numbers[before] : 0);
        if (got[k] != want)
            fail_msg("axis %d, element %d: %g, not %g", axis, (int)k, (double)got[k], (double)want);
    }
    kiln_array_release(x);
    kiln_array_release(view);
    kiln_array_release(y);
}

static void test_family__differences_are_those_of_a_plain_loop(void **state)
{
    static const int64_t shapes[][3] = {{3, 4, 5}, {1, 1, 7}, {6, 1, 2}, {1, 1, 1}};
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

    for (size_t s = 0; s < KILN_COUNT_OF(shapes); s++)
        for (size_t o = 0; o < KILN_COUNT_OF(orders); o++)
            for (int axis = 0; axis < 3; axis++)
                expect_differences(*state, shapes[s], axis, orders[o]);
}

/* What all families have comes with the interface: refusals, prepared launches, copies of inputs that
 * an output overlaps, texts of variants. */
static void test_family__calls_are_refused_and_prepared_as_those_of_other_families(void **state)
{
    fixture *f = *state;
    const float numbers[] = {1, 4, 9, 16};
    float got[4];
    const int64_t shape[] = {4};
    const kiln_axes wrong = {1, {3}};
    const difference_call_options opts = {sizeof opts, NULL, &wrong};
    kiln_array *x = NULL, *y = NULL;
    kiln_launch *launch = NULL;
    char *source = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln_array_from_host(f->ctx, KILN_FLOAT32, 1, shape, numbers, NULL, &x, NULL),
                     KILN_OK);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    assert_int_equal(kiln__call_run(f->op, args, 2, &opts, &err), KILN_ERR_AXIS);
    assert_non_null(
        strstr(err.message, "kernel \"difference\": axis 3 is out of range for rank 1"));
    kiln_error_clear(&err);

    const kiln__wanted prepared = {
        .function = "prepare", .what = KILN__WANT_LAUNCH, .out.launch = &launch};
    assert_int_equal(kiln__call_make(&prepared, f->op, args, 2, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_launch_run(launch, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_array_to_host(y, got, sizeof got, NULL, NULL), KILN_OK);
    assert_memory_equal(got, ((float[]){1, 3, 5, 7}), sizeof got);
    kiln_launch_destroy(launch);

    /* An element needs its neighbour, so that the input must be copied where it is the output. */
    const kiln_arg in_place[] = {kiln_arg_array(x), kiln_arg_array(x)};
    assert_int_equal(kiln__call_run(f->op, in_place, 2, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_array_to_host(x, got, sizeof got, NULL, NULL), KILN_OK);
    assert_memory_equal(got, ((float[]){1, 3, 5, 7}), sizeof got);

    const kiln__wanted text = {
        .function = "source", .what = KILN__WANT_SOURCE, .out.source = &source};
    assert_int_equal(kiln__call_make(&text, f->op, args, 2, NULL, NULL), KILN_OK);
    assert_non_null(strstr(source, "kernel \"difference\", layout rows"));
    kiln_free(source);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_family__variants_have_a_text(void **state)
{
    fixture *f = *state;
    static const char line[] =
        "cpu/1 rows rank=2 keep=1 bits=64 vec=1 unroll=1 block=1 args=strided,strided";
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};
    kiln__variant v;
    size_t at = 0, width = 0;
    kiln__buf text = KILN__BUF_INIT;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__variant_parse(line, f->op->def, dtypes, &v, &at, &width, NULL), KILN_OK);
    kiln__variant_print(&v, &text);
    assert_string_equal(text.text, line);
    kiln__buf_clear(&text);
    assert_int_equal(
        kiln__variant_parse("cpu/1 rows group=4", f->op->def, dtypes, &v, &at, &width, &err),
        KILN_ERR_FORMAT);
    assert_non_null(strstr(err.message, "this kind of kernel has no such field"));
    kiln_error_clear(&err);
}

/* ---- manifests ---- */

/* The source of the one kernel that a line stands for. */
typedef struct warmed {
    kiln__source source;
    int kernels;
} warmed;

static kiln_status take(void *user, const kiln__definition *def, const kiln__variant *variant,
                        kiln_error *err)
{
    warmed *w = user;

    kiln__source_clear(&w->source);
    w->kernels++;
    return kiln__emit(def, variant, &w->source, err);
}

static kiln_status warm(const char *line, warmed *w, kiln_error *err)
{
    kiln__manifest *m = kiln__manifest_of_families();
    kiln_status status = kiln__manifest_read(m, "m", line, strlen(line), NULL, NULL, err);

    *w = (warmed){KILN__SOURCE_INIT, 0};
    if (status == KILN_OK)
        status = kiln__warm_expand(kiln__manifest_at(m, 0), KILN_BACKEND_CPU, take, w, err);
    kiln__manifest_destroy(m);
    return status;
}

/* What a run of a program records is read back and gives the program's kernel again. */
static void test_family__kernels_are_recorded_warmed_and_replayed(void **state)
{
    static const char path[] = "test_family.jsonl";
    const kiln__definition_request request = {
        .in = "T x", .out = "T y", .snippet = {[KILN__SNIPPET_OP] = "y = x - x_before"}};
    const int64_t shape[] = {3, 4};
    const kiln_axes axes = {1, {0}};
    const difference_call_options opts = {sizeof opts, NULL, &axes};
    kiln_context_options recorded = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln__kernel *op = NULL;
    kiln_array *x = NULL, *y = NULL;
    char *source = NULL, *text_read = NULL;
    size_t bytes = 0;
    warmed w;

    (void)state;
    (void)remove(path);
    recorded.device = "cpu";
    recorded.record = path;
    assert_int_equal(kiln_context_create(&recorded, &ctx, NULL), KILN_OK);
    assert_int_equal(kiln__kernel_new(ctx, true, &difference_calls, &request, &op, NULL), KILN_OK);
    assert_int_equal(kiln_array_ones(ctx, KILN_FLOAT32, 2, shape, &x, NULL), KILN_OK);
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&y)};
    assert_int_equal(kiln__call_run(op, args, 2, &opts, NULL), KILN_OK);
    const kiln__wanted text = {
        .function = "source", .what = KILN__WANT_SOURCE, .out.source = &source};
    assert_int_equal(kiln__call_make(&text, op, args, 2, &opts, NULL), KILN_OK);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln__kernel_destroy(op);
    kiln_context_release(ctx);

    /* The kernel that fills x comes first. */
    assert_int_equal(kiln__read_file(path, 1 << 16, &text_read, &bytes), 0);
    const char *line = strstr(text_read, "{\"kind\":\"difference\"");
    assert_non_null(line);
    assert_int_equal(warm(line, &w, NULL), KILN_OK);
    assert_int_equal(w.kernels, 1);
    assert_string_equal(w.source.text, source);
    kiln__source_clear(&w.source);
    kiln__free(text_read);
    (void)remove(path);
    kiln_free(source);
}

/* Lines that are written by hand are planned, and checked by what the descriptor says of them. */
static void test_family__lines_are_planned_and_checked(void **state)
{
    static const char head[] = "{\"kind\":\"difference\",\"in\":\"T x\",\"out\":\"T y\","
                               "\"types\":[{\"T\":\"float32\"}]";
    static const struct {
        const char *rest, *message;
    } lines[] = {
        {",\"op\":\"y = x - x_before\",\"axes\":[0],\"shapes\":[[3,4]]}", NULL},
        {"}", "\"op\" is missing; a running difference needs it"},
        {",\"op\":\"y = x\",\"map\":\"x\"}", "a running difference has no \"map\""},
        {",\"op\":\"y = x\",\"reverse\":true}", "a running difference has no \"reverse\""},
    };
    char line[300];
    warmed w;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(lines); k++) {
        kiln_error err = KILN_ERROR_INIT;
        snprintf(line, sizeof line, "%s%s", head, lines[k].rest);
        assert_int_equal(warm(line, &w, &err), lines[k].message == NULL ? KILN_OK : KILN_ERR_FORMAT);
        assert_int_equal(w.kernels, lines[k].message == NULL);
        if (lines[k].message != NULL)
            assert_non_null(strstr(err.message, lines[k].message));
        kiln_error_clear(&err);
        kiln__source_clear(&w.source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family__differences_are_those_of_a_plain_loop),
        cmocka_unit_test(test_family__calls_are_refused_and_prepared_as_those_of_other_families),
        cmocka_unit_test(test_family__variants_have_a_text),
        cmocka_unit_test(test_family__kernels_are_recorded_warmed_and_replayed),
        cmocka_unit_test(test_family__lines_are_planned_and_checked),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
