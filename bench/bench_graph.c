/*
 * bench_graph.c - how close recorded graphs come to moving their bytes once.
 *
 *     bench_graph [--out DIR] [--commit ID] [--device cuda:N | cpu] [--only PREFIX] [--scale N]
 *
 * Pipelines of 2^28 elements (divided by --scale) of float32, some of float16 and bfloat16 too,
 * rounded after every operation and wide (docs/graphs.md). The limit of a pipeline is the best
 * hand-written kernel that reads its inputs and writes its outputs once (limits.h; reader.h for
 * those that write next to nothing): it and kiln run alternately on one stream, and the medians are
 * compared. Beside them: positions (the table of the NIPS 2017 workshop paper on CuPy), host time
 * of calls against elementwise calls, and a first call on an empty cache against NVRTC's time for
 * axpy.
 *
 * On the cpu device there is no limit; bench/peers_graph.py adds NumPy and numexpr to the rows. Set
 * $KILN_CACHE_DIR to an empty folder. Without the device asked for the program ends with status 77.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "gpu.h"
#include "limits.h"
#include "machine.h"
#include "reader.h"

enum { CPU_ROUNDS = 7, INPUTS_MAX = 8, OUTPUTS_MAX = 3, ARGS_MAX = 12 };

typedef kiln_node node;

/* ---- pipelines ---- */

typedef struct pipeline {
    const char *name, *label;
    void (*record)(kiln_graph *g);
    int inputs, outputs;
    int64_t rows, columns; /* 2-D; rows are scaled */
    int reads, writes;     /* arrays of that shape that must be moved */
    double target;         /* of the limit's time */
} pipeline;

/* What the elements of a pipeline are. */
typedef struct element {
    const char *suffix, *label; /* of the row's name and label */
    kiln_dtype dtype;
    int wide;
} element;

static const element elements[] = {
    {"", "", KILN_FLOAT32, 0},
    {"_float16", ", float16", KILN_FLOAT16, -1},
    {"_bfloat16", ", bfloat16", KILN_BFLOAT16, -1},
    {"_wide_float16", ", float16 wide", KILN_FLOAT16, 1},
    {"_wide_bfloat16", ", bfloat16 wide", KILN_BFLOAT16, 1},
};

static node in(kiln_graph *g, const char *name)
{
    return kiln_graph_input(g, name);
}

static void record_chain(kiln_graph *g)
{
    node x = in(g, "x"), y = in(g, "y"), xx = kiln_multiply(x, x);
    node length = kiln_sqrt(kiln_add(xx, kiln_multiply(y, y)));
    node r = kiln_multiply(length, kiln_exp(kiln_negative(x)));
    kiln_graph_output(g, "z", kiln_add(r, kiln_divide(kiln_tanh(y), kiln_add(1, xx))));
}

static void record_sum(kiln_graph *g)
{
    node x = in(g, "x"), y = in(g, "y");
    node r = kiln_sqrt(kiln_add(kiln_multiply(x, x), kiln_multiply(y, y)));
    kiln_graph_output(g, "z", kiln_sum(kiln_multiply(r, kiln_exp(kiln_negative(x))), KILN_AXES(1)));
}

static void record_norm(kiln_graph *g)
{
    node x = in(g, "x");
    kiln_graph_output(g, "z", kiln_sqrt(kiln_sum(kiln_multiply(x, x), KILN_ALL_AXES)));
}

static void record_softmax(kiln_graph *g)
{
    node x = in(g, "x"), e = kiln_exp(kiln_subtract(x, kiln_max_keep(x, KILN_AXES(1))));
    kiln_graph_output(g, "z", kiln_divide(e, kiln_sum_keep(e, KILN_AXES(1))));
}

static void record_logsumexp(kiln_graph *g)
{
    node x = in(g, "x"), m = kiln_max_keep(x, KILN_AXES(1));
    node s = kiln_sum_keep(kiln_exp(kiln_subtract(x, m)), KILN_AXES(1));
    kiln_graph_output(g, "z", kiln_add(kiln_log(s), m));
}

static void record_distances(kiln_graph *g)
{
    node d = kiln_subtract(kiln_newaxis(in(g, "x"), 1), kiln_newaxis(in(g, "y"), 0));
    kiln_graph_output(g, "z", kiln_sum(kiln_multiply(d, d), KILN_AXES(2)));
}

