/*
 * abstract.c - the variant that a call would need, for shapes without arrays.
 *
 *     shapes, dtypes > arrays without memory > the plan of a real call > variant
 *
 * `kiln warm` (src/warm, src/graph) compiles ahead with it, on machines without the device. The
 * planners are those of real calls, so the variants are the same; only the arrays have no memory.
 *
 * Tests: test_graph_run, test_family.
 */
#include "kernel/resolve.h"

/* An array without storage, or NULL without memory. */
static kiln_array *make_array(kiln_dtype dtype, const kiln__abstract *like)
{
    kiln_array *a = kiln__calloc(1, sizeof *a + 2 * (size_t)like->rank * sizeof(int64_t));
    int64_t dense[KILN_RANK_MAX];

    if (a == NULL)
        return NULL;
    kiln__strides_ordered(like->rank, like->shape, NULL, kiln_dtype_size(dtype), dense);
    kiln__array_header(a, NULL, dtype, like->rank, like->shape,
                       like->strides != NULL ? like->strides : dense);
    a->data = (void *)like->address; /* looked at, never followed */
    return a;
}

kiln_status kiln__abstract_variant(kiln__definition *def, const kiln__plan_device *device,
                                   const kiln__abstract_call *call, kiln__planned *out,
                                   kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__resolved *r = kiln__alloc(sizeof *r);
    kiln__call as_made = {.axes = call->axes, .keepdims = call->keepdims, .flags = call->flags};
    bool decided = false;

    if (r == NULL)
        return kiln__fail_memory(err, sizeof *r);
    memset(r->array, 0, sizeof r->array);
    for (size_t p = 0; p < def->param_count; p++) {
        r->dtype[p] = call->dtypes[p];
        if (call->args[p].scalar || call->args[p].absent)
            continue;
        r->array[p] = make_array(r->dtype[p], &call->args[p]);
        if (r->array[p] == NULL) {
            status = kiln__fail_memory(err, sizeof *r->array[p]);
            goto done;
        }
        decided = decided || kiln__decides_shape(def, r, p);
    }
    if (!decided) { /* only raw arrays and scalars: a program gives `size` */
        as_made.has_size = true;
        as_made.size = INT64_C(1) << 20;
    }
    KILN_TRY(kiln__decide(def, &as_made, kiln__calls_of(def->family), device, r, err));
    out->size = r->plan.size;
    out->variant = r->plan.variant;

done:
    for (size_t p = 0; p < def->param_count; p++)
        kiln__free(r->array[p]);
    kiln__free(r);
    return status;
}
