/*
 * test_plan.c - what the planner makes of strides: layout class, axes, vectors, offset width.
 *
 * Expectations are worked out by hand from docs/codegen.md; nothing here runs a kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/codegen.h"

enum { OPERANDS_MAX = 4 };

/* One operand: shape and byte strides of `rank` axes, base address. */
typedef struct operand_case {
    int rank;
    int64_t shape[4], strides[4];
    uintptr_t address;
} operand_case;

typedef struct plan_case {
    const char *what;
    const char *in, *out, *op;
    kiln_dtype dtypes[OPERANDS_MAX];
    int rank;
    int64_t shape[4];
    operand_case operands[OPERANDS_MAX]; /* inputs, then outputs */
    kiln__layout layout;
    int out_rank, vec, index_bits;
} plan_case;

#define MIB (1 << 20)

static const plan_case cases[] = {
    {"contiguous 2-d collapses to one axis", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32},
     2, {64, 100}, {{2, {64, 100}, {400, 4}, 512}, {2, {64, 100}, {400, 4}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 4, 64},
    {"one element", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 0, {0},
     {{0, {0}, {0}, 512}, {0, {0}, {0}, 1024}}, KILN__LAYOUT_LINEAR, 1, 4, 64},
    {"a base off by one element loses the vectors", "T x", "T z", "z = -x",
     {KILN_FLOAT32, KILN_FLOAT32}, 1, {1000}, {{1, {1000}, {4}, 516}, {1, {1000}, {4}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 1, 64},
    {"a base off by two elements halves the vectors", "T x", "T z", "z = -x",
     {KILN_FLOAT32, KILN_FLOAT32}, 1, {1000}, {{1, {1000}, {4}, 520}, {1, {1000}, {4}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 2, 64},
    {"the largest element decides the vectors", "int8 x", "float32 z", "z = x",
     {KILN_INT8, KILN_FLOAT32}, 1, {1000}, {{1, {1000}, {1}, 512}, {1, {1000}, {4}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 4, 64},
    {"F-order on all sides is linear", "T x", "T z", "z = x", {KILN_FLOAT64, KILN_FLOAT64}, 2,
     {30, 40}, {{2, {30, 40}, {8, 240}, 512}, {2, {30, 40}, {8, 240}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 2, 64},
    {"a row broadcasts over the inner axis", "T x, T y", "T z", "z = x + y",
     {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32}, 2, {64, 128},
     {{2, {64, 128}, {512, 4}, 512}, {2, {1, 128}, {512, 4}, 512}, {2, {64, 128}, {512, 4}, 512}},
     KILN__LAYOUT_INNER, 2, 4, 32},
    {"a column broadcasts as a splat", "T x, T y", "T z", "z = x + y",
     {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32}, 2, {64, 128},
     {{2, {64, 128}, {512, 4}, 512}, {2, {64, 1}, {4, 4}, 512}, {2, {64, 128}, {512, 4}, 512}},
     KILN__LAYOUT_INNER, 2, 4, 32},
    {"rows of odd length cannot be vectors", "T x, T y", "T z", "z = x + y",
     {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32}, 2, {64, 127},
     {{2, {64, 127}, {508, 4}, 512}, {2, {1, 127}, {508, 4}, 512}, {2, {64, 127}, {508, 4}, 512}},
     KILN__LAYOUT_INNER, 2, 1, 32},
    {"a transposed operand tiles", "T x, T y", "T z", "z = x + y",
     {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32}, 2, {64, 128},
     {{2, {64, 128}, {4, 256}, 512}, {2, {64, 128}, {512, 4}, 512}, {2, {64, 128}, {512, 4}, 512}},
     KILN__LAYOUT_TRANSPOSE, 2, 1, 32},
    {"an operand bound by address cannot go through a tile", "T x", "T z", "z = *(&x)",
     {KILN_FLOAT32, KILN_FLOAT32}, 2, {64, 128},
     {{2, {64, 128}, {4, 256}, 512}, {2, {64, 128}, {512, 4}, 512}},
     KILN__LAYOUT_GENERAL, 2, 1, 32},
    {"a short axis is held by threads", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 2,
     {12, 1000}, {{2, {12, 1000}, {4, 48}, 512}, {2, {12, 1000}, {4000, 4}, 512}},
     KILN__LAYOUT_TRANSPOSE, 2, 1, 32},
    {"a shorter one for several neighbours", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 2,
     {3, 1000}, {{2, {3, 1000}, {4, 12}, 512}, {2, {3, 1000}, {4000, 4}, 512}},
     KILN__LAYOUT_TRANSPOSE, 2, 2, 32},
    {"of 16-bit elements for more", "T x", "T z", "z = x", {KILN_FLOAT16, KILN_FLOAT16}, 2,
     {3, 1000}, {{2, {3, 1000}, {2, 6}, 512}, {2, {3, 1000}, {2000, 2}, 512}},
     KILN__LAYOUT_TRANSPOSE, 2, 4, 32},
    {"where their rows are aligned", "T x", "T z", "z = x", {KILN_FLOAT16, KILN_FLOAT16}, 2,
     {3, 1001}, {{2, {3, 1001}, {2, 6}, 512}, {2, {3, 1001}, {2002, 2}, 512}},
     KILN__LAYOUT_TRANSPOSE, 2, 1, 32},
    {"two short axes do not fill a tile", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 2,
     {3, 100}, {{2, {3, 100}, {4, 12}, 512}, {2, {3, 100}, {400, 4}, 512}},
     KILN__LAYOUT_GENERAL, 2, 1, 32},
    {"every second element", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 1, {1000},
     {{1, {1000}, {8}, 512}, {1, {1000}, {4}, 512}}, KILN__LAYOUT_GENERAL, 1, 1, 32},
    {"offsets beyond 2^31 bytes take 64 bits", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32},
     1, {400 * MIB}, {{1, {400 * MIB}, {8}, 512}, {1, {400 * MIB}, {4}, 512}},
     KILN__LAYOUT_GENERAL, 1, 1, 64},
    {"a reversed input", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 1, {1000},
     {{1, {1000}, {-4}, 4508}, {1, {1000}, {4}, 512}}, KILN__LAYOUT_GENERAL, 1, 1, 32},
    {"axes sort by the output's strides", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 3,
     {8, 16, 32}, {{3, {8, 16, 32}, {4, 1024, 32}, 512}, {3, {8, 16, 32}, {4, 1024, 32}, 512}},
     KILN__LAYOUT_LINEAR, 1, 4, 64},
};

static void test_plan__classes(void **state)
{
    (void)state;
    for (size_t c = 0; c < KILN_COUNT_OF(cases); c++) {
        const plan_case *k = &cases[c];
        const kiln__definition_request request = {
            .in = k->in, .out = k->out, .snippet = {[KILN__SNIPPET_OP] = k->op}};
        kiln__definition *def = NULL;
        kiln__operand operands[OPERANDS_MAX] = {{0}};
        static kiln__plan plan;

        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        for (size_t p = 0; p < def->param_count; p++) {
            operands[p] = (kiln__operand){.is_array = true,
                                          .written = def->params[p].output,
                                          .by_address = def->params[p].by_address,
                                          .itemsize = (uint8_t)kiln_dtype_size(k->dtypes[p]),
                                          .rank = k->operands[p].rank,
                                          .shape = k->operands[p].shape,
                                          .strides = k->operands[p].strides,
                                          .address = k->operands[p].address};
        }
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, 1, false, false},
                                              .dtypes = k->dtypes,
                                              .operands = operands,
                                              .rank = k->rank,
                                              .shape = k->shape},
                        &plan);
        if (plan.variant.layout != k->layout || plan.variant.rank != k->out_rank ||
            plan.variant.vec != k->vec || plan.variant.index_bits != k->index_bits)
            fail_msg("%s: layout %s rank %d vec %d bits %d", k->what,
                     kiln__layout_name((kiln__layout)plan.variant.layout), plan.variant.rank,
                     plan.variant.vec, plan.variant.index_bits);
        kiln__definition_destroy(def);
    }
}

/* Transposed bytes move as aligned words where all rows begin at sectors, and only there. */
static void test_plan__bytes_are_aligned_words_where_rows_begin_at_sectors(void **state)
{
    static const struct {
        int64_t extent;
        uintptr_t address;
        int aligned;
    } rows[] = {{288, 512, 1}, {288, 528, 1}, {292, 512, 0}, {288, 520, 0}, {289, 512, 0}};
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_INT8};
    const kiln__definition_request request = {
        .in = "T x", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = "z = x"}};
    static kiln__plan plan;
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(rows); k++) {
        const int64_t shape[2] = {160, rows[k].extent};
        const int64_t x[2] = {1, 160}, z[2] = {rows[k].extent, 1};
        kiln__operand o[2] = {{.is_array = true, .itemsize = 1, .rank = 2, .shape = shape,
                               .strides = x, .address = rows[k].address}};
        o[1] = o[0];
        o[1].strides = z;
        o[1].written = true;
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, 1, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = shape},
                        &plan);
        assert_int_equal(plan.variant.layout, KILN__LAYOUT_TRANSPOSE);
        assert_int_equal(plan.variant.vec, 4);
        assert_int_equal(plan.variant.loop.aligned, rows[k].aligned);
    }
    kiln__definition_destroy(def);
}

