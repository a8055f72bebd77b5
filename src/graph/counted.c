/*
 * counted.c - functions of what a mask chooses, and of arrays whose length only the device knows.
 *
 *     mean(x[mask])          > a row of written.c: mean(x, mask), in the elements' places
 *     sort(x[mask])          > the elements next to each other, and how many they are
 *                            > a row: sort(values, count) > a counted value again
 *     x[flatnonzero(mask)]   > a row: take(x, places, count) > a counted value
 *
 * Rule: what stands behind the first `count` values is not known; a row looks at it in vain, or puts it last.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* What a row is given, and gives. */
typedef enum way {
    REDUCED,  /* no row: the reduction itself knows masks */
    IN_PLACE, /* an array and a mask of its shape: one value */
    FLAT,     /* a vector of all elements that are chosen, and how many: values that have a length */
    VECTOR,   /* values and how many: the same again */
    SECOND    /* the same, behind an array */
} way;

static const struct {
    const char *name;
    way way;
} functions[] = {
    {"sum", REDUCED},    {"prod", REDUCED},      {"any", REDUCED},    {"all", REDUCED},
    {"mean", IN_PLACE},  {"var", IN_PLACE},      {"std", IN_PLACE},   {"min", IN_PLACE},
    {"amin", IN_PLACE},  {"max", IN_PLACE},      {"amax", IN_PLACE},  {"ptp", IN_PLACE},
    {"median", FLAT},    {"quantile", FLAT},     {"percentile", FLAT}, {"topk", FLAT},
    {"sort", VECTOR},    {"argsort", VECTOR},    {"unique", VECTOR},  {"diff", VECTOR},
    {"cumsum", VECTOR},  {"cumprod", VECTOR},    {"cummax", VECTOR},  {"cummin", VECTOR},
    {"isin", VECTOR},    {"searchsorted", SECOND}, {"take", SECOND},  {"count_nonzero", REDUCED},
};

/* A vector and how many of its elements count. */
static kiln__parsed counted_of(const kiln__parsed *v)
{
    kiln__parsed counted = *v;
    kiln_node both[2];

    if (v->kind == KILN__PARSED_CHOSEN)
        counted.mask = kiln__node_mask_of(v->mask, v->node, true, KILN__PLACE(v->at));
    kiln__counted_result(&counted, both);
    kiln__set_node(&counted, both[0]);
    counted.kind = KILN__PARSED_COUNTED;
    counted.mask = both[1];
    return counted;
}

/* The same as values and a mask of their shape. */
static kiln__parsed chosen_of(const kiln__parsed *v)
{
    kiln__parsed chosen = *v;

    chosen.kind = KILN__PARSED_CHOSEN;
    chosen.mask = v->kind == KILN__PARSED_CHOSEN
                      ? kiln__node_mask_of(v->mask, v->node, false, KILN__PLACE(v->at))
                      : kiln_node_op2(KILN_OP_LESS, kiln_node_iota(v->node, 0, KILN__PLACE(v->at)),
                                      v->mask, KILN__PLACE(v->at));
    return chosen;
}

/* Call the row of a function: `nth` argument in two, the array and what tells its length. */
static kiln_status call_row(kiln__parser *p, kiln__parsed_call *c, size_t nth,
                            const kiln__parsed *given, kiln__parsed *out)
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
    memcpy(name, KILN__ROW_OF_COUNTED, sizeof KILN__ROW_OF_COUNTED);
    memcpy(name + sizeof KILN__ROW_OF_COUNTED - 1, c->name, c->bytes);
    row->name = name;
    row->bytes = sizeof KILN__ROW_OF_COUNTED - 1 + c->bytes;
    memmove(row->arg + nth + 2, row->arg + nth + 1, (c->count - nth - 1) * sizeof *row->arg);
    row->count++;
    row->arg[nth].kind = row->arg[nth + 1].kind = KILN__PARSED_NODE;
    row->arg[nth + 1].at = row->arg[nth].at;
    row->arg[nth + 1].width = row->arg[nth].width;
    row->arg[nth].node = given->node;
    row->arg[nth + 1].node = given->mask;
    KILN_CHECK(kiln__apply_written(p, row, out, &known));
    c->takes = row->takes;
    return known ? KILN_OK
                 : kiln__fail(p->err, KILN_ERR_INTERNAL, "%s is no function of its own", name);
}

/* Two values of a row are a counted one. */
static void recount(kiln__parsed *v, int axis, bool parts)
{
    if (v->kind != KILN__PARSED_TUPLE || v->count != 2)
        return;
    const kiln_node values = v->items[0], count = v->items[1];
    kiln__set_node(v, values);
    v->kind = KILN__PARSED_COUNTED;
    v->mask = count;
    v->axis = axis;
    v->parts = parts;
}

/* The axis along which elements are taken: results are counted along it. */
static kiln_status read_axis(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out)
{
    const kiln__parsed *v = c->count > 2 ? &c->arg[2] : &c->axis;

    *out = -1;
    if (v->width == 0 || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    KILN_CHECK(kiln__need_integer(p, v, out));
    if (*out < 0 || *out >= KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS,
                                "an axis that is counted from the first one must stand beside "
                                "indices whose number only the device knows");
    return KILN_OK;
}

static kiln_status apply_second(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed given = counted_of(&c->arg[1]);
    int64_t axis = -1;

    if (kiln__same_word(c->name, c->bytes, "take"))
        KILN_CHECK(read_axis(p, c, &axis));
    KILN_CHECK(call_row(p, c, 1, &given, out));
    recount(out, axis < 0 ? 0 : (int)axis, axis >= 0);
    return KILN_OK;
}

kiln_status kiln__apply_counted(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    size_t k = 0;

    while (k < KILN_COUNT_OF(functions) && !kiln__same_word(c->name, c->bytes, functions[k].name))
        k++;
    if (k == KILN_COUNT_OF(functions) || c->count == 0)
        return KILN_OK;
    const way how = functions[k].way;
    kiln__parsed *const v = &c->arg[how == SECOND];
    if (c->count <= (size_t)(how == SECOND) || !kiln__is_counted(v) || v->parts)
        return KILN_OK;
    if (how == REDUCED) { /* choosing.c */
        if (v->kind == KILN__PARSED_COUNTED)
            *v = chosen_of(v);
        return KILN_OK;
    }
    *known = true;
    if (how == SECOND)
        return apply_second(p, c, out);
    const kiln__parsed chosen = how == VECTOR ? *v : chosen_of(v);
    const kiln__parsed given = how == IN_PLACE ? chosen : counted_of(&chosen);
    KILN_CHECK(call_row(p, c, 0, &given, out));
    if (how == VECTOR)
        recount(out, 0, false);
    return KILN_OK;
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
