/*
 * test_cache_limit.c - src/cache: the byte limit, the order of eviction, one compile per key,
 * bundles, the index, and the public functions of kiln/cache.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_env.h"

static kiln_cache_counters counters_of(kiln__cache *cache)
{
    kiln_cache_counters c;

    kiln__cache_get_counters(cache, &c);
    return c;
}

static void fill_named(cache_env *t);

static kiln_cache *open_public(cache_env *t)
{
    kiln_cache *cache = NULL;

    assert_int_equal(kiln_cache_open(t->dir, &cache, NULL), KILN_OK);
    assert_string_equal(kiln_cache_path(cache), t->dir);
    return cache;
}

/* ---- the limit ---- */

static void test_cache_limit__sizes_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"1048576", 1048576},
                {"1K", 1024},
                {"1KiB", 1024},
                {"1kb", 1000},
                {"200M", 209715200},
                {"1.5GiB", 1610612736},
                {"2 T", 2199023255552},
                {"none", UINT64_MAX}};
    static const char *const bad[] = {"",   "M",    "-1", "1X",   "1Ki", "1 2",
                                      "x1", "0x10", "1e30", "nan", "inf", "1MM"};

    (void)state;
    for (size_t k = 0; k < KILN_COUNT_OF(good); k++) {
        uint64_t bytes = 7;
        assert_true(kiln__bytes_parse(good[k].text, &bytes));
        assert_int_equal(bytes, good[k].bytes);
    }
    for (size_t k = 0; k < KILN_COUNT_OF(bad); k++) {
        uint64_t bytes = 7;
        if (kiln__bytes_parse(bad[k], &bytes))
            fail_msg("'%s' was taken for a size", bad[k]);
        assert_int_equal(bytes, 7);
    }
}

static void test_cache_limit__the_folder_never_holds_more(void **state)
{
    cache_env *t = *state;
    const uint64_t limit = 50000;
    kiln__cache *cache = cache_env_open_limited(t, limit);
    char key[16];

    for (unsigned k = 0; k < 200; k++) {
        snprintf(key, sizeof key, "key %u", k);
        cache_put(cache, key, 100 + k * 37 % 5000);
        assert_true(cache_bytes_on_disk(t) <= limit);
        assert_true(cache_on_disk(t, key));
    }
    /* It rests near the limit, not far below. */
    assert_true(cache_bytes_on_disk(t) > limit * 8 / 10);
    assert_true(counters_of(cache).evictions > 50);
    assert_int_equal(counters_of(cache).store_failures, 0);
    kiln__cache_close(cache);
}

static void test_cache_limit__the_least_recently_used_goes_first(void **state)
{
    cache_env *t = *state;
    /* Five files of 1080 bytes fit, six do not. */
    kiln__cache *cache = cache_env_open_limited(t, 6000);
    static const char *const keys[] = {"a", "b", "c", "d", "e"};

    for (size_t k = 0; k < KILN_COUNT_OF(keys); k++)
        cache_put(cache, keys[k], 1000);
    static char zeros[1000];
    assert_true(cache_finds(cache, "a", zeros, 1000));
    assert_true(cache_finds(cache, "c", zeros, 1000));
    cache_put(cache, "f", 1000);
    assert_true(cache_on_disk(t, "a") && cache_on_disk(t, "c") && cache_on_disk(t, "e") && cache_on_disk(t, "f"));
    assert_false(cache_on_disk(t, "b"));
    cache_put(cache, "g", 1000);
    assert_false(cache_on_disk(t, "d"));
    assert_true(cache_on_disk(t, "a") && cache_on_disk(t, "c") && cache_on_disk(t, "g"));
    kiln__cache_close(cache);
}

