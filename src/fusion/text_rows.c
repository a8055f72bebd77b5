/*
 * text_rows.c - the definition of a row program.
 *
 *     write > [text_rows > text, text_loop, text_reduce]
 *
 * A statement belongs to an element, to a row, or to a value. Statements of an element are computed
 * again in every stage. Statements of a row stand in the `post` of a stage, and all later texts see
 * their names. Values are variables that each element keeps from stage to stage. A function call
 * whose result two stages need becomes a value; arithmetic is repeated, since it costs less than a
 * register.
 *
 * Test: test_graph_rows.
 */
#include "fusion/write.h"

/* Begin the next stage's scope of elements, in which the names of earlier stages are not declared.
 * */
static void begin_stage(kiln__writer *w, int stage)
{
    w->stage = stage;
    w->seen_base = w->seen_count;
}

static const char *numbered(kiln__writer *w, const char *prefix, int number)
{
    char name[32];
    const int length = snprintf(name, sizeof name, "%s%d", prefix, number);
    return kiln__build_copy(w->b, name, (size_t)length + 1);
}

/* Name the results of a stage's reductions, in the row's scope. */
static void name_results(kiln__writer *w, const kiln__member *members, size_t count,
                         const char *result)
{
    const size_t states = kiln__state_count(members, count);
    w->body = KILN__BUF_ROW;
    for (size_t m = 0; m < count; m++) {
        kiln__name_lowered(w, members[m].id, kiln__kept_map(w, members[m].id),
                           w->dry ? "" : kiln__name_result(w, &members[m], states, result));
        w->seen[w->seen_count - 1].lasting = true;
    }
    w->body = KILN__BUF_BODY;
}

static size_t members_of(kiln__writer *w, int stage, uint32_t *ids)
{
    size_t count = 0;
    for (size_t m = 0; m < w->kernel->members.count; m++)
        if (w->b->row_parts[w->kernel->members.ids[m]].stage == stage)
            ids[count++] = w->kernel->members.ids[m];
    return count;
}

/* Write one stage. What follows from the results of earlier stages, once for each row, is written
 * into the post of those stages first. */
