/*
 * convolve.c - kiln_array_convolve() and kiln_array_correlate(): sums over a window that slides
 * along the longer of two vectors.
 *
 *     a, v > [the shorter one copied, to be read forwards] > one kernel, a sum for each thread
 *
 * The longer vector is not copied. After plan() has ordered the two, element k of the result is
 *
 *     sum over j of  long[first + step * k + j] * short[j],    for each j that both have.
 *
 * bool is summed by "or", 16-bit floats in float32, all other dtypes in the dtype of the result.
 *
 * src/graph/opaque.c calls this file for graphs. Tests: test_written, test_graph_run.
 */
#include <stdio.h>

#include "indexing/indexing.h"
#include "kiln/rearrange.h"
#include "ops/ops.h"

typedef struct slide {
    bool correlate;
    const kiln_array *longer, *shorter;
    bool reverse, conjugate_longer, conjugate_shorter; /* reverse: the shorter one */
    int64_t count, first, step;
    kiln_dtype dtype;
} slide;

static kiln_status check(const char *what, const kiln_array *a, const kiln_array *v,
                         kiln_slide_mode mode, kiln_error *err)
{
    if ((unsigned)mode > KILN_SLIDE_VALID)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: there is no mode %d", what, (int)mode);
    if (a->rank != 1 || v->rank != 1)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: operands of %d and %d axes are no vectors",
                          what, a->rank, v->rank);
    if (a->size == 0 || v->size == 0)
        return kiln__fail(err, KILN_ERR_SHAPE, "%s: an operand has no elements", what);
    return KILN_OK;
}

/* As NumPy does it: operands are exchanged where the second is longer, and a correlation is then
 * read backwards. */