/* Rows that begin within lines of memory, and do not follow each other, are numbered by lines; copies of rows that begin
 * anywhere are made of words. */
static void test_plan__rows_of_a_part_are_stored_by_lines(void **state)
{
    static const struct {
        const char *what, *op;
        int64_t extent, x[2], z[2]; /* of the last axis; elements from row to row and from element to element */
        kiln_dtype dtype;
        kiln_backend backend;
        int lines;
        int64_t walk; /* accesses of a row */
    } rows[] = {
        {"odd rows", "z = -x", 999, {999, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 1056},
        {"rows that end lines", "z = -x", 993, {999, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 1024},
        {"halves", "z = -x", 999, {999, 1}, {2001, 1}, KILN_FLOAT16, KILN_BACKEND_CUDA, 1, 1056},
        {"bytes", "z = -x", 999, {999, 1}, {2001, 1}, KILN_INT8, KILN_BACKEND_CUDA, 0, 999},
        {"pairs", "z = -x", 1000, {1000, 1}, {2002, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 544},
        {"whole lines", "z = -x", 992, {999, 1}, {2048, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 992},
        {"rows that follow each other", "z = -x", 999, {1001, 1}, {999, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 999},
        {"short rows", "z = -x", 127, {127, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 127},
        {"every second element", "z = -x", 999, {999, 1}, {2001, 2}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 999},
        {"a reversed input", "z = -x", 999, {999, -1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 1056},
        {"threads", "z = x + threadIdx.x", 999, {999, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 999},
        {"the cpu", "z = x", 999, {999, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CPU, 0, 1},
        {"a copy of odd rows", "z = x", 999, {999, 1}, {2001, 1}, KILN_FLOAT16, KILN_BACKEND_CUDA, 2, 136},
        {"of pairs", "z = T(x);", 1000, {1000, 1}, {2002, 1}, KILN_FLOAT16, KILN_BACKEND_CUDA, 2, 136},
        {"of bytes", "z = x", 999, {999, 1}, {2001, 1}, KILN_INT8, KILN_BACKEND_CUDA, 2, 72},
        {"of odd rows to whole lines", "z = x", 992, {999, 1}, {2048, 1}, KILN_FLOAT16, KILN_BACKEND_CUDA, 2, 136},
        {"to rows that follow each other", "z = x", 999, {1001, 1}, {999, 1}, KILN_FLOAT16, KILN_BACKEND_CUDA, 2, 136},
        {"of wide elements", "z = x", 16383, {16383, 1}, {32769, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 16416},
        {"of long rows", "z = x", 16385, {16385, 1}, {32769, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 2, 4104},
        {"of words", "z = x", 1000, {1004, 1}, {2000, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 288},
        {"of short rows", "z = x", 127, {127, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 0, 127},
        {"of a reversed input", "z = x", 999, {999, -1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 1056},
        {"of a copy", "z = x; z = x", 999, {999, 1}, {2001, 1}, KILN_FLOAT32, KILN_BACKEND_CUDA, 1, 1056}};
    static kiln__plan plan;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(rows); k++) {
        const kiln__definition_request request = {
            .in = "T x", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = rows[k].op}};
        const int64_t size = (int64_t)kiln_dtype_size(rows[k].dtype), shape[2] = {64, rows[k].extent};
        const int64_t x[2] = {rows[k].x[0] * size, rows[k].x[1] * size};
        const int64_t z[2] = {rows[k].z[0] * size, rows[k].z[1] * size};
        const kiln_dtype dtypes[2] = {rows[k].dtype, rows[k].dtype};
        kiln__definition *def = NULL;
        kiln__operand o[2] = {{.is_array = true, .itemsize = (uint8_t)size, .rank = 2, .shape = shape,
                               .strides = x, .address = 4096}};

        o[1] = o[0];
        o[1].strides = z;
        o[1].written = true;
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {rows[k].backend, 1, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = shape},
                        &plan);
        if (plan.variant.loop.lines != rows[k].lines || plan.walk[1] != rows[k].walk)
            fail_msg("%s: lines %d walk %lld", rows[k].what, plan.variant.loop.lines,
                     (long long)plan.walk[1]);
        if (rows[k].lines != 0)
            assert_int_equal(plan.word[KILN__WORD_COUNT_ALL], 64 * rows[k].walk);
        kiln__definition_destroy(def);
    }
}

/* Rows of tiles that lie as in memory are as far apart, modulo 4 bytes, as rows of memory; rows of bytes that begin
 * at words, rows that all begin at sectors, short axes and rows of two kinds have other tiles. */
static void test_plan__tiles_lie_as_in_memory_where_rows_are_odd(void **state)
{
    static const struct {
        kiln_dtype from, dtype; /* of x and y, and z */
        int64_t shape[2], row[3]; /* elements from row to row: of x and y, both transposed, and z */
        int apart, side;
    } rows[] = {{KILN_INT8, KILN_INT8, {255, 511}, {255, 255, 511}, 135, 128},
                {KILN_INT8, KILN_INT8, {255, 511}, {257, 257, 511}, 133, 128},
                {KILN_INT8, KILN_INT8, {255, 511}, {258, 258, 512}, 134, 128},
                {KILN_INT8, KILN_INT8, {255, 511}, {-255, -255, 511}, 133, 128},
                {KILN_INT8, KILN_INT8, {255, 511}, {256, 256, 511}, 0, 128},
                {KILN_INT8, KILN_INT8, {255, 511}, {255, 257, 511}, 0, 128},
                {KILN_INT8, KILN_INT8, {100, 511}, {257, 257, 511}, 0, 0},
                {KILN_FLOAT16, KILN_FLOAT16, {255, 511}, {255, 255, 511}, 134, 128},
                {KILN_FLOAT16, KILN_FLOAT16, {255, 511}, {256, 256, 511}, 132, 128},
                {KILN_FLOAT16, KILN_FLOAT16, {256, 512}, {256, 256, 512}, 0, 0},
                {KILN_FLOAT16, KILN_FLOAT16, {255, 100}, {255, 255, 100}, 0, 0},
                {KILN_FLOAT32, KILN_FLOAT32, {255, 511}, {255, 255, 511}, 0, 0},
                {KILN_INT8, KILN_FLOAT32, {255, 511}, {256, 256, 511}, 132, 64},
                {KILN_FLOAT32, KILN_FLOAT16, {255, 511}, {255, 255, 511}, 132, 128},
                {KILN_FLOAT16, KILN_INT8, {255, 511}, {255, 255, 511}, 134, 128},
                {KILN_FLOAT32, KILN_INT8, {255, 511}, {255, 255, 511}, 0, 0},
                {KILN_FLOAT64, KILN_FLOAT32, {255, 511}, {255, 255, 511}, 0, 0},
                {KILN_FLOAT64, KILN_FLOAT64, {255, 511}, {255, 255, 511}, 0, 0}};
    const kiln__definition_request request = {
        .in = "S x, S y", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = "z = T(x + y)"}};
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(rows); k++) {
        const kiln_dtype dtypes[] = {rows[k].from, rows[k].from, rows[k].dtype};
        const int64_t size = (int64_t)kiln_dtype_size(rows[k].from);
        const int64_t size_of_z = (int64_t)kiln_dtype_size(rows[k].dtype);
        const int64_t strides[3][2] = {{size, rows[k].row[0] * size},
                                       {size, rows[k].row[1] * size},
                                       {rows[k].row[2] * size_of_z, size_of_z}};
        kiln__operand o[3] = {{0}};
        static kiln__plan plan;

        for (int p = 0; p < 3; p++)
            o[p] = (kiln__operand){.is_array = true,
                                   .written = p == 2,
                                   .itemsize = (uint8_t)(p < 2 ? size : size_of_z),
                                   .rank = 2,
                                   .shape = rows[k].shape,
                                   .strides = strides[p],
                                   .address = 1 << 24};
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, 1, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = rows[k].shape},
                        &plan);
        const kiln__variant *const v = &plan.variant;
        assert_int_equal(v->layout, KILN__LAYOUT_TRANSPOSE);
        if (v->loop.apart != rows[k].apart)
            fail_msg("case %zu: rows are %d bytes apart, not %d", k, v->loop.apart, rows[k].apart);
        if (v->loop.apart != 0)
            assert_int_equal(v->block * v->vec * v->unroll, v->loop.tile * rows[k].side);
    }
    kiln__definition_destroy(def);
}

/* Strides that differ only in unused numbers must not make another variant. */
static void test_plan__sizes_do_not_make_variants(void **state)
{
    (void)state;
    const kiln__definition_request request = {
        .in = "T x", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = "z = x"}};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};
    const int64_t shapes[2][2] = {{64, 128}, {32, 1024}};
    static kiln__plan plans[2];
    kiln__definition *def = NULL;

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int k = 0; k < 2; k++) {
        const int64_t strides[2] = {2 * shapes[k][1] * 4, 4};
        kiln__operand o[2] = {{.is_array = true, .itemsize = 4, .rank = 2, .shape = shapes[k],
                               .strides = strides, .address = 512}};
        o[1] = o[0];
        o[1].written = true;
        memset(&plans[k], k == 0 ? 0x55 : 0xaa, sizeof plans[k]);
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, 1, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 2,
                                              .shape = shapes[k]},
                        &plans[k]);
    }
    assert_memory_equal(&plans[0].variant, &plans[1].variant, sizeof plans[0].variant);
    assert_int_not_equal(plans[0].size, plans[1].size);
    kiln__definition_destroy(def);
}

#define SUM "z = a + b + c + d"

/* A plan of four inputs: `apart` are the bytes from a to each input. Planes of inputs have two rows more
 * than the shape. */
static void plan_views_of(int rank, const int64_t *shape, int64_t pitch, const int64_t *apart,
                          kiln_dtype dtype, const char *op, kiln_backend backend, kiln__plan *plan)
{
    const kiln__definition_request request = {
        .in = "T a, T b, T c, T d", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = op}};
    const kiln_dtype dtypes[] = {dtype, dtype, dtype, dtype, dtype};
    const int64_t size = (int64_t)kiln_dtype_size(dtype);
    const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    const int64_t x[] = {size * pitch * (rows + 2), size * pitch, size};
    const int64_t z[] = {size * columns * rows, size * columns, size};
    kiln__definition *def = NULL;
    kiln__operand o[5];

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int p = 0; p < 5; p++)
        o[p] = (kiln__operand){.is_array = true, .itemsize = (uint8_t)size, .rank = rank, .shape = shape,
                               .strides = (p == 4 ? z : x) + 3 - rank, .written = p == 4,
                               .address = p == 4 ? (uintptr_t)1 << 44
                                                 : ((uintptr_t)1 << 40) + (uintptr_t)apart[p]};
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {backend, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = rank,
                                          .shape = shape},
                    plan);
    kiln__definition_destroy(def);
}

