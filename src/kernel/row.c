/*
 * row.c - kiln_row, row programs (kiln/row.h): axes and shapes of a call, and the public functions.
 *
 *     arguments > [axes > shapes] > outputs > plan > recipe
 *
 * A row program is a loop and a reduction in one. Outputs per element have the inputs' broadcast
 * shape; outputs per row have the shape of a reduction over the row's axes. Rows without elements
 * write nothing per element, and their outputs per row need an identity in every stage.
 *
 * Test: test_row_layout.
 */
#include "kernel/resolve.h"

/* Rows of no elements: nothing is written per element, and per row only what identities give. */
static kiln_status check_empty(const kiln__definition *d, const kiln__resolved *r, kiln_error *err)
{
    int64_t rows = 1, elements = 1;
    bool wanted = false;
    char text[160];

    for (int a = 0; a < r->rank; a++)
        *(r->along[a] ? &elements : &rows) *= r->shape[a];
    for (size_t p = d->input_count; p < d->param_count; p++)
        wanted |= d->params[p].row;
    for (size_t s = 0; s < d->rows->stage_count && wanted && elements == 0 && rows > 0; s++)
        if (d->snippet[kiln__stage_snippet(s, KILN__STAGE_IDENTITY)][0] == '\0')
            return kiln__fail(err, KILN_ERR_IDENTITY,
                              "kernel \"%s\": shape %s leaves nothing to reduce, and stage %zu has no "
                              "identity",
                              d->name, kiln__shape_text(r->rank, r->shape, text, sizeof text),
                              s + 1);
    return KILN_OK;
}

static kiln_status decide_shape(const kiln__definition *d, const kiln__call *call,
                                kiln__resolved *r, kiln_error *err)
{
    KILN_CHECK(kiln__decide_inputs(d, r, err));
    KILN_CHECK(kiln__read_axes(d, call->axes, r, err));
    KILN_CHECK(check_empty(d, r, err));
    kiln__decide_results(r, call->keepdims);
    for (size_t p = d->input_count; p < d->param_count; p++)
        r->row[p] = d->params[p].row;
    return KILN_OK;
}

/* ---- the public functions ------------------------------------------------------------------------ */

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    (void)err;
    r->call.keepdims = ((const kiln_row_call_options *)opts)->keepdims;
    return KILN_OK;
}

const kiln__family_calls kiln__row_calls = {
    &kiln__family_row, KILN__CALL_OPTIONS(kiln_row_call_options), read_options, decide_shape, NULL};

static kiln_status check_texts(const char *in, const char *outputs, const kiln_row_stage *stages,
                               size_t stage_count, const char *op, const kiln_row_options *o,
                               kiln_error *err)
{
    const char *missing = in == NULL                                  ? "in"
                          : outputs == NULL                           ? "outputs"
                          : stages == NULL                            ? "stages"
                          : op == NULL                                ? "op"
                          : o->values == NULL && o->value_count > 0   ? "values"
                                                                      : NULL;
    if (missing != NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_row_create: `%s` is NULL", missing);
    if (stage_count == 0)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kiln_row_create: there is no stage");
    return KILN_OK;
}

kiln_status kiln_row_create(kiln_context *ctx, const char *in, const char *outputs,
                            const kiln_row_stage *stages, size_t stage_count, const char *op,
                            const kiln_row_options *opts, kiln_row **out, kiln_error *err)
{
    kiln_row_options o = KILN_ROW_OPTIONS_INIT;
    kiln__kernel *kernel = NULL;
    kiln_status status = kiln__create_begin("kiln_row", ctx, out, opts, &o, sizeof o, err);
    const kiln__definition_request request = {
        .name = o.name,
        .in = in,
        .out = outputs,
        .row_out = o.row_outputs,
        .snippet = {[KILN__SNIPPET_PREAMBLE] = o.preamble,
                    [KILN__SNIPPET_OP] = op,
                    [KILN__SNIPPET_POST] = o.row_post},
        .options = o.compiler_options,
        .option_count = o.compiler_option_count,
        .numpy_types = o.numpy_types,
        .stages = stages,
        .stage_count = stage_count,
        .values = o.values,
        .value_count = o.value_count,
    };

    if (status == KILN_OK)
        status = check_texts(in, outputs, stages, stage_count, op, &o, err);
    if (status == KILN_OK)
        status = kiln__kernel_define(ctx, &kiln__row_calls, &request, &kernel, err);
    if (out != NULL)
        *out = (kiln_row *)kernel;
    return status;
}

KILN__HANDLE_FUNCTIONS(row)
