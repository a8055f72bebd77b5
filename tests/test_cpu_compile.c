/*
 * test_cpu_compile.c - the cpu backend's compiler: running programs, finding one, compiling.
 *
 * Sources are written by hand, so that nothing of code generation is needed.
 */
#define _GNU_SOURCE
#include "cpu_env.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* ---- programs ---- */

static kiln__cpu_end run(const char *script, kiln__buf *log, int timeout_ms, int *code)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const set[] = {"KILN_TEST_SET=here", "HOME=elsewhere", NULL};
    const char *const drop[] = {"KILN_TEST_DROP", NULL};
    const kiln__cpu_child child = {"/bin/sh", argv, set, drop, -1, true, timeout_ms, NULL, NULL};

    return kiln__cpu_run(&child, log, code);
}

static void test_cpu_compile__a_program_is_heard_and_its_status_told(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;

    (void)state;
    setenv("KILN_TEST_DROP", "gone", 1);
    setenv("KILN_TEST_STAYS", "stays", 1);
    assert_int_equal(run("echo out; echo err >&2; echo $KILN_TEST_SET $HOME $KILN_TEST_DROP "
                         "$KILN_TEST_STAYS; read x; echo \"[$x]\"; exit 7",
                         &log, 10000, &code),
                     KILN__CPU_EXITED);
    assert_int_equal(code, 7);
    assert_string_equal(log.text, "out\nerr\nhere elsewhere stays\n[]\n");
    kiln__buf_clear(&log);
    assert_int_equal(run("kill -9 $$", &log, 10000, &code), KILN__CPU_KILLED);
    assert_int_equal(code, 9);
    kiln__buf_clear(&log);
}

static void test_cpu_compile__a_program_that_is_not_there_is_not_run(void **state)
{
    const char *const argv[] = {"x", NULL};
    const kiln__cpu_child child = {"/nowhere/at/all", argv, NULL, NULL, -1, false, 1000, NULL, NULL};
    kiln__buf log = KILN__BUF_INIT;
    int code = 0;

    (void)state;
    kiln__cpu_end end = kiln__cpu_run(&child, &log, &code);
    /* Where vfork is only emulated (valgrind), the child tells by its exit status. */
    if (end == KILN__CPU_EXITED)
        assert_int_equal(code, 127);
    else
        assert_true(end == KILN__CPU_NOT_RUN && code == ENOENT);
}

static void test_cpu_compile__a_flood_of_output_is_bounded_and_does_not_block(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;

    (void)state;
    log.max_bytes = 10000;
    assert_int_equal(run("yes | head -c 3000000; exit 3", &log, 20000, &code), KILN__CPU_EXITED);
    assert_int_equal(code, 3);
    assert_int_equal(log.length, 10000);
    assert_false(log.failed);
    assert_memory_equal(log.text + 9998, "y\n", 2);
    kiln__buf_clear(&log);
}

