/*
 * test_cpu_device.c - the cpu backend, part by part and then through its table.
 *
 * Expected values come from plain loops written here, from /proc, or from the C library; sources
 * are written by hand, so that nothing of code generation is needed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/cpu/cpu.h"

static const kiln__backend *const cpu = &kiln__backend_cpu;
static char folder[256];  /* of this program, removed at its end */
static char tmpdir[300];  /* what compiles use as TMPDIR */
static char include[300]; /* CPATH */

/* ---- helpers ---- */

static void write_text(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static size_t entries_in(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void open_device(kiln__device *device, int threads)
{
    memset(device, 0, sizeof *device);
    device->backend = cpu;
    device->fork_generation = kiln__fork_generation();
    assert_int_equal(cpu->open(device, 0, threads, NULL), KILN_OK);
}

static kiln_status compile(const char *source, const char *target, const char *const *options,
                           size_t option_count, kiln__compile_result *result, kiln_error *err)
{
    kiln__compile_request request = {{KILN_BACKEND_CPU, ""}, source, options, option_count};

    snprintf(request.target.name, sizeof request.target.name, "%s", target);
    return cpu->compile(&request, result, err);
}

static void compile_result_free(kiln__compile_result *result)
{
    kiln__free(result->binary);
    kiln__free(result->log);
    memset(result, 0, sizeof *result);
}

/* Compile for this machine, load, and find `kernel`. */
static kiln__cpu_entry build(const char *source, void **module_out)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;
    void *entry = NULL;

    if (compile(source, kiln__cpu_target(), NULL, 0, &result, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, module_out, &err),
                     KILN_OK);
    compile_result_free(&result);
    assert_int_equal(kiln__cpu_module_entry(NULL, *module_out, "kernel", &entry, &err), KILN_OK);
    return (kiln__cpu_entry)(uintptr_t)entry;
}

#define KERNEL                                                                                     \
    "struct A { const float *x, *y; float *z; };\n"                                                \
    "extern \"C\" __attribute__((visibility(\"default\")))\n"                                      \
    "void kernel(const void *p, long begin, long end) {\n"                                         \
    "  const A &a = *(const A *)p;\n"                                                              \
    "  for (long k = begin; k < end; k++) {\n"                                                     \
    "    const float &x = a.x[k], &y = a.y[k]; float &z = a.z[k];\n"

static const char axpy_source[] = KERNEL "z = x * y + 1;\n} }\n";

/* ---- target ---- */

/* Whether the first "flags" line of /proc/cpuinfo has every word of `words`. */
static bool cpuinfo_has(const char *words)
{
    char line[16384] = "", word[32];
    FILE *file = fopen("/proc/cpuinfo", "re");
    int used = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line - 1, file) != NULL && strncmp(line, "flags", 5) != 0)
        ;
    fclose(file);
    strcat(line, " ");
    line[strcspn(line, "\n")] = ' ';
    for (; sscanf(words, "%31s%n", word, &used) == 1; words += used) {
        char padded[40];
        snprintf(padded, sizeof padded, " %s ", word);
        if (strstr(line, padded) == NULL)
            return false;
    }
    return true;
}

static void test_cpu_device__target_is_the_level_that_cpuinfo_shows(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const char *expected = "x86-64";

    if (cpuinfo_has("cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"))
        expected = "x86-64-v2";
    if (strcmp(expected, "x86-64-v2") == 0 && cpuinfo_has("avx avx2 bmi1 bmi2 f16c fma abm movbe"))
        expected = "x86-64-v3";
    if (strcmp(expected, "x86-64-v3") == 0 &&
        cpuinfo_has("avx512f avx512bw avx512cd avx512dq avx512vl"))
        expected = "x86-64-v4";
    assert_string_equal(kiln__cpu_target(), expected);
#else
    assert_non_null(kiln__cpu_target_flags(kiln__cpu_target()));
#endif
    assert_null(kiln__cpu_target_flags("x86-64-v9"));
}

