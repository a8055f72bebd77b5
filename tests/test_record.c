/*
 * test_record.c - $KILN_RECORD: what a program notes down, and that a cache filled from it leaves
 * the same program nothing to compile.
 *
 * The folder that is warmed is another one than the program filled itself, and counters tell: no
 * compilation, no miss.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/expression.h"
#include "kiln/scan.h"
#include "test_env.h"
#include "warm_env.h"

/* ---- files ------------------------------------------------------------------------------------- */

static char *read_whole(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(kiln__read_file(path, 64 << 20, &text, &bytes), 0);
    return text;
}

static void write_whole(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static size_t count_in_file(const char *path)
{
    char *text = read_whole(path);
    const size_t lines = count_lines(text);
    kiln__free(text);
    return lines;
}

/* ---- a program --------------------------------------------------------------------------------- */

static kiln_context *make_context(test_env *t, const char *cache, const char *record)
{
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    o.device = t->device;
    o.cache_dir = cache;
    o.record = record;
    OK(t, kiln_context_create(&o, &ctx, &t->err));
    return ctx;
}

/* Softmax, and the sums that it divides by: a row program with outputs of both kinds. */
static void run_rows(test_env *t, kiln_context *ctx, const kiln_array *x)
{
    static const kiln_row_stage stages[] = {
        {.map = "x", .type = "float", .reduce = "max(a, b)", .identity = "-INFINITY", .result = "m"},
        {.prep = "e = exp(x - m);", .map = "e", .type = "float", .reduce = "a + b",
         .identity = "0", .result = "s", .post = "const float scale = 1 / s;"}};
    static const kiln_row_value values[] = {{"float", "e"}};
    kiln_row_options o = KILN_ROW_OPTIONS_INIT;
    kiln_row *softmax = NULL;
    kiln_array *y = NULL, *sums = NULL;

    o.row_outputs = "  float32 total";
    o.row_post = "total = s";
    o.values = values;
    o.value_count = 1;
    OK(t, kiln_row_create(ctx, "T x", "T y", stages, 2, "y = e * scale", &o, &softmax, &t->err));
    OK(t, kiln_call_over(softmax, KILN_AXES(-1), &t->err, x, &y, &sums));
    kiln_row_destroy(softmax);
    kiln_array_release(sums);
    kiln_array_release(y);
}

/* A graph of three kernels: a row program, a reduction, a loop. */
static void run_graph(test_env *t, kiln_context *ctx, kiln_array *x)
{
    static const char *const names[] = {"x", "a"};
    kiln_graph *graph = NULL;
    kiln_array *y[3] = {NULL};
    size_t count = 0;

    OK(t, kiln_graph_parse(ctx, "exp(x - max(x, axis=-1, keepdims=True)) * a, sum(x*x, axis=0), x[::-1].T + 1",
                           names, 2, NULL, &graph, NULL, &t->err));
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_float(2.5), kiln_arg_out(&y[0]),
                             kiln_arg_out(&y[1]), kiln_arg_out(&y[2])};
    OK(t, kiln_graph_kernel_count(graph, args, COUNT(args), &count, &t->err));
    assert_int_equal(count, 3);
    OK(t, kiln_graph_run(graph, args, COUNT(args), NULL, &t->err));
    kiln_graph_destroy(graph);
    for (size_t k = 0; k < COUNT(y); k++)
        kiln_array_release(y[k]);
}

/* Filters of one kind of elements and of both. */
static void run_filters(test_env *t, kiln_context *ctx, kiln_array *x)
{
    kiln_filter_options options = KILN_FILTER_OPTIONS_INIT;
    kiln_filter *positive = NULL, *divide = NULL;
    kiln_array *kept = NULL, *count = NULL, *rest = NULL, *others = NULL;

    OK(t, kiln_filter_create(ctx, "T x", "T y, int64 count", "x > 0", "y = x", NULL, &positive,
                             &t->err));
    OK(t, kiln_call(positive, &t->err, x, &kept, &count));
    options.otherwise = "place = i";
    OK(t, kiln_filter_create(ctx, "T x", "T y, int64 place, int64 count, int64 others", "x > 0",
                             "y = x", &options, &divide, &t->err));
    OK(t, kiln_call(divide, &t->err, x, kept, &rest, count, &others));
    kiln_filter_destroy(positive);
    kiln_filter_destroy(divide);
    kiln_array_release(kept);
    kiln_array_release(count);
    kiln_array_release(rest);
    kiln_array_release(others);
}

