/*
 * show.c - descriptions of a call: the number of its kernels, kiln_graph_explain(), DOT, sources.
 *
 * They make the entry of the call (entry.c) and run nothing. src/fusion/explain.c writes the texts.
 *
 * Test: test_graph_explain.
 */
#include "graph/call.h"

/* Read the arguments of `function` and plan the program for them. */
static kiln_status program_for(kiln_graph *graph, const char *function, const kiln_arg *args,
                               size_t arg_count, kiln__program **out, kiln_error *err)
{
    kiln__graph_call call;
    KILN_CHECK(kiln__graph_call_read(graph, function, args, arg_count, NULL, &call, err));
    return kiln__graph_program(graph, &call, out, err);
}

kiln_status kiln_graph_kernel_count(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                                    size_t *count_out, kiln_error *err)
{
    kiln__program *program = NULL;
    KILN_CHECK_NULL(count_out, err);
    *count_out = 0;
    kiln_status status =
        program_for(graph, "kiln_graph_kernel_count", args, arg_count, &program, err);
    if (status == KILN_OK)
        *count_out = program->step_count;
    kiln__program_destroy(program);
    return status;
}

/* Print the program for these arguments as text. */
static kiln_status printed(kiln_graph *graph, const char *function, const kiln_arg *args,
                           size_t arg_count,
                           void (*print)(const kiln__ir *, const kiln__program *, kiln__buf *),
                           char **text_out, kiln_error *err)
{
    kiln__program *program = NULL;
    kiln__buf text = KILN__BUF_INIT;
    if (text_out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `text_out` is NULL", function);
    *text_out = NULL;
    kiln_status status = program_for(graph, function, args, arg_count, &program, err);
    if (status == KILN_OK) {
        print(&graph->ir, program, &text);
        *text_out = kiln__buf_take(&text);
        if (*text_out == NULL)
            status = kiln__fail_memory(err, 1);
    }
    kiln__buf_clear(&text);
    kiln__program_destroy(program);
    return status;
}

kiln_status kiln_graph_explain(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                               char **text_out, kiln_error *err)
{
    return printed(graph, "kiln_graph_explain", args, arg_count, kiln__program_explain, text_out,
                   err);
}

kiln_status kiln_graph_dot(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                           char **text_out, kiln_error *err)
{
    return printed(graph, "kiln_graph_dot", args, arg_count, kiln__program_dot, text_out, err);
}

/* ---- sources --------------------------------------------------------------------------------------- */

kiln_status kiln_graph_source(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                              size_t kernel, char **text_out, kiln_error *err)
{
    kiln__graph_call call;
    kiln__graph_run run;
    kiln_status status = KILN_OK;

    KILN_CHECK_NULL(text_out, err);
    *text_out = NULL;
    memset(&run, 0, sizeof run);
    KILN_TRY(kiln__graph_call_read(graph, "kiln_graph_source", args, arg_count, NULL, &call, err));
    KILN_TRY(kiln__run_begin(&run, graph, &call, err));
    if (kernel >= run.entry->program->step_count) {
        status = kiln__fail(err, KILN_ERR_ARGUMENT, "graph \"%s\": there is no kernel %zu of %zu",
                            graph->ir.name, kernel, run.entry->program->step_count);
        goto done;
    }
    if (run.entry->steps[kernel].parts != NULL) {
        status = kiln__parts_source(run.entry->steps[kernel].parts, text_out, err);
        goto done;
    }
    if (run.entry->steps[kernel].kernel == NULL) {
        status = kiln__fail(err, KILN_ERR_UNSUPPORTED,
                            "graph \"%s\": step %zu is %s, which has no generated source",
                            graph->ir.name, kernel,
                            ((const kiln__opaque *)run.entry->program->steps[kernel].kernel)->name);
        goto done;
    }
    for (uint32_t s = 0; s <= kernel; s++)
        KILN_TRY(kiln__run_temps(&run, s, err));
    KILN_TRY(kiln__step_with_handles(&run, &run.entry->steps[kernel], NULL, text_out, err));

done:
    kiln__run_end(&run);
    return status;
}
