/*
 * test_row_archs.c - generated row programs compiled for every GPU that NVRTC knows, without a GPU;
 * and which class the planner chooses.
 *
 * What kernels compute is tested where they run. Without NVRTC only the classes are looked at.
 */
#include "oracle/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archs.h"
#include "codegen/codegen.h"
#include "test_data.h"

enum { UNITS = 132 };

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

/* Where an input lies; outputs are C-order. */
typedef struct walk_case {
    const char *name;
    int rank;
    int64_t shape[3];
    int64_t stride[3]; /* elements */
    bool rows[3];      /* along these axes */
    kiln__layout layout;
    int group, split, tile; /* of a GPU with clusters, for softmax of float32 */
} walk_case;

static const walk_case walks[] = {
    {"rows of 4", 2, {1 << 20, 4}, {4, 1}, {false, true}, KILN__LAYOUT_HELD, 1, 1, 0},
    {"rows of 33", 2, {1 << 20, 33}, {33, 1}, {false, true}, KILN__LAYOUT_HELD, 1, 1, 0},
    {"rows of 65", 2, {1 << 20, 65}, {65, 1}, {false, true}, KILN__LAYOUT_HELD, 2, 1, 0},
    {"rows of 97", 2, {1 << 20, 97}, {97, 1}, {false, true}, KILN__LAYOUT_HELD, 4, 1, 0},
    {"rows of 129", 2, {1 << 20, 129}, {129, 1}, {false, true}, KILN__LAYOUT_HELD, 32, 1, 0},
    {"rows of 8", 2, {1 << 20, 8}, {8, 1}, {false, true}, KILN__LAYOUT_HELD, 2, 1, 0},
    {"rows of 64", 2, {1 << 20, 64}, {64, 1}, {false, true}, KILN__LAYOUT_HELD, 8, 1, 0},
    {"rows of 999", 2, {1 << 18, 999}, {999, 1}, {false, true}, KILN__LAYOUT_HELD, 32, 1, 0},
    {"rows of 1000", 2, {1 << 18, 1000}, {1000, 1}, {false, true}, KILN__LAYOUT_HELD, 32, 1, 0},
    {"rows of 1028", 2, {1 << 18, 1028}, {1028, 1}, {false, true}, KILN__LAYOUT_HELD, 32, 1, 0},
    {"rows of 4096", 2, {1 << 16, 4096}, {4096, 1}, {false, true}, KILN__LAYOUT_HELD, 64, 1, 0},
    {"rows of 4097", 2, {1 << 16, 4097}, {4097, 1}, {false, true}, KILN__LAYOUT_HELD, 64, 1, 0},
    {"rows of 50257", 2, {4096, 50257}, {50257, 1}, {false, true}, KILN__LAYOUT_HELD, 256, 6, 0},
    {"rows of 16384", 2, {16384, 16384}, {16384, 1}, {false, true}, KILN__LAYOUT_HELD, 256, 1, 0},
    {"rows of 20000", 2, {16384, 20000}, {20000, 1}, {false, true}, KILN__LAYOUT_HELD, 128, 4, 0},
    {"rows of 131072", 2, {2048, 1 << 17}, {1 << 17, 1}, {false, true}, KILN__LAYOUT_HELD, 512, 8, 0},
    {"rows of 200000", 2, {1024, 200000}, {200000, 1}, {false, true}, KILN__LAYOUT_HELD, 512, 8, 0},
    {"rows of 300000", 2, {1024, 300000}, {300000, 1}, {false, true}, KILN__LAYOUT_REREAD, 1024, 1, 0},
    {"every second", 2, {4096, 4096}, {8192, 2}, {false, true}, KILN__LAYOUT_HELD, 128, 1, 0},
    {"columns", 2, {200, 4096}, {4096, 1}, {true, false}, KILN__LAYOUT_HELD, 8, 1, 32},
    {"long columns", 2, {1 << 14, 1 << 14}, {1 << 14, 1}, {true, false}, KILN__LAYOUT_REREAD, 8, 1,
     32},
    {"middle", 3, {64, 512, 1024}, {512 * 1024, 1024, 1}, {false, true, false}, KILN__LAYOUT_HELD, 16, 1, 16},
    {"outer and inner", 3, {3, 500, 1024}, {500 * 1024, 1024, 1}, {true, false, true},
     KILN__LAYOUT_HELD, 64, 1, 0},
    {"far", 2, {1 << 20, 4096}, {4096, 1}, {false, true}, KILN__LAYOUT_HELD, 64, 1, 0},
};

