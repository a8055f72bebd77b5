/*
 * test_scans_archs.c - what scans are planned and generated, and that every GPU's compiler takes
 * it; no GPU is needed.
 *
 * The plans themselves are looked at for the rules that results depend on: words for what blocks
 * tell are enough, the cpu's chunks do not depend on its threads. Every class is compiled for the
 * oldest and the newest target that NVRTC knows, the classes whose blocks wait for others for all of
 * them. Without NVRTC the compiling tests are left out: exit status 77.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "codegen/codegen.h"

enum { UNITS = 132 };

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

typedef struct walk_case {
    const char *name;
    int rank;
    int64_t shape[3];
    int64_t stride[3]; /* elements, of input and output alike */
    int axis;
    bool exclusive, reverse;
    kiln__layout layout;
    bool split;
    int group, vec;
} walk_case;

#define ROWS KILN__LAYOUT_ROWS
#define COLUMNS KILN__LAYOUT_COLUMNS

static const walk_case walks[] = {
    {"all", 1, {1 << 28}, {1}, 0, false, false, ROWS, true, 256, 4},
    {"all, exclusive, every second", 1, {1 << 27}, {2}, 0, true, false, ROWS, true, 256, 1},
    {"all, backwards", 1, {1 << 27}, {1}, 0, true, true, ROWS, true, 256, 4},
    {"all but one, backwards", 1, {(1 << 27) - 1}, {1}, 0, true, true, ROWS, true, 256, 1},
    {"axis none of a permuted array",
     3,
     {64, 64, 64},
     {64, 4096, 1},
     -1,
     false,
     false,
     ROWS,
     true,
     256,
     4},
    {"few elements", 1, {1000}, {1}, 0, false, false, ROWS, false, 256, 4},
    {"long rows", 2, {16384, 16384}, {16384, 1}, 1, false, false, ROWS, false, 256, 4},
    {"rows of 1024", 2, {1 << 18, 1024}, {1024, 1}, 1, false, false, ROWS, false, 32, 4},
    {"rows of 16", 2, {1 << 24, 16}, {16, 1}, 1, true, false, ROWS, false, 4, 4},
    {"rows of 4", 2, {1 << 26, 4}, {4, 1}, 1, false, false, ROWS, false, 1, 4},
    {"odd rows", 2, {1 << 16, 1001}, {1001, 1}, 1, false, true, ROWS, false, 256, 1},
    {"columns", 2, {16384, 16384}, {16384, 1}, 0, false, false, COLUMNS, true, 32, 1},
    {"many columns", 2, {256, 1 << 20}, {1 << 20, 1}, 0, true, true, COLUMNS, false, 256, 4},
    {"16 columns", 2, {1 << 24, 16}, {16, 1}, 0, false, false, COLUMNS, true, 16, 1},
    {"3 columns", 2, {1 << 24, 3}, {3, 1}, 0, false, true, COLUMNS, true, 4, 1},
    {"256 columns", 2, {1 << 20, 256}, {256, 1}, 0, true, false, COLUMNS, true, 32, 1},
    {"odd columns", 2, {1 << 16, 1001}, {1001, 1}, 0, false, false, COLUMNS, true, 32, 1},
    {"middle", 3, {64, 4096, 1024}, {4096 * 1024, 1024, 1}, 1, false, false, COLUMNS, true, 32, 4},
};

typedef struct texts {
    const char *out, *map, *reduce, *post, *identity, *type, *preamble;
    kiln_dtype dtype, result;
    const char *in; /* of `dtype` all; NULL: "T x" */
    int in_count;
} texts;

/* What kinds of running values there are. */
static const texts definitions[] = {
    {"float32 y", "x", "a + b", "y = a", "0", "", "", KILN_FLOAT32, KILN_FLOAT32, NULL, 0},
    {"int64 y", "x", "a + b", "y = a", "0", "unsigned long long", "", KILN_INT8, KILN_INT64, NULL,
     0},
    {"float16 y", "x", "a + b", "y = a", "0", "float", "", KILN_FLOAT16, KILN_FLOAT16, NULL, 0},
    {"complex128 y", "x", "a * b", "y = a", "1", "", "", KILN_COMPLEX128, KILN_COMPLEX128, NULL, 0},
    {"float32 y", "decay{0.5f, x}", "then(a, b)", "y += a.add + _J / (float)n", "decay{1, 0}",
     "decay",
     "struct decay { float times, add; };\n"
     "__device__ decay then(decay a, decay b) { return {a.times * b.times, b.times * a.add + "
     "b.add}; }",
     KILN_FLOAT32, KILN_FLOAT32, NULL, 0},
};

