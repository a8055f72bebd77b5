/*
 * test_prelude.c - templates/prelude/ as text: a kernel gets no more than it needs, and what snippets
 * may write compiles for every target of the cpu and for the GPUs of archs.h. That sections are sound is checked when they are
 * embedded (test_templates.cmake).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "prelude/expressions.h"

/* ---- what is emitted ------------------------------------------------------------------------- */

static bool emits(kiln_backend backend, const char *preamble, const char *op, const char *text)
{
    char *source = expressions_source(backend, preamble, op);
    const bool found = strstr(source, text) != NULL;
    kiln__free(source);
    return found;
}

static void test_prelude__a_plain_kernel_gets_nothing_for_others(void **state)
{
    static const char *const others[] = {"kiln__math",         "kiln__bits", "complex",
                                         "kiln__raw",          "namespace",  "atomic",
                                         "extern \"C\" float", "min(",       "kiln__bit_cast"};
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(others); k++) {
        if (emits(KILN_BACKEND_CUDA, "", "sum = sum * 2 + 1", others[k]))
            fail_msg("cuda: %s", others[k]);
        if (emits(KILN_BACKEND_CPU, "", "sum = sum * 2 + 1", others[k]))
            fail_msg("cpu: %s", others[k]);
    }
}

static void test_prelude__words_and_sections_together_bring_a_section(void **state)
{
    (void)state;
    assert_true(emits(KILN_BACKEND_CUDA, "", "complex<double> w = sum; sum = exp(w).real()",
                      "complex<T> exp("));
    assert_false(emits(KILN_BACKEND_CUDA, "", "sum = exp(sum)", "complex<T>"));
    assert_false(
        emits(KILN_BACKEND_CUDA, "", "complex<double> w = sum; sum = w.real()", "complex<T> exp("));
    assert_true(emits(KILN_BACKEND_CUDA, "", "sum = thrust::norm(thrust::complex<double>(sum))",
                      "using ::norm;"));
}

static void test_prelude__a_header_keeps_its_names(void **state)
{
    static const char include[] = "#include <cuda_fp16.h>";
    static const char op[] = "sum = __half2float(__half(sum))";
    (void)state;
    assert_true(emits(KILN_BACKEND_CUDA, "", op, "typedef float16 __half;"));
    assert_false(emits(KILN_BACKEND_CUDA, include, op, "typedef float16 __half;"));
    assert_true(emits(KILN_BACKEND_CUDA, "", op, "float __half2float("));
    assert_false(emits(KILN_BACKEND_CUDA, include, op, "float __half2float("));
    static const char limit[] = "sum = std::numeric_limits<int>::max()";
    assert_false(emits(KILN_BACKEND_CPU, "#include <limits>", limit, "struct numeric_limits"));
    assert_true(emits(KILN_BACKEND_CPU, "#include <climits>", limit, "struct numeric_limits"));
}

/* ---- all expressions in one kernel ----------------------------------------------------------- */

static void compile_all(kiln_backend backend)
{
    static expressions e;
    kiln__target targets[ARCHS_MAX];
    size_t count = backend == KILN_BACKEND_CUDA
                       ? archs_find(targets)
                       : kiln__compiler_targets(backend, targets, KILN_COUNT_OF(targets));
    kiln__buf preamble = KILN__BUF_INIT;

    if (count == 0) {
        print_message("no compiler for %s\n", backend == KILN_BACKEND_CUDA ? "cuda" : "cpu");
        skip();
    }
    assert_true(count <= KILN_COUNT_OF(targets));
    expressions_load(&e);
    for (size_t k = 0; k < e.count; k++) {
        char name[32];
        snprintf(name, sizeof name, "expression_%zu", k);
        expressions_put(e.text[k], name, &preamble);
    }
    assert_false(preamble.failed);
    char *source = expressions_source(backend, preamble.text, "sum = 0");
    for (size_t k = 0; k < count; k++)
        assert_true(expressions_compile(&targets[k], source, "all expressions"));
    kiln__free(source);
    kiln__buf_clear(&preamble);
    expressions_free(&e);
}

static void test_prelude__all_expressions_compile_for_every_gpu(void **state)
{
    (void)state;
    compile_all(KILN_BACKEND_CUDA);
}

static void test_prelude__all_expressions_compile_for_every_cpu(void **state)
{
    (void)state;
    compile_all(KILN_BACKEND_CPU);
}

/* What a preamble includes after us must find nothing in its way. */
static void test_prelude__headers_stand_beside_it_on_a_cpu(void **state)
{
    static const char *const headers[] = {"cmath",  "math.h", "cstdlib", "stdlib.h", "algorithm",
                                          "limits", "cfloat", "cstdint", "string.h", "assert.h"};
    static const char op[] =
        "double s, c; int k; float f = (float)sum; double d[4] = {sum, 1, 2, 3}; sincos(sum, &s, "
        "&c);"
        "sum = s + c + sin(f) + sqrt(f) + abs(f) + abs(sum) + abs(k = (int)f) + fabs(f) + pow(f, 2)"
        " + exp(sum) + fmax(f, f) + fminf(f, 1) + max(k, 2) + floor(f) + hypot(sum, f) + round(f)"
        " + lround(sum) + isnan(f) + isinf(sum) + ldexp(f, 2) + fma(f, f, f) + frexp(sum, &k)"
        " + modf(f, &f) + remquo(f, f, &k) + jn(2, f) + erf(f) + tgamma(sum) + rsqrt(f) + "
        "sinpi(sum)"
        " + __expf(f) + M_PI + INFINITY + NAN + FLT_MAX + DBL_EPSILON + INT_MAX + SIZE_MAX;"
        "uint8_t u = 3; int64_t q = u; sum += q; memset(d, 0, 4); memcpy(d, d + 1, 8); assert(k < "
        "4);"
        "if (!(sum > 0)) printf(\"%g\", d[0]);";
    kiln__target targets[64];
    const size_t count = kiln__compiler_targets(KILN_BACKEND_CPU, targets, KILN_COUNT_OF(targets));

    (void)state;
    if (count == 0)
        skip();
    for (size_t h = 0; h < KILN_COUNT_OF(headers); h++) {
        char preamble[64];
        snprintf(preamble, sizeof preamble, "#include <%s>", headers[h]);
        char *source = expressions_source(KILN_BACKEND_CPU, preamble, op);
        assert_true(expressions_compile(&targets[0], source, headers[h]));
        kiln__free(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prelude__a_plain_kernel_gets_nothing_for_others),
        cmocka_unit_test(test_prelude__words_and_sections_together_bring_a_section),
        cmocka_unit_test(test_prelude__a_header_keeps_its_names),
        cmocka_unit_test(test_prelude__headers_stand_beside_it_on_a_cpu),
        cmocka_unit_test(test_prelude__all_expressions_compile_for_every_gpu),
        cmocka_unit_test(test_prelude__all_expressions_compile_for_every_cpu),
    };
    return cmocka_run_group_tests_name("test_prelude", tests, NULL, NULL);
}
