/*
 * statements.c - the statements of an expression, and kiln_graph_parse() (kiln/expression.h).
 *
 *     program    := statement (';' statement)* [';']
 *     statement  := [name (',' name)* '='] value (',' value)*      a value: parse.c
 *
 * Values without a name are the results. If all values have names, those of the last statement are
 * the results.
 *
 * Tests: test_expression, test_choosing.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "graph/parse.h"

/* Count the names before '=' in the statement that begins here; 0 when it is no assignment. The
 * current token stays. */
static kiln_status count_targets(kiln__parser *p, size_t *count_out)
{
    const kiln__token token = p->token;
    const size_t behind = p->behind;
    size_t count = 0;

    *count_out = 0;
    while (p->token.kind == KILN__TOKEN_NAME) {
        count++;
        KILN_CHECK(kiln__next_token(p));
        if (kiln__is_mark(p, "="))
            *count_out = count;
        if (!kiln__is_mark(p, ","))
            break;
        KILN_CHECK(kiln__next_token(p));
    }
    p->token = token;
    p->behind = behind;
    return KILN_OK;
}

static void add_output(kiln__parser *p, kiln_node node, const kiln__parsed *v)
{
    char name[32];
    snprintf(name, sizeof name, p->result_count == 0 ? "result" : "result%zu", p->result_count + 1);
    p->result_count++;
    kiln_node_output(p->graph, name, node, KILN__PLACE(v->at));
}

/* A value whose length only the device knows is two outputs: what there is room for, and the length. */
static void add_result(kiln__parser *p, const kiln__parsed *v)
{
    kiln_node both[2];

    if (v->kind == KILN__PARSED_NODE) {
        add_output(p, v->node, v);
        return;
    }
    kiln__counted_result(v, both);
    if (p->result_count < KILN__COUNTED_MAX) {
        p->graph->counted |= UINT64_C(1) << p->result_count;
        p->graph->counted_axis[p->result_count] = (int8_t)v->axis;
    }
    add_output(p, both[0], v);
    add_output(p, both[1], v);
}

/* Values as one: a tuple where there are several. */
static kiln_status gather(kiln__parser *p, kiln__parsed *values, size_t count,
                          kiln__parsed *out)
{
    *out = values[0];
    if (count == 1)
        return KILN_OK;
    out->kind = KILN__PARSED_TUPLE;
    out->items = kiln__tuple_new(p, count);
    out->count = count;
    if (out->items == NULL)
        return kiln__fail_memory(p->err, count * sizeof *out->items);
    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(kiln__need_node(p, &values[k]));
        out->items[k] = values[k].node;
    }
    return KILN_OK;
}

/* The values of a statement. */
typedef struct value_list {
    kiln__parsed values[KILN__TUPLE_MAX];
    size_t count;
} value_list;

/* Parse one statement. The items of tuples count as values of their own; each value is given to a
 * name, or is a result: an output of the graph, or `result` where that is not NULL. */
static kiln_status parse_statement(kiln__parser *p, kiln__parsed *result, value_list *list)
{
    const size_t first = p->token.at;
    size_t targets = 0, count = 0, lengths[KILN__TUPLE_MAX], places[KILN__TUPLE_MAX];
    kiln__parsed *const values = list->values, v;

    KILN_CHECK(count_targets(p, &targets));
    if (targets > KILN__TUPLE_MAX)
        return kiln__parse_fail(p, first, 1, KILN_ERR_ARGUMENT, "these are too many names");
    for (size_t k = 0; k < targets; k++) {
        places[k] = p->token.at;
        lengths[k] = p->token.width;
        KILN_CHECK(kiln__next_token(p));
        KILN_CHECK(kiln__next_token(p)); /* the ',' or '=' behind it */
    }
    do {
        if (count > 0)
            KILN_CHECK(kiln__next_token(p));
        p->wanted = count == 0 ? targets : 0;
        KILN_CHECK(kiln__parse_expression(p, &v));
        p->wanted = 0;
        if (v.kind == KILN__PARSED_SHAPE && targets > 1 && count == 0 && !kiln__is_mark(p, ","))
            KILN_CHECK(kiln__unpack_shape(p, &v, targets));
        if (v.kind == KILN__PARSED_PLACES && targets > 1 && count == 0 && !kiln__is_mark(p, ","))
            KILN_CHECK(kiln__unpack_places(p, &v, targets));
        if (targets != 1)
            kiln__settle(&v);
        const bool one = targets < 2 && kiln__is_number_list(p, &v); /* an array, or what a function takes it for */
        const bool several = v.kind == KILN__PARSED_SEVERAL;
        const bool tuple = (v.kind == KILN__PARSED_TUPLE || several) && !one;
        const bool named_shape =
            targets == 1 && (v.kind == KILN__PARSED_SHAPE || v.kind == KILN__PARSED_PLACES);
        if (!tuple && !(one && targets == 1) && !named_shape && v.kind != KILN__PARSED_CHOSEN &&
            v.kind != KILN__PARSED_COUNTED)
            KILN_CHECK(kiln__need_node(p, &v));
        for (size_t k = 0; k < (tuple ? v.count : 1); k++) {
            if (count == KILN__TUPLE_MAX)
                return kiln__parse_fail(p, v.at, v.width, KILN_ERR_ARGUMENT, "too many values");
            values[count] = several ? v.values[k] : v;
            if (tuple && !several)
                kiln__set_node(&values[count], v.items[k]);
            if (targets == 0 && result == NULL)
                add_result(p, &values[count]);
            count++;
        }
    } while (kiln__is_mark(p, ","));
    if (targets > 0 && targets != count)
        return kiln__parse_fail(p, first, p->behind - first, KILN_ERR_ARGUMENT,
                                "%zu name%s for %zu value%s", targets, targets == 1 ? "" : "s",
                                count, count == 1 ? "" : "s");
    for (size_t k = 0; k < targets; k++)
        KILN_CHECK(kiln__define_name(p, p->text + places[k], lengths[k], &values[k]));
    list->count = count;
    return targets == 0 && result != NULL ? gather(p, values, count, result) : KILN_OK;
}

