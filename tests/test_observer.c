/*
 * test_observer.c - kiln/observer.h: what observers are told, labels, tables. Files are in
 * test_observer_files.c.
 *
 * Expected bytes come from the sizes that the test asks for, rounded up to the pool's 512.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_env.h"

enum { SEEN_MAX = 4096 };

/* ---- what was seen ---- */

typedef struct seen {
    size_t count;
    kiln_observation what[SEEN_MAX];
    char kernel[SEEN_MAX][32], label[SEEN_MAX][32];
} seen;

static seen log_;

static void note(void *user, const kiln_observation *what)
{
    seen *s = user;

    assert_int_equal(what->struct_size, sizeof *what);
    if (s->count == SEEN_MAX)
        return;
    s->what[s->count] = *what;
    snprintf(s->kernel[s->count], 32, "%s", what->kernel != NULL ? what->kernel : "");
    snprintf(s->label[s->count], 32, "%s", what->scope != NULL ? what->scope->label : "");
    s->count++;
}

static size_t count_of(const seen *s, kiln_observed kind)
{
    size_t count = 0;

    for (size_t k = 0; k < s->count; k++)
        count += s->what[k].kind == kind;
    return count;
}

/* The nth of a kind; fails where there is none. */
static size_t at(const seen *s, kiln_observed kind, size_t nth)
{
    for (size_t k = 0; k < s->count; k++)
        if (s->what[k].kind == kind && nth-- == 0)
            return k;
    fail_msg("%zu observations, of which %zu have the kind %d", s->count, count_of(s, kind),
             (int)kind);
    return 0;
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

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

/* ---- events ---- */

/* Another context finds the kernel on disk; a second call finds it in memory. */
static void look_from_another_context(test_env *t, const char *dir)
{
    kiln_observer *observer = NULL;
    kiln_context *other = test_env_context(t, dir);
    kiln_elementwise *again = doubler(t, other);
    kiln_array *x2 = NULL, *y2 = NULL;
    OK(t, kiln_array_zeros(other, KILN_FLOAT32, 1, (int64_t[]){1000}, &x2, &t->err));
    log_.count = 0;
    OK(t, kiln_observer_create(other, 0, note, &log_, &observer, &t->err));
    OK(t, kiln_call(again, &t->err, x2, &y2));
    OK(t, kiln_call(again, &t->err, x2, y2));
    kiln_observer_destroy(observer);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_CACHE_HIT), 1);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_CACHE_MISS), 0);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_COMPILE), 0);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_LAUNCH), 2);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_RUN), 2);
    kiln_array_release(x2);
    kiln_array_release(y2);
    kiln_elementwise_destroy(again);
    kiln_context_release(other);
}

static void test_observer__a_first_call_is_told_step_by_step(void **state)
{
    test_env *t = *state;
    static const kiln_observed order[] = {KILN_OBSERVED_CALL_BEGIN, KILN_OBSERVED_CACHE_MISS,
                                          KILN_OBSERVED_COMPILE,    KILN_OBSERVED_CACHE_STORE,
                                          KILN_OBSERVED_LAUNCH,     KILN_OBSERVED_CALL_END};
    char dir[256];
    kiln_observer *observer = NULL;
    kiln_array *y = NULL;
    size_t before = 0;

    test_env_fresh_dir(t, dir, sizeof dir);
    kiln_context *ctx = test_env_context(t, dir);
    kiln_elementwise *op = doubler(t, ctx);
    kiln_array *x = NULL;
    OK(t, kiln_array_zeros(ctx, KILN_FLOAT32, 1, (int64_t[]){1000}, &x, &t->err));
    log_.count = 0;
    const double start_us = now_us();
    OK(t, kiln_observer_create(ctx, 0, note, &log_, &observer, &t->err));
    OK(t, kiln_call(op, &t->err, x, &y));
    OK(t, kiln_context_synchronize(ctx, &t->err));
    kiln_observer_destroy(observer);
    const double end_us = now_us();

    for (size_t k = 0; k < COUNT(order); k++) {
        const size_t found = at(&log_, order[k], 0);
        assert_true(k == 0 || found > before);
        assert_string_equal(log_.kernel[found], "doubler");
        assert_string_equal(log_.what[found].device, t->device);
        assert_ptr_equal(log_.what[found].context, ctx);
        assert_true(log_.what[found].begin_us >= start_us && log_.what[found].end_us <= end_us &&
                    log_.what[found].begin_us <= log_.what[found].end_us);
        before = found;
    }
    assert_true(log_.what[at(&log_, KILN_OBSERVED_COMPILE, 0)].bytes > 0);
    /* The output is allocated by the call, for the kernel. */
    const size_t alloc = at(&log_, KILN_OBSERVED_ALLOC, 0);
    assert_int_equal(log_.what[alloc].bytes, 4096);
    assert_ptr_equal(log_.what[alloc].address, kiln_array_data(y));
    assert_string_equal(log_.kernel[alloc], "doubler");
    assert_int_equal(log_.what[alloc].used_bytes, 2 * 4096);
    assert_true(log_.what[alloc].held_bytes >= 2 * 4096);
    const size_t run = at(&log_, KILN_OBSERVED_RUN, 0);
    assert_string_equal(log_.kernel[run], "doubler");
    assert_true(log_.what[run].end_us >= log_.what[run].begin_us);
    (void)at(&log_, KILN_OBSERVED_WAIT, 0);

    look_from_another_context(t, dir);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
}