/* As after a clock set back by a year: what was stored and hit before bears later times. */
static void test_cache_limit__a_clock_set_back_turns_nothing_around(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open_limited(t, 6000);
    static char zeros[1000];
    char path[256];

    cache_put(cache, "a", 1000);
    cache_put(cache, "b", 1000);
    for (int k = 0; k < 2; k++) {
        struct timespec times[2] = {{0, UTIME_OMIT}, {time(NULL) + 31536000 + k, 0}};
        cache_entry_path(t, k == 0 ? "a" : "b", path);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    assert_true(cache_finds(cache, "b", zeros, 1000));
    cache_put(cache, "c", 1000);
    cache_put(cache, "d", 1000);
    cache_put(cache, "e", 1000);
    cache_put(cache, "f", 1000);
    assert_false(cache_on_disk(t, "a"));
    assert_true(cache_on_disk(t, "b") && cache_on_disk(t, "f"));
    kiln__cache_close(cache);
}

static void test_cache_limit__what_exceeds_the_limit_is_not_kept(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open_limited(t, 1000);

    cache_put(cache, "small", 100);
    cache_put(cache, "large", 5000);
    cache_put(cache, "larger", 5000);
    assert_true(cache_on_disk(t, "small"));
    assert_false(cache_on_disk(t, "large"));
    assert_false(cache_finds(cache, "large", "", 0));
    assert_int_equal(atomic_load(&t->log_count), 1);
    kiln__cache_close(cache);
}

/* The ledger is deleted, emptied, filled with anything: it is made anew, and the limit holds. */
static void test_cache_limit__a_lost_ledger_is_made_anew(void **state)
{
    cache_env *t = *state;
    char path[256], key[16], junk[4000];

    memset(junk, 'j', sizeof junk);
    snprintf(path, sizeof path, "%s/kiln-ledger", t->dir);
    for (unsigned k = 0; k < 60; k++) {
        kiln__cache *cache = cache_env_open_limited(t, 20000);
        snprintf(key, sizeof key, "key %u", k);
        cache_put(cache, key, 1500);
        assert_true(cache_on_disk(t, key));
        assert_true(cache_bytes_on_disk(t) <= 20000);
        kiln__cache_close(cache);
        if (k % 3 == 0)
            unlink(path);
        else
            cache_write_file(path, junk, k % 3 == 1 ? 0 : sizeof junk);
    }
    assert_true(cache_bytes_on_disk(t) > 12000);
}

static void test_cache_limit__writers_and_readers_together_stay_below(void **state)
{
    cache_env *t = *state;
    const uint64_t limit = 60000;
    pid_t children[4];

    for (unsigned c = 0; c < KILN_COUNT_OF(children); c++) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c] == 0) {
            kiln__cache *cache = cache_env_open_limited(t, limit);
            for (unsigned k = 0; k < 150; k++) {
                char key[16];
                kiln__blob blob = KILN__BLOB_INIT;
                snprintf(key, sizeof key, "key %u", (k * 7 + c * 13) % 97);
                if (!kiln__cache_load(cache, key, strlen(key), &blob))
                    cache_put(cache, key, 1000);
                kiln__blob_clear(&blob);
            }
            kiln__cache_close(cache);
            _exit(0);
        }
    }
    /* All stand still while the folder is added up: a sum over moving files counts what was evicted
     * and what came in its place. */
    for (int round = 0; round < 10; round++) {
        for (unsigned c = 0; c < KILN_COUNT_OF(children); c++)
            kill(children[c], SIGSTOP);
        usleep(5000);
        const uint64_t bytes = cache_bytes_on_disk(t);
        for (unsigned c = 0; c < KILN_COUNT_OF(children); c++)
            kill(children[c], SIGCONT);
        assert_true(bytes <= limit);
    }
    for (unsigned c = 0; c < KILN_COUNT_OF(children); c++) {
        int status = 1;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_int_equal(status, 0);
    }
    assert_true(cache_bytes_on_disk(t) <= limit);
}

/* ---- one compile per key ---- */

#define FLIGHT_PROCESSES 16
#define FLIGHT_KEYS 6

static void compile_all(cache_env *t, int log_fd)
{
    kiln__cache *cache = cache_env_open(t);

    for (unsigned k = 0; k < FLIGHT_KEYS; k++) {
        kiln__flight flight = KILN__FLIGHT_INIT;
        kiln__blob blob = KILN__BLOB_INIT;
        char key[16];
        snprintf(key, sizeof key, "flight %u", k);
        if (!kiln__cache_load(cache, key, strlen(key), &blob) &&
            !kiln__cache_flight_begin(cache, key, strlen(key), &flight, &blob)) {
            const struct timespec pause = {0, 10000000};
            char mark = (char)('a' + k);
            nanosleep(&pause, NULL); /* the compiler at work */
            if (write(log_fd, &mark, 1) != 1)
                _exit(2);
            cache_put(cache, key, 500);
        }
        kiln__cache_flight_end(&flight);
        kiln__blob_clear(&blob);
    }
    kiln__cache_close(cache);
}

