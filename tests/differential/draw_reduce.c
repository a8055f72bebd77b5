/*
 * draw_reduce.c - cases of reductions and scans: texts of one's own, and the named ones.
 */
#include <string.h>

#include "draw.h"

/* Any subset, in any order, from either end; often the last, the first, or all. */
static void draw_axes(dt_random *r, int rank, dt_node *n)
{
    const int how = dt_below(r, 6);

    n->axis_count = 0;
    n->all_axes = how == 0 || rank == 0;
    if (n->all_axes)
        return;
    for (int axis = 0; axis < rank; axis++)
        if (how == 1 ? axis == 0 : how == 2 ? axis == rank - 1 : dt_once_in(r, 2))
            n->axis[n->axis_count++] = dt_once_in(r, 2) ? axis : axis - rank;
    for (int k = n->axis_count - 1; k > 0; k--) {
        const int other = dt_below(r, k + 1), kept = n->axis[k];
        n->axis[k] = n->axis[other];
        n->axis[other] = kept;
    }
}

/* Now and then few and long, or many and short, or without an element, which kernels treat in their own
 * ways. */
static void draw_reduced_shape(dt_random *r, int rank, int64_t *shape)
{
    dt_draw_shape(r, rank, dt_draw_budget(r), shape);
    if (rank >= 2 && dt_once_in(r, 6)) {
        const int axis = dt_below(r, rank);
        int64_t rest = 1;
        for (int k = 0; k < rank; k++) {
            if (k != axis)
                shape[k] = 1 + dt_below(r, 3);
            rest *= k != axis ? shape[k] : 1;
        }
        shape[axis] = dt_draw_extent(r, 6000 / rest);
    }
    if (rank > 0 && dt_once_in(r, 24))
        shape[dt_once_in(r, 2) ? rank - 1 : dt_below(r, rank)] = 0;
}

static void add_mask(dt_random *r, dt_case *c, int rank, const int64_t *shape)
{
    c->where = dt_add_operand(c, KILN_BOOL, DT_FILL_SMALL, dt_next(r));
    dt_view *v = &c->operand[c->where].view;
    const int skip = dt_once_in(r, 3) ? dt_below(r, rank + 1) : 0;

    for (int axis = skip; axis < rank; axis++)
        v->shape[v->rank++] = dt_once_in(r, 6) ? 1 : shape[axis];
}

static bool has_elements_without_identity(const dt_case *c)
{
    const kiln_reduce_op op = c->node[c->pivot].reduction;
    return op == KILN_REDUCE_MIN || op == KILN_REDUCE_MAX || op == KILN_REDUCE_NANMIN ||
           op == KILN_REDUCE_NANMAX;
}

static void draw_initial(dt_random *r, dt_case *c, kiln_dtype dtype)
{
    c->has_initial = true;
    c->initial = dt_below(r, 5);
    if (dtype == KILN_BOOL)
        c->initial = c->initial > 2;
}

/* ---- texts of one's own ---------------------------------------------------------------------- */

/* All inputs take part in what is mapped, so that it has the shape of their broadcast. */
static int combine(dt_case *c, int last)
{
    bool used[DT_NODES] = {false};
    const kiln_dtype dtype = c->node[last].dtype;

    used[last] = true;
    for (int k = last; k >= 0; k--)
        for (int j = 0;
             used[k] && c->node[k].op != DT_REDUCE && j < dt_operands_of(c, c->node[k].op); j++)
            used[c->node[k].in[j]] = true;
    const int count = c->node_count;
    for (int k = 0; k < count; k++) {
        int other = k;
        if (used[k] || c->node[k].op != DT_INPUT)
            continue;
        if (c->node[k].dtype != dtype) {
            if (dt_is_complex(c->node[k].dtype)) {
                other = dt_add_node(c, DT_REAL, k, 0, 0);
                c->node[other].dtype = dt_part_of(c->node[k].dtype);
            }
            if (c->node[other].dtype != dtype && !dt_is_complex(dtype)) {
                other = dt_add_node(c, DT_CAST, other, 0, 0);
                c->node[other].dtype = dtype;
            }
        }
        last = dt_add_node(c, dtype == KILN_BOOL ? DT_LOGICAL_OR : DT_ADD, last, other, 0);
        c->node[last].dtype = dtype;
    }
    return last;
}

