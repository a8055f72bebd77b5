/*
 * test_cubin.c - what the ELF of a cubin tells of its kernels, compared with the C++ that NVRTC made it
 * from, for every architecture; and images that are cut off or none at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "module/module.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal) literal, sizeof(literal) - 1

static const char source[] =
    "struct three { char c[3]; };\n"
    "struct __align__(16) four { float x, y, z, w; };\n"
    "struct large { int v[800]; };\n"
    "__constant__ float table[16];\n"
    "extern \"C\" __global__ void mixed(char c, short s, double d, three t, float f, four q,\n"
    "                                 long long l, float *p, bool b) {\n"
    "    p[0] = c + s + d + t.c[1] + f + q.x + l + b + table[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void none() { }\n"
    "__global__ void mangled(const float *x, int n, float *y) { y[n] = x[n]; }\n"
    "extern \"C\" __global__ void big(large a, int *o) { o[0] = a.v[threadIdx.x]; }\n"
    "template <class T> __global__ void instance(T a, T *o) { *o = a; }\n"
    "template __global__ void instance<double>(double, double *);\n";

/* Offsets and sizes by the rules of C++ on a GPU: each at a multiple of its own alignment. */
static const struct {
    const char *kernel;
    size_t count;
    struct {
        uint32_t offset, bytes;
    } params[9];
} want[] = {
    {"mixed", 9, {{0, 1}, {2, 2}, {8, 8}, {16, 3}, {20, 4}, {32, 16}, {48, 8}, {56, 8}, {64, 1}}},
    {"none", 0, {{0, 0}}},
    {"_Z7mangledPKfiPf", 3, {{0, 8}, {8, 4}, {16, 8}}},
    {"big", 2, {{0, 3200}, {3200, 8}}},
    {"_Z8instanceIdEvT_PS0_", 2, {{0, 8}, {8, 8}}},
};

static kiln__compile_result compiled(const kiln__target *target)
{
    const kiln__compile_request request = {.target = *target, .source = source};
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;

    if (kiln__compile(&request, &result, &err) != KILN_OK)
        fail_msg("%s: %s\n%s", target->name, err.message, result.log != NULL ? result.log : "");
    return result;
}

static void test_cubin__parameters_are_those_of_the_source(void **state)
{
    (void)state;
    kiln__target targets[64];
    const size_t count = kiln__compiler_targets(KILN_BACKEND_CUDA, targets, COUNT(targets));

    if (count == 0)
        skip();
    for (size_t t = 0; t < count; t++) {
        kiln__compile_result r = compiled(&targets[t]);
        kiln__image_kind kind = KILN__IMAGE_NONE;
        size_t kernels = 0;

        assert_int_equal(kiln__image_check(r.binary, r.bytes, &kind, NULL), KILN_OK);
        assert_int_equal(kind, KILN__IMAGE_CUBIN);
        for (size_t k = 0; k < COUNT(want); k++) {
            kiln__raw_param params[KILN__RAW_PARAMS_MAX];
            kiln_error err = KILN_ERROR_INIT;
            size_t found = 99;

            if (kiln__cubin_params(r.binary, r.bytes, want[k].kernel, params, &found, &err) !=
                KILN_OK)
                fail_msg("%s %s: %s", targets[t].name, want[k].kernel, err.message);
            assert_int_equal(found, want[k].count);
            for (size_t p = 0; p < found; p++) {
                assert_int_equal(params[p].offset, want[k].params[p].offset);
                assert_int_equal(params[p].bytes, want[k].params[p].bytes);
            }
        }
        while (kiln__cubin_kernel(r.binary, r.bytes, kernels) != NULL)
            kernels++;
        assert_int_equal(kernels, COUNT(want));
        kiln__compile_result_clear(&r);
    }
}

/* A copy of exactly as many bytes, so that a checker of memory sees each one beyond. */
static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes != 0 ? bytes : 1);

    assert_non_null(copy);
    memcpy(copy, data, bytes);
    return copy;
}

static void test_cubin__what_is_cut_off_is_refused(void **state)
{
    (void)state;
    kiln__target targets[64];
    const size_t count = kiln__compiler_targets(KILN_BACKEND_CUDA, targets, COUNT(targets));

    if (count == 0)
        skip();
    kiln__compile_result r = compiled(&targets[0]);
    uint64_t tables = 0;
    memcpy(&tables, r.binary + 40, sizeof tables); /* e_shoff: sections lie before their table */
    for (size_t bytes = 0; bytes < r.bytes; bytes += bytes < 200 ? 1 : 97) {
        kiln__raw_param params[KILN__RAW_PARAMS_MAX];
        size_t found = 0;
        void *cut = copy_of(r.binary, bytes);
        const kiln_status status = kiln__cubin_check(cut, bytes, NULL);

        assert_true(status == KILN_ERR_FORMAT || bytes > tables);
        (void)kiln__cubin_params(cut, bytes, "mixed", params, &found, NULL);
        (void)kiln__cubin_kernel(cut, bytes, 0);
        free(cut);
    }
    kiln__compile_result_clear(&r);
}

