/*
 * test_scan_plan.c - what plans of scans make of arrays in any layout: every element is reached
 * where it lies, in the order of its sequence, and wide accesses are aligned.
 *
 * Random shapes, strides of either sign, axes and directions. A plan is walked as kernels walk it
 * (templates/scan: begin, then steps), in plain loops; nothing here runs a kernel, so that what
 * GPUs would do is checked without one.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"

enum { UNITS = 132, ELEMENTS_MAX = 1 << 15, CASES = 4000, RANK = 3 };

typedef struct element {
    int64_t out, in; /* addresses */
    int64_t number;  /* in its sequence */
} element;

static uint64_t state_of_random = 20240229;

static int64_t below(int64_t bound)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state_of_random >> 33) % (uint64_t)bound);
}

typedef struct scan_case {
    int rank, axis;
    int64_t shape[RANK], strides[2][RANK]; /* of the input and the output, in bytes */
    uintptr_t address[2];
    bool reverse;
    kiln_dtype dtype;
} scan_case;

/* Strides of an array whose axes lie in any order, with gaps here and there, some turned round. */
static void lay_out(scan_case *c, int which, int64_t itemsize)
{
    int64_t step = itemsize;
    int order[RANK] = {0, 1, 2};

    for (int a = c->rank - 1; a > 0; a--) {
        const int with = below(3) != 0 ? a : (int)below(a + 1), was = order[a];
        order[a] = order[with];
        order[with] = was;
    }
    c->address[which] = (uintptr_t)1 << 32;
    if (below(3) == 0)
        c->address[which] += (uintptr_t)(below(16) * itemsize);
    for (int k = c->rank - 1; k >= 0; k--) {
        const int a = order[k];
        const bool turned = below(2) == 0;
        c->strides[which][a] = turned ? -step : step;
        if (turned)
            c->address[which] += (uintptr_t)((c->shape[a] - 1) * step);
        step *= c->shape[a] + (below(5) == 0 ? below(3) : 0);
    }
}

static void make_case(scan_case *c)
{
    static const kiln_dtype dtypes[] = {KILN_INT8, KILN_INT16, KILN_FLOAT32, KILN_FLOAT64,
                                        KILN_COMPLEX128};
    static const int64_t extents[] = {1, 2, 3, 4, 8, 16, 31, 32, 33, 64, 100, 257, 1024, 1028};
    int64_t size = 1;

    memset(c, 0, sizeof *c);
    c->rank = 1 + (int)below(RANK);
    c->axis = (int)below(c->rank + 1) - 1;
    c->reverse = below(3) != 0;
    c->dtype = dtypes[below(KILN_COUNT_OF(dtypes))];
    for (int a = 0; a < c->rank; a++) {
        c->shape[a] = extents[below(KILN_COUNT_OF(extents))];
        while (size * c->shape[a] > ELEMENTS_MAX)
            c->shape[a] = (c->shape[a] + 1) / 2;
        size *= c->shape[a];
    }
    lay_out(c, 0, (int64_t)kiln_dtype_size(c->dtype));
    lay_out(c, 1, (int64_t)kiln_dtype_size(c->dtype));
}

/* What blocks may have: nothing special, 96 KiB of shared memory, 200 KiB. */
enum { PLAIN, CLUSTERS, ROOMY };