/* The shell's child must go as well: it writes its number first, and then nobody has it. */
static void test_cpu_compile__a_late_program_is_ended_with_its_children(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = 0, patience_ms = 300;

    (void)state;
    /* On a busy machine a shell may not say anything within such a time: then it has more. */
    do {
        const double start = kiln__now_us();
        kiln__buf_clear(&log);
        assert_int_equal(run("sleep 60 & echo $!; wait", &log, patience_ms, &code), KILN__CPU_TIMED_OUT);
        assert_true(kiln__now_us() - start < 25e6 + 1e3 * patience_ms); /* not when the child ends by itself */
        patience_ms *= 10;
    } while (log.length == 0 && patience_ms < 100000);
    pid_t child = (pid_t)atoi(log.text);
    assert_true(child > 1);
    for (int k = 0; k < 2000 && kill(child, 0) == 0; k++) {
        /* It stays a zombie until init takes it; what it runs is over. */
        char path[64], stat[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *file = fopen(path, "re");
        if (file == NULL || fgets(stat, sizeof stat, file) == NULL || strstr(stat, ") Z") != NULL) {
            if (file != NULL)
                fclose(file);
            kiln__buf_clear(&log);
            return;
        }
        fclose(file);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    assert_int_not_equal(kill(child, 0), 0);
    kiln__buf_clear(&log);
}

/* A server that a program leaves behind keeps the pipe open; the program's own end counts. */
static void test_cpu_compile__a_child_left_behind_delays_nobody(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;
    double start = kiln__now_us();

    (void)state;
    assert_int_equal(run("sleep 60 & exit 4", &log, 120000, &code), KILN__CPU_EXITED);
    assert_int_equal(code, 4);
    assert_true(kiln__now_us() - start < 40e6);
    kiln__buf_clear(&log);
}

static void test_cpu_compile__a_host_that_ignores_sigchld_still_compiles(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    kiln__buf log = KILN__BUF_INIT;
    kiln__compile_result result;
    int code = 0;

    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    assert_int_equal(run("exit 1", &log, 10000, &code), KILN__CPU_UNKNOWN);
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL), KILN_OK);
    assert_true(result.bytes > 0);
    compile_result_free(&result);
    assert_int_equal(compile("nonsense", kiln__cpu_target(), NULL, 0, &result, NULL),
                     KILN_ERR_COMPILE);
    assert_non_null(result.log);
    compile_result_free(&result);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    kiln__buf_clear(&log);
}

/* ---- finding ---- */

static void test_cpu_compile__without_a_compiler_the_names_looked_for_are_told(void **state)
{
    kiln__cxx cxx;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(kiln__cxx_find(NULL, "/nowhere:relative", &cxx, &err), KILN_ERR_NO_COMPILER);
    assert_non_null(strstr(err.message, "c++"));
    assert_non_null(strstr(err.message, "clang++"));
    assert_non_null(strstr(err.message, "KILN_CXX"));
    assert_int_equal(kiln__cxx_find("/etc/passwd", NULL, &cxx, &err), KILN_ERR_NO_COMPILER);
    assert_non_null(strstr(err.message, "/etc/passwd"));
    assert_int_equal(kiln__cxx_find("no-such-compiler", NULL, &cxx, &err), KILN_ERR_NO_COMPILER);
    assert_non_null(strstr(err.message, "no-such-compiler"));
    kiln_error_clear(&err);
}

static void test_cpu_compile__relative_folders_of_a_path_are_passed_over(void **state)
{
    char here[300], program[400], before[1024];
    kiln__cxx cxx;

    (void)state;
    snprintf(here, sizeof here, "%s/relative", folder);
    assert_int_equal(mkdir(here, 0700), 0);
    snprintf(program, sizeof program, "%s/c++", here);
    write_text(program, "#!/bin/sh\necho g++ 1.2.3\n", 0700);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(here), 0);
    kiln_status status = kiln__cxx_find(NULL, ".::", &cxx, NULL);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, KILN_ERR_NO_COMPILER);
    /* The same folder by its absolute name is taken. */
    assert_int_equal(kiln__cxx_find(NULL, here, &cxx, NULL), KILN_OK);
    assert_string_equal(cxx.brief, "g++ 1.2.3");
    assert_int_equal(cxx.major, 1);
}

/* A script says nothing by its file, so it is asked; what it answers is its identity. */
static void test_cpu_compile__a_script_is_known_by_what_it_says(void **state)
{
    char first[300], second[300];
    kiln__cxx a, b;

    (void)state;
    snprintf(first, sizeof first, "%s/my-c++", folder);
    snprintf(second, sizeof second, "%s/other-c++", folder);
    write_text(first, "#!/bin/sh\necho 'Foo clang version 17.0.6 (bar)'\n", 0700);
    write_text(second, "#!/bin/sh\necho 'Foo clang version 17.0.6 (bar)'\n", 0700);
    assert_int_equal(kiln__cxx_find(first, NULL, &a, NULL), KILN_OK);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_OK);
    assert_true(a.clang);
    assert_string_equal(a.brief, "clang++ 17.0.6");
    assert_string_equal(a.id, b.id);
    /* What it adds to a command is part of what is made. */
    write_text(second, "#!/bin/sh\n: -DV=2\necho 'Foo clang version 17.0.6 (bar)'\n", 0700);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_OK);
    assert_string_not_equal(a.id, b.id);
    write_text(second, "#!/bin/sh\necho 'g++ (Foo 9.4.0-1) 9.4.0'\n", 0700);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_OK);
    assert_false(b.clang);
    assert_string_equal(b.brief, "g++ 9.4.0");
    assert_string_not_equal(a.id, b.id);
    write_text(second, "#!/bin/sh\nexit 1\n", 0700);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_ERR_NO_COMPILER);
}

