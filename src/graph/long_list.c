/*
 * long_list.c - lists of more numbers than a tuple has values: [0, 1, 2, ...] as an array.
 *
 *     parse.c, at an item too many > [long_list: the other numbers] > a node (values.c)
 *
 * Test: test_expression.
 */
#include <stdlib.h>

#include "graph/graph.h"
#include "graph/parse.h"

enum { NUMBERS_MAX = 1 << 16 };

typedef struct numbers {
    kiln_node *all; /* plain ones */
    size_t count, room;
} numbers;

static kiln_status add(kiln__parser *p, const kiln__parsed *v, numbers *n)
{
    if (v->kind != KILN__PARSED_NODE || !kiln__is_plain(&v->node) || v->node.kind == KILN_NODE_COMPLEX ||
        v->node.kind == KILN_NODE_UINT)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "a list of more than %d items holds real numbers alone",
                                KILN__TUPLE_MAX);
    if (n->count == NUMBERS_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "this list has more than %d numbers", NUMBERS_MAX);
    if (n->count == n->room) {
        kiln_node *const more = kiln__tuple_new(p, 2 * n->room);
        if (more == NULL)
            return kiln__fail_memory(p->err, 2 * n->room * sizeof *more);
        memcpy(more, n->all, n->count * sizeof *more);
        n->all = more;
        n->room *= 2;
    }
    n->all[n->count++] = v->node;
    return KILN_OK;
}

/* The dtype that NumPy gives a list of these. */
static kiln_dtype dtype_of(const numbers *n)
{
    bool real = false, whole = false;

    for (size_t k = 0; k < n->count; k++) {
        real = real || n->all[k].kind == KILN_NODE_FLOAT;
        whole = whole || n->all[k].kind == KILN_NODE_INT;
    }
    return real ? KILN_FLOAT64 : whole ? KILN_INT64 : KILN_BOOL;
}

static kiln_status make(kiln__parser *p, const numbers *n, size_t at, kiln__parsed *out)
{
    const kiln_dtype dtype = dtype_of(n);
    int64_t *const data =
        kiln__parser_keep(p, (KILN__VALUES_HEAD + 2 * n->count) * sizeof *data);

    if (data == NULL)
        return kiln__fail_memory(p->err, (KILN__VALUES_HEAD + 2 * n->count) * sizeof *data);
    data[KILN__VALUES_DTYPE] = dtype;
    data[KILN__VALUES_COUNT] = (int64_t)n->count;
    for (size_t k = 0; k < n->count; k++) {
        const kiln_node *one = &n->all[k];
        int64_t bits = one->kind == KILN_NODE_BOOL ? one->value.b : one->value.i;
        const double number = one->kind == KILN_NODE_FLOAT ? one->value.f : (double)bits;
        if (dtype == KILN_FLOAT64)
            memcpy(&bits, &number, sizeof bits);
        kiln__values_put(data, (int64_t)k, bits);
    }
    kiln__set_node(out, kiln__values_node(p->graph, data, KILN__PLACE(at)));
    return KILN_OK;
}

kiln_status kiln__parse_long_list(kiln__parser *p, const kiln_node *nodes, size_t count,
                                  const kiln__parsed *next, size_t at,
                                  kiln_status (*item)(kiln__parser *p, kiln__parsed *out),
                                  kiln__parsed *out)
{
    kiln__parsed v = *next;
    numbers n = {.room = 4 * KILN__TUPLE_MAX};

    n.all = kiln__tuple_new(p, n.room);
    if (n.all == NULL)
        return kiln__fail_memory(p->err, n.room * sizeof *n.all);
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = v;
        kiln__set_node(&one, nodes[k]);
        KILN_CHECK(add(p, &one, &n));
    }
    for (;;) {
        KILN_CHECK(add(p, &v, &n));
        if (!kiln__is_mark(p, "]"))
            KILN_CHECK(kiln__expect_comma(p, "]"));
        if (kiln__is_mark(p, "]"))
            break;
        KILN_CHECK(item(p, &v));
    }
    memset(out, 0, sizeof *out);
    KILN_CHECK(make(p, &n, at, out));
    out->at = at;
    out->width = p->token.at - at;
    return kiln__next_token(p);
}
