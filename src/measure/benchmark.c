/*
 * benchmark.c - the time that a function of the program's takes, and statistics of it.
 *
 *     warm up > { flush, record, call, record, wait } again and again > sort, mean, percentiles
 *
 * Rule: nothing between the two readings of the clock but the function; nothing between the two
 *       events of a stream but the function and the events of the other streams.
 */
#include "kiln/benchmark.h"

#include <math.h>
#include <stdlib.h>

#include "context/context.h"

enum { WARMUPS = 10, REPEATS = 10000, RUNS_MIN = 256 };

/* One watched stream. */
typedef struct watch {
    kiln_stream *stream;
    kiln_event *begin, *end;
} watch;

/* A benchmark at work. `seconds` holds a row of `capacity` times for the cpu and one for each
 * watch. */
typedef struct bench {
    kiln_benchmark_options opts;
    kiln_benchmark_fn fn;
    void *user;
    watch watches[KILN_BENCHMARK_STREAMS_MAX];
    size_t watch_count;
    kiln__block *flush;
    double *seconds;
    uint64_t runs, capacity;
} bench;

KILN_DEFINE_OPTIONS_INIT(kiln_benchmark_options)

/* ---- set up ---- */

static kiln_status read_options(bench *b, const kiln_benchmark_options *given, kiln_error *err)
{
    kiln_benchmark_options *const o = &b->opts;

    *o = (kiln_benchmark_options)KILN_BENCHMARK_OPTIONS_INIT;
    KILN_CHECK(KILN_READ_OPTIONS(kiln_benchmark_options, o, given, err));
    o->name = o->name != NULL ? o->name : "benchmark";
    o->warmups = o->warmups > 0 ? o->warmups : WARMUPS;
    o->repeats = o->repeats > 0 ? o->repeats : REPEATS;
    if (strlen(o->name) >= sizeof((kiln_benchmark_result *)NULL)->name)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "the name \"%.80s\" is longer than 63 bytes",
                          o->name);
    if (o->stream_count > KILN_BENCHMARK_STREAMS_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%zu streams are given, at most %d are watched",
                          o->stream_count, KILN_BENCHMARK_STREAMS_MAX);
    if (o->streams == NULL && o->stream_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "streams is NULL, stream_count is %zu",
                          o->stream_count);
    if (!(o->max_seconds >= 0.0))
        return kiln__fail(err, KILN_ERR_ARGUMENT, "max_seconds is %g", o->max_seconds);
    return KILN_OK;
}

static kiln_status watch_stream(bench *b, kiln_stream *stream, kiln_error *err)
{
    static const kiln__event_kind timing = {.timing = true};
    watch *const w = &b->watches[b->watch_count++];
    kiln__device *const device = kiln__stream_device(stream);

    w->stream = stream;
    KILN_CHECK(kiln__event_create(device, &timing, &w->begin, err));
    KILN_CHECK(kiln__event_create(device, &timing, &w->end, err));
    return KILN_OK;
}

static kiln_status watch_streams(bench *b, kiln_context *ctx, kiln_error *err)
{
    for (size_t k = 0; k < b->opts.stream_count; k++) {
        kiln_stream *const stream = b->opts.streams[k];
        if (stream == NULL)
            return kiln__fail(err, KILN_ERR_NULL, "streams[%zu] is NULL", k);
        if (kiln__stream_is_closed(stream))
            return kiln__context_released("the stream", err);
        KILN_CHECK(watch_stream(b, stream, err));
    }
    if (b->opts.stream_count == 0)
        KILN_CHECK(watch_stream(b, kiln__device_stream(kiln__context_device(ctx)), err));
    return KILN_OK;
}

