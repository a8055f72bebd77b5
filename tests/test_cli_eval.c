/*
 * test_cli_eval.c - `kiln eval` as a user meets it: the real program on the cpu device, judged by
 * its exit status, its two streams and the files it leaves.
 *
 * The program is $KILN_TOOL, else ../kiln beside the folder of this program. .npy files are written
 * here by hand. What expressions mean is test_expression's matter.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_data.h"

enum { TEXT_MAX = 1 << 17, PATH_BYTES = 1024 };

static char tool[PATH_BYTES], folder[] = "/tmp/kiln_test_eval_XXXXXX";
static int exit_status;
static char out[TEXT_MAX], err[TEXT_MAX];

static size_t read_all(const char *path, char *text)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t bytes = fread(text, 1, TEXT_MAX - 1, f);
    text[bytes] = '\0';
    fclose(f);
    return bytes;
}

static void redirect(int fd, const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(99);
}

static void run(char *const *argv)
{
    int status = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        redirect(1, "stdout.txt");
        redirect(2, "stderr.txt");
        execv(tool, argv);
        _exit(98);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    exit_status = WEXITSTATUS(status);
    read_all("stdout.txt", out);
    read_all("stderr.txt", err);
}

#define EVAL(...) run((char *[]){"kiln", "eval", "--device", "cpu", __VA_ARGS__, NULL})

static void expect_output(const char *want)
{
    if (exit_status != 0 || strcmp(out, want) != 0 || err[0] != '\0')
        fail_msg("status %d, stderr '%s', stdout\n%s\ninstead of\n%s", exit_status, err, out, want);
}

static void expect_refusal(int status, const char *words)
{
    if (exit_status != status || strstr(err, words) == NULL || strncmp(err, "kiln: ", 6) != 0 ||
        out[0] != '\0')
        fail_msg("want status %d and '%s', got %d, '%s', stdout '%s'", status, words, exit_status,
                 err, out);
}

static void write_npy(const char *path, const char *shape, const float *data, size_t count)
{
    char header[119];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    memset(header, ' ', sizeof header);
    const int length = snprintf(header, sizeof header,
                                "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape);
    header[length] = ' ';
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
    fwrite(header, 1, 118, f);
    fwrite(data, sizeof *data, count, f);
    fclose(f);
}

static void test_cli_eval__prints_results(void **state)
{
    (void)state;
    EVAL("sum(x * y, axis=1)", "x=a.npy", "y=b.npy");
    expect_output("[14. 32.]\n");
    EVAL("x + k, x > 2", "x=b.npy", "k=0.5");
    expect_output("result 1 =\n[1.5 2.5 3.5]\nresult 2 =\n[False False  True]\n");
}

static void test_cli_eval__writes_files(void **state)
{
    const float want[3] = {2, 4, 6};
    (void)state;
    EVAL("x * 2, x / 2", "x=b.npy", "-o", "twice.npy", "-o", "half.npy");
    expect_output("");
    const size_t bytes = read_all("twice.npy", out);
    assert_true(bytes > sizeof want);
    assert_memory_equal(out + bytes - sizeof want, want, sizeof want);
    EVAL("x * 2", "x=half.npy");
    expect_output("[1. 2. 3.]\n");
}

static void test_cli_eval__explains_and_shows(void **state)
{
    (void)state;
    EVAL("sqrt(sum(x * x))", "x=a.npy", "--explain");
    assert_int_equal(exit_status, 0);
    assert_non_null(strstr(out, "1 kernel"));
    EVAL("sqrt(sum(x * x))", "x=a.npy", "--dot");
    assert_int_equal(exit_status, 0);
    assert_memory_equal(out, "digraph", 7);
    EVAL("sqrt(x)", "x=a.npy", "--show-source");
    assert_int_equal(exit_status, 0);
    assert_non_null(strstr(out, "sqrt("));
    EVAL("sqrt(x)", "x=a.npy", "--time", "3");
    assert_int_equal(exit_status, 0);
    assert_non_null(strstr(out, "expression on cpu: median of 3 runs"));
}

static void test_cli_eval__failures_show_the_place(void **state)
{
    (void)state;
    EVAL("x + sqr(y)", "x=a.npy", "y=b.npy");
    expect_refusal(1, "column 5: there is no function `sqr`\nx + sqr(y)\n    ^~~\n");
    EVAL("x[:, :2] + x", "x=a.npy");
    expect_refusal(1, "(2, 2) and (2, 3)");
    assert_non_null(strstr(err, "x[:, :2] + x\n         ^\n"));
    EVAL("x + 1", "x=missing.npy");
    expect_refusal(1, "missing.npy");
}

static void test_cli_eval__wrong_usage_is_named(void **state)
{
    (void)state;
    run((char *[]){"kiln", "eval", NULL});
    expect_refusal(2, "an expression is missing");
    EVAL("x", "a.npy");
    expect_refusal(2, "'a.npy' is not of the form NAME=VALUE");
    EVAL("x", "x=a.txt");
    expect_refusal(2, "neither a .npy file nor a number");
    EVAL("x", "x=a.npy", "x=b.npy");
    expect_refusal(2, "given before");
    EVAL("x + 1", "x=a.npy", "-o", "1.npy", "-o", "2.npy");
    expect_refusal(2, "1 result, but 2 times -o");
    EVAL("x", "x=a.npy", "--explain", "--time", "3");
    expect_refusal(2, "exclude each other");
    EVAL("x", "x=a.npy", "--time", "none");
    expect_refusal(2, "--time none");
}

/* Every option that help lists stands in the manual page and in docs/cli.md. */
static void test_cli_eval__options_are_documented(void **state)
{
    static const char *const options[] = {"--explain", "--dot"};
    static char manual[TEXT_MAX], page[TEXT_MAX];
    char path[PATH_BYTES];
    (void)state;
    EVAL("--help");
    assert_int_equal(exit_status, 0);
    read_all(test_data("../tools/kiln.1", path, sizeof path), manual);
    read_all(test_data("../docs/cli.md", path, sizeof path), page);
    assert_non_null(strstr(manual, "\\-\\-explain"));
    assert_non_null(strstr(manual, "\\-\\-dot"));
    for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
        assert_non_null(strstr(out, options[k]));
        assert_non_null(strstr(page, options[k]));
    }
}

