/*
 * histograms.c - histograms of points: histogramdd(), histogram2d().
 *
 *     calls.c > [histograms: points, bins, ranges] > edges (written_rows.c) > counts by an opaque step
 *                                                  > sums of weights by the numbers of boxes
 *
 * How many axes points have must be clear from the text. histogram() of one axis is a row of
 * written_rows.c.
 *
 * Tests: test_bins, test_written, tests/test_numpy_text.py.
 */
#include "graph/graph.h"
#include "graph/parse.h"
#include "kiln/rearrange.h"
#include "sorting/sorting.h"

enum { MOST = KILN__HISTOGRAM_AXES };
static const char *const arguments[] = {"bins", "range", "density", "weights"};
enum { BINS, RANGE, DENSITY, WEIGHTS, ARGUMENTS };

/* What was read of a call. */
typedef struct request {
    kiln_node points[MOST];
    size_t axes;
    const kiln__parsed *given[ARGUMENTS]; /* NULL: not given */
    bool density;
    kiln_node edges[MOST], results[MOST]; /* edges that were given are given back as they are */
    size_t at;
} request;

static kiln_status fail(const kiln__parser *p, const kiln__parsed *v, const char *what)
{
    return kiln__parse_fail(p, v->at, v->width, KILN_ERR_ARGUMENT, "%s", what);
}

/* ---- arguments ----------------------------------------------------------------------------------- */

/* Arguments behind the points, in their places or by their names. */
static kiln_status read_arguments(const kiln__parser *p, const kiln__parsed_call *c, size_t first,
                                  request *r)
{
    if (c->count > first + ARGUMENTS)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "%.*s takes points, bins, range, density and weights", (int)c->bytes,
                                c->name);
    for (size_t k = 0; k < ARGUMENTS; k++) {
        const kiln__parsed *v = first + k < c->count ? &c->arg[first + k] : NULL;
        for (size_t n = 0; n < c->named_count; n++) {
            if (!kiln__same_word(c->named[n].name, c->named[n].bytes, arguments[k]))
                continue;
            if (v != NULL)
                return fail(p, &c->named[n].value, "this argument is given twice");
            v = &c->named[n].value;
        }
        r->given[k] = v != NULL && v->kind != KILN__PARSED_NONE ? v : NULL;
    }
    const kiln__parsed *const density = r->given[DENSITY];
    if (density != NULL &&
        (density->kind != KILN__PARSED_NODE || density->node.kind != KILN_NODE_BOOL))
        return fail(p, density, "density is True or False");
    r->density = density != NULL && density->node.value.b;
    return KILN_OK;
}

/* Whether bins are told for each axis: a list of as many items, numbers or edges. */
static bool is_each(const request *r)
{
    const kiln__parsed *const bins = r->given[BINS];

    return bins != NULL && bins->kind == KILN__PARSED_TUPLE && bins->count == r->axes;
}

/* The coordinates of points: arrays of a list, or the columns of a matrix. */
static kiln_status read_points(kiln__parser *p, kiln__parsed *v, request *r)
{
    const int64_t column = 1;

    if (v->kind != KILN__PARSED_TUPLE)
        KILN_CHECK(kiln__need_node(p, v));
    for (size_t k = 0; k < r->axes; k++) {
        if (v->kind == KILN__PARSED_TUPLE) {
            r->points[k] = kiln__graph_number(p->graph, v->items[k]);
            continue;
        }
        const int64_t part[] = {1, (int64_t)k, (int64_t)r->axes, 1};
        const kiln_node x =
            kiln_node_rearrange(KILN_REARRANGE_SECTION, &v->node, 1, part, 4, KILN__PLACE(r->at));
        r->points[k] =
            kiln_node_rearrange(KILN_REARRANGE_SQUEEZE, &x, 1, &column, 1, KILN__PLACE(r->at));
    }
    return KILN_OK;
}

/* ---- edges --------------------------------------------------------------------------------------- */

/* Coordinates in the dtype that all have together, in which NumPy finds edges. */
static kiln_node together(const request *r, size_t axis)
{
    kiln_node all = r->points[0];

    for (size_t k = 1; k < r->axes; k++)
        all = kiln_node_op2(KILN_OP_ADD, all, r->points[k], KILN__PLACE(r->at));
    return r->axes == 1 ? r->points[axis]
                        : kiln__node_cast_like(r->points[axis], all, KILN__CAST_PLAIN,
                                               KILN__PLACE(r->at));
}

