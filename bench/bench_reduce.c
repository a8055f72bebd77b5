/*
 * bench_reduce.c - how close reductions come to reading their input once.
 *
 *     bench_reduce [--out DIR] [--commit ID] [--device cuda:N] [--only PREFIX] [--scale N]
 *
 * The limit is a hand-written kernel that reads as many bytes, front to back, 16 at a time, and
 * writes nothing: several numbers of accesses in flight, block sizes and grids are tried, and the
 * fastest is kept. It and kiln run alternately, back to back on one stream, 31 times each; the
 * medians of the times between events are compared. Inputs hold 2^28 float32 (divided by --scale)
 * unless a row says otherwise; results are small beside them and not counted.
 *
 * Host time is the least of many short batches, as in bench_calls.c, against cuLaunchKernel; first
 * calls run with an empty cache. Without a usable GPU the program says so and ends with status 77.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "gpu.h"
#include "machine.h"
#include "reader.h"

/* ---- cases ---- */

typedef enum work {
    WORK_SUM,
    WORK_L2,
    WORK_ARGMAX,
    WORK_VAR,
    WORK_DOT,   /* two inputs */
    WORK_RANGE, /* three outputs */
    WORK_COUNT
} work;

typedef enum view {
    VIEW_WHOLE,
    VIEW_TRANSPOSED, /* the axes in the opposite order */
    VIEW_SECOND_ROW, /* every second row of twice as many */
    VIEW_ROW,        /* the second input is one row for all */
    VIEW_COLUMN      /* the second input is one column for all */
} view;

typedef struct bench_case {
    const char *name, *label;
    work work;
    kiln_dtype dtype;
    view view;
    int rank;
    int64_t shape[3]; /* 2^28 elements of 4 bytes; the largest extent is scaled */
    kiln_axes axes;   /* count 0: all */
    double target;
} bench_case;

#define M(n) (INT64_C(1) << (n))
#define SHAPES(X)                                                                                  \
    X("all", "all", 1, {M(28)}, {0}, 0.95)                                                         \
    X("16384x16384_0", "(16384, 16384), axis 0", 2, {M(14) X_ M(14)}, {1 X_{0}}, 0.93)             \
    X("16384x16384_1", "(16384, 16384), axis 1", 2, {M(14) X_ M(14)}, {1 X_{1}}, 0.93)             \
    X("2^20x256_0", "(2^20, 256), axis 0", 2, {M(20) X_ M(8)}, {1 X_{0}}, 0.93)                    \
    X("2^20x256_1", "(2^20, 256), axis 1", 2, {M(20) X_ M(8)}, {1 X_{1}}, 0.93)                    \
    X("256x2^20_0", "(256, 2^20), axis 0", 2, {M(8) X_ M(20)}, {1 X_{0}}, 0.93)                    \
    X("256x2^20_1", "(256, 2^20), axis 1", 2, {M(8) X_ M(20)}, {1 X_{1}}, 0.93)                    \
    X("2^24x16_0", "(2^24, 16), axis 0", 2, {M(24) X_ M(4)}, {1 X_{0}}, 0.90)                      \
    X("2^24x16_1", "(2^24, 16), axis 1", 2, {M(24) X_ M(4)}, {1 X_{1}}, 0.90)                      \
    X("64x4096x1024_1", "(64, 4096, 1024), axis 1", 3, {M(6) X_ M(12) X_ M(10)}, {1 X_{1}}, 0.90)  \
    X("4x2^26_1", "(4, 2^26), axis 1", 2, {4 X_ M(26)}, {1 X_{1}}, 0.90)                           \
    X("2^26x4_1", "(2^26, 4), axis 1", 2, {M(26) X_ 4}, {1 X_{1}}, 0.90)                           \
    X("3x5x2^24_02", "(3, 5, 2^24), axes 0 and 2", 3, {3 X_ 5 X_ M(24)}, {2 X_{0 X_ 2}}, 0.90)
#define X_ ,
#define SUM_ROW(n, label, rank, shape, axes, target)                                               \
    {"sum_" n, "sum of " label, WORK_SUM, KILN_FLOAT32, VIEW_WHOLE, rank, shape, axes, target},