static void plan_views(const int64_t *shape, int64_t pitch, const int64_t *apart, kiln_dtype dtype,
                       const char *op, kiln_backend backend, kiln__plan *plan)
{
    plan_views_of(2, shape, pitch, apart, dtype, op, backend, plan);
}

enum { ROW = 4 * 2051, FAR = 1 << 30 }; /* bytes of a row of 2051 float32; another array */

/* Three views of one array, or more, share a window that two fewer accesses pay for; where they
 * stand in it counts from its corner, and what they rely on is kept as shifts. */
static void test_plan__views_of_one_array_share_a_window(void **state)
{
    static const struct {
        const char *what;
        int64_t apart[4]; /* from a */
        bool windowed;
        uint8_t window[4], down[4], along[4];
    } rows[] = {
        {"a cross", {0, 2 * ROW, ROW - 4, ROW + 4}, true, {0, 0, 0, 0}, {0, 2, 1, 1}, {1, 1, 0, 2}},
        {"first below", {0, -2 * ROW, -ROW, 31 * 4}, true,
         {0, 0, 0, 0}, {2, 0, 1, 2}, {0, 0, 0, 31}},
        {"the same", {0, 0, 0, 0}, true, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
        {"three and another", {0, FAR, ROW, 8}, true, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 2}},
        {"two and two", {0, FAR, ROW, FAR + 8}, true, {0, 1, 0, 1}, {0, 0, 1, 0}, {0, 0, 0, 2}},
        {"three, one too far below", {0, ROW, 4, 9 * ROW}, true,
         {0, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}},
        {"three, one too far along", {0, ROW, 4, 32 * 4}, true,
         {0, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}},
        {"three, one between elements", {0, ROW, 4, 6}, true,
         {0, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}},
        {"only two", {0, ROW, FAR, 2 * (int64_t)FAR}, false, {0}, {0}, {0}},
        {"none", {0, FAR, 2 * (int64_t)FAR, 3 * (int64_t)FAR}, false, {0}, {0}, {0}},
    };
    static const int64_t shape[] = {2049, 2048};
    static kiln__plan plan;

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const kiln__variant *v = &plan.variant;
        plan_views(shape, 2051, rows[r].apart, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, &plan);
        if ((v->layout == KILN__LAYOUT_WINDOW) != rows[r].windowed || !plan.has_shifts)
            fail_msg("%s: %s", rows[r].what, kiln__layout_name((kiln__layout)v->layout));
        if (!rows[r].windowed)
            continue;
        for (size_t p = 0; p < 4; p++)
            if (v->access[p] != KILN__ACCESS_WINDOW || v->loop.window[p] != rows[r].window[p] ||
                v->loop.down[p] != rows[r].down[p] || v->loop.along[p] != rows[r].along[p])
                fail_msg("%s: input %zu: window %d, %d down, %d along", rows[r].what, p,
                         v->loop.window[p], v->loop.down[p], v->loop.along[p]);
        assert_int_equal(plan.walk[0], (shape[0] + v->loop.tile - 1) / v->loop.tile);
        assert_int_equal(plan.walk[1], (shape[1] + 256 * v->unroll - 1) / (256 * v->unroll));
        assert_int_equal(plan.grid, plan.walk[0] * plan.walk[1]);
    }
}

