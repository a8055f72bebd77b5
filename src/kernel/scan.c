/*
 * scan.c - kiln_scan: the axis, shapes, the plan, and the public functions.
 *
 *     arguments > [axis > outputs > plan] > recipe > memo > run
 *
 * To the planner an output has all axes of the loop. One that is flat, as NumPy's axis=None makes
 * it, is described with the strides that its elements have in the C-order of the loop.
 */
#include "kiln/scan.h"
#include "kernel/resolve.h"

#define FLAGS_ALL ((unsigned)KILN_SCAN_EXCLUSIVE | (unsigned)KILN_SCAN_REVERSE)
_Static_assert((int)KILN_SCAN_EXCLUSIVE == (int)KILN__SCAN_EXCLUSIVE &&
                   (int)KILN_SCAN_REVERSE == (int)KILN__SCAN_REVERSE,
               "the planner's flags are the public ones");

/* ---- the call -------------------------------------------------------------------------------- */

/* The axis to scan, or -1 for all elements in C-order. */
static kiln_status read_axis(const kiln__definition *d, const kiln_axes *axes, int rank, int *out,
                             kiln_error *err)
{
    *out = -1;
    if (axes == NULL)
        return KILN_OK;
    if (axes->count != 1)
        return kiln__fail(
            err, KILN_ERR_AXIS,
            "kernel \"%s\": a scan runs along one axis (or, with none given, over all "
            "elements), not along %d",
            d->name, axes->count);
    *out = axes->axis[0] < 0 ? axes->axis[0] + rank : axes->axis[0];
    if (*out < 0 || *out >= rank)
        return kiln__fail(err, KILN_ERR_AXIS, "kernel \"%s\": axis %d is out of range for rank %d",
                          d->name, axes->axis[0], rank);
    return KILN_OK;
}

static kiln_status check_flags(const kiln__definition *d, unsigned flags, kiln_error *err)
{
    if ((flags & ~FLAGS_ALL) != 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kernel \"%s\": %#x is no kiln_scan_flag",
                          d->name, flags & ~FLAGS_ALL);
    if ((flags & KILN_SCAN_EXCLUSIVE) != 0 && d->snippet[KILN__SNIPPET_IDENTITY][0] == '\0')
        return kiln__fail(err, KILN_ERR_IDENTITY,
                          "kernel \"%s\": an exclusive scan begins with the identity, and there is "
                          "none",
                          d->name);
    return KILN_OK;
}

static bool has_shape(const kiln_array *a, int rank, const int64_t *shape)
{
    return a->rank == rank && memcmp(a->shape, shape, (size_t)rank * sizeof shape[0]) == 0;
}

static kiln_status check_given(const kiln__definition *d, const kiln__resolved *r, size_t p,
                               int axis, int64_t size, kiln_error *err)
{
    const kiln_array *a = r->array[p];
    char have[160], need[160];
    if (!has_shape(a, r->rank, r->shape) && !(axis < 0 && has_shape(a, 1, &size)))
        return kiln__fail(err, KILN_ERR_OUTPUT,
                          "kernel \"%s\": output `%s` has shape %s, but the result has %s", d->name,
                          d->params[p].name, kiln__shape_text(a->rank, a->shape, have, sizeof have),
                          axis < 0 ? kiln__shape_text(1, &size, need, sizeof need)
                                   : kiln__shape_text(r->rank, r->shape, need, sizeof need));
    if (kiln__array_unwritable(a) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "kernel \"%s\": output `%s` %s", d->name,
                          d->params[p].name, kiln__array_unwritable(a));
    return KILN_OK;
}

/* ---- outputs as the planner sees them -------------------------------------------------------- */

/* Strides over the loop's axes of elements `step` bytes apart; the last of `order` is fastest. */
static void dense_strides(const kiln__resolved *r, const int *order, int64_t step, int64_t *strides)
{
    for (int k = r->rank - 1; k >= 0; k--) {
        const int a = order != NULL ? order[k] : k;
        strides[a] = step;
        step *= r->shape[a] > 1 ? r->shape[a] : 1;
    }
}

