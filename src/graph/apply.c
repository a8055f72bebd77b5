/*
 * apply.c - operations on the values of an expression: computed at once, or recorded as nodes.
 *
 * Operations on whole numbers are computed at once (fold.c), because a shape or an axis must be
 * known while the text is parsed. All others become nodes of the graph (record.c). parse.c, calls.c
 * and the files of functions call this file through parse.h.
 *
 * Tests: test_expression, test_ops_numbers.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "ops/ops.h"

typedef struct kiln__kept {
    struct kiln__kept *next;
    kiln_node items[];
} kiln__kept;

void kiln__set_node(kiln__parsed *v, kiln_node node)
{
    v->kind = KILN__PARSED_NODE;
    v->node = node;
}

bool kiln__is_of_numbers(const kiln__parser *p, const kiln_node *node)
{
    return kiln__is_plain(node) || (node->kind == KILN_NODE_GRAPH && node->graph == p->graph &&
                                    p->graph->ir.nodes[node->id].constant);
}

void *kiln__parser_keep(kiln__parser *p, size_t bytes)
{
    kiln__kept *t = kiln__calloc(1, sizeof *t + bytes + 1);
    if (t == NULL)
        return NULL;
    t->next = p->kept;
    p->kept = t;
    return t->items;
}

const char *kiln__parser_name(kiln__parser *p, const char *name, size_t bytes)
{
    char *const copy = kiln__parser_keep(p, bytes + 1);
    if (copy != NULL)
        memcpy(copy, name, bytes);
    return copy;
}

kiln_node *kiln__tuple_new(kiln__parser *p, size_t count)
{
    return kiln__parser_keep(p, count * sizeof(kiln_node));
}

void kiln__parser_drop(kiln__parser *p)
{
    while (p->kept != NULL) {
        kiln__kept *next = p->kept->next;
        kiln__free(p->kept);
        p->kept = next;
    }
}

kiln_status kiln__define_name(kiln__parser *p, const char *name, size_t bytes,
                              const kiln__parsed *value)
{
    if (p->name_count == KILN__NAMES_MAX)
        return kiln__fail(p->err, KILN_ERR_ARGUMENT, "an expression has at most %d names",
                          KILN__NAMES_MAX);
    kiln__named *n = &p->names[p->name_count++];
    memset(n, 0, sizeof *n);
    n->name = name;
    n->bytes = bytes;
    n->value = *value;
    return KILN_OK;
}

kiln_status kiln__call_axis(const kiln__parser *p, kiln__parsed_call *c, size_t at,
                            const kiln__parsed **out)
{
    c->takes |= KILN__TAKES_AXIS;
    *out = c->count > at ? &c->arg[at] : &c->axis;
    return c->count > at && c->axis.width != 0
               ? kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                  "%.*s is given its axis twice", (int)c->bytes, c->name)
               : KILN_OK;
}

kiln_status kiln__need_axes(const kiln__parser *p, const kiln__parsed_call *c,
                            const kiln__parsed *axes)
{
    const bool extreme = kiln__same_word(c->name, c->bytes, "max") ||
                         kiln__same_word(c->name, c->bytes, "min");

    if (c->count < 2 || axes->kind != KILN__PARSED_NODE || axes->node.kind == KILN_NODE_INT)
        return KILN_OK;
    return kiln__parse_fail(p, axes->at, axes->width, KILN_ERR_ARGUMENT,
                            "the second argument of %.*s is its axis%s%.3s%s", (int)c->bytes,
                            c->name, extreme ? "; `" : "", extreme ? c->name : "",
                            extreme ? "imum` compares two arrays element by element" : "");
}

/* ---- whole numbers, of which some are computed from extents (extents.c) ---------------------------- */

bool kiln__is_extent(const kiln__parser *p, const kiln__parsed *v)
{
    return v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_GRAPH &&
           v->node.graph == p->graph && p->graph->ir.nodes[v->node.id].whole;
}

static kiln_status fail_whole(const kiln__parser *p, const kiln__parsed *v)
{
    if (v->kind == KILN__PARSED_SHAPE)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "a whole number is needed here, and this is a shape: write x.shape[0] "
                                "for an extent");
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "a whole number is needed here");
}

