/*
 * test_nvrtc.c - src/device/cuda/nvrtc*.c: NVRTC is found, named without being loaded, and makes
 * cubins for every architecture it knows. Needs NVRTC, but neither a GPU nor a driver.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cuda/nvrtc.h"
#include "in_child.h"

#define EXIT_SKIP 77

/* The ELF machine number of CUDA code (EM_CUDA). */
#define MACHINE_CUDA 190

static const char axpy[] = "struct args { float *x, *y; float a; long long n; };\n"
                           "extern \"C\" __global__ void axpy(const args p)\n"
                           "{\n"
                           "    long long i = blockIdx.x * 256LL + threadIdx.x;\n"
                           "    if (i < p.n) p.y[i] = p.a * p.x[i] + p.y[i];\n"
                           "}\n";

static kiln__compile_request request_for(const char *target, const char *source)
{
    kiln__compile_request request = {.target = {.backend = KILN_BACKEND_CUDA}, .source = source};

    snprintf(request.target.name, sizeof request.target.name, "%s", target);
    return request;
}

static kiln_status compile(const char *target, const char *source, const char *const *options,
                           size_t option_count, kiln__compile_result *result, kiln_error *err)
{
    kiln__compile_request request = request_for(target, source);

    request.options = options;
    request.option_count = option_count;
    return kiln__compile(&request, result, err);
}

/* The library found, or NULL; loads nothing. */
static const kiln__nvrtc_place *place_found(void)
{
    const kiln__nvrtc_place *place = NULL;

    return kiln__nvrtc_find(&place, NULL) == KILN_OK ? place : NULL;
}

static bool is_loaded(void)
{
    char line[4096];
    bool loaded = false;
    FILE *maps = fopen("/proc/self/maps", "r");

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        loaded = loaded || strstr(line, "libnvrtc.so") != NULL;
    fclose(maps);
    return loaded;
}

/* ---- finding: these run before anything has been found ---- */

static bool refuses(const char *file)
{
    kiln_error err = KILN_ERROR_INIT;
    const char *id = "set";

    setenv("KILN_NVRTC", file, 1);
    bool right = kiln__compiler_identity(KILN_BACKEND_CUDA, &id, &err) == KILN_ERR_NO_NVRTC &&
                 id == NULL && strstr(err.message, "KILN_NVRTC") != NULL &&
                 strstr(err.message, file) != NULL;
    if (!right)
        fprintf(stderr, "KILN_NVRTC=%s: %s\n", file, err.message);
    return right;
}

static bool refuses_a_missing_file(void)
{
    return refuses("/nonexistent/libnvrtc.so.13");
}