static void record_log_softmax(kiln_graph *g)
{
    node x = in(g, "x"), d = kiln_subtract(x, kiln_max_keep(x, KILN_AXES(1)));
    kiln_graph_output(g, "z", kiln_subtract(d, kiln_log(kiln_sum_keep(kiln_exp(d), KILN_AXES(1)))));
}

static void record_layer_norm(kiln_graph *g)
{
    node x = in(g, "x");
    node d = kiln_subtract(x, kiln_mean_keep(x, KILN_AXES(1)));
    node s = kiln_sqrt(kiln_add(kiln_var_keep(x, KILN_AXES(1)), 1e-5));
    kiln_graph_output(g, "z", kiln_divide(d, s));
}

static void record_moments_0(kiln_graph *g)
{
    node x = in(g, "x");
    kiln_graph_output(g, "mean", kiln_mean(x, KILN_AXES(0)));
    kiln_graph_output(g, "var", kiln_var(x, KILN_AXES(0)));
}

static void record_moments_1(kiln_graph *g)
{
    node x = in(g, "x");
    kiln_graph_output(g, "mean", kiln_mean(x, KILN_AXES(1)));
    kiln_graph_output(g, "var", kiln_var(x, KILN_AXES(1)));
}

static node sigmoid(node x)
{
    return kiln_divide(1, kiln_add(1, kiln_exp(kiln_negative(x))));
}

static void record_lstm(kiln_graph *g)
{
    node i = in(g, "i"), f = in(g, "f"), u = in(g, "u"), o = in(g, "o"), c = in(g, "c");
    node next = kiln_add(kiln_multiply(sigmoid(f), c), kiln_multiply(sigmoid(i), kiln_tanh(u)));
    kiln_graph_output(g, "c1", next);
    kiln_graph_output(g, "h1", kiln_multiply(sigmoid(o), kiln_tanh(next)));
}

static void record_adam(kiln_graph *g)
{
    node p = in(g, "p"), d = in(g, "d"), m = in(g, "m"), v = in(g, "v");
    node m1 = kiln_add(kiln_multiply(m, 0.9), kiln_multiply(d, 0.1));
    node v1 = kiln_add(kiln_multiply(v, 0.999), kiln_multiply(kiln_multiply(d, d), 0.001));
    node step = kiln_divide(kiln_multiply(m1, 0.001), kiln_add(kiln_sqrt(v1), 1e-8));
    kiln_graph_output(g, "p1", kiln_subtract(p, step));
    kiln_graph_output(g, "m1", m1);
    kiln_graph_output(g, "v1", v1);
}

static node normal(node x)
{
    return kiln_multiply(0.5, kiln_add(1, kiln_erf(kiln_multiply(x, 0.70710678118654752))));
}

static void record_black_scholes(kiln_graph *g)
{
    node s = in(g, "s"), k = in(g, "k"), t = in(g, "t");
    node root = kiln_multiply(0.3, kiln_sqrt(t));
    node d1 = kiln_divide(kiln_add(kiln_log(kiln_divide(s, k)), kiln_multiply(t, 0.065)), root);
    node d2 = kiln_subtract(d1, root);
    node discounted = kiln_multiply(k, kiln_exp(kiln_multiply(t, -0.02)));
    node call = kiln_subtract(kiln_multiply(s, normal(d1)), kiln_multiply(discounted, normal(d2)));
    kiln_graph_output(g, "call", call);
    kiln_graph_output(g, "put", kiln_subtract(kiln_add(call, discounted), s));
}

static void record_gelu(kiln_graph *g)
{
    node x = in(g, "x"), cube = kiln_multiply(kiln_multiply(x, x), x);
    node inner = kiln_multiply(0.7978845608, kiln_add(x, kiln_multiply(0.044715, cube)));
    kiln_graph_output(g, "z", kiln_multiply(kiln_multiply(0.5, x), kiln_add(1, kiln_tanh(inner))));
}

static void record_silu(kiln_graph *g)
{
    node x = in(g, "x");
    kiln_graph_output(g, "z", kiln_divide(x, kiln_add(1, kiln_exp(kiln_negative(x)))));
}

static void record_mean_square(kiln_graph *g)
{
    node d = kiln_subtract(in(g, "x"), in(g, "y"));
    kiln_graph_output(g, "z", kiln_mean(kiln_multiply(d, d), KILN_ALL_AXES));
}

