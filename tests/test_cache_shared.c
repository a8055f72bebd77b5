/*
 * test_cache_shared.c - src/cache used by many at once: threads, processes, forked children, and
 * processes that are killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache_env.h"

/* ---- kernels whose bytes are known ---- */

#define KERNEL_BYTES_MAX ((size_t)30000)

static size_t kernel_of(unsigned k, unsigned char data[KERNEL_BYTES_MAX])
{
    const size_t bytes = 200 + (size_t)k * 7919 % (KERNEL_BYTES_MAX - 200);

    for (size_t b = 0; b < bytes; b++)
        data[b] = (unsigned char)(k * 131 + b * 7);
    return bytes;
}

static void store_kernel(kiln__cache *cache, unsigned k)
{
    unsigned char data[KERNEL_BYTES_MAX];
    char key[32];
    const size_t bytes = kernel_of(k, data);

    snprintf(key, sizeof key, "shared kernel %u", k);
    kiln__cache_store(cache, key, strlen(key), data, bytes);
}

/* 1 for the right bytes, 0 for a miss, -1 for anything else. */
static int load_kernel(kiln__cache *cache, unsigned k)
{
    unsigned char data[KERNEL_BYTES_MAX];
    kiln__blob blob = KILN__BLOB_INIT;
    char key[32];
    int found = 0;

    snprintf(key, sizeof key, "shared kernel %u", k);
    if (kiln__cache_load(cache, key, strlen(key), &blob)) {
        const size_t bytes = kernel_of(k, data);
        found = blob.bytes == bytes && memcmp(blob.data, data, bytes) == 0 ? 1 : -1;
    }
    kiln__blob_clear(&blob);
    return found;
}

