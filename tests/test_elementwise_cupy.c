/*
 * test_elementwise_cupy.c - definitions written for CuPy, run as they stand.
 *
 * The cases are in oracle/cupy_arithmetic.c, cupy_science.c and cupy_words.c. Each runs over contiguous
 * arrays and over transposed ones. The tests after the table are of kernels whose operands are not
 * all walked: tables, histograms, stencils.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle/cupy.h"

static kiln_dtype dtype_of(char letter)
{
    static const char letters[] = "?bhilBHILeEfdFD"; /* in the order of KILN_DTYPE_MAP */
    const char *at = strchr(letters, letter);

    if (at == NULL || letter == '\0')
        fail_msg("no dtype '%c'", letter);
    return (kiln_dtype)(at - letters + 1);
}

/* Values in [low, high]: integers for integer dtypes, multiples of 1/16 for the others. */
static void draw(test_env *t, host_array *a, double low, double high)
{
    bool whole = a->dtype < KILN_FLOAT16;
    long double grain = whole ? 1 : 16;
    int64_t first = (int64_t)ceil(low * (double)grain);
    uint64_t count = (uint64_t)((int64_t)floor(high * (double)grain) - first) + 1;

    for (int64_t k = 0; k < host_size(a); k++) {
        host_value v;

        v.re = (long double)(first + (int64_t)test_random_below(t, count)) / grain;
        v.im = (long double)(first + (int64_t)test_random_below(t, count)) / grain;
        host_store(a->dtype, host_at(a, k), v);
    }
    host_send(t, a);
}

static size_t count_parameters(const char *signature)
{
    size_t count = signature[0] != '\0';

    for (const char *p = signature; *p != '\0'; p++)
        count += *p == ',';
    return count;
}

static void check_case(test_env *t, const cupy_case *c, const host_layout *layout)
{
    static const int64_t shape[] = {33, 47};
    size_t inputs = count_parameters(c->in), count = inputs + count_parameters(c->out);
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    host_array arrays[CUPY_PARAMS_MAX], *pointers[CUPY_PARAMS_MAX];
    kiln_arg args[CUPY_PARAMS_MAX];
    kiln_elementwise *op = NULL;

    CHECK(strlen(c->dtypes) == count && count <= CUPY_PARAMS_MAX, "%s: dtypes", c->name);
    options.name = c->name;
    options.preamble = c->preamble;
    options.loop_prep = c->loop_prep;
    options.after_loop = c->after_loop;
    for (size_t k = 0; k < count; k++) {
        host_make(t, &arrays[k], dtype_of(c->dtypes[k]), 2, shape, k == 0 ? layout : NULL);
        if (k < inputs || arrays[k].dtype >= KILN_FLOAT16)
            draw(t, &arrays[k], c->low, c->high);
        pointers[k] = &arrays[k];
        args[k] = kiln_arg_array(arrays[k].array);
    }
    kiln_status status =
        kiln_elementwise_create(t->ctx, c->in, c->out, c->op, &options, &op, &t->err);
    if (status == KILN_OK)
        status = kiln_elementwise_run(op, args, count, NULL, &t->err);
    if (status != KILN_OK)
        print_error("%s: (%s) -> (%s): %s\n", c->name, c->in, c->out, c->op);
    OK(t, status);
    host_apply(pointers, inputs, count - inputs, 2, shape, c->means);
    for (size_t k = 0; k < count; k++)
        host_compare(t, &arrays[k], c->ulps, c->name);
    kiln_elementwise_destroy(op);
    for (size_t k = 0; k < count; k++)
        host_free(&arrays[k]);
}

static void check_cases(test_env *t, const cupy_case *cases, size_t count)
{
    static const host_layout transposed = {.order = {2, 1}};

    for (size_t k = 0; k < count; k++) {
        check_case(t, &cases[k], NULL);
        if (k % 4 == 0) /* one in four: what differs is the loop around the snippet */
            check_case(t, &cases[k], &transposed);
    }
}