static void write_stage(kiln__writer *w, int stage, kiln_row_stage *stages)
{
    kiln__build *b = w->b;
    uint32_t *ids = kiln__build_alloc(b, w->kernel->members.count * sizeof *ids);
    const size_t count = members_of(w, stage, ids);
    const kiln__member *members = kiln__read_members(w->b, ids, count);
    const char **elements = kiln__build_alloc(b, count * sizeof *elements);
    const char *result = numbered(w, "r", stage + 1);

    begin_stage(w, stage);
    for (size_t m = 0; m < count; m++) {
        const uint32_t operand = members[m].low->operand[0];
        elements[m] = kiln__operand_text(w, operand, kiln__own_map(w, operand), false);
    }
    if (!w->dry) {
        kiln_row_stage *s = &stages[stage];
        if (stage > 0)
            stages[stage - 1].post = kiln__build_text(b, &b->scratch[KILN__BUF_ROW]);
        s->prep = kiln__build_text(b, &b->scratch[KILN__BUF_BODY]);
        const kiln__pass pass = kiln__write_pass(
            w, members, count, numbered(w, "kiln_graph_part", stage + 1), "", elements);
        if (pass.declaration != NULL)
            kiln__buf_puts(&b->scratch[KILN__BUF_PREAMBLE], pass.declaration);
        s->map = pass.map;
        s->type = pass.type;
        s->reduce = pass.reduce;
        s->identity = pass.identity;
        s->result = result;
        w->step->request.part_bytes[stage] = pass.bytes;
    }
    name_results(w, members, count, result);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool is_per_row(const kiln__writer *w, uint32_t low)
{
    const kiln__lowered *n = &w->b->lowered[low];
    return !kiln__same_shape(n->rank, n->shape, w->kernel->rank, w->kernel->shape) ||
           !w->b->facts[low].loads;
}

static void put_element_outputs(kiln__writer *w, const char *const *texts)
{
    const kiln__plan_kernel *k = w->kernel;
    int order[KILN_RANK_MAX];
    kiln__result_order(w, order);
    for (size_t r = 0; r < k->roots.count; r++) {
        if (is_per_row(w, k->roots.ids[r]))
            continue;
        const kiln__lowered *n = &w->b->lowered[k->roots.ids[r]];
        kiln__place(w, k->roots.ids[r], order);
        const char *name = kiln__output_param(w, k->roots.ids[r], w->rank, w->shape,
                                              w->b->values[n->id].value->strides);
        kiln__buf_printf(&w->b->scratch[KILN__BUF_BODY], "%s = %s;\n", name, texts[r]);
    }
}

static void put_row_output(kiln__writer *w, uint32_t low, const char *text, kiln__buf *post)
{
    int64_t shape[KILN_RANK_MAX], strides[KILN_RANK_MAX];
    kiln__place(w, low, NULL);
    const int rank = kiln__kept_strides(w, low, shape, strides);
    kiln__buf_printf(post, "%s = %s;\n", kiln__output_param(w, low, rank, shape, strides), text);
}

static void put_row_outputs(kiln__writer *w, const char *const *texts)
{
    const kiln__plan_kernel *k = w->kernel;
    kiln__buf *post = &w->b->scratch[KILN__BUF_TEXT];
    w->row_outputs = true;
    for (size_t m = 0; m < k->members.count; m++) {
        const uint32_t id = k->members.ids[m];
        const kiln__lowered *n = &w->b->lowered[id];
        if (w->b->values[id].read || n->output >= 0)
            put_row_output(w, id, kiln__operand_text(w, id, kiln__kept_map(w, id), false), post);
    }
    for (size_t r = 0; r < k->roots.count; r++)
        if (is_per_row(w, k->roots.ids[r]))
            put_row_output(w, k->roots.ids[r], texts[r], post);
    w->step->request.snippet[KILN__SNIPPET_POST] = kiln__build_text(w->b, post);
}

/* Write the outputs: those of elements in the last stage's scope, those of rows in the row's scope.
 * */
static void write_outputs(kiln__writer *w, int stage_count, kiln_row_stage *stages)
{
    kiln__build *b = w->b;
    const kiln__plan_kernel *k = w->kernel;
    const char **texts = kiln__build_alloc(b, (k->roots.count + 1) * sizeof *texts);

    begin_stage(w, stage_count);
    for (size_t r = 0; r < k->roots.count; r++) {
        const bool per_row = is_per_row(w, k->roots.ids[r]);
        const kiln__axis_map *map =
            per_row ? kiln__kept_map(w, k->roots.ids[r]) : kiln__own_map(w, k->roots.ids[r]);
        w->body = per_row ? KILN__BUF_ROW : KILN__BUF_BODY;
        texts[r] = kiln__operand_text(w, k->roots.ids[r], map, true);
        w->body = KILN__BUF_BODY;
    }
    if (w->dry)
        return;
    stages[stage_count - 1].post = kiln__build_text(b, &b->scratch[KILN__BUF_ROW]);
    w->step->input_count = w->step->param_count;
    put_element_outputs(w, texts);
    w->step->request.snippet[KILN__SNIPPET_OP] = kiln__build_text(b, &b->scratch[KILN__BUF_BODY]);
    put_row_outputs(w, texts);
    kiln__write_noted(w);
    w->step->request.row_out = kiln__build_text(b, &b->scratch[KILN__BUF_MORE]);
}

void kiln__write_rows(kiln__writer *w)
{
    kiln__build *b = w->b;
    const int count = w->kernel->rows->stage_count;
    kiln_row_stage *stages = kiln__build_alloc(b, (size_t)count * sizeof *stages);

    w->values = kiln__build_alloc(b, KILN__VALUE_MAX * sizeof *w->values);
    for (int stage = 0; stage < count; stage++)
        write_stage(w, stage, stages);
    write_outputs(w, count, stages);
    if (w->dry)
        return;
    kiln__definition_request *request = &w->step->request;
    request->family = &kiln__family_row;
    request->stages = stages;
    request->stage_count = (size_t)count;
    request->values = w->values;
    request->value_count = w->value_count;
    kiln__buf *why = &b->scratch[KILN__BUF_TEXT];
    kiln__buf_printf(why, "rows in one pass: %d stage%s, %zu reductions, %d operations", count,
                     count == 1 ? "" : "s", w->kernel->members.count, w->operations);
    if (w->value_count > 0)
        kiln__buf_printf(why, ", %zu kept per element", w->value_count);
    kiln__tell_snippets(w, why);
    w->step->why = kiln__build_text(b, why);
}