#define L2_ROW(n, label, rank, shape, axes, target)                                                \
    {"l2_" n, "L2 norm of " label, WORK_L2, KILN_FLOAT32, VIEW_WHOLE, rank, shape, axes, target},

static const bench_case cases[] = {
    SHAPES(SUM_ROW) SHAPES(L2_ROW){"sum_transposed_0",
                                   "sum of x.T, axis 0",
                                   WORK_SUM,
                                   KILN_FLOAT32,
                                   VIEW_TRANSPOSED,
                                   2,
                                   {M(14), M(14)},
                                   {1, {0}},
                                   0.85},
    {"sum_transposed_1",
     "sum of x.T, axis 1",
     WORK_SUM,
     KILN_FLOAT32,
     VIEW_TRANSPOSED,
     2,
     {M(14), M(14)},
     {1, {1}},
     0.85},
    {"sum_second_row_0",
     "sum of x[::2], axis 0",
     WORK_SUM,
     KILN_FLOAT32,
     VIEW_SECOND_ROW,
     2,
     {M(13), M(14)},
     {1, {0}},
     0.85},
    {"sum_second_row_1",
     "sum of x[::2], axis 1",
     WORK_SUM,
     KILN_FLOAT32,
     VIEW_SECOND_ROW,
     2,
     {M(13), M(14)},
     {1, {1}},
     0.85},
    {"sum_second_row",
     "sum of x[::2]",
     WORK_SUM,
     KILN_FLOAT32,
     VIEW_SECOND_ROW,
     2,
     {M(13), M(14)},
     {0, {0}},
     0.85},
    {"broadcast_row_0",
     "sum of x * row, axis 0",
     WORK_DOT,
     KILN_FLOAT32,
     VIEW_ROW,
     2,
     {M(14), M(14)},
     {1, {0}},
     0.85},
    {"broadcast_row_1",
     "sum of x * row, axis 1",
     WORK_DOT,
     KILN_FLOAT32,
     VIEW_ROW,
     2,
     {M(14), M(14)},
     {1, {1}},
     0.85},
    {"broadcast_column_1",
     "sum of x * column, axis 1",
     WORK_DOT,
     KILN_FLOAT32,
     VIEW_COLUMN,
     2,
     {M(14), M(14)},
     {1, {1}},
     0.85},
    {"sum_float16", "sum of all, float16", WORK_SUM, KILN_FLOAT16, VIEW_WHOLE, 1, {M(28)}, {0},
     0.88},
    {"sum_bfloat16", "sum of all, bfloat16", WORK_SUM, KILN_BFLOAT16, VIEW_WHOLE, 1, {M(28)}, {0},
     0.88},
    {"sum_int8", "sum of all, int8", WORK_SUM, KILN_INT8, VIEW_WHOLE, 1, {M(28)}, {0}, 0.88},
    {"sum_float64", "sum of all, float64", WORK_SUM, KILN_FLOAT64, VIEW_WHOLE, 1, {M(28)}, {0},
     0.88},
    {"argmax", "argmax of all", WORK_ARGMAX, KILN_FLOAT32, VIEW_WHOLE, 1, {M(28)}, {0}, 0.88},
    {"argmax_1",
     "argmax of (16384, 16384), axis 1",
     WORK_ARGMAX,
     KILN_FLOAT32,
     VIEW_WHOLE,
     2,
     {M(14), M(14)},
     {1, {1}},
     0.88},
    {"var", "var of all", WORK_VAR, KILN_FLOAT32, VIEW_WHOLE, 1, {M(28)}, {0}, 0.88},
    {"var_0",
     "var of (16384, 16384), axis 0",
     WORK_VAR,
     KILN_FLOAT32,
     VIEW_WHOLE,
     2,
     {M(14), M(14)},
     {1, {0}},
     0.88},
    {"two_inputs", "sum of x * y", WORK_DOT, KILN_FLOAT32, VIEW_WHOLE, 1, {M(27)}, {0}, 0.88},
    {"three_outputs",
     "least, greatest and mean of all",
     WORK_RANGE,
     KILN_FLOAT32,
     VIEW_WHOLE,
     1,
     {M(28)},
     {0},
     0.88},
};

/* Definitions, made once; named reductions go by kiln_array_reduce(). */
static kiln_reduction *ops[WORK_COUNT];

