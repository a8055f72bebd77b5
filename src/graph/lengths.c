/*
 * lengths.c - lists and subscripts of values whose length only the device knows (choosing.c,
 * counted.c).
 *
 *     concatenate([x[m], y, z[n]]) > x, y and z joined, and their masks joined > a chosen value
 *     stack([x[m], y[m]])          > x and y stacked, under one mask > a chosen or a counted value
 *     x[m][x[m] > 0]               > both masks > a chosen value
 *     x[m][2:-1], x[m][3]          > a row of written_rows.c: slice(values, count, ...) > a counted one
 *
 * Rule: no element moves here. A list of chosen values is itself a chosen value.
 *
 * calls.c and parse.c call this file. Test: test_choosing.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

/* A value of any kind as an array and a mask of its first axis. */
typedef struct masked {
    kiln_node values, mask;
} masked;

static kiln_node flat(kiln_node x, size_t at)
{
    const int64_t all = -1;

    return kiln_node_reshape(x, 1, &all, KILN__PLACE(at));
}

/* The mask of a plain array is true everywhere. */
static masked as_masked(kiln__parser *p, const kiln__parsed *v)
{
    masked c = {.values = v->node};

    if (v->kind == KILN__PARSED_CHOSEN) {
        c.values = kiln__node_folded(v->node, v->chooser, 0, KILN__PLACE(v->at));
        c.mask = flat(v->chooser, v->at);
        return c;
    }
    c.values = kiln__graph_number(p->graph, v->node);
    const kiln_node i = kiln__node_places(c.values, 0, KILN__PLACE(v->at));
    c.mask = v->kind == KILN__PARSED_COUNTED
                 ? kiln_node_op2(KILN_OP_LESS, i, v->chooser, KILN__PLACE(v->at))
                 : kiln_node_op2(KILN_OP_GREATER_EQUAL, i, kiln_node_of_int(0), KILN__PLACE(v->at));
    return c;
}

/* The same of all elements in C-order: a vector and a mask. */
static masked all_as_masked(kiln__parser *p, const kiln__parsed *v)
{
    masked c = as_masked(p, v);
    kiln_node values = c.values;

    if (v->kind == KILN__PARSED_NODE) { /* it may have no axes */
        values = flat(c.values, v->at);
        const kiln_node i = kiln__node_places(values, 0, KILN__PLACE(v->at));
        c.mask = kiln_node_op2(KILN_OP_GREATER_EQUAL, i, kiln_node_of_int(0), KILN__PLACE(v->at));
        return (masked){values, c.mask};
    }
    c.mask = kiln__node_mask_of(c.mask, c.values, false, KILN__PLACE(v->at));
    return (masked){flat(c.values, v->at), flat(c.mask, v->at)};
}

static void give_chosen(const kiln__parsed_call *c, kiln_node values, kiln_node mask,
                        kiln__parsed *out)
{
    memset(out, 0, sizeof *out);
    kiln__choose(values, mask, c->at, out);
}

/* ---- arrays side by side --------------------------------------------------------------------- */

enum { ALL = INT64_MIN + 1 };

/* A list of values, and how they are joined. */
typedef struct joining {
    kiln__parsed *items;
    size_t count;
    int64_t axis; /* ALL: the elements of each in C-order */
    masked parts[KILN__TUPLE_MAX];
} joining;

static kiln_status refuse(const kiln__parser *p, const kiln__parsed_call *c, const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_UNSUPPORTED, "%.*s: %s", (int)c->bytes,
                            c->name, what);
}

static kiln_node rearranged(const kiln__parsed_call *c, kiln_rearrangement what, const joining *j,
                            bool masks, const int64_t *axis)
{
    kiln_node nodes[KILN__TUPLE_MAX];

    for (size_t k = 0; k < j->count; k++)
        nodes[k] = masks ? j->parts[k].mask : j->parts[k].values;
    return kiln_node_rearrange(what, nodes, j->count, axis, axis != NULL, KILN__PLACE(c->at));
}

/* Whether one mask, or one call, decides the length of all values. */
static bool same_length(const joining *j)
{
    for (size_t k = 0; k < j->count; k++)
        if (!kiln__is_counted(&j->items[k]) || j->items[k].kind != j->items[0].kind ||
            j->items[k].chooser.id != j->items[0].chooser.id)
            return false;
    return true;
}

/* Join the values end to end, and their masks too. */
static void join_ends(const kiln__parsed_call *c, const joining *j, kiln__parsed *out)
{
    const int64_t first = 0;
    const kiln_node values = rearranged(c, KILN_REARRANGE_CONCATENATE, j, false, &first);

    give_chosen(c, values, rearranged(c, KILN_REARRANGE_CONCATENATE, j, true, &first), out);
}

