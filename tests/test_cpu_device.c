/*
 * test_cpu_device.c - the cpu backend, part by part and then through its table.
 *
 * Expected values come from plain loops written here, from /proc, or from the C library. What has
 * to do with compiling is in test_cpu_compile.c.
 */
#define _GNU_SOURCE
#include "cpu_env.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

/* ---- target ---- */

/* Whether the first "flags" line of /proc/cpuinfo has every word of `words`. */
static bool cpuinfo_has(const char *words)
{
    char line[16384] = "", word[32];
    FILE *file = fopen("/proc/cpuinfo", "re");
    int used = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line - 1, file) != NULL && strncmp(line, "flags", 5) != 0)
        ;
    fclose(file);
    strcat(line, " ");
    line[strcspn(line, "\n")] = ' ';
    for (; sscanf(words, "%31s%n", word, &used) == 1; words += used) {
        char padded[40];
        snprintf(padded, sizeof padded, " %s ", word);
        if (strstr(line, padded) == NULL)
            return false;
    }
    return true;
}

static void test_cpu_device__target_is_the_level_that_cpuinfo_shows(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const char *expected = "x86-64";

    if (cpuinfo_has("cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"))
        expected = "x86-64-v2";
    if (strcmp(expected, "x86-64-v2") == 0 && cpuinfo_has("avx avx2 bmi1 bmi2 f16c fma abm movbe"))
        expected = "x86-64-v3";
    if (strcmp(expected, "x86-64-v3") == 0 &&
        cpuinfo_has("avx512f avx512bw avx512cd avx512dq avx512vl"))
        expected = "x86-64-v4";
    assert_string_equal(kiln__cpu_target(), expected);
#else
    assert_non_null(kiln__cpu_target_flags(kiln__cpu_target()));
#endif
    assert_null(kiln__cpu_target_flags("x86-64-v9"));
}

static void test_cpu_device__every_target_compiles(void **state)
{
    kiln__target targets[8];
    size_t count = cpu->compiler_targets(targets, 8);

    (void)state;
    assert_in_range(count, 1, 8);
    for (size_t k = 0; k < count; k++) {
        kiln__compile_result result;
        assert_int_equal(compile(axpy_source, targets[k].name, NULL, 0, &result, NULL), KILN_OK);
        assert_null(result.log);
        assert_memory_equal(result.binary, "\177ELF", 4);
        compile_result_free(&result);
    }
}

static void test_cpu_device__an_unknown_target_is_unsupported(void **state)
{
    kiln__compile_result result;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(axpy_source, "sm_90", NULL, 0, &result, &err), KILN_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "sm_90"));
    kiln_error_clear(&err);
}

static void test_cpu_device__core_count_is_the_affinitys(void **state)
{
    cpu_set_t set, one;
    int first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_in_range(kiln__cpu_core_count(), 1, CPU_COUNT(&set));
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(kiln__cpu_core_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

/* ---- modules ---- */

static void returning(char *text, size_t bytes, int value)
{
    snprintf(text, bytes,
             "extern \"C\" __attribute__((visibility(\"default\")))\n"
             "void kernel(const void *p, long, long) { **(int *const *)p = %d; }\n",
             value);
}

/* The loader must never take a new module for an old one, whatever descriptors are reused. */
static void test_cpu_device__modules_loaded_in_turn_are_never_mixed_up(void **state)
{
    enum { COUNT = 3, TURNS = 30 };
    kiln__compile_result result[COUNT];
    void *kept[COUNT] = {NULL};
    int value = 0, *args = &value;
    char source[256];

    (void)state;
    for (int k = 0; k < COUNT; k++) {
        returning(source, sizeof source, 100 + k);
        assert_int_equal(compile(source, kiln__cpu_target(), NULL, 0, &result[k], NULL), KILN_OK);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        int k = turn % COUNT;
        void *module = NULL, *entry = NULL;
        assert_int_equal(
            kiln__cpu_module_load(NULL, result[k].binary, result[k].bytes, &module, NULL), KILN_OK);
        assert_int_equal(kiln__cpu_module_entry(NULL, module, "kernel", &entry, NULL), KILN_OK);
        ((kiln__cpu_entry)(uintptr_t)entry)(&args, 0, 1);
        assert_int_equal(value, 100 + k);
        if (turn % 2 == 0 && kept[k] == NULL)
            kept[k] = module;
        else
            kiln__cpu_module_unload(NULL, module);
    }
    for (int k = 0; k < COUNT; k++) {
        kiln__cpu_module_unload(NULL, kept[k]);
        compile_result_free(&result[k]);
    }
}

static void test_cpu_device__damaged_binaries_are_refused(void **state)
{
    kiln__compile_result result;
    void *module = NULL, *entry = NULL;
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(compile(axpy_source, kiln__cpu_target(), NULL, 0, &result, NULL), KILN_OK);
    for (size_t bytes = 0; bytes < 8192; bytes = bytes * 2 + 1)
        assert_int_equal(kiln__cpu_module_load(NULL, result.binary, bytes, &module, NULL),
                         KILN_ERR_FORMAT);
    assert_null(module);
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, &module, &err),
                     KILN_OK);
    assert_int_equal(kiln__cpu_module_entry(NULL, module, "absent", &entry, &err),
                     KILN_ERR_INTERNAL);
    assert_null(entry);
    assert_non_null(strstr(err.message, "absent"));
    kiln__cpu_module_unload(NULL, module);
    result.binary[18] ^= 0x55; /* e_machine */
    assert_int_equal(kiln__cpu_module_load(NULL, result.binary, result.bytes, &module, &err),
                     KILN_ERR_FORMAT);
    compile_result_free(&result);
    kiln_error_clear(&err);
}

