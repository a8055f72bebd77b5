/*
 * bench_calls.c - what kiln costs where no memory is moved.
 *
 *     a call        time on the host of one call on one element, against cuLaunchKernel with a
 *                   parameter block of the same size; the least of many short batches, the stream
 *                   drained between them so that the queue never fills
 *     a program     a run of a thousand captured calls on the host, and one of them on the device
 *     a first call  empty cache: definition + call until the result is there, against NVRTC alone
 *                   for the same source with the same flags
 *     a process     warm disk cache: definition + call in a process that has just started the
 *                   driver and loaded and run one module by hand, as any CUDA program has
 *     the pool      allocate + free of 1 MiB
 */
#define _GNU_SOURCE
#include "bench_calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/context.h"
#include "device/device.h"
#include "gpu.h"

enum { BATCHES = 60, BATCH = 200, FIRST_CALLS = 11, PROCESSES = 7, PARAMS_MAX = 4096 };

static const char *const snippet = "z = x * y + T(1)";

static kiln_array *array_of(kiln_context *ctx, kiln_dtype dtype, int64_t size)
{
    kiln_array *a = NULL;

    REQUIRE(kiln_array_zeros(ctx, dtype, 1, &size, &a, &bench_err));
    return a;
}

static kiln_elementwise *define(kiln_context *ctx, const char *op)
{
    kiln_elementwise *made = NULL;

    REQUIRE(kiln_elementwise_create(ctx, "T x, T y", "T z", op, NULL, &made, &bench_err));
    return made;
}

/* ---- calls ---- */

typedef struct call_bench {
    kiln_context *ctx;
    kiln_elementwise *op;
    kiln_launch *launch;
    kiln_array *x, *y, *z;
    void *stream;
    void *function; /* kiln's own kernel, loaded by hand */
    void *block[1]; /* its parameter: a block of zeros, for which it does nothing */
} call_bench;

static void raw_launch(call_bench *b)
{
    GPU(gpu.launch(b->function, 1, 1, 1, 256, 1, 1, 0, b->stream, b->block, NULL));
}

static void call_given(call_bench *b)
{
    REQUIRE(kiln_call(b->op, &bench_err, b->x, b->y, b->z));
}

static void call_allocated(call_bench *b)
{
    kiln_array *z = NULL;

    REQUIRE(kiln_call(b->op, &bench_err, b->x, b->y, &z));
    kiln_array_release(z);
}

static void call_prepared(call_bench *b)
{
    REQUIRE(kiln_launch_run(b->launch, NULL, &bench_err));
}

static double batch(call_bench *b, void (*call)(call_bench *b))
{
    double start = bench_now_us(), us;

    for (int k = 0; k < BATCH; k++)
        call(b);
    us = (bench_now_us() - start) / BATCH;
    GPU(gpu.stream_synchronize(b->stream));
    return us;
}

/* The name of the kernel in a generated source: what follows `__global__` and is called. */
static void kernel_name(const char *source, char *name, size_t bytes)
{
    const char *at = strstr(source, "__global__");

    while (at != NULL && *at != '\0') {
        size_t length =
            strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

        if (length > 0 && at[length] == '(' && strncmp(at, "__launch_bounds__", length) != 0) {
            snprintf(name, bytes, "%.*s", (int)length, at);
            return;
        }
        if (length > 0 && at[length] == '(') /* its argument is no name */
            at = strchr(at, ')');
        else
            at += length > 0 ? length : 1;
    }
    fprintf(stderr, "the generated source holds no kernel\n");
    exit(1);
}

/* Compile and load kiln's kernel by hand, and find out how large its parameter is. */
static void load_by_hand(call_bench *b)
{
    static unsigned char zeros[PARAMS_MAX];
    const char *target = kiln_context_device(b->ctx)->target;
    char *source = NULL, *cubin, name[128];
    size_t offset = 0, bytes = 0;
    void *module = NULL;

    REQUIRE(kiln_elementwise_source(b->op, KILN_ARGS(b->x, b->y, b->z), NULL, &source, &bench_err));
    kernel_name(source, name, sizeof name);
    cubin = gpu_compile(source, target, NULL, NULL);
    GPU(gpu.module_load(&module, cubin));
    b->function = gpu_function(module, name);
    b->block[0] = zeros;
    if (gpu.param_info != NULL && gpu.param_info(b->function, 0, &offset, &bytes) == 0)
        printf("kernel \"%s\" takes %zu bytes of parameters\n", name, bytes);
    free(cubin);
    kiln_free(source);
}