/* ---- planning ---- */

typedef struct generated {
    kiln__plan plan;
    char *text;
} generated;

static kiln__definition *define(const row_definition *d)
{
    kiln_row_stage stages[3];
    kiln_row_value values[2];
    kiln__definition *def = NULL;
    const kiln__definition_request request = {
        .name = d->name,
        .in = d->in,
        .out = d->out,
        .row_out = d->row_out,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = row_preamble,
                    [KILN__SNIPPET_OP] = d->op,
                    [KILN__SNIPPET_POST] = d->row_post},
        .family = &kiln__family_row,
        .stages = stages,
        .stage_count = d->stage_count,
        .values = values,
        .value_count = d->value_count,
    };
    for (size_t s = 0; s < d->stage_count; s++)
        stages[s] = (kiln_row_stage){d->stages[s].prep,     d->stages[s].map,
                                      d->stages[s].type,     d->stages[s].reduce,
                                      d->stages[s].identity, d->stages[s].result,
                                      d->stages[s].post};
    for (size_t v = 0; v < d->value_count; v++)
        values[v] = (kiln_row_value){d->values[v].type, d->values[v].name};
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    return def;
}

/* Weights have the row's shape, everything else the loop's; outputs are C-order. */
static void generate(row_kind kind, kiln_dtype dtype, const walk_case *w, kiln_backend backend,
                     bool clusters, generated *out)
{
    const row_definition *d = &row_definitions[kind];
    kiln__definition *def = define(d);
    kiln_dtype dtypes[4];
    kiln__operand operands[4];
    int64_t strides[4][3] = {{0}}, row_shape[3];
    kiln__source source = KILN__SOURCE_INIT;

    memset(operands, 0, sizeof operands);
    for (size_t p = 0; p < def->param_count; p++) {
        const kiln__param *param = &def->params[p];
        const bool column = p > 0 && !param->output && kind != ROW_COSINE;
        int64_t step = 1;
        dtypes[p] = param->dtype != KILN_DTYPE_NONE ? param->dtype : dtype;
        const int64_t size = (int64_t)kiln_dtype_size(dtypes[p]);
        for (int a = w->rank - 1; a >= 0; a--) {
            const bool moves = param->row ? !w->rows[a] : !column || w->rows[a];
            strides[p][a] = !moves ? 0 : (param->output || column ? step : w->stride[a]) * size;
            step *= moves ? w->shape[a] : 1;
            row_shape[a] = w->rows[a] ? 1 : w->shape[a];
        }
        operands[p] = (kiln__operand){.is_array = true,
                                      .written = param->output,
                                      .itemsize = (uint8_t)size,
                                      .rank = w->rank,
                                      .shape = param->row ? row_shape : w->shape,
                                      .strides = strides[p],
                                      .address = 4096};
    }
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {backend, UNITS, clusters, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = w->rank,
                                          .shape = w->shape,
                                          .along = w->rows},
                    &out->plan);
    assert_int_equal(kiln__emit(def, &out->plan.variant, &source, NULL), KILN_OK);
    out->text = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
}

/* ---- classes ---- */