/* So many inputs that no 256 threads have room for a tile of them in shared memory. */
static const texts wide = {"complex128 y",
                           "c + d + e + f + g + h + j + k + l + m + o + p",
                           "a + b",
                           "y = a",
                           "0",
                           "",
                           "",
                           KILN_COMPLEX128,
                           KILN_COMPLEX128,
                           "T c, T d, T e, T f, T g, T h, T j, T k, T l, T m, T o, T p",
                           12};

/* ---- planning ---- */

enum { OPERANDS_MAX = 16 };

typedef struct planned {
    kiln__definition *def;
    kiln__plan plan;
} planned;

static void plan_on(const texts *d, const walk_case *w, kiln__plan_device device, planned *out)
{
    const kiln__definition_request request = {
        .name = "scan",
        .in = d->in != NULL ? d->in : "T x",
        .out = d->out,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = d->preamble,
                    [KILN__SNIPPET_MAP] = d->map,
                    [KILN__SNIPPET_REDUCE] = d->reduce,
                    [KILN__SNIPPET_POST] = d->post,
                    [KILN__SNIPPET_IDENTITY] = d->identity,
                    [KILN__SNIPPET_REDUCE_TYPE] = d->type},
        .family = &kiln__family_scan,
    };
    const int in_count = d->in != NULL ? d->in_count : 1;
    kiln_dtype dtypes[OPERANDS_MAX];
    kiln__operand operands[OPERANDS_MAX] = {{0}};
    int64_t stride[OPERANDS_MAX][3] = {{0}};

    memset(out, 0, sizeof *out);
    assert_int_equal(kiln__definition_create(&request, &out->def, NULL), KILN_OK);
    for (int p = 0; p <= in_count; p++) {
        dtypes[p] = p < in_count ? d->dtype : d->result;
        operands[p].is_array = true;
        operands[p].address = 4096;
        operands[p].written = p == in_count;
        operands[p].itemsize = (uint8_t)kiln_dtype_size(dtypes[p]);
        operands[p].rank = w->rank;
        operands[p].shape = w->shape;
        operands[p].strides = stride[p];
        for (int a = 0; a < w->rank; a++)
            stride[p][a] = w->stride[a] * operands[p].itemsize;
    }
    bool along[KILN_RANK_MAX];
    for (int a = 0; a < w->rank; a++)
        along[a] = w->axis < 0 || a == w->axis;
    kiln__plan_make(&(kiln__plan_request){.def = out->def,
                                          .device = device,
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = w->rank,
                                          .shape = w->shape,
                                          .along = along,
                                          .flags = (w->exclusive ? KILN__SCAN_EXCLUSIVE : 0u) |
                                                   (w->reverse ? KILN__SCAN_REVERSE : 0u)},
                    &out->plan);
}

static void plan(const texts *d, const walk_case *w, kiln_backend backend, int units, planned *out)
{
    plan_on(d, w, (kiln__plan_device){.backend = backend, .units = units}, out);
}

static void test_scans__each_walk_has_the_class_it_should(void **state)
{
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(walks); k++) {
        const walk_case *w = &walks[k];
        planned p;

        plan(&definitions[0], w, KILN_BACKEND_CUDA, UNITS, &p);
        const kiln__variant *v = &p.plan.variant;
        if (v->layout != w->layout || v->scan.split != w->split || v->scan.group != w->group ||
            v->vec != w->vec)
            fail_msg("%s: %s, split %d, group %d, vec %d", w->name,
                     kiln__layout_name((kiln__layout)v->layout), v->scan.split, v->scan.group,
                     v->vec);
        assert_int_equal(v->scan.exclusive, w->exclusive);
        assert_int_equal(v->scan.reverse, w->reverse);
        assert_true((p.plan.ticket_count > 0) == w->split);
        kiln__definition_destroy(p.def);
    }
}

/* Every tile has a word to tell its sum and one to be told; there is a block for the carrier, and
 * for no more tiles than there are. */