/* The edges along an axis: of so many bins, in a range or in that of the data, or as they were given. */
static kiln_status find_edges(kiln__parser *p, const kiln__parsed_call *c, request *r, size_t axis)
{
    const kiln__parsed *const bins = r->given[BINS], *const range = r->given[RANGE];
    const kiln_node b = bins == NULL   ? kiln_node_of_int(10)
                        : is_each(r) ? bins->items[axis]
                                     : bins->node;
    const bool number = b.kind == KILN_NODE_INT ||
                        (b.kind == KILN_NODE_GRAPH && p->graph->ir.nodes[b.id].whole);

    if (!number) {
        r->results[axis] = b;
        return kiln__written_call(p, c, "_rising", &b, 1, &r->edges[axis]);
    }
    kiln_node nodes[] = {together(r, axis), b, b, b};
    if (range != NULL) {
        if (range->kind != KILN__PARSED_ROWS || range->count != r->axes || range->rows[axis] != 2)
            return fail(p, range, "a range is a list of a lower and an upper end for each axis");
        memcpy(nodes + 2, range->items + 2 * axis, 2 * sizeof nodes[0]);
    }
    KILN_CHECK(kiln__written_call(p, c, range != NULL ? "_edges_in" : "_edges", nodes,
                                  range != NULL ? 4 : 2, &r->edges[axis]));
    r->results[axis] = r->edges[axis];
    return KILN_OK;
}

/* ---- counts and sums ------------------------------------------------------------------------------- */

static kiln_node op2(const request *r, kiln_op op, kiln_node x, kiln_node y)
{
    return kiln_node_op2(op, x, y, KILN__PLACE(r->at));
}

static kiln_node bins_along(const request *r, size_t axis)
{
    return op2(r, KILN_OP_SUBTRACT, kiln__node_extent(r->edges[axis], 0, -1, KILN__PLACE(r->at)),
               kiln_node_of_int(1));
}

/* Sums of weights: the box of a point is the number of its bin along each axis. */
static kiln_status sum_weights(kiln__parser *p, const kiln__parsed_call *c, request *r, kiln_node *out)
{
    kiln__parsed w = *r->given[WEIGHTS];
    kiln_node box = {0}, inside = {0}, all = {0};
    int64_t shape[MOST];

    KILN_CHECK(kiln__need_node(p, &w));
    for (size_t k = 0; k < r->axes; k++) {
        const kiln_node pair[] = {r->points[k], r->edges[k]}, n = bins_along(r, k);
        kiln_node bin = {0};
        KILN_CHECK(kiln__written_call(p, c, "_bin_of", pair, 2, &bin));
        const kiln_node is_in = op2(r, KILN_OP_LESS, bin, n);
        box = k == 0 ? bin : op2(r, KILN_OP_ADD, op2(r, KILN_OP_MULTIPLY, box, n), bin);
        inside = k == 0 ? is_in : op2(r, KILN_OP_BITWISE_AND, inside, is_in);
        all = k == 0 ? n : op2(r, KILN_OP_MULTIPLY, all, n);
        shape[k] = kiln__reference(n.id);
    }
    const kiln_node nodes[] = {kiln_node_op3(KILN_OP_WHERE, inside, box, all, KILN__PLACE(r->at)),
                               kiln__graph_number(p->graph, w.node), all};
    KILN_CHECK(kiln__written_call(p, c, "_spread", nodes, 3, out));
    *out = kiln_node_reshape(*out, (int)r->axes, shape, KILN__PLACE(r->at));
    return KILN_OK;
}

static void count_points(const request *r, kiln_node *out)
{
    kiln_node nodes[2 * MOST];

    memcpy(nodes, r->points, r->axes * sizeof *nodes);
    memcpy(nodes + r->axes, r->edges, r->axes * sizeof *nodes);
    const kiln__opaque_given given = {.operation = kiln__opaque_named("_histogram", 10),
                                      .operands = nodes,
                                      .count = 2 * r->axes};
    *out = kiln_node_cast(kiln__opaque_node(&given, 0, KILN__PLACE(r->at)), KILN_FLOAT64,
                          KILN__PLACE(r->at));
}

/* Counts over their sum and over the sizes of boxes. */
static kiln_node dense(const request *r, kiln_node counts)
{
    const kiln_node sum =
        kiln_node_reduce(KILN_REDUCE_SUM, counts, NULL, false, KILN_DTYPE_NONE, KILN__PLACE(r->at));

    for (size_t k = 0; k < r->axes; k++) {
        const kiln_node e = r->edges[k];
        int64_t shape[MOST];
        kiln_node width = op2(r, KILN_OP_SUBTRACT,
                              kiln_node_slice(e, 0, 1, KILN_SLICE_OPEN, 1, KILN__PLACE(r->at)),
                              kiln_node_slice(e, 0, KILN_SLICE_OPEN, -1, 1, KILN__PLACE(r->at)));
        for (size_t a = 0; a < r->axes; a++)
            shape[a] = a == k ? -1 : 1;
        width = kiln_node_reshape(kiln_node_cast(width, KILN_FLOAT64, KILN__PLACE(r->at)), (int)r->axes,
                                  shape, KILN__PLACE(r->at));
        counts = op2(r, KILN_OP_DIVIDE, counts, width);
    }
    return op2(r, KILN_OP_DIVIDE, counts, sum);
}