kiln_status kiln__need_integer(const kiln__parser *p, const kiln__parsed *v, int64_t *out)
{
    if (kiln__is_extent(p, v)) {
        *out = kiln__reference(v->node.id);
        return KILN_OK;
    }
    if (v->kind != KILN__PARSED_NODE || v->node.kind != KILN_NODE_INT)
        return fail_whole(p, v);
    *out = v->node.value.i;
    return KILN_OK;
}

kiln_status kiln__need_literal(const kiln__parser *p, const kiln__parsed *v, int64_t *out)
{
    if (kiln__is_extent(p, v))
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "this number must be clear from the text, and the extents of arrays "
                                "are not");
    return kiln__need_integer(p, v, out);
}

/* ---- operations -------------------------------------------------------------------------------------- */

static kiln_node record(kiln_op op, int arity, const kiln_node *n, size_t at)
{
    if (arity == 1)
        return kiln_node_op1(op, n[0], KILN__PLACE(at));
    if (arity == 2)
        return kiln_node_op2(op, n[0], n[1], KILN__PLACE(at));
    return kiln_node_op3(op, n[0], n[1], n[2], KILN__PLACE(at));
}

kiln_status kiln__apply(kiln__parser *p, kiln_op op, kiln__parsed *operands, size_t at,
                        size_t width, kiln__parsed *out)
{
    const kiln__op *found = kiln__op_find(op);
    kiln_node nodes[KILN__OP_ARITY_MAX] = {{0}};
    kiln_node result = {0};
    kiln__parsed joined = {.kind = KILN__PARSED_NODE};
    bool plain = true;

    KILN_CHECK(p->join(p, operands, (size_t)found->arity, &joined));
    for (int k = 0; k < found->arity; k++) {
        nodes[k] = operands[k].node;
        plain = plain && kiln__is_plain(&nodes[k]);
    }
    const kiln__folded folded =
        plain ? kiln__fold(op, found->arity, nodes, &result) : KILN__FOLD_NOT;
    if (folded == KILN__FOLD_BEYOND)
        return kiln__parse_fail(p, at, width, KILN_ERR_RANGE,
                                "the result of %s does not fit an integer of 64 bits", found->name);
    if (folded == KILN__FOLD_NOT) {
        nodes[0] = kiln__graph_number(p->graph, nodes[0]);
        result = record(op, found->arity, nodes, at);
    }
    *out = joined;
    out->node = result;
    return KILN_OK;
}

kiln_status kiln__apply_matmul(kiln__parser *p, kiln__parsed *operands, size_t at,
                               kiln__parsed *out)
{
    if (kiln__is_counted(&operands[0]))
        return p->multiply(p, &operands[0], &operands[1], at, out);
    for (int k = 0; k < 2; k++)
        KILN_CHECK(kiln__need_node(p, &operands[k]));
    const kiln_node a = kiln__graph_number(p->graph, operands[0].node);
    kiln__set_node(out, kiln_node_matmul(a, operands[1].node, KILN__PLACE(at)));
    return KILN_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------ */

bool kiln__is_number_list(const kiln__parser *p, const kiln__parsed *v)
{
    bool plain = kiln__is_list(v) && v->count > 0;

    for (size_t k = 0; plain && k < v->count; k++)
        plain = kiln__is_of_numbers(p, &v->items[k]);
    return plain;
}

/* The numbers are chosen by their positions, so that the list takes no memory on the device. */
kiln_status kiln__number_list(kiln__parser *p, kiln__parsed *v, size_t count)
{
    const size_t all = count > 0 ? count : v->count;
    const kiln_node at = kiln_node_arange(p->graph, (int64_t)all, KILN__PLACE(v->at));
    kiln_node node = {0};

    if (v->count == 0 && count > 0)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "there is no value here");
    if (v->count == 0) {
        kiln__set_node(v, kiln_node_cast(at, KILN_FLOAT64, KILN__PLACE(v->at)));
        return KILN_OK;
    }
    for (size_t k = all; k-- > 0;) {
        const kiln_node item = v->items[k % v->count];
        if (!kiln__is_of_numbers(p, &item))
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a list that stands for an array holds plain numbers; stack([a, b]) "
                                    "makes an array of arrays");
        const kiln_node here =
            kiln_node_op2(KILN_OP_EQUAL, at, kiln_node_of_int((int64_t)k), KILN__PLACE(v->at));
        node = kiln_node_op3(KILN_OP_WHERE, here, item, k + 1 == all ? item : node,
                             KILN__PLACE(v->at));
    }
    kiln__set_node(v, node);
    return KILN_OK;
}