static void bench_call_times(kiln_context *ctx, bench_file *file)
{
    static const struct {
        const char *name, *label;
        void (*call)(call_bench *b);
        double over;
    } cases[] = {
        {"call_given", "a call, outputs given", call_given, 0.25},
        {"call_allocated", "a call, outputs allocated", call_allocated, 0.35},
        {"call_prepared", "a prepared launch", call_prepared, 0.05},
    };
    call_bench b = {.ctx = ctx, .stream = kiln_stream_native(ctx, NULL)};
    double raw[BATCHES], us[COUNT(cases)][BATCHES];

    b.x = array_of(ctx, KILN_FLOAT32, 1);
    b.y = array_of(ctx, KILN_FLOAT32, 1);
    b.z = array_of(ctx, KILN_FLOAT32, 1);
    b.op = define(ctx, snippet);
    REQUIRE(kiln_elementwise_prepare(b.op, KILN_ARGS(b.x, b.y, b.z), NULL, &b.launch, &bench_err));
    load_by_hand(&b);
    for (int k = 0; k < BATCHES; k++) {
        raw[k] = batch(&b, raw_launch);
        for (size_t c = 0; c < COUNT(cases); c++)
            us[c][k] = batch(&b, cases[c].call);
    }
    for (size_t c = 0; c < COUNT(cases); c++) {
        bench_row row = {.name = cases[c].name,
                         .label = cases[c].label,
                         .unit = "us",
                         .kiln = bench_least(us[c], BATCHES),
                         .limit = bench_least(raw, BATCHES),
                         .rule = BENCH_OVER_BY,
                         .target = cases[c].over,
                         .note = "cuLaunchKernel of the same kernel"};

        bench_add(file, &row);
    }
    kiln_launch_destroy(b.launch);
    kiln_elementwise_destroy(b.op);
    kiln_array_release(b.x);
    kiln_array_release(b.y);
    kiln_array_release(b.z);
}

/* ---- captured programs ---- */

enum { PROGRAM_CALLS = 1000, PROGRAM_RUNS = 30 };

/* A thousand calls of one small kernel, captured: what a run costs the host, and each of its kernels the
 * device. */
static void bench_program(kiln_context *ctx, bench_file *file)
{
    double host[PROGRAM_RUNS], device[PROGRAM_RUNS];
    kiln_elementwise *op = define(ctx, snippet);
    kiln_array *x = array_of(ctx, KILN_FLOAT32, 1), *z = array_of(ctx, KILN_FLOAT32, 1);
    kiln_program *program = NULL;
    kiln_event *begin = NULL, *end = NULL;

    REQUIRE(kiln_event_create(ctx, NULL, &begin, &bench_err));
    REQUIRE(kiln_event_create(ctx, NULL, &end, &bench_err));
    REQUIRE(kiln_capture_begin(ctx, NULL, &bench_err));
    for (int k = 0; k < PROGRAM_CALLS; k++)
        REQUIRE(kiln_call(op, &bench_err, x, x, z));
    REQUIRE(kiln_capture_end(ctx, NULL, &program, &bench_err));
    for (int k = -3; k < PROGRAM_RUNS; k++) {
        double ms = 0;
        REQUIRE(kiln_event_record(begin, NULL, &bench_err));
        const double start = bench_now_us();
        REQUIRE(kiln_program_run(program, NULL, &bench_err));
        const double us = bench_now_us() - start;
        REQUIRE(kiln_event_record(end, NULL, &bench_err));
        REQUIRE(kiln_event_elapsed_ms(begin, end, &ms, &bench_err));
        if (k >= 0) {
            host[k] = us;
            device[k] = ms * 1000 / PROGRAM_CALLS;
        }
    }
    const bench_row rows[] = {
        {"call_program_host", "a run of a captured program of 1,000 calls, host time", "us",
         bench_least(host, PROGRAM_RUNS), 0, BENCH_TELLS, 0, NULL},
        {"call_program_device", "a kernel of a captured program, device time", "us",
         bench_least(device, PROGRAM_RUNS), 0, BENCH_AT_MOST, 1.155, NULL},
    };
    for (size_t k = 0; k < COUNT(rows); k++)
        bench_add(file, &rows[k]);
    kiln_program_destroy(program);
    kiln_event_destroy(begin);
    kiln_event_destroy(end);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(z);
}

/* ---- first calls, empty cache ---- */

static kiln_context *context_with_cache(const char *device, const char *dir)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *ctx = NULL;

    options.device = device;
    options.cache_dir = dir;
    REQUIRE(kiln_context_create(&options, &ctx, &bench_err));
    return ctx;
}

static void remove_folder(const char *dir)
{
    char command[400];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        fprintf(stderr, "%s was left behind\n", dir);
}

static char *make_folder(char *dir, size_t bytes)
{
    const char *root = getenv("TMPDIR");

    snprintf(dir, bytes, "%s/kiln-bench-XXXXXX", root != NULL ? root : "/tmp");
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        exit(1);
    }
    return dir;
}

