/*
 * test_stream.c - kiln/stream.h and kiln/event.h: order, waiting, asking, host calls, time.
 *
 * A host call that waits for the test to open a gate stands for work that takes as long as the test
 * wants, so that nothing here depends on how fast a machine is. The cpu device calls it at once,
 * with the gate open.
 *
 * Started as `test_stream open HANDLE` the program is the other process of the test of events that
 * processes share.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_env.h"

extern char **environ;

static atomic_bool gate;
static char order[16]; /* what the host calls of a test wrote, one after the other */

static void wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate))
        usleep(100);
}

static void note(void *user)
{
    strncat(order, user, 1);
}

static void sleep_20_ms(void *user)
{
    (void)user;
    usleep(20000);
}

/* ---- streams ---- */

static void test_stream__host_calls_run_in_order(void **state)
{
    test_env *t = *state;
    kiln_stream *first = NULL, *second = NULL;
    kiln_event *event = NULL;

    order[0] = '\0';
    atomic_store(&gate, !t->cuda);
    OK(t, kiln_stream_create(t->ctx, NULL, &first, &t->err));
    OK(t, kiln_stream_create(t->ctx, NULL, &second, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, first, wait_for_gate, NULL, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, first, note, "a", &t->err));
    OK(t, kiln_stream_host_call(t->ctx, first, note, "b", &t->err));
    OK(t, kiln_event_record(event, first, &t->err));
    OK(t, kiln_stream_wait_event(t->ctx, second, event, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, second, note, "c", &t->err));
    OK(t, kiln_stream_wait(t->ctx, NULL, second, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, NULL, note, "d", &t->err));
    assert_string_equal(order, t->cuda ? "" : "abcd");
    atomic_store(&gate, true);
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    assert_string_equal(order, "abcd");
    kiln_event_destroy(event);
    kiln_stream_destroy(first);
    kiln_stream_destroy(second);
}

static void test_stream__work_waits_for_host_calls(void **state)
{
    test_env *t = *state;
    kiln_array *x = NULL, *z = NULL;
    kiln_event *event = NULL;
    bool done = true;
    float got[4] = {0};

    atomic_store(&gate, !t->cuda);
    OK(t, kiln_array_full(t->ctx, KILN_FLOAT32, 1, (int64_t[]){4}, 3.0, &x, &t->err));
    /* A kernel is loaded by its first call, and loading may wait for the device. */
    OK(t, kiln_array_multiply(x, x, &z, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
    OK(t, kiln_event_query(event, &done, &t->err));
    assert_true(done); /* never recorded: nothing to wait for */
    OK(t, kiln_stream_host_call(t->ctx, NULL, wait_for_gate, NULL, &t->err));
    OK(t, kiln_array_multiply(x, x, &z, &t->err));
    OK(t, kiln_event_record(event, NULL, &t->err));
    OK(t, kiln_event_query(event, &done, &t->err));
    assert_int_equal(done, !t->cuda);
    atomic_store(&gate, true);
    OK(t, kiln_event_synchronize(event, &t->err));
    OK(t, kiln_event_query(event, &done, &t->err));
    assert_true(done);
    OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == 9.0f);
    kiln_event_destroy(event);
    kiln_array_release(x);
    kiln_array_release(z);
}

static void test_stream__a_query_does_not_wait(void **state)
{
    test_env *t = *state;
    kiln_stream *stream = NULL;
    bool done = false;

    atomic_store(&gate, !t->cuda);
    OK(t, kiln_stream_create(t->ctx, NULL, &stream, &t->err));
    OK(t, kiln_stream_query(stream, &done, &t->err));
    assert_true(done);
    OK(t, kiln_stream_host_call(t->ctx, stream, wait_for_gate, NULL, &t->err));
    OK(t, kiln_stream_query(stream, &done, &t->err));
    assert_int_equal(done, !t->cuda);
    atomic_store(&gate, true);
    OK(t, kiln_stream_synchronize(stream, &t->err));
    OK(t, kiln_stream_query(stream, &done, &t->err));
    assert_true(done);
    kiln_stream_destroy(stream);
}

static void test_stream__priorities_of_any_number_are_taken(void **state)
{
    test_env *t = *state;
    kiln_stream_options o = KILN_STREAM_OPTIONS_INIT;
    kiln_stream *stream = NULL;
    int least = -1, greatest = 1;

    OK(t, kiln_stream_priority_range(t->ctx, &least, &greatest, &t->err));
    assert_true(t->cuda ? greatest < least : greatest == 0 && least == 0);
    for (int p = -1000; p <= 1000; p += 500) {
        o.priority = p;
        o.blocking = p > 0;
        OK(t, kiln_stream_create(t->ctx, &o, &stream, &t->err));
        OK(t, kiln_stream_synchronize(stream, &t->err));
        kiln_stream_destroy(stream);
    }
    kiln_stream_options_init(&o, sizeof o);
    assert_true(o.struct_size == sizeof o && o.priority == 0 && !o.blocking);
    o.struct_size = 3;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_stream_create(t->ctx, &o, &stream, &t->err),
          "kiln_stream_options", "struct_size 3");
    assert_null(stream);
}

