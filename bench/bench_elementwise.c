/*
 * bench_elementwise.c - how close elementwise kernels come to what the GPU allows.
 *
 *     bench_elementwise [--out DIR] [--commit ID] [--device cuda:N] [--only PREFIX] [--scale N]
 *
 * Bandwidth: for each case the best hand-written kernel that moves the same bytes is found first;
 * then it and kiln run alternately, back to back on one stream, 31 times each, and the medians of
 * the times between events are compared. Operands hold 1 GiB (divided by --scale).
 *
 * Host time, first calls and the pool are in bench_calls.c. Without a usable GPU the program says
 * so and ends with status 77.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_calls.h"
#include "gpu.h"
#include "limits.h"
#include "machine.h"

enum { OPERANDS_MAX = 9 };

static int64_t operand_bytes; /* of a full operand: 1 GiB over --scale */

/* ---- one case ---- */

static void run_launch(void *launch)
{
    REQUIRE(kiln_launch_run(launch, NULL, &bench_err));
}

/* What a case is called and how it is judged. */
typedef struct title {
    const char *name, *label;
    double target;
} title;

/* Compare one kiln call with the limit for `bytes` and report GB/s. */
static void run_case(const machine *m, const title *t, kiln_elementwise *op, const kiln_arg *args,
                     size_t count, const limit_case *limit, int64_t bytes)
{
    limit_kernel by_hand;
    kiln_launch *launch = NULL;
    double limit_ms, kiln_ms;
    bench_row row = {.name = t->name,
                     .label = t->label,
                     .unit = "GB/s",
                     .rule = BENCH_AT_LEAST,
                     .target = t->target};

    REQUIRE(kiln_elementwise_prepare(op, args, count, NULL, &launch, &bench_err));
    limit_find(limit, m->device->target, m->stream, &by_hand);
    run_launch(launch);
    limit_launch(limit, &by_hand, m->stream);
    machine_against_limit(m, limit, &by_hand, run_launch, launch, &limit_ms, &kiln_ms);
    row.kiln = (double)bytes / kiln_ms / 1e6;
    row.limit = (double)bytes / limit_ms / 1e6;
    row.note = by_hand.note;
    bench_add(m->file, &row);
    limit_end(&by_hand);
    kiln_launch_destroy(launch);
}

static kiln_elementwise *define(const machine *m, const char *in, const char *out, const char *op)
{
    kiln_elementwise *made = NULL;

    REQUIRE(kiln_elementwise_create(m->ctx, in, out, op, NULL, &made, &bench_err));
    return made;
}

/* An array of small varying values: neither zeros nor random, as measured data is. */
static kiln_array *filled(const machine *m, kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *a = NULL;
    kiln_elementwise *fill = define(m, "", "T z", "z = T(int(i % 7) + 1)");

    REQUIRE(kiln_array_empty(m->ctx, dtype, rank, shape, &a, &bench_err));
    REQUIRE(kiln_call(fill, &bench_err, a));
    kiln_elementwise_destroy(fill);
    return a;
}

static void streams(limit_case *c, size_t reads, size_t writes, int width, int64_t bytes_each,
                    kiln_array *const *arrays)
{
    memset(c, 0, sizeof *c);
    c->read_count = reads;
    c->write_count = writes;
    c->accesses = bytes_each / width;
    for (size_t k = 0; k < reads + writes; k++) {
        c->width[k] = (uint8_t)width;
        c->address[k] = kiln_array_data(arrays[k]);
    }
}

/* ---- linear ---- */

static void bench_linear(const machine *m)
{
    static const struct {
        kiln_dtype dtype;
        title title;
    } cases[] = {
        {KILN_FLOAT32, {"linear_float32", "x*y+1 float32", 0.97}},
        {KILN_FLOAT64, {"linear_float64", "x*y+1 float64", 0.97}},
        {KILN_COMPLEX64, {"linear_complex64", "x*y+1 complex64", 0.97}},
        {KILN_COMPLEX128, {"linear_complex128", "x*y+1 complex128", 0.97}},
        {KILN_FLOAT16, {"linear_float16", "x*y+1 float16", 0.95}},
        {KILN_BFLOAT16, {"linear_bfloat16", "x*y+1 bfloat16", 0.95}},
        {KILN_INT8, {"linear_int8", "x*y+1 int8", 0.95}},
    };
    kiln_elementwise *op = define(m, "T x, T y", "T z", "z = x * y + T(1)");

    for (size_t k = 0; k < COUNT(cases); k++) {
        int64_t shape[] = {operand_bytes / (int64_t)kiln_dtype_size(cases[k].dtype)};
        kiln_array *a[3];
        limit_case limit;

        if (!machine_wants(m, cases[k].title.name))
            continue;
        for (int p = 0; p < 3; p++)
            a[p] = filled(m, cases[k].dtype, 1, shape);
        streams(&limit, 2, 1, 16, operand_bytes, a);
        run_case(m, &cases[k].title, op, KILN_ARGS(a[0], a[1], a[2]), &limit, 3 * operand_bytes);
        for (int p = 0; p < 3; p++)
            kiln_array_release(a[p]);
    }
    kiln_elementwise_destroy(op);
}