static void test_row_archs__rows_are_dealt_out_by_their_length(void **state)
{
    (void)state;
    for (size_t w = 0; w < KILN_COUNT_OF(walks); w++) {
        const walk_case *c = &walks[w];
        generated g;
        generate(ROW_SOFTMAX, KILN_FLOAT32, c, KILN_BACKEND_CUDA, true, &g);
        const kiln__variant *v = &g.plan.variant;
        CHECK(v->layout == c->layout && v->row.group == c->group && v->row.cluster == c->split &&
                  v->row.tile == c->tile,
              "%s: %s, group %d, split %d, tile %d", c->name,
              kiln__layout_name((kiln__layout)v->layout), v->row.group, v->row.cluster,
              v->row.tile);
        /* Rows of a block or a cluster that begin anywhere have elements beside their vectors. */
        const bool odd = c->tile == 0 && c->group >= 64 && v->layout == KILN__LAYOUT_HELD &&
                         c->shape[c->rank - 1] % 4 != 0;
        CHECK(v->row.peel == odd && (!odd || v->vec == 4),
              "%s: vec %d, peel %d", c->name, v->vec, v->row.peel);
        const int64_t rows = g.plan.word[KILN__WORD_OUTPUTS];
        /* Of short rows that no vectors fit a block copies several, and a thread, or a few, take each. */
        const bool staged = c->group <= 4 && c->tile == 0 && c->shape[c->rank - 1] % 4 != 0;
        CHECK(v->row.stage == (staged ? 16 : 0), "%s: accesses of %d bytes", c->name, v->row.stage);
        const int64_t each =
            staged ? g.plan.word[KILN__WORD_CHUNK] : v->block / v->row.group;
        CHECK(g.plan.grid * each >= rows * v->row.cluster, "%s: %lld blocks", c->name,
              (long long)g.plan.grid);
        if (v->layout == KILN__LAYOUT_HELD)
            CHECK((int64_t)v->row.group * v->row.cluster * v->unroll >=
                      g.plan.word[KILN__WORD_LENGTH],
                  "%s: %d x %d x %d accesses of %lld", c->name, v->row.group, v->row.cluster,
                  v->unroll, (long long)g.plan.word[KILN__WORD_LENGTH]);
        kiln__free(g.text);
    }
}

/* Where nothing is written for an element, registers hold twice as many: loads are all that there is. */
static void test_row_archs__rows_that_are_only_read_take_fewer_blocks(void **state)
{
    static const walk_case walk = {"rows of 65536", 2, {4096, 1 << 16}, {1 << 16, 1}, {false, true},
                                   KILN__LAYOUT_HELD, 0, 0, 0};
    static const row_kind kinds[] = {ROW_SOFTMAX, ROW_COSINE};
    int64_t threads[2];
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        generated g;
        generate(kinds[k], KILN_FLOAT32, &walk, KILN_BACKEND_CUDA, true, &g);
        const kiln__variant *v = &g.plan.variant;
        assert_int_equal(v->layout, KILN__LAYOUT_HELD);
        threads[k] = (int64_t)v->row.group * v->row.cluster;
        kiln__free(g.text);
    }
    /* Two inputs in half as many threads as one that has results. */
    assert_int_equal(threads[0], 2 * threads[1]);
}

/* Clusters of 16-bit floats get no more registers than hold their elements, two in a register until
 * they are computed with. */
static void test_row_archs__clusters_of_short_floats_are_many(void **state)
{
    static const walk_case walk = {"rows of 131072",
                                   2,
                                   {4096, 1 << 17},
                                   {1 << 17, 1},
                                   {false, true},
                                   KILN__LAYOUT_HELD,
                                   0,
                                   0,
                                   0};
    static const struct {
        row_kind kind;
        kiln_dtype dtype;
        const char *bounds;
    } cases[] = {
        {ROW_SOFTMAX, KILN_FLOAT32, "(512, 2)"},
        {ROW_SOFTMAX, KILN_FLOAT16,
         "(256, 3)"}, /* exponentials of 4 bytes are kept: 64 registers */
        {ROW_SOFTMAX, KILN_BFLOAT16, "(256, 3)"},
        {ROW_LAYER_NORM, KILN_FLOAT32, "(512, 2)"},
        {ROW_LAYER_NORM, KILN_FLOAT16, "(256, 4)"}, /* elements alone: 32 */
        {ROW_LAYER_NORM, KILN_BFLOAT16, "(256, 4)"},
    };
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        generated g;
        generate(cases[k].kind, cases[k].dtype, &walk, KILN_BACKEND_CUDA, true, &g);
        const char *bounds = strstr(g.text, "\n__launch_bounds__");
        assert_non_null(bounds);
        bounds += strlen("\n__launch_bounds__");
        CHECK(strncmp(bounds, cases[k].bounds, strlen(cases[k].bounds)) == 0, "%s of %s: %.10s",
              row_definitions[cases[k].kind].name, kiln_dtype_name(cases[k].dtype), bounds);
        kiln__free(g.text);
    }
}