static void test_stream__default_streams_of_cuda_can_be_wrapped(void **state)
{
    test_env *t = *state;
    void *const natives[] = {NULL, KILN_STREAM_LEGACY, KILN_STREAM_PER_THREAD};
    kiln_stream *stream = NULL;

    for (size_t i = 0; i < COUNT(natives); i++) {
        kiln_array *x = NULL, *z = NULL;
        float got[3] = {0};
        if (!t->cuda) {
            FAILS(t, KILN_ERR_UNSUPPORTED, kiln_stream_wrap(t->ctx, natives[i], &stream, &t->err),
                  "cpu");
            continue;
        }
        OK(t, kiln_stream_wrap(t->ctx, natives[i], &stream, &t->err));
        OK(t, kiln_array_arange(t->ctx, KILN_FLOAT32, 0, 3, 1, &x, &t->err));
        OK(t, kiln_stream_wait(t->ctx, stream, NULL, &t->err));
        kiln_elementwise *twice = NULL;
        kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
        o.stream = stream;
        OK(t, kiln_elementwise_create(t->ctx, "T x", "T z", "z = x + x", NULL, &twice, &t->err));
        kiln_arg args[] = {kiln_arg_array(x), kiln_arg_out(&z)};
        OK(t, kiln_elementwise_run(twice, args, 2, &o, &t->err));
        OK(t, kiln_stream_wait(t->ctx, NULL, stream, &t->err));
        OK(t, kiln_array_to_host(z, got, sizeof got, NULL, &t->err));
        assert_true(got[0] == 0 && got[1] == 2 && got[2] == 4);
        kiln_elementwise_destroy(twice);
        kiln_array_release(x);
        kiln_array_release(z);
        kiln_stream_destroy(stream);
    }
}

/* ---- events ---- */

static void test_stream__events_measure_time(void **state)
{
    test_env *t = *state;
    kiln_event_options plain = KILN_EVENT_OPTIONS_INIT, blocking = KILN_EVENT_OPTIONS_INIT;
    kiln_event *begin = NULL, *end = NULL, *untimed = NULL;
    double ms = -1;

    plain.no_timing = true;
    blocking.blocking = true;
    OK(t, kiln_event_create(t->ctx, NULL, &begin, &t->err));
    OK(t, kiln_event_create(t->ctx, &blocking, &end, &t->err));
    OK(t, kiln_event_create(t->ctx, &plain, &untimed, &t->err));
    assert_int_equal(kiln_event_native(begin) != NULL, t->cuda);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_event_elapsed_ms(begin, end, &ms, &t->err), "start event",
          "recorded");
    OK(t, kiln_event_record(begin, NULL, &t->err));
    FAILS(t, KILN_ERR_ARGUMENT, kiln_event_elapsed_ms(begin, end, &ms, &t->err), "end event",
          "recorded");
    OK(t, kiln_stream_host_call(t->ctx, NULL, sleep_20_ms, NULL, &t->err));
    OK(t, kiln_event_record(end, NULL, &t->err));
    OK(t, kiln_event_record(untimed, NULL, &t->err));
    OK(t, kiln_event_elapsed_ms(begin, end, &ms, &t->err));
    CHECK(ms > 19 && ms < 10000, "%g ms for a sleep of 20", ms);
    OK(t, kiln_event_elapsed_ms(end, begin, &ms, &t->err));
    CHECK(ms < -19, "%g ms", ms);
    FAILS(t, KILN_ERR_ARGUMENT, kiln_event_elapsed_ms(begin, untimed, &ms, &t->err), "end event",
          "no_timing");
    assert_true(ms == 0);
    kiln_event_destroy(begin);
    kiln_event_destroy(end);
    kiln_event_destroy(untimed);
    kiln_event_destroy(NULL);
}

