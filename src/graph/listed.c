/*
 * listed.c - functions of expressions that take lists of arrays or return several: select(),
 * choose(), block(), broadcast_arrays(), split() and others, sliding_window_view().
 *
 *     calls.c > [listed] > nodes of operations, views and rearrangements
 *
 * Shapes are known only when a graph is called. So whatever depends on them is left to the
 * rearrangement nodes (src/fusion/joins.c).
 *
 * Tests: test_rearrange, test_choice.
 */
#include <inttypes.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

enum { NARROW_WINDOW = 8 }; /* as many parts of a stack are computed where they are used */

static kiln_status fail(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

static kiln_status need_list(kiln__parser *p, kiln__parsed_call *c, size_t argument)
{
    kiln__parsed *v = &c->arg[argument];

    KILN_CHECK(kiln__number_lists(p, v));
    if (v->kind == KILN__PARSED_TUPLE && v->count > 0)
        return KILN_OK;
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                            "%.*s: a list of arrays is needed here", (int)c->bytes, c->name);
}

static kiln_node where(kiln_node condition, kiln_node x, kiln_node y, size_t at)
{
    return kiln_node_op3(KILN_OP_WHERE, condition, x, y, KILN__PLACE(at));
}

/* Several values as one. */
static kiln_status give(kiln__parser *p, const kiln_node *nodes, size_t count, kiln__parsed *out)
{
    out->kind = KILN__PARSED_TUPLE;
    out->items = kiln__tuple_new(p, count);
    out->count = count;
    if (out->items == NULL)
        return kiln__fail_memory(p->err, count * sizeof *out->items);
    memcpy(out->items, nodes, count * sizeof *nodes);
    return KILN_OK;
}

/* Arrays among choices as where(False, x, where(False, y, z)), which has the dtype of all; NOTHING where there is none. */
static kiln_node arrays_of(const kiln__parser *p, const kiln_node *choices, size_t count,
                           kiln_node more, size_t at)
{
    kiln_node all = kiln__is_of_numbers(p, &more) ? (kiln_node){.kind = KILN_NODE_NOTHING} : more;

    for (size_t k = count; k-- > 0;)
        if (!kiln__is_of_numbers(p, &choices[k]))
            all = all.kind == KILN_NODE_NOTHING
                      ? choices[k]
                      : where(kiln_node_of_bool(false), choices[k], all, at);
    return all;
}

/* A choice; a plain number is given the dtype that it has beside all arrays, for two of them together are strong. */
static kiln_node as_all(const kiln__parser *p, kiln_node choice, kiln_node arrays, size_t at)
{
    return arrays.kind == KILN_NODE_NOTHING || !kiln__is_of_numbers(p, &choice)
               ? choice
               : where(kiln_node_of_bool(false), arrays, choice, at);
}

