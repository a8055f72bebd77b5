/*
 * draw_graph.c - cases of recorded graphs and of eager operations.
 *
 * A graph grows node by node: each is inferred at once, and taken back when it cannot be. Shapes
 * that the definition was made with are replaced by the view's where the program still fits them.
 */
#include <string.h>

#include "draw.h"

enum {
    ELEMENTS_MAX = 30000, /* of one value */
    SCANNED_MAX = 3000    /* of one that is scanned: products are evaluated in quadratic time */
};

static void add_input(dt_random *r, dt_case *c, kiln_dtype dtype, dt_fill fill)
{
    const int operand = dt_add_operand(c, dtype, fill, dt_next(r));
    const int node = dt_add_node(c, DT_INPUT, 0, 0, 0);

    c->node[node].operand = operand;
}

/* Keep the last node if it can be; else take it back. */
static bool keep_last(dt_case *c)
{
    const dt_node *n = &c->node[c->node_count - 1];

    if (dt_infer_node(c, c->node_count - 1) && dt_size(n->rank, n->shape) <= ELEMENTS_MAX)
        return true;
    c->node_count--;
    return false;
}

/* A value to go on from: often the last one, and rather an array than a single number. */
static int pick(dt_random *r, const dt_case *c)
{
    int best = -1;
    int64_t most = -1;

    for (int tries = dt_once_in(r, 3) ? 1 : 3; tries > 0;) {
        const int k = dt_once_in(r, 3) ? c->node_count - 1 : dt_below(r, c->node_count);
        const int64_t size = dt_size(c->node[k].rank, c->node[k].shape);
        if (c->node[k].op == DT_CONSTANT)
            continue;
        tries--;
        if (size > most) {
            most = size;
            best = k;
        }
    }
    return best;
}

/* A plain number beside arrays. */
static int add_number(dt_random *r, dt_case *c)
{
    static const kiln_dtype kinds[] = {KILN_INT64, KILN_INT64, KILN_FLOAT64, KILN_BOOL};
    const int k = dt_add_node(c, DT_CONSTANT, 0, 0, 0);
    dt_node *n = &c->node[k];

    n->weak = true;
    n->dtype = kinds[dt_below(r, 4)];
    n->number = n->dtype == KILN_BOOL ? dt_below(r, 2) : dt_below(r, 9) - 2;
    if (n->dtype == KILN_FLOAT64 && dt_once_in(r, 2))
        n->number = n->number / 4 + 0.1;
    return k;
}

static bool add_elementwise(dt_random *r, dt_case *c)
{
    const dt_op op = (dt_op)dt_below(r, DT_ELEMENTWISE_COUNT);
    const int before = c->node_count, count = dt_ops[op].operands;
    int in[3] = {0};

    if (dt_ops[op].graph_kinds[0] == '\0')
        return false;
    for (int k = 0; k < count; k++)
        in[k] = pick(r, c);
    if (count > 1 && dt_once_in(r, 4))
        in[dt_below(r, count)] = add_number(r, c);
    const int node = dt_add_node(c, op, in[0], in[1], in[2]);
    if (op == DT_CAST)
        c->node[node].dtype = dt_draw_dtype(r);
    if (keep_last(c))
        return true;
    c->node_count = before;
    return false;
}

static void draw_axes(dt_random *r, int rank, dt_node *n)
{
    const int how = dt_below(r, 6);

    n->all_axes = how == 0 || rank == 0;
    for (int axis = 0; axis < rank && !n->all_axes; axis++)
        if (how < 3 ? axis == rank - 1 : how == 3 ? axis == 0 : dt_once_in(r, 2))
            n->axis[n->axis_count++] = dt_once_in(r, 2) ? axis : axis - rank;
}

static bool add_reduce(dt_random *r, dt_case *c)
{
    const int in = pick(r, c), node = dt_add_node(c, DT_REDUCE, in, 0, 0);
    dt_node *n = &c->node[node];

    n->reduction = (kiln_reduce_op)(1 + dt_below(r, dt_once_in(r, 3) ? 24 : 15));
    n->keepdims = !dt_once_in(r, 3);
    draw_axes(r, c->node[in].rank, n);
    if (!keep_last(c))
        return false;
    /* Back to where it came from: what row programs are made of. */
    if (c->node[node].keepdims && dt_once_in(r, 2)) {
        static const dt_op ops[] = {DT_SUBTRACT, DT_DIVIDE, DT_GREATER_EQUAL,
                                    DT_MULTIPLY, DT_LESS,   DT_MAXIMUM};
        dt_add_node(c, ops[dt_below(r, 6)], in, node, 0);
        keep_last(c);
    }
    return true;
}

/* A view that turns one axis round; returns whether it can be. */
static bool add_flip(dt_case *c, int in, int axis)
{
    dt_node *n = &c->node[dt_add_node(c, DT_FLIP, in, 0, 0)];

    n->axis_count = 1;
    n->axis[0] = axis;
    return keep_last(c);
}

