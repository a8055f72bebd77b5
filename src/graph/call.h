/*
 * call.h - the state of one running call, and the functions that its steps use. Private to
 * src/graph.
 *
 * call.c runs a call, prepare.c keeps its launches, and show.c describes it; all three begin with
 * kiln__run_begin() and end with kiln__run_end().
 */
#ifndef KILN_GRAPH_CALL_H
#define KILN_GRAPH_CALL_H

#include "graph/graph.h"

/* The arrays of one call. */
typedef struct kiln__graph_run {
    kiln_graph *graph;
    const kiln__graph_call *call;
    const kiln__entry *entry;
    kiln__entry *borrowed; /* the same, to be given back, when the memo was full */
    kiln_array **outputs; /* given or fresh */
    kiln_array **temps;   /* NULL unless allocated */
    bool *fresh;          /* outputs allocated for this call */
    size_t begun, ended;  /* temporaries allocated and released */
    bool *copy;           /* inputs that must be copied first */
    void *heap;           /* memory of these lists when `few` is too small */
    kiln_array *few[64];
} kiln__graph_run;

/* Find or build the entry, and take or allocate the outputs. The caller calls kiln__run_end() also
 * after a failure. */
kiln_status kiln__run_begin(kiln__graph_run *run, kiln_graph *graph, const kiln__graph_call *call,
                            kiln_error *err);
/* Allocate the temporaries that `step` writes first. */
kiln_status kiln__run_temps(kiln__graph_run *run, uint32_t step, kiln_error *err);
/* Mark inputs that must be copied first. ERR_OVERLAP for outputs that overlap. */
kiln_status kiln__run_overlaps(const kiln__graph_run *run, bool *copy_out, bool *any_copy,
                               kiln_error *err);
void kiln__run_deliver(kiln__graph_run *run); /* hand fresh outputs to the caller */
void kiln__run_end(kiln__graph_run *run);     /* release the entry and all arrays not delivered */

/* The array that a parameter is a view of. */
static inline kiln_array *kiln__run_value(const kiln__graph_run *run, const kiln__step_param *param)
{
    const size_t inputs = run->graph->ir.input_count;
    if (param->kind == KILN__VALUE_REPORT)
        return run->graph->report;
    if (param->kind == KILN__VALUE_TEMP)
        return run->temps[param->index];
    return param->index < inputs ? run->call->args[param->index].value.array
                                 : run->outputs[param->index - inputs];
}
kiln__call kiln__run_call(const kiln__bound_step *step, const kiln_arg *args, kiln_stream *stream);

/* Make arrays for a step's views, and prepare the step, or give its source if `text_out` is not
 * NULL. */
kiln_status kiln__step_with_handles(const kiln__graph_run *run, const kiln__bound_step *step,
                                    kiln_launch **launch_out, char **text_out, kiln_error *err);
/* Run an opaque step, or prepare it if `launch_out` is not NULL. */
kiln_status kiln__step_opaque(const kiln__graph_run *run, const kiln__step *step,
                              kiln_launch **launch_out, kiln_error *err);

/* Run a step that copies to parts, or prepare it. (part_copies.c) */
kiln_status kiln__parts_run(const kiln__graph_run *run, const kiln__bound_step *step, kiln_error *err);
kiln_status kiln__parts_prepare(const kiln__graph_run *run, const kiln__bound_step *step, kiln_launch **out,
                                kiln_error *err);

#endif
