/*
 * test_nvrtc_faults.c - known miscompilations of NVRTC: how they are found, and that nothing which
 * kiln compiles has one. No GPU is needed; test_faults.c runs kernels.
 *
 * What the decoder must see was taken from nvdisasm 13.5 (`nvdisasm -hex`); the numbers of
 * negations that kernels need are counted in their PTX, which is right in every version. Without
 * NVRTC the tests that compile are skipped by name.
 */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archs.h"
#include "device/cuda/fault.h"
#include "device/cuda/nvrtc.h"
#include "jit/jit.h"

/* Rows of the table, as bits. */
enum { LOST = 1, WIDENED = 2, PACKED = 4, APPROXIMATE = 8 };

/* ---- machine code ---- */

/* A cubin with these instructions for its only function. */
typedef struct small_cubin {
    Elf64_Ehdr head;
    Elf64_Shdr section[2];
    uint64_t code[16][2];
} small_cubin;

static void make_cubin(small_cubin *c, const uint64_t (*code)[2], size_t count)
{
    memset(c, 0, sizeof *c);
    memcpy(c->head.e_ident, ELFMAG, SELFMAG);
    c->head.e_shoff = offsetof(small_cubin, section);
    c->head.e_shentsize = sizeof c->section[0];
    c->head.e_shnum = 2;
    c->section[1].sh_type = SHT_PROGBITS;
    c->section[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    c->section[1].sh_offset = offsetof(small_cubin, code);
    c->section[1].sh_size = count * sizeof code[0];
    memcpy(c->code, code, count * sizeof code[0]);
}

static const struct {
    const char *text;
    uint64_t code[2];
    size_t signed_min3, negations;
} instructions[] = {
    {"VIMNMX3 R9, R8, R9, R10, PT", {0x000000090809720f, 0x000fc8000380010a}, 1, 0},
    {"VIMNMX3.S16x2 R9, R2, R0, R5, PT", {0x000000000209720f, 0x008fca0003800305}, 1, 0},
    {"VIMNMX3 R9, R2, UR6, R5, PT", {0x0000000602097c0f, 0x008fca000b800105}, 1, 0},
    {"VIMNMX3 R7, R2, 0x1e240, R9, PT", {0x0001e2400207780f, 0x004fca0003800109}, 1, 0},
    {"VIMNMX3.U32 R7, R8, R9, R2, !PT", {0x000000090807720f, 0x004fca0007800002}, 0, 0},
    {"VIMNMX3.U16x2 R11, R2, R5, R6, PT", {0x00000005020b720f, 0x010fca0003800206}, 0, 0},
    {"VIMNMX R7, R0, R11, PT", {0x0000000b00077248, 0x000fca0003fe0100}, 0, 0},
    {"IADD3 R9, -R2, RZ, RZ", {0x000000ff02097210, 0x004fc40007ffe1ff}, 0, 1},
    {"IADD3 R9, RZ, -R8, RZ", {0x80000008ff097210, 0x000fca0007ffe0ff}, 0, 1},
    {"IADD3 R9, R0, -0x7, RZ", {0xfffffff900097810, 0x000fca0007ffe0ff}, 0, 0},
    {"IADD R12, -R12, RZ", {0x000000ff0c0c7235, 0x000fe200078e0100}, 0, 1},
    {"IADD R9, R2, -R5", {0x8000000502097235, 0x004fca00078e0000}, 0, 1},
    {"IMAD.MOV R8, RZ, RZ, -R8", {0x000000ffff087224, 0x000fca00078e0a08}, 0, 1},
    {"IMAD.MOV R8, RZ, RZ, R8", {0x000000ffff087224, 0x000fca00078e0208}, 0, 0},
};

static void test_faults__instructions_are_told_from_each_other(void **state)
{
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(instructions); k++) {
        kiln__code_counts counts;
        small_cubin cubin;

        make_cubin(&cubin, &instructions[k].code, 1);
        assert_true(kiln__code_count(&cubin, sizeof cubin, &counts));
        if (counts.instructions != 1 || counts.signed_min3 != instructions[k].signed_min3 ||
            counts.negations != instructions[k].negations)
            fail_msg("%s: %zu of VIMNMX3, %zu negations", instructions[k].text, counts.signed_min3,
                     counts.negations);
    }
}