/* A running value; now and then from the last element to the first, or without the element itself. */
static bool add_scan(dt_random *r, dt_case *c)
{
    const int from = pick(r, c), rank = c->node[from].rank, how = dt_below(r, 4);
    const bool all = rank == 0 || dt_once_in(r, 4), back = how == 0 && !all;
    const int axis = all ? 0 : dt_below(r, rank);

    if (dt_size(rank, c->node[from].shape) > SCANNED_MAX || (back && !add_flip(c, from, axis)))
        return false;
    const int in = back ? c->node_count - 1 : from;
    dt_node *n = &c->node[dt_add_node(c, DT_SCAN, in, 0, 0)];
    n->scan = (kiln_scan_op)(1 + dt_below(r, 4));
    n->all_axes = all;
    n->axis_count = all ? 0 : 1;
    n->axis[0] = dt_once_in(r, 2) ? axis : axis - rank;
    if (!keep_last(c))
        return false;
    if (back)
        return add_flip(c, c->node_count - 1, axis);
    if (how == 1 && !all) {
        dt_add_node(c, DT_SUBTRACT, c->node_count - 1, in, 0);
        keep_last(c);
    }
    return true;
}

static bool add_view(dt_random *r, dt_case *c)
{
    static const int64_t bounds[] = {KILN_SLICE_OPEN, KILN_SLICE_OPEN, 1, 2, -1, -2, 5};
    const int in = pick(r, c), rank = c->node[in].rank;
    const dt_op op = (dt_op)(DT_TRANSPOSE + dt_below(r, DT_OP_COUNT - DT_TRANSPOSE));
    dt_node *n = &c->node[dt_add_node(c, op, in, 0, 0)];

    n->axis_count = 1;
    n->axis[0] = dt_below(r, op == DT_NEWAXIS ? rank + 1 : rank);
    n->start = op == DT_TAKE ? dt_below(r, 3) - 1 : bounds[dt_below(r, 7)];
    n->stop = bounds[dt_below(r, 7)];
    n->step = dt_once_in(r, 3) ? -1 - dt_below(r, 2) : 1 + dt_below(r, 2);
    if (op == DT_TRANSPOSE) {
        n->axis_count = rank;
        for (int k = 0; k < rank; k++)
            n->axis[k] = k;
        for (int k = rank - 1; k > 0; k--) {
            const int other = dt_below(r, k + 1), kept = n->axis[k];
            n->axis[k] = n->axis[other];
            n->axis[other] = kept;
        }
    }
    if (op == DT_BROADCAST || op == DT_RESHAPE) {
        n->axis_count = 0;
        n->rank = rank;
        memcpy(n->shape, c->node[in].shape, sizeof n->shape);
        if (op == DT_RESHAPE) {
            n->rank = 1;
            n->shape[0] = dt_size(rank, c->node[in].shape);
        }
        for (int k = 0; op == DT_BROADCAST && k < rank; k++)
            if (n->shape[k] == 1)
                n->shape[k] = 1 + dt_below(r, 5);
    }
    return keep_last(c);
}

/* Rows, and again rows: reductions along the last axis that stay, comparisons, choices and sums of
 * them with each other. Row programs are found in such graphs, and must be told apart. */
static void grow_rows(dt_random *r, dt_case *c, int operations)
{
    static const dt_op ops[] = {DT_GREATER_EQUAL, DT_LESS,     DT_MINIMUM, DT_MAXIMUM, DT_ADD,
                                DT_SUBTRACT,      DT_MULTIPLY, DT_GREATER, DT_EQUAL,   DT_WHERE};
    static const kiln_reduce_op reductions[] = {KILN_REDUCE_SUM,           KILN_REDUCE_MIN,
                                                KILN_REDUCE_MAX,           KILN_REDUCE_MEAN,
                                                KILN_REDUCE_COUNT_NONZERO, KILN_REDUCE_ARGMAX};
    const int want = c->node_count + operations;

    for (int tries = 0; tries < 200 && c->node_count < want && c->node_count < DT_NODES - 4;
         tries++) {
        if (dt_once_in(r, 3)) {
            dt_node *n = &c->node[dt_add_node(c, DT_REDUCE, dt_below(r, c->node_count), 0, 0)];
            n->reduction = reductions[dt_below(r, 6)];
            n->keepdims = true;
            n->axis_count = 1;
            n->axis[0] = -1;
        } else if (dt_once_in(r, 9)) {
            dt_node *n = &c->node[dt_add_node(c, DT_INDEX, dt_below(r, c->node_count), 0, 0)];
            n->axis[0] = c->node[n->in[0]].rank - 1;
            n->axis_count = 1;
        } else {
            dt_add_node(c, ops[dt_below(r, 10)], dt_below(r, c->node_count),
                        dt_below(r, c->node_count), dt_below(r, c->node_count));
        }
        keep_last(c);
    }
}

