/*
 * test_cache_disk.c - src/cache on real file systems that are full or read-only, below a folder
 * that takes nothing, and beside an index that somebody else has locked.
 *
 * File systems are mounted in a namespace of a child; where that is not allowed the case is
 * skipped by name, and test_cache_shim has the same errors from system calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_env.h"

#define NOBODY 65534
/* What a child returns when it may not do what the case needs. */
#define CANNOT 77

static void skip_unless_done(int result, const char *why)
{
    if (result == CANNOT) {
        print_message("SKIP: %s\n", why);
        skip();
    }
    assert_int_equal(result, 0);
}

/* ---- mounts ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

/* Mounts of this process are its own from here on. */
static bool leave_mounts(void)
{
    char map[64];
    const unsigned user = geteuid(), group = getegid();

    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        (void)!write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "%u %u 1", user, user);
        if (!write_text("/proc/self/uid_map", map))
            return false;
        snprintf(map, sizeof map, "%u %u 1", group, group);
        if (!write_text("/proc/self/gid_map", map))
            return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool mount_one_mebibyte(const cache_env *t)
{
    return leave_mounts() && mkdir(t->dir, 0700) == 0 &&
           mount("none", t->dir, "tmpfs", 0, "size=1m,mode=0700") == 0;
}

/* ---- a full disk ---- */

#define KERNELS 60
#define KERNEL_BYTES 30000

static void kernel_of(int k, char key[32], char data[KERNEL_BYTES])
{
    snprintf(key, 32, "kernel %d", k);
    memset(data, 'A' + k, KERNEL_BYTES);
}

/* Sixty kernels of 30 kB on a disk of 1 MiB: those that it took are found again. */
static int fill_the_disk(cache_env *t)
{
    char key[32], data[KERNEL_BYTES];
    kiln__cache *cache = NULL;
    kiln_cache *tools = NULL;
    kiln_cache_counters stats;
    kiln_cache_report report;

    if (!mount_one_mebibyte(t))
        return CANNOT;
    cache = cache_env_open(t);
    for (int k = 0; k < KERNELS; k++) {
        kernel_of(k, key, data);
        kiln__cache_store(cache, key, strlen(key), data, sizeof data);
    }
    uint64_t found = 0;
    for (int k = 0; k < KERNELS; k++) {
        kernel_of(k, key, data);
        found += cache_finds(cache, key, data, cache_on_disk(t, key) ? sizeof data : 0);
    }
    kiln__cache_get_counters(cache, &stats);
    if (found != stats.stores)
        return 2;
    if (stats.stores < 20 || stats.store_failures < 20 || stats.stores + stats.store_failures != 60)
        return 3;
    if (atomic_load(&t->log_count) != 1 || strstr(t->last_log, "No space left") == NULL)
        return 4;
    if (cache_count_files(t->dir, "tmp-") != 0)
        return 5;
    /* What is on the disk is whole, and looking at it works where no index can be written. */
    if (kiln_cache_open(t->dir, &tools, NULL) != KILN_OK ||
        kiln_cache_verify(tools, false, &report, NULL) != KILN_OK || report.damaged != 0 ||
        report.good != stats.stores)
        return 6;
    /* Space is made: stores go on. */
    if (kiln_cache_prune(tools, 300000, NULL, NULL) != KILN_OK)
        return 7;
    kiln__cache_store(cache, "later", 5, "l", 1);
    kiln_cache_close(tools);
    kiln__cache_close(cache);
    return cache_on_disk(t, "later") ? 0 : 8;
}

static void test_cache_disk__a_full_disk_of_one_mebibyte(void **state)
{
    skip_unless_done(cache_in_child(fill_the_disk, *state), "no file system can be mounted here");
}

/* ---- a read-only file system ---- */

