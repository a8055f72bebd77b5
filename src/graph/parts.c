/*
 * parts.c - functions along an axis of what masks choose: sum(x[m], axis=0), sort(x[m], axis=1),
 * mean(x[:, m], axis=1).
 *
 *     x[m], x[:, m]  > *parts*: an array, the axis along which some of its parts count, a mask of that
 *                      axis, and how many they are
 *     along another axis > the function of all parts > the same ones count of the result
 *     along that axis    > a reduction of an array in which other parts are neutral
 *                        > a sort, a scan: the parts that count come first
 *
 * How many axes the array has is not known here. An axis that is counted from the other end than
 * that of the parts is therefore taken for another one, which planning checks (kiln__node_apart()).
 *
 * calls.c calls this file before counted.c, which has functions of all elements. Tests:
 * test_choosing, tests/test_numpy_text.py.
 */
#include <math.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

typedef struct parts {
    kiln_node x, mask, count;
    int axis;
    bool chosen; /* they stand in their places; else the first `count` of them count */
    size_t at;
} parts;

/* How a function is computed along the axis of the parts. */
typedef enum over {
    NEVER,      /* it is not known */
    WHERE,      /* by where= */
    ZERO, ONE,  /* other parts are 0, or 1 */
    EXTREME,    /* by a row _over_NAME(x, mask, axis of the parts, axis, keepdims) */
    NAN_FREE,   /* the function behind `nan`, by where=, of what is no NaN */
    PLACE,      /* of the parts that count: others are the first one */
    RANKED,     /* by nanquantile() and the like, in which other parts are NaN */
    ORDER,      /* sort, argsort: parts that do not count come last */
    RUNNING,    /* scans and differences: what comes behind the parts that count is not looked at */
    WRITTEN     /* by the text of its row, in which functions of parts stand */
} over;

static const struct {
    const char *name;
    size_t axis_at; /* which argument may be the axis */
    bool reduces;
    over over;
} functions[] = {
    {"sum", 1, true, WHERE},
    {"prod", 1, true, WHERE},
    {"any", 1, true, WHERE},
    {"all", 1, true, WHERE},
    {"mean", 1, true, WHERE},
    {"var", 1, true, WHERE},
    {"std", 1, true, WHERE},
    {"count_nonzero", 1, true, ZERO},
    {"nansum", 1, true, ZERO},
    {"nanprod", 1, true, ONE},
    {"norm", 2, true, ZERO},
    {"max", 1, true, EXTREME},
    {"min", 1, true, EXTREME},
    {"amax", 1, true, EXTREME},
    {"amin", 1, true, EXTREME},
    {"ptp", 1, true, EXTREME},
    {"nanmax", 1, true, EXTREME},
    {"nanmin", 1, true, EXTREME},
    {"nanmean", 1, true, NAN_FREE},
    {"nanvar", 1, true, NAN_FREE},
    {"nanstd", 1, true, NAN_FREE},
    {"argmax", 1, true, PLACE},
    {"argmin", 1, true, PLACE},
    {"median", 1, true, RANKED},
    {"quantile", 2, true, RANKED},
    {"percentile", 2, true, RANKED},
    {"nanmedian", 1, true, RANKED},
    {"nanquantile", 2, true, RANKED},
    {"nanpercentile", 2, true, RANKED},
    {"average", 1, true, NEVER},
    {"sort", 1, false, ORDER},
    {"argsort", 1, false, ORDER},
    {"cumsum", 1, false, RUNNING},
    {"cumprod", 1, false, RUNNING},
    {"cummax", 1, false, RUNNING},
    {"cummin", 1, false, RUNNING},
    {"nancumsum", 1, false, RUNNING},
    {"nancumprod", 1, false, RUNNING},
    {"softmax", 1, false, WRITTEN},
    {"log_softmax", 1, false, WRITTEN},
    {"topk", 2, false, NEVER},
    {"partition", 2, false, NEVER},
    {"argpartition", 2, false, NEVER},
    {"diff", 2, false, NEVER},
    {"flip", 1, false, NEVER},
    {"roll", 2, false, NEVER},
    {"repeat", 2, false, NEVER},
    {"take", 2, false, NEVER},
};

/* ---- parts --------------------------------------------------------------------------------------- */

static kiln_node moved(kiln_node x, int from, int to, size_t at)
{
    const int64_t axes[] = {from, to};

    return from == to ? x : kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &x, 1, axes, 2, KILN__PLACE(at));
}

