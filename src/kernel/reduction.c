/*
 * reduction.c - kiln_reduction (kiln/reduction.h): axes and shapes of a call, and the public
 * functions.
 *
 *     arguments > [axes > shapes] > outputs > plan > recipe
 *
 * The planner gets an output with all axes of the loop, with extent 1 on the reduced ones, whether
 * or not the user asked for keepdims.
 *
 * Test: test_reduction_where.
 */
#include "kernel/resolve.h"

/* ---- shapes ------------------------------------------------------------------------------------ */

static kiln_status check_empty(const kiln__definition *d, const kiln__resolved *r, kiln_error *err)
{
    int64_t outputs = 1, elements = 1;
    char text[160];
    for (int a = 0; a < r->rank; a++)
        *(r->along[a] ? &elements : &outputs) *= r->shape[a];
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
static kiln_status check_late(const kiln__definition *d, const kiln__resolved *r, kiln_error *err)
{
    char text[160];
    for (size_t p = 0; p < d->input_count; p++) {
        const kiln_array *a = r->array[p];
        for (int k = 0; d->params[p].post_only && a != NULL && k < a->rank; k++)
            if (r->along[k + r->rank - a->rank] && a->shape[k] != 1)
                return kiln__fail(err, KILN_ERR_SHAPE,
                                  "kernel \"%s\": input `%s` is for `post` alone, and its shape %s "
                                  "has more than one element along reduced axis %d",
                                  d->name, d->params[p].name,
                                  kiln__shape_text(a->rank, a->shape, text, sizeof text),
                                  k + r->rank - a->rank);
    }
    return KILN_OK;
}

static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    KILN_CHECK(kiln__decide_inputs(d, r, err));
    if (d->masked)
        KILN_CHECK(check_mask(d, r, err));
    KILN_CHECK(kiln__read_axes(d, call->axes, r, err));
    KILN_CHECK(check_late(d, r, err));
    KILN_CHECK(check_empty(d, r, err));
    kiln__decide_results(r, call->keepdims);
    for (size_t p = d->input_count; p < d->param_count; p++)
        r->row[p] = true;
    return KILN_OK;
}

/* ---- the public functions ------------------------------------------------------------------------ */

const kiln__family_calls kiln__reduction_calls = {
    &kiln__family_reduction, KILN__CALL_OPTIONS(kiln_reduction_call_options), kiln__reduction_read,
    decide_shape, NULL};

kiln_status kiln_reduction_create(kiln_context *ctx, const char *in, const char *outputs,
                                  const char *map, const char *reduce, const char *post,
                                  const char *identity, const kiln_reduction_options *opts,
                                  kiln_reduction **out, kiln_error *err)
{
    const char *const texts[] = {in, outputs, map, reduce, post, identity};
    kiln__kernel *kernel = NULL;
    const kiln_status status = kiln__maps_create("kiln_reduction", ctx, &kiln__reduction_calls,
                                                 texts, opts, out, &kernel, err);
    if (out != NULL)
        *out = (kiln_reduction *)kernel;
    return status;
}

KILN__HANDLE_FUNCTIONS(reduction)