static kiln_status give(kiln__parser *p, const kiln__parsed_call *c, request *r, kiln__parsed *out)
{
    kiln_node counts = {0};

    for (size_t k = 0; k < r->axes; k++)
        KILN_CHECK(find_edges(p, c, r, k));
    if (r->given[WEIGHTS] != NULL)
        KILN_CHECK(sum_weights(p, c, r, &counts));
    else
        count_points(r, &counts);
    out->kind = KILN__PARSED_TUPLE;
    out->count = r->axes + 1;
    out->items = kiln__tuple_new(p, r->axes + 1);
    if (out->items == NULL)
        return kiln__fail_memory(p->err, (r->axes + 1) * sizeof *out->items);
    out->items[0] = r->density ? dense(r, counts) : counts;
    memcpy(out->items + 1, r->results, r->axes * sizeof *out->items);
    return KILN_OK;
}

/* ---- functions ------------------------------------------------------------------------------------- */

/* histogramdd([x, y, z], bins=10, range=None, density=False, weights=None): counts, and the edges along each axis;
 * `bins` is a number, edges, or a list of such with one for each axis. Points may be the rows of a matrix then. */
static kiln_status call_histogramdd(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    kiln__parsed *const points = &c->arg[0];
    request r = {.at = c->at};

    if (c->count < 1)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "histogramdd is called as histogramdd([x, y], bins=10)");
    KILN_CHECK(kiln__number_lists(p, points));
    KILN_CHECK(read_arguments(p, c, 1, &r));
    const bool listed = points->kind == KILN__PARSED_TUPLE;
    kiln__parsed bins = {.width = 0};
    if (r.given[BINS] != NULL) {
        bins = *r.given[BINS];
        KILN_CHECK(kiln__number_lists(p, &bins));
        r.given[BINS] = &bins;
    }
    const bool each = bins.width != 0 && bins.kind == KILN__PARSED_TUPLE;
    if (!listed && !each)
        return fail(p, points,
                    "how many axes points have must be clear from the text: write the coordinates as a "
                    "list, or the bins");
    r.axes = listed ? points->count : bins.count;
    if (r.axes < 1 || r.axes > MOST)
        return kiln__parse_fail(p, points->at, points->width, KILN_ERR_ARGUMENT_COUNT,
                                "there may be 1 to %d axes, not %zu", MOST, r.axes);
    if (each && bins.count != r.axes)
        return kiln__parse_fail(p, bins.at, bins.width, KILN_ERR_ARGUMENT_COUNT,
                                "bins along %zu axes for points of %zu", bins.count, r.axes);
    if (bins.width != 0 && !each)
        KILN_CHECK(kiln__need_node(p, &bins));
    KILN_CHECK(read_points(p, points, &r));
    return give(p, c, &r, out);
}

/* histogram2d(x, y, bins=10, range=None, density=False, weights=None): `bins` is a number, edges of both axes, or a list of
 * two such. */
static kiln_status call_histogram2d(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out)
{
    request r = {.axes = 2, .at = c->at};
    kiln__parsed bins = {.width = 0};

    if (c->count < 2)
        return kiln__parse_fail(p, c->at, c->bytes, KILN_ERR_ARGUMENT_COUNT,
                                "histogram2d is called as histogram2d(x, y, bins=10)");
    KILN_CHECK(read_arguments(p, c, 2, &r));
    for (size_t k = 0; k < 2; k++) {
        KILN_CHECK(kiln__need_node(p, &c->arg[k]));
        r.points[k] = kiln__graph_number(p->graph, c->arg[k].node);
    }
    if (r.given[BINS] != NULL) {
        bins = *r.given[BINS];
        KILN_CHECK(kiln__number_lists(p, &bins));
        r.given[BINS] = &bins;
        if (!is_each(&r)) /* edges of both axes */
            KILN_CHECK(kiln__need_node(p, &bins));
    }
    return give(p, c, &r, out);
}

bool kiln__histograms_takes(const kiln__parsed_call *c, const char *name, size_t bytes)
{
    if (!kiln__same_word(c->name, c->bytes, "histogramdd") &&
        !kiln__same_word(c->name, c->bytes, "histogram2d"))
        return false;
    for (size_t k = 0; k < ARGUMENTS; k++)
        if (kiln__same_word(name, bytes, arguments[k]))
            return true;
    return false;
}

kiln_status kiln__apply_histograms(kiln__parser *p, kiln__parsed_call *c, kiln__parsed *out,
                                   bool *known)
{
    const bool plane = kiln__same_word(c->name, c->bytes, "histogram2d");

    if (plane && c->count == 4 && c->arg[3].kind == KILN__PARSED_NODE)
        return KILN_OK; /* histogram2d(x, y, xedges, yedges) (written_rows.c) */
    *known = plane || kiln__same_word(c->name, c->bytes, "histogramdd");
    if (!*known)
        return KILN_OK;
    return plane ? call_histogram2d(p, c, out) : call_histogramdd(p, c, out);
}
