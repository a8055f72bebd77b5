/*
 * resolve.c - from the arguments of a call to its plan, for kernels of all families.
 *
 *     [count > check arrays > bind types > shapes, by the family > outputs > plan] > recipe
 *
 * recipe.c, abstract.c and the files of the families call it.
 *
 * Test: test_prefetch.
 */
#include "kernel/resolve.h"

kiln_status kiln__check_count(const kiln__kernel *op, const kiln__call *call, kiln_error *err)
{
    const kiln__definition *d = op->def;
    if (call->arg_count == d->param_count)
        return KILN_OK;
    const size_t outputs = d->param_count - d->input_count;
    return kiln__fail(err, KILN_ERR_ARGUMENT_COUNT,
                      "kernel \"%s\" takes %zu argument%s (%zu input%s \"%s\", %zu output%s \"%s\"), "
                      "%zu given",
                      d->name, d->param_count, d->param_count == 1 ? "" : "s", d->input_count,
                      d->input_count == 1 ? "" : "s", d->signature[0], outputs,
                      outputs == 1 ? "" : "s", d->signature[1], call->arg_count);
}

static kiln_status take_scalar(const kiln__definition *def, size_t p, const kiln_arg *arg,
                               kiln__given *given, kiln_error *err)
{
    char which[160];

    if (kiln__given_scalar(arg, given))
        return KILN_OK;
    kiln__param_text(def, p, which, sizeof which);
    return kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%s\": %s has the unknown kind %d",
                      def->name, which, (int)arg->kind);
}

static kiln_status take_arguments(const kiln__kernel *op, const kiln__call *call, kiln__resolved *r,
                                  kiln_error *err)
{
    const kiln__definition *d = op->def;
    kiln_status status = KILN_OK;
    for (size_t p = 0; p < d->param_count && status == KILN_OK; p++) {
        const kiln_arg *arg = &call->args[p];
        char which[160], what[256];
        memset(&r->given[p], 0, sizeof r->given[p]);
        r->array[p] = kiln__given_array(arg);
        kiln__param_text(d, p, which, sizeof which);
        snprintf(what, sizeof what, "kernel \"%.60s\": %s", d->name, which);
        if (arg->kind == KILN_ARG_OUT && !d->params[p].output) {
            status = kiln__fail(err, KILN_ERR_ARGUMENT,
                                "%s is an input, but an output pointer was given", what);
        } else if (arg->kind == KILN_ARG_OUT && arg->value.out == NULL) {
            status = kiln__fail(err, KILN_ERR_NULL, "%s: the output pointer is NULL", what);
        } else if (arg->kind == KILN_ARG_ARRAY || r->array[p] != NULL) {
            status = kiln__array_check(r->array[p], op->ctx, what, err);
            if (status == KILN_OK && (d->params[p].output || d->params[p].writable) &&
                kiln__array_is_read_only(r->array[p]))
                status = kiln__fail(err, KILN_ERR_OUTPUT, "%s is read-only", what);
            if (status == KILN_OK) {
                r->given[p].kind = KILN__GIVEN_ARRAY;
                r->given[p].dtype = r->array[p]->dtype;
            }
        } else if (arg->kind != KILN_ARG_OUT) {
            status = take_scalar(d, p, arg, &r->given[p], err);
        }
    }
    return status;
}

/* "x (3, 4), y (5,)" for messages. */
static void kiln__shapes_text(const kiln__definition *d, const kiln__resolved *r, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < d->param_count && used + 1 < bytes; p++) {
        char shape[160];
        if (r->array[p] == NULL || d->params[p].raw)
            continue;
        int n = snprintf(text + used, bytes - used, "%s%s %s", used == 0 ? "" : ", ",
                         d->params[p].name,
                         kiln__shape_text(r->array[p]->rank, r->array[p]->shape, shape,
                                          sizeof shape));
        used += n > 0 ? (size_t)n : 0;
    }
}

kiln_status kiln__resolve_arguments(kiln__kernel *op, const kiln__call *call, kiln__resolved *r,
                                    kiln_error *err)
{
    KILN_CHECK(kiln__check_count(op, call, err));
    KILN_CHECK(take_arguments(op, call, r, err));
    return kiln__bind_types(op->def, r->given, r->dtype, err);
}

bool kiln__decides_shape(const kiln__definition *d, const kiln__resolved *r, size_t p)
{
    return r->array[p] != NULL && !d->params[p].raw;
}