/* Views on several planes share a window as well, up to four planes apart, if there are enough planes. */
static void test_plan__planes_share_a_window(void **state)
{
    enum { LINE = 4 * 515, PLANE = 102 * LINE };
    static const struct {
        int64_t planes, apart[4];
        uint8_t window[4], behind[4], down[4], along[4];
    } rows[] = {
        {40, {0, 2 * PLANE, PLANE - LINE, PLANE + 4}, {0}, {0, 2, 1, 1}, {1, 1, 0, 1}, {0, 0, 0, 1}},
        {40, {0, -2 * PLANE + LINE, PLANE, 4}, {0}, {2, 0, 3, 2}, {0, 1, 0, 0}, {0, 0, 0, 1}},
        {40, {0, 4 * PLANE, LINE, 5 * PLANE}, {0}, {0, 4, 0, 0}, {0, 0, 1, 0}, {0}}, /* the last is far */
        {7, {0, LINE, 4, PLANE}, {0, 0, 0, 1}, {0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
    };
    static kiln__plan plan;

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const int64_t shape[] = {rows[r].planes, rows[r].planes < 8 ? 400 : 100, 513};
        int64_t apart[4];
        for (int p = 0; p < 4; p++) /* planes of 400 rows */
            apart[p] = rows[r].planes < 8 && rows[r].apart[p] == PLANE ? 402 * LINE : rows[r].apart[p];
        const kiln__loop_variant *v = &plan.variant.loop;
        plan_views_of(3, shape, 515, apart, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, &plan);
        assert_int_equal(plan.variant.layout, KILN__LAYOUT_WINDOW);
        assert_int_equal(v->planes > 0, rows[r].planes >= 8);
        assert_int_equal(plan.variant.access[3], r == 2 ? KILN__ACCESS_VECTOR : KILN__ACCESS_WINDOW);
        for (int p = 0; p < 4; p++)
            if (v->window[p] != rows[r].window[p] || v->behind[p] != rows[r].behind[p] ||
                v->down[p] != rows[r].down[p] || v->along[p] != rows[r].along[p])
                fail_msg("row %zu, input %d: window %d, %d behind, %d down, %d along", r, p,
                         v->window[p], v->behind[p], v->down[p], v->along[p]);
    }
}

/* Blocks march through many planes: with words as wide as rows of the output allow, and, where rows of inputs
 * begin alike modulo 16 bytes, what lies before them up to such a place in the window. */
static void test_plan__blocks_march_through_planes(void **state)
{
    static const struct {
        kiln_dtype dtype;
        int64_t planes, columns, pitch, first; /* bytes that a begins behind a place of 16 */
        int vec, slant;                        /* 0: no block marches */
        uint8_t along[4];
    } rows[] = {
        {KILN_FLOAT32, 40, 638, 640, 0, 2, 0, {0, 1, 2, 0}},
        {KILN_FLOAT32, 40, 638, 640, 12, 2, 0, {3, 4, 5, 3}},
        {KILN_FLOAT32, 40, 637, 640, 0, 1, 0, {0, 1, 2, 0}},
        {KILN_FLOAT32, 40, 638, 641, 12, 1, 1, {0, 1, 2, 0}},
        {KILN_FLOAT32, 10, 638, 640, 0, 2, 0, {0, 1, 2, 0}},
        {KILN_FLOAT32, 7, 638, 640, 0, 0, 0, {0}},
        {KILN_FLOAT64, 40, 640, 642, 0, 2, 0, {0, 1, 2, 0}},
        {KILN_FLOAT64, 40, 637, 641, 0, 1, 1, {0, 1, 2, 0}},
        {KILN_FLOAT16, 40, 638, 640, 2, 2, 0, {1, 2, 3, 1}},
        {KILN_FLOAT16, 40, 638, 642, 2, 2, 1, {1, 2, 3, 1}},
        {KILN_FLOAT16, 40, 637, 640, 0, 2, 0, {0, 1, 2, 0}},
        {KILN_FLOAT16, 40, 637, 641, 2, 2, 2, {0, 1, 2, 0}},
        {KILN_INT8, 40, 640, 642, 3, 4, 2, {0, 1, 2, 0}},
        {KILN_INT8, 40, 640, 644, 1, 4, 1, {1, 2, 3, 1}},
        {KILN_COMPLEX64, 40, 637, 641, 8, 1, 1, {0, 1, 2, 0}},
        {KILN_COMPLEX128, 40, 637, 641, 0, 0, 0, {0}},
    };
    static kiln__plan plan;

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const int64_t size = (int64_t)kiln_dtype_size(rows[r].dtype), first = rows[r].first;
        const int64_t shape[] = {rows[r].planes, 400, rows[r].columns};
        const int64_t apart[] = {first, first + size, first + 2 * size, first + 2 * 402 * rows[r].pitch * size};
        const kiln__loop_variant *v = &plan.variant.loop;
        plan_views_of(3, shape, rows[r].pitch, apart, rows[r].dtype, SUM, KILN_BACKEND_CUDA, &plan);
        if ((v->ring != 0) != (rows[r].vec != 0) || v->slant != rows[r].slant ||
            (v->ring != 0 && (plan.variant.vec != rows[r].vec || v->behind[3] != 2 ||
                              memcmp(v->along, rows[r].along, 4) != 0)))
            fail_msg("row %zu: ring %d, slant %d, vec %d, the first %d along", r, v->ring, v->slant,
                     plan.variant.vec, v->along[0]);
        if (v->ring == 0)
            continue;
        assert_int_equal(plan.walk[0], (shape[0] + plan.word[KILN__WORD_CHUNK] - 1) / plan.word[KILN__WORD_CHUNK]);
        assert_int_equal(plan.grid, plan.walk[0] * plan.walk[1] * plan.walk[2]);
    }
}

