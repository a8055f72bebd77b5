/*
 * test_cache.c - src/cache: what is stored comes back, whatever damage comes back as a miss, and
 * threads and processes may do it all at once. Faults of the folder are in test_cache_faults.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_env.h"

static unsigned char *pattern(size_t bytes, unsigned seed)
{
    unsigned char *data = malloc(bytes + 1);

    for (size_t k = 0; k < bytes; k++)
        data[k] = (unsigned char)((k * 2654435761u + seed * 40503u) >> 8);
    return data;
}

/* ---- round trips ---- */

static void test_cache__what_is_stored_comes_back(void **state)
{
    cache_env *t = *state;
    static const size_t sizes[] = {0, 1, 15, 16, 17, 48, 4096, 100003, 1 << 20};
    kiln__cache *cache = cache_env_open(t);

    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        for (size_t j = 0; j < KILN_COUNT_OF(sizes) - 1; j++) {
            unsigned char *key = pattern(sizes[j], (unsigned)(k + 1));
            unsigned char *data = pattern(sizes[k], (unsigned)(j + 100));
            kiln__blob blob = KILN__BLOB_INIT;
            /* Keys of 0 bytes are all one key, of the last payload. */
            assert_int_equal(kiln__cache_load(cache, key, sizes[j], &blob), sizes[j] == 0 && k > 0);
            kiln__blob_clear(&blob);
            kiln__cache_store(cache, key, sizes[j], data, sizes[k]);
            assert_true(kiln__cache_load(cache, key, sizes[j], &blob));
            assert_int_equal(blob.bytes, sizes[k]);
            assert_memory_equal(blob.data, data, sizes[k]);
            kiln__blob_clear(&blob);
            free(key);
            free(data);
        }
    }
    assert_int_equal(atomic_load(&t->log_count), 0);
    kiln__cache_close(cache);
}

static void test_cache__another_open_store_finds_it(void **state)
{
    cache_env *t = *state;
    kiln__cache *first = cache_env_open(t), *second = cache_env_open(t);

    assert_string_equal(kiln__cache_dir(first), t->dir);
    assert_string_equal(kiln__cache_refusal(first), "");
    kiln__cache_store(first, "key", 3, "cubin", 5);
    assert_true(cache_finds(second, "key", "cubin", 5));
    assert_false(cache_finds(second, "keys", "", 0));
    assert_false(cache_finds(second, "kez", "", 0));
    kiln__cache_close(first);
    kiln__cache_close(second);
    first = cache_env_open(t);
    assert_true(cache_finds(first, "key", "cubin", 5));
    kiln__cache_close(first);
}

static void test_cache__the_last_store_of_a_key_counts(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    kiln__cache_store(cache, "key", 3, "old", 3);
    kiln__cache_store(cache, "key", 3, "newer", 5);
    assert_true(cache_finds(cache, "key", "newer", 5));
    assert_int_equal(cache_count_files(t->dir, ""), 1);
    kiln__cache_close(cache);
}

static void test_cache__counters_tell_what_happened(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    kiln_cache_counters stats = {0};
    char path[256];

    cache_finds(cache, "a", "", 0);
    kiln__cache_store(cache, "a", 1, "A", 1);
    cache_finds(cache, "a", "A", 1);
    cache_finds(cache, "a", "A", 1);
    cache_entry_path(t, "a", path);
    cache_write_file(path, "KILNBLOB, or is it?", 19);
    cache_finds(cache, "a", "A", 1);
    kiln__cache_get_counters(cache, &stats);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.misses, 2);
    assert_int_equal(stats.miss_damaged, 1);
    assert_int_equal(stats.stores, 1);
    assert_int_equal(stats.store_failures, 0);
    kiln__cache_close(cache);
}

