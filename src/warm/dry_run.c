/*
 * dry_run.c - the kernels that an expression launches, found by running it on devices that are not there.
 *
 *     text, shapes > [a context for each size of device > graph > arrays > run > read the results] > kernels
 *
 * Sorts, scatters and selections decide when they run which kernels they launch: by shapes, strides, dtypes and the
 * device. A run on a device of src/device/dry.c takes the same decisions, and compiles and computes nothing. What decides
 * by values that it reads back asks kiln__device_is_dry(), and takes every way then (src/linalg: expm, svd).
 */
#include "kiln/expression.h"
#include "warm/expression.h"

/* An input of a call: an array of C-order, or a number of the kind of its dtype. */
static kiln_status make_input(kiln_context *ctx, const kiln__graph_arg *in, kiln_array **array,
                              kiln_arg *out, kiln_error *err)
{
    if (in->is_array) {
        KILN_CHECK(kiln_array_empty(ctx, in->dtype, in->rank, in->shape, array, err));
        *out = kiln_arg_array(*array);
        return KILN_OK;
    }
    *out = in->number.kind == 'b'   ? kiln_arg_bool(true)
           : in->number.kind == 'i' ? kiln_arg_int(1)
           : in->number.kind == 'c' ? kiln_arg_complex(1, 0)
                                    : kiln_arg_float(1);
    return KILN_OK;
}

enum { VECTOR_BYTES = 16 };

/* What whoever reads the results of a run needs: on a GPU those that do not lie in C-order are
 * copied. */
static kiln_status read_result(const kiln__target *target, kiln_array *array, kiln_error *err)
{
    kiln_array *dense = NULL;

    if (target->backend != KILN_BACKEND_CUDA)
        return KILN_OK;
    const kiln_status status = kiln_array_contiguous(array, &dense, err);
    kiln_array_release(dense);
    return status;
}

/* The copy of the first elements along an axis. */
static kiln_status read_first(const kiln__target *target, kiln_array *array, int axis,
                              int64_t length, kiln_error *err)
{
    kiln_array *first = NULL;

    KILN_CHECK(kiln_array_slice(array, axis, 0, length, 1, &first, err));
    const kiln_status status = read_result(target, first, err);
    kiln_array_release(first);
    return status;
}

/* The same of a result whose length along an axis only the device knows. Plans depend on about how long it is and on
 * which powers of two, up to the bytes of a vector, divide it: each power of two stands for the lengths up to the next
 * one, with a sum for each divisor. */
static kiln_status read_counted(const kiln__target *target, kiln_array *array, int axis,
                                kiln_error *err)
{
    const int at = axis < 0 ? axis + array->rank : axis;

    if (at == 0) /* what is cut off lies behind the rest */
        return KILN_OK;
    for (int64_t length = 1; length < array->shape[at]; length *= 2)
        for (int64_t more = 0;
             more < length && more < VECTOR_BYTES && length + more < array->shape[at];
             more = more == 0 ? 1 : 2 * more)
            KILN_CHECK(read_first(target, array, at, length + more, err));
    return KILN_OK;
}

static kiln_status run_graph(const kiln__dry_run_request *r, kiln_context *ctx, kiln_graph *graph,
                             size_t results, kiln_error *err)
{
    const size_t count = r->input_count + results;
    kiln_array **arrays = NULL;
    kiln_arg *args = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__make_zeroed(&arrays, count + 1, sizeof *arrays, err));
    KILN_TRY(kiln__make_zeroed(&args, count + 1, sizeof *args, err));
    for (size_t k = 0; k < r->input_count; k++)
        KILN_TRY(make_input(ctx, &r->inputs[k], &arrays[k], &args[k], err));
    for (size_t k = r->input_count; k < count; k++)
        args[k] = kiln_arg_out(&arrays[k]);
    KILN_TRY(kiln_graph_run(graph, args, count, NULL, err));
    for (size_t k = r->input_count; k < count; k++) {
        KILN_TRY(read_result(r->target, arrays[k], err));
        if (kiln_graph_result_is_counted(graph, k - r->input_count))
            KILN_TRY(read_counted(r->target, arrays[k],
                                  kiln_graph_result_axis(graph, k - r->input_count), err));
    }

done:
    for (size_t k = 0; arrays != NULL && k < count; k++)
        kiln_array_release(arrays[k]);
    kiln__free(arrays);
    kiln__free(args);
    return status;
}

static kiln_status run_on(const kiln__dry_run_request *r, const kiln__dry_device *device,
                          const kiln__needs *needs, kiln_error *err)
{
    kiln_graph_options opts = KILN_GRAPH_OPTIONS_INIT;
    kiln_context *ctx = NULL;
    kiln_graph *graph = NULL;
    size_t results = 0;
    kiln_status status = KILN_OK;

    opts.name = r->name;
    opts.wide = r->wide ? 1 : -1;
    KILN_TRY(kiln__context_create_dry(device, needs, &ctx, err));
    KILN_TRY(kiln__graph_from_text(ctx, r->text, r->names, r->input_count, &opts, &graph, &results,
                                   err));
    KILN_TRY(run_graph(r, ctx, graph, results, err));

done:
    kiln_graph_destroy(graph);
    kiln_context_release(ctx);
    return status;
}

kiln_status kiln__dry_run(const kiln__dry_run_request *r, const kiln__needs *needs, kiln_error *err)
{
    kiln__dry_device device = {.target = *r->target};
    kiln__plan_device size;

    for (size_t s = 0; kiln__dry_shared_bytes(r->target->name, s, &device.shared_bytes); s++)
        for (size_t nth = 0; kiln__warm_device(r->target->backend, nth, &size); nth++) {
            if (size.clusters) /* the target says whether there are some */
                break;
            device.units = size.units;
            KILN_CHECK(run_on(r, &device, needs, err));
        }
    return KILN_OK;
}