/* Narrow elements are moved as words where rows of outputs begin at words. Windows then begin there too. */
static void test_plan__windows_of_words(void **state)
{
    static const struct {
        kiln_dtype dtype;
        int64_t columns, pitch, first; /* bytes that a begins behind a word */
        int vec;
        uint8_t along[4];
    } rows[] = {
        {KILN_FLOAT16, 2048, 2050, 0, 2, {0, 1, 2, 0}},
        {KILN_FLOAT16, 2048, 2050, 2, 2, {1, 2, 3, 1}},
        {KILN_FLOAT16, 2049, 2050, 0, 1, {0, 1, 2, 0}},
        {KILN_FLOAT16, 2048, 2051, 0, 1, {0, 1, 2, 0}},
        {KILN_INT8, 2048, 2052, 3, 4, {3, 4, 5, 3}},
        {KILN_INT8, 2046, 2052, 0, 1, {0, 1, 2, 0}},
    };
    static kiln__plan plan;

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const int64_t size = (int64_t)kiln_dtype_size(rows[r].dtype), shape[] = {2049, rows[r].columns};
        const int64_t apart[] = {rows[r].first, rows[r].first + size, rows[r].first + 2 * size,
                                 rows[r].first + rows[r].pitch * size};
        plan_views(shape, rows[r].pitch, apart, rows[r].dtype, SUM, KILN_BACKEND_CUDA, &plan);
        assert_int_equal(plan.variant.layout, KILN__LAYOUT_WINDOW);
        assert_int_equal(plan.variant.vec, rows[r].vec);
        assert_memory_equal(plan.variant.loop.along, rows[r].along, 4);
    }
}

