/*
 * calls.c - functions, methods and subscripts of expressions; parse.c calls it. A function is an
 * operation of ops.def, a named reduction, or a row of `specials`; a method is the function with
 * the array before the dot as its first argument. Test: test_expression.
 */
#include <stdio.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/sort.h"
#include "ops/ops.h"

/* ---- arguments ------------------------------------------------------------------------------- */

/* Whole numbers from a tuple, or from arguments first.. themselves. */
static kiln_status read_integers(const kiln__parser *p, const kiln__parsed_call *c, size_t first,
                                 int64_t *out, int *count_out)
{
    const kiln__parsed *v = &c->arg[first];
    const bool tuple = c->count == first + 1 && v->kind == KILN__PARSED_TUPLE;
    const size_t count = tuple ? v->count : c->count - first;

    if (count > KILN_RANK_MAX)
        return kiln__fail_call(p, c, KILN_ERR_ARGUMENT, "has more axes than there may be");
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = tuple ? *v : c->arg[first + k];
        if (tuple)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_integer(p, &one, &out[k]));
    }
    *count_out = (int)count;
    return KILN_OK;
}

/* The value of axis=: None, an integer or a tuple of integers. `*given` is false for None. */
static kiln_status read_axes(const kiln__parser *p, const kiln__parsed *v, kiln_axes *axes,
                             bool *given)
{
    const size_t count = v->kind == KILN__PARSED_TUPLE ? v->count : 1;

    axes->count = 0;
    *given = v->width != 0 && v->kind != KILN__PARSED_NONE;
    if (!*given)
        return KILN_OK;
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = *v;
        int64_t axis = 0;
        if (v->kind == KILN__PARSED_TUPLE)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_literal(p, &one, &axis));
        if (k >= KILN_RANK_MAX || axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
        axes->axis[axes->count++] = (int)axis;
    }
    return KILN_OK;
}

