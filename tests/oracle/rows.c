/*
 * rows.c - what the row programs of the tests mean, in float64, and the programs themselves.
 *
 *     inputs -> a loop over rows: gather one, compute it -> compared with what the device wrote
 *
 * Rule: the loops are written from the mathematics, two passes where kiln takes one, and share
 * nothing with kiln's own generated code.
 */
#include "oracle/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the definitions mean ---- */

static double largest(const double *x, int64_t n)
{
    double m = -INFINITY;
    for (int64_t k = 0; k < n; k++)
        m = x[k] > m ? x[k] : m;
    return m;
}

static double exp_sum(const double *x, int64_t n, double m)
{
    double s = 0;
    for (int64_t k = 0; k < n; k++)
        s += exp(x[k] - m);
    return s;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t k = 0; k < n; k++)
        s += x[k] * y[k];
    return s;
}

/* Mean and variance in two passes. */
static void moments(const double *x, int64_t n, double *mean, double *variance)
{
    double s = 0, q = 0;
    for (int64_t k = 0; k < n; k++)
        s += x[k];
    *mean = s / (double)n;
    for (int64_t k = 0; k < n; k++)
        q += (x[k] - *mean) * (x[k] - *mean);
    *variance = q / (double)n;
}

static void softmax(const double *const *in, int64_t n, double *elements, double *row)
{
    const double m = largest(in[0], n), s = exp_sum(in[0], n, m);
    (void)row;
    for (int64_t k = 0; k < n; k++)
        elements[k] = exp(in[0][k] - m) / s;
}

static void log_softmax(const double *const *in, int64_t n, double *elements, double *row)
{
    const double m = largest(in[0], n), s = log(exp_sum(in[0], n, m));
    (void)row;
    for (int64_t k = 0; k < n; k++)
        elements[k] = in[0][k] - m - s;
}

static void layer_norm(const double *const *in, int64_t n, double *elements, double *row)
{
    double mean, variance;
    (void)row;
    moments(in[0], n, &mean, &variance);
    for (int64_t k = 0; k < n; k++)
        elements[k] = (in[0][k] - mean) / sqrt(variance + 1e-5) * in[1][k] + in[2][k];
}

static void rms_norm(const double *const *in, int64_t n, double *elements, double *row)
{
    const double scale = 1 / sqrt(dot(in[0], in[0], n) / (double)n + 1e-6);
    (void)row;
    for (int64_t k = 0; k < n; k++)
        elements[k] = in[0][k] * scale * in[1][k];
}

static void standardise(const double *const *in, int64_t n, double *elements, double *row)
{
    double mean, variance;
    (void)row;
    moments(in[0], n, &mean, &variance);
    for (int64_t k = 0; k < n; k++)
        elements[k] = variance > 0 ? (in[0][k] - mean) / sqrt(variance) : 0;
}

static void cosine(const double *const *in, int64_t n, double *elements, double *row)
{
    (void)elements;
    row[0] = dot(in[0], in[1], n) / sqrt(dot(in[0], in[0], n) * dot(in[1], in[1], n));
}

/* ---- the definitions ---- */

/* What 16-bit floats accumulate in is float; A is that, or T itself. */
const char row_preamble[] =
    "typedef decltype(T() + 0.0f) A;\n"
    "struct pieces { A xx, yy, xy; };\n"
    "struct spread { A mean, m2, count; };\n"
    "__device__ inline spread joined(const spread &a, const spread &b)\n"
    "{\n"
    "    const A count = a.count + b.count, delta = b.mean - a.mean, part = b.count / count;\n"
    "    const A m2 = a.m2 + b.m2 + delta * delta * a.count * part;\n"
    "    return spread{a.mean + delta * part, m2, count};\n"
    "}\n";

/* Stages that more than one definition has: the largest element, and a sum of `each`. */
#define LARGEST                                                                                    \
    .map = "A(x)", .type = "A", .reduce = "fmax(a, b)", .identity = "-INFINITY", .result = "m"
#define SUM_OF(each) .map = each, .type = "A", .reduce = "a + b", .identity = "0"

