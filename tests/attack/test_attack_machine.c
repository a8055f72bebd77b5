/*
 * test_attack_machine.c - what a hostile or failing surrounding does: compilers that break off for
 * reasons of their own, and the environment of a set-uid program.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "device/cpu/cpu.h"
#include "in_child.h"
#include "kiln/kiln.h"

#define NOBODY 65534

static char base[64];

static int setup(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/kiln-test-machine-XXXXXX");
    return mkdtemp(base) != NULL && chmod(base, 0755) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

/* ---- whose fault it was ---- */

/* What compilers, assemblers and linkers say, as they say it. */
static const char *const passing_logs[] = {
    "op:3:7: internal compiler error: Segmentation fault\n"
    "Please submit a full bug report, with preprocessed source (by using -freport-bug).\n",
    "op: In function 'void k()':\nop:1:1: internal compiler error: in expand_expr, at expr.cc:9\n",
    "g++: internal compiler error: File size limit exceeded signal terminated program cc1plus\n",
    "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
    "cc1plus: out of memory allocating 65536 bytes after a total of 1048576 bytes\n",
    "op:1:10: fatal error: v.h: Too many open files\ncompilation terminated.\n",
    "op:1:10: fatal error: v.h: Input/output error\ncompilation terminated.\n",
    "op:1:10: fatal error: v.h: Cannot allocate memory\n",
    "op:9:1: fatal error: error writing to /tmp/cc1.s: No space left on device\n",
    "op:9:1: fatal error: /tmp/cc1.s: Disk quota exceeded\n",
    "Assembler messages:\nFatal error: can't create /tmp/cc1.o: Input/output error\n",
    "/usr/bin/ld: final link failed: No space left on device\n"
    "collect2: error: ld returned 1 exit status\n",
    "collect2: fatal error: ld terminated with signal 9 [Killed]\ncompilation terminated.\n",
    "collect2: error: ld returned 1 exit status\n",
    "PLEASE submit a bug report to https://bugs.llvm.org/ and include the crash backtrace.\n"
    "clang: error: clang frontend command failed with exit code 139 (use -v to see invocation)\n",
    "clang: error: unable to execute command: Killed\n"
    "clang: error: linker command failed due to signal (use -v to see invocation)\n",
    "fatal error: error in backend: Cannot select: t1: i64\n",
    "LLVM ERROR: out of memory\n",
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    "kiln.cu(1): catastrophic error: out of memory\n",
    "kiln.cu(1): internal error: assertion failed at: \"x.cpp\", line 3\n",
    "nvrtc: error: failed to load builtins.\n",
    "",
};

static const char *const lasting_logs[] = {
    "op: In function 'void kiln_kernel()':\nop:1:5: error: 'y' was not declared in this scope\n",
    "op:1:5: error: use of undeclared identifier 'memory'; did you mean 'signal'?\n",
    "op:1: error: expected ';' before '}' token\n",
    "op:1:10: fatal error: missing.h: No such file or directory\ncompilation terminated.\n",
    "op:1:2: error: #error \"not here\"\n",
    "<command-line>: error: macro names must be identifiers\n",
    "g++: error: unrecognized command-line option '-fwhat'\n",
    "cc1plus: error: bad value ('x') for '-march=' switch\n",
    "clang: error: unknown argument: '-fwhat'\n",
    "error: unknown target CPU 'x'\n",
    "cc1plus: fatal error: missing.h: No such file or directory\n",
    "/usr/bin/ld: /tmp/cc1.o: in function `f':\nop:1: undefined reference to `missing'\n"
    "collect2: error: ld returned 1 exit status\n",
    "ld.lld: error: undefined symbol: missing\n",
    "/usr/bin/ld: cannot find -lmissing: No such file or directory\n"
    "collect2: error: ld returned 1 exit status\n",
    "op(1): error: identifier \"y\" is undefined\n\n1 error detected in the compilation of \"k\".\n",
    "At end of source: error: expected a \"}\"\n\n1 error detected in the compilation of \"k\".\n",
    "kiln.cu(12): catastrophic error: cannot open source file \"missing.h\"\n",
    "ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)\n",
    "nvrtc: error: invalid value for --gpu-architecture (-arch)\n",
};

static void test_attack_machine__a_breakdown_is_no_refusal(void **state)
{
    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(passing_logs); k++)
        if (kiln__log_blames_source(passing_logs[k]))
            fail_msg("this blames the source: %s", passing_logs[k]);
    for (size_t k = 0; k < KILN_COUNT_OF(lasting_logs); k++)
        if (!kiln__log_blames_source(lasting_logs[k]))
            fail_msg("this does not blame the source: %s", lasting_logs[k]);
}

static const char *said; /* by a compiler that fails once */