static int draw_map(dt_random *r, dt_case *c)
{
    const kiln_dtype main = dt_draw_dtype(r);
    const dt_fill fill = dt_draw_fill(r);
    const int count = 1 + dt_below(r, 3);
    int last;

    for (int k = 0; k < count; k++) {
        kiln_dtype dtype = k > 0 && dt_once_in(r, 3) ? dt_draw_dtype(r) : main;
        if (dt_is_complex(dtype) != dt_is_complex(main))
            dtype = main;
        dt_add_input(r, c, dtype, fill);
    }
    last = dt_draw_expression(r, c, dt_below(r, 5));
    if (c->node[last].dtype == KILN_BOOL || dt_is_narrow(c->node[last].dtype)) {
        const kiln_dtype to = dt_is_narrow(c->node[last].dtype) ? KILN_FLOAT32
                              : dt_once_in(r, 2)                ? KILN_INT32
                                                                : KILN_INT64;
        last = dt_add_node(c, DT_CAST, last, 0, 0);
        c->node[last].dtype = to;
    }
    return combine(c, last);
}

static void draw_post(dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = c->node[c->pivot].dtype;
    int last = c->pivot;

    if (!dt_is_complex(dtype) && dt_once_in(r, 3)) {
        last = dt_add_node(c, dt_once_in(r, 2) ? DT_NEGATIVE : DT_SQUARE, last, 0, 0);
        c->node[last].dtype = dtype;
    }
    if (!dt_is_complex(dtype) && dt_once_in(r, 3)) {
        kiln_dtype to = dt_draw_dtype(r);
        if (!dt_is_complex(to) && to != dtype) {
            last = dt_add_node(c, DT_CAST, last, 0, 0);
            c->node[last].dtype = to;
        }
    }
    c->output_count = last != c->pivot && dt_once_in(r, 4) ? 2 : 1;
    c->output[0].node = last;
    c->output[1].node = c->pivot;
}

/* Two inputs that each stand still along a kept axis of the other's, as in distances of all pairs: tiles
 * of results, and reduced axes before, between or behind them. */
static int draw_pairs(dt_random *r, dt_case *c, dt_node *n, int64_t *shape)
{
    const int rank = 3 + dt_below(r, 2), reduced = dt_below(r, rank), place = dt_below(r, rank - 1);
    int axis[DT_RANK], count = 0;

    for (int k = 0; k < rank; k++) {
        shape[k] =
            k == reduced ? 2 + dt_below(r, 40) : dt_below(r, 60 / rank) + (rank == 3 ? 8 : 2);
        if (k != reduced)
            axis[count++] = k;
    }
    dt_draw_operand_shapes(r, c, rank, shape);
    for (int k = 0, input = 0; k < c->operand_count && input < 2; k++) {
        dt_operand *o = &c->operand[k];
        if (o->is_number || o->is_raw)
            continue;
        o->view.rank = rank;
        memcpy(o->view.shape, shape, (size_t)rank * sizeof *shape);
        o->view.shape[axis[(place + input) % count]] = 1;
        input++;
    }
    n->all_axes = false;
    n->axis_count = 1;
    n->axis[0] = dt_once_in(r, 2) ? reduced : reduced - rank;
    return rank;
}

static int input_count(const dt_case *c)
{
    int count = 0;
    for (int k = 0; k < c->operand_count; k++)
        count += !c->operand[k].is_number && !c->operand[k].is_raw;
    return count;
}

bool dt_draw_reduction(dt_case *c, dt_random definition, dt_random view)
{
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM, KILN_REDUCE_SUM, KILN_REDUCE_MIN,
                                         KILN_REDUCE_MAX, KILN_REDUCE_PROD};
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    int64_t shape[DT_RANK] = {0};
    const int mapped = draw_map(r, c);

    c->pivot = dt_add_node(c, DT_REDUCE, mapped, 0, 0);
    dt_node *n = &c->node[c->pivot];
    n->dtype = c->node[mapped].dtype;
    n->reduction = ops[dt_below(r, dt_is_complex(n->dtype) ? 2 : 5)];
    c->spelling = dt_below(r, 6);
    c->placeholders = dt_once_in(r, 2);
    draw_post(r, c);
    const bool masked = dt_once_in(r, 6);
    const bool initial = dt_once_in(r, 8) || (masked && has_elements_without_identity(c));

    r = &view;
    int rank = dt_draw_rank(r);
    if (input_count(c) >= 2 && dt_once_in(r, 4)) {
        rank = draw_pairs(r, c, n, shape);
    } else {
        draw_reduced_shape(r, rank, shape);
        dt_draw_operand_shapes(r, c, rank, shape);
        draw_axes(r, rank, n);
    }
    n->keepdims = dt_once_in(r, 3);
    if (masked)
        add_mask(r, c, rank, shape);
    if (initial && !dt_is_complex(n->dtype)) {
        draw_initial(r, c, n->dtype);
        /* It is converted to the first output's dtype, which must hold it. */
        if (c->node[c->output[0].node].dtype == KILN_BOOL)
            c->initial = 1;
    } else if (initial) {
        return false;
    }
    return dt_draw_layouts(r, style, c);
}

