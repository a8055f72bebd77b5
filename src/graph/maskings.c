/*
 * maskings.c - masks among other subscripts, x[m, 1:3] and x[:, m], and in their place index
 * vectors whose length only the device knows.
 *
 *     x[m, 0], x[0, m, None]  > the mask's axes joined, then the other subscripts > chosen value
 *     x[:, m], x[..., m, 0]   > the same, then the places that the mask names > counted value
 *     x[m, n]                 > the places of each mask, equally many > counted value
 *
 * The axis of the chosen elements stands where NumPy puts it. NumPy treats a mask as one index
 * array for each of its axes. calls.c, parse.c and editing.c call this file.
 *
 * Test: test_choosing.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

/* Subscripts of x, some of which are masks or vectors of indices of unknown length. */
typedef struct masking {
    kiln__subscript list[KILN__SUBSCRIPTS_MAX];
    size_t count, masks; /* all subscripts, and those of that kind */
    size_t first;        /* the first of that kind */
    size_t at;           /* byte of the text */
    kiln_node x;         /* the axes of each mask are folded into one */
    kiln_node mask;      /* if there is one mask: with one axis */
    kiln_node places[KILN__SUBSCRIPTS_MAX]; /* of each: the indices that it names ... */
    kiln_node number[KILN__SUBSCRIPTS_MAX]; /* ... and how many they are */
} masking;

static const kiln__subscript everything = {.kind = KILN_SUBSCRIPT_SLICE,
                                           .number = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1}};

static kiln_node op2(const masking *s, kiln_op op, kiln_node x, kiln_node y)
{
    return kiln_node_op2(op, x, y, KILN__PLACE(s->at));
}

