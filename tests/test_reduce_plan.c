/*
 * test_reduce_plan.c - what the planner of reductions makes of shapes and axes: class, threads an
 * output, splits.
 *
 * Expectations are worked out by hand from the header comment of src/codegen/reduce_plan.c, for a
 * device of 132 multiprocessors; nothing here runs a kernel.
 */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "kernel/kernel.h"

enum { UNITS = 132 };

typedef struct reduce_case {
    const char *what;
    int rank;
    int64_t shape[3];
    bool reduced[3];
    bool transposed; /* F-order input */
    kiln__layout layout;
    int group, vec;
    bool split;
    int64_t outputs, elements;
} reduce_case;

static const reduce_case cases[] = {
    {"all of a long vector is split", 1, {1 << 28}, {true}, false, KILN__LAYOUT_ROWS, 256, 4, true,
     1, 1 << 28},
    {"long rows take a block each", 2, {16384, 16384}, {false, true}, false, KILN__LAYOUT_ROWS, 256,
     4, false, 16384, 16384},
    {"rows of 256 take a warp each", 2, {1 << 20, 256}, {false, true}, false, KILN__LAYOUT_ROWS, 32,
     4, false, 1 << 20, 256},
    {"rows of 16 take 4 threads each", 2, {1 << 24, 16}, {false, true}, false, KILN__LAYOUT_ROWS, 4,
     4, false, 1 << 24, 16},
    {"rows of 4 take a thread each", 2, {1 << 26, 4}, {false, true}, false, KILN__LAYOUT_ROWS, 1, 4,
     false, 1 << 26, 4},
    {"few long rows are split", 2, {4, 1 << 26}, {false, true}, false, KILN__LAYOUT_ROWS, 256, 4,
     true, 4, 1 << 26},
    {"the first axis goes down columns", 2, {16384, 16384}, {true, false}, false,
     KILN__LAYOUT_COLUMNS, 32, 4, true, 16384, 16384},
    {"many columns need no split", 2, {256, 1 << 20}, {true, false}, false, KILN__LAYOUT_COLUMNS,
     32, 4, false, 1 << 20, 256},
    {"16 columns are 4 vectors wide", 2, {1 << 24, 16}, {true, false}, false, KILN__LAYOUT_COLUMNS,
     4, 4, true, 16, 1 << 24},
    {"a middle axis goes down columns", 3, {64, 4096, 1024}, {false, true, false}, false,
     KILN__LAYOUT_COLUMNS, 32, 4, true, 64 * 1024, 4096},
    {"F-order turns columns into rows", 2, {16384, 16384}, {true, false}, true, KILN__LAYOUT_ROWS,
     256, 4, false, 16384, 16384},
    {"outer and inner axes are rows", 3, {3, 5, 1 << 24}, {true, false, true}, false,
     KILN__LAYOUT_ROWS, 256, 4, true, 5, 3 << 24},
    {"short rows of odd length are copied", 2, {1 << 20, 33}, {false, true}, false,
     KILN__LAYOUT_ROWS, 1, 1, false, 1 << 20, 33},
    {"unless they are few", 2, {4096, 33}, {false, true}, false, KILN__LAYOUT_ROWS, 256, 1, false,
     4096, 33},
    {"rows of odd length are held by a warp", 2, {1 << 16, 1001}, {false, true}, false,
     KILN__LAYOUT_ROWS, 32, 4, false, 1 << 16, 1001},
    {"by a part of it", 2, {1 << 18, 101}, {false, true}, false, KILN__LAYOUT_ROWS, 8, 4, false,
     1 << 18, 101},
    {"or lose the vectors where they are few", 2, {1 << 11, 1001}, {false, true}, false,
     KILN__LAYOUT_ROWS, 256, 1, false, 1 << 11, 1001},
    {"unless they are long", 2, {1 << 13, 50257}, {false, true}, false, KILN__LAYOUT_ROWS, 256, 4,
     false, 1 << 13, 50257},
    {"also where blocks share them", 2, {5, 1000003}, {false, true}, false, KILN__LAYOUT_ROWS, 256,
     4, true, 5, 1000003},
};

static void fill_strides(const reduce_case *k, int64_t *strides)
{
    int64_t step = 4;
    for (int n = 0; n < k->rank; n++) {
        const int axis = k->transposed ? n : k->rank - 1 - n;
        strides[axis] = step;
        step *= k->shape[axis];
    }
}

static void make_plan(const reduce_case *k, const kiln__definition *def, bool by_index,
                      kiln__plan *plan)
{
    static const int64_t still[3];
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};
    int64_t strides[3], out_shape[3];
    kiln__operand o[2] = {{.is_array = true, .itemsize = 4, .rank = k->rank, .address = 512}};

    fill_strides(k, strides);
    for (int a = 0; a < k->rank; a++)
        out_shape[a] = k->reduced[a] ? 1 : k->shape[a];
    o[1] = o[0];
    o[0].shape = k->shape;
    o[0].strides = strides;
    o[0].by_address = by_index;
    o[1].written = true;
    o[1].shape = out_shape;
    o[1].strides = still;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = k->rank,
                                          .shape = k->shape,
                                          .along = k->reduced},
                    plan);
}

