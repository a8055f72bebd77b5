/*
 * wholes.c - functions of expressions that are done as a whole (opaque.h): matmul(), einsum(),
 * sorts, quantiles. calls.c calls it.
 *
 *     calls.c > [wholes: operands, axes, numbers, texts] > kiln__opaque_node() (opaque.c)
 *
 * Tests: test_expression, test_written, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"
#include "kiln/sort.h"
#include "sorting/sorting.h"

/* An axis and numbers: the axis by name or behind the others. */
static kiln_status read_numbers(const kiln__parser *p, kiln__parsed_call *c,
                                kiln__opaque_given *given, int64_t *data)
{
    const kiln__opaque *o = given->operation;
    const size_t numbers = strcspn(o->numbers, "m"), least = given->count + numbers;
    const kiln__parsed *axis;

    KILN_CHECK(kiln__need_count(p, c, least, least + o->takes_axis));
    if (o->takes_axis) {
        KILN_CHECK(kiln__call_axis(p, c, least, &axis));
        data[0] = axis->kind == KILN__PARSED_NONE ? INT64_MIN : o->axis;
        if (axis->width != 0 && axis->kind != KILN__PARSED_NONE)
            KILN_CHECK(kiln__need_literal(p, axis, &data[0]));
        given->data_count = 1;
    }
    for (size_t k = 0; k < numbers; k++) {
        const kiln__parsed *v = &c->arg[given->count + k];
        const bool whole = v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_INT;
        int64_t *const to = &data[given->data_count++];
        if (o->numbers[k] == 'i') {
            KILN_CHECK(kiln__need_integer(p, v, to));
            continue;
        }
        if (!whole && (v->kind != KILN__PARSED_NODE || v->node.kind != KILN_NODE_FLOAT))
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a number that the text tells is needed here, or a list of them");
        const double real = whole ? (double)v->node.value.i : v->node.value.f;
        memcpy(to, &real, sizeof real);
    }
    if (o->numbers[numbers] != 'm')
        return KILN_OK;
    int64_t *const method = &data[given->data_count++];
    KILN_CHECK(kiln__quantile_method(p, c, method));
    if (*method == KILN_QUANTILE_LINEAR && c->arg[given->count].node.kind == KILN_NODE_INT &&
        kiln__same_word(o->name, strlen(o->name), "quantile"))
        *method = KILN_QUANTILE_LOWER; /* of 0 and 1 elements, as NumPy has it */
    return KILN_OK;
}

/* What an operation has beside its operands, from the arguments that are no operands. `*first_out`: which
 * argument is the first operand. */
static kiln_status read_data(const kiln__parser *p, kiln__parsed_call *c, kiln__opaque_given *given,
                             int64_t *data, size_t *first_out)
{
    const size_t arity = (size_t)given->operation->operand_count;
    const kiln__parsed *text = &c->arg[0];

    *first_out = 0;
    given->count = arity;
    switch (given->operation->data) {
    case KILN__OPAQUE_NONE:
        return kiln__need_count(p, c, arity, arity);
    case KILN__OPAQUE_LIST:
        return kiln__need_count(p, c, 1, 1);
    case KILN__OPAQUE_NUMBER:
        KILN_CHECK(kiln__need_count(p, c, arity + 1, arity + 1));
        given->data_count = 1;
        return kiln__need_integer(p, &c->arg[arity], data);
    case KILN__OPAQUE_NUMBERS:
        return read_numbers(p, c, given, data);
    case KILN__OPAQUE_SUBSCRIPTS:
        return kiln__fail_call(p, c, KILN_ERR_NAME, "is written x.at[...].set(values)");
    case KILN__OPAQUE_TEXT:
        break;
    }
    KILN_CHECK(kiln__need_count(p, c, 2, KILN__OPAQUE_OPERANDS + 1));
    if (text->kind != KILN__PARSED_TEXT)
        return kiln__parse_fail(p, text->at, text->width, KILN_ERR_ARGUMENT,
                                "a text in quotes is needed here");
    given->count = c->count - 1;
    given->data_count = kiln__opaque_text(text->word, text->word_bytes, data);
    *first_out = 1;
    return given->data_count > 0 ? KILN_OK
                                 : kiln__parse_fail(p, text->at, text->width, KILN_ERR_ARGUMENT,
                                                    "this text is too long");
}

/* lu_solve(lu_factor(a), b): the first two operands as one. */
static void spread_first(kiln__parsed_call *c)
{
    const kiln__parsed both = c->arg[0];

    if (!kiln__same_word(c->name, c->bytes, "lu_solve") || both.kind != KILN__PARSED_TUPLE ||
        both.count != 2 || c->count != 2)
        return;
    c->arg[2] = c->arg[1];
    c->arg[1] = both;
    for (size_t k = 0; k < 2; k++)
        kiln__set_node(&c->arg[k], both.items[k]);
    c->count = 3;
}