static void test_faults__what_is_no_cubin_is_suspect(void **state)
{
    static const uint64_t code[][2] = {{0x000000070602720f, 0x000fc8000380010a}};
    kiln__code_counts counts;
    small_cubin cubin;

    (void)state;
    make_cubin(&cubin, code, 1);
    for (size_t bytes = 0; bytes < offsetof(small_cubin, code) + sizeof code; bytes++) {
        unsigned char *cut = malloc(bytes + 1); /* so that reading beyond is seen */
        assert_non_null(cut);
        memcpy(cut, &cubin, bytes);
        assert_false(kiln__code_count(cut, bytes, &counts));
        assert_true((kiln__fault_suspects(13000, 90, KILN__REMEDY_NONE, cut, bytes) & LOST) != 0);
        free(cut);
    }
    cubin.head.e_shoff = UINT64_MAX - 8;
    assert_false(kiln__code_count(&cubin, sizeof cubin, &counts));
    make_cubin(&cubin, code, 1);
    cubin.section[1].sh_size = UINT64_MAX;
    assert_false(kiln__code_count(&cubin, sizeof cubin, &counts));
}

static void test_faults__versions_and_architectures_decide(void **state)
{
    static const uint64_t code[][2] = {{0x000000090809720f, 0x000fc8000380010a}};
    static const struct {
        int version, arch;
        unsigned suspects;
    } cases[] = {{12000, 80, WIDENED},
                 {12050, 90, WIDENED},
                 {12060, 90, LOST | WIDENED},
                 {12080, 80, PACKED | WIDENED},
                 {12090, 90, LOST | WIDENED | PACKED},
                 {12090, 100, LOST | WIDENED | PACKED},
                 {13000, 75, WIDENED},
                 {13000, 89, WIDENED | PACKED},
                 {13000, 103, LOST | WIDENED | PACKED},
                 {13000, 110, WIDENED | PACKED},
                 {13000, 120, WIDENED | PACKED},
                 {13010, 90, LOST | WIDENED},
                 {13030, 90, LOST},
                 {13040, 90, 0},
                 {13030, 75, 0}};
    small_cubin cubin;

    (void)state;
    make_cubin(&cubin, code, 1);
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
        if (kiln__fault_suspects(cases[k].version, cases[k].arch, KILN__REMEDY_TEXT, &cubin,
                                 sizeof cubin) != (cases[k].suspects | APPROXIMATE))
            fail_msg("version %d, sm_%d", cases[k].version, cases[k].arch);
    assert_int_equal(kiln__fault_suspects(13000, 90, KILN__REMEDY_PLAIN, &cubin, sizeof cubin),
                     LOST);
    assert_int_equal(kiln__fault_suspects(13060, 90, KILN__REMEDY_NONE, &cubin, sizeof cubin), 0);
    make_cubin(&cubin, &instructions[4].code, 1);
    assert_int_equal(kiln__fault_suspects(13000, 90, KILN__REMEDY_NONE, &cubin, sizeof cubin),
                     WIDENED | PACKED | APPROXIMATE);
    assert_non_null(kiln__fault_asked_for(LOST | WIDENED, NULL));
    assert_null(kiln__fault_asked_for(WIDENED, NULL));
}

/* ---- PTX ---- */