static void test_cubin__images_are_known_by_their_content(void **state)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0,
                                           4,    0,    0,    0,    0, 0, 0,  0,
                                           1,    2,    3,    4,    0};
    static const unsigned char program[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [18] = 62};
    static const struct {
        const void *data;
        size_t bytes;
        kiln_status status;
        kiln__image_kind kind;
        const char *text;
    } cases[] = {
        {TEXT(".version 8.0\n.target sm_80\n"), KILN_OK, KILN__IMAGE_PTX, NULL},
        {TEXT("//\n// Generated by NVRTC\n\n/* x */ .version 8.0"), KILN_OK, KILN__IMAGE_PTX, NULL},
        {TEXT(".version 8.0\0"), KILN_OK, KILN__IMAGE_PTX, NULL},
        {TEXT(".version 8.0\0more"), KILN_ERR_FORMAT, KILN__IMAGE_NONE, "NUL at byte 12"},
        {fatbin, 20, KILN_OK, KILN__IMAGE_FATBIN, NULL},
        {fatbin, 19, KILN_ERR_FORMAT, KILN__IMAGE_NONE, "cut off"},
        {program, 64, KILN_ERR_FORMAT, KILN__IMAGE_NONE, "machine 62"},
        {TEXT("__global__ void f() {}"), KILN_ERR_FORMAT, KILN__IMAGE_NONE, "kiln_module_create"},
        {TEXT(""), KILN_ERR_FORMAT, KILN__IMAGE_NONE, "0 bytes"},
        {TEXT("/* never closed"), KILN_ERR_FORMAT, KILN__IMAGE_NONE, "no PTX"},
    };
    (void)state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln__image_kind kind = KILN__IMAGE_NONE;
        kiln_error err = KILN_ERROR_INIT;

        assert_int_equal(kiln__image_check(cases[c].data, cases[c].bytes, &kind, &err),
                         cases[c].status);
        assert_int_equal(kind, cases[c].kind);
        if (cases[c].text != NULL && strstr(err.message, cases[c].text) == NULL)
            fail_msg("case %zu: %s", c, err.message);
    }
}

static void test_cubin__names_behind_a_binary_are_found_or_refused(void **state)
{
    static const char *const names[] = {"_Z4axpyIfEvv", "f"};
    kiln__buf b = KILN__BUF_INIT;
    size_t bytes = 0;
    (void)state;

    kiln__buf_put(&b, "BINARY\0BYTES", 12);
    kiln__names_put(&b, names, 2);
    assert_false(b.failed);
    assert_string_equal(kiln__names_get(b.text, b.length, 2, 0, &bytes), names[0]);
    assert_int_equal(bytes, 12);
    assert_string_equal(kiln__names_get(b.text, b.length, 2, 1, NULL), names[1]);
    assert_null(kiln__names_get(b.text, b.length, 1, 0, NULL));
    assert_null(kiln__names_get(b.text, b.length, 3, 0, NULL));
    for (size_t cut = 0; cut < b.length; cut++) {
        void *copy = copy_of(b.text, cut);
        assert_null(kiln__names_get(copy, cut, 2, 0, NULL));
        free(copy);
    }
    /* Each byte of the size, the count and the mark matters. */
    for (size_t at = b.length - 16; at < b.length; at++) {
        b.text[at] ^= 0x40;
        assert_null(kiln__names_get(b.text, b.length, 2, 0, NULL));
        b.text[at] ^= 0x40;
    }
    kiln__buf_clear(&b);
}

static void test_cubin__blanks_do_not_make_another_name(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"axpy<float, 4>", "axpy<float,4>", true},
        {" axpy < float , 4 > ", "axpy<float,4>", true},
        {"f<unsigned int>", "f<unsigned  int>", true},
        {"f<unsigned int>", "f<unsignedint>", false},
        {"f<unsigned int>", "f<unsigned>", false},
        {"f<int *>", "f<int*>", true},
        {"f", "f ", true},
        {"f", "g", false},
        {"f", "", false},
        {"a b", "ab", false},
        {"a b", "a c", false},
    };
    (void)state;

    for (size_t c = 0; c < COUNT(cases); c++) {
        if (kiln__same_name(cases[c].a, cases[c].b) != cases[c].same ||
            kiln__same_name(cases[c].b, cases[c].a) != cases[c].same)
            fail_msg("\"%s\" and \"%s\"", cases[c].a, cases[c].b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubin__parameters_are_those_of_the_source),
        cmocka_unit_test(test_cubin__what_is_cut_off_is_refused),
        cmocka_unit_test(test_cubin__images_are_known_by_their_content),
        cmocka_unit_test(test_cubin__names_behind_a_binary_are_found_or_refused),
        cmocka_unit_test(test_cubin__blanks_do_not_make_another_name),
    };
    return cmocka_run_group_tests_name("test_cubin", tests, NULL, NULL);
}