static void check(const reduce_case *k, const kiln__definition *def)
{
    static kiln__plan plan;

    make_plan(k, def, false, &plan);
    const kiln__variant *v = &plan.variant;
    if (v->layout != k->layout || v->reduction.group != k->group || v->vec != k->vec ||
        (v->reduction.split != 0) != k->split || plan.word[KILN__WORD_OUTPUTS] != k->outputs ||
        plan.word[KILN__WORD_COUNT_ALL] != k->elements)
        fail_msg("%s: %s, %d threads, vec %d, split %d, %lld outputs of %lld", k->what,
                 kiln__layout_name((kiln__layout)v->layout), v->reduction.group, v->vec,
                 v->reduction.split, (long long)plan.word[KILN__WORD_OUTPUTS],
                 (long long)plan.word[KILN__WORD_COUNT_ALL]);
    /* Loads of 16 bytes are marked where they are many for a result. */
    assert_int_equal(v->access[0] == KILN__ACCESS_ONCE, k->vec == 4 && k->elements >= 64);
    assert_int_equal(v->reduction.stage, k->group == 1 && k->vec == 1 ? 16 : 0);
    assert_int_equal(v->reduction.peel,
                     v->layout == KILN__LAYOUT_ROWS && k->elements % k->vec != 0);
    /* Every access belongs to exactly one split. */
    const int64_t length = plan.word[KILN__WORD_LENGTH], chunk = plan.word[KILN__WORD_CHUNK];
    const int64_t splits = plan.word[KILN__WORD_SPLITS];
    assert_true(splits * chunk >= length);
    assert_true((splits - 1) * chunk < length);
    assert_int_equal(plan.part_count, k->split ? plan.word[KILN__WORD_OUTPUTS] * splits : 0);
}

/* Sums over rows of 256 and 16: what is read by an index is checked and loaded one element after the other,
 * so that few accesses a thread keep registers free for more threads. */
static void test_reduce_plan__rows_read_by_index(void **state)
{
    static const reduce_case rows[] = {
        {.what = "rows of 256", .rank = 2, .shape = {1 << 17, 256}, .reduced = {false, true}},
        {.what = "rows of 16", .rank = 2, .shape = {1 << 22, 16}, .reduced = {false, true}},
    };
    static kiln__plan plan;
    const kiln__definition_request request = {.in = "T x",
                                              .out = "T y",
                                              .snippet = {[KILN__SNIPPET_MAP] = "x",
                                                          [KILN__SNIPPET_REDUCE] = "a + b",
                                                          [KILN__SNIPPET_POST] = "y = a",
                                                          [KILN__SNIPPET_IDENTITY] = "0"},
                                              .family = &kiln__family_reduction};
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(rows); k++) {
        make_plan(&rows[k], def, false, &plan);
        assert_true(plan.variant.unroll * plan.variant.reduction.segments >= 4);
        make_plan(&rows[k], def, true, &plan);
        assert_int_equal(plan.variant.unroll * plan.variant.reduction.segments, 2);
    }
    kiln__definition_destroy(def);
}

/* Moments and positions are those of rows that threads hold: `group` threads a row, each of which has
 * `unroll` accesses in each of `segments` rows. */
