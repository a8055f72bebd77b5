/*
 * test_all_archs.c - generated source compiled for GPUs that NVRTC knows, without a GPU.
 *
 *     test_all_archs [sm_90 ...]
 *
 * Every request (oracle/request.h) below is compiled for the targets of archs.h or of the command
 * line; every dtype and every layout class for each. The cubin is looked at no further than that it is an ELF file
 * that holds the kernel's name. Without NVRTC the program skips: exit status 77.
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
#include "oracle/request.h"

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

/* ---- what is compiled ---- */

#define MULADD "in T x, T y\nout T z\nop z = x * y + T(1)\n"

/* The operands of x, y -> z, and the layout class that they must get. $T is the dtype, $N stands for
 * N elements' bytes. */
static const struct {
    const char *class, *args;
} layouts[] = {
    {"linear", "shape 1000\n"
               "arg $T 1000 $1 @4096\narg $T 1000 $1 @4096\narg $T 1000 $1 @4096\n"},
    {"linear", "shape 1000\n" /* misaligned */
               "arg $T 1000 $1 @4096\narg $T 1000 $1 @$4097\narg $T 1000 $1 @4096\n"},
    {"inner", "shape 64 128\n"
              "arg $T 64x128 $128,$1 @4096\narg $T 64x1 $1,$1 @4096\n"
              "arg $T 64x128 $128,$1 @4096\n"},
    {"transpose", "shape 128 128\n"
                  "arg $T 128x128 $1,$128 @4096\narg $T 128x128 $128,$1 @4096\n"
                  "arg $T 128x128 $128,$1 @4096\n"},
    {"general", "shape 64 64\n"
                "arg $T 64x64 $128,$2 @4096\narg $T 64x64 $64,$1 @4096\n"
                "arg $T 64x64 $64,$1 @4096\n"},
    {"transpose", "shape 128 128\n" /* of bytes: rows that begin at words, but not all at sectors */
                  "arg $T 128x128 $1,$132 @4096\narg $T 128x128 $129,$1 @4096\n"
                  "arg $T 128x128 $129,$1 @4096\n"},
    {"transpose", "shape 128 128\n" /* rows that begin between sectors: another kernel */
                  "arg $T 128x128 $1,$129 @4096\narg $T 128x128 $129,$1 @4096\n"
                  "arg $T 128x128 $129,$1 @4096\n"},
};
enum { ODD_TRANSPOSE = KILN_COUNT_OF(layouts) - 1 };

/* Put a dtype and its sizes into the text of a layout. */
static void expand(const char *args, kiln_dtype dtype, char *out, size_t room)
{
    size_t used = 0;

    for (const char *p = args; *p != '\0' && used + 32 < room;) {
        char *end = NULL;

        if (*p != '$') {
            out[used++] = *p++;
        } else if (p[1] == 'T') {
            used += (size_t)snprintf(out + used, room - used, "%s", kiln_dtype_name(dtype));
            p += 2;
        } else {
            long count = strtol(p + 1, &end, 10);

            used += (size_t)snprintf(out + used, room - used, "%ld",
                                     count * (long)kiln_dtype_size(dtype));
            p = end;
        }
    }
    out[used] = '\0';
}