static void record_rms_norm(kiln_graph *g)
{
    node x = in(g, "x"), square = kiln_mean_keep(kiln_multiply(x, x), KILN_AXES(1));
    kiln_graph_output(g, "z", kiln_divide(x, kiln_sqrt(kiln_add(square, 1e-6))));
}

static void record_stencil(kiln_graph *g)
{
    node x = in(g, "x");
    node rows = kiln_slice(x, 0, 1, -1, 1), columns = kiln_slice(x, 1, 1, -1, 1);
    node up = kiln_slice(columns, 0, KILN_SLICE_OPEN, -2, 1);
    node down = kiln_slice(columns, 0, 2, KILN_SLICE_OPEN, 1);
    node left = kiln_slice(rows, 1, KILN_SLICE_OPEN, -2, 1);
    node right = kiln_slice(rows, 1, 2, KILN_SLICE_OPEN, 1);
    node around = kiln_add(kiln_add(up, down), kiln_add(left, right));
    node here = kiln_slice(rows, 1, 1, -1, 1);
    kiln_graph_output(g, "z", kiln_subtract(around, kiln_multiply(here, 4)));
}

#define SIDE (INT64_C(1) << 14)
static const pipeline pipelines[] = {
    {"chain", "sqrt(x*x+y*y)*exp(-x)+tanh(y)/(1+x*x)", record_chain, 2, 1, SIDE, SIDE, 2, 1, 1.03},
    {"sum_chain_1", "sum(sqrt(x*x+y*y)*exp(-x), axis=1)", record_sum, 2, 1, SIDE, SIDE, 2, 0, 1.04},
    {"norm", "sqrt(sum(x*x))", record_norm, 1, 1, SIDE, SIDE, 1, 0, 1.04},
    {"softmax_16384", "softmax, rows of 16384", record_softmax, 1, 1, SIDE, SIDE, 1, 1, 1.08},
    {"softmax_1000", "softmax, rows of 1000", record_softmax, 1, 1, 1 << 18, 1000, 1, 1, 1.10},
    {"softmax_131072", "softmax, rows of 131072", record_softmax, 1, 1, 2048, 1 << 17, 1, 1, 1.6},
    {"softmax_50257", "softmax, rows of 50257", record_softmax, 1, 1, 5340, 50257, 1, 1, 1.14},
    {"logsumexp_50257", "logsumexp, rows of 50257", record_logsumexp, 1, 1, 5340, 50257, 1, 0,
     1.14},
    {"layer_norm_50257", "layer norm, rows of 50257", record_layer_norm, 1, 1, 5340, 50257, 1, 1,
     1.14},
    {"log_softmax_16384", "log-softmax, rows of 16384", record_log_softmax, 1, 1, SIDE, SIDE, 1, 1,
     1.08},
    {"log_softmax_1000", "log-softmax, rows of 1000", record_log_softmax, 1, 1, 1 << 18, 1000, 1, 1,
     1.10},
    {"layer_norm_16384", "layer norm, rows of 16384", record_layer_norm, 1, 1, SIDE, SIDE, 1, 1,
     1.08},
    {"layer_norm_1000", "layer norm, rows of 1000", record_layer_norm, 1, 1, 1 << 18, 1000, 1, 1,
     1.10},
    {"layer_norm_131072", "layer norm, rows of 131072", record_layer_norm, 1, 1, 2048, 1 << 17, 1,
     1, 1.6},
    {"moments_0", "mean and var, axis 0", record_moments_0, 1, 2, SIDE, SIDE, 1, 0, 1.06},
    {"moments_1", "mean and var, axis 1", record_moments_1, 1, 2, SIDE, SIDE, 1, 0, 1.06},
    {"lstm", "LSTM cell, pointwise part", record_lstm, 5, 2, SIDE, SIDE, 5, 2, 1.05},
    {"adam", "Adam step", record_adam, 4, 3, SIDE, SIDE, 4, 3, 1.05},
    {"black_scholes", "Black-Scholes, call and put", record_black_scholes, 3, 2, SIDE, SIDE, 3, 2,
     1.05},
};

