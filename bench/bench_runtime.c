/*
 * bench_runtime.c - what events, raw kernels and page-locked memory cost, beside the driver's own calls.
 *
 *     bench_runtime [--log2 N]
 *
 * Host times are the least of many short batches, kiln's and the driver's in turns, with the stream drained
 * between batches. Rates are of one copy of 2^N bytes (default 28) between two events, medians. Whether a copy
 * and a kernel overlap is told by events too: the time of both on two streams, beside each alone.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "gpu.h"

enum { BATCHES = 60, BATCH = 200, RUNS = 15 };

static const char *const source =
    "extern \"C\" __global__ void axpy(const float *x, float *y, int n, float a) {\n"
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] += a * x[i];\n"
    "}\n"
    "extern \"C\" __global__ void spin(long long cycles) {\n"
    "    const long long begin = clock64();\n"
    "    while (clock64() - begin < cycles) {}\n"
    "}\n";

typedef struct bench {
    kiln_context *ctx;
    kiln_module *module;
    kiln_raw *axpy, *spin;
    kiln_launch *launch;
    kiln_event *event, *begin, *end;
    kiln_stream *other;
    kiln_array *x, *y, *large;
    void *stream, *other_stream; /* the driver's */
    void *function, *native_event;
    void *pinned, *own, *ordinary; /* kiln's, the driver's, and of malloc() */
    size_t bytes;
} bench;

/* ---- host times ---- */

static void record(bench *b)
{
    REQUIRE(kiln_event_record(b->event, NULL, &bench_err));
}

static void record_by_hand(bench *b)
{
    GPU(gpu.event_record(b->native_event, b->stream));
}

static void wait_event(bench *b)
{
    REQUIRE(kiln_stream_wait_event(b->ctx, b->other, b->event, &bench_err));
}

static void wait_by_hand(bench *b)
{
    GPU(gpu.stream_wait_event(b->other_stream, b->native_event, 0));
}

static void launch_raw(bench *b)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;

    o.grid[0] = 1;
    o.block[0] = 256;
    REQUIRE(kiln_call_with(b->axpy, &o, &bench_err, b->x, b->y, 0, 2.5));
}

static void launch_prepared(bench *b)
{
    REQUIRE(kiln_launch_run(b->launch, NULL, &bench_err));
}

static void launch_by_hand(bench *b)
{
    void *x = kiln_array_data(b->x), *y = kiln_array_data(b->y);
    int n = 0;
    float a = 2.5f;
    void *params[] = {&x, &y, &n, &a};

    GPU(gpu.launch(b->function, 1, 1, 1, 256, 1, 1, 0, b->stream, params, NULL));
}

static void pinned_pair(bench *b)
{
    void *memory = NULL;

    REQUIRE(kiln_host_alloc(b->ctx, 1 << 20, 0, &memory, &bench_err));
    kiln_host_free(b->ctx, memory);
}

static double batch(bench *b, void (*call)(bench *b))
{
    const double start = bench_now_us();

    for (int k = 0; k < BATCH; k++)
        call(b);
    const double us = (bench_now_us() - start) / BATCH;
    GPU(gpu.ctx_synchronize());
    return us;
}

static void host_times(bench *b)
{
    static const struct {
        const char *name;
        void (*ours)(bench *b), (*theirs)(bench *b);
    } pairs[] = {{"event record", record, record_by_hand},
                 {"wait for an event", wait_event, wait_by_hand},
                 {"raw launch", launch_raw, launch_by_hand},
                 {"prepared raw launch", launch_prepared, launch_by_hand},
                 {"pinned alloc + free of 1 MiB", pinned_pair, NULL}};
    double ours[BATCHES], theirs[BATCHES];

    for (size_t p = 0; p < COUNT(pairs); p++) {
        for (int k = 0; k < BATCHES; k++) {
            ours[k] = batch(b, pairs[p].ours);
            theirs[k] = pairs[p].theirs != NULL ? batch(b, pairs[p].theirs) : 0;
        }
        printf("%-32s %7.3f us", pairs[p].name, bench_least(ours, BATCHES));
        if (pairs[p].theirs != NULL)
            printf("   driver %7.3f us   over by %6.3f", bench_least(theirs, BATCHES),
                   bench_least(ours, BATCHES) - bench_least(theirs, BATCHES));
        printf("\n");
    }
}