/* ---- threads ---- */

typedef struct marks {
    atomic_uchar *seen;
    int64_t together;
    int64_t units;
    atomic_int calls, misaligned, threads;
    pthread_t caller;
} marks;

static void mark(const void *args, int64_t begin, int64_t end)
{
    marks *m = *(marks *const *)args;

    atomic_fetch_add(&m->calls, 1);
    if (begin % m->together != 0 || (end % m->together != 0 && end != m->units) || begin >= end)
        atomic_fetch_add(&m->misaligned, 1);
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_fetch_add(&m->threads, 1);
    for (int64_t k = begin; k < end; k++)
        atomic_fetch_add(&m->seen[k], 1);
}

static void check_team_run(kiln__team *team, int64_t units, int64_t together)
{
    marks m = {.together = together, .units = units, .caller = pthread_self()}, *args = &m;

    m.seen = calloc((size_t)units + 1, 1);
    assert_non_null(m.seen);
    kiln__team_run(team, mark, &args, units, together);
    for (int64_t k = 0; k < units; k++)
        if (m.seen[k] != 1)
            fail_msg("unit %lld of %lld (together %lld) ran %d times", (long long)k,
                     (long long)units, (long long)together, m.seen[k]);
    assert_int_equal(m.seen[units], 0);
    assert_int_equal(m.misaligned, 0);
    if (units <= together)
        assert_int_equal(m.threads, 0);
    free(m.seen);
}

static void test_cpu_device__every_unit_runs_exactly_once(void **state)
{
    static const int threads[] = {1, 2, 3, 8, 70};
    static const int64_t units[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 1000, 99991};
    static const int64_t together[] = {1, 2, 8, 32, 1000};

    (void)state;
    for (size_t t = 0; t < KILN_COUNT_OF(threads); t++) {
        kiln__team *team = NULL;
        assert_int_equal(kiln__team_create(threads[t], &team, NULL), KILN_OK);
        assert_int_equal(kiln__team_threads(team), threads[t]);
        for (size_t u = 0; u < KILN_COUNT_OF(units); u++)
            for (size_t k = 0; k < KILN_COUNT_OF(together); k++)
                check_team_run(team, units[u], together[k]);
        kiln__team_destroy(team, false);
    }
}

/* Two threads that wait for each other inside a kernel: both must be running. */
static void meet(const void *args, int64_t begin, int64_t end)
{
    atomic_int *arrived = *(atomic_int *const *)args;
    double start = kiln__now_us();

    (void)end;
    if (begin != 0 && begin != 1)
        return;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < 2 && kiln__now_us() - start < 20e6)
        sched_yield();
}

static void test_cpu_device__threads_work_side_by_side(void **state)
{
    kiln__team *team = NULL;
    atomic_int arrived = 0, *args = &arrived;
    double start = kiln__now_us();

    (void)state;
    assert_int_equal(kiln__team_create(2, &team, NULL), KILN_OK);
    kiln__team_run(team, meet, &args, 2, 1);
    assert_int_equal(arrived, 2);
    assert_true(kiln__now_us() - start < 20e6);
    kiln__team_destroy(team, false);
}

typedef struct hammer {
    kiln__team *team;
    int seed;
} hammer;

static void add_one(const void *args, int64_t begin, int64_t end)
{
    int *data = *(int *const *)args;

    for (int64_t k = begin; k < end; k++)
        data[k]++;
}