static void make_plan(const scan_case *c, kiln_backend backend, int device, kiln__plan *plan)
{
    const kiln__definition_request request = {.name = "scan",
                                              .in = "T x",
                                              .out = "T y",
                                              .snippet = {[KILN__SNIPPET_MAP] = "x",
                                                          [KILN__SNIPPET_REDUCE] = "a + b",
                                                          [KILN__SNIPPET_POST] = "y = a",
                                                          [KILN__SNIPPET_IDENTITY] = "0"},
                                              .family = &kiln__family_scan};
    const kiln_dtype dtypes[] = {c->dtype, c->dtype};
    kiln__operand operands[2] = {{0}};
    kiln__definition *def = NULL;

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int p = 0; p < 2; p++) {
        operands[p].is_array = true;
        operands[p].written = p == 1;
        operands[p].address = c->address[p];
        operands[p].itemsize = (uint8_t)kiln_dtype_size(c->dtype);
        operands[p].rank = c->rank;
        operands[p].shape = c->shape;
        operands[p].strides = c->strides[p];
    }
    bool along[KILN_RANK_MAX];
    for (int a = 0; a < c->rank; a++)
        along[a] = c->axis < 0 || a == c->axis;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {backend, UNITS, device >= CLUSTERS, device == ROOMY},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = c->rank,
                                          .shape = c->shape,
                                          .along = along,
                                          .flags = c->reverse ? KILN__SCAN_REVERSE : 0},
                    plan);
    kiln__definition_destroy(def);
}

static int by_output(const void *a, const void *b)
{
    const int64_t left = ((const element *)a)->out, right = ((const element *)b)->out;
    return (left > right) - (left < right);
}

/* Every element, by plain loops over the case. */
static int64_t list_elements(const scan_case *c, element *list)
{
    int64_t size = 1, length;

    for (int a = 0; a < c->rank; a++)
        size *= c->shape[a];
    length = c->axis < 0 ? size : c->shape[c->axis];
    for (int64_t k = 0; k < size; k++) {
        int64_t rest = k, number = k;
        list[k] = (element){(int64_t)c->address[1], (int64_t)c->address[0], 0};
        for (int a = c->rank - 1; a >= 0; a--) {
            const int64_t at = rest % c->shape[a];
            rest /= c->shape[a];
            list[k].out += at * c->strides[1][a];
            list[k].in += at * c->strides[0][a];
            if (a == c->axis)
                number = at;
        }
        list[k].number = c->reverse ? length - 1 - number : number;
    }
    qsort(list, (size_t)size, sizeof list[0], by_output);
    return size;
}

/* Where the plan's walk has access `number` of its axes first to last - 1 from the beginning on. */
static int64_t offset_of(const kiln__plan *plan, int p, int first, int last, int64_t number)
{
    int64_t offset = 0;
    for (int a = last - 1; a >= first; a--) {
        const int64_t extent = a > first ? plan->walk[a] : INT64_MAX;
        offset += number % extent * plan->step[p][a];
        number /= extent;
    }
    return offset;
}

static void check_rows(const scan_case *c, const kiln__plan *plan, const element *list,
                       int64_t size)
{
    const kiln__variant *v = &plan->variant;
    const int64_t itemsize = (int64_t)kiln_dtype_size(c->dtype);
    const int64_t sequences = plan->word[KILN__WORD_OUTPUTS], count = size / sequences;

    for (int64_t n = 0; n < sequences; n++)
        for (int64_t e = 0; e < count; e++) {
            int64_t at[2];
            for (int p = 0; p < 2; p++) {
                const int64_t access = (int64_t)c->address[p] + plan->begin[p] +
                                       offset_of(plan, p, 0, v->keep_rank, n) +
                                       offset_of(plan, p, v->keep_rank, v->rank, e / v->vec);
                const bool back = v->access[p] == KILN__ACCESS_BACK;
                const int64_t lowest = back ? access - (v->vec - 1) * itemsize : access;
                at[p] = access + e % v->vec * (back ? -itemsize : itemsize);
                if (lowest % (v->vec * itemsize) != 0)
                    fail_msg("a misaligned access of %d elements", v->vec);
            }
            const element key = {at[1], 0, 0};
            const element *found = bsearch(&key, list, (size_t)size, sizeof list[0], by_output);
            if (found == NULL || found->in != at[0] || found->number != e)
                fail_msg("element %lld of sequence %lld is not where it lies", (long long)e,
                         (long long)n);
        }
}

