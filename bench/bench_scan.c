/*
 * bench_scan.c - how close scans come to reading their input and writing their output once.
 *
 *     bench_scan [--out DIR] [--commit ID] [--device cuda:N] [--only PREFIX] [--scale N]
 *
 * The limit is the best hand-written kernel that reads and writes as many bytes (limits.h). It and
 * kiln run alternately, back to back on one stream, 31 times each; the medians of the times between
 * events are compared. Inputs hold 2^28 elements (divided by --scale); bytes are those of input and
 * output. The last value of each scan is compared with what it must be. Host time is the least of
 * many short batches. Without a usable GPU the program says so and ends with status 77.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpu.h"
#include "limits.h"
#include "machine.h"

#define M(n) (INT64_C(1) << (n))

typedef enum work {
    WORK_CUMSUM,
    WORK_RECURRENCE /* s = s / 2 + x, a struct of two floats */
} work;

typedef struct bench_case {
    const char *name, *label;
    work work;
    kiln_dtype dtype, result;
    int rank;
    int64_t shape[2]; /* the larger extent is scaled */
    int axis;
    unsigned flags;
    double target; /* 0: none */
} bench_case;

#define F32 KILN_FLOAT32, KILN_FLOAT32
#define EX KILN_SCAN_EXCLUSIVE
#define RV KILN_SCAN_REVERSE

static const bench_case cases[] = {
    {"cumsum_all", "cumsum of all", WORK_CUMSUM, F32, 1, {M(28)}, 0, 0, 0.80},
    {"cumsum_16384x16384_1", "cumsum along rows", WORK_CUMSUM, F32, 2, {M(14), M(14)}, 1, 0, 0.80},
    {"cumsum_16384x16384_0",
     "cumsum along columns",
     WORK_CUMSUM,
     F32,
     2,
     {M(14), M(14)},
     0,
     0,
     0.80},
    {"cumsum_2^20x256_1", "cumsum of (2^20, 256), axis 1", WORK_CUMSUM, F32, 2, {M(20), M(8)}, 1,
     0, 0},
    {"cumsum_2^20x256_0", "cumsum of (2^20, 256), axis 0", WORK_CUMSUM, F32, 2, {M(20), M(8)}, 0,
     0, 0},
    {"cumsum_256x2^20_1", "cumsum of (256, 2^20), axis 1", WORK_CUMSUM, F32, 2, {M(8), M(20)}, 1,
     0, 0},
    {"cumsum_256x2^20_0", "cumsum of (256, 2^20), axis 0", WORK_CUMSUM, F32, 2, {M(8), M(20)}, 0,
     0, 0},
    {"cumsum_2^24x16_1", "cumsum of (2^24, 16), axis 1", WORK_CUMSUM, F32, 2, {M(24), M(4)}, 1, 0,
     0},
    {"cumsum_2^24x16_0", "cumsum of (2^24, 16), axis 0", WORK_CUMSUM, F32, 2, {M(24), M(4)}, 0, 0,
     0},
    {"cumsum_2^26x4_0", "cumsum of (2^26, 4), axis 0", WORK_CUMSUM, F32, 2, {M(26), 4}, 0, 0, 0},
    {"cumsum_points_0", "cumsum of (2^26, 3), axis 0", WORK_CUMSUM, F32, 2, {M(26), 3}, 0, 0, 0},
    {"cumsum_2^16x4096_0", "cumsum of (2^16, 4096), axis 0", WORK_CUMSUM, F32, 2, {M(16), M(12)},
     0, 0, 0},
    {"cumsum_2^20x256_0_reverse", "reverse cumsum of (2^20, 256), axis 0", WORK_CUMSUM, F32, 2,
     {M(20), M(8)}, 0, RV, 0},
    {"cumsum_4x2^26_1", "cumsum of (4, 2^26), axis 1", WORK_CUMSUM, F32, 2, {4, M(26)}, 1, 0, 0},
    {"cumsum_2^26x4_1", "cumsum of (2^26, 4), axis 1", WORK_CUMSUM, F32, 2, {M(26), 4}, 1, 0, 0},
    {"cumsum_exclusive", "exclusive cumsum of all", WORK_CUMSUM, F32, 1, {M(28)}, 0, EX, 0},
    {"cumsum_reverse", "reverse cumsum of all", WORK_CUMSUM, F32, 1, {M(28)}, 0, RV, 0},
    {"cumsum_float16",
     "cumsum of float16, rows of 1024",
     WORK_CUMSUM,
     KILN_FLOAT16,
     KILN_FLOAT16,
     2,
     {M(18), M(10)},
     1,
     0,
     0},
    {"cumsum_float64", "cumsum of all, float64", WORK_CUMSUM, KILN_FLOAT64, KILN_FLOAT64, 1,
     {M(28)}, 0, 0, 0},
    {"cumsum_int32", "cumsum of all, int32 to int64", WORK_CUMSUM, KILN_INT32, KILN_INT64, 1,
     {M(28)}, 0, 0, 0},
    {"cumsum_int8", "cumsum of all, int8 to int64", WORK_CUMSUM, KILN_INT8, KILN_INT64, 1, {M(28)},
     0, 0, 0},
    {"cumsum_bfloat16", "cumsum of all, bfloat16", WORK_CUMSUM, KILN_BFLOAT16, KILN_BFLOAT16, 1,
     {M(28)}, 0, 0, 0},
    {"recurrence_all", "s = s / 2 + x, over all", WORK_RECURRENCE, F32, 1, {M(28)}, 0, 0, 0},
    {"recurrence_2^24x16_0", "s = s / 2 + x, over (2^24, 16), axis 0", WORK_RECURRENCE, F32, 2,
     {M(24), M(4)}, 0, 0, 0},
    {"recurrence_0", "s = s / 2 + x, along columns", WORK_RECURRENCE, F32, 2, {M(14), M(14)}, 0, 0,
     0},
};

