/*
 * bench_indexing.c - elements by random indices: taken, fused into a sum, added to.
 *
 *     bench_indexing [--runs N] [--log2 N]
 *
 * Takes are of 2^28 bytes (2^N with --log2 N) by random int32 indices; the rate counts the elements that are read,
 * those that are written and the indices, and stands beside the driver's copy of as many bytes in the same run.
 * Times are of the device, between two events; the median is printed. bench/peers_indexing.py has the
 * same rows of CuPy and PyTorch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { RUNS_MAX = 200, TABLE_BYTES = 1 << 30 };

typedef struct work {
    kiln_context *ctx;
    int runs;
    int64_t bytes;
    kiln_event *begin, *end;
    uint64_t random;
} work;

static uint64_t next_random(work *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static kiln_array *zeros(work *w, int rank, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    kiln_array *made = NULL;

    REQUIRE(kiln_array_zeros(w->ctx, KILN_FLOAT32, rank, shape, &made, &bench_err));
    return made;
}

static kiln_array *indices(work *w, int64_t count, int64_t below)
{
    int32_t *values = malloc((size_t)count * sizeof *values);
    kiln_array *made = NULL;

    for (int64_t k = 0; k < count; k++)
        values[k] = (int32_t)(next_random(w) % (uint64_t)below);
    REQUIRE(kiln_array_from_host(w->ctx, KILN_INT32, 1, &count, values, NULL, &made, &bench_err));
    free(values);
    return made;
}

static double median_ms(work *w, kiln_graph *g, const kiln_arg *args, size_t count)
{
    double ms[RUNS_MAX];

    for (int k = -3; k < w->runs; k++) {
        double took = 0;
        REQUIRE(kiln_event_record(w->begin, NULL, &bench_err));
        REQUIRE(kiln_graph_run(g, args, count, NULL, &bench_err));
        REQUIRE(kiln_event_record(w->end, NULL, &bench_err));
        REQUIRE(kiln_event_elapsed_ms(w->begin, w->end, &took, &bench_err));
        if (k >= 0)
            ms[k] = took;
    }
    return bench_median(ms, (size_t)w->runs);
}

/* A copy of so many bytes, read and written. */
static double copy_ms(work *w, int64_t bytes)
{
    kiln_array *from = zeros(w, 1, bytes / 8, 1), *to = zeros(w, 1, bytes / 8, 1);
    double ms[RUNS_MAX];

    for (int k = -3; k < w->runs; k++) {
        double took = 0;
        REQUIRE(kiln_event_record(w->begin, NULL, &bench_err));
        REQUIRE(kiln_array_assign(to, from, &bench_err));
        REQUIRE(kiln_event_record(w->end, NULL, &bench_err));
        REQUIRE(kiln_event_elapsed_ms(w->begin, w->end, &took, &bench_err));
        if (k >= 0)
            ms[k] = took;
    }
    kiln_array_release(from);
    kiln_array_release(to);
    return bench_median(ms, (size_t)w->runs);
}

static kiln_graph *expression(work *w, const char *text)
{
    static const char *const names[] = {"x", "i", "y"};
    kiln_graph *g = NULL;

    REQUIRE(kiln_graph_parse(w->ctx, text, names, 3, NULL, &g, NULL, &bench_err));
    return g;
}

/* `text` over a table of (rows, columns), `count` indices and an array y of (count, columns). */
static void row(work *w, const char *name, const char *text, int64_t rows, int64_t columns,
                int64_t count, int64_t bytes)
{
    kiln_graph *g = expression(w, text);
    const int rank = columns > 0 ? 2 : 1;
    kiln_array *x = zeros(w, rank, rows, columns), *i = indices(w, count, rows);
    kiln_array *y = zeros(w, rank, count, columns), *z = NULL;
    const kiln_arg args[] = {kiln_arg_array(x), kiln_arg_array(i), kiln_arg_array(y),
                             kiln_arg_out(&z)};
    const double ms = median_ms(w, g, args, COUNT(args)), copy = copy_ms(w, bytes);

    printf("%-34s %9.4f ms %7.0f GB/s, %.2f of a copy\n", name, ms, (double)bytes / ms * 1e-6,
           copy / ms);
    kiln_array_release(x);
    kiln_array_release(i);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_graph_destroy(g);
}