static void test_cpu_compile__identity_names_no_path_and_needs_no_run(void **state)
{
    const char *id = NULL, *again = NULL;
    const kiln__cxx *cxx = NULL;
    char text[160];

    (void)state;
    assert_int_equal(cpu->compiler_identity(&id, NULL), KILN_OK);
    assert_int_equal(cpu->compiler_identity(&again, NULL), KILN_OK);
    assert_ptr_equal(id, again);
    assert_null(strchr(id, '/'));
    assert_true(strlen(id) > 10);
    assert_int_equal(kiln__cxx_get(&cxx, NULL), KILN_OK);
    kiln__cxx_describe(true, text, sizeof text);
    assert_int_equal(strncmp(text, cxx->clang ? "clang++ " : "g++ ", cxx->clang ? 8 : 4), 0);
    assert_non_null(strchr(text, '.'));
}

/* ---- compiling ---- */

static void test_cpu_compile__a_compiled_kernel_computes(void **state)
{
    enum { N = 1000 };
    static float x[N], y[N], z[N + 1];
    struct {
        const float *x, *y;
        float *z;
    } args = {x, y, z};
    void *module = NULL;

    (void)state;
    for (int k = 0; k < N; k++) {
        x[k] = (float)k;
        y[k] = (float)(k % 7);
    }
    z[N] = -1.0f;
    build(axpy_source, &module)(&args, 0, N);
    for (int k = 0; k < N; k++)
        assert_true(z[k] == (float)(k * (k % 7) + 1));
    assert_true(z[N] == -1.0f);
    kiln__cpu_module_unload(NULL, module);
}

static void test_cpu_compile__errors_keep_the_positions_of_line_directives(void **state)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(KERNEL "#line 1 \"op\"\nz = x + undeclared;\n} }\n",
                             kiln__cpu_target(), NULL, 0, &result, &err),
                     KILN_ERR_COMPILE);
    assert_non_null(result.log);
    assert_non_null(strstr(result.log, "op:1:9: error: "));
    assert_non_null(strstr(result.log, "undeclared"));
    assert_null(strchr(result.log, '\033'));
    assert_null(result.binary);
    assert_int_equal(err.status, KILN_ERR_COMPILE);
    assert_int_equal(entries_in(tmpdir), 0);
    compile_result_free(&result);
    kiln_error_clear(&err);
}

static void test_cpu_compile__undefined_functions_are_compile_errors(void **state)
{
    kiln__compile_result result;

    (void)state;
    assert_int_equal(compile("extern \"C\" float nobody_has_this(float);\n" KERNEL
                             "z = nobody_has_this(x);\n} }\n",
                             kiln__cpu_target(), NULL, 0, &result, NULL),
                     KILN_ERR_COMPILE);
    assert_non_null(strstr(result.log, "nobody_has_this"));
    assert_int_equal(entries_in(tmpdir), 0);
    compile_result_free(&result);
}

/* The fast link has neither the C++ library nor start files; what needs them gets them. */
static void test_cpu_compile__the_cxx_library_is_linked_when_needed(void **state)
{
    static const char source[] =
        "struct Counter { int n; Counter() : n(40) {} ~Counter() { n = 0; } };\n"
        "static Counter counter;\n"
        "extern \"C\" __attribute__((visibility(\"default\")))\n"
        "void kernel(const void *p, long b, long e) {\n"
        "  int *q = new int[4]; q[0] = counter.n + 2; **(int *const *)p = q[0]; delete[] q; }\n";
    void *module = NULL;
    int value = 0, *args = &value;

    (void)state;
    build(source, &module)(&args, 0, 1);
    assert_int_equal(value, 42);
    kiln__cpu_module_unload(NULL, module);
}