static void fill_outputs(const kiln__definition *d, kiln__resolved *r, int axis)
{
    kiln__plan_k_order(r->operand, d->param_count, r->rank, r->shape, r->order);
    for (size_t p = d->input_count; p < d->param_count; p++) {
        kiln__operand *o = &r->operand[p];
        const kiln_array *a = r->array[p];
        if (a != NULL && has_shape(a, r->rank, r->shape))
            continue;
        if (axis < 0)
            dense_strides(r, NULL, a != NULL ? a->strides[0] : o->itemsize, r->fresh_strides[p]);
        else
            dense_strides(r, r->order, o->itemsize, r->fresh_strides[p]);
        o->is_array = true;
        o->rank = r->rank;
        o->shape = r->shape;
        o->strides = r->fresh_strides[p];
    }
}

/* Plan; nothing is planned for no elements, but a source can be asked for in any case. */
static void make_plan(const kiln__definition *d, const kiln__call *call,
                      const kiln__plan_device *device, int axis, kiln__resolved *r)
{
    int64_t shape[KILN_RANK_MAX];
    bool along[KILN_RANK_MAX] = {false}, empty = false;
    memcpy(shape, r->shape, sizeof shape);
    for (int a = 0; a < r->rank; a++) {
        along[a] = axis < 0 || a == axis;
        empty = empty || r->shape[a] == 0;
        r->shape[a] = r->shape[a] > 0 ? r->shape[a] : 1;
    }
    kiln__plan_resolved(d, call, device, along, r);
    memcpy(r->shape, shape, sizeof shape);
    if (empty)
        r->plan.size = 0;
}

/* Everything about a call with known arrays and dtypes but its recipe. On return r->rank and
 * r->shape are the outputs'. */
static kiln_status decide(const kiln__definition *d, const kiln__call *call,
                          const kiln__plan_device *device, kiln__resolved *r, kiln_error *err)
{
    kiln_status status = KILN_OK;
    int64_t size;
    int axis;

    KILN_TRY(kiln__decide_inputs(d, r, err));
    KILN_TRY(kiln__shape_size(r->rank, r->shape, 16, &size, err));
    KILN_TRY(read_axis(d, call->axes, r->rank, &axis, err));
    KILN_TRY(check_flags(d, call->flags, err));
    for (size_t p = d->input_count; p < d->param_count; p++)
        if (r->array[p] != NULL)
            KILN_TRY(check_given(d, r, p, axis, size, err));
    for (size_t p = 0; p < d->param_count; p++)
        kiln__fill_operand(d, r, p);
    fill_outputs(d, r, axis);
    make_plan(d, call, device, axis, r);
    if (axis < 0) {
        r->rank = 1;
        r->shape[0] = size;
        r->order[0] = 0;
    }

done:
    return status;
}

/* ---- the public functions ------------------------------------------------------------------------ */

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    const kiln_scan_call_options *given = opts;
    kiln_scan_call_options o = KILN_SCAN_CALL_OPTIONS_INIT;
    kiln_status status = kiln__options_read(&o, sizeof o, given, given->struct_size,
                                            "kiln_scan_call_options", err);
    r->call.stream = o.stream;
    r->call.axes = o.axes;
    r->call.flags = o.flags;
    return status;
}

const kiln__family_calls kiln__scan_calls = {&kiln__family_scan, read_options, decide};

kiln_status kiln_scan_create(kiln_context *ctx, const char *in, const char *outputs,
                             const char *map, const char *reduce, const char *post,
                             const char *identity, const kiln_scan_options *opts, kiln_scan **out,
                             kiln_error *err)
{
    kiln_scan_options o = KILN_SCAN_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_scan_create: `out` is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_scan_create: `ctx` is NULL");
    if (opts != NULL)
        KILN_TRY(
            kiln__options_read(&o, sizeof o, opts, opts->struct_size, "kiln_scan_options", err));
    const kiln__definition_request request = {
        .name = o.name,
        .in = in,
        .out = outputs,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_MAP] = map,
                    [KILN__SNIPPET_REDUCE] = reduce,
                    [KILN__SNIPPET_POST] = post,
                    [KILN__SNIPPET_IDENTITY] = identity,
                    [KILN__SNIPPET_REDUCE_TYPE] = o.reduce_type},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
    };
    KILN_TRY(kiln__kernel_new(ctx, true, &kiln__scan_calls, &request, &kernel, err));
    *out = (kiln_scan *)kernel;

done:
    return status;
}

KILN__HANDLE_FUNCTIONS(scan)