static bool refuses_a_file_that_is_no_library(void)
{
    char folder[] = "/tmp/kiln-nvrtc-XXXXXX", path[64];

    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(path, sizeof path, "%s/libnvrtc.so.13", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    fputs("not an ELF file", file);
    fclose(file);
    /* A file can be identified without being a library; it must then not load. */
    kiln__compile_result result;
    setenv("KILN_NVRTC", path, 1);
    bool right = compile("sm_90", axpy, NULL, 0, &result, NULL) == KILN_ERR_NO_NVRTC;
    unlink(path);
    rmdir(folder);
    return right;
}

static bool refuses_the_other_build(void)
{
    char folder[] = "/tmp/kiln-nvrtc-XXXXXX", alt[64], named[64];

    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(alt, sizeof alt, "%s/libnvrtc.alt.so.13", folder);
    snprintf(named, sizeof named, "%s/libnvrtc.so.13", folder);
    FILE *file = fopen(alt, "w");
    if (file == NULL || symlink(alt, named) != 0)
        return false;
    fclose(file);
    bool right = refuses(alt) && refuses(named);
    unlink(named);
    unlink(alt);
    rmdir(folder);
    return right;
}

/* Files of one size that differ in one byte (-1: in none, 0: the first, 1: the last). */
static int differing_byte;

static bool is_told_apart(void)
{
    char folder[] = "/tmp/kiln-nvrtc-XXXXXX", path[64], first[128] = "";
    static char content[300000];
    bool right = mkdtemp(folder) != NULL;

    snprintf(path, sizeof path, "%s/libnvrtc.so.13", folder);
    setenv("KILN_NVRTC", path, 1);
    for (int i = 0; i < 2 && right; i++) {
        FILE *file = fopen(path, "w");
        if (file == NULL)
            return false;
        if (i == 1 && differing_byte >= 0)
            content[differing_byte * (sizeof content - 1)] = 1;
        fwrite(content, 1, sizeof content, file);
        fclose(file);
        /* The identity is found once in a process: ask in another. */
        int channel[2];
        char got[128] = "";
        if (pipe(channel) != 0)
            return false;
        pid_t child = fork();
        if (child == 0) {
            const char *id = "";
            (void)!kiln__compiler_identity(KILN_BACKEND_CUDA, &id, NULL);
            _exit(id != NULL && write(channel[1], id, strlen(id)) > 0 ? 0 : 1);
        }
        close(channel[1]);
        right = read(channel[0], got, sizeof got - 1) > 0;
        close(channel[0]);
        waitpid(child, NULL, 0);
        if (i == 0)
            memcpy(first, got, sizeof got);
        else
            right = right && (strcmp(first, got) != 0) == (differing_byte >= 0);
    }
    unlink(path);
    rmdir(folder);
    return right;
}

static void test_nvrtc__identity_tells_builds_apart(void **state)
{
    (void)state;
    for (differing_byte = -1; differing_byte <= 1; differing_byte++)
        in_child(is_told_apart);
}

static void test_nvrtc__kiln_nvrtc_must_name_a_library(void **state)
{
    (void)state;
    in_child(refuses_a_missing_file);
    in_child(refuses_a_file_that_is_no_library);
    in_child(refuses_the_other_build);
}

static char link_path[128];

static bool is_found_through_library_path(void)
{
    const kiln__nvrtc_place *place = NULL;
    char folder[128];

    snprintf(folder, sizeof folder, "/nonexistent::%.*s",
             (int)(strrchr(link_path, '/') - link_path), link_path);
    unsetenv("KILN_NVRTC");
    setenv("LD_LIBRARY_PATH", folder, 1);
    return kiln__nvrtc_find(&place, NULL) == KILN_OK && !is_loaded() &&
           strcmp(place->identity, getenv("WANTED_IDENTITY")) == 0;
}

static bool is_found_by_name(void)
{
    const kiln__nvrtc_place *place = NULL;

    setenv("KILN_NVRTC", link_path, 1);
    return kiln__nvrtc_find(&place, NULL) == KILN_OK &&
           strcmp(place->identity, getenv("WANTED_IDENTITY")) == 0;
}

static bool tells_identity_to_parent(void)
{
    const kiln__nvrtc_place *place = place_found();

    return place != NULL && symlink(place->path, link_path) == 0 &&
           printf("%s\n", place->identity) > 0;
}

/* One build has one identity, whatever path leads to it. */
static void test_nvrtc__identity_does_not_depend_on_the_path(void **state)
{
    (void)state;
    char folder[] = "/tmp/kiln-nvrtc-XXXXXX", identity[128] = "";
    int channel[2], saved = dup(1);

    assert_non_null(mkdtemp(folder));
    snprintf(link_path, sizeof link_path, "%s/libnvrtc.so.13", folder);
    assert_int_equal(pipe(channel), 0);
    fflush(stdout);
    dup2(channel[1], 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool ok = tells_identity_to_parent();
        fflush(stdout);
        _exit(ok ? 0 : 1);
    }
    dup2(saved, 1);
    close(saved);
    close(channel[1]);
    ssize_t got = read(channel[0], identity, sizeof identity - 1);
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(got > 0);
    assert_int_equal(status, 0);
    identity[strcspn(identity, "\n")] = '\0';
    setenv("WANTED_IDENTITY", identity, 1);
    /* A link named ".so.13" serves for 12 too: the real file's name decides. */
    in_child(is_found_by_name);
    in_child(is_found_through_library_path);
    unlink(link_path);
    rmdir(folder);
}

static void test_nvrtc__is_identified_without_being_loaded(void **state)
{
    (void)state;
    const char *first = NULL, *second = NULL;
    kiln__buf key = KILN__BUF_INIT;

    assert_int_equal(kiln__compiler_identity(KILN_BACKEND_CUDA, &first, NULL), KILN_OK);
    assert_int_equal(kiln__compiler_identity(KILN_BACKEND_CUDA, &second, NULL), KILN_OK);
    assert_ptr_equal(first, second);
    assert_true(strncmp(first, "nvrtc-1", 7) == 0);
    assert_null(strchr(first, '/')); /* nothing local to the machine */
    kiln__compiler_key(KILN_BACKEND_CUDA, &key);
    assert_non_null(strstr(key.text, first));
    kiln__buf_clear(&key);
    assert_non_null(kiln__compiler_include_dirs(KILN_BACKEND_CUDA));
    assert_false(is_loaded());
}

static void test_nvrtc__key_holds_what_changes_the_binary(void **state)
{
    (void)state;
    kiln__buf plain = KILN__BUF_INIT, again = KILN__BUF_INIT, changed = KILN__BUF_INIT;

    unsetenv("NVRTC_APPEND_FLAGS");
    kiln__compiler_key(KILN_BACKEND_CUDA, &plain);
    kiln__compiler_key(KILN_BACKEND_CUDA, &again);
    assert_string_equal(plain.text, again.text);
    setenv("NVRTC_APPEND_FLAGS", "--use_fast_math", 1);
    kiln__compiler_key(KILN_BACKEND_CUDA, &changed);
    unsetenv("NVRTC_APPEND_FLAGS");
    assert_string_not_equal(plain.text, changed.text);
    assert_non_null(strstr(changed.text, "--use_fast_math"));
    kiln__buf_clear(&plain);
    kiln__buf_clear(&again);
    kiln__buf_clear(&changed);
}

/* ---- compiling ---- */

static void test_nvrtc__makes_a_cubin_for_every_target(void **state)
{
    (void)state;
    kiln__target targets[64];
    size_t count = kiln__compiler_targets(KILN_BACKEND_CUDA, targets, KILN_COUNT_OF(targets));
    bool has_75 = false;

    assert_true(count >= 5 && count <= KILN_COUNT_OF(targets));
    assert_int_equal(kiln__compiler_targets(KILN_BACKEND_CUDA, NULL, 0), count);
    for (size_t i = 0; i < count; i++) {
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;

        has_75 = has_75 || strcmp(targets[i].name, "sm_75") == 0;
        if (compile(targets[i].name, axpy, NULL, 0, &result, &err) != KILN_OK)
            fail_msg("%s: %s", targets[i].name, err.message);
        Elf64_Ehdr header;
        assert_true(result.bytes > sizeof header);
        memcpy(&header, result.binary, sizeof header);
        assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
        assert_int_equal(header.e_machine, MACHINE_CUDA);
        /* The architecture's number is one byte of e_flags: the lowest in older formats, the
         * second in newer ones. */
        unsigned arch = (unsigned)atoi(targets[i].name + strlen("sm_"));
        assert_true((header.e_flags & 0xff) == arch || (header.e_flags >> 8 & 0xff) == arch);
        assert_non_null(memmem(result.binary, result.bytes, "axpy", strlen("axpy")));
        kiln__compile_result_clear(&result);
    }
    assert_true(has_75);
    assert_true(is_loaded());
}

static void test_nvrtc__equal_requests_give_equal_bytes(void **state)
{
    (void)state;
    kiln__compile_result first, second;

    assert_int_equal(compile("sm_90", axpy, NULL, 0, &first, NULL), KILN_OK);
    assert_int_equal(compile("sm_90", axpy, NULL, 0, &second, NULL), KILN_OK);
    assert_int_equal(first.bytes, second.bytes);
    assert_memory_equal(first.binary, second.binary, first.bytes);
    assert_null(first.log);
    kiln__compile_result_clear(&first);
    kiln__compile_result_clear(&second);
}

static void test_nvrtc__an_unknown_target_is_unsupported(void **state)
{
    (void)state;
    static const char *const wrong[] = {"sm_99", "sm_1", "compute_90", "x86-64-v3", ""};

    for (size_t i = 0; i < KILN_COUNT_OF(wrong); i++) {
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;

        assert_int_equal(compile(wrong[i], axpy, NULL, 0, &result, &err), KILN_ERR_UNSUPPORTED);
        assert_null(result.binary);
        assert_non_null(strstr(err.message, wrong[i]));
        assert_non_null(strstr(err.message, "sm_90"));
        kiln_error_clear(&err);
    }
}

static void test_nvrtc__an_error_keeps_the_line_the_user_wrote(void **state)
{
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(float *z)\n"
                                 "{\n"
                                 "    float x = 1;\n"
                                 "#line 1 \"op\"\n"
                                 "z[0] = x * undefined_name;\n"
                                 "}\n";
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(compile("sm_90", source, NULL, 0, &result, &err), KILN_ERR_COMPILE);
    assert_null(result.binary);
    assert_int_equal(result.bytes, 0);
    assert_non_null(result.log);
    assert_non_null(strstr(result.log, "op(1): error"));
    assert_non_null(strstr(result.log, "undefined_name"));
    /* The caret stands under the name: column 12, of which 2 are NVRTC's own indentation. */
    assert_non_null(strstr(result.log, "  z[0] = x * undefined_name;\n             ^"));
    assert_null(strchr(err.message, '\n'));
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
}

/* The compiler names no line for what is missing at the end. */
static void test_nvrtc__an_open_bracket_is_the_sources_fault(void **state)
{
    (void)state;
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    assert_int_equal(compile("sm_90", "__global__ void broken() {\n", NULL, 0, &result, &err),
                     KILN_ERR_COMPILE);
    assert_non_null(strstr(result.log, "At end of source"));
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
}

static void test_nvrtc__a_warning_is_kept_on_success(void **state)
{
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(float *z) { int unused; }\n";
    kiln__compile_result result;

    assert_int_equal(compile("sm_90", source, NULL, 0, &result, NULL), KILN_OK);
    assert_non_null(result.log);
    assert_non_null(strstr(result.log, "unused"));
    kiln__compile_result_clear(&result);
}

static void test_nvrtc__options_of_the_user_are_passed_on(void **state)
{
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(int *z)\n"
                                 "{\n"
                                 "    static_assert(N == 4 && __cplusplus == 202002L, \"\");\n"
                                 "    *z = N;\n"
                                 "}\n";
    static const char *const options[] = {"-DN=4", "-std=c++20"};
    kiln__compile_result result;

    assert_int_equal(compile("sm_80", source, options, 2, &result, NULL), KILN_OK);
    kiln__compile_result_clear(&result);
    assert_int_equal(compile("sm_80", source, options, 1, &result, NULL), KILN_ERR_COMPILE);
    kiln__compile_result_clear(&result);
}

static void test_nvrtc__an_unknown_option_is_named(void **state)
{
    (void)state;
    /* One that is in no list, and one whose value NVRTC does not know. */
    static const char *const options[] = {"--no-such-option-of-nvrtc", "--std=c++9"};
    static const kiln_status expected[] = {KILN_ERR_ARGUMENT, KILN_ERR_COMPILE};

    for (size_t i = 0; i < KILN_COUNT_OF(options); i++) {
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;
        assert_int_equal(compile("sm_80", axpy, &options[i], 1, &result, &err), expected[i]);
        assert_non_null(strstr(err.message, "option"));
        assert_non_null(strstr(err.message, i == 0 ? options[0] : "std"));
        kiln__compile_result_clear(&result);
        kiln_error_clear(&err);
    }
}

static void test_nvrtc__options_that_redirect_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"-arch=sm_80",    "--gpu-architecture=compute_90",
                                      "-dlto",          "",
                                      "--time=/tmp/x",  "-I/nonexistent",
                                      "file.h",         "-rdc=yes",
                                      "--create-pch=x", "-dw"};

    for (size_t i = 0; i < KILN_COUNT_OF(bad); i++) {
        kiln__compile_result result;
        kiln_error err = KILN_ERROR_INIT;
        bool harmless = strncmp(bad[i], "-I", 2) == 0;

        assert_int_equal(compile("sm_80", axpy, &bad[i], 1, &result, &err),
                         harmless ? KILN_OK : KILN_ERR_ARGUMENT);
        assert_true(harmless || strstr(err.message, bad[i]) != NULL);
        kiln__compile_result_clear(&result);
        kiln_error_clear(&err);
    }
}