static bool begin_flight(kiln__cache *cache, const char *key, kiln__flight *flight)
{
    kiln__blob blob = KILN__BLOB_INIT;
    const bool found = kiln__cache_flight_begin(cache, key, strlen(key), flight, &blob);

    kiln__blob_clear(&blob);
    return found;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* All children end with status 0. */
static void await_all(int count)
{
    for (int c = 0; c < count; c++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

/* ---- threads ---- */

#define THREADS 200

typedef struct worker {
    pthread_t thread;
    kiln__cache *cache;
    unsigned seed;
    int wrong;
} worker;

static void *work(void *arg)
{
    worker *w = arg;

    for (unsigned k = 0; k < 8; k++) {
        const unsigned at = (w->seed * 7 + k) % 40;
        const int found = load_kernel(w->cache, at);
        w->wrong += found < 0;
        if (found == 0)
            store_kernel(w->cache, at);
    }
    return NULL;
}

static void test_cache_shared__two_hundred_threads_share_one_store(void **state)
{
    cache_env *t = *state;
    static worker workers[THREADS];
    kiln__cache *cache = cache_env_open_limited(t, 400000); /* some 25 of the 40 kernels */

    for (unsigned k = 0; k < THREADS; k++) {
        workers[k] = (worker){.cache = cache, .seed = k};
        assert_int_equal(pthread_create(&workers[k].thread, NULL, work, &workers[k]), 0);
    }
    for (unsigned k = 0; k < THREADS; k++) {
        pthread_join(workers[k].thread, NULL);
        assert_int_equal(workers[k].wrong, 0);
    }
    assert_true(cache_bytes_on_disk(t) <= 400000);
    /* What 200 have booked at once may leave no room for one more; it is not kept then. */
    assert_true(atomic_load(&t->log_count) <= 1);
    kiln__cache_close(cache);
}

/* ---- fork ---- */

static atomic_bool stop;

static void *work_until_stopped(void *arg)
{
    while (!atomic_load(&stop))
        work(arg);
    return NULL;
}

/* A child that was forked while threads were inside finds their locks held by nobody. */
static void test_cache_shared__a_fork_amid_calls_leaves_the_child_no_stuck_lock(void **state)
{
#if defined(CACHE_ADDRESS_SANITIZER)
    print_message("SKIP: a child of a process with threads hangs in the sanitizer's own memory\n");
    skip();
#endif
    cache_env *t = *state;
    worker workers[4];
    kiln__cache *disk = cache_env_open_limited(t, 300000), *memory = kiln__cache_open("", NULL);

    atomic_store(&stop, false);
    for (unsigned k = 0; k < KILN_COUNT_OF(workers); k++) {
        workers[k] = (worker){.cache = k % 2 == 0 ? disk : memory, .seed = k};
        assert_int_equal(
            pthread_create(&workers[k].thread, NULL, work_until_stopped, &workers[k]), 0);
    }
    for (int round = 0; round < 60; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            worker mine = {.cache = disk, .seed = (unsigned)round};
            alarm(20); /* a stuck lock ends here, by a signal */
            work(&mine);
            mine.cache = memory;
            work(&mine);
            kiln__cache_close(disk);
            kiln__cache_close(memory);
            _exit(mine.wrong != 0);
        }
        pause_ms(1);
        await_all(1);
    }
    atomic_store(&stop, true);
    for (unsigned k = 0; k < KILN_COUNT_OF(workers); k++) {
        pthread_join(workers[k].thread, NULL);
        assert_int_equal(workers[k].wrong, 0);
    }
    kiln__cache_close(disk);
    kiln__cache_close(memory);
}

/* What the parent hit is put down by the parent, once. */
static void test_cache_shared__a_child_does_not_repeat_what_its_parent_noted(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t);
    char path[160], text[4096];
    size_t bytes = 0, hits = 0;

    store_kernel(cache, 1);
    kiln__cache_close(cache);
    cache = cache_env_open(t);
    assert_int_equal(load_kernel(cache, 1), 1);
    assert_int_equal(load_kernel(cache, 1), 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int found = load_kernel(cache, 1);
        kiln__cache_close(cache);
        _exit(found != 1);
    }
    await_all(1);
    kiln__cache_close(cache);
    snprintf(path, sizeof path, "%s/kiln-journal", t->dir);
    bytes = cache_read_file(path, text, sizeof text);
    for (size_t k = 0; k < bytes; k++)
        hits += text[k] == 'h' && (k == 0 || text[k - 1] == '\n');
    assert_int_equal(hits, 3);
}

/* A child inherits the descriptor of a flight; ended by the parent, the flight is over. */
static void test_cache_shared__a_forked_child_keeps_no_flight(void **state)
{
    cache_env *t = *state;
    kiln__cache *cache = cache_env_open(t), *other = cache_env_open(t);
    kiln__flight flight = KILN__FLIGHT_INIT, next = KILN__FLIGHT_INIT;
    pid_t child = -1;
    double start = 0;

    assert_false(begin_flight(cache, "key", &flight));
    assert_true(flight.fd >= 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(pause());
    kiln__cache_flight_end(&flight);
    start = kiln__now_us();
    assert_false(begin_flight(other, "key", &next));
    assert_true(kiln__now_us() - start < 1e6);
    assert_true(next.fd >= 0);
    kiln__cache_flight_end(&next);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    kiln__cache_close(other);
    kiln__cache_close(cache);
}

/* ---- flights ---- */

#define CROWD 8

/* Each of CROWD processes wants the same key, and its compiler takes 200 ms of sleep. Milliseconds
 * until all are through. */
static double crowd(cache_env *t, int (*compile)(kiln__cache *cache, kiln__flight *flight))
{
    const double start = kiln__now_us();

    for (int c = 0; c < CROWD; c++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kiln__cache *cache = kiln__cache_open(t->dir, NULL);
            kiln__flight flight = KILN__FLIGHT_INIT;
            int result = 0;
            if (!begin_flight(cache, "wanted", &flight)) {
                pause_ms(200);
                result = compile(cache, &flight);
            }
            kiln__cache_flight_end(&flight);
            kiln__cache_close(cache);
            _exit(result);
        }
    }
    await_all(CROWD);
    return (kiln__now_us() - start) / 1e3;
}

static int is_refused(kiln__cache *cache, kiln__flight *flight)
{
    (void)cache;
    kiln__cache_flight_fail(flight);
    return 0;
}

/* One tries, all hear that it was refused, and try at once: not eight times 200 ms. */
static void test_cache_shared__a_refused_source_is_not_tried_in_turns(void **state)
{
    const double ms = crowd(*state, is_refused);

    assert_true(ms >= 200);
    assert_true(ms < 1000);
}

static int cannot_be_stored(kiln__cache *cache, kiln__flight *flight)
{
    static const char large[20000];

    (void)flight;
    return kiln__cache_store_as(cache, "wanted", 6, large, sizeof large, 0, "compiled");
}

/* The same where the compiler succeeds and the folder takes nothing. */
static void test_cache_shared__what_cannot_be_stored_is_not_made_in_turns(void **state)
{
    double ms = 0;

    setenv("KILN_CACHE_LIMIT", "10000", 1);
    ms = crowd(*state, cannot_be_stored);
    unsetenv("KILN_CACHE_LIMIT");
    assert_true(ms >= 200);
    assert_true(ms < 1000);
}

static int write_mark(int fd)
{
    return write(fd, "c", 1) != 1;
}

/* The first holder is killed: one of the others takes its place, the rest take its result. */
static void test_cache_shared__a_killed_holder_is_replaced_by_one(void **state)
{
    cache_env *t = *state;
    int marks[2];
    char text[CROWD + 4];
    pid_t first = -1;

    assert_int_equal(pipe(marks), 0);
    for (int c = 0; c < CROWD; c++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kiln__cache *cache = kiln__cache_open(t->dir, NULL);
            kiln__flight flight = KILN__FLIGHT_INIT;
            if (!begin_flight(cache, "wanted", &flight)) {
                if (write_mark(marks[1]) != 0 || (c == 0 && pause() != 0))
                    _exit(1);
                pause_ms(50);
                kiln__cache_store(cache, "wanted", 6, "data", 4);
            }
            kiln__cache_flight_end(&flight);
            kiln__cache_close(cache);
            _exit(0);
        }
        if (c == 0) {
            first = child;
            assert_int_equal(read(marks[0], text, 1), 1); /* it has the key */
        }
    }
    pause_ms(50);
    kill(first, SIGKILL);
    assert_int_equal(waitpid(first, NULL, 0), first);
    await_all(CROWD - 1);
    close(marks[1]);
    assert_int_equal(read(marks[0], text, sizeof text), 1);
    close(marks[0]);
}

