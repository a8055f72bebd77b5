/*
 * graph.c - the kiln_graph object (kiln/graph.h): creation, compilation, destruction.
 *
 * A graph also keeps its kernels by their text, so that calls with other shapes share them. entry.c
 * asks for a kernel by its text; keep.c, statements.c, take.c and rearrange.c make graphs.
 *
 * Tests: test_graph_run, test_graph_bad.
 */
#include "graph/graph.h"

/* ---- life ------------------------------------------------------------------------------------------ */

bool kiln__graph_name(const char *name)
{
    return kiln__is_letter(name[0]) && kiln__is_identifier(name) && strlen(name) <= 100;
}

kiln_status kiln_graph_create(kiln_context *ctx, const kiln_graph_options *opts, kiln_graph **out,
                              kiln_error *err)
{
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;

    KILN_CHECK_NULL(out, err);
    *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK(KILN_READ_OPTIONS(kiln_graph_options, &o, opts, err));
    return kiln__graph_new(ctx, &o, out, err);
}

kiln_status kiln__graph_new(kiln_context *ctx, const kiln_graph_options *opts, kiln_graph **out,
                            kiln_error *err)
{
    const char *name = opts != NULL ? opts->name : NULL;
    const int wide = opts != NULL ? opts->wide : 0;

    *out = NULL;
    if (ctx != NULL)
        KILN_CHECK(kiln__context_check(ctx, err));
    if (name == NULL)
        name = KILN__GRAPH_NAME;
    if (!kiln__graph_name(name))
        return kiln__fail(err, KILN_ERR_NAME,
                          "kiln_graph_create: the name \"%.120s\" is no identifier", name);
    if (wide < -1 || wide > 1)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "kiln_graph_create: wide is %d, not -1, 0 or 1",
                          wide);
    kiln_graph *graph = NULL;
    KILN_CHECK(kiln__make_zeroed(&graph, 1, sizeof *graph, err));
    graph->ir.name = kiln__strdup(name);
    graph->wide = wide == 0 ? ctx != NULL && kiln__context_wide(ctx) : wide > 0;
    graph->magic = KILN__GRAPH_MAGIC;
    graph->device = ctx != NULL ? kiln__context_device(ctx) : NULL;
    pthread_mutex_init(&graph->lock, NULL);
    kiln__memo_init(&graph->memo);
    graph->ctx = kiln_context_retain(ctx);
    if (graph->ir.name == NULL) {
        kiln_graph_destroy(graph);
        return kiln__fail_memory(err, strlen(name) + 1);
    }
    *out = graph;
    return KILN_OK;
}

KILN_DEFINE_OPTIONS_INIT(kiln_graph_options)
KILN_DEFINE_OPTIONS_INIT(kiln_graph_call_options)

void kiln__entry_destroy(void *item)
{
    kiln__entry *entry = item;
    if (entry == NULL)
        return;
    for (size_t s = 0; entry->steps != NULL && s < entry->program->step_count; s++) {
        for (size_t v = 0; entry->steps[s].views != NULL && v < entry->steps[s].view_count; v++)
            kiln__free(entry->steps[s].views[v].header);
        kiln__free(entry->steps[s].views);
        kiln__free(entry->steps[s].parts);
    }
    kiln__free(entry->steps);
    kiln__program_destroy(entry->program);
    kiln__free(entry);
}

static void kernel_destroy(void *kernel)
{
    kiln__kernel_destroy(kernel);
}

void kiln_graph_destroy(kiln_graph *graph)
{
    if (graph == NULL || graph->magic != KILN__GRAPH_MAGIC || kiln__graph_forked(graph))
        return;
    graph->magic = 0;
    kiln__memo_clear(&graph->memo, kiln__entry_destroy);
    kiln__map_clear(&graph->kernels, kernel_destroy);
    kiln__map_clear(&graph->names, NULL);
    kiln__ir_clear(&graph->ir);
    kiln_error_clear(&graph->failed);
    kiln_error_clear(&graph->late_error);
    kiln_array_release(graph->report);
    pthread_mutex_destroy(&graph->lock);
    kiln_context *const ctx = graph->ctx;
    if (ctx == NULL) {
        kiln__free(graph);
        return;
    }
    kiln__context_bury(ctx, graph, NULL);
    kiln_context_release(ctx);
}

/* ---- compilation ------------------------------------------------------------------------------------ */