static void test_observer__memory_is_told_from_the_device_and_back(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;

    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, 0, note, &log_, &observer, &t->err));
    kiln_array *x = vector(t, 100);
    const void *const data = kiln_array_data(x);
    kiln_array_release(x);
    const size_t trimmed = kiln_context_pool_trim(t->ctx);
    kiln_observer_destroy(observer);

    const size_t acquire = at(&log_, KILN_OBSERVED_ACQUIRE, 0);
    const size_t alloc = at(&log_, KILN_OBSERVED_ALLOC, 0);
    const size_t freed = at(&log_, KILN_OBSERVED_FREE, 0);
    const size_t release = at(&log_, KILN_OBSERVED_RELEASE, 0);
    assert_true(acquire < alloc && alloc < freed && freed < release);
    assert_int_equal(log_.what[acquire].bytes, trimmed);
    assert_int_equal(log_.what[acquire].held_bytes, trimmed);
    assert_int_equal(log_.what[alloc].bytes, 512);
    assert_int_equal(log_.what[alloc].used_bytes, 512);
    assert_int_equal(log_.what[freed].bytes, 512);
    assert_int_equal(log_.what[freed].used_bytes, 0);
    assert_ptr_equal(log_.what[freed].address, data);
    assert_int_equal(log_.what[release].bytes, trimmed);
    assert_int_equal(log_.what[release].held_bytes, 0);
}

static void test_observer__page_locked_memory_has_kinds_of_its_own(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    void *memory = NULL;

    (void)kiln_host_pool_trim(t->ctx);
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, 0, note, &log_, &observer, &t->err));
    OK(t, kiln_host_alloc(t->ctx, 5000, 0, &memory, &t->err));
    kiln_host_free(t->ctx, memory);
    const size_t trimmed = kiln_host_pool_trim(t->ctx);
    kiln_observer_destroy(observer);

    static const kiln_observed order[] = {KILN_OBSERVED_HOST_ACQUIRE, KILN_OBSERVED_HOST_ALLOC,
                                          KILN_OBSERVED_HOST_FREE, KILN_OBSERVED_HOST_RELEASE};
    for (size_t k = 0; k < COUNT(order); k++) {
        const size_t where = at(&log_, order[k], 0);
        assert_int_equal(count_of(&log_, order[k]), 1);
        assert_true(k == 0 || where > at(&log_, order[k - 1], 0));
        assert_int_equal(log_.what[where].bytes, 6144);
        assert_ptr_equal(log_.what[where].address, memory);
        assert_int_equal(log_.what[where].used_bytes, order[k] == KILN_OBSERVED_HOST_ALLOC ? 6144 : 0);
    }
    assert_int_equal(trimmed, 6144);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_ALLOC), 0);
}