static void test_cpu_device__every_target_compiles(void **state)
{
    kiln__target targets[8];
    size_t count = cpu->compiler_targets(targets, 8);

    (void)state;
    assert_in_range(count, 1, 8);
    for (size_t k = 0; k < count; k++) {
        kiln__compile_result result;
        assert_int_equal(compile(axpy_source, targets[k].name, NULL, 0, &result, NULL), KILN_OK);
        assert_null(result.log);
        assert_memory_equal(result.binary, "\177ELF", 4);
        compile_result_free(&result);
    }
}

static void test_cpu_device__an_unknown_target_is_unsupported(void **state)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(axpy_source, "sm_90", NULL, 0, &result, &err), KILN_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "sm_90"));
    kiln_error_clear(&err);
}

static void test_cpu_device__core_count_is_the_affinitys(void **state)
{
    cpu_set_t set, one;
    int first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_in_range(kiln__cpu_core_count(), 1, CPU_COUNT(&set));
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(kiln__cpu_core_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

/* ---- programs ---- */

static kiln__cpu_end run(const char *script, kiln__buf *log, int timeout_ms, int *code)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const char *const set[] = {"KILN_TEST_SET=here", "HOME=elsewhere", NULL};
    const char *const drop[] = {"KILN_TEST_DROP", NULL};
    const kiln__cpu_child child = {"/bin/sh", argv, set, drop, -1, true, timeout_ms};

    return kiln__cpu_run(&child, log, code);
}

static void test_cpu_device__a_program_is_heard_and_its_status_told(void **state)
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

static void test_cpu_device__a_program_that_is_not_there_is_not_run(void **state)
{
    const char *const argv[] = {"x", NULL};
    const kiln__cpu_child child = {"/nowhere/at/all", argv, NULL, NULL, -1, false, 1000};
    kiln__buf log = KILN__BUF_INIT;
    int code = 0;

    (void)state;
    assert_int_equal(kiln__cpu_run(&child, &log, &code), KILN__CPU_NOT_RUN);
    assert_int_equal(code, ENOENT);
}

static void test_cpu_device__a_flood_of_output_is_bounded_and_does_not_block(void **state)
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
static void test_cpu_device__a_late_program_is_ended_with_its_children(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = 0;
    double start = kiln__now_us();

    (void)state;
    assert_int_equal(run("sleep 60 & echo $!; wait", &log, 300, &code), KILN__CPU_TIMED_OUT);
    assert_true(kiln__now_us() - start < 20e6);
    pid_t child = (pid_t)atoi(log.text);
    assert_true(child > 1);
    for (int k = 0; k < 100 && kill(child, 0) == 0; k++) {
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
static void test_cpu_device__a_child_left_behind_delays_nobody(void **state)
{
    kiln__buf log = KILN__BUF_INIT;
    int code = -1;
    double start = kiln__now_us();

    (void)state;
    assert_int_equal(run("sleep 5 & exit 4", &log, 60000, &code), KILN__CPU_EXITED);
    assert_int_equal(code, 4);
    assert_true(kiln__now_us() - start < 3e6);
    kiln__buf_clear(&log);
}

static void test_cpu_device__a_host_that_ignores_sigchld_still_compiles(void **state)
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

static void test_cpu_device__without_a_compiler_the_names_looked_for_are_told(void **state)
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

static void test_cpu_device__relative_folders_of_a_path_are_passed_over(void **state)
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
static void test_cpu_device__a_script_is_known_by_what_it_says(void **state)
{
    char first[300], second[300];
    kiln__cxx a, b;

    (void)state;
    snprintf(first, sizeof first, "%s/my-c++", folder);
    snprintf(second, sizeof second, "%s/other-c++", folder);
    write_text(first, "#!/bin/sh\necho 'Foo clang version 17.0.6 (bar)'\n", 0700);
    write_text(second, "#!/bin/sh\n# another file\necho 'Foo clang version 17.0.6 (bar)'\n", 0700);
    assert_int_equal(kiln__cxx_find(first, NULL, &a, NULL), KILN_OK);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_OK);
    assert_true(a.clang);
    assert_string_equal(a.brief, "clang++ 17.0.6");
    assert_string_equal(a.id, b.id);
    write_text(second, "#!/bin/sh\necho 'g++ (Foo 9.4.0-1) 9.4.0'\n", 0700);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_OK);
    assert_false(b.clang);
    assert_string_equal(b.brief, "g++ 9.4.0");
    assert_string_not_equal(a.id, b.id);
    write_text(second, "#!/bin/sh\nexit 1\n", 0700);
    assert_int_equal(kiln__cxx_find(second, NULL, &b, NULL), KILN_ERR_NO_COMPILER);
}

static void test_cpu_device__identity_names_no_path_and_needs_no_run(void **state)
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

static void test_cpu_device__a_compiled_kernel_computes(void **state)
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

static void test_cpu_device__errors_keep_the_positions_of_line_directives(void **state)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(KERNEL "#line 1 \"op\"\nz = x + undeclared;\n} }\n", kiln__cpu_target(),
                             NULL, 0, &result, &err),
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

static void test_cpu_device__undefined_functions_are_compile_errors(void **state)
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
static void test_cpu_device__the_cxx_library_is_linked_when_needed(void **state)
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

static void test_cpu_device__libm_and_wide_division_are_linked(void **state)
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

static void test_cpu_device__options_of_the_user_come_last(void **state)
{
    const char *const options[] = {"-DVALUE=7", "-std=c++20", "--maxrregcount=32", "-lineinfo"};
    kiln__compile_result result;

    (void)state;
    assert_int_equal(compile("static_assert(__cplusplus > 201703L); int v = VALUE;\n",
                             kiln__cpu_target(), options, 4, &result, NULL),
                     KILN_OK);
    compile_result_free(&result);
    assert_string_equal(kiln__cxx_option("--use_fast_math"), "-ffast-math");
    assert_string_equal(kiln__cxx_option("-fmad=false"), "-ffp-contract=off");
    assert_string_equal(kiln__cxx_option("-DN=4"), "-DN=4");
    assert_null(kiln__cxx_option("-arch=sm_90"));
    assert_null(kiln__cxx_option("--gpu-architecture=sm_90"));
}

static void test_cpu_device__options_that_redirect_are_refused(void **state)
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
static void test_cpu_device__warnings_are_kept_when_asked_for(void **state)
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

static void test_cpu_device__folders_of_cpath_are_searched_and_listed(void **state)
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

static void test_cpu_device__equal_sources_give_equal_binaries(void **state)
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

static void test_cpu_device__an_unusable_tmpdir_falls_back_to_tmp(void **state)
{
    kiln__compile_result result;

    (void)state;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    kiln_status status = compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL);
    setenv("TMPDIR", tmpdir, 1);
    assert_int_equal(status, KILN_OK);
    compile_result_free(&result);
}

