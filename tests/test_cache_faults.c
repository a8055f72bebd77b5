/*
 * test_cache_faults.c - src/cache when the folder cannot be trusted, used or filled: every case
 * is a miss or a blob that is not kept, told to the log once, and never an error.
 *
 * Failing system calls are made here: this program's own write(), openat(), mkdir(), mkdirat() and
 * renameat() stand before those of libc. Tests of owners need root or say so by skipping.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache_env.h"

#define NOBODY 65534

/* ---- system calls that fail on demand ---- */

static struct {
    int write_errno;    /* 0: writes work */
    size_t write_room;  /* bytes that are still written before write_errno */
    size_t write_piece; /* most bytes one write takes; 0: all */
    int interruptions;  /* writes that are interrupted first */
    int create_errno;   /* openat with O_CREAT */
    int open_errno;     /* openat without */
    int mkdir_errno;
    int rename_errno;
} fault;

ssize_t write(int fd, const void *data, size_t bytes)
{
    if (fd > 2) {
        if (fault.interruptions > 0) {
            fault.interruptions--;
            errno = EINTR;
            return -1;
        }
        if (fault.write_piece != 0 && bytes > fault.write_piece)
            bytes = fault.write_piece;
        if (fault.write_errno != 0 && fault.write_room == 0) {
            errno = fault.write_errno;
            return -1;
        }
        if (fault.write_errno != 0) {
            bytes = bytes < fault.write_room ? bytes : fault.write_room;
            fault.write_room -= bytes;
        }
    }
    return syscall(SYS_write, fd, data, bytes);
}