static void test_reduce_plan__rows_that_threads_hold(void **state)
{
    static const struct {
        kiln_reduce_op op;
        int64_t rows, length;
        int group, unroll, segments, hold, peel, stage;
    } held[] = {
        {KILN_REDUCE_STD, 1 << 23, 3, 1, 3, 1, 2, 0, 16},
        {KILN_REDUCE_STD, 1 << 22, 16, 2, 2, 2, 2, 0, 0},
        {KILN_REDUCE_ARGMAX, 1 << 23, 13, 1, 16, 1, 1, 0, 16},
        {KILN_REDUCE_STD, 1 << 20, 100, 8, 4, 1, 1, 0, 0},
        {KILN_REDUCE_STD, 1 << 20, 128, 8, 4, 1, 2, 0, 0},
        {KILN_REDUCE_ARGMIN, 1 << 19, 255, 16, 4, 1, 1, 1, 0},
        {KILN_REDUCE_VAR, 1 << 18, 2047, 32, 16, 1, 1, 1, 0},
        {KILN_REDUCE_NANVAR, 1 << 18, 1023, 32, 8, 1, 1, 1, 0},
        {KILN_REDUCE_ARGMAX, 1 << 20, 128, 8, 4, 1, 2, 0, 0},
        {KILN_REDUCE_ARGMAX, 1 << 16, 3001, 64, 12, 1, 1, 1, 0},
        {KILN_REDUCE_VAR, 1 << 16, 4096, 128, 8, 1, 2, 0, 0},
        {KILN_REDUCE_VAR, 1 << 14, 16001, 256, 16, 1, 1, 1, 0},
        /* too long, too few, and rows of others than batches that begin at whole accesses */
        {KILN_REDUCE_STD, 1 << 20, 33, 1, 8, 1, 0, 0, 16},
        {KILN_REDUCE_VAR, 1 << 14, 16500, 256, 4, 1, 0, 0, 0},
        {KILN_REDUCE_VAR, 1 << 10, 1024, 256, 1, 1, 0, 0, 0},
        {KILN_REDUCE_SUM, 1 << 20, 128, 32, 1, 8, 0, 0, 0},
        {KILN_REDUCE_SUM, 1 << 16, 3001, 256, 2, 1, 0, 1, 0},
    };
    (void)state;
    for (size_t c = 0; c < KILN_COUNT_OF(held); c++) {
        const kiln__reduce_row *row = kiln__reduce_row_find(held[c].op, KILN_FLOAT32);
        const reduce_case k = {"", 2, {held[c].rows, held[c].length}, {false, true}, .vec = 0};
        char *texts[5] = {NULL};
        kiln__definition_request request = {.in = "T x",
                                            .out = "T y",
                                            .family = &kiln__family_reduction,
                                            .batching = kiln__reduce_batching(row)};
        static const kiln__snippet_kind kinds[] = {KILN__SNIPPET_MAP, KILN__SNIPPET_REDUCE,
                                                   KILN__SNIPPET_POST, KILN__SNIPPET_IDENTITY,
                                                   KILN__SNIPPET_REDUCE_TYPE};
        static kiln__plan plan;
        kiln__definition *def = NULL;

        for (size_t t = 0; t < KILN_COUNT_OF(kinds); t++) {
            kiln__buf text = {0};
            kiln__reduce_text(row, KILN_FLOAT32, &(kiln__reduce_form){.out = KILN_DTYPE_NONE}, kinds[t],
                              &text);
            request.snippet[kinds[t]] = texts[t] = kiln__buf_take(&text);
        }
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        make_plan(&k, def, false, &plan);
        const kiln__reduction_variant *r = &plan.variant.reduction;
        if (r->group != held[c].group || plan.variant.unroll != held[c].unroll ||
            r->segments != held[c].segments || r->hold != held[c].hold ||
            r->peel != held[c].peel || r->stage != held[c].stage)
            fail_msg("case %zu, rows of %lld: group %d, unroll %d, segments %d, hold %d, peel %d, stage %d",
                     c, (long long)held[c].length, r->group, plan.variant.unroll, r->segments,
                     r->hold, r->peel, r->stage);
        kiln__definition_destroy(def);
        for (size_t t = 0; t < KILN_COUNT_OF(kinds); t++)
            free(texts[t]);
    }
}

static void test_reduce_plan__classes(void **state)
{
    (void)state;
    const kiln__definition_request request = {.in = "T x",
                                              .out = "T y",
                                              .snippet = {[KILN__SNIPPET_MAP] = "x",
                                                          [KILN__SNIPPET_REDUCE] = "a + b",
                                                          [KILN__SNIPPET_POST] = "y = a",
                                                          [KILN__SNIPPET_IDENTITY] = "0"},
                                              .family = &kiln__family_reduction};
    kiln__definition *def = NULL;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t c = 0; c < KILN_COUNT_OF(cases); c++)
        check(&cases[c], def);
    /* Whole accesses need threads for the elements beside them, whatever a tuner asks for: without threads
     * that hold rows, none are peeled that a warp would take. */
    static kiln__plan plan;
    static const struct {
        reduce_case rows;
        const char *hold;
        bool peel;
    } beside[] = {{{"25 accesses", 2, {4, 101}, {false, true}, .vec = 0}, "1", true},
                  {{"25 accesses", 2, {4, 101}, {false, true}, .vec = 0}, "0", false},
                  {{"64 accesses", 2, {4, 257}, {false, true}, .vec = 0}, "0", true}};
    setenv("KILN_TUNE_PEEL", "16", 1);
    for (size_t c = 0; c < KILN_COUNT_OF(beside); c++) {
        const kiln__reduction_variant *r = &plan.variant.reduction;
        setenv("KILN_TUNE_HOLD", beside[c].hold, 1);
        make_plan(&beside[c].rows, def, false, &plan);
        assert_int_equal(r->peel, beside[c].peel);
        assert_true(!r->peel || r->group == plan.variant.block || (r->hold && r->group >= 6));
    }
    unsetenv("KILN_TUNE_HOLD");
    unsetenv("KILN_TUNE_PEEL");
    kiln__definition_destroy(def);
}

/* Where columns are many enough to fill a GPU a thread takes whole ones: its moments are merged with no
 * other's. */