enum { LONG_ROWS = 1 << 14, LONG_STAGES = 6 };

/* A plan for so many stages over rows of float32, with an output for each element or for each row. */
static kiln__plan plan_stages(size_t count, bool writes, int64_t length)
{
    static const char *const names[LONG_STAGES] = {"s0", "s1", "s2", "s3", "s4", "s5"};
    const int64_t shape[] = {LONG_ROWS, length}, row_shape[] = {LONG_ROWS, 1};
    const int64_t strides[] = {4 * length, 4}, row_strides[] = {4, 0};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};
    const bool along[] = {false, true};
    kiln_row_stage stages[LONG_STAGES];
    kiln__definition_request request = {
        .name = "long_rows", .in = "float32 x", .out = "", .family = &kiln__family_row};
    kiln__operand operands[] = {
        {.is_array = true, .itemsize = 4, .rank = 2, .shape = shape, .strides = strides, .address = 4096},
        {.is_array = true, .itemsize = 4, .rank = 2, .written = true, .address = 4096}};
    kiln__definition *def = NULL;
    kiln__plan plan;

    for (size_t s = 0; s < count; s++)
        stages[s] = (kiln_row_stage){.map = s == 0 ? "x" : "x - s0",
                                     .type = "float",
                                     .reduce = "a + b",
                                     .identity = "0",
                                     .result = names[s]};
    request.stages = stages;
    request.stage_count = count;
    *(writes ? &request.out : &request.row_out) = "float32 y";
    request.snippet[KILN__SNIPPET_OP] = writes ? "y = x - s1" : "";
    request.snippet[KILN__SNIPPET_POST] = writes ? "" : "y = s1";
    operands[1].shape = writes ? shape : row_shape;
    operands[1].strides = writes ? strides : row_strides;
    kiln_error err = KILN_ERROR_INIT;
    if (kiln__definition_create(&request, &def, &err) != KILN_OK)
        fail_msg("%s", err.message);
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, true, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = 2,
                                          .shape = shape,
                                          .along = along},
                    &plan);
    kiln__definition_destroy(def);
    return plan;
}

/* Programs of three stages and more hold half as much in a thread, so that their text, which is one for each
 * element of a thread, stays short. */
static void test_row_archs__threads_of_long_programs_hold_less(void **state)
{
    static const struct {
        size_t stages;
        bool writes;
        int64_t length;
        int group, cluster, unroll;
    } cases[] = {{2, true, 1024, 32, 1, 8},    {3, true, 1024, 32, 1, 8},     {2, true, 2048, 32, 1, 16},
                 {3, true, 2048, 64, 1, 8},    {2, true, 4096, 64, 1, 16},    {3, true, 4096, 128, 1, 8},
                 {6, true, 4096, 128, 1, 8},   {3, true, 65536, 256, 8, 8},   {3, true, 262144, 1024, 8, 8},
                 {2, false, 8192, 64, 1, 32},  {3, false, 8192, 128, 1, 16}};
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        const kiln__plan plan = plan_stages(cases[k].stages, cases[k].writes, cases[k].length);
        const kiln__variant *v = &plan.variant;
        CHECK(v->layout == KILN__LAYOUT_HELD && v->row.group == cases[k].group &&
                  v->row.cluster == cases[k].cluster && v->unroll == cases[k].unroll,
              "%zu stages, rows of %lld: %d threads of %d blocks hold %d accesses", cases[k].stages,
              (long long)cases[k].length, v->row.group, v->row.cluster, v->unroll);
    }
}

