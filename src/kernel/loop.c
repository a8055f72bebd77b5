/*
 * loop.c - calls of elementwise kernels: shapes and options.
 *
 *     arguments > [shapes] > outputs > plan > recipe
 *
 * elementwise.c calls it, and so do kernels of kiln's own (kept.c and the folders above).
 *
 * Tests: test_take, test_elementwise_layout.
 */
#include "kernel/resolve.h"

static kiln_status decide_size(const kiln__definition *d, const kiln__call *call, kiln__resolved *r,
                               kiln_error *err)
{
    if (!call->has_size)
        return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                          "kernel \"%s\": nothing decides how many elements to run over; give an "
                          "array that is not raw, or `size`",
                          d->name);
    if (call->size < 0)
        return kiln__fail(err, KILN_ERR_SIZE, "kernel \"%s\": size %lld is negative", d->name,
                          (long long)call->size);
    r->rank = 1;
    r->shape[0] = call->size;
    return KILN_OK;
}

/* The loop's shape: what all inputs and given outputs broadcast to, or `size`. A given output may
 * be larger than the inputs' broadcast, never smaller. */
static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    size_t first = 0;

    while (first < d->param_count && !kiln__decides_shape(d, r, first))
        first++;
    if (first == d->param_count)
        return decide_size(d, call, r, err);
    if (call->has_size)
        return kiln__fail(err, KILN_ERR_SIZE,
                          "kernel \"%s\": `size` %lld was given, but the shape of `%s` decides how "
                          "many elements to "
                          "run over",
                          d->name, (long long)call->size, d->params[first].name);
    kiln_status status = kiln__broadcast_inputs(d, r, err);
    int64_t shape[KILN_RANK_MAX];
    int rank = r->rank;
    memcpy(shape, r->shape, (size_t)rank * sizeof shape[0]);
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++)
        if (kiln__decides_shape(d, r, p) &&
            !kiln__shape_broadcast(&rank, shape, r->array[p]->rank, r->array[p]->shape))
            return kiln__check_output(d, r, p, err); /* explains with the inputs' shape */
    r->rank = rank;
    memcpy(r->shape, shape, (size_t)rank * sizeof shape[0]);
    return status;
}

static kiln_status decide_loop(const kiln__definition *d, const kiln__call *call, kiln__resolved *r,
                               kiln_error *err)
{
    kiln_status status = decide_shape(d, call, r, err);
    size_t itemsize = 1;
    int64_t size = 0;

    for (size_t p = d->input_count; p < d->param_count; p++)
        itemsize =
            kiln_dtype_size(r->dtype[p]) > itemsize ? kiln_dtype_size(r->dtype[p]) : itemsize;
    if (status == KILN_OK)
        status = kiln__shape_size(r->rank, r->shape, itemsize, &size, err);
    if (status == KILN_OK && d->takes)
        status = kiln__check_taken(d, r, size, err);
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++)
        if (d->params[p].raw && r->array[p] == NULL && !call->has_size)
            status = kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                                "kernel \"%s\": output `%s` is raw, so nothing decides its shape: "
                                "give an array or `size`",
                                d->name, d->params[p].name);
    return status;
}

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    const kiln_elementwise_call_options *o = opts;

    (void)err;
    r->call.has_size = o->has_size;
    r->call.size = o->has_size ? o->size : 0;
    return KILN_OK;
}

const kiln__family_calls kiln__loop_calls = {&kiln__family_loop,
                                             KILN__CALL_OPTIONS(kiln_elementwise_call_options),
                                             read_options, decide_loop, NULL};
