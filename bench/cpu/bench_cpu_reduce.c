/*
 * bench_cpu_reduce.c - reductions on the cpu device against reading the same bytes on all cores.
 *
 *     bench_cpu_reduce [--out DIR] [--commit ID] [--scale N] [--threads N]
 *
 * The limit is a plain loop that adds up a buffer as large as the case's input, one thread a core,
 * each over its own part. kiln and the loop run alternately; medians are compared. Inputs hold 2^26
 * elements, divided by --scale. bench/cpu/cpu_reduce_peers.py adds NumPy.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 11, THREADS_MAX = 256 };

/* ---- the limit ---- */

typedef struct part {
    const float *x;
    size_t count;
    float sum;
} part;

static void *read_part(void *argument)
{
    part *p = argument;
    float sum = 0;

    for (size_t k = 0; k < p->count; k++)
        sum += p->x[k];
    p->sum = sum;
    return NULL;
}

/* Microseconds that `count` threads take to read `bytes`. */
static double read_us(const float *x, size_t bytes, int count)
{
    pthread_t threads[THREADS_MAX];
    part parts[THREADS_MAX];
    const size_t each = bytes / sizeof *x / (size_t)count;
    const double begin = bench_now_us();

    for (int k = 0; k < count; k++) {
        parts[k] = (part){x + (size_t)k * each, each, 0};
        if (k > 0 && pthread_create(&threads[k], NULL, read_part, &parts[k]) != 0)
            abort();
    }
    read_part(&parts[0]);
    for (int k = 1; k < count; k++)
        pthread_join(threads[k], NULL);
    return bench_now_us() - begin;
}

/* ---- cases ---- */

typedef struct cpu_case {
    const char *name, *label;
    kiln_reduce_op op;
    kiln_dtype dtype;
    bool transposed;
    int rank;
    int64_t shape[3]; /* the largest extent is scaled */
    kiln_axes axes;   /* count 0: all */
    double target;    /* of the limit; 0: told only */
} cpu_case;

#define M(n) (INT64_C(1) << (n))
#define SUM(name, label, rank, shape, axes)                                                        \
    {"cpu_sum_" name, "sum of " label, KILN_REDUCE_SUM, KILN_FLOAT32, false, rank, shape, axes, 0}
#define X_ ,

static const cpu_case cases[] = {
    {"cpu_sum_all", "sum of all", KILN_REDUCE_SUM, KILN_FLOAT32, false, 1, {M(26)}, {0, {0}}, 0.9},
    SUM("8192x8192_0", "(8192, 8192), axis 0", 2, {M(13) X_ M(13)}, {1 X_{0}}),
    SUM("8192x8192_1", "(8192, 8192), axis 1", 2, {M(13) X_ M(13)}, {1 X_{1}}),
    SUM("2^18x256_0", "(2^18, 256), axis 0", 2, {M(18) X_ M(8)}, {1 X_{0}}),
    SUM("2^18x256_1", "(2^18, 256), axis 1", 2, {M(18) X_ M(8)}, {1 X_{1}}),
    SUM("256x2^18_0", "(256, 2^18), axis 0", 2, {M(8) X_ M(18)}, {1 X_{0}}),
    SUM("256x2^18_1", "(256, 2^18), axis 1", 2, {M(8) X_ M(18)}, {1 X_{1}}),
    SUM("2^22x16_0", "(2^22, 16), axis 0", 2, {M(22) X_ M(4)}, {1 X_{0}}),
    SUM("2^22x16_1", "(2^22, 16), axis 1", 2, {M(22) X_ M(4)}, {1 X_{1}}),
    SUM("16x4096x1024_1", "(16, 4096, 1024), axis 1", 3, {M(4) X_ M(12) X_ M(10)}, {1 X_{1}}),
    SUM("4x2^24_1", "(4, 2^24), axis 1", 2, {4 X_ M(24)}, {1 X_{1}}),
    SUM("2^24x4_1", "(2^24, 4), axis 1", 2, {M(24) X_ 4}, {1 X_{1}}),
    SUM("3x5x2^22_02", "(3, 5, 2^22), axes 0 and 2", 3, {3 X_ 5 X_ M(22)}, {2 X_{0 X_ 2}}),
    {"cpu_sum_transposed_1", "sum of x.T, axis 1", KILN_REDUCE_SUM, KILN_FLOAT32, true, 2,
     {M(13), M(13)}, {1, {1}}, 0},
    {"cpu_sum_float16", "sum of all, float16", KILN_REDUCE_SUM, KILN_FLOAT16, false, 1, {M(26)},
     {0, {0}}, 0},
    {"cpu_sum_int8", "sum of all, int8", KILN_REDUCE_SUM, KILN_INT8, false, 1, {M(26)},
     {0, {0}}, 0},
    {"cpu_sum_float64", "sum of all, float64", KILN_REDUCE_SUM, KILN_FLOAT64, false, 1, {M(25)},
     {0, {0}}, 0},
    {"cpu_max_1", "max of (8192, 8192), axis 1", KILN_REDUCE_MAX, KILN_FLOAT32, false, 2,
     {M(13), M(13)}, {1, {1}}, 0},
    {"cpu_argmax", "argmax of all", KILN_REDUCE_ARGMAX, KILN_FLOAT32, false, 1, {M(26)},
     {0, {0}}, 0},
    {"cpu_argmax_0", "argmax of (8192, 8192), axis 0", KILN_REDUCE_ARGMAX, KILN_FLOAT32, false, 2,
     {M(13), M(13)}, {1, {0}}, 0},
    {"cpu_var", "var of all", KILN_REDUCE_VAR, KILN_FLOAT32, false, 1, {M(26)}, {0, {0}}, 0},
    {"cpu_var_0", "var of (8192, 8192), axis 0", KILN_REDUCE_VAR, KILN_FLOAT32, false, 2,
     {M(13), M(13)}, {1, {0}}, 0},
    {"cpu_mean_0", "mean of (8192, 8192), axis 0", KILN_REDUCE_MEAN, KILN_FLOAT32, false, 2,
     {M(13), M(13)}, {1, {0}}, 0},
};

