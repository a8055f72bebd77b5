/*
 * test_benchmark.c - kiln/benchmark.h: how often a function is called, what its times come to, and
 * the line of text.
 *
 * Times are bounded from below alone: a function that sleeps takes at least as long as it sleeps.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_env.h"

typedef struct calls {
    int made, fail_at; /* fail_at 0: never */
    kiln_context *ctx;
    kiln_stream *stream;
} calls;

static kiln_status count_call(void *user, kiln_error *err)
{
    calls *c = user;

    (void)err;
    usleep(100 * (unsigned)(c->made % 5));
    return ++c->made == c->fail_at ? KILN_ERR_IO : KILN_OK;
}

static kiln_status sleep_5_ms(void *user, kiln_error *err)
{
    calls *c = user;

    (void)err;
    c->made++;
    usleep(5000);
    return KILN_OK;
}

static void sleep_in_order(void *user)
{
    (void)user;
    usleep(5000);
}

static kiln_status enqueue_a_sleep(void *user, kiln_error *err)
{
    calls *c = user;

    return kiln_stream_host_call(c->ctx, c->stream, sleep_in_order, NULL, err);
}

/* ---- calls ---- */

static void test_benchmark__calls_as_often_as_asked(void **state)
{
    test_env *t = *state;
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_benchmark_result r;
    calls c = {0};

    kiln_benchmark_options_init(&opts, sizeof opts); /* the same without the macro */
    opts.warmups = 3;
    opts.repeats = 700; /* more than the first room for times */
    opts.name = "counted";
    OK(t, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err));
    assert_int_equal(c.made, 703);
    assert_int_equal(r.runs, 700);
    assert_string_equal(r.name, "counted");
    assert_int_equal(r.device_count, 1);
    assert_string_equal(r.device_id[0], kiln_context_device(t->ctx)->id);
}

static void test_benchmark__ends_with_the_time_allowed(void **state)
{
    test_env *t = *state;
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_benchmark_result r;
    calls c = {0};

    opts.warmups = 1;
    opts.max_seconds = 0.02;
    OK(t, kiln_benchmark(t->ctx, sleep_5_ms, &c, &opts, &r, &t->err));
    assert_in_range(r.runs, 1, 4); /* four runs take 20 ms at least */
    assert_int_equal(c.made, r.runs + 1);
    assert_true(r.cpu.least >= 0.005);
    assert_true(r.device[0].least >= 0.0049); /* events resolve half a microsecond */
}

static void test_benchmark__a_failure_ends_it(void **state)
{
    test_env *t = *state;
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_benchmark_result r;
    calls c = {.fail_at = 2};

    opts.warmups = 5;
    assert_int_equal(kiln_benchmark(t->ctx, count_call, &c, &opts, &r, NULL), KILN_ERR_IO);
    assert_int_equal(c.made, 2);
    c = (calls){.fail_at = 7};
    assert_int_equal(kiln_benchmark(t->ctx, count_call, &c, &opts, &r, NULL), KILN_ERR_IO);
    assert_int_equal(c.made, 7);
    assert_int_equal(r.runs, 0);
}

/* ---- times ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void assert_close(double got, double want)
{
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%.17g is not %.17g", got, want);
}

/* The statistics of `count` sorted times, each by its definition. */
static void check_statistics(const kiln_benchmark_times *got, const double *sorted, size_t count)
{
    double sum = 0.0, squares = 0.0;

    for (size_t k = 0; k < count; k++)
        sum += sorted[k];
    for (size_t k = 0; k < count; k++)
        squares += pow(sorted[k] - sum / (double)count, 2.0);
    assert_close(got->mean, sum / (double)count);
    assert_close(got->deviation, sqrt(squares / (double)count));
    assert_close(got->least, sorted[0]);
    assert_close(got->greatest, sorted[count - 1]);
    /* 21 values: the median is the 11th, the percentiles are the 2nd and the 20th. */
    assert_int_equal(count, 21);
    assert_close(got->median, sorted[10]);
    assert_close(got->p5, sorted[1]);
    assert_close(got->p95, sorted[19]);
}

static void test_benchmark__statistics_are_those_of_the_times(void **state)
{
    enum { RUNS = 21 };
    test_env *t = *state;
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_benchmark_result r;
    double times[2][RUNS];
    calls c = {0};

    opts.repeats = RUNS;
    opts.times = &times[0][0];
    OK(t, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err));
    /* Ten calls to warm up, so call 10 + k sleeps for (k % 5) x 100 microseconds. */
    for (size_t k = 0; k < RUNS; k++)
        assert_true(times[0][k] >= 1e-4 * (double)(k % 5));
    for (size_t row = 0; row < 2; row++)
        qsort(times[row], RUNS, sizeof(double), compare);
    check_statistics(&r.cpu, times[0], RUNS);
    check_statistics(&r.device[0], times[1], RUNS);
}

