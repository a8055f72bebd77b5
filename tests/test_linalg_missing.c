/*
 * test_linalg_missing.c - libraries of linear algebra that are not there, do not load, or are others than their names say.
 *
 *     test_linalg_missing [DEVICE]
 *
 * Each case runs in a process of its own, which is this program started again, because a process keeps what it has found.
 * It ends with 77 where a library is found in a folder that cannot be hidden. The emulated driver says that it is one of CUDA
 * 12, so that a toolkit of CUDA 13 in such a folder is passed over.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "test_env.h"

extern char **environ;

static const char *device = "cpu";
static kiln_error err = KILN_ERROR_INIT;

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n  last error: %s: %s\n", __FILE__, __LINE__, #cond,        \
                    kiln_status_name(err.status), err.message);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- in the child ---------------------------------------------------------------------------- */

/* Where libraries are looked for from now on: in `folder` alone, where that can be. */
static void look_in(const char *folder)
{
    static const char *const others[] = {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"};

    for (size_t k = 0; k < COUNT(others); k++)
        unsetenv(others[k]);
    setenv("LD_LIBRARY_PATH", folder, 1);
}

/* Make an emulated driver one of CUDA 12. */
static void age_driver(void)
{
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *const symbol = driver != NULL ? dlsym(driver, "fake_cuda_control") : NULL;
    fake_cuda *(*get)(void) = NULL;

    memcpy(&get, &symbol, sizeof get);
    if (get != NULL)
        get()->version = 12040;
}

/* End with 77 if a library is found where nothing should be. */
static void skip_if_found(void)
{
    kiln_linalg_info infos[8];
    size_t count = 0;

    MUST(kiln_linalg_list(infos, COUNT(infos), &count, &err) == KILN_OK);
    for (size_t k = 0; k < count; k++)
        if (infos[k].found && infos[k].backend == KILN_BACKEND_CUDA) {
            printf("SKIP: %s\n", infos[k].library);
            exit(TEST_EXIT_SKIP);
        }
}

static kiln_context *open_device(void)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    options.device = device;
    options.cache_dir = "";
    MUST(kiln_context_create(&options, &ctx, &err) == KILN_OK);
    return ctx;
}

/* The unit matrix times 2. */
static kiln_array *matrix(kiln_context *ctx, kiln_dtype dtype, int64_t side)
{
    const int64_t shape[] = {side, side};
    kiln_array *plain = NULL, *x = NULL;
    float *values = calloc((size_t)(side * side), sizeof *values);

    MUST(values != NULL);
    for (int64_t k = 0; k < side; k++)
        values[k * (side + 1)] = 2;
    MUST(kiln_array_from_host(ctx, KILN_FLOAT32, 2, shape, values, NULL, &plain, &err) == KILN_OK);
    MUST(kiln_array_cast(plain, dtype, &x, &err) == KILN_OK);
    kiln_array_release(plain);
    free(values);
    return x;
}

/* Whether x is the unit matrix times `scale`; drops it. */
static void must_be(kiln_array **x, double scale)
{
    const int64_t side = kiln_array_shape(*x)[0];
    double *got = calloc((size_t)(side * side), sizeof *got);
    kiln_array *wide = NULL;

    MUST(got != NULL && kiln_array_cast(*x, KILN_FLOAT64, &wide, &err) == KILN_OK);
    MUST(kiln_array_to_host(wide, got, (size_t)(side * side) * sizeof *got, NULL, &err) == KILN_OK);
    for (int64_t k = 0; k < side * side; k++)
        MUST(got[k] == (k % (side + 1) == 0 ? scale : 0));
    free(got);
    kiln_array_release(wide);
    kiln_array_release(*x);
    *x = NULL;
}