/* A value whose length only the device knows as parts. */
static parts parts_of(const kiln__parsed *v)
{
    const int64_t all = -1;
    parts s = {.x = v->node, .at = v->at, .chosen = v->kind == KILN__PARSED_CHOSEN};

    if (s.chosen) {
        s.x = kiln__node_folded(v->node, v->chooser, 0, KILN__PLACE(v->at));
        s.mask = kiln_node_reshape(v->chooser, 1, &all, KILN__PLACE(v->at));
        return s;
    }
    s.axis = v->axis;
    s.count = v->chooser;
    s.mask = kiln_node_op2(KILN_OP_LESS, kiln__node_places(v->node, v->axis, KILN__PLACE(v->at)),
                           v->chooser, KILN__PLACE(v->at));
    return s;
}

void kiln__fold_like(kiln__parsed *v, const kiln__parsed *other)
{
    const int64_t all = -1;

    if (!kiln__is_counted(v) || !kiln__is_counted(other) || v->kind != KILN__PARSED_CHOSEN ||
        other->kind != KILN__PARSED_CHOSEN || v->chooser.id == other->chooser.id)
        return;
    const kiln_node flat = kiln_node_reshape(v->chooser, 1, &all, KILN__PLACE(v->at));
    if (flat.id != other->chooser.id)
        return;
    v->node = kiln__node_folded(v->node, v->chooser, 0, KILN__PLACE(v->at));
    v->chooser = flat;
}

/* Parts as such that count first. */
static parts first_parts(const parts *given)
{
    parts s = *given;
    kiln__parsed v = {.kind = KILN__PARSED_CHOSEN, .at = s.at, .node = s.x, .chooser = s.mask};
    kiln_node both[2];

    if (!s.chosen)
        return s;
    kiln__counted_result(&v, both);
    s.x = both[0];
    s.count = both[1];
    s.chosen = false;
    s.mask = kiln_node_op2(KILN_OP_LESS, kiln__node_places(s.x, 0, KILN__PLACE(s.at)), s.count,
                           KILN__PLACE(s.at));
    return s;
}

/* The mask in the shape of the array. */
static kiln_node mask_of(const parts *s)
{
    const kiln_node turned = moved(s->x, s->axis, 0, s->at);

    return moved(kiln__node_mask_of(s->mask, turned, false, KILN__PLACE(s->at)), 0, s->axis, s->at);
}

/* A value of the array's parts, as many as before, along `axis`. */
static void give(const parts *s, kiln_node node, int axis, kiln__parsed *out)
{
    memset(out, 0, sizeof *out);
    out->at = s->at;
    out->width = 1;
    if (s->chosen) {
        kiln__choose(node, s->mask, s->at, out);
        return;
    }
    kiln__set_node(out, node);
    out->kind = KILN__PARSED_COUNTED;
    out->chooser = s->count;
    out->axis = axis;
    out->parts = true;
}

kiln__parsed kiln__elements_of_parts(const kiln__parsed *v)
{
    const parts s = parts_of(v);
    kiln__parsed out = *v;

    kiln__choose(s.x, mask_of(&s), s.at, &out);
    return out;
}

/* ---- axes ---------------------------------------------------------------------------------------- */

/* The axes of a call; none are all. */
typedef struct axes {
    int64_t axis[KILN_RANK_MAX];
    size_t count;
    bool over;    /* one of them is that of the parts */
    int64_t less; /* how many of them stand before that one, or behind it where it is counted from the end */
} axes;

static kiln_status refuse(const kiln__parser *p, const kiln__parsed_call *c, const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_UNSUPPORTED,
                            "%.*s of elements whose number only the device knows %s", (int)c->bytes,
                            c->name, what);
}

