/*
 * row.c - row programs: axes, shapes, the plan, and the public functions.
 *
 *     arguments > [shape > axes > outputs > plan] > recipe > memo > run
 *
 * A row program is a loop and a reduction in one: outputs per element have the inputs' broadcast
 * shape, outputs per row that of a reduction over the row's axes. Zero-length rows have no elements
 * to write, and their outputs per row need an identity in every stage.
 */
#include "kernel/resolve.h"

/* Rows of no elements: nothing is written per element, and per row only what identities give. */
static kiln_status check_empty(const kiln__definition *d, const kiln__resolved *r,
                               const bool *marks, kiln_error *err)
{
    int64_t rows = 1, elements = 1;
    bool wanted = false;
    char text[160];

    for (int a = 0; a < r->rank; a++)
        *(marks[a] ? &elements : &rows) *= r->shape[a];
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

static kiln_status check_outputs(const kiln__definition *d, const kiln__resolved *r,
                                 kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t p = d->input_count; p < d->param_count && status == KILN_OK; p++) {
        const bool row = d->params[p].row;
        if (r->array[p] != NULL)
            status = kiln__check_result(d, r->array[p], p, row ? r->row_rank : r->rank,
                                        row ? r->row_shape : r->shape, err);
    }
    return status;
}

/* Everything about a call with known arrays and dtypes but its recipe. */
static kiln_status decide(const kiln__definition *d, const kiln__call *call,
                          const kiln__plan_device *device, kiln__resolved *r, kiln_error *err)
{
    kiln_status status = KILN_OK;
    bool marks[KILN_RANK_MAX];

    KILN_TRY(kiln__decide_inputs(d, r, err));
    KILN_TRY(kiln__read_axes(d, call->axes, r->rank, marks, err));
    KILN_TRY(check_empty(d, r, marks, err));
    kiln__decide_results(r, marks, call->keepdims);
    KILN_TRY(check_outputs(d, r, err));
    for (size_t p = 0; p < d->param_count; p++)
        kiln__fill_operand(d, r, p);
    for (size_t p = d->input_count; p < d->param_count; p++)
        if (d->params[p].row)
            kiln__spread_output(r, p, marks, call->keepdims);
    kiln__fill_fresh(d, r);
    kiln__plan_resolved(d, call, device, marks, r);

done:
    return status;
}

/* ---- the public functions ------------------------------------------------------------------------ */

static kiln_status read_options(kiln__reading *r, const void *opts, kiln_error *err)
{
    const kiln_row_call_options *given = opts;
    kiln_row_call_options o = KILN_ROW_CALL_OPTIONS_INIT;
    kiln_status status = kiln__options_read(&o, sizeof o, given, given->struct_size,
                                            "kiln_row_call_options", err);
    r->call.stream = o.stream;
    r->call.axes = o.axes;
    r->call.keepdims = o.keepdims;
    return status;
}

const kiln__family_calls kiln__row_calls = {&kiln__family_row, read_options, decide};

/* The public structs, told to src/codegen, which knows none of them. */
static void copy_lists(const kiln_row_stage *stages, size_t stage_count,
                       const kiln_row_value *values, size_t value_count, kiln__row_stage *stages_out,
                       kiln__row_value *values_out)
{
    for (size_t s = 0; s < stage_count && s < KILN__STAGE_MAX; s++)
        stages_out[s] = (kiln__row_stage){stages[s].prep,     stages[s].map,
                                          stages[s].type,     stages[s].reduce,
                                          stages[s].identity, stages[s].result,
                                          stages[s].post};
    for (size_t v = 0; v < value_count && v < KILN__VALUE_MAX; v++)
        values_out[v] = (kiln__row_value){values[v].type, values[v].name};
}

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
    kiln_status status = KILN_OK;
    kiln__row_stage own_stages[KILN__STAGE_MAX];
    kiln__row_value own_values[KILN__VALUE_MAX];

    _Static_assert(KILN_ROW_STAGES_MAX == KILN__STAGE_MAX, "the header's limit is ours");
    _Static_assert(KILN_ROW_VALUES_MAX == KILN__VALUE_MAX, "the header's limit is ours");
    if (out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_row_create: `out` is NULL");
    *out = NULL;
    if (ctx == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "kiln_row_create: `ctx` is NULL");
    if (opts != NULL)
        KILN_TRY(kiln__options_read(&o, sizeof o, opts, opts->struct_size, "kiln_row_options", err));
    KILN_TRY(check_texts(in, outputs, stages, stage_count, op, &o, err));
    copy_lists(stages, stage_count, o.values, o.value_count, own_stages, own_values);
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
        .stages = own_stages,
        .stage_count = stage_count,
        .values = own_values,
        .value_count = o.value_count,
    };
    KILN_TRY(kiln__kernel_new(ctx, true, &kiln__row_calls, &request, &kernel, err));
    *out = (kiln_row *)kernel;

done:
    return status;
}

KILN__HANDLE_FUNCTIONS(row)