static void *hammer_thread(void *given)
{
    enum { UNITS = 5000, TURNS = 300 };
    const hammer *h = given;
    int *data = calloc(UNITS, sizeof *data);
    size_t wrong = data == NULL;

    for (int turn = 0; data != NULL && turn < TURNS; turn++)
        kiln__team_run(h->team, add_one, &data, UNITS, 1 + (turn * 7 + h->seed) % 900);
    for (int k = 0; data != NULL && k < UNITS; k++)
        wrong += data[k] != TURNS;
    free(data);
    return (void *)wrong;
}

static void test_cpu_device__many_callers_share_one_team(void **state)
{
    enum { CALLERS = 6 };
    pthread_t callers[CALLERS];
    hammer h[CALLERS];
    kiln__team *team = NULL;

    (void)state;
    assert_int_equal(kiln__team_create(4, &team, NULL), KILN_OK);
    for (int k = 0; k < CALLERS; k++) {
        h[k] = (hammer){team, k};
        assert_int_equal(pthread_create(&callers[k], NULL, hammer_thread, &h[k]), 0);
    }
    for (int k = 0; k < CALLERS; k++) {
        void *wrong = NULL;
        pthread_join(callers[k], &wrong);
        assert_null(wrong);
    }
    kiln__team_destroy(team, false);
}