static kiln_status read_axes(const kiln__parser *p, const kiln__parsed *v, const parts *s, axes *out)
{
    memset(out, 0, sizeof *out);
    if (v->width == 0 || v->kind == KILN__PARSED_NONE) {
        out->over = true;
        return KILN_OK;
    }
    out->count = v->kind == KILN__PARSED_TUPLE ? v->count : 1;
    if (out->count > KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has so many axes");
    for (size_t k = 0; k < out->count; k++) {
        kiln__parsed one = *v;
        if (v->kind == KILN__PARSED_TUPLE)
            kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_literal(p, &one, &out->axis[k]));
        const int64_t axis = out->axis[k];
        if (axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
        out->over = out->over || axis == s->axis;
        out->less += (axis < 0) == (s->axis < 0) && (axis < 0 ? axis > s->axis : axis < s->axis);
    }
    return KILN_OK;
}

/* Have planning check that no axis which is counted from the other end is that of the parts. */
static void check_axes(const axes *a, parts *s)
{
    for (size_t k = 0; k < a->count; k++)
        if ((a->axis[k] < 0) != (s->axis < 0))
            s->x = kiln__node_apart(s->x, a->axis[k], s->axis, KILN__PLACE(s->at));
}

/* ---- along another axis -------------------------------------------------------------------------- */

/* An array that is given by name, as keys and weights are, in the shape of all parts. */
static kiln_status match_named(const kiln__parser *p, const parts *s, const kiln__parsed *own,
                               kiln__parsed *v)
{
    if (kiln__is_counted(v)) {
        if (v->kind != own->kind || v->chooser.id != own->chooser.id)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_UNSUPPORTED,
                                    "beside elements whose number only the device knows stands what "
                                    "the same mask chooses");
        kiln__set_node(v, parts_of(v).x);
    } else if (v->kind == KILN__PARSED_NODE && !kiln__is_of_numbers(p, &v->node)) {
        v->node = kiln__node_beside(v->node, s->x, NULL, s->axis, KILN__PLACE(v->at));
    }
    return KILN_OK;
}

/* The function of all parts: the same ones count of the result. */
static kiln_status along(kiln__parser *p, kiln__parsed_call *c, const parts *s, const axes *a,
                         bool reduces, kiln__parsed *out)
{
    const bool keeps = c->keepdims.width != 0 && c->keepdims.kind == KILN__PARSED_NODE &&
                       c->keepdims.node.kind == KILN_NODE_BOOL && c->keepdims.node.value.b;
    const bool shrinks = reduces && !keeps;
    const int axis = s->axis - (shrinks ? (int)(s->axis < 0 ? -a->less : a->less) : 0);

    for (size_t k = 0; shrinks && s->axis != 0 && k < a->count; k++)
        if ((a->axis[k] < 0) != (s->axis < 0))
            return refuse(p, c,
                          s->axis < 0 ? "takes axes here that are counted from the last one, as axis=-1"
                                      : "takes axes here that are counted from the first one, as axis=1");
    for (size_t k = 0; k < c->named_count; k++)
        KILN_CHECK(match_named(p, s, &c->arg[0], &c->named[k].value));
    kiln__set_node(&c->arg[0], s->x);
    KILN_CHECK(p->call(p, c, out));
    if (out->kind == KILN__PARSED_NODE) {
        give(s, out->node, axis, out);
        return KILN_OK;
    }
    if (out->kind != KILN__PARSED_TUPLE)
        return refuse(p, c, "is not known along an axis");
    kiln__parsed *const values = kiln__parser_keep(p, out->count * sizeof *values);
    if (values == NULL)
        return kiln__fail_memory(p->err, out->count * sizeof *values);
    for (size_t k = 0; k < out->count; k++)
        give(s, out->items[k], axis, &values[k]);
    out->kind = KILN__PARSED_SEVERAL;
    out->values = values;
    return KILN_OK;
}

/* ---- along the axis of the parts ------------------------------------------------------------------- */

static void name_call(kiln__parsed_call *c, const char *name)
{
    c->name = name;
    c->bytes = strlen(name);
}

static kiln_node where(const parts *s, kiln_node condition, kiln_node x, kiln_node y)
{
    return kiln_node_op3(KILN_OP_WHERE, condition, x, y, KILN__PLACE(s->at));
}

static kiln_node op2(const parts *s, kiln_op op, kiln_node x, kiln_node y)
{
    return kiln_node_op2(op, x, y, KILN__PLACE(s->at));
}

/* The reduction `name` of x where a condition is true. */
static kiln_status by_where(kiln__parser *p, kiln__parsed_call *c, const parts *s, const char *name,
                            kiln_node condition, kiln__parsed *out)
{
    if (c->named_count == KILN__NAMED_MAX)
        return refuse(p, c, "does not take so many arguments");
    if (c->count > 1) /* where= is a name of rows, which take no axis in its place */
        c->axis = c->arg[--c->count];
    name_call(c, name);
    kiln__set_node(&c->arg[0], s->x);
    c->named[c->named_count].name = "where";
    c->named[c->named_count].bytes = 5;
    c->named[c->named_count].value = c->arg[0];
    kiln__set_node(&c->named[c->named_count++].value, condition);
    return p->call(p, c, out);
}

