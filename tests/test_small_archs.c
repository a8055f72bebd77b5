/*
 * test_small_archs.c - every GPU's compiler takes the kernels for stacks of small matrices, and keeps a matrix in
 * registers; no GPU is needed.
 *
 * Without NVRTC the tests are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "linalg/solver_gpu.h"

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

static const kiln__small_variant variants[] = {
    {KILN__SMALL_CHOLESKY, KILN_FLOAT32, 0, 4, 4, 1, 0, 0},
    {KILN__SMALL_CHOLESKY, KILN_FLOAT64, 0, 32, 32, 1, 1, 0},
    {KILN__SMALL_LU, KILN_FLOAT32, 0, 8, 8, 1, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT64, 0, 32, 32, 1, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT32, 0, 32, 32, 1, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT32, 1, 16, 16, 16, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT64, 2, 7, 7, 1, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT32, 2, 30, 9, 1, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT32, 3, 5, 5, 3, 0, 0},
    {KILN__SMALL_LU, KILN_FLOAT64, 4, 16, 16, 2, 1, 0},
    {KILN__SMALL_QR, KILN_FLOAT32, 0, 16, 16, 1, 0, 0},
    {KILN__SMALL_QR, KILN_FLOAT64, 0, 9, 4, 1, 0, 0},
    {KILN__SMALL_QR_BLOCK, KILN_FLOAT32, 0, 100, 100, 1, 0, 0},
    {KILN__SMALL_QR_BLOCK, KILN_FLOAT64, 1, 170, 33, 1, 0, 0},
    {KILN__SMALL_JACOBI, KILN_FLOAT32, 0, 8, 8, 1, 0, 0},
    {KILN__SMALL_JACOBI, KILN_FLOAT64, 1, 16, 16, 1, 1, 0},
    {KILN__SMALL_JACOBI, KILN_FLOAT32, 2, 20, 6, 1, 0, 0},
    {KILN__SMALL_JACOBI, KILN_FLOAT32, 3, 32, 32, 1, 0, 1},
};

/* A row of a matrix in local memory takes as much; calls of functions take less. */
enum { LOCAL_BYTES = 32 };

/* What ptxas says of a kernel: "128 bytes stack frame, ..." where an array is in local memory. */
static void compile(const kiln__small_variant *v, const kiln__target *target)
{
    static const char *const options[] = {"--ptxas-options=-v"};
    kiln__source source = KILN__SOURCE_INIT;
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;
    kiln__definition *def = NULL;
    kiln__small_texts texts;

    kiln__small_request(v, &texts);
    assert_int_equal(kiln__own_emit(&texts.request, &def, &source, &err), KILN_OK);
    const kiln__compile_request request = {
        .target = *target, .source = source.text, .options = options, .option_count = 1};
    const kiln_status status = kiln__compile(&request, &result, &err);
    if (status != KILN_OK || result.bytes < 4 || memcmp(result.binary, "\177ELF", 4) != 0)
        fail_msg("kind %d, task %d, %d x %d for %s: %s\n%s", v->kind, v->task, v->m, v->n,
                 target->name, err.message, result.log != NULL ? result.log : "");
    const char *frame = result.log != NULL ? strstr(result.log, " bytes stack frame") : NULL;
    if (frame == NULL)
        fail_msg("ptxas says nothing of memory: %s", result.log != NULL ? result.log : "no log");
    const char *number = frame;
    while (number[-1] >= '0' && number[-1] <= '9')
        number--;
    if (atoi(number) >= LOCAL_BYTES)
        fail_msg("kind %d, task %d, %d x %d for %s: %s", v->kind, v->task, v->m, v->n, target->name,
                 result.log);
    kiln__compile_result_clear(&result);
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
    kiln_error_clear(&err);
}

static void test_small_archs__kernels_compile_and_stay_in_registers(void **state)
{
    (void)state;
    if (target_count == 0) {
        print_message("SKIP: no NVRTC on this machine\n");
        skip();
    }
    for (size_t k = 0; k < KILN_COUNT_OF(variants) * target_count; k++)
        if (archs_drawn(k / target_count + k % target_count, 2)) /* each for every second GPU */
            compile(&variants[k / target_count], &targets[k % target_count]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_archs__kernels_compile_and_stay_in_registers),
    };

    target_count = archs_find(targets);
    return cmocka_run_group_tests_name("test_small_archs", tests, NULL, NULL);
}
