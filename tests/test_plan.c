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
    {"a base off by one element loses the vectors", "T x", "T z", "z = x",
     {KILN_FLOAT32, KILN_FLOAT32}, 1, {1000}, {{1, {1000}, {4}, 516}, {1, {1000}, {4}, 1024}},
     KILN__LAYOUT_LINEAR, 1, 1, 64},
    {"a base off by two elements halves the vectors", "T x", "T z", "z = x",
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
    {"a short axis does not fill a tile", "T x", "T z", "z = x", {KILN_FLOAT32, KILN_FLOAT32}, 2,
     {3, 1000}, {{2, {3, 1000}, {4, 12}, 512}, {2, {3, 1000}, {4000, 4}, 512}},
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
        kiln__plan_make(def, KILN_BACKEND_CUDA, k->dtypes, operands, k->rank, k->shape, &plan);
        if (plan.variant.layout != k->layout || plan.variant.rank != k->out_rank ||
            plan.variant.vec != k->vec || plan.variant.index_bits != k->index_bits)
            fail_msg("%s: layout %s rank %d vec %d bits %d", k->what,
                     kiln__layout_name((kiln__layout)plan.variant.layout), plan.variant.rank,
                     plan.variant.vec, plan.variant.index_bits);
        kiln__definition_destroy(def);
    }
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
        kiln__plan_make(def, KILN_BACKEND_CUDA, dtypes, o, 2, shapes[k], &plans[k]);
    }
    assert_memory_equal(&plans[0].variant, &plans[1].variant, sizeof plans[0].variant);
    assert_int_not_equal(plans[0].size, plans[1].size);
    kiln__definition_destroy(def);
}

/* Rows of several inputs that only single elements align are walked in bands of 8 where they are long
 * and many; vectors, short rows, few rows, small arrays and two inputs are not. */
static void test_plan__misaligned_rows_go_in_bands(void **state)
{
    static const struct {
        int64_t shape[2], pitch; /* pitch of x: elements between rows */
        bool banded;
        int64_t across, down, inputs; /* tiles of 3 x 128 elements, begun up to a line early; bands */
    } rows[] = {
        {{2048, 2050}, 2051, true, 6, 256, 3}, {{2049, 2304}, 2561, true, 7, 257, 3},
        {{2048, 2048}, 2052, false, 0, 0, 3},  {{20480, 255}, 257, false, 0, 0, 3},
        {{4, 2000001}, 2000003, false, 0, 0, 3}, {{512, 513}, 515, false, 0, 0, 3},
        {{2048, 2050}, 2051, false, 0, 0, 2},
    };
    const kiln__definition_request request = {
        .in = "T x, T y, T a", .out = "T z", .snippet = {[KILN__SNIPPET_OP] = "z = x + y + a"}};
    const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32, KILN_FLOAT32};
    static kiln__plan plan;
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t r = 0; r < KILN_COUNT_OF(rows); r++) {
        const int64_t x[] = {4 * rows[r].pitch, 4}, z[] = {4 * rows[r].shape[1], 4};
        const int64_t none[] = {0, 0}; /* a third input that is one element for all */
        kiln__operand o[4];
        for (int p = 0; p < 4; p++)
            o[p] = (kiln__operand){.is_array = true, .itemsize = 4, .rank = 2, .shape = rows[r].shape,
                                   .strides = p == 3 ? z : p < rows[r].inputs ? x : none,
                                   .address = 4096, .written = p == 3};
        kiln__plan_make(def, KILN_BACKEND_CUDA, dtypes, o, 2, rows[r].shape, &plan);
        assert_int_equal(plan.variant.layout, KILN__LAYOUT_INNER);
        assert_int_equal(plan.variant.tile != 0, rows[r].banded);
        assert_int_equal(plan.variant.group != 0, rows[r].banded);
        if (!rows[r].banded)
            continue;
        assert_int_equal(plan.walk[0], rows[r].down);
        assert_int_equal(plan.walk[1], rows[r].across);
        assert_int_equal(plan.grid, rows[r].down * rows[r].across);
    }
    kiln__definition_destroy(def);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan__classes),
        cmocka_unit_test(test_plan__sizes_do_not_make_variants),
        cmocka_unit_test(test_plan__misaligned_rows_go_in_bands),
        cmocka_unit_test(test_plan__k_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