/* Windows are for large matrices of narrow accesses that memory keeps busy, on a GPU. */
static void test_plan__windows_are_for_large_matrices(void **state)
{
    static const struct {
        const char *what;
        int64_t shape[2], pitch;
        kiln_dtype dtype;
        const char *op;
        kiln_backend backend;
        bool windowed;
    } rows[] = {
        {"large", {2049, 2048}, 2051, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, true},
        {"float64", {2049, 2048}, 2051, KILN_FLOAT64, SUM, KILN_BACKEND_CUDA, true},
        {"cpu", {2049, 2048}, 2051, KILN_FLOAT32, SUM, KILN_BACKEND_CPU, false},
        {"small", {512, 513}, 515, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, false},
        {"narrow", {20480, 255}, 257, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, false},
        {"low", {4, 2000001}, 2000003, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, false},
        {"rows overlap", {2049, 2048}, 100, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, false},
        {"wide accesses", {2049, 2048}, 2051, KILN_COMPLEX128, SUM, KILN_BACKEND_CUDA, false},
        {"arithmetic", {2049, 2048}, 2051, KILN_FLOAT32, "z = a + b + c + exp(d)", KILN_BACKEND_CUDA,
         false},
        {"address taken", {2049, 2048}, 2051, KILN_FLOAT32, "z = a + b + c + *&d", KILN_BACKEND_CUDA,
         false},
        {"output kept", {2049, 2048}, 2051, KILN_FLOAT32, "z += a + b + c + d", KILN_BACKEND_CUDA,
         false},
    };
    static kiln__plan plan;

    (void)state;
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const int64_t size = (int64_t)kiln_dtype_size(rows[r].dtype);
        const int64_t apart[] = {0, size, 2 * size, rows[r].pitch * size};
        plan_views(rows[r].shape, rows[r].pitch, apart, rows[r].dtype, rows[r].op, rows[r].backend,
                   &plan);
        if ((plan.variant.layout == KILN__LAYOUT_WINDOW) != rows[r].windowed)
            fail_msg("%s: %s", rows[r].what, kiln__layout_name((kiln__layout)plan.variant.layout));
    }
}