static void test_faults__ptx_asks_for_minima_of_negated_numbers(void **state)
{
    static const struct {
        const char *ptx;
        bool asks;
    } cases[] = {
        {"neg.s32 %r3, %r2;\n max.s32 %r5, %r4, %r3;", true},
        {"neg.s32 \t%r3, %r2;\n max.s32 \t%r5, %r3, %r4;", true},
        {"neg.s16 %rs3, %rs2;\n cvt.s32.s16 %r7, %rs3;\n min.s32 %r5, %r4, %r7;", true},
        {"sub.s32 %r3, 0, %r2;\n min.s32 %r5, %r4, %r3;", true},
        {"neg.s32 %r3, %r2;\n setp.lt.s32 %p1, %r3, %r4;\n selp.b32 %r5, %r3, %r4, %p1;", true},
        {"neg.s16 %rs1, %rs2;\n mov.b32 %r1, {%rs1, %rs3};\n min.s16x2 %r2, %r1, %r3;", true},
        {"neg.s32 %r1, %r2;\n mov.b32 {%rs1, %rs2}, %r1;\n min.s16 %rs3, %rs4, %rs2;", true},
        {"neg.s32 %r3, %r2;\n@%p1 max.s32 %r5, %r4, %r3;", true},
        {"L1:\n mov.u32 %r9, %r3;\n min.s32 %r5, %r4, %r9;\n neg.s32 %r3, %r2;\n bra L1;", true},
        {"min.s32 %r5, %r4, %r3;\n neg.s32 %r3, %r5;", true}, /* around a loop */
        {"neg.s32 %r3, %r2;\n max.s32 %r5, %r4, %r6;", false},
        {"neg.s32 %r3, %r2;\n add.s32 %r6, %r3, %r1;\n max.s32 %r5, %r4, %r6;", false},
        {"neg.s32 %r3, %r2;\n max.u32 %r5, %r4, %r3;", false},
        {"sub.s32 %r3, %r1, %r2;\n max.s32 %r5, %r4, %r3;", false},
        {"neg.s32 %r30, %r2;\n max.s32 %r5, %r4, %r3;", false},
        {"neg.s16 %rs3, %rs2;\n max.s32 %r5, %r4, %r3;", false},
        {"neg.s64 %rd3, %rd2;\n max.s64 %rd5, %rd4, %rd3;", false},
        {"", false},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
        if ((kiln__fault_asked_for(LOST, cases[k].ptx) != NULL) != cases[k].asks)
            fail_msg("%s", cases[k].ptx);
}

static void test_faults__ptx_asks_for_wide_numbers_of_negated_short_ones(void **state)
{
    static const struct {
        const char *ptx;
        bool asks;
    } cases[] = {
        {"neg.s16 %rs3, %rs2;\n cvt.s32.s16 %r7, %rs3;", true},
        {"neg.s16 %rs3, %rs2;\n cvt.s64.s16 %rd7, %rs3;", true},
        {"neg.s16 %rs3, %rs2;\n cvt.rn.f32.s16 %f7, %rs3;", true},
        {"neg.s16 %rs3, %rs2;\n mov.u16 %rs4, %rs3;\n cvt.s32.s16 %r7, %rs4;", true},
        {"neg.s16 %rs3, %rs2;\n setp.lt.s16 %p1, %rs3, %rs2;", true},
        {"neg.s16 %rs3, %rs2;\n min.s16 %rs4, %rs2, %rs3;", true},
        {"neg.s16 %rs3, %rs2;\n mul.wide.s16 %r4, %rs2, %rs3;", true},
        {"neg.s16 %rs3, %rs2;\n st.global.u16 [%rd1], %rs3;", false},
        {"neg.s16 %rs3, %rs2;\n cvt.u32.u16 %r7, %rs3;", false},
        {"neg.s16 %rs3, %rs2;\n add.s16 %rs4, %rs3, 1;\n", false},
        {"neg.s16 %rs3, %rs2;\n cvt.s32.s16 %r7, %rs2;", false},
        {"neg.s32 %r3, %r2;\n cvt.u16.u32 %rs1, %r3;\n cvt.s32.s16 %r7, %rs1;", false},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
        if ((kiln__fault_asked_for(WIDENED, cases[k].ptx) != NULL) != cases[k].asks)
            fail_msg("%s", cases[k].ptx);
}

static void test_faults__ptx_asks_for_masks_of_packed_halves(void **state)
{
    static const struct {
        const char *ptx;
        bool asks;
    } cases[] = {
        {"cvt.rn.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 32767;\n mov.b32 %r1, {%rs2, %rs3};",
         true},
        {"cvt.rn.bf16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 1;\n mov.b32 %r1, {%rs3, %rs2};", true},
        {"cvt.rz.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 1;\n st.global.v2.u16 [%rd1], {%rs2, "
         "%rs3};",
         true},
        {"cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;\n and.b16 %rs2, %rs1, 1;\n"
         "mov.b64 %rd1, {%rs3, %rs4, %rs5, %rs2};",
         true},
        {"cvt.rn.f16.f32 %rs1, %f1;\n mov.u16 %rs4, %rs1;\n and.b16 %rs2, %rs4, 1;\n"
         "mov.u16 %rs5, %rs2;\n mov.b32 %r1, {%rs5, %rs3};",
         true},
        {"cvt.rn.f16.f32 %rs1, %f1;\n cvt.u32.u16 %r2, %rs1;\n and.b32 %r3, %r2, 32767;\n"
         "cvt.u16.u32 %rs2, %r3;\n mov.b32 %r1, {%rs2, %rs3};",
         true},
        {"cvt.rn.f16x2.f32 %r1, %f1, %f2;\n mov.b32 {%rs1, %rs2}, %r1;\n and.b16 %rs3, %rs2, 1;\n"
         "mov.b32 %r1, {%rs3, %rs1};",
         true},
        {"and.b16 %rs2, %rs1, 32767;\n mov.b32 %r1, {%rs2, %rs3};", false},
        {"cvt.rn.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 32767;\n mov.b32 %r1, {%rs1, %rs3};",
         false},
        {"cvt.rn.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, %rs3;\n mov.b32 %r1, {%rs2, %rs3};",
         false},
        {"cvt.rn.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 1;\n setp.gt.u16 %p1, %rs2, %rs3;",
         false},
        {"cvt.rn.f16.f32 %rs1, %f1;\n and.b16 %rs2, %rs1, 1;\n or.b16 %rs4, %rs2, 8;\n"
         "mov.b32 %r1, {%rs4, %rs3};",
         false},
        {"cvt.rn.f16.f32 %rs1, %f1;\n mov.b32 %r1, {%rs1, %rs1};\n and.b32 %r2, %r1, 2147450879;\n"
         "mov.b32 {%rs2, %rs3}, %r2;\n mov.b32 %r3, {%rs2, %rs4};",
         false}, /* as kiln writes it */
        {"cvt.f32.f16 %f1, %rs1;\n and.b16 %rs2, %rs1, 1;\n mov.b32 %r1, {%rs2, %rs3};", false},
        {"// %rs18446744073709551615\n and.b16 %rs2, %rs1, 1;", false}, /* a comment's words */
        {"", false},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
        if ((kiln__fault_asked_for(PACKED, cases[k].ptx) != NULL) != cases[k].asks)
            fail_msg("%s", cases[k].ptx);
}

static void test_faults__ptx_asks_for_masks_of_approximate_halves(void **state)
{
    static const struct {
        const char *ptx;
        bool asks;
    } cases[] = {
        {"tanh.approx.f16 %rs1, %rs2;\n and.b16 %rs3, %rs1, 32767;", true},
        {"ex2.approx.f16 %rs1, %rs2;\n mov.u16 %rs4, %rs1;\n and.b16 %rs3, %rs4, 255;", true},
        {"tanh.approx.bf16 %rs1, %rs2;\n and.b16 %rs3, %rs1, 32767;", false},
        {"tanh.approx.f16 %rs1, %rs2;\n and.b16 %rs3, %rs2, 32767;", false},
        {"tanh.approx.f16 %rs1, %rs2;\n add.f16 %rs3, %rs1, %rs2;", false},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++)
        if ((kiln__fault_asked_for(APPROXIMATE, cases[k].ptx) != NULL) != cases[k].asks)
            fail_msg("%s", cases[k].ptx);
}

/* ---- text ---- */

#define M "kiln__minus()->*"

static void test_faults__signs_are_hidden_and_nothing_else(void **state)
{
    static const char *const cases[][2] = {
        {"y = -x;", "y = " M "x;"},
        {"y = a * -x / -b[1](2);", "y = a * " M "x / " M "b[1](2);"},
        {"return -x;", "return " M "x;"},
        {"f(-x, -(a), - a)", "f(" M "x, " M "(a), " M " a)"},
        {"a - -x", "a - " M "x"},
        {"-(int)x", M "(int)x"},
        {"x < 0 ? -x : -y", "x < 0 ? " M "x : " M "y"},
        {"a -= -x;", "a -= " M "x;"},
        {"0 - x", "kiln__zero - x"},
        {"int((unsigned int)(0) - (unsigned int)(x))",
         "int((unsigned int)(kiln__zero) - (unsigned int)(x))"},
        {"int(0 - (unsigned int)(x))", "int(kiln__zero - (unsigned int)(x))"},
        /* Subtractions, and what may be one. */
        {"a - x", "a - x"},
        {"a[1]-x", "a[1]-x"},
        {"(a) - x", "(a) - x"},
        {"(T)-x", "(T)-x"},
        {"1-x", "1-x"},
        {"0x1e-x + 1e-3 + 1.5e-x_", "0x1e-x + 1e-3 + 1.5e-x_"},
        {"a * 0 - x", "a * 0 - x"},
        {"10 - x", "10 - x"},
        /* Numbers, other marks, and what binds tighter. */
        {"f<-1>(-2, - 3, -.5)", "f<-1>(-2, - 3, -.5)"},
        {"p->x--; --y; a-- - b", "p->x--; --y; a-- - b"},
        {"auto f() -> int;", "auto f() -> int;"},
        {"!-x, ~-x, - -x", "!-x, ~-x, " M " -x"},
        {"T operator-(T a);", "T operator-(T a);"},
        /* What is no program text. */
        {"// = -x\n/* = -x */ y", "// = -x\n/* = -x */ y"},
        {"f(\"= -x\", '=', '\"', -x)", "f(\"= -x\", '=', '\"', " M "x)"},
        {"#define N(x) = -x\n  #if -N\ny = -x;", "#define N(x) = -x\n  #if -N\ny = " M "x;"},
        {"#define N \\\n = -x\ny = -x;", "#define N \\\n = -x\ny = " M "x;"},
        {"R\"a(\" = -x)a\" , -x", "R\"a(\" = -x)a\" , " M "x"},
    };

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        char *text = kiln__fault_text(cases[k][0]);
        assert_non_null(text);
        const char *behind = strstr(text, "\n#line 1\n");
        assert_non_null(behind);
        assert_string_equal(behind + strlen("\n#line 1\n"), cases[k][1]);
        kiln__free(text);
    }
}

/* ---- compiled kernels ---- */

static kiln__target targets[ARCHS_MAX];
static size_t target_count;

/* NVRTC itself, to see the PTX of a source that nothing was done about. */
typedef struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*ptx_size)(void *, size_t *);
    int (*ptx)(void *, char *);
    int (*destroy)(void **);
} nvrtc;