/* Whole requests: what snippets may use. */
static const char *const requests[] = {
    /* raw arrays, the indexer, index and size */
    "name gather\nin raw T x, int32 k\nout T z\n"
    "op ptrdiff_t at[] = {_ind.get()[0], k}; z = x[at] + T(i) / T(n) + x[i % x.size()];\n"
    "op for (int a = 0; a < x.ndim; ++a) z += T(x.shape()[a] + x.strides()[a] + _ind.size());\n"
    "keep_axes\nshape 20 30\n"
    "arg float32 20x50 200,4 @4096\narg int32 20x30 120,4 @4096\narg float32 20x30 120,4 @4096\n",
    /* all around the loop, atomics of every kind */
    "name total\nin int32 x, raw float64 d\nout raw int32 s, raw uint64 u, raw float32 f\n"
    "preamble template <class V> __device__ V twice(V v) { return v + v; }\n"
    "loop_prep int sum = 0;\nop sum += twice(x); atomicMax(&s[1], x); atomicMin(&s[2], x);\n"
    "op atomicOr(&s[3], x); atomicAnd(&s[4], x); atomicXor(&s[5], x); atomicExch(&s[6], x);\n"
    "op atomicCAS(&s[7], 0, x); atomicAdd(&u[0], 1ull); atomicAdd(&f[0], 1.0f);\n"
    "op if (d[0] > 0) printf(\"%d\\n\", x);\nafter_loop atomicAdd(&s[0], sum);\nshape 1000\n"
    "arg int32 1000 4 @4096\narg float64 1 8 @4096\narg int32 8 4 @4096\narg uint64 1 8 @4096\n"
    "arg float32 1 4 @4096\n",
    /* complex numbers by both names, with their functions */
    "name waves\nin complex64 x, complex128 y\nout complex64 z, complex128 w, float32 m\n"
    "op thrust::complex<float> a = x * conj(x) + exp(x) / sqrt(x) - log(x);\n"
    "op complex<double> b = pow(y, y) + sin(y) * cos(y) + tanh(y) + polar(1.0, y.real());\n"
    "op z = a; w = b; m = abs(x) + arg(x) + norm(x);\nshape 1000\n"
    "arg complex64 1000 8 @4096\narg complex128 1000 16 @4096\narg complex64 1000 8 @4096\n"
    "arg complex128 1000 16 @4096\narg float32 1000 4 @4096\n",
    /* mathematics in every floating-point type */
    "name maths\nin float16 h, bfloat16 b, float32 f, float64 d\nout float16 p, float64 q\n"
    "op p = float16(sin(f) + erf(f) + lgamma(f) + fmaf(f, f, f) + rsqrt(f) + __expf(f) + M_PI);\n"
    "op q = pow(d, 1.5) + atan2(d, 2.0) + fmod(d, 3.0) + isnan(d) + (float)h + (float)b;\n"
    "op if (h > float16(1) && b < bfloat16(2)) p = h * h + h / h - h; q += ceil(d) + floor(f);\n"
    "shape 1000\narg float16 1000 2 @4096\narg bfloat16 1000 2 @4096\n"
    "arg float32 1000 4 @4096\narg float64 1000 8 @4096\narg float16 1000 2 @4096\n"
    "arg float64 1000 8 @4096\n",
    "name bytes\nin float8_e4m3fn a, float8_e5m2 b, float64 d\nout float8_e4m3fn p, float8_e5m2 q\n"
    "op p = a * b + 1; q = float8_e5m2(d) + a / b; if (a > b) p = d;\nshape 1000\n"
    "arg float8_e4m3fn 1000 1 @4096\narg float8_e5m2 1000 1 @4096\narg float64 1000 8 @4096\n"
    "arg float8_e4m3fn 1000 1 @4096\narg float8_e5m2 1000 1 @4096\n",
    /* filters: an input that is loaded where something is kept; results of both kinds, in rounds; places */
    "name masked\nin T x, bool mask\nout T y, int64 count\nfilter\nwhere mask\nop y = x\n"
    "shape 1000000\narg float32 1000000 4 @4096\narg bool 1000000 1 @4096\n"
    "arg float32 1000000 4 @4096\narg int64 1000000 0 @4096\n",
    "name divided\nin T x, U z\nout T y, U w, float16 a, T b, U c, int64 count, int64 others\n"
    "filter\nwhere x > 0 && i % 3 != 0\nop y = x; w = z * z\notherwise a = x; b = x / T(n); c = z\n"
    "shape 1000000\narg float64 1000000 8 @4096\narg complex128 1000000 16 @4096\n"
    "arg float64 1000000 8 @4096\narg complex128 1000000 16 @4096\narg float16 1000000 2 @4096\n"
    "arg float64 1000000 -8 @4096\narg complex128 1000000 16 @4096\n"
    "arg int64 1000000 0 @4096\narg int64 1000000 0 @4096\n",
    "name halves\nin T x\nout T y, T z, int64 count, int64 others\nfilter\nwhere x > T(0)\nop y = x\n"
    "otherwise z = x\nshape 1000000\narg float16 1000000 2 @4096\narg float16 1000000 2 @4096\n"
    "arg float16 1000000 2 @4096\narg int64 1000000 0 @4096\narg int64 1000000 0 @4096\n",
    "name places\nin bool mask\nout int64 j, int32 k, int64 count, int64 others\nfilter\nwhere mask\n"
    "op j = _ind.get()[0]\notherwise k = i\nshape 1000 999\narg bool 1000x999 1000,1 @4096\n"
    "arg int64 1000x999 7992,8 @4096\narg int32 1000x999 3996,4 @4096\n"
    "arg int64 1000x999 0,0 @4096\narg int64 1000x999 0,0 @4096\n",
    /* windows: views of one array, shifted */
    "name shifted\nin T a, T b, T c, T d\nout T z\nop z = a + b - c * d + T(i % 7)\nshape 2048 "
    "2050\n"
    "arg float32 2048x2050 8204,4 @4096\narg float32 2048x2050 8204,4 @4100\n"
    "arg float32 2048x2050 8204,4 @4104\narg float32 2048x1 4,4 @4096\n"
    "arg float32 2048x2050 8200,4 @4096\n",
    /* the same on three planes, through which blocks march */
    "name marching\nin T a, T b, T c, T d\nout T z\nop z = a + b - c * d + T(i % 7)\nshape 40 400 638\n"
    "arg float32 40x400x638 1029120,2560,4 @4096\narg float32 40x400x638 1029120,2560,4 @1033220\n"
    "arg float32 40x400x638 1029120,2560,4 @2064896\narg float32 40x1x638 2552,0,4 @4096\n"
    "arg float32 40x400x638 1020800,2552,4 @4096\n",
    /* what only a GPU has */
    "name warp\nin T x\nout T z\n"
    "op z = __shfl_xor_sync(__activemask(), x, 1) + T(threadIdx.x + blockIdx.x * blockDim.x);\n"
    "shape 1024\narg float32 1024 4 @4096\narg float32 1024 4 @4096\n",
    /* control flow, outputs that may keep their value, in tiles */
    "name keep\nin T x, T y\nout T z, int8 w\n"
    "op if (x > y) { z = x; continue; }\nop if (y > T(3)) return;\nop w += 1; z -= y;\n"
    "shape 128 96\narg int16 128x96 2,256 @4096\narg int16 128x96 192,2 @4096\n"
    "arg int16 128x96 192,2 @4096\narg int8 128x96 96,1 @4096\n",
    /* six and three, with scalars of 8 and 16 bytes */
    "name many\nin T a, T b, T c, T d, complex128 e, uint8 f\nout T p, T q, T r\n"
    "op p = a * b + c; q = d * T(e.real()) + f; r = a - d\nshape 1000\n"
    "arg float32 1000 4 @4096\narg float32 1000 4 @4096\narg float32 1000 4 @4096\n"
    "arg float32 1000 4 @4096\narg complex128 scalar\narg uint8 scalar\n"
    "arg float32 1000 4 @4096\narg float32 1000 4 @4096\narg float32 1000 4 @4096\n",
    /* 64-bit offsets, seven axes */
    "name far\n" MULADD "shape 60000 40000\n"
    "arg float32 60000x40000 640000,8 @4096\narg float32 60000x40000 160000,4 @4096\n"
    "arg float32 60000x40000 160000,4 @4096\n",
    "name seven\n" MULADD "shape 3 4 5 2 3 4 5\n"
    "arg float32 3x4x5x2x3x4x5 4,12,48,240,480,1440,5760 @4096\n"
    "arg float32 3x4x5x2x3x4x5 9600,2400,480,240,80,20,4 @4096\n"
    "arg float32 3x4x5x2x3x4x5 9600,2400,480,240,80,20,4 @4096\n",
};

