/*
 * filter.c - kiln_filter (kiln/select.h): shapes of a call, and the public functions.
 *
 *     arguments > [shapes] > outputs > plan > recipe
 *
 * Elements are taken in C-order. Every output has room for all of them, since only the device knows
 * how many are kept. The last output receives that number; with `otherwise` the last two receive it
 * and the number of the other elements.
 *
 * Tests: test_filter, test_partition_copy.
 */
#include "kernel/resolve.h"

/* The last outputs are numbers of elements: of those kept, and with `otherwise` of all others. */
static size_t numbers_of(const kiln__definition *d)
{
    return d->snippet[KILN__SNIPPET_OTHERWISE][0] != '\0' ? 2 : 1;
}

static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    (void)call;
    KILN_CHECK(kiln__decide_inputs(d, r, err));
    r->flat = true;
    r->row_rank = 1;
    KILN_CHECK(kiln__shape_size(r->rank, r->shape, 16, &r->row_shape[0], err));
    for (int a = 0; a < r->rank; a++)
        r->along[a] = true;
    for (size_t p = d->input_count; p < d->param_count; p++)
        r->row[p] = p + numbers_of(d) >= d->param_count ? KILN__SHAPE_CALL : KILN__SHAPE_RESULTS;
    return KILN_OK;
}

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    (void)r; /* there is nothing beside the stream */
    (void)opts;
    (void)err;
    return KILN_OK;
}

const kiln__family_calls kiln__filter_calls = {
    &kiln__family_filter, KILN__CALL_OPTIONS(kiln_filter_call_options), read_options, decide_shape,
    numbers_of};

kiln_status kiln_filter_create(kiln_context *ctx, const char *in, const char *outputs,
                               const char *where, const char *op, const kiln_filter_options *opts,
                               kiln_filter **out, kiln_error *err)
{
    kiln_filter_options o = KILN_FILTER_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = kiln__create_begin("kiln_filter", ctx, out, opts, &o, sizeof o, err);
    const kiln__definition_request request = {
        .name = o.name,
        .in = in,
        .out = outputs,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_WHERE] = where,
                    [KILN__SNIPPET_OTHERWISE] = o.otherwise,
                    [KILN__SNIPPET_OP] = op},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
        .numpy_types = o.numpy_types,
    };

    if (status == KILN_OK)
        status = kiln__kernel_define(ctx, &kiln__filter_calls, &request, &kernel, err);
    if (out != NULL)
        *out = (kiln_filter *)kernel;
    return status;
}

KILN__HANDLE_FUNCTIONS(filter)