static void test_cpu_compile__libm_and_wide_division_are_linked(void **state)
{
    static const char source[] =
        "extern \"C\" double cbrt(double) noexcept;\n"
        "extern \"C\" __attribute__((visibility(\"default\")))\n"
        "void kernel(const void *p, long b, long e) {\n"
        "  double *d = *(double *const *)p; d[0] = cbrt(d[0]);\n"
        "  unsigned __int128 big = ((unsigned __int128)b << 64) + 5;\n"
        "  d[1] = (double)(unsigned long)(big / (unsigned __int128)e); }\n";
    void *module = NULL;
    double d[2] = {27.0, 0.0}, *args = d;
    volatile double number = 27.0; /* not folded: the expected value is this machine's libm's */

    (void)state;
    /* (3 * 2^64 + 5) / 2^60 = 48 and a rest */
    build(source, &module)(&args, 3, (int64_t)1 << 60);
    assert_true(d[0] == cbrt(number));
    assert_true(d[1] == 48.0);
    kiln__cpu_module_unload(NULL, module);
}

/* What GCC 12 says when the machine, not the source, is at fault must not be remembered as a refusal. */
static void test_cpu_compile__what_the_machine_lacks_is_no_refusal(void **state)
{
    static const struct {
        const char *says;
        kiln_status status;
    } cases[] = {
        {"cc1plus: out of memory allocating 36000 bytes after a total of 2256896 bytes",
         KILN_ERR_NO_MEMORY},
        {"c++: fatal error: cannot execute '/usr/lib/cc1plus': vfork: Resource temporarily "
         "unavailable", KILN_ERR_NO_MEMORY},
        {"collect2: fatal error: vfork: Cannot allocate memory", KILN_ERR_NO_MEMORY},
        {"/usr/bin/ld: final link failed: memory exhausted", KILN_ERR_NO_MEMORY},
        {"cc1plus: error while loading shared libraries: libgmp.so.10: failed to map segment from "
         "shared object", KILN_ERR_NO_MEMORY},
        {"g++: fatal error: cannot execute 'as': execvp: No such file or directory",
         KILN_ERR_NO_COMPILER},
        {"collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]",
         KILN_ERR_IO},
        {"kernel:1:1: error: 'a' was not declared in this scope", KILN_ERR_COMPILE},
    };
    char path[300], script[400];

    (void)state;
    snprintf(path, sizeof path, "%s/failing-c++", folder);
    for (size_t k = 0; k < KILN_COUNT_OF(cases); k++) {
        int code = 0;
        pid_t child = -1;
        snprintf(script, sizeof script, "#!/bin/sh\n[ \"$1\" = --version ] && echo 'g++ 12.2.0' && "
                 "exit\ncat >/dev/null\necho \"%s\" >&2\nexit 1\n", cases[k].says);
        write_text(path, script, 0700);
        /* The compiler is found once a process. */
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            char *const argv[] = {"test_cpu_compile", path, NULL};
            execv("/proc/self/exe", argv);
            _exit(255);
        }
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFEXITED(code));
        assert_int_equal(-WEXITSTATUS(code), cases[k].status);
    }
}

/* The status of one compilation by `cxx`, negated, as a process of its own. */
static int compile_with(const char *cxx)
{
    kiln__compile_result result;

    setenv("KILN_CXX", cxx, 1);
    kiln_status status = compile("int v;\n", kiln__cpu_target(), NULL, 0, &result, NULL);
    compile_result_free(&result);
    return -(int)status;
}