static void test_reduce_plan__moments_of_many_columns_are_not_merged(void **state)
{
    (void)state;
    const kiln__definition_request request = {
        .in = "float32 x",
        .out = "float32 y",
        .snippet = {[KILN__SNIPPET_MAP] = "kiln_moments_of<float>(x)",
                    [KILN__SNIPPET_REDUCE] = "kiln_moments_merge(a, b)",
                    [KILN__SNIPPET_POST] = "y = kiln_moments_variance(a, n)",
                    [KILN__SNIPPET_IDENTITY] = "kiln_moments_none<float>()",
                    [KILN__SNIPPET_REDUCE_TYPE] = "kiln_moments<float>"},
        .family = &kiln__family_reduction,
        .batching = {.batch = KILN__BATCH_MOMENTS}};
    static const reduce_case many = {"33 rows of 2^22", 2, {33, 1 << 22}, {true, false}, false,
                                     KILN__LAYOUT_COLUMNS, 256, 2, false, 1 << 22, 33};
    static const reduce_case few = {"1000 rows of 2^16", 2, {1000, 1 << 16}, {true, false}, false,
                                    KILN__LAYOUT_COLUMNS, 32, 4, false, 1 << 16, 1000};
    kiln__definition *def = NULL;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    /* Rows at a time, so that few are left over, which come one by one. */
    static const struct {
        int64_t rows;
        int unroll;
    } bursts[] = {{1, 1}, {5, 5}, {12, 12}, {13, 12}, {14, 7}, {33, 11}, {34, 11}, {35, 7}, {64, 8}};
    static kiln__plan plan;
    check(&many, def);
    check(&few, def);
    for (size_t k = 0; k < KILN_COUNT_OF(bursts); k++) {
        const reduce_case one = {"few rows", 2, {bursts[k].rows, 1 << 22}, {true, false}, false,
                                 KILN__LAYOUT_COLUMNS, 256, 2, false, 1 << 22, bursts[k].rows};
        make_plan(&one, def, false, &plan);
        assert_int_equal(plan.variant.unroll, bursts[k].unroll);
    }
    kiln__definition_destroy(def);
}

/* What an accumulator takes: of a dtype's name its bytes, of other types what the request says, or the
 * most there may be. */
static void test_reduce_plan__bytes_of_accumulators(void **state)
{
    static const struct {
        const char *type, *preamble;
        int64_t told;
        kiln_dtype dtype;
        int64_t bytes;
    } rows[] = {
        {NULL, NULL, 0, KILN_FLOAT16, 4},
        {NULL, NULL, 0, KILN_INT8, 1},
        {NULL, NULL, 0, KILN_COMPLEX128, 16},
        {"float", NULL, 0, KILN_FLOAT64, 4},
        {"unsigned long long", NULL, 0, KILN_INT8, 8},
        {"size_t", NULL, 0, KILN_INT8, 8},
        {"complex<double>", NULL, 0, KILN_INT8, 16},
        {"T", NULL, 0, KILN_FLOAT64, 8},
        {"float32", "typedef double float32;", 0, KILN_FLOAT64, 104},
        {"kiln_position<T>", NULL, 0, KILN_FLOAT64, 104},
        {"kiln_moments<float>", NULL, 24, KILN_FLOAT32, 24},
        {"pair", "struct pair { float a, b; };", 0, KILN_FLOAT32, 104},
        {"pair", "struct pair { float a, b; };", 8, KILN_FLOAT32, 8},
    };

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const kiln__definition_request request = {
            .in = "T x",
            .out = "T y",
            .snippet = {[KILN__SNIPPET_PREAMBLE] = rows[r].preamble,
                        [KILN__SNIPPET_MAP] = "x",
                        [KILN__SNIPPET_REDUCE] = "a + b",
                        [KILN__SNIPPET_POST] = "y = a",
                        [KILN__SNIPPET_REDUCE_TYPE] = rows[r].type},
            .family = &kiln__family_reduction,
            .part_bytes = {rows[r].told}};
        const kiln__variant v = {.dtype = {(uint8_t)rows[r].dtype, (uint8_t)rows[r].dtype}};
        kiln__definition *def = NULL;

        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        assert_int_equal(kiln__part_bytes(def, &v, 0), rows[r].bytes);
        kiln__definition_destroy(def);
    }
}

