/*
 * loop.c - calls of elementwise kernels: the loop's shape, outputs to be allocated.
 *
 *     arguments > [shape > outputs > plan] > recipe
 */
#include "kernel/resolve.h"

static kiln_status decide_size(const kiln__definition *d, const kiln__call *call, kiln__resolved *r,
                               kiln_error *err)
{
    if (!call->has_size)
        return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                          "kernel \"%s\": no array that is not raw was given, so `size` must say "
                          "how many elements to run over",
                          d->name);
    if (call->size < 0)
        return kiln__fail(err, KILN_ERR_SIZE, "kernel \"%s\": size %lld is negative", d->name,
                          (long long)call->size);
    r->rank = 1;
    r->shape[0] = call->size;
    return KILN_OK;
}

static kiln_status check_output(const kiln__definition *d, const kiln__resolved *r, size_t p,
                                kiln_error *err)
{
    const kiln_array *a = r->array[p];
    char have[160], need[160];

    if (d->params[p].raw) {
        if (a == NULL)
            return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                              "kernel \"%s\": output `%s` is raw, so nothing decides its shape: "
                              "give an array",
                              d->name, d->params[p].name);
        return KILN_OK;
    }
    if (a == NULL)
        return KILN_OK;
    if (a->rank != r->rank || memcmp(a->shape, r->shape, (size_t)a->rank * sizeof a->shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "kernel \"%s\": output `%s` has shape %s, but the inputs broadcast to %s",
                          d->name, d->params[p].name,
                          kiln__shape_text(a->rank, a->shape, have, sizeof have),
                          kiln__shape_text(r->rank, r->shape, need, sizeof need));
    if (kiln__array_unwritable(a) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "kernel \"%s\": output `%s` %s", d->name,
                          d->params[p].name, kiln__array_unwritable(a));
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
                          "kernel \"%s\": `size` %lld was given, but `%s` is not raw and decides it",
                          d->name, (long long)call->size, d->params[first].name);
    kiln_status status = kiln__broadcast_inputs(d, r, err);
    int64_t shape[KILN_RANK_MAX];
    int rank = r->rank;
    memcpy(shape, r->shape, (size_t)rank * sizeof shape[0]);
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++)
        if (kiln__decides_shape(d, r, p) &&
            !kiln__shape_broadcast(&rank, shape, r->array[p]->rank, r->array[p]->shape))
            return check_output(d, r, p, err); /* explains with the inputs' shape */
    r->rank = rank;
    memcpy(r->shape, shape, (size_t)rank * sizeof shape[0]);
    return status;
}

/* Strides of the outputs still to be allocated, in the order of the inputs' axes. */
void kiln__fill_fresh(const kiln__definition *d, kiln__resolved *r)
{
    kiln__plan_k_order(r->operand, d->param_count, r->rank, r->shape, r->order);
    for (size_t p = d->input_count; p < d->param_count; p++) {
        kiln__operand *o = &r->operand[p];
        int64_t step = o->itemsize;
        if (o->is_array)
            continue;
        for (int k = r->rank - 1; k >= 0; k--) {
            r->fresh_strides[p][r->order[k]] = step;
            step *= r->shape[r->order[k]] > 1 ? r->shape[r->order[k]] : 1;
        }
        o->is_array = true;
        o->contiguous = true;
        o->rank = r->rank;
        o->shape = r->shape;
        o->strides = r->fresh_strides[p];
    }
}

static kiln_status check_loop_size(const kiln__definition *d, const kiln__resolved *r, kiln_error *err)
{
    int64_t size;
    size_t itemsize = 1;
    for (size_t p = d->input_count; p < d->param_count; p++)
        itemsize = kiln_dtype_size(r->dtype[p]) > itemsize ? kiln_dtype_size(r->dtype[p]) : itemsize;
    return kiln__shape_size(r->rank, r->shape, itemsize, &size, err);
}

static kiln_status decide(const kiln__definition *d, const kiln__call *call,
                          const kiln__plan_device *device, kiln__resolved *r, kiln_error *err)
{
    kiln_status status = KILN_OK;

    KILN_TRY(decide_shape(d, call, r, err));
    KILN_TRY(check_loop_size(d, r, err));
    for (size_t p = d->input_count; p < d->param_count; p++)
        KILN_TRY(check_output(d, r, p, err));
    for (size_t p = 0; p < d->param_count; p++)
        kiln__fill_operand(d, r, p);
    kiln__fill_fresh(d, r);
    kiln__plan_resolved(d, call, device, NULL, r);

done:
    return status;
}

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    const kiln_elementwise_call_options *given = opts;
    kiln_elementwise_call_options o = KILN_ELEMENTWISE_CALL_OPTIONS_INIT;
    kiln_status status = kiln__options_read(&o, sizeof o, given, given->struct_size,
                                            "kiln_elementwise_call_options", err);
    r->call.stream = o.stream;
    r->call.has_size = o.has_size;
    r->call.size = o.has_size ? o.size : 0;
    return status;
}

const kiln__family_calls kiln__loop_calls = {&kiln__family_loop, read_options, decide};