/* In float32 and as 16-bit floats. */
static const pipeline of_halves[] = {
    {"stencil", "5-point stencil of slices", record_stencil, 1, 1, SIDE, SIDE, 1, 1, 1.05},
    {"gelu", "gelu", record_gelu, 1, 1, SIDE, SIDE, 1, 1, 1.11},
    {"silu", "silu", record_silu, 1, 1, SIDE, SIDE, 1, 1, 1.11},
    {"mean_square", "mean((x-y)**2)", record_mean_square, 2, 1, SIDE, SIDE, 2, 0, 1.08},
    {"rms_norm_4096", "RMS norm, rows of 4096", record_rms_norm, 1, 1, 1 << 16, 4096, 1, 1, 1.11},
    {"layer_norm_768", "layer norm, rows of 768", record_layer_norm, 1, 1, 1 << 18, 768, 1, 1,
     1.11},
    {"softmax_768", "softmax, rows of 768", record_softmax, 1, 1, 1 << 18, 768, 1, 1, 1.11},
    {"softmax_4096", "softmax, rows of 4096", record_softmax, 1, 1, 1 << 16, 4096, 1, 1, 1.11},
};

/* ---- one pipeline ---- */

typedef struct bound {
    kiln_graph *graph;
    kiln_array *in[INPUTS_MAX], *out[OUTPUTS_MAX];
    kiln_arg args[ARGS_MAX];
    size_t count;
} bound;

static void call_once(bound *b)
{
    REQUIRE(kiln_graph_run(b->graph, b->args, b->count, NULL, &bench_err));
}

static void bind(const machine *m, const pipeline *p, const element *of, bound *b)
{
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    const int64_t shape[] = {p->rows / m->scale, p->columns};
    kiln_elementwise *fill = NULL;
    memset(b, 0, sizeof *b);
    REQUIRE(kiln_elementwise_create(m->ctx, "", "T z", "z = T(int(i % 61) + 1) / T(31)", NULL,
                                    &fill, &bench_err));
    opts.wide = of->wide;
    REQUIRE(kiln_graph_create(m->ctx, &opts, &b->graph, &bench_err));
    p->record(b->graph);
    REQUIRE(kiln_graph_compile(b->graph, &bench_err));
    for (int k = 0; k < p->inputs; k++) {
        REQUIRE(kiln_array_empty(m->ctx, of->dtype, 2, shape, &b->in[k], &bench_err));
        REQUIRE(kiln_call(fill, &bench_err, b->in[k]));
        b->args[b->count++] = kiln_arg_array(b->in[k]);
    }
    for (int k = 0; k < p->outputs; k++)
        b->args[b->count++] = kiln_arg_out(&b->out[k]);
    call_once(b); /* compiles, and allocates the outputs */
    REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
    kiln_elementwise_destroy(fill);
}

static void unbind(const machine *m, bound *b)
{
    for (int k = 0; k < INPUTS_MAX; k++)
        kiln_array_release(b->in[k]);
    for (int k = 0; k < OUTPUTS_MAX; k++)
        kiln_array_release(b->out[k]);
    kiln_graph_destroy(b->graph);
    (void)kiln_context_pool_trim(m->ctx);
}

/* What a pipeline is compared with: a kernel that moves its bytes. */
typedef struct limit {
    limit_case moved;
    limit_kernel kernel;
    reader reading;
    bool reads_only;
    int64_t bytes;
} limit;

static void limit_prepare(const machine *m, const pipeline *p, const element *of, const bound *b,
                          limit *l)
{
    const int64_t each = p->rows / m->scale * p->columns * (int64_t)kiln_dtype_size(of->dtype);
    memset(l, 0, sizeof *l);
    l->bytes = each * (p->reads + p->writes);
    l->reads_only = p->writes == 0;
    if (l->reads_only) { /* one array, as often as there are */
        reader_find(m->device, m->stream, kiln_array_data(b->in[0]), each, &l->reading);
        return;
    }
    l->moved.read_count = (size_t)p->reads;
    l->moved.write_count = (size_t)p->writes;
    l->moved.accesses = each / 16 / 4096 * 4096;
    for (int k = 0; k < p->reads + p->writes; k++) {
        l->moved.width[k] = 16;
        l->moved.address[k] = kiln_array_data(k < p->reads ? b->in[k] : b->out[k - p->reads]);
    }
    if (p->record == record_stencil) /* its output is a little smaller than its input */
        l->moved.accesses = l->moved.accesses / 4096 * 4090 / 4096 * 4096;
    limit_find(&l->moved, m->device->target, m->stream, &l->kernel);
}