/* A grid has 2^31 - 1 blocks; what few columns of many tiles would need is more. */
static void test_reduce_plan__results_are_never_more_than_a_grid_has_blocks(void **state)
{
    static const struct {
        int64_t shape[3];
        bool broadcast; /* the input has one row */
    } calls[] = {{{INT64_C(1) << 31, 2, 2}, false},
                 {{INT64_C(1) << 32, 3, 1}, false},
                 {{INT64_C(1) << 33, 2, 3}, false},
                 {{INT64_C(1) << 34, 1000, 1}, true},
                 {{INT64_C(1) << 35, 100000, 2}, true}};
    static const char *const out[] = {"int8 y", "T y"};
    static kiln__plan plan;
    const bool reduced[] = {false, true, false};
    const kiln_dtype dtypes[] = {KILN_INT8, KILN_INT8};

    (void)state;
    for (size_t k = 0; k < 2 * KILN_COUNT_OF(calls); k++) {
        const bool scan = k % 2 == 1;
        const int64_t *shape = calls[k / 2].shape;
        const int64_t strides[] = {calls[k / 2].broadcast ? 0 : shape[1] * shape[2], shape[2], 1};
        const int64_t out_shape[] = {shape[0], scan ? shape[1] : 1, shape[2]};
        const int64_t out_strides[] = {out_shape[1] * shape[2], scan ? shape[2] : 0, 1};
        const kiln__definition_request request = {.in = "T x",
                                                  .out = out[scan],
                                                  .snippet = {[KILN__SNIPPET_MAP] = "x",
                                                              [KILN__SNIPPET_REDUCE] = "a + b",
                                                              [KILN__SNIPPET_POST] = "y = a",
                                                              [KILN__SNIPPET_IDENTITY] = "0"},
                                                  .family = scan ? &kiln__family_scan
                                                                 : &kiln__family_reduction};
        kiln__operand o[2] = {{.is_array = true, .itemsize = 1, .rank = 3, .address = 512}};
        kiln__definition *def = NULL;

        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        o[1] = o[0];
        o[0].shape = shape;
        o[0].strides = strides;
        o[1].written = true;
        o[1].shape = out_shape;
        o[1].strides = out_strides;
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 3,
                                              .shape = shape,
                                              .along = reduced},
                        &plan);
        if (plan.grid < 1 || plan.grid > INT32_MAX)
            fail_msg("%s of %lld x %lld x %lld: %lld blocks", scan ? "scan" : "reduction",
                     (long long)shape[0], (long long)shape[1], (long long)shape[2],
                     (long long)plan.grid);
        assert_int_equal(plan.word[KILN__WORD_OUTPUTS], shape[0] * shape[2]);
        assert_int_equal(plan.variant.index_bits, 64);
        kiln__definition_destroy(def);
    }
}

/* Rows that are one element each in memory have nothing to hold, and more rows than a grid has blocks are not held by a
 * block each. */
static void test_reduce_plan__rows_that_cannot_be_held(void **state)
{
    static const struct {
        const char *name;
        int64_t shape[3], strides[3];
    } calls[] = {{"var", {(INT64_C(1) << 31) + 5, 64, 2}, {12, 0, 4}},
                 {"argmax", {(INT64_C(1) << 31) + 5, 64, 2}, {12, 0, 4}},
                 {"var", {(INT64_C(1) << 31) + 5, 4096, 1}, {0, 4, 4}}};
    static const bool reduced[] = {false, true, false};
    static kiln__plan plan;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(calls); k++) {
        const int64_t *const shape = calls[k].shape;
        const int64_t out_shape[] = {shape[0], 1, shape[2]}, out_strides[] = {8 * shape[2], 0, 8};
        const kiln_dtype dtypes[] = {KILN_FLOAT32, k == 1 ? KILN_INT64 : KILN_FLOAT64};
        kiln__operand o[2] = {{.is_array = true, .itemsize = 4, .rank = 3, .address = 512}};
        kiln__definition *def = NULL;

        o[1] = o[0];
        o[0].shape = shape;
        o[0].strides = calls[k].strides;
        o[1].written = true;
        o[1].itemsize = 8;
        o[1].shape = out_shape;
        o[1].strides = out_strides;
        assert_int_equal(kiln__named_definition(calls[k].name, KILN_FLOAT32, &def, NULL), KILN_OK);
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 3,
                                              .shape = shape,
                                              .along = reduced},
                        &plan);
        assert_int_equal(plan.variant.layout, KILN__LAYOUT_ROWS);
        assert_int_equal(plan.variant.reduction.hold, 0);
        assert_true(plan.grid >= 1 && plan.grid <= INT32_MAX);
        kiln__definition_destroy(def);
    }
}

/* x (with `d` down) and y (`a` across) are broadcast against each other; `b`: an axis both have. */
typedef struct tile_case {
    const char *what;
    int64_t shape[4];      /* of the loop: b, d, a, reduced */
    bool x_across, y_down; /* an input moves along both kept axes */
    bool masked;
    kiln_dtype dtype;
    int down, across; /* results of a thread; 0: no tile */
    bool split;
} tile_case;