/* Calls that need a library fail and say `why`, each time; those that do not, work. */
static void check_calls(const char *folder, const char *products, const char *factors)
{
    age_driver();
    kiln_context *ctx = open_device();
    kiln_array *x = matrix(ctx, KILN_FLOAT32, 40), *small = matrix(ctx, KILN_FLOAT32, 4);
    kiln_array *bytes = matrix(ctx, KILN_INT8, 8), *y = NULL;

    look_in("");
    skip_if_found();
    look_in(folder);
    for (int again = 0; again < 2; again++) {
        MUST(kiln_matmul(x, x, NULL, &y, &err) == KILN_ERR_UNSUPPORTED && y == NULL);
        MUST(strstr(err.message, "matmul: ") != NULL && strstr(err.message, products) != NULL);
        MUST(kiln_linalg_inv(x, NULL, &y, &err) == KILN_ERR_UNSUPPORTED && y == NULL);
        MUST(strstr(err.message, "inv: ") != NULL && strstr(err.message, factors) != NULL);
        MUST(kiln_matmul(bytes, bytes, NULL, &y, &err) == KILN_OK); /* by a kernel of kiln's */
        must_be(&y, 4);
        MUST(kiln_linalg_inv(small, NULL, &y, &err) == KILN_OK);
        must_be(&y, 0.5);
    }
    kiln_array *const all[] = {x, small, bytes};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
    kiln_context_release(ctx);
}

static void child_none(const char *folder)
{
    check_calls(folder, "no libcublasLt.so.13 or libcublasLt.so.12",
                "no libcusolver.so.12 or libcusolver.so.11");
}

static void child_broken(const char *folder)
{
    check_calls(folder, "cuBLASLt does not load", "cuSOLVER does not load");
}

/* kiln's own product takes the place of a BLAS that is named and not there. */
static void child_no_blas(const char *folder)
{
    kiln_linalg_info info;
    size_t count = 0;

    (void)folder;
    setenv("KILN_BLAS", "/no/such/libblas.so", 1);
    kiln_context *ctx = open_device();
    kiln_array *x = matrix(ctx, KILN_FLOAT32, 40), *y = NULL;
    MUST(kiln_matmul(x, x, NULL, &y, &err) == KILN_OK);
    must_be(&y, 4);
    MUST(kiln_linalg_inv(x, NULL, &y, &err) == KILN_OK);
    must_be(&y, 0.5);
    MUST(kiln_linalg_list(&info, 1, &count, &err) == KILN_OK && !info.found);
    MUST(strstr(info.reason, "/no/such/libblas.so") != NULL);
    kiln_array_release(x);
    kiln_context_release(ctx);
}

static const struct {
    const char *name;
    void (*run)(const char *folder);
} children[] = {{"none", child_none}, {"broken", child_broken}, {"no_blas", child_no_blas}};

/* ---- in the parent --------------------------------------------------------------------------- */

static void expect(const char *name, const char *folder)
{
    char *const argv[] = {(char *)"test_linalg_missing",
                          (char *)"--child",
                          (char *)name,
                          (char *)folder,
                          (char *)device,
                          NULL};
    pid_t child;
    int status = 0;

    fflush(stdout);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_EXIT_SKIP)
        skip();
    assert_int_equal(status, 0);
}

static void test_linalg_missing__names_what_was_looked_for(void **state)
{
    char folder[300];

    (void)state;
    if (strcmp(device, "cpu") == 0)
        skip();
    test_env_fresh_dir(NULL, folder, sizeof folder);
    expect("none", folder);
}

static void test_linalg_missing__says_why_a_file_does_not_load(void **state)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "libcusolver.so.12", "libcusolver.so.11"};
    char folder[300], path[340];

    (void)state;
    if (strcmp(device, "cpu") == 0)
        skip();
    test_env_fresh_dir(NULL, folder, sizeof folder);
    for (size_t k = 0; k < COUNT(names); k++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("this is no library", file);
        assert_int_equal(fclose(file), 0);
    }
    expect("broken", folder);
}

static void test_linalg_missing__multiplies_without_a_blas(void **state)
{
    (void)state;
    if (strcmp(device, "cpu") != 0)
        skip();
    expect("no_blas", "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linalg_missing__names_what_was_looked_for),
        cmocka_unit_test(test_linalg_missing__says_why_a_file_does_not_load),
        cmocka_unit_test(test_linalg_missing__multiplies_without_a_blas),
    };

    if (argc > 4 && strcmp(argv[1], "--child") == 0) {
        device = argv[4];
        for (size_t k = 0; k < COUNT(children); k++)
            if (strcmp(children[k].name, argv[2]) == 0) {
                children[k].run(argv[3]);
                return 0;
            }
        return 2;
    }
    device = argc > 1 ? argv[1] : device;
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
    return cmocka_run_group_tests_name("test_linalg_missing", tests, NULL, NULL) == 0 ? 0 : 1;
}
