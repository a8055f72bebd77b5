/*
 * histogramdd.c - histograms over several axes: how many points fall into each box between edges.
 *
 *     coordinates, edges > [one kernel: for each point the number of its box, or -1] > int64 vector
 *                        > [bins.c counts them] > counts, in the shape of the boxes
 *
 * A box holds its lower edges; the last ones along an axis hold their upper edge as well, as in
 * NumPy. Edges are searched as float64.
 *
 * kiln_array_histogramdd() and src/graph/opaque.c call this file. Test: test_written.
 */
#include <stdio.h>

#include "ops/ops.h"
#include "sorting/sorting.h"

enum { AXES_MAX = KILN__HISTOGRAM_AXES };

typedef struct wanted {
    size_t axes;
    kiln_dtype dtypes[AXES_MAX];
} wanted;

/* Along each axis: how many edges are not beyond the coordinate, less one where it is the last
 * edge. */
static kiln_status define(kiln_context *ctx, const void *data, kiln__kernel **out, kiln_error *err)
{
    const wanted *w = data;
    kiln__buf in = KILN__BUF_INIT, op = KILN__BUF_INIT;
    char name[32];

    kiln__buf_puts(&op, "long long box = 0;\nbool inside = true;\n");
    for (size_t k = 0; k < w->axes; k++) {
        kiln__buf_printf(&in, "%sraw float64 e%zu, int64 n%zu, %s x%zu", k > 0 ? ", " : "", k, k,
                         kiln_dtype_name(w->dtypes[k]), k);
        snprintf(name, sizeof name, "x%zu", k);
        kiln__buf_puts(&op, "{\n    const double v = ");
        kiln__cast_text(&op, w->dtypes[k], KILN_FLOAT64, name);
        kiln__buf_printf(&op,
                         ";\n    long long low = 0, high = n%zu;\n"
                         "    while (low < high) {\n"
                         "        const long long middle = low + (high - low) / 2;\n"
                         "        if (e%zu[middle] <= v)\n"
                         "            low = middle + 1;\n"
                         "        else\n"
                         "            high = middle;\n"
                         "    }\n"
                         "    low -= 1 + (v == e%zu[n%zu - 1]);\n"
                         "    inside = inside && low >= 0 && low < n%zu - 1;\n"
                         "    box = box * (n%zu - 1) + low;\n}\n",
                         k, k, k, k, k, k);
    }
    kiln__buf_puts(&op, "z = inside ? box : -1;");
    return kiln__loop_kernel(ctx, "kiln_histogramdd", &in, "int64 z", &op, out, err);
}

kiln_status kiln__histogramdd_infer(const kiln_array *const *operands, size_t axes, int64_t *shape,
                                    kiln_error *err)
{
    int64_t boxes = 1;

    if (axes < 1 || axes > AXES_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                          "histogramdd: %zu axes, where 1 to %d are possible", axes, AXES_MAX);
    for (size_t k = 0; k < axes; k++) {
        const kiln_array *x = operands[k], *edges = operands[axes + k];
        if (edges->rank != 1 || edges->size < 2)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "histogramdd: edges of bins are a vector of 2 at least");
        if (x->rank != operands[0]->rank ||
            memcmp(x->shape, operands[0]->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "histogramdd: coordinates %zu and 1 have different shapes", k + 1);
        if (kiln_dtype_kind(x->dtype) == 'c' || kiln_dtype_kind(edges->dtype) == 'c')
            return kiln__fail(err, KILN_ERR_DTYPE,
                              "histogramdd: complex numbers fall into no bins");
        shape[k] = edges->size - 1;
        if (kiln__mul_overflow(boxes, shape[k], &boxes))
            return kiln__fail(err, KILN_ERR_OVERFLOW,
                              "histogramdd: the result has too many elements");
    }
    return KILN_OK;
}

/* The number of each point's box: a new vector. `edges` are float64 without gaps. */
static kiln_status find_boxes(const kiln_array *const *samples, kiln_array *const *edges,
                              size_t axes, kiln_stream *stream, kiln_array **out, kiln_error *err)
{
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_arg args[3 * AXES_MAX + 1];
    kiln__kernel *kernel = NULL;
    wanted w = {.axes = axes};
    uint64_t key = 0;

    for (size_t k = 0; k < axes; k++) {
        w.dtypes[k] = samples[k]->dtype;
        key = key << 8 | (uint64_t)w.dtypes[k];
        args[3 * k] = kiln_arg_array(edges[k]);
        args[3 * k + 1] = kiln_arg_int(edges[k]->size);
        args[3 * k + 2] = kiln_arg_array((kiln_array *)samples[k]);
    }
    args[3 * axes] = kiln_arg_out(out);
    KILN_CHECK(kiln__kept_kernel(samples[0]->ctx, define, &w, key, &kernel, err));
    o.stream = stream;
    return kiln_elementwise_run((kiln_elementwise *)kernel, args, 3 * axes + 1, &o, err);
}

kiln_status kiln__histogramdd_run(const kiln_array *const *operands, size_t axes,
                                  kiln_stream *stream, kiln_array **out, kiln_error *err)
{
    kiln_array *edges[AXES_MAX] = {NULL}, *boxes = NULL, *flat = NULL, *counts = NULL;
    int64_t shape[AXES_MAX], all = 1;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__histogramdd_infer(operands, axes, shape, err));
    for (size_t k = 0; k < axes; k++) {
        all *= shape[k];
        KILN_TRY(
            kiln__array_copy_as(operands[axes + k], KILN_FLOAT64, NULL, stream, &edges[k], err));
    }
    KILN_TRY(find_boxes(operands, edges, axes, stream, &boxes, err));
    KILN_TRY(kiln__count_bins(boxes, all, stream, &flat, err));
    KILN_TRY(kiln_array_reshape(flat, (int)axes, shape, &counts, err));
    if (*out == NULL) {
        *out = counts;
        counts = NULL;
    } else {
        KILN_TRY(kiln__array_assign_on(*out, counts, stream, err));
        kiln__sort_used(*out, stream);
    }

done:
    for (size_t k = 0; k < AXES_MAX; k++)
        kiln_array_release(edges[k]);
    kiln_array_release(boxes);
    kiln_array_release(flat);
    kiln_array_release(counts);
    return status;
}

kiln_status kiln_array_histogramdd(const kiln_array *const *samples, const kiln_array *const *edges,
                                   size_t count, kiln_array **out, kiln_error *err)
{
    const kiln_array *operands[2 * AXES_MAX];
    kiln_array *counts = NULL;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(samples, err);
    KILN_CHECK_NULL(edges, err);
    for (size_t k = 0; k < count && k < AXES_MAX; k++) {
        const kiln_context *ctx = k > 0 ? samples[0]->ctx : NULL;
        KILN_CHECK(kiln__array_check(samples[k], ctx, "coordinates", err));
        KILN_CHECK(kiln__array_check(edges[k], samples[0]->ctx, "edges", err));
        KILN_CHECK(kiln__check_edges("histogramdd", edges[k], err));
        operands[k] = samples[k];
        operands[count < AXES_MAX ? count + k : AXES_MAX + k] = edges[k];
    }
    KILN_TRY(kiln__histogramdd_infer(operands, count, (int64_t[AXES_MAX]){0}, err));
    kiln_stream *const stream = kiln__device_stream(kiln__context_device(samples[0]->ctx));
    KILN_TRY(kiln__histogramdd_run(operands, count, stream, &counts, err));
    status = kiln_array_cast(counts, KILN_FLOAT64, out, err);

done:
    kiln_array_release(counts);
    return status;
}
