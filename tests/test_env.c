/*
 * test_env.c - the fixture behind test_env.h.
 *
 * Rule 1: nothing of one test reaches the next but compiled kernels in the cache folder.
 * Rule 2: the leak check counts what the library allocated itself, so that it also holds in
 *         builds without a sanitizer. One context is made and used before the first count: what
 *         lives as long as the process (the driver's table, the compiler's identity) is made then.
 */
#define _GNU_SOURCE
#include "test_env.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef KILN_TEST_HOOKS
#include "core/core.h"
#endif

/* The device that the running group is for; tests of a program run one after another. */
static test_env env;

/* The folder that every temporary folder of this process is made in. */
static char temp_root[200];
static unsigned temp_count;

/* Of the processes that compile ahead: how many there are, and which one this is; -1: the program itself. */
enum { AHEAD_MAX = 8 };
static bool compiles_ahead;
static int ahead_count, ahead_number = -1;

static size_t live_allocations(void)
{
#ifdef KILN_TEST_HOOKS
    return kiln__test_alloc_live();
#else
    return 0;
#endif
}

/* ---- temporary folders ---- */

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char name[1024];
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (lstat(name, &info) == 0 && S_ISDIR(info.st_mode))
            remove_tree(name);
        else
            unlink(name);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
}

static void remove_temp_root(void)
{
    if (temp_root[0] != '\0')
        remove_tree(temp_root);
    temp_root[0] = '\0';
}

static bool make_temp_root(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(temp_root, sizeof temp_root, "%.150s/kiln-test-XXXXXX",
             base != NULL && base[0] != '\0' ? base : "/tmp");
    if (mkdtemp(temp_root) == NULL) {
        fprintf(stderr, "mkdtemp %s: %s\n", temp_root, strerror(errno));
        temp_root[0] = '\0';
        return false;
    }
    atexit(remove_temp_root);
    return true;
}

void test_env_fresh_dir(test_env *t, char *path, size_t path_bytes)
{
    (void)t;
    if (temp_root[0] == '\0' && !make_temp_root())
        fail();
    snprintf(path, path_bytes, "%.180s/dir%u", temp_root, temp_count++);
    if (mkdir(path, 0700) != 0)
        fail_msg("mkdir %s: %s", path, strerror(errno));
}

/* ---- contexts ---- */

static void remember_log(void *user, const char *line)
{
    test_env *t = user;

    snprintf(t->last_log, sizeof t->last_log, "%s", line);
}

kiln_context *test_env_context(test_env *t, const char *cache_dir)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    options.device = t->device;
    options.cache_dir = cache_dir;
    options.log = remember_log;
    options.log_user = t;
    OK(t, kiln_context_create(&options, &ctx, &t->err));
    return ctx;
}

/* Make and use one context, so that whatever the process keeps for good exists. */
static bool warm_up(test_env *t)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_elementwise_options with_include = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_elementwise *op = NULL;
    kiln_array *z = NULL;
    bool ok = false;

    options.device = t->device;
    options.cache_dir = t->cache_dir;
    with_include.preamble = "#include <no_such_header_of_kiln.h>\n";
    if (kiln_context_create(&options, &ctx, &t->err) != KILN_OK)
        goto done;
    if (kiln_array_empty(ctx, KILN_FLOAT32, 0, NULL, &z, &t->err) != KILN_OK ||
        kiln_elementwise_create(ctx, "float32 x", "float32 z", "z = x", NULL, &op, &t->err) !=
            KILN_OK ||
        kiln_call(op, &t->err, 1.0f, z) != KILN_OK)
        goto done;
    kiln_elementwise_destroy(op);
    op = NULL;
    /* A compile error loads what only errors and includes need. */
    if (kiln_elementwise_create(ctx, "float32 x", "float32 z", "z = x", &with_include, &op,
                                &t->err) != KILN_OK)
        goto done;
    (void)!kiln_call(op, NULL, 1.0f, z);
    ok = true;

done:
    if (!ok)
        kiln_error_print(&t->err, stderr);
    kiln_error_clear(&t->err);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
    return ok;
}

int test_env_setup(void **state)
{
    test_env *t = &env;

    kiln_error_clear(&t->err);
    t->random = t->seed;
    t->draws = ~t->seed;
    t->cases = 0;
    t->last_log[0] = '\0';
    t->live_before = live_allocations();
    t->ctx = test_env_context(t, t->cache_dir);
    *state = t;
    return 0;
}