/* ---- compiling ---- */

static bool holds(const unsigned char *bytes, size_t count, const char *text)
{
    size_t length = strlen(text);

    for (size_t k = 0; k + length <= count; k++)
        if (memcmp(bytes + k, text, length) == 0)
            return true;
    return false;
}

/* Whether a compiler warned. Filters have functions that only some of them need (177-D). */
static bool warns(const char *log, bool filter)
{
    while ((log = log != NULL ? strstr(log, "warning") : NULL) != NULL) {
        if (!filter || strncmp(log, "warning #177-D", 14) != 0)
            return true;
        log = strchr(log, '\n');
    }
    return false;
}

static void compile(const request *r, const kiln__target *target, const char *what)
{
    kiln__compile_request asked = {.target = *target, .source = r->source.text};
    kiln__compile_result result = {0};
    kiln_error err = KILN_ERROR_INIT;
    kiln_status status = kiln__compile(&asked, &result, &err);

    if (status != KILN_OK)
        fail_msg("%s for %s: %s\n%s\n%s", what, target->name, err.message,
                 result.log != NULL ? result.log : "", r->source.text);
    const char *const own = result.log != NULL ? strstr(result.log, "\nRemark: The warnings") : NULL;
    if (own != NULL)
        result.log[own - result.log] = '\0';
    if (warns(result.log, r->def->family == &kiln__family_filter))
        fail_msg("%s for %s warns: %s", what, target->name, result.log);
    if (result.bytes < 64 || memcmp(result.binary, "\177ELF", 4) != 0 ||
        !holds(result.binary, result.bytes, r->source.entry))
        fail_msg("%s for %s: no cubin with \"%s\"", what, target->name, r->source.entry);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
}

static void compile_text(const char *text, const kiln__target *target, const char *layout)
{
    request r;

    if (!request_emit(&r, text, KILN_BACKEND_CUDA))
        fail_msg("%s: %s", text, r.why);
    if (layout != NULL &&
        strcmp(kiln__layout_name((kiln__layout)r.plan.variant.layout), layout) != 0)
        fail_msg("%s: planned as %s", text, kiln__layout_name((kiln__layout)r.plan.variant.layout));
    compile(&r, target, text);
    request_clear(&r);
}