kiln_status kiln__index_list(kiln__parser *p, kiln__parsed *v)
{
    const kiln_node_kind kind = v->count > 0 && v->items[0].kind == KILN_NODE_BOOL ? KILN_NODE_BOOL
                                                                                   : KILN_NODE_INT;

    for (size_t k = 0; k < v->count; k++)
        if (v->items[k].kind != kind)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a list between brackets holds whole numbers: indices");
    if (v->count > 0)
        return kiln__number_list(p, v, 0);
    kiln__set_node(v, kiln_node_arange(p->graph, 0, KILN__PLACE(v->at)));
    return KILN_OK;
}

kiln_status kiln__number_lists(kiln__parser *p, kiln__parsed *v)
{
    kiln_node *const items = v->items;

    if (v->kind != KILN__PARSED_ROWS || !v->list)
        return KILN_OK;
    for (size_t k = 0, begin = 0; k < v->count; begin += (size_t)v->rows[k++]) {
        kiln__parsed one = *v;
        one.items = items + begin;
        one.count = (size_t)v->rows[k];
        if (one.count == 0)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a list among these has no value");
        KILN_CHECK(kiln__number_list(p, &one, 0));
        items[k] = one.node; /* `begin` is at least k: no list is empty */
    }
    v->kind = KILN__PARSED_TUPLE;
    return KILN_OK;
}

/* A list of lists of equal lengths as an array of two axes. */
static kiln_status number_rows(kiln__parser *p, kiln__parsed *v)
{
    const int64_t shape[] = {(int64_t)v->count, v->rows[0]};
    kiln__parsed flat = *v;

    for (size_t k = 1; k < v->count; k++)
        if (v->rows[k] != v->rows[0])
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_SHAPE,
                                    "list %zu of these has %lld numbers, and the first one %lld",
                                    k + 1, (long long)v->rows[k], (long long)v->rows[0]);
    flat.count = v->count * (size_t)v->rows[0];
    KILN_CHECK(kiln__number_list(p, &flat, 0));
    kiln__set_node(v, kiln_node_reshape(flat.node, 2, shape, KILN__PLACE(v->at)));
    return KILN_OK;
}

kiln_status kiln__need_node(kiln__parser *p, kiln__parsed *v)
{
    static const char *const what[] = {
        [KILN__PARSED_TUPLE] = "a tuple",
        [KILN__PARSED_ROWS] = "a tuple of tuples",
        [KILN__PARSED_NONE] = "None",
        [KILN__PARSED_DTYPE] = "a dtype",
        [KILN__PARSED_SHAPE] = "a shape",
        [KILN__PARSED_AT] = "x.at[...] without .set(...) or the like",
        [KILN__PARSED_TEXT] = "a text",
        [KILN__PARSED_CHOSEN] = "what a mask chooses",
        [KILN__PARSED_COUNTED] = "an array whose length only the device knows",
        [KILN__PARSED_PLACES] = "a tuple of places",
        [KILN__PARSED_SEVERAL] = "more than one value"};
    if (v->kind == KILN__PARSED_NODE)
        return KILN_OK;
    if (v->kind == KILN__PARSED_ROWS && v->list)
        return number_rows(p, v);
    if (kiln__is_list(v))
        return kiln__number_list(p, v, 0);
    if (v->kind == KILN__PARSED_TUPLE && p->name_base == 0 && p->text[v->at] != '(')
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "one array or number is needed here, and these are several: give them "
                                "names, as in `q, r = qr(x); q`");
    if (kiln__is_counted(v))
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "an array or a number is needed here, and this is %s: compute on "
                                "the whole array and choose from the result, as in f(x)[mask], or "
                                "write where(mask, x, value) with a value that does not count",
                                what[v->kind]);
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                            "an array or a number is needed here, and this is %s", what[v->kind]);
}