int openat(int fd, const char *path, int flags, ...)
{
    mode_t mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_list ap;
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    errno = (flags & O_CREAT) != 0 ? fault.create_errno : fault.open_errno;
    if (errno != 0)
        return -1;
    return (int)syscall(SYS_openat, fd, path, flags, mode);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
    errno = fault.mkdir_errno;
    return errno != 0 ? -1 : (int)syscall(SYS_mkdirat, fd, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

int renameat(int fd, const char *path, int to_fd, const char *to_path)
{
    errno = fault.rename_errno;
    return errno != 0 ? -1 : (int)syscall(SYS_renameat, fd, path, to_fd, to_path);
}

/* ---- helpers ---- */

static void needs_root(void)
{
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
}

static kiln_cache_counters stats_of(kiln__cache *cache)
{
    kiln_cache_counters stats = {0};

    kiln__cache_get_counters(cache, &stats);
    return stats;
}

/* The store must not use t->dir: it says why (a text with `reason`), once, keeps nothing,
 * and leaves the folder as it is. */
static void check_refused(cache_env *t, const char *reason)
{
    size_t files = cache_count_files(t->base, "");
    kiln__cache *cache = cache_env_open(t);

    assert_string_equal(kiln__cache_dir(cache), "");
    if (strstr(kiln__cache_refusal(cache), reason) == NULL)
        fail_msg("'%s' does not say '%s'", kiln__cache_refusal(cache), reason);
    assert_int_equal(atomic_load(&t->log_count), 1);
    assert_non_null(strstr(t->last_log, reason));
    assert_false(cache_finds(cache, "key", "", 0));
    kiln__cache_store(cache, "key", 3, "data", 4);
    assert_false(cache_finds(cache, "key", "", 0));
    assert_int_equal(stats_of(cache).store_failures, 0);
    assert_int_equal(atomic_load(&t->log_count), 1);
    assert_int_equal(cache_count_files(t->base, ""), files);
    kiln__cache_close(cache);
    atomic_store(&t->log_count, 0);
}

/* The store is used. */
static void check_accepted(cache_env *t)
{
    kiln__cache *cache = cache_env_open(t);

    assert_string_equal(kiln__cache_refusal(cache), "");
    kiln__cache_store(cache, "key", 3, "data", 4);
    assert_true(cache_finds(cache, "key", "data", 4));
    assert_int_equal(stats_of(cache).stores, 1);
    assert_int_equal(stats_of(cache).store_failures, 0);
    assert_int_equal(atomic_load(&t->log_count), 0);
    kiln__cache_close(cache);
}

/* Stores fail now: the blob is not kept, nothing is left on the disk, one line is logged. */
static void check_store_fails(cache_env *t, kiln__cache *cache, const char *reason)
{
    char key[32];
    int lines = atomic_load(&t->log_count);
    uint64_t before = stats_of(cache).store_failures;

    for (int k = 0; k < 3; k++) {
        snprintf(key, sizeof key, "%s %d", reason, k);
        kiln__cache_store(cache, key, strlen(key), "some data", 9);
        assert_false(cache_finds(cache, key, "", 0));
    }
    assert_int_equal(stats_of(cache).store_failures, before + 3);
    assert_int_equal(atomic_load(&t->log_count), lines + 1);
    if (strstr(t->last_log, reason) == NULL)
        fail_msg("'%s' does not say '%s'", t->last_log, reason);
    assert_int_equal(cache_count_files(t->base, "tmp-"), 0);
}

/* ---- folders that may not be used ---- */

static void test_cache_faults__a_folder_open_to_writers_is_refused(void **state)
{
    cache_env *t = *state;
    static const mode_t bad[] = {0770, 0720, 0702, 0777, 01777, 0722};
    static const mode_t good[] = {0700, 0750, 0755, 0711};

    assert_int_equal(mkdir(t->dir, 0700), 0);
    for (size_t k = 0; k < KILN_COUNT_OF(bad); k++) {
        assert_int_equal(chmod(t->dir, bad[k]), 0);
        check_refused(t, "write");
    }
    for (size_t k = 0; k < KILN_COUNT_OF(good); k++) {
        assert_int_equal(chmod(t->dir, good[k]), 0);
        check_accepted(t);
    }
}

static void test_cache_faults__a_folder_of_another_owner_is_refused(void **state)
{
    cache_env *t = *state;

    needs_root();
    assert_int_equal(mkdir(t->dir, 0700), 0);
    assert_int_equal(chown(t->dir, NOBODY, 0), 0);
    check_refused(t, "owned by user 65534");
}

static int open_roots_folder(cache_env *t)
{
    kiln__cache *cache = NULL;

    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 2;
    cache = kiln__cache_open(t->dir, &t->log);
    if (cache == NULL || strstr(kiln__cache_refusal(cache), "owned by user 0") == NULL ||
        kiln__cache_dir(cache)[0] != '\0')
        return 1;
    kiln__cache_close(cache);
    return 0;
}

static void test_cache_faults__the_owner_must_be_the_user_even_if_root_is(void **state)
{
    cache_env *t = *state;

    needs_root();
    assert_int_equal(chmod(t->base, 0755), 0);
    assert_int_equal(mkdir(t->dir, 0700), 0);
    assert_int_equal(chmod(t->dir, 0755), 0);
    assert_int_equal(cache_in_child(open_roots_folder, t), 0);
}

static void test_cache_faults__a_link_is_judged_by_what_it_leads_to(void **state)
{
    cache_env *t = *state;
    char target[128];

    snprintf(target, sizeof target, "%s/target", t->base);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, t->dir), 0);
    check_accepted(t);
    assert_int_equal(chmod(target, 0777), 0);
    check_refused(t, "write");
    if (geteuid() == 0) {
        assert_int_equal(chmod(target, 0700), 0);
        assert_int_equal(chown(target, NOBODY, NOBODY), 0);
        check_refused(t, "owned");
    }
}

static void test_cache_faults__a_link_to_nothing_is_no_folder(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;

    assert_int_equal(symlink("/nonexistent/kiln", t->dir), 0);
    cache = cache_env_open(t);
    check_store_fails(t, cache, "cache folder");
    kiln__cache_close(cache);
    atomic_store(&t->log_count, 0);

    unlink(t->dir);
    assert_int_equal(symlink(t->dir, t->dir), 0);
    check_refused(t, "symbolic links");
}

