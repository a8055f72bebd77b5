/*
 * scattering.c - scatters in expressions: x.at[i].add(v), scatter_add(), put(), put_along_axis().
 *
 *     x.at[...] > a value that has only methods > .set(v), .add(v), ... > kiln_node_scatter
 *
 * Each returns a new array. calls.c and listed.c call this file. Test: test_scatter.
 */
#include "graph/graph.h"
#include "graph/parse.h"

/* What an element becomes: the method of x.at[...], the rest of the name of a function. */
static const struct {
    const char *method, *function;
    kiln_scatter what;
} combinations[] = {
    {"set", "scatter_set", KILN_SCATTER_SET},
    {"add", "scatter_add", KILN_SCATTER_ADD},
    {"multiply", "scatter_multiply", KILN_SCATTER_MULTIPLY},
    {"minimum", "scatter_minimum", KILN_SCATTER_MINIMUM},
    {"maximum", "scatter_maximum", KILN_SCATTER_MAXIMUM},
    {"min", "scatter_min", KILN_SCATTER_MINIMUM},
    {"max", "scatter_max", KILN_SCATTER_MAXIMUM},
};

kiln_status kiln__index_mode(const kiln__parser *p, const kiln__parsed_call *c,
                             kiln_index_mode *out)
{
    static const char *const modes[] = {
        [KILN_INDEX_CHECK] = "raise", [KILN_INDEX_WRAP] = "wrap", [KILN_INDEX_CLIP] = "clip"};

    *out = KILN_INDEX_CHECK;
    if (c->mode_bytes == 0)
        return KILN_OK;
    for (size_t k = 0; k < KILN_COUNT_OF(modes); k++) {
        if (!kiln__same_word(p->text + c->mode, c->mode_bytes, modes[k]))
            continue;
        *out = (kiln_index_mode)k;
        return KILN_OK;
    }
    return kiln__parse_fail(p, c->mode, c->mode_bytes, KILN_ERR_NAME,
                            "there is no such mode; the modes are raise, wrap and clip");
}

/* `count` nodes, the first of them an array, and no keywords but those that are known. */
static kiln_status need(kiln__parser *p, kiln__parsed_call *c, size_t count, bool takes_axis)
{
    const size_t least = count, most = count + takes_axis;

    if (c->count < least || c->count > most)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "%.*s takes %zu arguments%s, %zu given", (int)c->bytes, c->name,
                                least, takes_axis ? " and an axis" : "", c->count);
    for (size_t k = 0; k < count; k++)
        if (c->arg[k].kind != KILN__PARSED_AT)
            KILN_CHECK(kiln__need_node(p, &c->arg[k]));
    c->arg[0].node = kiln__graph_number(p->graph, c->arg[0].node);
    return KILN_OK;
}

/* x.at[...].add(v) */
static kiln_status apply_method(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const kiln__parsed at = c->arg[0];
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;

    for (size_t k = 0; k < KILN_COUNT_OF(combinations); k++) {
        if (!kiln__same_word(c->name, c->bytes, combinations[k].method))
            continue;
        KILN_CHECK(need(p, c, 2, false));
        KILN_CHECK(kiln__index_mode(p, c, &o.mode));
        kiln__set_node(out, kiln_node_scatter(at.node, at.subscripts, at.count, c->arg[1].node,
                                              combinations[k].what, &o, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_NAME,
                            "x.at[...] has set, add, multiply, min and max, no `%.*s`",
                            c->bytes < 60 ? (int)c->bytes : 60, c->name);
}

/* put_along_axis(x, i, v, axis): put(x, i, v), where the axis is None. */
static kiln_status apply_put(kiln__parser *p, kiln__parsed_call *c, bool along, kiln__parsed *out)
{
    kiln_index_mode mode;
    int64_t axis = 0;
    const kiln__parsed *given = NULL;

    const size_t places = c->count > 1 && kiln__is_list(&c->arg[1]) ? c->arg[1].count : 0;
    if (c->count > 2 && kiln__is_list(&c->arg[2]))
        KILN_CHECK(kiln__number_list(p, &c->arg[2], along ? 0 : places));
    if (c->count > 1 && kiln__is_list(&c->arg[1]))
        KILN_CHECK(kiln__index_list(p, &c->arg[1]));
    KILN_CHECK(need(p, c, 3, along));
    KILN_CHECK(kiln__index_mode(p, c, &mode));
    if (along)
        KILN_CHECK(kiln__call_axis(p, c, 3, &given));
    const kiln_node x = c->arg[0].node, v = c->arg[2].node;
    const kiln_node i = kiln__graph_number(p->graph, c->arg[1].node);
    if (along && given->width == 0)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT, "%.*s needs an axis",
                                (int)c->bytes, c->name);
    if (!along || given->kind == KILN__PARSED_NONE) {
        kiln__set_node(out, kiln_node_put(x, i, v, mode, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    KILN_CHECK(kiln__need_literal(p, given, &axis));
    const int at = axis < -KILN_RANK_MAX || axis > KILN_RANK_MAX ? KILN_RANK_MAX : (int)axis;
    kiln__set_node(out, kiln_node_put_along_axis(x, i, v, at, mode, KILN__PLACE(c->at)));
    return KILN_OK;
}

kiln_status kiln__apply_scattering(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                   bool *known)
{
    const bool along = kiln__same_word(c->name, c->bytes, "put_along_axis");
    kiln_scatter_options o = KILN_SCATTER_OPTIONS_INIT;

    *known = true;
    if (c->count > 0 && c->arg[0].kind == KILN__PARSED_AT)
        return apply_method(p, c, out);
    if (along || kiln__same_word(c->name, c->bytes, "put"))
        return apply_put(p, c, along, out);
    for (size_t k = 0; k < KILN_COUNT_OF(combinations); k++) {
        if (!kiln__same_word(c->name, c->bytes, combinations[k].function))
            continue;
        KILN_CHECK(need(p, c, 3, false));
        KILN_CHECK(kiln__index_mode(p, c, &o.mode));
        const kiln_subscript at = kiln_subscript_node(kiln__graph_number(p->graph, c->arg[1].node));
        kiln__set_node(out, kiln_node_scatter(c->arg[0].node, &at, 1, c->arg[2].node,
                                              combinations[k].what, &o, KILN__PLACE(c->at)));
        return KILN_OK;
    }
    *known = false;
    return KILN_OK;
}