static void test_observer__products_are_launches(void **state)
{
    test_env *t = *state;
    const int64_t square[] = {16, 16};
    kiln_observer *observer = NULL;
    kiln_array *x = NULL, *y = NULL;

    OK(t, kiln_array_ones(t->ctx, KILN_FLOAT32, 2, square, &x, &t->err));
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_LAUNCH) | KILN_OBSERVE(KILN_OBSERVED_RUN),
                               note, &log_, &observer, &t->err));
    const kiln_status status = kiln_matmul(x, x, NULL, &y, &t->err);
    if (status == KILN_ERR_UNSUPPORTED) {
        kiln_error_clear(&t->err); /* no library for products is here */
    } else {
        OK(t, status);
        OK(t, kiln_context_synchronize(t->ctx, &t->err));
        OK(t, kiln_observer_flush(observer, &t->err));
        assert_true(count_of(&log_, KILN_OBSERVED_LAUNCH) >= 1);
        assert_int_equal(count_of(&log_, KILN_OBSERVED_RUN), count_of(&log_, KILN_OBSERVED_LAUNCH));
        assert_non_null(strstr(log_.kernel[at(&log_, KILN_OBSERVED_LAUNCH, 0)], "matmul"));
    }
    kiln_observer_destroy(observer);
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_observer__copies_have_a_direction_and_bytes(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    float data[300] = {1.0f};
    kiln_array *x = NULL, *y = NULL;

    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_COPY), note, &log_, &observer,
                               &t->err));
    OK(t, kiln_array_from_host(t->ctx, KILN_FLOAT32, 1, (int64_t[]){300}, data, NULL, &x, &t->err));
    OK(t, kiln_array_copy(x, &y, &t->err));
    OK(t, kiln_array_to_host(y, data, sizeof data, NULL, &t->err));
    kiln_observer_destroy(observer);
    static const kiln_direction want[] = {KILN_DIRECTION_TO_DEVICE, KILN_DIRECTION_ON_DEVICE,
                                          KILN_DIRECTION_TO_HOST};
    assert_int_equal(log_.count, COUNT(want));
    for (size_t k = 0; k < COUNT(want); k++) {
        assert_int_equal(log_.what[k].direction, want[k]);
        assert_int_equal(log_.what[k].bytes, sizeof data);
    }
    kiln_array_release(x);
    kiln_array_release(y);
}

static void test_observer__only_what_was_asked_for_is_told(void **state)
{
    test_env *t = *state;
    kiln_observer *mine = NULL, *all = NULL, *refused = NULL;
    seen *everything = calloc(1, sizeof *everything);
    kiln_context *other = test_env_context(t, "");
    kiln_array *x = NULL;

    assert_non_null(everything);
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_ALLOC), note, &log_, &mine,
                               &t->err));
    OK(t, kiln_observer_create(NULL, KILN_OBSERVE(KILN_OBSERVED_ALLOC), note, everything, &all,
                               &t->err));
    OK(t, kiln_array_empty(other, KILN_FLOAT32, 1, (int64_t[]){1}, &x, &t->err));
    kiln_array_release(x);
    kiln_array_release(vector(t, 1));
    assert_int_equal(log_.count, 1);
    assert_int_equal(everything->count, 2);
    kiln_observer_destroy(mine);
    kiln_array_release(vector(t, 1));
    assert_int_equal(log_.count, 1);
    assert_int_equal(everything->count, 3);
    kiln_observer_destroy(all);
    kiln_array_release(vector(t, 1));
    assert_int_equal(everything->count, 3);
    kiln_context_release(other);
    free(everything);

    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_observer_create(t->ctx, UINT32_C(1) << 22, note, NULL, &refused, &t->err),
          "0x400000");
    FAILS(t, KILN_ERR_NULL, kiln_observer_create(t->ctx, 0, NULL, NULL, &refused, &t->err), "fn");
    FAILS(t, KILN_ERR_ARGUMENT,
          kiln_observer_create_table(t->ctx, (kiln_table_by)9, &refused, &t->err), "9");
    FAILS(t, KILN_ERR_IO,
          kiln_observer_create_trace(t->ctx, "/nowhere/at/all.json", &refused, &t->err),
          "/nowhere/at/all.json");
    assert_null(refused);
    kiln_observer_destroy(NULL);
}

static void sleep_20_ms(void *user)
{
    (void)user;
    usleep(20000);
}