static void test_cache_faults__a_file_where_the_folder_should_be(void **state)
{
    cache_env *t = *state;
    char text[8] = "";

    cache_write_file(t->dir, "mine", 4);
    check_refused(t, "Not a directory");
    snprintf(t->dir, sizeof t->dir, "%s/store/below", t->base);
    check_refused(t, "Not a directory");
    snprintf(t->dir, sizeof t->dir, "%s/store", t->base);
    assert_int_equal(cache_read_file(t->dir, text, sizeof text), 4);
    assert_string_equal(text, "mine");
}

/* The folder appears, open to all, after the store was opened. */
static void test_cache_faults__a_bad_folder_that_appears_later_is_refused(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    assert_int_equal(mkdir(t->dir, 0700), 0);
    assert_int_equal(chmod(t->dir, 0777), 0);
    check_store_fails(t, cache, "write");
    assert_int_equal(cache_count_files(t->base, ""), 0);
    kiln__cache_close(cache);
}

static void test_cache_faults__a_path_may_be_too_long(void **state)
{
    cache_env *t = *state;
    static char path[2 * PATH_MAX];

    memset(path, 'x', sizeof path);
    memcpy(path, t->base, strlen(t->base));
    path[strlen(t->base)] = '/';
    for (size_t bytes = 200; bytes < sizeof path; bytes += 777) {
        kiln__cache *cache = NULL;
        path[bytes] = '\0';
        cache = kiln__cache_open(path, &t->log);
        assert_non_null(cache);
        kiln__cache_store(cache, "key", 3, "data", 4);
        assert_int_equal(cache_finds(cache, "key", "data", bytes == 200 ? 4 : 0), bytes == 200);
        assert_int_equal(kiln__cache_dir(cache)[0] != '\0', bytes == 200);
        kiln__cache_close(cache);
        path[bytes] = 'x';
    }
    assert_int_equal(cache_count_files(t->base, ""), 1);
    assert_non_null(strstr(t->last_log, "too long"));
}

/* ---- where the folder is ---- */

