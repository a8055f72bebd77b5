/*
 * prepare.c - kiln_graph_prepare(): a launch of all kernels of a call, bound to its arrays.
 *
 *     entry > outputs and temporaries > views > kiln__kernel_prepare for each step > launches
 *
 * Views are array objects here, not headers on the stack: a launch keeps its arrays alive, and
 * thereby the temporaries that its steps use. show.c uses the same views to ask for sources.
 *
 * Test: test_graph_run.
 */
#include "graph/call.h"

/* The arguments of a step as handles. `views` are to be released by the caller. */
static kiln_status bind(const kiln__graph_run *run, const kiln__bound_step *step, kiln_arg *args,
                        kiln_array **views, kiln_error *err)
{
    for (size_t p = 0; p < step->view_count; p++) {
        const kiln__step_param *param = &step->views[p].param;
        if (param->kind == KILN__VALUE_SCALAR) {
            args[p] = run->call->args[param->index];
            continue;
        }
        if (param->kind == KILN__VALUE_NUMBER) {
            args[p] = kiln__number_arg(&param->number);
            continue;
        }
        const kiln_array *base = kiln__run_value(run, param);
        KILN_CHECK(kiln__array_view(base, param->rank, param->shape, param->strides,
                                    (char *)base->data + param->offset, &views[p], err));
        args[p] = kiln_arg_array(views[p]);
    }
    return KILN_OK;
}

kiln_status kiln__step_with_handles(const kiln__graph_run *run, const kiln__bound_step *step,
                                    kiln_launch **launch_out, char **text_out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln_arg args[KILN_PARAM_MAX];
    kiln_array *views[KILN_PARAM_MAX] = {NULL};

    KILN_TRY(bind(run, step, args, views, err));
    const kiln__call call = kiln__run_call(step, args, run->call->stream);
    if (text_out != NULL)
        KILN_TRY(kiln__recipe_build(step->kernel, &call, NULL, text_out, err));
    else
        KILN_TRY(kiln__kernel_prepare(step->kernel, &call, launch_out, err));

done:
    for (size_t p = 0; p < step->view_count; p++)
        kiln_array_release(views[p]);
    return status;
}

/* Which of the graph's arguments those of a step come from. */
static kiln_status connect(const kiln__graph_run *run, uint32_t s, kiln_launch *part,
                           kiln_error *err)
{
    const kiln__step *const step = &run->entry->program->steps[s];
    const kiln__bound_step *const bound = &run->entry->steps[s];
    const size_t count = bound->kernel != NULL ? bound->view_count : step->param_count;
    kiln__launch_from *from = NULL;

    KILN_CHECK(kiln__make_zeroed(&from, count + 1, sizeof *from, err));
    for (size_t p = 0; p < count; p++) {
        const kiln__step_param *const param =
            bound->kernel != NULL ? &bound->views[p].param : &step->params[p];
        const bool given = param->kind == KILN__VALUE_ARG || param->kind == KILN__VALUE_SCALAR;
        from[p].argument = given ? param->index : KILN__FROM_NONE;
    }
    kiln__launch_set_origins(part, from);
    return KILN_OK;
}

static kiln_status prepare(kiln__graph_run *run, kiln_launch **parts, kiln_error *err)
{
    const kiln__program *p = run->entry->program;
    bool any_copy = false;

    KILN_CHECK(kiln__run_overlaps(run, run->copy, &any_copy, err));
    if (any_copy)
        return kiln__fail(err, KILN_ERR_OVERLAP,
                          "graph \"%s\": an output overlaps an input that is read after it was "
                          "written, and a prepared launch cannot copy it first; make the call "
                          "itself",
                          run->graph->ir.name);
    for (uint32_t s = 0; s < p->step_count; s++) {
        KILN_CHECK(kiln__run_temps(run, s, err));
        const kiln__bound_step *const bound = &run->entry->steps[s];
        KILN_CHECK(bound->kernel != NULL  ? kiln__step_with_handles(run, bound, &parts[s], NULL, err)
                   : bound->parts != NULL ? kiln__parts_prepare(run, bound, &parts[s], err)
                                          : kiln__step_opaque(run, &p->steps[s], &parts[s], err));
        KILN_CHECK(connect(run, s, parts[s], err));
    }
    return KILN_OK;
}

kiln_status kiln_graph_prepare(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                               const kiln_graph_call_options *opts, kiln_launch **out,
                               kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__graph_call call;
    kiln__graph_run run;
    kiln_launch **parts = NULL;
    kiln_array **arrays = NULL;
    size_t count = 0;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    memset(&run, 0, sizeof run);
    KILN_TRY(kiln__graph_call_read(graph, "kiln_graph_prepare", args, arg_count, opts, &call, err));
    KILN_TRY(kiln__run_begin(&run, graph, &call, err));
    count = run.entry->program->step_count;
    KILN_TRY(kiln__make_zeroed(&parts, count, sizeof(kiln_launch *), err));
    KILN_TRY(prepare(&run, parts, err));
    KILN_TRY(kiln__make_zeroed(&arrays, arg_count + 1, sizeof *arrays, err));
    for (size_t k = 0; k < arg_count; k++)
        arrays[k] = k >= graph->ir.input_count            ? run.outputs[k - graph->ir.input_count]
                    : call.args[k].kind == KILN_ARG_ARRAY ? call.args[k].value.array
                                                          : NULL;
    KILN_TRY(kiln__launch_chain(graph->ctx, parts, count, arrays, arg_count, graph->ir.input_count,
                                out, err));
    parts = NULL;
    kiln__run_deliver(&run);

done:
    for (size_t k = 0; parts != NULL && k < count; k++)
        kiln_launch_destroy(parts[k]);
    kiln__free(parts);
    kiln__free(arrays);
    kiln__run_end(&run);
    return status;
}