#define SHARERS 32
#define SHARED_KEYS 20

/* 32 processes, started together, want the same 20 keys of an empty folder. */
static void test_cache_shared__many_processes_compile_each_key_once(void **state)
{
    cache_env *t = *state;
    int marks[2], gate[2];
    char text[2 * SHARED_KEYS];

    assert_int_equal(pipe(marks), 0);
    assert_int_equal(pipe(gate), 0);
    for (unsigned p = 0; p < SHARERS; p++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child != 0)
            continue;
        close(gate[1]);
        (void)!read(gate[0], text, 1); /* until the parent opens the gate */
        kiln__cache *cache = kiln__cache_open(t->dir, NULL);
        int wrong = 0;
        for (unsigned k = 0; k < SHARED_KEYS; k++) {
            const unsigned at = (k + p * 3) % SHARED_KEYS;
            kiln__flight flight = KILN__FLIGHT_INIT;
            char key[32];
            snprintf(key, sizeof key, "shared kernel %u", at);
            if (load_kernel(cache, at) == 0 && !begin_flight(cache, key, &flight)) {
                pause_ms(2);
                wrong += write_mark(marks[1]);
                store_kernel(cache, at);
            }
            kiln__cache_flight_end(&flight);
            wrong += load_kernel(cache, at) != 1;
        }
        kiln__cache_close(cache);
        _exit(wrong != 0);
    }
    close(gate[0]);
    close(gate[1]);
    await_all(SHARERS);
    close(marks[1]);
    assert_int_equal(read(marks[0], text, sizeof text), SHARED_KEYS);
    close(marks[0]);
}

/* ---- kill -9 ---- */

#define WRITERS 8
#define KILLS 200
#define KILL_KEYS 60
#define KILL_LIMIT ((uint64_t)500000)