/* The limit and the graph, as machine_alternate() runs them. */
typedef struct sides {
    const machine *m;
    const pipeline *p;
    bound *b;
    const limit *l;
} sides;

static void side_by_hand(void *argument)
{
    const sides *s = argument;

    if (!s->l->reads_only) {
        limit_launch(&s->l->moved, &s->l->kernel, s->m->stream);
        return;
    }
    for (int k = 0; k < s->p->reads; k++)
        reader_launch(&s->l->reading, kiln_array_data(s->b->in[k]), s->l->bytes / s->p->reads,
                      s->m->stream);
}

static void side_kiln(void *argument)
{
    const sides *s = argument;

    call_once(s->b);
}

static double measure_cpu(const machine *m, bound *b)
{
    double ms[CPU_ROUNDS];
    for (int k = 0; k < CPU_ROUNDS; k++) {
        const double begin = bench_now_us();
        call_once(b);
        REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
        ms[k] = (bench_now_us() - begin) / 1000;
    }
    return bench_median(ms, CPU_ROUNDS);
}

static void run_pipeline(const machine *m, const pipeline *p, const element *of)
{
    bound b;
    limit l;
    double limit_ms = 0, kiln_ms;
    char note[96], name[96], label[160];
    size_t kernels = 0;
    const int64_t bytes = p->rows / m->scale * p->columns * (int64_t)kiln_dtype_size(of->dtype) *
                          (p->reads + p->writes);
    bench_row row = {.name = name, .label = label, .unit = "GB/s", .rule = BENCH_TELLS};

    snprintf(name, sizeof name, "%s%s", p->name, of->suffix);
    snprintf(label, sizeof label, "%s%s", p->label, of->label);
    bind(m, p, of, &b);
    REQUIRE(kiln_graph_kernel_count(b.graph, b.args, b.count, &kernels, &bench_err));
    if (m->cuda) {
        limit_prepare(m, p, of, &b, &l);
        sides both = {m, p, &b, &l};
        machine_alternate(m, side_by_hand, side_kiln, &both, &limit_ms, &kiln_ms);
        row.limit = (double)l.bytes / limit_ms / 1e6;
        row.rule = BENCH_AT_LEAST;
        row.target = 1 / p->target;
        if (!l.reads_only)
            limit_end(&l.kernel);
    } else {
        kiln_ms = measure_cpu(m, &b);
    }
    row.kiln = (double)bytes / kiln_ms / 1e6;
    snprintf(note, sizeof note, "%zu kernel%s", kernels, kernels == 1 ? "" : "s");
    row.note = note;
    bench_add(m->file, &row);
    unbind(m, &b);
}

/* ---- distances: bound by arithmetic ---- */

/* Squared differences that are computed and added in a second: no limit of bytes applies. */
static void run_distances(const machine *m)
{
    static const pipeline all[] = {{"distances_4096_64", "squared distances, 4096 x 4096 pairs of 64",
                                    record_distances, 2, 1, 4096, 64, 2, 1, 1},
                                   {"distances_8192_128",
                                    "squared distances, 8192 x 8192 pairs of 128",
                                    record_distances, 2, 1, 8192, 128, 2, 1, 1}};
    for (size_t k = 0; k < COUNT(all); k++) {
        const pipeline *p = &all[k];
        const double rows = (double)(p->rows / m->scale);
        double ms = 0, again = 0;
        bound b;
        if (!machine_wants(m, p->name))
            continue;
        bind(m, p, &elements[0], &b);
        sides both = {m, p, &b, NULL};
        if (m->cuda)
            machine_alternate(m, side_kiln, side_kiln, &both, &again, &ms);
        else
            ms = measure_cpu(m, &b);
        const bench_row row = {.name = p->name,
                               .label = p->label,
                               .unit = "G/s",
                               .kiln = rows * rows * (double)p->columns / ms / 1e6,
                               .rule = BENCH_TELLS};
        bench_add(m->file, &row);
        unbind(m, &b);
    }
}

/* ---- positions: arange(n).reshape(1000, -1).T * 2 ---- */

