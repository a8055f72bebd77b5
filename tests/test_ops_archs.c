/*
 * test_ops_archs.c - every operation, for every dtype, compiled for GPUs without a GPU.
 *
 * The kernels that test_ops_values runs, for the GPUs of archs.h: all of them for each when there are
 * more than two, else by turns. A warning is a failure. Without NVRTC the program skips: exit
 * status 77.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archs.h"
#include "codegen/codegen.h"
#include "ops_data.h"

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

static char *generate(const char *op)
{
    const kiln__definition_request request = {
        .name = "operations",
        .in = "raw uint8 x",
        .out = "raw uint8 z",
        .snippet = {[KILN__SNIPPET_OP] = op},
    };
    const kiln_dtype dtypes[] = {KILN_UINT8, KILN_UINT8};
    const int64_t bytes = 1 << 20, step = 1, size = 64;
    kiln__operand operands[2];
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    kiln__plan *plan = kiln__calloc(1, sizeof *plan);
    kiln_error err = KILN_ERROR_INIT;

    assert_non_null(plan);
    for (int k = 0; k < 2; k++)
        operands[k] = (kiln__operand){.is_array = true,
                                      .raw = true,
                                      .written = k == 1,
                                      .contiguous = true,
                                      .itemsize = 1,
                                      .rank = 1,
                                      .shape = &bytes,
                                      .strides = &step,
                                      .address = 4096};
    if (kiln__definition_create(&request, &def, &err) != KILN_OK)
        fail_msg("%s", err.message);
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = 1,
                                          .shape = &size},
                    plan);
    assert_int_equal(kiln__emit(def, &plan->variant, &source, NULL), KILN_OK);
    char *text = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    kiln__free(plan);
    kiln__definition_destroy(def);
    return text;
}

static void compile(const char *source, const kiln__target *target)
{
    /* Warnings are looked for: making the code fast would take most of the time. */
    static const char *const options[] = {"--device-debug"};
    const kiln__compile_request request = {
        .target = *target, .source = source, .options = options, .option_count = 1};
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;
    const kiln_status status = kiln__compile(&request, &result, &err);

    if (status != KILN_OK || result.bytes < 4 || memcmp(result.binary, "\177ELF", 4) != 0 ||
        (result.log != NULL && strstr(result.log, "warning") != NULL))
        fail_msg("%s: %s\n%s", target->name, err.message, result.log != NULL ? result.log : "");
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
}

static void test_ops_archs__every_operation_compiles_without_a_warning(void **state)
{
    table *t = table_read();
    size_t kernels = 0;
    (void)state;
    for (size_t k = 0; k < t->case_count; k++) {
        if (t->cases[k].done || t->cases[k].mixed)
            continue;
        char *op = table_kernel(t, k);
        char *source = generate(op);
        for (size_t a = 0; a < target_count; a++)
            if (target_count > 2 || a == kernels % target_count)
                compile(source, &targets[a]);
        kiln__free(source);
        kiln__free(op);
        kernels++;
    }
    assert_true(kernels >= 8);
    table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_archs__every_operation_compiles_without_a_warning),
    };
    target_count = archs_find(targets);
    if (target_count == 0) {
        fputs("test_ops_archs: NVRTC was not found\n", stderr);
        return 77;
    }
    return cmocka_run_group_tests_name("test_ops_archs", tests, NULL, NULL);
}