/* Arrays of one case. */
typedef struct bound {
    kiln_array *x, *y;
    kiln_scan *recurrence;
    kiln_axes axis;
    kiln_scan_call_options options;
    int64_t size, length;
} bound;

static void call_once(const bench_case *c, bound *b)
{
    if (c->work == WORK_CUMSUM)
        REQUIRE(kiln_array_scan(KILN_SCAN_CUMSUM, b->x, &b->axis, c->flags, &b->y, &bench_err));
    else
        REQUIRE(kiln_call_with(b->recurrence, &b->options, &bench_err, b->x, &b->y));
}

static void define_recurrence(const machine *m, bound *b)
{
    kiln_scan_options options = KILN_SCAN_OPTIONS_INIT;

    options.name = "decay";
    options.reduce_type = "step";
    options.preamble = "struct step { float keep, add; };";
    REQUIRE(kiln_scan_create(m->ctx, "T x", "T y", "step{0.5f, x}",
                             "step{a.keep * b.keep, b.keep * a.add + b.add}", "y = a.add",
                             "step{1, 0}", &options, &b->recurrence, &bench_err));
}

/* All elements are 1. */
static void bind(const machine *m, const bench_case *c, bound *b)
{
    int64_t shape[2] = {c->shape[0], c->shape[1]};
    const int larger = c->rank == 2 && shape[1] > shape[0];

    memset(b, 0, sizeof *b);
    shape[larger] = shape[larger] / m->scale > 0 ? shape[larger] / m->scale : 1;
    b->size = shape[0] * (c->rank == 2 ? shape[1] : 1);
    b->length = shape[c->axis];
    b->axis = (kiln_axes){1, {c->axis}};
    b->options = (kiln_scan_call_options)KILN_SCAN_CALL_OPTIONS_INIT;
    b->options.axes = &b->axis;
    b->options.flags = c->flags;
    REQUIRE(kiln_array_ones(m->ctx, c->dtype, c->rank, shape, &b->x, &bench_err));
    define_recurrence(m, b);
    call_once(c, b); /* compiles, and allocates the output */
}

static void unbind(const machine *m, bound *b)
{
    kiln_array_release(b->x);
    kiln_array_release(b->y);
    kiln_scan_destroy(b->recurrence);
    (void)kiln_context_pool_trim(m->ctx);
}

/* A wrong result is no result: look at the last value of the last sequence. */
static void check(const bench_case *c, const bound *b)
{
    const bool first_is_last = (c->flags & RV) != 0;
    const double exact =
        c->work == WORK_RECURRENCE ? 2.0 : (double)(b->length - ((c->flags & EX) != 0));
    const double close = c->result == KILN_FLOAT16 ? 1e-2 : 1e-5;
    kiln_array *flat = NULL, *last = NULL, *wide = NULL;
    const int64_t at = first_is_last ? 0 : b->size - 1;
    double got = 0;

    REQUIRE(kiln_array_reshape(b->y, 1, &b->size, &flat, &bench_err));
    REQUIRE(kiln_array_slice(flat, 0, at, at + 1, 1, &last, &bench_err));
    REQUIRE(kiln_array_cast(last, KILN_FLOAT64, &wide, &bench_err));
    REQUIRE(kiln_array_to_host(wide, &got, sizeof got, NULL, &bench_err));
    if (fabs(got - exact) > close * exact) {
        fprintf(stderr, "%s: the last value is %g, not %g\n", c->name, got, exact);
        exit(1);
    }
    kiln_array_release(flat);
    kiln_array_release(last);
    kiln_array_release(wide);
}