static void test_elementwise__cupy_arithmetic_and_comparison(void **state)
{
    check_cases(*state, cupy_arithmetic, cupy_arithmetic_count);
}

static void test_elementwise__cupy_mathematics_and_science(void **state)
{
    check_cases(*state, cupy_science, cupy_science_count);
}

static void test_elementwise__cupy_headers_and_words(void **state)
{
    check_cases(*state, cupy_words, cupy_words_count);
}

static void test_elementwise__there_are_more_than_sixty_of_them(void **state)
{
    (void)state;
    assert_true(cupy_arithmetic_count + cupy_science_count >= 60);
}

/* ---- raw operands ---- */

static void test_elementwise__cupy_lookup_with_linear_interpolation(void **state)
{
    static const int64_t shape[] = {500}, knots[] = {17};
    test_env *t = *state;
    host_array x, table, y;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 1, shape, NULL);
    host_make(t, &table, KILN_FLOAT32, 1, knots, NULL);
    host_make(t, &y, KILN_FLOAT32, 1, shape, NULL);
    draw(t, &x, 0, 15.9);
    draw(t, &table, -8, 8);
    OK(t, kiln_elementwise_create(t->ctx, "T x, raw T table", "T y",
                                  "int lo = (int)x; T f = x - lo;\n"
                                  "y = table[lo] * (1 - f) + table[lo + 1] * f;",
                                  NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, table.array, y.array));
    for (int64_t k = 0; k < shape[0]; k++) {
        long double v = host_load(KILN_FLOAT32, host_at(&x, k)).re;
        int64_t lo = (int64_t)v;
        long double a = host_load(KILN_FLOAT32, host_at(&table, lo)).re;
        long double b = host_load(KILN_FLOAT32, host_at(&table, lo + 1)).re;

        host_store(KILN_FLOAT32, host_at(&y, k), host_real(a * (1 - (v - lo)) + b * (v - lo)));
    }
    host_compare(t, &y, 0, "interpolation");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&table);
    host_free(&y);
}

static void test_elementwise__cupy_histogram(void **state)
{
    static const int64_t shape[] = {20000}, bins[] = {32};
    test_env *t = *state;
    host_array x, counts;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_UINT8, 1, shape, NULL);
    host_make(t, &counts, KILN_UINT64, 1, bins, NULL);
    draw(t, &x, 0, 255);
    for (int64_t k = 0; k < bins[0]; k++)
        host_store(KILN_UINT64, host_at(&counts, k), host_real(0));
    host_send(t, &counts);
    for (int64_t k = 0; k < shape[0]; k++) {
        void *bin = host_at(&counts, (int64_t)host_load(KILN_UINT8, host_at(&x, k)).re / 8);

        host_store(KILN_UINT64, bin, host_real(host_load(KILN_UINT64, bin).re + 1));
    }
    OK(t, kiln_elementwise_create(t->ctx, "uint8 x", "raw uint64 hist",
                                  "atomicAdd(&hist[x / 8], 1ULL);", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, counts.array));
    host_compare(t, &counts, 0, "histogram");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&counts);
}