static void test_cache__without_a_disk_nothing_is_kept(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = kiln__cache_open("", &t->log);
    kiln_cache_counters stats = {0};

    assert_string_equal(kiln__cache_dir(cache), "");
    assert_string_equal(kiln__cache_refusal(cache), "");
    assert_false(kiln__cache_store_as(cache, "key", 3, "data", 4, 1, "compiled"));
    assert_false(cache_finds(cache, "key", "", 0));
    kiln__cache_get_counters(cache, &stats);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.stores, 0);
    assert_int_equal(stats.store_failures, 0);
    kiln__cache_close(cache);
    assert_int_equal(atomic_load(&t->log_count), 0);
    assert_int_equal(cache_count_files(t->base, ""), 0);
}

/* ---- what lies on the disk ---- */

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return (unsigned)st.st_mode & 07777u;
}

static void test_cache__files_are_named_by_hash_and_closed_to_others(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;
    char path[256];
    mode_t old = umask(0);

    /* An existing parent, and two folders to make. */
    snprintf(t->dir, sizeof t->dir, "%s/a/b//store/", t->base);
    cache = cache_env_open(t);
    cache_finds(cache, "key", "", 0);
    assert_int_equal(access(t->dir, F_OK), -1);
    kiln__cache_store(cache, "key", 3, "cubin", 5);
    umask(old);
    cache_entry_path(t, "key", path);
    assert_int_equal(mode_of(path), 0600);
    *strrchr(path, '/') = '\0';
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(mode_of(t->dir), 0700);
    snprintf(path, sizeof path, "%s/a", t->base);
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(cache_count_files(t->base, ""), 1);
    kiln__cache_close(cache);
}

/* python3: body = struct.pack('<QQ', 13, 21) + bytes(16) + key + bytes(3) + payload
 *          xxhash.xxh3_128_intdigest(body).to_bytes(16, 'little')
 *          xxhash.xxh3_128_hexdigest(key) */
static const char GOLDEN_KEY[] = "kiln test key";
static const char GOLDEN_PAYLOAD[] = "payload of 21 bytes..";
static const char GOLDEN_NAME[] = "02e9c1129c0716daf9ba20b49e9f53f1";
static const unsigned char GOLDEN_FILE[] =
    "KILNBLOB\x01\0\0\0\x40\0\0\0"
    "\x03\x01\x60\x49\xa1\xc8\x06\xe4\x14\xfb\x95\x1a\xbd\xb7\xb2\x8a"
    "\x0d\0\0\0\0\0\0\0\x15\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "kiln test key\0\0\0"
    "payload of 21 bytes..";
#define GOLDEN_BYTES (sizeof GOLDEN_FILE - 1)

static void test_cache__a_file_is_made_of_exactly_these_bytes(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    unsigned char file[256];
    char path[256];

    kiln__cache_store(cache, GOLDEN_KEY, strlen(GOLDEN_KEY), GOLDEN_PAYLOAD,
                      strlen(GOLDEN_PAYLOAD));
    snprintf(path, sizeof path, "%s/%.2s/%s", t->dir, GOLDEN_NAME, GOLDEN_NAME);
    assert_int_equal(cache_read_file(path, file, sizeof file), GOLDEN_BYTES);
    assert_memory_equal(file, GOLDEN_FILE, GOLDEN_BYTES);
    kiln__cache_close(cache);
}

/* ---- damage ---- */

static bool check(const void *file, size_t bytes)
{
    const void *payload = NULL;
    size_t payload_bytes = 0;
    bool ok =
        kiln__blob_check(file, bytes, GOLDEN_KEY, strlen(GOLDEN_KEY), &payload, &payload_bytes);

    if (ok) {
        assert_int_equal(payload_bytes, strlen(GOLDEN_PAYLOAD));
        assert_memory_equal(payload, GOLDEN_PAYLOAD, payload_bytes);
    }
    return ok;
}