/* A kernel whose arguments just fit is not refused for what windows add to them. */
static void test_plan__windows_leave_room_for_arguments(void **state)
{
    enum { RANK = 7, INPUTS = 59, COLUMNS = 1001 };
    static const int64_t shape[RANK] = {2, 2, 2, 2, 2, 64, COLUMNS};
    static int64_t in[RANK], out[RANK];
    static kiln__operand o[INPUTS + 1];
    static kiln_dtype dtypes[INPUTS + 1];
    static kiln__plan plan;
    char names[600] = "", op[600] = "z = i";
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    in[RANK - 1] = out[RANK - 1] = 4;
    for (int a = RANK - 2; a >= 0; a--) { /* no two axes collapse */
        in[a] = in[a + 1] * shape[a + 1] + 164;
        out[a] = out[a + 1] * shape[a + 1] + 4;
    }
    for (size_t p = 0; p <= INPUTS; p++) {
        const bool written = p == INPUTS;
        o[p] = (kiln__operand){.is_array = true, .written = written, .itemsize = 4, .rank = RANK,
                               .shape = shape, .strides = written ? out : in,
                               .address = (uintptr_t)(written ? 2 : 1) << 40};
        o[p].address += written ? 0 : 4 * (p % 7) + (uintptr_t)in[RANK - 2] * (p % 3);
        dtypes[p] = KILN_FLOAT32;
        if (written)
            continue;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%sT v%zu",
                 p > 0 ? ", " : "", p);
        snprintf(op + strlen(op), sizeof op - strlen(op), " + v%zu", p);
    }
    const kiln__definition_request request = {
        .name = "full", .in = names, .out = "T z", .snippet = {[KILN__SNIPPET_OP] = op}};
    assert_int_equal(kiln__definition_create(&request, &def, &err), KILN_OK);
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = RANK,
                                          .shape = shape},
                    &plan);
    if (kiln__emit(def, &plan.variant, &source, &err) != KILN_OK)
        fail_msg("%s", err.message);
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
}

/* Kin hold where arrays lie to each other as they did, wherever that is, and no two that were
 * strangers are near. */
static void test_plan__kin_are_told_by_their_distances(void **state)
{
    static const struct {
        int64_t apart[4];
        bool holds;
    } rows[] = {
        {{0, FAR, ROW, 8}, true},      {{64, FAR, ROW + 64, 72}, true},
        {{0, -FAR, ROW, 8}, true},     {{0, FAR, ROW, 12}, false},
        {{0, FAR, ROW + 4, 8}, false}, {{0, 4 * ROW, ROW, 8}, false},
    };
    static const int64_t shape[] = {2049, 2048};
    static kiln__plan plan;

    (void)state;
    plan_views(shape, 2051, rows[0].apart, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, &plan);
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        uintptr_t address[5] = {0};
        for (size_t p = 0; p < 4; p++)
            address[p] = ((uintptr_t)3 << 40) + (uintptr_t)rows[r].apart[p];
        if (kiln__shifts_hold(plan.shifts, address, 5) != rows[r].holds)
            fail_msg("row %zu", r);
    }
}

/* Blocks of one array that share nothing need no plan of their own for each distance. */
static void test_plan__kin_that_share_nothing_may_move(void **state)
{
    static const struct {
        int64_t apart;
        bool holds;
    } rows[] = {
        {4000, true},  {4400, true},      {-4000, true}, {ROW + 4000, true}, {6, true},
        {4, false},    {ROW + 4, false},  {0, false},    {FAR, false},
        {9 * (int64_t)ROW, false},
    };
    static const int64_t shape[] = {2049, 2048}, apart[] = {0, FAR, 4000, 8};
    static kiln__plan plan;

    (void)state;
    plan_views(shape, 2051, apart, KILN_FLOAT32, SUM, KILN_BACKEND_CUDA, &plan);
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        uintptr_t address[5] = {0};
        for (size_t p = 0; p < 4; p++)
            address[p] = ((uintptr_t)3 << 40) + (uintptr_t)(p == 2 ? rows[r].apart : apart[p]);
        if (kiln__shifts_hold(plan.shifts, address, 5) != rows[r].holds)
            fail_msg("row %zu", r);
    }
}