static void run_case(kiln_context *ctx, bench_file *file, const cpu_case *c, int64_t scale,
                     const float *buffer, int threads)
{
    int64_t shape[3] = {1, 1, 1};
    int largest = 0;
    double us[2][ROUNDS];
    kiln_array *base = NULL, *x = NULL, *y = NULL;
    bench_row row = {.name = c->name,
                     .label = c->label,
                     .unit = "GB/s",
                     .rule = c->target > 0 ? BENCH_AT_LEAST : BENCH_TELLS,
                     .target = c->target,
                     .note = "a loop that reads, all cores"};

    for (int a = 0; a < c->rank; a++) {
        shape[a] = c->shape[a];
        largest = shape[a] > shape[largest] ? a : largest;
    }
    shape[largest] /= scale;
    REQUIRE(kiln_array_ones(ctx, c->dtype, c->rank, shape, &base, &bench_err));
    if (c->transposed)
        REQUIRE(kiln_array_transpose(base, NULL, &x, &bench_err));
    else
        x = kiln_array_retain(base);
    const size_t bytes = (size_t)kiln_array_size(x) * kiln_dtype_size(c->dtype);
    for (int k = -1; k < ROUNDS; k++) {
        const int at = k < 0 ? 0 : k; /* the first round compiles and warms up */
        double begin;

        us[0][at] = read_us(buffer, bytes, threads);
        begin = bench_now_us();
        REQUIRE(kiln_array_reduce(c->op, x, c->axes.count > 0 ? &c->axes : NULL, false, &y,
                                  &bench_err));
        REQUIRE(kiln_context_synchronize(ctx, &bench_err));
        us[1][at] = bench_now_us() - begin;
    }
    row.limit = (double)bytes / bench_median(us[0], ROUNDS) / 1e3;
    row.kiln = (double)bytes / bench_median(us[1], ROUNDS) / 1e3;
    bench_add(file, &row);
    kiln_array_release(x);
    kiln_array_release(base);
    kiln_array_release(y);
}

int main(int argc, char **argv)
{
    const char *scale_text = bench_option(argc, argv, "scale");
    const char *threads_text = bench_option(argc, argv, "threads");
    const int64_t scale = scale_text != NULL && atoi(scale_text) > 0 ? atoi(scale_text) : 1;
    const int64_t size = M(26) / scale;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = threads_text != NULL ? atoi(threads_text) : (int)cores;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_array *buffer = NULL;
    char text[32];
    bench_file file;

    threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    options.device = "cpu";
    REQUIRE(kiln_context_create(&options, &ctx, &bench_err));
    REQUIRE(kiln_array_ones(ctx, KILN_FLOAT32, 1, &size, &buffer, &bench_err));
    bench_open(&file, bench_option(argc, argv, "out"), "cpu-reduce",
               bench_option(argc, argv, "commit"), kiln_context_device(ctx));
    snprintf(text, sizeof text, "%d", threads);
    bench_fact(&file, "threads", text);
    snprintf(text, sizeof text, "%lld", (long long)scale);
    bench_fact(&file, "scale", text);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        run_case(ctx, &file, &cases[k], scale, kiln_array_data(buffer), threads);
    kiln_array_release(buffer);
    kiln_context_release(ctx);
    (void)bench_close(&file);
    return 0;
}
