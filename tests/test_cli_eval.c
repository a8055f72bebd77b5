/*
 * test_cli_eval.c - `kiln eval` as a user meets it: the real program on the cpu device, judged by
 * its exit status, its two streams and the files it leaves.
 *
 * What expressions mean is test_expression's matter.
 */
#include "cli_env.h"

#include <stdio.h>
#include <string.h>

#include "test_data.h"

#define EVAL(...) KILN("eval", "--device", "cpu", __VA_ARGS__)

static void expect_output(const char *want)
{
    EXPECT_DONE();
    assert_string_equal(cli.out, want);
}

static void test_cli_eval__prints_results(void **state)
{
    (void)state;
    EVAL("sum(x * y, axis=1)", "x=a.npy", "y=b.npy");
    expect_output("[14. 32.]\n");
    EVAL("x + k, x > 2", "x=b.npy", "k=0.5");
    expect_output("result 1 =\n[1.5 2.5 3.5]\nresult 2 =\n[False False  True]\n");
}

/* Results whose length only the device knows are printed, and written, with it. */
static void test_cli_eval__prints_what_masks_choose(void **state)
{
    const float want[2] = {2, 3};
    (void)state;
    EVAL("x[x > 1.5], x[x > 1.5].sum(), flatnonzero(x > 2)", "x=b.npy");
    expect_output("result 1 =\n[2. 3.]\nresult 2 =\n5.0\nresult 3 =\n[2]\n");
    EVAL("x > 1.5", "x=b.npy", "-o", "m.npy");
    EVAL("x[m]", "x=b.npy", "m=m.npy", "-o", "kept.npy");
    expect_output("");
    cli_expect_npy("kept.npy", "<f4", "(2,)", want, sizeof want);
}

static void test_cli_eval__knows_linear_algebra(void **state)
{
    (void)state;
    EVAL("solve(x[:, :2], x[:, 2])", "x=a.npy");
    expect_output("[-1.  2.]\n");
    EVAL("q, r = qr(x); abs(q @ r - x) > 1e-5, r[1, 0]", "x=a.npy");
    expect_output("result 1 =\n[[False False False]\n [False False False]]\nresult 2 =\n0.0\n");
    EVAL("einsum(\"ij,j->i\", x, y)", "x=a.npy", "y=b.npy");
    expect_output("[14. 32.]\n");
    EVAL("solve(x, y)", "x=a.npy", "y=b.npy");
    EXPECT_REFUSED(
        1, "kiln: expression, column 1: solve takes square matrices, not an array of shape (2, 3)\n"
           "solve(x, y)\n^~~~~\n");
    EVAL("inv(x[:, :1] * x[:1, :2])", "x=a.npy");
    EXPECT_REFUSED(1, "kiln: expression, column 1: inv: the matrix is singular: pivot 2 of its LU "
                      "factorisation is 0\ninv(x[:, :1] * x[:1, :2])\n^~~\n");
}

/* Where all values have names, those of the last statement are the results. */
static void test_cli_eval__results_may_have_names(void **state)
{
    (void)state;
    EVAL("u, l = x[0, 0], x; u, v = u + 1, y", "x=a.npy", "y=b.npy");
    expect_output("result 1 =\n2.0\nresult 2 =\n[1. 2. 3.]\n");
    EVAL("z = y * 2;", "y=b.npy");
    expect_output("[2. 4. 6.]\n");
    EVAL("-y", "y=b.npy");
    expect_output("[-1. -2. -3.]\n");
    EVAL("-(y + 1) * 2", "y=b.npy");
    expect_output("[-4. -6. -8.]\n");
    EVAL("z = y * 2; z + 1; w = z", "y=b.npy");
    expect_output("[3. 5. 7.]\n");
    EVAL("w, v = eigh(1.0 * (y == y[:, None]))", "y=b.npy");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "result 1 =\n[1. 1. 1.]\nresult 2 =\n"));
}

static void test_cli_eval__writes_files(void **state)
{
    const float want[3] = {2, 4, 6};
    (void)state;
    EVAL("x * 2, x / 2", "x=b.npy", "-o", "twice.npy", "-o", "half.npy");
    expect_output("");
    cli_expect_npy("twice.npy", "<f4", "(3,)", want, sizeof want);
    EVAL("x * 2", "x=half.npy");
    expect_output("[1. 2. 3.]\n");
}