static void test_cpu_device__the_key_names_compiler_and_flags_and_no_path(void **state)
{
    kiln__buf a = KILN__BUF_INIT, b = KILN__BUF_INIT;
    const char *id = NULL;

    (void)state;
    assert_int_equal(cpu->compiler_identity(&id, NULL), KILN_OK);
    cpu->compiler_key(&a);
    cpu->compiler_key(&b);
    assert_string_equal(a.text, b.text);
    assert_non_null(strstr(a.text, id));
    assert_non_null(strstr(a.text, " -O3 "));
    assert_null(strchr(a.text, '/'));
    kiln__buf_clear(&a);
    kiln__buf_clear(&b);
}

/* ---- modules ---- */

static void returning(char *text, size_t bytes, int value)
{
    snprintf(text, bytes,
             "extern \"C\" __attribute__((visibility(\"default\")))\n"
             "void kernel(const void *p, long, long) { **(int *const *)p = %d; }\n",
             value);
}

/* The loader must never take a new module for an old one, whatever descriptors are reused. */
static void test_cpu_device__modules_loaded_in_turn_are_never_mixed_up(void **state)
{
    enum { COUNT = 3, TURNS = 30 };
    kiln__compile_result result[COUNT];
    void *kept[COUNT] = {NULL};
    int value = 0, *args = &value;
    char source[256];

    (void)state;
    for (int k = 0; k < COUNT; k++) {
        returning(source, sizeof source, 100 + k);
        assert_int_equal(compile(source, kiln__cpu_target(), NULL, 0, &result[k], NULL), KILN_OK);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        int k = turn % COUNT;
        void *module = NULL, *entry = NULL;
        assert_int_equal(kiln__cpu_module_load(NULL, result[k].binary, result[k].bytes, &module,
                                               NULL),
                         KILN_OK);
        assert_int_equal(kiln__cpu_module_entry(NULL, module, "kernel", &entry, NULL), KILN_OK);
        ((kiln__cpu_entry)(uintptr_t)entry)(&args, 0, 1);
        assert_int_equal(value, 100 + k);
        if (turn % 2 == 0 && kept[k] == NULL)
            kept[k] = module;
        else
            kiln__cpu_module_unload(NULL, module);
    }
    for (int k = 0; k < COUNT; k++) {
        kiln__cpu_module_unload(NULL, kept[k]);
        compile_result_free(&result[k]);
    }
}

