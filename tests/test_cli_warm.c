/*
 * test_cli_warm.c - `kiln warm` and `kiln cache` as a user meets them.
 *
 * The tests for processors use the system's C++ compiler, and as proof that a cache was warm, none;
 * those for GPUs need NVRTC and no GPU, and are skipped by name without it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_env.h"
#include "device/device.h"
#include "test_data.h"

#define AXPY                                                                                       \
    "{\"kind\":\"elementwise\",\"name\":\"axpy\",\"in\":\"T x, T y, float32 a\",\"out\":\"T z\","  \
    "\"op\":\"z = a * x + y\",\"types\":[{\"T\":\"float32\"}],\"scalars\":[\"a\"]}\n"
#define COUNT_UP                                                                                   \
    "{\"kind\":\"elementwise\",\"name\":\"up\",\"in\":\"\",\"out\":\"int32 z\",\"op\":\"z = i\"}\n"
#define LOST                                                                                       \
    "{\"kind\":\"elementwise\",\"name\":\"bad\",\"in\":\"T x\",\"out\":\"T z\",\"op\":"            \
    "\"z = lost(x)\",\"types\":[{\"T\":\"float32\"}]}\n"
#define BLOCKS                                                                                     \
    "{\"kind\":\"elementwise\",\"name\":\"b\",\"in\":\"\",\"out\":\"int32 z\",\"op\":"             \
    "\"z = blockIdx.x\"}\n"

/* ---- helpers ----------------------------------------------------------------------------------- */

static bool has_nvrtc(void)
{
    const char *id = NULL;
    return kiln__compiler_identity(KILN_BACKEND_CUDA, &id, NULL) == KILN_OK;
}

/* The number behind `"name": ` in the object of --json for a target. */
static int number_of(const char *target, const char *name)
{
    char want[64];
    snprintf(want, sizeof want, "{\"target\": \"%s\"", target);
    const char *row = strstr(cli.out, want);
    if (row == NULL)
        fail_msg("no %s in %s%s", want, cli.out, cli.err);
    snprintf(want, sizeof want, "\"%s\": ", name);
    const char *at = strstr(row, want);
    assert_non_null(at);
    return atoi(at + strlen(want));
}

static void expect_numbers(const char *target, int compiled, int cached, int failed, int skipped)
{
    const int got[] = {number_of(target, "compiled"), number_of(target, "cached"),
                       number_of(target, "failed"), number_of(target, "skipped")};
    if (got[0] != compiled || got[1] != cached || got[2] != failed || got[3] != skipped)
        fail_msg("%s: %d compiled, %d cached, %d failed, %d skipped, not %d, %d, %d, %d; %s",
                 target, got[0], got[1], got[2], got[3], compiled, cached, failed, skipped, cli.err);
}

/* Run a kernel that only a warm cache can give: there is no compiler. */
static void expect_warm(const char *variable, const char *value)
{
    char *before = getenv(variable) != NULL ? strdup(getenv(variable)) : NULL;
    setenv("KILN_CXX", "/nowhere/c++", 1);
    setenv(variable, value, 1);
    KILN("run", "--device", "cpu", "--name", "up", "--out", "int32 z", "--op", "z = i", "--size",
         "4");
    unsetenv("KILN_CXX");
    if (before != NULL)
        setenv(variable, before, 1);
    else
        unsetenv(variable);
    free(before);
    EXPECT_DONE();
    assert_string_equal(cli.out, "[0 1 2 3]\n");
}

/* ---- kiln warm --------------------------------------------------------------------------------- */

static void test_cli_warm__a_second_run_compiles_nothing(void **state)
{
    (void)state;
    cli_write("m.jsonl", COUNT_UP AXPY COUNT_UP);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "twice", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 2, 0, 0, 0);
    KILN("warm", "m.jsonl", "--cpu", "--cache=twice", "--json", "--jobs", "1");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 0, 2, 0, 0);
    EXPECT_OUT("\"workers\": 1");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "twice");
    EXPECT_DONE();
    EXPECT_OUT("target       compiled   cached   failed  skipped");
    EXPECT_OUT(kiln__cpu_target());
    expect_warm("KILN_CACHE_DIR", "twice");
}

static void test_cli_warm__what_was_recorded_is_warm_elsewhere(void **state)
{
    (void)state;
    setenv("KILN_RECORD", "record.jsonl", 1);
    KILN("run", "--device", "cpu", "--name", "up", "--out", "int32 z", "--op", "z = i", "--size",
         "4");
    EXPECT_DONE();
    unsetenv("KILN_RECORD");
    KILN("warm", "record.jsonl", "--cpu", "--cache", "elsewhere", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 1, 0, 0, 0);
    expect_warm("KILN_CACHE_DIR", "elsewhere");
}

/* A module's source with a template, a name and an option: recorded, put into a bundle, and run where there
 * is no compiler. */
