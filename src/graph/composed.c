/*
 * composed.c - functions of expressions that choose other functions by their arguments:
 * nanmedian(), nanquantile(), nanpercentile(), place(), unique(), partition_copy().
 *
 *     calls.c, parse.c > [composed: read lists, axes, words] > rows of written_rows.c, and nodes
 *
 * Rule: arguments are checked here, so that errors name their place in the text. Functions of
 * written.c receive correct arguments.
 *
 * Tests: test_unique, test_written.
 */
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "graph/parse.h"
#include "indexing/indexing.h"
#include "kiln/rearrange.h"
#include "kiln/sort.h"
#include "sorting/sorting.h"

static kiln_status fail(const kiln__parser *p, const kiln__parsed_call *c, kiln_status status,
                        const char *what)
{
    return kiln__parse_fail(p, c->at, c->bytes, status, "%.*s %s", (int)c->bytes, c->name, what);
}

/* ---- quantiles without NaN ------------------------------------------------------------------------- */

kiln_status kiln__quantile_method(const kiln__parser *p, const kiln__parsed_call *c, int64_t *out)
{
    static const char *const methods[] = {
        [KILN_QUANTILE_LINEAR] = "linear",
        [KILN_QUANTILE_INVERTED_CDF] = "inverted_cdf",
        [KILN_QUANTILE_AVERAGED_INVERTED_CDF] = "averaged_inverted_cdf",
        [KILN_QUANTILE_CLOSEST_OBSERVATION] = "closest_observation",
        [KILN_QUANTILE_INTERPOLATED_INVERTED_CDF] = "interpolated_inverted_cdf",
        [KILN_QUANTILE_HAZEN] = "hazen",
        [KILN_QUANTILE_WEIBULL] = "weibull",
        [KILN_QUANTILE_MEDIAN_UNBIASED] = "median_unbiased",
        [KILN_QUANTILE_NORMAL_UNBIASED] = "normal_unbiased",
        [KILN_QUANTILE_LOWER] = "lower",
        [KILN_QUANTILE_HIGHER] = "higher",
        [KILN_QUANTILE_MIDPOINT] = "midpoint",
        [KILN_QUANTILE_NEAREST] = "nearest"};

    *out = KILN_QUANTILE_LINEAR;
    for (size_t k = 0; k < KILN_COUNT_OF(methods); k++) {
        if (c->mode_bytes > 0 && kiln__same_word(p->text + c->mode, c->mode_bytes, methods[k])) {
            *out = (int64_t)k;
            return KILN_OK;
        }
    }
    return c->mode_bytes == 0
               ? KILN_OK
               : kiln__parse_fail(p, c->mode, c->mode_bytes, KILN_ERR_NAME,
                                  "NumPy's quantile has no method of this name; it has "
                                  "linear, lower, higher, midpoint, nearest, hazen and others");
}

typedef struct quantiles {
    kiln_node x, rows; /* as given, and with the elements along the last axis */
    int64_t axis;
    bool all, keep;
} quantiles;

/* The axis, as argument `at` or by its name, and keepdims. */
static kiln_status read_kept(kiln__parser *p, kiln__parsed_call *c, size_t at, quantiles *q)
{
    const kiln__parsed *axis;

    c->takes |= KILN__TAKES_KEEPDIMS;
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(kiln__call_axis(p, c, at, &axis));
    q->x = kiln__graph_number(p->graph, c->arg[0].node);
    q->all = axis->width == 0 || axis->kind == KILN__PARSED_NONE;
    if (!q->all)
        KILN_CHECK(kiln__need_literal(p, axis, &q->axis));
    if (c->keepdims.width != 0) {
        if (c->keepdims.kind != KILN__PARSED_NODE || c->keepdims.node.kind != KILN_NODE_BOOL)
            return kiln__parse_fail(p, c->keepdims.at, c->keepdims.width, KILN_ERR_ARGUMENT,
                                    "keepdims is True or False");
        q->keep = c->keepdims.node.value.b;
    }
    return KILN_OK;
}

