/*
 * test_cache_order.c - src/cache: what a hit costs and what it leaves behind: stamps, by which
 * eviction finds the least recently used.
 *
 * A hit stamps its entry when the store is closed, when many have gathered or when this store is
 * about to evict; at once only where the last stamp is more than an hour old.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_env.h"

#define MINUTE ((int64_t)60 * 1000000000)
#define HOUR (60 * MINUTE)

static char zeros[1000];

static int64_t now_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t stamp_of(const cache_env *t, const char *key)
{
    char path[256];
    struct stat st;

    cache_entry_path(t, key, path);
    assert_int_equal(stat(path, &st), 0);
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* As if the entry had been used last at that time. */
static void set_stamp(const cache_env *t, const char *key, int64_t ns)
{
    struct timespec times[2] = {{0, UTIME_OMIT}, {ns / 1000000000, ns % 1000000000}};
    char path[256];

    cache_entry_path(t, key, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* ---- when stamps are set ---- */

static void test_cache_order__a_hit_is_stamped_when_the_store_is_closed(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    const int64_t start = now_ns(), before = start - 30 * MINUTE;

    cache_put(cache, "a", 100);
    cache_put(cache, "b", 100);
    set_stamp(t, "a", before);
    set_stamp(t, "b", before);
    assert_true(cache_finds(cache, "a", zeros, 100));
    assert_int_equal(stamp_of(t, "a"), before);
    kiln__cache_close(cache);
    assert_true(stamp_of(t, "a") >= start);
    assert_int_equal(stamp_of(t, "b"), before);
}

static void test_cache_order__an_old_stamp_is_renewed_at_once(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    const int64_t start = now_ns();

    cache_put(cache, "a", 100);
    set_stamp(t, "a", start - HOUR - MINUTE);
    assert_true(cache_finds(cache, "a", zeros, 100));
    const int64_t renewed = stamp_of(t, "a");
    assert_true(renewed >= start);
    /* It is young now: the next hit waits. */
    assert_true(cache_finds(cache, "a", zeros, 100));
    assert_int_equal(stamp_of(t, "a"), renewed);
    kiln__cache_close(cache);
    assert_true(stamp_of(t, "a") > renewed);
}

static void test_cache_order__many_hits_are_stamped_in_between(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    const int64_t start = now_ns(), before = start - 30 * MINUTE;
    char key[24];

    for (int k = 0; k < 200; k++) {
        snprintf(key, sizeof key, "key %d", k);
        cache_put(cache, key, 100);
        set_stamp(t, key, before);
    }
    for (int k = 0; k < 200; k++) {
        snprintf(key, sizeof key, "key %d", k);
        assert_true(cache_finds(cache, key, zeros, 100));
    }
    assert_true(stamp_of(t, "key 0") >= start);
    assert_true(stamp_of(t, "key 50") > stamp_of(t, "key 49"));
    kiln__cache_close(cache);
    assert_true(stamp_of(t, "key 199") > stamp_of(t, "key 198"));
}

/* The later use was by another process; this one, closed after it, must not take that back. */
static void test_cache_order__a_stamp_never_moves_backwards(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t), *other = NULL;

    cache_put(cache, "a", 100);
    assert_true(cache_finds(cache, "a", zeros, 100));
    other = cache_env_open(t);
    assert_true(cache_finds(other, "a", zeros, 100));
    kiln__cache_close(other);
    const int64_t later = stamp_of(t, "a");
    kiln__cache_close(cache);
    assert_int_equal(stamp_of(t, "a"), later);
    set_stamp(t, "a", later + HOUR);
    cache = cache_env_open(t);
    set_stamp(t, "a", later + 10 * HOUR);
    kiln__cache_close(cache);
    assert_int_equal(stamp_of(t, "a"), later + 10 * HOUR);
}

/* Entries that go away between hit and flush, and times that nobody can mean. */
static void test_cache_order__what_cannot_be_stamped_is_passed_over(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    char path[256];

    cache_put(cache, "gone", 100);
    cache_put(cache, "far", 100);
    cache_put(cache, "link", 100);
    set_stamp(t, "far", INT64_MAX / 1000000000 * 1000000000);
    assert_true(cache_finds(cache, "gone", zeros, 100));
    assert_true(cache_finds(cache, "far", zeros, 100));
    assert_true(cache_finds(cache, "link", zeros, 100));
    cache_entry_path(t, "gone", path);
    assert_int_equal(unlink(path), 0);
    cache_entry_path(t, "link", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nonexistent", path), 0);
    kiln__cache_close(cache);
    assert_int_equal(atomic_load(&t->log_count), 0);
    assert_false(cache_on_disk(t, "gone"));
}

/* ---- what eviction makes of it ---- */

/* Room for five files of 1080 bytes; a store beyond evicts from the oldest on. */
static const char *const FIVE[] = {"a", "b", "c", "d", "e"};

static void fill_five(cache_env *t, int64_t oldest, int64_t step)
{
    kiln__cache *cache = cache_env_open_limited(t, 6000);

    for (int k = 0; k < 5; k++) {
        cache_put(cache, FIVE[k], 1000);
        set_stamp(t, FIVE[k], oldest + k * step);
    }
    kiln__cache_close(cache);
}

static void add_one(cache_env *t, const char *key)
{
    kiln__cache *cache = cache_env_open_limited(t, 6000);

    cache_put(cache, key, 1000);
    assert_true(cache_on_disk(t, key));
    kiln__cache_close(cache);
}

/* Hit a key in a process that is killed before it could put anything down. */
static void hit_and_die(cache_env *t, const char *key)
{
    int ready[2], status = 0;
    char byte = 0;
    pid_t child = -1;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kiln__cache *cache = cache_env_open(t);
        kiln__blob blob = KILN__BLOB_INIT;
        byte = kiln__cache_load(cache, key, strlen(key), &blob) ? 'h' : 'm';
        _exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'h');
    close(ready[0]);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* Two hours old, then used by a process that was killed: it stays, as others were used longer ago
 * than an hour. */
static void test_cache_order__a_killed_process_loses_an_hour_at_most(void **state)
{
    cache_env *t = *state;

    fill_five(t, now_ns() - 3 * HOUR, 10 * MINUTE);
    hit_and_die(t, "a");
    add_one(t, "f");
    assert_true(cache_on_disk(t, "a"));
    assert_false(cache_on_disk(t, "b"));

    /* Within the hour the hit is lost with the process. */
    cache_remove_tree(t->dir);
    fill_five(t, now_ns() - 50 * MINUTE, MINUTE);
    hit_and_die(t, "a");
    add_one(t, "f");
    assert_false(cache_on_disk(t, "a"));
    assert_true(cache_on_disk(t, "b"));
}

/* Processes that each hit some keys and end: what none of them used goes first. */
static void test_cache_order__hits_of_many_processes_are_seen(void **state)
{
    cache_env *t = *state;

    fill_five(t, now_ns() - 50 * MINUTE, MINUTE);
    for (int c = 0; c < 8; c++) {
        const char *key = FIVE[c % 2 == 0 ? 0 : 2];
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kiln__cache *cache = cache_env_open(t);
            kiln__blob blob = KILN__BLOB_INIT;
            bool hit = true;
            for (int k = 0; k < 150 && hit; k++) {
                hit = kiln__cache_load(cache, key, 1, &blob);
                kiln__blob_clear(&blob);
            }
            kiln__cache_close(cache);
            _exit(!hit);
        }
    }
    for (int c = 0; c < 8; c++) {
        int status = 1;
        wait(&status);
        assert_int_equal(status, 0);
    }
    add_one(t, "f");
    add_one(t, "g");
    assert_true(cache_on_disk(t, "a") && cache_on_disk(t, "c"));
    assert_true(!cache_on_disk(t, "b") && !cache_on_disk(t, "d"));
    assert_true(cache_on_disk(t, "f") && cache_on_disk(t, "g"));
}

/* A store's own hits count in its own choice of victims, flushed or not. */
static void test_cache_order__a_store_knows_its_own_hits(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;

    fill_five(t, now_ns() - 50 * MINUTE, MINUTE);
    cache = cache_env_open_limited(t, 6000);
    assert_true(cache_finds(cache, "a", zeros, 1000));
    cache_put(cache, "f", 1000);
    assert_true(cache_on_disk(t, "a"));
    assert_false(cache_on_disk(t, "b"));
    assert_true(cache_finds(cache, "c", zeros, 1000));
    cache_put(cache, "g", 1000);
    assert_true(cache_on_disk(t, "c"));
    assert_false(cache_on_disk(t, "d"));
    kiln__cache_close(cache);
}

/* Above 1,024 files samples are taken. Of 3,000 files 300 go: each from the older half of all, and
 * nine of ten from the oldest quarter. */
static void test_cache_order__large_folders_evict_old_entries(void **state)
{
    enum { FILES = 3000, MORE = 300 };
    cache_env *t = *state;
    const int64_t oldest = now_ns() - 50 * MINUTE;
    kiln__cache *cache = cache_env_open(t);
    int gone = 0, gone_oldest = 0;
    char key[24];

    for (int k = 0; k < FILES; k++) {
        snprintf(key, sizeof key, "key %d", k);
        cache_put(cache, key, 20);
        set_stamp(t, key, oldest + k * (int64_t)1000000);
    }
    kiln__cache_close(cache);
    cache = cache_env_open_limited(t, FILES * 100);
    for (int k = 0; k < MORE; k++) {
        snprintf(key, sizeof key, "more %d", k);
        cache_put(cache, key, 20);
        assert_true(cache_on_disk(t, key));
    }
    assert_true(cache_bytes_on_disk(t) <= FILES * 100);
    for (int k = 0; k < FILES; k++) {
        snprintf(key, sizeof key, "key %d", k);
        if (cache_on_disk(t, key))
            continue;
        gone++;
        gone_oldest += k < FILES / 4;
        assert_true(k < FILES / 2);
    }
    assert_true(gone >= MORE && gone <= 2 * MORE);
    assert_true(gone_oldest >= gone * 9 / 10);
    kiln__cache_close(cache);
}

/* Books that claim what is not there: they are mended while room is looked for. */
static void test_cache_order__books_that_claim_too_much_are_mended(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    char key[24], command[256];

    for (int k = 0; k < 1500; k++) {
        snprintf(key, sizeof key, "key %d", k);
        cache_put(cache, key, 20);
    }
    kiln__cache_close(cache);
    snprintf(command, sizeof command, "find %s -mindepth 2 -type f -delete", t->dir);
    assert_int_equal(system(command), 0);
    cache = cache_env_open_limited(t, 1000);
    cache_put(cache, "new", 20);
    assert_true(cache_on_disk(t, "new"));
    assert_int_equal(cache_bytes_on_disk(t), 100);
    kiln__cache_close(cache);
}

/* ---- what a hit asks of the system ---- */

/* The two system calls between which the traced process opens the cache and hits: no others of
 * its calls can be mistaken for them. */
#define MARK_BEGIN "/kiln-test-begin"
#define MARK_END "/kiln-test-end"

/* open and fstat of the folder; open, fstat and close of the shard; open, fstat, read and close of the
 * entry; geteuid twice. And lstat of each folder on the way, which is below /tmp. */
#define CALLS_OF_A_HIT (11 + 2)

static int hit_once(const char *dir)
{
    kiln__blob blob = KILN__BLOB_INIT;
    kiln__cache *cache = NULL;
    bool hit = false;

    (void)!access(MARK_BEGIN, F_OK);
    cache = kiln__cache_open(dir, NULL);
    hit = kiln__cache_load(cache, "traced", 6, &blob);
    (void)!access(MARK_END, F_OK);
    kiln__blob_clear(&blob);
    kiln__cache_close(cache);
    return !hit;
}

/* Memory for the process is none of the cache's business. */
static bool is_memory_call(const char *line)
{
    static const char *const names[] = {"brk(", "mmap(", "munmap(", "mprotect(", "getrandom("};

    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        if (strstr(line, names[k]) != NULL)
            return true;
    }
    return false;
}

