/*
 * bench_rows.c - how close row programs come to reading their rows once and writing them once.
 *
 *     bench_rows [--out DIR] [--commit ID] [--device cuda:N] [--only PREFIX] [--scale N]
 *
 * Softmax, log-softmax and layer norm (with a weight and a bias a column) of 2^28 elements (divided
 * by --scale), in rows of several lengths. The limit is the best hand-written kernel that reads and
 * writes as many bytes (limits.h): it and kiln run alternately on one stream (machine.h), and the
 * medians are compared. Before it is timed, a case's result is compared with a float64 loop over
 * three of its rows. Targets are those of the issue: 1.08 of the limit's time at 16384, 1.10 at
 * 1000, 1.6 at 131072. Without a usable GPU the program says so and ends with status 77.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "gpu.h"
#include "limits.h"
#include "machine.h"

enum { CHECKED_ROWS = 3 };

/* ---- the functions ---- */

typedef enum function { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, FUNCTIONS } function;

static const char *const function_names[] = {"softmax", "log_softmax", "layer_norm"};
static const char *const function_labels[] = {"softmax", "log-softmax", "layer norm"};

#define LARGEST                                                                                    \
    .map = "float(x)", .type = "float", .reduce = "fmaxf(a, b)", .identity = "-INFINITY",          \
    .result = "m"
#define SUM_OF(each) .map = each, .type = "float", .reduce = "a + b", .identity = "0"

static const kiln_row_stage soft_stages[] = {{LARGEST},
                                             {.prep = "e = expf(float(x) - m)",
                                              SUM_OF("e"),
                                              .result = "s",
                                              .post = "const float scale = 1 / s;"}};
static const kiln_row_stage log_stages[] = {{LARGEST},
                                            {SUM_OF("expf(float(x) - m)"),
                                             .result = "s",
                                             .post = "const float shift = m + logf(s)"}};
static const kiln_row_stage norm_stages[] = {
    {SUM_OF("float(x)"), .result = "total", .post = "const float mean = total / n;"},
    {.prep = "const float d = float(x) - mean;",
     SUM_OF("d * d"),
     .result = "squares",
     .post = "const float scale = rsqrtf(squares / n + 1e-5f);"}};

static kiln_row *ops[FUNCTIONS];

static void define_all(const machine *m)
{
    static const kiln_row_value values[] = {{"float", "e"}};
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;

    opts.name = "log_softmax";
    REQUIRE(kiln_row_create(m->ctx, "T x", "T y", log_stages, 2, "y = float(x) - shift", &opts,
                            &ops[LOG_SOFTMAX], &bench_err));
    opts.name = "layer_norm";
    REQUIRE(kiln_row_create(m->ctx, "T x, T w, T b_", "T y", norm_stages, 2,
                            "y = (float(x) - mean) * scale * float(w) + float(b_)", &opts,
                            &ops[LAYER_NORM], &bench_err));
    opts.name = "softmax";
    opts.values = values;
    opts.value_count = 1;
    REQUIRE(kiln_row_create(m->ctx, "T x", "T y", soft_stages, 2, "y = e * scale", &opts,
                            &ops[SOFTMAX], &bench_err));
}

/* One row in float64; weights are 1 + k % 3, biases k % 2. */
static void expect(function f, const float *x, int64_t n, double *y)
{
    double m = -INFINITY, s = 0, mean = 0;

    for (int64_t k = 0; k < n; k++) {
        m = x[k] > m ? (double)x[k] : m;
        mean += (double)x[k] / (double)n;
    }
    for (int64_t k = 0; k < n; k++)
        s += f == LAYER_NORM ? (x[k] - mean) * (x[k] - mean) / (double)n : exp(x[k] - m);
    for (int64_t k = 0; k < n; k++)
        y[k] = f == SOFTMAX       ? exp(x[k] - m) / s
               : f == LOG_SOFTMAX ? x[k] - m - log(s)
                                  : (x[k] - mean) / sqrt(s + 1e-5) * (double)(1 + k % 3) +
                                        (double)(k % 2);
}