static void run_positions(const machine *m)
{
    for (int64_t n = 10000, k = 4; n <= 100000000; n *= 10, k++) {
        char name[32], label[64];
        double us[MACHINE_ROUNDS];
        kiln_graph *g = NULL;
        kiln_array *out = NULL;
        const int64_t shape[] = {1000, -1};
        snprintf(name, sizeof name, "positions_1e%d", (int)k);
        snprintf(label, sizeof label, "arange(1e%d).reshape(1000, -1).T * 2", (int)k);
        bench_row row = {.name = name, .label = label, .unit = "ms", .rule = BENCH_TELLS};
        if (!machine_wants(m, name) || n / m->scale < 10000)
            continue;
        REQUIRE(kiln_graph_create(m->ctx, NULL, &g, &bench_err));
        kiln_graph_output(
            g, "z",
            kiln_multiply(kiln_transpose(kiln_reshape(kiln_arange(g, n), 2, shape), NULL), 2));
        for (int r = 0; r < MACHINE_ROUNDS; r++) { /* as a user sees it: with the allocation */
            kiln_array_release(out);
            out = NULL;
            const double begin = bench_now_us();
            REQUIRE(kiln_call(g, &bench_err, &out));
            REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
            us[r] = bench_now_us() - begin;
        }
        row.kiln = bench_median(us, MACHINE_ROUNDS) / 1000;
        bench_add(m->file, &row);
        kiln_array_release(out);
        kiln_graph_destroy(g);
    }
}

/* ---- host time ---- */

/* x + 1, x + 2, ... over arrays of different lengths: a graph of as many kernels. */
static kiln_graph *kernels_graph(const machine *m, int count)
{
    kiln_graph *g = NULL;
    REQUIRE(kiln_graph_create(m->ctx, NULL, &g, &bench_err));
    for (int k = 0; k < count; k++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", k);
        node x = kiln_graph_input(g, name);
        snprintf(name, sizeof name, "y%d", k);
        kiln_graph_output(g, name, kiln_add(kiln_multiply(x, 2), 1));
    }
    REQUIRE(kiln_graph_compile(g, &bench_err));
    return g;
}

/* Graph calls and elementwise calls take turns, and what counts is how much longer the former took
 * than the latter beside them: a launch itself varies by more from one moment to the next. */
enum { BATCHES = 200, BATCH = 30, HOST_KERNELS = 4 };

static void run_host(const machine *m, int count)
{
    kiln_graph *g = kernels_graph(m, count);
    kiln_elementwise *op = NULL;
    kiln_array *x[HOST_KERNELS] = {NULL}, *y[HOST_KERNELS] = {NULL};
    kiln_arg args[2 * HOST_KERNELS];
    double us[2][BATCHES], more[BATCHES];
    char name[32], label[64];
    REQUIRE(kiln_elementwise_create(m->ctx, "T x", "T y", "y = x * T(2) + T(1)", NULL, &op,
                                    &bench_err));
    for (int k = 0; k < count; k++) {
        REQUIRE(kiln_array_ones(m->ctx, KILN_FLOAT32, 1, (int64_t[]){k + 1}, &x[k], &bench_err));
        REQUIRE(kiln_array_ones(m->ctx, KILN_FLOAT32, 1, (int64_t[]){k + 1}, &y[k], &bench_err));
        args[k] = kiln_arg_array(x[k]);
        args[count + k] = kiln_arg_array(y[k]);
    }
    for (int r = 0; r < BATCHES; r++) {
        double begin = bench_now_us();
        for (int call = 0; call < BATCH; call++)
            REQUIRE(kiln_graph_run(g, args, (size_t)(2 * count), NULL, &bench_err));
        us[0][r] = (bench_now_us() - begin) / BATCH;
        REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
        begin = bench_now_us();
        for (int call = 0; call < BATCH; call++)
            for (int k = 0; k < count; k++)
                REQUIRE(kiln_call(op, &bench_err, x[k], y[k]));
        us[1][r] = (bench_now_us() - begin) / BATCH;
        REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
        more[r] = us[0][r] - us[1][r];
    }
    const double plain = bench_least(us[1], BATCHES);
    snprintf(name, sizeof name, "call_graph_%d", count);
    snprintf(label, sizeof label, "a call of %d kernel%s", count, count == 1 ? "" : "s");
    const bench_row row = {.name = name,
                           .label = label,
                           .unit = "us",
                           .kiln = plain + bench_median(more, BATCHES),
                           .limit = plain,
                           .rule = BENCH_OVER_BY,
                           .target = 0.1 * count,
                           .note = "as many elementwise calls, in turns"};
    bench_add(m->file, &row);
    for (int k = 0; k < count; k++)
        kiln_array_release(x[k]), kiln_array_release(y[k]);
    kiln_elementwise_destroy(op);
    kiln_graph_destroy(g);
}