static void test_cpu_device__a_forked_child_can_close_the_device(void **state)
{
    kiln__device device;
    int data[5000] = {0}, *args = data, wait_status = 0;
    kiln__launch_config config = {5000, 1, 1, 1, 0};

    (void)state;
    open_device(&device, 3);
    assert_int_equal(
        cpu->launch(&device, (void *)(uintptr_t)add_one, &config, &args, sizeof args, NULL, NULL),
        KILN_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        cpu->close(&device);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
    /* The parent's threads are as they were. */
    assert_int_equal(
        cpu->launch(&device, (void *)(uintptr_t)add_one, &config, &args, sizeof args, NULL, NULL),
        KILN_OK);
    for (int k = 0; k < 5000; k++)
        assert_int_equal(data[k], 2);
    cpu->close(&device);
}

/* ---- the device's memory ---- */

static void test_cpu_device__memory_is_aligned_and_bounded(void **state)
{
    static const size_t sizes[] = {1, 512, 4097, (size_t)3 << 20, (size_t)9 << 20};
    kiln__device device;
    size_t free_bytes = 0, total_bytes = 0;
    void *address = NULL;

    (void)state;
    open_device(&device, 1);
    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        assert_int_equal(cpu->raw_alloc(&device, sizes[k], &address, NULL), KILN_OK);
        assert_int_equal((uintptr_t)address % 512, 0);
        memset(address, 1, sizes[k]);
        cpu->raw_free(&device, address, sizes[k]);
    }
    cpu->mem_info(&device, &free_bytes, &total_bytes);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    assert_true(total_bytes <= (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(device.info.memory_bytes, total_bytes);
    assert_int_equal(cpu->raw_alloc(&device, total_bytes * 2, &address, NULL),
                     KILN_ERR_DEVICE_MEMORY);
    assert_null(address);
    assert_int_equal(cpu->raw_alloc(&device, SIZE_MAX - 5, &address, NULL), KILN_ERR_DEVICE_MEMORY);
    cpu->close(&device);
}

static unsigned char pattern(size_t k)
{
    return (unsigned char)(k * 31 + (k >> 8) * 7 + (k >> 16));
}

static void check_copy(kiln__device *device, size_t bytes, size_t to, size_t from)
{
    unsigned char *dst = malloc(bytes + 256), *src = malloc(bytes + 256);

    assert_non_null(dst);
    assert_non_null(src);
    for (size_t k = 0; k < bytes + 256; k++) {
        src[k] = pattern(k);
        dst[k] = 0xEE;
    }
    assert_int_equal(cpu->copy_device_to_device(device, dst + to, src + from, bytes, NULL, NULL),
                     KILN_OK);
    for (size_t k = 0; k < bytes + 256; k++) {
        unsigned char expected = k >= to && k < to + bytes ? pattern(k - to + from) : 0xEE;
        if (dst[k] != expected)
            fail_msg("byte %zu of %zu: %d, not %d", k, bytes, dst[k], expected);
    }
    assert_int_equal(cpu->memory_set(device, dst + to, 0x5A, bytes, NULL, NULL), KILN_OK);
    for (size_t k = 0; k < bytes + 256; k++)
        if (dst[k] != (k >= to && k < to + bytes ? 0x5A : 0xEE))
            fail_msg("byte %zu of %zu filled is %d", k, bytes, dst[k]);
    free(dst);
    free(src);
}

static void test_cpu_device__copies_and_fills_touch_exactly_their_bytes(void **state)
{
    static const size_t sizes[] = {1,     63,     64,      65,
                                   65536, 524289, 3000001, ((size_t)32 << 20) + 12345};
    kiln__device device;

    (void)state;
    open_device(&device, 3);
    for (size_t k = 0; k < KILN_COUNT_OF(sizes); k++) {
        check_copy(&device, sizes[k], 0, 0);
        check_copy(&device, sizes[k], 1, 67);
        check_copy(&device, sizes[k], 100, 3);
    }
    cpu->close(&device);
}

static void test_cpu_device__overlapping_copies_keep_their_order(void **state)
{
    enum { BYTES = 4000000, SHIFT = 100001 };
    unsigned char *data = malloc(BYTES + SHIFT);
    kiln__device device;

    (void)state;
    assert_non_null(data);
    open_device(&device, 3);
    for (size_t k = 0; k < BYTES + SHIFT; k++)
        data[k] = pattern(k);
    assert_int_equal(cpu->copy_device_to_device(&device, data + SHIFT, data, BYTES, NULL, NULL),
                     KILN_OK);
    for (size_t k = 0; k < BYTES; k++)
        if (data[k + SHIFT] != pattern(k))
            fail_msg("byte %zu", k);
    cpu->close(&device);
    free(data);
}

/* ---- the table ---- */

static void test_cpu_device__the_listing_describes_this_machine(void **state)
{
    kiln_device_info info;

    (void)state;
    assert_int_equal(cpu->list(&info, 1), 1);
    assert_int_equal(cpu->list(NULL, 0), 1);
    assert_string_equal(info.id, "cpu");
    assert_true(info.usable);
    assert_string_equal(info.reason, "");
    assert_string_equal(info.target, kiln__cpu_target());
    assert_int_equal(info.unit_count, kiln__cpu_core_count());
    assert_true(strlen(info.name) > 2);
    assert_true(strlen(info.compiler) > 4);
}

static void test_cpu_device__open_checks_its_arguments(void **state)
{
    kiln__device device = {.backend = cpu};
    kiln_error err = KILN_ERROR_INIT;

    (void)state;
    assert_int_equal(cpu->open(&device, 1, 0, &err), KILN_ERR_NO_DEVICE);
    assert_int_equal(cpu->open(&device, 0, -2, &err), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "-2"));
    kiln_error_clear(&err);
}

static void test_cpu_device__events_measure_wall_time(void **state)
{
    kiln__device device;
    const kiln__event_kind kind = {.timing = true};
    void *start = NULL, *end = NULL;
    bool done = false;
    double ms = 0.0;

    (void)state;
    open_device(&device, 1);
    assert_int_equal(cpu->event_create(&device, &kind, &start, NULL), KILN_OK);
    assert_int_equal(cpu->event_create(&device, &kind, &end, NULL), KILN_OK);
    assert_int_equal(cpu->event_record(&device, start, NULL, NULL), KILN_OK);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    assert_int_equal(cpu->event_record(&device, end, NULL, NULL), KILN_OK);
    assert_int_equal(cpu->event_query(&device, end, &done, NULL), KILN_OK);
    assert_true(done);
    assert_int_equal(cpu->event_elapsed(&device, start, end, &ms, NULL), KILN_OK);
    assert_true(ms >= 19.9 && ms < 10000.0);
    cpu->event_destroy(&device, start);
    cpu->event_destroy(&device, end);
    cpu->close(&device);
}

#define T(name) cmocka_unit_test(test_cpu_device__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(target_is_the_level_that_cpuinfo_shows),
        T(every_target_compiles),
        T(an_unknown_target_is_unsupported),
        T(core_count_is_the_affinitys),
        T(modules_loaded_in_turn_are_never_mixed_up),
        T(damaged_binaries_are_refused),
        T(every_unit_runs_exactly_once),
        T(threads_work_side_by_side),
        T(many_callers_share_one_team),
        T(a_forked_child_can_close_the_device),
        T(memory_is_aligned_and_bounded),
        T(copies_and_fills_touch_exactly_their_bytes),
        T(overlapping_copies_keep_their_order),
        T(the_listing_describes_this_machine),
        T(open_checks_its_arguments),
        T(events_measure_wall_time),
    };

    return cmocka_run_group_tests_name("test_cpu_device", tests, prepare, clean_up);
}
