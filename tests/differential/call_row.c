/*
 * call_row.c - cases as row programs: a stage for each reduction, then the outputs.
 */
#include "difftest.h"

enum { TEXT_BYTES = 4096 };

typedef struct stage_text {
    char map[TEXT_BYTES], result[16];
} stage_text;

/* The stages of a program; returns how many there are. */
static size_t fill_stages(const dt_case *c, stage_text *texts, kiln_row_stage *stages)
{
    size_t count = 0;

    for (int k = 0; k < c->node_count && count < KILN_ROW_STAGES_MAX; k++) {
        const dt_node *n = &c->node[k];
        kiln_row_stage *s = &stages[count];
        if (n->op != DT_REDUCE)
            continue;
        dt_mapped(c, k, texts[count].map, TEXT_BYTES);
        snprintf(texts[count].result, sizeof texts[count].result, "s%d", k);
        s->map = texts[count].map;
        s->result = texts[count].result;
        s->type = kiln_dtype_ctype(n->dtype);
        dt_combined(c, n, &s->reduce, &s->identity);
        count++;
    }
    return count;
}

kiln_status dt_call_row(dt_device *device, const dt_case *c, dt_arrays *a, kiln_error *err)
{
    stage_text texts[KILN_ROW_STAGES_MAX];
    kiln_row_stage stages[KILN_ROW_STAGES_MAX] = {{0}};
    char in[512], out[256], row_out[256], op[TEXT_BYTES], row_post[256];
    kiln_row_options options = KILN_ROW_OPTIONS_INIT;
    kiln_row_call_options call = KILN_ROW_CALL_OPTIONS_INIT;
    const size_t count = fill_stages(c, texts, stages);
    kiln_row *row = NULL;
    kiln_launch *launch = NULL;
    kiln_axes axes = {0};
    const dt_node *n = c->node;

    while (n->op != DT_REDUCE)
        n++;
    axes.count = n->axis_count;
    for (int k = 0; k < n->axis_count; k++)
        axes.axis[k] = n->axis[k];
    call.axes = n->all_axes ? NULL : &axes;
    call.keepdims = true;
    call.stream = a->stream;
    dt_signature(c, false, in, sizeof in);
    dt_signature(c, true, out, sizeof out);
    dt_row_signature(c, row_out, sizeof row_out);
    dt_statements(c, op, sizeof op);
    dt_row_statements(c, row_post, sizeof row_post);
    options.row_outputs = row_out[0] != '\0' ? row_out : NULL;
    options.row_post = row_out[0] != '\0' ? row_post : NULL;
    kiln_status status =
        kiln_row_create(device->ctx, in, out, stages, count, op, &options, &row, err);
    if (status == KILN_OK && !c->prepared) {
        status = kiln_row_run(row, a->args, a->arg_count, &call, err);
    } else if (status == KILN_OK) {
        status = kiln_row_prepare(row, a->args, a->arg_count, &call, &launch, err);
        status = dt_launch_twice(status, launch, a->stream, err);
    }
    kiln_row_destroy(row);
    return status;
}
