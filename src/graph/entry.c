/*
 * entry.c - everything about a call that depends only on the dtypes and layouts of its arguments.
 *
 *     arguments > [check > program > kernels > views] > memo
 *
 * An *entry* is the plan of such calls: the program (src/fusion), its kernels, and a prepared
 * header for each view (shape, strides and their hash). A call copies the headers to its stack and
 * sets the addresses. call.c, prepare.c, prefetch.c and show.c ask for entries.
 *
 * Rule: an entry depends on nothing that matches() does not compare.
 *
 * If a call needs several new kernels, the context's workers compile all but the first
 * (src/kernel/prefetch.c).
 *
 * Test: test_graph_run.
 */
#include "graph/graph.h"
#include "indexing/indexing.h"

/* ---- recognising layouts ------------------------------------------------------------------------- */

/* What entries are compared by: for a number the kind that decides dtypes, for other arguments the
 * kiln_arg_kind. */
static uint8_t kind_of(const kiln_arg *arg)
{
    kiln__number n;
    return kiln__arg_number(arg, &n) ? (uint8_t)n.kind : (uint8_t)arg->kind;
}

/* Whether an entry was built for arguments (of kiln_arg) like these. */
static bool matches(const void *item, const void *key)
{
    const kiln__entry *entry = item;
    const kiln_arg *args = key;
    for (size_t k = 0; k < entry->arg_count; k++) {
        const kiln__entry_arg *e = &entry->args[k];
        const kiln_array *a = kiln__graph_array(&args[k]);
        if (a == NULL ? e->kind != kind_of(&args[k])
                      : e->kind != KILN_ARG_ARRAY || e->layout != a->layout || e->rank != a->rank ||
                            e->dtype != (uint8_t)a->dtype ||
                            memcmp(e->dims, a->shape, 2 * (size_t)a->rank * sizeof(int64_t)) != 0)
            return false;
    }
    return true;
}

/* The hash of a call's layouts. False for arguments that no entry can be for; building an entry
 * then reports what is wrong with them. */
