/*
 * ordered.c - sorts of expressions by a C++ text: sort_by(), and sort() and argsort() with less=.
 *
 *     sort(x, less="a > b") > one text for the node > the order > the arrays, taken in that order
 *
 * A sort by an array of keys, sort(x, key=abs(x)), is a row of written_rows.c instead. calls.c and
 * parse.c call this file.
 *
 * Test: test_written.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/indexing.h"

static kiln_status fail(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

/* What a call gives by its name; NULL: nothing. */
static const kiln__parsed *named(const kiln__parsed_call *c, const char *name)
{
    for (size_t k = 0; k < c->named_count; k++)
        if (kiln__same_word(c->named[k].name, c->named[k].bytes, name))
            return &c->named[k].value;
    return NULL;
}

static kiln_status need_text(const kiln__parser *p, const kiln__parsed *v)
{
    return v->kind == KILN__PARSED_TEXT ? KILN_OK
                                        : kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                                           "a text in quotes is needed here");
}

/* `*given`: whether descending=True is. */
static kiln_status read_descending(const kiln__parser *p, const kiln__parsed_call *c, bool *given)
{
    const kiln__parsed *v = named(c, "descending");

    *given = false;
    if (v == NULL)
        return KILN_OK;
    if (v->kind != KILN__PARSED_NODE || v->node.kind != KILN_NODE_BOOL)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "descending is True or False");
    *given = v->node.value.b;
    return KILN_OK;
}

/* The order of arrays by a rule; `signature` and `rule` are texts of the program, or NULL: those of one array. */
static kiln_status order_of(kiln__parser *p, const kiln__parsed_call *c, const kiln_node *arrays,
                            size_t count, const kiln__parsed *signature, int axis, kiln_node *out)
{
    const kiln__parsed *less = named(c, "less"), *key = named(c, "key"),
                       *dtype = named(c, "key_dtype");
    const kiln__parsed *rule = less != NULL ? less : key;
    int64_t data[KILN__OPAQUE_DATA_MAX];
    bool descending = false;
    char text[sizeof data];

    if (rule == NULL || (less != NULL && key != NULL))
        return fail(p, c, KILN_ERR_ARGUMENT,
                    "is given either less=, whether element a stands before b, or key=, numbers to "
                    "sort by");
    KILN_CHECK(need_text(p, rule));
    KILN_CHECK(read_descending(p, c, &descending));
    if (dtype != NULL && dtype->kind != KILN__PARSED_DTYPE)
        return kiln__parse_fail(p, dtype->at, dtype->width, KILN_ERR_ARGUMENT,
                                "this is no dtype, as float32 is");
    const int used = snprintf(text, sizeof text, "%c%c%02d%+03d%.*s\n%.*s",
                              key != NULL         ? 'k'
                              : signature != NULL ? 'l'
                                                  : 'e',
                              descending ? 'd' : 'a', dtype != NULL ? (int)dtype->dtype : 0, axis,
                              signature != NULL ? (int)signature->word_bytes : 3,
                              signature != NULL ? signature->word : "T x", (int)rule->word_bytes,
                              rule->word);
    const size_t data_count =
        used > 0 && (size_t)used < sizeof text ? kiln__opaque_text(text, (size_t)used, data) : 0;
    if (data_count == 0)
        return kiln__parse_fail(
            p, rule->at, rule->width, KILN_ERR_ARGUMENT,
            "this text is too long: with the names of the arrays it has at most %d bytes",
            (int)sizeof text - 8);
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_order_by", 9),
                                      .operands = arrays,
                                      .count = count,
                                      .data = data,
                                      .data_count = data_count};
    *out = kiln__opaque_node(&given, 0, KILN__PLACE(c->at));
    return KILN_OK;
}

/* The elements of each row in its order. */
static kiln_node taken(kiln_node x, kiln_node order, int axis, size_t at)
{
    return axis == KILN__ORDER_ALL
               ? kiln_node_take(x, order, KILN_AXIS_FLAT, KILN_INDEX_CLIP, KILN__PLACE(at))
               : kiln_node_take_along_axis(x, order, axis, KILN_INDEX_CLIP, KILN__PLACE(at));
}