static void test_cpu_device__damaged_binaries_are_refused(void **state)
{
    kiln__compile_result result;
    void *module = NULL, *entry = NULL;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL), KILN_OK);
    for (size_t bytes = 0; bytes < 8192; bytes = bytes * 2 + 1)
        assert_int_equal(kiln__cpu_module_load(NULL, result.binary, bytes, &module, NULL),
                         KILN_ERR_FORMAT);
    assert_null(module);
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, &module, &err),
                     KILN_OK);
    assert_int_equal(kiln__cpu_module_entry(NULL, module, "absent", &entry, &err),
                     KILN_ERR_INTERNAL);
    assert_null(entry);
    assert_non_null(strstr(err.message, "absent"));
    kiln__cpu_module_unload(NULL, module);
    result.binary[18] ^= 0x55; /* e_machine */
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, &module, &err),
                     KILN_ERR_FORMAT);
    compile_result_free(&result);
    kiln_error_clear(&err);
}

/* ---- threads ---- */

typedef struct marks {
    atomic_uchar *seen;
    int64_t together;
    int64_t units;
    atomic_int calls, misaligned, threads;
    pthread_t caller;
} marks;

static void mark(const void *args, int64_t begin, int64_t end)
{
    marks *m = *(marks *const *)args;

    atomic_fetch_add(&m->calls, 1);
    if (begin % m->together != 0 || (end % m->together != 0 && end != m->units) || begin >= end)
        atomic_fetch_add(&m->misaligned, 1);
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_fetch_add(&m->threads, 1);
    for (int64_t k = begin; k < end; k++)
        atomic_fetch_add(&m->seen[k], 1);
}

static void check_team_run(kiln__team *team, int64_t units, int64_t together)
{
    marks m = {.together = together, .units = units, .caller = pthread_self()}, *args = &m;

    m.seen = calloc((size_t)units + 1, 1);
    assert_non_null(m.seen);
    kiln__team_run(team, mark, &args, units, together);
    for (int64_t k = 0; k < units; k++)
        if (m.seen[k] != 1)
            fail_msg("unit %lld of %lld (together %lld) ran %d times", (long long)k,
                     (long long)units, (long long)together, m.seen[k]);
    assert_int_equal(m.seen[units], 0);
    assert_int_equal(m.misaligned, 0);
    if (units <= together)
        assert_int_equal(m.threads, 0);
    free(m.seen);
}