/* The folder for these variables (NULL: unset); checks nothing else. */
static void check_place(cache_env *t, const char *kiln, const char *xdg, const char *home,
                        const char *expected)
{
    static const char *const names[] = {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const char *values[] = {kiln, xdg, home};
    kiln__cache *cache = NULL;

    for (int k = 0; k < 3; k++) {
        if (values[k] != NULL)
            setenv(names[k], values[k], 1);
        else
            unsetenv(names[k]);
    }
    cache = kiln__cache_open(NULL, &t->log);
    assert_non_null(cache);
    assert_string_equal(kiln__cache_dir(cache), expected);
    assert_int_equal(kiln__cache_refusal(cache)[0] == '\0', expected[0] != '\0');
    kiln__cache_close(cache);
}

static int check_places(cache_env *t)
{
    char path[200];

    check_place(t, "/k/d", "/x", "/h", "/k/d");
    check_place(t, NULL, "/x", "/h", "/x/kiln");
    check_place(t, "", "/x", "/h", "/x/kiln");
    check_place(t, NULL, NULL, "/h", "/h/.cache/kiln");
    check_place(t, NULL, "", "/h", "/h/.cache/kiln");
    check_place(t, NULL, "relative", "/h", "/h/.cache/kiln");
    if (chdir(t->base) != 0)
        return 1;
    snprintf(path, sizeof path, "%s/k", t->base);
    check_place(t, "k", NULL, NULL, path);
    if (atomic_load(&t->log_count) != 0)
        return 2;
    check_place(t, NULL, NULL, NULL, "");
    check_place(t, NULL, "x", "h", "");
    check_place(t, NULL, NULL, "", "");
    if (atomic_load(&t->log_count) != 3 || strstr(t->last_log, "HOME") == NULL)
        return 3;
    return 0;
}

static void test_cache_faults__the_environment_tells_the_place(void **state)
{
    cache_env *t = *state;

    /* In a child, as it changes the environment and the working folder; a failed assertion there
     * ends with a status other than 0 too. */
    assert_int_equal(cache_in_child(check_places, t), 0);
}

static int store_after_chdir(cache_env *t)
{
    kiln__cache *cache = NULL;

    if (chdir(t->base) != 0)
        return 1;
    cache = kiln__cache_open("store", &t->log);
    if (chdir("/") != 0)
        return 1;
    kiln__cache_store(cache, "key", 3, "data", 4);
    if (stats_of(cache).store_failures != 0)
        return 2;
    kiln__cache_close(cache);
    return 0;
}

static void test_cache_faults__a_relative_folder_stays_where_it_was(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;

    assert_int_equal(cache_in_child(store_after_chdir, t), 0);
    cache = cache_env_open(t);
    assert_true(cache_finds(cache, "key", "data", 4));
    kiln__cache_close(cache);
}

static int open_in_deleted_folder(cache_env *t)
{
    kiln__cache *cache = NULL;

    if (mkdir(t->dir, 0700) != 0 || chdir(t->dir) != 0 || rmdir(t->dir) != 0)
        return 1;
    cache = kiln__cache_open("store", &t->log);
    if (cache == NULL || strstr(kiln__cache_refusal(cache), "gone") == NULL)
        return 2;
    kiln__cache_close(cache);
    return 0;
}

static void test_cache_faults__a_relative_folder_of_a_deleted_one(void **state)
{
    assert_int_equal(cache_in_child(open_in_deleted_folder, *state), 0);
}

/* ---- a folder that goes away ---- */

static void test_cache_faults__a_deleted_folder_is_made_anew(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    for (int round = 0; round < 3; round++) {
        kiln__cache_store(cache, "key", 3, "data", 4);
        assert_true(cache_finds(cache, "key", "data", 4));
        cache_remove_tree(t->dir);
        assert_false(cache_finds(cache, "key", "", 0));
        assert_int_equal(access(t->dir, F_OK), -1);
    }
    assert_int_equal(stats_of(cache).store_failures, 0);
    assert_int_equal(atomic_load(&t->log_count), 0);
    kiln__cache_close(cache);
}

static void test_cache_faults__a_folder_replaced_by_another_process_is_found(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t), *other = NULL;

    kiln__cache_store(cache, "old", 3, "data", 4);
    cache_remove_tree(t->dir);
    other = cache_env_open(t);
    kiln__cache_store(other, "new", 3, "newer", 5);
    assert_true(cache_finds(cache, "new", "newer", 5));
    assert_false(cache_finds(cache, "old", "", 0));
    kiln__cache_close(other);
    kiln__cache_close(cache);
}

/* ---- a disk that takes nothing ---- */

static const int DISK_ERRORS[] = {ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO, EMFILE, EFBIG};

static void test_cache_faults__a_disk_may_fill_up_at_any_byte(void **state)
{
    cache_env *t = *state;

    for (size_t k = 0; k < KILN_COUNT_OF(DISK_ERRORS); k++) {
        for (size_t room = 0; room < 120; room += 7) {
            kiln__cache *cache = cache_env_open(t);
            kiln__cache_store(cache, "before", 6, "b", 1);
            fault.write_errno = DISK_ERRORS[k];
            fault.write_room = room;
            kiln__cache_store(cache, "key", 3, "some data", 9);
            fault.write_errno = 0;
            if (room < 64 + 16 + 9) {
                assert_int_equal(stats_of(cache).store_failures, 1);
                assert_int_equal(atomic_load(&t->log_count), 1);
            }
            assert_int_equal(cache_count_files(t->base, "tmp-"), 0);
            const bool kept = cache_on_disk(t, "key"); /* now, or by a round before */
            assert_int_equal(cache_finds(cache, "key", "some data", kept ? 9 : 0), kept);
            assert_true(cache_finds(cache, "before", "b", 1));
            kiln__cache_close(cache);
            atomic_store(&t->log_count, 0);
        }
    }
}

