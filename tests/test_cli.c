/*
 * test_cli.c - the kiln command as a user meets it: the real program, started in an empty folder
 * on the cpu device, judged by its exit status, its two streams and the files it leaves.
 *
 * `kiln eval`, `warm` and `cache` have programs of their own.
 */
#include "cli_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kiln/base.h"
#include "test_data.h"

/* Run `kiln run --device cpu` with the words that follow. */
#define RUN(...) KILN("run", "--device", "cpu", __VA_ARGS__)

static const float X[3] = {1, 2, 3};
static const float Y[3] = {10, 20, 30};

static void write_xy(void)
{
    cli_write_npy("x.npy", "<f4", "(3,)", X, sizeof X);
    cli_write_npy("y.npy", "<f4", "(3,)", Y, sizeof Y);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- kiln run ---- */

static void test_cli__runs_axpy_over_files(void **state)
{
    const float want[3] = {12.5f, 25.0f, 37.5f};
    (void)state;
    RUN("--in", "T x, T y, float32 a", "--out", "T z", "--op", "z = a * x + y", "x.npy", "y.npy",
        "2.5", "-o", "z.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "");
    cli_expect_npy("z.npy", "<f4", "(3,)", want, sizeof want);
}

static void test_cli__prints_outputs_without_o(void **state)
{
    const int32_t k[3] = {7, 8, 9};
    (void)state;
    cli_write_npy("k.npy", "<i4", "(3,)", k, sizeof k);
    RUN("--in", "int32 k", "--out", "int32 z", "--op", "z = k + 1", "k.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 8  9 10]\n");
    RUN("--in", "int32 k", "--out", "int32 z, int32 w", "--op", "z = -k; w = 2 * k", "k.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "z =\n[-7 -8 -9]\nw =\n[14 16 18]\n");
}

static void test_cli__writes_every_output(void **state)
{
    const float sum[3] = {11, 22, 33}, product[3] = {10, 40, 90};
    (void)state;
    RUN("--in", "T x, T y", "--out", "T s, T p", "--op", "s = x + y; p = x * y", "x.npy", "y.npy",
        "-o", "s.npy", "-o", "p.npy");
    EXPECT_DONE();
    cli_expect_npy("s.npy", "<f4", "(3,)", sum, sizeof sum);
    cli_expect_npy("p.npy", "<f4", "(3,)", product, sizeof product);
}

static void test_cli__broadcasts(void **state)
{
    const int64_t column[2] = {100, 200}, row[3] = {1, 2, 3};
    const int64_t want[6] = {101, 102, 103, 201, 202, 203};
    (void)state;
    cli_write_npy("column.npy", "<i8", "(2, 1)", column, sizeof column);
    cli_write_npy("row.npy", "<i8", "(3,)", row, sizeof row);
    RUN("--in", "T a, T b", "--out", "T z", "--op", "z = a + b", "column.npy", "row.npy", "-o",
        "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<i8", "(2, 3)", want, sizeof want);
}

static void test_cli__reads_numbers_of_every_kind(void **state)
{
    static const struct {
        const char *type, *text, *npy;
        double real, imaginary;
        size_t count;
    } cases[] = {
        {"float64", "2.5", "<f8", 2.5, 0, 1},    {"float64", "-2.5e-3", "<f8", -0.0025, 0, 1},
        {"float64", "7", "<f8", 7, 0, 1},        {"float64", ".5", "<f8", 0.5, 0, 1},
        {"float64", "-0x10", "<f8", -16, 0, 1},  {"float64", "true", "<f8", 1, 0, 1},
        {"complex128", "1+2j", "<c16", 1, 2, 2}, {"complex128", "-1.5-2e1j", "<c16", -1.5, -20, 2},
        {"complex128", "3j", "<c16", 0, 3, 2},   {"complex128", "-4", "<c16", -4, 0, 2},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char in[32], out[32];
        const double want[2] = {cases[k].real, cases[k].imaginary};
        snprintf(in, sizeof in, "%s a", cases[k].type);
        snprintf(out, sizeof out, "%s z", cases[k].type);
        RUN("--in", in, "--out", out, "--op", "z = a", "--size", "1", (char *)cases[k].text, "-o",
            "z.npy");
        EXPECT_DONE();
        cli_expect_npy("z.npy", cases[k].npy, "(1,)", want, cases[k].count * sizeof(double));
    }
}

static void test_cli__size_runs_without_arrays(void **state)
{
    const float want[5] = {0, 1, 4, 9, 16};
    (void)state;
    RUN("--out", "float32 z", "--op", "z = i * i", "--size", "5", "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f4", "(5,)", want, sizeof want);
    RUN("--out", "float32 z", "--op", "z = i * i", "--size=0", "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f4", "(0,)", want, 0);
    RUN("--out", "float32 z", "--op", "z = i");
    EXPECT_REFUSED(1, "size");
}

static void test_cli__given_outputs_are_starting_values(void **state)
{
    const int32_t zeros[4] = {0}, counts[4] = {2, 0, 1, 3};
    const uint8_t values[6] = {3, 0, 3, 2, 0, 3};
    (void)state;
    cli_write_npy("values.npy", "|u1", "(6,)", values, sizeof values);
    cli_write_npy("zeros.npy", "<i4", "(4,)", zeros, sizeof zeros);
    RUN("--in", "uint8 v", "--out", "raw int32 bins", "--op", "atomicAdd(&bins[v], 1)",
        "values.npy", "zeros.npy", "-o", "bins.npy");
    EXPECT_DONE();
    cli_expect_npy("bins.npy", "<i4", "(4,)", counts, sizeof counts);
    cli_expect_npy("zeros.npy", "<i4", "(4,)", zeros, sizeof zeros);
}

static void test_cli__uses_every_snippet(void **state)
{
    const float want[3] = {103, 106, 109};
    (void)state;
    RUN("--in", "float32 x", "--out", "float32 z", "--name", "triple_plus", "--preamble",
        "__device__ float triple(float v) { return 3 * v; }", "--loop-prep", "float base = 100;",
        "--op", "z = triple(x) + base", "--after-loop", "base = 0;", "x.npy", "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f4", "(3,)", want, sizeof want);
}

static void test_cli__options_reach_the_compiler_and_keep_axes_the_index(void **state)
{
    static const double rows[6] = {0};
    (void)state;
    KILN("run", "--device", "cpu", "--out", "int32 z", "--op", "z = N * i + M", "--option=-DN=10",
         "--option", "-DM=1", "--size", "3");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[ 1 11 21]\n");
    cli_write_npy("rows.npy", "<f8", "(2, 3)", rows, sizeof rows);
    KILN("run", "--device", "cpu", "--in", "float64 x", "--out", "int32 z", "--op",
         "z = _ind.ndim", "rows.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[[1 1 1]\n [1 1 1]]\n");
    KILN("run", "--device", "cpu", "--in", "float64 x", "--out", "int32 z", "--op", "z = _ind.ndim",
         "--keep-axes", "rows.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[[2 2 2]\n [2 2 2]]\n");
    KILN("reduce", "--device", "cpu", "--in", "T x", "--out", "T y", "--map", "x + N", "--reduce",
         "a + b", "--post", "y = a", "--identity", "0", "--option=-DN=2", "rows.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "12.0\n");
}

static void test_cli__type_decides_what_arrays_do_not(void **state)
{
    const float five[4] = {5, 6, 7, 8};
    const double one[1] = {0.5}, x64[3] = {2, 4, 6};
    const uint8_t twice[3] = {14, 16, 18};
    (void)state;
    RUN("--in", "T a", "--out", "T z", "--op", "z = a + i", "--size", "4", "--type", "T=float32",
        "5", "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f4", "(4,)", five, sizeof five);
    /* Only inputs are of type T: the number is given with it, so 1 / 2 is no integer division. */
    RUN("--in", "T a, T b", "--out", "float64 z", "--op", "z = a / b", "--type=T=float64", "1", "2",
        "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f8", "()", one, sizeof one);
    /* An output's type, while an array decides the shape. */
    RUN("--in", "float32 x", "--out", "U z", "--op", "z = 2 * x", "--type", "U=float64", "x.npy",
        "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "<f8", "(3,)", x64, sizeof x64);
    RUN("--in", "int32 k, U two", "--out", "U z", "--op", "z = k * two", "--type", "U=uint8",
        "k.npy", "2", "-o", "z.npy");
    EXPECT_DONE();
    cli_expect_npy("z.npy", "|u1", "(3,)", twice, sizeof twice);
}

static void test_cli__type_conflicts_are_named(void **state)
{
    (void)state;
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "--type", "T=float64", "x.npy");
    EXPECT_REFUSED(1, "T=float64");
    assert_non_null(strstr(cli.err, "float32"));
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "--type", "T=int8", "300");
    EXPECT_REFUSED(1, "300");
    /* What agrees is no conflict. */
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "--type", "T=float32", "x.npy");
    EXPECT_DONE();
}

static void test_cli__shows_source_and_runs_nothing(void **state)
{
    (void)state;
    unlink("z.npy");
    RUN("--in", "T x, float32 a", "--out", "T z", "--op", "z = a * x - 4321", "--name", "my_kernel",
        "--show-source", "x.npy", "2", "-o", "z.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "\nz = a * x - 4321\n"));
    assert_non_null(strstr(cli.out, "my_kernel"));
    assert_false(exists("z.npy"));
    /* Source needs no compiler: an operation that cannot compile can be looked at, too. */
    RUN("--in", "T x", "--out", "T z", "--op", "z = no_such_thing", "--show-source", "x.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "no_such_thing"));
}

static void test_cli__times_runs(void **state)
{
    const float want[3] = {2, 4, 6};
    double ms = -1.0, gb_s = -1.0;
    (void)state;
    RUN("--in", "T x", "--out", "T z", "--op", "z = x + x", "--name", "twice", "--time", "3",
        "x.npy", "-o", "z.npy");
    EXPECT_DONE();
    assert_int_equal(
        sscanf(cli.out, "twice on cpu: median of 3 runs %lf ms, %lf GB/s\n", &ms, &gb_s), 2);
    assert_true(ms > 0.0);
    /* 3 elements of 4 bytes, read and written: 24 bytes. */
    assert_true(gb_s > 0.99 * 24e-6 / ms && gb_s < 1.01 * 24e-6 / ms);
    cli_expect_npy("z.npy", "<f4", "(3,)", want, sizeof want);
}

static void test_cli__failures_exit_1_and_explain(void **state)
{
    const float pair[2] = {1, 2};
    (void)state;
    cli_write_npy("pair.npy", "<f4", "(2,)", pair, sizeof pair);
    unlink("z.npy");

    RUN("--in", "T x", "--out", "T z", "--op", "z = x +\n  wrong_name", "x.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "wrong_name");
    assert_non_null(strstr(cli.err, "op"));
    assert_non_null(strstr(cli.err, "^"));
    RUN("--in", "T x, T y", "--out", "T z", "--op", "z = x", "x.npy", "pair.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "(2,)");
    RUN("--in", "T x, , T y", "--out", "T z", "--op", "z = x", "x.npy", "y.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "^");
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "absent.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "absent.npy");
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "stderr.txt.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "stderr.txt.npy");
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "--name", "2nd", "x.npy", "-o", "z.npy");
    EXPECT_REFUSED(1, "2nd");
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "x.npy", "-o", "no_folder/z.npy");
    EXPECT_REFUSED(1, "no_folder/z.npy");
    KILN("run", "--device", "tape", "--in", "T x", "--out", "T z", "--op", "z = x", "x.npy");
    EXPECT_REFUSED(1, "tape");
    assert_false(exists("z.npy"));

    cli_write_npy("lying.npy", "<f4", "(1000000,)", pair, sizeof pair);
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "lying.npy");
    EXPECT_REFUSED(1, "lying.npy");
}

/* What the library calls by the name of a struct's member is an option here. */
static void test_cli__failures_name_options_and_not_members_of_structs(void **state)
{
    const bool mask[2] = {true, false};

    (void)state;
    cli_write_npy("mask.npy", "|b1", "(2,)", mask, sizeof mask);
    RUN("--out", "float32 z", "--op", "z = i");
    EXPECT_REFUSED(1, "give an array that is not raw, or --size");
    RUN("--in", "T x", "--out", "T z", "--op", "z = x", "x.npy", "--size", "3");
    EXPECT_REFUSED(
        1, "--size 3 was given, but the shape of `x` decides how many elements to run over");
    RUN("--in", "T size", "--out", "T z", "--op", "z = size", "x.npy", "--size", "3");
    EXPECT_REFUSED(1, "but the shape of `size` decides"); /* that is a parameter */
    KILN("reduce", "--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "x.npy",
         "--where", "mask.npy");
    EXPECT_REFUSED(1, "--where may leave nothing to reduce, and there is neither an identity nor "
                      "--initial");
    RUN("--in", "T x", "--out", "Q z", "--op", "z = 1", "x.npy");
    EXPECT_REFUSED(1, "has type Q, which no argument decides");
    assert_non_null(strstr(cli.err, "kiln: --type decides such a type, as in --type T=float32\n"));
}

static void test_cli__a_full_disk_is_no_success(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    cli_run_into((char *[]){"kiln", "run", "--device", "cpu", "--in", "T x", "--out", "T z", "--op",
                            "z = x", "x.npy", NULL},
                 "/dev/full");
    EXPECT_REFUSED(1, "standard output");
}

/* ---- usage ---- */

static void test_cli__wrong_usage_exits_2_and_says_how(void **state)
{
    static const struct {
        const char *words[12];
        const char *text;
    } cases[] = {
        {{NULL}, "command"},
        {{"rum"}, "did you mean \"run\""},
        {{"--version", "now"}, "one word too many: \"now\""},
        {{"help", "run", "now"}, "one word too many: \"now\""},
        {{"something"}, "no command \"something\""},
        {{"help", "nothing"}, "no command \"nothing\""},
        {{"run", "--opp", "z"}, "did you mean \"--op\""},
        {{"run", "--oops=1"}, "unknown option \"--oops\""},
        {{"run", "--zzzzzzzzzz"}, "unknown option \"--zzzzzzzzzz\""},
        {{"run", "--json"}, "unknown option \"--json\""},
        {{"run", "--op"}, "--op needs a value"},
        {{"run", "--show-source=1"}, "takes no value"},
        {{"run", "--op", "a", "--op", "b"}, "--op was given twice"},
        {{"run", "--out", "T z", "1"}, "--op is missing"},
        {{"run", "--op", "z = 1", "1"}, "--out is missing"},
        {{"run", "--out", "T z", "--op", "z = 1", "word"}, "\"word\" is neither"},
        {{"run", "--out", "T z", "--op", "z = 1", "1.5x"}, "\"1.5x\" is neither"},
        {{"run", "--out", "T z", "--op", "z = 1", "99999999999999999999"}, "neither"},
        {{"run", "--out", "T z", "--op", "z = 1", "--size", "-1"}, "--size -1"},
        {{"run", "--out", "T z", "--op", "z = 1", "--size", "many"}, "--size many"},
        {{"run", "--out", "T z", "--op", "z = 1", "--time", "0"}, "--time 0"},
        {{"run", "--out", "T z", "--op", "z = 1", "--time", "2", "--show-source"}, "exclude"},
        {{"run", "--in", "T x, T y", "--out", "T z", "--op", "z = x", "1"}, "2 inputs (x, y)"},
        {{"run", "--in", "T x", "--out", "T z", "--op", "z = x", "1", "2", "3"}, "got 3"},
        {{"run", "--out", "T z, T w", "--op", "z = 1", "-o", "z.npy"}, "2 outputs (z, w)"},
        {{"run", "--out", "T z", "--op", "z = 1", "--type", "float32"}, "T=DTYPE"},
        {{"run", "--out", "T z", "--op", "z = 1", "--type", "T=float33"}, "\"float33\""},
        {{"run", "--out", "T z", "--op", "z = 1", "--type", "U=float32"}, "of type U"},
        {{"info", "more"}, "\"more\""},
        {{"info", "--op", "x"}, "unknown option \"--op\""},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char *argv[14] = {"kiln"};
        for (size_t w = 0; cases[k].words[w] != NULL; w++)
            argv[w + 1] = (char *)cases[k].words[w];
        cli_run(argv, NULL);
        EXPECT_REFUSED(2, cases[k].text);
        assert_non_null(strstr(cli.err, "--help"));
    }
}

/* Every option that `help` lists stands in the manual page and in docs/cli.md. */
static void expect_documented(const char *help)
{
    static char manual[CLI_TEXT_MAX], page[CLI_TEXT_MAX];
    char path[CLI_PATH_BYTES], plain[64], escaped[128];
    int count = 0;

    cli_read(test_data("../tools/kiln.1", path, sizeof path), manual);
    cli_read(test_data("../docs/cli.md", path, sizeof path), page);
    for (const char *line = strstr(help, "Options:"); line != NULL; line = strchr(line + 1, '\n')) {
        size_t length = 0;
        if (sscanf(line, "\n  %63s", plain) != 1 || plain[0] != '-')
            continue;
        for (const char *c = plain; *c != '\0'; c++) {
            if (*c == '-')
                escaped[length++] = '\\';
            escaped[length++] = *c;
        }
        escaped[length] = '\0';
        if (strstr(manual, escaped) == NULL)
            fail_msg("kiln.1 says nothing of %s", plain);
        if (strstr(page, plain) == NULL)
            fail_msg("docs/cli.md says nothing of %s", plain);
        count++;
    }
    assert_true(count >= 2);
}

static void test_cli__help_is_everywhere(void **state)
{
    (void)state;
    KILN("--help");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "run"));
    assert_non_null(strstr(cli.out, "info"));
    KILN("run", "--help");
    EXPECT_DONE();
    static char help[CLI_TEXT_MAX];
    strcpy(help, cli.out);
    expect_documented(help);
    KILN("reduce", "--help");
    EXPECT_DONE();
    expect_documented(cli.out);
    KILN("scan", "--help");
    EXPECT_DONE();
    expect_documented(cli.out);
    KILN("help", "run");
    EXPECT_DONE();
    assert_string_equal(cli.out, help);
    KILN("info", "--help");
    EXPECT_DONE();
    expect_documented(cli.out);
    KILN("--version");
    EXPECT_DONE();
    assert_string_equal(cli.out, "kiln " KILN_VERSION_STRING "\n");
}

/* ---- kiln info ---- */

/* Where the JSON value at `p` ends, NULL for text that is none. */
static const char *json_value(const char *p)
{
    p += strspn(p, " \n");
    if (*p == '"') {
        for (p++; *p != '"'; p++) {
            if (*p == '\\')
                p++;
            if ((unsigned char)*p < 0x20)
                return NULL;
        }
        return p + 1;
    }
    if (*p == '{' || *p == '[') {
        char end = *p == '{' ? '}' : ']';
        p++;
        p += strspn(p, " \n");
        while (*p != end) {
            if (end == '}') {
                p = json_value(p);
                if (p == NULL || *p != ':')
                    return NULL;
                p++;
            }
            p = json_value(p);
            if (p == NULL)
                return NULL;
            p += strspn(p, " \n");
            if (*p != end && *p++ != ',')
                return NULL;
            p += strspn(p, " \n");
        }
        return p + 1;
    }
    size_t length = strspn(p, "-+.0123456789eEtruefals");
    return length > 0 ? p + length : NULL;
}

static void test_cli__info_tells_devices_and_cache(void **state)
{
    (void)state;
    KILN("info");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "kiln " KILN_VERSION_STRING "\n"));
    assert_non_null(strstr(cli.out, "\n  cpu "));
    assert_non_null(strstr(cli.out, "cache_of_test"));
    assert_non_null(strstr(cli.out, "\nlinear algebra\n  BLAS "));
    assert_non_null(strstr(cli.out, "\n  cuBLASLt "));
    KILN("info", "--json");
    EXPECT_DONE();
    const char *end = json_value(cli.out);
    assert_non_null(end);
    assert_string_equal(end, "\n");
    assert_non_null(strstr(cli.out, "\"version\": \"" KILN_VERSION_STRING "\""));
    assert_non_null(strstr(cli.out, "\"id\": \"cpu\""));
    assert_non_null(strstr(cli.out, "\"role\": \"BLAS\", \"backend\": \"cpu\""));
    assert_non_null(strstr(cli.out, "cache_of_test"));
}