static void define_all(const machine *m)
{
    kiln_reduction_options range = KILN_REDUCTION_OPTIONS_INIT;

    range.name = "range";
    range.reduce_type = "range_state";
    range.preamble =
        "struct range_state { float low, high, sum; };\n"
        "__device__ inline range_state both(range_state a, range_state b)\n"
        "{ return range_state{min(a.low, b.low), max(a.high, b.high), a.sum + b.sum}; }";
    REQUIRE(kiln_reduction_create(m->ctx, "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", NULL,
                                  &ops[WORK_L2], &bench_err));
    REQUIRE(kiln_reduction_create(m->ctx, "T x, T y", "T z", "x * y", "a + b", "z = a", "0", NULL,
                                  &ops[WORK_DOT], &bench_err));
    REQUIRE(kiln_reduction_create(
        m->ctx, "float32 x", "float32 low, float32 high, float32 mean", "range_state{x, x, x}",
        "both(a, b)", "low = a.low; high = a.high; mean = a.sum / n",
        "range_state{INFINITY, -INFINITY, 0}", &range, &ops[WORK_RANGE], &bench_err));
}

/* Inputs and outputs of one case. */
typedef struct bound {
    kiln_array *base[2], *x[2], *y[3];
    const kiln_axes *axes;
} bound;

static void call_once(const bench_case *c, bound *b)
{
    switch (c->work) {
    case WORK_SUM:
        REQUIRE(kiln_array_reduce(KILN_REDUCE_SUM, b->x[0], b->axes, false, &b->y[0], &bench_err));
        break;
    case WORK_ARGMAX:
        REQUIRE(
            kiln_array_reduce(KILN_REDUCE_ARGMAX, b->x[0], b->axes, false, &b->y[0], &bench_err));
        break;
    case WORK_VAR:
        REQUIRE(kiln_array_reduce(KILN_REDUCE_VAR, b->x[0], b->axes, false, &b->y[0], &bench_err));
        break;
    case WORK_L2:
        REQUIRE(kiln_call_over(ops[WORK_L2], b->axes, &bench_err, b->x[0], &b->y[0]));
        break;
    case WORK_DOT:
        REQUIRE(kiln_call_over(ops[WORK_DOT], b->axes, &bench_err, b->x[0], b->x[1], &b->y[0]));
        break;
    case WORK_RANGE:
        REQUIRE(kiln_call_over(ops[WORK_RANGE], b->axes, &bench_err, b->x[0], &b->y[0], &b->y[1],
                               &b->y[2]));
        break;
    case WORK_COUNT:
        break;
    }
}

/* Make the inputs; small varying values. Returns the bytes a reduction must read. */
static int64_t bind(const machine *m, const bench_case *c, bound *b)
{
    int64_t shape[3] = {1, 1, 1}, all = 0;
    int largest = 0, inputs = c->work == WORK_DOT ? 2 : 1;
    kiln_elementwise *fill = NULL;

    memset(b, 0, sizeof *b);
    for (int a = 0; a < c->rank; a++) {
        shape[a] = c->shape[a];
        largest = shape[a] > shape[largest] ? a : largest;
    }
    shape[largest] /= m->scale;
    shape[0] *= c->view == VIEW_SECOND_ROW ? 2 : 1;
    REQUIRE(kiln_elementwise_create(m->ctx, "", "T z", "z = T(int(i % 7) + 1)", NULL, &fill,
                                    &bench_err));
    for (int k = 0; k < inputs; k++) {
        int64_t bytes = (int64_t)kiln_dtype_size(c->dtype);

        if (k == 1 && c->view == VIEW_ROW)
            shape[0] = 1;
        if (k == 1 && c->view == VIEW_COLUMN)
            shape[1] = 1;
        for (int a = 0; a < c->rank; a++)
            bytes *= shape[a];
        all += c->view == VIEW_SECOND_ROW ? bytes / 2 : bytes;
        REQUIRE(kiln_array_empty(m->ctx, c->dtype, c->rank, shape, &b->base[k], &bench_err));
        REQUIRE(kiln_call(fill, &bench_err, b->base[k]));
        if (c->view == VIEW_TRANSPOSED)
            REQUIRE(kiln_array_transpose(b->base[k], NULL, &b->x[k], &bench_err));
        else if (c->view == VIEW_SECOND_ROW)
            REQUIRE(kiln_array_slice(b->base[k], 0, KILN_SLICE_OPEN, KILN_SLICE_OPEN, 2, &b->x[k],
                                     &bench_err));
        else
            b->x[k] = kiln_array_retain(b->base[k]);
    }
    b->axes = c->axes.count > 0 ? &c->axes : NULL;
    kiln_elementwise_destroy(fill);
    return all;
}