/* Kernels of every kind and several layouts; the results are looked at elsewhere. */
static void run_program(test_env *t, kiln_context *ctx)
{
    static const int64_t shape[] = {48, 64};
    kiln_elementwise *op = NULL;
    kiln_reduction *norm = NULL;
    kiln_scan *sum = NULL;
    kiln_array *x = NULL, *turned = NULL, *z = NULL, *w = NULL, *y = NULL, *s = NULL, *m = NULL;
    kiln_scan_call_options along = KILN_SCAN_CALL_OPTIONS_INIT;

    OK(t, kiln_array_full(ctx, KILN_FLOAT32, 2, shape, 2, &x, &t->err));
    OK(t, kiln_array_transpose(x, NULL, &turned, &t->err));
    OK(t, kiln_elementwise_create(ctx, "T x, float32 a, raw T c", "T z",
                                  "z = x * a + c[0] /* \xc3\xa9 */", NULL, &op, &t->err));
    OK(t, kiln_call(op, &t->err, x, 2.5, x, &z));
    OK(t, kiln_call(op, &t->err, turned, 2.5, turned, &w));
    OK(t, kiln_reduction_create(ctx, "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", NULL, &norm,
                                &t->err));
    OK(t, kiln_call_over(norm, KILN_AXES(-1), &t->err, x, &y));
    OK(t, kiln_array_reduce(KILN_REDUCE_MAX, x, KILN_AXES(0), false, &m, &t->err));
    OK(t, kiln_scan_create(ctx, "T x", "T y", "x", "a + b", "y = a", "0", NULL, &sum, &t->err));
    along.axes = KILN_AXES(0);
    along.flags = KILN_SCAN_REVERSE;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&s)};
    OK(t, kiln_scan_run(sum, args, COUNT(args), &along, &t->err));
    run_filters(t, ctx, turned);
    run_rows(t, ctx, x);
    run_graph(t, ctx, x);
    kiln_scan_destroy(sum);
    kiln_reduction_destroy(norm);
    kiln_elementwise_destroy(op);
    kiln_array *const all[] = {x, turned, z, w, y, s, m};
    for (size_t k = 0; k < COUNT(all); k++)
        kiln_array_release(all[k]);
}

/* ---- warming ----------------------------------------------------------------------------------- */

/* Warm `dir` from a manifest, for the device of `t`, twice. */
static void warm_from(test_env *t, const char *path, const char *dir)
{
    const kiln_device_info *info = kiln_context_device(t->ctx);
    char *text = read_whole(path);
    const size_t lines = count_lines(text);

    const warm_result first = warm_text(text, dir, info->backend, info->target);
    assert_int_equal(first.entries, lines);
    assert_int_equal(first.kernels, lines);
    assert_int_equal(first.compiled, lines);
    const warm_result again = warm_text(text, dir, info->backend, info->target);
    assert_int_equal(again.kernels, lines);
    assert_int_equal(again.compiled, 0);
    kiln__free(text);
}

static void test_record__a_recorded_program_compiles_nothing_elsewhere(void **state)
{
    test_env *t = *state;
    char first[256], second[256], path[300], other[300];
    kiln_cache_counters counters;

    test_env_fresh_dir(t, first, sizeof first);
    test_env_fresh_dir(t, second, sizeof second);
    snprintf(path, sizeof path, "%s/record.jsonl", t->temp_dir);
    snprintf(other, sizeof other, "%s/other.jsonl", t->temp_dir);
    remove(path);
    remove(other);
    kiln_context *ctx = make_context(t, first, path);
    run_program(t, ctx);
    kiln_context_cache_counters(ctx, &counters);
    assert_int_equal(count_in_file(path), counters.compiles);
    assert_true(counters.compiles >= 9);
    run_program(t, ctx); /* new definitions, nothing new in the file */
    assert_int_equal(count_in_file(path), counters.compiles);
    kiln_context_release(ctx);

    warm_from(t, path, second);
    ctx = make_context(t, second, other);
    run_program(t, ctx);
    kiln_context_cache_counters(ctx, &counters);
    CHECK(counters.compiles == 0 && counters.misses == 0, "%d compiled, %d missed",
          (int)counters.compiles, (int)counters.misses);
    kiln_context_release(ctx);

    /* What came from a cache is noted as well, in the same words; a graph's kernels in any order. */
    char *a = read_whole(path), *b = read_whole(other);
    assert_int_equal(strlen(a), strlen(b));
    for (char *line = strtok(a, "\n"); line != NULL; line = strtok(NULL, "\n"))
        CHECK(strstr(b, line) != NULL, "%s", line);
    kiln__free(a);
    kiln__free(b);
}

