/*
 * test_env.h - the fixture of the tests that run kernels: one device, one context, no leaks.
 *
 * A test program is
 *
 *     int main(int argc, char **argv)
 *     {
 *         const struct CMUnitTest tests[] = {TEST(test_elementwise__adds), ...};
 *         return test_env_main(argc, argv, "test_elementwise_basic", tests, COUNT(tests));
 *     }
 *
 * and is started as `test_elementwise_basic [DEVICE [FILTER]]`. DEVICE is "cpu", "cuda" or
 * "cuda:N" ($KILN_TEST_DEVICE when left out, else every usable device in turn); FILTER is
 * cmocka's pattern of test names. A device that this machine lacks ends the program with exit
 * status 77 and a line that says why: a skip, never a pass.
 *
 * Each test gets a fresh context. All tests of a program share a cache folder: one below
 * $KILN_TEST_CACHE, which ctest sets, so that kernels that earlier programs and earlier runs have
 * compiled are found, else one of the program's own that is removed when it ends. A test that needs a
 * folder without kernels makes one (test_env_fresh_dir()). After each test the pool must be empty and, in a library built with
 * KILN_TEST_HOOKS, as many allocations alive as before the test.
 */
#ifndef KILN_TEST_ENV_H
#define KILN_TEST_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kiln/kiln.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exit status that CTest's SKIP_RETURN_CODE knows. */
#define TEST_EXIT_SKIP 77

typedef struct test_env {
    const char *device;  /* what selects it: "cpu", "cuda:0" */
    bool cuda;           /* whether it is a GPU */
    kiln_context *ctx;   /* fresh for each test */
    kiln_error err;      /* for OK() and FAILS(); clear between uses */
    char cache_dir[256]; /* compiled kernels, shared by the tests of this program at least */
    char temp_dir[256];  /* a folder for files of this program's, removed when it ends */
    uint64_t seed;       /* printed by test_env_main; $KILN_TEST_SEED sets it */
    uint64_t random;     /* state of test_random(), restarted from `seed` for each test */
    uint64_t draws;      /* state of test_drawn() */
    unsigned cases;      /* that test_mine() has been asked of */
    size_t live_before;
    char last_log[512]; /* the last warning of the context */
} test_env;

int test_env_main(int argc, char **argv, const char *module, const struct CMUnitTest *tests,
                  size_t count);
/* Before test_env_main() in programs whose tests are about compiling itself: a cache folder of the
 * program's own, empty when it starts, whatever $KILN_TEST_CACHE says. */
void test_env_compile_anew(void);
/* The same of programs that compile a thousand kernels and more: on a GPU that argv names, some processes run the
 * cases of test_mine() first, each a share of them, so that the program itself finds the kernels. NVRTC has one thread
 * of a process compile at a time. What those processes find is not looked at. $KILN_TEST_AHEAD is their number (a
 * quarter of the cores, 8 at most; fewer than 2: none). */
void test_env_compile_ahead(void);
int test_env_setup(void **state);
int test_env_teardown(void **state);

#define TEST(function) cmocka_unit_test_setup_teardown(function, test_env_setup, test_env_teardown)

/* A further context on the same device. `cache_dir` as in kiln_context_options; the caller
 * releases it. */
kiln_context *test_env_context(test_env *t, const char *cache_dir);

/* A new empty folder, removed when the program ends. */
void test_env_fresh_dir(test_env *t, char *path, size_t path_bytes);

/* An int32 array of 0, 1, 2, ... in C-order. */
kiln_array *test_ramp(test_env *t, int rank, const int64_t *shape);

/* Next number of the test's own sequence, and one in [0, bound). */
uint64_t test_random(test_env *t);
uint64_t test_random_below(test_env *t, uint64_t bound);

/* Whether long tables run whole: on a GPU, and with $KILN_TEST_ALL set; not on the cpu device and on the emulated GPU
 * ($KILN_TEST_DRAWN), where each case is a compile of a tenth of a second. */
bool test_whole(const test_env *t);
/* Whether this case of a long table runs: where it does not run whole, the seed draws one case in $KILN_TEST_SHARE (4). */
bool test_drawn(test_env *t);
/* How many of `all` random cases run: where long tables do not run whole, one in $KILN_TEST_SHARE, rounded up. */
int test_rounds(const test_env *t, int all);
/* Whether this process runs this case, which compiles kernels that no other case needs: see
 * test_env_compile_ahead(). test_drawn() asks it as well. */
bool test_mine(test_env *t);

/* What OK() and FAILS() stand for: fail the running test with all that `err` tells. */
void test_expect_ok(test_env *t, kiln_status status, const char *call, const char *file, int line);
void test_expect_fail(test_env *t, kiln_status got, kiln_status want, const char *const *texts,
                      const char *call, const char *file, int line);

/* Evaluate a call that must succeed; the call passes &t->err. */
#define OK(t, call) test_expect_ok((t), (call), #call, __FILE__, __LINE__)

/* Evaluate a call that must fail with `status` and a message (or detail) that holds every one of
 * the texts that follow. */
#define FAILS(t, status, call, ...)                                                                \
    test_expect_fail((t), (call), (status), (const char *const[]){__VA_ARGS__, NULL}, #call,       \
                     __FILE__, __LINE__)

/* As cmocka's assert_true, with a printed explanation. */
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            print_error("%s:%d: %s: ", __FILE__, __LINE__, #cond);                                 \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

#endif