/* One axis, given as argument number `argument` or by axis=. */
static kiln_status read_axis(const kiln__parser *p, kiln__parsed_call *c, size_t argument, int *out)
{
    const kiln__parsed *v;
    int64_t axis = 0;

    KILN_CHECK(kiln__call_axis(p, c, argument, &v));
    if (v->width == 0)
        return kiln__fail_call(p, c, KILN_ERR_ARGUMENT_COUNT, "needs an axis");
    KILN_CHECK(kiln__need_literal(p, v, &axis));
    if (axis < -KILN_RANK_MAX - 1 || axis > KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
    *out = (int)axis;
    return KILN_OK;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The named reduction a word means; 0 for none. */
static int reduction_named(const char *name, size_t bytes)
{
    if (kiln__same_word(name, bytes, "amax"))
        return KILN_REDUCE_MAX;
    if (kiln__same_word(name, bytes, "amin"))
        return KILN_REDUCE_MIN;
    for (int op = 1; op < 256; op++)
        if (kiln__same_word(name, bytes, kiln_reduce_op_name((kiln_reduce_op)op)))
            return kiln__same_word(name, bytes, "unknown") ? 0 : op;
    return 0;
}

static kiln_status reduce(kiln__parser *p, kiln__parsed_call *c, int op, kiln__parsed *out)
{
    const kiln__parsed *axis;
    kiln_axes axes;
    bool given = false, keepdims = false;

    c->takes = KILN__TAKES_DTYPE | KILN__TAKES_KEEPDIMS;
    KILN_CHECK(kiln__need_count(p, c, 1, 2));
    KILN_CHECK(kiln__call_axis(p, c, 1, &axis));
    if (c->arg[0].kind == KILN__PARSED_CHOSEN && axis->width + c->keepdims.width == 0)
        KILN_CHECK(kiln__reduce_chosen(p, c, op, &c->arg[0]));
    KILN_CHECK(kiln__need_array(p, c));
    KILN_CHECK(kiln__need_axes(p, c, axis));
    KILN_CHECK(read_axes(p, axis, &axes, &given));
    if (c->keepdims.width != 0 && c->keepdims.kind != KILN__PARSED_NONE) {
        if (c->keepdims.kind != KILN__PARSED_NODE || c->keepdims.node.kind != KILN_NODE_BOOL)
            return kiln__parse_fail(p, c->keepdims.at, c->keepdims.width, KILN_ERR_ARGUMENT,
                                    "keepdims is True or False");
        keepdims = c->keepdims.node.value.b;
    }
    kiln__set_node(out, kiln_node_reduce((kiln_reduce_op)op, c->arg[0].node, given ? &axes : NULL,
                                         keepdims, c->dtype.dtype, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* ---- other functions ------------------------------------------------------------------------- */

/* A function of an array that is not in the table of operations: how its arguments are read, and
 * which function records it. */
typedef struct special {
    const char *name;
    kiln_status (*read)(kiln__parser *p, kiln__parsed_call *c, const struct special *s,
                        kiln__parsed *out);
    kiln_node (*by_axis)(kiln_node x, int axis, const char *file, int line);
    kiln_node (*by_shape)(kiln_node x, int rank, const int64_t *shape, const char *file, int line);
} special;

static kiln_status call_transpose(kiln__parser *p, kiln__parsed_call *c, const special *s,
                                  kiln__parsed *out)
{
    int64_t given[KILN_RANK_MAX];
    kiln_axes axes = {0};
    (void)s;
    if (c->count > 1)
        KILN_CHECK(read_integers(p, c, 1, given, &axes.count));
    for (int k = 0; k < axes.count; k++)
        axes.axis[k] =
            given[k] < -KILN_RANK_MAX || given[k] >= KILN_RANK_MAX ? KILN_RANK_MAX : (int)given[k];
    kiln__set_node(
        out, kiln_node_transpose(c->arg[0].node, c->count > 1 ? &axes : NULL, KILN__PLACE(c->at)));
    return KILN_OK;
}

static kiln_status call_shape(kiln__parser *p, kiln__parsed_call *c, const special *s,
                              kiln__parsed *out)
{
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;
    if (c->count < 2)
        return kiln__fail_call(p, c, KILN_ERR_ARGUMENT_COUNT, "needs a shape");
    if (c->count == 2 && c->arg[1].kind == KILN__PARSED_SHAPE &&
        s->by_shape == kiln_node_broadcast_to) {
        kiln__set_node(
            out, kiln__node_broadcast_like(c->arg[0].node, c->arg[1].node, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    if (c->count == 2 && c->arg[1].kind == KILN__PARSED_SHAPE) {
        kiln__set_node(
            out, kiln__node_reshape_like(c->arg[0].node, c->arg[1].node, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    KILN_CHECK(read_integers(p, c, 1, shape, &rank));
    kiln__set_node(out, s->by_shape(c->arg[0].node, rank, shape, KILN__PLACE(c->at)));
    return KILN_OK;
}

static kiln_status call_ravel(kiln__parser *p, kiln__parsed_call *c, const special *s,
                              kiln__parsed *out)
{
    const int64_t all = -1;
    KILN_CHECK(kiln__need_count(p, c, 1, 1));
    kiln__set_node(out, s->by_shape(c->arg[0].node, 1, &all, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* expand_dims(x, (0, 2)): those counted from the first axis, and then those from the last, each in the
 * order in which it is in its place. */
static kiln_status call_new_axes(kiln__parser *p, kiln__parsed_call *c, const kiln__parsed *axes,
                                 kiln__parsed *out)
{
    int64_t given[KILN__TUPLE_MAX];
    kiln_node some[KILN__TUPLE_MAX];
    kiln_node x = c->arg[0].node;

    for (int last = 0; last < 2; last++) {
        kiln__parsed one = *axes;
        one.items = some;
        one.count = 0;
        for (size_t k = 0; k < axes->count; k++)
            if ((axes->items[k].kind == KILN_NODE_INT && axes->items[k].value.i < 0) == (last != 0))
                some[one.count++] = axes->items[k];
        KILN_CHECK(kiln__read_ordered_axes(p, &one, given));
        for (size_t k = 0; k < one.count; k++) {
            if (k > 0 && given[k] == given[k - 1])
                return kiln__parse_fail(p, axes->at, axes->width, KILN_ERR_AXIS,
                                        "axis %lld is given twice", (long long)given[k]);
            x = kiln_node_newaxis(x, (int)given[k], KILN__PLACE(c->at));
        }
    }
    kiln__set_node(out, x);
    return KILN_OK;
}

static kiln_status call_axis(kiln__parser *p, kiln__parsed_call *c, const special *s,
                             kiln__parsed *out)
{
    const kiln__parsed *several;
    int axis = 0;
    KILN_CHECK(kiln__need_count(p, c, 1, 2));
    KILN_CHECK(kiln__call_axis(p, c, 1, &several));
    if (several->kind == KILN__PARSED_TUPLE && s->by_axis == kiln_node_newaxis)
        return call_new_axes(p, c, several, out);
    KILN_CHECK(read_axis(p, c, 1, &axis));
    kiln__set_node(out, s->by_axis(c->arg[0].node, axis, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* A dtype that stands in quotes is one as well. */
static kiln_status read_dtype(const kiln__parser *p, kiln__parsed *v)
{
    if (v->kind == KILN__PARSED_TEXT) {
        v->dtype = kiln_dtype_from_name(v->word, v->word_bytes);
        v->kind = v->dtype != KILN_DTYPE_NONE ? KILN__PARSED_DTYPE : v->kind;
    }
    return v->kind == KILN__PARSED_DTYPE ? KILN_OK
                                         : kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                                            "this is no dtype, as float32 is");
}

static kiln_status call_cast(kiln__parser *p, kiln__parsed_call *c, const special *s,
                             kiln__parsed *out)
{
    kiln__parsed *dtype = c->count > 1 ? &c->arg[1] : &c->dtype;
    (void)s;
    c->takes = c->count > 1 ? 0 : KILN__TAKES_DTYPE;
    KILN_CHECK(kiln__need_count(p, c, 1, 2));
    if (dtype->width == 0)
        return kiln__fail_call(p, c, KILN_ERR_ARGUMENT, "needs a dtype, as float32 is");
    KILN_CHECK(read_dtype(p, dtype));
    kiln__set_node(out, kiln_node_cast(c->arg[0].node, dtype->dtype, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* A function with two results, such as divmod(): the value is a tuple. */
static kiln_status call_pair(kiln__parser *p, kiln__parsed_call *c, const kiln_op op[2],
                             kiln__parsed *out)
{
    kiln__parsed one = {0}, two = {0};
    const size_t arity = (size_t)kiln__op_find(op[0])->arity;
    kiln_node *items = kiln__tuple_new(p, 2);

    if (items == NULL)
        return kiln__fail_memory(p->err, 2 * sizeof *items);
    KILN_CHECK(kiln__need_count(p, c, arity, arity));
    KILN_CHECK(kiln__apply(p, op[0], c->arg, c->at, c->bytes, &one));
    KILN_CHECK(kiln__apply(p, op[1], c->arg, c->at, c->bytes, &two));
    items[0] = one.node;
    items[1] = two.node;
    out->kind = KILN__PARSED_TUPLE;
    out->items = items;
    out->count = 2;
    return KILN_OK;
}

/* The shape of what is drawn: whole numbers, one or a tuple of them, or that of an array. */
static kiln_status read_shape(const kiln__parser *p, const kiln__parsed *v, int64_t *shape,
                              int *rank_out)
{
    const size_t count = v->kind == KILN__PARSED_TUPLE ? v->count : 1;

    *rank_out = 0;
    if (v->kind == KILN__PARSED_SHAPE)
        return KILN_OK;
    if (count > KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                "this has more axes than there may be");
    for (size_t k = 0; k < count; k++) {
        kiln__parsed one = *v;
        if (v->kind == KILN__PARSED_TUPLE)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_integer(p, &one, &shape[k]));
    }
    *rank_out = (int)count;
    return KILN_OK;
}

/* The distribution that a call means: with fewer arguments, uniform(), normal() and exponential() are
 * those that have no parameters. gamma(x) is the function. 0 for none. */
static kiln_draw draw_named(const kiln__parsed_call *c, size_t params)
{
    static const kiln_draw plain[][2] = {{KILN_DRAW_UNIFORM, KILN_DRAW_RANDOM},
                                         {KILN_DRAW_NORMAL, KILN_DRAW_STANDARD_NORMAL},
                                         {KILN_DRAW_EXPONENTIAL, KILN_DRAW_STANDARD_EXPONENTIAL},
                                         {KILN_DRAW_GAMMA, KILN_DRAW_STANDARD_GAMMA}};
    const kiln_draw draw = kiln__draw_named(c->name, c->bytes);

    if (draw == KILN_DRAW_GAMMA && c->count < 2)
        return (kiln_draw)0;
    for (size_t k = 0; k < KILN_COUNT_OF(plain); k++)
        if (draw == plain[k][0] && params == kiln__draw_params(plain[k][1]))
            return plain[k][1];
    return draw;
}

/* How such a call is written. */
static kiln_status fail_draw(const kiln__parser *p, const kiln__parsed_call *c, kiln_draw draw)
{
    static const char *const params[] = {"", ", a", ", a, b"};
    const bool plain = draw_named(c, 0) != draw_named(c, 9);
    const int bytes = (int)c->bytes;
    char text[160];

    snprintf(text, sizeof text, "is called with a key first: %.*s%s%.*s(key, %s%s)",
             plain ? bytes : 0, c->name, plain ? "(key, shape) or " : "", bytes, c->name,
             draw == KILN_DRAW_PERMUTATION ? "n" : "shape",
             draw == KILN_DRAW_PERMUTATION
                 ? ""
                 : params[kiln__draw_params(kiln__draw_named(c->name, c->bytes))]);
    return kiln__fail_call(p, c, KILN_ERR_ARGUMENT_COUNT, text);
}

/* A key, or (key, number of the draw). */
static kiln_status read_key(kiln__parser *p, kiln__parsed *v, kiln_node *out)
{
    out[1] = kiln_node_of_int(0);
    if (v->kind != KILN__PARSED_TUPLE || v->count != 2) {
        KILN_CHECK(kiln__need_node(p, v));
        out[0] = v->node;
        return KILN_OK;
    }
    memcpy(out, v->items, 2 * sizeof *out);
    return KILN_OK;
}

static kiln_status call_draw(kiln__parser *p, kiln__parsed_call *c, kiln_draw draw,
                             kiln__parsed *out)
{
    const bool permutes = draw == KILN_DRAW_PERMUTATION;
    const size_t params = kiln__draw_params(draw), least = permutes ? 2 : 2 + params;
    kiln_node nodes[KILN__DRAW_PARAMS_MAX], key[2];
    int64_t shape[KILN_RANK_MAX];
    int rank = 0;

    c->takes = KILN__TAKES_DTYPE;
    if (c->count > 0 && c->arg[c->count - 1].kind == KILN__PARSED_DTYPE && c->dtype.width == 0)
        c->dtype = c->arg[--c->count];
    if (c->count != least)
        return fail_draw(p, c, draw);
    KILN_CHECK(read_key(p, &c->arg[0], key));
    KILN_CHECK(read_shape(p, &c->arg[1], shape, &rank));
    for (size_t k = 0; k < params; k++) {
        kiln__parsed *v = &c->arg[permutes ? 1 : 2 + k];
        KILN_CHECK(kiln__need_node(p, v));
        nodes[k] = v->node;
    }
    const kiln_node *like = c->arg[1].kind == KILN__PARSED_SHAPE ? &c->arg[1].node : NULL;
    kiln__set_node(out,
                   kiln_random_node(p->graph, draw, key[0], key[1], nodes, params, c->dtype.dtype,
                                    like, rank, shape, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* take(x, i, axis, mode=clip), take_along_axis(x, i, axis): NumPy's; without an axis elements count in
 * C-order. */
static kiln_status call_take(kiln__parser *p, kiln__parsed_call *c, const special *s,
                             kiln__parsed *out)
{
    const kiln__parsed *axis;
    int at = KILN_AXIS_FLAT;
    kiln_index_mode mode;
    int64_t given = 0;

    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 2, 3));
    KILN_CHECK(kiln__call_axis(p, c, 2, &axis));
    if (c->arg[1].kind == KILN__PARSED_TUPLE)
        KILN_CHECK(kiln__index_list(p, &c->arg[1]));
    KILN_CHECK(kiln__need_node(p, &c->arg[1]));
    KILN_CHECK(kiln__index_mode(p, c, &mode));
    if (axis->width != 0 && axis->kind != KILN__PARSED_NONE) {
        KILN_CHECK(kiln__need_literal(p, axis, &given));
        at = given < -KILN_RANK_MAX || given > KILN_RANK_MAX ? KILN_RANK_MAX : (int)given;
    }
    const kiln_node indices = kiln__graph_number(p->graph, c->arg[1].node);
    kiln__set_node(out, (kiln__same_word(c->name, c->bytes, "take") ? kiln_node_take
                                                                    : kiln_node_take_along_axis)(
                            c->arg[0].node, indices, at, mode, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* _like(v, x): v in the shape of x. _as(v, x), _floor_as(v, x): v in the dtype of x. */
static kiln_status call_like(kiln__parser *p, kiln__parsed_call *c, const special *s,
                             kiln__parsed *out)
{
    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 2, 2));
    KILN_CHECK(kiln__need_node(p, &c->arg[1]));
    const kiln_node x = c->arg[0].node, like = kiln__graph_number(p->graph, c->arg[1].node);
    const bool floors = kiln__same_word(c->name, c->bytes, "_floor_as");
    kiln__set_node(out,
                   kiln__same_word(c->name, c->bytes, "_like")
                       ? kiln__node_broadcast_like(x, like, KILN__PLACE(c->at))
                       : kiln__node_cast_like(x, like, floors ? KILN__CAST_FLOOR : KILN__CAST_PLAIN,
                                              KILN__PLACE(c->at)));
    return KILN_OK;
}

/* _places(x, axis=0): positions along an axis of x, and no other one. */
static kiln_status call_places(kiln__parser *p, kiln__parsed_call *c, const special *s,
                               kiln__parsed *out)
{
    int axis = 0;

    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 1, 2));
    if (c->count > 1)
        KILN_CHECK(read_axis(p, c, 1, &axis));
    kiln__set_node(out, kiln__node_places(c->arg[0].node, axis, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* _vector(x): x, which must have one axis. */
static kiln_status call_vector(kiln__parser *p, kiln__parsed_call *c, const special *s,
                               kiln__parsed *out)
{
    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 1, 1));
    kiln__set_node(out, kiln__node_ranked(c->arg[0].node, 1, 1, KILN__HINT_AXIS, KILN__PLACE(c->at)));
    (void)p;
    return KILN_OK;
}

/* _three(x): x, which must have three elements along its last axis. */
static kiln_status call_three(kiln__parser *p, kiln__parsed_call *c, const special *s,
                              kiln__parsed *out)
{
    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 1, 1));
    kiln__set_node(out, kiln__node_sized(c->arg[0].node, -1, 3, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* _filled(x, v, axis=None): x or, where it has no elements along these axes, v as the only one. */
static kiln_status call_filled(kiln__parser *p, kiln__parsed_call *c, const special *s,
                               kiln__parsed *out)
{
    kiln_axes axes;
    bool given = false;

    (void)s;
    KILN_CHECK(kiln__need_count(p, c, 2, 2));
    c->takes = KILN__TAKES_AXIS;
    KILN_CHECK(read_axes(p, &c->axis, &axes, &given));
    KILN_CHECK(kiln__need_node(p, &c->arg[1]));
    kiln__set_node(out, kiln__node_filled(c->arg[0].node, kiln__graph_number(p->graph, c->arg[1].node),
                                          given ? &axes : NULL, KILN__PLACE(c->at)));
    return KILN_OK;
}

static const special specials[] = {
    {"_filled", call_filled, NULL, NULL},
    {"_three", call_three, NULL, NULL},
    {"_like", call_like, NULL, NULL},
    {"_places", call_places, NULL, NULL},
    {"_as", call_like, NULL, NULL},
    {"_floor_as", call_like, NULL, NULL},
    {"_vector", call_vector, NULL, NULL},
    {"take", call_take, NULL, NULL},
    {"take_along_axis", call_take, NULL, NULL},
    {"transpose", call_transpose, NULL, NULL},
    {"reshape", call_shape, NULL, kiln_node_reshape},
    {"broadcast_to", call_shape, NULL, kiln_node_broadcast_to},
    {"ravel", call_ravel, NULL, kiln_node_reshape},
    {"expand_dims", call_axis, kiln_node_newaxis, NULL},
    {"iota", call_axis, kiln_node_iota, NULL},
    {"cast", call_cast, NULL, NULL},
    {"astype", call_cast, NULL, NULL},
};

/* An operation of the table. A bound of clip() may be None, as in NumPy: then it is not applied. */
static kiln_status call_op(kiln__parser *p, kiln__parsed_call *c, const kiln__op *op,
                           kiln__parsed *out)
{
    const size_t arity = (size_t)op->arity;
    KILN_CHECK(kiln__need_count(p, c, arity, arity));
    if (op->op == KILN_OP_CLIP && c->arg[1].kind == KILN__PARSED_NONE) {
        c->arg[1] = c->arg[2];
        return kiln__apply(p, KILN_OP_MINIMUM, c->arg, c->at, c->bytes, out);
    }
    if (op->op == KILN_OP_CLIP && c->arg[2].kind == KILN__PARSED_NONE)
        return kiln__apply(p, KILN_OP_MAXIMUM, c->arg, c->at, c->bytes, out);
    return kiln__apply(p, op->op, c->arg, c->at, c->bytes, out);
}

static kiln_status unknown_function(kiln__parsed_call *c)
{
    c->unknown = true;
    return KILN_ERR_NAME;
}

/* `mode=` and `method=` of a function that would not look at it. Scatters have been asked before. */
static kiln_status check_mode(const kiln__parser *p, const kiln__parsed_call *c)
{
    static const struct {
        const char *name;
        bool method;
    } takers[] = {{"take", false},       {"take_along_axis", false}, {"pad", false},
                  {"choose", false},     {"quantile", true},         {"percentile", true},
                  {"nanquantile", true}, {"nanpercentile", true}};

    if (c->mode_bytes == 0)
        return KILN_OK;
    for (size_t k = 0; k < KILN_COUNT_OF(takers); k++)
        if (c->method == takers[k].method && kiln__same_word(c->name, c->bytes, takers[k].name))
            return KILN_OK;
    return kiln__fail_call(p, c, KILN_ERR_NAME, c->method ? "takes no method" : "takes no mode");
}

/* Files that know functions, in the order in which they are asked. */
typedef kiln_status (*knower)(kiln__parser *, kiln__parsed_call *, kiln__parsed *, bool *known);
static const knower before_operations[] = {kiln__apply_scattering, kiln__join_counted,
                                           kiln__apply_parts,      kiln__apply_counted,
                                           kiln__apply_extents,    NULL};
static const knower before_others[] = {kiln__apply_making, kiln__apply_ordered, kiln__apply_editing,
                                       kiln__apply_composed, kiln__apply_histograms,
                                       kiln__apply_gradients, kiln__apply_padding,
                                       kiln__apply_masking, NULL};
static const knower last[] = {kiln__apply_arranging, kiln__apply_listed, kiln__apply_written, NULL};

static kiln_status apply_first(kiln__parser *p, kiln__parsed_call *c, const knower *files,
                               kiln__parsed *out, bool *known)
{
    for (; *files != NULL && !*known; files++)
        KILN_CHECK((*files)(p, c, out, known));
    return KILN_OK;
}

static kiln_status apply(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__op *op = kiln__op_named(c->name, c->bytes);
    const int reduction = reduction_named(c->name, c->bytes);
    const bool typed = c->count > 0 && c->arg[c->count - 1].kind == KILN__PARSED_DTYPE;
    const kiln_draw draw = draw_named(c, c->count < 2 ? 0 : c->count - 2 - typed);
    const kiln__opaque *opaque = kiln__opaque_named(c->name, c->bytes);
    kiln_op pair[2];
    bool known = false;

    if (kiln__same_word(c->name, c->bytes, "where") && c->count == 1 && c->named_count == 0)
        return kiln__apply_choosing(p, c, out, &known);
    KILN_CHECK(kiln__drop_idle(p, c));
    KILN_CHECK(kiln__arranging_places(p, c));
    KILN_CHECK(apply_first(p, c, before_operations, out, &known));
    if (known)
        return KILN_OK;
    KILN_CHECK(check_mode(p, c));
    if (draw == KILN_DRAW_PERMUTATION && c->count == 2 && c->arg[1].kind == KILN__PARSED_NODE &&
        !kiln__is_of_numbers(p, &c->arg[1].node)) /* of an array */
        return kiln__apply_whole(p, c, kiln__opaque_named("shuffle", 7), out);
    if (draw != 0)
        return call_draw(p, c, draw, out);
    if (op != NULL && (op->op != KILN_OP_ROUND || c->count + c->named_count < 2))
        return call_op(p, c, op, out);
    if (kiln__op_pair_named(c->name, c->bytes, pair))
        return call_pair(p, c, pair, out);
    if (c->name[0] == '_' && p->graph->ir.place == 0) /* for functions that are expressions alone */
        return unknown_function(c);
    KILN_CHECK(apply_first(p, c, before_others, out, &known));
    if (known)
        return KILN_OK;
    if (c->named_count > 0 &&
        !kiln__arranging_takes(c, c->named[0].name, c->named[0].bytes)) /* others are in their places */
        return kiln__apply_written(p, c, out, &known);
    KILN_CHECK(kiln__apply_choosing(p, c, out, &known));
    if (known)
        return KILN_OK;
    if (opaque != NULL && c->count == 3 && c->arg[2].kind == KILN__PARSED_TEXT &&
        kiln__same_word(c->name, c->bytes, "searchsorted"))
        return kiln__apply_written(p, c, out, &known);
    if (opaque != NULL)
        return kiln__apply_whole(p, c, opaque, out);
    if (reduction != 0)
        return reduce(p, c, reduction, out);
    KILN_CHECK(apply_first(p, c, last, out, &known));
    if (known)
        return KILN_OK;
    for (size_t k = 0; k < KILN_COUNT_OF(specials); k++) {
        if (!kiln__same_word(c->name, c->bytes, specials[k].name))
            continue;
        KILN_CHECK(kiln__need_array(p, c));
        return specials[k].read(p, c, &specials[k], out);
    }
    for (int d = 1; d < KILN_DTYPE_COUNT; d++) { /* float32(x) */
        if (!kiln__same_word(c->name, c->bytes, kiln_dtype_name((kiln_dtype)d)))
            continue;
        KILN_CHECK(kiln__need_count(p, c, 1, 1));
        KILN_CHECK(kiln__need_array(p, c));
        kiln__set_node(out, kiln_node_cast(c->arg[0].node, (kiln_dtype)d, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    return unknown_function(c);
}

/* ---- names that are not known ------------------------------------------------------------------ */

/* A call without arguments tells which names are known. */
typedef struct asked {
    kiln__parser *p;
    kiln__parsed_call call;
} asked;

static bool is_function(void *user, const char *name, size_t bytes)
{
    asked *a = user;
    kiln__parsed out;

    memset(&a->call, 0, sizeof a->call);
    a->call.name = name;
    a->call.bytes = bytes;
    return apply(a->p, &a->call, &out) != KILN_OK && !a->call.unknown;
}

static kiln_status fail_unknown(kiln__parser *p, const kiln__parsed_call *c)
{
    kiln_error *const err = p->err;
    asked *const a = kiln__calloc(1, sizeof *a);
    char near[KILN__NEAR_MAX] = "";
    size_t bytes = 0;

    if (a != NULL) {
        p->err = NULL;
        a->p = p;
        bytes = kiln__find_near(c->name, c->bytes, is_function, a, near);
        p->err = err;
    }
    kiln__free(a);
    return kiln__parse_fail(
        p, c->at, c->bytes, KILN_ERR_NAME, "there is no function `%.*s`%s%.*s%s",
        c->bytes < 60 ? (int)c->bytes : 60, c->name, bytes > 0 ? "; did you mean `" : "",
        (int)bytes, near, bytes > 0 ? "`?" : "");
}

kiln_status kiln__apply_call(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    if (c->dtype.width != 0 && c->dtype.kind != KILN__PARSED_NONE)
        KILN_CHECK(read_dtype(p, &c->dtype));
    const kiln_status status = apply(p, c, out);
    if (c->unknown)
        return fail_unknown(p, c);
    KILN_CHECK(status);
    if (c->axis.width != 0 && (c->takes & KILN__TAKES_AXIS) == 0)
        return kiln__fail_call(p, c, KILN_ERR_NAME, "takes no axis");
    if (c->dtype.width != 0 && (c->takes & KILN__TAKES_DTYPE) == 0)
        return kiln__fail_call(p, c, KILN_ERR_NAME, "takes no dtype");
    if (c->keepdims.width != 0 && (c->takes & KILN__TAKES_KEEPDIMS) == 0)
        return kiln__fail_call(p, c, KILN_ERR_NAME, "takes no keepdims");
    return KILN_OK;
}
