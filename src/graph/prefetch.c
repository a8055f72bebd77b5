/*
 * prefetch.c - kiln_graph_prefetch() (kiln/prefetch.h): compile the kernels of a call on other
 * threads.
 *
 *     call > entry > the plan of each step > a prefetch of its kernel > one handle
 *
 * Plans need no memory. An output or temporary that does not exist yet is planned at an aligned
 * address, as the pool will allocate it.
 *
 * Test: test_prefetch.
 */
#include "kiln/prefetch.h"
#include "graph/graph.h"

/* Opaque operations and copies to parts have nothing to compile: whole templates are compiled where they are needed. */
static kiln_status begin(const kiln_graph *graph, const kiln__entry *entry,
                         const kiln__graph_call *call, kiln_prefetch **parts, size_t *count_out,
                         kiln_error *err)
{
    for (size_t s = 0; s < entry->program->step_count; s++) {
        kiln__planned planned = {.size = 0};
        if (entry->steps[s].kernel == NULL)
            continue;
        KILN_CHECK(kiln__entry_plan(graph, entry, s, call, &planned, err));
        KILN_CHECK(
            kiln__variant_prefetch(entry->steps[s].kernel, &planned, &parts[*count_out], err));
        (*count_out)++;
    }
    return KILN_OK;
}

kiln_status kiln_graph_prefetch(kiln_graph *graph, const kiln_arg *args, size_t arg_count,
                                const kiln_graph_call_options *opts, kiln_prefetch **out,
                                kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__graph_call call;
    const kiln__entry *entry = NULL;
    kiln__entry *borrowed = NULL;
    kiln_prefetch **parts = NULL, *joined = NULL;
    size_t count = 0;

    if (out != NULL)
        *out = NULL;
    KILN_TRY(
        kiln__graph_call_read(graph, "kiln_graph_prefetch", args, arg_count, opts, &call, err));
    KILN_TRY(kiln__entry_get(graph, &call, false, &entry, &borrowed, err));
    KILN_TRY(
        kiln__make_zeroed(&parts, entry->program->step_count + 1, sizeof(kiln_prefetch *), err));
    KILN_TRY(begin(graph, entry, &call, parts, &count, err));
    KILN_TRY(kiln__prefetch_join(parts, count, &joined, err));
    count = 0;
    if (out != NULL)
        *out = joined;
    else
        kiln_prefetch_destroy(joined);

done:
    for (size_t k = 0; parts != NULL && k < count; k++)
        kiln_prefetch_destroy(parts[k]);
    kiln__free(parts);
    if (borrowed != NULL)
        kiln__memo_return(&graph->memo, borrowed, kiln__entry_destroy);
    return status;
}