/* ---- planning large graphs ---- */

enum { PLAN_NODES = 10000, PLAN_INPUTS = 4, PLAN_TIMES = 7 };

/* A graph of about PLAN_NODES nodes over PLAN_INPUTS arrays; returns how many outputs it has. */
typedef size_t (*plan_record)(kiln_graph *g, const node *x);

static void plan_output(kiln_graph *g, size_t number, node value)
{
    char name[24];
    snprintf(name, sizeof name, "z%zu", number);
    kiln_graph_output(g, name, value);
}

static size_t plan_chain(kiln_graph *g, const node *x)
{
    node z = x[0];
    for (int k = 0; k < PLAN_NODES / 2; k++)
        z = kiln_add(kiln_multiply(z, 0.5), x[k % PLAN_INPUTS]);
    plan_output(g, 0, z);
    return 1;
}

static size_t plan_tree(kiln_graph *g, const node *x)
{
    static node level[PLAN_NODES / 2];
    int count = PLAN_NODES / 2;
    for (int k = 0; k < count; k++)
        level[k] = kiln_multiply(x[k % PLAN_INPUTS], k + 0.5);
    for (; count > 1; count = (count + 1) / 2) {
        for (int k = 0; 2 * k + 1 < count; k++)
            level[k] = kiln_add(level[2 * k], level[2 * k + 1]);
        level[count / 2] = level[count - 1]; /* of an odd number the last one waits */
    }
    plan_output(g, 0, level[0]);
    return 1;
}

static size_t plan_outputs(kiln_graph *g, const node *x)
{
    for (size_t k = 0; k < PLAN_NODES / 2; k++)
        plan_output(g, k, kiln_add(kiln_multiply(x[k % PLAN_INPUTS], (double)k), x[0]));
    return PLAN_NODES / 2;
}

static size_t plan_reductions(kiln_graph *g, const node *x)
{
    for (size_t k = 0; k < PLAN_NODES / 2; k++)
        plan_output(g, k, kiln_sum(kiln_multiply(x[k % PLAN_INPUTS], (double)k), KILN_AXES(1)));
    return PLAN_NODES / 2;
}

static size_t plan_alternating(kiln_graph *g, const node *x)
{
    node z = x[0];
    for (int k = 0; k < PLAN_NODES / 3; k++)
        z = kiln_multiply(kiln_subtract(z, kiln_mean_keep(z, KILN_AXES(1))), 1.5);
    plan_output(g, 0, z);
    return 1;
}

static size_t plan_diamonds(kiln_graph *g, const node *x)
{
    node z = x[0];
    for (int k = 0; k < PLAN_NODES / 3; k++)
        z = kiln_add(kiln_multiply(z, 0.5), kiln_tanh(z));
    plan_output(g, 0, z);
    return 1;
}

