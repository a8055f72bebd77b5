/*
 * making.c - functions of expressions with arguments that must be known numbers: arange() and
 * norm().
 *
 *     calls.c, parse.c > [making] > nodes
 *
 * The length of arange(0, 1, 0.1) and the meaning of norm(x, inf) depend on the values of numbers.
 * fold.c computes whole numbers while the text is parsed. This file computes the others (-0.5, pi /
 * 4) from their recorded nodes.
 *
 * Test: test_expression.
 */
#include <inttypes.h>
#include <math.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "linalg/linalg.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static bool real_of(const kiln__number *n, double *out)
{
    *out = n->kind == 'f'   ? n->value.f
           : n->kind == 'u' ? (double)n->value.u
           : n->kind == 'b' ? (double)n->value.b
                            : (double)n->value.i;
    return n->kind != 'c';
}

/* The value of a recorded node of numbers, if kiln__op_of_numbers() has its operations. `depth` bounds the recursion. */
static bool node_value(const kiln__ir *ir, uint32_t id, int depth, double *out)
{
    const kiln__node *n = &ir->nodes[id];
    double operand[2] = {0, 0};

    if (n->kind == KILN__NODE_CONSTANT)
        return real_of(&n->number, out);
    if (n->kind != KILN__NODE_OP || n->operand_count > 2 || depth == 0)
        return false;
    for (uint32_t k = 0; k < n->operand_count; k++)
        if (!node_value(ir, ir->edges[n->operands + k], depth - 1, &operand[k]))
            return false;
    return kiln__op_of_numbers((kiln_op)n->op, operand, out);
}

/* A number of the text; `*whole` is false where it is no integer. */
static kiln_status need_number(const kiln__parser *p, const kiln__parsed *v, double *out,
                               bool *whole)
{
    bool known = false;

    *whole = false;
    if (v->kind == KILN__PARSED_NODE && kiln__is_plain(&v->node)) {
        const kiln__number n = kiln__number_of(v->node.kind - KILN_NODE_BOOL, &v->node.value);
        known = real_of(&n, out);
        *whole = n.kind != 'f';
    } else if (v->kind == KILN__PARSED_NODE && v->node.kind == KILN_NODE_GRAPH) {
        known = node_value(&p->graph->ir, v->node.id, 20, out);
    }
    return known ? KILN_OK
                 : kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a number is needed here whose value the text tells, as 0.5 "
                                    "or pi / 4");
}

