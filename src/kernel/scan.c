/*
 * scan.c - kiln_scan (kiln/scan.h): the axis and shapes of a call, and the public functions.
 *
 *     arguments > [axis > shapes] > outputs > plan > recipe
 *
 * Without an axis all elements are scanned in C-order, as with NumPy's axis=None, and outputs have
 * one axis. A given output may have the inputs' shape instead.
 *
 * Test: test_scans_layout.
 */
#include "kernel/resolve.h"

#define FLAGS_ALL ((unsigned)KILN_SCAN_EXCLUSIVE | (unsigned)KILN_SCAN_REVERSE)
_Static_assert((int)KILN_SCAN_EXCLUSIVE == (int)KILN__SCAN_EXCLUSIVE &&
                   (int)KILN_SCAN_REVERSE == (int)KILN__SCAN_REVERSE,
               "the planner's flags are the public ones");

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

static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    int64_t size;
    int axis;

    KILN_CHECK(kiln__decide_inputs(d, r, err));
    KILN_CHECK(kiln__shape_size(r->rank, r->shape, 16, &size, err));
    KILN_CHECK(read_axis(d, call->axes, r->rank, &axis, err));
    KILN_CHECK(check_flags(d, call->flags, err));
    for (int a = 0; a < r->rank; a++)
        r->along[a] = axis < 0 || a == axis;
    r->flat = axis < 0;
    r->row_rank = 1;
    r->row_shape[0] = size;
    for (size_t p = d->input_count; p < d->param_count; p++)
        r->row[p] = r->flat && (r->array[p] == NULL || !has_shape(r->array[p], r->rank, r->shape));
    return KILN_OK;
}

/* ---- the public functions ------------------------------------------------------------------------ */

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    (void)err;
    r->call.flags = ((const kiln_scan_call_options *)opts)->flags;
    return KILN_OK;
}

const kiln__family_calls kiln__scan_calls = {
    &kiln__family_scan, KILN__CALL_OPTIONS(kiln_scan_call_options), read_options, decide_shape, NULL};

kiln_status kiln_scan_create(kiln_context *ctx, const char *in, const char *outputs,
                             const char *map, const char *reduce, const char *post,
                             const char *identity, const kiln_scan_options *opts, kiln_scan **out,
                             kiln_error *err)
{
    const char *const texts[] = {in, outputs, map, reduce, post, identity};
    kiln__kernel *kernel = NULL;
    const kiln_status status = kiln__maps_create("kiln_scan", ctx, &kiln__scan_calls, texts, opts,
                                                 out, &kernel, err);
    if (out != NULL)
        *out = (kiln_scan *)kernel;
    return status;
}

KILN__HANDLE_FUNCTIONS(scan)