static kiln_status plan(bool correlate, const kiln_array *a, const kiln_array *v,
                        kiln_slide_mode mode, slide *s, kiln_error *err)
{
    const bool exchanged = v->size > a->size;

    KILN_CHECK(check(correlate ? "correlate" : "convolve", a, v, mode, err));
    memset(s, 0, sizeof *s);
    s->correlate = correlate;
    s->longer = exchanged ? v : a;
    s->shorter = exchanged ? a : v;
    s->reverse = !correlate;
    s->conjugate_longer = correlate && exchanged && kiln_dtype_kind(v->dtype) == 'c';
    s->conjugate_shorter = correlate && !exchanged && kiln_dtype_kind(v->dtype) == 'c';
    (void)kiln__promote(a->dtype, v->dtype, &s->dtype);
    const int64_t n = s->longer->size, m = s->shorter->size;
    const int64_t before = mode == KILN_SLIDE_FULL ? m - 1 : mode == KILN_SLIDE_SAME ? m / 2 : 0;
    s->count = mode == KILN_SLIDE_FULL ? n + m - 1 : mode == KILN_SLIDE_SAME ? n : n - m + 1;
    s->first = -before;
    s->step = 1;
    if (correlate && exchanged) {
        s->first += s->count - 1;
        s->step = -1;
    }
    return KILN_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static kiln_status define(kiln_context *ctx, const void *data, kiln__kernel **out, kiln_error *err)
{
    const slide *s = data;
    const char kind = kiln_dtype_kind(s->dtype);
    const bool narrow = kind == 'f' && kiln_dtype_size(s->dtype) <= 2;
    const kiln_dtype sum = narrow ? KILN_FLOAT32 : s->dtype;
    kiln__buf in = KILN__BUF_INIT, op = KILN__BUF_INIT;
    char result[32];

    kiln__buf_printf(&in, "raw %s a, raw %s v, int64 n, int64 m, int64 first, int64 step",
                     kiln_dtype_name(s->longer->dtype), kiln_dtype_name(s->shorter->dtype));
    kiln__buf_printf(&op,
                     "typedef %s A;\n"
                     "const long long at = first + step * i;\n"
                     "const long long end = m < n - at ? m : n - at;\n"
                     "long long j = at < 0 ? -at : 0;\n"
                     "A sums[8] = {A(0), A(0), A(0), A(0), A(0), A(0), A(0), A(0)};\n"
                     "for (; j + 8 <= end; j += 8)\n"
                     "    for (int u = 0; u < 8; u++)\n"
                     "        sums[u] = ",
                     kiln_dtype_ctype(sum));
    for (int tail = 0; tail < 2; tail++) {
        const char *const at = tail ? "" : " + u";
        char x[32], y[32];
        snprintf(x, sizeof x, "a[at + j%s]", at);
        snprintf(y, sizeof y, "v[j%s]", at);
        if (tail)
            kiln__buf_puts(&op, "for (; j < end; j++)\n    sums[0] = ");
        kiln__buf_printf(&op, "A(sums[%s] %s ", tail ? "0" : "u", kind == 'b' ? "||" : "+");
        kiln__buf_puts(&op, kind == 'b' ? "(" : s->conjugate_longer ? "conj(" : "(");
        kiln__cast_text(&op, s->longer->dtype, sum, x);
        kiln__buf_puts(&op, kind == 'b' ? ") && (" : s->conjugate_shorter ? ") * conj(" : ") * (");
        kiln__cast_text(&op, s->shorter->dtype, sum, y);
        kiln__buf_puts(&op, "));\n");
    }
    kiln__buf_printf(&op,
                     "for (int u = 4; u > 0; u /= 2)\n"
                     "    for (int w = 0; w < u; w++)\n"
                     "        sums[w] = A(sums[w] %s sums[w + u]);\n"
                     "z = ",
                     kind == 'b' ? "||" : "+");
    kiln__cast_text(&op, sum, s->dtype, "sums[0]");
    kiln__buf_puts(&op, ";");
    snprintf(result, sizeof result, "%s z", kiln_dtype_name(s->dtype));
    return kiln__loop_kernel(ctx, "kiln_convolve", &in, result, &op, out, err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The shorter operand without gaps, read forwards. */
static kiln_status read_shorter(const slide *s, kiln_stream *stream, kiln_array **out,
                                kiln_error *err)
{
    kiln_array *turned = NULL;
    kiln_status status = KILN_OK;

    if (s->reverse)
        KILN_TRY(kiln_array_flip(s->shorter, 0, &turned, err));
    const kiln_array *const read = s->reverse ? turned : s->shorter;
    KILN_TRY(kiln__array_copy_as(read, read->dtype, NULL, stream, out, err));

done:
    kiln_array_release(turned);
    return status;
}

static kiln_status run(const slide *s, kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    const uint64_t key = (uint64_t)s->longer->dtype << 16 | (uint64_t)s->shorter->dtype << 8 |
                         (uint64_t)s->conjugate_longer << 1 | (uint64_t)s->conjugate_shorter;
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_array *longer = NULL, *shorter = NULL;
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__kept_kernel(out->ctx, define, s, key, &kernel, err));
    KILN_TRY(kiln__context_stream(out->ctx, stream, &o.stream, err));
    KILN_TRY(read_shorter(s, o.stream, &shorter, err));
    if (s->longer->contiguous)
        longer = kiln_array_retain((kiln_array *)s->longer);
    else
        KILN_TRY(kiln__array_copy_as(s->longer, s->longer->dtype, NULL, o.stream, &longer, err));
    const kiln_arg args[] = {kiln_arg_array(longer),     kiln_arg_array(shorter),
                             kiln_arg_int(longer->size), kiln_arg_int(shorter->size),
                             kiln_arg_int(s->first),     kiln_arg_int(s->step),
                             kiln_arg_array(out)};
    status = kiln_elementwise_run((kiln_elementwise *)kernel, args, KILN_COUNT_OF(args), &o, err);

done:
    kiln_array_release(longer);
    kiln_array_release(shorter);
    return status == KILN_OK ? KILN_OK
                             : kiln__fail_as(s->correlate ? "correlate" : "convolve", status, err);
}

kiln_status kiln__slide_infer(bool correlate, const kiln_array *a, const kiln_array *v,
                              int64_t mode, kiln_dtype *dtype, int64_t *count, kiln_error *err)
{
    slide s;

    KILN_CHECK(plan(correlate, a, v, (kiln_slide_mode)mode, &s, err));
    *dtype = s.dtype;
    *count = s.count;
    return KILN_OK;
}

kiln_status kiln__slide_into(bool correlate, const kiln_array *a, const kiln_array *v, int64_t mode,
                             kiln_stream *stream, kiln_array *out, kiln_error *err)
{
    slide s;

    KILN_CHECK(plan(correlate, a, v, (kiln_slide_mode)mode, &s, err));
    return run(&s, stream, out, err);
}

static kiln_status slide_new(bool correlate, const kiln_array *a, const kiln_array *v,
                             kiln_slide_mode mode, kiln_array **out, kiln_error *err)
{
    kiln_array *made = NULL;
    slide s;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK(kiln__array_check(a, NULL, "a", err));
    KILN_CHECK(kiln__array_check(v, a->ctx, "v", err));
    KILN_TRY(plan(correlate, a, v, mode, &s, err));
    KILN_TRY(kiln_array_empty(a->ctx, s.dtype, 1, &s.count, &made, err));
    KILN_TRY(run(&s, NULL, made, err));
    *out = made;
    made = NULL;

done:
    kiln_array_release(made);
    return status;
}

kiln_status kiln_array_convolve(const kiln_array *a, const kiln_array *v, kiln_slide_mode mode,
                                kiln_array **out, kiln_error *err)
{
    return slide_new(false, a, v, mode, out, err);
}

kiln_status kiln_array_correlate(const kiln_array *a, const kiln_array *v, kiln_slide_mode mode,
                                 kiln_array **out, kiln_error *err)
{
    return slide_new(true, a, v, mode, out, err);
}