static kiln_status read_rows(kiln__parser *p, kiln__parsed_call *c, size_t at, quantiles *q)
{
    const int64_t flat = -1;

    KILN_CHECK(read_kept(p, c, at, q));
    q->rows = q->all ? kiln_node_reshape(q->x, 1, &flat, KILN__PLACE(c->at))
                     : kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &q->x, 1,
                                           (int64_t[]){q->axis, -1}, 2, KILN__PLACE(c->at));
    return KILN_OK;
}

/* Rows without elements are of one NaN. */
static kiln_status fill_rows(kiln__parser *p, const kiln__parsed_call *c, quantiles *q)
{
    return kiln__written_call(p, c, "_or_a_nan", (kiln_node[]){q->rows, kiln_node_of_int(-1)}, 2,
                              &q->rows);
}

/* A result of rows, with the axes that it keeps. */
static kiln_node kept(const quantiles *q, const kiln__parsed_call *c, kiln_node y)
{
    if (!q->keep)
        return y;
    if (!q->all)
        return kiln_node_newaxis(y, (int)q->axis, KILN__PLACE(c->at));
    return kiln__node_broadcast_like(y,
                                     kiln_node_reduce(KILN_REDUCE_COUNT_NONZERO, q->x, NULL, true,
                                                      KILN_DTYPE_NONE, KILN__PLACE(c->at)),
                                     KILN__PLACE(c->at));
}

kiln_status kiln__keep_axes(kiln__parser *p, kiln__parsed_call *c, size_t at, kiln_node *y)
{
    quantiles q = {.all = true};

    KILN_CHECK(read_kept(p, c, at, &q));
    *y = kept(&q, c, *y);
    return KILN_OK;
}

static kiln_status read_number(const kiln__parser *p, const kiln__parsed *v, const kiln_node *n,
                               double most, double *out)
{
    if (n->kind != KILN_NODE_INT && n->kind != KILN_NODE_FLOAT)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "a number is needed here");
    *out = n->kind == KILN_NODE_INT ? (double)n->value.i : n->value.f;
    if (!(*out >= 0 && *out <= most))
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_RANGE, "%g is not between 0 and %g",
                                *out, most);
    return KILN_OK;
}

/* A result that has the axes of `of` first, with those that were reduced as axes of one element. */
static kiln_node kept_before(kiln_node of, kiln_node y, kiln_node x, const kiln_axes *axes, size_t at)
{
    const kiln_node shape = kiln_node_reduce(KILN_REDUCE_COUNT_NONZERO, x, axes, true,
                                             KILN_DTYPE_NONE, KILN__PLACE(at));
    return kiln__node_reshape_like(y, kiln__node_before(of, shape, KILN__PLACE(at)), KILN__PLACE(at));
}

/* Rows of written_rows.c that find quantiles of sorted rows. */
static const char *const finders[] = {
    [KILN_QUANTILE_LINEAR] = "_nan_linear",
    [KILN_QUANTILE_INVERTED_CDF] = "_nan_inverted_cdf",
    [KILN_QUANTILE_AVERAGED_INVERTED_CDF] = "_nan_averaged_inverted_cdf",
    [KILN_QUANTILE_CLOSEST_OBSERVATION] = "_nan_closest",
    [KILN_QUANTILE_INTERPOLATED_INVERTED_CDF] = "_nan_interpolated",
    [KILN_QUANTILE_HAZEN] = "_nan_hazen",
    [KILN_QUANTILE_WEIBULL] = "_nan_weibull",
    [KILN_QUANTILE_MEDIAN_UNBIASED] = "_nan_median_unbiased",
    [KILN_QUANTILE_NORMAL_UNBIASED] = "_nan_normal_unbiased",
    [KILN_QUANTILE_LOWER] = "_nan_lower",
    [KILN_QUANTILE_HIGHER] = "_nan_higher",
    [KILN_QUANTILE_MIDPOINT] = "_nan_midpoint",
    [KILN_QUANTILE_NEAREST] = "_nan_nearest"};

