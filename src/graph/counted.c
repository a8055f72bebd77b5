/*
 * counted.c - functions of chosen values (choosing.c), and of arrays whose length only the device
 * knows.
 *
 *     mean(x[mask])          > a row of written_rows.c: mean(x, mask), elements in their places
 *     sort(x[mask])          > the compacted elements and their number
 *                            > a row: sort(values, count) > a counted value again
 *     x[flatnonzero(mask)]   > a row: take(x, places, count) > a counted value
 *     round(x[mask], 2)      > round(x, 2) with the same mask
 *
 * A *counted value* is an array with room for all elements, and the number of valid ones.
 * Rule: the elements behind that number are undefined. A row computes them in vain, or sorts them
 *       last.
 *
 * calls.c, parse.c and lengths.c call this file. Test: test_choosing.
 */
#include <math.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

/* How a function NAME is computed of a value whose length only the device knows. Most ways call a
 * function of written_rows.c, _of_NAME or _in_NAME, with two arguments in the place of that value. */
typedef enum way {
    REDUCED,  /* the reduction of an array in which other elements are neutral (choosing.c) */
    IN_PLACE, /* _of_NAME(array, mask), elements in their places: one value */
    FLAT,     /* _of_NAME(values, count), compacted in C-order: an array of known shape */
    VECTOR,   /* _of_NAME(values, count): values and a count again */
    ELEMENTS, /* VECTOR, of parts that are chosen all elements in C-order */
    SECOND,   /* VECTOR, where the second argument is such a value */
    AMONG,    /* _in_NAME(x, values, count) where the second argument is such a value */
    SOUGHT,   /* FLAT by _in_NAME(values, count, ...), the first argument */
    MAPPED    /* NAME itself for all elements; the same ones are chosen again */
} way;

/* The first row whose name and way fit a call is taken. */
static const struct {
    const char *name;
    way way;
} functions[] = {
    {"sum", REDUCED},
    {"prod", REDUCED},
    {"any", REDUCED},
    {"all", REDUCED},
    {"count_nonzero", REDUCED},
    {"mean", IN_PLACE},
    {"var", IN_PLACE},
    {"std", IN_PLACE},
    {"min", IN_PLACE},
    {"amin", IN_PLACE},
    {"max", IN_PLACE},
    {"amax", IN_PLACE},
    {"ptp", IN_PLACE},
    {"nansum", IN_PLACE},
    {"nanprod", IN_PLACE},
    {"nanmean", IN_PLACE},
    {"nanvar", IN_PLACE},
    {"nanstd", IN_PLACE},
    {"nanmin", IN_PLACE},
    {"nanmax", IN_PLACE},
    {"nanmedian", IN_PLACE},
    {"nanquantile", IN_PLACE},
    {"nanpercentile", IN_PLACE},
    {"norm", IN_PLACE},
    {"average", IN_PLACE},
    {"dot", IN_PLACE},
    {"inner", IN_PLACE},
    {"histogram", IN_PLACE},
    {"histogram2d", IN_PLACE},
    {"bincount", IN_PLACE},
    {"median", FLAT},
    {"quantile", FLAT},
    {"percentile", FLAT},
    {"topk", FLAT},
    {"argmax", FLAT},
    {"argmin", FLAT},
    {"sort", VECTOR},
    {"argsort", VECTOR},
    {"unique", ELEMENTS},
    {"diff", VECTOR},
    {"ediff1d", ELEMENTS},
    {"cumsum", ELEMENTS},
    {"cumprod", ELEMENTS},
    {"cummax", ELEMENTS},
    {"cummin", ELEMENTS},
    {"isin", MAPPED},
    {"in1d", ELEMENTS},
    {"flip", VECTOR},
    {"roll", VECTOR},
    {"repeat", ELEMENTS},
    {"tile", VECTOR},
    {"ravel", ELEMENTS},
    {"flatten", ELEMENTS},
    {"union1d", ELEMENTS},
    {"intersect1d", ELEMENTS},
    {"setdiff1d", ELEMENTS},
    {"searchsorted", SECOND},
    {"take", SECOND},
    {"isin", AMONG},
    {"in1d", AMONG},
    {"union1d", AMONG},
    {"intersect1d", AMONG},
    {"setdiff1d", AMONG},
    {"searchsorted", SOUGHT},
    {"round", MAPPED},
    {"around", MAPPED},
    {"cast", MAPPED},
    {"astype", MAPPED},
    {"digitize", MAPPED},
};