/* A larger block takes what would be a cluster's. */
static void test_row_archs__old_gpus_make_do_without_clusters(void **state)
{
    static const int64_t lengths[] = {16384, 20000, 32768, 33000, 131072};
    static const kiln__layout layouts[] = {KILN__LAYOUT_HELD, KILN__LAYOUT_HELD, KILN__LAYOUT_HELD,
                                           KILN__LAYOUT_REREAD, KILN__LAYOUT_REREAD};
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(lengths); k++) {
        const walk_case w = {"rows", 2, {4096, lengths[k]}, {lengths[k], 1}, {false, true},
                             layouts[k], 0, 0, 0};
        generated g;
        generate(ROW_SOFTMAX, KILN_FLOAT32, &w, KILN_BACKEND_CUDA, false, &g);
        assert_int_equal(g.plan.variant.layout, layouts[k]);
        assert_int_equal(g.plan.variant.row.cluster, 1);
        assert_true(kiln__row_is_held(KILN_BACKEND_CUDA, false, lengths[k], 4) ==
                    (layouts[k] == KILN__LAYOUT_HELD));
        kiln__free(g.text);
    }
    assert_true(kiln__row_is_held(KILN_BACKEND_CUDA, true, 262144, 4));
    assert_false(kiln__row_is_held(KILN_BACKEND_CUDA, true, 262145, 4));
    assert_true(kiln__row_is_held(KILN_BACKEND_CPU, false, 262144, 4));
    assert_false(kiln__row_is_held(KILN_BACKEND_CPU, false, 262145, 4));
}

/* ---- golden sources ---- */

/* A source from the definition's preamble on, without line numbers that hang on the prelude. */
static char *make_short(const char *source)
{
    kiln__buf b = KILN__BUF_INIT;
    const char *line = strstr(source, "#line 1 \"preamble\"");

    assert_non_null(line);
    while (*line != '\0') {
        const size_t bytes = strcspn(line, "\n");
        if (strncmp(line, "#line ", 6) == 0 && strstr(line, "\"kiln.generated\"") < line + bytes &&
            strstr(line, "\"kiln.generated\"") != NULL)
            kiln__buf_puts(&b, "#line * \"kiln.generated\"");
        else
            kiln__buf_put(&b, line, bytes);
        kiln__buf_putc(&b, '\n');
        line += bytes + (line[bytes] == '\n');
    }
    return kiln__buf_take(&b);
}

/* KILN_UPDATE_GOLDEN=1 writes the files anew: read the difference, for it empties users' caches. */
static void test_row_archs__sources_are_what_the_files_say(void **state)
{
    static const struct {
        const char *file;
        row_kind kind;
        const char *walk;
        kiln_backend backend;
    } cases[] = {
        {"golden/row_softmax_33.cu", ROW_SOFTMAX, "rows of 33", KILN_BACKEND_CUDA},
        {"golden/row_softmax_1000.cu", ROW_SOFTMAX, "rows of 1000", KILN_BACKEND_CUDA},
        {"golden/row_layer_norm_131072.cu", ROW_LAYER_NORM, "rows of 131072", KILN_BACKEND_CUDA},
        {"golden/row_softmax_columns.cpp", ROW_SOFTMAX, "columns", KILN_BACKEND_CPU},
    };
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        char path[1024], *want = NULL;
        size_t bytes = 0, w = 0;
        generated g;

        while (strcmp(walks[w].name, cases[k].walk) != 0)
            w++;
        generate(cases[k].kind, KILN_FLOAT32, &walks[w], cases[k].backend, true, &g);
        char *got = make_short(g.text);
        test_data(cases[k].file, path, sizeof path);
        if (getenv("KILN_UPDATE_GOLDEN") != NULL) {
            FILE *out = fopen(path, "w");
            assert_non_null(out);
            fputs(got, out);
            fclose(out);
        }
        if (kiln__read_file(path, 1 << 20, &want, &bytes) != 0)
            fail_msg("%s cannot be read", path);
        if (strcmp(want, got) != 0)
            fail_msg("%s differs; KILN_UPDATE_GOLDEN=1 writes it:\n%s", cases[k].file, got);
        kiln__free(want);
        kiln__free(got);
        kiln__free(g.text);
    }
}