/* ---- copies ---- */

static void upload(bench *b)
{
    REQUIRE(kiln_array_upload(b->large, b->pinned, NULL, NULL, &bench_err));
}

static void upload_by_hand(bench *b)
{
    GPU(gpu.copy_to_device((unsigned long long)(uintptr_t)kiln_array_data(b->large), b->own,
                           b->bytes, b->stream));
}

static void upload_ordinary(bench *b)
{
    REQUIRE(kiln_array_upload(b->large, b->ordinary, NULL, NULL, &bench_err));
}

static void download(bench *b)
{
    REQUIRE(kiln_array_download(b->large, b->pinned, b->bytes, NULL, NULL, &bench_err));
}

static void download_by_hand(bench *b)
{
    GPU(gpu.copy_to_host(b->own, (unsigned long long)(uintptr_t)kiln_array_data(b->large), b->bytes,
                         b->stream));
}

static void download_ordinary(bench *b)
{
    REQUIRE(kiln_array_download(b->large, b->ordinary, b->bytes, NULL, NULL, &bench_err));
}

/* Milliseconds of the device from before the work to behind it. */
static double time_of(bench *b, void (*work)(bench *b))
{
    double ms = 0;

    REQUIRE(kiln_event_record(b->begin, NULL, &bench_err));
    work(b);
    REQUIRE(kiln_event_record(b->end, NULL, &bench_err));
    REQUIRE(kiln_event_elapsed_ms(b->begin, b->end, &ms, &bench_err));
    return ms;
}

static void rates(bench *b)
{
    static const struct {
        const char *name;
        void (*work)(bench *b);
    } ways[] = {{"H2D, the driver's memory and call", upload_by_hand},
                {"H2D, pinned", upload},
                {"H2D, ordinary memory", upload_ordinary},
                {"D2H, the driver's memory and call", download_by_hand},
                {"D2H, pinned", download},
                {"D2H, ordinary memory", download_ordinary}};
    double ms[COUNT(ways)][RUNS], limit = 0;

    for (int k = -2; k < RUNS; k++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            const double took = time_of(b, ways[w].work);
            if (k >= 0)
                ms[w][k] = took;
        }
    for (size_t w = 0; w < COUNT(ways); w++) {
        const double rate = (double)b->bytes / bench_median(ms[w], RUNS) * 1e-6;
        limit = w % 3 == 0 ? rate : limit;
        printf("%-36s %7.2f GB/s   %5.3f\n", ways[w].name, rate, rate / limit);
    }
}

/* ---- overlap ---- */

static void spin_for(bench *b, kiln_stream *stream)
{
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;

    o.stream = stream;
    o.grid[0] = o.block[0] = 1;
    REQUIRE(kiln_call_with(b->spin, &o, &bench_err, (int64_t)8000000));
}

static void spin_alone(bench *b)
{
    spin_for(b, NULL);
}

/* The kernel on another stream, from when the copy begins on. */
static void both(bench *b)
{
    REQUIRE(kiln_stream_wait_event(b->ctx, b->other, b->begin, &bench_err));
    spin_for(b, b->other);
    upload(b);
    REQUIRE(kiln_stream_wait(b->ctx, NULL, b->other, &bench_err));
}

static void overlap(bench *b)
{
    double copy[RUNS], kernel[RUNS], together[RUNS];

    for (int k = 0; k < RUNS; k++) {
        copy[k] = time_of(b, upload);
        kernel[k] = time_of(b, spin_alone);
        together[k] = time_of(b, both);
    }
    printf("copy alone %.3f ms, kernel alone %.3f ms, both on two streams %.3f ms\n",
           bench_median(copy, RUNS), bench_median(kernel, RUNS), bench_median(together, RUNS));
}

/* The NUMA node of a page; -1: the system does not tell. */
static int node_of(void *address)
{
    enum { NODE_OF_ADDRESS = 1 | 2 };
    int node = -1;

    memset(address, 0, 1);
    return syscall(SYS_get_mempolicy, &node, NULL, 0UL, address, (unsigned long)NODE_OF_ADDRESS) ==
                   0
               ? node
               : -1;
}