static kiln_node where(const masking *s, kiln_node condition, kiln_node x, kiln_node y)
{
    return kiln_node_op3(KILN_OP_WHERE, condition, x, y, KILN__PLACE(s->at));
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bool takes_axis(const kiln__subscript *one)
{
    return one->kind != KILN_SUBSCRIPT_NEW_AXIS && one->kind != KILN_SUBSCRIPT_ELLIPSIS;
}

static bool leaves_axis(const kiln__subscript *one)
{
    return one->kind == KILN_SUBSCRIPT_SLICE || one->kind == KILN_SUBSCRIPT_NEW_AXIS;
}

/* Fold the axes of each mask into one. Axes behind `...` are counted from the end. */
static void fold(masking *s)
{
    size_t ellipsis = 0;
    int before = 0, behind = 0;

    while (ellipsis < s->count && s->list[ellipsis].kind != KILN_SUBSCRIPT_ELLIPSIS)
        ellipsis++;
    for (size_t k = 0; k < ellipsis; before += takes_axis(&s->list[k++]))
        if (s->list[k].mask != NULL && s->list[k].mask->kind == KILN__PARSED_NODE)
            s->x = kiln__node_folded(s->x, s->list[k].mask->node, before, KILN__PLACE(s->at));
    for (size_t k = s->count; k-- > ellipsis + 1; behind += takes_axis(&s->list[k]))
        if (s->list[k].mask != NULL && s->list[k].mask->kind == KILN__PARSED_NODE)
            s->x = kiln__node_folded(s->x, s->list[k].mask->node, -1 - behind, KILN__PLACE(s->at));
}

/* The axis of the result along which chosen elements lie, if they lie where the masks stand: as
 * many as other subscripts leave before; behind `...` it is counted from the end. */
static int axis_of(const masking *s, size_t first, size_t last)
{
    int before = 0, behind = 0;

    for (size_t k = 0; k < first; before += leaves_axis(&s->list[k++]))
        if (s->list[k].kind == KILN_SUBSCRIPT_ELLIPSIS) {
            for (k = last + 1; k < s->count; k++)
                behind += leaves_axis(&s->list[k]);
            return -1 - behind;
        }
    return before;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Find the places that a subscript names, as a vector with 0 behind the first `number`. */
static void find_places(masking *s, size_t nth, const kiln__parsed *v)
{
    const int64_t all = -1;
    kiln__parsed counted = *v;
    kiln_node both[2];

    if (v->kind == KILN__PARSED_NODE) {
        const kiln_node flat = kiln_node_reshape(v->node, 1, &all, KILN__PLACE(s->at));
        const kiln_node i = kiln__node_places(flat, 0, KILN__PLACE(s->at));
        kiln__choose(i, flat, s->at, &counted);
        s->mask = flat;
    }
    if (counted.kind == KILN__PARSED_CHOSEN) /* they form a vector */
        counted.chooser = kiln__node_mask_of(counted.chooser, counted.node, true, KILN__PLACE(s->at));
    kiln__counted_result(&counted, both);
    const kiln_node i = kiln__node_places(both[0], 0, KILN__PLACE(s->at));
    s->places[nth] = where(s, op2(s, KILN_OP_LESS, i, both[1]), both[0], kiln_node_of_int(0));
    s->number[nth] = both[1];
}

static kiln_node take(const masking *s, kiln_node x, kiln_node indices, int axis)
{
    return kiln_node_take(x, indices, axis, KILN_INDEX_CLIP, KILN__PLACE(s->at));
}

/* Give all subscripts equally many places: a single place is repeated. Returns their number, of a step that
 * reports other numbers (needed.c). */
static kiln_node match_places(masking *s)
{
    const int64_t first = 0;
    const kiln_node one = kiln_node_of_int(1), none = kiln_node_of_int(0);
    const kiln_node all = kiln_node_rearrange(KILN_REARRANGE_CONCATENATE, s->places, s->masks,
                                              &first, 1, KILN__PLACE(s->at));
    const kiln_node i = kiln__node_places(all, 0, KILN__PLACE(s->at));
    kiln_node n = s->number[0], same = {0};

    for (size_t k = 1; k < s->masks; k++)
        n = where(s, op2(s, KILN_OP_EQUAL, n, one), s->number[k], n);
    for (size_t k = 0; k < s->masks; k++) {
        const kiln_node single = op2(s, KILN_OP_EQUAL, s->number[k], one);
        const kiln_node fits =
            op2(s, KILN_OP_LOGICAL_OR, single, op2(s, KILN_OP_EQUAL, s->number[k], n));
        same = k == 0 ? fits : op2(s, KILN_OP_LOGICAL_AND, same, fits);
        s->places[k] = take(s, s->places[k], where(s, single, none, i), 0);
        s->places[k] = where(s, op2(s, KILN_OP_LESS, i, n), s->places[k], none);
    }
    return kiln__node_need(same, n, n, KILN__NEEDS_EQUAL_NUMBERS, KILN__PLACE(s->at));
}

/* ---- results --------------------------------------------------------------------------------- */

static void give_counted(kiln_node values, kiln_node number, int axis, kiln__parsed *out)
{
    kiln__set_node(out, values);
    out->kind = KILN__PARSED_COUNTED;
    out->chooser = number;
    out->axis = axis;
    out->parts = true;
}

/* One mask, or one vector of indices, among other subscripts. */
static void apply_one(masking *s, kiln__parsed *out)
{
    const bool is_mask = s->list[s->first].mask->kind == KILN__PARSED_NODE;
    int axis = axis_of(s, s->first, s->first);

    s->list[s->first].kind = KILN_SUBSCRIPT_ARRAY;
    const bool apart = kiln__are_apart(s->list, s->count);
    find_places(s, 0, s->list[s->first].mask);
    s->list[s->first] = everything;
    s->x = kiln__index_nodes(s->x, s->list, s->count, KILN_INDEX_CHECK, KILN__PLACE(s->at));
    if (apart && axis != 0) {
        const int64_t first[] = {axis, 0};
        s->x = kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &s->x, 1, first, 2, KILN__PLACE(s->at));
        axis = 0;
    }
    if (is_mask && axis == 0)
        kiln__choose(s->x, s->mask, s->at, out);
    else
        give_counted(kiln_node_take(s->x, s->places[0], axis, KILN_INDEX_CHECK, KILN__PLACE(s->at)),
                     s->number[0], axis, out);
}

/* Several masks or vectors of indices. */
static void apply_several(masking *s, kiln__parsed *out)
{
    size_t last = s->first, nth = 0;

    for (size_t k = s->first; k < s->count; k++)
        if (s->list[k].mask != NULL || s->list[k].kind == KILN_SUBSCRIPT_INDEX)
            last = k;
    size_t first = s->first;
    for (size_t k = 0; k < s->first && first == s->first; k++)
        if (s->list[k].kind == KILN_SUBSCRIPT_INDEX)
            first = k;
    const int axis = axis_of(s, first, last);
    for (size_t k = s->first; k < s->count; k++)
        if (s->list[k].mask != NULL)
            find_places(s, nth++, s->list[k].mask);
    const kiln_node number = match_places(s);
    nth = 0;
    for (size_t k = s->first; k < s->count; k++) {
        if (s->list[k].mask == NULL)
            continue;
        s->list[k].kind = KILN_SUBSCRIPT_ARRAY;
        s->list[k].node = s->places[nth++];
        s->list[k].mask = NULL;
    }
    const bool apart = kiln__are_apart(s->list, s->count);
    give_counted(kiln__index_nodes(s->x, s->list, s->count, KILN_INDEX_CHECK, KILN__PLACE(s->at)),
                 number, apart ? 0 : axis, out);
}

kiln_status kiln__subscript_masks(kiln__parser *p, const kiln__parsed *v,
                                  const kiln__subscript *list, size_t count, kiln__parsed *out)
{
    masking *const s = kiln__parser_keep(p, sizeof *s);

    if (s == NULL)
        return kiln__fail_memory(p->err, sizeof *s);
    memcpy(s->list, list, count * sizeof *list);
    s->count = count;
    s->at = v->at;
    s->x = v->node;
    for (size_t k = count; k-- > 0;) {
        const kiln__parsed *mask = list[k].mask;
        s->first = mask != NULL ? k : s->first;
        s->masks += mask != NULL;
        if (mask != NULL && mask->parts)
            return kiln__parse_fail(p, mask->at, mask->width, KILN_ERR_UNSUPPORTED,
                                    "these are no indices: they form no vector");
        if (mask == NULL && list[k].kind == KILN_SUBSCRIPT_ARRAY)
            return kiln__parse_fail(p, (size_t)list[k].line - 1, 1, KILN_ERR_UNSUPPORTED,
                                    "how many elements a mask chooses is known to the device "
                                    "alone: beside it stand numbers, slices, None, `...` and other "
                                    "masks; write x[m][:, i] for columns of its rows");
    }
    fold(s);
    memset(out, 0, sizeof *out);
    if (s->masks > 1)
        apply_several(s, out);
    else
        apply_one(s, out);
    return KILN_OK;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* compress(mask, x, axis): the parts of x along an axis. */
static kiln_status compress_along(kiln__parser *p, const kiln__parsed_call *c,
                                  const kiln__parsed *axis, kiln_node mask, kiln__parsed *out)
{
    kiln__subscript list[KILN_RANK_MAX + 2];
    kiln__parsed *const kept = kiln__parser_keep(p, sizeof *kept);
    int64_t at = 0;

    KILN_CHECK(kiln__need_literal(p, axis, &at));
    if (kept == NULL)
        return kiln__fail_memory(p->err, sizeof *kept);
    if (at < -KILN_RANK_MAX || at >= KILN_RANK_MAX)
        return kiln__parse_fail(p, axis->at, axis->width, KILN_ERR_AXIS, "no array has such an axis");
    *kept = c->arg[0];
    kiln__set_node(kept, mask);
    kiln__parsed x = c->arg[1]; /* as far as the mask goes */
    const kiln_node many = kiln__node_extent(mask, 0, 1, KILN__PLACE(c->at));
    x.node = kiln_node_slice(kiln__graph_number(p->graph, x.node), (int)at, 0,
                             kiln__reference(many.id), 1, KILN__PLACE(axis->at));
    const size_t before = at < 0 ? 1 : (size_t)at, behind = at < 0 ? (size_t)(-at - 1) : 0;
    for (size_t k = 0; k < before + 1 + behind; k++)
        list[k] = (kiln__subscript){.kind = KILN_SUBSCRIPT_SLICE,
                                    .number = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1},
                                    .line = (int)axis->at + 1};
    if (at < 0)
        list[0].kind = KILN_SUBSCRIPT_ELLIPSIS;
    list[before].kind = KILN_SUBSCRIPT_INDEX; /* not looked at */
    list[before].mask = kept;
    return kiln__subscript_masks(p, &x, list, before + 1 + behind, out);
}

kiln_status kiln__apply_masking(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                bool *known)
{
    const kiln__parsed *axis;

    if (!kiln__same_word(c->name, c->bytes, "compress"))
        return KILN_OK;
    if (c->of_array && c->count > 1) { /* x.compress(mask) */
        const kiln__parsed x = c->arg[0];
        c->arg[0] = c->arg[1];
        c->arg[1] = x;
    }
    KILN_CHECK(kiln__call_axis(p, c, 2, &axis));
    c->count = c->count == 3 ? 2 : c->count; /* the axis is read */
    *known = c->count == 2 && axis->width != 0 && axis->kind != KILN__PARSED_NONE;
    if (!*known)
        return KILN_OK;
    for (size_t k = 0; k < 2; k++)
        KILN_CHECK(kiln__need_node(p, &c->arg[k]));
    const kiln_node mask = kiln_node_cast(kiln__graph_number(p->graph, c->arg[0].node), KILN_BOOL,
                                          KILN__PLACE(c->at));
    return compress_along(p, c, axis, mask, out);
}