/* A process that only hits opens no index, no ledger and no lock, loads no library, and makes eleven
 * system calls from opening the folder to the checked blob, and one for each folder on the way. */
static void test_cache_order__a_hit_makes_eleven_system_calls(void **state)
{
#if defined(CACHE_ADDRESS_SANITIZER)
    print_message("SKIP: the leak checker cannot run under strace\n");
    skip();
#endif
    cache_env *t = *state;
    char trace[128], entry[256], self[256] = "", command[1024], line[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    bool seen_entry = false, within = false;
    int calls = 0;
    FILE *f = NULL;

    if (length <= 0 || system("strace -o /dev/null true 2>/dev/null") != 0) {
        print_message("SKIP: strace is missing or not allowed here\n");
        skip();
    }
    kiln__cache *cache = cache_env_open(t);
    cache_put(cache, "traced", 100);
    kiln__cache_close(cache);
    cache_entry_path(t, "traced", entry);
    snprintf(trace, sizeof trace, "%s/trace", t->base);
    snprintf(command, sizeof command, "strace -o %s %s --hit %s", trace, self, t->dir);
    assert_int_equal(system(command), 0);
    f = fopen(trace, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        seen_entry |= strstr(line, strrchr(entry, '/') + 1) != NULL;
        if (strstr(line, "sqlite") != NULL || strstr(line, "nvrtc") != NULL ||
            strstr(line, "kiln-ledger") != NULL || strstr(line, "kiln-lock") != NULL)
            fail_msg("a hit opened: %s", line);
        within &= strstr(line, MARK_END) == NULL;
        if (within && !is_memory_call(line)) {
            print_message("    %s", line);
            calls++;
        }
        within |= strstr(line, MARK_BEGIN) != NULL;
    }
    fclose(f);
    assert_true(seen_entry);
    assert_int_equal(calls, CALLS_OF_A_HIT);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--hit") == 0)
        return hit_once(argv[2]);

    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_order__a_hit_is_stamped_when_the_store_is_closed),
        CACHE_TEST(test_cache_order__an_old_stamp_is_renewed_at_once),
        CACHE_TEST(test_cache_order__many_hits_are_stamped_in_between),
        CACHE_TEST(test_cache_order__a_stamp_never_moves_backwards),
        CACHE_TEST(test_cache_order__what_cannot_be_stamped_is_passed_over),
        CACHE_TEST(test_cache_order__a_killed_process_loses_an_hour_at_most),
        CACHE_TEST(test_cache_order__hits_of_many_processes_are_seen),
        CACHE_TEST(test_cache_order__a_store_knows_its_own_hits),
        CACHE_TEST(test_cache_order__large_folders_evict_old_entries),
        CACHE_TEST(test_cache_order__books_that_claim_too_much_are_mended),
        CACHE_TEST(test_cache_order__a_hit_makes_eleven_system_calls),
    };

    return cmocka_run_group_tests_name("cache_order", tests, NULL, NULL);
}