static void test_scan_plan__rows_are_walked_where_they_lie(void **state)
{
    static element list[ELEMENTS_MAX];
    int rows = 0, vectors = 0, turned = 0;

    (void)state;
    for (int k = 0; k < CASES; k++) {
        scan_case c;
        kiln__plan plan;

        make_case(&c);
        memset(&plan, 0, sizeof plan);
        make_plan(&c, k % 4 == 0 ? KILN_BACKEND_CPU : KILN_BACKEND_CUDA, (int)(k % 3), &plan);
        if (plan.variant.layout != KILN__LAYOUT_ROWS)
            continue;
        check_rows(&c, &plan, list, list_elements(&c, list));
        rows++;
        vectors += plan.variant.vec > 1;
        turned += plan.variant.vec > 1 && c.reverse;
    }
    assert_true(rows > CASES / 4 && vectors > CASES / 20 && turned > CASES / 100);
}

/* Tiles of wide blocks are two or four times as tall; their shared memory is what a launch must give. */
static void test_scan_plan__few_long_columns_have_wide_blocks(void **state)
{
    static const struct {
        int64_t rows, columns;
        int device, block, across, bytes; /* of shared memory, for each row of each thread */
        int flat;
    } cases[] = {
        {1 << 24, 16, CLUSTERS, 512, 16, 8, 2}, {1 << 24, 16, PLAIN, 256, 16, 8, 2},
        {1 << 20, 256, CLUSTERS, 512, 32, 8, 0}, {1 << 16, 16, CLUSTERS, 256, 16, 8, 2},
        {1 << 16, 4096, CLUSTERS, 256, 32, 8, 0}, {1 << 26, 3, CLUSTERS, 512, 4, 6, 2},
        {1 << 26, 3, PLAIN, 256, 4, 6, 2}, {1 << 25, 7, CLUSTERS, 512, 8, 8, 2},
        {1 << 18, 16, CLUSTERS, 512, 16, 8, 2}, {1 << 23, 32, CLUSTERS, 512, 32, 8, 1},
        {1 << 24, 16, ROOMY, 1024, 16, 8, 2}, {1 << 23, 32, ROOMY, 1024, 32, 8, 2},
        {1 << 23, 24, ROOMY, 1024, 32, 6, 2}, {1 << 18, 16, ROOMY, 512, 16, 8, 2},
        {1 << 20, 256, ROOMY, 512, 32, 8, 0}, {1 << 22, 64, ROOMY, 512, 32, 8, 0},
        {1 << 25, 8, ROOMY, 512, 8, 8, 2}, {1 << 24, 12, ROOMY, 512, 16, 6, 2},
    };
    static const int most[] = {[PLAIN] = 48, [CLUSTERS] = 96, [ROOMY] = 192};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        const int64_t row = cases[k].columns * 4;
        scan_case c = {.rank = 2,
                       .shape = {cases[k].rows, cases[k].columns},
                       .strides = {{row, 4}, {row, 4}},
                       .address = {(uintptr_t)1 << 36, (uintptr_t)1 << 37},
                       .dtype = KILN_FLOAT32};
        kiln__plan plan;

        memset(&plan, 0xff, sizeof plan);
        make_plan(&c, KILN_BACKEND_CUDA, cases[k].device, &plan);
        const kiln__variant *const v = &plan.variant;
        assert_int_equal(v->block, cases[k].block);
        assert_int_equal(v->scan.group, cases[k].across);
        assert_int_equal(v->scan.tall, cases[k].bytes < 8);
        assert_int_equal(v->scan.resident * v->block, 4 * 256);
        assert_int_equal(plan.shared_bytes, cases[k].bytes * v->unroll * v->block);
        assert_int_equal(v->scan.flat, cases[k].flat);
        assert_true(plan.shared_bytes <= (uint32_t)most[cases[k].block / 512] << 10);
    }
}