kiln_status kiln__broadcast_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err)
{
    char text[400];
    r->rank = 0;
    for (size_t p = 0; p < d->input_count; p++) {
        if (!kiln__decides_shape(d, r, p) ||
            kiln__shape_broadcast(&r->rank, r->shape, r->array[p]->rank, r->array[p]->shape))
            continue;
        kiln__shapes_text(d, r, text, sizeof text);
        return kiln__fail(err, KILN_ERR_SHAPE,
                          "kernel \"%s\": shapes do not broadcast together: %s", d->name, text);
    }
    return KILN_OK;
}

kiln_status kiln__decide_inputs(const kiln__definition *d, kiln__resolved *r, kiln_error *err)
{
    int64_t size;
    size_t p = 0;

    while (p < d->input_count && !kiln__decides_shape(d, r, p))
        p++;
    if (p == d->input_count)
        return kiln__fail(err, KILN_ERR_UNDECIDED_SIZE,
                          "kernel \"%s\": no input array that is not raw was given", d->name);
    KILN_CHECK(kiln__broadcast_inputs(d, r, err));
    KILN_CHECK(kiln__shape_size(r->rank, r->shape, 16, &size, err));
    return d->takes ? kiln__check_taken(d, r, size, err) : KILN_OK;
}

kiln_status kiln__check_taken(const kiln__definition *d, const kiln__resolved *r, int64_t size,
                              kiln_error *err)
{
    for (size_t p = 0; p < d->input_count; p++) {
        const kiln_array *a = r->array[p];
        const int taken = d->params[p].taken;
        if (taken == 0)
            continue;
        if (a->rank != taken)
            return kiln__fail(err, KILN_ERR_SHAPE,
                              "kernel \"%s\": `%s` has %d axes and is taken by %d ind%s", d->name,
                              d->params[p].name, a->rank, taken, taken == 1 ? "ex" : "ices");
        if (a->size == 0 && size > 0)
            return kiln__fail(err, KILN_ERR_INDEX, "kernel \"%s\": `%s` has no elements to take",
                              d->name, d->params[p].name);
    }
    return KILN_OK;
}

void kiln__decide_results(kiln__resolved *r, bool keepdims)
{
    for (int a = 0; a < r->rank; a++) {
        r->spread[a] = r->along[a] ? 1 : r->shape[a];
        if (!r->along[a] || keepdims)
            r->row_shape[r->row_rank++] = r->spread[a];
    }
}

static void fill_operand(const kiln__definition *d, kiln__resolved *r, size_t p)
{
    kiln__operand *o = &r->operand[p];
    const kiln_array *a = r->array[p];
    memset(o, 0, sizeof *o);
    /* A number is passed by value. */
    o->raw = d->params[p].raw && (a != NULL || p >= d->input_count);
    o->written = d->params[p].output || d->params[p].writable;
    o->by_address = d->params[p].by_address;
    o->itemsize = (uint8_t)kiln_dtype_size(r->dtype[p]);
    if (a == NULL)
        return;
    o->is_array = true;
    o->contiguous = a->contiguous;
    o->rank = a->rank;
    o->shape = a->shape;
    o->strides = a->strides;
    o->address = (uintptr_t)a->data;
}

kiln_status kiln__read_axes(const kiln__definition *d, const kiln_axes *axes, kiln__resolved *r,
                            kiln_error *err)
{
    for (int a = 0; a < r->rank; a++)
        r->along[a] = axes == NULL;
    if (axes == NULL)
        return KILN_OK;
    if (axes->count < 0 || axes->count > KILN_RANK_MAX)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%s\": %d axes; at most %d can be given",
                          d->name, axes->count, KILN_RANK_MAX);
    for (int k = 0; k < axes->count; k++) {
        const int axis = axes->axis[k] < 0 ? axes->axis[k] + r->rank : axes->axis[k];
        if (axis < 0 || axis >= r->rank)
            return kiln__fail(err, KILN_ERR_AXIS,
                              "kernel \"%s\": axis %d is out of range for rank %d", d->name,
                              axes->axis[k], r->rank);
        if (r->along[axis])
            return kiln__fail(err, KILN_ERR_AXIS, "kernel \"%s\": axis %d is given twice", d->name,
                              axis);
        r->along[axis] = true;
    }
    return KILN_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