static void test_cache__every_flipped_bit_is_noticed(void **state)
{
    unsigned char file[GOLDEN_BYTES];

    (void)state;
    memcpy(file, GOLDEN_FILE, GOLDEN_BYTES);
    assert_true(check(file, GOLDEN_BYTES));
    for (size_t bit = 0; bit < GOLDEN_BYTES * 8; bit++) {
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (check(file, GOLDEN_BYTES))
            fail_msg("bit %zu of byte %zu may be anything", bit % 8, bit / 8);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(check(file, GOLDEN_BYTES));
}

/* Each length is tried in memory of exactly that size, so that the sanitizer sees an over-read. */
static void test_cache__every_other_length_is_noticed(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= GOLDEN_BYTES + 40; bytes++) {
        unsigned char *file = calloc(1, bytes + (bytes == 0));
        memcpy(file, GOLDEN_FILE, bytes < GOLDEN_BYTES ? bytes : GOLDEN_BYTES);
        assert_int_equal(check(file, bytes), bytes == GOLDEN_BYTES);
        free(file);
    }
}

static void put_u64(unsigned char *p, uint64_t v)
{
    for (int k = 0; k < 8; k++)
        p[k] = (unsigned char)(v >> 8 * k);
}

/* Sizes that lie under a checksum that is right, as an attacker would write them. */
static void test_cache__sizes_that_lie_are_noticed(void **state)
{
    static const uint64_t lies[] = {0,
                                    1,
                                    12,
                                    14,
                                    16,
                                    20,
                                    22,
                                    37,
                                    48,
                                    64,
                                    101,
                                    1 << 20,
                                    INT32_MAX,
                                    UINT32_MAX,
                                    INT64_MAX,
                                    UINT64_MAX,
                                    UINT64_MAX - 15,
                                    UINT64_MAX - 63,
                                    UINT64_MAX - 80,
                                    (uint64_t)1 << 63};
    (void)state;
    for (size_t k = 0; k <= KILN_COUNT_OF(lies); k++) {
        for (size_t j = 0; j <= KILN_COUNT_OF(lies); j++) {
            unsigned char *file = malloc(GOLDEN_BYTES);
            uint64_t key = k < KILN_COUNT_OF(lies) ? lies[k] : 13;
            uint64_t payload = j < KILN_COUNT_OF(lies) ? lies[j] : 21;
            kiln__hash128 sum = {0, 0};
            memcpy(file, GOLDEN_FILE, GOLDEN_BYTES);
            put_u64(file + 32, key);
            put_u64(file + 40, payload);
            sum = kiln__hash_128(file + 32, GOLDEN_BYTES - 32);
            put_u64(file + 16, sum.lo);
            put_u64(file + 24, sum.hi);
            assert_int_equal(check(file, GOLDEN_BYTES), key == 13 && payload == 21);
            free(file);
        }
    }
}

/* Bytes that mean nothing must be zero, or two files would be one blob. */
static void test_cache__unused_bytes_must_be_zero(void **state)
{
    (void)state;
    for (size_t at = 48; at < 80; at++) {
        unsigned char file[GOLDEN_BYTES];
        kiln__hash128 sum = {0, 0};
        memcpy(file, GOLDEN_FILE, GOLDEN_BYTES);
        if (at < 64 || at >= 64 + strlen(GOLDEN_KEY))
            file[at] = 1;
        sum = kiln__hash_128(file + 32, GOLDEN_BYTES - 32);
        put_u64(file + 16, sum.lo);
        put_u64(file + 24, sum.hi);
        assert_int_equal(check(file, GOLDEN_BYTES), file[at] != 1);
    }
}