static void grow(dt_random *r, dt_case *c, int operations)
{
    const int want = c->node_count + operations;

    for (int tries = 0; tries < 400 && c->node_count < want && c->node_count < DT_NODES - 4;
         tries++) {
        const int draw = dt_below(r, 10);
        if (dt_once_in(r, 12))
            add_scan(r, c);
        else if (draw < 6)
            add_elementwise(r, c);
        else if (draw < 9)
            add_reduce(r, c);
        else
            add_view(r, c);
    }
}

/* The last node that is a value, and some others. */
static bool choose_outputs(dt_random *r, dt_case *c)
{
    const int want = 1 + (dt_once_in(r, 2) ? 1 + dt_below(r, 2) : 0);

    for (int k = c->node_count - 1; k >= 0 && c->output_count == 0; k--)
        if (c->node[k].op != DT_CONSTANT)
            c->output[c->output_count++].node = k;
    for (int tries = 0; tries < 20 && c->output_count < want; tries++) {
        const int k = pick(r, c);
        bool taken = false;
        for (int j = 0; j < c->output_count; j++)
            taken = taken || c->output[j].node == k;
        if (!taken)
            c->output[c->output_count++].node = k;
    }
    return c->node[c->output[0].node].op != DT_INPUT;
}

bool dt_draw_graph(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    const int rank = 1 + dt_below(r, 3), inputs = 1 + dt_below(r, 3);
    const kiln_dtype main = dt_draw_dtype(r), other = dt_draw_dtype(r);
    const dt_fill fill = dt_draw_fill(r);
    int64_t shape[DT_RANK] = {0}, redrawn[DT_RANK] = {0};
    dt_random shapes;

    for (int axis = 0; axis < rank; axis++)
        shape[axis] = dt_draw_extent(r, 9);
    for (int k = 0; k < inputs; k++)
        add_input(r, c, k > 0 && dt_once_in(r, 2) ? other : main, fill);
    if (inputs > 1 && dt_once_in(r, 6)) {
        dt_operand *o = &c->operand[inputs - 1];
        o->is_number = true;
        o->view.dtype = dt_once_in(r, 2) ? KILN_INT64 : KILN_FLOAT64;
        o->number = dt_below(r, 7) + (o->view.dtype == KILN_FLOAT64 ? 0.1 : 0);
    }
    shapes = *r; /* again below: which axes inputs have is part of the definition */
    dt_draw_operand_shapes(r, c, rank, shape);
    for (int k = 0; k < c->node_count; k++)
        dt_infer_node(c, k);
    if (dt_once_in(r, 3))
        grow_rows(r, c, 3 + dt_below(r, 14));
    else
        grow(r, c, 1 + dt_below(r, 14));
    if (!choose_outputs(r, c))
        return false;

    dt_case resized = *c;
    dt_draw_shape(&view, rank, dt_draw_budget(&view) / 2 + 1, redrawn);
    dt_draw_operand_shapes(&shapes, &resized, rank, redrawn);
    bool fits = dt_infer(&resized, NULL, 0);
    for (int k = 0; k < resized.node_count && fits; k++)
        fits = dt_size(resized.node[k].rank, resized.node[k].shape) <=
               (resized.node[k].op == DT_SCAN ? 4 * SCANNED_MAX : 16 * ELEMENTS_MAX);
    if (fits)
        *c = resized;
    r = &view;
    return dt_draw_layouts(r, style, c);
}

/* ---- eager operations ------------------------------------------------------------------------ */

bool dt_draw_eager(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    const dt_op op = (dt_op)dt_below(r, DT_ELEMENTWISE_COUNT);
    const kiln_dtype main = dt_draw_dtype(r);
    const dt_fill fill = dt_draw_fill(r);
    const int count = dt_ops[op].operands;
    int in[3] = {0}, number = count > 1 && dt_once_in(r, 4) ? 1 + dt_below(r, count - 1) : -1;
    int64_t shape[DT_RANK] = {0};

    if (dt_ops[op].graph_kinds[0] == '\0')
        return false;
    for (int k = 0; k < count; k++) {
        in[k] = c->node_count;
        if (k == number)
            add_number(r, c);
        else
            add_input(r, c, k > 0 && dt_once_in(r, 3) ? dt_draw_dtype(r) : main, fill);
    }
    const int node = dt_add_node(c, op, in[0], in[1], in[2]);
    c->node[node].dtype = op == DT_CAST ? dt_draw_dtype(r) : KILN_DTYPE_NONE;
    c->output_count = 1;
    c->output[0].node = node;
    if (op != DT_CAST && dt_once_in(r, 4)) /* a second one, if they go together */
        c->output[c->output_count++].node =
            dt_add_node(c, (dt_op)dt_below(r, DT_ELEMENTWISE_COUNT), in[0], in[1], in[2]);

    r = &view;
    const int rank = dt_draw_rank(r);
    dt_draw_shape(r, rank, dt_draw_budget(r), shape);
    dt_draw_operand_shapes(r, c, rank, shape);
    dt_draw_operands(r, style, c);
    if (!dt_infer_nodes(c, NULL, 0))
        return false;
    if (op != DT_CAST) /* which always allocates */
        dt_draw_outputs(r, style, c);
    return dt_infer(c, NULL, 0);
}