static void bench_widening(const machine *m)
{
    static const title t = {"linear_int8_to_float32", "x*y+1 int8 -> float32", 0.95};
    int64_t shape[] = {operand_bytes / 4};
    kiln_elementwise *op;
    kiln_array *a[3];
    limit_case limit;

    if (!machine_wants(m, t.name))
        return;
    op = define(m, "int8 x, int8 y", "float32 z", "z = float(x) * float(y) + 1.0f");
    for (int p = 0; p < 3; p++)
        a[p] = filled(m, p < 2 ? KILN_INT8 : KILN_FLOAT32, 1, shape);
    streams(&limit, 2, 1, 4, shape[0], a);
    limit.width[2] = 16;
    run_case(m, &t, op, KILN_ARGS(a[0], a[1], a[2]), &limit, 6 * shape[0]);
    for (int p = 0; p < 3; p++)
        kiln_array_release(a[p]);
    kiln_elementwise_destroy(op);
}

static void bench_misaligned(const machine *m)
{
    static const title t = {"misaligned", "x[1:], y[3:] float32", 0.93};
    int64_t whole[] = {operand_bytes / 4 + 4}, shape[] = {operand_bytes / 4};
    kiln_elementwise *op;
    kiln_array *a[3], *x = NULL, *y = NULL;
    limit_case limit;

    if (!machine_wants(m, t.name))
        return;
    op = define(m, "T x, T y", "T z", "z = x * y + T(1)");
    a[0] = filled(m, KILN_FLOAT32, 1, whole);
    a[1] = filled(m, KILN_FLOAT32, 1, whole);
    a[2] = filled(m, KILN_FLOAT32, 1, shape);
    REQUIRE(kiln_array_slice(a[0], 0, 1, 1 + shape[0], 1, &x, &bench_err));
    REQUIRE(kiln_array_slice(a[1], 0, 3, 3 + shape[0], 1, &y, &bench_err));
    streams(&limit, 2, 1, 16, operand_bytes, a);
    run_case(m, &t, op, KILN_ARGS(x, y, a[2]), &limit, 3 * operand_bytes);
    kiln_array_release(x);
    kiln_array_release(y);
    for (int p = 0; p < 3; p++)
        kiln_array_release(a[p]);
    kiln_elementwise_destroy(op);
}

static void bench_every_second(const machine *m)
{
    static const title t = {"every_second", "x[::2] float32 (bytes touched)", 0.90};
    int64_t whole[] = {operand_bytes / 4}, half[] = {operand_bytes / 8};
    kiln_elementwise *op;
    kiln_array *a[3], *x = NULL;
    limit_case limit;

    if (!machine_wants(m, t.name))
        return;
    op = define(m, "T x, T y", "T z", "z = x * y + T(1)");
    a[0] = filled(m, KILN_FLOAT32, 1, whole);
    a[1] = filled(m, KILN_FLOAT32, 1, half);
    a[2] = filled(m, KILN_FLOAT32, 1, half);
    REQUIRE(kiln_array_slice(a[0], 0, KILN_SLICE_OPEN, KILN_SLICE_OPEN, 2, &x, &bench_err));
    /* Both halves of x pass through the memory, whether the kernel wants them or not. */
    streams(&limit, 3, 1, 16, operand_bytes / 2, (kiln_array *const[]){a[0], a[0], a[1], a[2]});
    limit.address[1] = (char *)kiln_array_data(a[0]) + operand_bytes / 2;
    run_case(m, &t, op, KILN_ARGS(x, a[1], a[2]), &limit, 2 * operand_bytes);
    kiln_array_release(x);
    for (int p = 0; p < 3; p++)
        kiln_array_release(a[p]);
    kiln_elementwise_destroy(op);
}