/* ---- row programs ---------------------------------------------------------------------------- */

/* The last node, made a value that stages can reduce, of the whole row: input 0 is one. */
static int draw_mapped(dt_random *r, dt_case *c)
{
    int last = dt_draw_expression(r, c, 1 + dt_below(r, 4));
    const kiln_dtype dtype = c->node[last].dtype;

    if (dtype == KILN_BOOL || dt_is_narrow(dtype)) {
        last = dt_add_node(c, DT_CAST, last, 0, 0);
        c->node[last].dtype = dtype == KILN_BOOL ? KILN_INT32 : KILN_FLOAT32;
    }
    return combine(c, last);
}

bool dt_draw_row(dt_case *c, dt_random definition, dt_random view)
{
    static const kiln_reduce_op ops[] = {KILN_REDUCE_SUM, KILN_REDUCE_MAX, KILN_REDUCE_MIN};
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    const int stages = 1 + dt_below(r, 3), inputs = 1 + dt_below(r, 2);
    const kiln_dtype dtype = dt_draw_dtype(r);
    const dt_fill fill = dt_draw_fill(r);
    int64_t shape[DT_RANK] = {0};
    dt_node axes = {0};

    for (int k = 0; k < inputs; k++)
        dt_add_input(r, c, dtype, fill);
    for (int k = 0; k < stages; k++) {
        const int mapped = draw_mapped(r, c);
        const int stage = dt_add_node(c, DT_REDUCE, mapped, 0, 0);
        c->node[stage].dtype = c->node[mapped].dtype;
        c->node[stage].keepdims = true;
        c->node[stage].reduction = ops[dt_below(r, dt_is_complex(c->node[mapped].dtype) ? 1 : 3)];
        c->output[1].node = stage;
    }
    c->output[0].node = dt_draw_expression(r, c, 1 + dt_below(r, 4));
    if (c->node[c->output[0].node].op == DT_REDUCE)
        return false;
    c->output_count = dt_once_in(r, 4) ? 2 : 1;
    c->spelling = dt_below(r, 6);
    c->placeholders = dt_once_in(r, 2);

    r = &view;
    const int rank = 1 + dt_below(r, 3);
    draw_reduced_shape(r, rank, shape);
    dt_draw_operand_shapes(r, c, rank, shape);
    draw_axes(r, rank, &axes);
    if (!axes.all_axes && axes.axis_count == 0)
        return false;
    for (int k = 0; k < c->node_count; k++)
        if (c->node[k].op == DT_REDUCE) {
            c->node[k].all_axes = axes.all_axes;
            c->node[k].axis_count = axes.axis_count;
            memcpy(c->node[k].axis, axes.axis, sizeof axes.axis);
        }
    return dt_draw_layouts(r, style, c);
}

/* Another dtype for the output, now and then. Sums of integers in a float are compared where they are
 * exact. */
static void draw_into(dt_random *r, dt_case *c)
{
    dt_node *n = &c->node[c->pivot];
    const kiln_dtype in = c->operand[0].view.dtype, into = dt_draw_dtype(r);

    if (!dt_once_in(r, 5))
        return;
    if (dt_is_integer(in) && !dt_is_integer(into) && c->operand[0].fill != DT_FILL_SMALL)
        return;
    n->into = into;
    c->output[0].given = true;
}

/* What sum_product and vecdot sum: the product with another array, the first one conjugated or not. */
static int add_product(dt_random *r, dt_case *c, int x)
{
    const kiln_dtype dtype = c->node[x].dtype;
    const int y = dt_add_input(r, c, dtype, c->operand[0].fill);

    if (dt_once_in(r, 2)) {
        x = dt_add_node(c, DT_CONJUGATE, x, 0, 0);
        c->node[x].dtype = dtype;
    }
    const int product = dt_add_node(c, DT_MULTIPLY, x, y, 0);
    c->node[product].dtype = dtype;
    return product;
}

/* ---- named ----------------------------------------------------------------------------------- */