static void test_observer__device_times_follow_the_stream(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    kiln_elementwise *op = doubler(t, t->ctx);
    kiln_array *x = vector(t, 1 << 16), *y = vector(t, 1 << 16);

    OK(t, kiln_call(op, &t->err, x, y)); /* compiles */
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_RUN), note, &log_, &observer,
                               &t->err));
    const double start_us = now_us();
    kiln_scope_push("first");
    OK(t, kiln_call(op, &t->err, x, y));
    kiln_scope_pop();
    OK(t, kiln_stream_host_call(t->ctx, NULL, sleep_20_ms, NULL, &t->err));
    OK(t, kiln_call(op, &t->err, x, y));
    kiln_observer_destroy(observer); /* waits for what is still to come */
    const double end_us = now_us();
    assert_int_equal(log_.count, 2);
    assert_string_equal(log_.label[0], "first");
    assert_string_equal(log_.label[1], "");
    /* The driver that stands in for a GPU has no clock. */
    const bool has_clock = strstr(kiln_context_device(t->ctx)->name, "Fake") == NULL;
    if (has_clock)
        assert_true(log_.what[1].begin_us - log_.what[0].end_us >= 19000.0);
    for (size_t k = 0; k < 2; k++) {
        assert_string_equal(log_.kernel[k], "doubler");
        assert_true(log_.what[k].begin_us <= log_.what[k].end_us);
        if (!has_clock)
            continue;
        /* The two clocks are brought together to some tens of microseconds. */
        assert_true(log_.what[k].begin_us > start_us - 500.0 &&
                    log_.what[k].end_us < end_us + 500.0);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
}

static void test_observer__a_replayed_program_is_one_run(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    kiln_program *program = NULL;
    kiln_elementwise *op = doubler(t, t->ctx);
    kiln_array *x = vector(t, 1000), *y = vector(t, 1000);

    OK(t, kiln_capture_begin(t->ctx, NULL, &t->err));
    OK(t, kiln_call(op, &t->err, x, y));
    OK(t, kiln_call(op, &t->err, y, x));
    OK(t, kiln_capture_end(t->ctx, NULL, &program, &t->err));
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, 0, note, &log_, &observer, &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    OK(t, kiln_program_run(program, NULL, &t->err));
    kiln_observer_destroy(observer);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_REPLAY), 2);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_LAUNCH), 0);
    assert_int_equal(count_of(&log_, KILN_OBSERVED_RUN), 2);
    kiln_program_destroy(program);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_elementwise_destroy(op);
}

/* ---- labels ---- */

static void test_observer__labels_nest_and_outlive_their_text(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    char text[32] = "outer";
    kiln_array *arrays[3];

    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx,
                               KILN_OBSERVE(KILN_OBSERVED_ALLOC) |
                                   KILN_OBSERVE(KILN_OBSERVED_SCOPE_BEGIN) |
                                   KILN_OBSERVE(KILN_OBSERVED_SCOPE_END),
                               note, &log_, &observer, &t->err));
    kiln_scope_push(text);
    strcpy(text, "inner");
    kiln_scope_push(text);
    strcpy(text, "gone!");
    arrays[0] = vector(t, 1);
    kiln_scope_pop();
    arrays[1] = vector(t, 1);
    kiln_scope_pop();
    kiln_scope_pop(); /* one too many */
    arrays[2] = vector(t, 1);
    kiln_observer_destroy(observer);
    static const char *const labels[] = {"outer", "inner", "inner", "inner", "outer", "outer", ""};
    assert_int_equal(log_.count, COUNT(labels));
    for (size_t k = 0; k < COUNT(labels); k++)
        assert_string_equal(log_.label[k], labels[k]);
    for (size_t k = 0; k < 3; k++)
        kiln_array_release(arrays[k]);
}

static void test_observer__more_labels_than_are_kept_are_no_harm(void **state)
{
    test_env *t = *state;
    kiln_observer *observer = NULL;
    char name[400];

    /* Deeper than is kept: counted, so that each pop ends its own push. */
    kiln_scope_push_at("base", "a/file.c", 5);
    for (int k = 0; k < 100; k++)
        kiln_scope_push("deep");
    for (int k = 0; k < 100; k++)
        kiln_scope_pop();
    log_.count = 0;
    OK(t, kiln_observer_create(t->ctx, KILN_OBSERVE(KILN_OBSERVED_ALLOC), note, &log_, &observer,
                               &t->err));
    kiln_array_release(vector(t, 1));
    kiln_scope_pop();
    assert_string_equal(log_.label[0], "base");
    /* In a child, for labels stay as long as the process. */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        memset(name, 'x', sizeof name);
        name[sizeof name - 1] = '\0';
        for (int k = 0; k < 5000; k++) {
            name[snprintf(name, 16, "label %d", k)] = 'x';
            kiln_scope_push(name);
            kiln_scope_pop();
        }
        kiln_scope_push(NULL);
        kiln_scope_pop();
        _exit(0);
    }
    int end = -1;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    kiln_observer_destroy(observer);
}