static void test_record__the_environment_names_the_file_and_an_option_overrules_it(void **state)
{
    test_env *t = *state;
    static const int64_t shape[] = {3};
    char path[300];
    kiln_array *x = NULL;

    snprintf(path, sizeof path, "%s/environment.jsonl", t->temp_dir);
    remove(path);
    setenv("KILN_RECORD", path, 1);
    kiln_context *ctx = make_context(t, t->cache_dir, "");
    OK(t, kiln_array_full(ctx, KILN_FLOAT32, 1, shape, 5, &x, &t->err));
    kiln_array_release(x);
    kiln_context_release(ctx);
    assert_int_equal(access(path, F_OK), -1);
    ctx = make_context(t, t->cache_dir, NULL);
    run_program(t, ctx);
    kiln_context_release(ctx);
    unsetenv("KILN_RECORD");
    assert_true(count_in_file(path) >= 5);
}

/* ---- the recorder ------------------------------------------------------------------------------ */

static size_t log_lines;
static char last_log[512];

static void keep_log(void *user, const char *line)
{
    (void)user;
    log_lines++;
    snprintf(last_log, sizeof last_log, "%s", line);
}

static kiln__recorder *record_to(const char *path)
{
    const kiln__log log = {keep_log, NULL};
    log_lines = 0;
    kiln__recorder *r = kiln__recorder_create(path, &log);
    assert_non_null(r);
    return r;
}

static void add(kiln__recorder *r, const char *line)
{
    kiln__recorder_add(r, line, strlen(line));
}

static void expect_file(const char *path, const char *want)
{
    char *text = read_whole(path);
    assert_string_equal(text, want);
    kiln__free(text);
}

static void test_record__each_line_stands_once_whatever_was_there(void **state)
{
    test_env *t = *state;
    char path[300];

    snprintf(path, sizeof path, "%s/lines.jsonl", t->temp_dir);
    write_whole(path, "{\"a\"}\nbroken");
    kiln__recorder *r = record_to(path), *other = record_to(path);
    add(r, "{\"a\"}");
    expect_file(path, "{\"a\"}\nbroken");
    add(r, "{\"b\"}");
    expect_file(path, "{\"a\"}\nbroken\n{\"b\"}\n");
    add(other, "{\"b\"}");
    add(other, "{\"c\"}");
    add(r, "{\"c\"}");
    add(r, "{\"d\"}");
    expect_file(path, "{\"a\"}\nbroken\n{\"b\"}\n{\"c\"}\n{\"d\"}\n");
    /* Emptied, then replaced by another file: what is gone is noted again. */
    write_whole(path, "");
    add(r, "{\"d\"}");
    expect_file(path, "{\"d\"}\n");
    remove(path);
    add(r, "{\"a\"}");
    add(r, "{\"a\"}");
    expect_file(path, "{\"a\"}\n");
    assert_int_equal(log_lines, 0);
    kiln__recorder_destroy(other);
    kiln__recorder_destroy(r);
}

/* Lines of one XXH3-64: where the first eight bytes are those of its secret, the next eight have no
 * say. */
static void test_record__lines_are_compared_whole(void **state)
{
    static const char *const lines[] = {
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" "one line" "of the same hash",
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" "another " "of the same hash"};
    test_env *t = *state;
    char path[300];

    snprintf(path, sizeof path, "%s/whole.jsonl", t->temp_dir);
    assert_int_equal(kiln__hash_64(lines[0], 32), kiln__hash_64(lines[1], 32));
    kiln__recorder *r = record_to(path);
    add(r, lines[0]);
    add(r, lines[1]);
    add(r, lines[0]);
    assert_int_equal(count_in_file(path), 2);
    kiln__recorder_destroy(r);
}

enum { THREADS = 4, PROCESSES = 4, LINES = 60 };

static void *add_lines(void *recorder)
{
    for (int k = 0; k < LINES; k++) {
        char line[600];
        /* Long enough for a write that is not one to be seen. */
        snprintf(line, sizeof line, "{\"line\":%d,\"pad\":\"%0*d\"}", k, 20 + k * 8, k);
        add(recorder, line);
    }
    return NULL;
}

static void test_record__threads_and_processes_write_each_line_once(void **state)
{
    test_env *t = *state;
    char path[300];
    pid_t child[PROCESSES];

    snprintf(path, sizeof path, "%s/crowd.jsonl", t->temp_dir);
    remove(path);
    fflush(NULL);
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p] == 0) {
            kiln__recorder *r = kiln__recorder_create(path, NULL);
            pthread_t thread[THREADS];
            for (int k = 0; k < THREADS; k++)
                if (pthread_create(&thread[k], NULL, add_lines, r) != 0)
                    _exit(1);
            for (int k = 0; k < THREADS; k++)
                pthread_join(thread[k], NULL);
            kiln__recorder_destroy(r);
            _exit(0);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_int_equal(status, 0);
    }
    char *text = read_whole(path);
    bool seen[LINES] = {false};
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int number = -1, pad = -1, end = 0;
        assert_int_equal(sscanf(line, "{\"line\":%d,\"pad\":\"%d\"}%n", &number, &pad, &end), 2);
        assert_true(number >= 0 && number < LINES && pad == number && line[end] == '\0');
        assert_false(seen[number]);
        seen[number] = true;
    }
    for (int k = 0; k < LINES; k++)
        assert_true(seen[k]);
    kiln__free(text);
}