static void test_elementwise__cupy_image_stencil(void **state)
{
    static const int64_t shape[] = {40, 55};
    test_env *t = *state;
    host_array x, y;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_FLOAT32, 2, shape, NULL);
    host_make(t, &y, KILN_FLOAT32, 2, shape, NULL);
    OK(t, kiln_elementwise_create(t->ctx, "raw T x, int32 h, int32 w", "T y",
                                  "int r = i / w, c = i % w;\n"
                                  "int up = r > 0 ? r - 1 : 0, down = r < h - 1 ? r + 1 : r;\n"
                                  "int left = c > 0 ? c - 1 : 0, right = c < w - 1 ? c + 1 : c;\n"
                                  "y = x[up * w + c] + x[down * w + c] + x[r * w + left] +\n"
                                  "    x[r * w + right] - 4 * x[i];",
                                  NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, (int)shape[0], (int)shape[1], y.array));
    for (int64_t r = 0; r < shape[0]; r++)
        for (int64_t c = 0; c < shape[1]; c++) {
#define AT(row, column) host_load(KILN_FLOAT32, host_at(&x, (row)*shape[1] + (column))).re
            long double v = AT(r > 0 ? r - 1 : 0, c) + AT(r + 1 < shape[0] ? r + 1 : r, c) +
                            AT(r, c > 0 ? c - 1 : 0) + AT(r, c + 1 < shape[1] ? c + 1 : c) -
                            4 * AT(r, c);
#undef AT
            host_store(KILN_FLOAT32, host_at(&y, r * shape[1] + c), host_real(v));
        }
    host_compare(t, &y, 0, "stencil");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
}

/* CuPy passes a number for a raw parameter by value; strings that are written for it say `raw int32
 * size` of what is an array nowhere. */
static void test_elementwise__cupy_numbers_for_raw_parameters(void **state)
{
    static const int64_t shape[] = {40};
    test_env *t = *state;
    host_array x, y;
    kiln_elementwise *op = NULL;

    host_make(t, &x, KILN_INT32, 1, shape, NULL);
    host_make(t, &y, KILN_INT32, 1, shape, NULL);
    draw(t, &x, -99, 99);
    OK(t, kiln_elementwise_create(t->ctx, "raw T x, raw int32 size, raw float64 by", "T y",
                                  "y = i < size ? x[i] * by : -1", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, 30, 0.5, y.array));
    for (int64_t k = 0; k < shape[0]; k++) {
        const long double v = host_load(KILN_INT32, host_at(&x, k)).re * 0.5L;
        host_store(KILN_INT32, host_at(&y, k), host_real(k < 30 ? truncl(v) : -1));
    }
    host_compare(t, &y, 0, "a number for a raw parameter");
    /* An array of one element is an array still. */
    FAILS(t, KILN_ERR_COMPILE, kiln_call(op, &t->err, x.array, x.array, 0.5, y.array), "raw array");
    kiln_error_clear(&t->err);
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
}

/* The prelude is C++17, so an older standard in the options is raised to that. */
static void test_elementwise__older_standards_are_raised(void **state)
{
    static const int64_t shape[] = {3};
    test_env *t = *state;
    const char *standards[] = {"-std=c++11", "--std=c++14", "-std=c++17"};
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    host_array y;

    host_make(t, &y, KILN_INT32, 1, shape, NULL);
    options.compiler_option_count = 1;
    for (size_t k = 0; k < COUNT(standards); k++) {
        kiln_elementwise *op = NULL;
        options.compiler_options = &standards[k];
        OK(t,
           kiln_elementwise_create(t->ctx, "int32 x", "int32 y",
                                   "if constexpr (sizeof(x) == 4) y = x + (__cplusplus >= 201703L)",
                                   &options, &op, &t->err));
        OK(t, kiln_call(op, &t->err, (int)k, y.array));
        for (int64_t e = 0; e < shape[0]; e++)
            host_store(KILN_INT32, host_at(&y, e), host_real((long double)k + 1));
        host_compare(t, &y, 0, standards[k]);
        kiln_elementwise_destroy(op);
    }
    host_free(&y);
}

/* Macros of the options are the snippets', whatever their names: the prelude and the loop around have
 * parameters that are called T, N or x, too. */
