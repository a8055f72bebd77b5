/*
 * test_elementwise_missing.c - no compiler, no driver, no GPU; and a kernel that faults.
 *
 *     test_elementwise_missing [DEVICE]
 *
 * Each case runs in a child process of its own, which is this program started again: what a
 * process has found (a compiler, a driver) it keeps, and a CUDA context that has faulted is lost
 * for the whole process. A child that fails prints why and exits with 1; one whose case needs a
 * GPU that is not there exits with 77.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

extern char **environ;

static const char *program;
static const char *device = "cpu";

/* ---- in the child: checks that end the process ---- */

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n  last error: %s: %s\n", __FILE__, __LINE__, #cond,        \
                    kiln_status_name(err.status), err.message);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static kiln_error err = KILN_ERROR_INIT;

static bool says(const char *text)
{
    return strstr(err.message, text) != NULL ||
           (err.detail != NULL && strstr(err.detail, text) != NULL);
}

/* The context of the child's device; the child ends with 77 when there is no such device. */
static kiln_context *open_device(const char *cache_dir)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    options.device = device;
    options.cache_dir = cache_dir;
    if (kiln_context_create(&options, &ctx, &err) != KILN_OK) {
        printf("SKIP: %s\n", err.message);
        exit(TEST_EXIT_SKIP);
    }
    return ctx;
}

static kiln_array *ones(kiln_context *ctx, int64_t size)
{
    kiln_array *x = NULL;
    float *values = malloc((size_t)size * sizeof *values);

    for (int64_t k = 0; k < size; k++)
        values[k] = 1;
    MUST(kiln_array_from_host(ctx, KILN_FLOAT32, 1, &size, values, NULL, &x, &err) == KILN_OK);
    free(values);
    return x;
}

static kiln_elementwise *define(kiln_context *ctx, const char *in, const char *out, const char *op)
{
    kiln_elementwise *made = NULL;

    MUST(kiln_elementwise_create(ctx, in, out, op, NULL, &made, &err) == KILN_OK);
    return made;
}

/* ---- the cases ---- */

/* Neither $KILN_CXX nor $PATH leads to a compiler; $KILN_NVRTC to no NVRTC. */
static void hide_compilers(void)
{
    setenv("KILN_CXX", "/no/such/compiler", 1);
    setenv("KILN_NVRTC", "/no/such/libnvrtc.so.13", 1);
    setenv("PATH", "/no/such/folder", 1);
}

static void child_no_compiler(void)
{
    kiln_context *ctx;
    kiln_elementwise *op;
    kiln_array *x, *z = NULL;
    kiln_status want;

    hide_compilers();
    ctx = open_device("");
    want = kiln_context_device(ctx)->backend == KILN_BACKEND_CPU ? KILN_ERR_NO_COMPILER
                                                                 : KILN_ERR_NO_NVRTC;
    x = ones(ctx, 10);
    op = define(ctx, "T x", "T z", "z = x + T(1)");
    for (int again = 0; again < 2; again++) {
        MUST(kiln_call(op, &err, x, &z) == want);
        MUST(z == NULL);
        MUST(says(want == KILN_ERR_NO_COMPILER ? "/no/such/compiler" : "/no/such/libnvrtc.so.13"));
    }
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
}

/* Run one kernel with the cache in $KILN_TEST_WARM. */
static void run_warm(void)
{
    kiln_context *ctx = open_device(getenv("KILN_TEST_WARM"));
    kiln_array *x = ones(ctx, 10), *z = NULL;
    kiln_elementwise *op = define(ctx, "T x", "T z", "z = x + T(1)");
    float got[10];

    MUST(kiln_call(op, &err, x, &z) == KILN_OK);
    MUST(kiln_array_to_host(z, got, sizeof got, NULL, &err) == KILN_OK);
    for (size_t k = 0; k < COUNT(got); k++)
        MUST(got[k] == 2);
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
}

static void child_warms(void)
{
    run_warm();
}

static void child_warm_without_compiler(void)
{
    hide_compilers();
    run_warm();
}

/* Devices that no machine has. */
static void child_no_device(void)
{
    static const struct {
        const char *name;
        kiln_status status[3];
    } cases[] = {
        {"gpu", {KILN_ERR_ARGUMENT}},
        {"cuda:x", {KILN_ERR_ARGUMENT}},
        {"cuda:-1", {KILN_ERR_ARGUMENT}},
        {"cuda:", {KILN_ERR_ARGUMENT}},
        {"CPU", {KILN_ERR_ARGUMENT}},
        {"cuda:99", {KILN_ERR_NO_DEVICE, KILN_ERR_NO_DRIVER, KILN_ERR_DRIVER}},
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *ctx = NULL;
        kiln_status got;

        options.device = cases[c].name;
        got = kiln_context_create(&options, &ctx, &err);
        MUST(got != KILN_OK && ctx == NULL);
        MUST(got == cases[c].status[0] || got == cases[c].status[1] || got == cases[c].status[2]);
        MUST(got == KILN_ERR_NO_DRIVER || says(cases[c].name));
        MUST(err.message[0] != '\0');
    }
}