/* From a recorded graph to the text of its kernels, which nothing compiles. */
static void run_plan(const machine *m)
{
    static const struct {
        const char *name;
        const char *label;
        plan_record record;
    } shapes[] = {
        {"plan_chain", "plan 10,000 nodes, a chain", plan_chain},
        {"plan_tree", "plan 10,000 nodes, a tree", plan_tree},
        {"plan_outputs", "plan 10,000 nodes, many outputs", plan_outputs},
        {"plan_reductions", "plan 10,000 nodes, many reductions", plan_reductions},
        {"plan_alternating", "plan 10,000 nodes, reductions in a chain", plan_alternating},
        {"plan_diamonds", "plan 10,000 nodes, diamonds", plan_diamonds}};
    static kiln_arg args[PLAN_INPUTS + PLAN_NODES];
    static kiln_array *out[PLAN_NODES];
    kiln_array *x = NULL;
    REQUIRE(kiln_array_ones(m->ctx, KILN_FLOAT32, 2, (int64_t[]){256, 4096}, &x, &bench_err));
    for (size_t s = 0; s < COUNT(shapes); s++) {
        static const char *const names[PLAN_INPUTS] = {"a", "b", "c", "d"};
        double ms[PLAN_TIMES];
        node inputs[PLAN_INPUTS];
        kiln_graph *g = NULL;
        size_t kernels = 0;
        if (!machine_wants(m, shapes[s].name))
            continue;
        REQUIRE(kiln_graph_create(m->ctx, NULL, &g, &bench_err));
        for (int k = 0; k < PLAN_INPUTS; k++) {
            inputs[k] = in(g, names[k]);
            args[k] = kiln_arg_array(x);
        }
        const size_t outputs = shapes[s].record(g, inputs);
        for (size_t k = 0; k < outputs; k++)
            args[PLAN_INPUTS + k] = kiln_arg_out(&out[k]);
        for (int r = 0; r < PLAN_TIMES; r++) {
            const double begin = bench_now_us();
            REQUIRE(kiln_graph_kernel_count(g, args, PLAN_INPUTS + outputs, &kernels, &bench_err));
            ms[r] = (bench_now_us() - begin) / 1000;
        }
        const bench_row row = {.name = shapes[s].name,
                               .label = shapes[s].label,
                               .unit = "ms",
                               .kiln = bench_median(ms, PLAN_TIMES),
                               .rule = BENCH_AT_MOST,
                               .target = 60};
        bench_add(m->file, &row);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
}

/* ---- first calls ---- */

static const char *const axpy_source =
    "extern \"C\" __global__ void axpy(float a, const float *x, const float *y, float *z, int n)\n"
    "{ int k = blockIdx.x * blockDim.x + threadIdx.x; if (k < n) z[k] = a * x[k] + y[k]; }\n";

/* A pipeline that no cache has seen: recorded, compiled and run, against NVRTC for axpy. */
static void run_first(const machine *m)
{
    enum { TIMES = 7 };
    double ms[TIMES], nvrtc[TIMES];
    const int64_t shape[] = {1000};
    kiln_array *x = NULL;
    REQUIRE(kiln_array_ones(m->ctx, KILN_FLOAT32, 1, shape, &x, &bench_err));
    for (int k = 0; k < TIMES; k++) {
        kiln_graph *g = NULL;
        kiln_array *z = NULL;
        size_t bytes = 0;
        const double factor = (double)(getpid() % 9973) + 0.001 * k + 1;
        const double begin = bench_now_us();
        REQUIRE(kiln_graph_create(m->ctx, NULL, &g, &bench_err));
        node a = in(g, "x"), aa = kiln_multiply(kiln_multiply(a, a), factor);
        node r = kiln_multiply(kiln_sqrt(kiln_add(aa, 1)), kiln_exp(kiln_negative(a)));
        kiln_graph_output(g, "z", kiln_add(r, kiln_divide(kiln_tanh(a), kiln_add(1, aa))));
        REQUIRE(kiln_call(g, &bench_err, x, &z));
        REQUIRE(kiln_context_synchronize(m->ctx, &bench_err));
        ms[k] = (bench_now_us() - begin) / 1000;
        free(gpu_compile(axpy_source, m->device->target, &bytes, &nvrtc[k]));
        kiln_array_release(z);
        kiln_graph_destroy(g);
    }
    kiln_array_release(x);
    const bench_row row = {.name = "first_graph",
                           .label = "first call, empty cache, over NVRTC for axpy",
                           .unit = "x",
                           .kiln = bench_median(ms, TIMES) / (bench_median(nvrtc, TIMES) / 1000),
                           .rule = BENCH_AT_MOST,
                           .target = 4};
    bench_add(m->file, &row);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    machine m;
    bench_file file;
    char scale[32];
    const int status = machine_open(&m, MACHINE_ANY, "graph", argc, argv, &file);
    if (status != 0)
        return status;
    snprintf(scale, sizeof scale, "%lld", (long long)m.scale);
    bench_fact(&file, "scale", scale);
    for (size_t k = 0; k < COUNT(pipelines); k++)
        if (machine_wants(&m, pipelines[k].name))
            run_pipeline(&m, &pipelines[k], &elements[0]);
    for (size_t k = 0; k < COUNT(of_halves); k++)
        for (size_t e = 0; e < COUNT(elements) && machine_wants(&m, of_halves[k].name); e++)
            run_pipeline(&m, &of_halves[k], &elements[e]);
    run_distances(&m);
    run_positions(&m);
    for (int count = 1; count <= HOST_KERNELS && machine_wants(&m, "call_graph"); count += 3)
        run_host(&m, count);
    run_plan(&m);
    if (m.cuda && machine_wants(&m, "first_graph"))
        run_first(&m);
    return machine_close(&m) > 0 ? 1 : 0;
}