static void test_cache_faults__every_step_of_a_store_may_fail(void **state)
{
    cache_env *t = *state;
    static int *const steps[] = {&fault.write_errno, &fault.create_errno, &fault.rename_errno};

    for (size_t step = 0; step < KILN_COUNT_OF(steps); step++) {
        for (size_t k = 0; k < KILN_COUNT_OF(DISK_ERRORS); k++) {
            kiln__cache *cache = cache_env_open(t);
            kiln__cache_store(cache, "before", 6, "b", 1);
            *steps[step] = DISK_ERRORS[k];
            check_store_fails(t, cache, strerror(DISK_ERRORS[k]));
            *steps[step] = 0;
            kiln__cache_store(cache, "after", 5, "a", 1);
            assert_int_equal(stats_of(cache).stores, 2);
            assert_true(cache_finds(cache, "before", "b", 1));
            assert_true(cache_finds(cache, "after", "a", 1));
            kiln__cache_close(cache);
        }
    }
    assert_int_equal(cache_count_files(t->base, ""), 2);
}

static void test_cache_faults__a_folder_that_cannot_be_made(void **state)
{
    cache_env *t = *state;

    for (size_t k = 0; k < KILN_COUNT_OF(DISK_ERRORS); k++) {
        kiln__cache *cache = cache_env_open(t);
        assert_string_equal(kiln__cache_dir(cache), t->dir);
        fault.mkdir_errno = DISK_ERRORS[k];
        check_store_fails(t, cache, strerror(DISK_ERRORS[k]));
        fault.mkdir_errno = 0;
        assert_int_equal(access(t->dir, F_OK), -1);
        kiln__cache_close(cache);
    }
}

static void test_cache_faults__short_and_interrupted_writes_are_finished(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    fault.write_piece = 5;
    fault.interruptions = 4;
    kiln__cache_store(cache, "key", 3, "some data", 9);
    assert_int_equal(fault.interruptions, 0);
    fault.write_piece = 0;
    assert_int_equal(stats_of(cache).stores, 1);
    assert_int_equal(cache_count_files(t->base, ""), 1);
    assert_true(cache_finds(cache, "key", "some data", 9));
    kiln__cache_close(cache);
}

static void test_cache_faults__a_load_that_cannot_open_is_a_miss(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    kiln__cache_store(cache, "key", 3, "data", 4);
    for (size_t k = 0; k < KILN_COUNT_OF(DISK_ERRORS); k++) {
        fault.open_errno = DISK_ERRORS[k];
        assert_false(cache_finds(cache, "key", "data", 4));
        fault.open_errno = 0;
        assert_true(cache_finds(cache, "key", "data", 4));
    }
    assert_int_equal(stats_of(cache).miss_damaged, 0);
    kiln__cache_close(cache);
}

/* The limit on file sizes fails as a full disk does, but by a signal that ends the process. */
static int store_beyond_size_limit(cache_env *t)
{
    struct rlimit limit = {10000, 10000};
    kiln__cache *cache = kiln__cache_open(t->dir, &t->log);
    static char data[50000];

    kiln__cache_store(cache, "small", 5, data, 100);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    kiln__cache_store(cache, "large", 5, data, sizeof data);
    kiln__cache_store(cache, "small too", 9, data, 100);
    if (stats_of(cache).store_failures != 1 || stats_of(cache).stores != 2)
        return 2;
    if (cache_finds(cache, "large", "", 0) ||
        !cache_finds(cache, "small too", data, 100))
        return 3;
    if (atomic_load(&t->log_count) != 1 || cache_count_files(t->base, "") != 2)
        return 4;
    kiln__cache_close(cache);
    return 0;
}

static int store_beyond_size_limit_ignoring(cache_env *t)
{
    signal(SIGXFSZ, SIG_IGN);
    return store_beyond_size_limit(t);
}

static void test_cache_faults__the_file_size_limit_kills_nobody(void **state)
{
    cache_env *t = *state;

    assert_int_equal(cache_in_child(store_beyond_size_limit, t), 0);
    cache_remove_tree(t->dir);
    assert_int_equal(cache_in_child(store_beyond_size_limit_ignoring, t), 0);
}