/* Make the second argument a node of numbers between 0 and 1. */
static kiln_status read_probabilities(kiln__parser *p, kiln__parsed_call *c, int64_t *method)
{
    static const char percents[] = "percentile";
    const size_t percent_bytes = sizeof percents - 1;
    const bool hundreds = c->bytes >= percent_bytes &&
                          memcmp(c->name + c->bytes - percent_bytes, percents, percent_bytes) == 0;
    kiln__parsed *v = &c->arg[1];
    const bool several = v->kind == KILN__PARSED_TUPLE || v->kind == KILN__PARSED_ROWS;
    bool whole = several ? v->count > 0 : v->node.kind == KILN_NODE_INT;
    bool told = !several && v->kind == KILN__PARSED_NODE && kiln__is_plain(&v->node);
    size_t count = v->count;

    for (size_t k = 0; v->kind == KILN__PARSED_ROWS && k < v->count; k++)
        count = (k == 0 ? 0 : count) + (size_t)v->rows[k];
    double number = 0;
    for (size_t k = 0; k < (several ? count : told); k++) {
        const kiln_node *one = several ? &v->items[k] : &v->node;
        whole = whole && one->kind == KILN_NODE_INT;
        if (kiln__is_plain(one))
            KILN_CHECK(read_number(p, v, one, hundreds ? 100 : 1, &number));
        told = told || kiln__is_plain(one);
    }
    if (v->kind == KILN__PARSED_TUPLE && v->count > 0)
        KILN_CHECK(kiln__number_list(p, v, 0));
    else
        KILN_CHECK(kiln__need_node(p, v));
    if (whole && told && !hundreds && *method == KILN_QUANTILE_LINEAR)
        *method = KILN_QUANTILE_LOWER; /* 0 and 1 are the first element and the last one */
    if (hundreds && kiln__is_plain(&v->node))
        v->node = kiln_node_of_float(number / 100);
    else if (hundreds)
        v->node = kiln_node_op2(KILN_OP_DIVIDE, v->node, kiln_node_of_int(100), KILN__PLACE(c->at));
    if (!told)
        KILN_CHECK(kiln__written_call(p, c, "_probabilities", &v->node, 1, &v->node));
    return KILN_OK;
}

/* quantile(x, q, axis=None, method='linear', keepdims=False), percentile(), nanquantile(), nanpercentile(). The
 * result has q's axes first; with one number q, as wholes.c reads it, quantile() and percentile() do not come here. */