/* select(conditions, choices, default=0): the first choice whose condition is true. */
static kiln_status call_select(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_node node = kiln_node_of_int(0);

    if (c->count < 2 || c->count > 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called as select(conditions, choices, default=0)");
    KILN_CHECK(need_list(p, c, 0));
    KILN_CHECK(need_list(p, c, 1));
    if (c->arg[0].count != c->arg[1].count)
        return kiln__parse_fail(p, c->arg[1].at, c->arg[1].width, KILN_ERR_ARGUMENT_COUNT,
                                "select: %zu choices for %zu conditions", c->arg[1].count,
                                c->arg[0].count);
    if (c->count > 2) {
        KILN_CHECK(kiln__need_node(p, &c->arg[2]));
        node = c->arg[2].node;
    }
    const kiln_node arrays = arrays_of(p, c->arg[1].items, c->arg[1].count, node, c->at);
    node = as_all(p, node, arrays, c->at);
    for (size_t k = c->arg[0].count; k-- > 0;) {
        kiln__parsed condition = c->arg[0];
        kiln__set_node(&condition, c->arg[0].items[k]);
        if (!kiln__is_mask(p, &condition))
            return kiln__parse_fail(p, c->arg[0].at, c->arg[0].width, KILN_ERR_DTYPE,
                                    "select: condition %zu is not of bool: write `!= 0` behind it",
                                    k + 1);
        node = where(condition.node, as_all(p, c->arg[1].items[k], arrays, c->at), node, c->at);
    }
    kiln__set_node(out, node);
    return KILN_OK;
}

/* choose(i, choices, mode=raise): of each place the element of choice number i. Indices are checked as those of
 * take(), where a negative one would count from the end. */
static kiln_status call_choose(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_index_mode mode;

    if (c->count != 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called as choose(i, choices, mode=raise)");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(need_list(p, c, 1));
    KILN_CHECK(kiln__index_mode(p, c, &mode));
    const size_t count = c->arg[1].count;
    const kiln_node *choices = c->arg[1].items;
    const kiln_node zero = kiln_node_of_int(0), many = kiln_node_of_int((int64_t)count);
    kiln_node i = kiln_node_op2(KILN_OP_ADD, kiln__graph_number(p->graph, c->arg[0].node), zero,
                                KILN__PLACE(c->at)); /* bool becomes a whole number */
    if (mode == KILN_INDEX_CHECK)
        i = where(kiln_node_op2(KILN_OP_LESS, i, zero, KILN__PLACE(c->at)), many, i, c->at);
    i = kiln_node_take(kiln_node_arange(p->graph, (int64_t)count, KILN__PLACE(c->at)), i, 0, mode,
                       KILN__PLACE(c->at));
    const kiln_node arrays = arrays_of(p, choices, count, kiln_node_of_int(0), c->at);
    kiln_node node = as_all(p, choices[count - 1], arrays, c->at);
    for (size_t k = count - 1; k-- > 0;)
        node =
            where(kiln_node_op2(KILN_OP_EQUAL, i, kiln_node_of_int((int64_t)k), KILN__PLACE(c->at)),
                  as_all(p, choices[k], arrays, c->at), node, c->at);
    if (count == 1)
        node = where(kiln_node_op2(KILN_OP_EQUAL, i, zero, KILN__PLACE(c->at)), node, node, c->at);
    kiln__set_node(out, node);
    return KILN_OK;
}

/* broadcast_arrays(x, y, ...): each in the shape of all, which is that of an operation on them that nobody computes. */
static kiln_status call_broadcast(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln_node nodes[KILN__ARGUMENTS_MAX], all = kiln_node_of_bool(true);

    if (c->count == 0)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "needs arrays");
    for (size_t k = 0; k < c->count; k++) {
        KILN_CHECK(kiln__need_node(p, &c->arg[k]));
        nodes[k] = kiln__graph_number(p->graph, c->arg[k].node);
        all = kiln_node_op2(KILN_OP_LOGICAL_OR,
                            kiln_node_op2(KILN_OP_EQUAL, nodes[k], nodes[k], KILN__PLACE(c->at)),
                            all, KILN__PLACE(c->at));
    }
    for (size_t k = 0; k < c->count; k++)
        nodes[k] = kiln__node_broadcast_like(nodes[k], all, KILN__PLACE(c->at));
    return give(p, nodes, c->count, out);
}

/* block([[a, b], [c, d]]), block([a, b]). */
static kiln_status call_block(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed *v = &c->arg[0];
    size_t count = v->count;

    if (c->count != 1 || (v->kind != KILN__PARSED_ROWS && v->kind != KILN__PARSED_TUPLE) ||
        count == 0)
        return fail(p, c, KILN_ERR_ARGUMENT,
                    "is called as block([[a, b], [c, d]]) or block([a, b])");
    for (size_t k = 0; v->kind == KILN__PARSED_ROWS && k < v->count; k++)
        count = (k == 0 ? 0 : count) + (size_t)v->rows[k];
    for (size_t k = 0; k < count; k++)
        v->items[k] = kiln__graph_number(p->graph, v->items[k]);
    kiln__set_node(out, kiln_node_rearrange(KILN_REARRANGE_BLOCK, v->items, count, v->rows,
                                            v->kind == KILN__PARSED_ROWS ? v->count : 0,
                                            KILN__PLACE(c->at)));
    return KILN_OK;
}

/* An axis, as argument `at` or by its name. */
static kiln_status read_axis(const kiln__parser *p, kiln__parsed_call *c, size_t at, int64_t *axis)
{
    const kiln__parsed *v;

    KILN_CHECK(kiln__call_axis(p, c, at, &v));
    return v->width == 0 ? KILN_OK : kiln__need_literal(p, v, axis);
}

/* The axis of a call of split() or one like it, as the rearrangement takes it. */
static kiln_status read_split_axis(const kiln__parser *p, kiln__parsed_call *c, int64_t *axis)
{
    static const struct {
        const char *name;
        int64_t axis;
    } fixed[] = {{"hsplit", KILN__SPLIT_H}, {"vsplit", KILN__SPLIT_V}, {"dsplit", KILN__SPLIT_D}};

    *axis = 0;
    for (size_t k = 0; k < KILN_COUNT_OF(fixed); k++) {
        if (!kiln__same_word(c->name, c->bytes, fixed[k].name))
            continue;
        *axis = fixed[k].axis;
        return c->count == 2
                   ? KILN_OK
                   : fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called with an array and parts");
    }
    if (c->count < 2 || c->count > 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called with an array, parts and axis=0");
    KILN_CHECK(read_axis(p, c, 2, axis));
    if (*axis >= -KILN_RANK_MAX && *axis < KILN_RANK_MAX)
        return KILN_OK;
    return fail(p, c, KILN_ERR_AXIS, "cuts an axis that no array has");
}

/* split(x, 3), array_split(x, 3, axis=1): equal parts, or as equal as can be; split(x, (2, 5)): x[:2], x[2:5], x[5:].
 * hsplit(), vsplit() and dsplit() cut an axis that the rank decides. */
static kiln_status call_split(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed *v = &c->arg[1];
    const bool equal = !kiln__same_word(c->name, c->bytes, "array_split");
    kiln_node parts[KILN__TUPLE_MAX];
    int64_t axis = 0, number = 0, from = 0;

    KILN_CHECK(read_split_axis(p, c, &axis));
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    const kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    if (v->kind != KILN__PARSED_TUPLE) {
        KILN_CHECK(kiln__need_literal(p, v, &number));
        if (number < 1 || number > KILN__TUPLE_MAX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "there may be 1 to %d parts, not %" PRId64, KILN__TUPLE_MAX,
                                    number);
        for (int64_t k = 0; k < number; k++)
            parts[k] =
                kiln_node_rearrange(KILN_REARRANGE_SECTION, &x, 1,
                                    (int64_t[]){axis, k, number, equal}, 4, KILN__PLACE(c->at));
        return give(p, parts, (size_t)number, out);
    }
    if (v->count >= KILN__TUPLE_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "there may be 1 to %d parts, not %zu", KILN__TUPLE_MAX,
                                v->count + 1);
    for (size_t k = 0; k <= v->count; k++) {
        int64_t to = INT64_MAX;
        if (k < v->count) {
            kiln__parsed one = *v;
            kiln__set_node(&one, v->items[k]);
            KILN_CHECK(kiln__need_integer(p, &one, &to));
        }
        parts[k] = kiln_node_rearrange(KILN_REARRANGE_SECTION, &x, 1,
                                       (int64_t[]){axis, from, to, KILN__SECTION_SLICE}, 4,
                                       KILN__PLACE(c->at));
        from = to;
    }
    return give(p, parts, v->count + 1, out);
}

/* Whole numbers, one or a tuple of them. */
static kiln_status read_several(const kiln__parser *p, const kiln__parsed *v, int64_t *out,
                                size_t *count)
{
    *count = v->kind == KILN__PARSED_TUPLE ? v->count : 1;
    if (*count == 0 || *count > KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "1 to %d whole numbers are needed here", KILN_RANK_MAX);
    for (size_t k = 0; k < *count; k++) {
        kiln__parsed one = *v;
        if (v->kind == KILN__PARSED_TUPLE)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_integer(p, &one, &out[k]));
    }
    return KILN_OK;
}

/* Windows of few elements along one axis: each of their elements is a view, so that what follows is computed of several
 * views at once. */
static kiln_node narrow_windows(kiln_node x, int64_t axis, int64_t width, size_t at)
{
    const int64_t last = -1;
    kiln_node parts[KILN__TUPLE_MAX];

    for (int64_t k = 0; k < width; k++)
        parts[k] = kiln_node_rearrange(KILN_REARRANGE_WINDOW, &x, 1, (int64_t[]){axis, k, width}, 3,
                                       KILN__PLACE(at));
    return kiln_node_rearrange(KILN_REARRANGE_STACK, parts, (size_t)width, &last, 1,
                               KILN__PLACE(at));
}

/* sliding_window_view(x, width, axis=-1), sliding_window_view(x, (2, 3), axis=(0, 1)): the windows along further axes. */
static kiln_status call_windows(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed *axes;
    int64_t width[KILN_RANK_MAX], axis[KILN_RANK_MAX] = {-1};
    size_t count = 0, axis_count = 1;

    if (c->count < 2 || c->count > 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called with an array, a width and axis=-1");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(kiln__call_axis(p, c, 2, &axes));
    KILN_CHECK(read_several(p, &c->arg[1], width, &count));
    const bool named = axes->width != 0 && axes->kind != KILN__PARSED_NONE;
    const bool all = !named && c->arg[1].kind == KILN__PARSED_TUPLE;
    if (named)
        KILN_CHECK(read_several(p, axes, axis, &axis_count));
    if (!all && axis_count != count)
        return kiln__parse_fail(p, axes->width != 0 ? axes->at : c->at,
                                axes->width != 0 ? axes->width : c->bytes, KILN_ERR_AXIS,
                                "%zu widths of windows for %zu axes", count, axis_count);
    kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    if (count == 1 && !all && width[0] >= 1 && width[0] <= NARROW_WINDOW) {
        kiln__set_node(out, narrow_windows(x, axis[0], width[0], c->at));
        return KILN_OK;
    }
    for (size_t k = 0; k < count; k++) {
        const int64_t along = all ? (int64_t)k : axis[k] < 0 ? axis[k] - (int64_t)k : axis[k];
        const int64_t numbers[] = {along, width[k], 0, (int64_t)count};
        x = kiln_node_rearrange(KILN_REARRANGE_WINDOW, &x, 1, numbers, all && k == 0 ? 4 : 2,
                                KILN__PLACE(c->at));
    }
    kiln__set_node(out, x);
    return KILN_OK;
}

kiln_status kiln__apply_listed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known)
{
    static const struct {
        const char *name;
        kiln_status (*call)(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out);
    } functions[] = {
        {"select", call_select}, {"choose", call_choose},
        {"block", call_block},   {"broadcast_arrays", call_broadcast},
        {"split", call_split},   {"array_split", call_split},
        {"hsplit", call_split},  {"vsplit", call_split},
        {"dsplit", call_split},  {"sliding_window_view", call_windows},
    };

    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        *known = true;
        return functions[k].call(p, c, out);
    }
    return KILN_OK;
}
