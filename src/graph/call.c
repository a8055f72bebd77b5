/*
 * call.c - kiln_graph_run(): one call of a graph.
 *
 *     kiln_graph_run > entry (entry.c) > outputs > [step: views > kernel] ... > deliver
 *
 * Rule: a call whose layouts are known takes no lock, and allocates only outputs and temporaries,
 * which come from the pool. Views are array headers on the stack.
 *
 * Outputs may overlap inputs. Each kernel handles the overlap of its own arguments
 * (src/kernel/overlap.c). If an earlier kernel would overwrite an input that a later kernel reads,
 * this file copies the input before any kernel runs.
 *
 * Test: test_graph_run.
 */
#include "graph/call.h"

/* Most bytes of view headers that one step needs. */
enum {
    VIEW_BYTES = KILN_PARAM_MAX * (sizeof(kiln_array) + 2 * KILN_RANK_MAX * sizeof(int64_t) + 16)
};

/* ---- arrays of a call ---------------------------------------------------------------------------- */

static kiln_status take_outputs(kiln__graph_run *run, kiln_error *err)
{
    const kiln__program *p = run->entry->program;
    const size_t inputs = run->graph->ir.input_count;
    for (size_t k = 0; k < p->output_count; k++) {
        const kiln_arg *arg = &run->call->args[inputs + k];
        run->outputs[k] = kiln__graph_array(arg);
        run->fresh[k] = run->outputs[k] == NULL;
        if (!run->fresh[k])
            continue;
        const kiln__made *m = &p->outputs[k];
        kiln_status status = kiln__check_out(run->call->args + inputs, k, run->fresh, err);
        if (status == KILN_OK)
            status = kiln__array_new(run->graph->ctx, m->dtype, m->rank, m->shape, m->order,
                                     run->call->stream, &run->outputs[k], err);
        if (status != KILN_OK) {
            run->fresh[k] = false;
            return status;
        }
    }
    return KILN_OK;
}

kiln_status kiln__run_temps(kiln__graph_run *run, uint32_t step, kiln_error *err)
{
    const kiln__program *p = run->entry->program;
    for (; run->begun < p->temp_count && p->temps[run->begun].first == step; run->begun++) {
        const kiln__made *m = &p->temps[run->begun];
        KILN_CHECK(kiln__array_new(run->graph->ctx, m->dtype, m->rank, m->shape, m->order,
                                   run->call->stream, &run->temps[run->begun], err));
    }
    return KILN_OK;
}

/* Release the temporaries that no later step reads. Their memory is reused in stream order. */
static void drop_temps(kiln__graph_run *run, uint32_t step)
{
    const kiln__program *p = run->entry->program;
    for (; run->ended < p->temp_count && p->temps[p->ending[run->ended]].last == step;
         run->ended++) {
        kiln_array **temp = &run->temps[p->ending[run->ended]];
        kiln_array_release(*temp);
        *temp = NULL;
    }
}

/* ---- steps ----------------------------------------------------------------------------------------- */

kiln__call kiln__run_call(const kiln__bound_step *step, const kiln_arg *args, kiln_stream *stream)
{
    return (kiln__call){.args = args,
                        .arg_count = step->view_count,
                        .stream = stream,
                        .axes = step->axes,
                        .keepdims = step->keepdims};
}

static kiln_status run_step(const kiln__graph_run *run, kiln__bound_step *step, kiln_error *err)
{
    _Alignas(16) unsigned char headers[VIEW_BYTES];
    kiln_arg args[KILN_PARAM_MAX];
    size_t used = 0;

    for (size_t p = 0; p < step->view_count; p++) {
        const kiln__param_view *view = &step->views[p];
        if (view->param.kind == KILN__VALUE_SCALAR) {
            args[p] = run->call->args[view->param.index];
            continue;
        }
        if (view->param.kind == KILN__VALUE_NUMBER) {
            args[p] = kiln__number_arg(&view->param.number);
            continue;
        }
        kiln_array *base = kiln__run_value(run, &view->param);
        if (view->header != NULL) {
            kiln_array *seen = (kiln_array *)(void *)(headers + used);
            memcpy(seen, view->header, view->bytes);
            seen->strides = seen->shape + seen->rank;
            seen->storage = base->storage;
            seen->data = (char *)base->data + view->param.offset;
            used += view->bytes;
            base = seen;
        }
        args[p] = kiln_arg_array(base);
    }
    const kiln__call call = kiln__run_call(step, args, run->call->stream);
    return kiln__kernel_run_again(step->kernel, &call, &step->recent, err);
}