int test_env_teardown(void **state)
{
    test_env *t = *state;
    kiln_pool_stats stats = {0};
    size_t live;

    if (t->ctx != NULL) {
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        kiln_context_pool_stats(t->ctx, &stats);
        kiln_context_release(t->ctx);
        t->ctx = NULL;
    }
    kiln_error_clear(&t->err);
    live = live_allocations();
    if (stats.used_bytes != 0) {
        print_error("%zu bytes of device memory are still in use\n", stats.used_bytes);
        return -1;
    }
    if (live != t->live_before) {
        print_error("%zu allocations before the test, %zu after it\n", t->live_before, live);
        return -1;
    }
    return 0;
}

/* ---- numbers ---- */

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t v = *state += 0x9e3779b97f4a7c15u;

    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

uint64_t test_random(test_env *t)
{
    return splitmix64(&t->random);
}

bool test_whole(const test_env *t)
{
    return (t->cuda && getenv("KILN_TEST_DRAWN") == NULL) || getenv("KILN_TEST_ALL") != NULL;
}

/* One case in how many of a long table runs. */
static unsigned share(void)
{
    const char *asked = getenv("KILN_TEST_SHARE");
    const int n = asked != NULL ? atoi(asked) : 4;

    return n > 0 ? (unsigned)n : 1;
}

bool test_drawn(test_env *t)
{
    return (test_whole(t) || splitmix64(&t->draws) % share() == 0) && test_mine(t);
}

int test_rounds(const test_env *t, int all)
{
    const int n = (int)share();

    return test_whole(t) ? all : (all + n - 1) / n;
}

bool test_mine(test_env *t)
{
    return ahead_number < 0 || (int)(t->cases++ % (unsigned)ahead_count) == ahead_number;
}

uint64_t test_random_below(test_env *t, uint64_t bound)
{
    return test_random(t) % bound;
}

/* ---- expectations ---- */

void test_expect_ok(test_env *t, kiln_status status, const char *call, const char *file, int line)
{
    if (status == KILN_OK)
        return;
    print_error("%s:%d: %s\n  gave %s: %s\n", file, line, call, kiln_status_name(status),
                t->err.message);
    if (t->err.detail != NULL)
        print_error("%s\n", t->err.detail);
    if (t->err.log != NULL)
        print_error("%s\n", t->err.log);
    if (t->err.source != NULL && getenv("KILN_TEST_SHOW_SOURCE") != NULL)
        print_error("%s\n", t->err.source);
    kiln_error_clear(&t->err);
    _fail(file, line);
}

void test_expect_fail(test_env *t, kiln_status got, kiln_status want, const char *const *texts,
                      const char *call, const char *file, int line)
{
    bool right = got == want && t->err.status == got && strchr(t->err.message, '\n') == NULL;

    for (const char *const *text = texts; right && *text != NULL; text++)
        right = strstr(t->err.message, *text) != NULL ||
                (t->err.detail != NULL && strstr(t->err.detail, *text) != NULL);
    if (!right) {
        print_error("%s:%d: %s\n  gave %s, wanted %s with", file, line, call, kiln_status_name(got),
                    kiln_status_name(want));
        for (const char *const *text = texts; *text != NULL; text++)
            print_error(" \"%s\"", *text);
        print_error("\n  message: %s\n  detail:\n%s\n", t->err.message,
                    t->err.detail != NULL ? t->err.detail : "(none)");
        kiln_error_clear(&t->err);
        _fail(file, line);
    }
    kiln_error_clear(&t->err);
}

/* ---- the program ---- */

/* Fill `info` with the device that `name` selects; false, with a line on why, when it is not
 * there or not usable. */
static bool find_device(const char *name, kiln_device_info *info)
{
    kiln_device_info infos[32];
    kiln_error err = KILN_ERROR_INIT;
    size_t count = 0;

    if (kiln_device_list(infos, COUNT(infos), &count, &err) != KILN_OK) {
        kiln_error_print(&err, stderr);
        kiln_error_clear(&err);
        return false;
    }
    for (size_t k = 0; k < count && k < COUNT(infos); k++) {
        bool named = strcmp(infos[k].id, name) == 0 ||
                     (strcmp(name, "cuda") == 0 && infos[k].backend == KILN_BACKEND_CUDA);
        if (!named)
            continue;
        *info = infos[k];
        if (!info->usable)
            printf("SKIP: %s is not usable: %s\n", infos[k].id, infos[k].reason);
        return info->usable;
    }
    printf("SKIP: this machine has no device \"%s\"\n", name);
    return false;
}