/* Room for at least one more run. */
static kiln_status grow(bench *b, kiln_error *err)
{
    const uint64_t rows = b->watch_count + 1;
    const uint64_t doubled = b->capacity == 0 ? RUNS_MIN : b->capacity * 2;
    const uint64_t capacity = doubled < b->opts.repeats ? doubled : b->opts.repeats;
    double *seconds = NULL;

    if (capacity > SIZE_MAX / sizeof *seconds / rows)
        return kiln__fail_memory(err, SIZE_MAX);
    KILN_CHECK(kiln__make_room(&seconds, (size_t)(rows * capacity) * sizeof *seconds, err));
    for (uint64_t row = 0; row < rows && b->runs > 0; row++)
        memcpy(seconds + row * capacity, b->seconds + row * b->capacity, b->runs * sizeof *seconds);
    kiln__free(b->seconds);
    b->seconds = seconds;
    b->capacity = capacity;
    return KILN_OK;
}

static void clear(bench *b)
{
    for (size_t k = 0; k < b->watch_count; k++) {
        kiln__event_destroy(b->watches[k].begin);
        kiln__event_destroy(b->watches[k].end);
    }
    if (b->flush != NULL)
        kiln__pool_free(kiln__stream_device(b->flush->home), b->flush, NULL, 0);
    kiln__free(b->seconds);
}

/* ---- runs ---- */

static kiln_status wait_for_streams(const bench *b, kiln_error *err)
{
    kiln_status status = KILN_OK;

    for (size_t k = 0; k < b->watch_count && status == KILN_OK; k++)
        status = kiln__stream_synchronize(b->watches[k].stream, err);
    return status;
}

static kiln_status warm_up(const bench *b, kiln_error *err)
{
    for (uint64_t k = 0; k < b->opts.warmups; k++)
        KILN_CHECK(b->fn(b->user, err));
    return wait_for_streams(b, err);
}

/* Displace what caches hold of the run before. */
static kiln_status flush(const bench *b, uint64_t run, kiln_error *err)
{
    if (b->flush == NULL)
        return KILN_OK;
    KILN_CHECK(kiln__memset(kiln__stream_device(b->flush->home), b->flush->address,
                            (int)(run & 255), b->opts.flush_bytes, b->flush->home, err));
    return kiln__stream_synchronize(b->flush->home, err);
}

static kiln_status run_once(bench *b, kiln_error *err)
{
    double *const column = b->seconds + b->runs;
    double ms = 0.0;
    kiln_status status = KILN_OK;

    KILN_TRY(flush(b, b->runs, err));
    for (size_t k = 0; k < b->watch_count; k++)
        KILN_TRY(kiln__event_record(b->watches[k].begin, b->watches[k].stream, err));
    double begin_us = kiln__now_us();
    status = b->fn(b->user, err);
    column[0] = (kiln__now_us() - begin_us) * 1e-6;
    if (status != KILN_OK)
        goto done;
    for (size_t k = 0; k < b->watch_count; k++)
        KILN_TRY(kiln__event_record(b->watches[k].end, b->watches[k].stream, err));
    for (size_t k = 0; k < b->watch_count; k++) {
        KILN_TRY(kiln__event_elapsed_ms(b->watches[k].begin, b->watches[k].end, &ms, err));
        column[(k + 1) * b->capacity] = ms * 1e-3;
    }
    b->runs++;

done:
    return status;
}

static kiln_status run_all(bench *b, kiln_error *err)
{
    const double begin_us = kiln__now_us();

    while (b->runs < b->opts.repeats) {
        if (b->runs == b->capacity)
            KILN_CHECK(grow(b, err));
        KILN_CHECK(run_once(b, err));
        if (b->opts.max_seconds > 0.0 && kiln__now_us() - begin_us > b->opts.max_seconds * 1e6)
            break;
    }
    return KILN_OK;
}

