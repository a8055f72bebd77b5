/*
 * test_cache_shim.c - src/cache under every failure of every system call it makes, one at a time
 * and all at once: the answer is right, nothing crashes or hangs, and at most a warning is logged.
 *
 * One scenario runs in a forked child for each (number of the call, errno). A "compiler" that is
 * none stands for the real one: what a key's kernel must be is known.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache/parts.h"
#include "cache_env.h"
#include "fault_shim.h"

#define KEYS 5
#define PAYLOAD 700
/* Three entries of 64 + 16 + 700 bytes fit. */
#define LIMIT 2500
#define LOG_LINES_MAX 5 /* one of each kind */

static const fault_functions *shim;

/* ---- what is checked in a child ---- */

/* The first broken promise of this process. */
static char broken[256];

#define PROMISE(cond, ...)                                                                         \
    do {                                                                                           \
        if (!(cond) && broken[0] == '\0')                                                          \
            snprintf(broken, sizeof broken, __VA_ARGS__);                                          \
    } while (0)

static void key_of(int k, char key[16])
{
    snprintf(key, 16, "kernel %u", (unsigned)k % 100);
}

static void kernel_of(int k, unsigned char data[PAYLOAD])
{
    for (int b = 0; b < PAYLOAD; b++)
        data[b] = (unsigned char)(k * 31 + b * 7);
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* As a context does it: look, take off, compile, store. Whatever a blob says must be right. */
static void want(kiln__cache *cache, int k)
{
    unsigned char data[PAYLOAD];
    char key[16];
    kiln__blob blob = KILN__BLOB_INIT;
    kiln__flight flight = KILN__FLIGHT_INIT;
    bool found = false;

    key_of(k, key);
    kernel_of(k, data);
    found = kiln__cache_load(cache, key, strlen(key), &blob) ||
            kiln__cache_flight_begin(cache, key, strlen(key), &flight, &blob);
    if (found)
        PROMISE(blob.bytes == PAYLOAD && memcmp(blob.data, data, PAYLOAD) == 0,
                "wrong bytes for %s", key);
    else
        (void)kiln__cache_store_as(cache, key, strlen(key), data, PAYLOAD, 10, "compiled");
    kiln__cache_flight_end(&flight);
    kiln__blob_clear(&blob);
}

/* Fill past the limit, hit, hit from a second store, evict. */
static void use_cache(cache_env *t)
{
    const kiln__cache_options opts = {.dir = t->dir, .limit_bytes = LIMIT, .log = t->log};
    kiln__cache *first = kiln__cache_open_with(&opts), *second = NULL;

    PROMISE(first != NULL, "the store did not open");
    if (first == NULL)
        return;
    kiln__cache_set_wait(first, 20000);
    for (int k = 0; k < 3; k++)
        want(first, k);
    second = kiln__cache_open_with(&opts);
    PROMISE(second != NULL, "the second store did not open");
    for (int k = 0; second != NULL && k < KEYS; k++)
        want(second, (k + 1) % KEYS);
    for (int k = 3; k < KEYS; k++)
        want(first, k);
    kiln__cache_close(second);
    kiln__cache_close(first);
}

/* What the tools do on three good entries. Any status may come; but a success is whole, and nothing
 * good is called damaged for an error of the disk. */
static void use_tools(cache_env *t)
{
    kiln_cache *cache = NULL;
    kiln_cache_entry *entries = NULL;
    kiln_cache_summary summary;
    kiln_cache_report report;
    size_t count = 0;
    uint64_t exported = 0;
    char path[128];
    kiln_error err = KILN_ERROR_INIT;

    snprintf(path, sizeof path, "%s/bundle", t->base);
    if (kiln_cache_open(t->dir, &cache, &err) != KILN_OK) {
        PROMISE(err.message[0] != '\0', "a status without a message");
        kiln_error_clear(&err);
        return;
    }
    if (kiln_cache_list(cache, KILN_CACHE_BY_HITS, &entries, &count, NULL) == KILN_OK)
        PROMISE(count == 3, "%zu entries", count);
    kiln_free(entries);
    if (kiln_cache_stats(cache, &summary, NULL) == KILN_OK)
        PROMISE(summary.entry_count == 3, "%d entries in all", (int)summary.entry_count);
    if (kiln_cache_verify(cache, true, &report, NULL) == KILN_OK)
        PROMISE(report.good == 3, "%d good entries", (int)report.good);
    PROMISE(report.damaged == 0, "%s is called damaged", report.first_damaged);
    if (kiln_cache_export(cache, path, NULL, 0, &exported, NULL) == KILN_OK)
        PROMISE(exported == 3, "%d entries exported", (int)exported);
    (void)!kiln_cache_prune(cache, 1000, NULL, NULL);
    (void)!kiln_cache_import(cache, path, NULL, NULL);
    kiln_cache_close(cache);
}

/* The faults are over: everything works, and nothing bad was left behind. */
static void check_afterwards(cache_env *t)
{
    const kiln__cache_options opts = {.dir = t->dir, .limit_bytes = LIMIT, .log = t->log};
    kiln__cache *cache = NULL;
    kiln_cache *tools = NULL;
    kiln_cache_report report = {0};
    uint64_t bytes = cache_bytes_on_disk(t);

    PROMISE(bytes <= LIMIT, "%llu bytes on the disk", (unsigned long long)bytes);
    PROMISE(atomic_load(&t->log_count) <= 2 * LOG_LINES_MAX, "%d lines were logged",
            atomic_load(&t->log_count));
    if (kiln_cache_open(t->dir, &tools, NULL) == KILN_OK) {
        PROMISE(kiln_cache_verify(tools, false, &report, NULL) == KILN_OK && report.damaged == 0 &&
                    report.other == 0,
                "verify finds damage: %s", report.first_damaged);
        kiln_cache_close(tools);
    }
    cache = kiln__cache_open_with(&opts);
    for (int k = 0; k < KEYS; k++) {
        char key[16];
        want(cache, k);
        key_of(k, key);
        PROMISE(cache_on_disk(t, key), "%s is not stored when all is well again", key);
    }
    kiln__cache_close(cache);
    bytes = cache_bytes_on_disk(t);
    PROMISE(bytes <= LIMIT, "%llu bytes on the disk afterwards", (unsigned long long)bytes);
}

/* ---- the sweep ---- */

typedef struct outcome {
    uint64_t calls;
    char broken[256], call[32];
} outcome;

/* One case in this process, from an empty folder. */
static void run_case(cache_env *t, void (*scenario)(cache_env *t), void (*before)(cache_env *t),
                     const fault_plan *plan, outcome *out)
{
    const int descriptors = open_descriptors();
    const size_t live = kiln__test_alloc_live();

    alarm(20); /* a hang is a crash */
    cache_remove_tree(t->dir);
    if (before != NULL)
        before(t);
    atomic_store(&t->log_count, 0);
    shim->arm(plan);
    scenario(t);
    out->calls = shim->disarm().calls;
    snprintf(out->call, sizeof out->call, "%s", shim->failed());
    PROMISE(open_descriptors() == descriptors, "descriptors leak");
    check_afterwards(t);
    PROMISE(kiln__test_alloc_live() == live, "memory leaks");
    alarm(0);
    memcpy(out->broken, broken, sizeof broken);
}

/* A run lets every third system call fail, beginning at one that the seed chooses; with $KILN_TEST_ALL every call. */
static unsigned share(void)
{
    return getenv("KILN_TEST_ALL") != NULL ? 1 : 3;
}

/* One child runs cases until one of its processes' promises breaks; the parent learns where. */
static void run_cases(cache_env *t, void (*scenario)(cache_env *t), void (*before)(cache_env *t),
                      fault_plan plan, int *cases)
{
    for (bool more = true; more; plan.nth += share()) {
        outcome out = {0};
        int result[2], status = 0;
        pid_t child = -1;

        assert_int_equal(pipe(result), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            run_case(t, scenario, before, &plan, &out);
            _exit(write(result[1], &out, sizeof out) != sizeof out);
        }
        close(result[1]);
        const bool told = read(result[0], &out, sizeof out) == sizeof out;
        close(result[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!told || status != 0)
            fail_msg("call %u (%s), %d times: the process ended with status %#x", plan.nth,
                     strerror(plan.error), (int)plan.times, (unsigned)status);
        if (out.broken[0] != '\0')
            fail_msg("call %u (%s: %s), %d times: %s", plan.nth, out.call, strerror(plan.error),
                     (int)plan.times, out.broken);
        more = out.calls > plan.nth;
        ++*cases;
    }
}

static void fill(cache_env *t)
{
    use_cache(t);
}

/* Errors up to a 0. */
static void sweep(cache_env *t, void (*scenario)(cache_env *t), void (*before)(cache_env *t),
                  const int *errors, unsigned times)
{
    int cases = 0;

    const char *const given = getenv("KILN_TEST_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    for (unsigned k = 0; errors[k] != 0; k++) {
        const fault_plan plan = {NULL, (unsigned)((seed + k) % share()), times, errors[k]};
        run_cases(t, scenario, before, plan, &cases);
    }
    print_message("    %d cases\n", cases);
    assert_true(cases > 300 / (int)share());
}

static void test_cache_shim__each_call_of_a_program_may_fail(void **state)
{
    static const int errors[] = {EIO, ENOSPC, ESTALE, EDQUOT, EINTR, FAULT_SHORT, 0};

    sweep(*state, use_cache, NULL, errors, 1);
}

static void test_cache_shim__a_disk_may_die_at_each_call_of_a_program(void **state)
{
    static const int lasting[] = {EIO, ENOSPC, 0}, passing[] = {EINTR, FAULT_SHORT, 0};

    sweep(*state, use_cache, NULL, lasting, 1000000);
    sweep(*state, use_cache, NULL, passing, 3);
}

static void test_cache_shim__each_call_of_the_tools_may_fail(void **state)
{
    static const int errors[] = {EIO, EINTR, FAULT_SHORT, 0};

    sweep(*state, use_tools, fill, errors, 1);
}

/* ---- what the file system says it is ---- */

static void test_cache_shim__network_file_systems_are_known(void **state)
{
    static const struct {
        const char *name;
        uint64_t magic;
        bool network;
    } kinds[] = {{"ext4", 0xef53, false},     {"xfs", 0x58465342, false},
                 {"btrfs", 0x9123683e, false}, {"tmpfs", 0x01021994, false},
                 {"overlay", 0x794c7630, false}, {"zfs", 0x2fc12fc1, false},
                 {"NFS", 0x6969, true},       {"SMB", 0x517b, true},
                 {"CIFS", 0xff534d42, true},  {"SMB2", 0xfe534d42, true},
                 {"AFS", 0x5346414f, true},   {"Coda", 0x73757245, true},
                 {"9p", 0x01021997, true},    {"FUSE", 0x65735546, true},
                 {"Ceph", 0x00c36400, true},  {"Lustre", 0x0bd00bd0, true},
                 {"GPFS", 0x47504653, true},  {"OCFS2", 0x7461636f, true}};
    cache_env *t = *state;
    kiln_cache_summary summary;
    kiln_cache *cache = NULL;
    char index[256];

    use_cache(t);
    snprintf(index, sizeof index, "%s/kiln-index.sqlite", t->dir);
    for (size_t k = 0; k < KILN_COUNT_OF(kinds); k++) {
        unlink(index);
        shim->set_file_system(kinds[k].magic);
        assert_int_equal(kiln_cache_open(t->dir, &cache, NULL), KILN_OK);
        assert_int_equal(kiln_cache_stats(cache, &summary, NULL), KILN_OK);
        assert_int_equal(summary.entry_count, 3);
        kiln_cache_close(cache);
        shim->set_file_system(0);
        if (kinds[k].network && strstr(summary.index_note, "network file system") == NULL)
            fail_msg("%s: '%s'", kinds[k].name, summary.index_note);
        if (!kinds[k].network && strstr(summary.index_note, "network") != NULL)
            fail_msg("%s is taken for a network file system", kinds[k].name);
        assert_int_equal(summary.has_index, summary.index_note[0] == '\0');
        if (kinds[k].network)
            assert_int_equal(access(index, F_OK), -1);
    }
    /* Where even that cannot be asked, no database is opened. */
    shim->arm(&(fault_plan){"fstatfs", 0, 1, EIO});
    assert_int_equal(kiln_cache_open(t->dir, &cache, NULL), KILN_OK);
    assert_int_equal(kiln_cache_stats(cache, &summary, NULL), KILN_OK);
    shim->disarm();
    assert_false(summary.has_index);
    kiln_cache_close(cache);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!fault_shim_enter(argv))
        return 77;
    shim = fault_shim();
    /* Thousands of small folders: on a disk in memory, where there is one. */
    if (access("/dev/shm", W_OK | X_OK) == 0)
        setenv("KILN_TEST_TEMP", "/dev/shm", 1);

    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_shim__each_call_of_a_program_may_fail),
        CACHE_TEST(test_cache_shim__a_disk_may_die_at_each_call_of_a_program),
        CACHE_TEST(test_cache_shim__each_call_of_the_tools_may_fail),
        CACHE_TEST(test_cache_shim__network_file_systems_are_known),
    };

    return cmocka_run_group_tests_name("cache_shim", tests, NULL, NULL);
}