bool dt_draw_reduce(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    int64_t shape[DT_RANK] = {0};
    const int input = dt_add_input(r, c, dt_draw_dtype(r), dt_draw_fill(r));

    const bool product = dt_once_in(r, 8) && c->node[input].dtype != KILN_BOOL;
    const int mapped = product ? add_product(r, c, input) : input;

    c->pivot = dt_add_node(c, DT_REDUCE, mapped, 0, 0);
    dt_node *n = &c->node[c->pivot];
    n->reduction = product ? KILN_REDUCE_SUM : (kiln_reduce_op)(1 + dt_below(r, 24));
    c->output_count = 1;
    c->output[0].node = c->pivot;
    if (!product)
        draw_into(r, c);
    const bool positions =
        n->reduction == KILN_REDUCE_ARGMIN || n->reduction == KILN_REDUCE_ARGMAX ||
        n->reduction == KILN_REDUCE_NANARGMIN || n->reduction == KILN_REDUCE_NANARGMAX;
    const bool takes_initial =
        n->reduction <= KILN_REDUCE_MAX ||
        (n->reduction >= KILN_REDUCE_NANSUM && n->reduction <= KILN_REDUCE_NANMAX);
    const bool masked = !positions && !product && dt_once_in(r, 6);
    const bool initial = takes_initial && !product &&
                         (dt_once_in(r, 6) || (masked && has_elements_without_identity(c)));
    const bool moments = n->reduction == KILN_REDUCE_VAR || n->reduction == KILN_REDUCE_STD ||
                         n->reduction == KILN_REDUCE_NANVAR || n->reduction == KILN_REDUCE_NANSTD;

    r = &view;
    const int rank = dt_draw_rank(r);
    draw_reduced_shape(r, rank, shape);
    dt_draw_operand_shapes(r, c, rank, shape);
    draw_axes(r, rank, n);
    n->keepdims = dt_once_in(r, 3);
    c->ddof = moments ? dt_below(r, 2) : 0;
    if (masked)
        add_mask(r, c, rank, shape);
    if (initial)
        draw_initial(r, c, c->operand[0].view.dtype);
    return dt_draw_layouts(r, style, c);
}

/* ---- scans ----------------------------------------------------------------------------------- */

bool dt_draw_scan(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &definition;
    const bool named = c->kind == DT_KIND_SCAN;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    int64_t shape[DT_RANK] = {0};
    const int mapped =
        named ? dt_add_input(r, c, dt_draw_dtype(r), dt_draw_fill(r)) : draw_map(r, c);

    c->pivot = dt_add_node(c, DT_SCAN, mapped, 0, 0);
    dt_node *n = &c->node[c->pivot];
    n->dtype = c->node[mapped].dtype;
    n->scan = (kiln_scan_op)(1 + dt_below(r, 4));
    if (n->scan == KILN_SCAN_CUMPROD && dt_once_in(r, 2))
        n->scan = KILN_SCAN_CUMSUM;
    n->flags = (unsigned)dt_below(r, 4);
    if (!named && n->scan >= KILN_SCAN_CUMMAX)
        n->flags &= KILN_SCAN_REVERSE; /* without identity there is no exclusive scan */
    c->spelling = dt_below(r, 6);
    c->placeholders = dt_once_in(r, 2);
    c->output_count = 1;
    c->output[0].node = c->pivot;
    if (named)
        draw_into(r, c);
    else
        draw_post(r, c);

    r = &view;
    const int rank = dt_draw_rank(r);
    const bool products = n->scan == KILN_SCAN_CUMPROD; /* evaluated in quadratic time */
    dt_draw_shape(r, rank, products ? 600 : dt_draw_budget(r), shape);
    n->all_axes = rank == 0 || dt_once_in(r, 6);
    if (!n->all_axes) {
        n->axis_count = 1;
        n->axis[0] = dt_once_in(r, 2) ? rank - 1 : dt_below(r, rank);
        if (!products && dt_once_in(r, 5)) { /* few sequences, which several blocks share */
            const int along = n->axis[0] = dt_below(r, rank), beside = (along + 1) % rank;
            for (int k = 0; k < rank; k++)
                shape[k] = k == along    ? 2000 + dt_below(r, 9000)
                           : k == beside ? 1 + dt_below(r, 40)
                                         : 1;
        }
        n->axis[0] -= dt_once_in(r, 2) ? rank : 0;
    }
    dt_draw_operand_shapes(r, c, rank, shape);
    return dt_draw_layouts(r, style, c);
}