static void test_cache_limit__processes_compile_each_key_once(void **state)
{
    cache_env *t = *state;
    int log[2];
    char marks[1000];
    ssize_t got = 0;
    unsigned counts[FLIGHT_KEYS] = {0};

    assert_int_equal(pipe(log), 0);
    for (int c = 0; c < FLIGHT_PROCESSES; c++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            compile_all(t, log[1]);
            _exit(0);
        }
    }
    for (int c = 0; c < FLIGHT_PROCESSES; c++) {
        int status = 1;
        wait(&status);
        assert_int_equal(status, 0);
    }
    close(log[1]);
    got = read(log[0], marks, sizeof marks);
    close(log[0]);
    assert_int_equal(got, FLIGHT_KEYS);
    for (ssize_t k = 0; k < got; k++)
        counts[marks[k] - 'a']++;
    for (int k = 0; k < FLIGHT_KEYS; k++)
        assert_int_equal(counts[k], 1);
}

/* A holder that is killed frees the key at once; one that is stopped holds others up for a bounded
 * time only. */
static void test_cache_limit__a_lock_dies_with_its_holder_and_waits_end(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    kiln__flight flight = KILN__FLIGHT_INIT;
    kiln__blob blob = KILN__BLOB_INIT;
    int ready[2];
    char byte = 0;
    double start = 0;
    pid_t child = -1;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kiln__cache *own = cache_env_open(t);
        kiln__cache_flight_begin(own, "key", 3, &flight, &blob);
        _exit(write(ready[1], "r", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kiln__cache_set_wait(cache, 50000);
    start = kiln__now_us();
    assert_false(kiln__cache_flight_begin(cache, "key", 3, &flight, &blob));
    assert_true(kiln__now_us() - start >= 50000);
    assert_int_equal(flight.fd, -1);
    kiln__cache_flight_end(&flight);

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(kiln__cache_flight_begin(cache, "key", 3, &flight, &blob));
    assert_true(flight.fd >= 0);
    kiln__cache_flight_end(&flight);
    assert_int_equal(counters_of(cache).waits, 1);
    close(ready[0]);
    close(ready[1]);
    kiln__cache_close(cache);
}

/* ---- killed writers ---- */

static void test_cache_limit__killed_writers_leave_the_books_right(void **state)
{
    cache_env *t = *state;
    const uint64_t limit = 300000;
    kiln_cache_report report;
    kiln_cache *public = NULL;

    /* On a busy machine a child may not have stored anything within such a time: then more of them. */
    for (int round = 0; round < 40 || (round < 4000 && cache_count_files(t->dir, "") == 0); round++) {
        const struct timespec pause = {0, (round % 20 + 1) * 300000L};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kiln__cache *cache = cache_env_open_limited(t, limit);
            for (unsigned k = 0;; k++) {
                char key[16];
                snprintf(key, sizeof key, "%d %u", round, k);
                cache_put(cache, key, 20000);
            }
        }
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_true(cache_bytes_on_disk(t) <= limit);
    }
    public = open_public(t);
    assert_int_equal(kiln_cache_verify(public, false, &report, NULL), KILN_OK);
    assert_int_equal(report.damaged, 0);
    assert_true(report.good > 0);
    kiln_cache_close(public);
}

/* ---- the public functions ---- */

static void fill_named(cache_env *t)
{
    kiln__cache *cache = cache_env_open(t);
    kiln__blob blob = KILN__BLOB_INIT;
    static const char sm80[] = "kiln-kernel 1\ntarget sm_80\n// kiln: kernel \"alpha\"";
    static const char sm90[] = "kiln-kernel 1\ntarget sm_90\n// kiln: kernel \"beta\"";

    assert_true(kiln__cache_store_as(cache, sm80, strlen(sm80), "AAAA", 4, 5000, "compiled"));
    assert_true(kiln__cache_store_as(cache, sm90, strlen(sm90), "BBBBBBBB", 8, 9000, "compiled"));
    for (int k = 0; k < 3; k++) {
        assert_true(kiln__cache_load(cache, sm80, strlen(sm80), &blob));
        kiln__blob_clear(&blob);
    }
    kiln__cache_close(cache);
}

static void test_cache_limit__a_list_tells_names_targets_hits_and_times(void **state)
{
    cache_env *t = *state;
    kiln_cache *cache = NULL;
    kiln_cache_entry *entries = NULL, one;
    kiln_cache_summary summary;
    size_t count = 0;
    char *text = NULL;

    fill_named(t);
    cache = open_public(t);
    assert_int_equal(kiln_cache_list(cache, KILN_CACHE_BY_HITS, &entries, &count, NULL), KILN_OK);
    assert_int_equal(count, 2);
    assert_string_equal(entries[0].kernel, "alpha");
    assert_string_equal(entries[0].target, "sm_80");
    assert_string_equal(entries[1].kernel, "beta");
    assert_int_equal(entries[0].last_use_ns > entries[1].last_use_ns, 1);
    assert_int_equal(kiln_cache_stats(cache, &summary, NULL), KILN_OK);
    assert_int_equal(summary.entry_count, 2);
    assert_int_equal(summary.bytes, cache_bytes_on_disk(t));
    if (summary.has_index) {
        assert_int_equal(entries[0].hits, 3);
        assert_int_equal(entries[1].hits, 0);
        assert_int_equal(entries[1].compile_us, 9000);
        assert_string_equal(entries[0].origin, "compiled");
        assert_int_equal(summary.hits, 3);
        assert_int_equal(summary.compile_us, 14000);
        assert_string_equal(summary.slowest_kernel, "beta");
    }
    assert_int_equal(kiln_cache_show(cache, entries[1].key, &one, &text, NULL), KILN_OK);
    assert_non_null(strstr(text, "target sm_90\n"));
    assert_int_equal(one.bytes, entries[1].bytes);
    kiln_free(text);
    assert_int_equal(kiln_cache_show(cache, "", &one, NULL, NULL), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_cache_show(cache, "xyz", &one, NULL, NULL), KILN_ERR_ARGUMENT);
    kiln_free(entries);
    kiln_cache_close(cache);
}

/* As where ~/.cache is a link to a larger disk. */
static void test_cache_limit__a_link_may_lead_to_an_indexed_folder(void **state)
{
    cache_env *t = *state;
    char link[128];
    kiln_cache_summary s;
    kiln_cache *cache = NULL;

    fill_named(t);
    cache = open_public(t);
    assert_int_equal(kiln_cache_stats(cache, &s, NULL), KILN_OK);
    kiln_cache_close(cache);
    if (!s.has_index) {
        print_message("no index here: %s\n", s.index_note);
        skip();
    }
    snprintf(link, sizeof link, "%s/link", t->base);
    assert_int_equal(symlink(t->dir, link), 0);
    assert_int_equal(kiln_cache_open(link, &cache, NULL), KILN_OK);
    assert_int_equal(kiln_cache_stats(cache, &s, NULL), KILN_OK);
    assert_int_equal(s.entry_count, 2);
    assert_string_equal(s.index_note, "");
    assert_true(s.has_index);
    kiln_cache_close(cache);
}

/* Whatever happens to the index, the list is whole. */
static void test_cache_limit__the_index_may_be_lost_damaged_locked_or_newer(void **state)
{
    cache_env *t = *state;
    char path[256], command[512];
    kiln_cache_summary s;

    snprintf(path, sizeof path, "%s/kiln-index.sqlite", t->dir);
    fill_named(t);
    for (int kind = 0; kind < 4; kind++) {
        kiln_cache *cache = open_public(t);
        assert_int_equal(kiln_cache_stats(cache, &s, NULL), KILN_OK);
        if (!s.has_index) {
            print_message("no index here: %s\n", s.index_note);
            kiln_cache_close(cache);
            skip();
        }
        if (kind == 0)
            assert_int_equal(unlink(path), 0);
        if (kind == 1)
            cache_write_file(path, "this was a database once, and is none any more", 46);
        if (kind == 2) { /* user_version, big-endian, stands at byte 60 of a database */
            snprintf(command, sizeof command,
                     "printf '\\000\\000\\000\\143' | dd of=%s bs=1 seek=60 conv=notrunc 2>/dev/null",
                     path);
            assert_int_equal(system(command), 0);
        }
        if (kind == 3) {
            unlink(path);
            assert_int_equal(mkdir(path, 0700), 0);
        }
        assert_int_equal(kiln_cache_stats(cache, &s, NULL), KILN_OK);
        assert_int_equal(s.entry_count, 2);
        assert_int_equal(s.has_index, kind != 2);
        assert_int_equal(s.index_note[0] != '\0', kind == 2);
        if (kind == 2)
            assert_non_null(strstr(s.index_note, "newer"));
        if (kind == 2)
            unlink(path);
        kiln_cache_close(cache);
    }
}

static void test_cache_limit__verify_finds_and_removes_damage(void **state)
{
    cache_env *t = *state;
    kiln__cache *store = cache_env_open(t);
    kiln_cache_report r;
    kiln_cache *cache = NULL;
    char path[256], other[256], file[300];
    size_t bytes = 0;

    cache_put(store, "good", 10);
    cache_put(store, "flipped", 10);
    cache_put(store, "renamed", 10);
    cache_put(store, "gone", 10);
    kiln__cache_close(store);
    cache_entry_path(t, "flipped", path);
    bytes = cache_read_file(path, file, sizeof file);
    file[bytes - 1] ^= 1;
    cache_write_file(path, file, bytes);
    cache_entry_path(t, "renamed", path);
    cache_entry_path(t, "gone", other);
    assert_int_equal(rename(path, other), 0);
    cache = open_public(t);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(kiln_cache_verify(cache, round == 1, &r, NULL), KILN_OK);
        assert_int_equal(r.good, 1);
        assert_int_equal(r.damaged, round < 2 ? 2 : 0);
        assert_int_equal(r.first_damaged[0] != '\0', round < 2);
    }
    kiln_cache_close(cache);
    assert_true(cache_on_disk(t, "good"));
}

