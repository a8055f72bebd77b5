/*
 * pad_call.c - the arguments of pad() in expressions: its mode, and values, lengths and reflections of their own for
 * each side.
 *
 *     calls.c > [pad_call: what only some modes take] > one step (pad_all.c) where sides differ
 *                                                     > arranging.c otherwise
 *
 * Tests: test_rearrange, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"

enum { PAIRS_MAX = 2 * KILN_RANK_MAX };

/* What was read of a call; NULL: not given. */
typedef struct request {
    const kiln__parsed *values, *lengths;
    bool odd;
    int64_t mode;
} request;

kiln_status kiln__pad_mode(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out)
{
    static const char *const modes[] = {
        [KILN_PAD_CONSTANT] = "constant", [KILN_PAD_EDGE] = "edge",
        [KILN_PAD_REFLECT] = "reflect",   [KILN_PAD_SYMMETRIC] = "symmetric",
        [KILN_PAD_WRAP] = "wrap",         [KILN_PAD_EMPTY] = "empty",
        [KILN_PAD_MAXIMUM] = "maximum",   [KILN_PAD_LINEAR_RAMP] = "linear_ramp",
        [KILN_PAD_MEAN] = "mean",         [KILN_PAD_MEDIAN] = "median",
        [KILN_PAD_MINIMUM] = "minimum"};

    *out = KILN_PAD_CONSTANT;
    if (c->mode_bytes == 0)
        return KILN_OK;
    for (size_t k = 0; k < KILN_COUNT_OF(modes); k++) {
        *out = (int64_t)k;
        if (kiln__same_word(p->text + c->mode, c->mode_bytes, modes[k]))
            return KILN_OK;
    }
    return kiln__parse_fail(
        p, c->mode, c->mode_bytes, KILN_ERR_NAME,
        "pad has no such mode; its modes are constant, edge, reflect, symmetric, "
        "wrap, empty, linear_ramp, maximum, mean, median and minimum");
}

/* Arguments that only some modes take. */
static const struct {
    const char *name;
    kiln_pad_mode modes[4];
    size_t mode_count;
} keywords[] = {
    {"constant_values", {KILN_PAD_CONSTANT}, 1},
    {"end_values", {KILN_PAD_LINEAR_RAMP}, 1},
    {"stat_length", {KILN_PAD_MAXIMUM, KILN_PAD_MEAN, KILN_PAD_MEDIAN, KILN_PAD_MINIMUM}, 4},
    {"reflect_type", {KILN_PAD_REFLECT, KILN_PAD_SYMMETRIC}, 2},
};
enum { CONSTANTS, ENDS, LENGTHS, REFLECTION };

bool kiln__pad_takes(const char *name, size_t bytes)
{
    for (size_t k = 0; k < KILN_COUNT_OF(keywords); k++)
        if (kiln__same_word(name, bytes, keywords[k].name))
            return true;
    return false;
}

static kiln_status read_reflection(const kiln__parser *p, const kiln__parsed *v, bool *odd)
{
    *odd = v->kind == KILN__PARSED_TEXT && kiln__same_word(v->word, v->word_bytes, "odd");
    if (*odd || (v->kind == KILN__PARSED_TEXT && kiln__same_word(v->word, v->word_bytes, "even")))
        return KILN_OK;
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "reflect_type is 'even' or 'odd'");
}

/* One argument by its name. Those that change nothing are left out: `*drop`. */
static kiln_status read_keyword(const kiln__parser *p, const kiln__parsed_call *c, size_t nth,
                                request *r, bool *drop)
{
    const kiln__parsed *v = &c->named[nth].value;

    *drop = false;
    for (size_t k = 0; k < KILN_COUNT_OF(keywords); k++) {
        bool taken = false;
        if (!kiln__same_word(c->named[nth].name, c->named[nth].bytes, keywords[k].name))
            continue;
        for (size_t m = 0; m < keywords[k].mode_count; m++)
            taken = taken || (int64_t)keywords[k].modes[m] == r->mode;
        if (!taken)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_NAME, "pad takes no %s in this mode",
                                    keywords[k].name);
        if (k == REFLECTION) {
            *drop = true;
            return read_reflection(p, v, &r->odd);
        }
        *drop = k == LENGTHS && v->kind == KILN__PARSED_NONE;
        if (!*drop)
            *(k == LENGTHS ? &r->lengths : &r->values) = v;
    }
    return KILN_OK;
}

static bool is_several(const kiln__parsed *v)
{
    return v != NULL && (v->kind == KILN__PARSED_TUPLE || v->kind == KILN__PARSED_ROWS);
}