static const tile_case tile_cases[] = {
    {"many results take the largest tiles", {1, 4096, 4096, 64}, false, false, false, KILN_FLOAT32,
     8, 8, false},
    {"a batch is as good as one", {64, 512, 512, 64}, false, false, false, KILN_FLOAT32, 8, 8,
     false},
    {"wide accumulators leave room for fewer", {1, 4096, 4096, 64}, false, false, false,
     KILN_FLOAT64, 8, 4, false},
    {"few results take smaller tiles", {1, 1024, 1024, 64}, false, false, false, KILN_FLOAT32, 4, 4,
     false},
    {"few results of many elements are split", {1, 256, 256, 1 << 16}, false, false, false,
     KILN_FLOAT32, 8, 8, true},
    {"few rows take flat tiles", {1, 16, 1 << 20, 64}, false, false, false, KILN_FLOAT32, 2, 4,
     false},
    {"few columns take tall tiles", {1, 1 << 20, 16, 64}, false, false, false, KILN_FLOAT32, 4, 2,
     false},
    {"elements that few results use are not staged", {1, 4, 1 << 20, 64}, false, false, false,
     KILN_FLOAT32, 0, 0, false},
    {"an input of all axes has no tile", {1, 4096, 4096, 64}, true, false, false, KILN_FLOAT32, 0,
     0, false},
    {"so has the other one", {1, 4096, 4096, 64}, false, true, false, KILN_FLOAT32, 0, 0, false},
    {"a mask excludes tiles", {1, 4096, 4096, 64}, false, false, true, KILN_FLOAT32, 0, 0, false},
};

static void fill_operand(kiln__operand *o, kiln_dtype dtype, const int64_t *shape, int64_t *strides)
{
    int64_t step = (int64_t)kiln_dtype_size(dtype);

    for (int a = 3; a >= 0; a--) {
        strides[a] = shape[a] == 1 ? 0 : step;
        step *= shape[a];
    }
    *o = (kiln__operand){.is_array = true, .itemsize = (uint8_t)kiln_dtype_size(dtype), .rank = 4,
                         .address = 512, .shape = shape, .strides = strides};
}

static void check_tile(const tile_case *c)
{
    static kiln__plan plan;
    const bool reduced[] = {false, false, false, true};
    const kiln_dtype dtypes[] = {c->dtype, c->dtype, c->masked ? KILN_BOOL : c->dtype, c->dtype};
    const int64_t *s = c->shape;
    const int64_t shapes[4][4] = {{s[0], s[1], c->x_across ? s[2] : 1, s[3]},
                                  {s[0], c->y_down ? s[1] : 1, s[2], s[3]},
                                  {1, 1, 1, s[3]},
                                  {s[0], s[1], s[2], 1}};
    const kiln__definition_request request = {.in = c->masked ? "T x, T y, bool " KILN__WHERE
                                                              : "T x, T y, T w",
                                              .out = "T z",
                                              .snippet = {[KILN__SNIPPET_MAP] = "x * y",
                                                          [KILN__SNIPPET_REDUCE] = "a + b",
                                                          [KILN__SNIPPET_POST] = "z = a",
                                                          [KILN__SNIPPET_IDENTITY] = "0"},
                                              .family = &kiln__family_reduction};
    int64_t strides[4][4];
    kiln__operand o[4];
    kiln__definition *def = NULL;

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int k = 0; k < 4; k++)
        fill_operand(&o[k], dtypes[k], shapes[k], strides[k]);
    o[3].written = true;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = 4,
                                          .shape = s,
                                          .along = reduced},
                    &plan);
    const kiln__variant *v = &plan.variant;
    const kiln__reduction_variant *r = &v->reduction;
    const bool tile = v->layout == KILN__LAYOUT_TILE;
    if (tile != (c->down > 0) ||
        (tile && (r->segments != c->down || r->lanes != c->across || r->split != c->split)))
        fail_msg("%s: %s, %d x %d, split %d", c->what, kiln__layout_name((kiln__layout)v->layout),
                 r->segments, r->lanes, r->split);
    if (tile) {
        const int64_t rows = v->block / r->group * r->segments, columns = r->group * r->lanes;
        assert_int_equal(plan.grid, s[0] * ((s[1] + rows - 1) / rows) *
                                        ((s[2] + columns - 1) / columns) *
                                        plan.word[KILN__WORD_SPLITS]);
        assert_int_equal(plan.part_count, c->split ? plan.grid * rows * columns : 0);
        /* Neighbours along the reduced axis, 16 bytes of them at once. */
        assert_int_equal(r->side[0], KILN__SIDE_DOWN);
        assert_int_equal(r->side[1], KILN__SIDE_ACROSS);
        assert_int_equal(r->side[2], KILN__SIDE_NONE);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(r->along_side[k], 0);
            assert_int_equal(r->width[k], 16 / kiln_dtype_size(c->dtype));
        }
    }
    kiln__definition_destroy(def);
}

static void test_reduce_plan__broadcast_inputs_take_tiles(void **state)
{
    (void)state;
    for (size_t c = 0; c < KILN_COUNT_OF(tile_cases); c++)
        check_tile(&tile_cases[c]);
}