static void takes(work *w)
{
    char name[64];

    for (int64_t bytes = 64; bytes <= 4096; bytes *= 4) {
        const int64_t count = w->bytes / bytes, columns = bytes / 4;
        snprintf(name, sizeof name, "take, rows of %d bytes", (int)bytes);
        row(w, name, "take(x, i, axis=0)", TABLE_BYTES / bytes, columns, count,
            2 * w->bytes + 4 * count);
    }
    for (int log2 = 18; log2 <= 28; log2 += 5) {
        const int64_t count = w->bytes / 4;
        snprintf(name, sizeof name, "take, float32 out of 2^%d", log2);
        row(w, name, "x[i]", INT64_C(1) << log2, 0, count, 12 * count);
    }
}

/* As many float32 as a take has, added into so many places. */
static void add(work *w, int log2, bool fast)
{
    const int64_t count = w->bytes / 4, places = INT64_C(1) << log2;
    kiln_array *x = zeros(w, 1, places, 1), *i = indices(w, count, places);
    kiln_array *v = zeros(w, 1, count, 1);
    const kiln_subscript at = kiln_subscript_array(i);
    kiln_scatter_options opts = KILN_SCATTER_OPTIONS_INIT;
    double ms[RUNS_MAX];

    opts.fast = fast;
    for (int k = -2; k < w->runs; k++) {
        double took = 0;
        REQUIRE(kiln_event_record(w->begin, NULL, &bench_err));
        REQUIRE(kiln_array_scatter(x, &at, 1, kiln_arg_array(v), KILN_SCATTER_ADD, &opts,
                                   &bench_err));
        REQUIRE(kiln_event_record(w->end, NULL, &bench_err));
        REQUIRE(kiln_event_elapsed_ms(w->begin, w->end, &took, &bench_err));
        if (k >= 0)
            ms[k] = took;
    }
    const double median = bench_median(ms, (size_t)w->runs);
    printf("add into 2^%-2d%-22s %9.4f ms %7.0f GB/s\n", log2, fast ? "" : ", reproducible", median,
           (double)count * 8 / median * 1e-6);
    kiln_array_release(x);
    kiln_array_release(i);
    kiln_array_release(v);
}

int main(int argc, char **argv)
{
    const char *runs = bench_option(argc, argv, "runs"), *log2 = bench_option(argc, argv, "log2");
    work w = {.runs = runs != NULL ? atoi(runs) : 15,
              .bytes = INT64_C(1) << (log2 != NULL ? atoi(log2) : 28),
              .random = 88172645463325252u};

    if (w.runs < 1 || w.runs > RUNS_MAX) {
        fprintf(stderr, "bench_indexing: %d runs\n", w.runs);
        return 2;
    }
    REQUIRE(kiln_context_create(NULL, &w.ctx, &bench_err));
    REQUIRE(kiln_event_create(w.ctx, NULL, &w.begin, &bench_err));
    REQUIRE(kiln_event_create(w.ctx, NULL, &w.end, &bench_err));
    takes(&w);
    const int64_t count = w.bytes / 1024;
    row(&w, "sum(x[i] * y, axis=1), rows of 1024", "sum(x[i] * y, axis=1)", TABLE_BYTES / 1024, 256,
        count, 2 * w.bytes + 8 * count);
    row(&w, "exp(x[i]) + y, out of 2^18", "exp(x[i]) + y", 1 << 18, 0, w.bytes / 4,
        w.bytes / 4 * 16);
    row(&w, "sum(x[i]), out of 2^18", "sum(x[i])", 1 << 18, 0, w.bytes / 4, w.bytes / 4 * 8);
    for (int fast = 1; fast >= 0; fast--)
        for (int places = 10; places <= 24; places += places < 16 ? 6 : 4)
            add(&w, places, fast != 0);
    kiln_event_destroy(w.begin);
    kiln_event_destroy(w.end);
    kiln_context_release(w.ctx);
    return 0;
}