static kiln_status call_quantile(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const bool leaves_nan = memcmp(c->name, "nan", 3) == 0;
    const kiln_axes last = {.count = 1, .axis = {-1}};
    quantiles q = {.all = true};
    kiln_node count = {0};
    int64_t method = 0;

    if (c->count < 2 || c->count > 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called with x, q, axis=None, method='linear' and keepdims=False");
    KILN_CHECK(kiln__quantile_method(p, c, &method));
    KILN_CHECK(read_rows(p, c, 2, &q));
    KILN_CHECK(read_probabilities(p, c, &method));
    if (leaves_nan)
        KILN_CHECK(fill_rows(p, c, &q));
    KILN_CHECK(kiln__written_call(p, c, leaves_nan ? "_nan_count" : "_row_count", &q.rows, 1, &count));
    const bool one = kiln__is_plain(&c->arg[1].node);
    const kiln_node of = c->arg[1].node,
                    each = one ? of : kiln__node_before(of, count, KILN__PLACE(c->at));
    const kiln_node sorted =
        kiln_node_sorting("sort", &q.rows, 1, &last, NULL, 0, 0, KILN__PLACE(c->at));
    kiln_node y = {0};
    KILN_CHECK(kiln__written_call(p, c, finders[method], (kiln_node[]){sorted, count, each}, 3, &y));
    if (!leaves_nan)
        KILN_CHECK(kiln__written_call(p, c, "_or_last_nan", (kiln_node[]){sorted, y}, 2, &y));
    if (one || !q.keep) {
        kiln__set_node(out, kept(&q, c, y));
        return KILN_OK;
    }
    kiln__set_node(out, kept_before(of, y, q.x, q.all ? NULL : &(kiln_axes){1, {(int)q.axis}}, c->at));
    return KILN_OK;
}

/* nanmedian(x, axis=None, keepdims=False) */
static kiln_status call_median(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    quantiles q = {.all = true};
    kiln_node node = {0};

    if (c->count < 1 || c->count > 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called as nanmedian(x, axis=None, keepdims=False)");
    KILN_CHECK(read_rows(p, c, 1, &q));
    KILN_CHECK(fill_rows(p, c, &q));
    KILN_CHECK(kiln__written_call(p, c, "_nan_middle", &q.rows, 1, &node));
    kiln__set_node(out, kept(&q, c, node));
    return KILN_OK;
}

/* ---- values where a mask is true ------------------------------------------------------------------- */

/* place(x, mask, values): values one after the other, repeated where there are too few. */
static kiln_status call_place(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed *v = &c->arg[2];

    if (c->count != 3)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called as place(x, mask, values)");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(kiln__need_node(p, &c->arg[1]));
    if (v->kind == KILN__PARSED_TUPLE)
        KILN_CHECK(kiln__number_list(p, v, 0));
    KILN_CHECK(kiln__need_node(p, v));
    const kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    const kiln_node mask =
        kiln_node_cast(kiln__graph_number(p->graph, c->arg[1].node), KILN_BOOL, KILN__PLACE(c->at));
    const kiln_node values = kiln__node_cast_like(kiln__graph_number(p->graph, v->node), x,
                                                  KILN__CAST_PLAIN, KILN__PLACE(c->at));
    const kiln_node all[] = {x, mask, values};
    const kiln__opaque_given given = {
        .operation = kiln__opaque_named("_place", 6), .operands = all, .count = 3};
    kiln_node node = {0};
    if (kiln__is_plain(&v->node))
        KILN_CHECK(kiln__written_call(p, c, "_fill", (kiln_node[]){x, mask, v->node}, 3, &node));
    else
        node = kiln__opaque_node(&given, 0, KILN__PLACE(c->at));
    kiln__set_node(out, node);
    return KILN_OK;
}

/* ---- distinct elements ------------------------------------------------------------------------------- */

enum { INDEX, INVERSE, COUNTS, RETURNS };
static const char *const returns[RETURNS] = {"return_index", "return_inverse", "return_counts"};

/* Which results are asked for, by name or in their places behind the array. */
/* Of unique(): rows of written_rows.c have it, for calls without other arguments. */
static bool has_equal_nan(const kiln__parsed_call *c)
{
    for (size_t n = 0; n < c->named_count; n++)
        if (kiln__same_word(c->named[n].name, c->named[n].bytes, "equal_nan"))
            return true;
    return false;
}

static kiln_status read_returns(const kiln__parser *p, const kiln__parsed_call *c, bool *wanted)
{
    for (size_t k = 0; k < RETURNS; k++) {
        const kiln__parsed *v = k + 1 < c->count ? &c->arg[k + 1] : NULL;
        for (size_t n = 0; n < c->named_count; n++)
            if (kiln__same_word(c->named[n].name, c->named[n].bytes, returns[k]))
                v = &c->named[n].value;
        wanted[k] = false;
        if (v == NULL)
            continue;
        if (v->kind != KILN__PARSED_NODE || v->node.kind != KILN_NODE_BOOL)
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "%s is True or False",
                                    returns[k]);
        wanted[k] = v->node.value.b;
    }
    return KILN_OK;
}

static kiln__parsed counted_by(kiln_node node, kiln_node count, int axis, bool parts, size_t at)
{
    return (kiln__parsed){.kind = KILN__PARSED_COUNTED,
                          .node = node,
                          .chooser = count,
                          .axis = axis,
                          .parts = parts,
                          .at = at,
                          .width = 1};
}

/* The axis; KILN__UNIQUE_ALL: none. */
static kiln_status read_unique_axis(const kiln__parser *p, kiln__parsed_call *c, int64_t *out)
{
    const kiln__parsed *v = &c->axis;

    *out = KILN__UNIQUE_ALL;
    c->takes |= KILN__TAKES_AXIS;
    if (v->width == 0 || v->kind == KILN__PARSED_NONE)
        return KILN_OK;
    KILN_CHECK(kiln__need_literal(p, v, out));
    if (*out < -KILN_RANK_MAX || *out >= KILN_RANK_MAX)
        return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS, "no array has such an axis");
    return KILN_OK;
}

/* unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None). Along an axis distinct parts. */
static kiln_status call_unique(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    const int64_t flat = -1;
    kiln__parsed *values = kiln__parser_keep(p, (RETURNS + 1) * sizeof *values);
    kiln_node found[KILN__OPAQUE_RESULTS];
    int64_t data[2] = {0};
    bool wanted[RETURNS];
    size_t used = 0;

    if (values == NULL)
        return kiln__fail_memory(p->err, (RETURNS + 1) * sizeof *values);
    if (c->count < 1 || c->count > 1 + RETURNS)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT,
                    "is called as unique(x, return_index=False, return_inverse=False, "
                    "return_counts=False, axis=None)");
    if (has_equal_nan(c))
        return fail(p, c, KILN_ERR_UNSUPPORTED, "takes equal_nan without other arguments");
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(read_returns(p, c, wanted));
    KILN_CHECK(read_unique_axis(p, c, &data[0]));
    data[1] = (wanted[INVERSE] ? KILN__UNIQUE_WANTS_INVERSE : 0) |
              (wanted[COUNTS] ? KILN__UNIQUE_WANTS_COUNTS : 0);
    const kiln_node x = kiln__graph_number(p->graph, c->arg[0].node);
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_unique", 7),
                                      .operands = &x,
                                      .count = 1,
                                      .data = data,
                                      .data_count = 2};
    for (size_t k = 0; k < KILN__OPAQUE_RESULTS; k++)
        found[k] = kiln__opaque_node(&given, k, KILN__PLACE(c->at));
    const kiln_node count = found[KILN__UNIQUE_COUNT], first = found[KILN__UNIQUE_FIRST];
    const bool all = data[0] == KILN__UNIQUE_ALL;
    const int axis = all ? 0 : (int)data[0];
    /* What stands behind the first `count` places is not known. */
    values[used++] =
        counted_by(kiln_node_take(all ? kiln_node_reshape(x, 1, &flat, KILN__PLACE(c->at)) : x,
                                  first, axis, KILN_INDEX_CLIP, KILN__PLACE(c->at)),
                   count, axis, !all, c->at);
    if (wanted[INDEX])
        values[used++] = counted_by(first, count, 0, false, c->at);
    if (wanted[INVERSE])
        kiln__set_node(&values[used++], found[KILN__UNIQUE_INVERSE]);
    if (wanted[COUNTS])
        values[used++] = counted_by(found[KILN__UNIQUE_COUNTS], count, 0, false, c->at);
    if (used == 1) {
        *out = values[0];
        return KILN_OK;
    }
    out->kind = KILN__PARSED_SEVERAL;
    out->values = values;
    out->count = used;
    return KILN_OK;
}

/* ---- both kinds of elements ------------------------------------------------------------------------ */

