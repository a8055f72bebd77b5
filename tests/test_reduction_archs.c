/*
 * test_reduction_archs.c - generated reductions compiled for GPUs that NVRTC knows, without a GPU.
 *
 * Every class of the planner, and every kind of accumulator, for the targets of archs.h. The cubin is looked at no further than that it is an ELF file; what kernels compute is
 * tested where they run. Without NVRTC the program skips: exit status 77.
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
    int64_t stride[3]; /* elements */
    bool reduced[3];
} walk_case;

static const walk_case walks[] = {
    {"all", 1, {1 << 28}, {1}, {true}},
    {"all, every second", 1, {1 << 27}, {2}, {true}},
    {"long rows", 2, {16384, 16384}, {16384, 1}, {false, true}},
    {"rows of 256", 2, {1 << 20, 256}, {256, 1}, {false, true}},
    {"rows of 16", 2, {1 << 24, 16}, {16, 1}, {false, true}},
    {"rows of 4", 2, {1 << 26, 4}, {4, 1}, {false, true}},
    {"odd rows", 2, {1 << 16, 1001}, {1001, 1}, {false, true}},
    {"rows backwards", 2, {1 << 16, 1001}, {1001, -1}, {false, true}},
    {"columns", 2, {16384, 16384}, {16384, 1}, {true, false}},
    {"many columns", 2, {256, 1 << 20}, {1 << 20, 1}, {true, false}},
    {"16 columns", 2, {1 << 24, 16}, {16, 1}, {true, false}},
    {"odd columns", 2, {1 << 16, 1001}, {1001, 1}, {true, false}},
    {"middle", 3, {64, 4096, 1024}, {4096 * 1024, 1024, 1}, {false, true, false}},
    {"outer and inner", 3, {3, 5, 1 << 24}, {5 << 24, 1 << 24, 1}, {true, false, true}},
    {"nothing is next to anything", 3, {64, 64, 64}, {3, 4096, 64}, {true, false, true}},
};

typedef struct texts {
    const char *out, *map, *reduce, *post, *identity, *type;
    kiln_dtype dtype, result;
} texts;

/* What kinds of accumulators there are, those of named reductions among them. */
static const texts definitions[] = {
    {"float32 y", "x", "a + b", "y = a", "0", "", KILN_FLOAT32, KILN_FLOAT32},
    {"float32 y", "x", "b < a || b != b ? b : a", "y = a", "", "", KILN_FLOAT32, KILN_FLOAT32},
    {"float16 y", "x", "a + b", "y = a", "0", "float", KILN_FLOAT16, KILN_FLOAT16},
    {"bfloat16 y", "x", "a + b", "y = a", "0", "float", KILN_BFLOAT16, KILN_BFLOAT16},
    {"float8_e4m3fn y", "x", "a + b", "y = a", "0", "float", KILN_FLOAT8_E4M3FN,
     KILN_FLOAT8_E4M3FN},
    {"int64 y", "x", "a + b", "y = a", "0", "unsigned long long", KILN_INT8, KILN_INT64},
    {"float64 y", "x", "a + b", "y = a / (double)n", "0", "double", KILN_FLOAT64, KILN_FLOAT64},
    {"complex128 y", "x", "a * b", "y = a", "1", "complex<double>", KILN_COMPLEX128,
     KILN_COMPLEX128},
    {"bool y", "x != T(0)", "a | b", "y = a", "false", "bool", KILN_INT8, KILN_BOOL},
    {"int64 y", "kiln_position_of<float>(x, _J)", "kiln_position_greatest(a, b)", "y = a.index",
     "kiln_position_of<float>(-INFINITY, kiln_position_none)", "kiln_position<float>",
     KILN_FLOAT32, KILN_INT64},
    {"float32 y", "kiln_moments_of<float>(x)", "kiln_moments_merge(a, b)",
     "y = sqrt(kiln_moments_variance(a, n))", "kiln_moments_none<float>()", "kiln_moments<float>",
     KILN_FLOAT32, KILN_FLOAT32},
    {"float64 y", "kiln_complex_moments_of<double>(x.real(), x.imag())",
     "kiln_complex_moments_merge(a, b)", "y = kiln_complex_moments_variance(a, n)",
     "kiln_complex_moments_none<double>()", "kiln_complex_moments<double>", KILN_COMPLEX128,
     KILN_FLOAT64},
    {"float16 y", "kiln_counted_of<float>(x, x == x)", "kiln_counted_add(a, b)",
     "y = a.sum / (double)a.count", "kiln_counted_of<float>(0, false)", "kiln_counted<float>",
     KILN_FLOAT16, KILN_FLOAT16},
    /* Several elements at a time: sums, moments and positions of what they are cheaper for. */
    {"float64 y", "x", "a + b", "y = a / (double)n", "0", "double", KILN_INT16, KILN_FLOAT64},
    {"int64 y", "x != T(0)", "a + b", "y = a", "0", "long long", KILN_FLOAT16, KILN_INT64},
    {"float64 y", "kiln_moments_of<double>(x)", "kiln_moments_merge(a, b)",
     "y = kiln_moments_variance(a, n)", "kiln_moments_none<double>()", "kiln_moments<double>",
     KILN_INT8, KILN_FLOAT64},
    {"int64 y", "kiln_position_of<signed char>(x, _J)", "kiln_position_least(a, b)", "y = a.index",
     "kiln_position_of<signed char>(127, kiln_position_none)", "kiln_position<signed char>",
     KILN_INT8, KILN_INT64},
    {"float32 y", "kiln_moments_of<float>(2 * sqrt(fabs(x)))", "kiln_moments_merge(a, b)",
     "y = kiln_moments_variance(a, n)", "kiln_moments_none<float>()", "kiln_moments<float>",
     KILN_FLOAT16, KILN_FLOAT32},
    {"int64 y", "kiln_position_of<float>(-x, _J)", "kiln_position_greatest(a, b)", "y = a.index",
     "kiln_position_of<float>(-INFINITY, kiln_position_none)", "kiln_position<float>",
     KILN_FLOAT32, KILN_INT64},
    {"int64 y", "[&]() -> bool { return x > 3; }()", "a + b", "y = a", "0", "long long", KILN_INT8,
     KILN_INT64},
    /* Numbers and index tuples of elements and results; an address that is taken. */
    {"float64 y", "x * _in_ind.get()[0] + _in_ind.ndim", "a + b",
     "y = a / (_in_ind.size() / _out_ind.size())", "0", "", KILN_FLOAT32, KILN_FLOAT64},
    {"float64 y", "x * _j + _i", "a + b", "y = a + _out_ind.get()[0] + _i", "0", "", KILN_FLOAT16,
     KILN_FLOAT64},
    {"float64 y", "*&x * (_J + _out_ind.size())", "a + b", "*&y = a", "", "", KILN_INT8,
     KILN_FLOAT64},
};