/* Pairs of whole numbers: one number, a pair, or a pair or a number for each axis. */
static kiln_status read_pairs(const kiln__parser *p, const kiln__parsed *v, int64_t *out,
                              int64_t *pairs)
{
    const bool rows = v->kind == KILN__PARSED_ROWS, several = is_several(v);
    const size_t lists = rows ? v->count : 1;
    size_t item = 0;

    *pairs = (int64_t)lists;
    if (several && !rows && v->count > 2 && v->count % 2 == 0 && v->count <= PAIRS_MAX)
        *pairs = (int64_t)v->count / 2; /* before and behind each axis in turn */
    if (lists > KILN_RANK_MAX || v->count > PAIRS_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "these are too many pairs");
    for (size_t k = 0; k < lists; k++) {
        const size_t count = rows ? (size_t)v->rows[k] : several ? v->count : 1;
        if (count == 0 || (rows && count > 2) || (count > 2 && count % 2 != 0))
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT,
                                    "a number, a pair, or a pair for each axis is needed here");
        for (size_t j = 0; j < (count == 1 ? 2 : count); j++) {
            kiln__parsed one = *v;
            if (several)
                kiln__set_node(&one, v->items[item + (count == 1 ? 0 : j)]);
            KILN_CHECK(kiln__need_integer(p, &one, &out[k * 2 + j]));
        }
        item += count;
    }
    return KILN_OK;
}

/* Widths of one number for each axis, ((1,), (2,)), as arranging.c reads them: before and behind each axis in turn. */
static kiln_status settle_widths(kiln__parser *p, kiln__parsed *v)
{
    bool single = v->kind == KILN__PARSED_ROWS;

    for (size_t k = 0; single && k < v->count; k++)
        single = v->rows[k] == 1;
    if (!single)
        return KILN_OK;
    kiln_node *const items = kiln__tuple_new(p, 2 * v->count);
    if (items == NULL)
        return kiln__fail_memory(p->err, 2 * v->count * sizeof *items);
    for (size_t k = 0; k < 2 * v->count; k++)
        items[k] = v->items[k / 2];
    v->kind = KILN__PARSED_TUPLE;
    v->items = items;
    v->count *= 2;
    return KILN_OK;
}

static kiln_status pad_sides(kiln__parser *p, kiln__parsed_call *c, const request *r,
                             kiln__parsed *out)
{
    int64_t data[KILN__PAD_HEAD + 2 * PAIRS_MAX] = {[KILN__PAD_MODE] = r->mode,
                                                    [KILN__PAD_ODD] = r->odd};
    kiln_node both[] = {{0}, kiln__graph_number(p->graph, kiln_node_of_int(0))};

    KILN_CHECK(kiln__need_array(p, c));
    both[0] = c->arg[0].node;
    KILN_CHECK(read_pairs(p, &c->arg[1], data + KILN__PAD_HEAD, &data[KILN__PAD_WIDTHS]));
    int64_t *const lengths = data + KILN__PAD_HEAD + 2 * data[KILN__PAD_WIDTHS];
    if (r->lengths != NULL)
        KILN_CHECK(read_pairs(p, r->lengths, lengths, &data[KILN__PAD_LENGTHS]));
    for (int64_t k = 0; k < 2 * data[KILN__PAD_LENGTHS]; k++)
        if (lengths[k] < 1 && !kiln__is_extent(p, r->lengths))
            return kiln__parse_fail(p, r->lengths->at, r->lengths->width, KILN_ERR_ARGUMENT,
                                    "pad looks at one element at least");
    if (r->values != NULL) {
        kiln__parsed values = *r->values;
        values.list = true; /* tuples are as good as lists here */
        KILN_CHECK(kiln__need_node(p, &values));
        both[1] = kiln__graph_number(p->graph, values.node);
    }
    const kiln__opaque_given given = {
        .operation = kiln__opaque_named("_pad", 4),
        .operands = both,
        .count = 2,
        .data = data,
        .data_count = (size_t)(KILN__PAD_HEAD + 2 * (data[KILN__PAD_WIDTHS] + data[KILN__PAD_LENGTHS]))};
    kiln__set_node(out, kiln__opaque_node(&given, 0, KILN__PLACE(c->at)));
    return KILN_OK;
}

kiln_status kiln__apply_padding(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out, bool *known)
{
    request r = {.mode = KILN_PAD_CONSTANT};

    if (!kiln__same_word(c->name, c->bytes, "pad") || c->count < 2)
        return KILN_OK;
    if (c->count == 3 && c->arg[2].kind == KILN__PARSED_TEXT && c->mode_bytes == 0) {
        c->mode = (size_t)(c->arg[2].word - p->text); /* pad(x, 1, 'edge') */
        c->mode_bytes = c->arg[2].word_bytes;
        c->count = 2;
    }
    KILN_CHECK(kiln__pad_mode(p, c, &r.mode));
    for (size_t k = 0; k < c->named_count;) {
        bool drop;
        KILN_CHECK(read_keyword(p, c, k, &r, &drop));
        if (drop)
            memmove(&c->named[k], &c->named[k + 1], (--c->named_count - k) * sizeof c->named[0]);
        else
            k++;
    }
    KILN_CHECK(settle_widths(p, &c->arg[1]));
    if (c->count == 3 && is_several(&c->arg[2]) && r.values == NULL) {
        r.values = &c->arg[2];
        c->count = 2;
    }
    *known = c->count == 2 && (is_several(r.values) || is_several(r.lengths) || r.odd);
    return *known ? pad_sides(p, c, &r, out) : KILN_OK;
}