static void test_cpu_device__every_unit_runs_exactly_once(void **state)
{
    static const int threads[] = {1, 2, 3, 8, 70};
    static const int64_t units[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 1000, 99991};
    static const int64_t together[] = {1, 2, 8, 32, 1000};

    (void)state;
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++) {
        kiln__team *team = NULL;
        assert_int_equal(kiln__team_create(threads[t], &team, NULL), KILN_OK);
        assert_int_equal(kiln__team_threads(team), threads[t]);
        for (size_t u = 0; u < KILN_COUNT_OF(units); u++)
            for (size_t k = 0; k < KILN_COUNT_OF(together); k++)
                check_team_run(team, units[u], together[k]);
        kiln__team_destroy(team, false);
    }
}

/* Two threads that wait for each other inside a kernel: both must be running. */
static void meet(const void *args, int64_t begin, int64_t end)
{
    atomic_int *arrived = *(atomic_int *const *)args;
    double start = kiln__now_us();

    (void)end;
    if (begin != 0 && begin != 1)
        return;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < 2 && kiln__now_us() - start < 20e6)
        sched_yield();
}

static void test_cpu_device__threads_work_side_by_side(void **state)
{
    kiln__team *team = NULL;
    atomic_int arrived = 0, *args = &arrived;
    double start = kiln__now_us();

    (void)state;
    assert_int_equal(kiln__team_create(2, &team, NULL), KILN_OK);
    kiln__team_run(team, meet, &args, 2, 1);
    assert_int_equal(arrived, 2);
    assert_true(kiln__now_us() - start < 20e6);
    kiln__team_destroy(team, false);
}

typedef struct hammer {
    kiln__team *team;
    int seed;
} hammer;

static void add_one(const void *args, int64_t begin, int64_t end)
{
    int *data = *(int *const *)args;

    for (int64_t k = begin; k < end; k++)
        data[k]++;
}

static void *hammer_thread(void *given)
{
    enum { UNITS = 5000, TURNS = 300 };
    const hammer *h = given;
    int *data = calloc(UNITS, sizeof *data);
    size_t wrong = data == NULL;

    for (int turn = 0; data != NULL && turn < TURNS; turn++)
        kiln__team_run(h->team, add_one, &data, UNITS, 1 + (turn * 7 + h->seed) % 900);
    for (int k = 0; data != NULL && k < UNITS; k++)
        wrong += data[k] != TURNS;
    free(data);
    return (void *)wrong;
}

static void test_cpu_device__many_callers_share_one_team(void **state)
{
    enum { CALLERS = 6 };
    pthread_t callers[CALLERS];
    hammer h[CALLERS];
    kiln__team *team = NULL;

    (void)state;
    assert_int_equal(kiln__team_create(4, &team, NULL), KILN_OK);
    for (int k = 0; k < CALLERS; k++) {
        h[k] = (hammer){team, k};
        assert_int_equal(pthread_create(&callers[k], NULL, hammer_thread, &h[k]), 0);
    }
    for (int k = 0; k < CALLERS; k++) {
        void *wrong = NULL;
        pthread_join(callers[k], &wrong);
        assert_null(wrong);
    }
    kiln__team_destroy(team, false);
}