static int make_folder(void **state)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {1, 2, 3};
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    write_npy("a.npy", "(2, 3)", a, 6);
    write_npy("b.npy", "(3,)", b, 3);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const files[] = {"a.npy",    "b.npy",      "twice.npy",
                                        "half.npy", "stdout.txt", "stderr.txt"};
    (void)state;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        unlink(files[k]);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_eval__prints_results),
        cmocka_unit_test(test_cli_eval__writes_files),
        cmocka_unit_test(test_cli_eval__explains_and_shows),
        cmocka_unit_test(test_cli_eval__failures_show_the_place),
        cmocka_unit_test(test_cli_eval__wrong_usage_is_named),
        cmocka_unit_test(test_cli_eval__options_are_documented),
    };
    const char *given = getenv("KILN_TOOL");
    char self[PATH_BYTES];
    (void)argc;
    if (given == NULL) {
        if (realpath(argv[0], self) == NULL)
            return 1;
        *strrchr(self, '/') = '\0';
        snprintf(tool, sizeof tool, "%.*s/../kiln", PATH_BYTES - 16, self);
        given = tool;
    }
    if (realpath(given, self) == NULL) {
        fprintf(stderr, "%s is missing\n", given);
        return 1;
    }
    snprintf(tool, sizeof tool, "%s", self);
    return cmocka_run_group_tests_name("test_cli_eval", tests, make_folder, remove_folder);
}