static void test_elementwise__macros_of_options_stay_out_of_the_prelude(void **state)
{
    static const int64_t shape[] = {70};
    static const char *const options[] = {"-DN=10", "-DT=int", "-Dvalue=x", "-Dbits=3",
                                          "-DI",    "-DC=+",   "-DGONE=1",  "-UGONE"};
    test_env *t = *state;
    kiln_elementwise_options with = KILN_ELEMENTWISE_OPTIONS_INIT;
    host_array x, y;
    kiln_elementwise *op = NULL;

    with.compiler_options = options;
    with.compiler_option_count = COUNT(options);
    host_make(t, &x, KILN_FLOAT16, 1, shape, NULL);
    host_make(t, &y, KILN_INT32, 1, shape, NULL);
    draw(t, &x, 0, 9);
    OK(t, kiln_elementwise_create(t->ctx, "float16 x", "int32 y",
                                  "T k = min((float)value, (float)N); y = k * N C bits C I;\n"
                                  "#ifdef GONE\ny = -1;\n#endif\n",
                                  &with, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array));
    for (int64_t e = 0; e < shape[0]; e++)
        host_store(KILN_INT32, host_at(&y, e),
                   host_real(floorl(host_load(KILN_FLOAT16, host_at(&x, e)).re) * 10 + 4));
    host_compare(t, &y, 0, "macros");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Headers of one's own are written in the prelude's words, too, directly or through others; what they
 * declare for themselves stays theirs. */
static void test_elementwise__headers_may_use_the_words_of_the_prelude(void **state)
{
    static const int64_t shape[] = {40};
    test_env *t = *state;
    char folder[256], option[300];
    const char *options[] = {option};
    kiln_elementwise_options with = KILN_ELEMENTWISE_OPTIONS_INIT;
    host_array x, y;
    kiln_elementwise *op = NULL;

    test_env_fresh_dir(t, folder, sizeof folder);
    write_text(folder, "outer.h",
               "#include \"inner.h\"\ntypedef unsigned short uint8;\n"
               "__device__ inline double both(double v)\n{\n"
               "    return real(turn(v)) + (uint8)(CUDART_ZERO + 256);\n}\n");
    write_text(folder, "inner.h",
               "#pragma once\n__device__ inline complex<double> turn(double v)\n"
               "{\n    return complex<double>(v, 1) * complex<double>(0, -1);\n}\n");
    snprintf(option, sizeof option, "-I%s", folder);
    with.compiler_options = options;
    with.compiler_option_count = 1;
    with.preamble = "#ifndef OUTER\n#define OUTER\n#include <outer.h>\n#endif\n";
    host_make(t, &x, KILN_FLOAT64, 1, shape, NULL);
    host_make(t, &y, KILN_FLOAT64, 1, shape, NULL);
    draw(t, &x, -9, 9);
    OK(t, kiln_elementwise_create(t->ctx, "float64 x", "float64 y", "y = both(x)", &with, &op,
                                  &t->err));
    OK(t, kiln_call(op, &t->err, x.array, y.array));
    for (int64_t k = 0; k < shape[0]; k++) /* (v + i) * -i = 1 - v i */
        host_store(KILN_FLOAT64, host_at(&y, k), host_real(1 + 256));
    host_compare(t, &y, 0, "a header");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
}

/* A standard header that a header of one's own includes takes the place of what the prelude has of it. On
 * the cpu: NVRTC has no <limits>, so there it stands behind an #ifndef. */
static void test_elementwise__headers_may_include_standard_ones(void **state)
{
    static const int64_t shape[] = {40};
    test_env *t = *state;
    char folder[256], option[300];
    const char *options[] = {option};
    kiln_elementwise_options with = KILN_ELEMENTWISE_OPTIONS_INIT;
    host_array x, y;
    kiln_elementwise *op = NULL;

    test_env_fresh_dir(t, folder, sizeof folder);
    write_text(folder, "outer.h", "#include \"inner.h\"\n");
    write_text(folder, "inner.h",
               "#pragma once\n#ifndef __CUDACC_RTC__\n#include <limits>\n#endif\n"
               "__device__ inline int widest()\n"
               "{\n    return std::numeric_limits<int>::max();\n}\n");
    snprintf(option, sizeof option, "-I%s", folder);
    with.compiler_options = options;
    with.compiler_option_count = 1;
    with.preamble = "#include \"outer.h\"";
    OK(t, kiln_elementwise_create(t->ctx, "float64 x", "float64 y", "y = widest() + 0 * x", &with,
                                  &op, &t->err));
    host_make(t, &x, KILN_FLOAT64, 1, shape, NULL);
    host_make(t, &y, KILN_FLOAT64, 1, shape, NULL);
    draw(t, &x, -9, 9);
    OK(t, kiln_call(op, &t->err, x.array, y.array));
    for (int64_t k = 0; k < shape[0]; k++)
        host_store(KILN_FLOAT64, host_at(&y, k), host_real(2147483647.0));
    host_compare(t, &y, 0, "a standard header");
    kiln_elementwise_destroy(op);
    host_free(&x);
    host_free(&y);
}

/* <cmath> has functions of integers as the prelude has, and `std::` sees both: CuPy's xsf headers call
 * std::pow(double, int). On CUDA, where NVRTC has no <cmath>, they name CUDA's own functions. */
static void test_elementwise__functions_of_cmath_go_before_the_preludes(void **state)
{
    static const int64_t shape[] = {40};
    static const char op[] =
        "y = 0 * x + std::pow(T(3), 2) + std::pow(2, 3) + std::sqrt(16) + std::ldexp(1, 4) + "
        "std::lround(2) + std::fma(2, 3, T(4)) + std::fmin(7, 5) + std::ilogb(8) + pow(2, 2) + "
        "hypot(3, T(4))";
    test_env *t = *state;
    kiln_elementwise_options with = KILN_ELEMENTWISE_OPTIONS_INIT;

    with.preamble = "#ifndef __CUDACC_RTC__\n#include <cmath>\n#else\nnamespace std\n{\n"
                    "using ::pow;\nusing ::sqrt;\nusing ::ldexp;\nusing ::lround;\nusing ::fma;\n"
                    "using ::fmin;\nusing ::ilogb;\n}\n#endif\n";
    for (int wide = 0; wide < 2; wide++) {
        host_array x, y;
        kiln_elementwise *kernel = NULL;
        host_make(t, &x, wide ? KILN_FLOAT64 : KILN_FLOAT32, 1, shape, NULL);
        host_make(t, &y, wide ? KILN_FLOAT64 : KILN_FLOAT32, 1, shape, NULL);
        draw(t, &x, -9, 9);
        OK(t, kiln_elementwise_create(t->ctx, "T x", "T y", op, &with, &kernel, &t->err));
        OK(t, kiln_call(kernel, &t->err, x.array, y.array));
        for (int64_t k = 0; k < shape[0]; k++) /* 9 + 8 + 4 + 16 + 2 + 10 + 5 + 3 + 4 + 5 */
            host_store(y.dtype, host_at(&y, k), host_real(66));
        host_compare(t, &y, 0, "functions of <cmath>");
        kiln_elementwise_destroy(kernel);
        host_free(&x);
        host_free(&y);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elementwise__there_are_more_than_sixty_of_them),
        TEST(test_elementwise__cupy_arithmetic_and_comparison),
        TEST(test_elementwise__cupy_headers_and_words),
        TEST(test_elementwise__cupy_mathematics_and_science),
        TEST(test_elementwise__cupy_numbers_for_raw_parameters),
        TEST(test_elementwise__macros_of_options_stay_out_of_the_prelude),
        TEST(test_elementwise__older_standards_are_raised),
        TEST(test_elementwise__headers_may_use_the_words_of_the_prelude),
        TEST(test_elementwise__headers_may_include_standard_ones),
        TEST(test_elementwise__functions_of_cmath_go_before_the_preludes),
        TEST(test_elementwise__cupy_lookup_with_linear_interpolation),
        TEST(test_elementwise__cupy_histogram),
        TEST(test_elementwise__cupy_image_stencil),
    };

    return test_env_main(argc, argv, "test_elementwise_cupy", tests, COUNT(tests));
}
