/*
 * choosing.c - masks in expressions: x[mask], compress(), nonzero() and similar functions.
 *
 *     x[mask] > a chosen value: x and the mask, no elements moved > operations on both
 *             > sum(x[mask]): a sum of where(mask, x, 0)
 *             > a result: two outputs, room for all elements and their number
 *
 * A *chosen value* is an array with a mask. Operations on it are computed for all elements in their
 * places, by ordinary kernels. Only a result is compacted.
 * Rule: what needs the shape of the compacted array (axes, further subscripts) is refused here.
 *
 * Calls come from calls.c, parse.c and the files of similar values (counted.c, lengths.c,
 * maskings.c). Tests: test_choosing, test_select.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "ops/ops.h"

/* ---- what is a mask -------------------------------------------------------------------------- */

/* Whether an opaque operation, as isin(), returns bool for vectors of floats. */
static bool gives_mask(const kiln__ir *ir, const kiln__node *n)
{
    const kiln__opaque *o = n->kernel;
    kiln__opaque_value values[KILN__OPAQUE_OPERANDS], results[KILN__OPAQUE_RESULTS];

    for (int k = 0; k < KILN__OPAQUE_OPERANDS; k++)
        values[k] = (kiln__opaque_value){KILN_FLOAT32, 1, {1}};
    return o->infer(o, values, n->operand_count, ir->data + n->data, results, NULL) == KILN_OK &&
           results[n->result].dtype == KILN_BOOL;
}

static bool is_mask(const kiln__ir *ir, uint32_t id)
{
    const kiln__node *n = &ir->nodes[id];
    kiln__op_type types[KILN__OP_ARITY_MAX];
    kiln__op_loop loop;

    switch (n->kind) {
    case KILN__NODE_INPUT:
    case KILN__NODE_CAST:
        return n->dtype == KILN_BOOL;
    case KILN__NODE_VIEW:
    case KILN__NODE_REARRANGED:
        return is_mask(ir, ir->edges[n->operands]);
    case KILN__NODE_REDUCE:
        return n->op == KILN_REDUCE_ANY || n->op == KILN_REDUCE_ALL;
    case KILN__NODE_OPAQUE:
        return gives_mask(ir, n);
    case KILN__NODE_OP:
        break;
    default:
        return false;
    }
    for (uint32_t k = 0; k < n->operand_count; k++) { /* comparisons take floats, & and | do not */
        const uint32_t operand = ir->edges[n->operands + k];
        types[k] = (kiln__op_type){.dtype = is_mask(ir, operand) ? KILN_BOOL : KILN_FLOAT32};
        if (ir->nodes[operand].kind == KILN__NODE_CONSTANT)
            types[k] = (kiln__op_type){.weak = true, .number = ir->nodes[operand].number};
    }
    return kiln__op_resolve(kiln__op_find((kiln_op)n->op), types, &loop, NULL) == KILN_OK &&
           loop.out == KILN_BOOL;
}

bool kiln__is_mask(const kiln__parser *p, const kiln__parsed *v)
{
    return v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_GRAPH &&
           v->node.graph == p->graph && is_mask(&p->graph->ir, v->node.id);
}

/* ---- chosen values --------------------------------------------------------------------------- */