/* Join values of one length along another axis than the first. The mask stays the same. */
static kiln_status join_sides(const kiln__parser *p, const kiln__parsed_call *c,
                              kiln_rearrangement what, const joining *j, const int64_t *axis,
                              kiln__parsed *out)
{
    if (!same_length(j))
        return refuse(p, c,
                      "whether these have one length is known to the device alone: only what one "
                      "mask chooses may stand side by side");
    give_chosen(c, rearranged(c, what, j, false, axis), j->parts[0].mask, out);
    return KILN_OK;
}

/* Stack values of one length as rows. Each is compacted first, and the result is COUNTED along
 * axis 1. */
static kiln_status join_rows(const kiln__parser *p, const kiln__parsed_call *c, joining *j,
                             kiln__parsed *out)
{
    const int64_t first = 0;
    kiln_node both[2] = {{0}};

    if (!same_length(j))
        return join_sides(p, c, KILN_REARRANGE_STACK, j, &first, out);
    for (size_t k = 0; k < j->count; k++) {
        kiln__parsed v = {.at = c->at, .width = 1};
        give_chosen(c, j->parts[k].values, j->parts[k].mask, &v);
        kiln__counted_result(&v, both);
        j->parts[k].values = both[0];
    }
    memset(out, 0, sizeof *out);
    kiln__set_node(out, rearranged(c, KILN_REARRANGE_STACK, j, false, &first));
    out->kind = KILN__PARSED_COUNTED;
    out->chooser = both[1];
    out->axis = 1;
    out->parts = true;
    return KILN_OK;
}

/* Read the values of a call, and its axis if it takes one, which is argument number `at`. */
static kiln_status read_joining(kiln__parser *p, kiln__parsed_call *c, size_t at, joining *j)
{
    const bool along = !kiln__same_word(c->name, c->bytes, "hstack") &&
                       !kiln__same_word(c->name, c->bytes, "column_stack");
    const kiln__parsed none = {.width = 0}, *axis = &none;

    if (c->count > at + along)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "%.*s does not take %zu arguments", (int)c->bytes, c->name, c->count);
    if (along)
        KILN_CHECK(kiln__call_axis(p, c, at, &axis));
    if (axis->width != 0 && axis->kind == KILN__PARSED_NONE)
        j->axis = ALL;
    else if (axis->width != 0)
        KILN_CHECK(kiln__need_literal(p, axis, &j->axis));
    for (size_t k = 0; k < j->count; k++) {
        kiln__parsed *v = &j->items[k];
        if (!kiln__is_counted(v))
            KILN_CHECK(kiln__need_node(p, v));
        if (v->kind == KILN__PARSED_COUNTED && v->axis != 0)
            return refuse(p, c, "elements must be counted along the first axis here");
        j->parts[k] = j->axis == ALL ? all_as_masked(p, v) : as_masked(p, v);
    }
    return KILN_OK;
}

static kiln_status join(kiln__parser *p, kiln__parsed_call *c, joining *j, kiln__parsed *out)
{
    const bool stacks = kiln__same_word(c->name, c->bytes, "stack");

    if (kiln__same_word(c->name, c->bytes, "column_stack"))
        return join_sides(p, c, KILN_REARRANGE_COLUMN_STACK, j, NULL, out);
    if (stacks && j->axis == 0)
        return join_rows(p, c, j, out);
    if (stacks && (j->axis > 0 || j->axis == -1))
        return join_sides(p, c, KILN_REARRANGE_STACK, j, &j->axis, out);
    if (j->axis < 0 && j->axis != ALL)
        return refuse(p, c,
                      "an axis that is counted from the first one must stand beside elements whose "
                      "number only the device knows");
    if (j->axis > 0)
        return join_sides(p, c, KILN_REARRANGE_CONCATENATE, j, &j->axis, out);
    for (size_t k = 0; kiln__same_word(c->name, c->bytes, "hstack") && k < j->count; k++)
        j->parts[k].mask = kiln__node_mask_of(j->parts[k].mask, j->parts[k].values, true,
                                              KILN__PLACE(c->at)); /* vectors */
    join_ends(c, j, out);
    return KILN_OK;
}

/* Refuse a list with such values in a call of another function. */
static kiln_status refuse_list(const kiln__parser *p, const kiln__parsed_call *c)
{
    for (size_t k = 0; k < c->count; k++) {
        const kiln__parsed *v = &c->arg[k];
        if (v->kind == KILN__PARSED_SEVERAL && p->text[v->at] == '[')
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_UNSUPPORTED,
                                    "%.*s takes no list with elements whose number only the device "
                                    "knows: write concatenate() for one behind the other, stack() "
                                    "or column_stack() for rows or columns",
                                    (int)c->bytes, c->name);
    }
    return KILN_OK;
}