static void bench_six_three(const machine *m)
{
    static const title t = {"six_three", "6 inputs, 3 outputs float32", 0.95};
    int64_t shape[] = {operand_bytes / 4};
    kiln_elementwise *op;
    kiln_array *a[9];
    limit_case limit;

    if (!machine_wants(m, t.name))
        return;
    op = define(m, "T a, T b, T c, T d, T e, T f", "T p, T q, T r",
                "p = a * b + c; q = d * e + f; r = a - f");
    for (int p = 0; p < 9; p++)
        a[p] = filled(m, KILN_FLOAT32, 1, shape);
    streams(&limit, 6, 3, 16, operand_bytes, a);
    run_case(m, &t, op, KILN_ARGS(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]), &limit,
             9 * operand_bytes);
    for (int p = 0; p < 9; p++)
        kiln_array_release(a[p]);
    kiln_elementwise_destroy(op);
}

/* ---- two and three axes ---- */

/* The side of a square float32 matrix of one operand. */
static int64_t side(void)
{
    int64_t n = 16384;

    while (n * n * 4 > operand_bytes)
        n /= 2;
    return n;
}

static void bench_broadcast(const machine *m)
{
    static const title titles[] = {{"row_broadcast", "row broadcast 16384^2 float32", 0.95},
                                   {"column_broadcast", "column broadcast 16384^2 float32", 0.95}};
    int64_t n = side(), shape[] = {n, n}, narrow[2][2] = {{1, n}, {n, 1}};
    kiln_elementwise *op = define(m, "T x, T y", "T z", "z = x * y + T(1)");

    for (int k = 0; k < 2; k++) {
        kiln_array *x, *y, *z;
        limit_case limit;

        if (!machine_wants(m, titles[k].name))
            continue;
        x = filled(m, KILN_FLOAT32, 2, shape);
        y = filled(m, KILN_FLOAT32, 2, narrow[k]);
        z = filled(m, KILN_FLOAT32, 2, shape);
        streams(&limit, 1, 1, 16, n * n * 4, (kiln_array *const[]){x, z});
        run_case(m, &titles[k], op, KILN_ARGS(x, y, z), &limit, 2 * n * n * 4);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(z);
    }
    kiln_elementwise_destroy(op);
}

/* x is seen through permuted axes; y and z lie in C-order. */
static void bench_permuted(const machine *m)
{
    static const struct {
        title title;
        kiln_axes axes;
    } cases[] = {
        {{"transposed", "x.T 16384^2 float32", 0.85}, {2, {1, 0}}},
        {{"permuted_210", "x.transpose(2, 1, 0) float32", 0.80}, {3, {2, 1, 0}}},
        {{"permuted_021", "x.transpose(0, 2, 1) float32", 0.80}, {3, {0, 2, 1}}},
        {{"permuted_102", "x.transpose(1, 0, 2) float32", 0.80}, {3, {1, 0, 2}}},
        {{"permuted_201", "x.transpose(2, 0, 1) float32", 0.80}, {3, {2, 0, 1}}},
        {{"permuted_120", "x.transpose(1, 2, 0) float32", 0.80}, {3, {1, 2, 0}}},
    };
    int64_t n = side(), shapes[2][3] = {{n, n, 1}, {640 * n / 16384, 768, 544}};
    kiln_elementwise *op = define(m, "T x, T y", "T z", "z = x * y + T(1)");

    for (size_t k = 0; k < COUNT(cases); k++) {
        const int64_t *shape = shapes[cases[k].axes.count - 2];
        int64_t seen[3], bytes = 4;
        kiln_array *base, *x = NULL, *y, *z;
        limit_case limit;

        if (!machine_wants(m, cases[k].title.name))
            continue;
        base = filled(m, KILN_FLOAT32, cases[k].axes.count, shape);
        REQUIRE(kiln_array_transpose(base, &cases[k].axes, &x, &bench_err));
        for (int a = 0; a < cases[k].axes.count; a++) {
            seen[a] = shape[cases[k].axes.axis[a]];
            bytes *= seen[a];
        }
        y = filled(m, KILN_FLOAT32, cases[k].axes.count, seen);
        z = filled(m, KILN_FLOAT32, cases[k].axes.count, seen);
        streams(&limit, 2, 1, 16, bytes, (kiln_array *const[]){base, y, z});
        limit.accesses -= limit.accesses % 4096;
        run_case(m, &cases[k].title, op, KILN_ARGS(x, y, z), &limit, 3 * bytes);
        kiln_array_release(base);
        kiln_array_release(x);
        kiln_array_release(y);
        kiln_array_release(z);
    }
    kiln_elementwise_destroy(op);
}

/* x is seen through permuted axes, z lies in C-order: elements of several sizes, rows that begin
 * anywhere, and axes as short as an image's channels. */
