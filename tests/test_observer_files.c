/*
 * test_observer_files.c - kiln/observer.h: what observers write to files, in one process and in
 * several, and observers that come and go while threads work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

static kiln_array *vector(test_env *t, int64_t count)
{
    kiln_array *x = NULL;

    OK(t, kiln_array_empty(t->ctx, KILN_FLOAT32, 1, &count, &x, &t->err));
    return x;
}

static kiln_elementwise *doubler(test_env *t, kiln_context *ctx)
{
    kiln_elementwise_options options = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_elementwise *op = NULL;

    options.name = "doubler";
    OK(t, kiln_elementwise_create(ctx, "T x", "T y", "y = x + x", &options, &op, &t->err));
    return op;
}

/* ---- files ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t bytes = 0;

    assert_non_null(file);
    assert_true(getdelim(&text, &bytes, '\0', file) > 0); /* all of it */
    fclose(file);
    return text;
}

/* What RMM's replay does with a log: columns by their names in the first line, pointers read in base
 * 16, other numbers in base 10. Bytes that stay allocated; *peak_out the most at a time. */
static size_t replay(char *text, size_t *events_out, size_t *peak_out)
{
    static const char *const names[] = {"Thread", "Time", "Action", "Pointer", "Size", "Stream"};
    struct {
        unsigned long long pointer;
        size_t bytes;
    } live[64] = {{0, 0}};
    size_t column[COUNT(names)] = {0}, now = 0, count = 0;
    char *rest = NULL, *fields[COUNT(names)];

    *events_out = *peak_out = 0;
    char *line = strtok_r(text, "\n", &rest), *more = NULL;
    for (char *field = strtok_r(line, ",", &more); field != NULL;
         field = strtok_r(NULL, ",", &more))
        for (size_t k = 0; k < COUNT(names); k++)
            if (strcmp(field, names[k]) == 0)
                column[k] = count++;
    assert_int_equal(count, COUNT(names));
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
        more = NULL;
        for (size_t k = 0; k < COUNT(names); k++)
            assert_non_null(fields[k] = strtok_r(k == 0 ? line : NULL, ",", &more));
        const unsigned long long pointer = strtoull(fields[column[3]], NULL, 16);
        const size_t bytes = strtoull(fields[column[4]], NULL, 10);
        size_t k = 0;
        assert_int_equal(strtoull(fields[column[0]], NULL, 10), getpid()); /* the main thread */
        assert_int_equal(strlen(fields[column[1]]), strlen("HH:MM:SS:uuuuuu"));
        if (strcmp(fields[column[2]], "allocate") == 0) {
            while (live[k].pointer != 0)
                assert_true(++k < COUNT(live));
            live[k].pointer = pointer;
            live[k].bytes = bytes;
            now += bytes;
        } else {
            assert_string_equal(fields[column[2]], "free");
            while (live[k].pointer != pointer)
                assert_true(++k < COUNT(live));
            assert_int_equal(live[k].bytes, bytes);
            live[k].pointer = 0;
            now -= bytes;
        }
        *peak_out = now > *peak_out ? now : *peak_out;
        ++*events_out;
    }
    return now;
}

static void test_observer_files__csv_is_what_rmm_replays(void **state)
{
    test_env *t = *state;
    char path[300];
    kiln_observer *csv = NULL;
    kiln_array *arrays[20] = {NULL};
    size_t now = 0, peak = 0, events = 0, file_events = 0, file_peak = 0;
    size_t bytes[20] = {0};

    snprintf(path, sizeof path, "%s/rmm.csv", t->temp_dir);
    OK(t, kiln_observer_create_csv(t->ctx, path, &csv, &t->err));
    for (int k = 0; k < 200; k++) {
        const size_t which = test_random_below(t, COUNT(arrays));
        if (arrays[which] != NULL) {
            kiln_array_release(arrays[which]);
            arrays[which] = NULL;
            now -= bytes[which];
        } else {
            const int64_t count = 1 + (int64_t)test_random_below(t, 5000);
            arrays[which] = vector(t, count);
            bytes[which] = ((size_t)count * 4 + 511) / 512 * 512;
            now += bytes[which];
        }
        peak = now > peak ? now : peak;
        events++;
    }
    OK(t, kiln_observer_flush(csv, &t->err));
    char *text = read_text(path);
    assert_int_equal(replay(text, &file_events, &file_peak), now);
    assert_int_equal(file_events, events);
    assert_int_equal(file_peak, peak);
    free(text);
    for (size_t k = 0; k < COUNT(arrays); k++)
        kiln_array_release(arrays[k]);
    kiln_observer_destroy(csv);
    text = read_text(path);
    assert_int_equal(replay(text, &file_events, &file_peak), 0);
    free(text);
}