/* A number as an array, for an operation that takes arrays alone. */
static kiln_status make_number(const kiln__graph_run *run, const kiln__step_param *param,
                               kiln_array **out, kiln_error *err)
{
    kiln_context *const ctx = run->graph->ctx;
    kiln_stream *const stream = run->call->stream;

    KILN_CHECK(kiln__array_new(ctx, param->dtype, 0, NULL, NULL, stream, out, err));
    const kiln_arg args[] = {param->kind == KILN__VALUE_SCALAR ? run->call->args[param->index]
                                                               : kiln__number_arg(&param->number),
                             kiln_arg_array(*out)};
    return kiln__builtin_run(ctx, KILN__BUILTIN_FILL, args, KILN_COUNT_OF(args), stream, err);
}

kiln_status kiln__step_opaque(const kiln__graph_run *run, const kiln__step *step,
                              kiln_launch **launch_out, kiln_error *err)
{
    kiln_array *values[KILN__OPAQUE_OPERANDS + KILN__OPAQUE_RESULTS];
    kiln_array *numbers[KILN__OPAQUE_OPERANDS] = {NULL};
    kiln_status status = KILN_OK;

    for (size_t p = 0; p < step->param_count; p++) {
        const kiln__step_param *param = &step->params[p];
        if (param->kind == KILN__VALUE_SCALAR || param->kind == KILN__VALUE_NUMBER) {
            KILN_TRY(make_number(run, param, &numbers[p], err));
            values[p] = numbers[p];
        } else {
            values[p] = kiln__run_value(run, param);
        }
    }
    if (launch_out != NULL) {
        KILN_TRY(kiln__opaque_prepare(run->graph->ctx, step, values, run->call->stream, launch_out,
                                      err));
        goto done;
    }
    status = kiln__opaque_run(step, values, run->call->stream, err);
    if (step->column > 0 && err != NULL && err->detail == NULL && kiln__is_of_values(status))
        kiln__fail_in_text(err, status, &run->graph->ir, "", step->column, err->message);

done:
    for (size_t p = 0; p < step->input_count; p++)
        kiln_array_release(numbers[p]);
    return status;
}

static kiln_status run_steps(kiln__graph_run *run, kiln_error *err)
{
    const kiln__program *p = run->entry->program;
    for (uint32_t s = 0; s < p->step_count; s++) {
        if (p->temp_count > 0)
            KILN_CHECK(kiln__run_temps(run, s, err));
        kiln__bound_step *const bound = &run->entry->steps[s];
        KILN_CHECK(bound->kernel != NULL  ? run_step(run, bound, err)
                   : bound->parts != NULL ? kiln__parts_run(run, bound, err)
                                          : kiln__step_opaque(run, &p->steps[s], NULL, err));
        if (p->temp_count > 0)
            drop_temps(run, s);
    }
    return KILN_OK;
}

/* ---- overlaps -------------------------------------------------------------------------------------- */

kiln_status kiln__run_overlaps(const kiln__graph_run *run, bool *copy_out, bool *any_copy,
                               kiln_error *err)
{
    const kiln__program *p = run->entry->program;
    const kiln__ir *ir = &run->graph->ir;
    *any_copy = false;
    if (p->step_count < 2 && !p->reads_elsewhere)
        return KILN_OK;
    for (size_t w = 0; w < p->output_count; w++) {
        if (run->fresh[w])
            continue;
        for (size_t v = 0; v < w; v++)
            if (!run->fresh[v] && kiln__array_overlap(run->outputs[v], run->outputs[w]))
                return kiln__fail(err, KILN_ERR_OVERLAP,
                                  "graph \"%s\": outputs `%s` and `%s` share memory", ir->name,
                                  ir->outputs[v].name, ir->outputs[w].name);
        for (size_t k = 0; k < ir->input_count; k++) {
            if (p->last_read[k] <= p->first_write[w] ||
                !kiln__array_overlap(run->call->args[k].value.array, run->outputs[w]))
                continue;
            copy_out[k] = true;
            *any_copy = true;
        }
    }
    return KILN_OK;
}