static void seal(kiln_graph *graph)
{
    pthread_mutex_lock(&graph->lock);
    if (!atomic_load(&graph->sealed) && graph->failed.status == KILN_OK &&
        graph->ir.output_count == 0)
        kiln__fail(&graph->failed, KILN_ERR_OUTPUT, "graph \"%s\": no output was named",
                   graph->ir.name);
    atomic_store(&graph->sealed, true);
    pthread_mutex_unlock(&graph->lock);
}

/* Report an attempt to record after sealing, once. */
static kiln_status report_late(kiln_graph *graph, kiln_error *err)
{
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&graph->lock);
    if (atomic_load(&graph->late)) {
        status = kiln__error_copy(err, &graph->late_error);
        kiln_error_clear(&graph->late_error);
        atomic_store(&graph->late, false);
    }
    pthread_mutex_unlock(&graph->lock);
    return status;
}

kiln_status kiln__graph_ready(kiln_graph *graph, const char *function, kiln_error *err)
{
    if (graph == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: the graph is NULL", function);
    if (graph->magic != KILN__GRAPH_MAGIC)
        return kiln__fail(err, KILN_ERR_RELEASED, "%s: the graph was destroyed", function);
    if (kiln__graph_forked(graph))
        return kiln__context_check(graph->ctx, err);
    if (!atomic_load_explicit(&graph->sealed, memory_order_acquire))
        seal(graph);
    if (graph->failed.status != KILN_OK)
        return kiln__error_copy(err, &graph->failed);
    if (atomic_load_explicit(&graph->late, memory_order_relaxed))
        return report_late(graph, err);
    return KILN_OK;
}

kiln_status kiln_graph_compile(kiln_graph *graph, kiln_error *err)
{
    return kiln__graph_ready(graph, "kiln_graph_compile", err);
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static void put_text(kiln__buf *b, const char *text)
{
    kiln__buf_puts(b, text != NULL ? text : "");
    kiln__buf_putc(b, '\n');
    kiln__buf_putc(b, '\1'); /* a separator that no text contains */
}

/* All texts of a step as one. */
static void join_texts(const kiln__step *step, kiln__buf *b)
{
    const kiln__definition_request *r = &step->request;
    put_text(b, r->name);
    put_text(b, r->in);
    put_text(b, r->out);
    put_text(b, r->row_out);
    for (int k = 0; k < KILN__SNIPPET_COUNT; k++)
        put_text(b, r->snippet[k]);
    for (size_t s = 0; s < r->stage_count; s++) {
        const kiln_row_stage *stage = &r->stages[s];
        put_text(b, stage->prep);
        put_text(b, stage->map);
        put_text(b, stage->type);
        put_text(b, stage->reduce);
        put_text(b, stage->identity);
        put_text(b, stage->result);
        put_text(b, stage->post);
    }
    for (size_t v = 0; v < r->value_count; v++) {
        put_text(b, r->values[v].type);
        put_text(b, r->values[v].name);
    }
    kiln__buf_putc(b, (char)('0' + (int)step->kind));
    kiln__buf_putc(b, r->keep_axes ? 'k' : '-');
}

/* Find the kernel with these texts, or make it. The lock is held. */
static kiln_status find_kernel(kiln_graph *graph, const kiln__step *step, const kiln__buf *texts,
                               kiln__kernel **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    void **kernel =
        texts->failed ? NULL : kiln__map_enter(&graph->kernels, texts->text, texts->length, NULL);
    if (kernel == NULL)
        return kiln__fail_memory(err, texts->length);
    if (*kernel == NULL) {
        status = kiln__kernel_new(graph->ctx, false, kiln__calls_of(step->request.family),
                                  &step->request, out, err);
        *kernel = *out;
    }
    *out = *kernel;
    return status;
}

kiln_status kiln__graph_kernel(kiln_graph *graph, const kiln__step *step, kiln__kernel **out,
                               kiln_error *err)
{
    kiln__buf texts = KILN__BUF_INIT;

    *out = NULL;
    if (step->kind == KILN__STEP_OPAQUE || step->kind == KILN__STEP_PARTS)
        return KILN_OK;
    if (step->kind == KILN__STEP_CUSTOM || step->kind == KILN__STEP_CUSTOM_REDUCE) {
        /* Both handles begin with their kernel. */
        *out = (kiln__kernel *)(uintptr_t)step->kernel;
        return KILN_OK;
    }
    join_texts(step, &texts);
    pthread_mutex_lock(&graph->lock);
    kiln_status status = find_kernel(graph, step, &texts, out, err);
    pthread_mutex_unlock(&graph->lock);
    kiln__buf_clear(&texts);
    return status;
}