/* ---- compiling ---- */

static char *generate(const texts *d, const walk_case *w)
{
    const kiln__definition_request request = {
        .name = "reduction",
        .in = "T x",
        .out = d->out,
        .snippet = {[KILN__SNIPPET_MAP] = d->map,
                    [KILN__SNIPPET_REDUCE] = d->reduce,
                    [KILN__SNIPPET_POST] = d->post,
                    [KILN__SNIPPET_IDENTITY] = d->identity,
                    [KILN__SNIPPET_REDUCE_TYPE] = d->type},
        .family = &kiln__family_reduction,
    };
    const kiln_dtype dtypes[] = {d->dtype, d->result};
    kiln__operand operands[2] = {{.is_array = true, .address = 4096},
                                 {.is_array = true, .address = 4096, .written = true}};
    int64_t stride[3] = {0}, out_shape[3] = {0}, out_stride[3] = {0};
    int64_t step = (int64_t)kiln_dtype_size(d->result);
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__plan plan;

    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (int a = w->rank - 1; a >= 0; a--) {
        stride[a] = w->stride[a] * (int64_t)kiln_dtype_size(d->dtype);
        out_shape[a] = w->reduced[a] ? 1 : w->shape[a];
        out_stride[a] = w->reduced[a] ? 0 : step;
        step *= out_shape[a];
    }
    operands[0].itemsize = (uint8_t)kiln_dtype_size(d->dtype);
    operands[1].itemsize = (uint8_t)kiln_dtype_size(d->result);
    operands[0].rank = operands[1].rank = w->rank;
    operands[0].shape = w->shape;
    operands[0].strides = stride;
    operands[1].shape = out_shape;
    operands[1].strides = out_stride;
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, UNITS, false, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = w->rank,
                                          .shape = w->shape,
                                          .along = w->reduced},
                    &plan);
    assert_int_equal(kiln__emit(def, &plan.variant, &source, NULL), KILN_OK);
    char *text = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
    return text;
}

static void compiles(const texts *d, const walk_case *w, const kiln__target *target)
{
    char *source = generate(d, w);
    const kiln__compile_request request = {.target = *target, .source = source};
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln__compile(&request, &result, &err);

    if (status != KILN_OK || result.bytes < 4 || memcmp(result.binary, "\177ELF", 4) != 0 ||
        (result.log != NULL && strstr(result.log, "warning") != NULL))
        fail_msg("%s of %s over %s: %s\n%s\n%s", d->map, kiln_dtype_name(d->dtype), w->name,
                 err.message, result.log != NULL ? result.log : "", source);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
    kiln__free(source);
}

static void test_reduction__every_walk_compiles_for_every_gpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < target_count; k++)
        for (size_t w = 0; w < KILN_COUNT_OF(walks); w++)
            if (archs_drawn(w + k, 2)) /* each for every second GPU */
                compiles(&definitions[0], &walks[w], &targets[k]);
}

/* Every accumulator meets every fourth walk, which ones by the seed, and its walks take turns between the oldest and
 * the newest GPU: which walk it is does not depend on the GPU, and what NVRTC makes of an accumulator little. */