/* Whether a call of ELEMENTS has an axis, along which there must be a vector. */
static bool has_axis(const kiln__parsed_call *c)
{
    const bool scans = c->bytes > 3 && memcmp(c->name, "cum", 3) == 0;

    return (c->axis.width != 0 && c->axis.kind != KILN__PARSED_NONE) || (scans && c->count > 1) ||
           (kiln__same_word(c->name, c->bytes, "repeat") && c->count > 2);
}

/* A value as COUNTED, chosen by a mask. */
static kiln__parsed counted_as(const kiln__parsed *v, kiln_node mask, bool parts)
{
    kiln__parsed counted = *v;
    kiln_node both[2];

    if (v->kind == KILN__PARSED_CHOSEN)
        counted.chooser = mask;
    kiln__counted_result(&counted, both);
    kiln__set_node(&counted, both[0]);
    counted.kind = KILN__PARSED_COUNTED;
    counted.chooser = both[1];
    counted.parts = v->kind == KILN__PARSED_CHOSEN ? parts : v->parts;
    return counted;
}

kiln__parsed kiln__as_counted(const kiln__parsed *v, bool parts)
{
    const bool chosen = v->kind == KILN__PARSED_CHOSEN;
    const kiln_node mask = parts || !chosen ? v->chooser
                                            : kiln__node_mask_of(v->chooser, v->node, true,
                                                                 KILN__PLACE(v->at));
    return counted_as(v, mask, parts);
}

static kiln__parsed as_counted(const kiln__parsed *v)
{
    return kiln__as_counted(v, false);
}

/* The elements of chosen parts in C-order, as a vector. */
static kiln__parsed flattened(const kiln__parsed *v)
{
    const kiln__parsed elements = v->kind == KILN__PARSED_COUNTED && v->parts
                                      ? kiln__elements_of_parts(v)
                                      : *v;
    if (elements.kind != KILN__PARSED_CHOSEN)
        return elements;
    return counted_as(&elements,
                      kiln__node_mask_of(elements.chooser, elements.node, false, KILN__PLACE(v->at)),
                      false);
}

/* A value as CHOSEN: elements in their places, and a mask of their shape. */
static kiln__parsed as_chosen(const kiln__parsed *v)
{
    kiln__parsed chosen = *v;

    chosen.kind = KILN__PARSED_CHOSEN;
    chosen.chooser = v->kind == KILN__PARSED_CHOSEN
                      ? kiln__node_mask_of(v->chooser, v->node, false, KILN__PLACE(v->at))
                      : kiln_node_op2(KILN_OP_LESS, kiln_node_iota(v->node, 0, KILN__PLACE(v->at)),
                                      v->chooser, KILN__PLACE(v->at));
    return chosen;
}

kiln_status kiln__call_counted(kiln__parser *p, kiln__parsed_call *c, size_t nth,
                               const kiln__parsed *given, const char *prefix, kiln__parsed *out)
{
    kiln__parsed_call *const row = kiln__parser_keep(p, sizeof *row);
    char *const name = kiln__parser_keep(p, c->bytes + sizeof KILN__ROW_OF_COUNTED);
    bool known = false;

    if (row == NULL || name == NULL)
        return kiln__fail_memory(p->err, sizeof *row);
    if (c->count == KILN__ARGUMENTS_MAX)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "these are too many arguments");
    *row = *c;
    memcpy(name, prefix, sizeof KILN__ROW_OF_COUNTED);
    memcpy(name + sizeof KILN__ROW_OF_COUNTED - 1, c->name, c->bytes);
    row->name = name;
    row->bytes = sizeof KILN__ROW_OF_COUNTED - 1 + c->bytes;
    memmove(row->arg + nth + 2, row->arg + nth + 1, (c->count - nth - 1) * sizeof *row->arg);
    row->count++;
    row->arg[nth].kind = row->arg[nth + 1].kind = KILN__PARSED_NODE;
    row->arg[nth + 1].at = row->arg[nth].at;
    row->arg[nth + 1].width = row->arg[nth].width;
    row->arg[nth].node = given->node;
    row->arg[nth + 1].node = given->chooser;
    KILN_CHECK(kiln__apply_written(p, row, out, &known));
    c->takes = row->takes;
    return known ? KILN_OK
                 : kiln__fail(p->err, KILN_ERR_INTERNAL, "%s is no function of its own", name);
}