static void test_stream__contexts_wait_for_each_other(void **state)
{
    test_env *t = *state;
    kiln_context *same = test_env_context(t, ""), *cpu = NULL;
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_event *event = NULL;

    o.device = "cpu";
    o.cache_dir = "";
    OK(t, kiln_context_create(&o, &cpu, &t->err));
    kiln_context *const others[] = {same, cpu};
    for (size_t i = 0; i < COUNT(others); i++) {
        order[0] = '\0';
        OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
        OK(t, kiln_stream_host_call(t->ctx, NULL, note, "a", &t->err));
        OK(t, kiln_event_record(event, NULL, &t->err));
        OK(t, kiln_stream_wait_event(others[i], NULL, event, &t->err));
        OK(t, kiln_stream_host_call(others[i], NULL, note, "b", &t->err));
        OK(t, kiln_context_synchronize(others[i], &t->err));
        assert_string_equal(order, "ab");
        kiln_event_destroy(event);
    }
    /* And the other way round: the cpu's events have always been passed. */
    OK(t, kiln_event_create(cpu, NULL, &event, &t->err));
    OK(t, kiln_event_record(event, NULL, &t->err));
    OK(t, kiln_stream_wait_event(t->ctx, NULL, event, &t->err));
    OK(t, kiln_context_synchronize(t->ctx, &t->err));
    kiln_event_destroy(event);
    kiln_context_release(cpu);
    kiln_context_release(same);
}

static void test_stream__what_is_missing_or_foreign_is_named(void **state)
{
    test_env *t = *state;
    kiln_context *other = test_env_context(t, "");
    kiln_event_options o = KILN_EVENT_OPTIONS_INIT;
    kiln_stream *foreign = NULL;
    kiln_event *event = NULL, *none = NULL;
    int n = 0;
    bool done = false;

    OK(t, kiln_stream_create(other, NULL, &foreign, &t->err));
    OK(t, kiln_event_create(t->ctx, NULL, &event, &t->err));
    FAILS(t, KILN_ERR_CONTEXT, kiln_event_record(event, foreign, &t->err), "another context");
    FAILS(t, KILN_ERR_CONTEXT, kiln_stream_wait_event(t->ctx, foreign, event, &t->err),
          "another context");
    FAILS(t, KILN_ERR_CONTEXT, kiln_stream_host_call(t->ctx, foreign, note, "x", &t->err),
          "another context");
    FAILS(t, KILN_ERR_NULL, kiln_stream_host_call(t->ctx, NULL, NULL, NULL, &t->err), "fn");
    FAILS(t, KILN_ERR_NULL, kiln_stream_host_call(NULL, NULL, note, "x", &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL, kiln_event_record(NULL, NULL, &t->err), "event");
    FAILS(t, KILN_ERR_NULL, kiln_event_query(event, NULL, &t->err),
          "kiln_event_query: `done_out` is NULL");
    FAILS(t, KILN_ERR_NULL, kiln_event_query(NULL, &done, &t->err), "event");
    FAILS(t, KILN_ERR_NULL, kiln_stream_query(NULL, &done, &t->err), "stream");
    FAILS(t, KILN_ERR_NULL, kiln_event_synchronize(NULL, &t->err), "event");
    FAILS(t, KILN_ERR_NULL, kiln_event_elapsed_ms(event, NULL, NULL, &t->err), "end");
    FAILS(t, KILN_ERR_NULL, kiln_stream_wait_event(t->ctx, NULL, NULL, &t->err), "event");
    FAILS(t, KILN_ERR_NULL, kiln_event_create(t->ctx, NULL, NULL, &t->err), "out");
    FAILS(t, KILN_ERR_NULL, kiln_event_create(NULL, NULL, &none, &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL, kiln_event_export(event, NULL, &t->err), "handle_out");
    FAILS(t, KILN_ERR_NULL, kiln_event_open(t->ctx, NULL, &none, &t->err), "handle");
    FAILS(t, KILN_ERR_NULL, kiln_stream_priority_range(t->ctx, &n, NULL, &t->err), "greatest_out");
    assert_null(kiln_event_native(NULL));
    o.interprocess = true;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_event_create(t->ctx, &o, &none, &t->err), "no_timing");
    o.no_timing = true;
    if (!t->cuda) {
        kiln_event_handle handle;
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_event_create(t->ctx, &o, &none, &t->err), "cpu");
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_event_export(event, &handle, &t->err), "cpu");
        FAILS(t, KILN_ERR_UNSUPPORTED, kiln_event_open(t->ctx, &handle, &none, &t->err), "cpu");
    }
    kiln_event_options_init(&o, sizeof o);
    assert_true(o.struct_size == sizeof o && !o.interprocess && !o.no_timing && !o.blocking);
    o.struct_size = 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_event_create(t->ctx, &o, &none, &t->err),
          "kiln_event_options");
    kiln_event_destroy(event);
    kiln_stream_destroy(foreign);
    kiln_context_release(other);
}