/* ---- tables ---- */

/* Bytes, acquired text and count in the line of `name`. */
static bool has_row(const char *table, const char *name, const char *used, const char *count)
{
    const char *line = strstr(table, name);
    char first[64] = "", got_used[64] = "", got_unit[16] = "", got_count[64] = "";

    while (line != NULL && line != table && line[-1] != '\n')
        line = strstr(line + 1, name);
    if (line == NULL ||
        sscanf(line, "%63s %63s %15s %*s %*s %63s", first, got_used, got_unit, got_count) != 4) {
        print_message("no row \"%s\" in\n%s\n", name, table);
        return false;
    }
    strcat(got_used, " ");
    strcat(got_used, got_unit);
    if (strcmp(got_used, used) == 0 && strcmp(got_count, count) == 0)
        return true;
    print_message("want \"%s\" and %s occurrences of %s in\n%s\n", used, count, name, table);
    return false;
}

static void test_observer__tables_add_up_by_label_line_and_kernel(void **state)
{
    test_env *t = *state;
    kiln_observer *tables[3] = {NULL};
    char *texts[3] = {NULL}, line[64];
    kiln_elementwise *op = doubler(t, t->ctx);
    kiln_array *x = vector(t, 256), *y = NULL, *z = NULL;

    for (int k = 0; k < 3; k++)
        OK(t, kiln_observer_create_table(t->ctx, (kiln_table_by)(k + 1), &tables[k], &t->err));
    for (int k = 0; k < 3; k++) {
        KILN_SCOPE_PUSH("forward");
        snprintf(line, sizeof line, "test_observer.c:%d", __LINE__ - 1);
        kiln_array_release(vector(t, 1024)); /* 4 KiB */
        kiln_scope_push("inner");
        kiln_array_release(vector(t, 1)); /* 512 B */
        kiln_scope_pop();
        kiln_scope_pop();
    }
    OK(t, kiln_call(op, &t->err, x, &y)); /* 1 KiB, for the kernel */
    OK(t, kiln_call(op, &t->err, x, &z));
    for (int k = 0; k < 3; k++)
        OK(t, kiln_observer_to_string(tables[k], &texts[k], &t->err));
    assert_true(has_row(texts[0], "forward ", "12.00 KiB", "3"));
    assert_true(has_row(texts[0], "inner ", "1.50 KiB", "3"));
    assert_true(has_row(texts[0], "(none) ", "2.00 KiB", "-"));
    assert_true(has_row(texts[1], line, "13.50 KiB", "6"));
    assert_true(has_row(texts[2], "doubler ", "2.00 KiB", "2"));
    assert_true(has_row(texts[2], "(none) ", "13.50 KiB", "-"));
    for (int k = 0; k < 3; k++) {
        kiln_free(texts[k]);
        kiln_observer_destroy(tables[k]);
    }
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_observer__a_first_call_is_told_step_by_step),
        TEST(test_observer__memory_is_told_from_the_device_and_back),
        TEST(test_observer__page_locked_memory_has_kinds_of_its_own),
        TEST(test_observer__products_are_launches),
        TEST(test_observer__copies_have_a_direction_and_bytes),
        TEST(test_observer__only_what_was_asked_for_is_told),
        TEST(test_observer__device_times_follow_the_stream),
        TEST(test_observer__a_replayed_program_is_one_run),
        TEST(test_observer__labels_nest_and_outlive_their_text),
        TEST(test_observer__more_labels_than_are_kept_are_no_harm),
        TEST(test_observer__tables_add_up_by_label_line_and_kernel),
    };
    return test_env_main(argc, argv, "test_observer", tests, COUNT(tests));
}