static void test_reduction__every_accumulator_compiles_for_the_oldest_and_newest_gpu(void **state)
{
    const size_t ends[] = {0, target_count - 1};

    (void)state;
    for (size_t d = 1; d < KILN_COUNT_OF(definitions); d++)
        for (size_t w = 0; w < KILN_COUNT_OF(walks); w++)
            if (archs_drawn(w + d, 4))
                compiles(&definitions[d], &walks[w], &targets[ends[(d + w / 4) % 2]]);
}

/* Sums of bytes take four at a time where an access has so many: not where it has fewer, nor where
 * an element stands for a whole row of them. */
static void test_reduction__bytes_in_accesses_of_any_width_compile_for_every_gpu(void **state)
{
    static const walk_case of_bytes[] = {
        {"rows of 102, in twos", 2, {3, 102}, {204, 1}, {true, true}},
        {"rows of 100, in fours", 2, {3, 100}, {200, 1}, {true, true}},
        {"rows of 5", 3, {6, 24, 5}, {240, 10, 1}, {true, true, true}},
        {"rows of one value", 2, {3, 100}, {1, 0}, {true, true}},
        {"a row of one value each", 2, {1 << 20, 48}, {1, 0}, {false, true}},
        {"rows that are all the same", 2, {48, 128}, {0, 1}, {true, true}},
        {"columns that are all the same", 2, {4096, 64}, {1, 0}, {true, false}},
    };
    static const texts means[] = {
        {"float64 y", "x", "a + b", "y = a / (double)n", "0", "double", KILN_INT8, KILN_FLOAT64},
        {"float64 y", "x", "a + b", "y = a / (double)n", "0", "double", KILN_UINT8, KILN_FLOAT64},
    };

    (void)state;
    for (size_t k = 0; k < target_count; k++)
        for (size_t w = 0; w < KILN_COUNT_OF(of_bytes); w++)
            if (archs_drawn(w + k, 2))
                compiles(&means[w % 2], &of_bytes[w], &targets[k]);
    for (size_t w = 0; w < KILN_COUNT_OF(of_bytes); w++)
        if (archs_drawn(w, 2))
            compiles(&means[(w + 1) % 2], &of_bytes[w], &targets[0]);
}

/* Kernels of rows without elements are compiled, too: they give the result of no element. */
static void test_reduction__rows_without_elements_compile(void **state)
{
    static const walk_case none[] = {{"nothing", 1, {0}, {1}, {true}},
                                     {"rows of nothing", 2, {1 << 16, 0}, {1, 1}, {false, true}},
                                     {"columns of nothing", 2, {0, 512}, {512, 1}, {true, false}}};

    (void)state;
    for (size_t d = 0; d < KILN_COUNT_OF(definitions); d++)
        compiles(&definitions[d], &none[d % KILN_COUNT_OF(none)], &targets[target_count - 1]);
    for (size_t w = 0; w < KILN_COUNT_OF(none); w++)
        for (size_t d = 0; d < KILN_COUNT_OF(definitions); d++)
            if (definitions[d].dtype == KILN_FLOAT32)
                compiles(&definitions[d], &none[w], &targets[0]);
}

/* What is missing at the end of a snippet is missed behind it, in text that is not the user's. */
static void test_reduction__errors_of_nvrtc_name_the_snippet(void **state)
{
    static const texts d = {"T y", "x +", "a + b", "y = a", "0", "", KILN_FLOAT32, KILN_FLOAT32};
    (void)state;
    char *source = generate(&d, &walks[0]);
    const kiln__compile_request request = {.target = targets[0], .source = source};
    const kiln__definition_request wanted = {.name = "wrong",
                                             .in = "T x",
                                             .out = d.out,
                                             .snippet = {[KILN__SNIPPET_MAP] = d.map,
                                                         [KILN__SNIPPET_REDUCE] = d.reduce,
                                                         [KILN__SNIPPET_POST] = d.post},
                                             .family = &kiln__family_reduction};
    kiln__compile_result result = {0};
    kiln__definition *def = NULL;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(kiln__definition_create(&wanted, &def, NULL), KILN_OK);
    assert_int_equal(kiln__compile(&request, &result, &err), KILN_ERR_COMPILE);
    kiln_error_clear(&err);
    (void)kiln__diagnose(def, source, result.log, &err);
    if (strstr(err.message, "\"wrong\": map, line 1, column 4: ") == NULL)
        fail_msg("%s\n%s", err.message, result.log);
    assert_string_equal(err.detail, "x +\n   ^");
    kiln_error_clear(&err);
    kiln__compile_result_clear(&result);
    kiln__definition_destroy(def);
    kiln__free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduction__every_walk_compiles_for_every_gpu),
        cmocka_unit_test(test_reduction__errors_of_nvrtc_name_the_snippet),
        cmocka_unit_test(test_reduction__every_accumulator_compiles_for_the_oldest_and_newest_gpu),
        cmocka_unit_test(test_reduction__bytes_in_accesses_of_any_width_compile_for_every_gpu),
        cmocka_unit_test(test_reduction__rows_without_elements_compile),
    };
    target_count = archs_find(targets);
    if (target_count == 0) {
        printf("SKIP: no NVRTC on this machine\n");
        return 77;
    }
    return cmocka_run_group_tests_name("test_reduction_archs", tests, NULL, NULL);
}