_Noreturn static void write_for_ever(cache_env *t, uint64_t seed)
{
    kiln__cache *cache = cache_env_open_limited(t, KILL_LIMIT);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        const unsigned k = (unsigned)(next_random(&seed) % KILL_KEYS);
        kiln__flight flight = KILN__FLIGHT_INIT;
        char key[32];
        const int found = load_kernel(cache, k);
        if (found < 0 || atomic_load(&t->log_count) != 0) {
            fprintf(stderr, "wrong bytes, or a warning: %s\n", t->last_log);
            _exit(1);
        }
        snprintf(key, sizeof key, "shared kernel %u", k);
        if (found == 0 && !begin_flight(cache, key, &flight))
            store_kernel(cache, k);
        kiln__cache_flight_end(&flight);
    }
}

static pid_t start_writer(cache_env *t, uint64_t seed)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        write_for_ever(t, seed);
    return child;
}

static void kill_writer(pid_t child)
{
    int status = 0;

    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* not ended by itself: see write_for_ever */
}

static void check_after_kills(cache_env *t)
{
    kiln_cache *tools = NULL;
    kiln_cache_report report;
    kiln__cache *cache = cache_env_open_limited(t, KILL_LIMIT);
    const double start = kiln__now_us();

    assert_true(cache_bytes_on_disk(t) <= KILL_LIMIT);
    assert_int_equal(kiln_cache_open(t->dir, &tools, NULL), KILN_OK);
    assert_int_equal(kiln_cache_verify(tools, false, &report, NULL), KILN_OK);
    assert_int_equal(report.damaged, 0);
    assert_int_equal(report.other, 0);
    assert_true(report.good > 10);
    kiln_cache_close(tools);
    /* No lock is stuck: neither of a key nor of the books. */
    for (unsigned k = 0; k < KILL_KEYS; k++) {
        kiln__flight flight = KILN__FLIGHT_INIT;
        char key[32];
        snprintf(key, sizeof key, "shared kernel %u", k);
        (void)begin_flight(cache, key, &flight);
        assert_true(flight.fd >= 0);
        kiln__cache_flight_end(&flight);
        store_kernel(cache, k);
        assert_int_equal(load_kernel(cache, k), 1);
    }
    assert_true(kiln__now_us() - start < 25e6); /* a lock that nobody gives back is waited for for 30 s */
    assert_int_equal(atomic_load(&t->log_count), 0);
    kiln__cache_close(cache);
}

static void test_cache_shared__two_hundred_kills_of_eight_writers(void **state)
{
    cache_env *t = *state;
    const char *given = getenv("KILN_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
    pid_t writers[WRITERS];

    print_message("    KILN_TEST_SEED=%llu\n", (unsigned long long)seed);
    for (int w = 0; w < WRITERS; w++)
        writers[w] = start_writer(t, next_random(&seed));
    for (int k = 0; k < KILLS; k++) {
        const struct timespec moment = {0, (long)(next_random(&seed) % 20000000)};
        const int w = (int)(next_random(&seed) % WRITERS);
        nanosleep(&moment, NULL);
        kill_writer(writers[w]);
        writers[w] = start_writer(t, next_random(&seed));
    }
    for (int w = 0; w < WRITERS; w++)
        kill_writer(writers[w]);
    check_after_kills(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_cache_shared__two_hundred_threads_share_one_store),
        CACHE_TEST(test_cache_shared__a_fork_amid_calls_leaves_the_child_no_stuck_lock),
        CACHE_TEST(test_cache_shared__a_child_does_not_repeat_what_its_parent_noted),
        CACHE_TEST(test_cache_shared__a_forked_child_keeps_no_flight),
        CACHE_TEST(test_cache_shared__a_refused_source_is_not_tried_in_turns),
        CACHE_TEST(test_cache_shared__what_cannot_be_stored_is_not_made_in_turns),
        CACHE_TEST(test_cache_shared__a_killed_holder_is_replaced_by_one),
        CACHE_TEST(test_cache_shared__many_processes_compile_each_key_once),
        CACHE_TEST(test_cache_shared__two_hundred_kills_of_eight_writers),
    };

    return cmocka_run_group_tests_name("cache_shared", tests, NULL, NULL);
}