static void find_entry(void *library, const char *name, void *to)
{
    void *address = dlsym(library, name);
    assert_non_null(address);
    memcpy(to, &address, sizeof address);
}

static char *ptx_of(const char *source, const char *target)
{
    const kiln__nvrtc_place *place = NULL;
    nvrtc n;
    void *program = NULL;
    char arch[64], *text = NULL;
    size_t bytes = 0;

    assert_int_equal(kiln__nvrtc_find(&place, NULL), KILN_OK);
    void *library = dlopen(place->path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    find_entry(library, "nvrtcCreateProgram", &n.create);
    find_entry(library, "nvrtcCompileProgram", &n.compile);
    find_entry(library, "nvrtcGetPTXSize", &n.ptx_size);
    find_entry(library, "nvrtcGetPTX", &n.ptx);
    find_entry(library, "nvrtcDestroyProgram", &n.destroy);
    snprintf(arch, sizeof arch, "-arch=%s", target);
    const char *options[] = {arch, "-std=c++17"};
    assert_int_equal(n.create(&program, source, "ptx.cu", 0, NULL, NULL), 0);
    assert_int_equal(n.compile(program, 2, options), 0);
    assert_int_equal(n.ptx_size(program, &bytes), 0);
    text = calloc(bytes + 1, 1);
    assert_non_null(text);
    assert_int_equal(n.ptx(program, text), 0);
    n.destroy(&program);
    dlclose(library);
    return text;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
        count++;
    return count;
}

/* ---- keys ---- */

static void test_faults__keys_name_the_table(void **state)
{
    const kiln__definition_request request = {
        .name = "k", .in = "T x", .out = "T y", .snippet = {[KILN__SNIPPET_OP] = "y = -x"}};
    const kiln__source source = {.text = "text", .bytes = 4};
    const kiln__target cuda = {KILN_BACKEND_CUDA, "sm_90"}, cpu = {KILN_BACKEND_CPU, "x86-64"};
    const kiln__target targets_of_both[] = {cuda, cpu};
    kiln__definition *def = NULL;

    (void)state;
    assert_int_equal(kiln__definition_create(&request, &def, NULL), KILN_OK);
    for (size_t k = 0; k < KILN_COUNT_OF(targets_of_both); k++) {
        kiln__demand demand;
        kiln__buf any = KILN__BUF_INIT;
        const bool named = targets_of_both[k].backend == KILN_BACKEND_CUDA;

        assert_int_equal(kiln__demand_make(def, &source, &targets_of_both[k], &demand, NULL),
                         KILN_OK);
        kiln__demand_any_key(&demand, &any);
        assert_int_equal(strstr(demand.key.text, "\n" KILN__FAULT_TABLE) != NULL, named);
        assert_int_equal(strstr(any.text, "\n" KILN__FAULT_TABLE) != NULL, named);
        kiln__buf_clear(&any);
        kiln__demand_clear(&demand);
    }
    kiln__definition_destroy(def);
}

/* ---- kernels as they are written ---- */

#define KERNEL(body)                                                                               \
    "template <class T> struct alignas(4 * sizeof(T)) four { T v[4]; };\n"                         \
    "extern \"C\" __global__ void kernel(const four<" TYPE "> *x, const four<" TYPE "> *y, "       \
    "four<" TYPE "> *z)\n{\n"                                                                      \
    "    typedef " TYPE " T; const int i = threadIdx.x;\n"                                         \
    "    const four<T> a = x[i], b = y[i]; four<T> r;\n" body "    z[i] = r;\n}\n"
#define EACH(body) "    for (int k = 0; k < 4; k++) {" body "}\n"

/* Straight programs that need each of their negations, and more of them fuse than the faulty
 * versions can. */
static const char *const kernels[] = {
#define TYPE "int"
    KERNEL(EACH("T m = -a.v[k], n = -b.v[k]; m = m < n ? m : n; r.v[k] = max(m, (T)-a.v[k ^ 1]);")),
    KERNEL("    T m = a.v[0];\n" EACH(
        "T n = -b.v[k]; m = m < n ? m : n; n = -a.v[k]; m = m < n ? m : n;") EACH("r.v[k] = m;")),
    KERNEL(EACH("r.v[k] = max(max(a.v[k], 0 - b.v[k]), a.v[k ^ 1]);")),
    KERNEL(EACH("r.v[k] = min(min(a.v[k], b.v[k] * -1), a.v[k ^ 1]);")),
    KERNEL("#define NEGATED(x) (-(x))\n" EACH(
        "r.v[k] = min(min(a.v[k], NEGATED(b.v[k])), a.v[k ^ 1]);")),
    /* none<T> - x is taken for a comparison, and what comes of it does not compile. */
    "template <class T> __device__ constexpr T none = 0;\n" KERNEL(
        EACH("r.v[k] = min(min(a.v[k], none<T> - b.v[k]), a.v[k ^ 1]);")),
#undef TYPE
#define TYPE "short"
    KERNEL("    T m = a.v[0];\n" EACH(
        "T n = -b.v[k]; m = m < n ? m : n; n = -a.v[k]; m = m < n ? m : n;") EACH("r.v[k] = m;")),
    KERNEL(EACH("T m = -a.v[k], n = -b.v[k]; m = m < n ? n : m; r.v[k] = max(m, a.v[k ^ 1]);")),
#undef TYPE
};

static void test_faults__no_negation_is_lost_for_any_gpu(void **state)
{
    (void)state;
    if (target_count == 0)
        skip();
    for (size_t t = 0; t < target_count; t++)
        for (size_t k = 0; k < KILN_COUNT_OF(kernels); k++) {
            const kiln__compile_request request = {.target = targets[t], .source = kernels[k]};
            kiln__compile_result result = {0};
            kiln__code_counts counts = {0};
            kiln_error err = KILN_ERROR_INIT;
            char *ptx = ptx_of(kernels[k], targets[t].name);
            const size_t needed = count_of(ptx, "neg.s");

            if (kiln__compile(&request, &result, &err) != KILN_OK)
                fail_msg("%s: %s\n%s", targets[t].name, err.message, kernels[k]);
            assert_true(kiln__code_count(result.binary, result.bytes, &counts));
            if (needed == 0 || counts.negations < needed)
                fail_msg("%s: %zu negations of %zu\n%s", targets[t].name, counts.negations, needed,
                         kernels[k]);
            kiln__compile_result_clear(&result);
            free(ptx);
        }
}

/* Halves of which a mask is taken before they are packed; each kernel holds MASK twice. */
#define MASK 0x5a5e
#define MASK_TEXT "0x5a5e"
#define HALVES(name, result, body)                                                                 \
    "extern \"C\" __global__ void " name "(const float *x, " result " *y)\n{\n"                    \
    "    const int i = threadIdx.x; unsigned short a, b;\n" body "}\n"
#define CONVERT(type)                                                                              \
    "    asm(\"cvt.rn." type ".f32 %0, %1;\" : \"=h\"(a) : \"f\"(x[2 * i]));\n"                    \
    "    asm(\"cvt.rn." type ".f32 %0, %1;\" : \"=h\"(b) : \"f\"(x[2 * i + 1]));\n"
#define APPLY(function)                                                                            \
    "    asm(\"" function ".approx.f16 %0, %0;\" : \"+h\"(a));\n"                                  \
    "    asm(\"" function ".approx.f16 %0, %0;\" : \"+h\"(b));\n"
#define MASKED "    a &= " MASK_TEXT "; b &= " MASK_TEXT ";\n"

static const struct {
    int arch; /* the least */
    const char *source;
} halves[] = {
    {75, HALVES("kernel", "unsigned int", CONVERT("f16") MASKED "    y[i] = a | b << 16;\n")},
    {80, HALVES("kernel", "unsigned int", CONVERT("bf16") MASKED "    y[i] = a | b << 16;\n")},
    {75, HALVES("kernel", "ushort2", CONVERT("f16") MASKED "    y[i] = ushort2{a, b};\n")},
    {75, HALVES("kernel", "ushort2",
                CONVERT("f16") APPLY("tanh") MASKED "    y[i] = ushort2{a, b};\n")},
    {75,
     HALVES("kernel", "ushort2", CONVERT("f16") APPLY("ex2") MASKED "    y[i] = ushort2{a, b};\n")},
};

/* How often the mask stands where instructions have their numbers. */
static size_t count_masks(const unsigned char *binary, size_t bytes)
{
    size_t count = 0;

    for (size_t at = 4; at + 4 <= bytes; at += 16) {
        uint32_t word;
        memcpy(&word, binary + at, sizeof word);
        count += (word & 0xffff) == MASK && (word >> 16 == MASK || word >> 16 == 0);
        count += word >> 16 == MASK && ((word & 0xffff) == MASK || (word & 0xffff) == 0);
    }
    return count;
}

static void test_faults__no_mask_is_lost_for_any_gpu(void **state)
{
    (void)state;
    if (target_count == 0)
        skip();
    for (size_t t = 0; t < target_count; t++)
        for (size_t k = 0; k < KILN_COUNT_OF(halves); k++) {
            const kiln__compile_request request = {.target = targets[t],
                                                   .source = halves[k].source};
            kiln__compile_result result = {0};
            kiln_error err = KILN_ERROR_INIT;

            if (atoi(targets[t].name + strlen("sm_")) < halves[k].arch)
                continue;
            if (kiln__compile(&request, &result, &err) != KILN_OK)
                fail_msg("%s: %s\n%s", targets[t].name, err.message, halves[k].source);
            const size_t found = count_masks(result.binary, result.bytes);
            if (found < 2)
                fail_msg("%s: %zu masks of 2\n%s", targets[t].name, found, halves[k].source);
            kiln__compile_result_clear(&result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults__instructions_are_told_from_each_other),
        cmocka_unit_test(test_faults__what_is_no_cubin_is_suspect),
        cmocka_unit_test(test_faults__versions_and_architectures_decide),
        cmocka_unit_test(test_faults__ptx_asks_for_minima_of_negated_numbers),
        cmocka_unit_test(test_faults__ptx_asks_for_wide_numbers_of_negated_short_ones),
        cmocka_unit_test(test_faults__ptx_asks_for_masks_of_packed_halves),
        cmocka_unit_test(test_faults__ptx_asks_for_masks_of_approximate_halves),
        cmocka_unit_test(test_faults__signs_are_hidden_and_nothing_else),
        cmocka_unit_test(test_faults__keys_name_the_table),
        cmocka_unit_test(test_faults__no_negation_is_lost_for_any_gpu),
        cmocka_unit_test(test_faults__no_mask_is_lost_for_any_gpu),
    };
    target_count = archs_find(targets);
    return cmocka_run_group_tests_name("test_nvrtc_faults", tests, NULL, NULL);
}