static void test_cli_warm__modules_are_recorded_and_warm_elsewhere(void **state)
{
    static const char source[] = "template <int N> __global__ void count(int *out)\n"
                                 "{ out[blockIdx.x] = N * blockIdx.x + START; }\n";
    (void)state;
    static const int zeros[4] = {0};
#define COUNT_CALL                                                                                 \
    KILN("raw", "count.cu", "--kernel", "count<3>", "--device", "cpu", "--option=-DSTART=5",       \
         "--grid", "4", "--block", "1", "--in", "raw int32 out", "zeros.npy")

    cli_write("count.cu", source);
    cli_write_npy("zeros.npy", "<i4", "(4,)", zeros, sizeof zeros);
    setenv("KILN_RECORD", "module.jsonl", 1);
    COUNT_CALL;
    unsetenv("KILN_RECORD");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 5  8 11 14]\n");
    KILN("warm", "module.jsonl", "--cpu", "--cache", "of_module", "--bundle", "module.kiln", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 1, 0, 0, 0);
    KILN("warm", "module.jsonl", "--cpu", "--cache", "of_module", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 0, 1, 0, 0);
    char *before = getenv("KILN_CACHE_DIR") != NULL ? strdup(getenv("KILN_CACHE_DIR")) : NULL;
    setenv("KILN_CXX", "/nowhere/c++", 1);
    setenv("KILN_CACHE_DIR", "nothing", 1);
    setenv("KILN_BUNDLES", "module.kiln", 1);
    COUNT_CALL;
    unsetenv("KILN_CXX");
    unsetenv("KILN_BUNDLES");
    if (before != NULL)
        setenv("KILN_CACHE_DIR", before, 1);
    else
        unsetenv("KILN_CACHE_DIR");
    free(before);
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 5  8 11 14]\n");
    /* What is wrong with a source is told in its place. */
    cli_write("bad.jsonl", "{\"kind\":\"module\",\"source\":\"__global__ void f() { lost(); }\"}\n");
    KILN("warm", "bad.jsonl", "--cpu", "--cache", "of_module");
    EXPECT_FAILED(1, "bad.jsonl:1: ");
#undef COUNT_CALL
}

/* One bundle for several architectures. */
static void test_cli_warm__modules_are_compiled_for_gpus_that_are_not_here(void **state)
{
    (void)state;
    if (!has_nvrtc())
        skip();
    cli_write("m.jsonl", "{\"kind\":\"module\",\"name\":\"m\",\"source\":\"template <class T> __global__ void f(T *x) "
                         "{ __syncthreads(); *x = 1; }\",\"names\":[\"f<int>\"]}\n");
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_90", "--cpu", "--cache", "gpus", "--bundle", "gpus.kiln",
         "--json");
    EXPECT_DONE();
    expect_numbers("sm_80", 1, 0, 0, 0);
    expect_numbers("sm_90", 1, 0, 0, 0);
    expect_numbers(kiln__cpu_target(), 0, 0, 0, 1);
    KILN("cache", "list", "--bundle", "gpus.kiln");
    EXPECT_DONE();
    EXPECT_OUT("sm_80");
    EXPECT_OUT("sm_90");
}

/* A line of one of kiln's templates, and one of a template that it does not have. */
static void test_cli_warm__templates_are_compiled_for_gpus_that_are_not_here(void **state)
{
    (void)state;
    if (!has_nvrtc())
        skip();
    cli_write("t.jsonl",
              "{\"kind\":\"template\",\"name\":\"kiln_linalg_report\",\"template\":\"linalg/"
              "report.cu\"}\n"
              "{\"kind\":\"template\",\"name\":\"f\",\"template\":\"linalg/rapport.cu\"}\n");
    KILN("warm", "t.jsonl", "--arch", "sm_80", "--cpu", "--cache", "templates", "--json");
    expect_numbers("sm_80", 1, 0, 1, 0);
    expect_numbers(kiln__cpu_target(), 0, 0, 1, 1);
    EXPECT_FAILED(1, "t.jsonl:2:43: this version of kiln has no template \"linalg/rapport.cu\"");
}

static void test_cli_warm__a_bundle_holds_what_the_manifests_name(void **state)
{
    (void)state;
    cli_write("one.jsonl", COUNT_UP);
    cli_write("two.jsonl", AXPY);
    KILN("warm", "one.jsonl", "two.jsonl", "--cpu", "--cache", "for_bundle", "--json");
    EXPECT_DONE();
    /* The folder has both; the bundle gets what its own manifest names, cached or not. */
    KILN("warm", "one.jsonl", "--cpu", "--cache", "for_bundle", "--bundle", "up.kiln", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 0, 1, 0, 0);
    EXPECT_OUT("\"bundle\": \"up.kiln\"");
    setenv("KILN_CACHE_DIR", "empty", 1);
    expect_warm("KILN_BUNDLES", "up.kiln");
    KILN("cache", "import", "up.kiln", "--dir", "imported");
    EXPECT_DONE();
    KILN("cache", "list", "--dir", "imported");
    EXPECT_DONE();
    EXPECT_OUT(" up\n");
    assert_null(strstr(cli.out, "axpy"));
    KILN("warm", "one.jsonl", "--cpu", "--cache", "for_bundle", "--bundle", "/nowhere/up.kiln");
    EXPECT_FAILED(1, "bundle /nowhere/up.kiln: No such file");
}