/* As many accesses of input and output, the wider one by 16 bytes. */
static void describe_limit(const bench_case *c, const bound *b, limit_case *l)
{
    const int64_t in = (int64_t)kiln_dtype_size(c->dtype),
                  out = (int64_t)kiln_dtype_size(c->result);
    const int64_t together = 16 / (in > out ? in : out);

    *l = (limit_case){.read_count = 1, .write_count = 1};
    l->width[0] = (uint8_t)(in * together);
    l->width[1] = (uint8_t)(out * together);
    l->address[0] = kiln_array_data(b->x);
    l->address[1] = kiln_array_data(b->y);
    l->accesses = b->size / together / 4096 * 4096;
}

/* The scan's side of machine_against_limit(). */
typedef struct called {
    const bench_case *c;
    bound *b;
} called;

static void call_again(void *argument)
{
    const called *again = argument;

    call_once(again->c, again->b);
}

static void run_case(const machine *m, const bench_case *c)
{
    bound b;
    limit_case l;
    limit_kernel kernel;
    double limit_ms, kiln_ms;

    bind(m, c, &b);
    check(c, &b);
    describe_limit(c, &b, &l);
    limit_find(&l, m->device->target, m->stream, &kernel);
    called again = {c, &b};
    machine_against_limit(m, &l, &kernel, call_again, &again, &limit_ms, &kiln_ms);
    const double each = (double)(kiln_dtype_size(c->dtype) + kiln_dtype_size(c->result));
    const double bytes = (double)b.size * each;
    bench_row row = {.name = c->name,
                     .label = c->label,
                     .unit = "GB/s",
                     .kiln = bytes / kiln_ms / 1e6,
                     .limit = (double)(l.accesses * (l.width[0] + l.width[1])) / limit_ms / 1e6,
                     .rule = c->target > 0 ? BENCH_AT_LEAST : BENCH_TELLS,
                     .target = c->target,
                     .note = kernel.note};
    bench_add(m->file, &row);
    limit_end(&kernel);
    unbind(m, &b);
}

/* Least microseconds a call takes on the host, over batches with the stream drained between. */
static void bench_host(const machine *m)
{
    enum { BATCHES = 60, BATCH = 100 };
    static const bench_case small[] = {
        {"call_cumsum_2^10", "a call, cumsum of 2^10", WORK_CUMSUM, F32, 1, {M(10)}, 0, 0, 0},
        {"call_cumsum_2^20", "a call, cumsum of 2^20", WORK_CUMSUM, F32, 1, {M(20)}, 0, 0, 0},
    };
    machine unscaled = *m;

    unscaled.scale = 1;
    for (size_t k = 0; k < COUNT(small); k++) {
        double us[BATCHES];
        bound b;

        if (!machine_wants(m, small[k].name))
            continue;
        bind(&unscaled, &small[k], &b);
        for (int round = 0; round < BATCHES; round++) {
            const double begin = bench_now_us();
            for (int call = 0; call < BATCH; call++)
                call_once(&small[k], &b);
            us[round] = (bench_now_us() - begin) / BATCH;
            GPU(gpu.stream_synchronize(m->stream));
        }
        bench_row row = {.name = small[k].name,
                         .label = small[k].label,
                         .unit = "us",
                         .kiln = bench_least(us, BATCHES),
                         .rule = BENCH_TELLS};
        bench_add(m->file, &row);
        unbind(m, &b);
    }
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    bench_file file;
    machine m;
    const int status = machine_open(&m, MACHINE_GPU, "scan", argc, argv, &file);

    if (status != 0)
        return status;
    machine_tell_elements(&m);
    for (size_t k = 0; k < COUNT(cases); k++)
        if (machine_wants(&m, cases[k].name))
            run_case(&m, &cases[k]);
    bench_host(&m);
    (void)machine_close(&m);
    return 0;
}