/* $KILN_DEVICE decides where nothing else does, and is named when it is wrong. */
static void child_environment(void)
{
    kiln_context *ctx = NULL;

    setenv("KILN_DEVICE", "teapot", 1);
    MUST(kiln_context_create(NULL, &ctx, &err) == KILN_ERR_ARGUMENT && ctx == NULL);
    MUST(says("teapot") && says("KILN_DEVICE"));
    setenv("KILN_DEVICE", "cpu", 1);
    MUST(kiln_context_create(NULL, &ctx, &err) == KILN_OK);
    MUST(kiln_context_device(ctx)->backend == KILN_BACKEND_CPU);
    kiln_context_release(ctx);
}

/* A store far outside of any memory: found at the next synchronise, by name, and for good. */
static void child_fault(void)
{
    kiln_context *ctx = open_device("");
    kiln_array *x = ones(ctx, 1000), *z = NULL;
    kiln_elementwise *bad, *good;
    const char *id = kiln_context_device(ctx)->id;

    if (kiln_context_device(ctx)->backend != KILN_BACKEND_CUDA) {
        printf("SKIP: a fault on the cpu is a fault of the process\n");
        exit(TEST_EXIT_SKIP);
    }
    bad = define(ctx, "T x", "raw T z", "((float *)0x10)[i] = x");
    good = define(ctx, "T x", "T z", "z = x");
    MUST(kiln_call(good, &err, x, &z) == KILN_OK);
    MUST(kiln_context_synchronize(ctx, &err) == KILN_OK);
    MUST(kiln_call(bad, &err, x, z) == KILN_OK); /* enqueued: nothing is known yet */
    MUST(kiln_context_synchronize(ctx, &err) == KILN_ERR_FAULT);
    MUST(says(id));
    MUST(kiln_context_synchronize(ctx, &err) == KILN_ERR_FAULT);
    MUST(kiln_call(good, &err, x, z) == KILN_ERR_FAULT);
    MUST(says(id));
    kiln_array_release(x);
    kiln_array_release(z);
    kiln_elementwise_destroy(bad);
    kiln_elementwise_destroy(good);
    kiln_context_release(ctx); /* must neither hang nor crash */
}

static const struct {
    const char *name;
    void (*run)(void);
} children[] = {
    {"no_compiler", child_no_compiler},
    {"warms", child_warms},
    {"warm_without_compiler", child_warm_without_compiler},
    {"no_device", child_no_device},
    {"environment", child_environment},
    {"fault", child_fault},
};

static int run_child(const char *name)
{
    for (size_t c = 0; c < COUNT(children); c++)
        if (strcmp(children[c].name, name) == 0) {
            children[c].run();
            return 0;
        }
    fprintf(stderr, "no case \"%s\"\n", name);
    return 2;
}

/* ---- in the parent ---- */

/* Start this program again for one case; its exit status, or -1. */
static int start(const char *name)
{
    char *const argv[] = {(char *)program, (char *)"--child", (char *)name, (char *)device, NULL};
    pid_t child;
    int status = 0;

    fflush(stdout);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
        waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *name)
{
    int status = start(name);

    if (status == TEST_EXIT_SKIP)
        skip();
    if (status != 0)
        fail_msg("the child ended with %d", status);
}

static void test_elementwise__a_missing_compiler_is_named(void **state)
{
    (void)state;
    expect("no_compiler");
}

static void test_elementwise__a_warm_cache_needs_no_compiler(void **state)
{
    (void)state;
    char dir[512];

    test_env_fresh_dir(NULL, dir, sizeof dir);
    setenv("KILN_TEST_WARM", dir, 1);
    expect("warms");
    expect("warm_without_compiler");
}

static void test_elementwise__a_missing_device_is_named(void **state)
{
    (void)state;
    expect("no_device");
}

static void test_elementwise__the_environment_chooses_the_device(void **state)
{
    (void)state;
    expect("environment");
}

static void test_elementwise__a_fault_is_reported_at_the_next_synchronise(void **state)
{
    (void)state;
    expect("fault");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise__a_missing_compiler_is_named),
        cmocka_unit_test(test_elementwise__a_warm_cache_needs_no_compiler),
        cmocka_unit_test(test_elementwise__a_missing_device_is_named),
        cmocka_unit_test(test_elementwise__the_environment_chooses_the_device),
        cmocka_unit_test(test_elementwise__a_fault_is_reported_at_the_next_synchronise),
    };

    program = argv[0];
    if (argc > 3 && strcmp(argv[1], "--child") == 0) {
        device = argv[3];
        return run_child(argv[2]);
    }
    if (argc > 1)
        device = argv[1];
    if (strcmp(device, "cpu") != 0) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *ctx = NULL;

        options.device = device;
        if (kiln_context_create(&options, &ctx, &err) != KILN_OK) {
            printf("SKIP: %s is not usable: %s\n", device, err.message);
            return TEST_EXIT_SKIP;
        }
        kiln_context_release(ctx);
    }
    return cmocka_run_group_tests_name("test_elementwise_missing", tests, NULL, NULL) == 0 ? 0 : 1;
}