/* On the disk: each byte changed, each length. Miss, then stored anew, then found. */
static void test_cache__damaged_entries_are_rebuilt(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    kiln_cache_counters stats = {0};
    size_t key_bytes = strlen(GOLDEN_KEY), bytes = strlen(GOLDEN_PAYLOAD);
    unsigned char file[GOLDEN_BYTES];
    char path[256];

    cache_entry_path(t, GOLDEN_KEY, path);
    kiln__cache_store(cache, GOLDEN_KEY, key_bytes, GOLDEN_PAYLOAD, bytes);
    for (size_t k = 0; k < 2 * GOLDEN_BYTES; k++) {
        memcpy(file, GOLDEN_FILE, GOLDEN_BYTES);
        if (k < GOLDEN_BYTES) {
            file[k] ^= 0x55;
            cache_write_file(path, file, GOLDEN_BYTES);
        } else {
            cache_write_file(path, file, k - GOLDEN_BYTES);
        }
        assert_false(cache_finds(cache, GOLDEN_KEY, "", 0));
        /* Removed, unless it may be of another version's format (bytes 8 to 11). */
        assert_int_equal(access(path, F_OK) == 0, k >= 8 && k < 12);
        kiln__cache_store(cache, GOLDEN_KEY, key_bytes, GOLDEN_PAYLOAD, bytes);
        assert_true(cache_finds(cache, GOLDEN_KEY, GOLDEN_PAYLOAD, bytes));
    }
    kiln__cache_get_counters(cache, &stats);
    assert_int_equal(stats.miss_damaged, 2 * GOLDEN_BYTES - 4);
    assert_int_equal(stats.hits, 2 * GOLDEN_BYTES);
    assert_int_equal(atomic_load(&t->log_count), 1);
    assert_non_null(strstr(t->last_log, "damaged"));
    kiln__cache_close(cache);
}

/* Two keys of one hash cannot be made, but a file can be given the name of another. */
static void test_cache__a_blob_of_another_key_is_left_alone(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    kiln_cache_counters stats = {0};
    unsigned char file[256], after[256];
    char mine[256], other[256];
    static const char *const others[] = {"kiln test kez", "kiln test ke", "another key at all"};

    for (size_t k = 0; k < KILN_COUNT_OF(others); k++) {
        size_t bytes = 0;
        kiln__cache_store(cache, GOLDEN_KEY, strlen(GOLDEN_KEY), "mine", 4);
        kiln__cache_store(cache, others[k], strlen(others[k]), "theirs", 6);
        cache_entry_path(t, GOLDEN_KEY, mine);
        cache_entry_path(t, others[k], other);
        bytes = cache_read_file(other, file, sizeof file);
        cache_write_file(mine, file, bytes);
        assert_false(cache_finds(cache, GOLDEN_KEY, "mine", 4));
        assert_int_equal(cache_read_file(mine, after, sizeof after), bytes);
        assert_memory_equal(after, file, bytes);
    }
    kiln__cache_get_counters(cache, &stats);
    assert_int_equal(stats.miss_damaged, 0);
    assert_int_equal(atomic_load(&t->log_count), 0);
    kiln__cache_close(cache);
}

/* A sparse file claims what no memory could hold. */
static void test_cache__an_immense_file_is_no_entry(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    unsigned char header[64];
    char path[256];

    kiln__cache_store(cache, GOLDEN_KEY, strlen(GOLDEN_KEY), "x", 1);
    cache_entry_path(t, GOLDEN_KEY, path);
    memcpy(header, GOLDEN_FILE, sizeof header);
    put_u64(header + 40, ((uint64_t)1 << 40) - 80);
    cache_write_file(path, header, sizeof header);
    if (truncate(path, (off_t)1 << 40) != 0) {
        kiln__cache_close(cache);
        skip();
    }
    assert_false(cache_finds(cache, GOLDEN_KEY, "", 0));
    kiln__cache_close(cache);
}

/* ---- no memory ---- */

static void test_cache__survives_each_allocation_failure(void **state)
{
    cache_env *t = *state;
    bool complete = false;

    for (size_t nth = 0; !complete; nth++) {
        kiln__blob blob = KILN__BLOB_INIT;
        kiln__cache *cache = NULL;
        kiln__test_alloc_fail_at(nth);
        cache = kiln__cache_open(t->dir, NULL);
        if (cache != NULL) {
            kiln__cache_store(cache, "key", 3, "data", 4);
            complete = kiln__cache_load(cache, "key", 3, &blob);
        }
        kiln__test_alloc_fail_at(SIZE_MAX);
        complete = complete && nth > 4;
        kiln__blob_clear(&blob);
        kiln__cache_close(cache);
        assert_int_equal(kiln__test_alloc_live(), t->live_before);
        assert_true(nth < 40);
    }
}