/* A row of written_rows.c for parts: _over_NAME(x, mask, at, axis, keepdims). */
static kiln_status by_row(kiln__parser *p, kiln__parsed_call *c, const parts *s, kiln__parsed *out)
{
    static const char prefix[] = KILN__ROW_OVER_COUNTED;
    char *const name = kiln__parser_keep(p, c->bytes + sizeof prefix);
    bool known = false;

    if (name == NULL)
        return kiln__fail_memory(p->err, c->bytes + sizeof prefix);
    memcpy(name, prefix, sizeof prefix);
    memcpy(name + sizeof prefix - 1, c->name, c->bytes);
    if (c->count > 1)
        c->axis = c->arg[--c->count];
    c->arg[1] = c->arg[2] = c->arg[0];
    kiln__set_node(&c->arg[0], s->x);
    kiln__set_node(&c->arg[1], mask_of(s));
    kiln__set_node(&c->arg[2], kiln_node_of_int(s->axis));
    c->count = 3;
    name_call(c, name);
    KILN_CHECK(kiln__apply_written(p, c, out, &known));
    return KILN_OK;
}

/* argmax and argmin: where they are found among the parts that count. */
static kiln_status by_first(kiln__parser *p, kiln__parsed_call *c, const parts *given,
                            kiln__parsed *out)
{
    const parts s = first_parts(given);
    const kiln_node first = kiln_node_slice(s.x, s.axis, 0, 1, 1, KILN__PLACE(s.at));

    kiln__set_node(&c->arg[0], where(&s, mask_of(&s), s.x, first));
    KILN_CHECK(p->call(p, c, out));
    kiln__set_node(out, kiln__node_need(op2(&s, KILN_OP_GREATER, s.count, kiln_node_of_int(0)), out->node,
                                        s.count, KILN__NEEDS_ELEMENT, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* Medians and quantiles: other parts are NaN. Where a part that counts is one, so is the result, unless the
 * function leaves them out. */
static kiln_status by_nan(kiln__parser *p, kiln__parsed_call *c, const parts *s, kiln__parsed *out)
{
    static const char *const names[][2] = {{"median", "nanmedian"},
                                           {"quantile", "nanquantile"},
                                           {"percentile", "nanpercentile"}};
    const kiln_node mask = mask_of(s), nan = kiln_node_of_float(NAN);
    const kiln_node holds = op2(s, KILN_OP_BITWISE_AND, mask, op2(s, KILN_OP_NOT_EQUAL, s->x, s->x));
    const char *other = NULL;
    kiln__parsed_call *const any = kiln__parser_keep(p, sizeof *any);

    if (any == NULL)
        return kiln__fail_memory(p->err, sizeof *any);
    for (size_t k = 0; k < KILN_COUNT_OF(names); k++)
        other = kiln__same_word(c->name, c->bytes, names[k][0]) ? names[k][1] : other;
    *any = (kiln__parsed_call){.at = c->at, .count = 1, .axis = c->axis, .keepdims = c->keepdims};
    any->arg[0] = c->arg[0];
    const size_t axis_at = memcmp(c->name + c->bytes - 6, "median", 6) == 0 ? 1 : 2;
    if (c->count > axis_at)
        any->axis = c->arg[axis_at];
    kiln__set_node(&any->arg[0], holds);
    kiln__set_node(&c->arg[0], where(s, mask, s->x, nan));
    if (other == NULL)
        return p->call(p, c, out);
    name_call(any, "any");
    name_call(c, other);
    KILN_CHECK(p->call(p, c, out));
    const kiln_node found = out->node;
    KILN_CHECK(p->call(p, any, out));
    kiln__set_node(out, where(s, out->node, nan, found));
    return KILN_OK;
}

/* sort and argsort: the order of all parts, and in that order those that count first. */
static kiln_status by_order(kiln__parser *p, kiln__parsed_call *c, const parts *given,
                            kiln__parsed *out)
{
    const bool sorts = kiln__same_word(c->name, c->bytes, "sort");
    const parts s = first_parts(given);
    kiln__parsed_call *const last = kiln__parser_keep(p, sizeof *last);

    if (last == NULL)
        return kiln__fail_memory(p->err, sizeof *last);
    kiln__set_node(&c->arg[0], s.x);
    name_call(c, "argsort");
    KILN_CHECK(p->call(p, c, out));
    kiln_node order = out->node;
    *last = (kiln__parsed_call){.name = "argsort", .bytes = 7, .at = c->at, .count = 2};
    last->arg[0] = last->arg[1] = c->arg[0];
    kiln__set_node(&last->arg[0], op2(&s, KILN_OP_GREATER_EQUAL, order, s.count));
    kiln__set_node(&last->arg[1], kiln_node_of_int(s.axis));
    KILN_CHECK(p->call(p, last, out));
    order = kiln_node_take_along_axis(order, out->node, s.axis, KILN_INDEX_CLIP, KILN__PLACE(s.at));
    give(&s, sorts ? kiln_node_take_along_axis(s.x, order, s.axis, KILN_INDEX_CLIP, KILN__PLACE(s.at)) : order,
         s.axis, out);
    return KILN_OK;
}

static kiln_status by_running(kiln__parser *p, kiln__parsed_call *c, const parts *given,
                              kiln__parsed *out)
{
    const parts s = first_parts(given);

    kiln__set_node(&c->arg[0], s.x);
    KILN_CHECK(p->call(p, c, out));
    give(&s, out->node, s.axis, out);
    return KILN_OK;
}

static kiln_status along_parts(kiln__parser *p, kiln__parsed_call *c, const parts *s, over how,
                               kiln__parsed *out)
{
    static const char *const known[] = {"ddof", "initial", "descending"};
    const kiln_node neutral = kiln_node_of_bool(how == ONE);
    const kiln_node real = op2(s, KILN_OP_EQUAL, s->x, s->x);

    for (size_t k = 0; k < c->named_count; k++) {
        bool takes = false;
        for (size_t j = 0; j < KILN_COUNT_OF(known); j++)
            takes = takes || kiln__same_word(c->named[k].name, c->named[k].bytes, known[j]);
        if (!takes)
            return refuse(p, c, "takes no such arguments along the axis that they are counted along");
    }
    switch (how) {
    case WHERE: {
        const char *const name = kiln__parser_name(p, c->name, c->bytes);
        return name == NULL ? kiln__fail_memory(p->err, c->bytes)
                            : by_where(p, c, s, name, mask_of(s), out);
    }
    case NAN_FREE: {
        const char *const name = kiln__parser_name(p, c->name + 3, c->bytes - 3);
        return name == NULL ? kiln__fail_memory(p->err, c->bytes)
                            : by_where(p, c, s, name, op2(s, KILN_OP_BITWISE_AND, mask_of(s), real), out);
    }
    case ZERO:
    case ONE:
        kiln__set_node(&c->arg[0], where(s, mask_of(s), s->x, neutral));
        return p->call(p, c, out);
    case EXTREME:
        return by_row(p, c, s, out);
    case PLACE:
        return by_first(p, c, s, out);
    case RANKED:
        return by_nan(p, c, s, out);
    case ORDER:
        return by_order(p, c, s, out);
    case RUNNING:
        return by_running(p, c, s, out);
    case WRITTEN:
    case NEVER:
        break;
    }
    return refuse(p, c, "is not known along the axis that they are counted along");
}

/* ---- the call -------------------------------------------------------------------------------------- */

kiln_status kiln__apply_parts(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out, bool *known)
{
    size_t k = 0;

    if (c->count == 0 || !kiln__is_counted(&c->arg[0]))
        return KILN_OK;
    while (k < KILN_COUNT_OF(functions) && !kiln__same_word(c->name, c->bytes, functions[k].name))
        k++;
    if (k == KILN_COUNT_OF(functions))
        return KILN_OK;
    const kiln__parsed *axis = c->count > functions[k].axis_at ? &c->arg[functions[k].axis_at] : &c->axis;
    const bool given = axis->width != 0 && axis->kind != KILN__PARSED_NONE;
    const bool keeps = c->keepdims.width != 0 && c->keepdims.kind != KILN__PARSED_NONE;
    const bool counted = c->arg[0].kind == KILN__PARSED_COUNTED && c->arg[0].parts;
    const bool vector = given && !functions[k].reduces && axis->kind == KILN__PARSED_NODE &&
                        axis->node.kind == KILN_NODE_INT && axis->node.value.i < 0 && !counted;
    if (vector || (!given && !(functions[k].reduces && (keeps || counted))))
        return KILN_OK; /* of all elements (counted.c), or of a vector */
    parts s = parts_of(&c->arg[0]);
    axes a;
    KILN_CHECK(read_axes(p, axis, &s, &a));
    if (a.over && functions[k].over == WRITTEN)
        return KILN_OK;
    check_axes(&a, &s);
    *known = true;
    return a.over ? along_parts(p, c, &s, functions[k].over, out)
                  : along(p, c, &s, &a, functions[k].reduces, out);
}

/* ---- shapes ---------------------------------------------------------------------------------------- */

/* How many parts count, as a plain number. */
static kiln_node number_of(const parts *s)
{
    const kiln_node count = s->chosen ? kiln_node_reduce(KILN_REDUCE_SUM, s->mask, NULL, false,
                                                         KILN_DTYPE_NONE, KILN__PLACE(s->at))
                                      : s->count;
    return kiln__node_weak(count, KILN__PLACE(s->at));
}

static kiln_node extent(const parts *s, int64_t axis)
{
    return kiln__node_extent(s->x, axis, -1, KILN__PLACE(s->at));
}

kiln_status kiln__extent_of_parts(const kiln__parser *p, const kiln__parsed *v, int64_t axis,
                                  kiln__parsed *out)
{
    parts s = parts_of(v);

    (void)p;
    if ((axis < 0) != (s.axis < 0))
        s.x = kiln__node_apart(s.x, axis, s.axis, KILN__PLACE(v->at));
    kiln__set_node(out, axis == s.axis ? number_of(&s) : extent(&s, axis));
    return KILN_OK;
}

kiln_node kiln__size_of_parts(const kiln__parsed *v)
{
    const parts s = parts_of(v);
    const kiln_node along = op2(&s, KILN_OP_MAXIMUM, extent(&s, s.axis), kiln_node_of_int(1));

    return op2(&s, KILN_OP_MULTIPLY, number_of(&s),
               op2(&s, KILN_OP_FLOOR_DIVIDE, extent(&s, KILN__EXTENT_ALL), along));
}

kiln_status kiln__member_of_parts(kiln__parser *p, const kiln__parsed *v, size_t at, size_t bytes,
                                  kiln__parsed *out, bool *known)
{
    const char *const name = p->text + at;

    *known = true;
    if (kiln__same_word(name, bytes, "T")) {
        parts s = parts_of(v);
        s = first_parts(&s);
        give(&s, kiln_node_transpose(s.x, NULL, KILN__PLACE(at)), -1 - s.axis, out);
    } else if (kiln__same_word(name, bytes, "size")) {
        kiln__set_node(out, kiln__size_of_parts(v));
    } else if (kiln__same_word(name, bytes, "ndim")) {
        const parts s = parts_of(v);
        kiln__set_node(out, extent(&s, KILN__EXTENT_RANK));
    } else if (kiln__same_word(name, bytes, "shape")) {
        kiln__parsed *const kept = kiln__parser_keep(p, sizeof *kept);
        if (kept == NULL)
            return kiln__fail_memory(p->err, sizeof *kept);
        *kept = *v;
        out->kind = KILN__PARSED_SHAPE;
        out->values = kept;
    } else {
        *known = false;
    }
    return KILN_OK;
}

/* ---- products -------------------------------------------------------------------------------------- */

kiln_status kiln__multiply_parts(kiln__parser *p, const kiln__parsed *x, kiln__parsed *y, size_t at,
                                 kiln__parsed *out)
{
    const parts s = parts_of(x);

    if (kiln__is_counted(y))
        return kiln__parse_fail(p, y->at, y->width, KILN_ERR_UNSUPPORTED,
                                "products sum along the last axis of the first array and the last but one of "
                                "the second, and of the second only the device knows the extents: "
                                "dot(x[m], y[m]) is known of vectors");
    if (s.axis != 0)
        return kiln__parse_fail(p, x->at, x->width, KILN_ERR_UNSUPPORTED,
                                "rows whose number only the device knows may be multiplied, and no columns");
    KILN_CHECK(kiln__need_node(p, y));
    const kiln_node rows = kiln__node_ranked(s.x, 2, KILN_RANK_MAX, KILN__HINT_NONE, KILN__PLACE(x->at));
    const kiln_node columns = kiln__node_ranked(y->node, 1, 2, KILN__HINT_NONE, KILN__PLACE(y->at));
    give(&s, kiln_node_matmul(rows, columns, KILN__PLACE(at)), 0, out);
    return KILN_OK;
}