/* partition_copy(x, mask): the elements where the mask is true, and all others. */
static kiln_status call_partition_copy(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed *const values = kiln__parser_keep(p, 2 * sizeof *values);
    kiln_node found[4];

    if (values == NULL)
        return kiln__fail_memory(p->err, 2 * sizeof *values);
    if (c->count != 2)
        return fail(p, c, KILN_ERR_ARGUMENT_COUNT, "is called as partition_copy(x, mask)");
    for (size_t k = 0; k < 2; k++)
        KILN_CHECK(kiln__need_node(p, &c->arg[k]));
    if (kiln__is_mask(p, &c->arg[0]) && !kiln__is_mask(p, &c->arg[1]))
        return kiln__parse_fail(p, c->arg[0].at, c->arg[0].width, KILN_ERR_ARGUMENT,
                                "in partition_copy(x, mask) the mask comes last, and this looks "
                                "like one: write `!= 0` behind a mask that is not of bool");
    const kiln_node operands[] = {
        kiln__graph_number(p->graph, c->arg[0].node),
        kiln_node_cast(kiln__graph_number(p->graph, c->arg[1].node), KILN_BOOL, KILN__PLACE(c->at))};
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_partition_copy", 15),
                                      .operands = operands,
                                      .count = 2};
    for (size_t k = 0; k < KILN_COUNT_OF(found); k++)
        found[k] = kiln__opaque_node(&given, k, KILN__PLACE(c->at));
    for (size_t k = 0; k < 2; k++)
        values[k] = counted_by(found[2 * k], found[2 * k + 1], 0, false, c->at);
    out->kind = KILN__PARSED_SEVERAL;
    out->values = values;
    out->count = 2;
    return KILN_OK;
}

/* ---- over several axes ------------------------------------------------------------------------------ */

/* Axes in the order in which new ones are put in their places: from the first, or, counted from the end, from the last. */
kiln_status kiln__read_ordered_axes(const kiln__parser *p, const kiln__parsed *v, int64_t *axes)
{
    for (size_t k = 0; k < v->count; k++) {
        kiln__parsed one = *v;
        size_t at = k;
        int64_t axis = 0;
        kiln__set_node(&one, v->items[k]);
        KILN_CHECK(kiln__need_literal(p, &one, &axis));
        if (axis < -KILN_RANK_MAX || axis >= KILN_RANK_MAX ||
            (k > 0 && (axis < 0) != (axes[0] < 0)))
            return kiln__parse_fail(p, v->at, v->width, KILN_ERR_AXIS,
                                    "axes are counted from one end, and no array has more than %d",
                                    KILN_RANK_MAX);
        for (; at > 0 && (axis < 0 ? axes[at - 1] < axis : axes[at - 1] > axis); at--)
            axes[at] = axes[at - 1];
        axes[at] = axis;
    }
    return KILN_OK;
}