void kiln__choose(kiln_node x, kiln_node mask, size_t at, kiln__parsed *out)
{
    kiln__set_node(out, kiln__node_masked(x, mask, KILN__PLACE(at)));
    out->kind = KILN__PARSED_CHOSEN;
    out->chooser = mask;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The neutral element of each reduction, 0 or 1, which replaces elements that are not chosen. */
static const struct {
    kiln_reduce_op op;
    bool one;
} neutrals[] = {{KILN_REDUCE_SUM, false},
                {KILN_REDUCE_PROD, true},
                {KILN_REDUCE_ANY, false},
                {KILN_REDUCE_ALL, true},
                {KILN_REDUCE_COUNT_NONZERO, false}};

kiln_status kiln__reduce_chosen(kiln__parser *p, const kiln__parsed_call *c, int op,
                                kiln__parsed *v)
{
    for (size_t k = 0; k < KILN_COUNT_OF(neutrals); k++) {
        if ((int)neutrals[k].op != op)
            continue;
        const kiln_node neutral = kiln_node_of_bool(neutrals[k].one);
        const kiln_node mask = kiln__node_mask_of(v->chooser, v->node, false, KILN__PLACE(c->at));
        kiln__set_node(v,
                       kiln_node_op3(KILN_OP_WHERE, mask, v->node, neutral, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    return kiln__parse_fail(
        p, c->at, c->bytes, KILN_ERR_UNSUPPORTED,
        "%.*s of what a mask chooses is not known: reduce where(mask, x, ...) with "
        "a value that does not count; sum, prod, any, all, count_nonzero, mean, var, std, min, max, "
        "ptp and median are known",
        (int)c->bytes, c->name);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Result 0 (values) or 1 (their number) of an opaque operation that compacts. */
static kiln_node counted(const char *name, const kiln_node *operands, size_t count, size_t result,
                         size_t at)
{
    const kiln__opaque_given given = {
        .operation = kiln__opaque_named(name, strlen(name)), .operands = operands, .count = count};

    return kiln__opaque_node(&given, result, KILN__PLACE(at));
}

/* The places of elements that are not zero, of an array with one axis. */
void kiln__settle(kiln__parsed *v)
{
    const kiln_node x = v->node;

    if (v->kind != KILN__PARSED_PLACES)
        return;
    kiln__set_node(v, counted("nonzero", &x, 1, 0, v->at));
    v->kind = KILN__PARSED_COUNTED;
    v->chooser = counted("nonzero", &x, 1, 1, v->at);
    v->axis = 0;
    v->parts = false;
}

void kiln__places_along(kiln__parsed *v, int64_t axis)
{
    const kiln_node x = v->node;

    kiln__set_node(v, kiln_node_select(counted("argwhere", &x, 1, 0, v->at), 1, axis, KILN__PLACE(v->at)));
    v->kind = KILN__PARSED_COUNTED;
    v->chooser = counted("argwhere", &x, 1, 1, v->at);
    v->axis = 0;
    v->parts = false;
}

void kiln__places_mask(kiln__parser *p, kiln__parsed *v)
{
    const kiln_node x = v->node;

    (void)p;
    kiln__set_node(v, kiln_node_cast(x, KILN_BOOL, KILN__PLACE(v->at)));
}

kiln_status kiln__unpack_places(kiln__parser *p, kiln__parsed *v, size_t count)
{
    kiln__parsed *const values = kiln__parser_keep(p, count * sizeof *values);
    const int rank = (int)count;

    if (values == NULL)
        return kiln__fail_memory(p->err, count * sizeof *values);
    for (size_t k = 0; k < count; k++) {
        values[k] = *v;
        values[k].node = kiln__node_ranked(v->node, rank, rank, KILN__HINT_NONE, KILN__PLACE(v->at));
        kiln__places_along(&values[k], (int64_t)k);
    }
    v->kind = KILN__PARSED_SEVERAL;
    v->values = values;
    v->count = count;
    return KILN_OK;
}

/* compress(mask, x) and extract(mask, x): both in C-order, and as many elements as the mask has. */
static kiln_status choose_flat(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const int64_t all = -1;

    if (!c->arg[0].list && !kiln__is_mask(p, &c->arg[0]) && kiln__is_mask(p, &c->arg[1]))
        return kiln__parse_fail(
            p, c->arg[1].at, c->arg[1].width, KILN_ERR_ARGUMENT,
            "in %.*s(condition, array) the condition comes first, and this looks like one: write "
            "`!= 0` behind a condition that is not of bool",
            (int)c->bytes, c->name);
    kiln_node x = kiln__graph_number(p->graph, c->arg[1].node);
    kiln_node mask = kiln_node_cast(kiln__graph_number(p->graph, c->arg[0].node), KILN_BOOL,
                                    KILN__PLACE(c->at));
    mask = kiln_node_reshape(mask, 1, &all, KILN__PLACE(c->at));
    x = kiln_node_reshape(x, 1, &all, KILN__PLACE(c->at));
    const kiln_node many = kiln__node_extent(mask, 0, -1, KILN__PLACE(c->at));
    x = kiln_node_slice(x, 0, 0, kiln__reference(many.id), 1, KILN__PLACE(c->at));
    kiln__choose(x, mask, c->at, out);
    return KILN_OK;
}

kiln_status kiln__apply_choosing(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known)
{
    const bool compress = kiln__same_word(c->name, c->bytes, "compress") ||
                          kiln__same_word(c->name, c->bytes, "extract");
    const bool rows = kiln__same_word(c->name, c->bytes, "argwhere");
    const bool places = kiln__same_word(c->name, c->bytes, "nonzero") ||
                        kiln__same_word(c->name, c->bytes, "where");
    const size_t count = compress ? 2 : 1;

    *known = compress || rows || kiln__same_word(c->name, c->bytes, "flatnonzero") || places;
    if (!*known)
        return KILN_OK;
    if (c->count != count)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "%.*s takes %zu argument%s", (int)c->bytes, c->name, count,
                                count == 1 ? "" : "s");
    for (size_t k = 0; k < count; k++)
        KILN_CHECK(kiln__need_node(p, &c->arg[k]));
    if (compress)
        return choose_flat(p, c, out);
    const kiln_node first = kiln__graph_number(p->graph, c->arg[0].node);
    kiln__set_node(out, first);
    if (places) {
        out->kind = KILN__PARSED_PLACES;
        return KILN_OK;
    }
    const char *const name = rows ? "argwhere" : "flatnonzero";
    kiln__set_node(out, counted(name, &first, 1, 0, c->at));
    out->kind = KILN__PARSED_COUNTED;
    out->chooser = counted(name, &first, 1, 1, c->at);
    out->parts = rows;
    return KILN_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

void kiln__counted_result(const kiln__parsed *v, kiln_node out[2])
{
    if (v->kind == KILN__PARSED_COUNTED) {
        out[0] = v->node;
        out[1] = v->chooser;
        return;
    }
    const kiln_node operands[] = {v->node, v->chooser};
    for (size_t k = 0; k < 2; k++)
        out[k] = counted("compress", operands, 2, k, v->at);
}