void kiln__recount(kiln__parsed *v, int axis, bool parts)
{
    if (v->kind != KILN__PARSED_TUPLE || v->count != 2)
        return;
    const kiln_node values = v->items[0], count = v->items[1];
    kiln__set_node(v, values);
    v->kind = KILN__PARSED_COUNTED;
    v->chooser = count;
    v->axis = axis;
    v->parts = parts;
}

/* Read the axis of take(), along which the result is counted then; -1: none is given. */
static kiln_status read_axis(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out)
{
    const kiln__parsed *v = c->count > 2 ? &c->arg[2] : &c->axis;

    *out = -1;
    if (v->width == 0 || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    KILN_CHECK(kiln__need_literal(p, v, out));
    if (*out < 0 || *out >= KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS,
                                "an axis that is counted from the first one must stand beside "
                                "indices whose number only the device knows");
    return KILN_OK;
}

static kiln_status apply_second(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed given = as_counted(&c->arg[1]);
    int64_t axis = -1;

    if (kiln__same_word(c->name, c->bytes, "take"))
        KILN_CHECK(read_axis(p, c, &axis));
    KILN_CHECK(kiln__call_counted(p, c, 1, &given, KILN__ROW_OF_COUNTED, out));
    kiln__recount(out, axis < 0 ? 0 : (int)axis, axis >= 0);
    return KILN_OK;
}

/* MAPPED. */
static kiln_status apply_mapped(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed v = c->arg[0];
    const kiln_node node = v.node;

    kiln__set_node(&c->arg[0], node);
    KILN_CHECK(p->call(p, c, out));
    KILN_CHECK(kiln__need_node(p, out));
    out->kind = v.kind;
    out->chooser = v.chooser;
    out->axis = v.axis;
    out->parts = v.parts;
    return KILN_OK;
}

/* quantile(x[m], q, method=...), by nanquantile() of an array with NaN in place of elements that
 * are not chosen. The result is NaN if a chosen element is. */
static kiln_status apply_method(kiln__parser *p, kiln__parsed_call *c, const kiln__parsed *chosen,
                                kiln__parsed *out)
{
    const bool hundreds = kiln__same_word(c->name, c->bytes, "percentile");
    const kiln_node x = chosen->node, nan = kiln_node_of_float(NAN);
    const kiln_node is_nan = kiln_node_op2(
        KILN_OP_BITWISE_AND, chosen->chooser,
        kiln_node_op2(KILN_OP_NOT_EQUAL, x, x, KILN__PLACE(c->at)), KILN__PLACE(c->at));
    const kiln_node any =
        kiln_node_reduce(KILN_REDUCE_ANY, is_nan, NULL, false, KILN_DTYPE_NONE, KILN__PLACE(c->at));
    const char *const name = c->name;
    const size_t bytes = c->bytes;

    c->name = hundreds ? "nanpercentile" : "nanquantile";
    c->bytes = strlen(c->name);
    kiln__set_node(&c->arg[0],
                   kiln_node_op3(KILN_OP_WHERE, chosen->chooser, x, nan, KILN__PLACE(c->at)));
    KILN_CHECK(p->call(p, c, out));
    c->name = name;
    c->bytes = bytes;
    kiln__set_node(out, kiln_node_op3(KILN_OP_WHERE, any, nan, out->node, KILN__PLACE(c->at)));
    return KILN_OK;
}

/* Whether the same mask, or the same call, decides the length of two values. */
static bool same_length(const kiln__parsed *v, const kiln__parsed *other)
{
    return kiln__is_counted(other) && other->kind == v->kind && other->chooser.id == v->chooser.id;
}

/* IN_PLACE, FLAT, VECTOR, ELEMENTS and SOUGHT: the first argument has the unknown length. IN_PLACE takes
 * other arguments of the same length as arrays, too. */
static kiln_status apply_first(kiln__parser *p, kiln__parsed_call *c, way how, kiln__parsed *out)
{
    const kiln__parsed v = how == ELEMENTS && !has_axis(c) ? flattened(&c->arg[0]) : c->arg[0];
    const kiln__parsed chosen = how == VECTOR || how == ELEMENTS ? v : as_chosen(&v);
    if (how == FLAT && c->mode_bytes > 0 && c->method)
        return apply_method(p, c, &chosen, out);
    const kiln__parsed given = how == IN_PLACE ? chosen : as_counted(&chosen);

    for (size_t k = 1; how == IN_PLACE && k < c->count; k++)
        if (same_length(&v, &c->arg[k]))
            kiln__set_node(&c->arg[k], c->arg[k].node);
    for (size_t k = 0; how == IN_PLACE && k < c->named_count; k++)
        if (same_length(&v, &c->named[k].value))
            kiln__set_node(&c->named[k].value, c->named[k].value.node);
    if (how == FLAT && c->count > 1 && c->arg[1].kind == KILN__PARSED_TUPLE)
        KILN_CHECK(kiln__number_list(p, &c->arg[1], 0));
    KILN_CHECK(kiln__call_counted(
        p, c, 0, &given, how == SOUGHT ? KILN__ROW_AMONG_COUNTED : KILN__ROW_OF_COUNTED, out));
    if (how == VECTOR || how == ELEMENTS)
        kiln__recount(out, 0, false);
    return KILN_OK;
}

/* Whether a call fits a row: its name, and the argument with the unknown length. */
static bool row_fits(const kiln__parsed_call *c, const char *name, way how)
{
    const size_t nth = how == SECOND || how == AMONG;

    return kiln__same_word(c->name, c->bytes, name) && c->count > nth &&
           kiln__is_counted(&c->arg[nth]) &&
           (how == MAPPED || (how == ELEMENTS && !has_axis(c)) || !c->arg[nth].parts);
}

static bool is_minus_one(const kiln__parsed *v)
{
    const kiln_node *n = v->kind == KILN__PARSED_TUPLE && v->count == 1 ? v->items : &v->node;

    return (n == v->items || v->kind == KILN__PARSED_NODE) && n->kind == KILN_NODE_INT &&
           n->value.i == -1;
}

static bool is_dtype_call(const kiln__parsed_call *c)
{
    return c->count == 1 && kiln_dtype_from_name(c->name, c->bytes) != KILN_DTYPE_NONE;
}

kiln_status kiln__apply_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    size_t k = 0;

    if (kiln__same_word(c->name, c->bytes, "reshape") && c->count == 2 && is_minus_one(&c->arg[1]) &&
        kiln__is_counted(&c->arg[0])) {
        c->name = "ravel";
        c->bytes = 5;
        c->count = 1;
    }
    while (k < KILN_COUNT_OF(functions) && !row_fits(c, functions[k].name, functions[k].way))
        k++;
    const bool casts = is_dtype_call(c) && kiln__is_counted(&c->arg[0]);
    if (k == KILN_COUNT_OF(functions) && !casts)
        return KILN_OK;
    const way how = casts ? MAPPED : functions[k].way;
    kiln__parsed *const v = &c->arg[how == SECOND || how == AMONG];
    if (how == REDUCED) { /* choosing.c */
        if (v->kind == KILN__PARSED_COUNTED)
            *v = as_chosen(v);
        return KILN_OK;
    }
    *known = true;
    if (how == SECOND)
        return apply_second(p, c, out);
    if (how == MAPPED)
        return apply_mapped(p, c, out);
    if (how != AMONG)
        return apply_first(p, c, how, out);
    const kiln__parsed given = as_counted(v);
    return kiln__call_counted(p, c, 1, &given, KILN__ROW_AMONG_COUNTED, out);
}

kiln_status kiln__take_counted(kiln__parser *p, const kiln__parsed *x, const kiln__parsed *indices,
                               kiln__parsed *out)
{
    kiln__parsed_call *const c = kiln__parser_keep(p, sizeof *c);

    if (c == NULL)
        return kiln__fail_memory(p->err, sizeof *c);
    *c = (kiln__parsed_call){.name = "take", .bytes = 4, .at = x->at, .count = 2};
    c->arg[0] = *x;
    c->arg[1] = *indices;
    c->axis = *indices; /* its place */
    kiln__set_node(&c->axis, kiln_node_of_int(0));
    return apply_second(p, c, out);
}