/* One first call of a definition never seen before, and NVRTC's time for its source. */
static void first_call(const kiln_device_info *device, kiln_dtype dtype, int nth, double *kiln_us,
                       double *nvrtc_us)
{
    char dir[256], op_text[64], *source = NULL;
    kiln_context *ctx = context_with_cache(device->id, make_folder(dir, sizeof dir));
    kiln_array *x = array_of(ctx, dtype, 1000), *y = array_of(ctx, dtype, 1000);
    kiln_array *z = array_of(ctx, dtype, 1000);
    kiln_elementwise *op;
    double start;

    snprintf(op_text, sizeof op_text, "z = x * y + T(%d)", nth + 1);
    REQUIRE(kiln_context_synchronize(ctx, &bench_err));
    start = bench_now_us();
    op = define(ctx, op_text);
    REQUIRE(kiln_call(op, &bench_err, x, y, z));
    REQUIRE(kiln_context_synchronize(ctx, &bench_err));
    *kiln_us = bench_now_us() - start;
    REQUIRE(kiln_elementwise_source(op, KILN_ARGS(x, y, z), NULL, &source, &bench_err));
    free(gpu_compile(source, device->target, NULL, nvrtc_us));
    kiln_free(source);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_elementwise_destroy(op);
    kiln_context_release(ctx);
    remove_folder(dir);
}

static void bench_first_calls(kiln_context *ctx, bench_file *file)
{
    static const struct {
        const char *name, *label;
        kiln_dtype dtype;
    } cases[] = {
        {"first_call_float32", "first call, empty cache, float32", KILN_FLOAT32},
        {"first_call_complex64", "first call, empty cache, complex64", KILN_COMPLEX64},
        {"first_call_float16", "first call, empty cache, float16", KILN_FLOAT16},
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        double us[FIRST_CALLS], nvrtc[FIRST_CALLS];
        bench_row row = {.name = cases[c].name,
                         .label = cases[c].label,
                         .unit = "ms",
                         .rule = BENCH_OVER_BY,
                         .target = 5,
                         .note = "NVRTC alone for the same source and flags"};

        for (int k = 0; k < FIRST_CALLS; k++)
            first_call(kiln_context_device(ctx), cases[c].dtype, k, &us[k], &nvrtc[k]);
        row.kiln = bench_median(us, FIRST_CALLS) / 1e3;
        row.limit = bench_median(nvrtc, FIRST_CALLS) / 1e3;
        bench_add(file, &row);
    }
}

/* ---- first call in a process, warm disk cache ---- */

static const char *const tiny_source =
    "extern \"C\" __global__ void tiny(int *p) { if (p) *p = 1; }\n";
static const char *const other_source =
    "extern \"C\" __global__ void other(const float4 *x, const float4 *y, float4 *z, int n)\n"
    "{\n"
    "    int i = blockIdx.x * 256 + threadIdx.x;\n"
    "    if (i < n) {\n"
    "        float4 a = x[i], b = y[i];\n"
    "        z[i] = make_float4(a.x * b.x + 1, a.y * b.y + 1, a.z * b.z + 1, a.w * b.w + 1);\n"
    "    }\n"
    "}\n";