/* ---- another process ---- */

/* Waits for the event that `text` names, 128 hexadecimal digits, on its own stream. */
static int other_process(const char *text)
{
    kiln_event_handle handle;
    kiln_error err = KILN_ERROR_INIT;
    kiln_context_options o = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_event *event = NULL;

    for (size_t i = 0; i < sizeof handle.bytes; i++) {
        unsigned byte = 0;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return 2;
        handle.bytes[i] = (unsigned char)byte;
    }
    o.device = "cuda";
    o.cache_dir = "";
    bool ok = kiln_context_create(&o, &ctx, &err) == KILN_OK &&
              kiln_event_open(ctx, &handle, &event, &err) == KILN_OK &&
              kiln_stream_wait_event(ctx, NULL, event, &err) == KILN_OK &&
              kiln_context_synchronize(ctx, &err) == KILN_OK;
    kiln_error_print(&err, stderr);
    kiln_error_clear(&err);
    kiln_event_destroy(event);
    kiln_context_release(ctx);
    return ok ? 0 : 1;
}

static void test_stream__another_process_waits_for_an_event(void **state)
{
    test_env *t = *state;
    kiln_event_options o = KILN_EVENT_OPTIONS_INIT;
    kiln_event_handle handle;
    kiln_event *event = NULL;
    char text[2 * sizeof handle.bytes + 1];
    pid_t pid = 0;
    int status = -1;

    if (!t->cuda)
        skip();
    o.no_timing = o.interprocess = true;
    atomic_store(&gate, false);
    OK(t, kiln_event_create(t->ctx, &o, &event, &t->err));
    OK(t, kiln_stream_host_call(t->ctx, NULL, wait_for_gate, NULL, &t->err));
    OK(t, kiln_event_record(event, NULL, &t->err));
    OK(t, kiln_event_export(event, &handle, &t->err));
    for (size_t i = 0; i < sizeof handle.bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", handle.bytes[i]);
    char *const argv[] = {"test_stream", "open", text, NULL};
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    /* Long enough for a process that would not wait to end. */
    sleep(3);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    atomic_store(&gate, true);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kiln_event_destroy(event);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_stream__host_calls_run_in_order),
        TEST(test_stream__work_waits_for_host_calls),
        TEST(test_stream__a_query_does_not_wait),
        TEST(test_stream__priorities_of_any_number_are_taken),
        TEST(test_stream__default_streams_of_cuda_can_be_wrapped),
        TEST(test_stream__events_measure_time),
        TEST(test_stream__contexts_wait_for_each_other),
        TEST(test_stream__what_is_missing_or_foreign_is_named),
        TEST(test_stream__another_process_waits_for_an_event),
    };

    if (argc == 3 && strcmp(argv[1], "open") == 0)
        return other_process(argv[2]);
    return test_env_main(argc, argv, "test_stream", tests, COUNT(tests));
}