static kiln_status fail(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

/* ---- arange ---------------------------------------------------------------------------------- */

/* arange() of whole numbers some of which are computed from extents. */
static kiln_status arange_of_extents(kiln__parser *p, const kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed n[3], count, two[2];
    int64_t step = 1;

    for (size_t k = 0; k < 3; k++) {
        n[k] = c->arg[0];
        kiln__set_node(&n[k], kiln_node_of_int(k == 2));
    }
    for (size_t k = 0; k < c->count; k++)
        n[c->count == 1 ? 1 : k] = c->arg[k];
    KILN_CHECK(kiln__need_literal(p, &n[2], &step));
    if (step == 0)
        return kiln__parse_fail(p, n[2].at, n[2].width, KILN_ERR_ARGUMENT,
                                "the step of arange is 0");
    const kiln_op ops[] = {KILN_OP_SUBTRACT, KILN_OP_ADD, KILN_OP_FLOOR_DIVIDE, KILN_OP_MAXIMUM};
    const int64_t numbers[] = {0, step > 0 ? step - 1 : step + 1, step, 0};
    count = n[1];
    for (size_t k = 0; k < KILN_COUNT_OF(ops); k++) {
        two[0] = count;
        two[1] = n[0];
        if (k > 0)
            kiln__set_node(&two[1], kiln_node_of_int(numbers[k]));
        KILN_CHECK(kiln__apply(p, ops[k], two, c->at, c->bytes, &count));
    }
    int64_t length = 0;
    KILN_CHECK(kiln__need_integer(p, &count, &length));
    kiln_node made = kiln_node_arange(p->graph, length, KILN__PLACE(c->at));
    if (step != 1)
        made = kiln_node_op2(KILN_OP_MULTIPLY, made, n[2].node, KILN__PLACE(c->at));
    if (c->count > 1)
        made = kiln_node_op2(KILN_OP_ADD, made, n[0].node, KILN__PLACE(c->at));
    if (c->dtype.width != 0)
        made = kiln_node_cast(made, c->dtype.dtype, KILN__PLACE(c->at));
    kiln__set_node(out, made);
    return KILN_OK;
}

/* arange(stop), arange(start, stop, step=1, dtype): of whole numbers int64, else float64. As in NumPy the distance of
 * floats is that of the first two elements. */
static kiln_status call_arange(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    double n[3] = {0, 0, 1};
    int64_t exact[3] = {0, 0, 1};
    bool whole = true, one = true;

    if (c->count > 0 && c->arg[c->count - 1].kind == KILN__PARSED_DTYPE && c->dtype.width == 0)
        c->dtype = c->arg[--c->count];
    if (c->count < 1 || c->count > 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called as arange(stop) or arange(start, stop, step=1, dtype)");
    c->takes = KILN__TAKES_DTYPE;
    for (size_t k = 0; k < c->count; k++)
        if (kiln__is_extent(p, &c->arg[k]))
            return arange_of_extents(p, c, out);
    for (size_t k = 0; k < c->count; k++) {
        const size_t to = c->count == 1 ? 1 : k;
        KILN_CHECK(need_number(p, &c->arg[k], &n[to], &one));
        if (one)
            KILN_CHECK(kiln__need_integer(p, &c->arg[k], &exact[to]));
        whole = whole && one;
    }
    if (n[2] == 0)
        return kiln__parse_fail(p, c->arg[2].at, c->arg[2].width, KILN_ERR_ARGUMENT,
                                "the step of arange is 0");
    const double length = ceil((n[1] - n[0]) / n[2]);
    if (!(length < 9.2e18))
        return fail(p, c, KILN_ERR_RANGE, "would have too many elements, or no number of them");
    const double delta = n[0] + n[2] - n[0];
    kiln_node made =
        kiln_node_arange(p->graph, length > 0 ? (int64_t)length : 0, KILN__PLACE(c->at));
    if (!whole)
        made = kiln_node_cast(made, KILN_FLOAT64, KILN__PLACE(c->at));
    if (whole ? exact[2] != 1 : delta != 1)
        made = kiln_node_op2(KILN_OP_MULTIPLY, made,
                             whole ? kiln_node_of_int(exact[2]) : kiln_node_of_float(delta),
                             KILN__PLACE(c->at));
    if (n[0] != 0)
        made = kiln_node_op2(KILN_OP_ADD, made,
                             whole ? kiln_node_of_int(exact[0]) : kiln_node_of_float(n[0]),
                             KILN__PLACE(c->at));
    if (c->dtype.width != 0)
        made = kiln_node_cast(made, c->dtype.dtype, KILN__PLACE(c->at));
    kiln__set_node(out, made);
    return KILN_OK;
}

/* ---- norm, cond ------------------------------------------------------------------------------ */

/* The second argument, or ord= or p=: None, 'fro', 'nuc' or a number. */
static kiln_status read_order(const kiln__parser *p, const kiln__parsed_call *c, kiln_norm *kind,
                              double *order)
{
    const kiln__parsed *v = c->count > 1 ? &c->arg[1] : NULL;
    bool whole;

    *kind = KILN_NORM_DEFAULT;
    *order = 2;
    for (size_t k = 0; k < c->named_count && v == NULL; k++)
        v = &c->named[k].value;
    if (v == NULL || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    if (v->kind == KILN__PARSED_TEXT && (kiln__same_word(v->word, v->word_bytes, "fro") ||
                                         kiln__same_word(v->word, v->word_bytes, "nuc"))) {
        *kind = v->word[0] == 'f' ? KILN_NORM_FROBENIUS : KILN_NORM_NUCLEAR;
        return KILN_OK;
    }
    if (v->kind == KILN__PARSED_TEXT)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_NAME,
                                "there is no norm of this name: 'fro' and 'nuc' are");
    *kind = KILN_NORM_ORDER;
    return need_number(p, v, order, &whole);
}

static kiln_status read_axes(const kiln__parser *p, const kiln__parsed *v, int64_t *data)
{
    const size_t count = v->kind == KILN__PARSED_TUPLE ? v->count : 1;

    if (v->width == 0 || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    if (count < 1 || count > 2)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS,
                                "vectors have one axis, matrices two; %zu are given", count);
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = *v;
        if (v->kind == KILN__PARSED_TUPLE)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_literal(p, &one, &data[k]));
        if (data[k] < -KILN_RANK_MAX || data[k] >= KILN_RANK_MAX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
    }
    return KILN_OK;
}

/* The square root of a sum of squares, which other operations may be fused with. Integers become float64 first, for
 * which the operation is one that has no effect on floats. */
static kiln_node root_of_squares(kiln_node x, const int64_t *axes, bool keepdims, size_t at)
{
    const kiln_axes over = {.count = axes[1] == INT64_MIN ? 1 : 2,
                            .axis = {(int)axes[0], (int)axes[1]}};

    x = kiln_node_op2(KILN_OP_MULTIPLY, x, kiln_node_of_float(1), KILN__PLACE(at));
    return kiln_node_reduce(KILN_REDUCE_NORM2, x, axes[0] == INT64_MIN ? NULL : &over, keepdims,
                            KILN_DTYPE_NONE, KILN__PLACE(at));
}

/* norm(x, ord=None, axis=None, keepdims=False), cond(x, p=None). */
static kiln_status call_norm(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const bool norm = kiln__same_word(c->name, c->bytes, "norm");
    int64_t data[KILN__NORM_DATA] = {0, 0, INT64_MIN, INT64_MIN, 0};
    const kiln__parsed *axis = NULL;
    kiln_norm kind;
    double order;

    c->takes = norm ? KILN__TAKES_KEEPDIMS : 0;
    if (norm) {
        KILN_CHECK(kiln__call_axis(p, c, 2, &axis));
        c->count -= c->count == 3;
    }
    if (c->count < 1 || c->count + c->named_count > 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    norm ? "is called as norm(x, ord=None, axis=None, keepdims=False)"
                         : "is called as cond(x, p=None)");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(read_order(p, c, &kind, &order));
    if (axis != NULL)
        KILN_CHECK(read_axes(p, axis, data + 2));
    if (c->keepdims.width != 0 &&
        (c->keepdims.kind != KILN__PARSED_NODE || c->keepdims.node.kind != KILN_NODE_BOOL))
        return kiln__parse_fail(p, c->keepdims.at, c->keepdims.width, KILN_ERR_ARGUMENT,
                                "keepdims is True or False");
    data[0] = kind;
    memcpy(&data[1], &order, sizeof order);
    data[4] = c->keepdims.width != 0 && c->keepdims.node.value.b;
    const kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    if (norm && kind == KILN_NORM_DEFAULT) {
        kiln__set_node(out, root_of_squares(x, data + 2, data[4] != 0, c->at));
        return KILN_OK;
    }
    const kiln__opaque_given given = {.operation = kiln__opaque_named(norm ? "_norm" : "_cond", 5),
                                      .operands = &x,
                                      .count = 1,
                                      .data = data,
                                      .data_count = KILN__NORM_DATA};
    kiln__set_node(out, kiln__opaque_node(&given, 0, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* _at_least(n, least, 'what n is'): n, a whole number that must not be less. */
static kiln_status call_at_least(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    int64_t n = 0, least = 0;

    if (c->count != 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "takes 3 arguments");
    KILN_CHECK(kiln__need_integer(p, &c->arg[0], &n));
    KILN_CHECK(kiln__need_integer(p, &c->arg[1], &least));
    if (kiln__referred(n) == 0 && kiln__referred(least) == 0 && n < least)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT,
                                "%.*s must be at least %lld, and is %lld", (int)c->arg[2].word_bytes,
                                c->arg[2].word, (long long)least, (long long)n);
    kiln__set_node(out, c->arg[0].node);
    return KILN_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

bool kiln__making_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    return kiln__same_word(c->name, c->bytes, "norm")   ? kiln__same_word(name, bytes, "ord")
           : kiln__same_word(c->name, c->bytes, "cond") ? kiln__same_word(name, bytes, "p")
                                                        : false;
}

kiln_status kiln__apply_making(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                               bool *known)
{
    static const struct {
        const char *name;
        kiln_status (*call)(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out);
    } functions[] = {{"arange", call_arange},
                   {"norm", call_norm},
                   {"cond", call_norm},
                   {"_at_least", call_at_least}};

    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        *known = true;
        return functions[k].call(p, c, out);
    }
    return KILN_OK;
}