/* ---- compiling ---- */

static void compiles(row_kind kind, kiln_dtype dtype, const walk_case *w, const kiln__target *target)
{
    int number = 0;
    generated g;
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;

    (void)sscanf(target->name, "sm_%d", &number);
    generate(kind, dtype, w, KILN_BACKEND_CUDA, number >= 90, &g);
    const kiln__compile_request request = {.target = *target, .source = g.text};
    kiln_status status = kiln__compile(&request, &result, &err);
    if (status != KILN_OK || result.bytes < 4 || memcmp(result.binary, "\177ELF", 4) != 0 ||
        (result.log != NULL && strstr(result.log, "warning") != NULL))
        fail_msg("%s of %s over %s for %s: %s\n%s\n%s", row_definitions[kind].name,
                 kiln_dtype_name(dtype), w->name, target->name, err.message,
                 result.log != NULL ? result.log : "", g.text);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
    kiln__free(g.text);
}

static void test_row_archs__every_class_compiles_for_every_gpu(void **state)
{
    (void)state;
    if (target_count == 0)
        skip();
    for (size_t k = 0; k < target_count; k++)
        for (size_t w = k % 2; w < KILN_COUNT_OF(walks); w += 2) /* each for every second GPU */
            compiles(ROW_SOFTMAX, KILN_FLOAT32, &walks[w], &targets[k]);
}

static void test_row_archs__every_definition_compiles_for_the_oldest_and_newest_gpu(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64};
    (void)state;
    if (target_count == 0)
        skip();
    for (size_t k = 0; k < target_count; k += target_count > 1 ? target_count - 1 : 1) {
        for (size_t w = 0; w < KILN_COUNT_OF(walks); w++) /* wide parts in shared memory */
            if (walks[w].tile != 0 && archs_drawn(w + k, 2))
                compiles(ROW_STANDARDISE, KILN_FLOAT64, &walks[w], &targets[k]);
        for (size_t d = 1; d < ROW_KINDS; d++)
            for (size_t w = 0; w < KILN_COUNT_OF(walks); w++)
                if (archs_drawn(w + d + 3 * k, 6))
                    compiles((row_kind)d, KILN_FLOAT32, &walks[w], &targets[k]);
        for (size_t d = 0; d < KILN_COUNT_OF(dtypes); d++)
            for (size_t w = 0; w < KILN_COUNT_OF(walks); w++)
                if (archs_drawn(w + d + 4 * k, 8))
                    compiles((row_kind)(d * 2 % ROW_KINDS), dtypes[d], &walks[w], &targets[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_archs__rows_are_dealt_out_by_their_length),
        cmocka_unit_test(test_row_archs__rows_that_are_only_read_take_fewer_blocks),
        cmocka_unit_test(test_row_archs__clusters_of_short_floats_are_many),
        cmocka_unit_test(test_row_archs__threads_of_long_programs_hold_less),
        cmocka_unit_test(test_row_archs__old_gpus_make_do_without_clusters),
        cmocka_unit_test(test_row_archs__sources_are_what_the_files_say),
        cmocka_unit_test(test_row_archs__every_class_compiles_for_every_gpu),
        cmocka_unit_test(test_row_archs__every_definition_compiles_for_the_oldest_and_newest_gpu),
    };
    target_count = archs_find(targets);
    return cmocka_run_group_tests_name("test_row_archs", tests, NULL, NULL);
}