/* Outputs keep the order of the inputs' axes; NumPy's K-order for the same strides. */
static void test_plan__k_order(void **state)
{
    (void)state;
    const int64_t shape[3] = {4, 5, 6}, strides[3] = {8, 192, 32};
    const kiln__operand o = {.is_array = true, .itemsize = 8, .rank = 3, .shape = shape,
                             .strides = strides};
    int order[3];
    kiln__plan_k_order(&o, 1, 3, shape, order);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 0);
}

/* How many elements a thread of a linear kernel takes. */
static int elements_of_thread(const char *preamble, const char *op)
{
    const int64_t shape[] = {1000}, strides[] = {4};
    const kiln__definition_request request = {
        .in = "float32 x", .out = "float32 z",
        .snippet = {[KILN__SNIPPET_PREAMBLE] = preamble, [KILN__SNIPPET_OP] = op}};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32};
    kiln__definition *def = NULL;
    kiln__operand operands[2];
    static kiln__plan plan;

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int p = 0; p < 2; p++)
        operands[p] = (kiln__operand){.is_array = true, .written = p == 1, .itemsize = 4, .rank = 1,
                                      .shape = shape, .strides = strides, .address = 512};
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = 1,
                                          .shape = shape},
                    &plan);
    kiln__definition_destroy(def);
    return plan.variant.vec * plan.variant.unroll;
}

/* What a thread repeats for each of its elements is a snippet, not half a megabyte of code. */
static void test_plan__large_snippets_have_a_thread_for_each_element(void **state)
{
    static const char line[] = "x = x * x + 0.5f - 1 / (x + 2);\n"; /* 16 tokens, 80 times */
    static const struct {
        const char *head, *tail, *op;
        int elements;
    } large[] = {
        {"__device__ float f(float x) {\n", "return x; }\n", "z = f(x)", 1},
        {"__device__ float f(float x) {\n", "return x; }\n", "z = x", 4},
        {"__noinline__ __device__ float f(float x) {\n", "return x; }\n", "z = f(x)", 4},
        {"template <class T> static T f(T x) noexcept\n{\n",
         "return x; }\nfloat g(float x) { return f(x) + 1; }\n", "z = g(x)", 1},
        {"float f(float x) { return x < 1 ? x : f(x - 1); }\nvoid unused(float x) {\n", "}\n",
         "z = f(x)", 4},
        {"namespace a { struct b { float c; }; }\nfloat f(float x) {\nif (x > 1) {\n", "} return x; }",
         "z = f(x)", 1},
    };
    kiln__buf preamble = KILN__BUF_INIT;

    (void)state;
    for (size_t c = 0; c < KILN_COUNT_OF(large); c++) {
        kiln__buf_puts(&preamble, large[c].head);
        for (int k = 0; k < 80; k++)
            kiln__buf_puts(&preamble, line);
        kiln__buf_puts(&preamble, large[c].tail);
        const int got = elements_of_thread(preamble.text, large[c].op);
        if (got != large[c].elements)
            fail_msg("case %zu: %d elements, not %d", c, got, large[c].elements);
        kiln__buf_clear(&preamble);
    }
    /* Short functions that call each other twice; and a text without functions, as graphs have. */
    assert_int_equal(elements_of_thread("float a(float x) { return x * x + exp(x); }\n"
                                        "float b(float x) { return a(x) + a(x + 1); }\n"
                                        "float c(float x) { return b(x) + b(x + 1); }\n"
                                        "float d(float x) { return c(x) + c(x + 1); }\n",
                                        "z = d(x)"), 4);
    assert_int_equal(elements_of_thread("float a(float x) { return x * x + exp(x); }\n"
                                        "float b(float x) { return a(x) + a(x + 1); }\n"
                                        "float c(float x) { return b(x) + b(x + 1); }\n"
                                        "float d(float x) { return c(x) + c(x + 1); }\n",
                                        "z = d(x) + d(2 * x)"), 1);
    kiln__buf_puts(&preamble, "float t = x; ");
    for (int k = 0; k < 200; k++)
        kiln__buf_puts(&preamble, "t = t * t + float(x * 0.5f) - t;\n");
    kiln__buf_puts(&preamble, "z = t");
    assert_int_equal(elements_of_thread(NULL, preamble.text), 4);
    kiln__buf_clear(&preamble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan__classes),
        cmocka_unit_test(test_plan__rows_of_a_part_are_stored_by_lines),
        cmocka_unit_test(test_plan__windows_leave_room_for_arguments),
        cmocka_unit_test(test_plan__tiles_lie_as_in_memory_where_rows_are_odd),
        cmocka_unit_test(test_plan__bytes_are_aligned_words_where_rows_begin_at_sectors),
        cmocka_unit_test(test_plan__sizes_do_not_make_variants),
        cmocka_unit_test(test_plan__views_of_one_array_share_a_window),
        cmocka_unit_test(test_plan__planes_share_a_window),
        cmocka_unit_test(test_plan__blocks_march_through_planes),
        cmocka_unit_test(test_plan__windows_of_words),
        cmocka_unit_test(test_plan__windows_are_for_large_matrices),
        cmocka_unit_test(test_plan__kin_are_told_by_their_distances),
        cmocka_unit_test(test_plan__kin_that_share_nothing_may_move),
        cmocka_unit_test(test_plan__k_order),
        cmocka_unit_test(test_plan__large_snippets_have_a_thread_for_each_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
