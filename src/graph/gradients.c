/*
 * gradients.c - gradient(): along one axis or several, at even distances or at places.
 *
 *     calls.c > [gradients: axes, distances, edge_order] > rows of written_rows.c, along the last axis
 *
 * How many results there are must be clear from the text: it tells the axes, one distance for each, or as many
 * names as there are axes, `gy, gx = gradient(x)`. A
 * distance that is no plain number may be a number or the places of elements; its rank decides when a call
 * is planned.
 *
 * Tests: test_rearrange, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

/* What was read of a call. */
typedef struct request {
    kiln_node f;
    int64_t axes[KILN_RANK_MAX];
    size_t axis_count, distance_count;
    kiln_node distances[KILN_RANK_MAX];
    int64_t edge_order;
    size_t at;
} request;

static kiln_status read_axes(const kiln__parser *p, kiln__parsed_call *c, request *r)
{
    const kiln__parsed *v = &c->axis;
    const bool several = v->kind == KILN__PARSED_TUPLE;

    c->takes |= KILN__TAKES_AXIS;
    if (v->width == 0 || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    r->axis_count = several ? v->count : 1;
    if (r->axis_count == 0 || r->axis_count > KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "1 to %d axes stand here",
                                KILN_RANK_MAX);
    for (size_t k = 0; k < r->axis_count; k++) {
        kiln__parsed one = *v;
        if (several)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_literal(p, &one, &r->axes[k]));
        if (r->axes[k] < -KILN_RANK_MAX || r->axes[k] >= KILN_RANK_MAX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
        for (size_t j = 0; j < k; j++)
            if (r->axes[j] == r->axes[k])
                return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "axis %lld is given twice",
                                        (long long)r->axes[k]);
    }
    return KILN_OK;
}

static kiln_status read_edge_order(const kiln__parser *p, const kiln__parsed_call *c, request *r)
{
    r->edge_order = 1;
    for (size_t k = 0; k < c->named_count; k++) {
        const kiln__parsed *v = &c->named[k].value;
        KILN_CHECK(kiln__need_literal(p, v, &r->edge_order));
        if (r->edge_order != 1 && r->edge_order != 2)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "edge_order is 1 or 2, not %lld", (long long)r->edge_order);
    }
    return KILN_OK;
}

/* The array, and distances: none, one for all axes, or one for each, which then tell how many axes there are. */
static kiln_status read_operands(kiln__parser *p, kiln__parsed_call *c, request *r)
{
    KILN_CHECK(kiln__need_array(p, c));
    r->f = c->arg[0].node;
    r->distance_count = c->count - 1;
    if (r->distance_count > KILN_RANK_MAX ||
        (r->distance_count > 1 && r->axis_count > 0 && r->distance_count != r->axis_count))
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "gradient: %zu distances for %zu axes", r->distance_count,
                                r->axis_count);
    for (size_t k = 0; k < r->distance_count; k++) {
        KILN_CHECK(kiln__need_node(p, &c->arg[k + 1]));
        r->distances[k] = c->arg[k + 1].node;
    }
    if (r->axis_count > 0)
        return KILN_OK;
    const bool last = p->token.kind == KILN__TOKEN_END || kiln__is_mark(p, ";");
    const size_t wanted = last && p->wanted > 1 && p->wanted <= KILN_RANK_MAX ? p->wanted : 1;
    const int rank = (int)(r->distance_count > 1 ? r->distance_count : wanted);
    r->f = kiln__node_ranked(r->f, rank, rank, KILN__HINT_AXIS, KILN__PLACE(c->at));
    r->axis_count = (size_t)rank;
    for (int k = 0; k < rank; k++)
        r->axes[k] = k;
    return KILN_OK;
}

static kiln_status along(kiln__parser *p, const kiln__parsed_call *c, const request *r, size_t nth,
                         kiln_node *out)
{
    const int64_t there[] = {r->axes[nth], -1}, back[] = {-1, r->axes[nth]};
    const kiln_node h = r->distance_count == 0 ? kiln_node_of_int(1)
                                               : r->distances[r->distance_count > 1 ? nth : 0];
    const bool even = kiln__is_of_numbers(p, &h);
    const char *const row = r->edge_order == 1 ? (even ? "_slopes" : "_slopes_at")
                                               : (even ? "_slopes_2" : "_slopes_2_at");
    const kiln_node f = kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &r->f, 1, there, 2,
                                            KILN__PLACE(c->at));
    kiln_node y = {0};

    KILN_CHECK(kiln__written_call(p, c, row, (kiln_node[]){f, h}, 2, &y));
    *out = kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &y, 1, back, 2, KILN__PLACE(c->at));
    return KILN_OK;
}

bool kiln__gradients_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    return kiln__same_word(c->name, c->bytes, "gradient") &&
           kiln__same_word(name, bytes, "edge_order");
}

kiln_status kiln__apply_gradients(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                  bool *known)
{
    request r = {.at = c->at};

    *known = kiln__same_word(c->name, c->bytes, "gradient");
    if (!*known)
        return KILN_OK;
    KILN_CHECK(read_axes(p, c, &r));
    KILN_CHECK(read_edge_order(p, c, &r));
    KILN_CHECK(read_operands(p, c, &r));
    kiln_node *const items = kiln__tuple_new(p, r.axis_count);
    if (items == NULL)
        return kiln__fail_memory(p->err, r.axis_count * sizeof *items);
    for (size_t k = 0; k < r.axis_count; k++)
        KILN_CHECK(along(p, c, &r, k, &items[k]));
    if (r.axis_count == 1) {
        kiln__set_node(out, items[0]);
        return KILN_OK;
    }
    out->kind = KILN__PARSED_TUPLE;
    out->items = items;
    out->count = r.axis_count;
    return KILN_OK;
}