/* ---- the fixture ---- */

static int enter_folder(void **state)
{
    if (cli_enter(state) != 0)
        return -1;
    write_xy();
    cli_write("stderr.txt.npy", "not numpy\n"); /* no .npy file, whatever its name */
    return 0;
}

/* ---- kiln reduce ---- */

#define REDUCE(...) KILN("reduce", "--device", "cpu", __VA_ARGS__)

static void test_cli__reduce_writes_the_norm_of_every_row(void **state)
{
    (void)state;
    const float x[] = {3, 4, 0, 0, 5, 12};
    const float y[] = {5, 13};

    cli_write_npy("rows.npy", "<f4", "(2, 3)", x, sizeof x);
    REDUCE("--in", "T x", "--out", "T y", "--map", "x * x", "--reduce", "a + b", "--post",
           "y = sqrt(a)", "--identity", "0", "--axis", "-1", "rows.npy", "-o", "norms.npy");
    EXPECT_DONE();
    cli_expect_npy("norms.npy", "<f4", "(2,)", y, sizeof y);
}

static void test_cli__reduce_prints_several_outputs_and_keeps_dims(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};

    cli_write_npy("x.npy", "<f4", "(2, 3)", x, sizeof x);
    REDUCE("--in", "T x, T scale", "--out", "T y, int64 count", "--map", "x * scale", "--post",
           "y = a; count = n", "--axis=0", "--keepdims", "x.npy", "2");
    EXPECT_DONE();
    assert_string_equal(cli.out, "y =\n[[10. 14. 18.]]\ncount =\n[[2 2 2]]\n");
}