/* ---- cases ---- */

typedef struct bench_case {
    int64_t length;
    kiln_dtype dtype;
    double target; /* limit time / kiln time */
} bench_case;

static const bench_case cases[] = {
    {16384, KILN_FLOAT32, 1 / 1.08}, {1000, KILN_FLOAT32, 1 / 1.10},
    {131072, KILN_FLOAT32, 1 / 1.6}, {64, KILN_FLOAT32, 0},
    {4096, KILN_FLOAT32, 0},         {999, KILN_FLOAT32, 0},
    {16384, KILN_FLOAT16, 0},        {1000000, KILN_FLOAT32, 0},
    {50257, KILN_FLOAT32, 0},        {50257, KILN_FLOAT16, 0},
    {7, KILN_FLOAT32, 0},            {16, KILN_FLOAT32, 0},
    {33, KILN_FLOAT32, 0},           {33, KILN_FLOAT16, 0},
};

typedef struct bound {
    kiln_array *x, *w, *b, *y;
    int64_t rows;
} bound;

static kiln_array *filled(const machine *m, const bench_case *c, int rank, const int64_t *shape,
                          const char *op)
{
    kiln_array *a = NULL;
    kiln_elementwise *fill = NULL;

    REQUIRE(kiln_elementwise_create(m->ctx, "", "T z", op, NULL, &fill, &bench_err));
    REQUIRE(kiln_array_empty(m->ctx, c->dtype, rank, shape, &a, &bench_err));
    REQUIRE(kiln_call(fill, &bench_err, a));
    kiln_elementwise_destroy(fill);
    return a;
}

/* Rows times length is near 2^28, so that all lengths move as much. */
static void bind(const machine *m, const bench_case *c, bound *b)
{
    b->rows = (INT64_C(1) << 28) / m->scale / c->length;
    const int64_t shape[2] = {b->rows, c->length};

    b->x = filled(m, c, 2, shape, "z = T(float(i * 2654435761u >> 7 & 1023) / 128 - 4)");
    b->w = filled(m, c, 1, &shape[1], "z = T(1 + int(i % 3))");
    b->b = filled(m, c, 1, &shape[1], "z = T(int(i % 2))");
    REQUIRE(kiln_array_empty(m->ctx, c->dtype, 2, shape, &b->y, &bench_err));
}

static void unbind(bound *b)
{
    kiln_array_release(b->x);
    kiln_array_release(b->w);
    kiln_array_release(b->b);
    kiln_array_release(b->y);
}

static void call_once(function f, const bound *b)
{
    if (f == LAYER_NORM)
        REQUIRE(kiln_call_over(ops[f], KILN_AXES(1), &bench_err, b->x, b->w, b->b, b->y));
    else
        REQUIRE(kiln_call_over(ops[f], KILN_AXES(1), &bench_err, b->x, b->y));
}

/* A row of an array as float32. */
static void fetch_row(const kiln_array *a, int64_t row, int64_t length, float *out)
{
    kiln_array *view = NULL, *wide = NULL;

    REQUIRE(kiln_array_select(a, 0, row, &view, &bench_err));
    REQUIRE(kiln_array_cast(view, KILN_FLOAT32, &wide, &bench_err));
    REQUIRE(kiln_array_to_host(wide, out, (size_t)length * sizeof *out, NULL, &bench_err));
    kiln_array_release(wide);
    kiln_array_release(view);
}