static void test_scans__there_are_words_and_blocks_for_every_tile_of_a_split_row(void **state)
{
    static const int64_t lengths[] = {16385,   1 << 18,       (1 << 18) + 4,
                                      1 << 23, (1 << 23) + 4, 1 << 28};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(lengths); k++) {
        const walk_case w = {.name = "all", .rank = 1, .shape = {lengths[k]}, .stride = {1}};
        planned p;

        plan(&definitions[0], &w, KILN_BACKEND_CUDA, UNITS, &p);
        const int64_t elements = 256 * p.plan.variant.unroll * p.plan.variant.vec;
        const int64_t tiles = (lengths[k] + elements - 1) / elements;
        const int64_t room = UNITS * p.plan.variant.scan.resident;
        assert_int_equal(p.plan.word[KILN__WORD_SPLITS], tiles);
        assert_int_equal(p.plan.grid, 1 + (tiles < room ? tiles : room));
        assert_int_equal(p.plan.ticket_count, 4 + 2 * 2 * tiles);
        kiln__definition_destroy(p.def);
    }
}

/* Long sequences of 16-bit elements have larger tiles: one carrier serves them all. */
static void test_scans__long_rows_of_short_elements_have_larger_tiles(void **state)
{
    static const struct {
        const texts *sum;
        int64_t length;
        int elements; /* of a thread */
    } cases[] = {{&definitions[0], 1 << 22, 32},
                 {&definitions[0], 1 << 28, 32},
                 {&definitions[2], 1 << 22, 32}, /* float16 */
                 {&definitions[2], 1 << 28, 48}};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        const walk_case w = {.name = "all", .rank = 1, .shape = {cases[k].length}, .stride = {1}};
        const kiln__variant *v;
        planned p;

        plan(cases[k].sum, &w, KILN_BACKEND_CUDA, UNITS, &p);
        v = &p.plan.variant;
        assert_int_equal(v->unroll * v->vec, cases[k].elements);
        kiln__definition_destroy(p.def);
    }
}

/* The same for columns, whose tiles tell a sum a column. One carrier serves one tile of so few
 * across, and up to eight of more. */
static void test_scans__there_are_words_and_carriers_for_every_tile_of_columns(void **state)
{
    static const struct {
        int64_t rows, columns;
        int across;        /* lanes of a tile */
        int tiles, served; /* across; by one carrier */
    } cases[] = {{1 << 24, 16, 16, 1, 1},
                 {1 << 24, 3, 4, 1, 1},
                 {1 << 20, 256, 32, 8, 1},
                 {1 << 18, 1001, 32, 32, 4},
                 {1 << 18, 4096, 32, 128, 8}};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        const walk_case w = {.name = "columns",
                             .rank = 2,
                             .shape = {cases[k].rows, cases[k].columns},
                             .stride = {cases[k].columns, 1}};
        planned p;

        plan(&definitions[0], &w, KILN_BACKEND_CUDA, UNITS, &p);
        const int64_t height = 256 / cases[k].across * p.plan.variant.unroll;
        const int64_t all = (cases[k].rows + height - 1) / height * cases[k].tiles;
        const int64_t room = UNITS * p.plan.variant.scan.resident;
        assert_int_equal(p.plan.variant.scan.group, cases[k].across);
        assert_true(p.plan.variant.scan.fan > 1);
        assert_int_equal(p.plan.word[KILN__WORD_SPLITS], cases[k].tiles);
        assert_int_equal(p.plan.word[KILN__WORD_CHUNK], cases[k].served);
        assert_int_equal(p.plan.grid, (all < room ? all : room) +
                                          (cases[k].tiles + cases[k].served - 1) / cases[k].served);
        assert_int_equal(p.plan.ticket_count, 4 + 2 * 2 * all * cases[k].across);
        kiln__definition_destroy(p.def);
    }
}

static void test_scans__blocks_are_as_small_as_wide_inputs_need(void **state)
{
    planned p;

    (void)state;
    plan(&wide, &walks[0], KILN_BACKEND_CUDA, UNITS, &p);
    assert_int_equal(p.plan.variant.scan.split, 1);
    assert_int_equal(p.plan.variant.block, 128); /* 24 KiB; twice that is more than 32 */
    assert_int_equal(p.plan.variant.scan.group, 128);
    assert_int_equal(p.plan.word[KILN__WORD_SPLITS], (1 << 28) / 128);
    kiln__definition_destroy(p.def);
}