static kiln_status run_call(kiln_graph *graph, const kiln__graph_call *call, kiln_error *err);

/* Make the call with copies of the inputs that a kernel would overwrite before another reads them.
 * */
static kiln_status run_with_copies(kiln_graph *graph, const kiln__graph_call *call,
                                   const bool *copy, kiln_error *err)
{
    kiln_status status = KILN_OK;
    const size_t inputs = graph->ir.input_count;
    kiln_arg *args = kiln__calloc(call->arg_count, sizeof *args);
    kiln_array **copies = kiln__calloc(inputs, sizeof(kiln_array *));
    kiln__graph_call again = *call;

    if (args == NULL || copies == NULL) {
        status = kiln__fail_memory(err, call->arg_count * sizeof *args);
        goto done;
    }
    memcpy(args, call->args, call->arg_count * sizeof *args);
    for (size_t k = 0; k < inputs; k++) {
        if (!copy[k])
            continue;
        KILN_TRY(kiln__array_copy_on(call->args[k].value.array, call->stream, &copies[k], err));
        args[k] = kiln_arg_array(copies[k]);
    }
    again.args = args;
    KILN_TRY(run_call(graph, &again, err));

done:
    for (size_t k = 0; copies != NULL && k < inputs; k++)
        kiln_array_release(copies[k]);
    kiln__free(copies);
    kiln__free(args);
    return status;
}

/* ---- the call ---------------------------------------------------------------------------------------- */

kiln_status kiln__run_begin(kiln__graph_run *run, kiln_graph *graph, const kiln__graph_call *call,
                            kiln_error *err)
{
    memset(run, 0, offsetof(kiln__graph_run, few));
    run->graph = graph;
    run->call = call;
    KILN_CHECK(kiln__entry_get(graph, call, true, &run->entry, &run->borrowed, err));
    const kiln__program *p = run->entry->program;
    const size_t count = p->temp_count + p->output_count;
    const size_t bytes = count * sizeof(kiln_array *) + p->output_count * sizeof(bool) +
                         graph->ir.input_count * sizeof(bool);
    run->outputs = run->few;
    if (bytes > sizeof run->few) {
        KILN_CHECK(kiln__make_room(&run->heap, bytes, err));
        run->outputs = run->heap;
    }
    memset(run->outputs, 0, bytes);
    run->temps = run->outputs + p->output_count;
    run->fresh = (bool *)(run->temps + p->temp_count);
    run->copy = run->fresh + p->output_count;
    return take_outputs(run, err);
}

void kiln__run_deliver(kiln__graph_run *run)
{
    const size_t inputs = run->graph->ir.input_count;
    for (size_t k = 0; k < run->entry->program->output_count; k++)
        if (run->fresh[k]) {
            *run->call->args[inputs + k].value.out = run->outputs[k];
            run->fresh[k] = false;
        }
}

void kiln__run_end(kiln__graph_run *run)
{
    if (run->entry != NULL && run->outputs != NULL) {
        const kiln__program *p = run->entry->program;
        for (size_t t = 0; t < p->temp_count; t++)
            kiln_array_release(run->temps[t]);
        for (size_t k = 0; k < p->output_count; k++)
            if (run->fresh[k])
                kiln_array_release(run->outputs[k]);
    }
    kiln__free(run->heap);
    if (run->borrowed != NULL)
        kiln__memo_return(&run->graph->memo, run->borrowed, kiln__entry_destroy);
}

static kiln_status run_call(kiln_graph *graph, const kiln__graph_call *call, kiln_error *err)
{
    kiln__graph_run run;
    bool any_copy = false;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__run_begin(&run, graph, call, err));
    KILN_TRY(kiln__run_overlaps(&run, run.copy, &any_copy, err));
    if (any_copy) {
        status = run_with_copies(graph, call, run.copy, err);
        goto done;
    }
    KILN_TRY(run_steps(&run, err));
    kiln__run_deliver(&run);

done:
    kiln__run_end(&run);
    return status;
}

kiln_status kiln_graph_run(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                           const kiln_graph_call_options *opts, kiln_error *err)
{
    kiln__graph_call call;
    KILN_CHECK(kiln__graph_call_read(graph, "kiln_graph_run", args, arg_count, opts, &call, err));
    return run_call(graph, &call, err);
}