static void test_cli_warm__a_failure_is_told_and_the_rest_is_compiled(void **state)
{
    (void)state;
    cli_write("m.jsonl", COUNT_UP "\n" LOST AXPY);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "failing", "--json");
    EXPECT_FAILED(1, "kiln: m.jsonl:3: kernel \"bad\": op, line 1, column 5: ");
    assert_non_null(strstr(cli.err, "\nz = lost(x)\n    ^"));
    expect_numbers(kiln__cpu_target(), 2, 0, 1, 0);
    EXPECT_OUT("\"file\": \"m.jsonl\", \"line\": 3, \"target\": \"");
    EXPECT_OUT("\"status\": \"KILN_ERR_COMPILE\"");
    /* What was good is there, what was not fails again. */
    KILN("warm", "m.jsonl", "--cpu", "--cache", "failing", "--json");
    EXPECT_FAILED(1, "kiln: m.jsonl:3: kernel \"bad\": op, line 1, column 5: ");
    assert_non_null(strstr(cli.err, "\nz = lost(x)\n    ^"));
    expect_numbers(kiln__cpu_target(), 0, 2, 1, 0);
    /* A definition that does not parse, types that do not fit. */
    cli_write("m.jsonl",
              "{\"kind\":\"elementwise\",\"in\":\"T\",\"out\":\"\",\"op\":\"\"}\n"
              "{\"kind\":\"elementwise\",\"in\":\"T x\",\"out\":\"T z\",\"op\":\"z = x\"}\n"
              "{\"kind\":\"elementwise\",\"in\":\"T x\",\"out\":\"T z\",\"op\":\"z = x\","
              "\"types\":[{\"T\":\"int8\",\"U\":\"int8\"}]}\n"
              "{\"kind\":\"elementwise\",\"in\":\"\",\"out\":\"int8 z\",\"op\":\"z = 1\","
              "\"layouts\":[\"cuda/1 linear\"]}\n" COUNT_UP);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "failing", "--json");
    EXPECT_FAILED(1, "kiln: m.jsonl:1: ");
    EXPECT_FAILED(1, "kiln: m.jsonl:2:29: \"types\" gives no dtype for T, the type of `x`");
    EXPECT_FAILED(1, "kiln: m.jsonl:3:68: no parameter has the type U");
    EXPECT_FAILED(1, "kiln: m.jsonl:4:71: args= is missing in");
    expect_numbers(kiln__cpu_target(), 0, 1, 4, 0);
}

/* A kernel whose key cannot be made is refused, with the header and the file that names it. */
static void test_cli_warm__a_header_that_no_key_can_hold_is_named(void **state)
{
    (void)state;
    cli_write("asking.h", "#if __has_include(<kiln_nowhere.h>)\n#endif\n");
    cli_write("m.jsonl", "{\"kind\":\"elementwise\",\"name\":\"k\",\"in\":\"\",\"out\":\"int8 z\","
                         "\"op\":\"z = 1\",\"preamble\":\"#include <vector>\"}\n"
                         "{\"kind\":\"elementwise\",\"name\":\"l\",\"in\":\"\",\"out\":\"int8 z\","
                         "\"op\":\"z = 1\",\"preamble\":\"#include \\\"asking.h\\\"\"}\n");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "unkept", "--json");
    EXPECT_FAILED(1, "kiln: m.jsonl:1: kernel \"k\" cannot be kept in a cache: <vector>, which its own "
                     "text names, is in none of the folders of its options");
    EXPECT_FAILED(1, "kiln: m.jsonl:2: kernel \"l\" cannot be kept in a cache: <kiln_nowhere.h>, which "
                     "./asking.h names, is in none");
}

/* A recorded reduction with a mask and a start value, for a target that it was not recorded on: the
 * mask is an array and the start value a number, whatever else is tried. */
static void test_cli_warm__a_start_value_is_a_number_and_a_mask_an_array(void **state)
{
    (void)state;
    cli_write("m.jsonl",
              "{\"kind\":\"reduction\",\"in\":\"T x, bool kiln__where, T kiln__initial\","
              "\"out\":\"T y\",\"map\":\"x\",\"reduce\":\"a + b\",\"post\":\"y = a\","
              "\"identity\":\"0\",\"types\":[{\"T\":\"float32\"}]}\n");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "started", "--json");
    EXPECT_DONE();
    EXPECT_OUT("\"failed\": 0");
}

static void test_cli_warm__what_was_refused_is_compiled_again_when_asked_for(void **state)
{
    static char text[CLI_TEXT_MAX];
    char compiler[4096 + 16], folder[4096];
    size_t calls[4];

    (void)state;
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(compiler, sizeof compiler, "%s/counting-c++", folder);
    cli_write_script("counting-c++", "#!/bin/sh\nprintf x >>\"${0%/*}/calls\"\nexec c++ \"$@\"\n");
    cli_write("m.jsonl", LOST);
    setenv("KILN_CXX", compiler, 1);
    for (int run = 0; run < 4; run++) {
        cli_write("calls", "");
        if (run < 2)
            KILN("warm", "m.jsonl", "--cpu", "--cache", "refused");
        else
            KILN("warm", "m.jsonl", "--cpu", "--cache", "refused", "--retry");
        EXPECT_FAILED(1, "kiln: m.jsonl:1: kernel \"bad\": op, line 1, column 5: ");
        assert_non_null(strstr(cli.err, "\nz = lost(x)\n    ^"));
        calls[run] = cli_read("calls", text); /* a byte for each start of the compiler */
    }
    unsetenv("KILN_CXX");
    /* The others ask who it is, too, so only the difference tells of a compilation. */
    assert_true(calls[0] > calls[1]);
    assert_int_equal(calls[2], calls[0]);
    assert_int_equal(calls[3], calls[0]);
}