static void test_cpu_compile__options_of_the_user_come_last(void **state)
{
    const char *const options[] = {"-DVALUE=7", "-std=c++20", "--maxrregcount=32", "-lineinfo"};
    kiln__compile_result result;

    (void)state;
    assert_int_equal(compile("static_assert(__cplusplus > 201703L); int v = VALUE;\n",
                             kiln__cpu_target(), options, 4, &result, NULL),
                     KILN_OK);
    compile_result_free(&result);
    assert_string_equal(kiln__cxx_option("--use_fast_math"),
                        "-funsafe-math-optimizations");
    assert_string_equal(kiln__cxx_option("-fmad=false"), "-ffp-contract=off");
    assert_string_equal(kiln__cxx_option("-DN=4"), "-DN=4");
    assert_null(kiln__cxx_option("-arch=sm_90"));
    assert_null(kiln__cxx_option("--gpu-architecture=sm_90"));
}

static void test_cpu_compile__options_that_redirect_are_refused(void **state)
{
    static const char *const bad[] = {"-o/tmp/x", "-c", "-S", "-x", "file.cpp", "@file", "-",
                                      "-wrapper", "-fplugin=x.so", "", "-MD", "-save-temps"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(bad); k++) {
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;
        assert_int_equal(compile("int v;\n", kiln__cpu_target(), &bad[k], 1, &result, &err),
                         KILN_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, bad[k]));
        assert_null(result.binary);
        kiln_error_clear(&err);
    }
    assert_int_equal(entries_in(tmpdir), 0);
}

/* Warnings are off unless asked for, and then they are in the log of a success. */
static void test_cpu_compile__warnings_are_kept_when_asked_for(void **state)
{
    const char *const options[] = {"-Wunused-variable"};
    kiln__compile_result result;

    (void)state;
    assert_int_equal(compile("void f() { int unused_one; }\n", kiln__cpu_target(), NULL, 0, &result,
                             NULL),
                     KILN_OK);
    assert_null(result.log);
    compile_result_free(&result);
    assert_int_equal(compile("void f() { int unused_one; }\n", kiln__cpu_target(), options, 1,
                             &result, NULL),
                     KILN_OK);
    assert_non_null(result.log);
    assert_non_null(strstr(result.log, "unused_one"));
    compile_result_free(&result);
}

static void test_cpu_compile__folders_of_cpath_are_searched_and_listed(void **state)
{
    const char *const *dirs = cpu->compiler_include_dirs();
    kiln__compile_result result;

    (void)state;
    assert_string_equal(dirs[0], include);
    assert_null(dirs[1]);
    assert_int_equal(compile("#include <kiln_test_header.h>\nint v = KILN_TEST_HEADER_VALUE;\n",
                             kiln__cpu_target(), NULL, 0, &result, NULL),
                     KILN_OK);
    compile_result_free(&result);
}

static void test_cpu_compile__equal_sources_give_equal_binaries(void **state)
{
    kiln__compile_result a, b;

    (void)state;
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &a, NULL), KILN_OK);
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &b, NULL), KILN_OK);
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.binary, b.binary, a.bytes);
    compile_result_free(&a);
    compile_result_free(&b);
}

static void test_cpu_compile__an_unusable_tmpdir_falls_back_to_tmp(void **state)
{
    kiln__compile_result result;

    (void)state;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    kiln_status status = compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL);
    setenv("TMPDIR", tmpdir, 1);
    assert_int_equal(status, KILN_OK);
    compile_result_free(&result);
}

/* A child tries, as the limit ends a process by a signal: for a source, and for a kernel to load. */
static void test_cpu_compile__the_file_size_limit_kills_nobody(void **state)
{
    const struct rlimit limit = {100, 100};
    kiln__compile_result kernel, result;
    void *module = NULL;
    int code = 0;

    (void)state;
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &kernel, NULL), KILN_OK);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(2);
        if (cpu->module_load(NULL, kernel.binary, kernel.bytes, &module, NULL) != KILN_ERR_FORMAT)
            _exit(3);
        _exit(compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL) == KILN_ERR_IO ? 0
                                                                                              : 4);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    compile_result_free(&kernel);
    assert_int_equal(entries_in(tmpdir), 0);
}