static void write_cubin(const char *dir, const char *name, const char *source, const char *target)
{
    char path[400];
    size_t bytes = 0;
    char *cubin = gpu_compile(source, target, &bytes, NULL);
    FILE *out;

    snprintf(path, sizeof path, "%s/%s.cubin", dir, name);
    out = fopen(path, "wb");
    if (out == NULL || fwrite(cubin, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
    free(cubin);
}

/* Load DIR/NAME.cubin and launch its kernel over nothing; until it has run. */
static void run_cubin(const char *dir, const char *name)
{
    static char image[1 << 20];
    char path[400];
    void *module = NULL, *null = NULL;
    int none = 0;
    void *params[] = {&null, &null, &null, &none};
    FILE *in;

    snprintf(path, sizeof path, "%s/%s.cubin", dir, name);
    in = fopen(path, "rb");
    if (in == NULL || fread(image, 1, sizeof image, in) == 0) {
        perror(path);
        exit(1);
    }
    fclose(in);
    GPU(gpu.module_load(&module, image));
    GPU(gpu.launch(gpu_function(module, name), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

int bench_calls_child(const char *mode, int argc, char **argv)
{
    const char *dir = bench_option(argc, argv, "dir");
    const char *device = bench_option(argc, argv, "device");
    kiln_context *ctx = context_with_cache(device, dir);
    kiln_array *x = array_of(ctx, KILN_FLOAT32, 1000), *y = array_of(ctx, KILN_FLOAT32, 1000);
    kiln_array *z = array_of(ctx, KILN_FLOAT32, 1000);
    kiln_elementwise *op = NULL;
    double start, us;

    REQUIRE(kiln_context_synchronize(ctx, &bench_err));
    if (strcmp(mode, "bare") != 0) {
        gpu_open_driver(kiln_context_device(ctx)->ordinal);
        run_cubin(dir, "tiny");
        GPU(gpu.ctx_synchronize());
    }
    start = bench_now_us();
    if (strcmp(mode, "by-hand") == 0) {
        run_cubin(dir, "other");
    } else {
        op = define(ctx, snippet);
        REQUIRE(kiln_call(op, &bench_err, x, y, z));
    }
    us = bench_now_us() - start;
    REQUIRE(kiln_context_synchronize(ctx, &bench_err));
    printf("%.3f\n", us);
    kiln_elementwise_destroy(op);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_array_release(z);
    kiln_context_release(ctx);
    return 0;
}

static double child_time(const char *program, const char *mode, const char *dir, const char *device)
{
    char command[1024];
    double us[PROCESSES];

    snprintf(command, sizeof command, "'%s' --child %s --dir '%s' --device %s", program, mode, dir,
             device);
    for (int k = 0; k < PROCESSES; k++) {
        FILE *child = popen(command, "r");

        if (child == NULL || fscanf(child, "%lf", &us[k]) != 1) {
            fprintf(stderr, "%s: no time came back\n", command);
            exit(1);
        }
        pclose(child);
    }
    return bench_median(us, PROCESSES);
}

static void bench_processes(kiln_context *ctx, bench_file *file, const char *program)
{
    const kiln_device_info *device = kiln_context_device(ctx);
    char dir[256];
    bench_row row = {.name = "first_process_warm",
                     .unit = "ms",
                     .rule = BENCH_AT_MOST,
                     .label = "first call in a process, warm disk cache",
                     .target = 0.15,
                     .note = "limit: a cubin read, loaded and launched by hand"};
    bench_row bare = {.name = "first_process_bare",
                      .unit = "ms",
                      .rule = BENCH_TELLS,
                      .label = "first call in a process, no module loaded yet"};

    write_cubin(make_folder(dir, sizeof dir), "tiny", tiny_source, device->target);
    write_cubin(dir, "other", other_source, device->target);
    (void)child_time(program, "bare", dir, device->id); /* fills the cache */
    row.kiln = child_time(program, "kiln", dir, device->id) / 1e3;
    row.limit = child_time(program, "by-hand", dir, device->id) / 1e3;
    bare.kiln = child_time(program, "bare", dir, device->id) / 1e3;
    bench_add(file, &row);
    bench_add(file, &bare);
    remove_folder(dir);
}

/* ---- the pool ---- */

static void bench_pool(kiln_context *ctx, bench_file *file)
{
    enum { PAIRS = 2000 };
    kiln__device *device = kiln__context_device(ctx);
    kiln_stream *stream = kiln__device_stream(device);
    double block_us[BATCHES], array_us[BATCHES];
    bench_row block = {.name = "pool",
                       .unit = "us",
                       .rule = BENCH_AT_MOST,
                       .target = 0.15,
                       .label = "pool: allocate + free 1 MiB"};
    bench_row array = {.name = "array",
                       .unit = "us",
                       .rule = BENCH_TELLS,
                       .label = "kiln_array_empty + release, 1 MiB"};

    for (int k = 0; k < BATCHES; k++) {
        double start = bench_now_us(), middle;

        for (int j = 0; j < PAIRS; j++) {
            kiln__block *b = NULL;

            REQUIRE(kiln__pool_alloc(device, 1 << 20, stream, &b, &bench_err));
            kiln__pool_free(device, b, NULL, 0);
        }
        middle = bench_now_us();
        for (int j = 0; j < PAIRS; j++) {
            kiln_array *a = NULL;

            REQUIRE(
                kiln_array_empty(ctx, KILN_UINT8, 1, (const int64_t[]){1 << 20}, &a, &bench_err));
            kiln_array_release(a);
        }
        block_us[k] = (middle - start) / PAIRS;
        array_us[k] = (bench_now_us() - middle) / PAIRS;
    }
    block.kiln = bench_median(block_us, BATCHES);
    array.kiln = bench_median(array_us, BATCHES);
    bench_add(file, &block);
    bench_add(file, &array);
}

void bench_calls(kiln_context *ctx, bench_file *file, const char *program)
{
    bench_call_times(ctx, file);
    bench_program(ctx, file);
    bench_first_calls(ctx, file);
    bench_processes(ctx, file, program);
    bench_pool(ctx, file);
}