static void test_cli_warm__json_names_what_was_skipped(void **state)
{
    (void)state;
    cli_write("m.jsonl", COUNT_UP BLOCKS);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "skipping", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 1, 0, 0, 1);
    EXPECT_OUT("\"failures\": [],");
    EXPECT_OUT("\"skipped\": [\n    {\"file\": \"m.jsonl\", \"line\": 2, \"target\": \"");
    EXPECT_OUT("\"status\": \"KILN_ERR_UNSUPPORTED\"");
    EXPECT_OUT("blockIdx");
}

/* ---- expressions ------------------------------------------------------------------------------- */

static void test_cli_warm__an_expression_is_warm_for_eval(void **state)
{
    (void)state;
    KILN("run", "--device", "cpu", "--out", "float32 z", "--op", "z = i", "--size", "6", "-o", "x.npy");
    EXPECT_DONE();
    cli_write("m.jsonl",
              "{\"kind\":\"expression\",\"text\":\"sum(x * y), x - a\",\"types\":[{\"x\":\"float32\","
              "\"y\":\"float32\",\"a\":\"float32\"}],\"scalars\":[\"a\"],\"shapes\":[[6]]}\n"
              "{\"kind\":\"expression\",\"text\":\"x * 2 + 1\",\"types\":[{\"x\":\"float32\"}]}\n"
              "{\"kind\":\"expression\",\"text\":\"maximum(x @ (y + 1), 1) * 2\","
              "\"types\":[{\"x\":\"float32\",\"y\":\"float32\"}],\"shapes\":[[6]]}\n");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "evals", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 5, 0, 0, 0); /* of a product what is before it and behind it */
    KILN("warm", "m.jsonl", "--cpu", "--cache", "evals", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 0, 5, 0, 0);
    char *before = strdup(getenv("KILN_CACHE_DIR"));
    setenv("KILN_CACHE_DIR", "evals", 1);
    setenv("KILN_CXX", "/nowhere/c++", 1);
    KILN("eval", "--device", "cpu", "sum(x * y), x - a", "y=x.npy", "a=2.5", "x=x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "result 1 =\n55.0\nresult 2 =\n[-2.5 -1.5 -0.5  0.5  1.5  2.5]\n");
    KILN("eval", "--device", "cpu", "x * 2 + 1", "x=x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 1.  3.  5.  7.  9. 11.]\n");
    KILN("eval", "--device", "cpu", "maximum(x @ (y + 1), 1) * 2", "x=x.npy", "y=x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "140.0\n");
    unsetenv("KILN_CXX");
    setenv("KILN_CACHE_DIR", before, 1);
    free(before);
}

#define LINE(text) "{\"kind\":\"expression\",\"text\":\"" text "\",\"types\":[{\"x\":\"float32\"}]}\n"

/* What libraries, or loops of this one, do on a processor: the line stands for the kernels before and behind it. */
static void test_cli_warm__what_libraries_do_needs_no_kernels(void **state)
{
    (void)state;
    cli_write("m.jsonl", LINE("x * 3") LINE("solve(x, inv(x)) + 1") LINE("sort(x @ x)"));
    KILN("warm", "m.jsonl", "--cpu", "--cache", "libraries", "--json");
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 2, 0, 0, 0);
}

/* Sorts, selections and scatters choose their kernels when they run: with those of the line nothing is compiled. */
static void test_cli_warm__sorts_and_selections_of_expressions_are_compiled(void **state)
{
    char *before = strdup(getenv("KILN_CACHE_DIR"));

    (void)state;
    cli_write("m.jsonl", "{\"kind\":\"expression\",\"text\":\"unique(x % 3), x.at[[1, 1]].add(5)\","
                         "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[6]]}\n");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "runs", "--json");
    EXPECT_DONE();
    assert_true(number_of(kiln__cpu_target(), "compiled") >= 4);
    setenv("KILN_CACHE_DIR", "runs", 1);
    setenv("KILN_CXX", "/nowhere/c++", 1);
    KILN("eval", "--device", "cpu", "unique(x % 3), x.at[[1, 1]].add(5)", "x=x.npy");
    unsetenv("KILN_CXX");
    EXPECT_DONE();
    assert_string_equal(cli.out, "result 1 =\n[0. 1. 2.]\nresult 2 =\n[ 0. 11.  2.  3.  4.  5.]\n");
    setenv("KILN_CACHE_DIR", before, 1);
    free(before);
}

/* The kernels as lines of a manifest, which stand for the same kernels; nothing is compiled for them. */
static void test_cli_warm__a_dry_run_prints_what_would_be_compiled(void **state)
{
    static char first[CLI_TEXT_MAX];

    (void)state;
    cli_write("m.jsonl", LINE("sort(x)") LINE("x[x > 0] + 1") LINE("x[x > 0] + 1"));
    KILN("warm", "m.jsonl", "--cpu", "--cache", "dry", "--dry-run");
    EXPECT_DONE();
    EXPECT_OUT("{\"kind\":\"filter\",\"name\":\"kiln_compress\"");
    assert_int_not_equal(access("dry", F_OK), 0);
    strcpy(first, cli.out);
    cli_write("lines.jsonl", first);
    KILN("warm", "lines.jsonl", "--cpu", "--cache", "dry", "--dry-run");
    EXPECT_DONE();
    assert_string_equal(cli.out, first);
    cli_write("m.jsonl", LINE("sort(x)") LINE("x[x > 0] + y"));
    KILN("warm", "m.jsonl", "--cpu", "--dry-run");
    EXPECT_FAILED(1, "`y` is not defined");
    if (!has_nvrtc())
        return;
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_90", "--dry-run");
    EXPECT_OUT("\"template\":\"sorting/rows.cu\"");
}
#undef LINE

