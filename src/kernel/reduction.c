/*
 * reduction.c - kiln_reduction: axes, shapes, the plan, and the public functions.
 *
 *     arguments > [axes > result's shape > outputs > plan] > recipe > memo > run
 *
 * To the planner an output has all axes of the loop, with extent 1 on the reduced ones: what
 * keepdims does for users, kiln does for itself in any case.
 */
#include "kernel/resolve.h"

/* ---- shapes ------------------------------------------------------------------------------------ */

static kiln_status check_empty(const kiln__definition *d, const kiln__resolved *r,
                               const bool *marks, kiln_error *err)
{
    int64_t outputs = 1, elements = 1;
    char text[160];
    for (int a = 0; a < r->rank; a++)
        *(marks[a] ? &elements : &outputs) *= r->shape[a];
    if (elements > 0 || outputs == 0 || d->has_initial ||
        d->snippet[KILN__SNIPPET_IDENTITY][0] != '\0')
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_IDENTITY,
                      "kernel \"%s\": shape %s leaves nothing to reduce, and there is no identity",
                      d->name, kiln__shape_text(r->rank, r->shape, text, sizeof text));
}

/* A mask takes its shape from the inputs and adds nothing to it, as in NumPy. */
static kiln_status check_mask(const kiln__definition *d, const kiln__resolved *r, kiln_error *err)
{
    int64_t shape[KILN_RANK_MAX];
    char have[160], need[160];
    const kiln_array *mask = NULL;
    int rank = 0;

    for (size_t p = 0; p < d->input_count; p++) {
        if (strcmp(d->params[p].name, KILN__WHERE) == 0)
            mask = r->array[p];
        else if (kiln__decides_shape(d, r, p))
            (void)kiln__shape_broadcast(&rank, shape, r->array[p]->rank, r->array[p]->shape);
    }
    if (mask == NULL ||
        (rank == r->rank && memcmp(shape, r->shape, (size_t)rank * sizeof shape[0]) == 0))
        return KILN_OK;
    return kiln__fail(err, KILN_ERR_SHAPE,
                      "kernel \"%s\": `where` has shape %s, which does not broadcast to the inputs' "
                      "%s",
                      d->name, kiln__shape_text(mask->rank, mask->shape, have, sizeof have),
                      kiln__shape_text(rank, shape, need, sizeof need));
}

/* An input of `post` has one element for each result: nothing along reduced axes. */
static kiln_status check_late(const kiln__definition *d, const kiln__resolved *r, const bool *marks,
                              kiln_error *err)
{
    char text[160];
    for (size_t p = 0; p < d->input_count; p++) {
        const kiln_array *a = r->array[p];
        for (int k = 0; d->params[p].late && a != NULL && k < a->rank; k++)
            if (marks[k + r->rank - a->rank] && a->shape[k] != 1)
                return kiln__fail(err, KILN_ERR_SHAPE,
                                  "kernel \"%s\": input `%s` is for `post` alone, and its shape %s "
                                  "has more than one element along reduced axis %d",
                                  d->name, d->params[p].name,
                                  kiln__shape_text(a->rank, a->shape, text, sizeof text),
                                  k + r->rank - a->rank);
    }
    return KILN_OK;
}

/* Everything about a call with known arrays and dtypes but its recipe. On return r->rank and
 * r->shape are the result's. */
static kiln_status decide(const kiln__definition *d, const kiln__call *call,
                          const kiln__plan_device *device, kiln__resolved *r, kiln_error *err)
{
    kiln_status status = KILN_OK;
    bool marks[KILN_RANK_MAX];

    KILN_TRY(kiln__decide_inputs(d, r, err));
    if (d->masked)
        KILN_TRY(check_mask(d, r, err));
    KILN_TRY(kiln__read_axes(d, call->axes, r->rank, marks, err));
    KILN_TRY(check_late(d, r, marks, err));
    KILN_TRY(check_empty(d, r, marks, err));
    kiln__decide_results(r, marks, call->keepdims);
    for (size_t p = d->input_count; p < d->param_count; p++)
        if (r->array[p] != NULL)
            KILN_TRY(kiln__check_result(d, r->array[p], p, r->row_rank, r->row_shape, err));
    for (size_t p = 0; p < d->param_count; p++)
        kiln__fill_operand(d, r, p);
    for (size_t p = d->input_count; p < d->param_count; p++)
        kiln__spread_output(r, p, marks, call->keepdims);
    kiln__plan_resolved(d, call, device, marks, r);
    r->rank = r->row_rank;
    memcpy(r->shape, r->row_shape, (size_t)r->rank * sizeof r->shape[0]);
    for (int a = 0; a < r->rank; a++)
        r->order[a] = a;

done:
    return status;
}

const kiln__family_calls kiln__reduction_calls = {&kiln__family_reduction,
                                                  kiln__reduction_read, decide};

/* ---- the public functions ------------------------------------------------------------------------ */

kiln_status kiln_reduction_create(kiln_context *ctx, const char *in, const char *outputs,
                                  const char *map, const char *reduce, const char *post,
                                  const char *identity, const kiln_reduction_options *opts,
                                  kiln_reduction **out, kiln_error *err)
{
    kiln_reduction_options o = KILN_REDUCTION_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = KILN_OK;

    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_reduction_create: `out` is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_reduction_create: `ctx` is NULL");
    if (opts != NULL)
        KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts->struct_size, "kiln_reduction_options",
                                    err));
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
    KILN_TRY(kiln__kernel_new(ctx, true, &kiln__reduction_calls, &request, &kernel, err));
    *out = (kiln_reduction *)kernel;

done:
    return status;
}

KILN__HANDLE_FUNCTIONS(reduction)