static void test_nvrtc__headers_of_the_toolkit_are_found(void **state)
{
    (void)state;
    /* Needs a type that --minimal leaves out: it is dropped as soon as anything is included. */
    static const char source[] = "  #  include <cuda_fp16.h>\n"
                                 "extern \"C\" __global__ void k(__half *z, cudaError_t e)\n"
                                 "{\n"
                                 "    *z = __float2half(1.0f + e);\n"
                                 "}\n";
    const char *const *dirs = kiln__compiler_include_dirs(KILN_BACKEND_CUDA);
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    if (dirs[0] == NULL) {
        print_message("NVRTC has no headers beside it\n");
        skip();
    }
    if (compile("sm_80", source, NULL, 0, &result, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    kiln__compile_result_clear(&result);
}

/* What snippets may use without any header, under --minimal. */
static void test_nvrtc__built_in_names_need_no_header(void **state)
{
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void k(float *z, unsigned *u, long long *l, double *d)\n"
        "{\n"
        "    if (threadIdx.x == 0) printf(\"%d %f\\n\", (int)blockIdx.x, (double)z[0]);\n"
        "    assert(z != nullptr);\n"
        "    atomicAdd(z, 1.0f); atomicAdd(d, 1.0); atomicMax(u, 3u); atomicCAS(u, 1u, 2u);\n"
        "    z[1] = __expf(z[0]) + tanhf(z[0]) + erff(z[0]) + rsqrtf(z[0]) + max(z[0], 1.0f);\n"
        "    d[1] = exp(d[0]) + pow(d[0], 2.0) + fma(d[0], d[0], 1.0) + min(d[0], 2.0);\n"
        "    u[1] = __popc(u[0]) + __clz(u[0]) + __ffs(u[0]) + __brev(u[0]);\n"
        "    l[0] = clock64() + __shfl_down_sync(0xffffffffu, l[0], 1);\n"
        "    float4 v = make_float4(1, 2, 3, 4); z[2] = v.x + __ldg(z + 3);\n"
        "    size_t s = sizeof(ptrdiff_t); u[2] = (unsigned)s;\n"
        "    __syncthreads();\n"
        "}\n";
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    if (compile("sm_90", source, NULL, 0, &result, &err) != KILN_OK)
        fail_msg("%s\n%s", err.message, result.log != NULL ? result.log : "");
    kiln__compile_result_clear(&result);
}

static void test_nvrtc__the_process_keeps_its_stack_limit(void **state)
{
    (void)state;
    struct rlimit before, after;
    kiln__compile_result result;

    assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
    assert_int_equal(compile("sm_90", axpy, NULL, 0, &result, NULL), KILN_OK);
    assert_int_equal(getrlimit(RLIMIT_STACK, &after), 0);
    assert_int_equal(before.rlim_cur, after.rlim_cur);
    assert_int_equal(before.rlim_max, after.rlim_max);
    kiln__compile_result_clear(&result);
}

/* ---- threads and memory ---- */

static void *compile_in_thread(void *result)
{
    return compile("sm_90", axpy, NULL, 0, result, NULL) == KILN_OK ? result : NULL;
}

static void test_nvrtc__threads_compile_at_once(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    pthread_t threads[COUNT];
    kiln__compile_result results[COUNT];

    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, &results[i]), 0);
    for (int i = 0; i < COUNT; i++) {
        void *done = NULL;
        pthread_join(threads[i], &done);
        assert_ptr_equal(done, &results[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].bytes, results[0].bytes);
        assert_memory_equal(results[i].binary, results[0].binary, results[0].bytes);
    }
    for (int i = 0; i < COUNT; i++)
        kiln__compile_result_clear(&results[i]);
}