static kiln_status read_operands(kiln__parser *p, kiln__parsed_call *c, size_t first,
                                 kiln__opaque_given *given, kiln_node *operands)
{
    const kiln__parsed *list = &c->arg[0];

    if (given->operation->data == KILN__OPAQUE_LIST) {
        KILN_CHECK(kiln__number_lists(p, &c->arg[0]));
        if (list->kind != KILN__PARSED_TUPLE || list->count == 0 ||
            list->count > KILN__OPAQUE_OPERANDS)
            return kiln__parse_fail(p, list->at, list->width, KILN_ERR_ARGUMENT,
                                    "a list of 1 to %d arrays is needed here",
                                    KILN__OPAQUE_OPERANDS);
        given->count = list->count;
        memcpy(operands, list->items, list->count * sizeof *operands);
    } else {
        for (size_t k = 0; k < given->count; k++) {
            KILN_CHECK(kiln__need_node(p, &c->arg[first + k]));
            operands[k] = c->arg[first + k].node;
        }
    }
    operands[0] = kiln__graph_number(p->graph, operands[0]);
    return KILN_OK;
}

/* A function that is done as a whole: matmul(), einsum(), qr(). Of several results the value is a tuple. */
static kiln_status call_opaque(kiln__parser *p, kiln__parsed_call *c, const kiln__opaque *o,
                               kiln__parsed *out)
{
    const size_t results = (size_t)o->result_count;
    kiln_node operands[KILN__OPAQUE_OPERANDS];
    int64_t data[KILN__OPAQUE_DATA_MAX];
    kiln__opaque_given given = {.operation = o, .operands = operands, .data = data};
    kiln_node *items = kiln__tuple_new(p, results);
    size_t first = 0;

    if (items == NULL)
        return kiln__fail_memory(p->err, results * sizeof *items);
    spread_first(c);
    KILN_CHECK(read_data(p, c, &given, data, &first));
    KILN_CHECK(read_operands(p, c, first, &given, operands));
    for (size_t k = 0; k < results; k++)
        items[k] = kiln__opaque_node(&given, k, KILN__PLACE(c->at));
    if (results == 1) {
        kiln__set_node(out, items[0]);
        return KILN_OK;
    }
    out->kind = KILN__PARSED_TUPLE;
    out->items = items;
    out->count = results;
    return KILN_OK;
}

/* median(x, axis, keepdims), quantile(x, 0.5, axis, keepdims): one number for each row. */
static kiln_status call_ranked(kiln__parser *p, kiln__parsed_call *c, const kiln__opaque *o,
                               kiln__parsed *out)
{
    kiln_node filled;

    if (o->numbers[0] == '\0' && c->count > 0) { /* median(), of no elements NaN */
        const kiln__parsed *v = c->count > 1 ? &c->arg[1] : &c->axis;
        const bool all = v->width == 0 || v->kind == KILN__PARSED_NONE;
        KILN_CHECK(kiln__need_array(p, c));
        KILN_CHECK(kiln__written_call(p, c, "_or_a_nan", (kiln_node[]){c->arg[0].node, v->node},
                                      all ? 1 : 2, &filled));
        c->arg[0].node = filled;
    }
    KILN_CHECK(call_opaque(p, c, o, out));
    return kiln__keep_axes(p, c, 1 + strcspn(o->numbers, "m"), &out->node);
}

/* partition(x, (2, 5)): in a sorted row every element is where it belongs. Planning checks that a row has these. */
static kiln_status call_kths(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed axis = c->count > 2 ? c->arg[2] : c->axis;
    const kiln__parsed kths = c->arg[1];
    int64_t at = -1;

    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    const bool all = axis.width != 0 && axis.kind == KILN__PARSED_NONE;
    if (axis.width != 0 && !all)
        KILN_CHECK(kiln__need_literal(p, &axis, &at));
    kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    if (all)
        x = kiln_node_reshape(x, 1, (int64_t[]){-1}, KILN__PLACE(c->at));
    for (size_t k = 0; k < kths.count; k++) {
        kiln__parsed one = kths;
        int64_t kth = 0;
        kiln__set_node(&one, kths.items[k]);
        KILN_CHECK(kiln__need_integer(p, &one, &kth));
        x = kiln__node_holding(x, at, kth, KILN__PLACE(c->at));
    }
    kiln__set_node(&c->arg[0], x);
    kiln__set_node(&c->arg[1], kiln_node_of_int(at));
    c->count = 2;
    c->axis.width = 0;
    c->name = c->bytes == 9 ? "sort" : "argsort";
    c->bytes = strlen(c->name);
    return p->call(p, c, out);
}

/* What is done as a whole by its own name: call_opaque(), of ranked numbers with more. */
kiln_status kiln__apply_whole(kiln__parser *p, kiln__parsed_call *c, const kiln__opaque *o,
                              kiln__parsed *out)
{
    const bool quantiles = o->numbers != NULL && o->numbers[0] == 'd';
    const bool partitions = kiln__same_word(c->name, c->bytes, "partition") ||
                            kiln__same_word(c->name, c->bytes, "argpartition");
    const bool sums = kiln__same_word(c->name, c->bytes, "cumsum") ||
                      kiln__same_word(c->name, c->bytes, "cumprod");

    if (partitions && c->count > 1 && c->arg[1].kind == KILN__PARSED_TUPLE)
        return call_kths(p, c, out);
    if (sums && c->count > 0 && c->dtype.width != 0) {
        KILN_CHECK(kiln__need_array(p, c));
        kiln__set_node(&c->arg[0],
                       kiln_node_cast(c->arg[0].node, c->dtype.dtype, KILN__PLACE(c->at)));
        c->takes |= KILN__TAKES_DTYPE;
    }
    return (quantiles || kiln__same_word(c->name, c->bytes, "median") ? call_ranked
                                                                      : call_opaque)(p, c, o, out);
}