/* A scan is a call of one kernel, which its arrays' layouts tell: with it in the cache nothing is compiled. */
static void test_cli_warm__scans_of_expressions_are_compiled(void **state)
{
    char *before = strdup(getenv("KILN_CACHE_DIR"));

    (void)state;
    cli_write("m.jsonl",
              "{\"kind\":\"expression\",\"text\":\"cumsum(x * 2) + 1\",\"types\":[{\"x\":\"float32\"}],\"shapes\":[[6]]}\n"
              "{\"kind\":\"expression\",\"text\":\"cummax(reshape(x, (2, 3)), axis=0)\","
              "\"types\":[{\"x\":\"float32\"}],\"shapes\":[[6]]}\n");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "scans");
    EXPECT_DONE();
    setenv("KILN_CACHE_DIR", "scans", 1);
    setenv("KILN_CXX", "/nowhere/c++", 1);
    KILN("eval", "--device", "cpu", "cumsum(x * 2) + 1", "x=x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 1.  3.  7. 13. 21. 31.]\n");
    KILN("eval", "--device", "cpu", "cummax(reshape(x, (2, 3)), axis=0)", "x=x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[[0. 1. 2.]\n [3. 4. 5.]]\n");
    unsetenv("KILN_CXX");
    setenv("KILN_CACHE_DIR", before, 1);
    free(before);
}

static void test_cli_warm__what_is_wrong_with_an_expression_is_shown_in_its_place(void **state)
{
#define X1 "{\"kind\":\"expression\",\"text\":\""
#define X2 "\",\"types\":[{\"x\":\"float32\"}]"
    static const struct {
        const char *line, *said;
    } rows[] = {
        /* In the text: its own line and caret, and the column of the manifest's line, which an
         * escape has moved. */
        {X1 "x + sqr(x)" X2 "}", "m.jsonl:1:34: expression, column 5: there is no function `sqr`; did you mean `sqrt`?\n"
                                 "x + sqr(x)\n    ^~~\n"},
        {X1 "\\u0078 + y" X2 "}", "m.jsonl:1:39: expression, column 5: `y` is not defined\nx + y\n    ^\n"},
        {X1 "x +" X2 "}", "m.jsonl:1:33: expression, column 4: an operand is missing at the end\n"
                          "x +\n   ^\n"},
        {X1 "" X2 "}", "m.jsonl:1:30: expression, column 1: an operand is missing at the end\n"},
        {X1 "2**64\",\"types\":[{}]}", "m.jsonl:1:31: expression, column 2: the result of power "
         "does not fit an integer of 64 bits\n2**64\n ^~\n"},
        {X1 "x[1:] + x" X2 ",\"shapes\":[[4]]}", "m.jsonl:1:36: expression, column 7: add: "
         "shapes (3,) and (4,) do not broadcast together\nx[1:] + x\n      ^\n"},
        {X1 "sum(x, axis=5)" X2 "}", "m.jsonl:1:30: expression, column 1: sum: axis 5 is "
         "out of range for rank 2; this is for inputs of 4096 x 4096, since the line gives no \"shapes\""},
        {X1 "bitwise_and(x, 1)" X2 "}", "m.jsonl:1:30: expression, column 1: "
         "bitwise_and does not take float32 and a plain number\n"},
        /* In the line. */
        {X1 "x" X2 ",\"name\":\"a b\"}", "m.jsonl:1:67: `a b` is no name of a graph\n"},
        {X1 "x + 1\",\"types\":[{\"x\":\"int8\",\"z\":\"int8\"}]}",
         "m.jsonl:1:59: `z` is not used by the expression\n"},
        {X1 "x\",\"types\":[{\"x y\":\"int8\"}]}", "m.jsonl:1:44: `x y` is no name of an input\n"},
        {X1 "x" X2 ",\"scalars\":[\"y\"]}", "m.jsonl:1:71: `y` has no dtype in \"types\"\n"},
        {X1 "x" X2 ",\"shapes\":[{\"y\":[3]}]}", "m.jsonl:1:71: `y` has no dtype in \"types\"\n"},
        {X1 "x" X2 ",\"shapes\":[{}]}", "m.jsonl:1:69: the shape of `x` is missing\n"},
        {X1 "x" X2 ",\"scalars\":[\"x\"],\"shapes\":[{\"x\":[3]}]}",
         "m.jsonl:1:87: `x` is a number and has no shape\n"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char said[400];
        snprintf(said, sizeof said, "kiln: %s", rows[r].said);
        cli_write("m.jsonl", rows[r].line);
        KILN("warm", "m.jsonl", "--cpu", "--cache", "wrong", "--json");
        EXPECT_FAILED(1, said);
        expect_numbers(kiln__cpu_target(), 0, 0, 1, 0);
        EXPECT_OUT("\"line\": 1");
    }
}

/* ---- whole files ------------------------------------------------------------------------------- */

static void test_cli_warm__a_bad_line_stops_it_before_anything_is_compiled(void **state)
{
    (void)state;
    cli_write("bad.jsonl", COUNT_UP "{\"kind\":\"elementwise\",\"opp\":1}\n{}\n");
    KILN("warm", "bad.jsonl", "missing.jsonl", "--cpu", "--cache", "untouched");
    EXPECT_FAILED(1, "kiln: bad.jsonl:2:23: there is no field \"opp\"");
    EXPECT_FAILED(1, "kiln: bad.jsonl:3:1: \"kind\" is missing");
    EXPECT_FAILED(1, "kiln: missing.jsonl: No such file");
    assert_string_equal(cli.out, "");
    assert_int_equal(access("untouched", F_OK), -1);
    cli_run((char *[]){"kiln", "warm", "-", "--cpu", NULL},
            "{\"kind\":\"expression\",\"text\":\"x + 1\"}\n");
    EXPECT_FAILED(1, "kiln: -:1:1: \"types\" is missing; an expression needs it");
}

static void test_cli_warm__standard_input_is_a_manifest(void **state)
{
    (void)state;
    cli_run((char *[]){"kiln", "warm", "-", "--cpu", "--cache", "from_stdin", "--json", NULL},
            COUNT_UP);
    EXPECT_DONE();
    expect_numbers(kiln__cpu_target(), 1, 0, 0, 0);
    cli_run((char *[]){"kiln", "warm", "-", "--cpu", "--json", NULL}, "");
    EXPECT_REFUSED(1, "standard input: no line names a kernel");
}

static void test_cli_warm__a_killed_worker_costs_one_try(void **state)
{
    (void)state;
    /* A compiler that kills whoever started it, once and then always. */
    cli_write_script("once", "#!/bin/sh\n[ \"$1\" = --version ] && exec c++ --version\n"
                             "if mkdir killed 2>/dev/null; then kill -9 $PPID; exit 1; fi\n"
                             "exec c++ \"$@\"\n");
    cli_write_script("always", "#!/bin/sh\n[ \"$1\" = --version ] && exec c++ --version\n"
                               "kill -9 $PPID\n");
    cli_write("m.jsonl", COUNT_UP AXPY);
    setenv("KILN_CXX", "./once", 1);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "killed_once", "--json", "--jobs", "1");
    EXPECT_FAILED(0, "a worker ended by signal 9 (Killed) over this kernel");
    expect_numbers(kiln__cpu_target(), 2, 0, 0, 0);
    EXPECT_OUT("\"retries\": 1");
    setenv("KILN_CXX", "./always", 1);
    KILN("warm", "m.jsonl", "--cpu", "--cache", "killed_always", "--json", "--jobs", "1");
    EXPECT_FAILED(1, "m.jsonl:1: two workers ended over this kernel, the last by signal 9");
    expect_numbers(kiln__cpu_target(), 0, 0, 2, 0);
    unsetenv("KILN_CXX");
}