/* A folder without write permission, as a user who is not root. */
static int use_read_only_folder(cache_env *t)
{
    kiln__cache *cache = NULL;

    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    cache = kiln__cache_open(t->dir, &t->log);
    kiln__cache_store(cache, "key", 3, "data", 4);
    if (stats_of(cache).stores != 1)
        return 2;
    cache_remove_tree(t->dir);
    if (mkdir(t->dir, 0500) != 0)
        return 3;
    kiln__cache_store(cache, "key 2", 5, "data 2", 6);
    kiln__cache_store(cache, "key 3", 5, "data 3", 6);
    if (stats_of(cache).store_failures != 2 || atomic_load(&t->log_count) != 1)
        return 4;
    if (cache_finds(cache, "key 2", "", 0) || cache_finds(cache, "key", "", 0))
        return 5;
    kiln__cache_close(cache);
    return chmod(t->dir, 0700) != 0 ? 6 : 0;
}

static void test_cache_faults__a_read_only_folder_is_silent(void **state)
{
    cache_env *t = *state;

    if (geteuid() == 0)
        assert_int_equal(chown(t->base, NOBODY, NOBODY), 0);
    assert_int_equal(cache_in_child(use_read_only_folder, t), 0);
}

/* Filled and then closed to writing: hits go on. */
static int load_from_read_only_folder(cache_env *t)
{
    kiln__cache *cache = NULL;
    char path[256];

    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    cache = kiln__cache_open(t->dir, &t->log);
    kiln__cache_store(cache, "key", 3, "data", 4);
    kiln__cache_store(cache, "bad", 3, "data", 4);
    cache_entry_path(t, "key", path);
    if (chmod(path, 0400) != 0)
        return 2;
    *strrchr(path, '/') = '\0';
    if (chmod(path, 0500) != 0 || chmod(t->dir, 0500) != 0)
        return 3;
    kiln__cache_close(cache);
    cache_entry_path(t, "bad", path);
    cache_write_file(path, "damaged", 7);
    *strrchr(path, '/') = '\0';
    if (chmod(path, 0500) != 0)
        return 4;

    cache = kiln__cache_open(t->dir, &t->log);
    /* A damaged entry that cannot be removed or replaced: it is a miss again. */
    if (!cache_finds(cache, "key", "data", 4) || cache_finds(cache, "bad", "", 0))
        return 5;
    kiln__cache_store(cache, "bad", 3, "data", 4);
    if (cache_finds(cache, "bad", "", 0))
        return 6;
    kiln__cache_close(cache);
    if (chmod(path, 0700) != 0 || chmod(t->dir, 0700) != 0)
        return 7;
    cache_entry_path(t, "key", path);
    *strrchr(path, '/') = '\0';
    return chmod(path, 0700) != 0 ? 8 : 0;
}

static void test_cache_faults__a_read_only_folder_still_hits(void **state)
{
    cache_env *t = *state;

    if (geteuid() == 0)
        assert_int_equal(chown(t->base, NOBODY, NOBODY), 0);
    assert_int_equal(cache_in_child(load_from_read_only_folder, t), 0);
}

/* ---- entries that are no files of ours ---- */

static void check_entry_is_replaced(cache_env *t, kiln__cache *cache)
{
    uint64_t damaged = stats_of(cache).miss_damaged;

    assert_false(cache_finds(cache, "key", "", 0));
    assert_int_equal(stats_of(cache).miss_damaged, damaged + 1);
    kiln__cache_store(cache, "key", 3, "data", 4);
    assert_true(cache_finds(cache, "key", "data", 4));
    assert_int_equal(stats_of(cache).store_failures, 0);
    assert_int_equal(cache_count_files(t->dir, ""), 1);
}

static void test_cache_faults__entries_others_could_have_written_are_not_loaded(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    static const mode_t modes[] = {0620, 0602, 0666};
    char path[256];

    cache_entry_path(t, "key", path);
    kiln__cache_store(cache, "key", 3, "data", 4);
    for (size_t k = 0; k < KILN_COUNT_OF(modes); k++) {
        assert_int_equal(chmod(path, modes[k]), 0);
        check_entry_is_replaced(t, cache);
    }
    assert_int_equal(chmod(path, 0444), 0);
    assert_true(cache_finds(cache, "key", "data", 4));
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        check_entry_is_replaced(t, cache);
    }
    kiln__cache_close(cache);
}