static void test_cli__reduce_takes_a_struct_and_shows_its_source(void **state)
{
    (void)state;
    const float x[] = {1, 7, 3};

    cli_write_npy("x.npy", "<f4", "(3,)", x, sizeof x);
    REDUCE("--in", "T x", "--out", "T low, T high", "--preamble",
           "struct range { float low, high; };", "--reduce-type", "range", "--map", "range{x, x}",
           "--reduce", "range{min(a.low, b.low), max(a.high, b.high)}", "--post",
           "low = a.low; high = a.high", "x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "low =\n1.0\nhigh =\n7.0\n");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x * 7", "--post", "y = a", "--name", "shown",
           "--show-source", "x.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "shown"));
    assert_non_null(strstr(cli.out, "x * 7"));
}

/* ---- kiln scan ---- */

#define SCAN(...) KILN("scan", "--device", "cpu", "--in", "T x", "--out", "T y", "--map", "x",      \
                       "--post", "y = a", __VA_ARGS__)

static void test_cli__scan_goes_along_an_axis_in_every_direction(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};
    const float rows[] = {0, 1, 3, 0, 4, 9};

    cli_write_npy("x.npy", "<f4", "(2, 3)", x, sizeof x);
    SCAN("--axis", "1", "--exclusive", "--identity", "0", "x.npy", "-o", "rows.npy");
    EXPECT_DONE();
    cli_expect_npy("rows.npy", "<f4", "(2, 3)", rows, sizeof rows);
    SCAN("--reverse", "--reduce", "a * b", "x.npy");
    EXPECT_DONE();
    assert_string_equal(cli.out, "[720. 720. 360. 120.  30.   6.]\n");
    SCAN("--name", "timed", "--time", "2", "--axis=-1", "x.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "timed on cpu: median of 2 runs"));
    SCAN("--show-source", "--name", "shown", "x.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "shown"));
    SCAN("--axis", "0,1", "x.npy");
    EXPECT_REFUSED(2, "--axis \"0,1\"");
    SCAN("--axis", "2", "x.npy");
    EXPECT_REFUSED(1, "axis 2 is out of range");
    SCAN("--exclusive", "x.npy");
    EXPECT_REFUSED(1, "identity");
}

static void test_cli__reduce_takes_a_mask_a_start_and_types(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6};
    const bool mask[] = {true, false, true};
    const double sums[] = {104, 110}, kept[] = {21};

    cli_write_npy("x.npy", "<f4", "(2, 3)", x, sizeof x);
    cli_write_npy("mask.npy", "|b1", "(3,)", mask, sizeof mask);
    REDUCE("--in", "T x", "--out", "U y", "--map", "x", "--post", "y = a", "--identity", "0",
           "--axis", "-1", "--where", "mask.npy", "--initial", "100", "--type", "U=float64",
           "x.npy", "-o", "sums.npy");
    EXPECT_DONE();
    cli_expect_npy("sums.npy", "<f8", "(2,)", sums, sizeof sums);
    REDUCE("--in", "T x", "--out", "U y", "--map", "x", "--post", "y = a", "--identity", "0",
           "--keepdims", "--type=U=float64", "x.npy", "-o", "kept.npy");
    EXPECT_DONE();
    cli_expect_npy("kept.npy", "<f8", "(1, 1)", kept, sizeof kept);
    REDUCE("--in", "T x", "--out", "U y", "--map", "x", "--post", "y = a", "--identity", "0",
           "--name", "timed", "--type", "U=float64", "--time", "2", "x.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "timed on cpu: median of 2 runs"));
}

static void test_cli__reduce_explains_wrong_usage_and_failures(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3};

    cli_write_npy("x.npy", "<f4", "(3,)", x, sizeof x);
    REDUCE("--out", "T y", "--map", "x", "--post", "y = a", "x.npy");
    EXPECT_REFUSED(2, "--in is missing");
    REDUCE("--in", "T x", "--out", "T y", "--post", "y = a", "x.npy");
    EXPECT_REFUSED(2, "--map is missing");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--axis", "0,", "x.npy");
    EXPECT_REFUSED(2, "--axis \"0,\" is not a list of axes");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a");
    EXPECT_REFUSED(2, "1 input (x) and 1 output (y) take 1 ARG, or 2");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--where", "1", "x.npy");
    EXPECT_REFUSED(2, "--where 1");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--initial", "z",
           "x.npy");
    EXPECT_REFUSED(2, "--initial z");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--type", "T=int8",
           "x.npy");
    EXPECT_REFUSED(1, "--type T=int8, but `x` is float32: x.npy");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--type", "V=int8",
           "x.npy");
    EXPECT_REFUSED(2, "--type V=int8: no parameter");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--op", "z", "x.npy");
    EXPECT_REFUSED(2, "--op");
    REDUCE("--in", "T x", "--out", "T y", "--map", "x", "--post", "y = a", "--axis", "1", "x.npy");
    EXPECT_REFUSED(1, "axis 1 is out of range");
    REDUCE("--in", "T x", "--out", "T y", "--map", "lost", "--post", "y = a", "x.npy");
    EXPECT_REFUSED(1, "map, line 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli__runs_axpy_over_files),
        cmocka_unit_test(test_cli__prints_outputs_without_o),
        cmocka_unit_test(test_cli__writes_every_output),
        cmocka_unit_test(test_cli__broadcasts),
        cmocka_unit_test(test_cli__reads_numbers_of_every_kind),
        cmocka_unit_test(test_cli__size_runs_without_arrays),
        cmocka_unit_test(test_cli__given_outputs_are_starting_values),
        cmocka_unit_test(test_cli__uses_every_snippet),
        cmocka_unit_test(test_cli__options_reach_the_compiler_and_keep_axes_the_index),
        cmocka_unit_test(test_cli__type_decides_what_arrays_do_not),
        cmocka_unit_test(test_cli__type_conflicts_are_named),
        cmocka_unit_test(test_cli__shows_source_and_runs_nothing),
        cmocka_unit_test(test_cli__times_runs),
        cmocka_unit_test(test_cli__failures_exit_1_and_explain),
        cmocka_unit_test(test_cli__failures_name_options_and_not_members_of_structs),
        cmocka_unit_test(test_cli__a_full_disk_is_no_success),
        cmocka_unit_test(test_cli__wrong_usage_exits_2_and_says_how),
        cmocka_unit_test(test_cli__help_is_everywhere),
        cmocka_unit_test(test_cli__info_tells_devices_and_cache),
        cmocka_unit_test(test_cli__reduce_writes_the_norm_of_every_row),
        cmocka_unit_test(test_cli__reduce_prints_several_outputs_and_keeps_dims),
        cmocka_unit_test(test_cli__reduce_takes_a_struct_and_shows_its_source),
        cmocka_unit_test(test_cli__reduce_takes_a_mask_a_start_and_types),
        cmocka_unit_test(test_cli__reduce_explains_wrong_usage_and_failures),
        cmocka_unit_test(test_cli__scan_goes_along_an_axis_in_every_direction),
    };
    return cmocka_run_group_tests_name("test_cli", tests, enter_folder, cli_leave);
}