const row_definition row_definitions[ROW_KINDS] = {
    [ROW_SOFTMAX] = {.name = "softmax",
                     .in = "T x",
                     .out = "T y",
                     .stages = {{LARGEST},
                                {.prep = "e = exp(A(x) - m)",
                                 SUM_OF("e"),
                                 .result = "s",
                                 .post = "const A scale = 1 / s;"}},
                     .stage_count = 2,
                     .values = {{"A", "e"}},
                     .value_count = 1,
                     .op = "y = e * scale",
                     .input_count = 1,
                     .meaning = softmax},
    [ROW_LOG_SOFTMAX] = {.name = "log_softmax",
                         .in = "T x",
                         .out = "T y",
                         .stages = {{LARGEST},
                                    {SUM_OF("exp(A(x) - m)"),
                                     .result = "s",
                                     .post = "const A shift = m + log(s)"}},
                         .stage_count = 2,
                         .op = "y = A(x) - shift",
                         .input_count = 1,
                         .meaning = log_softmax},
    [ROW_LAYER_NORM] = {.name = "layer_norm",
                        .in = "T x, T w, T b_",
                        .out = "T y",
                        .stages = {{SUM_OF("A(x)"),
                                    .result = "total",
                                    .post = "const A mean = total / n;"},
                                   {.prep = "const A d = A(x) - mean;",
                                    SUM_OF("d * d"),
                                    .result = "squares",
                                    .post = "const A scale = rsqrt(squares / n + A(1e-5));"}},
                        .stage_count = 2,
                        .op = "y = (A(x) - mean) * scale * A(w) + A(b_)",
                        .input_count = 3,
                        .meaning = layer_norm},
    [ROW_RMS_NORM] = {.name = "rms_norm",
                      .in = "T x, T w",
                      .out = "T y",
                      .stages = {{SUM_OF("A(x) * A(x)"),
                                  .result = "squares",
                                  .post = "const A scale = rsqrt(squares / n + A(1e-6));"}},
                      .stage_count = 1,
                      .op = "y = A(x) * scale * A(w)",
                      .input_count = 2,
                      .meaning = rms_norm},
    [ROW_STANDARDISE] = {.name = "standardise",
                         .in = "T x",
                         .out = "T y",
                         .stages = {{.map = "spread{A(x), 0, 1}",
                                     .type = "spread",
                                     .reduce = "joined(a, b)",
                                     .result = "seen",
                                     .post = "const A variance = seen.m2 / n"}},
                         .stage_count = 1,
                         .op = "y = variance > 0 ? (A(x) - seen.mean) * rsqrt(variance) : A(0)",
                         .input_count = 1,
                         .meaning = standardise},
    [ROW_ONLINE] = {.name = "online_softmax",
                    .in = "T x",
                    .out = "T y",
                    .stages = {{.map = "kiln_logsum_of<A>(x)",
                                .type = "kiln_logsum<A>",
                                .reduce = "kiln_logsum_merge(a, b)",
                                .identity = "kiln_logsum_none<A>()",
                                .result = "seen",
                                .post = "const A scale = 1 / kiln_logsum_sum(seen);"}},
                    .stage_count = 1,
                    .op = "y = exp(A(x) - seen.most) * scale",
                    .input_count = 1,
                    .meaning = softmax},
    [ROW_MOMENTS] = {.name = "moments",
                     .in = "T x",
                     .out = "T y",
                     .stages = {{.map = "kiln_moments_of<A>(x)",
                                 .type = "kiln_moments<A>",
                                 .reduce = "kiln_moments_merge(a, b)",
                                 .identity = "kiln_moments_none<A>()",
                                 .result = "seen",
                                 .post = "const A mean = kiln_moments_mean(seen), variance = "
                                         "kiln_moments_variance(seen, n);"}},
                     .stage_count = 1,
                     .op = "y = variance > 0 ? (A(x) - mean) / sqrt(variance) : A(0)",
                     .input_count = 1,
                     .meaning = standardise},
    [ROW_COSINE] = {.name = "cosine",
                    .in = "T x, T y",
                    .out = "",
                    .row_out = "float64 c",
                    .stages = {{.map = "pieces{A(x) * A(x), A(y) * A(y), A(x) * A(y)}",
                                .type = "pieces",
                                .reduce = "pieces{a.xx + b.xx, a.yy + b.yy, a.xy + b.xy}",
                                .identity = "pieces{0, 0, 0}",
                                .result = "all"}},
                    .stage_count = 1,
                    .op = "",
                    .row_post = "c = all.xy / sqrt(all.xx * all.yy)",
                    .input_count = 2,
                    .meaning = cosine},
};