static int use_read_only(cache_env *t)
{
    char key[32], data[KERNEL_BYTES];
    kiln__cache *cache = NULL;
    kiln_cache *tools = NULL;
    kiln_cache_summary summary;

    if (!mount_one_mebibyte(t))
        return CANNOT;
    cache = cache_env_open(t);
    kernel_of(1, key, data);
    kiln__cache_store(cache, key, strlen(key), data, sizeof data);
    kiln__cache_close(cache);
    if (mount("none", t->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
        return CANNOT;

    cache = cache_env_open(t);
    if (!cache_finds(cache, key, data, sizeof data))
        return 2;
    if (atomic_load(&t->log_count) != 0)
        return 3;
    kernel_of(2, key, data);
    kiln__cache_store(cache, key, strlen(key), data, sizeof data);
    if (cache_finds(cache, key, "", 0))
        return 4;
    if (atomic_load(&t->log_count) != 1 || strstr(t->last_log, "Read-only") == NULL)
        return 5;
    kiln__cache_close(cache);
    if (kiln_cache_open(t->dir, &tools, NULL) != KILN_OK ||
        kiln_cache_stats(tools, &summary, NULL) != KILN_OK || summary.entry_count != 1)
        return 6;
    kiln_cache_close(tools);
    return atomic_load(&t->log_count) == 1 ? 0 : 7;
}

static void test_cache_disk__a_read_only_file_system_still_hits(void **state)
{
    skip_unless_done(cache_in_child(use_read_only, *state), "no file system can be mounted here");
}

/* ---- a parent that takes no folder ---- */

static int make_below_unwritable(cache_env *t)
{
    kiln__cache *cache = NULL;

    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return CANNOT;
    cache = cache_env_open(t);
    kiln__cache_store(cache, "key", 3, "data", 4);
    if (cache_finds(cache, "key", "", 0))
        return 2;
    if (atomic_load(&t->log_count) != 1 || strstr(t->last_log, "Permission denied") == NULL)
        return 3;
    kiln__cache_close(cache);
    return access(t->dir, F_OK) == 0 ? 4 : 0;
}

static void test_cache_disk__below_an_unwritable_parent_nothing_is_kept(void **state)
{
    cache_env *t = *state;

    assert_int_equal(chmod(t->base, 0555), 0);
    const int result = cache_in_child(make_below_unwritable, t);
    assert_int_equal(chmod(t->base, 0700), 0);
    skip_unless_done(result, "this process cannot become another user");
}

/* ---- an index that is locked ---- */

typedef int (*open_fn)(const char *path, void **db);
typedef int (*exec_fn)(void *db, const char *sql, void *fn, void *user, char **error);

/* Hold the index as a backup or a debugger might: for as long as this process lives. */
_Noreturn static void hold_index(const char *path, int ready)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW), *found = NULL, *db = NULL;
    open_fn open_db = NULL;
    exec_fn exec = NULL;
    char byte = 'n';

    if (library != NULL) {
        found = dlsym(library, "sqlite3_open");
        memcpy(&open_db, &found, sizeof found);
        found = dlsym(library, "sqlite3_exec");
        memcpy(&exec, &found, sizeof found);
        if (open_db(path, &db) == 0 && exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == 0)
            byte = 'y';
    }
    if (write(ready, &byte, 1) == 1)
        pause();
    _exit(1);
}

static void test_cache_disk__a_locked_index_is_done_without(void **state)
{
    cache_env *t = *state;
    kiln__cache *store = cache_env_open(t);
    kiln_cache *tools = NULL;
    kiln_cache_summary summary;
    char path[256], answer = 0;
    int ready[2];
    pid_t child = -1;

    cache_put(store, "key", 100);
    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
    snprintf(path, sizeof path, "%s/kiln-index.sqlite", t->dir);
    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_index(path, ready[1]);
    assert_int_equal(read(ready[0], &answer, 1), 1);
    close(ready[0]);
    close(ready[1]);
    if (answer == 'y') {
        const double start = kiln__now_us();
        assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
        assert_true(kiln__now_us() - start < 5e6);
        assert_int_equal(summary.entry_count, 1);
        assert_false(summary.has_index);
        assert_non_null(strstr(summary.index_note, "locked"));
        /* Loads and stores do not come near it. */
        const double again = kiln__now_us();
        cache_put(store, "other", 100);
        static char zeros[100];
        assert_true(cache_finds(store, "key", zeros, 100));
        assert_true(kiln__now_us() - again < 1e6);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    kiln__cache_close(store);
    /* Its holder gone, the index takes in all that happened. */
    if (answer == 'y') {
        assert_int_equal(kiln_cache_stats(tools, &summary, NULL), KILN_OK);
        assert_true(summary.has_index);
        assert_int_equal(summary.entry_count, 2);
        assert_int_equal(summary.hits, 1);
    }
    kiln_cache_close(tools);
    if (answer != 'y') {
        print_message("SKIP: no SQLite here\n");
        skip();
    }
}

/* ---- several compilers ---- */

/* Programs of two kiln versions with two compilers each share a folder: keys differ, nobody gets
 * what is not his, and nobody's entries are taken for damaged. */
static void test_cache_disk__two_versions_and_two_compilers_share_one_folder(void **state)
{
    static const char *const formats[] = {"kiln-kernel 1\n", "kiln-kernel 2\n"};
    static const char *const compilers[] = {"nvrtc 12.9 4f1c\n", "nvrtc 13.0 99ab\n"};
    cache_env *t = *state;
    kiln__cache *cache = NULL;
    kiln_cache_counters stats;

    for (int round = 0; round < 3; round++) {
        for (int f = 0; f < 2; f++) {
            for (int c = 0; c < 2; c++) {
                char key[200], data[32];
                cache = cache_env_open(t);
                snprintf(key, sizeof key, "%s%starget sm_90\nsource 3\nabc", formats[f],
                         compilers[c]);
                snprintf(data, sizeof data, "%d %d", f, c);
                assert_int_equal(cache_finds(cache, key, data, 4), round > 0);
                if (round == 0)
                    kiln__cache_store(cache, key, strlen(key), data, 4);
                kiln__cache_get_counters(cache, &stats);
                assert_int_equal(stats.miss_damaged, 0);
                kiln__cache_close(cache);
            }
        }
    }
    assert_int_equal(cache_count_files(t->dir, ""), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_disk__a_full_disk_of_one_mebibyte),
        CACHE_TEST(test_cache_disk__a_read_only_file_system_still_hits),
        CACHE_TEST(test_cache_disk__below_an_unwritable_parent_nothing_is_kept),
        CACHE_TEST(test_cache_disk__a_locked_index_is_done_without),
        CACHE_TEST(test_cache_disk__two_versions_and_two_compilers_share_one_folder),
    };

    return cmocka_run_group_tests_name("cache_disk", tests, NULL, NULL);
}