/* Over the rows of a matrix, times a column: the matrix decides. */
static void test_reduce_plan__an_input_that_stands_still_decides_nothing(void **state)
{
    static kiln__plan plan;
    const int64_t shape[] = {4096, 4096}, rows[] = {16384, 4}, column[] = {4, 0}, still[] = {0, 0};
    const int64_t out_shape[] = {4096, 1};
    const bool reduced[] = {false, true};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    const kiln__definition_request request = {.in = "T x, T c",
                                              .out = "T y",
                                              .snippet = {[KILN__SNIPPET_MAP] = "x * c",
                                                          [KILN__SNIPPET_REDUCE] = "a + b",
                                                          [KILN__SNIPPET_POST] = "y = a",
                                                          [KILN__SNIPPET_IDENTITY] = "0"},
                                              .family = &kiln__family_reduction};
    kiln__operand o[3] = {{.is_array = true, .itemsize = 4, .rank = 2, .shape = shape}};
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    o[1] = o[2] = o[0];
    o[0].strides = rows;
    o[1].strides = column;
    o[2].strides = still;
    o[2].shape = out_shape;
    o[2].written = true;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = 2,
                                          .shape = shape,
                                          .along = reduced},
                    &plan);
    assert_int_equal(plan.variant.layout, KILN__LAYOUT_ROWS);
    assert_int_equal(plan.variant.vec, 4);
    kiln__definition_destroy(def);
}

/* Blocks that share results: 24 a multiprocessor, which come in waves; 8 for columns of a number,
 * and 4 for what takes batches, which are resident all at once, so that more would have to wait. */
static void test_reduce_plan__blocks_that_share_results(void **state)
{
    static const struct {
        const char *map, *reduce, *identity, *type;
        bool down;           /* columns of a square matrix; else all of it */
        int64_t least, most; /* blocks; steps of 1024 accesses, and whole tiles, leave some out */
    } kinds[] = {
        {"x", "a + b", "0", "float", false, 3000, 24 * UNITS},
        {"x", "a + b", "0", "float", true, 1000, 8 * UNITS},
        {"kiln_moments_of<float>(x)", "kiln_moments_merge(a, b)", "kiln_moments_none<float>()",
         "kiln_moments<float>", false, 500, 4 * UNITS},
        {"kiln_moments_of<float>(x)", "kiln_moments_merge(a, b)", "kiln_moments_none<float>()",
         "kiln_moments<float>", true, 500, 4 * UNITS},
        /* Not known by its text: the least number of splits that makes 24, for 128 tiles. */
        {"(kiln_moments_of<float>(x))", "kiln_moments_merge(a, b)", "kiln_moments_none<float>()",
         "kiln_moments<float>", true, 24 * UNITS, 24 * UNITS + 127},
    };
    static kiln__plan plan;
    static const int64_t shape[] = {16384, 16384}, rows[] = {65536, 4}, still[] = {0, 0};
    static const int64_t one[] = {1, 1}, row[] = {1, 16384}, along[] = {0, 4};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++) {
        const kiln__definition_request request = {
            .in = "T x",
            .out = "T y",
            .snippet = {[KILN__SNIPPET_MAP] = kinds[k].map,
                        [KILN__SNIPPET_REDUCE] = kinds[k].reduce,
                        [KILN__SNIPPET_POST] = "y = 0",
                        [KILN__SNIPPET_IDENTITY] = kinds[k].identity,
                        [KILN__SNIPPET_REDUCE_TYPE] = kinds[k].type},
            .family = &kiln__family_reduction};
        const bool reduced[] = {true, !kinds[k].down};
        kiln__operand o[2] = {{.is_array = true, .itemsize = 4, .rank = 2, .address = 512}};
        kiln__definition *def = NULL;

        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        o[1] = o[0];
        o[0].shape = shape;
        o[0].strides = rows;
        o[1].written = true;
        o[1].shape = kinds[k].down ? row : one;
        o[1].strides = kinds[k].down ? along : still;
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = shape,
                                              .along = reduced},
                        &plan);
        if (plan.grid < kinds[k].least || plan.grid > kinds[k].most)
            fail_msg("%s, %s: %lld blocks", kinds[k].map, kinds[k].down ? "columns" : "all",
                     (long long)plan.grid);
        /* Teams of any size have a ticket each, and tiles one. */
        if (kinds[k].down)
            assert_true(plan.ticket_count >= 128 + plan.grid);
        kiln__definition_destroy(def);
    }
}

/* Which maps give a batch: a call of what makes accumulators, of anything that is computed of the
 * elements alone; and small sums as graphs write them. */