/* append(x, 3): the number has a dtype of its own, as one in a list, for NumPy makes an array of it. */
static kiln_status list_appended(kiln__parser *p, kiln__parsed *v)
{
    if (v->kind != KILN__PARSED_NODE || !kiln__is_of_numbers(p, &v->node))
        return KILN_OK;
    v->items = kiln__tuple_new(p, 1);
    if (v->items == NULL)
        return kiln__fail_memory(p->err, sizeof *v->items);
    v->items[0] = v->node;
    v->count = 1;
    return kiln__number_list(p, v, 0);
}

kiln_status kiln__join_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known)
{
    static const char *const names[] = {"concatenate", "concat", "stack", "hstack", "column_stack"};
    const bool appends = kiln__same_word(c->name, c->bytes, "append");
    joining *j = NULL;

    if (appends && c->count >= 2)
        KILN_CHECK(list_appended(p, &c->arg[1]));
    *known =
        appends && c->count >= 2 && (kiln__is_counted(&c->arg[0]) || kiln__is_counted(&c->arg[1]));
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        *known = *known || (kiln__same_word(c->name, c->bytes, names[k]) && c->count > 0 &&
                            c->arg[0].kind == KILN__PARSED_SEVERAL);
    if (!*known)
        return refuse_list(p, c);
    if ((j = kiln__parser_keep(p, sizeof *j)) == NULL)
        return kiln__fail_memory(p->err, sizeof *j);
    j->items = appends ? c->arg : c->arg[0].values;
    j->count = appends ? 2 : c->arg[0].count;
    j->axis = appends ? ALL : 0;
    KILN_CHECK(read_joining(p, c, appends ? 2 : 1, j));
    return join(p, c, j, out);
}

/* ---- subscripts ------------------------------------------------------------------------------ */

static kiln_status fail_subscript(const kiln__parser *p, const kiln__parsed *v, const char *what)
{
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_UNSUPPORTED,
                            "of elements whose number only the device knows %s", what);
}

/* x[m][x[m] > 0]: the elements that both masks choose. */
static kiln_status choose_again(kiln__parser *p, const kiln__parsed *v, const kiln__parsed *mask,
                                kiln__parsed *out)
{
    kiln__parsed again = *mask;

    kiln__set_node(&again, mask->node);
    if (mask->kind != v->kind || mask->chooser.id != v->chooser.id || !kiln__is_mask(p, &again))
        return fail_subscript(p, v, "only a condition on those same elements chooses some again");
    const bool chosen = v->kind == KILN__PARSED_CHOSEN;
    const kiln_node before =
        chosen ? kiln__node_mask_of(v->chooser, mask->node, false, KILN__PLACE(v->at))
               : as_masked(p, v).mask;
    if (v->kind == KILN__PARSED_COUNTED && v->axis != 0)
        return fail_subscript(p, v, "those along the first axis alone are chosen again");
    const kiln_node both =
        kiln_node_op2(KILN_OP_BITWISE_AND, before, mask->node, KILN__PLACE(v->at));
    const kiln_node values = v->node;
    kiln__choose(values, both, v->at, out);
    return KILN_OK;
}

/* A bound of a slice, as an argument of a call. */
static void bound(const kiln__parser *p, kiln__parsed *out, int64_t number)
{
    out->width = 1;
    kiln__set_node(out, kiln__number_node(p->graph, number));
    if (number == KILN_SLICE_OPEN)
        out->kind = KILN__PARSED_NONE;
}

/* Call the function of written_rows.c for a subscript: _of_slice(values, count, start, stop, step) or
 * _of_element(values, count, i). */
static kiln_status call_subscript(kiln__parser *p, const kiln__parsed *v, const kiln__subscript *s,
                                  kiln__parsed *out)
{
    kiln__parsed_call *const c = kiln__parser_keep(p, sizeof *c);
    const bool slice = s->kind == KILN_SUBSCRIPT_SLICE;
    kiln__parsed given = *v;
    kiln_node both[2];

    if (slice && s->number[2] == 0)
        return fail_subscript(p, v, "every 0th is none: the step is 0");
    if (slice && kiln__referred(s->number[2]) != 0)
        return fail_subscript(p, v, "the step must be clear from the text");
    if (c == NULL)
        return kiln__fail_memory(p->err, sizeof *c);
    *c = (kiln__parsed_call){.name = slice ? "slice" : "element", .at = v->at, .count = 2};
    c->bytes = strlen(c->name);
    c->arg[0] = c->arg[1] = *v;
    if (slice) {
        bound(p, &c->arg[1], s->number[0]);
        bound(p, &c->arg[2], s->number[1]);
        bound(p, &c->arg[3], s->number[2]);
        c->count = 4;
    } else if (s->kind == KILN_SUBSCRIPT_ARRAY) {
        kiln__set_node(&c->arg[1], s->node);
    } else {
        bound(p, &c->arg[1], s->number[0]);
    }
    kiln__counted_result(v, both);
    given.node = both[0];
    given.chooser = both[1];
    KILN_CHECK(kiln__call_counted(p, c, 0, &given, KILN__ROW_OF_COUNTED, out));
    kiln__recount(out, 0, v->parts);
    return KILN_OK;
}