/* median(x, axis=(0, 2)) and its like: along the last axis of x, where those are one. */
static kiln_status call_over(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *axis,
                             kiln__parsed *out)
{
    const kiln__parsed keep = c->keepdims, given = *axis;
    const bool several = c->count > 1 && axis != &c->arg[1] &&
                         !(c->arg[1].kind == KILN__PARSED_NODE && kiln__is_plain(&c->arg[1].node));
    int64_t numbers[2 * KILN_RANK_MAX];
    const size_t count = given.count;

    if (count == 0 || count > KILN_RANK_MAX)
        return kiln__parse_fail(p, given.at, given.width, KILN_ERR_AXIS, "1 to %d axes stand here",
                                KILN_RANK_MAX);
    KILN_CHECK(kiln__need_node(p, &c->arg[0]));
    KILN_CHECK(kiln__read_ordered_axes(p, &given, numbers));
    for (size_t k = 0; k < count; k++)
        numbers[count + k] = (int64_t)k - (int64_t)count;
    const kiln_node given_x = kiln__graph_number(p->graph, c->arg[0].node);
    kiln_node x = given_x;
    x = kiln_node_rearrange(KILN_REARRANGE_MOVEAXIS, &x, 1, numbers, 2 * count, KILN__PLACE(c->at));
    kiln__set_node(&c->arg[0], kiln__node_merged(x, (int64_t)count, KILN__PLACE(c->at)));
    kiln__set_node(axis, kiln_node_of_int(-1));
    c->keepdims.width = 0;
    KILN_CHECK(p->call(p, c, out));
    c->takes |= KILN__TAKES_AXIS | KILN__TAKES_KEEPDIMS;
    if (keep.width == 0 || keep.kind == KILN__PARSED_NONE)
        return KILN_OK;
    if (keep.kind != KILN__PARSED_NODE || keep.node.kind != KILN_NODE_BOOL)
        return kiln__parse_fail(p, keep.at, keep.width, KILN_ERR_ARGUMENT,
                                "keepdims is True or False");
    if (keep.node.value.b && several) {
        kiln_axes axes = {.count = (int)count};
        for (size_t k = 0; k < count; k++)
            axes.axis[k] = (int)numbers[k];
        kiln__set_node(out, kept_before(c->arg[1].node, out->node, given_x, &axes, c->at));
        return KILN_OK;
    }
    for (size_t k = 0; k < count && keep.node.value.b; k++)
        kiln__set_node(out, kiln_node_newaxis(out->node, (int)numbers[k], KILN__PLACE(c->at)));
    return KILN_OK;
}

/* The axes of such a call, where there are several. */
static kiln__parsed *several_axes(kiln__parsed_call *c)
{
    static const char *const names[] = {"median",     "nanmedian",   "quantile",
                                        "percentile", "nanquantile", "nanpercentile"};

    for (size_t k = 0; k < KILN_COUNT_OF(names); k++) {
        const size_t at = k < 2 ? 1 : 2;
        kiln__parsed *const axis = c->count > at ? &c->arg[at] : &c->axis;
        if (kiln__same_word(c->name, c->bytes, names[k]) && axis->width != 0 &&
            axis->kind == KILN__PARSED_TUPLE && c->count > at - 1)
            return axis;
    }
    return NULL;
}

/* ---- by name --------------------------------------------------------------------------------------- */

/* Whether quantile() or percentile() has one number that the text tells. */
static bool takes_one_number(const kiln__parsed_call *c)
{
    return c->count < 2 || (c->arg[1].kind == KILN__PARSED_NODE && kiln__is_plain(&c->arg[1].node));
}

bool kiln__composed_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    for (size_t k = 0; k < RETURNS; k++)
        if (kiln__same_word(c->name, c->bytes, "unique") &&
            kiln__same_word(name, bytes, returns[k]))
            return true;
    return false;
}

kiln_status kiln__apply_composed(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                 bool *known)
{
    static const struct {
        const char *name;
        kiln_status (*call)(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out);
    } functions[] = {{"nanmedian", call_median},
                     {"nanquantile", call_quantile},
                     {"nanpercentile", call_quantile},
                     {"quantile", call_quantile},
                     {"percentile", call_quantile},
                     {"place", call_place},
                     {"unique", call_unique},
                     {"partition_copy", call_partition_copy}};
    kiln__parsed *const axes = several_axes(c);

    *known = axes != NULL;
    if (*known)
        return call_over(p, c, axes, out);
    for (size_t k = 0; k < KILN_COUNT_OF(functions); k++) {
        if (!kiln__same_word(c->name, c->bytes, functions[k].name))
            continue;
        if (functions[k].call == call_unique && c->count == 1 && c->axis.width == 0 &&
            (c->named_count == 0 || (c->named_count == 1 && has_equal_nan(c))))
            break; /* by a sort without places (written.c) */
        if (functions[k].call == call_quantile && c->name[0] != 'n' && takes_one_number(c))
            break; /* by what one number needs of a row (wholes.c) */
        *known = true;
        return functions[k].call(p, c, out);
    }
    return KILN_OK;
}
