/*
 * test_cupy_archs.c - the definitions of oracle/cupy_words.c compiled for every GPU that NVRTC knows,
 * without a GPU. What they compute is tested by test_elementwise_cupy.
 */
#include <string.h>

#include "oracle/cupy.h"

#include "codegen/codegen.h"
#include "device/device.h"

#include "archs.h"

static kiln_dtype dtype_of(char letter)
{
    static const char letters[] = "?bhilBHILeEfdFD"; /* in the order of KILN_DTYPE_MAP */
    const char *at = strchr(letters, letter);

    assert_true(at != NULL && letter != '\0');
    return (kiln_dtype)(at - letters + 1);
}

/* The source of a case over contiguous arrays of 1,000 elements. Heap text. */
static char *source_of(const cupy_case *c)
{
    static const int64_t shape[] = {1000};
    const kiln__definition_request request = {
        .name = c->name,
        .in = c->in,
        .out = c->out,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = c->preamble,
                    [KILN__SNIPPET_LOOP_PREP] = c->loop_prep,
                    [KILN__SNIPPET_OP] = c->op,
                    [KILN__SNIPPET_AFTER_LOOP] = c->after_loop}};
    kiln__operand operands[CUPY_PARAMS_MAX];
    int64_t strides[CUPY_PARAMS_MAX];
    kiln_dtype dtypes[CUPY_PARAMS_MAX];
    kiln_error err = KILN_ERROR_INIT;
    kiln__definition *def = NULL;
    kiln__plan *plan = kiln__calloc(1, sizeof *plan);
    kiln__source source = KILN__SOURCE_INIT;

    assert_non_null(plan);
    if (kiln__definition_create(&request, &def, &err) != KILN_OK)
        fail_msg("%s: %s", c->name, err.message);
    memset(operands, 0, sizeof operands);
    for (size_t p = 0; p < def->param_count; p++) {
        dtypes[p] = dtype_of(c->dtypes[p]);
        strides[p] = (int64_t)kiln_dtype_size(dtypes[p]);
        operands[p].is_array = operands[p].contiguous = true;
        operands[p].raw = def->params[p].raw;
        operands[p].written = def->params[p].output;
        operands[p].by_address = def->params[p].by_address;
        operands[p].itemsize = (uint8_t)strides[p];
        operands[p].rank = 1;
        operands[p].shape = shape;
        operands[p].strides = &strides[p];
        operands[p].address = (p + 1) << 20;
    }
    kiln__plan_make(&(kiln__plan_request){.def = def,
                                          .device = {KILN_BACKEND_CUDA, 1, false, false},
                                          .dtypes = dtypes,
                                          .operands = operands,
                                          .rank = 1,
                                          .shape = shape},
                    plan);
    if (kiln__emit(def, &plan->variant, &source, &err) != KILN_OK)
        fail_msg("%s: %s", c->name, err.message);
    char *text = source.text;
    source.text = NULL;
    kiln__source_clear(&source);
    kiln__free(plan);
    kiln__definition_destroy(def);
    return text;
}

static void check_compiles(const cupy_case *c)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
    kiln__target targets[ARCHS_MAX];
    const size_t target_count = archs_find(targets);
    char *source = NULL;

    if (target_count == 0)
        skip();
    source = source_of(c);
    for (size_t a = 0; a < target_count; a++) {
        const kiln__compile_request request = {.target = targets[a], .source = source};
        kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
        kiln_error err = KILN_ERROR_INIT;

        if (kiln__compile(&request, &result, &err) != KILN_OK)
            fail_msg("%s: %s: %s\n%s", c->name, targets[a].name, err.message,
                     result.log != NULL ? result.log : "");
        assert_true(result.bytes > sizeof elf && memcmp(result.binary, elf, sizeof elf) == 0);
        kiln__compile_result_clear(&result);
    }
    kiln__free(source);
}

static void test_cupy_archs__every_definition_compiles_for_every_gpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < cupy_words_count; k++)
        check_compiles(&cupy_words[k]);
}

/* CuPy passes a texture object as an integer. NVRTC declares texture functions unless it is told to
 * leave out what small kernels do not need, as kiln tells it otherwise. */
static void test_cupy_archs__textures_compile_and_are_cudas_alone(void **state)
{
    static const cupy_case cases[] = {
        {"texture", "uint64 object, float32 x", "float32 z", "z = tex2D<float>(object, x, 0.5f)",
         NULL, NULL, NULL, "Lff", 0, 0, NULL, 0},
        {"typed_texture", "uint64 object, float32 x", "float32 z",
         "cudaTextureObject_t t = object; z = tex1D<float>(t, x)", NULL, NULL, NULL, "Lff", 0, 0,
         NULL, 0},
        {"surface", "uint64 object, int32 x", "float32 z", "surf1Dread(&z, object, x * 4)", NULL,
         NULL, NULL, "Lif", 0, 0, NULL, 0},
    };

    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        const kiln__definition_request request = {
            .in = cases[k].in, .out = cases[k].out, .snippet = {[KILN__SNIPPET_OP] = cases[k].op}};
        kiln__definition *def = NULL;

        assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
        assert_true(def->cuda_only);
        kiln__definition_destroy(def);
    }
    for (size_t k = 0; k < COUNT(cases); k++)
        check_compiles(&cases[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cupy_archs__every_definition_compiles_for_every_gpu),
        cmocka_unit_test(test_cupy_archs__textures_compile_and_are_cudas_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