static bool is_whole(const kiln__subscript *s)
{
    return s->kind == KILN_SUBSCRIPT_SLICE && s->number[0] == KILN_SLICE_OPEN &&
           s->number[1] == KILN_SLICE_OPEN && s->number[2] == 1;
}

static kiln_node moved(kiln_node x, int from, int to, size_t at)
{
    const int64_t axes[] = {from, to};

    return from == to ? x : kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &x, 1, axes, 2, KILN__PLACE(at));
}

/* Subscripts of parts that are counted along another axis than the first: those of other axes change all parts,
 * and the axis of the parts comes first for its own. */
static kiln_status subscript_behind(kiln__parser *p, const kiln__parsed *v,
                                    const kiln__subscript *list, size_t count, kiln__parsed *out)
{
    kiln__subscript rest[KILN__SUBSCRIPTS_MAX] = {{.mask = NULL}};
    size_t own = count;
    int axis = 0, before = 0;

    kiln__parsed found = *v;

    for (size_t k = 0; k < count; k++) {
        const kiln_subscript_kind kind = list[k].kind;
        if (kind == KILN_SUBSCRIPT_ARRAY || kind == KILN_SUBSCRIPT_ELLIPSIS)
            return fail_subscript(p, v, "along another axis than the first numbers, slices and None are subscripts");
        rest[k] = list[k];
        if (kind == KILN_SUBSCRIPT_NEW_AXIS) {
            before += own == count;
            continue;
        }
        if (v->axis < 0)
            found.node = kiln__node_apart(found.node, axis, v->axis, KILN__PLACE(v->at));
        own = axis == v->axis ? k : own;
        before += axis < v->axis && kind == KILN_SUBSCRIPT_SLICE;
        axis++;
    }
    before += axis < v->axis ? v->axis - axis : 0; /* those that have no subscript */
    if (own < count)
        rest[own] = (kiln__subscript){.kind = KILN_SUBSCRIPT_SLICE,
                                      .number = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1},
                                      .line = list[own].line};
    found.node = kiln__index_nodes(found.node, rest, count, KILN_INDEX_CHECK, KILN__PLACE(v->at));
    found.axis = v->axis < 0 ? v->axis : before;
    if (own == count || is_whole(&list[own])) {
        *out = found;
        return KILN_OK;
    }
    found.node = moved(found.node, before, 0, v->at);
    found.axis = 0;
    KILN_CHECK(call_subscript(p, &found, &list[own], out));
    if (out->kind == KILN__PARSED_COUNTED) {
        out->node = moved(out->node, 0, before, v->at);
        out->axis = before;
    }
    return KILN_OK;
}

kiln_status kiln__subscript_counted(kiln__parser *p, const kiln__parsed *v,
                                    const kiln__subscript *list, size_t count,
                                    const kiln__parsed *mask, kiln__parsed *out)
{
    size_t arrays = 0;

    if (mask != NULL)
        return count == 1 ? choose_again(p, v, mask, out)
                          : fail_subscript(p, v, "a mask stands alone between brackets: with a second one "
                                                 "two axes would have lengths that only the device knows");
    if (v->kind == KILN__PARSED_COUNTED && v->axis != 0)
        return subscript_behind(p, v, list, count, out);
    kiln__parsed found = *v;
    const masked c = as_masked(p, v);
    for (size_t k = 1; k < count; k++)
        arrays += list[k].kind == KILN_SUBSCRIPT_ARRAY;
    if (list[0].kind == KILN_SUBSCRIPT_NEW_AXIS || list[0].kind == KILN_SUBSCRIPT_ELLIPSIS)
        return fail_subscript(p, v, "the first subscript is a number, a slice or an array");
    if (arrays > 1 || (arrays > 0 && !is_whole(&list[0])))
        return fail_subscript(p, v, "one array of indices may stand between brackets");
    if (count > 1) { /* the others come first: they leave the first axis as it is */
        kiln__subscript rest[KILN__SUBSCRIPTS_MAX];
        memcpy(rest, list, count * sizeof *list);
        rest[0] = (kiln__subscript){.kind = KILN_SUBSCRIPT_SLICE,
                                    .number = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1},
                                    .line = list[0].line};
        kiln__choose(kiln__index_nodes(c.values, rest, count, KILN_INDEX_CHECK, KILN__PLACE(v->at)),
                     c.mask, v->at, &found);
    }
    if (is_whole(&list[0])) {
        *out = found;
        return KILN_OK;
    }
    return call_subscript(p, &found, &list[0], out);
}
