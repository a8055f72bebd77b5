/*
 * test_observe.c - src/observe: the very text of a timeline, for observations that the test makes up.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "observe/observe.h"

static char path[64];

static void see(const kiln__ready *ready, kiln_observation what)
{
    what.struct_size = sizeof what;
    what.thread = 7;
    what.device = "cuda:0";
    ready->see(ready->state, &what);
}

/* The file, with "PID" for this process's number. */
static char *read_trace(void)
{
    static char text[8192], out[8192];
    char pid[32];
    FILE *file = fopen(path, "r");
    size_t at = 0;

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const int digits = snprintf(pid, sizeof pid, "%ld", (long)getpid());
    for (const char *c = text; *c != '\0';) {
        if (strncmp(c, pid, (size_t)digits) == 0) {
            at += (size_t)sprintf(out + at, "PID");
            c += digits;
        } else {
            out[at++] = *c++;
        }
    }
    out[at] = '\0';
    return out;
}

/* Each element as the trace event format wants it: https://docs.google.com/document/d/
 * 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, "Complete Events", "Duration Events", "Counter Events",
 * "Metadata Events". */
static void test_observe__a_timeline_reads_as_the_format_has_it(void **state)
{
    const kiln_scope scope = {.label = "epoch"};
    kiln__ready trace;

    (void)state;
    assert_int_equal(kiln__trace_create(path, true, &trace, NULL), KILN_OK);
    see(&trace,
        (kiln_observation){
            .kind = KILN_OBSERVED_SCOPE_BEGIN, .scope = &scope, .begin_us = 1, .end_us = 1});
    see(&trace, (kiln_observation){.kind = KILN_OBSERVED_ALLOC,
                                   .bytes = 512,
                                   .used_bytes = 512,
                                   .held_bytes = 2048,
                                   .begin_us = 1.5,
                                   .end_us = 1.5});
    see(&trace, (kiln_observation){.kind = KILN_OBSERVED_LAUNCH,
                                   .kernel = "axpy",
                                   .scope = &scope,
                                   .begin_us = 2,
                                   .end_us = 4.25});
    assert_int_equal(trace.flush(trace.state, NULL), KILN_OK);
    see(&trace, (kiln_observation){.kind = KILN_OBSERVED_COMPILE,
                                   .kernel = "axpy",
                                   .status = KILN_ERR_COMPILE,
                                   .begin_us = 5,
                                   .end_us = 6});
    see(&trace, (kiln_observation){
                    .kind = KILN_OBSERVED_SCOPE_END, .scope = &scope, .begin_us = 7, .end_us = 7});
    assert_int_equal(trace.flush(trace.state, NULL), KILN_OK);
    trace.destroy(trace.state);
    assert_string_equal(
        read_trace(),
        "[\n"
        "{\"ph\":\"M\",\"pid\":PID,\"name\":\"process_name\",\"args\":{\"name\":\"process "
        "PID\"}},\n"
        "{\"ph\":\"M\",\"pid\":PID,\"name\":\"thread_name\",\"tid\":7,\"args\":{\"name\":"
        "\"thread 7\"}},\n"
        "{\"ph\":\"B\",\"pid\":PID,\"name\":\"epoch\",\"tid\":7,\"ts\":1.000,\"args\":{}},\n"
        "{\"ph\":\"C\",\"pid\":PID,\"name\":\"memory of "
        "cuda:0\",\"ts\":1.500,\"args\":{\"used\":512,"
        "\"free\":1536}},\n"
        "{\"ph\":\"X\",\"pid\":PID,\"name\":\"launch axpy\",\"tid\":7,\"ts\":2.000,\"dur\":2.250,"
        "\"args\":{\"label\":\"epoch\"}},\n"
        "{\"ph\":\"X\",\"pid\":PID,\"name\":\"compile axpy\",\"tid\":7,\"ts\":5.000,\"dur\":1.000,"
        "\"args\":{\"status\":\"KILN_ERR_COMPILE\"}},\n"
        "{\"ph\":\"E\",\"pid\":PID,\"name\":\"epoch\",\"tid\":7,\"ts\":7.000,\"args\":{}}\n"
        "]\n");
    unlink(path);
}

static void test_observe__two_timelines_share_a_file(void **state)
{
    kiln__ready first, second;

    (void)state;
    assert_int_equal(kiln__trace_create(path, true, &first, NULL), KILN_OK);
    assert_int_equal(kiln__trace_create(path, false, &second, NULL), KILN_OK);
    assert_int_equal(second.flush(second.state, NULL), KILN_OK);
    assert_int_equal(first.flush(first.state, NULL), KILN_OK);
    first.destroy(first.state);
    second.destroy(second.state);
    static const char element[] =
        "{\"ph\":\"M\",\"pid\":PID,\"name\":\"process_name\",\"args\":{\"name\":\"process PID\"}}";
    char want[512];
    snprintf(want, sizeof want, "[\n%s,\n%s\n]\n", element, element);
    assert_string_equal(read_trace(), want);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_observe__a_timeline_reads_as_the_format_has_it),
        cmocka_unit_test(test_observe__two_timelines_share_a_file),
    };

    snprintf(path, sizeof path, "/tmp/kiln_observe_%ld.json", (long)getpid());
    return cmocka_run_group_tests_name("test_observe", tests, NULL, NULL);
}