/* Tests of wide blocks ask for them by a variable, which the library of tests reads. */
static void test_scan_plan__a_variable_asks_for_wide_blocks(void **state)
{
    static const char *const wider[] = {"1", "2", "4"};
    const scan_case c = {.rank = 2,
                         .shape = {4096, 16},
                         .strides = {{64, 4}, {64, 4}},
                         .address = {(uintptr_t)1 << 36, (uintptr_t)1 << 37},
                         .dtype = KILN_FLOAT32};
    static kiln__plan plan;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(wider); k++) {
        setenv("KILN_TUNE_SCAN_WIDER", wider[k], 1);
        make_plan(&c, KILN_BACKEND_CUDA, PLAIN, &plan);
        unsetenv("KILN_TUNE_SCAN_WIDER");
        assert_int_equal(plan.variant.block, 256 << k);
    }
}

/* Filters share their planner's rules with scans. Those that load all of their inputs ahead leave more of the L1 cache
 * to the loads; those that read one where something is kept, or put places aside, have no need of it. */
static void test_scan_plan__filters_that_load_ahead_leave_room_for_loads(void **state)
{
    static const struct {
        const char *out, *where, *op;
        kiln_dtype dtype;
        int percent;
    } cases[] = {{"T y, int64 count", "x > 0", "y = x", KILN_FLOAT32, 72},
                 {"T y, int64 count", "mask", "y = x", KILN_FLOAT32, 0},
                 {"int64 y, int64 count", "x > 0", "y = i", KILN_INT64, 0}};
    static const int64_t shape[] = {1 << 24}, one[] = {1}, still[] = {0};
    static const int64_t of_4[] = {4}, of_8[] = {8}, of_1[] = {1};
    static const bool along[] = {true};
    static kiln__plan plan;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        const kiln__definition_request request = {
            .in = "T x, bool mask",
            .out = cases[k].out,
            .snippet = {[KILN__SNIPPET_OP] = cases[k].op, [KILN__SNIPPET_WHERE] = cases[k].where},
            .family = &kiln__family_filter};
        const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_BOOL, cases[k].dtype, KILN_INT64};
        kiln__operand o[4] = {{.is_array = true, .itemsize = 4, .rank = 1, .address = 512}};
        kiln__source source = KILN__SOURCE_INIT;
        kiln__definition *def = NULL;

        o[0].shape = shape;
        o[0].strides = of_4;
        o[1] = o[2] = o[3] = o[0];
        o[1].itemsize = 1;
        o[1].strides = of_1;
        o[2].written = o[3].written = true;
        o[2].itemsize = cases[k].dtype == KILN_INT64 ? 8 : 4;
        o[2].strides = o[2].itemsize == 8 ? of_8 : of_4;
        o[3].itemsize = 8;
        o[3].shape = one;
        o[3].strides = still;
        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        kiln__plan_make(&(kiln__plan_request){.def = def,
                                              .device = {KILN_BACKEND_CUDA, 132, false, false},
                                              .dtypes = dtypes,
                                              .operands = o,
                                              .rank = 1,
                                              .shape = shape,
                                              .along = along},
                        &plan);
        assert_int_equal(plan.variant.block, 128);
        assert_int_equal(kiln__emit(def, &plan.variant, &source, NULL), KILN_OK);
        assert_int_equal(source.shared_percent, cases[k].percent);
        kiln__source_clear(&source);
        kiln__definition_destroy(def);
    }
}

/* Filters with results for both kinds of elements. */
typedef struct both_case {
    const char *out, *op, *otherwise;
    kiln_dtype dtype[4];
    int outputs, bytes; /* of an element's results at most */
} both_case;

static const both_case both_cases[] = {
    {"float32 a, int8 b, int64 m, int64 n", "a = x", "b = x", {KILN_FLOAT32, KILN_INT8}, 2, 4},
    {"int8 a, int16 b, complex128 c, int64 m, int64 n", "a = x; b = x", "c = x",
     {KILN_INT8, KILN_INT16, KILN_COMPLEX128}, 3, 18},
    {"int8 a, float64 b, int32 c, int8 d, int64 m, int64 n", "b = x", "a = x; c = x; d = x",
     {KILN_INT8, KILN_FLOAT64, KILN_INT32, KILN_INT8}, 4, 13}};