static bool hash_call(const kiln_graph *graph, const kiln__graph_call *call, uint64_t *out)
{
    uint64_t h = 0;
    if (call->arg_count != (size_t)graph->ir.input_count + graph->ir.output_count)
        return false;
    for (size_t k = 0; k < call->arg_count; k++) {
        const kiln_arg *arg = &call->args[k];
        uint64_t word = kind_of(arg);
        if (arg->kind == KILN_ARG_ARRAY || arg->kind == KILN_ARG_OUT) {
            const kiln_array *a = kiln__graph_array(arg);
            if (a == NULL && (arg->kind == KILN_ARG_ARRAY || arg->value.out == NULL))
                return false;
            if (arg->kind == KILN_ARG_OUT && k < graph->ir.input_count)
                return false;
            if (a != NULL) {
                if (a->magic != KILN__ARRAY_MAGIC || a->ctx != graph->ctx)
                    return false;
                word = a->layout;
            }
        } else if (k >= graph->ir.input_count) {
            return false;
        }
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    *out = h;
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static kiln_status read_arg(const kiln_graph *graph, const kiln__graph_call *call, size_t k,
                            kiln__graph_arg *out, kiln_error *err)
{
    const bool output = k >= graph->ir.input_count;
    const kiln_arg *arg = &call->args[k];
    const kiln_array *a = kiln__graph_array(arg);
    char what[160];

    snprintf(what, sizeof what, "graph \"%.50s\": %s `%.60s`", graph->ir.name,
             output ? "output" : "input",
             output ? graph->ir.outputs[k - graph->ir.input_count].name : graph->ir.inputs[k].name);
    if (arg->kind == KILN_ARG_OUT && !output)
        return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: an output pointer was given", what);
    if (arg->kind == KILN_ARG_OUT && arg->value.out == NULL)
        return kiln__fail(err, KILN_ERR_NULL, "%s: the output pointer is NULL", what);
    if (arg->kind == KILN_ARG_OUT && a == NULL)
        return KILN_OK;
    if (arg->kind != KILN_ARG_ARRAY && arg->kind != KILN_ARG_OUT) {
        if (output)
            return kiln__fail(err, KILN_ERR_ARGUMENT, "%s: a number was given", what);
        if (!kiln__arg_number(arg, &out->number))
            return kiln__fail(err, KILN_ERR_ARGUMENT,
                              "graph \"%s\": argument %zu has the unknown kind %d", graph->ir.name,
                              k + 1, (int)arg->kind);
        return KILN_OK;
    }
    KILN_CHECK(kiln__array_check(a, graph->ctx, what, err));
    if (output && kiln__array_unwritable(a) != NULL)
        return kiln__fail(err, KILN_ERR_OUTPUT, "%s %s", what, kiln__array_unwritable(a));
    out->is_array = true;
    out->dtype = a->dtype;
    out->rank = a->rank;
    out->shape = a->shape;
    out->strides = a->strides;
    return KILN_OK;
}

/* "x, y -> z" */
static void names_text(const kiln_graph *graph, kiln__buf *b)
{
    for (uint32_t k = 0; k < graph->ir.input_count; k++)
        kiln__buf_printf(b, "%s%s", k > 0 ? ", " : "", graph->ir.inputs[k].name);
    kiln__buf_puts(b, " -> ");
    for (uint32_t k = 0; k < graph->ir.output_count; k++)
        kiln__buf_printf(b, "%s%s", k > 0 ? ", " : "", graph->ir.outputs[k].name);
}

static kiln_status check_count(const kiln_graph *graph, const kiln__graph_call *call,
                               kiln_error *err)
{
    const size_t inputs = graph->ir.input_count, outputs = graph->ir.output_count;
    kiln__buf names = KILN__BUF_INIT;
    if (call->arg_count == inputs + outputs)
        return KILN_OK;
    names_text(graph, &names);
    kiln_status status = kiln__fail(
        err, KILN_ERR_ARGUMENT_COUNT, "graph \"%s\" takes %zu argument%s (%.300s), %zu given",
        graph->ir.name, inputs + outputs, inputs + outputs == 1 ? "" : "s",
        names.text != NULL ? names.text : "", call->arg_count);
    kiln__buf_clear(&names);
    return status;
}

kiln_status kiln__graph_call_read(kiln_graph *graph, const char *function, const kiln_arg *args,
                                  size_t arg_count, const kiln_graph_call_options *opts,
                                  kiln__graph_call *out, kiln_error *err)
{
    kiln_graph_call_options o = KILN_GRAPH_CALL_OPTIONS_INIT;
    KILN_CHECK(kiln__graph_ready(graph, function, err));
    if (args == NULL && arg_count > 0)
        return kiln__fail(err, KILN_ERR_NULL, "%s: `args` is NULL", function);
    *out = (kiln__graph_call){args, arg_count, kiln__device_stream(graph->device)};
    KILN_CHECK(KILN_READ_OPTIONS(kiln_graph_call_options, &o, opts, err));
    if (o.stream != NULL)
        KILN_CHECK(kiln__context_stream(graph->ctx, o.stream, &out->stream, err));
    return KILN_OK;
}

kiln_status kiln__graph_program(kiln_graph *graph, const kiln__graph_call *call,
                                kiln__program **out, kiln_error *err)
{
    const kiln_device_info *info = kiln__device_info(graph->device);
    const kiln__graph_target target = {
        .backend = info->backend, .clusters = kiln__has_clusters(info), .wide = graph->wide};
    *out = NULL;
    kiln_status status = KILN_OK;
    KILN_CHECK(check_count(graph, call, err));
    kiln__graph_arg *args = NULL;
    KILN_CHECK(kiln__make_zeroed(&args, call->arg_count + 1, sizeof *args, err));
    for (size_t k = 0; k < call->arg_count && status == KILN_OK; k++)
        status = read_arg(graph, call, k, &args[k], err);
    if (status == KILN_OK)
        status = kiln__program_build(&graph->ir, args, &target, out, err);
    kiln__free(args);
    return status;
}

/* ---- entries -------------------------------------------------------------------------------------- */

static kiln_status make_view(const kiln_graph *graph, const kiln__step_param *param,
                             kiln__param_view *view, kiln_error *err)
{
    view->param = *param;
    if (param->whole || param->kind == KILN__VALUE_SCALAR || param->kind == KILN__VALUE_NUMBER)
        return KILN_OK;
    view->bytes = (sizeof(kiln_array) + 2 * (size_t)param->rank * sizeof(int64_t) + 15) / 16 * 16;
    KILN_CHECK(kiln__make_zeroed(&view->header, 1, view->bytes, err));
    kiln__array_header(view->header, graph->ctx, param->dtype, param->rank, param->shape,
                       param->strides);
    return KILN_OK;
}

_Static_assert((int)KILN__REPORT_SHAPE == (int)KILN__REPORT_WORDS, "one report, one size");

static kiln_status need_report(kiln_graph *graph, kiln_error *err)
{
    kiln_status status = KILN_OK;

    pthread_mutex_lock(&graph->lock);
    if (graph->report == NULL) {
        status = kiln__report_array(graph->ctx, &graph->report, err);
        if (status == KILN_OK && graph->kept)
            kiln_context_release(graph->ctx);
    }
    pthread_mutex_unlock(&graph->lock);
    return status;
}

static kiln_status bind_step(kiln_graph *graph, const kiln__step *step, kiln__bound_step *bound,
                             kiln_error *err)
{
    KILN_CHECK(kiln__make_zeroed(&bound->views, step->param_count + 1, sizeof *bound->views, err));
    bound->view_count = step->param_count;
    bound->input_count = step->input_count;
    bound->reduce = step->kind == KILN__STEP_REDUCE || step->kind == KILN__STEP_ROW ||
                    step->kind == KILN__STEP_CUSTOM_REDUCE;
    bound->axes = bound->reduce ? &step->axes : NULL;
    bound->keepdims = step->keepdims;
    for (size_t p = 0; p < step->param_count; p++) {
        if (step->params[p].kind == KILN__VALUE_REPORT)
            KILN_CHECK(need_report(graph, err));
        KILN_CHECK(make_view(graph, &step->params[p], &bound->views[p], err));
    }
    if (step->kind == KILN__STEP_PARTS)
        return kiln__parts_bind(step, &bound->parts, err);
    return kiln__graph_kernel(graph, step, &bound->kernel, err);
}

static kiln__entry *entry_alloc(const kiln__graph_call *call)
{
    size_t dims = 0;
    for (size_t k = 0; k < call->arg_count; k++) {
        const kiln_array *a = kiln__graph_array(&call->args[k]);
        dims += a != NULL ? 2 * (size_t)a->rank * sizeof(int64_t) : 0;
    }
    kiln__entry *e = kiln__calloc(1, sizeof *e + call->arg_count * sizeof e->args[0] + dims);
    if (e == NULL)
        return NULL;
    int64_t *at = (int64_t *)(void *)&e->args[call->arg_count];
    e->arg_count = call->arg_count;
    for (size_t k = 0; k < call->arg_count; k++) {
        const kiln_array *a = kiln__graph_array(&call->args[k]);
        e->args[k].kind = a != NULL ? KILN_ARG_ARRAY : kind_of(&call->args[k]);
        if (a == NULL)
            continue;
        e->args[k].dtype = (uint8_t)a->dtype;
        e->args[k].rank = (uint8_t)a->rank;
        e->args[k].layout = a->layout;
        e->args[k].dims = at;
        memcpy(at, a->shape, 2 * (size_t)a->rank * sizeof(int64_t));
        at += 2 * a->rank;
    }
    return e;
}

kiln_status kiln__entry_plan(const kiln_graph *graph, const kiln__entry *entry, size_t step,
                             const kiln__graph_call *call, kiln__planned *out, kiln_error *err)
{
    const kiln_device_info *info = kiln__device_info(graph->device);
    if (entry->steps[step].kernel == NULL) {
        memset(out, 0, sizeof *out);
        return KILN_OK;
    }
    const kiln__plan_device device = kiln__plan_device_of(info);
    return kiln__step_plan(&entry->program->steps[step], entry->steps[step].kernel->def, &device,
                           call->args, out, err);
}

/* Have other threads compile all kernels of a first call but the first, which this thread compiles.
 * The call finds what they have made by its key, and reports failures when it compiles again. */
static void compile_ahead(const kiln_graph *graph, const kiln__entry *entry,
                          const kiln__graph_call *call)
{
    bool first = true;
    if (kiln__device_is_dry(graph->device))
        return;
    for (size_t s = 0; entry->program->step_count > 1 && s < entry->program->step_count; s++) {
        kiln__kernel *kernel = entry->steps[s].kernel;
        kiln__planned planned;
        if (kiln__entry_plan(graph, entry, s, call, &planned, NULL) != KILN_OK ||
            planned.size == 0 || kiln__kernel_has(kernel, &planned.variant))
            continue;
        if (!first)
            (void)kiln__variant_prefetch(kernel, &planned, NULL, NULL);
        first = false;
    }
}

static kiln_status entry_build(kiln_graph *graph, const kiln__graph_call *call, uint64_t hash,
                               kiln__entry **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__program *program = NULL;
    kiln__entry *entry = NULL;

    KILN_TRY(kiln__device_check(graph->device, err));
    KILN_TRY(kiln__graph_program(graph, call, &program, err));
    entry = entry_alloc(call);
    if (entry == NULL) {
        status = kiln__fail_memory(err, sizeof *entry);
        goto done;
    }
    entry->hash = hash;
    entry->program = program;
    program = NULL;
    KILN_TRY(kiln__make_zeroed(&entry->steps, entry->program->step_count + 1, sizeof *entry->steps,
                               err));
    for (size_t s = 0; s < entry->program->step_count; s++)
        KILN_TRY(bind_step(graph, &entry->program->steps[s], &entry->steps[s], err));
    *out = entry;
    entry = NULL;

done:
    kiln__entry_destroy(entry);
    kiln__program_destroy(program);
    return status;
}

kiln_status kiln__entry_get(kiln_graph *graph, const kiln__graph_call *call, bool ahead,
                            const kiln__entry **out, kiln__entry **borrowed, kiln_error *err)
{
    uint64_t hash = 0;
    kiln__entry *built = NULL;

    *borrowed = NULL;
    *out = NULL;
    if (hash_call(graph, call, &hash)) {
        *out = kiln__memo_find(&graph->memo, hash, matches, call->args);
        if (*out == NULL)
            *out = *borrowed = kiln__memo_borrow(&graph->memo, hash, matches, call->args);
    }
    if (*out != NULL)
        return KILN_OK;
    KILN_CHECK(entry_build(graph, call, hash, &built, err));
    if (ahead)
        compile_ahead(graph, built, call);
    *out = built;
    if (!kiln__memo_insert(&graph->memo, built)) {
        *borrowed = built;
        kiln__memo_lend(&graph->memo, built, kiln__entry_destroy);
    }
    return KILN_OK;
}