static const struct {
    title title;
    kiln_dtype dtype;
    kiln_axes axes;
    int64_t shape[4];
} turned[] = {
    {{"turned_float16", "x.T 16384^2 float16", 0.88}, KILN_FLOAT16, {2, {1, 0}}, {16384, 16384}},
    {{"turned_int8", "x.T 16384^2 int8", 0.88}, KILN_INT8, {2, {1, 0}}, {16384, 16384}},
    {{"turned_odd_int8", "x.T 16383 x 16385 int8", 0.88}, KILN_INT8, {2, {1, 0}}, {16383, 16385}},
    {{"turned_odd_float16", "x.T 8191 x 8193 float16", 0.88},
     KILN_FLOAT16,
     {2, {1, 0}},
     {8191, 8193}},
    {{"turned_odd_bfloat16", "x.T 16383 x 16385 bfloat16", 0.88},
     KILN_BFLOAT16,
     {2, {1, 0}},
     {16383, 16385}},
    {{"turned_odd_float32", "x.T 8191 x 8193 float32", 0.88},
     KILN_FLOAT32,
     {2, {1, 0}},
     {8191, 8193}},
    {{"turned_complex64", "x.T 8192^2 complex64", 0.88}, KILN_COMPLEX64, {2, {1, 0}}, {8192, 8192}},
    {{"turned_odd_complex64", "x.T 8191 x 8193 complex64", 0.88},
     KILN_COMPLEX64,
     {2, {1, 0}},
     {8191, 8193}},
    {{"planes_3", "NHWC -> NCHW, 3 channels float32", 0.88},
     KILN_FLOAT32,
     {4, {0, 3, 1, 2}},
     {128, 512, 512, 3}},
    {{"planes_12", "NHWC -> NCHW, 12 channels float32", 0.88},
     KILN_FLOAT32,
     {4, {0, 3, 1, 2}},
     {64, 512, 512, 12}},
    {{"planes_12_float16", "NHWC -> NCHW, 12 channels float16", 0.88},
     KILN_FLOAT16,
     {4, {0, 3, 1, 2}},
     {64, 512, 512, 12}},
    {{"channels_3", "NCHW -> NHWC, 3 channels float32", 0.88},
     KILN_FLOAT32,
     {4, {0, 2, 3, 1}},
     {128, 3, 512, 512}},
    {{"channels_12", "NCHW -> NHWC, 12 channels float32", 0.88},
     KILN_FLOAT32,
     {4, {0, 2, 3, 1}},
     {64, 12, 512, 512}},
};

static void bench_turned(const machine *m)
{
    kiln_elementwise *op = define(m, "T x", "T z", "z = x + T(1)");

    for (size_t k = 0; k < COUNT(turned); k++) {
        const int rank = turned[k].axes.count;
        const int64_t *shape = turned[k].shape;
        int64_t seen[4], bytes = (int64_t)kiln_dtype_size(turned[k].dtype);
        kiln_array *base, *x = NULL, *z;
        limit_case limit;

        if (!machine_wants(m, turned[k].title.name))
            continue;
        base = filled(m, turned[k].dtype, rank, shape);
        REQUIRE(kiln_array_transpose(base, &turned[k].axes, &x, &bench_err));
        for (int a = 0; a < rank; a++) {
            seen[a] = shape[turned[k].axes.axis[a]];
            bytes *= seen[a];
        }
        z = filled(m, turned[k].dtype, rank, seen);
        streams(&limit, 1, 1, 16, bytes, (kiln_array *const[]){base, z});
        limit.accesses -= limit.accesses % 4096;
        run_case(m, &turned[k].title, op, KILN_ARGS(x, z), &limit, 2 * bytes);
        kiln_array_release(base);
        kiln_array_release(x);
        kiln_array_release(z);
    }
    kiln_elementwise_destroy(op);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    bench_file file;
    machine m;
    const char *child = bench_option(argc, argv, "child");
    int status;

    if (child != NULL)
        return bench_calls_child(child, argc, argv);
    status = machine_open(&m, MACHINE_GPU, "elementwise", argc, argv, &file);
    if (status != 0)
        return status;
    operand_bytes = (INT64_C(1) << 30) / m.scale;
    bench_fact(&file, "operand_bytes", m.scale == 1 ? "1 GiB" : "scaled down");
    bench_linear(&m);
    bench_widening(&m);
    bench_misaligned(&m);
    bench_broadcast(&m);
    bench_permuted(&m);
    bench_turned(&m);
    bench_every_second(&m);
    bench_six_three(&m);
    (void)kiln_context_pool_trim(m.ctx);
    if (machine_wants(&m, "call") || machine_wants(&m, "first") || machine_wants(&m, "pool"))
        bench_calls(m.ctx, &file, argv[0]);
    (void)machine_close(&m);
    return 0;
}