static void test_cache_faults__entries_that_are_no_files_are_replaced(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    char path[256], copy[256];

    cache_entry_path(t, "key", path);
    snprintf(copy, sizeof copy, "%s/copy", t->base);
    kiln__cache_store(cache, "key", 3, "data", 4);

    /* A link to what would be a good entry, one to nothing, one to itself. */
    assert_int_equal(rename(path, copy), 0);
    assert_int_equal(symlink(copy, path), 0);
    check_entry_is_replaced(t, cache);
    unlink(path);
    assert_int_equal(symlink("/nonexistent", path), 0);
    check_entry_is_replaced(t, cache);
    unlink(path);
    assert_int_equal(symlink(path, path), 0);
    check_entry_is_replaced(t, cache);

    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); /* opening a pipe must not wait for a writer */
    check_entry_is_replaced(t, cache);
    alarm(0);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    check_entry_is_replaced(t, cache);
    kiln__cache_close(cache);
}

static void test_cache_faults__shards_that_are_no_folders_are_replaced(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    char path[256], shard[256];

    cache_entry_path(t, "key", path);
    snprintf(shard, sizeof shard, "%s", path);
    *strrchr(shard, '/') = '\0';
    for (int kind = 0; kind < 3; kind++) {
        kiln__cache_store(cache, "key", 3, "data", 4);
        assert_int_equal(stats_of(cache).store_failures, 0);
        assert_true(cache_finds(cache, "key", "data", 4));
        cache_remove_tree(shard);
        if (kind == 0)
            cache_write_file(shard, "file", 4);
        else
            assert_int_equal(symlink(kind == 1 ? "/nonexistent" : shard, shard), 0);
        assert_false(cache_finds(cache, "key", "", 0));
    }
    kiln__cache_store(cache, "key", 3, "data", 4);
    assert_true(cache_finds(cache, "key", "data", 4));
    kiln__cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_faults__a_folder_open_to_writers_is_refused),
        CACHE_TEST(test_cache_faults__a_folder_of_another_owner_is_refused),
        CACHE_TEST(test_cache_faults__the_owner_must_be_the_user_even_if_root_is),
        CACHE_TEST(test_cache_faults__a_link_is_judged_by_what_it_leads_to),
        CACHE_TEST(test_cache_faults__a_link_to_nothing_is_no_folder),
        CACHE_TEST(test_cache_faults__a_file_where_the_folder_should_be),
        CACHE_TEST(test_cache_faults__a_bad_folder_that_appears_later_is_refused),
        CACHE_TEST(test_cache_faults__a_path_may_be_too_long),
        CACHE_TEST(test_cache_faults__the_environment_tells_the_place),
        CACHE_TEST(test_cache_faults__a_relative_folder_stays_where_it_was),
        CACHE_TEST(test_cache_faults__a_relative_folder_of_a_deleted_one),
        CACHE_TEST(test_cache_faults__a_deleted_folder_is_made_anew),
        CACHE_TEST(test_cache_faults__a_folder_replaced_by_another_process_is_found),
        CACHE_TEST(test_cache_faults__a_disk_may_fill_up_at_any_byte),
        CACHE_TEST(test_cache_faults__every_step_of_a_store_may_fail),
        CACHE_TEST(test_cache_faults__a_folder_that_cannot_be_made),
        CACHE_TEST(test_cache_faults__short_and_interrupted_writes_are_finished),
        CACHE_TEST(test_cache_faults__a_load_that_cannot_open_is_a_miss),
        CACHE_TEST(test_cache_faults__the_file_size_limit_kills_nobody),
        CACHE_TEST(test_cache_faults__a_read_only_folder_is_silent),
        CACHE_TEST(test_cache_faults__a_read_only_folder_still_hits),
        CACHE_TEST(test_cache_faults__entries_others_could_have_written_are_not_loaded),
        CACHE_TEST(test_cache_faults__entries_that_are_no_files_are_replaced),
        CACHE_TEST(test_cache_faults__shards_that_are_no_folders_are_replaced),
    };

    return cmocka_run_group_tests_name("cache_faults", tests, NULL, NULL);
}