static void test_record__trouble_is_one_line_to_the_log(void **state)
{
    test_env *t = *state;
    char path[300];
    const struct {
        const char *path, *why;
    } rows[] = {
        {"/nowhere/at/all.jsonl", "No such file"},
        {t->cache_dir, "Is a directory"},
        {"/dev/full", "No space left"},
    };

    for (size_t k = 0; k < COUNT(rows); k++) {
        kiln__recorder *r = record_to(rows[k].path);
        add(r, "{}");
        add(r, "{1}");
        assert_int_equal(log_lines, 1);
        CHECK(strstr(last_log, rows[k].why) != NULL && strstr(last_log, rows[k].path) != NULL,
              "%s", last_log);
        kiln__recorder_complain(r, "again");
        assert_int_equal(log_lines, 1);
        kiln__recorder_destroy(r);
    }
    /* Kernels run all the same; one with a text that JSON cannot hold is told and left out. */
    snprintf(path, sizeof path, "%s/latin.jsonl", t->temp_dir);
    remove(path);
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_elementwise *op = NULL;
    kiln_elementwise_call_options call = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *z = NULL;
    o.device = t->device;
    o.cache_dir = t->cache_dir;
    o.record = path;
    o.log = keep_log;
    log_lines = 0;
    OK(t, kiln_context_create(&o, &ctx, &t->err));
    OK(t, kiln_elementwise_create(ctx, "", "int32 z", "z = 1; // \xe9", NULL, &op, &t->err));
    call.has_size = true;
    call.size = 3;
    const kiln_arg args[] = {kiln_arg_out(&z)};
    OK(t, kiln_elementwise_run(op, args, 1, &call, &t->err));
    assert_int_equal(log_lines, 1);
    CHECK(strstr(last_log, "no UTF-8") != NULL, "%s", last_log);
    assert_int_equal(access(path, F_OK), -1);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
}

static void test_record__a_lock_that_is_never_given_back_stops_nobody(void **state)
{
    test_env *t = *state;
    char path[300];

    snprintf(path, sizeof path, "%s/locked.jsonl", t->temp_dir);
    write_whole(path, "");
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    kiln__recorder *r = record_to(path);
    const double start = kiln__now_us();
    add(r, "{\"x\"}");
    assert_true(kiln__now_us() - start < 5e6);
    expect_file(path, "{\"x\"}\n");
    assert_int_equal(log_lines, 0);
    kiln__recorder_destroy(r);
    close(fd);
}

/* The limit on file sizes ends a process by a signal; a child tries, as it cannot be raised again. */
static void test_record__the_file_size_limit_kills_nobody(void **state)
{
    test_env *t = *state;
    char path[300];
    int code = 0;

    snprintf(path, sizeof path, "%s/limited.jsonl", t->temp_dir);
    write_whole(path, "{\"first\"}\n");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {5, 5};
        kiln__recorder *r = record_to(path);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(2);
        add(r, "{\"x\"}");
        _exit(log_lines == 1 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0, "the child ended with %#x", (unsigned)code);
    expect_file(path, "{\"first\"}\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_record__a_recorded_program_compiles_nothing_elsewhere),
        TEST(test_record__the_environment_names_the_file_and_an_option_overrules_it),
        TEST(test_record__each_line_stands_once_whatever_was_there),
        TEST(test_record__lines_are_compared_whole),
        TEST(test_record__threads_and_processes_write_each_line_once),
        TEST(test_record__trouble_is_one_line_to_the_log),
        TEST(test_record__a_lock_that_is_never_given_back_stops_nobody),
        TEST(test_record__the_file_size_limit_kills_nobody),
    };
    return test_env_main(argc, argv, "test_record", tests, COUNT(tests));
}