static void test_cpu_device__a_forked_child_can_close_the_device(void **state)
{
    kiln__device device;
    int data[5000] = {0}, *args = data, wait_status = 0;
    kiln__launch_config config = {5000, 1, 1, 1, 0};

    (void)state;
    open_device(&device, 3);
    assert_int_equal(cpu->launch(&device, (void *)(uintptr_t)add_one, &config, &args, sizeof args,
                                 NULL, NULL),
                     KILN_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        cpu->close(&device);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
    /* The parent's threads are as they were. */
    assert_int_equal(cpu->launch(&device, (void *)(uintptr_t)add_one, &config, &args, sizeof args,
                                 NULL, NULL),
                     KILN_OK);
    for (int k = 0; k < 5000; k++)
        assert_int_equal(data[k], 2);
    cpu->close(&device);
}

/* ---- the device's memory ---- */

static void test_cpu_device__memory_is_aligned_and_bounded(void **state)
{
    static const size_t sizes[] = {1, 512, 4097, (size_t)3 << 20, (size_t)9 << 20};
    kiln__device device;
    size_t free_bytes = 0, total_bytes = 0;
    void *address = NULL;

    (void)state;
    open_device(&device, 1);
    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        assert_int_equal(cpu->raw_alloc(&device, sizes[k], &address, NULL), KILN_OK);
        assert_int_equal((uintptr_t)address % 512, 0);
        memset(address, 1, sizes[k]);
        cpu->raw_free(&device, address, sizes[k]);
    }
    cpu->mem_info(&device, &free_bytes, &total_bytes);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    assert_true(total_bytes <=
                (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(device.info.memory_bytes, total_bytes);
    assert_int_equal(cpu->raw_alloc(&device, total_bytes * 2, &address, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    assert_null(address);
    assert_int_equal(cpu->raw_alloc(&device, SIZE_MAX - 5, &address, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    cpu->close(&device);
}

static unsigned char pattern(size_t k)
{
    return (unsigned char)(k * 31 + (k >> 8) * 7 + (k >> 16));
}

static void check_copy(kiln__device *device, size_t bytes, size_t to, size_t from)
{
    unsigned char *dst = malloc(bytes + 256), *src = malloc(bytes + 256);

    assert_non_null(dst);
    assert_non_null(src);
    for (size_t k = 0; k < bytes + 256; k++) {
        src[k] = pattern(k);
        dst[k] = 0xEE;
    }
    assert_int_equal(cpu->copy_device_to_device(device, dst + to, src + from, bytes, NULL, NULL),
                     KILN_OK);
    for (size_t k = 0; k < bytes + 256; k++) {
        unsigned char expected = k >= to && k < to + bytes ? pattern(k - to + from) : 0xEE;
        if (dst[k] != expected)
            fail_msg("byte %zu of %zu: %d, not %d", k, bytes, dst[k], expected);
    }
    assert_int_equal(cpu->memory_set(device, dst + to, 0x5A, bytes, NULL, NULL), KILN_OK);
    for (size_t k = 0; k < bytes + 256; k++)
        if (dst[k] != (k >= to && k < to + bytes ? 0x5A : 0xEE))
            fail_msg("byte %zu of %zu filled is %d", k, bytes, dst[k]);
    free(dst);
    free(src);
}

static void test_cpu_device__copies_and_fills_touch_exactly_their_bytes(void **state)
{
    static const size_t sizes[] = {1,     63,     64,      65,
                                   65536, 524289, 3000001, ((size_t)32 << 20) + 12345};
    kiln__device device;

    (void)state;
    open_device(&device, 3);
    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        check_copy(&device, sizes[k], 0, 0);
        check_copy(&device, sizes[k], 1, 67);
        check_copy(&device, sizes[k], 100, 3);
    }
    cpu->close(&device);
}

static void test_cpu_device__overlapping_copies_keep_their_order(void **state)
{
    enum { BYTES = 4000000, SHIFT = 100001 };
    unsigned char *data = malloc(BYTES + SHIFT);
    kiln__device device;

    (void)state;
    assert_non_null(data);
    open_device(&device, 3);
    for (size_t k = 0; k < BYTES + SHIFT; k++)
        data[k] = pattern(k);
    assert_int_equal(cpu->copy_device_to_device(&device, data + SHIFT, data, BYTES, NULL, NULL),
                     KILN_OK);
    for (size_t k = 0; k < BYTES; k++)
        if (data[k + SHIFT] != pattern(k))
            fail_msg("byte %zu", k);
    cpu->close(&device);
    free(data);
}

/* ---- the table ---- */

static void test_cpu_device__the_listing_describes_this_machine(void **state)
{
    kiln_device_info info;

    (void)state;
    assert_int_equal(cpu->list(&info, 1), 1);
    assert_int_equal(cpu->list(NULL, 0), 1);
    assert_string_equal(info.id, "cpu");
    assert_true(info.usable);
    assert_string_equal(info.reason, "");
    assert_string_equal(info.target, kiln__cpu_target());
    assert_int_equal(info.unit_count, kiln__cpu_core_count());
    assert_true(strlen(info.name) > 2);
    assert_true(strlen(info.compiler) > 4);
}

static void test_cpu_device__open_checks_its_arguments(void **state)
{
    kiln__device device = {.backend = cpu};
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(cpu->open(&device, 1, 0, &err), KILN_ERR_NO_DEVICE);
    assert_int_equal(cpu->open(&device, 0, -2, &err), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "-2"));
    kiln_error_clear(&err);
}

static void test_cpu_device__events_measure_wall_time(void **state)
{
    kiln__device device;
    void *start = NULL, *end = NULL;
    double ms = 0.0;

    (void)state;
    open_device(&device, 1);
    assert_int_equal(cpu->event_create(&device, true, &start, NULL), KILN_OK);
    assert_int_equal(cpu->event_create(&device, true, &end, NULL), KILN_OK);
    assert_int_equal(cpu->event_record(&device, start, NULL, NULL), KILN_OK);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(cpu->event_record(&device, end, NULL, NULL), KILN_OK);
    assert_true(cpu->event_done(&device, end));
    assert_int_equal(cpu->event_elapsed(&device, start, end, &ms, NULL), KILN_OK);
    assert_true(ms >= 19.9 && ms < 10000.0);
    cpu->event_destroy(&device, start);
    cpu->event_destroy(&device, end);
    cpu->close(&device);
}

/* ---- */

#ifdef KILN_TEST_HOOKS
/* Each allocation of a compile fails once. It must say so, or do without it, and leak nothing. */
static void test_cpu_device__compiling_survives_each_allocation_failure(void **state)
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

static int prepare(void **state)
{
    char header[400];

    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kiln-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(tmpdir, sizeof tmpdir, "%s/tmp", folder);
    snprintf(include, sizeof include, "%s/include", folder);
    snprintf(header, sizeof header, "%s/kiln_test_header.h", include);
    if (mkdir(tmpdir, 0700) != 0 || mkdir(include, 0700) != 0)
        return -1;
    write_text(header, "#define KILN_TEST_HEADER_VALUE 3\n", 0600);
    setenv("TMPDIR", tmpdir, 1);
    setenv("CPATH", include, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    kiln__cpu_folder_remove(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

#define T(name) cmocka_unit_test(test_cpu_device__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(target_is_the_level_that_cpuinfo_shows),
        T(every_target_compiles),
        T(an_unknown_target_is_unsupported),
        T(core_count_is_the_affinitys),
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
        T(options_of_the_user_come_last),
        T(options_that_redirect_are_refused),
        T(warnings_are_kept_when_asked_for),
        T(folders_of_cpath_are_searched_and_listed),
        T(equal_sources_give_equal_binaries),
        T(an_unusable_tmpdir_falls_back_to_tmp),
        T(the_key_names_compiler_and_flags_and_no_path),
        T(modules_loaded_in_turn_are_never_mixed_up),
        T(damaged_binaries_are_refused),
        T(every_unit_runs_exactly_once),
        T(threads_work_side_by_side),
        T(many_callers_share_one_team),
        T(a_forked_child_can_close_the_device),
        T(memory_is_aligned_and_bounded),
        T(copies_and_fills_touch_exactly_their_bytes),
        T(overlapping_copies_keep_their_order),
        T(the_listing_describes_this_machine),
        T(open_checks_its_arguments),
        T(events_measure_wall_time),
#ifdef KILN_TEST_HOOKS
        T(compiling_survives_each_allocation_failure),
#endif
    };

    return cmocka_run_group_tests_name("test_cpu_device", tests, prepare, clean_up);
}