kiln_status kiln__check_output(const kiln__definition *d, const kiln__resolved *r, size_t p,
                               kiln_error *err)
{
    const kiln_array *a = r->array[p];
    const int rank = r->row[p] == KILN__SHAPE_LOOP      ? r->rank
                     : r->row[p] == KILN__SHAPE_RESULTS ? r->row_rank
                                                        : 0;
    const int64_t *shape = r->row[p] ? r->row_shape : r->shape;
    char have[160], need[160];

    if (a->rank != rank || memcmp(a->shape, shape, (size_t)rank * sizeof shape[0]) != 0)
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "kernel \"%s\": output `%s` has shape %s, but the %s %s", d->name,
                          d->params[p].name,
                          kiln__shape_text(a->rank, a->shape, have, sizeof have),
                          d->family->combines ? "result has" : "inputs broadcast to",
                          kiln__shape_text(rank, shape, need, sizeof need));
    if (kiln__array_unwritable(a) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "kernel \"%s\": output `%s` %s", d->name,
                          d->params[p].name, kiln__array_unwritable(a));
    return KILN_OK;
}

/* Describe an output to the planner with all axes of the loop. */
static void spread_output(kiln__resolved *r, size_t p)
{
    kiln__operand *o = &r->operand[p];
    const kiln_array *a = r->array[p];
    int64_t dense[KILN_RANK_MAX];
    int own = 0;

    o->is_array = true;
    o->rank = r->rank;
    o->shape = r->row[p] && !r->flat ? r->spread : r->shape;
    o->strides = r->fresh_strides[p];
    if (r->row[p] == KILN__SHAPE_CALL) {
        memset(r->fresh_strides[p], 0, sizeof r->fresh_strides[p]);
    } else if (!r->row[p]) {
        kiln__strides_ordered(r->rank, r->shape, r->order, o->itemsize, r->fresh_strides[p]);
    } else if (r->flat) {
        kiln__strides_ordered(r->rank, r->shape, NULL, 1, r->fresh_strides[p]);
        for (int k = 0; k < r->rank; k++)
            r->fresh_strides[p][k] *= a != NULL ? a->strides[0] : o->itemsize;
    } else {
        kiln__strides_ordered(r->row_rank, r->row_shape, NULL, o->itemsize, dense);
        const int64_t *strides = a != NULL ? a->strides : dense;
        for (int k = 0; k < r->rank; k++) {
            r->fresh_strides[p][k] = r->along[k] ? 0 : strides[own];
            own += !r->along[k] || r->row_rank == r->rank;
        }
    }
}

/* Describe all parameters to the planner. Outputs that are not of the results' shape come last: where
 * they are allocated, the order of their axes is that of all others. */
static void fill_operands(const kiln__definition *d, kiln__resolved *r)
{
    for (size_t p = 0; p < d->param_count; p++)
        fill_operand(d, r, p);
    for (size_t p = d->input_count; p < d->param_count; p++)
        if (r->row[p])
            spread_output(r, p);
    kiln__plan_k_order(r->operand, d->param_count, r->rank, r->shape, r->order);
    for (size_t p = d->input_count; p < d->param_count; p++)
        if (!r->operand[p].is_array)
            spread_output(r, p);
}

kiln_status kiln__decide(const kiln__definition *d, const kiln__call *call,
                         const kiln__family_calls *calls, const kiln__plan_device *device,
                         kiln__resolved *r, kiln_error *err)
{
    r->row_rank = 0;
    r->flat = false;
    memset(r->row, 0, sizeof r->row);
    kiln_status status = calls->shape(d, call, r, err);
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++)
        if (kiln__decides_shape(d, r, p))
            status = kiln__check_output(d, r, p, err);
    if (status != KILN_OK)
        return status;
    fill_operands(d, r);
    const kiln__plan_request request = {.def = d,
                                        .device = *device,
                                        .dtypes = r->dtype,
                                        .operands = r->operand,
                                        .rank = r->rank,
                                        .shape = r->shape,
                                        .along = d->family->combines ? r->along : NULL,
                                        .keepdims = call->keepdims,
                                        .flags = call->flags};
    kiln__plan_make(&request, &r->plan);
    return KILN_OK;
}

kiln_status kiln__fail_as(const char *name, kiln_status status, kiln_error *err)
{
    char begin[80], message[KILN_ERROR_MESSAGE_BYTES];
    const int length = snprintf(begin, sizeof begin, "kernel \"kiln_%s\": ", name);

    if (status == KILN_OK || status == KILN_ERR_COMPILE || err == NULL || length < 0 ||
        strncmp(err->message, begin, (size_t)length) != 0)
        return status;
    snprintf(message, sizeof message, "%s", err->message + length);
    return kiln__fail(err, status, "%s: %s", name, message);
}