static void open_all(bench *b)
{
    const int64_t one = 1, elements = (int64_t)b->bytes;
    kiln_event_options untimed = KILN_EVENT_OPTIONS_INIT;
    kiln_raw_call_options o = KILN_RAW_CALL_OPTIONS_INIT;
    char *cubin;
    void *module = NULL;

    untimed.no_timing = true;
    o.grid[0] = 1;
    o.block[0] = 256;
    REQUIRE(kiln_module_create(b->ctx, source, NULL, &b->module, &bench_err));
    REQUIRE(kiln_module_kernel(b->module, "axpy",
                               "raw const float32 x, raw float32 y, int32 n, float32 a", &b->axpy,
                               &bench_err));
    REQUIRE(kiln_module_kernel(b->module, "spin", "int64 cycles", &b->spin, &bench_err));
    REQUIRE(kiln_array_zeros(b->ctx, KILN_FLOAT32, 1, &one, &b->x, &bench_err));
    REQUIRE(kiln_array_zeros(b->ctx, KILN_FLOAT32, 1, &one, &b->y, &bench_err));
    REQUIRE(kiln_array_zeros(b->ctx, KILN_UINT8, 1, &elements, &b->large, &bench_err));
    REQUIRE(kiln_raw_prepare(b->axpy, KILN_ARGS(b->x, b->y, 0, 2.5), &o, &b->launch, &bench_err));
    REQUIRE(kiln_event_create(b->ctx, &untimed, &b->event, &bench_err));
    REQUIRE(kiln_event_create(b->ctx, NULL, &b->begin, &bench_err));
    REQUIRE(kiln_event_create(b->ctx, NULL, &b->end, &bench_err));
    REQUIRE(kiln_stream_create(b->ctx, NULL, &b->other, &bench_err));
    REQUIRE(kiln_host_alloc(b->ctx, b->bytes, 0, &b->pinned, &bench_err));
    gpu_open(kiln_context_device(b->ctx)->ordinal);
    b->stream = kiln_stream_native(b->ctx, NULL);
    b->other_stream = kiln_stream_native(b->ctx, b->other);
    cubin = gpu_compile(source, kiln_context_device(b->ctx)->target, NULL, NULL);
    GPU(gpu.module_load(&module, cubin));
    b->function = gpu_function(module, "axpy");
    free(cubin);
    GPU(gpu.event_create(&b->native_event, 2));
    GPU(gpu.event_record(b->native_event, b->stream));
    GPU(gpu.host_alloc(&b->own, b->bytes, 0));
    b->ordinary = malloc(b->bytes);
    if (b->ordinary == NULL)
        exit(1);
    memset(b->ordinary, 1, b->bytes);
    memset(b->pinned, 1, b->bytes);
    memset(b->own, 1, b->bytes);
}

int main(int argc, char **argv)
{
    static bench b;
    const char *const log2 = bench_option(argc, argv, "log2");

    b.bytes = (size_t)1 << (log2 != NULL ? atoi(log2) : 28);
    REQUIRE(kiln_context_create(NULL, &b.ctx, &bench_err));
    if (kiln_context_device(b.ctx)->backend != KILN_BACKEND_CUDA) {
        fprintf(stderr, "this needs a GPU\n");
        return 77;
    }
    open_all(&b);
    printf("%s; %zu MiB; NUMA nodes of the pages: kiln's %d, the driver's %d\n",
           kiln_context_device(b.ctx)->name, b.bytes >> 20, node_of(b.pinned), node_of(b.own));
    host_times(&b);
    rates(&b);
    overlap(&b);
    free(b.ordinary);
    kiln_host_free(b.ctx, b.pinned);
    kiln_event_destroy(b.event);
    kiln_event_destroy(b.begin);
    kiln_event_destroy(b.end);
    kiln_stream_destroy(b.other);
    kiln_launch_destroy(b.launch);
    kiln_raw_destroy(b.axpy);
    kiln_raw_destroy(b.spin);
    kiln_module_destroy(b.module);
    kiln_array_release(b.x);
    kiln_array_release(b.y);
    kiln_array_release(b.large);
    kiln_context_release(b.ctx);
    return 0;
}