static void test_benchmark__watches_several_streams(void **state)
{
    test_env *t = *state;
    kiln_context *other = test_env_context(t, t->cache_dir);
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_stream *streams[2] = {NULL, NULL};
    kiln_benchmark_result r;
    calls c = {.ctx = other};

    OK(t, kiln_stream_create(t->ctx, NULL, &streams[0], &t->err));
    OK(t, kiln_stream_create(other, NULL, &streams[1], &t->err));
    c.stream = streams[1];
    opts.streams = streams;
    opts.stream_count = 2;
    opts.repeats = 3;
    opts.warmups = 1;
    opts.flush_bytes = 1 << 20;
    OK(t, kiln_benchmark(t->ctx, enqueue_a_sleep, &c, &opts, &r, &t->err));
    assert_int_equal(r.device_count, 2);
    assert_true(r.device[1].least >= 0.0049);
    kiln_stream_destroy(streams[0]);
    kiln_stream_destroy(streams[1]);
    kiln_context_release(other);
}

/* ---- text ---- */

static void test_benchmark__prints_the_line_of_cupyx(void **state)
{
    test_env *t = *state;
    kiln_benchmark_result r = {.name = "axpy", .runs = 2, .device_count = 2};
    char *text = NULL;

    r.cpu = (kiln_benchmark_times){
        .mean = 2.9034e-6, .deviation = 0.1214e-6, .least = 2.8e-6, .greatest = 1234.5678e-6};
    r.device[0] = r.device[1] = r.cpu;
    strcpy(r.device_id[0], "cuda:1");
    strcpy(r.device_id[1], "cpu");
    OK(t, kiln_benchmark_to_string(&r, &text, &t->err));
    assert_string_equal(
        text,
        "axpy                :    CPU:    2.903 us   +/- 0.121 (min:    2.800 / max: 1234.568)"
        " us     GPU-1:    2.903 us   +/- 0.121 (min:    2.800 / max: 1234.568) us");
    kiln_free(text);
    r.runs = 1;
    r.device_count = 0;
    OK(t, kiln_benchmark_to_string(&r, &text, &t->err));
    assert_string_equal(text, "axpy                :    CPU:    2.903 us");
    kiln_free(text);
}

/* ---- refusals ---- */

static void test_benchmark__refuses_what_makes_no_sense(void **state)
{
    test_env *t = *state;
    kiln_benchmark_options opts = KILN_BENCHMARK_OPTIONS_INIT;
    kiln_stream *gone = NULL;
    kiln_benchmark_result r;
    char *text = NULL;
    calls c = {0};

    FAILS(t, KILN_ERR_NULL, kiln_benchmark(NULL, count_call, &c, NULL, &r, &t->err), "ctx");
    FAILS(t, KILN_ERR_NULL, kiln_benchmark(t->ctx, NULL, &c, NULL, &r, &t->err), "fn");
    FAILS(t, KILN_ERR_NULL, kiln_benchmark(t->ctx, count_call, &c, NULL, NULL, &t->err), "result");
    FAILS(t, KILN_ERR_NULL, kiln_benchmark_to_string(NULL, &text, &t->err), "result");
    FAILS(t, KILN_ERR_NULL, kiln_benchmark_to_string(&r, NULL, &t->err), "text_out");
    opts.max_seconds = -1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "max_seconds is -1");
    opts = (kiln_benchmark_options)KILN_BENCHMARK_OPTIONS_INIT;
    opts.name = "a name that is far longer than the sixty-three bytes that there are for it";
    FAILS(t, KILN_ERR_ARGUMENT, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "longer than 63 bytes");
    opts = (kiln_benchmark_options)KILN_BENCHMARK_OPTIONS_INIT;
    opts.stream_count = 1;
    FAILS(t, KILN_ERR_NULL, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "streams is NULL");
    opts.streams = &gone;
    FAILS(t, KILN_ERR_NULL, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "streams[0] is NULL");
    opts.stream_count = KILN_BENCHMARK_STREAMS_MAX + 1;
    FAILS(t, KILN_ERR_ARGUMENT, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "9 streams");
    OK(t, kiln_stream_create(t->ctx, NULL, &gone, &t->err));
    kiln_stream_destroy(gone);
    opts.stream_count = 1;
    FAILS(t, KILN_ERR_RELEASED, kiln_benchmark(t->ctx, count_call, &c, &opts, &r, &t->err),
          "the stream was destroyed");
    assert_int_equal(c.made, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_benchmark__calls_as_often_as_asked),
        TEST(test_benchmark__ends_with_the_time_allowed),
        TEST(test_benchmark__a_failure_ends_it),
        TEST(test_benchmark__statistics_are_those_of_the_times),
        TEST(test_benchmark__watches_several_streams),
        TEST(test_benchmark__prints_the_line_of_cupyx),
        TEST(test_benchmark__refuses_what_makes_no_sense),
    };
    return test_env_main(argc, argv, "test_benchmark", tests, COUNT(tests));
}