/* The definition of a case, its plan for a long vector, and the dtypes of its parameters. */
static kiln__definition *plan_both(const both_case *c, kiln__plan *plan, kiln_dtype *dtypes)
{
    static const int64_t shape[] = {1 << 24}, still[] = {0};
    static const bool along[] = {true};
    const kiln__definition_request request = {.in = "float32 x",
                                              .out = c->out,
                                              .snippet = {[KILN__SNIPPET_OP] = c->op,
                                                          [KILN__SNIPPET_WHERE] = "x > 0",
                                                          [KILN__SNIPPET_OTHERWISE] = c->otherwise},
                                              .family = &kiln__family_filter};
    const int count = c->outputs + 3;
    kiln__operand o[7] = {{0}};
    kiln__definition *def = NULL;
    int64_t stride[7];

    for (int p = 0; p < count; p++) {
        const bool number = p >= count - 2;
        dtypes[p] = p == 0 ? KILN_FLOAT32 : number ? KILN_INT64 : c->dtype[p - 1];
        stride[p] = (int64_t)kiln_dtype_size(dtypes[p]);
        o[p] = (kiln__operand){.is_array = true,
                               .written = p > 0,
                               .itemsize = (uint8_t)stride[p],
                               .rank = 1,
                               .address = 512,
                               .shape = shape,
                               .strides = number ? still : &stride[p]};
    }
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                          .dtypes = dtypes,
                                          .operands = o,
                                          .rank = 1,
                                          .shape = shape,
                                          .along = along},
                    plan);
    return def;
}

/* Results of both kinds share a tile's room, which begins at multiples of 16 bytes for each output; a layout that is read
 * from a manifest and says otherwise is refused. */
static void test_scan_plan__results_of_both_kinds_share_an_even_room(void **state)
{
    static kiln__plan plan;
    static kiln__variant read;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(both_cases); k++) {
        kiln_dtype dtypes[7];
        kiln__definition *const def = plan_both(&both_cases[k], &plan, dtypes);
        const int buffers = plan.variant.block == KILN__FILTER_TWO_BUFFERS ? 2 : 1;
        const int room = plan.variant.filter.buffer;
        kiln__buf text = KILN__BUF_INIT;
        char odd[32], even[32];
        size_t at, width;

        assert_int_equal(room % 16, 0);
        assert_in_range(room * buffers * both_cases[k].bytes, 1, 44032);
        kiln__variant_print(&plan.variant, &text);
        assert_int_equal(kiln__variant_parse(text.text, def, dtypes, &read, &at, &width, NULL),
                         KILN_OK);
        assert_memory_equal(&read, &plan.variant, sizeof read);
        snprintf(even, sizeof even, "buffer=%d", room);
        snprintf(odd, sizeof odd, "buffer=%d", room - 1);
        char *const number = strstr(text.text, even);
        assert_non_null(number);
        assert_int_equal(strlen(odd), strlen(even));
        memcpy(number, odd, strlen(odd));
        assert_int_equal(kiln__variant_parse(text.text, def, dtypes, &read, &at, &width, NULL),
                         KILN_ERR_FORMAT);
        kiln__buf_clear(&text);
        kiln__definition_destroy(def);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_plan__few_long_columns_have_wide_blocks),
        cmocka_unit_test(test_scan_plan__a_variable_asks_for_wide_blocks),
        cmocka_unit_test(test_scan_plan__filters_that_load_ahead_leave_room_for_loads),
        cmocka_unit_test(test_scan_plan__results_of_both_kinds_share_an_even_room),
        cmocka_unit_test(test_scan_plan__rows_are_walked_where_they_lie),
    };
    return cmocka_run_group_tests_name("test_scan_plan", tests, NULL, NULL);
}