static void unbind(bound *b)
{
    for (int k = 0; k < 2; k++) {
        kiln_array_release(b->x[k]);
        kiln_array_release(b->base[k]);
    }
    for (int k = 0; k < 3; k++)
        kiln_array_release(b->y[k]);
}

/* Reading by hand and reducing, as machine_alternate() runs them. */
typedef struct sides {
    const machine *m;
    const bench_case *c;
    bound *b;
    const reader *r;
    const void *data;
    int64_t bytes;
} sides;

static void side_by_hand(void *argument)
{
    const sides *s = argument;

    reader_launch(s->r, s->data, s->bytes, s->m->stream);
}

static void side_kiln(void *argument)
{
    const sides *s = argument;

    call_once(s->c, s->b);
}

static void run_case(const machine *m, const bench_case *c, const reader *r, const void *data,
                     int64_t room)
{
    bound b;
    double limit_ms, kiln_ms;
    int64_t bytes = bind(m, c, &b);
    int64_t read = bytes < room ? bytes : room;
    bench_row row = {.name = c->name,
                     .label = c->label,
                     .unit = "GB/s",
                     .rule = BENCH_AT_LEAST,
                     .target = c->target,
                     .note = r->note};

    sides both = {m, c, &b, r, data, read};
    call_once(c, &b); /* compiles, and allocates the outputs */
    machine_alternate(m, side_by_hand, side_kiln, &both, &limit_ms, &kiln_ms);
    row.kiln = (double)bytes / kiln_ms / 1e6;
    row.limit = (double)read / limit_ms / 1e6;
    bench_add(m->file, &row);
    unbind(&b);
    (void)kiln_context_pool_trim(m->ctx);
}

/* ---- host time, first call ---- */

/* Least microseconds a call takes on the host, over batches with the stream drained between. */
static double host_us(const machine *m, const bench_case *c, bound *b, const reader *r,
                      const void *data)
{
    enum { BATCHES = 60, BATCH = 100 };
    double us[BATCHES];

    for (int k = 0; k < BATCHES; k++) {
        double begin = bench_now_us();
        for (int call = 0; call < BATCH; call++)
            if (r != NULL)
                reader_launch(r, data, 16, m->stream);
            else
                call_once(c, b);
        us[k] = (bench_now_us() - begin) / BATCH;
        GPU(gpu.stream_synchronize(m->stream));
    }
    return bench_least(us, BATCHES);
}

static void bench_host(const machine *m, const reader *r, const void *data)
{
    static const bench_case small[] = {
        {"call_sum_1", "a call, sum of 1 element", WORK_SUM, KILN_FLOAT32, VIEW_WHOLE, 1, {1}, {0},
         0.35},
        {"call_l2_2^10", "a call, L2 norm of 2^10", WORK_L2, KILN_FLOAT32, VIEW_WHOLE, 1, {M(10)},
         {0}, 0.35},
        {"call_l2_2^16", "a call, L2 norm of 2^16", WORK_L2, KILN_FLOAT32, VIEW_WHOLE, 1, {M(16)},
         {0}, 0.35},
        {"call_l2_rows",
         "a call, L2 norm of (256, 256), axis 1",
         WORK_L2,
         KILN_FLOAT32,
         VIEW_WHOLE,
         2,
         {M(8), M(8)},
         {1, {1}},
         0.35},
    };
    machine unscaled = *m;

    unscaled.scale = 1;
    for (size_t k = 0; k < COUNT(small); k++) {
        bench_row row = {.name = small[k].name,
                         .label = small[k].label,
                         .unit = "us",
                         .rule = BENCH_OVER_BY,
                         .target = small[k].target,
                         .note = "cuLaunchKernel"};
        bound b;

        if (!machine_wants(m, small[k].name))
            continue;
        (void)bind(&unscaled, &small[k], &b);
        call_once(&small[k], &b);
        row.kiln = host_us(m, &small[k], &b, NULL, NULL);
        row.limit = host_us(m, NULL, NULL, r, data);
        bench_add(m->file, &row);
        unbind(&b);
    }
}