static void test_scans__the_number_of_threads_decides_nothing_on_the_cpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(walks); k++) {
        planned one, many;

        plan(&definitions[0], &walks[k], KILN_BACKEND_CPU, 1, &one);
        plan(&definitions[0], &walks[k], KILN_BACKEND_CPU, 64, &many);
        assert_memory_equal(&one.plan.variant, &many.plan.variant, sizeof one.plan.variant);
        assert_memory_equal(one.plan.word, many.plan.word, sizeof one.plan.word);
        kiln__definition_destroy(one.def);
        kiln__definition_destroy(many.def);
    }
}

/* ---- compiling ---- */

static void compiles_on(const texts *d, const walk_case *w, bool large_shared, const kiln__target *target)
{
    const kiln__plan_device device = {KILN_BACKEND_CUDA, UNITS, large_shared, large_shared};
    planned p;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;

    plan_on(d, w, device, &p);
    assert_true(!large_shared || p.plan.variant.block == 1024);
    assert_int_equal(kiln__emit(p.def, &p.plan.variant, &source, NULL), KILN_OK);
    const kiln__compile_request request = {.target = *target, .source = source.text};
    kiln_status status = kiln__compile(&request, &result, &err);
    if (status != KILN_OK || result.bytes < 4 || memcmp(result.binary, "\177ELF", 4) != 0)
        fail_msg("%s of %s over %s: %s\n%s\n%s", d->map, kiln_dtype_name(d->dtype), w->name,
                 err.message, result.log != NULL ? result.log : "", source.text);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
    kiln__source_clear(&source);
    kiln__definition_destroy(p.def);
}

static void compiles(const texts *d, const walk_case *w, const kiln__target *target)
{
    compiles_on(d, w, false, target);
}

static void need_targets(void)
{
    if (target_count == 0) {
        print_message("SKIP: no NVRTC on this machine\n");
        skip();
    }
}

static void test_scans__every_walk_compiles_for_the_oldest_and_the_newest_gpu(void **state)
{
    (void)state;
    need_targets();
    for (size_t w = 0; w < KILN_COUNT_OF(walks); w++)
        compiles(&definitions[0], &walks[w], &targets[w % 2 == 0 ? 0 : target_count - 1]);
}

static void test_scans__what_waits_for_others_compiles_for_every_gpu(void **state)
{
    (void)state;
    need_targets();
    for (size_t k = 0; k < target_count; k++) {
        compiles(&definitions[0], &walks[0], &targets[k]);
        compiles(&definitions[0], &walks[12], &targets[k]);
        compiles(&definitions[0], &walks[k % 2 == 0 ? 10 : 14], &targets[k]);
    }
}

/* Tiles of 32 and 16 columns that fill a multiprocessor's shared memory. */
static void test_scans__blocks_of_a_whole_multiprocessor_compile(void **state)
{
    const walk_case columns = {
        .name = "32 columns", .rank = 2, .shape = {1 << 23, 32}, .stride = {32, 1}};

    (void)state;
    need_targets();
    compiles_on(&definitions[0], &columns, true, &targets[target_count - 1]);
    compiles_on(&definitions[0], &walks[13], true, &targets[target_count - 1]);
}

static void test_scans__every_running_value_compiles(void **state)
{
    (void)state;
    need_targets();
    compiles(&wide, &walks[0], &targets[0]);
    for (size_t d = 1; d < KILN_COUNT_OF(definitions); d++)
        for (size_t w = d % 2; w < KILN_COUNT_OF(walks); w += 5)
            compiles(&definitions[d], &walks[w], &targets[d % 2 == 0 ? 0 : target_count - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans__each_walk_has_the_class_it_should),
        cmocka_unit_test(test_scans__there_are_words_and_blocks_for_every_tile_of_a_split_row),
        cmocka_unit_test(test_scans__long_rows_of_short_elements_have_larger_tiles),
        cmocka_unit_test(test_scans__there_are_words_and_carriers_for_every_tile_of_columns),
        cmocka_unit_test(test_scans__blocks_are_as_small_as_wide_inputs_need),
        cmocka_unit_test(test_scans__the_number_of_threads_decides_nothing_on_the_cpu),
        cmocka_unit_test(test_scans__every_walk_compiles_for_the_oldest_and_the_newest_gpu),
        cmocka_unit_test(test_scans__what_waits_for_others_compiles_for_every_gpu),
        cmocka_unit_test(test_scans__blocks_of_a_whole_multiprocessor_compile),
        cmocka_unit_test(test_scans__every_running_value_compiles),
    };
    target_count = archs_find(targets);
    return cmocka_run_group_tests_name("test_scans_archs", tests, NULL, NULL);
}