/* ---- many at once ---- */

#define SHARED_KEYS 7
#define SHARED_ROUNDS 300

/* Store and load a few keys over and over; every hit must hold the key's only payload. Returns the
 * number of hits that held anything else. */
static int hammer(kiln__cache *cache, unsigned seed)
{
    int wrong = 0;

    for (unsigned round = 0; round < SHARED_ROUNDS; round++) {
        unsigned k = (round * 5 + seed) % SHARED_KEYS;
        size_t bytes = 100 + 3000 * k;
        unsigned char *data = pattern(bytes, k);
        kiln__blob blob = KILN__BLOB_INIT;
        char key[32];
        snprintf(key, sizeof key, "shared %u", k);
        if (kiln__cache_load(cache, key, strlen(key), &blob))
            wrong += blob.bytes != bytes || memcmp(blob.data, data, bytes) != 0;
        else if (round > 50)
            wrong++; /* by then everybody has stored each */
        kiln__blob_clear(&blob);
        if (round % 3 == 0 || round < SHARED_KEYS)
            kiln__cache_store(cache, key, strlen(key), data, bytes);
        free(data);
    }
    return wrong;
}

typedef struct hammer_thread {
    pthread_t thread;
    kiln__cache *cache;
    unsigned seed;
    int wrong;
} hammer_thread;

static void *hammer_in_thread(void *arg)
{
    hammer_thread *h = arg;

    h->wrong = hammer(h->cache, h->seed);
    return NULL;
}

static void check_threads_on(kiln__cache *cache)
{
    hammer_thread threads[6];

    for (unsigned k = 0; k < KILN_COUNT_OF(threads); k++) {
        threads[k] = (hammer_thread){.cache = cache, .seed = k};
        assert_int_equal(pthread_create(&threads[k].thread, NULL, hammer_in_thread, &threads[k]),
                         0);
    }
    for (unsigned k = 0; k < KILN_COUNT_OF(threads); k++) {
        pthread_join(threads[k].thread, NULL);
        assert_int_equal(threads[k].wrong, 0);
    }
}

static void test_cache__threads_share_one_store(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);

    check_threads_on(cache);
    kiln__cache_close(cache);
    assert_int_equal(cache_count_files(t->dir, ""), SHARED_KEYS);
    assert_int_equal(atomic_load(&t->log_count), 0);
}