static bool tries_again(void)
{
    char path[128], text[2048];
    const int64_t shape[] = {2};
    const double values[] = {1, 2};
    kiln_context *ctx = NULL;
    kiln_elementwise *op = NULL;
    kiln_array *x = NULL, *z = NULL;
    kiln_error err = KILN_ERROR_INIT;
    FILE *file = NULL;

    snprintf(path, sizeof path, "%s/said", base);
    file = fopen(path, "w");
    fputs(said, file);
    fclose(file);
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase \"$*\" in *--version*) exec c++ --version;; esac\n"
             "if test ! -e %s/once; then touch %s/once; cat %s/said >&2; exit 1; fi\nexec c++ \"$@\"\n",
             base, base, base);
    snprintf(path, sizeof path, "%s/compiler", base);
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, 0700);
    setenv("KILN_CXX", path, 1);
    setenv("KILN_CACHE_DIR", base, 1);
    setenv("KILN_DEVICE", "cpu", 1);
    if (kiln_context_create(NULL, &ctx, &err) != KILN_OK ||
        kiln_array_from_host(ctx, KILN_FLOAT64, 1, shape, values, NULL, &x, &err) != KILN_OK ||
        kiln_elementwise_create(ctx, "T x", "T z", "z = x + 1", NULL, &op, &err) != KILN_OK)
        return false;
    const kiln_status first = kiln_call(op, &err, x, &z);
    const kiln_status second = kiln_call(op, &err, x, &z);
    if (first == KILN_ERR_COMPILE || second != KILN_OK)
        fprintf(stderr, "%d, then %d: %s (%s)\n", (int)first, (int)second, err.message, said);
    return first != KILN_ERR_COMPILE && second == KILN_OK;
}

static void test_attack_machine__what_broke_down_is_tried_again(void **state)
{
    for (size_t k = 0; k < KILN_COUNT_OF(passing_logs); k++) {
        said = passing_logs[k];
        in_child(tries_again);
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

/* ---- set-uid programs ---- */

static const char *const variables[] = {"KILN_CXX",      "KILN_RECORD",  "KILN_NVRTC",
                                        "KILN_CACHE_DIR", "KILN_BUNDLES", "KILN_DEVICE",
                                        "CUDA_HOME",     "TMPDIR",       "HOME",
                                        "XDG_CACHE_HOME", "CPATH"};

/* What a set-uid program sees of its caller's environment, and which compiler it runs. */
static int be_privileged(void)
{
    const char *const argv[] = {"/usr/bin/env", NULL};
    const kiln__cpu_child child = {.path = argv[0], .argv = argv, .input_fd = -1,
                                   .hear_stdout = true, .timeout_ms = 20000};
    kiln__buf log = KILN__BUF_INIT;
    kiln__cxx cxx;
    int code = 0;

    if (getauxval(AT_SECURE) == 0)
        return 77;
    if (!kiln__is_privileged())
        return 2;
    for (size_t k = 0; k < KILN_COUNT_OF(variables); k++)
        if (kiln__env(variables[k]) != NULL)
            return 3;
    if (kiln__cxx_find(kiln__env("KILN_CXX"), kiln__env("PATH"), &cxx, NULL) == KILN_OK &&
        strncmp(cxx.path, "/usr/", 5) != 0 && strncmp(cxx.path, "/bin/", 5) != 0)
        return 4;
    /* Nothing of it reaches a compiler either. */
    if (kiln__cpu_run(&child, &log, &code) != KILN__CPU_EXITED || code != 0 || log.length == 0)
        return 5;
    const bool evil = strstr(log.text, "evil") != NULL;
    kiln__buf_clear(&log);
    return evil ? 6 : 0;
}

static void test_attack_machine__a_set_uid_program_trusts_no_environment(void **state)
{
    char command[512], self[256] = "", evil[128];
    int status = 0;
    pid_t child = -1;

    (void)state;
    if (geteuid() != 0 || readlink("/proc/self/exe", self, sizeof self - 1) <= 0) {
        print_message("SKIP: a set-uid program needs root to be made\n");
        skip();
    }
    snprintf(command, sizeof command, "cp %s %s/program && chmod 4755 %s/program", self, base, base);
    assert_int_equal(system(command), 0);
    snprintf(evil, sizeof evil, "%s/evil", base);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t k = 0; k < KILN_COUNT_OF(variables); k++)
            setenv(variables[k], evil, 1);
        setenv("PATH", evil, 1);
        setenv("COMPILER_PATH", evil, 1);
        snprintf(command, sizeof command, "%s/program", base);
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            execl(command, command, "--privileged", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127) {
        print_message("SKIP: set-uid programs are not allowed in /tmp here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--privileged") == 0)
        return be_privileged();

    const struct CMUnitTest tests[] = {
        CASE(test_attack_machine__a_breakdown_is_no_refusal),
        CASE(test_attack_machine__what_broke_down_is_tried_again),
        CASE(test_attack_machine__a_set_uid_program_trusts_no_environment),
    };

    return cmocka_run_group_tests_name("attack_machine", tests, NULL, NULL);
}
