/*
 * part_copies.c - the steps that copy to several parts of arrays: one launch each, on CUDA devices.
 *
 *     step > [part_copies: the launch without addresses] > entry
 *     a call > [addresses] > templates/cuda/parts.cu
 *
 * entry.c makes the launch of such a step, call.c and prepare.c run it, show.c has its source.
 *
 * Tests: test_parts, test_rearrange.
 */
#include <stdio.h>

#include "graph/call.h"

/* The options that define the kernel's macros. */
typedef struct macros {
    char text[3][32];
    const char *list[3];
} macros;

static kiln__own_request request_of(const kiln__parts *plan, macros *m)
{
    snprintf(m->text[0], sizeof m->text[0], "-DKILN__ITEM=%d", plan->item);
    snprintf(m->text[1], sizeof m->text[1], "-DKILN__AXES=%d", plan->axes);
    snprintf(m->text[2], sizeof m->text[2], "-DKILN__ROOM=%zu", plan->room);
    for (size_t k = 0; k < KILN_COUNT_OF(m->list); k++)
        m->list[k] = m->text[k];
    return (kiln__own_request){"cuda/parts.cu", "kiln_parts", m->list, KILN_COUNT_OF(m->list)};
}

kiln_status kiln__parts_bind(const kiln__step *step, kiln__bound_parts **out, kiln_error *err)
{
    const size_t count = step->input_count;
    kiln__part parts[KILN__PARTS_MAX];

    KILN_CHECK(kiln__make_zeroed(out, 1, sizeof **out, err));
    for (size_t k = 0; k < count; k++) {
        const kiln__step_param *from = &step->params[k], *to = &step->params[count + k];
        const bool value = from->kind == KILN__VALUE_NUMBER;
        parts[k] = (kiln__part){
            .rank = to->rank, .shape = to->shape, .to = to->strides, .from = value ? NULL : from->strides};
        if (value && !kiln__number_element(&from->number, to->dtype, parts[k].value))
            return kiln__fail(err, KILN_ERR_INTERNAL, "a number is no %s", kiln_dtype_name(to->dtype));
    }
    return kiln__parts_lay_out(parts, count, (int)kiln_dtype_size(step->params[count].dtype), &(*out)->plan, err);
}