/* x*y+1 of one dtype in one layout. */
static void compile_layout(size_t layout, kiln_dtype dtype, const kiln__target *target)
{
    char args[1024], text[1400];

    expand(layouts[layout].args, dtype, args, sizeof args);
    snprintf(text, sizeof text, "name muladd\n%s%s",
             dtype == KILN_BOOL ? "in T x, T y\nout T z\nop z = x && y\n" : MULADD, args);
    compile_text(text, target, layouts[layout].class);
}

static void test_all_archs__every_layout_class_compiles(void **state)
{
    static const kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16};

    (void)state;
    for (size_t k = 0; k < target_count; k++)
        for (size_t layout = 0; layout < KILN_COUNT_OF(layouts); layout++)
            for (size_t d = 0; d < KILN_COUNT_OF(dtypes); d++)
                if (archs_drawn(layout + d + k, 2)) /* each for every second GPU */
                    compile_layout(layout, dtypes[d], &targets[k]);
}

/* All dtypes on the first and the last target, on one of them in an odd transpose, on the other in a layout of which
 * each has every size of element. */
static void test_all_archs__every_dtype_compiles(void **state)
{
    size_t ends[] = {0, target_count - 1};

    (void)state;
    for (size_t e = 0; e < KILN_COUNT_OF(ends); e++)
        for (int dtype = KILN_BOOL; dtype < KILN_DTYPE_COUNT; dtype++) {
            if (archs_drawn((size_t)dtype + e, 2))
                compile_layout((size_t)dtype % ODD_TRANSPOSE, (kiln_dtype)dtype, &targets[ends[e]]);
            else
                compile_layout(ODD_TRANSPOSE, (kiln_dtype)dtype, &targets[ends[e]]);
            if (archs_whole())
                compile_layout(ODD_TRANSPOSE, (kiln_dtype)dtype, &targets[ends[e]]);
        }
}

static void test_all_archs__everything_a_snippet_may_use_compiles(void **state)
{
    (void)state;
    for (size_t k = 0; k < target_count; k++)
        for (size_t r = 0; r < KILN_COUNT_OF(requests); r++)
            compile_text(requests[r], &targets[k], NULL);
}

/* One source gives one cubin, whatever was compiled in between. */
static void test_all_archs__a_cubin_is_the_same_every_time(void **state)
{
    request r;
    kiln__compile_result first = {0}, second = {0};
    kiln__compile_request asked = {.target = targets[0]};

    (void)state;
    assert_true(request_emit(&r, requests[0], KILN_BACKEND_CUDA));
    asked.source = r.source.text;
    assert_int_equal(kiln__compile(&asked, &first, NULL), KILN_OK);
    compile_text(requests[3], &targets[0], NULL);
    assert_int_equal(kiln__compile(&asked, &second, NULL), KILN_OK);
    assert_int_equal(first.bytes, second.bytes);
    assert_memory_equal(first.binary, second.binary, first.bytes);
    kiln__compile_result_clear(&first);
    kiln__compile_result_clear(&second);
    request_clear(&r);
}

/* Targets from the command line, or those of archs.h. */
static bool choose_targets(int argc, char **argv)
{
    const char *id = NULL;
    kiln_error err = KILN_ERROR_INIT;

    target_count = archs_find(targets);
    if (target_count == 0) {
        (void)kiln__compiler_identity(KILN_BACKEND_CUDA, &id, &err);
        printf("SKIP: no NVRTC to compile with: %s\n", err.message);
        kiln_error_clear(&err);
        return false;
    }
    for (int k = 1; k < argc && k < ARCHS_MAX && strncmp(argv[k], "sm_", 3) == 0; k++) {
        snprintf(targets[k - 1].name, sizeof targets[0].name, "%s", argv[k]);
        target_count = (size_t)k;
    }
    for (size_t k = 0; k < target_count; k++)
        printf("%s%s", targets[k].name, k + 1 < target_count ? " " : "\n");
    return true;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_archs__every_layout_class_compiles),
        cmocka_unit_test(test_all_archs__every_dtype_compiles),
        cmocka_unit_test(test_all_archs__everything_a_snippet_may_use_compiles),
        cmocka_unit_test(test_all_archs__a_cubin_is_the_same_every_time),
    };

    if (!choose_targets(argc, argv))
        return 77;
    return cmocka_run_group_tests_name("test_all_archs", tests, NULL, NULL) == 0 ? 0 : 1;
}