static void test_cache_limit__prune_and_clear_remove_what_they_say(void **state)
{
    cache_env *t = *state;
    kiln__cache *store = cache_env_open(t);
    kiln_cache *cache = NULL;
    uint64_t removed = 0;
    char key[16];

    for (int k = 0; k < 20; k++) {
        snprintf(key, sizeof key, "key %d", k);
        cache_put(store, key, 920); /* 1000 bytes a file */
    }
    cache = open_public(t);
    assert_int_equal(kiln_cache_prune(cache, 5500, &removed, NULL), KILN_OK);
    assert_int_equal(removed, 15);
    assert_int_equal(cache_bytes_on_disk(t), 5000);
    assert_true(cache_on_disk(t, "key 15") && !cache_on_disk(t, "key 14"));
    assert_int_equal(kiln_cache_clear(cache, &removed, NULL), KILN_OK);
    assert_int_equal(removed, 5);
    assert_int_equal(cache_bytes_on_disk(t), 0);
    cache_put(store, "after", 10);
    assert_true(cache_on_disk(t, "after"));
    kiln_cache_close(cache);
    kiln__cache_close(store);
}

/* ---- bundles ---- */

static void test_cache_limit__a_bundle_carries_kernels_to_another_folder(void **state)
{
    cache_env *t = *state;
    static const char sm80[] = "kiln-kernel 1\ntarget sm_80\n// kiln: kernel \"alpha\"";
    static const char sm90[] = "kiln-kernel 1\ntarget sm_90\n// kiln: kernel \"beta\"";
    static const char *const only[] = {"sm_90"};
    char all[128], some[128], again[128];
    kiln_cache *cache = NULL;
    kiln__cache *store = NULL;
    uint64_t count = 0;
    unsigned char a[4096], b[4096];
    size_t bytes = 0;

    snprintf(all, sizeof all, "%s/all.kiln", t->base);
    snprintf(some, sizeof some, "%s/some.kiln", t->base);
    snprintf(again, sizeof again, "%s/again.kiln", t->base);
    fill_named(t);
    cache = open_public(t);
    assert_int_equal(kiln_cache_export(cache, all, NULL, 0, &count, NULL), KILN_OK);
    assert_int_equal(count, 2);
    assert_int_equal(kiln_cache_export(cache, again, NULL, 0, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_cache_export(cache, some, only, 1, &count, NULL), KILN_OK);
    assert_int_equal(count, 1);
    bytes = cache_read_file(all, a, sizeof a);
    assert_int_equal(cache_read_file(again, b, sizeof b), bytes);
    assert_memory_equal(a, b, bytes);
    assert_int_equal(kiln_cache_clear(cache, NULL, NULL), KILN_OK);

    store = cache_env_open(t);
    assert_int_equal(kiln__cache_add_bundle(store, some, NULL), KILN_OK);
    assert_true(cache_finds(store, sm90, "BBBBBBBB", 8));
    assert_false(cache_finds(store, sm80, "", 0));
    assert_int_equal(counters_of(store).bundle_hits, 1);
    kiln__cache_close(store);

    assert_int_equal(kiln_cache_import(cache, all, &count, NULL), KILN_OK);
    assert_int_equal(count, 2);
    assert_int_equal(kiln_cache_import(cache, all, &count, NULL), KILN_OK);
    assert_int_equal(count, 0);
    store = cache_env_open(t);
    assert_true(cache_finds(store, sm80, "AAAA", 4));
    kiln__cache_close(store);
    kiln_cache_close(cache);
}

/* The limit ends a process by a signal, and cannot be raised again: a child tries. */
static void test_cache_limit__a_bundle_beyond_the_file_size_limit_kills_nobody(void **state)
{
    cache_env *t = *state;
    const struct rlimit limit = {100, 100};
    char path[128];
    int code = 0;

    snprintf(path, sizeof path, "%s/all.kiln", t->base);
    fill_named(t);
    kiln_cache *cache = open_public(t);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(2);
        _exit(kiln_cache_export(cache, path, NULL, 0, NULL, NULL) == KILN_OK ? 3 : 0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(kiln_cache_export(cache, path, NULL, 0, NULL, NULL), KILN_OK);
    kiln_cache_close(cache);
}

/* Every byte of a bundle is covered: header and index when it is opened, blobs when found. */
static void test_cache_limit__damaged_bundles_give_nothing_wrong(void **state)
{
    cache_env *t = *state;
    static const char sm80[] = "kiln-kernel 1\ntarget sm_80\n// kiln: kernel \"alpha\"";
    kiln_cache *cache = NULL;
    unsigned char file[4096];
    char path[128];
    size_t bytes = 0;

    snprintf(path, sizeof path, "%s/all.kiln", t->base);
    fill_named(t);
    cache = open_public(t);
    assert_int_equal(kiln_cache_export(cache, path, NULL, 0, NULL, NULL), KILN_OK);
    kiln_cache_close(cache);
    bytes = cache_read_file(path, file, sizeof file);
    for (size_t at = 0; at < 2 * bytes; at++) {
        kiln__cache *store = kiln__cache_open("", NULL);
        unsigned char kept = file[at % bytes];
        if (at < bytes)
            file[at] ^= 0x41;
        cache_write_file(path, file, at < bytes ? bytes : at - bytes);
        file[at % bytes] = kept;
        if (kiln__cache_add_bundle(store, path, NULL) == KILN_OK) {
            assert_true(at < bytes && at >= 128);
            (void)cache_finds(store, sm80, "AAAA", 4);
        }
        kiln__cache_close(store);
    }
    cache_write_file(path, file, bytes);
    kiln__cache *store = kiln__cache_open("", NULL);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(kiln__cache_add_bundle(store, path, NULL), KILN_ERR_CACHE);
    assert_int_equal(kiln__cache_add_bundle(store, t->base, NULL), KILN_ERR_IO);
    assert_int_equal(kiln__cache_add_bundle(store, "/nonexistent", NULL), KILN_ERR_IO);
    kiln__cache_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_limit__sizes_are_read_as_people_write_them),
        CACHE_TEST(test_cache_limit__the_folder_never_holds_more),
        CACHE_TEST(test_cache_limit__the_least_recently_used_goes_first),
        CACHE_TEST(test_cache_limit__a_clock_set_back_turns_nothing_around),
        CACHE_TEST(test_cache_limit__what_exceeds_the_limit_is_not_kept),
        CACHE_TEST(test_cache_limit__a_lost_ledger_is_made_anew),
        CACHE_TEST(test_cache_limit__writers_and_readers_together_stay_below),
        CACHE_TEST(test_cache_limit__processes_compile_each_key_once),
        CACHE_TEST(test_cache_limit__a_lock_dies_with_its_holder_and_waits_end),
        CACHE_TEST(test_cache_limit__killed_writers_leave_the_books_right),
        CACHE_TEST(test_cache_limit__a_list_tells_names_targets_hits_and_times),
        CACHE_TEST(test_cache_limit__a_link_may_lead_to_an_indexed_folder),
        CACHE_TEST(test_cache_limit__the_index_may_be_lost_damaged_locked_or_newer),
        CACHE_TEST(test_cache_limit__verify_finds_and_removes_damage),
        CACHE_TEST(test_cache_limit__prune_and_clear_remove_what_they_say),
        CACHE_TEST(test_cache_limit__a_bundle_carries_kernels_to_another_folder),
        CACHE_TEST(test_cache_limit__a_bundle_beyond_the_file_size_limit_kills_nobody),
        CACHE_TEST(test_cache_limit__damaged_bundles_give_nothing_wrong),
    };

    return cmocka_run_group_tests_name("cache_limit", tests, NULL, NULL);
}