static void test_cli_eval__explains_and_shows(void **state)
{
    (void)state;
    EVAL("sqrt(sum(x * x))", "x=a.npy", "--explain");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "1 kernel"));
    EVAL("sqrt(sum(x * x))", "x=a.npy", "--dot");
    EXPECT_DONE();
    assert_memory_equal(cli.out, "digraph", 7);
    EVAL("sqrt(x)", "x=a.npy", "--show-source");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "sqrt("));
    EVAL("sqrt(x)", "x=a.npy", "--time", "3");
    EXPECT_DONE();
    assert_non_null(strstr(cli.out, "expression on cpu: median of 3 runs"));
}

static void test_cli_eval__failures_show_the_place(void **state)
{
    (void)state;
    EVAL("x + sqr(y)", "x=a.npy", "y=b.npy");
    EXPECT_REFUSED(1, "column 5: there is no function `sqr`; did you mean `sqrt`?\nx + sqr(y)\n    ^~~\n");
    EVAL("x[:, :2] + x", "x=a.npy");
    EXPECT_REFUSED(1, "(2, 2) and (2, 3)");
    assert_non_null(strstr(cli.err, "x[:, :2] + x\n         ^\n"));
    EVAL("x + 1", "x=missing.npy");
    EXPECT_REFUSED(1, "missing.npy");
}

static void test_cli_eval__wrong_usage_is_named(void **state)
{
    (void)state;
    KILN("eval");
    EXPECT_REFUSED(2, "an expression is missing");
    EVAL("x", "a.npy");
    EXPECT_REFUSED(2, "\"a.npy\" is not of the form NAME=VALUE");
    EVAL("x", "x=a.txt");
    EXPECT_REFUSED(2, "neither a .npy file nor a number");
    EVAL("x", "x=a.npy", "x=b.npy");
    EXPECT_REFUSED(2, "given before");
    EVAL("x + 1", "x=a.npy", "-o", "1.npy", "-o", "2.npy");
    EXPECT_REFUSED(2, "1 result, but -o was given 2 times");
    EVAL("x", "x=a.npy", "--explain", "--time", "3");
    EXPECT_REFUSED(2, "exclude each other");
    EVAL("xy + x2", "x=1");
    EXPECT_REFUSED(
        2, "x=1: the expression does not use \"x\"; expression, column 1: `xy` is not defined");
    EVAL("x + q", "x=1");
    EXPECT_REFUSED(1, "`q` is not defined");
    EXPECT_REFUSED(1, "name=FILE.npy or name=NUMBER behind the expression defines a name");
    EVAL("x", "x=a.npy", "y=3");
    EXPECT_REFUSED(2, "y=3: the expression does not use \"y\"");
    EVAL("x", "x=a.npy", "--time", "none");
    EXPECT_REFUSED(2, "--time none");
}

/* Every option that help lists stands in the manual page and in docs/cli.md. */
static void test_cli_eval__options_are_documented(void **state)
{
    static const char *const options[] = {"--explain", "--dot"};
    static char manual[CLI_TEXT_MAX], page[CLI_TEXT_MAX];
    char path[CLI_PATH_BYTES];
    (void)state;
    EVAL("--help");
    EXPECT_DONE();
    cli_read(test_data("../tools/kiln.1", path, sizeof path), manual);
    cli_read(test_data("../docs/cli.md", path, sizeof path), page);
    assert_non_null(strstr(manual, "\\-\\-explain"));
    assert_non_null(strstr(manual, "\\-\\-dot"));
    for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
        assert_non_null(strstr(cli.out, options[k]));
        assert_non_null(strstr(page, options[k]));
    }
}

static int enter_folder(void **state)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 2, 3};
    if (cli_enter(state) != 0)
        return -1;
    cli_write_npy("a.npy", "<f4", "(2, 3)", a, sizeof a);
    cli_write_npy("b.npy", "<f4", "(3,)", b, sizeof b);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_eval__prints_results),
        cmocka_unit_test(test_cli_eval__prints_what_masks_choose),
        cmocka_unit_test(test_cli_eval__knows_linear_algebra),
        cmocka_unit_test(test_cli_eval__results_may_have_names),
        cmocka_unit_test(test_cli_eval__writes_files),
        cmocka_unit_test(test_cli_eval__explains_and_shows),
        cmocka_unit_test(test_cli_eval__failures_show_the_place),
        cmocka_unit_test(test_cli_eval__wrong_usage_is_named),
        cmocka_unit_test(test_cli_eval__options_are_documented),
    };
    return cmocka_run_group_tests_name("test_cli_eval", tests, enter_folder, cli_leave);
}
