/**
 * @file kiln/benchmark.h
 * @brief kiln_benchmark(): measures how long a function takes, on the host and on devices.
 *
 * The function is called a few times to warm up, then again and again until it has run often enough
 * or long enough. Each run is timed twice: by the host's clock, around the call alone, and by
 * events on the streams that the function enqueues work on.
 *
 *     static kiln_status step(void *user, kiln_error *err)
 *     {
 *         return kiln_launch_run(user, NULL, err);
 *     }
 *
 *     kiln_benchmark_options options = KILN_BENCHMARK_OPTIONS_INIT;
 *     kiln_benchmark_result result;
 *     kiln_elementwise *square = NULL;
 *     kiln_launch *launch = NULL;
 *     options.repeats = 100;
 *     kiln_elementwise_create(ctx, "T x", "T z", "z = x * x", NULL, &square, &err);
 *     kiln_elementwise_prepare(square, KILN_ARGS(x, y), NULL, &launch, &err);
 *     kiln_benchmark(ctx, step, launch, &options, &result, &err);
 *     printf("%.3f us\n", result.device[0].median * 1e6);
 *     kiln_launch_destroy(launch);
 *     kiln_elementwise_destroy(square);
 *
 * It is what cupyx.profiler.benchmark() is in CuPy: the same procedure, and
 * kiln_benchmark_to_string() writes the same line.
 *
 * Threads: any; what other threads do on the same device meanwhile is measured with it.
 * Units:   seconds.
 */
#ifndef KILN_BENCHMARK_H
#define KILN_BENCHMARK_H

#include "kiln/stream.h"

/** Most streams that one benchmark watches. */
#define KILN_BENCHMARK_STREAMS_MAX 8

/**
 * What is measured. A status other than KILN_OK ends the benchmark, which returns it; `err` is the
 * benchmark's own. Work that it enqueues need not be waited for.
 */
typedef kiln_status (*kiln_benchmark_fn)(void *user, kiln_error *err);

/** Choices for kiln_benchmark(). Zero in a field means its default. */
typedef struct kiln_benchmark_options {
    size_t struct_size; /**< sizeof(kiln_benchmark_options) as the caller compiled it. */
    const char *name; /**< Begins the line of text; NULL: "benchmark". Copied, 63 bytes at most. */
    kiln_stream *const *streams; /**< Streams, of any contexts, whose device time is measured; NULL:
                                      the context's own stream alone. */
    size_t stream_count;         /**< At most KILN_BENCHMARK_STREAMS_MAX. */
    uint64_t warmups;            /**< Calls before the first that is timed; 0: 10. */
    uint64_t repeats;            /**< Calls that are timed; 0: 10000. */
    double max_seconds;          /**< Stop after the first run that ends later than this, counted
                                      from the first timed one; 0: no limit. */
    size_t
        flush_bytes; /**< Before each run, write this many bytes of device memory on the device of
                          the first stream, to evict the data of the last run from its caches; not
                          timed. Use more bytes than the caches hold. 0: caches stay warm. */
    /** Room for (1 + streams watched) x repeats values, or NULL. Receives every run's time in
     *  seconds: the cpu's row first, then one row of `repeats` for each stream. Only the first
     *  `runs` values of a row are written. */
    double *times;
} kiln_benchmark_options;

#define KILN_BENCHMARK_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(kiln_benchmark_options), NULL, NULL, 0, 0, 0, 0, 0, NULL                            \
    }

/** Statistics of the runs' times, in seconds. */
typedef struct kiln_benchmark_times {
    double mean;
    double deviation; /**< Standard deviation over all runs, divided by their number (ddof 0). */
    double least, greatest;
    double median;
    double p5, p95; /**< Percentiles, interpolated between neighbours as NumPy's default does. */
} kiln_benchmark_times;

/** What kiln_benchmark() found. */
typedef struct kiln_benchmark_result {
    char name[64];
    uint64_t runs;            /**< How many were timed. */
    kiln_benchmark_times cpu; /**< From call to return. */
    size_t device_count;      /**< Streams that were watched. */
    /** For each stream: the time from the call of the function to the end of the work that it
     *  enqueued on the stream. The host's time is included wherever the device waits for the host.
     *  For the cpu device it is the host's time. */
    kiln_benchmark_times device[KILN_BENCHMARK_STREAMS_MAX];
    char device_id[KILN_BENCHMARK_STREAMS_MAX][16]; /**< "cuda:0", "cpu": whose stream it is. */
} kiln_benchmark_result;

KILN_EXTERN_C_BEGIN

/** As KILN_BENCHMARK_OPTIONS_INIT, for languages without it; pass sizeof(*opts). */
KILN_API void kiln_benchmark_options_init(kiln_benchmark_options *opts, size_t struct_size);

/**
 * Time a function. Waits for the streams after each run.
 *
 * @param ctx    Whose stream is watched where `opts` names none, and where the bytes of flush_bytes
 *               are taken from.
 * @param fn     Called warmups + repeats times at most, on the calling thread.
 * @param user   Handed to it.
 * @param opts   May be NULL for defaults; read during the call only.
 * @param result Filled on success, zeroed on failure.
 * @return KILN_OK; the status of `fn` if it fails; ERR_NULL; ERR_ARGUMENT for too many streams, a
 *         negative max_seconds or a name that is too long; ERR_RELEASED for a stream that was
 *         destroyed; ERR_NO_MEMORY, ERR_DEVICE_MEMORY, ERR_DRIVER, ERR_FAULT, ERR_FORK.
 */
KILN_API KILN_NODISCARD kiln_status kiln_benchmark(kiln_context *ctx, kiln_benchmark_fn fn,
                                                   void *user, const kiln_benchmark_options *opts,
                                                   kiln_benchmark_result *result, kiln_error *err);

/**
 * The line that cupyx.profiler.benchmark() prints, in microseconds:
 *
 *     step                :    CPU:   94.457 us   +/-21.405 (min:   74.251 / max:  168.691) us ...
 *
 * The cpu device has no column of its own. Free the text with kiln_free(). ERR_NULL, ERR_NO_MEMORY.
 */
KILN_API KILN_NODISCARD kiln_status kiln_benchmark_to_string(const kiln_benchmark_result *result,
                                                             char **text_out, kiln_error *err);

KILN_EXTERN_C_END

#endif