kiln_status kiln__parts_source(const kiln__bound_parts *parts, char **text_out, kiln_error *err)
{
    macros m;
    const kiln__own_request request = request_of(&parts->plan, &m);
    kiln__definition *def = NULL;
    kiln__source source = KILN__SOURCE_INIT;
    const kiln_status status = kiln__own_emit(&request, &def, &source, err);

    if (status == KILN_OK)
        *text_out = kiln__strdup(source.text);
    kiln__source_clear(&source);
    kiln__definition_destroy(def);
    return status == KILN_OK && *text_out == NULL ? kiln__fail_memory(err, 1) : status;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* What a step is called with: the first elements of its parts, by parameter. */
typedef struct places {
    const kiln__parts *plan;
    void *at[2 * KILN__PARTS_MAX];
} places;

/* A kiln__describe_fn. */
static void describe(const void *user, kiln__step_note *note)
{
    const kiln__parts *const plan = ((const places *)user)->plan;
    size_t count = 0;

    for (size_t p = 0; p < 2 * plan->count; p++) {
        const bool from = p < plan->count;
        const size_t k = from ? p : p - plan->count;
        if (from && !plan->has_from[k])
            continue;
        if (note->places != NULL)
            note->places[count] = (kiln__arg_place){.offset = from ? plan->from[k] : plan->to[k],
                                                    .bytes = sizeof(void *),
                                                    .param = (uint8_t)p,
                                                    .is_pointer = true,
                                                    .name = from ? "from" : "to"};
        count++;
    }
    note->kernel = "kiln_parts";
    note->place_count = count;
}

static kiln_status launch(kiln_context *ctx, const places *p, _Atomic(void *) *entry, kiln_stream *stream,
                          kiln_error *err)
{
    const kiln__parts *const plan = p->plan;
    const kiln__launch_config config = {.grid_x = plan->grid, .block = KILN__PART_THREADS};
    _Alignas(16) unsigned char block[KILN__ARGS_MAX];
    void *known = *entry;

    if (known == NULL) {
        macros m;
        const kiln__own_request request = request_of(plan, &m);
        KILN_CHECK(kiln__own_kernel(ctx, &request, &known, err));
        *entry = known;
    }
    memcpy(block, plan->block, plan->bytes);
    for (size_t k = 0; k < plan->count; k++) {
        if (plan->has_from[k])
            memcpy(block + plan->from[k], &p->at[k], sizeof p->at[k]);
        memcpy(block + plan->to[k], &p->at[plan->count + k], sizeof p->at[k]);
    }
    return kiln__launch_noted(kiln__context_device(ctx), known, &config, block, plan->bytes, describe, p, stream,
                              err);
}

static void note_use(const kiln_array *array, kiln_stream *stream)
{
    if (array->storage->home != stream)
        kiln__storage_used_on(array->storage, stream);
}

kiln_status kiln__parts_run(const kiln__graph_run *run, const kiln__bound_step *step, kiln_error *err)
{
    places p = {.plan = &step->parts->plan};

    for (size_t k = 0; k < step->view_count; k++) {
        const kiln__step_param *param = &step->views[k].param;
        if (param->kind == KILN__VALUE_NUMBER)
            continue;
        const kiln_array *base = kiln__run_value(run, param);
        p.at[k] = (char *)base->data + param->offset;
        note_use(base, run->call->stream);
    }
    return launch(run->graph->ctx, &p, &step->parts->entry, run->call->stream, err);
}

/* ---- prepared launches ----------------------------------------------------------------------- */

/* Everything that a launch needs, kept for as long as it is. */
typedef struct prepared {
    kiln_context *ctx; /* the launch is one of its owners */
    _Atomic(void *) entry;
    kiln__parts plan;
    kiln_array *views[2 * KILN__PARTS_MAX]; /* NULL of values */
} prepared;

static kiln_status run_prepared(void *state, kiln_stream *stream, kiln_error *err)
{
    prepared *const s = state;
    places p = {.plan = &s->plan};

    for (size_t k = 0; k < 2 * s->plan.count; k++) {
        if (s->views[k] == NULL)
            continue;
        p.at[k] = s->views[k]->data;
        note_use(s->views[k], stream);
    }
    return launch(s->ctx, &p, &s->entry, stream, err);
}

static void destroy_prepared(void *state)
{
    prepared *const s = state;

    for (size_t k = 0; k < 2 * s->plan.count; k++)
        kiln_array_release(s->views[k]);
    kiln__free(s);
}

kiln_status kiln__parts_prepare(const kiln__graph_run *run, const kiln__bound_step *step, kiln_launch **out,
                                kiln_error *err)
{
    kiln__launch_task task = {.run = run_prepared, .destroy = destroy_prepared};
    prepared *s = NULL;
    kiln_status status = KILN_OK;

    KILN_TRY(kiln__make_zeroed(&s, 1, sizeof *s, err));
    s->ctx = run->graph->ctx;
    s->plan = step->parts->plan;
    for (size_t k = 0; k < step->view_count; k++) {
        const kiln__step_param *param = &step->views[k].param;
        if (param->kind == KILN__VALUE_NUMBER)
            continue;
        const kiln_array *base = kiln__run_value(run, param);
        KILN_TRY(kiln__array_view(base, param->rank, param->shape, param->strides,
                                  (char *)base->data + param->offset, &s->views[k], err));
    }
    task.state = s;
    task.arrays = s->views;
    task.array_count = step->view_count;
    KILN_TRY(kiln__launch_custom(s->ctx, run->call->stream, &task, out, err));
    s = NULL;

done:
    if (s != NULL)
        destroy_prepared(s);
    return status;
}