static void test_cpu_compile__the_key_names_compiler_and_flags_and_no_path(void **state)
{
    static const char *const names[] = {"COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH",
                                        "SOURCE_DATE_EPOCH"};
    char *values[KILN_COUNT_OF(names)] = {NULL};
    kiln__buf a = KILN__BUF_INIT, b = KILN__BUF_INIT;
    const char *id = NULL;

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        values[k] = getenv(names[k]) != NULL ? strdup(getenv(names[k])) : NULL;
        unsetenv(names[k]);
    }
    assert_int_equal(cpu->compiler_identity(&id, NULL), KILN_OK);
    cpu->compiler_key(&a);
    cpu->compiler_key(&b);
    assert_string_equal(a.text, b.text);
    assert_non_null(strstr(a.text, id));
    assert_non_null(strstr(a.text, " -O3 "));
    assert_null(strchr(a.text, '/'));
    /* Each that the compiler would heed makes another key. */
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        setenv(names[k], "/some/where", 1);
        kiln__buf_clear(&b);
        cpu->compiler_key(&b);
        assert_string_not_equal(a.text, b.text);
        assert_non_null(strstr(b.text, "/some/where"));
        unsetenv(names[k]);
        if (values[k] != NULL)
            setenv(names[k], values[k], 1);
        free(values[k]);
    }
    kiln__buf_clear(&a);
    kiln__buf_clear(&b);
}

#ifdef KILN_TEST_HOOKS
/* Each allocation of a compile fails once. It must say so, or do without it, and leak nothing. */
static void test_cpu_compile__compiling_survives_each_allocation_failure(void **state)
{
    const kiln__cxx *cxx = NULL;
    bool clean = false;

    (void)state;
    assert_int_equal(kiln__cxx_get(&cxx, NULL), KILN_OK);
    for (size_t nth = 0; !clean && nth < 64; nth++) {
        size_t before = kiln__test_alloc_live();
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;
        kiln__test_alloc_fail_at(nth);
        kiln_status status = compile("int v;\n", kiln__cpu_target(), NULL, 0, &result, &err);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        assert_int_equal(status == KILN_OK, result.binary != NULL);
        clean = status == KILN_OK;
        compile_result_free(&result);
        kiln_error_clear(&err);
        assert_int_equal(kiln__test_alloc_live(), before);
        assert_int_equal(entries_in(tmpdir), 0);
    }
    assert_true(clean);
}
#endif

#define T(name) cmocka_unit_test(test_cpu_compile__##name)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(a_program_is_heard_and_its_status_told),
        T(a_program_that_is_not_there_is_not_run),
        T(a_flood_of_output_is_bounded_and_does_not_block),
        T(a_late_program_is_ended_with_its_children),
        T(a_child_left_behind_delays_nobody),
        T(a_host_that_ignores_sigchld_still_compiles),
        T(without_a_compiler_the_names_looked_for_are_told),
        T(relative_folders_of_a_path_are_passed_over),
        T(a_script_is_known_by_what_it_says),
        T(identity_names_no_path_and_needs_no_run),
        T(a_compiled_kernel_computes),
        T(errors_keep_the_positions_of_line_directives),
        T(undefined_functions_are_compile_errors),
        T(the_cxx_library_is_linked_when_needed),
        T(libm_and_wide_division_are_linked),
        T(what_the_machine_lacks_is_no_refusal),
        T(options_of_the_user_come_last),
        T(options_that_redirect_are_refused),
        T(warnings_are_kept_when_asked_for),
        T(folders_of_cpath_are_searched_and_listed),
        T(equal_sources_give_equal_binaries),
        T(an_unusable_tmpdir_falls_back_to_tmp),
        T(the_key_names_compiler_and_flags_and_no_path),
        T(the_file_size_limit_kills_nobody),
#ifdef KILN_TEST_HOOKS
        T(compiling_survives_each_allocation_failure),
#endif
    };

    if (argc == 2)
        return compile_with(argv[1]);
    return cmocka_run_group_tests_name("test_cpu_compile", tests, prepare, clean_up);
}