static const struct {
    const char *map;
    int kind; /* 0 moments, 1 positions, 2 sums in int64 */
    kiln__batch batch;
} maps[] = {
    {"kiln_moments_of<float>(x)", 0, KILN__BATCH_MOMENTS},
    {"kiln_moments_of<float>(x * (c - 1))", 0, KILN__BATCH_MOMENTS},
    {"kiln_moments_of<float>([&]() -> float { return x; }())", 0, KILN__BATCH_MOMENTS},
    {"kiln_moments_of<float>(x) /* all of it */", 0, KILN__BATCH_MOMENTS},
    {"kiln_moments_of<float>()", 0, KILN__BATCH_NONE},
    {"kiln_moments_of<float>(x", 0, KILN__BATCH_NONE},
    {"kiln_moments_of(x)", 0, KILN__BATCH_NONE},
    {"kiln_moments_of<float>(x), kiln_moments_of<float>(c)", 0, KILN__BATCH_NONE},
    {"c > 0 ? kiln_moments_of<float>(x) : kiln_moments_none<float>()", 0, KILN__BATCH_NONE},
    {"kiln_moments_of<float>(x * _J)", 0, KILN__BATCH_NONE},
    {"kiln_moments_of<float>(x + _in_ind.get()[0])", 0, KILN__BATCH_NONE},
    {"kiln_moments_of<float>(*&x)", 0, KILN__BATCH_NONE},
    {"kiln_position_of<float>(x, _J)", 1, KILN__BATCH_GREATEST},
    {"kiln_position_of<float>(max(x, c), _J)", 1, KILN__BATCH_GREATEST},
    {"kiln_position_of<float>(x, _J + 1)", 1, KILN__BATCH_NONE},
    {"kiln_position_of<float>(x * _J, _J)", 1, KILN__BATCH_NONE},
    {"kiln_position_of<float>(x, _i)", 1, KILN__BATCH_NONE},
    {"kiln_position_of<float>(_J)", 1, KILN__BATCH_NONE},
    {"[&]() -> bool { return x > c; }()", 2, KILN__BATCH_SUM},
    {"[&]() -> unsigned short { return x; }()", 2, KILN__BATCH_SUM},
    {"[&]() -> int { return x; }()", 2, KILN__BATCH_NONE},
    {"[&]() -> bool { return x > c; }() + 1", 2, KILN__BATCH_NONE},
    {"[&]() -> bool { return x > c; }", 2, KILN__BATCH_NONE},
    {"x > c", 2, KILN__BATCH_NONE},
};

static void test_reduce_plan__maps_that_take_batches(void **state)
{
    static const char *const texts[][3] = {
        {"kiln_moments_merge(a, b)", "kiln_moments_none<float>()", "kiln_moments<float>"},
        {"kiln_position_greatest(a, b)", "kiln_position_of<float>(-INFINITY, kiln_position_none)",
         "kiln_position<float>"},
        {"a + b", "0", "long long"}};
    static const int64_t shape[] = {16384, 16384}, rows[] = {65536, 4}, still[] = {0, 0};
    static const int64_t one[] = {1, 1};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    const bool reduced[] = {true, true};
    static kiln__plan plan;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(maps); k++) {
        const char *const *text = texts[maps[k].kind];
        const kiln__definition_request request = {
            .in = "float32 x, float32 c",
            .out = "float32 y",
            .snippet = {[KILN__SNIPPET_MAP] = maps[k].map,
                        [KILN__SNIPPET_REDUCE] = text[0],
                        [KILN__SNIPPET_POST] = "y = 0",
                        [KILN__SNIPPET_IDENTITY] = text[1],
                        [KILN__SNIPPET_REDUCE_TYPE] = text[2]},
            .family = &kiln__family_reduction};
        kiln__operand o[3] = {{.is_array = true, .itemsize = 4, .rank = 2, .address = 512}};
        kiln__definition *def = NULL;

        o[0].shape = shape;
        o[0].strides = rows;
        o[1] = o[2] = o[0];
        o[2].written = true;
        o[2].shape = one;
        o[2].strides = still;
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = shape,
                                              .along = reduced},
                        &plan);
        if (plan.variant.reduction.batch != maps[k].batch)
            fail_msg("%s: batch %d", maps[k].map, plan.variant.reduction.batch);
        kiln__definition_destroy(def);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce_plan__classes),
        cmocka_unit_test(test_reduce_plan__rows_that_threads_hold),
        cmocka_unit_test(test_reduce_plan__rows_read_by_index),
        cmocka_unit_test(test_reduce_plan__moments_of_many_columns_are_not_merged),
        cmocka_unit_test(test_reduce_plan__bytes_of_accumulators),
        cmocka_unit_test(test_reduce_plan__results_are_never_more_than_a_grid_has_blocks),
        cmocka_unit_test(test_reduce_plan__rows_that_cannot_be_held),
        cmocka_unit_test(test_reduce_plan__an_input_that_stands_still_decides_nothing),
        cmocka_unit_test(test_reduce_plan__blocks_that_share_results),
        cmocka_unit_test(test_reduce_plan__broadcast_inputs_take_tiles),
        cmocka_unit_test(test_reduce_plan__maps_that_take_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