static void test_cli_warm__a_folder_that_takes_nothing_is_told(void **state)
{
    (void)state;
    cli_write("m.jsonl", COUNT_UP);
    cli_write("file", "");
    KILN("warm", "m.jsonl", "--cpu", "--cache", "file");
    EXPECT_FAILED(1, "file");
    assert_string_equal(cli.out, "");
}

/* What stands between two redraws, escape sequence left out, and the longest of them. */
static size_t longest_line(const char *text)
{
    size_t longest = 0;

    for (const char *at = strstr(text, "\r\033[K"); at != NULL; at = strstr(at, "\r\033[K")) {
        at += strlen("\r\033[K");
        const size_t length = strcspn(at, "\r\n");
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void test_cli_warm__a_terminal_gets_a_bar_of_its_width(void **state)
{
    static const struct {
        unsigned short columns;
        const char *drawn;
    } rows[] = {{0, "\r\033[K[                        ] 0 of 2 kernels"},
                {200, "\r\033[K[                        ] 0 of 2 kernels"},
                {46, "\r\033[K[             ] 0 of 2 kernels, 0.0/s, ? left"},
                {36, "\r\033[K0 of 2 kernels, 0.0/s, ? left"},
                {10, "\r\033[K0 of 2 ke\r"}};

    (void)state;
    cli_write_script("slow", "#!/bin/sh\n[ \"$1\" = --version ] && exec c++ --version\n"
                             "sleep 0.3\nexec c++ \"$@\"\n");
    cli_write("m.jsonl", COUNT_UP AXPY);
    setenv("KILN_CXX", "./slow", 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char folder[32];
        snprintf(folder, sizeof folder, "drawn%zu", r);
        cli_run_on_terminal(
            (char *[]){"kiln", "warm", "m.jsonl", "--cpu", "--cache", folder, NULL},
            rows[r].columns);
        assert_int_equal(cli.status, 0);
        if (strstr(cli.err, rows[r].drawn) == NULL)
            fail_msg("%d columns: '%s'", rows[r].columns, cli.err);
        if (longest_line(cli.err) >= (rows[r].columns != 0 ? rows[r].columns : 80))
            fail_msg("%d columns: a line of %zu", rows[r].columns, longest_line(cli.err));
        EXPECT_OUT("compiled");
    }
    unsetenv("KILN_CXX");
}

static void test_cli_warm__wrong_usage_exits_2(void **state)
{
    static const struct {
        char *words[6];
        const char *text;
    } rows[] = {
        {{"warm"}, "a MANIFEST is missing"},
        {{"warm", "m.jsonl"}, "give --arch, --cpu or both"},
        {{"warm", "m.jsonl", "--cpu", "--jobs", "0"}, "--jobs takes a number"},
        {{"warm", "m.jsonl", "--cpu", "--cache", ""}, "--cache needs"},
        {{"warm", "m.jsonl", "--arch", "x86-64-v9"}, "there is no target \"x86-64-v9\""},
        {{"warm", "m.jsonl", "--arch", "sm80"}, "there is no target \"sm80\"; did you mean \"sm_80\"?"},
        {{"warm", "m.jsonl", "--arch", "80"}, "did you mean \"sm_80\"?"},
        {{"warm", "m.jsonl", "--arch", "9.0"}, "\"9.0\"; did you mean \"sm_90\"?"},
        {{"warm", "m.jsonl", "--arch", "gfx90a"}, "did you mean \"sm_90\"?"},
        {{"warm", "m.jsonl", "--arch", "x86-64-V3"}, "did you mean \"x86-64-v3\"?"},
        {{"warm", "m.jsonl", "--arch", "toaster"}, "\"toaster\"\nThe compilers here know"},
        {{"warm", "m.jsonl", "--arch", ",sm_80"}, "a target is missing"},
        {{"warm", "m.jsonl", "--op", "x"}, "unknown option \"--op\""},
        {{"cache"}, "is missing after"},
        {{"cache", "polish"}, "there is no cache command \"polish\""},
        {{"cache", "show"}, "a KEY is missing"},
        {{"cache", "prune"}, "prune needs --to"},
        {{"cache", "prune", "--to", "many"}, "prune needs --to"},
        {{"cache", "list", "--sort", "age"}, "there is no order \"age\""},
        {{"cache", "stats", "a"}, "one word too many: \"a\""},
        {{"cache", "export"}, "a FILE is missing"},
    };

    (void)state;
    cli_write("m.jsonl", COUNT_UP);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char *argv[8] = {"kiln"};
        memcpy(argv + 1, rows[r].words, sizeof rows[r].words);
        cli_run(argv, NULL);
        EXPECT_FAILED(2, rows[r].text);
        assert_string_equal(cli.out, "");
    }
}

/* A bundle of nothing would be found out where it is used, far away. */
static void test_cli_warm__a_manifest_without_kernels_is_no_success(void **state)
{
    (void)state;
    cli_write("empty.jsonl", "\n\n");
    KILN("warm", "empty.jsonl", "--cpu", "--bundle", "empty.kiln");
    EXPECT_REFUSED(1, "empty.jsonl: no line names a kernel");
    assert_int_not_equal(access("empty.kiln", F_OK), 0);
}

/* Every option of the command's help stands in the manual page and in docs/cli.md. */
static void expect_documented(char *command)
{
    static char manual[CLI_TEXT_MAX], page[CLI_TEXT_MAX];
    char path[CLI_PATH_BYTES], heading[64];
    size_t count = 0;

    cli_read(test_data("../tools/kiln.1", path, sizeof path), manual);
    cli_read(test_data("../docs/cli.md", path, sizeof path), page);
    for (char *c = manual, *to = manual;; c++) { /* roff writes a dash as \- */
        if (*c == '\\' && c[1] == '-')
            c++;
        *to++ = *c;
        if (*c == '\0')
            break;
    }
    snprintf(heading, sizeof heading, "\n## kiln %s\n", command);
    const char *section = strstr(page, heading);
    assert_non_null(section);
    KILN(command, "--help");
    EXPECT_DONE();
    for (const char *line = strstr(cli.out, "Options:"); line != NULL;
         line = strchr(line + 1, '\n')) {
        char option[32];
        if (sscanf(line, "\n  %31s", option) != 1 || option[0] != '-')
            continue;
        if (strstr(manual, option) == NULL || strstr(section, option) == NULL)
            fail_msg("kiln.1 or docs/cli.md says nothing of %s %s", command, option);
        count++;
    }
    assert_true(count >= 6);
}

static void test_cli_warm__help_and_pages_name_every_option(void **state)
{
    (void)state;
    expect_documented("warm");
    expect_documented("cache");
    KILN("--help");
    EXPECT_OUT("\n  warm ");
    EXPECT_OUT("\n  cache ");
}

/* ---- for GPUs that are not here ---------------------------------------------------------------- */

static void test_cli_warm__compiles_for_gpus_that_are_not_here(void **state)
{
    (void)state;
    if (!has_nvrtc())
        skip();
    cli_write("m.jsonl", AXPY BLOCKS);
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_90,sm_80", "--cpu", "--cache", "gpus", "--json");
    EXPECT_DONE();
    expect_numbers("sm_80", 2, 0, 0, 0);
    expect_numbers("sm_90", 2, 0, 0, 0);
    expect_numbers(kiln__cpu_target(), 1, 0, 0, 1);
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_90", "--cache", "gpus", "--json");
    EXPECT_DONE();
    expect_numbers("sm_80", 0, 2, 0, 0);
    expect_numbers("sm_90", 0, 2, 0, 0);
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_11");
    EXPECT_FAILED(2, "there is no target \"sm_11\"; did you mean \"sm_110\"?");
    KILN("warm", "m.jsonl", "--arch", "sm_90a");
    EXPECT_FAILED(2, "there is no target \"sm_90a\"");
    KILN("warm", "m.jsonl", "--arch", "sm_90,");
    EXPECT_FAILED(2, "--arch sm_90,: a target is missing");
    cli_write("m.jsonl", LOST);
    KILN("warm", "m.jsonl", "--arch", "sm_80,sm_90", "--cache", "gpus", "--json");
    EXPECT_FAILED(1, "m.jsonl:1: kernel \"bad\": op, line 1, column 5: ");
    /* Said once, counted for each. */
    assert_null(strstr(strstr(cli.err, "column 5") + 1, "column 5"));
    expect_numbers("sm_80", 0, 0, 1, 0);
    expect_numbers("sm_90", 0, 0, 1, 0);
}

/* ---- kiln cache -------------------------------------------------------------------------------- */

static void test_cli_warm__cache_looks_into_the_folder(void **state)
{
    char key[64] = "";

    (void)state;
    setenv("KILN_CACHE_DIR", "looked_at", 1);
    cli_write("m.jsonl", COUNT_UP);
    KILN("warm", "m.jsonl", "--cpu", "--json");
    EXPECT_DONE();
    KILN("cache", "path");
    EXPECT_DONE();
    EXPECT_OUT("/looked_at\n");
    KILN("cache", "stats");
    EXPECT_DONE();
    EXPECT_OUT("entries   2\n");
    KILN("cache", "stats", "--json");
    EXPECT_DONE();
    EXPECT_OUT("\"entries\": 2, ");
    KILN("cache", "list", "--sort", "size", "--json");
    EXPECT_DONE();
    EXPECT_OUT("\"kernel\": \"up\"");
    assert_int_equal(sscanf(cli.out, "[\n  {\"key\": \"%32[0-9a-f]\"", key), 1);
    KILN("cache", "show", key);
    EXPECT_DONE();
    EXPECT_OUT("z = i");
    KILN("cache", "verify");
    EXPECT_DONE();
    EXPECT_OUT("2 good, 0 damaged");
    KILN("cache", "export", "all.kiln");
    EXPECT_DONE();
    KILN("cache", "prune", "--to", "0");
    EXPECT_DONE();
    KILN("cache", "import", "all.kiln", "--json");
    EXPECT_DONE();
    EXPECT_OUT("{\"imported\": 2}");
    KILN("cache", "clear");
    EXPECT_DONE();
    EXPECT_OUT("removed 2 entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_warm__a_second_run_compiles_nothing),
        cmocka_unit_test(test_cli_warm__what_was_recorded_is_warm_elsewhere),
        cmocka_unit_test(test_cli_warm__modules_are_recorded_and_warm_elsewhere),
        cmocka_unit_test(test_cli_warm__modules_are_compiled_for_gpus_that_are_not_here),
        cmocka_unit_test(test_cli_warm__templates_are_compiled_for_gpus_that_are_not_here),
        cmocka_unit_test(test_cli_warm__a_bundle_holds_what_the_manifests_name),
        cmocka_unit_test(test_cli_warm__a_failure_is_told_and_the_rest_is_compiled),
        cmocka_unit_test(test_cli_warm__a_header_that_no_key_can_hold_is_named),
        cmocka_unit_test(test_cli_warm__a_start_value_is_a_number_and_a_mask_an_array),
        cmocka_unit_test(test_cli_warm__what_was_refused_is_compiled_again_when_asked_for),
        cmocka_unit_test(test_cli_warm__json_names_what_was_skipped),
        cmocka_unit_test(test_cli_warm__an_expression_is_warm_for_eval),
        cmocka_unit_test(test_cli_warm__what_libraries_do_needs_no_kernels),
        cmocka_unit_test(test_cli_warm__sorts_and_selections_of_expressions_are_compiled),
        cmocka_unit_test(test_cli_warm__a_dry_run_prints_what_would_be_compiled),
        cmocka_unit_test(test_cli_warm__scans_of_expressions_are_compiled),
        cmocka_unit_test(test_cli_warm__what_is_wrong_with_an_expression_is_shown_in_its_place),
        cmocka_unit_test(test_cli_warm__a_bad_line_stops_it_before_anything_is_compiled),
        cmocka_unit_test(test_cli_warm__standard_input_is_a_manifest),
        cmocka_unit_test(test_cli_warm__a_killed_worker_costs_one_try),
        cmocka_unit_test(test_cli_warm__a_folder_that_takes_nothing_is_told),
        cmocka_unit_test(test_cli_warm__a_terminal_gets_a_bar_of_its_width),
        cmocka_unit_test(test_cli_warm__wrong_usage_exits_2),
        cmocka_unit_test(test_cli_warm__a_manifest_without_kernels_is_no_success),
        cmocka_unit_test(test_cli_warm__help_and_pages_name_every_option),
        cmocka_unit_test(test_cli_warm__compiles_for_gpus_that_are_not_here),
        cmocka_unit_test(test_cli_warm__cache_looks_into_the_folder),
    };
    return cmocka_run_group_tests_name("test_cli_warm", tests, cli_enter, cli_leave);
}