/* The axis, by its name or in its place `at`: the last one where none is given. */
static kiln_status read_axis(const kiln__parser *p, kiln__parsed_call *c, size_t at, int *out)
{
    const kiln__parsed *v;
    int64_t axis = -1;

    KILN_CHECK(kiln__call_axis(p, c, at, &v));
    if (v->width != 0 && v->kind != KILN__PARSED_NONE)
        KILN_CHECK(kiln__need_literal(p, v, &axis));
    if (axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
    *out = v->kind == KILN__PARSED_NONE && v->width != 0 ? KILN__ORDER_ALL : (int)axis;
    return KILN_OK;
}

/* sort_by("float32 x, int32 y", x, y, less="a.x < b.x"): the arrays, sorted together, then their order. */
static kiln_status call_sort_by(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_node arrays[KILN__OPAQUE_OPERANDS], order = {0};
    int axis = 0;
    const size_t count = c->count > 0 ? c->count - 1 : 0;

    if (count == 0 || count > KILN__OPAQUE_OPERANDS)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called as sort_by(\"float32 x, int32 y\", x, y, less=\"a.x < b.x\"), of up "
                    "to 16 arrays");
    KILN_CHECK(need_text(p, &c->arg[0]));
    for (size_t k = 0; k < count; k++) {
        KILN_CHECK(kiln__need_node(p, &c->arg[k + 1]));
        arrays[k] = kiln__graph_number(p->graph, c->arg[k + 1].node);
    }
    KILN_CHECK(read_axis(p, c, KILN__ARGUMENTS_MAX, &axis));
    KILN_CHECK(order_of(p, c, arrays, count, &c->arg[0], axis, &order));
    out->kind = KILN__PARSED_TUPLE;
    out->items = kiln__tuple_new(p, count + 1);
    out->count = count + 1;
    if (out->items == NULL)
        return kiln__fail_memory(p->err, (count + 1) * sizeof *out->items);
    for (size_t k = 0; k < count; k++)
        out->items[k] = taken(arrays[k], order, axis, c->at);
    out->items[count] = order;
    return KILN_OK;
}

/* sort(x, axis=-1, less="abs(a) < abs(b)"), argsort(x, less=...). */
static kiln_status call_sort(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_node order = {0};
    int axis = 0;

    if (c->count < 1 || c->count > 2 || named(c, "key") != NULL)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "with less= takes an array and an axis, and no key");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    const kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    KILN_CHECK(read_axis(p, c, 1, &axis));
    KILN_CHECK(order_of(p, c, &x, 1, NULL, axis, &order));
    kiln__set_node(out, kiln__same_word(c->name, c->bytes, "sort") ? taken(x, order, axis, c->at)
                                                                   : order);
    return KILN_OK;
}

/* lexsort([x, y], axis=-1); of one array its rows are the keys. */
static kiln_status call_lexsort(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_node keys[KILN__OPAQUE_OPERANDS];
    kiln__parsed *v = &c->arg[0];
    int axis = 0;

    if (c->count < 1 || c->count > 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called as lexsort([x, y], axis=-1)");
    KILN_CHECK(read_axis(p, c, 1, &axis));
    KILN_CHECK(kiln__number_lists(p, v));
    const bool list = v->kind == KILN__PARSED_TUPLE;
    const size_t count = list ? v->count : 1;
    if (count == 0 || count > KILN__OPAQUE_OPERANDS)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "a list of 1 to %d arrays is needed here", KILN__OPAQUE_OPERANDS);
    if (!list)
        KILN_CHECK(kiln__need_node(p, v));
    for (size_t k = 0; k < count; k++)
        keys[k] = kiln__graph_number(p->graph, list ? v->items[k] : v->node);
    const int64_t data[] = {axis == KILN__ORDER_ALL ? -1 : axis, !list};
    const kiln__opaque_given given = {.operation = kiln__opaque_named("lexsort", 7),
                                      .operands = keys,
                                      .count = count,
                                      .data = data,
                                      .data_count = KILN_COUNT_OF(data)};
    kiln__set_node(out, kiln__opaque_node(&given, 0, KILN__PLACE(c->at)));
    return KILN_OK;
}

bool kiln__ordered_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    if (kiln__same_word(c->name, c->bytes, "sort_by"))
        return kiln__same_word(name, bytes, "less") || kiln__same_word(name, bytes, "key") ||
               kiln__same_word(name, bytes, "key_dtype") ||
               kiln__same_word(name, bytes, "descending");
    return kiln__same_word(name, bytes, "less") && (kiln__same_word(c->name, c->bytes, "sort") ||
                                                    kiln__same_word(c->name, c->bytes, "argsort"));
}

kiln_status kiln__apply_ordered(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    const bool by = kiln__same_word(c->name, c->bytes, "sort_by");
    const bool lexical = kiln__same_word(c->name, c->bytes, "lexsort");

    *known = by || lexical || named(c, "less") != NULL;
    if (!*known)
        return KILN_OK;
    if (lexical)
        return call_lexsort(p, c, out);
    return by ? call_sort_by(p, c, out) : call_sort(p, c, out);
}