/* A kernel that takes NVRTC seconds: many different loops, each unrolled. */
static char *slow_source(void)
{
    kiln__buf b = KILN__BUF_INIT;

    kiln__buf_puts(&b, "extern \"C\" __global__ void slow(float *x)\n{\n    float s = x[0];\n");
    for (int k = 0; k < 150; k++)
        kiln__buf_printf(&b, "    _Pragma(\"unroll\")\n    for (int i = 0; i < 64; i++)\n"
                         "        s = s * %d.0f + sinf(x[i + %d] + s);\n", k + 2, k);
    kiln__buf_puts(&b, "    x[threadIdx.x] = s;\n}\n");
    assert_false(b.failed);
    return kiln__buf_take(&b);
}

static void *set_soon(void *flag)
{
    usleep(200000);
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void test_nvrtc__a_compile_can_be_cancelled(void **state)
{
    kiln__compile_request request = request_for("sm_90", axpy);
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;
    atomic_bool cancel = true;
    pthread_t thread;

    (void)state;
    request.cancel = &cancel;
    kiln_status status = kiln__compile(&request, &result, &err);
    if (status == KILN_OK) { /* before 12.8 it cannot be stopped */
        kiln__compile_result_clear(&result);
        skip();
    }
    assert_int_equal(status, KILN_ERR_CANCELLED);
    assert_null(result.binary);
    kiln__compile_result_clear(&result);
    atomic_store(&cancel, false);
    assert_int_equal(kiln__compile(&request, &result, &err), KILN_OK);
    kiln__compile_result_clear(&result);

    /* In the middle: it ends long before it would have ended. */
    char *slow = slow_source();
    request = request_for("sm_90", slow);
    request.cancel = &cancel;
    assert_int_equal(pthread_create(&thread, NULL, set_soon, &cancel), 0);
    status = kiln__compile(&request, &result, &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, KILN_ERR_CANCELLED);
    kiln__compile_result_clear(&result);
    kiln_error_clear(&err);
    kiln__free(slow);
}

static void test_nvrtc__a_compile_that_does_not_end_is_stopped(void **state)
{
    const double limit_s = kiln__nvrtc_limit_s;
    char *slow = slow_source();
    const kiln__compile_request request = request_for("sm_90", slow);
    kiln__compile_result result = KILN__COMPILE_RESULT_INIT;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    kiln__nvrtc_limit_s = 0.2;
    const kiln_status status = kiln__compile(&request, &result, &err);
    kiln__nvrtc_limit_s = limit_s;
    kiln__compile_result_clear(&result);
    kiln__free(slow);
    if (status == KILN_OK) /* before 12.8 it cannot be stopped */
        skip();
    assert_int_equal(status, KILN_ERR_IO);
    assert_non_null(strstr(err.message, "NVRTC was stopped after 0.2 s"));
    kiln_error_clear(&err);
}

#ifdef KILN_TEST_HOOKS
static void test_nvrtc__compile_survives_each_allocation_failure(void **state)
{
    (void)state;
    kiln_status status = KILN_ERR_NO_MEMORY;
    bool seen = false;

    for (size_t nth = 0; status != KILN_OK || !seen; nth++) {
        kiln__compile_result result;
        size_t live = kiln__test_alloc_live();

        kiln__test_alloc_fail_at(nth);
        status = compile("sm_90", axpy, NULL, 0, &result, NULL);
        kiln__test_alloc_fail_at(SIZE_MAX);
        assert_true(status == KILN_OK || status == KILN_ERR_NO_MEMORY);
        assert_int_equal(status == KILN_OK, result.binary != NULL);
        seen = seen || status == KILN_ERR_NO_MEMORY;
        kiln__compile_result_clear(&result);
        assert_int_equal(kiln__test_alloc_live(), live);
        assert_true(nth < 20);
    }
}
#endif

static bool has_nvrtc(void)
{
    return place_found() != NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvrtc__kiln_nvrtc_must_name_a_library),
        cmocka_unit_test(test_nvrtc__identity_tells_builds_apart),
        cmocka_unit_test(test_nvrtc__identity_does_not_depend_on_the_path),
        cmocka_unit_test(test_nvrtc__is_identified_without_being_loaded),
        cmocka_unit_test(test_nvrtc__key_holds_what_changes_the_binary),
        cmocka_unit_test(test_nvrtc__makes_a_cubin_for_every_target),
        cmocka_unit_test(test_nvrtc__equal_requests_give_equal_bytes),
        cmocka_unit_test(test_nvrtc__an_unknown_target_is_unsupported),
        cmocka_unit_test(test_nvrtc__an_error_keeps_the_line_the_user_wrote),
        cmocka_unit_test(test_nvrtc__an_open_bracket_is_the_sources_fault),
        cmocka_unit_test(test_nvrtc__a_warning_is_kept_on_success),
        cmocka_unit_test(test_nvrtc__options_of_the_user_are_passed_on),
        cmocka_unit_test(test_nvrtc__an_unknown_option_is_named),
        cmocka_unit_test(test_nvrtc__options_that_redirect_are_refused),
        cmocka_unit_test(test_nvrtc__headers_of_the_toolkit_are_found),
        cmocka_unit_test(test_nvrtc__built_in_names_need_no_header),
        cmocka_unit_test(test_nvrtc__the_process_keeps_its_stack_limit),
        cmocka_unit_test(test_nvrtc__threads_compile_at_once),
        cmocka_unit_test(test_nvrtc__a_compile_can_be_cancelled),
        cmocka_unit_test(test_nvrtc__a_compile_that_does_not_end_is_stopped),
#ifdef KILN_TEST_HOOKS
        cmocka_unit_test(test_nvrtc__compile_survives_each_allocation_failure),
#endif
    };

    /* Asked in a child, so that the tests of finding start from nothing. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(has_nvrtc() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        printf("SKIP: no NVRTC library on this machine\n");
        return EXIT_SKIP;
    }
    return cmocka_run_group_tests_name("test_nvrtc", tests, NULL, NULL);
}