/* ---- statistics ---- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Between sorted neighbours, as numpy.percentile() does by default (Hyndman and Fan's method 7). */
static double percentile(const double *sorted, uint64_t count, double fraction)
{
    const double at = fraction * (double)(count - 1);
    const uint64_t below = (uint64_t)at;
    const uint64_t above = below + 1 < count ? below + 1 : below;

    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void summarise(double *seconds, uint64_t count, kiln_benchmark_times *out)
{
    double sum = 0.0, squares = 0.0;

    qsort(seconds, count, sizeof *seconds, compare_doubles);
    for (uint64_t k = 0; k < count; k++)
        sum += seconds[k];
    out->mean = sum / (double)count;
    for (uint64_t k = 0; k < count; k++)
        squares += (seconds[k] - out->mean) * (seconds[k] - out->mean);
    out->deviation = sqrt(squares / (double)count);
    out->least = seconds[0];
    out->greatest = seconds[count - 1];
    out->median = percentile(seconds, count, 0.5);
    out->p5 = percentile(seconds, count, 0.05);
    out->p95 = percentile(seconds, count, 0.95);
}

/* What the caller asked for of every run, in the order of the runs. */
static void copy_times(const bench *b)
{
    for (size_t row = 0; row <= b->watch_count && b->opts.times != NULL; row++)
        memcpy(b->opts.times + row * b->opts.repeats, b->seconds + row * b->capacity,
               b->runs * sizeof *b->seconds);
}

/* Sorts the times. */
static void fill_result(const bench *b, kiln_benchmark_result *result)
{
    snprintf(result->name, sizeof result->name, "%s", b->opts.name);
    result->runs = b->runs;
    summarise(b->seconds, b->runs, &result->cpu);
    result->device_count = b->watch_count;
    for (size_t k = 0; k < b->watch_count; k++) {
        summarise(b->seconds + (k + 1) * b->capacity, b->runs, &result->device[k]);
        snprintf(result->device_id[k], sizeof result->device_id[k], "%s",
                 kiln__device_info(kiln__stream_device(b->watches[k].stream))->id);
    }
}

/* ---- the public functions ---- */

kiln_status kiln_benchmark(kiln_context *ctx, kiln_benchmark_fn fn, void *user,
                           const kiln_benchmark_options *opts, kiln_benchmark_result *result,
                           kiln_error *err)
{
    bench b = {.fn = fn, .user = user};
    kiln_status status = KILN_OK;

    if (result != NULL)
        memset(result, 0, sizeof *result);
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(fn, err);
    KILN_CHECK_NULL(result, err);
    KILN_CHECK(kiln__context_check(ctx, err));
    KILN_TRY(read_options(&b, opts, err));
    KILN_TRY(watch_streams(&b, ctx, err));
    if (b.opts.flush_bytes > 0)
        KILN_TRY(kiln__pool_alloc(kiln__stream_device(b.watches[0].stream), b.opts.flush_bytes,
                                  b.watches[0].stream, &b.flush, err));
    KILN_TRY(warm_up(&b, err));
    KILN_TRY(run_all(&b, err));
    copy_times(&b);
    fill_result(&b, result);

done:
    clear(&b);
    return status;
}

/* "    CPU:    2.903 us   +/- 0.121 (min:    2.804 / max:    4.117) us" */
static void print_times(kiln__buf *b, const char *device, const kiln_benchmark_times *t,
                        uint64_t runs)
{
    kiln__buf_printf(b, "    %s:%9.03f us", device, t->mean * 1e6);
    if (runs > 1)
        kiln__buf_printf(b, "   +/-%6.03f (min:%9.03f / max:%9.03f) us", t->deviation * 1e6,
                         t->least * 1e6, t->greatest * 1e6);
}

kiln_status kiln_benchmark_to_string(const kiln_benchmark_result *result, char **text_out,
                                     kiln_error *err)
{
    kiln__buf b = KILN__BUF_INIT;

    KILN_CHECK_NULL(result, err);
    KILN_CHECK_NULL(text_out, err);
    kiln__buf_printf(&b, "%-20s:", result->name);
    print_times(&b, "CPU", &result->cpu, result->runs);
    for (size_t k = 0; k < result->device_count; k++) {
        char device[32];
        if (strncmp(result->device_id[k], "cuda:", 5) != 0)
            continue;
        snprintf(device, sizeof device, " GPU-%s", result->device_id[k] + 5);
        print_times(&b, device, &result->device[k], result->runs);
    }
    *text_out = kiln__buf_take(&b);
    return *text_out != NULL ? KILN_OK : kiln__fail_memory(err, result->device_count * 80);
}
