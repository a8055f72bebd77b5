/*
 * imagine.c - the variant that a call would need, when there are shapes and no arrays.
 *
 *     shapes, dtypes > [arrays without memory > the plan of a real call] > variant
 *
 * For tools that compile ahead, on machines without the device. The planners are those of real
 * calls, so that the variants are: what is imagined is only the arrays.
 */
#include "kernel/resolve.h"

/* A C-order array at address 0, which is aligned to everything, or NULL without memory. */
static kiln_array *make_array(kiln_dtype dtype, int rank, const int64_t *shape)
{
    kiln_array *a = kiln__calloc(1, sizeof *a + 2 * (size_t)rank * sizeof(int64_t));
    int64_t step = (int64_t)kiln_dtype_size(dtype);

    if (a == NULL)
        return NULL;
    a->dtype = dtype;
    a->rank = rank;
    a->contiguous = true;
    a->strides = a->shape + rank;
    for (int k = rank - 1; k >= 0; k--) {
        a->shape[k] = shape[k];
        a->strides[k] = step;
        step *= shape[k] > 1 ? shape[k] : 1;
    }
    return a;
}

kiln_status kiln__imagine_variant(kiln__definition *def, kiln_backend backend, int units,
                                  const kiln_dtype *dtypes, const kiln__imagined *args,
                                  const kiln_axes *axes, unsigned scan_flags, kiln__variant *out,
                                  kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__kernel op;
    kiln__resolved r;
    kiln__call call = {.axes = axes, .scan_flags = scan_flags};
    bool decided = false;

    memset(&op, 0, sizeof op);
    memset(r.array, 0, sizeof r.array);
    op.def = def;
    for (size_t p = 0; p < def->param_count; p++) {
        r.dtype[p] = dtypes[p];
        if (args[p].scalar || args[p].absent)
            continue;
        r.array[p] = make_array(dtypes[p], args[p].rank, args[p].shape);
        if (r.array[p] == NULL) {
            status = kiln__fail_memory(err, sizeof *r.array[p]);
            goto done;
        }
        decided = decided || kiln__decides_shape(def, &r, p);
    }
    if (!decided) { /* only raw arrays and scalars: a program gives `size` */
        call.has_size = true;
        call.size = INT64_C(1) << 20;
    }
    if (def->scan)
        status = kiln__scan_variant(&op, &call, backend, units, &r, err);
    else if (def->reduction)
        status = kiln__reduction_variant(&op, &call, backend, units, &r, err);
    else
        status = kiln__loop_variant(&op, &call, backend, &r, err);
    if (status == KILN_OK)
        *out = r.plan.variant;

done:
    for (size_t p = 0; p < def->param_count; p++)
        kiln__free(r.array[p]);
    return status;
}