static void test_cache__processes_share_one_folder(void **state)
{
    cache_env *t = *state;
    pid_t children[4];

    for (unsigned k = 0; k < KILN_COUNT_OF(children); k++) {
        children[k] = fork();
        assert_true(children[k] >= 0);
        if (children[k] == 0) {
            kiln__cache *cache = kiln__cache_open(t->dir, &t->log);
            int wrong = hammer(cache, k);
            kiln__cache_close(cache);
            _exit(wrong != 0 || atomic_load(&t->log_count) != 0);
        }
    }
    for (unsigned k = 0; k < KILN_COUNT_OF(children); k++) {
        int status = 0;
        assert_int_equal(waitpid(children[k], &status, 0), children[k]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(cache_count_files(t->dir, ""), SHARED_KEYS);
}

static kiln__cache *inherited;

static int use_inherited(cache_env *t)
{
    (void)t;
    if (!cache_finds(inherited, "from parent", "p", 1))
        return 1;
    kiln__cache_store(inherited, "from child", 10, "c", 1);
    return 0;
}

static void test_cache__an_open_store_outlives_a_fork(void **state)
{
    cache_env *t = *state;

    inherited = cache_env_open(t);
    kiln__cache_store(inherited, "from parent", 11, "p", 1);
    assert_int_equal(cache_in_child(use_inherited, t), 0);
    assert_true(cache_finds(inherited, "from child", "c", 1));
    kiln__cache_close(inherited);
}

/* ---- killed writers ---- */

#define KILLED_KEYS 16
#define KILLED_BYTES ((size_t)200000)

_Noreturn static void store_for_ever(cache_env *t)
{
    kiln__cache *cache = kiln__cache_open(t->dir, NULL);

    for (unsigned k = 0;; k = (k + 1) % KILLED_KEYS) {
        unsigned char *data = pattern(KILLED_BYTES, k);
        char key[16];
        snprintf(key, sizeof key, "killed %u", k);
        kiln__cache_store(cache, key, strlen(key), data, KILLED_BYTES);
        free(data);
    }
}

static void test_cache__killed_writers_leave_no_half_entry(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    kiln_cache_counters stats = {0};
    size_t found = 0;

    /* On a busy machine a child may not have stored anything within such a time: then more of them. */
    for (int round = 0; round < 60 || (found == 0 && round < 6000); round++) {
        struct timespec pause = {0, (round % 20) * 400000L};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            store_for_ever(t);
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (unsigned k = 0; k < KILLED_KEYS; k++) {
            unsigned char *data = pattern(KILLED_BYTES, k);
            char key[16];
            snprintf(key, sizeof key, "killed %u", k);
            found += cache_finds(cache, key, data, KILLED_BYTES);
            free(data);
        }
    }
    assert_true(found > 0);
    kiln__cache_get_counters(cache, &stats);
    assert_int_equal(stats.miss_damaged, 0);
    kiln__cache_close(cache);
}

/* A writer holds a lock on its file; one that nobody holds was left by a dead process. */
static void test_cache__temporary_files_of_the_dead_are_swept(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = NULL;
    char path[256], dead[300], held[300];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = -1;

    cache = cache_env_open(t);
    kiln__cache_store(cache, "key", 3, "data", 4);
    kiln__cache_close(cache);
    cache_entry_path(t, "key", path);
    *strrchr(path, '/') = '\0';
    snprintf(dead, sizeof dead, "%s/tmp-0123", path);
    snprintf(held, sizeof held, "%s/tmp-4567", path);
    cache_write_file(dead, "half", 4);
    cache_write_file(held, "half", 4);
    fd = open(held, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);

    cache = cache_env_open(t);
    assert_true(cache_finds(cache, "key", "data", 4));
    assert_int_equal(access(dead, F_OK), 0);
    kiln__cache_store(cache, "key", 3, "data", 4);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(held, F_OK), 0);
    assert_true(cache_finds(cache, "key", "data", 4));
    kiln__cache_close(cache);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache__what_is_stored_comes_back),
        CACHE_TEST(test_cache__another_open_store_finds_it),
        CACHE_TEST(test_cache__the_last_store_of_a_key_counts),
        CACHE_TEST(test_cache__counters_tell_what_happened),
        CACHE_TEST(test_cache__without_a_disk_nothing_is_kept),
        CACHE_TEST(test_cache__files_are_named_by_hash_and_closed_to_others),
        CACHE_TEST(test_cache__a_file_is_made_of_exactly_these_bytes),
        CACHE_TEST(test_cache__every_flipped_bit_is_noticed),
        CACHE_TEST(test_cache__every_other_length_is_noticed),
        CACHE_TEST(test_cache__sizes_that_lie_are_noticed),
        CACHE_TEST(test_cache__unused_bytes_must_be_zero),
        CACHE_TEST(test_cache__damaged_entries_are_rebuilt),
        CACHE_TEST(test_cache__a_blob_of_another_key_is_left_alone),
        CACHE_TEST(test_cache__an_immense_file_is_no_entry),
        CACHE_TEST(test_cache__survives_each_allocation_failure),
        CACHE_TEST(test_cache__threads_share_one_store),
        CACHE_TEST(test_cache__processes_share_one_folder),
        CACHE_TEST(test_cache__an_open_store_outlives_a_fork),
        CACHE_TEST(test_cache__killed_writers_leave_no_half_entry),
        CACHE_TEST(test_cache__temporary_files_of_the_dead_are_swept),
    };

    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