static kiln_status parse_statements(kiln__parser *p, kiln__parsed *result)
{
    value_list last;

    KILN_CHECK(kiln__next_token(p));
    do {
        KILN_CHECK(parse_statement(p, result, &last));
        if (p->token.kind == KILN__TOKEN_END)
            break;
        KILN_CHECK(kiln__is_mark(p, ";") ? kiln__next_token(p)
                                         : kiln__unexpected(p, "an operator"));
    } while (p->token.kind != KILN__TOKEN_END);
    const bool unnamed = result != NULL || p->result_count > 0;
    for (size_t k = 0; !unnamed && k < last.count; k++)
        add_result(p, &last.values[k]);
    return KILN_OK;
}

/* ---- the public functions --------------------------------------------------------------------- */

static kiln_status add_inputs(kiln__parser *p, const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const bool mask = names[k] != NULL && strncmp(names[k], "bool ", 5) == 0;
        const char *const name = mask ? names[k] + 5 : names[k];
        const kiln_dtype dtype = mask ? KILN_BOOL : KILN_DTYPE_NONE;
        if (name == NULL || !kiln__is_identifier(name))
            return kiln__fail(p->err, KILN_ERR_NAME, "the name \"%.60s\" is no identifier",
                              names[k] != NULL ? names[k] : "");
        kiln__parsed input = {.kind = KILN__PARSED_NODE};
        input.node = kiln_node_input(p->graph, name, dtype, -1, KILN__PLACE(0));
        KILN_CHECK(kiln__define_name(p, name, strlen(name), &input));
    }
    return KILN_OK;
}

kiln_status kiln__graph_from_text(kiln_context *ctx, const char *text, const char *const *names,
                                  size_t name_count, const kiln_graph_options *opts,
                                  kiln_graph **out, size_t *results_out, kiln_error *err)
{
    kiln__parser p = {.text = text, .err = err};
    kiln_status status = KILN_OK;

    *out = NULL;
    p.statements = parse_statements;
    p.call = kiln__apply_call;
    p.join = kiln__join_operands;
    p.multiply = kiln__multiply_parts;
    KILN_CHECK(kiln__make_zeroed(&p.names, KILN__NAMES_MAX, sizeof *p.names, err));
    KILN_TRY(kiln__graph_new(ctx, opts, &p.graph, err));
    p.graph->ir.of_text = true;
    p.graph->ir.text = kiln__strndup(text, strlen(text)); /* for messages, which do without */
    KILN_TRY(add_inputs(&p, names, name_count));
    status = parse_statements(&p, NULL);
    /* What could not be recorded is told first: what looked at it afterwards found no array. */
    if (status != KILN_OK && p.graph->failed.status == KILN_OK)
        goto done;
    if (status != KILN_OK && err != NULL)
        kiln_error_clear(err);
    status = kiln_graph_compile(p.graph, err);
    if (status != KILN_OK) {
        if (err != NULL && err->offset >= 0 && err->detail == NULL)
            err->detail = kiln__caret_word(text, (size_t)err->offset);
        goto done;
    }
    *out = p.graph;
    p.graph = NULL;
    if (results_out != NULL)
        *results_out = p.result_count;

done:
    kiln_graph_destroy(p.graph);
    kiln__parser_drop(&p);
    kiln__free(p.names);
    return status;
}

kiln_status kiln_graph_parse(kiln_context *ctx, const char *text, const char *const *names,
                             size_t name_count, const kiln_graph_options *opts, kiln_graph **out,
                             size_t *results_out, kiln_error *err)
{
    kiln_graph_options o = KILN_GRAPH_OPTIONS_INIT;

    if (results_out != NULL)
        *results_out = 0;
    if (out != NULL)
        *out = NULL;
    KILN_CHECK_NULL(ctx, err);
    KILN_CHECK_NULL(text, err);
    KILN_CHECK_NULL(out, err);
    if (name_count > 0)
        KILN_CHECK_NULL(names, err);
    KILN_CHECK(KILN_READ_OPTIONS(kiln_graph_options, &o, opts, err));
    return kiln__graph_from_text(ctx, text, names, name_count, &o, out, results_out, err);
}

int kiln_graph_result_axis(const kiln_graph *graph, size_t result)
{
    return kiln_graph_result_is_counted(graph, result) ? graph->counted_axis[result] : 0;
}

bool kiln_graph_result_is_counted(const kiln_graph *graph, size_t result)
{
    return graph != NULL && result < KILN__COUNTED_MAX && (graph->counted >> result & 1) != 0;
}