/* The folder for compiled kernels: below $KILN_TEST_CACHE, unless kiln would refuse it, as in a build
 * folder that others may write to; then a temporary one. */
static void choose_cache_dir(void)
{
    const char *shared = getenv("KILN_TEST_CACHE"), *kind = env.cuda ? "cuda" : "cpu";
    kiln_cache *cache = NULL;

    if (shared != NULL && shared[0] != '\0') {
        snprintf(env.cache_dir, sizeof env.cache_dir, "%.180s/%s", shared, kind);
        const bool usable = kiln_cache_open(env.cache_dir, &cache, NULL) == KILN_OK;
        kiln_cache_close(cache);
        if (usable)
            return;
    }
    snprintf(env.cache_dir, sizeof env.cache_dir, "%.180s/cache-%s", temp_root, kind);
}

/* Run every test on one device. Returns an exit status. */
static int run_on(const char *module, const char *device, const struct CMUnitTest *tests,
                  size_t count)
{
    static kiln_device_info info;
    char group[128];
    const char *seed = getenv("KILN_TEST_SEED");
    struct timespec now;

    if (!find_device(device, &info))
        return TEST_EXIT_SKIP;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(&env, 0, sizeof env);
    env.device = info.id;
    env.cuda = info.backend == KILN_BACKEND_CUDA;
    env.seed = seed != NULL ? strtoull(seed, NULL, 0)
                            : (uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec;
    choose_cache_dir();
    snprintf(env.temp_dir, sizeof env.temp_dir, "%s", temp_root);
    printf("%s on %s (%s, %s), KILN_TEST_SEED=%llu\n", module, info.id, info.name, info.target,
           (unsigned long long)env.seed);
    fflush(stdout);
    if (!warm_up(&env))
        return 1;
    snprintf(group, sizeof group, "%s.%s", module, env.cuda ? "cuda" : "cpu");
    return _cmocka_run_group_tests(group, tests, count, NULL, NULL) == 0 ? 0 : 1;
}

void test_env_compile_anew(void)
{
    unsetenv("KILN_TEST_CACHE");
}

void test_env_compile_ahead(void)
{
    compiles_ahead = true;
}

static int count_ahead(void)
{
    const char *const given = getenv("KILN_TEST_AHEAD");
    const long count = given != NULL ? atol(given) : sysconf(_SC_NPROCESSORS_ONLN) / 4;

    return count < 2 ? 0 : count < AHEAD_MAX ? (int)count : AHEAD_MAX;
}

/* Run shares of the cases in processes of their own, and wait for them. The driver is not open yet: a process that is
 * forked later cannot use it. */
static void compile_ahead(const char *module, const char *device, const struct CMUnitTest *tests, size_t count)
{
    ahead_count = count_ahead();
    setenv("KILN_TEST_CACHE", temp_root, 0); /* one folder for all of them */
    fflush(stdout);
    for (int k = 0; k < ahead_count; k++) {
        if (fork() != 0)
            continue;
        ahead_number = k;
        if (make_temp_root() && freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL)
            run_on(module, device, tests, count);
        remove_temp_root();
        _exit(0);
    }
    while (wait(NULL) > 0)
        continue;
}

int test_env_main(int argc, char **argv, const char *module, const struct CMUnitTest *tests,
                  size_t count)
{
    static const char *const every[] = {"cpu", "cuda"};
    const char *device = argc > 1 ? argv[1] : getenv("KILN_TEST_DEVICE");
    int worst = 0;

    if (!make_temp_root())
        return 1;
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    if (device != NULL && device[0] != '\0' && strcmp(device, "all") != 0) {
        if (compiles_ahead && strncmp(device, "cuda", 4) == 0)
            compile_ahead(module, device, tests, count);
        return run_on(module, device, tests, count);
    }
    for (size_t k = 0; k < COUNT(every); k++) {
        int status = run_on(module, every[k], tests, count);

        if (status != TEST_EXIT_SKIP && status > worst)
            worst = status;
    }
    return worst;
}

kiln_array *test_ramp(test_env *t, int rank, const int64_t *shape)
{
    kiln_array *flat = NULL, *x = NULL;
    int64_t size = 1;

    for (int k = 0; k < rank; k++)
        size *= shape[k];
    OK(t, kiln_array_arange(t->ctx, KILN_INT32, 0, (double)size, 1, &flat, &t->err));
    OK(t, kiln_array_reshape(flat, rank, shape, &x, &t->err));
    kiln_array_release(flat);
    return x;
}