/* End the program when a result is wrong: what is measured must be what was asked for. */
static void check(const bench_case *c, function f, const bound *b)
{
    const size_t n = (size_t)c->length;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    double *want = malloc(n * sizeof *want);
    const double tolerance = c->dtype == KILN_FLOAT32 ? 2e-5 : 1e-2;

    if (x == NULL || y == NULL || want == NULL)
        exit(1);
    for (int r = 0; r < CHECKED_ROWS; r++) {
        const int64_t row = (b->rows - 1) * r / (CHECKED_ROWS - 1);
        fetch_row(b->x, row, c->length, x);
        fetch_row(b->y, row, c->length, y);
        expect(f, x, c->length, want);
        for (size_t k = 0; k < n; k++) {
            if (fabs(y[k] - want[k]) <= tolerance * (1 + fabs(want[k])))
                continue;
            fprintf(stderr, "%s of %lld: row %lld, element %zu is %g, not %g\n", function_names[f],
                    (long long)c->length, (long long)row, k, (double)y[k], want[k]);
            exit(1);
        }
    }
    free(x);
    free(y);
    free(want);
}

/* ---- measuring ---- */

/* The row program's side of machine_against_limit(). */
typedef struct called {
    function f;
    const bound *b;
} called;

static void call_again(void *argument)
{
    const called *c = argument;

    call_once(c->f, c->b);
}

static void run_case(const machine *m, const bench_case *c, const limit_case *limit,
                     const limit_kernel *by_hand)
{
    const int64_t copied = 2 * 16 * limit->accesses;
    bound b;

    bind(m, c, &b);
    for (int f = 0; f < FUNCTIONS; f++) {
        char name[80], label[80];
        double limit_ms, kiln_ms;
        snprintf(name, sizeof name, "%s_%lld%s", function_names[f], (long long)c->length,
                 c->dtype == KILN_FLOAT32 ? "" : "_float16");
        if (!machine_wants(m, name))
            continue;
        snprintf(label, sizeof label, "%s, %s rows of %lld", function_labels[f],
                 kiln_dtype_name(c->dtype), (long long)c->length);
        call_once((function)f, &b);
        check(c, (function)f, &b);
        called again = {(function)f, &b};
        machine_against_limit(m, limit, by_hand, call_again, &again, &limit_ms, &kiln_ms);
        const double bytes = 2.0 * (double)(b.rows * c->length) * (double)kiln_dtype_size(c->dtype);
        const bench_row row = {.name = name,
                               .label = label,
                               .unit = "GB/s",
                               .kiln = bytes / kiln_ms / 1e6,
                               .limit = (double)copied / limit_ms / 1e6,
                               .rule = c->target > 0 ? BENCH_AT_LEAST : BENCH_TELLS,
                               .target = c->target,
                               .note = by_hand->note};
        bench_add(m->file, &row);
    }
    unbind(&b);
    (void)kiln_context_pool_trim(m->ctx);
}

int main(int argc, char **argv)
{
    bench_file file;
    machine m;
    kiln_array *from = NULL, *to = NULL;
    limit_kernel by_hand;
    const int status = machine_open(&m, MACHINE_GPU, "rows", argc, argv, &file);

    if (status != 0)
        return status;
    const int64_t bytes = (INT64_C(1) << 30) / m.scale;
    machine_tell_elements(&m);
    REQUIRE(kiln_array_ones(m.ctx, KILN_UINT8, 1, &bytes, &from, &bench_err));
    REQUIRE(kiln_array_ones(m.ctx, KILN_UINT8, 1, &bytes, &to, &bench_err));
    define_all(&m);
    const limit_case limit = {.read_count = 1,
                              .write_count = 1,
                              .width = {16, 16},
                              .address = {kiln_array_data(from), kiln_array_data(to)},
                              .accesses = bytes / 16};
    limit_find(&limit, m.device->target, m.stream, &by_hand);
    for (size_t k = 0; k < COUNT(cases); k++)
        run_case(&m, &cases[k], &limit, &by_hand);
    limit_end(&by_hand);
    kiln_array_release(from);
    kiln_array_release(to);
    for (int f = 0; f < FUNCTIONS; f++)
        kiln_row_destroy(ops[f]);
    (void)machine_close(&m);
    return 0;
}