static void test_observer_files__a_full_disk_is_told_by_the_flush(void **state)
{
    test_env *t = *state;
    kiln_observer *csv = NULL;

    if (access("/dev/full", W_OK) != 0)
        skip();
    OK(t, kiln_observer_create_csv(t->ctx, "/dev/full", &csv, &t->err));
    FAILS(t, KILN_ERR_IO, kiln_observer_flush(csv, &t->err), "/dev/full", "No space");
    kiln_observer_destroy(csv);
}

/* ---- JSON, as RFC 8259 has it ---- */

static const char *json_value(const char *at);

static const char *json_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static const char *json_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\' && strchr("\"\\/bfnrtu", *++at) == NULL)
            return NULL;
    }
    return at + 1;
}

/* The members of an object or the elements of an array. */
static const char *json_items(const char *at, bool named, char end)
{
    at = json_blank(at + 1);
    if (*at == end)
        return at + 1;
    for (;;) {
        if (named) {
            at = json_string(json_blank(at));
            if (at == NULL || *(at = json_blank(at)) != ':')
                return NULL;
            at++;
        }
        at = json_value(at);
        if (at == NULL)
            return NULL;
        at = json_blank(at);
        if (*at == end)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static const char *json_value(const char *at)
{
    char *end = NULL;

    at = json_blank(at);
    if (*at == '{')
        return json_items(at, true, '}');
    if (*at == '[')
        return json_items(at, false, ']');
    if (*at == '"')
        return json_string(at);
    (void)strtod(at, &end);
    return end != at ? end : NULL;
}

static void check_json(const char *text)
{
    const char *const end = json_value(text);

    if (end == NULL || *json_blank(end) != '\0')
        fail_msg("no JSON: %.200s", text);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

static void test_observer_files__a_timeline_is_whole_after_every_flush(void **state)
{
    test_env *t = *state;
    char path[300];
    kiln_observer *trace = NULL;
    kiln_elementwise *op = doubler(t, t->ctx);
    kiln_array *x = vector(t, 1000), *y = NULL;

    snprintf(path, sizeof path, "%s/run.json", t->temp_dir);
    OK(t, kiln_observer_create_trace(t->ctx, path, &trace, &t->err));
    for (int round = 1; round <= 3; round++) {
        kiln_scope_push("a \"label\"\\with\tsigns \xff");
        OK(t, kiln_call(op, &t->err, x, &y));
        kiln_scope_pop();
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        OK(t, kiln_observer_flush(trace, &t->err));
        char *text = read_text(path);
        check_json(text);
        const size_t count = (size_t)round;
        assert_int_equal(occurrences(text, "\"name\":\"launch doubler\""), count);
        assert_int_equal(occurrences(text, "\"ph\":\"B\",\"pid\""), 2 * count); /* label, call */
        assert_int_equal(occurrences(text, "\"ph\":\"E\",\"pid\""), 2 * count);
        assert_int_equal(occurrences(text, "\"ph\":\"X\",\"pid\":"),
                         3 * count + occurrences(text, "\"name\":\"compile ") +
                             occurrences(text, "\"name\":\"load ") +
                             occurrences(text, "\"name\":\"look for ") +
                             occurrences(text, "\"name\":\"store "));
        assert_true(strstr(text, "a \\\"label\\\"\\\\with signs \\ufffd") != NULL);
        assert_int_equal(occurrences(text, "\"name\":\"thread_name\""), 2);
        free(text);
        kiln_array_release(y);
        y = NULL;
    }
    kiln_observer_destroy(trace);
    kiln_array_release(x);
    kiln_elementwise_destroy(op);
}

/* ---- processes ---- */

static void test_observer_files__a_child_writes_nothing_of_its_parents(void **state)
{
    test_env *t = *state;
    char path[300];
    kiln_observer *csv = NULL;
    int end = -1;

    snprintf(path, sizeof path, "%s/child.csv", t->temp_dir);
    OK(t, kiln_observer_create_csv(t->ctx, path, &csv, &t->err));
    kiln_array_release(vector(t, 1));
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kiln_error err = KILN_ERROR_INIT;
        kiln_scope_push("child");
        const bool refused = kiln_observer_flush(csv, &err) == KILN_ERR_FORK;
        kiln_observer_destroy(csv);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    kiln_observer_destroy(csv);
    char *text = read_text(path);
    assert_int_equal(occurrences(text, "\n"), 3); /* the head, one allocation, one free */
    free(text);
}

/* A program that is observed from outside, and ends without releasing its context. */
static int be_traced(const char *device)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *second = NULL;
    static kiln_context *ctx = NULL; /* static, so that a leak checker sees who holds them */
    static kiln_array *x = NULL;

    options.device = device;
    options.cache_dir = "";
    if (kiln_context_create(&options, &second, NULL) != KILN_OK ||
        kiln_context_create(&options, &ctx, NULL) != KILN_OK ||
        kiln_array_zeros(second, KILN_FLOAT32, 1, (int64_t[]){64}, &x, NULL) != KILN_OK)
        return 1;
    kiln_array_release(x);
    kiln_context_release(second);
    kiln_scope_push("main");
    return kiln_array_zeros(ctx, KILN_FLOAT32, 1, (int64_t[]){64}, &x, NULL) != KILN_OK ||
           kiln_context_synchronize(ctx, NULL) != KILN_OK;
}

static void test_observer_files__the_environment_asks_for_a_timeline(void **state)
{
    test_env *t = *state;
    char path[300];
    int end = -1;

    snprintf(path, sizeof path, "%s/env.json", t->temp_dir);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("KILN_TRACE", path, 1);
        execl("/proc/self/exe", "test_observer_files", "--traced", t->device, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    char *text = read_text(path);
    check_json(text);
    assert_int_equal(occurrences(text, "\"name\":\"set memory\""), 4); /* two calls, two runs */
    assert_int_equal(occurrences(text, "\"ph\":\"B\""), 1);
    assert_int_equal(occurrences(text, "\"name\":\"process_name\""), 1);
    free(text);
}

/* The tool that listens to NVTX, beside this program; false where it was not built. */
static bool find_tool(char *path, size_t bytes)
{
    const ssize_t length = readlink("/proc/self/exe", path, bytes - 64);

    if (length <= 0)
        return false;
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "libkiln_nvtx_tool.so");
    return access(path, R_OK) == 0;
}

static void test_observer_files__a_tool_that_listens_hears_ranges(void **state)
{
    test_env *t = *state;
    char tool[4096], path[300];
    int end = -1;

    if (!find_tool(tool, sizeof tool)) {
        print_message("NVTX's header was not found when kiln was built\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/ranges", t->temp_dir);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("NVTX_INJECTION64_PATH", tool, 1);
        setenv("KILN_TEST_RANGES", path, 1);
        execl("/proc/self/exe", "test_observer_files", "--ranges", t->device, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    char *text = read_text(path);
    assert_string_equal(text, "+step\n+doubler\n-\n-\n");
    free(text);
}

/* The program that the tool listens to. */
static int make_ranges(const char *device)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_elementwise_options named = KILN_ELEMENTWISE_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_array *x = NULL, *y = NULL;
    kiln_elementwise *op = NULL;
    int failed = 0;

    named.name = "doubler";
    options.device = device;
    failed = kiln_context_create(&options, &ctx, NULL) != KILN_OK ||
             kiln_array_zeros(ctx, KILN_FLOAT32, 1, (int64_t[]){64}, &x, NULL) != KILN_OK ||
             kiln_elementwise_create(ctx, "T x", "T y", "y = x + x", &named, &op, NULL) != KILN_OK;
    kiln_scope_push("step");
    failed = failed || kiln_call(op, NULL, x, &y) != KILN_OK;
    kiln_scope_pop();
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
    return failed;
}

/* ---- threads ---- */

typedef struct worker {
    test_env *t;
    kiln_elementwise *op;
    atomic_bool *stop;
    long calls;
    bool failed;
} worker;

static void *work(void *user)
{
    worker *w = user;
    kiln_array *x = NULL, *y = NULL;
    void *memory = NULL;

    w->failed = kiln_array_zeros(w->t->ctx, KILN_FLOAT32, 1, (int64_t[]){500}, &x, NULL) != KILN_OK;
    /* Once at least: a busy machine may let a thread begin when the others have stopped. */
    while (!w->failed && (w->calls == 0 || !atomic_load(w->stop))) {
        kiln_scope_push("work");
        w->failed = kiln_call(w->op, NULL, x, &y) != KILN_OK ||
                    kiln_host_alloc(w->t->ctx, 2000, 0, &memory, NULL) != KILN_OK ||
                    kiln_array_download(y, memory, 2000, NULL, NULL, NULL) != KILN_OK;
        kiln_host_free(w->t->ctx, memory);
        kiln_array_release(y);
        y = NULL;
        kiln_scope_pop();
        w->calls++;
    }
    kiln_array_release(x);
    return NULL;
}

static void test_observer_files__observers_come_and_go_while_threads_work(void **state)
{
    test_env *t = *state;
    enum { THREADS = 4 };
    worker workers[THREADS];
    pthread_t threads[THREADS];
    atomic_bool stop = false;
    kiln_elementwise *op = doubler(t, t->ctx);
    kiln_array *x = vector(t, 500), *y = NULL;
    char path[300];

    OK(t, kiln_call(op, &t->err, x, &y));
    snprintf(path, sizeof path, "%s/threads.json", t->temp_dir);
    for (int k = 0; k < THREADS; k++) {
        workers[k] = (worker){t, op, &stop, 0, false};
        assert_int_equal(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
    }
    for (int k = 0; k < 30; k++) {
        kiln_observer *table = NULL, *trace = NULL;
        char *text = NULL;
        OK(t, kiln_observer_create_table(t->ctx, KILN_TABLE_BY_LABEL, &table, &t->err));
        OK(t, kiln_observer_create_trace(k % 2 == 0 ? t->ctx : NULL, path, &trace, &t->err));
        usleep(2000);
        OK(t, kiln_observer_to_string(table, &text, &t->err));
        kiln_observer_destroy(trace);
        kiln_observer_destroy(table);
        kiln_free(text);
        text = read_text(path);
        check_json(text);
        free(text);
    }
    atomic_store(&stop, true);
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        assert_false(workers[k].failed);
        assert_true(workers[k].calls > 0);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--traced") == 0)
        return be_traced(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--ranges") == 0)
        return make_ranges(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(test_observer_files__csv_is_what_rmm_replays),
        TEST(test_observer_files__a_full_disk_is_told_by_the_flush),
        TEST(test_observer_files__a_timeline_is_whole_after_every_flush),
        TEST(test_observer_files__a_child_writes_nothing_of_its_parents),
        TEST(test_observer_files__the_environment_asks_for_a_timeline),
        TEST(test_observer_files__a_tool_that_listens_hears_ranges),
        TEST(test_observer_files__observers_come_and_go_while_threads_work),
    };
    return test_env_main(argc, argv, "test_observer_files", tests, COUNT(tests));
}