kiln_row *row_make(test_env *t, row_kind kind)
{
    const row_definition *d = &row_definitions[kind];
    kiln_row_options opts = KILN_ROW_OPTIONS_INIT;
    kiln_row *op = NULL;

    opts.name = d->name;
    opts.preamble = row_preamble;
    opts.row_outputs = d->row_out;
    opts.row_post = d->row_post;
    opts.values = d->values;
    opts.value_count = d->value_count;
    OK(t, kiln_row_create(t->ctx, d->in, d->out, d->stages, d->stage_count, d->op, &opts, &op,
                          &t->err));
    return op;
}

/* ---- loops ---- */

void host_rows(row_kind kind, host_array *const *in, host_array *elements, host_array *row,
               int rank, const int64_t *shape, unsigned axes)
{
    const row_definition *d = &row_definitions[kind];
    int64_t rows = 1, n = 1, at[KILN_RANK_MAX] = {0};
    double *values[4], *out, result[1];

    for (int a = 0; a < rank; a++)
        *(axes >> a & 1u ? &n : &rows) *= shape[a];
    for (size_t p = 0; p < d->input_count; p++)
        values[p] = malloc((size_t)n * sizeof(double) + 1);
    out = malloc((size_t)n * sizeof(double) + 1);
    for (int64_t r = 0; r < rows; r++) {
        host_index(rank, shape, ~axes, r, at);
        for (int64_t k = 0; k < n; k++) {
            host_index(rank, shape, axes, k, at);
            for (size_t p = 0; p < d->input_count; p++)
                values[p][k] =
                    (double)host_load(in[p]->dtype, host_broadcast_at(in[p], rank, at)).re;
        }
        d->meaning((const double *const *)values, n, out, result);
        for (int64_t k = 0; k < n && elements != NULL; k++) {
            host_index(rank, shape, axes, k, at);
            host_store(elements->dtype, host_broadcast_at(elements, rank, at), host_real(out[k]));
        }
        if (row != NULL)
            host_store(row->dtype, host_at(row, r), host_real(result[0]));
    }
    for (size_t p = 0; p < d->input_count; p++)
        free(values[p]);
    free(out);
}

void host_close(test_env *t, const host_array *a, double absolute, double relative,
                const char *what)
{
    const size_t size = kiln_dtype_size(a->dtype);
    unsigned char *got = malloc(a->bytes + 1);

    OK(t, kiln_array_to_host(a->storage, got, a->bytes, NULL, &t->err));
    for (int64_t k = 0; k < host_size(a); k++) {
        unsigned char *want_at = host_at(a, k), *got_at = got + (want_at - a->store);
        const double want = (double)host_load(a->dtype, want_at).re;
        const double have = (double)host_load(a->dtype, got_at).re;
        CHECK(fabs(have - want) <= absolute + relative * fabs(want) ||
                  (isnan(have) && isnan(want)) || have == want,
              "%s: element %lld is %.9g, not %.9g", what, (long long)k, have, want);
        memcpy(got_at, want_at, size);
    }
    CHECK(memcmp(got, a->store, a->bytes) == 0, "%s: bytes beside the elements changed", what);
    free(got);
}

kiln_status row_run(kiln_row *op, unsigned axes, bool keepdims, const kiln_arg *args,
                    size_t arg_count, kiln_error *err)
{
    kiln_row_call_options opts = KILN_ROW_CALL_OPTIONS_INIT;
    const kiln_axes list = host_axes(axes);

    opts.axes = &list;
    opts.keepdims = keepdims;
    return kiln_row_run(op, args, arg_count, &opts, err);
}

double row_tolerance(kiln_dtype dtype)
{
    return dtype == KILN_FLOAT16    ? 4e-3
           : dtype == KILN_BFLOAT16 ? 3e-2
           : dtype == KILN_FLOAT32  ? 2e-5
                                    : 1e-12;
}