/* One definition that no cache has seen, from create to result, against NVRTC alone on its text. */
static void bench_first(const machine *m)
{
    static const char *const axpy = "z = a * x + y";

    enum { TIMES = 7 };
    double us[TIMES], compile[TIMES], loop[TIMES];
    const int64_t shape[] = {1000};
    kiln_array *x = NULL;
    kiln_elementwise *plain = NULL;
    bench_row ratio = {.name = "first_l2_nvrtc",
                       .label = "NVRTC's time for an L2 norm, over that for axpy",
                       .unit = "times",
                       .rule = BENCH_AT_MOST,
                       .target = 3};
    bench_row row = {.name = "first_l2",
                     .label = "first call, empty cache, L2 norm",
                     .unit = "ms",
                     .rule = BENCH_OVER_BY,
                     .target = 5,
                     .note = "NVRTC alone"};

    REQUIRE(kiln_array_ones(m->ctx, KILN_FLOAT32, 1, shape, &x, &bench_err));
    REQUIRE(kiln_elementwise_create(m->ctx, "T x, T y, T a", "T z", axpy, NULL, &plain,
                                    &bench_err));
    for (int k = 0; k < TIMES; k++) {
        char map[64];
        kiln_reduction *op = NULL;
        kiln_array *y = NULL;
        char *text = NULL;
        size_t bytes = 0;

        snprintf(map, sizeof map, "x * x * %d.%df", (int)getpid(), (int)(bench_now_us()) % 997 + k);
        double begin = bench_now_us();
        REQUIRE(kiln_reduction_create(m->ctx, "T x", "T y", map, "a + b", "y = sqrt(a)", "0", NULL,
                                      &op, &bench_err));
        REQUIRE(kiln_call_over(op, KILN_ALL_AXES, &bench_err, x, &y));
        REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
        us[k] = bench_now_us() - begin;
        REQUIRE(kiln_reduction_source(op, KILN_ARGS(x, y), NULL, &text, &bench_err));
        free(gpu_compile(text, m->device->target, &bytes, &compile[k]));
        kiln_free(text);
        kiln_array_release(y);
        kiln_reduction_destroy(op);
        y = NULL;
        REQUIRE(kiln_elementwise_source(plain, KILN_ARGS(x, x, 2.0, &y), NULL, &text, &bench_err));
        free(gpu_compile(text, m->device->target, &bytes, &loop[k]));
        kiln_free(text);
    }
    kiln_elementwise_destroy(plain);
    kiln_array_release(x);
    ratio.kiln = bench_median(compile, TIMES) / bench_median(loop, TIMES);
    bench_add(m->file, &ratio);
    row.kiln = bench_median(us, TIMES) / 1000;
    row.limit = bench_median(compile, TIMES) / 1000;
    bench_add(m->file, &row);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    bench_file file;
    machine m;
    kiln_array *buffer = NULL;
    reader r;
    const int status = machine_open(&m, MACHINE_GPU, "reduce", argc, argv, &file);

    if (status != 0)
        return status;
    const int64_t room = M(31) / m.scale;
    machine_tell_elements(&m);
    REQUIRE(kiln_array_ones(m.ctx, KILN_UINT8, 1, &room, &buffer, &bench_err));
    define_all(&m);
    reader_find(m.device, m.stream, kiln_array_data(buffer), room / 2, &r);
    for (size_t k = 0; k < COUNT(cases); k++)
        if (machine_wants(&m, cases[k].name))
            run_case(&m, &cases[k], &r, kiln_array_data(buffer), room);
    bench_host(&m, &r, kiln_array_data(buffer));
    if (machine_wants(&m, "first"))
        bench_first(&m);
    GPU(gpu.module_unload(r.module));
    kiln_array_release(buffer);
    for (int k = 0; k < WORK_COUNT; k++)
        kiln_reduction_destroy(ops[k]);
    (void)machine_close(&m);
    return 0;
}
